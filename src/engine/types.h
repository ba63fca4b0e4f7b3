/*
   Scalars and indices of the engine: those of the PETSc it is built for
*/
#pragma once

#include <petscconf.h>
#include <stdint.h>

#if defined(PETSC_USE_64BIT_INDICES)
typedef int64_t BAIInt;
#else
typedef int BAIInt;
#endif

#if defined(PETSC_USE_REAL_DOUBLE)
typedef double BAIReal;
#elif defined(PETSC_USE_REAL_SINGLE)
typedef float BAIReal;
#else
  #error "petsc-bai needs a PETSc with double or single precision"
#endif

#if !defined(PETSC_USE_COMPLEX)
typedef BAIReal BAIScalar;
#elif defined(__cplusplus)
  #include <cuda/std/complex>
typedef cuda::std::complex<BAIReal> BAIScalar;
#else
typedef BAIReal _Complex BAIScalar;
#endif
