static char help[] = "A number of threads that only some ranks see is known to all of them: none waits for another in "
                     "vain.\n\n";

#include "check.h"
#include "gallery.h"
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

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  if (Case("threads")) PetscCall(Threads());
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
