/*
   Iterative refinement around the engine, which iterates on a correction c of A c = r, where r = b - A x and x have
   full precision. With sweeps in single precision this is mixed-precision iterative refinement (H. Anzt, "Asynchronous
   and Multiprecision Linear Solvers", Section 4.12). The engine itself does refinement by blocks
*/
#include "../petsc/baiimpl.h"
#include "../common/scale.h"
#include "tuning.h"
#include <petsc/private/petscimpl.h>

/* Sets bai->r to b - A x, where x is zero if guess_zero, and f->now to its norm */
static PetscErrorCode ComputeResidual(BAI *bai, Vec b, Vec x, PetscBool guess_zero)
{
  BAIRefinement *f = &bai->relax.refinement;

  PetscFunctionBegin;
  if (guess_zero) PetscCall(VecCopy(b, bai->r));
  else PetscCall(MatResidual(f->fixed, b, x, bai->r));
  PetscCall(BAIVecNorm(bai->r, &f->now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Starts a correction: f->rhs becomes the residual in bai->r, whose place is free then, and f->base x */
static PetscErrorCode BeginCorrection(BAI *bai, Vec x)
{
  BAIRefinement *f = &bai->relax.refinement;
  Vec            swap;

  PetscFunctionBegin;
  if (!f->rhs) PetscCall(VecDuplicate(bai->r, &f->rhs));
  swap   = f->rhs;
  f->rhs = bai->r;
  bai->r = swap;
  if (!f->base) PetscCall(VecDuplicate(x, &f->base));
  PetscCall(VecCopy(x, f->base));
  f->from = f->now;
  f->its  = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets f->most, the number of iterations of further corrections, from the gain of the last one, bai->c, which x
   includes. f->most does not change if the residual norm has not fallen, or if x is as accurate as full precision
   allows, as such a gain says nothing about the iteration. Collective */
static PetscErrorCode LearnIterations(BAI *bai, Vec x)
{
  BAIRefinement  *f    = &bai->relax.refinement;
  const PetscReal gain = f->now / f->from;
  PetscReal       xnorm, cnorm, left, wanted, its;

  PetscFunctionBegin;
  if (!(gain < 1.0) || !(gain > 0.0)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(x, NORM_2, &xnorm));
  if (f->now <= (PetscReal)BAI_ABOVE_ROUNDING * PETSC_MACHINE_EPSILON * f->diagonal * xnorm)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(bai->c, NORM_2, &cnorm));
  left      = BAIEpsilonOf(bai) * f->diagonal * cnorm / f->from; /* what rounding keeps of the first residual */
  wanted    = PetscMin((PetscReal)BAI_LEAST_GAIN,
                       PetscMax((PetscReal)BAI_CORRECTION_GAIN, (PetscReal)BAI_ABOVE_ROUNDING * left));
  its       = PetscCeilReal((PetscReal)f->its * PetscLogReal(wanted) / PetscLogReal(gain));
  f->most   = (PetscInt)PetscMin((PetscReal)PETSC_MAX_INT / 2, PetscMax((PetscReal)1, its));
  f->learnt = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the matrix of residuals, and finds the largest magnitude of a diagonal entry, which scales rounding errors;
   forgets residual, most and learnt. In modes that promise the same bits of x each time, residuals must have the same
   bits, too. Collective */
PetscErrorCode BAIRefinementSetUp(BAI *bai)
{
  BAIRefinement *f    = &bai->relax.refinement;
  const BAIMode  mode = BAIModeOf(bai);

  PetscFunctionBegin;
  PetscCall(MatDestroy(&f->fixed));
  if (mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR) PetscCall(BAIReferenceFixed(bai->obj, bai->relax.A, &f->fixed));
  else {
    PetscCall(PetscObjectReference((PetscObject)bai->relax.A));
    f->fixed = bai->relax.A;
  }
  PetscCall(BAINeedWork(bai, bai->relax.A));
  PetscCall(MatGetDiagonal(bai->relax.A, bai->r));
  PetscCall(VecNorm(bai->r, NORM_INFINITY, &f->diagonal));
  f->x.id   = 0;
  f->learnt = PETSC_FALSE;
  f->most   = BAI_FIRST_CORRECTION;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIRefinementReset(BAI *bai)
{
  BAIRefinement *f = &bai->relax.refinement;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&f->rhs));
  PetscCall(VecDestroy(&f->base));
  f->x.id   = 0;
  f->learnt = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does what BAIIterate() does, with refinement: computes the residual at the end of each correction, which starts from
   zero, without momentum */
PetscErrorCode BAIRunRefined(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *how,
                             PetscReal *rnorm)
{
  BAIRefinement *f    = &bai->relax.refinement;
  BAIStep        step = *how;
  BAIVersion     of_b, of_x;

  PetscFunctionBegin;
  PetscCall(BAINeedWork(bai, bai->relax.A));
  PetscCall(BAIVersionOf((PetscObject)b, &of_b));
  PetscCall(BAIVersionOf((PetscObject)x, &of_x));
  if (guess_zero || !BAIVersionsEqual(of_b, f->b) || !BAIVersionsEqual(of_x, f->x)) {
    if (guess_zero) PetscCall(VecZeroEntries(x));
    PetscCall(ComputeResidual(bai, b, x, guess_zero));
  }
  for (PetscInt done = 0, its; done < count; done += its) {
    PetscCall(BeginCorrection(bai, x));
    its        = PetscMin(count - done, f->most);
    f->scale   = BAIScaleOf(ilogb((double)f->from));
    step.fresh = 1;
    PetscCall(BAIIterate(bai, f->rhs, bai->c, PETSC_TRUE, its, &step, NULL));
    f->scale = 0.0;
    f->its   = its;
    PetscCall(VecWAXPY(x, 1.0, bai->c, f->base));
    f->x.id = 0;
    if (done + its == count && !rnorm) PetscFunctionReturn(PETSC_SUCCESS);
    if (bai->options.idle_wait)
      PetscCall(BAICheckStatus(bai, BAIEngineWait(bai->relax.engine))); /* PETSc's operations do not sleep */
    PetscCall(ComputeResidual(bai, b, x, PETSC_FALSE));
    PetscCall(LearnIterations(bai, x));
  }
  PetscCall(BAIVersionOf((PetscObject)b, &f->b));
  PetscCall(BAIVersionOf((PetscObject)x, &f->x));
  if (rnorm) *rnorm = f->now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does what BAIIterate() does, with x in single precision during the iterations, and a residual norm in full
   precision */
PetscErrorCode BAIRunRounded(BAI *bai, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *how,
                             PetscReal *rnorm)
{
  BAIRefinement *f    = &bai->relax.refinement;
  PetscReal      size = 0.0;

  PetscFunctionBegin;
  if (count) PetscCall(VecNorm(b, NORM_INFINITY, &size));
  f->scale = count ? BAIScaleOf(ilogb((double)size)) : 0.0;
  if (count || guess_zero)
    PetscCall(BAIIterate(bai, b, x, guess_zero, count, how, NULL)); /* rounds x only if iterations follow */
  f->scale = 0.0;
  if (!rnorm) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAINeedWork(bai, bai->relax.A));
  PetscCall(MatResidual(bai->relax.A, b, x, bai->r));
  PetscCall(BAIVecNorm(bai->r, rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
