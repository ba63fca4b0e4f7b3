/*
   Setters and getters of KSPBAI, made from src/petsc/options.def and others by "make options"
*/
#include "../../../petsc/baiimpl.h"
#include <petsc/private/kspimpl.h> /*I "petscbai.h" I*/

/*@
   KSPBAISetMethod - Sets whether a Krylov method or relaxation solves

   Logically Collective

   Input Parameters:
+  ksp    - the solver
-  method - `BAI_METHOD_AUTO` (default), `BAI_METHOD_KRYLOV` or `BAI_METHOD_RELAXATION`

   Options Database Key:
.  -ksp_bai_method (auto|krylov|relaxation) - sets it

   Level: beginner

   Notes:
   Auto is relaxation if an option that defines it was given, by its key or its setter, whatever its value. It is so as
   well if the number of iterations is fixed, as below `PCMG`: with `KSP_NORM_NONE` or `KSPConvergedSkip()`. Else auto
   is krylov. -ksp_view shows which one it is, and why.

   With method krylov an option of relaxation is an error that names both, and so is an option of Krylov methods with
   method relaxation.

.seealso: `KSPBAI`, `KSPBAIGetMethod()`, `KSPBAISetKrylov()`
@*/
PetscErrorCode KSPBAISetMethod(KSP ksp, BAIMethod method)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, method, 2);
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "method", &method));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetKrylov - Sets the Krylov method

   Logically Collective

   Input Parameters:
+  ksp    - the solver
-  krylov - `BAI_KRYLOV_AUTO` (default), `BAI_KRYLOV_CG`, `BAI_KRYLOV_FCG`, `BAI_KRYLOV_BCGS` or `BAI_KRYLOV_GMRES`

   Options Database Key:
.  -ksp_bai_krylov (auto|cg|fcg|bcgs|gmres) - sets it

   Level: intermediate

   Notes:
   Auto is CG where the operator is Hermitian and the `PC` is of type none, jacobi, icc, cholesky, lu, baimg or gamg.
   With other preconditioners of Hermitian operators it is FCG. In all other cases it is flexible BiCGStab, and flexible
   GMRES if BiCGStab breaks down.

   Where the `PC` is of type `PCBAIMG` and Amat is Pmat, CG is the library's own. If a GPU then holds the matrix in
   registers and shared memory, a solve is one kernel launch.

.seealso: `KSPBAI`, `KSPBAIGetKrylov()`, `KSPBAISetMethod()`, `KSPSetPC()`, `PCBAIMG`
@*/
PetscErrorCode KSPBAISetKrylov(KSP ksp, BAIKrylov krylov)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, krylov, 2);
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "krylov", &krylov));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetKrylov - Gets the Krylov method

   Not Collective

   Input Parameter:
.  ksp - the solver, of type `KSPBAI`

   Output Parameter:
.  krylov - see `KSPBAISetKrylov()`

   Level: intermediate

   Note:
   It is the value that was set. What `KSPSetUp()` chose is shown by `KSPView()`.

.seealso: `KSPBAI`, `KSPBAISetKrylov()`
@*/
PetscErrorCode KSPBAIGetKrylov(KSP ksp, BAIKrylov *krylov)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(krylov, 2);
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "krylov", krylov));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetLocalIters - Sets the Jacobi sweeps in a block per global iteration

   Logically Collective

   Input Parameters:
+  ksp    - the solver
-  sweeps - at least 1 and at most 1000000 (default 5)

   Options Database Key:
.  -ksp_bai_local_iters <5> - sets it

   Level: beginner

   Notes:
   More local sweeps cost little where a block's part of the matrix stays in fast memory. They pay off where most
   entries of a row are inside its block. With 1 the method is asynchronous Jacobi.

   With method krylov and a `PC` of type `PCBAIMG` these are the sweeps of its smoother. Unless this option is given
   they are what `PCBAIMGSetLocalIters()` says.

.seealso: `KSPBAI`, `KSPBAIGetLocalIters()`
@*/
PetscErrorCode KSPBAISetLocalIters(KSP ksp, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, sweeps, 2);
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "local_iters", &sweeps));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "local_iters", sweeps));
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
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "block_size", &size));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "block_size", size));
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

   Auto is async.

.seealso: `KSPBAI`, `KSPBAIGetMode()`
@*/
PetscErrorCode KSPBAISetMode(KSP ksp, BAIMode mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, mode, 2);
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "mode", &mode));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "mode", mode));
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
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "partition", &type));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "partition", type));
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
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "momentum", &momentum));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "momentum", momentum));
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

   `BAI_WEIGHT_AUTO` is tau, but at most 1, so that it damps only where it must; the view gives it. In mode
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
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "weight", &weight));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "weight", weight));
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

.seealso: `KSPBAI`, `KSPBAIGetPrecision()`
@*/
PetscErrorCode KSPBAISetPrecision(KSP ksp, BAIPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, precision, 2);
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "precision", &precision));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "precision", precision));
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
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "omega", &omega));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "omega", omega));
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
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "local_omega", &omega));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "local_omega", omega));
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
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "check_interval", &interval));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "check_interval", interval));
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
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "backend", &backend));
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
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "backend", backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}
