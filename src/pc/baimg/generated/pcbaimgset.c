/*
   Setters and getters of PCBAIMG, made from src/petsc/options.def and others by "make options"
*/
#include "../../../petsc/baiimpl.h" /*I "petscbai.h" I*/

/*@
   PCBAIMGSetLevels - Sets the largest number of levels

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner; the call is ignored unless it is of type `PCBAIMG`
-  levels - including the finest one, at least 1 and at most 32, or `PETSC_DECIDE`: as many as it takes, and none if a
            row has more than 1000 entries (default `PETSC_DECIDE`); any other value is an error,
            `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_baimg_levels <auto> - sets it

   Level: intermediate

   Notes:
   Coarsening ends with a level of at most 128 rows, which is solved exactly, or if hardly any rows are strongly coupled
   to others. A last level of more than 128 rows is smoothed. With 1 level the preconditioner is the smoother alone.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAIMG`, `PCBAIMGGetLevels()`
@*/
PetscErrorCode PCBAIMGSetLevels(PC pc, PetscInt levels)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFaceMG, "levels", &levels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetLevels - Gets the largest number of levels

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAIMG`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  levels - see `PCBAIMGSetLevels()`

   Level: intermediate

   Note:
   It is the value that was set. `PCView()` shows the value that `PCSetUp()` chose.

.seealso: `PCBAIMG`, `PCBAIMGSetLevels()`
@*/
PetscErrorCode PCBAIMGGetLevels(PC pc, PetscInt *levels)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFaceMG, "levels", levels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetLocalIters - Sets the Jacobi sweeps in a block per smoothing step

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner; the call is ignored unless it is of type `PCBAIMG`
-  sweeps - Jacobi sweeps, at least 1 and at most 1000 (default 4); any other value is an error,
            `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_baimg_local_iters <4> - sets it

   Level: intermediate

   Notes:
   A cycle smooths each level before and after it visits the coarser ones. More sweeps take longer, and save iterations
   if most of the entries are inside blocks.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAIMG`, `PCBAIMGGetLocalIters()`, `PCBAISetLocalIters()`
@*/
PetscErrorCode PCBAIMGSetLocalIters(PC pc, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFaceMG, "local_iters", &sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetLocalIters - Gets the Jacobi sweeps in a block per smoothing step

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAIMG`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  sweeps - see `PCBAIMGSetLocalIters()`

   Level: intermediate

.seealso: `PCBAIMG`, `PCBAIMGSetLocalIters()`
@*/
PetscErrorCode PCBAIMGGetLocalIters(PC pc, PetscInt *sweeps)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFaceMG, "local_iters", sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetOver - Sets the overcorrection factor of coarse matrices

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner; the call is ignored unless it is of type `PCBAIMG`
-  over - the factor, at least 1, where 1 means no overcorrection, with coarse matrices $P^H A P$ (default 1.9); any
          other value is an error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_baimg_over <1.9> - sets it

   Level: advanced

   Notes:
   The unknowns of an aggregate share one value on the coarse level, which makes the couplings between aggregates too
   strong there: by a factor of 2 on a grid whose points are aggregated two by two. If the matrix is Hermitian, these
   couplings are divided by up to this factor. They are not if the matrix has large couplings with the sign of the
   diagonal: if the sum of their magnitudes exceeds half of the sum for all other couplings. `KSPBAI` does without
   overcorrection if it makes the cycle indefinite. With near-null-space vectors the coarse matrices stay $P^H A P$, and
   the corrections are multiplied by min(over, 1.4).

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

   Reference:
   D. Braess, "Towards algebraic multigrid for elliptic problems of second order", Computing 55 (1995).

.seealso: `PCBAIMG`, `PCBAIMGGetOver()`
@*/
PetscErrorCode PCBAIMGSetOver(PC pc, PetscReal over)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFaceMG, "over", &over));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetOver - Gets the overcorrection factor of coarse matrices

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAIMG`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  over - see `PCBAIMGSetOver()`

   Level: advanced

.seealso: `PCBAIMG`, `PCBAIMGSetOver()`
@*/
PetscErrorCode PCBAIMGGetOver(PC pc, PetscReal *over)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFaceMG, "over", over));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetSingle - Sets whether levels on a GPU have single precision

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner; the call is ignored unless it is of type `PCBAIMG`
-  single - `PETSC_BOOL3_TRUE`, `PETSC_BOOL3_FALSE`, or `PETSC_BOOL3_UNKNOWN` (default): chosen at set-up

   Options Database Key:
.  -pc_baimg_single (auto|true|false) - sets it

   Level: advanced

   Notes:
   On the host, levels always have PETSc's precision. The input and output vectors of the preconditioner, residual norms
   and solutions of the `KSP` have PETSc's precision in any case.

   In single precision a cycle on a GPU takes about two thirds of the time, and is linear only up to 1e-7. That is
   accurate enough for methods that keep the residual itself: `KSPCG`, `KSPFCG`, `KSPGCR`, `KSPFGMRES` and `KSPFBCGS`.
   With these, set-up chooses single precision if the entries of the matrix are within its range. With other methods,
   and for `PCApply()` outside of `KSPSolve()`, it chooses PETSc's precision: left-preconditioned `KSPGMRES` would
   report norms that are too small. `PCView()` with `PETSC_VIEWER_ASCII_INFO_DETAIL` shows the choice.

   With a null space attached (`MatSetNullSpace()`), set-up also chooses PETSc's precision: rounded to single precision,
   the rows of a singular matrix would not add up to zero.

   The Krylov method is not known before the first `KSPSolve()`. Until then set-up chooses single precision if the
   matrix is symmetric with a diagonal of one sign, and sets levels up once more if that turns out to be wrong.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAIMG`, `PCBAIMGGetSingle()`
@*/
PetscErrorCode PCBAIMGSetSingle(PC pc, PetscBool3 single)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFaceMG, "single", &single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetSingle - Gets whether levels on a GPU have single precision

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAIMG`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  single - see `PCBAIMGSetSingle()`

   Level: advanced

   Note:
   It is the value that was set. `PCView()` shows the value that `PCSetUp()` chose.

.seealso: `PCBAIMG`, `PCBAIMGSetSingle()`
@*/
PetscErrorCode PCBAIMGGetSingle(PC pc, PetscBool3 *single)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFaceMG, "single", single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGSetGather - Sets whether one rank of each GPU solves the whole system

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner; the call is ignored unless it is of type `PCBAIMG`
-  gather - `PETSC_BOOL3_TRUE`, `PETSC_BOOL3_FALSE`, or `PETSC_BOOL3_UNKNOWN` (default): chosen at set-up

   Options Database Key:
.  -pc_baimg_gather (auto|true|false) - sets it

   Level: advanced

   Notes:
   If true, set-up copies the whole matrix to each GPU, or on hosts to one rank. One rank of each GPU makes all levels,
   and does the whole of each cycle, or of each solve of a `KSPBAI`. That takes little longer than on one rank, which
   for small systems is less than exchanges between levels of all ranks. Auto is true on GPUs if the matrix has at most
   8388608 nonzeros, or 134217728 if all ranks share one GPU, and false on hosts.

   The levels are distributed if ranks are on several nodes or cannot access each other's memory, with -ksp_bai_exchange
   scatter, and with `PCBAIMGSetAggregates()`. A matrix of at most 4096 rows, or of 128 with `PCBAIMGSetAggregates()`,
   is gathered even then, and also if the option is false; if necessary, each rank has the whole system. `PCView()`
   shows whether and by whom the system is gathered.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAIMG`, `PCBAIMGGetGather()`, `PCTELESCOPE`, `PCREDUNDANT`
@*/
PetscErrorCode PCBAIMGSetGather(PC pc, PetscBool3 gather)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFaceMG, "gather", &gather));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIMGGetGather - Gets whether one rank of each GPU solves the whole system

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAIMG`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  gather - see `PCBAIMGSetGather()`

   Level: advanced

   Note:
   It is the value that was set. `PCView()` shows the value that `PCSetUp()` chose.

.seealso: `PCBAIMG`, `PCBAIMGSetGather()`
@*/
PetscErrorCode PCBAIMGGetGather(PC pc, PetscBool3 *gather)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFaceMG, "gather", gather));
  PetscFunctionReturn(PETSC_SUCCESS);
}
