/* Simulated faults, which hit the rows that ../relaxation/fault.h chooses */
#include "../petsc/baiimpl.h"
#include "../relaxation/tuning.h"

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
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, rows, 1, MPIU_INT, MPI_SUM, PetscObjectComm(bai->obj)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the residual norm after its iterations: sets watch.stagnates if it no longer falls, and no recovery is yet to
   come */
PetscErrorCode BAIFaultsLook(BAI *bai, PetscInt its, Vec b, Vec x, PetscReal rnorm)
{
  BAIWatch    *w    = &bai->relax.watch;
  const BAIInt last = bai->relax.use.p.fault.last;
  PetscReal    bnorm;

  PetscFunctionBegin;
  if (!(PetscAbsReal(rnorm - w->norm) <= BAI_FAULT_FALL * w->norm) || (its < (PetscInt)last && last < BAI_INT_MAX)) {
    w->norm = rnorm;
    w->its  = its;
  }
  if (its - w->its < BAI_FAULT_ITS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CountLeft(bai, b, x, &w->left));
  w->stagnates = PETSC_TRUE;
  PetscCall(BAIVecNorm(b, &bnorm));
  if (rnorm > BAI_ROUNDING * PETSC_MACHINE_EPSILON * bnorm)
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

PetscErrorCode BAIFaultsView(const BAI *bai, PetscViewer viewer)
{
  const BAIOptions *o             = &bai->options;
  const BAIWatch   *w             = &bai->relax.watch;
  char              recovered[64] = "never recovered";

  PetscFunctionBegin;
  if (o->fault_recover)
    PetscCall(PetscSNPrintf(recovered, sizeof(recovered), "recovered after %" PetscInt_FMT, o->fault_recover));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  faults of rows: fraction %g, at iteration %" PetscInt_FMT
                                   ", %s, seed %" PetscInt_FMT "\n",
                                   (double)o->fault_fraction, o->fault_at, recovered, o->fault_seed));
  if (w->stagnates)
    PetscCall(
      PetscViewerASCIIPrintf(viewer,
                             "  the last solve stagnated: the residual norm stayed at %g from iteration %" PetscInt_FMT
                             " on, left in %" PetscInt_FMT " rows\n",
                             (double)w->norm, w->its, w->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}
