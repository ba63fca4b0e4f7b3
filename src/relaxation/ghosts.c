/*
   How x travels between ranks: by the engine, if each rank reaches the memory of those that it exchanges x with, else
   by a VecScatter
*/
#include "../petsc/baiimpl.h"

PetscErrorCode BAIScatterDestroy(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(VecScatterDestroy(&bai->scatter));
  PetscCall(VecDestroy(&bai->ghost));
  PetscCall(VecDestroy(&bai->coming));
  PetscCall(VecDestroy(&bai->sent));
  PetscCall(ISDestroy(&bai->ghosts));
  PetscCall(PetscFree(bai->shown));
  PetscCall(PetscFree(bai->color));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every other rank's x that this one reads */
PetscErrorCode BAIScatterCreate(BAI *bai, Mat A, Mat Ao, PetscInt nghost, const PetscInt garray[])
{
  Vec         x;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(BAIScatterDestroy(bai));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(MatCreateVecs(Ao, &bai->ghost, NULL));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, nghost, garray, PETSC_COPY_VALUES, &bai->ghosts));
  PetscCall(VecScatterCreate(x, bai->ghosts, bai->ghost, NULL, &bai->scatter));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scatter brings these columns, in this order */
PetscErrorCode BAIScatterFits(const BAI *bai, PetscInt nghost, const PetscInt garray[], PetscBool *same)
{
  const PetscInt *old;
  PetscInt        n;

  PetscFunctionBegin;
  *same = (PetscBool)!bai->ghosts;
  if (!bai->ghosts) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ISGetLocalSize(bai->ghosts, &n));
  PetscCall(ISGetIndices(bai->ghosts, &old));
  if (n == nghost) PetscCall(PetscArraycmp(old, garray, n, same));
  PetscCall(ISRestoreIndices(bai->ghosts, &old));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values, each so many apart, that belong to own rows, to where they belong to ghosts; x and ghost are to work with */
PetscErrorCode BAIToGhosts(BAI *bai, Vec x, Vec ghost, PetscInt apart, const PetscScalar *value, PetscScalar *there)
{
  PetscScalar       *xa;
  const PetscScalar *ga;
  PetscInt           n, nghost;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetLocalSize(ghost, &nghost));
  PetscCall(VecGetArrayWrite(x, &xa));
  for (PetscInt i = 0; i < n; i++) xa[i] = value[i * apart];
  PetscCall(VecRestoreArrayWrite(x, &xa));
  PetscCall(VecScatterBegin(bai->scatter, x, ghost, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(bai->scatter, x, ghost, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetArrayRead(ghost, &ga));
  for (PetscInt i = 0; i < nghost; i++) there[i * apart] = ga[i];
  PetscCall(VecRestoreArrayRead(ghost, &ga));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank tells each of its peers */
typedef struct {
  BAIHandle handle;
  PetscInt  slot;  /* where in its ghosts x of the peer begins */
  PetscInt  place; /* of the peer among its peers */
} Letter;

typedef struct {
  BAIHalo    halo;
  PetscInt  *slot, *place; /* what each peer says */
  BAIHandle *handle;
} Peers;

static PetscErrorCode DestroyPeers(Peers *p)
{
  PetscFunctionBegin;
  PetscCall(BAIHaloDestroy(&p->halo));
  PetscCall(PetscFree3(p->slot, p->place, p->handle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePeers(Mat A, PetscInt nghost, const PetscInt garray[], Peers *p)
{
  PetscFunctionBegin;
  PetscCall(BAIHaloCreate(A, nghost, garray, &p->halo));
  PetscCall(PetscMalloc3(p->halo.n, &p->slot, p->halo.n, &p->place, p->halo.n, &p->handle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TellPeers(Mat A, Peers *p, const BAIHandle *mine)
{
  const MPI_Comm    comm = PetscObjectComm((PetscObject)A);
  const PetscMPIInt n    = p->halo.n;
  Letter           *sent, *got;
  MPI_Request      *request;
  PetscMPIInt       tag;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &tag));
  PetscCall(PetscCalloc3(n, &sent, n, &got, 2 * n, &request)); /* NOLINT(bugprone-sizeof-expression): an MPI_Request
                                                                   may be a pointer, and these are an array of them */
  for (PetscMPIInt k = 0; k < n; k++) {
    sent[k].handle = *mine;
    sent[k].slot   = p->halo.begin[k];
    sent[k].place  = k;
    PetscCallMPI(MPI_Irecv(got + k, (PetscMPIInt)sizeof(Letter), MPI_BYTE, p->halo.rank[k], tag, comm, request + k));
    PetscCallMPI(
      MPI_Isend(sent + k, (PetscMPIInt)sizeof(Letter), MPI_BYTE, p->halo.rank[k], tag, comm, request + n + k));
  }
  PetscCallMPI(MPI_Waitall(2 * n, request, MPI_STATUSES_IGNORE));
  for (PetscMPIInt k = 0; k < n; k++) {
    p->handle[k] = got[k].handle;
    p->slot[k]   = got[k].slot;
    p->place[k]  = got[k].place;
  }
  PetscCall(PetscFree3(sent, got, request));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Connect(BAI *bai, const Peers *p, BAIStatus *status)
{
  const PetscMPIInt n = p->halo.n;
  BAIInt           *begin, *row, *slot, *place;
  BAIPeers          peers;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n + 1, &begin, p->halo.sends, &row, n, &slot, n, &place));
  begin[0] = 0;
  for (PetscMPIInt k = 0; k < n; k++) begin[k + 1] = (BAIInt)p->halo.last[k];
  for (PetscInt k = 0; k < p->halo.sends; k++) row[k] = (BAIInt)p->halo.row[k];
  for (PetscMPIInt k = 0; k < n; k++) {
    slot[k]  = (BAIInt)p->slot[k];
    place[k] = (BAIInt)p->place[k];
  }
  peers   = (BAIPeers){.peers  = (BAIInt)n,
                       .first  = begin,
                       .row    = row,
                       .slot   = slot,
                       .place  = place,
                       .copies = bai->options.exchange == BAI_EXCHANGE_DC};
  *status = BAIEngineConnect(bai->engine, &peers, p->handle);
  PetscCall(PetscFree4(begin, row, slot, place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The exchange by the engine that is asked for, or would be best */
static const char *Direct(const BAI *bai)
{
  return BAIExchanges[bai->options.exchange == BAI_EXCHANGE_AUTO ? BAI_EXCHANGE_DK : bai->options.exchange];
}

/* The engine exchanges x from now on, if that is what the options ask for or allow, and can be; collective */
PetscErrorCode BAIConnect(BAI *bai, Mat A, PetscInt nghost, const PetscInt garray[])
{
  BAIStatus status = BAIStatusOf(BAI_OK);
  BAIHandle mine;
  Peers     peers;
  PetscBool can;

  PetscFunctionBegin;
  if (!bai->scatter || bai->options.exchange == BAI_EXCHANGE_SCATTER || bai->options.exchange == BAI_EXCHANGE_AMC)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreatePeers(A, nghost, garray, &peers));
  PetscCall(BAIOnNode(bai, peers.halo.n, peers.halo.rank, &can));
  if (!can) status = BAIStatusBecause(BAI_ERR_PEERS, "MPI_Comm_split_type()", "ranks on different nodes");
  else status = BAIEngineShare(bai->engine, (BAIInt)peers.halo.n, &mine);
  PetscCall(BAIAllCan(bai, status, Direct(bai), &can));
  if (can) {
    PetscCall(TellPeers(A, &peers, &mine));
    PetscCall(Connect(bai, &peers, &status));
    PetscCall(BAIAllCan(bai, status, Direct(bai), &can));
  }
  PetscCall(DestroyPeers(&peers));
  bai->connected = can;
  if (!can) {
    const BAIStatus left = BAIEngineDisconnect(bai->engine);
    PetscErrorCode  code;

    PetscCall(PetscInfo(bai->obj, "Exchange scatter instead of %s\n", Direct(bai)));
    code = BAIAgree(bai, BAICheckStatus(bai, bai->options.exchange != BAI_EXCHANGE_AUTO && status.code ? status : left),
                    NULL);
    if (code) BAIEngineDestroy(&bai->engine); /* asked again, it must not say yes */
    PetscCall(code);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No rank writes to the memory of this one any longer; collective */
PetscErrorCode BAIDisconnect(BAI *bai)
{
  BAIStatus status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  if (!bai->connected) PetscFunctionReturn(PETSC_SUCCESS);
  bai->connected = PETSC_FALSE;
  if (bai->engine) status = BAIEngineDisconnect(bai->engine);
  PetscCallMPI(MPI_Barrier(PetscObjectComm(bai->obj)));
  PetscCall(BAICheckStatus(bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}
