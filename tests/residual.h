/* What KSP_CONVERGED_RTOL promises, for the tests */
#ifndef BAI_TESTS_RESIDUAL_H
#define BAI_TESTS_RESIDUAL_H

#include <petscksp.h>

/*
   Whether a solve ended within its rtol, by a residual norm that is the one of its solution. The norm is held against the tolerance as it is;
   against ||b - A x|| with what rounding may do, as both sum the products of a row in an order of their own
*/
static inline PetscErrorCode IsConverged(KSP ksp, PetscReal *rnorm, PetscBool *is)
{
  Mat                A;
  Vec                b, x, r;
  PetscReal          rtol, anorm, bnorm, xnorm, norm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  *is = PETSC_FALSE;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(KSPGetResidualNorm(ksp, rnorm));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(KSPGetSolution(ksp, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecDestroy(&r));
  PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
  PetscCall(VecNorm(x, NORM_2, &xnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *is = (PetscBool)(reason > 0 && *rnorm <= (1 + 100 * PETSC_MACHINE_EPSILON) * rtol * bnorm && PetscAbsReal(*rnorm - norm) <= 10 * PETSC_MACHINE_EPSILON * (anorm * xnorm + bnorm));
  PetscFunctionReturn(0);
}

#endif
