/*
   Mailboxes: memory of each rank of a communicator, or of the first rank of each device, that all others access.
   Opening another process's memory takes milliseconds, so restored mailboxes are kept for reuse, unless they are large
*/
#include "baiimpl.h"
#include "../relaxation/shared.h"
#include <string.h>

enum {
  KEPT = 1 << 28 /* bytes of the largest mailbox that is kept */
};

struct BAIMailbox_ {
  MPI_Comm         comm;
  BAIBackend       backend;
  BAIMailboxUse    use;
  size_t           bytes; /* size of the memory of each rank that has some */
  PetscMPIInt      size, rank;
  BAISharedDevice *device;  /* device of each rank */
  PetscMPIInt     *owner;   /* of each rank, see BAIMailboxOwner() */
  MPI_Comm         sharers; /* the ranks with the owner of this one, or MPI_COMM_NULL if it is the only one */
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
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s: %s", status.what, status.why);
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

/* Takes the devices of all ranks, and finds the owners, see BAIMailboxUse; on the host all have the same device */
static PetscErrorCode TakeDevices(BAIMailbox m, const Letter letter[])
{
  PetscBool alone = PETSC_TRUE, alike = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(m->size, &m->device, m->size, &m->owner));
  for (PetscMPIInt k = 0; k < m->size; k++) {
    m->device[k] = letter[k].device;
    if (m->device[k].kind != m->device[0].kind) alike = PETSC_FALSE;
    for (m->owner[k] = m->use == BAI_MAILBOX_OF_RANKS ? k : 0;
         memcmp(&m->device[k], &m->device[m->owner[k]], sizeof(*m->device));)
      m->owner[k]++;
  }
  for (PetscMPIInt k = 0; k < m->size && !alike && m->use == BAI_MAILBOX_OF_DEVICES; k++) m->owner[k] = 0;
  for (PetscMPIInt k = 0; k < m->size; k++)
    if (k != m->rank && m->owner[k] == m->owner[m->rank]) alone = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_split(m->comm, alone ? MPI_UNDEFINED : m->owner[m->rank], m->rank, &m->sharers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a mailbox with bytes of memory of each rank that is an owner, and puts it first in the list; or sets it to
   NULL on all ranks if any of them fails, for the reason in *status. Collective */
static PetscErrorCode CreateMailbox(BAI *bai, BAIBackend backend, BAIMailboxUse use, const Letter letter[],
                                    size_t bytes, BAIMailbox *mailbox, BAIStatus *status)
{
  const MPI_Comm  comm = PetscObjectComm(bai->obj);
  BAIMailbox      m;
  BAISharedHandle mine = {{0}}, *handle;
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
  if (m->owner[m->rank] == m->rank) *status = BAISharedCreate(backend, bytes, &m->shared[m->rank], &mine);
  PetscCall(BAIAllCan(bai, *status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  if (can) {
    PetscCall(PetscMalloc1(m->size, &handle));
    PetscCallMPI(
      MPI_Allgather(&mine, (PetscMPIInt)sizeof(mine), MPI_BYTE, handle, (PetscMPIInt)sizeof(mine), MPI_BYTE, comm));
    for (PetscMPIInt k = 0; k < m->size && !status->code; k++)
      if (k != m->rank && m->owner[k] == k) *status = BAISharedOpen(backend, &handle[k], &m->shared[k]);
    if (use == BAI_MAILBOX_PINNED && !status->code) *status = BAISharedPin(BAI_BACKEND_CUDA, &m->shared[0]);
    PetscCall(BAIAllCan(bai, *status, BAIExchanges[BAI_EXCHANGE_DK], &can));
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

/* Gets memory of at least bytes of the ranks that use says; NULL on all ranks if they cannot access each other's
   memory, or if each needs a device of its own and some share one: then why, unless it is NULL, has this rank's reason,
   if it has one. Collective */
PetscErrorCode BAIMailboxGet(BAI *bai, BAIBackend backend, size_t bytes, BAIMailboxUse use, BAIMailbox *mailbox,
                             BAIStatus *why)
{
  const PetscBool apart  = (PetscBool)(use == BAI_MAILBOX_OF_RANKS && backend == BAI_BACKEND_CUDA);
  const MPI_Comm  comm   = PetscObjectComm(bai->obj);
  Letter          mine   = {.bytes = bytes}, *letter;
  BAIStatus       status = BAISharedDeviceGet(backend, &mine.device);
  PetscMPIInt     size;
  PetscBool       can = PETSC_TRUE;
  BAIMailbox      m = NULL, other = all;

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
    for (PetscMPIInt l = 0; l < k && can && apart; l++)
      if (!memcmp(&letter[k].device, &letter[l].device, sizeof(mine.device))) {
        status = BAIStatusBecause(BAI_ERR_PEERS, "cudaIpcOpenMemHandle()",
                                  "ranks share a device, where a kernel must not wait for another's");
        can    = PETSC_FALSE;
      }
  }
  if (!can) PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  for (BAIMailbox k = all; k && can; k = k->next)
    if (Fits(k, comm, backend, use, bytes, letter) && (!m || k->bytes < m->bytes)) m = k;
  /* in the place of one that does not fit, so that these do not become more and more */
  while (other && (other->taken || other->comm != comm || other->backend != backend || other->use != use))
    other = other->next;
  if (can && !m && other) PetscCall(DestroyMailbox(&other));
  if (can && !m) PetscCall(CreateMailbox(bai, backend, use, letter, bytes, &m, &status));
  PetscCall(PetscFree(letter));
  if (why) *why = status;
  if (!can || !m) PetscFunctionReturn(PETSC_SUCCESS);
  m->taken = PETSC_TRUE;
  *mailbox = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives back a mailbox that no rank uses any longer, for BAIMailboxGet(). Collective */
PetscErrorCode BAIMailboxRestore(BAIMailbox *mailbox)
{
  PetscFunctionBegin;
  if (*mailbox) (*mailbox)->taken = PETSC_FALSE;
  if (*mailbox && (*mailbox)->bytes > KEPT) PetscCall(DestroyMailbox(mailbox));
  *mailbox = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void *BAIMailboxOf(const struct BAIMailbox_ *mailbox, PetscMPIInt rank)
{
  return mailbox->shared[rank].memory;
}

/* The rank whose memory serves a rank */
PetscMPIInt BAIMailboxOwner(const struct BAIMailbox_ *mailbox, PetscMPIInt rank)
{
  return mailbox->owner[rank];
}

/* The ranks with the owner of this one, or MPI_COMM_NULL if it is the only one */
MPI_Comm BAIMailboxSharers(const struct BAIMailbox_ *mailbox)
{
  return mailbox->sharers;
}
