static char help[] = "Solves of KSPBAI with levels: monitors, guesses, limits, reasons, and the range of numbers.\n\n";

#include "levels.h"

/* The calls of a monitor: all in order, and each with the norm of the residual of the x there was */
typedef struct {
  PetscInt  calls;
  PetscBool in_order, right;
  PetscReal bnorm;
} Seen;

static PetscErrorCode See(KSP ksp, PetscInt its, PetscReal rnorm, void *ctx)
{
  Seen     *seen = (Seen *)ctx;
  Mat       A;
  Vec       b, x;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(KSPBuildSolution(ksp, NULL, &x));
  PetscCall(TrueResidualNorm(A, b, x, &norm));
  if (its != seen->calls++) seen->in_order = PETSC_FALSE;
  if (PetscAbsReal(norm - rnorm) > (PetscReal)1e-9 * seen->bnorm) seen->right = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StopAtFour(PETSC_UNUSED KSP ksp, PetscInt its, PETSC_UNUSED PetscReal rnorm,
                                 KSPConvergedReason *reason, PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  *reason = its >= 4 ? KSP_CONVERGED_ITS : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestWatched(void)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  PetscInt           alone, its, length;
  const PetscReal   *history;
  PetscReal          rnorm;
  Seen               seen = {0, PETSC_TRUE, PETSC_TRUE, 0};
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &alone));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(VecNorm(b, NORM_2, &seen.bnorm));
  PetscCall(KSPMonitorSet(ksp, See, &seen, NULL));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualHistory(ksp, (const PetscReal **)&history, &length));
  PetscCall(KSPGetResidualNorm(ksp, &rnorm));
  PetscCall(Expect(its == alone, "%d iterations when watched, %d alone", (int)its, (int)alone));
  PetscCall(Expect(seen.calls == its + 1 && length == its + 1,
                   "%d calls of the monitor, %d norms in the history, %d iterations", (int)seen.calls, (int)length,
                   (int)its));
  PetscCall(Expect(seen.in_order && seen.right, "the monitor saw %s, and norms that are %s",
                   seen.in_order ? "each iteration" : "iterations out of order", seen.right ? "true" : "not true"));
  PetscCall(Expect(length > 0 && PetscAbsReal(history[0] - seen.bnorm) <= (PetscReal)1e-12 * seen.bnorm &&
                     PetscAbsReal(history[length - 1] - rnorm) <= (PetscReal)1e-3 * rnorm,
                   "the history goes from %g to %g, and ||b|| = %g, ||r|| = %g", (double)history[0],
                   (double)history[length - 1], (double)seen.bnorm, (double)rnorm));
  PetscCall(KSPMonitorCancel(ksp));
  PetscCall(KSPSetConvergenceTest(ksp, StopAtFour, NULL, NULL));
  PetscCall(SolveFor(ksp, b, x, &its, &reason));
  PetscCall(
    Expect(its == 4 && reason == KSP_CONVERGED_ITS, "a test of one's own ends it after %d iterations", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPBuildSolution() in a monitor has the x of the iteration, with each Krylov method, PC side and size of b */
static PetscErrorCode TestBuilt(BAIKrylov krylov, PCSide side, PetscReal size)
{
  Mat       A;
  KSP       ksp;
  Vec       b, x, y;
  PetscInt  its;
  PetscReal rnorm;
  Seen      seen = {0, PETSC_TRUE, PETSC_TRUE, 0};

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPBAISetKrylov(ksp, krylov));
  PetscCall(KSPSetPCSide(ksp, side));
  PetscCall(KSPSetTolerances(ksp, rtol, 0.0, PETSC_DEFAULT, 500));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(VecScale(b, size));
  PetscCall(VecNorm(b, NORM_2, &seen.bnorm));
  PetscCall(KSPMonitorSet(ksp, See, &seen, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Expect(its > 1 && seen.calls == its + 1 && seen.right, "%d calls in %d iterations, with an x that is %s",
                   (int)seen.calls, (int)its, seen.right ? "right" : "not that of the iteration"));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(KSPBuildSolution(ksp, y, NULL));
  PetscCall(VecAXPY(y, -1.0, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &rnorm));
  PetscCall(Expect(rnorm == 0, "x after the solve differs by %g", (double)rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A good guess saves iterations, the solution needs none, and tolerances are relative to ||b|| */
static PetscErrorCode TestGuess(void)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x, noise;
  PetscInt           zero, near, none;
  PetscReal          rnorm, bnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &zero));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &noise));
  PetscCall(SetNoise(noise, 2));
  PetscCall(SetNoise(x, 1));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecAXPY(x, 1e-5, noise));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &near));
  PetscCall(TrueResidualNorm(A, b, x, &rnorm));
  PetscCall(Expect(rnorm <= (PetscReal)1.01 * rtol * bnorm && near > 0 && near < zero,
                   "%d iterations from a good guess, %d from zero", (int)near, (int)zero));
  PetscCall(SolveFor(ksp, b, x, &none, &reason));
  PetscCall(Expect(none == 0 && reason == KSP_CONVERGED_RTOL, "%d iterations from the solution, %s", (int)none,
                   KSPConvergedReasons[reason]));
  PetscCall(VecSet(b, 0.0));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  PetscCall(SolveFor(ksp, b, x, &none, &reason));
  PetscCall(VecNorm(x, NORM_INFINITY, &rnorm));
  PetscCall(
    Expect(none == 0 && reason > 0 && rnorm == 0, "b = 0: %d iterations, %s", (int)none, KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&noise));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What x was before a solve from zero does not matter, also where new values ask for another method */
static PetscErrorCode TestUnread(PetscInt levels)
{
  Mat       A;
  KSP       ksp;
  Vec       b, x, y;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 24, &A));
  PetscCall(CreateKSP(A, KSPBAI, levels, &ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SetNoise(b, 1));
  for (int values = 0; values < 3; values++) {
    if (values) PetscCall(MatShift(A, values == 1 ? -1.0 : 3.0)); /* indefinite, and positive definite again */
    for (int k = 0; k < 3; k++) { /* the first solve may find out which method it takes */
      PetscCall(VecSet(k % 2 ? y : x, k % 2 ? (PetscReal)1e30 : 0));
      PetscCall(KSPSolve(ksp, b, k % 2 ? y : x));
    }
    PetscCall(VecEqual(x, y, &equal));
    PetscCall(Expect(equal, "values %d: x is another one after solves from zero", values));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecSet(b, 0.0));
      PetscCall(VecSet(x, (PetscReal)1e30));
      PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, k ? 2000 : 0));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(VecSet(y, 0.0));
      PetscCall(VecEqual(x, y, &equal));
      PetscCall(Expect(equal, "values %d: b is zero, and x is not", values));
      PetscCall(SetNoise(b, 1));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many iterations as allowed, and no more, from zero and from a guess; that may be enough */
static PetscErrorCode TestMaxIt(const char name[], PetscInt n, PetscInt levels)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(CreateKSP(A, KSPBAI, levels, &ksp));
  for (int how = 0; how < 4; how++) {
    const int                guess = how % 2, enough = how / 2;
    const KSPConvergedReason expected = enough ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;

    PetscCall(KSPConvergedDefaultSetConvergedMaxits(ksp, (PetscBool)enough));
    PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)guess));
    for (PetscInt max_it = 0; max_it < 4; max_it++) {
      PetscCall(VecSet(x, 0.5));
      PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, max_it));
      PetscCall(SolveFor(ksp, b, x, &its, &reason));
      PetscCall(Expect(its == max_it && reason == expected, "%s, max_it %d, guess %d: %d iterations, %s", name,
                       (int)max_it, guess, (int)its, KSPConvergedReasons[reason]));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reasons for which a solve ends without converging, and a fixed number of iterations */
static PetscErrorCode TestReasons(void)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  PetscInt           its;
  PetscReal          rnorm, bnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 3));
  PetscCall(SolveFor(ksp, b, x, &its, &reason));
  PetscCall(Expect(its == 3 && reason == KSP_DIVERGED_ITS, "max_it 3: %d iterations, %s", (int)its,
                   KSPConvergedReasons[reason]));
  PetscCall(KSPSetTolerances(ksp, 1e-30, 1e-80, PETSC_DEFAULT, 500));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TrueResidualNorm(A, b, x, &rnorm));
  PetscCall(Expect(reason == KSP_DIVERGED_BREAKDOWN && rnorm <= (PetscReal)1e-11 * bnorm,
                   "a tolerance beyond rounding: %s, ||r|| = %g ||b||", KSPConvergedReasons[reason],
                   (double)(rnorm / bnorm)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 5));
  PetscCall(SolveFor(ksp, b, x, &its, &reason));
  PetscCall(TrueResidualNorm(A, b, x, &rnorm));
  PetscCall(Expect(its == 5 && reason == KSP_CONVERGED_ITS && rnorm < (PetscReal)0.01 * bnorm,
                   "norm none, max_it 5: %d iterations, %s, ||r|| = %g ||b||", (int)its, KSPConvergedReasons[reason],
                   (double)(rnorm / bnorm)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A least number of iterations is done, where this PETSc knows of it */
static PetscErrorCode TestLeastIterations(void)
{
  const PetscInt least = 12;
  Mat            A;
  KSP            ksp;
  Vec            b, x;
  PetscInt       its;
  PetscBool      knows;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(PetscOptionsSetValue(NULL, "-ksp_min_it", "12"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscOptionsUsed(NULL, "ksp_min_it", &knows));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_min_it"));
  PetscCall(KSPSetTolerances(ksp, 1e-2, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Expect(knows ? its == least : its < least, "%d iterations, %d at least", (int)its, knows ? (int)least : 0));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand sides so small or large that squares of norms are zero or infinite */
static PetscErrorCode TestRange(PetscReal scale)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x, r;
  PetscReal          rnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("helmholtz", 40, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-6, 0.0, PETSC_DEFAULT, 10000));
  PetscCall(VecSet(b, scale));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_INFINITY, &rnorm));
  PetscCall(Expect(reason == KSP_CONVERGED_RTOL && rnorm <= (PetscReal)1e-4 * scale, "%s, |r| = %g",
                   KSPConvergedReasons[reason], (double)rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b is zero, and of the residual of the guess, scale, no square is a number: it is made smaller all the same */
static PetscErrorCode TestTinyGuess(PetscReal scale)
{
  Mat                A;
  Vec                x, b, r;
  KSP                ksp;
  PetscReal          norm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 20, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(x, scale));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetTolerances(ksp, 1e-6, 0, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm));
  PetscCall(Expect(reason == KSP_CONVERGED_RTOL && norm <= (PetscReal)1e-4 * scale,
                   "from a guess of %g for b = 0: %s, largest residual %g", (double)scale, KSPConvergedReasons[reason],
                   (double)norm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(CheckInitialize(&argc, &argv, help));
  if (Case("watched")) PetscCall(TestWatched());
  for (int k = BAI_KRYLOV_AUTO; k <= BAI_KRYLOV_GMRES; k++) {
    const BAIKrylov krylov = (BAIKrylov)k;

    if (Case("built_%s_left", BAIKrylovs[k])) PetscCall(TestBuilt(krylov, PC_LEFT, 1));
    if (Case("built_%s_right", BAIKrylovs[k])) PetscCall(TestBuilt(krylov, PC_RIGHT, 1));
    if (Case("built_%s_small", BAIKrylovs[k])) PetscCall(TestBuilt(krylov, PC_LEFT, (PetscReal)1e-150));
  }
  if (Case("guess")) PetscCall(TestGuess());
  if (Case("unread_auto")) PetscCall(TestUnread(PETSC_DECIDE));
  if (Case("unread_number")) PetscCall(TestUnread(32));
  if (Case("reasons")) PetscCall(TestReasons());
  if (Case("reasons_min_it")) PetscCall(TestLeastIterations());
  for (int k = 0; k < 2 && Case("max_it"); k++) {
    PetscCall(TestMaxIt("laplace2d", 64, k ? 32 : PETSC_DECIDE));
    PetscCall(TestMaxIt("convection2d", 40, k ? 32 : PETSC_DECIDE));
  }
  if (Case("range_small")) PetscCall(TestRange((PetscReal)1e-170));
  if (Case("range_large")) PetscCall(TestRange((PetscReal)1e170));
  if (Case("tiny_guess_1e-170")) PetscCall(TestTinyGuess((PetscReal)1e-170));
  if (Case("tiny_guess_1e170")) PetscCall(TestTinyGuess((PetscReal)1e170));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         args: -case watched,built,guess,unread,reasons,max_it,range
      test:
         suffix: host_tiny
         nsize: {{1 2}}
         args: -case tiny_guess
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -options_left no -case watched,built,guess,unread,reasons,max_it,range
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -options_left no -case watched,built,guess,unread,reasons,max_it,range
         timeoutfactor: 3

TEST*/
