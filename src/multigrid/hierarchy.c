/* The multigrid hierarchy of a PCBAIMG: set-up, and new values */
#include "hierarchy.h"
#include "rules.h"
#include <petsctime.h>

/* Sources of aggregates besides the engine, by priority */
static BAICoarsening *const coarsenings[] = {BAIAggregatesOfUsers};

/* Allocates bai->hierarchy with standard options and the default precision for bai->face. It has no levels before
   BAIHierarchySetUp() */
PetscErrorCode BAIHierarchyCreate(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(&bai->hierarchy));
  PetscCall(BAIOptionsStandard(&BAIFaceMG, &bai->hierarchy->options));
  bai->hierarchy->single = bai->face->solves ? BAI_SINGLE_IN_RANGE : BAI_SINGLE_HERMITIAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective, as ranks release each other's memory */
PetscErrorCode BAIHierarchyDestroyLevels(BAIHierarchy h)
{
  PetscFunctionBegin;
  if (h->ranks) PetscCall(BAIRankLevelsDestroy(&h->ranks));
  BAILevelsDestroy(&h->levels);
  PetscCall(BAIGatheredDestroy(&h->gathered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees the levels with their scaling and fields; options and aggregates of the user stay. Collective */
PetscErrorCode BAIHierarchyReset(BAI *bai)
{
  BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHierarchyDestroyLevels(h));
  PetscCall(VecDestroy(&h->b));
  PetscCall(VecDestroy(&h->x));
  PetscCall(PCDestroy(&h->jacobi));
  PetscCall(BAIScalingReset(&h->scaling));
  PetscCall(BAIInterleavedReset(&h->interleaved));
  h->fields = (BAIFields){.use = BAI_FIELDS_APART};
  h->ready = h->cannot_share = PETSC_FALSE;
  h->of.id                   = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIHierarchyDestroy(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(BAIHierarchyReset(bai));
  if (bai->hierarchy) PetscCall(BAIAggregatesDestroy(&bai->hierarchy->aggregates));
  PetscCall(PetscFree(bai->hierarchy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Logs the begin or the end of a stage of a set-up. Engine code calls it, which has no error code to return */
static void LogStage(BAILevelsStage stage, int begins)
{
  const PetscLogEvent event[] = {[BAI_STAGE_COARSEN]  = BAI_Coarsen,
                                 [BAI_STAGE_GALERKIN] = BAI_Galerkin,
                                 [BAI_STAGE_FILL]     = BAI_Fill,
                                 [BAI_STAGE_FACTOR]   = BAI_Factor};

  if (begins) (void)PetscLogEventBegin(event[stage], 0, 0, 0, 0);
  else (void)PetscLogEventEnd(event[stage], 0, 0, 0, 0);
}

/* Fills in the parameters that a set-up would use now, except arrays that only BAILevelsCreate() reads. given is the
   user's matrix, A that of the levels, Ad its square part */
static PetscErrorCode GetParameters(const BAI *bai, Mat given, Mat A, Mat Ad, BAIBackend *backend,
                                    BAILevelsParameters *p)
{
  const BAILevelsOptions *o = &bai->hierarchy->options;
  Vec                     mode[BAI_LEVELS_MODES];
  PetscInt                fields, first, all;
  PetscMPIInt             size;
  MatNullSpace            space;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p))); /* padding too, as parameters are compared as a whole */
  *backend = bai->options.backend;
  if (*backend == BAI_BACKEND_AUTO) PetscCall(BAIBackendOf(Ad, backend));
  fields = bai->hierarchy->fields.unknowns.count;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  PetscCall(MatGetSize(A, &all, NULL));
  p->stage       = LogStage;
  p->first       = (BAIInt)first;
  p->all         = size > 1 ? (BAIInt)all : 0;
  p->levels      = o->levels == PETSC_DECIDE ? 0 : (int)o->levels;
  p->local_iters = (BAIInt)o->local_iters;
  p->over        = bai->hierarchy->no_over ? 1 : (BAIReal)o->over;
  p->fields      = (BAIInt)fields;
  PetscCall(BAIGetModes(bai, given, A, fields, mode, &p->modes, &p->constants, &p->modes_id));
  if (bai->hierarchy->chip || (!p->modes && bai->hierarchy->fields.use == BAI_FIELDS_TOGETHER)) p->fields = 1;
  p->like     = bai->origin && !bai->apart ? bai->origin->hierarchy->levels : NULL;
  p->longest  = o->levels > 0 || bai->origin ? 0 : BAI_LONGEST_ROW;
  p->resident = (int)(bai->hierarchy->chip && *backend == BAI_BACKEND_CUDA);
  if (*backend == BAI_BACKEND_CUDA) {
    /* in single precision the rows of a singular matrix no longer add up to zero, which the coarsest level amplifies */
    PetscCall(MatGetNullSpace(given, &space));
    p->single = space || bai->hierarchy->not_single ? 0 : bai->hierarchy->single;
    if (o->single != PETSC_BOOL3_UNKNOWN) p->single = o->single == PETSC_BOOL3_TRUE;
    PetscCall(BAIGetDevice(bai->node.rank, &p->device, &p->stream));
    p->idle_wait = (int)bai->options.idle_wait;
  } else PetscCall(BAIGetThreads(bai, &p->threads));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(coarsenings) && !p->given; k++)
    PetscCall((*coarsenings[k])(bai, A, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows the end of coarsening by -info */
static PetscErrorCode TellLevels(const BAI *bai)
{
  const BAIHierarchy   h = bai->hierarchy;
  const BAILevelsInfo *i = &h->info;

  PetscFunctionBegin;
  PetscCall(PetscInfo(bai->obj, "%d levels; coarsening ended, as %s; the last one is %s; set up in %g s\n", i->levels,
                      i->stop       ? i->stop
                        : h->jacobi ? "a row is too long"
                                    : "this rank has no rows",
                      i->exact ? "solved exactly" : "smoothed", (double)h->seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inputs of a set-up */
typedef struct {
  BAIBackend          backend;
  BAILevelsParameters p;
  BAIMatrix           M;
  PetscBool           device;   /* the arrays of M are on a device */
  const PetscInt     *garray;   /* global numbers of ghosts */
  BAIGatheredPlan     gathered; /* whether the system is gathered */
} Request;

/* Finds the work that leads to levels for the present matrix and options, from what this rank knows */
static PetscErrorCode CompareRequest(const BAI *bai, Mat given, const Request *r, int *work)
{
  const BAIHierarchy h = bai->hierarchy;
  const BAIMatrix   *M = &r->M;
  BAIVersion         now;
  PetscBool          same = PETSC_FALSE;

  PetscFunctionBegin;
  *work = BAI_WORK_NEW;
  PetscCall(BAIVersionOf((PetscObject)given, &now));
  if (!h->ready || (h->jacobi && now.state != h->of.state) || r->backend != h->backend || now.id != h->of.id ||
      M->n != h->M.n)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemcmp(&r->p, &h->p, sizeof(r->p), &same));
  if (same) PetscCall(PetscMemcmp(&r->gathered, &h->plan, sizeof(h->plan), &same));
  if (!same) PetscFunctionReturn(PETSC_SUCCESS);
  same = (PetscBool)(M->A.i == h->M.A.i && M->A.j == h->M.A.j && M->A.a == h->M.A.a && M->B.i == h->M.B.i &&
                     M->B.j == h->M.B.j && M->B.a == h->M.B.a && M->memory == h->M.memory);
  if (same && now.state == h->of.state) *work = BAI_WORK_NONE;
  else if (!PetscIsInfOrNanReal((PetscReal)h->info.norm)) /* aggregates were made from finite values */
    *work = BAI_WORK_VALUES;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes new levels, on a rank without rows none. Only now the engine reads the arrays of modes and numbers. Data of a
   GPU stay there if the levels are on it. Collective */
static PetscErrorCode CreateLevels(BAI *bai, Mat given, const PetscInt garray[], BAIStatus *status)
{
  BAIHierarchy        h     = bai->hierarchy;
  BAIMatrix           whole = h->M;
  BAILevelsParameters p;
  Vec                 mode[BAI_LEVELS_MODES];
  BAIScalar          *array[BAI_LEVELS_MODES];
  BAIMemory           memory;
  int                 modes, constants;
  uint64_t            id;

  PetscFunctionBegin;
  PetscCall(PetscMemcpy(&p, &h->p, sizeof(p)));
  p.ghost = (const BAIInt *)garray;
  PetscCall(BAIGetModes(bai, given, given, (PetscInt)p.fields, mode, &modes, &constants, &id));
  if (h->scaling.left && !constants) PetscCall(BAIHierarchyScaleModes(bai, modes, mode));
  for (int k = 0; k < modes; k++) {
    if (!mode[k]) continue;
    PetscCall(BAIVecGetArray(h->backend, mode[k], BAI_READ, &array[k], &memory));
    p.mode[k] = array[k];
  }
  if (h->gathered) PetscCall(BAIGatheredTake(h->gathered, &h->M, 0, garray, PETSC_TRUE, &whole));
  for (int k = 0; k < modes && h->gathered; k++)
    if (mode[k]) PetscCall(BAIGatheredMode(h->gathered, k, &p.mode[k]));
  if (whole.n) *status = BAILevelsCreate(h->backend, &whole, &p, &h->levels);
  for (int k = 0; k < modes; k++) {
    if (!mode[k]) continue;
    PetscCall(BAIVecRestoreArray(h->backend, mode[k], BAI_READ, &array[k]));
    if (h->scaling.left) PetscCall(VecDestroy(&mode[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the memory of a system that is gathered, or if ranks cannot access each other's memory, lets each rank have
   levels of its part. Collective */
static PetscErrorCode ShareWhole(BAI *bai, Mat A)
{
  BAIHierarchy h = bai->hierarchy;
  PetscInt     first, all;

  PetscFunctionBegin;
  PetscCall(BAIGatheredCreate(bai, (PetscInt)h->M.n, h->plan.nnz,
                              BAI_GATHERED_MODES + (h->p.constants ? 0 : h->p.modes), h->plan.use,
                              (PetscBool)!h->plan.few, &h->gathered));
  if (h->gathered) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!bai->origin, PetscObjectComm(bai->obj), PETSC_ERR_LIB,
             "Ranks cannot access each other's memory for the transposed matrix, as they do for the matrix");
  h->cannot_share = PETSC_TRUE;
  PetscCall(PetscMemzero(&h->plan, sizeof(h->plan)));
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  PetscCall(MatGetSize(A, &all, NULL));
  h->p.first = (BAIInt)first;
  h->p.all   = (BAIInt)all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives levels new values, or makes new ones; all ranks do the same work. If new values do not fit, work becomes
   BAI_WORK_NEW. status is the one of this rank. A is the matrix of the levels */
static PetscErrorCode RenewLevels(BAI *bai, Mat given, Mat A, const PetscInt garray[], int *work, BAIStatus *status)
{
  BAIHierarchy h     = bai->hierarchy;
  BAIMatrix    whole = h->M;

  PetscFunctionBegin;
  *status = BAIStatusOf(BAI_OK);
  if (*work == BAI_WORK_VALUES) {
    if (h->gathered) PetscCall(BAIGatheredTake(h->gathered, &h->M, 0, garray, PETSC_FALSE, &whole));
    if (h->levels) *status = BAILevelsUpdateValues(h->levels, &whole, (const BAIInt *)garray);
    if (status->code == BAI_ERR_PATTERN || status->code == BAI_ERR_OUTDATED) *work = BAI_WORK_NEW;
    if (*work == BAI_WORK_NEW) PetscCall(PetscInfo(bai->obj, "New levels: %s\n", BAICodeString(status->code)));
    PetscCall(BAIAgree(bai, PETSC_SUCCESS, work));
  }
  if (*work == BAI_WORK_NEW) {
    PetscCall(BAIHierarchyDestroyLevels(h));
    *status = BAIStatusOf(BAI_OK);
    if (h->plan.wanted) PetscCall(ShareWhole(bai, A));
    if (h->chip && h->p.all) *status = BAIStatusOf(BAI_ERR_CHIP); /* which holds whole systems only */
    else PetscCall(CreateLevels(bai, given, garray, status));
    h->setups++;
  } else h->updates++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up the PCJACOBI that replaces levels if a row is too long */
static PetscErrorCode SetUpJacobi(BAI *bai, Mat A)
{
  BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  if (!h->jacobi) {
    PetscCall(PCCreate(PetscObjectComm(bai->obj), &h->jacobi));
    PetscCall(PCSetType(h->jacobi, PCJACOBI));
  }
  PetscCall(PCSetOperators(h->jacobi, A, A));
  PetscCall(PCSetUp(h->jacobi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets h->info, hermitian, negative and flops from the levels, or from the PCJACOBI that replaces them.
   Collective */
static PetscErrorCode TakeInfo(BAI *bai, Mat A)
{
  enum {
    POSITIVE = 1, /* diagonal entries of a Hermitian matrix */
    NEGATIVE = 2
  };
  BAIHierarchy h     = bai->hierarchy;
  int          found = 0;
  PetscBool    known;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&h->info, sizeof(h->info)));
  BAILevelsInfoGet(h->levels, &h->info);
  if (h->levels) found = !h->info.hermitian ? POSITIVE | NEGATIVE : h->info.negative ? NEGATIVE : POSITIVE;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_BOR, PetscObjectComm(bai->obj)));
  h->hermitian = (PetscBool)(found != (POSITIVE | NEGATIVE));
  if (h->jacobi) {
    PetscCall(MatIsHermitianKnown(A, &known, &h->hermitian));
    if (!known) PetscCall(BAILooksHermitian(A, &h->hermitian));
  }
  h->negative      = (PetscBool)(found == NEGATIVE);
  h->flops         = BAILevelsFlops(&h->info, h->p.local_iters, 0);
  h->flops_product = h->info.levels ? 2.0 * (double)h->info.level[0].nnz : 0;
  if (h->gathered) PetscCall(BAIGatheredInfo(h->gathered, &h->info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds the inputs of a set-up, and the work that it takes on all ranks. Arrays of the matrix are restored, but r->M
   still points to them, as they stay in place */
static PetscErrorCode FindWork(BAI *bai, Mat given, Mat A, Request *r, int *work)
{
  Mat            Ad, Ao;
  PetscInt       nghost;
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(BAIGetParts(bai->obj, A, &Ad, &Ao, &nghost, &r->garray));
  PetscCall(BAIGetNode(bai, PetscObjectComm((PetscObject)A)));
  code = GetParameters(bai, given, A, Ad, &r->backend, &r->p);
  if (!code) code = BAIGetMatrix(r->backend, Ad, Ao, nghost, &r->M, &r->device);
  PetscCall(BAIGatheredFind(bai, Ad, Ao, r->backend, &r->p, code ? NULL : &r->M, &r->gathered));
  if (r->gathered.wanted) r->p.first = r->p.all = 0;
  if (!code) code = BAICheckReady(bai, r->backend, r->p.device, r->p.stream);
  if (!code) code = CompareRequest(bai, given, r, work);
  code = BAIAgree(bai, code, work);
  if (r->M.B.i) PetscCall(BAIRestoreRows(r->backend, Ao, &(BAICSR){r->M.B.i, r->M.B.j, r->M.B.a}));
  if (r->M.A.i) PetscCall(BAIRestoreRows(r->backend, Ad, &(BAICSR){r->M.A.i, r->M.A.j, r->M.A.a}));
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Deals with an error of the engine on some rank, mine on this one. none: it leaves no levels, but is no error of
   PETSc, as an entry of the diagonal is not finite. Collective */
static PetscErrorCode TakeError(BAI *bai, Mat given, Mat A, BAIStatus mine, PetscBool *none)
{
  BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  if (h->plan.wanted) { /* the owner of the row reports it */
    PetscInt row = mine.code == BAI_ERR_DIAGONAL ? (PetscInt)mine.row : -1, first;

    PetscCall(MatGetOwnershipRange(A, &first, NULL));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &row, 1, MPIU_INT, MPI_MAX, PetscObjectComm(bai->obj)));
    if (mine.code == BAI_ERR_DIAGONAL) mine.code = BAI_OK;
    row -= first;
    if (row >= 0 && row < (PetscInt)h->M.n) mine = (BAIStatus){.code = BAI_ERR_DIAGONAL, .row = (BAIInt)row};
  }
  if (h->interleaved.fields) { /* the user knows the other numbering */
    PetscCall(BAIConvert(bai, given, &A));
    mine.row = (BAIInt)BAIRowByField(h->interleaved.fields, (PetscInt)h->M.n, (PetscInt)mine.row);
  }
  PetscCall(BAICheckDiagonal(bai, A, mine, &h->finite));
  *none = (PetscBool)!h->finite;
  if (*none) { /* as in a Newton step that goes too far */
    PetscCall(PetscMemzero(&h->info, sizeof(h->info)));
    h->ready = PETSC_FALSE;
    PetscCall(PetscInfo(bai->obj, "A diagonal entry is infinite or NaN: there are no levels\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, mine), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors of set-up by how bad they are: all ranks deal with the worst */
enum {
  BAD_LONG = 1,
  BAD_CHIP,
  BAD_ANY
};

static int BadnessOf(BAIStatus status)
{
  return status.code == BAI_ERR_LONG ? BAD_LONG : status.code == BAI_ERR_CHIP ? BAD_CHIP : status.code ? BAD_ANY : 0;
}

/* Makes levels, or gives them new values, also across ranks. bad: if some rank had an error, of which mine is that of
   this one, there are none. fits: whether new values across ranks fit, if there are any. Collective */
static PetscErrorCode MakeLevels(BAI *bai, Mat given, Mat A, const PetscInt garray[], int *work, BAIStatus *mine,
                                 int *bad, PetscBool *fits)
{
  BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  *fits = PETSC_TRUE;
  PetscCall(RenewLevels(bai, given, A, garray, work, mine));
  *bad = BadnessOf(*mine);
  PetscCall(BAIAgree(bai, PETSC_SUCCESS, bad));
  if (*bad) {
    PetscCall(BAIHierarchyDestroyLevels(h));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCDestroy(&h->jacobi));
  PetscCall(TakeInfo(bai, A));
  if (h->p.all && *work == BAI_WORK_VALUES) PetscCall(BAIRankLevelsRenew(bai, fits));
  else if (h->p.all) PetscCall(BAIRankLevelsSetUp(bai, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up levels. scaled: the scaling was found for this very matrix. done: what was done; BAI_WORK_NONE also if there
   are no levels. If a row is too long, h->jacobi replaces them. If an entry of the diagonal is not finite, or a matrix
   for the chip does not fit, there are none, without an error */
PetscErrorCode BAIHierarchyMake(BAI *bai, Mat A, PetscBool scaled, int *done)
{
  BAIHierarchy   h     = bai->hierarchy;
  const Mat      given = A;
  Request        r     = {.backend = BAI_BACKEND_HOST};
  BAIStatus      mine  = BAIStatusOf(BAI_OK);
  PetscLogDouble start, end;
  int            work = BAI_WORK_NONE, bad = 0;
  PetscBool      fits, none = PETSC_FALSE, others = PETSC_FALSE;
  PetscErrorCode code;
  PetscObjectId  id;

  PetscFunctionBegin;
  *done = BAI_WORK_NONE;
  PetscCall(h->ready ? BAICheckAssembled(bai->obj, A) : BAICheckMatrix(bai->obj, A));
  PetscCall(BAIConvert(bai, A, &A));
  PetscCall(PetscObjectGetId((PetscObject)given, &id));
  if (!scaled) PetscCall(BAIFieldsFind(bai, given, A, &others));
  PetscCall(BAIInterleave(h, A, &A));
  if (others && h->ready) {
    PetscCall(PetscInfo(bai->obj, "New levels: the new values couple the fields otherwise\n"));
    h->ready = PETSC_FALSE;
  }
  if (!scaled && !bai->origin && (!h->ready || id != h->of.id)) PetscCall(BAIScalingReset(&h->scaling));
  PetscCall(BAIScalingGetMatrix(&h->scaling, A, &A));
  PetscCall(FindWork(bai, given, A, &r, &work));
  h->change      = bai->change;
  h->no_over_set = h->no_over;
  h->single_set  = h->single;
  h->backend_set = bai->options.backend;
  h->finite      = PETSC_TRUE;
  if (work == BAI_WORK_NONE) PetscFunctionReturn(PETSC_SUCCESS);

  PetscCall(PetscLogEventBegin(BAI_SetUp, bai->obj, A, 0, 0));
  PetscCall(PetscTime(&start));
  h->M                   = r.M;
  h->device              = r.device;
  h->backend             = r.backend;
  bai->relax.use.backend = r.backend; /* for error messages */
  PetscCall(PetscMemcpy(&h->p, &r.p, sizeof(r.p)));
  PetscCall(PetscMemcpy(&h->plan, &r.gathered, sizeof(h->plan)));
  code = MakeLevels(bai, given, A, r.garray, &work, &mine, &bad, &fits);
  PetscCall(PetscTime(&end));
  PetscCall(PetscLogEventEnd(BAI_SetUp, bai->obj, A, 0, 0));
  PetscCall(code);
  if (bad == BAD_ANY) PetscCall(TakeError(bai, given, A, mine, &none));
  if (none) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIVersionOf((PetscObject)given, &h->of));
  if (bad == BAD_CHIP) {
    PetscCall(PetscMemzero(&h->info, sizeof(h->info)));
    h->ready = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (bad) {
    PetscCall(SetUpJacobi(bai, A));
    PetscCall(TakeInfo(bai, A));
  }
  if (!fits) {
    PetscCall(PetscInfo(bai->obj, "New levels: aggregates of some rank do not fit the new values\n"));
    h->ready = PETSC_FALSE;
    PetscCall(BAIHierarchyMake(bai, given, PETSC_TRUE, done));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  h->ready = PETSC_TRUE;
  *done    = work;
  if (work == BAI_WORK_NEW) h->seconds = end - start;
  if (work == BAI_WORK_NEW) PetscCall(TellLevels(bai));
  else PetscCall(PetscInfo(bai->obj, "New values for %d levels, in %g s\n", h->info.levels, (double)(end - start)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
