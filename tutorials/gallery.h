/* Where the tutorials get their matrices from: a generator, and a reader of Matrix Market files */
#ifndef GALLERY_H
#define GALLERY_H

#include <petscmat.h>

#define GALLERY_NAMES \
  "fv1, fv2, fv3, trefethen, laplace2d, laplace3d, laplace3d27, helmholtz, anisotropic, jumps, convection2d, " \
  "convection3d, elasticity, mesh, chem97ztz-like, powerlaw"

PETSC_EXTERN PetscErrorCode GalleryCreateMat(MPI_Comm, const char[], PetscInt, Mat *);
PETSC_EXTERN PetscErrorCode MatrixMarketLoad(MPI_Comm, const char[], Mat *);

#endif
