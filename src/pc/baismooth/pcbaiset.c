/*
   Setters and getters of PCBAI
*/
#include "../../ksp/bai/baiimpl.h"
#include <petsc/private/pcimpl.h> /*I "petscbai.h" I*/

/*@
   PCBAISetLocalIters - Sets the Jacobi sweeps that a block does in each global iteration

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner
-  sweeps - at least 1 (default 5)

   Options Database Key:
.  -pc_bai_local_iters <5> - sets it

   Level: intermediate

   Note:
   More local sweeps cost little where a block's part of the matrix stays in fast memory, and pay where much of each row lies
   inside its block. All updates are counted: with 1 the method is asynchronous Jacobi.

.seealso: `PCBAI`, `PCBAIGetLocalIters()`
@*/
PetscErrorCode PCBAISetLocalIters(PC pc, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, sweeps, 2);
  BAISetOption(pc, local_iters, sweeps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetLocalIters - Gets the Jacobi sweeps that a block does in each global iteration

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  sweeps - see `PCBAISetLocalIters()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetLocalIters()`
@*/
PetscErrorCode PCBAIGetLocalIters(PC pc, PetscInt *sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(sweeps, 2);
  BAIGetOption(pc, local_iters, sweeps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetBlockSize - Sets the rows of a block

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner
-  size - rows, at least 1, or 0 to have it chosen (default 0)

   Options Database Key:
.  -pc_bai_block_size <0> - sets it

   Level: intermediate

   Note:
   A block takes consecutive rows of one MPI rank; the last one of a rank may be shorter. With one block for all rows the method
   is Jacobi's. On a grid with natural ordering, multiples of the grid's width do best. What 0 chooses is 128.
   In mode `BAI_MODE_COLOR` blocks of fewer rows take their turn together, about 128 rows at a time, and read each other's previous values.

.seealso: `PCBAI`, `PCBAIGetBlockSize()`
@*/
PetscErrorCode PCBAISetBlockSize(PC pc, PetscInt size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, size, 2);
  BAISetOption(pc, block_size, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetBlockSize - Gets the rows of a block

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  size - see `PCBAISetBlockSize()`

   Level: intermediate

   Note:
   After `PCSetUp()` it is the size in use, also if it was chosen.

.seealso: `PCBAI`, `PCBAISetBlockSize()`
@*/
PetscErrorCode PCBAIGetBlockSize(PC pc, PetscInt *size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(size, 2);
  BAIGetOption(pc, block_size, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetMode - Sets how blocks wait for each other

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner
-  mode - `BAI_MODE_COLOR` (default), `BAI_MODE_ASYNC`, `BAI_MODE_LAUNCH` or `BAI_MODE_SYNC`

   Options Database Key:
.  -pc_bai_mode (color|async|launch|sync) - sets it

   Level: intermediate

   Note:
   `BAI_MODE_COLOR` and `BAI_MODE_SYNC` repeat bit by bit; the former smooths much better.

.seealso: `PCBAI`, `PCBAIGetMode()`
@*/
PetscErrorCode PCBAISetMode(PC pc, BAIMode mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, mode, 2);
  BAISetOption(pc, mode, mode);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetMode - Gets how blocks wait for each other

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  mode - see `PCBAISetMode()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetMode()`
@*/
PetscErrorCode PCBAIGetMode(PC pc, BAIMode *mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(mode, 2);
  BAIGetOption(pc, mode, mode);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetOmega - Sets the damping of a block's update, after its local sweeps

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner
-  omega - the factor, positive (default 1)

   Options Database Key:
.  -pc_bai_omega <1> - sets it

   Level: intermediate

   Note:
   Any order of updates converges for 0 < omega < 2/(1 + rho), rho being the spectral radius of |I - D^{-1}A| and below one.

.seealso: `PCBAI`, `PCBAIGetOmega()`
@*/
PetscErrorCode PCBAISetOmega(PC pc, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, omega, 2);
  BAISetOption(pc, omega, omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetOmega - Gets the damping of a block's update, after its local sweeps

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  omega - see `PCBAISetOmega()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetOmega()`
@*/
PetscErrorCode PCBAIGetOmega(PC pc, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(omega, 2);
  BAIGetOption(pc, omega, omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetLocalOmega - Sets the damping of each Jacobi sweep inside a block

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner
-  omega - the factor, positive, or 0 to have it chosen (default 0)

   Options Database Key:
.  -pc_bai_local_omega <0> - sets it

   Level: intermediate

   Note:
   Values around 0.9 damp what oscillates fastest in a block, as a smoother should. With 0, it is 0.9 where in every row of a block the sum of |a_ij| is
   at most twice |a_ii|, and otherwise 1.8 over the largest quotient of the two, so that damped Jacobi converges in the blocks of
   every Hermitian positive definite matrix; the coarse matrices of `PCGAMG` need that. `PCBAIGetLocalOmega()` gives what was chosen after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetLocalOmega()`
@*/
PetscErrorCode PCBAISetLocalOmega(PC pc, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, omega, 2);
  BAISetOption(pc, local_omega, omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetLocalOmega - Gets the damping of each Jacobi sweep inside a block

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  omega - see `PCBAISetLocalOmega()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetLocalOmega()`
@*/
PetscErrorCode PCBAIGetLocalOmega(PC pc, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(omega, 2);
  BAIGetOption(pc, local_omega, omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetIterations - Sets the global iterations of an application

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner
-  its - at least 1 (default 2)

   Options Database Key:
.  -pc_bai_its <2> - sets it

   Level: intermediate

   Note:
   Below `KSPRICHARDSON` each of its iterations counts that many.

.seealso: `PCBAI`, `PCBAIGetIterations()`, `PCBAISetLocalIters()`
@*/
PetscErrorCode PCBAISetIterations(PC pc, PetscInt its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, its, 2);
  BAISetOption(pc, its, its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetIterations - Gets the global iterations of an application

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  its - see `PCBAISetIterations()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetIterations()`
@*/
PetscErrorCode PCBAIGetIterations(PC pc, PetscInt *its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(its, 2);
  BAIGetOption(pc, its, its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetSymmetric - Sets whether smoothing goes backward where the guess is not zero

   Logically Collective

   Input Parameters:
+  pc        - the preconditioner
-  symmetric - `PETSC_TRUE` to go backward then (default `PETSC_FALSE`)

   Options Database Key:
.  -pc_bai_symmetric <false> - sets it

   Level: intermediate

   Note:
   It matters in mode `BAI_MODE_COLOR` and below `KSPRICHARDSON`. A V-cycle whose smoothing starts from zero on the way down then goes through the colours forward
   on the way down and backward on the way up, and is a symmetric operator, as `KSPCG` expects; it takes a few more cycles.

.seealso: `PCBAI`, `PCBAIGetSymmetric()`, `PCBAISetMode()`
@*/
PetscErrorCode PCBAISetSymmetric(PC pc, PetscBool symmetric)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, symmetric, 2);
  BAISetOption(pc, symmetric, symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetSymmetric - Gets whether smoothing goes backward where the guess is not zero

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  symmetric - see `PCBAISetSymmetric()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetSymmetric()`
@*/
PetscErrorCode PCBAIGetSymmetric(PC pc, PetscBool *symmetric)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(symmetric, 2);
  BAIGetOption(pc, symmetric, symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetBackend - Sets where the iteration runs

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner
-  backend - `BAI_BACKEND_AUTO` (default), `BAI_BACKEND_HOST` or `BAI_BACKEND_CUDA`

   Options Database Key:
.  -pc_bai_backend (auto|host|cuda) - sets it

   Level: intermediate

   Note:
   `BAI_BACKEND_AUTO` goes where the matrix lives.

.seealso: `PCBAI`, `PCBAIGetBackend()`
@*/
PetscErrorCode PCBAISetBackend(PC pc, BAIBackend backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, backend, 2);
  BAISetOption(pc, backend, backend);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetBackend - Gets where the iteration runs

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  backend - see `PCBAISetBackend()`

   Level: intermediate

   Note:
   After `PCSetUp()` it is the one in use, never `BAI_BACKEND_AUTO`.

.seealso: `PCBAI`, `PCBAISetBackend()`
@*/
PetscErrorCode PCBAIGetBackend(PC pc, BAIBackend *backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(backend, 2);
  BAIGetOption(pc, backend, backend);
  PetscFunctionReturn(PETSC_SUCCESS);
}
