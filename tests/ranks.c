static char help[] =
  "Any number of ranks: sync mode does the same as one rank if the ranks' rows end where blocks end; async mode\n\
converges; ranks may have no rows.\n\n";

#include "check.h"
#include "gallery.h"

/* x after some global iterations, or at convergence if rtol is not 0, on this communicator */
static PetscErrorCode Solve(MPI_Comm comm, const char matrix[], PetscInt n, BAIMode mode, PetscBool guess_nonzero,
                            PetscReal rtol, Vec *x, PetscReal *rnorm)
{
  KSP                ksp;
  Mat                A;
  Vec                b;
  PetscReal          rnorm_true, bnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(comm, matrix, n, &A));
  PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(VecSet(*x, 0.25));
  PetscCall(KSPCreate(comm, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess_nonzero));
  PetscCall(KSPSetTolerances(ksp, rtol ? rtol : 1e-30, 1e-300, PETSC_DEFAULT, rtol ? 10000 : 17));
  PetscCall(KSPBAISetBlockSize(ksp, 12));
  PetscCall(KSPBAISetLocalIters(ksp, 3));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPBAISetMode(ksp, mode));
  PetscCall(KSPSolve(ksp, b, *x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualNorm(ksp, rnorm));
  PetscCall(TrueResidualNorm(A, b, *x, &rnorm_true));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(Expect(PetscAbsReal(rnorm_true - *rnorm) <= 100 * PETSC_MACHINE_EPSILON * bnorm, "residual norm %g, not %g",
                   (double)rnorm_true, (double)*rnorm));
  PetscCall(Expect(!rtol || (reason > 0 && *rnorm <= (1 + 100 * PETSC_MACHINE_EPSILON) * rtol * bnorm),
                   "%s, residual norm %g", KSPConvergedReasons[reason], (double)rnorm_true));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal rtol = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9;
  Vec             x, x_one;
  PetscReal       rnorm, rnorm_one;
  PetscInt        first, last;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int guess_nonzero = 0; guess_nonzero < 2;
       guess_nonzero++) { /* 144 rows, blocks of 12: 1, 2, 3, 4 ranks cut between blocks */
    const PetscScalar *xx, *yy;
    PetscReal          error = 0;

    if (!Case("as_one_rank_from_%s", guess_nonzero ? "guess" : "zero")) continue;
    PetscCall(Solve(PETSC_COMM_WORLD, "fv1", 12, BAI_MODE_SYNC, (PetscBool)guess_nonzero, 0, &x, &rnorm));
    PetscCall(Solve(PETSC_COMM_SELF, "fv1", 12, BAI_MODE_SYNC, (PetscBool)guess_nonzero, 0, &x_one, &rnorm_one));
    PetscCall(VecGetOwnershipRange(x, &first, &last));
    PetscCall(VecGetArrayRead(x, &xx));
    PetscCall(VecGetArrayRead(x_one, &yy));
    for (PetscInt i = first; i < last; i++) error = PetscMax(error, PetscAbsScalar(xx[i - first] - yy[i]));
    PetscCall(VecRestoreArrayRead(x, &xx));
    PetscCall(VecRestoreArrayRead(x_one, &yy));
    PetscCall(Expect(error <= 10 * PETSC_MACHINE_EPSILON, "not the x of one rank, by %g", (double)error));
    PetscCall(Expect(PetscAbsReal(rnorm - rnorm_one) <= 100 * PETSC_MACHINE_EPSILON,
                     "not the residual of one rank, by %g", (double)(rnorm - rnorm_one)));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&x_one));
  }
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_SYNC; mode++) {
    const PetscInt n[] = {1, 2, 3, 200};

    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(n); k++) { /* fewer rows than ranks, too */
      if (!Case("%s_%" PetscInt_FMT "_rows", BAIModes[mode], n[k])) continue;
      PetscCall(Solve(PETSC_COMM_WORLD, "trefethen", n[k], (BAIMode)mode, PETSC_FALSE, rtol, &x, &rnorm));
      PetscCall(VecDestroy(&x));
    }
    if (!Case("%s_fv1", BAIModes[mode])) continue;
    PetscCall(Solve(PETSC_COMM_WORLD, "fv1", 30, (BAIMode)mode, PETSC_TRUE, rtol, &x, &rnorm));
    PetscCall(VecDestroy(&x));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      nsize: {{1 2 3 4}}
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
