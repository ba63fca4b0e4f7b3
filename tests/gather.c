static char help[] =
  "Gathered rows: a solver on several ranks gives what it gives on one, and looks the same to its users.\n\n";

#include "check.h"
#include "gallery.h"
#include <math.h>

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

/* The bits of this rank's part of x are those of the vector of one rank */
static PetscErrorCode SameBits(Vec x, Vec one, PetscBool *same)
{
  const PetscScalar *xx, *yy;
  PetscInt           first, last;
  int                mine = 1, all;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayRead(x, &xx));
  PetscCall(VecGetArrayRead(one, &yy));
  for (PetscInt i = first; i < last; i++) mine = mine && xx[i - first] == yy[i];
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
static PetscErrorCode Compare(Twins *t, const char when[])
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
  PetscCall(SameBits(t->x, t->x_one, &same));
  PetscCall(Expect(same, "%s: not the bits of one rank", when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveBoth(Twins *t, const char when[])
{
  PetscFunctionBeginUser;
  PetscCall(KSPSolve(t->ksp, t->b, t->x));
  PetscCall(KSPSolve(t->ksp_one, t->b_one, t->x_one));
  PetscCall(Compare(t, when));
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
  PetscCall(KSPSetInitialGuessNonzero(t.ksp, PETSC_TRUE));
  PetscCall(KSPSetInitialGuessNonzero(t.ksp_one, PETSC_TRUE));
  PetscCall(KSPSetTolerances(t.ksp, 1e-30, 1e-300, PETSC_DEFAULT, 7));
  PetscCall(KSPSetTolerances(t.ksp_one, 1e-30, 1e-300, PETSC_DEFAULT, 7));
  PetscCall(SetVec(t.x, 2));
  PetscCall(SetVec(t.x_one, 2));
  PetscCall(SolveBoth(&t, "7 iterations from a guess"));
  if (mode != BAI_MODE_AUTO) { /* a fixed number of iterations is relaxation, and auto then async */
    PetscCall(KSPSetNormType(t.ksp, KSP_NORM_NONE));
    PetscCall(KSPSetNormType(t.ksp_one, KSP_NORM_NONE));
    PetscCall(SolveBoth(&t, "7 more without norms"));
  }
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves that end otherwise leave the reason, and the x, of one rank */
static PetscErrorCode Reasons(BAIMode mode)
{
  KSPConvergedReason reason;
  Twins              t;
  Mat                one;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "fv1", 16, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, mode, &t));
  PetscCall(KSPSetTolerances(t.ksp, 1e-30, 1e-300, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetTolerances(t.ksp_one, 1e-30, 1e-300, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(SolveBoth(&t, "what rounding allows"));
  PetscCall(KSPGetConvergedReason(t.ksp, &reason));
  PetscCall(Expect(reason == KSP_DIVERGED_BREAKDOWN, "what rounding allows: %s", KSPConvergedReasons[reason]));
  PetscCall(DestroyTwins(&t));
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "fv1", 16, &one));
  PetscCall(MatShift(one, -1.5));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, mode, &t));
  PetscCall(KSPBAISetLevels(t.ksp, 0));
  PetscCall(KSPBAISetLevels(t.ksp_one, 0));
  if (mode == BAI_MODE_SYNC) {
    PetscCall(SolveBoth(&t, "divergence"));
    PetscCall(KSPGetConvergedReason(t.ksp, &reason));
    PetscCall(Expect(reason < 0, "divergence: %s", KSPConvergedReasons[reason]));
  }
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

/* All ranks work, and the view says why */
static PetscErrorCode ExpectAll(KSP ksp, const char why[])
{
  char        line[128];
  PetscMPIInt size;
  PetscReal   rnorm;
  PetscBool   has, is;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSNPrintf(line, sizeof(line), "gather one: all ranks work, as %s", why));
  PetscCall(ViewHas((PetscObject)ksp, line, &has));
  PetscCall(Expect(has == (size > 1), "the view says: %s", line));
  PetscCall(IsConverged(ksp, &rnorm, &is));
  PetscCall(Expect(is, "as %s: residual norm %g", why, (double)rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  MAX_NORMS = 2000
};

/* PETSc's own monitor, which writes to memory */
typedef struct {
  FILE       *file;
  char       *text;
  size_t      length;
  PetscViewer viewer;

  PetscViewerAndFormat *vf;
} Output;

static PetscErrorCode SetMonitor(KSP ksp, Output *o)
{
  void (*const monitor)(void) = (void (*)(void))KSPMonitorResidual;

  PetscFunctionBeginUser;
  o->file = open_memstream(&o->text, &o->length);
  PetscCheck(o->file, PETSC_COMM_SELF, PETSC_ERR_SYS, "open_memstream()");
  PetscCall(PetscViewerASCIIOpenWithFILE(PetscObjectComm((PetscObject)ksp), o->file, &o->viewer));
  PetscCall(PetscViewerAndFormatCreate(o->viewer, PETSC_VIEWER_DEFAULT, &o->vf));
  PetscCall(KSPMonitorSet(ksp, (PetscErrorCode(*)(KSP, PetscInt, PetscReal, void *))monitor, o->vf, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EndMonitor(KSP ksp, Output *o)
{
  PetscFunctionBeginUser;
  PetscCall(KSPMonitorCancel(ksp));
  PetscCall(PetscViewerAndFormatDestroy(&o->vf));
  PetscCall(PetscViewerDestroy(&o->viewer));
  PetscCheck(!fclose(o->file), PETSC_COMM_SELF, PETSC_ERR_SYS, "fclose()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor that may look at x, as it does, and one that fails; a convergence test that asks for so many iterations */
static PetscErrorCode Look(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  const PetscInt *fail = (PetscInt *)ctx;
  PetscReal       norm_r, bnorm, rounding = 1e3 * PETSC_MACHINE_EPSILON;
  BAIMode         mode;
  Vec             r, b;

  PetscFunctionBeginUser;
  PetscCheck(it != *fail, PetscObjectComm((PetscObject)ksp), PETSC_ERR_USER,
             "This monitor does not like iteration %" PetscInt_FMT, it);
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
  PetscCall(VecNorm(r, NORM_2, &norm_r));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPBAIGetMode(ksp, &mode));
  if (mode == BAI_MODE_AUTO) rounding = PetscSqrtReal(PETSC_MACHINE_EPSILON); /* r is updated by recurrences */
  PetscCall(
    Expect(PetscAbsReal(norm - norm_r) <= rounding * bnorm, "residual norm %g, not %g", (double)norm_r, (double)norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, void *ctx)
{
  PetscFunctionBeginUser;
  (void)ksp;
  (void)norm;
  *reason = it >= *(PetscInt *)ctx ? KSP_CONVERGED_HAPPY_BREAKDOWN : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* History and output of PETSc's monitor are those of one rank; for whoever may look at x all ranks work */
static PetscErrorCode Watched(const char matrix[], PetscInt n, PetscInt interval, BAIMode mode)
{
  const PetscReal   *history, *history_one;
  PetscInt           length, length_one, fail = -1, limit = 4, its;
  KSPConvergedReason reason;
  Output             all = {NULL}, one = {NULL};
  Twins              t;
  Mat                A;
  PetscMPIInt        rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, matrix, n, &A));
  PetscCall(CreateTwins(A, LAYOUT_EVEN, mode, &t));
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
  PetscCall(SetMonitor(t.ksp, &all));
  PetscCall(SetMonitor(t.ksp_one, &one));
  PetscCall(SolveBoth(&t, "with a monitor of PETSc"));
  PetscCall(EndMonitor(t.ksp, &all));
  PetscCall(EndMonitor(t.ksp_one, &one));
  PetscCall(Expect(rank || (one.length > 0 && all.length == one.length && !strcmp(all.text, one.text)),
                   "the monitor shows what it does on one rank"));
  free(all.text);
  free(one.text);
  PetscCall(KSPMonitorSet(t.ksp, Look, &fail, NULL));
  PetscCall(KSPSolve(t.ksp, t.b, t.x));
  PetscCall(ExpectAll(t.ksp, "a monitor or convergence test may look at x"));
  PetscCall(KSPMonitorCancel(t.ksp));
  PetscCall(SolveBoth(&t, "without a monitor"));
  PetscCall(KSPSetConvergenceTest(t.ksp, Test, &limit, NULL));
  PetscCall(KSPSolve(t.ksp, t.b, t.x));
  PetscCall(KSPGetIterationNumber(t.ksp, &its));
  PetscCall(KSPGetConvergedReason(t.ksp, &reason));
  PetscCall(Expect(its >= limit && its < limit + PetscMax(1, interval) && reason == KSP_CONVERGED_HAPPY_BREAKDOWN,
                   "with a convergence test: %s after %" PetscInt_FMT " iterations", KSPConvergedReasons[reason], its));
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
    char      expected[512];
    PetscBool mine;
    PetscInt  first, last;

    PetscCall(MatGetOwnershipRange(t.A, &first, &last));
    mine = (PetscBool)(row >= first && row < last);
    if (mine) PetscCall(MatSetValue(t.A, row, row, 0.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(t.A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(t.A, MAT_FINAL_ASSEMBLY));
    PetscCall(ZeroDiagonalMessage(row, 1, n, expected, sizeof(expected)));
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

/* The view after an error: of a solver that gathers rows since then, or in all of whose solves all ranks work */
static PetscErrorCode ViewAfterError(BAIGatherType gather, PetscInt levels)
{
  KSP            ksp;
  Mat            A;
  Vec            b, x;
  PetscErrorCode code;
  PetscInt       first, last;
  PetscBool      none;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 12, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPBAISetGather(ksp, BAI_GATHER_NONE));
  PetscCall(KSPBAISetLevels(ksp, levels));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  if (first == 0 && last > 0) PetscCall(MatSetValue(A, 0, 0, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPBAISetGather(ksp, gather));
  PetscCall(KSPSetOperators(ksp, A, A));
  CheckCall(code, KSPSetUp(ksp));
  PetscCall(Expect(code != PETSC_SUCCESS, "no error"));
  PetscCall(ViewHas((PetscObject)ksp, "not yet set up", &none));
  PetscCall(Expect(none, "the view says that nothing is set up"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After which, too; PETSc lets a solver fail once or twice while it solves */
static PetscErrorCode ErrorsOfSolves(void)
{
  PetscInt       fail = 1;
  Twins          t;
  Mat            one;
  Vec            nan;
  PetscErrorCode code;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, "fv1", 12, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, BAI_MODE_SYNC, &t));
  PetscCall(KSPMonitorSet(t.ksp, Look, &fail, NULL));
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

  PetscFunctionBeginUser;
  PetscCall(Neumann(12, &one));
  PetscCall(CreateTwins(one, LAYOUT_EVEN, BAI_MODE_COLOR, &t));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 0, NULL, &nullspace));
  PetscCall(MatNullSpaceSetFunction(nullspace, RemoveMean, NULL));
  PetscCall(MatSetNullSpace(t.A, nullspace));
  PetscCall(MatNullSpaceDestroy(&nullspace));
  PetscCall(RemoveMean(NULL, t.b, NULL));
  PetscCall(KSPSolve(t.ksp, t.b, t.x));
  PetscCall(ExpectAll(t.ksp, "a null space has a function"));
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
    PetscCall(ViewHas((PetscObject)t.ksp, "gather device: all ranks work, as no two share a GPU", &has));
    PetscCall(Expect(cuda || has == (size > 1), "on the host all ranks work"));
    PetscCall(ViewHas((PetscObject)t.ksp, "gather device: ", &has));
    PetscCall(Expect(has == (size > 1), "the view says who works"));
  }
  PetscCall(DestroyTwins(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words and numbers of the option */
static PetscErrorCode Options(void)
{
  KSP           ksp;
  BAIGatherType gather;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "foo_"));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPBAIGetGather(ksp, &gather));
  PetscCall(Expect(gather == BAI_GATHER_AUTO, "the default is auto"));
  for (int k = 0; k < 4; k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-foo_ksp_bai_gather", BAIGatherTypes[k]));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(PetscOptionsClearValue(NULL, "-foo_ksp_bai_gather"));
    PetscCall(KSPBAIGetGather(ksp, &gather));
    PetscCall(Expect((int)gather == k, "-ksp_bai_gather %s", BAIGatherTypes[k]));
  }
  ExpectError("-foo_ksp_bai_gather 4: must be one of auto, none, device, one", "a wrong value",
              KSPBAISetGather(ksp, (BAIGatherType)4));
  PetscCall(KSPDestroy(&ksp));
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
  for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_AUTO; mode++) {
    for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(matrices); m++) {
      if (Case("solves_%s_%s_%" PetscInt_FMT, BAIModes[mode], matrices[m].name, matrices[m].n))
        PetscCall(Solves(matrices[m].name, matrices[m].n, LAYOUT_EVEN, (BAIMode)mode));
    }
    for (int layout = LAYOUT_FIRST; layout < LAYOUT_NUMBER; layout++) {
      if (Case("solves_%s_%s", BAIModes[mode], layouts[layout]))
        PetscCall(Solves("fv1", 16, (Layout)layout, (BAIMode)mode));
    }
  }
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_LAUNCH; mode++) {
    if (Case("converges_%s", BAIModes[mode])) PetscCall(Converges((BAIMode)mode));
  }
  if (Case("reasons_sync")) PetscCall(Reasons(BAI_MODE_SYNC));
  if (Case("reasons_auto")) PetscCall(Reasons(BAI_MODE_AUTO));
  if (Case("changes")) PetscCall(Changes());
  if (Case("watched_fv1")) PetscCall(Watched("fv1", 16, 0, BAI_MODE_SYNC));
  if (Case("watched_fv3")) PetscCall(Watched("fv3", 24, 0, BAI_MODE_SYNC));
  if (Case("watched_interval")) PetscCall(Watched("fv1", 16, 3, BAI_MODE_SYNC));
  if (Case("watched_auto")) PetscCall(Watched("fv1", 16, 0, BAI_MODE_AUTO));
  if (Case("errors_setup")) PetscCall(Errors());
  if (Case("errors_solve")) PetscCall(ErrorsOfSolves());
  for (int gather = BAI_GATHER_NONE; gather <= BAI_GATHER_ONE; gather++) {
    if (Case("errors_view_%s", BAIGatherTypes[gather])) PetscCall(ViewAfterError((BAIGatherType)gather, PETSC_DECIDE));
    if (Case("errors_view_%s_relaxation", BAIGatherTypes[gather])) PetscCall(ViewAfterError((BAIGatherType)gather, 0));
  }
  if (Case("nullspace_constant")) PetscCall(NullSpace(PETSC_FALSE));
  if (Case("nullspace_vector")) PetscCall(NullSpace(PETSC_TRUE));
  if (Case("nullspace_function")) PetscCall(NullSpaceFunction());
  if (Case("choice_auto")) PetscCall(Choice(BAI_GATHER_AUTO));
  if (Case("choice_device")) PetscCall(Choice(BAI_GATHER_DEVICE));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      nsize: {{1 2 3 4}}
      timeoutfactor: 4
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
