/*
   The kernel for any matrix and any block size. The local sweeps read the entries inside the blocks from the caches
*/
#include "sweep.h"

enum {
  AT_A_TIME = 8 /* entries that a thread has on their way */
};

template <typename LI, typename V, BAIOrder order>
static __global__ void __launch_bounds__(1024) Generic(BAISliced A, BAISweep p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  BAIScalar *work  = p.scratch ? p.scratch + 3 * (size_t)A.tile_rows * blockIdx.x : reinterpret_cast<BAIScalar *>(shared);
  const LI  *loc_j = static_cast<const LI *>(A.loc_j);
  const V   *loc_a = static_cast<const V *>(A.loc_a), *off_a = static_cast<const V *>(A.off_a);

  BAIGoThroughTiles<order>(A, p, [&](int tile, int iteration, int from, int to, auto &turn) {
    const int        lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES;
    const int        first = tile * A.tile_rows, slice0 = tile * A.tile_slices, most = A.tile_iters ? A.tile_iters[tile] : p.local_iters;
    const BAIScalar *x = BAIIterateOf(p, from);
    BAIScalar       *next = BAIIterateOf(p, to), *s = work, *y = s + A.tile_rows, *ynext = y + A.tile_rows;

    turn.Begin();
    if (A.piece_first) BAISumPieces<order, V>(A, p, tile, x);
    for (int slice = warp; slice < A.tile_slices; slice += warps) {
      const int i = slice * BAI_LANES + lane, row = BAIRowAt(A, tile, i);

      if (row < 0) continue;
      const BAISlice S   = A.slice[slice0 + slice];
      BAIScalar      sum = p.b[row];

      for (int w = 0; w < (int)S.off_width; w += AT_A_TIME) {
        BAIScalar other[AT_A_TIME];

#pragma unroll
        for (int v = 0; v < AT_A_TIME; v++) other[v] = w + v < (int)S.off_width ? BAILoadColumn<order>(A, x, p.ghost, BAIColumn(A, S.by_delta, row, *BAIColumnAt(A, S, w + v, lane))) : BAIScalar(0);
#pragma unroll
        for (int v = 0; v < AT_A_TIME; v++) {
          if (w + v < (int)S.off_width) sum -= BAIScalar(off_a[S.off + (long long)(w + v) * BAI_LANES + lane]) * other[v];
        }
      }
      if (A.piece_first) sum -= BAISumOfPieces(A, slice0 + slice, lane);
      s[i] = sum;
      y[i] = BAILoad(x + row);
    }
    __syncthreads();

    for (int sweep = 1; sweep <= most; sweep++) {
      for (int slice = warp; slice < A.tile_slices; slice += warps) {
        const int i = slice * BAI_LANES + lane;

        if (BAIRowAt(A, tile, i) < 0) continue;
        const long long loc = A.slice[slice0 + slice].loc + lane;
        const int       width = A.slice[slice0 + slice].loc_width;
        BAIScalar       sum = s[i];

        for (int w = 0; w < width; w += AT_A_TIME) {
          BAIScalar value[AT_A_TIME];

#pragma unroll
          for (int v = 0; v < AT_A_TIME; v++) value[v] = w + v < width ? BAIScalar(loc_a[loc + (long long)(w + v) * BAI_LANES]) * y[loc_j[loc + (long long)(w + v) * BAI_LANES]] : BAIScalar(0);
#pragma unroll
          for (int v = 0; v < AT_A_TIME; v++) sum -= value[v];
        }
        ynext[i] = A.iters && sweep > A.iters[first + i] ? y[i] : y[i] + BAILocalOmegaAt(A, p, first + i) * (sum * A.dinv[first + i] - y[i]);
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
      BAIStore(next + row, xi_next);
    }
  });
}

template <typename LI, typename V>
static const void *Kernel(BAIOrder order)
{
  static const void *const kernels[] = {(const void *)Generic<LI, V, BAI_OWN>, (const void *)Generic<LI, V, BAI_QUEUE>, (const void *)Generic<LI, V, BAI_FLAGS>, (const void *)Generic<LI, V, BAI_LAG>, (const void *)Generic<LI, V, BAI_TURNS>};

  return kernels[order];
}

const void *BAIGenericKernel(const BAISliced *A, int wide, BAIOrder order)
{
  if (A->single) return wide ? Kernel<int, BAISingle>(order) : Kernel<uint16_t, BAISingle>(order);
  return wide ? Kernel<int, BAIScalar>(order) : Kernel<uint16_t, BAIScalar>(order);
}
