/*
   Scaling that keeps numbers far from the ends of single precision while they are rounded to it, for host and devices
*/
#pragma once

#include "types.h"
#include <limits.h>
#include <math.h>

/* A power of two to multiply them by, so that it is exact; exponent is ilogb() of the largest; if that is zero or not
 * finite, it is 1 */
BAI_INLINE BAIReal BAIScaleOf(int exponent)
{
  const int most = sizeof(BAIReal) > sizeof(float) ? 1000 : 120;

  if (exponent <= -INT_MAX || exponent == INT_MAX) return 1;
  exponent = -exponent - 1;
  return (BAIReal)ldexp(1.0, exponent > most ? most : exponent < -most ? -most : exponent);
}
