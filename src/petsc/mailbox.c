/*
   Mailboxes: memory of each rank of a communicator that all others write to. Opening another process's memory takes
   milliseconds, so restored mailboxes are kept for reuse
*/
#include "baiimpl.h"
#include "../relaxation/shared.h"
#include <string.h>

struct BAIMailbox_ {
  MPI_Comm        comm;
  BAIBackend      backend;
  PetscMPIInt     size, rank;
  PetscBool       taken;
  BAISharedDevice device;
  BAIShared      *shared; /* memory of each rank; NULL if it is not open */
  BAIMailbox      next;
};

/* All mailboxes of this process. Ranks get and restore together, so those of a communicator are in the same order on
   all */
static BAIMailbox all;

/* Data that ranks exchange before they choose a mailbox */
typedef struct {
  BAISharedDevice device;
  int             failed, fits; /* this rank has failed; a mailbox that it has is large enough */
} Letter;

/* Closes the memory of rank k, or frees it if it is this rank's own; does nothing if it is not open */
static PetscErrorCode CloseMemory(BAIMailbox m, PetscMPIInt k)
{
  const BAIStatus status = BAISharedClose(m->backend, &m->shared[k]);

  PetscFunctionBegin;
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s: %s", status.what ? status.what : "Closing memory",
             status.why ? status.why : "failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Destroys a mailbox and sets it to NULL; no rank frees memory that another has open; collective */
static PetscErrorCode DestroyMailbox(BAIMailbox *mailbox)
{
  BAIMailbox  m = *mailbox;
  BAIMailbox *at;

  PetscFunctionBegin;
  for (at = &all; *at && *at != m; at = &(*at)->next)
    ;
  if (*at) *at = m->next;
  for (PetscMPIInt k = 0; k < m->size; k++)
    if (k != m->rank) PetscCall(CloseMemory(m, k));
  PetscCallMPI(MPI_Barrier(m->comm));
  PetscCall(CloseMemory(m, m->rank));
  PetscCall(PetscCommDestroy(&m->comm));
  PetscCall(PetscFree(m->shared));
  PetscCall(PetscFree(*mailbox));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIMailboxDestroyAll(void)
{
  PetscFunctionBegin;
  while (all) {
    BAIMailbox last = all;

    PetscCall(DestroyMailbox(&last));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Opens the memory of all other ranks, whose handles are given; after an error that of some ranks is open */
static BAIStatus OpenMemory(BAIMailbox m, const BAISharedHandle handle[])
{
  for (PetscMPIInt k = 0; k < m->size; k++) {
    if (k == m->rank) continue;
    const BAIStatus status = BAISharedOpen(m->backend, &handle[k], &m->shared[k]);

    if (status.code) return status;
  }
  return BAIStatusOf(BAI_OK);
}

/* Creates a mailbox with bytes of memory of this rank and puts it first in the list, or sets it to NULL on all ranks if
   any of them fails. Collective */
static PetscErrorCode CreateMailbox(BAI *bai, BAIBackend backend, const BAISharedDevice *device, size_t bytes,
                                    BAIMailbox *mailbox)
{
  const MPI_Comm  comm = PetscObjectComm(bai->obj);
  BAIMailbox      m;
  BAISharedHandle mine = {0}, *handle;
  BAIStatus       status;
  PetscBool       can;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  m->backend = backend;
  m->device  = *device;
  PetscCall(PetscCommDuplicate(comm, &m->comm, NULL));
  PetscCallMPI(MPI_Comm_size(comm, &m->size));
  PetscCallMPI(MPI_Comm_rank(comm, &m->rank));
  PetscCall(PetscCalloc1(m->size, &m->shared));
  status = BAISharedCreate(backend, bytes, &m->shared[m->rank], &mine);
  PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  if (can) {
    PetscCall(PetscMalloc1(m->size, &handle));
    PetscCallMPI(
      MPI_Allgather(&mine, (PetscMPIInt)sizeof(mine), MPI_BYTE, handle, (PetscMPIInt)sizeof(mine), MPI_BYTE, comm));
    PetscCall(BAIAllCan(bai, OpenMemory(m, handle), BAIExchanges[BAI_EXCHANGE_DK], &can));
    PetscCall(PetscFree(handle));
  }
  BAISharedOpened(backend, &m->shared[m->rank]);
  if (can) {
    m->next = all;
    all     = m;
  } else PetscCall(DestroyMailbox(&m));
  *mailbox = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets memory of at least bytes on this rank; NULL on all ranks if they cannot access each other's memory.
   Collective */
PetscErrorCode BAIMailboxGet(BAI *bai, BAIBackend backend, size_t bytes, BAIMailbox *mailbox)
{
  const MPI_Comm comm   = PetscObjectComm(bai->obj);
  Letter         mine   = {.fits = 0}, *letter;
  BAIStatus      status = BAISharedDeviceGet(backend, &mine.device);
  PetscMPIInt    size, rank;
  PetscBool      can = PETSC_TRUE, fits = PETSC_TRUE;
  BAIMailbox     m = all;

  PetscFunctionBegin;
  *mailbox = NULL;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  while (m && (m->taken || m->comm != comm || m->backend != backend)) m = m->next;
  mine.failed = status.code ? 1 : 0;
  mine.fits   = m && m->shared[rank].bytes >= bytes && !memcmp(&m->device, &mine.device, sizeof(m->device));
  PetscCall(PetscMalloc1(size, &letter));
  PetscCallMPI(
    MPI_Allgather(&mine, (PetscMPIInt)sizeof(mine), MPI_BYTE, letter, (PetscMPIInt)sizeof(mine), MPI_BYTE, comm));
  for (PetscMPIInt k = 0; k < size; k++) {
    can  = (PetscBool)(can && !letter[k].failed);
    fits = (PetscBool)(fits && letter[k].fits);
    for (PetscMPIInt other = 0; other < k && can; other++)
      if (!memcmp(&letter[k].device, &letter[other].device, sizeof(mine.device))) {
        status = BAIStatusBecause(BAI_ERR_PEERS, "ranks", "share a device, where a kernel must not wait for another's");
        can    = PETSC_FALSE;
      }
  }
  PetscCall(PetscFree(letter));
  if (!can) PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  if (!can) PetscFunctionReturn(PETSC_SUCCESS);
  if (m && !fits) PetscCall(DestroyMailbox(&m));
  if (!m) PetscCall(CreateMailbox(bai, backend, &mine.device, bytes, &m));
  if (m) m->taken = PETSC_TRUE;
  *mailbox = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives back a mailbox that no rank uses any longer, for BAIMailboxGet(). All ranks must do so */
void BAIMailboxRestore(BAIMailbox *mailbox)
{
  if (*mailbox) (*mailbox)->taken = PETSC_FALSE;
  *mailbox = NULL;
}

void *BAIMailboxOf(const struct BAIMailbox_ *mailbox, PetscMPIInt rank)
{
  return mailbox->shared[rank].memory;
}
