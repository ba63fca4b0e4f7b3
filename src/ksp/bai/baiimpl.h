/*
   What the PETSc faces of block-asynchronous iteration share: their options, and the way from Mat and Vec to the engine
*/
#pragma once

#include "baicompat.h"
#include <petscbai.h>
#include "../../engine/engine.h"

typedef struct {
  PetscInt   local_iters;    /* Jacobi sweeps in a block per global iteration */
  PetscInt   block_size;     /* rows of a block; 0: chosen at set-up */
  PetscInt   check_interval; /* global iterations between two residual norms; 0: chosen while iterating */
  BAIMode    mode;
  BAIBackend backend;
  PetscReal  omega, local_omega; /* damping of a block's update, and of each local sweep */
} BAIOptions;

typedef struct {
  BAIOptions    options;
  BAIEngine     engine;
  BAIBackend    backend; /* the one in use, never BAI_BACKEND_AUTO */
  BAIParameters p;       /* what the engine was created with */
  BAIInfo       info;

  PetscObjectId    id; /* of the matrix that the engine holds, and its state then */
  PetscObjectState state;
  PetscMPIInt      node_rank, node_size;
  PetscInt         setups, updates; /* times that the engine was created, and that it was given new values */

  VecScatter scatter; /* NULL on one rank */
  Vec        ghost;   /* values of x that other ranks own */
  IS         ghosts;  /* their global numbers */
} BAI;

PETSC_INTERN PetscErrorCode BAIOptionsDefault(BAIOptions *);
PETSC_INTERN PetscErrorCode BAIOptionsCheck(PetscObject, const BAIOptions *);
PETSC_INTERN PetscErrorCode BAIOptionsSetFromOptions(PetscObject, BAIOptions *, BAIOptionItems);

PETSC_INTERN PetscErrorCode BAISetUp(PetscObject, BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIRun(BAI *, Vec, Vec, PetscBool, PetscInt, PetscReal *);
PETSC_INTERN PetscErrorCode BAISolve(BAI *, Vec, Vec, PetscBool, PetscReal, PetscReal, PetscReal, PetscInt, PetscReal *, PetscReal *, PetscInt *);
PETSC_INTERN PetscErrorCode BAIView(BAI *, PetscViewer);
PETSC_INTERN PetscErrorCode BAIReset(BAI *);

PETSC_INTERN PetscErrorCode KSPCreate_BAI(KSP);
PETSC_INTERN PetscErrorCode KSPBAIComposeFunctions(KSP, PetscBool);

PETSC_INTERN PetscLogEvent BAI_SetUp, BAI_Sweep, BAI_Residual;
