/*
   The parts of a Mat that the engine reads, and where they are
*/
#define BAI_USE_PETSC_CUDA
#include "baiimpl.h"

/* Of A's local rows, the square part and, on several ranks, the coupling to other ranks' columns, whose numbers are in
 * garray */
PetscErrorCode BAIGetParts(PetscObject obj, Mat A, Mat *Ad, Mat *Ao, PetscInt *nghost, const PetscInt *garray[])
{
  PetscBool seq, mpi;
  MatType   type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  PetscCheck(seq || mpi, PetscObjectComm(obj), PETSC_ERR_SUP,
             "Matrix type %s: block-asynchronous iteration needs the entries of a matrix of type aij, aijcusparse, "
             "baij or sbaij; see MatConvert() and -mat_type. Krylov methods of KSPBAI take any Amat",
             type);
  *Ad     = A;
  *Ao     = NULL;
  *nghost = 0;
  *garray = NULL;
  if (mpi) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, Ad, Ao, garray));
    PetscCall(MatGetSize(*Ao, NULL, nghost));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a part, where the backend reads them */
PetscErrorCode BAIGetRows(BAIBackend backend, Mat A, BAICSR *csr, PetscBool *device)
{
  PetscScalar *a;
  PetscMemType memtype;
  PetscBool    done;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(BAIGetCSR(A, (const PetscInt **)&csr->i, (const PetscInt **)&csr->j, &a, &memtype));
  *device = (PetscBool)PetscMemTypeDevice(memtype);
  if (*device && backend == BAI_BACKEND_HOST) {
    PetscCall(
      MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, (const PetscInt **)&csr->i, (const PetscInt **)&csr->j, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "Cannot get the rows of the matrix on the host");
    PetscCall(MatSeqAIJGetArrayRead(A, (const PetscScalar **)&a));
    *device = PETSC_FALSE;
  }
  csr->a = (const BAIScalar *)a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The counterpart of BAIGetRows(), for what it took from the host side of a device matrix */
PetscErrorCode BAIRestoreRows(BAIBackend backend, Mat A, BAICSR *csr)
{
  PetscMemType memtype;
  PetscBool    done;
  PetscInt     n;

  PetscFunctionBegin;
  if (backend != BAI_BACKEND_HOST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJGetCSRAndMemType(A, NULL, NULL, NULL, &memtype));
  if (!PetscMemTypeDevice(memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJRestoreArrayRead(A, (const PetscScalar **)&csr->a));
  PetscCall(
    MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, (const PetscInt **)&csr->i, (const PetscInt **)&csr->j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The backend that auto stands for: where the matrix lives */
PetscErrorCode BAIBackendOf(Mat Ad, BAIBackend *backend)
{
  PetscMemType memtype;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetCSRAndMemType(Ad, NULL, NULL, NULL, &memtype));
  *backend = PetscMemTypeCUDA(memtype) ? BAI_BACKEND_CUDA : BAI_BACKEND_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The device to take, and the stream that PETSc works on */
PetscErrorCode BAIDeviceOf(PetscMPIInt node_rank, int *device, void **stream)
{
  PetscFunctionBegin;
  PetscCall(BAIGetDevice(node_rank, device, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
