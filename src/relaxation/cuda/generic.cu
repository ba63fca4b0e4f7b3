/* The kernel for any matrix and any block size. Local sweeps read the entries inside blocks from caches */
#include "../fault.h"
#include "../../common/scale.h"
#include "pieces.h"
#include <limits.h>

enum {
  LOADS_IN_FLIGHT = 8 /* loads in flight of a thread */
};

/* Counts the reads of a tile that begins a global iteration; called by all threads. In mode sync it reads the previous
   iterate, whatever has been written since. Neighbours are tiles that it reads from and tiles that read from it */
template <BAIOrder order>
static __device__ inline void CountReads(const BAISweep &p, int tile)
{
  const int mine = *(volatile int *)(p.counts.updates + tile);

  for (int k = p.neighbors.first[tile] + threadIdx.x; k < p.neighbors.first[tile + 1]; k += blockDim.x) {
    const int stale = order == BAI_FLAGS ? 0 : mine - *(volatile int *)(p.counts.updates + (p.neighbors.tile[k] >> 1));

    atomicAdd(p.counts.reads + min(max(stale, -BAI_MOST_STALE), +BAI_MOST_STALE) + BAI_MOST_STALE, 1ull);
  }
}

/* Counts the update of a tile when it can be seen; called by all threads after they have written it */
static __device__ inline void CountUpdate(const BAISweep &p, int tile)
{
  __syncthreads();
  if (threadIdx.x) return;
  *(volatile int *)(p.counts.updates + tile) = *(volatile int *)(p.counts.updates + tile) + 1;
  __threadfence();
}

/* The sum over the pieces of each lane's row; called by all lanes */
template <typename V>
static __device__ __forceinline__ V PiecesOf(const BAISliced &A, int slice, int lane)
{
  return A.long_first ? BAISumOfPieces<V>(A, A.long_first[slice], A.long_first[slice + 1], lane) : V(0);
}

/* b minus the products of a row outside its block and not in pieces */
template <BAIOrder order, typename V>
static __device__ __forceinline__ V SumOutside(const BAISliced &A, const BAISweep &p, int slice, int lane, int row,
                                               const V *x)
{
  const V *off_a = static_cast<const V *>(A.off_a), *b = static_cast<const V *>(p.b),
          *ghost       = static_cast<const V *>(p.ghost);
  const BAIOutside O   = BAIOutsideOf(A, A.slice[slice], slice, lane);
  V                sum = b[row];

  for (int w = 0; w < O.width; w += LOADS_IN_FLIGHT) {
    V other[LOADS_IN_FLIGHT];

#pragma unroll
    for (int v = 0; v < LOADS_IN_FLIGHT; v++)
      other[v] = w + v < O.width
        ? BAILoadColumn<order>(A, x, ghost, BAIColumn(A, O.by_delta, row, A.off_j[O.j + (long long)(w + v) * O.step_j]))
        : V(0);
#pragma unroll
    for (int v = 0; v < LOADS_IN_FLIGHT; v++) {
      if (w + v < O.width) sum -= off_a[O.a + (long long)(w + v) * O.step] * other[v];
    }
  }
  return sum;
}

/* sum minus the products of a row inside its block, without the diagonal */
template <typename V, typename Columns>
static __device__ __forceinline__ V SumInside(const BAISliced &A, int slice, int lane, const Columns &loc_j,
                                              const V *loc_a, const V *y, V sum)
{
  const long long loc   = A.slice[slice].loc + lane;
  const int       width = A.slice[slice].loc_width;

  for (int w = 0; w < width; w += LOADS_IN_FLIGHT) {
    V value[LOADS_IN_FLIGHT];

#pragma unroll
    for (int v = 0; v < LOADS_IN_FLIGHT; v++)
      value[v] = w + v < width
        ? loc_a[loc + (long long)(w + v) * BAI_LANES] * y[loc_j[loc + (long long)(w + v) * BAI_LANES]]
        : V(0);
#pragma unroll
    for (int v = 0; v < LOADS_IN_FLIGHT; v++) sum -= value[v];
  }
  return sum;
}

/* The maximum of mine over the threads of a tile; a barrier, called by all */
static __device__ inline int LargestExponent(int mine, int *largest)
{
  if (!threadIdx.x) *largest = INT_MIN;
  __syncthreads();
#pragma unroll
  for (int k = 1; k < BAI_LANES; k *= 2) mine = max(mine, BAIShuffleDown(mine, k));
  if (threadIdx.x % BAI_LANES == 0) atomicMax(largest, mine);
  __syncthreads();
  return *largest;
}

/* Stores b - A x of a tile's rows in s, and zeros in y; xs has room for the tile's x. Returns the largest exponent of
   this thread's residuals */
template <BAIOrder order, typename Columns, typename V, typename I>
static __device__ __forceinline__ int Residuals(const BAISliced &A, const BAISweep &p, int tile, const V *x,
                                                const Columns &loc_j, V *xs, V *s, I *y)
{
  const int lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES,
            first = tile * A.tile_rows, slice0 = tile * A.tile_slices;
  int exponent = INT_MIN;

  for (int i = threadIdx.x; i < A.tile_rows; i += blockDim.x) {
    if (BAIRowAt(A, tile, i) >= 0) xs[i] = BAILoad(x + BAIRowAt(A, tile, i));
  }
  __syncthreads();
  for (int slice = warp; slice < A.tile_slices; slice += warps) {
    const int i = slice * BAI_LANES + lane, row = BAIRowAt(A, tile, i);
    const V   pieces = PiecesOf<V>(A, slice0 + slice, lane);

    if (row < 0) continue;
    V r = SumOutside<order>(A, p, slice0 + slice, lane, row, x) - pieces - A.d[first + i] * xs[i];

    r        = SumInside(A, slice0 + slice, lane, loc_j, static_cast<const V *>(A.loc_a), xs, r);
    exponent = max(exponent, ilogb(BAIAbs(r)));
    s[i]     = r;
    y[i]     = I(0);
  }
  return exponent;
}

/* Stores b minus the products of a tile's rows outside their blocks in s, and x in y */
template <BAIOrder order, typename V>
static __device__ __forceinline__ void SumsOutside(const BAISliced &A, const BAISweep &p, int tile, const V *x, V *s,
                                                   V *y)
{
  const int lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES,
            slice0 = tile * A.tile_slices;

  for (int slice = warp; slice < A.tile_slices; slice += warps) {
    const int i = slice * BAI_LANES + lane, row = BAIRowAt(A, tile, i);
    const V   pieces = PiecesOf<V>(A, slice0 + slice, lane);

    if (row < 0) continue;
    s[i] = SumOutside<order>(A, p, slice0 + slice, lane, row, x) - pieces;
    y[i] = BAILoad(x + row);
  }
}

/* Does most local sweeps of a tile on y, fewer as A.iters says, with s times scale if REFINED; y is then the result */
template <bool WATCHED, bool REFINED, typename Columns, typename V, typename I>
static __device__ __forceinline__ void LocalSweeps(const BAISliced &A, const BAISweep &p, int tile, int most,
                                                   const Columns &loc_j, BAIReal scale, bool faulty, const V *s, I *&y,
                                                   I *&ynext)
{
  const int lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES,
            first = tile * A.tile_rows, slice0 = tile * A.tile_slices;
  const I *sweep_a = static_cast<const I *>(A.sweep_a), *dinv = static_cast<const I *>(A.dinv);

  for (int sweep = 1; sweep <= most; sweep++) {
    for (int slice = warp; slice < A.tile_slices; slice += warps) {
      const int i = slice * BAI_LANES + lane, row = BAIRowAt(A, tile, i);

      if (row < 0) continue;
      I sum = I(s[i]);

      if constexpr (REFINED) sum = I(scale * s[i]);
      sum      = SumInside(A, slice0 + slice, lane, loc_j, sweep_a, y, sum);
      ynext[i] = A.iters && sweep > A.iters[first + i]
        ? y[i]
        : y[i] + BAIRealOf<I>(BAILocalOmegaAt(A, p, first + i)) * (sum * dinv[first + i] - y[i]);
      if (WATCHED && faulty && BAIFaultStops(&p.fault, row)) ynext[i] = y[i];
    }
    __syncthreads();
    I *swap = y;
    y       = ynext;
    ynext   = swap;
  }
}

/* Updates the rows of a tile from y, the result of the local sweeps */
template <bool WATCHED, bool REFINED, typename V, typename I>
static __device__ __forceinline__ void Update(const BAISliced &A, const BAISweep &p, int tile, int iteration,
                                              const V *x, V *next, BAIReal scale, bool faulty, const I *y)
{
  const int first = tile * A.tile_rows;

  for (int i = threadIdx.x; i < A.tile_rows; i += blockDim.x) {
    const int row = BAIRowAt(A, tile, i);

    if (row < 0) continue;
    const V xi = BAILoad(x + row), step = REFINED ? V(y[i]) / BAIRealOf<V>(scale) : V(y[i]) - xi;

    BAIUpdateRow(p, iteration, first + i, next + row, xi, step, WATCHED && faulty && BAIFaultStops(&p.fault, row));
  }
}

/*
   Does the iterations of a launch for this thread block's tiles. x and sums have type V. With REFINED local sweeps
   compute a correction of type I from zero: r is b - A x, and they read r times a power of two that fits this type
*/
template <typename Columns, typename V, BAIOrder order, bool WATCHED, bool REFINED, typename I>
static __device__ __forceinline__ void GoThroughTilesIn(const BAISliced &A, const BAISweep &p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  V            *work = p.scratch ? static_cast<V *>(p.scratch) + 3 * (size_t)A.tile_rows * blockIdx.x
                                 : reinterpret_cast<V *>(shared);
  const Columns loc_j(A);

  BAIGoThroughTiles<order, V>(A, p, [&](int tile, int iteration, int from, int to, auto &turn) {
    const int  most   = A.tile_iters ? A.tile_iters[tile] : p.local_iters;
    const bool faulty = WATCHED && BAIFaultIsAt(&p.fault, p.its + iteration);
    const V   *x      = BAIIterateOf<V>(p, from);
    V         *next = BAIIterateOf<V>(p, to), *s = work;
    I         *y = reinterpret_cast<I *>(s + (sizeof(I) < sizeof(V) ? 2 : 1) * A.tile_rows), *ynext = y + A.tile_rows;
    BAIReal    scale = 1;

    turn.Begin();
    if (WATCHED && p.counts.updates) CountReads<order>(p, tile);
    if (A.long_first) BAIOwnPieces<order>(A, p, tile, x);
    if constexpr (REFINED) {
      __shared__ int largest;
      V        *xs = s + (sizeof(I) < sizeof(V) ? 1 : 2) * A.tile_rows; /* the tile's x, in memory that is used later */
      const int exponent = Residuals<order>(A, p, tile, x, loc_j, xs, s, y);

      if (sizeof(I) < sizeof(V)) scale = BAIScaleOf(LargestExponent(exponent, &largest));
    } else {
      SumsOutside<order>(A, p, tile, x, s, y);
    }
    if (A.long_first) BAISharedPieces<order>(A, p, tile, iteration, x);
    __syncthreads();

    LocalSweeps<WATCHED, REFINED>(A, p, tile, most, loc_j, scale, faulty, s, y, ynext);
    Update<WATCHED, REFINED>(A, p, tile, iteration, x, next, scale, faulty, y);
    if (WATCHED && p.counts.updates) CountUpdate(p, tile);
  });
}

template <typename Columns, typename V, bool WATCHED, bool REFINED = false, typename I = V>
static __device__ __forceinline__ void GoThroughTiles(const BAISliced &A, const BAISweep &p)
{
  if (p.how == BAI_OWN) GoThroughTilesIn<Columns, V, BAI_OWN, WATCHED, REFINED, I>(A, p);
  else if (p.how == BAI_QUEUE) GoThroughTilesIn<Columns, V, BAI_QUEUE, WATCHED, REFINED, I>(A, p);
  else if (p.how == BAI_FLAGS) GoThroughTilesIn<Columns, V, BAI_FLAGS, WATCHED, REFINED, I>(A, p);
  else GoThroughTilesIn<Columns, V, BAI_TURNS, WATCHED, REFINED, I>(A, p);
}

/* The generic kernel for the common case: native precision, and tiles whose places fit in 16 bits */
static __global__ void __launch_bounds__(1024) Generic(BAISliced A, BAISweep p)
{
  GoThroughTiles<BAINarrow, BAIScalar, false>(A, p);
}

/* The generic kernel for all other cases, including faults and statistics */
static __global__ void __launch_bounds__(1024, 1) GenericAny(BAISliced A, BAISweep p)
{
  if (A.single) GoThroughTiles<BAINarrowOrWide, BAISingle, true>(A, p);
  else GoThroughTiles<BAINarrowOrWide, BAIScalar, true>(A, p);
}

/* Does global iterations of blocks that refine; corrections have type I */
template <typename I>
static __device__ __forceinline__ void Refined(const BAISliced &A, const BAISweep &p)
{
  GoThroughTiles<BAINarrowOrWide, BAIScalar, true, true, I>(A, p);
}

static __global__ void __launch_bounds__(1024, 1) GenericRefined(BAISliced A, BAISweep p)
{
  if (A.sweep_single) Refined<BAISingle>(A, p);
  else Refined<BAIScalar>(A, p);
}

const void *BAIGenericKernel(const BAISliced *A, bool refined, bool watched)
{
  if (refined) return (const void *)GenericRefined;
  return watched || A->single || BAIWide(A) ? (const void *)GenericAny : (const void *)Generic;
}
