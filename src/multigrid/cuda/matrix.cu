/*
   The matrix of the finest level on a device: taken from the caller and examined. The findings are those of
   host/matrix.c
*/
#include "join.h"
#include <vector>

enum {
  COPY_LANES = 4,   /* threads that copy a row with ghosts */
  COPIED     = 4,   /* entries that a thread reads before it writes the first */
  TEAM       = 4,   /* lanes that examine a row together, if rows have on average more than */
  TEAM_ROW   = 16,  /* this number of entries; otherwise one does, */
  LONG_ROW   = 256, /* but a warp examines each row of more entries than this */
  PAST_END   = 1024 /* kernels count entries up to less than this number behind the last one */
};

/* Copies a CSR matrix from the host to memory that stays for new values, and sets on_device to the copy.
   BAI_ERR_PATTERN if the number of entries differs */
static BAIStatus StageCSR(BAILevelsState state, BAIInt rows, BAICSR A, BAIStagedCSR *to, BAICSR *on_device)
{
  const size_t n = (size_t)rows, nnz = n ? (size_t)A.i[n] : 0;
  cudaStream_t stream = state->s.stream;

  if (!to->i) {
    BAITry(BAIKeep(state, n + 1, &to->i));
    BAITry(BAIKeep(state, nnz, &to->j));
    BAITry(BAIKeep(state, nnz, &to->a));
    to->nnz = nnz;
  }
  if (nnz != to->nnz) return BAIStatusOf(BAI_ERR_PATTERN);
  *on_device = {to->i, to->j, to->a};
  if (!n) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(to->i, A.i, (n + 1) * sizeof(BAIInt), cudaMemcpyHostToDevice, stream));
  CUDATry(cudaMemcpyAsync(to->j, A.j, nnz * sizeof(BAIInt), cudaMemcpyHostToDevice, stream));
  CUDATry(cudaMemcpyAsync(to->a, A.a, nnz * sizeof(BAIScalar), cudaMemcpyHostToDevice, stream));
  return BAIStatusOf(BAI_OK);
}

/* If the matrix is on the host, lets it refer to a copy on the device, and allocates vectors there, which solves will
   use for copies */
static BAIStatus Stage(BAILevelsState state, BAIMatrix *matrix)
{
  const size_t n = (size_t)matrix->n;

  if (matrix->memory != BAI_MEMORY_HOST) return BAIStatusOf(BAI_OK);
  if (!state->staged) {
    BAITry(BAIKeep(state, n, &state->b));
    BAITry(BAIKeep(state, n, &state->x));
    state->staged = true;
  }
  BAITry(StageCSR(state, matrix->n, matrix->A, &state->csr[0], &matrix->A));
  if (matrix->nghost) BAITry(StageCSR(state, matrix->n, matrix->B, &state->csr[1], &matrix->B));
  matrix->memory = BAI_MEMORY_DEVICE;
  return BAIStatusOf(BAI_OK);
}

/* The number of entries of a matrix on the device */
static BAIStatus Entries(BAILevelsState state, const BAICSR &A, BAIInt n, BAIInt *nnz)
{
  *nnz = 0;
  return n && A.i ? BAIDownload(&state->s, 1, A.i + n, nnz) : BAIStatusOf(BAI_OK);
}

/* Where rows of the finest matrix are copied from before they are examined, if copies is set: own columns, and those of
   ghosts. Without values only the indices are copied */
struct From {
  BAICSR A, B;
  bool   copies, values;
};

/* Sets A to the caller's arrays. If there are ghosts or 64-bit indices, A gets memory for a copy instead, and from says
   what Look() copies there */
static BAIStatus Take(BAILevelsState state, const BAIMatrix *matrix, BAIRows *A, From *from)
{
  const bool as_it_is = sizeof(BAIInt) == sizeof(int), merged = matrix->nghost > 0;
  BAIInt     own, ghosts                                      = 0;
  BAICSR     B = {};

  if (merged) B = matrix->B;
  BAITry(Entries(state, matrix->A, matrix->n, &own));
  BAITry(Entries(state, B, matrix->n, &ghosts));
  if ((long long)own + ghosts > INT32_MAX - PAST_END) return BAIStatusOf(BAI_ERR_SIZE);
  BAIRows caller = {(int)matrix->n,          0, own, (int *)(void *)matrix->A.i, (int *)(void *)matrix->A.j,
                    (BAIScalar *)matrix->A.a};

  if (state->p.all && !state->staged && as_it_is) state->own = caller; /* kept for a solve by all ranks */
  if (as_it_is && !merged) {
    *A = caller;
    return BAIStatusOf(BAI_OK);
  }
  if (state->index && A->nnz != (int64_t)own + ghosts) return BAIStatusOf(BAI_ERR_PATTERN);
  if (!state->index) {
    *A = {(int)matrix->n, (int)matrix->nghost, (int64_t)own + ghosts, NULL, NULL, caller.a};
    BAITry(BAIKeep(state, (size_t)A->n + 1, &A->i));
    BAITry(BAIKeep(state, (size_t)A->nnz, &A->j));
    if (merged) BAITry(BAIKeep(state, (size_t)A->nnz, &A->a));
    state->merged    = merged;
    state->index     = A->i;
    state->between.B = B;
  }
  if (!merged) A->a = caller.a;
  *from = {matrix->A, B, true, merged};
  return BAIStatusOf(BAI_OK);
}

struct FindingsTogether {
  __device__ BAIFindings operator()(const BAIFindings &a, const BAIFindings &b) const
  {
    return BAIFindingsTogether(&a, &b);
  }
};

/* How rows are examined: by teams of this number of lanes, but by warps if they have more than LONG_ROW entries; first
   global row of this rank and global numbers of ghosts; see BAILevelsLongest() */
struct How {
  int           lanes;
  BAIInt        begin;
  const BAIInt *ghost;
  BAIInt        longest;
};

/* Copies count columns with 32-bit numbers, and values unless to_a is NULL, by threads t of step. more is added to each
   column */
static __device__ inline void CopyEntries(BAIInt count, BAIInt more, const BAIInt *j, const BAIScalar *a, int t,
                                          int step, int *to_j, BAIScalar *to_a)
{
  for (BAIInt first = t; first < count; first += COPIED * step) {
    BAIInt    column[COPIED];
    BAIScalar value[COPIED];

#pragma unroll
    for (int k = 0; k < COPIED; k++) {
      const BAIInt at = first + k * step;

      column[k] = at < count ? j[at] : 0;
      value[k]  = at < count && to_a ? a[at] : BAIScalar(0);
    }
#pragma unroll
    for (int k = 0; k < COPIED; k++) {
      const BAIInt at = first + k * step;

      if (at < count) to_j[at] = (int)(column[k] + more);
      if (at < count && to_a) to_a[at] = value[k];
    }
  }
}

/* Copies rows first to last - 1 with 32-bit numbers, and the entries of ghosts behind the others of a row, by a thread
   block: all entries at once if no row has ghosts, else COPY_LANES threads copy each row. Also sets to.i[last], where
   the last row ends */
static __device__ inline void CopyBlock(const From &from, BAIInt first, BAIInt last, const BAIRows &to)
{
  const BAICSR A = from.A, B = from.B;
  const int    t      = (int)threadIdx.x;
  const BAIInt before = B.i ? B.i[first] : 0;

  for (BAIInt row = first + t; row <= last; row += BAI_JOIN_THREADS) to.i[row] = (int)(A.i[row] + (B.i ? B.i[row] : 0));
  if (!B.i || B.i[last] == before) {
    const BAIInt begin = A.i[first], at = begin + before;

    return CopyEntries(A.i[last] - begin, 0, A.j + begin, A.a + begin, t, BAI_JOIN_THREADS, to.j + at,
                       from.values ? to.a + at : NULL);
  }
  for (BAIInt row = first + t / COPY_LANES; row < last; row += BAI_JOIN_THREADS / COPY_LANES) {
    const BAIInt begin = A.i[row], own = A.i[row + 1] - begin, ghost = B.i[row], at = begin + ghost;
    const int    lane = t % COPY_LANES;

    CopyEntries(own, 0, A.j + begin, A.a + begin, lane, COPY_LANES, to.j + at, to.a + at);
    CopyEntries(B.i[row + 1] - ghost, to.n, B.j + ghost, B.a + ghost, lane, COPY_LANES, to.j + at + own,
                to.a + at + own);
  }
}

/* Calls use(row, lanes) for all rows, where row is the same in a team of lanes, or -1 for a team without a row; a warp
   calls it for as many rows as it has teams. too_long(row) is called for rows of more than how.longest entries. Before
   that all threads of a block call before(first, last) for its next rows */
template <typename Before, typename Use, typename TooLong>
static __device__ inline void WithRows(const BAIRows &A, const How &how, const Before &before, const Use &use,
                                       const TooLong &too_long)
{
  const int       lane = (int)threadIdx.x % BAI_LANES, rows = BAI_JOIN_THREADS / how.lanes;
  const long long step = (long long)gridDim.x * rows;

  for (long long first = (long long)blockIdx.x * rows; first < A.n; first += step) {
    const int last = first + rows < A.n ? (int)first + rows : A.n;

    before((int)first, last);
    const int  base = (int)first + ((int)threadIdx.x - lane) / how.lanes, row = base + lane / how.lanes;
    const int  length = row < last ? A.i[row + 1] - A.i[row] : 0;
    const bool skip = length > how.longest, is_long = length > LONG_ROW && !skip;

    use(row < last && !is_long && !skip ? row : -1, how.lanes);
    if (skip && lane % how.lanes == 0) too_long(row);
    for (unsigned rest = __ballot_sync(~0u, is_long && lane % how.lanes == 0); rest; rest &= rest - 1)
      use(base + (__ffs((int)rest) - 1) / how.lanes, (int)BAI_LANES);
  }
}

/* Examines all rows, which are first copied to A if from tells so, and sets *all to the findings; findings and arrived
   are parameters of BAIJoin() */
static __global__ __launch_bounds__(BAI_JOIN_THREADS, 4) void Look(BAIRows A, From from, How how, BAIFindings *findings,
                                                                   unsigned *arrived, BAIFindings *all)
{
  BAIFindings mine = BAIFindingsNone(A.n);

  WithRows(
    A, how,
    [&](int first, int last) {
      if (!from.copies) return;
      CopyBlock(from, first, last, A);
      __syncthreads(); /* a thread reads what others have copied */
    },
    [&](int row, int lanes) {
      if (row >= 0) BAILookAtRow(&A, how.begin, how.ghost, row, (int)threadIdx.x % lanes, lanes, &mine);
    },
    [&](int row) { BAILookAtLongRow(&A, row, &mine); });
  BAIJoin<BAIFindings, FindingsTogether>(mine, findings, arrived, all);
}

/* Sets *differs to 1 if BAIDiffersFromMirror() is so for a row; once it is, no more rows are compared */
static __global__ __launch_bounds__(BAI_JOIN_THREADS) void Differs(BAIRows A, How how, int *differs)
{
  WithRows(
    A, how, [](int, int) {},
    [&](int row, int lanes) {
      if (row < 0 || *(volatile int *)differs) return;
      if (BAIDiffersFromMirror(&A, row, (int)threadIdx.x % lanes, lanes)) *(volatile int *)differs = 1;
    },
    [](int) {});
}

/* Copies the matrix if from tells so, examines it, and copies the findings to the host. differs: some a_ij differs from
   conj(a_ji) by more than rounding */
static BAIStatus LookAt(BAILevelsState state, const BAIRows &A, const From &from, BAIFindings *found, int *differs)
{
  const int    lanes  = A.nnz > (int64_t)TEAM_ROW * A.n ? (int)TEAM : 1;
  const int    blocks = BAIJoinBlocks(state, (long long)A.n * lanes);
  BAIRoom      room;
  BAITemporary ghosts;
  BAIFindings *device;
  How          how = {lanes, state->p.first, NULL, BAILevelsLongest(&state->p)};

  BAITry(room.Get(state, (size_t)blocks + 1, &device));
  if (A.ghosts) BAITry(BAIDeviceGhosts(&state->s, (BAIInt)A.ghosts, state->p.ghost, true, &ghosts, &how.ghost));
  Look<<<(unsigned)blocks, BAI_JOIN_THREADS, 0, state->s.stream>>>(A, from, how, device + 1, state->joined, device);
  CUDATry(cudaGetLastError());
  BAITry(BAIDownload(&state->s, 1, device, found));
  found->pattern += BAIHash((uint64_t)A.n);
  *differs = 0;
  if (state->p.like || !BAIMustCompare(found)) return BAIStatusOf(BAI_OK);
  int *const on_device = reinterpret_cast<int *>(device);

  CUDATry(cudaMemsetAsync(on_device, 0, sizeof(*on_device), state->s.stream));
  Differs<<<(unsigned)blocks, BAI_JOIN_THREADS, 0, state->s.stream>>>(A, how, on_device);
  CUDATry(cudaGetLastError());
  return BAIDownload(&state->s, 1, on_device, differs);
}

/* Replaces the values of the finest matrix by -A if its diagonal is negative; the caller's values do not change */
BAIStatus BAIDeviceTakeSign(BAILevelsState state)
{
  BAIRows *A = &state->level[0].A;

  if (!state->info.negative) return BAIStatusOf(BAI_OK);
  if (state->merged) return BAINegate(state, A->nnz, A->a, A->a);
  if (!state->negated) BAITry(BAIKeep(state, (size_t)A->nnz, &state->negated));
  BAITry(BAINegate(state, A->nnz, A->a, state->negated));
  A->a = state->negated;
  return BAIStatusOf(BAI_OK);
}

/* Chooses the power of two by which the matrix is multiplied in the levels */
void BAIDeviceTakeScale(BAILevelsState state)
{
  const double largest = state->info.largest;

  state->scale = state->single && isfinite(largest) && largest > 0 ? (BAIReal)ldexp(1.0, -ilogb(largest)) : 1;
}

/* Stores the caller's matrix as the finest level, examines it, and sets found, info, over, precision and scale. Without
   other ranks it also takes the sign. BAI_ERR_PATTERN: values are new, but the pattern or the automatic precision is
   another */
BAIStatus BAIDeviceTake(BAILevelsState state, const BAIMatrix *matrix, BAIFindings *found)
{
  BAIMatrix      staged = *matrix;
  BAIRows *const A      = &state->level[0].A;
  From           from   = {};
  int            differs;

  BAITry(Stage(state, &staged));
  BAITry(Take(state, &staged, A, &from));
  BAITry(LookAt(state, *A, from, found, &differs));
  if (state->kept && found->pattern != state->pattern) return BAIStatusOf(BAI_ERR_PATTERN);
  state->pattern          = found->pattern;
  state->rows_known       = false;
  state->alike            = {};
  state->level[0].longest = found->longest;
  BAITry(BAITakeFindings(found, differs, &state->p, matrix->n, &state->info, &state->over));
  const bool fits = found->most <= found->least * BAI_LEVELS_SINGLE_RANGE &&
    (state->p.single != BAI_SINGLE_HERMITIAN || state->info.hermitian);
  const int single = state->p.single > 0 || (state->p.single < 0 && fits);

  if (!state->kept || state->p.all) state->single = single; /* ranks agree on it later */
  else if (single != state->single && state->p.single < 0)
    return BAIStatusOf(BAI_ERR_PATTERN); /* levels of another type */
  BAIDeviceTakeScale(state);
  /* for a rank's part, after all ranks have agreed */
  return state->p.all ? BAIStatusOf(BAI_OK) : BAIDeviceTakeSign(state);
}

/* BAIGridFind() for the rows from begin on, which are copied to the host; found is its result */
static BAIStatus FindGrid(BAILevelsState state, const BAILevelsParameters *p, const BAIRows &A, int begin,
                          BAINumbering *grid, int *found)
{
  const int              rows = A.n - begin < BAI_GRID_LOOKS ? A.n - begin : BAI_GRID_LOOKS;
  std::vector<int>       i((size_t)rows + 1), j;
  std::vector<BAIScalar> a;
  int                    known = 0; /* rows before the first that is too long */

  BAITry(BAIDownload(&state->s, i.size(), A.i + begin, i.data()));
  while (known < rows && i[(size_t)known + 1] - i[(size_t)known] <= BAI_GRID_ROW) known++;
  j.resize((size_t)(i[(size_t)known] - i[0]));
  a.resize(j.size());
  BAITry(BAIDownload(&state->s, j.size(), A.j + i[0], j.data()));
  BAITry(BAIDownload(&state->s, a.size(), A.a + i[0], a.data()));
  const std::vector<BAIInt> wide_i(i.begin(), i.end()), wide_j(j.begin(), j.end());

  *found = BAIGridFind(A.n, p, begin, known, wide_i.data(), wide_j.data(), a.data(), grid);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceFindGrid(BAILevelsState state, const BAILevelsParameters *p, const BAIRows &A, BAINumbering *grid)
{
  *grid = BAINumbering{};
  for (int again = 0, found = !A.n; again < 2 && !found; again++)
    BAITry(FindGrid(state, p, A, BAIGridLooksFrom(A.n, again), grid, &found));
  return BAIStatusOf(BAI_OK);
}
