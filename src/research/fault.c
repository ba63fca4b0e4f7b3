/* Faults: simulation, and detection of simulated and real ones in a solve */
#include "research.h"
#include "../relaxation/fault.h"
#include "../relaxation/tuning.h"

/* Whether faults are simulated or detected, so that the engine cannot do the whole solve */
PetscBool BAIHasFaults(const BAIOptions *o)
{
  return (PetscBool)(o->fault_fraction > 0.0 || o->fault_detect);
}

/* Lets the engine copy the matrix again, which mends flipped bits */
static PetscErrorCode CopyMatrix(BAI *bai)
{
  PetscFunctionBegin;
  bai->research->watch.flipped = PETSC_FALSE;
  PetscCall(BAIRefillEngine(bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes ||r_J||^2 of this rank's blocks J */
static PetscErrorCode BlockNorms(const BAI *bai, Vec r, PetscReal *norm2)
{
  const BAIWatch    *w = &bai->research->watch;
  const PetscScalar *rr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(norm2, (size_t)w->blocks));
  PetscCall(VecGetArrayRead(r, &rr));
  for (PetscInt i = 0; i < w->n; i++) norm2[w->block[i]] += PetscRealPart(rr[i] * PetscConj(rr[i]));
  PetscCall(VecRestoreArrayRead(r, &rr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Estimates the rounding error of a residual of x */
static PetscErrorCode RoundingOf(const BAI *bai, Vec b, Vec x, PetscReal *size)
{
  PetscReal bnorm, xnorm;

  PetscFunctionBegin;
  PetscCall(BAIVecNorm(b, &bnorm));
  PetscCall(BAIVecNorm(x, &xnorm));
  *size = PETSC_MACHINE_EPSILON * (bai->research->watch.anorm * xnorm + bnorm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIFaultsReset(BAI *bai)
{
  BAIWatch *w = &bai->research->watch;

  PetscFunctionBegin;
  PetscCall(PetscFree(w->block));
  PetscCall(PetscFree(w->norm2));
  PetscCall(PetscFree(w->still));
  PetscCall(VecDestroy(&w->good));
  PetscCall(VecDestroy(&w->r));
  PetscCall(VecDestroy(&w->diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes new reference data for the detection of faults, and frees the previous ones: the block of each row, the
   diagonal of A, a bound of ||A||, x (zero if guess_zero, without reading x), and ||r_J||^2 of each local block with
   their maximum over all ranks. Collective */
static PetscErrorCode StartDetection(BAI *bai, Vec b, Vec x, PetscBool guess_zero)
{
  BAIWatch *w = &bai->research->watch;
  PetscReal norm1, norminf;

  PetscFunctionBegin;
  PetscCall(BAIFaultsReset(bai));
  PetscCall(VecGetLocalSize(x, &w->n));
  PetscCall(PetscMalloc1(w->n, &w->block));
  w->blocks = (PetscInt)bai->relax.info.blocks;
  PetscCall(PetscMalloc1((size_t)w->blocks, &w->norm2));
  PetscCall(PetscCalloc1(w->n, &w->still));
  BAIEngineBlocks(bai->relax.engine, w->block);
  PetscCall(VecDuplicate(x, &w->good));
  PetscCall(VecDuplicate(b, &w->r));
  PetscCall(VecDuplicate(b, &w->diagonal));
  PetscCall(MatGetDiagonal(bai->relax.A, w->diagonal));
  PetscCall(MatNorm(bai->relax.A, NORM_1, &norm1));
  PetscCall(MatNorm(bai->relax.A, NORM_INFINITY, &norminf));
  w->anorm = PetscSqrtReal(norm1) * PetscSqrtReal(norminf);
  if (guess_zero) PetscCall(VecZeroEntries(w->good));
  else PetscCall(VecCopy(x, w->good));
  PetscCall(MatResidual(bai->relax.A, b, w->good, w->r));
  PetscCall(BlockNorms(bai, w->r, w->norm2));
  w->most2 = 0.0;
  for (PetscInt k = 0; k < w->blocks; k++) w->most2 = PetscMax(w->most2, w->norm2[k]);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &w->most2, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Starts faults and detection at the begin of a solve */
PetscErrorCode BAIFaultsStart(BAI *bai, Vec b, Vec x, PetscBool guess_zero)
{
  BAIWatch *w = &bai->research->watch;

  PetscFunctionBegin;
  w->last = (PetscInt)bai->relax.use.p.fault.last;
  if (w->flipped) PetscCall(CopyMatrix(bai));
  w->faults = w->resets = w->copies = w->reassigned = w->left = w->retries = 0;
  w->stagnates = w->copied = PETSC_FALSE;
  w->its                   = 0;
  w->norm                  = -1.0;
  if (!BAIHasFaults(&bai->options)) PetscFunctionReturn(PETSC_SUCCESS);
  if (bai->options.fault_detect) PetscCall(StartDetection(bai, b, x, guess_zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flips a bit of x, or of the engine's copy of the matrix, in each row that the faults hit; all ranks call it */
static PetscErrorCode FlipBits(BAI *bai, Vec x)
{
  const BAIFault *fault   = &bai->relax.use.p.fault;
  PetscInt        flipped = 0, n;
  BAIInt          mine    = 0;
  PetscScalar    *xx;

  PetscFunctionBegin;
  if (fault->type == BAI_FAULT_MATRIX) {
    PetscCall(BAIAgree(bai, BAICheckStatus(bai, BAIEngineFlip(bai->relax.engine, &mine)), NULL));
    bai->research->watch.flipped = PETSC_TRUE;
  } else {
    PetscCall(VecGetLocalSize(x, &n));
    PetscCall(VecGetArray(x, &xx));
    for (PetscInt i = 0; i < n; i++) {
      if (!BAIFaultHits(fault, (BAIInt)i)) continue;
      BAIFaultFlip(fault, (BAIInt)i, xx + i, sizeof(PetscReal));
      mine++;
    }
    PetscCall(VecRestoreArray(x, &xx));
  }
  flipped = (PetscInt)mine;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &flipped, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)x)));
  PetscCall(PetscInfo(bai->obj, "Iteration %" PetscInt_FMT ": a bit of %s is flipped in %" PetscInt_FMT " rows\n",
                      (PetscInt)fault->first, fault->type == BAI_FAULT_X ? "x" : "the copy of the matrix", flipped));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does count global iterations after the first how->done ones of the solve, with the fault events between them */
PetscErrorCode BAIRunFaulty(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *how,
                            PetscReal *rnorm)
{
  BAIRunFunction *run   = bai->research->run;
  BAIWatch       *w     = &bai->research->watch;
  const BAIFault *fault = &bai->relax.use.p.fault;
  const PetscBool flips = (PetscBool)(fault->fraction > 0 &&
                                      (fault->type == BAI_FAULT_X || fault->type == BAI_FAULT_MATRIX));
  BAIStep         step  = *how;
  PetscInt        done  = (PetscInt)how->done;

  PetscFunctionBegin;
  step.faulty    = fault->fraction > 0;
  step.recovered = (BAIInt)w->last;
  if (!count) PetscCall((*run)(bai, b, x, guess_zero, 0, &step, rnorm));
  while (count > 0) {
    const PetscInt next = flips && done <= fault->first ? (PetscInt)fault->first
      : w->flipped && done <= w->last                   ? w->last
                                                        : PETSC_MAX_INT;
    PetscInt       n    = PetscMin(count, next - done);

    if (!n) { /* it is due, and must not happen again */
      if (next == w->last) PetscCall(CopyMatrix(bai));
      else {
        if (guess_zero) PetscCall(VecZeroEntries(x));
        guess_zero = PETSC_FALSE;
        PetscCall(FlipBits(bai, x));
      }
      n = PetscMin(count, w->flipped && w->last > done ? w->last - done : count);
    }
    step.done = (BAIInt)done;
    PetscCall((*run)(bai, b, x, guess_zero, n, &step, n == count ? rnorm : NULL));
    guess_zero = PETSC_FALSE;
    step.fresh = 0;
    count -= n;
    done += n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the residual of a block is NaN or has grown too much; with momentum growth is no fault */
static PetscBool IsBad(const BAI *bai, PetscInt block)
{
  const BAIWatch *w     = &bai->research->watch;
  const PetscReal norm2 = w->norm2[block], most2 = BAI_FAULT_GROWTH * BAI_FAULT_GROWTH * w->most2;

  return (PetscBool)(PetscIsInfOrNanReal(norm2) || (bai->options.momentum == 0.0 && norm2 > most2));
}

/* Sets x in bad blocks to its value at the last look */
static PetscErrorCode ResetBlocks(BAI *bai, Vec x)
{
  const BAIWatch    *w = &bai->research->watch;
  const PetscScalar *good;
  PetscScalar       *xx;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(w->good, &good));
  PetscCall(VecGetArray(x, &xx));
  for (PetscInt i = 0; i < w->n; i++)
    if (IsBad(bai, w->block[i])) xx[i] = good[i];
  PetscCall(VecRestoreArray(x, &xx));
  PetscCall(VecRestoreArrayRead(w->good, &good));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets lost to the number of this rank's rows that have not changed in several looks, though an update would have
   changed them. x has no bad blocks; most is the largest residual of a row */
static PetscErrorCode CountStill(BAI *bai, Vec x, PetscReal most, PetscInt *lost)
{
  BAIWatch          *w = &bai->research->watch;
  const PetscScalar *rr, *xx, *good, *d;

  PetscFunctionBegin;
  *lost = 0;
  PetscCall(VecGetArrayRead(w->r, &rr));
  PetscCall(VecGetArrayRead(x, &xx));
  PetscCall(VecGetArrayRead(w->good, &good));
  PetscCall(VecGetArrayRead(w->diagonal, &d));
  for (PetscInt i = 0; i < w->n; i++) {
    const PetscReal size  = PetscAbsScalar(rr[i]);
    const PetscBool still = (PetscBool)(xx[i] == good[i] && size > BAI_FAULT_RESIDUE * most &&
                                        size > BAI_ROUNDING * PETSC_MACHINE_EPSILON * PetscAbsScalar(d[i]) *
                                            PetscAbsScalar(xx[i]));

    w->still[i] = still ? (unsigned char)PetscMin(w->still[i] + 1, BAI_FAULT_LOOKS) : 0;
    *lost += w->still[i] == BAI_FAULT_LOOKS;
  }
  PetscCall(VecRestoreArrayRead(w->diagonal, &d));
  PetscCall(VecRestoreArrayRead(w->good, &good));
  PetscCall(VecRestoreArrayRead(x, &xx));
  PetscCall(VecRestoreArrayRead(w->r, &rr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes b - A x in watch.r, its norm, and in watch.norm2 the square of its norm in each block */
static PetscErrorCode InspectResidual(BAI *bai, Vec b, Vec x, PetscReal *rnorm)
{
  PetscFunctionBegin;
  PetscCall(MatResidual(bai->relax.A, b, x, bai->research->watch.r));
  PetscCall(BAIVecNorm(bai->research->watch.r, rnorm));
  PetscCall(BlockNorms(bai, bai->research->watch.r, bai->research->watch.norm2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SumOverRanks(const BAI *bai, PetscInt *count)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 1, MPIU_INT, MPI_SUM, PetscObjectComm(bai->obj)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stores x, which has no bad blocks, as good. Rows that are no longer updated are handed to others */
static PetscErrorCode AcceptIterate(BAI *bai, PetscInt its, Vec x)
{
  BAIWatch *w     = &bai->research->watch;
  PetscReal most2 = 0.0, most;
  PetscInt  lost;

  PetscFunctionBegin;
  if (w->retries == 1 || w->retries == 2) w->faults++; /* the repair was successful */
  w->retries = 0;
  for (PetscInt k = 0; k < w->blocks; k++) most2 = PetscMax(most2, w->norm2[k]);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most2, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)x)));
  w->most2 = most2;
  PetscCall(VecNorm(w->r, NORM_INFINITY, &most));
  PetscCall(CountStill(bai, x, most, &lost));
  PetscCall(SumOverRanks(bai, &lost));
  if (lost) {
    w->faults++;
    w->reassigned += lost;
    w->last = its;
    w->norm = -1.0;
    PetscCall(PetscArrayzero(w->still, (size_t)w->n));
    PetscCall(PetscInfo(bai->obj,
                        "Iteration %" PetscInt_FMT ": %" PetscInt_FMT " rows are not updated, others take them over\n",
                        its, lost));
  }
  PetscCall(VecCopy(x, w->good));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Detects and repairs faults, given the engine's norm; afterwards x, the norm and the rest of the step are updated */
static PetscErrorCode DetectFaults(BAI *bai, PetscInt its, Vec b, Vec x, PetscReal *rnorm, BAIStep *step)
{
  BAIWatch       *w       = &bai->research->watch;
  const PetscReal engines = *rnorm;
  PetscReal       rounding;
  PetscInt        bad = 0;

  PetscFunctionBegin;
  PetscCall(InspectResidual(bai, b, x, rnorm));
  PetscCall(RoundingOf(bai, b, x, &rounding));
  if (!PetscIsInfOrNanReal(*rnorm) && !(PetscAbsReal(engines - *rnorm) <= BAI_ROUNDING * rounding)) {
    PetscCall(
      PetscInfo(bai->obj,
                "Iteration %" PetscInt_FMT
                ": the residual norm is %g with the copied matrix, but %g with the matrix, which is copied anew\n",
                its, (double)engines, (double)*rnorm));
    PetscCall(CopyMatrix(bai));
    w->copies++;
    w->faults++;
    step->fresh = 1;
  } else if (!PetscIsInfOrNanReal(*rnorm)) *rnorm = engines; /* leads to the iterations of a solve without detection */
  for (PetscInt k = 0; k < w->blocks; k++) bad += IsBad(bai, k);
  PetscCall(SumOverRanks(bai, &bad));
  if (!bad || w->retries == BAI_FAULT_TRIES) { /* after three attempts the iteration itself diverges */
    if (!bad) PetscCall(AcceptIterate(bai, its, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(bai->obj,
                      "Iteration %" PetscInt_FMT ", residual norm %g: too large in %" PetscInt_FMT " blocks, %s\n", its,
                      (double)*rnorm, bad, w->retries < 2 ? "which go back" : "still, so the iteration diverges"));
  if (++w->retries == BAI_FAULT_TRIES) PetscFunctionReturn(PETSC_SUCCESS);
  if (w->retries == 2) {
    PetscCall(CopyMatrix(bai));
    w->copies++;
  }
  w->resets += bad;
  PetscCall(ResetBlocks(bai, x));
  PetscCall(InspectResidual(bai, b, x, rnorm));
  step->fresh = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts the rows that have nearly all of the residual */
static PetscErrorCode CountLeft(BAI *bai, Vec b, Vec x, PetscInt *rows)
{
  const PetscScalar *rr;
  PetscInt           n;
  PetscReal          most;

  PetscFunctionBegin;
  PetscCall(BAINeedWork(bai, bai->relax.A));
  PetscCall(MatResidual(bai->relax.A, b, x, bai->r));
  bai->relax.refinement.x.id = 0;
  PetscCall(VecNorm(bai->r, NORM_INFINITY, &most));
  PetscCall(VecGetLocalSize(bai->r, &n));
  PetscCall(VecGetArrayRead(bai->r, &rr));
  *rows = 0;
  for (PetscInt i = 0; i < n; i++) *rows += PetscAbsScalar(rr[i]) > BAI_FAULT_LEFT * most;
  PetscCall(VecRestoreArrayRead(bai->r, &rr));
  PetscCall(SumOverRanks(bai, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets watch.stagnates if the norm no longer falls, and no repair, such as a new copy of the matrix, is left */
static PetscErrorCode LookForStagnation(BAI *bai, PetscInt its, Vec b, Vec x, PetscReal rnorm)
{
  BAIWatch *w = &bai->research->watch;
  PetscReal rounding;

  PetscFunctionBegin;
  if (!(PetscAbsReal(rnorm - w->norm) <= BAI_FAULT_FALL * w->norm) ||
      (its < w->last && w->last < (PetscInt)BAI_INT_MAX &&
       bai->options.fault_fraction > 0.0)) { /* it falls, or a recovery is yet to come */
    if (w->copied && rnorm < w->norm) {
      w->faults++;
      w->copied = PETSC_FALSE;
    }
    w->norm = rnorm;
    w->its  = its;
  }
  if (its - w->its < BAI_FAULT_ITS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RoundingOf(bai, b, x, &rounding));
  if (bai->options.fault_detect && !w->copied && rnorm > BAI_ROUNDING * rounding) {
    PetscCall(PetscInfo(bai->obj,
                        "Iteration %" PetscInt_FMT ": the residual norm stays at %g, so the matrix is copied anew\n",
                        its, (double)rnorm));
    PetscCall(CopyMatrix(bai));
    w->copies++;
    w->copied = PETSC_TRUE;
    w->its    = its;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CountLeft(bai, b, x, &w->left));
  w->stagnates = PETSC_TRUE;
  if (rnorm > BAI_ROUNDING * rounding)
    PetscCall(PetscInfo(bai->obj,
                        "Iteration %" PetscInt_FMT ": the residual norm stays at %g, left in %" PetscInt_FMT
                        " rows, which are no longer updated\n",
                        its, (double)rnorm, w->left));
  else
    PetscCall(PetscInfo(bai->obj,
                        "Iteration %" PetscInt_FMT ": the residual norm stays at %g, as small as rounding allows\n",
                        its, (double)rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Repairs faults and detects stagnation after a residual norm was computed */
PetscErrorCode BAIFaultsLook(BAI *bai, PetscInt its, Vec b, Vec x, PetscReal *rnorm, BAIStep *step)
{
  PetscFunctionBegin;
  if (!BAIHasFaults(&bai->options)) PetscFunctionReturn(PETSC_SUCCESS);
  if (bai->options.fault_detect) PetscCall(DetectFaults(bai, its, b, x, rnorm, step));
  PetscCall(LookForStagnation(bai, its, b, x, *rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIFaultsView(const BAI *bai, PetscViewer viewer)
{
  const BAIOptions *o = &bai->options;
  const BAIWatch   *w = &bai->research->watch;

  PetscFunctionBegin;
  if (o->fault_fraction > 0.0) {
    char recovered[64] = "never recovered";

    if (o->fault_recover)
      PetscCall(PetscSNPrintf(recovered, sizeof(recovered), "recovered after %" PetscInt_FMT, o->fault_recover));
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  faults of type %s: fraction %g, at iteration %" PetscInt_FMT
                                     ", %s, seed %" PetscInt_FMT "\n",
                                     BAIFaultTypes[o->fault_type], (double)o->fault_fraction, o->fault_at, recovered,
                                     o->fault_seed));
  }
  if (o->fault_detect)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  faults found in the last solve %" PetscInt_FMT ": blocks reset %" PetscInt_FMT
                                     ", rows taken over %" PetscInt_FMT ", copies of the matrix %" PetscInt_FMT "\n",
                                     w->faults, w->resets, w->reassigned, w->copies));
  if (w->stagnates)
    PetscCall(
      PetscViewerASCIIPrintf(viewer,
                             "  the last solve stagnated: the residual norm stayed at %g from iteration %" PetscInt_FMT
                             " on, left in %" PetscInt_FMT " rows\n",
                             (double)w->norm, w->its, w->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}
