static char help[] = "The cycle of PCBAIMG is a symmetric positive definite operator that follows the values of its "
                     "matrix, in the precision that its user can take.\n\n";

#include "levels.h"

/* x^H M y = conj(y^H M x), x^H M x > 0, M (x + y) = M x + M y, and M r is small for the r of rounding */
static PetscErrorCode TestOperator(const char name[], PetscInt n)
{
  Mat         A;
  PC          pc;
  Vec         x, y, Mx, My, r;
  PetscScalar xMy, yMx, xMx;
  PetscReal   rounding = 0, size, norm;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(RoundingOf(pc, &rounding));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &Mx));
  PetscCall(VecDuplicate(x, &My));
  PetscCall(VecDuplicate(x, &r));
  for (unsigned long seed = 1; seed <= 3; seed++) {
    PetscCall(SetNoise(x, seed));
    PetscCall(SetNoise(y, 10 + seed));
    if (seed == 3) PetscCall(VecSet(x, 1.0)); /* smooth, where coarse levels matter */
    PetscCall(PCApply(pc, x, Mx));
    PetscCall(PCApply(pc, y, My));
    PetscCall(VecDot(My, x, &xMy)); /* x^H M y */
    PetscCall(VecDot(Mx, y, &yMx));
    PetscCall(VecDot(Mx, x, &xMx));
    PetscCall(VecNorm(x, NORM_2, &size));
    PetscCall(VecNorm(My, NORM_2, &norm));
    PetscCall(Expect(PetscAbsScalar(xMy - PetscConj(yMx)) <= 10 * rounding * size * norm,
                     "x^H M y = %g and conj(y^H M x) = %g are the same", (double)PetscRealPart(xMy),
                     (double)PetscRealPart(yMx)));
    PetscCall(Expect(PetscRealPart(xMx) > 0 && PetscAbsReal(PetscImaginaryPart(xMx)) <= rounding * PetscRealPart(xMx),
                     "x^H M x = %g + %gi is positive", (double)PetscRealPart(xMx), (double)PetscImaginaryPart(xMx)));
    PetscCall(PCApplyTranspose(pc, x, r)); /* conj(M) x */
    PetscCall(VecConjugate(x));
    PetscCall(PCApply(pc, x, Mx));
    PetscCall(VecConjugate(Mx));
    PetscCall(VecNorm(Mx, NORM_2, &size));
    PetscCall(VecAXPY(r, -1.0, Mx));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(
      Expect(norm <= rounding * size, "the transpose is the conjugate but for %g of %g", (double)norm, (double)size));
    PetscCall(VecConjugate(x));
    PetscCall(PCApply(pc, x, Mx));
    PetscCall(VecAXPY(x, 1.0, y));
    PetscCall(PCApply(pc, x, r));
    PetscCall(VecNorm(r, NORM_2, &size));
    PetscCall(VecAXPY(r, -1.0, Mx));
    PetscCall(VecAXPY(r, -1.0, My));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(Expect(norm <= 10 * rounding * size, "the cycle is linear but for %g of %g", (double)norm, (double)size));
  }
  PetscCall(SetNoise(x, 7)); /* b - A x is zero but for rounding, so x stays */
  PetscCall(MatMult(A, x, y));
  PetscCall(MatResidual(A, y, x, r));
  PetscCall(PCApply(pc, r, Mx));
  PetscCall(VecNorm(x, NORM_2, &size));
  PetscCall(VecNorm(Mx, NORM_2, &norm));
  PetscCall(
    Expect(norm <= (PetscReal)1e-8 * size, "the solution of norm %g is kept, but for %g", (double)size, (double)norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscCall(VecDestroy(&r));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Expects that the results of a cycle on a GPU and on the host differ by at most this part; overwrites work */
static PetscErrorCode ExpectSame(const Vec z[2], PetscReal part, Vec work, const char values[])
{
  PetscReal norm, size;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(z[1], NORM_2, &size));
  PetscCall(VecCopy(z[1], work));
  PetscCall(VecAXPY(work, -1.0, z[0]));
  PetscCall(VecNorm(work, NORM_2, &norm));
  PetscCall(
    Expect(norm <= part * size, "%s values: a cycle on a GPU differs by %g of %g", values, (double)norm, (double)size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU a cycle is the one on the host, as the aggregates and coarse matrices are, also of a matrix that is so large
   that each thread makes a row of a coarse one; and so it is with new values, for which levels are kept. The row and
   column of number empty, if not negative, have no entries */
static PetscErrorCode TestWhere(const char name[], PetscInt n, PetscInt empty)
{
  Mat          A[2];
  MatNullSpace space;
  PC           pc[2];
  Vec          r[2], z[2];
  PetscReal    updates;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A[0]));
  if (empty >= 0) {
    PetscCall(MatZeroRowsColumns(A[0], 1, &empty, 0.0, NULL, NULL));
    PetscCall(MatZeroRows(A[0], 1, &empty, 0.0, NULL, NULL)); /* which removes the entries of the row */
  }
  PetscCall(MatConvert(A[0], MATAIJ, MAT_INITIAL_MATRIX, &A[1]));
  PetscCall(MatGetNearNullSpace(A[0], &space));
  PetscCall(MatSetNearNullSpace(A[1], space));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreatePC(A[k], &pc[k]));
    PetscCall(MatCreateVecs(A[k], &r[k], &z[k]));
  }
  for (int values = 0; values < 2; values++) {
    for (int k = 0; k < 2; k++) {
      if (values) PetscCall(MatScale(A[k], 3));
      if (values && empty < 0) PetscCall(MatShift(A[k], 0.5));
      PetscCall(SetNoise(r[k], 1));
      PetscCall(PCSetUp(pc[k]));
      PetscCall(PCApply(pc[k], r[k], z[k]));
      PetscCall(ViewedNumber((PetscObject)pc[k], "value updates ", &updates));
      PetscCall(Expect((int)updates == values, "%g value updates, %d are expected", (double)updates, values));
    }
    /* rounding in the inverse of the last level grows with the jumps */
    PetscCall(ExpectSame(z, (PetscReal)1e6 * PETSC_MACHINE_EPSILON, r[0], values ? "new" : "first"));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(PCDestroy(&pc[k]));
    PetscCall(VecDestroy(&r[k]));
    PetscCall(VecDestroy(&z[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU one row or block is read in the place of equal ones, if others are few: cycles and solves are those of the
   host, where the first apart diagonal entries differ from all others, and with new values */
static PetscErrorCode TestAlike(PetscInt apart)
{
  Mat A[2];
  Vec shift, r[2], z[2];
  PC  pc[2];

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace3d", 64, &A[0]));
  PetscCall(MatCreateVecs(A[0], &shift, NULL));
  PetscCall(VecSet(shift, 0.0));
  for (PetscInt row = 0; row < apart; row++)
    PetscCall(VecSetValue(shift, row, (PetscReal)row / (PetscReal)apart, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(shift));
  PetscCall(VecAssemblyEnd(shift));
  PetscCall(MatDiagonalSet(A[0], shift, ADD_VALUES));
  PetscCall(MatConvert(A[0], MATAIJ, MAT_INITIAL_MATRIX, &A[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreatePC(A[k], &pc[k]));
    PetscCall(MatCreateVecs(A[k], &r[k], &z[k]));
  }
  for (int values = 0; values < 2; values++) {
    PetscInt  its[2];
    PetscReal rounding = 0;

    for (int k = 0; k < 2; k++) {
      if (values) PetscCall(MatShift(A[k], 0.5));
      PetscCall(SetNoise(r[k], 1));
      PetscCall(PCSetUp(pc[k]));
      PetscCall(PCApply(pc[k], r[k], z[k]));
      PetscCall(IterationsOf(A[k], KSPBAI, PETSC_DECIDE, &its[k]));
    }
    PetscCall(RoundingOf(pc[0], &rounding));
    PetscCall(ExpectSame(z, rounding, r[0], values ? "new" : "first"));
    PetscCall(Expect(its[0] > 0 && its[0] <= its[1] + 1 && its[1] <= its[0] + 1,
                     "%d rows apart, values number %d: %d iterations, %d on the host", (int)apart, values, (int)its[0],
                     (int)its[1]));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(PCDestroy(&pc[k]));
    PetscCall(VecDestroy(&r[k]));
    PetscCall(VecDestroy(&z[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscCall(VecDestroy(&shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cycle of -A is minus the cycle of A, also where all ranks have all rows of the finest level */
static PetscErrorCode TestNegative(PetscInt n)
{
  Mat       A;
  PC        pc, other;
  Vec       r, z, w;
  PetscReal norm, size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", n, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(MatCreateVecs(A, &r, &z));
  PetscCall(VecDuplicate(r, &w));
  PetscCall(SetNoise(r, 5));
  PetscCall(PCApply(pc, r, z));
  PetscCall(MatScale(A, -1));
  PetscCall(CreatePC(A, &other));
  PetscCall(PCApply(other, r, w));
  PetscCall(VecNorm(z, NORM_2, &size));
  PetscCall(VecAXPY(w, 1.0, z));
  PetscCall(VecNorm(w, NORM_2, &norm));
  PetscCall(Expect(norm <= 100 * PETSC_MACHINE_EPSILON * size,
                   "the cycle of -A differs from minus that of A by %g of %g", (double)norm, (double)size));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(PCDestroy(&pc));
  PetscCall(PCDestroy(&other));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets A to a Laplacian on a line, where the first rank reads an entry of column far of the last rank besides, so that
   only the number of a ghost depends on far */
static PetscErrorCode SetLine(Mat A, PetscInt far)
{
  PetscInt    n, start, end;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatMPIAIJSetPreallocation(A, 3, NULL, 3, NULL));
  PetscCall(MatSeqAIJSetPreallocation(A, 4, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    PetscCall(MatSetValue(A, row, row, 3, INSERT_VALUES));
    if (row) PetscCall(MatSetValue(A, row, row - 1, -1, INSERT_VALUES));
    if (row + 1 < n) PetscCall(MatSetValue(A, row, row + 1, -1, INSERT_VALUES));
  }
  if (!rank) PetscCall(MatSetValue(A, 0, far, -1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cycle of pc for the present A is that of a new PC, but for a relative difference of at most rounding */
static PetscErrorCode ExpectAsFresh(Mat A, PC pc, PetscReal rounding)
{
  PC        fresh;
  Vec       r, z, w;
  PetscReal norm, size;

  PetscFunctionBeginUser;
  PetscCall(CreatePC(A, &fresh));
  PetscCall(MatCreateVecs(A, &r, &z));
  PetscCall(VecDuplicate(r, &w));
  PetscCall(SetNoise(r, 5));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, r, z));
  PetscCall(PCApply(fresh, r, w));
  PetscCall(VecNorm(w, NORM_2, &size));
  PetscCall(VecAXPY(w, -1.0, z));
  PetscCall(VecNorm(w, NORM_2, &norm));
  PetscCall(
    Expect(norm <= rounding * size, "a cycle differs from that of a new PC by %g of %g", (double)norm, (double)size));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(PCDestroy(&fresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another column of another rank is another pattern, though the numbers of the ghosts are the same */
static PetscErrorCode TestElsewhere(PetscInt n)
{
  Mat A;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(SetLine(A, n - 1));
  PetscCall(CreatePC(A, &pc));
  PetscCall(SetLine(A, n - 20));
  PetscCall(ExpectAsFresh(A, pc, 0));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in an old pattern: the cycle is that of a fresh set-up */
static PetscErrorCode TestValues(const char name[], PetscInt n)
{
  Mat       A;
  PC        pc;
  Vec       r, z;
  PetscReal rounding = 0, updates, setups;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(RoundingOf(pc, &rounding));
  PetscCall(MatCreateVecs(A, &r, &z));
  PetscCall(SetNoise(r, 3));
  PetscCall(PCApply(pc, r, z));
  /* those of elasticity, which are matched, would have other aggregates if they were not all multiplied alike */
  PetscCall(ChangeValues(A, strcmp(name, "elasticity") ? (PetscReal)0.01 : 0));
  PetscCall(MatScale(A, 3)); /* single precision has another scale then */
  PetscCall(ExpectAsFresh(A, pc, rounding));
  PetscCall(ViewedNumber((PetscObject)pc, "value updates ", &updates));
  PetscCall(Expect(updates == 1, "%g value updates", (double)updates));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewedNumber((PetscObject)pc, "value updates ", &updates));
  PetscCall(Expect(updates == 1, "the same matrix in the same state: %g value updates", (double)updates));
  PetscCall(ViewedNumber((PetscObject)pc, "set-ups ", &setups));
  PetscCall(PCBAIMGSetLevels(pc, 2));
  PetscCall(PCApply(pc, r, z));
  PetscCall(ViewedNumber((PetscObject)pc, "set-ups ", &updates));
  PetscCall(
    Expect(updates == setups + 1, "another number of levels: %g set-ups, %g before", (double)updates, (double)setups));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Levels of a matrix that is gone do what they did, for vectors on the host too */
static PetscErrorCode TestReused(void)
{
  const PetscInt n = 100; /* levels are distributed, if there are several ranks */
  Mat            A;
  PC             pc;
  Vec            r, z, host, again;
  PetscInt       local;
  PetscReal      error, size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", n, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(MatCreateVecs(A, &z, &r));
  PetscCall(SetNoise(r, 1));
  PetscCall(PCApply(pc, r, z));
  PetscCall(VecNorm(z, NORM_2, &size));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMat("nine", n, &A));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(VecGetLocalSize(r, &local));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &host));
  PetscCall(VecSetSizes(host, local, n * n));
  PetscCall(VecSetType(host, VECSTANDARD));
  PetscCall(VecDuplicate(host, &again));
  PetscCall(VecCopy(r, host));
  PetscCall(PCApply(pc, host, again));
  PetscCall(VecAXPY(again, -1.0, z));
  PetscCall(VecNorm(again, NORM_2, &error));
  PetscCall(Expect(error <= 100 * PETSC_MACHINE_EPSILON * size, "levels of the matrix before, to %g of %g",
                   (double)error, (double)size));
  PetscCall(VecDestroy(&again));
  PetscCall(VecDestroy(&host));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&r));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Under this method, or in PCApply() alone if there is none, levels are single or not */
static PetscErrorCode ExpectPrecision(KSP ksp, KSPType type, PetscBool single)
{
  PC        pc;
  Mat       A;
  Vec       b, x;
  PetscBool found;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(CreateOnes(A, &x, &b));
  if (type) {
    PetscCall(KSPSetType(ksp, type));
    PetscCall(KSPSolve(ksp, b, x));
  } else PetscCall(PCApply(pc, b, x));
  PetscCall(ViewHas((PetscObject)pc, "levels in single precision", &found));
  PetscCall(Expect(found == single, "levels are%s in single precision under %s", found ? "" : " not",
                   type ? type : "no method"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU PCBAIMG's levels are in single precision only under methods to which their rounding does no harm */
static PetscErrorCode TestPrecision(void)
{
  Mat       A;
  KSP       ksp;
  PC        pc;
  PetscBool cuda;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)pc, "backend cuda", &cuda));
  PetscCall(ExpectPrecision(ksp, KSPCG, cuda));
  PetscCall(ExpectPrecision(ksp, KSPGMRES, PETSC_FALSE));
  PetscCall(ExpectPrecision(ksp, KSPFGMRES, cuda));
  PetscCall(ExpectPrecision(ksp, NULL, PETSC_FALSE));
  PetscCall(PCBAIMGSetSingle(pc, PETSC_BOOL3_FALSE));
  PetscCall(ExpectPrecision(ksp, KSPCG, PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMat("neumann", 40, &A)); /* singular: rounding its rows would make another matrix of it */
  PetscCall(CreateKSP(A, KSPCG, 0, &ksp));
  PetscCall(ExpectPrecision(ksp, KSPCG, PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the host, where levels are of PETSc's precision in any case, a method to which rounding does no harm has them
   set up once, also if the matrix is not symmetric */
static PetscErrorCode TestPrecisionOfHost(void)
{
  Mat       A;
  KSP       ksp;
  PC        pc;
  Vec       b, x;
  PetscReal setups;
  PetscBool host;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("convection2d", 40, &A));
  PetscCall(CreateKSP(A, KSPFGMRES, 0, &ksp));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHas((PetscObject)pc, "backend host", &host));
  PetscCall(ViewedNumber((PetscObject)pc, "set-ups ", &setups));
  PetscCall(Expect(setups == 1 || !host, "levels are set up %g times", (double)setups));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocked matrices are copied, and the copy follows their values */
static PetscErrorCode TestTypes(MatType type)
{
  Mat      A, B;
  KSP      ksp;
  PetscInt its, blocked;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
  PetscCall(IterationsOf(A, KSPCG, 0, &its));
  PetscCall(CreateKSP(B, KSPCG, 0, &ksp));
  PetscCall(Solve(ksp, &blocked));
  PetscCall(Expect(its > 0 && its == blocked, "%d iterations, %d with type %s", (int)its, (int)blocked, type));
  PetscCall(MatScale(B, 3.0));
  PetscCall(Solve(ksp, &blocked));
  PetscCall(Expect(blocked > 0 && PetscAbsInt(its - blocked) <= 1, "%d iterations, %d with new values", (int)its,
                   (int)blocked));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often -log_view would count an event */
static PetscErrorCode CountOf(const char name[], PetscInt *count)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
  *count = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -log_view shows the stages of a set-up, and of new values, which find no aggregates */
static PetscErrorCode TestStages(void)
{
  static const char *const stages[] = {"BAICoarsen", "BAIGalerkin", "BAIFill", "BAIFactor"};
  Mat                      A;
  PC                       pc;
  PetscInt                 before, first[4], count;

  PetscFunctionBeginUser;
  PetscCall(PetscLogDefaultBegin());
  PetscCall(CreateMat("mesh", 20, &A));
  for (int k = 0; k < 4; k++) PetscCall(CountOf(stages[k], &first[k]));
  PetscCall(CreatePC(A, &pc));
  for (int k = 0; k < 4; k++) {
    before = first[k];
    PetscCall(CountOf(stages[k], &first[k]));
    PetscCall(Expect(first[k] > before, "%s: %d times in a set-up", stages[k], (int)(first[k] - before)));
  }
  PetscCall(MatScale(A, 2.0));
  PetscCall(PCSetUp(pc));
  for (int k = 0; k < 4; k++) {
    PetscCall(CountOf(stages[k], &count));
    PetscCall(Expect((count > first[k]) == (k > 0), "%s: %d times for new values", stages[k], (int)(count - first[k])));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a line the weights of couplings are rounded for matching, see BAIMatchIsRough(); rows are matched nevertheless,
   where couplings grow from row to row */
static PetscErrorCode TestLine(void)
{
  enum {
    N    = 600,
    STEP = 7 /* of the numbers of neighbours, so that the rows are no grid */
  };
  Mat      A;
  PetscInt its, first, last;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, N, 3, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = 0; i < N; i++) {
    const PetscReal left = PetscExpReal((PetscReal)5e-3 * (PetscReal)i), right = left * PetscExpReal((PetscReal)5e-3);
    const PetscInt  row = STEP * i % N, before = STEP * (i + N - 1) % N, behind = STEP * (i + 1) % N;

    if (row < first || row >= last) continue;
    if (i) PetscCall(MatSetValue(A, row, before, -left, INSERT_VALUES));
    if (i + 1 < N) PetscCall(MatSetValue(A, row, behind, -right, INSERT_VALUES));
    PetscCall(MatSetValue(A, row, row, left + right, INSERT_VALUES));
  }
  PetscCall(Assemble(A));
  PetscCall(IterationsOf(A, KSPCG, 0, &its));
  PetscCall(Expect(its > 0 && its <= 45, "%d iterations", (int)its));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only unknowns of the same field make up aggregates: two Laplacians side by side are as fast as one */
static PetscErrorCode TestFields(void)
{
  Mat      A, B;
  PetscInt its, start, end;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 2, 3200, 6, &B));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    const PetscInt    *cols;
    const PetscScalar *values;
    PetscInt           n;

    PetscCall(MatGetRow(A, row, &n, &cols, &values));
    for (PetscInt k = 0; k < n; k++) {
      PetscCall(MatSetValue(B, 2 * row, 2 * cols[k], values[k], INSERT_VALUES));
      PetscCall(MatSetValue(B, 2 * row + 1, 2 * cols[k] + 1, (PetscReal)100 * values[k], INSERT_VALUES));
    }
    PetscCall(MatSetValue(B, 2 * row, 2 * row + 1, 0.1, INSERT_VALUES));
    PetscCall(MatSetValue(B, 2 * row + 1, 2 * row, 0.1, INSERT_VALUES));
    PetscCall(MatRestoreRow(A, row, &n, &cols, &values));
  }
  PetscCall(Assemble(B));
  PetscCall(IterationsOf(B, KSPCG, 0, &its));
  PetscCall(Expect(its > 0 && its <= 40, "%d iterations", (int)its));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const operators[] = {"laplace2d", "nine",   "anisotropic", "jumps",
                                          "mesh",      "pinned", "twisted",     "scaled"};
  PetscMPIInt              size;

  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(operators); k++)
    if (Case("operator_%s", operators[k])) PetscCall(TestOperator(operators[k], 37));
  if (Case("operator_laplace3d")) PetscCall(TestOperator("laplace3d", 13));
  if (Case("operator_positive")) PetscCall(TestOperator("positive", 13));
  if (Case("operator_powerlaw")) PetscCall(TestOperator("powerlaw", 3000));
  if (size == 1 && Case("operator_elasticity")) PetscCall(TestOperator("elasticity", 9));
  if (size == 1 && Case("values_laplace2d")) PetscCall(TestValues("laplace2d", 40));
  if (size == 1 && Case("values_mesh")) PetscCall(TestValues("mesh", 20));
  if (size == 1 && Case("values_elasticity")) PetscCall(TestValues("elasticity", 9));
  if (Case("elsewhere_gathered")) PetscCall(TestElsewhere(300));
  if (Case("elsewhere_large")) PetscCall(TestElsewhere(12000));
  if (Case("negative_gathered")) PetscCall(TestNegative(30));
  if (Case("negative_large")) PetscCall(TestNegative(80));
  if (Case("where_laplace3d")) PetscCall(TestWhere("laplace3d", 61, -1));
  if (Case("where_mesh")) PetscCall(TestWhere("mesh", 340, -1));
  if (Case("where_jumps3d")) PetscCall(TestWhere("jumps3d", 48, -1));
  if (Case("where_elasticity")) PetscCall(TestWhere("elasticity", 32, -1));
  if (Case("where_empty")) PetscCall(TestWhere("elasticity", 12, 3 * 700 + 1));
  if (Case("alike_all")) PetscCall(TestAlike(0));
  if (Case("alike_most")) PetscCall(TestAlike(10000));
  if (Case("alike_few")) PetscCall(TestAlike(100000));
  if (Case("reused")) PetscCall(TestReused());
  if (Case("types_baij")) PetscCall(TestTypes(MATBAIJ));
  if (Case("types_sbaij")) PetscCall(TestTypes(MATSBAIJ));
  if (Case("fields")) PetscCall(TestFields());
  if (size == 1 && Case("stages")) PetscCall(TestStages());
  if (Case("line")) PetscCall(TestLine());
  if (size == 1 && Case("precision")) PetscCall(TestPrecision());
  if (size == 1 && Case("precision_host")) PetscCall(TestPrecisionOfHost());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         args: -case {{operator values,reused,types,fields,stages,line,precision}}
      test:
         suffix: host_ranks
         nsize: {{2 3}}
         args: -case operator_laplace2d,operator_mesh,reused,types,fields,line,negative,elsewhere
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -options_left no -case reused
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -options_left no -case {{operator values,reused,types,fields,precision}}
      test:
         suffix: aijcusparse_where_ranks
         requires: baicuda cuda
         nsize: 2
         args: -mat_type aijcusparse -pc_baimg_gather false -pc_baimg_single false -case where_mesh,where_jumps3d
      test:
         suffix: aijcusparse_where
         timeoutfactor: 3
         requires: baicuda cuda
         args: -mat_type aijcusparse -pc_baimg_single false -case where
      test:
         suffix: aijcusparse_alike
         timeoutfactor: 3
         requires: baicuda cuda
         args: -mat_type aijcusparse -pc_baimg_single true -case alike
      test:
         suffix: aijcusparse_ranks
         timeoutfactor: 3
         requires: baicuda cuda
         nsize: 2
         args: -mat_type aijcusparse -pc_baimg_gather false -options_left no
         args: -case operator_laplace2d,reused,types,fields

TEST*/
