/*
   Systems that are gathered: a rank of each GPU, or one rank on a host, has levels of the whole matrix and does all of
   the work, as one rank does it alone. The ranks exchange rows of the matrix at set-up, and b and x once for each solve
   or cycle. Where there are several such ranks, they run the same operations in the same order, so they take the same
   decisions. The others wait for the one of their GPU, as kernels of several processes share it in turns of
   milliseconds.

   The arrays of the whole are in the mailbox of each rank that does the work: i, j and a of the matrix; the modes; b and
   x, twice, so that a rank may send the vectors of a solve while another one is busy with the solve before
*/
#include "hierarchy.h"
#include "../relaxation/shared.h"

enum {
  GATHERED_NONZEROS = 1 << 23, /* a system with at most this number of nonzeros is gathered by itself, */
  SHARED_NONZEROS   = 1 << 27, /* or this one, if all ranks share a GPU, so that levels of all would be slow */
  ALIGNED           = 256      /* bytes to which arrays are aligned */
};

struct BAIGathered_ {
  BAI            *bai;
  BAIGatheredPlan plan;
  BAIMailbox      mailbox;
  BAIBackend      backend;
  PetscMPIInt     size, rank, worker; /* worker: the rank that does the work for this one, perhaps itself */
  MPI_Comm        group;              /* the ranks with this worker, which is the first, or MPI_COMM_NULL */
  void           *stream;
  size_t          i, j, a, mode, b[2], x[2]; /* offsets of the arrays in a mailbox */
  int             odd;                       /* which b and x the last exchange was of */
};

/* Finds whether all ranks share a device. Collective */
static PetscErrorCode ShareOne(const BAI *bai, BAIBackend backend, PetscBool *share)
{
  BAISharedDevice device = {{0}};
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

/* Finds whether the system shall be gathered, and where the rows of this rank belong in the whole. Vectors go through
   memory of the node, so all ranks must be there. M: this rank's rows, or NULL after an error. Collective */
PetscErrorCode BAIGatheredFind(const BAI *bai, Mat Ad, Mat Ao, BAIBackend backend, const BAILevelsParameters *p,
                               const BAIMatrix *M, BAIGatheredPlan *plan)
{
  enum {
    ROWS,
    ENTRIES,
    CANNOT,
    COUNTS
  };
  const BAIHierarchy h            = bai->hierarchy;
  const PetscBool    as_origin    = (PetscBool)(bai->origin && bai->origin->hierarchy->gathered);
  const PetscBool    asked        = (PetscBool)(h->options.gather == PETSC_BOOL3_TRUE || as_origin);
  const MPI_Comm     comm         = PetscObjectComm(bai->obj);
  PetscInt64         mine[COUNTS] = {0}, before[COUNTS], all[COUNTS];
  PetscBool          share        = PETSC_FALSE;
  PetscMPIInt        size;
  MatInfo            info;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(plan, sizeof(*plan)));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1 || bai->node.size != size || h->cannot_share || h->options.gather == PETSC_BOOL3_FALSE ||
      bai->options.exchange == BAI_EXCHANGE_SCATTER || (bai->origin && !as_origin))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (M) {
    mine[ROWS] = M->n;
    PetscCall(MatGetInfo(Ad, MAT_LOCAL, &info));
    mine[ENTRIES] = (PetscInt64)info.nz_used;
    if (Ao) PetscCall(MatGetInfo(Ao, MAT_LOCAL, &info));
    if (Ao) mine[ENTRIES] += (PetscInt64)info.nz_used;
  }
  /* the vectors of a host matrix whose levels are on a device would have to be copied there */
  mine[CANNOT] = !M || p->given || (backend == BAI_BACKEND_CUDA && M->n && M->memory == BAI_MEMORY_HOST) ||
      (backend == BAI_BACKEND_HOST && !asked)
    ? 1
    : 0;
  PetscCallMPI(MPI_Scan(mine, before, COUNTS, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(mine, all, COUNTS, MPIU_INT64, MPI_SUM, comm));
  if (all[CANNOT] || all[ROWS] > INT_MAX || all[ENTRIES] > INT_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  if (!asked && all[ENTRIES] > GATHERED_NONZEROS && all[ENTRIES] <= SHARED_NONZEROS)
    PetscCall(ShareOne(bai, backend, &share));
  if (!asked && all[ENTRIES] > GATHERED_NONZEROS && !share) PetscFunctionReturn(PETSC_SUCCESS);
  plan->wanted  = PETSC_TRUE;
  plan->rows    = (PetscInt)all[ROWS];
  plan->entries = (PetscInt)all[ENTRIES];
  plan->first   = (PetscInt)(before[ROWS] - mine[ROWS]);
  plan->before  = (PetscInt)(before[ENTRIES] - mine[ENTRIES]);
  plan->n       = (PetscInt)mine[ROWS];
  plan->nnz     = (PetscInt)mine[ENTRIES];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The offset of an array of count entries of size bytes, behind which *end is moved */
static size_t Place(size_t *end, size_t count, size_t size)
{
  const size_t at = *end;

  *end += (count * size + ALIGNED - 1) / ALIGNED * ALIGNED;
  return at;
}

/* Creates the arrays of the whole; NULL on all ranks if they cannot access each other's memory. Collective */
PetscErrorCode BAIGatheredCreate(BAI *bai, BAIBackend backend, const BAIGatheredPlan *plan,
                                 const BAILevelsParameters *p, BAIGathered *gathered)
{
  const size_t rows = (size_t)plan->rows, entries = (size_t)plan->entries, number = sizeof(BAIScalar);
  size_t       bytes = 0;
  BAIGathered  G;

  PetscFunctionBegin;
  PetscCall(PetscNew(&G));
  G->bai     = bai;
  G->plan    = *plan;
  G->backend = backend;
  G->stream  = p->stream;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->obj), &G->size));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(bai->obj), &G->rank));
  G->i    = Place(&bytes, rows + 1, sizeof(BAIInt));
  G->j    = Place(&bytes, entries, sizeof(BAIInt));
  G->a    = Place(&bytes, entries, number);
  G->mode = Place(&bytes, rows * (size_t)p->modes, number);
  for (int odd = 0; odd < 2; odd++) {
    G->b[odd] = Place(&bytes, rows, number);
    G->x[odd] = Place(&bytes, rows, number);
  }
  PetscCall(BAIMailboxGet(bai, backend, bytes, BAI_MAILBOX_OF_DEVICES, &G->mailbox));
  if (G->mailbox) {
    G->worker = BAIMailboxOwner(G->mailbox, G->rank);
    G->group  = BAIMailboxSharers(G->mailbox);
  } else PetscCall(PetscFree(G));
  *gathered = G;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks call it, after the levels are destroyed */
PetscErrorCode BAIGatheredDestroy(BAIGathered *gathered)
{
  PetscFunctionBegin;
  if (!*gathered) PetscFunctionReturn(PETSC_SUCCESS);
  BAIMailboxRestore(&(*gathered)->mailbox);
  PetscCall(PetscFree(*gathered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The address of entry number k, of size bytes, of the array at this offset in the mailbox of a rank */
static void *At(const struct BAIGathered_ *G, PetscMPIInt rank, size_t offset, PetscInt k, size_t size)
{
  return (char *)BAIMailboxOf(G->mailbox, rank) + offset + (size_t)k * size;
}

/* Copies entries from number first on to the array of each rank that works, unless they are there already */
static BAIStatus Send(const struct BAIGathered_ *G, size_t offset, PetscInt first, PetscInt count, size_t size,
                      const void *from)
{
  for (PetscMPIInt k = 0; k < G->size; k++) {
    void *to = BAIMailboxOwner(G->mailbox, k) == k ? At(G, k, offset, first, size) : NULL;

    if (to && to != from) BAITry(BAISharedCopy(G->backend, to, from, (size_t)count * size, G->stream));
  }
  return BAIStatusOf(BAI_OK);
}

/* Waits until all ranks have sent, and done all earlier work; status is that of this rank's sends. Collective */
static PetscErrorCode Meet(const struct BAIGathered_ *G, BAIStatus status)
{
  PetscFunctionBegin;
  if (!status.code) status = BAISharedWait(G->backend, G->stream);
  PetscCall(BAIAgree(G->bai, BAICheckStatus(G->bai, status), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sends the rows of this rank */
static BAIStatus SendRows(const struct BAIGathered_ *G, const BAIMatrix *M, const PetscInt garray[], int device)
{
  const BAIGatheredPlan *p    = &G->plan;
  const PetscInt         last = p->first + p->n == p->rows ? 1 : 0; /* the end of the last row */
  BAIInt *const i = At(G, G->worker, G->i, 0, 0), *const j = At(G, G->worker, G->j, 0, 0);
  BAIScalar *const a    = At(G, G->worker, G->a, 0, 0);
  const BAIPart    part = {(BAIInt)p->first, (BAIInt)p->before, (const BAIInt *)garray, i, j, a};

  if (!p->n) return BAIStatusOf(BAI_OK);
  BAITry(BAILevelsStore(G->backend, M, &part, device, G->stream));
  BAITry(Send(G, G->i, p->first, p->n + last, sizeof(*i), i + p->first));
  BAITry(Send(G, G->j, p->before, p->nnz, sizeof(*j), j + p->before));
  return Send(G, G->a, p->before, p->nnz, sizeof(*a), a + p->before);
}

/* Brings together the rows of all ranks, and their entries of the near-null-space vectors, which may be NULL. whole
   becomes the whole matrix where this rank works, else one without rows; the addresses of modes become those of the
   whole. Collective */
PetscErrorCode BAIGatheredTake(BAIGathered G, const BAIMatrix *M, const PetscInt garray[], BAILevelsParameters *p,
                               BAIMatrix *whole)
{
  const BAIGatheredPlan *plan   = &G->plan;
  const PetscMPIInt      worker = G->worker;
  BAIStatus              status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  PetscCall(Meet(G, status)); /* nobody reads the arrays any more */
  status = SendRows(G, M, garray, p->device);
  for (int k = 0; k < p->modes && !status.code; k++) {
    const size_t at = G->mode + (size_t)k * (size_t)plan->rows * sizeof(BAIScalar);

    if (!p->mode[k]) continue;
    status     = Send(G, at, plan->first, plan->n, sizeof(BAIScalar), p->mode[k]);
    p->mode[k] = At(G, worker, at, 0, 0);
  }
  PetscCall(Meet(G, status));
  *whole = (BAIMatrix){
    .n      = worker == G->rank ? (BAIInt)plan->rows : 0,
    .A      = {At(G, worker, G->i, 0, 0), At(G, worker, G->j, 0, 0), At(G, worker, G->a, 0, 0)},
    .memory = G->backend == BAI_BACKEND_CUDA ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST
  };
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the parts of b, and of x unless that is NULL, and sets whole_b and whole_x to the vectors of the whole
   system. Collective */
PetscErrorCode BAIGatheredBring(BAIGathered G, const BAIScalar *b, const BAIScalar *x, BAIScalar **whole_b,
                                BAIScalar **whole_x)
{
  const BAIGatheredPlan *p = &G->plan;
  BAIStatus              status;

  PetscFunctionBegin;
  G->odd = !G->odd;
  status = Send(G, G->b[G->odd], p->first, p->n, sizeof(*b), b);
  if (!status.code && x) status = Send(G, G->x[G->odd], p->first, p->n, sizeof(*x), x);
  PetscCall(Meet(G, status));
  *whole_b = At(G, G->worker, G->b[G->odd], 0, 0);
  *whole_x = At(G, G->worker, G->x[G->odd], 0, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies this rank's part of whole_x, which BAIGatheredBring() has returned, to x */
PetscErrorCode BAIGatheredReturn(BAIGathered G, const BAIScalar *whole_x, BAIScalar *x)
{
  const size_t bytes = (size_t)G->plan.n * sizeof(*x);

  PetscFunctionBegin;
  PetscCall(BAICheckStatus(G->bai, BAISharedCopy(G->backend, x, whole_x + G->plan.first, bytes, G->stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank that works tells those that wait for it: that a monitor is to be called, or the end of a solve */
typedef struct {
  int               ends;
  BAICode           code;
  BAIInt            its;
  BAIReal           rnorm;
  BAILevelsSolution solution;
} Message;

/* Sends a message of the worker, when its work in the stream is done, to those that wait for it */
static PetscErrorCode Tell(const struct BAIGathered_ *G, Message *m)
{
  BAIStatus status = BAIStatusOf(BAI_OK);

  PetscFunctionBegin;
  if (G->group == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (G->worker == G->rank) status = BAISharedWait(G->backend, G->stream);
  if (status.code) m->code = status.code;
  PetscCallMPI(MPI_Bcast(m, (PetscMPIInt)sizeof(*m), MPI_BYTE, 0, G->group));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The status at the end of work: that of this rank, or of the one that works for it */
static BAIStatus EndOf(const struct BAIGathered_ *G, const Message *m, BAIStatus mine)
{
  if (G->worker == G->rank && mine.code) return mine;
  return m->code ? BAIStatusBecause(m->code, "a system that is gathered", "another rank has given up")
                 : BAIStatusOf(BAI_OK);
}

/* Does a cycle from b to x, vectors of the whole system; levels is not NULL where this rank works */
PetscErrorCode BAIGatheredApply(BAIGathered G, BAILevels levels, const BAIScalar *b, BAIScalar *x)
{
  BAIStatus status = BAIStatusOf(BAI_OK);
  Message   m      = {.ends = 1};

  PetscFunctionBegin;
  if (levels) status = BAILevelsApply(levels, b, x);
  m.code = status.code;
  PetscCall(Tell(G, &m));
  PetscCall(BAICheckStatus(G->bai, EndOf(G, &m, status)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor that is called on all ranks of the group */
typedef struct {
  BAIGathered      G;
  BAILevelsMonitor monitor;
  void            *context;
  PetscErrorCode   code;
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
  Watched *w    = (Watched *)context;
  Message  m    = {.its = its, .rnorm = rnorm};
  int      stop = 1;

  w->code = Tell(w->G, &m);
  if (!w->code) w->code = CallMonitor(w, &m, &stop);
  return stop;
}

/* BAILevelsSolve() of the whole system: the rank that works does it, and all ranks call the monitor, unless it is
   NULL */
PetscErrorCode BAIGatheredSolve(BAIGathered G, BAILevels levels, const BAIScalar *b, BAIScalar *x, int guess_zero,
                                const BAITolerances *t, BAILevelsMonitor monitor, void *context, BAILevelsSolution *s)
{
  const PetscBool alone  = (PetscBool)(G->group == MPI_COMM_NULL);
  BAIStatus       status = BAIStatusOf(BAI_OK);
  Watched         w      = {G, monitor, context, PETSC_SUCCESS};
  Message         m      = {.ends = 1};
  int             stop   = 0;

  PetscFunctionBegin;
  if (levels)
    status = BAILevelsSolve(levels, b, x, guess_zero, t, monitor && !alone ? Watch : monitor, alone ? context : &w, s);
  PetscCall(w.code);
  m.code     = status.code;
  m.solution = *s;
  if (!levels) m.ends = 0;
  do {
    PetscCall(Tell(G, &m));
    if (!m.ends) PetscCall(CallMonitor(&w, &m, &stop));
  } while (!m.ends);
  *s = m.solution;
  PetscCall(BAICheckStatus(G->bai, EndOf(G, &m, status)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives ranks that wait the properties of the levels */
PetscErrorCode BAIGatheredInfo(BAIGathered G, BAILevelsInfo *info)
{
  PetscFunctionBegin;
  if (G->group == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  const char *stop = info->stop; /* an address in the process of each rank */

  PetscCallMPI(MPI_Bcast(info, (PetscMPIInt)sizeof(*info), MPI_BYTE, 0, G->group));
  info->stop = G->worker == G->rank ? stop : "another rank has the levels";
  PetscFunctionReturn(PETSC_SUCCESS);
}
