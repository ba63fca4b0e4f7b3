/*
   When a solve by relaxation computes its residual norm next (a look), and when the norm stagnates. KSPBAI uses these
   rules, and so does the kernel that does a whole solve (cuda/resident.cu).

   The next look is due when the norm will meet the tolerance, if it continues to fall as it did over the last half of
   the iterations; over a few iterations, effects of the order of blocks would hide the rate. At the latest it is due
   after as many iterations as there were so far. So the number of looks is logarithmic, and divergence is noticed in
   time.

   The norm stagnates if in half the number of iterations before, and at least 500, it has not fallen to 0.7 of its
   value.
*/
#pragma once

#include "engine.h"
#include "tuning.h"
#include <math.h>

/* The history of the residual norm of a solve */
typedef struct {
  double tol2;   /* tolerance of ||r||^2; 0: none */
  BAIInt from;   /* first iteration of the measured fall */
  double from2;  /* ||r||^2 in iteration from */
  BAIInt low;    /* last iteration in which ||r|| had fallen to 0.7 of its value */
  double low2;   /* ||r||^2 in iteration low */
  BAIInt until;  /* iteration of the next look */
  int    stalls; /* the norm stagnates */
} BAILook;

/* Starts with ||r||^2 = rnorm2 in iteration its; the first look comes after first more iterations */
BAI_INLINE void BAILookStart(BAILook *l, double tol2, BAIInt its, double rnorm2, BAIInt first)
{
  l->tol2   = tol2;
  l->from   = its;
  l->from2  = rnorm2;
  l->low    = its;
  l->low2   = rnorm2;
  l->until  = its < BAI_INT_MAX - first ? its + first : BAI_INT_MAX;
  l->stalls = 0;
}

/* Takes ||r||^2 = rnorm2 of iteration its: sets until, the iteration of the next look, and stalls, whether the norm
   stagnates */
BAI_INLINE void BAILookNext(BAILook *l, BAIInt its, double rnorm2)
{
  const double slope  = its > l->from && rnorm2 < l->from2 ? 0.5 * log(l->from2 / rnorm2) / (double)(its - l->from) : 0,
               fall   = l->tol2 > 0 && rnorm2 > l->tol2 ? 0.5 * log(rnorm2 / l->tol2) : 0,
               enough = fall > 0 && slope > 0 ? 1 + fall / slope : (double)BAI_INT_MAX;
  const int lower     = rnorm2 < BAI_STANDS_STILL * l->low2;

  l->stalls = !lower && its - l->low >= BAI_STILL_ITS && its - l->low >= l->low / 2;
  if (lower) l->low2 = rnorm2;
  if (lower || l->stalls) l->low = its;
  if (its / 2 >= l->from) {
    l->from  = its;
    l->from2 = rnorm2;
  }
  l->until = its < BAI_INT_MAX / 2 ? 2 * its + 1 : BAI_INT_MAX;
  if (enough < (double)(l->until - its)) l->until = its + (BAIInt)enough;
}
