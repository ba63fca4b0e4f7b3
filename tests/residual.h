/* The residual norm that PETSc finds, for the tests to hold against that of a solver */
#ifndef BAI_TESTS_RESIDUAL_H
#define BAI_TESTS_RESIDUAL_H

#include <petscmat.h>

/* rounding: as far as two computations of the norm may differ, each b_i - sum_j a_ij x_j being rounded in its own order */
static inline PetscErrorCode ResidualNorm(Mat A, Vec b, Vec x, PetscReal *rnorm, PetscReal *rounding)
{
  Vec       r;
  PetscReal anorm, bnorm, xnorm;

  PetscFunctionBeginUser;
  *rounding = 0;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, rnorm));
  PetscCall(VecDestroy(&r));
  PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
  PetscCall(VecNorm(x, NORM_2, &xnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *rounding = 10 * PETSC_MACHINE_EPSILON * (anorm * xnorm + bnorm);
  PetscFunctionReturn(0);
}

#endif
