/*
   Chooses the kernel of a mode, and what waits for what
*/
#include "plan.h"
#include <stdio.h>
#include <string.h>

/* The orders that do a mode, the first that serves first */
static const struct {
  BAIMode  mode;
  bool     bounded; /* with a bound on staleness */
  int      orders;
  BAIOrder order[2];
} ways[] = {
  {BAI_MODE_ASYNC,  false, 2, {BAI_OWN, BAI_QUEUE}},
  {BAI_MODE_ASYNC,  true,  1, {BAI_LAG}           },
  {BAI_MODE_LAUNCH, false, 1, {BAI_OWN}           },
  {BAI_MODE_SYNC,   false, 1, {BAI_FLAGS}         },
  {BAI_MODE_COLOR,  false, 1, {BAI_TURNS}         }
};

static unsigned Asks(BAIState state, BAIMode mode, bool momentum)
{
  const BAISliced *A = &state->A;

  return (momentum ? BAI_CAN_MOMENTUM : 0) | (A->share ? BAI_CAN_WEIGHTS : 0) | (A->iters ? BAI_CAN_THETA : 0) |
    (A->row ? BAI_CAN_PARTITION : 0) | (A->overlap ? BAI_CAN_OVERLAP : 0) | (state->nghost ? BAI_CAN_GHOSTS : 0) |
    (A->off_first ? BAI_CAN_LONG_ROWS : 0) | (A->single ? BAI_CAN_SINGLE : 0) |
    (mode == BAI_MODE_LAUNCH ? BAI_CAN_LAUNCHES : 0) | (state->p.fault.fraction > 0 ? BAI_CAN_FAULTS : 0) |
    (state->p.stats ? BAI_CAN_STATS : 0) | (state->p.refined ? BAI_CAN_REFINE : 0);
}

/* Takes a variant if a multiprocessor has room for enough thread blocks of it; room is then those that can be there at
 * once, else 0, and why says why */
static BAIStatus TryVariant(const BAIFamily *family, const BAIWork *work, const BAIVariant *variant, BAIPlan *plan,
                            int *room, char why[BAI_REASON])
{
  enum {
    OWN_SHARED = 512 /* bytes that kernels have of their own there, at most, by and large */
  };
  cudaFuncAttributes attributes;
  int                device, multiprocessors, shared_max, blocks;

  *room = 0;
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDATry(cudaDeviceGetAttribute(&shared_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CUDATry(cudaFuncGetAttributes(&attributes, variant->kernel));
  if (attributes.ptxVersion <
      family->capability) { /* what the code was written for, not the device that the driver may have compiled it for */
    snprintf(why, BAI_REASON, "code for compute capability %d.%d, %d.%d at least", attributes.ptxVersion / 10,
             attributes.ptxVersion % 10, family->capability / 10, family->capability % 10);
    return BAIStatusOf(BAI_OK);
  }
  if (variant->shared + OWN_SHARED > (size_t)shared_max) {
    snprintf(why, BAI_REASON, "%lld bytes of shared memory, %d at most", (long long)(variant->shared + OWN_SHARED),
             shared_max);
    return BAIStatusOf(BAI_OK);
  }
  if ((int)variant->shared > attributes.maxDynamicSharedSizeBytes)
    BAITry(BAIAllowShared(variant->kernel, variant->shared));
  CUDATry(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, variant->kernel, variant->threads, variant->shared));
  if (blocks < family->blocks) {
    snprintf(why, BAI_REASON, "room for %d thread blocks on a multiprocessor, %d at least", blocks, family->blocks);
    return BAIStatusOf(BAI_OK);
  }
  *room = blocks * multiprocessors;
  if (family->can & BAI_CAN_SOLVE) {
    const int all = work->A->tiles + (work->order == BAI_OWN); /* one more for the watcher */

    if (*room < all) {
      snprintf(why, BAI_REASON, "%d thread blocks, room for %d", all, *room);
      *room = 0;
      return BAIStatusOf(BAI_OK);
    }
  }
  plan->kernel     = variant->kernel;
  plan->family     = family->kernel;
  plan->resident   = (family->can & BAI_CAN_SOLVE) != 0;
  plan->threads    = variant->threads;
  plan->shared     = variant->shared;
  plan->from_other = variant->from_other;
  plan->handed     = variant->handed;
  plan->grid       = work->A->tiles < *room ? work->A->tiles : *room;
  return BAIStatusOf(BAI_OK);
}

/* The first variant of a family that can */
static BAIStatus TryFamily(const BAIFamily *family, const BAIWork *work, BAIPlan *plan, int *room, char why[BAI_REASON])
{
  BAIVariant variant = {};

  *room = 0;
  BAIFamilyRefuse(family, work, why);
  if (*why) return BAIStatusOf(BAI_OK);
  snprintf(why, BAI_REASON, "no kernel for %d entries inside a block", work->A->loc_width);
  for (int which = 0; !*room && family->variant(work, which, &variant); which++) {
    if (variant.kernel) BAITry(TryVariant(family, work, &variant, plan, room, why));
  }
  if (*room) *why = 0;
  return BAIStatusOf(BAI_OK);
}

/* Fills in the kernel of a plan, from all families or from one; no kernel: none can, and why[f] says why family f
 * cannot */
static BAIStatus ChooseKernel(BAIState state, BAIMode mode, bool momentum, unsigned more, BAIKernel only, BAIPlan *plan,
                              char why[BAI_FAMILIES][BAI_REASON])
{
  const bool bounded = mode == BAI_MODE_ASYNC && state->p.staleness >= 0;
  BAIWork    work    = {&state->A, mode, BAI_OWN, Asks(state, mode, momentum) | more, 0};
  int        room;

  if (mode == BAI_MODE_COLOR) BAITry(BAITurnsCreate(state, true));
  if (mode == BAI_MODE_COLOR) work.turns = state->turns;
  *plan          = BAIPlan{};
  plan->momentum = momentum;
  plan->once     = mode == BAI_MODE_LAUNCH;
  for (const auto &way : ways) {
    if (way.mode != mode || way.bounded != bounded) continue;
    for (int k = 0; k < way.orders; k++) {
      plan->order = work.order = way.order[k];
      plan->kernel             = NULL;
      for (int f = 0; f < BAI_FAMILIES && !plan->kernel; f++) {
        char now[BAI_REASON];

        if (only != BAI_KERNEL_AUTO && BAIFamilies[f].kernel != only) continue;
        BAITry(TryFamily(BAIFamilies + f, &work, plan, &room, now));
        /* of more than one order a family refuses for the one that it can do */
        if (!k || BAIFamilies[f].orders >> work.order & 1) memcpy(why[f], now, BAI_REASON);
      }
      if (plan->kernel && (k == way.orders - 1 || state->A.tiles <= room)) return BAIStatusOf(BAI_OK);
    }
  }
  return BAIStatusOf(BAI_OK);
}

/* The family that was asked for, or in a mode that the iteration changes to, where that one cannot, the first that can
 */
static BAIStatus Choose(BAIState state, BAIMode mode, bool momentum, BAIPlan *plan, char why[BAI_FAMILIES][BAI_REASON])
{
  const BAIKernel only = state->p.kernel;

  for (int f = 0; f < BAI_FAMILIES; f++) *why[f] = 0;
  BAITry(ChooseKernel(state, mode, momentum, 0, only, plan, why));
  if (plan->kernel || only == BAI_KERNEL_AUTO) return BAIStatusOf(BAI_OK);
  if (mode != state->p.mode) return ChooseKernel(state, mode, momentum, 0, BAI_KERNEL_AUTO, plan, why);
  for (int f = 0; f < BAI_FAMILIES; f++) {
    if (BAIFamilies[f].kernel == only) return BAIStatusBecause(BAI_ERR_KERNEL, BAIKernelString(only), why[f]);
  }
  return BAIStatusOf(BAI_ERR_KERNEL);
}

static BAIStatus NeedScratch(BAIState state, const BAIPlan *plan)
{
  if (plan->shared || state->scratch_grid >= plan->grid) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(state, 3 * (size_t)state->A.tile_rows * BAIValueSize(&state->A) * (size_t)plan->grid,
                         &state->scratch));
  state->scratch_grid = plan->grid;
  return BAIStatusOf(BAI_OK);
}

static BAIStatus NeedDone(BAIState state)
{
  if (state->done) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(state, state->A.tiles * sizeof(int), &state->done));
  CUDATry(cudaMemsetAsync(state->done, 0, state->A.tiles * sizeof(int), state->stream));
  return BAIStatusOf(BAI_OK);
}

/* What a plan whose kernel is chosen needs */
static BAIStatus Complete(BAIState state, BAIMode mode, BAIPlan *plan)
{
  enum {
    TILES_PER_LAUNCH = 4, /* of a thread block, with which a launch an iteration costs less than flags */
    TILES_UNCOUNTED = 4 /* with which one is through with a tile long before it is drawn again; and were it not, x would
                           only be older */
  };

  BAITry(NeedScratch(state, plan));
  if (mode == BAI_MODE_SYNC && !plan->once)
    plan->once = state->A.tiles / (state->A.long_first ? 1 : TILES_PER_LAUNCH) >=
      plan->grid; /* pieces of long rows are then shared by all */
  plan->waits = !plan->once && !plan->handed &&
    (plan->order == BAI_FLAGS || plan->order == BAI_LAG || plan->order == BAI_TURNS);
  plan->uses_done = plan->waits ||
    (plan->order == BAI_QUEUE && !plan->handed && state->A.tiles / TILES_UNCOUNTED < plan->grid);
  if (plan->waits || state->p.stats) BAITry(BAINeighborsCreate(state));
  if (plan->order == BAI_TURNS || plan->order == BAI_QUEUE)
    BAITry(BAITurnsCreate(state, plan->order == BAI_TURNS)); /* a queue colour by colour converges as mode color does */
  return plan->uses_done ? NeedDone(state) : BAIStatusOf(BAI_OK);
}

BAIStatus BAIPlanCreate(BAIState state, BAIMode mode, bool momentum, BAIPlan *plan)
{
  char why[BAI_FAMILIES][BAI_REASON];

  BAITry(Choose(state, mode, momentum, plan, why));
  BAITry(Complete(state, mode, plan));
  if (mode != BAI_MODE_SYNC || !plan->once || plan->family != BAI_KERNEL_STREAM) return BAIStatusOf(BAI_OK);
  BAITry(ChooseKernel(state, mode, momentum, BAI_CAN_LAUNCHES, BAI_KERNEL_STREAM, plan, why));
  plan->once = plan->from_other; /* of which there may be room for more thread blocks */
  return Complete(state, mode, plan);
}

BAIStatus BAIPlanExplain(BAIState state, BAIMode mode, char *text, size_t size)
{
  char    why[BAI_FAMILIES][BAI_REASON];
  size_t  at   = 0;
  BAIPlan plan = state->plan[mode];

  if (!plan.kernel) return BAIStatusOf(BAI_OK); /* not ready */
  BAITry(Choose(state, mode, plan.momentum, &plan, why));
  for (int f = 0; f < BAI_FAMILIES && at < size; f++) {
    const char *name  = BAIKernelString(BAIFamilies[f].kernel);
    const bool  taken = BAIFamilies[f].kernel == plan.family;

    if (taken) at += (size_t)snprintf(text + at, size - at, "%s taken", name);
    else if (*why[f]) at += (size_t)snprintf(text + at, size - at, "%s: %s; ", name, why[f]);
    if (taken) break;
  }
  return BAIStatusOf(BAI_OK);
}
