/*
   Levels by places on a device: blocks, and the matrix in slices. The results are those of host/place.c. Each kernel
   works on all levels, as launches for the small ones would take longer than their work
*/
#include "alike.h"
#include "spread.h"
#include "tuning.h"
#include "../../common/cuda/atomic.h"
#include "../../common/cuda/scan.h"
#include "../../common/cuda/warp.h"
#include <vector>

enum {
  THREADS  = 256,
  AT_ONCE  = 4,   /* entries of a row that a thread reads at once */
  LANES    = 16,  /* lanes that store a row together, by teams of */
  TEAMS    = 512, /* this number of threads of a block, if rows have on average more than */
  LONG_ROW = 24   /* this number of entries; otherwise a thread stores a row */
};

/* A level for kernels. Of its blocks, at most most are cut */
struct Fill {
  BAIRows          A;
  int              m, step, most; /* step: distance of blocks, if some are too large at the distance BAI_LEVELS_BLOCK */
  const int       *child, *row, *place;
  int             *first, *aggregate, *slice, *out_first;
  unsigned short  *in_j;
  int             *out_j;
  void            *in_a, *out_a, *d, *dinv, *extra;
  bool             bare;    /* some rows have no diagonal entry */
  int              compact; /* see BAIBlocksAreCompact() */
  int              modes;   /* 0: P is not kept */
  const BAIScalar *P;
  void            *p;
  /* hashes of blocks, which begin as 0; NULL: they are not wanted */
  unsigned long long *hash;
  BAIPlaced          *found;
};

/* Number of blocks of aggregates, of which the last may be empty, if each begins with the first aggregate that begins
   at a multiple of step or behind; end is the number of rows in aggregates */
static __device__ inline int BlocksOfAggregates(const Fill &f, int step, int end)
{
  const int main = (end + step - 1) / step;

  return main && f.child[f.m - 1] < (long long)(main - 1) * step ? main - 1 : main;
}

/* The first place of block k of a level, and its first aggregate; behind the last of the main blocks of aggregates,
   blocks of rows in no aggregate */
static __device__ inline int BeginOf(const Fill &f, int step, int main, int end, int k, int *aggregate)
{
  const long long at  = (long long)end + (long long)(k - main) * BAI_LEVELS_BLOCK;
  int             low = 0, high = f.m;

  *aggregate = f.m;
  if (k >= main) return at < f.A.n ? (int)at : f.A.n;
  while (low < high) {
    const int middle = (low + high) / 2;

    if (f.child[middle] < (long long)k * step) low = middle + 1;
    else high = middle;
  }
  *aggregate = low;
  return f.child[low];
}

/* Cuts blocks, a thread for each: the first time only to find the largest one, and then, again, so that all are small
   enough */
static __global__ __launch_bounds__(THREADS) void Cut(const Fill *levels, BAISpread spread, bool again)
{
  const BAIShare share = BAIShareOf(spread);
  const Fill    &f     = levels[share.level];
  const int      k = share.block * THREADS + (int)threadIdx.x, end = f.m ? f.child[f.m] : 0;
  const int      step = again && f.found->largest > BAI_LEVELS_BLOCK ? f.step : BAI_LEVELS_BLOCK;
  const int      main = BlocksOfAggregates(f, step, end);
  int            aggregate;

  if (again) {
    if (k <= f.most) {
      f.first[k]     = BeginOf(f, step, main, end, k, &aggregate);
      f.aggregate[k] = aggregate;
    }
    if (k) return;
    f.found->alone  = f.A.n - end;
    f.found->blocks = main + (f.A.n - end + BAI_LEVELS_BLOCK - 1) / BAI_LEVELS_BLOCK;
  } else {
    const int size    = k < f.most
         ? BeginOf(f, step, main, end, k + 1, &aggregate) - BeginOf(f, step, main, end, k, &aggregate)
         : 0;
    const int largest = __reduce_max_sync(~0u, size);

    if (threadIdx.x % BAI_LANES == 0) BAIRaiseTo(&f.found->largest, largest);
  }
}

/* Counts entries, by a thread block for each block of a level. Prefix sums will turn the counts into places. For each
   slice, slice gets the number of pairs inside the block of its widest row. For each place, out_first gets the number
   of entries outside the block of its row. found->bare grows by the number of rows without a diagonal entry, and
   found->widest becomes at least the number of entries inside the block of the widest row */
static __global__ __launch_bounds__(BAI_LEVELS_BLOCK) void Count(const Fill *levels, BAISpread spread)
{
  const BAIShare share = BAIShareOf(spread);
  const Fill    &f     = levels[share.level];
  const int      first = f.first[share.block], last = f.first[share.block + 1], p = first + (int)threadIdx.x;
  int            in = 0, outside = 0;
  bool           bare = p < last;

  if (p < last) {
    const int row = f.row[p], end = f.A.i[row + 1];

    for (int k = f.A.i[row]; k < end; k++) {
      const int q = f.place[f.A.j[k]];

      if (q == p) bare = false;
      else if (q >= first && q < last) in++;
      else outside++;
    }
    f.out_first[p] = outside;
  }
  const int bares = __popc(__ballot_sync(~0u, bare)), most = __reduce_max_sync(~0u, in);

  if (threadIdx.x % BAI_TEAM) return;
  f.slice[share.block * BAI_TEAMS + (int)threadIdx.x / BAI_TEAM] = (most + 1) / 2;
  if (bares) atomicAdd(&f.found->bare, bares);
  if (most > f.found->widest) atomicMax(&f.found->widest, most); /* from a cache, and so perhaps too small */
  if (share.block || threadIdx.x) return;
  f.slice[f.most * BAI_TEAMS] = f.out_first[f.A.n] = 0;
}

/* Finds the sizes of the arrays of levels, a thread for each */
static __global__ void Ends(const Fill *levels, int count)
{
  const int l = (int)threadIdx.x;

  if (l >= count || !levels[l].found) return;
  const Fill &f = levels[l];

  f.found->columns = f.slice[f.most * BAI_TEAMS];
  f.found->outside = f.out_first[f.A.n];
  f.found->inside  = f.A.i[f.A.n] - (f.A.n - f.found->bare) - f.found->outside;
}

/* The part of a row that is stored so far: columns of its slice, and entries outside; the sums of the magnitudes of
   entries besides the diagonal and of those inside the block; the diagonal entry; this thread's share of the hash, a
   sum, so that the order of threads does not matter; and the first entry of a pair that is not stored yet */
template <typename T>
struct Stored {
  int       columns, out;
  BAIReal   sum, inside;
  BAIScalar diagonal;
  uint64_t  hash;
  int       place;
  T         a;
};

/* Where a row's entries inside its block are stored: the place of the first one, of which the second of a pair is the
   next one; and the number of columns of the slice. apart: entries outside the block leave columns empty, so that in a
   grid all rows have the neighbours of one direction in one column, which lie in different banks of memory. There are
   columns enough, as the diagonal entry takes none */
struct Slot {
  long long to;
  int       width;
  bool      apart;
};

/* The slot of a row of a block that has this number of entries */
static __device__ inline Slot SlotOf(const Fill &f, int block, int row, int entries)
{
  const int at = block * BAI_TEAMS + row / BAI_TEAM, begin = f.slice[at], width = 2 * (f.slice[at + 1] - begin);

  return {((long long)begin * BAI_TEAM + row % BAI_TEAM) * 2, width, !f.bare && entries <= width + 1};
}

/* Where an entry is stored, for a hash: row and place in the block, or place -1 for outside, and column of the slice */
static __device__ inline uint64_t EntryKey(int row, int column, int place)
{
  return (uint64_t)(unsigned)row << 48 ^ (uint64_t)(unsigned)column << 16 ^ (unsigned short)place;
}

/* Stores an entry of a row inside its block in column k of the slice. One thread for a row, which stores columns in
   order, keeps the first entry of a pair until it has both */
template <typename T, int LANES>
static __device__ inline void StoreInside(const Fill &f, const Slot &slot, int k, int place, T a, Stored<T> *s)
{
  const long long pair = slot.to / 2 + k / 2 * BAI_TEAM, to = pair * 2 + k % 2;

  if (LANES > 1) {
    reinterpret_cast<unsigned char *>(f.in_j)[to] = (unsigned char)place;
    static_cast<T *>(f.in_a)[to]                  = a;
  } else if (k % 2) {
    f.in_j[pair]                            = (unsigned short)(s->place | place << 8);
    static_cast<BAIPair<T> *>(f.in_a)[pair] = {s->a, a};
  } else {
    s->place = place;
    s->a     = a;
  }
}

/* Stores entries of the row at place p, one in each lane of a team, which the lanes of a warp do together unless a team
   is a single lane, behind those that are stored: inside the block from place first to last - 1, or outside. Sums are
   in the order of the entries */
template <typename T, int LANES>
static __device__ inline void StoreEntries(const Fill &f, BAIReal scale, const Slot &slot, int p, int first, int last,
                                           bool is, int q, BAIScalar a, Stored<T> *s)
{
  const bool     diagonal = is && q == p, near = is && !diagonal && q >= first && q < last;
  const bool     far = is && !diagonal && !near, inside = near || (far && slot.apart);
  const int      base    = (int)threadIdx.x % BAI_LANES / LANES * LANES;
  const unsigned team    = LANES == BAI_LANES ? ~0u : ((1u << LANES % BAI_LANES) - 1) << base,
                 before  = ((1u << threadIdx.x % BAI_LANES) - 1) & team;
  const unsigned columns = LANES == 1 ? inside : __ballot_sync(~0u, inside) & team,
                 fars    = LANES == 1 ? far : __ballot_sync(~0u, far) & team,
                 nears   = LANES == 1 ? near : __ballot_sync(~0u, near) >> base;
  const BAIReal   size   = near || far ? BAIAggregateMagnitude(a) : 0;
  const BAIScalar d      = diagonal ? a : BAIScalar(0);
  const int       column = s->columns + (LANES == 1 ? 0 : __popc(columns & before));

  if (near) StoreInside<T, LANES>(f, slot, column, q - first, T(a * scale), s);
  if (far && slot.apart) StoreInside<T, LANES>(f, slot, column, p - first, T(0), s);
  if (is && f.hash) s->hash += BAIHashWith(EntryKey(p - first, column, far ? -1 : q - first), T(a * scale));
  if (far) {
    const int at = s->out + (LANES == 1 ? 0 : __popc(fars & before));

    f.out_j[at]                   = q;
    static_cast<T *>(f.out_a)[at] = T(a * scale);
  }
  s->columns += LANES == 1 ? (int)columns : __popc(columns);
  s->out += LANES == 1 ? (int)fars : __popc(fars);
#pragma unroll
  for (int l = 0; l < LANES; l++) {
    const BAIReal one = LANES == 1 ? size : __shfl_sync(~0u, size, l, LANES);

    s->sum += one;
    s->inside += nears >> l & 1 ? one : 0;
  }
  if (LANES == 1) s->diagonal += d;
  for (unsigned rest = LANES == 1 ? 0 : __ballot_sync(~0u, diagonal); rest; rest &= rest - 1) {
    const int       from = __ffs((int)rest) - 1;
    const BAIScalar one  = BAIOfLane(d, from);

    if (from / LANES * LANES == base) s->diagonal += one;
  }
}

/* Stores the rows of levels by places: entries inside the block in slices, entries outside row by row, and the data of
   the local sweeps; a thread block for each block, and a team of lanes for each row, one after the other. Sets
   needs_extra if something is added to a diagonal entry */
template <typename T, int LANES>
static __global__ __launch_bounds__(LANES == 1 ? (int)BAI_LEVELS_BLOCK : (int)TEAMS) void FillLevel(const Fill *levels,
                                                                                                    BAISpread   spread,
                                                                                                    BAIReal     scale)
{
  const BAIShare share = BAIShareOf(spread);
  const Fill    &f     = levels[share.level];
  const int      first = f.first[share.block], last = f.first[share.block + 1], lane = (int)threadIdx.x % LANES;
  enum {
    READ = LANES == 1 ? AT_ONCE : 1 /* entries that a lane reads at once */
  };
  uint64_t hash = 0;

  for (int l = (int)threadIdx.x / LANES; l < BAI_LEVELS_BLOCK; l += (int)blockDim.x / LANES) {
    const bool is = first + l < last;
    const int  p = is ? first + l : -1, row = is ? f.row[p] : 0, begin = is ? f.A.i[row] : 0,
              end   = is ? f.A.i[row + 1] : 0;
    const Slot slot = SlotOf(f, share.block, l, end - begin);
    Stored<T>  s    = {0, is ? f.out_first[p] : 0, 0, 0, 0, 0, 0, T(0)};

    for (int k = begin; LANES == 1 ? k < end : __any_sync(~0u, k < end); k += READ * LANES) {
      int       q[READ];
      BAIScalar a[READ];

#pragma unroll
      for (int r = 0; r < READ; r++) {
        const int at = k + r * LANES + lane;

        q[r] = at < end ? f.A.j[at] : -1;
        a[r] = at < end ? f.A.a[at] : BAIScalar(0);
      }
#pragma unroll
      for (int r = 0; r < READ; r++) q[r] = q[r] < 0 ? -1 : f.place[q[r]];
#pragma unroll
      for (int r = 0; r < READ; r++) StoreEntries<T, LANES>(f, scale, slot, p, first, last, q[r] >= 0, q[r], a[r], &s);
    }
    hash += s.hash;
    for (int k = s.columns + lane; k < slot.width; k += LANES) StoreInside<T, LANES>(f, slot, k, l, T(0), &s);
    if (!is || lane) continue;
    BAIScalar       inverse;
    const BAIScalar diagonal = BAICycleDiagonal(s.diagonal, s.sum, !share.level);
    const BAIScalar extra    = BAISweepsOfRow(diagonal, s.sum, s.inside, f.compact, scale, &inverse);

    static_cast<T *>(f.d)[p]     = T(diagonal * scale);
    static_cast<T *>(f.dinv)[p]  = T(inverse);
    static_cast<T *>(f.extra)[p] = T(extra * scale);
    if (extra != BAIScalar(0)) f.found->needs_extra = 1;
    for (int k = 0; k < f.modes; k++)
      static_cast<T *>(f.p)[(long long)p * f.modes + k] = T(f.P[(long long)row * f.modes + k]);
  }
  if (!f.hash) return;
  const unsigned long long sum = BAISumOfWarp((unsigned long long)hash);

  if (threadIdx.x % BAI_LANES == 0) atomicAdd(&f.hash[share.block], sum);
}

/* Whether a level is stored by places: it has rows, and is not solved exactly */
static bool IsPlaced(BAILevelsState state, const BAIDeviceLevel *L)
{
  return L->A.n && (L->m || !BAIIsExact(&state->p, L->A.n));
}

/* Blocks begin with the first aggregate at or behind each multiple of a step. Returns the largest step at which no
   block is too large */
static int StepOf(const BAIDeviceLevel *L)
{
  return BAI_LEVELS_BLOCK - (L->most > 1 ? L->most : 1) + 1;
}

/* The largest number of blocks, with those of rows in no aggregate */
static int MostBlocks(const BAIDeviceLevel *L)
{
  return L->A.n / StepOf(L) + 4;
}

/* The first count levels for kernels, on the device in room; found is NULL for a level that is not stored by places */
static BAIStatus Describe(BAILevelsState state, int count, BAIRoom *room, Fill **levels)
{
  std::vector<Fill> f((size_t)count);

  for (int l = 0; l < count; l++) {
    const BAIDeviceLevel *L  = &state->level[l];
    Fill                 *to = &f[(size_t)l];

    if (!IsPlaced(state, L)) continue;
    *to = {L->A,
           L->m,
           StepOf(L),
           MostBlocks(L),
           L->child,
           L->row,
           L->place,
           L->first,
           L->block_aggregate,
           L->slice,
           L->out_first,
           L->in_j,
           L->out_j,
           L->in_a,
           L->out_a,
           L->d,
           L->dinv,
           L->e,
           L->bare,
           BAIBlocksAreCompact(&state->p, l, &L->box),
           L->P ? state->p.modes : 0,
           L->P,
           L->p,
           L->hash,
           state->placed + l};
  }
  BAITry(room->Get(state, f.size(), levels));
  CUDATry(cudaMemcpyAsync(*levels, f.data(), f.size() * sizeof(Fill), cudaMemcpyHostToDevice, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Allocates the blocks of levels, cuts them, and finds the sizes of the other arrays */
static BAIStatus CutAndCount(BAILevelsState state, int count)
{
  cudaStream_t stream  = state->s.stream;
  BAISpread    threads = {}, blocks = {};
  BAISums      sums[BAI_SUMS_MOST];
  BAIRoom      room;
  Fill        *levels;
  int          nsums = 0;
  BAIPlaced    on_host[BAI_LEVELS_MOST];

  static_assert(2 * (int)BAI_LEVELS_MOST <= (int)BAI_SUMS_MOST, "two prefix sums for each level");
  for (int l = 0; l < count; l++) {
    BAIDeviceLevel *L = &state->level[l];

    if (!IsPlaced(state, L)) continue;
    const int    most = MostBlocks(L);
    const size_t n = (size_t)L->A.n, slices = (size_t)most * BAI_TEAMS;

    BAITry(BAIKeep(state, (size_t)most + 1, &L->first));
    BAITry(BAIKeep(state, (size_t)most + 1, &L->block_aggregate));
    BAITry(BAIKeep(state, slices + 1, &L->slice));
    BAITry(BAIKeep(state, n + 1, &L->out_first));
    BAISpreadOver(&threads, l, ((long long)most + THREADS) / THREADS);
    BAISpreadOver(&blocks, l, most);
    sums[nsums++] = {(long long)slices + 1, L->slice, L->slice};
    sums[nsums++] = {(long long)n + 1, L->out_first, L->out_first};
  }
  if (!nsums) return BAIStatusOf(BAI_OK);
  BAITry(Describe(state, count, &room, &levels));
  for (int again = 0; again < 2; again++)
    Cut<<<BAIBlocksOf(threads), THREADS, 0, stream>>>(levels, threads, again != 0);
  Count<<<BAIBlocksOf(blocks), BAI_LEVELS_BLOCK, 0, stream>>>(levels, blocks);
  CUDATry(cudaGetLastError());
  BAITry(BAIScans(&state->s, nsums, sums));
  Ends<<<1, BAI_LEVELS_MOST, 0, stream>>>(levels, count);
  CUDATry(cudaGetLastError());
  BAITry(BAIDownload(&state->s, (size_t)count, state->placed, on_host));
  for (int l = 0; l < count; l++) {
    BAIDeviceLevel  *L = &state->level[l];
    const BAIPlaced *f = &on_host[l];

    if (!IsPlaced(state, L)) continue;
    const int pairs = (f->widest + 1) / 2;

    L->alone   = f->alone;
    L->blocks  = f->blocks;
    L->columns = f->columns;
    L->outside = f->outside;
    L->inside  = f->inside;
    L->bare    = f->bare > 0;
    L->widest  = pairs;
    L->pairs   = (long long)L->blocks * BAI_TEAMS * pairs == L->columns ? pairs : 0;
  }
  return BAIStatusOf(BAI_OK);
}

/* An array to allocate */
struct Array {
  void **pointer;
  size_t bytes;
};

/* Allocates arrays and sets their pointers, those of no bytes to NULL. Small arrays are allocated together, as each
   call takes microseconds. Large ones are allocated each for itself: for these CUDA mostly finds memory that is mapped
   already, and for all of them together it would map more */
template <size_t COUNT>
static BAIStatus AllocateAll(BAILevelsState state, const Array (&arrays)[COUNT])
{
  enum {
    ALIGNMENT = 256,    /* that of CUDA's allocations */
    LARGE     = 1 << 24 /* bytes, which CUDA maps in about 20 microseconds */
  };
  size_t bytes = 0;
  char  *room  = NULL;

  for (const Array &array : arrays)
    if (array.bytes < LARGE) bytes += (array.bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (bytes) BAITry(BAICUDAAllocate(&state->s, bytes, &room));
  for (const Array &array : arrays) {
    if (array.bytes >= LARGE) BAITry(BAICUDAAllocate(&state->s, array.bytes, array.pointer));
    else {
      *array.pointer = array.bytes ? room : NULL;
      room += (array.bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
  }
  return BAIStatusOf(BAI_OK);
}

/* Allocates the other arrays of a level's matrix */
static BAIStatus MakeRoom(BAILevelsState state, BAIDeviceLevel *L)
{
  const bool   alike = BAIBlocksAreLookedAt(state, L);
  const size_t n = (size_t)L->A.n, size = BAISizeOfNumbers(state), pairs = (size_t)L->columns * BAI_TEAM;
  const Array  arrays[] = {
     {(void **)&L->in_j,  pairs * sizeof(*L->in_j)                        },
     {(void **)&L->out_j, (size_t)L->outside * sizeof(*L->out_j)          },
     {&L->in_a,           2 * pairs * size                                },
     {&L->out_a,          (size_t)L->outside * size                       },
     {&L->d,              n * size                                        },
     {&L->dinv,           n * size                                        },
     {&L->e,              n * size                                        },
     {(void **)&L->hash,  alike ? (size_t)L->blocks * sizeof(*L->hash) : 0},
     {(void **)&L->like,  alike ? (size_t)L->blocks * sizeof(*L->like) : 0},
     {&L->p,              L->P ? n * (size_t)state->p.modes * size : 0    }
  };

  return AllocateAll(state, arrays);
}

BAIStatus BAIPlaceVectors(BAILevelsState state, int count)
{
  const size_t size = BAISizeOfNumbers(state);

  for (int l = 0; l < count; l++) {
    BAIDeviceLevel *L      = &state->level[l];
    const bool      placed = IsPlaced(state, L);
    const size_t    n = (size_t)L->A.n, all = placed ? n + (size_t)L->A.ghosts : n;
    const Array     arrays[] = {
          {&L->b, n * size               },
          {&L->x, all * size             },
          {&L->y, placed ? all * size : 0}
    };

    if (n) BAITry(AllocateAll(state, arrays));
  }
  return BAIStatusOf(BAI_OK);
}

/* Stores the values of levels by places */
static BAIStatus FillLevels(BAILevelsState state, int first, int end)
{
  BAISpread shorts = {}, longs = {};
  BAIRoom   room;
  Fill     *levels;

  for (int l = first; l < end; l++) {
    const BAIDeviceLevel *L = &state->level[l];

    if (IsPlaced(state, L)) BAISpreadOver(L->A.nnz > (int64_t)LONG_ROW * L->A.n ? &longs : &shorts, l, L->blocks);
    if (L->hash) CUDATry(cudaMemsetAsync(L->hash, 0, (size_t)L->blocks * sizeof(*L->hash), state->s.stream));
  }
  BAITry(Describe(state, end, &room, &levels));
  if (shorts.levels) {
    const auto fill = state->single ? FillLevel<BAISingle, 1> : FillLevel<BAIScalar, 1>;

    fill<<<BAIBlocksOf(shorts), BAI_LEVELS_BLOCK, 0, state->s.stream>>>(levels, shorts, state->scale);
  }
  if (longs.levels) {
    const auto fill = state->single ? FillLevel<BAISingle, LANES> : FillLevel<BAIScalar, LANES>;

    fill<<<BAIBlocksOf(longs), TEAMS, 0, state->s.stream>>>(levels, longs, state->scale);
  }
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIPlaceLevels(BAILevelsState state, int first, int end)
{
  const BAIDeviceLevel *like = state->p.like ? BAILevelsStateOf(state->p.like)->level : NULL;
  const size_t          size = BAISizeOfNumbers(state);

  if (!state->kept) BAITry(CutAndCount(state, end));
  for (int l = first; l < end && !state->kept; l++) {
    BAIDeviceLevel *L = &state->level[l];

    if (IsPlaced(state, L)) BAITry(MakeRoom(state, L));
  }
  BAITry(FillLevels(state, first, end));
  for (int l = first; l < end && like; l++) {
    const BAIDeviceLevel *L = &state->level[l];

    if (!IsPlaced(state, L)) continue;
    CUDATry(cudaMemcpyAsync(L->e, like[l].e, (size_t)L->A.n * size, cudaMemcpyDeviceToDevice, state->s.stream));
    CUDATry(cudaMemcpyAsync(L->dinv, like[l].dinv, (size_t)L->A.n * size, cudaMemcpyDeviceToDevice, state->s.stream));
  }
  return BAIStatusOf(BAI_OK);
}
