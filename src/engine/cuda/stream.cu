/*
   The kernel for matrices that do not fit the chip: a thread a row, which reads the row once per global iteration and keeps
   its entries inside the block in registers for all local sweeps.

   Moved per row and global iteration: 10 bytes an entry inside the blocks, 12 one outside (with padding, and their x from the L2
   cache), 8 each for b and 1/a_ii, 16 for x; in double precision.
*/
#include "sweep.h"

enum {
  OFF = 4 /* entries outside the blocks that a thread has on their way at a time */
};

/*
   The launch bounds stand for at most 48, 64 or 128 registers. Without MORE, tiles take consecutive rows, all do the same number of sweeps, and there is neither
   momentum nor l1 weight
*/
template <int LOC, BAIOrder order, bool MORE>
static __global__ void __launch_bounds__(LOC <= 4 && !MORE ? BAI_ROW_THREADS + 128 : BAI_ROW_THREADS, LOC <= 8 ? 2 : 1) Stream(BAISliced A, BAISweep p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  BAIScalar      *y0 = reinterpret_cast<BAIScalar *>(shared), *y1 = y0 + blockDim.x;
  const uint16_t *loc_j = static_cast<const uint16_t *>(A.loc_j);

  BAIGoThroughTiles<order>(A, p, [&](int tile, int iteration, int from, int to, auto wait) {
    const int        i = threadIdx.x, lane = i % BAI_LANES, slice = tile * A.tile_slices + i / BAI_LANES, place = tile * A.tile_rows + i, own = MORE ? BAIOwnRowAt(A, tile, i) : place, row = MORE ? BAIRowOf(own) : place;
    const bool       mine = MORE ? row >= 0 : i < A.tile_rows && row < A.n;
    const int        iters = MORE && A.iters && mine ? A.iters[place] : p.local_iters, most = MORE && A.iters ? A.tile_iters[tile] : p.local_iters;
    const BAIScalar *x    = BAIIterateOf(p, from);
    const long long  loc = A.loc_first[slice] + lane, loc_end = A.loc_first[slice + 1]; /* lanes without a row find zeros there */
    const long long  off = A.off_first[slice] + lane, off_end = A.off_first[slice + 1];
    BAIScalar        a[LOC], s = mine ? BAIStreamed(p.b + row) : BAIScalar(0), dinv = mine ? BAIStreamed(A.dinv + place) : BAIScalar(0), xi, y;
    const BAIReal    local_omega = MORE && mine ? BAILocalOmegaAt(A, p, place) : 0;
    int              j[LOC];

#pragma unroll
    for (int w = 0; w < LOC; w++) {
      const bool there = loc + w * BAI_LANES < loc_end;

      a[w] = there ? BAIStreamed(A.loc_a + loc + w * BAI_LANES) : BAIScalar(0);
      j[w] = there ? (int)__ldcs(loc_j + loc + w * BAI_LANES) : i;
    }
    long long k = off;
    do {
      BAIScalar value[OFF], other[OFF];
      int       col[OFF];

#pragma unroll
      for (int w = 0; w < OFF; w++) {
        const bool there = k + w * BAI_LANES < off_end;

        col[w]   = there ? __ldcs(A.off_j + k + w * BAI_LANES) : -1;
        value[w] = there ? BAIStreamed(A.off_a + k + w * BAI_LANES) : BAIScalar(0);
      }
      if (k == off) {
        wait();
        xi = mine ? BAILoad(x + row) : BAIScalar(0);
      }
#pragma unroll
      for (int w = 0; w < OFF; w++) other[w] = col[w] < 0 ? BAIScalar(0) : col[w] < A.n ? BAILoad(x + col[w]) : p.ghost[col[w] - A.n];
#pragma unroll
      for (int w = 0; w < OFF; w++) s -= value[w] * other[w];
    } while ((k += OFF * BAI_LANES) < off_end);
    y     = xi;
    y0[i] = y;
    __syncthreads();
    BAIScalar *now = y0, *next = y1;
    for (int sweep = 1; sweep <= (MORE ? most : p.local_iters); sweep++) {
      BAIScalar sum = s;

#pragma unroll
      for (int w = 0; w < LOC; w++) sum -= a[w] * now[j[w]];
      if (!MORE || sweep <= iters) y += (MORE ? local_omega : p.local_omega) * (sum * dinv - y);
      if (sweep < (MORE ? most : p.local_iters)) {
        next[i] = y;
        __syncthreads();
        BAIScalar *swap = now;
        now             = next;
        next            = swap;
      }
    }
    if (mine && (!MORE || own >= 0)) {
      BAIScalar next = xi + p.omega * (y - xi);

      if (MORE && p.before) {
        next            = BAIMomentum(p, iteration, next, xi, p.before[place]);
        p.before[place] = xi;
      }
      BAIStore(BAIIterateOf(p, to) + row, next);
    }
    __syncthreads();
  });
}

template <int LOC>
static const void *Kernel(BAIOrder order, bool more)
{
  static const void *const kernels[2][4] = {
    {(const void *)Stream<LOC, BAI_OWN, false>, (const void *)Stream<LOC, BAI_QUEUE, false>, (const void *)Stream<LOC, BAI_FLAGS, false>, (const void *)Stream<LOC, BAI_TURNS, false>},
    {(const void *)Stream<LOC, BAI_OWN, true>,  (const void *)Stream<LOC, BAI_QUEUE, true>,  (const void *)Stream<LOC, BAI_FLAGS, true>,  (const void *)Stream<LOC, BAI_TURNS, true> }
  };

  return kernels[more][order];
}

const void *BAIStreamKernel(const BAISliced *A, BAIOrder order, bool momentum)
{
  const bool more = momentum || A->row || A->share || A->iters;

  if (A->tile_rows > BAI_ROW_THREADS) return NULL;
  if (A->loc_width <= 2) return Kernel<2>(order, more);
  if (A->loc_width <= 4) return Kernel<4>(order, more);
  if (A->loc_width <= 8) return Kernel<8>(order, more);
  if (A->loc_width <= 16) return Kernel<16>(order, more);
  if (A->loc_width <= 32) return Kernel<32>(order, more);
  return NULL;
}
