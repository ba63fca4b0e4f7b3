static char help[] =
  "A family of kernels that is asked for solves the system, or an error names the option and says why it cannot.\n\n";

#include "check.h"
#include "gallery.h"

static PetscErrorCode Check(const char matrix[], PetscInt n, BAIMode mode, BAIKernel kernel, PetscBool serves)
{
  KSP            ksp;
  Mat            A;
  Vec            b, x;
  PetscReal      rnorm;
  PetscBool      is;
  PetscErrorCode code;
  char           name[64], *found;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-4, PETSC_DEFAULT, PETSC_DEFAULT, 20000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPBAISetMode(ksp, mode));
  PetscCall(SetOption((PetscObject)ksp, "kernel", "%s", BAIKernels[kernel]));
  CheckCall(code, KSPSetUp(ksp));
  PetscCall(PetscSNPrintf(name, sizeof(name), "-ksp_bai_kernel %s: ", BAIKernels[kernel]));
  PetscCall(PetscStrstr(check_said, name, &found));
  if (serves) PetscCall(Expect(!code, "it serves: \"%s\"", check_said));
  else
    PetscCall(Expect(code && found == check_said && strlen(check_said) > strlen(name),
                     "it does not serve, and says why: \"%s\"", code ? check_said : "it served"));
  if (!code) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(IsConverged(ksp, &rnorm, &is));
    PetscCall(Expect(is, "it converges, to %g", (double)rnorm));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool cuda = PETSC_FALSE, refines;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-cuda", &cuda));              /* the backend has families, */
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ksp_bai_refine", &refines)); /* one of which refines */
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (int kernel = BAI_KERNEL_AUTO; kernel <= BAI_KERNEL_GENERIC; kernel++) {
      PetscBool serves = PETSC_TRUE;

      if (kernel == BAI_KERNEL_RESIDENT && mode == BAI_MODE_LAUNCH) serves = PETSC_FALSE;
      if (kernel != BAI_KERNEL_AUTO && (!cuda || (refines && kernel != BAI_KERNEL_GENERIC))) serves = PETSC_FALSE;
      if (Case("%s_%s", BAIKernels[kernel], BAIModes[mode]))
        PetscCall(Check("fv1", 40, (BAIMode)mode, (BAIKernel)kernel, serves));
    }
  }
  if (cuda && Case("large_resident"))
    PetscCall(Check("laplace3d27", 100, BAI_MODE_ASYNC, BAI_KERNEL_RESIDENT, PETSC_FALSE));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      test:
         suffix: host
         args: -ksp_bai_backend host
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -cuda
      test:
         suffix: cuda_refine
         requires: baicuda
         args: -ksp_bai_backend cuda -cuda -ksp_bai_refine async

TEST*/
