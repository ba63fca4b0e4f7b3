/*
   KSPBAI: block-asynchronous iteration as a solver
*/
#include "../../bai/gather.h"
#include "../../bai/levels.h"
#include <petsc/private/kspimpl.h> /*I "petscbai.h" I*/

static PetscErrorCode KSPSetUp_BAI(KSP ksp)
{
  BAI      *bai = (BAI *)ksp->data;
  Mat       A;
  PetscBool none, levels;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, &none));
  if (!none) {
    PetscCall(PetscInfo(ksp, "KSPBAI needs no preconditioner, its PC is set to none\n"));
    PetscCall(PCSetType(ksp->pc, PCNONE));
  }
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPSetUp_BAILevels(ksp, &levels));
  if (!levels) PetscCall(BAISetUp(bai, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Somebody wants to see the residual of every global iteration */
static PetscBool IsWatched(KSP ksp)
{
  return (PetscBool)(ksp->numbermonitors || ksp->res_hist ||
                     (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip));
}

/* How many global iterations to do before the residual norm is worth looking at again */
static PetscInt NextLook(KSP ksp)
{
  const BAI     *bai  = (BAI *)ksp->data;
  const PetscInt most = ksp->max_it - ksp->its;

  if (bai->options.check_interval) return PetscMin(most, bai->options.check_interval);
  if (ksp->converged == KSPConvergedSkip && !IsWatched(ksp)) return most;
  if (IsWatched(ksp)) return 1;
  return PetscMin(most, (PetscInt)bai->decision.until - ksp->its);
}

/* The square of a residual norm, as adapt.h takes it */
static double Square(const BAI *bai, PetscReal norm)
{
  const double scaled = (double)norm / (double)bai->scale;

  return scaled * scaled;
}

/* Solves come to full precision */
static PetscBool IsExact(const BAI *bai)
{
  return (PetscBool)(BAIIteratesX(bai) || bai->use.refine == BAI_REFINE_SYNC);
}

/* There is a coarse correction, and the solve is accelerated with it, in mode sync */
static PetscBool IsCorrected(const BAI *bai)
{
  return (PetscBool)(bai->aggregates && bai->options.momentum == PETSC_DECIDE && !bai->vain && IsExact(bai));
}

/* The mode that a solve begins in */
static BAIMode FirstMode(const BAI *bai)
{
  return IsCorrected(bai) || bai->damped > 0.0 ? BAI_MODE_SYNC : BAIModeOf(bai);
}

/* A solve that is slow may set up a coarse correction; with a fixed momentum it is what users want it to be */
static PetscBool MayCoarsen(const BAI *bai)
{
  return (PetscBool)(bai->options.coarse == PETSC_DECIDE && !bai->slow && IsExact(bai) &&
                     !bai->options.check_interval &&
                     (bai->options.momentum == PETSC_DECIDE || bai->options.momentum == 0.0) &&
                     !(bai->options.fault_fraction > 0.0) && BAICanCoarsen(bai));
}

/* What a solve is to reach. In which mode it is accelerated depends on the device, and on several ranks must not */
static BAIGoal GoalOf(KSP ksp, PetscReal rnorm)
{
  BAI          *bai  = (BAI *)ksp->data;
  const BAIMode mode = bai->damped > 0.0 ? BAI_MODE_SYNC : BAIModeOf(bai);
  const double  far  = 1e100; /* squares beyond that are too large, or too small */

  bai->scale = rnorm > 0.0 && ((double)rnorm > far || (double)rnorm < 1 / far) ? rnorm : 1.0;
  return (BAIGoal){.mode        = mode,
                   .accelerated = mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR ? mode
                     : bai->scatter                                               ? BAI_MODE_SYNC
                                                                                  : bai->info.ordered,
                   .accelerate  = bai->options.momentum == PETSC_DECIDE &&
                     (!bai->aggregates || bai->vain || IsCorrected(bai)),
                   .momentum = bai->options.momentum > 0 ? (double)bai->options.momentum : 0,
                   .tol2     = ksp->ttol > 0 ? Square(bai, ksp->ttol) : 0,
                   .most2    = PETSC_MAX_REAL,
                   .max_it   = (BAIInt)ksp->max_it,
                   .first    = (BAIInt)PetscMin(ksp->its, PETSC_MAX_INT - 1) + 1,
                   .coarsen  = MayCoarsen(bai) ? (BAIInt)BAICoarsenFrom(bai) : 0,
                   .top      = IsCorrected(bai) ? (double)bai->start.top : 0.0,
                   .rows     = (double)bai->rows,
                   .beta     = (double)bai->start.beta,
                   .bears    = (double)bai->start.bears};
}

/* What omega is before it is raised or damped: tau is for the iteration without a coarse correction, top for that with
 * one */
static BAIReal OmegaOf(const BAI *bai, int coarse)
{
  if (bai->damped > 0.0) return bai->omega * bai->damped;
  return bai->omega * (coarse && bai->start.top > 0 ? 1 : bai->tau);
}

/* And without acceleration. With a coarse correction local sweeps and correction together overshoot with 1 */
static BAIReal PlainOmega(const BAI *bai, int coarse)
{
  return OmegaOf(bai, coarse) * (coarse && bai->start.top > 0 ? (BAIReal)(2 / bai->start.top) : 1);
}

/* Local sweeps of a step, 0: as many as the options say. PlainOmega() and acceleration take the eigenvalues with so
 * many; in mode color blocks see each other, and bear more */
static BAIInt SweepsOf(const BAI *bai, const BAIStep *step)
{
  if (bai->damped > 0.0) return 1;
  return step->coarse && step->mode != BAI_MODE_COLOR ? bai->corrected_iters : 0;
}

/* The next even number of local sweeps; see BAIDecision */
static BAIInt EvenLocalIters(const BAI *bai)
{
  return (BAIInt)(bai->options.local_iters + bai->options.local_iters % 2);
}

/* Iterations from an x of the caller's, in the mode of the decision */
static BAIStep StepOf(const BAI *bai, const BAIDecision *d)
{
  BAIStep step = BAIStepOf(bai, BAI_FORWARD);

  step.mode        = d->mode;
  step.ahead       = !BAIHasFaults(bai) && !bai->options.stats && bai->options.staleness < 0;
  step.momentum    = (BAIReal)d->momentum;
  step.coarse      = (int)(bai->aggregates && !bai->vain);
  step.omega       = PlainOmega(bai, step.coarse);
  step.local_iters = SweepsOf(bai, &step);
  if (d->even) step.local_iters = EvenLocalIters(bai);
  return step;
}

/* The best x so far; what is worse than the one that is kept is not */
static PetscErrorCode Keep(KSP ksp, Vec x, PetscReal rnorm)
{
  BAI *bai = (BAI *)ksp->data;

  PetscFunctionBegin;
  if (rnorm > bai->kept_norm) {
    bai->adapt.best2 = Square(bai, bai->kept_norm);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  bai->kept_norm = rnorm;
  bai->kept_zero = (PetscBool)(ksp->guess_zero && !ksp->its);
  if (bai->kept_zero) PetscFunctionReturn(PETSC_SUCCESS);
  if (!bai->kept) PetscCall(VecDuplicate(x, &bai->kept));
  PetscCall(VecCopy(x, bai->kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Back to it */
static PetscErrorCode GoBack(KSP ksp, Vec x)
{
  BAI *bai = (BAI *)ksp->data;

  PetscFunctionBegin;
  if (bai->kept_zero) PetscCall(VecZeroEntries(x));
  else PetscCall(VecCopy(bai->kept, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that grows may go on with weight tau, or with a smaller omega, but only once */
static PetscBool MayWeigh(const BAI *bai)
{
  return (PetscBool)(bai->options.weight == BAI_WEIGHT_SAFE &&
                     (!bai->grew || (!(bai->damped > 0.0) && bai->omega < 2.0)));
}

/* And this one grows far beyond the best x, or so far that KSP would end it. Where convergence is slow the norm may be
 * larger than that of the guess for long. What grows by acceleration is adapt.h's business, but for the end */
static PetscBool Grows(KSP ksp, PetscReal rnorm, PetscBool relaxed)
{
  const BAI      *bai  = (BAI *)ksp->data;
  const PetscReal much = PetscMin((PetscReal)1000, ksp->divtol);

  if (!MayWeigh(bai) || !ksp->its || ksp->its >= ksp->max_it || !(bai->kept_norm < PETSC_MAX_REAL)) return PETSC_FALSE;
  if (PetscIsInfOrNanReal(rnorm) || (ksp->converged == KSPConvergedDefault && rnorm >= ksp->divtol * ksp->rnorm0))
    return PETSC_TRUE;
  return (PetscBool)(!relaxed && rnorm >= much * bai->kept_norm);
}

/* Over-relaxation, momentum or a coarse correction take part */
static PetscBool IsRelaxed(const BAI *bai)
{
  return (PetscBool)(bai->adapt.accelerated && (bai->adapt.beta > 0 || bai->adapt.goal.top > 0));
}

/* From the best x on: with a coarse correction as if its largest eigenvalue were larger, up to about twice as large as
 * it was found; else, and then, with weight tau; and if it grows even so, without the
   coarse correction, with one sweep of Jacobi in mode sync, damped so that it converges for each positive definite
   matrix
*/
static PetscErrorCode Weigh(KSP ksp, Vec x, PetscReal *rnorm)
{
  const PetscReal more = 1.25, most = 1.9;
  BAI            *bai = (BAI *)ksp->data;
  Mat             A;

  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: it grows; back to the best one, %g\n",
                      ksp->its, (double)*rnorm, (double)bai->kept_norm));
  if (bai->aggregates && !bai->vain && bai->start.top < most * bai->top_found) {
    bai->start.top *= more;
    bai->best.cost = 0.0; /* what came before grows */
    bai->tried     = 0;
    PetscCall(PetscInfo(ksp, "The largest eigenvalue with the coarse correction is taken to be %g from now on\n",
                        (double)bai->start.top));
  } else if (bai->grew) {
    PetscCall(BAIFindDamping(bai->A, &bai->damped));
    bai->vain = PETSC_TRUE;
    PetscCall(PetscInfo(ksp, "Mode sync, one local sweep and omega %g from now on\n", (double)OmegaOf(bai, 0)));
  } else {
    bai->grew = PETSC_TRUE;
    PetscCall(KSPGetOperators(ksp, &A, NULL));
    PetscCall(BAISetUp(bai, A));
    PetscCall(PetscInfo(ksp, "Weight tau from now on, which is %g\n", (double)bai->tau));
  }
  PetscCall(GoBack(ksp, x));
  *rnorm = bai->kept_norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Goes on as the decision says */
static PetscErrorCode Obey(KSP ksp, Vec x, const BAIDecision *d, PetscReal *rnorm, BAIStep *step)
{
  BAI         *bai    = (BAI *)ksp->data;
  const double before = bai->decision.omega;

  PetscFunctionBegin;
  if (d->vain)
    PetscCall(PetscInfo(ksp,
                        "Iteration %" PetscInt_FMT
                        ", residual norm %g: the coarse correction does not help, and is given up\n",
                        ksp->its, (double)*rnorm));
  if (d->omega != before)
    PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g%s: omega %g from now on\n", ksp->its,
                        (double)*rnorm, d->x == BAI_X_BACK ? ", back to the best one" : "",
                        (double)OmegaOf(bai, step->coarse) * d->omega));
  if (d->x == BAI_X_KEEP) PetscCall(Keep(ksp, x, *rnorm));
  if (d->x == BAI_X_BACK) {
    PetscCall(GoBack(ksp, x));
    *rnorm      = (PetscReal)sqrt(bai->adapt.best2) * bai->scale;
    step->fresh = 1;
  }
  if (d->begins) {
    PetscCall(BAIPrepare(bai, d->mode));
    *step = StepOf(bai, d);
    PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: mode %s from now on\n", ksp->its,
                        (double)*rnorm, BAIModes[d->mode]));
  }
  if (d->rest) step->fresh = 1;
  step->momentum = (BAIReal)d->momentum;
  bai->decision  = *d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The engine can go all the way alone in this mode: nobody wants to see or decide anything meanwhile */
static PetscBool CanSolveAtOnce(KSP ksp, BAIMode mode, MatNullSpace nullspace)
{
  const BAI *bai    = (BAI *)ksp->data;
  const int  solves = bai->aggregates && !bai->vain ? bai->info.solves_coarse : bai->info.solves;

  return (PetscBool)((solves >> mode & 1) && BAIIteratesX(bai) && !bai->scatter && !bai->options.check_interval &&
                     !BAIHasFaults(bai) && !bai->options.stats && ksp->converged == KSPConvergedDefault &&
                     !IsWatched(ksp) && !nullspace && ksp->max_it > 0);
}

/*
   ||b - A x|| has stood still for long. Below a small multiple of eps (||A|| ||x|| + ||b||) rounding keeps it up, and no
   iteration gets any further. ||A|| is computed only here, as few solves come to this
*/
static PetscErrorCode StandsStill(KSP ksp, Vec b, Vec x, PetscReal rnorm)
{
  const PetscReal multiple = 64;
  BAI            *bai      = (BAI *)ksp->data;
  PetscReal       norm1, norminf, xnorm, bnorm;

  PetscFunctionBegin;
  PetscCall(MatNorm(bai->A, NORM_1, &norm1));
  PetscCall(MatNorm(bai->A, NORM_INFINITY, &norminf));
  PetscCall(BAIVecNorm(x, &xnorm));
  PetscCall(BAIVecNorm(b, &bnorm));
  bai->attainable = multiple * PETSC_MACHINE_EPSILON * (PetscSqrtReal(norm1) * PetscSqrtReal(norminf) * xnorm + bnorm);
  bai->stands     = (PetscBool)(IsExact(bai) && rnorm <= bai->attainable);
  if (bai->stands) ksp->reason = KSP_DIVERGED_BREAKDOWN;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ": the residual norm stays at %g, %s what rounding allows, %g\n",
                      ksp->its, (double)rnorm, bai->stands ? "which is" : "above", (double)bai->attainable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A coarse correction is set up: solves begin anew with it, this one from where it is */
static PetscErrorCode Coarsen(KSP ksp, PetscReal rnorm)
{
  BAI *bai = (BAI *)ksp->data;
  Mat  A;

  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: slow, a coarse correction from now on\n",
                      ksp->its, (double)rnorm));
  bai->slow = PETSC_TRUE;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAISetUp(bai, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve by the engine in a mode; acceleration is that of the goal */
static BAIStep StepAtOnce(KSP ksp, BAIMode mode, int accelerate, BAIMode accelerated)
{
  const BAI    *bai  = (BAI *)ksp->data;
  const BAIGoal goal = GoalOf(ksp, 0.0);
  BAIStep       step = BAIStepOf(bai, BAI_FORWARD);

  step.mode        = mode;
  step.accelerate  = accelerate;
  step.accelerated = accelerated;
  step.coarse      = (int)(bai->aggregates && !bai->vain);
  step.coarsen     = goal.coarsen ? (BAIInt)PetscMax(1, (PetscInt)goal.coarsen - ksp->its) : 0;
  step.local_iters = SweepsOf(bai, &step);
  step.top         = (BAIReal)goal.top;
  step.beta        = (BAIReal)goal.beta;
  step.bears       = (BAIReal)goal.bears;
  if (accelerate) step.omega = OmegaOf(bai, step.coarse);
  else if (mode != BAI_MODE_ASYNC)
    step.omega = PlainOmega(bai, step.coarse); /* who takes corrections one at a time does not overshoot */
  if (mode == BAI_MODE_COLOR && accelerate) step.local_iters = EvenLocalIters(bai);
  return step;
}

/*
   With a coarse correction: what the next solve begins with, after one that took so many iterations to divide the
   residual norm by e^fall, and ended with this. The first solves try what the one before ended with, or less momentum
   where that was enough. A solve that was slower than the best one takes that back, and ends the trials: from then on
   each solve begins as the best one did. So nothing that was learnt makes a later solve slower
*/
static void Learn(BAI *bai, PetscReal top, PetscReal ended, PetscReal bears, PetscInt its, PetscReal fall,
                  PetscBool converged)
{
  const PetscInt  trials = 3, shown = 30; /* iterations in which momentum is raised if it is too small */
  const PetscReal less = (PetscReal)BAIAdaptLessBeta((double)bai->start.beta), wrong = (PetscReal)1.25;

  bai->start.cost = fall > 0.0 ? (PetscReal)its / fall : PETSC_MAX_REAL;
  if (bai->tried >= trials) return;
  if (bai->best.cost > 0.0 && bai->start.cost >= bai->best.cost) bai->tried = trials;
  else {
    bai->best = bai->start;
    bai->tried++;
  }
  if (bai->tried >= trials) {
    bai->start = bai->best;
    return;
  }
  bai->start.top = PetscMax(bai->start.top, PetscMin(top, wrong * bai->top_found));
  if (converged) bai->start.bears = bears; /* else that may be due to rounding, or to a right-hand side */
  if (ended > bai->start.beta) bai->start.beta = ended;
  else if (converged && its >= shown && less > 0.0) bai->start.beta = less;
}

/* Less momentum does for a larger tolerance, so only solves to the smallest one so far are compared */
static PetscBool Learns(KSP ksp)
{
  return (PetscBool)(ksp->rtol <= ((BAI *)ksp->data)->rtol);
}

static void BeginToLearn(KSP ksp)
{
  BAI *bai = (BAI *)ksp->data;

  if (bai->rtol > 0.0 && ksp->rtol >= bai->rtol) return;
  bai->rtol  = ksp->rtol;
  bai->start = bai->first_start;
  bai->best  = (BAIStart){.cost = 0.0};
  bai->tried = 0;
}

/* What the view is to say of a solve from this residual norm to that, and the next solve to know */
static void Remember(BAI *bai, const BAIStep *step, const BAISolution *solution, PetscReal from, PetscReal rnorm,
                     PetscBool learns, PetscBool converged)
{
  bai->used          = *step;
  bai->used.omega    = solution->omega;
  bai->used.momentum = solution->momentum;
  if (solution->vain) bai->vain = PETSC_TRUE;
  else if (step->coarse && step->accelerate && learns)
    Learn(bai, (PetscReal)solution->top, (PetscReal)solution->beta, (PetscReal)solution->bears, (PetscInt)solution->its,
          PetscLogReal(from / rnorm), converged);
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
   A reason is given only if the guess was good enough, or not a number; otherwise ksp->its and rnorm are those that the
   engine came to. From a zero guess the solve comes before the test of the guess, which needs the host.
*/
static PetscErrorCode SolveAtOnce(KSP ksp, Vec b, Vec x, PetscReal *rnorm)
{
  BAI          *bai      = (BAI *)ksp->data;
  const BAIGoal goal     = GoalOf(ksp, 0.0);
  BAIStep       step     = StepAtOnce(ksp, FirstMode(bai), goal.accelerate, goal.accelerated);
  BAISolution   solution = {.its = 0};
  PetscReal     bnorm    = -1.0, before;
  PetscBool     grows;

  PetscFunctionBegin;
  if (!ksp->guess_zero) { /* what the tolerances are relative to is the convergence test's business */
    PetscCall(BAIRun(bai, b, x, PETSC_FALSE, 0, &step, rnorm));
    bnorm = *rnorm;
    if (MayWeigh(bai)) PetscCall(Keep(ksp, x, bnorm));
  } else
    PetscCall(BAISolve(bai, b, x, PETSC_TRUE, ksp->rtol, ksp->abstol, ksp->divtol, ksp->max_it, &step, &bnorm, rnorm,
                       &solution));
  KSPCheckNorm(ksp, bnorm);
  ksp->rnorm = bnorm;
  PetscCall(KSPBAITestGuess(ksp, bnorm));
  if (ksp->reason) {
    if (ksp->guess_zero) PetscCall(VecZeroEntries(x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!ksp->guess_zero)
    PetscCall(
      BAISolve(bai, b, x, PETSC_FALSE, 0.0, ksp->ttol, ksp->divtol, ksp->max_it, &step, &bnorm, rnorm, &solution));
  if (ksp->guess_zero) PetscCall(Keep(ksp, x, bnorm));
  ksp->its = (PetscInt)solution.its;
  Remember(bai, &step, &solution, bnorm, *rnorm, Learns(ksp), (PetscBool)(*rnorm <= ksp->ttol));
  grows = Grows(ksp, *rnorm, PETSC_FALSE);
  while ((solution.mode != step.mode || solution.coarsen || solution.vain || solution.stalls || grows) &&
         ksp->max_it > ksp->its && *rnorm > ksp->ttol &&
         (grows || *rnorm < ksp->divtol * bnorm)) { /* it is slow so, or its acceleration came to nothing */
    BAIMode mode = solution.mode;

    if (solution.stalls) {
      PetscCall(StandsStill(ksp, b, x, *rnorm));
      if (ksp->reason) {
        ksp->rnorm = *rnorm;
        break;
      }
    }
    if (grows) {
      PetscCall(Weigh(ksp, x, rnorm));
      mode = FirstMode(bai);
    } else if (solution.coarsen) {
      PetscCall(Coarsen(ksp, *rnorm));
      mode = FirstMode(bai);
    } else PetscCall(BAIPrepare(bai, mode));
    if (!CanSolveAtOnce(ksp, mode, NULL)) break;
    PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: mode %s from now on\n", ksp->its,
                        (double)*rnorm, BAIModes[mode]));
    step   = StepAtOnce(ksp, mode, grows ? GoalOf(ksp, 0.0).accelerate : solution.accelerate,
                      grows || solution.coarsen || solution.vain ? GoalOf(ksp, 0.0).accelerated : BAI_MODE_SYNC);
    before = *rnorm;
    PetscCall(BAISolve(bai, b, x, PETSC_FALSE, 0.0, ksp->ttol, ksp->divtol, ksp->max_it - ksp->its, &step, &bnorm,
                       rnorm, &solution));
    ksp->its += (PetscInt)solution.its;
    Remember(bai, &step, &solution, before, *rnorm, Learns(ksp), (PetscBool)(*rnorm <= ksp->ttol));
    grows = Grows(ksp, *rnorm, PETSC_FALSE);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its global iterations, of which those from decision.plain on are without over-relaxation */
static PetscErrorCode Run(KSP ksp, Vec b, Vec x, PetscInt its, BAIStep *step, PetscReal *rnorm)
{
  BAI               *bai    = (BAI *)ksp->data;
  const BAIDecision *d      = &bai->decision;
  const PetscInt     raised = d->omega == 1 ? 0
        : step->coarse                      ? its
                                            : PetscMin(its, PetscMax(0, (PetscInt)d->plain - ksp->its));

  PetscFunctionBegin;
  if (raised > 0) {
    step->omega = OmegaOf(bai, step->coarse) * (BAIReal)d->omega;
    PetscCall(BAIRunFaulty(bai, b, x, (PetscBool)(ksp->guess_zero && !ksp->its), ksp->its, raised, step,
                           raised < its ? NULL : rnorm));
    step->fresh = 0;
  }
  if (raised < its) {
    step->omega = PlainOmega(bai, step->coarse);
    PetscCall(BAIRunFaulty(bai, b, x, (PetscBool)(ksp->guess_zero && !ksp->its && !raised), ksp->its + raised,
                           its - raised, step, rnorm));
    step->fresh = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve was slow, but too short to set up a coarse correction: if there is another one with these values, that may do
 * so before it begins */
static PetscBool WasSlow(KSP ksp)
{
  const BAI     *bai  = (BAI *)ksp->data;
  const PetscInt many = 100;

  return (PetscBool)(MayCoarsen(bai) && ksp->its >= many && BAICoarsenFrom(bai) > many);
}

static PetscErrorCode Relax(KSP ksp)
{
  BAI         *bai = (BAI *)ksp->data;
  Vec          x = ksp->vec_sol, b = ksp->vec_rhs;
  Mat          A;
  MatNullSpace nullspace;
  BAIStep      step  = {.omega = 0};
  PetscReal    rnorm = 0.0, from = 0.0;
  PetscInt     begun  = 0; /* iterations before those that are adapted */
  PetscBool    looked = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAISetUp(bai, A)); /* the values may have changed without KSPSetOperators() */
  if (BAIIsGathered(bai)) {
    PetscCall(KSPSolve_BAIGathered(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCall(BAIFaultsStart(bai, b, x, ksp->guess_zero));
  PetscCall(BAIStatsStart(bai));
  BeginToLearn(ksp);
  ksp->its       = 0;
  bai->kept_norm = PETSC_MAX_REAL;
  bai->stands    = PETSC_FALSE;
  step           = BAIStepOf(bai, BAI_FORWARD);

  step.coarse      = (int)(bai->aggregates && !bai->vain);
  step.omega       = PlainOmega(bai, step.coarse);
  step.local_iters = SweepsOf(bai, &step);
  if (ksp->normtype == KSP_NORM_NONE) {
    if (step.mode == BAI_MODE_COLOR && bai->options.momentum == PETSC_DECIDE) step.local_iters = EvenLocalIters(bai);
    PetscCall(BAIRunFaulty(bai, b, x, ksp->guess_zero, 0, ksp->max_it, &step, NULL));
    if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, x));
    ksp->its       = ksp->max_it;
    ksp->reason    = KSP_CONVERGED_ITS;
    bai->count.its = ksp->its;
    PetscCall(BAIStatsEnd(bai));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  if (CanSolveAtOnce(ksp, FirstMode(bai), nullspace)) {
    PetscCall(SolveAtOnce(ksp, b, x, &rnorm));
    if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  } else if (ksp->guess_zero) PetscCall(BAIVecNorm(b, &rnorm));
  else PetscCall(BAIRun(bai, b, x, PETSC_FALSE, 0, &step, &rnorm));
  while (PETSC_TRUE) {
    BAIDecision decision;
    PetscInt    its;
    PetscReal   before;

    KSPCheckNorm(ksp, rnorm);
    ksp->rnorm = rnorm;
    PetscCall(KSPLogResidualHistory(ksp, rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, rnorm));
    if (ksp->its) PetscCall((*ksp->converged)(ksp, ksp->its, rnorm, &ksp->reason, ksp->cnvP));
    else PetscCall(KSPBAITestGuess(ksp, rnorm));
    if (!ksp->reason && bai->watch.stagnates) ksp->reason = KSP_DIVERGED_BREAKDOWN;
    if (ksp->reason) break;
    if (ksp->its >= ksp->max_it) {
      ksp->reason = ksp->converged == KSPConvergedSkip ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
      break;
    }
    if (!looked) {
      const BAIGoal goal = GoalOf(ksp, rnorm);

      if (FirstMode(bai) != BAIModeOf(bai)) PetscCall(BAIPrepare(bai, FirstMode(bai)));
      bai->decision = BAIAdaptStart(&bai->adapt, &goal, FirstMode(bai), (BAIInt)ksp->its, Square(bai, rnorm));
      step          = StepOf(bai, &bai->decision);
      looked        = PETSC_TRUE;
      begun         = ksp->its;
      from          = rnorm;
      if (bai->decision.x == BAI_X_KEEP || (MayWeigh(bai) && !ksp->its)) PetscCall(Keep(ksp, x, rnorm));
    }
    its    = NextLook(ksp);
    before = rnorm;
    PetscCall(Run(ksp, b, x, its, &step, &rnorm));
    if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, x));
    ksp->its += its;
    if (bai->options.precision == BAI_PRECISION_AUTO && bai->rough && bai->use.p.single) {
      ksp->its -= bai->refinement.undone;
      PetscCall(BAISetUp(bai, A));
      looked = PETSC_FALSE;
      continue;
    }
    PetscCall(BAIFaultsLook(bai, ksp->its, b, x, &rnorm, &step));
    BAIStatsLook(bai, ksp->its - its, before, ksp->its, rnorm, ksp->ttol);
    if (Grows(ksp, rnorm, IsRelaxed(bai))) {
      PetscCall(Weigh(ksp, x, &rnorm));
      looked = PETSC_FALSE;
      continue;
    }
    decision = BAIAdaptLook(&bai->adapt, (BAIInt)ksp->its, Square(bai, rnorm));
    if (decision.vain) bai->vain = PETSC_TRUE;
    if (decision.stalls && rnorm > ksp->ttol) PetscCall(StandsStill(ksp, b, x, rnorm));
    if (ksp->reason) {
      ksp->rnorm = rnorm;
      PetscCall(KSPLogResidualHistory(ksp, rnorm));
      PetscCall(KSPMonitor(ksp, ksp->its, rnorm));
      break;
    }
    PetscCall(Obey(ksp, x, &decision, &rnorm, &step));
    bai->used = step;
    if (decision.coarsen) {
      PetscCall(Coarsen(ksp, rnorm));
      PetscCall(BAIFaultsRestart(bai, b, x));
      looked = PETSC_FALSE;
    }
  }
  if (WasSlow(ksp)) bai->slowed = PETSC_TRUE;
  if (looked && IsCorrected(bai) && Learns(ksp))
    Learn(bai, (PetscReal)bai->adapt.goal.top, (PetscReal)bai->adapt.beta, (PetscReal)BAIAdaptBears(&bai->adapt),
          ksp->its - begun, PetscLogReal(from / rnorm), (PetscBool)(ksp->reason > 0));
  PetscCall(BAIStatsEnd(bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_BAI(KSP ksp)
{
  const PetscBool guess_zero = ksp->guess_zero;
  PetscBool       done;
  PetscErrorCode  code;

  PetscFunctionBegin;
  PetscCheck(!ksp->transpose_solve, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "KSPSolveTranspose() with KSPBAI");
  code = KSPSolve_BAILevels(ksp, &done);
  if (!code && !done) code = Relax(ksp);
  ksp->guess_zero = guess_zero;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_BAI(KSP ksp, PetscViewer viewer)
{
  const BAI *bai = (BAI *)ksp->data, *worker = BAIGatherWorker((BAI *)ksp->data);
  PetscBool  ascii, levels;

  PetscFunctionBegin;
  PetscCall(KSPView_BAILevels(ksp, viewer, &levels));
  if (levels) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIView((BAI *)ksp->data, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) {
    if (worker && worker->options.momentum == PETSC_DECIDE && worker->used.omega > 0)
      PetscCall(
        PetscViewerASCIIPrintf(viewer, "  momentum auto; the last solve ended in mode %s with omega %g, momentum %g\n",
                               BAIModes[worker->used.mode], (double)worker->used.omega, (double)worker->used.momentum));
    if (bai->options.check_interval)
      PetscCall(PetscViewerASCIIPrintf(viewer, "  residual norm every %" PetscInt_FMT " global iterations\n",
                                       bai->options.check_interval));
    else PetscCall(PetscViewerASCIIPrintf(viewer, "  residual norm when it promises to be small enough\n"));
    if (bai->stands)
      PetscCall(PetscViewerASCIIPrintf(viewer,
                                       "  the last solve ended at what rounding allows, a residual norm of %g\n",
                                       (double)bai->attainable));
    PetscCall(BAIFaultsView(bai, viewer));
    PetscCall(BAIStatsView((BAI *)ksp->data, viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetFromOptions_BAI(KSP ksp, BAIOptionItems PetscOptionsObject)
{
  BAI        *bai = (BAI *)ksp->data;
  const char *prefix;
  char        type[64];
  PetscBool   set, none = PETSC_TRUE;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "KSP block-asynchronous iteration options");
  PetscCall(BAIOptionsSetFromOptions((PetscObject)ksp, &bai->options, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscCall(BAIStatsGetViewer(bai, "-ksp_bai_stats"));
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscOptionsGetString(((PetscObject)ksp)->options, prefix, "-pc_type", type, sizeof(type), &set));
  if (set) PetscCall(PetscStrcmp(type, PCNONE, &none));
  PetscCheck(none, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "-%spc_type %s: KSPBAI uses no preconditioner, so it must be none or left out", prefix ? prefix : "",
             type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_BAI(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(BAIReset((BAI *)ksp->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_BAI(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPReset_BAI(ksp));
  PetscCall(BAIHierarchyDestroy((BAI *)ksp->data));
  PetscCall(PetscViewerDestroy(&((BAI *)ksp->data)->viewer));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
     KSPBAI - Block-asynchronous iteration: Jacobi sweeps inside blocks of rows, which exchange their parts of the
     solution without waiting for each other

   Options Database Keys:
+  -ksp_bai_local_iters <5>                        - Jacobi sweeps in a block per global iteration, `KSPBAISetLocalIters()`
.  -ksp_bai_block_size <0>                         - rows of a block, `KSPBAISetBlockSize()`
.  -ksp_bai_mode (async|launch|sync|color|auto)    - how blocks wait for each other, `KSPBAISetMode()`
.  -ksp_bai_partition (auto|natural|dm|rcm|graph)  - how rows become blocks, `KSPBAISetPartition()`
.  -ksp_bai_momentum <auto>                        - part of the last step that each update repeats, `KSPBAISetMomentum()`
.  -ksp_bai_coarse <auto>                          - unknowns of the coarse correction, `KSPBAISetCoarse()`
.  -ksp_bai_levels <auto>                          - levels of a multigrid cycle round which conjugate gradients solve, `KSPBAISetLevels()`
.  -ksp_bai_weight (safe|none|l1|tau|auto)         - what makes it converge where Jacobi does not, `KSPBAISetWeight()`
.  -ksp_bai_theta <false>                          - whether blocks that hold more of their rows do more local sweeps, `KSPBAISetTheta()`
.  -ksp_bai_overlap <0>                            - steps of the matrix graph by which blocks are extended, `KSPBAISetOverlap()`
.  -ksp_bai_staleness <-1>                         - global iterations that a block may be ahead of those it reads from, `KSPBAISetStaleness()`
.  -ksp_bai_exchange (auto|scatter|amc|dc|dk)      - how x travels between MPI ranks, `KSPBAISetExchange()`
.  -ksp_bai_precision (auto|native|single)         - precision of the sweeps, `KSPBAISetPrecision()`
.  -ksp_bai_refine (auto|none|sync|async)          - iterative refinement round the sweeps, `KSPBAISetRefine()`
.  -ksp_bai_omega <1>                              - damping of a block's update, after its local sweeps, `KSPBAISetOmega()`
.  -ksp_bai_local_omega <1>                        - damping of each Jacobi sweep inside a block, `KSPBAISetLocalOmega()`
.  -ksp_bai_check_interval <0>                     - global iterations between residual norms, `KSPBAISetCheckInterval()`
.  -ksp_bai_backend (auto|host|cuda)               - where the iteration runs, `KSPBAISetBackend()`
.  -ksp_bai_gather (auto|none|device|one)          - which ranks take over the rows of others, `KSPBAISetGather()`
.  -ksp_bai_kernel (auto|resident|stream|generic)  - which family of kernels does the global iterations on a GPU, `KSPBAISetKernel()`
.  -ksp_bai_fault_type (rows|blocks|x|matrix|sums) - what simulated faults do, `KSPBAISetFaultType()`
.  -ksp_bai_fault_fraction <0>                     - part of the rows or blocks that simulated faults hit, `KSPBAISetFaultFraction()`
.  -ksp_bai_fault_at <10>                          - global iterations before simulated faults begin, `KSPBAISetFaultAt()`
.  -ksp_bai_fault_recover <0>                      - global iterations that simulated faults last, `KSPBAISetFaultRecover()`
.  -ksp_bai_fault_seed <0>                         - choice of the rows or blocks that simulated faults hit, `KSPBAISetFaultSeed()`
.  -ksp_bai_fault_detect <false>                   - whether faults are looked for and repaired, `KSPBAISetFaultDetect()`
.  -ksp_bai_idle_wait <false>                      - whether the host sleeps during long waits for the device, `KSPBAISetIdleWait()`
-  -ksp_bai_stats <false>                          - whether sweeps are counted, for statistics, `KSPBAISetStats()`

   Level: intermediate

   Notes:
   The rows of each MPI rank are cut into blocks, of consecutive rows unless a partition is asked for. In one global
   iteration every block reads the others' current values once, does `local_iters` Jacobi sweeps on its own rows, and
   writes its values back. Iterations that `KSP` counts are global iterations.

   It converges for every order in which blocks may update if the spectral radius of |I - D^{-1}A| is below one, D
   being the diagonal of A; so for every strictly diagonally dominant matrix and every nonsingular M-matrix. Elsewhere
   it may diverge; a weight then helps for positive definite matrices. A missing or zero diagonal entry is an error,
   unless the whole row is zero: then 1 stands for it.

   An iteration that turns out to be slow is accelerated, see `KSPBAISetMomentum()`: from then on blocks wait for each
   other, as no good acceleration is known for those that do not. -ksp_bai_momentum 0 prevents that. A fixed number of
   iterations, `KSP_NORM_NONE`, is never accelerated.

   Residual norms are those of b - A x for a solution that no block changes meanwhile, and a reason is given only on
   such a norm. While nobody watches (no monitor, no residual history, no convergence test of one's own) they are
   computed only when the contraction seen so far promises that they are small enough, so a solve may do a few
   iterations more than needed; use -ksp_bai_check_interval 1, or a monitor, to see every one of them. On a GPU whose
   registers and shared memory hold the whole matrix, a solve on one rank that nobody watches is one kernel launch, or
   two if it is accelerated.

   Except with `BAI_MODE_SYNC` and `BAI_MODE_COLOR`, results differ from run to run within the tolerance.

   Supports matrices of type `MATAIJ` and `MATAIJCUSPARSE`, and of type `MATBAIJ` and `MATSBAIJ` by a copy of type
   `MATAIJ` that follows their values. `MATAIJCUSPARSE` and its vectors stay on the GPU all the time, but for what MPI
   carries between ranks, and at set-up for the weight auto, the partitions rcm and graph, and overlap, which are
   found on the host. With the backend cuda a matrix and vectors that live on the host are copied to the GPU, also if
   PETSc was built without CUDA. Several MPI ranks exchange values after every global iteration, or one of them works
   for the others: see `KSPBAISetGather()`.

   The `KSP` uses no preconditioner, and sets its `PC` to `PCNONE`; it uses Amat, not Pmat, of `KSPSetOperators()`.
   The backend host runs OMP_NUM_THREADS threads, or, if that is not set, shares the cores between the ranks of the
   node.

   References:
   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "A block-asynchronous relaxation method for graphics processing units",
   Journal of Parallel and Distributed Computing 73 (2013).

.seealso: `KSPCreate()`, `KSPSetType()`, `KSPType`, `KSPRICHARDSON`, `KSPBAISetLocalIters()`, `KSPBAISetBlockSize()`,
          `KSPBAISetMode()`, `KSPBAISetPartition()`, `KSPBAISetMomentum()`, `KSPBAISetCoarse()`, `KSPBAISetLevels()`,
          `KSPBAISetWeight()`, `KSPBAISetTheta()`, `KSPBAISetOverlap()`, `KSPBAISetStaleness()`, `KSPBAISetExchange()`,
          `KSPBAISetPrecision()`, `KSPBAISetRefine()`, `KSPBAISetOmega()`, `KSPBAISetLocalOmega()`,
          `KSPBAISetCheckInterval()`, `KSPBAISetBackend()`, `KSPBAISetGather()`, `KSPBAISetKernel()`,
          `KSPBAISetFaultType()`, `KSPBAISetFaultFraction()`, `KSPBAISetFaultAt()`, `KSPBAISetFaultRecover()`,
          `KSPBAISetFaultSeed()`, `KSPBAISetFaultDetect()`, `KSPBAISetIdleWait()`, `KSPBAISetStats()`
M*/

PetscErrorCode KSPCreate_BAI(KSP ksp)
{
  BAI *bai;

  PetscFunctionBegin;
  PetscCall(BAICreate((PetscObject)ksp, &bai));
  PetscCall(BAIHierarchyCreate(bai));
  ksp->data           = (void *)bai;
  ksp->setupnewmatrix = PETSC_TRUE;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
  ksp->ops->setup          = KSPSetUp_BAI;
  ksp->ops->solve          = KSPSolve_BAI;
  ksp->ops->view           = KSPView_BAI;
  ksp->ops->setfromoptions = KSPSetFromOptions_BAI;
  ksp->ops->reset          = KSPReset_BAI;
  ksp->ops->destroy        = KSPDestroy_BAI;
  ksp->ops->buildsolution  = KSPBuildSolutionDefault;
  ksp->ops->buildresidual  = KSPBuildResidualDefault;
  PetscFunctionReturn(PETSC_SUCCESS);
}
