/* The data of options of research for a relaxation: bai->research, which is NULL without such options */
#pragma once

#include "../petsc/baiimpl.h"
#include "energy.h"

/* How a solve with faults gets on */
typedef struct {
  PetscBool stagnates; /* the residual norm no longer falls */
  PetscReal norm;      /* norm when it last changed */
  PetscInt  its, left; /* iteration of that norm; rows that have nearly all of the residual */
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
  BAIWatch watch;
  BAICount count;
};

/* stats.c */
PETSC_INTERN PetscErrorCode BAIStatsStart(BAI *);
PETSC_INTERN void           BAIStatsLook(BAI *, PetscInt, PetscReal, PetscInt, PetscReal, PetscReal);
PETSC_INTERN PetscErrorCode BAIStatsView(BAI *, PetscViewer);
