/* Vectors: access to arrays for a backend or its levels, and norms whose squares are out of range */
#include "../multigrid/hierarchy.h"
#include <petsc/private/petscimpl.h>

/* Computes ||v||, even if squares of its entries over- or underflow */
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
  PetscCall(PetscObjectStateIncrease((PetscObject)w)); /* as vectors cache their norms */
  PetscCall(VecNorm(w, NORM_2, norm));
  *norm = (PetscReal)ldexp((double)*norm, exponent);
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the array of a vector; on the host for the host backend, wherever it is for the CUDA backend */
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

/* Gets the array of a vector in the memory of the matrix, or NULL if it is elsewhere */
PetscErrorCode BAIHierarchyGetArray(const struct BAIHierarchy_ *h, Vec v, BAIAccess access, BAIScalar **array)
{
  const BAIBackend backend = h->device ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST;
  BAIMemory        memory  = BAI_MEMORY_HOST;

  PetscFunctionBegin;
  PetscCall(BAIVecGetArray(backend, v, access, array, &memory));
  if (!h->device || memory == BAI_MEMORY_DEVICE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIVecRestoreArray(backend, v, access, array));
  *array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIHierarchyRestoreArray(const struct BAIHierarchy_ *h, Vec v, BAIAccess access, BAIScalar **array)
{
  PetscFunctionBegin;
  PetscCall(BAIVecRestoreArray(h->device ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST, v, access, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates a vector of this rank's rows in the memory of the matrix */
static PetscErrorCode NeedCopy(const BAIHierarchy h, Vec *v)
{
  PetscFunctionBegin;
  if (*v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecCreate(PETSC_COMM_SELF, v));
  PetscCall(VecSetSizes(*v, (PetscInt)h->M.n, (PetscInt)h->M.n));
  PetscCall(VecSetType(*v, VECSEQCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies local values between vectors, one of which may be distributed */
static PetscErrorCode CopyLocal(Vec from, Vec to)
{
  const PetscScalar *in;
  PetscScalar       *out;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(from, &n));
  PetscCall(VecGetArrayRead(from, &in));
  PetscCall(VecGetArrayWrite(to, &out));
  PetscCall(PetscArraycpy(out, in, n));
  PetscCall(VecRestoreArrayWrite(to, &out));
  PetscCall(VecRestoreArrayRead(from, &in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets in v the arrays of b, for reading, and of x, where the matrix is: of copies if the vectors are elsewhere, and of
   the whole vectors if this rank has the whole system. If write, the values that x has are not needed.
   BAIHierarchyUnbind() ends the access */
PetscErrorCode BAIHierarchyBind(BAI *bai, Vec b, Vec x, PetscBool write, BAILevelsVectors *v)
{
  BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  *v = (BAILevelsVectors){.b = b, .x = x, .access = write ? BAI_WRITE : BAI_READ_WRITE};
  PetscCall(BAIHierarchyGetArray(h, b, BAI_READ, &v->barray));
  if (!v->barray && h->M.n) {
    PetscCall(NeedCopy(h, &h->b));
    PetscCall(CopyLocal(b, h->b));
    v->b = h->b;
    PetscCall(BAIHierarchyGetArray(h, v->b, BAI_READ, &v->barray));
  }
  PetscCall(BAIHierarchyGetArray(h, x, v->access, &v->xarray));
  if (!v->xarray && h->M.n) {
    PetscCall(NeedCopy(h, &h->x));
    if (!write) PetscCall(CopyLocal(x, h->x));
    v->x = h->x;
    PetscCall(BAIHierarchyGetArray(h, v->x, v->access, &v->xarray));
  }
  PetscCheck((v->barray && v->xarray) || !h->M.n, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The matrix is on a GPU, and vectors for it are kept on the host: remove -vec_bind_below, or keep the "
             "matrix on the host, -mat_type aij");
  v->bmine = v->barray;
  v->xmine = v->xarray;
  if (h->gathered)
    PetscCall(BAIGatheredBring(h->gathered, v->bmine, v->xmine, (PetscBool)!write, &v->barray, &v->xarray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Restores the arrays, and copies the result to x if v has a copy of it */
PetscErrorCode BAIHierarchyUnbind(BAI *bai, Vec x, BAILevelsVectors *v)
{
  BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  if (h->gathered) PetscCall(BAIGatheredReturn(h->gathered, v->xarray, v->xmine));
  PetscCall(BAIHierarchyRestoreArray(h, v->x, v->access, &v->xmine));
  PetscCall(BAIHierarchyRestoreArray(h, v->b, BAI_READ, &v->bmine));
  if (v->x != x) PetscCall(CopyLocal(v->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows others the present x in the vector, between Bind and Unbind */
PetscErrorCode BAIHierarchyShow(BAI *bai, Vec x, BAILevelsVectors *v)
{
  const BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  if (h->gathered) PetscCall(BAIGatheredReturn(h->gathered, v->xarray, v->xmine));
  PetscCall(BAIHierarchyRestoreArray(h, v->x, v->access, &v->xmine));
  v->access = BAI_READ_WRITE;
  if (v->x != x) PetscCall(CopyLocal(v->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes x back after others have looked at it */
PetscErrorCode BAIHierarchyUnshow(BAI *bai, BAILevelsVectors *v)
{
  PetscFunctionBegin;
  PetscCall(BAIHierarchyGetArray(bai->hierarchy, v->x, v->access, &v->xmine));
  PetscFunctionReturn(PETSC_SUCCESS);
}
