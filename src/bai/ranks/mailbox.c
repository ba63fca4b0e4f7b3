/*
   Memory of each rank of a communicator that all others write to. To open another process's memory takes milliseconds,
   so what is given back is kept for the next one that asks for it
*/
#include "../baiimpl.h"
#include "../../engine/shared.h"
#include <string.h>

struct BAIMailbox_ {
  MPI_Comm        comm;
  BAIBackend      backend;
  PetscMPIInt     size, rank;
  PetscBool       taken;
  BAISharedDevice device;
  BAIShared      *shared; /* of each rank; NULL: it is not open */
  BAIMailbox      next;
};

/* All of this process. Ranks get and give back together, so those of a communicator are in the same order on all of
   them */
static BAIMailbox all;

/* What ranks tell each other */
typedef struct {
  BAISharedDevice device;
  BAISharedHandle handle;
} Letter;

static PetscErrorCode Close(BAIMailbox m, PetscMPIInt k)
{
  const BAIStatus status = BAISharedClose(m->backend, &m->shared[k]);

  PetscFunctionBegin;
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s: %s", status.what ? status.what : "Closing memory",
             status.why ? status.why : "failed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nobody frees memory that another rank has open; collective */
static PetscErrorCode Destroy(BAIMailbox *mailbox)
{
  BAIMailbox  m = *mailbox;
  BAIMailbox *at;

  PetscFunctionBegin;
  for (at = &all; *at && *at != m; at = &(*at)->next)
    ;
  if (*at) *at = m->next;
  for (PetscMPIInt k = 0; k < m->size; k++)
    if (k != m->rank) PetscCall(Close(m, k));
  PetscCallMPI(MPI_Barrier(m->comm));
  PetscCall(Close(m, m->rank));
  PetscCall(PetscCommDestroy(&m->comm));
  PetscCall(PetscFree(m->shared));
  PetscCall(PetscFree(*mailbox));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that are kept; at the end of a program, which is collective */
PetscErrorCode BAIMailboxDestroyAll(void)
{
  PetscFunctionBegin;
  while (all) {
    BAIMailbox last = all;

    PetscCall(Destroy(&last));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static BAIStatus Open(BAIMailbox m, const Letter letter[])
{
  for (PetscMPIInt k = 0; k < m->size; k++) {
    if (k == m->rank) continue;
    if (!memcmp(&letter[k].device, &m->device, sizeof(m->device)))
      return BAIStatusBecause(BAI_ERR_PEERS, "ranks", "share a device, where a kernel must not wait for another's");
    const BAIStatus status = BAISharedOpen(m->backend, &letter[k].handle, &m->shared[k]);

    if (status.code) return status;
  }
  return BAIStatusOf(BAI_OK);
}

static PetscErrorCode Create(BAI *bai, BAIBackend backend, const BAISharedDevice *device, size_t bytes,
                             BAIMailbox *mailbox)
{
  const MPI_Comm comm = PetscObjectComm(bai->obj);
  BAIMailbox     m;
  Letter         mine = {.device = *device}, *letter;
  BAIStatus      status;
  PetscBool      can;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  m->backend = backend;
  m->device  = *device;
  PetscCall(PetscCommDuplicate(comm, &m->comm, NULL));
  PetscCallMPI(MPI_Comm_size(comm, &m->size));
  PetscCallMPI(MPI_Comm_rank(comm, &m->rank));
  PetscCall(PetscCalloc1(m->size, &m->shared));
  status = BAISharedCreate(backend, bytes, &m->shared[m->rank], &mine.handle);
  PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  if (can) {
    PetscCall(PetscMalloc1(m->size, &letter));
    PetscCallMPI(
      MPI_Allgather(&mine, (PetscMPIInt)sizeof(mine), MPI_BYTE, letter, (PetscMPIInt)sizeof(mine), MPI_BYTE, comm));
    PetscCall(BAIAllCan(bai, Open(m, letter), BAIExchanges[BAI_EXCHANGE_DK], &can));
    PetscCall(PetscFree(letter));
  }
  BAISharedOpened(backend, &m->shared[m->rank]);
  if (can) {
    m->next = all;
    all     = m;
  } else PetscCall(Destroy(&m));
  *mailbox = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At least so many bytes on this rank; NULL on all ranks if they do not reach each other's memory. Collective */
PetscErrorCode BAIMailboxGet(BAI *bai, BAIBackend backend, size_t bytes, BAIMailbox *mailbox)
{
  const MPI_Comm  comm = PetscObjectComm(bai->obj);
  BAISharedDevice device;
  BAIStatus       status = BAISharedDeviceGet(backend, &device);
  PetscBool       can;
  BAIMailbox      m = all;

  PetscFunctionBegin;
  *mailbox = NULL;
  PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  if (!can) PetscFunctionReturn(PETSC_SUCCESS);
  while (m && (m->taken || m->comm != comm || m->backend != backend)) m = m->next;
  if (m) {
    int fits = m->shared[m->rank].bytes >= bytes && !memcmp(&m->device, &device, sizeof(device));

    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, comm));
    if (!fits) PetscCall(Destroy(&m));
  }
  if (!m) PetscCall(Create(bai, backend, &device, bytes, &m));
  if (m) m->taken = PETSC_TRUE;
  *mailbox = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No rank uses it any longer */
void BAIMailboxRestore(BAIMailbox *mailbox)
{
  if (*mailbox) (*mailbox)->taken = PETSC_FALSE;
  *mailbox = NULL;
}

/* That of a rank, as this one reaches it */
void *BAIMailboxOf(const struct BAIMailbox_ *mailbox, PetscMPIInt rank)
{
  return mailbox->shared[rank].memory;
}
