/* Statistics by the generic kernel: updates and stale reads, see BAIStats */
#include "state.h"
#include <algorithm>
#include <limits.h>

enum {
  STALE = 2 * BAI_MOST_STALE + 1
};

/* Resets all counts */
static BAIStatus Forget(BAIState state)
{
  const BAICounts c     = state->counts;
  const size_t    tiles = (size_t)state->A.tiles;

  CUDATry(cudaMemsetAsync(c.updates, 0, tiles * sizeof(*c.updates), state->stream));
  CUDATry(cudaMemsetAsync(c.reads, 0, STALE * sizeof(*c.reads), state->stream));
  CUDATry(cudaMemsetAsync(c.last, 0, tiles * sizeof(*c.last), state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIStatsCreate(BAIState state)
{
  BAICounts   *c     = &state->counts;
  const size_t tiles = (size_t)state->A.tiles;

  BAITry(BAICUDAAllocate(state, STALE * sizeof(*c->reads), &c->reads));
  BAITry(BAICUDAAllocate(state, tiles * sizeof(*c->last), &c->last));
  BAITry(BAICUDAAllocate(state, tiles * sizeof(*c->updates), &c->updates));
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
    BAITry(BAIDownload(state, tiles, state->counts.updates, updates.data()));
    BAITry(BAIDownload(state, STALE, state->counts.reads, reads));
    BAITry(BAIDownload(state, tiles, state->counts.last, last.data()));
  }
  for (const auto &time : last) first = std::min(first, time);
  state->updates.assign(updates.begin(), updates.end());
  state->last.resize(tiles);
  for (size_t k = 0; k < tiles; k++) state->last[k] = 1e-9 * (double)(last[k] - first);
  for (int k = 0; k < STALE; k++) stats->reads[k] = (int64_t)reads[k];
  stats->units   = (BAIInt)tiles;
  stats->updates = state->updates.data();
  stats->last    = state->last.data();
  return BAIStatusOf(BAI_OK);
}
