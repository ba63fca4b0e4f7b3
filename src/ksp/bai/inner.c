/*
   A Krylov method of PETSc round the multigrid cycle of a KSPBAI: for several ranks, for matrices that are not
   symmetric positive definite or have no entries, and where rows are too long for levels
*/
#include "kspbai.h"

static PetscErrorCode PCApply_Cycle(PC pc, Vec r, Vec z)
{
  BAI *bai;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &bai));
  PetscCall(BAIHierarchyApply(bai, r, z, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUpPC(KSP ksp, PC pc)
{
  KSP_BAI  *k = (KSP_BAI *)ksp->data;
  PetscBool shell;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSHELL, &shell));
  if (shell) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetContext(pc, &k->bai));
  PetscCall(PCShellSetApply(pc, PCApply_Cycle));
  PetscCall(PCShellSetName(pc, "multigrid cycle of KSPBAI"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The iterations end when the KSPBAI says so, and before the first one if there are to be none, where KSPCG does one */
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

PetscErrorCode KSPBAISetUpInner(KSP ksp, Mat A)
{
  KSP_BAI        *k    = (KSP_BAI *)ksp->data;
  const PetscBool cg   = (PetscBool)(!k->indefinite && !k->of_pmat && k->bai.hierarchy->hermitian);
  const KSPType   type = cg ? KSPCG : k->breaks || k->of_pmat ? KSPFGMRES : KSPFBCGS;
  PC              pc;

  PetscFunctionBegin;
  if (!k->inner) {
    const char *prefix;

    PetscCall(KSPCreate(PetscObjectComm((PetscObject)ksp), &k->inner));
    PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
    PetscCall(KSPSetOptionsPrefix(k->inner, prefix));
    PetscCall(KSPAppendOptionsPrefix(k->inner, "bai_inner_")); /* else -ksp_converged_reason speaks twice */
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)k->inner, (PetscObject)ksp, 1));
    PetscCall(KSPSetErrorIfNotConverged(k->inner, PETSC_FALSE));
  }
  PetscCall(KSPSetType(k->inner, type));
  PetscCall(KSPGetPC(k->inner, &pc));
  PetscCall(SetUpPC(ksp, pc));
  PetscCall(KSPSetPCSide(k->inner, cg ? PC_LEFT : PC_RIGHT));
  PetscCall(KSPSetNormType(k->inner, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetOperators(k->inner, A, A));
  PetscCall(
    PetscInfo(ksp, "KSP type %s round %s\n", type, k->bai.hierarchy->jacobi ? "Jacobi" : "the multigrid cycle"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At most max_it iterations, or so many if their number is fixed; the solution's residual norm is that of b - A x */
PetscErrorCode KSPBAIRunInner(KSP ksp, Vec b, Vec x, PetscBool guess_zero, PetscInt max_it, PetscBool fixed,
                              BAIWatcher *watcher, BAILevelsSolution *s)
{
  KSP_BAI           *k   = (KSP_BAI *)ksp->data;
  BAI               *bai = &k->bai;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          rnorm;
  Mat                A;

  PetscFunctionBegin;
  PetscCall(KSPSetTolerances(k->inner, 0.0, 0.0, PETSC_MAX_REAL, max_it));
  PetscCall(KSPSetInitialGuessNonzero(k->inner, (PetscBool)!guess_zero));
  if (fixed) PetscCall(KSPSetConvergenceTest(k->inner, KSPConvergedSkip, NULL, NULL));
  else PetscCall(KSPSetConvergenceTest(k->inner, Converged, watcher, NULL));
  PetscCall(KSPSolve(k->inner, b, x));
  PetscCall(KSPGetConvergedReason(k->inner, &reason));
  PetscCall(KSPGetIterationNumber(k->inner, &its));
  PetscCall(KSPGetOperators(k->inner, &A, NULL));
  PetscCall(BAINeedWork(bai, A));
  PetscCall(MatResidual(A, b, x, bai->r));
  PetscCall(BAIVecNorm(bai->r, &rnorm));
  if (!fixed) its = watcher->its; /* KSPCG also counts one that it breaks down in */
  *s = (BAILevelsSolution){.its = (BAIInt)its, .rnorm = (BAIReal)rnorm, .reason = BAI_LEVELS_INDEFINITE};
  /* other reasons that are positive, as that beta of KSPCG is zero, come of a singular matrix, and say nothing of r */
  if (reason == KSP_CONVERGED_ITS) s->reason = BAI_LEVELS_CONVERGED;
  else if (reason == KSP_DIVERGED_ITS) s->reason = BAI_LEVELS_ITS;
  else if (PetscIsInfOrNanReal(rnorm)) s->reason = BAI_LEVELS_NAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}
