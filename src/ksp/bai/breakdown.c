/* Runs of a Krylov method that do not converge: switch to another method or other levels, or the end of the solve */
#include "kspbai.h"

const char KSPBAIStallText[] =
  "the least residual norm of 300 iterations fell by less than 1 %: the system may have no solution, or be indefinite, "
  "or of fourth order, or have fields without a block size; use a direct solver, -pc_type lu, for saddle points "
  "-pc_type fieldsplit, and for fields MatSetBlockSize()";

/* Whether levels in single precision, unless the user asked for them, may be the reason of a failed run; not if the
   matrix itself is not finite. The ranks agree, as those without rows have no levels */
static PetscErrorCode IsSingle(KSP ksp, PetscBool *is)
{
  enum {
    NONE,
    SINGLE,
    NO_NUMBERS /* in the matrix, in any precision */
  };
  const KSP_BAI     *k     = (KSP_BAI *)ksp->data;
  const BAIHierarchy h     = k->mg ? k->mg->hierarchy : NULL;
  int                found = NONE;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (!h || k->runner == BAI_BY_CHIP || h->backend != BAI_BACKEND_CUDA || h->not_single ||
      h->options.single != PETSC_BOOL3_UNKNOWN || KSPBAIIsFixed(ksp))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (h->info.single) found = PetscIsInfOrNanReal((PetscReal)h->info.norm) ? NO_NUMBERS : SINGLE;
  PetscCall(BAIAgree(&k->bai, PETSC_SUCCESS, &found));
  *is = (PetscBool)(found == SINGLE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether CG has met a residual r with r^H C r <= 0, where C is the cycle, and not a direction in which the matrix is
   indefinite. Overcorrection may cause that for a positive definite matrix. Overwrites bai.r */
static PetscErrorCode IsOvercorrected(KSP ksp, PetscBool *is)
{
  KSP_BAI     *k   = (KSP_BAI *)ksp->data;
  BAI         *bai = &k->bai;
  BAIHierarchy h   = k->mg ? k->mg->hierarchy : NULL;
  PetscScalar  product;
  Vec          z;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (!h || k->runner == BAI_BY_CHIP || h->no_over || h->jacobi || !BAIHierarchyIsHermitian(h))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPBAIResidual(ksp, KSPBAIRhs(ksp), ksp->vec_sol, NULL));
  PetscCall(VecDuplicate(bai->r, &z));
  PetscCall(BAIHierarchyApply(k->mg, bai->r, z, k->transposed));
  PetscCall(VecDot(z, bai->r, &product));
  PetscCall(VecDestroy(&z));
  *is = (PetscBool) !((h->negative ? -1 : 1) * PetscRealPart(product) > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Handles the end of a method that broke down, stalls or makes no progress; x is the last good one. Notes in k and the
   hierarchy of the PC what the choice of the next method depends on, and sets outcome to BAI_AGAIN. If single, the next
   method is the same one, with levels in PETSc's precision instead of single precision. If no method is left, as this
   is the last one or the user named it, or it is the best one for a system that stalls, outcome is BAI_ENDS and the
   reason KSP_DIVERGED_BREAKDOWN
*/
static PetscErrorCode BreakDown(KSP ksp, PetscBool single, BAILevelsReason end, BAIOutcome *outcome)
{
  KSP_BAI        *k        = (KSP_BAI *)ksp->data;
  const PetscBool was      = (PetscBool)(k->runner == BAI_BY_CHIP);
  const PetscBool positive = KSPBAIIsPositive(k->krylov),
                  decides  = (PetscBool)(k->bai.options.krylov == BAI_KRYLOV_AUTO);
  const PetscBool stands   = (PetscBool)(end == BAI_LEVELS_STAGNATED || end == BAI_LEVELS_STALLED);
  PetscBool       soft     = PETSC_FALSE;
  const char     *why;

  PetscFunctionBegin;
  *outcome  = BAI_AGAIN;
  k->stalls = (PetscBool)(end == BAI_LEVELS_STALLED && !single && !was && !(decides && k->krylov == BAI_KRYLOV_BCGS));
  if (positive && !was && !single && !k->stalls) PetscCall(IsOvercorrected(ksp, &soft));
  if (single) {
    k->mg->hierarchy->not_single = PETSC_TRUE;
    why                          = "levels in single precision are not accurate enough";
  } else if (k->stalls) {
    *outcome = BAI_ENDS;
    why      = KSPBAIStallText;
  } else if (was && (!positive || stands)) {
    k->off_chip = PETSC_TRUE;
    why         = stands ? "the method on the chip gets no further" : "the method on the chip breaks down";
  } else if (soft) {
    k->mg->hierarchy->no_over = PETSC_TRUE;
    why                       = "the cycle is not positive definite: coarse levels get no overcorrection any longer";
  } else if (decides && positive) {
    if (k->mg) k->mg->hierarchy->no_over = PETSC_FALSE; /* switching off overcorrection did not help */
    k->indefinite = PETSC_TRUE;
    why           = "the matrix is not positive definite; PCFIELDSPLIT is for saddle points";
  } else if (decides && k->krylov == BAI_KRYLOV_BCGS) {
    k->breaks = PETSC_TRUE;
    why       = "BiCGStab breaks down; if the unknowns of several fields follow each other, see MatSetBlockSize()";
  } else {
    *outcome = BAI_ENDS;
    why      = decides ? "the last method breaks down" : "the method that was asked for breaks down";
  }
  if (*outcome == BAI_ENDS) ksp->reason = KSP_DIVERGED_BREAKDOWN;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: %s\n", ksp->its, (double)ksp->rnorm, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Handles the end of a run that has not converged: sets ksp->reason, or else outcome, which is BAI_ENDS before. Then x
   and ksp->guess_zero are the guess of the next run. leaves: see KSPBAILeavesRows() */
PetscErrorCode KSPBAITakeFailure(KSP ksp, const BAILevelsSolution *s, PetscBool leaves, BAIOutcome *outcome)
{
  KSP_BAI        *k      = (KSP_BAI *)ksp->data;
  const PetscBool finite = (PetscBool)!PetscIsInfOrNanReal((PetscReal)s->rnorm);
  PetscBool       single = PETSC_FALSE;

  PetscFunctionBegin;
  if (s->reason == BAI_LEVELS_DTOL) {
    PetscCall(KSPBAIMayGrow(ksp));
    if (k->grows) {
      *outcome        = BAI_AGAIN;
      ksp->guess_zero = PETSC_FALSE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(IsSingle(ksp, &single));
  switch (s->reason) {
  case BAI_LEVELS_DTOL: /* norms of BiCGStab may grow where another method converges */
    if (!ksp->guess_zero || !(single || KSPBAIIsBiCGStabOnChip(k))) ksp->reason = KSP_DIVERGED_DTOL;
    else PetscCall(VecZeroEntries(ksp->vec_sol));
    break;
  case BAI_LEVELS_NAN: /* nothing is learnt from a right-hand side or guess that is not finite */
    if (!ksp->guess_zero || PetscIsInfOrNanReal((PetscReal)s->rnorm0)) ksp->reason = KSP_DIVERGED_NANORINF;
    else PetscCall(VecZeroEntries(ksp->vec_sol)); /* the method produced infinite values or NaN */
    break;
  case BAI_LEVELS_STALLED:
    if (s->its) ksp->guess_zero = PETSC_FALSE; /* KSPSolve_BAI() restores it */
    break;
  default:
    if (KSPBAIIsFixed(ksp)) ksp->reason = KSP_CONVERGED_ITS;
    else if (finite && !leaves) PetscCall(KSPBAIStandsStill(ksp, KSPBAIRhs(ksp), ksp->vec_sol, (PetscReal)s->rnorm));
    if (ksp->reason) break;
    if (s->reason == BAI_LEVELS_STAGNATED && k->runner == BAI_BY_LEVELS && !single)
      ksp->reason = KSP_DIVERGED_BREAKDOWN;
    else if (s->its) ksp->guess_zero = PETSC_FALSE;
  }
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BreakDown(ksp, single, s->reason, outcome));
  if (s->reason == BAI_LEVELS_NAN && ksp->reason == KSP_DIVERGED_BREAKDOWN) ksp->reason = KSP_DIVERGED_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Handles a run that the convergence test found to diverge. Where norms may grow, see KSPBAIMayGrow(), and from a zero
   guess with levels in single precision, and with BiCGStab, whose norms may grow where another method converges, takes
   back ksp->reason and sets s->reason instead, so that KSPBAITakeFailure() decides. For BiCGStab of PETSc x becomes
   zero, also if CG has changed it before */
PetscErrorCode KSPBAILeaveDiverged(KSP ksp, BAILevelsSolution *s)
{
  KSP_BAI        *k     = (KSP_BAI *)ksp->data;
  const PetscBool grows = (PetscBool)(ksp->reason == KSP_DIVERGED_DTOL);
  PetscBool       is    = PETSC_FALSE;

  PetscFunctionBegin;
  if (grows) PetscCall(KSPBAIMayGrow(ksp));
  if (grows && k->grows) {
    ksp->reason = KSP_CONVERGED_ITERATING;
    s->reason   = BAI_LEVELS_DTOL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ksp->converged != KSPConvergedDefault || !k->zero || !(grows || ksp->reason == KSP_DIVERGED_NANORINF))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IsSingle(ksp, &is));
  if (ksp->guess_zero && (is || KSPBAIIsBiCGStabOnChip(k))) {
    ksp->reason = KSP_CONVERGED_ITERATING;
    s->reason   = grows ? BAI_LEVELS_DTOL : BAI_LEVELS_NAN;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (k->runner != BAI_BY_PETSC || k->bai.options.krylov != BAI_KRYLOV_AUTO || !grows)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)k->inner, KSPFBCGS, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecZeroEntries(ksp->vec_sol));
  ksp->reason = KSP_CONVERGED_ITERATING;
  s->reason   = BAI_LEVELS_INDEFINITE;
  s->its      = 0; /* they have left x unchanged */
  PetscFunctionReturn(PETSC_SUCCESS);
}
