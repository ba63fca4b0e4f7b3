/*
   The kernels of a whole solve with a coarse correction, for matrices that fit the chip: each thread block keeps one
   tile, a thread a row, as in resident.cu.

   Mode sync: in a global iteration each tile finds its part of r = b - A x as a by-product of its first local sweep,
   and publishes what it adds up to on each of its aggregates, and its share of
   ||r||^2. When its other local sweeps are done it publishes what x becomes without the coarse correction. It then
   reads what all tiles have published of r, finds the correction on its own aggregates and on all that the rows belong
   to which it reads, and so the next x of these without another exchange. As ||r|| is known to all tiles, and all sum
   it in the same order, they come to the same decision by the rules of adapt.h without asking each other; it is for the
   iteration after the next.

   What is published are tagged values: see tagged.h. There are two places for each, for iterations in turn: who writes
   to one again has read what all tiles have published of r in the iteration before, which each did after it had read
   what was there.
*/
#include "control.h"
#include "row.h"
#include "tagged.h"
#include "twolevel.h"
#define BAI_ADAPT_FUNCTION static __host__ __device__ __noinline__
#include "../adapt_rules.h"
#include "shapes.h"

enum {
  LOADS_OF_ROW  = 8, /* of x, for what a row has outside the block in shared memory: it is little; */
  FEW_LOADS     = 4, /* and where registers are few */
  HALF          = BAI_LANES / 2,
  SMALL_TEAM    = 8,  /* threads that find the correction on an aggregate, where there is not a warp for each */
  ALIVE         = 64, /* epochs after which all meet in any case */
  FIRST_MEETING = 8,  /* and the first after so many: how much the parts, left while x is rough, add up to beyond ||r||
                         is not known before */
  GROWN         = 10000 /* growth of ||r||^2 that is too much */
};

#define LEAST_DAMPING BAIReal(0.4)
#define LEAST_EASY    BAIReal(1e-4)
#define MOST_EASY     BAIReal(1e6)

/* Tiles of many rows have few registers a thread */
template <int ROWS>
constexpr bool FEW_REGISTERS = ROWS > BAI_ROW_THREADS;

/* Sums of two reals over a warp: lane 0 has the first one, lane 16 the second */
static __device__ inline BAIReal WarpSums(BAIReal a, BAIReal b)
{
  const bool second = threadIdx.x & BAI_LANES / 2;
  BAIReal    value  = (second ? b : a) + __shfl_xor_sync(~0u, second ? a : b, BAI_LANES / 2);

#pragma unroll
  for (int k = BAI_LANES / 4; k; k /= 2) value += __shfl_xor_sync(~0u, value, k);
  return value;
}

/*
   Sums over each team of a warp, all of which calls it: the first thread of each has it. Of shuffles that name the
   team alone the compiler finds out at run time who is there, which takes longer than the sum
*/
template <int THREADS, typename R>
static __device__ inline R TeamSum(R value)
{
#pragma unroll
  for (int k = THREADS / 2; k; k /= 2) value += __shfl_down_sync(~0u, value, k, THREADS);
  return value;
}

#if defined(PETSC_USE_COMPLEX)
template <int THREADS, typename R>
static __device__ inline cuda::std::complex<R> TeamSum(cuda::std::complex<R> value)
{
  return cuda::std::complex<R>(TeamSum<THREADS>(value.real()), TeamSum<THREADS>(value.imag()));
}
#endif

/* The parts of an entry of r that are summed: its reals, then |r|^2 */
static __device__ inline BAIReal PartOf(BAIScalar r, int part)
{
  if (part == BAI_REALS) return BAIAbs2(r);
#if defined(PETSC_USE_COMPLEX)
  return part ? r.imag() : r.real();
#else
  return r;
#endif
}

/* What the threads of a tile share */
struct Board {
  static_assert((int)BAI_TWO_LEVEL_SLICES <= (int)HALF, "a half of a warp adds up what the warps of a tile leave");
  BAIReal   sum[BAI_REALS + 1][BAI_TWO_LEVEL_SLICES]; /* of the parts of r, by warp; */
  int       of[BAI_TWO_LEVEL_SLICES]; /* the aggregate of each warp, counted from the first of the tile, or -1; */
  unsigned  warps[BAI_TWO_LEVEL_SLICES + 1]; /* those of each aggregate, and last all; */
  int       first, seen_count;               /* that first one; and how many the tile needs to know of: */
  int       seen[BAI_TWO_LEVEL_SEEN];        /* first its own, */
  BAIScalar e[BAI_TWO_LEVEL_SEEN + 1];       /* the correction on each; then a zero, for rows that belong to none; */
  BAIReal   all2;                            /* and ||r||^2 */
};

/* What a tile has to do with the coarse space. It has no numbers of its own, as registers are few */
struct Tile {
  const BAISliced   &A;
  const BAITwoLevel &t;
  Board             &board;
  unsigned char     *work; /* room for BAITwoLevelBytes(), in shared memory: */

  __device__ Tile(const BAISliced &A, const BAITwoLevel &t, Board &board, unsigned char *work)
      : A(A), t(t), board(board), work(work)
  {
    const int tile = blockIdx.x, i = threadIdx.x, slice = tile * A.tile_slices + i / BAI_LANES, first = t.first[tile],
              seen = t.seen_count[tile];

    if (!i) {
      board.first      = first;
      board.seen_count = seen;
    }
    if (i % BAI_LANES == 0) board.of[i / BAI_LANES] = t.aggregate[slice] < 0 ? -1 : t.aggregate[slice] - first;
    for (int k = i; k < seen; k += blockDim.x) board.seen[k] = t.seen[tile * BAI_TWO_LEVEL_SEEN + k];
    __syncthreads();
    if (i <= BAI_TWO_LEVEL_SLICES) {
      unsigned which = 0;

      for (int warp = 0; warp < (int)blockDim.x / BAI_LANES; warp++)
        which |= (unsigned)(i == BAI_TWO_LEVEL_SLICES || board.of[warp] == i) << warp;
      board.warps[i] = which;
    }
    for (int k = 0; k <= seen; k++) { /* the last time the sums, which end with zeros */
      for (int j = i; j < BAIPadded(t); j += blockDim.x)
        (k < seen ? Inverse() + k * BAIPadded(t) : reinterpret_cast<BAISingle *>(Sums()))[j] = k < seen && j < t.m
          ? t.inverse[(size_t)board.seen[k] * t.m + j]
          : BAISingle(0);
    }
    __syncthreads();
  }

  /* what all have published of their sums, as exact as the inverse is, */
  __device__ float *Sums() const { return reinterpret_cast<float *>(work); }

  /* and of ||r||^2; */
  __device__ BAIReal *Share() const { return reinterpret_cast<BAIReal *>(work + BAIPadded(t) * sizeof(BAISingle)); }

  /* and the rows of that for the aggregates seen */
  __device__ BAISingle *Inverse() const { return reinterpret_cast<BAISingle *>(work + BAISumsBytes(t, A.tiles)); }

  __device__ BAIReal *Set(int which) const { return t.shares + (which & 1) * BAIShares(t, A.tiles); }

  /* Which of those seen an aggregate is */
  __device__ int Find(int aggregate) const
  {
    for (int k = 0; k < board.seen_count; k++) {
      if (board.seen[k] == aggregate) return k;
    }
    return board.seen_count;
  }

  /* That of this thread's row, or -1 */
  __device__ int Mine() const { return board.of[threadIdx.x / BAI_LANES]; }

  /* Each warp leaves its sums of r; they are seen when all have met */
  __device__ void Leave(BAIScalar r) const
  {
    const int warp = threadIdx.x / BAI_LANES, lane = threadIdx.x % BAI_LANES;

#pragma unroll
    for (int part = 0; part <= BAI_REALS; part += 2) {
      const BAIReal sum  = WarpSums(PartOf(r, part), part < BAI_REALS ? PartOf(r, part + 1) : 0);
      const int     mine = part + lane / HALF;

      if (lane % HALF == 0 && mine <= BAI_REALS) board.sum[mine][warp] = sum;
    }
  }

  /* What the tile has to publish of r: a lane for each part of each of its aggregates, and of ||r||^2 */
  __device__ void Publish(BAIReal *set, unsigned parity) const
  {
    const int warps = blockDim.x / BAI_LANES, k = threadIdx.x % HALF;

    if (threadIdx.x >= BAI_LANES) return;
#pragma unroll
    for (int part = 0; part <= BAI_REALS; part += 2) {
      const int      mine  = part + threadIdx.x / HALF;
      const bool     norm  = mine == BAI_REALS;
      const unsigned which = mine > BAI_REALS ? 0 : board.warps[norm ? (int)BAI_TWO_LEVEL_SLICES : k];
      BAIReal        sum   = 0;

#pragma unroll 4
      for (int warp = 0; warp < warps; warp++) {
        const BAIReal more = board.sum[min(mine, (int)BAI_REALS)][warp];

        if (which >> warp & 1) sum += more;
      }
      if (which && (!norm || !k))
        (void)BAIPublish(set + (norm ? BAI_REALS * t.m + (int)blockIdx.x : BAI_REALS * (board.first + k) + mine), sum,
                         parity);
    }
  }

  /* When all have published what they have in an iteration: copies it, for all threads when they have met; each has N
   * on their way at a time */
  template <int N>
  __device__ void ReadAhead(const BAISweep &p, const BAIReal *set, unsigned parity) const
  {
    const int all = BAI_REALS * t.m + A.tiles;

    for (int first = threadIdx.x; first < all; first += N * blockDim.x) {
      BAIBits bits[N];

#pragma unroll
      for (int l = 0; l < N; l++)
        bits[l] = first + l * (int)blockDim.x < all ? BAILoadBits(set + first + l * blockDim.x) : (BAIBits)parity;
      BAISpin(p.stalled, p.stalled_host, [&] {
        bool missing = false;

        __nanosleep(BAI_PAUSE);
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

        if (k < BAI_REALS * t.m) Sums()[k] = (float)BAIRealOfBits(bits[l]);
        else if (k < all) Share()[k - BAI_REALS * t.m] = BAIRealOfBits(bits[l]);
      }
    }
  }

  template <bool FEW>
  __device__ void Read(const BAISweep &p, const BAIReal *set, unsigned parity) const
  {
    if (FEW || BAI_REALS * t.m + A.tiles <= 2 * (int)blockDim.x) ReadAhead<2>(p, set, parity);
    else ReadAhead<4>(p, set, parity);
    __syncthreads();
  }

  /* The corrections on the aggregates seen, and ||r||^2, are on the board when all have met: teams find one of these
   * each, and the last warp that */
  template <int THREADS>
  __device__ void Correct() const
  {
    constexpr int PACK = THREADS < BAI_LANES ? BAI_TWO_LEVEL_PACK : 1;
    struct alignas(PACK * sizeof(BAISingle)) Pack {
      BAISingle a[PACK];
    };
    constexpr int TEAMS = BAI_LANES / THREADS, AHEAD = THREADS < BAI_LANES ? 4 : 1; /* packs on their way at a time */
    const int     warp = threadIdx.x / BAI_LANES, lane = threadIdx.x % BAI_LANES, seen = board.seen_count,
              packs = BAIPadded(t) / PACK;
    const Pack *sum = reinterpret_cast<const Pack *>(Sums());

    for (int first = warp * TEAMS; first < seen; first += blockDim.x / THREADS) { /* the same for all of a warp */
      const int   k       = first + lane / THREADS;
      const Pack *row     = reinterpret_cast<const Pack *>(Inverse()) + min(k, seen - 1) * packs;
      BAISingle   e[PACK] = {}, all = 0;

#pragma unroll AHEAD
      for (int at = lane % THREADS; at < packs; at += THREADS) {
        const Pack p = row[at], q = sum[at];

#pragma unroll
        for (int u = 0; u < PACK; u++) e[u] += p.a[u] * q.a[u];
      }
#pragma unroll
      for (int u = 0; u < PACK; u++) all += e[u];
      all = TeamSum<THREADS>(all);
      if (lane % THREADS == 0 && k < seen) board.e[k] = BAIScalar(all);
    }
    if (warp == (int)blockDim.x / BAI_LANES - 1) {
      BAIReal norm2 = 0;

#pragma unroll AHEAD
      for (int at = lane; at < A.tiles; at += BAI_LANES) norm2 += Share()[at];
      norm2 = TeamSum<BAI_LANES>(norm2);
      if (!lane) board.all2 = norm2;
    }
    __syncthreads();
  }
};

/* What the compiler makes of a number it is not to keep from iteration to iteration: registers are few */
static __device__ inline void Forget(unsigned &number)
{
  asm volatile("" : "+r"(number));
}

/* A column outside the block, and which of the aggregates seen it belongs to, in one number */
struct Column {
  enum : unsigned {
    NONE = BAI_TWO_LEVEL_COLUMNS - 1 /* no entry */
  };
  unsigned both;

  __device__ int  Row() const { return both % BAI_TWO_LEVEL_COLUMNS; }
  __device__ int  Seen() const { return both / BAI_TWO_LEVEL_COLUMNS; }
  __device__ bool There() const { return both != NONE; }
};

/* Entry w outside the block of a lane's row, and its column */
static __device__ inline Column LoadOther(const BAISliced &A, const Tile &tile, const BAISlice &S, int w, int lane,
                                          int row, BAIScalar dinv, BAIScalar *a)
{
  *a = w < (int)S.off_width ? static_cast<const BAIScalar *>(A.off_a)[S.off + lane + w * BAI_LANES] * dinv
                            : BAIScalar(0);
  if (*a == BAIScalar(0)) return Column{Column::NONE};
  const unsigned col = (unsigned)BAIColumn(A, S.by_delta, row, *BAIColumnAt(A, S, w, lane));

  return Column{(unsigned)tile.Find(tile.t.of_row[col]) * BAI_TWO_LEVEL_COLUMNS + col};
}

/* What a row has outside its block: in registers, */
template <int OFF, int LOADS>
struct Others {
  BAIScalar      a[OFF];
  Column         col[OFF];
  BAITagged<OFF> value;

  __device__ Others(const BAISliced &A, const Tile &tile, int slice, int lane, int row, BAIScalar dinv, unsigned char *)
  {
#pragma unroll
    for (int w = 0; w < OFF; w++) col[w] = LoadOther(A, tile, A.slice[slice], w, lane, row, dinv, a + w);
  }

  /* Sends for the values there, */
  __device__ void Ask(const BAIReal *x, unsigned parity)
  {
#pragma unroll
    for (int w = 0; w < OFF; w++) value.Ask(w, col[w].There() ? x : NULL, col[w].Row(), parity);
  }

  /* and subtracts from b what they add up to; the correction on them is still to come */
  __device__ BAIScalar Subtract(const BAISweep &p, BAIScalar b, const BAIReal *x, unsigned parity, const BAIScalar *e,
                                BAIReal omega)
  {
    BAIScalar half = 0;

    value.Await(p, parity, [&](int w, const BAIReal **base, int *k) {
      *base = x;
      *k    = col[w].Row();
    });
#pragma unroll
    for (int w = 0; w < OFF; w += 2) {
      b -= a[w] * (value[w] + omega * e[col[w].Seen()]);
      half -= a[w + 1] * (value[w + 1] + omega * e[col[w + 1].Seen()]);
    }
    return b + half;
  }
};

/* or in shared memory, of each row in a column of its own; so many of the values are on their way at a time. They are
 * asked for when they are there: to ask again costs more */
template <int LOADS>
struct Others<0, LOADS> {
  const BAISliced &A;
  unsigned char   *shared;
  unsigned         i; /* threadIdx.x */

  __device__ BAIScalar &Entry(int w) const { return reinterpret_cast<BAIScalar *>(shared)[w * blockDim.x + i]; }
  __device__ Column    &At(int w) const
  {
    return reinterpret_cast<Column *>(shared +
                                      (size_t)A.off_width * blockDim.x * sizeof(BAIScalar))[w * blockDim.x + i];
  }

  __device__ Others(const BAISliced &A, const Tile &tile, int slice, int lane, int row, BAIScalar dinv,
                    unsigned char *shared)
      : A(A), shared(shared), i(threadIdx.x)
  {
    for (int w = 0; w < A.off_width; w++) {
      BAIScalar a;

      At(w)    = LoadOther(A, tile, A.slice[slice], w, lane, row, dinv, &a);
      Entry(w) = a;
    }
  }

  __device__ void Ask(const BAIReal *, unsigned) {}

  __device__ BAIScalar Subtract(const BAISweep &p, BAIScalar b, const BAIReal *x, unsigned parity, const BAIScalar *e,
                                BAIReal omega)
  {
    Forget(i);
    for (int w = 0; w < A.off_width; w += LOADS) {
      BAITagged<LOADS> value;

#pragma unroll
      for (int v = 0; v < LOADS; v++) {
        const Column col = w + v < A.off_width ? At(w + v) : Column{Column::NONE};

        value.Ask(v, col.There() ? x : NULL, col.Row(), parity);
      }
      value.Await(p, parity, [&](int v, const BAIReal **base, int *k) {
        *base = x;
        *k    = At(w + v).Row();
      });
#pragma unroll
      for (int v = 0; v < LOADS; v++) {
        if (w + v < A.off_width) b -= Entry(w + v) * (value[v] + omega * e[At(w + v).Seen()]);
      }
    }
    return b;
  }
};

static __device__ inline BAIGoal GoalOf(const BAISweep &p, const BAIStop &stop, int rows, BAIReal bnorm2)
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
  goal.rows        = rows;
  goal.beta        = stop.beta;
  goal.bears       = stop.bears;
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
  constexpr bool    FEW = FEW_REGISTERS<ROWS>;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Board                              board;
  __shared__ BAIAdapt                           adapt;
  __shared__ BAIDecision                        decision;
  __shared__ int                                given_up;
  __shared__ BAIReal                            tol2, most2, bnorm2, omega, momentum;
  BAIScalar                                    *now = reinterpret_cast<BAIScalar *>(shared), *next = now + blockDim.x;
  BAIScalar                                    *d = next + blockDim.x, *b = d + blockDim.x, *before = b + blockDim.x,
            *kept     = before + blockDim.x; /* a thread's own */
  unsigned char *work = reinterpret_cast<unsigned char *>(kept + blockDim.x);
  const int      i = threadIdx.x, place = blockIdx.x * A.tile_rows + i, row = BAIRowAt(A, blockIdx.x, i),
            slice = blockIdx.x * A.tile_slices + i / BAI_LANES;
  const Tile      tile(A, t, board, work);
  const BAIScalar dinv        = row >= 0 ? static_cast<const BAIScalar *>(A.dinv)[place] : BAIScalar(0);
  const BAIReal   local_omega = row >= 0 ? BAILocalOmegaAt(A, p, place) : p.local_omega;
  Others<OFF, FEW ? FEW_LOADS : LOADS_OF_ROW> others(A, tile, slice, i % BAI_LANES, row, dinv,
                                                     work + BAITwoLevelBytes(t, A.tiles));
  BAIScalar                                   xi, s;
  int                                         iteration = 0, until = 0;
  bool back = false; /* in this iteration x only goes back to that which was kept */

  for (int k = i; k <= board.seen_count; k += blockDim.x) board.e[k] = 0;
  xi        = row >= 0 ? BAIPublishScalar(t.x, row, BAILoad(BAIIterateOf(p, 0) + row), 0) : BAIScalar(0);
  d[i]      = row >= 0 ? A.d[place] : BAIScalar(0);
  b[i]      = row >= 0 ? static_cast<const BAIScalar *>(p.b)[row] * dinv : BAIScalar(0);
  before[i] = kept[i] = xi;
  if (!i) {
    const BAIGoal goal = GoalOf(p, stop, A.n, 0);

    decision = BAIAdaptStart(&adapt, &goal, stop.mode, 0, 1); /* how it is to begin; the norm is known later */
    tol2     = 0;
    most2    = 0;
    bnorm2   = stop.bnorm2;
    omega    = p.omega * (BAIReal)decision.omega;
    momentum = (BAIReal)decision.momentum;
  }
  __syncthreads();
  others.Ask(t.x, 0);
  s = others.Subtract(p, b[i], t.x, 0, board.e, 0);
  for (;;) {
    RowInside<LOC> r; /* loaded anew after each look: the compiler is not to keep it through what is called there, for
                         which it would take registers from the iterations */
    bool           looks;

    r.Load(A, A.slice[slice], static_cast<const BAIScalar *>(p.b), i % BAI_LANES, row, place,
           row >= 0 ? static_cast<const BAIScalar *>(A.dinv)[place] : BAIScalar(0));
    do {
      const unsigned parity = iteration >> 1 & 1, parity_x = (iteration + 1) >> 1 & 1;
      BAIReal       *set = tile.Set(iteration), *x = t.x + ((iteration + 1) & 1) * t.reals_x;
      BAIScalar      y = xi, to;

      now[i] = y;
      __syncthreads();
      for (unsigned &j : r.j) Forget(j);
      BAIScalar step = r.Inside(s - y, now);

      tile.Leave(step * d[i]);
      y += local_omega * step;
      next[i] = y;
      __syncthreads();
      tile.Publish(set, parity);
      for (BAIInt sweep = 2; sweep <= p.local_iters; sweep++) {
        BAIScalar *swap = now;

        now  = next;
        next = swap;
        for (unsigned &j : r.j) Forget(j);
        step = r.Inside(s - y, now);
        y += local_omega * step;
        if (sweep < p.local_iters) {
          next[i] = y;
          __syncthreads();
        }
      }
      to = back ? kept[i] : xi + omega * (y - xi) + momentum * (xi - before[i]);
      if (row >= 0) to = BAIPublishScalar(x, row, to, parity_x);
      tile.template Read<FEW>(p, set, parity);
      others.Ask(x, parity_x);
      tile.template Correct<FEW ? BAI_LANES : SMALL_TEAM>();
      looks     = !back && (iteration >= until || !(board.all2 > tol2 && board.all2 < most2)); /* all tiles, or none */
      before[i] = back ? to : xi;
      xi        = back || tile.Mine() < 0 ? to : to + omega * board.e[tile.Mine()];
      s         = others.Subtract(p, b[i], x, parity_x, board.e, back ? 0 : omega);
      back      = false;
      iteration++;
    } while (!looks);
    __syncthreads(); /* before what they went by changes */
    if (!i) {
      if (iteration == 1) {
        if (bnorm2 < 0) bnorm2 = board.all2;
        const BAIGoal goal = GoalOf(p, stop, A.n, bnorm2);

        decision = BAIAdaptStart(&adapt, &goal, stop.mode, 0, (double)board.all2);
      } else decision = BAIAdaptLook(&adapt, iteration - 1, (double)board.all2);
      given_up = HasStalled(p);
      tol2     = (BAIReal)adapt.goal.tol2;
      most2    = (BAIReal)adapt.goal.most2;
      omega    = p.omega * (BAIReal)decision.omega;
      momentum = (BAIReal)decision.momentum;
    }
    __syncthreads();
    until = decision.until;
    back  = decision.x == BAI_X_BACK;
    if (decision.x == BAI_X_KEEP) kept[i] = before[i]; /* of which ||r|| is */
    if (decision.stop || decision.stalls || decision.vain || given_up) break;
    if (decision.rest) before[i] = xi;
  }
  if (row >= 0) BAIStore(BAIIterateOf(p, 0) + row, back ? kept[i] : before[i]);
  if (blockIdx.x || i || given_up) return;
  stop.result->rnorm2     = back ? (BAIReal)adapt.best2 : board.all2;
  stop.result->stalls     = decision.stalls;
  stop.result->bnorm2     = bnorm2;
  stop.result->its        = iteration - 1;
  stop.result->omega      = omega;
  stop.result->momentum   = momentum;
  stop.result->mode       = decision.vain ? decision.mode : stop.mode;
  stop.result->accelerate = stop.accelerate;
  stop.result->coarsen    = 0;
  stop.result->vain       = decision.vain;
  stop.result->top        = (BAIReal)adapt.goal.top;
  stop.result->beta       = (BAIReal)adapt.beta;
  stop.result->bears      = (BAIReal)BAIAdaptBears(&adapt);
}

/* What thread blocks share that do not wait for each other */
struct Meeting {
  cuda::atomic_ref<int, cuda::thread_scope_device> left, came,
    its; /* parts left for corrections, in all; thread blocks that have come to meetings, in all; the most iterations of
            any */

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
    cuda::atomic_ref<int, cuda::thread_scope_system>(*p.stalled_host)
      .store(BAI_ERR_STALLED, cuda::memory_order_relaxed);
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
   Mode async: no tile waits for a correction. It leaves its part for the next one as soon as all that it reads from
   have taken the last one, and takes that one when all parts are there; in between it goes on with its iterations.
   When the parts left of ||r||^2, which are of different times, add up to little enough, all meet and find what it is
*/
template <int LOC, int OFF, int ROWS, int BLOCKS>
static __global__ void __launch_bounds__(ROWS, BLOCKS) Epochs(BAISliced A, BAISweep p, BAIStop stop, BAITwoLevel t)
{
  constexpr bool    FEW = FEW_REGISTERS<ROWS>;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Board                              board;
  __shared__ int                                most, given_up;
  BAIScalar                                    *now = reinterpret_cast<BAIScalar *>(shared), *next = now + blockDim.x;
  unsigned char                                *work = reinterpret_cast<unsigned char *>(next + blockDim.x);
  const int       i = threadIdx.x, place = blockIdx.x * A.tile_rows + i, row = BAIRowAt(A, blockIdx.x, i);
  const int       first = p.neighbors.first[blockIdx.x], last = p.neighbors.first[blockIdx.x + 1];
  const Tile      tile(A, t, board, work);
  const int       mine        = tile.Mine();
  const BAIScalar d           = row >= 0 ? A.d[place] : BAIScalar(0);
  const BAIReal   local_omega = row >= 0 ? BAILocalOmegaAt(A, p, place) : p.local_omega;
  BAIScalar      *x           = BAIIterateOf(p, 0);
  Meeting         meeting(*stop.control);
  Row<LOC, OFF, BAI_OWN, LOADS_OF_ROW> r;
  BAIScalar                            xi;
  BAIReal rnorm2, bnorm2 = stop.bnorm2, tol2 = 0, most2 = 0, easy = 1, parts2 = -1, best2 = -1, damping = 1;
  int     iteration = 0, epoch = 0, met = 0, passes = 0, smoothed = 0;
  bool    left = false, meets = true,
       finds = true; /* meets: all are to meet; finds: they have, or will, and nobody moves x until ||r|| is found */

  r.Load(A, static_cast<const BAIScalar *>(p.b), blockIdx.x * A.tile_slices + i / BAI_LANES, i % BAI_LANES, row, place,
         BAIRowAt(A, blockIdx.x, 0), work + BAITwoLevelBytes(t, A.tiles));
  xi = row >= 0 ? BAILoad(x + row) : BAIScalar(0);
  for (;;) {
    const unsigned parity = epoch >> 1 & 1;
    BAIReal       *set    = tile.Set(epoch);

    if (meets) {
      if (!i) meeting.its.fetch_max(iteration, cuda::memory_order_relaxed);
      Meet(p, meeting, A.tiles * ++met);
      meets = false;
    }
    bool leaves = !left && (finds || smoothed >= BAI_SMOOTHED), there = false;

    if (left)
      there = __syncthreads_or(
        !i && (meeting.left.load(cuda::memory_order_acquire) >= A.tiles * (epoch + 1) || GivesUp(p, ++passes)));
    else if (leaves && !finds) {
      for (int k = first + i; leaves && k < last; k += blockDim.x)
        leaves = cuda::atomic_ref<int, cuda::thread_scope_device>(p.done[p.neighbors.tile[k] >> 1])
                   .load(cuda::memory_order_acquire) -
            p.done_before >=
          epoch;
      leaves = __syncthreads_and(leaves);
    }
    if (there) {
      passes = 0;
      tile.template Read<FEW>(p, set, parity);
      tile.template Correct<FEW ? BAI_LANES : SMALL_TEAM>();
      rnorm2 = board.all2;
      if (finds) { /* all have this number */
        if (bnorm2 < 0) bnorm2 = rnorm2;
        tol2  = max(stop.rtol * stop.rtol * bnorm2, stop.abstol * stop.abstol);
        most2 = stop.dtol * stop.dtol * bnorm2;
        if (!i) most = meeting.its.load(cuda::memory_order_relaxed);
        if (!i) given_up = HasStalled(p);
        __syncthreads();
        if (!(rnorm2 > tol2 && rnorm2 < most2) || most >= p.count || given_up) break;
        if (parts2 > 0)
          easy = min(max(BAIReal(0.5) * parts2 / rnorm2, LEAST_EASY),
                     MOST_EASY); /* what the parts are to add up to, by how it was the last time */
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
  stop.result->top        = 0;
  stop.result->beta       = 0;
  stop.result->bears      = 0;
}

template <int LOC, int OFF, int ROWS, int BLOCKS>
const void *BAITwoLevelKernel(BAIMode mode)
{
  return mode == BAI_MODE_SYNC ? (const void *)TwoLevel<LOC, OFF, ROWS, BLOCKS>
    : mode == BAI_MODE_ASYNC   ? (const void *)Epochs<LOC, OFF, ROWS, BLOCKS>
                               : NULL;
}

#define INSTANTIATE(LOC, OFF, ROWS, BLOCKS) template const void *BAITwoLevelKernel<LOC, OFF, ROWS, BLOCKS>(BAIMode);
BAI_PART_OF(BAI_TWO_LEVEL_SHAPES, BAI_PART, INSTANTIATE)
