/*
   What fails: an engine's status as an error, and errors that all ranks have to know of
*/
#include "baiimpl.h"
#include <limits.h>
#include <petsc/private/petscimpl.h>

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
