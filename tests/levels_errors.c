static char help[] = "Options of PCBAIMG, and matrices with which it has to say no or to do without levels.\n\n";

#include "levels.h"

/* Setters, getters, options with a prefix, and values that are not allowed */
static PetscErrorCode TestOptions(void)
{
  static const struct {
    const char *key, *value, *allowed;
  } refused[] = {
    {"-in_pc_baimg_levels",      "few",   "auto, or at least 1 and at most 32"},
    {"-in_pc_baimg_local_iters", "2.5",   "at least 1 and at most 1000"       },
    {"-in_pc_baimg_over",        "much",  "a number, at least 1"              },
    {"-in_pc_baimg_single",      "maybe", "auto, true or false"               }
  };
  Mat        A;
  PC         pc, other;
  PetscInt   levels, sweeps;
  PetscReal  over;
  PetscBool3 single;
  PetscBool  has;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(CreateBAIMG(A, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "in_"));
  PetscCall(PetscOptionsInsertString(
    NULL, "-in_pc_baimg_levels 2 -in_pc_baimg_local_iters 3 -in_pc_baimg_over 1.5 -in_pc_baimg_single false"));
  PetscCall(PCSetFromOptions(pc));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(refused); k++)
    PetscCall(PetscOptionsClearValue(NULL, refused[k].key));
  PetscCall(PCBAIMGGetLevels(pc, &levels));
  PetscCall(PCBAIMGGetLocalIters(pc, &sweeps));
  PetscCall(PCBAIMGGetOver(pc, &over));
  PetscCall(PCBAIMGGetSingle(pc, &single));
  PetscCall(Expect(levels == 2 && sweeps == 3 && over == (PetscReal)1.5 && single == PETSC_BOOL3_FALSE,
                   "levels %d, local_iters %d, over %g, single %d", (int)levels, (int)sweeps, (double)over,
                   (int)single));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHas((PetscObject)pc, "levels at most 2, local_iters 3, over 1.5, single false\n", &has));
  PetscCall(Expect(has, "the view has what was set"));
  PetscCall(ViewHas((PetscObject)pc, "  2 levels", &has));
  PetscCall(Expect(has, "the view has 2 levels"));
  PetscCall(PCBAIMGSetSingle(pc, PETSC_BOOL3_UNKNOWN));
  PetscCall(PCBAIMGGetSingle(pc, &single));
  PetscCall(Expect(single == PETSC_BOOL3_UNKNOWN, "single %d", (int)single));
  ExpectError("-in_pc_baimg_levels 0: must be auto, or at least 1 and at most 32", "levels 0", PCBAIMGSetLevels(pc, 0));
  ExpectError("-in_pc_baimg_local_iters 0: must be at least 1 and at most 1000", "local_iters 0",
              PCBAIMGSetLocalIters(pc, 0));
  ExpectError("-in_pc_baimg_over 0.5: must be a number, at least 1", "over 0.5", PCBAIMGSetOver(pc, 0.5));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(refused); k++) {
    char message[128];

    PetscCall(PetscOptionsSetValue(NULL, refused[k].key, refused[k].value));
    PetscCall(PetscSNPrintf(message, sizeof(message), "%s %s: must be %s", refused[k].key, refused[k].value,
                            refused[k].allowed));
    ExpectError(message, refused[k].value, PCSetFromOptions(pc));
    PetscCall(PetscOptionsClearValue(NULL, refused[k].key));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &other));
  PetscCall(PCSetType(other, PCJACOBI));
  PetscCall(PCBAIMGSetLevels(other, 0));
  ExpectError("The pc is of type jacobi, which has no such option: must be baimg", "a getter of another type",
              PCBAIMGGetLevels(other, &levels));
  PetscCall(PCDestroy(&other));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -pc_baimg_single takes the words of a PetscBool, and auto */
static PetscErrorCode TestWords(void)
{
  const struct {
    const char *word;
    PetscBool3  single;
  } words[] = {
    {"on",   PETSC_BOOL3_TRUE   },
    {"Yes",  PETSC_BOOL3_TRUE   },
    {NULL,   PETSC_BOOL3_TRUE   },
    {"off",  PETSC_BOOL3_FALSE  },
    {"0",    PETSC_BOOL3_FALSE  },
    {"AUTO", PETSC_BOOL3_UNKNOWN}
  };
  PC         pc;
  PetscBool3 single;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetOptionsPrefix(pc, "in_"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(words); k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-in_pc_baimg_single", words[k].word));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCBAIMGGetSingle(pc, &single));
    PetscCall(
      Expect(single == words[k].single, "-pc_baimg_single %s: %d", words[k].word ? words[k].word : "", (int)single));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_single"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The view of levels for a matrix without entries */
static PetscErrorCode TestNoEntries(void)
{
  PC        pc;
  Mat       A;
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 10, 10, 1, NULL, 1, NULL, &A));
  PetscCall(Assemble(A));
  PetscCall(CreateBAIMG(A, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHas((PetscObject)pc, "operator complexity 1.000, grid complexity 1.000", &has));
  PetscCall(Expect(has, "complexities of one level"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row and column of zeros, where b is zero too: the system is solved as without, and x stays what it was there */
static PetscErrorCode TestZeroRow(KSPType type)
{
  const PetscInt row = 37;
  Mat            A;
  KSP            ksp;
  Vec            b, x;
  PetscInt       its, start, end;
  PetscReal      rnorm;
  PetscBool      is;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 10, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(MatZeroRowsColumns(A, row >= start && row < end ? 1 : 0, &row, 0.0, NULL, NULL));
  PetscCall(CreateKSP(A, type, PETSC_DECIDE, &ksp));
  PetscCall(CreateOnes(A, &x, &b));
  if (row >= start && row < end) PetscCall(VecSetValue(b, row, 0.0, INSERT_VALUES));
  PetscCall(AssembleVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(IsConverged(ksp, &rnorm, &is));
  PetscCall(Expect(is && its <= 60, "%s: %d iterations, true residual norm %g", type, (int)its, (double)rnorm));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An arrow: a row that is too long for levels, symmetric */
static PetscErrorCode CreateArrow(PetscInt n, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, n, 3, A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    if (row) PetscCall(MatSetValue(*A, row, 0, -1, INSERT_VALUES));
    for (PetscInt k = 1; k < n && !row; k++) PetscCall(MatSetValue(*A, 0, k, -1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, row, row, row ? 1.5 : (PetscScalar)n, INSERT_VALUES));
  }
  PetscCall(Assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zero diagonal entries are an error that names the first, also where a row is too long for levels */
static PetscErrorCode TestZeroDiagonal(PetscBool is_long)
{
  const PetscInt row = 37, n = is_long ? 2500 : 100;
  Mat            A;
  PC             pc;
  PetscInt       start, end;
  char           expected[512];

  PetscFunctionBeginUser;
  if (is_long) PetscCall(CreateArrow(n, &A));
  else PetscCall(CreateMat("laplace2d", 10, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  if (row >= start && row < end) PetscCall(MatSetValue(A, row, row, 0.0, INSERT_VALUES));
  PetscCall(Assemble(A));
  PetscCall(CreateBAIMG(A, &pc));
  PetscCall(ZeroDiagonalMessage(row, 1, n, expected, sizeof(expected)));
  ExpectError(expected, "a zero on the diagonal", PCSetUp(pc));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No iterations are none, and many are enough; a matrix of no rows needs none */
static PetscErrorCode TestArrow(PetscInt n, KSPType type)
{
  const PetscInt     most[] = {0, 500};
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PC                 pc;
  PetscInt           its;
  PetscReal          norm, bnorm;
  PetscBool          is_bai, has;
  PetscMPIInt        size;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateArrow(n, &A));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(PetscStrcmp(type, KSPBAI, &is_bai));
  PetscCall(KSPGetPC(ksp, &pc));
  if (!is_bai) PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, most[k]));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(TrueResidualNorm(A, b, x, &norm));
    if (!most[k] && n && is_bai)
      PetscCall(Expect(reason == KSP_DIVERGED_ITS && its == 0, "%s after %d of 0 iterations",
                       KSPConvergedReasons[reason], (int)its));
    if (most[k] || !n)
      PetscCall(Expect(reason > 0 && norm <= (PetscReal)1e-7 * bnorm, "%s with %d rows: %s, residual norm %g", type,
                       (int)n, KSPConvergedReasons[reason], (double)norm));
  }
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ViewHas((PetscObject)ksp, "PCJACOBI instead of levels, as a row has more than 1000 entries", &has));
  if (!is_bai) PetscCall(Expect(has == (n > 1000 * size), "with %d rows on %d ranks: Jacobi %d", (int)n, size, has));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal entry that is not a number, or infinite, is a reason and no error, and is forgotten when it is gone */
static PetscErrorCode TestNotFinite(KSPType type, KSPConvergedReason expected, PetscReal bad)
{
  const PetscInt     row = 5;
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  PetscInt           its, start, end;
  PetscBool          mine;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  mine = (PetscBool)(start <= row && row < end);
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(CreateKSP(A, type, 32, &ksp));
  for (int again = 0; again < 2; again++) {
    if (mine) PetscCall(MatSetValue(A, row, row, (PetscScalar)bad, INSERT_VALUES));
    PetscCall(Assemble(A));
    PetscCall(SolveFor(ksp, b, x, &its, &reason));
    PetscCall(Expect(reason == expected && its == 0, "%g: %s after %d iterations", (double)bad,
                     KSPConvergedReasons[reason], (int)its));
    PetscCall(KSPSolveTranspose(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Expect(reason == expected, "%g, transposed: %s", (double)bad, KSPConvergedReasons[reason]));
    if (mine) PetscCall(MatSetValue(A, row, row, 4.0, INSERT_VALUES));
    PetscCall(Assemble(A));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, &its));
    PetscCall(Expect(its > 0, "it converges with a number again"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(CheckInitialize(&argc, &argv, help));
  if (Case("options")) PetscCall(TestOptions());
  if (Case("options_words")) PetscCall(TestWords());
  if (Case("no_entries")) PetscCall(TestNoEntries());
  if (Case("zero_row_cg")) PetscCall(TestZeroRow(KSPCG));
  if (Case("zero_row_bai")) PetscCall(TestZeroRow(KSPBAI));
  if (Case("zero_diagonal_short")) PetscCall(TestZeroDiagonal(PETSC_FALSE));
  if (Case("zero_diagonal_long")) PetscCall(TestZeroDiagonal(PETSC_TRUE));
  if (Case("arrow_empty_bai")) PetscCall(TestArrow(0, KSPBAI));
  if (Case("arrow_empty_cg")) PetscCall(TestArrow(0, KSPCG));
  if (Case("arrow_long_bai")) PetscCall(TestArrow(2500, KSPBAI));
  if (Case("arrow_long_cg")) PetscCall(TestArrow(2500, KSPCG));
  if (Case("arrow_short")) PetscCall(TestArrow(600, KSPBAI));
  if (Case("nan_bai")) PetscCall(TestNotFinite(KSPBAI, KSP_DIVERGED_NANORINF, NAN));
  if (Case("nan_inf_bai")) PetscCall(TestNotFinite(KSPBAI, KSP_DIVERGED_NANORINF, INFINITY));
  if (Case("nan_cg")) PetscCall(TestNotFinite(KSPCG, KSP_DIVERGED_PC_FAILED, NAN));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         nsize: {{1 2}}
         args: -malloc_dump 0 -case options,no_entries,zero,arrow
      test:
         suffix: host_nan
         nsize: {{1 2 3}}
         args: -case nan
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -options_left no -case nan
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -options_left no -case zero,arrow,nan

TEST*/
