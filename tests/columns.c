static char help[] =
  "Many right-hand sides with one matrix, by KSPMatSolve(): each column meets the tolerances by its own residual, also "
  "beside columns that are zero, hard, out of range or beyond max_it; on the chip of a GPU they are solved at "
  "once.\n\n";

#include "check.h"
#include "gallery.h"

static const PetscReal rtol = 1e-10;

/* Numbers between -1 and 1, the same every time */
static PetscErrorCode SetNoise(Mat dense)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, 43));
  PetscCall(PetscRandomSeed(random));
  PetscCall(PetscRandomSetInterval(random, -1.0, 1.0));
  PetscCall(MatSetRandom(dense, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dense matrix for the vectors of A: where they are */
static PetscErrorCode CreateDense(Mat A, PetscInt rows, PetscInt columns, Mat *dense)
{
  VecType   type;
  Vec       v;
  PetscBool device;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(VecGetType(v, &type));
  PetscCall(PetscStrcmp(type, VECSEQCUDA, &device));
  PetscCall(VecDestroy(&v));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), dense));
  PetscCall(MatSetSizes(*dense, rows, PETSC_DECIDE, PETSC_DETERMINE, columns));
  PetscCall(MatSetType(*dense, device ? MATDENSECUDA : MATDENSE));
  PetscCall(MatSetUp(*dense));
  PetscCall(MatZeroEntries(*dense));
  PetscCall(MatAssemblyBegin(*dense, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*dense, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateBlock(Mat A, PetscInt columns, Mat *block)
{
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(CreateDense(A, n, columns, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Noise; but column 1 is zero, and column 2 is A times a constant, which takes fewer iterations or more */
static PetscErrorCode FillBlock(Mat A, Mat B, PetscBool zero)
{
  PetscInt columns;
  Vec      b, ones;

  PetscFunctionBeginUser;
  PetscCall(SetNoise(B));
  PetscCall(MatGetSize(B, NULL, &columns));
  if (columns > 1 && zero) {
    PetscCall(MatDenseGetColumnVec(B, 1, &b));
    PetscCall(VecSet(b, 0.0));
    PetscCall(MatDenseRestoreColumnVec(B, 1, &b));
  }
  if (columns > 2) {
    PetscCall(MatCreateVecs(A, &ones, NULL));
    PetscCall(VecSet(ones, 1.0));
    PetscCall(MatDenseGetColumnVec(B, 2, &b));
    PetscCall(MatMult(A, ones, b));
    PetscCall(MatDenseRestoreColumnVec(B, 2, &b));
    PetscCall(VecDestroy(&ones));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateKSP(Mat A, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(NewKSP(A, KSPBAI, ksp));
  PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSetUp(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often the engine has been called to solve, or has applied a cycle */
static PetscErrorCode Calls(PetscInt *calls)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId("BAICycle", &event));
  PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
  *calls = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest part that ||b - A x|| is of ||b||, of the columns; that of zero columns is ||x||. Both are scaled, as
 * squares may be out of range */
static PetscErrorCode WorstResidual(Mat A, Mat B, Mat X, PetscReal *worst)
{
  PetscInt columns;
  Vec      v, w;

  PetscFunctionBeginUser;
  *worst = 0;
  PetscCall(MatCreateVecs(A, &v, &w));
  PetscCall(MatGetSize(B, NULL, &columns));
  for (PetscInt k = 0; k < columns; k++) {
    Vec       b, x;
    PetscReal size, rnorm, bnorm = 1;

    PetscCall(MatDenseGetColumnVecRead(B, k, &b));
    PetscCall(MatDenseGetColumnVecRead(X, k, &x));
    PetscCall(VecNorm(b, NORM_INFINITY, &size));
    PetscCall(VecCopy(x, v));
    if (size == 0) PetscCall(VecNorm(v, NORM_2, &rnorm));
    else {
      PetscCall(VecCopy(b, w));
      PetscCall(VecScale(v, 1 / size));
      PetscCall(VecScale(w, 1 / size));
      PetscCall(VecNorm(w, NORM_2, &bnorm));
      PetscCall(TrueResidualNorm(A, w, v, &rnorm));
    }
    if (!(rnorm / bnorm <= *worst)) *worst = rnorm / bnorm;
    PetscCall(MatDenseRestoreColumnVecRead(X, k, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, k, &b));
  }
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve of all columns meets the tolerances, and so says the KSP */
static PetscErrorCode SolveBlock(KSP ksp, Mat B, Mat X, const char what[])
{
  Mat                A;
  PetscReal          worst;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(WorstResidual(A, B, X, &worst));
  PetscCall(Expect(reason > 0 && worst <= (PetscReal)1.01 * rtol, "%s: %s, ||b - A x|| = %g ||b|| in a column", what,
                   KSPConvergedReasons[reason], (double)worst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AreEqual(Mat X, Mat Y, PetscBool *equal)
{
  PetscInt columns;

  PetscFunctionBeginUser;
  *equal = PETSC_TRUE;
  PetscCall(MatGetSize(X, NULL, &columns));
  for (PetscInt k = 0; k < columns && *equal; k++) {
    Vec x, y;

    PetscCall(MatDenseGetColumnVecRead(X, k, &x));
    PetscCall(MatDenseGetColumnVecRead(Y, k, &y));
    PetscCall(VecEqual(x, y, equal));
    PetscCall(MatDenseRestoreColumnVecRead(Y, k, &y));
    PetscCall(MatDenseRestoreColumnVecRead(X, k, &x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPSolve() on each column; the most iterations */
static PetscErrorCode SolveByColumn(KSP ksp, Mat B, Mat X, PetscInt *most)
{
  PetscInt columns, its;

  PetscFunctionBeginUser;
  *most = 0;
  PetscCall(MatGetSize(B, NULL, &columns));
  for (PetscInt k = 0; k < columns; k++) {
    Vec b, x;

    PetscCall(MatDenseGetColumnVecRead(B, k, &b));
    PetscCall(MatDenseGetColumnVec(X, k, &x));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(MatDenseRestoreColumnVec(X, k, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, k, &b));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    *most = PetscMax(*most, its);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of so many columns, one larger than the other, twice each. With levels the solutions are those of KSPSolve(),
 * bit by bit. On the chip columns are solved at once, in calls that are fewer than columns */
static PetscErrorCode TestBlocks(const char name[], PetscInt n, PetscBool small)
{
  const PetscInt sizes[] = {1, 2, 16, 37};
  Mat            A;
  KSP            ksp;
  PetscBool      chip;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, name, n, &A));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(ViewHas((PetscObject)ksp, "on the chip", &chip));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes) && (small || k < 2); k++) {
    Mat       B, X, Y;
    PetscBool equal;
    PetscInt  before, after, its, most;

    PetscCall(CreateBlock(A, sizes[k], &B));
    PetscCall(CreateBlock(A, sizes[k], &X));
    PetscCall(CreateBlock(A, sizes[k], &Y));
    PetscCall(FillBlock(A, B, PETSC_TRUE));
    PetscCall(Calls(&before));
    PetscCall(SolveBlock(ksp, B, X, "the first time"));
    PetscCall(Calls(&after));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(Expect(chip ? after - before <= 2 : after - before >= sizes[k], "%d columns took %d calls", (int)sizes[k],
                     (int)(after - before)));
    PetscCall(SolveBlock(ksp, B, Y, "again"));
    PetscCall(AreEqual(X, Y, &equal));
    PetscCall(Expect(equal, "%d columns have the same bits in a second solve", (int)sizes[k]));
    PetscCall(SolveByColumn(ksp, B, Y, &most));
    PetscCall(AreEqual(X, Y, &equal));
    PetscCall(Expect(equal || (chip && sizes[k] > 1), "%d columns are those of KSPSolve()", (int)sizes[k]));
    PetscCall(
      Expect(!chip || (its > most / 3 && its <= 2 * most + 5), "%d iterations, %d by column", (int)its, (int)most));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU the matrices of these tests are on the chip, so that blocks are solved at once */
static PetscErrorCode TestChip(void)
{
  Mat       A;
  KSP       ksp;
  PetscBool chip;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 0, &A));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(ViewHas((PetscObject)ksp, "on the chip", &chip));
  PetscCall(Expect(chip, "fv1 is on the chip"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks that are rows of larger matrices, so there are gaps between columns, which stay as they are */
static PetscErrorCode TestGaps(void)
{
  enum {
    ABOVE   = 3, /* rows of the larger matrix */
    BELOW   = 4,
    COLUMNS = 5
  };
  Mat                A, big[2], was, B, X;
  KSP                ksp;
  PetscInt           n, lda, changed = 0;
  const PetscScalar *before, *after;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 50, &A));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateDense(A, ABOVE + n + BELOW, COLUMNS, &big[k]));
    PetscCall(SetNoise(big[k]));
  }
  PetscCall(MatDuplicate(big[1], MAT_COPY_VALUES, &was));
  PetscCall(MatDenseGetSubMatrix(big[0], ABOVE, ABOVE + n, 0, COLUMNS, &B));
  PetscCall(MatDenseGetSubMatrix(big[1], ABOVE, ABOVE + n, 0, COLUMNS, &X));
  PetscCall(SolveBlock(ksp, B, X, "with gaps"));
  PetscCall(MatDenseRestoreSubMatrix(big[1], &X));
  PetscCall(MatDenseRestoreSubMatrix(big[0], &B));
  PetscCall(MatDenseGetLDA(was, &lda));
  PetscCall(MatDenseGetArrayRead(was, &before));
  PetscCall(MatDenseGetArrayRead(big[1], &after));
  for (PetscInt c = 0; c < COLUMNS; c++) {
    for (PetscInt i = 0; i < ABOVE + n + BELOW; i++)
      changed += (i < ABOVE || i >= ABOVE + n) && before[c * lda + i] != after[c * (ABOVE + n + BELOW) + i];
  }
  PetscCall(MatDenseRestoreArrayRead(big[1], &after));
  PetscCall(MatDenseRestoreArrayRead(was, &before));
  PetscCall(Expect(!changed, "%d numbers between columns have changed", (int)changed));
  PetscCall(MatDestroy(&was));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&big[k]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From guesses: none, one near the solution, and the solution, from which it takes no iteration */
static PetscErrorCode TestGuess(const char name[], PetscInt n)
{
  Mat      A, B, X, solved;
  KSP      ksp;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, name, n, &A));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(CreateBlock(A, 6, &B));
  PetscCall(CreateBlock(A, 6, &X));
  PetscCall(FillBlock(A, B, PETSC_TRUE));
  PetscCall(SetNoise(X)); /* is not to be looked at */
  PetscCall(SolveBlock(ksp, B, X, "from zero"));
  PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &solved));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(MatScale(X, 1.001));
  PetscCall(SolveBlock(ksp, B, X, "from near by"));
  PetscCall(MatCopy(solved, X, SAME_NONZERO_PATTERN));
  PetscCall(SolveBlock(ksp, B, X, "from the solution"));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Expect(its <= 1, "%d iterations from the solution", (int)its)); /* rounding may want one */
  PetscCall(MatDestroy(&solved));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns that are too small or too large for the squares of their norms, beside others */
static PetscErrorCode TestRange(void)
{
  const PetscReal scale[] = {1, 1e-200, 1, 1e200, 1e-170};
  Mat             A, B, X;
  KSP             ksp;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "helmholtz", 40, &A));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(KSPSetTolerances(ksp, rtol, 0.0, PETSC_DEFAULT, 5000));
  PetscCall(CreateBlock(A, 5, &B));
  PetscCall(CreateBlock(A, 5, &X));
  PetscCall(FillBlock(A, B, PETSC_FALSE));
  for (PetscInt k = 0; k < 5; k++) {
    Vec b;

    PetscCall(MatDenseGetColumnVec(B, k, &b));
    PetscCall(VecScale(b, scale[k]));
    PetscCall(MatDenseRestoreColumnVec(B, k, &b));
  }
  PetscCall(SolveBlock(ksp, B, X, "from 1e-200 to 1e200"));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Too few iterations are allowed; a tolerance is beyond rounding; then all is well again */
static PetscErrorCode TestReasons(void)
{
  Mat                A, B, X;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscInt           its;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 60, &A));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(CreateBlock(A, 4, &B));
  PetscCall(CreateBlock(A, 4, &X));
  PetscCall(FillBlock(A, B, PETSC_FALSE));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 2));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Expect(reason == KSP_DIVERGED_ITS && its == 2, "max_it 2: %d, %s", (int)its, KSPConvergedReasons[reason]));
  PetscCall(KSPSetTolerances(ksp, 1e-30, 1e-80, PETSC_DEFAULT, 500));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Expect(reason == KSP_DIVERGED_BREAKDOWN || reason == KSP_DIVERGED_ITS, "beyond rounding: %s",
                   KSPConvergedReasons[reason]));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(SolveBlock(ksp, B, X, "afterwards"));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A symmetric matrix that is not definite, for which the method on the chip is not made: columns are solved as
 * KSPSolve() does, or it is said that they are not */
static PetscErrorCode TestIndefinite(void)
{
  Mat                A, B, X, Y;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscReal          worst;
  PetscInt           most;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 24, &A));
  PetscCall(MatShift(A, -0.2));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(CreateBlock(A, 3, &B));
  PetscCall(CreateBlock(A, 3, &X));
  PetscCall(CreateBlock(A, 3, &Y));
  PetscCall(FillBlock(A, B, PETSC_FALSE));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(WorstResidual(A, B, X, &worst));
  PetscCall(Expect(reason > 0 && worst <= (PetscReal)1.01 * rtol, "%s, ||b - A x|| = %g ||b|| in a column",
                   KSPConvergedReasons[reason], (double)worst));
  PetscCall(SolveByColumn(ksp, B, Y, &most));
  PetscCall(WorstResidual(A, B, Y, &worst));
  PetscCall(Expect(worst <= (PetscReal)1.01 * rtol, "by column ||b - A x|| = %g ||b||", (double)worst));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D A D with d_i = 1 or 1.25 in turns: other values in the same pattern */
static PetscErrorCode ChangeValues(Mat A)
{
  Vec      d;
  PetscInt start, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(VecGetOwnershipRange(d, &start, &end));
  for (PetscInt i = start; i < end; i++) PetscCall(VecSetValue(d, i, i % 3 ? 1.0 : 1.25, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(d));
  PetscCall(VecAssemblyEnd(d));
  PetscCall(MatDiagonalScale(A, d, d));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, single solves between those of blocks, blocks in batches, another size of block each time */
static PetscErrorCode TestChanges(const char name[], PetscInt n)
{
  Mat A;
  KSP ksp;
  Vec b, x;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, name, n, &A));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(NewSystem(A, &x, &b));
  for (int time = 0; time < 4; time++) {
    const PetscInt columns = time == 3 ? 3 : 20 - time;
    Mat            B, X;
    PetscReal      rnorm, bnorm;

    PetscCall(CreateBlock(A, columns, &B));
    PetscCall(CreateBlock(A, columns, &X));
    PetscCall(FillBlock(A, B, (PetscBool)(time % 2)));
    if (time == 2) PetscCall(KSPSetMatSolveBatchSize(ksp, 7));
    PetscCall(SolveBlock(ksp, B, X, "a block"));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(TrueResidualNorm(A, b, x, &rnorm));
    PetscCall(VecNorm(b, NORM_2, &bnorm));
    PetscCall(Expect(rnorm <= (PetscReal)1.01 * rtol * bnorm, "between blocks ||b - A x|| = %g ||b||",
                     (double)(rnorm / bnorm)));
    PetscCall(ChangeValues(A));
    PetscCall(SolveBlock(ksp, B, X, "new values"));
    PetscCall(MatScale(A, -1.0));
    PetscCall(SolveBlock(ksp, B, X, "another sign"));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountGuesses(PETSC_UNUSED KSP ksp, PetscInt its, PETSC_UNUSED PetscReal rnorm, void *count)
{
  PetscFunctionBeginUser;
  if (!its) ++*(PetscInt *)count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor sees the solves of all columns */
static PetscErrorCode TestWatched(void)
{
  Mat      A, B, X;
  KSP      ksp;
  PetscInt count = 0;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 40, &A));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(KSPMonitorSet(ksp, CountGuesses, &count, NULL));
  PetscCall(CreateBlock(A, 4, &B));
  PetscCall(CreateBlock(A, 4, &X));
  PetscCall(FillBlock(A, B, PETSC_FALSE));
  PetscCall(SolveBlock(ksp, B, X, "watched"));
  PetscCall(Expect(count == 4, "%d of 4 columns were seen", (int)count));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns after a transposed system */
static PetscErrorCode TestAfterTransposed(void)
{
  Mat A, B, X;
  Vec x, b;
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "convection2d", 12, &A));
  PetscCall(CreateBlock(A, 3, &B));
  PetscCall(CreateBlock(A, 3, &X));
  PetscCall(FillBlock(A, B, PETSC_FALSE));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(KSPSolveTranspose(ksp, b, x));
  PetscCall(SolveBlock(ksp, B, X, "after a transposed system"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks whose rows are not those of the matrix are refused, and a solve of another KSP is right. After an error PETSc
 * may still have a column of such a block, so it is not to be destroyed */
static PetscErrorCode TestSizes(void)
{
  PetscErrorCode code;
  Mat            A, B, X, shorter;
  KSP            ksp;
  PetscInt       n;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 40, &A));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  for (int solutions = 0; solutions < 2; solutions++) {
    PetscCall(CreateKSP(A, &ksp));
    PetscCall(CreateDense(A, n - 1, 3, &shorter));
    PetscCall(CreateBlock(A, 3, &B));
    CheckCall(code, KSPMatSolve(ksp, solutions ? B : shorter, solutions ? shorter : B));
    PetscCall(Expect(code != PETSC_SUCCESS, "%s of %d rows for %d", solutions ? "solutions" : "right-hand sides",
                     (int)(n - 1), (int)n));
  }
  PetscCall(CreateKSP(A, &ksp));
  PetscCall(CreateBlock(A, 3, &B));
  PetscCall(CreateBlock(A, 3, &X));
  PetscCall(FillBlock(A, B, PETSC_FALSE));
  PetscCall(SolveBlock(ksp, B, X, "afterwards"));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    PetscInt    n;
    PetscBool   small;
  } blocks[] = {
    {"fv1",          0,    PETSC_TRUE }, /* short rows */
    {"laplace3d",    24,   PETSC_TRUE },
    {"trefethen",    2000, PETSC_TRUE }, /* rows of up to 32 entries */
    {"convection2d", 98,   PETSC_TRUE }, /* BiCGStab */
    {"powerlaw",     3000, PETSC_TRUE }, /* long rows */
    {"laplace3d27",  32,   PETSC_FALSE}, /* as many entries as shared memory holds, in boxes */
    {"laplace3d",    56,   PETSC_FALSE}  /* more than the chip holds */
  };
  PetscBool chip = PETSC_FALSE;

  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-chip", &chip, NULL));
  if (chip && Case("chip")) PetscCall(TestChip());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(blocks); k++)
    if (Case("blocks_%s_%d", blocks[k].name, (int)blocks[k].n))
      PetscCall(TestBlocks(blocks[k].name, blocks[k].n, blocks[k].small));
  if (Case("gaps")) PetscCall(TestGaps());
  if (Case("guess")) PetscCall(TestGuess("laplace2d", 60));
  if (Case("guess_convection")) PetscCall(TestGuess("convection2d", 60));
  if (Case("few_laplace2d")) PetscCall(TestGuess("laplace2d", 8));
  if (Case("few_convection2d")) PetscCall(TestGuess("convection2d", 8));
  if (Case("few_trefethen")) PetscCall(TestGuess("trefethen", 100));
  if (Case("few_powerlaw")) PetscCall(TestGuess("powerlaw", 300));
  if (Case("range")) PetscCall(TestRange());
  if (Case("reasons")) PetscCall(TestReasons());
  if (Case("indefinite")) PetscCall(TestIndefinite());
  if (Case("changes")) PetscCall(TestChanges("fv1", 0));
  if (Case("changes_convection")) PetscCall(TestChanges("convection2d", 98));
  if (Case("watched")) PetscCall(TestWatched());
  if (Case("watched_transposed")) PetscCall(TestAfterTransposed());
  if (Case("sizes")) PetscCall(TestSizes());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double !complex
      test:
         suffix: host
         args: -case {{blocks gaps,guess,few,range reasons,indefinite,watched changes}}
      test:
         suffix: host_sizes
         args: -malloc_dump 0 -case sizes
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -chip -options_left no -case {{chip,blocks gaps,guess,few,range \
               reasons,indefinite,watched changes}}
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -chip -options_left no -case {{chip,blocks gaps,guess,few,range \
               reasons,indefinite,watched changes}}
      test:
         suffix: aijcusparse_sizes
         requires: baicuda cuda
         args: -mat_type aijcusparse -options_left no -malloc_dump 0 -case sizes

TEST*/
