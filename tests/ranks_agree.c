static char help[] = "What only some ranks see, an error or another number of threads, is known to all of them: none "
                     "waits for another in vain.\n\n";

#include "check.h"
#include "gallery.h"
#include <petscdmda.h>
#include <omp.h>

/* The number of threads changes on the first rank only, which therefore cuts its rows anew */
static PetscErrorCode Threads(void)
{
  const int   before = omp_get_max_threads();
  KSP         ksp;
  Mat         A;
  Vec         b, x;
  PetscReal   rnorm;
  PetscBool   is;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 30, &A));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  for (int solve = 0; solve < 3; solve++) {
    if (!rank) omp_set_num_threads(1 + solve);
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(IsConverged(ksp, &rnorm, &is));
    PetscCall(Expect(is, "it converges"));
  }
  omp_set_num_threads(before);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DMDA whose local size is that of the matrix on some ranks only: all of them come back from KSPSolve() with an error
 */
static PetscErrorCode Grid(void)
{
  const PetscInt n = 10;
  KSP            ksp;
  DM             da;
  Mat            A;
  Vec            b, x;
  PetscInt       m, first, last;
  PetscMPIInt    rank, size;
  PetscErrorCode code;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, size * n, 1, 1, NULL, &da));
  PetscCall(DMSetUp(da));
  m = n + (rank == 0 && size > 1) - (rank == size - 1 && size > 1); /* in between as the grid has it */
  if (size == 1) m = n - 1;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, 1, NULL, 0, NULL, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; row++) PetscCall(MatSetValue(A, row, row, 3.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPBAISetPartition(ksp, BAI_PARTITION_DM));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  code = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Expect(code != PETSC_SUCCESS, "all ranks come back with an error"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&da));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  if (Case("threads")) PetscCall(Threads());
  if (Case("grid")) PetscCall(Grid());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      nsize: {{1 2 3}}
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda

TEST*/
