/*
   The kernel for any matrix and any block size. The local sweeps read the entries inside the blocks from the caches
*/
#include "sweep.h"

template <typename LI, BAIOrder order>
static __global__ void __launch_bounds__(1024) Generic(BAISliced A, BAISweep p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  BAIScalar *work  = p.scratch ? p.scratch + 3 * (size_t)A.tile_rows * blockIdx.x : reinterpret_cast<BAIScalar *>(shared);
  const LI  *loc_j = static_cast<const LI *>(A.loc_j);

  BAIGoThroughTiles<order>(A, p, [&](int tile, int iteration, int from, int to, auto wait) {
    const int        lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES;
    const int        first = tile * A.tile_rows, slice0 = tile * A.tile_slices, most = A.tile_iters ? A.tile_iters[tile] : p.local_iters;
    const BAIScalar *x = BAIIterateOf(p, from);
    BAIScalar       *next = BAIIterateOf(p, to), *s = work, *y = s + A.tile_rows, *ynext = y + A.tile_rows;

    wait();
    for (int slice = warp; slice < A.tile_slices; slice += warps) {
      const int i = slice * BAI_LANES + lane, row = BAIRowAt(A, tile, i);

      if (row < 0) continue;
      BAIScalar       sum = p.b[row];
      const long long end = A.off_first[slice0 + slice + 1];

      for (long long k = A.off_first[slice0 + slice] + lane; k < end; k += BAI_LANES) {
        const int j = A.off_j[k];

        sum -= A.off_a[k] * (j < A.n ? BAILoad(x + j) : p.ghost[j - A.n]);
      }
      s[i] = sum;
      y[i] = BAILoad(x + row);
    }
    __syncthreads();

    for (int sweep = 1; sweep <= most; sweep++) {
      for (int slice = warp; slice < A.tile_slices; slice += warps) {
        const int i = slice * BAI_LANES + lane;

        if (BAIRowAt(A, tile, i) < 0) continue;
        BAIScalar       sum = s[i];
        const long long end = A.loc_first[slice0 + slice + 1];

        for (long long k = A.loc_first[slice0 + slice] + lane; k < end; k += BAI_LANES) sum -= A.loc_a[k] * y[loc_j[k]];
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
    __syncthreads();
  });
}

const void *BAIGenericKernel(const BAISliced *, int wide, BAIOrder order)
{
  static const void *const kernels[2][4] = {
    {(const void *)Generic<uint16_t, BAI_OWN>, (const void *)Generic<uint16_t, BAI_QUEUE>, (const void *)Generic<uint16_t, BAI_FLAGS>, (const void *)Generic<uint16_t, BAI_TURNS>},
    {(const void *)Generic<int, BAI_OWN>,      (const void *)Generic<int, BAI_QUEUE>,      (const void *)Generic<int, BAI_FLAGS>,      (const void *)Generic<int, BAI_TURNS>     }
  };

  return kernels[wide][order];
}
