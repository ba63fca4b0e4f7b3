/* Joins findings of many threads, always in the same order */
#pragma once

#include "levels.h"
#include <cub/block/block_reduce.cuh>

enum {
  BAI_JOIN_THREADS = 256, /* threads of a block that looks at rows */
  BAI_JOIN_BLOCKS  = 4    /* most thread blocks for each multiprocessor; a thread looks at many rows */
};

/* The number of thread blocks for this number of threads; at most BAI_JOIN_BLOCKS for each multiprocessor, whose
   threads then do more */
static inline int BAIJoinBlocks(BAILevelsState state, long long threads)
{
  const int wanted = (int)BAIGrid(threads, BAI_JOIN_THREADS).x, most = state->s.processors * BAI_JOIN_BLOCKS;

  return wanted < most ? wanted : most;
}

/* Joins what all threads of a launch have found by the functor Together, always in the same order, and sets *to to the
   result. All threads call it once, in blocks of BAI_JOIN_THREADS. found has room for the findings of each block;
   arrived is 0 before and after */
template <typename T, typename Together>
static __device__ inline void BAIJoin(T mine, T *found, unsigned *arrived, T *to)
{
  using Reduce = cub::BlockReduce<T, BAI_JOIN_THREADS>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ bool                         last;
  const int                               count = (int)gridDim.x;

  mine = Reduce(storage).Reduce(mine, Together());
  if (!threadIdx.x) {
    found[blockIdx.x] = mine;
    __threadfence();
    last = atomicAdd(arrived, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  mine = found[(int)threadIdx.x < count ? threadIdx.x : 0];
  for (int k = (int)threadIdx.x + BAI_JOIN_THREADS; k < count; k += BAI_JOIN_THREADS) mine = Together()(mine, found[k]);
  mine = Reduce(storage).Reduce(mine, Together(), count < BAI_JOIN_THREADS ? count : (int)BAI_JOIN_THREADS);
  if (threadIdx.x) return;
  *to      = mine;
  *arrived = 0;
}
