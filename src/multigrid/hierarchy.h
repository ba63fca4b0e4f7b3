/*
   Many levels of a matrix, as PCBAIMG has them, and the matrix on the chip of KSPBAI: from Mat and Vec to
   ../engine/levels.h

   The engine has levels of one rank. Those of several ranks are made up of these, see ranks/levels.c
*/
#pragma once

#include "../petsc/baiimpl.h"
#include "levels.h"

enum {
  BAI_LONGEST_ROW = 1000, /* rows with more entries are not for levels, as a thread of a GPU goes through them alone */
  BAI_CHIP_NONZEROS = 4194304 /* matrices with more entries are not tried on the chip: GPUs hold up to 3 million */
};

/* What users set */
typedef struct {
#define OPTION(field, Function, type, ...) type field;
#include "../pc/baimg/options.def"
#undef OPTION
} BAILevelsOptions;

typedef struct BAIRankLevels_ *BAIRankLevels; /* ranks/levels.c */

struct BAIHierarchy_ {
  BAILevelsOptions    options, set;   /* and as they were at the last set-up */
  PetscBool           chip;           /* KSPBAI: the matrix stays on the chip of a GPU, where a solve is one launch, or
                                             there is nothing here; it never has levels */
  PetscBool           deferred;       /* PCBAIMG: levels are made when they are first applied, as the KSP does not */
  PetscBool           hard, hard_set; /* PCBAIMG: coarse levels get no overcorrection, as the cycle with it has turned
                                             out not to be positive definite; and then */
  PetscBool           native;         /* PCBAIMG: levels in single precision did not do */
  BAILevels           levels;         /* NULL: none are set up, or this rank has no rows */
  BAIRankLevels       ranks;          /* of several ranks: their levels, NULL: none are set up */
  int                 single, single_set; /* the engine's parameter where users set none, and then */
  PetscBool           solving;            /* PCBAIMG: within a KSPSolve() */
  PetscBool           finite;             /* no diagonal entry is NaN or infinite, else there are no levels */
  PetscBool           ready;              /* set up, on all ranks, */
  PC                  jacobi;             /* or there are none, as some row is too long, and this stands for a cycle */
  BAIBackend          backend, backend_set; /* of the levels; and what was asked for at the last set-up */
  BAILevelsParameters p;                    /* with these; */
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
};

PETSC_INTERN PetscErrorCode BAIHierarchyCreate(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchyReset(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchyDestroy(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchySetUp(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIHierarchySetUpIfAsked(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIHierarchyApply(BAI *, Vec, Vec, PetscBool);
PETSC_INTERN PetscErrorCode BAILooksHermitian(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode BAIHierarchyApplyTranspose(BAI *, Mat, Vec, Vec); /* transpose.c */
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
