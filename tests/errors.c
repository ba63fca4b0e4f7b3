static char help[] =
  "What KSPBAI cannot do is an error on all ranks that says what is wrong; after it, one can go on.\n\n";

#include "check.h"
#include "gallery.h"

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
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Expect(reason > 0, "convergence after an error"));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Setters(Mat A)
{
  KSP        ksp;
  PetscInt   sweeps, size, interval;
  PetscReal  omega, local_omega;
  BAIMode    mode, mode_before;
  BAIBackend backend, backend_before;

  PetscFunctionBeginUser;
  PetscCall(Solver(A, "foo_", &ksp));
  PetscCall(KSPBAIGetMode(ksp, &mode_before));
  PetscCall(KSPBAIGetBackend(ksp, &backend_before));
  ExpectError("-foo_ksp_bai_local_iters 0: must be at least 1 and at most 1000000", "KSPBAISetLocalIters()",
              KSPBAISetLocalIters(ksp, 0));
  ExpectError("-foo_ksp_bai_block_size -1: must be at least 0 (0: chosen at set-up)", "KSPBAISetBlockSize()",
              KSPBAISetBlockSize(ksp, -1));
  ExpectError("-foo_ksp_bai_check_interval -1: must be at least 0 (0: chosen while iterating)",
              "KSPBAISetCheckInterval()", KSPBAISetCheckInterval(ksp, -1));
  ExpectError("-foo_ksp_bai_omega 0.: must be a positive number", "KSPBAISetOmega()", KSPBAISetOmega(ksp, 0.0));
  ExpectError("-foo_ksp_bai_omega -1.: must be a positive number", "KSPBAISetOmega()", KSPBAISetOmega(ksp, -1.0));
  ExpectError("-foo_ksp_bai_omega nan.: must be a positive number", "KSPBAISetOmega()", KSPBAISetOmega(ksp, NAN));
  ExpectError("-foo_ksp_bai_omega inf.: must be a positive number", "KSPBAISetOmega()", KSPBAISetOmega(ksp, INFINITY));
  ExpectError("-foo_ksp_bai_local_omega -1.: must be a positive number, or 0 (chosen at set-up)",
              "KSPBAISetLocalOmega()", KSPBAISetLocalOmega(ksp, -1.0));
  ExpectError("-foo_ksp_bai_momentum -0.1: must be at least 0 and less than 1", "KSPBAISetMomentum()",
              KSPBAISetMomentum(ksp, -0.1));
  ExpectError("-foo_ksp_bai_momentum 1.: must be at least 0 and less than 1", "KSPBAISetMomentum()",
              KSPBAISetMomentum(ksp, 1.0));
  ExpectError("-foo_ksp_bai_weight 5: must be one of none, l1, tau, auto", "KSPBAISetWeight()",
              KSPBAISetWeight(ksp, (BAIWeight)5));
  ExpectError("-foo_ksp_bai_partition -1: must be one of auto, natural, graph", "KSPBAISetPartition()",
              KSPBAISetPartition(ksp, (BAIPartitionType)-1));
  ExpectError("-foo_ksp_bai_precision 3: must be one of native, single", "KSPBAISetPrecision()",
              KSPBAISetPrecision(ksp, (BAIPrecision)3));
  ExpectError("-foo_ksp_bai_mode 5: must be one of async, launch, sync, color, auto", "KSPBAISetMode()",
              KSPBAISetMode(ksp, (BAIMode)5));
  ExpectError("-foo_ksp_bai_backend 9: must be one of auto, host, cuda", "KSPBAISetBackend()",
              KSPBAISetBackend(ksp, (BAIBackend)9));

  PetscCall(KSPBAIGetLocalIters(ksp, &sweeps));
  PetscCall(KSPBAIGetBlockSize(ksp, &size));
  PetscCall(KSPBAIGetCheckInterval(ksp, &interval));
  PetscCall(KSPBAIGetOmega(ksp, &omega));
  PetscCall(KSPBAIGetLocalOmega(ksp, &local_omega));
  PetscCall(KSPBAIGetMode(ksp, &mode));
  PetscCall(KSPBAIGetBackend(ksp, &backend));
  PetscCall(Expect(sweeps == 5 && size == 0 && interval == 0 && omega == 1 && local_omega == 1 && mode == mode_before &&
                     backend == backend_before,
                   "a wrong value changes nothing"));
  PetscCall(Converges(ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The message about an option with a wrong value: the option, then the rest */
static const char *Message(const char *const option[3])
{
  static char message[256];

  (void)snprintf(message, sizeof(message), "%s %s", option[0], option[2]);
  return message;
}

/* What an error leaves behind of PetscOptionsBegin() is lost memory, which the test below does not count */
static PetscErrorCode Options(Mat A)
{
  const char *const options[][3] = {
    {"-foo_ksp_bai_local_iters",    "0",         "0: must be at least 1 and at most 1000000"                 },
    {"-foo_ksp_bai_block_size",     "-1",        "-1: must be at least 0 (0: chosen at set-up)"              },
    {"-foo_ksp_bai_check_interval", "-2",        "-2: must be at least 0 (0: chosen while iterating)"        },
    {"-foo_ksp_bai_omega",          "0",         "0.: must be a positive number"                             },
    {"-foo_ksp_bai_local_omega",    "-0.5",      "-0.5: must be a positive number, or 0 (chosen at set-up)"  },
    {"-foo_ksp_bai_momentum",       "1",         "1.: must be at least 0 and less than 1"                    },
    {"-foo_ksp_bai_momentum",       "much",      "much: must be at least 0 and less than 1"                  },
    {"-foo_ksp_bai_weight",         "l2",        "l2: must be one of none, l1, tau, auto"                    },
    {"-foo_ksp_bai_partition",      "metis",     "metis: must be one of auto, natural, graph"                },
    {"-foo_ksp_bai_theta",          "7up",       "7up: must be true or false"                                },
    {"-foo_ksp_bai_local_iters",    "few",       "few: must be at least 1 and at most 1000000"               },
    {"-foo_ksp_bai_block_size",     "1e3",       "1e3: must be at least 0 (0: chosen at set-up)"             },
    {"-foo_ksp_bai_omega",          "1,5",       "1,5: must be a positive number"                            },
    {"-foo_ksp_bai_method",         "cg",        "cg: must be one of auto, krylov, relaxation"               },
    {"-foo_ksp_bai_krylov",         "minres",    "minres: must be one of auto, cg, fcg, bcgs, gmres"         },
    {"-foo_ksp_bai_stats",          "foo",       "foo: must be true, false, or ascii:FILE"                   },
    {"-foo_ksp_bai_precision",      "half",      "half: must be one of native, single"                       },
    {"-foo_ksp_bai_fault_fraction", "1.5",       "1.5: must be at least 0 and less than 1"                   },
    {"-foo_ksp_bai_fault_at",       "-1",        "-1: must be at least 0"                                    },
    {"-foo_ksp_bai_fault_recover",  "-1",        "-1: must be at least 0 (0: never)"                         },
    {"-foo_ksp_bai_refine",         "twice",     "twice: must be one of auto, none, sync, async"             },
    {"-foo_ksp_bai_kernel",         "fast",      "fast: must be one of auto, resident, stream, generic"      },
    {"-foo_ksp_bai_kernel",         "4",         "4: must be one of auto, resident, stream, generic"         },
    {"-foo_ksp_bai_mode",           "sometimes", "sometimes: must be one of async, launch, sync, color, auto"},
    {"-foo_ksp_bai_backend",        "abacus",    "abacus: must be one of auto, host, cuda"                   }
  };

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); k++) {
    KSP      ksp;
    PetscInt sweeps;

    PetscCall(Solver(A, "foo_", &ksp));
    PetscCall(PetscOptionsSetValue(NULL, "-foo_ksp_bai_local_iters", "4"));
    PetscCall(PetscOptionsSetValue(NULL, options[k][0], options[k][1]));
    ExpectError(Message(options[k]), options[k][0], KSPSetFromOptions(ksp));
    PetscCall(PetscOptionsClearValue(NULL, "-foo_ksp_bai_local_iters"));
    PetscCall(PetscOptionsClearValue(NULL, options[k][0]));
    PetscCall(KSPBAIGetLocalIters(ksp, &sweeps));
    PetscCall(Expect(sweeps == 5, "wrong options change nothing"));
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
  const char *const options[][3] = {
    {"-foo_pc_bai_local_iters", "0",         "0: must be at least 1 and at most 1000000"                 },
    {"-foo_pc_bai_block_size",  "-1",        "-1: must be at least 0 (0: chosen at set-up)"              },
    {"-foo_pc_bai_its",         "0",         "0: must be at least 1"                                     },
    {"-foo_pc_bai_omega",       "0",         "0.: must be a positive number"                             },
    {"-foo_pc_bai_omega",       "-1",        "-1.: must be a positive number"                            },
    {"-foo_pc_bai_local_omega", "-0.5",      "-0.5: must be a positive number, or 0 (chosen at set-up)"  },
    {"-foo_pc_bai_weight",      "l2",        "l2: must be one of none, l1, tau, auto"                    },
    {"-foo_pc_bai_partition",   "metis",     "metis: must be one of auto, natural, graph"                },
    {"-foo_pc_bai_its",         "two",       "two: must be at least 1"                                   },
    {"-foo_pc_bai_idle_wait",   "maybe",     "maybe: must be true or false"                              },
    {"-foo_pc_bai_kernel",      "fast",      "fast: must be one of auto, resident, stream, generic"      },
    {"-foo_pc_bai_mode",        "sometimes", "sometimes: must be one of async, launch, sync, color, auto"},
    {"-foo_pc_bai_backend",     "abacus",    "abacus: must be one of auto, host, cuda"                   }
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
    ExpectError(Message(options[k]), options[k][0], PCSetFromOptions(pc));
    PetscCall(PetscOptionsClearValue(NULL, "-foo_pc_bai_its"));
    PetscCall(PetscOptionsClearValue(NULL, options[k][0]));
    PetscCall(PCBAIGetIterations(pc, &its));
    PetscCall(Expect(its == 2, "wrong options change nothing"));
    PetscCall(PCDestroy(&pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of a shape, type or state that cannot be, at set-up */
static PetscErrorCode Matrices(void)
{
  PetscFunctionBeginUser;
  for (int which = 0; which < 4; which++) {
    KSP     ksp;
    Mat     A;
    MatType type;
    char    expected[512] = "Matrix with 6 rows and 9 columns: must be square";

    if (which == 1) PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 6, 6, NULL, &A));
    else if (which == 2) PetscCall(MatCreateShell(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 6, 6, NULL, &A));
    else
      PetscCall(
        MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 6, which == 0 ? 9 : 6, 1, NULL, 0, NULL, &A));
    if (which < 3) {
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    } else PetscCall(PetscStrncpy(expected, "Matrix is not assembled", sizeof(expected)));
    PetscCall(MatGetType(A, &type));
    if (which == 1 || which == 2) PetscCall(MatTypeMessage(type, expected, sizeof(expected)));
    PetscCall(Solver(A, NULL, &ksp));
    if (which == 1 || which == 2) PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_RELAXATION)); /* Krylov methods take them */
    ExpectError(expected, "KSPSetUp()", KSPSetUp(ksp));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver that has solved, and then gets values, or another matrix, that are not assembled */
static PetscErrorCode NotAssembled(Mat good, BAIMethod method, PetscBool other)
{
  KSP      ksp;
  Mat      A, B;
  Vec      b, x;
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(NewSystem(good, &x, &b));
  PetscCall(MatDuplicate(good, MAT_COPY_VALUES, &A));
  PetscCall(MatDuplicate(good, MAT_COPY_VALUES, &B));
  PetscCall(Solver(A, NULL, &ksp));
  PetscCall(KSPBAISetMethod(ksp, method));
  PetscCall(Converges(ksp));
  if (other) PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  if (first < last) PetscCall(MatSetValue(other ? B : A, first, first, 100.0, INSERT_VALUES));
  ExpectError("Matrix is not assembled", "KSPSolve()", KSPSolve(ksp, b, x));
  PetscCall(MatAssemblyBegin(other ? B : A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(other ? B : A, MAT_FINAL_ASSEMBLY));
  PetscCall(Converges(ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 20 rows, one without a diagonal entry, one with a zero there; then the zero and the missing entry are made good */
static PetscErrorCode Diagonal(PetscInt missing, PetscInt zero, PetscInt named)
{
  const PetscInt n = 20;
  KSP            ksp;
  Mat            A;
  PetscInt       rstart, rend;
  char           expected[512];

  PetscFunctionBeginUser;
  PetscCall(ZeroDiagonalMessage(named, (missing >= 0) + (zero >= 0), n, expected, sizeof(expected)));
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
  ExpectError(expected, "KSPSetUp()", KSPSetUp(ksp));

  for (int bad = 0; bad < 2; bad++) {
    for (PetscInt row = rstart; row < rend; row++) PetscCall(MatSetValue(A, row, row, 4.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(Converges(ksp));
    if (bad) break;
    for (PetscInt row = rstart; row < rend; row++) {
      if (row == missing || row == zero)
        PetscCall(MatSetValue(A, row, row, 0.0, INSERT_VALUES)); /* now in the pattern known to the solver */
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPSetOperators(ksp, A, A));
    ExpectError(expected, "KSPSetUp()", KSPSetUp(ksp));
    ExpectError(expected, "KSPSetUp() again", KSPSetUp(ksp)); /* asked again, it must not say yes */
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 stands for a missing diagonal entry as in PCJACOBI: in PCBAI, and for KSPBAI where the whole row is zero. The
 * solution is one all the same */
static PetscErrorCode Unit(PetscBool pcbai)
{
  const PetscInt n = 20, missing = 2; /* of rank 0, whose rows the view counts */
  KSP            ksp;
  PC             pc;
  Mat            A;
  Vec            b, x;
  PetscInt       rstart, rend;
  PetscReal      rows, rnorm;
  PetscBool      is;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++) {
    if (!pcbai && row == missing) continue;
    if (row != missing) PetscCall(MatSetValue(A, row, row, 4.0, INSERT_VALUES));
    if (row > 0 && (pcbai || row - 1 != missing)) PetscCall(MatSetValue(A, row, row - 1, -1.0, INSERT_VALUES));
    if (row < n - 1 && (pcbai || row + 1 != missing)) PetscCall(MatSetValue(A, row, row + 1, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Solver(A, NULL, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (pcbai) PetscCall(KSPSetType(ksp, KSPFGMRES));
  if (pcbai) PetscCall(PCSetType(pc, PCBAI));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, b));
  for (int relaxation = 0; relaxation < 2; relaxation++) {
    if (relaxation) PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_RELAXATION));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(IsConverged(ksp, &rnorm, &is));
    PetscCall(Expect(is, "converges, residual %g", (double)rnorm));
  }
  PetscCall(ViewedNumber(pcbai ? (PetscObject)pc : (PetscObject)ksp, "1 replaces the diagonal entry of ", &rows));
  PetscCall(Expect(rows == 1, "the view says so, but of %g rows", (double)rows));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal entry that is there, but whose reciprocal is not finite */
static PetscErrorCode TinyDiagonal(void)
{
  const PetscInt  n = 20, bad = 13;
  const PetscReal tiny = (PetscReal)0.125 / PETSC_MAX_REAL;
  KSP             ksp;
  Mat             A;
  PetscInt        rstart, rend;
  char            expected[256];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(expected, sizeof(expected),
                          "Row %" PetscInt_FMT " of the matrix has a diagonal entry of magnitude %g, by which one "
                          "cannot divide: block-asynchronous iteration needs 1/a_ii to be finite",
                          bad, (double)tiny));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++)
    PetscCall(MatSetValue(A, row, row, row == bad ? -tiny : 4.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Solver(A, NULL, &ksp));
  ExpectError(expected, "KSPSetUp()", KSPSetUp(ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner whose set-up for new values has failed fails, and works again when the values are good */
static PetscErrorCode ApplyAfterError(Mat good, PCType type)
{
  const PetscReal tiny = (PetscReal)0.125 / PETSC_MAX_REAL;
  PC              pc;
  Mat             A;
  Vec             b, x, again;
  PetscErrorCode  code;
  PetscReal       norm, difference;
  PetscInt        first, last;
  PetscBool       none;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(good, MAT_COPY_VALUES, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &again));
  PetscCall(VecSet(b, 1.0));
  PetscCall(NewPC(A, type, &pc));
  PetscCall(PCApply(pc, b, x));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  if (first == 0 && last > 0) PetscCall(MatSetValue(A, 0, 0, tiny, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  for (int k = 0; k < 2; k++) {
    CheckCall(code, k ? PCApply(pc, b, again) : PCSetUp(pc));
    PetscCall(Expect(code != PETSC_SUCCESS, "%s with a tiny diagonal entry: no error", k ? "PCApply()" : "PCSetUp()"));
    PetscCall(
      Expect(!strncmp(check_said, "Row 0 of the matrix", 19), "%s: \"%s\"", k ? "PCApply()" : "PCSetUp()", check_said));
  }
  PetscCall(ViewHas((PetscObject)pc, "not yet set up", &none));
  PetscCall(Expect(none, "the view after an error"));
  PetscCall(MatCopy(good, A, SAME_NONZERO_PATTERN));
  PetscCall(PCApply(pc, b, again));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(again, -1.0, x));
  PetscCall(VecNorm(again, NORM_INFINITY, &difference));
  PetscCall(Expect(difference <= 100 * PETSC_MACHINE_EPSILON * norm, "after good values it differs by %g",
                   (double)(difference / norm)));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&again));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More global iterations than an index counts are not done, and no success is claimed */
static PetscErrorCode Counts(Mat A)
{
  KSP      ksp;
  PC       pc;
  Vec      b, x;
  PetscInt most = PETSC_MAX_INT;
  char     expected[256];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(expected, sizeof(expected),
                          "-ksp_bai_local_iters %" PetscInt_FMT ": must be at least 1 and at most 1000000", most));
  PetscCall(Solver(A, NULL, &ksp));
  ExpectError(expected, "KSPBAISetLocalIters()", KSPBAISetLocalIters(ksp, most));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(NewSystem(A, &x, &b));
  for (int which = 0; which < 2; which++) {
    const PetscInt its = which ? 2 : most / 2 + 1, max_it = which ? most : 3;

    PetscCall(PetscSNPrintf(
      expected, sizeof(expected),
      "-pc_bai_its %" PetscInt_FMT " for each of %" PetscInt_FMT
      " iterations of the KSP: more global iterations than can be counted, -ksp_max_it must be at most %" PetscInt_FMT,
      its, max_it, most / its));
    PetscCall(NewKSP(A, KSPRICHARDSON, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCBAI));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(PCBAISetIterations(pc, its));
    PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, max_it));
    ExpectError(expected, "KSPSolve()", KSPSolve(ksp, b, x));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sweeps of the KSP that are too many for the cycle of its PCBAIMG are an error about the option of the KSP */
static PetscErrorCode SweepsOfCycle(Mat A)
{
  KSP      ksp;
  PC       pc;
  PetscInt sweeps;

  PetscFunctionBeginUser;
  PetscCall(Solver(A, "foo_", &ksp));
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_KRYLOV));
  PetscCall(KSPBAISetLocalIters(ksp, 1001));
  ExpectError("-foo_ksp_bai_local_iters 1001 with a PC of type baimg: must be at least 1 and at most 1000",
              "KSPSetUp()", KSPSetUp(ksp));
  PetscCall(KSPBAISetLocalIters(ksp, 3));
  PetscCall(Converges(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCBAIMGGetLocalIters(pc, &sweeps));
  PetscCall(Expect(sweeps == 3, "%" PetscInt_FMT " sweeps: should be 3, as the KSP has", sweeps));
  PetscCall(PCBAIMGSetLocalIters(pc, 2)); /* takes precedence */
  PetscCall(KSPBAISetLocalIters(ksp, 1001));
  PetscCall(Converges(ksp));
  PetscCall(PCBAIMGGetLocalIters(pc, &sweeps));
  PetscCall(Expect(sweeps == 2, "%" PetscInt_FMT " sweeps: should be 2, as was set for the PC", sweeps));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A backend that cannot be, for want of nvcc or of a GPU, is an error that names the option, or PETSc's own about its
 * device; the host serves afterwards */
static PetscErrorCode Backend(Mat A)
{
  const char *const absent =
    "Backend cuda (-ksp_bai_backend) is not in this libpetscbai, which was built without nvcc; there is: host";
  const char *const broken = "Backend cuda (-ksp_bai_backend): ";
  PetscErrorCode    code;
  KSP               ksp;

  PetscFunctionBeginUser;
  PetscCall(Solver(A, NULL, &ksp));
  PetscCall(KSPBAISetBackend(ksp, BAI_BACKEND_CUDA));
  CheckCall(code, KSPSetUp(ksp));
  if (code)
    PetscCall(Expect(!strcmp(check_said, absent) || !strncmp(check_said, broken, strlen(broken)) ||
                       strstr(check_said, "PetscDevice"),
                     "KSPSetUp(): \"%s\"", check_said));
  PetscCall(KSPBAISetBackend(ksp, BAI_BACKEND_HOST));
  PetscCall(Converges(ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In a solver of its own: PETSc counts the solves that an error left */
static PetscErrorCode ExpectSolveError(Mat A, Vec b, Vec x, const char expected[])
{
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(Solver(A, NULL, &ksp));
  ExpectError(expected, "KSPSolve()", KSPSolve(ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors that are not those of the matrix, and no matrix at all */
static PetscErrorCode Sizes(Mat A)
{
  KSP         ksp;
  Vec         b, x, more, other;
  PetscInt    N, n;
  PetscMPIInt rank, size;
  char        expected[256];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Solver(NULL, NULL, &ksp));
  ExpectError("KSPBAI has no matrix: call KSPSetOperators(), or KSPSetDM() and KSPSetComputeOperators(), first",
              "KSPSetUp()", KSPSetUp(ksp));
  PetscCall(KSPDestroy(&ksp));

  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(NewSystem(A, &x, &b));
  for (int which = 0; which < 2; which++) {
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n + 1, PETSC_DETERMINE, &more)); /* an error leaves it locked */
    PetscCall(PetscSNPrintf(expected, sizeof(expected),
                            "The %s has %" PetscInt_FMT " entries: must be %" PetscInt_FMT ", the rows of the matrix",
                            which ? "solution" : "right-hand side", N + size, N));
    PetscCall(ExpectSolveError(A, which ? b : more, which ? more : x, expected));
    PetscCall(VecDestroy(&more));
  }
  if (size > 1) { /* the right number, but not on the right ranks */
    n += rank == 0 ? size - 1 : -1;
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, N, &other));
    PetscCall(PetscSNPrintf(expected, sizeof(expected),
                            "The right-hand side has %" PetscInt_FMT " entries on this rank: must be %" PetscInt_FMT
                            ", the rows of the matrix there",
                            n, n - (rank == 0 ? size - 1 : -1)));
    PetscCall(ExpectSolveError(A, other, x, expected));
    PetscCall(VecDestroy(&other));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PCEISENSTAT that comes after a solve must change the system before it is set up: an error, or right */
static PetscErrorCode LateEisenstat(Mat A)
{
  KSP            ksp;
  PC             pc;
  Vec            b, x;
  PetscReal      rnorm = 0, bnorm;
  PetscErrorCode code;

  PetscFunctionBeginUser;
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(Solver(A, NULL, &ksp));
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_KRYLOV));
  PetscCall(Converges(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCEISENSTAT));
  CheckCall(code, KSPSolve(ksp, b, x));
  if (!code) PetscCall(TrueResidualNorm(A, b, x, &rnorm));
  PetscCall(Expect(rnorm <= (PetscReal)1e-3 * bnorm, "the residual norm is %g of %g", (double)rnorm, (double)bnorm));
  if (!code) PetscCall(KSPDestroy(&ksp)); /* after an error the matrices of a PCEISENSTAT of PETSc 3.26 are swapped */
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    PetscInt    missing, zero, named; /* rows, -1: none; which of them the error names */
  } diagonals[] = {
    {"missing_before_zero",  7,  11, 7 },
    {"zero_before_missing",  11, 7,  7 },
    {"missing_in_last_row",  19, 2,  2 },
    {"zero_in_last_row",     -1, 19, 19},
    {"missing_in_first_row", 0,  -1, 0 }
  };
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 8, &A));
  if (Case("ksp_setters")) PetscCall(Setters(A));
  if (Case("ksp_options")) PetscCall(Options(A));
  if (Case("pc_options")) PetscCall(PCOptions(A));
  if (Case("matrices")) PetscCall(Matrices());
  for (int other = 0; other < 2; other++) {
    const char *const name = other ? "matrix" : "values";

    for (int method = BAI_METHOD_KRYLOV; method <= BAI_METHOD_RELAXATION; method++) {
      if (Case("not_assembled_%s_%s", name, BAIMethods[method]))
        PetscCall(NotAssembled(A, (BAIMethod)method, (PetscBool)other));
    }
  }
  for (size_t d = 0; d < PETSC_STATIC_ARRAY_LENGTH(diagonals); d++) {
    if (Case("diagonal_%s", diagonals[d].name))
      PetscCall(Diagonal(diagonals[d].missing, diagonals[d].zero, diagonals[d].named));
  }
  if (Case("diagonal_tiny")) PetscCall(TinyDiagonal());
  if (Case("diagonal_one_pc")) PetscCall(Unit(PETSC_TRUE));
  if (Case("diagonal_one_ksp")) PetscCall(Unit(PETSC_FALSE));
  if (Case("apply_after_error_bai")) PetscCall(ApplyAfterError(A, PCBAI));
  if (Case("apply_after_error_baimg")) PetscCall(ApplyAfterError(A, PCBAIMG));
  if (Case("counts")) PetscCall(Counts(A));
  if (Case("sweeps_of_cycle")) PetscCall(SweepsOfCycle(A));
  if (Case("backend")) PetscCall(Backend(A));
  if (Case("sizes")) PetscCall(Sizes(A));
  if (Case("late_eisenstat")) PetscCall(LateEisenstat(A));
  PetscCall(MatDestroy(&A));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    args: -malloc_dump 0
    timeoutfactor: 4

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
