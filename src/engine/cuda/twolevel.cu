/*
   The kernels of a whole solve with a coarse correction, for matrices that fit the chip: each thread block keeps one tile, a thread a row, as in resident.cu.

   Mode sync: in a global iteration each tile finds its part of r = b - A x as a by-product of its first local sweep, and publishes what it adds up to on each of its aggregates, and its share of
   ||r||^2. When its other local sweeps are done it publishes what x becomes without the coarse correction. It then reads what all tiles have published of r, finds the correction on its own
   aggregates and on all that the rows belong to which it reads, and so the next x of these without another exchange. As ||r|| is known to all tiles, and all sum it in the same order, they come
   to the same decision by the rules of adapt.h without asking each other; it is for the iteration after the next.

   What is published are tagged values: see tagged.h. There are two places for each, for iterations in turn: who writes to one again has read what all tiles have published of r in the iteration
   before, which each did after it had read what was there.
*/
#include "control.h"
#include "row.h"
#include "tagged.h"
#include "twolevel.h"
#define BAI_ADAPT_FUNCTION static __host__ __device__ __noinline__
#include "../adapt_rules.h"
#include "shapes.h"

enum {
  LOADS_OF_ROW  = 8,    /* of x, for what a row has outside the block in shared memory: it is little */
  TEAM          = 8,    /* threads that find the correction on an aggregate */
  ALIVE         = 64,   /* epochs after which all meet in any case */
  FIRST_MEETING = 8,    /* and the first after so many: how much the parts, left while x is rough, add up to beyond ||r|| is not known before */
  GROWN         = 10000 /* growth of ||r||^2 that is too much */
};

#define LEAST_DAMPING BAIReal(0.4)
#define LEAST_EASY    BAIReal(1e-4)
#define MOST_EASY     BAIReal(1e6)

/* Sums over a warp: lane 0 has it */
static __device__ inline BAIReal WarpSum(BAIReal value)
{
#pragma unroll
  for (int k = BAI_LANES / 2; k; k /= 2) value += __shfl_down_sync(~0u, value, k);
  return value;
}

/* Sums over a team, which alone calls it: its first thread has it */
static __device__ inline BAIReal TeamSum(BAIReal value)
{
  const unsigned mask = ((1u << TEAM) - 1) << threadIdx.x % BAI_LANES / TEAM * TEAM;

#pragma unroll
  for (int k = TEAM / 2; k; k /= 2) value += __shfl_down_sync(mask, value, k, TEAM);
  return value;
}

static __device__ inline BAIReal Down(BAIReal value, int k)
{
  return __shfl_down_sync(~0u, value, k);
}

#if defined(PETSC_USE_COMPLEX)
static __device__ inline BAIScalar WarpSum(BAIScalar value)
{
  return BAIScalar(WarpSum(value.real()), WarpSum(value.imag()));
}

static __device__ inline BAIScalar TeamSum(BAIScalar value)
{
  return BAIScalar(TeamSum(value.real()), TeamSum(value.imag()));
}

static __device__ inline BAIScalar Down(BAIScalar value, int k)
{
  return BAIScalar(Down(value.real(), k), Down(value.imag(), k));
}
#endif

/* What the threads of a tile share */
struct Board {
  BAIScalar sum[BAI_TWO_LEVEL_SLICES]; /* of r, by warp; */
  BAIReal   norm2[BAI_TWO_LEVEL_SLICES];
  int       of[BAI_TWO_LEVEL_SLICES];  /* the aggregate of each warp, counted from the first of the tile, or -1; */
  int       seen[BAI_TWO_LEVEL_SEEN];  /* the aggregates that the tile needs to know of: first its own, */
  BAIScalar e[BAI_TWO_LEVEL_SEEN + 1]; /* the correction on each; then a zero, for rows that belong to none; */
  BAIReal   all2;                      /* and ||r||^2 */
};

/* What a tile has to do with the coarse space */
struct Tile {
  int              m, first, many, seen; /* unknowns; the aggregates of the tile; and of all that it needs to know of */
  int              tiles, tile;
  BAIReal         *shares;
  float           *sums;    /* of all tiles, in shared memory, which is as good as the inverse is; */
  BAIReal         *share;   /* and their shares of ||r||^2 */
  const BAISingle *inverse; /* the rows of those seen */
  Board           &board;

  /* work has room for BAITwoLevelBytes() */
  __device__ Tile(const BAISliced &A, const BAITwoLevel &t, int tile, Board &board, unsigned char *work) : m(t.m), first(t.first[tile]), many(t.first[tile + 1] - first), seen(t.seen_count[tile]), tiles(A.tiles), tile(tile), shares(t.shares), sums(reinterpret_cast<float *>(work + (size_t)A.tiles * sizeof(BAIReal))), share(reinterpret_cast<BAIReal *>(work)), board(board)
  {
    BAISingle *rows = reinterpret_cast<BAISingle *>(work + BAISumsBytes(t, tiles));
    const int  i = threadIdx.x, slice = tile * A.tile_slices + i / BAI_LANES;

    if (i % BAI_LANES == 0) board.of[i / BAI_LANES] = t.aggregate[slice] < 0 ? -1 : t.aggregate[slice] - first;
    for (int k = i; k < seen; k += blockDim.x) board.seen[k] = t.seen[tile * BAI_TWO_LEVEL_SEEN + k];
    __syncthreads();
    for (int k = 0; k < seen; k++) {
      for (int j = i; j < m; j += blockDim.x) rows[k * m + j] = t.inverse[(size_t)board.seen[k] * m + j];
    }
    inverse = rows;
    __syncthreads();
  }

  __device__ BAIReal *Set(const BAITwoLevel &t, int which) const { return shares + (which & 1) * BAIShares(t, tiles); }

  /* Which of those seen an aggregate is */
  __device__ int Find(int aggregate) const
  {
    for (int k = 0; k < seen; k++) {
      if (board.seen[k] == aggregate) return k;
    }
    return seen;
  }

  /* That of this thread's row, or -1 */
  __device__ int Mine() const { return board.of[threadIdx.x / BAI_LANES]; }

  /* Each warp leaves its sums of r; they are seen when all have met */
  __device__ void Leave(BAIScalar r) const
  {
    const int       warp = threadIdx.x / BAI_LANES;
    const BAIScalar sum  = WarpSum(r);
    const BAIReal   r2   = WarpSum(BAIAbs2(r));

    if (threadIdx.x % BAI_LANES) return;
    board.sum[warp]   = sum;
    board.norm2[warp] = r2;
  }

  /* What the tile has to publish of r: the first warp adds up what belongs to the same aggregate, which are warps one after the other */
  __device__ void Publish(BAIReal *set, unsigned parity) const
  {
    const int warps = blockDim.x / BAI_LANES, lane = threadIdx.x, of = lane < warps ? board.of[lane] : -1;

    if (lane >= BAI_LANES) return;
    BAIScalar sum   = lane < warps ? board.sum[lane] : BAIScalar(0);
    BAIReal   norm2 = lane < warps ? board.norm2[lane] : 0;

    for (int k = 1; k < warps; k *= 2) {
      const BAIScalar more = Down(sum, k);
      const int       its  = __shfl_down_sync(~0u, of, k);

      norm2 += __shfl_down_sync(~0u, norm2, k);
      if (lane + k < warps && its == of) sum += more;
    }
    const int before = __shfl_up_sync(~0u, of, 1);

    if (of >= 0 && (!lane || before != of)) (void)BAIPublishScalar(set, first + of, sum, parity);
    if (!lane) (void)BAIPublish(set + BAI_REALS * m + tile, norm2, parity);
  }

  /* When all have published what they have in an iteration: copies it, for all threads when they have met; each has N on their way at a time */
  template <int N>
  __device__ void ReadAhead(const BAISweep &p, const BAIReal *set, unsigned parity) const
  {
    const int all = BAI_REALS * m + tiles;

    for (int first = threadIdx.x; first < all; first += N * blockDim.x) {
      BAIBits bits[N];

#pragma unroll
      for (int l = 0; l < N; l++) bits[l] = first + l * (int)blockDim.x < all ? BAILoadBits(set + first + l * blockDim.x) : (BAIBits)parity;
      BAISpin(p.stalled, p.stalled_host, [&] {
        bool missing = false;

#pragma unroll
        for (int l = 0; l < N; l++) {
          if ((bits[l] & 1) != parity) bits[l] = BAILoadBits(set + first + l * blockDim.x);
          missing |= (bits[l] & 1) != parity;
        }
        return !missing;
      });
#pragma unroll
      for (int l = 0; l < N; l++) {
        const int k = first + l * blockDim.x;

        if (k < BAI_REALS * m) sums[k] = (float)BAIRealOfBits(bits[l]);
        else if (k < all) share[k - BAI_REALS * m] = BAIRealOfBits(bits[l]);
      }
    }
  }

  __device__ void Read(const BAISweep &p, const BAIReal *set, unsigned parity) const
  {
    if (BAI_REALS * m + tiles <= 2 * (int)blockDim.x) ReadAhead<2>(p, set, parity);
    else ReadAhead<4>(p, set, parity);
    __syncthreads();
  }

  /* The corrections on the aggregates seen, and ||r||^2, are on the board when all have met: a team finds one of these */
  __device__ void Correct() const
  {
    const int j = threadIdx.x % TEAM;

    for (int k = threadIdx.x / TEAM; k / (BAI_LANES / TEAM) * (BAI_LANES / TEAM) <= seen; k += blockDim.x / TEAM) { /* the same for all of a warp */
      if (k < seen) {
        const BAISingle *row  = inverse + k * m;
        const BAISingle *sum  = reinterpret_cast<const BAISingle *>(sums);
        BAISingle        e[4] = {};
        int              at   = j;

        for (; at + 3 * TEAM < m; at += 4 * TEAM) {
#pragma unroll
          for (int u = 0; u < 4; u++) e[u] += row[at + u * TEAM] * sum[at + u * TEAM];
        }
#pragma unroll
        for (int u = 0; u < 3; u++) {
          if (at + u * TEAM < m) e[u] += row[at + u * TEAM] * sum[at + u * TEAM];
        }
        const BAIScalar all = TeamSum(BAIScalar(e[0] + e[1] + (e[2] + e[3])));

        if (!j) board.e[k] = all;
      } else {
        BAIReal norm2 = 0;

        for (int at = j; at < tiles && k == seen; at += TEAM) norm2 += share[at];
        norm2 = TeamSum(norm2);
        if (!j && k == seen) board.all2 = norm2;
      }
    }
    __syncthreads();
  }
};

/* What a row has outside its block, and which of the aggregates seen each column belongs to: in registers, */
template <int OFF>
struct Others {
  BAIScalar a[OFF];
  int       j[OFF]; /* -1: no entry */
  unsigned  seen[(OFF + 3) / 4];

  __device__ void Load(const BAISliced &A, const BAITwoLevel &t, const Tile &tile, int slice, int lane, int row, BAIScalar dinv, unsigned char *)
  {
    const BAISlice S = A.slice[slice];

#pragma unroll
    for (int w = 0; w < OFF; w++) {
      a[w] = w < (int)S.off_width ? static_cast<const BAIScalar *>(A.off_a)[S.off + lane + w * BAI_LANES] * dinv : BAIScalar(0);
      j[w] = a[w] != BAIScalar(0) ? BAIColumn(A, S.by_delta, row, *BAIColumnAt(A, S, w, lane)) : -1;
      if (w % 4 == 0) seen[w / 4] = 0;
      if (j[w] >= 0) seen[w / 4] |= (unsigned)tile.Find(t.of_row[j[w]]) << 8 * (w % 4);
    }
  }

  BAITagged<OFF> value;

  /* Sends for the values there, */
  __device__ void Ask(const BAIReal *x, unsigned parity)
  {
#pragma unroll
    for (int w = 0; w < OFF; w++) value.Ask(w, j[w] >= 0 ? x : NULL, j[w], parity);
  }

  /* and subtracts from b what they add up to; the correction on them is still to come */
  __device__ BAIScalar Subtract(const BAISweep &p, BAIScalar b, const BAIReal *x, unsigned parity, const BAIScalar *e, BAIReal omega)
  {
    BAIScalar half = 0;

    value.Await(p, parity, [&](int w, const BAIReal **base, int *k) {
      *base = x;
      *k    = j[w];
    });
#pragma unroll
    for (int w = 0; w < OFF; w += 2) {
      b -= a[w] * (value[w] + omega * e[seen[w / 4] >> 8 * (w % 4) & 0xff]);
      half -= a[w + 1] * (value[w + 1] + omega * e[seen[w / 4] >> 8 * (w % 4 + 1) & 0xff]);
    }
    return b + half;
  }
};

/* or in shared memory, of each row in a column of its own */
template <>
struct Others<0> {
  BAIScalar     *a;
  int           *j;
  unsigned char *seen;
  int            width;

  __device__ void Load(const BAISliced &A, const BAITwoLevel &t, const Tile &tile, int slice, int lane, int row, BAIScalar dinv, unsigned char *shared)
  {
    const BAISlice S    = A.slice[slice];
    const size_t   room = (size_t)A.off_width * blockDim.x;

    a     = reinterpret_cast<BAIScalar *>(shared) + threadIdx.x;
    j     = reinterpret_cast<int *>(shared + room * sizeof(BAIScalar)) + threadIdx.x;
    seen  = shared + room * (sizeof(BAIScalar) + sizeof(int)) + threadIdx.x;
    width = (int)S.off_width;
    for (int w = 0; w < width; w++) {
      const BAIScalar value = static_cast<const BAIScalar *>(A.off_a)[S.off + lane + w * BAI_LANES] * dinv;
      const int       col   = value != BAIScalar(0) ? BAIColumn(A, S.by_delta, row, *BAIColumnAt(A, S, w, lane)) : -1;

      a[w * blockDim.x]    = value;
      j[w * blockDim.x]    = col;
      seen[w * blockDim.x] = (unsigned char)(col >= 0 ? tile.Find(t.of_row[col]) : 0);
    }
  }

  __device__ void Ask(const BAIReal *, unsigned) {}

  __device__ BAIScalar Subtract(const BAISweep &p, BAIScalar b, const BAIReal *x, unsigned parity, const BAIScalar *e, BAIReal omega)
  {
    for (int w = 0; w < width; w += LOADS_OF_ROW) {
      BAITagged<LOADS_OF_ROW> value;

#pragma unroll
      for (int v = 0; v < LOADS_OF_ROW; v++) {
        const int col = w + v < width ? j[(w + v) * blockDim.x] : -1;

        value.Ask(v, col >= 0 ? x : NULL, col, parity);
      }
      value.Await(p, parity, [&](int v, const BAIReal **base, int *k) {
        *base = x;
        *k    = j[(w + v) * blockDim.x];
      });
#pragma unroll
      for (int v = 0; v < LOADS_OF_ROW; v++) {
        if (w + v < width) b -= a[(w + v) * blockDim.x] * (value[v] + omega * e[seen[(w + v) * blockDim.x]]);
      }
    }
    return b;
  }
};

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
  goal.late        = 1;
  return goal;
}

static __device__ inline bool HasStalled(const BAISweep &p)
{
  return cuda::atomic_ref<int, cuda::thread_scope_device>(*p.stalled).load(cuda::memory_order_relaxed) != 0;
}

/* Mode sync */
template <int LOC, int OFF, int ROWS, int BLOCKS>
static __global__ void __launch_bounds__(ROWS, BLOCKS) TwoLevel(BAISliced A, BAISweep p, BAIStop stop, BAITwoLevel t)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Board                              board;
  __shared__ BAIAdapt                           adapt;
  __shared__ BAIDecision                        decision;
  __shared__ int                                given_up;
  __shared__ BAIReal                            tol2, most2, bnorm2;
  BAIScalar                                    *now = reinterpret_cast<BAIScalar *>(shared), *next = now + blockDim.x;
  BAIScalar                                    *d = next + blockDim.x, *before = d + blockDim.x, *kept = before + blockDim.x; /* a thread's own */
  unsigned char                                *work = reinterpret_cast<unsigned char *>(kept + blockDim.x);
  const int                                     i = threadIdx.x, place = blockIdx.x * A.tile_rows + i, row = BAIRowAt(A, blockIdx.x, i), slice = blockIdx.x * A.tile_slices + i / BAI_LANES;
  const Tile                                    tile(A, t, blockIdx.x, board, work);
  const int                                     mine        = tile.Mine();
  const BAIScalar                               dinv        = row >= 0 ? static_cast<const BAIScalar *>(A.dinv)[place] : BAIScalar(0);
  const BAIReal                                 local_omega = row >= 0 ? BAILocalOmegaAt(A, p, place) : p.local_omega;
  RowInside<LOC>                                r;
  Others<OFF>                                   others;
  BAIScalar                                     xi, s;
  BAIReal                                       omega = p.omega, momentum = p.momentum, rnorm2;
  int                                           iteration = 0, until = 0;
  bool                                          back = false; /* in this iteration x only goes back to that which was kept */

  r.Load(A, A.slice[slice], static_cast<const BAIScalar *>(p.b), i % BAI_LANES, row, place, dinv);
  others.Load(A, t, tile, slice, i % BAI_LANES, row, dinv, work + BAITwoLevelBytes(t, A.tiles));
  for (int k = i; k <= tile.seen; k += blockDim.x) board.e[k] = 0;
  xi        = row >= 0 ? BAIPublishScalar(t.x, row, BAILoad(BAIIterateOf(p, 0) + row), 0) : BAIScalar(0);
  d[i]      = row >= 0 ? A.d[place] : BAIScalar(0);
  before[i] = kept[i] = xi;
  if (!i) {
    const BAIGoal goal = GoalOf(p, stop, 0);

    decision = BAIAdaptStart(&adapt, &goal, stop.mode, 0, 1); /* how it is to begin; the norm is known later */
    tol2     = 0;
    most2    = 0;
    bnorm2   = stop.bnorm2;
  }
  __syncthreads();
  omega    = p.omega * (BAIReal)decision.omega;
  momentum = (BAIReal)decision.momentum;
  others.Ask(t.x, 0);
  s = others.Subtract(p, r.b, t.x, 0, board.e, 0);
  for (;; iteration++) {
    const unsigned parity = iteration >> 1 & 1, parity_x = (iteration + 1) >> 1 & 1;
    BAIReal       *set = tile.Set(t, iteration), *x = t.x + ((iteration + 1) & 1) * t.reals_x;
    BAIScalar      y = xi, to;

    /* now is not what the last sweep of the iteration before read: its threads need not have met */
    now[i] = y;
    __syncthreads();
    for (BAIInt sweep = 1; sweep <= p.local_iters; sweep++) {
      const BAIScalar step = r.Inside(s - y, now);
      BAIScalar      *swap = now;

      if (sweep == 1) tile.Leave(step * d[i]);
      y += local_omega * step;
      now  = next;
      next = swap;
      if (sweep == 1 || sweep < p.local_iters) {
        now[i] = y;
        __syncthreads();
        if (sweep == 1) tile.Publish(set, parity);
      }
    }
    to = back ? kept[i] : xi + omega * (y - xi) + momentum * (xi - before[i]);
    if (row >= 0) to = BAIPublishScalar(x, row, to, parity_x);
    tile.Read(p, set, parity);
    others.Ask(x, parity_x);
    tile.Correct();
    rnorm2 = board.all2;

    const bool went  = back;                                                                /* back */
    const bool looks = !went && (iteration >= until || !(rnorm2 > tol2 && rnorm2 < most2)); /* all tiles, or none */

    back = false;
    if (looks) {
      __syncthreads(); /* before what they went by changes */
      if (!i) {
        if (!iteration) {
          if (bnorm2 < 0) bnorm2 = rnorm2;
          const BAIGoal goal = GoalOf(p, stop, bnorm2);

          decision = BAIAdaptStart(&adapt, &goal, stop.mode, 0, (double)rnorm2);
        } else decision = BAIAdaptLook(&adapt, iteration, (double)rnorm2);
        given_up = HasStalled(p);
        tol2     = (BAIReal)adapt.goal.tol2;
        most2    = (BAIReal)adapt.goal.most2;
      }
      __syncthreads();
      until = decision.until;
      if (decision.x == BAI_X_KEEP) kept[i] = xi;
      back = decision.x == BAI_X_BACK;
      if (decision.stop || decision.vain || given_up) break;
    }
    before[i] = went ? to : xi;
    xi        = went || mine < 0 ? to : to + omega * board.e[mine];
    s         = others.Subtract(p, r.b, x, parity_x, board.e, went ? 0 : omega);
    if (looks) {
      omega    = p.omega * (BAIReal)decision.omega;
      momentum = (BAIReal)decision.momentum;
      if (decision.rest) before[i] = xi;
    }
  }
  if (back) xi = kept[i];
  if (row >= 0) BAIStore(BAIIterateOf(p, 0) + row, xi);
  if (blockIdx.x || i || given_up) return;
  stop.result->rnorm2     = back ? (BAIReal)adapt.best2 : rnorm2;
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
    cuda::atomic_ref<int, cuda::thread_scope_device>(*p.stalled).store(BAI_ERR_STALLED, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_system>(*p.stalled_host).store(BAI_ERR_STALLED, cuda::memory_order_relaxed);
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
template <int LOC, int OFF, int ROWS, int BLOCKS>
static __global__ void __launch_bounds__(ROWS, BLOCKS) Epochs(BAISliced A, BAISweep p, BAIStop stop, BAITwoLevel t)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Board                              board;
  __shared__ int                                most, given_up;
  BAIScalar                                    *now = reinterpret_cast<BAIScalar *>(shared), *next = now + blockDim.x;
  unsigned char                                *work = reinterpret_cast<unsigned char *>(next + blockDim.x);
  const int                                     i = threadIdx.x, place = blockIdx.x * A.tile_rows + i, row = BAIRowAt(A, blockIdx.x, i);
  const int                                     first = p.neighbors.first[blockIdx.x], last = p.neighbors.first[blockIdx.x + 1];
  const Tile                                    tile(A, t, blockIdx.x, board, work);
  const int                                     mine        = tile.Mine();
  const BAIScalar                               d           = row >= 0 ? A.d[place] : BAIScalar(0);
  const BAIReal                                 local_omega = row >= 0 ? BAILocalOmegaAt(A, p, place) : p.local_omega;
  BAIScalar                                    *x           = BAIIterateOf(p, 0);
  Meeting                                       meeting(*stop.control);
  Row<LOC, OFF, BAI_OWN, LOADS_OF_ROW>          r;
  BAIScalar                                     xi;
  BAIReal                                       rnorm2, bnorm2 = stop.bnorm2, tol2 = 0, most2 = 0, easy = 1, parts2 = -1, best2 = -1, damping = 1;
  int                                           iteration = 0, epoch = 0, met = 0, passes = 0, smoothed = 0;
  bool                                          left = false, meets = true, finds = true; /* meets: all are to meet; finds: they have, or will, and nobody moves x until ||r|| is found */

  r.Load(A, static_cast<const BAIScalar *>(p.b), blockIdx.x * A.tile_slices + i / BAI_LANES, i % BAI_LANES, row, place, BAIRowAt(A, blockIdx.x, 0), work + BAITwoLevelBytes(t, A.tiles));
  xi = row >= 0 ? BAILoad(x + row) : BAIScalar(0);
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
      tile.Read(p, set, parity);
      tile.Correct();
      rnorm2 = board.all2;
      if (finds) { /* all have this number */
        if (bnorm2 < 0) bnorm2 = rnorm2;
        tol2  = max(stop.rtol * stop.rtol * bnorm2, stop.abstol * stop.abstol);
        most2 = stop.dtol * stop.dtol * bnorm2;
        if (!i) most = meeting.its.load(cuda::memory_order_relaxed);
        if (!i) given_up = HasStalled(p);
        __syncthreads();
        if (!(rnorm2 > tol2 && rnorm2 < most2) || most >= p.count || given_up) break;
        if (parts2 > 0) easy = min(max(BAIReal(0.5) * parts2 / rnorm2, LEAST_EASY), MOST_EASY); /* what the parts are to add up to, by how it was the last time */
      }
      /* the same numbers for all, who so do the same: where staleness makes it grow, it is damped */
      if (best2 >= 0 && rnorm2 > GROWN * best2 && damping > LEAST_DAMPING) {
        damping *= (BAIReal)0.8;
        best2 = rnorm2;
      }
      if (best2 < 0 || rnorm2 < best2) best2 = rnorm2;
      if (mine >= 0) xi += damping * p.omega * board.e[mine];
      if (row >= 0) BAIStore(x + row, xi);
      epoch++;
      left     = false;
      smoothed = 0;
      if (!finds) parts2 = rnorm2;
      finds = !finds && (!(rnorm2 > easy * tol2 && rnorm2 < most2) || epoch == FIRST_MEETING || epoch % ALIVE == 0);
      meets = finds;
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

      if (sweep == 1 && leaves) tile.Leave(step * d);
      y += local_omega * step;
      now  = next;
      next = swap;
      if (sweep == 1 || sweep < p.local_iters) {
        now[i] = y;
        __syncthreads();
        if (sweep == 1 && leaves) {
          tile.Publish(set, parity);
          if (i < BAI_LANES) __syncwarp();
          if (!i) meeting.left.fetch_add(1, cuda::memory_order_acq_rel);
        }
      }
    }
    left |= leaves;
    if (finds) continue;
    if (iteration < p.count) {
      xi += damping * p.omega * (y - xi);
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
  stop.result->omega      = damping * p.omega;
  stop.result->momentum   = 0;
  stop.result->mode       = stop.mode;
  stop.result->accelerate = stop.accelerate;
  stop.result->coarsen    = 0;
  stop.result->vain       = 0;
  stop.result->beta       = 0;
}

template <int LOC, int OFF, int ROWS, int BLOCKS>
const void *BAITwoLevelKernel(BAIMode mode)
{
  return mode == BAI_MODE_SYNC ? (const void *)TwoLevel<LOC, OFF, ROWS, BLOCKS> : mode == BAI_MODE_ASYNC ? (const void *)Epochs<LOC, OFF, ROWS, BLOCKS> : NULL;
}

#define INSTANTIATE(LOC, OFF, ROWS, BLOCKS) template const void *BAITwoLevelKernel<LOC, OFF, ROWS, BLOCKS>(BAIMode);
BAI_PART_OF(BAI_TWO_LEVEL_SHAPES, BAI_PART, INSTANTIATE)
