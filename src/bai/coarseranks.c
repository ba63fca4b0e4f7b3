/*
   The coarse space of the engine. Ranks make it up together, so that iterations depend little on how many there are:
   each has the rows of A_c that are its own aggregates', and of A_c^{-1}; and after a global iteration all tell each
   other what their residuals add up to
*/
#include "baiimpl.h"
#include <petsctime.h>

/* The sums of all ranks; what the engine calls, and who has to instead of an engine that failed */
static BAIStatus Gather(void *context, BAIScalar *sums)
{
  BAI         *bai = (BAI *)context;
  BAITogether *t   = &bai->together;

  t->gathers++;
  if (MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sums, t->count, t->first, MPIU_SCALAR,
                     PetscObjectComm(bai->face)))
    return BAIStatusBecause(BAI_ERR_PEERS, "MPI_Allgatherv()", "failed");
  return BAIStatusOf(BAI_OK);
}

/* How many gathers there will have been after so many more corrections, if all goes well */
PetscInt64 BAIGathersOf(const BAI *bai, PetscInt corrections)
{
  const BAITogether *t = &bai->together;

  return t->gathers + (t->unknowns && !t->direct ? corrections : 0);
}

/* Gathers that the other ranks wait for, up to this number in all */
PetscErrorCode BAIGatherDue(BAI *bai, PetscInt64 due)
{
  BAIScalar *nothing;

  PetscFunctionBegin;
  if (bai->together.gathers >= due) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(bai->together.unknowns, &nothing));
  while (bai->together.gathers < due) PetscCall(BAICheckStatus(bai, Gather(bai, nothing)));
  PetscCall(PetscFree(nothing));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAITogetherReset(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(bai->together.count, bai->together.first));
  bai->together.unknowns = 0;
  bai->together.direct   = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The aggregates of ghosts, and the functions there */
static PetscErrorCode FindGhosts(BAI *bai, Mat A, BAICoarse *coarse)
{
  Vec          x, ghost;
  PetscInt     n, nghost, *of;
  PetscScalar *value, *basis = NULL;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecDuplicate(bai->ghost, &ghost));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetLocalSize(ghost, &nghost));
  PetscCall(PetscMalloc1(PetscMax(n, nghost) + 1, &value));
  PetscCall(PetscMalloc1(nghost + 1, &of));
  for (PetscInt i = 0; i < n; i++)
    value[i] = coarse->aggregates && coarse->aggregate[i] >= 0 ? (PetscReal)(coarse->first + coarse->aggregate[i])
                                                               : -1.0;
  PetscCall(BAIToGhosts(bai, x, ghost, 1, value, value));
  for (PetscInt i = 0; i < nghost; i++) of[i] = (PetscInt)PetscRealPart(value[i]);
  if (coarse->basis) {
    PetscCall(PetscMalloc1((size_t)nghost * (size_t)coarse->columns + 1, &basis));
    for (PetscInt k = 0; k < (PetscInt)coarse->columns; k++)
      PetscCall(
        BAIToGhosts(bai, x, ghost, (PetscInt)coarse->columns, (const PetscScalar *)coarse->basis + k, basis + k));
  }
  PetscCall(PetscFree(value));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&ghost));
  coarse->ghost       = (const BAIInt *)of;
  coarse->ghost_basis = (const BAIScalar *)basis;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks make up one space of these */
static PetscErrorCode Together(BAI *bai, Mat A, PetscInt aggregates, BAICoarse *coarse)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  BAITogether   *t    = &bai->together;
  PetscMPIInt    size, rank, mine;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscMalloc2(size, &t->count, size + 1, &t->first));
  mine = (PetscMPIInt)(coarse->aggregates * coarse->columns);
  PetscCallMPI(MPI_Allgather(&mine, 1, MPI_INT, t->count, 1, MPI_INT, comm));
  t->first[0] = 0;
  for (PetscMPIInt r = 0; r < size; r++) t->first[r + 1] = t->first[r] + t->count[r];
  t->rank         = rank;
  t->unknowns     = t->first[size];
  coarse->gather  = Gather;
  coarse->context = bai;
  coarse->all     = (BAIInt)aggregates;
  coarse->first   = t->first[rank] / coarse->columns;
  PetscCall(FindGhosts(bai, A, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Own rows of A_c to those of all ranks, who then find the inverse, if there is one */
static PetscErrorCode Invert(BAI *bai, const BAIMatrix *M, PetscBool *exists)
{
  const MPI_Comm comm  = PetscObjectComm(bai->face);
  BAITogether   *t     = &bai->together;
  const size_t   width = (size_t)t->unknowns + 1;
  BAIScalar     *rows;
  BAIStatus      status;
  MPI_Datatype   row;
  int            singular;
  PetscErrorCode mine;

  PetscFunctionBegin;
  mine = PetscMalloc1((size_t)t->unknowns * width, &rows);
  if (!mine) mine = BAICheckStatus(bai, BAIEngineCoarseRows(bai->engine, M, rows + (size_t)t->first[t->rank] * width));
  PetscCall(BAIAgree(bai, mine, NULL));
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)width, MPIU_SCALAR, &row));
  PetscCallMPI(MPI_Type_commit(&row));
  PetscCallMPI(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rows, t->count, t->first, row, comm));
  PetscCallMPI(MPI_Type_free(&row));
  status = BAIEngineCoarseInvert(bai->engine, rows);
  PetscCall(PetscFree(rows));
  singular = status.code == BAI_ERR_COARSE;
  PetscCall(BAIAgree(bai, singular ? PETSC_SUCCESS : BAICheckStatus(bai, status), &singular));
  *exists = (PetscBool)!singular;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To the engine. If the space is this rank's alone, and there is no inverse, there is no coarse space */
static PetscErrorCode Give(BAI *bai, const BAIMatrix *M, BAICoarse *coarse)
{
  BAIStatus status = BAIEngineCoarsen(bai->engine, M, coarse);

  PetscFunctionBegin;
  if (status.code == BAI_ERR_COARSE) {
    PetscCall(PetscInfo(bai->face,
                        "No coarse correction: P^T A P of %" PetscInt64_FMT
                        " aggregates has no inverse that single precision holds\n",
                        (PetscInt64)coarse->aggregates));
    coarse->aggregates = 0;
    status             = BAIEngineCoarsen(bai->engine, M, coarse);
  }
  PetscCall(BAICheckStatus(bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A_c of all ranks has no inverse: each rank goes on with its own, or, after new values, until the next set-up without
 */
static PetscErrorCode Alone(BAI *bai, const BAIMatrix *M, PetscBool anew, BAICoarse *coarse)
{
  const BAICoarse none = {.columns = 1};

  PetscFunctionBegin;
  PetscCall(PetscInfo(bai->face,
                      "P^T A P of %" PetscInt_FMT
                      " unknowns of all ranks has no inverse that single precision holds: %s\n",
                      bai->together.unknowns, anew ? "each rank has its own" : "no coarse correction"));
  PetscCall(BAITogetherReset(bai));
  if (anew) {
    coarse->gather   = NULL;
    coarse->singular = 0;
  } else *coarse = none;
  PetscCall(BAIAgree(bai, Give(bai, M, coarse), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the engine is to be given; coarse has aggregates if blocks are made up of them */
static PetscErrorCode Describe(BAI *bai, Mat A, Mat Ad, BAICoarse *coarse)
{
  PetscInt       mine, aggregates;
  PetscMPIInt    size;
  PetscBool      together;
  PetscErrorCode code = bai->use.nested ? PETSC_SUCCESS : BAICreateCoarse(bai, Ad, coarse);

  PetscFunctionBegin;
  PetscCall(BAIAgree(bai, code, NULL));
  mine = (PetscInt)coarse->aggregates;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCallMPI(MPI_Allreduce(&mine, &aggregates, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  together = (PetscBool)(size > 1 && aggregates <= BAI_MOST_COARSE);
  PetscCall(BAIAgree(bai, BAICreateBasis(A, Ad, together ? aggregates : mine, coarse), NULL));
  if (together && aggregates) PetscCall(Together(bai, A, aggregates, coarse));
  else if (size > 1) coarse->singular = 0; /* none has the null space in its own block */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up the coarse space that the choice in use asks for, for a new engine, or for new values; collective. coarse has
 * aggregates if blocks are made up of them */
PetscErrorCode BAICoarsen(BAI *bai, Mat A, Mat Ad, Mat Ao, PetscInt nghost, PetscBool anew, BAICoarse *coarse)
{
  BAIMatrix      M = {.nghost = nghost};
  PetscBool      device, exists;
  PetscErrorCode mine;

  PetscFunctionBegin;
  if (!bai->use.coarse || (!anew && !bai->together.unknowns)) PetscFunctionReturn(PETSC_SUCCESS);
  if (anew) PetscCall(Describe(bai, A, Ad, coarse));
  PetscCall(MatGetLocalSize(A, &M.n, NULL));
  mine = BAIGetRows(bai->use.backend, Ad, &M.A, &device);
  if (!mine && Ao) mine = BAIGetRows(bai->use.backend, Ao, &M.B, &device);
  M.memory = device ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST;
  if (!mine && anew) mine = Give(bai, &M, coarse);
  PetscCall(BAIAgree(bai, mine, NULL));
  if (bai->together.unknowns) {
    PetscCall(Invert(bai, &M, &exists));
    if (exists && anew) PetscCall(BAIConnectSums(bai));
    if (!exists) PetscCall(Alone(bai, &M, anew, coarse));
  }
  PetscCall(BAIRestoreRows(bai->use.backend, Ad, &M.A));
  if (Ao) PetscCall(BAIRestoreRows(bai->use.backend, Ao, &M.B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
