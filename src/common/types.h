/*
   Types that all solvers share: scalars and indices, which are those of the PETSc that they are built for; matrices and
   tolerances; and how errors come back
*/
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
  BAI_ERR_MEMORY,   /* out of memory, on the host or the device */
  BAI_ERR_DIAGONAL, /* a_ii is missing, zero, or so small that 1/a_ii is not finite in the precision of the sweeps, and
                       1 is not to stand for it; row says which is the first */
  BAI_ERR_PATTERN,  /* BAIEngineUpdateValues(): not the pattern of the matrix the engine was created with */
  BAI_ERR_SIZE,     /* more rows or entries than the backend can index */
  BAI_ERR_DEVICE,   /* a call of the device's run time failed; what and why say which */
  BAI_ERR_STALLED,  /* a block waited too long for another: the device hangs, or a global iteration of a block takes ten
                       seconds. The engine can go on */
  BAI_ERR_ABSENT,   /* another rank did not come to an exchange */
  BAI_ERR_PEERS,    /* memory cannot be shared with another rank; why says why */
  BAI_ERR_NOT_BUILT, /* the library was built without this backend */
  BAI_ERR_LONG,      /* many levels: a row of the matrix has more entries than the parameters allow */
  BAI_ERR_CHIP,      /* the matrix does not fit on the chip, or this backend has none */
  BAI_ERR_CAPTURE,   /* the stream is being captured into a graph, or another one so that no calls are allowed on this
                        one; what and why say more */
  BAI_ERR_KERNEL,    /* the family of kernels that was asked for cannot be used; what is its name, and why says why */
  BAI_ERR_OUTDATED   /* many levels: the aggregates do not fit the new values */
} BAICode;

typedef struct {
  BAICode     code;
  BAIInt      row;  /* BAI_ERR_DIAGONAL: the first row at fault */
  const char *what; /* the failing call */
  const char *why;  /* the run time's own words, or a reason */
} BAIStatus;

static inline BAIStatus BAIStatusOf(BAICode code)
{
  BAIStatus status = {code, -1, "", ""};
  return status;
}

const char *BAICodeString(BAICode);
/* A status with a reason; the first 95 characters of that are kept until the next one of this thread */
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

/* Compressed rows; within a row the columns may come in any order */
typedef struct {
  const BAIInt    *i, *j;
  const BAIScalar *a;
} BAICSR;

typedef struct {
  BAIInt    n;      /* rows, and columns of A */
  BAIInt    nghost; /* columns of B: entries of x that other ranks own */
  BAICSR    A, B;   /* B is not looked at if nghost is 0 */
  BAIMemory memory; /* where the arrays lie */

  const BAIReal *share; /* n, on the host: what multiplies the damping of each row; NULL: it follows from the row */
} BAIMatrix;

/* When a solve ends: ||b - A x|| at most max(rtol bnorm, abstol), or at least dtol bnorm, or not a number, or max_it */
typedef struct {
  BAIReal rtol, abstol, dtol;
  BAIReal scaled; /* Krylov methods: and ||D^-1 (b - A x)|| at most this times ||D^-1 b||, D being the diagonal of A,
                     unless abstol is met; 0: that is not tested */
  BAIReal bnorm2; /* bnorm^2; negative: it is ||b||^2, and not known yet */
  BAIInt  max_it;
  int     fixed; /* Krylov methods: max_it iterations are to be done, also if the method stalls */
} BAITolerances;

/* Ranks that write to each other's memory count their exchanges in flags there */
typedef unsigned long long BAIFlag;

enum {
  BAI_PEER_SECONDS = 100 /* for which an exchange waits for another rank before that is an error */
};

#if defined(__cplusplus)
}
#endif
