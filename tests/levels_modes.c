static char help[] = "Near null spaces of elasticity and others in the coarse spaces of PCBAIMG.\n\n";

#include "levels.h"

/* Elasticity: motions without strain meet no resistance but near the clamped face; it is solved */
static PetscErrorCode TestElasticity(PetscInt n, PetscInt most)
{
  Mat          A;
  Vec          x, y;
  MatNullSpace space;
  const Vec   *mode;
  PetscInt     modes, its, start, end;
  PetscReal    norm, size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("elasticity", n, &A));
  PetscCall(MatNorm(A, NORM_INFINITY, &size));
  PetscCall(MatGetNearNullSpace(A, &space));
  PetscCall(MatNullSpaceGetVecs(space, NULL, &modes, &mode));
  PetscCall(Expect(modes == 6, "%d modes", (int)modes));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetOwnershipRange(y, &start, &end));
  for (PetscInt k = 0; k < modes; k++) {
    PetscCall(VecCopy(mode[k], x));
    PetscCall(MatMult(A, x, y));
    for (PetscInt row = start; row < PetscMin(end, 3 * n * n); row++) PetscCall(VecSetValue(y, row, 0, INSERT_VALUES));
    PetscCall(AssembleVec(y));
    PetscCall(VecNorm(y, NORM_INFINITY, &norm));
    PetscCall(Expect(norm <= 1e3 * PETSC_MACHINE_EPSILON * size, "mode %d: forces of %g", (int)k, (double)norm));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(IterationsOf(A, KSPBAI, 32, &its));
  PetscCall(Expect(its > 0 && its <= most, "%d iterations", (int)its));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Springs between the points of a lattice and their neighbours, also those across, with the rigid body modes as near
   null space, whose forces are zero. Each point is bound to its place with this strength, and those at x = 0 with 1 if
   they are clamped */
static PetscErrorCode CreateTruss(PetscInt n, PetscInt dim, PetscReal bound, PetscBool clamped, Mat *A)
{
  const PetscInt points = dim == 3 ? n * n * n : n * n, stride[3] = {1, n, n * n};
  Vec            coordinates;
  MatNullSpace   space;
  PetscMPIInt    rank;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, dim, dim * points, 81, A));
  PetscCall(MatCreateVecs(*A, &coordinates, NULL));
  PetscCall(VecSetBlockSize(coordinates, dim));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt p = 0; p < points && !rank; p++) {
    const PetscInt at[3] = {p % n, p / n % n, p / n / n};

    for (PetscInt d = 0; d < dim; d++) {
      const PetscReal here = bound + (clamped && !at[0] ? 1 : 0);

      PetscCall(MatSetValue(*A, dim * p + d, dim * p + d, here, ADD_VALUES));
      PetscCall(VecSetValue(coordinates, dim * p + d, (PetscReal)at[d], INSERT_VALUES));
    }
    for (PetscInt s = 14; s < 27; s++) {
      const PetscInt step[3] = {s % 3 - 1, s / 3 % 3 - 1, s / 9 - 1};
      PetscInt       q = p, length = 0;
      PetscBool      inside = PETSC_TRUE;

      for (PetscInt d = 0; d < 3; d++) {
        q += step[d] * stride[d];
        length += step[d] * step[d];
        if (at[d] + step[d] < 0 || at[d] + step[d] >= (d < dim ? n : 1)) inside = PETSC_FALSE;
      }
      if (!inside) continue;
      for (PetscInt d = 0; d < dim; d++) {
        for (PetscInt e = 0; e < dim; e++) {
          const PetscReal w = (PetscReal)(step[d] * step[e]) / (PetscReal)length;

          PetscCall(MatSetValue(*A, dim * p + d, dim * p + e, w, ADD_VALUES));
          PetscCall(MatSetValue(*A, dim * q + d, dim * q + e, w, ADD_VALUES));
          PetscCall(MatSetValue(*A, dim * p + d, dim * q + e, -w, ADD_VALUES));
          PetscCall(MatSetValue(*A, dim * q + d, dim * p + e, -w, ADD_VALUES));
        }
      }
    }
  }
  PetscCall(Assemble(*A));
  PetscCall(AssembleVec(coordinates));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &space));
  PetscCall(MatSetNearNullSpace(*A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HasModes(PC pc, PetscBool expected)
{
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(ViewHas((PetscObject)pc, "near null space: aggregates of points", &has));
  PetscCall(Expect(has == expected, "the near null space is%s used", has ? "" : " not"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All coarse spaces have the modes: where these meet hardly any resistance, one cycle finds them */
static PetscErrorCode TestModesExact(PetscInt n, PetscInt dim)
{
  Mat          A;
  PC           pc;
  Vec          x, y, z;
  MatNullSpace space;
  const Vec   *mode;
  PetscInt     modes;
  PetscReal    size, norm;

  PetscFunctionBeginUser;
  PetscCall(CreateTruss(n, dim, (PetscReal)1e-5, PETSC_FALSE, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCBAIMGSetOver(pc, 1.0)); /* else corrections are made larger */
  PetscCall(PCBAIMGSetSingle(pc, PETSC_BOOL3_FALSE));
  PetscCall(MatGetNearNullSpace(A, &space));
  PetscCall(MatNullSpaceGetVecs(space, NULL, &modes, &mode));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &z));
  for (PetscInt k = 0; k < modes; k++) {
    PetscCall(VecCopy(mode[k], x));
    PetscCall(MatMult(A, x, y));
    PetscCall(PCApply(pc, y, z));
    PetscCall(VecNorm(x, NORM_2, &size));
    PetscCall(VecAXPY(z, -1.0, x));
    PetscCall(VecNorm(z, NORM_2, &norm));
    PetscCall(Expect(norm <= (PetscReal)1e-3 * size, "mode %d: %g of it is not found", (int)k, (double)(norm / size)));
  }
  PetscCall(HasModes(pc, PETSC_TRUE));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the modes there are few iterations, and on a larger lattice not many more; without them, with constants on the
   coupled fields, more than a tenth as many again. Where levels are on a GPU, those of the host take as many */
static PetscErrorCode TestModesIterations(PetscInt small, PetscInt large, PetscInt dim, PetscInt most, PetscInt growth)
{
  const PetscInt size[] = {small, large};
  PetscInt       its[2], host, without;

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    Mat A;
    KSP ksp;

    PetscCall(CreateTruss(size[k], dim, 0, PETSC_TRUE, &A));
    PetscCall(IterationsOf(A, KSPBAI, 32, &its[k]));
    PetscCall(Expect(its[k] > 0 && its[k] <= most, "size %d: %d iterations", (int)size[k], (int)its[k]));
    PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
    PetscCall(KSPBAISetBackend(ksp, BAI_BACKEND_HOST));
    PetscCall(Solve(ksp, &host));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Expect(PetscAbsInt(host - its[k]) <= 2, "size %d: %d iterations, %d on the host", (int)size[k],
                     (int)its[k], (int)host));
    PetscCall(MatSetNearNullSpace(A, NULL));
    PetscCall(IterationsOf(A, KSPBAI, 32, &without));
    PetscCall(Expect(without < 0 || 10 * without > 11 * its[k], "size %d: %d iterations, %d without the modes",
                     (int)size[k], (int)its[k], (int)without));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Expect(its[1] <= its[0] + growth, "%d iterations at size %d, %d at size %d", (int)its[0], (int)size[0],
                   (int)its[1], (int)size[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a matrix without the first row and column of each rank, and so without a block size, with orthonormal vectors
   of what is left of the modes */
static PetscErrorCode CreateConstrained(Mat A, Mat *C)
{
  MatNullSpace space;
  const Vec   *mode;
  Vec          own[MODES_MOST];
  PetscInt     modes, start, end;
  IS           kept;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(ISCreateStride(PetscObjectComm((PetscObject)A), end - start - 1, start + 1, 1, &kept));
  PetscCall(MatCreateSubMatrix(A, kept, kept, MAT_INITIAL_MATRIX, C));
  PetscCall(MatGetNearNullSpace(A, &space));
  PetscCall(MatNullSpaceGetVecs(space, NULL, &modes, &mode));
  for (PetscInt k = 0; k < modes; k++) {
    Vec part;

    PetscCall(VecGetSubVector(mode[k], kept, &part));
    PetscCall(MatCreateVecs(*C, &own[k], NULL));
    PetscCall(VecCopy(part, own[k]));
    PetscCall(VecRestoreSubVector(mode[k], kept, &part));
    for (PetscInt l = 0; l < k; l++) {
      PetscScalar dot;

      PetscCall(VecDot(own[k], own[l], &dot));
      PetscCall(VecAXPY(own[k], -dot, own[l]));
    }
    PetscCall(VecNormalize(own[k], NULL));
  }
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, modes, own, &space));
  PetscCall(MatSetNearNullSpace(*C, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (PetscInt k = 0; k < modes; k++) PetscCall(VecDestroy(&own[k]));
  PetscCall(ISDestroy(&kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix without a block size, with more modes than rows to a point, has levels too: at most twice as many iterations
   as with the block size. Where levels are on a GPU, those of the host take as many */
static PetscErrorCode TestModesSingleRows(PetscInt n)
{
  Mat      A, C;
  KSP      ksp;
  PetscInt with, its, host;

  PetscFunctionBeginUser;
  PetscCall(CreateTruss(n, 3, 0, PETSC_TRUE, &A));
  PetscCall(CreateConstrained(A, &C));
  PetscCall(IterationsOf(A, KSPBAI, 32, &with));
  PetscCall(IterationsOf(C, KSPBAI, 32, &its));
  PetscCall(CreateKSP(C, KSPBAI, 32, &ksp));
  PetscCall(KSPBAISetBackend(ksp, BAI_BACKEND_HOST));
  PetscCall(Solve(ksp, &host));
  PetscCall(Expect(its > 0 && its <= 2 * with, "%d iterations, %d with a block size", (int)its, (int)with));
  PetscCall(Expect(PetscAbsInt(host - its) <= 2, "%d iterations, %d on the host", (int)its, (int)host));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives A a near null space of count vectors of n entries: row i counts in vector i*count/n */
static PetscErrorCode SetParts(Mat A, PetscInt n, PetscInt count, PetscBool constant)
{
  Vec          part[MODES_MOST + 1];
  MatNullSpace space;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) {
    PetscCall(VecCreate(PETSC_COMM_WORLD, &part[k]));
    PetscCall(VecSetSizes(part[k], PETSC_DECIDE, n));
    PetscCall(VecSetFromOptions(part[k]));
    for (PetscInt i = 0; i < n; i++)
      if (i * count / n == k) PetscCall(VecSetValue(part[k], i, 1, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(part[k]));
    PetscCall(VecAssemblyEnd(part[k]));
    PetscCall(VecNormalize(part[k], NULL));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, constant, count, part, &space));
  PetscCall(MatSetNearNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (PetscInt k = 0; k < count; k++) PetscCall(VecDestroy(&part[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes that are zero on most aggregates, the constant alone, more vectors than there may be, and others in their
   place */
static PetscErrorCode TestModesParts(void)
{
  const PetscInt n = 40;
  Mat            A;
  PC             pc;
  Vec            r, z, w;
  PetscInt       its;
  PetscBool      equal;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", n, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(MatCreateVecs(A, &r, &z));
  PetscCall(VecDuplicate(r, &w));
  PetscCall(SetNoise(r, 3));
  PetscCall(PCApply(pc, r, z));
  for (PetscInt count = 0; count <= 1; count++) {
    PC same;

    PetscCall(SetParts(A, n * n, count, (PetscBool)!count));
    PetscCall(CreatePC(A, &same));
    PetscCall(PCApply(same, r, w));
    PetscCall(VecEqual(z, w, &equal));
    PetscCall(Expect(equal, "the constant alone, as %s, changes nothing", count ? "a vector" : "such"));
    PetscCall(HasModes(same, PETSC_FALSE));
    PetscCall(PCDestroy(&same));
  }
  PetscCall(SetParts(A, n * n, MODES_MOST + 1, PETSC_FALSE));
  PetscCall(MatScale(A, 2.0)); /* so that PCSetUp() looks */
  PetscCall(PCSetUp(pc));
  PetscCall(HasModes(pc, PETSC_FALSE));
  PetscCall(SetParts(A, n * n, 2, PETSC_FALSE));
  PetscCall(MatScale(A, 2.0)); /* so that PCSetUp() looks */
  PetscCall(PCSetUp(pc));
  PetscCall(HasModes(pc, PETSC_TRUE));
  PetscCall(PCDestroy(&pc));
  for (PetscInt count = 2; count <= MODES_MOST; count += 3) {
    PetscCall(SetParts(A, n * n, count, (PetscBool)(count < MODES_MOST)));
    PetscCall(IterationsOf(A, KSPCG, 0, &its));
    PetscCall(Expect(its > 0 && its <= 40, "%d iterations with %d parts", (int)its, (int)count));
  }
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of a near null space that the matrix cannot have */
static PetscErrorCode TestModesLength(void)
{
  const PetscInt n = 20;
  Mat            A;
  PC             pc;
  Vec            all_on_one;
  MatNullSpace   space;
  PetscMPIInt    rank, size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", n, &A));
  PetscCall(SetParts(A, n * n + 1, 2, PETSC_FALSE));
  PetscCall(CreateBAIMG(A, &pc));
  ExpectError("Vector 0 of the near null space has 401 entries, and the matrix 400 rows", "a wrong length",
              PCSetUp(pc));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, rank ? 0 : n * n, n * n, &all_on_one));
  PetscCall(VecSetValue(all_on_one, 0, 1.0, INSERT_VALUES));
  PetscCall(AssembleVec(all_on_one));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 1, &all_on_one, &space));
  PetscCall(MatSetNearNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&all_on_one));
  if (size > 1)
    ExpectError("Vector 0 of the near null space has other numbers of entries on the ranks than the matrix has rows",
                "vectors that are distributed otherwise", PCSetUp(pc));
  else PetscCall(PCSetUp(pc));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (Case("elasticity")) PetscCall(TestElasticity(12, 120));
  if (Case("modes_exact_2d")) PetscCall(TestModesExact(24, 2));
  if (Case("modes_exact_3d")) PetscCall(TestModesExact(9, 3));
  if (Case("modes_exact_one_level")) PetscCall(TestModesExact(7, 2));
  if (size > 1 && Case("modes_exact_distributed_2d")) PetscCall(TestModesExact(80, 2));
  if (size > 1 && Case("modes_exact_distributed_3d")) PetscCall(TestModesExact(18, 3));
  if (Case("modes_iterations_2d")) PetscCall(TestModesIterations(30, 90, 2, 40, 6));
  if (Case("modes_iterations_3d")) PetscCall(TestModesIterations(12, 20, 3, 40, 6));
  if (Case("modes_single_rows")) PetscCall(TestModesSingleRows(16));
  if (size == 1 && Case("modes_parts")) PetscCall(TestModesParts());
  if (Case("modes_length")) PetscCall(TestModesLength());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         args: -case {{elasticity modes_exact,modes_iterations,modes_parts,modes_single}}
      test:
         suffix: host_errors
         nsize: {{1 2}}
         args: -malloc_dump 0 -case modes_length
      test:
         suffix: host_ranks
         timeoutfactor: 2
         nsize: {{2 3}}
         args: -case {{elasticity modes_exact,modes_iterations,modes_single}}
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -options_left no -case {{elasticity \
               modes_exact,modes_iterations,modes_parts,modes_single}}
      test:
         suffix: aijcusparse_ranks
         timeoutfactor: 3
         requires: baicuda cuda
         nsize: 2
         args: -mat_type aijcusparse -pc_baimg_gather false -options_left no \
               -case modes_exact,modes_iterations,modes_single

TEST*/
