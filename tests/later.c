static char help[] = "What solves learn never makes a later one slower.\n\n";

#include "check.h"
#include "gallery.h"

/* Solves the same system again and again. No solve takes 5 % more iterations than the best of the first three. Mode
 * sync gives the same numbers in every run; the others may take a few iterations more */
static PetscErrorCode Again(const char matrix[], PetscInt n, BAIMode mode, PetscReal rtol)
{
  enum {
    SOLVES = 12,
    FIRST  = 3
  };
  Mat            A;
  Vec            b, x;
  KSP            ksp;
  PetscInt       its, best = PETSC_MAX_INT;
  const PetscInt few     = mode == BAI_MODE_SYNC ? 1 : 20;
  PetscBool      verbose = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-verbose", &verbose));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 100000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPBAISetMode(ksp, mode));
  for (int k = 0; k < SOLVES; k++) {
    KSPConvergedReason reason;

    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %" PetscInt_FMT, its));
    PetscCall(Expect(reason > 0, "solve %d: %s", k, KSPConvergedReasons[reason]));
    if (k < FIRST) best = PetscMin(best, its);
    else
      PetscCall(Expect(its <= best + best / 20 + few,
                       "solve %d takes %" PetscInt_FMT " iterations, one of the first %d %" PetscInt_FMT, k, its,
                       (int)FIRST, best));
  }
  if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s\n", check.name));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *matrix;
    PetscInt    n[5];
  } systems[] = {
    {"fv3",         {30, 70, 120, 200, 300}},
    {"fv1",         {60, 120}              },
    {"laplace2d",   {40, 100, 160}         },
    {"laplace3d",   {16, 24, 36}           },
    {"laplace3d27", {16, 24}               },
    {"helmholtz",   {100}                  },
    {"anisotropic", {60, 100}              },
    {"mesh",        {60, 100}              },
    {"trefethen",   {2000}                 }
  };
  const PetscReal rtol[] = {1e-6, 1e-10};

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(systems); s++) {
    for (int k = 0; k < 5 && systems[s].n[k]; k++) {
      for (int r = 0; r < 2; r++) {
        const PetscInt n = systems[s].n[k];

        if (Case("sync_%s_%d_%g", systems[s].matrix, (int)n, (double)rtol[r]))
          PetscCall(Again(systems[s].matrix, n, BAI_MODE_SYNC, rtol[r]));
        if (k < 2 && Case("async_%s_%d_%g", systems[s].matrix, (int)n, (double)rtol[r]))
          PetscCall(Again(systems[s].matrix, n, BAI_MODE_ASYNC, rtol[r]));
      }
    }
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      timeoutfactor: 3
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
