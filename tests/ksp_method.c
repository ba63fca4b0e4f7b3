static char help[] = "Momentum, weights, partitions, theta and precision: what they promise, in every mode "
                     "and on every backend.\n\n";

#include "check.h"
#include "gallery.h"
#include <petscdmda.h>

/* Solves A x = 1 from zero; its is negative if it did not converge. The residual norm is checked against a MatMult() */
static PetscErrorCode Solve(KSP ksp, Mat A, const char what[], PetscReal rtol, PetscInt *its)
{
  Vec                b, x;
  BAIMode            mode;
  KSPConvergedReason reason;
  PetscReal          rnorm;
  PetscBool          right;

  PetscFunctionBeginUser;
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 30000));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPBAIGetMode(ksp, &mode));
  if (reason > 0) {
    PetscCall(IsConverged(ksp, &rnorm, &right));
    PetscCall(ExpectMode(right, "residual norm of a converged solve", what, mode, (double)rnorm));
  } else *its = -1;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(BAIMode mode, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPBAI));
  PetscCall(KSPBAISetBlockSize(*ksp,
                               mode == BAI_MODE_COLOR
                                 ? 128
                                 : 64)); /* smaller ones take turns together, and cannot be over-relaxed */
  PetscCall(
    SetOption((PetscObject)*ksp, "exchange", "scatter")); /* iterations are compared, and of ranks that do not wait
                                                               there are any number */
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPBAISetMode(*ksp, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pentadiagonal and positive definite; Jacobi diverges */
static PetscErrorCode CreateBanded(PetscInt n, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 5, NULL, 4, NULL));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscScalar five[] = {1, -4, 6.1, -4, 1};

    for (PetscInt k = 0; k < 5; k++) {
      if (row + k - 2 >= 0 && row + k - 2 < n) PetscCall(MatSetValue(*A, row, row + k - 2, five[k], INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a fixed momentum there are fewer iterations where they are many */
static PetscErrorCode Momentum(void)
{
  const char *const matrices[] = {"laplace2d", "laplace3d", "fv3"};
  const PetscInt    n[]        = {60, 20, 40};
  const PetscReal   rtol       = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9;

  PetscFunctionBeginUser;
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    KSP ksp;

    PetscCall(Create((BAIMode)mode, &ksp));
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(matrices); c++) {
      Mat       A;
      PetscInt  without, with;
      PetscBool cuda;

      if (!Case("momentum_%s_%s", matrices[c], BAIModes[mode])) continue;
      PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrices[c], n[c], &A));
      PetscCall(KSPBAISetMomentum(ksp, 0));
      PetscCall(Solve(ksp, A, matrices[c], rtol, &without));
      PetscCall(KSPBAISetMomentum(ksp, 0.2));
      PetscCall(Solve(ksp, A, matrices[c], rtol, &with));
      PetscCall(
        ViewHas((PetscObject)ksp, "backend cuda", &cuda)); /* whose values are staler, so that momentum gains less */
      PetscCall(ExpectMode(with > 0 && (cuda && mode == BAI_MODE_ASYNC ? 1.02 : 1.1) * with < without,
                           "fewer iterations with a fixed momentum", matrices[c], (BAIMode)mode, (double)with));
      PetscCall(MatDestroy(&A));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A positive definite matrix on which Jacobi diverges */
static PetscErrorCode Weights(void)
{
  PetscFunctionBeginUser;
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (int weight = BAI_WEIGHT_NONE; weight <= BAI_WEIGHT_AUTO; weight++) {
      for (PetscInt sweeps = 1; sweeps <= 3; sweeps += 2) {
        const PetscBool can = (PetscBool)(weight != BAI_WEIGHT_NONE && (weight != BAI_WEIGHT_L1 || sweeps == 1));
        KSP             ksp;
        Mat             A;
        PetscInt        its;

        if (!Case("weight_%s_%s_local_iters%" PetscInt_FMT, BAIModes[mode], BAIWeights[weight], sweeps)) continue;
        PetscCall(CreateBanded(400, &A));
        PetscCall(Create((BAIMode)mode, &ksp));
        PetscCall(KSPBAISetLocalIters(ksp, sweeps));
        PetscCall(KSPBAISetWeight(ksp, (BAIWeight)weight));
        if (weight == BAI_WEIGHT_L1)
          PetscCall(KSPBAISetBlockSize(ksp, 1)); /* so that the weight is the full one, which always converges */
        PetscCall(Solve(ksp, A, BAIWeights[weight], 1e-4, &its));
        if (can) PetscCall(ExpectMode(its > 0, "convergence", BAIWeights[weight], (BAIMode)mode, (double)sweeps));
        if (weight == BAI_WEIGHT_NONE && mode != BAI_MODE_COLOR)
          PetscCall(ExpectMode(its < 0, "divergence", BAIWeights[weight], (BAIMode)mode, (double)sweeps));
        PetscCall(KSPDestroy(&ksp));
        PetscCall(MatDestroy(&A));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A weight that is changed after set-up does what it does in a new solver; the local sweeps are damped alike in all, so
 * that nothing else is set up anew */
static PetscErrorCode ChangeWeight(void)
{
  const BAIWeight weights[] = {BAI_WEIGHT_NONE, BAI_WEIGHT_TAU, BAI_WEIGHT_NONE, BAI_WEIGHT_AUTO};
  Mat             A;
  Vec             b, x;
  KSP             ksp[2];

  PetscFunctionBeginUser;
  PetscCall(CreateBanded(400, &A));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(Create(BAI_MODE_SYNC, &ksp[0]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(weights); k++) {
    PetscReal rnorm[2];

    PetscCall(Create(BAI_MODE_SYNC, &ksp[1]));
    for (int s = 0; s < 2; s++) {
      PetscCall(KSPSetOperators(ksp[s], A, A));
      PetscCall(KSPSetTolerances(ksp[s], 1e-12, PETSC_DEFAULT, 1e30, 10));
      PetscCall(KSPBAISetLocalOmega(ksp[s], 0));
      PetscCall(KSPBAISetWeight(ksp[s], weights[k]));
      PetscCall(KSPSolve(ksp[s], b, x));
      PetscCall(KSPGetResidualNorm(ksp[s], &rnorm[s]));
    }
    PetscCall(ExpectMode(rnorm[0] == rnorm[1], "residual norm after a change of weight, as of a new solver",
                         BAIWeights[weights[k]], BAI_MODE_SYNC, (double)(rnorm[0] - rnorm[1])));
    PetscCall(KSPDestroy(&ksp[1]));
  }
  PetscCall(KSPDestroy(&ksp[0]));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* auto takes blocks along the couplings if consecutive rows have none, but not around rows that no block can hold; it
 * keeps them for new values, and gains by them */
static PetscErrorCode Automatic(void)
{
  const char *const matrices[] = {"chem97ztz-like", "laplace2d", "powerlaw"};
  const PetscInt    n[]        = {2541, 50, 20000};

  PetscFunctionBeginUser;
  for (int m = 0; m < 3; m++) {
    if (!Case("partition_auto_%s", matrices[m])) continue;
    for (int type = BAI_PARTITION_AUTO; type <= BAI_PARTITION_NATURAL; type++) {
      const PetscBool graph = (PetscBool)(!m && type == BAI_PARTITION_AUTO);
      static PetscInt natural, its;
      PetscBool       has;
      KSP             ksp;
      Mat             A;

      PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrices[m], n[m], &A));
      PetscCall(Create(BAI_MODE_SYNC, &ksp));
      PetscCall(KSPBAISetMomentum(ksp, 0));
      PetscCall(KSPBAISetPartition(ksp, (BAIPartitionType)type));
      PetscCall(Solve(ksp, A, matrices[m], 1e-6, type == BAI_PARTITION_NATURAL ? &natural : &its));
      PetscCall(MatScale(A, 2));
      PetscCall(KSPSetUp(ksp));
      PetscCall(ViewHas((PetscObject)ksp, graph ? ", partition graph," : ", partition ", &has));
      PetscCall(ExpectMode(has == graph, "partition in use", matrices[m], BAI_MODE_SYNC, type));
      if (!m && type == BAI_PARTITION_NATURAL)
        PetscCall(ExpectMode(0 < its && its < 0.95 * natural, "fewer iterations than with consecutive rows",
                             matrices[m], BAI_MODE_SYNC, (double)its));
      PetscCall(KSPDestroy(&ksp));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution does not depend on the partition; compact blocks take fewer iterations. theta does not do more local
 * sweeps */
static PetscErrorCode Partitions(void)
{
  DM  dm;
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 33, 35, PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  {
    DMDALocalInfo info;

    PetscCall(DMDAGetLocalInfo(dm, &info));
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const MatStencil row =
                           {
                             .i = i, .j = j
        },
                         cols[5]    = {{.i = i, .j = j},
                                       {.i = i - 1, .j = j},
                                       {.i = i + 1, .j = j},
                                       {.i = i, .j = j - 1},
                                       {.i = i, .j = j + 1}};
        const PetscScalar values[5] = {4.02, -1, -1, -1, -1};

        for (int k = 0; k < 5; k++) {
          if (cols[k].i >= 0 && cols[k].i < info.mx && cols[k].j >= 0 && cols[k].j < info.my)
            PetscCall(MatSetValuesStencil(A, 1, &row, 1, &cols[k], &values[k], INSERT_VALUES));
        }
      }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    PetscInt natural = 0;

    if (!Case("partition_%s", BAIModes[mode])) continue;
    for (int type = BAI_PARTITION_NATURAL; type <= BAI_PARTITION_GRAPH; type++) {
      for (int theta = 0; theta < 2; theta++) {
        BAIPartitionType used;
        KSP              ksp;
        PetscInt         its;

        PetscCall(Create((BAIMode)mode, &ksp));
        PetscCall(KSPBAISetPartition(ksp, (BAIPartitionType)type));
        PetscCall(SetOption((PetscObject)ksp, "theta", "%s", theta ? "true" : "false"));
        PetscCall(KSPBAISetLocalIters(ksp, 10));
        PetscCall(KSPBAISetBlockSize(ksp, 36));
        PetscCall(Solve(ksp, A, BAIPartitionTypes[type], PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, &its));
        PetscCall(ExpectMode(its > 0, "convergence", BAIPartitionTypes[type], (BAIMode)mode, theta));
        PetscCall(KSPBAIGetPartition(ksp, &used));
        PetscCall(ExpectMode((int)used == type, "partition in use", BAIPartitionTypes[type], (BAIMode)mode, used));
        if (type == BAI_PARTITION_NATURAL && !theta) natural = its;
        if (mode == BAI_MODE_SYNC && !theta && type == BAI_PARTITION_GRAPH)
          PetscCall(ExpectMode(its < 0.9 * natural, "fewer iterations than with consecutive rows",
                               BAIPartitionTypes[type], (BAIMode)mode, (double)its));
        PetscCall(KSPDestroy(&ksp));
      }
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To 1e-12; and with a number of iterations instead of a tolerance as far as in native precision */
static PetscErrorCode Refinement(BAIMode mode)
{
  const PetscReal rtol = 1e-12;
  PetscReal       norm[2];
  PetscInt        its, native;
  KSP             ksp;
  Mat             A;
  Vec             b, x, r;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 0, &A));
  PetscCall(Create(mode, &ksp));
  PetscCall(Solve(ksp, A, "native precision", rtol, &native));
  PetscCall(KSPBAISetPrecision(ksp, BAI_PRECISION_SINGLE));
  PetscCall(Solve(ksp, A, "single precision", rtol, &its));
  PetscCall(ExpectMode(native > 0 && its > 0 && its <= native + native / 4 + 10, "iterations",
                       "single precision on fv1", mode, its));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 90));
  PetscCall(KSPBAISetMomentum(ksp, 0.0));
  for (int single = 0; single < 2; single++) {
    PetscCall(KSPBAISetPrecision(ksp, single ? BAI_PRECISION_SINGLE : BAI_PRECISION_NATIVE));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(MatResidual(A, b, x, r));
    PetscCall(VecNorm(r, NORM_2, &norm[single]));
  }
  PetscCall(ExpectMode(norm[1] <= (mode == BAI_MODE_ASYNC ? 1e3 : 1.1) * norm[0] + 1e-11, "residual",
                       "so many iterations in single precision", mode, (PetscInt)(norm[1] / norm[0])));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A rounded matrix is solved with, but not solved: the residual falls far below what rounding it would leave */
static PetscErrorCode Precision(void)
{
  const PetscReal rtol =
    1e-10; /* a hundredth of what rounding leaves, and far enough above the rounding of residuals in double precision */

  PetscFunctionBeginUser;
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (int moves = 0; moves < 2; moves++) {
      KSP      ksp;
      Mat      A;
      PetscInt its, native;

      if (!Case("precision_%s_momentum_%d", BAIModes[mode], moves)) continue;
      PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 24, &A));
      PetscCall(MatScale(A, 1. / 3)); /* not exact in single precision */
      PetscCall(Create((BAIMode)mode, &ksp));
      PetscCall(KSPBAISetMomentum(ksp, moves ? 0.2 : 0));
      PetscCall(Solve(ksp, A, "native precision", rtol, &native));
      PetscCall(ExpectMode(native > 0, "convergence", "native precision", (BAIMode)mode, native));
      PetscCall(KSPBAISetPrecision(ksp, BAI_PRECISION_SINGLE));
      PetscCall(Solve(ksp, A, "single precision", rtol, &its));
      PetscCall(
        ExpectMode(its > 0 && its <= native + native / 4 + 10, "iterations", "single precision", (BAIMode)mode, its));
      PetscCall(KSPDestroy(&ksp));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(Momentum());
  PetscCall(Weights());
  if (Case("weight_change")) PetscCall(ChangeWeight());
  PetscCall(Partitions());
  PetscCall(Automatic());
  PetscCall(Precision());
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    if (Case("precision_fv1_%s", BAIModes[mode])) PetscCall(Refinement((BAIMode)mode));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      timeoutfactor: 4
      nsize: {{1 2}}
      test:
         suffix: host_momentum
         args: -case momentum
      test:
         suffix: host_weight
         args: -case weight
      test:
         suffix: host_partition
         args: -case partition
      test:
         suffix: host_precision
         args: -case precision

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -dm_mat_type aijcusparse
      # ranks that share a GPU exchange slowly: a part of it only
      test:
         suffix: aijcusparse_mpi
         nsize: 2
         requires: baicuda cuda
         args: -mat_type aijcusparse -case momentum_laplace3d

TEST*/
