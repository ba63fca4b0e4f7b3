/*
   What the generic kernel counts: see BAIStats
*/
#include "launch.h"
#include <algorithm>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

enum {
  STALE = 2 * BAI_MOST_STALE + 1
};

static BAIStatus Forget(BAIState state)
{
  const size_t tiles = (size_t)state->A.tiles;

  CUDATry(cudaMemsetAsync(state->updates, 0, tiles * sizeof(*state->updates), state->stream));
  CUDATry(cudaMemsetAsync(state->reads, 0, STALE * sizeof(*state->reads), state->stream));
  CUDATry(cudaMemsetAsync(state->last, 0, tiles * sizeof(*state->last), state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIStatsCreate(BAIState state)
{
  const size_t tiles = (size_t)state->A.tiles;

  free(state->updates_host); /* of a time when memory was short */
  free(state->last_host);
  state->updates_host = (int64_t *)calloc(tiles + 1, sizeof(*state->updates_host));
  state->last_host    = (double *)calloc(tiles + 1, sizeof(*state->last_host));
  if (!state->updates_host || !state->last_host) return BAIStatusOf(BAI_ERR_MEMORY);
  BAITry(BAICUDAAllocate(state, STALE * sizeof(*state->reads), &state->reads));
  BAITry(BAICUDAAllocate(state, tiles * sizeof(*state->last), &state->last));
  BAITry(BAICUDAAllocate(state, tiles * sizeof(*state->updates), &state->updates));
  return Forget(state);
}

BAIStatus BAIStatsGet(BAIState state, BAIStats *stats)
{
  const size_t                    tiles = (size_t)state->A.tiles;
  std::vector<int>                updates(tiles);
  std::vector<unsigned long long> last(tiles);
  unsigned long long              reads[STALE] = {0}, first = ULLONG_MAX;

  if (!stats) return tiles ? Forget(state) : BAIStatusOf(BAI_OK);
  if (tiles) {
    BAITry(BAIDownload(state, tiles, state->updates, updates.data()));
    BAITry(BAIDownload(state, STALE, state->reads, reads));
    BAITry(BAIDownload(state, tiles, state->last, last.data()));
  }
  for (const auto &time : last) first = std::min(first, time);
  for (size_t k = 0; k < tiles; k++) {
    state->updates_host[k] = updates[k];
    state->last_host[k]    = 1e-9 * (double)(last[k] - first);
  }
  for (int k = 0; k < STALE; k++) stats->reads[k] = (int64_t)reads[k];
  stats->units   = (BAIInt)tiles;
  stats->updates = state->updates_host;
  stats->last    = state->last_host;
  return BAIStatusOf(BAI_OK);
}
