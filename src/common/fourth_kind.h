/*
   Weights of Chebyshev's polynomial of the fourth kind, for host and device. Among all weights of k global iterations x
   + M^{-1}(b - A x) that depend only on the largest eigenvalue 1/omega of M^{-1}A, they smooth best. M must not change
   between iterations, so the mode must be sync. (J. Lottes, "Optimal polynomial smoothers for multigrid V-cycles",
   Numerical Linear Algebra with Applications 30 (2023))
*/
#pragma once

#include "types.h"

/* Factor of omega in iteration k, from 0 on */
BAI_INLINE BAIReal BAIFourthKindOmega(BAIInt k)
{
  return (8 * (BAIReal)k + 4) / (2 * (BAIReal)k + 3);
}

/* Factor of the last step in iteration k; 0 in the first */
BAI_INLINE BAIReal BAIFourthKindMomentum(BAIInt k)
{
  return k ? (2 * (BAIReal)k - 1) / (2 * (BAIReal)k + 3) : 0;
}
