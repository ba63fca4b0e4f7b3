/*
   The Galerkin product C = P^H A P on a device, where P is 1 on aggregates of rows. A thread makes a row of C from a
   list of its columns in shared memory. It adds the entries of A in the order of host/galerkin.c, so the results are
   equal to the bit. Rows with too many columns are long, see longrows.cu
*/
#include "galerkin.h"
#include "../../common/cuda/scan.h"
#include <algorithm>

enum {
  THREADS = 128,
  AT_ONCE = 4,  /* numbers that a thread reads at once, */
  READ    = 8,  /* and entries of a row of A */
  FEW     = 16, /* columns of a row that is not long, if rows of A have on average at most */
  FEW_ROW = 9,  /* this number of entries; otherwise */
  /* this number; both are multiples of AT_ONCE. Lists of more complex numbers do not fit in the 99 KB of shared memory
     of devices of compute capability 8.6 */
  MANY     = sizeof(BAIScalar) > 8 ? 24 : 32,
  FEW_ROWS = 224, /* all rows are long if there are fewer rows of C for each multiprocessor, */
  MEMBERS  = 32   /* or if aggregates have more members, as a set of them has this number of bits */
};

/* The list of a thread in shared memory, whose numbers follow at the distance of the block's threads: columns and their
   sums and, if sides are wanted, the numbers of entries, and the sets of members and ghosts that have entries there */
struct List {
  BAIScalar *sum;
  int       *column, *entries;
  unsigned  *members, *ghosts;
};

/* The size in bytes of the lists of all threads of a block, if a list has room for width columns */
static size_t BytesOf(const BAIProduct &p, int width)
{
  const size_t ints = p.sides.side ? p.ghosts ? 4 : 3 : 1;

  return (size_t)THREADS * (size_t)width * (sizeof(BAIScalar) + ints * sizeof(int));
}

/* This thread's list in the shared memory of its block */
static __device__ inline List ListAt(unsigned char *memory, int width)
{
  BAIScalar *const sum    = reinterpret_cast<BAIScalar *>(memory) + threadIdx.x;
  int *const       column = reinterpret_cast<int *>(reinterpret_cast<BAIScalar *>(memory) + width * THREADS);

  return {sum, column + threadIdx.x, column + threadIdx.x + width * THREADS,
          reinterpret_cast<unsigned *>(column + threadIdx.x + 2 * width * THREADS),
          reinterpret_cast<unsigned *>(column + threadIdx.x + 3 * width * THREADS)};
}

/* A row of C under construction: the number of its columns, and the sum and number of the entries between different
   members of the aggregate */
struct Row {
  BAIReal inner;
  int     c, used, inside;
};

/* Adds an entry of a row of A, the one of this member, to a row of C. Returns whether the list has room for it */
static __device__ inline bool Add(const BAIProduct &p, const List &list, int width, int member, int row, int j,
                                  int column, BAIScalar a, Row *to)
{
  const BAIScalar value = BAIValueOf(p, a);
  const int       used  = to->used * THREADS;
  int             u     = used;

  for (int first = 0; first < used && u == used; first += AT_ONCE * THREADS) {
#pragma unroll
    for (int l = 0; l < AT_ONCE; l++) {
      const int at = first + l * THREADS;

      if (list.column[at] == column && at < used) u = at; /* columns behind the last one are not defined */
    }
  }
  if (u == used) {
    if (to->used == width) return false;
    to->used++;
    list.column[u] = column;
    list.sum[u]    = 0;
    if (p.sides.side) list.members[u] = list.entries[u] = 0;
    if (p.sides.side && p.ghosts) list.ghosts[u] = 0;
  }
  list.sum[u] += value;
  if (!p.sides.side) return true;
  list.entries[u]++;
  list.members[u] |= 1u << member;
  if (p.ghosts) list.ghosts[u] |= BAIBitOf(p, j);
  if (column != to->c || j == row) return true;
  to->inner += BAIAggregateMagnitude(value);
  to->inside++;
  return true;
}

/* A member of an aggregate: its row of A, and the places of the entries */
struct Member {
  int row, begin, end;
};

/* The member at this place of the list, or one without entries behind the last place */
static __device__ inline Member MemberAt(const BAIProduct &p, int at, int end)
{
  if (at >= end) return {};
  const int row = BAIMemberAt(p, at);

  return {row, p.A.i[row], p.A.i[row + 1]};
}

/* Adds the entries of a member of this number. Returns whether the list had room for its columns */
static __device__ inline bool AddRow(const BAIProduct &p, const List &list, int width, int number, const Member &of,
                                     Row *to)
{
  for (int k = of.begin; k < of.end; k += READ) {
    int       j[READ], column[READ];
    BAIScalar a[READ];

#pragma unroll
    for (int l = 0; l < READ; l++) {
      j[l] = k + l < of.end ? p.A.j[k + l] : -1;
      a[l] = k + l < of.end && p.sums ? p.A.a[k + l] : BAIScalar(0);
    }
#pragma unroll
    for (int l = 0; l < READ; l++) column[l] = BAIColumnOf(p, j[l]);
#pragma unroll
    for (int l = 0; l < READ; l++)
      if (column[l] >= 0 && !Add(p, list, width, number, of.row, j[l], column[l], a[l], to)) return false;
  }
  return true;
}

/* Stores a row in p.staged with ascending columns */
static __device__ inline void Store(const BAIProduct &p, const List &list, const Row &row)
{
  for (int u = 0; u < row.used; u++) {
    const int column = list.column[u * THREADS];
    long long to     = row.c;

    for (int v = 0; v < row.used; v++) to += list.column[v * THREADS] < column ? p.m : 0;
    p.staged.j[to] = column;
    if (p.sums) p.staged.a[to] = list.sum[u * THREADS];
    if (!p.sides.side) continue;
    p.staged.entries[to] = list.entries[u * THREADS];
    p.staged.touch[to]   = __popc(list.members[u * THREADS]);
    if (p.ghosts) p.staged.back[to] = __popc(list.ghosts[u * THREADS]);
  }
}

/* Makes the rows of C with at most width columns, and lists the others, by a thread each */
static __global__ __launch_bounds__(THREADS) void MakeShort(BAIProduct p, int width)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const int                                     c    = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const List                                    list = ListAt(shared, width);
  const BAIRange                                of   = c < p.m ? BAIMembersAt(p.members, c) : BAIRange{};
  Row                                           row  = {0, c};
  bool                                          fits = c < p.m;
  Member                                        next = MemberAt(p, of.begin, of.end);

  for (int l = of.begin; l < of.end && fits; l++) {
    const Member now = next;

    next = MemberAt(p, l + 1, of.end); /* is read while the entries of this one are added */
    fits = AddRow(p, list, width, l - of.begin, now, &row);
  }
  if (c < p.m) p.count[c] = fits ? row.used : 0;
  if (fits) Store(p, list, row);
  else if (c < p.m) p.longs[atomicAdd(&p.found->longs, 1)] = c;
  if (fits && p.sides.side) p.sides.side[c] = BAISideOf(of.end - of.begin, row.inner, row.inside);
  const int all = __reduce_add_sync(~0u, fits ? row.used : 0), most = __reduce_max_sync(~0u, fits ? row.used : 0);

  if (threadIdx.x % BAI_LANES) return;
  atomicAdd(&p.found->columns, (unsigned long long)all);
  BAIRaiseTo(&p.found->longest, most);
}

enum {
  MOVERS = 8,          /* lanes that write the numbers of a row together */
  APART  = THREADS + 4 /* distance of the numbers of a row in shared memory, at which a warp reads from all banks */
};

/* The threads of a block move the numbers of the block's rows to their places. Each thread reads the used numbers of
   its own row, so neighboring threads read neighboring numbers. Then each team of MOVERS threads writes whole rows.
   begin has the first place of each row */
template <typename T>
static __device__ inline void Move(const BAIProduct &p, int width, int used, const int *begin, T *shared, const T *from,
                                   T *to)
{
  const int t = (int)threadIdx.x, lane = t % MOVERS, c = (int)blockIdx.x * THREADS + t;

  for (int first = 0; first < used; first += AT_ONCE) {
    T number[AT_ONCE];

#pragma unroll
    for (int l = 0; l < AT_ONCE; l++)
      if (first + l < used) number[l] = from[(long long)(first + l) * p.m + c];
#pragma unroll
    for (int l = 0; l < AT_ONCE; l++)
      if (first + l < used) shared[(first + l) * APART + t] = number[l];
  }
  __syncthreads();
  for (int row = t / MOVERS; row < THREADS; row += THREADS / MOVERS) {
    const int count = begin[row + 1] - begin[row];

    for (int u = lane; u < count && count <= width; u += MOVERS) to[begin[row] + u] = shared[u * APART + row];
  }
  __syncthreads();
}

/* Moves short rows to their places in C */
static __global__ __launch_bounds__(THREADS) void PlaceShort(BAIProduct p, int width)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ int                                begin[THREADS + 1];
  BAIScalar *const                              numbers = reinterpret_cast<BAIScalar *>(shared);
  int *const                                    ints    = reinterpret_cast<int *>(shared);
  const int                                     t = (int)threadIdx.x, c = (int)blockIdx.x * THREADS + t;

  begin[t] = p.C.i[c < p.m ? c : p.m];
  if (t == THREADS - 1) begin[THREADS] = p.C.i[c + 1 < p.m ? c + 1 : p.m];
  __syncthreads();
  const int count = begin[t + 1] - begin[t], used = count > width ? 0 : count;

  Move(p, width, used, begin, ints, p.staged.j, p.C.j);
  if (p.sums) Move(p, width, used, begin, numbers, p.staged.a, p.C.a);
  if (!p.sides.side) return;
  Move(p, width, used, begin, ints, p.staged.entries, p.sides.entries);
  Move(p, width, used, begin, ints, p.staged.touch, p.sides.touch);
  if (p.ghosts) Move(p, width, used, begin, ints, p.staged.back, p.sides.back);
}

/* Work space of a product */
struct Space {
  BAIRoom numbers, sums;
};

bool BAIHasFewRows(BAILevelsState state, int rows)
{
  return rows < FEW_ROWS * state->s.processors;
}

/* The number of columns up to which rows are short, or 0 if all are long */
static int WidthOf(BAILevelsState state, const BAIDeviceLevel *L)
{
  const double row = (double)L->A.nnz / (double)L->A.n;

  if (L->most > MEMBERS || BAIHasFewRows(state, L->m)) return 0;
  return row <= FEW_ROW ? FEW : MANY;
}

/* Makes the short rows and finds the long ones, if width is not 0 */
static BAIStatus MakeShortRows(BAILevelsState state, int width, Space *space, BAIProduct *p)
{
  const size_t m = (size_t)p->m, room_for = m * (size_t)width, arrays = p->sides.side ? p->ghosts ? 4 : 3 : 1;
  const size_t found = (m + 2) / 2 * 2, behind = found + sizeof(*p->found) / sizeof(int); /* 8-byte alignment */
  int         *numbers;

  BAITry(space->numbers.Get(state, behind + m + arrays * room_for, &numbers));
  p->count          = numbers;
  p->found          = reinterpret_cast<BAIFound *>(numbers + found);
  p->longs          = numbers + behind;
  p->staged.j       = p->longs + m;
  p->staged.entries = p->staged.j + room_for;
  p->staged.touch   = p->staged.entries + room_for;
  p->staged.back    = p->staged.touch + room_for;
  CUDATry(cudaMemsetAsync(numbers + m, 0, (behind - m) * sizeof(*numbers), state->s.stream));
  if (!width) return BAIStatusOf(BAI_OK);
  if (p->sums) BAITry(space->sums.Get(state, room_for, &p->staged.a));
  BAITry(BAIAllowShared((const void *)MakeShort, BytesOf(*p, width)));
  MakeShort<<<BAIGrid(p->m, THREADS), THREADS, BytesOf(*p, width), state->s.stream>>>(*p, width);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Finds the row pointers of C from the columns of its rows, and what was found */
static BAIStatus SumColumns(BAILevelsState state, const BAIProduct &p, BAIDeviceLevel *C, BAIFound *found)
{
  BAITry(BAIScan(&state->s, (long long)p.m + 1, p.count, C->A.i));
  BAITry(BAIDownload(&state->s, 1, p.found, found));
  C->A.nnz = (int64_t)found->columns;
  return BAIStatusOf(found->columns > INT32_MAX ? BAI_ERR_SIZE : BAI_OK);
}

/* After MakeShortRows(): counts the columns of the long rows, of which each has at most widest, and sets C->longs to
   their number. Then allocates and sets the row pointers of C, and sets C->A.nnz and C->longest. width is that of
   WidthOf(). Waits for the device */
static BAIStatus CountColumns(BAILevelsState state, BAIProduct p, int width, int widest, BAIDeviceLevel *C)
{
  BAIFound found = {0, 0, p.m};

  p.counts = true;
  p.sums   = false;
  BAITry(BAIKeep(state, (size_t)p.m + 1, &C->A.i));
  if (width) BAITry(SumColumns(state, p, C, &found));
  C->longs = found.longs;
  if (found.longs) {
    BAITry(BAIMakeLongRows(state, p, {width ? p.longs : NULL, C->longs}, widest));
    BAITry(SumColumns(state, p, C, &found));
  }
  C->longest = found.longest;
  return BAIStatusOf(BAI_OK);
}

/* Does what CountColumns() does if all rows are long, without a wait, in arrays of C that the caller has allocated:
   sets C->A.nnz and C->longest to bounds */
static BAIStatus BoundColumns(BAILevelsState state, BAIProduct p, int widest, BAIDeviceLevel *C)
{
  p.counts   = true;
  p.sums     = false;
  p.count    = C->A.i;
  C->A.nnz   = p.A.nnz;
  C->longs   = p.m;
  C->longest = widest;
  BAITry(BAIMakeLongRows(state, p, {NULL, p.m}, widest));
  return BAIScan(&state->s, (long long)p.m + 1, p.count, p.count);
}

/* Allocates C, and the data of its entries for overcorrection if sides is not NULL */
static BAIStatus Allocate(BAILevelsState state, const BAIProduct &p, BAISides *sides, BAIDeviceLevel *C)
{
  const size_t nnz = (size_t)C->A.nnz;

  if (!C->A.j) BAITry(BAIKeep(state, nnz, &C->A.j));
  if (!C->A.a && p.sums) BAITry(BAIKeep(state, nnz, &C->A.a));
  if (!sides) return BAIStatusOf(BAI_OK);
  BAITry(BAIKeep(state, (p.ghosts ? 3 : 2) * nnz, &sides->entries));
  sides->touch = sides->entries + nnz;
  if (p.ghosts) sides->back = sides->touch + nnz;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIGalerkin(BAILevelsState state, const BAIDeviceLevel *L, const BAICoarse &how, BAISides *sides,
                      BAIDeviceLevel *C)
{
  const int width  = WidthOf(state, L),
            widest = (int)std::min((long long)L->most * L->longest, (long long)L->m + how.ghosts);
  BAIProduct p     = {L->A,       {},         BAIMembersOf(state, L), L->m,  L->aggregate, how.ghost,
                      how.member, how.ghosts, how.magnitudes,         false, !how.pattern};
  Space      space;

  if (sides) {
    *sides = {};
    BAITry(BAIKeep(state, (size_t)L->m, &sides->side));
    p.sides = *sides;
  }
  if (how.unknown) {
    C->A = {L->m, how.ghosts, 0, C->A.i, C->A.j, C->A.a};
    BAITry(BoundColumns(state, p, widest, C));
  } else {
    BAITry(MakeShortRows(state, width, &space, &p));
    if (!C->A.i) {
      C->A = {L->m, how.ghosts, 0, NULL, NULL, NULL};
      BAITry(CountColumns(state, p, width, widest, C));
    }
    BAITry(Allocate(state, p, sides, C));
  }
  p.C = C->A;
  if (sides) p.sides = *sides;
  if (width) {
    const size_t bytes = (size_t)width * APART * sizeof(BAIScalar);

    BAITry(BAIAllowShared((const void *)PlaceShort, bytes));
    PlaceShort<<<BAIGrid(p.m, THREADS), THREADS, bytes, state->s.stream>>>(p, width);
  }
  CUDATry(cudaGetLastError());
  return BAIMakeLongRows(state, p, {width ? p.longs : NULL, C->longs}, C->longest);
}

void BAIDeviceFreeMatrix(BAILevelsState state, BAIDeviceLevel *L)
{
  BAIDrop(state, (size_t)L->A.n + 1, &L->A.i);
  BAIDrop(state, (size_t)L->A.nnz, &L->A.j);
  BAIDrop(state, (size_t)L->A.nnz, &L->A.a);
}
