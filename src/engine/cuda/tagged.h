/*
   Entries of x that carry the number of the iteration they are of. Who reads one knows by itself whether it is there yet: no flags, no
   fences, and one way through the L2 cache instead of three. Each 32 bits of a value travel with their tag in one 64-bit word, which is written and read
   as a whole.

   An entry is overwritten when its tile has read the next values of all tiles that read it; that they are the tiles that it reads itself is what the kernels
   that use tags ask for.
*/
#pragma once

#include "state.h"

enum {
  BAI_WORDS = sizeof(BAIScalar) / sizeof(unsigned)
};

struct alignas(sizeof(unsigned long long) * (BAI_WORDS > 1 ? 2 : 1)) BAITagged {
  unsigned long long word[BAI_WORDS];

  __device__ bool Has(unsigned tag) const
  {
    bool has = true;

#pragma unroll
    for (int w = 0; w < BAI_WORDS; w++) has = has && (unsigned)(word[w] >> 32) == tag;
    return has;
  }

  __device__ BAIScalar Value() const
  {
    unsigned  bits[BAI_WORDS];
    BAIScalar value;

#pragma unroll
    for (int w = 0; w < BAI_WORDS; w++) bits[w] = (unsigned)word[w];
    memcpy(&value, bits, sizeof(value));
    return value;
  }
};

static __device__ inline BAITagged BAILoadTagged(const BAITagged *x)
{
  BAITagged t;

  if constexpr (BAI_WORDS == 1) asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(t.word[0]) : "l"(x->word));
  else {
#pragma unroll
    for (int w = 0; w + 1 < BAI_WORDS; w += 2) asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(t.word[w]), "=l"(t.word[w + 1]) : "l"(x->word + w));
  }
  return t;
}

static __device__ inline void BAIStoreTagged(BAITagged *x, unsigned tag, BAIScalar value)
{
  unsigned           bits[BAI_WORDS];
  unsigned long long word[BAI_WORDS];

  memcpy(bits, &value, sizeof(value));
#pragma unroll
  for (int w = 0; w < BAI_WORDS; w++) word[w] = (unsigned long long)tag << 32 | bits[w];
  if constexpr (BAI_WORDS == 1) asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(x->word), "l"(word[0]) : "memory");
  else {
#pragma unroll
    for (int w = 0; w + 1 < BAI_WORDS; w += 2) asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" : : "l"(x->word + w), "l"(word[w]), "l"(word[w + 1]) : "memory");
  }
}
