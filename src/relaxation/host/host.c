/* The host backend: OpenMP threads. With sweep.c it is short enough to serve as the definition of the method */
#include "../theta.h"
#include "host.h"
#include <stdlib.h>

/* The functions of the table BAIBackendHost below are BAIEngine...() of engine.h */
static void DestroyState(BAIState state)
{
  BAIBlockCRSDestroy(&state->A);
  free(state->rounded_b);
  free(state->rounded_ghost);
  BAIHostStatsDestroy(state->stats);
  (void)BAIHostDisconnect(state);
  free(state->x);
  free(state->next);
  free(state->before);
  free(state->work);
  free(state->done);
  free(state->norm2);
  free(state->iters);
  free(state->order);
  free(state->turn_first);
  free(state);
}

/* Allocates vectors, work space of threads and counters; vectors are not set. DestroyState() frees them after an error
   too */
static BAIStatus AllocateVectors(BAIState state)
{
  const size_t n = (size_t)state->A.n + 1, size = BAIValueSize(&state->A);

  state->scale = 1;
  if (state->A.single) {
    state->rounded_b     = malloc(n * size);
    state->rounded_ghost = malloc(((size_t)state->A.nghost + 1) * size);
    if (!state->rounded_b || !state->rounded_ghost) return BAIStatusOf(BAI_ERR_MEMORY);
  }
  state->x      = malloc(n * size);
  state->before = state->p.momentum ? malloc(n * size) : NULL;
  state->work   = malloc(4 * ((size_t)state->A.most_rows + 1) * (size_t)state->p.threads * size);
  state->done   = malloc(((size_t)state->tasks + 1) * sizeof(*state->done));
  state->norm2  = malloc(((size_t)state->A.blocks + 1) * sizeof(*state->norm2));
  return state->x && state->work && state->done && state->norm2 && (state->before || !state->p.momentum)
    ? BAIStatusOf(BAI_OK)
    : BAIStatusOf(BAI_ERR_MEMORY);
}

static BAIStatus Prepare(BAIState state, BAIMode mode)
{
  if (mode != BAI_MODE_SYNC && mode != BAI_MODE_COLOR) return BAIStatusOf(BAI_OK);
  if (!state->next) state->next = malloc(((size_t)state->A.n + 1) * BAIValueSize(&state->A));
  if (!state->next) return BAIStatusOf(BAI_ERR_MEMORY);
  return mode == BAI_MODE_COLOR && !state->order ? BAIHostColor(state) : BAIStatusOf(BAI_OK);
}

/* Computes damping and numbers of sweeps that depend on the values of the matrix */
static BAIStatus Weigh(BAIState state)
{
  const BAIBlockCRS *A = &state->A;

  state->local_omega  = BAILocalOmega(&state->p);
  state->local_sweeps = (int64_t)A->blocks * state->p.local_iters;
  if (!state->p.theta) return BAIStatusOf(BAI_OK);
  if (!state->iters) state->iters = malloc(((size_t)A->blocks + 1) * sizeof(*state->iters));
  if (!state->iters) return BAIStatusOf(BAI_ERR_MEMORY);
  state->local_sweeps = BAITheta(A->blocks, A->inside, A->outside, state->p.local_iters, state->iters);
  return BAIStatusOf(BAI_OK);
}

static BAIInt Groups(BAIInt blocks, BAIInt blocks_group)
{
  return blocks / blocks_group + (blocks % blocks_group ? 1 : 0);
}

static BAIStatus CreateState(const BAIMatrix *matrix, const BAIPartition *partition, const BAIParameters *p,
                             BAIState *newstate)
{
  BAIState     state = calloc(1, sizeof(*state));
  BAIBlockCRS *A;
  BAIStatus    status;

  *newstate = NULL;
  if (!state) return BAIStatusOf(BAI_ERR_MEMORY);
  if (p->kernel != BAI_KERNEL_AUTO) {
    free(state);
    return BAIStatusBecause(BAI_ERR_KERNEL, "", "backend host has no kernel families");
  }
  A        = &state->A;
  state->p = *p;
  status   = BAIBlockCRSCreate(matrix, partition, p, A);
  if (!status.code) {
    const BAIInt rows      = A->n / (BAI_TASKS_PER_THREAD * (BAIInt)p->threads),
                 task_rows = rows < BAI_LEAST_TASK_ROWS ? BAI_LEAST_TASK_ROWS
      : rows > BAI_MOST_TASK_ROWS                       ? BAI_MOST_TASK_ROWS
                                                        : rows;

    state->blocks_task  = A->most_rows < task_rows ? task_rows / A->most_rows : 1;
    state->tasks        = Groups(A->blocks, state->blocks_task);
    state->blocks_group = BAIGroup(A->most_rows);
    state->groups       = Groups(A->blocks, state->blocks_group);
    if (state->p.threads > state->tasks) state->p.threads = state->tasks ? (int)state->tasks : 1;
    status = Weigh(state);
  }
  if (!status.code) status = AllocateVectors(state);
  if (!status.code) status = Prepare(state, p->mode);
  if (!status.code && p->stats) status = BAIHostStatsCreate(state);
  if (status.code) DestroyState(state);
  else *newstate = state;
  return status;
}

static BAIStatus UpdateMatrix(BAIState state, const BAIMatrix *matrix)
{
  BAITry(BAIBlockCRSUpdateValues(&state->A, matrix, &state->p));
  return Weigh(state);
}

/* Sets rounded to the first n entries of vector times state->scale, in single precision, and returns it */
static void *Round(BAIState state, const BAIScalar *vector, BAIInt n, BAISingle *rounded)
{
#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt i = 0; i < n; i++) rounded[i] = (BAISingle)(vector[i] * state->scale);
  return rounded;
}

static BAIStatus BindVectors(BAIState state, const BAIVectors *v, int guess_zero)
{
  const BAIBlockCRS *A = &state->A;

  state->v     = *v;
  state->scale = A->single && v->scale > 0 ? v->scale : 1;
  state->b     = A->single ? Round(state, v->b, A->n, state->rounded_b) : v->b;
  state->ghost = A->single && v->ghost ? Round(state, v->ghost, A->nghost, state->rounded_ghost) : (void *)v->ghost;
#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt i = 0; i < A->n; i++) BAISetX(state, i, guess_zero ? 0 : v->x[i]);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus UnbindVectors(BAIState state)
{
#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt i = 0; i < state->A.n; i++) state->v.x[i] = BAIGetX(state, i);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Sweep(BAIState state, BAIInt count, const BAIStep *step)
{
  if (state->A.single) BAIHostSweepSingle(state, count, step);
  else if (state->A.sweep_single) BAIHostSweepMixed(state, count, step);
  else BAIHostSweep(state, count, step);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Residual(BAIState state, BAIReal *norm2)
{
  if (state->A.single) BAIHostResidualSingle(state, norm2);
  else BAIHostResidual(state, norm2);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Shares(BAIState state, BAIReal *share)
{
  const BAIBlockCRS *A = &state->A;

  for (BAIInt place = 0; place < A->n; place++) share[BAIRowAt(A, place)] = A->share ? A->share[place] : 1;
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Set(void *stream, BAISet what, int64_t first, BAIInt n, BAIScalar *x)
{
  (void)stream;
  for (BAIInt i = 0; i < n; i++) x[i] = BAISetEntry(what, first + i, &x[i]);
  return BAIStatusOf(BAI_OK);
}

static void TellInfo(BAIState state, BAIInfo *info)
{
  const BAIBlockCRS *A     = &state->A;
  const int64_t      value = (int64_t)BAIValueSize(A), vector = A->n * value,
                rounded = A->sweep_a == A->loc_a ? 0 : A->loc_i[A->n] * (int64_t)BAISweepSize(A);

  info->block_size   = A->block_size;
  info->local_sweeps = state->local_sweeps;
  info->blocks       = A->blocks;
  info->workers      = state->p.threads;
  info->solves       = 0;
  info->local_omega  = state->local_omega * A->least_share;
  info->units        = A->units;
  info->colors       = state->colors;
  info->nnz_local    = A->loc_i[A->n];
  info->nnz_off      = A->off_i[A->n];
  info->bytes        = (info->nnz_local + info->nnz_off) * ((int64_t)sizeof(BAIInt) + value) +
    A->n * ((int64_t)(2 * sizeof(BAIInt) + sizeof(BAIScalar)) + value) +
    (1 + A->single + (state->next != NULL) + (state->before != NULL)) * vector + rounded;
  info->bytes_iteration = (info->nnz_local + info->nnz_off) * ((int64_t)sizeof(BAIInt) + value) +
    A->n * ((int64_t)(2 * sizeof(BAIInt)) + value) + (3 + 2 * (state->p.momentum == 1)) * vector + rounded;
}

const BAIBackendOps BAIBackendHost = {
  .create     = CreateState,
  .update     = UpdateMatrix,
  .bind       = BindVectors,
  .prepare    = Prepare,
  .color      = BAIHostColorRows,
  .turns      = BAIHostTakeTurns,
  .sweep      = Sweep,
  .residual   = Residual,
  .shares     = Shares,
  .stats      = BAIHostStatsGet,
  .connect    = BAIHostConnect,
  .exchange   = BAIHostExchangeGhosts,
  .worked     = BAIHostWorked,
  .disconnect = BAIHostDisconnect,
  .unbind     = UnbindVectors,
  .info       = TellInfo,
  .destroy    = DestroyState,
  .set        = Set,
};
