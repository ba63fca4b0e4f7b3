/* The multigrid cycle on the host */
#include "levels.h"
#include <string.h>

/* Does count local sweeps of one block on y, or from zero; g is the right-hand side minus the products outside the
   block, z is work space. These three have the rows of the block only */
static void Sweeps(const BAIHostLevel *L, BAIInt block, BAIInt count, int from_zero, const BAIScalar *g, BAIScalar *y,
                   BAIScalar *z)
{
  const BAIInt first = L->first[block], last = L->first[block + 1];

  for (BAIInt p = first; p < last && from_zero; p++) y[p - first] = 0 + L->dinv[p] * g[p - first]; /* the first sweep */
  for (BAIInt sweep = from_zero; sweep < count; sweep++) {
    for (BAIInt p = first; p < last; p++) {
      BAIScalar r = g[p - first] - (L->d[p] + L->extra[p]) * y[p - first];

      for (BAIInt k = L->i[p]; k < L->split[p]; k++) r -= L->a[k] * y[L->j[k] - first];
      z[p - first] = y[p - first] + L->dinv[p] * r;
    }
    memcpy(y, z, (size_t)(last - first) * sizeof(*y));
  }
}

/* Smooths: x = S b, or x = x + S (b - A x); the sweeps in block J are for A_JJ + E with the diagonal matrix E of
   extra */
static void Visit(const BAILevelsState state, BAIHostLevel *L, int from_zero)
{
  if (!from_zero && (L->sends || L->ghosts)) BAIHostExchange(state, L, L->x);
#pragma omp parallel for num_threads(BAITogether(L->A.n, state->p.threads)) schedule(static)
  for (BAIInt block = 0; block < L->blocks; block++) {
    const BAIInt first = L->first[block], last = L->first[block + 1];
    BAIScalar    g[BAI_LEVELS_BLOCK], y[BAI_LEVELS_BLOCK], z[BAI_LEVELS_BLOCK];

    for (BAIInt p = first; p < last; p++) {
      g[p - first] = L->b[p];
      if (from_zero) continue;
      y[p - first] = L->x[p];
      g[p - first] += L->extra[p] * L->x[p];
      for (BAIInt k = L->split[p]; k < L->i[p + 1]; k++) g[p - first] -= L->a[k] * L->x[L->j[k]];
    }
    Sweeps(L, block, state->p.local_iters, from_zero, g, y, z);
    for (BAIInt p = first; p < last; p++) L->y[p] = y[p - first];
  }
  BAIScalar *swap = L->x;

  L->x = L->y;
  L->y = swap;
}

/* Restricts: b of the next level becomes P^H (b - A x) */
static void Restrict(const BAILevelsState state, BAIHostLevel *L)
{
  const int columns = BAIColumnsOfP(state->p.modes);

  if (L->sends || L->ghosts) BAIHostExchange(state, L, L->x);
#pragma omp parallel for num_threads(BAITogether(L->A.n, state->p.threads)) schedule(static)
  for (BAIInt c = 0; c < L->m; c++) {
    BAIScalar *sum = L[1].b + BAIAt(c, columns, 0);

    for (int k = 0; k < columns; k++) sum[k] = 0;
    for (BAIInt p = L->child[c]; p < L->child[c + 1]; p++) {
      const BAIScalar *column = L->P ? L->P + BAIAt(L->row[p], columns, 0) : NULL;
      BAIScalar        r      = L->b[p] - L->d[p] * L->x[p];

      for (BAIInt k = L->i[p]; k < L->i[p + 1]; k++) r -= L->a[k] * L->x[L->j[k]];
      for (int k = 0; k < columns; k++) sum[k] += column ? BAIConj(column[k]) * r : r;
    }
  }
}

/* Prolongs: x = x + P e, times a factor if there are modes; e is x of the next level */
static void Prolong(const BAILevelsState state, BAIHostLevel *L)
{
  const int     columns = BAIColumnsOfP(state->p.modes);
  const BAIReal over    = BAIModesOver(state->info.hermitian, state->p.modes, state->p.over);

#pragma omp parallel for num_threads(BAITogether(L->A.n, state->p.threads)) schedule(static)
  for (BAIInt c = 0; c < L->m; c++) {
    const BAIScalar *e = L[1].x + BAIAt(c, columns, 0);

    for (BAIInt p = L->child[c]; p < L->child[c + 1]; p++)
      for (int k = 0; k < columns; k++) L->x[p] += L->P ? over * L->P[BAIAt(L->row[p], columns, k)] * e[k] : e[k];
  }
}

/* Solves the last level by its inverse, smooths it, or calls the caller's solver */
static void SolveLast(const BAILevelsState state, BAIHostLevel *L)
{
  if (state->ranks.next) {
    BAIHostRest(state, L);
    return;
  }
  if (!state->inverse) {
    for (int visit = 0; visit < BAI_LEVELS_VISITS; visit++) Visit(state, L, !visit);
    return;
  }
  for (BAIInt i = 0; i < L->A.n; i++) {
    L->x[i] = 0;
    for (BAIInt j = 0; j < L->A.n; j++) L->x[i] += state->inverse[i * L->A.n + j] * L->b[j];
  }
}

/* Does a cycle from level l on for its b, from zero or from its x */
static void Cycle(const BAILevelsState state, int l, int from_zero)
{
  BAIHostLevel *L = &state->level[l];

  if (l == state->levels - 1) {
    SolveLast(state, L);
    return;
  }
  Visit(state, L, from_zero);
  Restrict(state, L);
  Cycle(state, l + 1, 1);
  if (l + 1 < state->levels - 1 &&
      BAIRepeats(state->info.hermitian, state->p.modes, state->p.above + l + 1, state->p.all ? L[1].all : L[1].A.n))
    Cycle(state, l + 1, 0);
  Prolong(state, L);
  Visit(state, L, 0);
}

void BAIHostCycle(BAILevelsState state)
{
  Cycle(state, 0, 1);
  if (state->p.twice && state->levels > 1) Cycle(state, 0, 0);
}
