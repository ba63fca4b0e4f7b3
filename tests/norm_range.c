static char help[] = "Right-hand sides and residuals whose squares are too small or too large for a PetscReal: a "
                     "tolerance that is said to be met is met.\n\n";

#include "check.h"
#include "gallery.h"

/* x + b - A x for b = 1 times scale; the residual is looked at times 1/scale, where squares are as they should be */
static PetscErrorCode Check(const char matrix[], PetscInt n, PetscReal scale, PetscReal rtol, BAIMode mode,
                            BAIPrecision precision, BAIRefine refine, PetscBool guess)
{
  KSP                ksp;
  Mat                A;
  Vec                b, x, r;
  PetscInt           first, last;
  PetscReal          norm, bnorm, rnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecGetOwnershipRange(b, &first, &last));
  for (PetscInt row = first; row < last; row++)
    PetscCall(VecSetValue(b, row, scale, INSERT_VALUES)); /* after VecSet() VecNorm() would know better */
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(VecSet(x, guess ? 0.125 * scale : 0));
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPSetTolerances(ksp, rtol, 0, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetFromOptions(ksp));
  if (mode != BAI_MODE_AUTO) { /* else a Krylov method solves */
    PetscCall(KSPBAISetMode(ksp, mode));
    PetscCall(KSPBAISetPrecision(ksp, precision));
    PetscCall(SetOption((PetscObject)ksp, "refine", "%s", BAIRefines[refine]));
  }
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualNorm(ksp, &rnorm));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecScale(r, 1 / scale));
  PetscCall(VecSet(b, 1));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(Expect(reason == KSP_CONVERGED_RTOL, "it converges: %s", KSPConvergedReasons[reason]));
  PetscCall(Expect(norm <= 1.001 * rtol * bnorm, "the residual is within the tolerance: %g of %g",
                   (double)(norm / bnorm), (double)rtol));
  PetscCall(Expect(PetscAbsReal(rnorm / scale - norm) <= 1e-3 * norm + 1e-14 * bnorm,
                   "the residual norm is that of the solution: %g, not %g", (double)(rnorm / scale), (double)norm));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x = 0 with a matrix of this scale, indefinite or diagonal, from a guess of the size of 1 over unit, and then
   A^T x = 0 from the same. The square of the guess, or of the residual, is zero. CG breaks down for the indefinite one,
   and the next method must not take the guess for zero. PETSc must not take a vector to which it adds A^T x for zero */
static PetscErrorCode TestTiny(PetscReal scale, PetscReal unit, PetscBool diagonal)
{
  KSP ksp;
  Mat A;
  Vec b, x, r;

  PetscFunctionBeginUser;
  if (diagonal) {
    PetscInt first, last;

    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, 7, 7, PETSC_DETERMINE, PETSC_DETERMINE, 1, NULL, 0, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt row = first; row < last; row++) PetscCall(MatSetValue(A, row, row, 1, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetFromOptions(A));
  } else {
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 12, &A));
    PetscCall(MatShift(A, -1));
  }
  PetscCall(MatScale(A, scale));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecZeroEntries(b));
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-3, 0, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetFromOptions(ksp));
  for (int transpose = 0; transpose < 2; transpose++) {
    PetscReal          first, norm;
    KSPConvergedReason reason;

    PetscCall(VecSet(x, 1 / unit));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecScale(r, unit / scale));
    PetscCall(VecNorm(r, NORM_2, &first));
    if (transpose) PetscCall(KSPSolveTranspose(ksp, b, x));
    else PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecScale(r, unit / scale));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(Expect(reason == KSP_CONVERGED_RTOL, "solve %d converges: %s", transpose, KSPConvergedReasons[reason]));
    PetscCall(Expect(norm <= (PetscReal)1.001e-3 * first, "the residual of solve %d is within the tolerance: %g of %g",
                     transpose, (double)norm, (double)first));
    PetscCall(VecDestroy(&r));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal scales[] = {1e-100, 1e-150, 1e-160, 1e-200, 1e-290, 1e100, 1e153, 1e160, 1e200, 1e290};

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(scales); k++) {
    for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_AUTO; mode++) {
      if (Case("b_%g_%s", (double)scales[k], BAIModes[mode]))
        PetscCall(
          Check("fv1", 15, scales[k], 1e-10, (BAIMode)mode, BAI_PRECISION_NATIVE, BAI_REFINE_AUTO, PETSC_FALSE));
    }
    if (Case("single_%g", (double)scales[k]))
      PetscCall(Check("fv1", 15, scales[k], 1e-10, BAI_MODE_SYNC, BAI_PRECISION_SINGLE, BAI_REFINE_SYNC, PETSC_FALSE));
    if (Case("refined_%g", (double)scales[k]))
      PetscCall(Check("fv1", 15, scales[k], 1e-10, BAI_MODE_SYNC, BAI_PRECISION_SINGLE, BAI_REFINE_ASYNC, PETSC_FALSE));
    if (Case("rounded_%g", (double)scales[k]))
      PetscCall(Check("fv1", 15, scales[k], 1e-5, BAI_MODE_SYNC, BAI_PRECISION_SINGLE, BAI_REFINE_NONE, PETSC_FALSE));
    if (Case("guess_%g", (double)scales[k]))
      PetscCall(Check("fv1", 15, scales[k], 1e-8, BAI_MODE_SYNC, BAI_PRECISION_NATIVE, BAI_REFINE_AUTO,
                      PETSC_TRUE)); /* there the tolerance is PETSc's rtol times what VecNorm() says of b */
    if (Case("slow_%g", (double)scales[k]))
      PetscCall(
        Check("laplace2d", 12, scales[k], 1e-8, BAI_MODE_SYNC, BAI_PRECISION_NATIVE, BAI_REFINE_AUTO, PETSC_FALSE));
  }
  if (Case("tiny_guess")) PetscCall(TestTiny((PetscReal)1e169, (PetscReal)1e169, PETSC_FALSE));
  if (Case("tiny_residual")) PetscCall(TestTiny((PetscReal)4e-170, 1, PETSC_FALSE));
  if (Case("tiny_diagonal")) PetscCall(TestTiny((PetscReal)4e-170, 1, PETSC_TRUE));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      requires: double
      output_file: output/empty.out
      nsize: {{1 2}}
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda
      test:
         suffix: aijcusparse
         timeoutfactor: 3
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
