/* Damping of Jacobi sweeps inside a block, for host and device */
#pragma once

#include "types.h"

/* Jacobi sweeps converge in the block A_JJ of a Hermitian positive definite matrix if row i is damped by this factor
   times BAIShareOfDominance(), as diag_i(sum_{j in J} |a_ij|) - A_JJ is positive semidefinite. It damps the fastest
   oscillations in a block */
#define BAI_LOCAL_DAMPING ((BAIReal)0.9)

/* The damping of a row with diagonal entry d, where inside is its sum of |a_ij|, j != i, inside its block: 1 if inside
   is at most d, otherwise less */
BAI_INLINE BAIReal BAIShareOfDominance(BAIReal d, BAIReal inside)
{
  return inside > d ? 2 * d / (d + inside) : 1;
}
