/*
   Damping of Jacobi sweeps inside a block, for host and devices
*/
#pragma once

#include "types.h"

/* Jacobi sweeps converge in the block A_JJ of a Hermitian positive definite matrix if row i is damped by this times
   BAIShareOfDominance(), as diag_i(sum_{j in J} |a_ij|) - A_JJ is positive semidefinite. It damps what oscillates
   fastest in a block */
#define BAI_LOCAL_DAMPING ((BAIReal)0.9)

/* inside is the sum of the |a_ij|, i != j, of a row inside its block: 1 where those do not outweigh the diagonal */
BAI_INLINE BAIReal BAIShareOfDominance(BAIReal d, BAIReal inside)
{
  return inside > d ? 2 * d / (d + inside) : 1;
}
