/*
   Conjugate gradients with BoomerAMG, both hypre's own, for one process: what multigrid.c has PETSc's solvers compared
   with. hypre.c has it, hypre_none.c stands in where make was given no HYPRE_DIR, or there is no CUDA
*/
#pragma once

#include <petscksp.h>

typedef struct Hypre_ *Hypre;

/* Copies A and b to hypre, which works where A is, on the host or on a GPU; aggressive: levels that are coarsened so.
 * *unfit is NULL, or says why this cannot be; then there is no solver */
PetscErrorCode HypreCreate(Mat A, Vec b, PetscInt aggressive, Hypre *hypre, const char **unfit);

/* From here on what is to be timed: the set-up, and a solve from zero until ||r||/||b|| < rtol, r being the residual of
 * the recurrence */
PetscErrorCode HypreSetUp(Hypre hypre);
PetscErrorCode HypreSolve(Hypre hypre, PetscReal rtol, PetscInt max_it, PetscInt *its, KSPConvergedReason *reason);

PetscErrorCode HypreGetSolution(Hypre hypre, Vec x);
PetscErrorCode HypreDestroy(Hypre *hypre);
