/*
   Setters and getters of KSPBAI
*/
#include "baiimpl.h"
#include <petsc/private/kspimpl.h> /*I "petscbai.h" I*/

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
  BAISetOption(ksp, local_iters, sweeps);
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
  BAIGetOption(ksp, local_iters, sweeps);
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
  BAISetOption(ksp, block_size, size);
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
  BAIGetOption(ksp, block_size, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetMode - Sets how blocks wait for each other

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  mode - `BAI_MODE_ASYNC` (default), `BAI_MODE_LAUNCH`, `BAI_MODE_SYNC` or `BAI_MODE_COLOR`

   Options Database Key:
.  -ksp_bai_mode (async|launch|sync|color) - sets it

   Level: intermediate

   Note:
   Use `BAI_MODE_SYNC` or `BAI_MODE_COLOR` where results must repeat bit by bit; with the latter each iteration reduces the error more.

.seealso: `KSPBAI`, `KSPBAIGetMode()`
@*/
PetscErrorCode KSPBAISetMode(KSP ksp, BAIMode mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, mode, 2);
  BAISetOption(ksp, mode, mode);
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
  BAIGetOption(ksp, mode, mode);
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
  BAISetOption(ksp, omega, omega);
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
  BAIGetOption(ksp, omega, omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetLocalOmega - Sets the damping of each Jacobi sweep inside a block

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  omega - the factor, positive, or 0 to have it chosen (default 1)

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
  BAISetOption(ksp, local_omega, omega);
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
  BAIGetOption(ksp, local_omega, omega);
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
  BAISetOption(ksp, check_interval, interval);
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
  BAIGetOption(ksp, check_interval, interval);
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
  BAISetOption(ksp, backend, backend);
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
  BAIGetOption(ksp, backend, backend);
  PetscFunctionReturn(PETSC_SUCCESS);
}
