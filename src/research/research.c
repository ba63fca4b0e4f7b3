/* Hooks of options of research in a relaxation: simulated faults, statistics */
#include "research.h"

/* Creates or destroys the data that the options need */
PetscErrorCode BAIResearchSetUp(BAI *bai)
{
  const BAIOptions *o = &bai->options;

  PetscFunctionBegin;
  if (!BAIHasFaults(o) && !o->stats) {
    PetscCall(BAIResearchReset(bai));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!bai->research) PetscCall(PetscNew(&bai->research));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIResearchBegin(BAI *bai)
{
  PetscFunctionBegin;
  BAIFaultsStart(bai);
  PetscCall(BAIStatsStart(bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the residual norms before, after from iterations, and rnorm, after its iterations */
PetscErrorCode BAIResearchLook(BAI *bai, PetscInt from, PetscReal before, PetscInt its, Vec b, Vec x,
                               PetscReal tolerance, PetscReal rnorm, PetscBool *stagnates)
{
  PetscFunctionBegin;
  PetscCall(BAIFaultsLook(bai, its, b, x, rnorm));
  BAIStatsLook(bai, from, before, its, rnorm, tolerance);
  *stagnates = bai->research->watch.stagnates;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIResearchView(BAI *bai, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(BAIFaultsView(bai, viewer));
  PetscCall(BAIStatsView(bai, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIResearchReset(BAI *bai)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(bai->research));
  PetscFunctionReturn(PETSC_SUCCESS);
}
