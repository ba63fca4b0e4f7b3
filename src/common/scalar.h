/* Numbers of either kind, real or complex, and entries that vectors are set to, for host and device */
#pragma once

#include "hash.h"
#include <math.h>

#if defined(__cplusplus) && defined(PETSC_USE_COMPLEX)
BAI_INLINE BAIScalar BAIConj(BAIScalar a)
{
  return BAIScalar(a.real(), -a.imag());
}
BAI_INLINE BAIReal BAIRealPart(BAIScalar a)
{
  return a.real();
}
#elif defined(PETSC_USE_COMPLEX)
BAI_INLINE BAIScalar BAIConj(BAIScalar a)
{
  return sizeof(BAIReal) > sizeof(float) ? (BAIScalar)conj(a) : (BAIScalar)conjf(a);
}
BAI_INLINE BAIReal BAIRealPart(BAIScalar a)
{
  return (BAIReal)creal(a);
}
#else
BAI_INLINE BAIScalar BAIConj(BAIScalar a)
{
  return a;
}
BAI_INLINE BAIReal BAIRealPart(BAIScalar a)
{
  return a;
}
#endif

/* The entries that BAIBackendSet() gives a vector */
typedef enum {
  BAI_SET_NOISE,       /* BAINoise() of the number of the row */
  BAI_SET_INVERSE,     /* the inverse of its real part, or 1 where that is not positive */
  BAI_SET_INVERSE_ROOT /* the square root of that */
} BAISet;

/* The new value of an entry, which is read only if the new value depends on it */
BAI_INLINE BAIScalar BAISetEntry(BAISet what, int64_t row, const BAIScalar *x)
{
  if (what == BAI_SET_NOISE) return BAINoise((uint64_t)row);
  const BAIReal positive = BAIRealPart(*x) > 0 ? BAIRealPart(*x) : 1;

  return what == BAI_SET_INVERSE ? 1 / positive : 1 / (BAIReal)sqrt(positive);
}
