/*
   Setters and getters of PCBAI, made from src/bai/options.def and src/bai/research/options.def by "make options"
*/
#include "../../../bai/baiimpl.h"
#include <petsc/private/pcimpl.h> /*I "petscbai.h" I*/

/*@
   PCBAISetLocalIters - Sets the Jacobi sweeps in a block per global iteration

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner
-  sweeps - at least 1 and at most 1000000 (default 5)

   Options Database Key:
.  -pc_bai_local_iters <5> - sets it

   Level: beginner

   Note:
   More local sweeps cost little where a block's part of the matrix stays in fast memory. They pay off where most
   entries of a row are inside its block. With 1 the method is asynchronous Jacobi.

.seealso: `PCBAI`, `PCBAIGetLocalIters()`
@*/
PetscErrorCode PCBAISetLocalIters(PC pc, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, sweeps, 2);
  BAISetOption(&BAIFacePC, pc, local_iters, sweeps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetLocalIters - Gets the Jacobi sweeps in a block per global iteration

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  sweeps - see `PCBAISetLocalIters()`

   Level: beginner

.seealso: `PCBAI`, `PCBAISetLocalIters()`
@*/
PetscErrorCode PCBAIGetLocalIters(PC pc, PetscInt *sweeps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(sweeps, 2);
  BAIGetOption(&BAIFacePC, pc, local_iters, sweeps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetBlockSize - Sets the rows of a block

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner
-  size - rows, at least 1, or 0: chosen at set-up (default 0)

   Options Database Key:
.  -pc_bai_block_size <0> - sets it

   Level: beginner

   Notes:
   A block has rows of one MPI rank only. They are consecutive unless `PCBAISetPartition()` says otherwise. The last
   block of a rank may be smaller. With one block for all rows the method is Jacobi's. On a grid with natural ordering,
   multiples of the grid's width do best.

   With 0 set-up chooses the size. If the matrix has a block size of at most 6, the size is a multiple of that, so that
   no block cuts a node.

   0 chooses 256 rows, or 384 if a rank has 2^23 rows or more with at most 8 entries each, on average. If auto chose
   mode `BAI_MODE_SYNC` it chooses a size for 128 blocks, at least 32 rows. In mode `BAI_MODE_COLOR` smaller blocks take
   their turn together, about 128 rows at a time, and read each other's previous values.

.seealso: `PCBAI`, `PCBAIGetBlockSize()`
@*/
PetscErrorCode PCBAISetBlockSize(PC pc, PetscInt size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, size, 2);
  BAISetOption(&BAIFacePC, pc, block_size, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetBlockSize - Gets the rows of a block

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  size - see `PCBAISetBlockSize()`

   Level: beginner

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetBlockSize()`
@*/
PetscErrorCode PCBAIGetBlockSize(PC pc, PetscInt *size)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(size, 2);
  BAIGetOption(&BAIFacePC, pc, block_size, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetMode - Sets how blocks wait for each other

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner
-  mode - `BAI_MODE_AUTO` (default), `BAI_MODE_ASYNC`, `BAI_MODE_LAUNCH`, `BAI_MODE_SYNC` or `BAI_MODE_COLOR`

   Options Database Key:
.  -pc_bai_mode (auto|async|launch|sync|color) - sets it

   Level: beginner

   Notes:
   Use `BAI_MODE_SYNC` or `BAI_MODE_COLOR` if results must be bitwise reproducible. With the latter each iteration
   reduces the error more.

   In `BAI_MODE_COLOR` on the host the blocks of all MPI ranks take turns together, and x is exchanged before each turn.
   So iterations hardly depend on the number of ranks. On GPUs each rank colours its own blocks, and values of other
   ranks are those of the last global iteration.

   Set-up finds what auto means, the same on all ranks; -pc_view shows it. It is color, except where most of a GPU would
   wait for its turn: there it is sync. That is so if rows have more than 48 entries, on average, or if the blocks need
   more than 8 colours and fewer than 64 blocks have the same one. For a product P^T A P, as coarse levels of multigrid
   are, it is so with fewer than 256 blocks of a colour.

.seealso: `PCBAI`, `PCBAIGetMode()`
@*/
PetscErrorCode PCBAISetMode(PC pc, BAIMode mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, mode, 2);
  BAISetOption(&BAIFacePC, pc, mode, mode);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetMode - Gets how blocks wait for each other

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  mode - see `PCBAISetMode()`

   Level: beginner

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetMode()`
@*/
PetscErrorCode PCBAIGetMode(PC pc, BAIMode *mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(mode, 2);
  BAIGetOption(&BAIFacePC, pc, mode, mode);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetPartition - Sets how rows become blocks

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner
-  type - `BAI_PARTITION_AUTO` (default), `BAI_PARTITION_NATURAL`, `BAI_PARTITION_DM`, `BAI_PARTITION_RCM` or
          `BAI_PARTITION_GRAPH`

   Options Database Key:
.  -pc_bai_partition (auto|natural|dm|rcm|graph) - sets it

   Level: beginner

   Notes:
   Local sweeps pay off where most entries of a row are inside its block; -pc_view shows how many are. Each MPI rank
   makes blocks of its own rows.

   Boxes of a grid need a `DMDA` with as many rows as the matrix, by `PCSetDM()`; `SNES`, `TS` and `PCMG` pass theirs
   on. These blocks have at most `block_size` rows. Blocks of other partitions have exactly as many, except the last
   one. The blocks of graph and rcm are found on the host, from the first values of the matrix. New values in an old
   pattern keep them.

   Set-up finds what auto means; -pc_view shows it. It is natural, but graph where less than a twentieth of the entries
   are inside blocks of consecutive rows. It stays natural if a row has more entries than a block has rows, and with
   more than a million local rows.

   It is also graph where graph leaves less than a tenth of what consecutive rows leave outside their blocks, by sums of
   |a_ij|. Set-up grows a few blocks to find out, if consecutive rows leave more than a fifth outside, and if at most
   three quarters of the couplings of a row are strong. It copies values from a device to the host for that. It does not
   try if the matrix has a block size, as a node would be cut, nor for a product P^T A P, as coarse levels of multigrid
   are.

.seealso: `PCBAI`, `PCBAIGetPartition()`, `BAIPartitionType`, `PCBAISetBlockSize()`
@*/
PetscErrorCode PCBAISetPartition(PC pc, BAIPartitionType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, type, 2);
  BAISetOption(&BAIFacePC, pc, partition, type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetPartition - Gets how rows become blocks

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  type - see `PCBAISetPartition()`

   Level: beginner

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetPartition()`
@*/
PetscErrorCode PCBAIGetPartition(PC pc, BAIPartitionType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(type, 2);
  BAIGetOption(&BAIFacePC, pc, partition, type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetMomentum - Sets the part of the last step that each update repeats

   Logically Collective

   Input Parameters:
+  pc       - the preconditioner
-  momentum - at least 0 and less than 1 (default 0)

   Options Database Key:
.  -pc_bai_momentum <0> - sets it

   Level: intermediate

   Notes:
   With momentum beta a block goes from x_J to x_J + omega (y - x_J) + beta (x_J - its x_J before that). Here y is the
   result of its local sweeps. This is second-order Richardson iteration. Where convergence is slow, beta close to 1
   takes an order of magnitude fewer iterations. The older the values that blocks read from each other, the smaller the
   largest beta that converges; it is largest in mode `BAI_MODE_SYNC`.

   The first global iteration of each application has no momentum.

   References:
   L. A. Hageman, D. M. Young, "Applied Iterative Methods", Academic Press, 1981.
   G. H. Golub, R. S. Varga, "Chebyshev semi-iterative methods, successive overrelaxation iterative methods, and second
   order Richardson iterative methods", Numerische Mathematik 3 (1961).
   E. Chow, A. Frommer, D. B. Szyld, "Asynchronous Richardson iterations: theory and practice", Numerical Algorithms 87
   (2021).

.seealso: `PCBAI`, `PCBAIGetMomentum()`
@*/
PetscErrorCode PCBAISetMomentum(PC pc, PetscReal momentum)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, momentum, 2);
  BAISetOption(&BAIFacePC, pc, momentum, momentum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetMomentum - Gets the part of the last step that each update repeats

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  momentum - see `PCBAISetMomentum()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetMomentum()`
@*/
PetscErrorCode PCBAIGetMomentum(PC pc, PetscReal *momentum)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(momentum, 2);
  BAIGetOption(&BAIFacePC, pc, momentum, momentum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetWeight - Sets the damping that makes it converge where Jacobi does not

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner
-  weight - `BAI_WEIGHT_NONE` (default), `BAI_WEIGHT_L1`, `BAI_WEIGHT_TAU` or `BAI_WEIGHT_AUTO`

   Options Database Key:
.  -pc_bai_weight (none|l1|tau|auto) - sets it

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

.seealso: `PCBAI`, `PCBAIGetWeight()`, `BAIWeight`
@*/
PetscErrorCode PCBAISetWeight(PC pc, BAIWeight weight)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, weight, 2);
  BAISetOption(&BAIFacePC, pc, weight, weight);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetWeight - Gets the damping that makes it converge where Jacobi does not

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  weight - see `PCBAISetWeight()`

   Level: beginner

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetWeight()`
@*/
PetscErrorCode PCBAIGetWeight(PC pc, BAIWeight *weight)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(weight, 2);
  BAIGetOption(&BAIFacePC, pc, weight, weight);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetPrecision - Sets the precision of the sweeps

   Logically Collective

   Input Parameters:
+  pc        - the preconditioner
-  precision - `BAI_PRECISION_NATIVE` (default) or `BAI_PRECISION_SINGLE`

   Options Database Key:
.  -pc_bai_precision (native|single) - sets it

   Level: intermediate

   Notes:
   With `BAI_PRECISION_SINGLE` sweeps are entirely in single precision: matrix, iterate and sums. About half as many
   bytes are moved. The following holds unless another refinement is asked for.

   From a zero guess the preconditioner is the iteration in single precision. From another guess, as below
   `KSPRICHARDSON` on the way up of multigrid, the residual b - A x is of full precision, and what is iterated is the
   correction of x. So multigrid converges to full precision; this takes one more product with the matrix. A vector
   whose entries are all smaller than 1e-38 counts as zero.

   Entries of the matrix must be within the range of single precision, below 1e38.

   References:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 4.12.
   M. Baboulin et al., "Accelerating scientific computations with mixed precision algorithms", Computer Physics
   Communications 180 (2009).

.seealso: `PCBAI`, `PCBAIGetPrecision()`, `PCBAISetRefine()`
@*/
PetscErrorCode PCBAISetPrecision(PC pc, BAIPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, precision, 2);
  BAISetOption(&BAIFacePC, pc, precision, precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetPrecision - Gets the precision of the sweeps

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  precision - see `PCBAISetPrecision()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetPrecision()`
@*/
PetscErrorCode PCBAIGetPrecision(PC pc, BAIPrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(precision, 2);
  BAIGetOption(&BAIFacePC, pc, precision, precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetOmega - Sets the damping of a block's update, after its local sweeps

   Logically Collective

   Input Parameters:
+  pc    - the preconditioner
-  omega - the factor, positive, or `PETSC_DECIDE` to have it found (default 1)

   Options Database Key:
.  -pc_bai_omega <1> - sets it

   Level: intermediate

   Notes:
   Any order of updates converges for 0 < omega < 2/(1 + rho), rho being the spectral radius of |I - D^{-1}A| and below
   one.

   With auto omega is 1, except in smoothing steps of mode color, as below `KSPRICHARDSON`, without momentum and weight
   tau. There the first step after new values chooses omega: it smooths a random error by a few global iterations with
   each of some values. Omega is 1.3 or 1.15 if that leaves hardly more of the energy of the error than 1 does. So
   over-relaxation makes up for damped local sweeps. On several MPI ranks with GPUs omega is 1 or 0.8. With blocks of at
   most 64 rows, which take turns together, it is never above 1. In mode sync a polynomial damps, see
   `PCBAISetPolynomial()`. -pc_view shows omega.

   A number above 1 is an error in modes sync and launch if smoothing diverges with it: if it is 2/lambda or more for
   the largest eigenvalue lambda of M^{-1}A, as the first application estimates it.

.seealso: `PCBAI`, `PCBAIGetOmega()`
@*/
PetscErrorCode PCBAISetOmega(PC pc, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, omega, 2);
  BAISetOption(&BAIFacePC, pc, omega, omega);
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

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetOmega()`
@*/
PetscErrorCode PCBAIGetOmega(PC pc, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(omega, 2);
  BAIGetOption(&BAIFacePC, pc, omega, omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetLocalOmega - Sets the damping of each Jacobi sweep inside a block

   Logically Collective

   Input Parameters:
+  pc    - the preconditioner
-  omega - the factor, positive, or 0: chosen at set-up (default 0)

   Options Database Key:
.  -pc_bai_local_omega <0> - sets it

   Level: intermediate

   Note:
   Values around 0.9 damp what oscillates fastest in a block, as a smoother should. With 0 it is 0.9 in rows whose
   off-diagonal entries inside the block have a sum of |a_ij| of at most |a_ii|. In other rows it is 2 |a_ii| over the
   sum of all |a_ij| inside the block, diagonal included. So the local sweeps converge in the blocks of every Hermitian
   positive definite matrix. The coarse matrices of `PCGAMG` need that. The view shows the smallest of them.

.seealso: `PCBAI`, `PCBAIGetLocalOmega()`
@*/
PetscErrorCode PCBAISetLocalOmega(PC pc, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, omega, 2);
  BAISetOption(&BAIFacePC, pc, local_omega, omega);
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

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetLocalOmega()`
@*/
PetscErrorCode PCBAIGetLocalOmega(PC pc, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(omega, 2);
  BAIGetOption(&BAIFacePC, pc, local_omega, omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetIterations - Sets the global iterations per application

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner
-  its - at least 1 (default 2)

   Options Database Key:
.  -pc_bai_its <2> - sets it

   Level: intermediate

   Note:
   Below `KSPRICHARDSON` each iteration of that consists of as many global iterations.

.seealso: `PCBAI`, `PCBAIGetIterations()`, `PCBAISetLocalIters()`
@*/
PetscErrorCode PCBAISetIterations(PC pc, PetscInt its)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, its, 2);
  BAISetOption(&BAIFacePC, pc, its, its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetIterations - Gets the global iterations per application

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
  BAIGetOption(&BAIFacePC, pc, its, its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetPolynomial - Sets the weights of global iterations in mode sync

   Logically Collective

   Input Parameters:
+  pc         - the preconditioner
-  polynomial - `BAI_POLYNOMIAL_AUTO` (default), `BAI_POLYNOMIAL_NONE` or `BAI_POLYNOMIAL_FOURTH`

   Options Database Key:
.  -pc_bai_polynomial (auto|none|fourth) - sets it

   Level: intermediate

   Notes:
   In mode `BAI_MODE_SYNC` all blocks read old values. Global iterations with equal weights then smooth badly, or
   diverge. With the weights of a polynomial they smooth as `KSPCHEBYSHEV` of the fourth kind with one global iteration
   as its preconditioner, but without residuals in between. The operator is symmetric if one global iteration is, and so
   is a V-cycle with it: `KSPCG` may be outside.

   The largest eigenvalue is estimated by ten steps of `KSPGMRES` in the first application after each set-up.

.seealso: `PCBAI`, `PCBAIGetPolynomial()`, `PCBAISetMode()`, `PCBAISetIterations()`, `KSPChebyshevSetKind()`
@*/
PetscErrorCode PCBAISetPolynomial(PC pc, BAIPolynomial polynomial)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, polynomial, 2);
  BAISetOption(&BAIFacePC, pc, polynomial, polynomial);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetPolynomial - Gets the weights of global iterations in mode sync

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  polynomial - see `PCBAISetPolynomial()`

   Level: intermediate

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetPolynomial()`
@*/
PetscErrorCode PCBAIGetPolynomial(PC pc, BAIPolynomial *polynomial)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(polynomial, 2);
  BAIGetOption(&BAIFacePC, pc, polynomial, polynomial);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetSymmetric - Sets whether smoothing from a nonzero guess takes the colours backward

   Logically Collective

   Input Parameters:
+  pc        - the preconditioner
-  symmetric - `PETSC_TRUE` or `PETSC_FALSE` (default)

   Options Database Key:
.  -pc_bai_symmetric <false> - sets it

   Level: intermediate

   Note:
   It has an effect in mode `BAI_MODE_COLOR` and below `KSPRICHARDSON`. Smoothing from a zero guess, as on the way down
   of a V-cycle, takes the colours forward, and from another guess backward. The V-cycle is then a symmetric operator,
   as `KSPCG` expects. It takes a few more cycles.

.seealso: `PCBAI`, `PCBAIGetSymmetric()`, `PCBAISetMode()`
@*/
PetscErrorCode PCBAISetSymmetric(PC pc, PetscBool symmetric)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, symmetric, 2);
  BAISetOption(&BAIFacePC, pc, symmetric, symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetSymmetric - Gets whether smoothing from a nonzero guess takes the colours backward

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
  BAIGetOption(&BAIFacePC, pc, symmetric, symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetBackend - Sets where the iteration runs

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner
-  backend - `BAI_BACKEND_AUTO` (default), `BAI_BACKEND_HOST` or `BAI_BACKEND_CUDA`

   Options Database Key:
.  -pc_bai_backend (auto|host|cuda) - sets it

   Level: intermediate

.seealso: `PCBAI`, `PCBAIGetBackend()`, `BAIBackend`
@*/
PetscErrorCode PCBAISetBackend(PC pc, BAIBackend backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, backend, 2);
  BAISetOption(&BAIFacePC, pc, backend, backend);
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
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetBackend()`
@*/
PetscErrorCode PCBAIGetBackend(PC pc, BAIBackend *backend)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(backend, 2);
  BAIGetOption(&BAIFacePC, pc, backend, backend);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetTheta - Sets whether blocks with more weight inside do more local sweeps

   Logically Collective

   Input Parameters:
+  pc    - the preconditioner
-  theta - `PETSC_TRUE` or `PETSC_FALSE` (default)

   Options Database Key:
.  -pc_bai_theta <false> - sets it

   Level: intermediate

   Note:
   The criterion is the ratio of the sums of |a_ij| inside and outside a block, without the diagonal. A block above the
   average of all blocks does more than `local_iters` sweeps, at most four times as many. A block below does fewer, at
   least one. All blocks together do not do more.

   Reference:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 4.10.4.

.seealso: `PCBAI`, `PCBAIGetTheta()`, `PCBAISetLocalIters()`
@*/
PetscErrorCode PCBAISetTheta(PC pc, PetscBool theta)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, theta, 2);
  BAISetOption(&BAIFacePC, pc, theta, theta);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetTheta - Gets whether blocks with more weight inside do more local sweeps

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  theta - see `PCBAISetTheta()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetTheta()`
@*/
PetscErrorCode PCBAIGetTheta(PC pc, PetscBool *theta)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(theta, 2);
  BAIGetOption(&BAIFacePC, pc, theta, theta);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetOverlap - Sets the steps of the matrix graph by which blocks are extended

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner
-  overlap - steps in the graph of the matrix, at least 0 (default 0)

   Options Database Key:
.  -pc_bai_overlap <0> - sets it

   Level: advanced

   Notes:
   A block is extended by the rows of this MPI rank that its own rows couple to, over that many steps. It sweeps over
   these as over its own, from the values that they have when its global iteration begins. It writes only its own values
   back, as in the restricted additive Schwarz method.

   That pays off where many local sweeps solve a block well, so that errors come from outside. Each sweep also takes the
   rows of the overlap, which -pc_view counts. The overlap is found on the host, from the pattern of the matrix. Do not
   combine it with momentum, `PCBAISetMomentum()`, if blocks are thin, as those of consecutive rows of a grid.

   With overlap the preconditioner is not symmetric, also where it would be without, as in mode `BAI_MODE_COLOR` with an
   even number of iterations. Then use `KSPFCG`, `KSPGMRES`, or a flexible method outside, not `KSPCG`.

   Reference:
   X.-C. Cai, M. Sarkis, "A restricted additive Schwarz preconditioner for general sparse linear systems", SIAM Journal
   on Scientific Computing 21 (1999).

.seealso: `PCBAI`, `PCBAIGetOverlap()`, `PCBAISetPartition()`, `PCBAISetLocalIters()`, `PCASM`
@*/
PetscErrorCode PCBAISetOverlap(PC pc, PetscInt overlap)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, overlap, 2);
  BAISetOption(&BAIFacePC, pc, overlap, overlap);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetOverlap - Gets the steps of the matrix graph by which blocks are extended

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  overlap - see `PCBAISetOverlap()`

   Level: advanced

.seealso: `PCBAI`, `PCBAISetOverlap()`
@*/
PetscErrorCode PCBAIGetOverlap(PC pc, PetscInt *overlap)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(overlap, 2);
  BAIGetOption(&BAIFacePC, pc, overlap, overlap);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetStaleness - Sets the global iterations that a block may be ahead of those it reads from

   Logically Collective

   Input Parameters:
+  pc        - the preconditioner
-  staleness - global iterations, at least 0, or -1: unbounded (default -1)

   Options Database Key:
.  -pc_bai_staleness <-1> - sets it

   Level: intermediate

   Note:
   For `BAI_MODE_ASYNC`, whose theory assumes that such a bound exists. Without the option the scheduling of the blocks
   decides. A block that would be too far ahead waits. With 0 it reads values from the iteration before or newer ones,
   never older ones. On several MPI ranks staleness also bounds how far ranks are ahead of each other; they meet at
   least every 32 global iterations in any case.

   Reference:
   D. Chazan, W. Miranker, "Chaotic relaxation", Linear Algebra and its Applications 2 (1969).

.seealso: `PCBAI`, `PCBAIGetStaleness()`, `PCBAISetMode()`
@*/
PetscErrorCode PCBAISetStaleness(PC pc, PetscInt staleness)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, staleness, 2);
  BAISetOption(&BAIFacePC, pc, staleness, staleness);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetStaleness - Gets the global iterations that a block may be ahead of those it reads from

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  staleness - see `PCBAISetStaleness()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetStaleness()`
@*/
PetscErrorCode PCBAIGetStaleness(PC pc, PetscInt *staleness)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(staleness, 2);
  BAIGetOption(&BAIFacePC, pc, staleness, staleness);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetRefine - Sets the iterative refinement round the sweeps

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner
-  refine - `BAI_REFINE_AUTO` (default), `BAI_REFINE_NONE`, `BAI_REFINE_SYNC` or `BAI_REFINE_ASYNC`

   Options Database Key:
.  -pc_bai_refine (auto|none|sync|async) - sets it

   Level: intermediate

   Notes:
   With `BAI_REFINE_ASYNC` a block computes its residual with the current x of the others, and the correction starts
   from zero. Blocks wait for each other as the mode says, and not for a residual. x and residuals are of full
   precision, corrections are of the precision of the sweeps. In native precision iterations are those without
   refinement, up to rounding. On a GPU the generic kernel iterates, and a solve is never a single kernel launch.

   With `BAI_REFINE_SYNC` what is iterated from a nonzero guess is a correction, which starts from zero. This takes one
   product with the matrix more. From a zero guess there is nothing to refine.

   With `BAI_REFINE_NONE` in single precision each application rounds x, and there is no product with the matrix. Inside
   a Krylov method or multigrid, which compute full residuals outside, that is accurate enough. `KSPRICHARDSON` then
   converges to single precision only.

   Reference:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Sections 4.12 and 4.13.

.seealso: `PCBAI`, `PCBAIGetRefine()`, `BAIRefine`, `PCBAISetPrecision()`
@*/
PetscErrorCode PCBAISetRefine(PC pc, BAIRefine refine)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, refine, 2);
  BAISetOption(&BAIFacePC, pc, refine, refine);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetRefine - Gets the iterative refinement round the sweeps

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  refine - see `PCBAISetRefine()`

   Level: intermediate

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetRefine()`
@*/
PetscErrorCode PCBAIGetRefine(PC pc, BAIRefine *refine)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(refine, 2);
  BAIGetOption(&BAIFacePC, pc, refine, refine);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetExchange - Sets how x is exchanged between MPI ranks

   Logically Collective

   Input Parameters:
+  pc       - the preconditioner
-  exchange - `BAI_EXCHANGE_AUTO` (default), `BAI_EXCHANGE_SCATTER`, `BAI_EXCHANGE_AMC`, `BAI_EXCHANGE_DC` or
              `BAI_EXCHANGE_DK`

   Options Database Key:
.  -pc_bai_exchange (auto|scatter|amc|dc|dk) - sets it

   Level: intermediate

   Notes:
   With dk in mode `BAI_MODE_ASYNC` a rank sends x of its boundary whenever a block has a new x, and nobody waits. In
   the other modes ranks exchange x after each global iteration, or after each turn of mode color on the host, as with
   scatter, and results are the same. Every wait is bounded: a rank that does not answer is an error.

   Between nodes, amc hides the time that MPI takes behind the next global iteration, in the modes async and launch. The
   older values that ranks then read cost some iterations.

   Reference:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 4.6, whose methods AMC, DC
   and DK these are.

.seealso: `PCBAI`, `PCBAIGetExchange()`, `BAIExchange`, `PCBAISetMode()`
@*/
PetscErrorCode PCBAISetExchange(PC pc, BAIExchange exchange)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, exchange, 2);
  BAISetOption(&BAIFacePC, pc, exchange, exchange);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetExchange - Gets how x is exchanged between MPI ranks

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  exchange - see `PCBAISetExchange()`

   Level: intermediate

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetExchange()`
@*/
PetscErrorCode PCBAIGetExchange(PC pc, BAIExchange *exchange)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(exchange, 2);
  BAIGetOption(&BAIFacePC, pc, exchange, exchange);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetKernel - Sets the family of kernels for global iterations on a GPU

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner
-  kernel - `BAI_KERNEL_AUTO` (default), `BAI_KERNEL_RESIDENT`, `BAI_KERNEL_STREAM` or `BAI_KERNEL_GENERIC`

   Options Database Key:
.  -pc_bai_kernel (auto|resident|stream|generic) - sets it

   Level: advanced

   Note:
   For the backend cuda. If the family cannot be used, an error says why.

.seealso: `PCBAI`, `PCBAIGetKernel()`, `PCBAISetBackend()`
@*/
PetscErrorCode PCBAISetKernel(PC pc, BAIKernel kernel)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, kernel, 2);
  BAISetOption(&BAIFacePC, pc, kernel, kernel);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetKernel - Gets the family of kernels for global iterations on a GPU

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  kernel - see `PCBAISetKernel()`

   Level: advanced

   Note:
   It is the value that was set. What `PCSetUp()` chose is shown by `PCView()`.

.seealso: `PCBAI`, `PCBAISetKernel()`
@*/
PetscErrorCode PCBAIGetKernel(PC pc, BAIKernel *kernel)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(kernel, 2);
  BAIGetOption(&BAIFacePC, pc, kernel, kernel);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetIdleWait - Sets whether the host sleeps during long waits for the device

   Logically Collective

   Input Parameters:
+  pc        - the preconditioner
-  idle_wait - `PETSC_TRUE` or `PETSC_FALSE` (default)

   Options Database Key:
.  -pc_bai_idle_wait <false> - sets it

   Level: intermediate

   Notes:
   For the backend cuda. A host thread that polls the device keeps a processor busy and takes power. With this option it
   sleeps, and the device wakes it. Waking takes up to 0.3 ms, so it sleeps only if it waits for more than 8 ms, or did
   so the last two times.

   PETSc's own operations on the device wait as PETSc does.

   Reference:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 5.3.3.

.seealso: `PCBAI`, `PCBAIGetIdleWait()`
@*/
PetscErrorCode PCBAISetIdleWait(PC pc, PetscBool idle_wait)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, idle_wait, 2);
  BAISetOption(&BAIFacePC, pc, idle_wait, idle_wait);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetIdleWait - Gets whether the host sleeps during long waits for the device

   Not Collective

   Input Parameter:
.  pc - the preconditioner, of type `PCBAI`

   Output Parameter:
.  idle_wait - see `PCBAISetIdleWait()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetIdleWait()`
@*/
PetscErrorCode PCBAIGetIdleWait(PC pc, PetscBool *idle_wait)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(idle_wait, 2);
  BAIGetOption(&BAIFacePC, pc, idle_wait, idle_wait);
  PetscFunctionReturn(PETSC_SUCCESS);
}
