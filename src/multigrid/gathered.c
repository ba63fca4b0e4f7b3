/*
   Systems that are gathered: a rank of each GPU, or one rank of a host, has levels of the whole matrix and does all of
   the work, as one rank does it alone. If ranks cannot access each other's memory, each of them does, for few rows. The
   ranks exchange rows of the matrix at set-up, and b and x once for each solve or cycle. Where there are several ranks
   that work, they run the same operations in the same order, so they take the same decisions. The others wait for the
   one of their GPU, as kernels of several processes share it in turns of milliseconds.

   There are two of b and x, so that a rank may send the vectors of a solve while another one is busy with the solve
   before
*/
#include "hierarchy.h"
#include "rules.h"
#include "../relaxation/shared.h"

enum {
  FEW_ROWS          = BAI_LEVELS_SMALL, /* a system with at most this number of rows is gathered in any case */
  GATHERED_NONZEROS = 1 << 23,          /* and on a GPU one with at most this number of nonzeros, */
  SHARED_NONZEROS   = 1 << 27 /* or this one, if all ranks share the GPU, so that levels of all would be slow */
};

struct BAIGathered_ {
  BAI       *bai;
  BAIWhole   whole;
  BAIBackend backend;
  PetscBool  works; /* this rank does; otherwise the first one of the group */
  MPI_Comm   group; /* see BAIWholeGroup() */
  void      *stream;
  int        device;
  size_t     b[2], x[2], mode[BAI_LEVELS_MODES]; /* offsets of vectors of the whole */
  int        odd;                                /* which b and x the last exchange was of */
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

/* Finds whether the system shall be gathered, and where the rows of this rank belong in the whole. Vectors go through
   memory of the node, so all ranks must be there. M: this rank's rows, or NULL after an error. Collective */
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
  PetscInt64         mine[COUNTS] = {0}, before[COUNTS], all[COUNTS];
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
    if (Ao) mine[ENTRIES] += (PetscInt64)info.nz_used;
  }
  if (BAISharedUse(backend, p->device).code) M = NULL; /* the device of all that follows */
  mine[CANNOT] = M ? 0 : 1;
  mine[HOSTS]  = backend == BAI_BACKEND_HOST ? 1 : 0;
  PetscCallMPI(MPI_Scan(mine, before, COUNTS, MPIU_INT64, MPI_SUM, comm));
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
  plan->rows    = (PetscInt)all[ROWS];
  plan->entries = (PetscInt)all[ENTRIES];
  plan->first   = (PetscInt)(before[ROWS] - mine[ROWS]);
  plan->n       = (PetscInt)mine[ROWS];
  plan->nnz     = (PetscInt)mine[ENTRIES];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the memory of the whole; NULL on all ranks if the ranks would have to access each other's memory and cannot.
   Collective */
PetscErrorCode BAIGatheredCreate(BAI *bai, BAIBackend backend, const BAIGatheredPlan *plan,
                                 const BAILevelsParameters *p, BAIGathered *gathered)
{
  size_t      vector[4 + BAI_LEVELS_MODES];
  BAIGathered G;

  PetscFunctionBegin;
  PetscCall(PetscNew(&G));
  G->bai     = bai;
  G->backend = backend;
  G->stream  = p->stream;
  G->device  = p->device;
  PetscCall(BAIWholeCreate(bai, backend, p->stream, plan->n, plan->nnz, 4 + p->modes, vector, plan->use,
                           (PetscBool)!plan->few, &G->whole));
  if (!G->whole) {
    PetscCall(PetscFree(G));
    *gathered = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscArraycpy(G->b, vector, 2));
  PetscCall(PetscArraycpy(G->x, vector + 2, 2));
  PetscCall(PetscArraycpy(G->mode, vector + 4, p->modes));
  G->group  = BAIWholeGroup(G->whole);
  G->works  = BAIWholeWorks(G->whole);
  *gathered = G;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks call it, after the levels are destroyed */
PetscErrorCode BAIGatheredDestroy(BAIGathered *gathered)
{
  PetscFunctionBegin;
  if (!*gathered) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIWholeDestroy(&(*gathered)->whole));
  PetscCall(PetscFree(*gathered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a rank, and how they are stored */
typedef struct {
  BAIGathered      G;
  const BAIMatrix *M;
} Rows;

/* Stores the rows of a rank as a part of the whole, through the host if they are there and the whole is not */
static BAIStatus Store(void *context, const BAIPart *part)
{
  const Rows       *rows = (const Rows *)context;
  const BAIGathered G    = rows->G;
  const BAIMatrix  *M    = rows->M;
  BAIPart           host = *part;
  BAIStatus         status;

  if (G->backend == BAI_BACKEND_HOST || M->memory == BAI_MEMORY_DEVICE)
    return BAILevelsStoreMatrix(G->backend, M, part, G->device, G->stream);
  const size_t n = (size_t)M->n, nnz = (size_t)M->A.i[n] + (M->nghost ? (size_t)M->B.i[n] : 0);

  host.i = malloc(n * sizeof(*host.i));
  host.j = malloc((nnz + 1) * sizeof(*host.j));
  host.a = malloc((nnz + 1) * sizeof(*host.a));
  status = BAIStatusOf(host.i && host.j && host.a ? BAI_OK : BAI_ERR_MEMORY);
  if (!status.code) status = BAILevelsStoreMatrix(BAI_BACKEND_HOST, M, &host, G->device, G->stream);
  if (!status.code) status = BAISharedCopy(G->backend, part->i, host.i, n * sizeof(*host.i), G->stream);
  if (!status.code) status = BAISharedCopy(G->backend, part->j, host.j, nnz * sizeof(*host.j), G->stream);
  if (!status.code) status = BAISharedCopy(G->backend, part->a, host.a, nnz * sizeof(*host.a), G->stream);
  if (!status.code) status = BAISharedWait(G->backend, G->stream);
  free(host.i);
  free(host.j);
  free(host.a);
  return status;
}

/* Brings together the rows of all ranks, unless pattern only their values. whole becomes the whole matrix where this
   rank works, else one without rows. Collective */
PetscErrorCode BAIGatheredTake(BAIGathered G, const BAIMatrix *M, const PetscInt garray[], PetscBool pattern,
                               BAIMatrix *whole)
{
  Rows rows = {G, M};

  PetscFunctionBegin;
  PetscCall(BAIWholeRows(G->whole, (const BAIInt *)garray, pattern, Store, &rows));
  *whole = BAIWholeMatrix(G->whole);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the parts of near-null-space vector number k, and sets mode to the whole. Collective */
PetscErrorCode BAIGatheredMode(BAIGathered G, int k, const BAIScalar **mode)
{
  PetscFunctionBegin;
  PetscCall(BAIWholeBring(G->whole, 1, &G->mode[k], mode));
  *mode = BAIWholeVector(G->whole, G->mode[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings together the parts of b, and if guess those of x, and sets whole_b and whole_x to the vectors of the whole
   system. Collective */
PetscErrorCode BAIGatheredBring(BAIGathered G, const BAIScalar *b, const BAIScalar *x, PetscBool guess,
                                BAIScalar **whole_b, BAIScalar **whole_x)
{
  const BAIScalar *const from[2] = {b, x};
  const int              odd     = !G->odd;
  const size_t           at[2]   = {G->b[odd], G->x[odd]};

  PetscFunctionBegin;
  G->odd = odd;
  PetscCall(BAIWholeBring(G->whole, guess ? 2 : 1, at, from));
  *whole_b = BAIWholeVector(G->whole, at[0]);
  *whole_x = BAIWholeVector(G->whole, at[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies this rank's part of whole_x, which BAIGatheredBring() has returned, to x */
PetscErrorCode BAIGatheredReturn(BAIGathered G, const BAIScalar *whole_x, BAIScalar *x)
{
  PetscFunctionBegin;
  PetscCall(BAIWholeReturn(G->whole, whole_x, x));
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

/* Sends a message of the rank that works, when its work in the stream is done, to those that wait for it. status is
   that of the work, or becomes it */
static PetscErrorCode Tell(const struct BAIGathered_ *G, Message *m, BAIStatus *status)
{
  PetscFunctionBegin;
  if (G->group == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (G->works && !status->code) *status = BAISharedWait(G->backend, G->stream);
  m->code = status->code;
  if (m->code) m->ends = 1;
  PetscCallMPI(MPI_Bcast(m, (PetscMPIInt)sizeof(*m), MPI_BYTE, 0, G->group));
  if (!G->works && m->code) *status = BAIStatusBecause(m->code, "a system that is gathered", "another rank gave up");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does a cycle from b to x, vectors of the whole system; levels is not NULL where this rank works, and the system has
   rows */
PetscErrorCode BAIGatheredApply(BAIGathered G, BAILevels levels, const BAIScalar *b, BAIScalar *x, BAIStatus *status)
{
  Message m = {.ends = 1};

  PetscFunctionBegin;
  *status = levels ? BAILevelsApply(levels, b, x) : BAIStatusOf(BAI_OK);
  PetscCall(Tell(G, &m, status));
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

/* BAILevelsSolve() of the whole system: the rank that works does it, and all ranks call the monitor, unless it is
   NULL */
PetscErrorCode BAIGatheredSolve(BAIGathered G, BAILevels levels, const BAIScalar *b, BAIScalar *x, int guess_zero,
                                const BAITolerances *t, BAILevelsMonitor monitor, void *context, BAILevelsSolution *s,
                                BAIStatus *status)
{
  const PetscBool alone = (PetscBool)(G->group == MPI_COMM_NULL);
  Watched         w     = {G, monitor, context, PETSC_SUCCESS, PETSC_FALSE};
  Message         m     = {.ends = G->works};
  int             stop  = 0;

  PetscFunctionBegin;
  *status = BAIStatusOf(BAI_OK);
  if (levels)
    *status = BAILevelsSolve(levels, b, x, guess_zero, t, monitor && !alone ? Watch : monitor, alone ? context : &w, s);
  if (w.code && !status->code) *status = BAIStatusBecause(BAI_ERR_ABSENT, "a monitor", "has failed");
  m.solution = *s;
  do {
    if (!w.ended) PetscCall(Tell(G, &m, status));
    if (!m.ends) PetscCall(CallMonitor(&w, &m, &stop));
  } while (!m.ends);
  *s = m.solution;
  PetscCall(w.code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether single ranks do the work; otherwise each rank does all of it */
PetscBool BAIGatheredIsShared(const struct BAIGathered_ *G)
{
  return BAIWholeIsShared(G->whole);
}

/* Gives ranks that wait the properties of the levels, and adds the memory of the whole */
PetscErrorCode BAIGatheredInfo(BAIGathered G, BAILevelsInfo *info)
{
  PetscFunctionBegin;
  info->bytes += (int64_t)BAIWholeBytes(G->whole);
  if (G->group == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  const char *stop = info->stop; /* an address in the process of each rank */

  PetscCallMPI(MPI_Bcast(info, (PetscMPIInt)sizeof(*info), MPI_BYTE, 0, G->group));
  info->stop = G->works ? stop : "another rank has the levels";
  PetscFunctionReturn(PETSC_SUCCESS);
}
