/*
   KSPBAI as a Krylov method: conjugate gradients round a multigrid cycle, by the engine; on a GPU whose registers and
   shared memory hold the matrix, a Krylov method in one launch; or a KSP of PETSc round the cycle, see inner.c
*/
#include "kspbai.h"
#include <float.h>

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

/* What was found out in solves is of one matrix and its values, so that later ones are solved as by a new KSP */
static PetscErrorCode ForgetIfOther(KSP_BAI *k, Mat A)
{
  const PetscBool  found = (PetscBool)(k->off_chip || k->hard || k->indefinite || k->breaks ||
                                      k->bai.hierarchy->single != BAI_SINGLE_IN_RANGE);
  PetscObjectId    id;
  PetscObjectState state;
  int              other;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  other = id != k->found.id || state != k->found.state;
  if (found) PetscCall(BAIAgree(&k->bai, PETSC_SUCCESS, &other));
  if (found && other) {
    k->off_chip = k->hard = k->indefinite = k->breaks = PETSC_FALSE;
    k->bai.hierarchy->single                          = BAI_SINGLE_IN_RANGE;
  }
  k->found.id    = id;
  k->found.state = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses the method for this matrix, and sets it up */
PetscErrorCode KSPSetUp_BAIKrylov(KSP ksp, Mat A)
{
  KSP_BAI       *k     = (KSP_BAI *)ksp->data;
  BAI           *bai   = &k->bai;
  BAIHierarchy   h     = bai->hierarchy;
  const PetscInt asked = bai->options.levels;
  PetscMPIInt    size;
  PetscBool      plain = PETSC_FALSE;
  Mat            B;

  PetscFunctionBegin;
  PetscCheck(!bai->options.stats && !bai->options.fault_detect && !(bai->options.fault_fraction > 0.0),
             PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "-ksp_bai_levels %" PetscInt_FMT " with faults or statistics: must be auto or none, as these are of "
             "relaxation",
             asked);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  PetscCall(KSPBAIGetMatOfEntries(ksp, &B));
  k->of_pmat = (PetscBool)(A != B);
  PetscCall(ForgetIfOther(k, B));
  PetscCall(HasPlainNullSpace(A, &plain));
  h->options.levels = asked;
  h->options.over   = k->hard ? 1 : BAI_LEVELS_OVER;
  h->options.chip   = (PetscBool)(asked < 0 && size == 1 && plain && !k->off_chip && !k->indefinite && !k->of_pmat);
  PetscCall(BAIHierarchySetUp(bai, B));
  if (k->of_pmat) PetscCall(BAINeedWork(bai, B)); /* Amat may not know which vectors B needs */
  if (bai->engine) PetscCall(BAIDropEngine(bai)); /* of a time when it was relaxation that solved */
  if (!h->finite) {
    k->method = BAI_METHOD_ENGINE;
    PetscCall(KSPDestroy(&k->inner));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (plain && !k->of_pmat && !h->jacobi && (size == 1 || BAIRankLevelsSolve(h->ranks)) &&
      (h->info.resident || (h->hermitian && !k->indefinite))) {
    k->method = BAI_METHOD_ENGINE;
    PetscCall(KSPDestroy(&k->inner)); /* of another matrix, to which it holds on */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  k->method = BAI_METHOD_PETSC;
  PetscCall(KSPBAISetUpInner(ksp, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number of iterations is asked for, and no residual norm */
static PetscBool IsFixed(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE);
}

/* What PETSc's own KSP do with a residual norm */
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

/* The same with x as users know it */
static PetscErrorCode LookAtX(const BAIWatcher *w, PetscInt its, PetscReal rnorm)
{
  KSP_BAI        *k     = (KSP_BAI *)w->ksp->data;
  const PetscBool shows = KSPBAISeesX(w->ksp);

  PetscFunctionBegin;
  if (shows && w->v) PetscCall(BAIHierarchyShow(&k->bai, w->ksp->vec_sol, w->v));
  if (shows && k->scale != 1.0) PetscCall(VecScale(w->ksp->vec_sol, 1.0 / k->scale));
  PetscCall(Look(w->ksp, its, rnorm / k->scale));
  if (shows && k->scale != 1.0) PetscCall(VecScale(w->ksp->vec_sol, k->scale));
  if (shows && w->v) PetscCall(BAIHierarchyUnshow(&k->bai, w->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int KSPBAIWatch(void *watcher, BAIInt its, BAIReal rnorm)
{
  BAIWatcher *w = (BAIWatcher *)watcher;

  w->its = (PetscInt)its;
  if (w->before && !its) return 0;
  w->code = LookAtX(w, w->before + (PetscInt)its, (PetscReal)rnorm);
  return w->code || w->ksp->reason;
}

/* Iterations by the engine; watcher is NULL if nobody wants to see them */
static PetscErrorCode RunEngine(KSP ksp, Vec b, PetscBool zero, const BAITolerances *t, BAIWatcher *watcher,
                                BAILevelsSolution *s)
{
  BAI             *bai    = (BAI *)ksp->data;
  BAIHierarchy     h      = bai->hierarchy;
  const PetscBool  device = (PetscBool)(h->backend == BAI_BACKEND_CUDA);
  const Vec        x      = ksp->vec_sol;
  BAILevelsVectors v;
  BAIStatus        status = BAIStatusOf(BAI_OK);
  PetscLogDouble   flops;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BAI_Cycle, b, x, 0, 0));
  PetscCall(BAIHierarchyBind(bai, b, x, zero, &v));
  if (watcher) watcher->v = &v;
  if (device) PetscCall(BAILogDeviceBegin());
  if (h->levels)
    status = BAILevelsSolve(h->levels, v.barray, v.xarray, (int)zero, t, watcher ? KSPBAIWatch : NULL, watcher, s);
  if (device) PetscCall(BAILogDeviceEnd());
  if (watcher) PetscCall(watcher->code);
  PetscCall(BAIRankLevelsError(h->ranks));
  PetscCall(BAIHierarchyUnbind(bai, x, &v));
  flops = (PetscLogDouble)(s->its + 1) * (h->flops + h->flops_product);
  if (device) PetscCall(BAILogDeviceFlops(flops));
  else PetscCall(PetscLogFlops(flops));
  PetscCall(PetscLogEventEnd(BAI_Cycle, b, x, 0, 0));
  PetscCall(BAICheckStatus(bai, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations after so many of this solve. A watched run goes on until the convergence test says so */
static PetscErrorCode Run(KSP ksp, const BAITolerances *t, PetscBool watched, PetscInt before, BAILevelsSolution *s)
{
  KSP_BAI        *k       = (KSP_BAI *)ksp->data;
  const Vec       b       = k->scale != 1.0 ? k->scaled : ksp->vec_rhs;
  const PetscBool zero    = (PetscBool)(ksp->guess_zero && !before);
  BAIWatcher      watcher = {.ksp = ksp, .before = before};

  PetscFunctionBegin;
  *s = (BAILevelsSolution){.its = 0, .reason = BAI_LEVELS_CONVERGED};
  if (k->method == BAI_METHOD_ENGINE) PetscCall(RunEngine(ksp, b, zero, t, watched ? &watcher : NULL, s));
  else PetscCall(KSPBAIRunInner(ksp, b, ksp->vec_sol, zero, (PetscInt)t->max_it, (PetscBool)!watched, &watcher, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tolerances of a solve from a nonzero guess follow from ||b - A x|| of that, and from the convergence test */
static PetscErrorCode LookAtGuess(KSP ksp, Mat A, BAITolerances *t)
{
  KSP_BAI  *k   = (KSP_BAI *)ksp->data;
  BAI      *bai = &k->bai;
  PetscReal rnorm;

  PetscFunctionBegin;
  PetscCall(BAINeedWork(bai, A));
  PetscCall(MatResidual(A, k->scale != 1.0 ? k->scaled : ksp->vec_rhs, ksp->vec_sol, bai->r));
  PetscCall(BAIVecNorm(bai->r, &rnorm));
  rnorm /= k->scale;
  KSPCheckNorm(ksp, rnorm);
  ksp->rnorm = rnorm;
  PetscCall(KSPBAITestGuess(ksp, rnorm));
  *t = (BAITolerances){.rtol   = 0,
                       .abstol = k->scale * ksp->ttol,
                       .dtol   = ksp->divtol,
                       .bnorm2 = k->scale * ksp->rnorm0 * k->scale * ksp->rnorm0,
                       .max_it = (BAIInt)ksp->max_it};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a run comes to */
typedef enum {
  ENDS,  /* the KSP has its reason, */
  AGAIN, /* or another method is to go on, */
  SCALE  /* or this one with b scaled */
} Outcome;

/* Levels are in single precision, which may be why a run went wrong */
static PetscBool IsSingle(KSP ksp)
{
  const BAILevelsInfo *i = &((KSP_BAI *)ksp->data)->bai.hierarchy->info;

  return (PetscBool)(i->single && !i->resident && !IsFixed(ksp));
}

/* Native ones are to go on, from the x that there is */
static PetscErrorCode LeaveSingle(KSP ksp, Outcome *outcome)
{
  PetscFunctionBegin;
  ((KSP_BAI *)ksp->data)->bai.hierarchy->single = 0;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: levels in single precision do not do\n",
                      ksp->its, (double)ksp->rnorm));
  *outcome = AGAIN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG has met a residual r with r^H C r <= 0, where C is the cycle, not a direction in which the matrix is not positive.
   Softened couplings of coarse levels may do that where the matrix is positive definite */
static PetscErrorCode IsTooSoft(KSP ksp, PetscBool *is)
{
  KSP_BAI           *k   = (KSP_BAI *)ksp->data;
  BAI               *bai = &k->bai;
  const BAIHierarchy h   = bai->hierarchy;
  PetscScalar        product;
  Mat                A;
  Vec                z;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (k->hard || h->jacobi || h->info.resident) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAINeedWork(bai, A));
  PetscCall(MatResidual(A, k->scale != 1.0 ? k->scaled : ksp->vec_rhs, ksp->vec_sol, bai->r));
  PetscCall(VecDuplicate(bai->r, &z));
  PetscCall(BAIHierarchyApply(bai, bai->r, z, PETSC_FALSE));
  PetscCall(VecDot(z, bai->r, &product));
  PetscCall(VecDestroy(&z));
  *is = (PetscBool) !((h->negative ? -1 : 1) * PetscRealPart(product) > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A method breaks down or, on the chip, stands still, with x as far as it came: what it takes for another one to be
 * chosen. Otherwise the solve ends */
static PetscErrorCode BreakDown(KSP ksp, PetscBool stands, Outcome *outcome)
{
  KSP_BAI        *k        = (KSP_BAI *)ksp->data;
  const PetscBool was      = (PetscBool)(k->method == BAI_METHOD_ENGINE && k->bai.hierarchy->info.resident);
  PetscBool       positive = (PetscBool)(k->bai.hierarchy->hermitian && !k->indefinite && !k->of_pmat);
  PetscBool       soft     = PETSC_FALSE;
  const char     *why;

  PetscFunctionBegin;
  *outcome = AGAIN;
  if (positive && !was) PetscCall(IsTooSoft(ksp, &soft));
  if (was && (!positive || stands)) {
    k->off_chip = PETSC_TRUE;
    why         = stands ? "the method on the chip gets no further" : "the method on the chip breaks down";
  } else if (soft) {
    k->hard = PETSC_TRUE;
    why     = "the cycle is not positive definite: couplings of coarse levels are no longer softened";
  } else if (positive) {
    k->hard       = PETSC_FALSE; /* that did not help */
    k->indefinite = PETSC_TRUE;
    why           = "the matrix is not positive definite; PCFIELDSPLIT is for saddle points";
  } else if (!k->breaks && !k->of_pmat) {
    k->breaks = PETSC_TRUE;
    why       = "BiCGStab breaks down";
  } else {
    *outcome    = ENDS;
    ksp->reason = KSP_DIVERGED_BREAKDOWN;
    why         = "the last method breaks down";
  }
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: %s\n", ksp->its, (double)ksp->rnorm, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool KSPBAIIsBiCGStabOnChip(const KSP_BAI *k)
{
  const BAILevelsInfo *i = &k->bai.hierarchy->info;

  return (PetscBool)(k->method == BAI_METHOD_ENGINE && i->resident && !i->hermitian);
}

/* The reason that the end of a run stands for; b is as the run had it */
static PetscErrorCode TakeReason(KSP ksp, const BAILevelsSolution *s, Outcome *outcome)
{
  KSP_BAI  *k      = (KSP_BAI *)ksp->data;
  const Vec b      = k->scale != 1.0 ? k->scaled : ksp->vec_rhs;
  PetscBool finite = (PetscBool)!PetscIsInfOrNanReal((PetscReal)s->rnorm);
  PetscBool stands = (PetscBool)(s->reason == BAI_LEVELS_STAGNATED);

  PetscFunctionBegin;
  switch (s->reason) {
  case BAI_LEVELS_CONVERGED:
    if (IsFixed(ksp)) ksp->reason = KSP_CONVERGED_ITS;
    else ksp->reason = ksp->rnorm <= ksp->rtol * ksp->rnorm0 ? KSP_CONVERGED_RTOL : KSP_CONVERGED_ATOL;
    break;
  case BAI_LEVELS_ITS:
    ksp->reason = IsFixed(ksp) || KSPBAITakesMaxIts(ksp) ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
    break;
  case BAI_LEVELS_DTOL: /* the norms of BiCGStab may grow where those of another method do not */
    if (!ksp->guess_zero || !(IsSingle(ksp) || KSPBAIIsBiCGStabOnChip(k))) {
      ksp->reason = KSP_DIVERGED_DTOL;
      break;
    }
    PetscCall(VecZeroEntries(ksp->vec_sol));
    if (IsSingle(ksp)) PetscCall(LeaveSingle(ksp, outcome));
    else PetscCall(BreakDown(ksp, PETSC_FALSE, outcome));
    break;
  case BAI_LEVELS_NAN:
    if (!ksp->guess_zero || PetscIsInfOrNanReal((PetscReal)s->rnorm0)) ksp->reason = KSP_DIVERGED_NANORINF;
    else PetscCall(VecZeroEntries(ksp->vec_sol)); /* it was a method that made it of numbers */
    if (!ksp->reason && IsSingle(ksp)) PetscCall(LeaveSingle(ksp, outcome));
    else if (!ksp->reason) PetscCall(BreakDown(ksp, PETSC_FALSE, outcome));
    if (ksp->reason == KSP_DIVERGED_BREAKDOWN) ksp->reason = KSP_DIVERGED_NANORINF;
    break;
  case BAI_LEVELS_INDEFINITE:
  case BAI_LEVELS_STAGNATED:
    if (IsFixed(ksp)) ksp->reason = KSP_CONVERGED_ITS;
    else if (finite) PetscCall(KSPBAIStandsStill(ksp, b, ksp->vec_sol, (PetscReal)s->rnorm));
    if (ksp->reason) break;
    if (stands && k->bai.hierarchy->hermitian && !k->bai.hierarchy->info.resident && !IsSingle(ksp))
      ksp->reason = KSP_DIVERGED_BREAKDOWN;
    else {
      if (s->its) ksp->guess_zero = PETSC_FALSE; /* KSPSolve_BAI() restores it */
      if (IsSingle(ksp)) PetscCall(LeaveSingle(ksp, outcome));
      else PetscCall(BreakDown(ksp, stands, outcome));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b||, or if that is 0 the residual norm of the guess: the size of all that squares are taken of */
static PetscErrorCode Size(KSP ksp, PetscReal *size)
{
  BAI *bai = &((KSP_BAI *)ksp->data)->bai;
  Mat  A;

  PetscFunctionBegin;
  PetscCall(BAIVecNorm(ksp->vec_rhs, size));
  if (*size != 0 || ksp->guess_zero) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAINeedWork(bai, A));
  PetscCall(MatResidual(A, ksp->vec_rhs, ksp->vec_sol, bai->r));
  PetscCall(BAIVecNorm(bai->r, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The square of the size is neither too small nor too large. A negative norm stands for the size, and is set to it; so
 * is 0, which may be the root of what was too small */
static PetscErrorCode IsInRange(KSP ksp, PetscReal *norm, PetscBool *is)
{
  PetscFunctionBegin;
  if (*norm <= 0 || PetscIsInfOrNanReal(*norm)) PetscCall(Size(ksp, norm));
  *is = (PetscBool)(*norm == 0 || PetscIsInfOrNanReal(*norm) || BAIIsExactSquare(*norm * *norm) ||
                    ((KSP_BAI *)ksp->data)->scale != 1.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nobody watches: the engine does the whole solve. A zero guess is tested afterwards, as that needs the host */
static PetscErrorCode SolveAtOnce(KSP ksp, Mat A, Outcome *outcome)
{
  KSP_BAI          *k     = (KSP_BAI *)ksp->data;
  const PetscBool   fixed = IsFixed(ksp);
  BAITolerances     t     = {.rtol   = fixed ? 0 : ksp->rtol,
                             .abstol = fixed ? 0 : k->scale * ksp->abstol,
                             .dtol   = fixed ? 0 : ksp->divtol,
                             .bnorm2 = -1,
                             .max_it = (BAIInt)ksp->max_it};
  BAILevelsSolution s;
  PetscReal         bnorm    = -1;
  PetscBool         in_range = PETSC_TRUE;

  PetscFunctionBegin;
  if (!ksp->guess_zero && !fixed) {
    PetscCall(IsInRange(ksp, &bnorm, &in_range));
    if (!in_range) *outcome = SCALE;
    else PetscCall(LookAtGuess(ksp, A, &t));
    if (!in_range || ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Run(ksp, &t, PETSC_FALSE, 0, &s));
  ksp->its = fixed ? ksp->max_it : (PetscInt)s.its;
  if (ksp->guess_zero && !fixed) {
    bnorm = (PetscReal)s.bnorm / k->scale;
    PetscCall(IsInRange(ksp, &bnorm, &in_range));
    if (!in_range) *outcome = SCALE;
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
  ksp->rnorm = (PetscReal)s.rnorm / k->scale;
  PetscCall(TakeReason(ksp, &s, outcome));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norms of BiCGStab may grow where those of GMRES do not: that is not the end, but another method is to go on, from
 * zero */
static PetscErrorCode LeaveBiCGStab(KSP ksp, BAILevelsSolution *s)
{
  KSP_BAI  *k  = (KSP_BAI *)ksp->data;
  PetscBool is = PETSC_FALSE;

  PetscFunctionBegin;
  if (k->method != BAI_METHOD_PETSC || ksp->reason != KSP_DIVERGED_DTOL || !ksp->guess_zero)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)k->inner, KSPFBCGS, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecZeroEntries(ksp->vec_sol));
  ksp->reason = KSP_CONVERGED_ITERATING;
  s->reason   = BAI_LEVELS_INDEFINITE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The convergence test of the KSP decides, and monitors see each norm. That is of r as the method updates it, so what
   KSPConvergedDefault() took for good enough is compared with b - A x, from which the solve goes on if need be
*/
static PetscErrorCode SolveWatched(KSP ksp, PetscInt *its, Outcome *outcome)
{
  KSP_BAI          *k      = (KSP_BAI *)ksp->data;
  const PetscBool   tested = (PetscBool)(ksp->converged == KSPConvergedDefault);
  BAITolerances     t      = {.bnorm2 = -1};
  BAILevelsSolution s;
  PetscReal         last = PETSC_MAX_REAL, bnorm = -1;
  PetscBool         in_range = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(IsInRange(ksp, &bnorm, &in_range));
  if (!in_range) *outcome = SCALE;
  if (!in_range) PetscFunctionReturn(PETSC_SUCCESS);
  while (PETSC_TRUE) {
    t.max_it = (BAIInt)(ksp->max_it - *its);
    PetscCall(Run(ksp, &t, PETSC_TRUE, *its, &s));
    *its += (PetscInt)s.its;
    ksp->rnorm = (PetscReal)s.rnorm / k->scale;
    PetscCall(LeaveBiCGStab(ksp, &s));
    if (!ksp->reason || !tested || ksp->reason < 0 || !*its || ksp->rnorm <= ksp->ttol) break;
    ksp->reason = KSP_CONVERGED_ITERATING;
    if (*its >= ksp->max_it) s.reason = BAI_LEVELS_ITS;
    else if (ksp->rnorm > last / 2) s.reason = BAI_LEVELS_STAGNATED;
    else {
      last = ksp->rnorm;
      continue;
    }
    break;
  }
  if (!ksp->reason) PetscCall(TakeReason(ksp, &s, outcome));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b and x times a power of two, which changes no digit of what comes of them */
static PetscErrorCode Scale(KSP ksp)
{
  KSP_BAI  *k    = (KSP_BAI *)ksp->data;
  const int most = sizeof(PetscReal) > sizeof(float) ? DBL_MAX_EXP - 1 : FLT_MAX_EXP - 1;
  PetscReal size;
  int       exponent;

  PetscFunctionBegin;
  PetscCall(Size(ksp, &size));
  (void)frexp((double)size, &exponent);
  exponent = PetscMax(-most, PetscMin(exponent, most));
  k->scale = (PetscReal)ldexp(1.0, -exponent);
  PetscCall(PetscInfo(ksp, "||b||, or if that is 0 the residual norm, is %g: the system is scaled by %g\n",
                      (double)size, (double)k->scale));
  if (!k->scaled) PetscCall(VecDuplicate(ksp->vec_rhs, &k->scaled));
  PetscCall(VecCopy(ksp->vec_rhs, k->scaled));
  PetscCall(VecScale(k->scaled, k->scale));
  PetscCall(PetscObjectStateIncrease((PetscObject)k->scaled)); /* as vectors keep their norms, and scale them */
  if (!ksp->guess_zero) PetscCall(VecScale(ksp->vec_sol, k->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSolve_BAIKrylov(KSP ksp)
{
  KSP_BAI     *k       = (KSP_BAI *)ksp->data;
  Outcome      outcome = AGAIN;
  PetscInt     its     = 0;
  MatNullSpace nullspace;
  Mat          A;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  ksp->its = 0;
  k->scale = 1.0;
  if (!k->bai.hierarchy->finite) {
    ksp->reason = KSP_DIVERGED_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  while (outcome != ENDS) {
    const PetscBool watched = (PetscBool)((KSPBAIIsWatched(ksp) || k->method == BAI_METHOD_PETSC || its) &&
                                          !(ksp->normtype == KSP_NORM_NONE || (IsFixed(ksp) && !KSPBAIIsWatched(ksp))));

    outcome = ENDS;
    if (watched) PetscCall(SolveWatched(ksp, &its, &outcome));
    else PetscCall(SolveAtOnce(ksp, A, &outcome));
    if (!watched) its = ksp->its;
    if (outcome == SCALE) PetscCall(Scale(ksp));
    if (outcome == SCALE) its = 0;
    if (outcome == AGAIN) PetscCall(KSPSetUp_BAIKrylov(ksp, A));
  }
  k->bai.hierarchy->solved = PETSC_TRUE;
  if (k->scale != 1.0) PetscCall(VecScale(ksp->vec_sol, 1.0 / k->scale));
  PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, ksp->vec_sol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -ksp_view says of the method */
PetscErrorCode KSPView_BAIKrylov(KSP ksp, PetscViewer viewer)
{
  const KSP_BAI       *k = (KSP_BAI *)ksp->data;
  const BAILevelsInfo *i = &k->bai.hierarchy->info;
  PetscViewerFormat    format;
  KSPType              type;

  PetscFunctionBegin;
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (k->method == BAI_METHOD_PETSC) {
    PetscCall(KSPGetType(k->inner, &type));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  KSP type %s round %s\n", type,
                                     k->bai.hierarchy->jacobi ? "Jacobi" : "a multigrid cycle"));
    if (k->of_pmat) PetscCall(PetscViewerASCIIPrintf(viewer, "  levels are of Pmat, as Amat has no entries\n"));
  } else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s %s\n", i->hermitian ? "conjugate gradients" : "BiCGStab",
                                     i->resident ? "on the chip, in one launch, round local sweeps in blocks"
                                                 : "round a multigrid cycle"));
  PetscCall(BAIHierarchyView(&k->bai, viewer, (PetscBool)(format == PETSC_VIEWER_ASCII_INFO_DETAIL)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPReset_BAIKrylov(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  k->method = BAI_METHOD_RELAXATION; /* until another one is set up */
  PetscCall(KSPDestroy(&k->inner));
  PetscCall(VecDestroy(&k->scaled));
  PetscCall(BAIHierarchyReset(&k->bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}
