/*
   The kernel for any matrix and any block size. The local sweeps read the entries inside the blocks from the caches
*/
#include "../fault.h"
#include "pieces.h"
#include "plan.h"

enum {
  LOADS_IN_FLIGHT = 8 /* of a thread */
};

/* Entries: of native precision, */
struct Native {
  const BAIScalar *a;

  __device__           Native(const BAISliced &, const void *a) : a(static_cast<const BAIScalar *>(a)) {}
  __device__ BAIScalar operator[](long long k) const { return a[k]; }
  template <BAIOrder order>
  static __device__ void SumPieces(const BAISliced &A, const BAISweep &p, int tile, const BAIScalar *x)
  {
    BAISumPieces<order, BAIScalar>(A, p, tile, x);
  }
};

/* or of either */
struct NativeOrSingle {
  const void *a;
  bool        single;

  __device__           NativeOrSingle(const BAISliced &A, const void *a) : a(a), single(A.single) {}
  __device__ BAIScalar operator[](long long k) const { return single ? BAIScalar(static_cast<const BAISingle *>(a)[k]) : static_cast<const BAIScalar *>(a)[k]; }
  template <BAIOrder order>
  static __device__ void SumPieces(const BAISliced &A, const BAISweep &p, int tile, const BAIScalar *x)
  {
    if (A.single) BAISumPieces<order, BAISingle>(A, p, tile, x);
    else BAISumPieces<order, BAIScalar>(A, p, tile, x);
  }
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

template <typename Columns, typename Values, BAIOrder order, bool WATCHED = false>
static __device__ __forceinline__ void GoThroughTiles(const BAISliced &A, const BAISweep &p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  BAIScalar                                    *work = p.scratch ? p.scratch + 3 * (size_t)A.tile_rows * blockIdx.x : reinterpret_cast<BAIScalar *>(shared);
  const Columns                                 loc_j(A);
  const Values                                  loc_a(A, A.loc_a), off_a(A, A.off_a);

  BAIGoThroughTiles<order>(A, p, [&](int tile, int iteration, int from, int to, auto &turn) {
    const int        lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES;
    const int        first = tile * A.tile_rows, slice0 = tile * A.tile_slices, most = A.tile_iters ? A.tile_iters[tile] : p.local_iters;
    const bool       faulty = WATCHED && BAIFaultIsAt(&p.fault, p.its + iteration);
    const BAIScalar *x      = BAIIterateOf(p, from);
    BAIScalar       *next = BAIIterateOf(p, to), *s = work, *y = s + A.tile_rows, *ynext = y + A.tile_rows;

    turn.Begin();
    if (WATCHED && p.counts.updates) CountReads<order>(p, tile);
    if (A.piece_first) Values::template SumPieces<order>(A, p, tile, x);
    for (int slice = warp; slice < A.tile_slices; slice += warps) {
      const int i = slice * BAI_LANES + lane, row = BAIRowAt(A, tile, i);

      if (row < 0) continue;
      const BAISlice S   = A.slice[slice0 + slice];
      BAIScalar      sum = p.b[row];

      for (int w = 0; w < (int)S.off_width; w += LOADS_IN_FLIGHT) {
        BAIScalar other[LOADS_IN_FLIGHT];

#pragma unroll
        for (int v = 0; v < LOADS_IN_FLIGHT; v++) other[v] = w + v < (int)S.off_width ? BAILoadColumn<order>(A, x, p.ghost, BAIColumn(A, S.by_delta, row, *BAIColumnAt(A, S, w + v, lane))) : BAIScalar(0);
#pragma unroll
        for (int v = 0; v < LOADS_IN_FLIGHT; v++) {
          if (w + v < (int)S.off_width) sum -= off_a[S.off + (long long)(w + v) * BAI_LANES + lane] * other[v];
        }
      }
      if (A.piece_first) sum -= BAISumOfPieces(A, slice0 + slice, lane);
      if (WATCHED && faulty && p.fault.type == BAI_FAULT_SUMS && BAIFaultHits(&p.fault, row)) BAIFaultFlip(&p.fault, row, &sum, sizeof(BAIReal));
      s[i] = sum;
      y[i] = BAILoad(x + row);
    }
    __syncthreads();

    for (int sweep = 1; sweep <= most; sweep++) {
      for (int slice = warp; slice < A.tile_slices; slice += warps) {
        const int i = slice * BAI_LANES + lane;

        if (BAIRowAt(A, tile, i) < 0) continue;
        const long long loc   = A.slice[slice0 + slice].loc + lane;
        const int       width = A.slice[slice0 + slice].loc_width;
        BAIScalar       sum   = s[i];

        for (int w = 0; w < width; w += LOADS_IN_FLIGHT) {
          BAIScalar value[LOADS_IN_FLIGHT];

#pragma unroll
          for (int v = 0; v < LOADS_IN_FLIGHT; v++) value[v] = w + v < width ? loc_a[loc + (long long)(w + v) * BAI_LANES] * y[loc_j[loc + (long long)(w + v) * BAI_LANES]] : BAIScalar(0);
#pragma unroll
          for (int v = 0; v < LOADS_IN_FLIGHT; v++) sum -= value[v];
        }
        if (p.r && sweep == 1 && BAIOwnRowAt(A, tile, i) >= 0) p.r[BAIOwnRowAt(A, tile, i)] = sum - A.d[first + i] * y[i];
        ynext[i] = A.iters && sweep > A.iters[first + i] ? y[i] : y[i] + BAILocalOmegaAt(A, p, first + i) * (sum * A.dinv[first + i] - y[i]);
        if (WATCHED && faulty && Stops(A, p, BAIRowAt(A, tile, i))) ynext[i] = y[i];
      }
      __syncthreads();
      BAIScalar *swap = y;
      y               = ynext;
      ynext           = swap;
    }

    for (int i = threadIdx.x; i < A.tile_rows; i += blockDim.x) {
      const int row = BAIOwnRowAt(A, tile, i);

      if (row < 0) continue;
      const BAIScalar xi      = BAILoad(x + row);
      BAIScalar       xi_next = xi + p.omega * (y[i] - xi);

      if (p.before) {
        xi_next             = BAIMomentum(p, iteration, xi_next, xi, p.before[first + i]);
        p.before[first + i] = xi;
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
  GoThroughTiles<BAINarrow, Native, order>(A, p);
}

/* Everything else */
static __global__ void __launch_bounds__(1024) GenericAny(BAISliced A, BAISweep p)
{
  if (p.how == BAI_OWN) GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_OWN>(A, p);
  else if (p.how == BAI_QUEUE) GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_QUEUE>(A, p);
  else if (p.how == BAI_FLAGS) GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_FLAGS>(A, p);
  else if (p.how == BAI_LAG) GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_LAG>(A, p);
  else GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_TURNS>(A, p);
}

/* Everything, with faults and statistics */
static __global__ void __launch_bounds__(1024) GenericWatched(BAISliced A, BAISweep p)
{
  if (p.how == BAI_OWN) GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_OWN, true>(A, p);
  else if (p.how == BAI_QUEUE) GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_QUEUE, true>(A, p);
  else if (p.how == BAI_FLAGS) GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_FLAGS, true>(A, p);
  else if (p.how == BAI_LAG) GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_LAG, true>(A, p);
  else GoThroughTiles<BAINarrowOrWide, NativeOrSingle, BAI_TURNS, true>(A, p);
}

const void *BAIGenericKernel(const BAISliced *A, BAIOrder order, bool watched)
{
  if (watched) return (const void *)GenericWatched;
  if (A->single || BAIWide(A)) return (const void *)GenericAny;
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
    return (const void *)GenericAny;
  }
}
