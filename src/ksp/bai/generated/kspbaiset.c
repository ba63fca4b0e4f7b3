/*
   Setters and getters of KSPBAI, made from src/petsc/options.def and others by "make options"
*/
#include "../../../petsc/baiimpl.h" /*I "petscbai.h" I*/

/*@
   KSPBAISetMethod - Sets whether a Krylov method or block-asynchronous relaxation solves

   Logically Collective

   Input Parameters:
+  ksp    - the solver; the call is ignored unless it is of type `KSPBAI`
-  method - `BAI_METHOD_AUTO` (default), `BAI_METHOD_KRYLOV` or `BAI_METHOD_RELAXATION`; any other value is an error,
            `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_method (auto|krylov|relaxation) - sets it

   Level: beginner

   Notes:
   `BAI_METHOD_AUTO` chooses relaxation if any option of relaxation was given, by its key or its setter, whatever its
   value. It also does if the number of iterations is fixed by `KSP_NORM_NONE` or `KSPConvergedSkip()`, as for a
   smoother of `PCMG`, unless -pc_type or -ksp_bai_krylov was given. In all other cases it chooses a Krylov method. The
   first line of -ksp_view names the method and the reason.

   An option of relaxation together with method krylov is an error that names both, and so is an option of Krylov
   methods together with method relaxation.

   A new value takes effect at the next `KSPSolve()`, also after `KSPSetUp()`.

.seealso: `KSPBAI`, `KSPBAIGetMethod()`, `BAIMethod`, `KSPBAISetKrylov()`
@*/
PetscErrorCode KSPBAISetMethod(KSP ksp, BAIMethod method)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "method", &method));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetKrylov - Sets the Krylov method

   Logically Collective

   Input Parameters:
+  ksp    - the solver; the call is ignored unless it is of type `KSPBAI`
-  krylov - `BAI_KRYLOV_AUTO` (default), `BAI_KRYLOV_CG`, `BAI_KRYLOV_FCG`, `BAI_KRYLOV_BCGS` or `BAI_KRYLOV_GMRES`; any
            other value is an error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_krylov (auto|cg|fcg|bcgs|gmres) - sets it

   Level: intermediate

   Notes:
   Setting it selects method krylov, and is an error with method relaxation: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

   `BAI_KRYLOV_AUTO` chooses the first of these methods that fits.

   CG: the operator is Hermitian, and the `PC` is of type none, jacobi, icc or cholesky, of type baimg made from a
   Hermitian matrix, or of type lu or gamg made from the present Amat.

   Flexible CG: the operator is Hermitian, and vectors are on a host and have real scalars, or the norm type is natural
   or preconditioned. PETSc up to 3.26 does the sums of flexible CG on the host and without conjugation.

   Flexible GMRES: the operator is Hermitian, or Amat has no entries, or a `PCBAIMG` finds fields whose couplings
   outweigh the diagonal.

   Flexible BiCGStab: all other operators. If it breaks down, flexible GMRES follows.

   A `PCBAIMG` finds out whether the operator is Hermitian with diagonal entries of one sign. With another `PC`, or if
   the levels are not of Amat, the operator counts as Hermitian if `MAT_HERMITIAN` or `MAT_SYMMETRIC` is set to true, or
   if products with random vectors say so. If CG finds that the matrix or the `PC` is not positive definite, auto
   continues with BiCGStab.

   An implementation of CG of this library takes the place of `KSPCG` if the `PC` is of type `PCBAIMG`, Amat is Pmat,
   and the matrix is on one MPI rank, gathered, or on GPUs of one host that access each other's memory; there PETSc must
   have 32-bit indices, and the diagonal must be positive. It does not if the levels are of a scaled or renumbered
   matrix, if a row is too long for levels, if a null space has more than the constants, or if the norm type is natural
   or preconditioned.

   If a GPU holds the matrix in registers and shared memory, a solve is a single kernel launch of this library's
   pipelined CG or BiCGStab. The `PC` must be of type `PCBAIMG`, with none of its options given, and Amat must be Pmat.
   Krylov methods fcg and gmres are never a single launch.

.seealso: `KSPBAI`, `KSPBAIGetKrylov()`, `BAIKrylov`, `KSPBAISetMethod()`, `KSPSetPC()`, `PCBAIMG`
@*/
PetscErrorCode KSPBAISetKrylov(KSP ksp, BAIKrylov krylov)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "krylov", &krylov));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetKrylov - Gets the Krylov method

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  krylov - see `KSPBAISetKrylov()`

   Level: intermediate

   Note:
   It is the value that was set. `KSPView()` shows the value that `KSPSetUp()` chose.

.seealso: `KSPBAI`, `KSPBAISetKrylov()`
@*/
PetscErrorCode KSPBAIGetKrylov(KSP ksp, BAIKrylov *krylov)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "krylov", krylov));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetLocalIters - Sets the Jacobi sweeps in a block per global iteration

   Logically Collective

   Input Parameters:
+  ksp    - the solver; the call is ignored unless it is of type `KSPBAI`
-  sweeps - Jacobi sweeps, at least 1 and at most 1000000 (default 5); any other value is an error,
            `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_local_iters <5> - sets it

   Level: beginner

   Notes:
   Setting it selects method relaxation, unless krylov is asked for: see `KSPBAISetMethod()`. A new value takes effect
   at the next `KSPSolve()`, also after `KSPSetUp()`.

   In each global iteration a block reads the values of the other blocks once, and then does this number of Jacobi
   sweeps on its own rows. More sweeps cost little if the block's part of the matrix stays in fast memory, and pay off
   if most entries of a row are inside its block. With one sweep, mode async is asynchronous Jacobi iteration.

   With method krylov and a `PC` of type `PCBAIMG`, its cycle does this number of sweeps, at most 1000, unless
   `PCBAIMGSetLocalIters()` or its key was used, which takes precedence. A matrix that would fit on the chip of a GPU
   then gets levels all the same.

.seealso: `KSPBAI`, `KSPBAIGetLocalIters()`
@*/
PetscErrorCode KSPBAISetLocalIters(KSP ksp, PetscInt sweeps)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "local_iters", &sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetLocalIters - Gets the Jacobi sweeps in a block per global iteration

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  sweeps - see `KSPBAISetLocalIters()`

   Level: beginner

.seealso: `KSPBAI`, `KSPBAISetLocalIters()`
@*/
PetscErrorCode KSPBAIGetLocalIters(KSP ksp, PetscInt *sweeps)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "local_iters", sweeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetBlockSize - Sets the rows of a block

   Logically Collective

   Input Parameters:
+  ksp  - the solver; the call is ignored unless it is of type `KSPBAI`
-  size - rows, at least 1, or 0: chosen at set-up (default 0); any other value is an error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_block_size <0> - sets it

   Level: beginner

   Notes:
   Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

   All rows of a block belong to one MPI rank. They are consecutive unless `KSPBAISetPartition()` asks for another
   partition. The last block of a rank may be smaller. With a single block for all rows the method is Jacobi iteration.
   On a grid in natural ordering, multiples of the grid's width do best.

   With 0 set-up chooses the size. If the matrix has a block size (`MatSetBlockSize()`) of at most 6, the chosen size is
   a multiple of it, so that all unknowns of a point are in one block.

   0 chooses 128 rows.

.seealso: `KSPBAI`, `KSPBAIGetBlockSize()`
@*/
PetscErrorCode KSPBAISetBlockSize(KSP ksp, PetscInt size)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "block_size", &size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetBlockSize - Gets the rows of a block

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  size - see `KSPBAISetBlockSize()`

   Level: beginner

   Note:
   It is the value that was set. `KSPView()` shows the value that `KSPSetUp()` chose.

.seealso: `KSPBAI`, `KSPBAISetBlockSize()`
@*/
PetscErrorCode KSPBAIGetBlockSize(KSP ksp, PetscInt *size)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "block_size", size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetMode - Sets how blocks wait for each other

   Logically Collective

   Input Parameters:
+  ksp  - the solver; the call is ignored unless it is of type `KSPBAI`
-  mode - `BAI_MODE_AUTO` (default), `BAI_MODE_ASYNC`, `BAI_MODE_LAUNCH`, `BAI_MODE_SYNC` or `BAI_MODE_COLOR`; any other
          value is an error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_mode (auto|async|launch|sync|color) - sets it

   Level: beginner

   Notes:
   Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

   Use `BAI_MODE_SYNC` or `BAI_MODE_COLOR` if results must be bitwise reproducible. An iteration of mode color reduces
   the error more than one of mode sync.

   In `BAI_MODE_COLOR` on the host, one colouring covers the blocks of all MPI ranks, and ranks exchange x before each
   colour, so iterations hardly depend on the number of ranks. On GPUs each rank colours its own blocks, and reads
   values of the last global iteration from other ranks.

   `BAI_MODE_AUTO` is async.

.seealso: `KSPBAI`, `KSPBAIGetMode()`, `BAIMode`
@*/
PetscErrorCode KSPBAISetMode(KSP ksp, BAIMode mode)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "mode", &mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetMode - Gets how blocks wait for each other

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  mode - see `KSPBAISetMode()`

   Level: beginner

   Note:
   It is the value that was set. `KSPView()` shows the value that `KSPSetUp()` chose.

.seealso: `KSPBAI`, `KSPBAISetMode()`
@*/
PetscErrorCode KSPBAIGetMode(KSP ksp, BAIMode *mode)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "mode", mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetPartition - Sets how rows are divided into blocks

   Logically Collective

   Input Parameters:
+  ksp  - the solver; the call is ignored unless it is of type `KSPBAI`
-  type - `BAI_PARTITION_AUTO` (default), `BAI_PARTITION_NATURAL` or `BAI_PARTITION_GRAPH`; any other value is an error,
          `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_partition (auto|natural|graph) - sets it

   Level: beginner

   Notes:
   Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

   Local sweeps pay off if most entries of a row are inside its block; -ksp_view shows how many. Each MPI rank
   partitions its own rows.

   `BAI_PARTITION_GRAPH` is computed on the host, from the first values of the matrix, and is kept for new values in the
   same nonzero pattern. Blocks have exactly `block_size` rows, except the last one.

   `BAI_PARTITION_AUTO` is graph if less than a twentieth of the entries are inside blocks of consecutive rows. It is
   natural otherwise, and always if a row has more entries than a block has rows, or with more than a million local
   rows. -ksp_view shows the choice.

.seealso: `KSPBAI`, `KSPBAIGetPartition()`, `BAIPartitionType`, `KSPBAISetBlockSize()`
@*/
PetscErrorCode KSPBAISetPartition(KSP ksp, BAIPartitionType type)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "partition", &type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetPartition - Gets how rows are divided into blocks

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  type - see `KSPBAISetPartition()`

   Level: beginner

   Note:
   It is the value that was set. `KSPView()` shows the value that `KSPSetUp()` chose.

.seealso: `KSPBAI`, `KSPBAISetPartition()`
@*/
PetscErrorCode KSPBAIGetPartition(KSP ksp, BAIPartitionType *type)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "partition", type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetMomentum - Sets the factor of the last step that each update adds

   Logically Collective

   Input Parameters:
+  ksp      - the solver; the call is ignored unless it is of type `KSPBAI`
-  momentum - the factor $\beta$, at least 0 and less than 1 (default 0); any other value is an error,
              `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_momentum <0> - sets it

   Level: intermediate

   Notes:
   Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

   With momentum $\beta$, block J goes from $x_J$ to $x_J + \omega (y_J - x_J) + \beta (x_J - w_J)$, where $y_J$ is the
   result of its local sweeps and $w_J$ its value one global iteration earlier. This is second-order Richardson
   iteration. If convergence is slow, $\beta$ close to 1 saves an order of magnitude of iterations. The older the values
   that blocks read from each other, the smaller the largest $\beta$ that converges; it is largest in `BAI_MODE_SYNC`.

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
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "momentum", &momentum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetMomentum - Gets the factor of the last step that each update adds

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  momentum - see `KSPBAISetMomentum()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetMomentum()`
@*/
PetscErrorCode KSPBAIGetMomentum(KSP ksp, PetscReal *momentum)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "momentum", momentum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetWeight - Sets the diagonal weighting or scaling for matrices on which Jacobi diverges

   Logically Collective

   Input Parameters:
+  ksp    - the solver; the call is ignored unless it is of type `KSPBAI`
-  weight - `BAI_WEIGHT_NONE` (default), `BAI_WEIGHT_L1`, `BAI_WEIGHT_TAU` or `BAI_WEIGHT_AUTO`; any other value is an
            error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_weight (none|l1|tau|auto) - sets it

   Level: beginner

   Notes:
   Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

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

   Reference:
   H. Anzt, S. Tomov, J. Dongarra, V. Heuveline, "Weighted block-asynchronous iteration on GPU-accelerated systems",
   Euro-Par 2012 Workshops.

.seealso: `KSPBAI`, `KSPBAIGetWeight()`, `BAIWeight`
@*/
PetscErrorCode KSPBAISetWeight(KSP ksp, BAIWeight weight)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "weight", &weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetWeight - Gets the diagonal weighting or scaling for matrices on which Jacobi diverges

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  weight - see `KSPBAISetWeight()`

   Level: beginner

   Note:
   It is the value that was set. `KSPView()` shows the value that `KSPSetUp()` chose.

.seealso: `KSPBAI`, `KSPBAISetWeight()`
@*/
PetscErrorCode KSPBAIGetWeight(KSP ksp, BAIWeight *weight)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "weight", weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetPrecision - Sets the precision of the sweeps

   Logically Collective

   Input Parameters:
+  ksp       - the solver; the call is ignored unless it is of type `KSPBAI`
-  precision - `BAI_PRECISION_NATIVE` (default) or `BAI_PRECISION_SINGLE`; any other value is an error,
               `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_precision (native|single) - sets it

   Level: intermediate

   Notes:
   Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

   With `BAI_PRECISION_SINGLE` sweeps keep matrix, iterate and sums in single precision, which moves about half as many
   bytes. Unless -ksp_bai_refine asks for another refinement, the following holds.

   Single precision is combined with iterative refinement: x and the residual b - A x have full precision, and sweeps
   iterate on a correction of x. So the solution is as accurate as in full precision, if the condition number of the
   matrix is well below 1e7. Each correction iterates until it has gained six digits, or fewer if rounding limits them;
   the contraction of the first iterations predicts how many that takes. A solve is never a single kernel launch.

   Entries of the matrix must be within the range of single precision, below 1e38 in modulus.

   References:
   H. Anzt, "Asynchronous and Multiprecision Linear Solvers - Scalable and Fault-Tolerant Numerics for Energy Efficient
   High Performance Computing", PhD thesis, Karlsruhe Institute of Technology, 2012, Section 4.12.

   M. Baboulin et al., "Accelerating scientific computations with mixed precision algorithms", Computer Physics
   Communications 180 (2009).

.seealso: `KSPBAI`, `KSPBAIGetPrecision()`, `BAIPrecision`
@*/
PetscErrorCode KSPBAISetPrecision(KSP ksp, BAIPrecision precision)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "precision", &precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetPrecision - Gets the precision of the sweeps

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  precision - see `KSPBAISetPrecision()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetPrecision()`
@*/
PetscErrorCode KSPBAIGetPrecision(KSP ksp, BAIPrecision *precision)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "precision", precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetOmega - Sets the damping of a block's update, after its local sweeps

   Logically Collective

   Input Parameters:
+  ksp   - the solver; the call is ignored unless it is of type `KSPBAI`
-  omega - the factor, positive (default 1); any other value is an error, `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_omega <1> - sets it

   Level: intermediate

   Notes:
   Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

   A block goes from $x_J$ to $x_J + \omega (y_J - x_J)$, where $y_J$ is the result of its local sweeps. Every order of
   updates converges for $0 < \omega < 2/(1 + \rho)$, if $\rho$, the spectral radius of $|I - D^{-1} A|$, is below one.

.seealso: `KSPBAI`, `KSPBAIGetOmega()`
@*/
PetscErrorCode KSPBAISetOmega(KSP ksp, PetscReal omega)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "omega", &omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetOmega - Gets the damping of a block's update, after its local sweeps

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  omega - see `KSPBAISetOmega()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetOmega()`
@*/
PetscErrorCode KSPBAIGetOmega(KSP ksp, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "omega", omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetLocalOmega - Sets the damping of each Jacobi sweep inside a block

   Logically Collective

   Input Parameters:
+  ksp   - the solver; the call is ignored unless it is of type `KSPBAI`
-  omega - the factor, positive, or 0: chosen at set-up (default 1); any other value is an error,
           `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_local_omega <1> - sets it

   Level: intermediate

   Notes:
   Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

   Values around 0.9 damp the fastest oscillations in a block, as a smoother should. With 0 the factor is chosen row by
   row: 0.9 in rows whose off-diagonal entries inside the block have a sum of $|a_{ij}|$ of at most $|a_{ii}|$, and in
   other rows $2 |a_{ii}|$ over the sum of all $|a_{ij}|$ inside the block, diagonal included. So the local sweeps
   converge in the blocks of every Hermitian positive definite matrix; the coarse matrices of `PCGAMG` need that. With
   weight tau or auto the factor is always chosen row by row. -ksp_view shows the smallest factor.

.seealso: `KSPBAI`, `KSPBAIGetLocalOmega()`
@*/
PetscErrorCode KSPBAISetLocalOmega(KSP ksp, PetscReal omega)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "local_omega", &omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetLocalOmega - Gets the damping of each Jacobi sweep inside a block

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  omega - see `KSPBAISetLocalOmega()`

   Level: intermediate

   Note:
   It is the value that was set. If it is 0, `KSPView()` shows the smallest factor that set-up chose.

.seealso: `KSPBAI`, `KSPBAISetLocalOmega()`
@*/
PetscErrorCode KSPBAIGetLocalOmega(KSP ksp, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "local_omega", omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetCheckInterval - Sets the global iterations between residual norms

   Logically Collective

   Input Parameters:
+  ksp      - the solver; the call is ignored unless it is of type `KSPBAI`
-  interval - global iterations, at least 1, or 0: chosen while iterating (default 0); any other value is an error,
              `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_check_interval <0> - sets it

   Level: intermediate

   Notes:
   Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`. A new value takes
   effect at the next `KSPSolve()`, also after `KSPSetUp()`.

   With 0 the residual norm is computed after every iteration if there is a monitor, a residual history or a convergence
   test other than `KSPConvergedDefault()`. Otherwise it is computed when the contraction so far predicts that the
   tolerance may be met. Monitors and histories receive the norms that are computed.

   With another number the norm is computed after each such number of iterations and after the last one, also with a
   monitor, and a solve is never a single kernel launch. With `KSP_NORM_NONE` no norm is computed.

.seealso: `KSPBAI`, `KSPBAIGetCheckInterval()`
@*/
PetscErrorCode KSPBAISetCheckInterval(KSP ksp, PetscInt interval)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "check_interval", &interval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetCheckInterval - Gets the global iterations between residual norms

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  interval - see `KSPBAISetCheckInterval()`

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetCheckInterval()`
@*/
PetscErrorCode KSPBAIGetCheckInterval(KSP ksp, PetscInt *interval)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "check_interval", interval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAISetBackend - Sets whether the iteration runs on the host or on a GPU

   Logically Collective

   Input Parameters:
+  ksp     - the solver; the call is ignored unless it is of type `KSPBAI`
-  backend - `BAI_BACKEND_AUTO` (default), `BAI_BACKEND_HOST` or `BAI_BACKEND_CUDA`; any other value is an error,
             `PETSC_ERR_ARG_OUTOFRANGE`

   Options Database Key:
.  -ksp_bai_backend (auto|host|cuda) - sets it

   Level: intermediate

   Notes:
   `BAI_BACKEND_AUTO` is where the matrix is. With `BAI_BACKEND_CUDA` a matrix and vectors on the host are copied to the
   GPU, also if PETSc was built without CUDA. Errors at set-up are `PETSC_ERR_SUP_SYS`, if the library was built without
   CUDA, and `PETSC_ERR_GPU`, if the GPU fails.

   With method krylov, the levels of `PCBAIMG` and the Krylov methods of this library run there. A Krylov method of
   PETSc runs where the vectors are.

   A new value takes effect at the next `KSPSolve()`, also after `KSPSetUp()`.

.seealso: `KSPBAI`, `KSPBAIGetBackend()`, `BAIBackend`
@*/
PetscErrorCode KSPBAISetBackend(KSP ksp, BAIBackend backend)
{
  PetscFunctionBegin;
  PetscCall(BAISetOption((PetscObject)ksp, &BAIFaceKSP, "backend", &backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   KSPBAIGetBackend - Gets whether the iteration runs on the host or on a GPU

   Not Collective

   Input Parameter:
.  ksp - the solver, which must be of type `KSPBAI`, else the error is `PETSC_ERR_ARG_WRONG`

   Output Parameter:
.  backend - see `KSPBAISetBackend()`

   Level: intermediate

   Note:
   It is the value that was set. `KSPView()` shows the value that `KSPSetUp()` chose.

.seealso: `KSPBAI`, `KSPBAISetBackend()`
@*/
PetscErrorCode KSPBAIGetBackend(KSP ksp, BAIBackend *backend)
{
  PetscFunctionBegin;
  PetscCall(BAIGetOption((PetscObject)ksp, &BAIFaceKSP, "backend", backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}
