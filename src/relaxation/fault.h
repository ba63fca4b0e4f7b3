/* Simulated faults (H. Anzt's thesis, Section 4.5). Whether they hit a row depends on the seed and the row only */
#pragma once

#include "../common/hash.h"
#include "engine.h"

/* Whether a row of this rank keeps its x in an iteration with faults */
BAI_INLINE int BAIFaultStops(const BAIFault *fault, BAIInt row)
{
  return BAIHashPart(((uint64_t)fault->seed << 32) + (uint64_t)fault->row + (uint64_t)row) < (double)fault->fraction;
}

/* Whether kernels must simulate faults in this global iteration */
BAI_INLINE int BAIFaultIsAt(const BAIFault *fault, BAIInt iteration)
{
  return fault->fraction > 0 && iteration >= fault->first && iteration < fault->last;
}
