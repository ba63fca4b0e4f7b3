#include "parts/bench.h"
#include "now.h"
#include <string.h>

static char help[] =
  "PCBAI as a preconditioner, with each of its partitions, beside PCSOR: iterations, and milliseconds.\n\n\
  ./preconditioners -matrix fv1,fv3,laplace3d -n 0,0,48      generated matrices, 0 for their default sizes\n\
  ./preconditioners -f one.mtx,two.mtx                       Matrix Market files\n\
  -mat_type aijcusparse          on a GPU\n\
  -ways <sor,natural,graph,auto> of sor, and partitions of PCBAI\n\
  -ksp_type <gmres>, -ksp_rtol <1e-8>, -ksp_max_it <20000>, -pc_bai_mode, ...: of all of them\n\
  -samples <5>                   timings of which the median is taken\n\
  -seconds <0.2>                 that the timings of a solver may take: fewer if need be, at least one\n\
  -csv <file>, -device <name>, -commit <name>\n\n";

enum {
  MAX_WAYS    = 8,
  MAX_SAMPLES = 101,
  APPLIED     = 20 /* times, in a row */
};

typedef struct {
  char     *ways[MAX_WAYS];
  PetscInt  nways, samples;
  PetscReal seconds;
  char      device[128], commit[64];
  FILE     *csv;
} Run;

/* One more solve or set-up, or some applications in a row */
typedef PetscErrorCode (*Step)(KSP, Vec b, Vec x);

static PetscErrorCode SetUp(KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x)
{
  PC  pc;
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(PCReset(pc)); /* which lets go of the matrix */
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(MatDestroy(&A));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(0);
}

static PetscErrorCode ApplyAgain(KSP ksp, Vec b, Vec x)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  for (int k = 0; k < APPLIED; k++) PetscCall(PCApply(pc, b, x));
  PetscFunctionReturn(0);
}

/* Median milliseconds; the first time is not counted */
static PetscErrorCode Time(const Run *run, Step step, KSP ksp, Vec b, Vec x, PetscReal *milliseconds)
{
  PetscReal      sample[MAX_SAMPLES], spent = 0;
  PetscLogDouble start, end;
  PetscInt       n;

  PetscFunctionBeginUser;
  PetscCall((*step)(ksp, b, x));
  for (n = 0; n < run->samples && (n == 0 || spent < run->seconds); n++) {
    PetscCall(Now(&start));
    PetscCall((*step)(ksp, b, x));
    PetscCall(Now(&end));
    sample[n] = (PetscReal)(end - start);
    spent += sample[n];
  }
  PetscCall(PetscSortReal(n, sample));
  *milliseconds = 1e3 * sample[n / 2];
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(Mat A, const char way[], KSP *ksp)
{
  PC        pc;
  PetscBool sor;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 20000));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PetscStrcmp(way, PCSOR, &sor));
  PetscCall(PCSetType(pc, sor ? PCSOR : PCBAI));
  if (!sor) PetscCall(PetscOptionsSetValue(NULL, "-pc_bai_partition", way));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode TimeWay(const Run *run, const char name[], Mat A, const char way[], Vec b, Vec x)
{
  KSP                ksp;
  PetscInt           its;
  PetscReal          setup, apply, solve;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateSolver(A, way, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(Time(run, SetUp, ksp, b, x, &setup));
  PetscCall(Time(run, ApplyAgain, ksp, b, x, &apply));
  PetscCall(Time(run, KSPSolve, ksp, b, x, &solve));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-20s %-8s %6" PetscInt_FMT "%c %9.2f set-up %9.4f apply %9.2f solve\n",
                        name, way, its, reason > 0 ? ' ' : '*', (double)setup, (double)(apply / APPLIED),
                        (double)solve));
  if (run->csv)
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, run->csv, "%s,%s,%s,%s,%" PetscInt_FMT ",%s,%.5g,%.5g,%.5g\n", run->device,
                           run->commit, name, way, its, KSPConvergedReasons[reason], (double)setup,
                           (double)(apply / APPLIED), (double)solve));
  PetscCall(KSPDestroy(&ksp));
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
  static const char *const ways[] = {PCSOR, "natural", "graph", "auto"};
  PetscBool                set;

  PetscFunctionBeginUser;
  run->nways = MAX_WAYS;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-ways", run->ways, &run->nways, &set));
  if (!set) {
    run->nways = PETSC_STATIC_ARRAY_LENGTH(ways);
    for (PetscInt w = 0; w < run->nways; w++) PetscCall(PetscStrallocpy(ways[w], &run->ways[w]));
  }
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &run->seconds, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &run->samples, NULL));
  PetscCheck(run->samples > 0 && run->samples <= MAX_SAMPLES, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-samples %" PetscInt_FMT ": must be between 1 and %d", run->samples, (int)MAX_SAMPLES);
  PetscCall(ReportOptions("device,commit,matrix,way,iterations,reason,setup_ms,apply_ms,solve_ms", run->device,
                          run->commit, &run->csv));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Run run = {.samples = 5, .seconds = 0.2, .device = "unknown", .commit = "unknown"};

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
