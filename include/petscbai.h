/*
   petsc-bai: multigrid, Krylov and block-asynchronous solvers for PETSc
*/
#pragma once

#include <petscksp.h>
#include <petscbaitypes.h>

/* SUBMANSEC = KSP */

#define PETSCBAI_VERSION_MAJOR    0
#define PETSCBAI_VERSION_MINOR    4
#define PETSCBAI_VERSION_SUBMINOR 0

#define KSPBAI  "bai"
#define PCBAI   "bai"
#define PCBAIMG "baimg"

PETSC_EXTERN PetscErrorCode BAIInitializePackage(void);
PETSC_EXTERN PetscErrorCode BAIFinalizePackage(void);

PETSC_EXTERN PetscErrorCode KSPBAIStatsView(KSP, PetscViewer);
PETSC_EXTERN PetscErrorCode KSPBAIGetMethod(KSP, BAIMethod *, const char *[]);

/* made from src/petsc/options.def and others by "make options" */
PETSC_EXTERN const char *const BAIMethods[];
PETSC_EXTERN const char *const BAIKrylovs[];
PETSC_EXTERN const char *const BAIModes[];
PETSC_EXTERN const char *const BAIPartitionTypes[];
PETSC_EXTERN const char *const BAIWeights[];
PETSC_EXTERN const char *const BAIPrecisions[];
PETSC_EXTERN const char *const BAIPolynomials[];
PETSC_EXTERN const char *const BAIBackends[];
PETSC_EXTERN const char *const BAIRefines[];
PETSC_EXTERN const char *const BAIExchanges[];
PETSC_EXTERN const char *const BAIKernels[];

PETSC_EXTERN PetscErrorCode KSPBAISetMethod(KSP, BAIMethod);
PETSC_EXTERN PetscErrorCode KSPBAISetKrylov(KSP, BAIKrylov);
PETSC_EXTERN PetscErrorCode KSPBAIGetKrylov(KSP, BAIKrylov *);
PETSC_EXTERN PetscErrorCode KSPBAISetLocalIters(KSP, PetscInt);
PETSC_EXTERN PetscErrorCode KSPBAIGetLocalIters(KSP, PetscInt *);
PETSC_EXTERN PetscErrorCode KSPBAISetBlockSize(KSP, PetscInt);
PETSC_EXTERN PetscErrorCode KSPBAIGetBlockSize(KSP, PetscInt *);
PETSC_EXTERN PetscErrorCode KSPBAISetMode(KSP, BAIMode);
PETSC_EXTERN PetscErrorCode KSPBAIGetMode(KSP, BAIMode *);
PETSC_EXTERN PetscErrorCode KSPBAISetPartition(KSP, BAIPartitionType);
PETSC_EXTERN PetscErrorCode KSPBAIGetPartition(KSP, BAIPartitionType *);
PETSC_EXTERN PetscErrorCode KSPBAISetMomentum(KSP, PetscReal);
PETSC_EXTERN PetscErrorCode KSPBAIGetMomentum(KSP, PetscReal *);
PETSC_EXTERN PetscErrorCode KSPBAISetWeight(KSP, BAIWeight);
PETSC_EXTERN PetscErrorCode KSPBAIGetWeight(KSP, BAIWeight *);
PETSC_EXTERN PetscErrorCode KSPBAISetPrecision(KSP, BAIPrecision);
PETSC_EXTERN PetscErrorCode KSPBAIGetPrecision(KSP, BAIPrecision *);
PETSC_EXTERN PetscErrorCode KSPBAISetOmega(KSP, PetscReal);
PETSC_EXTERN PetscErrorCode KSPBAIGetOmega(KSP, PetscReal *);
PETSC_EXTERN PetscErrorCode KSPBAISetLocalOmega(KSP, PetscReal);
PETSC_EXTERN PetscErrorCode KSPBAIGetLocalOmega(KSP, PetscReal *);
PETSC_EXTERN PetscErrorCode KSPBAISetCheckInterval(KSP, PetscInt);
PETSC_EXTERN PetscErrorCode KSPBAIGetCheckInterval(KSP, PetscInt *);
PETSC_EXTERN PetscErrorCode KSPBAISetBackend(KSP, BAIBackend);
PETSC_EXTERN PetscErrorCode KSPBAIGetBackend(KSP, BAIBackend *);

PETSC_EXTERN PetscErrorCode PCBAISetLocalIters(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBAIGetLocalIters(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBAISetBlockSize(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBAIGetBlockSize(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBAISetMode(PC, BAIMode);
PETSC_EXTERN PetscErrorCode PCBAIGetMode(PC, BAIMode *);
PETSC_EXTERN PetscErrorCode PCBAISetPartition(PC, BAIPartitionType);
PETSC_EXTERN PetscErrorCode PCBAIGetPartition(PC, BAIPartitionType *);
PETSC_EXTERN PetscErrorCode PCBAISetWeight(PC, BAIWeight);
PETSC_EXTERN PetscErrorCode PCBAIGetWeight(PC, BAIWeight *);
PETSC_EXTERN PetscErrorCode PCBAISetOmega(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCBAIGetOmega(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCBAISetLocalOmega(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCBAIGetLocalOmega(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCBAISetIterations(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBAIGetIterations(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBAISetPolynomial(PC, BAIPolynomial);
PETSC_EXTERN PetscErrorCode PCBAIGetPolynomial(PC, BAIPolynomial *);
PETSC_EXTERN PetscErrorCode PCBAISetBackend(PC, BAIBackend);
PETSC_EXTERN PetscErrorCode PCBAIGetBackend(PC, BAIBackend *);

PETSC_EXTERN PetscErrorCode PCBAIMGSetLevels(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBAIMGGetLevels(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBAIMGSetLocalIters(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBAIMGGetLocalIters(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBAIMGSetOver(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCBAIMGGetOver(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCBAIMGSetSingle(PC, PetscBool3);
PETSC_EXTERN PetscErrorCode PCBAIMGGetSingle(PC, PetscBool3 *);
PETSC_EXTERN PetscErrorCode PCBAIMGSetGather(PC, PetscBool3);
PETSC_EXTERN PetscErrorCode PCBAIMGGetGather(PC, PetscBool3 *);
/* end of what is made */

PETSC_EXTERN PetscErrorCode PCBAIMGSetAggregates(PC, IS);
