/*
   The kernel of a whole solve with a coarse correction, for matrices that fit the chip: each thread block keeps one tile, a thread a row, as in resident.cu.

   In a global iteration each tile reads x of its neighbours, finds its part of r = b - A x as a by-product of its first local sweep, and publishes what it adds up to on each of its
   aggregates and its share of ||r||^2. It does its other local sweeps meanwhile. Then it reads what all tiles have published, and applies its own rows of the inverse, and x moves. So ||r|| is
   known to all tiles in each iteration: all sum it in the same order, and come to the same decision by the rules of adapt.h without asking each other.

   x and what is published are tagged values: see tagged.h. Who has read what all have published in an iteration knows that all have read x, so there is one x only. Of what is published there are two
   sets, for iterations in turn: who writes to a set again has read all of the other one, which every tile published after it had read all of this one.
*/
#include "control.h"
#include "row.h"
#include "twolevel.h"
#define BAI_ADAPT_FUNCTION static __host__ __device__ __noinline__
#include "../adapt_rules.h"
#include "shapes.h"

enum {
  AGGREGATES = BAI_TWO_LEVEL_SLICES,                /* of a tile, at most */
  LOADS_OF_ROW = 8,                                 /* of x, for what a row has outside the block in shared memory: it is little */
  LOADS      = 4,                                   /* of places that a thread has on their way at a time */
  ALIVE      = 64                                   /* iterations in which it is looked once whether another tile has given up */
};

/* Sums over a warp: lane 0 has it */
static __device__ inline BAIReal WarpSum(BAIReal value)
{
#pragma unroll
  for (int k = BAI_LANES / 2; k; k /= 2) value += __shfl_down_sync(~0u, value, k);
  return value;
}

#if defined(PETSC_USE_COMPLEX)
static __device__ inline BAIScalar WarpSum(BAIScalar value)
{
  return BAIScalar(WarpSum(value.real()), WarpSum(value.imag()));
}
#endif

/* What a tile has to do with the coarse space */
struct Tile {
  int      m, first, many, mine; /* unknowns; the aggregates of the tile; that of this thread's warp, counted from the first of the tile, or -1 */
  int      tiles, tile;
  BAIReal *shares;

  __device__ Tile(const BAISliced &A, const BAITwoLevel &t, int tile) : m(t.m), first(t.first[tile]), many(t.first[tile + 1] - t.first[tile]), tiles(A.tiles), tile(tile), shares(t.shares)
  {
    const int warp = threadIdx.x / BAI_LANES, slice = tile * A.tile_slices + warp;

    mine = t.aggregate[slice] < 0 ? -1 : t.aggregate[slice] - first;
  }

  __device__ BAIReal *Set(const BAITwoLevel &t, int which) const { return shares + (which & 1) * BAIShares(t, tiles); }
};

/* What the threads of a tile share about it */
struct Board {
  BAIScalar sum[AGGREGATES];  /* of r, by warp */
  BAIReal   norm2[AGGREGATES];
  int       of[AGGREGATES]; /* the aggregate of each warp, as in Tile */
  BAIScalar part[AGGREGATES][AGGREGATES]; /* of e, by aggregate and warp */
  BAIReal   part2[AGGREGATES];            /* of ||r||^2 */
};

/* Each warp leaves its sums; they are seen when all have met */
static __device__ inline void LeaveSums(Board &board, BAIScalar r)
{
  const int       warp = threadIdx.x / BAI_LANES;
  const BAIScalar sum  = WarpSum(r);
  const BAIReal   r2   = WarpSum(BAIAbs2(r));

  if (threadIdx.x % BAI_LANES) return;
  board.sum[warp]   = sum;
  board.norm2[warp] = r2;
}

/* What the tile has to publish, one number a thread */
static __device__ inline void PublishSums(const Tile &tile, BAIReal *set, const Board &board, unsigned parity)
{
  const int warps = blockDim.x / BAI_LANES, i = threadIdx.x;

  if (i < tile.many) {
    BAIScalar sum = 0;

    for (int w = 0; w < warps; w++) {
      if (board.of[w] == i) sum += board.sum[w];
    }
    (void)BAIPublishScalar(set, tile.first + i, sum, parity);
  } else if (i == tile.many) {
    BAIReal sum = 0;

    for (int w = 0; w < warps; w++) sum += board.norm2[w];
    (void)BAIPublish(set + BAI_REALS * tile.m + tile.tile, sum, parity);
  }
}

/* This thread's part of the sum of the tiles' shares of ||r||^2 */
static __device__ inline BAIReal SumOfShares(const BAISweep &p, const BAIReal *share, int tiles, unsigned parity)
{
  BAIReal sum = 0;

  for (int first = threadIdx.x; first < tiles; first += LOADS * blockDim.x) {
    BAIBits bits[LOADS];
    bool    missing;

#pragma unroll
    for (int l = 0; l < LOADS; l++) bits[l] = first + l * (int)blockDim.x < tiles ? BAILoadBits(share + first + l * blockDim.x) : (BAIBits)parity;
    BAISpin(p.stalled, p.stalled_host, [&] {
      missing = false;
#pragma unroll
      for (int l = 0; l < LOADS; l++) {
        if ((bits[l] & 1) != parity) bits[l] = BAILoadBits(share + first + l * blockDim.x);
        missing |= (bits[l] & 1) != parity;
      }
      return !missing;
    });
#pragma unroll
    for (int l = 0; l < LOADS; l++) sum += BAIRealOf(bits[l]);
  }
  return sum;
}

/* When all have published: e of the thread's aggregate, and ||r||^2. The threads meet twice */
static __device__ inline BAIScalar ReadSums(const BAISweep &p, const BAITwoLevel &t, const Tile &tile, const BAIReal *set, Board &board, unsigned parity, BAIReal *norm2)
{
  const int i = threadIdx.x, warp = i / BAI_LANES, warps = blockDim.x / BAI_LANES;
  BAIScalar part[AGGREGATES] = {};
  BAIReal   part2;

  for (int first = i; first < tile.m; first += LOADS * blockDim.x) {
    BAITagged<LOADS> value;
    BAISingle        inverse[LOADS][AGGREGATES];

#pragma unroll
    for (int l = 0; l < LOADS; l++) {
      const int k = first + l * blockDim.x;

      value.Ask(l, k < tile.m ? set : NULL, k, parity);
#pragma unroll
      for (int a = 0; a < AGGREGATES; a++) inverse[l][a] = a < tile.many && k < tile.m ? t.inverse[(size_t)(tile.first + a) * tile.m + k] : BAISingle(0);
    }
    value.Await(p, parity, [&](int l, const BAIReal **base, int *k) {
      *base = set;
      *k    = first + l * blockDim.x;
    });
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
#pragma unroll
      for (int a = 0; a < AGGREGATES; a++) part[a] += BAIScalar(inverse[l][a]) * value[l];
    }
  }
  part2 = SumOfShares(p, set + BAI_REALS * tile.m, tile.tiles, parity);
#pragma unroll
  for (int a = 0; a < AGGREGATES; a++) {
    if (a < tile.many) part[a] = WarpSum(part[a]);
    if (a < tile.many && i % BAI_LANES == 0) board.part[a][warp] = part[a];
  }
  part2 = WarpSum(part2);
  if (i % BAI_LANES == 0) board.part2[warp] = part2;
  __syncthreads();
  BAIScalar e = 0;

  *norm2 = 0;
  for (int w = 0; w < warps; w++) {
    if (tile.mine >= 0) e += board.part[tile.mine][w];
    *norm2 += board.part2[w];
  }
  return e;
}

static __device__ inline BAIGoal GoalOf(const BAISweep &p, const BAIStop &stop, BAIReal bnorm2)
{
  BAIGoal goal = {};

  goal.mode        = stop.asked;
  goal.accelerated = stop.accelerated;
  goal.accelerate  = stop.accelerate;
  goal.momentum    = p.momentum;
  goal.tol2        = max(stop.rtol * stop.rtol * bnorm2, stop.abstol * stop.abstol);
  goal.most2       = stop.dtol * stop.dtol * bnorm2;
  goal.max_it      = p.count;
  goal.first       = 1;
  goal.top         = stop.accelerate ? stop.top : 0;
  goal.beta        = stop.beta;
  return goal;
}

static __device__ inline bool HasStalled(const BAISweep &p)
{
  return cuda::atomic_ref<int, cuda::thread_scope_device>(*p.stalled).load(cuda::memory_order_relaxed) != 0;
}

/* Mode sync */
template <int LOC, int OFF, int BLOCKS>
static __global__ void __launch_bounds__(BAI_TWO_LEVEL_ROWS, BLOCKS) TwoLevel(BAISliced A, BAISweep p, BAIStop stop, BAITwoLevel t)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Board                              board;
  __shared__ BAIAdapt                           adapt;
  __shared__ BAIDecision                        decision;
  __shared__ int                                given_up;
  BAIScalar                                    *now = reinterpret_cast<BAIScalar *>(shared), *next = now + blockDim.x;
  const int                                     i = threadIdx.x, place = blockIdx.x * A.tile_rows + i, row = BAIRowAt(A, blockIdx.x, i);
  const Tile                                    tile(A, t, blockIdx.x);
  const BAIScalar                               d           = row >= 0 ? A.d[place] : BAIScalar(0);
  const BAIReal                                 local_omega = row >= 0 ? BAILocalOmegaAt(A, p, place) : p.local_omega;
  BAIReal                                      *x           = t.x;
  Row<LOC, OFF, BAI_FLAGS, LOADS_OF_ROW>        r;
  BAIScalar                                     xi, before, kept;
  BAIReal                                       omega = p.omega, momentum = p.momentum, tol2 = 0, most2 = 0, rnorm2, bnorm2 = stop.bnorm2;
  int                                           iteration = 0, until = 0;

  r.Load(A, p.b, blockIdx.x * A.tile_slices + i / BAI_LANES, i % BAI_LANES, row, place, -1, reinterpret_cast<unsigned char *>(next + blockDim.x));
  xi = before = kept = row >= 0 ? BAIPublishScalar(x, row, BAILoad(BAIIterateOf(p, 0) + row), 0) : BAIScalar(0);
  if (i % BAI_LANES == 0) board.of[i / BAI_LANES] = tile.mine;
  for (;; iteration++) {
    const unsigned parity = iteration >> 1 & 1;
    BAIReal       *set    = tile.Set(t, iteration);

    const BAIScalar s = r.OutsideTagged(p, x, iteration & 1);
    BAIScalar       y = xi;

    now[i] = y;
    __syncthreads();
    for (BAIInt sweep = 1; sweep <= p.local_iters; sweep++) {
      const BAIScalar step = r.Inside(s - y, now);
      BAIScalar      *swap = now;

      if (sweep == 1) LeaveSums(board, step * d);
      y += local_omega * step;
      now  = next;
      next = swap;
      if (sweep == 1 || sweep < p.local_iters) {
        now[i] = y;
        __syncthreads();
        if (sweep == 1) PublishSums(tile, set, board, parity);
      }
    }
    const BAIScalar e = ReadSums(p, t, tile, set, board, parity, &rnorm2);

    if (iteration >= until || !(rnorm2 > tol2 && rnorm2 < most2)) { /* all tiles, or none */
      if (!i) {
        if (!iteration) {
          const BAIGoal goal = GoalOf(p, stop, bnorm2 < 0 ? rnorm2 : bnorm2);

          decision = BAIAdaptStart(&adapt, &goal, stop.mode, 0, (double)rnorm2);
        } else decision = BAIAdaptLook(&adapt, iteration, (double)rnorm2);
        given_up = HasStalled(p);
      }
      __syncthreads();
      if (bnorm2 < 0) bnorm2 = rnorm2;
      tol2     = (BAIReal)adapt.goal.tol2;
      most2    = (BAIReal)adapt.goal.most2;
      until    = decision.until;
      omega    = p.omega * (BAIReal)decision.omega;
      momentum = (BAIReal)decision.momentum;
      if (decision.x == BAI_X_KEEP) kept = xi;
      if (decision.x == BAI_X_BACK) y = xi = kept;
      if (decision.rest || decision.x == BAI_X_BACK) before = xi;
      if (decision.stop || decision.vain || given_up) break;
      if (decision.x == BAI_X_BACK) {
        if (row >= 0) xi = before = BAIPublishScalar(x, row, xi, (iteration + 1) & 1);
        continue;
      }
    }
    y      = xi + omega * (y - xi + e) + momentum * (xi - before);
    before = xi;
    xi     = y;
    if (row >= 0) xi = BAIPublishScalar(x, row, xi, (iteration + 1) & 1);
  }
  if (row >= 0) BAIStore(BAIIterateOf(p, 0) + row, xi);
  if (blockIdx.x || i || given_up) return;
  stop.result->rnorm2     = decision.x == BAI_X_BACK ? (BAIReal)adapt.best2 : rnorm2;
  stop.result->bnorm2     = bnorm2;
  stop.result->its        = iteration;
  stop.result->omega      = omega;
  stop.result->momentum   = momentum;
  stop.result->mode       = decision.vain ? decision.mode : stop.mode;
  stop.result->accelerate = stop.accelerate;
  stop.result->coarsen    = 0;
  stop.result->vain       = decision.vain;
  stop.result->beta       = (BAIReal)adapt.beta;
}

/* What thread blocks share that do not wait for each other */
struct Meeting {
  cuda::atomic_ref<int, cuda::thread_scope_device> left, came, its; /* parts left for corrections, in all; thread blocks that have come to meetings, in all; the most iterations of any */

  __device__ Meeting(BAIControl &c) : left(c.ready), came(c.arrived), its(c.its) {}
};

/* After so many passes in vain, in each of which it takes at least as long as an access to memory */
static __device__ inline bool GivesUp(const BAISweep &p, int passes)
{
  enum {
    MOST = 50000000
  };

  if (passes % 1024) return false;
  if (passes >= MOST) {
    cuda::atomic_ref<int, cuda::thread_scope_device>(*p.stalled).store(1, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_system>(*p.stalled_host).store(1, cuda::memory_order_relaxed);
  }
  return HasStalled(p);
}

/* All thread blocks come; x then stands still */
static __device__ inline void Meet(const BAISweep &p, Meeting &m, int all)
{
  __syncthreads();
  if (!threadIdx.x) {
    m.came.fetch_add(1, cuda::memory_order_acq_rel);
    BAISpin(p.stalled, p.stalled_host, [&] { return m.came.load(cuda::memory_order_acquire) >= all; });
  }
  __syncthreads();
}

/*
   Mode async: no tile waits for a correction. It leaves its part for the next one as soon as all that it reads from have taken the last one, and takes that one when all parts are there; in between
   it goes on with its iterations. When the parts left of ||r||^2, which are of different times, add up to little enough, all meet and find what it is
*/
template <int LOC, int OFF, int BLOCKS>
static __global__ void __launch_bounds__(BAI_TWO_LEVEL_ROWS, BLOCKS) Epochs(BAISliced A, BAISweep p, BAIStop stop, BAITwoLevel t)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Board                              board;
  __shared__ int                                most, given_up;
  BAIScalar                                    *now = reinterpret_cast<BAIScalar *>(shared), *next = now + blockDim.x;
  const int                                     i = threadIdx.x, place = blockIdx.x * A.tile_rows + i, row = BAIRowAt(A, blockIdx.x, i);
  const int                                     first = p.neighbors.first[blockIdx.x], last = p.neighbors.first[blockIdx.x + 1];
  const Tile                                    tile(A, t, blockIdx.x);
  const BAIScalar                               d           = row >= 0 ? A.d[place] : BAIScalar(0);
  const BAIReal                                 local_omega = row >= 0 ? BAILocalOmegaAt(A, p, place) : p.local_omega;
  BAIScalar                                    *x           = BAIIterateOf(p, 0);
  Meeting                                       meeting(*stop.control);
  Row<LOC, OFF, BAI_OWN, LOADS_OF_ROW>          r;
  BAIScalar                                     xi, e;
  BAIReal                                       rnorm2, bnorm2 = stop.bnorm2, tol2 = 0, most2 = 0, easy = 1;
  int                                           iteration = 0, epoch = 0, met = 0, passes = 0, smoothed = 0;
  bool                                          left = false, meets = true, finds = true; /* meets: all are to meet; finds: they have, or will, and nobody moves x until ||r|| is found */

  r.Load(A, p.b, blockIdx.x * A.tile_slices + i / BAI_LANES, i % BAI_LANES, row, place, BAIRowAt(A, blockIdx.x, 0), reinterpret_cast<unsigned char *>(next + blockDim.x));
  xi = row >= 0 ? BAILoad(x + row) : BAIScalar(0);
  if (i % BAI_LANES == 0) board.of[i / BAI_LANES] = tile.mine;
  for (;;) {
    const unsigned parity = epoch >> 1 & 1;
    BAIReal       *set    = tile.Set(t, epoch);

    if (meets) {
      if (!i) meeting.its.fetch_max(iteration, cuda::memory_order_relaxed);
      Meet(p, meeting, A.tiles * ++met);
      meets = false;
    }
    bool leaves = !left && (finds || smoothed >= BAI_SMOOTHED), there = false;

    if (left) there = __syncthreads_or(!i && (meeting.left.load(cuda::memory_order_acquire) >= A.tiles * (epoch + 1) || GivesUp(p, ++passes)));
    else if (leaves && !finds) {
      for (int k = first + i; leaves && k < last; k += blockDim.x) leaves = cuda::atomic_ref<int, cuda::thread_scope_device>(p.done[p.neighbors.tile[k] >> 1]).load(cuda::memory_order_acquire) - p.done_before >= epoch;
      leaves = __syncthreads_and(leaves);
    }
    if (there) {
      passes = 0;
      e = ReadSums(p, t, tile, set, board, parity, &rnorm2);
      if (finds) { /* all have this number */
        if (bnorm2 < 0) bnorm2 = rnorm2;
        tol2  = max(stop.rtol * stop.rtol * bnorm2, stop.abstol * stop.abstol);
        most2 = stop.dtol * stop.dtol * bnorm2;
        if (!i) most = meeting.its.load(cuda::memory_order_relaxed);
        if (!i) given_up = HasStalled(p);
        __syncthreads();
        if (!(rnorm2 > tol2 && rnorm2 < most2) || most >= p.count || given_up) break;
        if (met > 1) easy = min(easy, BAIReal(0.5) * easy * tol2 / rnorm2);
      }
      xi += p.omega * e;
      if (row >= 0) BAIStore(x + row, xi);
      epoch++;
      left     = false;
      smoothed = 0;
      finds    = !finds && (!(rnorm2 > easy * tol2 && rnorm2 < most2) || epoch % ALIVE == 0);
      meets    = finds;
      continue;
    }
    if (left && (finds || iteration >= p.count)) continue;
    const BAIScalar s = r.Outside(x);
    BAIScalar       y = xi;

    now[i] = y;
    __syncthreads();
    for (BAIInt sweep = 1; sweep <= p.local_iters; sweep++) {
      const BAIScalar step = r.Inside(s - y, now);
      BAIScalar      *swap = now;

      if (sweep == 1 && leaves) LeaveSums(board, step * d);
      y += local_omega * step;
      now  = next;
      next = swap;
      if (sweep == 1 || sweep < p.local_iters) {
        now[i] = y;
        __syncthreads();
        if (sweep == 1 && leaves) {
          PublishSums(tile, set, board, parity);
          if (i < BAI_LANES) __syncwarp();
          if (!i) meeting.left.fetch_add(1, cuda::memory_order_acq_rel);
        }
      }
    }
    left |= leaves;
    if (finds) continue;
    if (iteration < p.count) {
      xi += p.omega * (y - xi);
      if (row >= 0) BAIStore(x + row, xi);
      iteration++;
    }
    if (++smoothed == BAI_SMOOTHED) { /* others may count on it */
      __syncthreads();
      if (!i) BAITileIsDone(p, blockIdx.x, epoch);
    }
  }
  if (blockIdx.x || i || given_up) return;
  stop.result->rnorm2     = rnorm2;
  stop.result->bnorm2     = bnorm2;
  stop.result->its        = most;
  stop.result->omega      = p.omega;
  stop.result->momentum   = 0;
  stop.result->mode       = stop.mode;
  stop.result->accelerate = stop.accelerate;
  stop.result->coarsen    = 0;
  stop.result->vain       = 0;
  stop.result->beta       = 0;
}

template <int LOC, int OFF, int BLOCKS>
const void *BAITwoLevelKernel(BAIMode mode)
{
  return mode == BAI_MODE_SYNC ? (const void *)TwoLevel<LOC, OFF, BLOCKS> : mode == BAI_MODE_ASYNC ? (const void *)Epochs<LOC, OFF, BLOCKS> : NULL;
}

#define INSTANTIATE(LOC, OFF, BLOCKS) template const void *BAITwoLevelKernel<LOC, OFF, BLOCKS>(BAIMode);
BAI_TWO_LEVEL_SHAPES(INSTANTIATE)
