/*
   Decisions on the course of a solve on the chip. The last warp of each thread block takes them from sums, so all
   thread blocks decide alike
*/
#pragma once

#include "team.h"
#include <limits.h>

namespace {
/* The next step of the threads that have rows */
struct Step {
  int     next;  /* what they do next, or LEAVE */
  int     stays; /* the vectors are kept for the next launch */
  BAIReal alpha, beta, step;
};

enum {
  LEAVE = -1,
  GO_ON = -1 /* not a BAILevelsReason */
};

/* Data that the last warp of a thread block reads once in many iterations. Each of its threads has them in local memory
   to save registers, and functions that use them are not inlined into the loop */
struct Cold {
  BAITest  test;
  BAIStall stall;
  double   scaled2, scaled_b2;
};

/* Takes the square of the norm of the first r = b - A x. A solve that is slow stalls here by any method, as levels,
   which follow, are then faster */
__device__ __noinline__ void BeginTests(Cold *cold, double rtol, double abstol, double bnorm2, double norm2)
{
  const double tolerance = rtol * sqrt(bnorm2);

  BAITestBegin(&cold->test, tolerance > abstol ? tolerance : abstol, sqrt(norm2));
  BAIStallBegin(&cold->stall, 0, norm2, 0);
}

/* Takes the sums of squares of r = b - A x and of D^-1 r, and returns the reason to end, or reason, the one so far or
   GO_ON. If looks, r is no longer the residual of the guess, so BAITestEnds() decides */
__device__ __noinline__ int Judge(Cold *cold, double norm2, double scaled2, double scaled, double abstol, bool looks,
                                  int reason)
{
  const bool      passes = norm2 <= cold->test.tolerance * cold->test.tolerance;
  const double    limit  = abstol < cold->test.tolerance ? scaled * sqrt(cold->scaled_b2) : 0;
  BAILevelsReason end;

  cold->scaled2 = scaled2;
  if (!isfinite(norm2)) return BAI_LEVELS_NAN;
  if (!looks) return passes ? BAI_LEVELS_CONVERGED : reason;
  if (reason != GO_ON)
    return BAITestPasses(&cold->test, sqrt(norm2), sqrt(scaled2), limit) ? BAI_LEVELS_CONVERGED : reason;
  return BAITestEnds(&cold->test, sqrt(norm2), sqrt(scaled2), limit, &end) ? end : reason;
}

/* Takes norm2, the square of the norm in iteration its, into cold->stall, and returns whether the method stalls, see
   BAIStalls(). least2 is the smallest of these squares in the current interval */
__device__ __noinline__ bool Stalls(Cold *cold, int its, double least2, double norm2)
{
  cold->stall.least2 = least2;
  return BAIStalls(&cold->stall, its, norm2) != 0;
}

/* The course of the solve, for which the last warps of all thread blocks have equal data */
struct Control {
  Cold  *cold;
  double bnorm2, goal2, most2, rnorm2, least2, scalar[2];
  /* begun: last iteration in which r was b - A x; most: number of iterations until more than norms must be examined;
     reason: reason to end, or GO_ON */
  int  its, begun, most, reason;
  bool first;

  __device__ Control(const Problem &p, Cold *local)
      : cold(local), bnorm2((double)p.t.bnorm2), its(0), begun(0), reason(p.finish), first(!p.resume)
  {
    const BAIChipLeft &left = p.left[System()];

    cold->test      = left.test;
    cold->stall     = left.stall;
    cold->scaled2   = 0;
    cold->scaled_b2 = p.resume ? left.scaled_b2 : -1;
    rnorm2          = left.rnorm2;
    scalar[0] = scalar[1] = 0;
    if (p.resume) {
      its       = left.its;
      begun     = left.begun;
      scalar[0] = left.scalar[0];
      scalar[1] = left.scalar[1];
    }
    Limits(p);
  }
  /* Sets goal2, most2, least2 and most, the limits of Looks(), from the state of the tests */
  __device__ void Limits(const Problem &p)
  {
    goal2  = cold->test.goal * cold->test.goal;
    most2  = (double)p.t.dtol * (double)p.t.dtol * bnorm2;
    least2 = cold->stall.least2;
    most   = p.until == INT_MAX && !p.t.fixed ? min(p.max_it, cold->stall.begun + BAI_STALL_ITS) : p.max_it;
  }
  /* Takes the sums of squares of r = b and of D^-1 r, before b - A x follows, unless this was done before */
  __device__ void Guess(double norm2, double scaled2)
  {
    if (!first) return;
    if (bnorm2 < 0) bnorm2 = norm2;
    if (cold->scaled_b2 < 0) cold->scaled_b2 = scaled2;
  }
  /* Takes the sums of squares of r = b - A x and of D^-1 r; returns whether the solve ends */
  __device__ bool Ends(const Problem &p, double norm2, double scaled2)
  {
    const bool looks = !first && its > 0;

    Guess(norm2, scaled2);
    if (first) {
      BeginTests(cold, (double)p.t.rtol, (double)p.t.abstol, bnorm2, norm2);
      if (!blockIdx.x && (int)threadIdx.x % WARP == 0) p.result[System()].rnorm2_begin = norm2;
    }
    first  = false;
    rnorm2 = norm2;
    reason = Judge(cold, norm2, scaled2, (double)p.t.scaled, (double)p.t.abstol, looks, reason);
    if (reason == GO_ON && its >= p.max_it) reason = BAI_LEVELS_ITS;
    begun = its;
    Limits(p);
    return reason != GO_ON;
  }
  /* Takes the square of the norm by the recurrence, and returns whether b - A x must be computed. broken: the method
     cannot continue */
  __device__ bool Looks(const Problem &p, double norm2, bool broken)
  {
    rnorm2 = norm2;
    least2 = norm2 < least2 ? norm2 : least2;
    if (norm2 > goal2 && norm2 < most2 && its < most && !broken) return false;
    if (!isfinite(norm2)) reason = BAI_LEVELS_NAN;
    else if (norm2 <= goal2) return true;
    else if (most2 > 0 && norm2 >= most2) reason = BAI_LEVELS_DTOL;
    else if (its >= p.max_it) reason = BAI_LEVELS_ITS;
    else if (broken) {
      if (its == begun) reason = BAI_LEVELS_INDEFINITE;
      return true;
    } else if (its >= most) {
      if (Stalls(cold, its, least2, norm2)) reason = BAI_LEVELS_STALLED;
      Limits(p);
    }
    return reason != GO_ON;
  }
  /* Reports to the host and to the next launch */
  __device__ void End(const Problem &p) const
  {
    BAIChipLeft   &left   = p.left[System()];
    BAIChipResult &result = p.result[System()];

    if (blockIdx.x || (int)threadIdx.x % WARP) return;
    left.its         = its;
    left.begun       = begun;
    left.rnorm2      = rnorm2;
    left.scaled_b2   = cold->scaled_b2;
    left.test        = cold->test;
    left.stall       = cold->stall;
    left.scalar[0]   = scalar[0];
    left.scalar[1]   = scalar[1];
    result.rnorm2    = rnorm2;
    result.bnorm2    = bnorm2;
    result.scaled2   = cold->scaled2;
    result.scaled_b2 = cold->scaled_b2;
    result.its       = its;
    result.reason    = reason;
  }
};
} // namespace
