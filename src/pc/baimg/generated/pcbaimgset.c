/*
   Setters and getters of PCBAIMG, made from src/petsc/options.def and others by "make options"
*/
#include "../../../petsc/baiimpl.h"
#include <petsc/private/pcimpl.h> /*I "petscbai.h" I*/

/*@
   PCBAIMGSetLevels - Sets how many levels there are at most

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner
-  levels - the finest one counted, at least 1 and at most 32, or `PETSC_DECIDE`: as many as it takes, and none if a row
            has more than 1000 entries (default `PETSC_DECIDE`)

   Options Database Key:
.  -pc_baimg_levels <auto> - sets it

   Level: intermediate

   Note:
   Levels are made until one has at most 128 rows, which is solved exactly, or until hardly any rows find others that
   they are strongly coupled to. A last level that is too large for that is smoothed. With 1 level the preconditioner is
   the smoother alone.

.seealso: `PCBAIMG`, `PCBAIMGGetLevels()`
@*/
PetscErrorCode PCBAIMGSetLevels(PC pc, PetscInt levels)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, levels, 2);
  PetscCall(BAISetOption((PetscObject)pc, &BAIFaceMG, "levels", &levels));
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
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAIMG`, `PCBAIMGSetLevels()`
@*/
PetscErrorCode PCBAIMGGetLevels(PC pc, PetscInt *levels)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(levels, 2);
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFaceMG, "levels", levels));
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, sweeps, 2);
  PetscCall(BAISetOption((PetscObject)pc, &BAIFaceMG, "local_iters", &sweeps));
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(sweeps, 2);
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFaceMG, "local_iters", sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetOver - Sets the factor by which coarse couplings are softened at most

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner
-  over - at least 1; 1: coarse matrices are P^H A P as they are (default 1.9)

   Options Database Key:
.  -pc_baimg_over <1.9> - sets it

   Level: advanced

   Note:
   Rows of an aggregate cannot differ on the coarse level, so the couplings between aggregates are too stiff there: by a
   factor of 2 on a grid whose points are taken two by two. They are softened by up to this factor, if the matrix is
   Hermitian.

   Reference:
   D. Braess, "Towards algebraic multigrid for elliptic problems of second order", Computing 55 (1995).

.seealso: `PCBAIMG`, `PCBAIMGGetOver()`
@*/
PetscErrorCode PCBAIMGSetOver(PC pc, PetscReal over)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, over, 2);
  PetscCall(BAISetOption((PetscObject)pc, &BAIFaceMG, "over", &over));
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(over, 2);
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFaceMG, "over", over));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetSingle - Sets whether levels on a GPU are in single precision

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
   outside of `KSPSolve()`. `PETSC_VIEWER_ASCII_INFO_DETAIL` makes `PCView()` say what was chosen.

   With a null space attached, `MatSetNullSpace()`, levels are of PETSc's precision as well: rounded to single precision
   the rows of a singular matrix would not add up to zero.

   The method is not known before the first `KSPSolve()`. The first set-up chooses single precision if the matrix is
   symmetric with a diagonal of one sign. If that was the wrong choice, levels are set up once more.

.seealso: `PCBAIMG`, `PCBAIMGGetSingle()`
@*/
PetscErrorCode PCBAIMGSetSingle(PC pc, PetscBool3 single)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, single, 2);
  PetscCall(BAISetOption((PetscObject)pc, &BAIFaceMG, "single", &single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetSingle - Gets whether levels on a GPU are in single precision

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAIMG`

   Output Parameter:
.  single - see `PCBAIMGSetSingle()`

   Level: advanced

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAIMG`, `PCBAIMGSetSingle()`
@*/
PetscErrorCode PCBAIMGGetSingle(PC pc, PetscBool3 *single)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(single, 2);
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFaceMG, "single", single));
  PetscFunctionReturn(PETSC_SUCCESS);
}
