/* What the tests of multigrid share: preconditioners and solvers made alike, and solves whose claims are checked */
#ifndef BAI_TESTS_LEVELS_H
#define BAI_TESTS_LEVELS_H

#include "check.h"
#include "parts/systems.h"

enum {
  MODES_MOST = 8 /* vectors of a near null space that PCBAIMG takes */
};

static PetscReal rtol = 1e-10;

/* Sets v to numbers between -1 and 1, which are the same every time for a seed */
static inline PetscErrorCode SetNoise(Vec v, unsigned long seed)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PetscObjectComm((PetscObject)v), &random));
  PetscCall(PetscRandomSetSeed(random, seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(PetscRandomSetInterval(random, PetscDefined(USE_COMPLEX) ? -1.0 - PETSC_i : -1.0,
                                   PetscDefined(USE_COMPLEX) ? 1.0 + PETSC_i : 1.0));
  PetscCall(VecSetRandom(v, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of the matrix: x, and b of ones */
static inline PetscErrorCode CreateOnes(Mat A, Vec *x, Vec *b)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, x, b));
  PetscCall(VecSet(*b, 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CreateBAIMG(Mat A, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(NewPC(A, PCBAIMG, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, set up with what the command line says */
static inline PetscErrorCode CreatePC(Mat A, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(CreateBAIMG(A, pc));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The relative error that rounding may make in a cycle, whose levels may be in single precision */
static inline PetscErrorCode RoundingOf(PC pc, PetscReal *rounding)
{
  PetscBool single;

  PetscFunctionBeginUser;
  PetscCall(ViewHas((PetscObject)pc, "levels in single precision", &single));
  *rounding = single || PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-4 : (PetscReal)1e-11;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver with PCBAIMG; levels is the limit that KSPBAI sets it, or PETSC_DECIDE, which leaves the choice to KSPBAI */
static inline PetscErrorCode CreateKSP(Mat A, KSPType type, PetscInt levels, KSP *ksp)
{
  PC        pc;
  PetscBool is_bai;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(type, KSPBAI, &is_bai));
  PetscCall(NewKSP(A, type, ksp));
  PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  if (!is_bai || levels != PETSC_DECIDE) {
    PetscCall(KSPGetPC(*ksp, &pc));
    PetscCall(PCSetType(pc, PCBAIMG));
    if (is_bai) PetscCall(PCBAIMGSetLevels(pc, levels));
  }
  if (is_bai && levels != PETSC_DECIDE) PetscCall(KSPBAISetMethod(*ksp, BAI_METHOD_KRYLOV));
  if (!is_bai) {
    PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetPCSide(*ksp, !strcmp(type, KSPCG) || !strcmp(type, KSPRICHARDSON) ? PC_LEFT : PC_RIGHT));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves, and returns how it ended */
static inline PetscErrorCode SolveFor(KSP ksp, Vec b, Vec x, PetscInt *its, KSPConvergedReason *reason)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves for b = 1, or for noise where constants are in the null space. its is -1 if it did not converge; if it claims
   to have, ||b - A x|| is checked */
static inline PetscErrorCode Solve(KSP ksp, PetscInt *its)
{
  Mat                A;
  Vec                b, x;
  MatNullSpace       space;
  KSPConvergedReason reason;
  PetscReal          rnorm, bnorm, claimed;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(MatGetNullSpace(A, &space));
  if (space) PetscCall(SetNoise(b, 5));
  if (space) PetscCall(MatNullSpaceRemove(space, b));
  PetscCall(SolveFor(ksp, b, x, its, &reason));
  if (reason > 0) {
    PetscCall(TrueResidualNorm(A, b, x, &rnorm));
    PetscCall(VecNorm(b, NORM_2, &bnorm));
    PetscCall(KSPGetResidualNorm(ksp, &claimed));
    PetscCall(Expect(rnorm <= (PetscReal)1.01 * rtol * bnorm + 20 * PETSC_MACHINE_EPSILON * bnorm,
                     "||b - A x|| = %g ||b|| after %d iterations, %g was claimed", (double)(rnorm / bnorm), (int)*its,
                     (double)(claimed / bnorm)));
  } else *its = -1;
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of a new solver */
static inline PetscErrorCode IterationsOf(Mat A, KSPType type, PetscInt levels, PetscInt *its)
{
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(CreateKSP(A, type, levels, &ksp));
  PetscCall(Solve(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiplies A_ij by d_i d_j, where d is 2 plus 0, 1 or 2 times a part: other values in the same pattern, still
   symmetric */
static inline PetscErrorCode ChangeValues(Mat A, PetscReal part)
{
  Vec      d;
  PetscInt start, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(VecGetOwnershipRange(d, &start, &end));
  for (PetscInt row = start; row < end; row++)
    PetscCall(VecSetValue(d, row, 2 + part * (PetscReal)(row % 3), INSERT_VALUES));
  PetscCall(AssembleVec(d));
  PetscCall(MatDiagonalScale(A, d, d));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif
