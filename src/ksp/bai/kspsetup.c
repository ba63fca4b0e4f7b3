/* Set-up of a KSPBAI: choice of the method, of the PC, and of what does the iterations */
#include "kspbai.h"

/* Gets the value of -pc_type for the PC of this KSP, if it was given; or the present type, if the option has left the
   database since KSPSetFromOptions() */
PetscErrorCode KSPBAIGetPCTypeOption(KSP ksp, char type[], size_t len, PetscBool *given)
{
  const char *prefix;
  PCType      now;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(ksp->pc, &prefix));
  PetscCall(PetscOptionsGetString(((PetscObject)ksp->pc)->options, prefix, "-pc_type", type, len, given));
  PetscCall(PCGetType(ksp->pc, &now));
  if (*given || !now || !((KSP_BAI *)ksp->data)->pc_given) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrncpy(type, now, len));
  *given = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the type of the PC may be the one that PETSc chooses by itself: ICC for a symmetric matrix and ILU for
   others, block Jacobi on several ranks, and others for matrices without entries */
static PetscErrorCode IsDefault(PC pc, PetscBool *is)
{
  PetscMPIInt size;
  PetscBool   set, symmetric, known, has = PETSC_TRUE;
  Mat         P = NULL;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, size > 1 ? PCBJACOBI : PCILU, is));
  PetscCall(PCGetOperatorsSet(pc, NULL, &set));
  if (set) PetscCall(PCGetOperators(pc, NULL, &P));
  if (*is || !P) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHasEntries(P, &has));
  if (!has) PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, is, PCNONE, PCICC, PCBJACOBI, PCMAT, ""));
  PetscCall(MatIsSymmetricKnown(P, &known, &symmetric));
  if (has && size == 1 && known && symmetric) PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCICC, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether the user has chosen the type of the PC, by -pc_type or in code, when the KSP becomes a KSPBAI. PETSc itself
   may have set a type that depends on the matrix, in KSPSetFromOptions(), which up to PETSc 3.18 does so before it
   reads -ksp_type. Such a type of a PC whose options were read does not count as chosen. Types set later do
*/
static PetscErrorCode IsPCChosen(KSP ksp, PetscBool *is)
{
  const KSP_BAI *k = (KSP_BAI *)ksp->data;
  PetscBool      automatic;
  PCType         type;
  char           word[64];

  PetscFunctionBegin;
  PetscCall(PCGetType(ksp->pc, &type));
  *is = (PetscBool)(type != NULL);
  if (!type || k->has_pc || !ksp->pc->setfromoptionscalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPBAIGetPCTypeOption(ksp, word, sizeof(word), is));
  if (*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IsDefault(ksp->pc, &automatic));
  *is = (PetscBool)!automatic;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the PC a PCBAIMG unless a type was chosen, or a PCNONE as long as the matrix has no entries. Sets has_pc, chose
   and none */
PetscErrorCode KSPBAIChoosePC(KSP ksp)
{
  KSP_BAI  *k = (KSP_BAI *)ksp->data;
  PetscBool chosen, given, set, has;
  char      word[64];
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
    if (again) PetscCall(PCSetFromOptions(pc)); /* a PCBAIMG has its own options */
  }
  k->has_pc = PETSC_TRUE;
  PetscCall(KSPBAIGetPCTypeOption(ksp, word, sizeof(word), &given));
  if (given) k->chose = PETSC_FALSE;
  if (!k->chose) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperatorsSet(pc, NULL, &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(pc, NULL, &P));
  PetscCall(MatGetType(P, &type));
  if (!type) PetscFunctionReturn(PETSC_SUCCESS); /* PETSc has only created it on demand, and it will be replaced */
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

/* Raises errors for given options that contradict each other. relaxation and krylov are the fields of a given option of
   each method, or NULL; pc_type is the value of -pc_type if pc_given */
static PetscErrorCode CheckGiven(KSP ksp, const char relaxation[], const char krylov[], PetscBool pc_given,
                                 const char pc_type[])
{
  const BAI     *bai  = (BAI *)ksp->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)ksp);
  char           one[PETSC_MAX_OPTION_NAME], other[PETSC_MAX_OPTION_NAME];
  PetscBool      unused;

  PetscFunctionBegin;
  if (!relaxation && bai->options.method == BAI_METHOD_RELAXATION) relaxation = "method relaxation";
  if (!krylov && bai->options.method == BAI_METHOD_KRYLOV) krylov = "method krylov";
  if (relaxation) PetscCall(BAIOptionName(bai, relaxation, one, sizeof(one)));
  if (krylov) PetscCall(BAIOptionName(bai, krylov, other, sizeof(other)));
  PetscCheck(!relaxation || !krylov, comm, PETSC_ERR_ARG_INCOMP,
             "%s, which is for relaxation, with %s, which is for Krylov methods: leave out one of them", one, other);
  if (bai->options.method != BAI_METHOD_RELAXATION || !pc_given) PetscFunctionReturn(PETSC_SUCCESS);
  unused = (PetscBool)(!strcmp(pc_type, PCNONE) || !strcmp(pc_type, PCBAIMG));
  PetscCheck(unused, comm, PETSC_ERR_ARG_INCOMP,
             "%s with -%spc_type %s: relaxation has no preconditioner, so that must be none or left out", one,
             BAIPrefixOf((PetscObject)ksp->pc), pc_type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets method and why: what the user asked for; else relaxation, if an option of relaxation was given or the number of
   iterations is fixed; else krylov. Raises an error for options that do not fit the method */
PetscErrorCode KSPBAIChooseMethod(KSP ksp)
{
  KSP_BAI    *k          = (KSP_BAI *)ksp->data;
  const BAI  *bai        = &k->bai;
  const char *relaxation = BAIOptionsGiven(bai, BAI_OF_RELAXATION), *krylov = BAIOptionsGiven(bai, BAI_OF_KRYLOV),
             *both         = BAIOptionsGiven(bai, BAI_OF_BOTH);
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
  } else if (KSPBAIIsFixed(ksp) && !given && !krylov) {
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

/* Shows that relaxation does not apply the PC, if the user has chosen one; by -info if viewer is NULL */
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
   KSPBAIGetMethod - Gets the method that a `KSPBAI` runs, and the reason for it

   Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameters:
+  method - `BAI_METHOD_KRYLOV` or `BAI_METHOD_RELAXATION`
-  why    - the reason in words, valid until the method is chosen again; may be `NULL`

   Level: intermediate

   Note:
   With `BAI_METHOD_AUTO` the method follows from the given options, see `KSPBAISetMethod()`, and may change until
   `KSPSolve()`.

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

/* Forgets the findings of earlier solves if the matrix or its values have changed */
static PetscErrorCode ForgetIfOther(KSP_BAI *k, Mat A)
{
  PetscBool others;

  PetscFunctionBegin;
  PetscCall(BAITakeValues(&k->bai, A, PETSC_FALSE, &k->found, &others));
  if (!others) PetscFunctionReturn(PETSC_SUCCESS);
  k->off_chip = k->indefinite = k->breaks = PETSC_FALSE;
  k->hermitian                            = PETSC_BOOL3_UNKNOWN;
  if (k->mg) k->mg->hierarchy->no_over = k->mg->hierarchy->not_single = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A is Hermitian: from its levels, if the PC has them, from the user, or by a test with random vectors, whose
   result is kept. Without entries only the user knows */
static PetscErrorCode IsHermitian(KSP_BAI *k, PetscBool levels, Mat A, PetscBool *is)
{
  PetscBool known, has;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (levels) {
    *is = BAIHierarchyIsHermitian(k->mg->hierarchy);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatIsHermitianKnown(A, &known, is));
  if (!(known && *is) && !PetscDefined(USE_COMPLEX)) PetscCall(MatIsSymmetricKnown(A, &known, is));
  if (known && *is) PetscFunctionReturn(PETSC_SUCCESS); /* some programs set false if they do not know */
  *is = PETSC_FALSE;
  PetscCall(BAIHasEntries(A, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  if (k->hermitian == PETSC_BOOL3_UNKNOWN) {
    PetscCall(BAILooksHermitian(A, is));
    k->hermitian = *is ? PETSC_BOOL3_TRUE : PETSC_BOOL3_FALSE;
  }
  *is = (PetscBool)(k->hermitian == PETSC_BOOL3_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the PC is certainly symmetric if A is Hermitian: by its type, or as it is made from the present A, or its
   levels from another Hermitian matrix */
static PetscErrorCode IsPCSymmetric(KSP ksp, Mat A, PetscBool *is)
{
  const KSP_BAI     *k      = (KSP_BAI *)ksp->data;
  const BAIHierarchy h      = k->mg ? k->mg->hierarchy : NULL;
  PetscBool          always = PETSC_FALSE, follows = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &always, PCNONE, PCJACOBI, PCICC, PCCHOLESKY, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &follows, PCLU, PCGAMG, ""));
  *is = (PetscBool)(always || (follows && A == ksp->pc->pmat && !ksp->pc->reusepreconditioner) ||
                    (h && (BAIHierarchyIsHermitian(h) || h->jacobi)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Returns the flexible method for a Hermitian matrix. KSPFCG multiplies vectors by VecMTDot(), which PETSc up to 3.26
   has on the host only, and which does not conjugate. FGMRES knows no norm but ||b - A x|| */
static PetscErrorCode ChooseFlexible(KSP ksp, Mat A, BAIKrylov *krylov)
{
  VecType   type;
  PetscBool host;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  host    = (PetscBool)(!strcmp(type, VECSTANDARD) || !strcmp(type, VECSEQ) || !strcmp(type, VECMPI));
  *krylov = KSPBAINamesNorm(ksp) || (host && !PetscDefined(USE_COMPLEX)) ? BAI_KRYLOV_FCG : BAI_KRYLOV_GMRES;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets k->krylov to the method that the options ask for, or that auto stands for. The spectrum of fields that depend on
   each other reaches far along the imaginary axis, where BiCGStab takes several times the iterations of GMRES */
static PetscErrorCode ChooseKrylov(KSP ksp, Mat A, PetscBool hermitian)
{
  KSP_BAI  *k         = (KSP_BAI *)ksp->data;
  PetscBool breaks    = (PetscBool)(k->breaks || (k->mg && k->mg->hierarchy->fields.dependent));
  PetscBool symmetric = PETSC_FALSE, entries;

  PetscFunctionBegin;
  k->krylov = k->bai.options.krylov;
  if (k->krylov != BAI_KRYLOV_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHasEntries(A, &entries));
  PetscCall(IsPCSymmetric(ksp, A, &symmetric));
  if (hermitian && !k->indefinite && symmetric) k->krylov = BAI_KRYLOV_CG;
  else if (hermitian && !k->indefinite) PetscCall(ChooseFlexible(ksp, A, &k->krylov));
  else k->krylov = breaks || !entries ? BAI_KRYLOV_GMRES : BAI_KRYLOV_BCGS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts the matrix on the chip of a GPU if it fits, and no option requires another PC or method, or other levels. on:
   the solve runs there; plain: the null space is none, or only constants */
static PetscErrorCode SetUpChip(KSP ksp, Mat A, Mat P, PetscBool plain, PetscBool *on)
{
  KSP_BAI             *k       = (KSP_BAI *)ksp->data;
  const BAIKrylov      asked   = k->bai.options.krylov;
  const BAILevelsInfo *info    = &k->bai.hierarchy->info;
  BAIBackend           backend = k->bai.options.backend;
  PetscBool            seq, mpi, given, cuda, entries;
  MatInfo              mat;
  Mat                  Ad = A;

  PetscFunctionBegin;
  *on = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, NULL, NULL));
  if (backend == BAI_BACKEND_AUTO && (seq || mpi)) PetscCall(BAIBackendOf(Ad, &backend));
  cuda = (PetscBool)(backend == BAI_BACKEND_CUDA);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &cuda, 1, BAI_MPI_BOOL, MPI_LAND, PetscObjectComm((PetscObject)ksp)));
  if (!cuda) PetscFunctionReturn(PETSC_SUCCESS);
  given = (PetscBool)(BAIOptionsGiven(&k->bai, BAI_OF_BOTH) ||
                      (k->mg && (k->mg->asked || k->mg->hierarchy->aggregates)));
  PetscCall(BAIHasEntries(A, &entries));
  if (!entries || !k->mg || A != P || !plain || k->off_chip || k->indefinite || asked == BAI_KRYLOV_FCG ||
      asked == BAI_KRYLOV_GMRES || given ||
      (ksp->normtype_set != KSP_NORM_DEFAULT && ksp->normtype == KSP_NORM_NATURAL) ||
      ksp->normtype == KSP_NORM_PRECONDITIONED || (k->transposed && PetscDefined(USE_COMPLEX)))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &mat));
  if (mat.nz_used > BAI_CHIP_NONZEROS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHierarchySetUp(&k->bai, A));
  *on = (PetscBool)(info->resident &&
                    (asked == BAI_KRYLOV_AUTO || (asked == BAI_KRYLOV_CG) == (info->hermitian != 0)) &&
                    (!k->transposed || info->hermitian));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lets a PCBAIMG make levels only when it is applied, and ignores an earlier failure to make them */
static void Defer(KSP ksp)
{
  ((KSP_BAI *)ksp->data)->mg->hierarchy->deferred = PETSC_TRUE;
  ksp->pc->failedreason                           = PC_NOERROR;
}

/* Sets up the PC as PETSc does, including a PCBAIMG that has deferred it, which also gets the backend, the exchange,
   idle_wait and local_iters of this KSP */
static PetscErrorCode SetUpPC(KSP ksp)
{
  KSP_BAI *k  = (KSP_BAI *)ksp->data;
  BAI     *mg = k->mg;

  PetscFunctionBegin;
  if (mg) {
    const BAIHierarchy h = mg->hierarchy;

    h->deferred = PETSC_FALSE;
    if (h->single == BAI_SINGLE_HERMITIAN) h->single = BAI_SINGLE_IN_RANGE; /* our methods keep the residual itself */
    PetscCall(BAIPassOption(&k->bai, mg, "local_iters"));
    mg->options.backend   = k->bai.options.backend;
    mg->options.exchange  = k->bai.options.exchange;
    mg->options.idle_wait = k->bai.options.idle_wait;
  }
  PetscCall(PCSetErrorIfFailure(ksp->pc, ksp->errorifnotconverged));
  PetscCall(PCSetUp(ksp->pc));
  if (!mg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIHierarchySetUpIfAsked(mg, ksp->pc->pmat));
  ksp->pc->failedreason = mg->hierarchy->finite ? PC_NOERROR : PC_SETUP_ERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up the PC, and depending on it sets k->krylov and k->runner, to the engine or a KSP of PETSc. The engine needs
   levels of a PCBAIMG for the present A, which it does not have if the PC is reused for other values */
static PetscErrorCode SetUpWithPC(KSP ksp, Mat A, Mat P, PetscBool plain)
{
  KSP_BAI     *k      = (KSP_BAI *)ksp->data;
  BAIHierarchy h      = NULL;
  PetscBool    levels = PETSC_FALSE, hermitian;
  PetscMPIInt  size;

  PetscFunctionBegin;
  PetscCall(SetUpPC(ksp));
  if (k->mg) h = k->mg->hierarchy;
  if (h && A == P) {
    BAIVersion of = h->of;

    PetscCall(BAITakeValues(&k->bai, A, (PetscBool)!h->ready, &of, &levels));
    levels = (PetscBool)!levels;
  }
  PetscCall(IsHermitian(k, levels, A, &hermitian));
  PetscCall(ChooseKrylov(ksp, A, hermitian));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  k->runner = levels && plain && hermitian && !h->jacobi && !h->scaling.left && !h->interleaved.fields &&
      k->krylov == BAI_KRYLOV_CG && !(k->transposed && PetscDefined(USE_COMPLEX)) &&
      (size == 1 || h->gathered || (h->ranks && h->info.solves)) && ksp->normtype != KSP_NORM_NATURAL &&
      ksp->normtype != KSP_NORM_PRECONDITIONED
    ? BAI_BY_LEVELS
    : BAI_BY_PETSC;
  if (h && !h->finite) k->runner = BAI_BY_LEVELS; /* the solve reports it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chooses what does the iterations of a Krylov method for this matrix and PC, and sets it up */
PetscErrorCode KSPBAISetUpKrylov(KSP ksp)
{
  KSP_BAI     *k     = (KSP_BAI *)ksp->data;
  PetscBool    plain = PETSC_TRUE, on = PETSC_FALSE; /* plain: the null space is none, or only constants */
  PetscInt     others = 0;
  MatNullSpace space;
  Mat          A, P;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, &P));
  PetscCall(ForgetIfOther(k, A));
  if (k->bai.relax.engine) PetscCall(BAIDropEngine(&k->bai)); /* drops the engine of an earlier relaxation */
  PetscCall(MatGetNullSpace(A, &space));
  if (space) PetscCall(MatNullSpaceGetVecs(space, &plain, &others, NULL));
  if (others) plain = PETSC_FALSE;
  PetscCall(SetUpChip(ksp, A, P, plain, &on));
  if (on) {
    k->krylov = k->bai.hierarchy->hermitian ? BAI_KRYLOV_CG : BAI_KRYLOV_BCGS;
    k->runner = BAI_BY_CHIP;
    Defer(ksp);
  } else PetscCall(SetUpWithPC(ksp, A, P, plain));
  if (k->runner == BAI_BY_PETSC) PetscCall(KSPBAISetUpInner(ksp));
  else PetscCall(KSPDestroy(&k->inner));             /* it would keep a reference to a matrix */
  BAISetGuessNotRead(ksp, k->runner == BAI_BY_CHIP); /* it writes x */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees the data of Krylov methods, so that the runner is relaxation as at first */
static PetscErrorCode ResetKrylov(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  k->runner = BAI_BY_RELAXATION;
  BAISetGuessNotRead(ksp, PETSC_FALSE);
  PetscCall(KSPDestroy(&k->inner));
  PetscCall(VecDestroy(&k->scaled));
  PetscCall(VecDestroy(&k->weights));
  PetscCall(BAIHierarchyReset(&k->bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up the chosen method for the present matrix. A PCBAIMG that is not applied makes no levels */
PetscErrorCode KSPBAISetUp(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPBAIGetMG(ksp, &k->mg));
  if (k->method == BAI_METHOD_KRYLOV) {
    PetscCall(KSPBAISetUpKrylov(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (k->runner != BAI_BY_RELAXATION) PetscCall(ResetKrylov(ksp));
  if (k->mg) Defer(ksp);
  PetscCall(KSPSetUp_BAIRelaxation(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPReset_BAI(KSP ksp)
{
  KSP_BAI *k = (KSP_BAI *)ksp->data;

  PetscFunctionBegin;
  PetscCall(ResetKrylov(ksp));
  PetscCall(MatDestroy(&k->At));
  PetscCall(BAIReset(&k->bai));
  PetscFunctionReturn(PETSC_SUCCESS);
}
