/* Types that all solvers share: scalars and indices as in PETSc, matrices, tolerances and errors */
#pragma once

#include <petscbaitypes.h>
#include <petscconf.h>
#include <stddef.h>
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

#if defined(__CUDACC__)
  #define BAI_INLINE static __host__ __device__ inline
#else
  #define BAI_INLINE static inline
#endif

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
  BAI_OK,
  BAI_ERR_MEMORY, /* out of memory, on the host or the device */
  /* a_ii is missing, zero, or so small that 1/a_ii is not finite in the precision of the sweeps, and may not be
     replaced by 1; the first such row is row */
  BAI_ERR_DIAGONAL,
  BAI_ERR_PATTERN, /* BAIEngineUpdateValues(): the nonzero pattern has changed */
  BAI_ERR_SIZE,    /* the backend cannot index this number of rows or entries */
  BAI_ERR_DEVICE,  /* a call of the device's run time failed; see what and why */
  /* A block waited too long for another: the device hangs, or a global iteration of a block takes ten seconds. The
     engine can be used further */
  BAI_ERR_STALLED,
  BAI_ERR_ABSENT,    /* another rank did not take part in an exchange */
  BAI_ERR_PEERS,     /* memory cannot be shared with another rank, for the reason why */
  BAI_ERR_NOT_BUILT, /* the library was built without this backend */
  BAI_ERR_LONG,      /* levels: a row of the matrix has more entries than the parameters allow */
  BAI_ERR_CHIP,      /* the matrix does not fit on the chip, or the backend has none */
  /* The stream is being captured into a graph, or another stream, so that calls on this one are not allowed; see what
     and why */
  BAI_ERR_CAPTURE,
  BAI_ERR_KERNEL,  /* the family of kernels that was asked for cannot be used, for the reason why */
  BAI_ERR_OUTDATED /* levels: the aggregates do not fit the new values */
} BAICode;

typedef struct {
  BAICode     code;
  BAIInt      row;  /* BAI_ERR_DIAGONAL: the first bad row */
  const char *what; /* name of the failed call */
  const char *why;  /* message of the run time, or a reason */
} BAIStatus;

static inline BAIStatus BAIStatusOf(BAICode code)
{
  BAIStatus status = {code, -1, "", ""};
  return status;
}

const char *BAICodeString(BAICode);
/* A status with a reason, of which the first 95 characters are kept until the next call in this thread */
BAIStatus BAIStatusBecause(BAICode, const char *what, const char *why);

#define BAITry(...) \
  do { \
    const BAIStatus bai_try_ = __VA_ARGS__; \
    if (bai_try_.code) return bai_try_; \
  } while (0)

typedef enum {
  BAI_MEMORY_HOST,
  BAI_MEMORY_DEVICE
} BAIMemory;

/* Compressed rows; the columns of a row may be in any order */
typedef struct {
  const BAIInt    *i, *j;
  const BAIScalar *a;
} BAICSR;

typedef struct {
  BAIInt    n;      /* number of rows, and of columns of A */
  BAIInt    nghost; /* number of columns of B: entries of x of other ranks */
  BAICSR    A, B;   /* B is not read if nghost is 0 */
  BAIMemory memory; /* memory of the arrays */

  const BAIReal *share; /* n factors of the damping of each row, on the host; NULL: the row determines them */
} BAIMatrix;

/* The end of a solve: ||b - A x|| is at most max(rtol ||b||, abstol), or at least dtol ||b||, or not a number, or
   max_it iterations are done */
typedef struct {
  BAIReal rtol, abstol, dtol;
  /* Krylov methods: required bound of ||D^-1 (b - A x)|| relative to ||D^-1 b||, where D is the diagonal of A, unless
     abstol is met; 0: none */
  BAIReal scaled;
  BAIReal bnorm2; /* ||b||^2, or negative if it is not known yet */
  BAIInt  max_it;
  int     fixed; /* Krylov methods: all max_it iterations are done, also if the method stalls */
} BAITolerances;

/* The type of the flags in which ranks that write to each other's memory count exchanges */
typedef unsigned long long BAIFlag;

enum {
  BAI_PEER_SECONDS = 100 /* waiting longer for another rank in an exchange is an error */
};

#if defined(__cplusplus)
}
#endif
