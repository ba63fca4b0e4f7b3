static char help[] = "Systems on which relaxation grows are solved, and solves that cannot get any further stop.\n\n";

#include "check.h"

/* b of ones */
static PetscErrorCode Solve(Mat A, BAIMode mode, BAIWeight weight, PetscReal rtol, PetscReal divtol, PetscInt max_it,
                            KSPConvergedReason *reason, PetscInt *its, PetscBool *stood)
{
  KSP       ksp;
  Vec       b, x;
  PetscReal rnorm;
  PetscBool converged;

  PetscFunctionBeginUser;
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, divtol, max_it));
  PetscCall(KSPSetFromOptions(ksp));
  if (mode != BAI_MODE_AUTO) { /* else a Krylov method solves */
    PetscCall(KSPBAISetMode(ksp, mode));
    PetscCall(KSPBAISetWeight(ksp, weight));
  }
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (*reason > 0) {
    PetscCall(IsConverged(ksp, &rnorm, &converged));
    PetscCall(Expect(converged, "true residual norm %g", (double)rnorm));
  }
  PetscCall(ViewHas((PetscObject)ksp, "that rounding allows", stood));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Symmetric, with so many diagonals of these values on each side */
static PetscErrorCode Band(PetscInt n, PetscInt width, const PetscScalar value[], Mat *A)
{
  PetscInt start, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    for (PetscInt j = PetscMax(0, i - width); j <= PetscMin(n - 1, i + width); j++)
      PetscCall(MatSetValue(*A, i, j, value[PetscAbsInt(i - j)], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 16, 15, ..., 1 is positive definite: a hat has a transform that is not negative. The largest eigenvalue of D^{-1}A is
 * 16, so Jacobi's iteration multiplies the error by 15. Relaxation says that it diverges, and what is done without
 * options converges */
static PetscErrorCode Grows(BAIMode mode, PetscReal divtol)
{
  KSPConvergedReason reason;
  PetscInt           its;
  PetscBool          stood;
  PetscScalar        value[16];
  Mat                A;

  PetscFunctionBeginUser;
  for (int k = 0; k < 16; k++) value[k] = 16 - k + (k ? 0 : 1);
  PetscCall(Band(600, 15, value, &A));
  PetscCall(Solve(A, mode, BAI_WEIGHT_NONE, 1e-8, divtol, 100000, &reason, &its, &stood));
  if (mode == BAI_MODE_AUTO)
    PetscCall(Expect(reason == KSP_CONVERGED_RTOL, "%s after %" PetscInt_FMT, KSPConvergedReasons[reason], its));
  else if (mode != BAI_MODE_COLOR)
    PetscCall(Expect(reason == KSP_DIVERGED_DTOL, "%s after %" PetscInt_FMT, KSPConvergedReasons[reason], its));
  if (mode != BAI_MODE_AUTO) {
    PetscCall(Solve(A, mode, BAI_WEIGHT_TAU, 1e-8, divtol, 100000, &reason, &its, &stood));
    PetscCall(
      Expect(reason == KSP_CONVERGED_RTOL, "with tau %s after %" PetscInt_FMT, KSPConvergedReasons[reason], its));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A beam, whose condition grows as n^4; for relaxation a string, with n^2 */
static PetscErrorCode Stands(BAIMode mode)
{
  const PetscScalar  beam[] = {2, -4. / 3, 1. / 3}, string[] = {2. / 3, -1. / 3};
  KSPConvergedReason reason;
  PetscInt           its;
  PetscBool          stood;
  Mat                A;

  PetscFunctionBeginUser;
  if (mode == BAI_MODE_AUTO) PetscCall(Band(300, 2, beam, &A));
  else PetscCall(Band(60, 1, string, &A));
  PetscCall(Solve(A, mode, BAI_WEIGHT_NONE, 1e-18, PETSC_DEFAULT, 1000000, &reason, &its, &stood));
  PetscCall(Expect(reason == KSP_DIVERGED_BREAKDOWN && stood && its < 30000, "%s after %" PetscInt_FMT,
                   KSPConvergedReasons[reason], its));
  PetscCall(Solve(A, mode, BAI_WEIGHT_NONE, 1e-3, PETSC_DEFAULT, 1000000, &reason, &its, &stood));
  PetscCall(Expect(reason > 0 && !stood, "rtol 1e-3: %s after %" PetscInt_FMT, KSPConvergedReasons[reason], its));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const BAIMode modes[] = {BAI_MODE_AUTO, BAI_MODE_ASYNC, BAI_MODE_SYNC, BAI_MODE_COLOR};

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int m = 0; m < 4; m++) {
    const char *name = BAIModes[modes[m]];

    if (Case("grows_%s", name)) PetscCall(Grows(modes[m], 1e5));
    if (Case("grows_early_%s", name)) PetscCall(Grows(modes[m], 30));
    if (Case("stands_%s", name)) PetscCall(Stands(modes[m]));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: !complex !single
      timeoutfactor: 3
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
