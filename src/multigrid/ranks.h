/* The levels of a matrix that is distributed over ranks, for ranks.c and rest.c */
#pragma once

#include "hierarchy.h"

struct BAIRankLevels_ {
  BAI            *bai;
  PetscMPIInt     size;
  PetscBool       reach;       /* ranks access each other's memory, if they can */
  int             made, count; /* numbers of levels that ranks made together, and of those that stay distributed */
  BAIRankLevel    level[BAI_LEVELS_MOST + 1];
  BAILevelsShared shared[BAI_LEVELS_MOST + 1]; /* exchanges of these levels or of the rest, for the engine */
  PetscBool       making;                      /* levels are made or get new values; otherwise they do cycles */
  BAIGathered     rest;                        /* all of level number count, or NULL */
  PetscInt       *ghost;                       /* global numbers of the ghosts of this level */
  BAILevels       levels;                      /* levels of rest */
  BAILevelsInfo   info;
  BAIHalo         everyone;   /* halo in which every rank with rows reads all rows of rest */
  double          flops_rest; /* flops of a cycle on rest */
  BAIMailbox      mailbox;    /* memory in which ranks write to each other in cycles, or NULL */
  BAITransfer     transfer;   /* exchanges of the caller for the engine */
  PetscInt       *next;       /* see BAILevelsGhosts */
  PetscBool       solves;     /* the engine solves on all ranks together */
  BAILevelsAgreed agreed;     /* properties that the levels were made for */
  const char     *stop;
  PetscErrorCode  code; /* error of the last function that the engine called */
};

/* rest.c */
PETSC_INTERN PetscErrorCode BAIRestCreate(BAIRankLevels, BAIMatrix *);
PETSC_INTERN PetscErrorCode BAIRestGather(BAIRankLevels, PetscBool, BAIMatrix *);
PETSC_INTERN PetscErrorCode BAIRestMakeLevels(BAIRankLevels, const BAIMatrix *, PetscBool *);
PETSC_INTERN PetscErrorCode BAIRestSolve(BAIRankLevels, const BAIScalar *, BAIScalar *);
