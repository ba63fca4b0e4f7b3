static char help[] = "What KSPBAI promises: true residuals, reasons that are right, limits that are kept.\n\n";

#include "check.h"
#include "gallery.h"

/* n rows with diag on the diagonal and off beside it; with neumann, the first and last diagonal entries make row sums
 * zero */
static PetscErrorCode Tridiagonal(PetscInt n, PetscScalar diag, PetscScalar off, PetscBool neumann, Mat *A)
{
  PetscInt rstart, rend;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 3, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 3, NULL, 2, NULL));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++) {
    PetscCall(MatSetValue(*A, row, row, neumann && (row == 0 || row == n - 1) ? -off : diag, INSERT_VALUES));
    if (row > 0) PetscCall(MatSetValue(*A, row, row - 1, off, INSERT_VALUES));
    if (row < n - 1) PetscCall(MatSetValue(*A, row, row + 1, off, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solver(Mat A, PetscReal rtol, PetscReal abstol, PetscInt max_it, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(NewKSP(A, KSPBAI, ksp));
  PetscCall(KSPSetTolerances(*ksp, rtol, abstol, PETSC_DEFAULT, max_it));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The true residual norm, which that of the KSP must be too */
static PetscErrorCode Residual(KSP ksp, Mat A, Vec b, Vec x, PetscReal *norm)
{
  PetscReal rnorm, bnorm;

  PetscFunctionBeginUser;
  PetscCall(TrueResidualNorm(A, b, x, norm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(KSPGetResidualNorm(ksp, &rnorm));
  PetscCall(
    Expect(PetscAbsReal(rnorm - *norm) <= 1e5 * PETSC_MACHINE_EPSILON * bnorm, "the residual norm is the true one"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, KSPConvergedReason *reason, PetscInt *its)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Converges(Mat A, Vec b, Vec x)
{
  KSP                ksp;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          norm, bnorm;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  for (PetscInt interval = 0; interval < 5; interval += 2) {
    PetscCall(Solver(A, 1e-7, 1e-50, 10000, &ksp));
    PetscCall(KSPBAISetCheckInterval(ksp, interval));
    PetscCall(Solve(ksp, b, x, &reason, &its));
    PetscCall(Residual(ksp, A, b, x, &norm));
    PetscCall(Expect(reason == KSP_CONVERGED_RTOL && norm <= 1.000001e-7 * bnorm,
                     "KSP_CONVERGED_RTOL, and the true residual is small"));
    PetscCall(Expect(its > 0 && (!interval || its % interval == 0), "iterations are a multiple of the check interval"));
    PetscCall(KSPDestroy(&ksp));

    PetscCall(Solver(A, 0, 1e-6, 10000, &ksp));
    PetscCall(KSPBAISetCheckInterval(ksp, interval));
    PetscCall(Solve(ksp, b, x, &reason, &its));
    PetscCall(Residual(ksp, A, b, x, &norm));
    PetscCall(Expect(reason == KSP_CONVERGED_ATOL && norm <= 1.000001e-6,
                     "KSP_CONVERGED_ATOL, and the true residual is small"));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KeepsMaxIt(Mat A, Vec b, Vec x)
{
  const PetscInt     max_its[] = {0, 1, 2, 7, 12};
  KSP                ksp;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          norm;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(max_its); k++) {
    for (PetscInt interval = 0; interval < 6; interval += 3) {
      PetscCall(Solver(A, 0, 1e-50, max_its[k], &ksp));
      PetscCall(KSPBAISetCheckInterval(ksp, interval));
      PetscCall(Solve(ksp, b, x, &reason, &its));
      PetscCall(Residual(ksp, A, b, x, &norm));
      PetscCall(Expect(reason == KSP_DIVERGED_ITS && its == max_its[k], "KSP_DIVERGED_ITS at max_it"));
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UsesGuess(Mat A, Vec b, Vec x)
{
  KSP                ksp;
  KSPConvergedReason reason;
  Vec                x0;
  PetscInt           its, its_zero;
  PetscReal          norm;
  PetscBool          equal;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &x0));
  PetscCall(Solver(A, 1e-7, 1e-50, 10000, &ksp));
  PetscCall(KSPBAISetCheckInterval(ksp, 1));
  PetscCall(VecSet(x, 1e6)); /* must not be looked at */
  PetscCall(Solve(ksp, b, x, &reason, &its_zero));
  PetscCall(Residual(ksp, A, b, x, &norm));

  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(VecCopy(x, x0));
  PetscCall(Solve(ksp, b, x, &reason, &its));
  PetscCall(Residual(ksp, A, b, x, &norm));
  PetscCall(VecEqual(x, x0, &equal));
  PetscCall(Expect(reason == KSP_CONVERGED_RTOL && its == 0 && equal, "nothing is done on a solution"));

  PetscCall(VecScale(x, 1.001));
  PetscCall(Solve(ksp, b, x, &reason, &its));
  PetscCall(Residual(ksp, A, b, x, &norm));
  PetscCall(Expect(reason == KSP_CONVERGED_RTOL && its > 0 && its < its_zero, "a good guess saves iterations"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max_it iterations, with norms (0), without norms (1), with norms and KSPConvergedSkip() (2) */
static PetscErrorCode Iterate(Mat A, Vec b, Vec x, PetscInt how, PetscBool guess, PetscBool sync,
                              KSPConvergedReason *reason, PetscInt *its)
{
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(Solver(A, 0, 1e-50, 11, &ksp));
  if (sync) PetscCall(KSPBAISetMode(ksp, BAI_MODE_SYNC));
  if (how == 1) PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  if (how == 2) PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(VecSet(x, 2.0));
  PetscCall(Solve(ksp, b, x, reason, its));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IteratesBlindly(Mat A, Vec b, Vec x)
{
  Vec                xref;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          norm, bnorm;
  PetscBool          equal;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &xref));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  for (int guess = 0; guess < 2; guess++) {
    PetscCall(Iterate(A, b, xref, 0, (PetscBool)guess, PETSC_TRUE, &reason, &its));
    for (PetscInt how = 0; how < 3; how++) {
      PetscCall(Iterate(A, b, x, how, (PetscBool)guess, PETSC_TRUE, &reason, &its));
      PetscCall(VecEqual(x, xref, &equal));
      PetscCall(Expect(equal, "mode sync gives the same bits each time, with norms and without"));
    }
    for (PetscInt how = 1; how < 3; how++) {
      PetscCall(Iterate(A, b, x, how, (PetscBool)guess, PETSC_FALSE, &reason, &its));
      PetscCall(Expect(reason == KSP_CONVERGED_ITS && its == 11,
                       how == 1 ? "KSP_NORM_NONE: max_it iterations and KSP_CONVERGED_ITS"
                                : "KSPConvergedSkip(): max_it iterations and KSP_CONVERGED_ITS"));
      PetscCall(TrueResidualNorm(A, b, x, &norm));
      PetscCall(Expect(norm < 0.5 * bnorm, "iterations without norms get nearer to the solution"));
    }
  }
  PetscCall(VecDestroy(&xref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The spectral radius of I - D^{-1} A is nearly 4 */
static PetscErrorCode NoticesDivergence(void)
{
  KSP                ksp;
  Mat                A;
  Vec                b, x;
  KSPConvergedReason reason;
  PetscInt           its;

  PetscFunctionBeginUser;
  PetscCall(Tridiagonal(50, 1.0, 2.0, PETSC_FALSE, &A));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(Solver(A, 1e-7, 1e-50, 10000, &ksp));
  PetscCall(Solve(ksp, b, x, &reason, &its));
  PetscCall(Expect(reason == KSP_DIVERGED_DTOL && its < 1000, "KSP_DIVERGED_DTOL"));
  PetscCall(KSPSetTolerances(ksp, 1e-7, 1e-50, PETSC_MAX_REAL, 10000));
  PetscCall(Solve(ksp, b, x, &reason, &its));
  PetscCall(
    Expect(reason == KSP_DIVERGED_NANORINF && its < 10000, "KSP_DIVERGED_NANORINF of an iterate that overflows"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A NaN in the right hand side, or in the guess; then, with the same solver, none */
static PetscErrorCode NoticesNaN(Mat A, Vec b, Vec x)
{
  KSP                ksp;
  KSPConvergedReason reason;
  Vec                bad;
  PetscInt           its, n;
  PetscReal          norm;

  PetscFunctionBeginUser;
  PetscCall(Solver(A, 1e-7, 1e-50, 10000, &ksp));
  PetscCall(VecDuplicate(b, &bad));
  PetscCall(VecCopy(b, bad));
  PetscCall(VecGetSize(b, &n));
  PetscCall(VecSetValue(bad, n - 1, NAN, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(bad));
  PetscCall(VecAssemblyEnd(bad));
  PetscCall(Solve(ksp, bad, x, &reason, &its));
  PetscCall(Expect(reason == KSP_DIVERGED_NANORINF && its == 0, "KSP_DIVERGED_NANORINF of a NaN in b"));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(VecCopy(bad, x));
  PetscCall(Solve(ksp, b, x, &reason, &its));
  PetscCall(Expect(reason == KSP_DIVERGED_NANORINF && its == 0, "KSP_DIVERGED_NANORINF of a NaN in the guess"));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  PetscCall(Solve(ksp, b, x, &reason, &its));
  PetscCall(Residual(ksp, A, b, x, &norm));
  PetscCall(Expect(reason == KSP_CONVERGED_RTOL, "convergence after a NaN is gone"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroForZero(Mat A, Vec b, Vec x)
{
  KSP                ksp;
  KSPConvergedReason reason;
  Vec                zero;
  PetscInt           its;
  PetscReal          norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &zero));
  PetscCall(VecSet(zero, 0.0));
  PetscCall(VecSet(x, 3.0));
  PetscCall(Solver(A, 1e-7, 1e-50, 10000, &ksp));
  PetscCall(Solve(ksp, zero, x, &reason, &its));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(Expect(reason > 0 && its == 0 && norm == 0.0, "x = 0 for b = 0, at once"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fewer rows than ranks, or none at all */
static PetscErrorCode SmallSizes(void)
{
  KSP                ksp;
  Mat                A;
  Vec                b, x;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          norm;

  PetscFunctionBeginUser;
  for (PetscInt n = 0; n < 5; n++) {
    PetscCall(Tridiagonal(n, 4.0, -1.0, PETSC_FALSE, &A));
    PetscCall(NewSystem(A, &x, &b));
    PetscCall(Solver(A, 1e-7, 1e-50, 100, &ksp));
    PetscCall(Solve(ksp, b, x, &reason, &its));
    PetscCall(Residual(ksp, A, b, x, &norm));
    PetscCall(Expect(reason > 0, "convergence for few rows"));
    PetscCall(Expect(n > 0 || its == 0, "no iteration for no rows"));
    PetscCall(Expect(n != 1 || its >= 1, "an iteration for one row"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the constants are in the null space, the solution has none of them, whatever the guess had */
static PetscErrorCode RemovesNullSpace(void)
{
  KSP                ksp;
  Mat                A;
  Vec                b, x;
  MatNullSpace       constants;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          norm, xnorm;
  PetscScalar        sum;

  PetscFunctionBeginUser;
  PetscCall(Tridiagonal(30, 2.0, -1.0, PETSC_TRUE, &A));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
  PetscCall(MatSetNullSpace(A, constants));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatNullSpaceRemove(constants, b));
  for (int none = 0; none < 2; none++) {
    PetscCall(Solver(A, 1e-7, 1e-50, 10000, &ksp));
    PetscCall(KSPBAISetLocalOmega(ksp, 0.8));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    if (none) PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    PetscCall(VecSet(x, 1.0));
    PetscCall(Solve(ksp, b, x, &reason, &its));
    if (!none) PetscCall(Residual(ksp, A, b, x, &norm));
    PetscCall(Expect(reason == (none ? KSP_CONVERGED_ITS : KSP_CONVERGED_RTOL), "convergence for a singular matrix"));
    PetscCall(VecSum(x, &sum));
    PetscCall(VecNorm(x, NORM_2, &xnorm));
    PetscCall(Expect(PetscAbsScalar(sum) <= 1e3 * PETSC_MACHINE_EPSILON * xnorm, "a solution without constants"));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatNullSpaceDestroy(&constants));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error if asked for, in each way of not converging */
static PetscErrorCode RaisesErrors(Mat A, Vec b, Vec x)
{
  PetscFunctionBeginUser;
  for (int nan = 0; nan < 2; nan++) {
    KSP            ksp;
    Vec            c;
    PetscErrorCode ierr;

    PetscCall(VecDuplicate(b, &c));
    PetscCall(VecCopy(b, c));
    if (nan) PetscCall(VecSet(c, NAN));
    PetscCall(Solver(A, 0, 1e-50, 3, &ksp));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = KSPSolve(ksp, c, x);
    PetscCall(PetscPopErrorHandler());
    PetscCall(Expect(ierr == PETSC_ERR_NOT_CONVERGED, "KSPSetErrorIfNotConverged() makes an error of it"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    PetscErrorCode (*run)(Mat, Vec, Vec);
    PetscBool fv1_only;
  } cases[] = {
    {"converges",        Converges,       PETSC_FALSE},
    {"keeps_max_it",     KeepsMaxIt,      PETSC_FALSE},
    {"uses_guess",       UsesGuess,       PETSC_FALSE},
    {"notices_nan",      NoticesNaN,      PETSC_FALSE},
    {"zero_for_zero",    ZeroForZero,     PETSC_FALSE},
    {"iterates_blindly", IteratesBlindly, PETSC_TRUE },
    {"raises_errors",    RaisesErrors,    PETSC_TRUE }
  };
  const struct {
    const char *name;
    PetscInt    n;
  } matrices[] = {
    {"fv1",       20 },
    {"laplace2d", 20 },
    {"trefethen", 300}
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(matrices); m++) {
    Mat A;
    Vec b, x;

    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrices[m].name, matrices[m].n, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSetRandom(b, NULL));
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
      if (m > 0 && cases[c].fv1_only) continue;
      if (Case("%s_%s", cases[c].name, matrices[m].name)) PetscCall(cases[c].run(A, b, x));
    }
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
  }
  if (Case("notices_divergence")) PetscCall(NoticesDivergence());
  if (Case("small_sizes")) PetscCall(SmallSizes());
  if (Case("removes_null_space")) PetscCall(RemovesNullSpace());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    requires: !single
    args: -ksp_bai_mode {{async launch sync}}shared output -ksp_bai_block_size {{0 16}}shared output

    test:
      suffix: host
      nsize: {{1 3}}

    test:
      suffix: cuda
      requires: baicuda
      args: -ksp_bai_backend cuda

    test:
      suffix: aijcusparse
      requires: baicuda cuda
      args: -mat_type aijcusparse

TEST*/
