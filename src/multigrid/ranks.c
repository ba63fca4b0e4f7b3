/*
   Multigrid levels of a matrix that is distributed over ranks

   Aggregates never cross rank boundaries, and coarse matrices are distributed like the aggregates. The engine has this
   rank's part of each level, see levels.h; this file does the communication between ranks. The first small level is
   gathered, see rest.c
*/
#include "ranks.h"
#include "rules.h"

enum {
  /* A level is small if it has at most 1/GATHER_FRACTION of a rank's rows of the finest level and at most GATHER_ROWS
     rows, or at most 1/GATHER_PART of them and GATHER_MOST rows, as all ranks do its work */
  GATHER_FRACTION = 8,
  GATHER_ROWS     = 1 << 15,
  GATHER_PART     = 64,
  GATHER_MOST     = 1 << 17,
  /* a level of at most this number of rows is small, as an exchange takes longer than a cycle */
  GATHER_MIN_ROWS   = BAI_LEVELS_SMALL,
  GATHER_IF_STALLED = 100000 /* a level of at most this number of rows is gathered if coarsening stalls */
};

/* Ends access to the mailboxes, so that they can be used otherwise; collective */
static PetscErrorCode Disconnect(BAIRankLevels R)
{
  const BAILevels levels = R->bai->hierarchy->levels;
  BAIStatus       status;

  PetscFunctionBegin;
  if (!R->mailbox) PetscFunctionReturn(PETSC_SUCCESS);
  status = BAILevelsConnect(levels, NULL);
  PetscCallMPI(MPI_Barrier(PetscObjectComm(R->bai->obj)));
  PetscCall(BAIMailboxRestore(&R->mailbox));
  PetscCall(BAICheckStatus(R->bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective, as ranks first end the access to each other's memory */
PetscErrorCode BAIRankLevelsDestroy(BAIRankLevels *ranks)
{
  BAIRankLevels R = *ranks;

  PetscFunctionBegin;
  if (!R) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Disconnect(R));
  PetscCall(BAITransferDestroy(&R->transfer));
  for (int l = 0; l <= BAI_LEVELS_MOST; l++) PetscCall(BAIHaloDestroy(&R->level[l].halo));
  PetscCall(BAIHaloDestroy(&R->everyone));
  BAILevelsDestroy(&R->levels);
  PetscCall(BAIGatheredDestroy(&R->rest));
  PetscCall(PetscFree(R->ghost));
  PetscCall(PetscFree(R->next));
  PetscCall(PetscFree(*ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Completes what ranks agree on: whether entries between ranks leave the matrix Hermitian, its sign, the precision of
   all ranks, and the overcorrection factor for all couplings. Sets hermitian and info.norm. Collective */
static PetscErrorCode Agree(BAI *bai, BAILevelsAgreed *agreed)
{
  const BAIHierarchy   h       = bai->hierarchy;
  const BAILevelsInfo *i       = &h->info;
  double               sum[4]  = {i->less, i->more, i->skew, i->coupled};
  double               most[3] = {i->largest, h->levels && !i->single ? 1 : 0, i->norm};
  PetscReal            over;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPI_DOUBLE, MPI_SUM, PetscObjectComm(bai->obj)));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_DOUBLE, MPI_MAX, PetscObjectComm(bai->obj)));
  if (fabs(sum[2]) > (double)BAI_SUM_ROUNDING * sum[3]) h->hermitian = PETSC_FALSE;
  over         = h->hermitian && !h->p.modes && sum[1] <= BAI_LEVELS_OTHER_SIGN * sum[0] ? (PetscReal)h->p.over : 1;
  *agreed      = (BAILevelsAgreed){.hermitian = h->hermitian,
                                   .negative  = h->hermitian && h->negative,
                                   .single    = most[1] == 0,
                                   .largest   = most[0],
                                   .over      = (BAIReal)over};
  h->info.norm = most[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The halo of a distributed level, or in a cycle of rest, which follows the distributed levels */
static BAIHalo *HaloOf(BAIRankLevels R, int level)
{
  return R->rest && level == R->count && !R->making ? &R->everyone : &R->level[level].halo;
}

/* Describes the exchange of a level for the engine */
static void Share(BAIRankLevels R, int level)
{
  const BAIHalo *halo = HaloOf(R, level);

  R->shared[level] = (BAILevelsShared){.all    = (BAIInt)R->level[level].rows,
                                       .ghosts = (BAIInt)BAIHaloGhosts(halo),
                                       .sends  = halo->n ? (BAIInt)halo->sends : 0,
                                       .whole  = halo == &R->everyone,
                                       .peers  = halo->n,
                                       .row    = (const BAIInt *)halo->row,
                                       .first  = (const BAIInt *)halo->first,
                                       .start  = (const BAIInt *)halo->start};
}

/* Begins or ends making levels or giving them new values */
static void SetMaking(BAIRankLevels R, PetscBool making)
{
  R->making = making;
  Share(R, R->count);
}

/* The functions that the engine calls while it makes levels, see BAILevelsRanks */
static int AgreeOnStatus(void *context, BAIStatus status)
{
  const BAIRankLevels R = (BAIRankLevels)context;

  if (!R->code) R->code = BAIAgree(R->bai, BAICheckStatus(R->bai, status), NULL);
  return R->code ? 1 : 0;
}

/* Finds the first and the global number of rows of the next level, of which this rank has mine; fails on all ranks if
   the status of any is an error */
static PetscErrorCode CountRows(BAIRankLevels R, BAIStatus status, BAIRankLevel *next, PetscInt mine)
{
  const MPI_Comm comm = PetscObjectComm(R->bai->obj);
  PetscInt      *rows;
  PetscMPIInt    rank;
  PetscBool      failed = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscMalloc1(R->size, &rows));
  if (status.code) mine = -1;
  PetscCallMPI(MPI_Allgather(&mine, 1, MPIU_INT, rows, 1, MPIU_INT, comm));
  next->m     = mine;
  next->first = next->rows = 0;
  for (PetscMPIInt k = 0; k < R->size; k++) {
    if (rows[k] < 0) failed = PETSC_TRUE;
    if (k == rank) next->first = next->rows;
    next->rows += rows[k];
  }
  PetscCall(PetscFree(rows));
  if (failed) PetscCall(BAIAgree(R->bai, BAICheckStatus(R->bai, status), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BAILevelsRanks.count: sums the rows of the next level over the ranks. This function and those below return 1 after an
   error, which R->code keeps */
static int Count(void *context, BAIStatus status, int level, BAIInt mine, BAIInt *all)
{
  const BAIRankLevels R    = (BAIRankLevels)context;
  BAIRankLevel       *next = &R->level[level + 1];

  if (!R->code) R->code = CountRows(R, status, next, (PetscInt)mine);
  *all = (BAIInt)next->rows;
  return R->code ? 1 : 0;
}

static int Exchange(void *context, int level, size_t size, const void *sent, void *ghosts)
{
  const BAIRankLevels R = (BAIRankLevels)context;

  if (!R->code) R->code = BAITransferArray(&R->transfer, HaloOf(R, level), size, sent, ghosts);
  return R->code ? 1 : 0;
}

static int ShareOrFail(void *context, BAIStatus status, int level, size_t size, const void *sent, void *ghosts)
{
  const BAIRankLevels R = (BAIRankLevels)context;

  if (!R->code) R->code = BAITransferOrFail(&R->transfer, status, HaloOf(R, level), size, sent, ghosts);
  return R->code ? 1 : 0;
}

/* Makes the halo of the next level, from the aggregates of rows that are sent, and exchanges the numbers that these get
   there */
static PetscErrorCode CoarsenHalo(BAIRankLevels R, BAIStatus status, int level, size_t size, void *sent, void *of,
                                  BAILevelsGhosts *ghosts)
{
  const BAIHierarchy h = R->bai->hierarchy;
  BAIRankLevel      *L = &R->level[level], *next = L + 1;
  PetscInt          *count, *row = NULL; /* on a device the engine keeps the rows, unless modes make several of each */

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(L->halo.n, &count));
  if (h->backend == BAI_BACKEND_HOST || h->p.modes) PetscCall(PetscMalloc1(L->halo.sends, &row));
  if (!status.code)
    status = BAILevelsNumber(h->levels, L->halo.n, (const BAIInt *)L->halo.first, (const BAIInt *)L->halo.last, sent,
                             (BAIInt *)count, (BAIInt *)row);
  if (status.code) PetscCall(PetscArrayzero(count, L->halo.n)); /* all ranks fail when they agree below */
  PetscCall(BAIHaloCoarsen(&L->halo, PetscObjectComm(R->bai->obj), count, row, &next->halo));
  PetscCall(PetscFree(count));
  PetscCall(PetscFree(row));
  PetscCall(PetscFree(R->next));
  PetscCall(PetscMalloc1(next->halo.n, &R->next));
  for (PetscMPIInt k = 0; k < next->halo.n; k++) R->next[k] = next->halo.begin[k] - next->halo.from[k];
  *ghosts = (BAILevelsGhosts){.count = (BAIInt)BAIHaloGhosts(&next->halo),
                              .peers = L->halo.n,
                              .begin = (const BAIInt *)L->halo.begin,
                              .next  = (const BAIInt *)R->next};
  PetscCall(BAIHaloExpand(&next->halo, BAIColumnsOfP(h->p.modes)));
  Share(R, level + 1);
  PetscCall(BAITransferOrFail(&R->transfer, status, &L->halo, size, sent, of));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int Coarsen(void *context, BAIStatus status, int level, size_t size, void *sent, void *of,
                   BAILevelsGhosts *ghosts)
{
  const BAIRankLevels R = (BAIRankLevels)context;

  if (!R->code) R->code = CoarsenHalo(R, status, level, size, sent, of, ghosts);
  return R->code ? 1 : 0;
}

/* Replaces the properties of this rank in the hierarchy by those of all ranks, except flops; bytes are added up.
   Collective */
static PetscErrorCode FindInfo(BAI *bai, BAIRankLevels R)
{
  enum {
    NUMBERS = BAI_LEVELS_MOST * (int)(sizeof(BAILevelInfo) / sizeof(int64_t)) /* of all levels */
  };
  const BAIHierarchy h    = bai->hierarchy;
  BAILevelsInfo     *all  = &h->info;
  BAILevelsInfo      info = {.levels = 0};

  PetscFunctionBegin;
  BAILevelsInfoGet(h->levels, &info);
  if (R->rest) info.level[R->count] = (BAILevelInfo){.rows = 0}; /* rest does its work */
  all->bytes = info.bytes + R->info.bytes;
  PetscCall(PetscMemcpy(all->level, info.level, sizeof(all->level)));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &all->bytes, 1, MPIU_INT64, MPI_SUM, PetscObjectComm(bai->obj)));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all->level, NUMBERS, MPIU_INT64, MPI_SUM, PetscObjectComm(bai->obj)));
  info.levels    = R->count + (R->rest ? 1 : 0);
  info.hermitian = h->hermitian;
  for (int l = 0; l < info.levels; l++) info.level[l].rows = (int64_t)R->level[l].rows;
  h->flops         = BAILevelsFlops(&info, h->p.local_iters, 0);
  h->flops_product = 2.0 * (double)info.level[0].nnz;
  all->levels      = R->count;
  for (int l = 0; l < R->info.levels && all->levels < BAI_LEVELS_MOST; l++)
    all->level[all->levels++] = R->info.level[l];
  all->stop        = R->stop;
  all->distributed = R->count;
  all->solves      = R->solves;
  all->exact       = R->rest && R->info.exact;
  all->hermitian   = h->hermitian;
  all->single      = R->count ? R->agreed.single : R->info.single;
  all->grid        = R->count ? info.grid : R->info.grid;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves the gathered level; called by the engine within a cycle */
static int Rest(void *context)
{
  const BAIRankLevels R = (BAIRankLevels)context;

  if (!R->code) R->code = BAIRestSolve(R, BAIGatheredVector(R->rest, 0), BAIGatheredVector(R->rest, 1));
  return R->code ? 1 : 0;
}

static PetscErrorCode FindLargest(const BAIRankLevels R, BAIReal *value)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, value, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm(R->bai->obj)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BAILevelsRanks.largest: the maximum of value over the ranks */
static int Largest(void *context, BAIReal *value)
{
  const BAIRankLevels R = (BAIRankLevels)context;

  if (!R->code) R->code = FindLargest(R, value);
  return R->code ? 1 : 0;
}

/* Tells the engine which levels belong to the cycle */
static PetscErrorCode Finish(BAI *bai, BAIRankLevels R)
{
  const BAIHierarchy h      = bai->hierarchy;
  BAIStatus          status = BAIStatusOf(BAI_OK);
  BAILevelsRanks     ranks  = {.levels   = R->count,
                               .level    = R->shared,
                               .next     = R->rest != NULL,
                               .first    = (BAIInt)R->level[R->count].first,
                               .context  = R,
                               .exchange = Exchange,
                               .largest  = Largest,
                               .rest     = Rest};

  PetscFunctionBegin;
  SetMaking(R, PETSC_FALSE);
  if (R->rest) {
    ranks.b     = BAIGatheredVector(R->rest, 0);
    ranks.x     = BAIGatheredVector(R->rest, 1);
    ranks.whole = R->levels;
  }
  if (R->count) status = BAILevelsFinish(h->levels, &ranks, R->stop);
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, status), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lets ranks write to each other's memory in a cycle, if all of them can, and sets R->solves; collective */
static PetscErrorCode Connect(BAI *bai, BAIRankLevels R)
{
  const BAILevels   levels = bai->hierarchy->levels;
  const MPI_Comm    comm   = PetscObjectComm(bai->obj);
  const PetscMPIInt size   = R->size;
  const int         n      = BAI_LEVELS_EXCHANGES(R->count, R->rest ? 1 : 0);
  BAILevelsPeer    *peer;
  void            **memory;
  size_t            bytes = 0;
  BAILevelsAddress *own, *address;
  BAILevelsPeers    peers;
  BAIStatus         status = BAIStatusOf(BAI_OK);
  BAILevelsInfo     info   = {.levels = 0};
  PetscMPIInt       rank;
  PetscBool         can;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (!R->count || !R->reach) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc4(n * size, &peer, size, &memory, n * size, &own, n * size, &address));
  for (int l = 0; l + 1 < n; l++) {
    const BAIHalo *halo = l + 2 < n ? HaloOf(R, l) : &R->level[0].halo;

    for (PetscMPIInt k = 0; k < halo->n; k++)
      peer[l * size + halo->rank[k]] = (BAILevelsPeer){(BAIInt)halo->begin[k],
                                                       (BAIInt)(halo->begin[k + 1] - halo->begin[k]),
                                                       (BAIInt)halo->first[k], (BAIInt)halo->last[k]};
  }
  if (levels) status = BAILevelsShare(levels, size, peer, &bytes, own);
  else status = BAIStatusBecause(BAI_ERR_PEERS, "set-up", "a rank has no rows");
  PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  if (can) PetscCall(BAIMailboxGet(bai, bai->hierarchy->backend, bytes, BAI_MAILBOX_OF_RANKS, &R->mailbox, NULL));
  can = (PetscBool)(can && R->mailbox);
  if (can) {
    PetscCallMPI(MPI_Alltoall(own, (PetscMPIInt)(n * (int)sizeof(*own)), MPI_BYTE, address,
                              (PetscMPIInt)(n * (int)sizeof(*own)), MPI_BYTE, comm));
    for (PetscMPIInt k = 0; k < size; k++) memory[k] = BAIMailboxOf(R->mailbox, k);
    peers  = (BAILevelsPeers){size, rank, memory, address, peer};
    status = BAILevelsConnect(levels, &peers);
    PetscCall(BAIAllCan(bai, status, BAIExchanges[BAI_EXCHANGE_DK], &can));
  }
  if (!can) PetscCall(Disconnect(R));
  if (can) BAILevelsInfoGet(levels, &info);
  PetscCall(
    BAIAllCan(bai, BAIStatusOf(info.solves ? BAI_OK : BAI_ERR_PEERS), BAIExchanges[BAI_EXCHANGE_DK], &R->solves));
  PetscCall(PetscFree4(peer, memory, own, address));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the levels of all ranks until one has at most small rows, or if kept is not 0, gives this number of levels new
   values. made is 0, or the number of levels made by an earlier call, and becomes the number of all */
static PetscErrorCode MakeLevels(BAIRankLevels R, const BAILevelsAgreed *agreed, PetscInt small, int kept, int *made)
{
  const BAIHierarchy   h     = R->bai->hierarchy;
  const BAILevelsRanks ranks = {.context = R,
                                .level   = R->shared,
                                .agree   = AgreeOnStatus,
                                .share   = ShareOrFail,
                                .count   = Count,
                                .coarsen = Coarsen};
  /* for the data of an aggregate, or a row of P; without modes those of all levels fit */
  const size_t    item = PetscMax(sizeof(BAILevelsSide), (size_t)h->p.modes * sizeof(PetscScalar));
  BAIStatus       status;
  const PetscBool exchanges = (PetscBool)(!kept || agreed->over != 1); /* whether ranks exchange anything */

  PetscFunctionBegin;
  PetscCall(BAITransferOpen(&R->transfer, (PetscBool)(exchanges && R->reach), R->level[0].halo.sends, item));
  status = BAILevelsCoarsen(h->levels, &h->p, agreed, (BAIInt)R->level[*made ? *made - 1 : 0].rows, (BAIInt)small, kept,
                            &ranks, made, &R->stop);
  PetscCall(R->code);
  PetscCall(BAITransferClose(&R->transfer));
  PetscCall(BAICheckStatus(R->bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sets up levels for a matrix on several ranks, after the matrix of each rank was examined; finds whether all of it is
   Hermitian. Collective
*/
PetscErrorCode BAIRankLevelsSetUp(BAI *bai, Mat A)
{
  const BAIHierarchy h = bai->hierarchy;
  BAIRankLevels      R;
  PetscInt           each, small, nghost;
  const PetscInt    *garray;
  Mat                Ad, Ao;
  BAIRankLevel      *L;
  BAIMatrix          M;
  PetscBool          parts;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h->ranks));
  R               = h->ranks;
  L               = R->level;
  R->bai          = bai;
  R->transfer.bai = bai;
  R->making       = PETSC_TRUE;
  PetscCall(Agree(bai, &R->agreed));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->obj), &R->size));
  R->reach = (PetscBool)(bai->node.size == R->size && h->backend == BAI_BACKEND_CUDA &&
                         bai->options.exchange != BAI_EXCHANGE_SCATTER);
  PetscCall(BAIGetParts(bai->obj, A, &Ad, &Ao, &nghost, &garray));
  PetscCall(BAIHaloCreate(A, nghost, garray, &L->halo));
  if (h->backend == BAI_BACKEND_HOST) PetscCall(BAIHaloRows(&L->halo)); /* a device makes the list itself */
  PetscCall(PetscObjectGetNewTag(bai->obj, &L->halo.tag));
  PetscCall(MatGetLocalSize(A, &L->m, NULL));
  PetscCall(MatGetSize(A, &L->rows, NULL));
  PetscCall(MatGetOwnershipRange(A, &L->first, NULL));
  Share(R, 0);
  each  = L->rows / R->size;
  small = PetscMax(PetscMin(GATHER_ROWS, each / GATHER_FRACTION), PetscMin(GATHER_MOST, each / GATHER_PART));
  small = PetscMax(GATHER_MIN_ROWS, small);
  /* Ranks coarsen the finest level in any case, so that the aggregates of users and boxes of ranks count */
  small = PetscMax(BAI_LEVELS_COARSEST, PetscMin(small, L->rows - 1));
  PetscCall(MakeLevels(R, &R->agreed, small, 0, &R->made));
  if (R->made < BAILevelsAtMost(&h->p)) small = PetscMax(small, GATHER_IF_STALLED);
  /* All levels are distributed, or all before the last one */
  R->count = R->level[R->made - 1].rows > small ? R->made : R->made - 1;
  if (R->count < R->made) {
    PetscCall(BAIRestCreate(R, &M));
    PetscCall(BAIRestMakeLevels(R, &M, &parts));
    if (parts) {
      PetscCall(MakeLevels(R, &R->agreed, BAI_LEVELS_COARSEST, 0, &R->made));
      PetscCall(BAIRestMakeLevels(R, &M, &parts));
    }
  }
  PetscCall(Finish(bai, R));
  PetscCall(Connect(bai, R));
  PetscCall(FindInfo(bai, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether aggregates fit new values on all ranks, as the status of this one tells. Collective */
static PetscErrorCode AgreeOnFit(const BAI *bai, BAIStatus status, PetscBool *fits)
{
  int outdated = status.code == BAI_ERR_OUTDATED || status.code == BAI_ERR_PATTERN;

  PetscFunctionBegin;
  PetscCall(BAIAgree(bai, outdated ? PETSC_SUCCESS : BAICheckStatus(bai, status), &outdated));
  *fits = (PetscBool)!outdated;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes new values of the levels that ranks made together; fits: whether their aggregates fit them. Collective */
static PetscErrorCode RenewLevels(BAI *bai, BAIRankLevels R, const BAILevelsAgreed *agreed, PetscBool *fits)
{
  BAIStatus      status = BAIStatusOf(BAI_OK);
  PetscErrorCode code;
  int            made = 0;

  PetscFunctionBegin;
  SetMaking(R, PETSC_TRUE);
  code = MakeLevels(R, agreed, 0, R->count + (R->rest ? 1 : 0), &made);
  SetMaking(R, PETSC_FALSE);
  PetscCall(code);
  if (R->count) status = BAILevelsFinish(bai->hierarchy->levels, NULL, R->stop);
  PetscCall(AgreeOnFit(bai, status, fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Gives the levels of all ranks new values, after the matrix of each rank was examined. fits: returns whether that was
   possible; otherwise new levels must be made. Collective
*/
PetscErrorCode BAIRankLevelsRenew(BAI *bai, PetscBool *fits)
{
  const BAIRankLevels    R    = bai->hierarchy->ranks;
  const BAILevelsAgreed *then = &R->agreed;
  BAILevelsAgreed        now;
  BAIMatrix              M;

  PetscFunctionBegin;
  R->code = PETSC_SUCCESS;
  PetscCall(Agree(bai, &now));
  *fits = (PetscBool)(now.hermitian == then->hermitian && now.negative == then->negative &&
                      now.single == then->single && now.over == then->over);
  if (*fits) PetscCall(RenewLevels(bai, R, &now, fits));
  if (*fits && R->rest) {
    PetscCall(BAIRestGather(R, PETSC_FALSE, &M));
    PetscCall(AgreeOnFit(bai, BAILevelsUpdateValues(R->levels, &M, NULL), fits));
  }
  if (*fits && R->rest) BAILevelsInfoGet(R->levels, &R->info);
  if (*fits) PetscCall(FindInfo(bai, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does a cycle, or if they can, a solve of all ranks together; a rank without rows only takes part in communication.
   Collective */
PetscErrorCode BAIRankLevelsRun(BAIRankLevels R, const BAIRun *run, BAIStatus *status)
{
  const BAILevels levels  = R->bai->hierarchy->levels;
  BAIReal         largest = 0;
  BAIScalar      *b, *x;

  PetscFunctionBegin;
  R->code = PETSC_SUCCESS;
  if (!R->count) { /* even the finest level is gathered, as coarsening ended there */
    PetscCall(BAIGatheredBring(R->rest, run->v.barray, NULL, PETSC_FALSE, &b, &x));
    PetscCall(BAIRestSolve(R, b, x));
    PetscCall(BAIGatheredReturn(R->rest, x, run->v.xarray));
  } else if (levels) *status = BAIRunLevels(levels, run);
  else if (R->agreed.single) PetscCall(FindLargest(R, &largest));
  PetscCall(R->code); /* of which the engine knows only that a function failed */
  PetscFunctionReturn(PETSC_SUCCESS);
}
