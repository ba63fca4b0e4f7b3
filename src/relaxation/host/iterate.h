/*
   The iterate that threads share: entries are accessed by relaxed C11 atomics, so that races between blocks are no
   undefined behaviour. A complex entry consists of two reals, and may be seen half new
*/
#pragma once

#include "../../common/types.h"
#include <stdatomic.h>
#include <tgmath.h>

typedef _Atomic(BAIReal) BAIAtomic;
typedef _Atomic(float)   BAIAtomicSingle;

/* BAISingle replaces BAIScalar in sweeps of single precision. x is a BAIAtomic * or BAIAtomicSingle * */
#define BAILoadReal(x, i)         atomic_load_explicit((x) + (i), memory_order_relaxed)
#define BAIStoreReal(x, i, value) atomic_store_explicit((x) + (i), value, memory_order_relaxed)
#if defined(PETSC_USE_COMPLEX)
typedef float _Complex BAISingle;
  #define BAILoad(x, i) __builtin_complex(BAILoadReal(x, 2 * (i)), BAILoadReal(x, 2 * (i) + 1))
  #define BAIStore(x, i, value) \
    do { \
      const BAIScalar bai_value_ = (value); \
      BAIStoreReal(x, 2 * (i), __real__ bai_value_); \
      BAIStoreReal(x, 2 * (i) + 1, __imag__ bai_value_); \
    } while (0)
#else
typedef float BAISingle;
  #define BAILoad  BAILoadReal
  #define BAIStore BAIStoreReal
#endif

static inline BAIReal BAIAbs(BAIScalar value)
{
  return fabs(value);
}

static inline BAIReal BAIAbs2(BAIScalar value)
{
  return __real__ value * __real__ value + __imag__ value * __imag__ value;
}
