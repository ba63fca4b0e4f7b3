/*
   Simulated faults (H. Anzt's thesis, Section 4.5). The rows that they hit are a pure function of the seed and the row,
   or its block
*/
#pragma once

#include "../common/hash.h"
#include "engine.h"

/* Whether faults hit row k, or, for BAI_FAULT_BLOCKS, block k; this depends on the seed, and on k plus the first global
   row */
BAI_INLINE int BAIFaultHits(const BAIFault *fault, BAIInt k)
{
  return BAIHashPart(((uint64_t)fault->seed << 32) + (uint64_t)fault->row + (uint64_t)k) < (double)fault->fraction;
}

/* Whether kernels must simulate faults in this global iteration */
BAI_INLINE int BAIFaultIsAt(const BAIFault *fault, BAIInt iteration)
{
  return fault->fraction > 0 && iteration >= fault->first && iteration < fault->last;
}

/* Whether a row of this block keeps its x in an iteration with faults */
BAI_INLINE int BAIFaultStops(const BAIFault *fault, BAIInt row, BAIInt block)
{
  return BAIFaultHits(fault, fault->type == BAI_FAULT_BLOCKS ? block : row);
}
