/*
   Vectors on their way to and from sweeps in single precision
*/
#include "state.h"

enum {
  THREADS = 256
};

template <typename To, typename From>
static __global__ void Scale(int n, const From *from, BAIReal factor, To *to)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n) to[i] = To(BAIScalar(from[i]) * factor);
}

static unsigned Grid(int n)
{
  return (unsigned)(((long long)n + THREADS - 1) / THREADS);
}

BAIStatus BAIRoundVector(BAIState state, int n, const BAIScalar *from, void *to)
{
  if (!n) return BAIStatusOf(BAI_OK);
  Scale<<<Grid(n), THREADS, 0, state->stream>>>(n, from, state->scale, static_cast<BAISingle *>(to));
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIWidenVector(BAIState state, int n, const void *from, BAIScalar *to)
{
  if (!n) return BAIStatusOf(BAI_OK);
  Scale<<<Grid(n), THREADS, 0, state->stream>>>(n, static_cast<const BAISingle *>(from), 1 / state->scale, to);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
