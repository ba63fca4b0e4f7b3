static char help[] = "When the matrix or the options change between solves: the solution is that of the new system, found with no more work than needed.\n\n";

#include <petscbai.h>
#include "baicompat.h"
#include "gallery.h"
#include "residual.h"

static PetscErrorCode Expect(PetscBool right, const char what[], const char when[])
{
  PetscFunctionBeginUser;
  if (!right) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Not so: %s %s\n", what, when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What KSPView() says of the work done so far */
static PetscErrorCode Counts(KSP ksp, PetscInt counts[2])
{
  PetscMPIInt rank;
  PetscViewer viewer;
  char        text[10000], *at;
  FILE       *file     = NULL;
  int         found[2] = {-1, -1};

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) file = tmpfile();
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
  PetscCall(KSPView(ksp, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (rank == 0) {
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    PetscCall(PetscStrstr(text, "set-ups", &at));
    if (at) (void)sscanf(at, "set-ups %d, value updates %d", &found[0], &found[1]);
    fclose(file);
  }
  PetscCallMPI(MPI_Bcast(found, 2, MPI_INT, 0, PETSC_COMM_WORLD));
  for (int k = 0; k < 2; k++) counts[k] = found[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  NOTHING,
  UPDATE,
  SETUP
} Work;

/* Solves, and again by a new solver with the same options */
static PetscErrorCode Check(KSP ksp, Mat A, Work work, const char when[])
{
  KSP                fresh;
  Vec                b, x, y;
  BAIMode            mode;
  PetscInt           sweeps, size, counts[2];
  static PetscInt    before[2] = {0, 0};
  PetscReal          rnorm;
  PetscBool          right, equal;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(b, 1.0));

  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(IsConverged(ksp, &rnorm, &right));
  PetscCall(Expect(right, "it solves", when));
  PetscCall(Counts(ksp, counts));
  PetscCall(Expect((PetscBool)(counts[0] == before[0] + (work == SETUP) && counts[1] == before[1] + (work == UPDATE)), "it does what is needed and no more", when));
  PetscCall(PetscArraycpy(before, counts, 2));

  PetscCall(KSPBAIGetMode(ksp, &mode));
  PetscCall(KSPBAIGetLocalIters(ksp, &sweeps));
  PetscCall(KSPBAIGetBlockSize(ksp, &size));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &fresh));
  PetscCall(KSPSetType(fresh, KSPBAI));
  PetscCall(KSPSetOperators(fresh, A, A));
  PetscCall(KSPSetTolerances(fresh, 1e-8, 1e-50, PETSC_DEFAULT, 10000));
  PetscCall(KSPSetFromOptions(fresh));
  PetscCall(KSPBAISetMode(fresh, mode));
  PetscCall(KSPBAISetLocalIters(fresh, sweeps));
  PetscCall(KSPBAISetBlockSize(fresh, size));
  PetscCall(KSPSolve(fresh, b, y));
  PetscCall(VecEqual(x, y, &equal));
  PetscCall(Expect((PetscBool)(equal || mode != BAI_MODE_SYNC), "in mode sync it gives the bits of a new solver", when));
  PetscCall(KSPDestroy(&fresh));

  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   4 on the diagonal, and -1 in the first row of each rank, in a column that on several ranks is the shift-th of the next one:
   then only the numbers of the other ranks' columns tell one shift from another
*/
static PetscErrorCode OneEntry(PetscInt n, PetscInt shift, Mat *A)
{
  PetscInt rstart, rend;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 2, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 2, NULL, 1, NULL));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++) PetscCall(MatSetValue(*A, row, row, 4.0 + row % 3, INSERT_VALUES));
  PetscCall(MatSetValue(*A, rstart, (rend + shift) % n, -1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  KSP         ksp;
  Mat         A, A2, B, C;
  BAIMode     mode;
  PetscInt    n, row;
  PetscMPIInt rank, size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 15, &A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-8, 1e-50, PETSC_DEFAULT, 10000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Check(ksp, A, SETUP, "the first time"));
  PetscCall(Check(ksp, A, NOTHING, "when nothing is new"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Check(ksp, A, NOTHING, "when it is given the same matrix again"));

  /* New values in the old pattern */
  PetscCall(MatScale(A, 2.0));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Check(ksp, A, UPDATE, "when all values are scaled"));
  PetscCall(MatShift(A, 1.0));
  PetscCall(Check(ksp, A, UPDATE, "when it is not told that the diagonal is shifted"));
  PetscCall(MatGetSize(A, &n, NULL));
  if (rank == size - 1) PetscCall(MatSetValue(A, n - 1, n - 1, 20.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Check(ksp, A, UPDATE, "when it is not told that one value is new"));
  PetscCall(MatGetOwnershipRange(A, &row, NULL));
  row = PetscMax(row, 15); /* on several ranks this value couples two of them */
  if (rank == size - 1) PetscCall(MatSetValue(A, row, row - 15, -0.125, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Check(ksp, A, UPDATE, "when one value off the diagonal is new"));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &A2));
  PetscCall(MatScale(A2, 3.0));
  PetscCall(KSPSetOperators(ksp, A2, A2));
  PetscCall(Check(ksp, A2, UPDATE, "for another matrix of the same pattern"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Check(ksp, A, UPDATE, "for the one before"));

  /* Another pattern */
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 15, &B));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(Check(ksp, B, SETUP, "for another pattern"));
  PetscCall(OneEntry(n, 1, &C));
  PetscCall(KSPSetOperators(ksp, C, C));
  PetscCall(Check(ksp, C, SETUP, "for a pattern of one entry"));
  PetscCall(MatDestroy(&C));
  PetscCall(OneEntry(n, 2, &C));
  PetscCall(KSPSetOperators(ksp, C, C));
  PetscCall(Check(ksp, C, SETUP, "for a pattern with the entry in the next column"));
  PetscCall(MatDestroy(&C));

  /* Other options */
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Check(ksp, A, SETUP, "for the first matrix again"));
  PetscCall(KSPBAISetBlockSize(ksp, 9));
  PetscCall(Check(ksp, A, SETUP, "for another block size"));
  PetscCall(KSPBAISetLocalIters(ksp, 2));
  PetscCall(Check(ksp, A, SETUP, "for more or fewer local sweeps"));
  PetscCall(KSPBAIGetMode(ksp, &mode));
  PetscCall(KSPBAISetMode(ksp, BAI_MODE_SYNC));
  PetscCall(Check(ksp, A, mode == BAI_MODE_SYNC ? NOTHING : SETUP, "for mode sync"));

  /* Another size */
  PetscCall(KSPReset(ksp));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 9, &C));
  PetscCall(KSPSetOperators(ksp, C, C));
  PetscCall(Check(ksp, C, SETUP, "for another size"));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, C, C));
  PetscCall(Check(ksp, C, SETUP, "after KSPReset()"));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&A2));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    requires: !single
    args: -ksp_bai_block_size {{0 16}}shared output

    test:
      suffix: host
      nsize: {{1 3}}
      args: -ksp_bai_mode {{async launch sync}}shared output

    test:
      suffix: cuda
      nsize: {{1 2}}
      requires: baicuda
      args: -ksp_bai_mode {{async launch sync}}shared output -ksp_bai_backend cuda

    test:
      suffix: aijcusparse
      nsize: {{1 2}}
      requires: baicuda cuda
      args: -ksp_bai_mode {{async launch sync}}shared output -mat_type aijcusparse

TEST*/
