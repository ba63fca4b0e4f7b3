/* Registration, for libraries that are linked or loaded by -dll_append */
#include "../../petsc/baiimpl.h"

PetscLogEvent BAI_SetUp, BAI_Coarsen, BAI_Galerkin, BAI_Fill, BAI_Factor, BAI_Sweep, BAI_Residual, BAI_Cycle;

static PetscBool BAIPackageInitialized = PETSC_FALSE;

/*@C
   BAIFinalizePackage - Frees the memory that petsc-bai keeps between solvers

   Collective

   Level: developer

   Note:
   `PetscFinalize()` calls it. After another `PetscInitialize()`, `BAIInitializePackage()` registers the types again.

.seealso: `BAIInitializePackage()`, `PetscFinalize()`
@*/
PetscErrorCode BAIFinalizePackage(void)
{
  PetscFunctionBegin;
  BAIPackageInitialized = PETSC_FALSE;
  PetscCall(BAIMailboxDestroyAll());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   BAIInitializePackage - Registers the `KSPType` `KSPBAI`, the `PCType`s `PCBAI` and `PCBAIMG`, and their log events

   Not Collective

   Level: intermediate

   Note:
   A program that is linked with libpetscbai calls it after `PetscInitialize()`; further calls do nothing. With
   -dll_append, `PetscInitialize()` itself calls it. If PETSc's minor release, scalars or indices are not those that
   the library was built for, the error is `PETSC_ERR_LIB`.

.seealso: `KSPBAI`, `PCBAI`, `PCBAIMG`, `BAIFinalizePackage()`
@*/
PetscErrorCode BAIInitializePackage(void)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (BAIPackageInitialized) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = BAICheckVariant();
  if (ierr) PetscFunctionReturn(ierr);
  BAIPackageInitialized = PETSC_TRUE;
  PetscCall(KSPRegister(KSPBAI, KSPCreate_BAI));
  PetscCall(PCRegister(PCBAI, PCCreate_BAI));
  PetscCall(PCRegister(PCBAIMG, PCCreate_BAIMG));
  PetscCall(PetscLogEventRegister("BAISetUp", KSP_CLASSID, &BAI_SetUp));
  PetscCall(PetscLogEventRegister("BAISweep", KSP_CLASSID, &BAI_Sweep));
  PetscCall(PetscLogEventRegister("BAIResidual", KSP_CLASSID, &BAI_Residual));
  PetscCall(PetscLogEventRegister("BAICoarsen", KSP_CLASSID, &BAI_Coarsen));
  PetscCall(PetscLogEventRegister("BAIGalerkin", KSP_CLASSID, &BAI_Galerkin));
  PetscCall(PetscLogEventRegister("BAIFill", KSP_CLASSID, &BAI_Fill));
  PetscCall(PetscLogEventRegister("BAIFactor", KSP_CLASSID, &BAI_Factor));
  PetscCall(PetscLogEventRegister("BAICycle", KSP_CLASSID, &BAI_Cycle));
  PetscCall(PetscRegisterFinalize(BAIFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscbai(void);

/* PETSc calls this function after -dll_append libpetscbai.so */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscbai(void)
{
  return BAIInitializePackage();
}
