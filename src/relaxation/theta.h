/*
   Local sweeps that depend on the block: more where more of its rows lies inside it
   (H. Anzt, "Asynchronous and Multiprecision Linear Solvers", Section 4.10.4)
*/
#pragma once

#include "engine.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
   iters[k] is local_iters times the quotient of theta_k = inside[k] / outside[k] and the mean of all theta, at least 1
   and at most 4 local_iters. Those of blocks below the mean are scaled down, to a half at most, until the sum is at
   most nine tenths of blocks * local_iters; then all, until it is at most that. inside and outside are sums of |a_ij|,
   i != j. Returns the sum
*/
int64_t BAITheta(BAIInt blocks, const BAIReal *inside, const BAIReal *outside, BAIInt local_iters, BAIInt *iters);

#if defined(__cplusplus)
}
#endif
