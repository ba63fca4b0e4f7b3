/* PCBAI: block-asynchronous iteration as a smoother and preconditioner */
#include "../../petsc/baiimpl.h"
#include "../../relaxation/tuning.h"
#include <petsc/private/pcimpl.h> /*I "petscbai.h" I*/

typedef struct {
  BAI           bai; /* first member, as code shared with KSPBAI expects */
  BAIScaling    scaling;
  PetscObjectId scaled; /* matrix for which scaling was decided */
  PetscReal     varied; /* ratio of its diagonal entries if it was not scaled although they vary, otherwise 0 */
} PC_BAI;

/* Sets ratio to the largest magnitude of a diagonal entry over the smallest one if that is more than in consistent
   units and finite, otherwise to 0. A zero shows nothing */
static PetscErrorCode FindUnits(Mat A, PetscInt fields, PetscReal *ratio)
{
  const PetscReal most = (PetscReal)(fields > 1 ? BAI_UNITS_OF_FIELDS : BAI_UNITS);
  Vec             d;
  PetscReal       least, largest;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecAbs(d));
  PetscCall(VecMin(d, NULL, &least));
  PetscCall(VecMax(d, NULL, &largest));
  PetscCall(VecDestroy(&d));
  *ratio = least > 0 && largest > most * least ? largest / least : 0;
  if (PetscIsInfOrNanReal(*ratio)) *ratio = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the matrix to relax with, scaled if necessary: damping by rows depends on units. The need is determined for each
   matrix, for values that the scaling does not fit, and without a scaling if the units of new values vary far more */
static PetscErrorCode GetMatrix(PC pc, Mat *A)
{
  enum {
    FAR = 2
  };
  PC_BAI         *p = (PC_BAI *)pc->data;
  PetscObjectId   id;
  PetscInt        fields, nghost;
  const PetscInt *garray;
  PetscBool       hermitian, fits = PETSC_TRUE;
  PetscReal       ratio = 0;
  Mat             aij, Ad, Ao;

  PetscFunctionBegin;
  *A = pc->pmat;
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &id));
  PetscCall(BAICheckMatrix(p->bai.obj, pc->pmat));
  PetscCall(BAIConvert(&p->bai, pc->pmat, &aij));
  PetscCall(BAIGetParts(p->bai.obj, aij, &Ad, &Ao, &nghost, &garray)); /* an error for other types */
  PetscCall(MatGetBlockSize(aij, &fields));
  if (id == p->scaled && p->scaling.left) {
    PetscCall(BAIScalingGetMatrix(&p->scaling, aij, A));
    PetscCall(BAIScalingFits(&p->scaling, fields, &fits));
    if (fits) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (id != p->scaled || p->scaling.left) p->varied = 0;
  PetscCall(BAIScalingReset(&p->scaling));
  p->scaled = id;
  *A        = pc->pmat;
  if (p->bai.options.local_omega > 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FindUnits(aij, fields, &ratio));
  if (!(ratio > FAR * p->varied)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAILooksHermitian(aij, &hermitian));
  if (!hermitian) PetscFunctionReturn(PETSC_SUCCESS);
  p->varied = ratio;
  PetscCall(BAIScalingFind(p->bai.obj, aij, fields, hermitian, &p->scaling));
  if (p->scaling.left) PetscCall(BAIScalingGetMatrix(&p->scaling, aij, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_BAI(PC pc)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetMatrix(pc, &A));
  PetscCall(BAISetUp((BAI *)pc->data, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does global iterations for A x = b; bai belongs to the PC, or is its transpose. With a scaling w they solve w A w y =
   w b, where x = w y */
static PetscErrorCode Run(PC pc, BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscInt its, const BAIStep *step)
{
  const BAIScaling *s = &((PC_BAI *)pc->data)->scaling;

  PetscFunctionBegin;
  if (!s->left) {
    PetscCall((*bai->relax.run)(bai, b, x, guess_zero, its, step, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecPointwiseMult(s->r, b, s->left));
  if (!guess_zero) PetscCall(VecPointwiseDivide(x, x, s->left));
  PetscCall((*bai->relax.run)(bai, s->r, x, guess_zero, its, step, NULL));
  PetscCall(VecPointwiseMult(x, x, s->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up again if the last set-up failed, an option has changed, or PETSc works on another stream */
static PetscErrorCode SetUpIfAsked(PC pc)
{
  BAI      *bai = (BAI *)pc->data;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(BAIOptionsEqual(bai->face, &bai->set, &bai->options, &same));
  if (same) PetscCall(BAIIsOnStream(bai, &same));
  if (!same || !bai->relax.given.id) PetscCall(PCSetUp_BAI(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raises an error for an omega above 1 with which iterations diverge, by an estimate of the largest eigenvalue, in
   modes whose blocks all read the same x */
static PetscErrorCode CheckOmega(BAI *bai)
{
  const BAIMode mode = BAIModeOf(bai);
  char          name[128];
  PetscInt      rows;
  PetscReal     most;

  PetscFunctionBegin;
  if (bai->options.omega <= 1.0 || (mode != BAI_MODE_SYNC && mode != BAI_MODE_LAUNCH))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIFindLargest(bai));
  most = 2 * (PetscReal)BAI_REFUSED_OMEGA / (bai->relax.tau * bai->relax.largest);
  PetscCall(BAIOptionName(bai, "omega", name, sizeof(name)));
  PetscCall(MatGetSize(bai->relax.A, &rows, NULL));
  PetscCheck(bai->options.omega < most, PetscObjectComm(bai->obj), PETSC_ERR_ARG_OUTOFRANGE,
             "%s %g: smoothing diverges on this matrix of %" PetscInt_FMT
             " rows, whose largest eigenvalue of M^{-1}A is about %g: must be less than %g",
             name, (double)bai->options.omega, rows,
             (double)(bai->relax.tau * bai->relax.largest / (PetscReal)BAI_EIGENVALUE_MARGIN), (double)most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step of an application, weighted by a polynomial if there is one */
static PetscErrorCode StepOf(BAI *bai, BAIDirection direction, BAIStep *step)
{
  PetscFunctionBegin;
  *step = BAIStepOf(bai, direction);
  if (!BAIUsesPolynomial(bai)) {
    PetscCall(CheckOmega(bai));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BAIFindLargest(bai));
  step->fourth_kind = 1;
  step->omega       = (BAIReal)(1 / bai->relax.largest);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_BAI(PC pc, Vec b, Vec x)
{
  BAI    *bai = (BAI *)pc->data;
  BAIStep step;

  PetscFunctionBegin;
  PetscCall(SetUpIfAsked(pc));
  PetscCall(StepOf(bai, BAI_ALTERNATE, &step));
  PetscCall(Run(pc, bai, b, x, PETSC_TRUE, bai->options.its, &step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does all sweeps of a smoothing step at once, without residuals and work vectors */
static PetscErrorCode PCApplyRichardson_BAI(PC pc, Vec b, Vec x, PETSC_UNUSED Vec work, PETSC_UNUSED PetscReal rtol,
                                            PETSC_UNUSED PetscReal abstol, PETSC_UNUSED PetscReal dtol, PetscInt its,
                                            PetscBool guess_zero, PetscInt *its_done,
                                            PCRichardsonConvergedReason *reason)
{
  BAI           *bai  = (BAI *)pc->data;
  const PetscInt most = PETSC_MAX_INT / bai->options.its;
  BAIStep        step;

  PetscFunctionBegin;
  PetscCheck(
    its <= most, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
    "-pc_bai_its %" PetscInt_FMT " for each of %" PetscInt_FMT
    " iterations of the KSP: more global iterations than can be counted, -ksp_max_it must be at most %" PetscInt_FMT,
    bai->options.its, its, most);
  PetscCall(SetUpIfAsked(pc));
  PetscCall(StepOf(bai, BAI_FORWARD, &step));
  /* A polynomial starts again in each iteration of the KSP, which converges if one of them reduces the error */
  if (step.fourth_kind) {
    for (PetscInt k = 0; k < its; k++)
      PetscCall(Run(pc, bai, b, x, (PetscBool)(guess_zero && !k), bai->options.its, &step));
  } else PetscCall(Run(pc, bai, b, x, guess_zero, its * bai->options.its, &step));
  *its_done = its;
  *reason   = PCRICHARDSON_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether every application is the same linear operator */
static PetscBool IsFixed(const BAI *bai)
{
  return (PetscBool)(BAIModeOf(bai) == BAI_MODE_SYNC || BAIModeOf(bai) == BAI_MODE_COLOR);
}

/* Raises an error for modes in which the operator changes, so that it has no transpose */
static PetscErrorCode CheckTransposed(const BAI *bai)
{
  char name[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(BAIOptionName(bai, "mode", name, sizeof(name)));
  PetscCheck(IsFixed(bai), PetscObjectComm(bai->obj), PETSC_ERR_SUP,
             "%s %s: there is no transposed application: must be sync or color", name, BAIModes[BAIModeOf(bai)]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Applies the transpose: iterations with A^T, whose colours take turns in reverse order; the last iteration of an
   application with an odd number of iterations is forward. With a symmetric A the same engine does them */
static PetscErrorCode PCApplyTranspose_BAI(PC pc, Vec b, Vec x)
{
  BAI      *bai = (BAI *)pc->data, *transposed = bai;
  PetscInt  done = 0;
  PetscBool known, symmetric;
  BAIStep   step;

  PetscFunctionBegin;
  PetscCall(SetUpIfAsked(pc));
  PetscCall(CheckTransposed(bai));
  PetscCall(StepOf(bai, BAI_BACKWARD, &step));
  PetscCall(MatIsSymmetricKnown(pc->pmat, &known, &symmetric));
  if (!known || !symmetric) PetscCall(BAISetUpTransposed(bai, &transposed));
  if (step.mode == BAI_MODE_COLOR && bai->options.its % 2) {
    PetscCall(Run(pc, transposed, b, x, PETSC_TRUE, 1, &step));
    done = 1;
  }
  step.direction = BAI_ALTERNATE;
  if (done < bai->options.its) PetscCall(Run(pc, transposed, b, x, (PetscBool)!done, bai->options.its - done, &step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_BAI(PC pc, PetscViewer viewer)
{
  BAI      *bai = (BAI *)pc->data;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIView(bai, viewer));
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "  global iterations per application %" PetscInt_FMT "\n", bai->options.its));
  if (bai->relax.engine && BAIUsesPolynomial(bai) && bai->relax.largest > 0.0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  polynomial of the fourth kind for eigenvalues up to %g\n",
                                     (double)bai->relax.largest));
  else if (bai->relax.engine && BAIUsesPolynomial(bai))
    PetscCall(PetscViewerASCIIPrintf(viewer, "  polynomial of the fourth kind, not yet applied\n"));
  if (!IsFixed(bai))
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "  not a fixed operator: mode color is safer inside a Krylov method that is not flexible\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_BAI(PC pc, BAIOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "PC block-asynchronous iteration options");
  PetscCall(BAIOptionsSetFromOptions((BAI *)pc->data, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_BAI(PC pc)
{
  PC_BAI *p = (PC_BAI *)pc->data;

  PetscFunctionBegin;
  PetscCall(BAIScalingReset(&p->scaling));
  p->scaled = 0;
  PetscCall(BAIReset(&p->bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_BAI(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_BAI(pc));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
     PCBAI - Block-asynchronous iteration as a smoother for multigrid, and as a preconditioner

   Options Database Keys:
+  -pc_bai_local_iters <5>                       - Jacobi sweeps in a block per global iteration, `PCBAISetLocalIters()`
.  -pc_bai_block_size <0>                        - rows of a block, `PCBAISetBlockSize()`
.  -pc_bai_mode (auto|async|launch|sync|color)   - how blocks wait for each other, `PCBAISetMode()`
.  -pc_bai_partition (auto|natural|graph)        - how rows are divided into blocks, `PCBAISetPartition()`
.  -pc_bai_weight (none|l1|tau|auto)             - diagonal weighting or scaling for matrices on which Jacobi diverges,
                                                   `PCBAISetWeight()`
.  -pc_bai_omega <1>                             - damping of a block's update, after its local sweeps,
                                                   `PCBAISetOmega()`
.  -pc_bai_local_omega <0>                       - damping of each Jacobi sweep inside a block, `PCBAISetLocalOmega()`
.  -pc_bai_its <2>                               - global iterations per application, `PCBAISetIterations()`
.  -pc_bai_polynomial (auto|none)                - weights of global iterations in mode sync, `PCBAISetPolynomial()`
.  -pc_bai_backend (auto|host|cuda)              - whether the iteration runs on the host or on a GPU,
                                                   `PCBAISetBackend()`
.  -pc_bai_exchange (auto|scatter|amc|dk)        - how x is exchanged between MPI ranks
.  -pc_bai_kernel (auto|resident|stream|generic) - family of kernels for global iterations on a GPU
-  -pc_bai_idle_wait <false>                     - whether the host sleeps during long waits for the GPU

   Level: intermediate

   Notes:
   `KSPBAI` describes the iteration. To use it as a smoother, set

.vb
   -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type bai
.ve

   with `PCMG` or `PCGAMG`. A smoothing step then does `its` global iterations from the guess at once, without residuals
   in between. On one MPI rank with a GPU that is one kernel launch, or a few for a large matrix. With `KSPRICHARDSON`,
   `PCBAI` always does all iterations, like `PCSOR`; to solve a system to a tolerance, use `KSPBAI`. docs/smoothing.md
   describes the smoother; docs/options.md and -help list the options, -pc_bai_*.

   In `BAI_MODE_COLOR` blocks of one colour do not read from each other, and colours take turns: multicolour block
   Gauss-Seidel with a few Jacobi sweeps as block solver. If turns would leave most of a GPU idle, as on coarse levels
   of `PCGAMG`, mode auto is `BAI_MODE_SYNC`, whose global iterations are weighted by Chebyshev's polynomial of the
   fourth kind, see `PCBAISetPolynomial()`.

   Local sweeps must be damped to smooth: with `local_omega` one, a Jacobi sweep does not reduce the fastest oscillation
   in a block. The damping depends on the units of unknowns and equations. So if `local_omega` is zero, a Hermitian
   matrix whose diagonal varies and that does not annihilate constants is scaled first, as by `PCBAIMG`.

   A zero or missing diagonal entry, as coarse matrices of `PCGAMG` may have, is replaced by 1, as in `PCJACOBI`; -info
   and the view show the number of these rows.

   In modes color and sync the preconditioner is a fixed linear operator, and bitwise reproducible. In sync it is
   symmetric if the matrix is. In color it is symmetric if the matrix is, the number of iterations is even, and the
   guess is zero, as inside `KSPCHEBYSHEV` or `KSPCG`; the colours then take turns forward and backward. With
   `KSPRICHARDSON` colours always go forward, which smooths best, but makes a V-cycle slightly unsymmetric. In modes
   async and launch it changes from one application to the next, and needs a flexible method.

   In modes color and sync `PCApplyTranspose()`, which `KSPSolveTranspose()` needs, is the exact transpose up to
   rounding: it iterates with a copy of $A^T$, which follows new values of A. If `MAT_SYMMETRIC` is set, there is no
   copy. In modes async and launch it is an error that names the option.

   The matrix is Pmat of `KSPSetOperators()`, of type `MATAIJ` or `MATAIJCUSPARSE`, or a copy of type `MATAIJ` of a
   `MATBAIJ` or `MATSBAIJ`. From a `MATAIJCUSPARSE`, set-up copies the graph of the blocks to the host once for each
   nonzero pattern, and the values if it looks for a partition, see `PCBAISetPartition()`. New values in the same
   pattern need no symbolic work.

   Reference:
   H. Anzt, S. Tomov, M. Gates, J. Dongarra, V. Heuveline, "Block-asynchronous Multigrid Smoothers for GPU-accelerated
   Systems", Procedia Computer Science 9 (2012).

.seealso: `PCCreate()`, `PCSetType()`, `PCType`, `PCMG`, `PCGAMG`, `PCSOR`, `PCJACOBI`, `KSPBAI`,
          `PCBAISetLocalIters()`, `PCBAISetBlockSize()`, `PCBAISetMode()`, `PCBAISetPartition()`, `PCBAISetWeight()`,
          `PCBAISetOmega()`, `PCBAISetLocalOmega()`, `PCBAISetIterations()`, `PCBAISetPolynomial()`, `PCBAISetBackend()`
M*/

PetscErrorCode PCCreate_BAI(PC pc)
{
  PC_BAI *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  PetscCall(BAIInitialize((PetscObject)pc, &BAIFacePC, &p->bai));
  pc->data                 = (void *)p;
  pc->ops->setup           = PCSetUp_BAI;
  pc->ops->apply           = PCApply_BAI;
  pc->ops->applytranspose  = PCApplyTranspose_BAI;
  pc->ops->applyrichardson = PCApplyRichardson_BAI;
  pc->ops->view            = PCView_BAI;
  pc->ops->setfromoptions  = PCSetFromOptions_BAI;
  pc->ops->reset           = PCReset_BAI;
  pc->ops->destroy         = PCDestroy_BAI;
  PetscFunctionReturn(PETSC_SUCCESS);
}
