/*
   The iterate before the last one, which momentum builds on, where x is given to the caller, and where it begins from
   zero again
*/
#include "iterate.h"

enum {
  THREADS = 256
};

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
  void *before = state->has_before == BAI_BEFORE_OTHER ? state->x[1] : state->before; /* then places are rows */

  if (!state->A.tiles) return BAIStatusOf(BAI_OK);
  if (state->A.single)
    Shift<<<state->A.tiles, THREADS, 0, state->stream>>>(state->A, static_cast<const BAISingle *>(state->x[0]), factor,
                                                         static_cast<BAISingle *>(before));
  else
    Shift<<<state->A.tiles, THREADS, 0, state->stream>>>(state->A, static_cast<const BAIScalar *>(state->x[0]), factor,
                                                         static_cast<BAIScalar *>(before));
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

static __global__ void Swap(int n, BAIScalar *x, BAIScalar *y)
{
  const int       i  = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const BAIScalar xi = i < n ? x[i] : BAIScalar(0);

  if (i >= n) return;
  x[i] = y[i];
  y[i] = xi;
}

BAIStatus BAISwapIterates(BAIState state)
{
  if (!state->A.n) return BAIStatusOf(BAI_OK);
  if (state->A.single) { /* both are the engine's own */
    void *x = state->x[0];

    state->x[0] = state->rounded[2] = state->x[1];
    state->x[1]                     = x;
    return BAIStatusOf(BAI_OK);
  }
  Swap<<<(unsigned)((state->A.n + THREADS - 1) / THREADS), THREADS, 0, state->stream>>>(state->A.n,
                                                                                        static_cast<BAIScalar *>(
                                                                                          state->x[0]),
                                                                                        static_cast<BAIScalar *>(
                                                                                          state->x[1]));
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
