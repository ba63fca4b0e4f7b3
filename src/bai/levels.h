/*
   Many levels of a matrix, as KSPBAI and PCBAIMG have them: from Mat and Vec to ../engine/levels.h

   The engine has levels of one rank. Those of several ranks are made up of these, see ranks/levels.c
*/
#pragma once

#include "baiimpl.h"
#include "../engine/levels.h"

enum {
  BAI_LONGEST_ROW = 1000 /* rows with more entries are not for levels, as a thread of a GPU goes through them alone */
};

/* What users set */
typedef struct {
  PetscInt   levels; /* at most; PETSC_DECIDE: as many as it takes, and none if a row is too long for them */
  PetscInt   local_iters;
  PetscReal  over;
  PetscBool3 single; /* unknown: chosen at set-up */
  PetscBool
    chip; /* chosen by KSPBAI: no levels if the matrix stays on the chip of a GPU, where a solve is one launch */
} BAILevelsOptions;

#define BAI_LEVELS_OVER 1.9 /* by which couplings of coarse levels are softened at most, unless somebody says so */

typedef struct BAIRankLevels_ *BAIRankLevels; /* ranks/levels.c */

struct BAIHierarchy_ {
  BAILevelsOptions    options, set;       /* and as they were at the last set-up */
  BAILevels           levels;             /* NULL: none are set up, or this rank has no rows */
  BAIRankLevels       ranks;              /* of several ranks: their levels, NULL: none are set up */
  int                 single, single_set; /* the engine's parameter where users set none, and then */
  PetscBool           solving;            /* PCBAIMG: within a KSPSolve() */
  PetscBool           finite;             /* no diagonal entry is NaN or infinite, else there are no levels */
  PetscBool           ready;              /* set up, on all ranks, */
  PC                  jacobi;             /* or there are none, as some row is too long, and this stands for a cycle */
  BAIBackend          backend;
  BAILevelsParameters p; /* with these; */
  BAILevelsInfo       info;
  PetscBool           hermitian; /* on all ranks, with a diagonal of one sign, */
  PetscBool           negative;  /* which is negative */
  PetscReal           multiple;  /* memory of all ranks' levels, as a multiple of that of the matrix; */
  PetscLogDouble      seconds;   /* that the last set-up took */
  double              flops;     /* of a cycle on this rank without the gathered level, and of a product */
  double              flops_product;
  PetscInt            setups, updates;

  BAIMatrix        M;      /* this rank's part: its arrays, which must stay where they are */
  PetscBool        device; /* they are on a device */
  PetscObjectId    id;     /* the matrix of users, and its state then */
  PetscObjectState state;
  Vec              b, x; /* where the matrix is, for vectors that are elsewhere */

  PetscBool solved; /* KSPBAI: with these levels */
};

PETSC_INTERN PetscErrorCode BAIHierarchyCreate(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchyReset(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchyDestroy(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchySetUp(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIHierarchySetUpIfAsked(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIHierarchyApply(BAI *, Vec, Vec, PetscBool);
PETSC_INTERN PetscErrorCode BAIHierarchyView(const BAI *, PetscViewer, PetscBool);

/* The arrays of b and x during a call of the engine */
typedef struct {
  Vec        b, x; /* those of the caller, or copies of them */
  PetscBool  write;
  BAIScalar *barray, *xarray;
} BAILevelsVectors;

PETSC_INTERN PetscErrorCode BAIHierarchyBind(BAI *, Vec, Vec, PetscBool, BAILevelsVectors *);
PETSC_INTERN PetscErrorCode BAIHierarchyUnbind(BAI *, Vec, BAILevelsVectors *);
PETSC_INTERN PetscErrorCode BAIHierarchyShow(BAI *, Vec, BAILevelsVectors *);
PETSC_INTERN PetscErrorCode BAIHierarchyUnshow(BAI *, BAILevelsVectors *);

PETSC_INTERN PetscErrorCode BAIHierarchyGetArray(const struct BAIHierarchy_ *, Vec, PetscBool, PetscBool, BAIScalar **);
PETSC_INTERN PetscErrorCode BAIHierarchyRestoreArray(const struct BAIHierarchy_ *, Vec, PetscBool, PetscBool,
                                                     BAIScalar **);
PETSC_INTERN PetscErrorCode BAIHierarchyGetMatrix(BAIBackend, Mat, Mat, PetscInt, BAIMatrix *, PetscBool *);
PETSC_INTERN PetscErrorCode BAIHierarchyLogFlops(const struct BAIHierarchy_ *, PetscLogDouble);
PETSC_INTERN double         BAILevelsFlops(const BAILevelsInfo *, BAIInt, int);

/* ranks/levels.c */
PETSC_INTERN PetscErrorCode BAIRankLevelsSetUp(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIRankLevelsApply(BAI *, Vec, Vec);
PETSC_INTERN PetscErrorCode BAIRankLevelsDestroy(BAIRankLevels *);
PETSC_INTERN int            BAIRankLevelsCount(const struct BAIRankLevels_ *);
PETSC_INTERN PetscBool      BAIRankLevelsSolve(const struct BAIRankLevels_ *);
PETSC_INTERN PetscErrorCode BAIRankLevelsError(BAIRankLevels);
