/* Waits of threads for data that others write, with a time limit */
#pragma once

#include "atomic.h"
#include "../types.h"

/* Waits are measured in cycles of the multiprocessor's clock, about 2e9 per second: 1.98 GHz on an H100. A thread that
   waits for another one of its device gives up after ten seconds, far longer than any kernel takes */
#define BAI_CYCLES_A_SECOND 2000000000ll
#define BAI_SPIN_CYCLES     (10 * BAI_CYCLES_A_SECOND)
#define BAI_PEER_CYCLES     (BAI_PEER_SECONDS * BAI_CYCLES_A_SECOND)

/* Spins until condition() holds, for at most cycles cycles. After that, or if another thread gave up, sets stalled, on
   the host too */
template <typename Condition>
static __device__ inline void BAISpin(int *stalled, int *stalled_host, Condition condition,
                                      long long cycles = BAI_SPIN_CYCLES, BAICode code = BAI_ERR_STALLED)
{
  if (condition()) return;
  const long long start = clock64();

  for (unsigned spins = 1; !condition(); spins++) {
    if (spins % 64) continue;
    if (clock64() - start > cycles) {
      BAIStore(stalled, (int)code);
      BAIStoreFar(stalled_host, (int)code);
    }
    if (BAILoad(stalled)) return;
  }
}
