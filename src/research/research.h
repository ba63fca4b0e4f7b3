/*
   The data of options of research about a solve by relaxation: bai->research, which is NULL unless one of them is set
*/
#pragma once

#include "../petsc/baiimpl.h"
#include "energy.h"

/* The faults that a solve has noticed, and values to compare with */
typedef struct {
  PetscInt       faults, resets, reassigned, copies; /* found; blocks set back, rows taken over, copies of the matrix */
  PetscBool      flipped;                            /* bits of the copy of the matrix are, on purpose */
  PetscBool      stagnates;                          /* the residual norm has been the same, */
  PetscReal      norm;                               /* this one, */
  PetscInt       its, left;                          /* since this iteration; rows that it is left in */
  PetscBool      copied;                             /* and the matrix was copied anew because of that */
  PetscInt       last;                               /* the iteration from which on rows are updated again */
  PetscInt       retries;             /* 1: bad blocks were set back, 2: and the matrix was copied, 3: in vain */
  PetscInt       n, blocks;           /* local rows and blocks; */
  BAIInt        *block;               /* the block of each */
  unsigned char *still;               /* looks in which it has not changed */
  PetscReal     *norm2, most2, anorm; /* ||r_J||^2 of each block, and the largest at the last look; at least ||A|| */
  Vec            good, r, diagonal;   /* x at the last look; b - A x; of the matrix */
} BAIWatch;

/* Statistics of the last solve beside the engine's counts */
typedef struct {
  PetscInt  its;
  PetscReal after; /* global iterations after the tolerance was met, about; negative: it was not, or is not known */

  BAIEnergyMeter begin;    /* of the solve; */
  PetscReal      gpu, cpu; /* and joules that it took, negative: not known */
  BAIDevice      device;   /* whose they are, */
  PetscInt       setups;   /* device is that of the engine after this number of set-ups; 0: none */
} BAICount;

struct BAIResearch_ {
  BAIWatch        watch;
  BAICount        count;
  BAIRunFunction *run; /* global iterations without faults */
};

/* fault.c */
PETSC_INTERN PetscBool      BAIHasFaults(const BAIOptions *);
PETSC_INTERN PetscErrorCode BAIFaultsStart(BAI *, Vec, Vec, PetscBool);
PETSC_INTERN BAIRunFunction BAIRunFaulty;
PETSC_INTERN PetscErrorCode BAIFaultsLook(BAI *, PetscInt, Vec, Vec, PetscReal *, BAIStep *);
PETSC_INTERN PetscErrorCode BAIFaultsView(const BAI *, PetscViewer);
PETSC_INTERN PetscErrorCode BAIFaultsReset(BAI *);

/* stats.c */
PETSC_INTERN PetscErrorCode BAIStatsStart(BAI *);
PETSC_INTERN void           BAIStatsLook(BAI *, PetscInt, PetscReal, PetscInt, PetscReal, PetscReal);
PETSC_INTERN PetscErrorCode BAIStatsView(BAI *, PetscViewer);
