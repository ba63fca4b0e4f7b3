/*
   Set-up: choose what the options leave open, compare it with what is in use, and build the engine or give it new
   values
*/
#include "gather.h"
#include "levels.h"
#include <omp.h>
#include <petsc/private/petscimpl.h>
#include <petsctime.h>

/* What has to be done; all ranks do the most that one of them needs */
enum {
  WORK_NONE,
  WORK_VALUES, /* new values in the old pattern */
  WORK_ENGINE  /* a new engine */
};

PetscErrorCode BAICheckMatrix(PetscObject obj, Mat A)
{
  PetscInt  M, N, m, n, unlike[2] = {0, 0}, most[2];
  PetscBool assembled;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCheck(M == N, PetscObjectComm(obj), PETSC_ERR_ARG_SIZ,
             "Matrix with %" PetscInt_FMT " rows and %" PetscInt_FMT " columns: must be square", M, N);
  if (m != n) {
    unlike[0] = m + 1;
    unlike[1] = n + 1;
  }
  PetscCallMPI(MPI_Allreduce(unlike, most, 2, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  PetscCheck(!most[0], PetscObjectComm(obj), PETSC_ERR_ARG_SIZ,
             "Matrix with %" PetscInt_FMT " local rows and %" PetscInt_FMT
             " local columns on some rank: rows and columns must be spread over the ranks alike",
             most[0] - 1, most[1] - 1);
  PetscCall(MatAssembled(A, &assembled));
  PetscCheck(assembled, PetscObjectComm(obj), PETSC_ERR_ARG_WRONGSTATE, "Matrix is not assembled");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every other rank's x that this one reads */
static PetscErrorCode CreateScatter(BAI *bai, Mat A, Mat Ao, PetscInt nghost, const PetscInt garray[])
{
  Vec         x;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(VecScatterDestroy(&bai->scatter));
  PetscCall(VecDestroy(&bai->ghost));
  PetscCall(VecDestroy(&bai->coming));
  PetscCall(VecDestroy(&bai->sent));
  PetscCall(ISDestroy(&bai->ghosts));
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
static PetscErrorCode SameGhosts(const BAI *bai, PetscInt nghost, const PetscInt garray[], PetscBool *same)
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

/* Threads for this rank: what the user says in OMP_NUM_THREADS, else its share of the cores that it may run on */
PetscErrorCode BAIGetThreads(PetscMPIInt node_size, int *threads)
{
  char      text[16];
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, "OMP_NUM_THREADS", text, sizeof(text), &set));
  *threads = set ? omp_get_max_threads() : omp_get_num_procs() / node_size;
  *threads = PetscMax(1, *threads);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank among those of its node; asked for once */
PetscErrorCode BAIGetNode(BAI *bai, MPI_Comm comm)
{
  MPI_Comm node;

  PetscFunctionBegin;
  if (bai->node_size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_rank(node, &bai->node_rank));
  PetscCallMPI(MPI_Comm_size(node, &bai->node_size));
  PetscCallMPI(MPI_Comm_group(node, &bai->node));
  PetscCallMPI(MPI_Comm_free(&node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ForgetNode(BAI *bai)
{
  PetscFunctionBegin;
  if (bai->node_size) PetscCallMPI(MPI_Group_free(&bai->node));
  bai->node_size = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether these ranks of the face are on the node of this one */
PetscErrorCode BAIOnNode(const BAI *bai, PetscMPIInt n, const PetscMPIInt rank[], PetscBool *all)
{
  MPI_Group    whole;
  PetscMPIInt *there;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &there));
  PetscCallMPI(MPI_Comm_group(PetscObjectComm(bai->face), &whole));
  PetscCallMPI(MPI_Group_translate_ranks(whole, n, rank, bai->node, there));
  *all = PETSC_TRUE;
  for (PetscMPIInt k = 0; k < n; k++) *all = (PetscBool)(*all && there[k] != MPI_UNDEFINED);
  PetscCallMPI(MPI_Group_free(&whole));
  PetscCall(PetscFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mode that the options ask for, or that auto stands for as far as it is known */
static BAIMode ModeNow(const BAI *bai)
{
  const BAIOptions *o = &bai->options;

  if (o->mode != BAI_MODE_AUTO) return o->mode;
  if (bai->face->classid == KSP_CLASSID) return BAI_MODE_ASYNC;
  return bai->crowded || o->polynomial == BAI_POLYNOMIAL_FOURTH ? BAI_MODE_SYNC : BAI_MODE_COLOR;
}

/* In use, or to be so */
BAIMode BAIModeOf(const BAI *bai)
{
  return bai->engine ? bai->use.p.mode : ModeNow(bai);
}

static PetscErrorCode GetParameters(const BAI *bai, BAIChoice *c)
{
  enum {
    MOST_APART =
      32, /* iterations: waits of ranks cost little then, and none works for long on what another is about to change */
    FEW_ROWS =
      4096 /* of a rank, on average: its iterations take no time beside an exchange, and it is to wait for the others */
  };
  const BAIOptions *o = &bai->options;
  BAIParameters    *p = &c->p;
  PetscMPIInt       size;
  PetscBool         single;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->face), &size));
  PetscCall(BAIChoosePrecision(bai, c, &single));
  c->refine = BAIRefineOf(o, single);
  PetscCall(PetscMemzero(p, sizeof(*p))); /* padding too: choices are compared as a whole */
  p->mode        = ModeNow(bai);
  p->block_size  = (BAIInt)c->block_size;
  p->local_iters = o->local_iters;
  p->local_omega = c->weight == BAI_WEIGHT_TAU
    ? 0
    : o->local_omega; /* 0: so that the local sweeps converge, which is what tau builds on */
  p->momentum    = o->momentum > 0.0 ? 1
       : o->momentum == PETSC_DECIDE ||
      (p->mode == BAI_MODE_SYNC && bai->face->classid == PC_CLASSID && o->polynomial != BAI_POLYNOMIAL_NONE)
       ? 2
       : 0;
  p->l1          = c->weight == BAI_WEIGHT_L1;
  p->theta       = (int)o->theta;
  p->staleness   = (BAIInt)o->staleness;
  p->apart       = bai->rows / size < FEW_ROWS ? 1 : MOST_APART;
  p->single      = (int)single;
  p->refined     = c->refine == BAI_REFINE_ASYNC;
  p->unit        = bai->unit;
  p->kernel      = o->kernel;
  p->stats       = (int)o->stats;
  p->idle_wait   = (int)o->idle_wait;
  BAIFaultsChoose(o, bai->first, &p->fault);
  if (c->backend == BAI_BACKEND_CUDA) PetscCall(BAIDeviceOf(bai->node_rank, &p->device, &p->stream));
  else PetscCall(BAIGetThreads(bai->node_size, &p->threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What this rank would set up now; the weight is chosen by all of them */
static PetscErrorCode Choose(const BAI *bai, Mat Ad, BAIWeight weight, BAIChoice *c)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  c->backend  = bai->options.backend;
  c->overlap  = bai->options.overlap;
  c->exchange = bai->options.exchange;
  c->weight   = weight;
  if (c->backend == BAI_BACKEND_AUTO) PetscCall(BAIBackendOf(Ad, &c->backend));
  c->coarse = BAIChooseCoarse(bai);
  PetscCall(BAIChooseBlockSize(bai, Ad, &c->block_size));
  PetscCall(BAIChoosePartition(bai, Ad, &c->partition));
  PetscCall(BAIChooseNested(bai, c));
  PetscCall(GetParameters(bai, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is to be done so that it is this choice for this matrix that is in use */
static PetscErrorCode Compare(const BAI *bai, Mat A, const BAIChoice *c, PetscInt nghost, const PetscInt garray[],
                              int *work)
{
  PetscObjectId    id;
  PetscObjectState state;
  PetscBool        same = PETSC_FALSE;

  PetscFunctionBegin;
  *work = WORK_ENGINE;
  if (bai->engine) PetscCall(PetscMemcmp(c, &bai->use, sizeof(*c), &same));
  if (!same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  *work = id == bai->id && state == bai->state &&
      (bai->options.weight != BAI_WEIGHT_AUTO || bai->set.weight == BAI_WEIGHT_AUTO)
    ? WORK_NONE
    : WORK_VALUES; /* what auto stands for is found from the values */
  if (*work == WORK_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SameGhosts(bai, nghost, garray, &same));
  if (!same) *work = WORK_ENGINE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the weight of the options stands for, as far as it is known */
static BAIWeight WeightNow(const BAI *bai)
{
  switch (bai->options.weight) {
  case BAI_WEIGHT_AUTO:
    return bai->engine ? bai->use.weight : BAI_WEIGHT_NONE;
  case BAI_WEIGHT_SAFE:
    return bai->grew ? BAI_WEIGHT_TAU : BAI_WEIGHT_NONE;
  default:
    return bai->options.weight;
  }
}

/* What BAI_WEIGHT_AUTO stands for */
static PetscErrorCode ChooseWeight(BAI *bai, Mat A, BAIChoice *c, int *work)
{
  BAIChoice other;
  PetscBool same;

  PetscFunctionBegin;
  if (bai->options.weight != BAI_WEIGHT_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIFindRadius(A, &bai->radius[0], &bai->radius[1]));
  PetscCall(PetscMemcpy(&other, c, sizeof(other)));
  other.weight = bai->radius[1] < 1.0 ? BAI_WEIGHT_NONE : BAI_WEIGHT_TAU;
  PetscCall(GetParameters(bai, &other));
  PetscCall(PetscMemcmp(c, &other, sizeof(other), &same));
  if (!same) *work = WORK_ENGINE;
  PetscCall(PetscMemcpy(c, &other, sizeof(other)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With precision auto: single was chosen, but the matrix may be beyond that */
static PetscErrorCode CheckPrecision(BAI *bai, Mat A, BAIChoice *c, int *work)
{
  PetscFunctionBegin;
  if (!c->p.single || bai->options.precision != BAI_PRECISION_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAICheckRange(bai, A));
  if (!bai->rough) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetParameters(bai, c));
  *work = WORK_ENGINE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first bad row of the whole matrix, on all ranks */
PetscErrorCode BAICheckDiagonal(const BAI *bai, Mat A, BAIStatus status)
{
  const PetscObject obj = bai->face;
  const PetscInt   *number;
  PetscInt          none, first, mine, row, start;
  PetscScalar       value;
  PetscReal         size = 0.0, largest;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &none, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  first = start + (PetscInt)status.row;
  mine  = status.code == BAI_ERR_DIAGONAL ? first : none;
  if (bai->numbers) PetscCall(ISGetIndices(bai->numbers, &number));
  if (bai->numbers && mine != none) mine = number[status.row];
  if (bai->numbers) PetscCall(ISRestoreIndices(bai->numbers, &number));
  PetscCallMPI(MPI_Allreduce(&mine, &row, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  if (row == none) PetscFunctionReturn(PETSC_SUCCESS);
  if (row == mine) {
    PetscCall(MatGetValues(A, 1, &first, 1, &first, &value));
    size = PetscAbsScalar(value);
  }
  PetscCallMPI(MPI_Allreduce(&size, &largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  PetscCheck(largest == 0.0, PetscObjectComm(obj), PETSC_ERR_ARG_OUTOFRANGE,
             "Row %" PetscInt_FMT " of the matrix has a diagonal entry of magnitude %g, by which one cannot divide: "
             "block-asynchronous iteration needs 1/a_ii to be finite",
             row, (double)largest);
  SETERRQ(PetscObjectComm(obj), PETSC_ERR_ARG_WRONG,
          "Row %" PetscInt_FMT
          " of the matrix has no diagonal entry, or it is zero: block-asynchronous iteration divides by it",
          row);
}

/* The engine, for the partition in use and so much overlap */
static PetscErrorCode Create(BAI *bai, Mat Ad, const BAIMatrix *M, PetscInt overlap, BAICoarse *coarse,
                             BAIStatus *status)
{
  BAIPartition partition;

  PetscFunctionBegin;
  BAIEngineDestroy(&bai->engine);
  if (bai->use.nested) PetscCall(BAICreateNested(bai, Ad, &partition, coarse));
  else PetscCall(BAICreatePartition(bai, Ad, overlap, &partition));
  *status = BAIEngineCreate(bai->use.backend, M, partition.first ? &partition : NULL, &bai->use.p, &bai->engine);
  if (status->code == BAI_ERR_DIAGONAL &&
      !bai->unit) { /* where 1 may stand for it: as in PCJACOBI; a solver would solve another system */
    bai->unit = bai->use.p.unit = bai->face->classid == PC_CLASSID ? BAI_UNIT_ALL : BAI_UNIT_ROWS;
    *status = BAIEngineCreate(bai->use.backend, M, partition.first ? &partition : NULL, &bai->use.p, &bai->engine);
  }
  PetscCall(BAIDestroyPartition(&partition));
  if (!status->code) BAIEngineInfo(bai->engine, &bai->info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With partition auto along strong couplings, or first in natural order, which shows whether that is good enough; or in
 * blocks made up of aggregates */
static PetscErrorCode CreateBest(BAI *bai, Mat Ad, const BAIMatrix *M, BAICoarse *coarse, BAIStatus *status)
{
  const PetscBool choose = (PetscBool)(bai->options.partition == BAI_PARTITION_AUTO && !bai->use.nested);
  PetscBool       graph;

  PetscFunctionBegin;
  bai->strong = PETSC_FALSE;
  if (choose) PetscCall(BAIWantsStrong(bai, Ad, &bai->strong));
  if (choose) bai->use.partition = bai->strong ? BAI_PARTITION_GRAPH : BAI_PARTITION_NATURAL;
  PetscCall(Create(bai, Ad, M, choose && !bai->strong ? 0 : bai->use.overlap, coarse, status));
  if (!choose || bai->strong || status->code) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIWantsGraph(bai, Ad, (PetscInt)M->n, &graph));
  if (graph) bai->use.partition = BAI_PARTITION_GRAPH;
  if (graph || bai->use.overlap) PetscCall(Create(bai, Ad, M, bai->use.overlap, coarse, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The omega that is in use; that of auto is to be found anew for these values and parameters, by the first smoothing
 * step */
static void TakeOmega(BAI *bai, PetscBool anew)
{
  const PetscBool found = (PetscBool)(bai->options.omega == PETSC_DECIDE);

  if (anew || !found) bai->smoothing_omega = 0.0;
  if (anew) bai->largest = 0.0;
  bai->omega = found ? 1.0 : bai->options.omega;
}

/* With a coarse correction three local sweeps bring what five do, unless nearly all of the matrix is inside the blocks;
 * from memory, where precision auto is single, two bring nearly as much, and take less time */
static PetscErrorCode ChooseCorrectedIters(BAI *bai)
{
  enum {
    USUAL = 5,
    FEWER = 3,
    FEW   = 2
  };
  const PetscReal   most = 0.9;
  const BAIOptions *o    = &bai->options;
  BAIReal           inside, outside;
  PetscReal         sums[2];

  PetscFunctionBegin;
  if (o->local_iters != USUAL || o->momentum != PETSC_DECIDE || o->theta) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, BAIEngineSums(bai->engine, &inside, &outside)), NULL));
  sums[0] = inside;
  sums[1] = outside;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm(bai->face)));
  if (sums[0] < most * (sums[0] + sums[1]))
    bai->corrected_iters = bai->use.p.single && o->precision == BAI_PRECISION_AUTO ? FEW : FEWER;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What follows from the coarse space, on all ranks */
static PetscErrorCode WeighCoarse(BAI *bai, Mat A)
{
  PetscInt  mine = bai->use.coarse ? (PetscInt)bai->info.aggregates : 0;
  PetscBool spoils;

  PetscFunctionBegin;
  bai->aggregates      = 0;
  bai->top_found       = 0.0;
  bai->start           = (BAIStart){.beta = (PetscReal)BAIAdaptFirstBeta()};
  bai->first_start     = bai->start;
  bai->best            = (BAIStart){.cost = 0.0};
  bai->tried           = 0;
  bai->corrected_iters = 0;
  if (!bai->use.coarse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(&mine, &bai->aggregates, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  if (!bai->aggregates || bai->face->classid == PC_CLASSID || bai->options.momentum > 0.0)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ChooseCorrectedIters(bai));
  PetscCall(BAIPrepare(bai, BAI_MODE_SYNC));
  PetscCall(BAIFindTop(bai, A, &bai->top_found, &spoils));
  bai->start.top = bai->top_found;
  if (spoils) bai->start.bears = BAI_SPOILT;
  bai->first_start = bai->start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -info: which kernels do the global iterations of a mode, and why others do not */
static PetscErrorCode Explain(const BAI *bai, BAIMode mode)
{
  char text[512] = "";

  PetscFunctionBegin;
  PetscCall(BAICheckStatus(bai, BAIEngineExplain(bai->engine, mode, text, sizeof(text))));
  if (text[0]) PetscCall(PetscInfo(bai->face, "Kernels of mode %s: %s\n", BAIModes[mode], text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the engine ready for one more mode than that of the options; collective */
PetscErrorCode BAIPrepare(BAI *bai, BAIMode mode)
{
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BAI_SetUp, bai->face, 0, 0, 0));
  code = BAIAgree(bai, BAICheckStatus(bai, BAIEnginePrepare(bai->engine, mode)), NULL);
  PetscCall(PetscLogEventEnd(BAI_SetUp, bai->face, 0, 0, 0));
  PetscCall(code);
  BAIEngineInfo(bai->engine, &bai->info);
  PetscCall(Explain(bai, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What solves have shown is of one matrix */
static PetscErrorCode ForgetIfOther(BAI *bai, Mat A)
{
  PetscObjectId id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  if (bai->known_as) id = bai->known_as;
  if (id != bai->seen) {
    bai->slow = bai->slowed = bai->vain = bai->grew = bai->crowded = bai->rough = PETSC_FALSE;
    bai->unit                                                                   = BAI_UNIT_NONE;
    bai->damped                                                                 = 0.0;
  }
  bai->seen = id;
  PetscCall(MatGetSize(A, &bai->rows, NULL));
  PetscCall(MatGetOwnershipRange(A, &bai->first, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How much of the matrix each rank has, on average */
static PetscErrorCode CountEntries(BAI *bai, Mat A)
{
  MatInfo     info;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  bai->entries = (PetscReal)(info.nz_used / size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values or a new engine, as this choice asks for; all ranks do the same work, which may turn out to be more */
static PetscErrorCode Renew(BAI *bai, Mat A, Mat Ad, Mat Ao, PetscInt nghost, const PetscInt garray[],
                            BAIChoice *choice, int *work)
{
  const PetscObject obj    = bai->face;
  BAIStatus         status = BAIStatusOf(BAI_OK);
  BAICoarse         coarse = {0};
  PetscLogDouble    start, end;
  BAIMatrix         M;
  PetscBool         device;
  PetscErrorCode    mine;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  bai->A  = A;
  bai->id = 0; /* until all ranks are known to have come through */
  PetscCall(BAICheckMatrix(obj, A));
  PetscCall(ChooseWeight(bai, A, choice, work));
  PetscCall(CheckPrecision(bai, A, choice, work));
  M.nghost = nghost;
  PetscCall(MatGetLocalSize(A, &M.n, NULL));
  mine = BAIGetRows(choice->backend, Ad, &M.A, &device);
  if (!mine && Ao) mine = BAIGetRows(choice->backend, Ao, &M.B, &device);
  PetscCall(BAIAgree(bai, mine, work));
  M.memory = device ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST;
  if (*work == WORK_VALUES) {
    status = BAIEngineUpdateValues(bai->engine, &M);
    if (status.code == BAI_ERR_PATTERN || status.code == BAI_ERR_COARSE ||
        (status.code == BAI_ERR_DIAGONAL && !bai->unit))
      *work = WORK_ENGINE;
    PetscCall(BAIAgree(bai, PETSC_SUCCESS, work));
  }
  PetscCall(PetscMemcpy(&bai->use, choice, sizeof(*choice)));
  if (*work == WORK_ENGINE) {
    PetscCall(BAIDisconnect(bai));
    PetscCall(BAITogetherReset(bai));
    PetscCall(CreateScatter(bai, A, Ao, nghost, garray));
    mine = CreateBest(bai, Ad, &M, &coarse, &status);
    bai->setups++;
  } else bai->updates++;
  if (mine || status.code) BAIEngineDestroy(&bai->engine);
  PetscCall(BAIRestoreRows(choice->backend, Ad, &M.A));
  if (Ao) PetscCall(BAIRestoreRows(choice->backend, Ao, &M.B));
  PetscCall(BAICheckDiagonal(bai, A, status));
  PetscCall(BAIAgree(bai, mine ? mine : BAICheckStatus(bai, status), NULL));
  if (*work == WORK_ENGINE) {
    PetscCall(CountEntries(bai, A));
    PetscCall(BAIConnect(bai, A, nghost, garray));
    mine = BAITakeTurns(bai, A, nghost, garray);
  }
  if (!mine) mine = BAICoarsen(bai, A, Ad, Ao, nghost, (PetscBool)(*work == WORK_ENGINE), &coarse);
  if (mine) { /* on all ranks */
    PetscCall(BAIDisconnect(bai));
    BAIEngineDestroy(&bai->engine);
  }
  PetscCall(BAIDestroyCoarse(&coarse));
  PetscCall(mine);
  PetscCall(PetscTime(&end));
  if (bai->use.coarse && *work == WORK_ENGINE) bai->coarse_time = end - start;
  PetscCall(PetscObjectGetId((PetscObject)A, &bai->id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &bai->state));
  BAIEngineInfo(bai->engine, &bai->info);
  if (bai->info.units)
    PetscCall(PetscInfo(obj,
                        "1 stands for the diagonal entry of %" PetscInt64_FMT " rows, where it is zero or missing\n",
                        (PetscInt64)bai->info.units));
  if (*work == WORK_ENGINE) PetscCall(Explain(bai, bai->use.p.mode));
  bai->refinement.learnt = PETSC_FALSE;
  if (bai->use.refine == BAI_REFINE_SYNC) PetscCall(BAIRefinementSetUp(bai));
  bai->set = bai->options;
  TakeOmega(bai, PETSC_TRUE);
  bai->tau = 1.0;
  if (bai->use.weight == BAI_WEIGHT_TAU) {
    PetscCall(BAIPrepare(bai, BAI_MODE_SYNC));
    PetscCall(BAIFindTau(bai, A, &bai->tau));
  }
  PetscCall(WeighCoarse(bai, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With mode auto: few blocks could work at the same time if they took turns, on some rank; by the entries of rows, and,
   if the engine is there, by its colours. More are wanted for a product P^T A P, which is a coarse level of multigrid:
   what smooths best there does not pay
*/
static PetscErrorCode LookIfCrowded(BAI *bai, Mat A, Mat Ad)
{
  enum {
    LONG_ROW      = 48, /* entries, with which nearly all blocks read from each other */
    FEW_COLORS    = 8,
    MANY_BLOCKS   = 64, /* of one colour: half of a large GPU has work */
    COARSE_BLOCKS = 256
  };
  const PetscBool auto_mode = (PetscBool)(bai->options.mode == BAI_MODE_AUTO && bai->face->classid == PC_CLASSID);
  int             mine, any;
  PetscInt        n;
  MatInfo         info;
  MatProductType  product;

  PetscFunctionBegin;
  if (!auto_mode || bai->crowded) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(Ad, &n, NULL));
  PetscCall(MatGetInfo(Ad, MAT_LOCAL, &info));
  mine = info.nz_used > LONG_ROW * (PetscLogDouble)n;
  if (bai->engine && bai->info.colors > FEW_COLORS && bai->info.blocks < (int64_t)MANY_BLOCKS * bai->info.colors)
    mine = 1;
  PetscCall(MatProductGetType(A, &product));
  if (bai->engine && bai->info.colors && product == MATPRODUCT_PtAP &&
      bai->info.blocks < (int64_t)COARSE_BLOCKS * bai->info.colors)
    mine = 1;
  PetscCallMPI(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm(bai->face)));
  bai->crowded = (PetscBool)any;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Renew(), and where that shows that mode auto is to be another, once more */
static PetscErrorCode RenewUncrowded(BAI *bai, Mat A, Mat Ad, Mat Ao, PetscInt nghost, const PetscInt garray[],
                                     BAIChoice *choice, int *work)
{
  PetscBool crowded = bai->crowded;

  PetscFunctionBegin;
  if (*work == WORK_ENGINE) PetscCall(LookIfCrowded(bai, A, Ad));
  if (bai->crowded != crowded) PetscCall(BAIAgree(bai, Choose(bai, Ad, choice->weight, choice), work));
  crowded = bai->crowded;
  PetscCall(Renew(bai, A, Ad, Ao, nghost, garray, choice, work));
  if (*work != WORK_ENGINE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(LookIfCrowded(bai, A, Ad));
  if (bai->crowded == crowded) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(bai->face,
                      "mode auto: sync, as %d colors of %" PetscInt64_FMT
                      " blocks leave little to do at the same time\n",
                      bai->info.colors, (PetscInt64)bai->info.blocks));
  PetscCall(BAIAgree(bai, Choose(bai, Ad, choice->weight, choice), work));
  bai->setups--; /* that was to see this */
  PetscCall(Renew(bai, A, Ad, Ao, nghost, garray, choice, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Gives the engine the matrix as it is now, and what the options ask for. Nothing is done if it is the same matrix in
   the same state, and the same options; new values in an old pattern are put in place; only another pattern, or other
   options, are cut anew
*/
PetscErrorCode BAISetUp(BAI *bai, Mat A)
{
  const PetscObject obj   = bai->face;
  const Mat         given = A;
  Mat               Ad, Ao;
  PetscInt          nghost;
  const PetscInt   *garray;
  BAIChoice         choice;
  int               work = WORK_NONE;
  PetscBool         gathered;
  PetscErrorCode    mine;

  PetscFunctionBegin;
  PetscCall(BAIOptionsCheckTogether(obj, &bai->options));
  PetscCall(ForgetIfOther(bai, A));
  PetscCall(BAIConvert(bai, A, &A));
  PetscCall(BAIGetParts(obj, A, &Ad, &Ao, &nghost, &garray));
  PetscCall(BAIGetNode(bai, PetscObjectComm((PetscObject)A)));
  PetscCall(BAIGatherSetUp(bai, A, &gathered));
  if (gathered) {
    PetscCall(BAIDisconnect(bai));
    BAIEngineDestroy(&bai->engine); /* of a time when this rank worked on its own rows */
    bai->set = bai->options;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  mine = Choose(bai, Ad, WeightNow(bai), &choice);
  if (!mine && !bai->engine) bai->use.backend = choice.backend; /* which errors name */
  if (!mine) mine = BAICheckStatus(bai, BAIBackendIsReady(choice.backend, choice.p.stream));
  if (!mine) mine = Compare(bai, A, &choice, nghost, garray, &work);
  PetscCall(BAIAgree(bai, mine, &work));
  if (work != WORK_NONE) bai->slowed = PETSC_FALSE;
  else if (bai->slowed && !bai->slow) {
    bai->slow = PETSC_TRUE; /* there are several solves with these values, so it pays */
    PetscCall(BAISetUp(bai, given));
    bai->tried = 1; /* by the solve without */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (work == WORK_NONE) {
    TakeOmega(bai, (PetscBool)(bai->options.momentum != bai->set.momentum));
    bai->set = bai->options;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscCall(PetscLogEventBegin(BAI_SetUp, obj, A, 0, 0));
  mine = RenewUncrowded(bai, A, Ad, Ao, nghost, garray, &choice, &work);
  if (mine) bai->id = 0; /* what the engine was not made ready for is the next set-up's business */
  PetscCall(
    PetscLogEventEnd(BAI_SetUp, obj, A, 0, 0)); /* also after an error, which of gathered rows only some ranks have:
                                                   those that wait in the log for all would wait in vain */
  PetscCall(mine);
  PetscCall(PetscInfo(obj, "%s of %" PetscInt64_FMT " blocks on the backend %s\n",
                      work == WORK_ENGINE ? "Set up" : "New values for the engine", (PetscInt64)bai->info.blocks,
                      BAIEngineName(bai->engine)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, if an option was set since, or PETSc works on another stream now */
PetscErrorCode BAISetUpIfAsked(BAI *bai, Mat A)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(BAIOptionsEqual(&bai->set, &bai->options, &same));
  if (same && bai->engine && bai->use.backend == BAI_BACKEND_CUDA) {
    int   device;
    void *stream;

    PetscCall(BAIDeviceOf(bai->node_rank, &device, &stream));
    same = (PetscBool)(stream == bai->use.p.stream);
  }
  if (!same) PetscCall(BAISetUp(bai, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIReset(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(BAIDisconnect(bai));
  PetscCall(BAIHierarchyReset(bai));
  BAIEngineDestroy(&bai->engine);
  PetscCall(MatDestroy(&bai->aij));
  PetscCall(VecScatterDestroy(&bai->scatter));
  PetscCall(VecDestroy(&bai->ghost));
  PetscCall(BAIFaultsReset(bai));
  PetscCall(VecDestroy(&bai->coming));
  PetscCall(VecDestroy(&bai->sent));
  PetscCall(VecDestroy(&bai->kept));
  PetscCall(VecDestroy(&bai->r));
  PetscCall(VecDestroy(&bai->c));
  PetscCall(BAIRefinementReset(bai));
  PetscCall(ISDestroy(&bai->ghosts));
  PetscCall(ISDestroy(&bai->numbers));
  PetscCall(PetscFree(bai->shown));
  PetscCall(BAITogetherReset(bai));
  PetscCall(BAIGatherDestroy(bai));
  PetscCall(ForgetNode(bai));
  bai->id = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
