/*
   The kernel for matrices that fit on the chip: each thread block keeps one tile, a row for each thread, in registers,
   and the entries of long rows outside the block in shared memory. The matrix is read once per launch; the traffic of a
   global iteration is x, through the L2 cache.

   With BAIStop the launch is a whole solve. If tiles do not wait for each other, each tile publishes its share of
   ||r||^2, a by-product of the first local sweep, every other global iteration. An additional thread block, the
   watcher, adds up the shares, which belong to different times. When the sum is small enough, or stagnates, it asks all
   to stop. They synchronize, compute ||b - A x||^2 of the current x, and the last to arrive decides: the solve ends, or
   continues with a smaller goal of the watcher. If tiles wait for each other there is no watcher: they synchronize
   after the iterations given by look.h, and the last to arrive decides.
*/
#include "row.h"
#include "solve.h"

/* Stores the sum over each warp at its place in sums */
static __device__ __forceinline__ void SumOfWarp(BAIReal value, BAIReal *sums)
{
  for (int k = BAI_LANES / 2; k; k /= 2) value += __shfl_down_sync(~0u, value, k);
  const int i = threadIdx.x;

  if (i % BAI_LANES == 0) sums[i / BAI_LANES] = value;
}

/* Takes this tile's share r2 of ||b - A x||^2 after a barrier; the last to arrive decides whether the solve is over,
   and when tiles that wait for each other synchronize next. last, over and next_look are in shared memory */
template <BAIOrder order>
static __device__ __forceinline__ void DecideTogether(const BAISliced &A, const BAISweep &p, const BAIStop &stop,
                                                      int epoch, int iteration, BAIReal r2, BAIReal *sums, int &last,
                                                      int &over, int &next_look)
{
  BAIControl &c    = *stop.control;
  const int   tile = blockIdx.x, i = threadIdx.x;

  if (!i) {
    BAIStore(stop.r2 + tile, r2);
    last = BAIArrive(&c.arrived) == (order == BAI_OWN ? 2 * epoch + 2 : epoch + 1) * A.tiles;
  }
  __syncthreads();
  if (last) {
    const BAIReal b2     = order != BAI_OWN && stop.bnorm2 < 0 && !epoch ? SumOfTiles(stop.b2, A.tiles, sums) : 0,
                  rnorm2 = SumOfTiles(stop.r2, A.tiles, sums);

    if (!i && order != BAI_OWN) Decide(p, stop, c, iteration, b2, rnorm2);
    if (!i && order == BAI_OWN) DecideAtStop(p, stop, c, rnorm2);
    if (!i) BAIStoreRelease(&c.decided, epoch + 1);
  }
  if (!i) {
    BAISpin(p.stalled, p.stalled_host, [&] { return BAILoadAcquire(&c.decided) > epoch; });
    if (order != BAI_OWN) next_look = c.look.until < p.count ? (int)c.look.until : (int)p.count;
    over = c.finished || BAILoad(p.stalled);
  }
  __syncthreads();
}

/* Stores the sum of value over the thread block in *to; called by all threads */
static __device__ __forceinline__ void PublishSum(BAIReal value, BAIReal *sums, BAIReal *to)
{
  const BAIReal sum = BlockSum(value, sums);

  if (!threadIdx.x) BAIStore(to, sum);
}

/* Does the local sweeps of a row from y; the threads of a tile have stored their y in now. sums gets the share of ||b -
   A x||^2 that the first sweep finds, unless those of the previous iteration are being published */
template <BAIOrder order, typename R, typename V>
static __device__ __forceinline__ V LocalSweeps(const BAISweep &p, const R &r, V s, BAIReal local_omega, bool solving,
                                                bool publish, V y, V *&now, V *&next, BAIReal *sums)
{
  const int i = threadIdx.x;

  for (BAIInt sweep = 1; sweep <= p.local_iters; sweep++) {
    const V step = r.Inside(s - y, now);

    if (order == BAI_OWN && solving && sweep == 1 && !publish) SumOfWarp(BAIAbs2(step) * r.d2, sums);
    y += local_omega * step;
    V *swap = now;
    now     = next;
    next    = swap;
    if (sweep < p.local_iters) {
      now[i] = y;
      __syncthreads();
    }
  }
  return y;
}

/* Synchronizes tiles, so that x does not change, at least where this tile reads it. Returns the tile's share of ||b - A
   x||^2. Leaves the tile's x in now */
template <BAIOrder order, typename R, typename V>
static __device__ __forceinline__ BAIReal ShareAtRest(const BAISliced &A, const BAISweep &p, BAIControl &c,
                                                      const BAINeighborsOf<order> &neighbors, R &r, int epoch,
                                                      int iteration, V xi, V *now, BAIReal *sums)
{
  const int i = threadIdx.x;

  __syncthreads();
  if (order == BAI_OWN) {
    if (!i) ArriveAtStop(p, c, iteration, (2 * epoch + 1) * A.tiles);
  } else neighbors.Wait(p, iteration, true);
  const V *x = BAIIterateOf<V>(p, order == BAI_FLAGS ? (p.current + iteration) & 1 : 0);

  now[i] = xi;
  __syncthreads();
  return BlockSum(BAIAbs2(r.Inside(r.Outside(x) - xi, now)) * r.d2, sums);
}

/* Does all global iterations of a launch for the tile of this thread block */
template <int LOC, int OFF, BAIOrder order>
static __device__ __forceinline__ void Iterate(const BAISliced &A, const BAISweep &p, const BAIStop &stop)
{
  using V = BAIScalar;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ BAIReal                            sums[BAI_LANES + 1];
  __shared__ int                                last, over, next_look, stopping[2];
  V                                            *now = reinterpret_cast<V *>(shared), *next = now + blockDim.x;
  const int tile = blockIdx.x, i = threadIdx.x, lane = i % BAI_LANES, slice = tile * A.tile_slices + i / BAI_LANES,
            place     = tile * A.tile_rows + i;
  const bool  solving = stop.control != nullptr, flip = order == BAI_FLAGS;
  BAIControl &c = *stop.control;

  if (order == BAI_OWN && tile == A.tiles) {
    Watch(A, p, stop, sums);
    return;
  }

  /* comparisons with -1 in some places and with 0 in others take fewer registers */
  const int     row         = BAIRowAt(A, tile, i);
  const BAIReal local_omega = row != -1 ? BAILocalOmegaAt(A, p, place) : p.local_omega;
  BAIReal       momentum = p.momentum, omega = p.omega;
  int           until = solving && order != BAI_OWN ? 0 : p.count; /* a solve begins with a synchronization */
  V             xi, before;
  const BAINeighborsOf<order> neighbors(p, tile);

  Row<LOC, OFF, order> r;

  r.Load(A, static_cast<const V *>(p.b), slice, lane, row, place, BAIRowAt(A, tile, 0),
         reinterpret_cast<unsigned char *>(next + blockDim.x));
  xi     = row != -1 ? BAILoad(BAIIterateOf<V>(p, p.current) + row) : V(0);
  before = xi;
  if (p.moves && !p.fresh && row >= 0)
    before = flip ? BAILoad(BAIIterateOf<V>(p, !p.current) + row) : static_cast<const V *>(p.before)[place];
  if (solving && stop.bnorm2 < 0) PublishSum(BAIAbs2(r.b) * r.d2, sums, stop.b2 + tile);

  for (int epoch = 0, iteration = 0;; epoch++) {
    for (; iteration < until; iteration++) {
      const int  from = flip ? (p.current + iteration) & 1 : 0, to = flip ? from ^ 1 : 0;
      const bool publish = order == BAI_OWN && solving && iteration & 1; /* of the previous iteration's sums */

      if (order != BAI_OWN) neighbors.Wait(p, iteration);
      else if (solving && !i) stopping[iteration & 1] = BAILoad(&c.stop) > epoch;
      if (order == BAI_FLAGS && p.fourth_kind) {
        omega    = BAIOmegaAt(p, iteration);
        momentum = BAIFourthKindMomentum(p.its + iteration);
      }
      const V s = r.Outside(BAIIterateOf<V>(p, from));
      V       y = xi;

      /* The last sweep of the previous iteration did not read now, so no barrier is needed */
      now[i] = y;
      __syncthreads();
      if (order == BAI_OWN && solving && stopping[iteration & 1]) break;
      if (publish && !i) PublishShare(stop, c, tile, iteration, sums);
      y = LocalSweeps<order>(p, r, s, local_omega, solving, publish, y, now, next, sums);
      y = xi + omega * (y - xi);
      if (p.moves) {
        y += momentum * (xi - before);
        before = xi;
      }
      xi = y;
      if (row >= 0) BAIStore(BAIIterateOf<V>(p, to) + row, xi);
      if (order != BAI_OWN) {
        __syncthreads();
        if (!i) BAITileIsDone(p, tile, iteration + 1);
      }
    }
    if (!solving) break;

    const BAIReal r2 = ShareAtRest<order>(A, p, c, neighbors, r, epoch, iteration, xi, now, sums);

    DecideTogether<order>(A, p, stop, epoch, iteration, r2, sums, last, over, next_look);
    if (over) break;
    if (order != BAI_OWN) until = next_look;
  }
  if (p.before && row >= 0) static_cast<V *>(p.before)[blockIdx.x * A.tile_rows + threadIdx.x] = before;
}

/* Largest number of rows of a tile; half for wide rows, which need twice the registers */
static constexpr int Rows(int loc, int off)
{
  return loc + off > 16 ? BAI_ROW_THREADS / 2 : BAI_ROW_THREADS;
}

/* The resident kernel. If tiles wait for each other, in the order of p, it takes more registers, so a smaller part of a
   matrix fits on the chip */
template <int LOC, int OFF, bool WAITS>
static __global__ void __launch_bounds__(Rows(LOC, OFF)) Resident(BAISliced A, BAISweep p, BAIStop stop)
{
  if constexpr (!WAITS) Iterate<LOC, OFF, BAI_OWN>(A, p, stop);
  else if (p.how == BAI_FLAGS) Iterate<LOC, OFF, BAI_FLAGS>(A, p, stop);
  else Iterate<LOC, OFF, BAI_TURNS>(A, p, stop);
}

/* Entries inside and outside the block; 0: any number, in shared memory. A matrix gets the first shape that it fits:
   wider shapes cost registers and additions of zeros, and give the same bits */
#define SHAPE(LOC, OFF) \
  { \
    LOC, OFF, \
    { \
      (const void *)Resident<LOC, OFF, false>, (const void *)Resident<LOC, OFF, true> \
    } \
  }

static const struct {
  int         loc, off;
  const void *kernel[2];
} shapes[] = {SHAPE(6, 8), SHAPE(8, 0), SHAPE(16, 0), SHAPE(32, 0)};

const void *BAIResidentKernel(const BAISliced *A, BAIOrder order, bool in_shared)
{
  for (const auto &s : shapes) {
    if (in_shared == !s.off && A->loc_width <= s.loc && (in_shared || A->off_width <= s.off) &&
        A->tile_rows <= Rows(s.loc, s.off))
      return s.kernel[order != BAI_OWN];
  }
  return NULL;
}
