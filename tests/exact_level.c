static char help[] =
  "The last level of PCBAIMG, which is inverted: pivots that vanish, singular matrices, rows of zeros.\n\n";

#include "levels.h"

typedef PetscReal Entry(PetscInt n, PetscInt row, PetscInt column);

/* Entry (row, column) of a matrix of n rows that consists of equal blocks of three, whose neighbours are coupled by the
   number couple from the last row of a block to the first of the next one, and back */
static PetscReal OfBlocks(const PetscReal block[3][3], PetscReal couple, PetscInt row, PetscInt column)
{
  if (row / 3 == column / 3) return block[row % 3][column % 3];
  return PetscAbsInt(row - column) == 1 ? couple : 0;
}

/* The second pivot is 0 until the third row is eliminated */
static PetscReal Later(PETSC_UNUSED PetscInt n, PetscInt row, PetscInt column)
{
  const PetscReal block[3][3] = {
    {1, 1, 0},
    {1, 1, 1},
    {0, 1, 1}
  };

  return OfBlocks(block, (PetscReal)-0.3, row, column);
}

/* The second and the third pivot are 0 after the first */
static PetscReal Beside(PETSC_UNUSED PetscInt n, PetscInt row, PetscInt column)
{
  const PetscReal block[3][3] = {
    {1, 1, 1},
    {1, 1, 2},
    {1, 2, 1}
  };

  return OfBlocks(block, 0, row, column);
}

static PetscReal BesideNonsymmetric(PETSC_UNUSED PetscInt n, PetscInt row, PetscInt column)
{
  const PetscReal block[3][3] = {
    {1, 1, 1},
    {1, 1, 2},
    {2, 3, 1}
  };

  return OfBlocks(block, (PetscReal)0.1, row, column);
}

/* Indefinite, and singular if n is 3 k + 2 */
static PetscReal Ones(PETSC_UNUSED PetscInt n, PetscInt row, PetscInt column)
{
  return PetscAbsInt(row - column) <= 1 ? 1 : 0;
}

static PetscReal Noise(PETSC_UNUSED PetscInt n, PetscInt row, PetscInt column)
{
  return row == column ? 1 : PetscSinReal((PetscReal)(row * row + 7 * column + row * column));
}

/* The coupling between two points of a chain, one of which is strong */
static PetscReal Coupling(PetscInt n, PetscInt point)
{
  return point == n / 2 ? (PetscReal)1e8 : 1;
}

static PetscReal Jump(PetscInt n, PetscInt row, PetscInt column)
{
  if (row == column) return Coupling(n, row) + Coupling(n, row + 1);
  return PetscAbsInt(row - column) == 1 ? -Coupling(n, PetscMax(row, column)) : 0;
}

static PetscReal Neumann(PetscInt n, PetscInt row, PetscInt column)
{
  if (row == column) return (row > 0) + (row + 1 < n);
  return PetscAbsInt(row - column) == 1 ? -1 : 0;
}

/* Chains of three points, each singular */
static PetscReal Chains(PETSC_UNUSED PetscInt n, PetscInt row, PetscInt column)
{
  return row / 3 == column / 3 ? Neumann(3, row % 3, column % 3) : 0;
}

/* Neumann() in units that differ from row to row */
static PetscReal Units(PetscInt n, PetscInt row, PetscInt column)
{
  return PetscPowReal(10, (PetscReal)((3 * row) % 7 + (3 * column) % 7 - 6)) * Neumann(n, row, column);
}

/* Pairs of rows whose diagonal entries are rounding beside the couplings */
static PetscReal Tiny(PETSC_UNUSED PetscInt n, PetscInt row, PetscInt column)
{
  if (row == column) return (PetscReal)1e-18;
  return row / 2 == column / 2 ? 1 : PetscAbsInt(row - column) == 1 ? (PetscReal)0.1 : 0;
}

/* Every fifth row is zero */
static PetscReal Holes(PETSC_UNUSED PetscInt n, PetscInt row, PetscInt column)
{
  if (row % 5 == 3) return 0;
  if (row == column) return 3;
  return PetscAbsInt(row - column) == 1 ? -1 : 0;
}

static PetscErrorCode CreateDense(PetscInt n, Entry *entry, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, n, n, A));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      const PetscReal a = entry(n, i, j);

      if (a != 0 || i == j) PetscCall(MatSetValue(*A, i, j, a, INSERT_VALUES));
    }
  }
  PetscCall(Assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One application of PCBAIMG, the matrix X, solves A x = b for a regular A up to rounding times bound; and for a
   singular one if b is in its range: A X A = A. If A is symmetric, X is so too */
static PetscErrorCode TestInverse(const char name[], Entry *entry, PetscInt n, PetscBool regular, PetscReal bound)
{
  Mat         A;
  PC          pc;
  Vec         b, x, r, y;
  PetscScalar there, back;
  PetscReal   error, size, rounding = 0;
  PetscBool   exact, symmetric;

  PetscFunctionBeginUser;
  PetscCall(CreateDense(n, entry, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(CreatePC(A, &pc));
  PetscCall(RoundingOf(pc, &rounding));
  PetscCall(ViewHas((PetscObject)pc, "solved exactly", &exact));
  PetscCall(SetNoise(regular ? b : x, 7));
  if (!regular) PetscCall(MatMult(A, x, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAXPY(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &error));
  PetscCall(VecNorm(b, NORM_2, &size));
  PetscCall(Expect(exact && error <= bound * rounding * size, "%s: ||b - A x|| is %g of ||b||, the limit %g%s", name,
                   (double)(error / size), (double)(bound * rounding), exact ? "" : ", the level is not exact"));
  PetscCall(MatIsSymmetric(A, 0, &symmetric));
  if (symmetric) {
    PetscCall(VecDuplicate(b, &y));
    PetscCall(SetNoise(r, 11));
    PetscCall(PCApply(pc, r, y));
    PetscCall(VecTDot(b, y, &there));
    PetscCall(VecTDot(r, x, &back));
    error = PetscAbsScalar(there - back);
    PetscCall(Expect(error <= bound * rounding * PetscAbsScalar(back), "%s: the inverse is not symmetric, by %g", name,
                     (double)(error / PetscAbsScalar(back))));
    PetscCall(VecDestroy(&y));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x is b in rows of zeros, whether or not the level is inverted */
static PetscErrorCode TestHoles(PetscInt n, PetscReal bound)
{
  Mat                A;
  PC                 pc;
  Vec                b, x;
  const PetscScalar *a, *c;
  PetscReal          error = 0;

  PetscFunctionBeginUser;
  PetscCall(CreateDense(n, Holes, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(CreatePC(A, &pc));
  PetscCall(SetNoise(b, 7));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(b, &c));
  for (PetscInt i = 3; i < n; i += 5) error = PetscMax(error, PetscAbsScalar(a[i] - c[i]));
  PetscCall(Expect(error <= bound, "rows of zeros of %d: x and b differ by %g, the limit %g", (int)n, (double)error,
                   (double)bound));
  PetscCall(VecRestoreArrayRead(b, &c));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(CheckInitialize(&argc, &argv, help));
  if (Case("later_3")) PetscCall(TestInverse("later", Later, 3, PETSC_TRUE, 100));
  if (Case("later_120")) PetscCall(TestInverse("later", Later, 120, PETSC_TRUE, 1000));
  if (Case("beside_3")) PetscCall(TestInverse("beside", Beside, 3, PETSC_TRUE, 100));
  if (Case("beside_126")) PetscCall(TestInverse("beside", Beside, 126, PETSC_TRUE, 100));
  if (Case("beside_nonsymmetric")) PetscCall(TestInverse("nonsymmetric", BesideNonsymmetric, 99, PETSC_TRUE, 1000));
  if (Case("ones")) PetscCall(TestInverse("ones", Ones, 127, PETSC_TRUE, 1000));
  if (Case("noise")) PetscCall(TestInverse("noise", Noise, 100, PETSC_TRUE, (PetscReal)1e5));
  if (Case("jump")) PetscCall(TestInverse("jump", Jump, 20, PETSC_TRUE, (PetscReal)1e6));
  if (Case("neumann")) PetscCall(TestInverse("Neumann", Neumann, 100, PETSC_FALSE, 1000));
  if (Case("units")) PetscCall(TestInverse("units", Units, 100, PETSC_FALSE, (PetscReal)1e5));
  if (Case("tiny")) PetscCall(TestInverse("tiny", Tiny, 100, PETSC_TRUE, 1000));
  if (Case("chains")) PetscCall(TestInverse("chains", Chains, 120, PETSC_FALSE, 100));
  if (Case("dependent")) PetscCall(TestInverse("dependent", Ones, 59, PETSC_FALSE, 1000));
  if (Case("holes_exact")) PetscCall(TestHoles(100, 0));
  if (Case("holes")) PetscCall(TestHoles(1000, (PetscReal)1e-3));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         args: -case later,beside,ones,noise,jump,neumann,units,tiny,chains,dependent,holes
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -options_left no -case {{later,beside,ones,noise,jump,neumann,units \
               tiny,chains,dependent,holes}}

TEST*/
