/*
   How x travels between ranks: by the engine, if each rank reaches the memory of those that it exchanges x with, else
   by a VecScatter
*/
#include "../baiimpl.h"
#include <petscsf.h>

PetscErrorCode BAIScatterDestroy(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(VecScatterDestroy(&bai->scatter));
  PetscCall(VecDestroy(&bai->ghost));
  PetscCall(VecDestroy(&bai->coming));
  PetscCall(VecDestroy(&bai->sent));
  PetscCall(ISDestroy(&bai->ghosts));
  PetscCall(PetscFree(bai->shown));
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
  PetscMPIInt n, *rank;     /* peers */
  PetscInt   *first, *row;  /* own rows whose x each reads */
  PetscInt   *slot, *place; /* what it says of these */
  PetscInt   *mine;         /* where in the ghosts of this rank its x begins */
  BAIHandle  *handle;
} Peers;

static PetscErrorCode DestroyPeers(Peers *p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(p->rank, p->first, p->slot, p->place, p->mine, p->handle));
  PetscCall(PetscFree(p->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who reads x of whom: a rank that this one reads from or that reads from this one */
static PetscErrorCode CreatePeers(Mat A, PetscInt nghost, const PetscInt garray[], Peers *p)
{
  PetscSF            sf;
  PetscLayout        columns;
  BAIRankCount       reads, readers;
  const PetscMPIInt *in, *out;
  const PetscInt    *in_first, *out_first, *ghost, *row;
  PetscInt           rows, dups;

  PetscFunctionBegin;
  PetscCall(MatGetLayouts(A, NULL, &columns));
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &sf));
  PetscCall(PetscSFSetGraphLayout(sf, columns, nghost, NULL, PETSC_COPY_VALUES, garray));
  PetscCall(PetscSFSetUp(sf));
  PetscCall(PetscSFGetRootRanks(sf, &reads, &in, &in_first, &ghost, NULL));
  PetscCall(PetscSFGetLeafRanks(sf, &readers, &out, &out_first, &row));
  rows = readers ? out_first[readers] : 0;
  PetscCall(PetscMalloc6(reads + readers, &p->rank, reads + readers + 1, &p->first, reads + readers, &p->slot,
                         reads + readers, &p->place, reads + readers, &p->mine, reads + readers, &p->handle));
  PetscCall(PetscMalloc1(rows, &p->row));
  PetscCall(PetscArraycpy(p->rank, in, reads));
  PetscCall(PetscArraycpy(p->rank + reads, out, readers));
  dups = (PetscInt)(reads + readers);
  PetscCall(PetscSortRemoveDupsMPIInt(&dups, p->rank));
  p->n        = (PetscMPIInt)dups;
  p->first[0] = 0;
  for (PetscMPIInt k = 0; k < p->n; k++) {
    p->mine[k]      = 0;
    p->first[k + 1] = p->first[k];
    for (BAIRankCount i = 0; i < reads; i++) {
      if (in[i] == p->rank[k])
        p->mine[k] = ghost[in_first[i]]; /* those of one rank follow each other, as columns are sorted */
    }
    for (BAIRankCount o = 0; o < readers; o++) {
      if (out[o] != p->rank[k]) continue;
      PetscCall(PetscArraycpy(p->row + p->first[k], row + out_first[o], out_first[o + 1] - out_first[o]));
      p->first[k + 1] += out_first[o + 1] - out_first[o];
    }
  }
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TellPeers(Mat A, Peers *p, const BAIHandle *mine)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  Letter        *sent, *got;
  MPI_Request   *request;
  PetscMPIInt    tag;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &tag));
  PetscCall(
    PetscCalloc3(p->n, &sent, p->n, &got, 2 * p->n, &request)); /* NOLINT(bugprone-sizeof-expression): an MPI_Request
                                                                   may be a pointer, and these are an array of them */
  for (PetscMPIInt k = 0; k < p->n; k++) {
    sent[k].handle = *mine;
    sent[k].slot   = p->mine[k];
    sent[k].place  = k;
    PetscCallMPI(MPI_Irecv(got + k, (PetscMPIInt)sizeof(Letter), MPI_BYTE, p->rank[k], tag, comm, request + k));
    PetscCallMPI(MPI_Isend(sent + k, (PetscMPIInt)sizeof(Letter), MPI_BYTE, p->rank[k], tag, comm, request + p->n + k));
  }
  PetscCallMPI(MPI_Waitall(2 * p->n, request, MPI_STATUSES_IGNORE));
  for (PetscMPIInt k = 0; k < p->n; k++) {
    p->handle[k] = got[k].handle;
    p->slot[k]   = got[k].slot;
    p->place[k]  = got[k].place;
  }
  PetscCall(PetscFree3(sent, got, request));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Connect(BAI *bai, const Peers *p, BAIStatus *status)
{
  BAIInt  *first, *row, *slot, *place;
  BAIPeers peers;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(p->n + 1, &first, p->first[p->n], &row, p->n, &slot, p->n, &place));
  for (PetscMPIInt k = 0; k <= p->n; k++) first[k] = (BAIInt)p->first[k];
  for (PetscInt k = 0; k < p->first[p->n]; k++) row[k] = (BAIInt)p->row[k];
  for (PetscMPIInt k = 0; k < p->n; k++) {
    slot[k]  = (BAIInt)p->slot[k];
    place[k] = (BAIInt)p->place[k];
  }
  peers   = (BAIPeers){.peers  = (BAIInt)p->n,
                       .first  = first,
                       .row    = row,
                       .slot   = slot,
                       .place  = place,
                       .copies = bai->options.exchange == BAI_EXCHANGE_DC};
  *status = BAIEngineConnect(bai->engine, &peers, p->handle);
  PetscCall(PetscFree4(first, row, slot, place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The exchange by the engine that is asked for, or would be best */
static const char *Direct(const BAI *bai)
{
  return BAIExchanges[bai->options.exchange == BAI_EXCHANGE_AUTO ? BAI_EXCHANGE_DK : bai->options.exchange];
}

/* Whether all ranks can; with -info the first one that cannot says why */
static PetscErrorCode AllCan(BAI *bai, BAIStatus status, PetscBool *can)
{
  int failed = status.code ? 1 : 0;

  PetscFunctionBegin;
  if (status.code)
    PetscCall(PetscInfo(bai->obj, "Exchange %s cannot be: %s %s\n", Direct(bai), status.what, status.why));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, PetscObjectComm(bai->obj)));
  *can = (PetscBool)!failed;
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscCall(BAIOnNode(bai, peers.n, peers.rank, &can));
  if (!can) status = BAIStatusBecause(BAI_ERR_PEERS, "MPI_Comm_split_type()", "ranks on different nodes");
  else status = BAIEngineShare(bai->engine, (BAIInt)peers.n, &mine);
  PetscCall(AllCan(bai, status, &can));
  if (can) {
    PetscCall(TellPeers(A, &peers, &mine));
    PetscCall(Connect(bai, &peers, &status));
    PetscCall(AllCan(bai, status, &can));
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
