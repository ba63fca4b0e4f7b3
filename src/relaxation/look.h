/*
   When a solve by relaxation looks at its residual norm next, and when that norm has stopped falling. KSPBAI's loop
   over looks uses these rules, and so does the kernel that does a whole solve by itself (cuda/resident.cu).

   The next look is due when the norm can have fallen to the tolerance, if it goes on falling as it did over the last
   half of the iterations: over a few iterations its fall is lost in what the order of the blocks does to it. The next
   look is due after as many iterations as there were, at the latest. So a solve looks a logarithmic number of times,
   and a divergence is seen in time.

   The norm stands still if it has not fallen to 0.7 of itself in half as many iterations as there were before, and in
   500 at least.
*/
#pragma once

#include "engine.h"
#include "tuning.h"
#include <math.h>

/* The history of a solve's residual norm */
typedef struct {
  double tol2;   /* ||r||^2 to reach; 0: no tolerance */
  BAIInt from;   /* the fall is measured since this iteration, */
  double from2;  /* from this ||r||^2 */
  BAIInt low;    /* the iteration in which ||r|| had last fallen to 0.7 of itself, */
  double low2;   /* and its square there */
  BAIInt until;  /* the next look */
  int    stalls; /* the norm stands still */
} BAILook;

/* its iterations are done, and ||r||^2 is rnorm2; the first look comes after first more */
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

/* A look after its iterations */
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
