static char help[] =
  "PCBAI in mode sync: weights of the polynomial of the fourth kind; and when mode auto is sync.\n\n";

#include "check.h"
#include "gallery.h"

static PetscErrorCode Create(Mat A, BAIMode mode, BAIPolynomial polynomial, PetscInt its, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(NewPC(A, PCBAI, pc));
  PetscCall(PCBAISetMode(*pc, mode));
  PetscCall(PCBAISetPolynomial(*pc, polynomial));
  PetscCall(PCBAISetIterations(*pc, its));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectClose(const char what[], Vec x, Vec y)
{
  Vec       d;
  PetscReal norm, size;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecWAXPY(d, -1.0, x, y));
  PetscCall(VecNorm(d, NORM_2, &norm));
  PetscCall(VecNorm(x, NORM_2, &size));
  PetscCall(
    Expect(norm <= 1e4 * PETSC_MACHINE_EPSILON * size, "%s: difference %g of %g", what, (double)norm, (double)size));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = M^{-1} (b - A x) */
static PetscErrorCode Preconditioned(Mat A, PC one, Vec b, Vec x, Vec r, Vec y)
{
  PetscFunctionBeginUser;
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(PCApply(one, r, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The recurrence of Chebyshev's polynomial of the fourth kind, with one global iteration as its preconditioner */
static PetscErrorCode TestWeights(Mat A, PC one, PetscReal largest)
{
  PCRichardsonConvergedReason reason;
  Vec                         b, x, y, r, d, guess;
  PetscRandom                 random;
  PetscInt                    done;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecDuplicate(x, &guess));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(b, random));
  PetscCall(VecSetRandom(guess, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(VecZeroEntries(x));
  PetscCall(VecZeroEntries(d));
  for (PetscInt k = 0; k < 3; k++) { /* d_k = (2k-1)/(2k+3) d_{k-1} + (8k+4)/((2k+3) largest) M^{-1} r_k */
    PC pc;

    PetscCall(Preconditioned(A, one, b, x, r, y));
    PetscCall(VecAXPBY(d, (8.0 * (PetscReal)k + 4.0) / ((2.0 * (PetscReal)k + 3.0) * largest),
                       (2.0 * (PetscReal)k - 1.0) / (2.0 * (PetscReal)k + 3.0), y));
    PetscCall(VecAXPY(x, 1.0, d));
    PetscCall(Create(A, BAI_MODE_SYNC, BAI_POLYNOMIAL_AUTO, k + 1, &pc));
    PetscCall(PCApply(pc, b, y));
    PetscCall(ExpectClose("an application", x, y));
    if (k == 2) { /* smoothing steps from a guess, each of which adds an application to the residual */
      PetscCall(VecCopy(guess, d));
      for (int step = 0; step < 2; step++) {
        PetscCall(Preconditioned(A, pc, b, d, r, y));
        PetscCall(VecAXPY(d, 1.0, y));
      }
      PetscCall(PCApplyRichardson(pc, b, guess, r, 0, 0, 0, 2, PETSC_FALSE, &done, &reason));
      PetscCall(ExpectClose("smoothing steps", d, guess));
    }
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&guess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The eigenvalue that weights are for, by what one weighted iteration is of a plain one; the view says it to a few
 * digits */
static PetscErrorCode FindLargest(Mat A, PC one, PetscReal *largest)
{
  Vec       b, x, y;
  PC        pc;
  PetscReal nx, ny, viewed;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(b, 1.0));
  PetscCall(Create(A, BAI_MODE_SYNC, BAI_POLYNOMIAL_AUTO, 1, &pc));
  PetscCall(PCApply(one, b, x));
  PetscCall(PCApply(pc, b, y));
  PetscCall(VecNorm(x, NORM_2, &nx));
  PetscCall(VecNorm(y, NORM_2, &ny));
  *largest = 4.0 / 3.0 * nx / ny;
  PetscCall(ViewedNumber((PetscObject)pc, "for eigenvalues up to ", &viewed));
  PetscCall(Expect(PetscAbsReal(viewed - *largest) <= 1e-4 * *largest, "the view says %g, it is %g", (double)viewed,
                   (double)*largest));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the power method, from below */
static PetscErrorCode TestLargest(Mat A, PC one, PetscReal largest)
{
  Vec         zero, x, r, y;
  PetscRandom random;
  PetscReal   norm = 0.0;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &r));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(r, &zero));
  PetscCall(VecZeroEntries(zero));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(x, random));
  PetscCall(PetscRandomDestroy(&random));
  for (int k = 0; k < 300; k++) {
    PetscCall(VecNormalize(x, NULL));
    PetscCall(Preconditioned(A, one, zero, x, r, y));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(VecCopy(y, x));
  }
  PetscCall(Expect(norm <= largest && largest <= 1.11 * norm, "the largest eigenvalue is about %g, weights are for %g",
                   (double)norm, (double)largest));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What mode auto is, and the rows of a block there */
static PetscErrorCode TestAuto(Mat A, const char mode[], PetscReal block_size)
{
  PC        pc;
  char      words[32];
  PetscBool has;
  PetscReal size;

  PetscFunctionBeginUser;
  PetscCall(Create(A, BAI_MODE_AUTO, BAI_POLYNOMIAL_AUTO, 2, &pc));
  PetscCall(PetscSNPrintf(words, sizeof(words), "mode %s (auto)", mode));
  PetscCall(ViewHas((PetscObject)pc, words, &has));
  PetscCall(Expect(has, "the view says %s", words));
  PetscCall(ViewedNumber((PetscObject)pc, "blocks of ", &size));
  PetscCall(Expect(size == block_size, "blocks of %g rows, not of %g", (double)block_size, (double)size));
  PetscCall(ViewedNumber((PetscObject)pc, "set-ups ", &size));
  PetscCall(Expect(size == 1, "set up once, not %g times", (double)size));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not a number stays so, for the solver outside to see; it is no error */
static PetscErrorCode TestNotANumber(void)
{
  Mat         A;
  Vec         x, y;
  PC          pc;
  PetscInt    first;
  PetscReal   norm;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 20, &A));
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  if (!rank) PetscCall(MatSetValue(A, first, first + 1, NAN, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(Create(A, BAI_MODE_SYNC, BAI_POLYNOMIAL_AUTO, 2, &pc));
  PetscCall(PCApply(pc, x, y));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(Expect(PetscIsNanReal(norm), "norm %g of what is applied with a matrix that has no numbers", (double)norm));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAutos(void)
{
  PetscMPIInt size;
  Mat         A, A2, P;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (Case("auto_color")) {
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace3d", 20, &A));
    PetscCall(TestAuto(A, "color", 256));
    PetscCall(MatDestroy(&A));
  }
  if (Case("auto_long_rows")) { /* 125 entries */
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace3d27", 24, &A));
    PetscCall(MatMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &A2));
    PetscCall(TestAuto(A2, "sync", size == 1 ? 96 : 32));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&A2));
  }
  if (Case("auto_product")) {
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace3d", 20, &A));
    PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &P));
    PetscCall(MatShift(P, 1.0));
    PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &A2));
    PetscCall(TestAuto(A2, "sync", 32));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&P));
    PetscCall(MatDestroy(&A2));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights do not depend on the size of the matrix: what is left of b, which is scaled alike, is the same, also
 * where squares of entries of M^{-1} b are beyond what there is of numbers */
static PetscErrorCode TestScaled(void)
{
  const PetscScalar tiny = (PetscScalar)ldexp(1.0, PetscDefined(USE_REAL_SINGLE) ? -60 : -560);
  Mat               A[2];
  Vec               b, x[2];

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 40, &A[0]));
  PetscCall(MatDuplicate(A[0], MAT_COPY_VALUES, &A[1]));
  PetscCall(MatScale(A[1], tiny));
  PetscCall(MatCreateVecs(A[0], NULL, &b));
  PetscCall(VecSet(b, 1.0));
  for (int k = 0; k < 2; k++) {
    PC pc;

    PetscCall(Create(A[k], BAI_MODE_SYNC, BAI_POLYNOMIAL_AUTO, 3, &pc));
    PetscCall(VecDuplicate(b, &x[k]));
    PetscCall(PCApply(pc, b, x[k]));
    PetscCall(PCDestroy(&pc));
    PetscCall(VecScale(b, tiny));
  }
  PetscCall(ExpectClose("of a matrix and a right-hand side that are scaled", x[0], x[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(VecDestroy(&x[k]));
  }
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many parts a rank that know nothing of each other: all the same singular matrix of four rows, nonsymmetric */
static PetscErrorCode CreateParts(PetscInt parts, Mat *A)
{
  const PetscScalar part[] = {1.0, -1.0, 0.0, 0.0, 0.0, 1.0, -0.5, -0.5, -0.3, 0.0, 1.0, -0.7, -0.6, -0.4, 0.0, 1.0};
  PetscInt          start, end;

  PetscFunctionBeginUser;
  PetscCall(
    MatCreateAIJ(PETSC_COMM_WORLD, 4 * parts, 4 * parts, PETSC_DETERMINE, PETSC_DETERMINE, 4, NULL, 0, NULL, A));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i += 4) {
    const PetscInt rows[] = {i, i + 1, i + 2, i + 3};

    PetscCall(MatSetValues(*A, 4, rows, 4, rows, part, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a few different eigenvalues the largest is found whatever rounding errors say: more of the same parts have no
 * other */
static PetscErrorCode TestParts(void)
{
  const PetscInt parts[] = {5, 6, 7, 31, 100};
  PetscReal      largest[PETSC_STATIC_ARRAY_LENGTH(parts)];

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bai_block_size", "2"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(parts); k++) {
    Mat A;
    PC  one;

    PetscCall(CreateParts(parts[k], &A));
    PetscCall(Create(A, BAI_MODE_SYNC, BAI_POLYNOMIAL_NONE, 1, &one));
    PetscCall(FindLargest(A, one, &largest[k]));
    PetscCall(Expect(PetscAbsReal(largest[k] - largest[0]) <= 1e3 * PETSC_MACHINE_EPSILON * largest[0],
                     "of %" PetscInt_FMT " parts the largest is %g, of %" PetscInt_FMT " it is %g", parts[k],
                     (double)largest[k], parts[0], (double)largest[0]));
    PetscCall(PCDestroy(&one));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-pc_bai_block_size"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const names[] = {"laplace2d", "fv1", "trefethen"};
  const PetscInt    n[]     = {40, 0, 700};

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int k = 0; k < 3; k++) {
    Mat       A;
    PC        one;
    PetscReal largest = 0.0;

    if (!Case("weights_%s", names[k])) continue;
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, names[k], n[k], &A));
    PetscCall(Create(A, BAI_MODE_SYNC, BAI_POLYNOMIAL_NONE, 1, &one));
    PetscCall(FindLargest(A, one, &largest));
    PetscCall(TestLargest(A, one, largest));
    PetscCall(TestWeights(A, one, largest));
    PetscCall(PCDestroy(&one));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(TestAutos());
  if (Case("scaled")) PetscCall(TestScaled());
  if (Case("parts")) PetscCall(TestParts());
  if (Case("not_a_number")) PetscCall(TestNotANumber());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    test:
      suffix: host
      nsize: {{1 3}}
    test:
      suffix: cuda
      requires: baicuda
      args: -pc_bai_backend cuda -case weights,scaled,parts
    test:
      suffix: aijcusparse
      requires: baicuda
      nsize: {{1 2}}
      args: -mat_type aijcusparse -case weights,auto_color,auto_product,scaled,parts
      timeoutfactor: 3

TEST*/
