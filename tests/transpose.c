static char help[] = "KSPSolveTranspose() with KSPBAI solves with the transposed matrix, and what is set up for it and "
                     "for KSPSolve() is kept side by side.\n\n";

#include "check.h"
#include "gallery.h"
#include <petscdmda.h>

/* 0: A x = b, 1: A^T x = b */
static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, int transpose, const char what[])
{
  Mat                A;
  Vec                r;
  KSPConvergedReason reason;
  PetscReal          norm, bnorm, rtol;

  PetscFunctionBeginUser;
  if (transpose) PetscCall(KSPSolveTranspose(ksp, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(VecDuplicate(b, &r));
  if (transpose) PetscCall(MatMultTranspose(A, x, r));
  else PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecDestroy(&r));
  PetscCall(Expect(reason > 0, "%s, %s: %s", what, transpose ? "transposed" : "as it is", KSPConvergedReasons[reason]));
  PetscCall(Expect(norm <= 1.01 * rtol * bnorm, "%s, %s: a residual norm of %g, with ||b|| = %g", what,
                   transpose ? "transposed" : "as it is", (double)norm, (double)bnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const char matrix[], PetscInt n, Mat *A, Vec *b, Vec *x, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, A));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscCall(VecSetRandom(*b, NULL));
  PetscCall(NewKSP(*A, KSPBAI, ksp));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 2000));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Mat *A, Vec *b, Vec *x, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(ksp));
  PetscCall(VecDestroy(x));
  PetscCall(VecDestroy(b));
  PetscCall(MatDestroy(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves of both kinds in turn, and when the values and then the pattern are others. KSPSolve() does what it does where
 * nothing is transposed */
static PetscErrorCode TestTurns(const char matrix[], PetscInt n)
{
  Mat       A, other;
  Vec       b, x, alone;
  KSP       ksp, only;
  PetscInt  its[3][2], before;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(Create(matrix, n, &A, &b, &x, &ksp));
  for (int turn = 0; turn < 3; turn++) {
    for (int transpose = 1; transpose >= 0; transpose--) {
      PetscCall(Solve(ksp, b, x, transpose, "in turn"));
      PetscCall(KSPGetIterationNumber(ksp, &its[turn][transpose]));
    }
    PetscCall(Expect(its[turn][0] == its[0][0] && its[turn][1] == its[0][1],
                     "%" PetscInt_FMT " and %" PetscInt_FMT " iterations, then %" PetscInt_FMT " and %" PetscInt_FMT,
                     its[0][0], its[0][1], its[turn][0], its[turn][1]));
  }
  PetscCall(VecDuplicate(x, &alone));
  PetscCall(NewKSP(A, KSPBAI, &only));
  PetscCall(KSPSetTolerances(only, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 2000));
  PetscCall(KSPSetFromOptions(only));
  PetscCall(Solve(only, b, alone, 0, "nothing transposed"));
  PetscCall(KSPGetIterationNumber(only, &before));
  PetscCall(VecEqual(x, alone, &equal));
  PetscCall(Expect(equal && before == its[0][0], "another solution where the transposed one is found too"));
  PetscCall(KSPDestroy(&only));
  PetscCall(VecDestroy(&alone));

  PetscCall(MatScale(A, 2.0));
  for (int transpose = 0; transpose < 2; transpose++) PetscCall(Solve(ksp, b, x, transpose, "other values"));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "helmholtz", n, &other));
  PetscCall(KSPSetOperators(ksp, other, other));
  for (int transpose = 0; transpose < 2; transpose++) PetscCall(Solve(ksp, b, x, transpose, "another matrix"));
  PetscCall(MatDestroy(&other));
  PetscCall(Destroy(&A, &b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt  count, last;
  PetscReal rnorm;
} Seen;

static PetscErrorCode Watch(PETSC_UNUSED KSP ksp, PetscInt it, PetscReal rnorm, void *context)
{
  Seen *seen = (Seen *)context;

  PetscFunctionBeginUser;
  seen->count++;
  seen->last  = it;
  seen->rnorm = rnorm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Monitors, the history and what is asked later belong to the KSP that the user has. A guess is taken */
static PetscErrorCode TestWatched(void)
{
  Mat              A;
  Vec              b, x;
  KSP              ksp;
  Seen             seen = {0, 0, 0};
  PetscInt         its, length, again;
  PetscReal        rnorm, difference;
  const PetscReal *history;
  PetscBool        view;

  PetscFunctionBeginUser;
  PetscCall(Create("convection2d", 20, &A, &b, &x, &ksp));
  PetscCall(KSPMonitorSet(ksp, Watch, &seen, NULL));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(Solve(ksp, b, x, 1, "watched"));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualNorm(ksp, &rnorm));
  PetscCall(KSPGetResidualHistory(ksp, &history, &length));
  difference = PetscAbsReal(seen.rnorm - rnorm); /* a method may update the norm that is shown */
  PetscCall(Expect(its > 0 && seen.count == its + 1 && seen.last == its && length == its + 1,
                   "%" PetscInt_FMT " iterations, the monitor saw %" PetscInt_FMT ", the history has %" PetscInt_FMT,
                   its, seen.count, length));
  PetscCall(
    Expect(difference <= 0.01 * rnorm, "the last norm shown is %g, the norm %g", (double)seen.rnorm, (double)rnorm));
  PetscCall(ViewHas((PetscObject)ksp, "type: bai", &view));
  PetscCall(Expect(view, "it cannot be viewed"));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(Solve(ksp, b, x, 1, "from its solution"));
  PetscCall(KSPGetIterationNumber(ksp, &again));
  PetscCall(Expect(again <= 1, "%" PetscInt_FMT " iterations from the solution", again));
  PetscCall(Destroy(&A, &b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix said to be symmetric is its own transpose */
static PetscErrorCode TestSymmetric(void)
{
  Mat       A;
  Vec       b, x, y;
  KSP       ksp;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(Create("fv1", 20, &A, &b, &x, &ksp));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(Solve(ksp, b, x, 0, "symmetric"));
  PetscCall(Solve(ksp, b, y, 1, "symmetric"));
  PetscCall(VecEqual(x, y, &equal));
  PetscCall(Expect(equal, "a symmetric matrix has two solutions"));
  PetscCall(VecDestroy(&y));
  PetscCall(Destroy(&A, &b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with a negative diagonal that is not symmetric, as some rows have no other entry. These rows are in no
   aggregate, so the coarse matrices are symmetric. The rows are so many that not all levels are gathered */
static PetscErrorCode TestNegative(void)
{
  enum {
    STEP = 100
  };
  Mat      A;
  Vec      b, x;
  KSP      ksp;
  PetscInt its[2], first, last, rows = 0, *row;

  PetscFunctionBeginUser;
  PetscCall(Create("laplace2d", 72, &A, &b, &x, &ksp));
  PetscCall(MatScale(A, -1));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscMalloc1(last - first, &row));
  for (PetscInt k = first; k < last; k++)
    if (k % STEP == STEP / 2) row[rows++] = k;
  PetscCall(MatZeroRows(A, rows, row, -4, NULL, NULL));
  PetscCall(PetscFree(row));
  for (int transpose = 0; transpose < 2; transpose++) {
    PetscCall(Solve(ksp, b, x, transpose, "negative"));
    PetscCall(KSPGetIterationNumber(ksp, &its[transpose]));
  }
  PetscCall(Expect(its[1] <= 2 * its[0], "%d iterations transposed, %d as it is", (int)its[1], (int)its[0]));
  PetscCall(Destroy(&A, &b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC that is reused for other values, before the first transposed system */
static PetscErrorCode TestReused(void)
{
  Mat      A;
  Vec      b, x;
  KSP      ksp;
  PetscInt its[2];

  PetscFunctionBeginUser;
  PetscCall(Create("convection2d", 30, &A, &b, &x, &ksp));
  PetscCall(Solve(ksp, b, x, 0, "before"));
  PetscCall(KSPGetIterationNumber(ksp, &its[0]));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(MatScale(A, 20));
  PetscCall(Solve(ksp, b, x, 1, "reused"));
  PetscCall(KSPGetIterationNumber(ksp, &its[1]));
  PetscCall(Expect(its[1] <= 2 * its[0], "%d iterations transposed, %d before", (int)its[1], (int)its[0]));
  PetscCall(Destroy(&A, &b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of a singular matrix scaled, so that the null spaces of A and A^T differ. b = A^T u for some u */
static PetscErrorCode TestNullSpace(void)
{
  Mat          A;
  Vec          b, x, u, scale, left;
  KSP          ksp;
  MatNullSpace constant, other;

  PetscFunctionBeginUser;
  PetscCall(Create("laplace2d", 12, &A, &b, &x, &ksp));
  PetscCall(VecDuplicate(x, &scale));
  PetscCall(VecDuplicate(x, &left));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(VecSet(u, 1.0));
  PetscCall(MatMult(A, u, b));
  PetscCall(VecScale(b, -1.0));
  PetscCall(MatDiagonalSet(A, b, ADD_VALUES)); /* sums of rows are zero */
  PetscCall(VecSetRandom(scale, NULL));
  PetscCall(VecAbs(scale)); /* real: null spaces of complex matrices are conjugates of what is meant */
  PetscCall(VecShift(scale, 1.0));
  PetscCall(MatDiagonalScale(A, scale, NULL));
  PetscCall(VecCopy(scale, left));
  PetscCall(VecReciprocal(left));
  PetscCall(VecNormalize(left, NULL));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constant));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 1, &left, &other));
  PetscCall(MatSetNullSpace(A, constant));
  PetscCall(MatSetTransposeNullSpace(A, other));
  PetscCall(VecSetRandom(u, NULL));
  PetscCall(MatMultTranspose(A, u, b));
  PetscCall(Solve(ksp, b, x, 1, "singular"));
  PetscCall(MatMult(A, u, b));
  PetscCall(Solve(ksp, b, x, 0, "singular"));
  PetscCall(MatNullSpaceDestroy(&constant));
  PetscCall(MatNullSpaceDestroy(&other));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&left));
  PetscCall(VecDestroy(&scale));
  PetscCall(Destroy(&A, &b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks that are grown, for a matrix that is not symmetric */
static PetscErrorCode TestPartition(void)
{
  KSP      ksp;
  DM       da;
  Mat      A;
  Vec      b, x;
  PetscInt rows, first, last;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 200, 1, 1, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    PetscCall(MatSetValue(A, row, row, 4.0, INSERT_VALUES));
    if (row > 0) PetscCall(MatSetValue(A, row, row - 1, -2.0, INSERT_VALUES));
    if (row + 1 < rows) PetscCall(MatSetValue(A, row, row + 1, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 2000));
  PetscCall(KSPSetFromOptions(ksp));
  for (int graph = 0; graph < 2; graph++) { /* which comes after the first transposed solve */
    if (graph) PetscCall(KSPBAISetPartition(ksp, BAI_PARTITION_GRAPH));
    PetscCall(Solve(ksp, b, x, 0, graph ? "partition graph" : "no partition"));
    PetscCall(Solve(ksp, b, x, 1, graph ? "partition graph" : "no partition"));
  }
  PetscCall(DMDestroy(&da));
  PetscCall(Destroy(&A, &b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Asks for the KSP that it was set on, and stops after three iterations */
static PetscErrorCode StopAtThree(KSP ksp, PetscInt its, PETSC_UNUSED PetscReal rnorm, KSPConvergedReason *reason,
                                  void *context)
{
  PetscFunctionBeginUser;
  PetscCall(Expect(ksp == *(KSP *)context, "the convergence test is called with the KSP that it was set on"));
  *reason = its >= 3 ? KSP_CONVERGED_ITS : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestConvergenceTest(void)
{
  KSP                ksp;
  Mat                A;
  Vec                b, x;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(Create("convection2d", 20, &A, &b, &x, &ksp));
  PetscCall(KSPSetConvergenceTest(ksp, StopAtThree, &ksp, NULL));
  PetscCall(KSPSolveTranspose(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(
    Expect(its == 3 && reason == KSP_CONVERGED_ITS, "%d iterations, %s", (int)its, KSPConvergedReasons[reason]));
  PetscCall(Destroy(&A, &b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  if (Case("flow")) PetscCall(TestTurns("convection2d", 20));
  if (Case("dominant")) PetscCall(TestTurns("fv1", 16));
  if (Case("watched")) PetscCall(TestWatched());
  if (Case("convergence_test")) PetscCall(TestConvergenceTest());
  if (Case("symmetric")) PetscCall(TestSymmetric());
  if (Case("partition")) PetscCall(TestPartition());
  if (Case("null_space")) PetscCall(TestNullSpace());
  if (Case("negative")) PetscCall(TestNegative());
  if (Case("reused")) PetscCall(TestReused());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    requires: !single

    test:
      suffix: host
      nsize: {{1 2 3}}

    test:
      suffix: relaxation
      nsize: {{1 2}}
      args: -ksp_bai_mode sync -case dominant,symmetric

    test:
      suffix: ranks
      nsize: {{2 3}}

    test:
      suffix: aijcusparse
      nsize: {{1 2}}
      requires: baicuda cuda
      args: -mat_type aijcusparse

    test:
      suffix: aijcusparse_ranks
      nsize: 2
      requires: baicuda cuda
      args: -mat_type aijcusparse

TEST*/
