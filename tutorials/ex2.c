#include <petscbai.h>
#include <petscdmda.h>
#include "smoothers.h"

static char help[] =
  "Compares block-asynchronous iteration with other smoothers in multigrid for -u'' + epsilon u on a line.\n\n\
  ./ex2 -n 1000000 -levels 8 -epsilon 1e-6             points, levels of multigrid, shift of the operator\n\
  ./ex2 -steps 2 -smoothers bai,sor                    smoothing steps before and after, which smoothers\n\
  ./ex2 -mg_levels_pc_bai_local_iters 3                with options of the smoother\n\
  mpiexec -n 4 ./ex2 -mg_levels_pc_bai_omega 0.8       damped where ranks meet, as they read each other's old values\n\
  ./ex2 -dm_mat_type aijcusparse -dm_vec_type cuda     on a GPU\n\
  ./ex2 -view_smoothers                                the options that make up each smoother\n\n";

/* Jacobi is damped as smooths best on a line */
static const Smoother smoothers[] = {
  {"bai",       KSPRICHARDSON, PCBAI,    1, NULL,                   NULL   },
  {"bai-async", KSPRICHARDSON, PCBAI,    1, "pc_bai_mode",          "async"},
  {"sor",       KSPRICHARDSON, PCSOR,    2, "pc_sor_local_forward", "true" },
  {"jacobi",    KSPRICHARDSON, PCJACOBI, 2, "ksp_richardson_scale", "0.667"},
  {"chebyshev", KSPCHEBYSHEV,  PCJACOBI, 2, NULL,                   NULL   }
};
enum {
  BAI,
  BAI_ASYNC,
  SOR,
  JACOBI,
  NSMOOTHERS = PETSC_STATIC_ARRAY_LENGTH(smoothers)
};

/* tridiag(-1, 2 + h^2 epsilon, -1) with h = 1 */
static PetscErrorCode CreateMatrix(DM dm, PetscReal epsilon, Mat *A)
{
  DMDALocalInfo info;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  PetscCall(DMCreateMatrix(dm, A));
  for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
    MatStencil  row = {0}, cols[3] = {{0}};
    PetscScalar values[3];
    PetscInt    n = 0;

    row.i = i;
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, info.mx - 1); j++) {
      cols[n].i   = j;
      values[n++] = j == i ? 2 + epsilon : -1;
    }
    PetscCall(MatSetValuesStencil(*A, 1, &row, n, cols, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Says what should not be so; how many cycles bai-async takes differs a little from run to run */
static PetscErrorCode Check(const SmootherResult results[])
{
  PetscFunctionBeginUser;
  for (int k = BAI; k <= BAI_ASYNC; k++) {
    if (results[k].reason < 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s does not converge\n", smoothers[k].name));
  }
  if (!results[BAI].reason || !results[SOR].reason || !results[JACOBI].reason)
    PetscFunctionReturn(0); /* left out by -smoothers */
  if (results[BAI].cycles > results[SOR].cycles + 1)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bai takes %" PetscInt_FMT " cycles, sor %" PetscInt_FMT "\n",
                          results[BAI].cycles, results[SOR].cycles));
  if (results[BAI].cycles > results[JACOBI].cycles)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bai takes %" PetscInt_FMT " cycles, jacobi %" PetscInt_FMT "\n",
                          results[BAI].cycles, results[JACOBI].cycles));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM             dm;
  Mat            A;
  PetscInt       n = 10000, levels = 5, cells, points;
  SmootherResult results[NSMOOTHERS];
  PetscReal      epsilon = 1e-4;
  PetscBool      check   = PETSC_FALSE, view;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The problem", NULL);
  PetscCall(PetscOptionsInt("-n", "Points", "ex2.c", n, &n, NULL));
  PetscCall(PetscOptionsInt("-levels", "Levels of multigrid", "ex2.c", levels, &levels, NULL));
  PetscCall(PetscOptionsReal("-epsilon", "Shift of the operator", "ex2.c", epsilon, &epsilon, NULL));
  PetscCall(PetscOptionsBool("-check", "Print only what should not be so", "ex2.c", check, &check, NULL));
  PetscOptionsEnd();
  PetscCall(PetscOptionsHasName(NULL, NULL, "-view_smoothers", &view));
  PetscCheck(levels > 1 && levels < 31, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-levels %" PetscInt_FMT " must be from 2 to 30", levels);

  /* Every level has every second point of the next finer one, with the first and the last among them */
  cells  = (PetscInt)1 << (levels - 1);
  points = (n - 1) / cells * cells + 1;
  PetscCheck(points > cells, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-n %" PetscInt_FMT " must be at least %" PetscInt_FMT " with %" PetscInt_FMT " levels", n, cells + 1,
             levels);
  if (points != n && !check && !view)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%" PetscInt_FMT " points instead of %" PetscInt_FMT ", so that all %" PetscInt_FMT
                          " levels fit\n",
                          points, n, levels));
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, points, 1, 1, NULL, &dm));
  PetscCall(DMSetRefineLevel(dm, levels - 1));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));

  PetscCall(CreateMatrix(dm, epsilon, &A));
  PetscCall(SmoothersCompare(dm, A, smoothers, NSMOOTHERS, check ? results : NULL));
  if (check) PetscCall(Check(results));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    requires: !single
    args: -check -n {{1000 5000}}shared output -epsilon {{1e-6 1e-4 1e-1}}shared output

    test:
      suffix: host

    test:
      suffix: mpi
      nsize: 2
      args: -mg_levels_pc_bai_omega 0.8

    test:
      suffix: cuda
      requires: baicuda cuda
      args: -dm_mat_type aijcusparse -dm_vec_type cuda

  test:
    suffix: view
    args: -view_smoothers -steps 2

TEST*/
