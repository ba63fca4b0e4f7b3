static char help[] =
  "PCApplyTranspose() of PCBAI: <M^{-1} x, y> = <x, M^{-T} y>, without conjugation, to rounding.\n\n";

#include "check.h"
#include "gallery.h"

/* Between -1 and 1, as if at random; complex, if scalars are */
static PetscScalar Number(PetscInt row, PetscInt k)
{
  const double s = sin(12.9898 * (double)row + 78.233 * (double)k), c = cos(4.898 * (double)row - 7.23 * (double)k);
  const PetscScalar number = (PetscReal)s;

#if defined(PETSC_USE_COMPLEX)
  return number + PETSC_i * (PetscReal)c;
#else
  return c > 0 ? number : -number;
#endif
}

enum {
  ROWS = 600
};

/* Neither values nor pattern are symmetric, between ranks as well; in some rows, but not in the columns of the same
 * number, the diagonal is outweighed, and row 7 has none */
static PetscErrorCode CreateAny(PetscInt shift, PetscReal scale, Mat *A)
{
  const PetscInt step[] = {1, 2, 17, 131};
  PetscInt       first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 5, NULL, 4, NULL));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscReal heavy = row % 5 ? (PetscReal)0.3 : (PetscReal)1.5;

    if (row != 7) PetscCall(MatSetValue(*A, row, row, (row % 3 ? 2.0 : 1.5) + 0.1 * Number(row, 9), INSERT_VALUES));
    for (PetscInt k = 0; k < 4; k++)
      PetscCall(MatSetValue(*A, row, (row + step[k] + shift) % ROWS, scale * heavy * Number(row, k), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of |<M^{-1} x, y> - <x, M' y>| what it is of |M^{-1} x| |y|, M' being M^{-T}, or M^{-1}, if not transpose */
static PetscErrorCode Difference(PC pc, PetscBool transpose, PetscReal *difference)
{
  Mat         A;
  Vec         x, y, Mx, My;
  PetscRandom random;
  PetscScalar one, two;
  PetscReal   nMx, ny;

  PetscFunctionBeginUser;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &Mx));
  PetscCall(VecDuplicate(x, &My));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(x, random));
  PetscCall(VecSetRandom(y, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PCApply(pc, x, Mx));
  PetscCall((transpose ? PCApplyTranspose : PCApply)(pc, y, My));
  PetscCall(VecTDot(Mx, y, &one));
  PetscCall(VecTDot(x, My, &two));
  PetscCall(VecNorm(Mx, NORM_2, &nMx));
  PetscCall(VecNorm(y, NORM_2, &ny));
  *difference = PetscAbsScalar(one - two) / (nMx * ny);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It is the transpose to rounding, of an operator that is far from symmetric */
static PetscErrorCode ExpectAdjoint(PC pc, PetscReal epsilon, const char what[])
{
  PetscReal transposed, same;

  PetscFunctionBeginUser;
  PetscCall(Difference(pc, PETSC_TRUE, &transposed));
  PetscCall(Difference(pc, PETSC_FALSE, &same));
  PetscCall(PetscInfo(pc, "%s: %g\n", what, (double)transposed));
  PetscCall(Expect(transposed <= 100 * epsilon, "%s: the transpose but for %g", what, (double)transposed));
  PetscCall(
    Expect(same > 200 * epsilon && same > 1e-7, "%s: symmetric but for %g, which shows nothing", what, (double)same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, BAIMode mode, PetscInt its, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(NewPC(A, PCBAI, pc));
  PetscCall(PCBAISetMode(*pc, mode));
  PetscCall(PCBAISetIterations(*pc, its));
  PetscCall(PCBAISetBlockSize(*pc, 16));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With all that damps the sweeps */
static PetscErrorCode TestDamping(Mat A, BAIMode mode, PetscInt its)
{
  const BAIWeight weight[] = {BAI_WEIGHT_NONE, BAI_WEIGHT_L1, BAI_WEIGHT_TAU};

  PetscFunctionBeginUser;
  for (int k = 0; k < 3 * 2 * 2 * 2; k++) {
    const BAIPolynomial polynomial  = k / 12 ? BAI_POLYNOMIAL_AUTO : BAI_POLYNOMIAL_NONE;
    const PetscReal     local_omega = k / 6 % 2 ? (PetscReal)0.9 : 0;
    const PetscInt      block_size  = k / 3 % 2 ? 150 : 16;
    char                what[128];
    PC                  pc;

    if (polynomial != BAI_POLYNOMIAL_NONE && (mode != BAI_MODE_SYNC || weight[k % 3] == BAI_WEIGHT_TAU)) continue;
    PetscCall(Create(A, mode, its, &pc));
    PetscCall(PCBAISetWeight(pc, weight[k % 3]));
    PetscCall(PCBAISetPolynomial(pc, polynomial));
    PetscCall(PCBAISetLocalOmega(pc, local_omega));
    PetscCall(PCBAISetBlockSize(pc, block_size));
    PetscCall(PetscSNPrintf(what, sizeof(what),
                            "weight %s, polynomial %s, local_omega %g, blocks of %" PetscInt_FMT " rows",
                            BAIWeights[weight[k % 3]], BAIPolynomials[polynomial], (double)local_omega, block_size));
    PetscCall(ExpectAdjoint(pc, PETSC_MACHINE_EPSILON, what));
    PetscCall(PCDestroy(&pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks that are found by the values that A had first, and kept when others come, before anything is transposed */
static PetscErrorCode TestPartitions(Mat A)
{
  const BAIPartitionType type[] = {BAI_PARTITION_AUTO, BAI_PARTITION_GRAPH};

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PC  pc;
    Mat B;
    Vec scale;

    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(Create(B, BAI_MODE_COLOR, 1, &pc));
    PetscCall(PCBAISetPartition(pc, type[k]));
    PetscCall(PCSetUp(pc));
    PetscCall(MatCreateVecs(A, NULL, &scale));
    PetscCall(VecSetRandom(scale, NULL));
    PetscCall(VecShift(scale, 0.1));
    PetscCall(MatDiagonalScale(B, NULL, scale));
    PetscCall(PCSetOperators(pc, B, B));
    PetscCall(ExpectAdjoint(pc, PETSC_MACHINE_EPSILON, BAIPartitionTypes[type[k]]));
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&scale));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transpose that is set up follows new values, options, another pattern, and a reset */
static PetscErrorCode TestChanges(BAIMode mode)
{
  Mat A, B;
  Vec scale;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(CreateAny(0, 1.0, &A));
  PetscCall(CreateAny(5, 2.0, &B));
  PetscCall(Create(A, mode, 3, &pc));
  PetscCall(ExpectAdjoint(pc, PETSC_MACHINE_EPSILON, "at first"));
  PetscCall(MatCreateVecs(A, &scale, NULL));
  PetscCall(VecSetRandom(scale, NULL));
  PetscCall(VecShift(scale, 0.5));
  PetscCall(MatDiagonalScale(A, scale, NULL));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(ExpectAdjoint(pc, PETSC_MACHINE_EPSILON, "rows scaled"));
  PetscCall(PCBAISetLocalIters(pc, 3));
  PetscCall(PCBAISetBlockSize(pc, 40));
  PetscCall(ExpectAdjoint(pc, PETSC_MACHINE_EPSILON, "other options"));
  PetscCall(PCBAISetPartition(pc, BAI_PARTITION_GRAPH));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(A, 3, ROWS / 2, 0.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(ExpectAdjoint(pc, PETSC_MACHINE_EPSILON, "one more entry"));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(ExpectAdjoint(pc, PETSC_MACHINE_EPSILON, "another matrix"));
  PetscCall(MatScale(B, 3.0));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(ExpectAdjoint(pc, PETSC_MACHINE_EPSILON, "after a reset"));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&scale));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix said to be symmetric needs no other. If the operator is symmetric as well, it is its own transpose to the
 * bit; with an odd number of iterations colours take turns the other way round */
static PetscErrorCode TestSymmetric(void)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 24, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  for (int its = 1; its <= 2; its++) {
    PC        pc;
    Vec       x, y, z;
    PetscBool equal;
    PetscReal difference;

    PetscCall(Create(A, BAI_MODE_COLOR, its, &pc));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecDuplicate(x, &z));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(PCApply(pc, x, y));
    PetscCall(PCApplyTranspose(pc, x, z));
    PetscCall(VecEqual(y, z, &equal));
    PetscCall(Difference(pc, PETSC_TRUE, &difference));
    PetscCall(Expect(equal == (PetscBool)(its == 2), "%d iterations: the transpose is %s one", its,
                     equal ? "the same" : "another"));
    PetscCall(Expect(difference <= 100 * PETSC_MACHINE_EPSILON, "%d iterations: the transpose but for %g", its,
                     (double)difference));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where there is no transpose, an error says so on all ranks */
static PetscErrorCode TestErrors(Mat A)
{
  const BAIMode mode[] = {BAI_MODE_ASYNC, BAI_MODE_LAUNCH};
  PC            pc;
  Vec           x, y;
  char          expected[256];

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(A, mode[k], 2, &pc));
    PetscCall(PetscSNPrintf(expected, sizeof(expected),
                            "-pc_bai_mode %s: there is no transposed application: must be sync or color",
                            BAIModes[mode[k]]));
    ExpectError(expected, BAIModes[mode[k]], PCApplyTranspose(pc, x, y));
    PetscCall(PCBAISetMode(pc, BAI_MODE_SYNC));
    PetscCall(ExpectAdjoint(pc, PETSC_MACHINE_EPSILON, "after an error"));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pairs of rows, with two vectors that coarse levels are to have */
static PetscErrorCode AttachModes(Mat A)
{
  MatNullSpace space;
  Vec          mode[2];
  PetscInt     first, last;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(A, &mode[k], NULL));
    for (PetscInt row = first; row < last; row++)
      PetscCall(VecSetValue(mode[k], row, 1.0 + 0.3 * Number(row / 7, k) + (row + k) % 2, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(mode[k]));
    PetscCall(VecAssemblyEnd(mode[k]));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 2, mode, &space));
  PetscCall(MatSetNearNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&mode[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From a matrix of the gallery two unknowns a point, with modes, or one, on no grid any longer: with other values, and
 * with an entry more in each row, whose transposed one is missing */
static PetscErrorCode CreateFrom(const char matrix[], PetscInt n, PetscInt fields, Mat *A)
{
  Mat      B;
  PetscInt rows, all, first, last;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &B));
  PetscCall(MatGetLocalSize(B, &rows, NULL));
  PetscCall(MatGetSize(B, &all, NULL));
  PetscCall(MatGetOwnershipRange(B, &first, &last));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, fields * rows, fields * rows, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetBlockSize(*A, fields));
  PetscCall(MatSeqAIJSetPreallocation(*A, 6, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 6, NULL, 5, NULL));
  for (PetscInt row = first; row < last; row++) {
    const PetscInt     more = fields > 1 ? fields * row + 1 : (7 * row + 3) % all, *col;
    const PetscScalar *a;
    PetscInt           count;

    PetscCall(MatGetRow(B, row, &count, &col, &a));
    for (PetscInt k = 0; k < count; k++) {
      const PetscScalar value = fields > 1 || col[k] == row ? a[k] : a[k] * (1.0 + 0.5 * Number(row, col[k]));

      for (PetscInt d = 0; d < fields; d++)
        PetscCall(MatSetValue(*A, fields * row + d, fields * col[k] + d, value, ADD_VALUES));
    }
    PetscCall(MatRestoreRow(B, row, &count, &col, &a));
    PetscCall(MatSetValue(*A, fields * row, more, 0.2 * Number(row, 0), ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroy(&B));
  if (fields > 1) PetscCall(AttachModes(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Levels of the transposed matrix, and what becomes of them with new values, options, and after a reset. fields: of
 * CreateFrom(), or 0 for a matrix of the gallery itself */
static PetscErrorCode TestLevels(const char matrix[], PetscInt n, PetscInt fields)
{
  const PetscReal epsilon = 10 * PETSC_MACHINE_EPSILON; /* sums of coarse matrices are rounded in another order */
  Mat             A;
  Vec             scale;
  PC              pc;

  PetscFunctionBeginUser;
  if (fields) PetscCall(CreateFrom(matrix, n, fields, &A));
  else PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(NewPC(A, PCBAIMG, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(ExpectAdjoint(pc, epsilon, "at first"));
  PetscCall(MatCreateVecs(A, &scale, NULL));
  PetscCall(VecSetRandom(scale, NULL));
  PetscCall(VecShift(scale, 0.5));
  PetscCall(MatDiagonalScale(A, scale, NULL));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(ExpectAdjoint(pc, epsilon, "rows scaled"));
  PetscCall(PCBAIMGSetLocalIters(pc, 2));
  PetscCall(ExpectAdjoint(pc, epsilon, "fewer sweeps"));
  PetscCall(PCBAIMGSetLevels(pc, 2));
  PetscCall(ExpectAdjoint(pc, epsilon, "two levels"));
  PetscCall(PCBAIMGSetLevels(pc, 1));
  PetscCall(ExpectAdjoint(pc, epsilon, "one level"));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCBAIMGSetLevels(pc, PETSC_DECIDE));
  PetscCall(ExpectAdjoint(pc, epsilon, "after a reset"));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&scale));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Systems with A^T take about as many iterations as those with A */
static PetscErrorCode TestSolve(PCType type)
{
  Mat       A;
  Vec       b, x, r;
  KSP       ksp;
  PC        pc;
  PetscInt  its[2];
  PetscReal norm, bnorm;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "convection2d", 30, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 400));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetFromOptions(ksp));
  for (int transpose = 0; transpose < 2; transpose++) {
    KSPConvergedReason reason;

    PetscCall((transpose ? KSPSolveTranspose : KSPSolve)(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[transpose]));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall((transpose ? MatMultTranspose : MatMult)(A, x, r));
    PetscCall(VecAXPY(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(Expect(reason > 0 && norm <= 1e-3 * bnorm, "%s: %s after %" PetscInt_FMT " iterations, %g of %g", type,
                     KSPConvergedReasons[reason], its[transpose], (double)norm, (double)bnorm));
  }
  PetscCall(PetscInfo(pc, "%s: %" PetscInt_FMT " iterations, transposed %" PetscInt_FMT "\n", type, its[0], its[1]));
  PetscCall(Expect(4 * its[1] <= 5 * its[0] + 8, "%s: %" PetscInt_FMT " iterations, transposed %" PetscInt_FMT, type,
                   its[0], its[1]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const BAIMode modes[] = {BAI_MODE_SYNC, BAI_MODE_COLOR};
  Mat           A;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(CreateAny(0, 1.0, &A));
  for (int k = 0; k < 2; k++) {
    for (PetscInt its = 1; its <= 3; its++)
      if (Case("damping_%s_%" PetscInt_FMT, BAIModes[modes[k]], its)) PetscCall(TestDamping(A, modes[k], its));
    if (Case("changes_%s", BAIModes[modes[k]])) PetscCall(TestChanges(modes[k]));
  }
  if (Case("partitions")) PetscCall(TestPartitions(A));
  if (Case("errors")) PetscCall(TestErrors(A));
  if (Case("symmetric")) PetscCall(TestSymmetric());
  if (Case("levels_flow2d")) PetscCall(TestLevels("convection2d", 150, 0));
  if (Case("levels_flow3d")) PetscCall(TestLevels("convection3d", 20, 0));
  if (Case("levels_graph")) PetscCall(TestLevels("convection2d", 80, 1));
  if (Case("levels_modes")) PetscCall(TestLevels("convection2d", 60, 2));
  if (Case("solve_bai")) PetscCall(TestSolve(PCBAI));
  if (Case("solve_baimg")) PetscCall(TestSolve(PCBAIMG));
  PetscCall(MatDestroy(&A));
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
      suffix: scatter
      nsize: 3
      args: -pc_bai_exchange scatter -case damping_color,damping_sync_2
    test:
      suffix: cuda
      requires: baicuda
      args: -pc_bai_backend cuda -case damping,changes,partitions,errors,symmetric
    test:
      suffix: aijcusparse
      requires: baicuda cuda
      nsize: {{1 2}}
      args: -mat_type aijcusparse
      timeoutfactor: 3

TEST*/
