static char help[] = "Which method KSPBAI takes with levels, and what changes of the matrix make of it.\n\n";

#include "levels.h"

static PetscErrorCode UsesLevels(KSP ksp, const char what[], PetscBool expected)
{
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)ksp, "conjugate gradients, preconditioned by the cycle of the PC", &has));
  PetscCall(Expect(has == expected, "%s: levels are%s used", what, has ? "" : " not"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestNonsymmetric(void)
{
  Mat       A;
  KSP       ksp;
  PC        pc;
  PetscInt  its;
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("flow", 40, &A));
  PetscCall(CreateKSP(A, KSPBAI, 4, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)ksp, "KSP type fbcgs, preconditioned by the PC", &has));
  PetscCall(Expect(has, "the view names the Krylov method"));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 60, "%d iterations", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreatePC(A, &pc));
  PetscCall(ViewHas((PetscObject)pc, "with diagonal entries of one sign: not for KSPCG", &has));
  PetscCall(Expect(has, "the view says that it is not for KSPCG"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCBAIMG's view says whether A, which has new values since the last set-up, is Hermitian */
static PetscErrorCode ExpectHermitian(PC pc, Mat A, PetscBool expected, const char what[])
{
  PetscBool not ;

  PetscFunctionBeginUser;
  PetscCall(Assemble(A));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHas((PetscObject)pc, "with diagonal entries of one sign: not for KSPCG", &not ));
  PetscCall(Expect(not != expected, "%s: taken for %sHermitian", what, expected ? "one that is not " : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Differences of a_ij and conj(a_ji) are found wherever they are, unless they are only rounding; zeros are no
   entries. Each row is coupled to the reach rows before and behind it, and to those n away */
static PetscErrorCode TestHermitian(PetscInt reach)
{
  const PetscInt    n     = 50;
  const PetscReal   tiny  = 4 * PETSC_MACHINE_EPSILON;
  const PetscScalar other = PetscDefined(USE_COMPLEX) ? PETSC_i : -1.5;
  Mat               A;
  PC                pc;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, n * n, 2 * reach + 7, &A));
  for (PetscInt row = 0; row < n * n; row++) {
    for (PetscInt col = PetscMax(row - reach, 0); col <= PetscMin(row + reach, n * n - 1); col++)
      PetscCall(MatSetValue(A, row, col, row == col ? (PetscReal)(2 * reach) + 2.5 : -1.0, INSERT_VALUES));
    if (row >= n) PetscCall(MatSetValue(A, row, row - n, -1.0, INSERT_VALUES));
    if (row < n * n - n) PetscCall(MatSetValue(A, row, row + n, -1.0, INSERT_VALUES));
  }
  PetscCall(MatSetValue(A, 7, 900, 0.0, INSERT_VALUES));
  PetscCall(MatSetValue(A, 1900, 3, 0.0, INSERT_VALUES));
  PetscCall(Assemble(A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(ExpectHermitian(pc, A, PETSC_TRUE, "zeros of one side"));
  PetscCall(MatSetValue(A, 70, 71, -1.0 + tiny, INSERT_VALUES));
  PetscCall(MatSetValue(A, 1900, 3, tiny, INSERT_VALUES));
  PetscCall(ExpectHermitian(pc, A, PETSC_TRUE, "differences of rounding"));
  PetscCall(MatSetValue(A, 1900, 3, -0.01, INSERT_VALUES));
  PetscCall(ExpectHermitian(pc, A, PETSC_FALSE, "a_ij below the diagonal without a_ji"));
  PetscCall(MatSetValue(A, 1900, 3, 0.0, INSERT_VALUES));
  PetscCall(MatSetValue(A, 7, 900, -0.01, INSERT_VALUES));
  PetscCall(ExpectHermitian(pc, A, PETSC_FALSE, "a_ij above the diagonal without a_ji"));
  PetscCall(MatSetValue(A, 7, 900, 0.0, INSERT_VALUES));
  PetscCall(
    MatSetValue(A, 200, 201, -1.5, INSERT_VALUES)); /* values of both sides are the same, but not their places */
  PetscCall(MatSetValue(A, 301, 300, -1.5, INSERT_VALUES));
  PetscCall(ExpectHermitian(pc, A, PETSC_FALSE, "values of pairs exchanged"));
  PetscCall(MatSetValue(A, 201, 200, -1.5, INSERT_VALUES));
  PetscCall(MatSetValue(A, 300, 301, -1.5, INSERT_VALUES));
  PetscCall(ExpectHermitian(pc, A, PETSC_TRUE, "other values on both sides"));
  PetscCall(MatSetValue(A, 500, 500 + n, other, INSERT_VALUES));
  PetscCall(MatSetValue(A, 500 + n, 500, PetscConj(other), INSERT_VALUES));
  PetscCall(ExpectHermitian(pc, A, PETSC_TRUE, "conjugate values"));
  PetscCall(MatSetValue(A, 500 + n, 500, PetscDefined(USE_COMPLEX) ? other : -other, INSERT_VALUES));
  PetscCall(ExpectHermitian(pc, A, PETSC_FALSE, "the same number, not its conjugate, or another sign"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With auto: levels, or on a GPU the chip, unless something asks for relaxation */
static PetscErrorCode TestAuto(void)
{
  const PetscInt large = 600; /* more rows than a GPU keeps on the chip */
  Mat            A, B;
  KSP            ksp;
  PetscInt       its;
  PetscBool      chip, cuda;
  BAIBackend     backend;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", large, &A));
  PetscCall(CreateMat("laplace2d", 60, &B));
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(UsesLevels(ksp, "a large matrix", PETSC_TRUE));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 20, "%d iterations", (int)its));
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_RELAXATION));
  PetscCall(KSPSetOperators(ksp, A, A)); /* so that KSPSetUp() looks */
  PetscCall(UsesLevels(ksp, "method relaxation", PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(B, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)ksp, "on the chip, in one launch", &chip));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)B, &cuda, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscCall(KSPBAIGetBackend(ksp, &backend));
  cuda = (PetscBool)(cuda || backend == BAI_BACKEND_CUDA);
  PetscCall(Expect(chip == (PetscBool)(cuda && !PetscDefined(USE_COMPLEX)), "a small matrix is%s on the chip",
                   chip ? "" : " not"));
  if (!chip) PetscCall(UsesLevels(ksp, "a small matrix", PETSC_TRUE));
  PetscCall(KSPDestroy(&ksp));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
    PetscCall(KSPBAISetMode(ksp, (BAIMode)mode));
    PetscCall(UsesLevels(ksp, BAIModes[mode], PETSC_FALSE));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(UsesLevels(ksp, "a fixed number of iterations", PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(CreateMat("flow", large, &A));
  PetscCall(IterationsOf(A, KSPBAI, PETSC_DECIDE, &its));
  PetscCall(Expect(its > 0 && its <= 100, "%d iterations if it is not symmetric", (int)its));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMat("poor", large, &A));
  PetscCall(IterationsOf(A, KSPBAI, PETSC_DECIDE, &its));
  PetscCall(Expect(its > 0 && its <= 100, "%d iterations with nothing to aggregate", (int)its));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is not positive definite: conjugate gradients find out while they solve, another method goes on, and so
 * it is from then on; no claim is wrong */
static PetscErrorCode TestIndefinite(PetscInt n, PetscInt levels)
{
  Mat      A;
  KSP      ksp;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("shifted", n, &A));
  PetscCall(CreateKSP(A, KSPBAI, levels, &ksp));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 20));
  PetscCall(UsesLevels(ksp, "before the solve", PETSC_TRUE));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its < 0, "does not converge, %d", (int)its));
  PetscCall(UsesLevels(ksp, "after the solve", PETSC_FALSE));
  PetscCall(Solve(ksp, &its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Laplacian of a binary tree without its root: positive definite, but the cycle is not while couplings of coarse
   levels are softened. CG goes on without that */
static PetscErrorCode TestTree(PetscInt n)
{
  Mat      A;
  KSP      ksp;
  PetscInt its, start, end;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, n, 4, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = start; row < end; row++) { /* the children of a node are twice its number and the next one */
    const PetscInt node = row + 2, near[] = {node / 2, 2 * node, 2 * node + 1};
    PetscInt       count = 0;

    for (int k = 0; k < 3; k++) {
      if (near[k] >= n + 2) continue;
      count++;
      if (near[k] >= 2) PetscCall(MatSetValue(A, row, near[k] - 2, -1.0, INSERT_VALUES));
    }
    PetscCall(MatSetValue(A, row, row, (PetscScalar)count, INSERT_VALUES));
  }
  PetscCall(Assemble(A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  for (int again = 0; again < 2; again++) {
    PetscCall(Solve(ksp, &its));
    PetscCall(Expect(its > 0 && its <= 60, "%d iterations", (int)its));
    PetscCall(UsesLevels(ksp, "after a solve", PETSC_TRUE));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is found out of values that are not positive definite is of these values alone */
static PetscErrorCode TestDefiniteAgain(void)
{
  Mat      A;
  KSP      ksp;
  PetscInt its, first;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &first));
  PetscCall(MatShift(A, -0.5));
  PetscCall(Solve(ksp, &its));
  PetscCall(UsesLevels(ksp, "not positive definite", PETSC_FALSE));
  PetscCall(MatShift(A, 0.5));
  PetscCall(Solve(ksp, &its));
  PetscCall(UsesLevels(ksp, "positive definite again", PETSC_TRUE));
  PetscCall(Expect(its == first, "%d iterations, and %d before", (int)its, (int)first));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPBAI takes values that have changed in place, and another matrix */
static PetscErrorCode TestChanges(void)
{
  Mat      A, B;
  KSP      ksp;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(CreateMat("fv1", 31, &B));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0, "converges"));
  PetscCall(ChangeValues(A, (PetscReal)0.02));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 20, "with new values %d iterations", (int)its));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 20, "with another matrix %d iterations", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 5 points on n x n, coupled more strongly in one direction */
static PetscErrorCode SetDirections(Mat A, PetscInt n, PetscReal x, PetscReal y)
{
  PetscFunctionBeginUser;
  for (PetscInt row = 0; row < n * n; row++) {
    const PetscInt i = row % n, j = row / n;

    PetscCall(MatSetValue(A, row, row, 2 * (x + y), INSERT_VALUES));
    if (i) PetscCall(MatSetValue(A, row, row - 1, -x, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(A, row, row + 1, -x, INSERT_VALUES));
    if (j) PetscCall(MatSetValue(A, row, row - n, -y, INSERT_VALUES));
    if (j < n - 1) PetscCall(MatSetValue(A, row, row + n, -y, INSERT_VALUES));
  }
  PetscCall(Assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values for which the aggregates are the wrong ones: there are others at once */
static PetscErrorCode TestOutdated(void)
{
  const PetscInt n = 60;
  Mat            A;
  KSP            ksp;
  PetscInt       first, second;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, n * n, 5, &A));
  PetscCall(SetDirections(A, n, 1000, 1));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &first));
  PetscCall(SetDirections(A, n, 1, 1000));
  PetscCall(Solve(ksp, &second));
  PetscCall(Expect(first > 0 && second > 0 && second <= first + 3, "%d iterations, %d when the direction has turned",
                   (int)first, (int)second));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is scaled between set-up and solve, as PETSc may do, has levels of its own */
static PetscErrorCode TestScaledAfterwards(void)
{
  Mat      A;
  Vec      d;
  KSP      ksp;
  PetscInt its, first;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(IterationsOf(A, KSPBAI, 32, &first));
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(SetNoise(d, 3));
  PetscCall(VecAbs(d));
  PetscCall(VecScale(d, 10.0));
  PetscCall(VecExp(d));
  PetscCall(MatDiagonalScale(A, d, d));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(VecReciprocal(d));
  PetscCall(MatDiagonalScale(A, d, d));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(PetscAbsInt(its - first) <= 1, "%d iterations, and %d of a new KSP", (int)its, (int)first));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver that goes on with another matrix, and another method, lets go of the one before */
static PetscErrorCode TestChangesMatrix(void)
{
  KSP      ksp;
  Mat      A, B;
  Vec      b, x;
  PetscInt references;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("convection2d", 20, &A));
  PetscCall(CreateMat("laplace2d", 20, &B));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscObjectGetReference((PetscObject)A, &references));
  PetscCall(Expect(references == 1, "%d references of a matrix that is solved with no longer", (int)references));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyByContext(Mat S, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Amat is matrix-free: it is Pmat, then another matrix. Levels are of Pmat, and the solution is that of Amat */
static PetscErrorCode TestWithoutEntries(const char name[], PetscInt n)
{
  Mat       A, other, S;
  KSP       ksp, gmres;
  PetscInt  m, M, its, alike;
  VecType   vectors;
  PetscBool has;
  char      text[512];

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, &M, NULL));
  PetscCall(MatGetVecType(A, &vectors));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, m, M, M, A, &S));
  PetscCall(MatShellSetOperation(S, MATOP_MULT, (void (*)(void))MultiplyByContext));
  PetscCall(MatShellSetVecType(S, vectors));
  PetscCall(CreateKSP(A, KSPFGMRES, PETSC_DECIDE, &gmres));
  PetscCall(Solve(gmres, &alike));
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(KSPSetOperators(ksp, S, A));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= alike + 1, "%d iterations, %d of FGMRES", (int)its, (int)alike));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &other));
  PetscCall(MatShift(other, (PetscReal)0.02));
  PetscCall(MatShellSetContext(S, other));
  PetscCall(Solve(ksp, &its)); /* which compares with the residual of S */
  PetscCall(Expect(its > 0 && its <= 2 * alike + 5, "%d iterations with another Amat", (int)its));
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_RELAXATION));
  PetscCall(MatTypeMessage(MATSHELL, text, sizeof(text)));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, S, A));
  ExpectError(text, "relaxation of a matrix without entries", KSPSetUp(ksp));
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_AUTO));
  PetscCall(KSPSetOperators(ksp, other, other));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0, "a matrix with entries after one without"));
  PetscCall(ViewHas((PetscObject)ksp, "levels are of Pmat", &has));
  PetscCall(Expect(!has, "the view does not speak of Pmat any longer"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&gmres));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&other));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (Case("shell_laplace2d")) PetscCall(TestWithoutEntries("laplace2d", 100));
  if (Case("shell_flow")) PetscCall(TestWithoutEntries("flow", 40));
  if (size == 1) {
    if (Case("changes")) PetscCall(TestChanges());
    if (Case("changes_matrix")) PetscCall(TestChangesMatrix());
    if (Case("outdated")) PetscCall(TestOutdated());
    if (Case("outdated_by_scaling")) PetscCall(TestScaledAfterwards());
    if (Case("nonsymmetric")) PetscCall(TestNonsymmetric());
    if (Case("hermitian")) PetscCall(TestHermitian(1));
    if (Case("hermitian_wide")) PetscCall(TestHermitian(12)); /* several threads of a GPU examine such a row */
    if (Case("auto")) PetscCall(TestAuto());
    if (Case("indefinite_auto")) PetscCall(TestIndefinite(600, PETSC_DECIDE));
    if (Case("indefinite_number")) PetscCall(TestIndefinite(40, 32));
    if (Case("indefinite_tree")) PetscCall(TestTree(32766));
    if (Case("indefinite_no_more")) PetscCall(TestDefiniteAgain());
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         args: -case {{shell changes,outdated,nonsymmetric,hermitian,auto,indefinite}}
      test:
         suffix: host_ranks
         nsize: {{2 3}}
         args: -case shell
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -options_left no -case changes,outdated,nonsymmetric,hermitian,auto,indefinite
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -options_left no \
               -case {{shell changes,outdated,nonsymmetric,hermitian,auto,indefinite}}
      test:
         suffix: aijcusparse_ranks
         requires: baicuda cuda
         nsize: 2
         args: -mat_type aijcusparse -pc_baimg_gather false -options_left no -case shell

TEST*/
