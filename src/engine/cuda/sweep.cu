/*
   Chooses the kernel, and launches it
*/
#include "sweep.h"
#include <limits.h>

enum {
  MOST = 1 << 24 /* global iterations of one launch; even */
};

/* Takes a kernel if there is one and a multiprocessor has room for enough thread blocks; room is then those that can be there at once */
static BAIStatus TryKernel(BAIState state, const void *kernel, int threads, size_t shared, int enough, BAIPlan *plan, int *room)
{
  cudaFuncAttributes attributes;
  int                device, multiprocessors, shared_max, resident;

  *room = 0;
  if (!kernel) return BAIStatusOf(BAI_OK);
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDATry(cudaDeviceGetAttribute(&shared_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (shared + 512 > (size_t)shared_max) return BAIStatusOf(BAI_OK); /* kernels have a few bytes of their own there */
  CUDATry(cudaFuncGetAttributes(&attributes, kernel));
  if ((int)shared > attributes.maxDynamicSharedSizeBytes) CUDATry(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared)); /* of all matrices the largest; no more, as it is taken from the cache */
  CUDATry(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared));
  if (resident < enough) return BAIStatusOf(BAI_OK);
  *room         = resident * multiprocessors;
  plan->kernel  = kernel;
  plan->threads = threads;
  plan->shared  = shared;
  plan->grid    = state->A.tiles < *room ? state->A.tiles : *room;
  return BAIStatusOf(BAI_OK);
}

/* The same, if the device can do that, and if there is room for thread blocks that are at work while others wait */
static BAIStatus TryStaged(BAIState state, int threads, size_t shared, BAIPlan *plan, int *room)
{
  enum {
    ENOUGH = 4
  };
  size_t             stages = 0;
  const void        *kernel = BAIStagedKernel(&state->A, plan->order, plan->momentum, &stages);
  cudaFuncAttributes attributes;

  *room = 0;
  if (!kernel) return BAIStatusOf(BAI_OK);
  CUDATry(cudaFuncGetAttributes(&attributes, kernel));
  if (attributes.binaryVersion < 90) return BAIStatusOf(BAI_OK);
  return TryKernel(state, kernel, threads, shared + stages, ENOUGH, plan, room);
}

static BAIStatus NeedScratch(BAIState state, int grid, size_t bytes)
{
  if (state->scratch_grid >= grid) return BAIStatusOf(BAI_OK);
  state->scratch_grid = grid;
  return BAICUDAAllocate(state, bytes * (size_t)grid, &state->scratch);
}

static BAIStatus ChooseKernel(BAIState state, BAIMode mode, int momentum, BAIPlan *plan)
{
  const BAISliced *A     = &state->A;
  const int        lanes = A->tile_slices * BAI_LANES, threads = min(max(lanes, A->piece_first ? 512 : 0), 1024); /* of long rows, a warp has a piece */
  const size_t     two = 2 * (size_t)lanes * sizeof(BAIScalar), three = 3 * (size_t)A->tile_rows * sizeof(BAIScalar);
  int              room;

  plan->momentum = momentum;
  plan->order    = mode == BAI_MODE_SYNC ? BAI_FLAGS : mode == BAI_MODE_COLOR ? BAI_TURNS : mode == BAI_MODE_ASYNC && state->p.staleness >= 0 ? BAI_LAG : BAI_OWN;
  plan->once     = mode == BAI_MODE_LAUNCH;
  for (int long_rows = 0; long_rows < 2 && mode != BAI_MODE_LAUNCH && !state->nghost; long_rows++) {
    size_t      rows   = 0;
    const void *kernel = BAIResidentKernel(A, plan->order, plan->momentum, long_rows, &rows);

    BAITry(TryKernel(state, kernel, lanes, two + rows, 1, plan, &room));
    plan->resident = room >= A->tiles + (plan->order == BAI_OWN); /* one more for the watcher */
    if (plan->resident) return BAIStatusOf(BAI_OK);
  }
  for (int again = 0; again < 2; again++) {
    BAITry(TryStaged(state, lanes, two, plan, &room));
    if (!room) BAITry(TryKernel(state, BAIStreamKernel(A, plan->order, plan->momentum), lanes, two, 1, plan, &room));
    if (!room) BAITry(TryKernel(state, BAIGenericKernel(A, state->wide, plan->order), threads, three, 1, plan, &room));
    if (!room) {
      BAITry(TryKernel(state, BAIGenericKernel(A, state->wide, plan->order), threads, 0, 1, plan, &room));
      if (again || plan->order != BAI_OWN || A->tiles <= room || mode == BAI_MODE_LAUNCH) BAITry(NeedScratch(state, plan->grid, three));
    }
    if (mode != BAI_MODE_ASYNC || plan->order == BAI_LAG || A->tiles <= room) break;
    plan->order = BAI_QUEUE;
  }
  return BAIStatusOf(BAI_OK);
}

/* Tiles are waited for, so all thread blocks must be there at once */
static bool Waits(const BAIPlan *plan)
{
  return !plan->once && (plan->order == BAI_FLAGS || plan->order == BAI_LAG || plan->order == BAI_TURNS);
}

/* Chooses what waits for what, and makes what that takes */
static BAIStatus Plan(BAIState state, BAIMode mode, int momentum, BAIPlan *plan)
{
  enum { /* tiles a thread block */
    ONCE = 8, /* with which a launch an iteration costs less than flags */
    MANY = 4  /* with which one is through with a tile long before it is drawn again; and were it not, x would only be older */
  };

  BAITry(ChooseKernel(state, mode, momentum, plan));
  if (mode == BAI_MODE_SYNC) plan->once = state->A.tiles / ONCE >= plan->grid;
  plan->uses_done = Waits(plan) || (plan->order == BAI_QUEUE && state->A.tiles / MANY < plan->grid);
  if (Waits(plan) || plan->order == BAI_QUEUE) BAITry(BAINeighborsCreate(state));
  if (plan->order == BAI_TURNS || plan->order == BAI_QUEUE) BAITry(BAITurnsCreate(state, plan->order == BAI_TURNS)); /* a queue colour by colour converges as mode color does */
  if (!plan->uses_done || state->done) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(state, state->A.tiles * sizeof(int), &state->done));
  CUDATry(cudaMemsetAsync(state->done, 0, state->A.tiles * sizeof(int), state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISweepPrepare(BAIState state, BAIMode mode)
{
  const int tiles = state->A.tiles;
  BAIPlan  *plan  = &state->plan[mode];

  if (!tiles || plan->kernel) return BAIStatusOf(BAI_OK);
  BAITry(Plan(state, mode, state->p.momentum == 1 || (state->p.momentum && mode == BAI_MODE_SYNC), plan));
  if (mode == BAI_MODE_SYNC && plan->momentum && !plan->resident) BAITry(Plan(state, mode, 0, &state->plain));
  if (plan->momentum && !state->before) BAITry(BAICUDAAllocate(state, BAIPlaces(&state->A) * sizeof(BAIScalar), &state->before));
  if (mode == BAI_MODE_SYNC) BAITry(BAICUDAAllocate(state, state->A.n * sizeof(BAIScalar), &state->x[1]));
  if (plan->order == BAI_QUEUE) {
    BAITry(BAICUDAAllocate(state, sizeof(long long), &state->tickets));
    CUDATry(cudaMemsetAsync(state->tickets, 0, sizeof(long long), state->stream));
  }
  if (plan->resident && !state->stop.control) {
    BAITry(BAICUDAAllocate(state, 2 * tiles * sizeof(BAIReal), &state->stop.r2));
    BAITry(BAICUDAAllocate(state, sizeof(BAIControl), &state->stop.control));
    state->stop.b2     = state->stop.r2 + tiles;
    state->stop.result = &state->pinned->solution;
  }
  return BAIStatusOf(BAI_OK);
}

static BAISweep Arguments(BAIState state, const BAIPlan *plan, BAIInt count, const BAIStep *step)
{
  BAISweep p = {};

  p.count          = count;
  p.local_iters    = step->local_iters ? step->local_iters : state->p.local_iters;
  p.omega          = step->omega;
  p.momentum       = step->momentum;
  p.local_omega    = state->local_omega;
  p.fresh          = step->fresh;
  p.direction      = step->direction;
  p.before         = plan->momentum ? state->before : NULL;
  p.b              = state->b;
  p.ghost          = state->ghost;
  p.x[0]           = state->x[0];
  p.x[1]           = state->x[1];
  p.current        = state->current;
  p.scratch        = plan->shared ? NULL : state->scratch;
  p.neighbors      = state->neighbors;
  p.order          = state->order;
  p.done           = plan->uses_done ? state->done : NULL;
  p.done_before    = state->done_before;
  p.staleness      = (int)state->p.staleness;
  p.stalled        = &state->result->stalled;
  p.stalled_host   = &state->pinned->result.stalled;
  p.tickets        = state->tickets;
  p.tickets_before = state->tickets_before;
  return p;
}

/* count global iterations have been launched: done goes on from there */
static BAIStatus CountDone(BAIState state, const BAIPlan *plan, BAIInt count)
{
  if (!plan->uses_done) return BAIStatusOf(BAI_OK);
  state->done_before += (int)count;
  if (state->done_before > INT_MAX - 2 * MOST) {
    CUDATry(cudaMemsetAsync(state->done, 0, state->A.tiles * sizeof(int), state->stream));
    state->done_before = 0;
  }
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Launch(BAIState state, const BAIPlan *plan, BAIInt count, const BAIStep *step)
{
  const int      grid        = plan->once && plan->shared ? state->A.tiles : plan->grid; /* the device hands tiles out as fast as can be */
  BAISweep       p           = Arguments(state, plan, count, step);
  BAIStop        stop        = {};
  void          *arguments[] = {&state->A, &p, &stop};

  p.fresh |= !state->has_before;
  state->has_before = plan->momentum;
  if (Waits(plan)) CUDATry(cudaLaunchCooperativeKernel(plan->kernel, dim3(grid), dim3(plan->threads), arguments, plan->shared, state->stream));
  else CUDATry(cudaLaunchKernel(plan->kernel, dim3(grid), dim3(plan->threads), arguments, plan->shared, state->stream));
  if (plan->order == BAI_QUEUE) state->tickets_before += (long long)count * state->A.tiles + 3 * plan->grid; /* each thread block ends with three tickets too many */
  if (step->mode == BAI_MODE_SYNC) state->current = (int)((state->current + count) & 1);
  return CountDone(state, plan, count);
}

/* Kernels of the other modes know of one buffer only */
static BAIStatus OneBuffer(BAIState state, BAIMode mode)
{
  if (mode == BAI_MODE_SYNC || !state->current) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(state->x[0], state->x[1], (size_t)state->A.n * sizeof(BAIScalar), cudaMemcpyDeviceToDevice, state->stream));
  state->current = 0;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISweepRun(BAIState state, BAIInt count, const BAIStep *how)
{
  const BAIPlan *plan = how->mode == BAI_MODE_SYNC && how->momentum == 0 && state->plain.kernel ? &state->plain : &state->plan[how->mode];
  const BAIInt   most = plan->once ? 1 : MOST;
  BAIStep        step = *how;

  if (!state->A.tiles) return BAIStatusOf(BAI_OK);
  if (*(volatile int *)&state->pinned->result.stalled) return BAIStatusOf(BAI_ERR_STALLED); /* an earlier launch, which nobody has waited for */
  BAITry(OneBuffer(state, step.mode));
  for (BAIInt left = count; left > 0; left -= most < left ? most : left) {
    BAITry(Launch(state, plan, left < most ? left : most, &step));
    step.fresh = 0;
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISweepSolve(BAIState state, const BAITolerances *t, const BAIStep *step, BAISolution *solution)
{
  const BAIPlan *plan        = &state->plan[step->mode];
  const int      tiles       = state->A.tiles;
  BAISweep       p           = Arguments(state, plan, t->max_it < MOST ? t->max_it : MOST, step);
  BAIStop        stop        = state->stop;
  void          *arguments[] = {&state->A, &p, &stop};

  BAITry(OneBuffer(state, step->mode));
  p.fresh |= !state->has_before;
  state->has_before = plan->momentum;
  p.current        = state->current;
  stop.rtol        = t->rtol;
  stop.abstol      = t->abstol;
  stop.dtol        = t->dtol;
  stop.bnorm2      = t->bnorm2;
  stop.accelerate  = step->accelerate;
  stop.mode        = step->mode;
  stop.asked       = step->asked;
  stop.accelerated = step->accelerated;
  stop.result->its = -1;
  CUDATry(cudaMemsetAsync(stop.control, 0, sizeof(BAIControl), state->stream));
  CUDATry(cudaMemsetAsync(stop.r2, 0xbf, 2 * tiles * sizeof(BAIReal), state->stream)); /* negative: not there yet */
  CUDATry(cudaLaunchCooperativeKernel(plan->kernel, dim3(tiles + (plan->order == BAI_OWN)), dim3(plan->threads), arguments, plan->shared, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  *solution = *stop.result;
  if (solution->its < 0) return BAIStatusOf(BAI_ERR_STALLED);
  if (step->mode == BAI_MODE_SYNC) state->current = (int)((state->current + solution->its) & 1);
  return CountDone(state, plan, solution->its);
}
