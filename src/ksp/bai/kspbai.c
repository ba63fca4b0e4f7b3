/*
   KSPBAI: what PETSc asks of a KSP
*/
#include "kspbai.h" /*I "petscbai.h" I*/

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

/* Whether the matrix, or its values, are others than those that are known, or what is made of them is to be made
   anyway. They are known then. All ranks do the same */
PetscErrorCode KSPBAITakeValues(KSP_BAI *k, Mat A, PetscBool anyway, KSPBAIValues *known, PetscBool *others)
{
  KSPBAIValues now;
  int          work;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &now.id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &now.state));
  work = anyway || now.id != known->id || now.state != known->state;
  PetscCall(BAIAgree(&k->bai, PETSC_SUCCESS, &work));
  *known  = now;
  *others = (PetscBool)work;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number that no other object has had, or 0 */
static PetscObjectId IdOf(PetscObject obj)
{
  PetscObjectId id = 0;

  if (obj) (void)PetscObjectGetId(obj, &id);
  return id;
}

/* Whether what method and PC follow from has changed since they were chosen; so no solve looks for options */
static PetscBool IsToBeChosen(KSP ksp)
{
  const KSP_BAI *k = (KSP_BAI *)ksp->data;

  return (PetscBool)(!ksp->pc || k->from.pc != IdOf((PetscObject)ksp->pc) ||
                     k->from.P != IdOf((PetscObject)ksp->pc->pmat) || k->from.asked != k->bai.asked ||
                     k->from.method != k->bai.options.method || k->from.norm != ksp->normtype ||
                     k->from.skips != (PetscBool)(ksp->converged == KSPConvergedSkip));
}

static void Chosen(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  k->from.pc     = IdOf((PetscObject)ksp->pc);
  k->from.P      = IdOf((PetscObject)ksp->pc->pmat);
  k->from.asked  = k->bai.asked;
  k->from.method = k->bai.options.method;
  k->from.norm   = ksp->normtype;
  k->from.skips  = (PetscBool)(ksp->converged == KSPConvergedSkip);
}

/*
   Sets up the method that the options ask for, for the matrix as it is now; nothing is done if that is so already. A
   PCBAIMG that is not applied makes no levels
*/
PetscErrorCode KSPBAIUpdate(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;
  BAI     *mg;

  PetscFunctionBegin;
  if (IsToBeChosen(ksp)) {
    PetscCall(KSPBAIChoosePC(ksp));
    PetscCall(KSPBAIChooseMethod(ksp));
    Chosen(ksp);
  }
  if (k->method == BAI_METHOD_KRYLOV) {
    PetscCall(KSPSetUp_BAIKrylov(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (k->runner != BAI_BY_RELAXATION) PetscCall(KSPReset_BAIKrylov(ksp));
  PetscCall(KSPBAIGetMG(ksp, &mg));
  if (mg) KSPBAIDefer(ksp, mg);
  PetscCall(KSPSetUp_BAIRelaxation(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_BAI(KSP ksp)
{
  PetscBool matrix;
  Mat       A;
  MatType   type = NULL;

  PetscFunctionBegin;
  PetscCall(KSPGetOperatorsSet(ksp, &matrix, NULL));
  if (matrix) PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (matrix) PetscCall(MatGetType(A, &type)); /* none if PETSc only made it because it was asked for */
  PetscCheck(type, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_WRONGSTATE,
             "KSPBAI has no matrix: call KSPSetOperators(), or KSPSetDM() and KSPSetComputeOperators(), first");
  if (BAIScalesDiagonal(ksp)) PetscCall(KSPBAIChoosePC(ksp)); /* the matrix will be another one in KSPSolve() */
  else PetscCall(KSPBAIUpdate(ksp));
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

static PetscErrorCode Solve(KSP ksp)
{
  KSP_BAI        *k      = (KSP_BAI *)ksp->data;
  const PetscBool zeroed = (PetscBool)!BAIGuessIsNotRead(ksp);

  PetscFunctionBegin;
  PetscCall(CheckOperands(ksp));
  k->stands = k->stalls = PETSC_FALSE;
  PetscCall(KSPBAIUpdate(ksp)); /* options, or values of the matrix, may have changed since KSPSetUp() */
  if (ksp->reason == KSP_DIVERGED_PC_FAILED && !ksp->pc->failedreason)
    ksp->reason = KSP_CONVERGED_ITERATING; /* of a PC that is set up anew, or not at all */
  if (ksp->guess_zero && !zeroed && !BAIGuessIsNotRead(ksp)) PetscCall(VecZeroEntries(ksp->vec_sol));
  if (k->method == BAI_METHOD_RELAXATION) PetscCall(KSPSolve_BAIRelaxation(ksp));
  else PetscCall(KSPSolve_BAIKrylov(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_BAI(KSP ksp)
{
  const PetscBool guess_zero = ksp->guess_zero;
  PetscErrorCode  code;

  PetscFunctionBegin;
  code            = Solve(ksp);
  ksp->guess_zero = guess_zero;
  if (code) ksp->pc->presolvedone--; /* PETSc does not call PCPostSolve() then */
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says how the last solve ended, if users may want another solver then */
static PetscErrorCode ViewEnd(KSP ksp, PetscViewer viewer)
{
  const KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  if (k->stands)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  the last solve ended at what rounding allows, a residual norm of %g\n",
                                     (double)k->attainable));
  if (k->stalls) PetscCall(PetscViewerASCIIPrintf(viewer, "  the last solve ended as %s\n", KSPBAIStallText));
  if (k->method == BAI_METHOD_RELAXATION && (ksp->reason == KSP_DIVERGED_ITS || ksp->reason == KSP_DIVERGED_DTOL))
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", KSPBAIOtherMethodText));
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
    if (bai->research) PetscCall(BAIResearchView(bai, viewer));
  } else PetscCall(KSPView_BAIKrylov(ksp, viewer));
  PetscCall(ViewEnd(ksp, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The key of releases up to 0.3: none is the method relaxation, and a number is one of levels of the PCBAIMG */
static PetscErrorCode SetFromOptionsLevels(KSP ksp, BAIOptionItems PetscOptionsObject)
{
  const char *prefix;
  char        word[32], *end;
  PetscBool   set, none, decide;
  long        number;
  BAI        *mg;

  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscOptionsGetString(((PetscObject)ksp)->options, prefix, "-ksp_bai_levels", word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsDeprecated("-ksp_bai_levels", NULL, "petsc-bai 0.4",
                                   "Use -ksp_bai_method relaxation in the place of none, and -pc_baimg_levels in the "
                                   "place of a number"));
  PetscCall(PetscStrcasecmp(word, "none", &none));
  PetscCall(PetscStrcasecmp(word, "auto", &decide));
  if (none) PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_RELAXATION));
  if (none || decide) PetscFunctionReturn(PETSC_SUCCESS);
  number = strtol(word, &end, 10);
  PetscCheck(end != word && !*end, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE,
             "-%sksp_bai_levels %s: must be none, auto, or a number", prefix ? prefix : "", word);
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_KRYLOV));
  PetscCall(KSPBAIGetPCTypeOption(ksp, word, sizeof(word), &set));
  if (set) PetscCall(PCSetType(ksp->pc, word)); /* which PETSc may do later */
  PetscCall(KSPBAIGetMG(ksp, &mg));
  PetscCheck(mg, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "-%sksp_bai_levels %ld: the PC must be of type baimg, as that has the levels", prefix ? prefix : "",
             number);
  PetscCall(PCBAIMGSetLevels(ksp->pc, (PetscInt)number));
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
  PetscCall(KSPBAIGetPCTypeOption(ksp, type, sizeof(type), &given));
  if (!given) PetscCall(KSPBAIChoosePC(ksp)); /* else PETSc sets it, or has set it */
  k->from.pc = 0;                             /* method and PC are to be chosen anew */
  PetscCall(SetFromOptionsLevels(ksp, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscCall(BAIStatsGetViewer(bai, "-ksp_bai_stats"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_BAI(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPReset_BAIKrylov(ksp));
  PetscCall(MatDestroy(&k->At));
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
  {.number = 0, .name = "ksp", .prefix = "KSP", .type = KSPBAI, .solves = PETSC_TRUE, .data = DataOf, .getdm = GetDM};

/*MC
     KSPBAI - Block-asynchronous iteration as a solver, and Krylov methods for matrices on GPUs, preconditioned by
     multigrid

   Options Database Keys:
+  -ksp_bai_method (auto|krylov|relaxation)        - whether a Krylov method or relaxation solves, `KSPBAISetMethod()`
.  -ksp_bai_krylov (auto|cg|fcg|bcgs|gmres)        - Krylov method, `KSPBAISetKrylov()`
.  -ksp_bai_local_iters <5>                        - Jacobi sweeps in a block per global iteration,
                                                     `KSPBAISetLocalIters()`
.  -ksp_bai_block_size <0>                         - rows of a block, `KSPBAISetBlockSize()`
.  -ksp_bai_mode (auto|async|launch|sync|color)    - how blocks wait for each other, `KSPBAISetMode()`
.  -ksp_bai_partition (auto|natural|dm|rcm|graph)  - how rows become blocks, `KSPBAISetPartition()`
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
.  -ksp_bai_theta <false>                          - whether blocks with more weight inside do more local sweeps
.  -ksp_bai_overlap <0>                            - steps of the matrix graph by which blocks are extended
.  -ksp_bai_staleness <-1>                         - global iterations that a block may be ahead of those it reads from
.  -ksp_bai_refine (auto|none|sync|async)          - iterative refinement round the sweeps
.  -ksp_bai_exchange (auto|scatter|amc|dc|dk)      - how x is exchanged between MPI ranks
.  -ksp_bai_kernel (auto|resident|stream|generic)  - family of kernels for global iterations on a GPU
.  -ksp_bai_idle_wait <false>                      - whether the host sleeps during long waits for the device
.  -ksp_bai_fault_type (rows|blocks|x|matrix|sums) - what simulated faults do
.  -ksp_bai_fault_fraction <0>                     - part of the rows or blocks that simulated faults hit
.  -ksp_bai_fault_at <10>                          - global iterations before simulated faults begin
.  -ksp_bai_fault_recover <0>                      - global iterations that simulated faults last
.  -ksp_bai_fault_seed <0>                         - choice of the rows or blocks that simulated faults hit
.  -ksp_bai_fault_detect <false>                   - whether faults are looked for and repaired
-  -ksp_bai_stats <false>                          - whether sweeps are counted, for statistics

   Level: intermediate

   Notes:
   There are two methods, see `KSPBAISetMethod()`. The first line of -ksp_view names the one that runs, and why.

   *Relaxation* is the block-asynchronous iteration of the papers. It runs if an option that defines it was given, such
   as -ksp_bai_local_iters 5 or -ksp_bai_mode async, or if the number of iterations is fixed, as below `PCMG`. The rows
   of each MPI rank are divided into blocks, of consecutive rows unless a partition is asked for. In one global
   iteration every block reads the current values of the others once, does `local_iters` Jacobi sweeps on its own rows,
   and writes its values back. `KSP` counts global iterations. The PC is not applied.

   *Krylov* methods run otherwise, with the PC of the `KSP`. If nobody chose its type, by -pc_type or in code, it is
   `PCBAIMG`. Other types work as with any `KSP`. A type that the PC has after `KSPSetFromOptions()` and before
   `KSPSetType()` counts as chosen by nobody if it is one of those that PETSc gives a PC by itself: none, ilu, icc,
   bjacobi or mat. Up to PETSc 3.18 this includes the `KSPSetFromOptions()` that reads -ksp_type bai. So set such a
   type after the KSP has become a `KSPBAI`, or by -pc_type. `KSPSetType()` to another type leaves the PC as it is.

   `KSPBAISetKrylov()` names the Krylov method; by default it follows from matrix and PC. `KSPCG`, `KSPFCG`, `KSPFBCGS`
   and `KSPFGMRES` do the iterations. Where the PC is `PCBAIMG`, Amat is Pmat, and the matrix is Hermitian with diagonal
   entries of one sign, the library's own conjugate gradients do them, on one MPI rank and on GPUs of one host that
   access each other's memory. On one GPU whose registers and shared memory hold the matrix a solve is one kernel
   launch, of pipelined conjugate gradients or BiCGStab preconditioned by local sweeps in blocks; then the PC is not
   applied, and makes no levels.

   Relaxation converges for every order of updates if the spectral radius of |I - D^{-1}A| is below one, D being the
   diagonal of A; so for every strictly diagonally dominant matrix and every nonsingular M-matrix. For other matrices it
   may diverge; a weight then helps if the matrix is positive definite. A zero, missing or tiny diagonal entry is an
   error that names the row. A row of zeros gets 1 on its diagonal.

   Convergence is decided by the norm of the true residual b - A x, also where a Krylov method updates the residual
   meanwhile. With the default convergence test, and if no norm is named, a Krylov method claims convergence only if
   the residual divided row by row by the diagonal of the matrix has fallen by the same factor, too. So rows on another
   scale than the others, as those of boundary conditions, do not hide these. If rounding keeps this second norm up, or
   the method breaks down, the first one decides alone. `KSPSetNormType()` names one norm, which is then tested alone:
   `KSP_NORM_UNPRECONDITIONED`, or with conjugate gradients `KSP_NORM_PRECONDITIONED` or `KSP_NORM_NATURAL`.

   If there is no monitor, no residual history and no convergence test of the user's, a relaxation computes the norm
   only when it may be small enough. So it may do a few iterations more than needed; -ksp_bai_check_interval 1, or a
   monitor, makes it compute every norm. Without these, a solve on one rank is one kernel launch if the GPU holds the
   whole matrix in registers and shared memory.

   The reason is `KSP_DIVERGED_BREAKDOWN` if rounding keeps the residual norm above the tolerance, or if the least norm
   of 300 iterations of a Krylov method falls by less than 1 %, as for systems that have no solution; -info and the view
   say more.

   `KSPSolveTranspose()` needs `PCApplyTranspose()` of the PC, as PETSc's methods do; `PCBAI` and `PCBAIMG` have it. A
   relaxation iterates with a transposed copy of the matrix.

   `KSPMatSolve()` solves several columns at once, in one kernel launch, if a GPU holds the matrix in registers and
   shared memory, and right-hand sides and solutions are where the matrix is. Every column meets the tolerances; the
   number of iterations and the residual norm are the largest, and the reason is that of the first column that failed.
   In all other cases, as with a monitor, a null space or a `KSPGuess`, columns are solved one after the other.

   Relaxation gives bitwise reproducible results in `BAI_MODE_SYNC` and `BAI_MODE_COLOR`. In other modes results differ
   from run to run within the tolerance. The library's conjugate gradients, and solves in one launch, give the same
   results each time.

   Supports matrices of type `MATAIJ` and `MATAIJCUSPARSE`, and of type `MATBAIJ` and `MATSBAIJ` by a copy of type
   `MATAIJ` that follows their values. `MATAIJCUSPARSE` and its vectors stay on the GPU, except for what MPI exchanges
   between ranks. The set-up of a relaxation copies to the host what the partitions rcm and graph, and overlap need. With the backend cuda a matrix and vectors on the host are copied to the GPU, also if PETSc was built
   without CUDA. Krylov methods take any Amat, as a `MATSHELL` or the `MATMFFD` of -snes_mf_operator; `PCBAIMG` is made
   of Pmat, and without entries there the PC that nobody chose is `PCNONE`.

   -ksp_bai_exchange says how MPI ranks exchange x in a relaxation. For a small system fewer ranks may be faster:
   `PCTELESCOPE` moves all rows to them, as by -ksp_type preonly -pc_type telescope -telescope_ksp_type bai.

   The backend host runs OMP_NUM_THREADS threads, but the ranks of a node share its cores, and run no more than these.

   References:
   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "A block-asynchronous relaxation method for graphics processing units",
   Journal of Parallel and Distributed Computing 73 (2013).

.seealso: `KSPCreate()`, `KSPSetType()`, `KSPType`, `KSPRICHARDSON`, `KSPBAISetMethod()`, `KSPBAISetKrylov()`,
          `KSPBAISetLocalIters()`, `KSPBAISetBlockSize()`, `KSPBAISetMode()`, `KSPBAISetPartition()`,
          `KSPBAISetMomentum()`, `KSPBAISetWeight()`, `KSPBAISetPrecision()`, `KSPBAISetOmega()`,
          `KSPBAISetLocalOmega()`, `KSPBAISetCheckInterval()`, `KSPBAISetBackend()`
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
  ksp->ops->buildsolution  = KSPBuildSolutionDefault;
  ksp->ops->buildresidual  = KSPBuildResidualDefault;
  PetscFunctionReturn(PETSC_SUCCESS);
}
