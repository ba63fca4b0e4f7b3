/* KSPBAI: creation, options and view of the KSP */
#include "kspbai.h" /*I "petscbai.h" I*/

/* Shows how the last solve ended, if the user may want another solver therefore */
static PetscErrorCode ViewEnd(KSP ksp, PetscViewer viewer)
{
  const KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  if (k->stands)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  the last solve ended at the residual norm that rounding allows, %g\n",
                                     (double)k->attainable));
  if (k->stalls) PetscCall(PetscViewerASCIIPrintf(viewer, "  the last solve ended as %s\n", KSPBAIStallText));
  if (k->method == BAI_METHOD_RELAXATION && (ksp->reason == KSP_DIVERGED_ITS || ksp->reason == KSP_DIVERGED_DTOL))
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", KSPBAIOtherMethodText));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows the Krylov method in -ksp_view; the PC views itself */
static PetscErrorCode ViewKrylov(KSP ksp, PetscViewer viewer)
{
  const KSP_BAI       *k = (KSP_BAI *)ksp->data;
  const BAILevelsInfo *i = &k->bai.hierarchy->info;
  PetscViewerFormat    format;
  PetscBool            asked, mg;
  PCType               pc;
  char                 word[64], how[128] = "not yet set up";

  PetscFunctionBegin;
  if (k->runner == BAI_BY_CHIP)
    PetscCall(PetscSNPrintf(how, sizeof(how), "%s on the chip, in one launch, preconditioned by local sweeps in blocks",
                            i->hermitian ? "conjugate gradients" : "BiCGStab"));
  else if (k->runner == BAI_BY_LEVELS)
    PetscCall(PetscStrncpy(how, "conjugate gradients, preconditioned by the cycle of the PC", sizeof(how)));
  else if (k->inner)
    PetscCall(
      PetscSNPrintf(how, sizeof(how), "KSP type %s, preconditioned by the PC", ((PetscObject)k->inner)->type_name));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  method krylov, %s: %s\n", k->why, how));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (k->runner == BAI_BY_CHIP)
    PetscCall(BAIHierarchyView(&k->bai, viewer, (PetscBool)(format == PETSC_VIEWER_ASCII_INFO_DETAIL)));
  PetscCall(PCGetType(ksp->pc, &pc));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &mg, PCBAIMG, PCNONE, ""));
  PetscCall(KSPBAIGetPCTypeOption(ksp, word, sizeof(word), &asked));
  if (!mg && !asked)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  PC %s, as set in code; multigrid: -%spc_type baimg\n",
                                     pc ? pc : "unset", BAIPrefixOf((PetscObject)ksp->pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_BAI(KSP ksp, PetscViewer viewer)
{
  KSP_BAI  *k   = (KSP_BAI *)ksp->data;
  BAI      *bai = &k->bai;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetPC(ksp, &ksp->pc));
  if (k->method == BAI_METHOD_AUTO) PetscCall(KSPBAIChooseMethod(ksp));
  if (k->method == BAI_METHOD_RELAXATION) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  method relaxation in mode %s, %s\n", BAIModes[BAIModeOf(bai)], k->why));
    PetscCall(KSPBAIViewUnusedPC(ksp, viewer));
    PetscCall(BAIView(bai, viewer));
    if (bai->options.check_interval)
      PetscCall(PetscViewerASCIIPrintf(viewer, "  residual norm every %" PetscInt_FMT " global iterations\n",
                                       bai->options.check_interval));
    if (bai->options.fault_fraction > 0.0) PetscCall(BAIFaultsView(bai, viewer));
    PetscCall(BAIStatsView(bai, viewer));
  } else {
    PetscCall(ViewKrylov(ksp, viewer));
    PetscCall(BAIViewWaits(bai, viewer));
  }
  PetscCall(ViewEnd(ksp, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetFromOptions_BAI(KSP ksp, BAIOptionItems PetscOptionsObject)
{
  KSP_BAI  *k   = (KSP_BAI *)ksp->data;
  BAI      *bai = &k->bai;
  char      type[64];
  PetscBool given;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "KSP block-asynchronous iteration and Krylov method options");
  PetscCall(BAIOptionsSetFromOptions(bai, PetscOptionsObject));
  PetscCall(KSPGetPC(ksp, &ksp->pc));
  k->pc_given = PETSC_FALSE;
  PetscCall(KSPBAIGetPCTypeOption(ksp, type, sizeof(type), &given));
  k->pc_given = given;
  if (!given) PetscCall(KSPBAIChoosePC(ksp));               /* otherwise PETSc sets it, or has set it */
  PetscCall(PetscMemzero(&k->setting, sizeof(k->setting))); /* method and PC must be chosen again */
  PetscOptionsHeadEnd();
  PetscCall(BAIStatsGetViewer(bai, "-ksp_bai_stats"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_BAI(KSP ksp)
{
  BAI *bai = (BAI *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPReset_BAI(ksp));
  PetscCall(BAIHierarchyDestroy(bai));
  PetscCall(PetscViewerDestroy(&bai->viewer));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
     KSPBAI - Krylov methods with algebraic multigrid, or block-asynchronous relaxation, on NVIDIA GPUs and hosts

   Options Database Keys:
+  -ksp_bai_method (auto|krylov|relaxation)       - whether a Krylov method or block-asynchronous relaxation solves,
                                                    `KSPBAISetMethod()`
.  -ksp_bai_krylov (auto|cg|fcg|bcgs|gmres)       - Krylov method, `KSPBAISetKrylov()`
.  -ksp_bai_local_iters <5>                       - Jacobi sweeps in a block per global iteration,
                                                    `KSPBAISetLocalIters()`
.  -ksp_bai_block_size <0>                        - rows of a block, `KSPBAISetBlockSize()`
.  -ksp_bai_mode (auto|async|launch|sync|color)   - how blocks wait for each other, `KSPBAISetMode()`
.  -ksp_bai_partition (auto|natural|graph)        - how rows are divided into blocks, `KSPBAISetPartition()`
.  -ksp_bai_momentum <0>                          - factor of the last step that each update adds, `KSPBAISetMomentum()`
.  -ksp_bai_weight (none|l1|tau|auto)             - diagonal weighting or scaling for matrices on which Jacobi diverges,
                                                    `KSPBAISetWeight()`
.  -ksp_bai_precision (native|single)             - precision of the sweeps, `KSPBAISetPrecision()`
.  -ksp_bai_omega <1>                             - damping of a block's update, after its local sweeps,
                                                    `KSPBAISetOmega()`
.  -ksp_bai_local_omega <1>                       - damping of each Jacobi sweep inside a block, `KSPBAISetLocalOmega()`
.  -ksp_bai_check_interval <0>                    - global iterations between residual norms, `KSPBAISetCheckInterval()`
.  -ksp_bai_backend (auto|host|cuda)              - whether the iteration runs on the host or on a GPU,
                                                    `KSPBAISetBackend()`
.  -ksp_bai_theta <false>                         - whether blocks with stronger couplings inside do more local sweeps
.  -ksp_bai_refine (auto|none|sync|async)         - iterative refinement round the sweeps
.  -ksp_bai_exchange (auto|scatter|amc|dk)        - how x is exchanged between MPI ranks
.  -ksp_bai_kernel (auto|resident|stream|generic) - family of kernels for global iterations on a GPU
.  -ksp_bai_idle_wait <false>                     - whether the host sleeps during long waits for the GPU
.  -ksp_bai_fault_fraction <0>                    - fraction of the rows that simulated faults hit
.  -ksp_bai_fault_at <10>                         - global iterations before simulated faults begin
.  -ksp_bai_fault_recover <0>                     - global iterations that simulated faults last
.  -ksp_bai_fault_seed <0>                        - random seed for the rows that simulated faults hit
-  -ksp_bai_stats <false>                         - whether statistics of the sweeps are taken

   Level: intermediate

   Notes:
   docs/manual.md describes the solver in more detail. docs/options.md and -help list its options, -ksp_bai_*. The first
   line of -ksp_view names the method that runs, and the reason.

   Krylov methods run by default, preconditioned by the PC of the `KSP`. If neither -pc_type nor the program chose a
   type, it becomes `PCBAIMG`. Other types work as with any `KSP`. The type that PETSc itself chooses for the matrix in
   `KSPSetFromOptions()` does not count as a choice: ilu, on several MPI ranks bjacobi, icc if the matrix is marked as
   symmetric, none or mat if it has no entries. A program that wants this very type must set it after `KSPSetType()`.
   Up to PETSc 3.18, the `KSPSetFromOptions()` that reads -ksp_type bai sets that type before it reads the option, which
   does not count as a choice either. `KSPSetType()` to another type leaves the PC as it is.

   `KSPBAISetKrylov()` sets the Krylov method; by default it follows from the matrix and the PC, as that manual page
   says. `KSPCG`, `KSPFCG`, `KSPFBCGS` and `KSPFGMRES` do the iterations, or, for most Hermitian matrices with a
   `PCBAIMG`, the conjugate gradients of this library. If a solve is a single kernel launch, local sweeps in blocks are
   the preconditioner; the PC is then not applied, and makes no levels.

   Relaxation is the block-asynchronous iteration of the reference below, described in docs/relaxation.md. It runs if an
   option of relaxation was given, such as -ksp_bai_local_iters 5 or -ksp_bai_mode async, or if the number of iterations
   is fixed, as for a smoother of `PCMG`. `KSP` counts global iterations: in each, every block of rows reads the current
   values of the other blocks once, does `local_iters` Jacobi sweeps, and writes its values back. The PC is not applied.
   Without a monitor, a residual history or a convergence test of the user, the norm is computed only when it may be
   small enough, unless -ksp_bai_check_interval is set.

   Convergence is tested with the norm of the true residual $b - A x$. With the default convergence test and norm, a
   Krylov method also requires that $D^{-1} (b - A x)$ has fallen by the same factor, where D is the diagonal of A. A
   norm set by `KSPSetNormType()` is tested alone: `KSP_NORM_UNPRECONDITIONED`, or with conjugate gradients
   `KSP_NORM_PRECONDITIONED` or `KSP_NORM_NATURAL`. The reason becomes `KSP_DIVERGED_DTOL` only if both norms have grown
   by the divergence tolerance. With conjugate gradients the residual norm may grow while the error falls, so `KSPBAI`
   replaces the default of that tolerance by $\epsilon^{-1/2}$, where $\epsilon$ is the machine epsilon. The reason is
   `KSP_DIVERGED_BREAKDOWN` if rounding keeps the residual norm above the tolerance, or if the last Krylov method that
   may be tried breaks down or stalls: the smallest norm of 300 iterations falls by less than 1 %, as for systems
   without a solution.

   Products with a matrix without entries may be inexact, as those with a `MATMFFD` are. If the norm of the true
   residual no longer falls there, and is below $10^{-4} ||b||$ in double precision, the test uses the norm that the
   method updates, which `KSPGetResidualNorm()` then returns.

   `KSPSolveTranspose()` needs `PCApplyTranspose()` of the PC, as PETSc's methods do; `PCBAI` and `PCBAIMG` have it.
   Relaxation iterates with a transposed copy of the matrix. After `KSPMatSolve()`, `KSP` reports the largest number of
   iterations, the largest residual norm, and the reason of the first column that failed.

   Relaxation is bitwise reproducible in `BAI_MODE_SYNC` and `BAI_MODE_COLOR`. In other modes results differ from run to
   run within the tolerance. The conjugate gradients of this library, and Krylov methods in one launch, are
   reproducible.

   Krylov methods take any Amat, such as a `MATSHELL` or the `MATMFFD` of -snes_mf_operator. Relaxation and `PCBAIMG`,
   which is made from Pmat, take `MATAIJ` and `MATAIJCUSPARSE`, and `MATBAIJ` and `MATSBAIJ` by a copy of type `MATAIJ`
   that follows their values. A diagonal entry of relaxation that is zero or missing, or whose reciprocal overflows, is
   an error that names the row. With the backend cuda a matrix and vectors on the host are copied to the GPU, also if
   PETSc was built without CUDA. For the partition graph the set-up of relaxation copies the matrix to the host. The
   backend host runs OMP_NUM_THREADS threads, but the ranks of a node share its cores, and together run at most one
   thread on each.

   Reference:
   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "A block-asynchronous relaxation method for graphics processing units",
   Journal of Parallel and Distributed Computing 73 (2013).

.seealso: `KSPCreate()`, `KSPSetType()`, `KSPType`, `KSPRICHARDSON`, `PCBAIMG`, `PCBAI`, `KSPBAIGetMethod()`,
          `KSPBAIStatsView()`, `KSPBAISetMethod()`, `KSPBAISetKrylov()`, `KSPBAISetLocalIters()`,
          `KSPBAISetBlockSize()`, `KSPBAISetMode()`, `KSPBAISetPartition()`, `KSPBAISetMomentum()`, `KSPBAISetWeight()`,
          `KSPBAISetPrecision()`, `KSPBAISetOmega()`, `KSPBAISetLocalOmega()`, `KSPBAISetCheckInterval()`,
          `KSPBAISetBackend()`
M*/

PetscErrorCode KSPCreate_BAI(KSP ksp)
{
  KSP_BAI *k;

  PetscFunctionBegin;
  PetscCall(PetscNew(&k));
  PetscCall(BAIInitialize((PetscObject)ksp, &BAIFaceKSP, &k->bai));
  PetscCall(BAIHierarchyCreate(&k->bai));
  k->bai.hierarchy->chip = PETSC_TRUE;
  k->scale               = 1.0;
  k->runner              = BAI_BY_RELAXATION;
  k->hermitian           = PETSC_BOOL3_UNKNOWN;
  ksp->data              = (void *)k;
  ksp->setupnewmatrix    = PETSC_TRUE;
  PetscCall(KSPBAIChoosePC(ksp));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 1));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NATURAL, PC_LEFT, 1));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
  ksp->ops->setup          = KSPSetUp_BAI;
  ksp->ops->solve          = KSPSolve_BAI;
  ksp->ops->matsolve       = KSPMatSolve_BAI;
  ksp->ops->view           = KSPView_BAI;
  ksp->ops->setfromoptions = KSPSetFromOptions_BAI;
  ksp->ops->reset          = KSPReset_BAI;
  ksp->ops->destroy        = KSPDestroy_BAI;
  ksp->ops->buildsolution  = KSPBuildSolution_BAI;
  ksp->ops->buildresidual  = KSPBuildResidualDefault;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIStatsView - Shows statistics of the last relaxation: how stale the values were that blocks read from each
   other, and how often blocks were updated

   Collective

   Input Parameters:
+  ksp    - the solver
-  viewer - an ASCII viewer; its format `PETSC_VIEWER_ASCII_CSV` gives a table with the columns quantity, of and value

   Options Database Key:
.  -ksp_bai_stats [viewertype][:filename[:viewerformat]] - shows it after each solve

   Level: intermediate

   Note:
   Without -ksp_bai_stats there are no statistics, and nothing is shown. In the table, row `reads` of k, for k from -32
   to 32, has the number of reads of values that were k global iterations behind the reader; negative: ahead of it.

.seealso: `KSPBAI`, `PetscViewer`
@*/
PetscErrorCode KSPBAIStatsView(KSP ksp, PetscViewer viewer)
{
  BAI *bai;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCall(BAIGet((PetscObject)ksp, &BAIFaceKSP, &bai));
  if (bai) PetscCall(BAIStatsView(bai, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
