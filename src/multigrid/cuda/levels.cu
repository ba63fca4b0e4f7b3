/*
   Many levels on a device: what levels.h asks a backend for
*/
#include "levels.h"
#include <stdlib.h>
#include <vector>

static void Destroy(BAILevelsState state)
{
  (void)cudaStreamSynchronize(state->s.stream); /* kernels may still write to what is pinned */
  BAIPinnedRestore(state->told);
  BAIChipDestroy(&state->chip);
  BAIDeviceFreeHalos(state);
  BAIContextClose(&state->s);
  free(state);
}

/* A matrix of the caller where kernels can read it */
static BAIStatus StageCSR(BAILevelsState state, BAIInt rows, const BAICSR &A, BAIStagedCSR *to, BAICSR *on_device)
{
  const size_t n = (size_t)rows, nnz = n ? (size_t)A.i[n] : 0;
  cudaStream_t stream = state->s.stream;

  if (!to->i) {
    BAITry(BAICUDAAllocate(&state->s, (n + 1) * sizeof(BAIInt), &to->i));
    BAITry(BAICUDAAllocate(&state->s, nnz * sizeof(BAIInt), &to->j));
    BAITry(BAICUDAAllocate(&state->s, nnz * sizeof(BAIScalar), &to->a));
    to->nnz = nnz;
  }
  if (nnz != to->nnz) return BAIStatusOf(BAI_ERR_PATTERN);
  *on_device = {to->i, to->j, to->a};
  if (!n) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(to->i, A.i, (n + 1) * sizeof(BAIInt), cudaMemcpyHostToDevice, stream));
  CUDATry(cudaMemcpyAsync(to->j, A.j, nnz * sizeof(BAIInt), cudaMemcpyHostToDevice, stream));
  CUDATry(cudaMemcpyAsync(to->a, A.a, nnz * sizeof(BAIScalar), cudaMemcpyHostToDevice, stream));
  return BAIStatusOf(BAI_OK);
}

/* The same of own columns and of ghosts, and room for two vectors */
static BAIStatus Stage(BAILevelsState state, const BAIMatrix *matrix, BAIMatrix *staged)
{
  const size_t n = (size_t)matrix->n;

  if (!state->staged) {
    BAITry(BAICUDAAllocate(&state->s, n * sizeof(BAIScalar), &state->b));
    BAITry(BAICUDAAllocate(&state->s, n * sizeof(BAIScalar), &state->x));
    state->staged = true;
  }
  BAITry(StageCSR(state, matrix->n, matrix->A, &state->csr[0], &staged->A));
  if (matrix->nghost) BAITry(StageCSR(state, matrix->n, matrix->B, &state->csr[1], &staged->B));
  staged->memory = BAI_MEMORY_DEVICE;
  return BAIStatusOf(BAI_OK);
}

static BAIStatus SetUp(BAILevelsState state, const BAIMatrix *matrix, bool values_only)
{
  BAIMatrix staged = *matrix;

  if (matrix->memory == BAI_MEMORY_HOST) BAITry(Stage(state, matrix, &staged));
  return BAILevelsSetUp(state, &staged, values_only);
}

static BAIStatus Create(const BAIMatrix *matrix, const BAILevelsParameters *p, BAILevelsState *newstate)
{
  BAILevelsState state;
  BAIStatus      status;

  *newstate = NULL;
  state     = (BAILevelsState)calloc(1, sizeof(*state));
  if (!state) return BAIStatusOf(BAI_ERR_MEMORY);
  state->p = *p;
  status   = BAIContextOpen(&state->s, p->device, p->stream);
  if (!status.code) status = BAICatch([&] { return SetUp(state, matrix, false); });
  state->p.field = NULL;
  state->p.ghost = NULL;
  memset(state->p.mode, 0, sizeof(state->p.mode));
  if (status.code) Destroy(state);
  else *newstate = state;
  return status;
}

BAIStatus BAIDeviceUpdateValues(BAILevelsState state, const BAIMatrix *matrix)
{
  return SetUp(state, matrix, true);
}

/* The caller's vectors where kernels can read them; b is -b if the levels are those of -A */
static BAIStatus TakeIn(BAILevelsState state, const BAIScalar **b, BAIScalar **x, bool x_matters)
{
  const size_t bytes = (size_t)state->level[0].A.n * sizeof(BAIScalar);

  if (state->staged) {
    CUDATry(cudaMemcpyAsync(state->b, *b, bytes, cudaMemcpyHostToDevice, state->s.stream));
    if (x_matters) CUDATry(cudaMemcpyAsync(state->x, *x, bytes, cudaMemcpyHostToDevice, state->s.stream));
    *b = state->b;
    *x = state->x;
  }
  if (!state->negative) return BAIStatusOf(BAI_OK);
  if (!state->minus_b) BAITry(BAICUDAAllocate(&state->s, bytes, &state->minus_b));
  BAITry(BAINegate(state, (long long)state->level[0].A.n, *b, state->minus_b));
  *b = state->minus_b;
  return BAIStatusOf(BAI_OK);
}

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

/* Who watches a solve sees x where the caller has it */
typedef struct {
  BAILevelsState   state;
  BAILevelsMonitor monitor;
  void            *context;
  BAIScalar       *x;
  BAIStatus        status;
} Watched;

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

/* Columns of the host where kernels can read them, which follow each other there */
static BAIStatus TakeInColumns(BAILevelsState state, const BAIColumns *given, bool x_matters, BAITemporary *room,
                               BAIColumns *c)
{
  const size_t n = (size_t)state->level[0].A.n, bytes = n * sizeof(BAIScalar), count = (size_t)given->count;

  *c = *given;
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

/* b is -b, in columns that follow each other, if the levels are those of -A */
static BAIStatus NegateColumns(BAILevelsState state, BAITemporary *room, BAIColumns *c)
{
  const size_t n = (size_t)state->level[0].A.n;

  if (!state->negative) return BAIStatusOf(BAI_OK);
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
  *info           = {};
  info->levels    = state->levels;
  info->stop      = state->stop;
  info->resident  = state->chip.on;
  info->exact     = state->inverse != NULL;
  info->hermitian = state->hermitian;
  info->negative  = state->negative;
  info->single    = state->single;
  info->modes     = state->chip.on ? 0 : state->p.modes;
  info->less      = state->less;
  info->more      = state->more;
  info->norm      = state->norm;
  info->largest   = state->largest;
  info->skew      = state->skew;
  info->coupled   = state->coupled;
  info->solves    = BAIDeviceSolves(state);
  info->bytes     = state->s.bytes;
  for (int l = 0; l < state->levels; l++) {
    const BAIDeviceLevel *L = &state->level[l];

    info->level[l] = {L->A.n, L->A.nnz, L->m, L->alone, L->blocks, L->inside};
  }
  if (state->chip.on || state->p.modes || BAIGridHasBoxes(state->level[0].box.m)) info->grid = state->level[0].grid;
  if (!state->chip.on) return BAIStatusOf(BAI_OK);
  info->level[0].blocks = state->chip.one.A.parts;
  info->level[0].inside = state->chip.one.inside;
  return BAIStatusOf(BAI_OK);
}

extern "C" const BAILevelsOps BAILevelsCUDA = {
  .Create  = Create,
  .Destroy = Destroy,
#define BAI_LEVELS_OPERATION(name, parameters, arguments) \
  .name = [](BAILevelsState state parameters) { return BAICatch([&] { return BAIDevice##name(state arguments); }); },
#include "../ops.def"
};
