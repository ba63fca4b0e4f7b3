/*
   Block-asynchronous iteration, as defined in engine.h. The kernel is persistent: all global iterations of a call are one
   launch, whatever the number of tiles.

   Moved per global iteration from device memory: the entries outside the blocks and b once, x twice; the entries inside
   the blocks once per local sweep, but for what the caches keep of them.
*/
#include "iterate.h"
#include "state.h"
#include <cuda/std/chrono>

typedef struct {
  BAIInt           count, local_iters;
  BAIReal          omega, local_omega;
  const BAIScalar *b, *ghost;
  BAIScalar       *x[2];
  int              current;
  BAIScalar       *scratch;
  BAINeighbors     neighbors;
  int             *done, *stalled;
  long long       *tickets; /* drawn so far */
} Sweep;

/* How thread blocks go through tiles and global iterations */
typedef enum {
  OWN,   /* each keeps its own tiles; with no more tiles than thread blocks, that is as fast as can be */
  QUEUE, /* each draws the next tile from a queue, so that no tile falls behind the others however fast the multiprocessors are */
  FLAGS  /* each keeps its own tiles, and waits for their neighbours: mode sync */
} Order;

/* Waits until a tile has so many global iterations behind it; gives up after ten seconds */
static __device__ void WaitForTile(const Sweep &s, int tile, int iterations)
{
  using clock = cuda::std::chrono::system_clock;
  cuda::atomic_ref<int, cuda::thread_scope_device> done(s.done[tile]), stalled(*s.stalled);

  if (done.load(cuda::memory_order_acquire) >= iterations) return;
  for (const auto start = clock::now(); done.load(cuda::memory_order_acquire) < iterations && !stalled.load(cuda::memory_order_relaxed);) {
    if (clock::now() - start > cuda::std::chrono::seconds(10)) stalled.store(1, cuda::memory_order_relaxed);
  }
}

/* Called by one thread, after all of the thread block have written their x and met */
static __device__ void TileIsDone(const Sweep &s, int tile, int iterations)
{
  cuda::atomic_ref<int, cuda::thread_scope_device>(s.done[tile]).store(iterations, cuda::memory_order_release);
}

/* One global iteration of one tile by one thread block: reads x, writes next; work has room for 3 tiles */
template <typename LI>
static __device__ void IterateTile(const BAISliced &A, const Sweep &p, int tile, const BAIScalar *x, BAIScalar *next, BAIScalar *work)
{
  const int  lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES;
  const int  first = tile * A.tile_rows, rows = min(A.tile_rows, A.n - first), slice0 = tile * A.tile_slices;
  BAIScalar *s = work, *y = s + A.tile_rows, *ynext = y + A.tile_rows;
  const LI  *loc_j = static_cast<const LI *>(A.loc_j);

  for (int slice = warp; slice < A.tile_slices; slice += warps) {
    const int i = slice * BAI_LANES + lane;

    if (i >= rows) continue;
    BAIScalar       sum = p.b[first + i];
    const long long end = A.off_first[slice0 + slice + 1];

    for (long long k = A.off_first[slice0 + slice] + lane; k < end; k += BAI_LANES) {
      const int j = A.off_j[k];

      sum -= A.off_a[k] * (j < A.n ? BAILoad(x + j) : p.ghost[j - A.n]);
    }
    s[i] = sum;
    y[i] = BAILoad(x + first + i);
  }
  __syncthreads();

  for (BAIInt sweep = 0; sweep < p.local_iters; sweep++) {
    for (int slice = warp; slice < A.tile_slices; slice += warps) {
      const int i = slice * BAI_LANES + lane;

      if (i >= rows) continue;
      BAIScalar       sum = s[i];
      const long long end = A.loc_first[slice0 + slice + 1];

      for (long long k = A.loc_first[slice0 + slice] + lane; k < end; k += BAI_LANES) sum -= A.loc_a[k] * y[loc_j[k]];
      ynext[i] = y[i] + p.local_omega * (sum * A.dinv[first + i] - y[i]);
    }
    __syncthreads();
    BAIScalar *swap = y;
    y               = ynext;
    ynext           = swap;
  }

  for (int i = threadIdx.x; i < rows; i += blockDim.x) {
    const BAIScalar xi = BAILoad(x + first + i);

    BAIStore(next + first + i, xi + p.omega * (y[i] - xi));
  }
  __syncthreads();
}

template <typename LI, Order order>
static __global__ void __launch_bounds__(1024) Iterate(BAISliced A, Sweep p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ long long ticket;
  BAIScalar *work = p.scratch ? p.scratch + 3 * (size_t)A.tile_rows * blockIdx.x : reinterpret_cast<BAIScalar *>(shared);

  if constexpr (order == QUEUE) {
    for (const long long tickets = (long long)p.count * A.tiles;;) {
      if (!threadIdx.x) {
        ticket = cuda::atomic_ref<long long, cuda::thread_scope_device>(*p.tickets).fetch_add(1, cuda::memory_order_relaxed);
        if (ticket < tickets) WaitForTile(p, (int)(ticket % A.tiles), (int)(ticket / A.tiles)); /* another thread block may still be at it */
      }
      __syncthreads();
      if (ticket >= tickets) return;
      const int tile = (int)(ticket % A.tiles), iteration = (int)(ticket / A.tiles);

      IterateTile<LI>(A, p, tile, p.x[0], p.x[0], work);
      if (!threadIdx.x) TileIsDone(p, tile, iteration + 1);
    }
  } else {
    for (int iteration = 0; iteration < p.count; iteration++) {
      const int from = order == FLAGS ? (p.current + iteration) & 1 : 0, to = order == FLAGS ? from ^ 1 : 0;

      for (int tile = blockIdx.x; tile < A.tiles; tile += gridDim.x) {
        if (order == FLAGS) {
          for (int k = p.neighbors.first[tile] + threadIdx.x; k < p.neighbors.first[tile + 1]; k += blockDim.x) WaitForTile(p, p.neighbors.tile[k], iteration);
          __syncthreads();
        }
        IterateTile<LI>(A, p, tile, p.x[from], p.x[to], work);
        if (order == FLAGS && !threadIdx.x) TileIsDone(p, tile, iteration + 1);
      }
    }
  }
}

BAIStatus BAISweepSetUp(BAIState state)
{
  const BAISliced A    = state->A;
  const bool      sync = state->p.mode == BAI_MODE_SYNC;
  int             device, multiprocessors, shared_max, resident;
  const void     *kernels[2][3] = {
    {(const void *)Iterate<uint16_t, OWN>, (const void *)Iterate<uint16_t, QUEUE>, (const void *)Iterate<uint16_t, FLAGS>},
    {(const void *)Iterate<int, OWN>,      (const void *)Iterate<int, QUEUE>,      (const void *)Iterate<int, FLAGS>     }
  };

  if (!A.tiles) return BAIStatusOf(BAI_OK);
  state->threads = A.tile_slices * BAI_LANES < 1024 ? A.tile_slices * BAI_LANES : 1024;
  state->shared  = 3 * (size_t)A.tile_rows * sizeof(BAIScalar);
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDATry(cudaDeviceGetAttribute(&shared_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));

  const bool spill = state->shared + 64 > (size_t)shared_max; /* the kernel has a few bytes of its own there */

  if (spill) state->shared = 0;
  for (Order order : {sync ? FLAGS : OWN, QUEUE}) {
    state->kernel = kernels[state->wide][order];
    CUDATry(cudaFuncSetAttribute(state->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)state->shared));
    CUDATry(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, state->kernel, state->threads, state->shared));
    state->grid = A.tiles < resident * multiprocessors ? A.tiles : resident * multiprocessors;
    if (state->p.mode != BAI_MODE_ASYNC || A.tiles <= state->grid) break;
  }
  if (spill) BAITry(BAICUDAAllocate(state, 3 * (size_t)A.tile_rows * state->grid * sizeof(BAIScalar), &state->scratch));
  if (sync || A.tiles > state->grid) {
    BAITry(BAICUDAAllocate(state, A.tiles * sizeof(int), &state->done));
    BAITry(BAICUDAAllocate(state, sizeof(long long), &state->tickets));
  }
  if (sync) {
    BAITry(BAICUDAAllocate(state, A.n * sizeof(BAIScalar), &state->x[1]));
    BAITry(BAINeighborsCreate(state));
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISweepRun(BAIState state, BAIInt count)
{
  Sweep p           = {count, state->p.local_iters, state->p.omega, state->p.local_omega, state->b, state->ghost, {state->x[0], state->x[1]}, state->current, state->scratch, state->neighbors, state->done, &state->result->stalled, state->tickets};
  void *arguments[] = {&state->A, &p};

  if (!state->A.tiles || !count) return BAIStatusOf(BAI_OK);
  if (state->done) {
    CUDATry(cudaMemsetAsync(state->done, 0, state->A.tiles * sizeof(int), state->stream));
    CUDATry(cudaMemsetAsync(state->tickets, 0, sizeof(long long), state->stream));
  }
  switch (state->p.mode) {
  case BAI_MODE_ASYNC:
    CUDATry(cudaLaunchKernel(state->kernel, dim3(state->grid), dim3(state->threads), arguments, state->shared, state->stream));
    break;
  case BAI_MODE_LAUNCH:
    p.count = 1;
    for (BAIInt i = 0; i < count; i++) CUDATry(cudaLaunchKernel(state->kernel, dim3(state->grid), dim3(state->threads), arguments, state->shared, state->stream));
    break;
  case BAI_MODE_SYNC: /* thread blocks wait for each other, so all must be there at once */
    CUDATry(cudaLaunchCooperativeKernel(state->kernel, dim3(state->grid), dim3(state->threads), arguments, state->shared, state->stream));
    state->current = (int)((state->current + count) & 1);
    break;
  }
  return BAIStatusOf(BAI_OK);
}
