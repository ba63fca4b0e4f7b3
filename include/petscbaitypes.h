/*
   Types that petsc-bai's users and its engine share; needs nothing of PETSc
*/
#pragma once

/* SUBMANSEC = KSP */

/*E
   BAIMode - How the blocks of a block-asynchronous iteration wait for each other

   Values:
+  `BAI_MODE_ASYNC`  - (default of `KSPBAI`) never: no barrier between global iterations; a block reads the newest values of the others that it can see
.  `BAI_MODE_LAUNCH` - all blocks finish a global iteration before the next begins; within one, a block reads old and new values as it finds them
.  `BAI_MODE_SYNC`   - every block reads exactly the previous iterate of the blocks that it depends on; bitwise repeatable
-  `BAI_MODE_COLOR`  - (default of `PCBAI`) blocks take turns in the order of a colouring: every block reads exactly the newest values of those before it
                       and the previous iterate of those after it, as in multicolour Gauss-Seidel; bitwise repeatable

   Options Database Key:
.  -ksp_bai_mode (async|launch|sync|color) - choose the mode

   Level: intermediate

.seealso: `KSPBAI`, `PCBAI`, `KSPBAISetMode()`, `PCBAISetMode()`
E*/
typedef enum {
  BAI_MODE_ASYNC,
  BAI_MODE_LAUNCH,
  BAI_MODE_SYNC,
  BAI_MODE_COLOR
} BAIMode;

/*E
   BAIBackend - Where a block-asynchronous iteration runs

   Values:
+  `BAI_BACKEND_AUTO` - (default) where the matrix lives
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
