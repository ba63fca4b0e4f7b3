/*
   Vectors of numbers as if at random
*/
#include "../hash.h"
#include "state.h"

enum {
  THREADS = 256
};

static __global__ void Noise(int64_t first, int n, BAIScalar *x)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n) x[i] = BAINoise((uint64_t)(first + i));
}

BAIStatus BAICUDANoise(void *stream, int64_t first, BAIInt n, BAIScalar *x)
{
  if (!n) return BAIStatusOf(BAI_OK);
  Noise<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, (cudaStream_t)stream>>>(first, (int)n, x);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
