/*
   KSPSolve() of a KSPBAI: set-up if necessary, and runs of Krylov methods by the engine, on the chip or preconditioned
   by the cycle of a PCBAIMG, or by a KSP of PETSc, see inner.c
*/
#include "kspbai.h"

/* The id of an object, which no other object has had, or 0 for NULL */
static PetscObjectId IdOf(void *obj)
{
  PetscObjectId id = 0;

  if (obj) (void)PetscObjectGetId((PetscObject)obj, &id);
  return id;
}

/* Gets everything that a set-up of this KSP depends on at present. Sets k->transposed too */
static PetscErrorCode GetSetting(KSP ksp, KSPBAISetting *s)
{
  KSP_BAI     *k = (KSP_BAI *)ksp->data;
  MatNullSpace nullspace;
  PetscBool    known, symmetric;
  BAI         *mg = NULL;
  Mat          A;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s))); /* padding too */
  PetscCall(KSPGetPC(ksp, &ksp->pc));
  PetscCall(KSPBAIGetMG(ksp, &mg));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCall(MatBoundToCPU(A, &s->bound));
  PetscCall(PetscObjectStateGet((PetscObject)A, &s->state));
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  k->transposed = (PetscBool)(ksp->transpose_solve && !(known && symmetric));
  s->pc         = IdOf(ksp->pc);
  s->A          = IdOf(A);
  s->P          = IdOf(ksp->pc->pmat);
  s->nullspace  = IdOf(nullspace);
  s->change     = k->bai.change;
  s->mg_change  = mg ? mg->change : 0;
  s->norm       = ksp->normtype;
  s->norm_set   = ksp->normtype_set;
  s->skips      = (PetscBool)(ksp->converged == KSPConvergedSkip);
  s->transposed = k->transposed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares the KSP for a solve. Method and PC are chosen again if anything that they depend on has changed */
PetscErrorCode KSPBAIPrepare(KSP ksp)
{
  KSP_BAI      *k     = (KSP_BAI *)ksp->data;
  const BAI    *owner = KSPBAIGetOwner(k);
  KSPBAISetting now;
  PetscBool     same, is = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(GetSetting(ksp, &now));
  PetscCall(PetscMemcmp(&now, &k->setting, sizeof(now), &same));
  if (owner) { /* a KSP of PETSc, and relaxation, find changes themselves */
    if (same && !owner->hierarchy->deferred) PetscCall(BAIHierarchyIsAsAsked(owner, &is));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &is, 1, BAI_MPI_BOOL, MPI_LAND, PetscObjectComm((PetscObject)ksp)));
    if (is) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (now.A != k->setting.A || now.P != k->setting.P) { /* other matrices may need vectors of another type */
    PetscCall(VecDestroy(&k->bai.r));
    PetscCall(VecDestroy(&k->bai.c));
    PetscCall(VecDestroy(&k->weights));
    PetscCall(BAIRefinementReset(&k->bai)); /* its residual is in bai.r */
  }
  PetscCall(PetscMemzero(&k->setting, sizeof(k->setting))); /* until set-up is complete */
  if (!same) {
    PetscCall(KSPBAIChoosePC(ksp));
    PetscCall(KSPBAIChooseMethod(ksp));
  }
  PetscCall(KSPBAISetUp(ksp));
  PetscCall(GetSetting(ksp, &k->setting));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares the KSP, unless KSPSolve() will scale the matrix before; an error without a matrix */
PetscErrorCode KSPSetUp_BAI(KSP ksp)
{
  PetscBool matrix;
  Mat       A;
  MatType   type = NULL;

  PetscFunctionBegin;
  PetscCall(KSPGetOperatorsSet(ksp, &matrix, NULL));
  if (matrix) PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (matrix) PetscCall(MatGetType(A, &type)); /* none, if PETSc has only created it on demand */
  PetscCheck(type, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_WRONGSTATE,
             "KSPBAI has no matrix: call KSPSetOperators(), or KSPSetDM() and KSPSetComputeOperators(), first");
  if (BAIScalesDiagonal(ksp)) PetscCall(KSPBAIChoosePC(ksp)); /* KSPSolve() will change the matrix */
  else PetscCall(KSPBAIPrepare(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does iterations after the first before ones of this solve. A watched run continues until the convergence test ends
   it, which accepts only norms up to the goal, unless that is 0 */
static PetscErrorCode RunMethod(KSP ksp, const BAITolerances *t, PetscBool watched, PetscInt before, PetscReal goal,
                                BAILevelsSolution *s)
{
  KSP_BAI        *k       = (KSP_BAI *)ksp->data;
  const PetscBool zero    = (PetscBool)(ksp->guess_zero && !before);
  BAIWatcher      watcher = {.ksp = ksp, .before = before, .its = -1, .goal = goal};
  BAIRun          run     = {.guess_zero = (int)zero, .tolerances = t, .solution = s};

  PetscFunctionBegin;
  *s = (BAILevelsSolution){.its = 0, .reason = BAI_LEVELS_CONVERGED};
  if (watched && k->runner != BAI_BY_PETSC) {
    run.monitor = KSPBAIWatch;
    run.context = &watcher;
    run.code    = &watcher.code;
    watcher.v   = &run.v;
  }
  if (k->runner != BAI_BY_PETSC) PetscCall(BAIHierarchyRun(KSPBAIGetOwner(k), KSPBAIRhs(ksp), ksp->vec_sol, &run));
  else PetscCall(KSPBAIRunInner(ksp, zero, (PetscInt)t->max_it, (PetscBool)!watched, &watcher, s));
  if (watcher.stalls) s->reason = BAI_LEVELS_STALLED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the size of the system: ||b||, or if that is 0 the residual norm of the guess */
static PetscErrorCode SystemSize(KSP ksp, PetscReal *size)
{
  PetscFunctionBegin;
  PetscCall(BAIVecNorm(ksp->vec_rhs, size));
  if (*size == 0 && !ksp->guess_zero) PetscCall(KSPBAIResidual(ksp, ksp->vec_rhs, ksp->vec_sol, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets outcome to BAI_SCALE if the system must be scaled, as the square of its size is out of range. norm is ||b||; if
   negative for unknown, or 0 or infinite by rounding, it is replaced by the size */
static PetscErrorCode CheckRange(KSP ksp, PetscReal *norm, BAIOutcome *outcome)
{
  PetscFunctionBegin;
  if (*norm <= 0 || PetscIsInfOrNanReal(*norm)) PetscCall(SystemSize(ksp, norm));
  if (*norm != 0 && !PetscIsInfOrNanReal(*norm) && !BAIIsExactSquare(*norm * *norm) &&
      ((KSP_BAI *)ksp->data)->scale == 1.0)
    *outcome = BAI_SCALE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets ksp->reason for the end of a run, or if the solve can go on, outcome. A true residual that meets the tolerance
   means convergence, whatever ended the run, unless a method that broke down or stalls leaves rows to another one */
static PetscErrorCode TakeReason(KSP ksp, const BAILevelsSolution *s, BAIOutcome *outcome)
{
  const PetscBool fixed  = KSPBAIIsFixed(ksp);
  const PetscBool meets  = (PetscBool)(ksp->converged == KSPConvergedDefault &&
                                      !PetscIsInfOrNanReal((PetscReal)s->rnorm) && ksp->rnorm <= ksp->ttol);
  PetscBool       leaves = PETSC_FALSE;

  PetscFunctionBegin;
  if (!fixed && (s->reason == BAI_LEVELS_INDEFINITE || (meets && s->reason == BAI_LEVELS_STALLED)))
    PetscCall(KSPBAILeavesRows(ksp, &leaves));
  if (s->reason == BAI_LEVELS_ITS) ksp->reason = fixed || KSPBAITakesMaxIts(ksp) ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
  else if (fixed && s->reason == BAI_LEVELS_CONVERGED) ksp->reason = KSP_CONVERGED_ITS;
  else if (s->reason == BAI_LEVELS_CONVERGED || (meets && !fixed && !leaves))
    ksp->reason = ksp->rnorm <= ksp->rtol * ksp->rnorm0 ? KSP_CONVERGED_RTOL : KSP_CONVERGED_ATOL;
  else PetscCall(KSPBAITakeFailure(ksp, s, leaves, outcome));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Does the whole solve in one run, without monitors. The convergence test sees a zero guess only after the run, as the
   test needs the host. It sees another guess before the run, and then sets ksp->rnorm0, to which tolerances are
   relative: ||b||, or if the user asked for it the residual norm of the guess
*/
static PetscErrorCode SolveUnwatched(KSP ksp, BAIOutcome *outcome)
{
  KSP_BAI          *k     = (KSP_BAI *)ksp->data;
  const PetscBool   fixed = KSPBAIIsFixed(ksp);
  BAITolerances     t     = KSPBAITolerances(ksp, k->scale);
  BAILevelsSolution s;
  PetscReal         bnorm = -1;

  PetscFunctionBegin;
  if (!ksp->guess_zero && !fixed) {
    PetscCall(CheckRange(ksp, &bnorm, outcome));
    if (*outcome == BAI_SCALE) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(KSPBAIResidual(ksp, KSPBAIRhs(ksp), ksp->vec_sol, &ksp->rnorm));
    ksp->rnorm /= k->scale;
    KSPCheckNorm(ksp, ksp->rnorm);
    PetscCall(KSPBAITestGuess(ksp, ksp->rnorm));
    if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
    t.bnorm2 = k->scale * ksp->rnorm0 * k->scale * ksp->rnorm0;
  }
  PetscCall(RunMethod(ksp, &t, PETSC_FALSE, 0, 0, &s));
  ksp->its = fixed ? ksp->max_it : (PetscInt)s.its;
  if (ksp->guess_zero && !fixed) {
    bnorm = (PetscReal)s.bnorm / k->scale;
    PetscCall(CheckRange(ksp, &bnorm, outcome));
    if (*outcome == BAI_SCALE) PetscFunctionReturn(PETSC_SUCCESS);
    KSPCheckNorm(ksp, bnorm);
    ksp->rnorm = bnorm;
    PetscCall((*ksp->converged)(ksp, 0, bnorm, &ksp->reason, ksp->cnvP));
    if (ksp->reason) {
      ksp->its = 0;
      PetscCall(VecZeroEntries(ksp->vec_sol));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  ksp->rnorm = (PetscReal)s.rnorm / k->scale;
  PetscCall(TakeReason(ksp, &s, outcome));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Solves with monitors and the convergence test of the KSP, which get the norm of the updated residual. If
   KSPConvergedDefault() accepts it, b - A x is tested, from which the solve continues if necessary. Products with a
   matrix without entries may be inexact, as the finite differences of MATMFFD are. So if b - A x gets no smaller
   there, the updated residual decides, unless b - A x is far from it
*/
static PetscErrorCode SolveWatched(KSP ksp, PetscInt *its, BAIOutcome *outcome)
{
  KSP_BAI          *k       = (KSP_BAI *)ksp->data;
  const PetscReal   inexact = (PetscReal)0.01; /* well above errors of finite differences */
  const PetscBool   tested  = (PetscBool)(ksp->converged == KSPConvergedDefault && !KSPBAINamesNorm(ksp));
  BAITolerances     t       = {.bnorm2 = -1};
  BAILevelsSolution s;
  BAITest           test  = {.goal = 0};
  PetscReal         bnorm = -1, updated;
  PetscBool         begun = PETSC_FALSE, exact;
  Mat               A;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAIHasEntries(A, &exact));
  PetscCall(CheckRange(ksp, &bnorm, outcome));
  if (*outcome == BAI_SCALE) PetscFunctionReturn(PETSC_SUCCESS);
  t.scaled = KSPBAITestsTwice(ksp) ? ksp->rtol : 0;
  while (PETSC_TRUE) {
    t.max_it = (BAIInt)(ksp->max_it - *its);
    PetscCall(RunMethod(ksp, &t, PETSC_TRUE, *its, (PetscReal)test.goal, &s));
    *its += (PetscInt)s.its;
    updated = ksp->rnorm;
    if (!KSPBAINamesNorm(ksp)) ksp->rnorm = (PetscReal)s.rnorm / k->scale;
    PetscCall(KSPBAILeaveDiverged(ksp, &s));
    if (!ksp->reason || !tested || ksp->reason < 0 || !*its || ksp->reason == KSP_CONVERGED_ITS) break;
    if (!begun) BAITestBegin(&test, ksp->ttol, PETSC_MAX_REAL);
    begun = PETSC_TRUE;
    if (BAITestEnds(&test, ksp->rnorm, s.scaled, BAIScaledLimit(&t, ksp->abstol, ksp->ttol, s.scaled_b), &s.reason)) {
      if (!exact && s.reason == BAI_LEVELS_STAGNATED && ksp->rnorm <= inexact * ksp->rnorm0) ksp->rnorm = updated;
      else if (s.reason != BAI_LEVELS_CONVERGED) ksp->reason = KSP_CONVERGED_ITERATING;
      break;
    }
    ksp->reason = KSP_CONVERGED_ITERATING;
    if (*its < ksp->max_it) continue;
    s.reason = BAI_LEVELS_ITS;
    break;
  }
  if (!ksp->reason) PetscCall(TakeReason(ksp, &s, outcome));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets k->scale to a power of two, which does not change the digits of later results, k->scaled to b times that, and
   multiplies a nonzero guess in the user's x by it */
static PetscErrorCode ScaleSystem(KSP ksp)
{
  KSP_BAI  *k    = (KSP_BAI *)ksp->data;
  const int most = sizeof(PetscReal) > sizeof(float) ? DBL_MAX_EXP - 1 : FLT_MAX_EXP - 1;
  PetscReal size;
  int       exponent;

  PetscFunctionBegin;
  PetscCall(SystemSize(ksp, &size));
  (void)frexp((double)size, &exponent);
  exponent = PetscMax(-most, PetscMin(exponent, most));
  k->scale = (PetscReal)ldexp(1.0, -exponent);
  PetscCall(PetscInfo(ksp, "||b||, or if that is 0 the residual norm, is %g: the system is scaled by %g\n",
                      (double)size, (double)k->scale));
  if (!k->scaled) PetscCall(VecDuplicate(ksp->vec_rhs, &k->scaled));
  PetscCall(VecCopy(ksp->vec_rhs, k->scaled));
  PetscCall(VecScale(k->scaled, k->scale));
  PetscCall(PetscObjectStateIncrease((PetscObject)k->scaled)); /* as vectors cache their norms */
  if (!ksp->guess_zero) PetscCall(VecScale(ksp->vec_sol, k->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether this run of the method that is set up needs the norm of each iteration; its: number of iterations so far */
static PetscBool IsRunWatched(KSP ksp, PetscInt its)
{
  const PetscBool seen = KSPBAIIsWatched(ksp);

  return (PetscBool)((seen || ((KSP_BAI *)ksp->data)->runner == BAI_BY_PETSC || its) &&
                     ksp->normtype != KSP_NORM_NONE && (seen || !KSPBAIIsFixed(ksp)));
}

/* Raises an error for matrices that are not assembled, and for vectors of wrong size; of wrong local size on the ranks
   that have them only, as MatMult() does. A PCEISENSTAT has no matrix if its type was set since the last solve: PETSc
   then calls PCPreSolve() before PCSetUp() */
static PetscErrorCode CheckOperands(KSP ksp)
{
  const Vec         vecs[]  = {ksp->vec_rhs, ksp->vec_sol};
  const char *const names[] = {"right-hand side", "solution"};
  PetscInt          rows, local_rows, n, local_n;
  Mat               A;

  PetscFunctionBegin;
  PetscCheck(ksp->pc->mat, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ORDER,
             "PC type %s changes the system before a solve: call KSPSetOperators() after PCSetType()",
             ((PetscObject)ksp->pc)->type_name);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAICheckAssembled((PetscObject)ksp, A));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetLocalSize(A, &local_rows, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecGetSize(vecs[k], &n));
    PetscCall(VecGetLocalSize(vecs[k], &local_n));
    PetscCheck(n == rows, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_SIZ,
               "The %s has %" PetscInt_FMT " entries: must be %" PetscInt_FMT ", the rows of the matrix", names[k], n,
               rows);
    PetscCheck(local_n == local_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "The %s has %" PetscInt_FMT " entries on this rank: must be %" PetscInt_FMT
               ", the rows of the matrix there",
               names[k], local_n, local_rows);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves by one Krylov method after another, until one can go to the end */
static PetscErrorCode SolveByKrylov(KSP ksp)
{
  KSP_BAI     *k       = (KSP_BAI *)ksp->data;
  BAIOutcome   outcome = BAI_ENDS;
  PetscInt     its     = 0; /* of all methods so far */
  MatNullSpace nullspace;

  PetscFunctionBegin;
  ksp->its = 0;
  k->scale = 1.0;
  k->grows = PETSC_FALSE;
  k->zero  = ksp->guess_zero;
  if (KSPBAIGetOwner(k) && !KSPBAIGetOwner(k)->hierarchy->finite) {
    ksp->reason = KSP_DIVERGED_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  do {
    if (outcome == BAI_SCALE) {
      PetscCall(ScaleSystem(ksp));
      its = 0;
    } else if (outcome == BAI_AGAIN) {
      PetscCall(PetscMemzero(&k->setting, sizeof(k->setting)));
      PetscCall(KSPBAISetUpKrylov(ksp));
      PetscCall(GetSetting(ksp, &k->setting));
    }
    outcome = BAI_ENDS;
    if (IsRunWatched(ksp, its)) PetscCall(SolveWatched(ksp, &its, &outcome));
    else {
      PetscCall(SolveUnwatched(ksp, &outcome));
      its = ksp->its;
    }
  } while (outcome != BAI_ENDS);
  if (k->scale != 1.0) PetscCall(VecScale(ksp->vec_sol, 1.0 / k->scale));
  PetscCall(KSPBAIGetNullSpace(ksp, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, ksp->vec_sol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work of KSPSolve_BAI(), which may leave ksp->guess_zero changed */
static PetscErrorCode PrepareAndSolve(KSP ksp)
{
  KSP_BAI        *k      = (KSP_BAI *)ksp->data;
  const PetscBool zeroed = (PetscBool)!BAIGuessIsNotRead(ksp);

  PetscFunctionBegin;
  PetscCall(CheckOperands(ksp));
  k->stands = k->stalls = PETSC_FALSE;
  PetscCall(KSPBAIPrepare(ksp)); /* options, or values of the matrix, may have changed since KSPSetUp() */
  if (ksp->reason == KSP_DIVERGED_PC_FAILED && !ksp->pc->failedreason)
    ksp->reason = KSP_CONVERGED_ITERATING; /* clears the reason of a PC that is set up again, or not at all */
  if (ksp->guess_zero && !zeroed && !BAIGuessIsNotRead(ksp)) PetscCall(VecZeroEntries(ksp->vec_sol));
  if (k->method == BAI_METHOD_RELAXATION) PetscCall(KSPSolve_BAIRelaxation(ksp));
  else PetscCall(SolveByKrylov(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSolve_BAI(KSP ksp)
{
  const PetscBool guess_zero = ksp->guess_zero;
  PetscErrorCode  code;

  PetscFunctionBegin;
  code            = PrepareAndSolve(ksp);
  ksp->guess_zero = guess_zero;
  if (code) ksp->pc->presolvedone--; /* PETSc does not call PCPostSolve() then */
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
