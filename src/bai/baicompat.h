/*
   What differs between the releases and configurations of PETSc, 3.18 to 3.26. No other file tests PETSC_VERSION
*/
#pragma once

#include <petscversion.h>
#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

#if PETSC_VERSION_LT(3, 20, 0)
  #define PetscAssertPointer(ptr, arg) PetscValidPointer(ptr, arg)
#endif

#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *BAIOptionItems;
#else
typedef PetscOptionItems BAIOptionItems;
#endif

#if PETSC_VERSION_LT(3, 25, 0)
  #define KSP_DMACTIVE_ALL                      0
  #define KSPSetDMActive(ksp, what, active) KSPSetDMActive(ksp, active)
#endif

/* The run-time PETSc must be of the series that the private headers were of */
static inline PetscErrorCode BAICheckPETScVersion(void)
{
  PetscInt major, minor;

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&major, &minor, NULL, NULL));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_LIB, "libpetscbai was built for PETSc %d.%d and cannot be used with PETSc %" PetscInt_FMT ".%" PetscInt_FMT ": build petsc-bai with this PETSc", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The stream that PETSc works on, and which device to take: PETSc's own (-1), or, if PETSc knows no devices, the rank's
   number on its node
*/
#if defined(PETSC_HAVE_CUDA) && defined(BAI_USE_PETSC_CUDA)
  #include <petscdevice_cuda.h>
  #if PETSC_VERSION_LT(3, 20, 0)
static inline PetscErrorCode PetscGetCurrentCUDAStream(cudaStream_t *stream)
{
  *stream = PetscDefaultCudaStream;
  return PETSC_SUCCESS;
}
  #endif

/* On the device PETSc may leave out empty rows, of which MatSeqAIJGetCSRAndMemType() says nothing */
static inline PetscErrorCode BAIGetCSR(Mat A, const PetscInt **i, const PetscInt **j, PetscScalar **a, PetscMemType *memtype)
{
  PetscBool cusparse;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetCSRAndMemType(A, i, j, a, memtype));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, &cusparse));
  if (cusparse && PetscMemTypeCUDA(*memtype)) PetscCall(MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BAIGetDevice(PETSC_UNUSED PetscMPIInt node_rank, int *device, void **stream)
{
  cudaStream_t s;

  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscGetCurrentCUDAStream(&s));
  *stream = (void *)s;
  *device = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
  #define BAIGetCSR(A, i, j, a, memtype) MatSeqAIJGetCSRAndMemType(A, i, j, a, memtype)

static inline PetscErrorCode BAIGetDevice(PetscMPIInt node_rank, int *device, void **stream)
{
  *stream = NULL;
  *device = node_rank;
  return PETSC_SUCCESS;
}
#endif

/* A PETSc without devices has no count of their flops */
#if defined(PETSC_HAVE_DEVICE)
  #define BAILogDeviceFlops(flops) PetscLogGpuFlops(flops)
#else
  #define BAILogDeviceFlops(flops) PetscLogFlops(flops)
#endif
