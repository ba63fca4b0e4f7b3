/* Aggregates on a device, equal to the bit to the aggregates of host/coarsen.c */
#include "levels.h"
#include "../../common/cuda/scan.h"
#include <algorithm>
#include <vector>

enum {
  THREADS    = 256,
  TEAM       = 4, /* lanes that read a row together, */
  LARGE_TEAM = 16 /* and if rows are long enough for a third pass */
};

/* The number of this thread in the grid */
static __device__ inline int Thread()
{
  return (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

/* The boxes of a grid; alone: some rows have no couplings */
struct Boxes {
  BAINumbering grid, next;
  BAIBox       box;
  int          m;
  bool         alone;
};

/* Sets size to the number of rows of each box, for a prefix sum */
static __global__ void SizeBoxes(Boxes boxes, int n, int *size)
{
  const int c = Thread();
  int       row[BAI_GRID_BOX];

  if (c <= boxes.m) size[c] = c < boxes.m ? BAIGridRows(&boxes.grid, &boxes.box, &boxes.next, n, c, row) : 0;
}

/* Makes the boxes of a grid aggregates, and lists their rows unless list.first is NULL; a thread for each box */
static __global__ void FillBoxes(Boxes boxes, BAIRows A, int *aggregate, BAIMembers list)
{
  const int c = Thread();
  int       row[BAI_GRID_BOX];

  if (c >= boxes.m) return;
  const int count = BAIGridRows(&boxes.grid, &boxes.box, &boxes.next, A.n, c, row);

  BAIGridAggregate(&A, boxes.alone, c, count, row, aggregate);
  for (int k = 0; k < count && list.first; k++) list.row[list.first[c] + k] = row[k];
}

/* Makes the boxes of a grid the aggregates of a level. If all rows belong to them, it also lists these rows */
static BAIStatus AggregateBoxes(BAILevelsState state, bool alone, BAIDeviceLevel *L)
{
  const int    m      = (int)BAIGridCoarsen(&L->grid, &L->box, L->A.n, &L->next);
  const Boxes  boxes  = {L->grid, L->next, L->box, m, alone};
  cudaStream_t stream = state->s.stream;

  L->m    = m;
  L->most = (int)(L->box.m[0] * L->box.m[1] * L->box.m[2]);
  if (!alone) {
    BAITry(BAIKeep(state, (size_t)m + 1, &L->listed.first));
    BAITry(BAIKeep(state, (size_t)L->A.n, &L->listed.row));
    SizeBoxes<<<BAIGrid(m + 1, THREADS), THREADS, 0, stream>>>(boxes, L->A.n, L->listed.first);
    BAITry(BAIScan(&state->s, (long long)m + 1, L->listed.first, L->listed.first));
  }
  FillBoxes<<<BAIGrid(m, THREADS), THREADS, 0, stream>>>(boxes, L->A, L->aggregate, L->listed);
  CUDATry(cudaGetLastError());
  return state->field ? BAINumber(state->s, m, {.rows = 1, .fields = (int)state->p.fields, .to = state->field})
                      : BAIStatusOf(BAI_OK);
}

/* A matching of a matrix. If rows is not NULL, the host does not know the numbers of its rows and entries: the last
   rows are empty, and *rows is the number of the others */
struct Matching {
  BAIMatching m;
  const int  *rows;
};

/* Calls BAIMatchBegin() for all rows, a thread for each; leave is its parameter. Also empties the offers to pairs,
   unless to_pairs is NULL */
static __global__ void Begin(BAIMatching m, uint64_t *to_pairs, int leave)
{
  const int i = Thread();

  if (i >= m.A.n) return;
  BAIMatchBegin(&m, i, leave);
  if (to_pairs) to_pairs[i] = 0;
}

/* The row of this team of lanes, or -1 behind the last one */
static __device__ inline int RowOfTeam(int n, int team)
{
  const long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / team;

  return i < n ? (int)i : -1;
}

/* The largest number of the lanes of a team. All lanes of a warp call this together */
template <typename T>
static __device__ inline T LargestOf(T number, int team)
{
  for (int lanes = team / 2; lanes; lanes /= 2) {
    const T other = __shfl_xor_sync(~0u, number, lanes);

    if (other > number) number = other;
  }
  return number;
}

/* Finds the largest weight and the choices of each row, by a team for each */
static __global__ void FindChoices(Matching matching, int team)
{
  BAIMatching    m = matching.m;
  const int      i = RowOfTeam(m.A.n, team), lane = (int)threadIdx.x % team, base = (int)threadIdx.x % BAI_LANES - lane;
  const unsigned before = ((1u << lane) - 1) << base, all = team == BAI_LANES ? ~0u : ((1u << team) - 1) << base;
  float          most  = i < 0 ? -1 : m.most[i];
  const int      begin = most < 0 ? 0 : m.A.i[i], end = most < 0 ? 0 : m.A.i[i + 1];
  int            count = 0;

  if (matching.rows) m.rough = BAIMatchIsRough(m.A.i[m.A.n], *matching.rows);
  for (int k = begin + lane; k < end; k += team) {
    const uint64_t rank = BAIMatchRank(&m, i, k);

    m.choice[k] = rank;
    most        = fmaxf(most, BAIMatchWeightOf(rank));
  }
  most = LargestOf(most, team);
  for (int k = begin; __any_sync(~0u, k < end); k += team) {
    const uint64_t rank = k + lane < end ? m.choice[k + lane] : 0;
    const bool     is   = BAIMatchIsChoice(rank, most);
    const unsigned kept = __ballot_sync(~0u, is);

    if (is) m.choice[begin + count + __popc(kept & before)] = rank;
    count += __popc(kept & all);
  }
  if (i < 0 || lane) return;
  m.most[i]    = most;
  m.choices[i] = count;
}

/* A row that makes offers, or -1, and its choices */
struct Suitor {
  int i, begin, count;
};

static __device__ inline Suitor SuitorOf(const BAIMatching &m, int i)
{
  if (i < 0) return {-1, 0, 0};
  return {i, m.A.i[i], m.choices[i]};
}

/* The best choice of a row, see BAIMatchChoose(), or 0, by a team whose lanes all get it. All lanes of a warp call this
   together */
static __device__ inline uint64_t Choose(const BAIMatching &m, const Suitor &s, int team, uint64_t *had)
{
  const int                base = (int)threadIdx.x % BAI_LANES / team * team;
  uint64_t                 offer;
  const unsigned long long mine = BAIMatchChoose(&m, s.i, s.begin, s.count, (int)threadIdx.x % team, team, &offer),
                           best = LargestOf(mine, team);
  const unsigned of             = __ballot_sync(~0u, mine == best) >> base;

  *had = __shfl_sync(~0u, offer, __ffs((int)of) - 1, team);
  return best;
}

/* Makes an offer to a row, which keeps the best one, by the first lane of a team. Returns the offer that it had */
static __device__ inline uint64_t Offer(const BAIMatching &m, uint64_t offer, int to, int team)
{
  unsigned long long had = 0;

  if (offer && threadIdx.x % team == 0) had = atomicMax((unsigned long long *)&m.offer[to], (unsigned long long)offer);
  return __shfl_sync(~0u, had, 0, team);
}

/* The row of this team, if it makes offers */
static __device__ inline Suitor OpenRow(const BAIMatching &m, int team)
{
  const int i = RowOfTeam(m.A.n, team);

  return SuitorOf(m, i >= 0 && BAIMatchIsOpen(&m, i) ? i : -1);
}

/* Each team makes the offers of its row until another row keeps one. If that row gives up an offer for it, the team
   goes on with the row that had made the other offer, which is most likely the one that it saw when it chose: so it
   reads the choices of that row while its offer is on the way */
static __global__ void MakeOffers(BAIMatching m, int team)
{
  Suitor s = OpenRow(m, team);

  while (__any_sync(~0u, s.i >= 0)) {
    uint64_t       seen;
    const uint64_t choice = Choose(m, s, team, &seen), offer = choice ? BAIMatchOfferFor(choice, s.i) : 0;
    const Suitor   next = SuitorOf(m, BAIMatchRow(seen));
    const uint64_t had  = Offer(m, offer, BAIMatchRow(choice), team);

    if (!offer) s.i = -1;
    else if (offer > had) s = had == seen ? next : SuitorOf(m, BAIMatchRow(had));
    if (s.i < 0) s.count = 0;
  }
}

/* Matches rows whose offers meet, by a thread for each row. Sets root, for a prefix sum, to 1 for the first row of each
   pair and for a row without a partner, and to 0 for the others and for root[n], which needs a thread too */
static __global__ void Accept(BAIMatching m, int *root)
{
  const int i = Thread();

  if (i < m.A.n) BAIMatchAccept(&m, i);
  if (i <= m.A.n) root[i] = i < m.A.n && m.mate[i] >= i;
}

/* Makes the offers of unmatched rows to pairs, a team for each row; offers are kept by the first rows of pairs */
static __global__ void OfferToPairs(BAIMatching m, int team)
{
  const Suitor   s = OpenRow(m, team);
  uint64_t       had;
  const uint64_t choice = Choose(m, s, team, &had);

  (void)Offer(m, choice ? BAIMatchOfferFor(choice, s.i) : 0, choice ? BAIFirstOfPair(m.mate, BAIMatchRow(choice)) : 0,
              team);
}

/* Lets rows join the pairs that keep their offers, by a thread for each pair */
static __global__ void Join(BAIMatching m, int *root)
{
  const int i = Thread(), row = i < m.A.n ? BAIMatchRow(m.offer[i]) : -1;

  if (row < 0) return;
  m.mate[row] = -2 - i;
  root[row]   = 0;
}

/* Memory for passes of matching: of each row, of the entries, of the numbers of the pairs of a pass, and, if there are
   few rows, of coarse matrices */
struct Passes {
  BAIRoom     rooms[6];
  BAIMatching m;
  uint64_t   *offers; /* room for two offers of each row */
  int        *mate, *root, *pair, *next, *listed, *rows;
};

/* Gets memory for matching a matrix and its coarse matrices */
static BAIStatus Prepare(BAILevelsState state, const BAIRows &A, Passes *p)
{
  const size_t n = (size_t)A.n, numbers = n + 1;

  BAITry(p->rooms[0].Get(state, 2 * n, &p->offers));
  BAITry(p->rooms[1].Get(state, n, &p->m.d));
  BAITry(p->rooms[2].Get(state, (size_t)A.nnz, &p->m.choice));
  BAITry(p->rooms[3].Get(state, 6 * numbers + 2 * n + 1, &p->mate));
  p->root      = p->mate + numbers;
  p->pair      = p->root + numbers;
  p->next      = p->pair + numbers;
  p->listed    = p->next + numbers;
  p->rows      = p->listed + 2 * numbers;
  p->m.choices = p->rows + 1;
  p->m.most    = reinterpret_cast<float *>(p->m.choices + n);
  p->m.mate    = p->mate;
  p->m.both    = !state->info.hermitian;
  p->m.field   = state->field;
  return BAIStatusOf(BAI_OK);
}

/* Gets memory for count coarse matrices, if there are few rows */
static BAIStatus PrepareMatrices(BAILevelsState state, const BAIRows &A, int count, Passes *p, BAIRows *C)
{
  const size_t n = (size_t)A.n, nnz = (size_t)A.nnz, all = (size_t)count;
  int         *numbers;
  BAIScalar   *a;

  BAITry(p->rooms[4].Get(state, all * (n + 1 + nnz), &numbers));
  BAITry(p->rooms[5].Get(state, all * nnz, &a));
  for (size_t k = 0; k < all; k++) {
    C[k].i = numbers + k * (n + 1 + nnz);
    C[k].j = C[k].i + n + 1;
    C[k].a = a + k * nnz;
  }
  return BAIStatusOf(BAI_OK);
}

/* Matches the rows of A in pairs: sets p->mate as BAIMatching says, and p->root as Accept() does. If join, each row
   that is left over joins a pair at the end. BAIMatchBegin() explains leave, and Matching explains rows */
static BAIStatus Match(BAILevelsState state, const BAIRows &A, const int *rows, int leave, bool join, Passes *p)
{
  const int    team = A.nnz > (int64_t)BAI_MATCH_LONG * A.n ? LARGE_TEAM : TEAM;
  const dim3   grid = BAIGrid(A.n, THREADS), teams = BAIGrid((long long)A.n * team, THREADS);
  cudaStream_t stream   = state->s.stream;
  BAIMatching &m        = p->m;
  uint64_t    *to_pairs = join ? p->offers + A.n : NULL;

  m.A     = A;
  m.offer = p->offers;
  m.join  = 0;
  m.rough = BAIMatchIsRough(A.nnz, A.n);
  Begin<<<grid, THREADS, 0, stream>>>(m, to_pairs, leave);
  FindChoices<<<teams, THREADS, 0, stream>>>({m, rows}, team);
  MakeOffers<<<teams, THREADS, 0, stream>>>(m, team);
  Accept<<<BAIGrid(A.n + 1, THREADS), THREADS, 0, stream>>>(m, p->root);
  if (join) {
    m.join  = 1;
    m.offer = to_pairs;
    OfferToPairs<<<teams, THREADS, 0, stream>>>(m, team);
    Join<<<grid, THREADS, 0, stream>>>(m, p->root);
  }
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* The pairs and single rows of the matrix of a pass, for NumberPairs(). Arrays that may be NULL are then not used */
struct Pairs {
  const int *mate, *number; /* mate of BAIMatching; prefix sum of the root of Accept() */
  int        n, rows;       /* rows of the matrix, and of the level */
  int       *pair;          /* NULL, or gets the number of each row's pair, or -1 for a row in no aggregate */
  int       *aggregate;     /* NULL, or has the row of the matrix of each row of the level, and gets that row's pair */
  const int *field;         /* NULL, or the field of each row */
  int       *next;          /* gets the fields of pairs */
  /* NULL, or gets the two rows of each pair, the second of which is -1 for a single row, and behind the last pair -1
     and -1; rows that have joined a pair are not listed */
  int *listed;
};

/* The number of the pair of a row, or -1 */
static __device__ inline int PairOf(const Pairs &p, int row)
{
  return p.mate[row] == -1 ? -1 : p.number[BAIFirstOfPair(p.mate, row)];
}

/* Numbers pairs, by a thread for each row of the matrix and of the level, and sets *pairs to how many they are */
static __global__ void NumberPairs(Pairs p, int *pairs)
{
  const int i = Thread();

  if (i == 0) *pairs = p.number[p.n];
  if (p.aggregate && i < p.rows && p.aggregate[i] >= 0) p.aggregate[i] = PairOf(p, p.aggregate[i]);
  if (i >= p.n) return;
  if (p.pair) p.pair[i] = PairOf(p, i);
  if (p.listed && i >= p.number[p.n]) p.listed[2LL * i] = p.listed[2LL * i + 1] = -1;
  if (p.mate[i] < i) return;
  const int of = p.number[i];

  if (p.field) p.next[of] = p.field[i];
  if (!p.listed) return;
  p.listed[2 * of]     = i;
  p.listed[2 * of + 1] = p.mate[i] > i ? p.mate[i] : -1;
}

/* Numbers the pairs and single rows of the matrix of a pass, which has n rows, in the order of their first rows, and
   puts the aggregates of the level together to those of the pairs; pair is as in Pairs. *p->rows is how many they are,
   and p->listed has their rows, unless it is the last pass; field becomes their fields. Overwrites root */
static BAIStatus TakePairs(BAILevelsState state, int n, BAIDeviceLevel *L, int *pair, bool last, Passes *p)
{
  cudaStream_t stream = state->s.stream;
  const size_t bytes  = (size_t)n * sizeof(int);
  const Pairs  pairs  = {p->mate,      p->root, n,
                         L->A.n,       pair,    pair == L->aggregate ? NULL : L->aggregate,
                         state->field, p->next, last ? NULL : p->listed};

  if (state->field) CUDATry(cudaMemsetAsync(p->next, 0, bytes, stream));
  BAITry(BAIScan(&state->s, (long long)n + 1, p->root, p->root));
  NumberPairs<<<BAIGrid(std::max(n, L->A.n), THREADS), THREADS, 0, stream>>>(pairs, p->rows);
  CUDATry(cudaGetLastError());
  if (state->field) CUDATry(cudaMemcpyAsync(state->field, p->next, bytes, cudaMemcpyDeviceToDevice, stream));
  return BAIStatusOf(BAI_OK);
}

/* A temporary matrix between two levels */
struct Between {
  BAILevelsState state;
  BAIDeviceLevel level = {};

  explicit Between(BAILevelsState s) : state(s) {}
  ~Between() { BAIDeviceFreeMatrix(state, &level); }
};

/* Computes the coarse matrix of m aggregates, whose rows are listed: its entries are sums of entries, or of their
   magnitudes. All ghosts together become one more column, as in host/coarsen.c. BAICoarse explains unknown */
static BAIStatus Aggregated(BAILevelsState state, const BAIDeviceLevel &of, int m, int *aggregate,
                            const BAIMembers &listed, bool magnitudes, bool unknown, BAIDeviceLevel *between)
{
  BAIDeviceLevel fine = of;
  BAIRoom        room;
  int           *ghost = NULL;

  fine.m         = m;
  fine.most      = listed.each;
  fine.aggregate = aggregate;
  fine.listed    = listed;
  if (of.A.ghosts) {
    BAITry(room.Get(state, (size_t)of.A.ghosts, &ghost));
    BAITry(BAINumber(state->s, of.A.ghosts, {.rows = of.A.ghosts, .add = m, .to = ghost}));
  }
  return BAIGalerkin(state, &fine, {of.A.ghosts ? 1 : 0, ghost, NULL, magnitudes, false, unknown}, NULL, between);
}

/*
   Makes aggregates by passes of matching, each on the coarse matrix of the pass before. Where there are few rows a
   launch takes longer than its work, and a wait of the host longer than several launches. So the host does not ask for
   the sizes of these coarse matrices: they have as many rows as the level, of which the last are empty
*/
static BAIStatus AggregatePairs(BAILevelsState state, int level, BAIDeviceLevel *L)
{
  const int             n                           = L->A.n;
  const int             rows                        = (int)BAIRowsOfPoint(state->p.modes, level, state->points);
  const int             passes                      = BAIMatchPasses(L->A.nnz, n, rows, state->p.modes);
  const bool            few                         = BAIHasFewRows(state, n);
  Passes                p                           = {};
  const BAIDeviceLevel *C                           = L;
  Between               between[BAI_MATCH_MOST - 1] = {Between(state), Between(state), Between(state)};

  BAITry(Prepare(state, L->A, &p));
  if (few) {
    BAIRows C[BAI_MATCH_MOST - 1] = {};

    BAITry(PrepareMatrices(state, L->A, passes - 1, &p, C));
    for (int pass = 0; pass + 1 < passes; pass++) between[pass].level.A = C[pass];
  }
  for (int pass = 0; pass < passes; pass++) {
    const bool      last = pass + 1 == passes;
    BAIDeviceLevel *next = last ? NULL : &between[pass].level;
    int *const      to   = !pass ? L->aggregate : last ? NULL : p.pair;

    BAITry(Match(state, C->A, pass && few ? p.rows : NULL, !pass ? 1 + !(level + state->p.above) : 0, last, &p));
    BAITry(TakePairs(state, C->A.n, L, to, last, &p));
    L->m = n;
    if (last && !state->p.modes) BAITry(BAIListAggregates(state, L, NULL)); /* before the host waits */
    if (!few || last) BAITry(BAIDownload(&state->s, 1, p.rows, &L->m));
    if (!L->m || last) break;
    BAITry(Aggregated(state, *C, L->m, to, {NULL, p.listed, NULL, 1, 2}, false, few, next));
    C = next;
  }
  L->most = BAIMatchLargest(passes);
  return BAIStatusOf(BAI_OK);
}

/* Copies the aggregates of the levels of the transposed matrix */
static BAIStatus AggregateLike(BAILevelsState state, int level, BAIDeviceLevel *L)
{
  const BAIDeviceLevel *like = BAILevelsStateOf(state->p.like)->level + level;

  L->m    = like[1].A.n / BAIColumnsOfP(state->p.modes);
  L->most = like->most;
  if (!like->aggregate) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(L->aggregate, like->aggregate, (size_t)L->A.n * sizeof(int), cudaMemcpyDeviceToDevice,
                          state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Makes the aggregates of a level: boxes on a grid; otherwise those that the caller gives, or else pairs of pairs. Sets
   aggregate, m and most of L, and for a grid box and next */
static BAIStatus AggregateRows(BAILevelsState state, int level, BAIDeviceLevel *L)
{
  BAIInt largest;
  bool   alone = false;

  if (L->grid.m[0]) BAITry(BAIDeviceBoxes(state, L->A, L->grid, &L->box, &alone));
  if (BAIGridHasBoxes(&L->box)) {
    state->p.given = 0;
    return AggregateBoxes(state, alone, L);
  }
  if (level >= state->p.given) return AggregatePairs(state, level, L);
  L->m    = (int)BAICountAggregates(L->A.n, state->p.aggregate[level], &largest);
  L->most = (int)largest;
  BAITry(BAINarrow(state->s, (size_t)L->A.n, state->p.aggregate[level], L->aggregate));
  if (state->p.field && level + 1 == state->p.given)
    BAITry(BAINarrow(state->s, (size_t)L->m, state->p.field, state->field));
  return BAIStatusOf(BAI_OK);
}

/* Makes aggregates of points, from a matrix of magnitudes with a row for each point, and gives each row the aggregate
   of its point. Sets m, most and next of L, and L->aggregate, which is allocated before; and L->grid if the points are
   a grid. L->box stays empty, so aggregates of points are checked as any others, see BAIFits() */
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
  BAITry(BAINumber(state->s, n, {.rows = rows, .to = point}));
  BAITry(Aggregated(state, *L, n / rows, point, {NULL, NULL, NULL, 1, rows}, true, false, points));
  points->aggregate = point;
  points->grid      = L->grid;
  if (!level) BAITry(BAIDeviceFindGrid(state, &p, points->A, &points->grid));
  BAITry(AggregateRows(state, level, points));
  L->grid = BAIGridHasBoxes(&points->box) ? points->grid : L->grid;
  L->next = points->next;
  L->m    = points->m;
  L->most = points->most * rows;
  BAIDropList(state, points);
  return BAINumber(state->s, n, {.rows = rows, .from = point, .to = L->aggregate});
}

/* The operations Aggregate and Product of ../ops.def */
BAIStatus BAIDeviceAggregate(BAILevelsState state, BAIInt *count)
{
  const int       level = state->levels - 1;
  BAIDeviceLevel *L     = &state->level[level];
  const size_t    n     = (size_t)L->A.n;

  *count = 0;
  if (!n) return BAIStatusOf(BAI_OK);
  /* the fields of rows in given aggregates are not known */
  if (state->field && level >= state->p.given) {
    BAITry(BAIKeep(state, n, &L->field));
    CUDATry(cudaMemcpyAsync(L->field, state->field, n * sizeof(int), cudaMemcpyDeviceToDevice, state->s.stream));
  }
  BAITry(BAIKeep(state, n, &L->aggregate));
  if (state->p.like) BAITry(AggregateLike(state, level, L));
  else BAITry(state->p.modes ? AggregatePoints(state, level, L) : AggregateRows(state, level, L));
  if (L->m && !L->listed.first) BAITry(BAIListAggregates(state, L, NULL));
  if (state->p.modes && L->m) BAITry(BAIDeviceOrthonormalize(state, L));
  *count = L->m;
  return BAIStatusOf(BAIRowsOfNext(L->m, state->p.modes) > INT32_MAX ? BAI_ERR_SIZE : BAI_OK);
}

/* Sets the aggregates of ghosts, their numbers in these, and their rows of P */
static BAIStatus TakeGhosts(BAILevelsState state, BAIDeviceLevel *L, const BAILevelsGhosts *ghosts)
{
  const size_t   n = (size_t)L->A.ghosts, modes = (size_t)state->p.modes;
  const int     *of   = static_cast<const int *>(ghosts->aggregate);
  BAIDeviceLevel list = {};

  L[1].A.ghosts = (int)BAIRowsOfNext(ghosts->count, state->p.modes);
  if (!n || !L->A.n || !L->m) return BAIStatusOf(BAI_OK);
  BAITry(BAIKeep(state, 2 * n, &L->ghost));
  L->member = L->ghost + n;
  for (int p = 0; p < ghosts->peers; p++) {
    const BAIInt begin = ghosts->begin[p], own = ghosts->begin[p + 1] - begin;

    if (own)
      BAITry(BAINumber(state->s, (int)own, {.index = of + begin, .add = (int)ghosts->next[p], .to = L->ghost + begin}));
  }
  list.A.n       = (int)n;
  list.aggregate = L->ghost;
  BAITry(BAIListAggregates(state, &list, L->member));
  BAIDropList(state, &list);
  BAITry(BAINumber(state->s, (int)n, {.index = L->ghost, .add = L->m, .to = L->ghost}));
  if (modes)
    CUDATry(cudaMemcpyAsync(L->P + (size_t)L->A.n * modes, ghosts->P, n * modes * sizeof(*L->P),
                            cudaMemcpyDeviceToDevice, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceProduct(BAILevelsState state, const BAILevelsGhosts *ghosts)
{
  BAIDeviceLevel *L = BAIDeviceLast(state), *next = L + 1;

  if (!state->kept) {
    if (BAIRowsOfNext((int64_t)L->m + ghosts->count, state->p.modes) > INT32_MAX) return BAIStatusOf(BAI_ERR_SIZE);
    next->grid = L->next;
    BAINextModes(state);
    BAITry(TakeGhosts(state, L, ghosts));
  }
  state->levels++;
  if (!L->A.n || !L->m) return BAIStatusOf(BAI_OK);
  if (L->P && state->kept) return BAIModesSums(state, L, L->ghost, next);
  const int columns = next->A.ghosts / BAIColumnsOfP(state->p.modes);

  if (L->P) return BAIModesGalerkin(state, L, {columns, L->ghost}, next);
  return BAIGalerkin(state, L, {columns, L->ghost, L->member}, &state->sides, next);
}
