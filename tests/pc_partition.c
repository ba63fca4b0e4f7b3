static char help[] = "The partition that PCBAI chooses: blocks along strong couplings where they leave much less "
                     "outside, else consecutive rows.\n\n";

#include "check.h"

enum {
  N = 64 /* points in each direction of the grid */
};

/* The number of a point: as on a grid, or scattered over all rows */
static PetscInt Row(PetscInt i, PetscInt j, PetscBool scattered)
{
  const PetscInt row = N * j + i, prime = 1009;

  return scattered ? (prime * row) % (N * N) : row;
}

/* Differences on a grid of N x N points, whose couplings along its lines of consecutive rows are this much stronger
 * than across */
static PetscErrorCode CreateGrid(PetscReal along, PetscReal across, PetscBool scattered, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, N * N, N * N, N * N, N * N));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < N; i++) {
      const PetscInt row = Row(i, j, scattered);

      PetscCall(MatSetValue(*A, row, row, 2 * (along + across), INSERT_VALUES));
      if (i > 0) PetscCall(MatSetValue(*A, row, Row(i - 1, j, scattered), -along, INSERT_VALUES));
      if (i + 1 < N) PetscCall(MatSetValue(*A, row, Row(i + 1, j, scattered), -along, INSERT_VALUES));
      if (j > 0) PetscCall(MatSetValue(*A, row, Row(i, j - 1, scattered), -across, INSERT_VALUES));
      if (j + 1 < N) PetscCall(MatSetValue(*A, row, Row(i, j + 1, scattered), -across, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GMRES with this preconditioner, and with this partition if it is PCBAI; its is that of the solve, x the first
 * application to all ones */
static PetscErrorCode Solve(Mat A, PCType type, BAIPartitionType partition, PetscInt *its, Vec *applied)
{
  KSP ksp;
  PC  pc;
  Vec b, x;

  PetscFunctionBeginUser;
  PetscCall(NewKSP(A, KSPGMRES, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetFromOptions(ksp));
  if (!strcmp(type, PCBAI)) PetscCall(PCBAISetPartition(pc, partition));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (applied) {
    PetscCall(PCApply(pc, b, x));
    PetscCall(PetscObjectReference((PetscObject)x));
    *applied = x;
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Auto is this partition, to the bit; and, if that is graph, takes fewer iterations than consecutive rows, and no more
 * than SOR */
static PetscErrorCode CheckChoice(Mat A, BAIPartitionType expected)
{
  PetscInt  its, auto_its, natural_its, sor_its;
  Vec       y, auto_y;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(Solve(A, PCBAI, BAI_PARTITION_AUTO, &auto_its, &auto_y));
  PetscCall(Solve(A, PCBAI, expected, &its, &y));
  PetscCall(VecEqual(y, auto_y, &same));
  PetscCall(Expect(same && its == auto_its,
                   "not as with partition %s: %" PetscInt_FMT " iterations of GMRES, not %" PetscInt_FMT,
                   BAIPartitionTypes[expected], auto_its, its));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&auto_y));
  PetscCall(Solve(A, PCSOR, BAI_PARTITION_AUTO, &sor_its, NULL));
  PetscCall(
    Expect(auto_its <= sor_its, "%" PetscInt_FMT " iterations of GMRES, with SOR %" PetscInt_FMT, auto_its, sor_its));
  if (expected != BAI_PARTITION_GRAPH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Solve(A, PCBAI, BAI_PARTITION_NATURAL, &natural_its, NULL));
  PetscCall(Expect(auto_its < natural_its,
                   "%" PetscInt_FMT " iterations of GMRES, with consecutive rows %" PetscInt_FMT, auto_its,
                   natural_its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On coarse levels of multigrid rows stay as they are */
static PetscErrorCode CheckProduct(void)
{
  Mat       A, P, C;
  PetscInt  its;
  Vec       y, natural_y;
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(CreateGrid(1, 100, PETSC_FALSE, &A));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &P));
  PetscCall(MatShift(P, 1));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, 1, &C));
  PetscCall(Solve(C, PCBAI, BAI_PARTITION_AUTO, &its, &y));
  PetscCall(Solve(C, PCBAI, BAI_PARTITION_NATURAL, &its, &natural_y));
  PetscCall(VecEqual(y, natural_y, &same));
  PetscCall(Expect(same, "a product P^T A P is not cut as it is numbered"));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&natural_y));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the old pattern keep the blocks, another matrix does not */
static PetscErrorCode CheckNewValues(void)
{
  Mat       A, B;
  KSP       ksp;
  PC        pc;
  PetscBool graph;

  PetscFunctionBeginUser;
  PetscCall(CreateGrid(1, 100, PETSC_FALSE, &A));
  PetscCall(CreateGrid(100, 1, PETSC_FALSE, &B));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBAI));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)pc, "partition graph", &graph));
  PetscCall(Expect(graph, "new values have changed the blocks"));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHas((PetscObject)pc, "partition graph", &graph));
  PetscCall(Expect(!graph, "the blocks are those of another matrix"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char      *name;
    PetscReal        along, across;
    PetscBool        scattered;
    BAIPartitionType expected;
  } cases[] = {
    {"alike",              1,   1,   PETSC_FALSE, BAI_PARTITION_NATURAL},
    {"stronger_along",     100, 1,   PETSC_FALSE, BAI_PARTITION_NATURAL},
    {"stronger_across",    1,   100, PETSC_FALSE, BAI_PARTITION_GRAPH  },
    {"scattered_stronger", 100, 1,   PETSC_TRUE,  BAI_PARTITION_GRAPH  }
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    Mat A;

    if (!Case("%s", cases[c].name)) continue;
    PetscCall(CreateGrid(cases[c].along, cases[c].across, cases[c].scattered, &A));
    PetscCall(CheckChoice(A, cases[c].expected));
    PetscCall(MatDestroy(&A));
  }
  if (Case("product")) PetscCall(CheckProduct());
  if (Case("new_values")) PetscCall(CheckNewValues());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    test:
      suffix: host
    test:
      suffix: cuda
      requires: baicuda
      args: -pc_bai_backend cuda
    test:
      suffix: aijcusparse
      requires: baicuda cuda
      args: -mat_type aijcusparse

TEST*/
