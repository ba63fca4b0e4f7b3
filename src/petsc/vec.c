/* Vectors: access to arrays for a backend or its levels, and norms whose squares are out of range */
#include "../multigrid/hierarchy.h"

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
  /* Vectors cache their norms. PETSc takes one with a norm of 0 for zero: KSPSolve() a guess, and VecSet() by 0 does
     nothing, so that MatMultTranspose() adds to it */
  PetscCall(PetscObjectStateIncrease((PetscObject)v));
  (void)frexp((double)largest, &exponent);
  PetscCall(VecDuplicate(v, &w));
  PetscCall(VecCopy(v, w));
  PetscCall(
    VecScale(w, (PetscReal)ldexp(1.0, -exponent / 2))); /* in two steps, as one power of two may be out of range */
  PetscCall(VecScale(w, (PetscReal)ldexp(1.0, -(exponent - exponent / 2))));
  PetscCall(PetscObjectStateIncrease((PetscObject)w));
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

/* Sets the entries of v by BAISetEntry(), on the GPU if they are there and the library has kernels. VecSetRandom()
   takes as long as many products, on the host. Not collective */
PetscErrorCode BAIVecSet(Vec v, BAISet what)
{
  const BAIBackend backend = BAIBackendCUDA.set ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST;
  const BAIAccess  access  = what == BAI_SET_NOISE ? BAI_WRITE : BAI_READ_WRITE;
  BAIScalar       *array;
  BAIMemory        memory = BAI_MEMORY_HOST;
  BAIStatus        status;
  PetscInt         first, n;
  void            *stream = NULL;
  int              device;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &first, NULL));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(BAIVecGetArray(backend, v, access, &array, &memory));
  if (memory == BAI_MEMORY_DEVICE) PetscCall(BAIGetDevice(0, &device, &stream));
  status = BAIBackendSet(backend, memory, stream, what, (int64_t)first, (BAIInt)n, array);
  PetscCall(BAIVecRestoreArray(backend, v, access, &array));
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s: %s: %s", BAICodeString(status.code), status.what,
             status.why);
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

/* The backend that can read the memory of the matrix */
static BAIBackend BackendOf(const struct BAIHierarchy_ *h)
{
  return h->device ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST;
}

/* Gets the array of v in the memory of the matrix, or if v is elsewhere, that of a copy; NULL if this rank has no rows
   there. bound is v or copy, which is made if it does not exist */
static PetscErrorCode Bind(const BAIHierarchy h, Vec v, BAIAccess access, Vec *copy, Vec *bound, BAIScalar **array)
{
  BAIMemory memory;

  PetscFunctionBegin;
  *bound = v;
  PetscCall(BAIVecGetArray(BackendOf(h), v, access, array, &memory));
  if (!h->device || memory == BAI_MEMORY_DEVICE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIVecRestoreArray(BackendOf(h), v, access, array));
  *array = NULL;
  if (!h->M.n) PetscFunctionReturn(PETSC_SUCCESS);
  if (!*copy) {
    PetscCall(VecCreate(PETSC_COMM_SELF, copy));
    PetscCall(VecSetSizes(*copy, (PetscInt)h->M.n, (PetscInt)h->M.n));
    PetscCall(VecSetType(*copy, VECSEQCUDA));
  }
  if (access != BAI_WRITE) PetscCall(CopyLocal(v, *copy));
  *bound = *copy;
  PetscCall(BAIVecGetArray(BackendOf(h), *copy, access, array, &memory));
  PetscCheck(memory == BAI_MEMORY_DEVICE, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The matrix is on a GPU, and vectors for it are kept on the host: remove -vec_bind_below, or keep the "
             "matrix on the host, -mat_type aij");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets in v the arrays of b, for reading, and of x, where the matrix is: of copies if the vectors are elsewhere, and of
   the whole vectors if this rank has the whole system. If write, the values that x has are not needed.
   BAIHierarchyUnbind() ends the access */
PetscErrorCode BAIHierarchyBind(BAI *bai, Vec b, Vec x, PetscBool write, BAILevelsVectors *v)
{
  BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  v->access = write ? BAI_WRITE : BAI_READ_WRITE;
  PetscCall(Bind(h, b, BAI_READ, &h->b, &v->b, &v->bmine));
  PetscCall(Bind(h, x, v->access, &h->x, &v->x, &v->xmine));
  v->barray = v->bmine;
  v->xarray = v->xmine;
  if (h->gathered)
    PetscCall(BAIGatheredBring(h->gathered, v->bmine, v->xmine, (PetscBool)!write, &v->barray, &v->xarray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Restores the arrays, and copies the result to x if v has a copy of it */
PetscErrorCode BAIHierarchyUnbind(BAI *bai, Vec x, BAILevelsVectors *v)
{
  PetscFunctionBegin;
  PetscCall(BAIHierarchyShow(bai, x, v));
  PetscCall(BAIVecRestoreArray(BackendOf(bai->hierarchy), v->b, BAI_READ, &v->bmine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows others the present x in the vector, between Bind and Unbind */
PetscErrorCode BAIHierarchyShow(BAI *bai, Vec x, BAILevelsVectors *v)
{
  const BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  if (h->gathered) PetscCall(BAIGatheredReturn(h->gathered, v->xarray, v->xmine));
  PetscCall(BAIVecRestoreArray(BackendOf(h), v->x, v->access, &v->xmine));
  v->access = BAI_READ_WRITE;
  if (v->x != x) PetscCall(CopyLocal(v->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes x back after others have looked at it */
PetscErrorCode BAIHierarchyUnshow(BAI *bai, BAILevelsVectors *v)
{
  BAIMemory memory;

  PetscFunctionBegin;
  PetscCall(BAIVecGetArray(BackendOf(bai->hierarchy), v->x, v->access, &v->xmine, &memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}
