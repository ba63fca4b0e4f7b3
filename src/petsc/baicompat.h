/* Differences between the releases (3.18 to 3.26) and configurations of PETSc. No other file tests PETSC_VERSION */
#pragma once

#include <petscversion.h>
#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0

/* Releases without these functions get arrays of dense matrices on the host */
static inline PetscErrorCode MatDenseGetArrayReadAndMemType(Mat A, const PetscScalar **array, PetscMemType *memtype)
{
  *memtype = PETSC_MEMTYPE_HOST;
  return MatDenseGetArrayRead(A, array);
}
static inline PetscErrorCode MatDenseGetArrayAndMemType(Mat A, PetscScalar **array, PetscMemType *memtype)
{
  *memtype = PETSC_MEMTYPE_HOST;
  return MatDenseGetArray(A, array);
}
  #define MatDenseRestoreArrayReadAndMemType(A, array) MatDenseRestoreArrayRead(A, array)
  #define MatDenseRestoreArrayAndMemType(A, array)     MatDenseRestoreArray(A, array)
#endif

#if PETSC_VERSION_LT(3, 20, 0)
  #define PetscAssertPointer(ptr, arg) PetscValidPointer(ptr, arg)
#endif

#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *BAIOptionItems;
#else
typedef PetscOptionItems BAIOptionItems;
#endif

#if PETSC_VERSION_LT(3, 22, 0)
  #define PetscOptionsCreateViewer(...) PetscOptionsGetViewer(__VA_ARGS__)
#endif

/* The MPI datatype of a PetscBool */
#if PETSC_VERSION_LT(3, 24, 0)
  #define BAI_MPI_BOOL MPIU_BOOL
#else
  #define BAI_MPI_BOOL MPI_C_BOOL
#endif

#if PETSC_VERSION_LT(3, 25, 0)
  #define KSP_DMACTIVE_ALL                  0
  #define KSPSetDMActive(ksp, what, active) KSPSetDMActive(ksp, active)
#endif

#if PETSC_VERSION_LT(3, 26, 0)
  #define KSP_ORTHOGONALIZATION_CGS_REFINE_IFNEEDED           KSP_GMRES_CGS_REFINE_IFNEEDED
  #define KSPOrthogonalizationSetCGSRefinementType(ksp, type) KSPGMRESSetCGSRefinementType(ksp, type)
#endif

/* Members of the struct of a KSP: a file that uses these macros includes kspimpl.h */
/* Whether KSPSetUp() scales the matrix by its diagonal after the set-up of the type, as earlier releases do */
#if PETSC_VERSION_LT(3, 26, 0)
  #define BAIScalesDiagonal(ksp) ((ksp)->dscale)
#else
  #define BAIScalesDiagonal(ksp) ((void)(ksp), PETSC_FALSE)
#endif

/* The smallest number of iterations, and whether the method ignores x if the guess is zero, so that KSPSolve() need
   not zero it */
#if PETSC_VERSION_LT(3, 20, 0)
  #define BAIMinimumIterations(ksp)     ((void)(ksp), 0)
  #define BAIGuessIsNotRead(ksp)        ((void)(ksp), PETSC_FALSE)
  #define BAISetGuessNotRead(ksp, flag) ((void)(ksp), (void)(flag))
#else
  #define BAIMinimumIterations(ksp)     ((ksp)->min_it)
  #define BAIGuessIsNotRead(ksp)        ((ksp)->guess_not_read)
  #define BAISetGuessNotRead(ksp, flag) ((void)((ksp)->guess_not_read = (flag)))
#endif

/* A solve within KSPMatSolve() or KSPMatSolveTranspose(). Since 3.26 KSPSolve() would undo an explicit transpose */
#if PETSC_VERSION_LT(3, 26, 0)
  #define BAISolveAsAsked(ksp, b, x) ((ksp)->transpose_solve ? KSPSolveTranspose : KSPSolve)(ksp, b, x)
#else
  #define BAISolveAsAsked(ksp, b, x) \
    ((ksp)->transpose_solve || (ksp)->transpose.solve_requested ? KSPSolveTranspose : KSPSolve)(ksp, b, x)
#endif

/* Until 3.18, which has no KSPMatSolveTranspose(), KSPMatSolve() leaves it to the method to forget an earlier
   KSPSolveTranspose() */
#if PETSC_VERSION_LT(3, 19, 0)
  #define BAIBeginMatSolve(ksp) ((void)((ksp)->transpose_solve = PETSC_FALSE))
#else
  #define BAIBeginMatSolve(ksp) ((void)(ksp))
#endif

/* Describes a PETSc of this release, as "PETSc 3.18 (complex scalars of double precision, 32-bit indices)", by the
   properties that libraries cannot mix; index is the size of a PetscInt in bytes */
static inline PetscErrorCode BAIVariantName(PetscDataType scalar, PetscDataType real, size_t index, char name[128])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, 128, "PETSc %d.%d (%s scalars of %s precision, %d-bit indices)", PETSC_VERSION_MAJOR,
                          PETSC_VERSION_MINOR, scalar == PETSC_COMPLEX ? "complex" : "real",
                          real == PETSC_FLOAT      ? "single"
                            : real == PETSC_DOUBLE ? "double"
                                                   : "another",
                          8 * (int)index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Checks that PETSc at run time has the minor release, scalars and indices that this library was built for. It calls
   only functions whose arguments are the same in all variants, first the release, which the numbers of data types
   depend on. A mismatch is printed here and returned as an error: a PETSc with another MPI could not report it, as its
   communicators differ
*/
static inline PetscErrorCode BAICheckVariant(void)
{
  int           major, minor;
  PetscDataType scalar, real;
  size_t        index;
  char          version[256], built[128], found[128];
  PetscBool     known, same;

  PetscFunctionBegin;
  /* A second PETSc next to the running one, as in Python, whose libraries have local symbols */
  if (PETSC_COMM_WORLD == MPI_COMM_NULL) {
    fprintf(stderr,
            "libpetscbai was built for PETSc %d.%d, which is not initialized: "
            "if another PETSc is, build petsc-bai with that one\n",
            PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR);
    PetscFunctionReturn(PETSC_ERR_LIB);
  }
  PetscCall(PetscGetVersion(version, sizeof(version)));
  if (sscanf(version, "%*[^0-9]%d.%d", &major, &minor) == 2 &&
      (major != PETSC_VERSION_MAJOR || minor != PETSC_VERSION_MINOR)) {
    fprintf(
      stderr,
      "libpetscbai was built for PETSc %d.%d and cannot be used with PETSc %d.%d: build petsc-bai with this PETSc\n",
      PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
    PetscFunctionReturn(PETSC_ERR_LIB);
  }
  PetscCall(PetscDataTypeFromString("Scalar", &scalar, &known));
  PetscCall(PetscDataTypeFromString("Real", &real, &known));
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &index));
  PetscCall(BAIVariantName(PETSC_SCALAR, PETSC_REAL, sizeof(PetscInt), built));
  PetscCall(BAIVariantName(scalar, real, index, found));
  PetscCall(PetscStrcmp(built, found, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libpetscbai was built for %s and cannot be used with %s: build petsc-bai with this PETSc", built, found);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Gets the stream that PETSc works on, and the device: PETSc's own (-1), or, if PETSc has no devices, the rank's number
   on its node
*/
#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
  #if PETSC_VERSION_LT(3, 20, 0)
static inline PetscErrorCode PetscGetCurrentCUDAStream(cudaStream_t *stream)
{
  *stream = PetscDefaultCudaStream;
  return PETSC_SUCCESS;
}
  #endif

/* Gets the arrays of a matrix. On a device PETSc may leave out empty rows, which MatSeqAIJGetCSRAndMemType() does not
   report */
static inline PetscErrorCode BAIGetCSR(Mat A, const PetscInt **i, const PetscInt **j, PetscScalar **a,
                                       PetscMemType *memtype)
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

/* Begin and end of work on a device for -log_view_gpu_time and -log_view_gpu_energy_meter, as far as this PETSc has
   them */
#if PETSC_VERSION_LT(3, 25, 0) || !defined(PETSC_HAVE_DEVICE)
  #define PetscLogGpuEnergyMeterBegin() PETSC_SUCCESS
  #define PetscLogGpuEnergyMeterEnd()   PETSC_SUCCESS
#endif
static inline PetscErrorCode BAILogDeviceBegin(void)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuEnergyMeterBegin());
  PetscCall(PetscLogGpuTimeBegin());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BAILogDeviceEnd(void)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuEnergyMeterEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PETSc without devices does not count their flops */
#if defined(PETSC_HAVE_DEVICE)
  #define BAILogDeviceFlops(flops) PetscLogGpuFlops(flops)
#else
  #define BAILogDeviceFlops(flops) PetscLogFlops(flops)
#endif
