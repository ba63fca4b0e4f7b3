#include "parts/bench.h"
#include "parts/hypre.h"
#include "now.h"
#include <string.h>

static char help[] =
  "KSPBAI, and CG with several preconditioners: milliseconds of the set-up, of the first solve, of later ones, of\n\
the set-up for new values, and of the first set-up of all, cold, which loads libraries and kernels.\n\n\
  ./multigrid -matrix laplace3d,fv3 -n 100,1000     generated matrices, 0 for their default sizes\n\
  ./multigrid -f one.mtx,two.mtx                    Matrix Market files\n\
  -mat_type aijcusparse       on a GPU\n\
  -ways <bai,baimg,hypre,hypre-aggressive,gamg,jacobi>  KSPBAI; CG with these preconditioners, or GMRES(30), and\n\
                              BiCGStab with jacobi, if the matrix is not symmetric. hypre is CG with\n\
                              BoomerAMG, both its own; aggressive: so is its first level coarsened. ilu,\n\
                              on one rank: CG with ICC, or GMRES(30) with ILU\n\
  -hypre_strong_threshold <0.25>, -hypre_p_max <4>, -hypre_agg_p_max <0>  of BoomerAMG: entries of a row of\n\
                              interpolation at most, and the same where aggressive; 0: any number\n\
  -rtol <1e-10>               of the norm of b - A x, for all of them; b is 1. One for each matrix, files first,\n\
                              and the last one for the rest\n\
  -samples <3>                set-ups and solves after the first of each, and new values, to take the medians of\n\
  -csv <file>, -device <name>, -commit <name>, -date <day>\n\n";

enum {
  MAX_WAYS    = 8,
  MAX_IT      = 100000, /* of CG, */
  MAX_OTHER   = 2000,   /* and of methods for matrices that are not symmetric */
  MAX_RTOLS   = 64,
  MAX_SAMPLES = 101
};

#define WAY_HYPRE            "hypre"
#define WAY_HYPRE_AGGRESSIVE "hypre-aggressive"

typedef struct {
  char     *ways[MAX_WAYS];
  PetscInt  nways, samples, nrtols, matrix; /* matrix: the number of the present one */
  PetscReal rtols[MAX_RTOLS], rtol;         /* rtol: of the present matrix */
  PetscBool symmetric;                      /* so is the present matrix */
  char      device[128], commit[64], date[16];
  FILE     *csv;
} Run;

/* Measurements of a solver; times are in seconds */
typedef struct {
  PetscReal          setup, first, later, values, cold, residual; /* values: 0 if they are not tried */
  PetscInt           its;
  KSPConvergedReason reason;
} Times;

static PetscErrorCode CreateSolver(const Run *run, Mat A, const char way[], KSP *ksp)
{
  PetscBool bai, jacobi, ilu;
  PC        pc;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(way, PCJACOBI, &jacobi));
  PetscCall(PetscStrcmp(way, PCILU, &ilu));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(PetscStrcmp(way, KSPBAI, &bai));
  PetscCall(KSPSetType(*ksp, bai ? KSPBAI : run->symmetric ? KSPCG : jacobi ? KSPBCGS : KSPGMRES));
  if (!bai && !run->symmetric) PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPGetPC(*ksp, &pc));
  if (!bai) PetscCall(PCSetType(pc, ilu && run->symmetric ? PCICC : way));
  if (!bai) PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, run->rtol, PETSC_DEFAULT, PETSC_DEFAULT, run->symmetric ? MAX_IT : MAX_OTHER));
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

static PetscErrorCode SetUp(KSP ksp, PetscReal *seconds)
{
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(Now(&start));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(Now(&end));
  *seconds = (PetscReal)(end - start);
  PetscFunctionReturn(0);
}

/* New solvers: their set-up, the first solve of the last one, later ones, and its set-up for new values */
static PetscErrorCode TimeSolver(const Run *run, PetscInt samples, Mat A, const char way[], Vec b, Vec x, Times *t)
{
  KSP       ksp;
  PetscReal sample[MAX_SAMPLES];

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < samples; k++) {
    if (k) PetscCall(KSPDestroy(&ksp));
    PetscCall(CreateSolver(run, A, way, &ksp));
    PetscCall(SetUp(ksp, &sample[k]));
  }
  PetscCall(Median(samples, sample, &t->setup));
  PetscCall(Solve(ksp, b, x, &t->first));
  for (PetscInt k = 0; k < samples; k++) PetscCall(Solve(ksp, b, x, &sample[k]));
  PetscCall(Median(samples, sample, &t->later));
  PetscCall(KSPGetIterationNumber(ksp, &t->its));
  PetscCall(KSPGetConvergedReason(ksp, &t->reason));
  PetscCall(Residual(A, b, x, &t->residual));
  for (PetscInt k = 0; k < 2 * samples; k++) { /* an even number, after which the values are the first ones again */
    PetscCall(MatScale(A, k % 2 ? 0.5 : 2));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(SetUp(ksp, &sample[k / 2]));
  }
  PetscCall(Median(samples, sample, &t->values));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode SolveHypre(Hypre hypre, PetscReal rtol, Times *t, PetscReal *seconds)
{
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(Now(&start));
  PetscCall(HypreSolve(hypre, rtol, MAX_IT, &t->its, &t->reason));
  PetscCall(Now(&end));
  *seconds = (PetscReal)(end - start);
  PetscFunctionReturn(0);
}

/* The same of hypre, which has its own copy of the matrix by then. What it is asked for, rtol, is made smaller until
 * b - A x meets the tolerance; if rounding does not let it, it is the tolerance again, as for the others */
static PetscErrorCode TimeHypre(const Run *run, Mat A, PetscInt aggressive, Vec b, Vec x, PetscReal *rtol, Times *t,
                                const char **unfit)
{
  Hypre          hypre;
  PetscLogDouble start, end;
  PetscReal      sample[MAX_SAMPLES], unused;

  PetscFunctionBeginUser;
  PetscCall(HypreCreate(A, b, aggressive, &hypre, unfit));
  if (*unfit) PetscFunctionReturn(0);
  PetscCall(Now(&start));
  PetscCall(HypreSetUp(hypre));
  PetscCall(Now(&end));
  t->setup = (PetscReal)(end - start);
  for (int attempts = 5; attempts; attempts--) {
    PetscCall(SolveHypre(hypre, *rtol, t, attempts == 5 ? &t->first : &unused));
    PetscCall(HypreGetSolution(hypre, x));
    PetscCall(Residual(A, b, x, &t->residual));
    if (t->reason < 0 || !(t->residual > run->rtol)) break;
    *rtol = attempts > 1 ? *rtol * 0.9 * run->rtol / t->residual : run->rtol;
  }
  for (PetscInt k = 0; k < run->samples; k++) PetscCall(SolveHypre(hypre, *rtol, t, &sample[k]));
  PetscCall(Median(run->samples, sample, &t->later));
  t->values = 0;
  PetscCall(HypreGetSolution(hypre, x));
  PetscCall(Residual(A, b, x, &t->residual));
  PetscCall(HypreDestroy(&hypre));
  PetscFunctionReturn(0);
}

/* Twice, of which the first loads the libraries */
static PetscErrorCode TimeWay(const Run *run, const char name[], Mat A, const char way[], Vec b, Vec x)
{
  Times       t;
  PetscInt    n;
  PetscBool   hypre, aggressive;
  PetscReal   rtol  = run->rtol;
  const char *unfit = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(way, WAY_HYPRE, &hypre));
  PetscCall(PetscStrcmp(way, WAY_HYPRE_AGGRESSIVE, &aggressive));
  PetscCall(MatGetSize(A, &n, NULL));
  for (int time = 0; time < 2 && !unfit; time++) {
    if ((hypre || aggressive) && !run->symmetric) unfit = "is only for symmetric matrices here";
    else if (hypre || aggressive) PetscCall(TimeHypre(run, A, aggressive, b, x, &rtol, &t, &unfit));
    else PetscCall(TimeSolver(run, time ? run->samples : 1, A, way, b, x, &t));
    if (!time) t.cold = t.setup;
  }
  if (unfit) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %9" PetscInt_FMT "  %-16s %s\n", name, n, way, unfit));
    PetscFunctionReturn(0);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%-18s %9" PetscInt_FMT "  %-16s %6" PetscInt_FMT "%c %9.2f set-up %9.2f first %9.2f later "
                        "%9.2f values %9.2f cold %.1e\n",
                        name, n, way, t.its, t.reason > 0 ? ' ' : '*', 1e3 * (double)t.setup, 1e3 * (double)t.first,
                        1e3 * (double)t.later, 1e3 * (double)t.values, 1e3 * (double)t.cold, (double)t.residual));
  if (run->csv)
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, run->csv,
                           "%s,%s,%s,%s,%" PetscInt_FMT ",%s,%" PetscInt_FMT ",%s,%.5g,%.5g,%.5g,%.5g,%.5g,%.3g,%g\n",
                           run->device, run->commit, run->date, name, n, way, t.its, KSPConvergedReasons[t.reason],
                           1e3 * (double)t.setup, 1e3 * (double)t.first, 1e3 * (double)t.later, 1e3 * (double)t.values,
                           1e3 * (double)t.cold, (double)t.residual, (double)run->rtol));
  PetscFunctionReturn(0);
}

static PetscErrorCode TimeMatrix(void *ctx, const char name[], Mat A)
{
  Run *run = (Run *)ctx;
  Vec  b, x;

  PetscFunctionBeginUser;
  run->rtol = run->rtols[PetscMin(run->matrix, run->nrtols - 1)];
  run->matrix++;
  PetscCall(MatIsSymmetric(A, 0, &run->symmetric));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  for (PetscInt w = 0; w < run->nways; w++) PetscCall(TimeWay(run, name, A, run->ways[w], b, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetFromOptions(Run *run)
{
  static const char *const ways[] = {KSPBAI, PCBAIMG, WAY_HYPRE, WAY_HYPRE_AGGRESSIVE, PCGAMG, PCJACOBI};
  PetscBool                set;

  PetscFunctionBeginUser;
  run->nways = MAX_WAYS;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-ways", run->ways, &run->nways, &set));
  if (!set) {
    run->nways = PETSC_STATIC_ARRAY_LENGTH(ways);
    for (PetscInt w = 0; w < run->nways; w++) PetscCall(PetscStrallocpy(ways[w], &run->ways[w]));
  }
  run->nrtols = MAX_RTOLS;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-rtol", run->rtols, &run->nrtols, &set));
  if (!set || !run->nrtols) {
    run->nrtols   = 1;
    run->rtols[0] = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-10;
  }
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &run->samples, NULL));
  PetscCheck(run->samples > 0 && run->samples <= MAX_SAMPLES, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-samples %" PetscInt_FMT ": must be between 1 and %d", run->samples, (int)MAX_SAMPLES);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-date", run->date, sizeof(run->date), NULL));
  PetscCheck(!strpbrk(run->date, ",\"\n"), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-date %s: no quotes, commas or new lines", run->date);
  PetscCall(ReportOptions(
    "device,commit,date,matrix,n,way,iterations,reason,setup_ms,first_ms,later_ms,values_ms,cold_ms,residual,rtol",
    run->device, run->commit, &run->csv));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Run run = {.samples = 3, .device = "unknown", .commit = "unknown", .date = "unknown"};

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
