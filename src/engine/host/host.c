/*
   The host backend: OpenMP threads. Short enough to be read as the definition of the method: see sweep.c
*/
#include "host.h"
#include <stdlib.h>

static void Destroy(BAIState state)
{
  BAIBlockCRSDestroy(&state->A);
  free(state->x);
  free(state->next);
  free(state->work);
  free(state->done);
  free(state->norm2);
  free(state->order);
  free(state->turn_first);
  free(state);
}

static BAIStatus Allocate(BAIState state)
{
  const size_t n      = (size_t)state->A.n + 1;
  const int    beside = state->p.mode == BAI_MODE_SYNC || state->p.mode == BAI_MODE_COLOR;

  state->x     = malloc(n * BAI_PARTS * sizeof(*state->x));
  state->next  = beside ? malloc(n * BAI_PARTS * sizeof(*state->x)) : NULL;
  state->work  = malloc(3 * (size_t)state->A.block_size * (size_t)state->p.threads * sizeof(*state->work));
  state->done  = malloc(((size_t)state->tasks + 1) * sizeof(*state->done));
  state->norm2 = malloc(((size_t)state->A.blocks + 1) * sizeof(*state->norm2));
  return state->x && state->work && state->done && state->norm2 && (state->next || !beside) ? BAIStatusOf(BAI_OK) : BAIStatusOf(BAI_ERR_MEMORY);
}

static BAIStatus Create(const BAIMatrix *matrix, const BAIParameters *p, BAIState *newstate)
{
  enum {
    TASK_ROWS = 256 /* rows that make a ticket worth drawing */
  };
  const BAIInt block_size = p->block_size < matrix->n ? p->block_size : (matrix->n ? matrix->n : 1);
  BAIState     state      = calloc(1, sizeof(*state));
  BAIStatus    status;

  *newstate = NULL;
  if (!state) return BAIStatusOf(BAI_ERR_MEMORY);
  state->p           = *p;
  state->blocks_task = p->mode == BAI_MODE_COLOR ? BAIGroup(block_size) : block_size < TASK_ROWS ? TASK_ROWS / block_size : 1;
  state->tasks       = matrix->n / (block_size * state->blocks_task) + (matrix->n % (block_size * state->blocks_task) ? 1 : 0);
  if (state->p.threads > state->tasks) state->p.threads = state->tasks ? (int)state->tasks : 1;
  status = BAIBlockCRSCreate(matrix, block_size, state->p.threads, &state->A);
  if (!status.code) status = Allocate(state);
  if (!status.code && p->mode == BAI_MODE_COLOR) status = BAIHostColor(state);
  if (status.code) Destroy(state);
  else *newstate = state;
  return status;
}

static BAIStatus Update(BAIState state, const BAIMatrix *matrix)
{
  return BAIBlockCRSUpdateValues(&state->A, matrix);
}

static BAIStatus Bind(BAIState state, const BAIVectors *v, int guess_zero)
{
  state->v = *v;
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

static BAIStatus Sweep(BAIState state, BAIInt count, BAIDirection direction)
{
  BAIHostSweep(state, count, direction);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Residual(BAIState state, BAIReal *norm2)
{
  BAIHostResidual(state, norm2);
  return BAIStatusOf(BAI_OK);
}

static void Info(BAIState state, BAIInfo *info)
{
  const BAIBlockCRS *A = &state->A;

  info->block_size = A->block_size;
  info->blocks     = A->blocks;
  info->workers    = state->p.threads;
  info->solves      = 0;
  info->local_omega = BAILocalOmega(&state->p, A->row_sum);
  info->colors     = state->colors;
  info->nnz_local  = A->loc_i[A->n];
  info->nnz_off    = A->off_i[A->n];
  info->bytes      = (info->nnz_local + info->nnz_off) * (int64_t)(sizeof(BAIInt) + sizeof(BAIScalar)) + A->n * (int64_t)(2 * sizeof(BAIInt) + (state->next ? 4 : 3) * sizeof(BAIScalar));
}

const BAIBackendOps BAIBackendHost = {"host", Create, Update, Bind, Sweep, NULL, Residual, Unbind, Info, Destroy};
