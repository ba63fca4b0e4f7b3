static char help[] =
  "Overlapping blocks: restricted additive Schwarz with local Jacobi sweeps, in every mode and on every backend.\n\n";

#include "check.h"
#include "gallery.h"
#include <petscdmda.h>

static PetscErrorCode Create(Mat A, BAIMode mode, PetscInt block_size, PetscInt local_iters, PetscInt overlap, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(NewKSP(A, KSPBAI, ksp));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 20000));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPBAISetMode(*ksp, mode));
  PetscCall(KSPBAISetMomentum(*ksp, 0));
  PetscCall(KSPBAISetPartition(*ksp, BAI_PARTITION_NATURAL));
  PetscCall(KSPBAISetBlockSize(*ksp, block_size));
  PetscCall(KSPBAISetLocalIters(*ksp, local_iters));
  PetscCall(SetOption((PetscObject)*ksp, "overlap", "%" PetscInt_FMT, overlap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* count global iterations from the x given */
static PetscErrorCode Iterate(KSP ksp, PetscInt count, Vec b, Vec x)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, count));
  PetscCall(KSPSolve(ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of a solve of A x = 1, whose x is checked; negative if it did not converge */
static PetscErrorCode Solve(KSP ksp, const char what[], PetscInt *its)
{
  Mat       A;
  Vec       b, x;
  BAIMode   mode;
  PetscReal rnorm;
  PetscBool right;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPBAIGetMode(ksp, &mode));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(IsConverged(ksp, &rnorm, &right));
  if (!right) *its = -1;
  PetscCall(ExpectMode(right, "convergence", what, mode, (double)rnorm));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Distance(Vec x, Vec y, PetscReal *distance)
{
  Vec e;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &e));
  PetscCall(VecWAXPY(e, -1, x, y));
  PetscCall(VecNorm(e, NORM_INFINITY, distance));
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The definition, by PETSc's own means: each block J, with the overlap that MatIncreaseOverlap() gives it, does
   local_iters sweeps z = z + D^{-1} (r_J - A_JJ z) from zero, r being b - A x, and adds its own rows of z to x
*/
static PetscErrorCode Define(Mat A, Vec b, PetscInt block_size, PetscInt local_iters, PetscInt overlap, Vec x)
{
  Mat                Ad, host, *AJ;
  Vec                r, local;
  IS                *own, *J;
  PetscInt           n, start, blocks;
  const PetscScalar *r_array;
  PetscScalar       *x_array;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(MatGetDiagonalBlock(A, &Ad));
  PetscCall(MatConvert(Ad, MATSEQAIJ, MAT_INITIAL_MATRIX, &host));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  blocks = (n + block_size - 1) / block_size;
  PetscCall(
    PetscMalloc2(blocks, &own, blocks,
                 &J)); /* NOLINT(bugprone-sizeof-expression): an IS is a pointer, and these are arrays of them */
  for (PetscInt k = 0; k < blocks; k++) {
    PetscCall(ISCreateStride(PETSC_COMM_SELF, PetscMin(block_size, n - k * block_size), k * block_size, 1, &own[k]));
    PetscCall(ISDuplicate(own[k], &J[k]));
  }
  PetscCall(MatIncreaseOverlap(host, blocks, J, overlap));
  for (PetscInt k = 0; k < blocks; k++) PetscCall(ISSort(J[k]));
  PetscCall(MatCreateSubMatrices(host, blocks, J, J, MAT_INITIAL_MATRIX, &AJ));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &local));
  PetscCall(VecGetArrayRead(r, &r_array));
  PetscCall(VecGetArray(local, &x_array));
  PetscCall(PetscArraycpy(x_array, r_array, n));
  PetscCall(VecRestoreArray(local, &x_array));
  PetscCall(VecRestoreArrayRead(r, &r_array));
  PetscCall(VecGetArray(x, &x_array));
  for (PetscInt k = 0; k < blocks; k++) {
    Vec             rJ, z, Az, d;
    const PetscInt *rows;
    PetscInt        m;

    PetscCall(VecGetSubVector(local, J[k], &rJ));
    PetscCall(MatCreateVecs(AJ[k], &z, &Az));
    PetscCall(VecDuplicate(z, &d));
    PetscCall(MatGetDiagonal(AJ[k], d));
    for (PetscInt sweep = 0; sweep < local_iters; sweep++) {
      PetscCall(MatMult(AJ[k], z, Az));
      PetscCall(VecAYPX(Az, -1, rJ));
      PetscCall(VecPointwiseDivide(Az, Az, d));
      PetscCall(VecAXPY(z, 1, Az));
    }
    PetscCall(ISGetLocalSize(J[k], &m));
    PetscCall(ISGetIndices(J[k], &rows));
    start = k * block_size;
    for (PetscInt i = 0; i < m; i++) {
      PetscScalar value;

      PetscCall(VecGetValues(z, 1, &i, &value));
      if (start <= rows[i] && rows[i] < start + block_size) x_array[rows[i]] += value;
    }
    PetscCall(ISRestoreIndices(J[k], &rows));
    PetscCall(VecRestoreSubVector(local, J[k], &rJ));
    PetscCall(VecDestroy(&z));
    PetscCall(VecDestroy(&Az));
    PetscCall(VecDestroy(&d));
    PetscCall(ISDestroy(&own[k]));
    PetscCall(ISDestroy(&J[k]));
  }
  PetscCall(VecRestoreArray(x, &x_array));
  PetscCall(MatDestroySubMatrices(blocks, &AJ));
  PetscCall(MatDestroy(&host));
  PetscCall(PetscFree2(own, J));
  PetscCall(VecDestroy(&local));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckDefinition(void)
{
  const struct {
    const char *matrix;
    PetscInt    n, block_size, local_iters, overlap;
  } cases[] = {
    {"laplace2d", 13,  26, 4, 1  },
    {"laplace3d", 9,   17, 3, 2  },
    {"trefethen", 300, 40, 5, 1  },
    {"powerlaw",  500, 64, 2, 1  },
    {"fv1",       11,  1,  3, 3  },
    {"fv1",       11,  30, 7, 100}
  };

  PetscFunctionBeginUser;
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    KSP         ksp;
    Mat         A;
    Vec         b, x, y;
    PetscRandom random;
    PetscReal   distance;

    if (!Case("definition_%s_overlap%" PetscInt_FMT, cases[c].matrix, cases[c].overlap)) continue;
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, cases[c].matrix, cases[c].n, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
    PetscCall(VecSetRandom(b, random));
    PetscCall(VecSetRandom(x, random));
    PetscCall(PetscRandomDestroy(&random));
    PetscCall(VecCopy(x, y));
    PetscCall(Create(A, BAI_MODE_SYNC, cases[c].block_size, cases[c].local_iters, cases[c].overlap, &ksp));
    PetscCall(Iterate(ksp, 2, b, x));
    for (int k = 0; k < 2; k++) PetscCall(Define(A, b, cases[c].block_size, cases[c].local_iters, cases[c].overlap, y));
    PetscCall(Distance(x, y, &distance));
    PetscCall(ExpectMode(distance <= 1000 * PETSC_MACHINE_EPSILON, "two iterations as defined", cases[c].matrix,
                         BAI_MODE_SYNC, (double)distance));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solved blocks that overlap more take fewer iterations; blocks that overlap so far that each is the whole matrix take
 * one, if there is nothing but this rank's */
static PetscErrorCode CheckGain(void)
{
  const PetscBool gain = Case("fewer_iterations");
  PetscMPIInt     size;
  Mat             A;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 16, &A));
  for (PetscInt overlap = 0, before = 0; overlap < 4 && gain; overlap++) {
    KSP      ksp;
    PetscInt its;

    PetscCall(Create(A, BAI_MODE_SYNC, 32, 300, overlap, &ksp));
    PetscCall(KSPBAISetCheckInterval(ksp, 1));
    PetscCall(Solve(ksp, "laplace2d", &its));
    PetscCall(ExpectMode(!overlap || its < 0.95 * before, "fewer iterations with more overlap", "laplace2d",
                         BAI_MODE_SYNC, (double)its));
    before = its;
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 10, &A));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR && size == 1; mode++) {
    KSP      ksp;
    PetscInt its;

    if (!Case("one_iteration_%s", BAIModes[mode])) continue;
    PetscCall(Create(A, (BAIMode)mode, 7, 200, 100, &ksp));
    PetscCall(KSPBAISetCheckInterval(ksp, 1));
    PetscCall(Solve(ksp, "fv1", &its));
    PetscCall(ExpectMode(its == 1, "one iteration", "fv1", (BAIMode)mode, (double)its));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution does not move, and on the way there the ordered modes give the same bits every time, and what the host
 * gives; in mode color on one rank, as several take turns together there */
static PetscErrorCode CheckModes(void)
{
  Mat         A;
  Vec         b, x, solution;
  PetscRandom random;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv3", 20, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &solution));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(solution, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatMult(A, solution, b));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (PetscInt block_size = 10; block_size <= 130; block_size += 120) {
      KSP       ksp;
      PetscReal distance;

      if (!Case("fixed_point_%s_block%" PetscInt_FMT, BAIModes[mode], block_size)) continue;
      PetscCall(Create(A, (BAIMode)mode, block_size, 5, 2, &ksp));
      PetscCall(VecCopy(solution, x));
      PetscCall(Iterate(ksp, 20, b, x));
      PetscCall(Distance(x, solution, &distance));
      PetscCall(
        ExpectMode(distance <= 1000 * PETSC_MACHINE_EPSILON, "fixed point", "fv3", (BAIMode)mode, (double)distance));
      PetscCall(KSPDestroy(&ksp));
      if (mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR) {
        const PetscBool one = (PetscBool)(mode == BAI_MODE_COLOR && size > 1);
        Vec             y[4];

        for (int k = 0; k < 4; k++) {
          PetscCall(VecDuplicate(x, &y[k]));
          PetscCall(VecSet(y[k], 0));
          PetscCall(Create(A, (BAIMode)mode, block_size, 5, 2, &ksp));
          if (k == 2) PetscCall(KSPBAISetBackend(ksp, BAI_BACKEND_HOST));
          PetscCall(Iterate(ksp, 20, b, y[k]));
          PetscCall(KSPDestroy(&ksp));
        }
        PetscCall(Distance(y[0], y[1], &distance));
        PetscCall(ExpectMode(distance == 0, "another run gives the same", "fv3", (BAIMode)mode, (double)distance));
        PetscCall(Distance(y[2], y[3], &distance));
        if (!one) /* on the host the blocks of all ranks take turns together */
          PetscCall(ExpectMode(distance <= 1000 * PETSC_MACHINE_EPSILON, "the host gives the same", "fv3",
                               (BAIMode)mode, (double)distance));
        for (int k = 0; k < 4; k++) PetscCall(VecDestroy(&y[k]));
      }
    }
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&solution));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With every partition, weight and kind of momentum it comes to the solution */
static PetscErrorCode CheckTogether(void)
{
  DM  dm;
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 24, 24, PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &dm));
  PetscCall(DMSetUp(dm));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv3", 24,
                             &A)); /* on several ranks not in the order of the boxes, which must not matter */
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (int type = BAI_PARTITION_AUTO; type <= BAI_PARTITION_GRAPH; type++) {
      const BAIWeight weight = (BAIWeight)((mode + type) % 4);
      KSP             ksp;
      PetscInt        its;

      if (!Case("together_%s_%s", BAIModes[mode], BAIPartitionTypes[type])) continue;
      PetscCall(Create(A, (BAIMode)mode, 48, 3, 1 + type % 2, &ksp));
      PetscCall(KSPSetDM(ksp, dm));
      PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
      PetscCall(KSPBAISetPartition(ksp, (BAIPartitionType)type));
      PetscCall(KSPBAISetWeight(ksp, weight));
      PetscCall(SetOption((PetscObject)ksp, "theta", "%s", type > 2 ? "true" : "false"));
      PetscCall(KSPBAISetMomentum(ksp, type % 2 ? 0 : 0.1));
      PetscCall(Solve(ksp, BAIPartitionTypes[type], &its));
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An overlap that is changed after set-up does what it does in a new solver; so do new values */
static PetscErrorCode CheckChange(void)
{
  KSP       ksp, other;
  Mat       A;
  Vec       b, x, y;
  PetscReal distance;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 12, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(b, 1));
  PetscCall(Create(A, BAI_MODE_SYNC, 20, 4, 0, &ksp));
  for (PetscInt change = 0; change < 4; change++) {
    PetscCall(VecSet(x, 0));
    PetscCall(VecSet(y, 0));
    if (change == 3) PetscCall(MatScale(A, 2));
    PetscCall(SetOption((PetscObject)ksp, "overlap", "%" PetscInt_FMT, change % 3));
    PetscCall(Iterate(ksp, 3, b, x));
    PetscCall(Create(A, BAI_MODE_SYNC, 20, 4, change % 3, &other));
    PetscCall(Iterate(other, 3, b, y));
    PetscCall(Distance(x, y, &distance));
    PetscCall(ExpectMode(distance == 0, "as in a new solver", "laplace2d", BAI_MODE_SYNC, (double)distance));
    if (change) {
      PetscCall(VecSet(y, 0));
      PetscCall(SetOption((PetscObject)other, "overlap", "%" PetscInt_FMT, change % 3 + 1));
      PetscCall(Iterate(other, 3, b, y));
      PetscCall(Distance(x, y, &distance));
      PetscCall(ExpectMode(distance > 1e-3, "another overlap does something else", "laplace2d", BAI_MODE_SYNC,
                           (double)distance));
    }
    PetscCall(KSPDestroy(&other));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(CheckDefinition());
  PetscCall(CheckGain());
  PetscCall(CheckModes());
  PetscCall(CheckTogether());
  if (Case("change")) PetscCall(CheckChange());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         timeoutfactor: 4
         nsize: {{1 2}}
      test:
         suffix: cuda
         timeoutfactor: 4
         nsize: {{1 2}}
         requires: baicuda
         args: -ksp_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
