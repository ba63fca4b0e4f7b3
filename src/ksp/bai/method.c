/*
   Which method a KSPBAI runs, and what its PC is
*/
#include "kspbai.h"

/* The value of -pc_type for the PC of this KSP, if that was given */
PetscErrorCode KSPBAIGetPCTypeOption(KSP ksp, char type[], size_t len, PetscBool *given)
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(ksp->pc, &prefix));
  PetscCall(PetscOptionsGetString(((PetscObject)ksp->pc)->options, prefix, "-pc_type", type, len, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether somebody has chosen the type of the PC, by -pc_type or in code, when the KSP becomes a KSPBAI. PETSc may have
   given it a type that depends on the matrix by itself, in KSPSetFromOptions(), which up to PETSc 3.18 does so before
   it reads -ksp_type. Such a type, of a PC whose options were read, counts as chosen by nobody. Other types that the PC
   gets later are chosen
*/
static PetscErrorCode IsPCChosen(KSP ksp, PetscBool *is)
{
  const char *const automatic[] = {PCNONE, PCILU, PCICC, PCBJACOBI, PCMAT};
  const KSP_BAI    *k           = (KSP_BAI *)ksp->data;
  PCType            type;
  char              word[64];

  PetscFunctionBegin;
  PetscCall(PCGetType(ksp->pc, &type));
  *is = (PetscBool)(type != NULL);
  if (!type || k->has_pc || !ksp->pc->setfromoptionscalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPBAIGetPCTypeOption(ksp, word, sizeof(word), is));
  if (*is) PetscFunctionReturn(PETSC_SUCCESS);
  *is = PETSC_TRUE;
  for (size_t n = 0; n < PETSC_STATIC_ARRAY_LENGTH(automatic) && *is; n++) {
    PetscBool same;

    PetscCall(PetscStrcmp(type, automatic[n], &same));
    if (same) *is = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The PC is a PCBAIMG if nobody chose another type; of a matrix without entries it is PCNONE */
PetscErrorCode KSPBAIChoosePC(KSP ksp)
{
  KSP_BAI  *k = (KSP_BAI *)ksp->data;
  PetscBool chosen, set, has;
  PCType    type;
  PC        pc;
  Mat       P;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(IsPCChosen(ksp, &chosen));
  if (!chosen) {
    const PetscBool again = (PetscBool)(pc->setfromoptionscalled > 0);

    PetscCall(PCSetType(pc, PCBAIMG));
    k->chose = PETSC_TRUE;
    if (again) PetscCall(PCSetFromOptions(pc)); /* as it has options of its own */
  }
  k->has_pc = PETSC_TRUE;
  if (!k->chose) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperatorsSet(pc, NULL, &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(pc, NULL, &P));
  PetscCall(MatGetType(P, &type));
  if (!type) PetscFunctionReturn(PETSC_SUCCESS); /* PETSc made it as it was asked for it, and it will be another one */
  PetscCall(BAIHasEntries(P, &has));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, has ? PCNONE : PCBAIMG, &set));
  if (set && !has) PetscCall(PetscInfo(ksp, "The PC is none, as the matrix of type %s has no entries\n", type));
  if (set && (!has || k->none)) {
    PetscCall(PCSetType(pc, has ? PCBAIMG : PCNONE));
    if (has && pc->setfromoptionscalled) PetscCall(PCSetFromOptions(pc));
    k->none = (PetscBool)!has;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data of the PC if it is a PCBAIMG, else NULL */
PetscErrorCode KSPBAIGetMG(KSP ksp, BAI **mg)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCBAIMG, &is));
  *mg = is ? (BAI *)ksp->pc->data : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The PCBAIMG has no levels until somebody applies it, and an earlier failure to make them does not matter */
void KSPBAIDefer(KSP ksp, BAI *mg)
{
  mg->hierarchy->deferred = PETSC_TRUE;
  ksp->pc->failedreason   = PC_NOERROR;
}

/* Options that were given and do not go together */
static PetscErrorCode CheckGiven(KSP ksp, const char relaxation[], const char krylov[], PetscBool pc_given,
                                 const char pc_type[])
{
  const BAI      *bai   = (BAI *)ksp->data;
  const MPI_Comm  comm  = PetscObjectComm((PetscObject)ksp);
  const BAIMethod asked = bai->options.method;
  char            method[PETSC_MAX_OPTION_NAME], name[PETSC_MAX_OPTION_NAME], other[PETSC_MAX_OPTION_NAME];
  const char     *prefix;
  PetscBool       unused = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(BAIOptionName(bai, "method", method, sizeof(method)));
  if (relaxation) PetscCall(BAIOptionName(bai, relaxation, name, sizeof(name)));
  if (krylov) PetscCall(BAIOptionName(bai, krylov, other, sizeof(other)));
  PetscCheck(asked != BAI_METHOD_KRYLOV || !relaxation, comm, PETSC_ERR_ARG_INCOMP,
             "%s krylov with %s, which is an option of relaxation: must be relaxation or auto, or leave out %s", method,
             name, name);
  PetscCheck(asked != BAI_METHOD_RELAXATION || !krylov, comm, PETSC_ERR_ARG_INCOMP,
             "%s relaxation with %s, which is an option of Krylov methods: must be krylov or auto, or leave out %s",
             method, other, other);
  PetscCheck(!relaxation || !krylov, comm, PETSC_ERR_ARG_INCOMP,
             "%s, an option of relaxation, with %s, an option of Krylov methods: leave out one of them", name, other);
  if (asked != BAI_METHOD_RELAXATION || !pc_given) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(pc_type, PCNONE, &unused));
  if (!unused) PetscCall(PetscStrcmp(pc_type, PCBAIMG, &unused));
  PetscCall(PCGetOptionsPrefix(ksp->pc, &prefix));
  PetscCheck(unused, comm, PETSC_ERR_ARG_INCOMP,
             "%s relaxation with -%spc_type %s: relaxation has no preconditioner, so that must be none or left out",
             method, prefix ? prefix : "", pc_type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The method, and why it is this one */
PetscErrorCode KSPBAIChooseMethod(KSP ksp)
{
  KSP_BAI    *k          = (KSP_BAI *)ksp->data;
  const BAI  *bai        = &k->bai;
  const char *relaxation = BAIOptionsGiven(bai, BAI_OF_RELAXATION), *krylov = BAIOptionsGiven(bai, BAI_OF_KRYLOV),
             *both         = BAIOptionsGiven(bai, BAI_OF_BOTH);
  const PetscBool fixed    = (PetscBool)(ksp->normtype == KSP_NORM_NONE || ksp->converged == KSPConvergedSkip);
  const BAIMethod before   = k->method;
  char            type[64] = "", name[PETSC_MAX_OPTION_NAME];
  PetscBool       given;

  PetscFunctionBegin;
  PetscCall(KSPBAIGetPCTypeOption(ksp, type, sizeof(type), &given));
  PetscCall(CheckGiven(ksp, relaxation, krylov, given, type));
  k->method = bai->options.method;
  if (k->method != BAI_METHOD_AUTO) PetscCall(PetscStrncpy(k->why, "as asked for", sizeof(k->why)));
  else if (relaxation || (both && !krylov)) {
    k->method = BAI_METHOD_RELAXATION;
    PetscCall(BAIOptionName(bai, relaxation ? relaxation : both, name, sizeof(name)));
    PetscCall(PetscSNPrintf(k->why, sizeof(k->why), "since %s was given", name));
  } else if (fixed && !given && !krylov) {
    k->method = BAI_METHOD_RELAXATION;
    PetscCall(PetscStrncpy(k->why, "since the number of iterations is fixed", sizeof(k->why)));
  } else {
    k->method = BAI_METHOD_KRYLOV;
    PetscCall(PetscStrncpy(k->why, "since no option of relaxation was given", sizeof(k->why)));
  }
  if (k->method == before) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp, "Method %s, %s\n", BAIMethods[k->method], k->why));
  if (k->method == BAI_METHOD_RELAXATION) PetscCall(KSPBAIViewUnusedPC(ksp, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Relaxation does not apply a PC; one that somebody chose is named */
PetscErrorCode KSPBAIViewUnusedPC(KSP ksp, PetscViewer viewer)
{
  PetscBool ours;
  PCType    type;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &ours, PCBAIMG, PCNONE, ""));
  PetscCall(PCGetType(ksp->pc, &type));
  if (ours || !type) PetscFunctionReturn(PETSC_SUCCESS);
  if (viewer)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  PC %s is not used: relaxation has no preconditioner\n", type));
  else PetscCall(PetscInfo(ksp, "PC %s is not used: relaxation has no preconditioner\n", type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   KSPBAIGetMethod - Gets the method that a `KSPBAI` runs, and why

   Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameters:
+  method - `BAI_METHOD_KRYLOV` or `BAI_METHOD_RELAXATION`
-  why    - some words of why it is that, valid until the method is chosen again, or `NULL`

   Level: intermediate

   Note:
   With `BAI_METHOD_AUTO` the method follows from the options that were given, see `KSPBAISetMethod()`. It may change
   until `KSPSolve()`.

.seealso: `KSPBAI`, `KSPBAISetMethod()`, `BAIMethod`
@*/
PetscErrorCode KSPBAIGetMethod(KSP ksp, BAIMethod *method, const char *why[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(method, 2);
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "method", method)); /* an error for other types */
  PetscCall(KSPGetPC(ksp, &ksp->pc));
  PetscCall(KSPBAIChooseMethod(ksp));
  *method = ((KSP_BAI *)ksp->data)->method;
  if (why) *why = ((KSP_BAI *)ksp->data)->why;
  PetscFunctionReturn(PETSC_SUCCESS);
}
