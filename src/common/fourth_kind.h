/*
   Weights of Chebyshev's polynomial of the fourth kind, for host and devices. With them k global iterations, each x +
   M^{-1}(b - A x), smooth best among all that need only the largest eigenvalue of
   M^{-1}A, which omega is the inverse of. M must be the same in all: mode sync.
   (J. Lottes, "Optimal polynomial smoothers for multigrid V-cycles", Numerical Linear Algebra with Applications 30
   (2023))
*/
#pragma once

#include "types.h"

/* The factor of omega in iteration k, from 0 */
BAI_INLINE BAIReal BAIFourthKindOmega(BAIInt k)
{
  return (8 * (BAIReal)k + 4) / (2 * (BAIReal)k + 3);
}

/* Of the last step; of the first iteration there is none */
BAI_INLINE BAIReal BAIFourthKindMomentum(BAIInt k)
{
  return k ? (2 * (BAIReal)k - 1) / (2 * (BAIReal)k + 3) : 0;
}
