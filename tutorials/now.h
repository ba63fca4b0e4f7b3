#pragma once

#include <petscsystypes.h>

/* Wall-clock time once all processes, and the device if there is one, have come to this point */
PetscErrorCode Now(PetscLogDouble *);
/* The median of samples, which are sorted */
PetscErrorCode Median(PetscInt, PetscReal sample[], PetscReal *median);
