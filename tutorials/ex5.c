#include <petscbai.h>
#include <petscdmda.h>
#include <petscsnes.h>

static char help[] =
  "Bratu's problem -Laplace(u) = lambda e^u in the unit square or cube, u = 0 on its boundary: Newton's method with\n\
KSPBAI inside.\n\n\
  ./ex5 -lambda 6.8 -snes_monitor -ksp_converged_reason\n\
                                                       near the greatest lambda with a solution, 6.808, a little\n\
                                                       less on coarse grids\n\
  ./ex5 -dim 3 -lambda 9.5 -da_refine 1                in three dimensions, where it is 9.9, on 65^3 points instead\n\
                                                       of 33^3\n\
  ./ex5 -ksp_rtol 1e-3 -ksp_bai_mode color             any option of SNES and KSP\n\
  ./ex5 -snes_ksp_ew                                   linear solves as accurate as Newton's method needs them\n\
  ./ex5 -da_refine 3 -snes_ksp_ew -ksp_type fgmres -pc_type mg -mg_levels_ksp_type richardson\n\
        -mg_levels_ksp_max_it 1 -mg_levels_pc_type bai\n\
                                                       by multigrid, with block-asynchronous iteration as smoother\n\
  ./ex5 -dm_mat_type aijcusparse -dm_vec_type cuda     with the linear systems solved on a GPU\n\n";

#define STENCIL_MAX 7

/*
   The row of -Laplace, times the volume of a cell, at a point; the diagonal comes first. Neighbours on the boundary are
   zero and no columns, so that the Jacobian is symmetric. Returns how many columns there are, and the volume, which is
   zero for a point on the boundary.
*/
static PetscInt LaplaceRow(const DMDALocalInfo *info, PetscInt i, PetscInt j, PetscInt k, MatStencil cols[],
                           PetscScalar values[], PetscReal *volume)
{
  const PetscInt at[3] = {i, j, k}, last[3] = {info->mx - 1, info->my - 1, info->mz - 1}, dim = info->dim == 2 ? 2 : 3;
  PetscBool      boundary = PETSC_FALSE;
  PetscInt       n        = 1;

  *volume = 1;
  for (PetscInt d = 0; d < dim; d++) *volume /= last[d];
  cols[0].i = i;
  cols[0].j = j;
  cols[0].k = k;
  values[0] = 0;
  for (PetscInt d = 0; d < dim; d++) {
    const PetscReal weight = *volume * last[d] * last[d];

    values[0] += 2 * weight;
    if (at[d] == 0 || at[d] == last[d]) boundary = PETSC_TRUE;
    for (PetscInt neighbour = at[d] - 1; neighbour <= at[d] + 1; neighbour += 2) {
      if (neighbour <= 0 || neighbour >= last[d]) continue;
      cols[n]     = cols[0];
      values[n++] = -weight;
      if (d == 0) cols[n - 1].i = neighbour;
      else if (d == 1) cols[n - 1].j = neighbour;
      else cols[n - 1].k = neighbour;
    }
  }
  if (!boundary) return n;
  *volume = 0;
  return 1;
}

/* Where a point is in a local vector */
static PetscInt LocalIndex(const DMDALocalInfo *info, const MatStencil *point)
{
  return ((point->k - info->gzs) * info->gym + point->j - info->gys) * info->gxm + point->i - info->gxs;
}

/* -Laplace(u) - lambda e^u; u is a local vector, f a global one */
static PetscErrorCode FunctionLocal(DMDALocalInfo *info, Vec u, Vec f, void *ctx)
{
  const PetscReal    lambda = *(PetscReal *)ctx;
  const PetscScalar *au;
  PetscScalar       *af, values[STENCIL_MAX];
  MatStencil         cols[STENCIL_MAX] = {{0}};
  PetscReal          volume;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(u, &au));
  PetscCall(VecGetArrayWrite(f, &af));
  for (PetscInt k = info->zs, row = 0; k < info->zs + info->zm; k++) {
    for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
      for (PetscInt i = info->xs; i < info->xs + info->xm; i++, row++) {
        const PetscInt n = LaplaceRow(info, i, j, k, cols, values, &volume);

        af[row] = -volume * lambda * PetscExpScalar(au[LocalIndex(info, &cols[0])]);
        for (PetscInt c = 0; c < n; c++) af[row] += values[c] * au[LocalIndex(info, &cols[c])];
      }
    }
  }
  PetscCall(VecRestoreArrayWrite(f, &af));
  PetscCall(VecRestoreArrayRead(u, &au));
  PetscFunctionReturn(0);
}

/* -Laplace - lambda e^u */
static PetscErrorCode JacobianLocal(DMDALocalInfo *info, Vec u, Mat A, Mat J, void *ctx)
{
  const PetscReal    lambda = *(PetscReal *)ctx;
  const PetscScalar *au;
  PetscScalar        values[STENCIL_MAX];
  MatStencil         cols[STENCIL_MAX] = {{0}};
  PetscReal          volume;

  PetscFunctionBeginUser;
  (void)A;
  PetscCall(VecGetArrayRead(u, &au));
  for (PetscInt k = info->zs; k < info->zs + info->zm; k++) {
    for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
      for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
        const PetscInt n = LaplaceRow(info, i, j, k, cols, values, &volume);

        values[0] -= volume * lambda * PetscExpScalar(au[LocalIndex(info, &cols[0])]);
        PetscCall(MatSetValuesStencil(J, 1, &cols[0], n, cols, values, INSERT_VALUES));
      }
    }
  }
  PetscCall(VecRestoreArrayRead(u, &au));
  PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/*
   From u = 0 Newton's steps climb to the lower of the two solutions without passing it, and the matrix of each is an
   M-matrix, for which block-asynchronous iteration converges. The prefix is that of the solver's options.
*/
static PetscErrorCode Solve(DM dm, KSPType ksptype, PCType pctype, PetscReal rtol, const char prefix[], Vec u,
                            SNES *snes)
{
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(SNESCreate(PETSC_COMM_WORLD, snes));
  PetscCall(SNESSetOptionsPrefix(*snes, prefix));
  PetscCall(SNESSetDM(*snes, dm));
  PetscCall(SNESGetKSP(*snes, &ksp));
  PetscCall(KSPSetType(ksp, ksptype));
  if (pctype) {
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, pctype));
  }
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 100000));
  PetscCall(SNESSetFromOptions(*snes));
  PetscCall(VecSet(u, 0));
  PetscCall(SNESSolve(*snes, NULL, u));
  PetscFunctionReturn(0);
}

/* Newton steps, linear iterations, and the solution's root mean square and maximum */
static PetscErrorCode Print(SNES snes, Vec u)
{
  PetscInt            steps, its, n;
  PetscReal           norm, maximum;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(SNESGetIterationNumber(snes, &steps));
  PetscCall(SNESGetLinearSolveIterations(snes, &its));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(VecGetSize(u, &n));
  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(VecNorm(u, NORM_INFINITY, &maximum));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%" PetscInt_FMT " Newton steps, %" PetscInt_FMT
                        " linear iterations, %s: of u, root mean square %g, maximum %g\n",
                        steps, its, SNESConvergedReasons[reason], (double)(norm / PetscSqrtReal((PetscReal)n)),
                        (double)maximum));
  PetscFunctionReturn(0);
}

/* Says if u is not what CG leads to, or if Newton's method takes more steps than with CG and one more */
static PetscErrorCode Check(DM dm, SNES snes, Vec u)
{
  SNES                cg;
  Vec                 reference;
  SNESConvergedReason reason;
  PetscInt            steps, cgsteps;
  PetscReal           error, norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(u, &reference));
  PetscCall(Solve(dm, KSPCG, PCJACOBI, 1e-12, "reference_", reference, &cg));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  if (reason <= 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Newton's method: %s\n", SNESConvergedReasons[reason]));
  PetscCall(SNESGetConvergedReason(cg, &reason));
  if (reason <= 0)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Newton's method with cg: %s\n", SNESConvergedReasons[reason]));
  PetscCall(VecNorm(reference, NORM_2, &norm));
  PetscCall(VecAXPY(reference, -1, u));
  PetscCall(VecNorm(reference, NORM_2, &error));
  if (!(error <= 1e-6 * norm))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "The solution is %g off\n", (double)(error / norm)));
  PetscCall(SNESGetIterationNumber(snes, &steps));
  PetscCall(SNESGetIterationNumber(cg, &cgsteps));
  if (steps > cgsteps + 1)
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " Newton steps, with cg %" PetscInt_FMT "\n", steps, cgsteps));
  PetscCall(SNESDestroy(&cg));
  PetscCall(VecDestroy(&reference));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM        dm;
  SNES      snes;
  Vec       u;
  PetscInt  dim    = 2;
  PetscReal lambda = 6, most;
  PetscBool check  = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The problem", NULL);
  PetscCall(PetscOptionsInt("-dim", "2 or 3 dimensions", "ex5.c", dim, &dim, NULL));
  PetscCall(PetscOptionsReal("-lambda", "Factor of e^u", "ex5.c", lambda, &lambda, NULL));
  PetscCall(PetscOptionsBool("-check", "Print only what should not be so", "ex5.c", check, &check, NULL));
  PetscOptionsEnd();
  PetscCheck(dim == 2 || dim == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-dim %" PetscInt_FMT " must be 2 or 3",
             dim);
  most = dim == 2 ? 6.808 : 9.9;
  PetscCheck(lambda >= 0 && lambda <= most, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-lambda %g must be from 0 to %g, beyond which there is no solution in %" PetscInt_FMT " dimensions",
             (double)lambda, (double)most, dim);

  /* 9 points a side refined twice */
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 33, 33,
                           PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &dm));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                           33, 33, 33, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &dm));
  PetscCall(DMSetRefineLevel(dm, 2));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMDASNESSetFunctionLocalVec(dm, INSERT_VALUES, FunctionLocal, &lambda));
  PetscCall(DMDASNESSetJacobianLocalVec(dm, JacobianLocal, &lambda));

  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(Solve(dm, KSPBAI, NULL, PETSC_DEFAULT, NULL, u, &snes));
  if (check) PetscCall(Check(dm, snes, u));
  else PetscCall(Print(snes, u));

  PetscCall(VecDestroy(&u));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2}}
    requires: !single
    output_file: output/empty.out
    args: -check

    test:
      suffix: modes
      args: -da_grid_x 17 -da_grid_y 17 -lambda 6.5 -ksp_bai_mode {{async launch sync color}}

    test:
      suffix: modes_3d
      args: -dim 3 -da_grid_x 9 -da_grid_y 9 -da_grid_z 9 -lambda 9.5 -ksp_bai_mode {{async launch sync color}}

    test:
      suffix: grid
      args: -da_grid_x 21 -da_grid_y 11 -lambda {{0 1 6}}

    test:
      suffix: mg
      args: -dim {{2 3}} -ksp_type {{fgmres gmres}} -pc_type mg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 \
            -mg_levels_pc_type bai

    test:
      suffix: modes_aijcusparse
      requires: baicuda cuda
      args: -dim {{2 3}} -da_grid_x 17 -da_grid_y 17 -da_grid_z 9 -lambda 6.5 -ksp_bai_mode {{async launch sync \
            color}} -dm_mat_type aijcusparse -dm_vec_type cuda -options_left no

    test:
      suffix: mg_aijcusparse
      requires: baicuda cuda
      args: -dim {{2 3}} -ksp_type fgmres -pc_type mg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 \
            -mg_levels_pc_type bai -dm_mat_type aijcusparse -dm_vec_type cuda

  testset:
    nsize: {{1 2}}
    requires: !single
    output_file: output/ex5_steps.out
    filter: cut -d , -f 1
    args: -da_grid_x 17 -da_grid_y 17 -ksp_rtol 1e-10 -snes_rtol 1e-6

    test:
      suffix: steps
      args: -ksp_bai_mode {{async sync color}}

    test:
      suffix: steps_aijcusparse
      requires: baicuda cuda
      args: -ksp_bai_mode {{async sync color}} -dm_mat_type aijcusparse -dm_vec_type cuda

  testset:
    nsize: {{1 2}}
    requires: !single
    output_file: output/ex5_mg_steps.out
    filter: cut -d , -f 1-2
    args: -da_refine 1 -lambda 6 -ksp_type fgmres -ksp_rtol 3e-7 -pc_type mg -mg_levels_ksp_type richardson \
          -mg_levels_ksp_max_it 1 -mg_levels_pc_type bai

    test:
      suffix: mg_steps

  testset:
    filter: Error:grep -o -e "-lambda .* must .*" -e "-dim .* must .*" | head -n 1
    diff_args: -j

    test:
      suffix: negative
      args: -lambda -1

    test:
      suffix: large
      args: -lambda 6.9

    test:
      suffix: large_3d
      args: -dim 3 -lambda 10

    test:
      suffix: dim
      args: -dim 1

TEST*/
