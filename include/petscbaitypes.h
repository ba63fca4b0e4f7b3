/*
   Types that petsc-bai's users and its engine share; needs nothing of PETSc
*/
#pragma once

/* SUBMANSEC = KSP */

/*E
   BAIMethod - The methods of a `KSPBAI`

   Values:
+  `BAI_METHOD_AUTO`       - (default) relaxation if an option of relaxation was given, or the number of iterations is
                             fixed; else krylov
.  `BAI_METHOD_KRYLOV`     - a Krylov method, with the `PC` of the `KSP`
-  `BAI_METHOD_RELAXATION` - block-asynchronous iteration itself

   Options Database Key:
.  -ksp_bai_method (auto|krylov|relaxation) - choose the method

   Level: beginner

.seealso: `KSPBAI`, `KSPBAISetMethod()`, `KSPBAIGetMethod()`
E*/
typedef enum {
  BAI_METHOD_AUTO,
  BAI_METHOD_KRYLOV,
  BAI_METHOD_RELAXATION
} BAIMethod;

/*E
   BAIKrylov - The Krylov methods of a `KSPBAI`

   Values:
+  `BAI_KRYLOV_AUTO`  - (default) chosen by the operator and the `PC`
.  `BAI_KRYLOV_CG`    - conjugate gradients
.  `BAI_KRYLOV_FCG`   - flexible conjugate gradients
.  `BAI_KRYLOV_BCGS`  - flexible BiCGStab
-  `BAI_KRYLOV_GMRES` - flexible GMRES

   Options Database Key:
.  -ksp_bai_krylov (auto|cg|fcg|bcgs|gmres) - choose the method

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetKrylov()`
E*/
typedef enum {
  BAI_KRYLOV_AUTO,
  BAI_KRYLOV_CG,
  BAI_KRYLOV_FCG,
  BAI_KRYLOV_BCGS,
  BAI_KRYLOV_GMRES
} BAIKrylov;

/*E
   BAIMode - How the blocks of a block-asynchronous iteration wait for each other

   Values:
+  `BAI_MODE_ASYNC`  - never, inside one MPI rank: no barrier between global iterations; a block reads the newest values
                       of the others that it can see; of other ranks as `BAIExchange` says
.  `BAI_MODE_LAUNCH` - all blocks finish a global iteration before the next begins; within one, a block reads old and
                       new values as it finds them
.  `BAI_MODE_SYNC`   - every block reads exactly the previous iterate of the blocks that it depends on; bitwise
                       reproducible
.  `BAI_MODE_COLOR`  - blocks take turns in the order of a colouring: every block reads exactly the newest values of
                       those before it and the previous iterate of those after it, as in multicolour Gauss-Seidel;
                       bitwise reproducible
-  `BAI_MODE_AUTO`   - (default) for `PCBAI` color, but sync where many colours are needed, so that few blocks would
                       work at the same time; for a relaxation of `KSPBAI` async

   Options Database Key:
.  -ksp_bai_mode (auto|async|launch|sync|color) - choose the mode

   Level: intermediate

.seealso: `KSPBAI`, `PCBAI`, `KSPBAISetMode()`, `PCBAISetMode()`
E*/
typedef enum {
  BAI_MODE_ASYNC,
  BAI_MODE_LAUNCH,
  BAI_MODE_SYNC,
  BAI_MODE_COLOR,
  BAI_MODE_AUTO
} BAIMode;

/*E
   BAIPolynomial - Weights of the global iterations of a `PCBAI`

   Values:
+  `BAI_POLYNOMIAL_AUTO`   - (default) fourth in mode sync, unless omega, momentum, overlap or weight tau is asked for;
                             else none
.  `BAI_POLYNOMIAL_NONE`   - each is multiplied by omega
-  `BAI_POLYNOMIAL_FOURTH` - those of Chebyshev's polynomial of the fourth kind, for the largest eigenvalue, which is
                             estimated by the first application

   Options Database Key:
.  -pc_bai_polynomial (auto|none|fourth) - choose the weights

   Level: intermediate

   Note:
   Mode sync only: what is multiplied must be the same in each iteration.

   Reference:
   J. Lottes, "Optimal polynomial smoothers for multigrid V-cycles", Numerical Linear Algebra with Applications 30
   (2023).

.seealso: `PCBAI`, `PCBAISetPolynomial()`, `KSPChebyshevSetKind()`
E*/
typedef enum {
  BAI_POLYNOMIAL_AUTO,
  BAI_POLYNOMIAL_NONE,
  BAI_POLYNOMIAL_FOURTH
} BAIPolynomial;

/*E
   BAIBackend - Where a block-asynchronous iteration runs

   Values:
+  `BAI_BACKEND_AUTO` - (default) where the matrix is
.  `BAI_BACKEND_HOST` - OpenMP threads
-  `BAI_BACKEND_CUDA` - an NVIDIA GPU; a matrix and vectors on the host are copied to it

   Options Database Key:
.  -ksp_bai_backend (auto|host|cuda) - choose the backend

   Level: intermediate

.seealso: `KSPBAI`, `KSPBAISetBackend()`
E*/
typedef enum {
  BAI_BACKEND_AUTO,
  BAI_BACKEND_HOST,
  BAI_BACKEND_CUDA
} BAIBackend;

/*E
   BAIPartitionType - How rows become blocks of a block-asynchronous iteration

   Values:
+  `BAI_PARTITION_AUTO`    - (default) natural, or graph where blocks of consecutive rows contain few of the entries
.  `BAI_PARTITION_NATURAL` - consecutive rows, as they are numbered
.  `BAI_PARTITION_DM`      - boxes of the grid of the `DMDA` that is attached
.  `BAI_PARTITION_RCM`     - consecutive rows in the reverse Cuthill-McKee order
-  `BAI_PARTITION_GRAPH`   - blocks grown along strong couplings

   Options Database Key:
.  -ksp_bai_partition (auto|natural|dm|rcm|graph) - choose the partition

   Level: intermediate

   Note:
   The numbering of vectors and matrices does not change; only which rows are iterated together.

.seealso: `KSPBAI`, `PCBAI`, `KSPBAISetPartition()`, `PCBAISetPartition()`
E*/
typedef enum {
  BAI_PARTITION_AUTO,
  BAI_PARTITION_NATURAL,
  BAI_PARTITION_DM,
  BAI_PARTITION_RCM,
  BAI_PARTITION_GRAPH
} BAIPartitionType;

/*E
   BAIWeight - What a block-asynchronous iteration does to converge where plain Jacobi sweeps do not

   Values:
+  `BAI_WEIGHT_NONE` - (default) nothing
.  `BAI_WEIGHT_L1`   - adds to |a_ii| the sum of |a_ij| over the columns outside the block of row i
.  `BAI_WEIGHT_TAU`  - multiplies omega by a factor that is found from eigenvalues at set-up
-  `BAI_WEIGHT_AUTO` - tau, but at most 1

   Options Database Key:
.  -ksp_bai_weight (none|l1|tau|auto) - choose the weight

   Level: intermediate

.seealso: `KSPBAI`, `PCBAI`, `KSPBAISetWeight()`, `PCBAISetWeight()`
E*/
typedef enum {
  BAI_WEIGHT_NONE,
  BAI_WEIGHT_L1,
  BAI_WEIGHT_TAU,
  BAI_WEIGHT_AUTO
} BAIWeight;

/*E
   BAIExchange - How the MPI ranks of a block-asynchronous iteration exchange x

   Values:
+  `BAI_EXCHANGE_AUTO`    - (default) dk where it can be, else scatter
.  `BAI_EXCHANGE_SCATTER` - by a `VecScatter` after each global iteration
.  `BAI_EXCHANGE_AMC`     - by a `VecScatter` during the next global iteration, which reads older values; in modes sync
                            and color as scatter
.  `BAI_EXCHANGE_DC`      - as dk, but in copies after each global iteration: between GPUs on streams of their own; in
                            modes async and launch during the next iteration, which reads older values
-  `BAI_EXCHANGE_DK`      - kernels, or threads, of each rank store x of its boundary directly into the memory of the
                            other ranks

   Options Database Key:
.  -ksp_bai_exchange (auto|scatter|amc|dc|dk) - choose the exchange

   Level: intermediate

   Note:
   For dc and dk, ranks that exchange x must be on one node, and all work on the host or each on a GPU of its own that
   reaches the memory of the others' GPUs. -info tells the first reason against it.

.seealso: `KSPBAI`, `PCBAI`
E*/
typedef enum {
  BAI_EXCHANGE_AUTO,
  BAI_EXCHANGE_SCATTER,
  BAI_EXCHANGE_AMC,
  BAI_EXCHANGE_DC,
  BAI_EXCHANGE_DK
} BAIExchange;

/*E
   BAIPrecision - The precision of the sweeps of a block-asynchronous iteration

   Values:
+  `BAI_PRECISION_NATIVE` - (default) in that of `PetscReal`
-  `BAI_PRECISION_SINGLE` - single; residuals and solutions are of full precision, unless `BAI_REFINE_NONE` is asked for

   Options Database Key:
.  -ksp_bai_precision (native|single) - choose the precision

   Level: intermediate

.seealso: `KSPBAI`, `PCBAI`, `BAIRefine`, `KSPBAISetPrecision()`, `PCBAISetPrecision()`
E*/
typedef enum {
  BAI_PRECISION_NATIVE,
  BAI_PRECISION_SINGLE
} BAIPrecision;

/*E
   BAIRefine - Which iterative refinement a block-asynchronous iteration has round its sweeps

   Values:
+  `BAI_REFINE_AUTO`  - (default) sync if the precision is single, else none
.  `BAI_REFINE_NONE`  - none: sweeps go over x itself, in their precision
.  `BAI_REFINE_SYNC`  - the residual b - A x of all rows is computed, and global iterations go over a correction of x
-  `BAI_REFINE_ASYNC` - each block computes the residual of its own rows, sweeps over a correction of its own x, and
                        adds it

   Options Database Key:
.  -ksp_bai_refine (auto|none|sync|async) - choose the refinement

   Level: intermediate

.seealso: `KSPBAI`, `PCBAI`, `BAIPrecision`
E*/
typedef enum {
  BAI_REFINE_AUTO,
  BAI_REFINE_NONE,
  BAI_REFINE_SYNC,
  BAI_REFINE_ASYNC
} BAIRefine;

/*E
   BAIFaultType - What a simulated fault does to a block-asynchronous iteration

   Values:
+  `BAI_FAULT_ROWS`   - (default) rows are no longer updated, as if what computes them had failed
.  `BAI_FAULT_BLOCKS` - the same of whole blocks
.  `BAI_FAULT_X`      - a bit of x is flipped in some rows, once
.  `BAI_FAULT_MATRIX` - a bit of the solver's copy of the matrix is flipped in some rows, until it is copied anew
-  `BAI_FAULT_SUMS`   - a bit of what a row subtracts from b is flipped in one global iteration

   Options Database Key:
.  -ksp_bai_fault_type (rows|blocks|x|matrix|sums) - choose the type

   Level: advanced

.seealso: `KSPBAI`
E*/
typedef enum {
  BAI_FAULT_ROWS,
  BAI_FAULT_BLOCKS,
  BAI_FAULT_X,
  BAI_FAULT_MATRIX,
  BAI_FAULT_SUMS
} BAIFaultType;

/*E
   BAIKernel - Family of kernels for the global iterations of a block-asynchronous iteration on a GPU

   Values:
+  `BAI_KERNEL_AUTO`     - (default) the first of the following that can
.  `BAI_KERNEL_RESIDENT` - keeps the whole matrix on the chip, and does a whole solve in one launch
.  `BAI_KERNEL_STREAM`   - streams the matrix, a thread a row
-  `BAI_KERNEL_GENERIC`  - takes any matrix

   Options Database Key:
.  -ksp_bai_kernel (auto|resident|stream|generic) - choose the family

   Level: advanced

.seealso: `KSPBAI`, `PCBAI`
E*/
typedef enum {
  BAI_KERNEL_AUTO,
  BAI_KERNEL_RESIDENT,
  BAI_KERNEL_STREAM,
  BAI_KERNEL_GENERIC
} BAIKernel;
