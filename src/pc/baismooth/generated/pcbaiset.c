/*
   Setters and getters of PCBAI, made from src/petsc/options.def and others by "make options"
*/
#include "../../../petsc/baiimpl.h" /*I "petscbai.h" I*/

/*@
   PCBAISetLocalIters - Sets the Jacobi sweeps in a block per global iteration

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  sweeps - Jacobi sweeps, at least 1 and at most 1000000 (default 5); any other value is an error,
            `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_local_iters <5> - sets it

   Level: beginner

   Notes:
   In each global iteration a block reads the values of the other blocks once, and then does this number of Jacobi
   sweeps on its own rows. More sweeps cost little if the block's part of the matrix stays in fast memory, and pay off
   if most entries of a row are inside its block. With one sweep, mode async is asynchronous Jacobi iteration.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetLocalIters()`
@*/
PetscErrorCode PCBAISetLocalIters(PC pc, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "local_iters", &sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetLocalIters - Gets the Jacobi sweeps in a block per global iteration

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  sweeps - see `PCBAISetLocalIters()`

   Level: beginner

.seealso: `PCBAI`, `PCBAISetLocalIters()`
@*/
PetscErrorCode PCBAIGetLocalIters(PC pc, PetscInt *sweeps)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "local_iters", sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetBlockSize - Sets the rows of a block

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  size - rows, at least 1, or 0: chosen at set-up (default 0); any other value is an error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_block_size <0> - sets it

   Level: beginner

   Notes:
   All rows of a block belong to one MPI rank. They are consecutive unless `PCBAISetPartition()` asks for another
   partition. The last block of a rank may be smaller. With a single block for all rows the method is Jacobi iteration.
   On a grid in natural ordering, multiples of the grid's width do best.

   With 0 set-up chooses the size. If the matrix has a block size (`MatSetBlockSize()`) of at most 6, the chosen size is
   a multiple of it, so that all unknowns of a point are in one block.

   0 chooses 256 rows, or 384 if a rank has $2^{23}$ rows or more with at most 8 entries each, on average. If auto chose
   mode `BAI_MODE_SYNC` for the matrix, it chooses a multiple of 32, from 32 to 256, so that there are 128 blocks if a
   rank has at least 4096 rows. In mode `BAI_MODE_COLOR`, blocks of fewer than 128 rows are grouped into turns of about
   128 rows, and blocks of a group read each other's previous values.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetBlockSize()`
@*/
PetscErrorCode PCBAISetBlockSize(PC pc, PetscInt size)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "block_size", &size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetBlockSize - Gets the rows of a block

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  size - see `PCBAISetBlockSize()`

   Level: beginner

   Note:
   It is the value that was set. `PCView()` shows the value that `PCSetUp()` chose.

.seealso: `PCBAI`, `PCBAISetBlockSize()`
@*/
PetscErrorCode PCBAIGetBlockSize(PC pc, PetscInt *size)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "block_size", size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetMode - Sets how blocks wait for each other

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  mode - `BAI_MODE_AUTO` (default), `BAI_MODE_ASYNC`, `BAI_MODE_LAUNCH`, `BAI_MODE_SYNC` or `BAI_MODE_COLOR`; any other
          value is an error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_mode (auto|async|launch|sync|color) - sets it

   Level: beginner

   Notes:
   Use `BAI_MODE_SYNC` or `BAI_MODE_COLOR` if results must be bitwise reproducible. An iteration of mode color reduces
   the error more than one of mode sync.

   In `BAI_MODE_COLOR` on the host, one colouring covers the blocks of all MPI ranks, and ranks exchange x before each
   colour, so iterations hardly depend on the number of ranks. On GPUs each rank colours its own blocks, and reads
   values of the last global iteration from other ranks.

   `BAI_MODE_AUTO` is sync if rows have more than 48 entries, on average, or if the matrix is a product $P^T A P$ of
   PETSc, as coarse levels of multigrid are: their many colours would leave most of a GPU idle. Hosts follow the same
   rule. Otherwise it is color.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetMode()`, `BAIMode`
@*/
PetscErrorCode PCBAISetMode(PC pc, BAIMode mode)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "mode", &mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetMode - Gets how blocks wait for each other

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  mode - see `PCBAISetMode()`

   Level: beginner

   Note:
   It is the value that was set. `PCView()` shows the value that `PCSetUp()` chose.

.seealso: `PCBAI`, `PCBAISetMode()`
@*/
PetscErrorCode PCBAIGetMode(PC pc, BAIMode *mode)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "mode", mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetPartition - Sets how rows are divided into blocks

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  type - `BAI_PARTITION_AUTO` (default), `BAI_PARTITION_NATURAL` or `BAI_PARTITION_GRAPH`; any other value is an error,
          `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_partition (auto|natural|graph) - sets it

   Level: beginner

   Notes:
   Local sweeps pay off if most entries of a row are inside its block; -ksp_view shows how many. Each MPI rank
   partitions its own rows.

   `BAI_PARTITION_GRAPH` is computed on the host, from the first values of the matrix, and is kept for new values in the
   same nonzero pattern. Blocks have exactly `block_size` rows, except the last one.

   `BAI_PARTITION_AUTO` is graph if less than a twentieth of the entries are inside blocks of consecutive rows. It is
   natural otherwise, and always if a row has more entries than a block has rows, or with more than a million local
   rows. -ksp_view shows the choice.

   Let S be the sum of $|a_{ij}|$ over the entries outside blocks. `BAI_PARTITION_AUTO` is also graph if the S of graph
   is less than a tenth of the S of consecutive rows. Set-up grows a few blocks to find out, if consecutive rows leave
   more than a fifth of the sum outside and at most three quarters of the couplings of a row are strong. This copies
   values from the GPU to the host. Set-up does not try if the matrix has a block size, as graph may put the unknowns of
   a point in different blocks, nor if the matrix is a product $P^T A P$, as coarse levels of multigrid are.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetPartition()`, `BAIPartitionType`, `PCBAISetBlockSize()`
@*/
PetscErrorCode PCBAISetPartition(PC pc, BAIPartitionType type)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "partition", &type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetPartition - Gets how rows are divided into blocks

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  type - see `PCBAISetPartition()`

   Level: beginner

   Note:
   It is the value that was set. `PCView()` shows the value that `PCSetUp()` chose.

.seealso: `PCBAI`, `PCBAISetPartition()`
@*/
PetscErrorCode PCBAIGetPartition(PC pc, BAIPartitionType *type)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "partition", type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetWeight - Sets the diagonal weighting or scaling for matrices on which Jacobi diverges

   Logically Collective

   Input Parameters:
+  pc     - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  weight - `BAI_WEIGHT_NONE` (default), `BAI_WEIGHT_L1`, `BAI_WEIGHT_TAU` or `BAI_WEIGHT_AUTO`; any other value is an
            error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_weight (none|l1|tau|auto) - sets it

   Level: beginner

   Notes:
   The iteration converges for every order of updates, without weight, if the spectral radius of $|I - D^{-1} A|$ is
   below one, where D is the diagonal of A.

   `BAI_WEIGHT_L1` adds to each $a_{ii}$, with its sign, the sum of the $|a_{ij}|$ outside the block of the row. The
   full l1 weight of other smoothers adds all $|a_{ij}|$. As couplings inside the block do not count here, local sweeps
   may still diverge.

   `BAI_WEIGHT_TAU` multiplies $\omega$ by $\tau = 2/(\lambda_1 + 1.1\, \lambda_n)$ for the extreme eigenvalues of
   $M^{-1} A$, where $x + M^{-1} (b - A x)$ is a global iteration in which blocks read the previous iterate; with one
   local sweep M is D. At most 20 steps of `KSPGMRES` at each set-up estimate the eigenvalues. The factor 1.1 makes up
   for an estimate of $\lambda_n$ that is a little too small. The local sweeps are damped as well, so that they converge
   in every block of a Hermitian positive definite matrix.

   `BAI_WEIGHT_AUTO` multiplies $\omega$ by $\min(1, \tau)$, so it damps only if necessary; -ksp_view shows the factor.
   In `BAI_MODE_COLOR` on one rank, or on several on the host, Hermitian positive definite matrices need no $\tau$.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

   Reference:
   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "Weighted block-asynchronous iteration on GPU-accelerated systems",
   Euro-Par 2012 Workshops.

.seealso: `PCBAI`, `PCBAIGetWeight()`, `BAIWeight`
@*/
PetscErrorCode PCBAISetWeight(PC pc, BAIWeight weight)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "weight", &weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetWeight - Gets the diagonal weighting or scaling for matrices on which Jacobi diverges

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  weight - see `PCBAISetWeight()`

   Level: beginner

   Note:
   It is the value that was set. `PCView()` shows the value that `PCSetUp()` chose.

.seealso: `PCBAI`, `PCBAISetWeight()`
@*/
PetscErrorCode PCBAIGetWeight(PC pc, BAIWeight *weight)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "weight", weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetOmega - Sets the damping of a block's update, after its local sweeps

   Logically Collective

   Input Parameters:
+  pc    - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  omega - the factor, positive (default 1); any other value is an error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_omega <1> - sets it

   Level: intermediate

   Notes:
   A block goes from $x_J$ to $x_J + \omega (y_J - x_J)$, where $y_J$ is the result of its local sweeps. Every order of
   updates converges for $0 < \omega < 2/(1 + \rho)$, if $\rho$, the spectral radius of $|I - D^{-1} A|$, is below one.

   In mode color 1.3 makes up for damped local sweeps, and saves up to nearly half of the cycles of `PCGAMG` for
   elliptic equations. It costs cycles if rows are diagonally dominant, if a flow dominates, or if blocks read values
   from before their turn: on several MPI ranks with GPUs, and with blocks of at most 64 rows, of which several share a
   turn. In mode sync with omega 1 a polynomial damps, see `PCBAISetPolynomial()`.

   In modes sync and launch smoothing diverges with $2/\lambda$ or more, where $\lambda$ is the largest eigenvalue of
   $M^{-1} A$. The first application estimates $\lambda$. As estimates are not exact, only a number above 1 that exceeds
   $2/\lambda$ by a tenth or more is an error.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetOmega()`
@*/
PetscErrorCode PCBAISetOmega(PC pc, PetscReal omega)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "omega", &omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetOmega - Gets the damping of a block's update, after its local sweeps

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  omega - see `PCBAISetOmega()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetOmega()`
@*/
PetscErrorCode PCBAIGetOmega(PC pc, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "omega", omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetLocalOmega - Sets the damping of each Jacobi sweep inside a block

   Logically Collective

   Input Parameters:
+  pc    - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  omega - the factor, positive, or 0: chosen at set-up (default 0); any other value is an error,
           `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_local_omega <0> - sets it

   Level: intermediate

   Notes:
   Values around 0.9 damp the fastest oscillations in a block, as a smoother should. With 0 the factor is chosen row by
   row: 0.9 in rows whose off-diagonal entries inside the block have a sum of $|a_{ij}|$ of at most $|a_{ii}|$, and in
   other rows $2 |a_{ii}|$ over the sum of all $|a_{ij}|$ inside the block, diagonal included. So the local sweeps
   converge in the blocks of every Hermitian positive definite matrix; the coarse matrices of `PCGAMG` need that. With
   weight tau or auto the factor is always chosen row by row. -ksp_view shows the smallest factor.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetLocalOmega()`
@*/
PetscErrorCode PCBAISetLocalOmega(PC pc, PetscReal omega)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "local_omega", &omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetLocalOmega - Gets the damping of each Jacobi sweep inside a block

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  omega - see `PCBAISetLocalOmega()`

   Level: intermediate

   Note:
   It is the value that was set. If it is 0, `PCView()` shows the smallest factor that set-up chose.

.seealso: `PCBAI`, `PCBAISetLocalOmega()`
@*/
PetscErrorCode PCBAIGetLocalOmega(PC pc, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "local_omega", omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetIterations - Sets the global iterations per application

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  its - global iterations, at least 1 (default 2); any other value is an error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_its <2> - sets it

   Level: intermediate

   Notes:
   With `KSPRICHARDSON`, each iteration of the `KSP` consists of this number of global iterations, so a smoothing step
   does `its` times -ksp_max_it of them. If these are more than a `PetscInt` counts, the error is
   `PETSC_ERR_ARG_OUTOFRANGE`. A polynomial starts again with each iteration of the `KSP`.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetIterations()`, `PCBAISetLocalIters()`
@*/
PetscErrorCode PCBAISetIterations(PC pc, PetscInt its)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "its", &its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetIterations - Gets the global iterations per application

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  its - see `PCBAISetIterations()`

   Level: intermediate

.seealso: `PCBAI`, `PCBAISetIterations()`
@*/
PetscErrorCode PCBAIGetIterations(PC pc, PetscInt *its)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "its", its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetPolynomial - Sets the weights of global iterations in mode sync

   Logically Collective

   Input Parameters:
+  pc         - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  polynomial - `BAI_POLYNOMIAL_AUTO` (default) or `BAI_POLYNOMIAL_NONE`; any other value is an error,
                `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_polynomial (auto|none) - sets it

   Level: intermediate

   Notes:
   In `BAI_MODE_SYNC` all blocks read old values, and global iterations with equal weights smooth badly or diverge. With
   the weights of the polynomial they smooth like `KSPCHEBYSHEV` of the fourth kind preconditioned by one global
   iteration, but compute no residuals in between. If one global iteration is a symmetric operator, so are the
   preconditioner and a V-cycle with it, and `KSPCG` may be used outside.

   The first application after each set-up estimates the largest eigenvalue by ten steps of `KSPGMRES`.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetPolynomial()`, `BAIPolynomial`, `PCBAISetMode()`, `PCBAISetIterations()`,
          `KSPChebyshevSetKind()`
@*/
PetscErrorCode PCBAISetPolynomial(PC pc, BAIPolynomial polynomial)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "polynomial", &polynomial));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetPolynomial - Gets the weights of global iterations in mode sync

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  polynomial - see `PCBAISetPolynomial()`

   Level: intermediate

   Note:
   It is the value that was set. `PCView()` shows the value that `PCSetUp()` chose.

.seealso: `PCBAI`, `PCBAISetPolynomial()`
@*/
PetscErrorCode PCBAIGetPolynomial(PC pc, BAIPolynomial *polynomial)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "polynomial", polynomial));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAISetBackend - Sets whether the iteration runs on the host or on a GPU

   Logically Collective

   Input Parameters:
+  pc      - the preconditioner; the call is ignored unless it is of type `PCBAI`
-  backend - `BAI_BACKEND_AUTO` (default), `BAI_BACKEND_HOST` or `BAI_BACKEND_CUDA`; any other value is an error,
             `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -pc_bai_backend (auto|host|cuda) - sets it

   Level: intermediate

   Notes:
   `BAI_BACKEND_AUTO` is where the matrix is. With `BAI_BACKEND_CUDA` a matrix and vectors on the host are copied to the
   GPU, also if PETSc was built without CUDA. Errors at set-up are `PETSC_ERR_SUP_SYS`, if the library was built without
   CUDA, and `PETSC_ERR_GPU`, if the GPU fails.

   A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.

.seealso: `PCBAI`, `PCBAIGetBackend()`, `BAIBackend`
@*/
PetscErrorCode PCBAISetBackend(PC pc, BAIBackend backend)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)pc, &BAIFacePC, "backend", &backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCBAIGetBackend - Gets whether the iteration runs on the host or on a GPU

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be of type `PCBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  backend - see `PCBAISetBackend()`

   Level: intermediate

   Note:
   It is the value that was set. `PCView()` shows the value that `PCSetUp()` chose.

.seealso: `PCBAI`, `PCBAISetBackend()`
@*/
PetscErrorCode PCBAIGetBackend(PC pc, BAIBackend *backend)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)pc, &BAIFacePC, "backend", backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}
