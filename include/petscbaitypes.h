/*
   Types that users of petsc-bai and its engine share, independent of PETSc
*/
#pragma once

/* SUBMANSEC = KSP */

/*E
   BAIMethod - Method of a `KSPBAI`

   Values:
+  `BAI_METHOD_AUTO`       - (default) relaxation if an option of relaxation was given, or the number of iterations is
                             fixed; else krylov
.  `BAI_METHOD_KRYLOV`     - a Krylov method, preconditioned by the `PC` of the `KSP`
-  `BAI_METHOD_RELAXATION` - block-asynchronous iteration, without a `PC`

   Options Database Key:
.  -ksp_bai_method (auto|krylov|relaxation) - sets it

   Level: beginner

.seealso: `KSPBAI`, `KSPBAISetMethod()`, `KSPBAIGetMethod()`
E*/
typedef enum {
  BAI_METHOD_AUTO,
  BAI_METHOD_KRYLOV,
  BAI_METHOD_RELAXATION
} BAIMethod;

/*E
   BAIKrylov - Krylov method of a `KSPBAI`

   Values:
+  `BAI_KRYLOV_AUTO`  - (default) chosen from the operator and the `PC`
.  `BAI_KRYLOV_CG`    - conjugate gradients
.  `BAI_KRYLOV_FCG`   - flexible conjugate gradients
.  `BAI_KRYLOV_BCGS`  - flexible BiCGStab
-  `BAI_KRYLOV_GMRES` - flexible GMRES

   Options Database Key:
.  -ksp_bai_krylov (auto|cg|fcg|bcgs|gmres) - sets it

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
+  `BAI_MODE_ASYNC`  - blocks of an MPI rank never wait for each other: a block reads the newest values of the other
                       blocks that it can see; values of other ranks arrive as `BAIExchange` says
.  `BAI_MODE_LAUNCH` - all blocks finish a global iteration before the next begins; within one, a block reads old or
                       new values of the other blocks as it finds them
.  `BAI_MODE_SYNC`   - every block reads exactly the previous iterate of the blocks that it depends on; bitwise
                       reproducible
.  `BAI_MODE_COLOR`  - blocks take turns in the order of a colouring: every block reads exactly the newest values of
                       blocks of earlier colours and the previous iterate of blocks of later colours, as in multicolour
                       Gauss-Seidel; bitwise reproducible
-  `BAI_MODE_AUTO`   - (default) for `PCBAI` color, or sync if turns would leave most of a GPU idle; for `KSPBAI` async

   Options Database Keys:
+  -ksp_bai_mode (auto|async|launch|sync|color) - sets it
-  -pc_bai_mode (auto|async|launch|sync|color)  - sets it

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
+  `BAI_POLYNOMIAL_AUTO` - (default) in mode sync, the weights of Chebyshev's polynomial of the fourth kind for the
                           largest eigenvalue, which the first application estimates, unless omega is
                           not 1 or the weight is tau or auto; else none
-  `BAI_POLYNOMIAL_NONE` - omega for each iteration

   Options Database Key:
.  -pc_bai_polynomial (auto|none) - sets it

   Level: intermediate

   Note:
   Only in mode sync all iterations apply the same linear operator, as the polynomial needs.

   Reference:
   J. Lottes, "Optimal polynomial smoothers for multigrid V-cycles", Numerical Linear Algebra with Applications 30
   (2023).

.seealso: `PCBAI`, `PCBAISetPolynomial()`, `KSPChebyshevSetKind()`
E*/
typedef enum {
  BAI_POLYNOMIAL_AUTO,
  BAI_POLYNOMIAL_NONE
} BAIPolynomial;

/*E
   BAIBackend - Processor on which blocks, multigrid levels and the Krylov methods of this library run

   Values:
+  `BAI_BACKEND_AUTO` - (default) where the matrix is: a GPU for a matrix of type `MATAIJCUSPARSE`, else the host
.  `BAI_BACKEND_HOST` - the host, in OpenMP threads
-  `BAI_BACKEND_CUDA` - an NVIDIA GPU, to which a matrix and vectors on the host are copied

   Options Database Keys:
+  -ksp_bai_backend (auto|host|cuda) - sets it
-  -pc_bai_backend (auto|host|cuda)  - sets it

   Level: intermediate

.seealso: `KSPBAI`, `PCBAI`, `KSPBAISetBackend()`, `PCBAISetBackend()`
E*/
typedef enum {
  BAI_BACKEND_AUTO,
  BAI_BACKEND_HOST,
  BAI_BACKEND_CUDA
} BAIBackend;

/*E
   BAIPartitionType - How the rows of a matrix are divided into blocks of a block-asynchronous iteration

   Values:
+  `BAI_PARTITION_AUTO`    - (default) natural, or graph if blocks of consecutive rows contain few of the entries
.  `BAI_PARTITION_NATURAL` - consecutive rows
-  `BAI_PARTITION_GRAPH`   - blocks grown along strong couplings

   Options Database Keys:
+  -ksp_bai_partition (auto|natural|graph) - sets it
-  -pc_bai_partition (auto|natural|graph)  - sets it

   Level: intermediate

   Note:
   A partition does not renumber vectors and matrices.

.seealso: `KSPBAI`, `PCBAI`, `KSPBAISetPartition()`, `PCBAISetPartition()`
E*/
typedef enum {
  BAI_PARTITION_AUTO,
  BAI_PARTITION_NATURAL,
  BAI_PARTITION_GRAPH
} BAIPartitionType;

/*E
   BAIWeight - Diagonal weighting or scaling of a block-asynchronous iteration, for matrices on which Jacobi diverges

   Values:
+  `BAI_WEIGHT_NONE` - (default) none
.  `BAI_WEIGHT_L1`   - $|a_{ii}|$ grows by the sum of $|a_{ij}|$ over the columns outside the block of row i
.  `BAI_WEIGHT_TAU`  - omega is multiplied by $\tau$, a factor that set-up finds from estimated eigenvalues
-  `BAI_WEIGHT_AUTO` - omega is multiplied by $\min(1, \tau)$

   Options Database Keys:
+  -ksp_bai_weight (none|l1|tau|auto) - sets it
-  -pc_bai_weight (none|l1|tau|auto)  - sets it

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
+  `BAI_EXCHANGE_AUTO`    - (default) dk if it is possible, else scatter
.  `BAI_EXCHANGE_SCATTER` - by a `VecScatter` after each global iteration
.  `BAI_EXCHANGE_AMC`     - by a `VecScatter` during the next global iteration, which reads older values; in modes sync
                            and color as scatter
-  `BAI_EXCHANGE_DK`      - kernels, or threads, of each rank store its boundary values of x directly in the memory of
                            the other ranks

   Options Database Keys:
+  -ksp_bai_exchange (auto|scatter|amc|dk) - sets it
-  -pc_bai_exchange (auto|scatter|amc|dk)  - sets it

   Level: intermediate

   Note:
   For dk, all ranks must be on one node, and run all on the host, or each on a GPU of its own with peer access to the
   others. If that is not so, auto uses scatter, and -info shows the first reason; to ask for dk is then an error.

.seealso: `KSPBAI`, `PCBAI`
E*/
typedef enum {
  BAI_EXCHANGE_AUTO,
  BAI_EXCHANGE_SCATTER,
  BAI_EXCHANGE_AMC,
  BAI_EXCHANGE_DK
} BAIExchange;

/*E
   BAIPrecision - Precision of the sweeps of a block-asynchronous iteration

   Values:
+  `BAI_PRECISION_NATIVE` - (default) the precision of `PetscReal`
-  `BAI_PRECISION_SINGLE` - single precision; residuals and solutions have full precision unless `BAI_REFINE_NONE` is
                            asked for

   Options Database Key:
.  -ksp_bai_precision (native|single) - sets it

   Level: intermediate

.seealso: `KSPBAI`, `PCBAI`, `BAIRefine`, `KSPBAISetPrecision()`
E*/
typedef enum {
  BAI_PRECISION_NATIVE,
  BAI_PRECISION_SINGLE
} BAIPrecision;

/*E
   BAIRefine - Iterative refinement around the sweeps of a block-asynchronous iteration

   Values:
+  `BAI_REFINE_AUTO`  - (default) sync if the precision is single, else none
.  `BAI_REFINE_NONE`  - none: sweeps update x itself, in their precision
.  `BAI_REFINE_SYNC`  - the residual b - A x of all rows is computed, and global iterations compute a correction of x
-  `BAI_REFINE_ASYNC` - each block computes the residual of its own rows, and its sweeps compute a correction of its
                        part of x

   Options Database Key:
.  -ksp_bai_refine (auto|none|sync|async) - sets it

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
   BAIKernel - Family of kernels for global iterations on a GPU

   Values:
+  `BAI_KERNEL_AUTO`     - (default) the first of the following that is possible
.  `BAI_KERNEL_RESIDENT` - keeps the whole matrix in registers and shared memory, and does a whole solve in one launch
.  `BAI_KERNEL_STREAM`   - reads the matrix from memory in each iteration, with one thread for each row
-  `BAI_KERNEL_GENERIC`  - accepts any matrix and every option

   Options Database Keys:
+  -ksp_bai_kernel (auto|resident|stream|generic) - sets it
-  -pc_bai_kernel (auto|resident|stream|generic)  - sets it

   Level: advanced

.seealso: `KSPBAI`, `PCBAI`
E*/
typedef enum {
  BAI_KERNEL_AUTO,
  BAI_KERNEL_RESIDENT,
  BAI_KERNEL_STREAM,
  BAI_KERNEL_GENERIC
} BAIKernel;
