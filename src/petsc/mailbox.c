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
  PetscMPIInt    *owner;   /* for each rank, the first one with the same device */
  MPI_Comm        sharers; /* the ranks with the device of this one, or MPI_COMM_NULL if it has its own */
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
  int             failed;
  size_t          bytes, has; /* that this rank needs, and that its mailbox has */
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
  if (m->sharers != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&m->sharers));
  PetscCall(PetscCommDestroy(&m->comm));
  PetscCall(PetscFree(m->shared));
  PetscCall(PetscFree(m->owner));
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

/* Finds which ranks share a device */
static PetscErrorCode FindOwners(BAIMailbox m, const Letter letter[])
{
  PetscMPIInt alone = 1, all;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m->size, &m->owner));
  for (PetscMPIInt k = 0; k < m->size; k++)
    for (m->owner[k] = 0; memcmp(&letter[k].device, &letter[m->owner[k]].device, sizeof(m->device));) m->owner[k]++;
  for (PetscMPIInt k = 0; k < m->size; k++)
    if (k != m->rank && m->owner[k] == m->owner[m->rank]) alone = 0;
  m->sharers = MPI_COMM_NULL;
  PetscCallMPI(MPI_Allreduce(&alone, &all, 1, MPI_INT, MPI_MIN, m->comm));
  if (!all) PetscCallMPI(MPI_Comm_split(m->comm, alone ? MPI_UNDEFINED : m->owner[m->rank], m->rank, &m->sharers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a mailbox with bytes of memory of this rank and puts it first in the list, or sets it to NULL on all ranks if
   any of them fails. Collective */
static PetscErrorCode CreateMailbox(BAI *bai, BAIBackend backend, const Letter letter[], size_t bytes,
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
  PetscCall(PetscCommDuplicate(comm, &m->comm, NULL));
  PetscCallMPI(MPI_Comm_size(comm, &m->size));
  PetscCallMPI(MPI_Comm_rank(comm, &m->rank));
  m->device = letter[m->rank].device;
  PetscCall(FindOwners(m, letter));
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

/* Gets memory of at least bytes on this rank, or on the first rank of each device; NULL on all ranks if they cannot
   access each other's memory, or if each rank needs a device of its own and some share one. Collective */
PetscErrorCode BAIMailboxGet(BAI *bai, BAIBackend backend, size_t bytes, BAIMailboxUse use, BAIMailbox *mailbox)
{
  const MPI_Comm comm   = PetscObjectComm(bai->obj);
  Letter         mine   = {.failed = 0}, *letter;
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
  mine.bytes  = bytes;
  mine.has    = m && !memcmp(&m->device, &mine.device, sizeof(m->device)) ? m->shared[rank].bytes : 0;
  PetscCall(PetscMalloc1(size, &letter));
  PetscCallMPI(
    MPI_Allgather(&mine, (PetscMPIInt)sizeof(mine), MPI_BYTE, letter, (PetscMPIInt)sizeof(mine), MPI_BYTE, comm));
  for (PetscMPIInt k = 0; k < size; k++) {
    PetscBool shares = PETSC_FALSE;

    can = (PetscBool)(can && !letter[k].failed);
    for (PetscMPIInt other = 0; other < k; other++)
      if (!memcmp(&letter[k].device, &letter[other].device, sizeof(mine.device))) shares = PETSC_TRUE;
    if (shares && use == BAI_MAILBOX_OF_RANKS) {
      status = BAIStatusBecause(BAI_ERR_PEERS, "ranks", "share a device, where a kernel must not wait for another's");
      can    = PETSC_FALSE;
    }
    if (shares) letter[k].bytes = 1;
    fits = (PetscBool)(fits && letter[k].has >= letter[k].bytes);
  }
  if (!can) PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  if (m && !fits && can) PetscCall(DestroyMailbox(&m));
  if (!m && can) PetscCall(CreateMailbox(bai, backend, letter, letter[rank].bytes, &m));
  PetscCall(PetscFree(letter));
  if (!can) PetscFunctionReturn(PETSC_SUCCESS);
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

PetscMPIInt BAIMailboxOwner(const struct BAIMailbox_ *mailbox, PetscMPIInt rank)
{
  return mailbox->owner[rank];
}

MPI_Comm BAIMailboxSharers(const struct BAIMailbox_ *mailbox)
{
  return mailbox->sharers;
}
