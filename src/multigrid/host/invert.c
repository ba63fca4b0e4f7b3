/* The inverse of the last level on the host. The rules of its pivots are in ../rowrules.h */
#include "levels.h"
#include <string.h>

/* Divides row p by its entry in column k, and subtracts multiples of it from the other rows, whose entries in column k
   become zero. The column of the inverse takes their place */
static void Eliminate(BAIInt m, BAIScalar *a, BAIInt p, BAIInt k)
{
  BAIScalar *restrict line = a + p * m;
  const BAIScalar pivot    = 1 / line[k];

  line[k] = 0;
  for (BAIInt j = 0; j < m; j++) line[j] *= pivot;
  for (BAIInt i = 0; i < m; i++) {
    BAIScalar *restrict row = a + i * m;
    const BAIScalar f       = row[k];

    if (i == p || f == 0) continue;
    for (BAIInt j = 0; j < m; j++) row[j] -= f * line[j];
    row[k] = -f * pivot;
  }
  line[k] = pivot;
}

/* Eliminates the rows and columns that are postponed, and stores all in the order of the inverse, with work for m x m
   numbers */
static void Postponed(BAIInt m, BAIScalar *a, const BAIReal *root, int *unknown, int *equation, BAIScalar *work)
{
  for (;;) {
    uint64_t best = 0;

    for (int i = 0; i < m; i++) {
      for (int j = 0; j < m; j++) {
        const int      is   = unknown[i] < 0 && equation[j] < 0;
        const uint64_t rank = is ? BAIPivotRank(a[i * m + j], root[i], root[j], i, j) : 0;

        if (rank > best) best = rank;
      }
    }
    if (!best) break;
    const int row = BAIPivotRow(best), column = BAIPivotColumn(best);

    Eliminate(m, a, row, column);
    unknown[row]     = column;
    equation[column] = row;
  }
  BAIPivotsEnd((int)m, unknown, equation);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++)
      work[BAIPivotPlace(unknown[i], equation[j], (int)m)] = unknown[i] < 0 || equation[j] < 0 ? 0 : a[i * m + j];
  memcpy(a, work, (size_t)(m * m) * sizeof(*a));
}

BAIStatus BAIHostInvert(BAILevelsState state)
{
  BAIHostLevel *L         = &state->level[state->levels - 1];
  const BAIInt  m         = L->A.n;
  int           postponed = 0, unknown[BAI_LEVELS_COARSEST], equation[BAI_LEVELS_COARSEST];
  BAIReal       d[BAI_LEVELS_COARSEST], size[BAI_LEVELS_COARSEST];
  BAIScalar    *a, *work;

  if (!BAIIsExact(&state->p, m)) return BAIStatusOf(BAI_OK);
  if (!state->inverse) BAI_KEEP(state->inverse, m * m);
  a = state->inverse;
  memset(a, 0, (size_t)(m * m) * sizeof(*a));
  for (BAIInt i = 0; i < m; i++) {
    BAIReal         sum;
    const BAIScalar diagonal = BAIDiagonal(&L->A, i, &sum);

    for (BAIInt k = L->A.i[i]; k < L->A.i[i + 1]; k++) a[i * m + L->A.j[k]] += L->A.a[k];
    a[i * m + i] = BAICycleDiagonal(diagonal, sum, state->levels == 1);
    d[i]         = BAIAggregateMagnitude(a[i * m + i]);
  }
  for (BAIInt i = 0; i < m; i++) {
    size[i] = 0;
    for (BAIInt j = 0; j < m; j++) size[i] = BAIPivotSize(size[i], a[i * m + j], d[j]);
  }
  for (int k = 0; k < m; k++) {
    const int pivots = BAIPivots(a[k * m + k], size[k]);

    if (pivots) Eliminate(m, a, k, k);
    unknown[k] = equation[k] = pivots ? k : -1;
    postponed += !pivots;
  }
  if (!postponed) return BAIStatusOf(BAI_OK);
  work = malloc((size_t)(m * m) * sizeof(*work));
  if (!work) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt i = 0; i < m; i++) size[i] = (BAIReal)sqrt(size[i]);
  Postponed(m, a, size, unknown, equation, work);
  free(work);
  return BAIStatusOf(BAI_OK);
}
