/*
   KSPBAI as a Krylov method: by the engine, on the chip or preconditioned by the cycle of a PCBAIMG; or by a KSP of
   PETSc preconditioned by any PC, see inner.c
*/
#include "kspbai.h"
#include <float.h>

const char KSPBAIStallText[] =
  "the least residual norm of 300 iterations fell by less than 1 %: the system may have no solution, or be indefinite, "
  "or of fourth order; use a direct solver, -pc_type lu, or for saddle points -pc_type fieldsplit";

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

/* Findings of earlier solves hold for one matrix and its values: other ones are solved as by a new KSP */
static PetscErrorCode ForgetIfOther(KSP_BAI *k, BAI *mg, Mat A)
{
  const BAIHierarchy h = mg ? mg->hierarchy : NULL;
  PetscBool          others;

  PetscFunctionBegin;
  PetscCall(KSPBAITakeValues(k, A, PETSC_FALSE, &k->found, &others));
  if (!others) PetscFunctionReturn(PETSC_SUCCESS);
  k->off_chip = k->indefinite = k->breaks = PETSC_FALSE;
  k->hermitian                            = PETSC_BOOL3_UNKNOWN;
  if (h) h->hard = h->native = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the levels of a PCBAIMG are of this matrix as it is now: not if the PC is kept for other values */
static PetscErrorCode HasLevelsOf(KSP_BAI *k, const BAI *mg, Mat A, PetscBool *has)
{
  const BAIHierarchy h  = mg->hierarchy;
  KSPBAIValues       of = {h->id, h->state};
  PetscBool          others;

  PetscFunctionBegin;
  PetscCall(KSPBAITakeValues(k, A, (PetscBool)!h->ready, &of, &others));
  *has = (PetscBool)!others;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A is Hermitian: as its levels say, or the user, or else a test with random vectors. Of a matrix without
   entries only the user knows */
static PetscErrorCode IsHermitian(KSP_BAI *k, const BAI *mg, PetscBool levels, Mat A, PetscBool *is)
{
  PetscBool known, has;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (levels) {
    *is = mg->hierarchy->hermitian;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatIsHermitianKnown(A, &known, is));
  if (!(known && *is) && !PetscDefined(USE_COMPLEX)) PetscCall(MatIsSymmetricKnown(A, &known, is));
  if (known && *is) PetscFunctionReturn(PETSC_SUCCESS); /* some programs set no where they do not know */
  *is = PETSC_FALSE;
  PetscCall(BAIHasEntries(A, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  if (k->hermitian == PETSC_BOOL3_UNKNOWN) {
    PetscCall(BAILooksHermitian(A, is));
    k->hermitian = *is ? PETSC_BOOL3_TRUE : PETSC_BOOL3_FALSE;
  }
  *is = (PetscBool)(k->hermitian == PETSC_BOOL3_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Krylov method that is asked for, or that auto stands for */
static PetscErrorCode ChooseKrylov(KSP ksp, PetscBool hermitian)
{
  KSP_BAI        *k     = (KSP_BAI *)ksp->data;
  const BAIKrylov asked = k->bai.options.krylov;
  PetscBool       symmetric, entries;
  Mat             A;

  PetscFunctionBegin;
  k->krylov = asked;
  if (asked != BAI_KRYLOV_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAIHasEntries(A, &entries));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &symmetric, PCNONE, PCJACOBI, PCICC, PCCHOLESKY, PCLU,
                                      PCBAIMG, PCGAMG, ""));
  if (hermitian && !k->indefinite) k->krylov = symmetric ? BAI_KRYLOV_CG : BAI_KRYLOV_FCG;
  else k->krylov = k->breaks || !entries ? BAI_KRYLOV_GMRES : BAI_KRYLOV_BCGS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix stays on the chip of a GPU if it fits, and nothing asks for another PC or method or for other levels */
static PetscErrorCode SetUpChip(KSP ksp, const BAI *mg, Mat A, Mat P, PetscBool plain, PetscBool *on)
{
  KSP_BAI             *k       = (KSP_BAI *)ksp->data;
  const BAIKrylov      asked   = k->bai.options.krylov;
  const BAILevelsInfo *info    = &k->bai.hierarchy->info;
  BAIBackend           backend = k->bai.options.backend;
  PetscBool            aij, transposed, given;
  PetscMPIInt          size;
  MatInfo              mat;

  PetscFunctionBegin;
  *on = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &aij));
  if (backend == BAI_BACKEND_AUTO && aij) PetscCall(BAIBackendOf(A, &backend));
  if (backend != BAI_BACKEND_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  given = (PetscBool)(BAIOptionsGiven(&k->bai, BAI_OF_BOTH) || (mg && mg->asked));
  PetscCall(KSPBAIIsTransposed(ksp, &transposed));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  if (!mg || A != P || size > 1 || !plain || k->off_chip || k->indefinite || asked == BAI_KRYLOV_FCG ||
      asked == BAI_KRYLOV_GMRES || given ||
      (ksp->normtype_set != KSP_NORM_DEFAULT && ksp->normtype == KSP_NORM_NATURAL) ||
      ksp->normtype == KSP_NORM_PRECONDITIONED || (transposed && PetscDefined(USE_COMPLEX)))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &mat));
  if (mat.nz_used > BAI_CHIP_NONZEROS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHierarchySetUp(&k->bai, A));
  *on = (PetscBool)(info->resident &&
                    (asked == BAI_KRYLOV_AUTO || (asked == BAI_KRYLOV_CG) == (info->hermitian != 0)) &&
                    (!transposed || info->hermitian));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The PC is set up as PETSc does it; a PCBAIMG also if it has deferred that until now */
static PetscErrorCode SetUpPC(KSP ksp, BAI *mg)
{
  const KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  if (mg) {
    const BAIHierarchy h     = mg->hierarchy;
    const uint64_t     asked = mg->asked;
    PetscBool          given;

    h->deferred = PETSC_FALSE;
    if (h->single == BAI_SINGLE_HERMITIAN) h->single = BAI_SINGLE_IN_RANGE; /* our methods keep the residual itself */
    PetscCall(BAIOptionIsGiven(mg, "local_iters", &given));
    if (BAIOptionsGiven(&k->bai, BAI_OF_BOTH) && !given) {
      PetscCall(PCBAIMGSetLocalIters(ksp->pc, k->bai.options.local_iters));
      mg->asked = asked; /* that was given for the KSP, which may get another one */
    }
    mg->options.backend  = k->bai.options.backend;
    mg->options.exchange = k->bai.options.exchange;
  }
  PetscCall(PCSetErrorIfFailure(ksp->pc, ksp->errorifnotconverged));
  PetscCall(PCSetUp(ksp->pc));
  if (!mg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHierarchySetUpIfAsked(mg, ksp->pc->pmat));
  ksp->pc->failedreason = mg->hierarchy->finite ? PC_NOERROR : PC_SETUP_ERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses who does the iterations for this matrix and PC, and sets that up */
PetscErrorCode KSPSetUp_BAIKrylov(KSP ksp)
{
  KSP_BAI     *k = (KSP_BAI *)ksp->data;
  BAI         *mg;
  BAIHierarchy h;
  PetscMPIInt  size;
  PetscBool    plain = PETSC_FALSE, on = PETSC_FALSE, levels = PETSC_FALSE, hermitian, conjugate;
  Mat          A, P;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  PetscCall(KSPGetOperators(ksp, &A, &P));
  PetscCall(KSPBAIGetMG(ksp, &mg));
  PetscCall(ForgetIfOther(k, mg, A));
  if (k->bai.relax.engine) PetscCall(BAIDropEngine(&k->bai)); /* of a relaxation */
  PetscCall(HasPlainNullSpace(A, &plain));
  PetscCall(SetUpChip(ksp, mg, A, P, plain, &on));
  if (on) {
    k->krylov = k->bai.hierarchy->hermitian ? BAI_KRYLOV_CG : BAI_KRYLOV_BCGS;
    k->runner = BAI_BY_CHIP;
    KSPBAIDefer(ksp, mg);
  } else {
    PetscCall(SetUpPC(ksp, mg));
    if (mg && A == P) PetscCall(HasLevelsOf(k, mg, A, &levels));
    PetscCall(IsHermitian(k, mg, levels, A, &hermitian));
    PetscCall(ChooseKrylov(ksp, hermitian));
    h = mg ? mg->hierarchy : NULL;
    PetscCall(KSPBAIIsTransposed(ksp, &conjugate));
    conjugate = (PetscBool)(conjugate && PetscDefined(USE_COMPLEX));
    k->runner = levels && plain && hermitian && !h->jacobi && k->krylov == BAI_KRYLOV_CG && !conjugate &&
        (size == 1 || BAIRankLevelsSolve(h->ranks)) && ksp->normtype != KSP_NORM_NATURAL &&
        ksp->normtype != KSP_NORM_PRECONDITIONED
      ? BAI_BY_LEVELS
      : BAI_BY_PETSC;
    if (h && !h->finite) k->runner = BAI_BY_LEVELS; /* which says so */
  }
  if (k->runner == BAI_BY_PETSC) PetscCall(KSPBAISetUpInner(ksp));
  else PetscCall(KSPDestroy(&k->inner));             /* it would hold on to a matrix */
  BAISetGuessNotRead(ksp, k->runner == BAI_BY_CHIP); /* it writes x */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data whose hierarchy does the iterations of the engine, or NULL */
static PetscErrorCode GetOwner(KSP ksp, BAI **owner)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  *owner = NULL;
  if (k->runner == BAI_BY_CHIP) *owner = &k->bai;
  else if (k->runner == BAI_BY_LEVELS) PetscCall(KSPBAIGetMG(ksp, owner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number of iterations is asked for, and no residual norm */
static PetscBool IsFixed(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE);
}

/* Logs, shows and tests a residual norm as KSPs of PETSc do. The convergence test is not asked above the goal */
static PetscErrorCode Look(const BAIWatcher *w, PetscInt its, PetscReal rnorm)
{
  const KSP ksp = w->ksp;

  PetscFunctionBegin;
  ksp->its   = its;
  ksp->rnorm = rnorm;
  PetscCall(KSPLogResidualHistory(ksp, rnorm));
  PetscCall(KSPMonitor(ksp, its, rnorm));
  if (!its) PetscCall(KSPBAITestGuess(ksp, rnorm));
  else PetscCall((*ksp->converged)(ksp, its, rnorm, &ksp->reason, ksp->cnvP));
  if (w->goal > 0 && rnorm > w->goal && (ksp->reason == KSP_CONVERGED_RTOL || ksp->reason == KSP_CONVERGED_ATOL))
    ksp->reason = KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with x as users know it */
static PetscErrorCode LookAtX(const BAIWatcher *w, PetscInt its, PetscReal rnorm)
{
  KSP_BAI        *k     = (KSP_BAI *)w->ksp->data;
  const PetscBool shows = KSPBAISeesX(w->ksp);

  PetscFunctionBegin;
  if (shows && w->v) PetscCall(BAIHierarchyShow(w->owner, w->ksp->vec_sol, w->v));
  if (shows && k->scale != 1.0) PetscCall(VecScale(w->ksp->vec_sol, 1.0 / k->scale));
  PetscCall(Look(w, its, rnorm / k->scale));
  if (shows && k->scale != 1.0) PetscCall(VecScale(w->ksp->vec_sol, k->scale));
  if (shows && w->v) PetscCall(BAIHierarchyUnshow(w->owner, w->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonzero: the method is to stop */
int KSPBAIWatch(void *watcher, BAIInt its, BAIReal rnorm)
{
  BAIWatcher     *w    = (BAIWatcher *)watcher;
  const PetscBool ours = (PetscBool)(w->ksp->converged == KSPConvergedDefault);

  if (w->its == (PetscInt)its) return 0; /* KSPFGMRES shows what it restarts from twice */
  w->its = (PetscInt)its;
  if (!its) {
    w->rnorm0 = (PetscReal)rnorm;
    BAIStallBegin(&w->stall, 0, (double)rnorm * (double)rnorm);
  }
  if (w->before && !its) return 0;
  w->code = LookAtX(w, w->before + (PetscInt)its, (PetscReal)rnorm);
  if (!w->code && !w->ksp->reason && ours && its)
    w->stalls = (PetscBool)(BAIStalls(&w->stall, (int)its, (double)rnorm * (double)rnorm) != 0);
  return w->code || w->ksp->reason || w->stalls;
}

/* Iterations by the engine; watcher is NULL if nobody wants to see them */
static PetscErrorCode RunEngine(KSP ksp, Vec b, PetscBool zero, const BAITolerances *t, BAIWatcher *watcher,
                                BAILevelsSolution *s)
{
  const Vec        x = ksp->vec_sol;
  BAI             *bai;
  BAIHierarchy     h;
  PetscBool        device;
  BAILevelsVectors v;
  BAIStatus        status = BAIStatusOf(BAI_OK);
  PetscLogDouble   flops;

  PetscFunctionBegin;
  PetscCall(GetOwner(ksp, &bai));
  h      = bai->hierarchy;
  device = (PetscBool)(h->backend == BAI_BACKEND_CUDA);
  PetscCall(PetscLogEventBegin(BAI_Cycle, b, x, 0, 0));
  PetscCall(BAIHierarchyBind(bai, b, x, zero, &v));
  if (watcher) watcher->v = &v;
  if (watcher) watcher->owner = bai;
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

/* Iterations after before ones of this solve. A watched run goes on until the convergence test ends it, which is not
   asked above the goal */
static PetscErrorCode Run(KSP ksp, const BAITolerances *t, PetscBool watched, PetscInt before, PetscReal goal,
                          BAILevelsSolution *s)
{
  KSP_BAI        *k       = (KSP_BAI *)ksp->data;
  const Vec       b       = k->scale != 1.0 ? k->scaled : ksp->vec_rhs;
  const PetscBool zero    = (PetscBool)(ksp->guess_zero && !before);
  BAIWatcher      watcher = {.ksp = ksp, .before = before, .its = -1, .goal = goal};

  PetscFunctionBegin;
  *s = (BAILevelsSolution){.its = 0, .reason = BAI_LEVELS_CONVERGED};
  if (k->runner != BAI_BY_PETSC) PetscCall(RunEngine(ksp, b, zero, t, watched ? &watcher : NULL, s));
  else PetscCall(KSPBAIRunInner(ksp, b, ksp->vec_sol, zero, (PetscInt)t->max_it, (PetscBool)!watched, &watcher, s));
  if (watcher.stalls) s->reason = BAI_LEVELS_STALLED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tests ||b - A x|| of a nonzero guess. What the convergence test then takes the tolerances relative to, t has */
static PetscErrorCode LookAtGuess(KSP ksp, BAITolerances *t)
{
  KSP_BAI  *k   = (KSP_BAI *)ksp->data;
  BAI      *bai = &k->bai;
  PetscReal rnorm;

  PetscFunctionBegin;
  PetscCall(KSPBAINeedWork(ksp));
  PetscCall(KSPBAIResidual(ksp, k->scale != 1.0 ? k->scaled : ksp->vec_rhs, ksp->vec_sol, bai->r));
  PetscCall(BAIVecNorm(bai->r, &rnorm));
  rnorm /= k->scale;
  KSPCheckNorm(ksp, rnorm);
  ksp->rnorm = rnorm;
  PetscCall(KSPBAITestGuess(ksp, rnorm));
  t->bnorm2 = k->scale * ksp->rnorm0 * k->scale * ksp->rnorm0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a run comes to */
typedef enum {
  ENDS,  /* The KSP has its reason */
  AGAIN, /* Another method is to go on */
  SCALE  /* The same method is to begin again with b scaled */
} Outcome;

/* Whether levels in single precision, which the user has not asked for, may be why a run went wrong. Ranks without rows
   have no levels */
static PetscErrorCode IsSingle(KSP ksp, PetscBool *is)
{
  enum {
    NONE,
    SINGLE,
    NO_NUMBERS /* entries of the matrix, in any precision */
  };
  const KSP_BAI *k     = (KSP_BAI *)ksp->data;
  int            found = NONE;
  BAI           *mg;
  BAIHierarchy   h;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  PetscCall(KSPBAIGetMG(ksp, &mg));
  h = mg ? mg->hierarchy : NULL;
  if (!h || k->runner == BAI_BY_CHIP || h->backend != BAI_BACKEND_CUDA || h->native ||
      h->options.single != PETSC_BOOL3_UNKNOWN || IsFixed(ksp))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (h->info.single) found = PetscIsInfOrNanReal((PetscReal)h->info.norm) ? NO_NUMBERS : SINGLE;
  PetscCall(BAIAgree(&k->bai, PETSC_SUCCESS, &found));
  *is = (PetscBool)(found == SINGLE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Levels of PETSc's precision are to go on, from the x that there is */
static PetscErrorCode LeaveSingle(KSP ksp, Outcome *outcome)
{
  BAI *mg;

  PetscFunctionBegin;
  PetscCall(KSPBAIGetMG(ksp, &mg));
  mg->hierarchy->native = PETSC_TRUE;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: levels in single precision do not do\n",
                      ksp->its, (double)ksp->rnorm));
  *outcome = AGAIN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether CG has met a residual r with r^H C r <= 0, where C is the cycle, rather than a direction in which the matrix
   is not positive. Overcorrection of coarse levels may do that where the matrix is positive definite */
static PetscErrorCode IsOvercorrected(KSP ksp, PetscBool *is)
{
  KSP_BAI     *k   = (KSP_BAI *)ksp->data;
  BAI         *bai = &k->bai, *mg;
  BAIHierarchy h;
  PetscScalar  product;
  PetscBool    transposed;
  Vec          z;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  PetscCall(KSPBAIIsTransposed(ksp, &transposed));
  PetscCall(KSPBAIGetMG(ksp, &mg));
  h = mg ? mg->hierarchy : NULL;
  if (!h || k->runner == BAI_BY_CHIP || h->hard || h->jacobi || !h->hermitian) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPBAINeedWork(ksp));
  PetscCall(KSPBAIResidual(ksp, k->scale != 1.0 ? k->scaled : ksp->vec_rhs, ksp->vec_sol, bai->r));
  PetscCall(VecDuplicate(bai->r, &z));
  PetscCall(BAIHierarchyApply(mg, bai->r, z, transposed));
  PetscCall(VecDot(z, bai->r, &product));
  PetscCall(VecDestroy(&z));
  *is = (PetscBool) !((h->negative ? -1 : 1) * PetscRealPart(product) > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A method breaks down, or on the chip gets no further, with x as far as it came. What another method is to be chosen
   by is noted; if the user named the method, or it is the last one, the solve ends
*/
static PetscErrorCode BreakDown(KSP ksp, PetscBool stands, Outcome *outcome)
{
  KSP_BAI        *k        = (KSP_BAI *)ksp->data;
  const PetscBool was      = (PetscBool)(k->runner == BAI_BY_CHIP);
  const PetscBool positive = (PetscBool)(k->krylov == BAI_KRYLOV_CG || k->krylov == BAI_KRYLOV_FCG);
  PetscBool       soft     = PETSC_FALSE;
  BAI            *mg;
  const char     *why;

  PetscFunctionBegin;
  *outcome = AGAIN;
  PetscCall(KSPBAIGetMG(ksp, &mg));
  if (positive && !was) PetscCall(IsOvercorrected(ksp, &soft));
  if (was && (!positive || stands)) {
    k->off_chip = PETSC_TRUE;
    why         = stands ? "the method on the chip gets no further" : "the method on the chip breaks down";
  } else if (soft) {
    mg->hierarchy->hard = PETSC_TRUE;
    why                 = "the cycle is not positive definite: coarse levels get no overcorrection any longer";
  } else if (k->bai.options.krylov == BAI_KRYLOV_AUTO && positive) {
    if (mg) mg->hierarchy->hard = PETSC_FALSE; /* that did not help */
    k->indefinite = PETSC_TRUE;
    why           = "the matrix is not positive definite; PCFIELDSPLIT is for saddle points";
  } else if (k->bai.options.krylov == BAI_KRYLOV_AUTO && k->krylov == BAI_KRYLOV_BCGS) {
    k->breaks = PETSC_TRUE;
    why       = "BiCGStab breaks down";
  } else {
    *outcome    = ENDS;
    ksp->reason = KSP_DIVERGED_BREAKDOWN;
    why         = k->bai.options.krylov == BAI_KRYLOV_AUTO ? "the last method breaks down"
                                                           : "the method that was asked for breaks down";
  }
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: %s\n", ksp->its, (double)ksp->rnorm, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The least norm of many iterations hardly fell. What is not the best method for such a matrix leaves it to the next
   one; else the solve ends */
static PetscErrorCode Stall(KSP ksp, Outcome *outcome)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  if (k->runner == BAI_BY_CHIP || (k->krylov == BAI_KRYLOV_BCGS && k->bai.options.krylov == BAI_KRYLOV_AUTO)) {
    PetscCall(BreakDown(ksp, PETSC_TRUE, outcome));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  k->stalls   = PETSC_TRUE;
  ksp->reason = KSP_DIVERGED_BREAKDOWN;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: %s\n", ksp->its, (double)ksp->rnorm,
                      KSPBAIStallText));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool KSPBAIIsBiCGStabOnChip(const KSP_BAI *k)
{
  return (PetscBool)(k->runner == BAI_BY_CHIP && !k->bai.hierarchy->info.hermitian);
}

/* The reason that the end of a run stands for. Whatever ended it, a true residual that meets the tolerance is that of
   a solution */
static PetscErrorCode TakeReason(KSP ksp, const BAILevelsSolution *s, Outcome *outcome)
{
  KSP_BAI        *k      = (KSP_BAI *)ksp->data;
  const Vec       b      = k->scale != 1.0 ? k->scaled : ksp->vec_rhs;
  const PetscBool finite = (PetscBool)!PetscIsInfOrNanReal((PetscReal)s->rnorm);
  const PetscBool stands = (PetscBool)(s->reason == BAI_LEVELS_STAGNATED);
  const PetscBool fixed  = IsFixed(ksp);
  PetscBool       single = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(IsSingle(ksp, &single));
  if (!fixed && ksp->converged == KSPConvergedDefault && finite && ksp->rnorm <= ksp->ttol &&
      s->reason != BAI_LEVELS_ITS) {
    ksp->reason = ksp->rnorm <= ksp->rtol * ksp->rnorm0 ? KSP_CONVERGED_RTOL : KSP_CONVERGED_ATOL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  switch (s->reason) {
  case BAI_LEVELS_CONVERGED:
    if (fixed) ksp->reason = KSP_CONVERGED_ITS;
    else ksp->reason = ksp->rnorm <= ksp->rtol * ksp->rnorm0 ? KSP_CONVERGED_RTOL : KSP_CONVERGED_ATOL;
    break;
  case BAI_LEVELS_ITS:
    ksp->reason = fixed || KSPBAITakesMaxIts(ksp) ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
    break;
  case BAI_LEVELS_DTOL: /* the norms of BiCGStab may grow where those of another method do not */
    if (!ksp->guess_zero || !(single || KSPBAIIsBiCGStabOnChip(k))) {
      ksp->reason = KSP_DIVERGED_DTOL;
      break;
    }
    PetscCall(VecZeroEntries(ksp->vec_sol));
    if (single) PetscCall(LeaveSingle(ksp, outcome));
    else PetscCall(BreakDown(ksp, PETSC_FALSE, outcome));
    break;
  case BAI_LEVELS_NAN: /* of a right-hand side or guess that was not finite nothing is learnt */
    if (!ksp->guess_zero || PetscIsInfOrNanReal((PetscReal)s->rnorm0)) ksp->reason = KSP_DIVERGED_NANORINF;
    else PetscCall(VecZeroEntries(ksp->vec_sol)); /* it was a method that made it of numbers */
    if (!ksp->reason && single) PetscCall(LeaveSingle(ksp, outcome));
    else if (!ksp->reason) PetscCall(BreakDown(ksp, PETSC_FALSE, outcome));
    if (ksp->reason == KSP_DIVERGED_BREAKDOWN) ksp->reason = KSP_DIVERGED_NANORINF;
    break;
  case BAI_LEVELS_STALLED:
    if (s->its) ksp->guess_zero = PETSC_FALSE; /* KSPSolve_BAI() restores it */
    if (single) PetscCall(LeaveSingle(ksp, outcome));
    else PetscCall(Stall(ksp, outcome));
    break;
  case BAI_LEVELS_INDEFINITE:
  case BAI_LEVELS_STAGNATED:
    if (fixed) ksp->reason = KSP_CONVERGED_ITS;
    else if (finite) PetscCall(KSPBAIStandsStill(ksp, b, ksp->vec_sol, (PetscReal)s->rnorm));
    if (ksp->reason) break;
    if (stands && k->runner == BAI_BY_LEVELS && !single) ksp->reason = KSP_DIVERGED_BREAKDOWN;
    else {
      if (s->its) ksp->guess_zero = PETSC_FALSE; /* KSPSolve_BAI() restores it */
      if (single) PetscCall(LeaveSingle(ksp, outcome));
      else PetscCall(BreakDown(ksp, stands, outcome));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b||, or if that is 0 the residual norm of the guess: the size of all that squares are taken of */
static PetscErrorCode Size(KSP ksp, PetscReal *size)
{
  BAI *bai = &((KSP_BAI *)ksp->data)->bai;

  PetscFunctionBegin;
  PetscCall(BAIVecNorm(ksp->vec_rhs, size));
  if (*size != 0 || ksp->guess_zero) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPBAINeedWork(ksp));
  PetscCall(KSPBAIResidual(ksp, ksp->vec_rhs, ksp->vec_sol, bai->r));
  PetscCall(BAIVecNorm(bai->r, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the square of the size is neither too small nor too large. A norm that is negative, or 0, which may be the
   root of what was too small, is set to the size */
static PetscErrorCode IsInRange(KSP ksp, PetscReal *norm, PetscBool *is)
{
  PetscFunctionBegin;
  if (*norm <= 0 || PetscIsInfOrNanReal(*norm)) PetscCall(Size(ksp, norm));
  *is = (PetscBool)(*norm == 0 || PetscIsInfOrNanReal(*norm) || BAIIsExactSquare(*norm * *norm) ||
                    ((KSP_BAI *)ksp->data)->scale != 1.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The engine does the whole solve, as nobody watches. A zero guess is tested afterwards, as that needs the host */
static PetscErrorCode SolveAtOnce(KSP ksp, Outcome *outcome)
{
  KSP_BAI          *k     = (KSP_BAI *)ksp->data;
  const PetscBool   fixed = IsFixed(ksp);
  BAITolerances     t     = {.rtol   = fixed ? 0 : ksp->rtol,
                             .abstol = fixed ? 0 : k->scale * ksp->abstol,
                             .dtol   = fixed ? 0 : ksp->divtol,
                             .scaled = KSPBAITestsTwice(ksp) ? ksp->rtol : 0,
                             .bnorm2 = -1,
                             .fixed  = fixed,
                             .max_it = (BAIInt)ksp->max_it};
  BAILevelsSolution s;
  PetscReal         bnorm    = -1;
  PetscBool         in_range = PETSC_TRUE;

  PetscFunctionBegin;
  if (!ksp->guess_zero && !fixed) {
    PetscCall(IsInRange(ksp, &bnorm, &in_range));
    if (!in_range) *outcome = SCALE;
    else PetscCall(LookAtGuess(ksp, &t));
    if (!in_range || ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Run(ksp, &t, PETSC_FALSE, 0, 0, &s));
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

/* A run that the convergence test found to diverge. Levels in single precision, and BiCGStab, whose norms may grow
   where those of another method do not, leave it to TakeReason() */
static PetscErrorCode LeaveDiverged(KSP ksp, BAILevelsSolution *s)
{
  KSP_BAI        *k     = (KSP_BAI *)ksp->data;
  const PetscBool grows = (PetscBool)(ksp->reason == KSP_DIVERGED_DTOL);
  PetscBool       is    = PETSC_FALSE;

  PetscFunctionBegin;
  if (ksp->converged != KSPConvergedDefault || !ksp->guess_zero || !(grows || ksp->reason == KSP_DIVERGED_NANORINF))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IsSingle(ksp, &is));
  if (is || KSPBAIIsBiCGStabOnChip(k)) {
    ksp->reason = KSP_CONVERGED_ITERATING;
    s->reason   = grows ? BAI_LEVELS_DTOL : BAI_LEVELS_NAN;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (k->runner != BAI_BY_PETSC || k->bai.options.krylov != BAI_KRYLOV_AUTO || !grows)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)k->inner, KSPFBCGS, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecZeroEntries(ksp->vec_sol));
  ksp->reason = KSP_CONVERGED_ITERATING;
  s->reason   = BAI_LEVELS_INDEFINITE;
  s->its      = 0; /* they have left nothing in x */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The convergence test of the KSP decides, and monitors see each norm. These are of r as the method updates it. Where
   KSPConvergedDefault() takes one for good enough, b - A x is tested, from which the solve goes on if need be
*/
static PetscErrorCode SolveWatched(KSP ksp, PetscInt *its, Outcome *outcome)
{
  KSP_BAI          *k      = (KSP_BAI *)ksp->data;
  const PetscBool   tested = (PetscBool)(ksp->converged == KSPConvergedDefault && !KSPBAINamesNorm(ksp));
  BAITolerances     t      = {.bnorm2 = -1};
  BAILevelsSolution s;
  BAITest           test     = {.goal = 0};
  PetscReal         bnorm    = -1;
  PetscBool         in_range = PETSC_TRUE, begun = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(IsInRange(ksp, &bnorm, &in_range));
  if (!in_range) *outcome = SCALE;
  if (!in_range) PetscFunctionReturn(PETSC_SUCCESS);
  t.scaled = KSPBAITestsTwice(ksp) ? ksp->rtol : 0;
  while (PETSC_TRUE) {
    t.max_it = (BAIInt)(ksp->max_it - *its);
    PetscCall(Run(ksp, &t, PETSC_TRUE, *its, (PetscReal)test.goal, &s));
    *its += (PetscInt)s.its;
    if (!KSPBAINamesNorm(ksp)) ksp->rnorm = (PetscReal)s.rnorm / k->scale;
    PetscCall(LeaveDiverged(ksp, &s));
    if (!ksp->reason || !tested || ksp->reason < 0 || !*its || ksp->reason == KSP_CONVERGED_ITS) break;
    if (!begun) BAITestBegin(&test, ksp->ttol, PETSC_MAX_REAL);
    begun = PETSC_TRUE;
    if (BAITestEnds(&test, ksp->rnorm, s.scaled, BAIScaledLimit(&t, ksp->abstol, ksp->ttol, s.scaled_b), &s.reason)) {
      if (s.reason != BAI_LEVELS_CONVERGED) ksp->reason = KSP_CONVERGED_ITERATING;
      break;
    }
    ksp->reason = KSP_CONVERGED_ITERATING;
    if (*its < ksp->max_it) continue;
    s.reason = BAI_LEVELS_ITS;
    break;
  }
  if (!ksp->reason) PetscCall(TakeReason(ksp, &s, outcome));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiplies b and x by a power of two, which changes no digit of what follows from them */
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
  PetscBool    transposed;
  Mat          A;
  BAI         *owner;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  ksp->its = 0;
  k->scale = 1.0;
  PetscCall(GetOwner(ksp, &owner));
  if (owner && !owner->hierarchy->finite) {
    ksp->reason = KSP_DIVERGED_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  while (outcome != ENDS) {
    const PetscBool watched = (PetscBool)((KSPBAIIsWatched(ksp) || k->runner == BAI_BY_PETSC || its) &&
                                          !(ksp->normtype == KSP_NORM_NONE || (IsFixed(ksp) && !KSPBAIIsWatched(ksp))));

    outcome = ENDS;
    if (watched) PetscCall(SolveWatched(ksp, &its, &outcome));
    else PetscCall(SolveAtOnce(ksp, &outcome));
    if (!watched) its = ksp->its;
    if (outcome == SCALE) PetscCall(Scale(ksp));
    if (outcome == SCALE) its = 0;
    if (outcome == AGAIN) PetscCall(KSPSetUp_BAIKrylov(ksp));
  }
  if (k->scale != 1.0) PetscCall(VecScale(ksp->vec_sol, 1.0 / k->scale));
  PetscCall(KSPBAIIsTransposed(ksp, &transposed));
  if (transposed) PetscCall(MatGetTransposeNullSpace(A, &nullspace));
  else PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, ksp->vec_sol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of -ksp_view about the method; the PC views itself */
PetscErrorCode KSPView_BAIKrylov(KSP ksp, PetscViewer viewer)
{
  const KSP_BAI       *k = (KSP_BAI *)ksp->data;
  const BAILevelsInfo *i = &k->bai.hierarchy->info;
  PetscViewerFormat    format;
  PetscBool            asked, mg;
  PCType               pc;
  char                 word[64];
  KSPType              inner;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  method krylov, %s: ", k->why));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (k->runner == BAI_BY_CHIP)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "%s on the chip, in one launch, preconditioned by local sweeps in blocks\n",
                                     i->hermitian ? "conjugate gradients" : "BiCGStab"));
  else if (k->runner == BAI_BY_LEVELS)
    PetscCall(PetscViewerASCIIPrintf(viewer, "conjugate gradients, preconditioned by the cycle of the PC\n"));
  else if (k->inner) {
    PetscCall(KSPGetType(k->inner, &inner));
    PetscCall(PetscViewerASCIIPrintf(viewer, "KSP type %s, preconditioned by the PC\n", inner));
  } else PetscCall(PetscViewerASCIIPrintf(viewer, "not yet set up\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (k->runner == BAI_BY_CHIP)
    PetscCall(BAIHierarchyView(&k->bai, viewer, (PetscBool)(format == PETSC_VIEWER_ASCII_INFO_DETAIL)));
  PetscCall(PCGetType(ksp->pc, &pc));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &mg, PCBAIMG, PCNONE, ""));
  PetscCall(KSPBAIGetPCTypeOption(ksp, word, sizeof(word), &asked));
  if (!mg && !asked)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  PC %s, as set in code; multigrid: -%spc_type baimg\n",
                                     pc ? pc : "unset",
                                     ((PetscObject)ksp->pc)->prefix ? ((PetscObject)ksp->pc)->prefix : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPReset_BAIKrylov(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  k->runner = BAI_BY_RELAXATION; /* until another one is set up */
  BAISetGuessNotRead(ksp, PETSC_FALSE);
  PetscCall(KSPDestroy(&k->inner));
  PetscCall(VecDestroy(&k->scaled));
  PetscCall(VecDestroy(&k->weights));
  PetscCall(BAIHierarchyReset(&k->bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}
