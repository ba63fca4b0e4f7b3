/* Rules of Krylov methods for host and device: conjugate directions, and the end of a solve */
#pragma once

#include "../multigrid/levels.h"
#include <math.h>

/* The scalars of conjugate gradients with explicitly conjugated directions: with the preconditioned residual u, the
   residual r and s = A p of the last direction p, the new direction is u + beta p, and its step alpha */
typedef struct {
  BAIReal ps; /* p^H s; 0 before the first direction */
  BAIReal alpha, beta;
} BAICGDirection;

/* Computes alpha and beta from r^H u, u^H A u and u^H s. As p_new = u - (u^H s/p^H s) p, p_new^H A p_new is u^H A u -
   |u^H s|^2/p^H s, so one product with A is enough. Returns 0 if the matrix or the preconditioner is not positive
   definite */
BAI_INLINE int BAINextDirection(BAICGDirection *d, BAIReal ru, BAIReal uw, BAIReal us)
{
  const int first = !(d->ps > 0);

  d->beta  = first ? 0 : -us / d->ps;
  d->ps    = uw + (first ? 0 : d->beta * us);
  d->alpha = ru / d->ps;
  return ru > 0 && d->ps > 0;
}

/* The residual norm at which a solve has converged */
BAI_INLINE BAIReal BAIToleranceOf(BAIReal rtol, BAIReal abstol, BAIReal bnorm)
{
  return rtol * bnorm > abstol ? rtol * bnorm : abstol;
}

/* The reason to end a solve whose norm is norm, or BAI_LEVELS_ITS to continue. Growth is unlimited if most is not
   positive. All three may be squares */
BAI_INLINE BAILevelsReason BAIReasonToEnd(BAIReal norm, BAIReal goal, BAIReal most)
{
  return !isfinite((double)norm) ? BAI_LEVELS_NAN
    : norm <= goal               ? BAI_LEVELS_CONVERGED
    : most > 0 && norm >= most   ? BAI_LEVELS_DTOL
                                 : BAI_LEVELS_ITS;
}

/*
   A method stalls if the smallest norm of BAI_STALL_ITS iterations is not below BAI_STALL_FALL times the smallest of as
   many before. Conjugate gradients reduce the energy norm of the error in each iteration, while the residual norm may
   grow; they stall only if the smallest norm has not grown either, by the same factor, and is not above the first one
*/
#define BAI_STALL_ITS  300
#define BAI_STALL_FALL 0.99

typedef struct {
  double least2; /* square of the smallest norm in the current interval */
  double mark2;  /* square of the smallest norm in the interval before, at first of the first norm */
  double most2;  /* square of the first norm for conjugate gradients, otherwise infinite */
  int    begun;  /* first iteration of the current interval */
} BAIStall;

/* energy: growth of the norm is no stall, as for conjugate gradients */
BAI_INLINE void BAIStallBegin(BAIStall *s, int its, double norm2, int energy)
{
  s->least2 = INFINITY;
  s->mark2  = norm2;
  s->most2  = energy ? norm2 : INFINITY;
  s->begun  = its;
}

/* Takes the square of the norm in iteration its, and returns whether the method stalls */
BAI_INLINE int BAIStalls(BAIStall *s, int its, double norm2)
{
  const double fall2 = BAI_STALL_FALL * BAI_STALL_FALL;
  int          stalls;

  if (norm2 < s->least2) s->least2 = norm2;
  if (its - s->begun < BAI_STALL_ITS) return 0;
  stalls = !(s->least2 < fall2 * s->mark2) &&
    (isinf(s->most2) || (s->least2 <= s->most2 && fall2 * s->least2 <= s->mark2));
  s->mark2  = s->least2;
  s->least2 = INFINITY;
  s->begun  = its;
  return stalls;
}

/* The test of the true residual each time that the updated residual meets its goal */
typedef struct {
  double tolerance;   /* tolerance of ||b - A x|| */
  double goal;        /* goal of the updated norm, at most the tolerance */
  double last;        /* ||b - A x|| in the last test */
  double last_scaled; /* ||D^-1 (b - A x)|| in the last test that ||b - A x|| passed */
} BAITest;

/* Begins tests; unless the first one passes, its norm must be at most half of rnorm */
BAI_INLINE void BAITestBegin(BAITest *test, double tolerance, double rnorm)
{
  test->tolerance = test->goal = tolerance;
  test->last                   = rnorm;
  test->last_scaled            = INFINITY;
}

/* Whether ||b - A x|| is at most the tolerance, and ||D^-1 (b - A x)|| at most limit, 0 for none */
BAI_INLINE int BAITestPasses(const BAITest *test, double rnorm, double scaled, double limit)
{
  return rnorm <= test->tolerance && (!(limit > 0) || scaled <= limit);
}

/*
   Returns whether the solve has converged or makes no progress, and the reason; otherwise the method must continue from
   b - A x, to the new goal. D is the diagonal of A, so that rows of a larger scale do not hide the others. limit is the
   tolerance of ||D^-1 (b - A x)||, 0 for none. If rounding keeps that norm above limit, ||b - A x|| alone decides:
   neither norm has halved, though the goal was at most half of the previous ||b - A x||
*/
BAI_INLINE int BAITestEnds(BAITest *test, double rnorm, double scaled, double limit, BAILevelsReason *reason)
{
  const int passes = rnorm <= test->tolerance, halved = rnorm <= test->last / 2;

  if (BAITestPasses(test, rnorm, scaled, limit) || (passes && !halved && !(scaled <= test->last_scaled / 2)))
    *reason = BAI_LEVELS_CONVERGED;
  else if (!passes && !halved) *reason = BAI_LEVELS_STAGNATED;
  else {
    test->goal = !passes ? test->tolerance : limit < scaled / 2 ? rnorm * (limit / scaled) : rnorm / 2;
    test->last = rnorm;
    if (passes) test->last_scaled = scaled;
    return 0;
  }
  return 1;
}

/* BAITestEnds() after a run of the method that ended for any reason, which is updated: even one that did max_it
   iterations may have converged. Returns whether the solve ends */
BAI_INLINE int BAITestRun(BAITest *test, double rnorm, double scaled, double limit, BAILevelsReason *reason)
{
  if (*reason == BAI_LEVELS_CONVERGED) return BAITestEnds(test, rnorm, scaled, limit, reason);
  if (*reason == BAI_LEVELS_ITS && BAITestPasses(test, rnorm, scaled, limit)) *reason = BAI_LEVELS_CONVERGED;
  return 1;
}

/* The limit of BAITestEnds(), or 0 if the absolute tolerance decides */
BAI_INLINE double BAIScaledLimit(const BAITolerances *t, double abstol, double tolerance, double scaled_b)
{
  return abstol < tolerance ? (double)t->scaled * scaled_b : 0;
}
