#include <petscbai.h>
#include "smoothers.h"
#include "now.h"

#define PREFIX  "-mg_levels_"
#define NOPTS   16 /* of a smoother */
#define NREPEAT 10 /* smoothing steps timed together */
#define NSOLVES 3  /* after the first */
#define NCYCLES 12 /* for the asymptotic factor: that of the later half */

/* Options of a smoother, and what the user had in their place */
typedef struct {
  char  name[NOPTS][64], value[NOPTS][64];
  char *old[NOPTS];
  int   n;
} Options;

/* What all solves have in common */
typedef struct {
  DM             dm; /* NULL: algebraic multigrid */
  Mat            A;
  Vec            b, x;
  PC             pc; /* PCMG keeps its levels for all smoothers */
  PetscInt       steps;
  PetscLogDouble matmult;
  PetscLogStage  stage; /* of the solves that are timed */
} System;

static const char *const outers[] = {KSPRICHARDSON, KSPCG, KSPFCG, KSPGMRES, KSPFGMRES, "all"};

static PetscErrorCode OptionsAdd(Options *o, const char name[], const char value[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(o->name[o->n], sizeof(o->name[0]), PREFIX "%s", name));
  PetscCall(PetscStrncpy(o->value[o->n], value, sizeof(o->value[0])));
  o->old[o->n++] = NULL;
  PetscFunctionReturn(0);
}

static PetscErrorCode OptionsOfSmoother(const Smoother *s, PetscInt steps, Options *o)
{
  char its[16];

  PetscFunctionBeginUser;
  o->n = 0;
  PetscCall(PetscSNPrintf(its, sizeof(its), "%" PetscInt_FMT, s->its * steps));
  PetscCall(OptionsAdd(o, "ksp_type", s->ksptype));
  PetscCall(OptionsAdd(o, "ksp_max_it", its));
  PetscCall(OptionsAdd(o, "pc_type", s->pctype));
  if (s->option) PetscCall(OptionsAdd(o, s->option, s->value));
  PetscFunctionReturn(0);
}

/* Those of bai, and pc_bai_ before each first of two words */
static PetscErrorCode OptionsOfVariant(const char variant[], PetscInt steps, Options *o)
{
  const Smoother bai = {"bai", KSPRICHARDSON, PCBAI, 1, NULL, NULL};
  char           name[64], **words;
  int            n;

  PetscFunctionBeginUser;
  PetscCall(OptionsOfSmoother(&bai, steps, o));
  PetscCall(PetscStrToArray(variant, ' ', &n, &words));
  PetscCheck(n > 0 && n % 2 == 0 && n / 2 <= NOPTS - o->n, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-bai_with %s must be names and values in turn, at most %d of them", variant, NOPTS - o->n);
  for (int k = 0; k < n; k += 2) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "pc_bai_%s", words[k]));
    PetscCall(OptionsAdd(o, name, words[k + 1]));
  }
  PetscCall(PetscStrToArrayDestroy(n, words));
  PetscFunctionReturn(0);
}

/* Only what makes a smoother what it is takes the place of the user's options */
static PetscErrorCode OptionsPush(Options *o)
{
  const char *old;
  PetscBool   set;

  PetscFunctionBeginUser;
  for (int k = 0; k < o->n; k++) {
    PetscCall(PetscOptionsFindPair(NULL, NULL, o->name[k], &old, &set));
    if (set) PetscCall(PetscStrallocpy(old ? old : "", &o->old[k]));
    PetscCall(PetscOptionsSetValue(NULL, o->name[k], o->value[k]));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode OptionsPop(Options *o)
{
  PetscFunctionBeginUser;
  for (int k = 0; k < o->n; k++) {
    if (o->old[k]) PetscCall(PetscOptionsSetValue(NULL, o->name[k], o->old[k]));
    else PetscCall(PetscOptionsClearValue(NULL, o->name[k]));
    PetscCall(PetscFree(o->old[k]));
  }
  PetscFunctionReturn(0);
}

/* Not every PETSc has polynomials of the fourth kind */
static PetscErrorCode IsAvailable(const Smoother *s, PetscBool *available)
{
  KSP ksp;
  void (*setkind)(void) = NULL;

  PetscFunctionBeginUser;
  *available = PETSC_TRUE;
  if (!s->option) PetscFunctionReturn(0);
  PetscCall(PetscStrcmp(s->option, "ksp_chebyshev_kind", available));
  *available = (PetscBool) !*available;
  if (*available) PetscFunctionReturn(0);
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp, "KSPChebyshevSetKind_C", &setkind));
  PetscCall(KSPDestroy(&ksp));
  *available = (PetscBool)(setkind != NULL);
  PetscFunctionReturn(0);
}

/* A monitor, as users have one; it also keeps Richardson from leaving the iteration to the multigrid */
static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  PetscReal *norms = (PetscReal *)ctx;

  PetscFunctionBeginUser;
  (void)ksp;
  if (norms && it <= NCYCLES) norms[it] = norm;
  PetscFunctionReturn(0);
}

/* Multigrid on the hierarchy of the DM, or algebraic multigrid without one */
static PetscErrorCode CreateMultigrid(System *s)
{
  PetscFunctionBeginUser;
  PetscCall(PCDestroy(&s->pc));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &s->pc));
  PetscCall(PCSetOperators(s->pc, s->A, s->A));
  PetscCall(PCSetType(s->pc, s->dm ? PCMG : PCGAMG));
  if (s->dm) {
    PetscCall(PCSetDM(s->pc, s->dm));
    PetscCall(PCMGSetGalerkin(s->pc, PC_MG_GALERKIN_BOTH));
  }
  PetscCall(PCSetFromOptions(s->pc));
  PetscCall(PCSetUp(s->pc));
  PetscFunctionReturn(0);
}

/* The smoother of the options on levels that are there already; changes of type leave nothing of the last one */
static PetscErrorCode SetUpSmoothers(System *s)
{
  KSP      smoother;
  PC       pc;
  PetscInt levels;

  PetscFunctionBeginUser;
  PetscCall(PCMGGetLevels(s->pc, &levels));
  for (PetscInt l = 1; l < levels; l++) {
    PetscCall(PCMGGetSmoother(s->pc, l, &smoother));
    PetscCall(KSPGetPC(smoother, &pc));
    PetscCall(KSPSetType(smoother, KSPPREONLY));
    PetscCall(PCSetType(pc, PCNONE));
    PetscCall(KSPSetFromOptions(smoother));
    PetscCall(KSPSetUp(smoother));
  }
  PetscFunctionReturn(0);
}

/* GAMG chooses its smoothers' eigenvalues, so it is set up as a whole */
static PetscErrorCode SetUp(System *s, PetscLogDouble *time)
{
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  if (s->dm && !s->pc) PetscCall(CreateMultigrid(s));
  PetscCall(Now(&start));
  if (s->dm) PetscCall(SetUpSmoothers(s));
  else PetscCall(CreateMultigrid(s));
  PetscCall(Now(&end));
  *time = end - start;
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(const System *s, KSPType outer, PetscReal norms[], KSP *ksp)
{
  PetscBool isgmres;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetPC(*ksp, s->pc));
  if (norms) PetscCall(KSPSetOptionsPrefix(*ksp, "factor_"));
  PetscCall(KSPSetType(*ksp, outer));
  PetscCall(PetscStrcmp(outer, KSPGMRES, &isgmres));
  if (isgmres) PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPMonitorSet(*ksp, Monitor, norms, NULL));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSetUp(*ksp));
  PetscFunctionReturn(0);
}

/* The first solve has what is done once; the fastest of those after it counts */
static PetscErrorCode Solve(const System *s, KSPType outer, SmootherResult *result)
{
  KSP            ksp;
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(CreateSolver(s, outer, NULL, &ksp));
  PetscCall(KSPSolve(ksp, s->b, s->x));
  PetscCall(PetscLogStagePush(s->stage));
  for (int k = 0; k < NSOLVES; k++) {
    PetscCall(Now(&start));
    PetscCall(KSPSolve(ksp, s->b, s->x));
    PetscCall(Now(&end));
    if (!k || end - start < result->solve) result->solve = end - start;
  }
  PetscCall(PetscLogStagePop());
  result->outer = outer;
  PetscCall(KSPGetIterationNumber(ksp, &result->cycles));
  PetscCall(KSPGetConvergedReason(ksp, &result->reason));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

/* Cycles that go to zero from a random x: no rounding error is in the way */
static PetscErrorCode AsymptoticFactor(const System *s, PetscReal *factor)
{
  KSP       ksp;
  Vec       zero;
  PetscReal norms[NCYCLES + 1] = {0};

  PetscFunctionBeginUser;
  PetscCall(CreateSolver(s, KSPRICHARDSON, norms, &ksp));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, NCYCLES));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(VecDuplicate(s->b, &zero));
  PetscCall(VecSet(zero, 0));
  PetscCall(VecCopy(s->b, s->x));
  PetscCall(KSPSolve(ksp, zero, s->x));
  *factor = PetscPowReal(norms[NCYCLES] / norms[NCYCLES / 2], 2. / NCYCLES);
  PetscCall(VecDestroy(&zero));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

/* A smoothing step on the finest level */
static PetscErrorCode Smooth(const System *s, PetscLogDouble *step)
{
  KSP            smoother;
  PetscInt       levels;
  PetscBool      nonzero;
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(PCMGGetLevels(s->pc, &levels));
  PetscCall(PCMGGetSmoother(s->pc, levels - 1, &smoother));
  PetscCall(KSPGetInitialGuessNonzero(smoother, &nonzero));
  PetscCall(KSPSetInitialGuessNonzero(smoother, PETSC_TRUE));
  PetscCall(VecSet(s->x, 0));
  PetscCall(KSPSolve(smoother, s->b, s->x));
  PetscCall(Now(&start));
  for (int k = 0; k < NREPEAT; k++) PetscCall(KSPSolve(smoother, s->b, s->x));
  PetscCall(Now(&end));
  *step = (end - start) / NREPEAT;
  PetscCall(KSPSetInitialGuessNonzero(smoother, nonzero));
  PetscFunctionReturn(0);
}

/* The time of smoothing is that of both steps of a cycle on the finest level, in products with the matrix */
static PetscErrorCode PrintResult(const System *s, const char name[], const SmootherResult *r)
{
  char cycles[32];

  PetscFunctionBeginUser;
  if (r->reason > 0) PetscCall(PetscSNPrintf(cycles, sizeof(cycles), "%" PetscInt_FMT, r->cycles));
  else PetscCall(PetscStrncpy(cycles, KSPConvergedReasons[r->reason], sizeof(cycles)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-26s %-10s %13s %7.3f %10.2f %10.2f %10.3f %10.2f %8.3f\n", name, r->outer,
                        cycles, (double)r->factor, 1e3 * r->setup, 1e3 * r->solve, 1e3 * r->step, r->step / s->matmult,
                        (double)PetscPowReal(r->factor, s->matmult / (2 * r->step))));
  PetscFunctionReturn(0);
}

/* Marks which of n smoothers to run: those in the list, or all without one, that this PETSc has */
static PetscErrorCode Choose(const Smoother smoothers[], PetscInt n, char *names[], PetscInt nnames, PetscBool chosen[])
{
  PetscBool match, known;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < n; k++) chosen[k] = (PetscBool)!nnames;
  for (PetscInt j = 0; j < nnames; j++) {
    known = PETSC_FALSE;
    for (PetscInt k = 0; k < n; k++) {
      PetscCall(PetscStrcasecmp(names[j], smoothers[k].name, &match));
      if (match) chosen[k] = known = PETSC_TRUE;
    }
    PetscCheck(known, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-smoothers: there is no %s, -view_smoothers shows what there is", names[j]);
  }
  for (PetscInt k = 0; k < n; k++) {
    if (chosen[k]) PetscCall(IsAvailable(&smoothers[k], &chosen[k]));
  }
  PetscFunctionReturn(0);
}

/* The products also bring the matrix to where it is used, so that no solver is timed doing it */
static PetscErrorCode SystemCreate(DM dm, Mat A, System *s)
{
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  s->dm = dm;
  s->A  = A;
  PetscCall(MatCreateVecs(A, &s->x, &s->b));
  PetscCall(VecSetRandom(s->b, NULL));
  PetscCall(MatMult(A, s->b, s->x));
  PetscCall(Now(&start));
  for (int k = 0; k < NREPEAT; k++) PetscCall(MatMult(A, s->b, s->x));
  PetscCall(Now(&end));
  s->matmult = (end - start) / NREPEAT;
  PetscCall(PetscLogStageRegister("Later solves", &s->stage));
  PetscFunctionReturn(0);
}

/* One smoother, with one outer KSP or all of them. The result, if wanted instead of lines, is that of the first that
 * converges */
static PetscErrorCode Compare(System *s, const char name[], Options *options, PetscInt outer, SmootherResult *wanted)
{
  const PetscInt all    = PETSC_STATIC_ARRAY_LENGTH(outers) - 1;
  PetscBool      warm   = (PetscBool)(s->pc != NULL);
  SmootherResult result = {0};

  PetscFunctionBeginUser;
  PetscCall(OptionsPush(options));
  PetscCall(SetUp(s, &result.setup));
  if (!warm)
    PetscCall(SetUp(s, &result.setup)); /* what is done once in a process is not counted as the first smoother's */
  PetscCall(Smooth(s, &result.step));
  if (!wanted) PetscCall(AsymptoticFactor(s, &result.factor));
  for (PetscInt j = outer == all ? 0 : outer; j < (outer == all ? all : outer + 1); j++) {
    PetscCall(Solve(s, outers[j], &result));
    if (!wanted) PetscCall(PrintResult(s, name, &result));
    else if (wanted->reason <= 0) *wanted = result;
  }
  if (wanted && wanted->reason <= 0) wanted->cycles = SMOOTHER_NOT_CONVERGED;
  PetscCall(OptionsPop(options));
  PetscFunctionReturn(0);
}

static PetscErrorCode ViewOptions(const char name[], const Options *options)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-14s", name));
  for (int j = 0; j < options->n; j++)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s %s", options->name[j], options->value[j]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(0);
}

/*
   Solves with matrix A by multigrid, on the levels of the DM or algebraic if that is NULL, with each of n smoothers,
   and prints a table. If results is not NULL, prints nothing, and returns there how each went with the first outer
   KSP that converges, its factor aside: none that is left out because -smoothers does or this PETSc does not have it,
   SMOOTHER_NOT_CONVERGED cycles if no solve converged.
*/
PetscErrorCode SmoothersCompare(DM dm, Mat A, const Smoother smoothers[], PetscInt n, SmootherResult results[])
{
  const PetscInt nouters = PETSC_STATIC_ARRAY_LENGTH(outers);
  PetscInt       outer = 0, nnames = SMOOTHERS_MAX, nvariants = SMOOTHERS_MAX;
  PetscBool      chosen[SMOOTHERS_MAX], hasnames, hasvariants, view = PETSC_FALSE;
  char          *names[SMOOTHERS_MAX], *variants[SMOOTHERS_MAX];
  Options        options;
  System         s = {.steps = 1};

  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The smoothers", NULL);
  PetscCall(PetscOptionsStringArray("-smoothers", "Which to compare, all if not given", "smoothers.c", names, &nnames,
                                    &hasnames));
  PetscCall(PetscOptionsStringArray("-bai_with", "More lines for bai, each with these options instead", "smoothers.c",
                                    variants, &nvariants, &hasvariants));
  PetscCall(PetscOptionsInt("-steps", "Smoothing steps before and after the coarse correction", "smoothers.c", s.steps,
                            &s.steps, NULL));
  PetscCall(PetscOptionsEList("-outer", "KSP that multigrid is the preconditioner of", "smoothers.c", outers, nouters,
                              outers[outer], &outer, NULL));
  PetscCall(PetscOptionsBool("-view_smoothers", "Only show the options of each", "smoothers.c", view, &view, NULL));
  PetscOptionsEnd();
  if (!hasnames) nnames = 0;
  if (!hasvariants) nvariants = 0;
  PetscCheck(s.steps > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-steps %" PetscInt_FMT " must be at least 1",
             s.steps);
  PetscCall(Choose(smoothers, n, names, nnames, chosen));

  PetscCall(SystemCreate(dm, A, &s));
  if (!view && !results)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-26s %-10s %13s %7s %10s %10s %10s %10s %8s\n", "smoother", "outer",
                          "cycles", "factor", "set-up/ms", "solve/ms", "step/ms", "/MatMult", "per one"));
  for (PetscInt k = 0; k < n; k++) {
    if (results) results[k] = (SmootherResult){.cycles = SMOOTHER_NOT_CONVERGED};
    if (!chosen[k]) continue;
    PetscCall(OptionsOfSmoother(&smoothers[k], s.steps, &options));
    if (view) PetscCall(ViewOptions(smoothers[k].name, &options));
    else PetscCall(Compare(&s, smoothers[k].name, &options, outer, results ? &results[k] : NULL));
  }
  for (PetscInt k = 0; k < nvariants; k++) {
    PetscCall(OptionsOfVariant(variants[k], s.steps, &options));
    if (view) PetscCall(ViewOptions(variants[k], &options));
    else if (!results) PetscCall(Compare(&s, variants[k], &options, outer, NULL));
    PetscCall(PetscFree(variants[k]));
  }
  for (PetscInt k = 0; k < nnames; k++) PetscCall(PetscFree(names[k]));
  PetscCall(PCDestroy(&s.pc));
  PetscCall(VecDestroy(&s.b));
  PetscCall(VecDestroy(&s.x));
  PetscFunctionReturn(0);
}
