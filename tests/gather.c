static char help[] = "Gathered rows: a solver or preconditioner on several ranks gives what it gives on one, and looks "
                     "the same to its users.\n\n";

#include "check.h"
#include "gallery.h"
#include <math.h>
#include <petscdmda.h>

/* The ends of each rank's rows, a row or a block of rows being what the layout counts */
typedef enum {
  LAYOUT_EVEN,
  LAYOUT_FIRST, /* the first rank has all rows but one for each other rank */
  LAYOUT_LAST,  /* the last rank has all rows */
  LAYOUT_NUMBER
} Layout;

static const char *const layouts[] = {"even", "first", "last"};

static PetscInt LocalSize(Layout layout, PetscInt n, PetscMPIInt rank, PetscMPIInt size)
{
  if (layout == LAYOUT_FIRST && n >= size) return rank ? 1 : n - size + 1;
  if (layout == LAYOUT_LAST) return rank == size - 1 ? n : 0;
  return n / size + (n % size > rank);
}

/* The matrix of one rank on all ranks; or new values of it */
static PetscErrorCode Fill(Mat one, Mat A)
{
  PetscInt           first, last, n;
  const PetscInt    *cols;
  const PetscScalar *values;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    PetscCall(MatGetRow(one, row, &n, &cols, &values));
    PetscCall(MatSetValues(A, 1, &row, n, cols, values, INSERT_VALUES));
    PetscCall(MatRestoreRow(one, row, &n, &cols, &values));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Distribute(Mat one, Layout layout, Mat *A)
{
  PetscInt    N, bs, m;
  PetscMPIInt rank, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetSize(one, &N, NULL));
  PetscCall(MatGetBlockSize(one, &bs));
  m = bs * LocalSize(layout, N / bs, rank, size);
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m, m, N, N));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 40, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 40, NULL, 40, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Fill(one, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same numbers on any number of ranks */
static PetscErrorCode SetVec(Vec v, PetscReal phase)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(v, &first, &last));
  for (PetscInt i = first; i < last; i++)
    PetscCall(VecSetValue(v, i, 1.0 + 0.5 * PetscSinReal(phase + (PetscReal)i), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(v));
  PetscCall(VecAssemblyEnd(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bits of this rank's part of x are those of the vector of one rank; its entries are numbered[i], or i */
static PetscErrorCode SameBits(Vec x, Vec one, const PetscInt numbered[], PetscBool *same)
{
  const PetscScalar *xx, *yy;
  PetscInt           first, last;
  int                mine = 1, all;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayRead(x, &xx));
  PetscCall(VecGetArrayRead(one, &yy));
  for (PetscInt i = first; i < last; i++) mine = mine && xx[i - first] == yy[numbered ? numbered[i - first] : i];
  PetscCall(VecRestoreArrayRead(x, &xx));
  PetscCall(VecRestoreArrayRead(one, &yy));
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  *same = (PetscBool)all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver on all ranks that gathers them on one, and its twin on one rank */
typedef struct {
  Mat A, one;
  KSP ksp, ksp_one;
  Vec b, x, b_one, x_one;
} Twins;

static PetscErrorCode CreateKSP(MPI_Comm comm, Mat A, BAIMode mode, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(comm, ksp));
  PetscCall(KSPSetType(*ksp, KSPBAI));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 3000));
  PetscCall(KSPBAISetGather(*ksp, BAI_GATHER_ONE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPBAISetMode(*ksp, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetVecs(Twins *t)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(t->A, &t->x, &t->b));
  PetscCall(MatCreateVecs(t->one, &t->x_one, &t->b_one));
  PetscCall(SetVec(t->b, 0));
  PetscCall(SetVec(t->b_one, 0));
  PetscCall(SetVec(t->x, 1));
  PetscCall(SetVec(t->x_one, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the matrix of one rank */
static PetscErrorCode CreateTwins(Mat one, Layout layout, BAIMode mode, Twins *t)
{
  PetscFunctionBeginUser;
  t->one = one;
  PetscCall(Distribute(one, layout, &t->A));
  PetscCall(CreateKSP(PETSC_COMM_WORLD, t->A, mode, &t->ksp));
  PetscCall(CreateKSP(PETSC_COMM_SELF, t->one, mode, &t->ksp_one));
  PetscCall(SetVecs(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyTwins(Twins *t)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&t->A));
  PetscCall(MatDestroy(&t->one));
  PetscCall(KSPDestroy(&t->ksp));
  PetscCall(KSPDestroy(&t->ksp_one));
  PetscCall(VecDestroy(&t->b));
  PetscCall(VecDestroy(&t->x));
  PetscCall(VecDestroy(&t->b_one));
  PetscCall(VecDestroy(&t->x_one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations, reason and residual norm are the same, and the bits of x */
static PetscErrorCode Compare(Twins *t, const PetscInt numbered[], const char when[])
{
  KSPConvergedReason reason, reason_one;
  PetscInt           its, its_one;
  PetscReal          rnorm, rnorm_one;
  PetscBool          same;

  PetscFunctionBeginUser;
  PetscCall(KSPGetConvergedReason(t->ksp, &reason));
  PetscCall(KSPGetConvergedReason(t->ksp_one, &reason_one));
  PetscCall(KSPGetIterationNumber(t->ksp, &its));
  PetscCall(KSPGetIterationNumber(t->ksp_one, &its_one));
  PetscCall(KSPGetResidualNorm(t->ksp, &rnorm));
  PetscCall(KSPGetResidualNorm(t->ksp_one, &rnorm_one));
  PetscCall(Expect(reason == reason_one, "%s: %s, on one rank %s", when, KSPConvergedReasons[reason],
                   KSPConvergedReasons[reason_one]));
  PetscCall(Expect(its == its_one, "%s: %" PetscInt_FMT " iterations, on one rank %" PetscInt_FMT, when, its, its_one));
  PetscCall(Expect(rnorm == rnorm_one, "%s: residual norm %g, on one rank %g", when, (double)rnorm, (double)rnorm_one));
  PetscCall(SameBits(t->x, t->x_one, numbered, &same));
  PetscCall(Expect(same, "%s: not the bits of one rank", when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveBoth(Twins *t, const char when[])
{
  PetscFunctionBeginUser;
  PetscCall(KSPSolve(t->ksp, t->b, t->x));
  PetscCall(KSPSolve(t->ksp_one, t->b_one, t->x_one));
  PetscCall(Compare(t, NULL, when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b and x go as -by says, through memory that ranks share unless MPI is asked for; without -by in either way */
static PetscErrorCode ExpectWay(KSP ksp)
{
  char        by[64] = "";
  PetscBool   shared, mpi;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-by", by, sizeof(by), NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ViewHas((PetscObject)ksp, "b and x of gathered rows go by memory that the ranks share", &shared));
  PetscCall(ViewHas((PetscObject)ksp, "b and x of gathered rows go by MPI", &mpi));
  PetscCall(Expect((shared || mpi) == (size > 1) && !(shared && mpi), "the view says how b and x go"));
  if (by[0] && size > 1)
    PetscCall(Expect(shared == !strcmp(by, "memory") && mpi == !strcmp(by, "mpi"), "b and x go by %s", by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From zero, from a guess, and with what may be changed between solves */
static PetscErrorCode Solves(const char matrix[], PetscInt n, Layout layout, BAIMode mode)
{
  Twins       t;
  Mat         one;
  PetscBool   has;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, matrix, n, &one));
  PetscCall(CreateTwins(one, layout, mode, &t));
  PetscCall(SolveBoth(&t, "first solve"));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ViewHas((PetscObject)t.ksp, "gather one: 1 of ", &has));
  PetscCall(Expect(has == (size > 1), "the view says who works"));
  PetscCall(ExpectWay(t.ksp));
  PetscCall(KSPSetInitialGuessNonzero(t.ksp, PETSC_TRUE));
  PetscCall(KSPSetInitialGuessNonzero(t.ksp_one, PETSC_TRUE));
  PetscCall(KSPSetTolerances(t.ksp, 1e-30, 1e-300, PETSC_DEFAULT, 7));
  PetscCall(KSPSetTolerances(t.ksp_one, 1e-30, 1e-300, PETSC_DEFAULT, 7));
  PetscCall(SetVec(t.x, 2));
  PetscCall(SetVec(t.x_one, 2));
  PetscCall(SolveBoth(&t, "7 iterations from a guess"));
  PetscCall(KSPSetNormType(t.ksp, KSP_NORM_NONE));
  PetscCall(KSPSetNormType(t.ksp_one, KSP_NORM_NONE));
  PetscCall(SolveBoth(&t, "7 more without norms"));
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In modes whose results differ from run to run */
static PetscErrorCode Converges(BAIMode mode)
{
  Twins     t;
  Mat       one;
  PetscReal rnorm;
  PetscBool is;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "fv3", 20, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, mode, &t));
  PetscCall(KSPSolve(t.ksp, t.b, t.x));
  PetscCall(IsConverged(t.ksp, &rnorm, &is));
  PetscCall(Expect(is, "residual norm %g", (double)rnorm));
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, another pattern, other options, reset, another matrix, and back to working on all ranks */
static PetscErrorCode Changes(void)
{
  Twins     t;
  Mat       one;
  PetscReal rnorm;
  PetscBool is, has;
  PetscInt  updates, row = 3, col = 9;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "fv1", 20, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, BAI_MODE_SYNC, &t));
  PetscCall(SolveBoth(&t, "as it was"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatShift(t.A, 0.5));
    PetscCall(MatShift(t.one, 0.5));
    PetscCall(SolveBoth(&t, "new values"));
  }
  PetscCall(ViewedNumber((PetscObject)t.ksp, "value updates ", &rnorm));
  updates = (PetscInt)rnorm;
  PetscCall(Expect(updates == 2, "%" PetscInt_FMT " value updates", updates));
  PetscCall(MatSetOption(t.A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(t.one, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(t.one, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(t.one, row, col, -0.25, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(t.one, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(t.one, MAT_FINAL_ASSEMBLY));
  PetscCall(Fill(t.one, t.A));
  PetscCall(SolveBoth(&t, "another pattern"));
  PetscCall(KSPBAISetLocalIters(t.ksp, 2));
  PetscCall(KSPBAISetLocalIters(t.ksp_one, 2));
  PetscCall(SolveBoth(&t, "other options"));
  PetscCall(KSPReset(t.ksp));
  PetscCall(KSPReset(t.ksp_one));
  PetscCall(KSPSetOperators(t.ksp, t.A, t.A));
  PetscCall(KSPSetOperators(t.ksp_one, t.one, t.one));
  PetscCall(SolveBoth(&t, "after KSPReset()"));
  PetscCall(KSPBAISetGather(t.ksp, BAI_GATHER_NONE));
  PetscCall(KSPSolve(t.ksp, t.b, t.x));
  PetscCall(IsConverged(t.ksp, &rnorm, &is));
  PetscCall(ViewHas((PetscObject)t.ksp, "gather", &has));
  PetscCall(Expect(is && !has, "all ranks work again"));
  PetscCall(KSPBAISetGather(t.ksp, BAI_GATHER_ONE));
  PetscCall(SolveBoth(&t, "and one alone"));
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  MAX_NORMS = 2000
};

/* What somebody saw of a solve */
typedef struct {
  PetscInt  calls;
  PetscReal norms[MAX_NORMS];
  PetscInt  limit; /* monitor: sets max_it to that; convergence test: stops there; 0: nothing */
  PetscInt  fail;  /* monitor: the call in which it fails, from 1 on */
} Record;

static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  Record   *record = (Record *)ctx;
  Vec       r, b;
  PetscReal norm_r, bnorm;

  PetscFunctionBeginUser;
  PetscCheck(record->calls < MAX_NORMS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Called too often");
  record->norms[record->calls++] = norm;
  PetscCheck(record->calls != record->fail, PetscObjectComm((PetscObject)ksp), PETSC_ERR_USER,
             "This monitor does not like iteration %" PetscInt_FMT, it);
  if (record->limit) PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, record->limit));
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
  PetscCall(VecNorm(r, NORM_2, &norm_r));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecDestroy(&r));
  PetscCheck(PetscAbsReal(norm - norm_r) <= 1e3 * PETSC_MACHINE_EPSILON * bnorm, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Residual norm %g, not %g", (double)norm_r, (double)norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, void *ctx)
{
  Record *record = (Record *)ctx;

  PetscFunctionBeginUser;
  (void)ksp;
  record->norms[record->calls++] = norm;
  *reason                        = it >= record->limit ? KSP_CONVERGED_HAPPY_BREAKDOWN : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SameRecords(const Record *all, const Record *one, const char what[])
{
  PetscBool same = (PetscBool)(all->calls == one->calls && all->calls > 0);

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < all->calls && same; k++) same = (PetscBool)(all->norms[k] == one->norms[k]);
  PetscCall(Expect(same, "%s: %" PetscInt_FMT " norms, on one rank %" PetscInt_FMT, what, all->calls, one->calls));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks see of each norm what one rank sees alone */
static PetscErrorCode Watched(const char matrix[], PetscInt n, PetscInt interval)
{
  static Record    all, one;
  const PetscReal *history, *history_one;
  PetscInt         length, length_one;
  Twins            t;
  Mat              A;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, matrix, n, &A));
  PetscCall(CreateTwins(A, LAYOUT_EVEN, BAI_MODE_SYNC, &t));
  PetscCall(KSPBAISetCheckInterval(t.ksp, interval));
  PetscCall(KSPBAISetCheckInterval(t.ksp_one, interval));
  PetscCall(KSPSetResidualHistory(t.ksp, NULL, MAX_NORMS, PETSC_TRUE));
  PetscCall(KSPSetResidualHistory(t.ksp_one, NULL, MAX_NORMS, PETSC_TRUE));
  PetscCall(SolveBoth(&t, "with a history"));
  PetscCall(KSPGetResidualHistory(t.ksp, &history, &length));
  PetscCall(KSPGetResidualHistory(t.ksp_one, &history_one, &length_one));
  PetscCall(
    Expect(length == length_one && length > 1 && !memcmp(history, history_one, (size_t)length * sizeof(*history)),
           "the history is that of one rank"));
  all = one = (Record){.calls = 0};
  PetscCall(KSPMonitorSet(t.ksp, Monitor, &all, NULL));
  PetscCall(KSPMonitorSet(t.ksp_one, Monitor, &one, NULL));
  PetscCall(SolveBoth(&t, "with a monitor"));
  PetscCall(SameRecords(&all, &one, "monitor"));
  all = one = (Record){.limit = 5};
  PetscCall(SolveBoth(&t, "with a monitor that sets max_it"));
  PetscCall(SameRecords(&all, &one, "monitor that sets max_it"));
  PetscCall(KSPMonitorCancel(t.ksp));
  PetscCall(KSPMonitorCancel(t.ksp_one));
  PetscCall(KSPSetTolerances(t.ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 3000));
  PetscCall(KSPSetTolerances(t.ksp_one, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 3000));
  PetscCall(KSPSetConvergenceTest(t.ksp, Test, &all, NULL));
  PetscCall(KSPSetConvergenceTest(t.ksp_one, Test, &one, NULL));
  all = one = (Record){.limit = 4};
  PetscCall(SolveBoth(&t, "with a convergence test"));
  PetscCall(SameRecords(&all, &one, "convergence test"));
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors are those of all ranks, in the same words, and a solver works on after them */
static PetscErrorCode Errors(void)
{
  Twins    t;
  Mat      one;
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "fv1", 12, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, BAI_MODE_SYNC, &t));
  PetscCall(MatGetSize(one, &n, NULL));
  for (PetscInt row = n - 2; row > 0; row = row > 5 ? 5 : 0) { /* on the last rank, and on the first */
    char      expected[256];
    PetscBool mine;
    PetscInt  first, last;

    PetscCall(MatGetOwnershipRange(t.A, &first, &last));
    mine = (PetscBool)(row >= first && row < last);
    if (mine) PetscCall(MatSetValue(t.A, row, row, 0.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(t.A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(t.A, MAT_FINAL_ASSEMBLY));
    PetscCall(
      PetscSNPrintf(expected, sizeof(expected),
                    "Row %" PetscInt_FMT
                    " of the matrix has no diagonal entry, or it is zero: block-asynchronous iteration divides by it",
                    row));
    for (int k = 0; k < 2; k++) {
      PetscCall(KSPSetOperators(t.ksp, t.A, t.A));
      ExpectError(expected, "a zero on the diagonal", KSPSetUp(t.ksp));
    }
    PetscCall(Fill(t.one, t.A));
    PetscCall(SolveBoth(&t, "without it"));
  }
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After which, too; PETSc lets a solver fail once or twice while it solves */
static PetscErrorCode ErrorsOfSolves(void)
{
  Record         record = {.fail = 2};
  Twins          t;
  Mat            one;
  Vec            nan;
  PetscErrorCode code;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "fv1", 12, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, BAI_MODE_SYNC, &t));
  PetscCall(KSPMonitorSet(t.ksp, Monitor, &record, NULL));
  ExpectError("This monitor does not like iteration 1", "a monitor that fails", KSPSolve(t.ksp, t.b, t.x));
  PetscCall(KSPMonitorCancel(t.ksp));
  PetscCall(SolveBoth(&t, "without it"));
  PetscCall(DestroyTwins(&t));
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "fv1", 12, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, BAI_MODE_SYNC, &t));
  PetscCall(KSPSetErrorIfNotConverged(t.ksp, PETSC_TRUE));
  PetscCall(VecDuplicate(t.b, &nan));
  PetscCall(VecSet(nan, (PetscScalar)NAN));
  CheckCall(code, KSPSolve(t.ksp, nan, t.x));
  PetscCall(
    Expect(code == PETSC_ERR_NOT_CONVERGED, "a right-hand side of no numbers is an error on all ranks: %d", (int)code));
  PetscCall(VecDestroy(&nan));
  PetscCall(KSPSetErrorIfNotConverged(t.ksp, PETSC_FALSE));
  PetscCall(SolveBoth(&t, "with numbers"));
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A(i,j) = -1 between neighbours of a grid, so that constants are in the null space */
static PetscErrorCode Neumann(PetscInt n, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n * n, n * n, 5, NULL, A));
  for (PetscInt i = 0; i < n * n; i++) {
    const PetscInt x = i % n, y = i / n,
                   near[] = {x ? i - 1 : -1, x < n - 1 ? i + 1 : -1, y ? i - n : -1, y < n - 1 ? i + n : -1};
    PetscInt count        = 0;

    for (int k = 0; k < 4; k++) {
      if (near[k] < 0) continue;
      PetscCall(MatSetValue(*A, i, near[k], -1.0, INSERT_VALUES));
      count++;
    }
    PetscCall(MatSetValue(*A, i, i, (PetscScalar)count, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A null space of constants, given as such or as a vector */
static PetscErrorCode SetNullSpace(Mat A, PetscBool vector)
{
  MatNullSpace nullspace;
  Vec          v;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(VecSet(v, 1.0));
  PetscCall(VecNormalize(v, NULL));
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), (PetscBool)!vector, vector ? 1 : 0, vector ? &v : NULL,
                               &nullspace));
  PetscCall(MatSetNullSpace(A, nullspace));
  PetscCall(MatNullSpaceDestroy(&nullspace));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x has no part in the null space, whose vectors are gathered; sums of x come in another order, so it is not for the
 * bits */
static PetscErrorCode NullSpace(PetscBool vector)
{
  Twins              t;
  Mat                one;
  PetscScalar        sum;
  PetscReal          xnorm, rnorm, bnorm;
  KSPConvergedReason reason;
  PetscInt           N;

  PetscFunctionBeginUser;
  PetscCall(Neumann(12, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, BAI_MODE_COLOR, &t));
  PetscCall(SetNullSpace(t.A, vector));
  PetscCall(SetNullSpace(t.one, vector));
  PetscCall(VecGetSize(t.b, &N));
  PetscCall(VecSum(t.b, &sum));
  PetscCall(VecShift(t.b, -sum / (PetscReal)N));
  PetscCall(KSPSolve(t.ksp, t.b, t.x));
  PetscCall(KSPGetConvergedReason(t.ksp, &reason));
  PetscCall(TrueResidualNorm(t.A, t.b, t.x, &rnorm));
  PetscCall(VecNorm(t.b, NORM_2, &bnorm));
  PetscCall(VecNorm(t.x, NORM_2, &xnorm));
  PetscCall(VecSum(t.x, &sum));
  PetscCall(Expect(reason > 0 && rnorm <= (PetscDefined(USE_REAL_SINGLE) ? 1.1e-4 : 1.1e-9) * bnorm,
                   "%s, residual norm %g", KSPConvergedReasons[reason], (double)rnorm));
  PetscCall(Expect(PetscAbsScalar(sum) <= 1e4 * PETSC_MACHINE_EPSILON * xnorm, "the null space has %g of %g",
                   (double)PetscAbsScalar(sum), (double)xnorm));
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The user's function that removes a null space takes vectors of all ranks: so nothing can be gathered */
static PetscErrorCode RemoveMean(MatNullSpace nullspace, Vec x, void *ctx)
{
  PetscScalar sum;
  PetscInt    n;

  PetscFunctionBeginUser;
  (void)nullspace;
  (void)ctx;
  PetscCall(VecSum(x, &sum));
  PetscCall(VecGetSize(x, &n));
  PetscCall(VecShift(x, -sum / (PetscReal)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NullSpaceFunction(void)
{
  Twins        t;
  Mat          one;
  MatNullSpace nullspace;
  PetscMPIInt  size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Neumann(12, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, BAI_MODE_COLOR, &t));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 0, NULL, &nullspace));
  PetscCall(MatNullSpaceSetFunction(nullspace, RemoveMean, NULL));
  PetscCall(MatSetNullSpace(t.A, nullspace));
  PetscCall(MatNullSpaceDestroy(&nullspace));
  if (size > 1)
    ExpectError("-ksp_bai_gather one with a null space of MatNullSpaceSetFunction(): must be none, or auto",
                "a function", KSPSolve(t.ksp, t.b, t.x));
  PetscCall(KSPBAISetGather(t.ksp, BAI_GATHER_AUTO));
  PetscCall(KSPSolve(t.ksp, t.b, t.x));
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A Laplacian, without symmetry, on a grid */
static PetscErrorCode FillGrid(DM da, Mat A)
{
  PetscInt x, y, m, n, M, N, dof;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &x, &y, NULL, &m, &n, NULL));
  PetscCall(DMDAGetInfo(da, NULL, &M, &N, NULL, NULL, NULL, NULL, &dof, NULL, NULL, NULL, NULL, NULL));
  for (PetscInt j = y; j < y + n; j++) {
    for (PetscInt i = x; i < x + m; i++) {
      for (PetscInt c = 0; c < dof; c++) {
        const MatStencil row   = {.i = i, .j = j, .c = c};
        const MatStencil col[] = {
          row,
          {.i = i - 1, .j = j,     .c = c},
          {.i = i + 1, .j = j,     .c = c},
          {.i = i,     .j = j - 1, .c = c},
          {.i = i,     .j = j + 1, .c = c}
        };
        const PetscScalar value[5] = {4.2 + 0.01 * (PetscReal)i + (PetscReal)c, -1.0, -1.1, -0.9, -1.0};

        for (int k = 0; k < 5; k++) {
          if (col[k].i >= 0 && col[k].i < M && col[k].j >= 0 && col[k].j < N)
            PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col[k], &value[k], INSERT_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank takes a grid in its natural order, whose rows the ranks have in another */
static PetscErrorCode Grid(PetscInt dof, BAIPartitionType partition, PetscBool zero)
{
  const MPI_Comm comms[] = {PETSC_COMM_WORLD, PETSC_COMM_SELF};
  Twins          t;
  DM             da[2];
  AO             ao;
  PetscInt       first, last, *numbered;
  PetscBool      has;
  PetscMPIInt    size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int k = 0; k < 2; k++) {
    Mat A;
    KSP ksp;

    PetscCall(DMDACreate2d(comms[k], DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 19, 17, k ? 1 : size, 1,
                           dof, 1, NULL, NULL, &da[k]));
    PetscCall(DMSetFromOptions(da[k]));
    PetscCall(DMSetUp(da[k]));
    PetscCall(DMCreateMatrix(da[k], &A));
    PetscCall(FillGrid(da[k], A));
    PetscCall(CreateKSP(comms[k], A, BAI_MODE_SYNC, &ksp));
    PetscCall(KSPSetDM(ksp, da[k]));
    PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
    PetscCall(KSPBAISetPartition(ksp, partition));
    *(k ? &t.one : &t.A)       = A;
    *(k ? &t.ksp_one : &t.ksp) = ksp;
  }
  PetscCall(SetVecs(&t));
  PetscCall(VecGetOwnershipRange(t.x, &first, &last));
  PetscCall(PetscMalloc1(last - first + 1, &numbered));
  for (PetscInt i = first; i < last; i++) numbered[i - first] = i;
  PetscCall(DMDAGetAO(da[0], &ao));
  PetscCall(AOPetscToApplication(ao, last - first, numbered));
  for (PetscInt i = first; i < last; i++)
    PetscCall(VecSetValue(t.b, i, 1.0 + 0.5 * PetscSinReal((PetscReal)numbered[i - first]), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(t.b));
  PetscCall(VecAssemblyEnd(t.b));
  if (zero) {
    const PetscInt row = 12 * dof; /* of the second line on several ranks, whose boxes are narrower than that */
    char           expected[256];

    PetscCall(
      PetscSNPrintf(expected, sizeof(expected),
                    "Row %" PetscInt_FMT
                    " of the matrix has no diagonal entry, or it is zero: block-asynchronous iteration divides by it",
                    row));
    if (row >= first && row < last) PetscCall(MatSetValue(t.A, row, row, 0.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(t.A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(t.A, MAT_FINAL_ASSEMBLY));
    ExpectError(expected, "a zero on the diagonal", KSPSolve(t.ksp, t.b, t.x));
  } else {
    PetscCall(KSPSolve(t.ksp, t.b, t.x));
    PetscCall(KSPSolve(t.ksp_one, t.b_one, t.x_one));
    PetscCall(Compare(&t, numbered, BAIPartitionTypes[partition]));
    PetscCall(ViewHas((PetscObject)t.ksp, "in the natural order of the grid", &has));
    PetscCall(Expect(has == (size > 1), "the view says in which order"));
  }
  PetscCall(PetscFree(numbered));
  PetscCall(DMDestroy(&da[0]));
  PetscCall(DMDestroy(&da[1]));
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(MPI_Comm comm, Mat A, BAIMode mode, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(comm, pc));
  PetscCall(PCSetType(*pc, PCBAI));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCBAISetGather(*pc, BAI_GATHER_ONE));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCBAISetMode(*pc, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCBAI applied, as a smoother, and after errors */
static PetscErrorCode Preconditioner(Layout layout, BAIMode mode)
{
  PCRichardsonConvergedReason reason;
  Twins                       t;
  Mat                         one;
  PC                          pc, pc_one;
  PetscBool                   same;
  PetscInt                    its;
  PetscErrorCode              code;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "laplace2d", 24, &one));
  PetscCall(CreateTwins(one, layout, mode, &t));
  PetscCall(CreatePC(PETSC_COMM_WORLD, t.A, mode, &pc));
  PetscCall(CreatePC(PETSC_COMM_SELF, t.one, mode, &pc_one));
  for (int k = 0; k < 3; k++) {
    if (k == 1) {
      PetscCall(MatShift(t.A, 0.5));
      PetscCall(MatShift(t.one, 0.5));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSetUp(pc_one));
    }
    if (k == 2) { /* seen by the next application */
      PetscCall(PCBAISetIterations(pc, 3));
      PetscCall(PCBAISetIterations(pc_one, 3));
    }
    PetscCall(PCApply(pc, t.b, t.x));
    PetscCall(PCApply(pc_one, t.b_one, t.x_one));
    PetscCall(SameBits(t.x, t.x_one, NULL, &same));
    PetscCall(Expect(same, "application %d has the bits of one rank", k));
    PetscCall(PCApplyRichardson(pc, t.b, t.x, NULL, 0, 0, 0, 2, PETSC_FALSE, &its, &reason));
    PetscCall(Expect(its == 2 && reason == PCRICHARDSON_CONVERGED_ITS, "two steps"));
    PetscCall(PCApplyRichardson(pc_one, t.b_one, t.x_one, NULL, 0, 0, 0, 2, PETSC_FALSE, &its, &reason));
    PetscCall(SameBits(t.x, t.x_one, NULL, &same));
    PetscCall(Expect(same, "smoothing %d has the bits of one rank", k));
    PetscCall(PCApplyRichardson(pc, t.b, t.x, NULL, 0, 0, 0, 1, PETSC_TRUE, &its, &reason));
    PetscCall(PCApplyRichardson(pc_one, t.b_one, t.x_one, NULL, 0, 0, 0, 1, PETSC_TRUE, &its, &reason));
    PetscCall(SameBits(t.x, t.x_one, NULL, &same));
    PetscCall(Expect(same, "smoothing %d from zero has the bits of one rank", k));
  }
  PetscCall(PCBAISetStaleness(pc, 1));
  CheckCall(code, PCApply(pc, t.b, t.x));
  PetscCall(Expect(code == PETSC_ERR_ARG_INCOMP, "options that do not go together are an error: %d", (int)code));
  PetscCall(PCBAISetStaleness(pc, -1));
  PetscCall(PCApply(pc, t.b, t.x));
  PetscCall(PCApply(pc_one, t.b_one, t.x_one));
  PetscCall(SameBits(t.x, t.x_one, NULL, &same));
  PetscCall(Expect(same, "after an error it has the bits of one rank"));
  PetscCall(PCDestroy(&pc));
  PetscCall(PCDestroy(&pc_one));
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whom auto and device choose: on the host all ranks work; ranks that share a GPU do not */
static PetscErrorCode Choice(BAIGatherType gather)
{
  Twins       t;
  Mat         one;
  PetscReal   rnorm;
  PetscBool   is, has, cuda;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "fv1", 20, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, BAI_MODE_SYNC, &t));
  PetscCall(KSPBAISetGather(t.ksp, gather));
  PetscCall(KSPSolve(t.ksp, t.b, t.x));
  PetscCall(IsConverged(t.ksp, &rnorm, &is));
  PetscCall(Expect(is, "residual norm %g", (double)rnorm));
  PetscCall(ViewHas((PetscObject)t.ksp, "backend cuda", &cuda));
  if (gather == BAI_GATHER_AUTO) {
    PetscCall(ViewHas((PetscObject)t.ksp, "gather auto: 1 of ", &has));
    PetscCall(Expect(has == (cuda && size > 1), "one rank works on a small system if there are GPUs"));
  } else {
    PetscCall(ViewHas((PetscObject)t.ksp, "gather device: all ranks work", &has));
    PetscCall(Expect(cuda || has == (size > 1), "on the host all ranks work"));
    PetscCall(ViewHas((PetscObject)t.ksp, "gather device: ", &has));
    PetscCall(Expect(has == (size > 1), "the view says who works"));
  }
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words and numbers of the option, for both faces */
static PetscErrorCode Options(void)
{
  KSP           ksp;
  PC            pc;
  BAIGatherType gather;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "foo_"));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "foo_"));
  PetscCall(PCSetType(pc, PCBAI));
  PetscCall(KSPBAIGetGather(ksp, &gather));
  PetscCall(Expect(gather == BAI_GATHER_AUTO, "the default is auto"));
  PetscCall(PCBAIGetGather(pc, &gather));
  PetscCall(Expect(gather == BAI_GATHER_AUTO, "the default is auto"));
  for (int k = 0; k < 4; k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-foo_ksp_bai_gather", BAIGatherTypes[k]));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(PetscOptionsClearValue(NULL, "-foo_ksp_bai_gather"));
    PetscCall(KSPBAIGetGather(ksp, &gather));
    PetscCall(Expect((int)gather == k, "-ksp_bai_gather %s", BAIGatherTypes[k]));
    PetscCall(PCBAISetGather(pc, (BAIGatherType)k));
    PetscCall(PCBAIGetGather(pc, &gather));
    PetscCall(Expect((int)gather == k, "PCBAISetGather(): %s", BAIGatherTypes[k]));
  }
  ExpectError("-foo_ksp_bai_gather 4: must be one of auto, none, device, one", "a wrong value",
              KSPBAISetGather(ksp, (BAIGatherType)4));
  ExpectError("-foo_pc_bai_gather -1: must be one of auto, none, device, one", "a wrong value",
              PCBAISetGather(pc, (BAIGatherType)-1));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    PetscInt    n;
  } matrices[] = {
    {"fv1",       20 },
    {"fv3",       30 },
    {"trefethen", 300},
    {"trefethen", 2  },
    {"mesh",      16 },
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  if (Case("options")) PetscCall(Options());
  for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(matrices); m++) {
      if (Case("solves_%s_%s_%" PetscInt_FMT, BAIModes[mode], matrices[m].name, matrices[m].n))
        PetscCall(Solves(matrices[m].name, matrices[m].n, LAYOUT_EVEN, (BAIMode)mode));
    }
    for (int layout = LAYOUT_FIRST; layout < LAYOUT_NUMBER; layout++) {
      if (Case("solves_%s_%s", BAIModes[mode], layouts[layout]))
        PetscCall(Solves("fv1", 16, (Layout)layout, (BAIMode)mode));
    }
    for (int layout = 0; layout < LAYOUT_NUMBER; layout++) {
      if (Case("pc_%s_%s", BAIModes[mode], layouts[layout])) PetscCall(Preconditioner((Layout)layout, (BAIMode)mode));
    }
  }
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_LAUNCH; mode++) {
    if (Case("converges_%s", BAIModes[mode])) PetscCall(Converges((BAIMode)mode));
  }
  if (Case("changes")) PetscCall(Changes());
  if (Case("watched_fv1")) PetscCall(Watched("fv1", 16, 0));
  if (Case("watched_fv3")) PetscCall(Watched("fv3", 24, 0));
  if (Case("watched_interval")) PetscCall(Watched("fv1", 16, 3));
  if (Case("errors_setup")) PetscCall(Errors());
  if (Case("errors_solve")) PetscCall(ErrorsOfSolves());
  if (Case("nullspace_constant")) PetscCall(NullSpace(PETSC_FALSE));
  if (Case("nullspace_vector")) PetscCall(NullSpace(PETSC_TRUE));
  if (Case("nullspace_function")) PetscCall(NullSpaceFunction());
  for (PetscInt dof = 1; dof <= 2; dof++) {
    if (Case("grid_dm_%" PetscInt_FMT, dof)) PetscCall(Grid(dof, BAI_PARTITION_DM, PETSC_FALSE));
    if (Case("grid_auto_%" PetscInt_FMT, dof)) PetscCall(Grid(dof, BAI_PARTITION_AUTO, PETSC_FALSE));
    if (Case("grid_error_%" PetscInt_FMT, dof)) PetscCall(Grid(dof, BAI_PARTITION_AUTO, PETSC_TRUE));
  }
  if (Case("choice_auto")) PetscCall(Choice(BAI_GATHER_AUTO));
  if (Case("choice_device")) PetscCall(Choice(BAI_GATHER_DEVICE));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      nsize: {{1 2 3}}
      timeoutfactor: 4
      test:
         suffix: host
         args: -by memory
      test:
         suffix: host_scatter
         args: -by mpi -ksp_bai_exchange scatter -pc_bai_exchange scatter
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -pc_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -dm_mat_type aijcusparse -dm_vec_type cuda

TEST*/
