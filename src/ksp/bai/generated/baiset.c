/*
   Setters and getters of KSPBAI, made from src/bai/options.def and src/bai/research/options.def by "make options"
*/
#include "../../../bai/baiimpl.h"
#include <petsc/private/kspimpl.h> /*I "petscbai.h" I*/

/*@
   KSPBAISetLocalIters - Sets the Jacobi sweeps in a block per global iteration

   Logically Collective

   Input Parameters:
+  ksp    - the solver
-  sweeps - at least 1 and at most 1000000 (default 5)

   Options Database Key:
.  -ksp_bai_local_iters <5> - sets it

   Level: beginner

   Note:
   More local sweeps cost little where a block's part of the matrix stays in fast memory. They pay off where most
   entries of a row are inside its block. With 1 the method is asynchronous Jacobi.

.seealso: `KSPBAI`, `KSPBAIGetLocalIters()`
@*/
PetscErrorCode KSPBAISetLocalIters(KSP ksp, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, sweeps, 2);
  BAISetOption(&BAIFaceKSP, ksp, local_iters, sweeps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetLocalIters - Gets the Jacobi sweeps in a block per global iteration

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  sweeps - see `KSPBAISetLocalIters()`

   Level: beginner

.seealso: `KSPBAI`, `KSPBAISetLocalIters()`
@*/
PetscErrorCode KSPBAIGetLocalIters(KSP ksp, PetscInt *sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(sweeps, 2);
  BAIGetOption(&BAIFaceKSP, ksp, local_iters, sweeps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetBlockSize - Sets the rows of a block

   Logically Collective

   Input Parameters:
+  ksp  - the solver
-  size - rows, at least 1, or 0: chosen at set-up (default 0)

   Options Database Key:
.  -ksp_bai_block_size <0> - sets it

   Level: beginner

   Notes:
   A block has rows of one MPI rank only. They are consecutive unless `KSPBAISetPartition()` says otherwise. The last
   block of a rank may be smaller. With one block for all rows the method is Jacobi's. On a grid with natural ordering,
   multiples of the grid's width do best.

   With 0 set-up chooses the size. If the matrix has a block size of at most 6, the size is a multiple of that, so that
   no block cuts a node.

   0 chooses 128 rows.

.seealso: `KSPBAI`, `KSPBAIGetBlockSize()`
@*/
PetscErrorCode KSPBAISetBlockSize(KSP ksp, PetscInt size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, size, 2);
  BAISetOption(&BAIFaceKSP, ksp, block_size, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetBlockSize - Gets the rows of a block

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  size - see `KSPBAISetBlockSize()`

   Level: beginner

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetBlockSize()`
@*/
PetscErrorCode KSPBAIGetBlockSize(KSP ksp, PetscInt *size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(size, 2);
  BAIGetOption(&BAIFaceKSP, ksp, block_size, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetMode - Sets how blocks wait for each other

   Logically Collective

   Input Parameters:
+  ksp  - the solver
-  mode - `BAI_MODE_AUTO` (default), `BAI_MODE_ASYNC`, `BAI_MODE_LAUNCH`, `BAI_MODE_SYNC` or `BAI_MODE_COLOR`

   Options Database Key:
.  -ksp_bai_mode (auto|async|launch|sync|color) - sets it

   Level: beginner

   Notes:
   Use `BAI_MODE_SYNC` or `BAI_MODE_COLOR` if results must be bitwise reproducible. With the latter each iteration
   reduces the error more.

   In `BAI_MODE_COLOR` on the host the blocks of all MPI ranks take turns together, and x is exchanged before each turn.
   So iterations hardly depend on the number of ranks. On GPUs each rank colours its own blocks, and values of other
   ranks are those of the last global iteration.

   With auto, a relaxation that another option selects is in mode async. Any other value selects relaxation.

.seealso: `KSPBAI`, `KSPBAIGetMode()`
@*/
PetscErrorCode KSPBAISetMode(KSP ksp, BAIMode mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, mode, 2);
  BAISetOption(&BAIFaceKSP, ksp, mode, mode);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetMode - Gets how blocks wait for each other

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  mode - see `KSPBAISetMode()`

   Level: beginner

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetMode()`
@*/
PetscErrorCode KSPBAIGetMode(KSP ksp, BAIMode *mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(mode, 2);
  BAIGetOption(&BAIFaceKSP, ksp, mode, mode);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetPartition - Sets how rows become blocks

   Logically Collective

   Input Parameters:
+  ksp  - the solver
-  type - `BAI_PARTITION_AUTO` (default), `BAI_PARTITION_NATURAL`, `BAI_PARTITION_DM`, `BAI_PARTITION_RCM` or
          `BAI_PARTITION_GRAPH`

   Options Database Key:
.  -ksp_bai_partition (auto|natural|dm|rcm|graph) - sets it

   Level: beginner

   Notes:
   Local sweeps pay off where most entries of a row are inside its block; -ksp_view shows how many are. Each MPI rank
   makes blocks of its own rows.

   Boxes of a grid need a `DMDA` with as many rows as the matrix, by `KSPSetDM()`; `SNES`, `TS` and `PCMG` pass theirs
   on. These blocks have at most `block_size` rows. Blocks of other partitions have exactly as many, except the last
   one. The blocks of graph and rcm are found on the host, from the first values of the matrix. New values in an old
   pattern keep them.

   Set-up finds what auto means; -ksp_view shows it. It is natural, but graph where less than a twentieth of the entries
   are inside blocks of consecutive rows. It stays natural if a row has more entries than a block has rows, and with
   more than a million local rows.

.seealso: `KSPBAI`, `KSPBAIGetPartition()`, `BAIPartitionType`, `KSPBAISetBlockSize()`
@*/
PetscErrorCode KSPBAISetPartition(KSP ksp, BAIPartitionType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, type, 2);
  BAISetOption(&BAIFaceKSP, ksp, partition, type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetPartition - Gets how rows become blocks

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  type - see `KSPBAISetPartition()`

   Level: beginner

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetPartition()`
@*/
PetscErrorCode KSPBAIGetPartition(KSP ksp, BAIPartitionType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(type, 2);
  BAIGetOption(&BAIFaceKSP, ksp, partition, type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetLevels - Sets the levels of the multigrid preconditioner at most, or none for relaxation

   Logically Collective

   Input Parameters:
+  ksp    - the solver
-  levels - the finest one counted, 0 for none, at most 32, or `PETSC_DECIDE` to have it chosen (default `PETSC_DECIDE`)

   Options Database Key:
.  -ksp_bai_levels <auto> - sets it

   Level: beginner

   Notes:
   A solve is a Krylov method with a multigrid cycle as its preconditioner; the smoother is block-synchronous iteration,
   see `PCBAIMG`. The number of iterations hardly grows with the number of unknowns, nor with the number of MPI ranks,
   which the levels span. The Krylov method is conjugate gradients if the matrix is symmetric, or Hermitian, with
   diagonal entries of one sign, and flexible BiCGStab otherwise.

   If a GPU holds the matrix in registers and shared memory there are no levels: the whole Krylov solve is one kernel
   launch, with up to four local sweeps in blocks as its preconditioner.

   If a row has more than 1000 entries, and levels is auto, there are no levels, and `PCJACOBI` is the preconditioner.

   With auto a solve is such a Krylov method if all options that define the relaxation are at their defaults. These are
   all options except `backend`, `exchange` and `idle_wait`. A solve of a fixed number of iterations, as that of a
   smoother, is always relaxation.

   With none every solve is relaxation, the block-asynchronous iteration of the papers. With a number every solve is a
   Krylov method with at most that many levels.

.seealso: `KSPBAI`, `KSPBAIGetLevels()`, `PCBAIMG`, `PCBAIMGSetLevels()`
@*/
PetscErrorCode KSPBAISetLevels(KSP ksp, PetscInt levels)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, levels, 2);
  BAISetOption(&BAIFaceKSP, ksp, levels, levels);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetLevels - Gets the levels of the multigrid preconditioner at most, or none for relaxation

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  levels - see `KSPBAISetLevels()`

   Level: beginner

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetLevels()`
@*/
PetscErrorCode KSPBAIGetLevels(KSP ksp, PetscInt *levels)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(levels, 2);
  BAIGetOption(&BAIFaceKSP, ksp, levels, levels);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetMomentum - Sets the part of the last step that each update repeats

   Logically Collective

   Input Parameters:
+  ksp      - the solver
-  momentum - at least 0 and less than 1 (default 0)

   Options Database Key:
.  -ksp_bai_momentum <0> - sets it

   Level: intermediate

   Note:
   With momentum beta a block goes from x_J to x_J + omega (y - x_J) + beta (x_J - its x_J before that). Here y is the
   result of its local sweeps. This is second-order Richardson iteration. Where convergence is slow, beta close to 1
   takes an order of magnitude fewer iterations. The older the values that blocks read from each other, the smaller the
   largest beta that converges; it is largest in mode `BAI_MODE_SYNC`.

   References:
   L. A. Hageman, D. M. Young, "Applied Iterative Methods", Academic Press, 1981.
   G. H. Golub, R. S. Varga, "Chebyshev semi-iterative methods, successive overrelaxation iterative methods, and second
   order Richardson iterative methods", Numerische Mathematik 3 (1961).
   E. Chow, A. Frommer, D. B. Szyld, "Asynchronous Richardson iterations: theory and practice", Numerical Algorithms 87
   (2021).

.seealso: `KSPBAI`, `KSPBAIGetMomentum()`
@*/
PetscErrorCode KSPBAISetMomentum(KSP ksp, PetscReal momentum)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveReal(ksp, momentum, 2);
  BAISetOption(&BAIFaceKSP, ksp, momentum, momentum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetMomentum - Gets the part of the last step that each update repeats

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  momentum - see `KSPBAISetMomentum()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetMomentum()`
@*/
PetscErrorCode KSPBAIGetMomentum(KSP ksp, PetscReal *momentum)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(momentum, 2);
  BAIGetOption(&BAIFaceKSP, ksp, momentum, momentum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetWeight - Sets the damping that makes it converge where Jacobi does not

   Logically Collective

   Input Parameters:
+  ksp    - the solver
-  weight - `BAI_WEIGHT_NONE` (default), `BAI_WEIGHT_L1`, `BAI_WEIGHT_TAU` or `BAI_WEIGHT_AUTO`

   Options Database Key:
.  -ksp_bai_weight (none|l1|tau|auto) - sets it

   Level: beginner

   Notes:
   The iteration converges for every order of updates if the spectral radius of |I - D^{-1}A| is below one. Then it
   needs no weight.

   `BAI_WEIGHT_L1` adds to each a_ii, with its sign, the sum of the |a_ij| outside the block of the row. The full l1
   weight of other smoothers adds all |a_ij|. Here couplings inside the block stay as they are, so local sweeps may
   still diverge.

   `BAI_WEIGHT_TAU` multiplies omega by tau = 2/(lambda_1 + 1.1 lambda_n) for the extreme eigenvalues of M^{-1}A. A few
   steps of `KSPGMRES` at each set-up estimate them. The estimate of the largest one is a little too small, hence the
   factor 1.1. Here x + M^{-1} (b - A x) is a global iteration in which blocks read the previous iterate; with one local
   sweep M is D. The local sweeps are damped so that they converge in every block of a Hermitian positive definite
   matrix.

   `BAI_WEIGHT_AUTO` bounds the spectral radius of |I - D^{-1}A| from both sides, by Collatz-Wielandt quotients of a few
   products. It takes tau unless the radius is shown to be below one; the view gives the bounds. In mode
   `BAI_MODE_COLOR` on one rank, or on several on the host, Hermitian positive definite matrices need no tau.

   Reference:
   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "Weighted block-asynchronous iteration on GPU-accelerated systems",
   Euro-Par 2012 Workshops.

.seealso: `KSPBAI`, `KSPBAIGetWeight()`, `BAIWeight`
@*/
PetscErrorCode KSPBAISetWeight(KSP ksp, BAIWeight weight)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, weight, 2);
  BAISetOption(&BAIFaceKSP, ksp, weight, weight);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetWeight - Gets the damping that makes it converge where Jacobi does not

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  weight - see `KSPBAISetWeight()`

   Level: beginner

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetWeight()`
@*/
PetscErrorCode KSPBAIGetWeight(KSP ksp, BAIWeight *weight)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(weight, 2);
  BAIGetOption(&BAIFaceKSP, ksp, weight, weight);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetPrecision - Sets the precision of the sweeps

   Logically Collective

   Input Parameters:
+  ksp       - the solver
-  precision - `BAI_PRECISION_NATIVE` (default) or `BAI_PRECISION_SINGLE`

   Options Database Key:
.  -ksp_bai_precision (native|single) - sets it

   Level: intermediate

   Notes:
   With `BAI_PRECISION_SINGLE` sweeps are entirely in single precision: matrix, iterate and sums. About half as many
   bytes are moved. The following holds unless another refinement is asked for.

   This is mixed-precision iterative refinement. The residual b - A x and x are of full precision. What is iterated is a
   correction of x. So the solution is as accurate as without, if the condition number of the matrix is well below 1e7.
   A correction takes as many iterations as gain six digits, or fewer if rounding leaves no more; the first ones show
   how many that are. A solve is never a single kernel launch.

   Entries of the matrix must be within the range of single precision, below 1e38.

   References:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 4.12.
   M. Baboulin et al., "Accelerating scientific computations with mixed precision algorithms", Computer Physics
   Communications 180 (2009).

.seealso: `KSPBAI`, `KSPBAIGetPrecision()`, `KSPBAISetRefine()`
@*/
PetscErrorCode KSPBAISetPrecision(KSP ksp, BAIPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, precision, 2);
  BAISetOption(&BAIFaceKSP, ksp, precision, precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetPrecision - Gets the precision of the sweeps

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  precision - see `KSPBAISetPrecision()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetPrecision()`
@*/
PetscErrorCode KSPBAIGetPrecision(KSP ksp, BAIPrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(precision, 2);
  BAIGetOption(&BAIFaceKSP, ksp, precision, precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetOmega - Sets the damping of a block's update, after its local sweeps

   Logically Collective

   Input Parameters:
+  ksp   - the solver
-  omega - the factor, positive (default 1)

   Options Database Key:
.  -ksp_bai_omega <1> - sets it

   Level: intermediate

   Note:
   Any order of updates converges for 0 < omega < 2/(1 + rho), rho being the spectral radius of |I - D^{-1}A| and below
   one.

.seealso: `KSPBAI`, `KSPBAIGetOmega()`
@*/
PetscErrorCode KSPBAISetOmega(KSP ksp, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveReal(ksp, omega, 2);
  BAISetOption(&BAIFaceKSP, ksp, omega, omega);
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
  BAIGetOption(&BAIFaceKSP, ksp, omega, omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetLocalOmega - Sets the damping of each Jacobi sweep inside a block

   Logically Collective

   Input Parameters:
+  ksp   - the solver
-  omega - the factor, positive, or 0: chosen at set-up (default 1)

   Options Database Key:
.  -ksp_bai_local_omega <1> - sets it

   Level: intermediate

   Note:
   Values around 0.9 damp what oscillates fastest in a block, as a smoother should. With 0 it is 0.9 in rows whose
   off-diagonal entries inside the block have a sum of |a_ij| of at most |a_ii|. In other rows it is 2 |a_ii| over the
   sum of all |a_ij| inside the block, diagonal included. So the local sweeps converge in the blocks of every Hermitian
   positive definite matrix. The coarse matrices of `PCGAMG` need that. The view shows the smallest of them.

.seealso: `KSPBAI`, `KSPBAIGetLocalOmega()`
@*/
PetscErrorCode KSPBAISetLocalOmega(KSP ksp, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveReal(ksp, omega, 2);
  BAISetOption(&BAIFaceKSP, ksp, local_omega, omega);
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

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetLocalOmega()`
@*/
PetscErrorCode KSPBAIGetLocalOmega(KSP ksp, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(omega, 2);
  BAIGetOption(&BAIFaceKSP, ksp, local_omega, omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetCheckInterval - Sets the global iterations between residual norms

   Logically Collective

   Input Parameters:
+  ksp      - the solver
-  interval - global iterations, at least 1, or 0: chosen while iterating (default 0)

   Options Database Key:
.  -ksp_bai_check_interval <0> - sets it

   Level: intermediate

   Note:
   With 0 the residual norm is computed after every iteration if there is a monitor, a residual history or a convergence
   test other than `KSPConvergedDefault()`. Otherwise the contraction so far decides when it is computed next. Monitors
   and histories see the norms that are computed.

.seealso: `KSPBAI`, `KSPBAIGetCheckInterval()`
@*/
PetscErrorCode KSPBAISetCheckInterval(KSP ksp, PetscInt interval)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, interval, 2);
  BAISetOption(&BAIFaceKSP, ksp, check_interval, interval);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetCheckInterval - Gets the global iterations between residual norms

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
  BAIGetOption(&BAIFaceKSP, ksp, check_interval, interval);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetBackend - Sets where the iteration runs

   Logically Collective

   Input Parameters:
+  ksp     - the solver
-  backend - `BAI_BACKEND_AUTO` (default), `BAI_BACKEND_HOST` or `BAI_BACKEND_CUDA`

   Options Database Key:
.  -ksp_bai_backend (auto|host|cuda) - sets it

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAIGetBackend()`, `BAIBackend`
@*/
PetscErrorCode KSPBAISetBackend(KSP ksp, BAIBackend backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, backend, 2);
  BAISetOption(&BAIFaceKSP, ksp, backend, backend);
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
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetBackend()`
@*/
PetscErrorCode KSPBAIGetBackend(KSP ksp, BAIBackend *backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(backend, 2);
  BAIGetOption(&BAIFaceKSP, ksp, backend, backend);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetTheta - Sets whether blocks with more weight inside do more local sweeps

   Logically Collective

   Input Parameters:
+  ksp   - the solver
-  theta - `PETSC_TRUE` or `PETSC_FALSE` (default)

   Options Database Key:
.  -ksp_bai_theta <false> - sets it

   Level: intermediate

   Note:
   The criterion is the ratio of the sums of |a_ij| inside and outside a block, without the diagonal. A block above the
   average of all blocks does more than `local_iters` sweeps, at most four times as many. A block below does fewer, at
   least one. All blocks together do not do more.

   Reference:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 4.10.4.

.seealso: `KSPBAI`, `KSPBAIGetTheta()`, `KSPBAISetLocalIters()`
@*/
PetscErrorCode KSPBAISetTheta(KSP ksp, PetscBool theta)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveBool(ksp, theta, 2);
  BAISetOption(&BAIFaceKSP, ksp, theta, theta);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetTheta - Gets whether blocks with more weight inside do more local sweeps

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  theta - see `KSPBAISetTheta()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetTheta()`
@*/
PetscErrorCode KSPBAIGetTheta(KSP ksp, PetscBool *theta)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(theta, 2);
  BAIGetOption(&BAIFaceKSP, ksp, theta, theta);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetOverlap - Sets the steps of the matrix graph by which blocks are extended

   Logically Collective

   Input Parameters:
+  ksp     - the solver
-  overlap - steps in the graph of the matrix, at least 0 (default 0)

   Options Database Key:
.  -ksp_bai_overlap <0> - sets it

   Level: advanced

   Notes:
   A block is extended by the rows of this MPI rank that its own rows couple to, over that many steps. It sweeps over
   these as over its own, from the values that they have when its global iteration begins. It writes only its own values
   back, as in the restricted additive Schwarz method.

   That pays off where many local sweeps solve a block well, so that errors come from outside. Each sweep also takes the
   rows of the overlap, which -ksp_view counts. The overlap is found on the host, from the pattern of the matrix. Do not
   combine it with momentum, `KSPBAISetMomentum()`, if blocks are thin, as those of consecutive rows of a grid.

   Reference:
   X.-C. Cai, M. Sarkis, "A restricted additive Schwarz preconditioner for general sparse linear systems", SIAM Journal
   on Scientific Computing 21 (1999).

.seealso: `KSPBAI`, `KSPBAIGetOverlap()`, `KSPBAISetPartition()`, `KSPBAISetLocalIters()`, `PCASM`
@*/
PetscErrorCode KSPBAISetOverlap(KSP ksp, PetscInt overlap)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, overlap, 2);
  BAISetOption(&BAIFaceKSP, ksp, overlap, overlap);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetOverlap - Gets the steps of the matrix graph by which blocks are extended

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  overlap - see `KSPBAISetOverlap()`

   Level: advanced

.seealso: `KSPBAI`, `KSPBAISetOverlap()`
@*/
PetscErrorCode KSPBAIGetOverlap(KSP ksp, PetscInt *overlap)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(overlap, 2);
  BAIGetOption(&BAIFaceKSP, ksp, overlap, overlap);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetStaleness - Sets the global iterations that a block may be ahead of those it reads from

   Logically Collective

   Input Parameters:
+  ksp       - the solver
-  staleness - global iterations, at least 0, or -1: unbounded (default -1)

   Options Database Key:
.  -ksp_bai_staleness <-1> - sets it

   Level: intermediate

   Note:
   For `BAI_MODE_ASYNC`, whose theory assumes that such a bound exists. Without the option the scheduling of the blocks
   decides. A block that would be too far ahead waits. With 0 it reads values from the iteration before or newer ones,
   never older ones. On several MPI ranks staleness also bounds how far ranks are ahead of each other; they meet at
   least every 32 global iterations in any case.

   Reference:
   D. Chazan, W. Miranker, "Chaotic relaxation", Linear Algebra and its Applications 2 (1969).

.seealso: `KSPBAI`, `KSPBAIGetStaleness()`, `KSPBAISetMode()`
@*/
PetscErrorCode KSPBAISetStaleness(KSP ksp, PetscInt staleness)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, staleness, 2);
  BAISetOption(&BAIFaceKSP, ksp, staleness, staleness);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetStaleness - Gets the global iterations that a block may be ahead of those it reads from

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  staleness - see `KSPBAISetStaleness()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetStaleness()`
@*/
PetscErrorCode KSPBAIGetStaleness(KSP ksp, PetscInt *staleness)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(staleness, 2);
  BAIGetOption(&BAIFaceKSP, ksp, staleness, staleness);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetRefine - Sets the iterative refinement round the sweeps

   Logically Collective

   Input Parameters:
+  ksp    - the solver
-  refine - `BAI_REFINE_AUTO` (default), `BAI_REFINE_NONE`, `BAI_REFINE_SYNC` or `BAI_REFINE_ASYNC`

   Options Database Key:
.  -ksp_bai_refine (auto|none|sync|async) - sets it

   Level: intermediate

   Notes:
   With `BAI_REFINE_ASYNC` a block computes its residual with the current x of the others, and the correction starts
   from zero. Blocks wait for each other as the mode says, and not for a residual. x and residuals are of full
   precision, corrections are of the precision of the sweeps. In native precision iterations are those without
   refinement, up to rounding. On a GPU the generic kernel iterates, and a solve is never a single kernel launch.

   With `BAI_REFINE_SYNC` the gain of the first global iterations decides how many a correction takes. In native
   precision a solve takes about as many iterations as without refinement. A solve is never a single kernel launch.

   With `BAI_REFINE_NONE` in single precision x itself is iterated in single precision. The true residual norm then
   falls to about 1e-7 of the size of A x, and no further. A smaller tolerance is not met.

   Reference:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Sections 4.12 and 4.13.

.seealso: `KSPBAI`, `KSPBAIGetRefine()`, `BAIRefine`, `KSPBAISetPrecision()`
@*/
PetscErrorCode KSPBAISetRefine(KSP ksp, BAIRefine refine)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, refine, 2);
  BAISetOption(&BAIFaceKSP, ksp, refine, refine);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetRefine - Gets the iterative refinement round the sweeps

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  refine - see `KSPBAISetRefine()`

   Level: intermediate

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetRefine()`
@*/
PetscErrorCode KSPBAIGetRefine(KSP ksp, BAIRefine *refine)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(refine, 2);
  BAIGetOption(&BAIFaceKSP, ksp, refine, refine);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetExchange - Sets how x is exchanged between MPI ranks

   Logically Collective

   Input Parameters:
+  ksp      - the solver
-  exchange - `BAI_EXCHANGE_AUTO` (default), `BAI_EXCHANGE_SCATTER`, `BAI_EXCHANGE_AMC`, `BAI_EXCHANGE_DC` or
              `BAI_EXCHANGE_DK`

   Options Database Key:
.  -ksp_bai_exchange (auto|scatter|amc|dc|dk) - sets it

   Level: intermediate

   Notes:
   With dk in mode `BAI_MODE_ASYNC` a rank sends x of its boundary whenever a block has a new x, and nobody waits. In
   the other modes ranks exchange x after each global iteration, or after each turn of mode color on the host, as with
   scatter, and results are the same. Every wait is bounded: a rank that does not answer is an error.

   With dk in mode async a faster rank does up to eight global iterations for one of the slowest, unless faults,
   statistics or a bound on staleness are asked for. So a busy GPU does not delay the others. Iterations are counted as
   on the slowest rank. Solves with a fixed number of iterations do not do more.

   Between nodes, amc hides the time that MPI takes behind the next global iteration, in the modes async and launch. The
   older values that ranks then read cost some iterations.

   In a multigrid cycle GPUs of one host write to each other's memory if they can, whatever this option says. Only
   scatter makes them exchange x by MPI.

   Reference:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 4.6, whose methods AMC, DC
   and DK these are.

.seealso: `KSPBAI`, `KSPBAIGetExchange()`, `BAIExchange`, `KSPBAISetMode()`
@*/
PetscErrorCode KSPBAISetExchange(KSP ksp, BAIExchange exchange)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, exchange, 2);
  BAISetOption(&BAIFaceKSP, ksp, exchange, exchange);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetExchange - Gets how x is exchanged between MPI ranks

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  exchange - see `KSPBAISetExchange()`

   Level: intermediate

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetExchange()`
@*/
PetscErrorCode KSPBAIGetExchange(KSP ksp, BAIExchange *exchange)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(exchange, 2);
  BAIGetOption(&BAIFaceKSP, ksp, exchange, exchange);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetKernel - Sets the family of kernels for global iterations on a GPU

   Logically Collective

   Input Parameters:
+  ksp    - the solver
-  kernel - `BAI_KERNEL_AUTO` (default), `BAI_KERNEL_RESIDENT`, `BAI_KERNEL_STREAM` or `BAI_KERNEL_GENERIC`

   Options Database Key:
.  -ksp_bai_kernel (auto|resident|stream|generic) - sets it

   Level: advanced

   Note:
   For the backend cuda. If the family cannot be used, an error says why.

.seealso: `KSPBAI`, `KSPBAIGetKernel()`, `KSPBAISetBackend()`
@*/
PetscErrorCode KSPBAISetKernel(KSP ksp, BAIKernel kernel)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, kernel, 2);
  BAISetOption(&BAIFaceKSP, ksp, kernel, kernel);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetKernel - Gets the family of kernels for global iterations on a GPU

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  kernel - see `KSPBAISetKernel()`

   Level: advanced

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetKernel()`
@*/
PetscErrorCode KSPBAIGetKernel(KSP ksp, BAIKernel *kernel)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(kernel, 2);
  BAIGetOption(&BAIFaceKSP, ksp, kernel, kernel);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetIdleWait - Sets whether the host sleeps during long waits for the device

   Logically Collective

   Input Parameters:
+  ksp       - the solver
-  idle_wait - `PETSC_TRUE` or `PETSC_FALSE` (default)

   Options Database Key:
.  -ksp_bai_idle_wait <false> - sets it

   Level: intermediate

   Notes:
   For the backend cuda. A host thread that polls the device keeps a processor busy and takes power. With this option it
   sleeps, and the device wakes it. Waking takes up to 0.3 ms, so it sleeps only if it waits for more than 8 ms, or did
   so the last two times.

   PETSc's own operations on the device wait as PETSc does.

   Reference:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 5.3.3.

.seealso: `KSPBAI`, `KSPBAIGetIdleWait()`
@*/
PetscErrorCode KSPBAISetIdleWait(KSP ksp, PetscBool idle_wait)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveBool(ksp, idle_wait, 2);
  BAISetOption(&BAIFaceKSP, ksp, idle_wait, idle_wait);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetIdleWait - Gets whether the host sleeps during long waits for the device

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  idle_wait - see `KSPBAISetIdleWait()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetIdleWait()`
@*/
PetscErrorCode KSPBAIGetIdleWait(KSP ksp, PetscBool *idle_wait)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(idle_wait, 2);
  BAIGetOption(&BAIFaceKSP, ksp, idle_wait, idle_wait);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetFaultType - Sets what simulated faults do

   Logically Collective

   Input Parameters:
+  ksp  - the solver
-  type - `BAI_FAULT_ROWS` (default), `BAI_FAULT_BLOCKS`, `BAI_FAULT_X`, `BAI_FAULT_MATRIX` or `BAI_FAULT_SUMS`

   Options Database Key:
.  -ksp_bai_fault_type (rows|blocks|x|matrix|sums) - sets it

   Level: advanced

   Note:
   A row that is no longer updated keeps its value of x, and others still read it. Bits are flipped in one number of
   each row: of x, of an entry of the matrix, or of the sum of products outside the block.

.seealso: `KSPBAI`, `KSPBAIGetFaultType()`, `KSPBAISetFaultFraction()`
@*/
PetscErrorCode KSPBAISetFaultType(KSP ksp, BAIFaultType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, type, 2);
  BAISetOption(&BAIFaceKSP, ksp, fault_type, type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetFaultType - Gets what simulated faults do

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  type - see `KSPBAISetFaultType()`

   Level: advanced

.seealso: `KSPBAI`, `KSPBAISetFaultType()`
@*/
PetscErrorCode KSPBAIGetFaultType(KSP ksp, BAIFaultType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(type, 2);
  BAIGetOption(&BAIFaceKSP, ksp, fault_type, type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetFaultFraction - Sets the part of the rows or blocks that simulated faults hit

   Logically Collective

   Input Parameters:
+  ksp      - the solver
-  fraction - at least 0 and less than 1 (default 0)

   Options Database Key:
.  -ksp_bai_fault_fraction <0> - sets it

   Level: advanced

   Notes:
   To see what faults do to a solve, without failing hardware. Each row or block is hit with this probability, chosen at
   random by the seed. On a GPU the generic kernel then iterates.

   If the residual norm no longer falls, because rows are not updated, the reason is `KSP_DIVERGED_BREAKDOWN`; -info and
   -ksp_view tell in how many rows the residual is not small.

   Reference:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 4.5.

.seealso: `KSPBAI`, `KSPBAIGetFaultFraction()`, `KSPBAISetFaultType()`, `KSPBAISetFaultAt()`, `KSPBAISetFaultRecover()`,
          `KSPBAISetFaultDetect()`
@*/
PetscErrorCode KSPBAISetFaultFraction(KSP ksp, PetscReal fraction)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveReal(ksp, fraction, 2);
  BAISetOption(&BAIFaceKSP, ksp, fault_fraction, fraction);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetFaultFraction - Gets the part of the rows or blocks that simulated faults hit

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  fraction - see `KSPBAISetFaultFraction()`

   Level: advanced

.seealso: `KSPBAI`, `KSPBAISetFaultFraction()`
@*/
PetscErrorCode KSPBAIGetFaultFraction(KSP ksp, PetscReal *fraction)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(fraction, 2);
  BAIGetOption(&BAIFaceKSP, ksp, fault_fraction, fraction);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetFaultAt - Sets the global iterations before simulated faults begin

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  its - global iterations, at least 0 (default 10)

   Options Database Key:
.  -ksp_bai_fault_at <10> - sets it

   Level: advanced

.seealso: `KSPBAI`, `KSPBAIGetFaultAt()`, `KSPBAISetFaultFraction()`, `KSPBAISetFaultRecover()`
@*/
PetscErrorCode KSPBAISetFaultAt(KSP ksp, PetscInt its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, its, 2);
  BAISetOption(&BAIFaceKSP, ksp, fault_at, its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetFaultAt - Gets the global iterations before simulated faults begin

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  its - see `KSPBAISetFaultAt()`

   Level: advanced

.seealso: `KSPBAI`, `KSPBAISetFaultAt()`
@*/
PetscErrorCode KSPBAIGetFaultAt(KSP ksp, PetscInt *its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(its, 2);
  BAIGetOption(&BAIFaceKSP, ksp, fault_at, its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetFaultRecover - Sets the global iterations that simulated faults last

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  its - global iterations, at least 1, or 0: never (default 0)

   Options Database Key:
.  -ksp_bai_fault_recover <0> - sets it

   Level: advanced

   Note:
   After that many iterations rows and blocks are updated again, as if others computed them, and a matrix with flipped
   bits is copied anew. Bits of x or of sums are flipped once; only the iteration itself recovers from that.

.seealso: `KSPBAI`, `KSPBAIGetFaultRecover()`, `KSPBAISetFaultFraction()`, `KSPBAISetFaultDetect()`
@*/
PetscErrorCode KSPBAISetFaultRecover(KSP ksp, PetscInt its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, its, 2);
  BAISetOption(&BAIFaceKSP, ksp, fault_recover, its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetFaultRecover - Gets the global iterations that simulated faults last

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  its - see `KSPBAISetFaultRecover()`

   Level: advanced

.seealso: `KSPBAI`, `KSPBAISetFaultRecover()`
@*/
PetscErrorCode KSPBAIGetFaultRecover(KSP ksp, PetscInt *its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(its, 2);
  BAIGetOption(&BAIFaceKSP, ksp, fault_recover, its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetFaultSeed - Sets the choice of the rows or blocks that simulated faults hit

   Logically Collective

   Input Parameters:
+  ksp  - the solver
-  seed - at least 0 (default 0)

   Options Database Key:
.  -ksp_bai_fault_seed <0> - sets it

   Level: advanced

.seealso: `KSPBAI`, `KSPBAIGetFaultSeed()`, `KSPBAISetFaultFraction()`
@*/
PetscErrorCode KSPBAISetFaultSeed(KSP ksp, PetscInt seed)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, seed, 2);
  BAISetOption(&BAIFaceKSP, ksp, fault_seed, seed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetFaultSeed - Gets the choice of the rows or blocks that simulated faults hit

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  seed - see `KSPBAISetFaultSeed()`

   Level: advanced

.seealso: `KSPBAI`, `KSPBAISetFaultSeed()`
@*/
PetscErrorCode KSPBAIGetFaultSeed(KSP ksp, PetscInt *seed)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(seed, 2);
  BAIGetOption(&BAIFaceKSP, ksp, fault_seed, seed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetFaultDetect - Sets whether faults are looked for and repaired

   Logically Collective

   Input Parameters:
+  ksp    - the solver
-  detect - `PETSC_TRUE` or `PETSC_FALSE` (default)

   Options Database Key:
.  -ksp_bai_fault_detect <false> - sets it

   Level: advanced

   Notes:
   Whenever the residual norm is computed, the residual is computed from the matrix itself, and examined block by block.
   A solve without faults takes the same iterations as without detection.

   A block whose residual is not a number, or has grown to more than a hundred times that of any block before, goes back
   to its last good values. If that does not help, the copy of the matrix is renewed. If that does not help either, the
   iteration itself diverges, and no fault is counted. With momentum, growth is not taken for a fault.

   The copy of the matrix is also renewed if its residual is not that of the matrix, or if the residual norm no longer
   falls. Rows that have not changed for three such computations, though their residual is not zero, are considered lost
   and given to others.

   -ksp_view tells how many faults were found. If the residual norm still does not fall, the reason is
   `KSP_DIVERGED_BREAKDOWN`. With `KSP_NORM_NONE` no norm is computed, and nothing is found.

.seealso: `KSPBAI`, `KSPBAIGetFaultDetect()`, `KSPBAISetFaultFraction()`
@*/
PetscErrorCode KSPBAISetFaultDetect(KSP ksp, PetscBool detect)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveBool(ksp, detect, 2);
  BAISetOption(&BAIFaceKSP, ksp, fault_detect, detect);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetFaultDetect - Gets whether faults are looked for and repaired

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  detect - see `KSPBAISetFaultDetect()`

   Level: advanced

.seealso: `KSPBAI`, `KSPBAISetFaultDetect()`
@*/
PetscErrorCode KSPBAIGetFaultDetect(KSP ksp, PetscBool *detect)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(detect, 2);
  BAIGetOption(&BAIFaceKSP, ksp, fault_detect, detect);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetStats - Sets whether sweeps are counted, for statistics

   Logically Collective

   Input Parameters:
+  ksp   - the solver
-  stats - `PETSC_TRUE` or `PETSC_FALSE` (default)

   Options Database Key:
.  -ksp_bai_stats <false> - sets it

   Level: intermediate

   Notes:
   Statistics count how stale values are: when a block begins a global iteration, how many iterations the blocks that it
   reads from are behind it. They also count how often each block was updated, and when last, and how many iterations
   came after the residual norm had met the tolerance, as it is not computed after each one. -ksp_view shows them.

   The option may name a viewer for each solve, as `:stats.csv:ascii_csv` for a table of numbers. On a GPU the generic
   kernel iterates, and tiles are counted, which hold one block or several small ones.

   The energy of the solve in joules is included: of the GPUs by NVML, of the processors by RAPL, where these can be
   read. The counter of a GPU changes about every 100 ms; a short solve may have no figure. The counters are of the
   whole GPU and host, including other users.

.seealso: `KSPBAI`, `KSPBAIGetStats()`, `KSPBAIStatsView()`
@*/
PetscErrorCode KSPBAISetStats(KSP ksp, PetscBool stats)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveBool(ksp, stats, 2);
  BAISetOption(&BAIFaceKSP, ksp, stats, stats);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetStats - Gets whether sweeps are counted, for statistics

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  stats - see `KSPBAISetStats()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetStats()`
@*/
PetscErrorCode KSPBAIGetStats(KSP ksp, PetscBool *stats)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(stats, 2);
  BAIGetOption(&BAIFaceKSP, ksp, stats, stats);
  PetscFunctionReturn(PETSC_SUCCESS);
}
