/*
   KSPBAI: block-asynchronous iteration as a solver
*/
#include "../../bai/baiimpl.h"
#include <petsc/private/kspimpl.h> /*I "petscbai.h" I*/

static PetscErrorCode KSPSetUp_BAI(KSP ksp)
{
  BAI      *bai = (BAI *)ksp->data;
  Mat       A;
  PetscBool none;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, &none));
  if (!none) {
    PetscCall(PetscInfo(ksp, "KSPBAI needs no preconditioner, its PC is set to none\n"));
    PetscCall(PCSetType(ksp->pc, PCNONE));
  }
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAISetUp(bai, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Somebody wants to see the residual of every global iteration */
static PetscBool IsWatched(KSP ksp)
{
  return (PetscBool)(ksp->numbermonitors || ksp->res_hist || (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip));
}

/* How many global iterations to do before the residual norm is worth looking at again */
static PetscInt NextLook(KSP ksp)
{
  const BAI     *bai  = (BAI *)ksp->data;
  const PetscInt most = ksp->max_it - ksp->its;

  if (bai->options.check_interval) return PetscMin(most, bai->options.check_interval);
  if (ksp->converged == KSPConvergedSkip && !IsWatched(ksp)) return most;
  if (IsWatched(ksp)) return 1;
  return PetscMin(most, (PetscInt)bai->adapt.until - ksp->its);
}

/* log of the factor by which the residual norm is to fall; 0 if there is no tolerance */
static double Fall(KSP ksp, PetscReal rnorm)
{
  return ksp->ttol > 0.0 && rnorm > ksp->ttol ? (double)PetscLogReal(rnorm / ksp->ttol) : 0.0;
}

/* Iterates in another mode from now on, as the acceleration wants it, or, if it has come to nothing, in that of the options */
static PetscErrorCode ChangeMode(KSP ksp, BAIMode mode, PetscReal rnorm, BAIStep *step)
{
  BAI *bai = (BAI *)ksp->data;

  PetscFunctionBegin;
  PetscCall(BAIPrepare(bai, mode));
  step->mode        = mode;
  step->omega       = bai->options.omega * bai->tau;
  step->momentum    = 0.0;
  step->fresh       = 1;
  step->local_iters = 0;
  if (mode == BAI_MODE_COLOR && bai->adapt.accelerated) step->local_iters = (BAIInt)(bai->options.local_iters + bai->options.local_iters % 2); /* see BAIStepOf() */
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g: mode %s from now on\n", ksp->its, (double)rnorm, BAIModes[mode]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Follows the advice of adapt.h on how to go on after ksp->its iterations. Blocks that do not wait for each other gain little by momentum; so once
   accelerated they take turns, and if the matrix does not bear over-relaxation, read exactly the previous iterate
*/
static PetscErrorCode Look(KSP ksp, Vec x, PetscReal *rnorm, BAIStep *step)
{
  BAI           *bai   = (BAI *)ksp->data;
  BAIAdapt      *a     = &bai->adapt;
  const double   norm2 = (double)*rnorm * (double)*rnorm, beta = a->beta;
  const int      was   = a->accelerated;
  BAIAdaptAdvice advice;

  PetscFunctionBegin;
  advice = BAIAdaptLook(a, (BAIInt)ksp->its, norm2, Fall(ksp, *rnorm), step->mode == bai->accelerated);
  if (a->accelerated && !was) {
    if (!bai->kept) PetscCall(VecDuplicate(x, &bai->kept));
    PetscCall(ChangeMode(ksp, bai->accelerated, *rnorm, step));
  }
  if (a->beta != beta) PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ", residual norm %g%s: omega %g from now on\n", ksp->its, (double)*rnorm, advice == BAI_ADAPT_BACK ? ", back to the best one" : "", (double)(bai->options.omega * bai->tau) * (1 + a->beta)));
  if (advice == BAI_ADAPT_KEEP) PetscCall(VecCopy(x, bai->kept));
  if (advice == BAI_ADAPT_BACK) {
    PetscCall(VecCopy(bai->kept, x));
    *rnorm      = (PetscReal)sqrt(a->best2);
    step->fresh = 1;
  }
  if (a->accelerated && a->cap == 0.0 && (step->mode == BAI_MODE_COLOR || step->mode != bai->options.mode)) { /* in vain */
    const PetscBool again = (PetscBool)(step->mode == BAI_MODE_COLOR);

    bai->accelerated = BAI_MODE_SYNC;
    BAIAdaptStart(a, bai->accelerated, again, (BAIInt)ksp->its, (double)*rnorm * (double)*rnorm);
    PetscCall(ChangeMode(ksp, again ? bai->accelerated : bai->options.mode, *rnorm, step));
  }
  if (ksp->its >= a->until) BAIAdaptPlan(a, (BAIInt)ksp->its, Fall(ksp, *rnorm));
  if (a->accelerated) step->momentum = BAIAdaptMomentum(a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The engine can go all the way alone: nobody wants to see or decide anything meanwhile */
static PetscBool CanSolveAtOnce(KSP ksp, MatNullSpace nullspace)
{
  const BAI *bai = (BAI *)ksp->data;

  return (PetscBool)((bai->info.solves >> bai->options.mode & 1) && !bai->p.single && !bai->scatter && !bai->options.check_interval && ksp->converged == KSPConvergedDefault && !IsWatched(ksp) && !nullspace && ksp->max_it > 0);
}

/*
   A reason is given only if the guess was good enough, or not a number; otherwise ksp->its and rnorm are those that the engine
   came to. From a zero guess the solve comes before the test of the guess, which needs the host.
*/
static PetscErrorCode SolveAtOnce(KSP ksp, Vec b, Vec x, PetscReal *rnorm)
{
  BAI      *bai   = (BAI *)ksp->data;
  BAIStep   step  = BAIStepOf(bai, BAI_FORWARD);
  PetscReal bnorm = -1.0;
  PetscInt  its   = 0;

  PetscFunctionBegin;
  step.accelerate = bai->options.momentum == PETSC_DECIDE;
  if (!ksp->guess_zero) { /* what the tolerances are relative to is the convergence test's business */
    PetscCall(BAIRun(bai, b, x, PETSC_FALSE, 0, &step, rnorm));
    bnorm = *rnorm;
  } else PetscCall(BAISolve(bai, b, x, PETSC_TRUE, ksp->rtol, ksp->abstol, ksp->divtol, ksp->max_it, &bnorm, rnorm, &its, &step));
  KSPCheckNorm(ksp, bnorm);
  ksp->rnorm = bnorm;
  PetscCall((*ksp->converged)(ksp, 0, bnorm, &ksp->reason, ksp->cnvP));
  if (ksp->reason) {
    if (ksp->guess_zero) PetscCall(VecZeroEntries(x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!ksp->guess_zero) PetscCall(BAISolve(bai, b, x, PETSC_FALSE, 0.0, ksp->ttol, ksp->divtol, ksp->max_it, &bnorm, rnorm, &its, &step));
  ksp->its = its;
  if (step.accelerate && step.mode == BAI_MODE_ASYNC && its < ksp->max_it && *rnorm > ksp->ttol && *rnorm < ksp->divtol * bnorm) { /* it is slow */
    PetscCall(BAIPrepare(bai, BAI_MODE_SYNC));
    if (bai->info.solves >> BAI_MODE_SYNC & 1) {
      step.mode     = BAI_MODE_SYNC;
      step.omega    = bai->options.omega * bai->tau;
      step.momentum = 0;
      PetscCall(BAISolve(bai, b, x, PETSC_FALSE, 0.0, ksp->ttol, ksp->divtol, ksp->max_it - its, &bnorm, rnorm, &its, &step));
      ksp->its += its;
    }
  }
  bai->used = step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its global iterations, those of an acceleration each as it wants them */
static PetscErrorCode Run(KSP ksp, Vec b, Vec x, PetscInt its, BAIStep *step, PetscReal *rnorm)
{
  BAI     *bai = (BAI *)ksp->data;
  PetscInt done = 0, plain;

  PetscFunctionBegin;
  if (bai->adapt.accelerated) {
    plain = PetscMin(its, PetscMax(0, (PetscInt)bai->adapt.until - BAIAdaptPlain(&bai->adapt) - ksp->its));
    if (plain < its && plain > 0) {
      step->omega = bai->options.omega * bai->tau * BAIAdaptOmega(&bai->adapt, ksp->its);
      PetscCall(BAIRun(bai, b, x, (PetscBool)(ksp->guess_zero && !ksp->its), plain, step, NULL));
      step->fresh = 0;
      done        = plain;
    }
    step->omega = bai->options.omega * bai->tau * BAIAdaptOmega(&bai->adapt, ksp->its + done);
  }
  PetscCall(BAIRun(bai, b, x, (PetscBool)(ksp->guess_zero && !ksp->its && !done), its - done, step, rnorm));
  step->fresh = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_BAI(KSP ksp)
{
  BAI         *bai = (BAI *)ksp->data;
  Vec          x = ksp->vec_sol, b = ksp->vec_rhs;
  Mat          A;
  MatNullSpace nullspace;
  BAIStep      step  = BAIStepOf(bai, BAI_FORWARD);
  PetscReal    rnorm = 0.0;
  PetscBool    looked = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(!ksp->transpose_solve, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP, "KSPSolveTranspose() with KSPBAI");
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAISetUp(bai, A)); /* the values may have changed without KSPSetOperators() */
  PetscCall(MatGetNullSpace(A, &nullspace));
  ksp->its               = 0;
  bai->adapt.accelerated = 0;
  bai->accelerated       = step.mode == BAI_MODE_SYNC || step.mode == BAI_MODE_COLOR ? step.mode : bai->scatter ? BAI_MODE_SYNC : bai->info.ordered;

  if (ksp->normtype == KSP_NORM_NONE) {
    PetscCall(BAIRun(bai, b, x, ksp->guess_zero, ksp->max_it, &step, NULL));
    if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, x));
    ksp->its    = ksp->max_it;
    ksp->reason = KSP_CONVERGED_ITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  if (CanSolveAtOnce(ksp, nullspace)) {
    PetscCall(SolveAtOnce(ksp, b, x, &rnorm));
    if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  } else if (ksp->guess_zero) PetscCall(VecNorm(b, NORM_2, &rnorm));
  else PetscCall(BAIRun(bai, b, x, PETSC_FALSE, 0, &step, &rnorm));
  while (PETSC_TRUE) {
    PetscInt its;

    KSPCheckNorm(ksp, rnorm);
    ksp->rnorm = rnorm;
    PetscCall(KSPLogResidualHistory(ksp, rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, rnorm));
    PetscCall((*ksp->converged)(ksp, ksp->its, rnorm, &ksp->reason, ksp->cnvP));
    if (ksp->reason) break;
    if (ksp->its >= ksp->max_it) {
      ksp->reason = ksp->converged == KSPConvergedSkip ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
      break;
    }
    if (!looked) BAIAdaptStart(&bai->adapt, bai->accelerated, bai->options.momentum == PETSC_DECIDE, (BAIInt)ksp->its, (double)rnorm * (double)rnorm);
    if (!looked) BAIAdaptPlan(&bai->adapt, (BAIInt)ksp->its, Fall(ksp, rnorm));
    looked = PETSC_TRUE;
    its    = NextLook(ksp);
    PetscCall(Run(ksp, b, x, its, &step, &rnorm));
    if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, x));
    ksp->its += its;
    PetscCall(Look(ksp, x, &rnorm, &step));
    bai->used = step;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_BAI(KSP ksp, PetscViewer viewer)
{
  const BAI *bai = (BAI *)ksp->data;
  PetscBool  ascii;

  PetscFunctionBegin;
  PetscCall(BAIView((BAI *)ksp->data, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) {
    if (bai->options.momentum == PETSC_DECIDE && bai->used.omega > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "  momentum auto; the last solve ended in mode %s with omega %g, momentum %g\n", BAIModes[bai->used.mode], (double)bai->used.omega, (double)bai->used.momentum));
    if (bai->options.check_interval) PetscCall(PetscViewerASCIIPrintf(viewer, "  residual norm every %" PetscInt_FMT " global iterations\n", bai->options.check_interval));
    else PetscCall(PetscViewerASCIIPrintf(viewer, "  residual norm when it promises to be small enough\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetFromOptions_BAI(KSP ksp, BAIOptionItems PetscOptionsObject)
{
  BAI        *bai = (BAI *)ksp->data;
  const char *prefix;
  char        type[64];
  PetscBool   set, none = PETSC_TRUE;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "KSP block-asynchronous iteration options");
  PetscCall(BAIOptionsSetFromOptions((PetscObject)ksp, &bai->options, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscOptionsGetString(((PetscObject)ksp)->options, prefix, "-pc_type", type, sizeof(type), &set));
  if (set) PetscCall(PetscStrcmp(type, PCNONE, &none));
  PetscCheck(none, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP, "-%spc_type %s: KSPBAI uses no preconditioner, so it must be none or left out", prefix ? prefix : "", type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_BAI(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(BAIReset((BAI *)ksp->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_BAI(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPReset_BAI(ksp));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
     KSPBAI - Block-asynchronous iteration: Jacobi sweeps inside blocks of rows, which exchange their parts of the solution
     without waiting for each other

   Options Database Keys:
+  -ksp_bai_local_iters <5>                              - Jacobi sweeps in a block per global iteration, `KSPBAISetLocalIters()`
.  -ksp_bai_block_size <0>                               - rows of a block, `KSPBAISetBlockSize()`
.  -ksp_bai_mode (async|launch|sync|color)               - how blocks wait for each other, `KSPBAISetMode()`
.  -ksp_bai_partition (auto|natural|dm|rcm|graph)        - how rows become blocks, `KSPBAISetPartition()`
.  -ksp_bai_momentum <auto>                              - part of the last step that each update repeats, `KSPBAISetMomentum()`
.  -ksp_bai_weight (none|l1|tau|auto)                    - what makes it converge where Jacobi does not, `KSPBAISetWeight()`
.  -ksp_bai_theta <false>                                - whether blocks that hold more of their rows do more local sweeps, `KSPBAISetTheta()`
.  -ksp_bai_overlap <0>                                  - steps of the matrix graph by which blocks are extended, `KSPBAISetOverlap()`
.  -ksp_bai_staleness <-1>                               - global iterations that a block may be ahead of those it reads from, `KSPBAISetStaleness()`
.  -ksp_bai_precision (native|single)                    - in which precision sweeps read the matrix, `KSPBAISetPrecision()`
.  -ksp_bai_omega <1>                                    - damping of a block's update, after its local sweeps, `KSPBAISetOmega()`
.  -ksp_bai_local_omega <1>                              - damping of each Jacobi sweep inside a block, `KSPBAISetLocalOmega()`
.  -ksp_bai_check_interval <0>                           - global iterations between residual norms, `KSPBAISetCheckInterval()`
.  -ksp_bai_backend (auto|host|cuda)                     - where the iteration runs, `KSPBAISetBackend()`
-  -ksp_bai_kernel (auto|resident|staged|stream|generic) - which family of kernels does the global iterations on a GPU, `KSPBAISetKernel()`

   Level: intermediate

   Notes:
   The rows of each MPI rank are cut into blocks, of consecutive rows unless a partition is asked for. In one global iteration every block reads the others'
   current values once, does `local_iters` Jacobi sweeps on its own rows, and writes its values back. Iterations that `KSP`
   counts are global iterations.

   It converges for every order in which blocks may update if the spectral radius of |I - D^{-1}A| is below one, D being the
   diagonal of A; so for every strictly diagonally dominant matrix and every nonsingular M-matrix. Elsewhere it may diverge; a weight then helps for positive
   definite matrices. A missing or zero diagonal entry is an error.

   An iteration that shows to be slow is accelerated, see `KSPBAISetMomentum()`: from then on blocks wait for each other, as no good acceleration is known for those
   that do not. -ksp_bai_momentum 0 prevents that. A fixed number of iterations, `KSP_NORM_NONE`, is never accelerated.

   Residual norms are those of b - A x for a solution that no block changes meanwhile, and a reason is given only on such a
   norm. While nobody watches (no monitor, no residual history, no convergence test of one's own) they are computed
   only when the contraction seen so far promises that they are small enough, so a solve may do a few iterations more than
   needed; use -ksp_bai_check_interval 1, or a monitor, to see every one of them. On a GPU whose registers and shared memory hold
   the whole matrix, a solve on one rank that nobody watches is one kernel launch, or two if it is accelerated.

   Except with `BAI_MODE_SYNC` and `BAI_MODE_COLOR`, results differ from run to run within the tolerance.

   Supports matrices of type `MATAIJ` and `MATAIJCUSPARSE`. The latter and its vectors stay on the GPU all the time, but for what MPI carries between ranks, and at set-up
   for the weight auto, the partitions rcm and graph, and overlap, which are found on the host. With the
   backend cuda a matrix and vectors that live on the host are copied to the GPU, also if PETSc was built without CUDA. Several
   MPI ranks exchange values after every global iteration.

   The `KSP` uses no preconditioner, and sets its `PC` to `PCNONE`; it uses Amat, not Pmat, of `KSPSetOperators()`. The backend
   host runs OMP_NUM_THREADS threads, or, if that is not set, shares the cores between the ranks of the node.

   References:
   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "A block-asynchronous relaxation method for graphics processing units",
   Journal of Parallel and Distributed Computing 73 (2013).

.seealso: `KSPCreate()`, `KSPSetType()`, `KSPType`, `KSPRICHARDSON`, `KSPBAISetLocalIters()`, `KSPBAISetBlockSize()`,
          `KSPBAISetMode()`, `KSPBAISetPartition()`, `KSPBAISetMomentum()`, `KSPBAISetWeight()`, `KSPBAISetTheta()`,
          `KSPBAISetOverlap()`, `KSPBAISetStaleness()`, `KSPBAISetPrecision()`, `KSPBAISetOmega()`,
          `KSPBAISetLocalOmega()`, `KSPBAISetCheckInterval()`, `KSPBAISetBackend()`, `KSPBAISetKernel()`
M*/

PetscErrorCode KSPCreate_BAI(KSP ksp)
{
  BAI *bai;

  PetscFunctionBegin;
  PetscCall(BAICreate((PetscObject)ksp, &bai));
  ksp->data           = (void *)bai;
  ksp->setupnewmatrix = PETSC_TRUE;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
  ksp->ops->setup          = KSPSetUp_BAI;
  ksp->ops->solve          = KSPSolve_BAI;
  ksp->ops->view           = KSPView_BAI;
  ksp->ops->setfromoptions = KSPSetFromOptions_BAI;
  ksp->ops->reset          = KSPReset_BAI;
  ksp->ops->destroy        = KSPDestroy_BAI;
  ksp->ops->buildsolution  = KSPBuildSolutionDefault;
  ksp->ops->buildresidual  = KSPBuildResidualDefault;
  PetscFunctionReturn(PETSC_SUCCESS);
}
