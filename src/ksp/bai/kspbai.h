/*
   The data of a KSPBAI, and its ways to solve
*/
#pragma once

#include "../../multigrid/hierarchy.h"
#include "../../common/krylov_rules.h"
#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>

/* Who does the iterations */
typedef enum {
  BAI_BY_RELAXATION, /* block-asynchronous iteration: relaxation.c */
  BAI_BY_CHIP,       /* a Krylov method in one launch, preconditioned by local sweeps in blocks: krylov.c */
  BAI_BY_LEVELS,     /* conjugate gradients preconditioned by the cycle of a PCBAIMG, by the engine: krylov.c */
  BAI_BY_PETSC       /* a KSP of PETSc preconditioned by the PC: inner.c */
} BAIRunner;

/* A matrix, and its values */
typedef struct {
  PetscObjectId    id;
  PetscObjectState state;
} KSPBAIValues;

typedef struct {
  BAI       bai; /* The first member, as the code that KSPBAI shares with the PCs expects it there. Its hierarchy is
                       the matrix on the chip, and has no levels */
  BAIRunner runner;
  BAIMethod method;   /* the one that runs: never auto */
  char      why[128]; /* it is this one */
  PetscBool has_pc;   /* whether anybody has chosen its type was looked at: types that it gets later are chosen */
  PetscBool chose;    /* the PC is a PCBAIMG as nobody chose another type, */
  PetscBool none;     /* or PCNONE, as the matrix had no entries */
  struct {
    uint64_t      asked;
    BAIMethod     method;
    KSPNormType   norm;
    PetscBool     skips;
    PetscObjectId pc, P;
  } from; /* what method and PC follow from, as it was when they were chosen; pc is 0: they are to be chosen */

  Mat          At; /* relaxation of KSPSolveTranspose(): the transposed matrix, */
  KSPBAIValues of_At;

  /* Krylov methods */
  KSP          inner;      /* BAI_BY_PETSC, else NULL */
  BAIKrylov    krylov;     /* the method that runs: never auto */
  KSPBAIValues found;      /* the matrix of which the following was found: */
  PetscBool    off_chip;   /* the solve on the chip breaks down; */
  PetscBool    indefinite; /* it, or the preconditioner, is not positive definite; */
  PetscBool    breaks;     /* BiCGStab breaks down; */
  PetscBool3   hermitian;  /* a random test of the matrix says so */
  Vec          weights;    /* 1/|a_ii|, or 0 where that is zero, */
  KSPBAIValues of_weights;
  Vec          scaled; /* b times a power of two, where squares of norms would be too small or large */
  PetscReal    scale;  /* that power, else 1 */

  PetscObjectId of_work; /* the matrix whose vectors KSPBAINeedWork() has made */

  /* How the last solve ended */
  PetscBool stands;     /* rounding lets it get no further, */
  PetscReal attainable; /* with about this residual norm */
  PetscBool stalls;     /* the least residual norm of many iterations hardly fell */
} KSP_BAI;

/* bai.c */
PETSC_INTERN PetscErrorCode KSPBAIUpdate(KSP);
PETSC_INTERN PetscErrorCode KSPBAIGetMatOfEntries(KSP, Mat *);
PETSC_INTERN PetscErrorCode KSPBAITakeValues(KSP_BAI *, Mat, PetscBool anyway, KSPBAIValues *, PetscBool *others);

/* method.c */
PETSC_INTERN PetscErrorCode KSPBAIGetPCTypeOption(KSP, char type[], size_t, PetscBool *given);
PETSC_INTERN PetscErrorCode KSPBAIChooseMethod(KSP);
PETSC_INTERN PetscErrorCode KSPBAIChoosePC(KSP);
PETSC_INTERN PetscErrorCode KSPBAIGetMG(KSP, BAI **);
PETSC_INTERN void           KSPBAIDefer(KSP, BAI *);
PETSC_INTERN PetscErrorCode KSPBAIViewUnusedPC(KSP, PetscViewer);

/* convergence.c */
PETSC_INTERN PetscBool      KSPBAIIsWatched(KSP);
PETSC_INTERN PetscBool      KSPBAISeesX(KSP);
PETSC_INTERN PetscBool      KSPBAITakesMaxIts(KSP);
PETSC_INTERN PetscBool      KSPBAITestsTwice(KSP);
PETSC_INTERN PetscBool      KSPBAINamesNorm(KSP);
PETSC_INTERN PetscErrorCode KSPBAINeedWork(KSP);
PETSC_INTERN PetscErrorCode KSPBAITestGuess(KSP, PetscReal);
PETSC_INTERN PetscErrorCode KSPBAIIsTransposed(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPBAIResidual(KSP, Vec b, Vec x, Vec r);
PETSC_INTERN PetscErrorCode KSPBAIScaledNorms(KSP, Vec b, Vec r, BAILevelsSolution *);
PETSC_INTERN PetscErrorCode KSPBAIStandsStill(KSP, Vec, Vec, PetscReal);

/* relaxation.c */
PETSC_INTERN const char     KSPBAIOtherMethodText[];
PETSC_INTERN PetscErrorCode KSPSetUp_BAIRelaxation(KSP);
PETSC_INTERN PetscErrorCode KSPSolve_BAIRelaxation(KSP);

/* columns.c */
PETSC_INTERN PetscErrorCode KSPMatSolve_BAI(KSP, Mat B, Mat X);

/* krylov.c */
PETSC_INTERN const char     KSPBAIStallText[];
PETSC_INTERN PetscErrorCode KSPSetUp_BAIKrylov(KSP);
PETSC_INTERN PetscErrorCode KSPSolve_BAIKrylov(KSP);
PETSC_INTERN PetscErrorCode KSPView_BAIKrylov(KSP, PetscViewer);
PETSC_INTERN PetscErrorCode KSPReset_BAIKrylov(KSP);
PETSC_INTERN PetscBool      KSPBAIIsBiCGStabOnChip(const KSP_BAI *);

/* The context of what is called after each iteration with ||b - A x||, as the method updates it */
typedef struct {
  KSP               ksp;
  BAI              *owner;  /* of the levels, or NULL */
  BAILevelsVectors *v;      /* of the engine, or NULL */
  PetscInt          before; /* iterations of the solve before this run */
  PetscInt          its;    /* iterations of this run so far, -1: nothing was seen yet */
  PetscReal         goal;   /* the convergence test is not asked above this norm; 0: it is always asked */
  PetscReal         rnorm0; /* the norm of the guess */
  BAIStall          stall;
  PetscBool         stalls;
  PetscErrorCode    code;
} BAIWatcher;

PETSC_INTERN int KSPBAIWatch(void *watcher, BAIInt its, BAIReal rnorm);

/* inner.c */
PETSC_INTERN PetscErrorCode KSPBAISetUpInner(KSP);
PETSC_INTERN PetscErrorCode KSPBAIRunInner(KSP, Vec b, Vec x, PetscBool guess_zero, PetscInt max_it, PetscBool fixed,
                                           BAIWatcher *, BAILevelsSolution *);
