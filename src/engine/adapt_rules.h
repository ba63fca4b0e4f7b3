/*
   The rules of adapt.h. Kernels include them, and have functions of their own; those of the host are in adapt.c, which
   defines what stands before them
*/
#pragma once

#include "adapt.h"

#if !defined(BAI_ADAPT_FUNCTION)
  #define BAI_ADAPT_FUNCTION BAI_INLINE
#endif
#if !defined(BAI_ADAPT_COARSE)
  #define BAI_ADAPT_COARSE 1 /* 0: for kernels without a coarse correction, which need not carry the rules for it */
#endif
#include <math.h>

/* The numbers that the rules go by */
typedef struct {
  BAIInt early;       /* iterations that show how fast it is, */
  double slow;        /* and that many more to do are too many, */
  double slow_other;  /* or that many, if another mode, whose iterations take longer, is to do them, */
  double slow_coarse; /* or that many, if a coarse correction is to be made first */
  double interval;    /* a rate is measured over so many times the iterations in which the best one falls by e, */
  BAIInt least, most; /* but over at least and at most so many */
  BAIInt plain;       /* mode color: plain iterations before a look */
  double far;         /* iterations to the next look, at most */
  double rho;         /* the largest spectral radius believed, */
  double cap;         /* and the largest relaxation but one; */
  double grown;       /* growth of ||r||^2 over the best one, where a look is due, that is too much, */
  double grown_far;   /* and elsewhere */
  double lower_grown; /* what then multiplies the relaxation for its cap, */
  double lower_back;  /* and for the relaxation, if none before is known; */
  double lower_stuck; /* for both where ||r|| does not fall */
  double poor;        /* of the best rate: below it the spectral radius must be larger */
  double same_color;  /* of the rate before: what falls less is slower than with less relaxation, in mode color */
  double same_sync;   /* and in mode sync, where too much momentum alone costs little */
  int    hold;        /* intervals that the cap holds to begin with; twice as many each time that it is lowered, */
  int    hold_color;  /* and with more than these the matrix bears no relaxation at all */
  int    hold_sync;
  double kappa;        /* with a coarse correction: condition to begin with, */
  BAIInt least_coarse; /* least iterations to measure a rate over, */
  double worse;        /* of the condition: more than that is taken over, */
  double over;         /* so many times, as too small a momentum costs more than one too large, */
  double top;          /* what multiplies the largest eigenvalue if the residual grows, */
  double top_stuck;    /* or does not fall; */
  double slower;       /* of the rate before: what falls less with more momentum, */
  double alike;    /* and asks for less than so many times its condition, is slow because of the largest eigenvalue; */
  double rounding; /* of ||r||^2 at the beginning: below that it may not fall because of rounding; */
  double helped;   /* and that shows that the correction helps, though the norm may not fall now; */
  double bears;    /* of the condition whose momentum was too much: that is tried next, */
  double bears_least; /* and below this one none */
  double hopeless; /* iterations to do without momentum, where there may be more of it without the correction: so many
                      times the square root of the rows are too many, as that takes about as many; */
  double hopeless_far; /* or so many times that, with the little that it bears */
  double lower;        /* of ||r||^2: what falls by less has not fallen, */
  BAIInt still;        /* and in so many iterations at least stands still */
} BAIAdaptNumbers;

BAI_INLINE BAIAdaptNumbers BAIAdaptNumbersOf(void)
{
  const BAIAdaptNumbers n = {
    30,       /* early */
    20,       /* slow */
    100,      /* slow_other */
    120,      /* slow_coarse */
    4,        /* interval */
    16,       /* least */
    1000,     /* most */
    4,        /* plain */
    1e6,      /* far */
    0.999999, /* rho */
    0.998,    /* cap */
    1e2,      /* grown */
    1e6,      /* grown_far */
    0.9,      /* lower_grown */
    0.8,      /* lower_back */
    0.95,     /* lower_stuck */
    0.7,      /* poor */
    0.9,      /* same_color */
    0.5,      /* same_sync */
    2,        /* hold */
    8,        /* hold_color */
    32,       /* hold_sync */
    30,       /* kappa */
    10,       /* least_coarse */
    1.1,      /* worse */
    1.2,      /* over */
    1.5,      /* top */
    1.1,      /* top_stuck */
    0.95,     /* slower */
    2,        /* alike */
    1e-24,    /* rounding */
    1e-8,     /* helped */
    0.25,     /* bears */
    2,        /* bears_least */
    4,        /* hopeless */
    64,       /* hopeless_far */
    0.5,      /* lower */
    500       /* still */
  };

  return n;
}

/* The sum of two counts, or the largest one */
BAI_INLINE BAIInt BAIAdaptSum(BAIInt a, BAIInt b)
{
  return a > BAI_INT_MAX - b ? BAI_INT_MAX : a + b;
}

BAI_INLINE int BAIAdaptByTurns(const BAIAdapt *a)
{
  return a->mode == BAI_MODE_COLOR;
}

BAI_INLINE BAIInt BAIAdaptPlain(const BAIAdapt *a)
{
  return a->accelerated && BAIAdaptByTurns(a) && a->beta > 0 ? BAIAdaptNumbersOf().plain : 0;
}

BAI_INLINE int BAIAdaptHasCoarse(const BAIAdapt *a)
{
  return BAI_ADAPT_COARSE && a->goal.top > 0;
}

/* The best momentum for a condition */
BAI_INLINE double BAIAdaptBetaOf(double kappa)
{
  const double q = kappa > 1 ? (sqrt(kappa) - 1) / (sqrt(kappa) + 1) : 0;

  return q * q;
}

/* What multiplies the omega of the options for a momentum */
BAI_INLINE double BAIAdaptOmega(const BAIAdapt *a)
{
  const double q = 1 + sqrt(a->beta);

  return BAIAdaptHasCoarse(a) ? (a->beta > 0 ? q * q : 2) / a->goal.top : 1 + a->beta;
}

/* log of the factor by which the residual norm is to fall; 0 if there is no tolerance */
BAI_INLINE double BAIAdaptFall(const BAIAdapt *a, double rnorm2)
{
  return a->goal.tol2 > 0 && rnorm2 > a->goal.tol2 ? 0.5 * log(rnorm2 / a->goal.tol2) : 0;
}

/* Fall of log ||r|| per iteration with the best relaxation if beta is it */
BAI_INLINE double BAIAdaptBestSlope(const BAIAdapt *a)
{
  return a->beta > 0 ? (BAIAdaptByTurns(a) ? -1 : -0.5) * log(a->beta) : 1e30;
}

/* Iterations after which a rate says something, what the relaxation before has left having died away */
BAI_INLINE BAIInt BAIAdaptInterval(const BAIAdapt *a)
{
  const BAIAdaptNumbers n      = BAIAdaptNumbersOf();
  const double          wanted = n.interval / BAIAdaptBestSlope(a);
  const BAIInt          least  = BAIAdaptHasCoarse(a) ? n.least_coarse : n.least;

  return (wanted < (double)least ? least : wanted > (double)n.most ? n.most : (BAIInt)wanted) + BAIAdaptPlain(a);
}

/* When to look again: after the interval, or as soon as the norm can have fallen to the tolerance */
BAI_INLINE void BAIAdaptPlan(BAIAdapt *a, BAIInt its, double rnorm2)
{
  const double far = BAIAdaptNumbersOf().far, fall = BAIAdaptFall(a, rnorm2);
  const double slope  = a->slope > 0 ? a->slope
     : a->beta > 0                   ? BAIAdaptBestSlope(a)
                                     : 0,
               enough = fall > 0 && slope > 0 ? 1 + fall / slope : 1e9;

  a->until = a->accelerated && BAIAdaptHasCoarse(a)
    ? BAIAdaptSum(its, BAIAdaptInterval(a) + (its > a->resting ? (its - a->resting) / 4 : 0))
    : a->accelerated ? BAIAdaptSum(a->from, BAIAdaptInterval(a))
                     : BAIAdaptSum(BAIAdaptSum(its, its), 1);
  if (a->goal.coarsen > its && a->until > a->goal.coarsen) a->until = a->goal.coarsen;
  if (a->until <= its || enough < (double)(a->until - its))
    a->until = BAIAdaptSum(its, (BAIInt)(enough < far ? enough : far) + BAIAdaptPlain(a));
}

/* beta for an iteration that falls by slope with the present one: the largest root of its error is real, and gives rho
 */
BAI_INLINE double BAIAdaptBeta(const BAIAdapt *a, double slope)
{
  const double most = BAIAdaptNumbersOf().rho, omega = 1 + a->beta, q = exp(-slope);
  double       rho = BAIAdaptByTurns(a) ? (q + omega - 1) / (omega * sqrt(q))
                                        : (q + a->beta / q - 1 - a->beta + omega) / omega;

  if (rho > most) rho = most;
  return rho > 0 ? 2 / (1 + sqrt(1 - rho * rho)) - 1 : 0;
}

/* Goes on in a mode, without relaxation */
BAI_INLINE void BAIAdaptBegin(BAIAdapt *a, BAIMode mode, int accelerate, BAIInt its, double rnorm2)
{
  const BAIAdaptNumbers n = BAIAdaptNumbersOf();

  a->mode        = mode;
  a->accelerate  = accelerate;
  a->accelerated = 0;
  a->beta        = 0;
  a->cap         = n.cap;
  a->begin2      = rnorm2;
  a->best2       = rnorm2;
  a->from2       = rnorm2;
  a->from        = its;
  a->until       = its;
  a->slope       = 0;
  a->slope_below = 0;
  a->beta_below  = -1;
  a->slower      = 0;
  a->held        = 0;
  a->settled     = 0;
  a->hold        = n.hold;
  a->coarsen     = 0;
  a->rest        = 0;
}

/* Measures anew, from here, with beta */
BAI_INLINE void BAIAdaptRestart(BAIAdapt *a, BAIInt its, double rnorm2, double beta)
{
  if (beta > a->cap) beta = a->cap;
  if (beta != a->beta) {
    a->slope  = 0;
    a->slower = 0;
  }
  a->beta  = beta;
  a->from  = its;
  a->from2 = rnorm2;
}

/* beta was too much; some matrices bear none at all: eigenvalues far from real, inexact solves inside blocks that are
 * over-relaxed */
BAI_INLINE void BAIAdaptLower(BAIAdapt *a, BAIInt its, double rnorm2, double cap, double beta)
{
  const BAIAdaptNumbers n = BAIAdaptNumbersOf();

  if (a->hold > (BAIAdaptByTurns(a) ? n.hold_color : n.hold_sync)) cap = beta = 0;
  a->cap        = cap;
  a->beta_below = -1;
  a->held       = 0;
  a->hold       = 2 * a->hold;
  BAIAdaptRestart(a, its, rnorm2, beta);
}

/* A coarse correction is due, and the solve will not soon be done without */
BAI_INLINE int BAIAdaptCoarsens(const BAIAdapt *a, BAIInt its, double rnorm2, double slope)
{
  return a->goal.coarsen && its >= a->goal.coarsen &&
    !(slope > 0 && BAIAdaptFall(a, rnorm2) < BAIAdaptNumbersOf().slow_coarse * slope);
}

/* While it is as the options say */
BAI_INLINE BAIAdvice BAIAdaptLookPlain(BAIAdapt *a, BAIInt its, double rnorm2)
{
  const BAIAdaptNumbers n         = BAIAdaptNumbersOf();
  const int             same_mode = a->mode == a->goal.accelerated;

  a->slope = its > a->from && rnorm2 < a->from2 ? 0.5 * log(a->from2 / rnorm2) / (double)(its - a->from) : 0;
  if (its / 2 >= a->from) {
    a->from  = its;
    a->from2 = rnorm2;
  }
  if (!(a->accelerate || a->goal.coarsen) || its < n.early) return BAI_X_ON;
  if (BAIAdaptCoarsens(a, its, rnorm2, a->slope)) {
    a->coarsen = 1;
    return BAI_X_ON;
  }
  if (!a->accelerate || (a->slope > 0 && BAIAdaptFall(a, rnorm2) < (same_mode ? n.slow : n.slow_other) * a->slope))
    return BAI_X_ON;
  a->mode        = a->goal.accelerated;
  a->accelerated = 1;
  a->best2       = rnorm2;
  BAIAdaptRestart(a, its, rnorm2, same_mode && a->slope > 0 ? BAIAdaptBeta(a, a->slope) : 0);
  return BAI_X_KEEP;
}

BAI_INLINE BAIAdvice BAIAdaptLookAccelerated(BAIAdapt *a, BAIInt its, double rnorm2)
{
  const BAIAdaptNumbers n      = BAIAdaptNumbersOf();
  const int             better = rnorm2 < a->best2, due = its >= a->until;
  double                slope;

  if (!(rnorm2 <= (due ? n.grown : n.grown_far) * a->best2) && a->beta > 0) {
    BAIAdaptLower(a, its, a->best2, n.lower_grown * a->beta,
                  a->beta_below >= 0 ? a->beta_below : n.lower_back * a->beta);
    return BAI_X_BACK;
  }
  if (better) a->best2 = rnorm2;
  slope      = its > a->from ? 0.5 * log(a->from2 / rnorm2) / (double)(its - a->from) : 0;
  a->coarsen = BAIAdaptCoarsens(a, its, rnorm2, slope);
  if (a->coarsen || its - a->from < BAIAdaptInterval(a)) return better ? BAI_X_KEEP : BAI_X_ON;
  a->slower = a->beta_below >= 0 && slope < (BAIAdaptByTurns(a) ? n.same_color : n.same_sync) * a->slope_below
    ? a->slower + 1
    : 0;
  if (a->slower > 1) BAIAdaptLower(a, its, rnorm2, a->beta_below + 0.5 * (a->beta - a->beta_below), a->beta_below);
  else if (slope <= 0 && a->beta > 0 && !a->slower)
    BAIAdaptLower(a, its, rnorm2, n.lower_stuck * a->beta, n.lower_stuck * a->beta);
  else {
    const double beta = slope > 0 && slope < n.poor * BAIAdaptBestSlope(a) && !a->slower ? BAIAdaptBeta(a, slope)
                                                                                         : a->beta;

    if (beta > a->beta && a->beta >= a->cap && a->cap > 0 && ++a->held >= a->hold) {
      a->cap += 0.5 * (n.cap - a->cap);
      a->held = 0;
    }
    if (beta > a->beta && a->beta < a->cap) {
      a->beta_below  = a->beta;
      a->slope_below = slope;
      BAIAdaptRestart(a, its, rnorm2, beta);
    } else {
      a->slope = slope;
      if (slope > 0 && a->beta > 0 && a->hold > n.hold) a->hold--;
      BAIAdaptRestart(a, its, rnorm2, a->beta);
    }
  }
  return better ? BAI_X_KEEP : BAI_X_ON;
}

/* With a coarse correction: the condition for which beta is best */
BAI_INLINE double BAIAdaptKappa(double beta)
{
  const double q = (1 + sqrt(beta)) / (1 - sqrt(beta));

  return q * q;
}

/* Momentum to begin with */
BAI_INLINE double BAIAdaptCoarseBeta(const BAIGoal *goal)
{
  const double beta = goal->beta > 0 ? goal->beta : BAIAdaptBetaOf(BAIAdaptNumbersOf().kappa);

  return goal->bears > 0 && goal->bears < BAIAdaptKappa(beta) ? BAIAdaptBetaOf(goal->bears) : beta;
}

/* By what the iterations from the first to the last, from rest, multiply the part of the error that belongs to the
 * eigenvalue top/kappa, for kappa at least that of beta */
BAI_INLINE double BAIAdaptFactor(const BAIAdapt *a, double kappa, BAIInt first, BAIInt last)
{
  const double step = BAIAdaptOmega(a) * a->goal.top / kappa, both = 1 - step + a->beta;
  double       before = 1, now = 1 - step, from = 1;

  for (BAIInt k = 1; k < last; k++) {
    const double next = both * now - a->beta * before;

    if (k == first) from = now;
    before = now;
    now    = next;
  }
  return now / from;
}

/* The condition that explains such a factor; that of beta, if it is hardly larger */
BAI_INLINE double BAIAdaptCondition(const BAIAdapt *a, double factor, BAIInt first, BAIInt last)
{
  const double least = BAIAdaptKappa(a->beta);
  double       low = BAIAdaptNumbersOf().worse * least, step = 1e3; /* step multiplies low */

  if (!(factor > BAIAdaptFactor(a, low, first, last))) return least;
  while (step > 1.04) {
    if (factor > BAIAdaptFactor(a, step * low, first, last)) low *= step;
    step = sqrt(step);
  }
  return low;
}

/* Momentum from here on and from now on at most, for a condition of so much */
BAI_INLINE void BAIAdaptBound(BAIAdapt *a, double kappa)
{
  a->goal.bears = kappa < BAIAdaptNumbersOf().bears_least ? 1 : kappa;
  a->cap        = BAIAdaptBetaOf(a->goal.bears);
  a->beta       = a->cap;
  a->beta_below = -1;
  a->rest       = 1;
}

/* As much momentum as it bears may still be more than is best, where eigenvalues are not real: less is tried, as long
 * as that is faster */
BAI_INLINE void BAIAdaptTryLess(BAIAdapt *a, double slope)
{
  const BAIAdaptNumbers n = BAIAdaptNumbersOf();

  if (a->beta_more >= 0 && slope <= a->slope_more) {
    BAIAdaptBound(a, BAIAdaptKappa(a->beta_more));
    a->settled = 1;
  } else if (a->beta > 0 && slope < n.poor * BAIAdaptBestSlope(a)) {
    a->beta_more  = a->beta;
    a->slope_more = slope;
    BAIAdaptBound(a, n.bears * BAIAdaptKappa(a->beta));
  } else a->settled = 1;
}

/* What later solves are to know of that; a trial that has not come to its end says nothing */
BAI_ADAPT_FUNCTION double BAIAdaptBears(const BAIAdapt *a)
{
  if (a->goal.bears == BAI_SPOILT_NONE) return 1;
  return a->settled || a->beta_more < 0 ? a->goal.bears : BAIAdaptKappa(a->beta_more);
}

/* With so little momentum, or none, there are more iterations to do than it may take without the correction. Where that
 * has helped, and bears some, it may also be rounding that keeps the norm up */
BAI_INLINE int BAIAdaptIsHopeless(const BAIAdapt *a, double rnorm2, double slope)
{
  const BAIAdaptNumbers n    = BAIAdaptNumbersOf();
  const int             some = a->goal.bears > 0 && !(a->best2 < n.helped * a->begin2);

  return (some || a->goal.bears == BAI_SPOILT_NONE) &&
    BAIAdaptFall(a, rnorm2) > (some ? n.hopeless_far : n.hopeless) * sqrt(a->goal.rows) * slope;
}

/*
   It is not momentum that is too small: the largest eigenvalue was, so what momentum was raised for was not that; or
   there are eigenvalues that are not real, which bear the less momentum the further from that they are, and none at
   all if the correction does not help. If there are none such without it, none is tried at once
*/
BAI_INLINE void BAIAdaptRefuse(BAIAdapt *a, int grown)
{
  const BAIAdaptNumbers n    = BAIAdaptNumbersOf();
  const int             vain = (grown || !(a->best2 < n.helped * a->begin2)) && !(a->beta > 0);

  if (a->held && vain) a->cap = -1;
  else if (a->held && a->goal.bears < 0) {
    BAIAdaptBound(a, 1);
    a->goal.bears = BAI_SPOILT_NONE;
  } else if (a->held && a->beta > 0) {
    BAIAdaptBound(a, a->beta_below >= 0 ? BAIAdaptKappa(a->beta_below) : n.bears * BAIAdaptKappa(a->beta));
    a->beta_more = -1;
    a->settled   = 0;
  } else if (!a->held) {
    a->goal.top *= grown ? n.top : n.top_stuck;
    a->held       = 1;
    a->beta       = BAIAdaptCoarseBeta(&a->goal);
    a->beta_below = -1;
    a->rest       = 1;
  }
}

/*
   With a coarse correction. How fast the norm falls is known for iterations from rest, but for a constant: so the
   iteration comes to rest whenever something changes, the first interval after that is not looked at, and then it is
   how the norm falls from one look to the next, an interval later or more
*/
BAI_INLINE BAIAdvice BAIAdaptLookCoarse(BAIAdapt *a, BAIInt its, double rnorm2)
{
  const BAIAdaptNumbers n      = BAIAdaptNumbersOf();
  const int             better = rnorm2 < a->best2, due = its >= a->until && its - a->from >= BAIAdaptInterval(a),
            grown = !(rnorm2 <= n.grown_far * a->best2);
  int back        = grown;

  a->rest = 0;
  if (grown) BAIAdaptRefuse(a, 1);
  else if (due && a->from > a->resting && rnorm2 > n.rounding * a->begin2) {
    const double factor = sqrt(rnorm2 / a->from2), slope = factor < 1 ? -log(factor) / (double)(its - a->from) : 0;
    const double kappa = a->beta < a->cap ? BAIAdaptCondition(a, factor, a->from - a->resting, its - a->resting) : 1,
                 beta  = BAIAdaptBetaOf(n.over * kappa);
    const int raise    = kappa > BAIAdaptKappa(a->beta);
    const int no_help  = raise && a->beta_below >= 0 && slope < n.slower * a->slope_below &&
      (a->held || kappa < n.alike * BAIAdaptKappa(a->beta));

    if (factor >= 1 || no_help) { /* whatever the momentum, so that is not too small */
      BAIAdaptRefuse(a, 0);
      back = rnorm2 > n.grown * a->best2;
    } else if (raise) {
      a->beta_below  = a->beta;
      a->slope_below = slope;
      a->beta        = beta < a->cap ? beta : a->cap;
      a->rest        = 1;
    } else if (a->goal.bears > 0 && !a->settled) BAIAdaptTryLess(a, slope);
    else if (BAIAdaptIsHopeless(a, rnorm2, slope)) a->cap = -1;
    a->slope = slope;
  }
  back = back && (a->rest || a->cap < 0); /* else the same would come again */
  if (back) rnorm2 = a->best2;
  if (a->rest || (due && its - a->resting >= 2 * (a->from - a->resting))) {
    a->from  = its;
    a->from2 = rnorm2;
  }
  if (a->rest) {
    a->resting = BAIAdaptSum(its, a->goal.late);
    a->slope   = 0;
  }
  if (back) return BAI_X_BACK;
  if (!better) return BAI_X_ON;
  a->best2 = rnorm2;
  return BAI_X_KEEP;
}

/* Relaxation came to nothing, and there is another way to go on */
BAI_INLINE int BAIAdaptIsInVain(const BAIAdapt *a)
{
  return a->accelerated &&
    (BAIAdaptHasCoarse(a) ? a->cap < 0 : a->cap == 0 && (BAIAdaptByTurns(a) || a->mode != a->goal.mode));
}

BAI_INLINE BAIDecision BAIAdaptDecision(const BAIAdapt *a, int stop, int begins, int vain, BAIAdvice x)
{
  BAIDecision d;

  d.stop     = stop;
  d.mode     = a->mode;
  d.begins   = begins;
  d.coarsen  = a->coarsen;
  d.stalls   = 0;
  d.vain     = vain;
  d.rest     = a->rest;
  d.even     = BAIAdaptByTurns(a) && a->accelerate;
  d.until    = a->until < a->goal.max_it ? a->until : a->goal.max_it;
  d.plain    = a->until - BAIAdaptPlain(a);
  d.omega    = BAIAdaptOmega(a);
  d.momentum = a->accelerated ? (BAIAdaptByTurns(a) ? 0 : a->beta) : a->mode == a->goal.mode ? a->goal.momentum : 0;
  d.x        = x;
  return d;
}

BAI_ADAPT_FUNCTION BAIDecision BAIAdaptStart(BAIAdapt *a, const BAIGoal *goal, BAIMode mode, BAIInt its, double rnorm2)
{
  a->goal = *goal;
  a->low2 = rnorm2;
  a->low  = its;
  BAIAdaptBegin(a, mode, goal->accelerate, its, rnorm2);
  a->until = BAIAdaptSum(its, goal->first);
  if (goal->accelerate && BAIAdaptHasCoarse(a)) {
    a->accelerated = 1;
    a->resting     = its;
    a->beta        = BAIAdaptCoarseBeta(goal);
    a->beta_more   = -1;
    a->held        = goal->bears > 0;
    a->settled     = a->held;
    a->cap         = a->held ? BAIAdaptBetaOf(goal->bears) : a->cap;
    a->until       = its;
    BAIAdaptPlan(a, its, rnorm2);
  }
  return BAIAdaptDecision(a, !(rnorm2 > goal->tol2 && rnorm2 < goal->most2) || its >= goal->max_it, 0, 0,
                          a->accelerated ? BAI_X_KEEP : BAI_X_ON);
}

/* The norm has not fallen by a clear factor in half as many iterations again as there were then, and some more */
BAI_INLINE int BAIAdaptStalls(BAIAdapt *a, BAIInt its, double rnorm2)
{
  const BAIAdaptNumbers n     = BAIAdaptNumbersOf();
  const int             lower = rnorm2 < n.lower * a->low2,
            stalls            = !lower && its - a->low >= n.still && (its - a->low) / 2 >= a->low / 4;

  if (lower) a->low2 = rnorm2;
  if (lower || stalls) a->low = its;
  return stalls;
}

BAI_ADAPT_FUNCTION BAIDecision BAIAdaptLook(BAIAdapt *a, BAIInt its, double rnorm2)
{
  const int       was = a->accelerated;
  const BAIAdvice x   = was && BAIAdaptHasCoarse(a) ? BAIAdaptLookCoarse(a, its, rnorm2)
      : was                                         ? BAIAdaptLookAccelerated(a, its, rnorm2)
                                                    : BAIAdaptLookPlain(a, its, rnorm2);
  const int stop = x != BAI_X_BACK && (!(rnorm2 > a->goal.tol2 && rnorm2 < a->goal.most2) || its >= a->goal.max_it),
            vain = BAIAdaptIsInVain(a);

  if (x == BAI_X_BACK) rnorm2 = a->best2;
  if (vain) {
    const int again = BAIAdaptByTurns(a), coarse = BAIAdaptHasCoarse(a);

    if (!coarse) a->goal.accelerated = BAI_MODE_SYNC;
    a->goal.top = 0;
    BAIAdaptBegin(a, again ? BAI_MODE_SYNC : a->goal.mode, again || coarse, its, rnorm2);
    if (coarse) a->until = BAIAdaptSum(its, BAIAdaptNumbersOf().early); /* that it is slow is known */
    if (its >= a->until) BAIAdaptPlan(a, its, rnorm2);
    return BAIAdaptDecision(a, stop, 1, coarse, x);
  }
  if (its >= a->until) BAIAdaptPlan(a, its, rnorm2);
  BAIDecision d = BAIAdaptDecision(a, stop, a->accelerated != was, 0, x);

  d.stalls = !stop && x != BAI_X_BACK && BAIAdaptStalls(a, its, rnorm2);
  return d;
}

/* The same for norms known beforehand, each at the iteration that the decision before asks for */
BAI_INLINE void BAIAdaptReplayAll(const BAIGoal *goal, int n, const double *rnorm2, BAIDecision *decisions)
{
  BAIAdapt a;

  decisions[0] = BAIAdaptStart(&a, goal, goal->mode, 0, rnorm2[0]);
  for (int k = 1; k < n; k++) decisions[k] = BAIAdaptLook(&a, decisions[k - 1].until, rnorm2[k]);
}
