/*
   KSPBAI: how it solves, and what PETSc asks of a KSP
*/
#include "kspbai.h" /*I "petscbai.h" I*/

/* Somebody may look at x whenever there is a residual norm */
PetscBool KSPBAISeesX(KSP ksp)
{
  return (PetscBool)(ksp->numbermonitors ||
                     (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip));
}

/* Somebody wants to see the residual of every iteration, or it takes the convergence test to decide */
PetscBool KSPBAIIsWatched(KSP ksp)
{
  return (PetscBool)(ksp->res_hist || KSPBAISeesX(ksp) || BAIMinimumIterations(ksp) > 0);
}

/* max_it iterations are good enough, see KSPConvergedDefaultSetConvergedMaxits() */
PetscBool KSPBAITakesMaxIts(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPConvergedDefault && ksp->cnvP &&
                     ((KSPConvergedDefaultCtx *)ksp->cnvP)->convmaxits);
}

/*
   The convergence test of the guess. With a nonzero one KSPConvergedDefault() takes ||b|| from VecNorm(). Where that is
   no exact one, it is given ||b|| in place of the residual norm of a zero guess, from which the same tolerances follow
*/
PetscErrorCode KSPBAITestGuess(KSP ksp, PetscReal rnorm)
{
  PetscReal bnorm;

  PetscFunctionBegin;
  if (!ksp->guess_zero && ksp->converged == KSPConvergedDefault && ksp->cnvP &&
      !((KSPConvergedDefaultCtx *)ksp->cnvP)->initialrtol) {
    PetscCall(BAIVecNorm(ksp->vec_rhs, &bnorm));
    if (bnorm > 0.0 && !PetscIsInfOrNanReal(bnorm) && !BAIIsExactSquare(bnorm * bnorm)) {
      if (((KSPConvergedDefaultCtx *)ksp->cnvP)->mininitialrtol) bnorm = PetscMin(bnorm, rnorm);
      ksp->guess_zero = PETSC_TRUE;
      PetscCall((*ksp->converged)(ksp, 0, bnorm, &ksp->reason, ksp->cnvP));
      ksp->guess_zero = PETSC_FALSE;
      PetscCall((*ksp->converged)(ksp, 1, rnorm, &ksp->reason, ksp->cnvP));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall((*ksp->converged)(ksp, 0, rnorm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Amat, or Pmat if only that has entries */
PetscErrorCode KSPBAIGetMatOfEntries(KSP ksp, Mat *B)
{
  PetscBool has;
  Mat       A, P;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, &P));
  *B = A;
  if (A == P) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHasEntries(A, &has));
  if (has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHasEntries(P, &has));
  if (has) *B = P;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A bound of ||A||: of a Hermitian matrix with levels these know one; else it is computed, on a GPU on the host */
static PetscErrorCode BoundNorm(const KSP_BAI *k, Mat A, PetscReal *norm)
{
  const BAILevelsInfo *info = &k->bai.hierarchy->info;
  PetscReal            norm1, norminf;

  PetscFunctionBegin;
  *norm = (PetscReal)info->norm;
  if (k->method == BAI_METHOD_ENGINE && !info->resident && info->hermitian && *norm > 0.0)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNorm(A, NORM_1, &norm1));
  PetscCall(MatNorm(A, NORM_INFINITY, &norminf));
  *norm = PetscSqrtReal(norm1) * PetscSqrtReal(norminf);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   ||b - A x|| has stood still for long. Below a small multiple of eps (||A|| ||x|| + ||b||) rounding keeps it up, and
   no iteration gets any further
*/
PetscErrorCode KSPBAIStandsStill(KSP ksp, Vec b, Vec x, PetscReal rnorm)
{
  const PetscReal multiple = 64;
  KSP_BAI        *k        = (KSP_BAI *)ksp->data;
  const PetscBool exact    = (PetscBool)(k->method != BAI_METHOD_RELAXATION || k->bai.run != BAIRunRounded);
  PetscReal       norm, xnorm, bnorm;
  Mat             A;

  PetscFunctionBegin;
  PetscCall(KSPBAIGetMatOfEntries(ksp, &A)); /* of Pmat it is an estimate */
  PetscCall(BoundNorm(k, A, &norm));
  PetscCall(BAIVecNorm(x, &xnorm));
  PetscCall(BAIVecNorm(b, &bnorm));
  k->attainable = multiple * PETSC_MACHINE_EPSILON * (norm * xnorm + bnorm);
  k->stands     = (PetscBool)(exact && rnorm <= k->attainable);
  if (k->stands) ksp->reason = KSP_DIVERGED_BREAKDOWN;
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ": the residual norm stays at %g, %s what rounding allows, %g\n",
                      ksp->its, (double)rnorm, k->stands ? "which is" : "above", (double)k->attainable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve is relaxation: as asked, or as options of it are set; or its iterations are to be of a fixed number, as those
 * of a smoother */
static PetscErrorCode IsRelaxation(KSP ksp, PetscBool *is)
{
  const BAI *bai = (BAI *)ksp->data;
  BAIOptions o;

  PetscFunctionBegin;
  *is = (PetscBool)(bai->options.levels == 0);
  if (bai->options.levels >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIOptionsStandard(bai->face, &o));
  o.backend   = bai->options.backend;
  o.exchange  = bai->options.exchange;
  o.idle_wait = bai->options.idle_wait;
  PetscCall(BAIOptionsEqual(&o, &bai->options, is));
  *is = (PetscBool)(!*is || ksp->normtype == KSP_NORM_NONE || ksp->converged == KSPConvergedSkip);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that users may have changed, for a KSPBAI that solves in the place of this one. Monitors are left out */
PetscErrorCode KSPBAIInstruct(KSP ksp, KSP other)
{
  PetscFunctionBegin;
  ((KSP_BAI *)other->data)->bai.options = ((KSP_BAI *)ksp->data)->bai.options;
  other->rtol                           = ksp->rtol;
  other->abstol                         = ksp->abstol;
  other->divtol                         = ksp->divtol;
  other->max_it                         = ksp->max_it;
  BAICopyMinimumIterations(ksp, other);
  PetscCall(KSPSetNormType(other, ksp->normtype));
  PetscCall(KSPSetConvergenceTest(other, ksp->converged, ksp->cnvP, NULL));
  PetscCall(KSPMonitorCancel(other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC of type none is in the place of the one that there is. That stays as it is for whoever knows it, and lives as
   long as the KSP */
static PetscErrorCode ReplacePC(KSP ksp)
{
  const PC    given = ksp->pc;
  PetscBool   set;
  PetscInt    references;
  const char *prefix;
  Mat         A, P;
  PC          pc;

  PetscFunctionBegin;
  PetscCall(PetscObjectCompose((PetscObject)ksp, "KSPBAI_given_pc", (PetscObject)given));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)ksp), &pc));
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)ksp, &prefix));
  PetscCall(PCSetOptionsPrefix(pc, prefix));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(PCGetOperatorsSet(given, &set, NULL));
  if (set) {
    PetscCall(PCGetOperators(given, &A, &P));
    PetscCall(PCSetOperators(pc, A, P));
  }
  PetscCall(KSPSetPC(ksp, pc));
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscObjectGetReference((PetscObject)given, &references));
  if (references == 1) PetscCall(PCSetOperators(given, NULL, NULL)); /* it would hold on to them */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There is no preconditioner: the PC is one of type none. In KSPSetUp() PETSc sets up what was the PC when it began, so
   one that nobody else holds becomes of that type itself there */
static PetscErrorCode NeedNoPC(KSP ksp, PetscBool in_setup)
{
  KSP_BAI  *k = (KSP_BAI *)ksp->data;
  PetscBool none;
  PetscInt  references;
  PCType    type;

  PetscFunctionBegin;
  if (!ksp->pc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, &none));
  if (none) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetType(ksp->pc, &type));
  PetscCall(
    PetscInfo(ksp, "KSPBAI needs no preconditioner, its PC is of type none and not %s\n", type ? type : "unset"));
  PetscCall(PetscFree(k->pctype));
  PetscCall(PetscStrallocpy(type, &k->pctype));
  PetscCall(PetscObjectGetReference((PetscObject)ksp->pc, &references));
  if (in_setup && references == 1) PetscCall(PCSetType(ksp->pc, PCNONE));
  else PetscCall(ReplacePC(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A KSP of another type has a PC of the type that there was, unless users set another one since */
static PetscErrorCode RestorePCType(KSP ksp)
{
  KSP_BAI  *k    = (KSP_BAI *)ksp->data;
  PetscBool none = PETSC_FALSE;
  PetscInt  references;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetReference((PetscObject)ksp, &references)); /* 0: it is being destroyed */
  if (ksp->pc) PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, &none));
  if (none && references && k->pctype) PetscCall(PCSetType(ksp->pc, k->pctype));
  PetscCall(PetscFree(k->pctype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses how to solve with the matrix as it is now, and sets that up; nothing is done if it is so already */
static PetscErrorCode SetUpMethod(KSP ksp)
{
  KSP_BAI  *k   = (KSP_BAI *)ksp->data;
  BAI      *bai = &k->bai;
  Mat       A, B;
  PetscBool is = PETSC_FALSE;
  int       work;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPBAIGetMatOfEntries(ksp, &B));
  PetscCall(IsRelaxation(ksp, &is));
  if (!is) {
    PetscCall(KSPSetUp_BAIKrylov(ksp, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (k->method == BAI_METHOD_ENGINE || k->method == BAI_METHOD_PETSC) PetscCall(KSPReset_BAIKrylov(ksp));
  k->method = BAI_METHOD_RELAXATION;
  PetscCall(BAIIsSetUp(bai, A, &is));
  work = !is;
  PetscCall(BAIAgree(bai, PETSC_SUCCESS, &work));
  if (work) PetscCall(BAISetUp(bai, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same. PETSc calls KSPSolve() with one column after the other where there is no function for many of them. A solve
 * on the chip writes x, and reads it only if it is a guess */
PetscErrorCode KSPBAISetUpMethod(KSP ksp)
{
  const KSP_BAI *k = (KSP_BAI *)ksp->data;
  PetscBool      chip;

  PetscFunctionBegin;
  PetscCall(SetUpMethod(ksp));
  chip               = (PetscBool)(k->method == BAI_METHOD_ENGINE && k->bai.hierarchy->info.resident);
  ksp->ops->matsolve = chip ? KSPMatSolve_BAI : NULL;
  BAISetGuessNotRead(ksp, chip);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_BAI(KSP ksp)
{
  PetscBool matrix, transpose;
  Mat       A;
  MatType   type = NULL;

  PetscFunctionBegin;
  PetscCall(KSPGetOperatorsSet(ksp, &matrix, NULL));
  if (matrix) PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (matrix) PetscCall(MatGetType(A, &type)); /* none if PETSc only made it because it was asked for */
  PetscCheck(type, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_WRONGSTATE,
             "KSPBAI has no matrix: call KSPSetOperators(), or KSPSetDM() and KSPSetComputeOperators(), first");
  PetscCall(NeedNoPC(ksp, PETSC_TRUE));
  PetscCall(KSPBAINeedsTranspose(ksp, &transpose));
  if (!transpose) PetscCall(KSPBAISetUpMethod(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that are not assembled would be left out, and vectors of other sizes read and written beyond their ends */
static PetscErrorCode CheckOperands(KSP ksp)
{
  const Vec         vecs[]  = {ksp->vec_rhs, ksp->vec_sol};
  const char *const names[] = {"right-hand side", "solution"};
  PetscInt          rows, local_rows, n, local_n;
  Mat               A;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAICheckAssembled((PetscObject)ksp, A));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetLocalSize(A, &local_rows, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecGetSize(vecs[k], &n));
    PetscCall(VecGetLocalSize(vecs[k], &local_n));
    PetscCheck(n == rows, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_SIZ,
               "The %s has %" PetscInt_FMT " entries: must be %" PetscInt_FMT ", the rows of the matrix", names[k], n,
               rows);
    PetscCheck(local_n == local_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "The %s has %" PetscInt_FMT " entries on this rank: must be %" PetscInt_FMT
               ", the rows of the matrix there",
               names[k], local_n, local_rows);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_BAI(KSP ksp)
{
  KSP_BAI        *k          = (KSP_BAI *)ksp->data;
  const PetscBool guess_zero = ksp->guess_zero, zeroed = (PetscBool)!BAIGuessIsNotRead(ksp);
  PetscBool       transpose;
  PetscErrorCode  code;

  PetscFunctionBegin;
  PetscCall(CheckOperands(ksp));
  k->stands = PETSC_FALSE;
  PetscCall(KSPBAINeedsTranspose(ksp, &transpose));
  if (transpose) {
    PetscCall(KSPSolve_BAITranspose(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPBAISetUpMethod(ksp)); /* the values may have changed without KSPSetOperators() */
  if (guess_zero && !zeroed && !BAIGuessIsNotRead(ksp)) PetscCall(VecZeroEntries(ksp->vec_sol));
  switch (k->method) {
  case BAI_METHOD_RELAXATION:
    code = KSPSolve_BAIRelaxation(ksp);
    break;
  default:
    code = KSPSolve_BAIKrylov(ksp);
  }
  ksp->guess_zero = guess_zero;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the ranks that work have to say, or this one */
static PetscErrorCode ViewMethod(KSP ksp, PetscViewer viewer)
{
  KSP_BAI *k   = (KSP_BAI *)ksp->data;
  BAI     *bai = &k->bai;

  PetscFunctionBegin;
  if (k->method == BAI_METHOD_ENGINE || k->method == BAI_METHOD_PETSC) PetscCall(KSPView_BAIKrylov(ksp, viewer));
  else {
    PetscCall(BAIView(bai, viewer));
    if (bai->options.check_interval)
      PetscCall(PetscViewerASCIIPrintf(viewer, "  residual norm every %" PetscInt_FMT " global iterations\n",
                                       bai->options.check_interval));
    if (bai->research) PetscCall(BAIResearchView(bai, viewer));
  }
  if (k->stands)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  the last solve ended at what rounding allows, a residual norm of %g\n",
                                     (double)k->attainable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_BAI(KSP ksp, PetscViewer viewer)
{
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ViewMethod(ksp, viewer));
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
  PetscCall(BAIOptionsSetFromOptions(bai, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscCall(BAIStatsGetViewer(bai, "-ksp_bai_stats"));
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscOptionsGetString(((PetscObject)ksp)->options, prefix, "-pc_type", type, sizeof(type), &set));
  if (set) PetscCall(PetscStrcmp(type, PCNONE, &none));
  PetscCheck(none, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "-%spc_type %s: KSPBAI uses no preconditioner, so it must be none or left out", prefix ? prefix : "",
             type);
  PetscCall(NeedNoPC(ksp, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_BAI(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPBAIDestroyTranspose(ksp));
  PetscCall(KSPReset_BAIKrylov(ksp));
  PetscCall(BAIReset(&k->bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_BAI(KSP ksp)
{
  BAI *bai = (BAI *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPReset_BAI(ksp));
  PetscCall(BAIHierarchyDestroy(bai));
  PetscCall(PetscViewerDestroy(&bai->viewer));
  PetscCall(RestorePCType(ksp));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static BAI *DataOf(PetscObject ksp)
{
  return &((KSP_BAI *)((KSP)ksp)->data)->bai;
}

static PetscErrorCode GetDM(PetscObject ksp, DM *dm)
{
  PetscFunctionBegin;
  *dm = ((KSP)ksp)->dm; /* KSPGetDM() makes one */
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BAIFace BAIFaceKSP =
  {.number = 0, .name = "ksp", .prefix = "KSP", .solves = PETSC_TRUE, .data = DataOf, .getdm = GetDM};

/*MC
     KSPBAI - Krylov methods preconditioned by a multigrid cycle of block-asynchronous iteration; or that iteration
     itself

   Options Database Keys:
+  -ksp_bai_local_iters <5>                        - Jacobi sweeps in a block per global iteration,
                                                     `KSPBAISetLocalIters()`
.  -ksp_bai_block_size <0>                         - rows of a block, `KSPBAISetBlockSize()`
.  -ksp_bai_mode (auto|async|launch|sync|color)    - how blocks wait for each other, `KSPBAISetMode()`
.  -ksp_bai_partition (auto|natural|dm|rcm|graph)  - how rows become blocks, `KSPBAISetPartition()`
.  -ksp_bai_levels <auto>                          - levels of the multigrid preconditioner at most, or none for
                                                     relaxation, `KSPBAISetLevels()`
.  -ksp_bai_momentum <0>                           - part of the last step that each update repeats,
                                                     `KSPBAISetMomentum()`
.  -ksp_bai_weight (none|l1|tau|auto)              - damping that makes it converge where Jacobi does not,
                                                     `KSPBAISetWeight()`
.  -ksp_bai_precision (native|single)              - precision of the sweeps, `KSPBAISetPrecision()`
.  -ksp_bai_omega <1>                              - damping of a block's update, after its local sweeps,
                                                     `KSPBAISetOmega()`
.  -ksp_bai_local_omega <1>                        - damping of each Jacobi sweep inside a block,
                                                     `KSPBAISetLocalOmega()`
.  -ksp_bai_check_interval <0>                     - global iterations between residual norms,
                                                     `KSPBAISetCheckInterval()`
.  -ksp_bai_backend (auto|host|cuda)               - where the iteration runs, `KSPBAISetBackend()`
.  -ksp_bai_theta <false>                          - whether blocks with more weight inside do more local sweeps,
                                                     `KSPBAISetTheta()`
.  -ksp_bai_overlap <0>                            - steps of the matrix graph by which blocks are extended,
                                                     `KSPBAISetOverlap()`
.  -ksp_bai_staleness <-1>                         - global iterations that a block may be ahead of those it reads from,
                                                     `KSPBAISetStaleness()`
.  -ksp_bai_refine (auto|none|sync|async)          - iterative refinement round the sweeps, `KSPBAISetRefine()`
.  -ksp_bai_exchange (auto|scatter|amc|dc|dk)      - how x is exchanged between MPI ranks, `KSPBAISetExchange()`
.  -ksp_bai_kernel (auto|resident|stream|generic)  - family of kernels for global iterations on a GPU,
                                                     `KSPBAISetKernel()`
.  -ksp_bai_idle_wait <false>                      - whether the host sleeps during long waits for the device,
                                                     `KSPBAISetIdleWait()`
.  -ksp_bai_fault_type (rows|blocks|x|matrix|sums) - what simulated faults do, `KSPBAISetFaultType()`
.  -ksp_bai_fault_fraction <0>                     - part of the rows or blocks that simulated faults hit,
                                                     `KSPBAISetFaultFraction()`
.  -ksp_bai_fault_at <10>                          - global iterations before simulated faults begin,
                                                     `KSPBAISetFaultAt()`
.  -ksp_bai_fault_recover <0>                      - global iterations that simulated faults last,
                                                     `KSPBAISetFaultRecover()`
.  -ksp_bai_fault_seed <0>                         - choice of the rows or blocks that simulated faults hit,
                                                     `KSPBAISetFaultSeed()`
.  -ksp_bai_fault_detect <false>                   - whether faults are looked for and repaired,
                                                     `KSPBAISetFaultDetect()`
-  -ksp_bai_stats <false>                          - whether sweeps are counted, for statistics, `KSPBAISetStats()`

   Level: intermediate

   Notes:
   By default a solve is a Krylov method, and set-up chooses it by the matrix. On one MPI rank a symmetric definite
   matrix gets conjugate gradients with a multigrid cycle as the preconditioner. If a GPU holds the matrix in registers
   and shared memory, the whole solve is one kernel launch: pipelined conjugate gradients, or BiCGStab, with local
   sweeps in blocks as the preconditioner. In all other cases `KSPCG` or `KSPFBCGS` solves with the cycle, and
   `KSPFGMRES` if BiCGStab breaks down. Only GPUs of one host that write to each other's memory do conjugate gradients
   without `KSPCG`. See `KSPBAISetLevels()` and `PCBAIMG`.

   With a near null space attached to the matrix, `MatSetNearNullSpace()`, as the rigid body modes of elasticity, coarse
   levels have all of its vectors, see `PCBAIMG`.

   The levels of the multigrid cycle span all MPI ranks, so the number of iterations hardly depends on the number of
   ranks. -ksp_view says how many levels are distributed. Every rank has the others for itself.

   Any option that defines the relaxation, as mode or local_iters, -ksp_bai_levels none, and a fixed number of
   iterations, as with `KSP_NORM_NONE`, select relaxation: the block-asynchronous iteration of the papers. The rows of
   each MPI rank are divided into blocks, of consecutive rows unless a partition is asked for. In one global iteration
   every block reads the current values of the others once, does `local_iters` Jacobi sweeps on its own rows, and writes
   its values back. `KSP` counts global iterations.

   Relaxation converges for every order of updates if the spectral radius of |I - D^{-1}A| is below one, D being the
   diagonal of A; so for every strictly diagonally dominant matrix and every nonsingular M-matrix. For other matrices it
   may diverge; a weight then helps if the matrix is positive definite. A zero, missing or tiny diagonal entry is an
   error that names the row. A row of zeros gets 1 on its diagonal.

   Convergence is decided by the norm of the true residual b - A x, also where a Krylov method updates the residual
   meanwhile. If there is no monitor, no residual history and no convergence test of the user's, a relaxation computes
   the norm only when it may be small enough. So it may do a few iterations more than needed; -ksp_bai_check_interval 1,
   or a monitor, makes it compute every norm. Without these, a solve on one rank is one kernel launch if the GPU holds
   the whole matrix in registers and shared memory.

   `KSPSolveTranspose()` solves with the transposed matrix, for which there is another set-up. Both are kept, and follow
   the values of the matrix. If `MAT_SYMMETRIC` is set, one serves for both.

   `KSPMatSolve()` solves several columns at once, in one kernel launch, if a GPU holds the matrix in registers and
   shared memory, and right-hand sides and solutions are where the matrix is. Every column meets the tolerances; the
   number of iterations and the residual norm are the largest, and the reason is that of the first column that failed.
   In all other cases, as with a monitor, a null space or a `KSPGuess`, columns are solved one after the other.

   If rounding keeps the residual norm above the tolerance, the reason is `KSP_DIVERGED_BREAKDOWN`; -info and the view
   give the norm that can be attained.

   Relaxation gives bitwise reproducible results in `BAI_MODE_SYNC` and `BAI_MODE_COLOR`. In other modes results differ
   from run to run within the tolerance.

   Supports matrices of type `MATAIJ` and `MATAIJCUSPARSE`, and of type `MATBAIJ` and `MATSBAIJ` by a copy of type
   `MATAIJ` that follows their values. `MATAIJCUSPARSE` and its vectors stay on the GPU, except for what MPI exchanges
   between ranks. The set-up of a relaxation copies to the host what the weight auto, the partitions rcm and graph, and
   overlap need. The set-up of levels on several MPI ranks copies to the host what belongs to the boundaries of the
   ranks, and the matrix of the level that every rank has for itself. With the backend cuda a matrix and vectors on the
   host are copied to the GPU, also if PETSc was built without CUDA.

   `KSPBAISetExchange()` says how MPI ranks exchange x in a relaxation. For a small system fewer ranks may be faster:
   `PCTELESCOPE` moves all rows to them, as by -ksp_type preonly -pc_type telescope -telescope_ksp_type bai.

   The `KSP` takes no preconditioner. From `KSPSetFromOptions()` or `KSPSetUp()` on its `PC` is one of type `PCNONE`. A
   `PC` that something else holds, or that was there before `KSPSetFromOptions()`, stays as it is.

   The solver uses Amat, not Pmat, of `KSPSetOperators()`. If Amat has no entries, as a `MATSHELL` or the `MATMFFD` of
   `-snes_mf_operator`, levels are those of Pmat, and `KSPFGMRES` solves with Amat.

   The backend host runs OMP_NUM_THREADS threads, but the ranks of a node share its cores, and run no more than these.

   References:
   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "A block-asynchronous relaxation method for graphics processing units",
   Journal of Parallel and Distributed Computing 73 (2013).

.seealso: `KSPCreate()`, `KSPSetType()`, `KSPType`, `KSPRICHARDSON`, `KSPBAISetLocalIters()`, `KSPBAISetBlockSize()`,
          `KSPBAISetMode()`, `KSPBAISetPartition()`, `KSPBAISetLevels()`, `KSPBAISetMomentum()`, `KSPBAISetWeight()`,
          `KSPBAISetPrecision()`, `KSPBAISetOmega()`, `KSPBAISetLocalOmega()`, `KSPBAISetCheckInterval()`,
          `KSPBAISetBackend()`, `KSPBAISetTheta()`, `KSPBAISetOverlap()`, `KSPBAISetStaleness()`, `KSPBAISetRefine()`,
          `KSPBAISetExchange()`, `KSPBAISetKernel()`, `KSPBAISetIdleWait()`, `KSPBAISetFaultType()`,
          `KSPBAISetFaultFraction()`, `KSPBAISetFaultAt()`, `KSPBAISetFaultRecover()`, `KSPBAISetFaultSeed()`,
          `KSPBAISetFaultDetect()`, `KSPBAISetStats()`
M*/

PetscErrorCode KSPCreate_BAI(KSP ksp)
{
  KSP_BAI *k;

  PetscFunctionBegin;
  PetscCall(PetscNew(&k));
  PetscCall(BAIInitialize((PetscObject)ksp, &BAIFaceKSP, &k->bai));
  PetscCall(BAIHierarchyCreate(&k->bai));
  k->scale            = 1.0;
  k->method           = BAI_METHOD_RELAXATION;
  ksp->data           = (void *)k;
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
