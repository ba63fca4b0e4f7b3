/*
   The kernel for any matrix and any block size. The local sweeps read the entries inside the blocks from the caches
*/
#include "../fault.h"
#include "pieces.h"
#include "plan.h"

enum {
  LOADS_IN_FLIGHT = 8 /* of a thread */
};

/* A fault keeps a row from being updated */
static __device__ inline bool Stops(const BAISliced &A, const BAISweep &p, int row)
{
  return BAIFaultStops(&p.fault, row, A.row ? A.block[row] : row / A.block_size);
}

/* A tile begins a global iteration; by all threads. In mode sync it reads the previous iterate, whatever has been written since. Its neighbours are those that it reads from and those that read from it */
template <BAIOrder order>
static __device__ inline void CountReads(const BAISweep &p, int tile)
{
  const int mine = *(volatile int *)(p.counts.updates + tile);

  for (int k = p.neighbors.first[tile] + threadIdx.x; k < p.neighbors.first[tile + 1]; k += blockDim.x) {
    const int stale = order == BAI_FLAGS ? 0 : mine - *(volatile int *)(p.counts.updates + (p.neighbors.tile[k] >> 1));

    atomicAdd(p.counts.reads + min(max(stale, -BAI_MOST_STALE), +BAI_MOST_STALE) + BAI_MOST_STALE, 1ull);
  }
}

/* Its new values can be seen; by all threads, who have written them */
static __device__ inline void CountUpdate(const BAISweep &p, int tile)
{
  __syncthreads();
  if (threadIdx.x) return;
  unsigned long long now;

  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  p.counts.last[tile] = now;
  *(volatile int *)(p.counts.updates + tile) += 1;
  __threadfence();
}

template <typename Columns, typename V, BAIOrder order, bool WATCHED = false>
static __device__ __forceinline__ void GoThroughTiles(const BAISliced &A, const BAISweep &p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  V                                            *work = p.scratch ? static_cast<V *>(p.scratch) + 3 * (size_t)A.tile_rows * blockIdx.x : reinterpret_cast<V *>(shared);
  const Columns                                 loc_j(A);
  const V                                      *loc_a = static_cast<const V *>(A.loc_a), *off_a = static_cast<const V *>(A.off_a), *dinv = static_cast<const V *>(A.dinv), *b = static_cast<const V *>(p.b), *ghost = static_cast<const V *>(p.ghost);

  BAIGoThroughTiles<order, V>(A, p, [&](int tile, int iteration, int from, int to, auto &turn) {
    const int  lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES;
    const int  first = tile * A.tile_rows, slice0 = tile * A.tile_slices, most = A.tile_iters ? A.tile_iters[tile] : p.local_iters;
    const bool faulty = WATCHED && BAIFaultIsAt(&p.fault, p.its + iteration);
    const V   *x      = BAIIterateOf<V>(p, from);
    V         *next = BAIIterateOf<V>(p, to), *s = work, *y = s + A.tile_rows, *ynext = y + A.tile_rows;

    turn.Begin();
    if (WATCHED && p.counts.updates) CountReads<order>(p, tile);
    if (A.long_first) BAIOwnPieces<order>(A, p, tile, x);
    for (int slice = warp; slice < A.tile_slices; slice += warps) {
      const int i = slice * BAI_LANES + lane, row = BAIRowAt(A, tile, i);
      const V   pieces = A.long_first ? BAISumOfPieces<V>(A, A.long_first[slice0 + slice], A.long_first[slice0 + slice + 1], lane) : V(0);

      if (row < 0) continue;
      const BAIOutside O   = BAIOutsideOf(A, A.slice[slice0 + slice], slice0 + slice, lane);
      V                sum = b[row];

      for (int w = 0; w < O.width; w += LOADS_IN_FLIGHT) {
        V other[LOADS_IN_FLIGHT];

#pragma unroll
        for (int v = 0; v < LOADS_IN_FLIGHT; v++) other[v] = w + v < O.width ? BAILoadColumn<order>(A, x, ghost, BAIColumn(A, O.by_delta, row, A.off_j[O.j + (long long)(w + v) * O.step_j])) : V(0);
#pragma unroll
        for (int v = 0; v < LOADS_IN_FLIGHT; v++) {
          if (w + v < O.width) sum -= off_a[O.a + (long long)(w + v) * O.step] * other[v];
        }
      }
      sum -= pieces;
      if (WATCHED && faulty && p.fault.type == BAI_FAULT_SUMS && BAIFaultHits(&p.fault, row)) BAIFaultFlip(&p.fault, row, &sum, sizeof(BAIRealOf<V>));
      s[i] = sum;
      y[i] = BAILoad(x + row);
    }
    if (A.long_first) BAISharedPieces<order>(A, p, tile, iteration, x);
    __syncthreads();

    for (int sweep = 1; sweep <= most; sweep++) {
      for (int slice = warp; slice < A.tile_slices; slice += warps) {
        const int i = slice * BAI_LANES + lane;

        if (BAIRowAt(A, tile, i) < 0) continue;
        const long long loc   = A.slice[slice0 + slice].loc + lane;
        const int       width = A.slice[slice0 + slice].loc_width;
        V               sum   = s[i];

        for (int w = 0; w < width; w += LOADS_IN_FLIGHT) {
          V value[LOADS_IN_FLIGHT];

#pragma unroll
          for (int v = 0; v < LOADS_IN_FLIGHT; v++) value[v] = w + v < width ? loc_a[loc + (long long)(w + v) * BAI_LANES] * y[loc_j[loc + (long long)(w + v) * BAI_LANES]] : V(0);
#pragma unroll
          for (int v = 0; v < LOADS_IN_FLIGHT; v++) sum -= value[v];
        }
        if (p.correction.r && sweep == 1 && BAIOwnRowAt(A, tile, i) >= 0) p.correction.r[BAIOwnRowAt(A, tile, i)] = BAIScalar(sum) - A.d[first + i] * BAIScalar(y[i]);
        ynext[i] = A.iters && sweep > A.iters[first + i] ? y[i] : y[i] + BAIRealOf<V>(BAILocalOmegaAt(A, p, first + i)) * (sum * dinv[first + i] - y[i]);
        if (WATCHED && faulty && Stops(A, p, BAIRowAt(A, tile, i))) ynext[i] = y[i];
      }
      __syncthreads();
      V *swap = y;
      y       = ynext;
      ynext   = swap;
    }

    for (int i = threadIdx.x; i < A.tile_rows; i += blockDim.x) {
      const int row = BAIOwnRowAt(A, tile, i);

      if (row < 0) continue;
      const V xi      = BAILoad(x + row);
      V       xi_next = xi + BAIRealOf<V>(BAIOmegaAt(p, iteration)) * (y[i] - xi);

      if (p.before) {
        V *before = static_cast<V *>(p.before) + first + i;

        xi_next = BAIMomentum(p, iteration, xi_next, xi, *before);
        *before = xi;
      }
      if (WATCHED && faulty && Stops(A, p, row)) xi_next = xi;
      BAIStore(next + row, xi_next);
    }
    if (WATCHED && p.counts.updates && !(faulty && p.fault.type == BAI_FAULT_BLOCKS && A.tile_rows <= A.block_size && Stops(A, p, BAIRowAt(A, tile, 0)))) CountUpdate(p, tile); /* the tile is a block that is not updated */
  });
}

/* What is used most: native precision, tiles that 16 bits can count */
template <BAIOrder order>
static __global__ void __launch_bounds__(1024) Generic(BAISliced A, BAISweep p)
{
  GoThroughTiles<BAINarrow, BAIScalar, order>(A, p);
}

/* Everything else */
template <typename V>
static __global__ void __launch_bounds__(1024, 1) GenericAny(BAISliced A, BAISweep p)
{
  if (p.how == BAI_OWN) GoThroughTiles<BAINarrowOrWide, V, BAI_OWN>(A, p);
  else if (p.how == BAI_QUEUE) GoThroughTiles<BAINarrowOrWide, V, BAI_QUEUE>(A, p);
  else if (p.how == BAI_FLAGS) GoThroughTiles<BAINarrowOrWide, V, BAI_FLAGS>(A, p);
  else if (p.how == BAI_LAG) GoThroughTiles<BAINarrowOrWide, V, BAI_LAG>(A, p);
  else GoThroughTiles<BAINarrowOrWide, V, BAI_TURNS>(A, p);
}

/* Everything, with faults and statistics */
template <typename V>
static __global__ void __launch_bounds__(1024, 1) GenericWatched(BAISliced A, BAISweep p)
{
  if (p.how == BAI_OWN) GoThroughTiles<BAINarrowOrWide, V, BAI_OWN, true>(A, p);
  else if (p.how == BAI_QUEUE) GoThroughTiles<BAINarrowOrWide, V, BAI_QUEUE, true>(A, p);
  else if (p.how == BAI_FLAGS) GoThroughTiles<BAINarrowOrWide, V, BAI_FLAGS, true>(A, p);
  else if (p.how == BAI_LAG) GoThroughTiles<BAINarrowOrWide, V, BAI_LAG, true>(A, p);
  else GoThroughTiles<BAINarrowOrWide, V, BAI_TURNS, true>(A, p);
}

const void *BAIGenericKernel(const BAISliced *A, BAIOrder order, bool watched)
{
  if (watched) return A->single ? (const void *)GenericWatched<BAISingle> : (const void *)GenericWatched<BAIScalar>;
  if (A->single) return (const void *)GenericAny<BAISingle>;
  if (BAIWide(A)) return (const void *)GenericAny<BAIScalar>;
  switch (order) {
  case BAI_OWN:
    return (const void *)Generic<BAI_OWN>;
  case BAI_QUEUE:
    return (const void *)Generic<BAI_QUEUE>;
  case BAI_FLAGS:
    return (const void *)Generic<BAI_FLAGS>;
  case BAI_TURNS:
    return (const void *)Generic<BAI_TURNS>;
  default:
    return (const void *)GenericAny<BAIScalar>;
  }
}
