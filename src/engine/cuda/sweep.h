/*
   What the kernels share: generic.cu takes any matrix, stream.cu those whose rows inside the blocks fit registers,
   resident.cu those that fit registers as a whole. sweep.cu chooses
*/
#pragma once

#include "iterate.h"
#include "state.h"

typedef struct {
  BAIInt           count, local_iters;
  BAIReal          omega, local_omega, momentum;
  int              fresh; /* no momentum in the first iteration */
  BAIScalar       *before;
  const BAIScalar *b, *ghost;
  BAIScalar       *x[2];
  int              current;
  BAIScalar       *scratch;
  BAINeighbors     neighbors;
  BAIDirection     direction;
  const int       *order;
  int             *done, done_before; /* done is NULL where nothing is waited for */
  int             *stalled, *stalled_host; /* set if a wait was given up; the second is read by the host */
  long long       *tickets, tickets_before;
} BAISweep;

/* x[which], without the indexing that would move the arguments of a kernel to slow memory */
static __device__ inline BAIScalar *BAIIterateOf(const BAISweep &s, int which)
{
  return which ? s.x[1] : s.x[0];
}

/* What a row's update has to do with momentum: the next x, of that before the last one */
static __device__ inline BAIScalar BAIMomentum(const BAISweep &s, int iteration, BAIScalar next, BAIScalar xi, BAIScalar before)
{
  return s.fresh && !iteration ? next : next + s.momentum * (xi - before);
}

/* Damping of the local sweeps of the row at a place, and how many of them there are */
static __device__ inline BAIReal BAILocalOmegaAt(const BAISliced &A, const BAISweep &s, int place)
{
  return A.share ? s.local_omega * A.share[place] : s.local_omega;
}

/* Spins until the condition holds, for some ten seconds at most; then, or if another thread gave up, stalled is set, on the host too */
template <typename Condition>
static __device__ inline void BAISpin(int *stalled_flag, int *stalled_host, Condition condition)
{
  const long long cycles = 20000000000;

  if (condition()) return;
  const long long start = clock64();

  for (unsigned spins = 1; !condition(); spins++) {
    if (spins % 64) continue;
    cuda::atomic_ref<int, cuda::thread_scope_device> stalled(*stalled_flag);

    if (clock64() - start > cycles) {
      stalled.store(1, cuda::memory_order_relaxed);
      cuda::atomic_ref<int, cuda::thread_scope_system>(*stalled_host).store(1, cuda::memory_order_relaxed);
    }
    if (stalled.load(cuda::memory_order_relaxed)) return;
  }
}

static __device__ inline void BAIWaitForTile(const BAISweep &s, int tile, int iterations)
{
  cuda::atomic_ref<int, cuda::thread_scope_device> done(s.done[tile]);
  const int                                        enough = s.done_before + iterations; /* not in the lambda, whose reference would move s to slow memory */

  BAISpin(s.stalled, s.stalled_host, [=] { return done.load(cuda::memory_order_acquire) >= enough; });
}

/* Called by one thread, after all of the thread block have written their x and met */
static __device__ inline void BAITileIsDone(const BAISweep &s, int tile, int iterations)
{
  cuda::atomic_ref<int, cuda::thread_scope_device>(s.done[tile]).store(s.done_before + iterations, cuda::memory_order_release);
}

static __device__ inline bool BAIGoesBackward(const BAISweep &s, int iteration)
{
  return s.direction == BAI_BACKWARD || (s.direction == BAI_ALTERNATE && iteration % 2);
}

/* Called by all threads; they have met when it returns */
template <BAIOrder order>
static __device__ inline void BAIWaitForNeighbors(const BAISweep &s, int tile, int iteration)
{
  const int turned = BAIGoesBackward(s, iteration);

  for (int k = s.neighbors.first[tile] + threadIdx.x; k < s.neighbors.first[tile + 1]; k += blockDim.x) {
    const int neighbor = s.neighbors.tile[k];

    BAIWaitForTile(s, neighbor >> 1, order == BAI_TURNS ? iteration + ((neighbor & 1) ^ turned) : iteration);
  }
  __syncthreads();
}

/* The same for a thread block that has one tile only: each thread keeps the first of the neighbours that it looks after, as memory would be read anew in every iteration */
template <BAIOrder order>
struct BAINeighborsOf {
  int next, last, first;

  __device__ BAINeighborsOf(const BAISweep &s, int tile)
  {
    if constexpr (order == BAI_FLAGS || order == BAI_TURNS) {
      next  = s.neighbors.first[tile] + threadIdx.x;
      last  = s.neighbors.first[tile + 1];
      first = next < last ? s.neighbors.tile[next] : -1;
      next += blockDim.x;
    }
  }

  /* Until all have iterations behind them, and one more in mode color if their turn is before; called by all threads, who have met when it returns */
  __device__ void Wait(const BAISweep &s, int iteration, bool turns) const
  {
    const int turned = BAIGoesBackward(s, iteration);

    if (first >= 0) BAIWaitForTile(s, first >> 1, turns ? iteration + ((first & 1) ^ turned) : iteration);
    for (int k = next; k < last; k += blockDim.x) {
      const int neighbor = s.neighbors.tile[k];

      BAIWaitForTile(s, neighbor >> 1, turns ? iteration + ((neighbor & 1) ^ turned) : iteration);
    }
    __syncthreads();
  }
};

/*
   Goes through tiles and iterations in the order given; iterate(tile, iteration, from, to, wait) does one global iteration of a tile,
   reading iterate from and writing iterate to, and ends with all threads having met. All threads call wait() before the first of them
   reads x of other tiles; what is read before that, of the matrix, is on its way meanwhile
*/
template <BAIOrder order, typename Iterate>
static __device__ inline void BAIGoThroughTiles(const BAISliced &A, const BAISweep &p, Iterate iterate)
{
  if constexpr (order == BAI_QUEUE) {
    __shared__ int  drawn[2]; /* tile and iteration */
    const auto      draw      = [&] { return cuda::atomic_ref<long long, cuda::thread_scope_device>(*p.tickets).fetch_add(1, cuda::memory_order_relaxed) - p.tickets_before; };
    long long       next      = threadIdx.x ? 0 : draw(), first = 0; /* first ticket of the iteration */
    int             iteration = 0;

    while (true) {
      if (!threadIdx.x) {
        for (; next - first >= A.tiles; first += A.tiles) iteration++;
        drawn[0] = p.order ? p.order[next - first] : (int)(next - first);
        drawn[1] = iteration;
        if (p.done && iteration < p.count) BAIWaitForTile(p, drawn[0], iteration); /* another thread block may still be at it */
      }
      __syncthreads();
      const int tile = drawn[0];

      iteration = drawn[1];
      if (iteration >= p.count) return;
      if (!threadIdx.x) next = draw(); /* ahead of its use, which hides the way to the queue */
      iterate(tile, iteration, 0, 0, [] {});
      if (p.done && !threadIdx.x) BAITileIsDone(p, tile, iteration + 1);
    }
  } else {
    const int own = (A.tiles - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x;

    for (int iteration = 0; iteration < p.count; iteration++) {
      const int from = order == BAI_FLAGS ? (p.current + iteration) & 1 : 0, to = order == BAI_FLAGS ? from ^ 1 : 0;

      for (int m = 0; m < own; m++) { /* a tile is the same thread block's in both directions, and so waits for itself */
        const int k    = blockIdx.x + (order == BAI_TURNS && BAIGoesBackward(p, iteration) ? own - 1 - m : m) * gridDim.x;
        const int tile = order == BAI_TURNS ? p.order[k] : k;

        iterate(tile, iteration, from, to, [&] {
          if (order == BAI_FLAGS || order == BAI_TURNS) BAIWaitForNeighbors<order>(p, tile, iteration);
        });
        if ((order == BAI_FLAGS || order == BAI_TURNS) && !threadIdx.x) BAITileIsDone(p, tile, iteration + 1);
      }
    }
  }
}

/* Kernels that take (BAISliced, BAISweep), or NULL if none of their kind fits */
const void *BAIGenericKernel(const BAISliced *, int wide, BAIOrder);
const void *BAIStreamKernel(const BAISliced *, BAIOrder, bool momentum);
/* Takes (BAISliced, BAISweep, BAIStop) */
const void *BAIResidentKernel(const BAISliced *, BAIOrder);
