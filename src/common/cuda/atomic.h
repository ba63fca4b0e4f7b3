/*
   Loads, stores and sums of data that other threads read or write at the same time. They are relaxed at the scope of
   the device, unless their names say otherwise; Far is the scope of the system, for data of other devices. Each is the
   instruction that cuda::atomic_ref generates; including <cuda/atomic> would cost each unit two seconds of compilation
*/
#pragma once

#include "../types.h"
#include <string.h>

/* An unsigned type for the bits of a type of 4 or 8 bytes */
template <size_t bytes>
struct BAIBits {
  typedef unsigned Type;
};

template <>
struct BAIBits<8> {
  typedef unsigned long long Type;
};

template <typename T>
using BAIBitsOf = typename BAIBits<sizeof(T)>::Type;

template <typename To, typename From>
static __device__ inline To BAISameBits(From from)
{
  To to;

  static_assert(sizeof(To) == sizeof(From), "bits are copied");
  memcpy(&to, &from, sizeof(to));
  return to;
}

#define BAI_ATOMIC_LOAD(Load, how) \
  static __device__ inline unsigned Load(const unsigned *x) \
  { \
    unsigned value; \
\
    asm volatile("ld." how ".b32 %0,[%1];" : "=r"(value) : "l"(x) : "memory"); \
    return value; \
  } \
\
  static __device__ inline unsigned long long Load(const unsigned long long *x) \
  { \
    unsigned long long value; \
\
    asm volatile("ld." how ".b64 %0,[%1];" : "=l"(value) : "l"(x) : "memory"); \
    return value; \
  } \
\
  template <typename T> \
  static __device__ inline T Load(const T *x) \
  { \
    return BAISameBits<T>(Load(reinterpret_cast<const BAIBitsOf<T> *>(x))); \
  }

#define BAI_ATOMIC_STORE(Store, how) \
  static __device__ inline void Store(unsigned *x, unsigned value) \
  { \
    asm volatile("st." how ".b32 [%0],%1;" ::"l"(x), "r"(value) : "memory"); \
  } \
\
  static __device__ inline void Store(unsigned long long *x, unsigned long long value) \
  { \
    asm volatile("st." how ".b64 [%0],%1;" ::"l"(x), "l"(value) : "memory"); \
  } \
\
  template <typename T> \
  static __device__ inline void Store(T *x, T value) \
  { \
    Store(reinterpret_cast<BAIBitsOf<T> *>(x), BAISameBits<BAIBitsOf<T>>(value)); \
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

/* A complex number consists of two reals, and may be seen half new */
#if defined(PETSC_USE_COMPLEX)
template <typename R>
static __device__ inline cuda::std::complex<R> BAILoad(const cuda::std::complex<R> *x)
{
  const R *part = reinterpret_cast<const R *>(x);

  return cuda::std::complex<R>(BAILoad(part), BAILoad(part + 1));
}

template <typename R>
static __device__ inline void BAIStore(cuda::std::complex<R> *x, cuda::std::complex<R> value)
{
  R *part = reinterpret_cast<R *>(x);

  BAIStore(part, value.real());
  BAIStore(part + 1, value.imag());
}

template <typename R>
static __device__ inline cuda::std::complex<R> BAILoadFar(const cuda::std::complex<R> *x)
{
  const R *part = reinterpret_cast<const R *>(x);

  return cuda::std::complex<R>(BAILoadFar(part), BAILoadFar(part + 1));
}

template <typename R>
static __device__ inline void BAIStoreFar(cuda::std::complex<R> *x, cuda::std::complex<R> value)
{
  R *part = reinterpret_cast<R *>(x);

  BAIStoreFar(part, value.real());
  BAIStoreFar(part + 1, value.imag());
}
#endif

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
