/*
   The iterate before the last one, which momentum builds on, where x is given to the caller
*/
#include "iterate.h"

enum {
  THREADS = 256
};

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
