/*
   Convergence of a KSPBAI: who looks at its norms, the tests of a guess and of the true residual, and the norm that
   rounding keeps up
*/
#include "kspbai.h"

/* Monitors or the convergence test may look at x whenever there is a residual norm */
PetscBool KSPBAISeesX(KSP ksp)
{
  return (PetscBool)(ksp->numbermonitors ||
                     (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip));
}

/* The residual norm of every iteration is shown, kept, or tested by the user */
PetscBool KSPBAIIsWatched(KSP ksp)
{
  return (PetscBool)(ksp->res_hist || KSPBAISeesX(ksp) || BAIMinimumIterations(ksp) > 0);
}

/* max_it iterations count as convergence, see KSPConvergedDefaultSetConvergedMaxits() */
PetscBool KSPBAITakesMaxIts(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPConvergedDefault && ksp->cnvP &&
                     ((KSPConvergedDefaultCtx *)ksp->cnvP)->convmaxits);
}

/*
   The convergence test of the guess. With a nonzero one KSPConvergedDefault() takes ||b|| from VecNorm(). Where that is
   no exact one, it is given ||b|| in place of the residual norm of a zero guess, from which the same tolerances follow
*/
PetscErrorCode KSPBAITestGuess(KSP ksp, PetscReal rnorm)
{
  PetscReal bnorm;

  PetscFunctionBegin;
  if (!ksp->guess_zero && ksp->converged == KSPConvergedDefault && ksp->cnvP &&
      !((KSPConvergedDefaultCtx *)ksp->cnvP)->initialrtol) {
    PetscCall(BAIVecNorm(ksp->vec_rhs, &bnorm));
    if (bnorm > 0.0 && !PetscIsInfOrNanReal(bnorm) && !BAIIsExactSquare(bnorm * bnorm)) {
      if (((KSPConvergedDefaultCtx *)ksp->cnvP)->mininitialrtol) bnorm = PetscMin(bnorm, rnorm);
      ksp->guess_zero = PETSC_TRUE;
      PetscCall((*ksp->converged)(ksp, 0, bnorm, &ksp->reason, ksp->cnvP));
      ksp->guess_zero = PETSC_FALSE;
      PetscCall((*ksp->converged)(ksp, 1, rnorm, &ksp->reason, ksp->cnvP));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall((*ksp->converged)(ksp, 0, rnorm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Besides ||b - A x|| the residual is tested row by row over the diagonal of the matrix, so that rows on another scale
   than the others, as those of boundary conditions, do not hide these. A user who names a norm, or has a convergence
   test of another kind, gets that alone
*/
PetscBool KSPBAITestsTwice(KSP ksp)
{
  const KSPConvergedDefaultCtx *test = (KSPConvergedDefaultCtx *)ksp->cnvP;

  return (PetscBool)(ksp->normtype_set == KSP_NORM_DEFAULT && ksp->converged == KSPConvergedDefault && test &&
                     !test->initialrtol && !test->mininitialrtol);
}

/* The user names a norm that is not that of b - A x */
PetscBool KSPBAINamesNorm(KSP ksp)
{
  return (PetscBool)(ksp->normtype_set == KSP_NORM_PRECONDITIONED || ksp->normtype_set == KSP_NORM_NATURAL);
}

/* Vectors for a residual and a correction, of the matrix that has entries, as another one may not know its vectors.
   Those of another matrix may be of another type, as on a GPU */
PetscErrorCode KSPBAINeedWork(KSP ksp)
{
  KSP_BAI      *k = (KSP_BAI *)ksp->data;
  PetscObjectId id;
  Mat           B;

  PetscFunctionBegin;
  PetscCall(KSPBAIGetMatOfEntries(ksp, &B));
  PetscCall(PetscObjectGetId((PetscObject)B, &id));
  if (id != k->of_work) {
    PetscCall(VecDestroy(&k->bai.r));
    PetscCall(VecDestroy(&k->bai.c));
  }
  PetscCall(BAINeedWork(&k->bai, B));
  k->of_work = id;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a solve is with A^T, and that is not A */
PetscErrorCode KSPBAIIsTransposed(KSP ksp, PetscBool *is)
{
  PetscBool known, symmetric;
  Mat       A;

  PetscFunctionBegin;
  *is = ksp->transpose_solve;
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  if (known && symmetric) *is = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r = b - A x, or b - A^T x in KSPSolveTranspose() */
PetscErrorCode KSPBAIResidual(KSP ksp, Vec b, Vec x, Vec r)
{
  Mat       A;
  PetscBool transposed;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPBAIIsTransposed(ksp, &transposed));
  if (!transposed) {
    PetscCall(MatResidual(A, b, x, r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatMultTranspose(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1/|a_ii| of this matrix as it is now, or 0 where that is zero */
static PetscErrorCode NeedWeights(KSP_BAI *k, Mat A)
{
  const PetscObjectId id = k->of_weights.id;
  PetscBool           others;

  PetscFunctionBegin;
  PetscCall(KSPBAITakeValues(k, A, (PetscBool)!k->weights, &k->of_weights, &others));
  if (!others) PetscFunctionReturn(PETSC_SUCCESS);
  if (id != k->of_weights.id) PetscCall(VecDestroy(&k->weights));
  if (!k->weights) PetscCall(MatCreateVecs(A, NULL, &k->weights));
  PetscCall(MatGetDiagonal(A, k->weights));
  PetscCall(VecAbs(k->weights));
  PetscCall(VecReciprocal(k->weights)); /* which leaves zeros */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norms of D^-1 r and D^-1 b, where r is overwritten; 0 and 0 if no matrix has a diagonal to scale by */
PetscErrorCode KSPBAIScaledNorms(KSP ksp, Vec b, Vec r, BAILevelsSolution *s)
{
  KSP_BAI  *k = (KSP_BAI *)ksp->data;
  PetscReal scaled, scaled_b;
  PetscBool has;
  Mat       A;

  PetscFunctionBegin;
  s->scaled = s->scaled_b = 0;
  PetscCall(KSPBAIGetMatOfEntries(ksp, &A));
  PetscCall(BAIHasEntries(A, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(NeedWeights(k, A));
  PetscCall(VecPointwiseMult(r, r, k->weights));
  PetscCall(BAIVecNorm(r, &scaled));
  PetscCall(VecPointwiseMult(r, b, k->weights));
  PetscCall(BAIVecNorm(r, &scaled_b));
  s->scaled   = (BAIReal)scaled;
  s->scaled_b = (BAIReal)scaled_b;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A bound of ||A||: levels of a Hermitian matrix know one; else it is computed, on the host also if the matrix is on a
   GPU */
static PetscErrorCode BoundNorm(KSP ksp, Mat A, PetscReal *norm)
{
  BAI      *mg;
  PetscReal norm1, norminf;

  PetscFunctionBegin;
  PetscCall(KSPBAIGetMG(ksp, &mg));
  *norm = mg ? (PetscReal)mg->hierarchy->info.norm : 0;
  if (((KSP_BAI *)ksp->data)->runner == BAI_BY_LEVELS && *norm > 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNorm(A, NORM_1, &norm1));
  PetscCall(MatNorm(A, NORM_INFINITY, &norminf));
  *norm = PetscSqrtReal(norm1) * PetscSqrtReal(norminf);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Tests whether ||b - A x||, which falls no longer, is what rounding keeps up: a small multiple of
   eps (||A|| ||x|| + ||b||)
*/
PetscErrorCode KSPBAIStandsStill(KSP ksp, Vec b, Vec x, PetscReal rnorm)
{
  const PetscReal multiple = 64;
  KSP_BAI        *k        = (KSP_BAI *)ksp->data;
  const PetscBool exact    = (PetscBool)(k->runner != BAI_BY_RELAXATION || k->bai.relax.run != BAIRunRounded);
  PetscReal       norm     = 0, xnorm, bnorm;
  PetscBool       has;
  Mat             A;

  PetscFunctionBegin;
  PetscCall(KSPBAIGetMatOfEntries(ksp, &A)); /* of Pmat it is an estimate */
  PetscCall(BAIHasEntries(A, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BoundNorm(ksp, A, &norm));
  PetscCall(BAIVecNorm(x, &xnorm));
  PetscCall(BAIVecNorm(b, &bnorm));
  k->attainable = multiple * PETSC_MACHINE_EPSILON * (norm * xnorm + bnorm);
  k->stands     = (PetscBool)(exact && rnorm <= k->attainable);
  if (k->stands) ksp->reason = KSP_DIVERGED_BREAKDOWN;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ": the residual norm stays at %g, %s what rounding allows, %g\n",
                      ksp->its, (double)rnorm, k->stands ? "which is" : "above", (double)k->attainable));
  PetscFunctionReturn(PETSC_SUCCESS);
}
