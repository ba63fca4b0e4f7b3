/*
   What the kernels share: generic.cu takes any matrix, stream.cu those whose rows inside the blocks fit registers,
   resident.cu those that fit registers as a whole. sweep.cu chooses
*/
#pragma once

#include "iterate.h"
#include "state.h"

/* How thread blocks go through tiles and global iterations */
typedef enum {
  BAI_OWN,   /* each keeps its own tiles; with no more tiles than thread blocks, that is as fast as can be */
  BAI_QUEUE, /* each draws the next tile from a queue, so that no tile falls behind the others however fast the multiprocessors are */
  BAI_FLAGS, /* each keeps its own tiles, and waits for their neighbours: mode sync */
  BAI_TURNS  /* the same, but tiles whose turn is later wait for the same iteration of those before them: mode color */
} BAIOrder;

typedef struct {
  BAIInt           count, local_iters;
  BAIReal          omega, local_omega;
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

/* Spins until the condition holds, for some ten seconds at most; then, or if another thread gave up, stalled is set, on the host too */
template <typename Condition>
static __device__ inline void BAISpin(int *stalled_flag, int *stalled_host, Condition condition)
{
  const long long cycles = 20000000000;

  if (condition()) return;
  for (const long long start = clock64(); !condition();) {
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

/*
   Goes through tiles and iterations in the order given; iterate(tile, from, to, wait) does one global iteration of a tile,
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
      iterate(tile, 0, 0, [] {});
      if (p.done && !threadIdx.x) BAITileIsDone(p, tile, iteration + 1);
    }
  } else {
    const int own = (A.tiles - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x;

    for (int iteration = 0; iteration < p.count; iteration++) {
      const int from = order == BAI_FLAGS ? (p.current + iteration) & 1 : 0, to = order == BAI_FLAGS ? from ^ 1 : 0;

      for (int m = 0; m < own; m++) { /* a tile is the same thread block's in both directions, and so waits for itself */
        const int k    = blockIdx.x + (order == BAI_TURNS && BAIGoesBackward(p, iteration) ? own - 1 - m : m) * gridDim.x;
        const int tile = order == BAI_TURNS ? p.order[k] : k;

        iterate(tile, from, to, [&] {
          if (order == BAI_FLAGS || order == BAI_TURNS) BAIWaitForNeighbors<order>(p, tile, iteration);
        });
        if ((order == BAI_FLAGS || order == BAI_TURNS) && !threadIdx.x) BAITileIsDone(p, tile, iteration + 1);
      }
    }
  }
}

/* Kernels that take (BAISliced, BAISweep), or NULL if none of their kind fits */
const void *BAIGenericKernel(const BAISliced *, int wide, BAIOrder);
const void *BAIStreamKernel(const BAISliced *, BAIOrder);
/* Takes (BAISliced, BAISweep, BAIStop) */
const void *BAIResidentKernel(const BAISliced *, BAIOrder);
