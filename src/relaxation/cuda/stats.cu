/* Statistics by the generic kernel: updates and stale reads, see BAIStats */
#include "state.h"

enum {
  STALE = 2 * BAI_MOST_STALE + 1
};

/* Resets all counts */
static BAIStatus Forget(BAIState state)
{
  const BAICounts c = state->counts;

  CUDATry(cudaMemsetAsync(c.updates, 0, (size_t)state->A.tiles * sizeof(*c.updates), state->stream));
  CUDATry(cudaMemsetAsync(c.reads, 0, STALE * sizeof(*c.reads), state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIStatsCreate(BAIState state)
{
  BAICounts *c = &state->counts;

  BAITry(BAICUDAAllocate(state, STALE * sizeof(*c->reads), &c->reads));
  BAITry(BAICUDAAllocate(state, (size_t)state->A.tiles * sizeof(*c->updates), &c->updates));
  return Forget(state);
}

BAIStatus BAIStatsGet(BAIState state, BAIStats *stats)
{
  const size_t       tiles = (size_t)state->A.tiles;
  std::vector<int>   updates(tiles);
  unsigned long long reads[STALE] = {0};

  if (!stats) return tiles ? Forget(state) : BAIStatusOf(BAI_OK);
  if (tiles) {
    BAITry(BAIDownload(state, tiles, state->counts.updates, updates.data()));
    BAITry(BAIDownload(state, STALE, state->counts.reads, reads));
  }
  state->updates.assign(updates.begin(), updates.end());
  for (int k = 0; k < STALE; k++) stats->reads[k] = (int64_t)reads[k];
  stats->units   = (BAIInt)tiles;
  stats->updates = state->updates.data();
  return BAIStatusOf(BAI_OK);
}
