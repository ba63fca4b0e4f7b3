/*
   KSPSolveTranspose(): another KSPBAI solves with the transposed matrix, which is kept, and so is what was set up for
   it. Where the matrix is known to be symmetric, nothing else is needed
*/
#include "kspbai.h"

/* What a matrix needs that is not as it was when it was transposed */
enum {
  WORK_NONE,
  WORK_VALUES,
  WORK_ALL
};

PetscErrorCode KSPBAINeedsTranspose(KSP ksp, PetscBool *needs)
{
  PetscBool known, symmetric;
  Mat       A;

  PetscFunctionBegin;
  *needs = ksp->transpose_solve;
  if (!*needs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  *needs = (PetscBool) !(known && symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms are those of the KSPBAI that users have */
static PetscErrorCode Show(PETSC_UNUSED KSP transposed, PetscInt it, PetscReal rnorm, void *context)
{
  KSP ksp = (KSP)context;

  PetscFunctionBegin;
  ksp->its   = it;
  ksp->rnorm = rnorm;
  PetscCall(KSPLogResidualHistory(ksp, rnorm));
  PetscCall(KSPMonitor(ksp, it, rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So are iterations and norms for the convergence test of users, which asks their KSPBAI */
static PetscErrorCode Test(PETSC_UNUSED KSP transposed, PetscInt it, PetscReal rnorm, KSPConvergedReason *reason,
                           void *context)
{
  KSP ksp = (KSP)context;

  PetscFunctionBegin;
  ksp->its   = it;
  ksp->rnorm = rnorm;
  PetscCall((*ksp->converged)(ksp, it, rnorm, reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(KSP ksp)
{
  KSP_BAI    *k = (KSP_BAI *)ksp->data;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)ksp), &k->transposed));
  PetscCall(KSPSetType(k->transposed, KSPBAI));
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(KSPSetOptionsPrefix(k->transposed, prefix)); /* for the words of errors; no options are read */
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)k->transposed, (PetscObject)ksp, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of At from A. MatTranspose() writes those of a rank's own columns on the host, and does not mark those on
 * a GPU as outdated */
static PetscErrorCode TransposeValues(Mat A, Mat At)
{
  PetscBool    mpi, seq;
  PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, &At));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)At, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(At, &At, NULL, NULL));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)At, MATSEQAIJ, &seq));
  if (seq) {
    PetscCall(MatSeqAIJGetArrayWrite(At, &values));
    PetscCall(MatSeqAIJRestoreArrayWrite(At, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transposed matrix as A is now, on all ranks alike. Its null spaces are those of A the other way round */
static PetscErrorCode Transpose(KSP ksp, Mat A)
{
  KSP_BAI         *k = (KSP_BAI *)ksp->data;
  PetscObjectState state, nonzero;
  PetscObjectId    id;
  MatNullSpace     right, left, near;
  Mat              At   = NULL;
  int              work = WORK_NONE;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(MatGetNonzeroState(A, &nonzero));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (!k->transposed || id != k->transpose.id || nonzero != k->transpose.nonzero) work = WORK_ALL;
  else if (state != k->transpose.state) work = WORK_VALUES;
  PetscCall(BAIAgree(&k->bai, PETSC_SUCCESS, &work));
  if (work == WORK_ALL) {
    PetscCall(KSPBAIDestroyTranspose(ksp));
    PetscCall(Create(ksp));
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &At));
    PetscCall(KSPSetOperators(k->transposed, At, At));
    PetscCall(MatDestroy(&At));
    PetscCall(KSPGetOperators(k->transposed, &At, NULL));
  } else {
    PetscCall(KSPGetOperators(k->transposed, &At, NULL));
    if (work == WORK_VALUES) PetscCall(TransposeValues(A, At));
  }
  k->transpose.id      = id;
  k->transpose.nonzero = nonzero;
  k->transpose.state   = state;
  PetscCall(MatGetNullSpace(A, &right));
  PetscCall(MatGetTransposeNullSpace(A, &left));
  PetscCall(MatGetNearNullSpace(A, &near));
  PetscCall(MatSetNullSpace(At, left));
  PetscCall(MatSetTransposeNullSpace(At, right));
  PetscCall(MatSetNearNullSpace(At, near));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSolve_BAITranspose(KSP ksp)
{
  KSP_BAI       *k = (KSP_BAI *)ksp->data;
  const KSP_BAI *t;
  KSP            transposed;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(Transpose(ksp, A));
  transposed = k->transposed;
  PetscCall(KSPBAIInstruct(ksp, transposed));
  if (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip)
    PetscCall(KSPSetConvergenceTest(transposed, Test, ksp, NULL));
  if (ksp->dm) { /* for partition dm */
    PetscCall(KSPSetDM(transposed, ksp->dm));
    PetscCall(KSPSetDMActive(transposed, KSP_DMACTIVE_ALL, PETSC_FALSE));
  }
  PetscCall(KSPSetInitialGuessNonzero(transposed, (PetscBool)!ksp->guess_zero));
  if (KSPBAIIsWatched(ksp)) PetscCall(KSPMonitorSet(transposed, Show, ksp, NULL));
  PetscCall(KSPSolve(transposed, ksp->vec_rhs, ksp->vec_sol));
  t             = (KSP_BAI *)transposed->data;
  k->stands     = t->stands;
  k->attainable = t->attainable;
  ksp->its      = transposed->its;
  ksp->rnorm    = transposed->rnorm;
  ksp->rnorm0   = transposed->rnorm0;
  ksp->ttol     = transposed->ttol;
  ksp->reason   = transposed->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPBAIDestroyTranspose(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPDestroy(&k->transposed));
  k->transpose.id = 0; /* what failed is to be done again */
  PetscFunctionReturn(PETSC_SUCCESS);
}
