/*
   The kernel for matrices that do not fit the chip and whose rows have much the same length: a thread a row, which
   reads the row once per global iteration and keeps its entries inside the block in registers for all local sweeps.

   Moved per row and global iteration: 10 bytes an entry inside the blocks, 8 or, without common diagonals, 12 one
   outside (with padding, and their x from the caches), 8 each for b and 1/a_ii, 16 for x; in double precision. In
   single 4 less for each value.
*/
#include "shapes.h"
#include "sweep.h"

/* Threads of the launch bounds, which stand for at most 48, 56, 64 or, where one thread block is enough, 128 registers.
 * In single precision entries take half as many, and more rows are to be on their way */
static constexpr int Threads(int loc, int off, bool single, bool more)
{
  return BAI_ROW_THREADS + (loc > 4 ? 0 : more ? (single ? 128 : 0) : off > 4 ? 64 : 128);
}

static constexpr int LeastBlocks(int loc, int off)
{
  return loc <= 8 && off <= 8 ? 2 : 1;
}

/*
   A thread has OFF entries outside the blocks on their way at a time; it looks at each before it asks for its x, as
   many are none. Without MORE, tiles take consecutive rows, none of them long, all do the same number of sweeps, and
   there is neither momentum nor l1 weight. V, in which all is done, is BAIScalar or BAISingle
*/
template <int LOC, int OFF, typename V, BAIOrder order, bool MORE>
static __device__ __forceinline__ void GoThroughTiles(const BAISliced &A, const BAISweep &p)
{
  constexpr bool    late = LOC >= 16; /* registers are for what is outside first */
  extern __shared__ __align__(16) unsigned char shared[];
  V                                            *y0 = reinterpret_cast<V *>(shared), *y1 = y0 + blockDim.x;
  const uint16_t                               *loc_j = static_cast<const uint16_t *>(A.loc_j);
  const V                                      *loc_a = static_cast<const V *>(A.loc_a);

  BAIGoThroughTiles<order, V>(A, p, [&](int tile, int iteration, int from, int to, auto &turn) {
    const int i = threadIdx.x, lane = i % BAI_LANES, slice = tile * A.tile_slices + i / BAI_LANES,
              place = tile * A.tile_rows + i, own = MORE ? BAIOwnRowAt(A, tile, i) : place,
              row       = MORE ? BAIRowOf(own) : place;
    const bool     mine = MORE ? row >= 0 : i < A.tile_rows && row < A.n;
    const V       *x = BAIIterateOf<V>(p, from), *ghost = static_cast<const V *>(p.ghost);
    const BAISlice S         = A.slice[slice]; /* lanes without a row find zeros there */
    const bool     by_delta  = S.by_delta;
    const int      off_width = (int)S.off_width;
    const int     *off_j     = BAIColumnAt(A, S, 0, lane);
    const V       *off_a     = static_cast<const V *>(A.off_a) + S.off + lane;
    V              s         = mine ? BAIStreamed(static_cast<const V *>(p.b) + row) : V(0),
      dinv                   = mine ? BAIStreamed(static_cast<const V *>(A.dinv) + place) : V(0), xi;
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

    if (!late) load_inside();
    int k = 0;
    do {
      V   value[OFF], other[OFF];
      int col[OFF];

#pragma unroll
      for (int w = 0; w < OFF; w++) {
        const bool there = k + w < off_width;

        col[w]   = there ? __ldcs(off_j + (by_delta ? k + w : (k + w) * BAI_LANES)) : 0;
        value[w] = there ? BAIStreamed(off_a + (k + w) * BAI_LANES) : BAINoEntry<V>();
      }
      if (!k) {
        turn.Begin();
        xi = mine ? BAILoad(x + row) : V(0);
      }
#pragma unroll
      for (int w = 0; w < OFF; w++)
        other[w] = BAIIsNoEntry(value[w]) ? V(0) : BAILoadColumn<order>(A, x, ghost, by_delta ? row + col[w] : col[w]);
#pragma unroll
      for (int w = 0; w < OFF; w++) s -= value[w] * other[w];
    } while ((k += OFF) < off_width);
    if (late) load_inside();
    BAISweepRows<LOC, MORE>(A, p, tile, iteration, to, S.loc_width, a, j, s, dinv, xi, mine ? own : -1, y0, y1);
  });
}

template <int LOC, int OFF, typename V, BAIOrder order, bool MORE>
static __global__ void __launch_bounds__(Threads(LOC, OFF, sizeof(V) < sizeof(BAIScalar), MORE), LeastBlocks(LOC, OFF))
  Stream(BAISliced A, BAISweep p)
{
  GoThroughTiles<LOC, OFF, V, order, MORE>(A, p);
}

/* The same in the order that p says */
template <int LOC, int OFF, typename V>
static __global__ void __launch_bounds__(Threads(LOC, OFF, sizeof(V) < sizeof(BAIScalar), true), LeastBlocks(LOC, OFF))
  StreamAny(BAISliced A, BAISweep p)
{
  if (p.how == BAI_OWN) GoThroughTiles<LOC, OFF, V, BAI_OWN, true>(A, p);
  else if (p.how == BAI_QUEUE) GoThroughTiles<LOC, OFF, V, BAI_QUEUE, true>(A, p);
  else if (p.how == BAI_FLAGS) GoThroughTiles<LOC, OFF, V, BAI_FLAGS, true>(A, p);
  else GoThroughTiles<LOC, OFF, V, BAI_TURNS, true>(A, p);
}

template <int LOC, int OFF, bool SINGLE, bool MORE, unsigned ORDERS, BAIOrder order>
static const void *InOrder()
{
  if constexpr (ORDERS >> order & 1)
    return (const void *)Stream<LOC, OFF, cuda::std::conditional_t<SINGLE, BAISingle, BAIScalar>, order, MORE>;
  else return NULL;
}

template <int LOC, int OFF, bool SINGLE, bool MORE, unsigned ORDERS, bool ANY>
const void *BAIStreamKernel(BAIOrder order)
{
  static_assert(!ANY || (MORE && ORDERS == BAI_IN_ALL), "the one kernel for all orders does more as well");
  if (!(ORDERS >> order & 1)) return NULL;
  if constexpr (ANY) return (const void *)StreamAny<LOC, OFF, cuda::std::conditional_t<SINGLE, BAISingle, BAIScalar>>;
  else {
    switch (order) {
    case BAI_OWN:
      return InOrder<LOC, OFF, SINGLE, MORE, ORDERS, BAI_OWN>();
    case BAI_QUEUE:
      return InOrder<LOC, OFF, SINGLE, MORE, ORDERS, BAI_QUEUE>();
    case BAI_FLAGS:
      return InOrder<LOC, OFF, SINGLE, MORE, ORDERS, BAI_FLAGS>();
    case BAI_TURNS:
      return InOrder<LOC, OFF, SINGLE, MORE, ORDERS, BAI_TURNS>();
    default:
      return NULL;
    }
  }
}

#define INSTANTIATE(LOC, OFF, MOST_OFF, SINGLE, MORE, ORDERS, ANY) \
  template const void *BAIStreamKernel<LOC, OFF, SINGLE, MORE, ORDERS, ANY>(BAIOrder);
BAI_STREAM_SHAPES(INSTANTIATE)
