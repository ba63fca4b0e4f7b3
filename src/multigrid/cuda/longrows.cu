/*
   Long rows of a Galerkin product: a thread block makes a row in a hash table of its columns. Each warp takes the
   columns with one remainder, and adds their entries in the order of host/galerkin.c, so that the results are equal to
   the bit
*/
#include "galerkin.h"
#include "../../common/cuda/warp.h"
#include <algorithm>

enum {
  WARPS   = 8,         /* most warps of a thread block */
  ENTRIES = 128,       /* entries of an aggregate for each warp that adds them */
  SHARED  = 96 * 1024, /* most bytes of a table in shared memory; larger ones are in global memory */
  NONE    = -1         /* no column */
};

/* A hash table: key has the column at each slot, and number the number of this column in the other arrays. last is the
   last row that had an entry in the column, and seen the set of ghosts with entries there. used is the number of
   columns; inner and inside are the sum and the number of the entries between different rows of the aggregate */
struct Table {
  int       *used, *inside;
  BAIReal   *inner;
  BAIScalar *sum;
  int       *key, *number, *column, *entries, *touch, *last;
  unsigned  *seen;
};

enum {
  HEADER = 16, /* bytes of used, inside and inner */
  PARTS  = 7   /* arrays of numbers */
};

/* The number of slots, a power of two, of a table for this number of columns: the rest keeps searches short */
static int SlotsFor(int columns)
{
  int slots = 16;

  while (slots / 4 * 3 < columns && slots < 1 << 30) slots *= 2;
  return slots;
}

/* Bytes of a table; to count columns it needs only the keys */
static __host__ __device__ inline size_t BytesOf(int slots, bool counts)
{
  return HEADER + (size_t)slots * (counts ? sizeof(int) : PARTS * sizeof(int) + sizeof(BAIScalar));
}

/* The table in this memory */
static __device__ inline Table TableAt(unsigned char *memory, int slots, bool counts)
{
  BAIScalar *const sum = reinterpret_cast<BAIScalar *>(memory + HEADER);
  int *const       key = reinterpret_cast<int *>(sum + (counts ? 0 : slots));

  return {reinterpret_cast<int *>(memory),
          reinterpret_cast<int *>(memory) + 1,
          reinterpret_cast<BAIReal *>(memory + 2 * sizeof(int)),
          sum,
          key,
          key + slots,
          key + 2 * (size_t)slots,
          key + 3 * (size_t)slots,
          key + 4 * (size_t)slots,
          key + 5 * (size_t)slots,
          reinterpret_cast<unsigned *>(key + 6 * (size_t)slots)};
}

/* Returns the slot of a column, and sets fresh if it was not there. Other threads may enter columns at the same time
   (linear probing: D. E. Knuth, The Art of Computer Programming 3, Section 6.4) */
static __device__ inline int Find(int *key, int slots, int column, bool *fresh)
{
  unsigned at = (unsigned)column * 2654435769u >> __clz(slots - 1);

  for (;; at = (at + 1) & (unsigned)(slots - 1)) {
    const int old = atomicCAS(&key[at], NONE, column);

    *fresh = old == NONE;
    if (*fresh || old == column) return (int)at;
  }
}

/* The number of a column in the table, which enters new ones */
static __device__ inline int NumberOf(const BAIProduct &p, const Table &t, int slots, int column)
{
  bool      fresh;
  const int slot = Find(t.key, slots, column, &fresh);

  if (!fresh) return p.sums ? t.number[slot] : 0;
  const int next = atomicAdd(t.used, 1);

  if (p.counts) return 0;
  t.number[slot]  = next;
  t.column[next]  = column;
  t.sum[next]     = 0;
  t.entries[next] = t.touch[next] = 0;
  t.last[next]                    = -1;
  t.seen[next]                    = 0;
  return next;
}

/* Adds entries of a row of A to the table of row c of C. Each lane has one entry: its columns j of A and column of C,
   and its value. The first lane with a column adds the entries of all lanes with this column, in the order of the
   lanes. All lanes of a warp call this together */
static __device__ inline void Add(const BAIProduct &p, const Table &t, int slots, int c, int row, int j, int column,
                                  BAIScalar value)
{
  const unsigned same = __match_any_sync(~0u, column), off = __ballot_sync(~0u, j != row);
  const int      leader = __ffs((int)same) - 1;
  const bool     leads  = column >= 0 && leader == (int)(threadIdx.x % BAI_LANES);
  int            number = leads ? NumberOf(p, t, slots, column) : 0;

  if (!p.sums) return;
  const bool inner = leads && column == c;
  BAIScalar  sum   = leads ? t.sum[number] : BAIScalar(0);
  BAIReal    sizes = inner ? *t.inner : 0;

  for (unsigned rest = leads ? same : 0; __any_sync(~0u, rest); rest &= rest - 1) {
    const int       from = rest ? __ffs((int)rest) - 1 : 0;
    const BAIScalar a    = BAIOfLane(value, from);

    if (rest) sum += a;
    if (inner && rest && off >> from & 1) sizes += BAIAggregateMagnitude(a);
  }
  if (leads) {
    t.sum[number] = sum;
    t.entries[number] += __popc(same);
    if (t.last[number] != row) t.touch[number]++;
    t.last[number] = row;
  }
  if (inner) {
    *t.inner = sizes;
    *t.inside += __popc(same & off);
  }
  if (p.ghosts && p.sides.side) {
    __syncwarp();
    number = __shfl_sync(~0u, number, leader);
    if (column >= 0) atomicOr(&t.seen[number], BAIBitOf(p, j));
  }
  __syncwarp();
}

/* Up to a warp's lanes of members of an aggregate, one in each lane: its row, and where its entries begin and end */
struct Members {
  int row, from, to;
};

/* Some entries of a row of A: those from number first on, of member l */
struct Place {
  int l, first;
};

/* The place that follows: behind the last entry of a row comes every step-th next member that has entries */
static __device__ inline Place Next(const Members &m, Place at, int step, int count)
{
  at.first += BAI_LANES;
  while (at.l < count && at.first >= BAIOfLane(m.to, at.l)) {
    at.l += step;
    at.first = at.l < count ? BAIOfLane(m.from, at.l) : 0;
  }
  return at;
}

/* The warps of a block add the entries of an aggregate to the table of row c of C. If there are sums, each warp reads
   all rows of the aggregate and adds the entries in its own columns. Otherwise it reads only its own rows and adds all
   their entries. A warp reads the next entries before it adds the present ones */
static __device__ inline void AddRows(const BAIProduct &p, const Table &t, int slots, int c, int begin, int end)
{
  const int warp = (int)threadIdx.x / BAI_LANES, warps = (int)blockDim.x / BAI_LANES;
  const int lane = (int)threadIdx.x % BAI_LANES, step = p.sums ? 1 : warps;

  for (int base = begin; base < end; base += BAI_LANES) {
    const int count    = end - base < BAI_LANES ? end - base : BAI_LANES,
              row      = lane < count ? BAIMemberAt(p, base + lane) : 0;
    const Members m    = {row, lane < count ? p.A.i[row] : 0, lane < count ? p.A.i[row + 1] : 0};
    const auto    read = [&](Place at, int *j, BAIScalar *a) {
      const int  k = at.first + lane, to = BAIOfLane(m.to, at.l % BAI_LANES);
      const bool is = at.l < count && k < to;

      *j = is ? p.A.j[k] : -1;
      *a = is && p.sums ? p.A.a[k] : BAIScalar(0);
    };
    const int start = p.sums ? 0 : warp % BAI_LANES;
    Place     at    = {start, BAIOfLane(m.from, start) - BAI_LANES};
    int       j;
    BAIScalar a;

    for (read(at = Next(m, at, step, count), &j, &a); at.l < count;) {
      const Place next   = Next(m, at, step, count);
      const int   column = BAIColumnOf(p, j), now = BAIOfLane(m.row, at.l);
      const bool  mine = column >= 0 && (!p.sums || column % warps == warp);
      int         next_j;
      BAIScalar   next_a;

      read(next, &next_j, &next_a);
      Add(p, t, slots, c, now, j, mine ? column : NONE, BAIValueOf(p, a));
      at = next;
      j  = next_j;
      a  = next_a;
    }
  }
}

/* Stores row c of C, of an aggregate of rows rows, with ascending columns */
static __device__ inline void Store(const BAIProduct &p, const Table &t, int c, int rows)
{
  const int begin = p.C.i[c], used = *t.used;

  for (int u = (int)threadIdx.x; u < used; u += (int)blockDim.x) {
    const int column = t.column[u];
    int       to     = begin;

    for (int v = 0; v < used; v++) to += t.column[v] < column;
    p.C.j[to] = column;
    if (p.sums) p.C.a[to] = t.sum[u];
    if (!p.sides.side) continue;
    p.sides.entries[to] = t.entries[u];
    p.sides.touch[to]   = t.touch[u];
    if (p.ghosts) p.sides.back[to] = __popc(t.seen[u]);
  }
  if (p.sides.side && !threadIdx.x) p.sides.side[c] = BAISideOf(rows, *t.inner, *t.inside);
}

/* Makes rows of C or counts their columns, a thread block for each, in tables in shared memory, or if room is not NULL
   there */
template <bool IN_SHARED>
static __global__ __launch_bounds__(WARPS *BAI_LANES) void MakeLong(BAIProduct p, BAILongRows longs, int slots,
                                                                    unsigned char *room)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const Table t = TableAt(IN_SHARED ? shared : room + blockIdx.x * BytesOf(slots, p.counts), slots, p.counts);

  if (p.counts && !blockIdx.x && !threadIdx.x) p.count[p.m] = 0;
  for (int k = (int)blockIdx.x; k < longs.count; k += (int)gridDim.x) {
    const int      c  = longs.row ? longs.row[k] : k;
    const BAIRange of = BAIMembersAt(p.members, c);

    if (!threadIdx.x) {
      *t.used = *t.inside = 0;
      *t.inner            = 0;
    }
    for (int s = (int)threadIdx.x; s < slots; s += (int)blockDim.x) t.key[s] = NONE;
    __syncthreads();
    AddRows(p, t, slots, c, of.begin, of.end);
    __syncthreads();
    if (!p.counts) Store(p, t, c, of.end - of.begin);
    else if (!threadIdx.x) {
      p.count[c] = *t.used;
      BAIFind(p.found, *t.used);
    }
    __syncthreads();
  }
}

/* The number of warps that make a row: all read the entries of the aggregate, if there are sums, so more warps make a
   single row faster but many rows slower */
static unsigned WarpsFor(BAILevelsState state, const BAIProduct &p, int rows)
{
  const double entries = (double)p.A.nnz / (double)p.m;

  if (rows < 2 * state->s.processors) return WARPS;
  return (unsigned)std::min(std::max(entries / ENTRIES, 1.0), (double)WARPS);
}

BAIStatus BAIMakeLongRows(BAILevelsState state, const BAIProduct &p, const BAILongRows &longs, int widest)
{
  const int      slots   = SlotsFor(widest);
  const size_t   bytes   = (BytesOf(slots, p.counts) + 15) / 16 * 16;
  const unsigned threads = BAI_LANES * WarpsFor(state, p, longs.count);
  unsigned       blocks  = (unsigned)longs.count;
  BAIRoom        room;
  unsigned char *tables = NULL;

  if (!longs.count) return BAIStatusOf(BAI_OK);
  if (bytes <= SHARED) {
    BAITry(BAIAllowShared((const void *)MakeLong<true>, bytes));
    MakeLong<true><<<blocks, threads, bytes, state->s.stream>>>(p, longs, slots, NULL);
  } else { /* as many as have room for their tables in the memory of a copy of A, or one */
    const size_t matrix = (size_t)p.A.nnz * (sizeof(int) + sizeof(BAIScalar));

    blocks = std::min(blocks, (unsigned)std::max(std::min(matrix / bytes, (size_t)state->s.processors * 8), (size_t)1));
    BAITry(room.Get(state, blocks * bytes, &tables));
    MakeLong<false><<<blocks, threads, 0, state->s.stream>>>(p, longs, slots, tables);
  }
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
