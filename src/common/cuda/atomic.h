/*
   Loads, stores and sums of data that other threads read or write at the same time. They are relaxed at the scope of
   the device, unless their names say otherwise; Far is the scope of the system, for data of other devices. Each is the
   instruction that cuda::atomic_ref generates; including <cuda/atomic> would cost each unit two seconds of compilation
*/
#pragma once

#include "../types.h"
#include <string.h>

/* Numbers of 4 or 8 bytes; or a complex number of two reals of 8 bytes, which may be seen half new */
#define BAI_ATOMIC_LOAD(Load, how) \
  template <typename T> \
  static __device__ inline T Load(const T *x) \
  { \
    T value; \
\
    if constexpr (sizeof(T) == 4) { \
      unsigned bits; \
\
      asm volatile("ld." how ".b32 %0,[%1];" : "=r"(bits) : "l"(x) : "memory"); \
      memcpy(&value, &bits, sizeof(value)); \
    } else { \
      unsigned long long bits[sizeof(T) / 8]; \
\
      for (int k = 0; k < (int)sizeof(T) / 8; k++) \
        asm volatile("ld." how ".b64 %0,[%1];" \
                     : "=l"(bits[k]) \
                     : "l"(reinterpret_cast<const unsigned long long *>(x) + k) \
                     : "memory"); \
      memcpy(&value, bits, sizeof(value)); \
    } \
    return value; \
  }

#define BAI_ATOMIC_STORE(Store, how) \
  template <typename T> \
  static __device__ inline void Store(T *x, T value) \
  { \
    if constexpr (sizeof(T) == 4) { \
      unsigned bits; \
\
      memcpy(&bits, &value, sizeof(bits)); \
      asm volatile("st." how ".b32 [%0],%1;" ::"l"(x), "r"(bits) : "memory"); \
    } else { \
      unsigned long long bits[sizeof(T) / 8]; \
\
      memcpy(bits, &value, sizeof(bits)); \
      for (int k = 0; k < (int)sizeof(T) / 8; k++) \
        asm volatile("st." how ".b64 [%0],%1;" ::"l"(reinterpret_cast<unsigned long long *>(x) + k), "l"(bits[k]) \
                     : "memory"); \
    } \
  }

BAI_ATOMIC_LOAD(BAILoad, "relaxed.gpu")
BAI_ATOMIC_LOAD(BAILoadAcquire, "acquire.gpu")
BAI_ATOMIC_LOAD(BAILoadFar, "relaxed.sys")
BAI_ATOMIC_LOAD(BAILoadFarAcquire, "acquire.sys")
BAI_ATOMIC_STORE(BAIStore, "relaxed.gpu")
BAI_ATOMIC_STORE(BAIStoreRelease, "release.gpu")
BAI_ATOMIC_STORE(BAIStoreFar, "relaxed.sys")
BAI_ATOMIC_STORE(BAIStoreFarRelease, "release.sys")

#undef BAI_ATOMIC_LOAD
#undef BAI_ATOMIC_STORE

/* Counts an arrival at x, an int or unsigned, and returns its number, from 1 on. The last one sees all writes of the
   others */
template <typename T>
static __device__ inline T BAIArrive(T *x)
{
  T before;

  asm volatile("atom.add.acq_rel.gpu.u32 %0,[%1],%2;" : "=r"(before) : "l"(x), "r"(T(1)) : "memory");
  return before + 1;
}

/* *x = max(*x, value) */
static __device__ inline void BAIRaise(int *x, int value)
{
  [[maybe_unused]] int before;

  asm volatile("atom.max.relaxed.gpu.s32 %0,[%1],%2;" : "=r"(before) : "l"(x), "r"(value) : "memory");
}

static __device__ inline void BAIFence(void)
{
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

static __device__ inline void BAIFenceFar(void)
{
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* Atomic maximum. Most calls find a larger value and save the atomic operation, as these are serialized */
static __device__ inline void BAIRaiseTo(int *most, int value)
{
  if (*(volatile int *)most < value) atomicMax(most, value);
}
