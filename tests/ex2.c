static char help[] = "Sync mode meets the published convergence of block-asynchronous iteration, with the same bits every time.\n\
  -show prints the residual norms.\n\n";

/*
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers", Tables 4.1 (mean of 1000 runs of async-(5) on fv1) and 4.2
   (slowest of 1000 runs on Trefethen_2000): ||r||/||b|| for b = ones, x0 = 0. Its async-(5) makes six updates per global
   iteration, one with the values from outside the block and five more; its slowest runs are the synchronous ones.
*/

#include "baicompat.h"
#include <petscbai.h>
#include "gallery.h"
#include <omp.h>
#include <stdlib.h>

enum {
  MAX_ITS = 130
};

static const struct {
  const char *matrix;
  PetscInt    block_size, every, entries; /* entry e is after (e+1)*every global iterations */
  PetscReal   residual[13];
} tables[] = {
  {"fv1",       112, 10, 12, {7.8304e-02, 6.3243e-03, 5.1392e-04, 4.1902e-05, 3.4238e-06, 2.8019e-07, 2.2956e-08, 1.8825e-09, 1.5449e-10, 1.2685e-11, 1.0422e-12, 8.5725e-14}},
  {"trefethen", 128, 5,  6,  {8.1516e-04, 8.6821e-06, 9.2472e-08, 9.8491e-10, 1.0427e-11, 1.1038e-13}                                                                        }
};

/* Residual norms of MAX_ITS global iterations with so many threads, and the x reached */
static PetscErrorCode Run(Mat A, Vec b, PetscInt block_size, BAIBackend backend, int threads, PetscReal *history, Vec x)
{
  KSP  ksp;
  char text[8];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%d", threads));
  PetscCheck(!setenv("OMP_NUM_THREADS", text, 1), PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
  omp_set_num_threads(threads);
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-30, 1e-300, PETSC_DEFAULT, MAX_ITS));
  PetscCall(KSPBAISetMode(ksp, BAI_MODE_SYNC));
  PetscCall(KSPBAISetMomentum(ksp, 0));
  PetscCall(KSPBAISetLocalIters(ksp, 6));
  PetscCall(KSPBAISetBlockSize(ksp, block_size));
  PetscCall(KSPSetFromOptions(ksp));
  if (backend != BAI_BACKEND_AUTO) PetscCall(KSPBAISetBackend(ksp, backend));
  PetscCall(KSPSetResidualHistory(ksp, history, MAX_ITS + 1, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x and y have the same bits; x_host and y agree to rounding */
static PetscErrorCode Compare(const char matrix[], const PetscReal *h, const PetscReal *history, Vec x, Vec y, Vec x_host)
{
  const PetscScalar *xx, *yy;
  PetscInt           n;
  PetscBool          same_x, same_h;
  PetscReal          norm, error;
  Vec                e;

  PetscFunctionBeginUser;
  PetscCall(PetscArraycmp(h, history, MAX_ITS + 1, &same_h));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &xx));
  PetscCall(VecGetArrayRead(y, &yy));
  PetscCall(PetscArraycmp(xx, yy, n, &same_x));
  PetscCall(VecRestoreArrayRead(x, &xx));
  PetscCall(VecRestoreArrayRead(y, &yy));
  if (!same_x || !same_h) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: another run gave other bits\n", matrix));
  PetscCall(VecDuplicate(x, &e));
  PetscCall(VecCopy(x, e));
  PetscCall(VecAXPY(e, -1, x_host));
  PetscCall(VecNorm(e, NORM_INFINITY, &error));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  if (!(error <= 20 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: differs from the host's x by %g\n", matrix, (double)(error / norm)));
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool show = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-show", &show, NULL));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tables); t++) {
    Mat       A;
    Vec       b, x, y, x_host;
    PetscReal history[MAX_ITS + 1], again[MAX_ITS + 1], host[MAX_ITS + 1];

    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, tables[t].matrix, PETSC_DEFAULT, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecDuplicate(x, &x_host));
    PetscCall(VecSet(b, 1));
    PetscCall(Run(A, b, tables[t].block_size, BAI_BACKEND_HOST, 1, host, x_host));
    PetscCall(Run(A, b, tables[t].block_size, BAI_BACKEND_AUTO, 1, history, x));
    for (int threads = 1; threads <= 4; threads *= 2) {
      PetscCall(Run(A, b, tables[t].block_size, BAI_BACKEND_AUTO, threads, again, y));
      PetscCall(Compare(tables[t].matrix, history, again, x, y, x_host));
    }
    for (PetscInt e = 0; e < tables[t].entries; e++) {
      const PetscInt  its      = (e + 1) * tables[t].every;
      const PetscReal residual = history[its] / history[0], ratio = residual / tables[t].residual[e];

      if (show) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-9s %4" PetscInt_FMT " %12.4e published %10.4e ratio %6.4f host %12.4e\n", tables[t].matrix, its, (double)residual, (double)tables[t].residual[e], (double)ratio, (double)(host[its] / host[0])));
      if (!(ratio > 0.98 && ratio < 1.02)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %g after %" PetscInt_FMT " iterations, published is %g\n", tables[t].matrix, (double)residual, its, (double)tables[t].residual[e]));
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&x_host));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: double
      output_file: output/empty.out
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
