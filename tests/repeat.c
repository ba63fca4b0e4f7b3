static char help[] = "Modes sync and color give the same bits in every run, whatever the set-up had to find out.\n\n";

#include "check.h"
#include "gallery.h"

/* Solves as often as this with a new solver each; tau and the bounds of weight auto are found anew each time */
static PetscErrorCode Solver(const char matrix[], PetscInt n, BAIMode mode, BAIWeight weight, int times)
{
  Mat A;
  Vec b, x, first;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &first));
  PetscCall(VecSet(b, 1));
  for (int k = 0; k < times; k++) {
    KSP       ksp;
    PetscBool equal;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPBAI));
    PetscCall(KSPSetTolerances(ksp, PETSC_SMALL, PETSC_DEFAULT, PETSC_DEFAULT, 60));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPBAISetMode(ksp, mode));
    PetscCall(KSPBAISetWeight(ksp, weight));
    PetscCall(KSPSolve(ksp, b, k ? x : first));
    if (k) PetscCall(VecEqual(x, first, &equal));
    if (k) PetscCall(Expect(equal, "solve %d gives the bits of the first", k));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&first));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preconditioner(BAIMode mode, BAIWeight weight, int times)
{
  Mat A;
  Vec b, x, first;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 60, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &first));
  PetscCall(VecSet(b, 1));
  for (int k = 0; k < times; k++) {
    PC        pc;
    PetscBool equal;

    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCBAI));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCBAISetMode(pc, mode));
    PetscCall(PCBAISetWeight(pc, weight));
    PetscCall(PCApply(pc, b, k ? x : first));
    if (k) PetscCall(VecEqual(x, first, &equal));
    if (k) PetscCall(Expect(equal, "application %d gives the bits of the first", k));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&first));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const int times = 6;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (int weight = BAI_WEIGHT_NONE; weight <= BAI_WEIGHT_SAFE; weight++) {
      if (Case("ksp_%s_%s_fv1", BAIModes[mode], BAIWeights[weight])) PetscCall(Solver("fv1", 60, (BAIMode)mode, (BAIWeight)weight, times));
      if (Case("ksp_%s_%s_laplace3d", BAIModes[mode], BAIWeights[weight])) PetscCall(Solver("laplace3d", 16, (BAIMode)mode, (BAIWeight)weight, times));
      if (weight != BAI_WEIGHT_SAFE && Case("pc_%s_%s", BAIModes[mode], BAIWeights[weight])) PetscCall(Preconditioner((BAIMode)mode, (BAIWeight)weight, times));
    }
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      nsize: {{1 2}}
      timeoutfactor: 3
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -pc_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
