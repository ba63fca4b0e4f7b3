/*
   The kernels for matrices that do not fit on the chip: a thread for each row, which reads the row once per global
   iteration and keeps its entries inside the block in registers for all local sweeps. The entries outside the block
   have one of two layouts:

   - padded, for rows of similar length: the entries of the 32 rows of a slice are side by side, column after column
   - packed, for rows of very different lengths: the rows of a slice are one after another. A warp reads all of them and
     stores the products in shared memory, where each thread adds up those of its row. Long rows are in pieces

   Traffic per row and global iteration in double precision: 10 bytes for each entry inside the blocks, 8 or, without
   common diagonals, 12 for each entry outside (including padding; x comes from caches), 8 each for b and 1/a_ii, 16 for
   x. Single precision saves 4 bytes of each value.
*/
#include "pieces.h"

enum {
  WIDE = 32 /* largest number of entries of a row inside its block */
};

/* Threads of the launch bounds, which with LeastBlocks result in at most 56, 64 or 128 registers */
static constexpr int Threads(int loc)
{
  return BAI_ROW_THREADS + (loc > 4 ? 0 : 64);
}

static constexpr int LeastBlocks(int loc, int off)
{
  return loc <= 8 && off <= 8 ? 2 : 1;
}

/*
   sum minus the products of a row outside its block, without its pieces. A thread has OFF loads of entries in flight;
   it checks each before it loads its x, as many are padding. begin() is called by all threads after the first entries
   are loaded, and before any x. product is shared memory of the thread block for packed rows
*/
template <int OFF, bool PACKED, BAIOrder order, typename V, typename Begin>
static __device__ __forceinline__ V SubtractOutside(const BAISliced &A, const BAISlice &S, int slice, int lane, int row,
                                                    const V *x, const V *ghost, V sum, V *product, Begin begin)
{
  const bool by_delta = S.by_delta;
  const int *off_j    = BAIColumnAt(A, S, 0, lane);
  const V   *off_a    = static_cast<const V *>(A.off_a) + S.off + lane;
  int        first = 0, last = 0, entries = 0, steps = (int)S.off_width, k = 0;
  bool       packed = false; /* this slice is packed */

  if constexpr (PACKED) {
    first   = A.off_first[(size_t)slice * (BAI_LANES + 1) + lane];
    last    = A.off_first[(size_t)slice * (BAI_LANES + 1) + lane + 1];
    entries = __shfl_sync(~0u, last, BAI_LANES - 1);
    packed  = first >= 0;
    product += threadIdx.x / BAI_LANES * BAI_LANES * OFF;
    if (packed) steps = (entries + BAI_LANES - 1) / BAI_LANES;
  }
  do {
    V   value[OFF], other[OFF];
    int col[OFF];

#pragma unroll
    for (int w = 0; w < OFF; w++) {
      const bool there = PACKED && packed ? (k + w) * BAI_LANES + lane < entries : k + w < steps;

      col[w]   = there ? __ldcs(off_j + (by_delta ? k + w : (k + w) * BAI_LANES)) : 0;
      value[w] = there ? BAIStreamed(off_a + (k + w) * BAI_LANES) : BAINoEntry<V>();
    }
    if (!k) begin();
#pragma unroll
    for (int w = 0; w < OFF; w++)
      other[w] = BAIIsNoEntry(value[w]) ? V(0) : BAILoadColumn<order>(A, x, ghost, by_delta ? row + col[w] : col[w]);
    if (PACKED && packed) {
#pragma unroll
      for (int w = 0; w < OFF; w++) product[w * BAI_LANES + lane] = value[w] * other[w];
      __syncwarp();
      const int here = k * BAI_LANES, end = min(last, here + OFF * BAI_LANES);

#pragma unroll 4
      for (int e = max(first, here); e < end; e++) sum -= product[e - here];
      __syncwarp();
    } else {
#pragma unroll
      for (int w = 0; w < OFF; w++) sum -= value[w] * other[w];
    }
  } while ((k += OFF) < steps);
  return sum;
}

/* Processes tiles; the type of all arithmetic, V, is BAIScalar or BAISingle */
template <int LOC, int OFF, bool PACKED, typename V, BAIOrder order>
static __device__ __forceinline__ void GoThroughTiles(const BAISliced &A, const BAISweep &p)
{
  constexpr bool    late = PACKED || LOC >= 16; /* registers are used for entries outside first */
  extern __shared__ __align__(16) unsigned char shared[];
  V                                            *y0 = reinterpret_cast<V *>(shared), *y1 = y0 + blockDim.x;
  const uint16_t                               *loc_j = static_cast<const uint16_t *>(A.loc_j);
  const V                                      *loc_a = static_cast<const V *>(A.loc_a);

  BAIGoThroughTiles<order, V>(A, p, [&](int tile, int iteration, int from, int to, auto &turn) {
    const int i = threadIdx.x, lane = i % BAI_LANES, slice = tile * A.tile_slices + i / BAI_LANES,
              place = tile * A.tile_rows + i, row = BAIRowAt(A, tile, i);
    const bool     mine = row != -1; /* with >= 0 more registers are spilled */
    const V       *x    = BAIIterateOf<V>(p, from);
    const BAISlice S    = A.slice[slice]; /* lanes without a row find zeros there, or nothing */
    V              s    = mine ? BAIStreamed(static_cast<const V *>(p.b) + row) : V(0),
      dinv              = mine ? BAIStreamed(static_cast<const V *>(A.dinv) + place) : V(0), xi;
    V   a[LOC];
    int j[LOC];

    const auto load_inside = [&] {
#pragma unroll
      for (int w = 0; w < LOC; w++) {
        const bool      there = w < S.loc_width;
        const long long at    = S.loc + lane + w * BAI_LANES;

        a[w] = there ? BAIStreamed(loc_a + at) : V(0);
        j[w] = there ? (int)__ldcs(loc_j + at) : i;
      }
    };
    const auto begin = [&] {
      turn.Begin();
      xi = mine ? BAILoad(x + row) : V(0);
    };

    if (!late) load_inside();
    s = SubtractOutside<OFF, PACKED, order>(A, S, slice, lane, row, x, static_cast<const V *>(p.ghost), s,
                                            y1 + blockDim.x, begin);
    if (late) load_inside();
    if (PACKED && A.long_first) {
      const int first = A.long_first[slice], last = A.long_first[slice + 1];

      BAIOwnPieces<order>(A, p, tile, x);
      s -= BAISumOfPieces<V>(A, first, last, lane);
      BAISharedPieces<order>(A, p, tile, iteration, x);
    }
    BAISweepRows<LOC>(A, p, tile, iteration, to, S.loc_width, a, j, s, dinv, xi, row, y0, y1);
  });
}

template <int LOC, int OFF, bool PACKED, typename V>
static __device__ __forceinline__ void GoThroughTilesAs(const BAISliced &A, const BAISweep &p)
{
  if (p.how == BAI_OWN) GoThroughTiles<LOC, OFF, PACKED, V, BAI_OWN>(A, p);
  else if (p.how == BAI_QUEUE) GoThroughTiles<LOC, OFF, PACKED, V, BAI_QUEUE>(A, p);
  else if (p.how == BAI_FLAGS) GoThroughTiles<LOC, OFF, PACKED, V, BAI_FLAGS>(A, p);
  else GoThroughTiles<LOC, OFF, PACKED, V, BAI_TURNS>(A, p);
}

/* The stream kernel, which has code for all orders of p, with common bounds */
template <int LOC, int OFF, bool PACKED>
static __global__ void __launch_bounds__(Threads(LOC), LeastBlocks(LOC, OFF)) Stream(BAISliced A, BAISweep p)
{
  GoThroughTilesAs<LOC, OFF, PACKED, BAIScalar>(A, p);
}

/* The stream kernel for wide rows, which take equal registers in both precisions; and all rows in single precision */
template <int OFF, bool PACKED>
static __global__ void __launch_bounds__(Threads(WIDE), LeastBlocks(WIDE, OFF)) StreamWide(BAISliced A, BAISweep p)
{
  if (A.single) GoThroughTilesAs<WIDE, OFF, PACKED, BAISingle>(A, p);
  else GoThroughTilesAs<WIDE, OFF, PACKED, BAIScalar>(A, p);
}

const void *BAIStreamKernel(const BAISliced *A)
{
  if (A->loc_width > WIDE) return NULL;
  if (A->loc_width > 8 || A->single)
    return A->off_first ? (const void *)StreamWide<BAI_PACKED_LOADS, true> : (const void *)StreamWide<16, false>;
  if (A->off_first) return (const void *)Stream<8, BAI_PACKED_LOADS, true>;
  return A->loc_width <= 4 && A->off_width <= BAI_FEW_OUTSIDE ? (const void *)Stream<4, 5, false>
                                                              : (const void *)Stream<8, 16, false>;
}
