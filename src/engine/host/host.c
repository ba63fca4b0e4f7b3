/*
   The host backend: OpenMP threads. Short enough to be read as the definition of the method: see sweep.c
*/
#include "../adapt.h"
#include "../aggregate.h"
#include "../theta.h"
#include "host.h"
#include <stdlib.h>

static void Destroy(BAIState state)
{
  BAIBlockCRSDestroy(&state->A);
  BAIHostCoarseDestroy(&state->coarse);
  BAIHostDisconnect(state);
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

static BAIStatus Allocate(BAIState state)
{
  const size_t n = (size_t)state->A.n + 1;

  state->x      = malloc(n * BAI_PARTS * sizeof(*state->x));
  state->before = state->p.momentum ? malloc(n * sizeof(*state->before)) : NULL;
  state->work   = malloc(3 * ((size_t)state->A.most_rows + 1) * (size_t)state->p.threads * sizeof(*state->work));
  state->done   = malloc(((size_t)state->tasks + 1) * sizeof(*state->done));
  state->norm2  = malloc(((size_t)state->A.blocks + 1) * sizeof(*state->norm2));
  return state->x && state->work && state->done && state->norm2 && (state->before || !state->p.momentum) ? BAIStatusOf(BAI_OK) : BAIStatusOf(BAI_ERR_MEMORY);
}

static BAIStatus Prepare(BAIState state, BAIMode mode)
{
  if (mode != BAI_MODE_SYNC && mode != BAI_MODE_COLOR) return BAIStatusOf(BAI_OK);
  if (!state->next) state->next = malloc(((size_t)state->A.n + 1) * BAI_PARTS * sizeof(*state->x));
  if (!state->next) return BAIStatusOf(BAI_ERR_MEMORY);
  return mode == BAI_MODE_COLOR && !state->order ? BAIHostColor(state) : BAIStatusOf(BAI_OK);
}

/* What follows from the values of the matrix */
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

static BAIStatus Create(const BAIMatrix *matrix, const BAIPartition *partition, const BAIParameters *p, BAIState *newstate)
{
  enum {
    MIN_TASK_ROWS    = 256,  /* make a ticket worth drawing, */
    MAX_TASK_ROWS    = 4096, /* are as good as a stream from memory, */
    TASKS_PER_THREAD = 64    /* leave none with nothing to do */
  };
  BAIState     state = calloc(1, sizeof(*state));
  BAIBlockCRS *A;
  BAIStatus    status;

  *newstate = NULL;
  if (!state) return BAIStatusOf(BAI_ERR_MEMORY);
  if (p->kernel != BAI_KERNEL_AUTO) {
    free(state);
    return BAIStatusBecause(BAI_ERR_KERNEL, BAIKernelString(p->kernel), "backend host has no kernel families");
  }
  A             = &state->A;
  state->p      = *p;
  state->nghost = matrix->nghost;
  status        = BAIBlockCRSCreate(matrix, partition, p, A);
  if (!status.code) {
    const BAIInt rows = A->n / (TASKS_PER_THREAD * (BAIInt)p->threads), task_rows = rows < MIN_TASK_ROWS ? MIN_TASK_ROWS : rows > MAX_TASK_ROWS ? MAX_TASK_ROWS : rows;

    state->blocks_task  = A->most_rows < task_rows ? task_rows / A->most_rows : 1;
    state->tasks        = Groups(A->blocks, state->blocks_task);
    state->blocks_group = BAIGroup(A->most_rows);
    state->groups       = Groups(A->blocks, state->blocks_group);
    if (state->p.threads > state->tasks) state->p.threads = state->tasks ? (int)state->tasks : 1;
    status = Weigh(state);
  }
  if (!status.code) status = Allocate(state);
  if (!status.code) status = Prepare(state, p->mode);
  if (status.code) Destroy(state);
  else *newstate = state;
  return status;
}

static BAIStatus Update(BAIState state, const BAIMatrix *matrix)
{
  BAITry(BAIBlockCRSUpdateValues(&state->A, matrix, &state->p));
  BAITry(BAIHostCoarseUpdate(state, matrix));
  return Weigh(state);
}

static BAIStatus Bind(BAIState state, const BAIVectors *v, int guess_zero)
{
  state->v     = *v;
  state->ghost = (BAIAtomic *)v->ghost;
  BAIHostCoarseBind(state);
#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt i = 0; i < state->A.n; i++) BAIStore(state->x, i, guess_zero ? 0 : v->x[i]);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Unbind(BAIState state)
{
#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt i = 0; i < state->A.n; i++) state->v.x[i] = BAILoad(state->x, i);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Sweep(BAIState state, BAIInt count, const BAIStep *step)
{
  BAIHostSweep(state, count, step);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Residual(BAIState state, BAIReal *norm2)
{
  BAIHostResidual(state, norm2);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Disconnect(BAIState state)
{
  BAIHostDisconnect(state);
  return BAIStatusOf(BAI_OK);
}

static BAIReal SumOfMagnitudes(const BAIBlockCRS *A, const void *a, BAIInt n)
{
  BAIReal sum = 0;

#pragma omp parallel for num_threads(A->threads) schedule(static) reduction(+ : sum)
  for (BAIInt k = 0; k < n; k++) sum += BAIAbs(BAIValue(A, a, k));
  return sum;
}

static BAIStatus Sums(BAIState state, BAIReal *inside, BAIReal *outside)
{
  const BAIBlockCRS *A = &state->A;

  *inside  = SumOfMagnitudes(A, A->loc_a, A->loc_i[A->places]);
  *outside = SumOfMagnitudes(A, A->off_a, A->off_i[A->places]);
  return BAIStatusOf(BAI_OK);
}

static void Info(BAIState state, BAIInfo *info)
{
  const BAIBlockCRS *A      = &state->A;
  const int64_t      vector = A->n * (int64_t)sizeof(BAIScalar);

  info->block_size      = A->block_size;
  info->local_sweeps    = state->local_sweeps;
  info->blocks          = A->blocks;
  info->workers         = state->p.threads;
  info->ordered         = BAI_MODE_SYNC;
  info->solves          = 0;
  info->solves_coarse   = 0;
  info->aggregates      = state->coarse.aggregates;
  info->coarse          = state->coarse.aggregates * state->coarse.columns;
  info->local_omega     = state->local_omega * A->least_share;
  info->units           = A->units;
  info->colors          = state->colors;
  info->nnz_local       = A->loc_i[A->places];
  info->nnz_off         = A->off_i[A->places];
  info->bytes           = (info->nnz_local + info->nnz_off) * (int64_t)(sizeof(BAIInt) + (A->single ? sizeof(BAISingle) : sizeof(BAIScalar))) + A->places * (int64_t)(2 * (sizeof(BAIInt) + sizeof(BAIScalar))) + (1 + (state->next != NULL) + (state->before != NULL) + BAIHasCoarse(&state->coarse)) * vector + (int64_t)info->coarse * (int64_t)info->coarse * (int64_t)sizeof(BAISingle);
  info->bytes_iteration = (info->nnz_local + info->nnz_off) * (int64_t)(sizeof(BAIInt) + (A->single ? sizeof(BAISingle) : sizeof(BAIScalar))) + A->places * (int64_t)(2 * sizeof(BAIInt) + sizeof(BAIScalar)) + (3 + 2 * (state->p.momentum == 1)) * vector;
}

const BAIBackendOps BAIBackendHost = {
  .name       = "host",
  .create     = Create,
  .update     = Update,
  .bind       = Bind,
  .prepare    = Prepare,
  .sweep      = Sweep,
  .residual   = Residual,
  .coarsen    = BAIHostCoarsen,
  .correct    = BAIHostCorrect,
  .sums       = Sums,
  .share      = BAIHostShare,
  .connect    = BAIHostConnect,
  .exchange   = BAIHostExchangeGhosts,
  .disconnect = Disconnect,
  .unbind     = Unbind,
  .info       = Info,
  .destroy    = Destroy,
  .replay     = BAIAdaptReplay,
  .aggregate  = BAIAggregateMatrix,
};
