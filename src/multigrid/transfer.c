/*
   Exchange of data of rows for levels of several ranks, from their owners to the ranks that have these rows as ghosts,
   in memory of the backend. Hosts exchange by MPI. During set-up GPUs copy from one to the other if they can access
   each other's memory, otherwise through the host
*/
#include "hierarchy.h"
#include "../relaxation/shared.h"

/* Opens memory from which ranks read each other's data, if they can, and if may, which is the same on all ranks. Each
   of its halves has room for item bytes of each row that is sent, on the rank that sends most. Collective */
PetscErrorCode BAITransferOpen(BAITransfer *t, PetscBool may, PetscInt rows, size_t item)
{
  PetscInt64 half = (PetscInt64)((size_t)rows * item);

  PetscFunctionBegin;
  PetscCall(BAIMailboxRestore(&t->box)); /* if it is open after an error */
  if (!may) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &half, 1, MPIU_INT64, MPI_MAX, PetscObjectComm(t->bai->obj)));
  t->half = (size_t)half;
  PetscCall(BAIMailboxGet(t->bai, t->bai->hierarchy->backend, 2 * t->half, BAI_MAILBOX_OF_RANKS, &t->box, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Closes that memory when no rank reads from it any longer. Collective */
PetscErrorCode BAITransferClose(BAITransfer *t)
{
  const BAIHierarchy h = t->bai->hierarchy;

  PetscFunctionBegin;
  if (!t->box) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIAgree(t->bai, BAICheckStatus(t->bai, BAISharedWait(h->backend, h->p.stream)), NULL));
  PetscCall(BAIMailboxRestore(&t->box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees everything; after an error the memory may still be open. Collective */
PetscErrorCode BAITransferDestroy(BAITransfer *t)
{
  PetscFunctionBegin;
  PetscCall(BAIMailboxRestore(&t->box));
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(t->staged[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exchanges by copies from the memory of the peers, where *done tells whether the data of all ranks fit. Two halves
   take turns: when a rank writes to one again, all peers have read it, as each waits for its device before it agrees.
   Collective */
static PetscErrorCode CopyFromPeers(BAITransfer *t, BAIStatus status, const BAIHalo *halo, size_t size,
                                    const void *sent, void *ghosts, PetscBool *done)
{
  const BAIHierarchy h     = t->bai->hierarchy;
  const size_t       bytes = (size_t)halo->sends * size;
  int                large = bytes > t->half;
  PetscMPIInt        rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(t->bai->obj), &rank));
  t->odd = !t->odd;
  if (!large && bytes && !status.code)
    status = BAISharedCopy(h->backend, (char *)BAIMailboxOf(t->box, rank) + t->odd * t->half, sent, bytes, h->p.stream);
  if (!status.code) status = BAISharedWait(h->backend, h->p.stream);
  PetscCall(BAIAgree(t->bai, BAICheckStatus(t->bai, status), &large));
  *done = (PetscBool)!large;
  for (PetscMPIInt k = 0; k < halo->n && !large && !status.code; k++) {
    const size_t to = (size_t)halo->begin[k] * size, from = t->odd * t->half + (size_t)halo->from[k] * size,
                 count = (size_t)halo->begin[k + 1] * size - to;

    if (count)
      status = BAISharedCopy(h->backend, (char *)ghosts + to, (char *)BAIMailboxOf(t->box, halo->rank[k]) + from, count,
                             h->p.stream);
  }
  PetscCall(BAICheckStatus(t->bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exchanges by MPI for a device, through memory of the host, which stays for the next time */
static PetscErrorCode PassThroughHost(BAITransfer *t, BAIHalo *halo, size_t size, const void *sent, void *ghosts)
{
  const BAIHierarchy h        = t->bai->hierarchy;
  const size_t       bytes[2] = {(size_t)(halo->n ? halo->sends : 0) * size, (size_t)BAIHaloGhosts(halo) * size};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    if (bytes[k] <= t->room[k]) continue;
    PetscCall(PetscFree(t->staged[k]));
    t->room[k] = 0;
    PetscCall(PetscMalloc1(bytes[k], &t->staged[k]));
    t->room[k] = bytes[k];
  }
  if (bytes[0]) {
    PetscCall(BAICheckStatus(t->bai, BAISharedCopy(h->backend, t->staged[0], sent, bytes[0], h->p.stream)));
    PetscCall(BAICheckStatus(t->bai, BAISharedWait(h->backend, h->p.stream)));
  }
  PetscCall(BAIHaloExchange(halo, PetscObjectComm(t->bai->obj), size, t->staged[0], t->staged[1]));
  if (bytes[1])
    PetscCall(BAICheckStatus(t->bai, BAISharedCopy(h->backend, ghosts, t->staged[1], bytes[1], h->p.stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sends size bytes for each row that other ranks read, in the order in which they are sent, and receives those of
   ghosts. All peers must call it */
PetscErrorCode BAITransferArray(BAITransfer *t, BAIHalo *halo, size_t size, const void *sent, void *ghosts)
{
  PetscFunctionBegin;
  if (t->bai->hierarchy->backend == BAI_BACKEND_CUDA) PetscCall(PassThroughHost(t, halo, size, sent, ghosts));
  else PetscCall(BAIHaloExchange(halo, PetscObjectComm(t->bai->obj), size, sent, ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does what BAITransferArray() does, by copies from GPU to GPU if the memory is open. First all ranks agree on their
   status, and all fail if one is an error. Collective */
PetscErrorCode BAITransferOrFail(BAITransfer *t, BAIStatus status, BAIHalo *halo, size_t size, const void *sent,
                                 void *ghosts)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  if (t->box) PetscCall(CopyFromPeers(t, status, halo, size, sent, ghosts, &done));
  else { /* an error of the work so far must be known before ranks agree */
    if (!status.code) status = BAISharedWait(t->bai->hierarchy->backend, t->bai->hierarchy->p.stream);
    PetscCall(BAIAgree(t->bai, BAICheckStatus(t->bai, status), NULL));
  }
  if (!done) PetscCall(BAITransferArray(t, halo, size, sent, ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}
