/*
   Block-asynchronous iteration, as defined in engine.h: one kernel for all modes. It is persistent: each thread block
   keeps to its tiles for all global iterations of a launch.

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
} Sweep;

/* Waits until the neighbours of a tile have so many global iterations behind them; gives up after ten seconds */
static __device__ void WaitForNeighbors(const Sweep &s, int tile, int iterations)
{
  using clock = cuda::std::chrono::system_clock;
  cuda::atomic_ref<int, cuda::thread_scope_device> stalled(*s.stalled);

  for (int k = s.neighbors.first[tile] + threadIdx.x; k < s.neighbors.first[tile + 1]; k += blockDim.x) {
    cuda::atomic_ref<int, cuda::thread_scope_device> done(s.done[s.neighbors.tile[k]]);

    if (done.load(cuda::memory_order_acquire) >= iterations) continue;
    for (const auto start = clock::now(); done.load(cuda::memory_order_acquire) < iterations && !stalled.load(cuda::memory_order_relaxed);) {
      if (clock::now() - start > cuda::std::chrono::seconds(10)) stalled.store(1, cuda::memory_order_relaxed);
    }
  }
  __syncthreads();
}

template <typename LI, bool sync>
static __global__ void __launch_bounds__(1024) IterateTiles(BAISliced A, Sweep p)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const int  lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, warps = blockDim.x / BAI_LANES;
  BAIScalar *s = p.scratch ? p.scratch + 3 * (size_t)A.tile_rows * blockIdx.x : reinterpret_cast<BAIScalar *>(shared);
  BAIScalar *y = s + A.tile_rows, *ynext = y + A.tile_rows;
  const LI  *loc_j = static_cast<const LI *>(A.loc_j);

  for (BAIInt iteration = 0; iteration < p.count; iteration++) {
    const BAIScalar *x    = p.x[sync ? (p.current + iteration) & 1 : 0];
    BAIScalar       *next = p.x[sync ? (p.current + iteration + 1) & 1 : 0];

    for (int tile = blockIdx.x; tile < A.tiles; tile += gridDim.x) {
      const int first = tile * A.tile_rows, rows = min(A.tile_rows, A.n - first), slice0 = tile * A.tile_slices;

      if (sync) WaitForNeighbors(p, tile, (int)iteration);
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
      if (sync && !threadIdx.x) cuda::atomic_ref<int, cuda::thread_scope_device>(p.done[tile]).store((int)iteration + 1, cuda::memory_order_release);
    }
  }
}

BAIStatus BAISweepSetUp(BAIState state)
{
  const BAISliced A    = state->A;
  const bool      sync = state->p.mode == BAI_MODE_SYNC;
  int             device, multiprocessors, shared_max, resident;
  const void     *kernels[2][2] = {
    {(const void *)IterateTiles<uint16_t, false>, (const void *)IterateTiles<uint16_t, true>},
    {(const void *)IterateTiles<int, false>,      (const void *)IterateTiles<int, true>     }
  };

  if (!A.tiles) return BAIStatusOf(BAI_OK);
  state->kernel  = kernels[state->wide][sync];
  state->threads = A.tile_slices * BAI_LANES < 1024 ? A.tile_slices * BAI_LANES : 1024;
  state->shared  = 3 * (size_t)A.tile_rows * sizeof(BAIScalar);
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDATry(cudaDeviceGetAttribute(&shared_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));

  const bool spill = state->shared > (size_t)shared_max;

  if (spill) state->shared = 0;
  CUDATry(cudaFuncSetAttribute(state->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)state->shared));
  CUDATry(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, state->kernel, state->threads, state->shared));
  state->grid = A.tiles < resident * multiprocessors ? A.tiles : resident * multiprocessors;
  if (spill) BAITry(BAICUDAAllocate(state, 3 * (size_t)A.tile_rows * state->grid * sizeof(BAIScalar), &state->scratch));
  if (sync) {
    BAITry(BAICUDAAllocate(state, A.tiles * sizeof(int), &state->done));
    BAITry(BAICUDAAllocate(state, A.n * sizeof(BAIScalar), &state->x[1]));
    BAITry(BAINeighborsCreate(state));
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISweepRun(BAIState state, BAIInt count)
{
  const BAIMode mode = state->p.mode;
  Sweep         p    = {count, state->p.local_iters, state->p.omega, state->p.local_omega, state->b, state->ghost, {state->x[0], state->x[1]}, state->current, state->scratch, state->neighbors, state->done, &state->result->stalled};
  void         *arguments[] = {&state->A, &p};

  if (!state->A.tiles || !count) return BAIStatusOf(BAI_OK);
  switch (mode) {
  case BAI_MODE_ASYNC:
    CUDATry(cudaLaunchKernel(state->kernel, dim3(state->grid), dim3(state->threads), arguments, state->shared, state->stream));
    break;
  case BAI_MODE_LAUNCH:
    p.count = 1;
    for (BAIInt i = 0; i < count; i++) CUDATry(cudaLaunchKernel(state->kernel, dim3(state->grid), dim3(state->threads), arguments, state->shared, state->stream));
    break;
  case BAI_MODE_SYNC: /* blocks wait for each other, so all must be there at once */
    CUDATry(cudaMemsetAsync(state->done, 0, state->A.tiles * sizeof(int), state->stream));
    CUDATry(cudaLaunchCooperativeKernel(state->kernel, dim3(state->grid), dim3(state->threads), arguments, state->shared, state->stream));
    state->current = (int)((state->current + count) & 1);
    break;
  }
  return BAIStatusOf(BAI_OK);
}
