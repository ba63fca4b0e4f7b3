/*
   The kernel whose thread blocks do one tile each and end: for matrices that do not fit on the chip, in blocks of
   consecutive rows of similar length, with equal numbers of local sweeps and equal damping. Thread blocks do not wait,
   and the device assigns the tiles. So it has fewer instructions than stream.cu, which determine the time of an
   iteration in single precision

   In modes sync and launch a launch is one global iteration, and in mode color one turn. In the queue of mode async it
   is any number: blockIdx.x is the place in the queue, blockIdx.y the iteration, and the device starts thread blocks in
   this order. Two updates would race if a tile were started again before it is done, that is if it took as long as all
   the others together.

   Traffic per row and global iteration: as in stream.cu, and 8 bytes with momentum, which reads the x that is about
   to be overwritten
*/
#include "../../common/cuda/follow.h"
#include "sweep.h"

enum {
  INSIDE  = 2, /* largest number of entries of a row inside its block: blocks are along the lines of a grid */
  OUTSIDE = 5  /* entries outside the block that are loaded at a time */
};

/* Number of tiles of 512 rows that must fit on a multiprocessor, which means at most 32 registers in single precision,
   and 64 in double */
static constexpr int LeastBlocks(bool single)
{
  return single ? 4 : 2;
}

/* Keeps the compiler from computing value again where it is used, which takes instructions */
static __device__ inline void Keep(int &value)
{
  asm("" : "+r"(value));
}

/* The same for a pointer, which must point to global memory: the compiler is told so, as it can no longer see it */
template <typename V>
static __device__ inline void Keep(const V *&pointer)
{
  asm("" : "+l"(pointer));
  __builtin_assume(__isGlobal(pointer));
}

/* Subtracts the products of a row outside its block from s, for entries that were loaded. Columns are relative to base;
   from is x + base, far the ghosts minus the rows of x */
template <bool GHOSTS, BAIOrder order, typename V>
static __device__ __forceinline__ void Subtract(const BAISliced &A, const V *x, const V *far, const V *from, int base,
                                                const V (&value)[OUTSIDE], const int (&col)[OUTSIDE], V &s)
{
  V other[OUTSIDE];

#pragma unroll
  for (int w = 0; w < OUTSIDE; w++) {
    if constexpr (GHOSTS && order == BAI_QUEUE)
      other[w] = BAIIsNoEntry(value[w]) ? V(0)
        : base + col[w] < A.n           ? BAILoad(x + base + col[w])
                                        : BAILoadFar(far + base + col[w]);
    else if constexpr (GHOSTS)
      other[w] = BAIIsNoEntry(value[w]) ? V(0) : BAILoad((base + col[w] < A.n ? x : far) + base + col[w]);
    else other[w] = BAIIsNoEntry(value[w]) ? V(0) : BAILoad(from + col[w]);
  }
#pragma unroll
  for (int w = 0; w < OUTSIDE; w++) s -= value[w] * other[w];
}

/* x of a row after the local sweeps of its tile; shared has room for two x of the tile */
template <typename V>
static __device__ __forceinline__ V LocalSweeps(const BAISweep &p, const V (&a)[INSIDE], const int (&j)[INSIDE], V s,
                                                V dinv, V xi, V *shared)
{
  V                 *now = shared, *next = now + blockDim.x;
  const BAIRealOf<V> local_omega = BAIRealOf<V>(p.local_omega);
  V                  y           = xi;

  for (int sweep = 1; sweep <= p.local_iters; sweep++) {
    V sum = s;

    now[threadIdx.x] = y;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < INSIDE; w++) sum -= a[w] * now[j[w]];
    y += local_omega * (sum * dinv - y);
    V *swap = now;
    now     = next;
    next    = swap;
  }
  return y;
}

/* Does an iteration of this thread block's tile. The order is BAI_FLAGS in mode sync, and BAI_QUEUE otherwise */
template <bool GHOSTS, BAIOrder order, typename V>
static __device__ __forceinline__ void DoTile(const BAISliced &A, const BAISweep &p)
{
  constexpr bool    queue = order == BAI_QUEUE;
  extern __shared__ __align__(16) unsigned char shared[];
  const unsigned                                i = threadIdx.x, lane = i % BAI_LANES,
                 tile  = queue && p.order ? (unsigned)p.order[blockIdx.x] : blockIdx.x,
                 slice = tile * A.tile_slices + i / BAI_LANES;
  const int      row   = (int)(tile * A.tile_rows + i);
  const bool     mine = i < (unsigned)A.tile_rows && row < A.n, moves = !queue && p.momentum != 0;
  const BAISlice S        = A.slice[slice]; /* lanes without a row find zeros there */
  const bool     by_delta = S.by_delta;
  const V       *x = BAIIterateOf<V>(p, queue ? 0 : p.current), *far = static_cast<const V *>(p.ghost) - A.n;
  const V       *loc_a  = static_cast<const V *>(A.loc_a) + S.loc + lane,
          *off_a        = static_cast<const V *>(A.off_a) + S.off + lane;
  const uint16_t *loc_j = static_cast<const uint16_t *>(A.loc_j) + S.loc + lane;
  const int      *off_j = BAIColumnAt(A, S, 0, (int)lane);
  int             base  = by_delta ? row : 0; /* base of columns */
  const V        *from  = x + base;
  V               s = V(0), dinv = V(0), xi = V(0), before = V(0), a[INSIDE];
  int             j[INSIDE];

  Keep(from);
  Keep(base);
#pragma unroll
  for (int w = 0; w < INSIDE; w++) {
    const bool there = w < S.loc_width;

    a[w] = there ? BAIStreamed(loc_a + w * BAI_LANES) : V(0);
    j[w] = there ? (int)__ldcs(loc_j + w * BAI_LANES) : (int)i;
  }
  if (mine) {
    s    = BAIStreamed(static_cast<const V *>(p.b) + row);
    dinv = BAIStreamed(static_cast<const V *>(A.dinv) + row);
  }
  V          value[OUTSIDE];
  int        col[OUTSIDE], left = (int)S.off_width;
  const auto fetch = [&] {
#pragma unroll
    for (int w = 0; w < OUTSIDE; w++) value[w] = w < left ? BAIStreamed(off_a + w * BAI_LANES) : BAINoEntry<V>();
    if (by_delta) {
#pragma unroll
      for (int w = 0; w < OUTSIDE; w++) col[w] = w < left ? __ldcs(off_j + w) : 0;
      off_j += OUTSIDE;
    } else {
#pragma unroll
      for (int w = 0; w < OUTSIDE; w++) col[w] = w < left ? __ldcs(off_j + w * BAI_LANES) : 0;
      off_j += OUTSIDE * BAI_LANES;
    }
    off_a += OUTSIDE * BAI_LANES;
    left -= OUTSIDE;
  };
  fetch();
  BAIFollow();
  if (mine) xi = BAILoad(x + row);
  Subtract<GHOSTS, order>(A, x, far, from, base, value, col, s);
  while (left > 0) {
    fetch();
    Subtract<GHOSTS, order>(A, x, far, from, base, value, col, s);
  }
  V *const to = BAIIterateOf<V>(p, queue ? 0 : !p.current) + row;

  if (mine && moves) before = *to;
  V y = LocalSweeps(p, a, j, s, dinv, xi, reinterpret_cast<V *>(shared));

  y = xi + BAIRealOf<V>(p.omega) * (y - xi);
  if (moves) y += BAIRealOf<V>(p.momentum) * (xi - before);
  if (mine && queue) BAIStore(to, y);
  else if (mine) *to = y;
  if constexpr (GHOSTS && queue) BAISendTile(p, (int)tile, x);
}

/* A kernel for all orders would take more registers, so fewer thread blocks would be at work */
template <bool GHOSTS>
static __global__ void __launch_bounds__(BAI_ROW_THREADS, LeastBlocks(false)) Once(BAISliced A, BAISweep p)
{
  DoTile<GHOSTS, BAI_QUEUE, BAIScalar>(A, p);
}

static __global__ void __launch_bounds__(BAI_ROW_THREADS, LeastBlocks(false)) OnceSync(BAISliced A, BAISweep p)
{
  if (A.cols > A.n) DoTile<true, BAI_FLAGS, BAIScalar>(A, p);
  else DoTile<false, BAI_FLAGS, BAIScalar>(A, p);
}

/* The kernel of all orders in single precision; only for matrices without ghosts, as BAIOnceKernel() ensures */
static __global__ void __launch_bounds__(BAI_ROW_THREADS, LeastBlocks(true)) OnceSingle(BAISliced A, BAISweep p)
{
  if (p.how == BAI_FLAGS) DoTile<false, BAI_FLAGS, BAISingle>(A, p);
  else DoTile<false, BAI_QUEUE, BAISingle>(A, p);
}

const void *BAIOnceKernel(const BAISliced *A, BAIOrder order)
{
  const bool ghosts = A->cols > A->n;

  if (A->row || A->share || A->iters || A->off_first || A->loc_width > INSIDE || (A->single && ghosts)) return NULL;
  if (A->single) return (const void *)OnceSingle;
  if (order == BAI_FLAGS) return (const void *)OnceSync;
  return ghosts ? (const void *)Once<true> : (const void *)Once<false>;
}
