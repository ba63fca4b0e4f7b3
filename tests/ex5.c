static char help[] = "What KSPBAI cannot do is an error on all ranks that says what is wrong; after it, one can go on.\n\n";

#include <petscbai.h>
#include "baicompat.h"
#include "gallery.h"

static char message[256];

/* Keeps what the first of the error handler's calls says */
static PetscErrorCode Keep(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code, PetscErrorType type, const char *text, void *ctx)
{
  (void)comm;
  (void)line;
  (void)function;
  (void)file;
  (void)ctx;
  if (type == PETSC_ERROR_INITIAL && !message[0] && text) (void)snprintf(message, sizeof(message), "%s", text);
  return code;
}

/* Prints the message, which must be that of all ranks */
static PetscErrorCode Print(PetscErrorCode code)
{
  char        root[sizeof(message)];
  PetscMPIInt rank;
  PetscBool   same;
  int         mine, all;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (code == PETSC_SUCCESS) PetscCall(PetscStrncpy(message, "no error", sizeof(message)));
  PetscCall(PetscStrncpy(root, message, sizeof(root)));
  PetscCallMPI(MPI_Bcast(root, (PetscMPIInt)sizeof(root), MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscCall(PetscStrcmp(root, message, &same));
  mine = (int)same;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s\n", root, all ? "" : " (but not on all ranks)"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define PrintError(...) \
  do { \
    PetscErrorCode code_; \
    message[0] = 0; \
    PetscCall(PetscPushErrorHandler(Keep, NULL)); \
    code_ = __VA_ARGS__; \
    PetscCall(PetscPopErrorHandler()); \
    PetscCall(Print(code_)); \
  } while (0)

static PetscErrorCode Expect(PetscBool right, const char what[])
{
  PetscFunctionBeginUser;
  if (!right) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Not so: %s\n", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solver(Mat A, const char prefix[], KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPBAI));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  if (A) PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Converges(KSP ksp)
{
  Mat                A;
  Vec                b, x;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Expect((PetscBool)(reason > 0), "convergence after an error"));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Setters(Mat A)
{
  KSP        ksp;
  PetscInt   sweeps, size, overlap, interval;
  PetscReal  omega, local_omega;
  BAIMode    mode, mode_before;
  BAIBackend backend, backend_before;

  PetscFunctionBeginUser;
  PetscCall(Solver(A, "foo_", &ksp));
  PetscCall(KSPBAIGetMode(ksp, &mode_before));
  PetscCall(KSPBAIGetBackend(ksp, &backend_before));
  PrintError(KSPBAISetLocalIters(ksp, 0));
  PrintError(KSPBAISetBlockSize(ksp, -1));
  PrintError(KSPBAISetOverlap(ksp, -1));
  PrintError(KSPBAISetCheckInterval(ksp, -1));
  PrintError(KSPBAISetOmega(ksp, 0.0));
  PrintError(KSPBAISetOmega(ksp, -1.0));
  PrintError(KSPBAISetOmega(ksp, NAN));
  PrintError(KSPBAISetOmega(ksp, INFINITY));
  PrintError(KSPBAISetLocalOmega(ksp, -1.0));
  PrintError(KSPBAISetMomentum(ksp, -0.1));
  PrintError(KSPBAISetMomentum(ksp, 1.0));
  PrintError(KSPBAISetWeight(ksp, (BAIWeight)4));
  PrintError(KSPBAISetPartition(ksp, (BAIPartitionType)-1));
  PrintError(KSPBAISetStaleness(ksp, -2));
  PrintError(KSPBAISetPrecision(ksp, (BAIPrecision)2));
  PrintError(KSPBAISetMode(ksp, (BAIMode)4));
  PrintError(KSPBAISetBackend(ksp, (BAIBackend)9));

  PetscCall(KSPBAISetMode(ksp, BAI_MODE_SYNC)); /* where staleness has no meaning, found out when both are known */
  PetscCall(KSPBAISetStaleness(ksp, 2));
  PrintError(KSPSetUp(ksp));
  PetscCall(KSPBAISetMode(ksp, mode_before));
  PetscCall(KSPBAISetStaleness(ksp, -1));

  PetscCall(KSPBAIGetLocalIters(ksp, &sweeps));
  PetscCall(KSPBAIGetBlockSize(ksp, &size));
  PetscCall(KSPBAIGetOverlap(ksp, &overlap));
  PetscCall(KSPBAIGetCheckInterval(ksp, &interval));
  PetscCall(KSPBAIGetOmega(ksp, &omega));
  PetscCall(KSPBAIGetLocalOmega(ksp, &local_omega));
  PetscCall(KSPBAIGetMode(ksp, &mode));
  PetscCall(KSPBAIGetBackend(ksp, &backend));
  PetscCall(Expect((PetscBool)(sweeps == 5 && size == 0 && overlap == 0 && interval == 0 && omega == 1 && local_omega == 1 && mode == mode_before && backend == backend_before), "a wrong value changes nothing"));
  PetscCall(Converges(ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What an error leaves behind of PetscOptionsBegin() is lost memory, which the test below does not count */
static PetscErrorCode Options(Mat A)
{
  const char *const options[][2] = {
    {"-foo_ksp_bai_local_iters",    "0"        },
    {"-foo_ksp_bai_block_size",     "-1"       },
    {"-foo_ksp_bai_overlap",        "-1"       },
    {"-foo_ksp_bai_check_interval", "-2"       },
    {"-foo_ksp_bai_omega",          "0"        },
    {"-foo_ksp_bai_local_omega",    "-0.5"     },
    {"-foo_ksp_bai_momentum",       "1"        },
    {"-foo_ksp_bai_momentum",       "much"     },
    {"-foo_ksp_bai_weight",         "l2"       },
    {"-foo_ksp_bai_partition",      "metis"    },
    {"-foo_ksp_bai_theta",          "7up"      },
    {"-foo_ksp_bai_staleness",      "-2"       },
    {"-foo_ksp_bai_precision",      "half"     },
    {"-foo_ksp_bai_mode",           "sometimes"},
    {"-foo_ksp_bai_backend",        "abacus"   },
    {"-foo_pc_type",                "jacobi"   }
  };

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); k++) {
    KSP      ksp;
    PetscInt sweeps;

    PetscCall(Solver(A, "foo_", &ksp));
    PetscCall(PetscOptionsSetValue(NULL, "-foo_ksp_bai_local_iters", "4"));
    PetscCall(PetscOptionsSetValue(NULL, options[k][0], options[k][1]));
    PrintError(KSPSetFromOptions(ksp));
    PetscCall(PetscOptionsClearValue(NULL, "-foo_ksp_bai_local_iters"));
    PetscCall(PetscOptionsClearValue(NULL, options[k][0]));
    PetscCall(KSPBAIGetLocalIters(ksp, &sweeps));
    if (k < PETSC_STATIC_ARRAY_LENGTH(options) - 1) PetscCall(Expect((PetscBool)(sweeps == 5), "wrong options change nothing"));
    PetscCall(KSPDestroy(&ksp));

    PetscCall(Solver(A, "foo_", &ksp));
    PetscCall(Converges(ksp));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for PCBAI */
static PetscErrorCode PCOptions(Mat A)
{
  const char *const options[][2] = {
    {"-foo_pc_bai_local_iters", "0"        },
    {"-foo_pc_bai_block_size",  "-1"       },
    {"-foo_pc_bai_overlap",     "-1"       },
    {"-foo_pc_bai_its",         "0"        },
    {"-foo_pc_bai_omega",       "0"        },
    {"-foo_pc_bai_local_omega", "-0.5"     },
    {"-foo_pc_bai_momentum",    "auto"     },
    {"-foo_pc_bai_momentum",    "-1"       },
    {"-foo_pc_bai_weight",      "l2"       },
    {"-foo_pc_bai_partition",   "metis"    },
    {"-foo_pc_bai_staleness",   "-2"       },
    {"-foo_pc_bai_precision",   "half"     },
    {"-foo_pc_bai_mode",        "sometimes"},
    {"-foo_pc_bai_backend",     "abacus"   }
  };

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); k++) {
    PC       pc;
    PetscInt its;

    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOptionsPrefix(pc, "foo_"));
    PetscCall(PCSetType(pc, PCBAI));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PetscOptionsSetValue(NULL, "-foo_pc_bai_its", "4"));
    PetscCall(PetscOptionsSetValue(NULL, options[k][0], options[k][1]));
    PrintError(PCSetFromOptions(pc));
    PetscCall(PetscOptionsClearValue(NULL, "-foo_pc_bai_its"));
    PetscCall(PetscOptionsClearValue(NULL, options[k][0]));
    PetscCall(PCBAIGetIterations(pc, &its));
    PetscCall(Expect((PetscBool)(its == 2), "wrong options change nothing"));
    PetscCall(PCDestroy(&pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of a shape, type or state that cannot be, at set-up */
static PetscErrorCode Matrices(void)
{
  PetscFunctionBeginUser;
  for (int which = 0; which < 4; which++) {
    KSP ksp;
    Mat A;

    if (which == 1) PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 6, 6, NULL, &A));
    else if (which == 2) PetscCall(MatCreateShell(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 6, 6, NULL, &A));
    else PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 6, which == 0 ? 9 : 6, 1, NULL, 0, NULL, &A));
    if (which < 3) {
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(Solver(A, NULL, &ksp));
    PrintError(KSPSetUp(ksp));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 20 rows, one without a diagonal entry, one with a zero there; then the zero and the missing entry are made good */
static PetscErrorCode Diagonal(PetscInt missing, PetscInt zero)
{
  const PetscInt n = 20;
  KSP            ksp;
  Mat            A;
  PetscInt       rstart, rend;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocation(A, 3, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, 3, NULL, 2, NULL));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++) {
    if (row != missing) PetscCall(MatSetValue(A, row, row, row == zero ? 0.0 : 4.0, INSERT_VALUES));
    if (row > 0) PetscCall(MatSetValue(A, row, row - 1, -1.0, INSERT_VALUES));
    if (row < n - 1) PetscCall(MatSetValue(A, row, row + 1, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Solver(A, NULL, &ksp));
  PrintError(KSPSetUp(ksp));

  for (int bad = 0; bad < 2; bad++) {
    for (PetscInt row = rstart; row < rend; row++) PetscCall(MatSetValue(A, row, row, 4.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(Converges(ksp));
    if (bad) break;
    for (PetscInt row = rstart; row < rend; row++) {
      if (row == missing || row == zero) PetscCall(MatSetValue(A, row, row, 0.0, INSERT_VALUES)); /* now in the pattern known to the solver */
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPSetOperators(ksp, A, A));
    PrintError(KSPSetUp(ksp));
    PrintError(KSPSetUp(ksp)); /* asked again, it must not say yes */
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transpose(Mat A)
{
  KSP ksp;
  Vec b, x;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(Solver(A, NULL, &ksp));
  PrintError(KSPSolveTranspose(ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 8, &A));
  PetscCall(Setters(A));
  PetscCall(Options(A));
  PetscCall(PCOptions(A));
  PetscCall(Matrices());
  PetscCall(Diagonal(7, 11));
  PetscCall(Diagonal(11, 7));
  PetscCall(Diagonal(19, 2));
  PetscCall(Diagonal(-1, 19));
  PetscCall(Diagonal(0, -1));
  PetscCall(Transpose(A));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/ex5.out
    filter: sed -e "s/seqdense/dense/" -e "s/mpidense/dense/"
    diff_args: -j
    args: -malloc_dump 0

    test:
      suffix: host
      nsize: {{1 3}}

    test:
      suffix: cuda
      nsize: {{1 2}}
      requires: baicuda
      args: -ksp_bai_backend cuda -foo_ksp_bai_backend cuda

    test:
      suffix: aijcusparse
      nsize: {{1 2}}
      requires: baicuda cuda
      args: -mat_type aijcusparse

TEST*/
