/*
   Runs of PETSc's Krylov methods with the PC of a KSPBAI: for PCs other than PCBAIMG, for several ranks unless their
   GPUs write to each other's memory, and for matrices that are not Hermitian with a diagonal of one sign, have no
   entries, or have rows too long for levels
*/
#include "kspbai.h"

static const KSPType krylovs[] = {
  [BAI_KRYLOV_CG]    = KSPCG,
  [BAI_KRYLOV_FCG]   = KSPFCG,
  [BAI_KRYLOV_BCGS]  = KSPFBCGS,
  [BAI_KRYLOV_GMRES] = KSPFGMRES,
};

/* The convergence test of the inner KSP: the KSPBAI decides, even before the first iteration, where KSPCG would do
   one */
static PetscErrorCode Converged(KSP inner, PetscInt its, PetscReal rnorm, KSPConvergedReason *reason, void *watcher)
{
  PetscFunctionBegin;
  *reason = KSP_CONVERGED_ITERATING;
  if (KSPBAIWatch(watcher, (BAIInt)its, (BAIReal)rnorm)) *reason = KSP_CONVERGED_ITS;
  PetscCall(((BAIWatcher *)watcher)->code);
  if (!*reason && PetscIsInfOrNanReal(rnorm)) *reason = KSP_DIVERGED_NANORINF;
  if (!*reason && !its && !inner->max_it) *reason = KSP_DIVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the inner KSP the norm that the user has named, which the method must have, or else ||b - A x|| */
static PetscErrorCode SetNorm(KSP ksp)
{
  const KSP_BAI    *k      = (KSP_BAI *)ksp->data;
  const KSPNormType named  = KSPBAINamesNorm(ksp) ? ksp->normtype : KSP_NORM_UNPRECONDITIONED;
  const char       *prefix = BAIPrefixOf((PetscObject)ksp);

  PetscFunctionBegin;
  PetscCheck(KSPBAIIsPositive(k->krylov) || named == KSP_NORM_UNPRECONDITIONED, PetscObjectComm((PetscObject)ksp),
             PETSC_ERR_SUP,
             "-%sksp_norm_type %s with the method %s of KSPBAI: must be unpreconditioned, default or none; or "
             "-%sksp_bai_krylov cg or fcg",
             prefix, KSPNormTypes[named], krylovs[k->krylov], prefix);
  PetscCall(KSPSetNormType(k->inner, named));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes k->inner a KSP of the type of k->krylov, with the PC of this KSP and its operators. An inner KSP of another
   type or with another PC is replaced */
PetscErrorCode KSPBAISetUpInner(KSP ksp)
{
  KSP_BAI      *k    = (KSP_BAI *)ksp->data;
  const KSPType type = krylovs[k->krylov];
  PetscBool     same = PETSC_FALSE;

  PetscFunctionBegin;
  if (k->inner) PetscCall(PetscObjectTypeCompare((PetscObject)k->inner, type, &same));
  /* A new KSP for another type, as KSPFCG of PETSc 3.26 leaks its vectors when its type changes */
  if (k->inner && (!same || k->inner->pc != ksp->pc)) PetscCall(KSPDestroy(&k->inner));
  if (!k->inner) {
    PetscCall(KSPCreate(PetscObjectComm((PetscObject)ksp), &k->inner));
    PetscCall(KSPSetOptionsPrefix(k->inner, ((PetscObject)ksp)->prefix));
    PetscCall(KSPAppendOptionsPrefix(k->inner, "bai_inner_")); /* otherwise -ksp_converged_reason prints twice */
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)k->inner, (PetscObject)ksp, 1));
    PetscCall(KSPSetErrorIfNotConverged(k->inner, PETSC_FALSE));
    PetscCall(KSPSetPC(k->inner, ksp->pc));
    PetscCall(KSPSetType(k->inner, type));
  }
  PetscCall(KSPSetPCSide(k->inner, KSPBAIIsPositive(k->krylov) ? PC_LEFT : PC_RIGHT));
  PetscCall(SetNorm(ksp));
  PetscCall(KSPSetOperators(k->inner, ksp->pc->mat, ksp->pc->pmat));
  if (!same)
    PetscCall(PetscInfo(ksp, "KSP type %s, preconditioned by PC type %s\n", type, ((PetscObject)ksp->pc)->type_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does at most max_it iterations by k->inner, which the watcher may end, or exactly this number if fixed. s gets how
   they ended, with ||b - A x|| as the norm. If the PC failed, ksp->reason becomes KSP_DIVERGED_PC_FAILED */
PetscErrorCode KSPBAIRunInner(KSP ksp, PetscBool guess_zero, PetscInt max_it, PetscBool fixed, BAIWatcher *watcher,
                              BAILevelsSolution *s)
{
  KSP_BAI            *k = (KSP_BAI *)ksp->data;
  const Vec           b = KSPBAIRhs(ksp), x = ksp->vec_sol;
  KSPConvergedReason  reason;
  const PetscInt      presolved = ksp->pc->presolvedone;
  const struct _PCOps ops       = *ksp->pc->ops;
  PetscInt            its;
  PetscReal           rnorm;
  PetscErrorCode      code;

  PetscFunctionBegin;
  PetscCall(KSPSetTolerances(k->inner, 0.0, 0.0, PETSC_MAX_REAL, max_it));
  PetscCall(KSPSetInitialGuessNonzero(k->inner, (PetscBool)!guess_zero));
  if (fixed) PetscCall(KSPSetConvergenceTest(k->inner, KSPConvergedSkip, NULL, NULL));
  else PetscCall(KSPSetConvergenceTest(k->inner, Converged, watcher, NULL));
  /* KSPSolve() of the KSPBAI has called these. PCEISENSTAT changes b, x and the matrix of the PC in them */
  ksp->pc->ops->presolve = ksp->pc->ops->postsolve = NULL;
  k->inside                                        = PETSC_TRUE;
  code                    = k->transposed ? KSPSolveTranspose(k->inner, b, x) : KSPSolve(k->inner, b, x);
  k->inside               = PETSC_FALSE;
  ksp->pc->ops->presolve  = ops.presolve;
  ksp->pc->ops->postsolve = ops.postsolve;
  if (code) ksp->pc->presolvedone = presolved; /* KSPs that fail do not call PCPostSolve() */
  PetscCall(code);
  PetscCall(KSPGetConvergedReason(k->inner, &reason));
  PetscCall(KSPGetIterationNumber(k->inner, &its));
  PetscCall(KSPBAIResidual(ksp, b, x, &rnorm));
  if (!fixed) its = PetscMax(watcher->its, 0); /* KSPCG also counts the iteration in which it breaks down */
  *s = (BAILevelsSolution){.its    = (BAIInt)its,
                           .rnorm  = (BAIReal)rnorm,
                           .rnorm0 = (BAIReal)watcher->rnorm0,
                           .reason = BAI_LEVELS_INDEFINITE};
  if (ksp->reason > 0 && KSPBAITestsTwice(ksp)) PetscCall(KSPBAIScaledNorms(ksp, b, k->bai.r, s));
  if (reason == KSP_DIVERGED_PC_FAILED && !ksp->reason) ksp->reason = reason;
  /* Other positive reasons, such as a zero beta of KSPCG, result from a singular matrix, and tell nothing about r */
  if (reason == KSP_CONVERGED_ITS) s->reason = BAI_LEVELS_CONVERGED;
  else if (reason == KSP_DIVERGED_ITS) s->reason = BAI_LEVELS_ITS;
  else if (PetscIsInfOrNanReal(rnorm)) s->reason = BAI_LEVELS_NAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}
