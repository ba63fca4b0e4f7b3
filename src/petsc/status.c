/* Conversion of an engine's status to a PETSc error */
#include "baiimpl.h"
#include "../relaxation/shared.h"

/* Raises a PETSc error for a status other than BAI_OK, on this rank only; BAIAgree() takes it to the others */
PetscErrorCode BAICheckStatus(const BAI *bai, BAIStatus status)
{
  const char *face    = bai->face->levels ? "ksp" : bai->face->name; /* PCBAIMG does not have these options itself */
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
  PetscCheck(status.code != BAI_ERR_KERNEL, PETSC_COMM_SELF, PETSC_ERR_SUP, "-%s_bai_kernel %s: %s", face,
             BAIKernels[bai->options.kernel], status.why);
  PetscCheck(status.code != BAI_ERR_DEVICE, PETSC_COMM_SELF, PETSC_ERR_GPU, "Backend %s (-%s_bai_backend): %s: %s",
             backend, face, status.what, status.why);
  PetscCheck(status.code != BAI_ERR_PEERS, PETSC_COMM_SELF, PETSC_ERR_SUP, "-%s_bai_exchange %s: %s: %s", face,
             BAIExchanges[bai->options.exchange], status.what, status.why);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "Backend %s: %s", backend, BAICodeString(status.code));
}

/* Makes the device of this rank current, and raises an error, on this rank only, if the backend cannot work, as its
   stream is being captured. The question for the capture would otherwise open the device that is current */
PetscErrorCode BAICheckReady(BAI *bai, BAIBackend backend, int device, void *stream)
{
  const BAIBackend used   = bai->relax.use.backend;
  BAIStatus        status = BAISharedUse(backend, device);
  PetscErrorCode   code;

  PetscFunctionBegin;
  if (!status.code) status = BAIBackendIsReady(backend, stream);
  bai->relax.use.backend = backend; /* for the error message */
  code                   = BAICheckStatus(bai, status);
  bai->relax.use.backend = used;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}
