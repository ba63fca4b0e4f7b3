/* Prefix sums: each is divided into parts, a thread block for each. A first kernel adds up the parts, if there are
   several; a second one makes the sums */
#include "scan.h"
#include "warp.h"
#include <algorithm>

enum {
  THREADS = 1024,
  ITEMS   = 8,              /* numbers of a thread at a time, */
  CHUNK   = THREADS * ITEMS /* and of a thread block */
};

/* The prefix sums of a call; blockIdx.y is the number of one, blockIdx.x of a part of it */
struct AllSums {
  BAISums of[BAI_SUMS_MOST];
};

/* The numbers of this thread block's part: whole chunks, except at the end. It may be empty */
struct Part {
  long long first, last;

  __device__ Part(const BAISums &s)
  {
    const long long chunks = (s.n + CHUNK - 1) / CHUNK, size = (chunks + gridDim.x - 1) / gridDim.x * CHUNK;

    first = min(s.n, blockIdx.x * size);
    last  = min(s.n, first + size);
  }
};

/* Adds up each part */
static __global__ __launch_bounds__(THREADS) void SumParts(AllSums sums, int *parts)
{
  const BAISums s = sums.of[blockIdx.y];
  const Part    part(s);
  int           sum = 0;

  for (long long k = part.first + threadIdx.x; k < part.last; k += THREADS) sum += s.from[k];
  sum = BAISumOfBlock<THREADS>(sum);
  if (!threadIdx.x) parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

/* Makes the prefix sums of each part, of which there are at most THREADS; parts is not read if there is one. In a
   chunk each warp has ITEMS runs of consecutive numbers, of which each lane has one number */
static __global__ __launch_bounds__(THREADS) void Scan(AllSums sums, const int *parts)
{
  const BAISums s = sums.of[blockIdx.y];
  const Part    part(s);
  int           before = 0;

  if (blockIdx.x)
    (void)BAISumBeforeInBlock<THREADS>(threadIdx.x < blockIdx.x ? parts[blockIdx.y * gridDim.x + threadIdx.x] : 0,
                                       &before);
  for (long long first = part.first; first < part.last; first += CHUNK) {
    const long long at = first + threadIdx.x / BAI_LANES * BAI_LANES * ITEMS + threadIdx.x % BAI_LANES;
    int             number[ITEMS], earlier[ITEMS], warp = 0, all;

    __syncthreads();
#pragma unroll
    for (int l = 0; l < ITEMS; l++) number[l] = at + l * BAI_LANES < part.last ? s.from[at + l * BAI_LANES] : 0;
#pragma unroll
    for (int l = 0; l < ITEMS; l++) {
      const int lanes = BAISumBefore(number[l]);

      earlier[l] = warp + lanes;
      warp += __shfl_sync(~0u, lanes + number[l], BAI_LANES - 1);
    }
    const bool ends = threadIdx.x % BAI_LANES == BAI_LANES - 1;
    const int  sum  = before + BAISumBeforeInBlock<THREADS>(ends ? warp : 0, &all);

#pragma unroll
    for (int l = 0; l < ITEMS; l++)
      if (at + l * BAI_LANES < part.last) s.sums[at + l * BAI_LANES] = sum + earlier[l];
    before += all;
  }
}

BAIStatus BAIScans(BAIContext *context, int count, const BAISums *sums)
{
  AllSums      all;
  BAITemporary parts;
  long long    n = 1;

  for (int k = 0; k < count; k++) n = std::max(n, sums[k].n);
  std::copy(sums, sums + count, all.of);
  /* as many thread blocks for a sum as are at work at once */
  const dim3 grid((unsigned)std::min((n + CHUNK - 1) / CHUNK, (long long)std::min(2 * context->processors, +THREADS)),
                  (unsigned)count);

  if (grid.x > 1) {
    BAITry(parts.Allocate(context, grid.x * grid.y * sizeof(int)));
    SumParts<<<grid, THREADS, 0, context->stream>>>(all, (int *)parts.p);
  }
  Scan<<<grid, THREADS, 0, context->stream>>>(all, (const int *)parts.p);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIScan(BAIContext *context, long long n, const int *from, int *sums)
{
  const BAISums one = {n, from, sums};

  return BAIScans(context, 1, &one);
}

/* It is the same for all kernels, so one of this file tells it */
BAIStatus BAICodeVersion(int *version)
{
  cudaFuncAttributes attributes;

  CUDATry(cudaFuncGetAttributes(&attributes, (const void *)Scan));
  *version = 10 * attributes.ptxVersion;
  return BAIStatusOf(BAI_OK);
}
