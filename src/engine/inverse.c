/*
   The inverse of the matrix of a coarse problem, by LAPACK
*/
#include "inverse.h"
#include "scale.h"
#include <petscsys.h>
#include <petscblaslapack.h>
#include <stdlib.h>

/* The largest sum of magnitudes in a column */
static double Norm(size_t m, const BAIScalar *a)
{
  double most = 0;

  for (size_t j = 0; j < m; j++) {
    double sum = 0;

    for (size_t i = 0; i < m; i++) sum += (double)PetscAbsScalar(a[j * m + i]);
    if (!(sum <= most)) most = sum;
  }
  return most;
}

BAIStatus BAIInvert(int m, BAIScalar *a)
{
  PetscBLASInt n = (PetscBLASInt)m, lwork = 64 * n, info, *pivot = malloc(((size_t)m + 1) * sizeof(*pivot));
  PetscScalar *work   = malloc(((size_t)lwork + 1) * sizeof(*work));
  const double norm   = Norm((size_t)m, a);
  BAIStatus    status = BAIStatusOf(pivot && work ? BAI_OK : BAI_ERR_MEMORY);

  if (!status.code) {
    LAPACKgetrf_(&n, &n, (PetscScalar *)a, &n, pivot, &info);
    if (!info) LAPACKgetri_(&n, (PetscScalar *)a, &n, pivot, work, &lwork, &info);
    if (info || !BAIHoldsInverse(norm, Norm((size_t)m, a))) status = BAIStatusOf(BAI_ERR_COARSE);
  }
  free(pivot);
  free(work);
  return status;
}
