/* Compares smoothers: the same system solved by multigrid, with one after the other on its levels */
#ifndef SMOOTHERS_H
#define SMOOTHERS_H

#include <petscksp.h>

typedef struct {
  const char *name;
  KSPType     ksptype;
  PCType      pctype;
  PetscInt    its;            /* iterations of the KSP in one smoothing step */
  const char *option, *value; /* one more option, below mg_levels_ like the others, or NULL */
} Smoother;

/* How the solve with a smoother went */
typedef struct {
  KSPType            outer;
  KSPConvergedReason reason; /* 0: there was none */
  PetscInt           cycles;
  PetscReal          factor; /* of a cycle by itself */
  PetscLogDouble     setup, solve,
    step; /* seconds: setting the smoothers up, solving, a smoothing step on the finest level */
} SmootherResult;

#define SMOOTHERS_MAX          32
#define SMOOTHER_NOT_CONVERGED 1000000 /* in place of a number of cycles */

PETSC_EXTERN PetscErrorCode SmoothersCompare(DM, Mat, const Smoother[], PetscInt, SmootherResult[]);

#endif
