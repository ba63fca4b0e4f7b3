/*
   Faults that are asked for, to see what becomes of the iteration (H. Anzt's thesis, Section 4.5): which rows they hit
   is a pure function of the seed and the row, or its block
*/
#pragma once

#include "../common/hash.h"
#include "engine.h"
#include <string.h>

BAI_INLINE uint64_t BAIFaultNumber(const BAIFault *fault, BAIInt k)
{
  return ((uint64_t)fault->seed << 32) + (uint64_t)fault->row + (uint64_t)k;
}

BAI_INLINE uint64_t BAIFaultHash(const BAIFault *fault, BAIInt k)
{
  return BAIHash(BAIFaultNumber(fault, k));
}

/* A row, or, if the type is that, a block is hit */
BAI_INLINE int BAIFaultHits(const BAIFault *fault, BAIInt k)
{
  return BAIHashPart(BAIFaultNumber(fault, k)) < (double)fault->fraction;
}

/* The kernels have to do with the faults of a global iteration */
BAI_INLINE int BAIFaultIsAt(const BAIFault *fault, BAIInt iteration)
{
  if (!(fault->fraction > 0)) return 0;
  if (fault->type == BAI_FAULT_SUMS) return iteration == fault->first;
  return (fault->type == BAI_FAULT_ROWS || fault->type == BAI_FAULT_BLOCKS) && iteration >= fault->first &&
    iteration < fault->last;
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
