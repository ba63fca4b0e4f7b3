/*
   Set-up of many levels on the host: aggregates, coarse matrices, numbering by aggregates, blocks
*/
#include "levels.h"
#include "../../common/hash.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *Make(BAILevelsState state, size_t count, size_t size)
{
  state->bytes += (int64_t)(count * size);
  return malloc((count ? count : 1) * size);
}
#define MAKE(pointer, count) \
  do { \
    (pointer) = Make(state, (size_t)(count), sizeof(*(pointer))); \
    if (!(pointer)) return BAIStatusOf(BAI_ERR_MEMORY); \
  } while (0)

/* a_ij of a sparse row; rows may be in any order */
static BAIScalar Entry(const BAIHostRows *A, BAIInt row, BAIInt col)
{
  BAIInt low = A->i[row], high = A->i[row + 1];

  while (high - low > 8) { /* if columns ascend */
    const BAIInt middle = low + (high - low) / 2;

    if (A->j[middle] > col) high = middle;
    else low = middle;
  }
  for (; low < high; low++)
    if (A->j[low] == col) return A->a[low];
  for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) /* if they do not */
    if (A->j[k] == col) return A->a[k];
  return 0;
}

/*
   Whether a_ij = conj(a_ji) but for rounding, and a_ii > 0 in all rows, or a_ii < 0 in all of them, of a rank's part in
   its own columns; and the sums of the couplings that are negative, and of the others. Without a search for a_ji the
   matrix counts as not Hermitian. A diagonal entry that cannot be divided by is an error
*/
static BAIStatus Look(BAILevelsState state, const BAIHostRows *A, int search)
{
  BAIStatus     status  = BAIStatusOf(BAI_OK);
  BAIInt        bad     = A->n;
  const BAIReal epsilon = 100 * (sizeof(BAIReal) > sizeof(float) ? (BAIReal)DBL_EPSILON : (BAIReal)FLT_EPSILON);
  int           is = search, positive = 1, negative = 1;
  double        less = 0, more = 0, norm = 0, largest = 0, skew = 0, coupled = 0;

#pragma omp parallel for num_threads(BAITogether(A->n, state->p.threads)) schedule(static) \
  reduction(& : is, positive, negative) reduction(+ : less, more, skew, coupled) reduction(max : norm, largest) \
  reduction(min : bad)
  for (BAIInt row = 0; row < A->n; row++) {
    BAIReal         sum;
    const BAIScalar d         = BAIHostDiagonal(A, row, &sum);
    const BAIReal   magnitude = BAIAggregateMagnitude(d);
    const int       zero      = !(magnitude > 0) && !(sum > 0);

    if (BAILevelsIsBad(magnitude, sum) && row < bad) bad = row;
    norm = BAILargerNorm(norm, (double)(magnitude + sum));
    if ((double)magnitude > largest) largest = (double)magnitude;
    if (!(BAIRealPart(d) > 0) && !zero) positive = 0;
    if (!(BAIRealPart(d) < 0) && !zero) negative = 0;
    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      const BAIReal w = BAIAggregateMagnitude(A->a[k]);

      if (A->j[k] == row) continue;
      if (BAIRealPart(A->a[k]) < 0) less += (double)w;
      else more += (double)w;
      if (A->j[k] >= A->n) {
        coupled += (double)w;
        skew += BAILevelsSkew(A->a[k], state->p.first + row, state->p.ghost[A->j[k] - A->n]);
        continue;
      }
      if (search && is &&
          !(BAIAggregateMagnitude(A->a[k] - BAIConj(Entry(A, A->j[k], row))) <= epsilon * (w + sum + magnitude)))
        is = 0;
    }
  }
  state->hermitian = is && (positive || negative);
  state->negative  = is && negative && !positive;
  state->less      = state->negative ? more : less;
  state->more      = state->negative ? less : more;
  state->norm      = norm;
  state->largest   = largest;
  state->skew      = skew;
  state->coupled   = coupled;
  state->over      = !state->hermitian || state->more > BAI_LEVELS_OTHER_SIGN * state->less ? 1 : state->p.over;
  if (bad < A->n) {
    status     = BAIStatusOf(BAI_ERR_DIAGONAL);
    status.row = bad;
  }
  return status;
}

/* A becomes -A, if its diagonal is negative */
BAIStatus BAIHostTakeSign(BAILevelsState state)
{
  BAIHostRows *A   = &state->level[0].A;
  const BAIInt nnz = A->i[A->n];

  if (!state->negative) return BAIStatusOf(BAI_OK);
  if (!A->ghosts && !state->negated) MAKE(state->negated, nnz);
  if (!A->ghosts) memcpy(state->negated, A->a, (size_t)nnz * sizeof(*A->a));
  if (!A->ghosts) A->a = state->negated; /* the caller's arrays stay as they are */
  for (BAIInt k = 0; k < nnz; k++) A->a[k] = -A->a[k];
  return BAIStatusOf(BAI_OK);
}

/* The numbering of a grid as a row in the middle shows it: of some the one with the most neighbours that follow */
static void FindGrid(const BAIHostRows *A, const BAILevelsParameters *p, BAINumbering *grid)
{
  enum {
    MOST = 64
  };
  BAIInt offset[MOST];
  int    most = 0;

  *grid = (BAINumbering){.m = {0}};
  for (BAIInt row = A->n / 2; row < A->n && row < A->n / 2 + BAI_GRID_LOOKS; row++) {
    int count = 0;

    if (A->i[row + 1] - A->i[row] > MOST) return;
    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      int at;

      if (A->j[k] <= row || A->j[k] >= A->n) continue;
      for (at = count++; at > 0 && offset[at - 1] > A->j[k] - row; at--) offset[at] = offset[at - 1];
      offset[at] = A->j[k] - row;
    }
    if (count <= most) continue;
    most = count;
    BAIGridFind(A->n, p, count, offset, grid);
  }
}

/* Boxes of a grid. A row without couplings goes along with its box only if all rows of the box are so */
static void AggregateBoxes(BAIHostLevel *L)
{
  const BAIHostRows *A = &L->A;
  const BAIInt      *m = L->grid.m, *next = L->next.m, *box = L->box;

  L->m    = BAIGridCoarsen(&L->grid, box, A->n, &L->next);
  L->most = box[0] * box[1] * box[2];
  for (BAIInt c = 0; c < L->m; c++) {
    const BAIInt number = c + L->next.skip,
                 at[3]  = {number % next[0] * box[0], number / next[0] % next[1] * box[1],
                           number / next[0] / next[1] * box[2]};
    int all             = 1;

    for (int pass = 0; pass < 2; pass++) {
      for (BAIInt z = at[2]; z < at[2] + box[2] && z < m[2]; z++) {
        for (BAIInt y = at[1]; y < at[1] + box[1] && y < m[1]; y++) {
          for (BAIInt x = at[0]; x < at[0] + box[0] && x < m[0]; x++) {
            const BAIInt row = (z * m[1] + y) * m[0] + x - L->grid.skip;
            BAIReal      sum;

            if (row < 0 || row >= A->n) continue;
            (void)BAIHostDiagonal(A, row, &sum);
            if (pass) L->aggregate[row] = sum == 0 && !all ? -1 : c;
            else if (sum != 0) all = 0;
          }
        }
      }
    }
  }
}

/* The diagonal entries, and which rows may be matched: mate[i] is i, or -1 for those that stay alone */
static void Candidates(const BAIHostRows *A, int leave, BAIInt *mate, BAIReal *d, int threads)
{
  (void)threads; /* without OpenMP */
#pragma omp parallel for num_threads(BAITogether(A->n, threads)) schedule(static)
  for (BAIInt i = 0; i < A->n; i++) {
    BAIReal sum;

    d[i]    = BAIAggregateMagnitude(BAIHostDiagonal(A, i, &sum));
    mate[i] = sum == 0 || (leave && BAILevelsIsAlone(d[i], sum, leave > 1)) ? -1 : i;
  }
}

/* The row that row i proposes to, or -1: one that is not matched, or, if it is to join, the first of a pair. both: the
 * coupling of two rows is what each of them has of the other */
static BAIInt Proposal(const BAIHostRows *A, BAIInt i, int join, int both, int exact, BAIInt fields,
                       const BAIInt *field, const BAIInt *mate, const BAIReal *d, BAIReal *weight)
{
  BAIReal  best = -1, most = 0, sum = 0;
  uint64_t key = 0;
  BAIInt   to  = -1;

  for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++) {
    const BAIInt j = A->j[k];

    if (j == i || j >= A->n) continue;
    const BAIReal  w = BAIMatchWeight(both ? A->a[k] + BAIConj(Entry(A, j, i)) : A->a[k], d[i], d[j], exact);
    const uint64_t e = BAIMatchKey((int)i, (int)j);

    sum += BAIAggregateMagnitude(A->a[k]);
    if (fields > 1 && field[j] != field[i]) continue;
    if (w > most) most = w;
    if (w > 0 && mate[j] >= 0 && (mate[j] == j) != join && BAIMatchIsBetter(w, e, best, key)) {
      best = w;
      key  = e;
      to   = j;
    }
  }
  *weight = best;
  if (!BAIAggregateIsStrong(best, most) || BAIMatchIsBound(d[i], sum)) return -1;
  return join && mate[to] < to ? mate[to] : to;
}

/* Rows that found nobody join a pair; each pair takes the one that is coupled to it most strongly, and no other */
static void Join(const BAIHostRows *A, int both, BAIInt fields, const BAIInt *field, BAIInt *mate, const BAIReal *d,
                 BAIInt *proposal, uint64_t *claim, uint64_t *best, int threads)
{
  (void)threads; /* without OpenMP */
#pragma omp parallel for num_threads(BAITogether(A->n, threads)) schedule(static)
  for (BAIInt i = 0; i < A->n; i++) {
    BAIReal weight;

    best[i]     = 0;
    proposal[i] = mate[i] == i ? Proposal(A, i, 1, both, !both, fields, field, mate, d, &weight) : -1;
    if (proposal[i] >= 0) claim[i] = BAIJoinClaim(weight, (int)i);
  }
  for (BAIInt i = 0; i < A->n; i++)
    if (proposal[i] >= 0 && claim[i] > best[proposal[i]]) best[proposal[i]] = claim[i];
  for (BAIInt i = 0; i < A->n; i++)
    if (proposal[i] >= 0 && claim[i] == best[proposal[i]]) mate[i] = -2 - proposal[i];
}

/*
   Rows are matched in pairs: mate[i] is the other one, or i itself, or -1 for those that stay alone; if they may
   join, -2 - j for those that join the pair whose first row is j
*/
static BAIStatus Match(const BAIHostRows *A, int both, BAIInt fields, const BAIInt *field, int leave, int join,
                       BAIInt *mate, int threads)
{
  const size_t n        = (size_t)A->n + 1;
  BAIInt      *proposal = malloc(n * sizeof(*proposal));
  BAIReal     *d        = malloc(n * sizeof(*d)), weight;
  uint64_t    *claim    = malloc(2 * n * sizeof(*claim));
  BAIStatus    status   = BAIStatusOf(proposal && d && claim ? BAI_OK : BAI_ERR_MEMORY);

  if (!status.code) Candidates(A, leave, mate, d, threads);
  for (int round = 0; round < BAI_MATCH_ROUNDS + BAI_MATCH_ROUGH && !status.code; round++) {
    const int exact = !both && round < BAI_MATCH_ROUNDS;

#pragma omp parallel for num_threads(BAITogether(A->n, threads)) schedule(static) private(weight)
    for (BAIInt i = 0; i < A->n; i++)
      proposal[i] = mate[i] == i ? Proposal(A, i, 0, both, exact, fields, field, mate, d, &weight) : -1;
#pragma omp parallel for num_threads(BAITogether(A->n, threads)) schedule(static)
    for (BAIInt i = 0; i < A->n; i++)
      if (proposal[i] >= 0 && proposal[proposal[i]] == i) mate[i] = proposal[i];
  }
  if (join && !status.code) Join(A, both, fields, field, mate, d, proposal, claim, claim + n, threads);
  free(proposal);
  free(d);
  free(claim);
  return status;
}

/* The numbers of pairs, in the order of the first row of each */
static BAIInt Number(BAIInt n, const BAIInt *mate, BAIInt *aggregate)
{
  BAIInt m = 0;

  for (BAIInt i = 0; i < n; i++) {
    aggregate[i] = -1;
    if (mate[i] >= i) aggregate[i] = m++;
  }
  for (BAIInt i = 0; i < n; i++) {
    if (mate[i] >= 0 && mate[i] < i) aggregate[i] = aggregate[mate[i]];
    if (mate[i] < -1) aggregate[i] = aggregate[-2 - mate[i]];
  }
  return m;
}

static void FreeRows(BAIHostRows *A)
{
  free(A->i);
  free(A->j);
  free(A->a);
  *A = (BAIHostRows){0};
}

/* C = P^H A P in the columns of this rank, P being 1 on each of m aggregates; softened unless over is 1 */
static BAIStatus Galerkin(const BAIHostRows *A, BAIInt m, const BAIInt *aggregate, BAIReal over, BAIHostRows *C)
{
  BAIProduct P;

  BAITry(BAIProductCreate(A, m, 0, aggregate, NULL, &P));
  if (over != 1) BAIProductSoften(&P, NULL, over);
  *C  = (BAIHostRows){.n = m, .i = P.i, .j = P.j, .a = P.a};
  P.i = P.j = NULL;
  P.a       = NULL;
  BAIProductDestroy(&P);
  return BAIStatusOf(BAI_OK);
}

/* The matrix of the next level, whose arrays are there if only values are new */
static BAIStatus Coarse(BAILevelsState state, BAIHostLevel *L)
{
  BAIHostRows *C = &L[1].A;

  FreeRows(C);
  if (!L->P) return Galerkin(&L->A, L->m, L->aggregate, state->over, C);
  return BAIModesProductCreate(&L->A, L->m, 0, L->aggregate, NULL, state->p.modes, L->P, C);
}

/* How strongly points are coupled that so many rows make up: the sum of the magnitudes of their entries */
static BAIStatus Points(const BAIHostRows *A, BAIInt rows, BAIHostRows *points)
{
  const size_t nnz    = (size_t)A->i[A->n];
  BAIInt      *point  = malloc(((size_t)A->n + 1) * sizeof(*point));
  BAIScalar   *a      = malloc((nnz + 1) * sizeof(*a));
  BAIStatus    status = BAIStatusOf(BAI_ERR_MEMORY);

  for (BAIInt i = 0; i < A->n && point; i++) point[i] = i / rows;
  for (size_t k = 0; k < nnz && a; k++) a[k] = BAIAggregateMagnitude(A->a[k]);
  if (point && a)
    status = Galerkin(&(BAIHostRows){.n = A->n, .i = A->i, .j = A->j, .a = a}, A->n / rows, point, 1, points);
  free(point);
  free(a);
  return status;
}

/* Pairs of pairs, of which there are two or three passes: each matches the coarse matrix of the one before */
static BAIStatus AggregatePairs(BAILevelsState state, int level, BAIHostLevel *L, BAIInt **field)
{
  const BAIHostRows *A      = &L->A;
  const int          passes = A->i[A->n] > (int64_t)BAI_MATCH_LONG * A->n ? 3 : 2;
  BAIHostRows        C = *A, D = {0};
  BAIInt   *mate = malloc(((size_t)A->n + 1) * sizeof(*mate)), *pair = malloc(((size_t)A->n + 1) * sizeof(*pair));
  BAIInt   *of = malloc(((size_t)A->n + 1) * sizeof(*of)), m = A->n;
  BAIStatus status = BAIStatusOf(mate && pair && of ? BAI_OK : BAI_ERR_MEMORY);

  if (!status.code) memcpy(of, *field, (size_t)A->n * sizeof(*of));
  for (BAIInt i = 0; i < A->n && !status.code; i++) L->aggregate[i] = i;
  for (int pass = 0; pass < passes && !status.code; pass++) {
    status = Match(&C, !state->hermitian, state->p.fields, of, !pass ? 1 + !(level + state->p.above) : 0,
                   pass + 1 == passes, mate, state->p.threads);
    if (status.code) break;
    m = Number(C.n, mate, pair);
    for (BAIInt i = 0; i < A->n; i++)
      if (L->aggregate[i] >= 0) L->aggregate[i] = pair[L->aggregate[i]];
    for (BAIInt i = 0; i < C.n; i++)
      if (mate[i] >= i) of[pair[i]] = of[i]; /* pair[i] <= i */
    if (pass + 1 < passes) status = Galerkin(&C, m, pair, 1, &D);
    if (pass) FreeRows(&C);
    C = D;
    D = (BAIHostRows){0};
  }
  if (passes > 1 && C.i != A->i) FreeRows(&C);
  free(mate);
  free(pair);
  free(*field);
  *field  = of;
  L->m    = m;
  L->most = 3 << (passes - 1);
  return status;
}

/* Those of the transposed matrix */
static BAIStatus AggregateLike(BAILevelsState state, int level, BAIHostLevel *L)
{
  const BAIHostLevel *like = BAILevelsStateOf(state->p.like)->level + level;

  MAKE(L->aggregate, L->A.n);
  memcpy(L->aggregate, like->aggregate, (size_t)L->A.n * sizeof(*L->aggregate));
  L->m    = like[1].A.n / BAIColumnsOfP(state->p.modes);
  L->most = like->most;
  return BAIStatusOf(BAI_OK);
}

/* Aggregates of a level: those of the transposed matrix, or boxes of its grid, or those given, or pairs of pairs */
BAIStatus BAIHostAggregateRows(BAILevelsState state, int level, BAIHostLevel *L, BAIInt **field)
{
  if (state->p.like) return AggregateLike(state, level, L);
  MAKE(L->aggregate, L->A.n);
  if (BAIGridIsLookedAt(state->p.fields, &L->grid)) BAIHostBoxes(&L->A, &L->grid, L->box);
  if (BAIGridHasBoxes(L->box)) {
    AggregateBoxes(L);
    state->p.given = 0;
    return BAIStatusOf(BAI_OK);
  }
  if (level < state->p.given) {
    memcpy(L->aggregate, state->p.aggregate[level], (size_t)L->A.n * sizeof(*L->aggregate));
    L->m = BAICountAggregates(L->A.n, L->aggregate, &L->most);
    if (state->p.field && level + 1 == state->p.given) memcpy(*field, state->p.field, (size_t)L->m * sizeof(**field));
    return BAIStatusOf(BAI_OK);
  }
  return AggregatePairs(state, level, L, field);
}

/* Aggregates of points. Rows of a point are those of the finest level, or the modes of an aggregate */
static BAIStatus AggregatePoints(BAILevelsState state, int level, BAIInt **field)
{
  const BAIInt        rows = level ? state->p.modes : state->points;
  BAILevelsParameters p    = state->p;
  BAIHostLevel       *L = &state->level[level], points = {.A = {0}};
  BAIStatus           status = Points(&L->A, rows, &points.A);

  p.first /= rows;
  p.all /= rows;
  points.grid = L->grid;
  if (!status.code && !level) FindGrid(&points.A, &p, &points.grid);
  if (!status.code) status = BAIHostAggregateRows(state, level, &points, field);
  FreeRows(&points.A);
  if (BAIGridHasBoxes(points.box)) L->grid = points.grid;
  L->next = points.next;
  L->m    = points.m;
  L->most = points.most * rows;
  if (!status.code) {
    L->aggregate = Make(state, (size_t)L->A.n, sizeof(*L->aggregate));
    status       = BAIStatusOf(L->aggregate ? BAI_OK : BAI_ERR_MEMORY);
  }
  for (BAIInt i = 0; i < L->A.n && !status.code; i++) L->aggregate[i] = points.aggregate[i / rows];
  free(points.aggregate);
  return status;
}

BAIStatus BAIHostAggregatePoints(BAILevelsState state, int level, BAIInt **field)
{
  BAIHostLevel *L   = &state->level[level];
  const size_t  all = (size_t)L->A.n + (size_t)L->A.ghosts;

  BAITry(state->p.like ? AggregateLike(state, level, L) : AggregatePoints(state, level, field));
  MAKE(L->P, all * (size_t)state->p.modes);
  return BAIHostProlongationOf(state, L);
}

static BAIStatus KeepFields(BAILevelsState state, BAIHostLevel *L, const BAIInt *field)
{
  MAKE(L->field, L->A.n);
  memcpy(L->field, field, (size_t)L->A.n * sizeof(*field));
  return BAIStatusOf(BAI_OK);
}

/* The coarse levels, until one is small or does not get smaller */
static BAIStatus Coarsen(BAILevelsState state)
{
  BAIInt   *field;
  BAIStatus status = BAIStatusOf(BAI_OK);

  if (state->p.modes) BAITry(BAIHostTakeModes(state));
  field = malloc(((size_t)state->level[0].A.n + 1) * sizeof(*field));
  if (!field) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt i = 0; i < state->level[0].A.n; i++)
    field[i] = state->p.field && !state->p.given ? state->p.field[i] : i % state->p.fields;
  if (!state->p.modes) FindGrid(&state->level[0].A, &state->p, &state->level[0].grid);
  for (state->levels = 1;; state->levels++) {
    BAIHostLevel *L = &state->level[state->levels - 1], *next = L + 1;

    state->stop = "the last one is small enough to be solved exactly";
    if (BAIIsExact(&state->p, L->A.n)) break;
    state->stop = "there are as many as allowed";
    if (state->levels == BAILevelsAtMost(&state->p)) break;
    if (state->p.fields > 1) status = KeepFields(state, L, field);
    if (status.code) break;
    status = state->p.modes ? BAIHostAggregatePoints(state, state->levels - 1, &field)
                            : BAIHostAggregateRows(state, state->levels - 1, L, &field);
    if (status.code) break;
    state->stop = "all rows dominate";
    if (!L->m) break;
    state->stop = "rows are not coupled strongly enough to be aggregated";
    if (BAILevelsAreStuck(L->m, state->p.modes, L->A.n)) break;
    next->grid = L->next;
    if (state->p.modes) BAIHostNextModes(state);
    status = Coarse(state, L);
    if (status.code) break;
    state->bytes += (int64_t)next->A.i[next->A.n] * (int64_t)(sizeof(BAIInt) + sizeof(BAIScalar));
  }
  free(field);
  if (state->p.modes) BAIHostFreeModes(state);
  return status;
}

/* From the last level to the first: rows in the order of the places of their aggregates, those alone behind them */
static BAIStatus Order(BAILevelsState state)
{
  const int columns = BAIColumnsOfP(state->p.modes);

  for (int l = state->levels - 1; l >= 0; l--) {
    BAIHostLevel *L = &state->level[l];
    BAIInt       *list, *first, count = 0;

    MAKE(L->row, L->A.n);
    if (!L->m) {
      for (BAIInt i = 0; i < L->A.n; i++) L->row[i] = i;
      continue;
    }
    MAKE(L->child, L->m + 1);
    list  = malloc(((size_t)L->A.n + 1) * sizeof(*list));
    first = malloc(((size_t)L->m + 2) * sizeof(*first));
    if (!list || !first) {
      free(list);
      free(first);
      return BAIStatusOf(BAI_ERR_MEMORY);
    }
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
    free(list);
    free(first);
  }
  return BAIStatusOf(BAI_OK);
}

/* Blocks of whole aggregates: each begins with the first one at or behind a multiple of step. The size of the largest
 */
static BAIInt Cut(BAIHostLevel *L, BAIInt step)
{
  const BAIInt end  = L->A.n - L->alone; /* behind the last aggregate; rows that are alone follow */
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

static BAIStatus CutBlocks(BAILevelsState state, BAIHostLevel *L)
{
  MAKE(L->first, L->A.n + 1);
  if (!L->m) L->alone = L->A.n;
  if (Cut(L, BAI_LEVELS_BLOCK) > BAI_LEVELS_BLOCK) (void)Cut(L, BAI_LEVELS_BLOCK - L->most + 1);
  return BAIStatusOf(BAI_OK);
}

/* The matrix by places */
static BAIStatus Place(BAILevelsState state, BAIHostLevel *L, int values_only)
{
  const BAILevelsState other  = BAILevelsStateOf(state->p.like);
  const BAIHostLevel  *like   = other ? other->level + (L - state->level) : NULL;
  const BAIHostRows   *A      = &L->A;
  const size_t         all    = (size_t)A->n + (size_t)A->ghosts;
  BAIInt              *place  = malloc((all + 1) * sizeof(*place));
  int64_t              inside = 0;

  if (!place) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt p = 0; p < A->n; p++) place[L->row[p]] = p;
  for (BAIInt p = A->n; p < A->n + A->ghosts; p++) place[p] = p;
  if (!values_only) {
    L->i     = Make(state, (size_t)A->n + 1, sizeof(*L->i));
    L->split = Make(state, (size_t)A->n, sizeof(*L->split));
    L->j     = Make(state, (size_t)A->i[A->n], sizeof(*L->j));
    L->a     = Make(state, (size_t)A->i[A->n], sizeof(*L->a));
    L->d     = Make(state, (size_t)A->n, sizeof(*L->d));
    L->extra = Make(state, (size_t)A->n, sizeof(*L->extra));
    L->dinv  = Make(state, (size_t)A->n, sizeof(*L->dinv));
    L->b     = Make(state, (size_t)A->n, sizeof(*L->b));
    L->x     = Make(state, all, sizeof(*L->x));
    L->y     = Make(state, all, sizeof(*L->y));
    if (!L->i || !L->split || !L->j || !L->a || !L->d || !L->extra || !L->dinv || !L->b || !L->x || !L->y) {
      free(place);
      return BAIStatusOf(BAI_ERR_MEMORY);
    }
    L->i[0] = 0;
    for (BAIInt p = 0; p < A->n; p++) L->i[p + 1] = L->i[p] + A->i[L->row[p] + 1] - A->i[L->row[p]];
  }
#pragma omp parallel for num_threads(BAITogether(A->n, state->p.threads)) schedule(static) reduction(+ : inside)
  for (BAIInt block = 0; block < L->blocks; block++) {
    for (BAIInt p = L->first[block]; p < L->first[block + 1]; p++) {
      const BAIInt    row = L->row[p];
      BAIInt          at  = L->i[p];
      BAIReal         sum, in = 0, d;
      const BAIScalar diagonal = BAIHostDiagonal(A, row, &sum);

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
      for (; at < L->i[p + 1]; at++) { /* in the place of the diagonal entry, or of several */
        L->j[at] = p;
        L->a[at] = 0;
      }
      inside += L->split[p] - L->i[p];
      d           = BAIAggregateMagnitude(diagonal);
      L->d[p]     = diagonal;
      L->extra[p] = BAILevelsExtra(d, sum);
      d += L->extra[p];
      L->dinv[p] = d > 0 ? BAI_LOCAL_DAMPING * BAIShareOfDominance(d, in) / (BAIRealPart(diagonal) < 0 ? -d : d) : 1;
      if (BAIRealPart(diagonal) < 0) L->extra[p] = -L->extra[p];
      if (like) L->extra[p] = like->extra[p];
      if (like) L->dinv[p] = like->dinv[p];
    }
  }
  L->inside = inside;
  L->nnz    = A->i[A->n];
  free(place);
  return BAIStatusOf(BAI_OK);
}

/*
   The inverse of the last level, by Gauss and Jordan without pivoting, as the diagonal is what is largest in a definite
   matrix. An unknown whose pivot is only rounding is left out, so a singular one has a generalized inverse
*/
static BAIStatus Invert(BAILevelsState state)
{
  BAIHostLevel *L = &state->level[state->levels - 1];
  const BAIInt  m = L->A.n;
  BAIScalar    *a;
  BAIReal      *d;

  if (!BAIIsExact(&state->p, m)) return BAIStatusOf(BAI_OK);
  if (!state->inverse) MAKE(state->inverse, m * m);
  d = calloc((size_t)m + 1, sizeof(*d));
  if (!d) return BAIStatusOf(BAI_ERR_MEMORY);
  a = state->inverse;
  memset(a, 0, (size_t)(m * m) * sizeof(*a));
  for (BAIInt i = 0; i < m; i++) {
    for (BAIInt k = L->A.i[i]; k < L->A.i[i + 1]; k++) a[i * m + L->A.j[k]] += L->A.a[k];
    d[i] = BAIAggregateMagnitude(a[i * m + i]);
  }
  for (BAIInt k = 0; k < m; k++) {
    BAIScalar *const line  = a + k * m;
    const int        none  = !(BAIAggregateMagnitude(line[k]) > BAI_LEVELS_PIVOT * d[k]);
    const BAIScalar  pivot = none ? 0 : 1 / line[k];

    line[k] = 0;
    for (BAIInt j = 0; j < m; j++) line[j] *= pivot;
    for (BAIInt i = 0; i < m; i++) {
      BAIScalar *restrict row = a + i * m;
      const BAIScalar f       = row[k];

      if (i == k || f == 0) continue;
      for (BAIInt j = 0; j < m; j++) row[j] -= f * line[j];
      row[k] = -f * pivot;
    }
    line[k] = pivot;
  }
  free(d);
  return BAIStatusOf(BAI_OK);
}

/* Of the numbers of rows and entries and where these are */
static uint64_t Pattern(const BAICSR *A, BAIInt n, int threads)
{
  uint64_t pattern = BAIHash((uint64_t)n);

  (void)threads; /* without OpenMP */
#pragma omp parallel for num_threads(BAITogether(n, threads)) schedule(static) reduction(+ : pattern)
  for (BAIInt i = 0; i < n; i++)
    for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++)
      pattern += BAIHash((uint64_t)i << 32 ^ (uint64_t)A->j[k]) ^ (uint64_t)k;
  return pattern;
}

static int IsLong(const BAIMatrix *M, BAIInt longest)
{
  for (BAIInt i = 0; i < M->n && longest; i++)
    if (M->A.i[i + 1] - M->A.i[i] + (M->nghost ? M->B.i[i + 1] - M->B.i[i] : 0) > longest) return 1;
  return 0;
}

/* The matrix of the caller; if it has ghosts, a copy with their entries behind the others of a row */
static BAIStatus TakeRows(BAILevelsState state, const BAIMatrix *M)
{
  const BAIInt n  = M->n;
  BAIHostRows *A  = &state->level[0].A;
  BAIInt       at = 0;

  state->level[0].nnz = M->A.i[n];
  if (!M->nghost) {
    *A = (BAIHostRows){n, 0, (BAIInt *)M->A.i, (BAIInt *)M->A.j, (BAIScalar *)M->A.a};
    return BAIStatusOf(BAI_OK);
  }
  A->n      = n;
  A->ghosts = M->nghost;
  MAKE(A->i, n + 1);
  MAKE(A->j, M->A.i[n] + M->B.i[n]);
  MAKE(A->a, M->A.i[n] + M->B.i[n]);
  for (BAIInt row = 0; row < n; row++) {
    A->i[row] = at;
    for (BAIInt k = M->A.i[row]; k < M->A.i[row + 1]; k++, at++) {
      A->j[at] = M->A.j[k];
      A->a[at] = M->A.a[k];
    }
    for (BAIInt k = M->B.i[row]; k < M->B.i[row + 1]; k++, at++) {
      A->j[at] = n + M->B.j[k];
      A->a[at] = M->B.a[k];
    }
  }
  A->i[n] = at;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostPlaceLevels(BAILevelsState state, int count)
{
  state->level[state->levels - 1].m = 0;
  BAITry(Order(state));
  for (int l = 0; l < count; l++) {
    BAITry(CutBlocks(state, &state->level[l]));
    BAITry(Place(state, &state->level[l], 0));
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostLevelsSetUp(BAILevelsState state, const BAIMatrix *matrix, int values_only)
{
  const int      is_long = !values_only && IsLong(matrix, state->p.longest);
  const uint64_t pattern = is_long ? 0 : Pattern(&matrix->A, matrix->n, state->p.threads);

  if (values_only && pattern != state->pattern) return BAIStatusOf(BAI_ERR_PATTERN);
  state->pattern = pattern;
  BAITry(TakeRows(state, matrix));
  BAITry(Look(state, &state->level[0].A, !is_long && !state->p.like));
  if (is_long) return BAIStatusOf(BAI_ERR_LONG);
  if (state->p.all) {
    state->levels = 1;
    if (state->p.modes) return BAIHostTakeModes(state);
    FindGrid(&state->level[0].A, &state->p, &state->level[0].grid);
    return BAIStatusOf(BAI_OK);
  }
  BAITry(BAIHostTakeSign(state));
  if (!values_only) {
    BAITry(Coarsen(state));
    BAITry(BAIHostPlaceLevels(state, state->levels));
    BAITry(BAIHostMeasure(state));
  }
  for (int l = 0; l < state->levels && values_only; l++) {
    BAITry(BAIHostFits(state, l));
    if (state->level[l].m) BAITry(Coarse(state, &state->level[l]));
    BAITry(Place(state, &state->level[l], 1));
  }
  return Invert(state);
}
