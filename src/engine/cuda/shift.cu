/*
   What momentum builds on, where x begins from zero again
*/
#include "iterate.h"

/* A thread block a tile */
template <typename V>
static __global__ void Shift(BAISliced A, const V *x, BAIReal factor, V *before)
{
  for (int i = threadIdx.x; i < A.tile_rows; i += blockDim.x) {
    const int       row   = BAIOwnRowAt(A, blockIdx.x, i);
    const long long place = (long long)blockIdx.x * A.tile_rows + i;

    if (row >= 0) before[place] = (before[place] - x[row]) * BAIRealOf<V>(factor);
  }
}

BAIStatus BAIShiftBefore(BAIState state, BAIReal factor)
{
  enum {
    THREADS = 256
  };

  if (!state->A.tiles) return BAIStatusOf(BAI_OK);
  if (state->A.single) Shift<<<state->A.tiles, THREADS, 0, state->stream>>>(state->A, static_cast<const BAISingle *>(state->x[0]), factor, static_cast<BAISingle *>(state->before));
  else Shift<<<state->A.tiles, THREADS, 0, state->stream>>>(state->A, static_cast<const BAIScalar *>(state->x[0]), factor, static_cast<BAIScalar *>(state->before));
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
