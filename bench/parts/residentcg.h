/*
   Conjugate gradients with Jacobi on one GPU, the whole solve in one launch: what residentcg.c calls. Functions return
   NULL, or what failed. residentcg.cu has it, residentcg_none.c stands in where there is no nvcc
*/
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ResidentCG_ *ResidentCG;

typedef enum {
  RESIDENTCG_CONVERGED_RTOL,
  RESIDENTCG_CONVERGED_ATOL,
  RESIDENTCG_MAX_IT,
  RESIDENTCG_NAN,
  RESIDENTCG_INDEFINITE_PC,
  RESIDENTCG_INDEFINITE_MAT
} ResidentCGReason;

typedef struct {
  double           rnorm; /* ||r||, r being the residual of the recurrence */
  int              its;
  ResidentCGReason reason;
} ResidentCGResult;

/* For n rows in compressed rows on the device. *unfit is NULL, or says why it cannot be; then there is no solver.
 * stream: a cudaStream_t */
const char *ResidentCGCreate(int n, const int *i, const int *j, void *stream, ResidentCG *cg, const char **unfit);

/* From zero until ||r|| <= max(rtol ||b||, abstol). The values may be new, the pattern must be that of
 * ResidentCGCreate() */
const char *ResidentCGSolve(ResidentCG cg, const int *i, const int *j, const double *a, const double *b, double *x,
                            double rtol, double abstol, int max_it, ResidentCGResult *result);

const char *ResidentCGDestroy(ResidentCG *cg);

#ifdef __cplusplus
}
#endif
