/*
   The data of a KSPBAI, and its ways to solve
*/
#pragma once

#include "../../bai/levels.h"
#include <petsc/private/kspimpl.h>

/* How a KSPBAI solves */
typedef enum {
  BAI_METHOD_RELAXATION, /* block-asynchronous iteration: relaxation.c */
  BAI_METHOD_ENGINE,     /* CG round a multigrid cycle, or a Krylov method on the chip, by the engine: krylov.c, */
  BAI_METHOD_PETSC       /* or a KSP of PETSc round the cycle: inner.c */
} BAIMethod;

typedef struct {
  BAI       bai; /* the first, as what PCBAI has as well expects it there */
  BAIMethod method;

  char *pctype; /* the type of the PC before it became none */

  /* Krylov methods */
  KSP       inner;   /* BAI_METHOD_PETSC, else NULL */
  PetscBool of_pmat; /* levels are of Pmat, as Amat has no entries */
  struct {
    PetscObjectId    id;
    PetscObjectState state;
  } found;              /* of this matrix with these values it was found out: */
  PetscBool off_chip;   /* that a solve on the chip breaks down, */
  PetscBool hard;       /* that with softened couplings its cycle is not positive definite, */
  PetscBool indefinite; /* that it is not positive definite itself, */
  PetscBool breaks;     /* and that BiCGStab breaks down */
  Vec       scaled;     /* b times a power of two, where squares of norms would be too small or large; */
  PetscReal scale;      /* which is this, and else 1 */

  /* KSPSolveTranspose() */
  KSP transposed; /* with the transpose of this matrix, or NULL */
  struct {
    PetscObjectId    id;
    PetscObjectState nonzero, state;
  } transpose;

  PetscBool stands;     /* the last solve ended where rounding lets it get no further, */
  PetscReal attainable; /* with about this residual norm */
} KSP_BAI;

/* bai.c */
PETSC_INTERN PetscErrorCode KSPBAISetUpMethod(KSP);
PETSC_INTERN PetscErrorCode KSPBAIGetMatOfEntries(KSP, Mat *);
PETSC_INTERN PetscBool      KSPBAIIsWatched(KSP);
PETSC_INTERN PetscBool      KSPBAISeesX(KSP);
PETSC_INTERN PetscBool      KSPBAITakesMaxIts(KSP);
PETSC_INTERN PetscErrorCode KSPBAITestGuess(KSP, PetscReal);
PETSC_INTERN PetscErrorCode KSPBAIStandsStill(KSP, Vec, Vec, PetscReal);

PETSC_INTERN PetscErrorCode KSPBAIInstruct(KSP, KSP);

/* relaxation.c */
PETSC_INTERN PetscErrorCode KSPSolve_BAIRelaxation(KSP);

/* columns.c */
PETSC_INTERN PetscErrorCode KSPMatSolve_BAI(KSP, Mat B, Mat X);

/* transpose.c */
PETSC_INTERN PetscErrorCode KSPBAINeedsTranspose(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPSolve_BAITranspose(KSP);
PETSC_INTERN PetscErrorCode KSPBAIDestroyTranspose(KSP);

/* krylov.c */
PETSC_INTERN PetscErrorCode KSPSetUp_BAIKrylov(KSP, Mat);
PETSC_INTERN PetscErrorCode KSPSolve_BAIKrylov(KSP);
PETSC_INTERN PetscErrorCode KSPView_BAIKrylov(KSP, PetscViewer);
PETSC_INTERN PetscErrorCode KSPReset_BAIKrylov(KSP);
PETSC_INTERN PetscBool      KSPBAIIsBiCGStabOnChip(const KSP_BAI *);

/* What is called after each iteration of a Krylov method with ||b - A x||, as the method updates it; nonzero: stop */
typedef struct {
  KSP               ksp;
  BAILevelsVectors *v;      /* of the engine, or NULL */
  PetscInt          before; /* iterations of the solve before this run */
  PetscInt          its;    /* and of this run, so far */
  PetscErrorCode    code;
} BAIWatcher;

PETSC_INTERN int KSPBAIWatch(void *watcher, BAIInt its, BAIReal rnorm);

/* inner.c */
PETSC_INTERN PetscErrorCode KSPBAISetUpInner(KSP, Mat);
PETSC_INTERN PetscErrorCode KSPBAIRunInner(KSP, Vec b, Vec x, PetscBool guess_zero, PetscInt max_it, PetscBool fixed,
                                           BAIWatcher *, BAILevelsSolution *);
