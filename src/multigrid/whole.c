/*
   The whole of a matrix, and of vectors of its size, in memory of each rank or of one rank for each device. Each rank
   stores its own part, and they exchange these: they write to each other's mailboxes, or use MPI through the host, with
   memory that only its rank accesses
*/
#include "hierarchy.h"
#include "../relaxation/shared.h"

enum {
  ALIGNED = 256 /* bytes to which arrays are aligned */
};

struct BAIWhole_ {
  BAI         *bai;
  BAIBackend   backend;
  void        *stream;
  PetscMPIInt  size, rank, worker;
  PetscMPIInt *rows, *entries; /* first row and first entry of each rank, and behind the last */
  size_t       i, j, a, bytes; /* offsets of the arrays of the matrix, and the end of all arrays */
  BAIMailbox   mailbox;        /* NULL: alone */
  BAIShared    alone;
};

/* The offset of an array of count entries of size bytes, behind all others */
static size_t Place(BAIWhole W, size_t count, size_t size)
{
  const size_t at = W->bytes;

  W->bytes += (count * size + ALIGNED - 1) / ALIGNED * ALIGNED;
  return at;
}

/* Creates memory for a matrix, of which this rank has n rows with nnz entries, and for count vectors, whose offsets it
   returns. use tells whose memory that is. With BAI_MAILBOX_NONE, or if mailboxes are not possible, it is each rank's
   own; unless must_share, which then leads to NULL on all ranks. Collective */
PetscErrorCode BAIWholeCreate(BAI *bai, BAIBackend backend, void *stream, PetscInt n, PetscInt nnz, int count,
                              size_t vector[], BAIMailboxUse use, PetscBool must_share, BAIWhole *whole)
{
  BAIStatus status = BAIStatusOf(BAI_OK);
  BAIWhole  W;

  PetscFunctionBegin;
  PetscCall(PetscNew(&W));
  W->bai     = bai;
  W->backend = backend;
  W->stream  = stream;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->obj), &W->size));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(bai->obj), &W->rank));
  PetscCall(BAIFindFirst(PetscObjectComm(bai->obj), n, &W->rows));
  PetscCall(BAIFindFirst(PetscObjectComm(bai->obj), nnz, &W->entries));
  W->i = Place(W, (size_t)W->rows[W->size] + 1, sizeof(BAIInt));
  W->j = Place(W, (size_t)W->entries[W->size], sizeof(BAIInt));
  W->a = Place(W, (size_t)W->entries[W->size], sizeof(BAIScalar));
  for (int k = 0; k < count; k++) vector[k] = Place(W, (size_t)W->rows[W->size], sizeof(BAIScalar));
  if (use != BAI_MAILBOX_NONE) PetscCall(BAIMailboxGet(bai, backend, W->bytes, use, &W->mailbox));
  W->worker = W->mailbox ? BAIMailboxOwner(W->mailbox, W->rank) : W->rank;
  *whole    = W;
  if (W->mailbox) PetscFunctionReturn(PETSC_SUCCESS);
  if (must_share) PetscCall(BAIWholeDestroy(whole));
  else status = BAISharedCreate(backend, W->bytes, &W->alone, NULL);
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, status), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective, when no rank uses the memory any longer but in its stream */
PetscErrorCode BAIWholeDestroy(BAIWhole *whole)
{
  BAIWhole W = *whole;

  PetscFunctionBegin;
  if (!W) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAICheckStatus(W->bai, BAISharedWait(W->backend, W->stream)));
  PetscCall(BAIMailboxRestore(&W->mailbox));
  PetscCall(BAICheckStatus(W->bai, BAISharedClose(W->backend, &W->alone)));
  PetscCall(PetscFree(W->rows));
  PetscCall(PetscFree(W->entries));
  PetscCall(PetscFree(*whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The size of the whole */
size_t BAIWholeBytes(const struct BAIWhole_ *W)
{
  return W->bytes;
}

/* Whether this rank works with the whole */
PetscBool BAIWholeWorks(const struct BAIWhole_ *W)
{
  return (PetscBool)(W->worker == W->rank);
}

/* Whether ranks access each other's memory */
PetscBool BAIWholeIsShared(const struct BAIWhole_ *W)
{
  return (PetscBool)(W->mailbox != NULL);
}

/* The other ranks with this worker, which is the first of them, or MPI_COMM_NULL if there are none */
MPI_Comm BAIWholeGroup(const struct BAIWhole_ *W)
{
  return W->mailbox ? BAIMailboxSharers(W->mailbox) : MPI_COMM_NULL;
}

/* The address of entry number k, of size bytes, of the array at this offset in the memory of a rank */
static void *At(const struct BAIWhole_ *W, PetscMPIInt rank, size_t offset, PetscMPIInt k, size_t size)
{
  return (char *)(W->mailbox ? BAIMailboxOf(W->mailbox, rank) : W->alone.memory) + offset + (size_t)k * size;
}

/* A vector of the whole, in the memory of the rank that works for this one */
BAIScalar *BAIWholeVector(const struct BAIWhole_ *W, size_t offset)
{
  return (BAIScalar *)At(W, W->worker, offset, 0, 0);
}

/* Copies this rank's part of such a vector to x, which may be on the host */
PetscErrorCode BAIWholeReturn(const struct BAIWhole_ *W, const BAIScalar *vector, BAIScalar *x)
{
  const PetscMPIInt first = W->rows[W->rank], n = W->rows[W->rank + 1] - first;
  BAIStatus         status;

  PetscFunctionBegin;
  status = BAISharedCopy(W->backend, x, vector + first, (size_t)n * sizeof(*x), W->stream);
  if (!status.code && !W->bai->hierarchy->device) status = BAISharedWait(W->backend, W->stream);
  PetscCall(BAICheckStatus(W->bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix, where this rank works; without rows elsewhere */
BAIMatrix BAIWholeMatrix(const struct BAIWhole_ *W)
{
  return (BAIMatrix){
    .n      = W->worker == W->rank ? (BAIInt)W->rows[W->size] : 0,
    .A      = {At(W, W->worker, W->i, 0, 0), At(W, W->worker, W->j, 0, 0), At(W, W->worker, W->a, 0, 0)},
    .memory = W->backend == BAI_BACKEND_CUDA ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST
  };
}

/* Copies the part of this rank, from this address, to the memory of each rank that works, unless it is there */
static BAIStatus Send(const struct BAIWhole_ *W, const PetscMPIInt first[], size_t offset, size_t size,
                      const void *from)
{
  const size_t bytes = (size_t)(first[W->rank + 1] - first[W->rank]) * size;

  for (PetscMPIInt k = 0; k < W->size; k++) {
    void *to = BAIMailboxOwner(W->mailbox, k) == k ? At(W, k, offset, first[W->rank], size) : NULL;

    if (to && to != from) BAITry(BAISharedCopy(W->backend, to, from, bytes, W->stream));
  }
  return BAIStatusOf(BAI_OK);
}

/* Waits until all ranks have sent, and done all earlier work; status is that of this rank's work. Collective */
static PetscErrorCode Meet(const struct BAIWhole_ *W, BAIStatus status)
{
  PetscFunctionBegin;
  if (!status.code) status = BAISharedWait(W->backend, W->stream);
  PetscCall(BAIAgree(W->bai, BAICheckStatus(W->bai, status), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the parts of an array, from this address on each rank, by MPI: in place if the array is on the host,
   else through a copy there. Collective */
static PetscErrorCode Gather(const struct BAIWhole_ *W, const PetscMPIInt first[], size_t offset, size_t size,
                             const void *from)
{
  const PetscBool device = (PetscBool)(W->backend == BAI_BACKEND_CUDA);
  const size_t    begin = (size_t)first[W->rank] * size, end = (size_t)first[W->rank + 1] * size;
  char *const     array  = At(W, W->rank, offset, 0, 0);
  char           *all    = array;
  BAIStatus       status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  if (device) PetscCall(PetscMalloc1((size_t)first[W->size] * size, &all));
  if (all + begin != from) status = BAISharedCopy(W->backend, all + begin, from, end - begin, W->stream);
  if (device) PetscCall(Meet(W, status));
  PetscCall(BAIGatherInPlace(PetscObjectComm(W->bai->obj), first, size, all));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  status = BAISharedCopy(W->backend, array, all, (size_t)first[W->size] * size, W->stream);
  PetscCall(Meet(W, status));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits until all ranks have done all earlier work. Collective */
PetscErrorCode BAIWholeMeet(BAIWhole W)
{
  PetscFunctionBegin;
  PetscCall(Meet(W, BAIStatusOf(BAI_OK)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the parts of vectors of the whole, from these addresses, which may be on the host, on all ranks.
   Nobody may use the vectors any longer. Collective */
PetscErrorCode BAIWholeBring(BAIWhole W, int count, const size_t offset[], const BAIScalar *const from[])
{
  BAIStatus status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  for (int k = 0; k < count; k++) {
    if (!W->mailbox) PetscCall(Gather(W, W->rows, offset[k], sizeof(BAIScalar), from[k]));
    else if (!status.code) status = Send(W, W->rows, offset[k], sizeof(BAIScalar), from[k]);
  }
  if (W->mailbox) PetscCall(Meet(W, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the rows of the matrix: store() stores those of this rank in the arrays of the given part. If pattern
   is false, only values are new. Collective */
PetscErrorCode BAIWholeRows(BAIWhole W, const BAIInt *ghost, PetscBool pattern, BAIStoreRows *store, void *context)
{
  static const BAIInt zero = 0;
  const PetscMPIInt   me = W->rank, first[] = {W->rows[me], W->entries[me]};
  BAIInt *const i = At(W, W->worker, W->i, 0, sizeof(BAIInt)), *const ends = i + 1 + first[0];
  BAIInt *const    j    = At(W, W->worker, W->j, first[1], sizeof(BAIInt));
  BAIScalar *const a    = At(W, W->worker, W->a, first[1], sizeof(BAIScalar));
  const BAIPart    part = {(BAIInt)first[0], (BAIInt)first[1], ghost, ends, j, a};
  const struct {
    const PetscMPIInt *first;
    size_t             offset, size;
    const void        *from;
  } array[] = {
    {W->entries, W->a,                  sizeof(*a), a   },
    {W->entries, W->j,                  sizeof(*j), j   },
    {W->rows,    W->i + sizeof(BAIInt), sizeof(*i), ends}
  };
  BAIStatus status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  PetscCall(Meet(W, status)); /* nobody reads the arrays any more */
  if (W->worker == me) status = BAISharedCopy(W->backend, i, &zero, sizeof(zero), W->stream);
  if (!status.code && W->rows[me + 1] > W->rows[me]) status = store(context, &part);
  if (!W->mailbox) PetscCall(Meet(W, status));
  for (size_t k = 0; k < (pattern ? PETSC_STATIC_ARRAY_LENGTH(array) : 1); k++) {
    if (!W->mailbox) PetscCall(Gather(W, array[k].first, array[k].offset, array[k].size, array[k].from));
    else if (!status.code) status = Send(W, array[k].first, array[k].offset, array[k].size, array[k].from);
  }
  if (W->mailbox) PetscCall(Meet(W, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}
