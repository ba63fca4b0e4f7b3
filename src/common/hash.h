/* Pseudorandom numbers that do not depend on the backend and the number of ranks */
#pragma once

#include "types.h"
#if defined(PETSC_USE_COMPLEX) && !defined(__cplusplus)
  #include <complex.h>
#endif

/* The step of the numbers that SplitMix64 hashes: 2^64 divided by the golden ratio */
#define BAI_HASH_STEP UINT64_C(0x9e3779b97f4a7c15)

/* SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014) */
BAI_INLINE uint64_t BAIHash(uint64_t number)
{
  uint64_t h = number + BAI_HASH_STEP;

  h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
  return h ^ (h >> 31);
}

/* A number in [0,1) */
BAI_INLINE double BAIHashPart(uint64_t number)
{
  return (double)(BAIHash(number) >> 11) / 9007199254740992.0; /* 2^53 */
}

/* The mean of |BAINoise()|^2 */
#if defined(PETSC_USE_COMPLEX)
  #define BAI_NOISE_SQUARE (1.0 / 6)
#else
  #define BAI_NOISE_SQUARE (1.0 / 12)
#endif

/* A number in [-1/2,1/2); for complex scalars the real and the imaginary part are */
BAI_INLINE BAIScalar BAINoise(uint64_t number)
{
#if defined(PETSC_USE_COMPLEX)
  const BAIReal re = (BAIReal)(BAIHashPart(2 * number) - 0.5), im = (BAIReal)(BAIHashPart(2 * number + 1) - 0.5);

  #if defined(__cplusplus)
  return BAIScalar(re, im);
  #else
  return re + im * I;
  #endif
#else
  return (BAIReal)(BAIHashPart(number) - 0.5);
#endif
}
