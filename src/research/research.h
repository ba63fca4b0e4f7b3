/* The data of options of research for a relaxation: bai->research, which is NULL without such options */
#pragma once

#include "../petsc/baiimpl.h"

/* How a solve with faults gets on */
typedef struct {
  PetscBool stagnates; /* the residual norm no longer falls */
  PetscReal norm;      /* norm when it last changed */
  PetscInt  its, left; /* iteration of that norm; rows that have nearly all of the residual */
} BAIWatch;

struct BAIResearch_ {
  BAIWatch watch;
  PetscInt its; /* global iterations of the last solve */
};

/* stats.c */
PETSC_INTERN PetscErrorCode BAIStatsView(BAI *, PetscViewer);
