/*
   The cycle of many levels on a device. What it computes is in host/cycle.c

   A visit is one kernel: a thread a row, a thread block a block. It reads the matrix once, keeps what is inside the
   block in registers for the local sweeps, and leaves what the residual inside the block adds up to on each
   aggregate. The first visit of the next level takes off what is outside blocks, for which all blocks must have their
   new x. The last visit of a level adds x to that of the level above. Kernels fetch what never changes while the one
   before them still runs.

   Small levels are gone through in one launch, by a cluster of thread blocks that meet between steps; on devices
   without clusters by one thread block.
*/
#include "levels.h"
#include <cooperative_groups.h>
#include <cub/util_ptx.cuh>

enum {
  PAIRS_FEW    = 3,  /* pairs of entries inside the block that a thread keeps, */
  PAIRS_MORE   = 4,  /* or so many; what a row has beyond is read again in each sweep */
  CHILDREN     = 8,  /* rows of an aggregate whose x is fetched at once */
  FETCH        = 2,  /* entries outside blocks that a thread fetches at once, */
  MANY         = 10, /* and of the level above, */
  MODES        = -1, /* or that level has its own kernel for that, and there are modes, */
  SOME         = 4,  /* also in the tail, whose teams have room for so many */
  LONG_ROW     = 16, /* entries outside blocks: with more, several threads add up a row's */
  LONG_TEAM    = 8,  /* so many */
  OFF_THREADS  = 256,
  TAIL_THREADS = 512,
  TAIL_BLOCKS  = 8, /* of the cluster */
  TAIL_LEVELS  = 8  /* at most */
};

/* Of the level above, which has been visited: its entries outside blocks, and its x */
template <typename T>
struct FinerLevel {
  const int *child, *out_first, *out_j; /* child NULL: nothing is to be taken off */
  const T   *out_a, *x;
  bool       has_long; /* its rows have many such entries */
  int        modes;    /* as in BAILevelView */
  const T   *P;
};

/* What a visit is to do */
template <typename T>
struct VisitHow {
  FinerLevel<T>    finer; /* of a first visit: what is still to be taken off b */
  int              from_zero, sweeps;
  int              restricts; /* leave the residual on aggregates in b of the next level */
  T               *above;     /* x of the level above, to which this x is added on its aggregates; NULL: it is not */
  const int       *above_child;
  const BAIScalar *r; /* finest level: b is this, times factors[0], in the order of row; it is stored as well */
  BAIScalar       *z; /* and x goes here, times factors[1] */
  const int       *row;
  const BAIReal   *factors;
};

/* Shared memory of a visit */
template <typename T>
struct VisitRoom {
  T x[2][BAI_LEVELS_BLOCK];
  T product[FETCH * (int)BAI_LEVELS_BLOCK];
};

/* The next kernel may begin, and fetch what nobody changes */
static __device__ __forceinline__ void Trigger()
{
  NV_IF_TARGET(NV_PROVIDES_SM_90, (cudaTriggerProgrammaticLaunchCompletion();));
}

/* All threads of a thread block, or of a part of it that does a block of its own */
template <bool WHOLE>
static __device__ __forceinline__ void Meet(int team)
{
  if (WHOLE) __syncthreads();
  else asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "r"((int)BAI_LEVELS_BLOCK) : "memory");
}

/*
   Entries outside the block, which follow each other for its rows. The first are fetched at once, before it is known
   whether x is there
*/
template <typename T>
struct OutsideOfBlock {
  int begin, end, mine, mine_end; /* of the block, of this row */
  int col[FETCH];
  T   value[FETCH];

  __device__ __forceinline__ OutsideOfBlock(const BAILevelView<T> &L, int first, int size, int t, bool wanted)
  {
    begin = end = mine = mine_end = 0;
    if (wanted) {
      begin    = L.out_first[first];
      end      = L.out_first[first + size];
      mine     = t < size ? L.out_first[first + t] : end;
      mine_end = t < size ? L.out_first[first + t + 1] : end;
    }
#pragma unroll
    for (int k = 0; k < FETCH; k++) {
      const int e = begin + k * BAI_LEVELS_BLOCK + t;

      col[k]   = e < end ? L.out_j[e] : 0;
      value[k] = e < end ? L.out_a[e] : T(0);
    }
  }

  /* The sum of products of this row's entries with x; called by all threads of the block */
  template <bool WHOLE>
  __device__ __forceinline__ T Sum(const BAILevelView<T> &L, const T *x, int t, int team, T *product)
  {
    T sum = T(0);

    for (int at = begin; at < end; at += FETCH * BAI_LEVELS_BLOCK) {
      if (at > begin) Meet<WHOLE>(team);
#pragma unroll
      for (int k = 0; k < FETCH; k++) {
        const int e = at + k * BAI_LEVELS_BLOCK + t;

        if (at > begin) {
          col[k]   = e < end ? L.out_j[e] : 0;
          value[k] = e < end ? L.out_a[e] : T(0);
        }
        product[k * BAI_LEVELS_BLOCK + t] = value[k] * x[col[k]];
      }
      Meet<WHOLE>(team);
      for (int k = mine > at ? mine - at : 0; k < mine_end - at && k < FETCH * BAI_LEVELS_BLOCK; k++) sum += product[k];
    }
    return sum;
  }
};

/* What so many lanes, a power of two, have in all; the first of them gets it */
template <int LANES, typename T>
static __device__ __forceinline__ T SumOfLanes(T sum)
{
#pragma unroll
  for (int k = LANES / 2; k; k /= 2) sum += cub::ShuffleDown<LANES>(sum, k, LANES - 1, ~0u);
  return sum;
}

/* The sum of products of entries from first to end with x, every step-th */
template <typename T>
static __device__ __forceinline__ T SumOfProducts(const int *col, const T *value, const T *x, int first, int end,
                                                  int step)
{
  T sum = T(0);

#pragma unroll 4
  for (int e = first; e < end; e += step) sum += value[e] * x[col[e]];
  return sum;
}

/* As OutsideOfBlock::Sum(), for long rows: several threads a row */
template <bool WHOLE, typename T>
static __device__ __forceinline__ T SumLongRows(const BAILevelView<T> &L, int first, int size, int t, int team, T *sums)
{
  for (int begin = 0; begin < BAI_LEVELS_BLOCK; begin += BAI_LEVELS_BLOCK / LONG_TEAM) {
    const int row = begin + t / LONG_TEAM, at = row < size ? L.out_first[first + row] : 0,
              end = row < size ? L.out_first[first + row + 1] : 0;
    const T sum   = SumOfLanes<LONG_TEAM>(SumOfProducts(L.out_j, L.out_a, L.x, at + t % LONG_TEAM, end, LONG_TEAM));

    if (t % LONG_TEAM == 0) sums[row] = sum;
  }
  Meet<WHOLE>(team);
  const T sum = sums[t];

  Meet<WHOLE>(team);
  return sum;
}

#if defined(PETSC_USE_COMPLEX)
template <typename T>
static __device__ __forceinline__ T Conj(T a)
{
  return T(a.real(), -a.imag());
}
#else
template <typename T>
static __device__ __forceinline__ T Conj(T a)
{
  return a;
}
#endif

/* x of the level above, on the rows of an aggregate; those of a few are fetched before the first is written */
template <typename T>
static __device__ __forceinline__ void AddAbove(T *above, int begin, int end, T x)
{
  T old[CHILDREN];

  for (; begin < end; begin += CHILDREN) {
#pragma unroll
    for (int k = 0; k < CHILDREN; k++)
      if (begin + k < end) old[k] = above[begin + k];
#pragma unroll
    for (int k = 0; k < CHILDREN; k++)
      if (begin + k < end) above[begin + k] = old[k] + x;
  }
}

/* A row's entries inside its block, in pairs: the first are in registers */
template <typename T, int PAIRS>
struct InsideOfRow {
  const BAIPair<T>     *a;
  const unsigned short *j;
  int                   pairs; /* of the slice */
  T                     value[2 * PAIRS];
  int                   col[2 * PAIRS];

  __device__ __forceinline__ InsideOfRow(const BAILevelView<T> &L, int slice, int t)
  {
    const int       column = L.pairs ? slice * L.pairs : L.slice[slice];
    const long long at     = (long long)column * BAI_TEAM + t % BAI_TEAM;

    pairs = L.pairs ? L.pairs : L.slice[slice + 1] - column;
    a     = L.in_a + at;
    j     = L.in_j + at;
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
      BAIPair<T>     v = {T(0), T(0)};
      unsigned short c = 0;

      if (k < pairs) {
        v = a[k * BAI_TEAM];
        c = j[k * BAI_TEAM];
      }
      value[2 * k]     = v.first;
      value[2 * k + 1] = v.second;
      col[2 * k]       = c & 255;
      col[2 * k + 1]   = c >> 8;
    }
  }

  /* r less the products with x of the block */
  __device__ __forceinline__ T Rest(T r, const T *x) const
  {
#pragma unroll
    for (int k = 0; k < 2 * PAIRS; k++) r -= value[k] * x[col[k]];
    for (int k = PAIRS; k < pairs; k++) {
      const BAIPair<T>     v = a[k * BAI_TEAM];
      const unsigned short c = j[k * BAI_TEAM];

      r -= v.first * x[c & 255];
      r -= v.second * x[c >> 8];
    }
    return r;
  }
};

/*
   What is outside blocks in the residuals of the level above, for aggregates that follow each other from c on: a thread
   an aggregate, the threads of a block in all. The first entries are fetched before the kernel before has ended
*/
template <typename T, bool WHOLE, int PRODUCTS>
static __device__ __forceinline__ T OutsideOfAggregates(const FinerLevel<T> &F, int c, int count, int t, int team,
                                                        T *product, bool follow)
{
  const int begin = F.out_first[F.child[c]], end = F.out_first[F.child[c + count]];
  const int mine     = t < count ? F.out_first[F.child[c + t]] : end;
  const int mine_end = t < count ? F.out_first[F.child[c + t + 1]] : end;
  int       col[PRODUCTS];
  T         sum = T(0), value[PRODUCTS];

  for (int at = begin; at < end || at == begin; at += PRODUCTS * BAI_LEVELS_BLOCK) {
    if (at > begin) Meet<WHOLE>(team);
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) {
      const int e = at + k * BAI_LEVELS_BLOCK + t;

      col[k]   = e < end ? F.out_j[e] : 0;
      value[k] = e < end ? F.out_a[e] : T(0);
    }
    if (at == begin && follow) BAIFollow();
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) product[k * BAI_LEVELS_BLOCK + t] = value[k] * F.x[col[k]];
    Meet<WHOLE>(team);
    for (int k = mine > at ? mine - at : 0; k < mine_end - at && k < PRODUCTS * BAI_LEVELS_BLOCK; k++)
      sum += product[k];
  }
  Meet<WHOLE>(team);
  return sum;
}

/* One block: x = S b, or x + S (b - A x) */
template <typename T, bool WHOLE, int PAIRS, int PRODUCTS>
static __device__ __forceinline__ void VisitBlock(const BAILevelView<T> &L, const VisitHow<T> &how, T *below, int block,
                                                  int t, int team, VisitRoom<T> &room, bool follow, const int *done)
{
  const int                   first = L.full ? block * BAI_LEVELS_BLOCK : L.first[block];
  const int                   size = L.full ? BAI_LEVELS_BLOCK : L.first[block + 1] - first, p = first + t;
  const bool                  mine = t < size;
  const InsideOfRow<T, PAIRS> inside(L, block * BAI_TEAMS + t / BAI_TEAM, t);
  OutsideOfBlock<T>           outside(L, first, size, t, !how.from_zero);
  T                           d = T(0), dinv = T(0), extra = T(0), b = T(0), g, x = T(0);
  int                         row = 0, aggregate = 0, child = 0, child_end = 0, above = 0, above_end = 0;

  if (how.restricts && L.aggregate[block] + t < L.aggregate[block + 1]) {
    aggregate = L.aggregate[block] + t;
    child     = L.child[aggregate] - first;
    child_end = L.child[aggregate + 1] - first;
  }
  if (mine) {
    if (how.above) {
      above     = how.above_child[p];
      above_end = how.above_child[p + 1];
    }
    d    = L.d[p];
    dinv = L.dinv[p];
    if (L.extra) extra = L.extra[p];
    if (how.row) row = how.row[p];
  }
  T finer = T(0);

  if constexpr (PRODUCTS > 0) {
    if (how.finer.child)
      finer = OutsideOfAggregates<T, WHOLE, PRODUCTS>(how.finer, first, size, t, team, reinterpret_cast<T *>(&room),
                                                      follow);
  } else if (follow) BAIFollow();
  if (follow && done && *done) return;
  if (mine && how.r) {
    b      = T(how.r[row] * how.factors[0]);
    L.b[p] = b;
  } else if (mine) b = L.b[p];
  if (PRODUCTS > 0 && mine) {
    b -= finer;
    L.b[p] = b;
  }
  g = b;
  if (!how.from_zero) {
    if (mine) x = L.x[p];
    g += extra * x;
    if (PAIRS == PAIRS_MORE && PRODUCTS <= 0 && L.has_long)
      g -= SumLongRows<WHOLE>(L, first, size, t, team, room.product);
    else g -= outside.template Sum<WHOLE>(L, L.x, t, team, room.product);
  } else x = dinv * g;
  d += extra;

  const int from  = how.from_zero ? 1 : 0;
  int       sweep = from;

  for (; sweep + 1 < how.sweeps; sweep += 2) { /* by twos, so that the buffers are known */
    room.x[0][t] = x;
    Meet<WHOLE>(team);
    x += dinv * inside.Rest(g - d * x, room.x[0]);
    room.x[1][t] = x;
    Meet<WHOLE>(team);
    x += dinv * inside.Rest(g - d * x, room.x[1]);
  }
  if (sweep < how.sweeps) {
    room.x[0][t] = x;
    Meet<WHOLE>(team);
    x += dinv * inside.Rest(g - d * x, room.x[0]);
  }
  if (mine) {
    if (how.z) how.z[row] = BAIScalar(x) * how.factors[1];
    else L.y[p] = x;
    if (how.above) AddAbove(how.above, above, above_end, x);
  }
  if (!how.restricts) return;
  Meet<WHOLE>(team); /* buffer 0 may still be read */
  room.x[0][t] = x;
  Meet<WHOLE>(team);
  room.x[1][t] = inside.Rest(b - (d - extra) * x, room.x[0]);
  Meet<WHOLE>(team);
  if constexpr (PRODUCTS == MODES) {
    const int aggregates = L.aggregate[block], count = (L.aggregate[block + 1] - aggregates) * L.modes;

    for (int i = t; i < count; i += BAI_LEVELS_BLOCK) {
      const int c = aggregates + i / L.modes, k = i % L.modes;
      T         sum = T(0);

      for (int q = L.child[c]; q < L.child[c + 1]; q++)
        sum += Conj(L.P[(long long)q * L.modes + k]) * room.x[1][q - first];
      below[(long long)c * L.modes + k] = sum;
    }
    return;
  }
  if (child == child_end) return;
  T sum = T(0);

  for (int k = child; k < child_end; k++) sum += room.x[1][k];
  below[aggregate] = sum;
}

/* Thread blocks that a multiprocessor is to have room for */
static constexpr int LeastBlocks(size_t size, int pairs, int products)
{
  return size > sizeof(float) ? 6 : pairs == PAIRS_FEW && products == 0 ? 10 : 8;
}

template <typename T, int PAIRS, int PRODUCTS>
static __global__ __launch_bounds__(BAI_LEVELS_BLOCK,
                                    LeastBlocks(sizeof(T), PAIRS, PRODUCTS)) void Visit(BAILevelView<T> L,
                                                                                        VisitHow<T> how, T *below,
                                                                                        const int *done)
{
  constexpr size_t products = (PRODUCTS > 0 ? PRODUCTS : 0) * BAI_LEVELS_BLOCK * sizeof(T);
  __shared__ __align__(16) unsigned char room[products > sizeof(VisitRoom<T>) ? products : sizeof(VisitRoom<T>)];

  Trigger();
  VisitBlock<T, true, PAIRS, PRODUCTS>(L, how, below, (int)blockIdx.x, (int)threadIdx.x, 0,
                                       *reinterpret_cast<VisitRoom<T> *>(room), true, done);
}

/* What is outside blocks in the residuals of the level above is taken off b of m aggregates, for long rows: a warp an
 * aggregate */
template <typename T>
static __device__ __forceinline__ void TakeOff(const FinerLevel<T> &F, int m, T *b, int warp, int warps)
{
  const int lane = (int)threadIdx.x % BAI_TEAM;

  for (int c = warp; c < m; c += warps) {
    const T sum = SumOfLanes<BAI_TEAM>(
      SumOfProducts(F.out_j, F.out_a, F.x, F.out_first[F.child[c]] + lane, F.out_first[F.child[c + 1]], BAI_TEAM));

    if (!lane) b[c] -= sum;
  }
}

/* The same with modes: what a row of the level above has outside its block goes to all of them. A thread block an
 * aggregate, as one of the coarse levels has many rows */
template <typename T>
static __device__ __forceinline__ void TakeOffModes(const FinerLevel<T> &F, T *b)
{
  constexpr int WARPS_OFF = OFF_THREADS / BAI_TEAM;
  __shared__ __align__(16) unsigned char shared[WARPS_OFF * BAI_LEVELS_MODES * sizeof(T)];
  T *const  parts = reinterpret_cast<T *>(shared); /* as bytes, as complex numbers have constructors */
  const int lane = (int)threadIdx.x % BAI_TEAM, warp = (int)threadIdx.x / BAI_TEAM, c = (int)blockIdx.x;
  T         sum[BAI_LEVELS_MODES];

#pragma unroll
  for (int k = 0; k < BAI_LEVELS_MODES; k++) sum[k] = T(0);
  for (int p = F.child[c] + warp; p < F.child[c + 1]; p += WARPS_OFF) {
    const T part = SumOfProducts(F.out_j, F.out_a, F.x, F.out_first[p] + lane, F.out_first[p + 1], BAI_TEAM);

#pragma unroll
    for (int k = 0; k < BAI_LEVELS_MODES; k++)
      if (k < F.modes) sum[k] += Conj(F.P[(long long)p * F.modes + k]) * part;
  }
#pragma unroll
  for (int k = 0; k < BAI_LEVELS_MODES; k++) {
    const T all = SumOfLanes<BAI_TEAM>(sum[k]);

    if (!lane) parts[warp * BAI_LEVELS_MODES + k] = all;
  }
  __syncthreads();
  if ((int)threadIdx.x >= F.modes) return;
  T all = T(0);

  for (int w = 0; w < WARPS_OFF; w++) all += parts[w * BAI_LEVELS_MODES + (int)threadIdx.x];
  b[(long long)c * F.modes + (int)threadIdx.x] -= all;
}

template <typename T>
static __global__ __launch_bounds__(OFF_THREADS) void OffAggregates(FinerLevel<T> finer, int m, T *b, const int *done)
{
  Trigger();
  BAIFollow();
  if (done && *done) return;
  const int warp  = (int)(blockIdx.x * OFF_THREADS + threadIdx.x) / BAI_TEAM,
            warps = (int)gridDim.x * (OFF_THREADS / BAI_TEAM);

  if (finer.modes) TakeOffModes(finer, b);
  else TakeOff(finer, m, b, warp, warps);
}

/* x of the level above and over times P e, with modes; e is x of this level. parent: the aggregate of each place, or
   -1 */
template <typename T>
static __global__ __launch_bounds__(OFF_THREADS) void AddModes(int n, int modes, const int *parent, const T *P, T over,
                                                               const T *e, T *x, const int *done)
{
  const int p = (int)(blockIdx.x * OFF_THREADS + threadIdx.x), c = p < n ? parent[p] : -1;
  T         sum = T(0);

  Trigger();
  BAIFollow();
  if (c < 0 || (done && *done)) return;
  for (int k = 0; k < modes; k++) sum += P[(long long)p * modes + k] * e[(long long)c * modes + k];
  x[p] += over * sum;
}

/* All threads of the cluster, or of the only thread block */
static __device__ __forceinline__ void Everyone()
{
  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (cooperative_groups::this_cluster().sync();), (__syncthreads();));
}

/* Row i of A^{-1} b on the last level; a warp a row, all of whose lanes get it */
template <typename T>
static __device__ inline T ExactRow(int m, const T *inverse, const T *b, int i)
{
  T sum = T(0);

  for (int j = (int)threadIdx.x % BAI_TEAM; j < m; j += BAI_TEAM) sum += inverse[i * m + j] * b[j];
  return cub::ShuffleIndex<BAI_TEAM>(SumOfLanes<BAI_TEAM>(sum), 0, ~0u);
}

/* x = A^{-1} b, added to x of the level above, if that is given */
template <typename T>
static __device__ inline void Exact(const BAILevelView<T> &L, const T *inverse, T *above, const int *above_child,
                                    int warp, int warps)
{
  for (int i = warp; i < L.n; i += warps) {
    const T x = ExactRow(L.n, inverse, L.b, i);

    if (above)
      for (int k = above_child[i] + (int)(threadIdx.x % BAI_TEAM); k < above_child[i + 1]; k += BAI_TEAM) above[k] += x;
    else if (threadIdx.x % BAI_TEAM == 0) L.x[i] = x;
  }
}

/* The same if it is the first level as well */
template <typename T>
static __global__ void ExactAlone(int m, const T *inverse, const BAIScalar *r, BAIScalar *z, const BAIReal *factors,
                                  const int *done)
{
  __shared__ T b[BAI_LEVELS_COARSEST];

  BAIFollow();
  if (done && *done) return;
  for (int i = (int)threadIdx.x; i < m; i += (int)blockDim.x) b[i] = T(r[i] * factors[0]);
  __syncthreads();
  for (int i = (int)threadIdx.x / BAI_TEAM; i < m; i += (int)blockDim.x / BAI_TEAM) {
    const T x = ExactRow(m, inverse, b, i);

    if (threadIdx.x % BAI_TEAM == 0) z[i] = BAIScalar(x) * factors[1];
  }
}

/* What the tail is told: its levels, the last of which is solved exactly */
template <typename T>
struct TailHow {
  BAILevelView<T> level[TAIL_LEVELS];
  FinerLevel<T>   finer; /* the level above; with modes nothing is to be taken off any longer */
  const T        *inverse;
  int             last, sweeps;
  T              *above; /* as in VisitHow */
  const int      *above_child;
};

/* The level above level l of the tail, which was visited: its new x is where y was */
template <typename T>
static __device__ __forceinline__ FinerLevel<T> FinerOf(const TailHow<T> &how, int l)
{
  if (!l) return how.finer;
  const BAILevelView<T> &L = how.level[l - 1];

  return {L.child, L.out_first, L.out_j, L.out_a, L.y, L.has_long, L.modes, L.P};
}

/* A cycle on a few small levels, by a cluster of thread blocks whose teams do a block each at a time */
template <typename T>
static __global__ __launch_bounds__(TAIL_THREADS) void TailCycle(const __grid_constant__ TailHow<T> how,
                                                                 const int                         *done)
{
  enum {
    TEAMS = TAIL_THREADS / BAI_LEVELS_BLOCK
  };
  __shared__ __align__(16) unsigned char rooms[TEAMS * sizeof(VisitRoom<T>)];
  const int team = (int)threadIdx.x / BAI_LEVELS_BLOCK, t = (int)threadIdx.x % BAI_LEVELS_BLOCK;
  const int begin = (int)blockIdx.x + team * (int)gridDim.x, step = (int)gridDim.x * TEAMS;
  const int warp     = ((int)blockIdx.x * TAIL_THREADS + (int)threadIdx.x) / BAI_TEAM,
            warps    = (int)gridDim.x * TAIL_THREADS / BAI_TEAM;
  VisitRoom<T> &room = reinterpret_cast<VisitRoom<T> *>(rooms)[team];

  Trigger();
  BAIFollow();
  if (done && *done) return;
  for (int l = 0; l < how.last; l++) { /* down */
    const BAILevelView<T> &L     = how.level[l];
    const FinerLevel<T>    finer = FinerOf(how, l);
    VisitHow<T>            v     = {};

    if (finer.has_long) {
      TakeOff(finer, L.n, L.b, warp, warps);
      Everyone();
    } else v.finer = finer;
    v.from_zero = v.restricts = 1;
    v.sweeps                  = how.sweeps;
    for (int b = begin; b < L.blocks; b += step) {
      VisitBlock<T, false, PAIRS_MORE, SOME>(L, v, how.level[l + 1].b, b, t, team, room, false, NULL);
      Meet<false>(team);
    }
    Everyone();
  }
  const BAILevelView<T> &last  = how.level[how.last];
  const FinerLevel<T>    finer = FinerOf(how, how.last);

  if (finer.has_long) TakeOff(finer, last.n, last.b, warp, warps);
  for (int c = begin * BAI_LEVELS_BLOCK; c < last.n && finer.child && !finer.has_long; c += step * BAI_LEVELS_BLOCK) {
    const int count = last.n - c < BAI_LEVELS_BLOCK ? last.n - c : BAI_LEVELS_BLOCK;
    const T   sum = OutsideOfAggregates<T, false, SOME>(finer, c, count, t, team, reinterpret_cast<T *>(&room), false);

    if (t < count) last.b[c + t] -= sum;
  }
  Everyone();
  Exact(last, how.inverse, how.last ? how.level[how.last - 1].y : how.above,
        how.last ? how.level[how.last - 1].child : how.above_child, warp, warps);
  for (int l = how.last - 1; l >= 0; l--) { /* up, from where the new x is to where x was */
    BAILevelView<T> L = how.level[l];
    VisitHow<T>     v = {};
    T              *x = L.x;

    L.x           = L.y;
    L.y           = x;
    v.sweeps      = how.sweeps;
    v.above       = l ? how.level[l - 1].y : how.above;
    v.above_child = l ? how.level[l - 1].child : how.above_child;
    Everyone();
    for (int b = begin; b < L.blocks; b += step) {
      VisitBlock<T, false, PAIRS_MORE, 0>(L, v, NULL, b, t, team, room, false, NULL);
      Meet<false>(team);
    }
  }
}

template <typename T>
struct Cycle {
  BAILevelsState   state;
  const BAIScalar *r;
  BAIScalar       *z;
  const int       *done;

  BAILevelView<T> View(int l) const
  {
    const BAIDeviceLevel *D = &state->level[l];
    BAILevelView<T>       L = {};

    L.n         = D->A.n;
    L.m         = D->m;
    L.blocks    = D->blocks;
    L.full      = D->blocks * BAI_LEVELS_BLOCK == D->A.n;
    L.pairs     = D->pairs;
    L.first     = D->first;
    L.aggregate = D->block_aggregate;
    L.child     = D->child;
    L.slice     = D->slice;
    L.in_j      = D->in_j;
    L.in_a      = static_cast<const BAIPair<T> *>(D->in_a);
    L.out_first = D->out_first;
    L.out_j     = D->out_j;
    L.out_a     = static_cast<const T *>(D->out_a);
    L.d         = static_cast<const T *>(D->d);
    L.dinv      = static_cast<const T *>(D->dinv);
    L.extra     = D->extra ? static_cast<const T *>(D->e) : NULL;
    L.modes     = D->p ? state->p.modes : 0;
    L.P         = static_cast<const T *>(D->p);
    L.has_long  = D->outside > LONG_ROW * (long long)D->A.n || L.modes;
    L.b         = static_cast<T *>(D->b);
    L.x         = static_cast<T *>(D->x);
    L.y         = static_cast<T *>(D->y);
    return L;
  }

  BAIStatus Launch(const void *kernel, dim3 grid, int threads, void **arguments) const
  {
    CUDATry(BAILaunch(kernel, grid, threads, 0, state->s.stream, state->s.follows, arguments));
    return BAIStatusOf(BAI_OK);
  }

  BAIStatus DoTakeOff(FinerLevel<T> finer, const BAILevelView<T> &L) const
  {
    int        m    = L.n;
    T         *b    = L.b;
    const int *flag = done;
    const dim3 grid = finer.modes ? dim3((unsigned)(m / finer.modes)) : BAIGrid((long long)m * BAI_TEAM, OFF_THREADS);
    void      *arguments[] = {&finer, &m, &b, &flag};

    return Launch((const void *)OffAggregates<T>, grid, OFF_THREADS, arguments);
  }

  /* The ghosts of a level get the x that their ranks have now */
  BAIStatus Exchange(int l) const
  {
    return state->p.all ? BAIDeviceExchange(state, l, state->level[l].x, done) : BAIStatusOf(BAI_OK);
  }

  /* A visit, after which x and y have changed places; ends: it is the last of this level for now, and adds x to that of
     the level above, or leaves it in z */
  BAIStatus DoVisit(int l, int from_zero, bool restricts, bool ends) const
  {
    BAIDeviceLevel *D           = &state->level[l];
    BAILevelView<T> L           = View(l);
    VisitHow<T>     how         = {};
    T              *below       = restricts ? static_cast<T *>(D[1].b) : NULL;
    const int      *flag        = done;
    const bool      finer       = l && from_zero;
    void           *arguments[] = {&L, &how, &below, &flag};

    if (!from_zero) BAITry(Exchange(l));
    if (!L.n) return restricts ? Exchange(l) : BAIStatusOf(BAI_OK);
    how.from_zero = from_zero;
    how.sweeps    = (int)state->p.local_iters;
    how.restricts = restricts;
    how.factors   = state->factors;
    if (finer) {
      how.finer = Finer(l - 1);
      if (how.finer.has_long) BAITry(DoTakeOff(how.finer, L));
      if (how.finer.has_long) how.finer = {};
    }
    if (!l && from_zero) how.r = r;
    if (!l && ends) how.z = z;
    if (how.r || how.z) how.row = D->row;
    if (ends && l && !state->p.modes) {
      how.above       = static_cast<T *>(D[-1].x);
      how.above_child = D[-1].child;
    }
    constexpr int few    = sizeof(T) > sizeof(float) ? PAIRS_MORE : PAIRS_FEW; /* of single precision it pays */
    const void   *kernel = L.modes ? (const void *)Visit<T, PAIRS_MORE, MODES>
        : !D->few || L.has_long
        ? how.finer.child ? (const void *)Visit<T, PAIRS_MORE, MANY> : (const void *)Visit<T, PAIRS_MORE, 0>
        : how.finer.child ? (const void *)Visit<T, few, MANY>
                          : (const void *)Visit<T, few, 0>;

    BAITry(Launch(kernel, dim3((unsigned)D->blocks), BAI_LEVELS_BLOCK, arguments));
    void *x = D->x;

    D->x = D->y;
    D->y = x;
    if (restricts) BAITry(Exchange(l));
    return ends && l && state->p.modes ? DoAddModes(l) : BAIStatusOf(BAI_OK);
  }

  /* The level that the caller solves: what is left of b, the solution, and this on the level above */
  BAIStatus DoRest(int l) const
  {
    const BAILevelView<T> L = View(l);

    if (L.n) BAITry(DoTakeOff(Finer(l - 1), L));
    BAITry(BAIDeviceRest(state, l, done));
    return state->p.modes && L.n ? DoAddModes(l) : BAIStatusOf(BAI_OK);
  }

  /* What a level with modes has found is added to the level above */
  BAIStatus DoAddModes(int l) const
  {
    BAIDeviceLevel *D = &state->level[l - 1];
    int             n = D->A.n, modes = state->p.modes;
    const int      *parent = D->parent, *flag = done;
    const T        *P = static_cast<const T *>(D->p), *e = static_cast<const T *>(D[1].x);
    T               over        = T(BAIScalar(BAIModesOver(state->hermitian, modes, state->p.over)));
    T              *x           = static_cast<T *>(D->x);
    void           *arguments[] = {&n, &modes, &parent, &P, &over, &e, &x, &flag};

    return Launch((const void *)AddModes<T>, BAIGrid(n, OFF_THREADS), OFF_THREADS, arguments);
  }

  /* After a visit, so the new x is x */
  FinerLevel<T> Finer(int l) const
  {
    const BAILevelView<T> L = View(l);

    return {L.child, L.out_first, L.out_j, L.out_a, L.x, L.has_long, L.modes, L.P};
  }

  BAIStatus DoTail(int l) const
  {
    TailHow<T>          how          = {};
    const int          *flag         = done;
    void               *arguments[]  = {&how, &flag};
    cudaLaunchAttribute attribute[2] = {};
    cudaLaunchConfig_t  config       = {};
    const bool          cluster      = state->s.follows;

    how.last    = state->levels - 1 - l;
    how.inverse = static_cast<const T *>(state->inverse);
    how.sweeps  = (int)state->p.local_iters;
    how.finer   = Finer(l - 1);
    if (state->p.modes) {
      BAITry(DoTakeOff(how.finer, View(l)));
      how.finer = {};
    }
    how.above       = state->p.modes ? NULL : static_cast<T *>(state->level[l - 1].x);
    how.above_child = state->level[l - 1].child;
    for (int k = l; k < state->levels; k++) how.level[k - l] = View(k);
    attribute[0].id                                         = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x                           = TAIL_BLOCKS;
    attribute[0].val.clusterDim.y                           = 1;
    attribute[0].val.clusterDim.z                           = 1;
    attribute[1].id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[1].val.programmaticStreamSerializationAllowed = 1;
    config.gridDim                                          = dim3(cluster ? TAIL_BLOCKS : 1);
    config.blockDim                                         = dim3(TAIL_THREADS);
    config.stream                                           = state->s.stream;
    config.attrs                                            = attribute;
    config.numAttrs                                         = cluster ? 2 : 0;
    CUDATry(cudaLaunchKernelExC(&config, (const void *)TailCycle<T>, arguments));
    return state->p.modes ? DoAddModes(l) : BAIStatusOf(BAI_OK);
  }

  BAIStatus DoAlone() const
  {
    int              m           = state->level[0].A.n;
    const T         *inverse     = static_cast<const T *>(state->inverse);
    const BAIScalar *from        = r;
    BAIScalar       *to          = z;
    const BAIReal   *factors     = state->factors;
    const int       *flag        = done;
    void            *arguments[] = {&m, &inverse, &from, &to, &factors, &flag};

    return Launch((const void *)ExactAlone<T>, dim3(1), TAIL_THREADS, arguments);
  }

  /* Smoothing in the place of a solve */
  BAIStatus SmoothLast(int l, bool ends) const
  {
    for (int visit = 0; visit < BAI_LEVELS_VISITS; visit++)
      BAITry(DoVisit(l, !visit, false, ends && visit + 1 == BAI_LEVELS_VISITS));
    return BAIStatusOf(BAI_OK);
  }

  /* From zero, or from the x that is there; ends: see DoVisit() */
  BAIStatus Run(int l, int from_zero, bool ends) const
  {
    const bool last = l == state->levels - 1;

    if (last && state->ranks.next) return DoRest(l);
    if (l >= state->tail) return DoTail(l);
    if (last && state->inverse) return DoAlone();
    if (last) return SmoothLast(l, ends);
    BAITry(DoVisit(l, from_zero, true, false));
    if (l + 1 < state->levels - 1 &&
        BAIRepeats(state->hermitian, state->p.modes, state->p.above + l + 1,
                   state->p.all ? state->level[l + 1].halo.all : state->level[l + 1].A.n)) {
      BAITry(Run(l + 1, 1, false));
      BAITry(Run(l + 1, 0, true));
    } else BAITry(Run(l + 1, 1, true));
    return DoVisit(l, 0, false, ends);
  }
};

/* Which levels are gone through in one launch: those that are small, but not the first, whose vectors are the caller's.
 * With modes only the last one */
void BAIFindTail(BAILevelsState state)
{
  state->tail = state->levels;
  while (state->inverse && state->tail > 1 && state->level[state->tail - 1].A.n <= BAI_LEVELS_SMALL &&
         state->levels - state->tail < (state->p.modes ? 1 : TAIL_LEVELS))
    state->tail--;
}

template <typename T>
static BAIStatus Cycles(const Cycle<T> &cycle)
{
  const bool twice = cycle.state->p.twice && cycle.state->levels > 1;

  BAITry(cycle.Run(0, 1, !twice));
  return twice ? cycle.Run(0, 0, true) : BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceCycle(BAILevelsState state, const BAIScalar *r, BAIScalar *z, const int *done)
{
  return state->single ? Cycles(Cycle<BAISingle>{state, r, z, done}) : Cycles(Cycle<BAIScalar>{state, r, z, done});
}
