/*
   The state of things: versions of objects, and errors: an engine's status, errors that all ranks have to know of, and
   matrices that cannot be solved with
*/
#include "baiimpl.h"
#include <limits.h>
#include <petsc/private/petscimpl.h>

PetscErrorCode BAIVersionOf(PetscObject obj, BAIVersion *version)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId(obj, &version->id));
  PetscCall(PetscObjectStateGet(obj, &version->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BAIVersionsEqual(BAIVersion a, BAIVersion b)
{
  return (PetscBool)(a.id == b.id && a.state == b.state);
}

/* An engine's status as a PETSc error of this rank */
PetscErrorCode BAICheckStatus(const BAI *bai, BAIStatus status)
{
  const char *face    = bai->face->levels ? "ksp" : bai->face->name; /* PCBAIMG has no such options of its own */
  const char *backend = BAIBackends[bai->relax.use.backend];

  PetscFunctionBegin;
  if (status.code == BAI_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(status.code != BAI_ERR_NOT_BUILT, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS,
             "Backend %s (-%s_bai_backend) is not in this libpetscbai, which was built without nvcc; there is: host",
             backend, face);
  PetscCheck(status.code != BAI_ERR_MEMORY, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "Out of memory on the side of the backend %s%s%s%s%s", backend, status.what[0] ? ": " : "", status.what,
             status.why[0] ? ": " : "", status.why);
  PetscCheck(status.code != BAI_ERR_CAPTURE, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Backend cuda (-%s_bai_backend) cannot be captured into a CUDA graph, nor work where CUDA does not allow "
             "it meanwhile: %s: %s",
             face, status.what, status.why);
  PetscCheck(status.code != BAI_ERR_KERNEL, PETSC_COMM_SELF, PETSC_ERR_SUP, "-%s_bai_kernel %s: %s", face, status.what,
             status.why);
  PetscCheck(status.code != BAI_ERR_DEVICE, PETSC_COMM_SELF, PETSC_ERR_GPU, "Backend %s (-%s_bai_backend): %s: %s",
             backend, face, status.what, status.why);
  PetscCheck(status.code != BAI_ERR_PEERS, PETSC_COMM_SELF, PETSC_ERR_SUP, "-%s_bai_exchange %s: %s: %s", face,
             BAIExchanges[bai->options.exchange], status.what, status.why);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "Backend %s: %s", backend, BAICodeString(status.code));
}

/*
   All ranks fail if this one does, by mine, or another; those whose fault it is not name the first rank that it is.
   Otherwise most, if it is not NULL, is set to the largest of all ranks'
*/
PetscErrorCode BAIAgree(const BAI *bai, PetscErrorCode mine, int *most)
{
  const MPI_Comm comm = PetscObjectComm(bai->obj);
  PetscMPIInt    rank, size;
  struct {
    int value, rank;
  } in, out;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  in.value = mine ? INT_MAX : most ? *most : 0;
  in.rank  = rank;
  out      = in;
  if (size > 1) PetscCallMPI(MPI_Allreduce(&in, &out, 1, MPI_2INT, MPI_MAXLOC, comm));
  PetscCall(mine);
  PetscCheck(out.value != INT_MAX, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "Block-asynchronous iteration failed on rank %d of %d, whose error message says why", out.rank, size);
  if (most) *most = out.value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAICheckAssembled(PetscObject obj, Mat A)
{
  PetscBool assembled;

  PetscFunctionBegin;
  PetscCall(MatAssembled(A, &assembled));
  PetscCheck(assembled, PetscObjectComm(obj), PETSC_ERR_ARG_WRONGSTATE, "Matrix is not assembled");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAICheckMatrix(PetscObject obj, Mat A)
{
  PetscInt M, N, m, n, unlike[2] = {0, 0}, most[2];

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCheck(M == N, PetscObjectComm(obj), PETSC_ERR_ARG_SIZ,
             "Matrix with %" PetscInt_FMT " rows and %" PetscInt_FMT " columns: must be square", M, N);
  if (m != n) {
    unlike[0] = m + 1;
    unlike[1] = n + 1;
  }
  PetscCallMPI(MPI_Allreduce(unlike, most, 2, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  PetscCheck(!most[0], PetscObjectComm(obj), PETSC_ERR_ARG_SIZ,
             "Matrix with %" PetscInt_FMT " local rows and %" PetscInt_FMT
             " local columns on some rank: rows and columns must be spread over the ranks alike",
             most[0] - 1, most[1] - 1);
  PetscCall(BAICheckAssembled(obj, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first bad row of the whole matrix, on all ranks, is an error. Many of them may be constraints. If its diagonal
   entry is NaN or infinite, that is said instead, where somebody asks */
PetscErrorCode BAICheckDiagonal(const BAI *bai, Mat A, BAIStatus status, PetscBool *finite)
{
  const PetscObject obj = bai->obj;
  PetscInt          none, first, mine, row, start, count;
  PetscScalar       value;
  PetscReal         size = 0.0, largest;
  const char       *prefix;
  IS                zeros;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &none, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  first = start + (PetscInt)status.row;
  mine  = status.code == BAI_ERR_DIAGONAL ? first : none;
  PetscCallMPI(MPI_Allreduce(&mine, &row, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  if (row == none) PetscFunctionReturn(PETSC_SUCCESS);
  if (row == mine) {
    PetscCall(MatGetValues(A, 1, &first, 1, &first, &value));
    size = PetscIsNanScalar(value) ? (PetscReal)INFINITY : PetscAbsScalar(value); /* NaN is no largest one */
  }
  PetscCallMPI(MPI_Allreduce(&size, &largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  if (finite) {
    *finite = (PetscBool)!PetscIsInfOrNanReal(largest);
    if (!*finite) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(largest == 0.0, PetscObjectComm(obj), PETSC_ERR_ARG_OUTOFRANGE,
             "Row %" PetscInt_FMT " of the matrix has a diagonal entry of magnitude %g, by which one cannot divide: "
             "block-asynchronous iteration needs 1/a_ii to be finite",
             row, (double)largest);
  PetscCall(MatFindZeroDiagonals(A, &zeros));
  PetscCall(ISGetSize(zeros, &count));
  PetscCall(ISDestroy(&zeros));
  PetscCall(PetscObjectGetOptionsPrefix(obj, &prefix));
  if (!prefix) prefix = "";
  SETERRQ(PetscObjectComm(obj), PETSC_ERR_ARG_WRONG,
          "Row %" PetscInt_FMT
          " of the matrix has no diagonal entry, or it is zero: block-asynchronous iteration divides by it. "
          "Such rows: %" PetscInt_FMT " of %" PetscInt_FMT ". If these are constraints, as of the pressure in a "
          "flow, use PCFIELDSPLIT, with this solver for the other unknowns: -%sksp_type gmres -%spc_type fieldsplit "
          "-%spc_fieldsplit_type schur -%spc_fieldsplit_detect_saddle_point -%sfieldsplit_0_pc_type baimg. Otherwise "
          "use a direct solver: -%spc_type lu",
          row, count, none, prefix, prefix, prefix, prefix, prefix, prefix);
}
