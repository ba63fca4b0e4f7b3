#include "bench.h"
#include "baicompat.h"
#include "hypre.h"
#include <cuda_runtime.h>
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_parcsr_mv.h>
#include <stdint.h>

/* hypre's functions return all errors so far */
#define HypreCall(...) \
  do { \
    const HYPRE_Int hypre_call_ = __VA_ARGS__; \
    PetscCheck(!hypre_call_, PETSC_COMM_SELF, PETSC_ERR_LIB, "hypre: error %d in %s", (int)hypre_call_, #__VA_ARGS__); \
  } while (0)

#define CUDACall(...) \
  do { \
    const cudaError_t cuda_call_ = __VA_ARGS__; \
    PetscCheck(cuda_call_ == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "%s in %s", cudaGetErrorString(cuda_call_), \
               #__VA_ARGS__); \
  } while (0)

struct Hypre_ {
  HYPRE_Int            n;
  PetscBool            device;
  uint64_t             threshold; /* of CUDA's pool of memory, before */
  HYPRE_MemoryLocation location;
  HYPRE_IJMatrix       matrix;
  HYPRE_IJVector       rhs, solution;
  HYPRE_ParCSRMatrix   A; /* the same in the types of hypre's solvers */
  HYPRE_ParVector      b, x;
  HYPRE_Solver         cg, amg;
};

static PetscErrorCode Wait(const struct Hypre_ *h)
{
  PetscFunctionBeginUser;
  if (h->device) CUDACall(cudaDeviceSynchronize());
  PetscFunctionReturn(0);
}

/*
   hypre allocates from CUDA's pool if it is built so, and makes it keep what it has got. Others take their memory from
   that pool as well, so it is as it was once hypre is done
*/
static PetscErrorCode PoolKeeps(Hypre h)
{
  cudaMemPool_t pool;
  uint64_t      all = UINT64_MAX;
  int           device;

  PetscFunctionBeginUser;
  CUDACall(cudaGetDevice(&device));
  CUDACall(cudaDeviceGetDefaultMemPool(&pool, device));
  CUDACall(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &h->threshold));
  HypreCall(HYPRE_DeviceInitialize());
  CUDACall(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  PetscFunctionReturn(0);
}

static PetscErrorCode PoolAsBefore(Hypre h)
{
  cudaMemPool_t pool;
  int           device;

  PetscFunctionBeginUser;
  CUDACall(cudaDeviceSynchronize());
  CUDACall(cudaGetDevice(&device));
  CUDACall(cudaDeviceGetDefaultMemPool(&pool, device));
  CUDACall(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &h->threshold));
  CUDACall(cudaMemPoolTrimTo(pool, 0));
  PetscFunctionReturn(0);
}

static PetscErrorCode Finalize(void)
{
  PetscFunctionBeginUser;
  HypreCall(HYPRE_Finalize());
  PetscFunctionReturn(0);
}

static PetscErrorCode Initialize(Hypre h)
{
  static PetscBool registered = PETSC_FALSE;

  PetscFunctionBeginUser;
  HypreCall(HYPRE_Initialize());
  if (h->device) {
    if (!registered) PetscCall(PetscRegisterFinalize(Finalize)); /* which does not do without a GPU */
    registered = PETSC_TRUE;
    PetscCall(PoolKeeps(h));
  }
  h->location = h->device ? HYPRE_MEMORY_DEVICE : HYPRE_MEMORY_HOST;
  HypreCall(HYPRE_SetMemoryLocation(h->location));
  HypreCall(HYPRE_SetExecutionPolicy(h->device ? HYPRE_EXEC_DEVICE : HYPRE_EXEC_HOST));
  HypreCall(HYPRE_SetSpGemmUseVendor(0)); /* as hypre's manual recommends for BoomerAMG */
  PetscFunctionReturn(0);
}

/* An array of the host where the matrix is; NULL where it stays, else to be freed */
static PetscErrorCode ToDevice(const struct Hypre_ *h, const HYPRE_Int host[], void **device)
{
  const size_t bytes = ((size_t)h->n + !h->n) * sizeof(*host);

  PetscFunctionBeginUser;
  *device = NULL;
  if (!h->device) PetscFunctionReturn(0);
  CUDACall(cudaMalloc(device, bytes));
  CUDACall(cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice));
  PetscFunctionReturn(0);
}

/* j and a are where the matrix is; hypre wants the number of each row, and how long it is */
static PetscErrorCode CopyMatrix(Hypre h, Mat A, const PetscInt j[], const PetscScalar a[])
{
  const PetscInt *i, *unused;
  HYPRE_Int      *rows, *lengths;
  void           *rows_there, *lengths_there;
  PetscInt        n;
  PetscBool       done;

  PetscFunctionBeginUser;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &i, &unused, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the rows of the matrix are not on the host");
  PetscCall(PetscMalloc2(n, &rows, n, &lengths));
  for (PetscInt row = 0; row < n; row++) {
    rows[row]    = (HYPRE_Int)row;
    lengths[row] = (HYPRE_Int)(i[row + 1] - i[row]);
  }
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &i, &unused, &done));
  PetscCall(ToDevice(h, rows, &rows_there));
  PetscCall(ToDevice(h, lengths, &lengths_there));
  HypreCall(HYPRE_IJMatrixCreate(PETSC_COMM_SELF, 0, h->n - 1, 0, h->n - 1, &h->matrix));
  HypreCall(HYPRE_IJMatrixSetObjectType(h->matrix, HYPRE_PARCSR));
  if (!h->device) HypreCall(HYPRE_IJMatrixSetRowSizes(h->matrix, lengths));
  HypreCall(HYPRE_IJMatrixInitialize_v2(h->matrix, h->location));
  HypreCall(HYPRE_IJMatrixSetValues(h->matrix, h->n, (HYPRE_Int *)(h->device ? lengths_there : lengths),
                                    (const HYPRE_BigInt *)(h->device ? rows_there : rows), (const HYPRE_BigInt *)j,
                                    (const HYPRE_Complex *)a));
  HypreCall(HYPRE_IJMatrixAssemble(h->matrix));
  HypreCall(HYPRE_IJMatrixGetObject(h->matrix, (void **)&h->A));
  PetscCall(Wait(h));
  if (h->device) {
    CUDACall(cudaFree(rows_there));
    CUDACall(cudaFree(lengths_there));
  }
  PetscCall(PetscFree2(rows, lengths));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateVector(const struct Hypre_ *h, const HYPRE_Complex values[], HYPRE_IJVector *vector,
                                   HYPRE_ParVector *object)
{
  PetscFunctionBeginUser;
  HypreCall(HYPRE_IJVectorCreate(PETSC_COMM_SELF, 0, h->n - 1, vector));
  HypreCall(HYPRE_IJVectorSetObjectType(*vector, HYPRE_PARCSR));
  HypreCall(HYPRE_IJVectorInitialize_v2(*vector, h->location));
  HypreCall(HYPRE_IJVectorSetValues(*vector, h->n, NULL, values));
  HypreCall(HYPRE_IJVectorAssemble(*vector));
  HypreCall(HYPRE_IJVectorGetObject(*vector, (void **)object));
  PetscFunctionReturn(0);
}

/* Recommendations of hypre's manual for GPUs: coarsening, interpolation and smoothing that are parallel there */
static PetscErrorCode CreateSolvers(Hypre h, PetscInt aggressive)
{
  PetscReal strong = 0.25;
  PetscInt  most = 4, most_aggressive = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-hypre_strong_threshold", &strong, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-hypre_p_max", &most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-hypre_agg_p_max", &most_aggressive, NULL));
  HypreCall(HYPRE_BoomerAMGCreate(&h->amg));
  HypreCall(HYPRE_BoomerAMGSetPrintLevel(h->amg, 0));
  HypreCall(HYPRE_BoomerAMGSetMaxIter(h->amg, 1));
  HypreCall(HYPRE_BoomerAMGSetTol(h->amg, 0));
  HypreCall(HYPRE_BoomerAMGSetStrongThreshold(h->amg, (HYPRE_Real)strong));
  HypreCall(HYPRE_BoomerAMGSetCoarsenType(h->amg, 8)); /* PMIS */
  HypreCall(HYPRE_BoomerAMGSetInterpType(h->amg, 6));  /* ext+i */
  HypreCall(HYPRE_BoomerAMGSetPMaxElmts(h->amg, (HYPRE_Int)most));
  HypreCall(HYPRE_BoomerAMGSetRelaxType(h->amg, 18)); /* l1-Jacobi */
  HypreCall(HYPRE_BoomerAMGSetNumSweeps(h->amg, 1));
  HypreCall(HYPRE_BoomerAMGSetKeepTranspose(h->amg, 1));
  HypreCall(HYPRE_BoomerAMGSetAggNumLevels(h->amg, (HYPRE_Int)aggressive));
  HypreCall(HYPRE_BoomerAMGSetAggInterpType(h->amg, 7)); /* in two stages, by products of matrices */
  HypreCall(HYPRE_BoomerAMGSetAggPMaxElmts(h->amg, (HYPRE_Int)most_aggressive));
  HypreCall(HYPRE_ParCSRPCGCreate(PETSC_COMM_SELF, &h->cg));
  HypreCall(HYPRE_ParCSRPCGSetTwoNorm(h->cg, 1));
  HypreCall(HYPRE_ParCSRPCGSetPrintLevel(h->cg, 0));
  HypreCall(HYPRE_ParCSRPCGSetPrecond(h->cg, HYPRE_BoomerAMGSolve, HYPRE_BoomerAMGSetup, h->amg));
  PetscFunctionReturn(0);
}

/* *unfit is NULL, or says why hypre cannot have the matrix */
static PetscErrorCode Unfit(Mat A, const char **unfit)
{
  PetscInt  m, n;
  PetscBool fits;

  PetscFunctionBeginUser;
  *unfit = "needs a matrix of type seqaij or seqaijcusparse";
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &fits, MATSEQAIJ, MATSEQAIJCUSPARSE, ""));
  if (!fits) PetscFunctionReturn(0);
  *unfit = "its types of numbers differ from PETSc's";
  if (PetscDefined(USE_COMPLEX) || sizeof(PetscReal) != sizeof(HYPRE_Complex) ||
      sizeof(PetscInt) != sizeof(HYPRE_BigInt) || sizeof(HYPRE_BigInt) != sizeof(HYPRE_Int))
    PetscFunctionReturn(0);
  *unfit = "needs as many rows as columns";
  PetscCall(MatGetSize(A, &m, &n));
  if (m == n) *unfit = NULL;
  PetscFunctionReturn(0);
}

PetscErrorCode HypreCreate(Mat A, Vec b, PetscInt aggressive, Hypre *hypre, const char **unfit)
{
  const PetscInt    *i, *j;
  PetscScalar       *a;
  const PetscScalar *values;
  PetscMemType       memtype, b_memtype;
  PetscInt           n;
  Hypre              h;

  PetscFunctionBeginUser;
  *hypre = NULL;
  PetscCall(Unfit(A, unfit));
  if (*unfit) PetscFunctionReturn(0);
  PetscCall(PetscNew(&h));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(BAIGetCSR(A, &i, &j, &a, &memtype));
  PetscCall(VecGetArrayReadAndMemType(b, &values, &b_memtype));
  h->n      = (HYPRE_Int)n;
  h->device = (PetscBool)PetscMemTypeDevice(memtype);
  PetscCheck(h->device == (PetscBool)PetscMemTypeDevice(b_memtype), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "hypre needs vectors where the matrix is, as MatCreateVecs() makes them");
  PetscCall(Initialize(h));
  PetscCall(Wait(h));
  PetscCall(CopyMatrix(h, A, j, a));
  PetscCall(CreateVector(h, (const HYPRE_Complex *)values, &h->rhs, &h->b));
  PetscCall(CreateVector(h, (const HYPRE_Complex *)values, &h->solution, &h->x));
  PetscCall(VecRestoreArrayReadAndMemType(b, &values));
  PetscCall(CreateSolvers(h, aggressive));
  PetscCall(Wait(h));
  *hypre = h;
  PetscFunctionReturn(0);
}

PetscErrorCode HypreSetUp(Hypre h)
{
  PetscFunctionBeginUser;
  HypreCall(HYPRE_ParCSRPCGSetup(h->cg, h->A, h->b, h->x));
  PetscCall(Wait(h));
  PetscFunctionReturn(0);
}

PetscErrorCode HypreSolve(Hypre h, PetscReal rtol, PetscInt max_it, PetscInt *its, KSPConvergedReason *reason)
{
  HYPRE_Int error, iterations, converged;

  PetscFunctionBeginUser;
  HypreCall(HYPRE_ParCSRPCGSetTol(h->cg, (HYPRE_Real)rtol));
  HypreCall(HYPRE_ParCSRPCGSetMaxIter(h->cg, (HYPRE_Int)max_it));
  HypreCall(HYPRE_ParVectorSetConstantValues(h->x, 0));
  error = HYPRE_ParCSRPCGSolve(h->cg, h->A, h->b, h->x);
  PetscCall(Wait(h));
  if (HYPRE_CheckError(error, HYPRE_ERROR_CONV)) (void)HYPRE_ClearError(HYPRE_ERROR_CONV); /* what converged says */
  HypreCall(HYPRE_GetError());
  HypreCall(HYPRE_ParCSRPCGGetNumIterations(h->cg, &iterations));
  HypreCall(HYPRE_PCGGetConverged(h->cg, &converged));
  *its    = iterations;
  *reason = converged ? KSP_CONVERGED_RTOL : iterations >= max_it ? KSP_DIVERGED_ITS : KSP_DIVERGED_BREAKDOWN;
  PetscFunctionReturn(0);
}

PetscErrorCode HypreGetSolution(Hypre h, Vec x)
{
  PetscScalar *values;
  PetscMemType memtype;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayWriteAndMemType(x, &values, &memtype));
  PetscCheck(h->device == (PetscBool)PetscMemTypeDevice(memtype), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "hypre needs vectors where the matrix is, as MatCreateVecs() makes them");
  PetscCall(Wait(h));
  HypreCall(HYPRE_IJVectorGetValues(h->solution, h->n, NULL, (HYPRE_Complex *)values));
  PetscCall(Wait(h));
  PetscCall(VecRestoreArrayWriteAndMemType(x, &values));
  PetscFunctionReturn(0);
}

PetscErrorCode HypreDestroy(Hypre *hypre)
{
  Hypre h = *hypre;

  PetscFunctionBeginUser;
  *hypre = NULL;
  if (!h) PetscFunctionReturn(0);
  HypreCall(HYPRE_ParCSRPCGDestroy(h->cg));
  HypreCall(HYPRE_BoomerAMGDestroy(h->amg));
  HypreCall(HYPRE_IJVectorDestroy(h->solution));
  HypreCall(HYPRE_IJVectorDestroy(h->rhs));
  HypreCall(HYPRE_IJMatrixDestroy(h->matrix));
  if (h->device) PetscCall(PoolAsBefore(h));
  PetscCall(PetscFree(h));
  PetscFunctionReturn(0);
}
