/* PCBAIMG: algebraic multigrid with block-asynchronous smoothing as a preconditioner */
#include "../../multigrid/hierarchy.h"
#include <petsc/private/pcimpl.h> /*I "petscbai.h" I*/

/* Makes the levels; if the KSP has deferred that, old levels only cease to be ready */
static PetscErrorCode PCSetUp_BAIMG(PC pc)
{
  BAI *bai = (BAI *)pc->data;

  PetscFunctionBegin;
  if (bai->hierarchy->deferred) {
    bai->hierarchy->ready = PETSC_FALSE; /* levels of other values must not be applied */
    pc->failedreason      = PC_NOERROR;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BAIHierarchySetUp(bai, pc->pmat));
  pc->failedreason = bai->hierarchy->finite ? PC_NOERROR : PC_SETUP_ERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses in h->single the precision of the next levels unless the user has. harmless: the KSP keeps the residual
   itself, so rounding in the levels does no harm */
static PetscErrorCode ChoosePrecision(PC pc, PetscBool harmless)
{
  const BAIHierarchy h = ((BAI *)pc->data)->hierarchy;

  PetscFunctionBegin;
  if (h->options.single != PETSC_BOOL3_UNKNOWN) PetscFunctionReturn(PETSC_SUCCESS);
  /* new levels would belong to new values */
  if (pc->reusepreconditioner && h->ready) PetscFunctionReturn(PETSC_SUCCESS);
  if (!harmless) {
    if (h->info.single) h->single = 0;
  } else if (!h->single) h->single = BAI_SINGLE_IN_RANGE;
  else if (h->ready && !h->hermitian) h->single = BAI_SINGLE_IN_RANGE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses the precision of levels for this KSP. Applications outside of solves choose it themselves */
static PetscErrorCode PCPreSolve_BAIMG(PC pc, KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x)
{
  BAI      *bai = (BAI *)pc->data;
  PetscBool harmless;

  PetscFunctionBegin;
  PetscCall(
    PetscObjectTypeCompareAny((PetscObject)ksp, &harmless, KSPCG, KSPFCG, KSPGCR, KSPFGMRES, KSPFBCGS, KSPBAI, ""));
  PetscCall(ChoosePrecision(pc, harmless));
  bai->hierarchy->solving = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPostSolve_BAIMG(PC pc, PETSC_UNUSED KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x)
{
  PetscFunctionBegin;
  ((BAI *)pc->data)->hierarchy->solving = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_BAIMG(PC pc, Vec r, Vec z)
{
  PetscFunctionBegin;
  if (!((BAI *)pc->data)->hierarchy->solving) PetscCall(ChoosePrecision(pc, PETSC_FALSE));
  PetscCall(BAIHierarchySetUpIfAsked((BAI *)pc->data, pc->pmat));
  PetscCall(BAIHierarchyApply((BAI *)pc->data, r, z, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_BAIMG(PC pc, Vec r, Vec z)
{
  BAI *bai = (BAI *)pc->data;

  PetscFunctionBegin;
  if (!bai->hierarchy->solving) PetscCall(ChoosePrecision(pc, PETSC_FALSE));
  PetscCall(BAIHierarchySetUpIfAsked(bai, pc->pmat));
  PetscCall(BAIHierarchyApplyTranspose(bai, pc->pmat, r, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints a line for each level */
static PetscErrorCode Table(const BAILevelsInfo *i, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "    level        rows    nonzeros  per row  aggregates  rows in none    blocks  inside blocks\n"));
  for (int l = 0; l < i->levels; l++) {
    const BAILevelInfo *level = &i->level[l];

    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "    %5d  %10" PetscInt64_FMT "  %10" PetscInt64_FMT "  %7.1f  %10" PetscInt64_FMT
                                     "  %12" PetscInt64_FMT "  %8" PetscInt64_FMT "  %13" PetscInt64_FMT "\n",
                                     l, (PetscInt64)level->rows, (PetscInt64)level->nnz,
                                     level->rows ? (double)level->nnz / (double)level->rows : 0.0,
                                     (PetscInt64)level->aggregates, (PetscInt64)level->alone, (PetscInt64)level->blocks,
                                     (PetscInt64)level->inside));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows the levels; table: also a line for each of them, and how they were made */
PetscErrorCode BAIHierarchyView(const BAI *bai, PetscViewer viewer, PetscBool table)
{
  const BAIHierarchy   h         = bai->hierarchy;
  const BAILevelsInfo *i         = &h->info;
  double               operators = 1, grids = 1, matrix;

  PetscFunctionBegin;
  if (!h->ready) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  not yet set up\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!i->levels) {
    if (h->jacobi)
      PetscCall(PetscViewerASCIIPrintf(viewer, "  PCJACOBI instead of levels, as a row has more than %d entries\n",
                                       BAI_LONGEST_ROW));
    else PetscCall(PetscViewerASCIIPrintf(viewer, "  no levels\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int l = 1; l < i->levels; l++) { /* relative to the finest level, which may have none */
    operators += (double)i->level[l].nnz / (double)i->level[0].nnz;
    grids += (double)i->level[l].rows / (double)i->level[0].rows;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %d level%s, %" PetscInt64_FMT " rows to %" PetscInt64_FMT
                                   "; operator complexity %.3f, grid complexity %.3f\n",
                                   i->levels, i->levels == 1 ? "" : "s", (PetscInt64)i->level[0].rows,
                                   (PetscInt64)i->level[i->levels - 1].rows, operators, grids));
  if (h->fields.unknowns.shown && h->fields.use != BAI_FIELDS_TOGETHER)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " unknowns of each point%s, by the nonzero pattern\n",
                                     h->fields.unknowns.count,
                                     h->interleaved.fields ? ", which are renumbered together" : ""));
  if (h->ranks)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "  the first %d of them distributed, the others on each rank\n", i->distributed));
  if (h->gathered)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  the system is gathered by %s\n",
                                     !BAIGatheredIsShared(h->gathered)  ? "each rank"
                                       : h->backend == BAI_BACKEND_CUDA ? "one rank of each GPU"
                                                                        : "one rank"));
  if (h->scaling.left)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  for the matrix with its %s scaled\n",
                                     h->scaling.left == h->scaling.right ? "unknowns" : "rows and columns"));
  if (!table) PetscFunctionReturn(PETSC_SUCCESS);
  matrix = (double)i->level[0].nnz * (double)(sizeof(PetscScalar) + sizeof(PetscInt)) +
    (double)(i->level[0].rows + 1) * (double)sizeof(PetscInt); /* bytes */
  PetscCall(Table(i, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  last level %s; coarsening ended, as %s\n",
                                   i->exact ? "solved exactly" : "smoothed", i->stop));
  if (i->modes)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "  near null space: aggregates of points, %d columns of P for each\n", i->modes));
  else if (h->fields.use == BAI_FIELDS_TOGETHER)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  aggregates have unknowns of all fields\n"));
  if (i->grid.m[0])
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  aggregates are boxes of a grid of %" PetscInt64_FMT " x %" PetscInt64_FMT
                                     " x %" PetscInt64_FMT "%s\n",
                                     (PetscInt64)i->grid.m[0], (PetscInt64)i->grid.m[1], (PetscInt64)i->grid.m[2],
                                     i->distributed ? ", the part of the first rank" : ""));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  aggregates are %smatched pairs of rows\n",
                                     h->aggregates ? "those of PCBAIMGSetAggregates(), and on coarse levels " : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  levels in %s precision, %.3g MB, %.3g times the matrix; set-up %.3g s; set-ups "
                                   "%" PetscInt_FMT ", value updates %" PetscInt_FMT "\n",
                                   i->single         ? "single"
                                     : h->not_single ? "native (single was not accurate enough)"
                                                     : "native",
                                   1e-6 * (double)i->bytes, (double)i->bytes / matrix, (double)h->seconds, h->setups,
                                   h->updates));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  backend %s\n", BAIBackends[h->backend]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *Word(PetscBool3 flag)
{
  return flag == PETSC_BOOL3_UNKNOWN ? "auto" : flag == PETSC_BOOL3_TRUE ? "true" : "false";
}

static PetscErrorCode PCView_BAIMG(PC pc, PetscViewer viewer)
{
  const BAI         *bai        = (const BAI *)pc->data;
  const BAIHierarchy h          = bai->hierarchy;
  char               levels[32] = "auto";
  PetscBool          ascii;
  PetscViewerFormat  format;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (h->options.levels != PETSC_DECIDE)
    PetscCall(PetscSNPrintf(levels, sizeof(levels), "at most %" PetscInt_FMT, h->options.levels));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  levels %s, local_iters %" PetscInt_FMT ", over %g, single %s%s%s\n",
                                   levels, h->options.local_iters, (double)h->options.over, Word(h->options.single),
                                   h->options.gather == PETSC_BOOL3_UNKNOWN ? "" : ", gather ",
                                   h->options.gather == PETSC_BOOL3_UNKNOWN ? "" : Word(h->options.gather)));
  if (h->ready && !BAIHierarchyIsHermitian(h))
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  the matrix is not %s with diagonal entries of one sign: not for KSPCG\n",
                                     PetscDefined(USE_COMPLEX) ? "Hermitian" : "symmetric"));
  PetscCall(BAIHierarchyView(bai, viewer, (PetscBool)(format == PETSC_VIEWER_ASCII_INFO_DETAIL)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_BAIMG(PC pc, BAIOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "PC algebraic multigrid with block-asynchronous smoothing options");
  PetscCall(BAIOptionsSetFromOptions((BAI *)pc->data, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_BAIMG(PC pc)
{
  PetscFunctionBegin;
  PetscCall(BAIHierarchyReset((BAI *)pc->data));
  PetscCall(BAIReset((BAI *)pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_BAIMG(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_BAIMG(pc));
  PetscCall(BAIHierarchyDestroy((BAI *)pc->data));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
     PCBAIMG - Algebraic multigrid by aggregation, whose smoother is block Jacobi with inner Jacobi sweeps

   Options Database Keys:
+  -pc_baimg_levels <auto>            - largest number of levels, `PCBAIMGSetLevels()`
.  -pc_baimg_local_iters <4>          - Jacobi sweeps in a block per smoothing step, `PCBAIMGSetLocalIters()`
.  -pc_baimg_over <1.9>               - overcorrection factor of coarse matrices, `PCBAIMGSetOver()`
.  -pc_baimg_single (auto|true|false) - whether levels on a GPU have single precision, `PCBAIMGSetSingle()`
-  -pc_baimg_gather (auto|true|false) - whether one rank of each GPU solves the whole system, `PCBAIMGSetGather()`

   Level: beginner

   Notes:
   Use it for large elliptic systems, such as diffusion or elasticity: with `KSPCG` the number of iterations hardly
   grows with the number of unknowns. No option is needed. Levels are set up where the matrix is, on the host or on a
   GPU. `KSPBAI` combines this preconditioner with a Krylov method that fits the matrix. docs/multigrid.md describes the
   method, near null spaces, fields, units, and levels on several MPI ranks; docs/options.md and -help list the options,
   -pc_baimg_*.

   An application is one cycle, which is a fixed linear operator. If A is Hermitian, so is the cycle. If A is positive
   or negative definite, so is the cycle in nearly all cases, and any `KSP` may use it; if `KSPCG` finds it indefinite,
   use -pc_baimg_over 1. Use the cycle of other matrices with `KSPGMRES`, `KSPFGMRES` or `KSPBCGS`; convergence is not
   guaranteed.

   `PCApplyTranspose()`, which `KSPSolveTranspose()` needs, is the exact transpose of the cycle up to rounding. If A is
   not Hermitian, the first call sets up levels of $A^T$ with the aggregates and damping of the levels of A, which
   follow new values and double the memory.

   With a near null space attached (`MatSetNearNullSpace()`), such as the rigid body modes of elasticity, all coarse
   levels represent its vectors. After `MatSetNearNullSpace()` on a matrix that is already set up, call `PCReset()`. New
   values in the same nonzero pattern keep the aggregates as long as they fit, which makes the set-up much shorter;
   after `PCReset()` there are new aggregates.

   If the matrix of the last level is singular up to rounding, as with pure Neumann conditions, a generalized inverse is
   used. In a row with other entries, a diagonal entry that is zero or missing, or whose reciprocal overflows, is an
   error that names the row. A row of zeros gets 1 on its diagonal, or -1 if the other diagonal entries of a Hermitian
   matrix are negative. If a row has more than 1000 entries, there
   are no levels, and the preconditioner is `PCJACOBI`; -pc_baimg_levels 32 makes levels in any case.

   Supports matrices of type `MATAIJ` and `MATAIJCUSPARSE`, and of type `MATBAIJ` and `MATSBAIJ` by a copy of type
   `MATAIJ` that follows their values. -ksp_view ::ascii_info_detail prints a table of the levels, and the reason why
   coarsening ended.

   References:
   D. Braess, "Towards algebraic multigrid for elliptic problems of second order", Computing 55 (1995).

   Y. Notay, "An aggregation-based algebraic multigrid method", Electronic Transactions on Numerical Analysis 37 (2010).

   F. Manne, M. Halappanavar, "New effective multithreaded matching algorithms", IEEE International Parallel and
   Distributed Processing Symposium (2014): the pairs.

   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "A block-asynchronous relaxation method for graphics processing units",
   Journal of Parallel and Distributed Computing 73 (2013).

.seealso: `PCCreate()`, `PCSetType()`, `PCType`, `KSPBAI`, `PCBAI`, `PCGAMG`, `PCMG`, `PCBAIMGSetAggregates()`,
          `PCBAIMGSetLevels()`, `PCBAIMGSetLocalIters()`, `PCBAIMGSetOver()`, `PCBAIMGSetSingle()`, `PCBAIMGSetGather()`
M*/

PetscErrorCode PCCreate_BAIMG(PC pc)
{
  BAI *bai;

  PetscFunctionBegin;
  PetscCall(PetscNew(&bai));
  PetscCall(BAIInitialize((PetscObject)pc, &BAIFaceMG, bai));
  PetscCall(BAIHierarchyCreate(bai));
  pc->data                = (void *)bai;
  pc->ops->setup          = PCSetUp_BAIMG;
  pc->ops->presolve       = PCPreSolve_BAIMG;
  pc->ops->postsolve      = PCPostSolve_BAIMG;
  pc->ops->apply          = PCApply_BAIMG;
  pc->ops->applytranspose = PCApplyTranspose_BAIMG;
  pc->ops->view           = PCView_BAIMG;
  pc->ops->setfromoptions = PCSetFromOptions_BAIMG;
  pc->ops->reset          = PCReset_BAIMG;
  pc->ops->destroy        = PCDestroy_BAIMG;
  PetscFunctionReturn(PETSC_SUCCESS);
}
