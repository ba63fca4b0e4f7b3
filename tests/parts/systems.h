/* The systems of the tests of multigrid, beside those of the gallery */
#ifndef BAI_TESTS_SYSTEMS_H
#define BAI_TESTS_SYSTEMS_H

#include <petscmat.h>

/* A matrix of this number of rows on all ranks, without entries yet; width is the number of entries that a row may
   have without more memory */
PETSC_INTERN PetscErrorCode CreateEmpty(MPI_Comm, PetscInt block_size, PetscInt rows, PetscInt width, Mat *);
PETSC_INTERN PetscErrorCode Assemble(Mat);
PETSC_INTERN PetscErrorCode AssembleVec(Vec);

/* The system of this name, of systems.c or of the gallery, for n points in each direction */
PETSC_INTERN PetscErrorCode CreateMatOn(MPI_Comm, const char name[], PetscInt n, Mat *);
PETSC_INTERN PetscErrorCode CreateMat(const char name[], PetscInt n, Mat *);

#endif
