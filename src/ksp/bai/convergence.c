/*
   Convergence of a KSPBAI: monitoring and testing of norms, tests of the guess and of the true residual, and the norm
   attainable by rounding
*/
#include "kspbai.h"

/* Gets Amat, or Pmat if only that has entries; has: B has entries */
static PetscErrorCode GetMatOfEntries(KSP ksp, Mat *B, PetscBool *has)
{
  Mat P;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, B, &P));
  PetscCall(BAIHasEntries(*B, has));
  if (*has || *B == P) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHasEntries(P, has));
  if (*has) *B = P;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Calls the convergence test for the guess, which sets the KSP's reason, rnorm0 and ttol. With a nonzero one
   KSPConvergedDefault() takes ||b|| from VecNorm(). If that is inexact, ||b|| is passed as the residual norm of a zero
   guess, which leads to the same tolerances
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

/* Whether KSPFGMRES is iterating, which updates x only at restarts */
static PetscBool BuildsX(const KSP_BAI *k)
{
  return (PetscBool)(k->inside && k->krylov == BAI_KRYLOV_GMRES);
}

/* KSPBuildSolution(): x is complete, whichever side the PC is said to be on, except inside of KSPFGMRES, which builds
   it in v or in a vector of its own */
PetscErrorCode KSPBuildSolution_BAI(KSP ksp, Vec v, Vec *V)
{
  const KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  if (BuildsX(k)) {
    PetscCall(KSPBuildSolution(k->inner, v, V));
    if (k->scale != 1.0) PetscCall(VecScale(v ? v : *V, 1.0 / k->scale));
  } else if (v) PetscCall(VecCopy(ksp->vec_sol, v));
  else *V = ksp->vec_sol;
  if (v && V) *V = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the KSP's its and rnorm, logs and monitors the norm, and calls the convergence test, which sets the reason. It
   is not convergence if the norm is above the goal. norm is the residual norm of the scaled system. If a monitor or the
   convergence test may read x, the user's vector has x without the scale while they run, unless KSPBuildSolution()
   builds x */
static PetscErrorCode Look(const BAIWatcher *w, PetscInt its, PetscReal norm)
{
  const KSP       ksp   = w->ksp;
  KSP_BAI        *k     = (KSP_BAI *)ksp->data;
  const PetscBool shows = (PetscBool)(KSPBAISeesX(ksp) && !BuildsX(k));
  const PetscReal rnorm = norm / k->scale;

  PetscFunctionBegin;
  if (shows && w->v) PetscCall(BAIHierarchyShow(KSPBAIGetOwner(k), ksp->vec_sol, w->v));
  if (shows && k->scale != 1.0) PetscCall(VecScale(ksp->vec_sol, 1.0 / k->scale));
  ksp->its   = its;
  ksp->rnorm = rnorm;
  PetscCall(KSPLogResidualHistory(ksp, rnorm));
  PetscCall(KSPMonitor(ksp, its, rnorm));
  if (!its) PetscCall(KSPBAITestGuess(ksp, rnorm));
  else PetscCall((*ksp->converged)(ksp, its, rnorm, &ksp->reason, ksp->cnvP));
  if (ksp->reason == KSP_DIVERGED_DTOL && ksp->converged == KSPConvergedDefault &&
      (k->grows || rnorm < KSPBAIDivtol(ksp) * ksp->rnorm0))
    ksp->reason = KSP_CONVERGED_ITERATING;
  if (w->goal > 0 && rnorm > w->goal && (ksp->reason == KSP_CONVERGED_RTOL || ksp->reason == KSP_CONVERGED_ATOL))
    ksp->reason = KSP_CONVERGED_ITERATING;
  if (shows && k->scale != 1.0) PetscCall(VecScale(ksp->vec_sol, k->scale));
  if (shows && w->v) PetscCall(BAIHierarchyUnshow(KSPBAIGetOwner(k), w->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The monitor of a method, called for the guess, its = 0, and after each iteration, with norms of the scaled system.
   Returns nonzero if the method must stop, as w->code is an error, the KSP has a reason, or w->stalls */
int KSPBAIWatch(void *watcher, BAIInt its, BAIReal rnorm)
{
  BAIWatcher     *w    = (BAIWatcher *)watcher;
  const KSP_BAI  *k    = (KSP_BAI *)w->ksp->data;
  const PetscBool ours = (PetscBool)(w->ksp->converged == KSPConvergedDefault);

  if (w->its == (PetscInt)its) return 0; /* KSPFGMRES reports the norm at a restart twice */
  w->its = (PetscInt)its;
  if (!its) {
    w->rnorm0 = (PetscReal)rnorm;
    BAIStallBegin(&w->stall, 0, (double)rnorm * (double)rnorm, k->runner != BAI_BY_CHIP && KSPBAIIsPositive(k->krylov));
  }
  if (w->before && !its) return 0;
  w->code = Look(w, w->before + (PetscInt)its, (PetscReal)rnorm);
  if (!w->code && !w->ksp->reason && ours && its)
    w->stalls = (PetscBool)(BAIStalls(&w->stall, (int)its, (double)rnorm * (double)rnorm) != 0);
  return w->code || w->ksp->reason || w->stalls;
}

/* Computes b - A x, or b - A^T x in KSPSolveTranspose(), in the work vector bai.r, and its norm unless rnorm is NULL.
   Work vectors come from the matrix that has entries: another one, such as a shell, may not know its vectors, or may
   need another type, as on a GPU */
PetscErrorCode KSPBAIResidual(KSP ksp, Vec b, Vec x, PetscReal *rnorm)
{
  KSP_BAI  *k = (KSP_BAI *)ksp->data;
  PetscBool has;
  Mat       A;

  PetscFunctionBegin;
  PetscCall(GetMatOfEntries(ksp, &A, &has));
  PetscCall(BAINeedWork(&k->bai, A));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (k->transposed) {
    PetscCall(MatMultTranspose(A, x, k->bai.r));
    PetscCall(VecAYPX(k->bai.r, -1.0, b));
  } else PetscCall(MatResidual(A, b, x, k->bai.r));
  if (rnorm) PetscCall(BAIVecNorm(k->bai.r, rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the null space to remove from x, that of A, or of A^T in KSPSolveTranspose(), or NULL. If PETSc has scaled A by
   its diagonal, the vectors that are attached to A are no null vectors */
PetscErrorCode KSPBAIGetNullSpace(KSP ksp, MatNullSpace *space)
{
  Mat A;

  PetscFunctionBegin;
  *space = NULL;
  if (BAIScalesDiagonal(ksp)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (((KSP_BAI *)ksp->data)->transposed) PetscCall(MatGetTransposeNullSpace(A, space));
  else PetscCall(MatGetNullSpace(A, space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes k->weights 1/|a_ii| for the present values of A, or 0 if a_ii is zero */
static PetscErrorCode NeedWeights(KSP_BAI *k, Mat A)
{
  PetscBool others;

  PetscFunctionBegin;
  PetscCall(BAITakeValues(&k->bai, A, (PetscBool)!k->weights, &k->of_weights, &others));
  if (!others) PetscFunctionReturn(PETSC_SUCCESS);
  if (!k->weights) PetscCall(MatCreateVecs(A, NULL, &k->weights));
  PetscCall(MatGetDiagonal(A, k->weights));
  PetscCall(VecAbs(k->weights));
  PetscCall(VecReciprocal(k->weights)); /* zeros stay zero */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets s->scaled and s->scaled_b to the norms of D^-1 r and D^-1 b, or to 0 if no matrix has entries. Overwrites r */
PetscErrorCode KSPBAIScaledNorms(KSP ksp, Vec b, Vec r, BAILevelsSolution *s)
{
  KSP_BAI  *k = (KSP_BAI *)ksp->data;
  PetscReal scaled, scaled_b;
  PetscBool has;
  Mat       A;

  PetscFunctionBegin;
  s->scaled = s->scaled_b = 0;
  PetscCall(GetMatOfEntries(ksp, &A, &has));
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

/*
   Called if ||b - A x|| exceeds KSPBAIDivtol() ||b|| in a run of a Krylov method. Sets k->grows if this is no
   divergence, and does nothing if it is set. In units that differ much from row to row the residual norm may grow by
   the ratio of units although the error falls. So the solve continues if ||D^-1 (b - A x)||, which depends less on
   units, is less than KSPBAIDivtol() ||D^-1 b||. Overwrites bai.r
*/
PetscErrorCode KSPBAIMayGrow(KSP ksp)
{
  KSP_BAI          *k   = (KSP_BAI *)ksp->data;
  BAILevelsSolution now = {.its = 0};

  PetscFunctionBegin;
  if (k->grows || !KSPBAITestsTwice(ksp)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPBAIResidual(ksp, KSPBAIRhs(ksp), ksp->vec_sol, NULL));
  PetscCall(KSPBAIScaledNorms(ksp, KSPBAIRhs(ksp), k->bai.r, &now));
  k->grows = (PetscBool)(now.scaled < (BAIReal)KSPBAIDivtol(ksp) * now.scaled_b);
  if (k->grows)
    PetscCall(PetscInfo(ksp,
                        "Iteration %" PetscInt_FMT ": ||b - A x|| is %g, but ||D^-1 (b - A x)|| is %g of "
                        "||D^-1 b||, so the solve continues\n",
                        ksp->its, (double)ksp->rnorm, (double)(now.scaled / now.scaled_b)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the norm of W A N x, where N multiplies the entries of x by pseudorandom numbers around 0 whose root mean
   square is 1, W is the diagonal matrix of weights, or I if they are NULL, and A is transposed in KSPSolveTranspose().
   As the terms of a row hardly cancel, this is about the norm of |W| |A| |x|, in any units of rows and columns */
static PetscErrorCode NormOfTerms(const KSP_BAI *k, Mat A, Vec x, Vec weights, PetscReal *norm)
{
  Vec noise, terms;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &noise));
  PetscCall(VecDuplicate(x, &terms));
  PetscCall(BAIVecSet(noise, BAI_SET_NOISE));
  PetscCall(VecPointwiseMult(noise, noise, x));
  if (k->transposed) PetscCall(MatMultTranspose(A, noise, terms));
  else PetscCall(MatMult(A, noise, terms));
  if (weights) PetscCall(VecPointwiseMult(terms, terms, weights));
  PetscCall(BAIVecNorm(terms, norm));
  *norm /= PetscSqrtReal((PetscReal)BAI_NOISE_SQUARE);
  PetscCall(VecDestroy(&noise));
  PetscCall(VecDestroy(&terms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The level of rounding of the norm of a residual: a small multiple of eps times the norms of its terms */
static PetscReal LevelOfRounding(PetscReal terms, PetscReal bnorm)
{
  const PetscReal multiple = 64;

  return multiple * PETSC_MACHINE_EPSILON * (terms + bnorm);
}

/*
   Tests whether ||b - A x||, which no longer falls, is at the level of rounding. If so k->stands is set, and the reason
   becomes KSP_DIVERGED_BREAKDOWN. The level goes to k->attainable. Does nothing if the matrix has no entries
*/
PetscErrorCode KSPBAIStandsStill(KSP ksp, Vec b, Vec x, PetscReal rnorm)
{
  KSP_BAI        *k     = (KSP_BAI *)ksp->data;
  const PetscBool exact = (PetscBool)(k->runner != BAI_BY_RELAXATION || k->bai.relax.run != BAIRunRounded);
  PetscReal       terms, bnorm;
  PetscBool       has;
  Mat             A;

  PetscFunctionBegin;
  PetscCall(GetMatOfEntries(ksp, &A, &has)); /* an estimate, if it is Pmat */
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(NormOfTerms(k, A, x, NULL, &terms));
  PetscCall(BAIVecNorm(b, &bnorm));
  k->attainable = LevelOfRounding(terms, bnorm);
  k->stands     = (PetscBool)(exact && rnorm <= k->attainable);
  if (k->stands) ksp->reason = KSP_DIVERGED_BREAKDOWN;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ": the residual norm stays at %g, %s what rounding allows, %g\n",
                      ksp->its, (double)rnorm, k->stands ? "which is" : "above", (double)k->attainable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a Krylov method that ends leaves ||D^-1 (b - A x)|| above its tolerance and above the level of rounding, so
   that another method may go on from there. Overwrites bai.r */
PetscErrorCode KSPBAILeavesRows(KSP ksp, PetscBool *leaves)
{
  KSP_BAI          *k   = (KSP_BAI *)ksp->data;
  BAILevelsSolution now = {.its = 0};
  PetscReal         terms;
  PetscBool         has;
  Mat               A;

  PetscFunctionBegin;
  *leaves = PETSC_FALSE;
  PetscCall(GetMatOfEntries(ksp, &A, &has));
  if (!has || !KSPBAITestsTwice(ksp) || ksp->abstol >= ksp->ttol) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPBAIResidual(ksp, KSPBAIRhs(ksp), ksp->vec_sol, NULL));
  PetscCall(KSPBAIScaledNorms(ksp, KSPBAIRhs(ksp), k->bai.r, &now));
  PetscCall(NormOfTerms(k, A, ksp->vec_sol, k->weights, &terms));
  *leaves = (PetscBool)((PetscReal)now.scaled > ksp->rtol * (PetscReal)now.scaled_b &&
                        (PetscReal)now.scaled > LevelOfRounding(terms, (PetscReal)now.scaled_b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
