/*
   Sums over the threads of a warp and of a thread block, always in the order of CUB, whose headers would cost each unit
   two seconds of compilation. All threads call them
*/
#pragma once

#include "context.h"

/* The value of the lane lanes later, or of this lane if there is none; and the value of a lane */
template <typename T>
static __device__ inline T BAIShuffleDown(T value, int lanes)
{
  return __shfl_down_sync(~0u, value, lanes);
}

template <typename T>
static __device__ inline T BAIOfLane(T value, int lane)
{
  return __shfl_sync(~0u, value, lane);
}

#if defined(PETSC_USE_COMPLEX)
template <typename R>
static __device__ inline cuda::std::complex<R> BAIShuffleDown(cuda::std::complex<R> value, int lanes)
{
  return cuda::std::complex<R>(BAIShuffleDown(value.real(), lanes), BAIShuffleDown(value.imag(), lanes));
}

template <typename R>
static __device__ inline cuda::std::complex<R> BAIOfLane(cuda::std::complex<R> value, int lane)
{
  return cuda::std::complex<R>(BAIOfLane(value.real(), lane), BAIOfLane(value.imag(), lane));
}
#endif

/* The sum over a warp, in its first lane */
template <typename T>
static __device__ inline T BAISumOfWarp(T value)
{
#pragma unroll
  for (int k = 1; k < BAI_LANES; k *= 2) value += BAIShuffleDown(value, k);
  return value;
}

/* The sum over a thread block of THREADS threads, in its first thread. A barrier is needed before the next call */
template <int THREADS, typename T>
static __device__ inline T BAISumOfBlock(T value)
{
  __shared__ T sums[THREADS / BAI_LANES];

  value = BAISumOfWarp(value);
  if (threadIdx.x % BAI_LANES == 0) sums[threadIdx.x / BAI_LANES] = value;
  __syncthreads();
  if (!threadIdx.x) {
#pragma unroll
    for (int w = 1; w < THREADS / BAI_LANES; w++) value += sums[w];
  }
  return value;
}

/* The sum over the preceding lanes */
static __device__ inline int BAISumBefore(int value)
{
  const int lane = threadIdx.x % BAI_LANES;
  int       sum  = value;

#pragma unroll
  for (int k = 1; k < BAI_LANES; k *= 2) {
    const int other = __shfl_up_sync(~0u, sum, k);

    if (lane >= k) sum += other;
  }
  return sum - value;
}

/* The sum over the preceding threads of THREADS threads, and in all the sum over all. A barrier is needed before the
   next call */
template <int THREADS>
static __device__ inline int BAISumBeforeInBlock(int value, int *all)
{
  __shared__ int sums[THREADS / BAI_LANES];
  const int      warp = threadIdx.x / BAI_LANES;
  int            sum  = BAISumBefore(value);

  if (threadIdx.x % BAI_LANES == BAI_LANES - 1) sums[warp] = sum + value;
  __syncthreads();
  *all = 0;
#pragma unroll
  for (int w = 0; w < THREADS / BAI_LANES; w++) {
    if (w < warp) sum += sums[w];
    *all += sums[w];
  }
  return sum;
}
