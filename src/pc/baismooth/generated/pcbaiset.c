/*
   Setters and getters of PCBAI, made from src/petsc/options.def and others by "make options"
*/
#include "../../../petsc/baiimpl.h"
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "local_iters", &sweeps));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "local_iters", sweeps));
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "block_size", &size));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "block_size", size));
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

   Auto is color, except where most of a GPU would wait for its turn: there it is sync. That is so if rows have more
   than 48 entries, on average, or if the matrix is a product P^T A P, as coarse levels of multigrid are.

.seealso: `PCBAI`, `PCBAIGetMode()`
@*/
PetscErrorCode PCBAISetMode(PC pc, BAIMode mode)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, mode, 2);
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "mode", &mode));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "mode", mode));
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "partition", &type));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "partition", type));
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "momentum", &momentum));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "momentum", momentum));
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

   `BAI_WEIGHT_AUTO` is tau, but at most 1, so that it damps only where it must; the view gives it. In mode
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "weight", &weight));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "weight", weight));
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

.seealso: `PCBAI`, `PCBAIGetPrecision()`
@*/
PetscErrorCode PCBAISetPrecision(PC pc, BAIPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, precision, 2);
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "precision", &precision));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "precision", precision));
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

   With auto omega is 1, and 1.3 in smoothing steps of mode color, as below `KSPRICHARDSON`, without momentum and weight
   tau, if A nearly annihilates constants. So over-relaxation makes up for damped local sweeps. It is 1 there too where
   rows dominate, on several MPI ranks with GPUs, and with blocks of at most 64 rows, which take turns together: these
   read old values, which would be raised as well. In mode sync a polynomial damps, see `PCBAISetPolynomial()`.

   A number above 1 is an error in modes sync and launch if smoothing diverges with it: if it is 2/lambda or more for
   the largest eigenvalue lambda of M^{-1}A, as the first application estimates it.

.seealso: `PCBAI`, `PCBAIGetOmega()`
@*/
PetscErrorCode PCBAISetOmega(PC pc, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, omega, 2);
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "omega", &omega));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "omega", omega));
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "local_omega", &omega));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "local_omega", omega));
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "its", &its));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "its", its));
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "polynomial", &polynomial));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "polynomial", polynomial));
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "symmetric", &symmetric));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "symmetric", symmetric));
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
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "backend", &backend));
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
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "backend", backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}
