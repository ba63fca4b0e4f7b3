static char help[] = "Modes sync and color give the same bits in every run, whatever the set-up had to find out.\n\n";

#include "check.h"
#include "gallery.h"

/* Solves as often as this with a new solver each; tau and the bounds of weight auto are found anew each time. With
   refinement the first residual is that of a guess */
static PetscErrorCode Solver(const char matrix[], PetscInt n, BAIMode mode, BAIWeight weight, BAIRefine refine,
                             int times)
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

    PetscCall(NewKSP(A, KSPBAI, &ksp));
    PetscCall(KSPSetTolerances(ksp, PETSC_SMALL, PETSC_DEFAULT, PETSC_DEFAULT, 60));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPBAISetMode(ksp, mode));
    PetscCall(KSPBAISetWeight(ksp, weight));
    if (refine == BAI_REFINE_SYNC) {
      PetscCall(SetOption((PetscObject)ksp, "refine", "sync"));
      PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
      PetscCall(VecSetRandom(k ? x : first, NULL)); /* the same numbers each time */
    }
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

/* units: each unknown has one of its own, which set-up has to find by products with the matrix */
static PetscErrorCode Preconditioner(const char matrix[], PetscInt n, PetscBool units, BAIMode mode, BAIWeight weight,
                                     int times)
{
  Mat A;
  Vec b, x, first;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  if (units) {
    PetscInt begin, end;

    PetscCall(VecGetOwnershipRange(b, &begin, &end));
    for (PetscInt row = begin; row < end; row++)
      PetscCall(VecSetValue(b, row, PetscPowReal(10, (PetscReal)(row % 5 - 2)), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    PetscCall(MatDiagonalScale(A, b, b));
  }
  PetscCall(VecDuplicate(x, &first));
  PetscCall(VecSet(b, 1));
  for (int k = 0; k < times; k++) {
    PC        pc;
    PetscBool equal;

    PetscCall(NewPC(A, PCBAI, &pc));
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

/* Whether the host sleeps while it waits changes nothing: not with a look at each iteration, nor with few, nor in a
 * whole solve by the engine, nor in a solve with levels or on the chip, which is asked for by interval -1 */
static PetscErrorCode Idle(const char matrix[], PetscInt n, PetscInt interval)
{
  Mat       A;
  Vec       b, x[2];
  PetscInt  its[2];
  PetscBool equal, has;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(MatCreateVecs(A, &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(VecSet(b, 1));
  for (int idle = 0; idle < 2; idle++) {
    KSP       ksp;
    PetscReal rnorm;
    PetscBool is;

    PetscCall(NewKSP(A, KSPBAI, &ksp));
    PetscCall(KSPSetTolerances(ksp, PETSC_SMALL, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
    PetscCall(KSPSetFromOptions(ksp));
    if (interval >= 0) PetscCall(KSPBAISetMode(ksp, BAI_MODE_SYNC));
    PetscCall(SetOption((PetscObject)ksp, "idle_wait", "%s", idle ? "true" : "false"));
    if (interval >= 0) PetscCall(KSPBAISetCheckInterval(ksp, interval));
    PetscCall(KSPSolve(ksp, b, x[idle]));
    PetscCall(KSPGetIterationNumber(ksp, &its[idle]));
    PetscCall(IsConverged(ksp, &rnorm, &is));
    PetscCall(Expect(is, "idle_wait %d: not converged, %g", idle, (double)rnorm));
    PetscCall(ViewHas((PetscObject)ksp, "idle_wait: the host sleeps", &has));
    PetscCall(Expect(has == (PetscBool)idle, "idle_wait %d: the view says otherwise", idle));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecEqual(x[0], x[1], &equal));
  PetscCall(Expect(equal && its[0] == its[1],
                   "%" PetscInt_FMT " iterations awake, %" PetscInt_FMT " asleep, and x is %s", its[0], its[1],
                   equal ? "the same" : "another one"));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&x[k]));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const int times = 6;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (int weight = BAI_WEIGHT_NONE; weight <= BAI_WEIGHT_AUTO; weight++) {
      if (Case("ksp_%s_%s_fv1", BAIModes[mode], BAIWeights[weight]))
        PetscCall(Solver("fv1", 60, (BAIMode)mode, (BAIWeight)weight, BAI_REFINE_AUTO, times));
      if (Case("ksp_%s_%s_laplace3d", BAIModes[mode], BAIWeights[weight]))
        PetscCall(Solver("laplace3d", 16, (BAIMode)mode, (BAIWeight)weight, BAI_REFINE_AUTO, times));
      if (Case("pc_%s_%s", BAIModes[mode], BAIWeights[weight]))
        PetscCall(Preconditioner("laplace2d", 60, PETSC_FALSE, (BAIMode)mode, (BAIWeight)weight, times));
    }
    if (Case("ksp_%s_refine", BAIModes[mode])) /* its long rows are those that cuSPARSE divides */
      PetscCall(Solver("powerlaw", 3000, (BAIMode)mode, BAI_WEIGHT_NONE, BAI_REFINE_SYNC, times));
    if (Case("pc_%s_units", BAIModes[mode]))
      PetscCall(Preconditioner("powerlaw", 3000, PETSC_TRUE, (BAIMode)mode, BAI_WEIGHT_AUTO, times));
  }
  for (PetscInt interval = 0; interval < 3; interval++) {
    if (Case("idle_fv1_%d", (int)interval)) PetscCall(Idle("fv1", 60, interval));
    if (Case("idle_fv3_%d", (int)interval)) PetscCall(Idle("fv3", 60, interval));
  }
  if (Case("idle_chip")) PetscCall(Idle("fv1", 60, -1));
  if (Case("idle_levels")) PetscCall(Idle("laplace3d", 40, -1));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: !single
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
