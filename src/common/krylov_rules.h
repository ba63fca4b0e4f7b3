/*
   Rules of Krylov methods for hosts and devices: conjugate directions, and when a solve ends
*/
#pragma once

#include "../multigrid/levels.h"
#include <math.h>

/* The scalars of conjugate gradients whose directions are made conjugate to the last one by what they are: with u the
   preconditioned residual r and s = A p of the last direction p, the new one is u + beta p, and its step is alpha */
typedef struct {
  BAIReal ps; /* p^H s, 0: there is no direction yet */
  BAIReal alpha, beta;
} BAICGDirection;

/* Takes r^H u, u^H A u and u^H s: p_new = u - (u^H s/p^H s) p, so p_new^H A p_new = u^H A u - |u^H s|^2/p^H s, and one
   product is enough. 0: the matrix or the preconditioner is not positive definite */
BAI_INLINE int BAINextDirection(BAICGDirection *d, BAIReal ru, BAIReal uw, BAIReal us)
{
  const int first = !(d->ps > 0);

  d->beta  = first ? 0 : -us / d->ps;
  d->ps    = uw + (first ? 0 : d->beta * us);
  d->alpha = ru / d->ps;
  return ru > 0 && d->ps > 0;
}

/* ||b - A x|| is to be at most this */
BAI_INLINE BAIReal BAIToleranceOf(BAIReal rtol, BAIReal abstol, BAIReal bnorm)
{
  return rtol * bnorm > abstol ? rtol * bnorm : abstol;
}

/* Why a solve ends whose norm is this, or BAI_LEVELS_ITS; at most 0: it may grow. All three may be squares */
BAI_INLINE BAILevelsReason BAIReasonToEnd(BAIReal norm, BAIReal goal, BAIReal most)
{
  return !isfinite((double)norm) ? BAI_LEVELS_NAN
    : norm <= goal               ? BAI_LEVELS_CONVERGED
    : most > 0 && norm >= most   ? BAI_LEVELS_DTOL
                                 : BAI_LEVELS_ITS;
}

/* A method stalls if the least norm of BAI_STALL_ITS iterations is not below the least before them times
   BAI_STALL_FALL. Slow solves that converge, as of biharmonic problems, gain more */
#define BAI_STALL_ITS  300
#define BAI_STALL_FALL 0.99

/* Whether the least residual norm of BAI_STALL_ITS iterations is hardly below the least before them */
typedef struct {
  double least2; /* the square of the least norm so far, */
  double mark2;  /* and of the least one when the present iterations began to count, */
  int    begun;  /* which was in this iteration */
} BAIStall;

BAI_INLINE void BAIStallBegin(BAIStall *s, int its, double norm2)
{
  s->least2 = s->mark2 = norm2;
  s->begun             = its;
}

/* Takes the square of an iteration's norm. Nonzero: the method stalls */
BAI_INLINE int BAIStalls(BAIStall *s, int its, double norm2)
{
  int stalls;

  if (norm2 < s->least2) s->least2 = norm2;
  if (its - s->begun < BAI_STALL_ITS) return 0;
  stalls   = !(s->least2 < BAI_STALL_FALL * BAI_STALL_FALL * s->mark2);
  s->mark2 = s->least2;
  s->begun = its;
  return stalls;
}

/* The test of the true residual, each time that the one which the method updates meets its goal */
typedef struct {
  double tolerance;   /* of ||b - A x|| */
  double goal;        /* of the norm that the method updates: the tolerance, or less */
  double last;        /* ||b - A x|| of the last test */
  double last_scaled; /* ||D^-1 (b - A x)|| of the last test that ||b - A x|| has passed */
} BAITest;

BAI_INLINE void BAITestBegin(BAITest *test, double tolerance, double rnorm)
{
  test->tolerance = test->goal = tolerance;
  test->last                   = rnorm;
  test->last_scaled            = INFINITY;
}

/* Both norms are small enough */
BAI_INLINE int BAITestPasses(const BAITest *test, double rnorm, double scaled, double limit)
{
  return rnorm <= test->tolerance && (!(limit > 0) || scaled <= limit);
}

/*
   Nonzero: the solve has converged or gets no further, and this is why. Else the method is to go on from b - A x, to
   the new goal. D is the diagonal of A: rows on another scale than the others shall not hide these. limit is what
   ||D^-1 (b - A x)|| is to be at most, 0: it is not tested. Where rounding keeps that above the limit, the test of
   ||b - A x|| alone decides
*/
BAI_INLINE int BAITestEnds(BAITest *test, double rnorm, double scaled, double limit, BAILevelsReason *reason)
{
  const int passes = rnorm <= test->tolerance;

  if (BAITestPasses(test, rnorm, scaled, limit) || (passes && !(scaled <= test->last_scaled / 2)))
    *reason = BAI_LEVELS_CONVERGED;
  else if (!passes && !(rnorm <= test->last / 2)) *reason = BAI_LEVELS_STAGNATED;
  else {
    test->goal = passes ? rnorm * (limit / scaled) : test->tolerance;
    test->last = rnorm;
    if (passes) test->last_scaled = scaled;
    return 0;
  }
  return 1;
}

/* BAITestEnds() after a run that ended for some reason: a run of as many iterations as allowed may have converged */
BAI_INLINE int BAITestRun(BAITest *test, double rnorm, double scaled, double limit, BAILevelsReason *reason)
{
  if (*reason == BAI_LEVELS_CONVERGED) return BAITestEnds(test, rnorm, scaled, limit, reason);
  if (*reason == BAI_LEVELS_ITS && BAITestPasses(test, rnorm, scaled, limit)) *reason = BAI_LEVELS_CONVERGED;
  return 1;
}

/* The limit of BAITestEnds(): none if the absolute tolerance is what counts */
BAI_INLINE double BAIScaledLimit(const BAITolerances *t, double abstol, double tolerance, double scaled_b)
{
  return abstol < tolerance ? (double)t->scaled * scaled_b : 0;
}
