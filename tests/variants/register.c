/*
   Stand in for what registration refers to, where only that is built: see tests/variants.sh
*/
#include "../../src/petsc/baiimpl.h"

PetscErrorCode KSPCreate_BAI(PETSC_UNUSED KSP ksp)
{
  return PETSC_ERR_SUP;
}

PetscErrorCode PCCreate_BAI(PETSC_UNUSED PC pc)
{
  return PETSC_ERR_SUP;
}

PetscErrorCode PCCreate_BAIMG(PETSC_UNUSED PC pc)
{
  return PETSC_ERR_SUP;
}

PetscErrorCode BAIMailboxDestroyAll(void)
{
  return PETSC_SUCCESS;
}
