/* Weights that depend on the extreme eigenvalues of the iteration: tau, and the weights of a polynomial */
#include "../petsc/baiimpl.h"
#include "../common/scale.h"
#include "tuning.h"
#include <petsc/private/petscimpl.h>

/* The iteration whose eigenvalues are estimated */
typedef struct {
  BAI *bai;
  Vec  x, zero; /* copy of the operand; right-hand side */
} Iteration;

/* Does one global iteration in mode sync, in which all blocks read x, or zero if guess_zero */
static PetscErrorCode IterateOnce(const Iteration *it, Vec b, Vec x, PetscBool guess_zero)
{
  const BAIStep step = {.mode = BAI_MODE_SYNC, .direction = BAI_FORWARD, .omega = 1, .fresh = 1};

  PetscFunctionBegin;
  PetscCall(BAIIterate(it->bai, b, x, guess_zero, 1, &step, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = M^{-1}A x = x minus an iteration from x with a zero right-hand side. It is reproducible to the bit, unlike
   PETSc's products on a GPU */
static PetscErrorCode MatMult_Iteration(Mat shell, Vec x, Vec y)
{
  Iteration *iteration;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(shell, &iteration));
  PetscCall(VecCopy(x, iteration->x));
  PetscCall(IterateOnce(iteration, iteration->zero, iteration->x, PETSC_FALSE));
  PetscCall(VecWAXPY(y, -1.0, iteration->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounds to ten bits, so that repeated estimates are equal, although dot products on a GPU may be rounded in another
   order */
static PetscReal RoundedToTenBits(PetscReal value)
{
  int exponent;

  if (!(value > 0.0) || PetscIsInfOrNanReal(value) || value == PETSC_MAX_REAL) return value;
  const double part = frexp((double)value, &exponent);

  return (PetscReal)ldexp(round(part * 1024.0) / 1024.0, exponent);
}

/*
   Estimates the extreme eigenvalues of M^{-1}A, where x + M^{-1}(b - A x) is a global iteration, by steps steps of
   GMRES. A complex eigenvalue counts as |lambda|^2/Re lambda, whose damping makes it converge. most is 0 if no real
   part is positive
*/
static PetscErrorCode FindSpectrum(BAI *bai, Mat A, PetscInt steps, PetscReal *least, PetscReal *most)
{
  const PetscReal noise     = BAIEpsilonOf(bai);
  Iteration       iteration = {.bai = bai};
  KSP             ksp;
  PC              pc;
  Mat             shell;
  const char     *prefix;
  Vec             x, b;
  PetscReal       re[BAI_TAU_STEPS + 1], im[BAI_TAU_STEPS + 1], size;
  PetscInt        n, m, N;

  PetscFunctionBegin;
  PetscCall(BAIAgree(bai, BAICheckStatus(bai, BAIEnginePrepare(bai->relax.engine, BAI_MODE_SYNC)), NULL));
  BAIEngineInfo(bai->relax.engine, &bai->relax.info);
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &iteration.x));
  PetscCall(VecDuplicate(b, &iteration.zero));
  PetscCall(VecZeroEntries(iteration.zero));
  PetscCall(BAIAgree(bai, BAIVecSet(x, BAI_SET_NOISE), NULL));
  PetscCall(VecShift(x, 0.5));
  PetscCall(IterateOnce(&iteration, x, b, PETSC_TRUE));
  PetscCall(VecNorm(b, NORM_INFINITY, &size));
  PetscCall(VecScale(b, BAIScaleOf(ilogb((double)size)))); /* the square of its norm must be in range */
  PetscCall(VecNorm(b, NORM_2, &size));
  PetscCall(VecScale(b, BAIScaleOf(ilogb((double)size)))); /* below 1, as GMRES compares remainders with the norm */
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)A), m, m, N, N, &iteration, &shell));
  PetscCall(MatShellSetOperation(shell, MATOP_MULT, (void (*)(void))MatMult_Iteration));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(PetscObjectGetOptionsPrefix(bai->obj, &prefix));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPAppendOptionsPrefix(ksp, "bai_tau_")); /* so that it does not take options of other solvers */
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, steps));
  PetscCall(
    KSPGMRESSetHapTol(ksp, PetscSqrtReal(noise))); /* directions that are rounding errors yield no eigenvalues */
  PetscCall(KSPOrthogonalizationSetCGSRefinementType(ksp, KSP_ORTHOGONALIZATION_CGS_REFINE_IFNEEDED));
  PetscCall(KSPSetOperators(ksp, shell, shell));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetComputeEigenvalues(ksp, PETSC_TRUE));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)BAI_GMRES_TOLERANCE, PETSC_DEFAULT, PETSC_DEFAULT, steps));
  PetscCall(VecZeroEntries(x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPComputeEigenvalues(ksp, BAI_TAU_STEPS + 1, re, im, &n));
  *least = PETSC_MAX_REAL;
  *most  = 0.0;
  size   = 0.0;
  for (PetscInt k = 0; k < n; k++) size = PetscMax(size, PetscMax(PetscAbsReal(im[k]), PetscAbsReal(re[k])));
  for (PetscInt k = 0; k < n; k++) {
    if (re[k] <= PetscSqrtReal(noise) * size) continue; /* zero eigenvalues of a singular matrix, up to rounding */
    *least = PetscMin(*least, re[k]);
    *most  = PetscMax(*most, (re[k] * re[k] + im[k] * im[k]) / re[k]);
  }
  *least = RoundedToTenBits(*least);
  *most  = RoundedToTenBits(*most);
  PetscCall(VecDestroy(&iteration.x));
  PetscCall(VecDestroy(&iteration.zero));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&shell));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes tau = 2/(lambda_1 + 1.1 lambda_n), as the largest eigenvalue is a little larger than its estimate; M is D if
   there is one local sweep */
PetscErrorCode BAIFindTau(BAI *bai, Mat A, PetscReal *tau)
{
  PetscReal least, most;

  PetscFunctionBegin;
  PetscCall(FindSpectrum(bai, A, BAI_TAU_STEPS, &least, &most));
  *tau = most > 0.0 ? 2.0 / (least + (PetscReal)BAI_EIGENVALUE_MARGIN * most) : 1.0;
  if (bai->relax.use.weight == BAI_WEIGHT_AUTO) *tau = PetscMin(*tau, (PetscReal)1.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes relax.largest unless an earlier application did: an upper estimate of the largest eigenvalue of M^{-1}A,
   without the factor tau. It is the estimate of FindSpectrum() times BAI_EIGENVALUE_MARGIN, or 1 if no real part is
   positive. Weights of a polynomial and the check of omega need it */
PetscErrorCode BAIFindLargest(BAI *bai)
{
  PetscReal      least, most;
  PetscErrorCode code;

  PetscFunctionBegin;
  if (bai->relax.largest != 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(BAI_SetUp, bai->obj, 0, 0, 0));
  code = FindSpectrum(bai, bai->relax.A, BAI_POLYNOMIAL_STEPS, &least, &most);
  PetscCall(PetscLogEventEnd(BAI_SetUp, bai->obj, 0, 0, 0));
  PetscCall(code);
  bai->relax.largest = most > 0.0 ? (PetscReal)BAI_EIGENVALUE_MARGIN * most : 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
