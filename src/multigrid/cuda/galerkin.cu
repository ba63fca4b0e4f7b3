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
  MEMBERS  = 32,  /* or if aggregates have more members, as a set of them has this number of bits */
  MOVERS   = 4    /* lanes that read or write the numbers of a row of C together */
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

  return (size_t)THREADS * (size_t)width * ((p.sums ? sizeof(BAIScalar) : 0) + ints * sizeof(int));
}

/* The list of thread t in the shared memory of its block */
static __device__ inline List ListOf(const BAIProduct &p, unsigned char *memory, int width, int t)
{
  BAIScalar *const sum = reinterpret_cast<BAIScalar *>(memory) + t;
  int *const column = reinterpret_cast<int *>(reinterpret_cast<BAIScalar *>(memory) + (p.sums ? width * THREADS : 0));

  return {sum, column + t, column + t + width * THREADS, reinterpret_cast<unsigned *>(column + t + 2 * width * THREADS),
          reinterpret_cast<unsigned *>(column + t + 3 * width * THREADS)};
}

/* The place in a list of used columns of this one, or the place behind the last one */
static __device__ inline int PlaceOf(const int *list, int used, int column)
{
  const int end   = used * THREADS;
  int       place = end;

  for (int first = 0; first < end && place == end; first += AT_ONCE * THREADS) {
#pragma unroll
    for (int l = 0; l < AT_ONCE; l++) {
      const int at = first + l * THREADS;

      if (list[at] == column && at < end) place = at; /* columns behind the last one are not defined */
    }
  }
  return place;
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

/* Calls use(number of the member, its row, j, column of C, a_ij) for the entries of the members of an aggregate, in
   order, until it returns false; a is 0 unless values are read */
template <bool VALUES, typename Use>
static __device__ inline void WithEntries(const BAIProduct &p, const BAIRange &of, const Use &use)
{
  Member next = MemberAt(p, of.begin, of.end);

  for (int l = of.begin; l < of.end; l++) {
    const Member now = next;

    next = MemberAt(p, l + 1, of.end); /* is read while the entries of this one are used */
    for (int k = now.begin; k < now.end; k += READ) {
      int       j[READ], column[READ];
      BAIScalar a[READ];

#pragma unroll
      for (int r = 0; r < READ; r++) {
        j[r] = k + r < now.end ? p.A.j[k + r] : -1;
        a[r] = VALUES && k + r < now.end ? p.A.a[k + r] : BAIScalar(0);
      }
#pragma unroll
      for (int r = 0; r < READ; r++) column[r] = BAIColumnOf(p, j[r]);
#pragma unroll
      for (int r = 0; r < READ; r++)
        if (column[r] >= 0 && !use(l - of.begin, now.row, j[r], column[r], a[r])) return;
    }
  }
}

/* Finds the columns of the rows of C, by a thread each: stores the ascending columns of a row with at most width ones,
   and lists the other rows */
static __global__ __launch_bounds__(THREADS) void FindShort(BAIProduct p, int width)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const int                                     c    = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  int *const                                    list = reinterpret_cast<int *>(shared) + threadIdx.x;
  int                                           used = 0;
  bool                                          fits = c < p.m;

  if (c < p.m)
    WithEntries<false>(p, BAIMembersAt(p.members, c), [&](int, int, int, int column, BAIScalar) {
      const int u = PlaceOf(list, used, column);

      if (u < used * THREADS) return true;
      if (used == width) return fits = false;
      list[u] = column;
      used++;
      return true;
    });
  for (int u = 0; u < used && fits; u++) {
    const int column = list[u * THREADS];
    long long to     = c;

    for (int v = 0; v < used; v++) to += list[v * THREADS] < column ? p.m : 0;
    p.staged[to] = column;
  }
  if (c < p.m) p.count[c] = fits ? used : 0;
  if (c < p.m && !fits) p.longs[atomicAdd(&p.found->longs, 1)] = c;
  const int all = __reduce_add_sync(~0u, fits ? used : 0), most = __reduce_max_sync(~0u, fits ? used : 0);

  if (threadIdx.x % BAI_LANES) return;
  atomicAdd(&p.found->columns, (unsigned long long)all);
  BAIRaiseTo(&p.found->longest, most);
}

/* Calls use(place in C, list of the row, place in the list) for the entries of the rows of this block, by MOVERS
   threads for a row, so that they read or write numbers beside each other. begin has the first place of each row */
template <typename Use>
static __device__ inline void WithPlaces(const BAIProduct &p, unsigned char *shared, int width, const int *begin,
                                         const Use &use)
{
  const int t = (int)threadIdx.x;

  for (int row = t / MOVERS; row < THREADS; row += THREADS / MOVERS) {
    const int  count = begin[row + 1] - begin[row];
    const List list  = ListOf(p, shared, width, row);

    for (int u = t % MOVERS; u < count && count <= width; u += MOVERS) use(begin[row] + u, list, u * THREADS);
  }
}

/* Makes the rows of C with at most width columns, by a thread each. Their columns are staged or, if p.staged is NULL,
   in C, and then the other rows are listed */
static __global__ __launch_bounds__(THREADS) void SumShort(BAIProduct p, int width)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ int                                begin[THREADS + 1];
  const int                                     t = (int)threadIdx.x, c = (int)blockIdx.x * THREADS + t;
  const List                                    list   = ListOf(p, shared, width, t);
  BAIReal                                       inner  = 0;
  int                                           inside = 0;

  begin[t] = p.C.i[c < p.m ? c : p.m];
  if (t == THREADS - 1) begin[THREADS] = p.C.i[c + 1 < p.m ? c + 1 : p.m];
  __syncthreads();
  const int count = begin[t + 1] - begin[t], used = count > width ? 0 : count;

  if (!p.staged) WithPlaces(p, shared, width, begin, [&](int at, const List &l, int u) { l.column[u] = p.C.j[at]; });
  for (int u = 0; u < used * THREADS; u += THREADS) {
    if (p.staged) list.column[u] = p.staged[(long long)(u / THREADS) * p.m + c];
    if (p.sums) list.sum[u] = 0;
    if (p.sides.side) list.members[u] = list.entries[u] = 0;
    if (p.sides.side && p.ghosts) list.ghosts[u] = 0;
  }
  if (!p.staged && count > width) p.longs[atomicAdd(&p.found->longs, 1)] = c;
  __syncthreads();
  if (c < p.m && count <= width && p.sums) {
    const BAIRange of = BAIMembersAt(p.members, c);

    WithEntries<true>(p, of, [&](int member, int row, int j, int column, BAIScalar a) {
      const BAIScalar value = BAIValueOf(p, a);
      const int       u     = PlaceOf(list.column, used, column);

      list.sum[u] += value;
      if (!p.sides.side) return true;
      list.entries[u]++;
      list.members[u] |= 1u << member;
      if (p.ghosts && j >= p.A.n) list.ghosts[u] |= BAIBitOf(p, j);
      if (column != c || j == row) return true;
      inner += BAIAggregateMagnitude(value);
      inside++;
      return true;
    });
    if (p.sides.side) p.sides.side[c] = BAISideOf(of.end - of.begin, inner, inside);
  }
  __syncthreads();
  WithPlaces(p, shared, width, begin, [&](int at, const List &l, int u) {
    if (p.staged) p.C.j[at] = l.column[u];
    if (p.sums) p.C.a[at] = l.sum[u];
    if (!p.sides.side) return;
    p.sides.entries[at] = l.entries[u];
    p.sides.touch[at]   = __popc(l.members[u]);
    if (p.ghosts) p.sides.back[at] = __popc(l.ghosts[u]);
  });
}

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

/* Gets the work space of a product: with room for the columns of short rows if staged */
static BAIStatus GetSpace(BAILevelsState state, size_t staged, BAIRoom *room, BAIProduct *p)
{
  const size_t m = (size_t)p->m, found = (m + 2) / 2 * 2,
               behind = found + sizeof(*p->found) / sizeof(int); /* aligned */
  int *numbers;

  BAITry(room->Get(state, behind + m + staged, &numbers));
  p->count  = numbers;
  p->found  = reinterpret_cast<BAIFound *>(numbers + found);
  p->longs  = numbers + behind;
  p->staged = staged ? p->longs + m : NULL;
  CUDATry(cudaMemsetAsync(numbers + m, 0, (behind - m) * sizeof(*numbers), state->s.stream));
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

/* Does the first step of a product: short rows have at most width columns, long rows at most widest. Allocates and
   computes the row pointers of C, and sets C->A.nnz, C->longest and C->longs. The host waits for the device */
static BAIStatus CountColumns(BAILevelsState state, BAIProduct p, int width, int widest, BAIDeviceLevel *C)
{
  BAIFound found = {0, 0, p.m};

  p.counts     = true;
  p.sums       = false;
  p.sides.side = NULL;
  BAITry(BAIKeep(state, (size_t)p.m + 1, &C->A.i));
  if (width) {
    FindShort<<<BAIGrid(p.m, THREADS), THREADS, BytesOf(p, width), state->s.stream>>>(p, width);
    CUDATry(cudaGetLastError());
    BAITry(SumColumns(state, p, C, &found));
  }
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
  BAIRoom    room;

  if (sides) {
    *sides = {};
    BAITry(BAIKeep(state, (size_t)L->m, &sides->side));
    p.sides = *sides;
  }
  if (how.unknown) {
    C->A = {L->m, how.ghosts, 0, C->A.i, C->A.j, C->A.a};
    BAITry(BoundColumns(state, p, widest, C));
  } else {
    const bool kept = C->A.i != NULL;

    BAITry(GetSpace(state, kept ? 0 : (size_t)L->m * (size_t)width, &room, &p));
    if (!kept) {
      C->A = {L->m, how.ghosts, 0, NULL, NULL, NULL};
      BAITry(CountColumns(state, p, width, widest, C));
    }
    BAITry(Allocate(state, p, sides, C));
  }
  p.C = C->A;
  if (sides) p.sides = *sides;
  if (width) {
    /* lists as short as possible, so that more thread blocks have room */
    const int    most  = C->longs ? width : (C->longest + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
    const size_t bytes = BytesOf(p, most);

    BAITry(BAIAllowShared((const void *)SumShort, bytes));
    SumShort<<<BAIGrid(p.m, THREADS), THREADS, bytes, state->s.stream>>>(p, most);
  }
  CUDATry(cudaGetLastError());
  BAITry(BAIMakeLongRows(state, p, {width ? p.longs : NULL, C->longs}, C->longest));
  return sides ? BAISidesMark(state, C->A, sides) : BAIStatusOf(BAI_OK);
}

void BAIDeviceFreeMatrix(BAILevelsState state, BAIDeviceLevel *L)
{
  BAIDrop(state, (size_t)L->A.n + 1, &L->A.i);
  BAIDrop(state, (size_t)L->A.nnz, &L->A.j);
  BAIDrop(state, (size_t)L->A.nnz, &L->A.a);
}
