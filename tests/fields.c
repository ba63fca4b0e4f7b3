static char help[] =
  "Iterations of PCBAIMG for several fields, with and without a block size, and for one of them.\n\n";

#include "levels.h"

enum {
  LINE  = 40, /* points of a grid in each direction */
  CELLS = 24  /* elements in each direction */
};

/* Adds fields unknowns in each of LINE^2 points, each field with the Laplacian, the first two of which exchange what
   flows from one to the other: their difference times rate. The unknowns of the second field have another unit. With
   lines, points of the last field have no neighbours in other lines */
static PetscErrorCode SetExchange(Mat A, PetscInt fields, PetscReal rate, PetscReal unit, PetscBool lines)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatZeroEntries(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscInt  field = row % fields, point = row / fields, at[2] = {point % LINE, point / LINE};
    const PetscReal mine = field == 1 ? unit : 1, exchanged = field < 2 && fields > 1 ? rate : 0;

    PetscCall(MatSetValue(A, row, row, mine * mine * (4 + exchanged), INSERT_VALUES));
    if (field < 2 && fields > 1) PetscCall(MatSetValue(A, row, row + 1 - 2 * field, -unit * exchanged, INSERT_VALUES));
    for (int k = 0; k < 4; k++) {
      const int step = k % 2 ? 1 : -1;

      if (at[k / 2] + step >= 0 && at[k / 2] + step < LINE && !(lines && k / 2 && field == fields - 1))
        PetscCall(MatSetValue(A, row, row + step * fields * (k / 2 ? LINE : 1), -mine * mine, INSERT_VALUES));
    }
  }
  PetscCall(Assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateExchange(PetscInt fields, PetscReal rate, PetscReal unit, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, fields, fields * LINE * LINE, 6, A));
  PetscCall(SetExchange(*A, fields, rate, unit, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets A to two fields whose Laplacians on LINE^2 points are coupled by the matrix with 1 on its diagonal and coupling
   beside it. A constant on each field is then nearly annihilated */
static PetscErrorCode SetCoupled(Mat A, PetscReal coupling)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscInt point = row / 2, other = 1 - 2 * (row % 2), at[2] = {point % LINE, point / LINE};

    for (int k = 0; k < 5; k++) {
      const PetscInt  step = k == 4 ? 0 : k % 2 ? 1 : -1, to = row + step * 2 * (k / 2 == 1 ? LINE : 1);
      const PetscReal a = k == 4 ? 4 : -1;

      if (k < 4 && (at[k / 2] + step < 0 || at[k / 2] + step >= LINE)) continue;
      PetscCall(MatSetValue(A, row, to, a, INSERT_VALUES));
      PetscCall(MatSetValue(A, row, to + other, a * coupling, INSERT_VALUES));
    }
  }
  PetscCall(Assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives each unknown of A a unit between 1e-2 and 1e2, or the second field 1e-3: A becomes S A S */
static PetscErrorCode ChangeUnits(Mat A, PetscBool each)
{
  PetscInt first, last;
  Vec      s;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &s, NULL));
  PetscCall(VecGetOwnershipRange(s, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscReal drawn = (PetscReal)((uint32_t)row * 2654435761u >> 16) / 65536;

    PetscCall(VecSetValue(s, row, PetscPowReal(10, each ? 4 * drawn - 2 : row % 2 ? -3 : 0), INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(s));
  PetscCall(VecAssemblyEnd(s));
  PetscCall(MatDiagonalScale(A, s, s));
  PetscCall(VecDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Laplacian on an interval of CELLS elements by the symmetric interior penalty method (D. N. Arnold, "An interior
   penalty finite element method with discontinuous elements", SIAM Journal on Numerical Analysis 19, 1982), with two
   unknowns an element, and its mass matrix. Lengths are those of an element, and u is zero at both ends */
static void Interval(PetscReal penalty, PetscReal stiffness[2 * CELLS][2 * CELLS], PetscReal mass[2 * CELLS][2 * CELLS])
{
  for (int e = 0; e < CELLS; e++) {
    for (int i = 0; i < 2; i++) {
      for (int j = 0; j < 2; j++) {
        stiffness[2 * e + i][2 * e + j] = i == j ? 1 : -1;
        mass[2 * e + i][2 * e + j]      = i == j ? (PetscReal)(1 / 3.) : (PetscReal)(1 / 6.);
      }
    }
  }
  for (int face = 0; face <= CELLS; face++) {
    const PetscReal part            = face > 0 && face < CELLS ? (PetscReal)0.5 : 1;
    PetscReal       jump[2 * CELLS] = {0}, slope[2 * CELLS] = {0};

    if (face > 0) jump[2 * face - 1] = 1;
    if (face > 0) slope[2 * face - 1] = part, slope[2 * face - 2] = -part;
    if (face < CELLS) jump[2 * face] = -1;
    if (face < CELLS) slope[2 * face + 1] = part, slope[2 * face] = -part;
    for (int i = 0; i < 2 * CELLS; i++)
      for (int j = 0; j < 2 * CELLS; j++)
        stiffness[i][j] += penalty * jump[i] * jump[j] - slope[i] * jump[j] - jump[i] * slope[j];
  }
}

/* The same on a square of CELLS^2 elements, with four unknowns an element */
static PetscErrorCode CreateDiscontinuous(PetscReal penalty, Mat *A)
{
  static PetscReal stiffness[2 * CELLS][2 * CELLS], mass[2 * CELLS][2 * CELLS];
  PetscInt         first, last;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(stiffness, sizeof(stiffness)));
  PetscCall(PetscMemzero(mass, sizeof(mass)));
  Interval(penalty, stiffness, mass);
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 4, 4 * CELLS * CELLS, 36, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscInt cell = row / 4, x = 2 * (cell % CELLS) + row % 2, y = 2 * (cell / CELLS) + row / 2 % 2;

    for (PetscInt to_y = PetscMax(0, y - 3); to_y < PetscMin(2 * CELLS, y + 4); to_y++) {
      for (PetscInt to_x = PetscMax(0, x - 3); to_x < PetscMin(2 * CELLS, x + 4); to_x++) {
        const PetscReal value = mass[y][to_y] * stiffness[x][to_x] + stiffness[y][to_y] * mass[x][to_x];
        const PetscInt  col   = 4 * (to_y / 2 * CELLS + to_x / 2) + to_y % 2 * 2 + to_x % 2;

        if (PetscAbsReal(value) > (PetscReal)1e-12 * penalty)
          PetscCall(MatSetValue(*A, row, col, value, INSERT_VALUES));
      }
    }
  }
  PetscCall(Assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves A x = A z for noise z, and returns the iterations, or -1 if it did not converge */
static PetscErrorCode SolveNoise(KSP ksp, PetscInt *its)
{
  KSPConvergedReason reason;
  Mat                A;
  Vec                x, b;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SetNoise(x, 1));
  PetscCall(MatMult(A, x, b));
  PetscCall(SolveFor(ksp, b, x, its, &reason));
  if (reason < 0) *its = -1;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The iterations of a new solver, which then shows these words or not */
static PetscErrorCode Iterations(Mat A, KSPType type, const char words[], PetscBool expected, PetscInt *its)
{
  KSP       ksp;
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(CreateKSP(A, type, 32, &ksp));
  PetscCall(SolveNoise(ksp, its));
  PetscCall(ViewHas((PetscObject)ksp, words, &has));
  PetscCall(Expect(has == expected, "the view %s \"%s\"", has ? "has" : "lacks", words));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver of A, which has a block size, has these words in its view or not, and takes at most so many iterations.
   Without the block size it does just the same, as the nonzero pattern shows that number. Destroys A */
static PetscErrorCode TestBlockSize(Mat *A, KSPType type, const char words[], PetscBool expected, PetscInt most,
                                    const char what[])
{
  PetscInt its[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    if (k) PetscCall(MatSetBlockSize(*A, 1));
    PetscCall(Iterations(*A, type, words, expected, &its[k]));
  }
  PetscCall(Expect(its[0] > 0 && its[0] <= most && its[1] == its[0], "%s: %d iterations, without block size %d", what,
                   (int)its[0], (int)its[1]));
  PetscCall(MatDestroy(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the entries of each other row in descending order, the matrix A of one rank takes its iterations, too */
static PetscErrorCode TestDescending(Mat A, KSPType type, PetscInt its)
{
  PetscInt        n, *i, *j, none, again;
  const PetscInt *from_i, *from_j;
  PetscScalar    *a;
  PetscBool       done;
  Mat             B;

  PetscFunctionBeginUser;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &from_i, &from_j, &done));
  PetscCall(PetscMalloc3(n + 1, &i, from_i[n], &j, from_i[n], &a));
  PetscCall(PetscArraycpy(i, from_i, n + 1));
  for (PetscInt row = 0; row < n; row++)
    for (PetscInt k = i[row]; k < i[row + 1]; k++) j[k] = from_j[row % 2 ? i[row] + i[row + 1] - 1 - k : k];
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &none, &from_i, &from_j, &done));
  for (PetscInt row = 0; row < n; row++)
    for (PetscInt k = i[row]; k < i[row + 1]; k++) PetscCall(MatGetValue(A, row, j[k], &a[k]));
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, i, j, a, &B));
  PetscCall(Iterations(B, type, "2 unknowns of each point", PETSC_TRUE, &again));
  PetscCall(Expect(again == its, "%d iterations, with rows that are not sorted %d", (int)its, (int)again));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFree3(i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nonzero pattern shows two fields, also if the first three points are numbered field by field or rows are not
   sorted, and not if ranks divide a point between them. It shows no fields in a grid */
static PetscErrorCode TestPattern(KSPType type, PetscMPIInt ranks)
{
  const PetscInt of[6] = {0, 2, 4, 1, 3, 5};
  Mat            A, B;
  IS             is;
  PetscInt       first, n, *row, its[2];

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, 2 * LINE * LINE, 10, &A));
  PetscCall(SetCoupled(A, (PetscReal)0.8));
  PetscCall(Iterations(A, type, "2 unknowns of each point", (PetscBool)(2 * LINE * LINE % (2 * ranks) == 0), &its[0]));
  if (ranks == 1) {
    PetscCall(MatGetOwnershipRange(A, &first, &n));
    PetscCall(PetscMalloc1(n, &row));
    for (PetscInt i = first; i < n; i++) row[i] = i < 6 ? of[i] : i;
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, row, PETSC_OWN_POINTER, &is));
    PetscCall(ISSetPermutation(is));
    PetscCall(MatPermute(A, is, is, &B));
    PetscCall(Iterations(B, type, "2 unknowns of each point", PETSC_TRUE, &its[1]));
    PetscCall(Expect(its[0] > 0 && its[1] > 0 && 2 * its[1] <= 3 * its[0],
                     "%d iterations, with some rows renumbered %d", (int)its[0], (int)its[1]));
    PetscCall(ISDestroy(&is));
    PetscCall(MatDestroy(&B));
    PetscCall(TestDescending(A, type, its[0]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(CreateExchange(1, 0, 1, &A));
  PetscCall(Iterations(A, type, "unknowns of each point", PETSC_FALSE, &its[0]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates B from A, whose unknowns of a point follow each other: each rank has its unknowns of one field after those of
   another one */
static PetscErrorCode NumberByField(Mat A, PetscInt fields, Mat *B)
{
  PetscInt first, end, *row;
  IS       is;
  MatType  type;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(PetscMalloc1(end - first, &row));
  for (PetscInt i = 0; i < end - first; i++)
    row[i] = first + i % ((end - first) / fields) * fields + i / ((end - first) / fields);
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, end - first, row, PETSC_OWN_POINTER, &is));
  PetscCall(ISSetPermutation(is));
  PetscCall(MatPermute(A, is, is, B));
  PetscCall(MatSetBlockSize(*B, 1));
  PetscCall(MatGetType(A, &type));
  PetscCall(MatConvert(*B, type, MAT_INPLACE_MATRIX, B));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the equations of the second field the other sign, so that A is no longer Hermitian */
static PetscErrorCode ChangeSigns(Mat A)
{
  PetscInt first, end;
  Vec      sign;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &sign, NULL));
  PetscCall(VecGetOwnershipRange(sign, &first, &end));
  for (PetscInt row = first; row < end; row++) PetscCall(VecSetValue(sign, row, row % 2 ? -1 : 1, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(sign));
  PetscCall(VecAssemblyEnd(sign));
  PetscCall(MatDiagonalScale(A, sign, NULL));
  PetscCall(VecDestroy(&sign));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two fields take as many iterations if they are numbered one after the other: coupled by new values, in other units,
   and in equations with other signs. They are not renumbered, and may take half as many more, while they are not
   coupled. The transposed system is solved, too. A diagonal entry that is zero is named by its row in the user's
   matrix. The layers of a thin grid are no fields */
static PetscErrorCode TestByField(KSPType type, PetscMPIInt ranks)
{
  const char        *words = "renumbered together";
  char               text[512];
  const PetscReal    coupling[5] = {0, (PetscReal)0.3, (PetscReal)0.8, (PetscReal)0.8, (PetscReal)0.3};
  KSP                ksp[2];
  Mat                A[2], now[2];
  Vec                x, y, b;
  PetscReal          error, size;
  PetscInt           its[2], first, row = 2 * LINE * LINE - 3; /* row belongs to the last rank */
  PetscBool          has;
  int                steps;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  if (2 * LINE * LINE % (2 * ranks)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(type, KSPBAI, &has));
  steps = has ? 5 : 4; /* the last matrix is none for CG */
  for (int step = 0; step < steps; step++) {
    PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, 2 * LINE * LINE, 10, &now[0]));
    PetscCall(SetCoupled(now[0], coupling[step]));
    if (step == 3) PetscCall(ChangeUnits(now[0], PETSC_TRUE));
    if (step == 4) PetscCall(ChangeSigns(now[0]));
    PetscCall(NumberByField(now[0], 2, &now[1]));
    for (int k = 0; k < 2; k++) {
      if (step == 0) {
        PetscCall(MatDuplicate(now[k], MAT_COPY_VALUES, &A[k]));
        PetscCall(CreateKSP(A[k], type, 32, &ksp[k]));
      } else PetscCall(MatCopy(now[k], A[k], SAME_NONZERO_PATTERN));
      PetscCall(SolveNoise(ksp[k], &its[k]));
      PetscCall(ViewHas((PetscObject)ksp[k], words, &has));
      PetscCall(Expect(has == (k == 1 && step > 0), "step %d: the view %s \"%s\"", step, has ? "has" : "lacks", words));
      PetscCall(MatDestroy(&now[k]));
    }
    PetscCall(Expect(its[0] > 0 && its[1] > 0 &&
                       (step ? its[1] <= its[0] + 1 && its[1] >= its[0] - 1 : 2 * its[1] <= 3 * its[0]),
                     "step %d: %d iterations, numbered by field %d", step, (int)its[0], (int)its[1]));
  }
  PetscCall(MatCreateVecs(A[1], &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SetNoise(x, 1));
  PetscCall(MatMultTranspose(A[1], x, b));
  PetscCall(KSPSetTolerances(ksp[1], 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSolveTranspose(ksp[1], b, y));
  PetscCall(KSPGetConvergedReason(ksp[1], &reason));
  PetscCall(MatMultTranspose(A[1], y, x));
  PetscCall(VecNorm(b, NORM_2, &size));
  PetscCall(VecAXPY(x, -1, b));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCall(Expect(reason > 0 && error <= 1e-11 * size, "transposed: reason %d, residual %g", (int)reason,
                   (double)(error / size)));
  PetscCall(MatGetOwnershipRange(A[1], &first, NULL));
  if (row >= first) PetscCall(MatSetValue(A[1], row, row, 0, INSERT_VALUES));
  PetscCall(Assemble(A[1]));
  PetscCall(ZeroDiagonalMessage(row, 1, 2 * LINE * LINE, text, sizeof(text)));
  ExpectError(text, "KSPSolve()", KSPSolve(ksp[1], b, y));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscCall(CreateExchange(2, 1, 1, &A[0])); /* by fields, this is a grid of two layers */
  PetscCall(NumberByField(A[0], 2, &A[1]));
  PetscCall(Iterations(A[1], type, words, PETSC_FALSE, &its[0]));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Unknowns that are bound to each other share aggregates */
static PetscErrorCode TestExchange(KSPType type, PetscInt fields, PetscReal rate, PetscReal unit, PetscInt most)
{
  Mat  A;
  char what[64];

  PetscFunctionBeginUser;
  PetscCall(CreateExchange(fields, rate, unit, &A));
  PetscCall(PetscSNPrintf(what, sizeof(what), "%d fields, rate %g, unit %g", (int)fields, (double)rate, (double)unit));
  PetscCall(TestBlockSize(&A, type, "aggregates have unknowns of all fields", PETSC_TRUE, most, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDiscontinuous(KSPType type, PetscReal penalty, PetscInt most)
{
  Mat  A;
  char what[64];

  PetscFunctionBeginUser;
  PetscCall(CreateDiscontinuous(penalty, &A));
  PetscCall(PetscSNPrintf(what, sizeof(what), "discontinuous elements, penalty %g", (double)penalty));
  PetscCall(TestBlockSize(&A, type, "aggregates have unknowns of all fields", PETSC_TRUE, most, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fields on a grid that hardly exchange anything take as many iterations as one of them */
static PetscErrorCode TestApart(KSPType type, PetscInt fields, PetscReal rate)
{
  const PetscInt of[2] = {1, fields};
  Mat            A;
  PetscInt       its[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateExchange(of[k], rate, 1, &A));
    PetscCall(Iterations(A, type, "aggregates are matched pairs", PETSC_FALSE, &its[k]));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Expect(its[1] > 0 && its[1] <= its[0] + 2, "%d fields, rate %g: %d iterations, one field %d", (int)fields,
                   (double)rate, (int)its[1], (int)its[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two fields that exchange something take as many iterations if one of them has the other sign, and so couplings are
   positive */
static PetscErrorCode TestSign(KSPType type, PetscReal rate)
{
  Mat      A;
  PetscInt its[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateExchange(2, rate, k ? -1 : 1, &A));
    PetscCall(Iterations(A, type, "aggregates have unknowns of all fields", PETSC_FALSE, &its[k]));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Expect(its[1] > 0 && its[1] <= its[0] + 2, "rate %g: %d iterations, with the other sign %d", (double)rate,
                   (int)its[0], (int)its[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fields that are coupled, or not, or that exchange something take as many iterations in other units of the unknowns,
   or of the fields */
static PetscErrorCode TestUnits(KSPType type, PetscReal coupling, PetscReal rate, PetscBool each, PetscInt most)
{
  const char *words = rate > 0 ? "aggregates have unknowns of all fields"
    : coupling != 0            ? "2 columns of P"
                               : "aggregates are boxes";
  Mat         A;
  PetscInt    its[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateEmpty(PETSC_COMM_WORLD, 2, 2 * LINE * LINE, 10, &A));
    if (rate > 0) PetscCall(SetExchange(A, 2, rate, 1, PETSC_FALSE));
    else PetscCall(SetCoupled(A, coupling));
    if (k) PetscCall(ChangeUnits(A, each));
    PetscCall(Iterations(A, type, words, PETSC_TRUE, &its[k]));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Expect(its[0] > 0 && its[1] > 0 && its[0] <= most && 10 * its[1] <= 13 * its[0] + 20,
                   "coupling %g, rate %g: %d iterations, in other units of %s %d", (double)coupling, (double)rate,
                   (int)its[0], each ? "unknowns" : "fields", (int)its[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver for other and other couplings, in units of each unknown, takes as many iterations as a new one for each */
static PetscErrorCode TestCouplings(KSPType type)
{
  const PetscReal coupling[] = {(PetscReal)0.8, (PetscReal)0.3, 0, (PetscReal)0.6};
  Mat             A;
  KSP             ksp[2];
  PetscInt        its[2];

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 2, 2 * LINE * LINE, 10, &A));
  PetscCall(CreateKSP(A, type, 32, &ksp[0]));
  for (size_t step = 0; step < PETSC_STATIC_ARRAY_LENGTH(coupling); step++) {
    PetscCall(SetCoupled(A, coupling[step]));
    PetscCall(ChangeUnits(A, PETSC_TRUE));
    PetscCall(CreateKSP(A, type, 32, &ksp[1]));
    for (int k = 0; k < 2; k++) PetscCall(SolveNoise(ksp[k], &its[k]));
    PetscCall(Expect(its[0] > 0 && 10 * its[0] <= 13 * its[1] + 20, "coupling %g: %d iterations, of a new solver %d",
                     (double)coupling[step], (int)its[0], (int)its[1]));
    PetscCall(KSPDestroy(&ksp[1]));
  }
  PetscCall(KSPDestroy(&ksp[0]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes boxes of four points of one field the aggregates of two fields, of a solver on one rank */
static PetscErrorCode GiveBoxes(KSP ksp)
{
  PetscInt *of;
  PC        pc;
  IS        is;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(2 * LINE * LINE, &of));
  for (PetscInt row = 0; row < 2 * LINE * LINE; row++)
    of[row] = 2 * (row / 2 / LINE / 2 * (LINE / 2) + row / 2 % LINE / 2) + row % 2;
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, 2 * LINE * LINE, of, PETSC_OWN_POINTER, &is));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCBAIMGSetAggregates(pc, is));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Aggregates that separate coupled fields leave no room for constants on them: set-up does without, in any units, and
   also if they come after a solve that had constants */
static PetscErrorCode TestGiven(KSPType type)
{
  Mat       A;
  KSP       ksp;
  PetscInt  its;
  PetscBool constants;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 2, 2 * LINE * LINE, 10, &A));
  PetscCall(SetCoupled(A, (PetscReal)0.3));
  for (int k = 0; k < 2; k++) {
    if (k) PetscCall(ChangeUnits(A, PETSC_TRUE));
    PetscCall(CreateKSP(A, type, 32, &ksp));
    for (int later = 0; later < 2; later++) {
      if (later) PetscCall(GiveBoxes(ksp));
      PetscCall(SolveNoise(ksp, &its));
      PetscCall(ViewHas((PetscObject)ksp, "2 columns of P", &constants));
      PetscCall(Expect(constants == !later, "constants on fields %s such aggregates", later ? "with" : "only with"));
    }
    PetscCall(Expect(its > 0 && its <= 30, "%d iterations in %s", (int)its, k ? "other units" : "one unit"));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last of some fields has no couplings in one direction, so boxes of all fields alike do not suit it */
static PetscErrorCode TestLines(KSPType type, PetscInt fields)
{
  Mat  A;
  char what[64];

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, fields, fields * LINE * LINE, 6, &A));
  PetscCall(SetExchange(A, fields, 0, 1, PETSC_TRUE));
  PetscCall(PetscSNPrintf(what, sizeof(what), "lines beside %d fields", (int)fields - 1));
  PetscCall(TestBlockSize(&A, type, "aggregates are boxes", PETSC_FALSE, 22, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver for other and other rates takes as many iterations as a new one for each */
static PetscErrorCode TestChanges(KSPType type, PetscBool boxes)
{
  const PetscReal rate[] = {1000, 0, (PetscReal)0.01, 100};
  Mat             A;
  KSP             ksp[2];
  PetscInt        its[2];

  PetscFunctionBeginUser;
  PetscCall(CreateExchange(2, rate[0], 1, &A));
  PetscCall(CreateKSP(A, type, 32, &ksp[0]));
  if (boxes) PetscCall(GiveBoxes(ksp[0]));
  for (size_t step = 0; step < PETSC_STATIC_ARRAY_LENGTH(rate); step++) {
    PetscCall(SetExchange(A, 2, rate[step], 1, PETSC_FALSE));
    PetscCall(CreateKSP(A, type, 32, &ksp[1]));
    if (boxes) PetscCall(GiveBoxes(ksp[1]));
    for (int k = 0; k < 2; k++) PetscCall(SolveNoise(ksp[k], &its[k]));
    PetscCall(Expect(its[0] > 0 && its[0] <= its[1] + 2, "rate %g: %d iterations, of a new solver %d",
                     (double)rate[step], (int)its[0], (int)its[1]));
    PetscCall(KSPDestroy(&ksp[1]));
  }
  PetscCall(KSPDestroy(&ksp[0]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType types[] = {KSPBAI, KSPCG};
  PetscMPIInt   ranks;

  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  rtol = (PetscReal)1e-8;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    const KSPType type = types[k];

    if (Case("exchange_%s", type)) {
      PetscCall(TestExchange(type, 2, 3, 1, 15));
      PetscCall(TestExchange(type, 2, 100, 1, 15));
      PetscCall(TestExchange(type, 2, 1e4, 1, 15));
      PetscCall(TestExchange(type, 3, 30, 1, 15));
    }
    if (Case("units_%s", type)) PetscCall(TestExchange(type, 2, 30, (PetscReal)1e-3, 15));
    if (Case("discontinuous_%s", type)) {
      PetscCall(TestDiscontinuous(type, 4, 30));
      PetscCall(TestDiscontinuous(type, 40, 50));
    }
    if (Case("apart_%s", type)) {
      PetscCall(TestApart(type, 2, 0));
      PetscCall(TestApart(type, 3, (PetscReal)0.02));
    }
    if (Case("sign_%s", type)) {
      PetscCall(TestSign(type, (PetscReal)0.05));
      PetscCall(TestSign(type, (PetscReal)0.005));
    }
    if (Case("coupled_%s", type)) {
      PetscCall(TestUnits(type, (PetscReal)0.3, 0, PETSC_TRUE, 16));
      PetscCall(TestUnits(type, (PetscReal)0.8, 0, PETSC_TRUE, 35));
      PetscCall(TestUnits(type, 0, 0, PETSC_TRUE, 16));
      PetscCall(TestUnits(type, (PetscReal)0.8, 0, PETSC_FALSE, 35));
      PetscCall(TestUnits(type, 0, 0, PETSC_FALSE, 16));
    }
    if (Case("exchange_units_%s", type)) {
      PetscCall(TestUnits(type, 0, 100, PETSC_TRUE, 15));
      PetscCall(TestUnits(type, 0, 1000, PETSC_TRUE, 15));
    }
    if (Case("pattern_%s", type)) PetscCall(TestPattern(type, ranks));
    if (Case("by_field_%s", type)) PetscCall(TestByField(type, ranks));
    if (Case("couplings_%s", type)) PetscCall(TestCouplings(type));
    if (Case("lines_%s", type)) {
      PetscCall(TestLines(type, 2));
      PetscCall(TestLines(type, 5));
    }
    if (Case("changes_%s", type)) PetscCall(TestChanges(type, PETSC_FALSE));
    if (ranks == 1 && Case("given_%s", type)) {
      PetscCall(TestChanges(type, PETSC_TRUE));
      PetscCall(TestGiven(type));
    }
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
         nsize: {{1 2 3}}
      test:
         suffix: gathered
         nsize: 2
         args: -pc_baimg_gather true
      test:
         suffix: cuda
         requires: baicuda cuda
         args: -mat_type aijcusparse
      test:
         suffix: cuda_ranks
         nsize: 2
         requires: baicuda cuda
         args: -mat_type aijcusparse -pc_baimg_gather false

TEST*/
