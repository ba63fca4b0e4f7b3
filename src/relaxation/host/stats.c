/*
   Counts sweeps: which blocks read which, how stale, how often and when they are updated
*/
#include "host.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct BAIHostStats_ {
  BAIInt           blocks;
  size_t          *first;   /* blocks+1: where the blocks that one reads begin */
  BAIInt          *other;   /* those */
  _Atomic(BAIInt) *updates; /* that others can see */
  double          *last, begin;
  int64_t         *all; /* updates once more, as they are reported */
  _Atomic(int64_t) reads[2 * BAI_MOST_STALE + 1];
};

/* The blocks that each block reads, each once; only counted if there is no room yet */
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
  BAIStatus          status;

  if (s) {
    s->blocks  = A->blocks;
    s->first   = malloc(n * sizeof(*s->first));
    s->updates = malloc(n * sizeof(*s->updates));
    s->last    = malloc(n * sizeof(*s->last));
    s->all     = malloc(n * sizeof(*s->all));
  }
  if (seen && s && s->first && s->updates && s->last && s->all) {
    FindOthers(A, seen, s);
    s->other = malloc((s->first[A->blocks] + 1) * sizeof(*s->other));
    if (s->other) FindOthers(A, seen, s);
  }
  status = BAIStatusOf(seen && s && s->other ? BAI_OK : BAI_ERR_MEMORY);
  free(seen);
  return status.code ? status : BAIHostStatsGet(state, NULL);
}

void BAIHostStatsDestroy(BAIHostStats *s)
{
  if (!s) return;
  free(s->first);
  free(s->other);
  free(s->updates);
  free(s->last);
  free(s->all);
  free(s);
}

/* A block begins a global iteration; in mode sync what it reads is never anything but the previous iterate */
void BAIHostStatsRead(BAIHostStats *s, BAIInt block)
{
  const BAIInt mine = atomic_load_explicit(s->updates + block, memory_order_relaxed);

  for (size_t k = s->first[block]; k < s->first[block + 1]; k++) {
    const BAIInt stale = mine - atomic_load_explicit(s->updates + s->other[k], memory_order_relaxed);

    atomic_fetch_add_explicit(s->reads +
                                (stale < -BAI_MOST_STALE    ? -BAI_MOST_STALE
                                   : stale > BAI_MOST_STALE ? BAI_MOST_STALE
                                                            : stale) +
                                BAI_MOST_STALE,
                              1, memory_order_relaxed);
  }
}

/* Its new values can be seen */
void BAIHostStatsWrote(BAIHostStats *s, BAIInt block)
{
  s->last[block] = omp_get_wtime() - s->begin;
  atomic_fetch_add_explicit(s->updates + block, 1, memory_order_relaxed);
}

BAIStatus BAIHostStatsGet(BAIState state, BAIStats *stats)
{
  BAIHostStats *s = state->stats;

  if (!stats) {
    for (BAIInt block = 0; block < s->blocks; block++) {
      atomic_init(s->updates + block, 0);
      s->last[block] = 0;
    }
    for (int k = 0; k <= 2 * BAI_MOST_STALE; k++) atomic_init(s->reads + k, 0);
    s->begin = omp_get_wtime();
    return BAIStatusOf(BAI_OK);
  }
  for (BAIInt block = 0; block < s->blocks; block++)
    s->all[block] = atomic_load_explicit(s->updates + block, memory_order_relaxed);
  for (int k = 0; k <= 2 * BAI_MOST_STALE; k++)
    stats->reads[k] = atomic_load_explicit(s->reads + k, memory_order_relaxed);
  stats->units   = s->blocks;
  stats->updates = s->all;
  stats->last    = s->last;
  return BAIStatusOf(BAI_OK);
}
