static char help[] =
  "Solves with the same matrix and right side take the same iterations, however many came before.\n\n";

#include "check.h"
#include "gallery.h"

/* Solves the same system again and again, without options: no later solve takes more than an iteration more */
static PetscErrorCode Again(const char matrix[], PetscInt n, PetscReal rtol, int solves)
{
  Mat       A;
  Vec       b, x;
  KSP       ksp;
  PetscInt  its, first = 0;
  PetscBool verbose = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-verbose", &verbose));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 100000));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < solves; k++) {
    KSPConvergedReason reason;
    PetscReal          rnorm;
    PetscBool          is;

    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(IsConverged(ksp, &rnorm, &is));
    if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %" PetscInt_FMT, its));
    PetscCall(
      Expect(reason > 0 && is, "solve %d: %s, true residual norm %g", k, KSPConvergedReasons[reason], (double)rnorm));
    if (!k) first = its;
    PetscCall(Expect(PetscAbsInt(its - first) <= 1,
                     "solve %d takes %" PetscInt_FMT " iterations, the first one %" PetscInt_FMT, k, its, first));
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
    PetscInt    n[4], large[7]; /* the latter with -large only; 0 ends each list */
  } systems[] = {
    {"fv3",         {30, 70, 120}, {200, 300, 500, 700, 1000, 1400}},
    {"fv1",         {60, 120},     {0}                             },
    {"laplace2d",   {40, 100},     {160, 500}                      },
    {"laplace3d",   {16, 24},      {36, 48, 64, 100, 128}          },
    {"laplace3d27", {16, 24},      {0}                             },
    {"helmholtz",   {100},         {0}                             },
    {"anisotropic", {60, 100},     {500}                           },
    {"mesh",        {60, 100},     {0}                             },
    {"trefethen",   {2000},        {20000}                         }
  };
  const PetscReal rtol[] = {1e-6, 1e-10};
  PetscBool       large  = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-large", &large));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(systems); s++) {
    for (int r = 0; r < 2; r++) {
      for (int k = 0; systems[s].n[k]; k++) {
        if (Case("%s_%d_%g", systems[s].matrix, (int)systems[s].n[k], (double)rtol[r]))
          PetscCall(Again(systems[s].matrix, systems[s].n[k], rtol[r], 12));
      }
      for (int k = 0; large && systems[s].large[k]; k++) {
        if (Case("%s_%d_%g", systems[s].matrix, (int)systems[s].large[k], (double)rtol[r]))
          PetscCall(Again(systems[s].matrix, systems[s].large[k], rtol[r], 16));
      }
    }
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: !single
      timeoutfactor: 3
      test:
         suffix: host
         nsize: {{1 2}}
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -large

TEST*/
