/*
   petsc-bai: block-asynchronous iteration for PETSc
*/
#pragma once

#include <petscksp.h>
#include <petscbaitypes.h>

/* SUBMANSEC = KSP */

#define PETSCBAI_VERSION_MAJOR    0
#define PETSCBAI_VERSION_MINOR    1
#define PETSCBAI_VERSION_SUBMINOR 0

#define KSPBAI "bai"

PETSC_EXTERN const char *const BAIModes[];
PETSC_EXTERN const char *const BAIBackends[];

PETSC_EXTERN PetscErrorCode BAIInitializePackage(void);
PETSC_EXTERN PetscErrorCode BAIFinalizePackage(void);

PETSC_EXTERN PetscErrorCode KSPBAISetLocalIters(KSP, PetscInt);
PETSC_EXTERN PetscErrorCode KSPBAIGetLocalIters(KSP, PetscInt *);
PETSC_EXTERN PetscErrorCode KSPBAISetBlockSize(KSP, PetscInt);
PETSC_EXTERN PetscErrorCode KSPBAIGetBlockSize(KSP, PetscInt *);
PETSC_EXTERN PetscErrorCode KSPBAISetMode(KSP, BAIMode);
PETSC_EXTERN PetscErrorCode KSPBAIGetMode(KSP, BAIMode *);
PETSC_EXTERN PetscErrorCode KSPBAISetOmega(KSP, PetscReal);
PETSC_EXTERN PetscErrorCode KSPBAIGetOmega(KSP, PetscReal *);
PETSC_EXTERN PetscErrorCode KSPBAISetLocalOmega(KSP, PetscReal);
PETSC_EXTERN PetscErrorCode KSPBAIGetLocalOmega(KSP, PetscReal *);
PETSC_EXTERN PetscErrorCode KSPBAISetCheckInterval(KSP, PetscInt);
PETSC_EXTERN PetscErrorCode KSPBAIGetCheckInterval(KSP, PetscInt *);
PETSC_EXTERN PetscErrorCode KSPBAISetBackend(KSP, BAIBackend);
PETSC_EXTERN PetscErrorCode KSPBAIGetBackend(KSP, BAIBackend *);
