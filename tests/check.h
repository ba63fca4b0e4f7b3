/* What the tests share: named cases, one way to report what does not hold, and what KSP_CONVERGED_RTOL promises */
#ifndef BAI_TESTS_CHECK_H
#define BAI_TESTS_CHECK_H

#include <petscbai.h>
#include "baicompat.h"
#include "option.h"
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
   A program is a row of named cases:

     PetscCall(CheckInitialize(&argc, &argv, help));
     if (Case("symmetric_%s", matrix)) PetscCall(TestSymmetric(A));
     ...
     PetscCall(CheckFinalize());

   and what a case asserts is Expect(condition, format, ...), called by all ranks. All cases run, or those of -case
   NAME[,NAME]: NAME is a case's, or what it begins with up to an underscore, or a pattern of the shell. Nothing is
   printed while all is well
*/
static struct {
  int       argc;
  char    **argv;
  char      wanted[256];   /* of -case; empty: all cases */
  unsigned  found;         /* which of the names wanted have met a case, a bit each */
  char      name[128];     /* of the case that runs */
  PetscBool failed;        /* it has failed */
  char      known[131072]; /* names of all cases, a line each */
  size_t    known_length;
} check;

static inline PetscErrorCode CheckInitialize(int *argc, char ***argv, const char help[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(argc, argv, NULL, help));
  PetscCall(BAIInitializePackage());
  check.argc = *argc;
  check.argv = *argv;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-case", check.wanted, sizeof(check.wanted), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether to run the case of this name, which begins here */
__attribute__((format(printf, 1, 2))) static inline PetscBool Case(const char format[], ...)
{
  va_list   list;
  PetscBool is = PETSC_FALSE;
  char      wanted[sizeof(check.wanted)], *rest = wanted;

  va_start(list, format);
  (void)vsnprintf(check.name, sizeof(check.name), format, list);
  va_end(list);
  check.failed = PETSC_FALSE;
  check.known_length += (size_t)snprintf(check.known + check.known_length, sizeof(check.known) - check.known_length,
                                         "  %s\n", check.name);
  if (check.known_length >= sizeof(check.known)) check.known_length = sizeof(check.known) - 1;
  if (!check.wanted[0]) return PETSC_TRUE;
  memcpy(wanted, check.wanted, sizeof(wanted));
  for (unsigned bit = 1; rest; bit <<= 1) {
    char  *name   = strsep(&rest, ",");
    size_t length = strlen(name);

    if (fnmatch(name, check.name, 0) && (strncmp(name, check.name, length) || check.name[length] != '_')) continue;
    check.found |= bit;
    is = PETSC_TRUE;
  }
  return is;
}

/* How to run this case again, in one line */
static inline PetscErrorCode CheckPrintCommand(void)
{
  const char *threads = getenv("OMP_NUM_THREADS");
  char        program[PATH_MAX];
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  again: %s%s mpiexec -n %d %s", threads ? "OMP_NUM_THREADS=" : "",
                        threads ? threads : "", size, realpath(check.argv[0], program) ? program : check.argv[0]));
  for (int k = 1; k < check.argc; k++) {
    if (!strcmp(check.argv[k], "-case")) k++;
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s", check.argv[k]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " -case %s\n", check.name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

__attribute__((format(printf, 2, 3))) static inline PetscErrorCode CheckExpect(PetscBool right, const char format[],
                                                                               ...)
{
  va_list list;
  int     mine = right, all;
  char    text[1024];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, PETSC_COMM_WORLD));
  if (all) PetscFunctionReturn(PETSC_SUCCESS);
  va_start(list, format);
  (void)vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Not so: %s: %s\n", check.name, text));
  if (!check.failed) PetscCall(CheckPrintCommand());
  check.failed = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#define Expect(condition, ...) CheckExpect((PetscBool)(condition), __VA_ARGS__)

/* The same for what is found with some matrix or option in a mode */
static inline PetscErrorCode ExpectMode(PetscBool right, const char what[], const char with[], BAIMode mode,
                                        double found)
{
  PetscFunctionBeginUser;
  PetscCall(Expect(right, "%s, %s, mode %s: %g", what, with, BAIModes[mode], found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It is an error if -case has named what is no case */
static inline PetscErrorCode CheckFinalize(void)
{
  char        wanted[sizeof(check.wanted)], *rest = wanted;
  unsigned    bit = 1;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  memcpy(wanted, check.wanted, sizeof(wanted));
  for (; wanted[0] && rest; bit <<= 1) {
    char *name = strsep(&rest, ",");

    if (!(check.found & bit) && rank == 0) (void)fprintf(stderr, "The cases are:\n%s", check.known);
    PetscCheck(check.found & bit, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-case %s: there is no such case", name);
  }
  PetscCall(PetscFinalize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver and a preconditioner of a type for this matrix; and vectors for it, of which b is 1 */
static inline PetscErrorCode NewKSP(Mat A, KSPType type, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode NewPC(Mat A, PCType type, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetType(*pc, type));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode NewSystem(Mat A, Vec *x, Vec *b)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, x, b));
  PetscCall(VecSet(*b, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a solve ended within its rtol, by a residual norm that is the one of its solution. The norm is held against
   the tolerance as it is; against ||b - A x|| with what rounding may do, as both sum the products of a row in an order
   of their own
*/
static inline PetscErrorCode IsConverged(KSP ksp, PetscReal *rnorm, PetscBool *is)
{
  Mat                A;
  Vec                b, x, r;
  PetscReal          rtol, anorm, bnorm, xnorm, norm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  *is = PETSC_FALSE;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(KSPGetResidualNorm(ksp, rnorm));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(KSPGetSolution(ksp, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecDestroy(&r));
  PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
  PetscCall(VecNorm(x, NORM_2, &xnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *is = (PetscBool)(reason > 0 && *rnorm <= (1 + 100 * PETSC_MACHINE_EPSILON) * rtol * bnorm &&
                    PetscAbsReal(*rnorm - norm) <= 10 * PETSC_MACHINE_EPSILON * (anorm * xnorm + bnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| */
static inline PetscErrorCode TrueResidualNorm(Mat A, Vec b, Vec x, PetscReal *norm)
{
  Vec r;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, norm));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same by the host, entry by entry, without a product of PETSc; on one rank */
static inline PetscErrorCode ResidualNormByEntries(Mat A, Vec b, Vec x, PetscReal *norm)
{
  const PetscScalar *from, *right;
  PetscReal          sum = 0;
  PetscInt           rows;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &rows, NULL));
  PetscCall(VecGetArrayRead(b, &right));
  PetscCall(VecGetArrayRead(x, &from));
  for (PetscInt row = 0; row < rows; row++) {
    const PetscInt    *col;
    const PetscScalar *a;
    PetscInt           n;
    PetscScalar        r = right[row];

    PetscCall(MatGetRow(A, row, &n, &col, &a));
    for (PetscInt k = 0; k < n; k++) r -= a[k] * from[col[k]];
    PetscCall(MatRestoreRow(A, row, &n, &col, &a));
    sum += PetscRealPart(r * PetscConj(r));
  }
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscCall(VecRestoreArrayRead(b, &right));
  *norm = PetscSqrtReal(sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the detailed view of a KSP or PC prints, on all of its ranks */
static inline PetscErrorCode ViewText(PetscObject obj, size_t length, char text[])
{
  PetscMPIInt rank;
  PetscViewer viewer;
  FILE       *file = NULL;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm(obj), &rank));
  if (rank == 0) file = tmpfile();
  PetscCall(PetscViewerASCIIOpenWithFILE(PetscObjectComm(obj), file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO_DETAIL));
  PetscCall(PetscObjectView(obj, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (rank == 0) {
    rewind(file);
    text[fread(text, 1, length - 1, file)] = 0;
    fclose(file);
  }
  PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)length, MPI_CHAR, 0, PetscObjectComm(obj)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ViewHas(PetscObject obj, const char words[], PetscBool *has)
{
  char text[10000], *found;

  PetscFunctionBeginUser;
  PetscCall(ViewText(obj, sizeof(text), text));
  PetscCall(PetscStrstr(text, words, &found));
  *has = (PetscBool)(found != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number that follows these words */
static inline PetscErrorCode ViewedNumber(PetscObject obj, const char words[], PetscReal *number)
{
  char text[10000], *found;

  PetscFunctionBeginUser;
  PetscCall(ViewText(obj, sizeof(text), text));
  PetscCall(PetscStrstr(text, words, &found));
  PetscCheck(found, PetscObjectComm(obj), PETSC_ERR_ARG_WRONG, "The view does not have: %s", words);
  *number = (PetscReal)strtod(found + strlen(words), NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error handler that keeps what its first call says */
static char check_said[512];

static inline PetscErrorCode CheckKeep(PETSC_UNUSED MPI_Comm comm, PETSC_UNUSED int line,
                                       PETSC_UNUSED const char *function, PETSC_UNUSED const char *file,
                                       PetscErrorCode code, PetscErrorType type, const char *text,
                                       PETSC_UNUSED void *ctx)
{
  if (type == PETSC_ERROR_INITIAL && !check_said[0] && text) (void)snprintf(check_said, sizeof(check_said), "%s", text);
  return code;
}

/* The error code of a call, which goes no further; check_said is what it says */
#define CheckCall(code, ...) \
  do { \
    check_said[0] = 0; \
    PetscCall(PetscPushErrorHandler(CheckKeep, NULL)); \
    code = __VA_ARGS__; \
    PetscCall(PetscPopErrorHandler()); \
  } while (0)

/* An error came, and its first message is this one on all ranks */
static inline PetscErrorCode CheckMessage(PetscErrorCode code, const char what[], const char expected[])
{
  PetscFunctionBeginUser;
  PetscCall(Expect(code != PETSC_SUCCESS, "%s: no error, not \"%s\"", what, expected));
  PetscCall(Expect(!strcmp(check_said, expected), "%s: \"%s\", not \"%s\"", what, check_said, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The call fails with this message, and says the same on all ranks; what is for the report */
#define ExpectError(expected, what, ...) \
  do { \
    PetscErrorCode code_; \
    CheckCall(code_, __VA_ARGS__); \
    PetscCall(CheckMessage(code_, what, expected)); \
  } while (0)

/* What KSPBAI and PCBAIMG, without a prefix, say of a zero or missing diagonal entry */
static inline PetscErrorCode ZeroDiagonalMessage(PetscInt row, PetscInt count, PetscInt rows, char text[], size_t size)
{
  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(
    text, size,
    "Row %" PetscInt_FMT " of the matrix has no diagonal entry, or it is zero: block-asynchronous iteration "
    "divides by it. Such rows: %" PetscInt_FMT " of %" PetscInt_FMT ". If these are constraints, as "
    "of the pressure in a flow, use PCFIELDSPLIT, with this solver for the other unknowns: -ksp_type gmres "
    "-pc_type fieldsplit -pc_fieldsplit_type schur -pc_fieldsplit_detect_saddle_point -fieldsplit_0_pc_type "
    "baimg. Otherwise use a direct solver: -pc_type lu",
    row, count, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What all types say of a matrix of another type */
static inline PetscErrorCode MatTypeMessage(MatType type, char text[], size_t size)
{
  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(text, size,
                          "Matrix type %s: block-asynchronous iteration needs the entries of a matrix of type aij, "
                          "aijcusparse, baij or sbaij; see MatConvert() and -mat_type. Krylov methods of KSPBAI take "
                          "any Amat",
                          type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif
