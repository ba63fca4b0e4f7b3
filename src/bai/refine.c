/*
   Iterative refinement round the engine: it iterates for a correction c of A c = r, where r = b - A x and x are of
   full precision. With sweeps in single precision that is mixed-precision iterative refinement (H. Anzt,
   "Asynchronous and Multiprecision Linear Solvers", Section 4.12). Blocks that refine by themselves are the engine's
   business
*/
#include "baiimpl.h"
#include "../engine/scale.h"
#include <float.h>
#include <petsc/private/kspimpl.h>

enum {
  FIRST_ITS = 16 /* of the first correction, which shows how fast it goes */
};

/* What a correction is to gain, and how many times what rounding leaves it is to stay above */
static const PetscReal gain_wanted = 1e-6, above_rounding = 8;

/*
   Sweeps are in single precision. Auto takes it where an iteration takes as long as its bytes do, and there are
   enough of them: with a coarse correction, which a solver has once it is known to be slow. The rows are those of a
   rank on average, so that all ranks say the same
*/
PetscErrorCode BAIChoosePrecision(const BAI *bai, const BAIChoice *c, PetscBool *single)
{
  const PetscInt    many = 3 << 18;
  const BAIOptions *o    = &bai->options;
  PetscMPIInt       size;

  PetscFunctionBegin;
  *single = (PetscBool)(o->precision == BAI_PRECISION_SINGLE);
  if (o->precision != BAI_PRECISION_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  if (bai->face->classid != KSP_CLASSID || ((KSP)bai->face)->normtype == KSP_NORM_NONE || bai->rough ||
      sizeof(PetscReal) <= sizeof(float))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (c->backend != BAI_BACKEND_CUDA || !c->coarse || o->momentum != PETSC_DECIDE || o->kernel != BAI_KERNEL_AUTO ||
      o->stats || BAIHasFaults(bai) || (o->refine != BAI_REFINE_AUTO && o->refine != BAI_REFINE_SYNC))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(bai->face), &size));
  *single = (PetscBool)(bai->rows / size > many);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With precision auto: whether the matrix is well within the range of single precision. Entries beside the diagonal are
 * not looked at: an iteration that converges has none much larger */
PetscErrorCode BAICheckRange(BAI *bai, Mat A)
{
  PetscReal least, most;

  PetscFunctionBegin;
  PetscCall(BAINeedWork(bai));
  PetscCall(MatGetDiagonal(A, bai->r));
  PetscCall(VecAbs(bai->r));
  PetscCall(VecMin(bai->r, NULL, &least));
  PetscCall(VecMax(bai->r, NULL, &most));
  bai->rough = (PetscBool) !(least > 1 / BAI_SINGLE_RANGE && most < BAI_SINGLE_RANGE);
  if (bai->rough)
    PetscCall(PetscInfo(bai->face, "precision auto: native, as diagonal entries are between %g and %g\n", (double)least,
                        (double)most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What auto stands for */
BAIRefine BAIRefineOf(const BAIOptions *o, PetscBool single)
{
  if (o->refine != BAI_REFINE_AUTO) return o->refine;
  return single ? BAI_REFINE_SYNC : BAI_REFINE_NONE;
}

/* What the engine iterates is x itself, in full precision; else it is a correction of x, or x is rounded */
PetscBool BAIIteratesX(const BAI *bai)
{
  return (PetscBool)(bai->use.refine == BAI_REFINE_ASYNC || (bai->use.refine == BAI_REFINE_NONE && !bai->use.p.single));
}

/* x and b are what they were at the last look, so that r is theirs */
static PetscErrorCode IsSeen(const BAIRefinement *f, Vec b, Vec x, PetscBool *same)
{
  PetscObjectId    id[2];
  PetscObjectState state[2];

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)b, &id[0]));
  PetscCall(PetscObjectGetId((PetscObject)x, &id[1]));
  PetscCall(PetscObjectStateGet((PetscObject)b, &state[0]));
  PetscCall(PetscObjectStateGet((PetscObject)x, &state[1]));
  *same = (PetscBool)(f->seen && id[0] == f->id[0] && id[1] == f->id[1] && state[0] == f->state[0] &&
                      state[1] == f->state[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode See(BAIRefinement *f, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)b, &f->id[0]));
  PetscCall(PetscObjectGetId((PetscObject)x, &f->id[1]));
  PetscCall(PetscObjectStateGet((PetscObject)b, &f->state[0]));
  PetscCall(PetscObjectStateGet((PetscObject)x, &f->state[1]));
  f->seen = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r = b - A x, and its norm if it is wanted */
static PetscErrorCode Look(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscBool norm)
{
  BAIRefinement *f = &bai->refinement;

  PetscFunctionBegin;
  if (guess_zero) PetscCall(VecCopy(b, bai->r));
  else PetscCall(MatResidual(bai->A, b, x, bai->r));
  if (norm) PetscCall(BAIVecNorm(bai->r, &f->now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The right side of a new correction is the residual that was looked at. A preconditioner's has no other beside it */
static PetscErrorCode Begin(BAI *bai, Vec x, PetscBool solver)
{
  BAIRefinement *f = &bai->refinement;
  Vec            swap;

  PetscFunctionBegin;
  if (!f->rhs) PetscCall(VecDuplicate(bai->r, &f->rhs));
  swap   = f->rhs;
  f->rhs = bai->r;
  bai->r = swap;
  if (solver) {
    if (!f->base) PetscCall(VecDuplicate(x, &f->base));
    PetscCall(VecCopy(x, f->base));
  }
  f->begun = solver;
  f->from  = f->now;
  f->its   = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What one stands apart from the next number, in the precision of the sweeps */
static PetscReal Epsilon(const BAI *bai)
{
  return bai->use.p.single ? (PetscReal)FLT_EPSILON : PETSC_MACHINE_EPSILON;
}

/* What rounding leaves of a residual, about, whatever the iterations: this much of that which the correction began with
 */
static PetscErrorCode FindRounding(BAI *bai, PetscReal *left)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecNorm(bai->c, NORM_2, &norm));
  *left = Epsilon(bai) * bai->refinement.diagonal * norm / bai->refinement.from;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many iterations a correction is to take, by what this one gained. Where x is as good as full precision allows it
 * gained nothing, which says nothing */
static PetscErrorCode Learn(BAI *bai, Vec x, PetscReal left)
{
  BAIRefinement  *f    = &bai->refinement;
  const PetscReal gain = f->now / f->from;
  PetscReal       xnorm, wanted;

  PetscFunctionBegin;
  if (!(gain < 1.0) || !(gain > 0.0)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(x, NORM_2, &xnorm));
  if (f->now <= above_rounding * PETSC_MACHINE_EPSILON * f->diagonal * xnorm) PetscFunctionReturn(PETSC_SUCCESS);
  wanted    = PetscMin(0.1, PetscMax(gain_wanted, above_rounding * left));
  f->most   = (PetscInt)PetscMin((PetscReal)PETSC_MAX_INT / 2,
                                 PetscMax((PetscReal)1,
                                          PetscCeilReal((PetscReal)f->its * PetscLogReal(wanted) / PetscLogReal(gain))));
  f->learnt = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With precision auto: what is iterated is no number any more, or rounding leaves so much of the residual that the
   coarse correction, which smooth errors are for, sees more of that than of them. Back to x as it was before this
   correction, if that was better
*/
static PetscErrorCode IsFutile(BAI *bai, Vec x, PetscReal left, PetscBool *futile)
{
  const PetscReal most = 0.1;
  BAIRefinement  *f    = &bai->refinement;

  PetscFunctionBegin;
  *futile = PETSC_FALSE;
  if (bai->options.precision != BAI_PRECISION_AUTO || !bai->use.p.single) PetscFunctionReturn(PETSC_SUCCESS);
  if (!(left > most) && !PetscIsInfOrNanReal(f->now)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(
    bai->face,
    "precision auto: native from now on. The residual norm came from %g to %g, and rounding leaves about %g\n",
    (double)f->from, (double)f->now, (double)(left * f->from)));
  if (!(f->now < f->from)) {
    PetscCall(VecCopy(f->base, x));
    f->now = f->from;
  }
  f->begun = f->seen = PETSC_FALSE;
  bai->rough = *futile = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest magnitude on the diagonal: how large sums are that are rounded */
PetscErrorCode BAIRefinementSetUp(BAI *bai)
{
  BAIRefinement *f = &bai->refinement;

  PetscFunctionBegin;
  PetscCall(BAINeedWork(bai));
  PetscCall(MatGetDiagonal(bai->A, bai->r));
  PetscCall(VecNorm(bai->r, NORM_INFINITY, &f->diagonal));
  f->seen = f->begun = f->learnt = PETSC_FALSE;
  f->most                        = FIRST_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIRefinementReset(BAI *bai)
{
  BAIRefinement *f = &bai->refinement;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&f->rhs));
  PetscCall(VecDestroy(&f->base));
  f->seen = f->begun = f->learnt = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   As BAIRun(). A preconditioner does all of its iterations for one correction, and from zero b is the residual and x
   the correction, so that it is a fixed operator. A solver looks at the residual as often as corrections take. Momentum
   builds on the iterations before: with it a correction goes on after a look, if there is more to gain, and the next
   one takes it along. Where single precision turns out not to do, there are fewer iterations than asked for, and
   bai->rough is set
*/
PetscErrorCode BAIRunRefined(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *how,
                             PetscReal *rnorm)
{
  BAIRefinement  *f         = &bai->refinement;
  const PetscBool solver    = (PetscBool)(bai->face->classid == KSP_CLASSID);
  const PetscBool continues = (PetscBool)(solver && how->momentum != 0);
  BAIStep         step      = *how;
  PetscBool       same      = PETSC_FALSE, futile;
  PetscReal       left      = 0.0;

  PetscFunctionBegin;
  if (!solver && guess_zero && !rnorm) {
    PetscCall(BAIIterate(bai, b, x, PETSC_TRUE, count, &step, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(IsSeen(f, b, x, &same));
  if (!same || guess_zero) {
    f->begun = PETSC_FALSE;
    if (guess_zero) PetscCall(VecZeroEntries(x));
    PetscCall(Look(bai, b, x, guess_zero, (PetscBool)(solver || rnorm)));
  }
  for (PetscInt done = 0, its; done < count; done += its) {
    const PetscBool fresh = (PetscBool)(!f->begun || !continues || step.fresh),
                    anew  = (PetscBool)(fresh || f->its >= f->most - f->most / 8); /* no look for a few iterations */

    if (anew) PetscCall(Begin(bai, x, solver));
    its        = solver ? PetscMin(count - done, f->most - f->its) : count;
    f->scale   = solver ? BAIScaleOf(ilogb((double)f->from)) : 0.0;
    f->shifted = (PetscBool)(anew && !fresh);
    step.fresh = (int)fresh;
    PetscCall(BAIIterate(bai, f->rhs, bai->c, anew, its, &step, NULL));
    f->scale   = 0.0;
    f->shifted = PETSC_FALSE;
    step.fresh = 0;
    f->its += its;
    if (solver) PetscCall(VecWAXPY(x, 1.0, bai->c, f->base));
    else PetscCall(VecAXPY(x, 1.0, bai->c));
    f->seen = PETSC_FALSE;
    if (done + its == count && !rnorm) PetscFunctionReturn(PETSC_SUCCESS);
    if (bai->options.idle_wait)
      PetscCall(BAICheckStatus(bai, BAIEngineWait(bai->engine))); /* PETSc's operations stay awake */
    PetscCall(Look(bai, b, x, PETSC_FALSE, PETSC_TRUE));
    if (!solver) continue;
    PetscCall(FindRounding(bai, &left));
    PetscCall(IsFutile(bai, x, left, &futile));
    if (futile) {
      f->undone = count - done - its;
      break;
    }
    PetscCall(Learn(bai, x, left));
  }
  PetscCall(See(f, b, x));
  if (rnorm) *rnorm = f->now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As BAIRun(), with x in single precision while it is iterated, and a residual norm of full precision */
PetscErrorCode BAIRunRounded(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *how,
                             PetscReal *rnorm)
{
  BAIRefinement  *f      = &bai->refinement;
  const PetscBool solver = (PetscBool)(bai->face->classid == KSP_CLASSID);
  PetscReal       size   = 0.0;

  PetscFunctionBegin;
  if (solver && count) PetscCall(VecNorm(b, NORM_INFINITY, &size));
  f->scale = solver && count ? BAIScaleOf(ilogb((double)size)) : 0.0;
  if (count || guess_zero)
    PetscCall(BAIIterate(bai, b, x, guess_zero, count, how, NULL)); /* x is not to be rounded for nothing */
  f->scale = 0.0;
  if (!rnorm) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAINeedWork(bai));
  PetscCall(MatResidual(bai->A, b, x, bai->r));
  PetscCall(BAIVecNorm(bai->r, rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
