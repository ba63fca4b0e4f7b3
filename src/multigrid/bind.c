/*
   Levels and vectors of PETSc: whether the levels are as asked, arrays in the memory of the matrix, and flops
*/
#define BAI_USE_PETSC_CUDA
#include "hierarchy.h"
#include "rules.h"

/* Whether levels are set up as options and solves ask for them, on the stream that PETSc works on now */
PetscErrorCode BAIHierarchyIsAsAsked(const BAI *bai, PetscBool *is)
{
  const BAIHierarchy h      = bai->hierarchy;
  void              *stream = h->p.stream;
  int                device;

  PetscFunctionBegin;
  if (h->ready && h->backend == BAI_BACKEND_CUDA) PetscCall(BAIGetDevice(bai->node.rank, &device, &stream));
  *is = (PetscBool)(h->ready && !h->deferred && bai->change == h->change && h->single == h->single_set &&
                    h->no_over == h->no_over_set &&
                    !(h->not_single && h->info.single && h->options.single == PETSC_BOOL3_UNKNOWN) &&
                    bai->options.backend == h->backend_set && stream == h->p.stream);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The array of a vector in the memory of the matrix, or NULL if it is elsewhere */
PetscErrorCode BAIHierarchyGetArray(const struct BAIHierarchy_ *h, Vec v, BAIAccess access, BAIScalar **array)
{
  const BAIBackend backend = h->device ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST;
  BAIMemory        memory;

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

/* A vector of this rank's rows in the memory of the matrix */
static PetscErrorCode NeedCopy(const BAIHierarchy h, Vec *v)
{
  PetscFunctionBegin;
  if (*v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecCreate(PETSC_COMM_SELF, v));
  PetscCall(VecSetSizes(*v, (PetscInt)h->M.n, (PetscInt)h->M.n));
  PetscCall(VecSetType(*v, VECSEQCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of this rank, from one vector to another, of which one may be of all ranks */
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

/* Gets the arrays of b, which is read, and of x, which is written, and read before if its values matter */
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
             "The matrix is on a GPU, and vectors for it are kept on the host: take off -vec_bind_below, or let the "
             "matrix be on the host, -mat_type aij");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIHierarchyUnbind(BAI *bai, Vec x, BAILevelsVectors *v)
{
  BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  PetscCall(BAIHierarchyRestoreArray(h, v->x, v->access, &v->xarray));
  PetscCall(BAIHierarchyRestoreArray(h, v->b, BAI_READ, &v->barray));
  if (v->x != x) PetscCall(CopyLocal(v->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between the two: x as it is now is what others see who look at the vector */
PetscErrorCode BAIHierarchyShow(BAI *bai, Vec x, BAILevelsVectors *v)
{
  PetscFunctionBegin;
  PetscCall(BAIHierarchyRestoreArray(bai->hierarchy, v->x, v->access, &v->xarray));
  v->access = BAI_READ_WRITE;
  if (v->x != x) PetscCall(CopyLocal(v->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* And they have looked */
PetscErrorCode BAIHierarchyUnshow(BAI *bai, BAILevelsVectors *v)
{
  PetscFunctionBegin;
  PetscCall(BAIHierarchyGetArray(bai->hierarchy, v->x, v->access, &v->xarray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A level's part of a cycle: two visits, and the residual between them, or a product with its inverse */
static double FlopsOfVisits(const BAILevelInfo *level, BAIInt local_iters, PetscBool exact)
{
  return exact ? 2.0 * (double)level->rows * (double)level->rows
               : 4.0 * (double)local_iters * (double)level->inside + 2.0 * (double)level->nnz;
}

/* Flops of a cycle on this rank; above: see BAILevelsParameters. Rows are those of all ranks, as they say which levels are
 * visited twice */
double BAILevelsFlops(const BAILevelsInfo *info, BAIInt local_iters, int above)
{
  double visits = 1, flops = 0;

  for (int l = 0; l < info->levels; l++) {
    if (l && l < info->levels - 1 && BAIRepeats(info->hermitian, info->modes, above + l, info->level[l].rows))
      visits *= 2;
    flops += visits * FlopsOfVisits(&info->level[l], local_iters, (PetscBool)(info->exact && l == info->levels - 1));
  }
  return flops;
}

PetscErrorCode BAIHierarchyLogFlops(const struct BAIHierarchy_ *h, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (h->backend == BAI_BACKEND_HOST) PetscCall(PetscLogFlops(flops));
  else PetscCall(BAILogDeviceFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
