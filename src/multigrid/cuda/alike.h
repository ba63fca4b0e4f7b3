/* Hashes of the bits of numbers, by which equal rows and equal blocks are found, see alike.cu */
#pragma once

#include "levels.h"
#include <string.h>

/* The bits of a number, in 32-bit words */
template <typename N>
struct BAIWords {
  enum {
    COUNT = (sizeof(N) + sizeof(unsigned) - 1) / sizeof(unsigned)
  };
  unsigned of[COUNT];

  __device__ __forceinline__ BAIWords(const N &number) : of{} { memcpy(of, &number, sizeof(number)); }
};

/* Returns a hash of a hash and the bits of a number. It is weaker than BAIHash() and takes fewer operations: numbers of
   equal hash are compared afterwards */
template <typename N>
static __device__ __forceinline__ uint64_t BAIHashWith(uint64_t hash, const N &number)
{
  const BAIWords<N> words(number);

#pragma unroll
  for (unsigned word : words.of) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  }
  return hash;
}
