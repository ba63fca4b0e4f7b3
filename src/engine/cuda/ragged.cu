/*
   The kernel for rows of very different lengths: a thread a row for the local sweeps, as in stream.cu, whose conditions
   it has. In packed slices a warp goes along what its rows have outside the blocks side by side, whichever row it
   belongs to, and leaves the products in shared memory, where each thread finds those of its row; long rows are in
   pieces.

   Moved per entry outside the blocks: 12 bytes, without padding, and its x from the caches.
*/
#include "pieces.h"
#include "plan.h"

enum {
  LOADS_IN_FLIGHT = 6 /* of a thread, for entries outside the blocks */
};

template <int LOC, typename V, BAIOrder order>
static __device__ __forceinline__ void GoThroughTiles(const BAISliced &A, const BAISweep &p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  V                                            *y0 = reinterpret_cast<V *>(shared), *y1 = y0 + blockDim.x,
    *product            = y1 + blockDim.x + threadIdx.x / BAI_LANES * BAI_LANES * LOADS_IN_FLIGHT;
  const uint16_t *loc_j = static_cast<const uint16_t *>(A.loc_j);
  const V        *loc_a = static_cast<const V *>(A.loc_a);

  BAIGoThroughTiles<order, V>(A, p, [&](int tile, int iteration, int from, int to, auto &turn) {
    const int i = threadIdx.x, lane = i % BAI_LANES, slice = tile * A.tile_slices + i / BAI_LANES,
              place = tile * A.tile_rows + i, own = BAIOwnRowAt(A, tile, i), row = BAIRowOf(own);
    const bool     mine = row >= 0;
    const V       *x = BAIIterateOf<V>(p, from), *ghost = static_cast<const V *>(p.ghost);
    const BAISlice S          = A.slice[slice]; /* lanes without a row find zeros there, or nothing */
    const int      long_first = A.long_first ? A.long_first[slice] : 0,
              long_last       = A.long_first ? A.long_first[slice + 1] : 0;
    const int begin           = A.off_first[(size_t)slice * (BAI_LANES + 1) + lane],
              end             = A.off_first[(size_t)slice * (BAI_LANES + 1) + lane + 1],
              entries         = __shfl_sync(~0u, end, BAI_LANES - 1); /* of the row and the slice */
    const bool by_delta = S.by_delta, packed = begin >= 0;
    const int *off_j = A.off_j + S.off_j + (by_delta ? 0 : lane);
    const V   *off_a = static_cast<const V *>(A.off_a) + S.off + lane;
    const int  steps = packed ? (entries + BAI_LANES - 1) / BAI_LANES : (int)S.off_width;
    V          s     = mine ? BAIStreamed(static_cast<const V *>(p.b) + row) : V(0),
      dinv           = mine ? BAIStreamed(static_cast<const V *>(A.dinv) + place) : V(0), xi;
    V   a[LOC];
    int j[LOC], k = 0;

    do {
      V   value[LOADS_IN_FLIGHT], other[LOADS_IN_FLIGHT];
      int col[LOADS_IN_FLIGHT];

#pragma unroll
      for (int w = 0; w < LOADS_IN_FLIGHT; w++) {
        const bool there = packed ? (k + w) * BAI_LANES + lane < entries : k + w < steps;

        col[w]   = there ? __ldcs(off_j + (by_delta ? k + w : (k + w) * BAI_LANES)) : 0;
        value[w] = there ? BAIStreamed(off_a + (k + w) * BAI_LANES) : BAINoEntry<V>();
      }
      if (!k) {
        turn.Begin();
        xi = mine ? BAILoad(x + row) : V(0);
      }
#pragma unroll
      for (int w = 0; w < LOADS_IN_FLIGHT; w++)
        other[w] = BAIIsNoEntry(value[w]) ? V(0) : BAILoadColumn<order>(A, x, ghost, by_delta ? row + col[w] : col[w]);
      if (packed) {
#pragma unroll
        for (int w = 0; w < LOADS_IN_FLIGHT; w++) product[w * BAI_LANES + lane] = value[w] * other[w];
        __syncwarp();
        const int here = k * BAI_LANES, last = min(end, here + LOADS_IN_FLIGHT * BAI_LANES);

#pragma unroll 4
        for (int e = max(begin, here); e < last; e++) s -= product[e - here];
        __syncwarp();
      } else {
#pragma unroll
        for (int w = 0; w < LOADS_IN_FLIGHT; w++) s -= value[w] * other[w];
      }
    } while ((k += LOADS_IN_FLIGHT) < steps);
#pragma unroll
    for (int w = 0; w < LOC; w++) { /* only now, as registers are short */
      const bool      there = w < S.loc_width;
      const long long at    = S.loc + lane + w * BAI_LANES;

      a[w] = there ? BAIStreamed(loc_a + at) : V(0);
      j[w] = there ? (int)__ldcs(loc_j + at) : i;
    }
    if (A.long_first) {
      BAIOwnPieces<order>(A, p, tile, x);
      s -= BAISumOfPieces<V>(A, long_first, long_last, lane);
      BAISharedPieces<order>(A, p, tile, iteration, x);
    }
    BAISweepRows<LOC, true>(A, p, tile, iteration, to, S.loc_width, a, j, s, dinv, xi, mine ? own : -1, y0, y1);
  });
}

/* Registers: 64 of rows that have few entries inside the block */
template <int LOC>
static constexpr int LeastBlocks = LOC <= 8 ? 2 : 1;

template <int LOC, typename V, BAIOrder order>
static __global__ void __launch_bounds__(BAI_ROW_THREADS, LeastBlocks<LOC>) Ragged(BAISliced A, BAISweep p)
{
  GoThroughTiles<LOC, V, order>(A, p);
}

/* In the order that p says */
template <int LOC, typename V>
static __global__ void __launch_bounds__(BAI_ROW_THREADS, LeastBlocks<LOC>) RaggedAny(BAISliced A, BAISweep p)
{
  if (p.how == BAI_OWN) GoThroughTiles<LOC, V, BAI_OWN>(A, p);
  else if (p.how == BAI_QUEUE) GoThroughTiles<LOC, V, BAI_QUEUE>(A, p);
  else if (p.how == BAI_FLAGS) GoThroughTiles<LOC, V, BAI_FLAGS>(A, p);
  else GoThroughTiles<LOC, V, BAI_TURNS>(A, p);
}

size_t BAIRaggedBytes(const BAISliced *A)
{
  return (size_t)(2 + LOADS_IN_FLIGHT) * (size_t)(A->tile_slices * BAI_LANES) * BAIValueSize(A);
}

const void *BAIRaggedKernel(const BAISliced *A, BAIOrder order)
{
  if (A->loc_width > 32) return NULL;
  if (A->single)
    return A->loc_width <= 8 ? (const void *)RaggedAny<8, BAISingle> : (const void *)RaggedAny<32, BAISingle>;
  if (A->loc_width > 8) return (const void *)RaggedAny<32, BAIScalar>;
  switch (order) {
  case BAI_OWN:
    return (const void *)Ragged<8, BAIScalar, BAI_OWN>;
  case BAI_QUEUE:
    return (const void *)Ragged<8, BAIScalar, BAI_QUEUE>;
  case BAI_FLAGS:
    return (const void *)Ragged<8, BAIScalar, BAI_FLAGS>;
  case BAI_TURNS:
    return (const void *)Ragged<8, BAIScalar, BAI_TURNS>;
  default:
    return NULL;
  }
}
