/*
   The kernel for any matrix and any block size. The local sweeps read the entries inside the blocks from the caches
*/
#include "pieces.h"
#include "plan.h"

enum {
  LOADS_IN_FLIGHT = 8 /* of a thread */
};

template <typename Columns, typename V, BAIOrder order>
static __device__ __forceinline__ void GoThroughTiles(const BAISliced &A, const BAISweep &p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  V                                            *work = p.scratch ? static_cast<V *>(p.scratch) + 3 * (size_t)A.tile_rows * blockIdx.x : reinterpret_cast<V *>(shared);
  const Columns                                 loc_j(A);
  const V                                      *loc_a = static_cast<const V *>(A.loc_a), *off_a = static_cast<const V *>(A.off_a), *dinv = static_cast<const V *>(A.dinv), *b = static_cast<const V *>(p.b), *ghost = static_cast<const V *>(p.ghost);

  BAIGoThroughTiles<order, V>(A, p, [&](int tile, int iteration, int from, int to, auto &turn) {
    const int lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES;
    const int first = tile * A.tile_rows, slice0 = tile * A.tile_slices, most = A.tile_iters ? A.tile_iters[tile] : p.local_iters;
    const V  *x    = BAIIterateOf<V>(p, from);
    V        *next = BAIIterateOf<V>(p, to), *s = work, *y = s + A.tile_rows, *ynext = y + A.tile_rows;

    turn.Begin();
    if (A.piece_first) BAISumPieces<order>(A, p, tile, x);
    for (int slice = warp; slice < A.tile_slices; slice += warps) {
      const int i = slice * BAI_LANES + lane, row = BAIRowAt(A, tile, i);

      if (row < 0) continue;
      const BAISlice S   = A.slice[slice0 + slice];
      V              sum = b[row];

      for (int w = 0; w < (int)S.off_width; w += LOADS_IN_FLIGHT) {
        V other[LOADS_IN_FLIGHT];

#pragma unroll
        for (int v = 0; v < LOADS_IN_FLIGHT; v++) other[v] = w + v < (int)S.off_width ? BAILoadColumn<order>(A, x, ghost, BAIColumn(A, S.by_delta, row, *BAIColumnAt(A, S, w + v, lane))) : V(0);
#pragma unroll
        for (int v = 0; v < LOADS_IN_FLIGHT; v++) {
          if (w + v < (int)S.off_width) sum -= off_a[S.off + (long long)(w + v) * BAI_LANES + lane] * other[v];
        }
      }
      if (A.piece_first) sum -= BAISumOfPieces<V>(A, slice0 + slice, lane);
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
        V               sum   = s[i];

        for (int w = 0; w < width; w += LOADS_IN_FLIGHT) {
          V value[LOADS_IN_FLIGHT];

#pragma unroll
          for (int v = 0; v < LOADS_IN_FLIGHT; v++) value[v] = w + v < width ? loc_a[loc + (long long)(w + v) * BAI_LANES] * y[loc_j[loc + (long long)(w + v) * BAI_LANES]] : V(0);
#pragma unroll
          for (int v = 0; v < LOADS_IN_FLIGHT; v++) sum -= value[v];
        }
        if (p.r && sweep == 1 && BAIOwnRowAt(A, tile, i) >= 0) p.r[BAIOwnRowAt(A, tile, i)] = BAIScalar(sum) - A.d[first + i] * BAIScalar(y[i]);
        ynext[i] = A.iters && sweep > A.iters[first + i] ? y[i] : y[i] + BAIRealOf<V>(BAILocalOmegaAt(A, p, first + i)) * (sum * dinv[first + i] - y[i]);
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
      V       xi_next = xi + BAIRealOf<V>(p.omega) * (y[i] - xi);

      if (p.before) {
        V *before = static_cast<V *>(p.before) + first + i;

        xi_next = BAIMomentum(p, iteration, xi_next, xi, *before);
        *before = xi;
      }
      BAIStore(next + row, xi_next);
    }
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

const void *BAIGenericKernel(const BAISliced *A, BAIOrder order)
{
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
