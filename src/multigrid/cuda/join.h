/* Joins findings of many threads, always in the same order */
#pragma once

#include "levels.h"
#include <cub/block/block_reduce.cuh>

enum {
  BAI_JOIN_THREADS = 256, /* threads of a block that looks at rows */
  BAI_JOIN_BLOCKS  = 16   /* most thread blocks for each multiprocessor; a thread looks at many rows */
};

/* The number of thread blocks for this number of threads; at most BAI_JOIN_BLOCKS for each multiprocessor, whose
   threads then do more */
static inline int BAIJoinBlocks(BAILevelsState state, long long threads)
{
  const int wanted = (int)BAIGrid(threads, BAI_JOIN_THREADS).x, most = state->s.processors * BAI_JOIN_BLOCKS;

  return wanted < most ? wanted : most;
}

/* Joins what the threads of a block have found by the functor Together, and stores the result in found[blockIdx.x]. All
   BAI_JOIN_THREADS threads of the block call it together. Before a second call in a kernel they need a barrier */
template <typename T, typename Together>
static __device__ inline void BAIJoinBlock(T mine, T *found)
{
  using Reduce = cub::BlockReduce<T, BAI_JOIN_THREADS>;
  __shared__ typename Reduce::TempStorage storage;

  mine = Reduce(storage).Reduce(mine, Together());
  if (!threadIdx.x) found[blockIdx.x] = mine;
}

/* Sets *to to the join of found[0] to found[count - 1], always in the same order. Launched with one thread block of
   BAI_JOIN_THREADS threads; count is at least 1, and to may be found */
template <typename T, typename Together>
static __global__ __launch_bounds__(BAI_JOIN_THREADS) void BAIJoinAll(int count, const T *found, T *to)
{
  using Reduce = cub::BlockReduce<T, BAI_JOIN_THREADS>;
  __shared__ typename Reduce::TempStorage storage;
  const int                               first = (int)threadIdx.x;
  T                                       all   = found[first < count ? first : 0];

  for (int k = first + BAI_JOIN_THREADS; k < count; k += BAI_JOIN_THREADS) all = Together()(all, found[k]);
  all = Reduce(storage).Reduce(all, Together(), count < BAI_JOIN_THREADS ? count : (int)BAI_JOIN_THREADS);
  if (!threadIdx.x) *to = all;
}
