/*
   Systems that are gathered: a rank of each GPU, or one rank of a host, has levels of the whole matrix and does all of
   the work, as one rank does it alone. If ranks cannot access each other's memory, each of them does, for few rows. The
   ranks exchange rows of the matrix at set-up, and b and x once for each solve or cycle. Where there are several ranks
   that work, they run the same operations in the same order, so they take the same decisions. The others wait for the
   one of their GPU, as kernels of several processes take turns, see stage.c.

   The whole matrix, and vectors of its size, are in memory of each rank that works. Each rank stores its own part, and
   they exchange these: they write to each other's mailboxes, or use MPI through the host, with memory that only its
   rank accesses. rest.c gathers a coarse level in the same way. Where ranks share a GPU, small systems go through the
   stage, see stage.c.

   Solves use two copies of b and x in turn. So a rank can already send its b of the next solve while another rank is
   still busy with the last solve
*/
#include "hierarchy.h"
#include "rules.h"
#include "../relaxation/shared.h"

enum {
  FEW_ROWS          = BAI_LEVELS_SMALL, /* a system with at most this number of rows is gathered in any case */
  GATHERED_NONZEROS = 1 << 23,          /* and on a GPU one with at most this number of nonzeros, */
  SHARED_NONZEROS   = 1 << 27, /* or this one, if all ranks share the GPU, so that levels of all would be slow */
  ALIGNED           = 256      /* bytes to which arrays are aligned */
};

struct BAIGathered_ {
  BAI         *bai;
  BAIBackend   backend;
  void        *stream;
  PetscMPIInt  size, rank, worker; /* worker does the work for this rank: itself, or the first one of the group */
  MPI_Comm     group;              /* the ranks with this worker, or MPI_COMM_NULL if there are no others */
  PetscMPIInt *rows, *entries;     /* first row and first entry of each rank, and behind the last */
  size_t       j, a, vectors;      /* offsets of columns and values of the matrix behind i, and of the vectors */
  size_t       vector, bytes;      /* size of a vector, and of everything */
  size_t       parts;              /* offset of the rows of all ranks as they come through the stage */
  BAIMailbox   mailbox;            /* NULL: alone */
  BAIStage     stage;              /* NULL: ranks write to the mailboxes */
  BAIStatus    taken;              /* of the last copies from the stage to this rank's mailbox */
  BAIShared    alone;
  char        *host; /* alone on a device: the same arrays on the host, through which MPI brings them; otherwise NULL */
  int          odd;  /* which b and x the last exchange was of */
};

/* Finds whether all ranks share a device. Collective */
static PetscErrorCode ShareOne(const BAI *bai, BAIBackend backend, PetscBool *share)
{
  BAISharedDevice device;
  BAIStatus       status = BAISharedDeviceGet(backend, &device);
  uint64_t        id[4], most[4];

  PetscFunctionBegin;
  PetscCall(PetscMemcpy(id, &device, 2 * sizeof(*id)));
  id[2] = ~id[0];
  id[3] = ~id[1];
  PetscCallMPI(MPI_Allreduce(id, most, 4, MPI_UINT64_T, MPI_MAX, PetscObjectComm(bai->obj)));
  *share = (PetscBool)(!status.code && most[2] == ~most[0] && most[3] == ~most[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds whether the system shall be gathered. Vectors go through memory of the node, so all ranks must be there. M has
   this rank's rows, or is NULL after an error. Collective */
PetscErrorCode BAIGatheredFind(const BAI *bai, Mat Ad, Mat Ao, BAIBackend backend, const BAILevelsParameters *p,
                               const BAIMatrix *M, BAIGatheredPlan *plan)
{
  enum {
    ROWS,
    ENTRIES,
    CANNOT,
    HOSTS, /* ranks whose levels are on the host */
    COUNTS
  };
  const BAIHierarchy h            = bai->hierarchy;
  const PetscBool    as_origin    = (PetscBool)(bai->origin && bai->origin->hierarchy->gathered);
  const PetscBool    asked        = (PetscBool)(h->options.gather == PETSC_BOOL3_TRUE || as_origin);
  const MPI_Comm     comm         = PetscObjectComm(bai->obj);
  PetscInt64         mine[COUNTS] = {0}, all[COUNTS];
  PetscInt           outside      = 0;
  PetscBool          shares, one = PETSC_FALSE;
  PetscMPIInt        size;
  MatInfo            info;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(plan, sizeof(*plan)));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1 || (bai->origin && !as_origin)) PetscFunctionReturn(PETSC_SUCCESS);
  if (M) {
    mine[ROWS] = M->n;
    PetscCall(MatGetInfo(Ad, MAT_LOCAL, &info));
    mine[ENTRIES] = (PetscInt64)info.nz_used;
    if (Ao) PetscCall(MatGetInfo(Ao, MAT_LOCAL, &info));
    if (Ao) outside = (PetscInt)info.nz_used;
    mine[ENTRIES] += outside;
  }
  if (BAISharedUse(backend, p->device).code) M = NULL; /* the device of all that follows */
  mine[CANNOT] = M ? 0 : 1;
  mine[HOSTS]  = backend == BAI_BACKEND_HOST ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(mine, all, COUNTS, MPIU_INT64, MPI_SUM, comm));
  if (all[CANNOT] || all[ROWS] > INT_MAX || all[ENTRIES] > INT_MAX || (all[HOSTS] && all[HOSTS] < size))
    PetscFunctionReturn(PETSC_SUCCESS);
  plan->few = (PetscBool)(all[ROWS] <= (p->given ? BAI_LEVELS_COARSEST : FEW_ROWS));
  shares    = (PetscBool)(bai->node.size == size && !h->cannot_share && bai->options.exchange != BAI_EXCHANGE_SCATTER);
  plan->use = shares && (asked || backend == BAI_BACKEND_CUDA) ? BAI_MAILBOX_OF_DEVICES : BAI_MAILBOX_NONE;
  if (as_origin) plan->use = bai->origin->hierarchy->plan.use; /* so that the same ranks work */
  if (!plan->few) {
    if (p->given || !plan->use || h->options.gather == PETSC_BOOL3_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
    if (!asked && all[ENTRIES] > GATHERED_NONZEROS && all[ENTRIES] <= SHARED_NONZEROS)
      PetscCall(ShareOne(bai, backend, &one));
    if (!asked && all[ENTRIES] > GATHERED_NONZEROS && !one) PetscFunctionReturn(PETSC_SUCCESS);
  }
  plan->wanted  = PETSC_TRUE;
  plan->nnz     = (PetscInt)mine[ENTRIES];
  plan->outside = outside;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The address at this offset in the memory of a rank */
static void *At(const struct BAIGathered_ *G, PetscMPIInt rank, size_t offset)
{
  return (char *)(G->mailbox ? BAIMailboxOf(G->mailbox, rank) : G->alone.memory) + offset;
}

static size_t OffsetOf(const struct BAIGathered_ *G, int vector)
{
  return G->vectors + (size_t)vector * G->vector;
}

/* Vector number k of the whole, in the memory of the rank that works for this one */
BAIScalar *BAIGatheredVector(const struct BAIGathered_ *G, int k)
{
  return (BAIScalar *)At(G, G->worker, OffsetOf(G, k));
}

/* The size of an array of count entries of size bytes */
static size_t Aligned(PetscMPIInt count, size_t size)
{
  return ((size_t)count * size + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* Whether ranks share a worker */
static PetscBool HaveWorkerInCommon(const struct BAIGathered_ *G)
{
  PetscBool have = PETSC_FALSE;

  for (PetscMPIInt k = 0; k < G->size; k++) have = (PetscBool)(have || BAIMailboxOwner(G->mailbox, k) != k);
  return have;
}

/* Creates memory, where the levels of the hierarchy will be, for a matrix of which this rank has n rows with nnz
   entries, and for count vectors. use tells whose memory that is. With BAI_MAILBOX_NONE, or if mailboxes are not
   possible, it is each rank's own; unless must_share, which then leads to NULL on all ranks. Collective */
PetscErrorCode BAIGatheredCreate(BAI *bai, PetscInt n, PetscInt nnz, int count, BAIMailboxUse use, PetscBool must_share,
                                 BAIGathered *gathered)
{
  const MPI_Comm     comm   = PetscObjectComm(bai->obj);
  const BAIHierarchy h      = bai->hierarchy;
  BAIStatus          status = BAIStatusOf(BAI_OK);
  PetscErrorCode     code   = PETSC_SUCCESS;
  BAIGathered        G;

  PetscFunctionBegin;
  PetscCall(PetscNew(gathered));
  G          = *gathered;
  G->bai     = bai;
  G->backend = h->backend;
  G->stream  = h->p.stream;
  G->group   = MPI_COMM_NULL;
  PetscCallMPI(MPI_Comm_size(comm, &G->size));
  PetscCallMPI(MPI_Comm_rank(comm, &G->rank));
  PetscCall(BAIFindFirst(comm, n, &G->rows));
  PetscCall(BAIFindFirst(comm, nnz, &G->entries));
  G->j       = Aligned(G->rows[G->size] + 1, sizeof(BAIInt));
  G->a       = G->j + Aligned(G->entries[G->size], sizeof(BAIInt));
  G->vectors = G->a + Aligned(G->entries[G->size], sizeof(BAIScalar));
  G->vector  = Aligned(G->rows[G->size], sizeof(BAIScalar));
  G->parts   = OffsetOf(G, count);
  G->worker  = G->rank;
  if (use == BAI_MAILBOX_OF_DEVICES && G->backend == BAI_BACKEND_CUDA)
    PetscCall(BAIStageCreate(bai, G->vector, count, &h->M, nnz, h->plan.outside, G->entries[G->size], &G->stage));
  G->bytes = G->parts + BAIStageRowsBytes(G->stage);
  if (use != BAI_MAILBOX_NONE) PetscCall(BAIMailboxGet(bai, G->backend, G->bytes, use, &G->mailbox, NULL));
  PetscCall(BAIStageOpen(&G->stage, (PetscBool)(G->mailbox && HaveWorkerInCommon(G))));
  if (G->mailbox) {
    G->worker = BAIMailboxOwner(G->mailbox, G->rank);
    G->group  = BAIMailboxSharers(G->mailbox);
  } else if (must_share) PetscCall(BAIGatheredDestroy(gathered));
  else {
    status = BAISharedCreate(G->backend, G->bytes, &G->alone, NULL);
    if (G->backend == BAI_BACKEND_CUDA) code = PetscMalloc1(G->bytes, &G->host);
  }
  if (!code) code = BAICheckStatus(bai, status);
  PetscCall(BAIAgree(bai, code, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective, when no rank uses the memory any longer but in its stream: the levels are destroyed */
PetscErrorCode BAIGatheredDestroy(BAIGathered *gathered)
{
  BAIGathered G = *gathered;

  PetscFunctionBegin;
  if (!G) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAICheckStatus(G->bai, BAISharedWait(G->backend, G->stream)));
  PetscCall(BAIStageDestroy(&G->stage));
  PetscCall(BAIMailboxRestore(&G->mailbox));
  PetscCall(BAICheckStatus(G->bai, BAISharedClose(G->backend, &G->alone)));
  PetscCall(PetscFree(G->host));
  PetscCall(PetscFree(G->rows));
  PetscCall(PetscFree(G->entries));
  PetscCall(PetscFree(*gathered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies the part of this rank, from this address, to the memory of each rank that works, unless it is there */
static BAIStatus Send(const struct BAIGathered_ *G, const PetscMPIInt first[], size_t offset, size_t size,
                      const void *from)
{
  const size_t bytes = (size_t)(first[G->rank + 1] - first[G->rank]) * size;

  for (PetscMPIInt k = 0; k < G->size; k++) {
    void *to = BAIMailboxOwner(G->mailbox, k) == k ? At(G, k, offset + (size_t)first[G->rank] * size) : NULL;

    if (to && to != from) BAITry(BAISharedCopy(G->backend, to, from, bytes, G->stream));
  }
  return BAIStatusOf(BAI_OK);
}

/* Waits until all ranks have sent, and done all earlier work; status is that of this rank's work. Collective */
static PetscErrorCode Meet(const struct BAIGathered_ *G, BAIStatus status)
{
  PetscFunctionBegin;
  if (!status.code) status = BAISharedWait(G->backend, G->stream);
  PetscCall(BAIAgree(G->bai, BAICheckStatus(G->bai, status), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the parts of an array, from this address on each rank, by MPI: in place if the array is on the host,
   else through a copy there. Collective */
static PetscErrorCode Gather(const struct BAIGathered_ *G, const PetscMPIInt first[], size_t offset, size_t size,
                             const void *from)
{
  const size_t begin = (size_t)first[G->rank] * size, end = (size_t)first[G->rank + 1] * size;
  char *const array = At(G, G->rank, offset), *const all = G->host ? G->host + offset : array;
  BAIStatus status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  if (all + begin != from) status = BAISharedCopy(G->backend, all + begin, from, end - begin, G->stream);
  if (G->host) PetscCall(Meet(G, status));
  PetscCall(BAIGatherInPlace(PetscObjectComm(G->bai->obj), first, size, all));
  if (!G->host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Meet(G, BAISharedCopy(G->backend, array, all, (size_t)first[G->size] * size, G->stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the parts of count vectors of the whole from number k on, from these addresses, which may be on the
   host, on all ranks. Nobody may use the vectors any longer. The caller lets all ranks know of an error in G->taken.
   Collective */
static PetscErrorCode Bring(BAIGathered G, int k, int count, const BAIScalar *const from[])
{
  const PetscMPIInt first = G->rows[G->rank], n = G->rows[G->rank + 1] - first;
  BAIStatus         status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  for (int v = 0; v < count; v++) {
    if (!G->mailbox) PetscCall(Gather(G, G->rows, OffsetOf(G, k + v), sizeof(BAIScalar), from[v]));
    else if (status.code) break;
    else if (G->stage) status = BAIStageSend(G->stage, k + v, first, n, from[v]);
    else status = Send(G, G->rows, OffsetOf(G, k + v), sizeof(BAIScalar), from[v]);
  }
  if (G->mailbox) PetscCall(Meet(G, status));
  for (int v = k; v < k + count && G->stage && G->worker == G->rank && !status.code; v++)
    status = BAIStageTake(G->stage, v, 0, G->rows[G->size], BAIGatheredVector(G, v));
  G->taken = status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the parts of near-null-space vector number k, and sets mode to the whole. Collective */
PetscErrorCode BAIGatheredMode(BAIGathered G, int k, const BAIScalar **mode)
{
  PetscFunctionBegin;
  PetscCall(Bring(G, BAI_GATHERED_MODES + k, 1, mode));
  if (G->stage) PetscCall(BAIAgree(G->bai, BAICheckStatus(G->bai, G->taken), NULL));
  *mode = BAIGatheredVector(G, BAI_GATHERED_MODES + k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the parts of b, and if guess those of x, and sets whole_b and whole_x to the vectors of the whole
   system. Collective */
PetscErrorCode BAIGatheredBring(BAIGathered G, const BAIScalar *b, const BAIScalar *x, PetscBool guess,
                                BAIScalar **whole_b, BAIScalar **whole_x)
{
  const BAIScalar *const from[2] = {b, x};

  PetscFunctionBegin;
  G->odd = !G->odd;
  PetscCall(Bring(G, 2 * G->odd, guess ? 2 : 1, from));
  *whole_b = BAIGatheredVector(G, 2 * G->odd);
  *whole_x = BAIGatheredVector(G, 2 * G->odd + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies this rank's part of whole_x, which BAIGatheredBring() has returned, to x, which may be on the host */
PetscErrorCode BAIGatheredReturn(const struct BAIGathered_ *G, const BAIScalar *whole_x, BAIScalar *x)
{
  const PetscMPIInt first = G->rows[G->rank], n = G->rows[G->rank + 1] - first;
  BAIStatus         status;

  PetscFunctionBegin;
  if (G->stage && G->worker != G->rank) status = BAIStageTake(G->stage, 2 * G->odd + 1, first, n, x);
  else status = BAISharedCopy(G->backend, x, whole_x + first, (size_t)n * sizeof(*x), G->stream);
  if (!status.code && !G->bai->hierarchy->device) status = BAISharedWait(G->backend, G->stream);
  PetscCall(BAICheckStatus(G->bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stores the rows of M as a part, through the host if they are there and the part is not */
static BAIStatus Store(const struct BAIGathered_ *G, const BAIMatrix *M, const BAIPart *part)
{
  const int device = G->bai->hierarchy->p.device;
  BAIPart   host   = *part;
  BAIStatus status;

  if (G->backend == BAI_BACKEND_HOST || M->memory == BAI_MEMORY_DEVICE)
    return BAILevelsStoreMatrix(G->backend, M, part, device, G->stream);
  const size_t n = (size_t)M->n, nnz = (size_t)M->A.i[n] + (M->nghost ? (size_t)M->B.i[n] : 0);

  host.i = malloc(n * sizeof(*host.i));
  host.j = malloc((nnz + 1) * sizeof(*host.j));
  host.a = malloc((nnz + 1) * sizeof(*host.a));
  status = BAIStatusOf(host.i && host.j && host.a ? BAI_OK : BAI_ERR_MEMORY);
  if (!status.code) status = BAILevelsStoreMatrix(BAI_BACKEND_HOST, M, &host, device, G->stream);
  if (!status.code) status = BAISharedCopy(G->backend, part->i, host.i, n * sizeof(*host.i), G->stream);
  if (!status.code) status = BAISharedCopy(G->backend, part->j, host.j, nnz * sizeof(*host.j), G->stream);
  if (!status.code) status = BAISharedCopy(G->backend, part->a, host.a, nnz * sizeof(*host.a), G->stream);
  if (!status.code) status = BAISharedWait(G->backend, G->stream);
  free(host.i);
  free(host.j);
  free(host.a);
  return status;
}

/* Brings together the rows of all ranks, unless pattern only their values: those of M, or if it is NULL, of a level of
   the hierarchy; ghost has the global numbers of ghosts. whole becomes the whole matrix where this rank works, else one
   without rows. Collective */
PetscErrorCode BAIGatheredTake(BAIGathered G, const BAIMatrix *M, int level, const PetscInt ghost[], PetscBool pattern,
                               BAIMatrix *whole)
{
  static const BAIInt zero = 0;
  const PetscMPIInt   me = G->rank, first = G->rows[me], before = G->entries[me];
  BAIInt *const i = At(G, G->worker, 0), *const j = At(G, G->worker, G->j);
  BAIScalar *const a    = At(G, G->worker, G->a);
  const BAIPart    part = {(BAIInt)first, (BAIInt)before, (const BAIInt *)ghost, i + 1 + first, j + before, a + before};
  const BAIPart    all  = {.i = i + 1, .j = j, .a = a};
  const PetscBool  staged = (PetscBool)(BAIStageRowsBytes(G->stage) > 0);
  const struct {
    const PetscMPIInt *first;
    size_t             offset, size;
    const void        *from;
  } array[] = {
    {G->entries, G->a,       sizeof(*a), part.a},
    {G->entries, G->j,       sizeof(*j), part.j},
    {G->rows,    sizeof(*i), sizeof(*i), part.i}
  };
  BAIStatus status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  PetscCall(Meet(G, status)); /* nobody reads the arrays any more */
  if (G->worker == me) status = BAISharedCopy(G->backend, i, &zero, sizeof(zero), G->stream);
  if (staged && !status.code) status = BAIStageSendRows(G->stage, M, ghost, pattern);
  else if (!status.code && G->rows[me + 1] > first)
    status = M ? Store(G, M, &part) : BAILevelsStore(G->bai->hierarchy->levels, level, &part);
  if (!G->mailbox) PetscCall(Meet(G, status));
  for (size_t k = 0; k < (pattern ? PETSC_STATIC_ARRAY_LENGTH(array) : 1) && !staged; k++) {
    if (!G->mailbox) PetscCall(Gather(G, array[k].first, array[k].offset, array[k].size, array[k].from));
    else if (!status.code) status = Send(G, array[k].first, array[k].offset, array[k].size, array[k].from);
  }
  if (G->mailbox) PetscCall(Meet(G, status));
  if (staged && G->worker == me) status = BAIStageTakeRows(G->stage, At(G, me, G->parts), pattern, &all);
  if (staged) PetscCall(BAIAgree(G->bai, BAICheckStatus(G->bai, status), NULL));
  *whole = (BAIMatrix){
    .n      = G->worker == me ? (BAIInt)G->rows[G->size] : 0,
    .A      = {i, j, a},
    .memory = G->backend == BAI_BACKEND_CUDA ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST
  };
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The message of a rank that works to those that wait for it: to call the monitor, or that the solve has ended */
typedef struct {
  int               ends;
  BAICode           code;
  BAIInt            its;
  BAIReal           rnorm;
  BAILevelsSolution solution;
} Message;

/* Copies the parts of vector number k of the ranks that wait for this one to the stage */
static BAIStatus StageParts(const struct BAIGathered_ *G, int k)
{
  for (PetscMPIInt rank = 0; rank < G->size; rank++) {
    const PetscMPIInt first = G->rows[rank];

    if (rank == G->rank || BAIMailboxOwner(G->mailbox, rank) != G->rank) continue;
    BAITry(BAIStageSend(G->stage, k, first, G->rows[rank + 1] - first, BAIGatheredVector(G, k) + first));
  }
  return BAIStatusOf(BAI_OK);
}

/* Sends a message of the rank that works, when its work in the stream is done, and x is in the stage, to those that
   wait for it. status is that of the work, or becomes it */
static PetscErrorCode Tell(const struct BAIGathered_ *G, Message *m, BAIStatus *status)
{
  const PetscBool works = (PetscBool)(G->worker == G->rank);

  PetscFunctionBegin;
  if (G->group == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (works && G->stage && !status->code) *status = StageParts(G, 2 * G->odd + 1);
  if (works && !status->code) *status = BAISharedWait(G->backend, G->stream);
  m->code = status->code;
  if (m->code) m->ends = 1;
  PetscCallMPI(MPI_Bcast(m, (PetscMPIInt)sizeof(*m), MPI_BYTE, 0, G->group));
  if (!works && m->code) *status = BAIStatusBecause(m->code, "a system that is gathered", "another rank gave up");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor that is called on all ranks of the group */
typedef struct {
  BAIGathered      G;
  BAILevelsMonitor monitor;
  void            *context;
  PetscErrorCode   code;
  PetscBool        ended; /* the others know that the solve has ended */
} Watched;

/* Calls the monitor, and waits until all ranks of the group have copied x if they did */
static PetscErrorCode CallMonitor(Watched *w, const Message *m, int *stop)
{
  BAIStatus status;

  PetscFunctionBegin;
  *stop  = w->monitor(w->context, m->its, m->rnorm);
  status = BAISharedWait(w->G->backend, w->G->stream);
  PetscCallMPI(MPI_Barrier(w->G->group));
  PetscCall(BAICheckStatus(w->G->bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The monitor of the rank that works */
static int Watch(void *context, BAIInt its, BAIReal rnorm)
{
  Watched  *w      = (Watched *)context;
  Message   m      = {.its = its, .rnorm = rnorm};
  BAIStatus status = BAIStatusOf(BAI_OK);
  int       stop   = 1;

  w->code = Tell(w->G, &m, &status);
  if (!w->code) w->code = BAICheckStatus(w->G->bai, status);
  if (w->code) w->ended = PETSC_TRUE;
  else w->code = CallMonitor(w, &m, &stop);
  return stop || w->code;
}

/* Does a cycle or a solve of the whole system: the rank that works does it, and all ranks call the monitor, unless it
   is NULL. levels is not NULL where this rank works, and the system has rows */
PetscErrorCode BAIGatheredRun(BAIGathered G, BAILevels levels, const BAIRun *run, BAIStatus *status)
{
  Watched w    = {G, run->monitor, run->context, PETSC_SUCCESS, PETSC_FALSE};
  BAIRun  mine = *run;
  Message m    = {.ends = G->worker == G->rank};
  int     stop = 0;

  PetscFunctionBegin;
  if (run->monitor && G->group != MPI_COMM_NULL) {
    mine.monitor = Watch;
    mine.context = &w;
  }
  *status = G->taken.code ? G->taken : BAIRunLevels(levels, &mine);
  if (w.code && !status->code) *status = BAIStatusBecause(BAI_ERR_ABSENT, "a monitor", "has failed");
  m.solution = *run->solution;
  do {
    if (!w.ended) PetscCall(Tell(G, &m, status));
    if (!m.ends) PetscCall(CallMonitor(&w, &m, &stop));
  } while (!m.ends);
  *run->solution = m.solution;
  PetscCall(w.code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether single ranks do the work; otherwise each rank does all of it */
PetscBool BAIGatheredIsShared(const struct BAIGathered_ *G)
{
  return (PetscBool)(G->mailbox != NULL);
}

/* Gives ranks that wait the properties of the levels, and adds the memory of the whole */
PetscErrorCode BAIGatheredInfo(BAIGathered G, BAILevelsInfo *info)
{
  PetscFunctionBegin;
  info->bytes += (int64_t)G->bytes;
  if (G->group == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  const char *stop = info->stop; /* an address in the process of each rank */

  PetscCallMPI(MPI_Bcast(info, (PetscMPIInt)sizeof(*info), MPI_BYTE, 0, G->group));
  info->stop = G->worker == G->rank ? stop : "another rank has the levels";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gathers an array of a level l of several ranks on each rank: size bytes for each row, which the caller frees.
   Aggregates get global numbers. L is followed by the next level. Collective */
PetscErrorCode BAIGatherArray(const BAI *bai, BAILevelsArray array, int l, const BAIRankLevel *L, size_t size,
                              void *all)
{
  const MPI_Comm comm = PetscObjectComm(bai->obj);
  BAIStatus      status;
  PetscMPIInt   *first;
  char          *to;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)L->rows * size, &to));
  *(void **)all = to;
  status        = BAILevelsGet(bai->hierarchy->levels, array, l, (BAIInt)L->m, to + (size_t)L->first * size);
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, status), NULL));
  for (PetscInt k = L->first; k < L->first + L->m && array == BAI_ARRAY_AGGREGATE; k++)
    if (((PetscInt *)(void *)to)[k] >= 0) ((PetscInt *)(void *)to)[k] += L[1].first;
  PetscCall(BAIFindFirst(comm, L->m, &first));
  PetscCall(BAIGatherInPlace(comm, first, size, to));
  PetscCall(PetscFree(first));
  PetscFunctionReturn(PETSC_SUCCESS);
}
