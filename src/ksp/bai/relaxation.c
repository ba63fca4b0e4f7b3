/* KSPBAI as block-asynchronous iteration: global iterations, and residual norms between them */
#include "kspbai.h"
#include "../../relaxation/look.h"

const char KSPBAIOtherMethodText[] = "the other method may solve this system faster: -ksp_bai_method krylov";

/* Sets up the engine for the present matrix and options, unless that has been done. In KSPSolveTranspose() the matrix
   is A^T, which is kept while A does not change */
PetscErrorCode KSPSetUp_BAIRelaxation(KSP ksp)
{
  KSP_BAI  *k   = (KSP_BAI *)ksp->data;
  BAI      *bai = &k->bai;
  PetscBool is;
  Mat       A;

  PetscFunctionBegin;
  PetscCheck(!KSPBAINamesNorm(ksp), PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "-%sksp_norm_type %s with relaxation: must be unpreconditioned, default or none",
             BAIPrefixOf((PetscObject)ksp), KSPNormTypes[ksp->normtype_set]);
  k->runner = BAI_BY_RELAXATION;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (k->transposed) {
    PetscCall(BAITranspose(bai, A, &k->of_At, &k->At));
    A = k->At;
  }
  PetscCall(BAIIsSetUp(bai, A, &is));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &is, 1, BAI_MPI_BOOL, MPI_LAND, PetscObjectComm((PetscObject)ksp)));
  if (!is) PetscCall(BAISetUp(bai, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The square of norm/scale, which keeps squares in range */
static double Square(PetscReal norm, PetscReal scale)
{
  const double scaled = (double)norm / (double)scale;

  return scaled * scaled;
}

/* The number of global iterations until the residual norm is computed next */
static PetscInt NextLook(KSP ksp, const BAILook *look)
{
  const BAI     *bai  = (BAI *)ksp->data;
  const PetscInt most = ksp->max_it - ksp->its;

  if (bai->options.check_interval) return PetscMin(most, bai->options.check_interval);
  if (ksp->converged == KSPConvergedSkip && !KSPBAIIsWatched(ksp)) return most;
  if (KSPBAIIsWatched(ksp)) return 1;
  return PetscMin(most, (PetscInt)look->until - ksp->its);
}

/* Whether options of research, faults or statistics, look at each solve */
static PetscBool HasResearch(const BAI *bai)
{
  return (PetscBool)(bai->options.fault_fraction > 0.0 || bai->options.stats);
}

/* Whether the engine can do the whole solve, as nothing must be monitored or decided between iterations */
static PetscBool CanRelaxAtOnce(KSP ksp, MatNullSpace nullspace)
{
  const BAI *bai = (BAI *)ksp->data;

  return (PetscBool)((bai->relax.info.solves >> BAIModeOf(bai) & 1) && bai->relax.run == BAIIterate &&
                     !bai->ranks.scatter && !bai->options.check_interval && !HasResearch(bai) &&
                     ksp->converged == KSPConvergedDefault && !KSPBAIIsWatched(ksp) && !nullspace && ksp->max_it > 0);
}

/*
   Does the whole solve in the engine. Sets the reason if the guess was good enough or not a number, or if rounding
   prevents progress; otherwise ksp->its and rnorm are the engine's. A zero guess is tested afterwards, as that needs
   the host
*/
static PetscErrorCode RelaxAtOnce(KSP ksp, Vec b, Vec x, PetscReal *rnorm)
{
  BAI          *bai    = (BAI *)ksp->data;
  const BAIStep step   = BAIStepOf(bai, BAI_FORWARD);
  BAITolerances t      = {.rtol = ksp->rtol, .abstol = ksp->abstol, .dtol = ksp->divtol, .max_it = (BAIInt)ksp->max_it};
  BAISolution   s      = {.its = 0};
  PetscReal     bnorm  = -1.0;
  PetscBool     tested = PETSC_FALSE;

  PetscFunctionBegin;
  if (!ksp->guess_zero) { /* the convergence test finds what its tolerances are relative to */
    PetscCall(BAIIterate(bai, b, x, PETSC_FALSE, 0, &step, rnorm));
    bnorm = *rnorm;
  }
  for (PetscBool zero = ksp->guess_zero; PETSC_TRUE; zero = PETSC_FALSE) {
    if (zero) PetscCall(BAISolve(bai, b, x, PETSC_TRUE, &t, &step, &bnorm, rnorm, &s));
    if (!tested) {
      KSPCheckNorm(ksp, bnorm);
      ksp->rnorm = bnorm;
      PetscCall(KSPBAITestGuess(ksp, bnorm));
      if (ksp->reason && ksp->guess_zero) PetscCall(VecZeroEntries(x));
      if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
      tested = PETSC_TRUE;
    }
    if (!zero) {
      t = (BAITolerances){.abstol = ksp->ttol, .dtol = ksp->divtol, .max_it = (BAIInt)(ksp->max_it - ksp->its)};
      PetscCall(BAISolve(bai, b, x, PETSC_FALSE, &t, &step, &bnorm, rnorm, &s));
    }
    ksp->its += (PetscInt)s.its;
    if (!s.stalls || !(*rnorm > ksp->ttol) || ksp->its >= ksp->max_it) break;
    PetscCall(KSPBAIStandsStill(ksp, b, x, *rnorm));
    ksp->rnorm = *rnorm;
    if (ksp->reason) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterates from an x whose residual norm is known, until the convergence test ends the solve */
static PetscErrorCode RelaxByLooks(KSP ksp, Vec b, Vec x, MatNullSpace nullspace, PetscReal rnorm)
{
  BAI            *bai   = (BAI *)ksp->data;
  const double    far   = 1e100; /* squares of larger or smaller ratios are out of range */
  const PetscReal scale = rnorm > 0.0 && ((double)rnorm > far || (double)rnorm < 1 / far) ? rnorm : 1.0;
  BAIStep         step  = BAIStepOf(bai, BAI_FORWARD);
  BAILook         look  = {.until = 0};
  PetscBool       begun = PETSC_FALSE;

  PetscFunctionBegin;
  step.ahead = !HasResearch(bai);
  while (PETSC_TRUE) {
    PetscInt n;

    KSPCheckNorm(ksp, rnorm);
    ksp->rnorm = rnorm;
    PetscCall(KSPLogResidualHistory(ksp, rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, rnorm));
    if (ksp->reason) break;
    if (ksp->its) PetscCall((*ksp->converged)(ksp, ksp->its, rnorm, &ksp->reason, ksp->cnvP));
    else PetscCall(KSPBAITestGuess(ksp, rnorm));
    if (!ksp->reason && bai->relax.watch.stagnates) ksp->reason = KSP_DIVERGED_BREAKDOWN;
    if (!ksp->reason && ksp->its >= ksp->max_it)
      ksp->reason = ksp->converged == KSPConvergedSkip ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
    if (ksp->reason) break;
    if (!begun) BAILookStart(&look, Square(ksp->ttol, scale), (BAIInt)ksp->its, Square(rnorm, scale), 1);
    begun     = PETSC_TRUE;
    n         = NextLook(ksp, &look);
    step.done = (BAIInt)ksp->its;
    PetscCall((*bai->relax.run)(bai, b, x, (PetscBool)(ksp->guess_zero && !ksp->its), n, &step, &rnorm));
    step.fresh = 0;
    if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, x));
    ksp->its += n;
    if (bai->options.fault_fraction > 0.0) PetscCall(BAIFaultsLook(bai, ksp->its, b, x, rnorm));
    BAILookNext(&look, (BAIInt)ksp->its, Square(rnorm, scale));
    if (look.stalls && rnorm > ksp->ttol) PetscCall(KSPBAIStandsStill(ksp, b, x, rnorm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPSolve() by relaxation, which is set up: iterates until ksp->reason is set */
PetscErrorCode KSPSolve_BAIRelaxation(KSP ksp)
{
  BAI         *bai = (BAI *)ksp->data;
  Vec          x = ksp->vec_sol, b = ksp->vec_rhs;
  MatNullSpace nullspace;
  BAIStep      step  = BAIStepOf(bai, BAI_FORWARD);
  PetscReal    rnorm = 0.0;

  PetscFunctionBegin;
  PetscCall(KSPBAIGetNullSpace(ksp, &nullspace));
  if (bai->options.stats) PetscCall(BAICheckStatus(bai, BAIEngineStats(bai->relax.engine, NULL)));
  bai->relax.watch = (BAIWatch){.norm = -1.0};
  ksp->its         = 0;
  if (ksp->normtype == KSP_NORM_NONE) {
    PetscCall((*bai->relax.run)(bai, b, x, ksp->guess_zero, ksp->max_it, &step, NULL));
    if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, x));
    ksp->its    = ksp->max_it;
    ksp->reason = KSP_CONVERGED_ITS;
  } else {
    const PetscBool at_once = CanRelaxAtOnce(ksp, nullspace);

    if (at_once) PetscCall(RelaxAtOnce(ksp, b, x, &rnorm));
    else if (ksp->guess_zero) PetscCall(BAIVecNorm(b, &rnorm));
    else PetscCall((*bai->relax.run)(bai, b, x, PETSC_FALSE, 0, &step, &rnorm));
    if (!ksp->reason) PetscCall(RelaxByLooks(ksp, b, x, nullspace, rnorm));
  }
  PetscCall(BAIStatsEnd(bai));
  if (ksp->reason == KSP_DIVERGED_ITS || ksp->reason == KSP_DIVERGED_DTOL)
    PetscCall(
      PetscInfo(ksp, "Relaxation stopped with %s: %s\n", KSPConvergedReasons[ksp->reason], KSPBAIOtherMethodText));
  PetscFunctionReturn(PETSC_SUCCESS);
}
