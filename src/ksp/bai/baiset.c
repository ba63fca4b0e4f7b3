/*
   Setters and getters of KSPBAI
*/
#include "baiimpl.h"
#include <petsc/private/kspimpl.h> /*I "petscbai.h" I*/

/* Takes new options if all are in their ranges */
static PetscErrorCode SetOptions(KSP ksp, const BAIOptions *options)
{
  PetscFunctionBegin;
  PetscCall(BAIOptionsCheck((PetscObject)ksp, options));
  ((BAI *)ksp->data)->options = *options;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAISetLocalIters_BAI(KSP ksp, PetscInt sweeps)
{
  BAIOptions options = ((BAI *)ksp->data)->options;

  PetscFunctionBegin;
  options.local_iters = sweeps;
  PetscCall(SetOptions(ksp, &options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAIGetLocalIters_BAI(KSP ksp, PetscInt *sweeps)
{
  PetscFunctionBegin;
  *sweeps = ((BAI *)ksp->data)->options.local_iters;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetLocalIters - Sets the Jacobi sweeps that a block does in each global iteration

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  sweeps - at least 1 (default 5)

   Options Database Key:
.  -ksp_bai_local_iters <5> - sets it

   Level: intermediate

   Note:
   More local sweeps cost little where a block's part of the matrix stays in fast memory, and pay where much of each row lies
   inside its block. All updates are counted: with 1 the method is asynchronous Jacobi.

.seealso: `KSPBAI`, `KSPBAIGetLocalIters()`
@*/
PetscErrorCode KSPBAISetLocalIters(KSP ksp, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, sweeps, 2);
  PetscTryMethod(ksp, "KSPBAISetLocalIters_C", (KSP, PetscInt), (ksp, sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetLocalIters - Gets the Jacobi sweeps that a block does in each global iteration

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  sweeps - see `KSPBAISetLocalIters()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetLocalIters()`
@*/
PetscErrorCode KSPBAIGetLocalIters(KSP ksp, PetscInt *sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(sweeps, 2);
  PetscUseMethod(ksp, "KSPBAIGetLocalIters_C", (KSP, PetscInt *), (ksp, sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAISetBlockSize_BAI(KSP ksp, PetscInt size)
{
  BAIOptions options = ((BAI *)ksp->data)->options;

  PetscFunctionBegin;
  options.block_size = size;
  PetscCall(SetOptions(ksp, &options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAIGetBlockSize_BAI(KSP ksp, PetscInt *size)
{
  const BAI *bai = (const BAI *)ksp->data;

  PetscFunctionBegin;
  *size = bai->engine && !bai->options.block_size ? (PetscInt)bai->info.block_size : bai->options.block_size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetBlockSize - Sets the rows of a block

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  size - rows, at least 1, or 0 to have it chosen (default 0)

   Options Database Key:
.  -ksp_bai_block_size <0> - sets it

   Level: intermediate

   Note:
   A block takes consecutive rows of one MPI rank; the last one of a rank may be shorter. With one block for all rows the method
   is Jacobi's. On a grid with natural ordering, multiples of the grid's width do best. What 0 chooses is 128.

.seealso: `KSPBAI`, `KSPBAIGetBlockSize()`
@*/
PetscErrorCode KSPBAISetBlockSize(KSP ksp, PetscInt size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, size, 2);
  PetscTryMethod(ksp, "KSPBAISetBlockSize_C", (KSP, PetscInt), (ksp, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetBlockSize - Gets the rows of a block

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  size - see `KSPBAISetBlockSize()`

   Level: intermediate

   Note:
   After `KSPSetUp()` it is the size in use, also if it was chosen.

.seealso: `KSPBAI`, `KSPBAISetBlockSize()`
@*/
PetscErrorCode KSPBAIGetBlockSize(KSP ksp, PetscInt *size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(size, 2);
  PetscUseMethod(ksp, "KSPBAIGetBlockSize_C", (KSP, PetscInt *), (ksp, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAISetMode_BAI(KSP ksp, BAIMode mode)
{
  BAIOptions options = ((BAI *)ksp->data)->options;

  PetscFunctionBegin;
  options.mode = mode;
  PetscCall(SetOptions(ksp, &options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAIGetMode_BAI(KSP ksp, BAIMode *mode)
{
  PetscFunctionBegin;
  *mode = ((BAI *)ksp->data)->options.mode;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetMode - Sets how blocks wait for each other

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  mode - `BAI_MODE_ASYNC` (default), `BAI_MODE_LAUNCH` or `BAI_MODE_SYNC`

   Options Database Key:
.  -ksp_bai_mode (async|launch|sync) - sets it

   Level: intermediate

   Note:
   Use `BAI_MODE_SYNC` where results must repeat bit by bit.

.seealso: `KSPBAI`, `KSPBAIGetMode()`
@*/
PetscErrorCode KSPBAISetMode(KSP ksp, BAIMode mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, mode, 2);
  PetscTryMethod(ksp, "KSPBAISetMode_C", (KSP, BAIMode), (ksp, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetMode - Gets how blocks wait for each other

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  mode - see `KSPBAISetMode()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetMode()`
@*/
PetscErrorCode KSPBAIGetMode(KSP ksp, BAIMode *mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(mode, 2);
  PetscUseMethod(ksp, "KSPBAIGetMode_C", (KSP, BAIMode *), (ksp, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAISetOmega_BAI(KSP ksp, PetscReal omega)
{
  BAIOptions options = ((BAI *)ksp->data)->options;

  PetscFunctionBegin;
  options.omega = omega;
  PetscCall(SetOptions(ksp, &options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAIGetOmega_BAI(KSP ksp, PetscReal *omega)
{
  PetscFunctionBegin;
  *omega = ((BAI *)ksp->data)->options.omega;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetOmega - Sets the damping of a block's update, after its local sweeps

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  omega - the factor, positive (default 1)

   Options Database Key:
.  -ksp_bai_omega <1> - sets it

   Level: intermediate

   Note:
   Any order of updates converges for 0 < omega < 2/(1 + rho), rho being the spectral radius of |I - D^{-1}A| and below one.

.seealso: `KSPBAI`, `KSPBAIGetOmega()`
@*/
PetscErrorCode KSPBAISetOmega(KSP ksp, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveReal(ksp, omega, 2);
  PetscTryMethod(ksp, "KSPBAISetOmega_C", (KSP, PetscReal), (ksp, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetOmega - Gets the damping of a block's update, after its local sweeps

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  omega - see `KSPBAISetOmega()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetOmega()`
@*/
PetscErrorCode KSPBAIGetOmega(KSP ksp, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(omega, 2);
  PetscUseMethod(ksp, "KSPBAIGetOmega_C", (KSP, PetscReal *), (ksp, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAISetLocalOmega_BAI(KSP ksp, PetscReal omega)
{
  BAIOptions options = ((BAI *)ksp->data)->options;

  PetscFunctionBegin;
  options.local_omega = omega;
  PetscCall(SetOptions(ksp, &options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAIGetLocalOmega_BAI(KSP ksp, PetscReal *omega)
{
  PetscFunctionBegin;
  *omega = ((BAI *)ksp->data)->options.local_omega;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetLocalOmega - Sets the damping of each Jacobi sweep inside a block

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  omega - the factor, positive (default 1)

   Options Database Key:
.  -ksp_bai_local_omega <1> - sets it

   Level: intermediate

   Note:
   Values around 0.9 damp what oscillates fastest in a block, as a smoother should.

.seealso: `KSPBAI`, `KSPBAIGetLocalOmega()`
@*/
PetscErrorCode KSPBAISetLocalOmega(KSP ksp, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveReal(ksp, omega, 2);
  PetscTryMethod(ksp, "KSPBAISetLocalOmega_C", (KSP, PetscReal), (ksp, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetLocalOmega - Gets the damping of each Jacobi sweep inside a block

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  omega - see `KSPBAISetLocalOmega()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetLocalOmega()`
@*/
PetscErrorCode KSPBAIGetLocalOmega(KSP ksp, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(omega, 2);
  PetscUseMethod(ksp, "KSPBAIGetLocalOmega_C", (KSP, PetscReal *), (ksp, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAISetCheckInterval_BAI(KSP ksp, PetscInt interval)
{
  BAIOptions options = ((BAI *)ksp->data)->options;

  PetscFunctionBegin;
  options.check_interval = interval;
  PetscCall(SetOptions(ksp, &options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAIGetCheckInterval_BAI(KSP ksp, PetscInt *interval)
{
  PetscFunctionBegin;
  *interval = ((BAI *)ksp->data)->options.check_interval;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetCheckInterval - Sets how many global iterations are done between two residual norms

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  interval - global iterations, at least 1, or 0 to have it chosen (default 0)

   Options Database Key:
.  -ksp_bai_check_interval <0> - sets it

   Level: intermediate

   Note:
   With 0 every iteration is looked at if there is a monitor, a residual history or a convergence test other than
   `KSPConvergedDefault()`; otherwise the contraction seen so far decides when to look again. Monitors and histories see the
   norms that are computed, so with n > 1 every n-th.

.seealso: `KSPBAI`, `KSPBAIGetCheckInterval()`
@*/
PetscErrorCode KSPBAISetCheckInterval(KSP ksp, PetscInt interval)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, interval, 2);
  PetscTryMethod(ksp, "KSPBAISetCheckInterval_C", (KSP, PetscInt), (ksp, interval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetCheckInterval - Gets how many global iterations are done between two residual norms

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  interval - see `KSPBAISetCheckInterval()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetCheckInterval()`
@*/
PetscErrorCode KSPBAIGetCheckInterval(KSP ksp, PetscInt *interval)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(interval, 2);
  PetscUseMethod(ksp, "KSPBAIGetCheckInterval_C", (KSP, PetscInt *), (ksp, interval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAISetBackend_BAI(KSP ksp, BAIBackend backend)
{
  BAIOptions options = ((BAI *)ksp->data)->options;

  PetscFunctionBegin;
  options.backend = backend;
  PetscCall(SetOptions(ksp, &options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPBAIGetBackend_BAI(KSP ksp, BAIBackend *backend)
{
  const BAI *bai = (const BAI *)ksp->data;

  PetscFunctionBegin;
  *backend = bai->engine ? bai->backend : bai->options.backend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetBackend - Sets where the iteration runs

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  backend - `BAI_BACKEND_AUTO` (default), `BAI_BACKEND_HOST` or `BAI_BACKEND_CUDA`

   Options Database Key:
.  -ksp_bai_backend (auto|host|cuda) - sets it

   Level: intermediate

   Note:
   `BAI_BACKEND_AUTO` goes where the matrix lives.

.seealso: `KSPBAI`, `KSPBAIGetBackend()`
@*/
PetscErrorCode KSPBAISetBackend(KSP ksp, BAIBackend backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, backend, 2);
  PetscTryMethod(ksp, "KSPBAISetBackend_C", (KSP, BAIBackend), (ksp, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetBackend - Gets where the iteration runs

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  backend - see `KSPBAISetBackend()`

   Level: intermediate

   Note:
   After `KSPSetUp()` it is the one in use, never `BAI_BACKEND_AUTO`.

.seealso: `KSPBAI`, `KSPBAISetBackend()`
@*/
PetscErrorCode KSPBAIGetBackend(KSP ksp, BAIBackend *backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(backend, 2);
  PetscUseMethod(ksp, "KSPBAIGetBackend_C", (KSP, BAIBackend *), (ksp, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Composes the methods above with a KSP of type KSPBAI, or takes them away */
PetscErrorCode KSPBAIComposeFunctions(KSP ksp, PetscBool compose)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAISetLocalIters_C", compose ? KSPBAISetLocalIters_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAIGetLocalIters_C", compose ? KSPBAIGetLocalIters_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAISetBlockSize_C", compose ? KSPBAISetBlockSize_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAIGetBlockSize_C", compose ? KSPBAIGetBlockSize_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAISetMode_C", compose ? KSPBAISetMode_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAIGetMode_C", compose ? KSPBAIGetMode_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAISetOmega_C", compose ? KSPBAISetOmega_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAIGetOmega_C", compose ? KSPBAIGetOmega_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAISetLocalOmega_C", compose ? KSPBAISetLocalOmega_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAIGetLocalOmega_C", compose ? KSPBAIGetLocalOmega_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAISetCheckInterval_C", compose ? KSPBAISetCheckInterval_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAIGetCheckInterval_C", compose ? KSPBAIGetCheckInterval_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAISetBackend_C", compose ? KSPBAISetBackend_BAI : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPBAIGetBackend_C", compose ? KSPBAIGetBackend_BAI : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
