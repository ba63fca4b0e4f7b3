#include "hypre.h"

PetscErrorCode HypreCreate(Mat A, Vec b, PetscInt aggressive, Hypre *hypre, const char **unfit)
{
  (void)A;
  (void)b;
  (void)aggressive;
  *hypre = NULL;
  *unfit = "not built: that takes make HYPRE_DIR=..., and a PETSc with CUDA";
  return 0;
}

/* The rest is not reached, as nothing can be created */
PetscErrorCode HypreSetUp(Hypre hypre)
{
  (void)hypre;
  return 0;
}

PetscErrorCode HypreSolve(Hypre hypre, PetscReal rtol, PetscInt max_it, PetscInt *its, KSPConvergedReason *reason)
{
  (void)hypre;
  (void)rtol;
  (void)max_it;
  *its    = 0;
  *reason = KSP_CONVERGED_ITERATING;
  return 0;
}

PetscErrorCode HypreGetSolution(Hypre hypre, Vec x)
{
  (void)hypre;
  (void)x;
  return 0;
}

PetscErrorCode HypreDestroy(Hypre *hypre)
{
  *hypre = NULL;
  return 0;
}
