/*
   Which ranks work with the rows of others
*/
#include "../baiimpl.h"

/* What auto takes for so small that exchange between GPUs would take longer than all the work on one of them */
enum {
  SMALL_ROWS     = 1 << 18,
  SMALL_NONZEROS = 1 << 24
};

/* What this rank works on; all 0 if that is the host */
static PetscErrorCode GetDevice(const BAI *bai, Mat Ad, BAIDevice *device)
{
  BAIBackend backend = bai->options.backend;
  int        number;
  void      *stream;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(device, sizeof(*device)));
  if (backend == BAI_BACKEND_AUTO) PetscCall(BAIBackendOf(Ad, &backend));
  if (backend != BAI_BACKEND_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIDeviceOf(bai->node_rank, &number, &stream));
  if (BAIBackendGetDevice(backend, number, device).code) device->memory = 0; /* set-up says what is wrong with it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n ranks so far from each other have n GPUs */
static PetscBool Differ(const BAIDevice *d, PetscMPIInt n, PetscMPIInt step)
{
  for (PetscMPIInt a = 0; a < n; a++)
    for (PetscMPIInt b = 0; b < a; b++)
      if (!memcmp(d[a * step].uuid, d[b * step].uuid, sizeof(d->uuid))) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* How many ranks work, and which, as far as PCTELESCOPE can choose them: one, or as many as share no GPU, or all */
PetscErrorCode BAIGatherChoose(const BAI *bai, Mat A, Mat Ad, PetscMPIInt *workers, PetscSubcommType *type,
                               const char **why)
{
  const MPI_Comm comm = PetscObjectComm(bai->obj);
  PetscMPIInt    size, bytes = (PetscMPIInt)sizeof(BAIDevice);
  BAIDevice      mine, *device;
  PetscBool      cuda = PETSC_TRUE;
  PetscInt       rows;
  MatInfo        info;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  *workers = 1;
  *type    = PETSC_SUBCOMM_CONTIGUOUS;
  *why     = "as asked for";
  if (bai->options.gather == BAI_GATHER_ONE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIAgree(bai, GetDevice(bai, Ad, &mine), NULL));
  PetscCall(PetscMalloc1(size, &device));
  PetscCallMPI(MPI_Allgather(&mine, bytes, MPI_BYTE, device, bytes, MPI_BYTE, comm));
  for (PetscMPIInt rank = 0; rank < size; rank++) cuda = (PetscBool)(cuda && device[rank].memory);
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  *why = "as the system is small";
  if (!cuda || bai->options.gather == BAI_GATHER_DEVICE || rows > SMALL_ROWS || info.nz_used > SMALL_NONZEROS) {
    *why     = "as ranks share a GPU";
    *workers = size;
    while (cuda && (size % *workers || !(Differ(device, *workers, 1) || Differ(device, *workers, size / *workers))))
      (*workers)--;
    if (cuda && !Differ(device, *workers, 1)) *type = PETSC_SUBCOMM_INTERLACED;
  }
  PetscCall(PetscFree(device));
  PetscFunctionReturn(PETSC_SUCCESS);
}
