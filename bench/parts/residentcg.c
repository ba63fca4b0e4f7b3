/*
   KSP of type residentcg: conjugate gradients with Jacobi in one launch, of the benchmark only. A PCNONE goes with it
*/
#define BAI_USE_PETSC_CUDA
#include "bench.h"
#include "baicompat.h"
#include "residentcg.h"
#include <petsc/private/kspimpl.h>

#define ResidentTry(...) \
  do { \
    const char *resident_try_ = __VA_ARGS__; \
    PetscCheck(!resident_try_, PETSC_COMM_SELF, PETSC_ERR_LIB, "residentcg: %s", resident_try_); \
  } while (0)

/* *unfit is NULL, or says why there is no solver */
static PetscErrorCode Create(Mat A, ResidentCG *cg, const char **unfit)
{
  const PetscInt *i, *j;
  PetscScalar    *a;
  PetscMemType    memtype;
  PetscInt        n, m;
  PetscBool       iscusparse;
  int             device = -1;
  void           *stream = NULL;

  PetscFunctionBeginUser;
  *cg    = NULL;
  *unfit = "needs a matrix of type seqaijcusparse";
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, &iscusparse));
  if (!iscusparse) PetscFunctionReturn(0);
  *unfit = "needs real numbers of double precision and indices of 32 bits";
  if (PetscDefined(USE_COMPLEX) || sizeof(PetscReal) != sizeof(double) || sizeof(PetscInt) != sizeof(int))
    PetscFunctionReturn(0);
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(BAIGetDevice(0, &device, &stream));
  PetscCall(BAIGetCSR(A, &i, &j, &a, &memtype));
  *unfit = "the matrix is on the host, or has more columns than rows or fewer";
  if (m != n || !PetscMemTypeDevice(memtype)) PetscFunctionReturn(0);
  ResidentTry(ResidentCGCreate((int)n, (const int *)i, (const int *)j, stream, cg, unfit));
  PetscFunctionReturn(0);
}

static PetscErrorCode KSPReset_ResidentCG(KSP ksp)
{
  ResidentCG cg = (ResidentCG)ksp->data;

  PetscFunctionBeginUser;
  ksp->data = NULL;
  ResidentTry(ResidentCGDestroy(&cg));
  PetscFunctionReturn(0);
}

static PetscErrorCode KSPSetUp_ResidentCG(KSP ksp)
{
  ResidentCG  cg;
  const char *unfit;
  Mat         A;

  PetscFunctionBeginUser;
  PetscCall(KSPReset_ResidentCG(ksp));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(Create(A, &cg, &unfit));
  ksp->data = cg;
  PetscCheck(!unfit, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP, "residentcg: %s", unfit);
  PetscFunctionReturn(0);
}

static PetscErrorCode KSPSolve_ResidentCG(KSP ksp)
{
  static const KSPConvergedReason reasons[] = {KSP_CONVERGED_RTOL,         KSP_CONVERGED_ATOL,
                                               KSP_DIVERGED_ITS,           KSP_DIVERGED_NANORINF,
                                               KSP_DIVERGED_INDEFINITE_PC, KSP_DIVERGED_INDEFINITE_MAT};
  ResidentCGResult                result;
  const PetscInt                 *i, *j;
  const PetscScalar              *b;
  PetscScalar                    *a, *x;
  PetscMemType                    memtype, b_memtype, x_memtype;
  Mat                             A;

  PetscFunctionBeginUser;
  PetscCheck(ksp->guess_zero, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP, "residentcg starts from zero only");
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(BAIGetCSR(A, &i, &j, &a, &memtype));
  PetscCall(VecGetArrayReadAndMemType(ksp->vec_rhs, &b, &b_memtype));
  PetscCall(VecGetArrayWriteAndMemType(ksp->vec_sol, &x, &x_memtype));
  PetscCheck(PetscMemTypeDevice(b_memtype) && PetscMemTypeDevice(x_memtype), PetscObjectComm((PetscObject)ksp),
             PETSC_ERR_SUP, "residentcg needs vectors of type seqcuda, as MatCreateVecs() makes them");
  ResidentTry(ResidentCGSolve((ResidentCG)ksp->data, (const int *)i, (const int *)j, (const double *)a,
                              (const double *)b, (double *)x, (double)ksp->rtol, (double)ksp->abstol, (int)ksp->max_it,
                              &result));
  PetscCall(VecRestoreArrayWriteAndMemType(ksp->vec_sol, &x));
  PetscCall(VecRestoreArrayReadAndMemType(ksp->vec_rhs, &b));
  ksp->its    = result.its;
  ksp->rnorm  = (PetscReal)result.rnorm;
  ksp->reason = reasons[result.reason];
  PetscFunctionReturn(0);
}

static PetscErrorCode KSPCreate_ResidentCG(KSP ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 2));
  ksp->setupnewmatrix     = PETSC_TRUE; /* as the pattern may be another one */
  ksp->ops->setup         = KSPSetUp_ResidentCG;
  ksp->ops->solve         = KSPSolve_ResidentCG;
  ksp->ops->reset         = KSPReset_ResidentCG;
  ksp->ops->destroy       = KSPReset_ResidentCG;
  ksp->ops->buildsolution = KSPBuildSolutionDefault;
  ksp->ops->buildresidual = KSPBuildResidualDefault;
  PetscFunctionReturn(0);
}

PetscErrorCode ResidentCGRegister(void)
{
  PetscFunctionBeginUser;
  PetscCall(KSPRegister(KSPRESIDENTCG, KSPCreate_ResidentCG));
  PetscFunctionReturn(0);
}

PetscErrorCode ResidentCGUnfit(Mat A, const char **unfit)
{
  ResidentCG cg;

  PetscFunctionBeginUser;
  PetscCall(Create(A, &cg, unfit));
  ResidentTry(ResidentCGDestroy(&cg));
  PetscFunctionReturn(0);
}
