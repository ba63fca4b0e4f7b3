/*
   Chooses the kernel, and launches it
*/
#include "sweep.h"
#include <limits.h>

enum {
  MOST = 1 << 24 /* global iterations of one launch; even */
};

/* Thread blocks wait for each other, so all of them must be there at once */
static bool Waits(BAIState state)
{
  return state->p.mode == BAI_MODE_SYNC || state->p.mode == BAI_MODE_COLOR;
}

/* Takes a kernel if there is one and the device has room for it; room is then the thread blocks that can be there at once */
static BAIStatus TryKernel(BAIState state, const void *kernel, int threads, size_t shared, int *room)
{
  int device, multiprocessors, shared_max, resident;

  *room = 0;
  if (!kernel) return BAIStatusOf(BAI_OK);
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDATry(cudaDeviceGetAttribute(&shared_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (shared + 64 > (size_t)shared_max) return BAIStatusOf(BAI_OK); /* kernels have a few bytes of their own there */
  CUDATry(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  CUDATry(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared));
  *room          = resident * multiprocessors;
  state->kernel  = kernel;
  state->threads = threads;
  state->shared  = shared;
  state->grid    = state->A.tiles < *room ? state->A.tiles : *room;
  return BAIStatusOf(BAI_OK);
}

static BAIStatus ChooseKernel(BAIState state)
{
  const BAISliced *A      = &state->A;
  const int        lanes  = A->tile_slices * BAI_LANES, row_threads = lanes, threads = lanes < 1024 ? lanes : 1024;
  const size_t     two    = 2 * (size_t)lanes * sizeof(BAIScalar), three = 3 * (size_t)A->tile_rows * sizeof(BAIScalar);
  BAIOrder         order  = state->p.mode == BAI_MODE_SYNC ? BAI_FLAGS : state->p.mode == BAI_MODE_COLOR ? BAI_TURNS : BAI_OWN;
  int              room;

  if (state->p.mode != BAI_MODE_LAUNCH && !state->nghost) {
    BAITry(TryKernel(state, BAIResidentKernel(A, order), row_threads, two, &room));
    state->resident = room > A->tiles; /* one more for the watcher */
    if (state->resident) return BAIStatusOf(BAI_OK);
  }
  for (int again = 0; again < 2; again++) {
    BAITry(TryKernel(state, BAIStreamKernel(A, order), row_threads, two, &room));
    if (!room) BAITry(TryKernel(state, BAIGenericKernel(A, state->wide, order), threads, three, &room));
    if (!room) {
      BAITry(TryKernel(state, BAIGenericKernel(A, state->wide, order), threads, 0, &room));
      if (again || order != BAI_OWN || A->tiles <= room || state->p.mode == BAI_MODE_LAUNCH) BAITry(BAICUDAAllocate(state, three * state->grid, &state->scratch));
    }
    if (state->p.mode != BAI_MODE_ASYNC || A->tiles <= room) break;
    order = BAI_QUEUE;
  }
  state->queue = order == BAI_QUEUE;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISweepSetUp(BAIState state)
{
  const int tiles = state->A.tiles;

  if (!tiles) return BAIStatusOf(BAI_OK);
  BAITry(ChooseKernel(state));
  if (state->p.mode == BAI_MODE_SYNC) BAITry(BAICUDAAllocate(state, state->A.n * sizeof(BAIScalar), &state->x[1]));
  if (Waits(state) || state->queue) BAITry(BAINeighborsCreate(state));
  /* With many tiles a thread block is through with one long before it is drawn again; and were it not, x would only be older */
  if (Waits(state) || (state->queue && tiles / 8 < state->grid)) {
    BAITry(BAICUDAAllocate(state, tiles * sizeof(int), &state->done));
    CUDATry(cudaMemsetAsync(state->done, 0, tiles * sizeof(int), state->stream));
  }
  BAITry(BAICUDAAllocate(state, sizeof(long long), &state->tickets));
  CUDATry(cudaMemsetAsync(state->tickets, 0, sizeof(long long), state->stream));
  if (state->resident) {
    BAITry(BAICUDAAllocate(state, 2 * tiles * sizeof(BAIReal), &state->stop.r2));
    BAITry(BAICUDAAllocate(state, sizeof(BAIControl), &state->stop.control));
    state->stop.b2 = state->stop.r2 + tiles;
    CUDATry(cudaMallocHost((void **)&state->stop.result, sizeof(BAISolution)));
  }
  return BAIStatusOf(BAI_OK);
}

static BAISweep Arguments(BAIState state, BAIInt count, BAIDirection direction)
{
  const BAISweep p = {count, state->p.local_iters, state->p.omega, state->local_omega, state->b, state->ghost, {state->x[0], state->x[1]}, state->current, state->scratch, state->neighbors, direction, state->order, state->done, state->done_before, &state->result->stalled, &state->result_host->stalled, state->tickets, state->tickets_before};

  return p;
}

/* Launches the kernel for count global iterations; done and tickets go on from where the last launch left them */
static BAIStatus Launch(BAIState state, BAIInt count, BAIDirection direction)
{
  BAISweep   p           = Arguments(state, count, direction);
  BAIStop    stop        = {};
  void      *arguments[] = {&state->A, &p, &stop};
  const dim3 grid(state->grid), threads(state->threads);

  if (Waits(state)) CUDATry(cudaLaunchCooperativeKernel(state->kernel, grid, threads, arguments, state->shared, state->stream)); /* all thread blocks must be there at once */
  else CUDATry(cudaLaunchKernel(state->kernel, grid, threads, arguments, state->shared, state->stream));
  if (state->done) {
    state->done_before += (int)count;
    if (state->done_before > INT_MAX - 2 * MOST) {
      CUDATry(cudaMemsetAsync(state->done, 0, state->A.tiles * sizeof(int), state->stream));
      state->done_before = 0;
    }
  }
  if (state->queue) state->tickets_before += (long long)count * state->A.tiles + state->grid; /* each thread block ends with one ticket too many */
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISweepRun(BAIState state, BAIInt count, BAIDirection direction)
{
  const BAIInt most = state->p.mode == BAI_MODE_LAUNCH ? 1 : MOST;

  if (!state->A.tiles) return BAIStatusOf(BAI_OK);
  if (*(volatile int *)&state->result_host->stalled) return BAIStatusOf(BAI_ERR_STALLED); /* an earlier launch, which nobody has waited for */
  for (BAIInt done = 0; done < count; done += most) BAITry(Launch(state, count - done < most ? count - done : most, direction));
  if (state->p.mode == BAI_MODE_SYNC) state->current = (int)((state->current + count) & 1);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISweepSolve(BAIState state, const BAITolerances *t, BAISolution *solution)
{
  const int tiles       = state->A.tiles;
  BAISweep  p           = Arguments(state, t->max_it, BAI_FORWARD);
  BAIStop   stop        = state->stop;
  void     *arguments[] = {&state->A, &p, &stop};

  stop.rtol        = t->rtol;
  stop.abstol      = t->abstol;
  stop.dtol        = t->dtol;
  stop.bnorm2      = t->bnorm2;
  stop.result->its = -1;
  CUDATry(cudaMemsetAsync(stop.control, 0, sizeof(BAIControl), state->stream));
  CUDATry(cudaMemsetAsync(stop.r2, 0xbf, 2 * tiles * sizeof(BAIReal), state->stream)); /* negative: not there yet */
  CUDATry(cudaLaunchCooperativeKernel(state->kernel, dim3(tiles + 1), dim3(state->threads), arguments, state->shared, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  *solution = *stop.result;
  return BAIStatusOf(solution->its < 0 ? BAI_ERR_STALLED : BAI_OK);
}
