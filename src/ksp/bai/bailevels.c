/*
   KSPBAI with many levels: conjugate gradients round a cycle, in the place of relaxation
*/
#include "../../bai/levels.h"
#include "../../bai/gather.h"
#include <petsc/private/kspimpl.h>

/* With levels auto: systems of fewer rows are solved by relaxation, on a GPU in one launch that keeps them on the chip.
   Of a matrix that hardly coarsens, where so large a part of the rows is left on the last level, nothing is gained */
#define LEAST_ROWS_HOST 65536
#define LEAST_ROWS_CUDA 120001
#define LONGEST_ROW     1000 /* entries: few rows are that long in what discretizes an elliptic equation */
#define MOST_LEFT       0.2

/* With new values in old levels: solves that take so many times the iterations of the first one, and some more, show
   that the values have changed too much for the old aggregates */
#define MUCH_MORE 1.5
#define SOME_MORE 3

/* Options that do not define the method are as they are, and all others are the defaults */
static PetscErrorCode HasStandardMethod(KSP ksp, PetscBool *standard)
{
  const BAI *bai = (BAI *)ksp->data;
  BAIOptions o;

  PetscFunctionBegin;
  PetscCall(BAIOptionsStandard((PetscObject)ksp, &o));
  o.levels    = bai->options.levels;
  o.backend   = bai->options.backend;
  o.gather    = bai->options.gather;
  o.exchange  = bai->options.exchange;
  o.idle_wait = bai->options.idle_wait;
  PetscCall(BAIOptionsEqual(&o, &bai->options, standard));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No null space is attached, or constants alone */
static PetscErrorCode HasPlainNullSpace(Mat A, PetscBool *plain)
{
  MatNullSpace space;
  PetscBool    constant = PETSC_TRUE;
  PetscInt     others   = 0;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(A, &space));
  if (space) PetscCall(MatNullSpaceGetVecs(space, &constant, &others, NULL));
  *plain = (PetscBool)(constant && !others);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With levels auto, before anything is set up: whether levels are tried for this matrix */
static PetscErrorCode MayUseLevels(KSP ksp, Mat A, PetscBool *may)
{
  const BAI  *bai = (BAI *)ksp->data;
  PetscMPIInt size;
  PetscInt    rows, fields;
  PetscBool   right, known, is;
  BAIBackend  backend = bai->options.backend;

  PetscFunctionBegin;
  *may = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  if (size > 1 || bai->known_as || ksp->normtype == KSP_NORM_NONE || ksp->converged == KSPConvergedSkip)
    PetscFunctionReturn(PETSC_SUCCESS); /* a fixed number of iterations is that of a smoother */
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetBlockSize(A, &fields));
  PetscCall(HasStandardMethod(ksp, &right));
  if (!right) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HasPlainNullSpace(A, &right));
  if (!right) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsHermitianKnown(A, &known, &is));
  if (known && !is) PetscFunctionReturn(PETSC_SUCCESS);
  if (backend == BAI_BACKEND_AUTO) {
    PetscMemType memtype = PETSC_MEMTYPE_HOST;

    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &is));
    if (is) PetscCall(MatSeqAIJGetCSRAndMemType(A, NULL, NULL, NULL, &memtype));
    backend = PetscMemTypeCUDA(memtype) ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST;
  }
  *may = (PetscBool)(backend == BAI_BACKEND_CUDA || rows >= LEAST_ROWS_HOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "-<prefix>ksp_bai_levels" */
static PetscErrorCode OptionName(KSP ksp, char name[], size_t len)
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscSNPrintf(name, len, "-%sksp_bai_levels", prefix ? prefix : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a number of levels: they are used, or an error says why they cannot be */
static PetscErrorCode CheckAsked(KSP ksp)
{
  const BAI  *bai = (BAI *)ksp->data;
  char        name[PETSC_MAX_OPTION_NAME];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(OptionName(ksp, name, sizeof(name)));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "%s %" PetscInt_FMT " on %d MPI ranks: must be auto or none, as levels of KSPBAI are on one rank; on "
             "several, -ksp_type cg -pc_type baimg has levels on each",
             name, bai->options.levels, size);
  PetscCheck(!(bai->options.fault_fraction > 0.0) && !bai->options.fault_detect && !bai->options.stats,
             PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "%s %" PetscInt_FMT " with fault_fraction, fault_detect or stats: must be auto or none, as these are of "
             "relaxation",
             name, bai->options.levels);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix is not one for conjugate gradients, or levels do not help; why is NULL if all is well */
static PetscErrorCode LookForReason(const BAIHierarchy h, const char **why)
{
  const BAILevelsInfo *i = &h->info;

  PetscFunctionBegin;
  *why = NULL;
  if (i->resident) PetscFunctionReturn(PETSC_SUCCESS);
  if (!i->hermitian)
    *why = PetscDefined(USE_COMPLEX) ? "the matrix is not Hermitian with positive diagonal entries"
                                     : "the matrix is not symmetric with positive diagonal entries";
  else if (i->levels && !i->exact &&
           (PetscReal)i->level[i->levels - 1].rows > (PetscReal)MOST_LEFT * (PetscReal)i->level[0].rows)
    *why = "hardly any of its rows can be aggregated";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Relaxation solves with this matrix from now on */
static PetscErrorCode Refuse(KSP ksp, Mat A, const char why[])
{
  BAI *bai = (BAI *)ksp->data;

  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp, "No levels for this matrix: %s\n", why));
  PetscCall(BAIHierarchyReset(bai));
  PetscCall(PetscObjectGetId((PetscObject)A, &bai->hierarchy->refused));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets levels up if they are to be used for this matrix; otherwise there are none */
PetscErrorCode KSPSetUp_BAILevels(KSP ksp, PetscBool *use)
{
  BAI           *bai   = (BAI *)ksp->data;
  BAIHierarchy   h     = bai->hierarchy;
  const PetscInt asked = bai->options.levels;
  PetscObjectId  id;
  Mat            A;
  BAIStatus      status;
  const char    *why;

  PetscFunctionBegin;
  *use = PETSC_FALSE;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  if (h->refused != id) h->refused = 0;
  if (asked > 0) {
    PetscCall(CheckAsked(ksp));
    h->refused = 0;
    *use       = PETSC_TRUE;
  } else if (asked && !h->refused) PetscCall(MayUseLevels(ksp, A, use));
  if (!*use) {
    PetscCall(BAIHierarchyReset(bai));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  h->options.levels  = asked;
  h->options.longest = asked > 0 ? 0 : LONGEST_ROW;
  PetscCall(BAIHierarchySetUp(bai, A, asked > 0 ? NULL : &status));
  if (asked < 0 && status.code) why = BAICodeString(status.code);
  else PetscCall(LookForReason(h, &why));
  if (why && asked > 0 && !h->info.hermitian) {
    char name[PETSC_MAX_OPTION_NAME];

    PetscCall(OptionName(ksp, name, sizeof(name)));
    SETERRQ(PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
            "%s %" PetscInt_FMT ": must be auto or none, as %s; -ksp_type gmres -pc_type baimg has levels for it", name,
            asked, why);
  }
  if (why && asked < 0) {
    PetscCall(Refuse(ksp, A, why));
    *use = PETSC_FALSE;
  } else if (bai->engine) { /* of a time when it was relaxation that solved */
    PetscCall(BAIDisconnect(bai));
    BAIEngineDestroy(&bai->engine);
    bai->id = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What BAILevelsSolve() calls after each iteration */
typedef struct {
  KSP               ksp;
  BAILevelsVectors *v;
  PetscInt          before; /* iterations of the solve before this call of the engine */
  PetscErrorCode    code;
} Watch;

/* Somebody may look at x */
static PetscBool SeesX(KSP ksp)
{
  return (PetscBool)(ksp->numbermonitors ||
                     (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip));
}

static PetscErrorCode Look(KSP ksp, PetscInt its, PetscReal rnorm)
{
  PetscFunctionBegin;
  ksp->its   = its;
  ksp->rnorm = rnorm;
  PetscCall(KSPLogResidualHistory(ksp, rnorm));
  PetscCall(KSPMonitor(ksp, its, rnorm));
  if (its) PetscCall((*ksp->converged)(ksp, its, rnorm, &ksp->reason, ksp->cnvP));
  else PetscCall(KSPBAITestGuess(ksp, rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int Monitor(void *context, BAIInt its, BAIReal rnorm)
{
  Watch          *w     = (Watch *)context;
  BAI            *bai   = (BAI *)w->ksp->data;
  const PetscBool shows = SeesX(w->ksp);

  if (w->before && !its) return 0;
  if (shows) w->code = BAIHierarchyShow(bai, w->ksp->vec_sol, w->v);
  if (!w->code) w->code = Look(w->ksp, w->before + (PetscInt)its, (PetscReal)rnorm);
  if (shows && !w->code) w->code = BAIHierarchyUnshow(bai, w->v);
  return w->code || w->ksp->reason;
}

/* CG by the engine, after so many iterations of this solve; if it is watched, until the convergence test says so */
static PetscErrorCode Run(KSP ksp, const BAITolerances *t, PetscBool watched, PetscInt before, BAILevelsSolution *s)
{
  BAI             *bai = (BAI *)ksp->data;
  BAIHierarchy     h   = bai->hierarchy;
  const Vec        b = ksp->vec_rhs, x = ksp->vec_sol;
  const PetscBool  zero = (PetscBool)(ksp->guess_zero && !before);
  BAILevelsVectors v;
  Watch            watch  = {.ksp = ksp, .v = &v, .before = before};
  BAIStatus        status = BAIStatusOf(BAI_OK);
  PetscLogDouble   flops;

  PetscFunctionBegin;
  *s = (BAILevelsSolution){.its = 0, .reason = BAI_LEVELS_CONVERGED};
  PetscCall(PetscLogEventBegin(BAI_Cycle, b, x, 0, 0));
  PetscCall(BAIHierarchyBind(bai, b, x, zero, &v));
  if (h->backend == BAI_BACKEND_CUDA) PetscCall(BAILogDeviceBegin());
  if (h->levels)
    status = BAILevelsSolve(h->levels, v.barray, v.xarray, (int)zero, t, watched ? Monitor : NULL, &watch, s);
  if (h->backend == BAI_BACKEND_CUDA) PetscCall(BAILogDeviceEnd());
  PetscCall(watch.code);
  PetscCall(BAIHierarchyUnbind(bai, x, &v));
  flops = (PetscLogDouble)(s->its + 1) * (h->flops + h->flops_product);
  if (h->backend == BAI_BACKEND_CUDA) PetscCall(BAILogDeviceFlops(flops));
  else PetscCall(PetscLogFlops(flops));
  PetscCall(PetscLogEventEnd(BAI_Cycle, b, x, 0, 0));
  PetscCall(BAICheckStatus(bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tolerances of a solve from a nonzero guess follow from ||b - A x|| of that, and from the convergence test */
static PetscErrorCode LookAtGuess(KSP ksp, Mat A, BAITolerances *t)
{
  BAI      *bai = (BAI *)ksp->data;
  PetscReal rnorm;

  PetscFunctionBegin;
  if (!bai->r) PetscCall(MatCreateVecs(A, &bai->c, &bai->r)); /* both, as BAINeedWork() does */
  PetscCall(MatResidual(A, ksp->vec_rhs, ksp->vec_sol, bai->r));
  PetscCall(BAIVecNorm(bai->r, &rnorm));
  KSPCheckNorm(ksp, rnorm);
  ksp->rnorm = rnorm;
  PetscCall(KSPBAITestGuess(ksp, rnorm));
  *t = (BAITolerances){.rtol   = 0,
                       .abstol = ksp->ttol,
                       .dtol   = ksp->divtol,
                       .bnorm2 = ksp->rnorm0 * ksp->rnorm0,
                       .max_it = (BAIInt)ksp->max_it};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a solve comes to */
typedef enum {
  ENDS,    /* the KSP has its reason */
  REFUSED, /* levels do not serve this matrix, */
  BEYOND   /* or not norms as these: relaxation goes on */
} Outcome;

/* The reason that the end of a solve stands for */
static PetscErrorCode TakeReason(KSP ksp, Mat A, const BAILevelsSolution *s, Outcome *outcome)
{
  const PetscReal rounding = 1000 * PETSC_MACHINE_EPSILON * (PetscReal)PetscMax(s->bnorm, s->rnorm0);
  const PetscBool fixed    = (PetscBool)(ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE);

  PetscFunctionBegin;
  switch (s->reason) {
  case BAI_LEVELS_CONVERGED:
    if (fixed) ksp->reason = KSP_CONVERGED_ITS;
    else ksp->reason = s->rnorm <= ksp->rtol * ksp->rnorm0 ? KSP_CONVERGED_RTOL : KSP_CONVERGED_ATOL;
    break;
  case BAI_LEVELS_ITS:
    ksp->reason = fixed ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
    break;
  case BAI_LEVELS_DTOL:
    ksp->reason = KSP_DIVERGED_DTOL;
    break;
  case BAI_LEVELS_NAN:
    if (ksp->guess_zero && !PetscIsInfOrNanReal((PetscReal)s->rnorm0)) { /* levels made it of numbers */
      PetscCall(VecZeroEntries(ksp->vec_sol));
      PetscCall(Refuse(ksp, A, "a cycle is not finite"));
      *outcome = REFUSED;
    } else ksp->reason = KSP_DIVERGED_NANORINF;
    break;
  case BAI_LEVELS_INDEFINITE:
    if (s->rnorm > rounding) {
      if (s->its) ksp->guess_zero = PETSC_FALSE; /* KSPSolve_BAILevels() restores it */
      PetscCall(Refuse(ksp, A, "it is not positive definite; relaxation goes on from the x reached"));
      *outcome = REFUSED;
      break;
    }
    /* fall through */
  case BAI_LEVELS_STAGNATED:
    if (fixed) ksp->reason = KSP_CONVERGED_ITS;
    else {
      PetscCall(PetscInfo(ksp,
                          "Iteration %" PetscInt_FMT ": the true residual norm, %g, no longer falls, as rounding keeps "
                          "it from the tolerance\n",
                          ksp->its, (double)s->rnorm));
      ksp->reason = KSP_DIVERGED_BREAKDOWN;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Squares of norms down to the tolerance are neither too small nor too large. A negative bnorm stands for ||b||, and is
   set to it; so is 0, which may be the root of what was too small. With b = 0 there is nothing to compute
*/
static PetscErrorCode IsInRange(KSP ksp, PetscReal *bnorm, PetscBool *is)
{
  PetscReal least;

  PetscFunctionBegin;
  if (*bnorm <= 0) PetscCall(BAIVecNorm(ksp->vec_rhs, bnorm));
  least = PetscMax(ksp->rtol * *bnorm, ksp->abstol);
  *is   = (PetscBool)(*bnorm == 0 || PetscIsNanReal(*bnorm) ||
                    (BAIIsExactSquare(*bnorm * *bnorm) &&
                     (least >= *bnorm || least == 0 || BAIIsExactSquare(least * least))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nobody watches: the engine goes all the way alone. A zero guess is tested after that, as it needs the host */
static PetscErrorCode SolveAtOnce(KSP ksp, Mat A, Outcome *outcome)
{
  const PetscBool   fixed = (PetscBool)(ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE);
  BAITolerances     t     = {.rtol   = fixed ? 0 : ksp->rtol,
                             .abstol = fixed ? 0 : ksp->abstol,
                             .dtol   = fixed ? 0 : ksp->divtol,
                             .bnorm2 = -1,
                             .max_it = (BAIInt)ksp->max_it};
  BAILevelsSolution s;
  PetscReal         bnorm;
  PetscBool         in_range = PETSC_TRUE;

  PetscFunctionBegin;
  if (!ksp->guess_zero && !fixed) {
    bnorm = -1;
    PetscCall(IsInRange(ksp, &bnorm, &in_range));
    if (!in_range) *outcome = BEYOND;
    else PetscCall(LookAtGuess(ksp, A, &t));
    if (!in_range || ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Run(ksp, &t, PETSC_FALSE, 0, &s));
  ksp->its = fixed ? ksp->max_it : (PetscInt)s.its;
  if (ksp->guess_zero && !fixed) {
    bnorm = (PetscReal)s.bnorm;
    PetscCall(IsInRange(ksp, &bnorm, &in_range));
    if (!in_range) *outcome = BEYOND;
    if (!in_range) PetscFunctionReturn(PETSC_SUCCESS);
    KSPCheckNorm(ksp, bnorm);
    ksp->rnorm = bnorm;
    PetscCall(KSPBAITestGuess(ksp, bnorm));
    if (ksp->reason) {
      ksp->its = 0;
      PetscCall(VecZeroEntries(ksp->vec_sol));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  ksp->rnorm = (PetscReal)s.rnorm;
  PetscCall(TakeReason(ksp, A, &s, outcome));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The convergence test of the KSP decides, and monitors see each norm. That is of r as CG updates it, so what
   KSPConvergedDefault() took for good enough is compared with b - A x, from which the solve goes on if need be
*/
static PetscErrorCode SolveWatched(KSP ksp, Mat A, Outcome *outcome)
{
  const PetscBool   tested = (PetscBool)(ksp->converged == KSPConvergedDefault);
  BAITolerances     t      = {.bnorm2 = -1};
  BAILevelsSolution s;
  PetscReal         last = PETSC_MAX_REAL, bnorm = -1;
  PetscInt          its      = 0;
  PetscBool         in_range = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(IsInRange(ksp, &bnorm, &in_range));
  if (!in_range) *outcome = BEYOND;
  if (!in_range) PetscFunctionReturn(PETSC_SUCCESS);
  while (PETSC_TRUE) {
    t.max_it = (BAIInt)(ksp->max_it - its);
    PetscCall(Run(ksp, &t, PETSC_TRUE, its, &s));
    its += (PetscInt)s.its;
    ksp->rnorm = (PetscReal)s.rnorm;
    if (!ksp->reason || !tested || ksp->reason < 0 || !its || ksp->rnorm <= ksp->ttol) break;
    ksp->reason = KSP_CONVERGED_ITERATING;
    if (its >= ksp->max_it) s.reason = BAI_LEVELS_ITS;
    else if (ksp->rnorm > last / 2) s.reason = BAI_LEVELS_STAGNATED;
    else {
      last = ksp->rnorm;
      continue;
    }
    break;
  }
  if (!ksp->reason) PetscCall(TakeReason(ksp, A, &s, outcome));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values have changed so much since the levels were set up that they are to be set up anew */
static void Learn(BAIHierarchy h, PetscInt its)
{
  if (!h->first_its) h->first_its = its;
  else if (h->updates_since && (PetscReal)its > (PetscReal)MUCH_MORE * (PetscReal)h->first_its + SOME_MORE)
    h->outdated = PETSC_TRUE;
}

/* A solve with levels, if they are to be used: done. Otherwise, or if they turn out not to serve, relaxation goes on */
PetscErrorCode KSPSolve_BAILevels(KSP ksp, PetscBool *done)
{
  BAI            *bai     = (BAI *)ksp->data;
  BAIHierarchy    h       = bai->hierarchy;
  const PetscBool watched = (PetscBool)(ksp->numbermonitors || ksp->res_hist ||
                                        (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip));
  Outcome         outcome = ENDS;
  MatNullSpace    nullspace;
  Mat             A;

  PetscFunctionBegin;
  PetscCall(KSPSetUp_BAILevels(ksp, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  ksp->its = 0;
  if (watched && ksp->normtype != KSP_NORM_NONE) PetscCall(SolveWatched(ksp, A, &outcome));
  else PetscCall(SolveAtOnce(ksp, A, &outcome));
  if (outcome == BEYOND)
    PetscCall(PetscInfo(ksp, "Squares of norms are too small or large for levels: relaxation solves\n"));
  if (outcome != ENDS) {
    if (ksp->res_hist_reset) ksp->res_hist_len = 0; /* which relaxation writes anew */
    ksp->its    = 0;
    ksp->reason = KSP_CONVERGED_ITERATING;
    *done       = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, ksp->vec_sol));
  bai->count.its = ksp->its;
  if (ksp->reason > 0 && ksp->reason != KSP_CONVERGED_ITS) Learn(h, ksp->its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -ksp_view says of levels, if they are in use */
PetscErrorCode KSPView_BAILevels(KSP ksp, PetscViewer viewer, PetscBool *done)
{
  BAI              *bai = (BAI *)ksp->data;
  BAIHierarchy      h   = bai->hierarchy;
  PetscBool         ascii;
  PetscViewerFormat format;

  PetscFunctionBegin;
  *done = (PetscBool)(h && h->ready && !bai->engine);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!*done || !ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  levels %s: conjugate gradients round a multigrid cycle\n",
                                   bai->options.levels == PETSC_DECIDE ? "auto" : "as asked"));
  PetscCall(BAIHierarchyView(bai, viewer, (PetscBool)(format == PETSC_VIEWER_ASCII_INFO_DETAIL)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
