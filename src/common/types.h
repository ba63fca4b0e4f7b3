/*
   Scalars and indices of the engine: those of the PETSc it is built for
*/
#pragma once

#include <petscconf.h>
#include <stdint.h>

#if defined(PETSC_USE_64BIT_INDICES)
typedef int64_t BAIInt;
  #define BAI_INT_MAX INT64_MAX
#else
typedef int   BAIInt;
  #define BAI_INT_MAX INT32_MAX
#endif

#if defined(PETSC_USE_REAL_DOUBLE)
typedef double BAIReal;
  #if !defined(__cplusplus)
typedef double _Complex BAIComplex;
  #endif
#elif defined(PETSC_USE_REAL_SINGLE)
typedef float BAIReal;
  #if !defined(__cplusplus)
typedef float _Complex BAIComplex;
  #endif
#else
  #error "petsc-bai needs a PETSc with double or single precision"
#endif

#if defined(__cplusplus) && defined(PETSC_USE_COMPLEX)
  #include <cuda/std/complex>
typedef cuda::std::complex<BAIReal> BAIComplex;
#endif

#if defined(PETSC_USE_COMPLEX)
typedef BAIComplex BAIScalar;
#else
typedef BAIReal BAIScalar;
#endif
