/*
   The kernel for matrices that do not fit the chip: a thread a row, which reads the row once per global iteration and keeps
   its entries inside the block in registers for all local sweeps.

   Moved per row and global iteration: 10 bytes an entry inside the blocks, 12 one outside (with padding, and their x from the L2
   cache), 8 each for b and 1/a_ii, 16 for x; in double precision.
*/
#include "sweep.h"

template <int WIDTH, BAIOrder order>
static __global__ void __launch_bounds__(BAI_ROW_THREADS) Stream(BAISliced A, BAISweep p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  BAIScalar      *y0 = reinterpret_cast<BAIScalar *>(shared), *y1 = y0 + blockDim.x;
  const uint16_t *loc_j = static_cast<const uint16_t *>(A.loc_j);

  BAIGoThroughTiles<order>(A, p, [&](int tile, int from, int to) {
    const int        i = threadIdx.x, lane = i % BAI_LANES, slice = tile * A.tile_slices + i / BAI_LANES, row = tile * A.tile_rows + i;
    const bool       mine = i < A.tile_rows && row < A.n;
    const BAIScalar *x    = BAIIterateOf(p, from);
    const long long  loc = A.loc_first[slice] + lane, loc_end = A.loc_first[slice + 1]; /* lanes without a row find zeros there */
    const long long  off = A.off_first[slice] + lane, off_end = A.off_first[slice + 1];
    BAIScalar        a[WIDTH], s = mine ? BAIStreamed(p.b + row) : BAIScalar(0), dinv = mine ? BAIStreamed(A.dinv + row) : BAIScalar(0), xi = mine ? BAILoad(x + row) : BAIScalar(0), y;
    int              j[WIDTH];

#pragma unroll
    for (int w = 0; w < WIDTH; w++) {
      const bool there = loc + w * BAI_LANES < loc_end;

      a[w] = there ? BAIStreamed(A.loc_a + loc + w * BAI_LANES) : BAIScalar(0);
      j[w] = there ? (int)__ldcs(loc_j + loc + w * BAI_LANES) : i;
    }
#pragma unroll 4
    for (long long k = off; k < off_end; k += BAI_LANES) {
      const int col = __ldcs(A.off_j + k);

      s -= BAIStreamed(A.off_a + k) * (col < A.n ? BAILoad(x + col) : p.ghost[col - A.n]);
    }
    y     = xi;
    y0[i] = y;
    __syncthreads();
    BAIScalar *now = y0, *next = y1;
    for (BAIInt sweep = 1; sweep <= p.local_iters; sweep++) {
      BAIScalar sum = s;

#pragma unroll
      for (int w = 0; w < WIDTH; w++) sum -= a[w] * now[j[w]];
      y += p.local_omega * (sum * dinv - y);
      if (sweep < p.local_iters) {
        next[i] = y;
        __syncthreads();
        BAIScalar *swap = now;
        now             = next;
        next            = swap;
      }
    }
    if (mine) BAIStore(BAIIterateOf(p, to) + row, xi + p.omega * (y - xi));
    __syncthreads();
  });
}

template <int WIDTH>
static const void *Kernel(BAIOrder order)
{
  static const void *const kernels[] = {(const void *)Stream<WIDTH, BAI_OWN>, (const void *)Stream<WIDTH, BAI_QUEUE>, (const void *)Stream<WIDTH, BAI_FLAGS>};

  return kernels[order];
}

const void *BAIStreamKernel(const BAISliced *A, BAIOrder order)
{
  if (A->tile_rows > BAI_ROW_THREADS) return NULL;
  if (A->loc_width <= 4) return Kernel<4>(order);
  if (A->loc_width <= 8) return Kernel<8>(order);
  if (A->loc_width <= 16) return Kernel<16>(order);
  if (A->loc_width <= 32) return Kernel<32>(order);
  return NULL;
}
