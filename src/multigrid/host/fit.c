/* Couplings along the directions of a grid, and the fit of aggregates to new values, on the host, see BAIFits() */
#include "levels.h"
#include <string.h>

void BAIHostFindGrid(const BAIRows *A, const BAILevelsParameters *p, BAINumbering *grid)
{
  for (int again = 0, found = 0; again < 2 && !found; again++) {
    const BAIInt begin = BAIGridLooksFrom(A->n, again),
                 rows  = A->n - begin < BAI_GRID_LOOKS ? A->n - begin : BAI_GRID_LOOKS;

    found = BAIGridFind(A->n, p, begin, rows, A->i + begin, A->j + A->i[begin], A->a + A->i[begin], grid);
  }
}

int BAIHostBoxes(const BAIRows *A, const BAINumbering *grid, BAIBox *box)
{
  BAIGridLook look = BAIGridLookNone();

  for (BAIInt row = 0; row < A->n; row++) BAIGridLookAt(A, grid, row, &look);
  BAIGridBoxes(&look, grid, A->n, box);
  return look.alone > 0;
}

/* Counts the rows of a level that do not fit their aggregates */
static BAIStatus Count(BAILevelsState state, int level, int64_t *unfit)
{
  const BAIHostLevel *L     = &state->level[level];
  const BAIInt        n     = L->A.n;
  BAIInt             *place = malloc(((size_t)n + 1) * sizeof(*place));
  const BAIFit        fit   = {L->A, place, L->field, BAIRowsOfPoint(state->p.modes, level, state->points),
                               !(level + state->p.above)};
  int64_t             count = 0;

  if (!place) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt p = 0; p < n; p++) place[L->row[p]] = p;
#pragma omp parallel for num_threads(BAITogether(n, state->p.threads)) schedule(static) reduction(+ : count)
  for (BAIInt c = 0; c < L->m; c++) {
    const BAIInt begin = L->child[c], end = L->child[c + 1], points = (end - begin) / fit.points;
    uint32_t     leads[BAI_SET] = {0};

    if (BAIGridHasBoxes(&L->box) || points > BAI_SET) continue;
    for (BAIInt p = begin; p < end; p++) leads[(p - begin) / fit.points] |= BAIFitLeads(&fit, L->row[p], begin, end);
    if (!BAIFitHoldsTogether((int)points, leads)) count += end - begin;
  }
  for (BAIInt p = n - L->alone; p < n; p++) {
    BAIReal largest;

    count += !BAIFitRow(&fit, L->row[p], &largest);
  }
  free(place);
  *unfit = count;
  return BAIStatusOf(BAI_OK);
}

static int IsAsked(BAILevelsState state, int level)
{
  return BAIFitIsAsked(&state->p, state->levels, state->level[level].m, state->level[level].A.n);
}

BAIStatus BAIHostMeasure(BAILevelsState state, int count)
{
  for (int l = 0; l < count; l++)
    if (IsAsked(state, l)) BAITry(Count(state, l, &state->level[l].unfit));
  return BAIStatusOf(BAI_OK);
}

/* Returns BAI_ERR_OUTDATED if the aggregates do not fit the values that the matrix of the level now has */
BAIStatus BAIHostFits(BAILevelsState state, int level)
{
  const BAIHostLevel *L = &state->level[level];
  BAIBox              box;
  int64_t             unfit;

  if (!IsAsked(state, level) || !isfinite(state->info.norm)) return BAIStatusOf(BAI_OK);
  if (L->box.m[0]) (void)BAIHostBoxes(&L->A, &L->grid, &box);
  if (L->box.m[0] && memcmp(&box, &L->box, sizeof(box)) != 0) return BAIStatusOf(BAI_ERR_OUTDATED);
  BAITry(Count(state, level, &unfit));
  return BAIStatusOf(BAIFits(unfit, L->unfit, L->m, L->most, L->A.n) ? BAI_OK : BAI_ERR_OUTDATED);
}
