/* Levels on a device: the operations of ../ops.def */
#include "levels.h"
#include <stdlib.h>
#include <vector>

static void Destroy(BAILevelsState state)
{
  (void)cudaStreamSynchronize(state->s.stream); /* kernels may still write to pinned memory */
  if (state->aside) (void)cudaStreamSynchronize(state->aside);
  if (state->ended) (void)cudaEventDestroy(state->ended);
  if (state->begun) (void)cudaEventDestroy(state->begun);
  if (state->aside) (void)cudaStreamDestroy(state->aside);
  BAIPinnedRestore(state->told);
  BAIChipDestroy(&state->chip);
  BAIContextClose(&state->s);
  free(state);
}

/* Takes the finest level in; with resident, puts it on the chip, or returns BAI_ERR_CHIP */
static BAIStatus SetUp(BAILevelsState state, const BAIMatrix *matrix)
{
  BAIDeviceLevel *L = state->level;
  BAIFindings     found;

  if (state->p.resident && !BAIChipHasRoom(&state->s, (long long)matrix->n)) return BAIStatusOf(BAI_ERR_CHIP);
  state->levels = 1;
  BAITry(BAIKeep(state, 2, &state->joined));
  CUDATry(cudaMemsetAsync(state->joined, 0, 2 * sizeof(*state->joined), state->s.stream));
  BAITry(BAIKeep(state, BAI_LEVELS_MOST, &state->placed));
  BAITry(BAIDeviceTake(state, matrix, &found));
  BAITry(BAIDeviceFindGrid(state, &state->p, L->A, &L->grid));
  if (state->p.resident && !found.zeros && !state->p.all)
    BAITry(BAIChipSetUp(&state->chip, &state->s, &L->A, &L->grid, state->info.hermitian, found.longest));
  if (state->p.resident && !state->chip.on) return BAIStatusOf(BAI_ERR_CHIP);
  state->info.stop = "the matrix stays on the chip";
  return state->p.modes && !state->chip.on ? BAITakeModes(state) : BAIStatusOf(BAI_OK);
}

/* The function Create of ../backend.h */
static BAIStatus Create(const BAIMatrix *matrix, const BAILevelsParameters *p, BAILevelsState *newstate)
{
  BAILevelsState state;
  BAIStatus      status;

  *newstate = NULL;
  state     = (BAILevelsState)calloc(1, sizeof(*state));
  if (!state) return BAIStatusOf(BAI_ERR_MEMORY);
  state->p = *p;
  status   = BAIContextOpen(&state->s, p->device, p->stream);

  state->s.idle_wait = p->idle_wait;
  if (!status.code) status = BAICatch([&] { return SetUp(state, matrix); });
  state->p.ghost = NULL;
  memset(state->p.mode, 0, sizeof(state->p.mode));
  if (status.code) Destroy(state);
  else *newstate = state;
  return status;
}

BAIStatus BAIDeviceBegin(BAILevelsState state, const BAILevelsAgreed *agreed)
{
  const BAILevelsParameters *p = &state->p;
  const size_t               n = (size_t)state->level[0].A.n;

  if (agreed) {
    state->info.hermitian = agreed->hermitian;
    state->info.negative  = agreed->negative;
    state->info.largest   = agreed->largest;
    state->single         = agreed->single;
    state->over           = agreed->over;
    BAIDeviceTakeScale(state);
    BAITry(BAIDeviceTakeSign(state));
  }
  state->beside = 0;
  if (state->kept) state->levels = 1;
  if (p->fields == 1 || state->kept) return BAIStatusOf(BAI_OK);
  BAITry(BAIKeep(state, n, &state->field));
  return p->field && !p->given ? BAINarrow(state->s, n, p->field, state->field)
                               : BAINumber(state->s, (int)n, {.rows = 1, .fields = (int)p->fields, .to = state->field});
}

/* Stores the levels of the cycle by places, or their new values, and looks at the fit of all aggregates;
   BAI_ERR_OUTDATED if they do not fit new values */
static BAIStatus Place(BAILevelsState state, int count)
{
  const BAIDeviceLevel *like = state->p.like ? BAILevelsStateOf(state->p.like)->level : NULL;
  BAIPlaced             found[BAI_LEVELS_MOST];

  if (!count) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemsetAsync(state->placed + state->beside, 0, (size_t)(count - state->beside) * sizeof(*state->placed),
                          state->s.stream));
  BAITry(BAIPlaceAndLook(state, state->beside, count));
  if (state->beside) CUDATry(cudaStreamWaitEvent(state->s.stream, state->ended));
  BAITry(BAIFitLook(state, count));
  BAITry(BAIDownload(&state->s, (size_t)count, state->placed, found));
  for (int l = 0; l < count; l++) {
    BAIDeviceLevel *L = &state->level[l];

    L->extra = like ? like[l].extra : found[l].needs_extra != 0;
    L->alike = state->single && BAIBlocksAreAlike(L, found[l].unlike);
  }
  return BAIFitCompare(state, count, found);
}

/* Frees the copy of the finest matrix of several ranks, which is stored by places, and the levels that they have made
   and do not use, up to number made - 1. Levels of the transposed matrix may still read aggregates */
static void FreeMade(BAILevelsState state, int made)
{
  BAIRows *A = &state->level[0].A;

  if (state->index) {
    BAIDrop(state, (size_t)A->n + 1, &A->i);
    BAIDrop(state, (size_t)A->nnz, &A->j);
  }
  if (state->merged) BAIDrop(state, (size_t)A->nnz, &A->a);
  BAIDrop(state, (size_t)A->nnz, &state->negated);
  state->index = NULL;
  for (int l = state->levels; l < made; l++) {
    BAIDeviceLevel *L   = &state->level[l];
    const size_t    all = (size_t)L->A.n + (size_t)L->A.ghosts;

    if (state->info.hermitian) BAIDrop(state, (size_t)L->A.n, &L->aggregate);
    BAIDrop(state, all * (size_t)state->p.modes, &L->P);
    BAIDropList(state, L);
    BAIDeviceFreeMatrix(state, L);
  }
}

BAIStatus BAIDeviceFinish(BAILevelsState state, const BAILevelsRanks *ranks, const char *stop)
{
  const int made = state->levels;
  int       count; /* levels of the cycle */

  if (!state->kept) {
    state->info.stop   = stop;
    state->p.field     = NULL;
    state->p.aggregate = NULL;
    if (ranks) state->levels = ranks->levels + ranks->next;
    BAIDeviceLast(state)->m = 0;
    BAIFreeModes(state);
    for (int a = 0; a < BAI_ARRAYS; a++) BAIDeviceFreePicked(state, (BAILevelsArray)a);
    if (state->field) BAIDrop(state, (size_t)state->level[0].A.n, &state->field);
    BAITryStage(&state->p, BAI_STAGE_FILL, BAIDeviceOrder(state, ranks));
    if (ranks) BAITry(BAIDeviceTakeRanks(state, ranks));
  }
  count = state->p.all ? state->ranks.levels : state->levels;
  BAITryStage(&state->p, BAI_STAGE_FILL, Place(state, count));
  if (state->p.all) FreeMade(state, made);
  if (!state->kept) BAITry(BAIPlaceVectors(state, count)); /* in memory that may just have become free */
  BAITryStage(&state->p, BAI_STAGE_FACTOR, BAIInvertLast(state));
  return BAIFindTail(state); /* also with new values, as diagonal entries may need an extra array then */
}

BAIStatus BAIDeviceTakeValues(BAILevelsState state, const BAIMatrix *matrix, const BAIInt *ghost)
{
  BAIFindings found;
  BAIStatus   status;

  state->kept    = true;
  state->p.ghost = ghost;
  status         = BAIDeviceTake(state, matrix, &found);
  state->p.ghost = NULL;
  BAITry(status);
  return state->chip.on ? BAIChipUpdateValues(&state->chip, &state->level[0].A, state->info.hermitian)
                        : BAIStatusOf(BAI_OK);
}

/* Lets b and x refer to copies of the caller's vectors that kernels can read, if necessary, and b to a copy of -b if
   the levels belong to -A. x is copied only if x_matters. BAI_ERR_CAPTURE if the stream is being captured */
static BAIStatus TakeIn(BAILevelsState state, const BAIScalar **b, BAIScalar **x, bool x_matters)
{
  const size_t bytes = (size_t)state->level[0].A.n * sizeof(BAIScalar);

  BAITry(BAICUDAIsReady(state->s.stream));
  if (state->staged) {
    CUDATry(cudaMemcpyAsync(state->b, *b, bytes, cudaMemcpyHostToDevice, state->s.stream));
    if (x_matters) CUDATry(cudaMemcpyAsync(state->x, *x, bytes, cudaMemcpyHostToDevice, state->s.stream));
    *b = state->b;
    *x = state->x;
  }
  if (!state->info.negative) return BAIStatusOf(BAI_OK);
  if (!state->minus_b) BAITry(BAICUDAAllocate(&state->s, bytes, &state->minus_b));
  BAITry(BAINegate(state, (long long)state->level[0].A.n, *b, state->minus_b));
  *b = state->minus_b;
  return BAIStatusOf(BAI_OK);
}

/* Copies the staged x to the caller, and waits for it */
static BAIStatus GiveBack(BAILevelsState state, BAIScalar *x)
{
  if (!state->staged) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(x, state->x, (size_t)state->level[0].A.n * sizeof(BAIScalar), cudaMemcpyDeviceToHost,
                          state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceApply(BAILevelsState state, const BAIScalar *r, BAIScalar *z)
{
  BAIScalar *to = z;

  BAITry(TakeIn(state, &r, &to, false));
  BAITry(BAIDeviceApplyTo(state, r, to));
  return GiveBack(state, z);
}

/* Wraps the caller's monitor, which expects x in its own memory */
typedef struct {
  BAILevelsState   state;
  BAILevelsMonitor monitor;
  void            *context;
  BAIScalar       *x;
  BAIStatus        status;
} Watched;

/* Calls the monitor after x is copied to its memory. An error of the copy stops the solve and stays in status */
static int Watch(void *context, BAIInt its, BAIReal rnorm)
{
  Watched *w = (Watched *)context;

  w->status = GiveBack(w->state, w->x);
  return w->status.code ? 1 : w->monitor(w->context, its, rnorm);
}

BAIStatus BAIDeviceSolve(BAILevelsState state, const BAIScalar *b, BAIScalar *x, int guess_zero, const BAITolerances *t,
                         BAILevelsMonitor monitor, void *context, BAILevelsSolution *solution)
{
  BAIScalar *to = x;
  Watched    w  = {state, monitor, context, x, BAIStatusOf(BAI_OK)};

  BAITry(TakeIn(state, &b, &to, !guess_zero));
  if (state->chip.on) BAITry(BAIChipSolve(&state->chip, b, to, guess_zero, t, monitor ? Watch : NULL, &w, solution));
  else BAITry(BAIDeviceConjugateGradients(state, b, to, guess_zero, t, monitor ? Watch : NULL, &w, solution));
  BAITry(w.status);
  return GiveBack(state, x);
}

/* Sets c to the given columns, or if they are on the host to copies in room, one after the other; x is copied only if
   x_matters. BAI_ERR_CAPTURE if the stream is being captured */
static BAIStatus TakeInColumns(BAILevelsState state, const BAIColumns *given, bool x_matters, BAITemporary *room,
                               BAIColumns *c)
{
  const size_t n = (size_t)state->level[0].A.n, bytes = n * sizeof(BAIScalar), count = (size_t)given->count;

  *c = *given;
  BAITry(BAICUDAIsReady(state->s.stream));
  if (!state->staged) return BAIStatusOf(BAI_OK);
  BAITry(room->Allocate(&state->s, 2 * count * bytes));
  BAIScalar *const b = static_cast<BAIScalar *>(room->p), *const x = b + count * n;

  CUDATry(cudaMemcpy2DAsync(b, bytes, given->b, (size_t)given->to_b * sizeof(BAIScalar), bytes, count,
                            cudaMemcpyHostToDevice, state->s.stream));
  if (x_matters)
    CUDATry(cudaMemcpy2DAsync(x, bytes, given->x, (size_t)given->to_x * sizeof(BAIScalar), bytes, count,
                              cudaMemcpyHostToDevice, state->s.stream));
  *c = {given->count, b, x, (BAIInt)n, (BAIInt)n};
  return BAIStatusOf(BAI_OK);
}

/* If the levels belong to -A, allocates in room a copy of -b, whose columns follow each other without gaps, and lets c
   refer to it. The caller's b stays as it is */
static BAIStatus NegateColumns(BAILevelsState state, BAITemporary *room, BAIColumns *c)
{
  const size_t n = (size_t)state->level[0].A.n;

  if (!state->info.negative) return BAIStatusOf(BAI_OK);
  BAITry(room->Allocate(&state->s, (size_t)c->count * n * sizeof(BAIScalar)));
  BAIScalar *const minus_b = static_cast<BAIScalar *>(room->p);

  for (BAIInt k = 0; k < c->count; k++)
    BAITry(BAINegate(state, (long long)n, c->b + (size_t)k * (size_t)c->to_b, minus_b + (size_t)k * n));
  c->b    = minus_b;
  c->to_b = (BAIInt)n;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceSolveColumns(BAILevelsState state, const BAIColumns *given, int guess_zero, const BAITolerances *t,
                                BAILevelsSolution *solution)
{
  const size_t bytes = (size_t)state->level[0].A.n * sizeof(BAIScalar);
  BAITemporary room, minus;
  BAIColumns   c;

  BAITry(TakeInColumns(state, given, !guess_zero, &room, &c));
  BAITry(NegateColumns(state, &minus, &c));
  BAITry(BAIChipSolveColumns(&state->chip, &c, guess_zero, t, solution));
  if (!state->staged) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpy2DAsync(given->x, (size_t)given->to_x * sizeof(BAIScalar), c.x, bytes, bytes, (size_t)c.count,
                            cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceInfoGet(BAILevelsState state, BAILevelsInfo *info)
{
  *info          = state->info;
  info->levels   = state->levels;
  info->resident = state->chip.on;
  info->exact    = state->inverse != NULL;
  info->single   = state->single;
  info->modes    = state->chip.on ? 0 : state->p.modes;
  info->solves   = BAIDeviceSolves(state);
  info->bytes    = state->s.bytes;
  for (int l = 0; l < state->levels; l++) {
    const BAIDeviceLevel *L = &state->level[l];

    info->level[l] = {L->A.n, L->A.nnz, L->m, L->alone, L->blocks, L->inside};
  }
  if (state->chip.on || state->p.modes || BAIGridHasBoxes(&state->level[0].box)) info->grid = state->level[0].grid;
  if (!state->chip.on) return BAIStatusOf(BAI_OK);
  info->level[0].blocks = state->chip.one.A.parts;
  info->level[0].inside = state->chip.one.inside;
  return BAIStatusOf(BAI_OK);
}

extern "C" const BAILevelsOps BAILevelsCUDA = {
  .Create       = Create,
  .Destroy      = Destroy,
  .StoreMatrix  = BAIDeviceStoreMatrix,
  .LookAtFields = BAIDeviceLookAtFields,
#define BAI_LEVELS_OPERATION(name, parameters, arguments) \
  .name = [](BAILevelsState state parameters) { return BAICatch([&] { return BAIDevice##name(state arguments); }); },
#include "../ops.def"
};
