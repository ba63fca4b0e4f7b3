/*
   b and x of gathered rows in memory that all ranks of a node reach: each rank copies its part there and back, from GPU
   to GPU, and nothing goes through the host. One message a solve says that they are there; that x is, all learn with
   the end of the work
*/
#include "gather.h"

/* What a rank that works tells those whose rows it takes */
typedef struct {
  BAISharedHandle handle;
  PetscInt        rows, first; /* in b and in x; and the first of that rank */
} Letter;

/* On which side this rank has vectors of the matrix's kind; auto if that is neither */
static PetscErrorCode SideOf(Mat A, BAIBackend *side)
{
  const PetscScalar *array;
  PetscMemType       memtype;
  PetscBool          cuda;
  Vec                x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecSet(x, 0.0));
  PetscCall(VecGetArrayReadAndMemType(x, &array, &memtype));
  PetscCall(VecRestoreArrayReadAndMemType(x, &array));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &cuda, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(VecDestroy(&x));
  *side = PetscMemTypeHost(memtype)     ? BAI_BACKEND_HOST
    : PetscMemTypeCUDA(memtype) && cuda ? BAI_BACKEND_CUDA
                                        : BAI_BACKEND_AUTO;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory for b and x here, or that of the rank that works for this one. All messages go and come, whatever fails */
static PetscErrorCode Reach(BAI *bai, Mat A, PetscMPIInt rank, BAIStatus *status)
{
  BAIGather       g    = bai->gather;
  const MPI_Comm  comm = PetscObjectComm(bai->obj);
  const PetscInt *range;
  Letter          letter;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRanges(A, &range));
  PetscCall(PetscMemzero(&letter, sizeof(letter)));
  if (g->inner) {
    for (PetscMPIInt r = 0; r < g->size; r++) letter.rows += g->leader[r] == rank ? range[r + 1] - range[r] : 0;
    *status = BAISharedCreate(g->side, 2 * (size_t)letter.rows * sizeof(PetscScalar), &g->shared, &letter.handle);
    g->rows_shared = letter.rows;
    g->first       = 0;
    for (PetscMPIInt r = rank; r < g->size; r++) {
      if (g->leader[r] != rank) continue;
      if (r != rank) PetscCallMPI(MPI_Send(&letter, (PetscMPIInt)sizeof(letter), MPI_BYTE, r, g->tag, comm));
      letter.first += range[r + 1] - range[r];
    }
  } else {
    PetscCallMPI(
      MPI_Recv(&letter, (PetscMPIInt)sizeof(letter), MPI_BYTE, g->leader[rank], g->tag, comm, MPI_STATUS_IGNORE));
    g->rows_shared = letter.rows;
    g->first       = letter.first;
  }
  if (!g->inner) *status = BAISharedOpen(g->side, &letter.handle, &g->shared);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector of the rows of this rank, which works, in the shared memory */
static PetscErrorCode CreateVec(BAIGather g, PetscInt first, Vec *v)
{
  const PetscScalar *array = (const PetscScalar *)g->shared.memory + first;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(g->x, v));
  if (g->side == BAI_BACKEND_HOST) PetscCall(VecPlaceArray(*v, array));
  else PetscCall(BAIVecPlaceDeviceArray(*v, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyVec(BAIGather g, Vec *v)
{
  PetscFunctionBegin;
  if (!*v) PetscFunctionReturn(PETSC_SUCCESS);
  if (g->side == BAI_BACKEND_HOST) PetscCall(VecResetArray(*v));
  else PetscCall(BAIVecResetDeviceArray(*v));
  PetscCall(VecDestroy(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b and x of those that work lie there; or, if their rows have another order than in the matrix, are brought into it
 * from there */
static PetscErrorCode PlaceVecs(BAIGather g)
{
  PetscFunctionBegin;
  if (!g->inner) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateVec(g, 0, &g->shared_b));
  PetscCall(CreateVec(g, g->rows_shared, &g->shared_x));
  if (g->permuted && g->workers == 1) PetscCall(VecScatterCreate(g->shared_b, g->rows, g->b, NULL, &g->order));
  else {
    PetscCall(VecDestroy(&g->b));
    PetscCall(VecDestroy(&g->x));
    PetscCall(PetscObjectReference((PetscObject)g->shared_b));
    PetscCall(PetscObjectReference((PetscObject)g->shared_x));
    g->b = g->shared_b;
    g->x = g->shared_x;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all ranks can, or none does; the first one that cannot says why with -info */
static PetscErrorCode AllCan(BAI *bai, BAIStatus status, PetscBool *can)
{
  int failed = status.code ? 1 : 0;

  PetscFunctionBegin;
  if (status.code)
    PetscCall(PetscInfo(bai->obj, "Vectors of gathered rows go by MPI: %s %s %s\n", BAICodeString(status.code),
                        status.what, status.why));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, PetscObjectComm(bai->obj)));
  *can = (PetscBool)!failed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From here on b and x are shared, if that can be and the options do not ask for MPI; collective */
PetscErrorCode BAIGatherShare(BAI *bai, Mat A)
{
  BAIGather      g      = bai->gather;
  const MPI_Comm comm   = PetscObjectComm(bai->obj);
  BAIStatus      status = BAIStatusOf(BAI_OK);
  PetscMPIInt    rank;
  int            side, sides[2];
  PetscBool      can;

  PetscFunctionBegin;
  if (bai->options.exchange == BAI_EXCHANGE_SCATTER || bai->options.exchange == BAI_EXCHANGE_AMC)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(SideOf(A, &g->side));
  side     = (int)g->side;
  sides[0] = side;
  sides[1] = -side;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sides, 2, MPI_INT, MPI_MAX, comm));
  PetscCall(BAIOnNode(bai, 1, g->leader + rank, &can));
  if (!can) status = BAIStatusBecause(BAI_ERR_PEERS, "MPI_Comm_split_type()", "ranks on different nodes");
  else if (g->side == BAI_BACKEND_AUTO || sides[0] != side || sides[1] != -side)
    status = BAIStatusBecause(BAI_ERR_PEERS, "VecGetArrayReadAndMemType()", "vectors in another kind of memory");
  PetscCall(AllCan(bai, status, &can));
  if (!can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetNewTag(bai->obj, &g->tag));
  if (g->side == BAI_BACKEND_CUDA) PetscCall(BAIDeviceOf(bai->node_rank, &side, &g->stream));
  PetscCall(Reach(bai, A, rank, &status));
  PetscCall(AllCan(bai, status, &can));
  BAISharedOpened(g->side, &g->shared);
  g->shares = PETSC_TRUE;
  if (can) PetscCall(PlaceVecs(g));
  else PetscCall(BAIGatherUnshare(bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nobody reads or writes the shared memory any longer; collective */
PetscErrorCode BAIGatherUnshare(BAI *bai)
{
  BAIGather g = bai->gather;
  BAIStatus status;

  PetscFunctionBegin;
  if (!g->shares) PetscFunctionReturn(PETSC_SUCCESS);
  g->shares = PETSC_FALSE;
  status    = BAISharedWait(g->side, g->stream);
  if (!g->inner && !status.code) status = BAISharedClose(g->side, &g->shared);
  PetscCallMPI(MPI_Barrier(PetscObjectComm(bai->obj)));
  PetscCall(VecScatterDestroy(&g->order));
  PetscCall(DestroyVec(g, &g->shared_b));
  PetscCall(DestroyVec(g, &g->shared_x));
  if (g->inner && !status.code) status = BAISharedClose(g->side, &g->shared);
  PetscCall(BAICheckStatus(bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where this rank's part of b or x is */
static PetscScalar *PartOf(BAIGather g, PetscBool of_x)
{
  return (PetscScalar *)g->shared.memory + (of_x ? g->rows_shared : 0) + g->first;
}

static PetscErrorCode Put(BAIGather g, Vec v, PetscBool is_x, BAIStatus *status)
{
  const PetscScalar *array;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  if (g->side == BAI_BACKEND_HOST) PetscCall(VecGetArrayRead(v, &array));
  else PetscCall(VecGetArrayReadAndMemType(v, &array, NULL));
  if (!status->code)
    *status = BAISharedCopy(g->side, g->stream, (size_t)n * sizeof(PetscScalar), array, PartOf(g, is_x));
  if (g->side == BAI_BACKEND_HOST) PetscCall(VecRestoreArrayRead(v, &array));
  else PetscCall(VecRestoreArrayReadAndMemType(v, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What others have written to the memory of a vector of this rank is its value now */
static PetscErrorCode Renew(BAIGather g, Vec v)
{
  PetscScalar *array;

  PetscFunctionBegin;
  if (g->side == BAI_BACKEND_HOST) {
    PetscCall(VecGetArray(v, &array));
    PetscCall(VecRestoreArray(v, &array));
  } else {
    PetscCall(VecGetArrayWriteAndMemType(v, &array, NULL));
    PetscCall(VecRestoreArrayWriteAndMemType(v, &array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To the memory of those that work, who go on when it is there. Others cannot fail before they are told of the end, so
 * their errors are said to those that work */
PetscErrorCode BAIGatherPut(BAI *bai, Vec b, Vec x)
{
  BAIGather      g      = bai->gather;
  const MPI_Comm comm   = PetscObjectComm(bai->obj);
  BAIStatus      status = BAIStatusOf(BAI_OK);
  PetscMPIInt    rank;
  int            code;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscLogEventBegin(BAI_Gather, bai->obj, 0, 0, 0));
  PetscCall(Put(g, b, PETSC_FALSE, &status));
  if (x) PetscCall(Put(g, x, PETSC_TRUE, &status));
  if (!g->inner) {
    if (!status.code) status = BAISharedWait(g->side, g->stream);
    code = (int)status.code;
    PetscCallMPI(MPI_Send(&code, 1, MPI_INT, g->leader[rank], g->tag, comm));
  }
  for (PetscMPIInt r = rank + 1; g->inner && r < g->size; r++) {
    if (g->leader[r] != rank) continue;
    PetscCallMPI(MPI_Recv(&code, 1, MPI_INT, r, g->tag, comm, MPI_STATUS_IGNORE));
    if (code && !status.code)
      status = BAIStatusBecause((BAICode)code, "writing vectors of gathered rows", "on another rank");
  }
  PetscCall(PetscLogEventEnd(BAI_Gather, bai->obj, 0, 0, 0));
  if (!g->inner) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAICheckStatus(bai, status));
  PetscCall(Renew(g, g->shared_b));
  if (x) PetscCall(Renew(g, g->shared_x));
  if (!g->order) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecScatterBegin(g->order, g->shared_b, g->b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(g->order, g->shared_b, g->b, INSERT_VALUES, SCATTER_FORWARD));
  if (!x) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecScatterBegin(g->order, g->shared_x, g->x, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(g->order, g->shared_x, g->x, INSERT_VALUES, SCATTER_FORWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x of those that work is where others take it; these are to be told after that */
PetscErrorCode BAIGatherOffer(BAI *bai)
{
  BAIGather          g = bai->gather;
  const PetscScalar *array;

  PetscFunctionBegin;
  if (!g->shares) PetscFunctionReturn(PETSC_SUCCESS);
  if (g->order) {
    PetscCall(VecScatterBegin(g->order, g->x, g->shared_x, INSERT_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(g->order, g->x, g->shared_x, INSERT_VALUES, SCATTER_REVERSE));
  }
  if (g->side != BAI_BACKEND_HOST) { /* the values may be those of the host */
    PetscCall(VecGetArrayReadAndMemType(g->shared_x, &array, NULL));
    PetscCall(VecRestoreArrayReadAndMemType(g->shared_x, &array));
  }
  PetscCall(BAICheckStatus(bai, BAISharedWait(g->side, g->stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's part of what is offered; settle: those that work do not touch it before all have theirs, and all ranks
 * call this */
PetscErrorCode BAIGatherTake(BAI *bai, Vec x, PetscBool settle)
{
  BAIGather    g = bai->gather;
  PetscScalar *array;
  PetscInt     n;
  BAIStatus    status;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  if (g->side == BAI_BACKEND_HOST) PetscCall(VecGetArrayWrite(x, &array));
  else PetscCall(VecGetArrayWriteAndMemType(x, &array, NULL));
  status = BAISharedCopy(g->side, g->stream, (size_t)n * sizeof(PetscScalar), PartOf(g, PETSC_TRUE), array);
  if (g->side == BAI_BACKEND_HOST) PetscCall(VecRestoreArrayWrite(x, &array));
  else PetscCall(VecRestoreArrayWriteAndMemType(x, &array));
  if (settle) {
    if (!status.code) status = BAISharedWait(g->side, g->stream);
    PetscCallMPI(MPI_Barrier(PetscObjectComm(bai->obj)));
  }
  PetscCall(BAICheckStatus(bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}
