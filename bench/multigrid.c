#include "parts/bench.h"
#include "now.h"
#include <string.h>

static char help[] =
  "KSPBAI, and CG with several preconditioners: milliseconds of the set-up, of the first solve and of later ones.\n\n\
  ./multigrid -matrix laplace3d,fv3 -n 100,1000     generated matrices, 0 for their default sizes\n\
  ./multigrid -f one.mtx,two.mtx                    Matrix Market files\n\
  -mat_type aijcusparse       on a GPU\n\
  -ways <bai,baimg,gamg,jacobi>  KSPBAI; CG with these preconditioners\n\
  -rtol <1e-10>               of the norm of b - A x, for all of them; b is 1\n\
  -samples <3>                set-ups and solves after the first of each, of which the median is taken\n\
  -csv <file>, -device <name>, -commit <name>, -date <day>\n\n";

enum {
  MAX_WAYS    = 8,
  MAX_SAMPLES = 101
};

typedef struct {
  char     *ways[MAX_WAYS];
  PetscInt  nways, samples;
  PetscReal rtol;
  char      device[128], commit[64], date[16];
  FILE     *csv;
} Run;

/* What is measured of a solver; seconds */
typedef struct {
  PetscReal          setup, first, later, residual;
  PetscInt           its;
  KSPConvergedReason reason;
} Times;

static PetscErrorCode CreateSolver(const Run *run, Mat A, const char way[], KSP *ksp)
{
  PetscBool bai;
  PC        pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(PetscStrcmp(way, KSPBAI, &bai));
  PetscCall(KSPSetType(*ksp, bai ? KSPBAI : KSPCG));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, bai ? PCNONE : way));
  if (!bai) PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, run->rtol, PETSC_DEFAULT, PETSC_DEFAULT, 100000));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, PetscReal *seconds)
{
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(Now(&start));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Now(&end));
  *seconds = (PetscReal)(end - start);
  PetscFunctionReturn(0);
}

/* ||b - A x||/||b|| */
static PetscErrorCode Residual(Mat A, Vec b, Vec x, PetscReal *residual)
{
  Vec       r;
  PetscReal bnorm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *residual /= bnorm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(0);
}

/* One solver anew: its set-up, its first solve, and later ones */
static PetscErrorCode TimeSolver(const Run *run, Mat A, const char way[], Vec b, Vec x, Times *t)
{
  KSP            ksp;
  PetscLogDouble start, end;
  PetscReal      sample[MAX_SAMPLES];

  PetscFunctionBeginUser;
  PetscCall(CreateSolver(run, A, way, &ksp));
  PetscCall(Now(&start));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(Now(&end));
  t->setup = (PetscReal)(end - start);
  PetscCall(Solve(ksp, b, x, &t->first));
  for (PetscInt k = 0; k < run->samples; k++) PetscCall(Solve(ksp, b, x, &sample[k]));
  PetscCall(PetscSortReal(run->samples, sample));
  t->later = sample[run->samples / 2];
  PetscCall(KSPGetIterationNumber(ksp, &t->its));
  PetscCall(KSPGetConvergedReason(ksp, &t->reason));
  PetscCall(Residual(A, b, x, &t->residual));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

/* Twice, of which the first loads the libraries */
static PetscErrorCode TimeWay(const Run *run, const char name[], Mat A, const char way[], Vec b, Vec x)
{
  Times    t;
  PetscInt n;

  PetscFunctionBeginUser;
  for (int time = 0; time < 2; time++) PetscCall(TimeSolver(run, A, way, b, x, &t));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%-18s %9" PetscInt_FMT "  %-8s %6" PetscInt_FMT "%c %9.2f set-up %9.2f first %9.2f later "
                        "%.1e\n",
                        name, n, way, t.its, t.reason > 0 ? ' ' : '*', 1e3 * (double)t.setup, 1e3 * (double)t.first,
                        1e3 * (double)t.later, (double)t.residual));
  if (run->csv)
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, run->csv,
                           "%s,%s,%s,%s,%" PetscInt_FMT ",%s,%" PetscInt_FMT ",%s,%.5g,%.5g,%.5g,%.3g\n", run->device,
                           run->commit, run->date, name, n, way, t.its, KSPConvergedReasons[t.reason],
                           1e3 * (double)t.setup, 1e3 * (double)t.first, 1e3 * (double)t.later, (double)t.residual));
  PetscFunctionReturn(0);
}

static PetscErrorCode TimeMatrix(void *ctx, const char name[], Mat A)
{
  const Run *run = (const Run *)ctx;
  Vec        b, x;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  for (PetscInt w = 0; w < run->nways; w++) PetscCall(TimeWay(run, name, A, run->ways[w], b, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetFromOptions(Run *run)
{
  static const char *const ways[] = {KSPBAI, PCBAIMG, PCGAMG, PCJACOBI};
  PetscBool                set;

  PetscFunctionBeginUser;
  run->nways = MAX_WAYS;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-ways", run->ways, &run->nways, &set));
  if (!set) {
    run->nways = PETSC_STATIC_ARRAY_LENGTH(ways);
    for (PetscInt w = 0; w < run->nways; w++) PetscCall(PetscStrallocpy(ways[w], &run->ways[w]));
  }
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &run->rtol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &run->samples, NULL));
  PetscCheck(run->samples > 0 && run->samples <= MAX_SAMPLES, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-samples %" PetscInt_FMT ": must be between 1 and %d", run->samples, (int)MAX_SAMPLES);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-date", run->date, sizeof(run->date), NULL));
  PetscCheck(!strpbrk(run->date, ",\"\n"), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-date %s: no quotes, commas or new lines", run->date);
  PetscCall(ReportOptions("device,commit,date,matrix,n,way,iterations,reason,setup_ms,first_ms,later_ms,residual",
                          run->device, run->commit, &run->csv));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Run run = {.samples = 3,
             .rtol    = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-10,
             .device  = "unknown",
             .commit  = "unknown",
             .date    = "unknown"};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(SetFromOptions(&run));
  PetscCall(ForMatrices(TimeMatrix, &run));
  for (PetscInt w = 0; w < run.nways; w++) PetscCall(PetscFree(run.ways[w]));
  if (run.csv) PetscCall(PetscFClose(PETSC_COMM_WORLD, run.csv));
  PetscCall(PetscFinalize());
  return 0;
}
