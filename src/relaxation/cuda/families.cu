/*
   The families of kernels: generic takes any matrix, stream those whose rows inside the blocks fit registers, resident
   those that fit the chip as a whole
*/
#include "plan.h"
#include "shapes.h"
#include <stdio.h>

static const struct {
  unsigned    ask;
  const char *what;
} asks[] = {
  {BAI_CAN_LAUNCHES,  "a launch for each global iteration"     },
  {BAI_CAN_GHOSTS,    "rows that couple to other ranks"        },
  {BAI_CAN_THETA,     "local sweeps that depend on the block"  },
  {BAI_CAN_LONG_ROWS, "rows that are packed or cut into pieces"},
  {BAI_CAN_OVERLAP,   "blocks that overlap"                    },
  {BAI_CAN_PARTITION, "blocks of rows that are not consecutive"},
  {BAI_CAN_WEIGHTS,   "damping that differs from row to row"   },
  {BAI_CAN_MOMENTUM,  "momentum"                               },
  {BAI_CAN_SINGLE,    "single precision"                       },
  {BAI_CAN_FAULTS,    "simulated faults"                       },
  {BAI_CAN_STATS,     "statistics"                             },
  {BAI_CAN_REFINE,    "blocks that refine"                     }
};

/* By BAIOrder */
static const char *const orders[] = {"blocks that are all at work at once", "a queue of blocks", "mode sync",
                                     "bounded staleness", "mode color"};

void BAIFamilyRefuse(const BAIFamily *family, const BAIWork *work, char why[BAI_REASON])
{
  *why = 0;
  for (size_t k = 0; k < sizeof(asks) / sizeof(asks[0]) && !*why; k++) {
    if (work->asks & asks[k].ask & ~family->can) snprintf(why, BAI_REASON, "not for %s", asks[k].what);
  }
  if (!*why && !(family->orders >> work->order & 1)) snprintf(why, BAI_REASON, "not for %s", orders[work->order]);
  if (!*why && family->refuse) family->refuse(work, why);
}

/* A row of a tile, a thread */
static int RowThreads(const BAISliced *A)
{
  return A->tile_slices * BAI_LANES;
}

/* Two vectors of a tile in shared memory */
static size_t RowShared(const BAISliced *A)
{
  return 2 * (size_t)RowThreads(A) * BAIValueSize(A);
}

static void RefuseRows(const BAISliced *A, int most, char why[BAI_REASON])
{
  if (A->tile_rows > most) snprintf(why, BAI_REASON, "%d rows of a thread block, %d at most", A->tile_rows, most);
}

static void RefuseInside(const BAISliced *A, int most, char why[BAI_REASON])
{
  if (A->loc_width > most) snprintf(why, BAI_REASON, "%d entries inside a block, %d at most", A->loc_width, most);
}

static const struct {
  int loc, off;
  const void *(*kernel)(BAIOrder);
} resident[] = {
#define SHAPE(LOC, OFF) {LOC, OFF, BAIResidentKernel<LOC, OFF>},
  BAI_RESIDENT_SHAPES(SHAPE)
#undef SHAPE
};

/* A variant with what lies outside the blocks in registers, and one with it in shared memory */
static bool ResidentVariant(const BAIWork *work, int which, BAIVariant *variant)
{
  const BAISliced *A = work->A;

  variant->kernel  = NULL;
  variant->threads = RowThreads(A);
  variant->shared  = RowShared(A) +
    (which ? (size_t)A->off_width * (size_t)RowThreads(A) * (BAIValueSize(A) + sizeof(int)) : 0);
  for (const auto &shape : resident) {
    if (variant->kernel || !shape.off != (which == 1) || A->loc_width > shape.loc ||
        (shape.off && A->off_width > shape.off) || A->tile_rows > BAIResidentRows(shape.loc, shape.off))
      continue;
    variant->kernel = shape.kernel(work->order);
  }
  return which < 2;
}

static void RefuseResident(const BAIWork *work, char why[BAI_REASON])
{
  BAIVariant variant[2];

  RefuseInside(work->A, 32, why);
  if (!*why) RefuseRows(work->A, work->A->loc_width > 16 ? BAIResidentRows(32, 0) : BAIResidentRows(16, 0), why);
  if (*why) return;
  for (int which = 0; which < 2; which++) (void)ResidentVariant(work, which, variant + which);
  if (!variant[0].kernel && !variant[1].kernel)
    snprintf(why, BAI_REASON, "no kernel for %d entries inside a block in %d rows of a thread block",
             work->A->loc_width, work->A->tile_rows);
}

/* The kernel whose tiles the device hands out, where that is faster: a launch of modes sync and launch, the queue of
 * mode async, and the turns of mode color, if there is enough to do in each */
static const void *HandedKernel(const BAIWork *work)
{
  enum {
    TILES_PER_TURN = 1024 /* with which a launch a turn costs less than flags; in double precision twice as many */
  };
  const BAISliced *A = work->A;

  switch (work->order) {
  case BAI_FLAGS:
    return work->asks & BAI_CAN_LAUNCHES ? BAIOnceKernel(A, BAI_FLAGS) : NULL;
  case BAI_OWN:
    return (work->asks & (BAI_CAN_LAUNCHES | BAI_CAN_MOMENTUM)) == BAI_CAN_LAUNCHES ? BAIOnceKernel(A, BAI_QUEUE)
                                                                                    : NULL;
  case BAI_QUEUE:
    return !(work->asks & BAI_CAN_MOMENTUM) ? BAIOnceKernel(A, BAI_QUEUE) : NULL;
  case BAI_TURNS:
    return !(work->asks & BAI_CAN_MOMENTUM) && work->turns &&
        A->tiles / work->turns >= (A->single ? 1 : 2) * TILES_PER_TURN
      ? BAIOnceKernel(A, BAI_QUEUE)
      : NULL;
  default:
    return NULL;
  }
}

/* That first */
static bool StreamVariant(const BAIWork *work, int which, BAIVariant *variant)
{
  const BAISliced *A = work->A;

  variant->threads    = RowThreads(A);
  variant->shared     = RowShared(A) + (A->off_first ? BAI_PACKED_LOADS * RowThreads(A) * BAIValueSize(A) : 0);
  variant->from_other = !which && work->order == BAI_FLAGS;
  variant->handed     = !which && work->order != BAI_FLAGS;
  if (!which) variant->kernel = HandedKernel(work);
  if (which != 1) return !which;
  variant->kernel = BAIStreamKernel(A);
  return true;
}

static void RefuseStream(const BAIWork *work, char why[BAI_REASON])
{
  RefuseRows(work->A, BAI_ROW_THREADS, why);
  if (!*why) RefuseInside(work->A, 32, why);
}

/* In shared memory, and in memory; of long rows, a warp has a piece */
static bool GenericVariant(const BAIWork *work, int which, BAIVariant *variant)
{
  enum {
    MAX_THREADS   = 1024,
    PIECE_THREADS = 512
  };
  const BAISliced *A = work->A;

  variant->kernel  = BAIGenericKernel(A, (work->asks & BAI_CAN_REFINE) != 0,
                                      (work->asks & (BAI_CAN_FAULTS | BAI_CAN_STATS)) != 0);
  variant->threads = RowThreads(A);
  variant->shared  = which ? 0 : 3 * (size_t)A->tile_rows * BAIValueSize(A);
  if (A->long_first && variant->threads < PIECE_THREADS) variant->threads = PIECE_THREADS;
  if (variant->threads > MAX_THREADS) variant->threads = MAX_THREADS;
  return which < 2;
}

extern const BAIFamily BAIFamilies[BAI_FAMILIES] = {
  {
   .kernel = BAI_KERNEL_RESIDENT,
   .orders = BAI_IN_OWN | BAI_IN_FLAGS | BAI_IN_TURNS,
   .can    = BAI_CAN_MOMENTUM | BAI_CAN_WEIGHTS | BAI_CAN_PARTITION | BAI_CAN_OVERLAP |
      BAI_CAN_SOLVE,            /* loops as long for all threads take a third less time: no theta */
    .capability = 0,
   .blocks     = 1,
   .refuse     = RefuseResident,
   .variant    = ResidentVariant,
   },
  {
   .kernel = BAI_KERNEL_STREAM,
   .orders = BAI_IN_ALL,
   .can = BAI_CAN_MOMENTUM | BAI_CAN_WEIGHTS | BAI_CAN_THETA | BAI_CAN_PARTITION | BAI_CAN_OVERLAP | BAI_CAN_GHOSTS |
      BAI_CAN_LONG_ROWS | BAI_CAN_SINGLE | BAI_CAN_LAUNCHES,
   .capability = 0,
   .blocks     = 1,
   .refuse     = RefuseStream,
   .variant    = StreamVariant,
   },
  {
   .kernel = BAI_KERNEL_GENERIC,
   .orders = BAI_IN_ALL | BAI_IN_LAG,
   .can = BAI_CAN_MOMENTUM | BAI_CAN_WEIGHTS | BAI_CAN_THETA | BAI_CAN_PARTITION | BAI_CAN_OVERLAP | BAI_CAN_GHOSTS |
      BAI_CAN_LONG_ROWS | BAI_CAN_SINGLE | BAI_CAN_LAUNCHES | BAI_CAN_FAULTS | BAI_CAN_STATS | BAI_CAN_REFINE,
   .capability = 0,
   .blocks     = 1,
   .refuse     = NULL,
   .variant    = GenericVariant,
   }
};
