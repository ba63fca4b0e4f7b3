/*
   Loads, stores and sums of what other threads read or write meanwhile. They are relaxed, at the scope of the device,
   unless their names say otherwise; Far is the scope of the system, for what other devices write or read. They are
   nvcc's own; to include <cuda/atomic> for the same would take each unit two seconds to compile
*/
#pragma once

#include <string.h>

/* What holds the bits of a type of 4 or 8 bytes */
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

#define BAI_ATOMIC_LOAD(Load, order, scope) \
  template <typename T> \
  static __device__ inline T Load(const T *x) \
  { \
    typedef BAIBitsOf<T> Bits; \
\
    return BAISameBits<T>(__nv_atomic_load_n(reinterpret_cast<Bits *>(const_cast<T *>(x)), order, scope)); \
  }

#define BAI_ATOMIC_STORE(Store, order, scope) \
  template <typename T> \
  static __device__ inline void Store(T *x, T value) \
  { \
    typedef BAIBitsOf<T> Bits; \
\
    __nv_atomic_store_n(reinterpret_cast<Bits *>(x), BAISameBits<Bits>(value), order, scope); \
  }

BAI_ATOMIC_LOAD(BAILoad, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE)
BAI_ATOMIC_LOAD(BAILoadAcquire, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE)
BAI_ATOMIC_LOAD(BAILoadFar, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM)
BAI_ATOMIC_LOAD(BAILoadFarAcquire, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM)
BAI_ATOMIC_STORE(BAIStore, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE)
BAI_ATOMIC_STORE(BAIStoreRelease, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE)
BAI_ATOMIC_STORE(BAIStoreFar, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM)
BAI_ATOMIC_STORE(BAIStoreFarRelease, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM)

#undef BAI_ATOMIC_LOAD
#undef BAI_ATOMIC_STORE

/* The next number of those that are counted at x, from what is there on */
static __device__ inline long long BAIDraw(long long *x)
{
  return (long long)__nv_atomic_fetch_add(reinterpret_cast<unsigned long long *>(x), 1ull, __NV_ATOMIC_RELAXED,
                                          __NV_THREAD_SCOPE_DEVICE);
}

/* One more has arrived at x: which one it is, from 1 on. The last one sees what all of them have written */
template <typename T>
static __device__ inline T BAIArrive(T *x)
{
  return __nv_atomic_fetch_add(x, T(1), __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE) + 1;
}

/* *x becomes no less than the value */
static __device__ inline void BAIRaise(int *x, int value)
{
  (void)__nv_atomic_fetch_max(x, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
}

static __device__ inline void BAIFence(void)
{
  __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
}

static __device__ inline void BAIFenceFar(void)
{
  __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
}
