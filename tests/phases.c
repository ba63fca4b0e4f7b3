static char help[] = "Matrices whose diagonal entries are not real are not Hermitian, and multigrid serves for them as "
                     "for the real ones that they come from.\n\n";

#include "check.h"
#include "gallery.h"

#if defined(PETSC_USE_COMPLEX)
/* Adds i times size to every period-th diagonal entry */
static PetscErrorCode AddImaginary(Mat A, PetscReal size, PetscInt period)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++)
    if (i % period == 0) PetscCall(MatSetValue(A, i, i, size * PETSC_i, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with A, and with A^T, which is A, by KSPBAI, and sets its to the larger number of iterations */
static PetscErrorCode Solve(Mat A, const char what[], PetscInt *its)
{
  KSP ksp;
  Vec x, b;

  PetscFunctionBeginUser;
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPSetFromOptions(ksp));
  *its = 0;
  for (int transpose = 0; transpose < 2; transpose++) {
    KSPConvergedReason reason;
    PetscReal          norm, bnorm;
    PetscInt           count;

    PetscCall((transpose ? KSPSolveTranspose : KSPSolve)(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &count));
    PetscCall(TrueResidualNorm(A, b, x, &norm));
    PetscCall(VecNorm(b, NORM_2, &bnorm));
    PetscCall(Expect(reason > 0 && norm <= 1e-3 * bnorm, "%s, %s: %s after %" PetscInt_FMT " iterations, %g of %g",
                     what, transpose ? "transposed" : "as it is", KSPConvergedReasons[reason], count, (double)norm,
                     (double)bnorm));
    *its = PetscMax(*its, count);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y^T M x = x^T M^T y for the cycle M */
static PetscErrorCode ExpectTranspose(Mat A, const char what[])
{
  PC          pc;
  Vec         x, y, Mx, My;
  PetscScalar one, two;

  PetscFunctionBeginUser;
  PetscCall(NewSystem(A, &x, &Mx));
  PetscCall(NewSystem(A, &y, &My));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(y, NULL));
  PetscCall(NewPC(A, PCBAIMG, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCApply(pc, x, Mx));
  PetscCall(PCApplyTranspose(pc, y, My));
  PetscCall(VecTDot(Mx, y, &one));
  PetscCall(VecTDot(x, My, &two));
  PetscCall(Expect(PetscAbsScalar(one - two) <= (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-5) * PetscAbsScalar(one),
                   "%s: y^T M x is %g + %g i, x^T M^T y %g + %g i", what, (double)PetscRealPart(one),
                   (double)PetscImaginaryPart(one), (double)PetscRealPart(two), (double)PetscImaginaryPart(two)));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
#if defined(PETSC_USE_COMPLEX)
  Mat      A;
  PetscInt plain, its;
  char     what[64];

  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 80, &A));
  PetscCall(Solve(A, "real", &plain));
  for (int degrees = 0; degrees <= 360; degrees += 45) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "turned by %d degrees", degrees));
    if (Case("turned_%d", degrees)) {
      PetscCall(Solve(A, what, &its));
      PetscCall(
        Expect(its <= plain + 3, "%s: %" PetscInt_FMT " iterations, the real matrix %" PetscInt_FMT, what, its, plain));
      PetscCall(ExpectTranspose(A, what));
    }
    PetscCall(MatScale(A, PetscExpScalar(PETSC_i * (PetscReal)(PETSC_PI / 4))));
  }
  PetscCall(MatDestroy(&A));
  for (int k = 0; k < 6; k++) {
    const PetscReal size   = k % 3 == 0 ? (PetscReal)1e-3 : k % 3 == 1 ? (PetscReal)0.1 : 10;
    const PetscInt  period = k / 3 ? 2 : 1;

    if (!Case("imaginary_%d", k)) continue;
    PetscCall(PetscSNPrintf(what, sizeof(what), "%g i on each diagonal entry of %d", (double)size, (int)period));
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 80, &A));
    PetscCall(AddImaginary(A, size, period));
    PetscCall(Solve(A, what, &its));
    PetscCall(Expect(its <= plain + 3, "%s: %" PetscInt_FMT " iterations, without %" PetscInt_FMT, what, its, plain));
    PetscCall(ExpectTranspose(A, what));
    PetscCall(MatDestroy(&A));
  }
#endif
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    requires: complex
    test:
      suffix: host
      nsize: {{1 2 3}}
    test:
      suffix: cuda
      requires: baicuda
      args: -ksp_bai_backend cuda -pc_baimg_backend cuda
    test:
      suffix: aijcusparse
      requires: baicuda cuda
      nsize: {{1 2}}
      args: -mat_type aijcusparse

TEST*/
