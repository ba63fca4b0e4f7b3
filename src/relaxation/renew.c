/* Creates the engine of a relaxation, gives it new values of the matrix, and destroys it */
#include "../petsc/baiimpl.h"

/* Creates an engine, with a new partition or with the origin's. If a diagonal entry is zero or missing, tries once more
   with 1 in such rows, as far as the method allows that */
static PetscErrorCode CreateEngine(BAI *bai, Mat Ad, const BAIMatrix *M, BAIStatus *status)
{
  BAIRelaxation      *relax     = &bai->relax;
  BAIPartition        partition = {.first = NULL};
  const BAIPartition *blocks;

  PetscFunctionBegin;
  BAIEngineDestroy(&relax->engine);
  relax->strong = PETSC_FALSE;
  if (bai->options.partition == BAI_PARTITION_AUTO)
    PetscCall(BAIFindPartition(bai, Ad, &relax->use.partition, &relax->strong));
  if (!bai->origin) PetscCall(BAICreatePartition(bai, Ad, &partition));
  blocks  = bai->origin ? BAIEnginePartition(bai->origin->relax.engine) : partition.first ? &partition : NULL;
  *status = BAIEngineCreate(relax->use.backend, M, blocks, &relax->use.p, &relax->engine);
  if (status->code == BAI_ERR_DIAGONAL &&
      !relax->unit) { /* a smoother may replace it by 1, as PCJACOBI does; a solver would solve another system */
    relax->unit = relax->use.p.unit = bai->face->solves ? BAI_UNIT_ROWS : BAI_UNIT_ALL;
    *status                         = BAIEngineCreate(relax->use.backend, M, blocks, &relax->use.p, &relax->engine);
  }
  PetscCall(BAIDestroyPartition(&partition));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreRows(BAIBackend backend, const BAIParts *m, BAIMatrix *M)
{
  PetscFunctionBegin;
  if (M->A.i) PetscCall(BAIRestoreRows(backend, m->square, &M->A));
  if (M->B.i) PetscCall(BAIRestoreRows(backend, m->other, &M->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the engine new values or creates a new one, as the choice requires, from the arrays of the matrix. All ranks do
   the same work, which may turn out to be more than *work */
PetscErrorCode BAIFillEngine(BAI *bai, const BAIParts *m, const BAIChoice *choice, int *work)
{
  BAIStatus      status = BAIStatusOf(BAI_OK);
  BAIMatrix      M      = {.n = 0};
  PetscInt       n;
  PetscBool      device = PETSC_FALSE;
  BAIReal       *share  = NULL;
  PetscErrorCode mine, code;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(m->A, &n, NULL));
  mine = BAIGetMatrix(choice->backend, m->square, m->other, m->nghost, &M, &device);
  if (!mine && bai->origin) {
    PetscCall(PetscMalloc1(n + 1, &share));
    mine    = BAICheckStatus(bai, BAIEngineShares(bai->origin->relax.engine, share));
    M.share = share;
  }
  code = BAIAgree(bai, mine, work);
  if (code) PetscCall(RestoreRows(choice->backend, m, &M)); /* also if another rank has failed */
  if (code) PetscCall(PetscFree(share));
  PetscCall(code);
  if (*work == BAI_WORK_VALUES) {
    status = BAIEngineUpdateValues(bai->relax.engine, &M);
    if (status.code == BAI_ERR_PATTERN || (status.code == BAI_ERR_DIAGONAL && !bai->relax.unit)) *work = BAI_WORK_NEW;
    PetscCall(BAIAgree(bai, PETSC_SUCCESS, work));
  }
  PetscCall(PetscMemcpy(&bai->relax.use, choice, sizeof(*choice)));
  if (*work == BAI_WORK_NEW) {
    PetscCall(BAIDisconnect(bai));
    PetscCall(BAIScatterCreate(bai, m->A, m->other, m->nghost, m->garray));
    mine = CreateEngine(bai, m->square, &M, &status);
    bai->relax.setups++;
  } else bai->relax.updates++;
  PetscCall(RestoreRows(choice->backend, m, &M));
  PetscCall(PetscFree(share));
  code = BAICheckDiagonal(bai, m->A, status, NULL);
  if (!code) code = BAIAgree(bai, mine ? mine : BAICheckStatus(bai, status), NULL);
  if (code) PetscCall(BAIDropEngine(bai)); /* on all ranks */
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Destroys the engine and ends its exchanges; collective */
PetscErrorCode BAIDropEngine(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(BAIDisconnect(bai));
  BAIEngineDestroy(&bai->relax.engine);
  PetscCall(MatDestroy(&bai->relax.A));
  PetscCall(MatDestroy(&bai->relax.refinement.fixed));
  bai->relax.held.id = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
