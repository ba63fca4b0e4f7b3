/* Global iterations on a Vec: access to its arrays, exchange between ranks, and residual norms */
#include "../petsc/baiimpl.h"
#include "tuning.h"

/* Keeps the first failure of this rank, which continues, as other ranks may be waiting for it */
static void NoteFailure(BAI *bai, BAIStatus status)
{
  if (!bai->relax.failed.code) bai->relax.failed = status;
}

/* Returns the failure that this rank kept as an error */
static PetscErrorCode RaiseFailure(BAI *bai)
{
  const BAIStatus failed = bai->relax.failed;

  PetscFunctionBegin;
  bai->relax.failed = BAIStatusOf(BAI_OK);
  PetscCall(BAICheckStatus(bai, failed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scatters x of other ranks to the ghosts, if the engine does not exchange it */
static PetscErrorCode ScatterGhosts(BAI *bai, Vec x, PetscBool guess_zero)
{
  PetscFunctionBegin;
  if (!bai->ranks.scatter || bai->ranks.connected) PetscFunctionReturn(PETSC_SUCCESS);
  if (guess_zero) PetscCall(VecZeroEntries(bai->ranks.ghost));
  else {
    PetscCall(VecScatterBegin(bai->ranks.scatter, x, bai->ranks.ghost, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(bai->ranks.scatter, x, bai->ranks.ghost, INSERT_VALUES, SCATTER_FORWARD));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Binds the arrays of b and x, and of ghosts, if the engine does not exchange x; v gets them. A failure is noted */
static PetscErrorCode BindVectors(BAI *bai, Vec b, Vec x, PetscBool guess_zero, BAIVectors *v)
{
  const BAIBackend backend = bai->relax.use.backend;

  PetscFunctionBegin;
  v->ghost        = NULL;
  v->ghost_memory = BAI_MEMORY_HOST;
  v->scale        = (BAIReal)bai->relax.refinement.scale;
  if (bai->ranks.scatter && !bai->ranks.connected)
    PetscCall(BAIVecGetArray(backend, bai->ranks.ghost, BAI_READ, (BAIScalar **)&v->ghost, &v->ghost_memory));
  PetscCall(BAIVecGetArray(backend, b, BAI_READ, (BAIScalar **)&v->b, &v->b_memory));
  PetscCall(BAIVecGetArray(backend, x, guess_zero ? BAI_WRITE : BAI_READ_WRITE, &v->x, &v->x_memory));
  NoteFailure(bai, BAIEngineBind(bai->relax.engine, v, (int)guess_zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends what BindVectors() began with the same arguments: x is stored, unless this rank has failed */
static PetscErrorCode UnbindVectors(BAI *bai, Vec b, Vec x, PetscBool guess_zero, BAIVectors *v)
{
  const BAIBackend backend = bai->relax.use.backend;

  PetscFunctionBegin;
  if (!bai->relax.failed.code) NoteFailure(bai, BAIEngineUnbind(bai->relax.engine));
  PetscCall(BAIVecRestoreArray(backend, x, guess_zero ? BAI_WRITE : BAI_READ_WRITE, &v->x));
  PetscCall(BAIVecRestoreArray(backend, b, BAI_READ, (BAIScalar **)&v->b));
  if (v->ghost) PetscCall(BAIVecRestoreArray(backend, bai->ranks.ghost, BAI_READ, (BAIScalar **)&v->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LogFlops(const BAI *bai, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (bai->relax.use.backend == BAI_BACKEND_HOST) PetscCall(PetscLogFlops(flops));
  else PetscCall(BAILogDeviceFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does global iterations on the bound vectors, unless this rank has failed; logs them with b and x */
static PetscErrorCode SweepVectors(BAI *bai, Vec b, Vec x, PetscInt count, const BAIStep *step)
{
  const PetscBool ends = (PetscBool)(!step->turn || step->turn == bai->relax.info.turns);

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BAI_Sweep, b, x, 0, 0));
  if (bai->relax.use.backend == BAI_BACKEND_CUDA) PetscCall(BAILogDeviceBegin());
  if (!bai->relax.failed.code) NoteFailure(bai, BAIEngineSweep(bai->relax.engine, count, step));
  if (bai->relax.use.backend == BAI_BACKEND_CUDA) PetscCall(BAILogDeviceEnd());
  if (ends) PetscCall(LogFlops(bai, (PetscLogDouble)count * bai->relax.info.flops_iteration));
  PetscCall(PetscLogEventEnd(BAI_Sweep, b, x, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x||^2 over all ranks, and the number of ranks that have failed */
static PetscErrorCode ResidualNorm2(BAI *bai, Vec b, Vec x, PetscReal *norm2, PetscInt *failed)
{
  BAIReal   mine = 0;
  PetscReal local[2], sum[2];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BAI_Residual, b, x, 0, 0));
  if (bai->relax.use.backend == BAI_BACKEND_CUDA) PetscCall(BAILogDeviceBegin());
  if (!bai->relax.failed.code) NoteFailure(bai, BAIEngineResidual(bai->relax.engine, &mine));
  if (bai->relax.use.backend == BAI_BACKEND_CUDA) PetscCall(BAILogDeviceEnd());
  PetscCall(LogFlops(bai, bai->relax.info.flops_residual));
  local[0] = mine;
  local[1] = bai->relax.failed.code ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(local, sum, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)x)));
  *norm2  = sum[0];
  *failed = (PetscInt)sum[1];
  PetscCall(PetscLogEventEnd(BAI_Residual, b, x, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the pace of this rank to the number of iterations that it does in the time of one on the slowest rank, at most
   BAI_MOST_PACE, so that ranks wait less for each other. The pace stays if this rank has measured no time. x is used
   for its communicator only. Collective; called after BAIEngineResidual() */
static PetscErrorCode FindPace(BAI *bai, Vec x)
{
  PetscReal mine = (PetscReal)BAIEngineSeconds(bai->relax.engine), slowest;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &slowest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)x)));
  if (mine <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  BAIEngineSetPace(bai->relax.engine, PetscMin(BAI_MOST_PACE, slowest / mine));
  PetscCall(PetscInfo(bai->obj, "A global iteration takes %g s here, %g s on the slowest rank\n", (double)mine,
                      (double)slowest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the work vectors bai->r and bai->c, if they do not exist */
PetscErrorCode BAINeedWork(BAI *bai, Mat A)
{
  PetscFunctionBegin;
  if (!bai->r) PetscCall(MatCreateVecs(A, &bai->c, &bai->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes ||b - A x|| from its square by the engine, or from the vectors if the square is out of range */
static PetscErrorCode NormOf(BAI *bai, Vec b, Vec x, PetscReal norm2, PetscReal *rnorm)
{
  PetscFunctionBegin;
  if (BAIIsExactSquare(norm2) || PetscIsNanReal(norm2)) {
    *rnorm = PetscSqrtReal(norm2);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BAINeedWork(bai, bai->relax.A));
  PetscCall(MatResidual(bai->relax.A, b, x, bai->r));
  PetscCall(BAIVecNorm(bai->r, rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step with the parameters of the options, for iterations from a new x */
BAIStep BAIStepOf(const BAI *bai, BAIDirection direction)
{
  const BAIOptions *o    = &bai->options;
  const BAIStep     step = {.mode      = BAIModeOf(bai),
                            .direction = direction,
                            .omega     = o->omega * bai->relax.tau,
                            .momentum  = o->momentum,
                            .fresh     = 1,
                            .faulty    = o->fault_fraction > 0.0};

  return step;
}

/* Starts to send x to other ranks, which runs in the background */
static PetscErrorCode SendOff(BAI *bai, Vec x)
{
  PetscFunctionBegin;
  if (!bai->ranks.sent) PetscCall(VecDuplicate(x, &bai->ranks.sent));
  if (!bai->ranks.coming) PetscCall(VecDuplicate(bai->ranks.ghost, &bai->ranks.coming));
  PetscCall(VecCopy(x, bai->ranks.sent)); /* sent does not change until all ranks have it */
  PetscCall(VecScatterBegin(bai->ranks.scatter, bai->ranks.sent, bai->ranks.coming, INSERT_VALUES, SCATTER_FORWARD));
  bai->ranks.under_way = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Receives the values of x that were sent, to be read from now on */
static PetscErrorCode TakeIn(BAI *bai)
{
  const Vec before = bai->ranks.ghost;

  PetscFunctionBegin;
  if (!bai->ranks.under_way) PetscFunctionReturn(PETSC_SUCCESS);
  bai->ranks.under_way = PETSC_FALSE;
  PetscCall(VecScatterEnd(bai->ranks.scatter, bai->ranks.sent, bai->ranks.coming, INSERT_VALUES, SCATTER_FORWARD));
  bai->ranks.ghost  = bai->ranks.coming;
  bai->ranks.coming = before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sends x to other ranks, in the background if overlaps, and binds all vectors again; *guess_zero becomes false */
static PetscErrorCode PassAll(BAI *bai, Vec b, Vec x, PetscBool overlaps, PetscBool *guess_zero, BAIVectors *v)
{
  PetscFunctionBegin;
  PetscCall(UnbindVectors(bai, b, x, *guess_zero, v));
  *guess_zero = PETSC_FALSE;
  PetscCall(TakeIn(bai));
  if (overlaps) PetscCall(SendOff(bai, x));
  else PetscCall(ScatterGhosts(bai, x, PETSC_FALSE));
  PetscCall(BindVectors(bai, b, x, PETSC_FALSE, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Does count global iterations with the engine's matrix from x, or if guess_zero from zero; then computes ||b - A x||
   if rnorm is not NULL. If the engine does not exchange x between ranks, this function does: after each global
   iteration, or turn of all ranks, or, with exchange amc, during the next iteration
*/
PetscErrorCode BAIIterate(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *how,
                          PetscReal *rnorm)
{
  const PetscBool scatters = (PetscBool)(bai->ranks.scatter && !bai->ranks.connected),
                  overlaps = (PetscBool)(bai->options.exchange == BAI_EXCHANGE_AMC &&
                                         (how->mode == BAI_MODE_ASYNC || how->mode == BAI_MODE_LAUNCH));
  const PetscInt at_once   = scatters ? 1 : count,
                 turns     = scatters && how->mode == BAI_MODE_COLOR ? PetscMax(bai->relax.info.turns, 1) : 1;
  BAIStep    step          = *how;
  BAIVectors v;
  PetscReal  norm2  = 0;
  PetscInt   failed = 0;

  PetscFunctionBegin;
  PetscCall(ScatterGhosts(bai, x, guess_zero));
  PetscCall(BindVectors(bai, b, x, guess_zero, &v));
  for (PetscInt done = 0; done < count; done += at_once) {
    if (scatters && how->direction == BAI_ALTERNATE) step.direction = done % 2 ? BAI_BACKWARD : BAI_FORWARD;
    for (PetscInt turn = 0; turn < turns; turn++) {
      if (scatters && (done || turn)) PetscCall(PassAll(bai, b, x, overlaps, &guess_zero, &v));
      if (turns > 1) step.turn = (BAIInt)turn + 1;
      PetscCall(SweepVectors(bai, b, x, at_once, &step));
    }
    step.fresh = 0;
    step.done += (BAIInt)at_once;
  }
  if (rnorm && scatters && count) PetscCall(PassAll(bai, b, x, PETSC_FALSE, &guess_zero, &v));
  if (rnorm) PetscCall(ResidualNorm2(bai, b, x, &norm2, &failed));
  if (rnorm && bai->ranks.connected && how->ahead) PetscCall(FindPace(bai, x));
  PetscCall(UnbindVectors(bai, b, x, guess_zero, &v));
  PetscCall(TakeIn(bai));
  PetscCall(RaiseFailure(bai));
  PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "Block-asynchronous iteration failed on %" PetscInt_FMT " other ranks, whose error messages say why",
             failed);
  if (rnorm) PetscCall(NormOf(bai, b, x, norm2, rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Does a whole solve by the engine, until a tolerance is met or the residual norm stagnates. A negative bnorm is
   replaced by ||b||. solution->its is 0 only if nothing was done, as the engine cannot do whole solves
*/
PetscErrorCode BAISolve(BAI *bai, Vec b, Vec x, PetscBool guess_zero, const BAITolerances *tolerances,
                        const BAIStep *step, PetscReal *bnorm, PetscReal *rnorm, BAISolution *solution)
{
  const PetscBool of_b = (PetscBool)(*bnorm < 0);
  BAITolerances   t    = *tolerances;
  BAIVectors      v;

  PetscFunctionBegin;
  *solution = (BAISolution){.its = 0};
  t.bnorm2  = of_b ? -1 : *bnorm * *bnorm;
  PetscCall(BindVectors(bai, b, x, guess_zero, &v));
  PetscCall(PetscLogEventBegin(BAI_Sweep, b, x, 0, 0));
  PetscCall(BAILogDeviceBegin());
  if (!bai->relax.failed.code) NoteFailure(bai, BAIEngineSolve(bai->relax.engine, &t, step, solution));
  PetscCall(BAILogDeviceEnd());
  PetscCall(
    LogFlops(bai, (PetscLogDouble)solution->its * bai->relax.info.flops_iteration + bai->relax.info.flops_residual));
  PetscCall(PetscLogEventEnd(BAI_Sweep, b, x, 0, 0));
  PetscCall(UnbindVectors(bai, b, x, guess_zero, &v));
  PetscCall(RaiseFailure(bai));
  if (of_b) *bnorm = PetscSqrtReal(solution->bnorm2);
  if (of_b && !BAIIsExactSquare(solution->bnorm2)) PetscCall(BAIVecNorm(b, bnorm));
  PetscCall(NormOf(bai, b, x, solution->rnorm2, rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
