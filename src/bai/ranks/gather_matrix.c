/*
   Gathered rows: their order, and the matrix, vectors and null spaces of the ranks that work
*/
#include "gather.h"
#include <petscdmda.h>
#include <petsc/private/petscimpl.h>

/* The DMDA that users attached, or NULL; a DM that the KSP made for itself is none */
PetscErrorCode BAIGatherGetDA(const BAI *bai, DM *da)
{
  DM        dm;
  PetscBool is = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall((*bai->face->getdm)(bai->obj, &dm));
  if (dm) PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &is));
  *da = is ? dm : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that depends on the matrix but the KSP or PC */
PetscErrorCode BAIGatherDestroyMat(BAI *bai)
{
  BAIGather g = bai->gather;

  PetscFunctionBegin;
  PetscCall(BAIGatherUnshare(bai));
  PetscCall(MatDestroy(&g->A));
  if (g->local) PetscCall(MatDestroySubMatrices(1, &g->local));
  PetscCall(VecDestroy(&g->b));
  PetscCall(VecDestroy(&g->x));
  PetscCall(VecDestroy(&g->values));
  PetscCall(VecScatterDestroy(&g->scatter));
  PetscCall(ISDestroy(&g->rows));
  PetscCall(ISDestroy(&g->cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The grid of all ranks, if there is a DMDA with the rows of the matrix; else NULL */
static PetscErrorCode GetGrid(const BAI *bai, Mat A, DM *da)
{
  PetscInt m[3], dof;
  int      mine, all;

  PetscFunctionBegin;
  PetscCall(BAIGetGrid(bai, A, m, &dof));
  mine = dof > 0;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm(bai->obj)));
  PetscCall(BAIGatherGetDA(bai, da));
  if (!all) *da = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole grid on the one rank that works */
static PetscErrorCode CreateGrid(const BAI *bai, PetscObject inner, DM da)
{
  DM       whole;
  PetscInt dim, n[3], dof;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &n[0], &n[1], &n[2], NULL, NULL, NULL, &dof, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDACreate(PETSC_COMM_SELF, &whole));
  PetscCall(DMSetDimension(whole, dim));
  PetscCall(DMDASetSizes(whole, n[0], n[1], n[2]));
  PetscCall(DMDASetDof(whole, dof));
  PetscCall(DMDASetStencilWidth(whole, 0)); /* it is asked for its sizes only */
  PetscCall(DMSetUp(whole));
  PetscCall((*bai->face->setdm)(inner, whole));
  PetscCall(DMDestroy(&whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows in the natural order of the grid, on the one rank that works */
static PetscErrorCode OrderByGrid(BAIGather g, DM da, PetscInt N, PetscInt *order)
{
  AO ao;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < N; i++) order[i] = i;
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, g->inner ? N : 0, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of each rank that works, which are those of the ranks it takes over; this rank's are n from first on */
static PetscErrorCode OrderByLeaders(BAIGather g, Mat A, PetscInt *order, PetscInt *first, PetscInt *n)
{
  const PetscInt *range;
  PetscInt        count = 0;
  PetscMPIInt     mine;

  PetscFunctionBegin;
  *first = *n = 0;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &mine));
  PetscCall(MatGetOwnershipRanges(A, &range));
  for (PetscMPIInt leader = 0; leader < g->size; leader++) {
    if (leader == mine) *first = count;
    for (PetscMPIInt rank = leader; rank < g->size; rank++) {
      if (g->leader[rank] != leader) continue;
      for (PetscInt row = range[rank]; row < range[rank + 1]; row++) order[count++] = row;
    }
    if (leader == mine) *n = count - *first;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which rows go where, in which order */
static PetscErrorCode CreateOrder(BAI *bai, BAIGather g, Mat A)
{
  PetscInt N, bs, first, n, *order;
  DM       da = NULL;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(PetscMalloc1(N + 1, &order));
  PetscCall(OrderByLeaders(g, A, order, &first, &n));
  if (g->workers == 1) PetscCall(GetGrid(bai, A, &da));
  if (da) PetscCall(OrderByGrid(g, da, N, order));
  if (da && g->inner) PetscCall(CreateGrid(bai, g->inner, da));
  g->permuted = PETSC_FALSE;
  for (PetscInt i = 0; i < N && !g->permuted; i++) g->permuted = (PetscBool)(order[i] != i);
  if (g->permuted) {
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, order + first, PETSC_COPY_VALUES, &g->rows));
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, N, order, PETSC_COPY_VALUES, &g->cols));
  } else {
    PetscCall(ISCreateStride(PETSC_COMM_SELF, n, first, 1, &g->rows));
    PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &g->cols));
  }
  PetscCall(ISSetBlockSize(g->rows, bs));
  PetscCall(ISSetBlockSize(g->cols, bs));
  PetscCall(PetscFree(order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of those that work, or its new values */
static PetscErrorCode FillMatrix(BAIGather g, Mat A, MatReuse reuse)
{
  PetscInt  n;
  MatType   type;
  PetscBool plain;

  PetscFunctionBegin;
  PetscCall(MatCreateSubMatrices(A, 1, &g->rows, &g->cols, reuse, &g->local));
  if (!g->inner) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscStrcmp(type, MATMPIAIJ, &plain));
  if (plain && g->workers == 1) {
    if (reuse == MAT_INITIAL_MATRIX) {
      PetscCall(PetscObjectReference((PetscObject)g->local[0]));
      g->A = g->local[0];
    }
  } else {
    PetscCall(MatGetLocalSize(g->local[0], &n, NULL));
    PetscCall(MatCreateMPIMatConcatenateSeqMat(g->comm, g->local[0], n, reuse, &g->A));
    if (reuse == MAT_INITIAL_MATRIX && !plain)
      PetscCall(MatConvert(g->A, type + strlen("mpi"), MAT_INPLACE_MATRIX, &g->A));
  }
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatPropagateSymmetryOptions(A, g->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of those that work, and the way to them */
static PetscErrorCode CreateVecs(BAIGather g, Mat A)
{
  Vec x;

  PetscFunctionBegin;
  if (g->inner) {
    PetscCall(MatCreateVecs(g->A, &g->x, &g->b));
    PetscCall(VecCreateLocalVector(g->x, &g->values));
  } else PetscCall(VecCreateSeq(PETSC_COMM_SELF, 0, &g->values));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecScatterCreate(x, g->rows, g->values, NULL, &g->scatter));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector of all ranks to those that work, to w */
PetscErrorCode BAIGatherForward(BAI *bai, Vec v, Vec w)
{
  BAIGather g = bai->gather;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BAI_Gather, bai->obj, 0, 0, 0));
  if (w) PetscCall(VecGetLocalVector(w, g->values));
  PetscCall(VecScatterBegin(g->scatter, v, g->values, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(g->scatter, v, g->values, INSERT_VALUES, SCATTER_FORWARD));
  if (w) PetscCall(VecRestoreLocalVector(w, g->values));
  PetscCall(PetscLogEventEnd(BAI_Gather, bai->obj, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b, and x if it is not NULL, to those that work; if the memory is shared, these then call BAIGatherPut() */
PetscErrorCode BAIGatherSend(BAI *bai, Vec b, Vec x)
{
  BAIGather g = bai->gather;

  PetscFunctionBegin;
  if (!g->shares) {
    PetscCall(BAIGatherForward(bai, b, g->b));
    if (x) PetscCall(BAIGatherForward(bai, x, g->x));
  } else if (!g->inner) PetscCall(BAIGatherPut(bai, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The x of those that work to that of all ranks; if they are not done yet, they wait until all have it */
PetscErrorCode BAIGatherReverse(BAI *bai, Vec x, PetscBool done)
{
  BAIGather g = bai->gather;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BAI_Gather, bai->obj, 0, 0, 0));
  if (g->shares) PetscCall(BAIGatherTake(bai, x, (PetscBool)!done));
  else {
    if (g->x) PetscCall(VecGetLocalVectorRead(g->x, g->values));
    PetscCall(VecScatterBegin(g->scatter, g->values, x, INSERT_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(g->scatter, g->values, x, INSERT_VALUES, SCATTER_REVERSE));
    if (g->x) PetscCall(VecRestoreLocalVectorRead(g->x, g->values));
  }
  PetscCall(PetscLogEventEnd(BAI_Gather, bai->obj, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A null space of all ranks, for those that work; NULL if there is none */
static PetscErrorCode CreateNullSpace(BAI *bai, MatNullSpace from, MatNullSpace *to)
{
  BAIGather  g = bai->gather;
  PetscBool  constant;
  PetscInt   n;
  const Vec *vecs;
  Vec       *gathered = NULL;

  PetscFunctionBegin;
  *to = NULL;
  if (!from) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNullSpaceGetVecs(from, &constant, &n, &vecs));
  if (g->x && n) PetscCall(VecDuplicateVecs(g->x, n, &gathered));
  for (PetscInt k = 0; k < n; k++) PetscCall(BAIGatherForward(bai, vecs[k], gathered ? gathered[k] : NULL));
  if (g->x) PetscCall(MatNullSpaceCreate(g->comm, constant, n, gathered, to));
  if (gathered) PetscCall(VecDestroyVecs(n, &gathered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GatherNullSpaces(BAI *bai, Mat A)
{
  BAIGather    g = bai->gather;
  MatNullSpace from, to;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(A, &from));
  PetscCall(CreateNullSpace(bai, from, &to));
  if (to) PetscCall(MatSetNullSpace(g->A, to));
  PetscCall(MatNullSpaceDestroy(&to));
  PetscCall(MatGetNearNullSpace(A, &from));
  PetscCall(CreateNullSpace(bai, from, &to));
  if (to) PetscCall(MatSetNearNullSpace(g->A, to));
  PetscCall(MatNullSpaceDestroy(&to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix, the vectors, and the way to them */
PetscErrorCode BAIGatherCreateMat(BAI *bai, Mat A)
{
  BAIGather g = bai->gather;

  PetscFunctionBegin;
  PetscCall(BAIGatherDestroyMat(bai));
  PetscCall(CreateOrder(bai, g, A));
  PetscCall(BAIAgree(bai, FillMatrix(g, A, MAT_INITIAL_MATRIX), NULL));
  PetscCall(CreateVecs(g, A));
  PetscCall(GatherNullSpaces(bai, A));
  PetscCall(BAIGatherShare(bai, A));
  if (g->inner) {
    BAI *worker = BAIGatherWorker(bai);

    PetscCall((*bai->face->setwork)(g->inner, g->A, g->b, g->x));
    PetscCall(PetscObjectGetId((PetscObject)A, &worker->known_as));
    PetscCall(ISDestroy(&worker->numbers));
    if (g->permuted) PetscCall(PetscObjectReference((PetscObject)g->rows));
    worker->numbers = g->permuted ? g->rows : NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the old pattern */
PetscErrorCode BAIGatherUpdateMat(BAI *bai, Mat A)
{
  PetscFunctionBegin;
  PetscCall(BAIAgree(bai, FillMatrix(bai->gather, A, MAT_REUSE_MATRIX), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
