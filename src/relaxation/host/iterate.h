/*
   The iterate that threads share: entries are read and written by relaxed C11 atomics, so that blocks may race for
   them without undefined behaviour. A complex entry is two reals, and may be seen half new.
*/
#pragma once

#include "../../common/types.h"
#include <complex.h>
#include <math.h>
#include <stdatomic.h>

typedef _Atomic(BAIReal) BAIAtomic;
typedef _Atomic(float)   BAIAtomicSingle;

/* What stands for a BAIScalar if sweeps are to be of single precision */
#if defined(PETSC_USE_COMPLEX)
typedef float _Complex BAISingle;

static inline BAIScalar BAILoad(BAIAtomic *x, BAIInt i)
{
  return atomic_load_explicit(x + 2 * i, memory_order_relaxed) +
    atomic_load_explicit(x + 2 * i + 1, memory_order_relaxed) * (BAIComplex)1.0i;
}

static inline void BAIStore(BAIAtomic *x, BAIInt i, BAIScalar value)
{
  atomic_store_explicit(x + 2 * i, __real__ value, memory_order_relaxed);
  atomic_store_explicit(x + 2 * i + 1, __imag__ value, memory_order_relaxed);
}

static inline BAISingle BAILoadSingle(BAIAtomicSingle *x, BAIInt i)
{
  return atomic_load_explicit(x + 2 * i, memory_order_relaxed) +
    atomic_load_explicit(x + 2 * i + 1, memory_order_relaxed) * (BAISingle)1.0i;
}

static inline void BAIStoreSingle(BAIAtomicSingle *x, BAIInt i, BAISingle value)
{
  atomic_store_explicit(x + 2 * i, __real__ value, memory_order_relaxed);
  atomic_store_explicit(x + 2 * i + 1, __imag__ value, memory_order_relaxed);
}

static inline BAIReal BAIAbs(BAIScalar value)
{
  return (BAIReal)cabs(value);
}

static inline BAIReal BAIAbs2(BAIScalar value)
{
  return __real__ value * __real__ value + __imag__ value * __imag__ value;
}
#else
typedef float BAISingle;

static inline BAIScalar BAILoad(BAIAtomic *x, BAIInt i)
{
  return atomic_load_explicit(x + i, memory_order_relaxed);
}

static inline void BAIStore(BAIAtomic *x, BAIInt i, BAIScalar value)
{
  atomic_store_explicit(x + i, value, memory_order_relaxed);
}

static inline BAISingle BAILoadSingle(BAIAtomicSingle *x, BAIInt i)
{
  return atomic_load_explicit(x + i, memory_order_relaxed);
}

static inline void BAIStoreSingle(BAIAtomicSingle *x, BAIInt i, BAISingle value)
{
  atomic_store_explicit(x + i, value, memory_order_relaxed);
}

static inline BAIReal BAIAbs(BAIScalar value)
{
  return (BAIReal)fabs(value);
}

static inline BAIReal BAIAbs2(BAIScalar value)
{
  return value * value;
}
#endif
