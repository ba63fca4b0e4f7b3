/*
   From Mat and Vec to the engine and back
*/
#define BAI_USE_PETSC_CUDA
#include "baiimpl.h"
#include <omp.h>
#include <petsc/private/petscimpl.h>

PetscLogEvent BAI_SetUp, BAI_Sweep, BAI_Residual;

/* An engine's status as a PETSc error of this rank */
static PetscErrorCode BAICheckStatus(const BAI *bai, BAIStatus status)
{
  const char *face = bai->face->classid == KSP_CLASSID ? "ksp" : "pc";

  PetscFunctionBegin;
  if (status.code == BAI_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(status.code != BAI_ERR_NOT_BUILT, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS, "Backend %s (-%s_bai_backend) is not in this libpetscbai, which was built without nvcc; there is: host", BAIBackends[bai->backend], face);
  PetscCheck(status.code != BAI_ERR_MEMORY, PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory on the side of the backend %s %s", BAIBackends[bai->backend], status.what);
  PetscCheck(status.code != BAI_ERR_DEVICE, PETSC_COMM_SELF, PETSC_ERR_GPU, "Backend %s (-%s_bai_backend): %s: %s", BAIBackends[bai->backend], face, status.what, status.why);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "Backend %s: %s", BAIBackends[bai->backend], BAICodeString(status.code));
}

static PetscErrorCode GetCSR(const BAI *bai, Mat A, BAICSR *csr, PetscBool *device)
{
  PetscScalar *a;
  PetscMemType memtype;
  PetscBool    done;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(BAIGetCSR(A, (const PetscInt **)&csr->i, (const PetscInt **)&csr->j, &a, &memtype));
  *device = (PetscBool)PetscMemTypeDevice(memtype);
  if (*device && bai->backend == BAI_BACKEND_HOST) {
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, (const PetscInt **)&csr->i, (const PetscInt **)&csr->j, &done));
    PetscCheck(done, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Cannot get the rows of the matrix on the host");
    PetscCall(MatSeqAIJGetArrayRead(A, (const PetscScalar **)&a));
    *device = PETSC_FALSE;
  }
  csr->a = (const BAIScalar *)a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The counterpart of GetCSR(), for what it took from the host side of a device matrix */
static PetscErrorCode RestoreCSR(const BAI *bai, Mat A, BAICSR *csr)
{
  PetscMemType memtype;
  PetscBool    done;
  PetscInt     n;

  PetscFunctionBegin;
  if (bai->backend != BAI_BACKEND_HOST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJGetCSRAndMemType(A, NULL, NULL, NULL, &memtype));
  if (!PetscMemTypeDevice(memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJRestoreArrayRead(A, (const PetscScalar **)&csr->a));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, (const PetscInt **)&csr->i, (const PetscInt **)&csr->j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of A's local rows, the square part and, on several ranks, the coupling to other ranks' columns, whose numbers are in garray */
static PetscErrorCode GetParts(PetscObject obj, Mat A, Mat *Ad, Mat *Ao, PetscInt *nghost, const PetscInt *garray[])
{
  PetscBool seq, mpi;
  MatType   type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  PetscCheck(seq || mpi, PetscObjectComm(obj), PETSC_ERR_SUP, "Matrix type %s: block-asynchronous iteration needs the entries of a matrix of type aij or aijcusparse; see MatConvert() and -mat_type", type);
  *Ad     = A;
  *Ao     = NULL;
  *nghost = 0;
  *garray = NULL;
  if (mpi) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, Ad, Ao, garray));
    PetscCall(MatGetSize(*Ao, NULL, nghost));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMatrix(PetscObject obj, Mat A)
{
  PetscInt  M, N, m, n, unlike[2] = {0, 0}, most[2];
  PetscBool assembled;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCheck(M == N, PetscObjectComm(obj), PETSC_ERR_ARG_SIZ, "Matrix with %" PetscInt_FMT " rows and %" PetscInt_FMT " columns: must be square", M, N);
  if (m != n) {
    unlike[0] = m + 1;
    unlike[1] = n + 1;
  }
  PetscCallMPI(MPI_Allreduce(unlike, most, 2, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  PetscCheck(!most[0], PetscObjectComm(obj), PETSC_ERR_ARG_SIZ, "Matrix with %" PetscInt_FMT " local rows and %" PetscInt_FMT " local columns on some rank: rows and columns must be spread over the ranks alike", most[0] - 1, most[1] - 1);
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
static PetscErrorCode GetThreads(PetscMPIInt node_size, int *threads)
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
static PetscErrorCode GetNode(BAI *bai, MPI_Comm comm)
{
  MPI_Comm node;

  PetscFunctionBegin;
  if (bai->node_size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_rank(node, &bai->node_rank));
  PetscCallMPI(MPI_Comm_size(node, &bai->node_size));
  PetscCallMPI(MPI_Comm_free(&node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetParameters(const BAI *bai, BAIParameters *p)
{
  PetscFunctionBegin;
  PetscCall(BAIOptionsCheckTogether(bai->face, &bai->options));
  PetscCall(PetscMemzero(p, sizeof(*p))); /* padding too: parameters are compared as a whole */
  p->mode        = bai->options.mode;
  p->block_size  = (BAIInt)bai->block_size;
  p->local_iters = bai->options.local_iters;
  p->local_omega = bai->weight == BAI_WEIGHT_TAU ? 0 : bai->options.local_omega; /* 0: so that the local sweeps converge, which is what tau builds on */
  p->momentum    = bai->options.momentum == 0.0 ? 0 : bai->options.momentum == PETSC_DECIDE ? 2 : 1;
  p->l1          = bai->weight == BAI_WEIGHT_L1;
  p->theta       = (int)bai->options.theta;
  p->staleness   = (BAIInt)bai->options.staleness;
  p->single      = bai->options.precision == BAI_PRECISION_SINGLE;
  if (bai->backend == BAI_BACKEND_CUDA) PetscCall(BAIGetDevice(bai->node_rank, &p->device, &p->stream));
  else PetscCall(GetThreads(bai->node_size, &p->threads));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What BAI_WEIGHT_AUTO stands for, found again for new values only */
static PetscErrorCode ChooseWeight(BAI *bai, Mat A, PetscBool known)
{
  PetscObjectId    id;
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (bai->options.weight != BAI_WEIGHT_AUTO) bai->weight = bai->options.weight;
  else if (!known || id != bai->id || state != bai->state || bai->radius[1] == 0.0) {
    PetscCall(BAIFindRadius(A, &bai->radius[0], &bai->radius[1]));
    bai->weight = bai->radius[1] < 1.0 ? BAI_WEIGHT_NONE : BAI_WEIGHT_TAU;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks fail together, with the first bad row of the whole matrix */
static PetscErrorCode CheckDiagonal(PetscObject obj, Mat A, BAIStatus status)
{
  PetscInt none, row, first;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &none, NULL));
  first = none;
  if (status.code == BAI_ERR_DIAGONAL) {
    PetscCall(MatGetOwnershipRange(A, &first, NULL));
    first += (PetscInt)status.row;
  }
  PetscCallMPI(MPI_Allreduce(&first, &row, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  PetscCheck(row == none, PetscObjectComm(obj), PETSC_ERR_ARG_WRONG, "Row %" PetscInt_FMT " of the matrix has no diagonal entry, or it is zero: block-asynchronous iteration divides by it", row);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The engine, for the partition in use and so much overlap */
static PetscErrorCode Create(BAI *bai, Mat Ad, const BAIMatrix *M, const BAIParameters *p, PetscInt overlap, BAIStatus *status)
{
  BAIPartition partition;

  PetscFunctionBegin;
  BAIEngineDestroy(&bai->engine);
  PetscCall(BAICreatePartition(bai, Ad, bai->partition, overlap, &partition));
  *status = BAIEngineCreate(bai->backend, M, partition.first ? &partition : NULL, p, &bai->engine);
  PetscCall(BAIDestroyPartition(&partition));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Gives the engine the matrix as it is now. Nothing is done if it is the same matrix in the same state; new values in an
   old pattern are put in place; only another pattern, or other options, are cut anew.
*/
PetscErrorCode BAISetUp(BAI *bai, Mat A)
{
  const PetscObject obj = bai->face;
  Mat              Ad, Ao;
  PetscInt         nghost;
  const PetscInt  *garray;
  BAIMatrix        M;
  BAIParameters    p;
  BAIBackend       backend = bai->options.backend;
  BAIPartitionType type;
  BAIWeight        weight;
  BAIStatus        status = BAIStatusOf(BAI_ERR_PATTERN);
  PetscBool        device, same, wants_graph = PETSC_FALSE;
  PetscObjectId    id;
  PetscObjectState state;
  int              rebuild, any;

  PetscFunctionBegin;
  PetscCall(GetParts(obj, A, &Ad, &Ao, &nghost, &garray));
  if (backend == BAI_BACKEND_AUTO) {
    PetscMemType memtype;

    PetscCall(MatSeqAIJGetCSRAndMemType(Ad, NULL, NULL, NULL, &memtype));
    backend = PetscMemTypeCUDA(memtype) ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST;
  }
  PetscCall(BAIChooseBlockSize(bai, Ad));
  PetscCall(BAIChoosePartition(bai, Ad, &type));
  same           = (PetscBool)(bai->engine && bai->backend == backend && bai->partition == type && bai->overlap == bai->options.overlap);
  bai->backend   = backend;
  bai->partition = type;
  bai->A         = A;
  PetscCall(GetNode(bai, PetscObjectComm((PetscObject)A)));
  weight = bai->weight;
  PetscCall(ChooseWeight(bai, A, same));
  PetscCall(GetParameters(bai, &p));
  if (same) PetscCall(PetscMemcmp(&p, &bai->p, sizeof(p), &same));
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (same && id == bai->id && state == bai->state && weight == bai->weight) PetscFunctionReturn(PETSC_SUCCESS);

  PetscCall(PetscLogEventBegin(BAI_SetUp, obj, A, 0, 0));
  PetscCall(CheckMatrix(obj, A));
  M.nghost = nghost;
  PetscCall(MatGetLocalSize(A, &M.n, NULL));
  PetscCall(GetCSR(bai, Ad, &M.A, &device));
  if (Ao) PetscCall(GetCSR(bai, Ao, &M.B, &device));
  M.memory = device ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST;
  if (same) PetscCall(SameGhosts(bai, nghost, garray, &same));
  if (same) status = BAIEngineUpdateValues(bai->engine, &M);
  rebuild = status.code == BAI_ERR_PATTERN;
  PetscCallMPI(MPI_Allreduce(&rebuild, &any, 1, MPI_INT, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (any) {
    PetscCall(CreateScatter(bai, A, Ao, nghost, garray));
    bai->overlap = bai->options.overlap;
    if (bai->options.partition == BAI_PARTITION_AUTO) bai->partition = BAI_PARTITION_NATURAL;
    PetscCall(Create(bai, Ad, &M, &p, bai->options.partition == BAI_PARTITION_AUTO ? 0 : bai->overlap, &status));
    if (!status.code) BAIEngineInfo(bai->engine, &bai->info);
    if (!status.code) PetscCall(BAIWantsGraph(bai, Ad, (PetscInt)M.n, &wants_graph));
    if (wants_graph) bai->partition = BAI_PARTITION_GRAPH;
    if (!status.code && bai->options.partition == BAI_PARTITION_AUTO && (bai->overlap || bai->partition == BAI_PARTITION_GRAPH)) PetscCall(Create(bai, Ad, &M, &p, bai->overlap, &status));
    bai->setups++;
  } else bai->updates++;
  bai->p  = p;
  bai->id = 0; /* until all ranks are known to have come through */
  if (status.code) BAIEngineDestroy(&bai->engine);
  PetscCall(CheckDiagonal(obj, A, status));
  PetscCall(BAICheckStatus(bai, status));
  bai->id    = id;
  bai->state = state;
  BAIEngineInfo(bai->engine, &bai->info);
  PetscCall(RestoreCSR(bai, Ad, &M.A));
  if (Ao) PetscCall(RestoreCSR(bai, Ao, &M.B));
  if (p.single && !bai->r) PetscCall(MatCreateVecs(A, &bai->c, &bai->r));
  bai->tau = 1.0;
  if (bai->weight == BAI_WEIGHT_TAU) PetscCall(BAIFindTau(bai, A, &bai->tau));
  PetscCall(PetscLogEventEnd(BAI_SetUp, obj, A, 0, 0));
  PetscCall(PetscInfo(obj, "%s of %" PetscInt64_FMT " blocks on the backend %s\n", any ? "Set up" : "New values for the engine", (PetscInt64)bai->info.blocks, BAIEngineName(bai->engine)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetArrayRead(const BAI *bai, Vec v, const BAIScalar **array, BAIMemory *memory)
{
  PetscMemType memtype = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  if (bai->backend == BAI_BACKEND_HOST) PetscCall(VecGetArrayRead(v, (const PetscScalar **)array));
  else PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)array, &memtype));
  *memory = PetscMemTypeDevice(memtype) ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreArrayRead(const BAI *bai, Vec v, const BAIScalar **array)
{
  PetscFunctionBegin;
  if (bai->backend == BAI_BACKEND_HOST) PetscCall(VecRestoreArrayRead(v, (const PetscScalar **)array));
  else PetscCall(VecRestoreArrayReadAndMemType(v, (const PetscScalar **)array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the other ranks' x, and hands the arrays to the engine */
static PetscErrorCode Bind(BAI *bai, Vec b, Vec x, PetscBool guess_zero, BAIVectors *v)
{
  PetscMemType memtype = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  v->ghost        = NULL;
  v->ghost_memory = BAI_MEMORY_HOST;
  if (bai->scatter) {
    if (guess_zero) PetscCall(VecZeroEntries(bai->ghost));
    else {
      PetscCall(VecScatterBegin(bai->scatter, x, bai->ghost, INSERT_VALUES, SCATTER_FORWARD));
      PetscCall(VecScatterEnd(bai->scatter, x, bai->ghost, INSERT_VALUES, SCATTER_FORWARD));
    }
    PetscCall(GetArrayRead(bai, bai->ghost, &v->ghost, &v->ghost_memory));
  }
  PetscCall(GetArrayRead(bai, b, &v->b, &v->b_memory));
  if (bai->backend == BAI_BACKEND_HOST) PetscCall(VecGetArray(x, (PetscScalar **)&v->x));
  else if (guess_zero) PetscCall(VecGetArrayWriteAndMemType(x, (PetscScalar **)&v->x, &memtype));
  else PetscCall(VecGetArrayAndMemType(x, (PetscScalar **)&v->x, &memtype));
  v->x_memory = PetscMemTypeDevice(memtype) ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST;
  PetscCall(BAICheckStatus(bai, BAIEngineBind(bai->engine, v, (int)guess_zero)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Unbind(BAI *bai, Vec b, Vec x, PetscBool guess_zero, BAIVectors *v)
{
  PetscFunctionBegin;
  PetscCall(BAICheckStatus(bai, BAIEngineUnbind(bai->engine)));
  if (bai->backend == BAI_BACKEND_HOST) PetscCall(VecRestoreArray(x, (PetscScalar **)&v->x));
  else if (guess_zero) PetscCall(VecRestoreArrayWriteAndMemType(x, (PetscScalar **)&v->x));
  else PetscCall(VecRestoreArrayAndMemType(x, (PetscScalar **)&v->x));
  PetscCall(RestoreArrayRead(bai, b, &v->b));
  if (bai->scatter) PetscCall(RestoreArrayRead(bai, bai->ghost, &v->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LogFlops(const BAI *bai, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (bai->backend == BAI_BACKEND_HOST) PetscCall(PetscLogFlops(flops));
  else PetscCall(BAILogDeviceFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sweep(BAI *bai, Vec b, Vec x, PetscInt count, const BAIStep *step)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BAI_Sweep, b, x, 0, 0));
  if (bai->backend == BAI_BACKEND_CUDA) PetscCall(PetscLogGpuTimeBegin());
  PetscCall(BAICheckStatus(bai, BAIEngineSweep(bai->engine, count, step)));
  if (bai->backend == BAI_BACKEND_CUDA) PetscCall(PetscLogGpuTimeEnd());
  PetscCall(LogFlops(bai, (PetscLogDouble)count * bai->info.flops_iteration));
  PetscCall(PetscLogEventEnd(BAI_Sweep, b, x, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(BAI *bai, Vec b, Vec x, PetscReal *rnorm)
{
  BAIReal   local;
  PetscReal sum;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BAI_Residual, b, x, 0, 0));
  if (bai->backend == BAI_BACKEND_CUDA) PetscCall(PetscLogGpuTimeBegin());
  PetscCall(BAICheckStatus(bai, BAIEngineResidual(bai->engine, &local)));
  if (bai->backend == BAI_BACKEND_CUDA) PetscCall(PetscLogGpuTimeEnd());
  PetscCall(LogFlops(bai, bai->info.flops_residual));
  PetscCallMPI(MPI_Allreduce(&local, &sum, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)x)));
  *rnorm = PetscSqrtReal(sum);
  PetscCall(PetscLogEventEnd(BAI_Residual, b, x, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the engine ready for one more mode than that of the options */
PetscErrorCode BAIPrepare(BAI *bai, BAIMode mode)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BAI_SetUp, bai->face, 0, 0, 0));
  PetscCall(BAICheckStatus(bai, BAIEnginePrepare(bai->engine, mode)));
  BAIEngineInfo(bai->engine, &bai->info);
  PetscCall(PetscLogEventEnd(BAI_SetUp, bai->face, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations as the options say, from an x of the caller's */
BAIStep BAIStepOf(const BAI *bai, BAIDirection direction)
{
  /* An odd number of local sweeps overshoots, and is not to be over-relaxed */
  const BAIInt  even = bai->options.mode == BAI_MODE_COLOR && bai->options.momentum == PETSC_DECIDE ? (BAIInt)(bai->options.local_iters + bai->options.local_iters % 2) : 0;
  const BAIStep step = {bai->options.mode, direction, even, bai->options.omega * bai->tau, bai->options.momentum > 0 ? bai->options.momentum : 0, 1, 0};

  return step;
}

/* On several ranks the values of x are exchanged after each global iteration */
static PetscErrorCode RunPlain(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *how, PetscReal *rnorm)
{
  const PetscInt at_once = bai->scatter ? 1 : count;
  BAIStep        step    = *how;
  BAIVectors     v;

  PetscFunctionBegin;
  PetscCall(Bind(bai, b, x, guess_zero, &v));
  for (PetscInt done = 0; done < count; done += at_once) {
    if (how->direction == BAI_ALTERNATE && at_once == 1) step.direction = done % 2 ? BAI_BACKWARD : BAI_FORWARD;
    PetscCall(Sweep(bai, b, x, at_once, &step));
    step.fresh = 0;
    if (bai->scatter && (rnorm || done + 1 < count)) {
      PetscCall(Unbind(bai, b, x, guess_zero, &v));
      guess_zero = PETSC_FALSE;
      PetscCall(Bind(bai, b, x, guess_zero, &v));
    }
  }
  if (rnorm) PetscCall(Residual(bai, b, x, rnorm));
  PetscCall(Unbind(bai, b, x, guess_zero, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the x given, if the engine holds the matrix in lower precision: what it iterates for is a correction, to a residual of full precision */
static PetscErrorCode RunRefined(BAI *bai, Vec b, Vec x, PetscInt count, const BAIStep *how, PetscReal *rnorm)
{
  BAIStep step = *how;

  PetscFunctionBegin;
  if (count) {
    if (how->fresh || !bai->has_r) PetscCall(MatResidual(bai->A, b, x, bai->r));
    step.fresh = 1;
    PetscCall(RunPlain(bai, bai->r, bai->c, PETSC_TRUE, count, &step, NULL));
    PetscCall(VecAXPY(x, 1.0, bai->c));
    bai->has_r = PETSC_FALSE;
  }
  if (rnorm) {
    PetscCall(MatResidual(bai->A, b, x, bai->r));
    PetscCall(VecNorm(bai->r, NORM_2, rnorm));
    bai->has_r = PETSC_TRUE; /* for the next iterations from this x */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   count global iterations from the x given, or from zero, whatever x holds, if guess_zero; then ||b - A x|| if rnorm is not
   NULL. The direction matters in mode color.
*/
PetscErrorCode BAIRun(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *how, PetscReal *rnorm)
{
  PetscFunctionBegin;
  if (!bai->p.single) PetscCall(RunPlain(bai, b, x, guess_zero, count, how, rnorm));
  else {
    if (guess_zero) PetscCall(RunPlain(bai, b, x, guess_zero, count, how, NULL)); /* b is the residual, x the correction */
    PetscCall(RunRefined(bai, b, x, guess_zero ? 0 : count, how, rnorm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A whole solve by the engine, if bai->info.solves: until ||b - A x|| is at most max(rtol*bnorm, abstol), or at least dtol*bnorm, or
   max_it global iterations are done. A negative bnorm stands for ||b||, and is set to it. its may be 0 only if nothing was done.
   step is set to what was in use at the end.
*/
PetscErrorCode BAISolve(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscReal rtol, PetscReal abstol, PetscReal dtol, PetscInt max_it, PetscReal *bnorm, PetscReal *rnorm, PetscInt *its, BAIStep *step)
{
  BAIVectors    v;
  BAITolerances tolerances = {rtol, abstol, dtol, *bnorm < 0 ? -1 : *bnorm * *bnorm, max_it};
  BAISolution   solution   = {0, 0, 0, 0, 0};

  PetscFunctionBegin;
  PetscCall(Bind(bai, b, x, guess_zero, &v));
  PetscCall(PetscLogEventBegin(BAI_Sweep, b, x, 0, 0));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(BAICheckStatus(bai, BAIEngineSolve(bai->engine, &tolerances, step, &solution)));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(LogFlops(bai, (PetscLogDouble)solution.its * bai->info.flops_iteration + bai->info.flops_residual));
  PetscCall(PetscLogEventEnd(BAI_Sweep, b, x, 0, 0));
  PetscCall(Unbind(bai, b, x, guess_zero, &v));
  *bnorm = PetscSqrtReal(solution.bnorm2);
  *rnorm = PetscSqrtReal(solution.rnorm2);
  *its   = solution.its;

  step->omega    = solution.omega;
  step->momentum = solution.momentum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIView(BAI *bai, PetscViewer viewer)
{
  const BAIOptions *o = &bai->options;
  BAIReal           inside, outside;
  PetscBool         ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (o->momentum > 0.0) PetscCall(PetscViewerASCIIPrintf(viewer, "  momentum %g\n", (double)o->momentum));
  if (o->staleness >= 0) PetscCall(PetscViewerASCIIPrintf(viewer, "  staleness %" PetscInt_FMT "\n", o->staleness));
  if (o->precision != BAI_PRECISION_NATIVE) PetscCall(PetscViewerASCIIPrintf(viewer, "  precision %s\n", BAIPrecisions[o->precision]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  mode %s, local_iters %" PetscInt_FMT "%s, omega %g, local_omega %g%s\n", BAIModes[o->mode], o->local_iters, o->theta ? " on average at most" : "", (double)o->omega, (double)(bai->engine ? (PetscReal)bai->info.local_omega : o->local_omega), bai->engine && bai->info.local_omega < BAILocalOmega(&bai->p) ? " where it is least" : ""));
  if (!bai->engine) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  backend %s, not yet set up\n", BAIBackends[o->backend]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (o->weight == BAI_WEIGHT_AUTO) PetscCall(PetscViewerASCIIPrintf(viewer, "  weight auto: the spectral radius of |I - D^{-1}A| is between %g and %g%s\n", (double)bai->radius[0], (double)bai->radius[1], bai->radius[1] < 1.0 ? ", so that every order of updates converges" : ""));
  if (bai->weight == BAI_WEIGHT_L1) PetscCall(PetscViewerASCIIPrintf(viewer, "  weight l1\n"));
  if (bai->weight == BAI_WEIGHT_TAU) PetscCall(PetscViewerASCIIPrintf(viewer, "  weight tau: omega times %g\n", (double)bai->tau));
  if (bai->info.colors) PetscCall(PetscViewerASCIIPrintf(viewer, "  blocks %s in the order of %d colors on rank 0\n", o->mode == BAI_MODE_COLOR ? "take turns" : "queue", bai->info.colors));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  blocks of %" PetscInt64_FMT " rows%s%s%s, %" PetscInt64_FMT " on rank 0; off-diagonal entries there: %" PetscInt64_FMT " inside blocks, %" PetscInt64_FMT " outside\n", (PetscInt64)bai->info.block_size, o->block_size ? "" : " (chosen)", bai->partition == BAI_PARTITION_NATURAL ? "" : " at most, partition ", bai->partition == BAI_PARTITION_NATURAL ? "" : BAIPartitionTypes[bai->partition], (PetscInt64)bai->info.blocks, (PetscInt64)bai->info.nnz_local, (PetscInt64)bai->info.nnz_off));
  PetscCall(BAICheckStatus(bai, BAIEngineSums(bai->engine, &inside, &outside)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  of the sum of their magnitudes %.3g inside blocks; a global iteration moves %.3g MB\n", (double)(inside > 0 ? inside / (inside + outside) : 0), 1e-6 * (double)bai->info.bytes_iteration));
  if (bai->overlap) PetscCall(PetscViewerASCIIPrintf(viewer, "  overlap %" PetscInt_FMT ": all blocks on rank 0 together sweep over %" PetscInt64_FMT " rows\n", bai->overlap, (PetscInt64)bai->info.rows));
  if (o->theta) PetscCall(PetscViewerASCIIPrintf(viewer, "  local sweeps in a global iteration %" PetscInt64_FMT " on rank 0, without theta %" PetscInt64_FMT "\n", (PetscInt64)bai->info.local_sweeps, (PetscInt64)bai->info.blocks * (PetscInt64)bai->p.local_iters));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  backend %s%s, %d %s, %.3g MB; set-ups %" PetscInt_FMT ", value updates %" PetscInt_FMT "\n", BAIEngineName(bai->engine), o->backend == BAI_BACKEND_AUTO ? " (where the matrix is)" : "", bai->info.workers, bai->backend == BAI_BACKEND_HOST ? "threads" : ((bai->info.solves >> o->mode & 1) ? "thread blocks that keep the matrix on the chip for a whole solve" : "thread blocks"), 1e-6 * (double)bai->info.bytes, bai->setups, bai->updates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIReset(BAI *bai)
{
  PetscFunctionBegin;
  BAIEngineDestroy(&bai->engine);
  PetscCall(VecScatterDestroy(&bai->scatter));
  PetscCall(VecDestroy(&bai->ghost));
  PetscCall(VecDestroy(&bai->kept));
  PetscCall(VecDestroy(&bai->r));
  PetscCall(VecDestroy(&bai->c));
  PetscCall(ISDestroy(&bai->ghosts));
  bai->id = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
