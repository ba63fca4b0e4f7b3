/* Reproducible sums over all rows of a level on a device, and over all ranks */
#pragma once

#include "tuning.h"
#include "../../common/cuda/spin.h"
#include <cub/block/block_reduce.cuh>

/* Replaces sum in thread 0 by the sum over all ranks: writes it to the others, and waits for theirs. The result is
   equal on all ranks and reproducible. All threads of one thread block call it, on all ranks together; stalled is set
   if a rank is absent */
template <int COUNT>
static __device__ __noinline__ void SumOfRanks(BAIReal (&sum)[COUNT], const BAIFarSums &far)
{
  const BAIFlag      number = BAILoad(far.sums) + 1; /* bypasses L1, which may hold an old value */
  const int          odd    = (int)(number & 1);
  __shared__ BAIReal mine[COUNT];

#pragma unroll
  for (int k = 0; k < COUNT; k++)
    if (!threadIdx.x) mine[k] = sum[k];
  __syncthreads();
  for (int p = (int)threadIdx.x; p < far.others; p += (int)blockDim.x) {
    const BAIFarPeer &peer = far.peer[p];
    const BAIFlag    *flag = peer.told;

    for (int k = 0; k < COUNT; k++) BAIStoreFar(static_cast<BAIReal *>(peer.to[odd]) + k, mine[k]);
    BAIStoreFarRelease(peer.tell, number);
    BAISpin(
      far.stalled, far.stalled_host, [=] { return BAILoadFarAcquire(flag) >= number; }, BAI_PEER_CYCLES,
      BAI_ERR_ABSENT);
  }
  __syncthreads();
  if (threadIdx.x) return;
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    sum[k] = 0;
    for (int p = 0; p < far.ranks; p++)
      sum[k] += p == far.rank ? mine[k] : BAILoadFar(far.from[odd] + p * BAI_FAR_SUMS + k);
  }
  BAIStore(far.sums, number);
}

/* Sums that are made together */
template <int COUNT>
struct Sums {
  BAIReal of[COUNT];

  __device__ Sums operator+(const Sums &other) const
  {
    Sums both;

#pragma unroll
    for (int k = 0; k < COUNT; k++) both.of[k] = of[k] + other.of[k];
    return both;
  }
};

/* Adds up sums over the threads of all blocks, and over all ranks. Returns true in thread 0 of the last block to
   arrive, which then has the result in sum. All threads of the grid call it once. partial has room for COUNT numbers of
   each block; arrived is 0 before and after. The bits are reproducible */
template <int COUNT>
static __device__ inline bool SumUp(BAIReal (&sum)[COUNT], BAIReal *partial, unsigned *arrived, const BAIFarSums &far)
{
  using Sum = cub::BlockReduce<Sums<COUNT>, BAI_SOLVE_THREADS>;
  __shared__ typename Sum::TempStorage storage;
  __shared__ bool                      last;
  Sums<COUNT>                          all;

#pragma unroll
  for (int k = 0; k < COUNT; k++) all.of[k] = sum[k];
  all = Sum(storage).Sum(all);
  if (!threadIdx.x) {
#pragma unroll
    for (int k = 0; k < COUNT; k++) partial[blockIdx.x * COUNT + k] = all.of[k];
    __threadfence();
    last = atomicAdd(arrived, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
#pragma unroll
  for (int k = 0; k < COUNT; k++) all.of[k] = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += BAI_SOLVE_THREADS)
#pragma unroll
    for (int k = 0; k < COUNT; k++) all.of[k] += __ldcg(partial + block * COUNT + k);
  all = Sum(storage).Sum(all);
#pragma unroll
  for (int k = 0; k < COUNT; k++) sum[k] = all.of[k];
  if (!threadIdx.x) *arrived = 0;
  if (far.ranks > 1) SumOfRanks(sum, far);
  return !threadIdx.x;
}
