/*
   Chooses the kernel of a mode, and how thread blocks wait. The family generic accepts any matrix, stream needs rows
   whose entries inside blocks fit in registers, resident needs a matrix that fits on the chip
*/
#include "state.h"
#include <algorithm>
#include <stdio.h>
#include <string.h>

enum {                    /* features that a family may have, and that a plan may need, beyond those of all families */
  CAN_MOMENTUM  = 1 << 0, /* not for kernels whose tiles the device assigns, except in mode sync */
  CAN_THETA     = 1 << 1, /* local sweeps that differ by block */
  CAN_GHOSTS    = 1 << 2,
  CAN_LONG_ROWS = 1 << 3, /* packed slices, rows in pieces */
  CAN_SINGLE    = 1 << 4,
  CAN_LAUNCHES  = 1 << 5, /* a launch for each global iteration */
  CAN_FAULTS    = 1 << 6, /* simulated faults */
  CAN_STATS     = 1 << 7, /* statistics */
  CAN_REFINE    = 1 << 8, /* blocks that refine */
  CAN_SOLVE     = 1 << 9  /* a whole solve in one launch: all tiles must be resident at once */
};

enum { /* sets of BAIOrder */
  IN_OWN   = 1 << BAI_OWN,
  IN_QUEUE = 1 << BAI_QUEUE,
  IN_FLAGS = 1 << BAI_FLAGS,
  IN_TURNS = 1 << BAI_TURNS
};

enum {
  REASON = 96 /* length of the reason why a family refuses */
};

/* The matrix and the features that need a kernel */
typedef struct {
  const BAISliced *A;
  BAIOrder         order;
  unsigned         asks;       /* set of CAN_... */
  int              processors; /* number of multiprocessors */
  int              turns;      /* turns of mode color; 0: not known */
} Work;

/* A kernel, or NULL, and its launch parameters */
typedef struct {
  const void *kernel;
  int         threads;
  size_t      shared;  /* 0: its vectors are in BAIState's scratch */
  bool        follows; /* see BAIPlan */
} Variant;

typedef struct {
  BAIKernel   kernel;
  const char *name;
  unsigned    orders, can; /* sets of BAIOrder and of CAN_... */
  /* checks the size of A, if orders and can are sufficient; why is empty, or the reason to refuse */
  void (*refuse)(const Work *, char why[REASON]);
  Variant (*variant)(const Work *, int which); /* first and second variant to be tried */
} Family;

static const struct {
  unsigned    ask;
  const char *what;
} asks[] = {
  {CAN_LAUNCHES,  "a launch for each global iteration"     },
  {CAN_GHOSTS,    "rows that couple to other ranks"        },
  {CAN_THETA,     "local sweeps that depend on the block"  },
  {CAN_LONG_ROWS, "rows that are packed or cut into pieces"},
  {CAN_SINGLE,    "single precision"                       },
  {CAN_FAULTS,    "simulated faults"                       },
  {CAN_STATS,     "statistics"                             },
  {CAN_REFINE,    "blocks that refine"                     }
};

static const char *const orders[] = {"blocks that are all at work at once", "a queue of blocks", "mode sync",
                                     "mode color"};

/* Finds why a family cannot do some work, or an empty reason; does not check the room on the device */
static void Refuse(const Family *family, const Work *work, char why[REASON])
{
  *why = 0;
  for (size_t k = 0; k < sizeof(asks) / sizeof(asks[0]) && !*why; k++) {
    if (work->asks & asks[k].ask & ~family->can) snprintf(why, REASON, "not for %s", asks[k].what);
  }
  if (!*why && !(family->orders >> work->order & 1)) snprintf(why, REASON, "not for %s", orders[work->order]);
  if (!*why && family->refuse) family->refuse(work, why);
}

/* Threads of a thread block with a row of a tile each */
static int RowThreads(const BAISliced *A)
{
  return A->tile_slices * BAI_LANES;
}

/* Shared memory for two vectors of a tile */
static size_t RowShared(const BAISliced *A)
{
  return 2 * (size_t)RowThreads(A) * BAIValueSize(A);
}

static void RefuseRows(const BAISliced *A, int most, char why[REASON])
{
  if (A->tile_rows > most) snprintf(why, REASON, "%d rows of a thread block, %d at most", A->tile_rows, most);
}

static void RefuseStream(const Work *work, char why[REASON])
{
  enum {
    MOST_INSIDE = 32 /* of the widest kernels of both families */
  };
  const BAISliced *A = work->A;

  if (A->loc_width > MOST_INSIDE)
    snprintf(why, REASON, "%d entries inside a block, %d at most", A->loc_width, MOST_INSIDE);
  else RefuseRows(A, BAI_ROW_THREADS, why);
}

static void RefuseResident(const Work *work, char why[REASON])
{
  RefuseStream(work, why);
  if (!*why && work->A->loc_width > 16) RefuseRows(work->A, BAI_ROW_THREADS / 2, why);
}

/* The resident kernel with rows in registers, or with entries outside blocks in shared memory */
static Variant ResidentVariant(const Work *work, int which)
{
  const BAISliced *A       = work->A;
  const size_t     outside = which ? (size_t)A->off_width * RowThreads(A) * (BAIValueSize(A) + sizeof(int)) : 0;

  return {BAIResidentKernel(A, work->order, which == 1), RowThreads(A), RowShared(A) + outside, false};
}

/* The kernel whose tiles the device assigns, where that is faster: for a launch of modes sync and launch, the queue of
   mode async, and turns of mode color with enough tiles each */
static const void *HandedKernel(const Work *work)
{
  const BAISliced *A        = work->A;
  const bool       launches = work->asks & CAN_LAUNCHES, momentum = work->asks & CAN_MOMENTUM;
  const bool       long_turns = work->turns && A->tiles / work->turns >= (A->single ? 1 : 2) * BAI_TURN_TILES;

  if (work->order == BAI_FLAGS) return launches ? BAIOnceKernel(A, BAI_FLAGS) : NULL;
  return !momentum &&
      (work->order == BAI_QUEUE || (work->order == BAI_OWN && launches) || (work->order == BAI_TURNS && long_turns))
    ? BAIOnceKernel(A, BAI_QUEUE)
    : NULL;
}

/* A stream kernel whose tiles the device assigns, or one that loops over tiles */
static Variant StreamVariant(const Work *work, int which)
{
  const BAISliced *A        = work->A;
  const size_t     products = A->off_first ? BAI_PACKED_LOADS * RowThreads(A) * BAIValueSize(A) : 0;

  return {which ? BAIStreamKernel(A) : HandedKernel(work), RowThreads(A), RowShared(A) + products, !which};
}

/* The generic kernel with vectors in shared memory, or in memory; a warp for each piece of long rows */
static Variant GenericVariant(const Work *work, int which)
{
  enum {
    MAX_THREADS   = 1024,
    PIECE_THREADS = 512
  };
  const BAISliced *A       = work->A;
  const bool       refined = work->asks & CAN_REFINE, watched = work->asks & (CAN_FAULTS | CAN_STATS);
  const int        threads = std::max(RowThreads(A), A->long_first ? (int)PIECE_THREADS : 0);

  return {BAIGenericKernel(A, refined, watched), std::min(threads, (int)MAX_THREADS),
          which ? 0 : 3 * (size_t)A->tile_rows * BAIValueSize(A), false};
}

enum {
  FAMILIES    = 3,
  IN_ALL      = IN_OWN | IN_QUEUE | IN_FLAGS | IN_TURNS,
  IN_NO_QUEUE = IN_OWN | IN_FLAGS | IN_TURNS,
  CAN_STREAM  = CAN_MOMENTUM | CAN_THETA | CAN_GHOSTS | CAN_LONG_ROWS | CAN_SINGLE | CAN_LAUNCHES,
  CAN_ALL     = CAN_STREAM | CAN_FAULTS | CAN_STATS | CAN_REFINE
};

/* In order of preference. Resident has no theta, as loops of equal length in all threads take a third less time */
static const Family families[FAMILIES] = {
  {BAI_KERNEL_RESIDENT, "resident", IN_NO_QUEUE, CAN_MOMENTUM | CAN_SOLVE, RefuseResident, ResidentVariant},
  {BAI_KERNEL_STREAM,   "stream",   IN_ALL,      CAN_STREAM,               RefuseStream,   StreamVariant  },
  {BAI_KERNEL_GENERIC,  "generic",  IN_ALL,      CAN_ALL,                  NULL,           GenericVariant }
};

/* The features that a kernel for this mode must have */
static unsigned Asks(BAIState state, BAIMode mode, bool momentum)
{
  const BAISliced *A = &state->A;

  return (momentum ? CAN_MOMENTUM : 0) | (A->iters ? CAN_THETA : 0) | (state->nghost ? CAN_GHOSTS : 0) |
    (A->off_first ? CAN_LONG_ROWS : 0) | (A->single ? CAN_SINGLE : 0) | (mode == BAI_MODE_LAUNCH ? CAN_LAUNCHES : 0) |
    (state->p.fault.fraction > 0 ? CAN_FAULTS : 0) | (state->p.stats ? CAN_STATS : 0) |
    (state->p.refined ? CAN_REFINE : 0);
}

/* Takes a variant if enough of its thread blocks fit on a multiprocessor; room becomes the number that can be resident
   at once, or 0, with the reason in why */
static BAIStatus TryVariant(const Family *family, const Work *work, const Variant *variant, BAIPlan *plan, int *room,
                            char why[REASON])
{
  enum {
    OWN_SHARED = 512 /* approximate bytes of static shared memory of a kernel, at most */
  };
  int device, shared_max, blocks;

  *room = 0;
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&shared_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (variant->shared + OWN_SHARED > (size_t)shared_max) {
    snprintf(why, REASON, "%lld bytes of shared memory, %d at most", (long long)(variant->shared + OWN_SHARED),
             shared_max);
    return BAIStatusOf(BAI_OK);
  }
  BAITry(BAIAllowShared(variant->kernel, variant->shared));
  CUDATry(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, variant->kernel, variant->threads, variant->shared));
  const int found = blocks * work->processors,
            least = family->can & CAN_SOLVE ? work->A->tiles + (work->order == BAI_OWN) : 1; /* with the watcher */

  if (found < least) {
    snprintf(why, REASON, "room for %d thread blocks, %d at least", found, least);
    return BAIStatusOf(BAI_OK);
  }
  *room          = found;
  plan->kernel   = variant->kernel;
  plan->family   = family->kernel;
  plan->resident = (family->can & CAN_SOLVE) != 0;
  plan->threads  = variant->threads;
  plan->shared   = variant->shared;
  plan->follows  = variant->follows;
  plan->handed   = variant->follows || work->order == BAI_QUEUE;
  plan->grid     = work->A->tiles < *room ? work->A->tiles : *room;
  return BAIStatusOf(BAI_OK);
}

/* Sets plan and room by the first variant of a family that fits; otherwise room is 0, and why says the reason */
static BAIStatus TryFamily(const Family *family, const Work *work, BAIPlan *plan, int *room, char why[REASON])
{
  *room = 0;
  Refuse(family, work, why);
  if (*why) return BAIStatusOf(BAI_OK);
  snprintf(why, REASON, "no kernel for %d entries inside a block", work->A->loc_width);
  for (int which = 0; !*room && which < 2; which++) {
    const Variant variant = family->variant(work, which);

    if (variant.kernel) BAITry(TryVariant(family, work, &variant, plan, room, why));
  }
  if (*room) *why = 0;
  return BAIStatusOf(BAI_OK);
}

/* Finds the kernel of a plan, from all families or from only; without a kernel, why[f] is the reason of family f */
static BAIStatus ChooseKernel(BAIState state, BAIMode mode, bool momentum, unsigned more, BAIKernel only, BAIPlan *plan,
                              char why[FAMILIES][REASON])
{
  const BAIOrder first = mode == BAI_MODE_SYNC ? BAI_FLAGS
    : mode == BAI_MODE_COLOR                   ? BAI_TURNS
                                               : BAI_OWN; /* with a queue if not all tiles are at work at once */
  Work           work  = {&state->A, first, Asks(state, mode, momentum) | more, state->processors, 0};
  int            room;

  if (mode == BAI_MODE_COLOR) BAITry(BAITurnsCreate(state, true));
  if (mode == BAI_MODE_COLOR) work.turns = state->turns;
  *plan          = BAIPlan{};
  plan->momentum = momentum;
  plan->once     = mode == BAI_MODE_LAUNCH;
  for (int k = 0; k <= (mode == BAI_MODE_ASYNC); k++) {
    plan->order = work.order = k ? BAI_QUEUE : first;
    plan->kernel             = NULL;
    for (int f = 0; f < FAMILIES && !plan->kernel; f++) {
      char now[REASON];

      if (only != BAI_KERNEL_AUTO && families[f].kernel != only) continue;
      BAITry(TryFamily(families + f, &work, plan, &room, now));
      /* For two orders, the reason belongs to the one that the family can do */
      if (!k || families[f].orders >> work.order & 1) memcpy(why[f], now, REASON);
    }
    if (plan->kernel && state->A.tiles <= room) break;
  }
  return BAIStatusOf(BAI_OK);
}

/* Chooses the family that was asked for; in a mode that the iteration changes to later, the first possible one if that
   cannot */
static BAIStatus Choose(BAIState state, BAIMode mode, bool momentum, BAIPlan *plan, char why[FAMILIES][REASON])
{
  const BAIKernel only = state->p.kernel;

  for (int f = 0; f < FAMILIES; f++) *why[f] = 0;
  BAITry(ChooseKernel(state, mode, momentum, 0, only, plan, why));
  if (plan->kernel || only == BAI_KERNEL_AUTO) return BAIStatusOf(BAI_OK);
  if (mode != state->p.mode) return ChooseKernel(state, mode, momentum, 0, BAI_KERNEL_AUTO, plan, why);
  for (int f = 0; f < FAMILIES; f++) {
    if (families[f].kernel == only) return BAIStatusBecause(BAI_ERR_KERNEL, "", why[f]);
  }
  return BAIStatusOf(BAI_ERR_KERNEL);
}

/* Allocates memory for the vectors of tiles, if shared memory is too small */
static BAIStatus NeedScratch(BAIState state, const BAIPlan *plan)
{
  const int grid = plan->handed ? state->A.tiles : plan->grid;

  if (plan->shared || state->scratch_grid >= grid) return BAIStatusOf(BAI_OK);
  BAITry(
    BAICUDAAllocate(state, 3 * (size_t)state->A.tile_rows * BAIValueSize(&state->A) * (size_t)grid, &state->scratch));
  state->scratch_grid = grid;
  return BAIStatusOf(BAI_OK);
}

/* Allocates the counts of iterations by which tiles wait for each other */
static BAIStatus NeedDone(BAIState state)
{
  if (state->done) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(state, state->A.tiles * sizeof(int), &state->done));
  CUDATry(cudaMemsetAsync(state->done, 0, state->A.tiles * sizeof(int), state->stream));
  return BAIStatusOf(BAI_OK);
}

/* Chooses how tiles wait for each other, and allocates the arrays for it */
static BAIStatus Complete(BAIState state, BAIMode mode, BAIPlan *plan)
{
  BAITry(NeedScratch(state, plan));
  if (mode == BAI_MODE_SYNC && !plan->once)
    plan->once = state->A.tiles / (state->A.long_first ? 1 : BAI_LAUNCH_TILES) >=
      plan->grid; /* all thread blocks share pieces of long rows then */
  plan->waits = !plan->once && !plan->handed && (plan->order == BAI_FLAGS || plan->order == BAI_TURNS);
  if (plan->waits || state->p.stats) BAITry(BAINeighborsCreate(state, true));
  if (plan->order == BAI_TURNS || plan->order == BAI_QUEUE)
    BAITry(BAITurnsCreate(state, plan->order == BAI_TURNS)); /* a queue ordered by colour converges like mode color */
  return plan->waits ? NeedDone(state) : BAIStatusOf(BAI_OK);
}

BAIStatus BAIPlanCreate(BAIState state, BAIMode mode, bool momentum, BAIPlan *plan)
{
  char why[FAMILIES][REASON];

  BAITry(Choose(state, mode, momentum, plan, why));
  BAITry(Complete(state, mode, plan));
  if (mode != BAI_MODE_SYNC || !plan->once || plan->family != BAI_KERNEL_STREAM) return BAIStatusOf(BAI_OK);
  BAITry(ChooseKernel(state, mode, momentum, CAN_LAUNCHES, BAI_KERNEL_STREAM, plan, why));
  plan->once = plan->follows; /* more thread blocks of such a kernel may fit */
  return Complete(state, mode, plan);
}

BAIStatus BAIPlanExplain(BAIState state, BAIMode mode, char *text, size_t size)
{
  char    why[FAMILIES][REASON];
  size_t  at   = 0;
  BAIPlan plan = state->plan[mode];

  if (!plan.kernel) return BAIStatusOf(BAI_OK); /* not ready */
  BAITry(Choose(state, mode, plan.momentum, &plan, why));
  for (int f = 0; f < FAMILIES && at < size; f++) {
    const char *name  = families[f].name;
    const bool  taken = families[f].kernel == plan.family;

    if (taken) at += (size_t)snprintf(text + at, size - at, "%s taken", name);
    else if (*why[f]) at += (size_t)snprintf(text + at, size - at, "%s: %s; ", name, why[f]);
    if (taken) break;
  }
  return BAIStatusOf(BAI_OK);
}
