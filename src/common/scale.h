/* Scaling that keeps numbers within the range of single precision while they are rounded to it, for host and device */
#pragma once

#include "types.h"
#include <limits.h>
#include <math.h>

/* A power of two by which to multiply the numbers, which is exact. exponent is ilogb() of the largest magnitude. The
   result is 1 if that is zero or not finite */
BAI_INLINE BAIReal BAIScaleOf(int exponent)
{
  const int most = sizeof(BAIReal) > sizeof(float) ? 1000 : 120;

  if (exponent <= -INT_MAX || exponent == INT_MAX) return 1;
  exponent = -exponent - 1;
  return (BAIReal)ldexp(1.0, exponent > most ? most : exponent < -most ? -most : exponent);
}
