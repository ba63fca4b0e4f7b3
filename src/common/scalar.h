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
BAI_INLINE BAIReal BAIImaginaryPart(BAIScalar a)
{
  return a.imag();
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
BAI_INLINE BAIReal BAIImaginaryPart(BAIScalar a)
{
  return (BAIReal)cimag(a);
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
BAI_INLINE BAIReal BAIImaginaryPart(BAIScalar a)
{
  (void)a;
  return 0;
}
#endif

/* A number of this magnitude divided by it, or 1 if it is 0 */
BAI_INLINE BAIScalar BAIPhase(BAIScalar a, BAIReal magnitude)
{
#if defined(PETSC_USE_COMPLEX)
  return magnitude > 0 ? a / magnitude : (BAIScalar)1;
#else
  (void)magnitude;
  return a < 0 ? -1 : 1;
#endif
}

/* 1/a for such a number */
BAI_INLINE BAIScalar BAIInversePhase(BAIScalar a)
{
#if defined(PETSC_USE_COMPLEX)
  return (BAIScalar)1 / a;
#else
  return a;
#endif
}

/* The bits of a number */
BAI_INLINE uint64_t BAIDoubleBits(double number)
{
  union {
    double   number;
    uint64_t bits;
  } of;

  of.number = number;
  return of.bits;
}

#define BAI_UNITS_RATIO    3    /* largest ratio of other entries of rows to the diagonal entry without mixed units */
#define BAI_UNITS_NEGATIVE 0.05 /* largest ratio of negative row sums to the diagonal entry without mixed units */

/* Measures how little a row looks like one of a system in consistent units. Set-up takes units for mixed if the root
   mean square over the rows exceeds 1. total is the sum of the row over its diagonal entry d, which lies between 0 and
   1 for M-matrices that come from consistent units. size is the sum of the magnitudes of the other entries over |d| or,
   less sharply, |total| */
BAI_INLINE BAIReal BAIMixedUnits(BAIReal size, BAIScalar total)
{
  const BAIReal ratio    = size * (BAIReal)(1.0 / BAI_UNITS_RATIO),
                negative = BAIRealPart(total) * (BAIReal)(-1.0 / BAI_UNITS_NEGATIVE);

  return negative > ratio ? negative : ratio;
}

/* The entries that BAIBackendSet() gives a vector */
typedef enum {
  BAI_SET_NOISE,        /* BAINoise() of the number of the row */
  BAI_SET_INVERSE,      /* the inverse of its real part, or 1 where that is not positive */
  BAI_SET_INVERSE_ROOT, /* the square root of that */
  BAI_SET_MIXED_UNITS   /* BAIMixedUnits() of itself */
} BAISet;

/* The new value of an entry, which is read only if the new value depends on it */
BAI_INLINE BAIScalar BAISetEntry(BAISet what, int64_t row, const BAIScalar *x)
{
  if (what == BAI_SET_NOISE) return BAINoise((uint64_t)row);
  if (what == BAI_SET_MIXED_UNITS) return BAIMixedUnits((BAIReal)fabs(BAIRealPart(*x)), *x);
  const BAIReal positive = BAIRealPart(*x) > 0 ? BAIRealPart(*x) : 1;

  return what == BAI_SET_INVERSE ? 1 / positive : 1 / (BAIReal)sqrt(positive);
}
