/*
   When to look at the residual, and an acceleration that is found while iterating.

   While the iteration is as the options say, the next look is due when the contraction seen so far promises that it is worth while: what it was
   over about the last half of the iterations, as over a few it is lost in what the order of the blocks does to the norm. At the latest it is due after
   as many iterations as there were, so that a solve is looked at a logarithmic number of times, and a divergence is seen in time.

   Once the iteration has shown to be slow it may be accelerated. From the rate at which the residual norm falls, the spectral radius of the
   plain iteration is estimated, and from that the best relaxation:

     mode color   over-relaxation, omega = 2/(1 + sqrt(1 - rho^2)), as of successive over-relaxation
     other modes  the same omega, and momentum omega - 1, as of second-order Richardson iteration

   rho is the spectral radius of Jacobi's iteration and of the global iteration (L. A. Hageman, D. M. Young, "Applied Iterative Methods", 1981,
   Chapters 5 and 9; G. H. Golub, R. S. Varga, Numer. Math. 3, 1961). A rate seen too early is too good, so the relaxation only goes up; if the
   residual grows, or falls no faster than before, it goes back, and stays below for a while. As over-relaxation leaves the residual rough, and so large,
   the last few iterations before each look are plain. Host and device decide by this file.
*/
#pragma once

#include "engine.h"
#include <math.h>

typedef struct {
  int    accelerate;  /* it may be; and it is, */
  int    accelerated; /* that is, the following is more than when to look */
  int    color;       /* over-relaxation by turns; else momentum */
  double beta, cap;   /* omega - 1, and what it stays below */
  double best2;       /* smallest ||r||^2 so far */
  double from2;       /* ||r||^2 where the rate is measured from */
  BAIInt from, until; /* the global iteration of that, and the one after which the next look is worth while */
  double slope;       /* fall of log ||r|| per iteration that was seen last; 0: not yet with this relaxation */
  double slope_below; /* that with the relaxation before, */
  double beta_below;  /* which was this; negative: none */
  int    slower;      /* intervals in a row that fell less than with that */
  int    held, hold;  /* intervals that the cap has held beta, and after how many it gives way a little */
} BAIAdapt;

typedef enum {
  BAI_ADAPT_ON,   /* go on */
  BAI_ADAPT_KEEP, /* go on, and keep this x */
  BAI_ADAPT_BACK  /* go back to the x kept last, or to that of the start */
} BAIAdaptAdvice;

/* Iterations before a look that are plain */
BAI_INLINE BAIInt BAIAdaptPlain(const BAIAdapt *a)
{
  return a->color && a->beta > 0 ? 4 : 0;
}

/* What global iteration its multiplies omega by, and its momentum */
BAI_INLINE BAIReal BAIAdaptOmega(const BAIAdapt *a, BAIInt its)
{
  return its >= a->until - BAIAdaptPlain(a) ? 1 : (BAIReal)(1 + a->beta);
}

BAI_INLINE BAIReal BAIAdaptMomentum(const BAIAdapt *a)
{
  return a->color ? 0 : (BAIReal)a->beta;
}

/* Fall of log ||r|| per iteration with the best relaxation if beta is it */
BAI_INLINE double BAIAdaptBestSlope(const BAIAdapt *a)
{
  return a->beta > 0 ? (a->color ? -1 : -0.5) * log(a->beta) : 1e30;
}

/* Iterations after which a rate says something, what the relaxation before has left having died away */
BAI_INLINE BAIInt BAIAdaptInterval(const BAIAdapt *a)
{
  const double wanted = 4 / BAIAdaptBestSlope(a);

  return (wanted < 16 ? 16 : wanted > 1000 ? 1000 : (BAIInt)wanted) + BAIAdaptPlain(a);
}

/* When to look again: after the interval, or as soon as the norm, which is to fall by the factor exp(fall), can have done so */
BAI_INLINE void BAIAdaptPlan(BAIAdapt *a, BAIInt its, double fall)
{
  const double slope = a->slope > 0 ? a->slope : a->beta > 0 ? BAIAdaptBestSlope(a) : 0, enough = fall > 0 && slope > 0 ? 1 + fall / slope : 1e9;

  a->until = a->accelerated ? a->from + BAIAdaptInterval(a) : 2 * its + 1;
  if (a->until <= its || enough < (double)(a->until - its)) a->until = its + (BAIInt)(enough < 1e6 ? enough : 1e6) + BAIAdaptPlain(a);
}

/* beta for an iteration that falls by slope with the present one: the largest root of its error is real, and gives rho */
BAI_INLINE double BAIAdaptBeta(const BAIAdapt *a, double slope)
{
  const double omega = 1 + a->beta, q = exp(-slope);
  double       rho = a->color ? (q + omega - 1) / (omega * sqrt(q)) : (q + a->beta / q - 1 - a->beta + omega) / omega;

  if (rho > 0.999999) rho = 0.999999;
  return rho > 0 ? 2 / (1 + sqrt(1 - rho * rho)) - 1 : 0;
}

/* From its on, at ||r||^2; mode is the one in which it is accelerated, if it may be */
BAI_INLINE void BAIAdaptStart(BAIAdapt *a, BAIMode mode, int accelerate, BAIInt its, double rnorm2)
{
  a->accelerate  = accelerate;
  a->accelerated = 0;
  a->color       = mode == BAI_MODE_COLOR;
  a->beta        = 0;
  a->cap         = 0.998;
  a->best2       = rnorm2;
  a->from2       = rnorm2;
  a->from        = its;
  a->until       = its;
  a->slope       = 0;
  a->slope_below = 0;
  a->beta_below  = -1;
  a->slower      = 0;
  a->held        = 0;
  a->hold        = 2;
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

/* beta was too much */
BAI_INLINE void BAIAdaptLower(BAIAdapt *a, BAIInt its, double rnorm2, double cap, double beta)
{
  if (a->hold > (a->color ? 8 : 32)) cap = beta = 0; /* some bear none at all: eigenvalues far from real, inexact solves inside blocks that are over-relaxed */
  a->cap        = cap;
  a->beta_below = -1;
  a->held       = 0;
  a->hold       = 2 * a->hold;
  BAIAdaptRestart(a, its, rnorm2, beta);
}

/*
   Takes note of ||r||^2 after its global iterations, which is to fall by the factor exp(2 fall); same_mode says that it was the mode of the acceleration already. After BAI_ADAPT_BACK the iteration goes on from the residual norm of the x kept
*/
BAI_INLINE BAIAdaptAdvice BAIAdaptLook(BAIAdapt *a, BAIInt its, double rnorm2, double fall, int same_mode)
{
  enum {
    EARLY   = 30, /* iterations that show how fast it is, */
    SLOW    = 20, /* and that many more to do are too many, */
    SLOWEST = 100 /* or that many, if another mode, whose iterations take longer, is to do them */
  };
  const int better = rnorm2 < a->best2, due = its >= a->until;
  double    slope;

  if (!a->accelerated) {
    a->slope = its > a->from && rnorm2 < a->from2 ? 0.5 * log(a->from2 / rnorm2) / (double)(its - a->from) : 0;
    if (its >= 2 * a->from) {
      a->from  = its;
      a->from2 = rnorm2;
    }
    if (!a->accelerate || its < EARLY || (a->slope > 0 && fall < (same_mode ? (int)SLOW : (int)SLOWEST) * a->slope)) return BAI_ADAPT_ON;
    a->accelerated = 1;
    a->best2       = rnorm2;
    BAIAdaptRestart(a, its, rnorm2, same_mode && a->slope > 0 ? BAIAdaptBeta(a, a->slope) : 0);
    return BAI_ADAPT_KEEP;
  }
  if (!(rnorm2 <= (due ? 1e2 : 1e6) * a->best2) && a->beta > 0) {
    BAIAdaptLower(a, its, a->best2, 0.9 * a->beta, a->beta_below >= 0 ? a->beta_below : 0.8 * a->beta);
    return BAI_ADAPT_BACK;
  }
  if (better) a->best2 = rnorm2;
  if (its - a->from < BAIAdaptInterval(a)) return better ? BAI_ADAPT_KEEP : BAI_ADAPT_ON;
  slope     = 0.5 * log(a->from2 / rnorm2) / (double)(its - a->from);
  a->slower = a->beta_below >= 0 && slope < (a->color ? 0.9 : 0.5) * a->slope_below ? a->slower + 1 : 0; /* too much momentum alone costs little */
  if (a->slower > 1) BAIAdaptLower(a, its, rnorm2, a->beta_below + 0.5 * (a->beta - a->beta_below), a->beta_below);
  else if (slope <= 0 && a->beta > 0 && !a->slower) BAIAdaptLower(a, its, rnorm2, 0.95 * a->beta, 0.95 * a->beta);
  else {
    const double beta = slope > 0 && slope < 0.7 * BAIAdaptBestSlope(a) && !a->slower ? BAIAdaptBeta(a, slope) : a->beta;

    if (beta > a->beta && a->beta >= a->cap && a->cap > 0 && ++a->held >= a->hold) {
      a->cap += 0.5 * (0.998 - a->cap);
      a->held = 0;
    }
    if (beta > a->beta && a->beta < a->cap) {
      a->beta_below  = a->beta;
      a->slope_below = slope;
      BAIAdaptRestart(a, its, rnorm2, beta);
    } else {
      a->slope = slope;
      if (slope > 0 && a->beta > 0 && a->hold > 2) a->hold--;
      BAIAdaptRestart(a, its, rnorm2, a->beta);
    }
  }
  return better ? BAI_ADAPT_KEEP : BAI_ADAPT_ON;
}
