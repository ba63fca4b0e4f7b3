/*
   Set-up of many levels on a device: what is found here is what host/coarsen.c finds, to the bit
*/
#include "levels.h"
#include "../../common/hash.h"
#include "../../common/cuda/scan_sort.h"
#include <cub/block/block_reduce.cuh>
#include <float.h>
#include <utility>
#include <vector>

enum {
  THREADS = 256,
  BLOCKS  = 16 /* a multiprocessor, where a thread looks at many rows */
};

/* Memory for a while: in the order of the stream, as all that uses it */
struct Room : BAITemporary {
  template <typename T>
  BAIStatus Get(BAILevelsState state, size_t count, T **pointer)
  {
    BAITry(Allocate(&state->s, (count ? count : 1) * sizeof(T)));
    *pointer = static_cast<T *>(p);
    return BAIStatusOf(BAI_OK);
  }
};

/* The diagonal entry of a row, 0 if it is missing, and the sum of the magnitudes of the others */
static __device__ inline BAIScalar Diagonal(const BAIDeviceRows &A, int row, BAIReal *sum)
{
  BAIScalar d = 0;

  *sum = 0;
  for (int k = A.i[row]; k < A.i[row + 1]; k++) {
    if (A.j[k] == row) d += A.a[k];
    else *sum += BAIAggregateMagnitude(A.a[k]);
  }
  return d;
}

static __device__ inline BAIScalar Entry(const BAIDeviceRows &A, int row, int col)
{
  int low = A.i[row], high = A.i[row + 1];

  while (high - low > 8) { /* if columns ascend */
    const int middle = low + (high - low) / 2;

    if (A.j[middle] > col) high = middle;
    else low = middle;
  }
  for (; low < high; low++)
    if (A.j[low] == col) return A.a[low];
  for (int k = A.i[row]; k < A.i[row + 1]; k++) /* if they do not */
    if (A.j[k] == col) return A.a[k];
  return 0;
}

/* What a look at the matrix finds. It is copied whole, so it has no padding */
struct Findings {
  long long          bad;           /* the first row whose diagonal entry is zero or missing */
  int                other;         /* rows that are not as in a Hermitian matrix with a positive diagonal, */
  int                opposite;      /* and with a negative one */
  int                zeros;         /* rows of zeros */
  int                longest;       /* entries of a row, at most */
  double             less, more;    /* sums of negative couplings, and of others */
  double             norm;          /* of magnitudes of a row's entries the largest sum */
  double             skew, coupled; /* see BAILevelsInfo */
  unsigned long long least, most;   /* diagonal entries, the bits of their magnitudes as doubles */
  unsigned long long pattern;
};

/* What some of the rows show is put together with what others do */
struct Together {
  __device__ Findings operator()(const Findings &a, const Findings &b) const
  {
    return {a.bad < b.bad ? a.bad : b.bad,
            a.other + b.other,
            a.opposite + b.opposite,
            a.zeros + b.zeros,
            a.longest > b.longest ? a.longest : b.longest,
            a.less + b.less,
            a.more + b.more,
            a.norm > b.norm ? a.norm : b.norm,
            a.skew + b.skew,
            a.coupled + b.coupled,
            a.least < b.least ? a.least : b.least,
            a.most > b.most ? a.most : b.most,
            a.pattern + b.pattern};
  }
};

/* The numbers of a rank's rows and ghosts among all rows */
struct Numbers {
  BAIInt        first;
  const BAIInt *ghost;
};

/* The entries of a row from the first one on, by such steps. All 32 lanes of a warp share a row, or a thread has it */
static __device__ void LookAtRow(const BAIDeviceRows &A, Numbers numbers, int row, int first, int step, Findings &mine)
{
  const BAIReal   epsilon = 100 * (sizeof(BAIReal) > sizeof(float) ? (BAIReal)DBL_EPSILON : (BAIReal)FLT_EPSILON);
  BAIReal         sum;
  const BAIScalar d              = Diagonal(A, row, &sum);
  const double    magnitude      = (double)BAIAggregateMagnitude(d);
  const unsigned long long bits  = (unsigned long long)__double_as_longlong(magnitude);
  const int                zero  = !(magnitude > 0) && !(sum > 0);
  int                      other = 0;

  for (int k = A.i[row] + first; k < A.i[row + 1]; k += step) {
    const BAIReal w = BAIAggregateMagnitude(A.a[k]);

    mine.pattern += BAIHash((uint64_t)row << 32 ^ (uint64_t)A.j[k]) ^ (uint64_t)k;
    if (A.j[k] == row) continue;
    if (BAIRealPart(A.a[k]) < 0) mine.less += (double)w;
    else mine.more += (double)w;
    if (A.j[k] >= A.n) {
      mine.coupled += (double)w;
      mine.skew += BAILevelsSkew(A.a[k], numbers.first + row, numbers.ghost[A.j[k] - A.n]);
      continue;
    }
    if (!other &&
        !(BAIAggregateMagnitude(A.a[k] - BAIConj(Entry(A, A.j[k], row))) <= epsilon * (w + sum + (BAIReal)magnitude)))
      other = 1;
  }
  if (step > 1) other = __any_sync(~0u, other);
  if (first) return;
  if (BAILevelsIsBad((BAIReal)magnitude, sum) && row < mine.bad) mine.bad = row;
  mine.zeros += zero;
  mine.norm = BAILargerNorm(mine.norm, magnitude + (double)sum);
  if (A.i[row + 1] - A.i[row] > mine.longest) mine.longest = A.i[row + 1] - A.i[row];
  if (bits < mine.least) mine.least = bits;
  if (bits > mine.most) mine.most = bits;
  mine.other += other || (!(BAIRealPart(d) > 0) && !zero);
  mine.opposite += other || (!(BAIRealPart(d) < 0) && !zero);
}

static __global__ __launch_bounds__(THREADS) void Look(BAIDeviceRows A, Numbers numbers, Findings *findings)
{
  enum {
    LANES    = 32,
    LONG_ROW = 256 /* rows with more entries are shared */
  };
  using Reduce = cub::BlockReduce<Findings, THREADS>;
  __shared__ typename Reduce::TempStorage storage;
  const int                               lane = (int)threadIdx.x % LANES;
  Findings                                mine = {A.n, 0, 0, 0, 0, 0, 0, 0, 0, 0, ~0ull, 0, 0};

  for (int base = (int)(blockIdx.x * blockDim.x + threadIdx.x) - lane; base < A.n;
       base += (int)(gridDim.x * blockDim.x)) {
    const int  row     = base + lane;
    const bool is_long = row < A.n && A.i[row + 1] - A.i[row] > LONG_ROW;

    if (row < A.n && !is_long) LookAtRow(A, numbers, row, 0, 1, mine);
    for (unsigned rest = __ballot_sync(~0u, is_long); rest; rest &= rest - 1)
      LookAtRow(A, numbers, base + __ffs((int)rest) - 1, lane, LANES, mine);
  }
  mine = Reduce(storage).Reduce(mine, Together());
  if (!threadIdx.x) findings[blockIdx.x] = mine;
}

static __global__ __launch_bounds__(THREADS) void AllFindings(int count, Findings *findings)
{
  using Reduce = cub::BlockReduce<Findings, THREADS>;
  __shared__ typename Reduce::TempStorage storage;
  Findings                                all = findings[0];

  for (int k = (int)threadIdx.x; k < count; k += THREADS)
    all = k == 0 ? all : k == (int)threadIdx.x ? findings[k] : Together()(all, findings[k]);
  all = Reduce(storage).Reduce(all, Together(), count < THREADS ? count : THREADS);
  if (!threadIdx.x) findings[0] = all;
}

static BAIStatus LookOnce(BAILevelsState state, const BAIDeviceRows &A, Findings *found)
{
  Room      room, ghost_room;
  Findings *device;
  Numbers   numbers = {state->p.first, NULL};
  BAIInt   *ghost;

  const int wanted = (int)BAIGrid(A.n, THREADS).x, room_for = state->s.processors * BLOCKS,
            blocks = wanted < room_for ? wanted : room_for;

  BAITry(room.Get(state, (size_t)blocks, &device));
  if (A.ghosts) {
    BAITry(ghost_room.Get(state, (size_t)A.ghosts, &ghost));
    CUDATry(cudaMemcpyAsync(ghost, state->p.ghost, (size_t)A.ghosts * sizeof(*ghost), cudaMemcpyHostToDevice,
                            state->s.stream));
    numbers.ghost = ghost;
  }
  Look<<<(unsigned)blocks, THREADS, 0, state->s.stream>>>(A, numbers, device);
  AllFindings<<<1, THREADS, 0, state->s.stream>>>(blocks, device);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(found, device, sizeof(*found), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  found->pattern += BAIHash((uint64_t)A.n);
  return BAIStatusOf(BAI_OK);
}

/* The values of the finest level's matrix are those of -A; the caller's stay as they are */
BAIStatus BAINegateFinest(BAILevelsState state)
{
  BAIDeviceRows *A = &state->level[0].A;

  if (state->merged) return BAINegate(state, A->nnz, A->a, const_cast<BAIScalar *>(A->a));
  if (!state->negated) BAITry(BAICUDAAllocate(&state->s, (size_t)A->nnz * sizeof(BAIScalar), &state->negated));
  BAITry(BAINegate(state, A->nnz, A->a, state->negated));
  A->a = state->negated;
  return BAIStatusOf(BAI_OK);
}

/* By which power of two the matrix is multiplied in the levels */
BAIReal BAIDeviceScale(BAILevelsState state)
{
  return state->single && isfinite(state->largest) && state->largest > 0 ? (BAIReal)ldexp(1.0, -ilogb(state->largest))
                                                                         : 1;
}

/* What the matrix is like. If it is Hermitian with a negative diagonal, A becomes -A; of several ranks only if all say
 * so, see BAIDeviceAgree() */
static BAIStatus LookAt(BAILevelsState state, BAIDeviceRows *A, bool values_only, int *longest, int *zeros)
{
  Findings found;

  BAITry(LookOnce(state, *A, &found));
  if (values_only && found.pattern != state->pattern) return BAIStatusOf(BAI_ERR_PATTERN);
  if (state->p.like) found.other = found.opposite = 1;
  state->negative = found.other && !found.opposite;
  if (state->negative && !state->p.all) {
    BAITry(BAINegateFinest(state));
    BAITry(LookOnce(state, *A, &found));
  } else if (state->negative) {
    std::swap(found.less, found.more);
    found.other = 0;
  }
  *longest = found.longest;
  *zeros   = found.zeros;
  if (found.bad < A->n) {
    BAIStatus status = BAIStatusOf(BAI_ERR_DIAGONAL);

    status.row = (BAIInt)found.bad;
    return status;
  }
  double least;

  memcpy(&least, &found.least, sizeof(least));
  memcpy(&state->largest, &found.most, sizeof(state->largest));
  state->pattern   = found.pattern;
  state->hermitian = !found.other;
  state->less      = found.less;
  state->more      = found.more;
  state->norm      = found.norm;
  state->skew      = found.skew;
  state->coupled   = found.coupled;
  state->over      = found.other || found.more > BAI_LEVELS_OTHER_SIGN * found.less ? 1 : state->p.over;
  const bool fits  = state->largest <= least * BAI_LEVELS_SINGLE_RANGE &&
    (state->p.single != BAI_SINGLE_HERMITIAN || !found.other);
  const int single = state->p.single > 0 || (state->p.single < 0 && fits);

  if (!values_only) state->single = single;
  else if (single != state->single && state->p.single < 0)
    return BAIStatusOf(BAI_ERR_PATTERN); /* levels of another type */
  state->scale = BAIDeviceScale(state);
  return BAIStatusOf(BAI_OK);
}

/* The numbering of a grid as a row in the middle shows it, see host/coarsen.c */
static BAIStatus FindGrid(BAILevelsState state, const BAILevelsParameters *p, const BAIDeviceRows &A,
                          BAINumbering *grid)
{
  enum {
    MOST = 64
  };
  const int        begin = A.n / 2, rows = A.n - begin < BAI_GRID_LOOKS ? A.n - begin : BAI_GRID_LOOKS;
  int              most = 0;
  std::vector<int> i((size_t)rows + 1), j;
  BAIInt           offset[MOST];

  *grid = BAINumbering{};
  if (!rows) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(i.data(), A.i + begin, i.size() * sizeof(int), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  int known = 0; /* rows up to the first that is too long */

  while (known < rows && i[(size_t)known + 1] - i[(size_t)known] <= MOST) known++;
  j.resize((size_t)(i[(size_t)known] - i[0]));
  if (!j.empty())
    CUDATry(cudaMemcpyAsync(j.data(), A.j + i[0], j.size() * sizeof(int), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  for (int r = 0; r < known; r++) {
    int count = 0;

    for (int k = i[(size_t)r]; k < i[(size_t)r + 1]; k++) {
      const int o = j[(size_t)(k - i[0])] - (begin + r);
      int       at;

      if (o <= 0 || begin + r + o >= A.n) continue;
      for (at = count++; at > 0 && offset[at - 1] > o; at--) offset[at] = offset[at - 1];
      offset[at] = o;
    }
    if (count <= most) continue;
    most = count;
    BAIGridFind(A.n, p, count, offset, grid);
  }
  return BAIStatusOf(BAI_OK);
}

/* A thread a box; see host/coarsen.c */
static __global__ void Boxes(BAIDeviceRows A, BAINumbering grid, BAIBox box, BAINumbering next, int m, int *aggregate)
{
  const int c   = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  bool      all = true;

  if (c >= m) return;
  const BAIInt number = c + next.skip;
  const int    x0 = (int)(number % next.m[0] * box.m[0]), y0 = (int)(number / next.m[0] % next.m[1] * box.m[1]),
            z0 = (int)(number / next.m[0] / next.m[1] * box.m[2]);
  for (int pass = 0; pass < 2; pass++) {
    for (int z = z0; z < z0 + box.m[2] && z < grid.m[2]; z++) {
      for (int y = y0; y < y0 + box.m[1] && y < grid.m[1]; y++) {
        for (int x = x0; x < x0 + box.m[0] && x < grid.m[0]; x++) {
          const int row = (int)((z * grid.m[1] + y) * grid.m[0] + x - grid.skip);
          BAIReal   sum;

          if (row < 0 || row >= A.n) continue;

          (void)Diagonal(A, row, &sum);
          if (pass) aggregate[row] = sum == 0 && !all ? -1 : c;
          else if (sum != 0) all = false;
        }
      }
    }
  }
}

static __global__ void Candidates(BAIDeviceRows A, int leave, int *mate, BAIReal *d)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  BAIReal   sum;

  if (i >= A.n) return;
  d[i]    = BAIAggregateMagnitude(Diagonal(A, i, &sum));
  mate[i] = sum == 0 || (leave && BAILevelsIsAlone(d[i], sum, leave > 1)) ? -1 : i;
}

/* The row that row i proposes to, or -1: one that is not matched, or, if it is to join, the first of a pair. both: the
 * coupling of two rows is what each of them has of the other */
static __device__ inline int Proposal(const BAIDeviceRows &A, int i, int join, bool both, bool exact, int fields,
                                      const int *field, const int *mate, const BAIReal *d, BAIReal *weight)
{
  BAIReal  best = -1, most = 0, sum = 0;
  uint64_t key = 0;
  int      to  = -1;

  for (int k = A.i[i]; k < A.i[i + 1]; k++) {
    const int j = A.j[k];

    if (j == i || j >= A.n) continue;
    const BAIReal  w = BAIMatchWeight(both ? A.a[k] + BAIConj(Entry(A, j, i)) : A.a[k], d[i], d[j], exact);
    const uint64_t e = BAIMatchKey(i, j);

    sum += BAIAggregateMagnitude(A.a[k]);
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

static __global__ void Propose(BAIDeviceRows A, bool both, bool exact, int fields, const int *field, const int *mate,
                               const BAIReal *d, int *proposal)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  BAIReal   weight;

  if (i < A.n) proposal[i] = mate[i] == i ? Proposal(A, i, 0, both, exact, fields, field, mate, d, &weight) : -1;
}

static __global__ void Accept(int n, const int *proposal, int *mate)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n && proposal[i] >= 0 && proposal[proposal[i]] == i) mate[i] = proposal[i];
}

static __global__ void ProposeJoin(BAIDeviceRows A, bool both, int fields, const int *field, const int *mate,
                                   const BAIReal *d, int *proposal, unsigned long long *claim, unsigned long long *best)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  BAIReal   weight;

  if (i >= A.n) return;
  proposal[i] = mate[i] == i ? Proposal(A, i, 1, both, !both, fields, field, mate, d, &weight) : -1;
  if (proposal[i] < 0) return;
  claim[i] = BAIJoinClaim(weight, i);
  atomicMax(&best[proposal[i]], claim[i]);
}

static __global__ void AcceptJoin(int n, const int *proposal, const unsigned long long *claim,
                                  const unsigned long long *best, int *mate)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n && proposal[i] >= 0 && claim[i] == best[proposal[i]]) mate[i] = -2 - proposal[i];
}

static BAIStatus Match(BAILevelsState state, const BAIDeviceRows &A, const int *field, int leave, int join, int *mate)
{
  const int    fields = (int)state->p.fields;
  const size_t n      = (size_t)A.n;
  const dim3   grid   = BAIGrid(A.n, THREADS);
  cudaStream_t stream = state->s.stream;
  Room         rooms[4];
  int         *proposal;
  BAIReal     *d;

  BAITry(rooms[0].Get(state, n, &proposal));
  BAITry(rooms[1].Get(state, n, &d));
  Candidates<<<grid, THREADS, 0, stream>>>(A, leave, mate, d);
  for (int round = 0; round < BAI_MATCH_ROUNDS + BAI_MATCH_ROUGH; round++) {
    const bool both = !state->hermitian, exact = !both && round < BAI_MATCH_ROUNDS;

    Propose<<<grid, THREADS, 0, stream>>>(A, both, exact, fields, field, mate, d, proposal);
    Accept<<<grid, THREADS, 0, stream>>>(A.n, proposal, mate);
  }
  if (join) {
    unsigned long long *claim, *best;

    BAITry(rooms[2].Get(state, n, &claim));
    BAITry(rooms[3].Get(state, n, &best));
    CUDATry(cudaMemsetAsync(best, 0, n * sizeof(*best), stream));
    ProposeJoin<<<grid, THREADS, 0, stream>>>(A, !state->hermitian, fields, field, mate, d, proposal, claim, best);
    AcceptJoin<<<grid, THREADS, 0, stream>>>(A.n, proposal, claim, best, mate);
  }
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

static __global__ void Roots(int n, const int *mate, int *root)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n) root[i] = mate[i] >= i;
  else if (i == n) root[i] = 0;
}

static __global__ void NumberRows(int n, const int *mate, const int *number, int *aggregate)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i >= n) return;
  const int of = mate[i] < -1 ? -2 - mate[i] : mate[i] >= 0 && mate[i] < i ? mate[i] : i;

  aggregate[i] = mate[i] == -1 ? -1 : number[of];
}

/* The numbers of pairs, in the order of the first row of each */
static BAIStatus Number(BAILevelsState state, int n, const int *mate, int *aggregate, int *m)
{
  Room rooms[2];
  int *root, *number;

  BAITry(rooms[0].Get(state, (size_t)n + 1, &root));
  BAITry(rooms[1].Get(state, (size_t)n + 1, &number));
  Roots<<<BAIGrid(n + 1, THREADS), THREADS, 0, state->s.stream>>>(n, mate, root);
  BAITry(BAIScan(&state->s, (long long)n + 1, root, number));
  NumberRows<<<BAIGrid(n, THREADS), THREADS, 0, state->s.stream>>>(n, mate, number, aggregate);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(m, number + n, sizeof(int), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

static __global__ void Begin(int n, int *aggregate)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n) aggregate[i] = i;
}

static __global__ void Compose(int n, const int *pair, int *aggregate)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n && aggregate[i] >= 0) aggregate[i] = pair[aggregate[i]];
}

static __global__ void FieldsOfPairs(int n, const int *mate, const int *pair, const int *field, int *next)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n && mate[i] >= i) next[pair[i]] = field[i];
}

static __global__ void FieldsOfRows(int n, int fields, int *field)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n) field[i] = i % fields;
}

/* Of the finest level */
BAIStatus BAIFieldsOfRows(BAILevelsState state, int n, int *field)
{
  FieldsOfRows<<<BAIGrid(n, THREADS), THREADS, 0, state->s.stream>>>(n, (int)state->p.fields, field);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Matrices between the passes, which go when they are not needed any longer */
struct Between {
  BAILevelsState state;
  BAIDeviceRows  A      = {};
  BAIScalar     *values = NULL;
  int           *of_row = NULL;
  BAIGather      gather = {};
  long long      finer  = 0;

  explicit Between(BAILevelsState s) : state(s) {}
  void Free()
  {
    if (!values) return;
    BAICUDAFree(&state->s, (size_t)finer * sizeof(*gather.entry), gather.entry);
    BAICUDAFree(&state->s, (size_t)(A.nnz + 1) * sizeof(int), gather.first);
    BAICUDAFree(&state->s, (size_t)(A.n + 1) * sizeof(int), (void *)A.i);
    BAICUDAFree(&state->s, (size_t)A.nnz * sizeof(int), (void *)A.j);
    BAICUDAFree(&state->s, (size_t)A.nnz * sizeof(BAIScalar), values);
    BAICUDAFree(&state->s, (size_t)A.nnz * sizeof(int), of_row);
    values = NULL;
  }
  ~Between() { Free(); }
};

/* Pairs of pairs, of which there are two or three passes: each matches the coarse matrix of the one before */
static BAIStatus AggregatePairs(BAILevelsState state, int level, BAIDeviceLevel *L, int *field)
{
  const int     passes = L->A.nnz > (long long)BAI_MATCH_LONG * L->A.n ? 3 : 2, n = L->A.n;
  BAIDeviceRows A      = L->A;
  const int    *of_row = L->of_row;
  Room          rooms[3];
  int          *mate, *pair, *next, m = n;
  Between       between[2] = {Between(state), Between(state)};

  BAITry(rooms[0].Get(state, (size_t)n, &mate));
  BAITry(rooms[1].Get(state, (size_t)n, &pair));
  BAITry(rooms[2].Get(state, (size_t)n, &next));
  Begin<<<BAIGrid(n, THREADS), THREADS, 0, state->s.stream>>>(n, L->aggregate);
  for (int pass = 0; pass < passes; pass++) {
    Between &C = between[pass % 2];

    BAITry(Match(state, A, field, !pass ? 1 + !(level + state->p.above) : 0, pass + 1 == passes, mate));
    BAITry(Number(state, A.n, mate, pair, &m));
    Compose<<<BAIGrid(n, THREADS), THREADS, 0, state->s.stream>>>(n, pair, L->aggregate);
    if (state->p.fields > 1) {
      FieldsOfPairs<<<BAIGrid(A.n, THREADS), THREADS, 0, state->s.stream>>>(A.n, mate, pair, field, next);
      CUDATry(cudaMemcpyAsync(field, next, (size_t)m * sizeof(int), cudaMemcpyDeviceToDevice, state->s.stream));
    }
    CUDATry(cudaGetLastError());
    if (!m || pass + 1 == passes) break;
    C.Free();
    C.finer = A.nnz;
    BAITry(BAIGalerkin(state, &A, of_row, m, pair, 1, &C.gather, &C.A, &C.values, &C.of_row));
    A      = C.A;
    of_row = C.of_row;
  }
  L->m    = m;
  L->most = 3 << (passes - 1);
  return BAIStatusOf(BAI_OK);
}

/* Numbers on the host, to the device */
static BAIStatus Upload(BAILevelsState state, size_t n, const BAIInt *from, int *to)
{
  const std::vector<int> narrow(from, from + n);

  CUDATry(cudaMemcpyAsync(to, narrow.data(), n * sizeof(int), cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Those of the transposed matrix */
static BAIStatus AggregateLike(BAILevelsState state, int level, BAIDeviceLevel *L)
{
  const BAIDeviceLevel *like  = BAILevelsStateOf(state->p.like)->level + level;
  const size_t          bytes = (size_t)L->A.n * sizeof(int);

  BAITry(BAICUDAAllocate(&state->s, bytes, &L->aggregate));
  L->m    = like[1].A.n / BAIColumnsOfP(state->p.modes);
  L->most = like->most;
  if (L->m) CUDATry(cudaMemcpyAsync(L->aggregate, like->aggregate, bytes, cudaMemcpyDeviceToDevice, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Aggregates of a level: those of the transposed matrix, or boxes of its grid, or those given, or pairs of pairs */
BAIStatus BAIDeviceAggregateRows(BAILevelsState state, int level, BAIDeviceLevel *L, int *field)
{
  BAIBox &box = L->box;

  if (state->p.like) return AggregateLike(state, level, L);
  BAITry(BAICUDAAllocate(&state->s, (size_t)L->A.n * sizeof(int), &L->aggregate));
  if (BAIGridIsLookedAt(state->p.fields, &L->grid)) BAITry(BAIDeviceBoxes(state, L->A, L->grid, box.m));
  if (!BAIGridHasBoxes(box.m)) {
    BAIInt largest;

    if (level >= state->p.given) return AggregatePairs(state, level, L, field);
    L->m    = (int)BAICountAggregates(L->A.n, state->p.aggregate[level], &largest);
    L->most = (int)largest;
    BAITry(Upload(state, (size_t)L->A.n, state->p.aggregate[level], L->aggregate));
    if (state->p.field && level + 1 == state->p.given) BAITry(Upload(state, (size_t)L->m, state->p.field, field));
    return BAIStatusOf(BAI_OK);
  }
  state->p.given = 0;
  L->m           = (int)BAIGridCoarsen(&L->grid, box.m, L->A.n, &L->next);
  L->most        = (int)(box.m[0] * box.m[1] * box.m[2]);
  Boxes<<<BAIGrid(L->m, THREADS), THREADS, 0, state->s.stream>>>(L->A, L->grid, box, L->next, L->m, L->aggregate);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

static __global__ void OrderKeys(int n, int m, int columns, const int *aggregate, const int *place, BAIKey *key,
                                 unsigned *row)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i >= n) return;
  key[i] = (BAIKey)(aggregate[i] < 0 ? m : place[aggregate[i] * columns] / columns);
  row[i] = (unsigned)i;
}

/* child[c]: the first place whose key is c; child[m]: of rows that are alone, or the end. parent, if it is not NULL:
   the key of each place, or -1 */
static __global__ void Children(int n, int m, const BAIKey *key, int *child, int *parent)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (p < n && (!p || key[p] != key[p - 1])) child[key[p]] = p;
  if (p < n && parent) parent[p] = key[p] == (BAIKey)m ? -1 : (int)key[p];
  if (p == n - 1 && key[p] != (BAIKey)m) child[m] = n;
}

/* The rows of each aggregate in ascending order: list[first[c]] to list[first[c + 1] - 1] */
static BAIStatus ListAggregates(BAILevelsState state, const BAIDeviceLevel *L, int *first, unsigned *list)
{
  const int  n    = L->A.n;
  const dim3 grid = BAIGrid(n, THREADS);
  Room       rooms[4];
  BAIKey    *key, *sorted;
  unsigned  *rows;
  int       *same, bits = 1;

  while (bits < 31 && L->m >> bits) bits++;
  BAITry(rooms[0].Get(state, (size_t)n, &key));
  BAITry(rooms[1].Get(state, (size_t)n, &sorted));
  BAITry(rooms[2].Get(state, (size_t)n, &rows));
  BAITry(rooms[3].Get(state, (size_t)L->m, &same));
  Begin<<<BAIGrid(L->m, THREADS), THREADS, 0, state->s.stream>>>(L->m, same);
  OrderKeys<<<grid, THREADS, 0, state->s.stream>>>(n, L->m, 1, L->aggregate, same, key, rows);
  BAITry(BAISortPairs(&state->s, n, bits, key, sorted, rows, list));
  Children<<<grid, THREADS, 0, state->s.stream>>>(n, L->m, sorted, first, NULL);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Aggregates of points. Rows of a point are those of the finest level, or the modes of an aggregate */
static BAIStatus AggregatePoints(BAILevelsState state, int level)
{
  const int           rows = level ? state->p.modes : state->points;
  BAILevelsParameters p    = state->p;
  BAIDeviceLevel     *L = &state->level[level], points = {};
  const size_t        n = (size_t)L->A.n;
  Between             between(state);
  Room                room;
  int                *point;

  p.first /= rows;
  p.all /= rows;
  BAITry(room.Get(state, n, &point));
  BAITry(BAIExpand(state, L->A.n, rows, NULL, point));
  between.finer = L->A.nnz;
  BAITry(BAIGalerkin(state, &L->A, L->of_row, L->A.n / rows, point, 0, &between.gather, &between.A, &between.values,
                     &between.of_row));
  points.A      = between.A;
  points.of_row = between.of_row;
  points.grid   = L->grid;
  if (!level) BAITry(FindGrid(state, &p, points.A, &points.grid));
  BAITry(BAIDeviceAggregateRows(state, level, &points, NULL));
  if (BAIGridHasBoxes(points.box.m)) L->grid = points.grid;
  L->next = points.next;
  L->m    = points.m;
  L->most = points.most * rows;
  BAITry(BAICUDAAllocate(&state->s, n * sizeof(int), &L->aggregate));
  BAITry(BAIExpand(state, L->A.n, rows, points.aggregate, L->aggregate));
  BAICUDAFree(&state->s, (size_t)points.A.n * sizeof(int), points.aggregate);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceAggregatePoints(BAILevelsState state, int level)
{
  BAIDeviceLevel *L = &state->level[level];
  Room            rooms[2];
  int            *first;
  unsigned       *list;

  BAITry(state->p.like ? AggregateLike(state, level, L) : AggregatePoints(state, level));
  if (!L->m) return BAIStatusOf(BAI_OK);
  BAITry(rooms[0].Get(state, (size_t)L->m + 1, &first));
  BAITry(rooms[1].Get(state, (size_t)L->A.n, &list));
  BAITry(ListAggregates(state, L, first, list));
  return BAIModes(state, L, first, list);
}

static BAIStatus KeepFields(BAILevelsState state, BAIDeviceLevel *L, const int *field)
{
  const size_t bytes = (size_t)L->A.n * sizeof(int);

  BAITry(BAICUDAAllocate(&state->s, bytes, &L->field));
  CUDATry(cudaMemcpyAsync(L->field, field, bytes, cudaMemcpyDeviceToDevice, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* The coarse levels, until one is small or does not get smaller */
static BAIStatus Coarsen(BAILevelsState state)
{
  Room      room;
  const int modes = state->p.modes;
  int      *field = NULL;

  if (modes) BAITry(BAITakeModes(state));
  if (state->p.fields > 1) {
    BAITry(room.Get(state, (size_t)state->level[0].A.n, &field));
    if (state->p.field && !state->p.given) BAITry(Upload(state, (size_t)state->level[0].A.n, state->p.field, field));
    else BAITry(BAIFieldsOfRows(state, state->level[0].A.n, field));
  }
  BAITry(BAIOfRow(state, &state->level[0].A, &state->level[0].of_row));
  for (state->levels = 1;; state->levels++) {
    BAIDeviceLevel *L = &state->level[state->levels - 1], *next = L + 1;

    state->stop = "the last one is small enough to be solved exactly";
    if (BAIIsExact(&state->p, L->A.n)) break;
    state->stop = "there are as many as allowed";
    if (state->levels == BAILevelsAtMost(&state->p)) break;
    if (state->p.fields > 1) BAITry(KeepFields(state, L, field));
    if (modes) BAITry(BAIDeviceAggregatePoints(state, state->levels - 1));
    else BAITry(BAIDeviceAggregateRows(state, state->levels - 1, L, field));
    state->stop = "all rows dominate";
    if (!L->m) break;
    state->stop = "rows are not coupled strongly enough to be aggregated";
    if (BAILevelsAreStuck(L->m, modes, L->A.n)) break;
    next->grid = L->next;
    BAINextModes(state);
    if (modes) BAITry(BAIModesGalerkin(state, L, 0, NULL, next));
    else
      BAITry(BAIGalerkin(state, &L->A, L->of_row, L->m, L->aggregate, state->over, &L->gather, &next->A, &next->values,
                         &next->of_row));
  }
  state->level[state->levels - 1].m = 0;
  BAIFreeModes(state);
  return BAIStatusOf(BAI_OK);
}

/* Ghosts stay behind the others */
static __global__ void Places(int n, int ghosts, const int *row, int *place)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (p < n) place[row[p]] = p;
  else if (p < n + ghosts) place[p] = p;
}

/* From the last level to the first: rows in the order of the places of their aggregates, those alone behind them */
BAIStatus BAIDeviceOrder(BAILevelsState state)
{
  const int columns = BAIColumnsOfP(state->p.modes);

  for (int l = state->levels - 1; l >= 0; l--) {
    BAIDeviceLevel *L    = &state->level[l];
    const int       n    = L->A.n;
    const dim3      grid = BAIGrid(n, THREADS), all = BAIGrid(n + L->A.ghosts, THREADS);

    L->alone = n;
    if (!n) continue;
    BAITry(BAICUDAAllocate(&state->s, (size_t)n * sizeof(int), &L->row));
    BAITry(BAICUDAAllocate(&state->s, ((size_t)n + (size_t)L->A.ghosts) * sizeof(int), &L->place));
    if (!L->m) {
      Begin<<<grid, THREADS, 0, state->s.stream>>>(n, L->row);
      Begin<<<all, THREADS, 0, state->s.stream>>>(n + L->A.ghosts, L->place);
      continue;
    }
    Room      rooms[3];
    BAIKey   *key, *sorted;
    unsigned *rows;
    int       bits = 1;

    while (bits < 31 && L->m >> bits) bits++;
    BAITry(BAICUDAAllocate(&state->s, ((size_t)L->m + 1) * sizeof(int), &L->child));
    if (L->P) BAITry(BAICUDAAllocate(&state->s, (size_t)n * sizeof(int), &L->parent));
    BAITry(rooms[0].Get(state, (size_t)n, &key));
    BAITry(rooms[1].Get(state, (size_t)n, &sorted));
    BAITry(rooms[2].Get(state, (size_t)n, &rows));
    OrderKeys<<<grid, THREADS, 0, state->s.stream>>>(n, L->m, columns, L->aggregate, L[1].place, key, rows);
    BAITry(BAISortPairs(&state->s, n, bits, key, sorted, rows, (unsigned *)L->row));
    Places<<<all, THREADS, 0, state->s.stream>>>(n, L->A.ghosts, L->row, L->place);
    Children<<<grid, THREADS, 0, state->s.stream>>>(n, L->m, sorted, L->child, L->parent);
    CUDATry(cudaGetLastError());
  }
  return BAIStatusOf(BAI_OK);
}

/* Where block k begins: with the first aggregate at or behind k steps; behind the last one, with the rows that are
   alone */
static __global__ void Cut(int n, int m, const int *child, int step, int most_blocks, int *first, int *aggregate,
                           int *found)
{
  const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x), end = m ? child[m] : 0;
  int       low = 0, high = m;

  if (k > most_blocks) return;
  int main = (end + step - 1) / step; /* blocks of aggregates, of which the last one may have none */

  if (main && child[m - 1] < (long long)(main - 1) * step) main--;

  if (k < main) {
    while (low < high) {
      const int middle = (low + high) / 2;

      if (child[middle] < (long long)k * step) low = middle + 1;
      else high = middle;
    }
    first[k]     = child[low];
    aggregate[k] = low;
  } else {
    const long long at = (long long)end + (long long)(k - main) * BAI_LEVELS_BLOCK;

    first[k]     = at < n ? (int)at : n;
    aggregate[k] = m;
  }
  if (k == 0) {
    found[0] = main;
    found[1] = 0;
    found[2] = end;
  }
}

/* The size of the largest block */
static __global__ void Largest(int blocks, const int *first, int *found)
{
  const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (k < blocks) atomicMax(&found[1], first[k + 1] - first[k]);
}

BAIStatus BAIDeviceCutBlocks(BAILevelsState state, BAIDeviceLevel *L)
{
  Room rooms[1];
  int *device, found[3];

  BAITry(rooms[0].Get(state, 3, &device));
  for (int step = BAI_LEVELS_BLOCK;; step = BAI_LEVELS_BLOCK - L->most + 1) {
    const int    most  = L->A.n / step + 4; /* blocks of aggregates, and of rows that are alone */
    const size_t bytes = ((size_t)most + 1) * sizeof(int);

    BAITry(BAICUDAAllocate(&state->s, bytes, &L->first));
    BAITry(BAICUDAAllocate(&state->s, bytes, &L->block_aggregate));
    Cut<<<BAIGrid(most + 1, THREADS), THREADS, 0, state->s.stream>>>(L->A.n, L->m, L->child, step, most, L->first,
                                                                     L->block_aggregate, device);
    Largest<<<BAIGrid(most, THREADS), THREADS, 0, state->s.stream>>>(most, L->first, device);
    CUDATry(cudaGetLastError());
    CUDATry(cudaMemcpyAsync(found, device, sizeof(found), cudaMemcpyDeviceToHost, state->s.stream));
    CUDATry(cudaStreamSynchronize(state->s.stream));
    if (found[1] <= BAI_LEVELS_BLOCK || step < BAI_LEVELS_BLOCK) break;
    BAICUDAFree(&state->s, bytes, L->first);
    BAICUDAFree(&state->s, bytes, L->block_aggregate);
  }
  L->alone  = L->A.n - found[2];
  L->blocks = found[0] + (L->alone + BAI_LEVELS_BLOCK - 1) / BAI_LEVELS_BLOCK;
  return BAIStatusOf(BAI_OK);
}

#if defined(PETSC_USE_64BIT_INDICES)
static __global__ void Narrow(long long n, const BAIInt *from, int *to)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k < n) to[k] = (int)from[k];
}
#endif

BAIStatus BAIDeviceEntries(BAILevelsState state, const BAICSR &A, BAIInt n, BAIInt *nnz)
{
  *nnz = 0;
  if (!n) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(nnz, A.i + n, sizeof(*nnz), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* The matrix of the caller, with numbers of 32 bits */
static BAIStatus Take(BAILevelsState state, const BAIMatrix *matrix, BAIDeviceRows *A)
{
  BAIInt nnz;

  if (matrix->nghost) return BAIDeviceTakeWithGhosts(state, matrix, A);
  BAITry(BAIDeviceEntries(state, matrix->A, matrix->n, &nnz));
  if (nnz > INT32_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  A->n   = (int)matrix->n;
  A->a   = matrix->A.a;
  A->nnz = (long long)nnz;
  if (state->p.all) BAIDeviceKeepOwn(state, matrix, nnz);
#if defined(PETSC_USE_64BIT_INDICES)
  const long long rows = (long long)A->n + 1;

  if (!state->index) BAITry(BAICUDAAllocate(&state->s, (size_t)(rows + A->nnz) * sizeof(int), &state->index));
  Narrow<<<BAIGrid(rows, THREADS), THREADS, 0, state->s.stream>>>(rows, matrix->A.i, state->index);
  Narrow<<<BAIGrid(A->nnz, THREADS), THREADS, 0, state->s.stream>>>(A->nnz, matrix->A.j, state->index + rows);
  CUDATry(cudaGetLastError());
  A->i = state->index;
  A->j = state->index + rows;
#else
  A->i = matrix->A.i;
  A->j = matrix->A.j;
#endif
  return BAIStatusOf(BAI_OK);
}

/* The rows of entries are kept only while they are needed */
static void FreeOfRows(BAILevelsState state)
{
  for (int l = 0; l < state->levels; l++) {
    BAIDeviceLevel *L = &state->level[l];

    if (L->of_row) BAICUDAFree(&state->s, (size_t)L->A.nnz * sizeof(int), L->of_row);
    L->of_row = NULL;
  }
}

BAIStatus BAILevelsSetUp(BAILevelsState state, const BAIMatrix *matrix, bool values_only)
{
  int longest, zeros;

  if (values_only && matrix->n != state->level[0].A.n) return BAIStatusOf(BAI_ERR_PATTERN);
  BAITry(Take(state, matrix, &state->level[0].A));
  BAITry(LookAt(state, &state->level[0].A, values_only, &longest, &zeros));
  if (values_only && state->chip.on) return BAIChipUpdateValues(&state->chip, &state->level[0].A, state->hermitian);
  if (!values_only) {
    BAITry(FindGrid(state, &state->p, state->level[0].A, &state->level[0].grid));
    if (state->p.resident && !zeros && !state->p.all)
      BAITry(
        BAIChipSetUp(&state->chip, &state->s, &state->level[0].A, &state->level[0].grid, state->hermitian, longest));
    if (state->p.resident && !state->chip.on) return BAIStatusOf(BAI_ERR_CHIP);
    state->levels = 1;
    state->stop   = "the matrix stays on the chip";
    if (state->chip.on) return BAIStatusOf(BAI_OK);
    if (state->p.longest && longest > state->p.longest) return BAIStatusOf(BAI_ERR_LONG);
    if (state->p.all) return state->p.modes ? BAITakeModes(state) : BAIStatusOf(BAI_OK);
    BAITry(Coarsen(state));
    BAITry(BAIDeviceOrder(state));
  }
  BAIDeviceFit fit;

  BAITry(fit.Begin(state));
  for (int l = 0; l < state->levels && values_only; l++)
    BAITry(BAIOfRow(state, &state->level[l].A, &state->level[l].of_row));
  for (int l = 0; l < state->levels; l++) {
    BAIDeviceLevel *L = &state->level[l];

    if (values_only && L->m && L->P) BAITry(BAIModesValues(state, L, L + 1, false));
    else if (values_only && L->m)
      BAITry(BAIGalerkinValues(state, &L->A, L->of_row, L->m, L->aggregate, state->over, &L->gather, &L[1].A,
                               L[1].of_row, L[1].values));
    if (!values_only) BAITry(BAIDeviceCutBlocks(state, L));
    BAITry(BAIPlaceLevel(state, L, values_only));
    BAITry(fit.LookAt(state, l, values_only));
  }
  FreeOfRows(state);
  BAITry(fit.End(state, values_only));
  BAITry(BAIInvertLast(state));
  BAIFindTail(state);
  return BAIStatusOf(BAI_OK);
}
