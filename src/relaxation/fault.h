/*
   Simulated faults (H. Anzt's thesis, Section 4.5). The rows that they hit are a pure function of the seed and the row,
   or its block
*/
#pragma once

#include "../common/hash.h"
#include "engine.h"
#include <string.h>

/* The number whose hash decides on faults of row or block k: of the seed, and of k plus the first global row */
BAI_INLINE uint64_t BAIFaultNumber(const BAIFault *fault, BAIInt k)
{
  return ((uint64_t)fault->seed << 32) + (uint64_t)fault->row + (uint64_t)k;
}

BAI_INLINE uint64_t BAIFaultHash(const BAIFault *fault, BAIInt k)
{
  return BAIHash(BAIFaultNumber(fault, k));
}

/* Whether faults hit row k, or, for BAI_FAULT_BLOCKS, block k */
BAI_INLINE int BAIFaultHits(const BAIFault *fault, BAIInt k)
{
  return BAIHashPart(BAIFaultNumber(fault, k)) < (double)fault->fraction;
}

/* Whether kernels must simulate faults in this global iteration */
BAI_INLINE int BAIFaultIsAt(const BAIFault *fault, BAIInt iteration)
{
  if (!(fault->fraction > 0)) return 0;
  if (fault->type == BAI_FAULT_SUMS) return iteration == fault->first;
  return (fault->type == BAI_FAULT_ROWS || fault->type == BAI_FAULT_BLOCKS) && iteration >= fault->first &&
    iteration < fault->last;
}

/* Whether a row of this block keeps its x in an iteration with faults */
BAI_INLINE int BAIFaultStops(const BAIFault *fault, BAIInt row, BAIInt block)
{
  return fault->type != BAI_FAULT_SUMS && BAIFaultHits(fault, fault->type == BAI_FAULT_BLOCKS ? block : row);
}

/* Flips one of the bits, chosen by the row, of a number of this size at here */
BAI_INLINE void BAIFaultFlip(const BAIFault *fault, BAIInt row, void *here, int bytes)
{
  unsigned char *byte = (unsigned char *)here;
  const int      bit  = (int)(BAIFaultHash(fault, row + 0x5bd1e995) % (uint64_t)(8 * bytes));

  byte[bit / 8] ^= (unsigned char)(1 << bit % 8);
}
