/* Aggregates on the host: boxes of a grid, pairs of pairs of rows, or aggregates of the caller */
#include "levels.h"
#include <stdatomic.h>
#include <string.h>

/* Makes an offer to a row, which keeps the best one. Returns the offer that it had */
static uint64_t Offer(const BAIMatching *m, BAIInt to, uint64_t offer)
{
  _Atomic(uint64_t) *best = (_Atomic(uint64_t) *)&m->offer[to];
  uint64_t           had  = atomic_load(best);

  while (offer > had && !atomic_compare_exchange_weak(best, &had, offer)) continue;
  return had;
}

/* Finds the choices of row i, and its largest weight */
static void FindChoices(const BAIMatching *m, BAIInt i)
{
  const BAIInt begin = m->A.i[i], end = m->most[i] < 0 ? begin : m->A.i[i + 1];
  BAIInt       count = 0;

  for (BAIInt k = begin; k < end; k++) {
    m->choice[k] = BAIMatchRank(m, i, k);
    if (BAIMatchWeightOf(m->choice[k]) > m->most[i]) m->most[i] = BAIMatchWeightOf(m->choice[k]);
  }
  for (BAIInt k = begin; k < end; k++)
    if (BAIMatchIsChoice(m->choice[k], m->most[i])) m->choice[begin + count++] = m->choice[k];
  m->choices[i] = count;
}

/* The best choice of row i, or 0 */
static uint64_t Choose(const BAIMatching *m, BAIInt i)
{
  uint64_t had;

  return BAIMatchChoose(m, i, m->A.i[i], m->choices[i], 0, 1, &had);
}

/* Makes the offers of row i until another row keeps one. If that row gives up an offer for it, goes on with the row
   that had made the other offer */
static void MakeOffers(const BAIMatching *m, BAIInt i)
{
  while (i >= 0) {
    const uint64_t choice = Choose(m, i), offer = BAIMatchOfferFor(choice, i);

    if (!choice) return;
    const uint64_t had = Offer(m, BAIMatchRow(choice), offer);

    if (offer > had) i = BAIMatchRow(had);
  }
}

/* Lets unmatched rows join pairs; each pair takes at most one, the one with the strongest coupling */
static void Join(BAIMatching *m, int threads)
{
  const BAIInt n = m->A.n;

  (void)threads; /* without OpenMP */
  m->join = 1;
  memset(m->offer, 0, (size_t)n * sizeof(*m->offer));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (BAIInt i = 0; i < n; i++) {
    const uint64_t choice = BAIMatchIsOpen(m, i) ? Choose(m, i) : 0;

    if (choice) (void)Offer(m, BAIFirstOfPair(m->mate, BAIMatchRow(choice)), BAIMatchOfferFor(choice, i));
  }
  for (BAIInt i = 0; i < n; i++)
    if (m->offer[i]) m->mate[BAIMatchRow(m->offer[i])] = -2 - i;
}

/* Matches rows in pairs, see BAIMatching for mate. If field is not NULL, only rows of equal field are matched. leave:
   see BAIMatchBegin(). join: unmatched rows join a pair at the end */
static BAIStatus Match(BAILevelsState state, const BAIRows *A, const BAIInt *field, int leave, int join, BAIInt *mate)
{
  const size_t n       = (size_t)A->n + 1;
  const int    threads = BAITogether(A->n, state->p.threads);
  BAIMatching  m       = {.A       = *A,
                          .both    = !state->info.hermitian,
                          .rough   = BAIMatchIsRough(A->nnz, A->n),
                          .field   = field,
                          .mate    = mate,
                          .offer   = malloc(n * sizeof(*m.offer)),
                          .d       = malloc(n * sizeof(*m.d)),
                          .most    = malloc(n * sizeof(*m.most)),
                          .choices = malloc(n * sizeof(*m.choices)),
                          .choice  = malloc(((size_t)A->nnz + 1) * sizeof(*m.choice))};
  BAIStatus    status  = BAIStatusOf(m.offer && m.d && m.most && m.choices && m.choice ? BAI_OK : BAI_ERR_MEMORY);
  const BAIInt rows    = status.code ? 0 : A->n;

#pragma omp parallel for num_threads(threads) schedule(static)
  for (BAIInt i = 0; i < rows; i++) BAIMatchBegin(&m, i, leave);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (BAIInt i = 0; i < rows; i++) FindChoices(&m, i);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (BAIInt i = 0; i < rows; i++)
    if (BAIMatchIsOpen(&m, i)) MakeOffers(&m, i);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (BAIInt i = 0; i < rows; i++) BAIMatchAccept(&m, i);
  if (join && rows) Join(&m, threads);
  free(m.offer);
  free(m.d);
  free(m.most);
  free(m.choices);
  free(m.choice);
  return status;
}

/* Numbers pairs and single rows in the order of their first rows, and returns their number; rows in no aggregate: -1 */
static BAIInt Number(BAIInt n, const BAIInt *mate, BAIInt *aggregate)
{
  BAIInt m = 0;

  for (BAIInt i = 0; i < n; i++)
    if (mate[i] >= i) aggregate[i] = m++;
  for (BAIInt i = 0; i < n; i++)
    if (mate[i] < i) aggregate[i] = mate[i] == -1 ? -1 : aggregate[BAIFirstOfPair(mate, i)];
  return m;
}

/* Computes the matrix of m aggregates of the rows of A. All ghosts become one more column, as couplings to them count
   in the test for dominant rows */
static BAIStatus Aggregated(const BAIRows *A, BAIInt m, const BAIInt *aggregate, BAIRows *C)
{
  BAIInt   *ghost  = malloc(((size_t)A->ghosts + 1) * sizeof(*ghost));
  BAIStatus status = BAIStatusOf(BAI_ERR_MEMORY);

  for (BAIInt g = 0; g < A->ghosts && ghost; g++) ghost[g] = m;
  if (ghost) status = BAIHostGalerkin(A, m, A->ghosts ? 1 : 0, aggregate, ghost, C, NULL);
  free(ghost);
  return status;
}

/* Computes the matrix of points of rows rows each: sums of the magnitudes of entries */
static BAIStatus Points(const BAIRows *A, BAIInt rows, BAIRows *points)
{
  BAIInt   *point  = malloc(((size_t)A->n + 1) * sizeof(*point));
  BAIRows   sizes  = *A;
  BAIStatus status = BAIStatusOf(BAI_ERR_MEMORY);

  sizes.a = malloc(((size_t)A->nnz + 1) * sizeof(*sizes.a));
  for (BAIInt i = 0; i < A->n && point; i++) point[i] = i / rows;
  for (int64_t k = 0; k < A->nnz && sizes.a; k++) sizes.a[k] = BAIAggregateMagnitude(A->a[k]);
  if (point && sizes.a) status = Aggregated(&sizes, A->n / rows, point, points);
  free(point);
  free(sizes.a);
  return status;
}

/* Makes aggregates by passes of matching, each on the coarse matrix of the pass before. field becomes the
   fields of aggregates */
static BAIStatus AggregatePairs(BAILevelsState state, int level, BAIHostLevel *L)
{
  const BAIRows *A      = &L->A;
  const BAIInt   rows   = BAIRowsOfPoint(state->p.modes, level, state->points);
  const int      passes = BAIMatchPasses(A->nnz, A->n, rows, state->p.modes);
  BAIInt        *mate = malloc(2 * ((size_t)A->n + 1) * sizeof(*mate)), *pair = mate + A->n, *field = state->field;
  BAIRows        C      = *A, D;
  BAIStatus      status = BAIStatusOf(mate ? BAI_OK : BAI_ERR_MEMORY);

  for (BAIInt i = 0; i < A->n && !status.code; i++) L->aggregate[i] = i;
  for (int pass = 0; pass < passes && !status.code; pass++) {
    status = Match(state, &C, field, !pass ? 1 + !(level + state->p.above) : 0, pass + 1 == passes, mate);
    if (status.code) break;
    L->m = Number(C.n, mate, pair);
    for (BAIInt i = 0; i < A->n; i++)
      if (L->aggregate[i] >= 0) L->aggregate[i] = pair[L->aggregate[i]];
    for (BAIInt i = 0; i < C.n && field; i++)
      if (mate[i] >= i) field[pair[i]] = field[i]; /* pair[i] <= i */
    if (pass + 1 == passes) break;
    status = Aggregated(&C, L->m, pair, &D);
    if (pass) BAIHostFreeRows(&C);
    C = D;
  }
  if (C.i != A->i) BAIHostFreeRows(&C);
  free(mate);
  L->most = BAIMatchLargest(passes);
  return status;
}

/* Copies the aggregates of the levels of the transposed matrix. If coarsening ended there, as they were too many, no
   row is in one */
static void AggregateLike(BAILevelsState state, int level, BAIHostLevel *L)
{
  const BAIHostLevel *like = BAILevelsStateOf(state->p.like)->level + level;

  L->m = like[1].A.n / BAIColumnsOfP(state->p.modes);
  for (BAIInt i = 0; i < L->A.n; i++) L->aggregate[i] = L->m ? like->aggregate[i] : -1;
  L->most = like->most;
}

/* Makes the aggregates of a level: boxes of a grid; otherwise those of the caller, or pairs of pairs. Sets L->m,
   L->most and L->aggregate, which is allocated before, and for a grid L->box and L->next. A grid makes this and all
   further levels ignore the caller's aggregates (state->p.given = 0). state->field becomes the fields of the
   aggregates */
static BAIStatus AggregateRows(BAILevelsState state, int level, BAIHostLevel *L)
{
  int alone = 0;

  if (L->grid.m[0]) alone = BAIHostBoxes(&L->A, &L->grid, &L->box);
  if (BAIGridHasBoxes(&L->box)) {
    L->m           = BAIGridCoarsen(&L->grid, &L->box, L->A.n, &L->next);
    L->most        = L->box.m[0] * L->box.m[1] * L->box.m[2];
    state->p.given = 0;
    for (BAIInt c = 0; c < L->m; c++) {
      BAIInt    row[BAI_GRID_BOX];
      const int count = BAIGridRows(&L->grid, &L->box, &L->next, L->A.n, c, row);

      BAIGridAggregate(&L->A, alone, c, count, row, L->aggregate);
      if (state->field) state->field[c] = c % state->p.fields;
    }
    return BAIStatusOf(BAI_OK);
  }
  if (level >= state->p.given) return AggregatePairs(state, level, L);
  memcpy(L->aggregate, state->p.aggregate[level], (size_t)L->A.n * sizeof(*L->aggregate));
  L->m = BAICountAggregates(L->A.n, L->aggregate, &L->most);
  if (state->p.field && level + 1 == state->p.given)
    memcpy(state->field, state->p.field, (size_t)L->m * sizeof(*state->field));
  return BAIStatusOf(BAI_OK);
}

/* Makes aggregates of points, from a matrix of magnitudes with a row for each point, and gives each row the aggregate
   of its point. Sets m, most and next of L, and L->aggregate, which is allocated before; and L->grid if the points are
   a grid. L->box stays empty, so aggregates of points are checked as any others, see BAIFits() */
static BAIStatus AggregatePoints(BAILevelsState state, int level, BAIHostLevel *L)
{
  const BAIInt        rows   = BAIRowsOfPoint(state->p.modes, level, state->points);
  BAIHostLevel        points = {.grid = L->grid};
  BAILevelsParameters p      = state->p;
  BAIStatus           status = Points(&L->A, rows, &points.A);

  p.first /= rows;
  p.all /= rows;
  points.aggregate = malloc(((size_t)L->A.n / (size_t)rows + 1) * sizeof(*points.aggregate));
  if (!status.code && !points.aggregate) status = BAIStatusOf(BAI_ERR_MEMORY);
  if (!status.code && !level) BAIHostFindGrid(&points.A, &p, &points.grid);
  if (!status.code) status = AggregateRows(state, level, &points);
  BAIHostFreeRows(&points.A);
  if (BAIGridHasBoxes(&points.box)) L->grid = points.grid;
  L->next = points.next;
  L->m    = points.m;
  L->most = points.most * rows;
  for (BAIInt i = 0; i < L->A.n && !status.code; i++) L->aggregate[i] = points.aggregate[i / rows];
  free(points.aggregate);
  return status;
}

BAIStatus BAIHostAggregate(BAILevelsState state, BAIInt *count)
{
  const int     level = state->levels - 1;
  BAIHostLevel *L     = &state->level[level];

  *count = 0;
  if (!L->A.n) return BAIStatusOf(BAI_OK);
  if (state->p.fields > 1 && level >= state->p.given) { /* the fields of rows in given aggregates are not known */
    BAI_KEEP(L->field, L->A.n);
    memcpy(L->field, state->field, (size_t)L->A.n * sizeof(*L->field));
  }
  BAI_KEEP(L->aggregate, L->A.n);
  if (state->p.like) AggregateLike(state, level, L);
  else BAITry(state->p.modes ? AggregatePoints(state, level, L) : AggregateRows(state, level, L));
  if (state->p.modes) BAITry(BAIHostOrthonormalize(state, L));
  *count = L->m;
  return BAIStatusOf(BAIRowsOfNext(L->m, state->p.modes) > BAI_INT_MAX ? BAI_ERR_SIZE : BAI_OK);
}
