/* Aggregates on a device, equal to the bit to the aggregates of host/coarsen.c */
#include "levels.h"
#include "../../common/cuda/scan_sort.h"
#include <vector>

enum {
  THREADS = 256
};

/* The number of this thread in the grid */
static __device__ inline int Thread()
{
  return (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

/* Makes the boxes of a grid aggregates; a thread for each box */
static __global__ void Boxes(BAIRows A, BAINumbering grid, BAIBox box, BAINumbering next, int m, int *aggregate)
{
  const int c = Thread();

  if (c < m) BAIGridAggregate(&A, &grid, &box, &next, c, aggregate);
}

/* Prepares the rows for matching, by a thread each */
static __global__ void Candidates(BAIMatching m, int leave)
{
  const int i = Thread();

  if (i < m.A.n) BAIMatchBegin(&m, i, leave);
}

/* Finds the proposal of each row and, if rows join pairs, its claim, and in best the largest claim on each pair */
static __global__ void Propose(BAIMatching m, int *proposal, unsigned long long *claim, unsigned long long *best)
{
  const int i = Thread();
  BAIReal   weight;

  if (i >= m.A.n) return;
  proposal[i] = BAIProposal(&m, i, &weight);
  if (!m.join || proposal[i] < 0) return;
  claim[i] = BAIJoinClaim(weight, i);
  atomicMax(&best[proposal[i]], claim[i]);
}

/* Makes pairs of rows that propose to each other, or lets rows join pairs by their claims */
static __global__ void Accept(BAIMatching m, const int *proposal, const unsigned long long *claim,
                              const unsigned long long *best)
{
  const int i = Thread();

  if (i >= m.A.n || proposal[i] < 0) return;
  if (m.join) {
    if (claim[i] == best[proposal[i]]) m.mate[i] = -2 - proposal[i];
  } else if (proposal[proposal[i]] == i) m.mate[i] = proposal[i];
}

/* Matches rows in pairs in several rounds of proposals; mate becomes the other row of the pair, or what BAIMatchBegin()
   sets. With join, rows without a mate join a pair at the end. leave is the one of BAIMatchBegin() */
static BAIStatus Match(BAILevelsState state, const BAIRows &A, const int *field, int leave, int join, int *mate)
{
  const size_t        n      = (size_t)A.n;
  const dim3          grid   = BAIGrid(A.n, THREADS);
  cudaStream_t        stream = state->s.stream;
  BAIRoom             rooms[4];
  int                *proposal;
  unsigned long long *claim = NULL, *best = NULL;
  BAIMatching         m = {A, !state->info.hermitian, 0, 0, field, mate, NULL};

  BAITry(rooms[0].Get(state, n, &proposal));
  BAITry(rooms[1].Get(state, n, &m.d));
  Candidates<<<grid, THREADS, 0, stream>>>(m, leave);
  for (int round = 0; round < BAI_MATCH_ROUNDS + BAI_MATCH_ROUGH; round++) {
    m.exact = !m.both && round < BAI_MATCH_ROUNDS;
    Propose<<<grid, THREADS, 0, stream>>>(m, proposal, claim, best);
    Accept<<<grid, THREADS, 0, stream>>>(m, proposal, claim, best);
  }
  if (join) {
    BAITry(rooms[2].Get(state, n, &claim));
    BAITry(rooms[3].Get(state, n, &best));
    CUDATry(cudaMemsetAsync(best, 0, n * sizeof(*best), stream));
    m.exact = !m.both;
    m.join  = 1;
    Propose<<<grid, THREADS, 0, stream>>>(m, proposal, claim, best);
    Accept<<<grid, THREADS, 0, stream>>>(m, proposal, claim, best);
  }
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Marks the first row of each pair, for a prefix sum */
static __global__ void Roots(int n, const int *mate, int *root)
{
  const int i = Thread();

  if (i <= n) root[i] = i < n && mate[i] >= i;
}

/* Finds the pair of each row; if field is not NULL, next gets the fields of pairs */
static __global__ void NumberPairs(int n, const int *mate, const int *number, int *pair, const int *field, int *next)
{
  const int i = Thread();

  if (i >= n) return;
  pair[i] = mate[i] == -1 ? -1 : number[BAIFirstOfPair(mate, i)];
  if (field && mate[i] >= i) next[pair[i]] = field[i];
}

/* Replaces each aggregate by the pair that it belongs to */
static __global__ void Compose(int n, const int *pair, int *aggregate)
{
  const int i = Thread();

  if (i < n && aggregate[i] >= 0) aggregate[i] = pair[aggregate[i]];
}

/* Numbers pairs in the order of their first rows: sets pair to the pair of each row, or -1, and m to the number of
   pairs; field becomes the fields of pairs */
static BAIStatus TakePairs(BAILevelsState state, int n, const int *mate, int *pair, int *field, int *m)
{
  BAIRoom rooms[3];
  int    *root, *number, *next = NULL;

  BAITry(rooms[0].Get(state, (size_t)n + 1, &root));
  BAITry(rooms[1].Get(state, (size_t)n + 1, &number));
  if (field) BAITry(rooms[2].Get(state, (size_t)n, &next));
  Roots<<<BAIGrid(n + 1, THREADS), THREADS, 0, state->s.stream>>>(n, mate, root);
  BAITry(BAIScan(&state->s, (long long)n + 1, root, number));
  NumberPairs<<<BAIGrid(n, THREADS), THREADS, 0, state->s.stream>>>(n, mate, number, pair, field, next);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(m, number + n, sizeof(int), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  if (field) CUDATry(cudaMemcpyAsync(field, next, (size_t)*m * sizeof(int), cudaMemcpyDeviceToDevice, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* A temporary matrix between two levels */
struct Between {
  BAILevelsState state;
  BAIDeviceLevel level = {};

  explicit Between(BAILevelsState s) : state(s) {}
  ~Between() { BAIDeviceFreeMatrix(state, &level); }
};

/* Computes the matrix of m aggregates of the rows of a matrix: sums of entries, or of their magnitudes. All ghosts
   become one more column, see host/coarsen.c */
static BAIStatus Aggregated(BAILevelsState state, const BAIDeviceLevel &of, int m, int *aggregate, bool magnitudes,
                            BAIDeviceLevel *between)
{
  BAIDeviceLevel fine = of;
  BAISides       none = {};
  BAIRoom        room;
  int           *ghost = NULL;

  fine.m         = m;
  fine.aggregate = aggregate;
  fine.gather    = {};
  if (of.A.ghosts) {
    const std::vector<BAIInt> all((size_t)of.A.ghosts, m);

    BAITry(room.Get(state, all.size(), &ghost));
    BAITry(BAINarrow(state, all.size(), all.data(), ghost));
  }
  BAITry(BAIGalerkinPattern(state, &fine, of.A.ghosts ? 1 : 0, ghost, between));
  BAITry(BAIGalerkinSums(state, &fine, magnitudes, NULL, none, between));
  BAIDeviceFreeGather(state, &fine, between->A.nnz);
  return BAIStatusOf(BAI_OK);
}

/* Makes aggregates by two or three passes of matching, each on the coarse matrix of the pass before */
static BAIStatus AggregatePairs(BAILevelsState state, int level, BAIDeviceLevel *L)
{
  const int             passes = L->A.nnz > (int64_t)BAI_MATCH_LONG * L->A.n ? 3 : 2, n = L->A.n;
  BAIRoom               rooms[2];
  int                  *mate, *pair;
  Between               between[2] = {Between(state), Between(state)};
  const BAIDeviceLevel *C          = L;

  BAITry(rooms[0].Get(state, (size_t)n, &mate));
  BAITry(rooms[1].Get(state, (size_t)n, &pair));
  BAITry(BAINumber(state, n, 1, 0, NULL, L->aggregate));
  for (int pass = 0; pass < passes; pass++) {
    BAIDeviceLevel *next = &between[pass % 2].level;

    BAITry(Match(state, C->A, state->field, !pass ? 1 + !(level + state->p.above) : 0, pass + 1 == passes, mate));
    BAITry(TakePairs(state, C->A.n, mate, pair, state->field, &L->m));
    Compose<<<BAIGrid(n, THREADS), THREADS, 0, state->s.stream>>>(n, pair, L->aggregate);
    CUDATry(cudaGetLastError());
    if (!L->m || pass + 1 == passes) break;
    BAIDeviceFreeMatrix(state, next);
    BAITry(Aggregated(state, *C, L->m, pair, false, next));
    C = next;
  }
  L->most = 3 << (passes - 1);
  return BAIStatusOf(BAI_OK);
}

/* Copies the aggregates of the levels of the transposed matrix */
static BAIStatus AggregateLike(BAILevelsState state, int level, BAIDeviceLevel *L)
{
  const BAIDeviceLevel *like = BAILevelsStateOf(state->p.like)->level + level;

  L->m    = like[1].A.n / BAIColumnsOfP(state->p.modes);
  L->most = like->most;
  if (!L->m) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(L->aggregate, like->aggregate, (size_t)L->A.n * sizeof(int), cudaMemcpyDeviceToDevice,
                          state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Makes the aggregates of a level: boxes of a grid, those of the caller, or pairs of pairs. Sets aggregate, m and most
   of L, and for a grid box and next */
static BAIStatus AggregateRows(BAILevelsState state, int level, BAIDeviceLevel *L)
{
  BAIInt largest;

  if (BAIGridIsLookedAt((int)state->p.fields, &L->grid)) BAITry(BAIDeviceBoxes(state, L->A, L->grid, &L->box));
  if (BAIGridHasBoxes(&L->box)) {
    state->p.given = 0;
    L->m           = (int)BAIGridCoarsen(&L->grid, &L->box, L->A.n, &L->next);
    L->most        = (int)(L->box.m[0] * L->box.m[1] * L->box.m[2]);
    Boxes<<<BAIGrid(L->m, THREADS), THREADS, 0, state->s.stream>>>(L->A, L->grid, L->box, L->next, L->m, L->aggregate);
    CUDATry(cudaGetLastError());
    return BAIStatusOf(BAI_OK);
  }
  if (level >= state->p.given) return AggregatePairs(state, level, L);
  L->m    = (int)BAICountAggregates(L->A.n, state->p.aggregate[level], &largest);
  L->most = (int)largest;
  BAITry(BAINarrow(state, (size_t)L->A.n, state->p.aggregate[level], L->aggregate));
  if (state->p.field && level + 1 == state->p.given)
    BAITry(BAINarrow(state, (size_t)L->m, state->p.field, state->field));
  return BAIStatusOf(BAI_OK);
}

/* Makes aggregates of points, from a matrix with a row for each point, and gives each row the aggregate of its point */
static BAIStatus AggregatePoints(BAILevelsState state, int level, BAIDeviceLevel *L)
{
  const int           n = L->A.n, rows = (int)BAIRowsOfPoint(state->p.modes, level, state->points);
  BAILevelsParameters p = state->p;
  Between             between(state);
  BAIDeviceLevel     *points = &between.level;
  BAIRoom             room;
  int                *point;

  p.first /= rows;
  p.all /= rows;
  BAITry(room.Get(state, (size_t)n, &point));
  BAITry(BAINumber(state, n, rows, 0, NULL, point));
  BAITry(Aggregated(state, *L, n / rows, point, true, points));
  points->aggregate = point;
  points->grid      = L->grid;
  if (!level) BAITry(BAIDeviceFindGrid(state, &p, points->A, &points->grid));
  BAITry(AggregateRows(state, level, points));
  L->grid = BAIGridHasBoxes(&points->box) ? points->grid : L->grid;
  L->next = points->next;
  L->m    = points->m;
  L->most = points->most * rows;
  return BAINumber(state, n, rows, 0, point, L->aggregate);
}

/* The operations Aggregate and Product of ../ops.def */
BAIStatus BAIDeviceAggregate(BAILevelsState state, BAIInt *count)
{
  const int       level = state->levels - 1;
  BAIDeviceLevel *L     = &state->level[level];
  const size_t    n     = (size_t)L->A.n;

  *count = 0;
  if (!n) return BAIStatusOf(BAI_OK);
  if (!L->of_row) BAITry(BAIOfRow(state, L));
  if (state->field && !state->p.all) {
    BAITry(BAIKeep(state, n, &L->field));
    CUDATry(cudaMemcpyAsync(L->field, state->field, n * sizeof(int), cudaMemcpyDeviceToDevice, state->s.stream));
  }
  BAITry(BAIKeep(state, n, &L->aggregate));
  if (state->p.like) BAITry(AggregateLike(state, level, L));
  else BAITry(state->p.modes ? AggregatePoints(state, level, L) : AggregateRows(state, level, L));
  if (state->p.modes && L->m) BAITry(BAIDeviceOrthonormalize(state, L));
  *count = L->m;
  return BAIStatusOf(BAIRowsOfNext(L->m, state->p.modes) > INT32_MAX ? BAI_ERR_SIZE : BAI_OK);
}

/* Sets ghost to the aggregate of each ghost, numbered behind this rank's, or -1, and member to its number among the
   ghosts of this aggregate, which are fewer than the bits of a set */
static BAIStatus TakeGhosts(BAILevelsState state, const BAIDeviceLevel *L, BAIInt ghosts, const BAIInt *aggregate,
                            int *ghost, int *member)
{
  std::vector<BAIInt> of((size_t)L->A.ghosts), number(of.size()), members((size_t)ghosts);

  for (size_t g = 0; g < of.size(); g++) {
    of[g]     = aggregate[g] < 0 ? -1 : L->m + aggregate[g];
    number[g] = aggregate[g] < 0 ? 0 : members[(size_t)aggregate[g]]++ % BAI_SET;
  }
  BAITry(BAINarrow(state, of.size(), of.data(), ghost));
  return BAINarrow(state, number.size(), number.data(), member);
}

BAIStatus BAIDeviceProduct(BAILevelsState state, BAIInt ghosts, const BAIInt *aggregate, const BAIScalar *P)
{
  BAIDeviceLevel *L = BAIDeviceLast(state), *next = L + 1;
  const size_t    modes = (size_t)state->p.modes, room = (size_t)L->A.ghosts;
  BAIRoom         rooms[2];
  int            *ghost = NULL, *member = NULL;

  if (BAIRowsOfNext((int64_t)L->m + ghosts, state->p.modes) > INT32_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  state->levels++;
  next->grid     = L->next;
  next->A.ghosts = (int)BAIRowsOfNext(ghosts, state->p.modes);
  BAINextModes(state);
  if (!L->A.n || !L->m) return BAIStatusOf(BAI_OK);
  if (room) {
    BAITry(rooms[0].Get(state, room, &ghost));
    BAITry(rooms[1].Get(state, room, &member));
    BAITry(TakeGhosts(state, L, ghosts, aggregate, ghost, member));
  }
  if (modes) {
    if (room) {
      CUDATry(cudaMemcpyAsync(L->P + (size_t)L->A.n * modes, P, room * modes * sizeof(*P), cudaMemcpyHostToDevice,
                              state->s.stream));
      CUDATry(cudaStreamSynchronize(state->s.stream));
    }
    return BAIModesGalerkin(state, L, (int)ghosts, ghost, next);
  }
  BAITry(BAIGalerkinPattern(state, L, (int)ghosts, ghost, next));
  if (state->over != 1) BAITry(BAISidesCreate(state, L, next->A, &state->sides));
  return BAIGalerkinSums(state, L, false, member, state->sides, next);
}

BAIStatus BAIDeviceNewValues(BAILevelsState state, BAIDeviceLevel *L)
{
  BAIDeviceLevel *C     = L + 1;
  BAISides        sides = {};

  if (L->P) return BAIModesSums(state, L, C, false);
  if (state->over != 1) BAITry(BAISidesCreate(state, L, C->A, &sides));
  BAITry(BAIGalerkinSums(state, L, false, NULL, sides, C));
  return BAISidesSoften(state, NULL, &sides, C->A);
}
