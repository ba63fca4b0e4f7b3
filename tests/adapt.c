static char help[] = "What the acceleration decides, for residual norms that are known beforehand: when to look, with "
                     "which relaxation to go on, and when to leave a mode.\n\n";

#include "check.h"
#include "../src/engine/adapt.h"
#include <complex.h>

static BAIGoal GoalFor(BAIMode mode, BAIMode accelerated, double tol)
{
  const BAIGoal goal = {.mode        = mode,
                        .accelerated = accelerated,
                        .accelerate  = 1,
                        .tol2        = tol * tol,
                        .most2       = 1e300,
                        .max_it      = BAI_INT_MAX,
                        .first       = 1};

  return goal;
}

/* A norm that falls by q in each iteration: looks are as many as the logarithm of the iterations, and the last one is
 * where the tolerance is met */
static PetscErrorCode Looks(void)
{
  const double  q = 0.5, tol = 1e-10;
  const BAIGoal goal = GoalFor(BAI_MODE_ASYNC, BAI_MODE_SYNC, tol);
  BAIAdapt      a;
  BAIDecision   d     = BAIAdaptStart(&a, &goal, goal.mode, 0, 1);
  int           looks = 0;
  BAIInt        its   = 0;

  PetscFunctionBeginUser;
  while (!d.stop && looks < 100) {
    PetscCall(Expect(d.until > its && d.mode == BAI_MODE_ASYNC && d.omega == 1 && d.momentum == 0 && d.x == BAI_X_ON,
                     "look %d: it goes on as it is", looks));
    its = d.until;
    d   = BAIAdaptLook(&a, its, pow(q, 2.0 * (double)its));
    looks++;
  }
  PetscCall(Expect(looks <= 6, "%d looks are no more than the logarithm of the iterations, and one", looks));
  PetscCall(Expect(its >= 34 && its <= 36, "after %d iterations the tolerance is met, 34 are needed", (int)its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A slow solve gets the relaxation that its rate calls for: omega = 2/(1 + sqrt(1 - rho^2)) */
static PetscErrorCode Relaxation(BAIMode mode)
{
  const double  q    = 0.99;
  const BAIGoal goal = GoalFor(mode, mode, 1e-10);
  BAIAdapt      a;
  BAIDecision   d   = BAIAdaptStart(&a, &goal, goal.mode, 0, 1);
  BAIInt        its = 0;
  double        rho = mode == BAI_MODE_COLOR ? sqrt(q) : q, omega = 2 / (1 + sqrt(1 - rho * rho));

  PetscFunctionBeginUser;
  while (d.omega == 1 && its < 1000) {
    its = d.until;
    d   = BAIAdaptLook(&a, its, pow(q, 2.0 * (double)its));
  }
  PetscCall(Expect(its >= 30 && its <= 63, "it shows to be slow after %d iterations", (int)its));
  PetscCall(Expect(d.begins && d.mode == mode && d.x == BAI_X_KEEP, "the acceleration begins, and x is kept"));
  PetscCall(Expect(fabs(d.omega - omega) <= 1e-9, "omega %g is the best one, %g", d.omega, omega));
  PetscCall(Expect(fabs(d.momentum - (mode == BAI_MODE_SYNC ? omega - 1 : 0)) <= 1e-9, "momentum %g", d.momentum));
  PetscCall(Expect(mode == BAI_MODE_SYNC ? d.plain == d.until : d.plain == d.until - 4,
                   "plain iterations before the next look in mode color"));
  PetscCall(Expect(d.even == (mode == BAI_MODE_COLOR), "an even number of local sweeps in mode color"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Leaving a mode costs something: the iterations left must be 100 where the mode would change, and 20 where it would
 * not */
static PetscErrorCode Threshold(BAIMode mode, double left, PetscBool accelerates)
{
  const double  q    = 0.9;
  const BAIGoal goal = GoalFor(mode, BAI_MODE_SYNC, pow(q, 31 + left));
  BAIAdapt      a;
  PetscBool     begins = PETSC_FALSE;

  PetscFunctionBeginUser;
  (void)BAIAdaptStart(&a, &goal, goal.mode, 0, 1);
  for (BAIInt its = 1; its <= 31; its++) {
    const BAIDecision d = BAIAdaptLook(&a, its, pow(q, 2.0 * (double)its));

    begins = (PetscBool)(begins || d.begins);
  }
  PetscCall(Expect(begins == accelerates, "with %g iterations left it %s accelerated", left, begins ? "is" : "is not"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What over-relaxation is raised to makes the norm grow, every time: mode sync is tried, and then the mode of the
 * options goes on for good */
static PetscErrorCode InVain(BAIMode mode)
{
  const double  q    = 0.995;
  const BAIGoal goal = GoalFor(mode, mode, 1e-30);
  BAIAdapt      a;
  BAIDecision   d       = BAIAdaptStart(&a, &goal, goal.mode, 0, 1);
  double        rnorm   = 1;
  int           in_sync = 0, ended = 0;
  BAIInt        its = 0;

  PetscFunctionBeginUser;
  while (its < 100000 && !ended) {
    const BAIInt before = its;

    its   = d.until;
    rnorm = d.omega > 1 ? 1e5 * rnorm : rnorm * pow(q, (double)(its - before));
    d     = BAIAdaptLook(&a, its, rnorm * rnorm);
    if (d.x == BAI_X_BACK) rnorm = sqrt(a.best2);
    in_sync = in_sync || d.mode == BAI_MODE_SYNC;
    ended   = in_sync && d.mode == mode && !a.accelerate;
  }
  PetscCall(Expect(in_sync, "mode sync is tried"));
  PetscCall(Expect(mode == BAI_MODE_SYNC || ended, "the mode of the options goes on at last"));
  for (int k = 0; k < 10 && mode != BAI_MODE_SYNC; k++) {
    const BAIInt before = its;

    its = d.until;
    rnorm *= pow(q, (double)(its - before));
    d = BAIAdaptLook(&a, its, rnorm * rnorm);
    PetscCall(Expect(d.mode == mode && d.omega == 1 && !d.begins, "and is not accelerated again"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What these cases know of the rules: the condition that a solve begins with, by what the one found may be off, and how
 * often it is tried: with a larger eigenvalue, with less momentum, and without */
enum {
  FIRST_CONDITION = 30,
  TRIES           = 4,
  ROWS            = 10000 /* of the matrices that are meant */
};
static const double off = 1.35;

/* The best momentum for a condition */
static double BestMomentum(double kappa)
{
  const double q = (sqrt(kappa) - 1) / (sqrt(kappa) + 1);

  return q * q;
}

/* A diagonal system with a coarse correction: errors that belong to some eigenvalues, and what iterations make of them
 */
typedef struct {
  int            n;
  double complex lambda[64], e[64], before[64], kept[64];
} Diagonal;

static double ResidualNorm2(const Diagonal *s)
{
  double norm2 = 0;

  for (int k = 0; k < s->n; k++) norm2 += PetscSqr(cabs(s->lambda[k] * s->e[k]));
  return norm2;
}

/* Eigenvalues from most/kappa to most, evenly spread in the logarithm; from each comes as much of the residual, or of
 * the error, so that it is rough */
static void DiagonalCreate(int n, double most, double kappa, int rough, Diagonal *s)
{
  s->n = n;
  for (int k = 0; k < n; k++) {
    s->lambda[k] = most * pow(kappa, n > 1 ? (double)k / (n - 1) - 1 : -1);
    s->e[k] = s->before[k] = s->kept[k] = rough ? 1 : 1 / s->lambda[k];
  }
}

/* As the decision says, from its to the next look; the first iteration is without momentum if fresh */
static void Iterate(Diagonal *s, const BAIDecision *d, BAIInt its, int fresh)
{
  for (BAIInt it = its; it < d->until; it++) {
    for (int k = 0; k < s->n; k++) {
      const double complex next = s->e[k] - d->omega * s->lambda[k] * s->e[k] +
        (fresh && it == its ? 0 : d->momentum) * (s->e[k] - s->before[k]);

      s->before[k] = s->e[k];
      s->e[k]      = next;
    }
  }
}

/* A solve: it ends where the decision says; *back counts how often it went back */
static BAIInt SolveDiagonal(Diagonal *s, BAIAdapt *a, const BAIGoal *goal, BAIDecision *d, int *back)
{
  BAIInt its   = 0;
  int    fresh = 1;

  *back = 0;
  *d    = BAIAdaptStart(a, goal, goal->mode, 0, ResidualNorm2(s));
  while (!d->stop && !d->vain && its < 100000) {
    Iterate(s, d, its, fresh);
    its   = d->until;
    *d    = BAIAdaptLook(a, its, ResidualNorm2(s));
    fresh = d->rest || d->begins || d->x == BAI_X_BACK;
    if (d->x == BAI_X_BACK) {
      memcpy(s->e, s->kept, sizeof(s->e));
      ++*back;
    }
    if (d->x == BAI_X_KEEP) memcpy(s->kept, s->e, sizeof(s->e));
  }
  return its;
}

static BAIGoal CoarseGoal(double top, double tol)
{
  BAIGoal goal = GoalFor(BAI_MODE_SYNC, BAI_MODE_SYNC, tol);

  goal.top  = top;
  goal.rows = ROWS;
  return goal;
}

/* From norms that are known polynomials of one eigenvalue, or sums of them, the condition is found up to the step of
 * the search; an iteration that knows it is hardly slower than the best one */
static PetscErrorCode Condition(double kappa, int n)
{
  const double top = 2, tol = 1e-90, most = BestMomentum((n > 1 ? off : 2) * kappa), least = BestMomentum(kappa / off),
               first = BestMomentum(FIRST_CONDITION);
  BAIGoal     goal   = CoarseGoal(top, tol);
  BAIAdapt    a;
  BAIDecision d;
  Diagonal    s;
  BAIInt      its;
  int         back;

  PetscFunctionBeginUser;
  DiagonalCreate(n, top, kappa, 0, &s);
  its = SolveDiagonal(&s, &a, &goal, &d, &back);
  PetscCall(Expect(d.stop && !d.vain && !back && ResidualNorm2(&s) <= tol * tol,
                   "condition %g: it gets there in %d iterations, back %d times", kappa, (int)its, back));
  PetscCall(Expect(a.beta >= PetscMax(n > 1 ? 0 : least, first) - 1e-12 && a.beta <= PetscMax(most, first) + 1e-12,
                   "condition %g: momentum %g is between %g and %g", kappa, a.beta, least, most));
  PetscCall(Expect(fabs(d.omega * top - PetscSqr(1 + sqrt(a.beta))) <= 1e-12 && d.momentum == a.beta,
                   "omega %g follows from momentum %g", d.omega, d.momentum));
  goal.beta = a.beta; /* as the next solve begins */
  DiagonalCreate(n, top, kappa, 0, &s);
  its = SolveDiagonal(&s, &a, &goal, &d, &back);
  PetscCall(Expect(d.stop && !back && a.beta <= PetscMax(most, first) + 1e-12,
                   "condition %g: the next solve stays with it, %g", kappa, a.beta));
  PetscCall(Expect((double)its <= 1.35 * -log(tol / sqrt(s.n)) * sqrt(PetscMax(kappa, FIRST_CONDITION)) / 2 + 60,
                   "condition %g: %d iterations", kappa, (int)its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest eigenvalue is larger than was thought: it gets there in the end, and the next solve, which begins with
 * what this one found, is hardly slower than with the right one */
static PetscErrorCode Underestimated(double more)
{
  const double top = 2, tol = 1e-30, kappa = 60;
  BAIGoal      goal = CoarseGoal(top, tol), right = CoarseGoal(more * top, tol);
  BAIAdapt     a;
  BAIDecision  d;
  Diagonal     s;
  BAIInt       its, best;
  int          back;

  PetscFunctionBeginUser;
  DiagonalCreate(40, more * top, kappa, 0, &s);
  its = SolveDiagonal(&s, &a, &goal, &d, &back);
  PetscCall(Expect(d.stop && !d.vain && ResidualNorm2(&s) <= tol * tol,
                   "%g times larger: it gets there in %d iterations, back %d times", more, (int)its, back));
  PetscCall(Expect(a.goal.top >= top * more * 0.95 && a.beta <= BestMomentum(2 * kappa),
                   "%g times larger: the largest eigenvalue is taken to be %g, momentum %g", more, a.goal.top, a.beta));
  goal.top   = a.goal.top;
  goal.beta  = a.beta;
  right.beta = BestMomentum(1.2 * kappa);
  DiagonalCreate(40, more * top, kappa, 0, &s);
  its = SolveDiagonal(&s, &a, &goal, &d, &back);
  DiagonalCreate(40, more * top, kappa, 0, &s);
  best = SolveDiagonal(&s, &a, &right, &d, &back);
  PetscCall(Expect((double)its <= 1.25 * (double)best,
                   "%g times larger: %d iterations in the next solve, %d of one that knows", more, (int)its,
                   (int)best));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A matrix that is not symmetric: real eigenvalues from top/kappa to top, and some with so large an imaginary part,
   relative to top, which converge only for some momentum. Three solves get there, later ones with what those before
   have found
*/
static PetscErrorCode Complex(double imaginary)
{
  enum {
    HALF = 12
  };
  const double top = 2, tol = 1e-12, kappa = 400;
  BAIGoal      goal = CoarseGoal(top, tol);
  BAIInt       its[3], plain;

  PetscFunctionBeginUser;
  plain = (BAIInt)(-log(tol) * kappa / 2) + 1;
  for (int solve = 0; solve < 3; solve++) {
    BAIAdapt    a;
    BAIDecision d;
    Diagonal    s;
    int         back;

    DiagonalCreate(HALF, top, kappa, 1, &s);
    s.n = 2 * HALF;
    for (int k = HALF; k < s.n; k++) {
      s.lambda[k] = top * (0.4 + 0.5 * (k - HALF) / (HALF - 1)) + imaginary * top * _Complex_I;
      s.e[k] = s.before[k] = s.kept[k] = 1;
    }
    its[solve] = SolveDiagonal(&s, &a, &goal, &d, &back);
    PetscCall(Expect(d.stop && !d.vain && ResidualNorm2(&s) <= tol * tol,
                     "imaginary parts %g: solve %d gets there in %d iterations", imaginary, solve, (int)its[solve]));
    goal.top   = PetscMin(a.goal.top, 1.25 * top); /* as KSPBAI believes no more */
    goal.beta  = a.beta;
    goal.bears = BAIAdaptBears(&a);
  }
  PetscCall(Expect(its[0] < plain, "imaginary parts %g: %d iterations, without momentum about %d", imaginary,
                   (int)its[0], (int)plain));
  PetscCall(Expect(4 * its[1] <= 5 * its[0] && its[2] <= 2 * its[0],
                   "imaginary parts %g: %d iterations, then %d and %d", imaginary, (int)its[0], (int)its[1],
                   (int)its[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Norms that grow whatever is done: each time back, after so many times without the coarse correction, in the mode of
   the options and never with it again; after three where the iteration bears more momentum without, and so none is
   tried at once
*/
static PetscErrorCode CoarseInVain(BAIMode mode, PetscBool spoils)
{
  BAIGoal     goal = CoarseGoal(2, 1e-30);
  BAIAdapt    a;
  BAIDecision d;
  int         tries = 0;

  PetscFunctionBeginUser;
  goal.mode  = mode;
  goal.bears = spoils ? BAI_SPOILT : 0;
  d          = BAIAdaptStart(&a, &goal, BAI_MODE_SYNC, 0, 1);
  while (!d.vain && tries < 100) {
    const double top = a.goal.top, momentum = d.momentum;

    d = BAIAdaptLook(&a, d.until, 1e20);
    tries++;
    PetscCall(Expect(d.x == BAI_X_BACK, "it goes back"));
    PetscCall(Expect(
      d.vain || ((a.goal.top > top || d.momentum < momentum) && d.rest),
      "the largest eigenvalue is raised, from %g to %g, or momentum goes down, from %g to %g, and it begins anew", top,
      a.goal.top, momentum, d.momentum));
  }
  PetscCall(Expect(tries == (spoils ? 3 : TRIES), "after %d times it is in vain", tries));
  PetscCall(
    Expect(d.vain && d.begins && !d.stop && d.mode == mode && d.omega == 1 && d.momentum == 0 && a.goal.top == 0,
           "the mode of the options goes on without"));
  for (int k = 0; k < 20 && !d.stop; k++) {
    d = BAIAdaptLook(&a, d.until, pow(0.99, 2.0 * (double)d.until));
    PetscCall(Expect(!d.vain && !d.coarsen && a.goal.top == 0, "and never again with it"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms that fall, as they do with a correction that helps, and then stay about where rounding leaves them: it is not
 * given up, and x does not go back again and again; but if they grow, it is */
static PetscErrorCode CoarseHelped(double more)
{
  const BAIGoal goal  = CoarseGoal(2, 1e-30);
  const double  least = 1e-7;
  BAIAdapt      a;
  BAIDecision   d     = BAIAdaptStart(&a, &goal, BAI_MODE_SYNC, 0, 1);
  int           looks = 0;

  PetscFunctionBeginUser;
  for (; !d.vain && looks < 100 && d.until < 100000; looks++) {
    const double fallen = pow(0.8, (double)d.until);

    d = BAIAdaptLook(&a, d.until, fallen > least ? fallen * fallen : PetscSqr(looks % 9 ? more * least : least));
  }
  PetscCall(
    Expect((d.vain != 0) == (more > 1e3), "norms %g times as large, %d looks: in vain %d", more, looks, d.vain));
  PetscCall(Expect(d.vain || (d.momentum == 0 && d.x != BAI_X_BACK),
                   "norms %g times as large: in the end momentum %g, and x goes back: %d", more, d.momentum,
                   d.x == BAI_X_BACK));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms that stay where they are: the same, a little later */
static PetscErrorCode CoarseStays(void)
{
  const BAIGoal goal = CoarseGoal(2, 1e-30);
  BAIAdapt      a;
  BAIDecision   d     = BAIAdaptStart(&a, &goal, BAI_MODE_SYNC, 0, 1);
  int           looks = 0;

  PetscFunctionBeginUser;
  for (; !d.vain && looks < 100; looks++) d = BAIAdaptLook(&a, d.until, 1);
  PetscCall(Expect(d.vain && looks <= 2 * TRIES + 2, "after %d looks it is in vain", looks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The iteration bears more momentum without the coarse correction: norms that stay have none tried at once, and then
   they fall so fast that so many more iterations are to be done. Where those are more than four times the square root
   of the rows the correction is given up, else it stays, and so it does for the next solve, without momentum from the
   start
*/
static PetscErrorCode CoarseSpoils(double its, PetscBool few)
{
  BAIGoal     goal = CoarseGoal(2, 1e-10);
  BAIAdapt    a;
  BAIDecision d;
  BAIInt      none  = 0;
  int         looks = 0;

  PetscFunctionBeginUser;
  goal.bears = BAI_SPOILT;
  d          = BAIAdaptStart(&a, &goal, BAI_MODE_SYNC, 0, 1);
  for (; !d.vain && !d.stop && looks < 100; looks++) {
    const int tried = a.goal.bears == BAI_SPOILT_NONE;
    BAIInt    now   = d.until;

    d = BAIAdaptLook(&a, now, tried ? pow(1e-10, 2.0 * (double)(now - none) / its) : 1);
    if (!tried && a.goal.bears == BAI_SPOILT_NONE) {
      none = now;
      PetscCall(Expect(d.momentum == 0 && d.rest, "none is tried at once: %g", d.momentum));
    }
  }
  PetscCall(Expect(none > 0 && few == (d.stop && !d.vain) && few != (PetscBool)d.vain,
                   "%g more iterations, %d looks: at the goal %d, in vain %d", its, looks, d.stop, d.vain));
  if (!few) PetscFunctionReturn(PETSC_SUCCESS);
  goal.bears = BAIAdaptBears(&a);
  d          = BAIAdaptStart(&a, &goal, BAI_MODE_SYNC, 0, 1);
  PetscCall(Expect(goal.bears == 1 && d.momentum == 0, "the next solve begins with momentum %g", d.momentum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It bears little momentum, as solves before have found, and the norm falls so fast that so many iterations are to be
 * done: if those are more than 64 times the square root of the rows the correction is given up */
static PetscErrorCode CoarseHopeless(double its, PetscBool few)
{
  BAIGoal     goal = CoarseGoal(2, 1e-10);
  BAIAdapt    a;
  BAIDecision d;
  int         looks = 0;

  PetscFunctionBeginUser;
  goal.bears = 3;
  for (d = BAIAdaptStart(&a, &goal, BAI_MODE_SYNC, 0, 1); !d.vain && !d.stop && looks < 100; looks++)
    d = BAIAdaptLook(&a, d.until, pow(1e-10, 2.0 * (double)d.until / its));
  PetscCall(Expect(few == (d.stop && !d.vain) && few != (PetscBool)d.vain,
                   "%g iterations, %d looks: at the goal %d, in vain %d", its, looks, d.stop, d.vain));
  PetscCall(Expect(few || looks < 10, "%g iterations: given up after %d looks", its, looks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Near the tolerance a look follows another after a few iterations, and says little: momentum does not change for that
 */
static PetscErrorCode NearTolerance(double kappa)
{
  PetscFunctionBeginUser;
  for (int k = 0; k < 400; k++) { /* tolerances that the last look misses by something, or not */
    const int     nth = k / 2, rough = k % 2;
    const double  tol  = pow(10, -6 - 0.01 * nth);
    const BAIGoal goal = CoarseGoal(2, tol);
    BAIAdapt      a;
    BAIDecision   d;
    Diagonal      s;
    BAIInt        its;
    int           back;

    DiagonalCreate(40, 2, kappa, rough, &s);
    its = SolveDiagonal(&s, &a, &goal, &d, &back);
    PetscCall(Expect(d.stop && !back && a.beta <= BestMomentum(1.5 * PetscMax(kappa, FIRST_CONDITION)),
                     "tolerance %g, condition %g: momentum %g after %d iterations", tol, kappa, a.beta, (int)its));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A coarse correction is asked for where the iteration is slow, once, when it is due, and not where it is fast */
static PetscErrorCode Coarsen(BAIMode mode, double q, BAIInt from, PetscBool accelerate, PetscBool slow)
{
  BAIGoal     goal = GoalFor(mode, mode, 1e-10);
  BAIAdapt    a;
  BAIDecision d;
  BAIInt      its = 0;

  PetscFunctionBeginUser;
  goal.coarsen    = from;
  goal.accelerate = accelerate;
  d               = BAIAdaptStart(&a, &goal, mode, 0, 1);
  while (!d.stop && !d.coarsen && its < 10000) {
    PetscCall(
      Expect(from > 1 || (d.mode == mode && d.omega == 1 && d.momentum == 0), "until then it goes on as it is"));
    its = d.until;
    d   = BAIAdaptLook(&a, its, pow(q, 2.0 * (double)its));
    PetscCall(Expect(!d.coarsen || !d.begins, "there is one or the other"));
  }
  PetscCall(Expect((d.coarsen != 0) == slow, "falling by %g in each iteration it is slow: %d", q, d.coarsen));
  if (slow)
    PetscCall(Expect(its >= PetscMax(30, from) && its <= PetscMax(63, from + from / 4),
                     "it shows to be slow after %d iterations", (int)its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Near the largest count a look is due after it, not before */
static PetscErrorCode LargeCounts(void)
{
  const BAIInt far[] = {BAI_INT_MAX / 2, BAI_INT_MAX / 2 + 1, BAI_INT_MAX - 5};

  PetscFunctionBeginUser;
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(far); k++) {
      BAIGoal     goal = GoalFor((BAIMode)mode, mode == BAI_MODE_COLOR ? BAI_MODE_COLOR : BAI_MODE_SYNC, 1e-10);
      BAIAdapt    a;
      BAIDecision d;

      goal.first = far[k];
      d          = BAIAdaptStart(&a, &goal, goal.mode, 1, 1);
      PetscCall(Expect(d.until > 1, "the first look at %g is after the start", (double)d.until));
      for (int look = 0; look < 3 && d.until < BAI_INT_MAX; look++) {
        const BAIInt its = d.until;

        d = BAIAdaptLook(&a, its, 0.5);
        PetscCall(Expect(d.until > its, "after %g iterations the next look is at %g", (double)its, (double)d.until));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the backend decides it decides the same, for norms that fall at a rate, jump, and stay */
static PetscErrorCode Replay(BAIMode mode, double q, double jump, double top, BAIInt coarsen)
{
  enum {
    LOOKS = 60
  };
  BAIGoal      goal    = GoalFor(mode, mode == BAI_MODE_COLOR ? BAI_MODE_COLOR : BAI_MODE_SYNC, 1e-200);
  BAIBackend   backend = BAI_BACKEND_HOST;
  double       rnorm2[LOOKS];
  BAIDecision *found;
  BAIAdapt     a;
  BAIDecision  d;
  BAIStatus    status;

  PetscFunctionBeginUser;
  goal.top     = top;
  goal.coarsen = coarsen;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-backend", BAIBackends, (PetscEnum *)&backend, NULL));
  for (int k = 0; k < LOOKS; k++) rnorm2[k] = pow(q, 20.0 * k) * (k % 7 == 5 ? jump : 1);
  PetscCall(PetscMalloc1(LOOKS, &found));
  status = BAIBackendReplay(backend, &goal, LOOKS, rnorm2, found);
  PetscCall(Expect(!status.code, "backend %s: %s", BAIBackends[backend], BAICodeString(status.code)));
  d = BAIAdaptStart(&a, &goal, goal.mode, 0, rnorm2[0]);
  for (int k = 0; k < LOOKS && !status.code; k++) {
    const BAIDecision *f = &found[k];

    if (k) d = BAIAdaptLook(&a, d.until, rnorm2[k]);
    PetscCall(Expect(f->stop == d.stop && f->mode == d.mode && f->begins == d.begins && f->even == d.even &&
                       f->until == d.until && f->plain == d.plain && f->x == d.x && f->rest == d.rest &&
                       f->vain == d.vain && f->coarsen == d.coarsen,
                     "look %d: the same decision", k));
    PetscCall(Expect(fabs(f->omega - d.omega) <= 1e-12 && fabs(f->momentum - d.momentum) <= 1e-12,
                     "look %d: omega %.15g, not %.15g", k, f->omega, d.omega));
  }
  PetscCall(PetscFree(found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    if (Case("replay_%s_fast", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 0.7, 1, 0, 0));
    if (Case("replay_%s_slow", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 0.99, 1, 0, 0));
    if (Case("replay_%s_grows", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 0.995, 1e7, 0, 0));
    if (Case("replay_%s_stays", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 1, 1.5, 0, 0));
  }
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    if (Case("replay_%s_coarsen", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 0.99, 1, 0, 1));
    if (Case("replay_%s_coarsen_late", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 0.99, 1, 0, 500));
    if (Case("coarsen_%s", BAIModes[mode])) {
      for (int accelerate = 0; accelerate < 2; accelerate++) {
        PetscCall(Coarsen((BAIMode)mode, 0.99, 1, (PetscBool)accelerate, PETSC_TRUE));
        PetscCall(Coarsen((BAIMode)mode, 0.99, 700, (PetscBool)accelerate, PETSC_TRUE));
        PetscCall(Coarsen((BAIMode)mode, 0.99, 2250, (PetscBool)accelerate, PETSC_FALSE)); /* it is nearly done then */
        PetscCall(Coarsen((BAIMode)mode, 0.6, 1, (PetscBool)accelerate, PETSC_FALSE));
      }
    }
    if (Case("in_vain_%s_coarse", BAIModes[mode])) PetscCall(CoarseInVain((BAIMode)mode, PETSC_FALSE));
    if (Case("in_vain_%s_spoils", BAIModes[mode])) PetscCall(CoarseInVain((BAIMode)mode, PETSC_TRUE));
  }
  if (Case("replay_coarse_fast")) PetscCall(Replay(BAI_MODE_SYNC, 0.98, 1, 2, 0));
  if (Case("replay_coarse_slow")) PetscCall(Replay(BAI_MODE_SYNC, 0.999, 1, 2, 0));
  if (Case("replay_coarse_grows")) PetscCall(Replay(BAI_MODE_SYNC, 0.995, 1e9, 2, 0));
  if (Case("replay_coarse_stays")) PetscCall(Replay(BAI_MODE_SYNC, 1, 1.5, 2, 0));
  for (int n = 1; n < 64; n += 39) {
    const double kappas[] = {5, 25, 40, 100, 300, 1000, 1e4};

    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kappas); k++) {
      if (Case("condition_%g_%d", kappas[k], n)) PetscCall(Condition(kappas[k], n));
    }
  }
  if (Case("near-tolerance_20")) PetscCall(NearTolerance(20));
  if (Case("near-tolerance_60")) PetscCall(NearTolerance(60));
  if (Case("near-tolerance_200")) PetscCall(NearTolerance(200));
  if (Case("spoils_fast")) PetscCall(CoarseSpoils(100, PETSC_TRUE));
  if (Case("spoils_few")) PetscCall(CoarseSpoils(380, PETSC_TRUE));
  if (Case("spoils_many")) PetscCall(CoarseSpoils(500, PETSC_FALSE));
  if (Case("spoils_more")) PetscCall(CoarseSpoils(1e5, PETSC_FALSE));
  if (Case("hopeless_fast")) PetscCall(CoarseHopeless(100, PETSC_TRUE));
  if (Case("hopeless_few")) PetscCall(CoarseHopeless(6300, PETSC_TRUE));
  if (Case("hopeless_many")) PetscCall(CoarseHopeless(6600, PETSC_FALSE));
  if (Case("hopeless_more")) PetscCall(CoarseHopeless(1e6, PETSC_FALSE));
  if (Case("helped_stays")) PetscCall(CoarseHelped(1));
  if (Case("helped_wobbles")) PetscCall(CoarseHelped(30));
  if (Case("helped_grows")) PetscCall(CoarseHelped(1e10));
  if (Case("complex_0")) PetscCall(Complex(0));
  if (Case("complex_0.02")) PetscCall(Complex(0.02));
  if (Case("complex_0.1")) PetscCall(Complex(0.1));
  if (Case("complex_0.3")) PetscCall(Complex(0.3));
  if (Case("underestimated_1.005")) PetscCall(Underestimated(1.005));
  if (Case("underestimated_1.02")) PetscCall(Underestimated(1.02));
  if (Case("underestimated_1.1")) PetscCall(Underestimated(1.1));
  if (Case("underestimated_1.5")) PetscCall(Underestimated(1.5));
  if (Case("stays_coarse")) PetscCall(CoarseStays());
  if (Case("looks")) PetscCall(Looks());
  if (Case("relaxation_sync")) PetscCall(Relaxation(BAI_MODE_SYNC));
  if (Case("relaxation_color")) PetscCall(Relaxation(BAI_MODE_COLOR));
  if (Case("threshold_same_mode")) {
    PetscCall(Threshold(BAI_MODE_SYNC, 15, PETSC_FALSE));
    PetscCall(Threshold(BAI_MODE_SYNC, 25, PETSC_TRUE));
  }
  if (Case("threshold_other_mode")) {
    PetscCall(Threshold(BAI_MODE_ASYNC, 25, PETSC_FALSE));
    PetscCall(Threshold(BAI_MODE_ASYNC, 95, PETSC_FALSE));
    PetscCall(Threshold(BAI_MODE_ASYNC, 105, PETSC_TRUE));
  }
  if (Case("in_vain_color")) PetscCall(InVain(BAI_MODE_COLOR));
  if (Case("in_vain_sync")) PetscCall(InVain(BAI_MODE_SYNC));
  if (Case("large_counts")) PetscCall(LargeCounts());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -backend cuda -case replay

TEST*/
