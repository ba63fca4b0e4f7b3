/* Hooks of options of research in a relaxation: simulated faults and their detection, statistics */
#include "research.h"

/* Creates or destroys the data that the options need, and lets faults take part in global iterations */
PetscErrorCode BAIResearchSetUp(BAI *bai)
{
  const BAIOptions *o = &bai->options;

  PetscFunctionBegin;
  if (!BAIHasFaults(o) && !o->stats) {
    PetscCall(BAIResearchReset(bai));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!bai->research) PetscCall(PetscNew(&bai->research));
  bai->research->run = bai->relax.run;
  if (BAIHasFaults(o)) bai->relax.run = BAIRunFaulty;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIResearchBegin(BAI *bai, Vec b, Vec x, PetscBool guess_zero)
{
  PetscFunctionBegin;
  PetscCall(BAIFaultsStart(bai, b, x, guess_zero));
  PetscCall(BAIStatsStart(bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the residual norms before, after from iterations, and *rnorm, after its iterations. Repairs faults, which
   updates x, the norm and the rest of the step */
PetscErrorCode BAIResearchLook(BAI *bai, PetscInt from, PetscReal before, PetscInt its, Vec b, Vec x,
                               PetscReal tolerance, PetscReal *rnorm, BAIStep *step, PetscBool *stagnates)
{
  PetscFunctionBegin;
  PetscCall(BAIFaultsLook(bai, its, b, x, rnorm, step));
  BAIStatsLook(bai, from, before, its, *rnorm, tolerance);
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
  if (!bai->research) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIFaultsReset(bai));
  PetscCall(PetscFree(bai->research));
  PetscFunctionReturn(PETSC_SUCCESS);
}
