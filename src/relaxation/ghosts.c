/*
   The exchange of x between ranks: by the engine, if each rank can access the memory of its neighbours, otherwise by a
   VecScatter
*/
#include "../petsc/baiimpl.h"
#include "exchange.h"

PetscErrorCode BAIScatterDestroy(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(VecScatterDestroy(&bai->ranks.scatter));
  PetscCall(VecDestroy(&bai->ranks.ghost));
  PetscCall(VecDestroy(&bai->ranks.coming));
  PetscCall(VecDestroy(&bai->ranks.sent));
  PetscCall(ISDestroy(&bai->ranks.ghosts));
  PetscCall(PetscFree(bai->ranks.color));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the scatter of x to the nghost columns garray of Ao, and its vector, unless there is one rank; collective */
PetscErrorCode BAIScatterCreate(BAI *bai, Mat A, Mat Ao, PetscInt nghost, const PetscInt garray[])
{
  Vec         x;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(BAIScatterDestroy(bai));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(MatCreateVecs(Ao, &bai->ranks.ghost, NULL));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, nghost, garray, PETSC_COPY_VALUES, &bai->ranks.ghosts));
  PetscCall(VecScatterCreate(x, bai->ranks.ghosts, bai->ranks.ghost, NULL, &bai->ranks.scatter));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the scatter brings these columns, in this order */
PetscErrorCode BAIScatterFits(const BAI *bai, PetscInt nghost, const PetscInt garray[], PetscBool *same)
{
  const PetscInt *old;
  PetscInt        n;

  PetscFunctionBegin;
  *same = (PetscBool)!bai->ranks.ghosts;
  if (!bai->ranks.ghosts) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ISGetLocalSize(bai->ranks.ghosts, &n));
  PetscCall(ISGetIndices(bai->ranks.ghosts, &old));
  if (n == nghost) PetscCall(PetscArraycmp(old, garray, n, same));
  PetscCall(ISRestoreIndices(bai->ranks.ghosts, &old));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lets the engine write to the mailboxes of the peers, which tell each other the places in them; collective */
static PetscErrorCode ConnectEngine(BAI *bai, Mat A, const BAIHalo *halo, PetscInt nghost, BAIStatus *status)
{
  BAIHalo     post  = {.n = halo->n, .rank = halo->rank}; /* a row and a ghost for each peer */
  BAIPeers    peers = {.peers = (BAIInt)halo->n, .first = (BAIInt *)halo->first, .row = (BAIInt *)halo->row};
  BAIPeer    *sent, *peer;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(bai->obj), &rank));
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &post.tag));
  PetscCall(PetscCalloc4(halo->n, &sent, halo->n, &peer, halo->n + 1, &post.begin, 2 * halo->n, &post.request));
  for (PetscMPIInt k = 0; k < halo->n; k++) {
    sent[k]           = (BAIPeer){.slot = (BAIInt)halo->begin[k], .place = (BAIInt)k, .ghosts = (BAIInt)nghost};
    post.begin[k + 1] = k + 1;
  }
  post.first = post.begin;
  post.last  = post.begin + 1;
  PetscCall(BAIHaloExchange(&post, PetscObjectComm((PetscObject)A), sizeof(*sent), sent, peer));
  for (PetscMPIInt k = 0; k < halo->n; k++) peer[k].mailbox = BAIMailboxOf(bai->ranks.mailbox, halo->rank[k]);
  peers.peer = peer;
  peers.mine = BAIMailboxOf(bai->ranks.mailbox, rank);
  *status    = BAIEngineConnect(bai->relax.engine, &peers);
  PetscCall(PetscFree4(sent, peer, post.begin, post.request));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lets the engine exchange x, if the options ask for it or allow it, and it is possible; collective */
PetscErrorCode BAIConnect(BAI *bai, Mat A, PetscInt nghost, const PetscInt garray[])
{
  BAIStatus   status = BAIStatusOf(BAI_OK);
  BAIHalo     halo;
  PetscMPIInt size;
  PetscBool   can = PETSC_FALSE;

  PetscFunctionBegin;
  if (!bai->ranks.scatter || bai->options.exchange == BAI_EXCHANGE_SCATTER || bai->options.exchange == BAI_EXCHANGE_AMC)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHaloCreate(A, nghost, garray, &halo));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->obj), &size));
  if (bai->node.size < size) status = BAIStatusBecause(BAI_ERR_PEERS, "PetscShmCommGet()", "ranks on different nodes");
  else
    PetscCall(BAIMailboxGet(bai, bai->relax.use.backend,
                            BAIMailboxBytes((size_t)nghost, sizeof(BAIScalar), (BAIInt)halo.n), BAI_MAILBOX_OF_RANKS,
                            &bai->ranks.mailbox, &status));
  if (bai->ranks.mailbox) {
    PetscCall(BAIHaloRows(&halo));
    PetscCall(ConnectEngine(bai, A, &halo, nghost, &status));
    PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK],
                        &can)); /* no rank writes before all have cleared their mailboxes */
  }
  PetscCall(BAIHaloDestroy(&halo));
  bai->ranks.connected = can;
  if (!can) {
    const BAIStatus left = BAIEngineDisconnect(bai->relax.engine);
    PetscErrorCode  code;

    PetscCall(BAIMailboxRestore(&bai->ranks.mailbox));
    PetscCall(PetscInfo(bai->obj, "Exchange scatter instead of dk\n"));
    code = BAIAgree(bai, BAICheckStatus(bai, bai->options.exchange != BAI_EXCHANGE_AUTO && status.code ? status : left),
                    NULL);
    if (code) BAIEngineDestroy(&bai->relax.engine); /* a repeated call must not succeed */
    PetscCall(code);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends all access to the memory of other ranks; collective */
PetscErrorCode BAIDisconnect(BAI *bai)
{
  BAIStatus status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  if (!bai->ranks.connected) PetscFunctionReturn(PETSC_SUCCESS);
  bai->ranks.connected = PETSC_FALSE;
  if (bai->relax.engine) status = BAIEngineDisconnect(bai->relax.engine);
  PetscCallMPI(MPI_Barrier(PetscObjectComm(bai->obj)));
  PetscCall(BAIMailboxRestore(&bai->ranks.mailbox));
  PetscCall(BAICheckStatus(bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}
