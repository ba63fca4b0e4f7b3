/*
   Gathering the rows of several ranks on fewer: who works, and the KSP or PC of those
*/
#include "gather.h"
#include <petsc/private/petscimpl.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <petsc/private/matimpl.h> /* the function of a MatNullSpace, which cannot be asked for */
#pragma GCC diagnostic pop

/* What auto takes for small enough, beside the rows that the face says, that exchange between GPUs would take longer
 * than all the work on one of them */
enum {
  SMALL_NONZEROS  = 1 << 24,
  PARTS_OF_MEMORY = 16 /* and the matrix fits so many times into the memory of any of them */
};

PetscBool BAIIsGathered(const BAI *bai)
{
  return (PetscBool)(bai->gather && bai->gather->workers < bai->gather->size);
}

/* Who knows how the work goes: this one, or, if it is gathered, that of the ranks that work, and NULL on the others */
BAI *BAIGatherWorker(BAI *bai)
{
  const PetscObject inner = BAIIsGathered(bai) ? bai->gather->inner : bai->obj;

  return inner ? (*bai->face->data)(inner) : NULL;
}

static PetscErrorCode IdOf(void *object, PetscObjectId *id)
{
  PetscFunctionBegin;
  *id = 0;
  if (object) PetscCall(PetscObjectGetId((PetscObject)object, id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetKey(const BAI *bai, Mat A, BAIGatherKey *key)
{
  MatNullSpace nullspace, nearnullspace;
  DM           da;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(key, sizeof(*key))); /* padding too: they are compared as a whole */
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCall(MatGetNearNullSpace(A, &nearnullspace));
  PetscCall(IdOf(A, &key->matrix));
  PetscCall(BAIGatherGetDA(bai, &da));
  PetscCall(IdOf(da, &key->da));
  PetscCall(IdOf(nullspace, &key->nullspace));
  PetscCall(IdOf(nearnullspace, &key->nearnullspace));
  PetscCall(MatGetNonzeroState(A, &key->pattern));
  key->gather   = bai->options.gather;
  key->backend  = bai->options.backend;
  key->exchange = bai->options.exchange;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank works with */
typedef struct {
  int       known; /* it is the backend cuda, on a device that is there */
  BAIDevice device;
} Place;

static PetscErrorCode GetPlace(const BAI *bai, Mat Ad, Place *place)
{
  BAIBackend backend = bai->options.backend;
  int        number;
  void      *stream;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(place, sizeof(*place)));
  if (backend == BAI_BACKEND_AUTO) PetscCall(BAIBackendOf(Ad, &backend));
  if (backend != BAI_BACKEND_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIDeviceOf(bai->node_rank, &number, &stream));
  place->known = !BAIBackendGetDevice(backend, number, &place->device).code; /* the set-up says what is wrong with it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exchange would take longer than all the work on one device */
static PetscErrorCode IsSmall(const BAI *bai, Mat A, PetscMPIInt size, const Place *places, PetscBool *small)
{
  PetscInt rows;
  MatInfo  info;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  *small = (PetscBool)(rows <= bai->face->small && info.nz_used <= SMALL_NONZEROS);
  for (PetscMPIInt rank = 0; rank < size && *small; rank++)
    *small = (PetscBool)(places[rank].known &&
                         info.nz_used * (PetscLogDouble)(sizeof(PetscScalar) + sizeof(PetscInt)) * PARTS_OF_MEMORY <=
                           (PetscLogDouble)places[rank].device.memory);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver removes null spaces; and the function that a user does that with takes vectors of all ranks */
static PetscErrorCode CheckNullSpace(const BAI *bai, Mat A, PetscBool *can)
{
  MatNullSpace nullspace;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(A, &nullspace));
  *can = (PetscBool)(!bai->face->solves || !nullspace || !nullspace->remove);
  PetscCheck(*can || bai->options.gather == BAI_GATHER_AUTO, PetscObjectComm(bai->obj), PETSC_ERR_SUP,
             "-ksp_bai_gather %s with a null space of MatNullSpaceSetFunction(): must be none, or auto",
             BAIGatherTypes[bai->options.gather]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who takes whose rows; can: those of others */
static PetscErrorCode ChooseLeaders(const BAI *bai, Mat A, Mat Ad, PetscBool can, PetscMPIInt size, PetscMPIInt *leader,
                                    BAIGatherReason *reason)
{
  const BAIGatherType gather = bai->options.gather;
  const MPI_Comm      comm   = PetscObjectComm(bai->obj);
  Place               mine, *places;
  PetscBool           small = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscMPIInt rank = 0; rank < size; rank++) leader[rank] = gather == BAI_GATHER_ONE ? 0 : rank;
  *reason = BAI_GATHERED_ASKED;
  if (gather == BAI_GATHER_ONE || !can) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIAgree(bai, GetPlace(bai, Ad, &mine), NULL));
  PetscCall(PetscMalloc1(size, &places));
  PetscCallMPI(
    MPI_Allgather(&mine, (PetscMPIInt)sizeof(mine), MPI_BYTE, places, (PetscMPIInt)sizeof(mine), MPI_BYTE, comm));
  if (gather == BAI_GATHER_AUTO) PetscCall(IsSmall(bai, A, size, places, &small));
  *reason = small ? BAI_GATHERED_SMALL : BAI_GATHERED_SHARED;
  for (PetscMPIInt rank = 0; rank < size; rank++) {
    if (small) leader[rank] = 0;
    for (PetscMPIInt other = 0; other < leader[rank]; other++) {
      if (places[rank].known && places[other].known &&
          !memcmp(places[rank].device.uuid, places[other].device.uuid, sizeof(places[rank].device.uuid)))
        leader[rank] = other;
    }
  }
  PetscCall(PetscFree(places));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What users are told of set-ups before, whoever did them */
static void Carry(const BAI *from, BAI *to)
{
  to->seen    = from->seen;
  to->setups  = from->setups;
  to->updates = from->updates;
}

/* And who works */
static PetscErrorCode DestroyWorkers(BAI *bai)
{
  BAIGather g = bai->gather;

  PetscFunctionBegin;
  PetscCall(BAIGatherDestroyMat(bai));
  if (g->inner) {
    Carry(BAIGatherWorker(bai), bai);
    PetscCall(PetscObjectDestroy(&g->inner));
  }
  if (g->comm != MPI_COMM_NULL && g->comm != PETSC_COMM_SELF) PetscCallMPI(MPI_Comm_free(&g->comm));
  g->comm = MPI_COMM_NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIGatherDestroy(BAI *bai)
{
  PetscFunctionBegin;
  if (!bai->gather) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DestroyWorkers(bai));
  PetscCall(PetscFree(bai->gather->leader));
  PetscCall(PetscFree(bai->gather));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ranks that work, and a KSP or PC of theirs */
static PetscErrorCode CreateWorkers(BAI *bai, BAIGather g)
{
  const PetscObject obj = bai->obj;
  const char       *prefix;
  PetscMPIInt       rank;
  BAI              *worker;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(obj), &rank));
  if (g->workers == 1) g->comm = rank ? MPI_COMM_NULL : PETSC_COMM_SELF;
  else PetscCallMPI(MPI_Comm_split(PetscObjectComm(obj), g->leader[rank] == rank ? 0 : MPI_UNDEFINED, rank, &g->comm));
  if (g->comm == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*bai->face->create)(g->comm, &g->inner));
  PetscCall(PetscObjectGetOptionsPrefix(obj, &prefix));
  PetscCall(PetscObjectSetOptionsPrefix(g->inner, prefix)); /* for the words of errors; no options are read */
  worker = BAIGatherWorker(bai);
  PetscCall(BAIGetNode(worker, g->comm));
  worker->node_rank = bai->node_rank; /* so the device is that of this rank */
  Carry(bai, worker);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses who works, where the key has changed */
static PetscErrorCode Choose(BAI *bai, Mat A, Mat Ad, const BAIGatherKey *now)
{
  BAIGather       g = bai->gather;
  PetscMPIInt    *leader, size;
  BAIGatherReason reason;
  PetscBool       can = PETSC_TRUE, same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->obj), &size));
  PetscCall(CheckNullSpace(bai, A, &can));
  PetscCall(PetscMalloc1(size, &leader));
  PetscCall(ChooseLeaders(bai, A, Ad, can, size, leader, &reason));
  if (g && now->da == g->key.da) PetscCall(PetscArraycmp(leader, g->leader, size, &same));
  if (!g) {
    PetscCall(PetscNew(&g));
    bai->gather = g;
    g->comm     = MPI_COMM_NULL;
    g->size     = size;
  }
  PetscCall(PetscFree(g->leader));
  if (!same) PetscCall(DestroyWorkers(bai));
  g->leader  = leader;
  g->reason  = reason;
  g->workers = 0;
  for (PetscMPIInt rank = 0; rank < size; rank++) g->workers += leader[rank] == rank;
  if (!same && g->workers < size) PetscCall(CreateWorkers(bai, g));
  if (g->workers < size) {
    PetscCall(BAIGatherCreateMat(bai, A));
    PetscCall(PetscObjectStateGet((PetscObject)A, &g->state));
    PetscCall(PetscInfo(bai->obj, "Gathered the rows on %d of %d ranks\n", g->workers, size));
  }
  PetscCall(PetscMemcpy(&g->key, now, sizeof(*now)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, if there are any on some rank */
static PetscErrorCode Update(BAI *bai, Mat A, PetscBool *updated)
{
  BAIGather        g = bai->gather;
  PetscObjectState state;
  int              work;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  work = state != g->state;
  PetscCall(BAIAgree(bai, PETSC_SUCCESS, &work));
  *updated = (PetscBool)work;
  if (!work) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIGatherUpdateMat(bai, A));
  g->state = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up of those that work; what fails, fails on all ranks */
static PetscErrorCode SetUpWorkers(BAI *bai, Mat A)
{
  BAIGather        g    = bai->gather;
  BAIGatherNews    news = {.done = PETSC_TRUE};
  BAIPartitionType partition;
  PetscErrorCode   code = PETSC_SUCCESS;

  PetscFunctionBegin;
  g->ready = PETSC_FALSE;
  if (g->workers > 1)
    PetscCall(BAIAgree(bai, BAIChoosePartition(bai, A, &partition), NULL)); /* dm without a grid is an error as ever */
  PetscCall(BAIGatherBegin(bai));
  if (g->inner) {
    BAI *worker = BAIGatherWorker(bai);

    worker->options        = bai->options;
    worker->options.gather = BAI_GATHER_NONE;
    if (g->workers > 1 && bai->options.partition == BAI_PARTITION_DM) worker->options.partition = BAI_PARTITION_AUTO;
    code = (*bai->face->setup)(g->inner);
  }
  PetscCall(BAIGatherEnd(bai, code, &news));
  g->ready = PETSC_TRUE;
  bai->set = bai->options;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gathers the matrix as it is now, if it is to be, and sets up those that work with it. Otherwise gathered is
 * PETSC_FALSE */
PetscErrorCode BAIGatherSetUp(BAI *bai, Mat A, PetscBool *gathered)
{
  const PetscObject obj = bai->obj;
  PetscMPIInt       size;
  Mat               Ad, Ao;
  PetscInt          nghost;
  const PetscInt   *garray;
  BAIGatherKey      now;
  PetscBool         same, updated = PETSC_FALSE;

  PetscFunctionBegin;
  *gathered = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(obj), &size));
  if (size == 1 || bai->options.gather == BAI_GATHER_NONE) {
    PetscCall(BAIGatherDestroy(bai));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BAIOptionsCheckTogether(bai));
  PetscCall(BAIConvert(bai, A, &A));
  PetscCall(BAIGetNode(bai, PetscObjectComm(obj)));
  PetscCall(GetKey(bai, A, &now));
  same = (PetscBool)(bai->gather != NULL);
  if (same) PetscCall(PetscMemcmp(&now, &bai->gather->key, sizeof(now), &same));
  if (!same) {
    PetscCall(BAIGetParts(obj, A, &Ad, &Ao, &nghost, &garray));
    PetscCall(BAICheckMatrix(obj, A));
    if (bai->gather) bai->gather->key.gather = BAI_GATHER_NONE; /* what fails now is to be done again */
    PetscCall(Choose(bai, A, Ad, &now));
  }
  if (!BAIIsGathered(bai)) PetscFunctionReturn(PETSC_SUCCESS);
  if (same) {
    PetscCall(Update(bai, A, &updated));
    PetscCall(BAIOptionsEqual(&bai->set, &bai->options, &same));
  } else PetscCall(BAIDropEngine(bai)); /* of a time when this rank worked on its own rows */
  if (!same || updated || !bai->gather->ready) PetscCall(SetUpWorkers(bai, A));
  *gathered = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who works, and why */
PetscErrorCode BAIGatherView(BAI *bai, PetscViewer viewer)
{
  static const char *const reasons[] = {[BAI_GATHERED_ASKED]  = "as asked for",
                                        [BAI_GATHERED_SMALL]  = "as the system is small",
                                        [BAI_GATHERED_SHARED] = "as ranks share a GPU"};
  const BAIGather          g         = bai->gather;

  PetscFunctionBegin;
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "  gather %s: %d of %d ranks %s with all rows%s, %s\n",
                           BAIGatherTypes[bai->options.gather], g->workers, g->size, g->workers == 1 ? "works" : "work",
                           g->permuted ? (g->workers == 1 ? " in the natural order of the grid" : " renumbered") : "",
                           reasons[g->reason]));
  if (g->workers > 1 && bai->options.partition == BAI_PARTITION_DM)
    PetscCall(
      PetscViewerASCIIPrintf(viewer,
                             "  partition dm stands for auto: the rows of a rank that works are no box of the grid\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  b and x of gathered rows go by %s\n",
                                   g->shares ? "memory that the ranks share" : "MPI"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
