/*
   The iterate that thread blocks share: relaxed loads and stores at the scope of the device, which meet in its L2 cache.
   A complex entry is two reals, and may be seen half new.
*/
#pragma once

#include "state.h"
#include <cuda/atomic>

/* The row at place i of a tile if it is a block's own, -1 if there is none, or, if it belongs to an overlap, -2 minus the row */
static __device__ inline int BAIOwnRowAt(const BAISliced &A, int tile, int i)
{
  const int place = tile * A.tile_rows + i;

  return i >= A.tile_rows ? -1 : A.row ? A.row[place] : place < A.n ? place : -1;
}

static __device__ inline int BAIRowOf(int own)
{
  return own < -1 ? -2 - own : own;
}

/* The row at place i of a tile, or -1 */
static __device__ inline int BAIRowAt(const BAISliced &A, int tile, int i)
{
  return BAIRowOf(BAIOwnRowAt(A, tile, i));
}

static __device__ inline BAIReal BAILoad(const BAIReal *x)
{
  return cuda::atomic_ref<BAIReal, cuda::thread_scope_device>(*const_cast<BAIReal *>(x)).load(cuda::memory_order_relaxed);
}

static __device__ inline void BAIStore(BAIReal *x, BAIReal value)
{
  cuda::atomic_ref<BAIReal, cuda::thread_scope_device>(*x).store(value, cuda::memory_order_relaxed);
}

/* Read once and not soon again */
static __device__ inline BAIReal BAIStreamed(const BAIReal *a)
{
  return __ldcs(a);
}

#if defined(PETSC_USE_COMPLEX)
static __device__ inline BAIScalar BAIStreamed(const BAIScalar *a)
{
  const BAIReal *part = reinterpret_cast<const BAIReal *>(a);

  return BAIScalar(__ldcs(part), __ldcs(part + 1));
}

static __device__ inline BAIScalar BAILoad(const BAIScalar *x)
{
  const BAIReal *part = reinterpret_cast<const BAIReal *>(x);

  return BAIScalar(BAILoad(part), BAILoad(part + 1));
}

static __device__ inline void BAIStore(BAIScalar *x, BAIScalar value)
{
  BAIReal *part = reinterpret_cast<BAIReal *>(x);

  BAIStore(part, value.real());
  BAIStore(part + 1, value.imag());
}

static __device__ inline BAIReal BAIAbs(BAIScalar value)
{
  return cuda::std::abs(value);
}

static __device__ inline BAIReal BAIAbs2(BAIScalar value)
{
  return value.real() * value.real() + value.imag() * value.imag();
}
#else
static __device__ inline BAIReal BAIAbs(BAIReal value)
{
  return fabs(value);
}

static __device__ inline BAIReal BAIAbs2(BAIReal value)
{
  return value * value;
}
#endif
