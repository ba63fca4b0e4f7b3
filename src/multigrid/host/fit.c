/*
   How couplings lie on the host: along the directions of a grid, and in aggregates that were made of other values, see
   BAIFits()
*/
#include "levels.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

BAIScalar BAIHostDiagonal(const BAIHostRows *A, BAIInt row, BAIReal *sum)
{
  BAIScalar d = 0;

  *sum = 0;
  for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
    if (A->j[k] == row) d += A->a[k];
    else *sum += BAIAggregateMagnitude(A->a[k]);
  }
  return d;
}

void BAIHostBoxes(const BAIHostRows *A, const BAINumbering *grid, BAIInt box[3])
{
  BAIGridLook look = {
    .least = {DBL_MAX, DBL_MAX, DBL_MAX}
  };

  for (BAIInt row = 0; row < A->n; row++) {
    BAIInt at[3];

    BAIGridAt(grid, row, at);
    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      const double w = (double)BAIAggregateMagnitude(A->a[k]);
      int          offset[3], axis;

      if (A->j[k] >= A->n) continue;
      if (!BAIGridOffset(grid, at, row, A->j[k], offset)) look.other = 1;
      axis = BAIGridAxis(offset);
      if (axis < 0 || w == 0) continue;
      look.count[axis]++;
      look.sum[axis] += w;
      if (w < look.least[axis]) look.least[axis] = w;
      if (w > look.most[axis]) look.most[axis] = w;
    }
  }
  BAIGridBoxes(&look, grid, A->n, box);
}

/* A level whose aggregates are looked at */
typedef struct {
  const BAIHostRows *A;
  const BAIInt      *place, *field;
  BAIInt             points; /* rows of a point */
  int                finest;
} Look;

/* A row's couplings: the sum of those to other points, and the largest to one of its field; what is left is of the
 * point itself. Whether it dominates */
static int LookAtRow(const Look *look, BAIInt row, BAIReal *largest)
{
  const BAIHostRows *A     = look->A;
  const BAIInt       first = row / look->points * look->points;
  BAIReal            d = 0, sum = 0;

  *largest = 0;
  for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const BAIInt  j = A->j[k];
    const BAIReal w = BAIAggregateMagnitude(A->a[k]);

    if (j >= first && j < first + look->points) {
      d += w;
      continue;
    }
    sum += w;
    if (j < A->n && w > *largest && (!look->field || look->field[j] == look->field[row])) *largest = w;
  }
  return BAIFitDominates(d, sum, look->finest);
}

/* To which points of the aggregate at these places strong couplings lead from a row */
static uint32_t Leads(const Look *look, BAIInt row, BAIInt begin, BAIInt end)
{
  const BAIHostRows *A = look->A;
  uint32_t           leads;
  BAIReal            largest;

  if (LookAtRow(look, row, &largest)) return ~UINT32_C(0);
  leads = UINT32_C(1) << (look->place[row] - begin) / look->points;
  for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const BAIInt q = A->j[k] < A->n ? look->place[A->j[k]] : -1;

    if (q >= begin && q < end && BAIFitIsStrong(BAIAggregateMagnitude(A->a[k]), largest))
      leads |= UINT32_C(1) << (q - begin) / look->points;
  }
  return leads;
}

/* The rows of a level that its aggregates do not fit */
static BAIStatus Count(BAILevelsState state, int level, int64_t *unfit)
{
  const BAIHostLevel *L     = &state->level[level];
  const BAIInt        n     = L->A.n;
  BAIInt             *place = malloc(((size_t)n + 1) * sizeof(*place));
  const Look          look  = {&L->A, place, L->field,
                     !state->p.modes ? 1
                                 : level       ? state->p.modes
                                               : state->points,
                               !(level + state->p.above)};
  int64_t             count = 0;

  if (!place) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt p = 0; p < n; p++) place[L->row[p]] = p;
#pragma omp parallel for num_threads(BAITogether(n, state->p.threads)) schedule(static) reduction(+ : count)
  for (BAIInt c = 0; c < L->m; c++) {
    const BAIInt begin = L->child[c], end = L->child[c + 1], points = (end - begin) / look.points;
    uint32_t     leads[BAI_SET] = {0};

    if (BAIGridHasBoxes(L->box) || points > BAI_SET) continue;
    for (BAIInt p = begin; p < end; p++) leads[(p - begin) / look.points] |= Leads(&look, L->row[p], begin, end);
    if (!BAIFitHoldsTogether((int)points, leads)) count += end - begin;
  }
  for (BAIInt p = n - L->alone; p < n; p++) {
    BAIReal largest;

    count += !LookAtRow(&look, L->row[p], &largest);
  }
  free(place);
  *unfit = count;
  return BAIStatusOf(BAI_OK);
}

static int IsAsked(BAILevelsState state, int level)
{
  return BAIFitIsAsked(&state->p, state->levels, state->level[level].m, state->level[level].A.n);
}

BAIStatus BAIHostMeasure(BAILevelsState state)
{
  for (int l = 0; l < state->levels; l++)
    if (IsAsked(state, l)) BAITry(Count(state, l, &state->level[l].unfit));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostFits(BAILevelsState state, int level)
{
  const BAIHostLevel *L = &state->level[level];
  BAIInt              box[3];
  int64_t             unfit;

  if (!IsAsked(state, level) || !isfinite(state->norm)) return BAIStatusOf(BAI_OK);
  if (L->box[0]) BAIHostBoxes(&L->A, &L->grid, box);
  if (L->box[0] && memcmp(box, L->box, sizeof(box)) != 0) return BAIStatusOf(BAI_ERR_OUTDATED);
  BAITry(Count(state, level, &unfit));
  return BAIStatusOf(BAIFits(unfit, L->unfit, L->A.n) ? BAI_OK : BAI_ERR_OUTDATED);
}
