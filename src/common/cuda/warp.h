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

/* The sum of value in this lane and in the lane lanes later, if there is one */
template <typename T>
static __device__ inline T BAIPlusLater(T value, int lanes)
{
  const T later = BAIShuffleDown(value, lanes);

  return (int)(threadIdx.x % BAI_LANES) + lanes < BAI_LANES ? value + later : value;
}

/* The shuffle itself tells whether there is such a lane, which takes fewer registers */
static __device__ inline double BAIPlusLater(double value, int lanes)
{
  double sum;

  asm volatile("{.reg .u32 lo, hi; .reg .pred p; .reg .f64 r; mov.b64 %0, %1; mov.b64 {lo, hi}, %1;"
               " shfl.sync.down.b32 lo|p, lo, %2, 31, 0xffffffff; shfl.sync.down.b32 hi|p, hi, %2, 31, 0xffffffff;"
               " mov.b64 r, {lo, hi}; @p add.f64 %0, %0, r;}"
               : "=d"(sum)
               : "d"(value), "r"(lanes));
  return sum;
}

static __device__ inline float BAIPlusLater(float value, int lanes)
{
  float sum;

  asm volatile("{.reg .f32 r; .reg .pred p; shfl.sync.down.b32 r|p, %1, %2, 31, 0xffffffff; @p add.f32 r, r, %1;"
               " mov.f32 %0, r;}"
               : "=f"(sum)
               : "f"(value), "r"(lanes));
  return sum;
}

static __device__ inline unsigned long long BAIPlusLater(unsigned long long value, int lanes)
{
  unsigned long long sum;

  asm volatile("{.reg .u32 lo, hi; .reg .pred p; .reg .u64 r; mov.b64 {lo, hi}, %1;"
               " shfl.sync.down.b32 lo|p, lo, %2, 31, 0xffffffff; shfl.sync.down.b32 hi|p, hi, %2, 31, 0xffffffff;"
               " mov.b64 r, {lo, hi}; @p add.u64 r, r, %1; mov.b64 %0, r;}"
               : "=l"(sum)
               : "l"(value), "r"(lanes));
  return sum;
}

/* The sum over a warp, in its first lane */
template <typename T>
static __device__ inline T BAISumOfWarp(T value)
{
#pragma unroll
  for (int k = 1; k < BAI_LANES; k *= 2) value = BAIPlusLater(value, k);
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
