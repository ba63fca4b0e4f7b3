#include "now.h"
#include <petscdevice.h>
#include <petscsys.h>
#include <petsctime.h>

PetscErrorCode Now(PetscLogDouble *time)
{
  PetscFunctionBeginUser;
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) PetscCall(PetscDeviceContextSynchronize(NULL));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(time));
  PetscFunctionReturn(0);
}

PetscErrorCode Median(PetscInt samples, PetscReal sample[], PetscReal *median)
{
  PetscFunctionBeginUser;
  PetscCall(PetscSortReal(samples, sample));
  *median = sample[samples / 2];
  PetscFunctionReturn(0);
}
