static char help[] =
  "KSPBAI is there however the library comes into a program: linked, by -dll_append, by both, and again after\n\
PetscFinalize(). With -environment, -dll_append comes from PETSC_OPTIONS.\n\n";

#include "baicompat.h"
#include <petscbai.h>
#include <stdlib.h>
#include <string.h>

/* The type is registered, and solves */
static PetscErrorCode Check(PetscBool initialize)
{
  KSP       ksp;
  Mat       A;
  Vec       x, b;
  PetscReal norm;
  PetscErrorCode (*create)(KSP);

  PetscFunctionBeginUser;
  if (initialize) {
    PetscCall(BAIInitializePackage());
    PetscCall(BAIInitializePackage());
  }
  PetscCall(KSPInitializePackage());
  PetscCall(PetscFunctionListFind(KSPList, KSPBAI, &create));
  PetscCheck(create, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s is not registered", KSPBAI);
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, 3, 3, PETSC_DETERMINE, PETSC_DETERMINE, 1, NULL, 0, NULL, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 4));
  PetscCall(MatDiagonalSet(A, b, INSERT_VALUES));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecShift(x, -1));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCheck(norm == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Wrong solution, by %g", (double)norm);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool initialize = PETSC_TRUE, environment;

  for (int k = 1; k < argc; k++) {
    char options[PETSC_MAX_PATH_LEN];

    if (strcmp(argv[k], "-environment")) continue;
    snprintf(options, sizeof(options), "-dll_append %s", getenv("BAI_LIB"));
    if (setenv("PETSC_OPTIONS", options, 1)) return 1;
  }
  PetscCallMPI(MPI_Init(&argc, &argv));
  for (int again = 0; again < 2; again++) {
    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-initialize", &initialize, NULL));
    PetscCall(PetscOptionsHasName(NULL, NULL, "-environment", &environment));
    PetscCall(Check(initialize));
    PetscCall(PetscFinalize());
  }
  PetscCallMPI(MPI_Finalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      test:
         suffix: linked
         nsize: {{1 2}}
      test:
         suffix: loaded
         nsize: {{1 2}}
         args: -initialize 0 -dll_append ${BAI_LIB}
      test:
         suffix: both
         args: -dll_append ${BAI_LIB}
      test:
         suffix: environment
         args: -initialize 0 -environment

TEST*/
