/*
   Mailboxes: memory of each rank of a communicator that all others write to. Opening another process's memory takes
   milliseconds, so restored mailboxes are kept for reuse
*/
#include "baiimpl.h"
#include "../relaxation/shared.h"
#include <string.h>

struct BAIMailbox_ {
  MPI_Comm         comm;
  BAIBackend       backend;
  BAIMailboxUse    use;
  size_t           bytes; /* size of the memory of each rank that has some */
  PetscMPIInt      size, rank;
  BAISharedDevice *device;  /* device of each rank */
  PetscMPIInt     *owner;   /* for each rank, the first one with the same device */
  MPI_Comm         sharers; /* the ranks with the device of this one, or MPI_COMM_NULL if it has its own */
  PetscBool        taken;
  BAIShared       *shared; /* memory of each rank; NULL if it is not open */
  BAIMailbox       next;
};

/* All mailboxes of this process. Ranks get and restore together, so those of a communicator are in the same order on
   all */
static BAIMailbox all;

/* Data that ranks exchange before they choose a mailbox */
typedef struct {
  BAISharedDevice device;
  int             failed;
  size_t          bytes; /* that this rank needs */
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
  PetscCall(PetscFree2(m->device, m->owner));
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

/* Takes the devices of all ranks, and finds which ranks share one */
static PetscErrorCode TakeDevices(BAIMailbox m, const Letter letter[])
{
  PetscMPIInt alone = 1, every;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(m->size, &m->device, m->size, &m->owner));
  for (PetscMPIInt k = 0; k < m->size; k++) {
    m->device[k] = letter[k].device;
    for (m->owner[k] = 0; memcmp(&m->device[k], &m->device[m->owner[k]], sizeof(*m->device));) m->owner[k]++;
  }
  for (PetscMPIInt k = 0; k < m->size; k++)
    if (k != m->rank && m->owner[k] == m->owner[m->rank]) alone = 0;
  m->sharers = MPI_COMM_NULL;
  PetscCallMPI(MPI_Allreduce(&alone, &every, 1, MPI_INT, MPI_MIN, m->comm));
  if (!every) PetscCallMPI(MPI_Comm_split(m->comm, alone ? MPI_UNDEFINED : m->owner[m->rank], m->rank, &m->sharers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a mailbox with bytes of memory of each rank, or of the first one of each device, and puts it first in the
   list; or sets it to NULL on all ranks if any of them fails. Collective */
static PetscErrorCode CreateMailbox(BAI *bai, BAIBackend backend, BAIMailboxUse use, const Letter letter[],
                                    size_t bytes, BAIMailbox *mailbox)
{
  const MPI_Comm  comm = PetscObjectComm(bai->obj);
  BAIMailbox      m;
  BAISharedHandle mine = {0}, *handle;
  BAIStatus       status;
  PetscBool       can;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  m->backend = backend;
  m->use     = use;
  m->bytes   = bytes;
  PetscCall(PetscCommDuplicate(comm, &m->comm, NULL));
  PetscCallMPI(MPI_Comm_size(comm, &m->size));
  PetscCallMPI(MPI_Comm_rank(comm, &m->rank));
  PetscCall(TakeDevices(m, letter));
  PetscCall(PetscCalloc1(m->size, &m->shared));
  status = BAISharedCreate(backend, m->owner[m->rank] == m->rank ? bytes : 1, &m->shared[m->rank], &mine);
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

/* Whether a mailbox that is not taken can be used by these ranks */
static PetscBool Fits(const struct BAIMailbox_ *m, MPI_Comm comm, BAIBackend backend, BAIMailboxUse use, size_t bytes,
                      const Letter letter[])
{
  if (m->taken || m->comm != comm || m->backend != backend || m->use != use || m->bytes < bytes) return PETSC_FALSE;
  for (PetscMPIInt k = 0; k < m->size; k++)
    if (memcmp(&m->device[k], &letter[k].device, sizeof(*m->device))) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Gets memory of at least bytes on each rank, or on the first one of each device; NULL on all ranks if they cannot
   access each other's memory, or if each rank needs a device of its own and some share one. Collective */
PetscErrorCode BAIMailboxGet(BAI *bai, BAIBackend backend, size_t bytes, BAIMailboxUse use, BAIMailbox *mailbox)
{
  const MPI_Comm comm   = PetscObjectComm(bai->obj);
  Letter         mine   = {.bytes = bytes}, *letter;
  BAIStatus      status = BAISharedDeviceGet(backend, &mine.device);
  PetscMPIInt    size;
  PetscBool      can = PETSC_TRUE;
  BAIMailbox     m = all, other = all;

  PetscFunctionBegin;
  *mailbox = NULL;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  mine.failed = status.code ? 1 : 0;
  PetscCall(PetscMalloc1(size, &letter));
  PetscCallMPI(
    MPI_Allgather(&mine, (PetscMPIInt)sizeof(mine), MPI_BYTE, letter, (PetscMPIInt)sizeof(mine), MPI_BYTE, comm));
  for (PetscMPIInt k = 0; k < size; k++) {
    can   = (PetscBool)(can && !letter[k].failed);
    bytes = PetscMax(bytes, letter[k].bytes);
    for (PetscMPIInt l = 0; l < k && can && use == BAI_MAILBOX_OF_RANKS; l++)
      if (!memcmp(&letter[k].device, &letter[l].device, sizeof(mine.device))) {
        status = BAIStatusBecause(BAI_ERR_PEERS, "ranks", "share a device, where a kernel must not wait for another's");
        can    = PETSC_FALSE;
      }
  }
  if (!can) PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  while (can && m && !Fits(m, comm, backend, use, bytes, letter)) m = m->next;
  /* in the place of one that does not fit, so that these do not become more and more */
  while (other && (other->taken || other->comm != comm || other->backend != backend || other->use != use))
    other = other->next;
  if (can && !m && other) PetscCall(DestroyMailbox(&other));
  if (can && !m) PetscCall(CreateMailbox(bai, backend, use, letter, bytes, &m));
  PetscCall(PetscFree(letter));
  if (!can || !m) PetscFunctionReturn(PETSC_SUCCESS);
  m->taken = PETSC_TRUE;
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

/* The first rank with the device of a rank */
PetscMPIInt BAIMailboxOwner(const struct BAIMailbox_ *mailbox, PetscMPIInt rank)
{
  return mailbox->owner[rank];
}

/* The ranks with the device of this one, or MPI_COMM_NULL if it has a device of its own */
MPI_Comm BAIMailboxSharers(const struct BAIMailbox_ *mailbox)
{
  return mailbox->sharers;
}
