/*
   What keeps numbers far from the ends of single precision while they are rounded to it, for host and devices
*/
#pragma once

#include "engine.h"
#include <float.h>
#include <limits.h>
#include <math.h>

#define BAI_SINGLE_RANGE \
  1e25 /* numbers beyond it, or below one over it, come too near the ends of single precision \
        */

/* A power of two to multiply them by, so that it is exact; exponent is ilogb() of the largest; if that is zero or not
 * finite, it is 1 */
BAI_INLINE BAIReal BAIScaleOf(int exponent)
{
  const int most = sizeof(BAIReal) > sizeof(float) ? 1000 : 120;

  if (exponent <= -INT_MAX || exponent == INT_MAX) return 1;
  exponent = -exponent - 1;
  return (BAIReal)ldexp(1.0, exponent > most ? most : exponent < -most ? -most : exponent);
}

/* Of a matrix and its inverse, by their norms: it is not singular, but for rounding, and single precision holds the
 * inverse */
BAI_INLINE int BAIHoldsInverse(double norm, double inverse_norm)
{
  const double epsilon = sizeof(BAIReal) > sizeof(float) ? DBL_EPSILON : FLT_EPSILON;

  return norm * inverse_norm < 0.01 / epsilon && inverse_norm < BAI_SINGLE_RANGE && inverse_norm > 1 / BAI_SINGLE_RANGE;
}
