/*
   Local sweeps by block: more in blocks with stronger couplings inside (H. Anzt, "Asynchronous and Multiprecision
   Linear Solvers", Section 4.10.4)
*/
#pragma once

#include "engine.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
   iters[k] becomes local_iters times the quotient of theta_k = inside[k] / outside[k] and the mean of all theta, at
   least 1 and at most 4 local_iters. Numbers of blocks below the mean are scaled down, at most to a half, until the sum
   is at most 0.9 blocks * local_iters; then all numbers, until it is at most blocks * local_iters. inside and outside
   are sums of |a_ij|, i != j. Returns the sum
*/
int64_t BAITheta(BAIInt blocks, const BAIReal *inside, const BAIReal *outside, BAIInt local_iters, BAIInt *iters);

#if defined(__cplusplus)
}
#endif
