/*
   The CUDA backend: its operations for the engine. sliced.cu stores the matrix, plan.cu chooses kernels, sweep.cu
   launches them
*/
#include "../coloring.h"
#include "state.h"

/* Wraps a function of the backend that uses the C++ library */
template <auto function, typename... Arguments>
static BAIStatus Caught(Arguments... arguments)
{
  return BAICatch([&] { return function(arguments...); });
}

/* The functions of the table BAIBackendCUDA below are BAIEngine...() of engine.h */
static void Destroy(BAIState state)
{
  (void)cudaStreamSynchronize(state->stream); /* kernels may still write to pinned memory */
  (void)BAICUDADisconnect(state);
  BAIPinnedRestore(state->pinned);
  BAIContextClose(state);
  delete state;
}

static BAIStatus Create(const BAIMatrix *matrix, const BAIPartition *partition, const BAIParameters *p,
                        BAIState *newstate)
{
  BAIState  state;
  BAIStatus status;

  *newstate = NULL;
  state     = new (std::nothrow) BAIState_();
  if (!state) return BAIStatusOf(BAI_ERR_MEMORY);
  state->p         = *p;
  status           = BAIContextOpen(state, p->device, p->stream);
  state->idle_wait = p->idle_wait;
  if (!status.code)
    status = BAICatch([&] {
      BAITry(BAISlicedCreate(state, matrix, partition));
      BAITry(BAIRoundInside(state));
      BAITry(BAIResidualSetUp(state));
      return BAISweepPrepare(state, state->p.mode);
    });
  if (status.code) Destroy(state);
  else *newstate = state;
  return status;
}

/* Gets a vector in memory that kernels can read: itself, or staged[k], copied if copy. Waits for the copy, as the
   caller may change the vector once it has been read */
static BAIStatus Stage(BAIState state, int k, size_t n, BAIMemory memory, const BAIScalar *vector, bool copy,
                       BAIScalar **on_device)
{
  *on_device = (BAIScalar *)vector;
  if (memory == BAI_MEMORY_DEVICE) return BAIStatusOf(BAI_OK);
  if (!state->staged[k]) BAITry(BAICUDAAllocate(state, n * sizeof(BAIScalar), &state->staged[k]));
  *on_device = state->staged[k];
  if (!copy || !n) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(*on_device, vector, n * sizeof(BAIScalar), cudaMemcpyHostToDevice, state->stream));
  return BAICUDAWait(state);
}

/* Gets the vector that sweeps use: the one on the device, or a rounded copy */
static BAIStatus Round(BAIState state, int k, size_t n, bool copy, void **vector)
{
  *vector = state->on_device[k];
  if (!state->A.single) return BAIStatusOf(BAI_OK);
  if (!state->rounded[k]) BAITry(BAICUDAAllocate(state, n * sizeof(BAISingle), &state->rounded[k]));
  *vector = state->rounded[k];
  return copy ? BAIRoundVector(state, (int)n, state->on_device[k], *vector) : BAIStatusOf(BAI_OK);
}

static BAIStatus Bind(BAIState state, const BAIVectors *v, int guess_zero)
{
  const size_t  n = (size_t)state->A.n, nghost = (size_t)state->nghost;
  const BAIReal scale = state->A.single && v->scale > 0 ? v->scale : 1;

  BAITry(BAICUDAIsReady(state->stream));
  state->v       = *v;
  state->current = 0;
  state->scale   = scale;
  BAITry(Stage(state, 0, n, v->b_memory, v->b, true, &state->on_device[0]));
  BAITry(Stage(state, 2, n, v->x_memory, v->x, !guess_zero, &state->on_device[2]));
  BAITry(Round(state, 0, n, true, &state->b));
  BAITry(Round(state, 2, n, !guess_zero, &state->x[0]));
  if (v->ghost) {
    BAITry(Stage(state, 1, nghost, v->ghost_memory, v->ghost, true, &state->on_device[1]));
    BAITry(Round(state, 1, nghost, true, &state->ghost));
  }
  if (guess_zero) CUDATry(cudaMemsetAsync(state->x[0], 0, n * BAIValueSize(&state->A), state->stream));
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Update(BAIState state, const BAIMatrix *matrix)
{
  BAITry(BAICUDAIsReady(state->stream));
  return BAICatch([&] {
    BAITry(BAISlicedUpdateValues(state, matrix));
    return BAIRoundInside(state);
  });
}

static BAIStatus Unbind(BAIState state)
{
  const size_t bytes = (size_t)state->A.n * sizeof(BAIScalar);

  if (state->current && state->has_before == BAI_BEFORE_OTHER) BAITry(BAISwapIterates(state));
  else BAITry(BAIIterateToFirst(state));
  state->current = 0;
  if (state->A.single) BAITry(BAIWidenVector(state, state->A.n, state->x[0], state->on_device[2]));
  if (state->v.x_memory == BAI_MEMORY_HOST) {
    CUDATry(cudaMemcpyAsync(state->v.x, state->on_device[2], bytes, cudaMemcpyDeviceToHost, state->stream));
    BAITry(BAICUDAWait(state));
  }
  return BAIStatusOf(BAI_OK);
}

/* The bytes that a global iteration reads and writes, each counted once; on the chip only x */
static int64_t BytesOfIteration(BAIState state, const BAIPlan *plan)
{
  const BAISliced *A     = &state->A;
  const int64_t    value = (int64_t)BAIValueSize(A), vector = A->n * value,
                rounded = A->sweep_a == A->loc_a ? 0 : state->places_loc * (int64_t)BAISweepSize(A);

  if (plan->resident) return 2 * vector;
  return rounded + state->places_loc * (value + BAIColumnSize(A)) + state->places_off * value +
    (state->places_off_j + state->places_rest) * sizeof(int) + state->places_rest * value +
    (A->off_first ? BAISlices(A) * (BAI_LANES + 1) * (int64_t)sizeof(int) : 0) +
    A->pieces * (int64_t)(sizeof(BAIPiece) + 2 * value) + BAISlices(A) * (int64_t)sizeof(BAISlice) +
    (4 + (plan->order == BAI_FLAGS ? 1 : 2) * (plan->momentum && (state->p.momentum == 1 || state->has_before))) *
    vector;
}

static void Info(BAIState state, BAIInfo *info)
{
  const BAIPlan *plan = &state->plan[state->p.mode];

  info->block_size      = state->A.block_size;
  info->blocks          = state->blocks;
  info->workers         = plan->grid;
  info->nnz_local       = state->nnz_local;
  info->nnz_off         = state->nnz_off;
  info->bytes           = state->bytes;
  info->bytes_iteration = BytesOfIteration(state, plan);
  info->local_omega     = state->local_omega * state->least_share;
  info->local_sweeps    = state->local_sweeps;
  info->units           = state->units;
  info->colors          = state->colors;
  info->solves          = 0;
  for (int mode = 0; mode < 4; mode++) info->solves |= (state->plan[mode].resident && !state->A.single) << mode;
}

extern "C" const BAIBackendOps BAIBackendCUDA = {
  .create     = Create,
  .update     = Update,
  .bind       = Bind,
  .prepare    = Caught<BAISweepPrepare>,
  .sweep      = BAISweepRun,
  .solve      = BAISweepSolve,
  .residual   = BAIResidualRun,
  .shares     = Caught<BAISlicedShares>,
  .stats      = Caught<BAIStatsGet>,
  .connect    = Caught<BAICUDAConnect>,
  .exchange   = BAICUDAExchangeGhosts,
  .worked     = BAICUDAWorked,
  .disconnect = BAICUDADisconnect,
  .unbind     = Unbind,
  .wait       = [](BAIState state) { return BAICUDAWait(state); },
  .explain    = BAIPlanExplain,
  .info       = Info,
  .destroy    = Destroy,
  .ready      = BAICUDAIsReady,
  .set        = BAICUDASet,
};
