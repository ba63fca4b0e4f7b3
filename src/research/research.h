/* The data of options of research for a relaxation: bai->research, which is NULL without such options */
#pragma once

#include "../petsc/baiimpl.h"
#include "energy.h"

/* The faults detected in a solve, and data to compare with */
typedef struct {
  /* detected faults; blocks reset, rows reassigned, matrix copies renewed */
  PetscInt       faults, resets, reassigned, copies;
  PetscBool      flipped;   /* bits of the copy of the matrix are flipped on purpose */
  PetscBool      stagnates; /* the residual norm no longer falls */
  PetscReal      norm;      /* norm when it last changed */
  PetscInt       its, left; /* iteration of that norm; rows that have nearly all of the residual */
  PetscBool      copied;    /* the copy of the matrix was renewed since */
  PetscInt       last;      /* iteration from which on rows are updated again */
  PetscInt       retries;   /* 1: bad blocks were reset; 2: the matrix was copied too; 3: without success */
  PetscInt       n, blocks; /* number of local rows and blocks */
  BAIInt        *block;     /* block of each row */
  unsigned char *still;     /* number of looks in which each row has not changed */
  /* ||r_J||^2 of each block, and the largest at the last look; upper bound of the 2-norm of A */
  PetscReal *norm2, most2, anorm;
  Vec        good, r, diagonal; /* x at the last look; b - A x; diagonal of the matrix */
} BAIWatch;

/* Statistics of the last solve besides the engine's */
typedef struct {
  PetscInt  its;
  PetscReal after; /* estimated number of global iterations after the tolerance was met; negative: unknown */

  BAIEnergyMeter begin;    /* counters at the begin of the solve */
  PetscReal      gpu, cpu; /* joules of the solve; negative: unknown */
  BAIDevice      device;   /* the engine's device */
  PetscInt       setups;   /* number of set-ups of the engine that device belongs to; 0: none */
} BAICount;

struct BAIResearch_ {
  BAIWatch        watch;
  BAICount        count;
  BAIRunFunction *run; /* does global iterations without faults */
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
