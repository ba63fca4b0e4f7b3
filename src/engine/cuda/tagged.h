/*
   Values that tell by themselves whether they are there: the lowest bit of a real is the parity of the number of times
   that its place was written. So a relaxed load is enough, and none waits for a flag. Who writes must know that all
   have read what was there before the last time
*/
#pragma once

#include "sweep.h"

#if defined(PETSC_USE_REAL_DOUBLE)
typedef unsigned long long BAIBits;
#else
typedef unsigned BAIBits;
#endif

enum {
  BAI_REALS = sizeof(BAIScalar) / sizeof(BAIReal), /* of a scalar */
  BAI_PAUSE = 20 /* ns before what is not there is asked for again: who asks at once keeps others from asking */
};

static __device__ inline BAIBits BAILoadBits(const BAIReal *place)
{
  return cuda::atomic_ref<BAIBits, cuda::thread_scope_device>(
           *reinterpret_cast<BAIBits *>(const_cast<BAIReal *>(place)))
    .load(cuda::memory_order_relaxed);
}

static __device__ inline BAIReal BAIRealOfBits(BAIBits bits)
{
  BAIReal value;

  memcpy(&value, &bits, sizeof(value));
  return value;
}

/* Writes a value, and gives back what it has become */
static __device__ inline BAIReal BAIPublish(BAIReal *place, BAIReal value, unsigned parity)
{
  BAIBits bits;

  memcpy(&bits, &value, sizeof(bits));
  bits = (bits & ~(BAIBits)1) | parity;
  cuda::atomic_ref<BAIBits, cuda::thread_scope_device>(*reinterpret_cast<BAIBits *>(place))
    .store(bits, cuda::memory_order_relaxed);
  return BAIRealOfBits(bits);
}

/* The same of scalar k of many */
static __device__ inline BAIScalar BAIPublishScalar(BAIReal *places, int k, BAIScalar value, unsigned parity)
{
#if defined(PETSC_USE_COMPLEX)
  return BAIScalar(BAIPublish(places + 2 * k, value.real(), parity),
                   BAIPublish(places + 2 * k + 1, value.imag(), parity));
#else
  return BAIPublish(places + k, value, parity);
#endif
}

/* N scalars on their way at a time; those that are not there are asked for again together */
template <int N>
struct BAITagged {
  BAIBits bits[N * BAI_REALS];

  /* Without a base the value is zero, and there */
  __device__ void Ask(int v, const BAIReal *base, int k, unsigned parity)
  {
#pragma unroll
    for (int c = 0; c < BAI_REALS; c++)
      bits[BAI_REALS * v + c] = base ? BAILoadBits(base + BAI_REALS * k + c) : (BAIBits)parity;
  }

  __device__ bool Misses(int v, unsigned parity) const
  {
    bool misses = false;

#pragma unroll
    for (int c = 0; c < BAI_REALS; c++) misses |= (bits[BAI_REALS * v + c] & 1) != parity;
    return misses;
  }

  /* where(v, &base, &k) says again where v is */
  template <typename Where>
  __device__ void Await(const BAISweep &p, unsigned parity, Where where)
  {
    const auto missing = [&] {
      bool any = false;

#pragma unroll
      for (int v = 0; v < N; v++) any |= Misses(v, parity);
      return any;
    };

    if (!missing()) return;
    BAISpin(p.stalled, p.stalled_host, [&] {
      __nanosleep(BAI_PAUSE);
#pragma unroll
      for (int v = 0; v < N; v++) {
        if (Misses(v, parity)) {
          const BAIReal *base;
          int            k;

          where(v, &base, &k);
          Ask(v, base, k, parity);
        }
      }
      return !missing();
    });
  }

  /* A value that is there; of none the parity alone, which is next to zero */
  __device__ BAIScalar operator[](int v) const
  {
#if defined(PETSC_USE_COMPLEX)
    return BAIScalar(BAIRealOfBits(bits[2 * v]), BAIRealOfBits(bits[2 * v + 1]));
#else
    return BAIRealOfBits(bits[v]);
#endif
  }
};
