/*
   Arguments and device functions that the kernels share: momentum, waiting for other tiles, local sweeps
*/
#pragma once

#include "../../common/cuda/spin.h"
#include "../../common/fourth_kind.h"
#include "iterate.h"

/* Arguments of a kernel. Vectors of type void are of BAISingle, if the matrix is, else of BAIScalar */
typedef struct {
  BAIInt       count, local_iters;
  BAIReal      omega, local_omega, momentum;
  int          fourth_kind; /* weights of fourth_kind.h */
  int          moves;       /* there is momentum, */
  int          fresh;       /* but in the first iteration */
  BAIOrder     how;         /* where a kernel does more than one order */
  void        *before;      /* places: the iterate before the last one; NULL: the last one overwrites it */
  const void  *b, *ghost;
  void        *x[2];
  int          current;
  void        *scratch;
  BAINeighbors neighbors;
  BAIDirection direction;
  const int   *order;
  int         *done, done_before;      /* done is NULL where no tile is waited for */
  int          staleness;              /* BAI_LAG: iterations that a tile may be ahead of those it reads from */
  int         *stalled, *stalled_host; /* set if a wait was given up; the second is read by the host */
  BAISends     sends;
  BAIFault     fault; /* its fraction is 0 if there are none */
  BAIInt       its;   /* global iterations of the solve before this launch, by which faults and weights go */
  BAICounts    counts;
} BAISweep;

static __device__ inline unsigned long long BAINanoseconds(void)
{
  unsigned long long now;

  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/* x[which], without the indexing that would move the arguments of a kernel to slow memory */
template <typename V = BAIScalar>
static __device__ inline V *BAIIterateOf(const BAISweep &s, int which)
{
  return static_cast<V *>(which ? s.x[1] : s.x[0]);
}

/* The factor of an update */
static __device__ inline BAIReal BAIOmegaAt(const BAISweep &s, int iteration)
{
  return s.fourth_kind ? s.omega * BAIFourthKindOmega(s.its + iteration) : s.omega;
}

/* Writes the next x of a row: its x and a step, and momentum, which builds on the x before. That is kept by places, or,
 * in mode sync, is what the next x overwrites. A row that is stopped keeps its x */
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

/* Damping of the local sweeps of the row at a place */
static __device__ inline BAIReal BAILocalOmegaAt(const BAISliced &A, const BAISweep &s, int place)
{
  return A.share ? s.local_omega * A.share[place] : s.local_omega;
}

static __device__ inline void BAIWaitForTile(const BAISweep &s, int tile, int iterations)
{
  const int *done   = s.done + tile;
  const int  enough = s.done_before + iterations; /* not in the lambda, whose reference would move s to slow memory */

  BAISpin(s.stalled, s.stalled_host, [=] { return BAILoadAcquire(done) >= enough; });
}

/* Called by one thread, after all of the thread block have written their x and met */
static __device__ inline void BAITileIsDone(const BAISweep &s, int tile, int iterations)
{
  BAIStoreRelease(s.done + tile, s.done_before + iterations);
}

static __device__ inline bool BAIGoesBackward(const BAISweep &s, int iteration)
{
  return s.direction == BAI_BACKWARD || (s.direction == BAI_ALTERNATE && iteration % 2);
}

/* Global iterations that a neighbour must have behind it before a tile may begin this one */
template <BAIOrder order>
static __device__ inline int BAIEnough(const BAISweep &s, int neighbor, int iteration)
{
  if constexpr (order == BAI_TURNS) return iteration + ((neighbor & 1) ^ (int)BAIGoesBackward(s, iteration));
  return order == BAI_LAG ? iteration - s.staleness : iteration;
}

/* The tiles that a tile waits for. Each thread keeps the first of those that it looks after, as memory would be read
 * anew in every iteration */
template <BAIOrder order>
struct BAINeighborsOf {
  static constexpr bool any = order == BAI_FLAGS || order == BAI_LAG || order == BAI_TURNS;
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

  /* Until this one may begin an iteration, or, if they meet, until all have done as many; called by all threads, who
   * have met when it returns */
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

/* A tile's global iteration, as far as other tiles have to do with it */
template <BAIOrder order>
class BAITurn {
  static constexpr bool waits = BAINeighborsOf<order>::any;
  const BAISweep       &s;
  int                   tile, iteration;
  BAINeighborsOf<order> neighbors;
  bool                  known; /* neighbors is of this tile */

public:
  __device__ BAITurn(const BAISweep &s) : s(s), tile(-1), iteration(0), known(false) {}

  __device__ void Start(int at_tile, int at_iteration)
  {
    known     = tile == at_tile;
    tile      = at_tile;
    iteration = at_iteration;
  }

  /* Called by all threads before one of them reads x of other tiles; what they read before that, of the matrix, is on
   * its way meanwhile */
  __device__ void Begin()
  {
    if (waits && s.done) {
      if (!known) neighbors = BAINeighborsOf<order>(s, tile);
      neighbors.Wait(s, iteration);
    }
  }

  /* Called by all threads, who have written their x */
  __device__ void End()
  {
    __syncthreads();
    if (waits && s.done && !threadIdx.x) BAITileIsDone(s, tile, iteration + 1);
  }
};

/* A tile's new x goes to other ranks: called by all threads, who have written it */
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
   Goes through tiles and iterations in the order given; of a queue a thread block does one tile, and the device hands
   these out. iterate(tile, iteration, from, to, turn) does one global
   iteration of a tile, reading iterate from and writing iterate to, of type V, and calls turn's Begin() on the way
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
           m++) { /* a tile is the same thread block's in both directions, and so waits for itself */
        const int k = blockIdx.x + (order == BAI_TURNS && BAIGoesBackward(p, iteration) ? own - 1 - m : m) * gridDim.x;
        const int tile = order == BAI_TURNS ? p.order[k] : k;

        turn.Start(tile, iteration);
        iterate(tile, iteration, from, to, turn);
        if constexpr (order == BAI_OWN || order == BAI_LAG) BAISendTile(p, tile, BAIIterateOf<V>(p, to));
        turn.End();
      }
    }
  }
}

/*
   The local sweeps of a tile, a thread a row, and the update: a and j are the row's entries inside the block, width
   those of its slice, s is b minus what lies outside it. All is done in the precision of V
*/
template <int LOC, typename V>
static __device__ inline void BAISweepRows(const BAISliced &A, const BAISweep &p, int tile, int iteration, int to,
                                           int width, const V (&a)[LOC], const int (&j)[LOC], V s, V dinv, V xi,
                                           int own, V *now, V *next)
{
  enum {
    FEW = 8 /* entries that are read without asking how wide the slice is */
  };
  const int  i = threadIdx.x, place = tile * A.tile_rows + i;
  const bool mine                = own != -1;
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
      if (w >= FEW && w % FEW == 0 && w >= width) break; /* the same for a warp */
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
  if (own >= 0) BAIUpdateRow(p, iteration, place, BAIIterateOf<V>(p, to) + own, xi, y - xi);
}
