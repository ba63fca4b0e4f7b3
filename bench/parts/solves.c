#include "bench.h"
#include "../../tests/option.h"

/* A KSP, a PC or NULL, and for KSPBAI mode and local_iters, 0: all as by default. name_ is the prefix of the options,
   or bai_ */
typedef struct {
  const char *name;
  KSPType     ksp;
  PCType      pc;
  BAIMode     mode;
  BAIExchange exchange; /* of several ranks; auto: any number of them, else only where there are several */
  PetscInt    local_iters;
  PetscInt    degree; /* of the polynomials of the fourth kind of an inner KSPCHEBYSHEV if pc is ksp, else 0 */
} Solver;

/* PETSc has the optimised polynomials of the fourth kind to degree 16: such ones, one after the other */
static const Solver solvers[] = {
  {"cg",                  KSPCG,         PCJACOBI, BAI_MODE_ASYNC,  BAI_EXCHANGE_AUTO,    0, 0 },
  {"pipecg",              KSPPIPECG,     PCJACOBI, BAI_MODE_ASYNC,  BAI_EXCHANGE_AUTO,    0, 0 },
  {"chebyshev",           KSPCHEBYSHEV,  PCJACOBI, BAI_MODE_ASYNC,  BAI_EXCHANGE_AUTO,    0, 0 },
  {"chebyshev4",          KSPRICHARDSON, PCKSP,    BAI_MODE_ASYNC,  BAI_EXCHANGE_AUTO,    0, 16},
  {"richardson-jacobi",   KSPRICHARDSON, PCJACOBI, BAI_MODE_ASYNC,  BAI_EXCHANGE_AUTO,    0, 0 },
  {"richardson-sor",      KSPRICHARDSON, PCSOR,    BAI_MODE_ASYNC,  BAI_EXCHANGE_AUTO,    0, 0 },
  {"bai",                 KSPBAI,        NULL,     BAI_MODE_AUTO,   BAI_EXCHANGE_AUTO,    0, 0 },
  {"bai-async-5",         KSPBAI,        NULL,     BAI_MODE_ASYNC,  BAI_EXCHANGE_AUTO,    5, 0 },
  {"bai-async-2",         KSPBAI,        NULL,     BAI_MODE_ASYNC,  BAI_EXCHANGE_AUTO,    2, 0 },
  {"bai-launch-5",        KSPBAI,        NULL,     BAI_MODE_LAUNCH, BAI_EXCHANGE_AUTO,    5, 0 },
  {"bai-sync-5",          KSPBAI,        NULL,     BAI_MODE_SYNC,   BAI_EXCHANGE_AUTO,    5, 0 },
  {"bai-color-5",         KSPBAI,        NULL,     BAI_MODE_COLOR,  BAI_EXCHANGE_AUTO,    5, 0 },
  {"bai-sync-1",          KSPBAI,        NULL,     BAI_MODE_SYNC,   BAI_EXCHANGE_AUTO,    1, 0 },
  {"bai-scatter",         KSPBAI,        NULL,     BAI_MODE_AUTO,   BAI_EXCHANGE_SCATTER, 0, 0 },
  {"bai-async-5-scatter", KSPBAI,        NULL,     BAI_MODE_ASYNC,  BAI_EXCHANGE_SCATTER, 5, 0 },
  {"bai-async-5-amc",     KSPBAI,        NULL,     BAI_MODE_ASYNC,  BAI_EXCHANGE_AMC,     5, 0 }
};
enum {
  NSOLVERS = PETSC_STATIC_ARRAY_LENGTH(solvers)
};

/* A solver under test; its solves since it was last asked, and the iterations of all of them */
typedef struct {
  System        s;
  const Solver *solver;
  PetscInt64    solves, its;
} Test;

/* Not every PETSc has Chebyshev polynomials of the fourth kind */
static PetscErrorCode HasFourthKind(PetscBool *has)
{
  KSP ksp;
  void (*setkind)(void) = NULL;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp, "KSPChebyshevSetKind_C", &setkind));
  PetscCall(KSPDestroy(&ksp));
  *has = (PetscBool)(setkind != NULL);
  PetscFunctionReturn(0);
}

static PetscErrorCode IsWanted(const Bench *bench, const Solver *solver, PetscBool *wanted)
{
  PetscBool   is = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  for (PetscInt w = 0; w < bench->nwithout && !is; w++) PetscCall(PetscStrcmp(bench->without[w], solver->name, &is));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1 && solver->exchange != BAI_EXCHANGE_AUTO) is = PETSC_TRUE;
  *wanted = (PetscBool)!is;
  if (is || !solver->degree) PetscFunctionReturn(0);
  PetscCall(HasFourthKind(wanted));
  if (!*wanted) PetscCall(Print("  %-23s not in this PETSc\n", solver->name));
  PetscFunctionReturn(0);
}

PetscErrorCode CheckSolverNames(const Bench *bench)
{
  PetscFunctionBeginUser;
  for (PetscInt w = 0; w < bench->nwithout; w++) {
    char      names[512] = "";
    PetscBool is         = PETSC_FALSE;

    for (int k = 0; k < NSOLVERS && !is; k++) {
      PetscCall(PetscStrcmp(bench->without[w], solvers[k].name, &is));
      PetscCall(PetscStrlcat(names, k ? ", " : "", sizeof(names)));
      PetscCall(PetscStrlcat(names, solvers[k].name, sizeof(names)));
    }
    PetscCheck(is, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-without %s is unknown, it must be of %s",
               bench->without[w], names);
  }
  PetscFunctionReturn(0);
}

/* Keeps KSPRICHARDSON from handing all iterations to its preconditioner, which would not look at the residual */
static PetscErrorCode Watch(KSP ksp, PetscInt its, PetscReal rnorm, void *ctx)
{
  (void)ksp;
  (void)its;
  (void)rnorm;
  (void)ctx;
  return 0;
}

/* KSPCHEBYSHEV, ended by a NaN, may hold a work vector for its solution and would destroy it twice: it is left alone
 * then */
static PetscErrorCode DestroySolver(Test *t)
{
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;

  PetscFunctionBeginUser;
  if (t->s.ksp) PetscCall(KSPGetConvergedReason(t->s.ksp, &reason));
  if (reason != KSP_DIVERGED_NANORINF) PetscCall(KSPDestroy(&t->s.ksp));
  t->s.ksp = NULL;
  PetscFunctionReturn(0);
}

/* All stop by the norm of b - A x. Options of the command line come before those of the solver, but not before the mode
 * and local_iters of KSPBAI */
static PetscErrorCode CreateSolver(Test *t)
{
  const Solver *solver = t->solver;
  PetscBool     isbai, issor;
  char          prefix[64];
  KSP           ksp;
  PC            pc;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(solver->ksp, KSPBAI, &isbai));
  PetscCall(PetscStrcmp(solver->pc, PCSOR, &issor));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s_", isbai ? "bai" : solver->name));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, t->s.A, t->s.A));
  PetscCall(KSPSetType(ksp, solver->ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (solver->pc) PetscCall(PCSetType(pc, solver->pc));
  if (solver->degree) {
    const char *const option = "-chebyshev4_ksp_ksp_chebyshev_kind";
    PetscBool         set;
    KSP               inner;
    PC                innerpc;

    PetscCall(PetscOptionsHasName(NULL, NULL, option, &set));
    if (!set) PetscCall(PetscOptionsSetValue(NULL, option, "opt_fourth"));
    PetscCall(PCKSPGetKSP(pc, &inner));
    PetscCall(KSPSetType(inner, KSPCHEBYSHEV));
    PetscCall(KSPSetNormType(inner, KSP_NORM_NONE));
    PetscCall(KSPSetTolerances(inner, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, solver->degree));
    PetscCall(KSPGetPC(inner, &innerpc));
    PetscCall(PCSetType(innerpc, PCJACOBI));
  }
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetFromOptions(ksp));
  if (isbai && solver->local_iters) {
    PetscCall(KSPBAISetMode(ksp, solver->mode));
    PetscCall(KSPBAISetLocalIters(ksp, solver->local_iters));
  }
  if (isbai && solver->exchange != BAI_EXCHANGE_AUTO)
    PetscCall(SetOption((PetscObject)ksp, "exchange", "%s", BAIExchanges[solver->exchange]));
  if (issor) PetscCall(KSPMonitorSet(ksp, Watch, NULL, NULL));
  t->s.ksp = ksp;
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateAnew(void *ctx, PetscInt count)
{
  Test *t = (Test *)ctx;

  PetscFunctionBeginUser;
  (void)count;
  PetscCall(DestroySolver(t));
  PetscCall(CreateSolver(t));
  PetscCall(KSPSetTolerances(t->s.ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 1));
  PetscFunctionReturn(0);
}

/* Those of the inner KSP, if there is one */
static PetscErrorCode GetIterations(const Test *t, PetscInt *its)
{
  PetscInt inner_its;
  PC       pc;
  KSP      inner;

  PetscFunctionBeginUser;
  PetscCall(KSPGetIterationNumber(t->s.ksp, its));
  if (!t->solver->degree) PetscFunctionReturn(0);
  PetscCall(KSPGetPC(t->s.ksp, &pc));
  PetscCall(PCKSPGetKSP(pc, &inner));
  PetscCall(KSPGetIterationNumber(inner, &inner_its));
  *its *= inner_its;
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(void *ctx, PetscInt count)
{
  Test    *t = (Test *)ctx;
  PetscInt its;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) {
    PetscCall(KSPSolve(t->s.ksp, t->s.b, t->s.x));
    PetscCall(GetIterations(t, &its));
    t->its += its;
    t->solves++;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode TrueResidual(const System *s, PetscReal *residual)
{
  Vec       r;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(s->b, &r));
  PetscCall(MatMult(s->A, s->x, r));
  PetscCall(VecAYPX(r, -1, s->b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(s->b, NORM_2, &norm));
  *residual /= norm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(0);
}

/* The work of a solver before its first iteration, with an estimate of eigenvalues: a first solve of one iteration
 * without a later one */
static PetscErrorCode BenchSetUp(const Bench *bench, Test *t, Figure *setup)
{
  Figure later = {0, 0, 0};

  PetscFunctionBeginUser;
  PetscCall(Measure(bench, CreateAnew, Solve, t, 1, setup));
  PetscCall(Measure(bench, NULL, Solve, t, 1, &later));
  setup->median = PetscMax(0, setup->median - later.median);
  PetscFunctionReturn(0);
}

/* The text for a solve that did not succeed */
static PetscErrorCode Failure(const Bench *bench, KSPConvergedReason reason, PetscInt limit, char text[], size_t len)
{
  PetscFunctionBeginUser;
  if (reason == KSP_DIVERGED_NANORINF) PetscCall(PetscStrncpy(text, "ends in NaN", len));
  else if (reason == KSP_DIVERGED_DTOL) PetscCall(PetscStrncpy(text, "diverges", len));
  else if (reason != KSP_DIVERGED_ITS) PetscCall(PetscStrncpy(text, KSPConvergedReasons[reason], len));
  else if (limit == bench->max_it) PetscCall(PetscSNPrintf(text, len, "not in %" PetscInt_FMT " its", limit));
  else PetscCall(PetscSNPrintf(text, len, "not in about %.3g s", (double)bench->seconds));
  PetscFunctionReturn(0);
}

/* How the solves to one tolerance went: the last of them, but for their times and the mean of their iterations */
typedef struct {
  Figure             time;
  KSPConvergedReason reason;
  PetscReal          its;
  PetscReal          residual;
} Outcome;

/* Repeated only if the first one succeeds. max_it is raised to the iterations that there is time for */
static PetscErrorCode BenchTolerance(const Bench *bench, Test *t, PetscReal rtol, PetscInt *max_it, Outcome *o)
{
  PetscReal first = 0;

  PetscFunctionBeginUser;
  for (PetscInt limit = *max_it; limit; *max_it = PetscMax(limit, *max_it)) {
    PetscCall(KSPSetTolerances(t->s.ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, limit));
    t->its = t->solves = 0;
    PetscCall(TimeOnce(NULL, Solve, t, 1, &first));
    PetscCall(KSPGetConvergedReason(t->s.ksp, &o->reason));
    if (o->reason != KSP_DIVERGED_ITS || limit == bench->max_it || first > bench->seconds / 2) break;
    limit = (PetscInt)PetscMin((PetscReal)bench->max_it, limit * PetscMax(2, bench->seconds / first));
  }
  o->time.median  = first;
  o->time.spread  = 0;
  o->time.samples = 1;
  if (o->reason > 0) {
    PetscCall(KSPSetTolerances(t->s.ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT,
                               PetscMin(bench->max_it, 2 * *max_it))); /* others may take a few more iterations */
    PetscCall(Repeat(bench, NULL, Solve, t, 1, first, &o->time));
  }
  PetscCall(KSPGetConvergedReason(t->s.ksp, &o->reason));
  o->its = (PetscReal)t->its / (PetscReal)t->solves;
  if (o->reason == KSP_DIVERGED_NANORINF) o->residual = NAN; /* x need not be the last iterate */
  else PetscCall(TrueResidual(&t->s, &o->residual));
  PetscFunctionReturn(0);
}

/* Seconds, spread and ratio to CG, or why not */
static PetscErrorCode Cell(const Bench *bench, const Outcome *o, PetscReal cg, PetscInt max_it, char text[], size_t len)
{
  char ratio[16] = "";

  PetscFunctionBeginUser;
  if (o->reason < 0) {
    PetscCall(Failure(bench, o->reason, max_it, text, len));
    PetscFunctionReturn(0);
  }
  if (cg > 0) PetscCall(PetscSNPrintf(ratio, sizeof(ratio), "%.2f", (double)(o->time.median / cg)));
  PetscCall(PetscSNPrintf(text, len, "%11.1f +-%4.1f %% %8s", 1e6 * (double)o->time.median,
                          100 * (double)(o->time.spread / o->time.median), ratio));
  PetscFunctionReturn(0);
}

/* One solver, to all tolerances, each in solves of their own from a zero guess, until one fails; cg: the seconds of the
 * first solver */
static PetscErrorCode BenchSolver(const Bench *bench, Test *t, PetscReal cg[])
{
  const char *name = t->solver->name;
  Outcome     o    = {
           {0, 0, 0},
           KSP_CONVERGED_ITERATING, 0, 1
  };
  PetscInt max_it = PetscMin(100, bench->max_it);
  Figure   setup  = {0, 0, 0};
  char     text[64], cell[64] = "", row[512];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s set-up", name));
  PetscCall(Progress(bench, text));
  PetscCall(BenchSetUp(bench, t, &setup));
  PetscCall(ReportRow(bench, text, 0, &setup, "MatMult", bench->product, 0, -1, 0, ""));
  PetscCall(PetscSNPrintf(row, sizeof(row), "  %-23s %9.1f", name, 1e6 * (double)setup.median));
  for (PetscInt k = 0; k < bench->nrtol; k++) {
    if (o.reason >= 0) {
      PetscCall(PetscSNPrintf(text, sizeof(text), "%s to %g", name, (double)bench->rtol[k]));
      PetscCall(Progress(bench, text));
      PetscCall(BenchTolerance(bench, t, bench->rtol[k], &max_it, &o));
      if (t->solver == solvers && o.reason > 0) cg[k] = o.time.median;
      PetscCall(Cell(bench, &o, cg[k], max_it, cell, sizeof(cell)));
      if (o.reason > 0) PetscCall(ReportHistory(bench, name, bench->rtol[k], &o.time, &setup, o.its, o.residual));
      if (o.reason < 0 || bench->shown[k])
        PetscCall(ReportRow(bench, name, bench->rtol[k], &o.time, "cg", o.reason > 0 ? cg[k] : 0, 0, o.its, o.residual,
                            KSPConvergedReasons[o.reason]));
    }
    if (!bench->shown[k]) continue;
    PetscCall(PetscSNPrintf(text, sizeof(text), "  %29s", cell));
    PetscCall(PetscStrlcat(row, text, sizeof(row)));
    PetscCall(PetscStrncpy(cell, "-", sizeof(cell)));
  }
  PetscCall(Print("%s  %8.5g  %8.1e\n", row, (double)o.its, (double)o.residual));
  PetscFunctionReturn(0);
}

PetscErrorCode BenchSolves(const Bench *bench, System *s)
{
  PetscReal cg[MAX_RTOL] = {0};
  char      row[512]     = "", text[64];

  PetscFunctionBeginUser;
  PetscCall(Print("  KSPSolve() from zero until ||b - A x|| is at most this part of ||b||; us, spread, over cg:\n"));
  for (PetscInt k = 0; k < bench->nrtol; k++) {
    if (!bench->shown[k]) continue;
    PetscCall(PetscSNPrintf(text, sizeof(text), "  %29g", (double)bench->rtol[k]));
    PetscCall(PetscStrlcat(row, text, sizeof(row)));
  }
  PetscCall(Print("  %-23s %9s%s  %8s  %8s\n", "solver", "set-up us", row, "its", "residual"));
  for (int k = 0; k < NSOLVERS; k++) {
    Test      t      = {*s, &solvers[k], 0, 0};
    PetscBool wanted = PETSC_FALSE;

    PetscCall(IsWanted(bench, &solvers[k], &wanted));
    if (!wanted) continue;
    PetscCall(BenchSolver(bench, &t, cg));
    PetscCall(DestroySolver(&t));
  }
  PetscFunctionReturn(0);
}
