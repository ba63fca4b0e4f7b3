/* Levels by places on the host: renumbering that makes the rows of an aggregate consecutive, and blocks */
#include "levels.h"
#include <string.h>

/* Sets row, child and alone of all levels. Numbers rows from the last level to the first in the order of the places of
   their aggregates; rows in no aggregate come last. If the last level is gathered, its rows take the order that they
   have in whole, where the first of them is row number begin; otherwise they keep theirs */
static BAIStatus Order(BAILevelsState state, const BAIHostLevel *whole, BAIInt begin)
{
  const int columns = BAIColumnsOfP(state->p.modes);

  for (int l = state->levels - 1; l >= 0; l--) {
    BAIHostLevel *L = &state->level[l];
    BAIInt       *list, *first, count = 0;

    BAI_KEEP(L->row, L->A.n);
    if (!L->m) {
      if (whole && l == state->levels - 1) {
        for (BAIInt p = 0; p < whole->A.n; p++)
          if (whole->row[p] >= begin && whole->row[p] < begin + L->A.n) L->row[count++] = whole->row[p] - begin;
      } else
        for (BAIInt i = 0; i < L->A.n; i++) L->row[i] = i;
      continue;
    }
    BAI_KEEP(L->child, L->m + 1);
    first = malloc(((size_t)L->m + 2 + (size_t)L->A.n) * sizeof(*first));
    list  = first + L->m + 2;
    if (!first) return BAIStatusOf(BAI_ERR_MEMORY);
    BAIListAggregates(L->A.n, L->m, L->aggregate, first, list);
    for (BAIInt c = 0; c < L->m; c++) {
      const BAIInt of = L[1].row[c * columns] / columns;

      L->child[c] = count;
      for (BAIInt k = first[of]; k < first[of + 1]; k++) L->row[count++] = list[k];
    }
    L->child[L->m] = count;
    L->alone       = L->A.n - count;
    for (BAIInt i = 0; i < L->A.n; i++)
      if (L->aggregate[i] < 0) L->row[count++] = i;
    free(first);
  }
  return BAIStatusOf(BAI_OK);
}

/* Sets blocks and first of a level. Blocks consist of whole aggregates: each begins with the first aggregate at or
   behind a multiple of step. Rows in no aggregate have blocks of their own. Returns the size of the largest */
static BAIInt Cut(BAIHostLevel *L, BAIInt step)
{
  const BAIInt end  = L->A.n - L->alone; /* end of the last aggregate, where rows in no aggregate begin */
  BAIInt       most = 0, c = 0;

  L->blocks = 0;
  for (BAIInt at = 0; at < end; at += step) {
    while (c < L->m && L->child[c] < at) c++;
    if (c == L->m) break;
    L->first[L->blocks++] = L->child[c];
  }
  for (BAIInt at = end; at < L->A.n; at += BAI_LEVELS_BLOCK) L->first[L->blocks++] = at;
  L->first[L->blocks] = L->A.n;
  for (BAIInt k = 0; k < L->blocks; k++)
    if (L->first[k + 1] - L->first[k] > most) most = L->first[k + 1] - L->first[k];
  return most;
}

/* Stores the matrix of a level by places, and the damping of its sweeps, which levels with parameter like copy. If
   values_only, the arrays are there from an earlier call */
BAIStatus BAIHostPlace(BAILevelsState state, BAIHostLevel *L, int values_only)
{
  const BAILevelsState other   = BAILevelsStateOf(state->p.like);
  const BAIHostLevel  *like    = other ? other->level + (L - state->level) : NULL;
  const BAIRows       *A       = &L->A;
  const int            compact = BAIBlocksAreCompact(&state->p, (int)(L - state->level), &L->box);
  const size_t         all     = (size_t)A->n + (size_t)A->ghosts;
  BAIInt              *place;
  int64_t              inside = 0;

  if (!values_only) {
    BAI_KEEP(L->i, A->n + 1);
    BAI_KEEP(L->split, A->n);
    BAI_KEEP(L->j, A->i[A->n]);
    BAI_KEEP(L->a, A->i[A->n]);
    BAI_KEEP(L->d, A->n);
    BAI_KEEP(L->extra, A->n);
    BAI_KEEP(L->dinv, A->n);
    BAI_KEEP(L->b, A->n);
    BAI_KEEP(L->x, all);
    BAI_KEEP(L->y, all);
    L->i[0] = 0;
    for (BAIInt p = 0; p < A->n; p++) L->i[p + 1] = L->i[p] + A->i[L->row[p] + 1] - A->i[L->row[p]];
  }
  place = malloc((all + 1) * sizeof(*place));
  if (!place) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt p = 0; p < A->n; p++) place[L->row[p]] = p;
  for (BAIInt p = A->n; p < A->n + A->ghosts; p++) place[p] = p;
#pragma omp parallel for num_threads(BAITogether(A->n, state->p.threads)) schedule(static) reduction(+ : inside)
  for (BAIInt block = 0; block < L->blocks; block++) {
    for (BAIInt p = L->first[block]; p < L->first[block + 1]; p++) {
      const BAIInt    row = L->row[p];
      BAIInt          at  = L->i[p];
      BAIReal         sum, in = 0;
      const BAIScalar stored = BAIDiagonal(A, row, &sum), diagonal = BAICycleDiagonal(stored, sum, L == state->level);

      for (int outside = 0; outside < 2; outside++) {
        for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
          const BAIInt q = place[A->j[k]];

          if (q == p || (q < L->first[block] || q >= L->first[block + 1]) != outside) continue;
          L->j[at] = q;
          L->a[at] = A->a[k];
          at++;
          if (!outside) in += BAIAggregateMagnitude(A->a[k]);
        }
        if (!outside) L->split[p] = at;
      }
      for (; at < L->i[p + 1]; at++) { /* pads the space of the diagonal entry, or of several */
        L->j[at] = p;
        L->a[at] = 0;
      }
      inside += L->split[p] - L->i[p];
      L->d[p]     = diagonal;
      L->extra[p] = BAISweepsOfRow(diagonal, sum, in, compact, 1, &L->dinv[p]);
      if (like) L->extra[p] = like->extra[p];
      if (like) L->dinv[p] = like->dinv[p];
    }
  }
  L->inside = inside;
  free(place);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostPlaceLevels(BAILevelsState state, int count, const BAILevelsRanks *ranks)
{
  const BAILevelsState whole = ranks ? BAILevelsStateOf(ranks->whole) : NULL;

  BAIHostLast(state)->m = 0;
  BAITry(Order(state, whole ? whole->level : NULL, ranks ? ranks->first : 0));
  for (int l = 0; l < count; l++) {
    BAIHostLevel *L = &state->level[l];

    BAI_KEEP(L->first, L->A.n + 1);
    if (!L->m) L->alone = L->A.n;
    /* if a block became too large, once more into smaller ones */
    if (Cut(L, BAI_LEVELS_BLOCK) > BAI_LEVELS_BLOCK) (void)Cut(L, BAI_LEVELS_BLOCK - L->most + 1);
    BAITry(BAIHostPlace(state, L, 0));
  }
  return BAIStatusOf(BAI_OK);
}
