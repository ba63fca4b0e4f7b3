/*
   PCBAIMG: algebraic multigrid with block-asynchronous smoothing as a preconditioner
*/
#include "../../bai/levels.h"
#include <petsc/private/pcimpl.h> /*I "petscbai.h" I*/

enum {
  MOST_LOCAL_ITERS = 1000
};

static const char *const Singles[] = {"false", "true", "auto"}; /* in the order of PetscBool3 */

/* What users set in a PC of this type, or NULL if it is of another */
static PetscErrorCode GetOptions(PC pc, BAILevelsOptions **o)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBAIMG, &is));
  *o = is ? &((BAI *)pc->data)->hierarchy->options : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for getters: another type is an error */
static PetscErrorCode NeedOptions(PC pc, BAILevelsOptions **o)
{
  PetscFunctionBegin;
  PetscCall(GetOptions(pc, o));
  PetscCheck(*o, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONG,
             "The pc is of type %s, which has no such option: must be baimg",
             ((PetscObject)pc)->type_name ? ((PetscObject)pc)->type_name : "(not set)");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error that a wrong value is */
static PetscErrorCode WrongValue(PC pc, const char option[], const char value[], const char allowed[])
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "-%spc_baimg_%s %s: must be %s",
          prefix ? prefix : "", option, value, allowed);
}

static PetscErrorCode CheckLevels(PC pc, PetscInt levels)
{
  char value[32], allowed[64];

  PetscFunctionBegin;
  if (levels == PETSC_DECIDE || (levels >= 1 && levels <= BAI_LEVELS_MOST)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(value, sizeof(value), "%" PetscInt_FMT, levels));
  PetscCall(PetscSNPrintf(allowed, sizeof(allowed), "auto, or at least 1 and at most %d", BAI_LEVELS_MOST));
  PetscCall(WrongValue(pc, "levels", value, allowed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckLocalIters(PC pc, PetscInt sweeps)
{
  char value[32], allowed[64];

  PetscFunctionBegin;
  if (sweeps >= 1 && sweeps <= MOST_LOCAL_ITERS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(value, sizeof(value), "%" PetscInt_FMT, sweeps));
  PetscCall(PetscSNPrintf(allowed, sizeof(allowed), "at least 1 and at most %d", MOST_LOCAL_ITERS));
  PetscCall(WrongValue(pc, "local_iters", value, allowed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckOver(PC pc, PetscReal over)
{
  char value[32];

  PetscFunctionBegin;
  if (over >= 1 && !PetscIsInfOrNanReal(over)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(value, sizeof(value), "%g", (double)over));
  PetscCall(WrongValue(pc, "over", value, "a number, at least 1"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSingle(PC pc, PetscBool3 single)
{
  char value[32];

  PetscFunctionBegin;
  if (single == PETSC_BOOL3_UNKNOWN || single == PETSC_BOOL3_TRUE || single == PETSC_BOOL3_FALSE)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(value, sizeof(value), "%d", (int)single));
  PetscCall(WrongValue(pc, "single", value, "auto, true or false"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetLevels - Sets how many levels there are at most

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner
-  levels - the finest level counted, at least 1 and at most 32, or `PETSC_DECIDE` (default): as many as it takes, and
            none if a row has more than 1000 entries

   Options Database Key:
.  -pc_baimg_levels <auto> - sets it

   Level: intermediate

   Note:
   Levels are made until one has at most 128 rows, which is solved exactly, or until hardly any rows find others that
   they are strongly coupled to. A last level that is too large for that is smoothed. With 1 level the preconditioner
   is the smoother alone.

.seealso: `PCBAIMG`, `PCBAIMGGetLevels()`
@*/
PetscErrorCode PCBAIMGSetLevels(PC pc, PetscInt levels)
{
  BAILevelsOptions *o = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, levels, 2);
  PetscCall(GetOptions(pc, &o));
  if (!o) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckLevels(pc, levels));
  o->levels = levels;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetLevels - Gets how many levels there are at most

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAIMG`

   Output Parameter:
.  levels - see `PCBAIMGSetLevels()`

   Level: intermediate

   Note:
   It is the value that was set. How many there are is shown by `PCView()`.

.seealso: `PCBAIMG`, `PCBAIMGSetLevels()`
@*/
PetscErrorCode PCBAIMGGetLevels(PC pc, PetscInt *levels)
{
  BAILevelsOptions *o = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(levels, 2);
  PetscCall(NeedOptions(pc, &o));
  *levels = o->levels;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetLocalIters - Sets the Jacobi sweeps in a block at each visit to a level

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner
-  sweeps - at least 1 and at most 1000 (default 4)

   Options Database Key:
.  -pc_baimg_local_iters <4> - sets it

   Level: intermediate

   Note:
   A cycle visits each level twice, before and after the coarser levels. More sweeps save iterations where blocks hold
   most of the entries, and take longer.

.seealso: `PCBAIMG`, `PCBAIMGGetLocalIters()`, `PCBAISetLocalIters()`
@*/
PetscErrorCode PCBAIMGSetLocalIters(PC pc, PetscInt sweeps)
{
  BAILevelsOptions *o = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, sweeps, 2);
  PetscCall(GetOptions(pc, &o));
  if (!o) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckLocalIters(pc, sweeps));
  o->local_iters = sweeps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetLocalIters - Gets the Jacobi sweeps in a block at each visit to a level

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAIMG`

   Output Parameter:
.  sweeps - see `PCBAIMGSetLocalIters()`

   Level: intermediate

.seealso: `PCBAIMG`, `PCBAIMGSetLocalIters()`
@*/
PetscErrorCode PCBAIMGGetLocalIters(PC pc, PetscInt *sweeps)
{
  BAILevelsOptions *o = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(sweeps, 2);
  PetscCall(NeedOptions(pc, &o));
  *sweeps = o->local_iters;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetOver - Sets the factor by which coarse couplings are softened at most

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner
-  over - at least 1 (default 1.9); 1: coarse matrices are P^H A P as they are

   Options Database Key:
.  -pc_baimg_over <1.9> - sets it

   Level: advanced

   Note:
   Rows of an aggregate cannot differ on the coarse level, so the couplings between aggregates are too stiff there: by
   a factor of 2 on a grid whose points are taken two by two. They are softened by up to this factor, if the matrix is
   Hermitian.

   Reference:
   D. Braess, "Towards algebraic multigrid for elliptic problems of second order", Computing 55 (1995).

.seealso: `PCBAIMG`, `PCBAIMGGetOver()`
@*/
PetscErrorCode PCBAIMGSetOver(PC pc, PetscReal over)
{
  BAILevelsOptions *o = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, over, 2);
  PetscCall(GetOptions(pc, &o));
  if (!o) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckOver(pc, over));
  o->over = over;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetOver - Gets the factor by which coarse couplings are softened at most

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAIMG`

   Output Parameter:
.  over - see `PCBAIMGSetOver()`

   Level: advanced

.seealso: `PCBAIMG`, `PCBAIMGSetOver()`
@*/
PetscErrorCode PCBAIMGGetOver(PC pc, PetscReal *over)
{
  BAILevelsOptions *o = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(over, 2);
  PetscCall(NeedOptions(pc, &o));
  *over = o->over;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetSingle - Sets whether the levels are kept, and their cycle is computed, in single precision

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner
-  single - `PETSC_BOOL3_TRUE`, `PETSC_BOOL3_FALSE`, or `PETSC_BOOL3_UNKNOWN` (default): chosen at set-up

   Options Database Key:
.  -pc_baimg_single (auto|true|false) - sets it

   Level: advanced

   Notes:
   On the host levels are always of PETSc's precision. The vectors that the preconditioner takes and gives are of
   PETSc's precision in any case, and so are residual norms and solutions of the `KSP`.

   In single precision a cycle is linear only up to 1e-7, and takes about two thirds of the time on a GPU. That is
   accurate enough for methods that keep the residual itself: `KSPCG`, `KSPFCG`, `KSPGCR`, `KSPFGMRES` and `KSPFBCGS`.
   With these, set-up chooses it if the matrix has the range for it. With others levels are of PETSc's precision:
   `KSPGMRES` with the preconditioner on the left would report norms that are too small. So they are in `PCApply()`
   outside of `KSPSolve()`.

   With a null space attached, `MatSetNullSpace()`, levels are of PETSc's precision as well: rounded to single precision
   the rows of a singular matrix would not add up to zero.

   The method is not known before the first `KSPSolve()`. The first set-up chooses single precision if the matrix is
   symmetric with a diagonal of one sign. If that was the wrong choice, levels are set up once more.

.seealso: `PCBAIMG`, `PCBAIMGGetSingle()`
@*/
PetscErrorCode PCBAIMGSetSingle(PC pc, PetscBool3 single)
{
  BAILevelsOptions *o = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, single, 2);
  PetscCall(GetOptions(pc, &o));
  if (!o) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckSingle(pc, single));
  o->single = single;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetSingle - Gets whether the levels are kept in single precision

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAIMG`

   Output Parameter:
.  single - see `PCBAIMGSetSingle()`

   Level: advanced

   Note:
   It is the value that was set. What was chosen is shown by `PCView()` with `PETSC_VIEWER_ASCII_INFO_DETAIL`.

.seealso: `PCBAIMG`, `PCBAIMGSetSingle()`
@*/
PetscErrorCode PCBAIMGGetSingle(PC pc, PetscBool3 *single)
{
  BAILevelsOptions *o = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(single, 2);
  PetscCall(NeedOptions(pc, &o));
  *single = o->single;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_BAIMG(PC pc)
{
  BAI *bai = (BAI *)pc->data;

  PetscFunctionBegin;
  PetscCall(BAIHierarchySetUp(bai, pc->pmat));
  pc->failedreason = bai->hierarchy->finite ? PC_NOERROR : PC_SETUP_ERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What levels are in where users do not say: rounding in them does no harm to methods that keep the residual itself */
static PetscErrorCode ChoosePrecision(PC pc, PetscBool harmless)
{
  const BAIHierarchy h = ((BAI *)pc->data)->hierarchy;

  PetscFunctionBegin;
  if (h->options.single != PETSC_BOOL3_UNKNOWN) PetscFunctionReturn(PETSC_SUCCESS);
  if (!harmless) {
    if (h->info.single) h->single = 0;
  } else if (!h->single) h->single = BAI_SINGLE_IN_RANGE;
  else if (h->ready && !h->hermitian) h->single = BAI_SINGLE_IN_RANGE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPreSolve_BAIMG(PC pc, KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x)
{
  BAI      *bai = (BAI *)pc->data;
  PetscBool harmless;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &harmless, KSPCG, KSPFCG, KSPGCR, KSPFGMRES, KSPFBCGS, ""));
  PetscCall(ChoosePrecision(pc, harmless));
  bai->hierarchy->solving = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPostSolve_BAIMG(PC pc, PETSC_UNUSED KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x)
{
  PetscFunctionBegin;
  ((BAI *)pc->data)->hierarchy->solving = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_BAIMG(PC pc, Vec r, Vec z)
{
  PetscFunctionBegin;
  if (!((BAI *)pc->data)->hierarchy->solving) PetscCall(ChoosePrecision(pc, PETSC_FALSE));
  PetscCall(BAIHierarchySetUpIfAsked((BAI *)pc->data, pc->pmat));
  PetscCall(BAIHierarchyApply((BAI *)pc->data, r, z, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_BAIMG(PC pc, Vec r, Vec z)
{
  BAI *bai = (BAI *)pc->data;

  PetscFunctionBegin;
  if (!bai->hierarchy->solving) PetscCall(ChoosePrecision(pc, PETSC_FALSE));
  PetscCall(BAIHierarchySetUpIfAsked(bai, pc->pmat));
  PetscCheck(bai->hierarchy->hermitian || !bai->hierarchy->finite, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCBAIMG has no transpose here: the matrix is not %s with diagonal entries of one sign, so a cycle is not "
             "its own transpose: use -ksp_use_explicittranspose, or -ksp_type bai",
             PetscDefined(USE_COMPLEX) ? "Hermitian" : "symmetric");
  PetscCall(BAIHierarchyApply(bai, r, z, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_BAIMG(PC pc, PetscViewer viewer)
{
  const BAI         *bai = (const BAI *)pc->data;
  const BAIHierarchy h   = bai->hierarchy;
  PetscBool          ascii;
  PetscViewerFormat  format;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (h->options.levels == PETSC_DECIDE) PetscCall(PetscViewerASCIIPrintf(viewer, "  levels auto"));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  levels at most %" PetscInt_FMT, h->options.levels));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  PetscCall(PetscViewerASCIIPrintf(viewer, ", local_iters %" PetscInt_FMT ", over %g, single %s\n",
                                   h->options.local_iters, (double)h->options.over,
                                   Singles[h->options.single == PETSC_BOOL3_UNKNOWN ? 2 : (int)h->options.single]));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (h->ready && !h->hermitian)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  the matrix is not %s with diagonal entries of one sign: not for KSPCG\n",
                                     PetscDefined(USE_COMPLEX) ? "Hermitian" : "symmetric"));
  PetscCall(BAIHierarchyView(bai, viewer, (PetscBool)(format == PETSC_VIEWER_ASCII_INFO_DETAIL)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number, or auto */
static PetscErrorCode OptionsLevels(PC pc, PetscInt *levels, BAIOptionItems PetscOptionsObject)
{
  char      now[32], word[32], *end = NULL;
  PetscBool set, is_auto;
  long      number;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(now, sizeof(now), "%" PetscInt_FMT, *levels));
  PetscCall(PetscOptionsString("-pc_baimg_levels", "Levels at most: auto, or at least 1 and at most 32",
                               "PCBAIMGSetLevels", *levels == PETSC_DECIDE ? "auto" : now, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcasecmp(word, "auto", &is_auto));
  number = strtol(word, &end, 10);
  if (!is_auto && (end == word || *end || number < 1 || number > BAI_LEVELS_MOST))
    PetscCall(WrongValue(pc, "levels", word, "auto, or at least 1 and at most 32"));
  *levels = is_auto ? PETSC_DECIDE : (PetscInt)number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OptionsSingle(PC pc, PetscBool3 *single, BAIOptionItems PetscOptionsObject)
{
  const int now = *single == PETSC_BOOL3_UNKNOWN ? 2 : (int)*single;
  char      word[32];
  PetscBool set, is_auto, is_bool, yes = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-pc_baimg_single", "Levels in single precision: auto, true or false",
                               "PCBAIMGSetSingle", Singles[now], word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcasecmp(word, Singles[2], &is_auto));
  PetscCall(BAIReadsAs(BAI_WORD_BOOL, word, &is_bool, &yes));
  if (!is_auto && !is_bool) PetscCall(WrongValue(pc, "single", word, "auto, true or false"));
  *single = is_auto ? PETSC_BOOL3_UNKNOWN : yes ? PETSC_BOOL3_TRUE : PETSC_BOOL3_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's error about a word that is no number does not name the option */
static PetscErrorCode CheckNumber(PC pc, const char option[], BAIWord kind, const char allowed[])
{
  const char *prefix;
  char        name[64], word[64];
  PetscBool   set, is;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscSNPrintf(name, sizeof(name), "-pc_baimg_%s", option));
  PetscCall(PetscOptionsGetString(((PetscObject)pc)->options, prefix, name, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIReadsAs(kind, word, &is, NULL));
  if (!is) PetscCall(WrongValue(pc, option, word, allowed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the options into a copy, so that a wrong one changes nothing */
static PetscErrorCode PCSetFromOptions_BAIMG(PC pc, BAIOptionItems PetscOptionsObject)
{
  BAILevelsOptions *options = &((BAI *)pc->data)->hierarchy->options, o = *options;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "PC algebraic multigrid with block-asynchronous smoothing options");
  PetscCall(OptionsLevels(pc, &o.levels, PetscOptionsObject));
  PetscCall(CheckNumber(pc, "local_iters", BAI_WORD_INT, "at least 1 and at most 1000"));
  PetscCall(CheckNumber(pc, "over", BAI_WORD_REAL, "a number, at least 1"));
  PetscCall(PetscOptionsInt("-pc_baimg_local_iters",
                            "Jacobi sweeps in a block at each visit to a level: at least 1 and at most 1000",
                            "PCBAIMGSetLocalIters", o.local_iters, &o.local_iters, NULL));
  PetscCall(PetscOptionsReal("-pc_baimg_over",
                             "Factor by which coarse couplings are softened at most: a number, at least 1",
                             "PCBAIMGSetOver", o.over, &o.over, NULL));
  PetscCall(OptionsSingle(pc, &o.single, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscCall(CheckLocalIters(pc, o.local_iters));
  PetscCall(CheckOver(pc, o.over));
  *options = o;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_BAIMG(PC pc)
{
  PetscFunctionBegin;
  PetscCall(BAIHierarchyReset((BAI *)pc->data));
  PetscCall(BAIReset((BAI *)pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_BAIMG(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_BAIMG(pc));
  PetscCall(BAIHierarchyDestroy((BAI *)pc->data));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
     PCBAIMG - Algebraic multigrid whose smoother is block-asynchronous iteration, as a preconditioner

   Options Database Keys:
+  -pc_baimg_levels <auto>            - levels at most, `PCBAIMGSetLevels()`
.  -pc_baimg_local_iters <4>          - Jacobi sweeps in a block at each visit to a level, `PCBAIMGSetLocalIters()`
.  -pc_baimg_over <1.9>               - factor by which coarse couplings are softened at most, `PCBAIMGSetOver()`
-  -pc_baimg_single (auto|true|false) - whether levels on a GPU are in single precision, `PCBAIMGSetSingle()`

   Level: beginner

   Notes: For large elliptic systems, as diffusion: with `KSPCG` the number of iterations hardly grows with the number
   of unknowns. No option is needed. Levels are set up where the matrix is, on the host or on a GPU. `KSPBAI` chooses a
   Krylov method with the same cycle by itself.

   An application is one cycle. On each level x = S b from zero, then x is corrected by a cycle on the next level for
   the residual, then x = x + S (b - A x). S is one visit to all blocks of up to 128 rows at once: `local_iters` damped
   Jacobi sweeps inside each block. Every second level is visited twice for each visit of the level above, if it has
   more than 4096 rows. The last level is solved by its dense inverse if it has at most 128 rows.

   The rows of a level are aggregates of a few strongly coupled rows of the level above. On a grid in natural ordering
   these are boxes of two points in each direction of strong coupling; otherwise pairs of pairs of rows. Blocks consist
   of aggregates. Coarse matrices are P^H A P, where P is 1 on each aggregate, with softened couplings, see
   `PCBAIMGSetOver()`.

   If A is Hermitian and positive definite, so is the cycle, which is a fixed linear operator: any `KSP` may use it. If
   A is negative definite, as differences for the Laplacian itself are, so is the cycle. Other matrices get aggregates
   by |a_ij + conj(a_ji)|, coarse matrices that are not softened, and two visits to every level of more than 4096 rows.
   Use such matrices with `KSPGMRES`, `KSPFGMRES` or `KSPBCGS`; convergence is not guaranteed.

   The levels span all MPI ranks. The rows of an aggregate, and of a block, are of one rank. Coarse matrices are
   distributed as the aggregates are. They are computed where the matrix is. All ranks together compute the residual of
   a level. Then each rank visits the blocks of its own rows. The first level of at most max(4096, min(2^15, N/(8 P)))
   rows is gathered on every rank, where N is the number of rows of the matrix and P that of ranks. Each rank has the
   remaining levels for itself, and all ranks compute the same there. The number of iterations hardly depends on the
   number of ranks. -pc_view says how many levels are distributed.

   If the block size of the matrix is more than one, only unknowns of the same field make up an aggregate: see
   `MatSetBlockSize()`.

   With a near null space attached, `MatSetNearNullSpace()`, as the rigid body modes of elasticity, aggregates are of
   points, whose unknowns are as many as the block size. P then has a column for each vector of the near null space on
   each aggregate, so all coarse levels have these vectors. Coarse matrices are not softened; corrections are multiplied
   by 1.4, or by over if that is less, and every second level is visited twice. That is so with two to eight
   vectors, or one that is not constant, with a block size of at most eight. The constant alone changes nothing. With
   more vectors or a larger block size the near null space is not used, and -info says so. After
   `MatSetNearNullSpace()` on a matrix that does not change call `PCReset()`.

   If the matrix of the last level is singular up to rounding, as with pure Neumann conditions, a generalized inverse is
   used.

   On one MPI rank new values in an old pattern keep the aggregates, so their set-up is much shorter. To have new
   aggregates, call `PCReset()` before. On several ranks new values lead to new levels.

   A zero, missing or tiny diagonal entry is an error that names the row. A row of zeros gets 1 on its diagonal. Rows
   that are coupled to no others, as those of boundary conditions, stay out of the coarse levels.

   If a row has more than 1000 entries, there are no levels, and the preconditioner is `PCJACOBI`: on a GPU one thread
   would go through such a row alone. -pc_view says so. With -pc_baimg_levels 32 there are levels all the same.

   Supports matrices of type `MATAIJ` and `MATAIJCUSPARSE`, and of type `MATBAIJ` and `MATSBAIJ` by a copy of type
   `MATAIJ` that follows their values. -pc_view ::ascii_info_detail prints a table of the levels, and why there are no
   more.

   References:
   D. Braess, "Towards algebraic multigrid for elliptic problems of second order", Computing 55 (1995).
   Y. Notay, "An aggregation-based algebraic multigrid method", Electronic Transactions on Numerical Analysis 37 (2010).
   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "A block-asynchronous relaxation method for graphics processing units",
   Journal of Parallel and Distributed Computing 73 (2013).

.seealso: `PCCreate()`, `PCSetType()`, `PCType`, `KSPBAI`, `PCBAI`, `PCGAMG`, `PCMG`, `KSPBAISetLevels()`,
          `PCBAIMGSetLevels()`, `PCBAIMGSetLocalIters()`, `PCBAIMGSetOver()`, `PCBAIMGSetSingle()`
M*/

PetscErrorCode PCCreate_BAIMG(PC pc)
{
  BAI *bai;

  PetscFunctionBegin;
  PetscCall(PetscNew(&bai));
  PetscCall(BAIInitialize((PetscObject)pc, &BAIFacePC, bai));
  PetscCall(BAIHierarchyCreate(bai));
  pc->data                = (void *)bai;
  pc->ops->setup          = PCSetUp_BAIMG;
  pc->ops->presolve       = PCPreSolve_BAIMG;
  pc->ops->postsolve      = PCPostSolve_BAIMG;
  pc->ops->apply          = PCApply_BAIMG;
  pc->ops->applytranspose = PCApplyTranspose_BAIMG;
  pc->ops->view           = PCView_BAIMG;
  pc->ops->setfromoptions = PCSetFromOptions_BAIMG;
  pc->ops->reset          = PCReset_BAIMG;
  pc->ops->destroy        = PCDestroy_BAIMG;
  PetscFunctionReturn(PETSC_SUCCESS);
}
