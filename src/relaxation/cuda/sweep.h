/* Arguments and device functions that kernels share: momentum, waits for other tiles, local sweeps */
#pragma once

#include "../../common/cuda/spin.h"
#include "../../common/fourth_kind.h"
#include "iterate.h"

/* Arguments of a kernel. Vectors of type void are BAISingle if the matrix is, otherwise BAIScalar */
typedef struct {
  BAIInt       count, local_iters;
  BAIReal      omega, local_omega, momentum;
  int          fourth_kind; /* weights of fourth_kind.h */
  int          moves;       /* there is momentum */
  int          fresh;       /* except in the first iteration */
  BAIOrder     how;         /* the order, for kernels with several */
  void        *before;      /* places: the iterate before the last one; NULL: the last one overwrites it */
  const void  *b, *ghost;
  void        *x[2];
  int          current;
  void        *scratch;
  BAINeighbors neighbors;
  BAIDirection direction;
  const int   *order;
  int         *done, done_before;      /* done is NULL if tiles do not wait */
  int         *stalled, *stalled_host; /* set if a wait timed out; the host reads the second one */
  BAISends     sends;
  BAIFault     fault; /* fraction is 0 without faults */
  BAIInt       its;   /* global iterations of the solve before this launch, for faults and weights */
  BAICounts    counts;
} BAISweep;

static __device__ inline unsigned long long BAINanoseconds(void)
{
  unsigned long long now;

  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/* x[which]; indexing would move the arguments of a kernel to slow memory */
template <typename V = BAIScalar>
static __device__ inline V *BAIIterateOf(const BAISweep &s, int which)
{
  return static_cast<V *>(which ? s.x[1] : s.x[0]);
}

static __device__ inline BAIReal BAIOmegaAt(const BAISweep &s, int iteration)
{
  return s.fourth_kind ? s.omega * BAIFourthKindOmega(s.its + iteration) : s.omega;
}

/* Writes the next x of a row: x plus a step, and momentum, which needs the previous x. That is stored by places, or in
   mode sync is overwritten by the next x. A row that faults stop keeps its x */
template <typename V>
static __device__ inline void BAIUpdateRow(const BAISweep &s, int iteration, int place, V *x, V xi, V step,
                                           bool stopped = false)
{
  V next = xi + BAIRealOf<V>(BAIOmegaAt(s, iteration)) * step;

  if (s.moves) {
    V *before = s.before ? static_cast<V *>(s.before) + place : x;

    if (!s.fresh || iteration)
      next += BAIRealOf<V>(s.fourth_kind ? BAIFourthKindMomentum(s.its + iteration) : s.momentum) *
        (xi - BAILoad(before));
    if (s.before) *before = xi;
  }
  BAIStore(x, stopped ? xi : next);
}

static __device__ inline BAIReal BAILocalOmegaAt(const BAISliced &A, const BAISweep &s, int place)
{
  return A.share ? s.local_omega * A.share[place] : s.local_omega;
}

/* Waits until a tile has done this number of iterations of the launch, or a wait has timed out; called by one thread */
static __device__ inline void BAIWaitForTile(const BAISweep &s, int tile, int iterations)
{
  const int *done   = s.done + tile;
  const int  enough = s.done_before + iterations; /* outside the lambda, whose reference would move s to slow memory */

  BAISpin(s.stalled, s.stalled_host, [=] { return BAILoadAcquire(done) >= enough; });
}

/* Marks iterations of a tile as done; called by one thread, after all of the thread block have written their x and
   met */
static __device__ inline void BAITileIsDone(const BAISweep &s, int tile, int iterations)
{
  BAIStoreRelease(s.done + tile, s.done_before + iterations);
}

static __device__ inline bool BAIGoesBackward(const BAISweep &s, int iteration)
{
  return s.direction == BAI_BACKWARD || (s.direction == BAI_ALTERNATE && iteration % 2);
}

/* The number of global iterations that a neighbour must have done before a tile may begin this one */
template <BAIOrder order>
static __device__ inline int BAIEnough(const BAISweep &s, int neighbor, int iteration)
{
  if constexpr (order == BAI_TURNS) return iteration + ((neighbor & 1) ^ (int)BAIGoesBackward(s, iteration));
  return iteration;
}

/* The tiles that a tile waits for. Each thread keeps the first of those that it checks, to avoid reading memory in
   every iteration */
template <BAIOrder order>
struct BAINeighborsOf {
  static constexpr bool any = order == BAI_FLAGS || order == BAI_TURNS;
  int                   next, last, first;

  __device__ BAINeighborsOf() {}
  __device__ BAINeighborsOf(const BAISweep &s, int tile)
  {
    if constexpr (any) {
      next  = s.neighbors.first[tile] + threadIdx.x;
      last  = s.neighbors.first[tile + 1];
      first = next < last ? s.neighbors.tile[next] : -1;
      next += blockDim.x;
    }
  }

  /* Waits until this tile may begin an iteration, or, if meet, until all neighbours have done as many; a barrier,
     called by all threads */
  __device__ void Wait(const BAISweep &s, int iteration, bool meet = false) const
  {
    if (first >= 0) BAIWaitForTile(s, first >> 1, meet ? iteration : BAIEnough<order>(s, first, iteration));
    for (int k = next; k < last; k += blockDim.x) {
      const int neighbor = s.neighbors.tile[k];

      BAIWaitForTile(s, neighbor >> 1, meet ? iteration : BAIEnough<order>(s, neighbor, iteration));
    }
    __syncthreads();
  }
};

/* The synchronization of a tile's global iteration with other tiles */
template <BAIOrder order>
class BAITurn {
  static constexpr bool waits = BAINeighborsOf<order>::any;
  const BAISweep       &s;
  int                   tile, iteration;
  BAINeighborsOf<order> neighbors;
  bool                  known; /* neighbors belongs to this tile */

public:
  __device__ BAITurn(const BAISweep &s) : s(s), tile(-1), iteration(0), known(false) {}

  __device__ void Start(int at_tile, int at_iteration)
  {
    known     = tile == at_tile;
    tile      = at_tile;
    iteration = at_iteration;
  }

  /* Called by all threads before one of them reads x of other tiles; earlier loads, of the matrix, may be in flight */
  __device__ void Begin()
  {
    if (waits && s.done) {
      if (!known) neighbors = BAINeighborsOf<order>(s, tile);
      neighbors.Wait(s, iteration);
    }
  }

  /* Called by all threads after they have written their x */
  __device__ void End()
  {
    __syncthreads();
    if (waits && s.done && !threadIdx.x) BAITileIsDone(s, tile, iteration + 1);
  }
};

/* Sends a tile's new x to other ranks; called by all threads after they have written it */
template <typename V>
static __device__ inline void BAISendTile(const BAISweep &p, int tile, const V *x)
{
  if (!p.sends.first || (tile >= p.sends.quiet && tile < p.sends.loud)) return;
  const int first = p.sends.first[tile], last = p.sends.first[tile + 1];

  if (first == last) return;
  __syncthreads();
  for (int k = first + threadIdx.x; k < last; k += blockDim.x)
    BAIStoreFar(static_cast<V *>(p.sends.to[k]), BAILoad(x + p.sends.row[k]));
}

/*
   Processes tiles and iterations in this order; in a queue a thread block does one tile assigned by the device.
   iterate(tile, iteration, from, to, turn) does one global iteration of a tile, reading iterate number from and writing
   iterate number to, of type V, and calls Begin() of turn in between
*/
template <BAIOrder order, typename V, typename Iterate>
static __device__ inline void BAIGoThroughTiles(const BAISliced &A, const BAISweep &p, Iterate iterate)
{
  BAITurn<order> turn(p);

  if constexpr (order == BAI_QUEUE) {
    const int tile = p.order ? p.order[blockIdx.x] : (int)blockIdx.x, iteration = (int)blockIdx.y;

    turn.Start(tile, iteration);
    iterate(tile, iteration, 0, 0, turn);
    BAISendTile(p, tile, BAIIterateOf<V>(p, 0));
  } else {
    const int own = (A.tiles - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x;

    for (int iteration = 0; iteration < p.count; iteration++) {
      const int from = order == BAI_FLAGS ? (p.current + iteration) & 1 : 0, to = order == BAI_FLAGS ? from ^ 1 : from;

      for (int m = 0; m < own;
           m++) { /* a tile belongs to the same thread block in both directions, so it waits for itself */
        const int k = blockIdx.x + (order == BAI_TURNS && BAIGoesBackward(p, iteration) ? own - 1 - m : m) * gridDim.x;
        const int tile = order == BAI_TURNS ? p.order[k] : k;

        turn.Start(tile, iteration);
        iterate(tile, iteration, from, to, turn);
        if constexpr (order == BAI_OWN) BAISendTile(p, tile, BAIIterateOf<V>(p, to));
        turn.End();
      }
    }
  }
}

/*
   Does the local sweeps of a tile, a thread for each row, and the update. a and j are the row's entries inside the
   block, width is the width of its slice, s is b minus the products outside. xi is the row's x; row is -1 in
   a thread without one. now and next are in shared memory, with a number for each thread. The new x goes to iterate
   number to. All arithmetic is in V
*/
template <int LOC, typename V>
static __device__ inline void BAISweepRows(const BAISliced &A, const BAISweep &p, int tile, int iteration, int to,
                                           int width, const V (&a)[LOC], const int (&j)[LOC], V s, V dinv, V xi,
                                           int row, V *now, V *next)
{
  enum {
    FEW = 8 /* entries that are read without checking the width of the slice */
  };
  const int  i = threadIdx.x, place = tile * A.tile_rows + i;
  const bool mine                = row >= 0;
  const int  iters               = A.iters && mine ? A.iters[place] : p.local_iters,
            most                 = A.iters ? A.tile_iters[tile] : p.local_iters;
  const BAIRealOf<V> local_omega = BAIRealOf<V>(mine ? BAILocalOmegaAt(A, p, place) : p.local_omega);
  V                  y           = xi;

  now[i] = y;
  __syncthreads();
  for (int sweep = 1; sweep <= most; sweep++) {
    V sum = s;

#pragma unroll
    for (int w = 0; w < LOC; w++) {
      if (w >= FEW && w % FEW == 0 && w >= width) break; /* uniform in a warp */
      sum -= a[w] * now[j[w]];
    }
    if (sweep <= iters) y += local_omega * (sum * dinv - y);
    if (sweep < most) {
      V *swap = now;

      next[i] = y;
      __syncthreads();
      now  = next;
      next = swap;
    }
  }
  if (mine) BAIUpdateRow(p, iteration, place, BAIIterateOf<V>(p, to) + row, xi, y - xi);
}
