/*
   ||b - A x||^2, of the x reached
*/
#include "precision.h"

/* Summed block by block, in the same order for any number of threads */
void InThis(BAIHostResidual)(BAIState state, BAIReal *norm2)
{
  const BAIBlockCRS *A = &state->A;
  const Value       *b = state->b, *loc_a = A->loc_a, *off_a = A->off_a;
  Atomic            *ghost = state->ghost;

#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt block = 0; block < A->blocks; block++) {
    const BAIInt first = BAIBlockFirst(A, block), last = BAIBlockOwn(A, block);
    BAIReal      sum = 0;

    for (BAIInt place = first; place < last; place++) {
      const BAIInt row = BAIRowAt(A, place);
      BAIScalar    r   = b[row] - A->d[place] * Load(state->x, row);

      for (BAIInt k = A->loc_i[place]; k < A->loc_i[place + 1]; k++)
        r -= (BAIScalar)loc_a[k] * Load(state->x, BAIRowAt(A, first + A->loc_j[k]));
      for (BAIInt k = A->off_i[place]; k < A->off_i[place + 1]; k++)
        r -= (BAIScalar)off_a[k] * (A->off_j[k] < A->n ? Load(state->x, A->off_j[k]) : Load(ghost, A->off_j[k] - A->n));
      sum += BAIAbs2(r);
    }
    state->norm2[block] = sum;
  }
  *norm2 = 0;
  for (BAIInt block = 0; block < A->blocks; block++) *norm2 += state->norm2[block];
  *norm2 /= state->scale * state->scale;
}
