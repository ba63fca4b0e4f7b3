/* Statistics of sweeps: reads of blocks by blocks with their staleness, and updates */
#include "host.h"
#include <stdlib.h>

struct BAIHostStats_ {
  BAIInt   blocks;
  size_t  *first;   /* blocks+1: first block in other that each block reads */
  BAIInt  *other;   /* blocks read by others */
  int64_t *updates; /* updates that others can see */
  int64_t  reads[2 * BAI_MOST_STALE + 1];
};

/* Finds the blocks that each block reads, without repetition; only counts them if there is no memory yet */
static void FindOthers(const BAIBlockCRS *A, BAIInt *seen, BAIHostStats *s)
{
  size_t found = 0;

  for (BAIInt block = 0; block < A->blocks; block++) seen[block] = -1;
  for (BAIInt block = 0; block < A->blocks; block++) {
    s->first[block] = found;
    for (BAIInt k = A->off_i[BAIBlockFirst(A, block)]; k < A->off_i[BAIBlockLast(A, block)]; k++) {
      const BAIInt other = A->off_j[k] < A->n ? BAIBlockOfRow(A, A->off_j[k]) : block;

      if (other == block || seen[other] == block) continue;
      seen[other] = block;
      if (s->other) s->other[found] = other;
      found++;
    }
  }
  s->first[A->blocks] = found;
}

BAIStatus BAIHostStatsCreate(BAIState state)
{
  const BAIBlockCRS *A    = &state->A;
  const size_t       n    = (size_t)A->blocks + 1;
  BAIInt            *seen = malloc(n * sizeof(*seen));
  BAIHostStats      *s = state->stats = calloc(1, sizeof(*s));

  if (s) {
    s->blocks  = A->blocks;
    s->first   = malloc(n * sizeof(*s->first));
    s->updates = malloc(n * sizeof(*s->updates));
  }
  if (seen && s && s->first && s->updates) {
    FindOthers(A, seen, s);
    s->other = malloc((s->first[A->blocks] + 1) * sizeof(*s->other));
    if (s->other) FindOthers(A, seen, s);
  }
  free(seen);
  return s && s->other ? BAIHostStatsGet(state, NULL) : BAIStatusOf(BAI_ERR_MEMORY);
}

void BAIHostStatsDestroy(BAIHostStats *s)
{
  if (!s) return;
  free(s->first);
  free(s->other);
  free(s->updates);
  free(s);
}

static int64_t UpdatesOf(const BAIHostStats *s, BAIInt block)
{
  int64_t updates;

#pragma omp atomic read
  updates = s->updates[block];
  return updates;
}

/* Counts the reads of a block that begins a global iteration; in mode sync it reads the previous iterate only */
void BAIHostStatsRead(BAIHostStats *s, BAIInt block)
{
  const int64_t mine = UpdatesOf(s, block), most = BAI_MOST_STALE;

  for (size_t k = s->first[block]; k < s->first[block + 1]; k++) {
    const int64_t stale = mine - UpdatesOf(s, s->other[k]);
    const int64_t bin   = most + (stale < -most ? -most : stale > most ? most : stale);

#pragma omp atomic
    s->reads[bin]++;
  }
}

/* Counts the update of a block when others can see it */
void BAIHostStatsWrote(BAIHostStats *s, BAIInt block)
{
#pragma omp atomic
  s->updates[block]++;
}

BAIStatus BAIHostStatsGet(BAIState state, BAIStats *stats)
{
  BAIHostStats *s = state->stats;

  if (stats) {
    memcpy(stats->reads, s->reads, sizeof(s->reads));
    stats->units   = s->blocks;
    stats->updates = s->updates;
    return BAIStatusOf(BAI_OK);
  }
  for (BAIInt block = 0; block < s->blocks; block++) s->updates[block] = 0;
  memset(s->reads, 0, sizeof(s->reads));
  return BAIStatusOf(BAI_OK);
}
