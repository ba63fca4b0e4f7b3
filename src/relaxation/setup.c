/*
   Set-up of a relaxation: choose what the options leave open, compare it with what is in use, and build the engine or
   give it new values
*/
#include "../petsc/baiimpl.h"
#include "tuning.h"
#include <omp.h>
#include <petsc/private/petscimpl.h>

/* What has to be done; all ranks do the most that one of them needs */
enum {
  WORK_NONE,
  WORK_VALUES, /* new values in the old pattern */
  WORK_ENGINE  /* a new engine */
};

/* The matrix as set-up works with it: what this rank has of it */
typedef struct {
  Mat             A, square, other; /* on several ranks other is what couples to other ranks' columns, else NULL */
  PetscInt        nghost;
  const PetscInt *garray;
} Parts;

PetscErrorCode BAICheckAssembled(PetscObject obj, Mat A)
{
  PetscBool assembled;

  PetscFunctionBegin;
  PetscCall(MatAssembled(A, &assembled));
  PetscCheck(assembled, PetscObjectComm(obj), PETSC_ERR_ARG_WRONGSTATE, "Matrix is not assembled");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAICheckMatrix(PetscObject obj, Mat A)
{
  PetscInt M, N, m, n, unlike[2] = {0, 0}, most[2];

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
  PetscCall(BAICheckAssembled(obj, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Threads for this rank: what the user says in OMP_NUM_THREADS, else one for each of its cores. More than that there
   are only where OMP_WAIT_POLICY makes threads sleep that wait. Else they spin, if need be for milliseconds, on cores
   that other ranks need, as OpenMP knows only the threads of its own process
*/
PetscErrorCode BAIGetThreads(const BAI *bai, int *threads)
{
  const double     cores = PetscMin(bai->node.cores, omp_get_num_procs());
  static PetscBool told  = PETSC_FALSE; /* each face would say the same */
  char             text[16];
  PetscBool        set, sleep = PETSC_FALSE;
  int              wanted;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, "OMP_NUM_THREADS", text, sizeof(text), &set));
  *threads = PetscMax(1, (int)cores);
  wanted   = set ? omp_get_max_threads() : *threads;
  if (wanted > cores) {
    PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, "OMP_WAIT_POLICY", text, sizeof(text), &set));
    if (set) PetscCall(PetscStrcasecmp(text, "passive", &sleep));
  }
  if (wanted <= cores || sleep) *threads = wanted;
  if (wanted <= cores || told) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(bai->obj,
                      "Ranks x threads exceed the cores: this rank has %.3g of them, and runs %d of %d threads\n",
                      cores, *threads, wanted));
  told = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mode that the options ask for, or that auto stands for as far as it is known */
static BAIMode ModeNow(const BAI *bai)
{
  const BAIOptions *o = &bai->options;

  if (o->mode != BAI_MODE_AUTO) return o->mode;
  if (bai->face->solves) return BAI_MODE_ASYNC;
  return bai->relax.crowded || o->polynomial == BAI_POLYNOMIAL_FOURTH ? BAI_MODE_SYNC : BAI_MODE_COLOR;
}

/* In use, or to be so */
BAIMode BAIModeOf(const BAI *bai)
{
  return bai->relax.engine ? bai->relax.use.p.mode : ModeNow(bai);
}

static PetscErrorCode GetParameters(const BAI *bai, BAIChoice *c)
{
  const BAIOptions *o = &bai->options;
  BAIParameters    *p = &c->p;
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->obj), &size));
  c->refine = BAIRefineOf(o);
  PetscCall(PetscMemzero(p, sizeof(*p))); /* padding too: choices are compared as a whole */
  p->mode        = ModeNow(bai);
  p->block_size  = (BAIInt)c->block_size;
  p->local_iters = o->local_iters;
  p->local_omega = c->weight == BAI_WEIGHT_TAU
    ? 0
    : o->local_omega; /* 0: so that the local sweeps converge, which is what tau builds on */
  p->momentum    = o->momentum > 0.0                                                            ? 1
       : p->mode == BAI_MODE_SYNC && !bai->face->solves && o->polynomial != BAI_POLYNOMIAL_NONE ? 2
                                                                                                : 0;
  p->l1          = c->weight == BAI_WEIGHT_L1;
  p->apart       = bai->relax.rows / size < BAI_FEW_ROWS ? 1 : BAI_MOST_APART;
  p->single      = o->precision == BAI_PRECISION_SINGLE;
  p->refined     = c->refine == BAI_REFINE_ASYNC;
  p->unit        = bai->relax.unit;
  BAIResearchChoose(o, bai->relax.first, p);
  if (c->backend == BAI_BACKEND_CUDA) PetscCall(BAIDeviceOf(bai->node.rank, &p->device, &p->stream));
  else PetscCall(BAIGetThreads(bai, &p->threads));
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
  PetscCall(BAIChooseBlockSize(bai, Ad, &c->block_size));
  PetscCall(BAIChoosePartition(bai, Ad, &c->partition));
  PetscCall(GetParameters(bai, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is to be done so that it is this choice for this matrix that is in use */
static PetscErrorCode Compare(const BAI *bai, const Parts *m, const BAIChoice *c, int *work)
{
  PetscObjectId    id;
  PetscObjectState state;
  PetscBool        same = PETSC_FALSE;

  PetscFunctionBegin;
  *work = WORK_ENGINE;
  if (bai->relax.engine) PetscCall(PetscMemcmp(c, &bai->relax.use, sizeof(*c), &same));
  if (!same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId((PetscObject)m->A, &id));
  PetscCall(PetscObjectStateGet((PetscObject)m->A, &state));
  *work = id == bai->relax.id && state == bai->relax.state &&
      (bai->options.weight != BAI_WEIGHT_AUTO || bai->set.weight == BAI_WEIGHT_AUTO)
    ? WORK_NONE
    : WORK_VALUES; /* what auto stands for is found from the values */
  if (*work == WORK_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIScatterFits(bai, m->nghost, m->garray, &same));
  if (!same) *work = WORK_ENGINE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What BAI_WEIGHT_AUTO stands for */
static PetscErrorCode ChooseWeight(BAI *bai, Mat A, BAIChoice *c, int *work)
{
  BAIChoice other;
  PetscBool same;

  PetscFunctionBegin;
  if (bai->options.weight != BAI_WEIGHT_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIFindRadius(A, &bai->relax.radius[0], &bai->relax.radius[1]));
  PetscCall(PetscMemcpy(&other, c, sizeof(other)));
  other.weight = bai->relax.radius[1] < 1.0 ? BAI_WEIGHT_NONE : BAI_WEIGHT_TAU;
  PetscCall(GetParameters(bai, &other));
  PetscCall(PetscMemcmp(c, &other, sizeof(other), &same));
  if (!same) *work = WORK_ENGINE;
  PetscCall(PetscMemcpy(c, &other, sizeof(other)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first bad row of the whole matrix, on all ranks, is an error. Many of them may be constraints. If its diagonal
   entry is NaN or infinite, that is said instead, where somebody asks */
PetscErrorCode BAICheckDiagonal(const BAI *bai, Mat A, BAIStatus status, PetscBool *finite)
{
  const PetscObject obj = bai->obj;
  PetscInt          none, first, mine, row, start, count;
  PetscScalar       value;
  PetscReal         size = 0.0, largest;
  const char       *prefix;
  IS                zeros;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &none, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  first = start + (PetscInt)status.row;
  mine  = status.code == BAI_ERR_DIAGONAL ? first : none;
  PetscCallMPI(MPI_Allreduce(&mine, &row, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  if (row == none) PetscFunctionReturn(PETSC_SUCCESS);
  if (row == mine) {
    PetscCall(MatGetValues(A, 1, &first, 1, &first, &value));
    size = PetscIsNanScalar(value) ? (PetscReal)INFINITY : PetscAbsScalar(value); /* NaN is no largest one */
  }
  PetscCallMPI(MPI_Allreduce(&size, &largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  if (finite) {
    *finite = (PetscBool)!PetscIsInfOrNanReal(largest);
    if (!*finite) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(largest == 0.0, PetscObjectComm(obj), PETSC_ERR_ARG_OUTOFRANGE,
             "Row %" PetscInt_FMT " of the matrix has a diagonal entry of magnitude %g, by which one cannot divide: "
             "block-asynchronous iteration needs 1/a_ii to be finite",
             row, (double)largest);
  PetscCall(MatFindZeroDiagonals(A, &zeros));
  PetscCall(ISGetSize(zeros, &count));
  PetscCall(ISDestroy(&zeros));
  PetscCall(PetscObjectGetOptionsPrefix(obj, &prefix));
  if (!prefix) prefix = "";
  SETERRQ(PetscObjectComm(obj), PETSC_ERR_ARG_WRONG,
          "Row %" PetscInt_FMT
          " of the matrix has no diagonal entry, or it is zero: block-asynchronous iteration divides by it. "
          "Such rows: %" PetscInt_FMT " of %" PetscInt_FMT ". If these are constraints, as of the pressure in a "
          "flow, use PCFIELDSPLIT, with this solver for the other unknowns: -%sksp_type gmres -%spc_type fieldsplit "
          "-%spc_fieldsplit_type schur -%spc_fieldsplit_detect_saddle_point -%sfieldsplit_0_pc_type baimg. Otherwise "
          "use a direct solver: -%spc_type lu",
          row, count, none, prefix, prefix, prefix, prefix, prefix, prefix);
}

/* The engine, with the blocks that are asked for or found */
static PetscErrorCode CreateEngine(BAI *bai, Mat Ad, const BAIMatrix *M, BAIStatus *status)
{
  BAIRelaxation      *relax     = &bai->relax;
  BAIPartition        partition = {.first = NULL};
  const BAIPartition *blocks;

  PetscFunctionBegin;
  BAIEngineDestroy(&relax->engine);
  relax->strong = PETSC_FALSE;
  if (bai->options.partition == BAI_PARTITION_AUTO)
    PetscCall(BAIFindPartition(bai, Ad, &relax->use.partition, &relax->strong));
  if (!bai->origin) PetscCall(BAICreatePartition(bai, Ad, &partition));
  blocks  = bai->origin ? BAIEnginePartition(bai->origin->relax.engine) : partition.first ? &partition : NULL;
  *status = BAIEngineCreate(relax->use.backend, M, blocks, &relax->use.p, &relax->engine);
  if (status->code == BAI_ERR_DIAGONAL &&
      !relax->unit) { /* where 1 may stand for it: as in PCJACOBI; a solver would solve another system */
    relax->unit = relax->use.p.unit = bai->face->solves ? BAI_UNIT_ROWS : BAI_UNIT_ALL;
    *status                         = BAIEngineCreate(relax->use.backend, M, blocks, &relax->use.p, &relax->engine);
  }
  PetscCall(BAIDestroyPartition(&partition));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -info: which kernels do the global iterations, and why others do not */
static PetscErrorCode Explain(const BAI *bai)
{
  const BAIMode mode      = bai->relax.use.p.mode;
  char          text[512] = "";

  PetscFunctionBegin;
  PetscCall(BAICheckStatus(bai, BAIEngineExplain(bai->relax.engine, mode, text, sizeof(text))));
  if (text[0]) PetscCall(PetscInfo(bai->obj, "Kernels of mode %s: %s\n", BAIModes[mode], text));
  if (bai->relax.info.units)
    PetscCall(PetscInfo(bai->obj,
                        "1 stands for the diagonal entry of %" PetscInt64_FMT " rows, where it is zero or missing\n",
                        (PetscInt64)bai->relax.info.units));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was found out is of one matrix */
static PetscErrorCode ForgetIfOther(BAI *bai, Mat A)
{
  PetscObjectId id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  if (id != bai->relax.seen) bai->relax.unit = BAI_UNIT_NONE;
  bai->relax.seen = id;
  PetscCall(MatGetSize(A, &bai->relax.rows, NULL));
  PetscCall(MatGetOwnershipRange(A, &bai->relax.first, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Mode auto of a smoother: rows are so long that nearly all blocks read from each other, so that most of a device would
   wait for its turn; or A is a product P^T A P, which is a coarse level of multigrid: few blocks have the same colour
   there, and what smooths best does not pay
*/
static PetscErrorCode LookIfCrowded(BAI *bai, Mat A)
{
  MatInfo        info;
  MatProductType product;

  PetscFunctionBegin;
  bai->relax.crowded = PETSC_FALSE;
  if (bai->options.mode != BAI_MODE_AUTO || bai->face->solves) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatProductGetType(A, &product));
  bai->relax.crowded = (PetscBool)(info.nz_used > BAI_LONG_ROW * (PetscLogDouble)bai->relax.rows ||
                                   product == MATPRODUCT_PtAP);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives back the arrays that this rank has got */
static PetscErrorCode RestoreRows(BAIBackend backend, const Parts *m, BAIMatrix *M)
{
  PetscFunctionBegin;
  if (M->A.i) PetscCall(BAIRestoreRows(backend, m->square, &M->A));
  if (M->B.i) PetscCall(BAIRestoreRows(backend, m->other, &M->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values or a new engine, as this choice asks for, from the arrays of the matrix. All ranks do the same work, which
 * may turn out to be more */
static PetscErrorCode FillEngine(BAI *bai, const Parts *m, const BAIChoice *choice, int *work)
{
  BAIStatus      status = BAIStatusOf(BAI_OK);
  BAIMatrix      M      = {.nghost = (BAIInt)m->nghost};
  PetscInt       n;
  PetscBool      device = PETSC_FALSE;
  BAIReal       *share  = NULL;
  PetscErrorCode mine, code;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(m->A, &n, NULL));
  M.n  = (BAIInt)n;
  mine = BAIGetRows(choice->backend, m->square, &M.A, &device);
  if (!mine && m->other) mine = BAIGetRows(choice->backend, m->other, &M.B, &device);
  if (!mine && bai->origin) {
    PetscCall(PetscMalloc1(n + 1, &share));
    mine    = BAICheckStatus(bai, BAIEngineShares(bai->origin->relax.engine, share));
    M.share = share;
  }
  code = BAIAgree(bai, mine, work);
  if (code) PetscCall(RestoreRows(choice->backend, m, &M)); /* also if it is another rank that has failed */
  if (code) PetscCall(PetscFree(share));
  PetscCall(code);
  M.memory = device ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST;
  if (*work == WORK_VALUES) {
    status = BAIEngineUpdateValues(bai->relax.engine, &M);
    if (status.code == BAI_ERR_PATTERN || (status.code == BAI_ERR_DIAGONAL && !bai->relax.unit)) *work = WORK_ENGINE;
    PetscCall(BAIAgree(bai, PETSC_SUCCESS, work));
  }
  PetscCall(PetscMemcpy(&bai->relax.use, choice, sizeof(*choice)));
  if (*work == WORK_ENGINE) {
    PetscCall(BAIDisconnect(bai));
    PetscCall(BAIScatterCreate(bai, m->A, m->other, m->nghost, m->garray));
    mine = CreateEngine(bai, m->square, &M, &status);
    bai->relax.setups++;
  } else bai->relax.updates++;
  PetscCall(RestoreRows(choice->backend, m, &M));
  PetscCall(PetscFree(share));
  code = BAICheckDiagonal(bai, m->A, status, NULL);
  if (!code) code = BAIAgree(bai, mine ? mine : BAICheckStatus(bai, status), NULL);
  if (code) PetscCall(BAIDropEngine(bai)); /* on all ranks */
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What does the global iterations */
static PetscErrorCode ChooseRun(BAI *bai)
{
  PetscFunctionBegin;
  bai->relax.run = BAIIterate;
  if (bai->relax.use.refine == BAI_REFINE_SYNC) bai->relax.run = BAIRunRefined;
  else if (bai->relax.use.refine == BAI_REFINE_NONE && bai->relax.use.p.single) bai->relax.run = BAIRunRounded;
  PetscCall(BAIResearchSetUp(bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An engine that holds this matrix, ready to iterate */
static PetscErrorCode Renew(BAI *bai, const Parts *m, BAIChoice *choice, int *work)
{
  PetscErrorCode mine = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)m->A));
  PetscCall(MatDestroy(&bai->relax.A));
  bai->relax.A  = m->A;
  bai->relax.id = 0; /* until all ranks are known to have come through */
  PetscCall(BAICheckMatrix(bai->obj, m->A));
  PetscCall(ChooseWeight(bai, m->A, choice, work));
  PetscCall(FillEngine(bai, m, choice, work));
  if (*work == WORK_ENGINE) {
    PetscCall(BAIConnect(bai, m->A, m->nghost, m->garray));
    mine = BAITakeTurns(bai, m->A, m->nghost, m->garray);
  }
  if (mine) PetscCall(BAIDropEngine(bai)); /* on all ranks */
  PetscCall(mine);
  PetscCall(PetscObjectGetId((PetscObject)m->A, &bai->relax.id));
  PetscCall(PetscObjectStateGet((PetscObject)m->A, &bai->relax.state));
  BAIEngineInfo(bai->relax.engine, &bai->relax.info);
  if (*work == WORK_ENGINE) PetscCall(Explain(bai));
  bai->relax.refinement.learnt = PETSC_FALSE;
  if (bai->relax.use.refine == BAI_REFINE_SYNC) PetscCall(BAIRefinementSetUp(bai));
  bai->relax.largest = 0.0;
  bai->relax.tau     = 1.0;
  if (bai->relax.use.weight == BAI_WEIGHT_TAU) PetscCall(BAIFindTau(bai, m->A, &bai->relax.tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc works on the stream that the engine works on */
PetscErrorCode BAIIsOnStream(const BAI *bai, PetscBool *is)
{
  int   device;
  void *stream;

  PetscFunctionBegin;
  *is = PETSC_TRUE;
  if (!bai->relax.engine || bai->relax.use.backend != BAI_BACKEND_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIDeviceOf(bai->node.rank, &device, &stream));
  *is = (PetscBool)(stream == bai->relax.use.p.stream);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The engine holds this matrix as it is now, and does what the options ask for, on this rank; what is not set up on
 * some rank is not on all */
PetscErrorCode BAIIsSetUp(const BAI *bai, Mat A, PetscBool *is)
{
  PetscObjectId    id;
  PetscObjectState state;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (!bai->relax.engine || !bai->relax.id) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (id != bai->relax.given || state != bai->relax.given_state) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIOptionsEqual(bai->face, &bai->set, &bai->options, is));
  if (*is) PetscCall(BAIIsOnStream(bai, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Gives the engine the matrix as it is now, and what the options ask for. Nothing is done if it is the same matrix in
   the same state, and the same options; new values in an old pattern are put in place; only another pattern, or other
   options, are cut anew
*/
PetscErrorCode BAISetUp(BAI *bai, Mat given)
{
  const PetscObject obj = bai->obj;
  Parts             m;
  BAIChoice         choice;
  int               work = WORK_NONE;
  PetscErrorCode    mine;

  PetscFunctionBegin;
  bai->relax.given = 0; /* until all of it is done */
  PetscCall(BAIOptionsCheckTogether(bai));
  PetscCall(ForgetIfOther(bai, given));
  PetscCall(BAIConvert(bai, given, &m.A));
  PetscCall(LookIfCrowded(bai, m.A));
  PetscCall(BAIGetParts(obj, m.A, &m.square, &m.other, &m.nghost, &m.garray));
  PetscCall(BAIGetNode(bai, PetscObjectComm((PetscObject)m.A)));
  mine = Choose(bai, m.square,
                bai->options.weight != BAI_WEIGHT_AUTO ? bai->options.weight
                  : bai->relax.engine                  ? bai->relax.use.weight
                                                       : BAI_WEIGHT_NONE,
                &choice);
  if (!mine && !bai->relax.engine) bai->relax.use.backend = choice.backend; /* which errors name */
  if (!mine) mine = BAICheckStatus(bai, BAIBackendIsReady(choice.backend, choice.p.stream));
  if (!mine) mine = Compare(bai, &m, &choice, &work);
  PetscCall(BAIAgree(bai, mine, &work));
  if (work != WORK_NONE) {
    PetscCall(PetscLogEventBegin(BAI_SetUp, obj, m.A, 0, 0));
    mine = Renew(bai, &m, &choice, &work);
    if (mine) bai->relax.id = 0; /* what the engine was not made ready for is the next set-up's business */
    PetscCall(
      PetscLogEventEnd(BAI_SetUp, obj, m.A, 0, 0)); /* also after an error, which of gathered rows only some ranks have:
                                                       those that wait in the log for all would wait in vain */
    PetscCall(mine);
    PetscCall(PetscInfo(obj, "%s of %" PetscInt64_FMT " blocks on the backend %s\n",
                        work == WORK_ENGINE ? "Set up" : "New values for the engine",
                        (PetscInt64)bai->relax.info.blocks, BAIEngineName(bai->relax.engine)));
  }
  PetscCall(ChooseRun(bai));
  bai->set = bai->options;
  PetscCall(PetscObjectGetId((PetscObject)given, &bai->relax.given));
  PetscCall(PetscObjectStateGet((PetscObject)given, &bai->relax.given_state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No relaxation is set up any longer; collective */
PetscErrorCode BAIDropEngine(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(BAIDisconnect(bai));
  BAIEngineDestroy(&bai->relax.engine);
  PetscCall(MatDestroy(&bai->relax.A));
  bai->relax.id = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIReset(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(BAIDestroyTransposed(bai));
  PetscCall(BAIDropEngine(bai));
  PetscCall(BAIScatterDestroy(bai));
  PetscCall(MatDestroy(&bai->aij));
  PetscCall(BAIResearchReset(bai));
  PetscCall(VecDestroy(&bai->r));
  PetscCall(VecDestroy(&bai->c));
  PetscCall(BAIRefinementReset(bai));
  PetscCall(BAIForgetNode(bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}
