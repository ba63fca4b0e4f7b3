/*
   Several right-hand sides with one matrix, by KSPMatSolve(): on the chip of a GPU the engine solves several at once.
   In all other cases PETSc, or SolveColumn(), calls KSPSolve() for one column after another
*/
#include "kspbai.h"

/* The result that KSPMatSolve() reports in the KSP: the largest number of iterations, the largest residual norm, and
   the reason of the first failed column */
typedef struct {
  PetscInt           its;
  PetscReal          rnorm;
  KSPConvergedReason reason;
} Worst;

/* Merges the end of a column's solve into worst */
static void NoteColumn(Worst *worst, PetscInt its, PetscReal rnorm, KSPConvergedReason reason)
{
  worst->its = PetscMax(worst->its, its);
  if (!(rnorm <= worst->rnorm)) worst->rnorm = rnorm; /* also if it is NaN */
  if (!worst->reason || (worst->reason > 0 && reason < 0)) worst->reason = reason;
}

/* Whether columns can be solved at once: no monitor or test follows a single column, and the engine has the matrix on
   the chip */
static PetscErrorCode TakesColumns(KSP ksp, Mat A, PetscBool *takes)
{
  const KSP_BAI                *k    = (KSP_BAI *)ksp->data;
  const KSPConvergedDefaultCtx *test = (KSPConvergedDefaultCtx *)ksp->cnvP;
  MatNullSpace                  space, transposed;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(A, &space));
  PetscCall(MatGetTransposeNullSpace(A, &transposed));
  *takes = (PetscBool)(k->runner == BAI_BY_CHIP && !k->bai.hierarchy->gathered && !KSPBAIIsWatched(ksp) &&
                       ksp->converged == KSPConvergedDefault && ksp->normtype != KSP_NORM_NONE && !space &&
                       !transposed && !ksp->guess && !ksp->guess_knoll && !ksp->presolve && !ksp->postsolve &&
                       (ksp->guess_zero || !test || (!test->initialrtol && !test->mininitialrtol)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves all columns by one call of the engine, if the arrays of B and X are where the matrix is. solutions becomes an
   array with the end of each column, for the caller to free, or else NULL */
static PetscErrorCode SolveByEngine(KSP ksp, Mat B, Mat X, PetscInt count, BAILevelsSolution **solutions)
{
  BAI                *bai = (BAI *)ksp->data;
  const BAIHierarchy  h   = bai->hierarchy;
  const BAITolerances t   = KSPBAITolerances(ksp, 1.0);
  const PetscScalar  *b;
  PetscScalar        *x;
  PetscMemType        bmem, xmem;
  PetscBool           there;
  PetscInt            to_b, to_x;
  BAIStatus           status = BAIStatusOf(BAI_OK);
  BAILevelsSolution  *s      = NULL;
  PetscLogDouble      flops  = 0;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(B, &to_b));
  PetscCall(MatDenseGetLDA(X, &to_x));
  PetscCall(MatDenseGetArrayReadAndMemType(B, &b, &bmem));
  PetscCall(MatDenseGetArrayAndMemType(X, &x, &xmem));
  if (h->device) there = (PetscBool)(PetscMemTypeDevice(bmem) && PetscMemTypeDevice(xmem));
  else there = (PetscBool)(PetscMemTypeHost(bmem) && PetscMemTypeHost(xmem));
  if (there) {
    const BAIColumns c = {(BAIInt)count, (const BAIScalar *)b, (BAIScalar *)x, (BAIInt)to_b, (BAIInt)to_x};

    PetscCall(PetscCalloc1(count, &s));
    PetscCall(PetscLogEventBegin(BAI_Cycle, B, X, 0, 0));
    PetscCall(BAILogDeviceBegin());
    status = BAILevelsSolveColumns(h->levels, &c, (int)ksp->guess_zero, &t, s);
    PetscCall(BAILogDeviceEnd());
    for (PetscInt k = 0; k < count && !status.code; k++) flops += BAISolveFlops(h, s[k].its);
    PetscCall(BAILogDeviceFlops(flops));
    PetscCall(PetscLogEventEnd(BAI_Cycle, B, X, 0, 0));
  }
  PetscCall(MatDenseRestoreArrayAndMemType(X, &x));
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, &b));
  PetscCall(BAICheckStatus(bai, status));
  *solutions = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The reason of a column's end; KSP_CONVERGED_ITERATING if KSPSolve() must decide, as it can use another method, scale
   the system, or test the guess. bcgs: the engine ran BiCGStab */
static KSPConvergedReason ReasonOf(KSP ksp, PetscBool bcgs, const BAILevelsSolution *s)
{
  const PetscReal bnorm = (PetscReal)s->bnorm, rnorm = (PetscReal)s->rnorm;

  if (!s->its || PetscIsInfOrNanReal(bnorm) || !BAIIsExactSquare(bnorm * bnorm)) return KSP_CONVERGED_ITERATING;
  switch (s->reason) {
  case BAI_LEVELS_CONVERGED:
    return rnorm <= ksp->rtol * bnorm ? KSP_CONVERGED_RTOL : KSP_CONVERGED_ATOL;
  case BAI_LEVELS_ITS:
    return KSPBAITakesMaxIts(ksp) ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
  case BAI_LEVELS_DTOL:
    return ksp->guess_zero && bcgs ? KSP_CONVERGED_ITERATING : KSP_DIVERGED_DTOL;
  default:
    return KSP_CONVERGED_ITERATING;
  }
}

/* Solves a column by KSPSolve() from its original guess, and merges its end into worst; guess is NULL if that was zero,
   or is still in X */
static PetscErrorCode SolveColumn(KSP ksp, Mat B, Mat guess, Mat X, PetscInt column, Worst *worst)
{
  Vec                b, x, from;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          rnorm;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(B, column, &b));
  PetscCall(MatDenseGetColumnVec(X, column, &x));
  if (guess) {
    PetscCall(MatDenseGetColumnVecRead(guess, column, &from));
    PetscCall(VecCopy(from, x));
    PetscCall(MatDenseRestoreColumnVecRead(guess, column, &from));
  }
  PetscCall(BAISolveAsAsked(ksp, b, x));
  PetscCall(MatDenseRestoreColumnVec(X, column, &x));
  PetscCall(MatDenseRestoreColumnVecRead(B, column, &b));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualNorm(ksp, &rnorm));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  NoteColumn(worst, its, rnorm, reason);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSizes(Mat A, Mat B, Mat X)
{
  PetscInt n, b, x;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetLocalSize(B, &b, NULL));
  PetscCall(MatGetLocalSize(X, &x, NULL));
  PetscCheck(b == n && x == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The matrix has %" PetscInt_FMT " rows, the right-hand sides %" PetscInt_FMT
             ", and the solutions %" PetscInt_FMT,
             n, b, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPMatSolve_BAI(KSP ksp, Mat B, Mat X)
{
  KSP_BAI           *k     = (KSP_BAI *)ksp->data;
  Worst              worst = {.rnorm = 0};
  BAILevelsSolution *s     = NULL;
  Mat                A, guess     = NULL;
  PetscInt           count, alone = 0;
  PetscBool          bcgs, takes  = PETSC_FALSE;

  PetscFunctionBegin;
  BAIBeginMatSolve(ksp);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(CheckSizes(A, B, X));
  PetscCall(MatGetSize(B, NULL, &count));
  k->stands = k->stalls = k->grows = PETSC_FALSE;
  PetscCall(KSPBAIPrepare(ksp)); /* options, or values of the matrix, may have changed since KSPSetUp() */
  if (!ksp->guess_zero) PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &guess));
  PetscCall(TakesColumns(ksp, A, &takes));
  if (takes && count > 1) PetscCall(SolveByEngine(ksp, B, X, count, &s));
  bcgs = KSPBAIIsBiCGStabOnChip(k); /* until a column that is solved alone switches to another method */
  for (PetscInt c = 0; c < count; c++) {
    const KSPConvergedReason reason = s ? ReasonOf(ksp, bcgs, &s[c]) : KSP_CONVERGED_ITERATING;

    if (reason) {
      NoteColumn(&worst, (PetscInt)s[c].its, (PetscReal)s[c].rnorm, reason);
      ksp->totalits += (PetscInt)s[c].its;
      continue;
    }
    PetscCall(SolveColumn(ksp, B, s ? guess : NULL, X, c, &worst));
    alone++;
  }
  PetscCall(PetscInfo(ksp, "%" PetscInt_FMT " systems, of which %" PetscInt_FMT " were solved alone\n", count, alone));
  PetscCall(PetscFree(s));
  PetscCall(MatDestroy(&guess));
  ksp->its    = worst.its;
  ksp->rnorm  = worst.rnorm;
  ksp->reason = count ? worst.reason : KSP_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}
