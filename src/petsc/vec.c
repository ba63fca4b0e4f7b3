/*
   Vectors: their arrays where a backend takes them, and norms whose squares are too small or too large for a PetscReal
*/
#include "baiimpl.h"
#include <petsc/private/petscimpl.h>

/* ||v||, also where the squares of its entries are not what they should be */
PetscErrorCode BAIVecNorm(Vec v, PetscReal *norm)
{
  Vec       w;
  PetscReal largest;
  int       exponent;

  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_2, norm));
  if (BAIIsExactSquare(*norm * *norm) || PetscIsNanReal(*norm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(v, NORM_INFINITY, &largest));
  *norm = largest;
  if (largest == 0.0 || PetscIsInfOrNanReal(largest)) PetscFunctionReturn(PETSC_SUCCESS);
  (void)frexp((double)largest, &exponent);
  PetscCall(VecDuplicate(v, &w));
  PetscCall(VecCopy(v, w));
  PetscCall(
    VecScale(w, (PetscReal)ldexp(1.0, -exponent / 2))); /* in two steps, as one power of two may be out of range */
  PetscCall(VecScale(w, (PetscReal)ldexp(1.0, -(exponent - exponent / 2))));
  PetscCall(PetscObjectStateIncrease((PetscObject)w)); /* as vectors keep their norms, and scale them */
  PetscCall(VecNorm(w, NORM_2, norm));
  *norm = (PetscReal)ldexp((double)*norm, exponent);
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The array of a vector; the host backend takes it on the host, the CUDA backend where it is */
PetscErrorCode BAIVecGetArray(BAIBackend backend, Vec v, BAIAccess access, BAIScalar **array, BAIMemory *memory)
{
  const PetscBool host    = (PetscBool)(backend == BAI_BACKEND_HOST);
  PetscMemType    memtype = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  if (access == BAI_READ) {
    if (host) PetscCall(VecGetArrayRead(v, (const PetscScalar **)array));
    else PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)array, &memtype));
  } else if (access == BAI_WRITE) {
    if (host) PetscCall(VecGetArrayWrite(v, (PetscScalar **)array));
    else PetscCall(VecGetArrayWriteAndMemType(v, (PetscScalar **)array, &memtype));
  } else if (host) PetscCall(VecGetArray(v, (PetscScalar **)array));
  else PetscCall(VecGetArrayAndMemType(v, (PetscScalar **)array, &memtype));
  *memory = PetscMemTypeDevice(memtype) ? BAI_MEMORY_DEVICE : BAI_MEMORY_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives it back, with the access that it was got for */
PetscErrorCode BAIVecRestoreArray(BAIBackend backend, Vec v, BAIAccess access, BAIScalar **array)
{
  const PetscBool host = (PetscBool)(backend == BAI_BACKEND_HOST);

  PetscFunctionBegin;
  if (access == BAI_READ) {
    if (host) PetscCall(VecRestoreArrayRead(v, (const PetscScalar **)array));
    else PetscCall(VecRestoreArrayReadAndMemType(v, (const PetscScalar **)array));
  } else if (access == BAI_WRITE) {
    if (host) PetscCall(VecRestoreArrayWrite(v, (PetscScalar **)array));
    else PetscCall(VecRestoreArrayWriteAndMemType(v, (PetscScalar **)array));
  } else if (host) PetscCall(VecRestoreArray(v, (PetscScalar **)array));
  else PetscCall(VecRestoreArrayAndMemType(v, (PetscScalar **)array));
  PetscFunctionReturn(PETSC_SUCCESS);
}
