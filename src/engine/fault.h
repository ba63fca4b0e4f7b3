/*
   Faults that are asked for, to see what becomes of the iteration (H. Anzt's thesis, Section 4.5): which rows they hit is a pure function of the seed and the row, or its block
*/
#pragma once

#include "engine.h"
#include <string.h>

/* The finalizer of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014) */
BAI_INLINE uint64_t BAIFaultHash(const BAIFault *fault, BAIInt k)
{
  uint64_t h = ((uint64_t)fault->seed << 32) + (uint64_t)fault->row + (uint64_t)k + UINT64_C(0x9e3779b97f4a7c15);

  h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
  return h ^ (h >> 31);
}

/* A row, or, if the type is that, a block is hit */
BAI_INLINE int BAIFaultHits(const BAIFault *fault, BAIInt k)
{
  return (double)(BAIFaultHash(fault, k) >> 11) < (double)fault->fraction * 9007199254740992.0; /* 2^53 */
}

/* The kernels have to do with the faults of a global iteration */
BAI_INLINE int BAIFaultIsAt(const BAIFault *fault, BAIInt iteration)
{
  if (!(fault->fraction > 0)) return 0;
  if (fault->type == BAI_FAULT_SUMS) return iteration == fault->first;
  return (fault->type == BAI_FAULT_ROWS || fault->type == BAI_FAULT_BLOCKS) && iteration >= fault->first && iteration < fault->last;
}

/* Whether a row of that block is not updated */
BAI_INLINE int BAIFaultStops(const BAIFault *fault, BAIInt row, BAIInt block)
{
  return fault->type != BAI_FAULT_SUMS && BAIFaultHits(fault, fault->type == BAI_FAULT_BLOCKS ? block : row);
}

/* One of the bits of what stands here, by the row */
BAI_INLINE void BAIFaultFlip(const BAIFault *fault, BAIInt row, void *here, int bytes)
{
  unsigned char *byte = (unsigned char *)here;
  const int      bit  = (int)(BAIFaultHash(fault, row + 0x5bd1e995) % (uint64_t)(8 * bytes));

  byte[bit / 8] ^= (unsigned char)(1 << bit % 8);
}
