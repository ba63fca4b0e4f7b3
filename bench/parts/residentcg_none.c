/*
   Stands in for residentcg.cu where there is no nvcc, or PETSc has no matrices on GPUs
*/
#include "residentcg.h"
#include <stddef.h>

const char *ResidentCGCreate(int n, const int *i, const int *j, void *stream, ResidentCG *cg, const char **unfit)
{
  (void)n;
  (void)i;
  (void)j;
  (void)stream;
  *cg    = NULL;
  *unfit = "not in a build without CUDA";
  return NULL;
}

/* Not reached, as nothing can be created */
const char *ResidentCGSolve(ResidentCG cg, const int *i, const int *j, const double *a, const double *b, double *x,
                            double rtol, double abstol, int max_it, ResidentCGResult *result)
{
  (void)cg;
  (void)i;
  (void)j;
  (void)a;
  (void)b;
  (void)x;
  (void)rtol;
  (void)abstol;
  (void)max_it;
  (void)result;
  return "built without CUDA";
}

const char *ResidentCGDestroy(ResidentCG *cg)
{
  *cg = NULL;
  return NULL;
}
