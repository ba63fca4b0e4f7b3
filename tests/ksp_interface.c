static char help[] = "KSPBAI and what hooks into a KSP: monitors, residual history, convergence tests, views, options, "
                     "changes of type.\n\n";

#include "check.h"
#include "gallery.h"

enum {
  MAX_NORMS = 1000
};

/* What a monitor or a convergence test was told */
typedef struct {
  PetscInt           calls, its[MAX_NORMS];
  PetscReal          norms[MAX_NORMS];
  PetscInt           stop; /* convergence test: when to stop, and why */
  KSPConvergedReason reason;
} Record;

static PetscErrorCode Note(Record *record, PetscInt it, PetscReal norm)
{
  PetscFunctionBeginUser;
  PetscCheck(record->calls < MAX_NORMS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Called too often");
  record->its[record->calls]     = it;
  record->norms[record->calls++] = norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes, and looks whether the solution is the one with that residual norm */
static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  Record   *record = (Record *)ctx;
  Vec       r;
  PetscReal norm_r;

  PetscFunctionBeginUser;
  PetscCall(Note(record, it, norm));
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
  PetscCall(VecNorm(r, NORM_2, &norm_r));
  PetscCall(VecDestroy(&r));
  PetscCall(Expect(PetscAbsReal(norm - norm_r) <= 1e5 * PETSC_MACHINE_EPSILON * record->norms[0],
                   "a monitor can have the solution of its residual norm"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, void *ctx)
{
  Record *record = (Record *)ctx;

  PetscFunctionBeginUser;
  (void)ksp;
  PetscCall(Note(record, it, norm));
  *reason = it == record->stop ? record->reason : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every step-th iteration from 0 to its, which comes last whatever it is, with falling norms */
static PetscErrorCode Complete(const Record *record, PetscInt step, PetscInt its, const char what[])
{
  PetscBool right = (PetscBool)(record->calls == (its + step - 1) / step + 1);

  PetscFunctionBeginUser;
  for (PetscInt k = 0; right && k < record->calls; k++)
    right = (PetscBool)(record->its[k] == PetscMin(k * step, its) && (!k || record->norms[k] < record->norms[k - 1]));
  PetscCall(Expect(right, "%s", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solver(Mat A, const char prefix[], KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(NewKSP(A, KSPBAI, ksp));
  PetscCall(KSPSetTolerances(*ksp, 1e-7, 1e-50, PETSC_DEFAULT, 200));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor, a history, and both, with and without a check interval; max_it as a multiple of the interval and not */
static PetscErrorCode MonitorAndHistory(Mat A, Vec b, Vec x)
{
  const PetscInt intervals[] = {0, 1, 3}, max_its[] = {8, 9, 200};

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(intervals); i++) {
    for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(max_its); m++) {
      for (int which = 1; which < 4; which++) {
        const PetscInt   step = PetscMax(intervals[i], 1);
        KSP              ksp;
        Record           record;
        PetscInt         its, n;
        PetscReal        history[MAX_NORMS], norm;
        const PetscReal *kept;

        record.calls = 0;
        PetscCall(Solver(A, NULL, &ksp));
        PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, max_its[m]));
        PetscCall(KSPBAISetCheckInterval(ksp, intervals[i]));
        if (which & 1) PetscCall(KSPMonitorSet(ksp, Monitor, &record, NULL));
        if (which & 2) PetscCall(KSPSetResidualHistory(ksp, history, MAX_NORMS, PETSC_TRUE));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetIterationNumber(ksp, &its));
        PetscCall(KSPGetResidualNorm(ksp, &norm));
        if (which & 1) {
          PetscCall(Complete(&record, step, its, "a monitor sees all iterations, or every n-th"));
          PetscCall(Expect(record.norms[record.calls - 1] == norm, "the last norm of the monitor is the final one"));
        }
        if (which & 2) {
          PetscCall(KSPGetResidualHistory(ksp, &kept, &n));
          PetscCall(Expect(kept == history && n == (its + step - 1) / step + 1 && kept[n - 1] == norm,
                           "a history has all norms"));
          for (PetscInt k = 1; k < n; k++) PetscCall(Expect(kept[k] < kept[k - 1], "a history's norms fall"));
          for (PetscInt k = 0; k < n && (which & 1); k++)
            PetscCall(Expect(kept[k] == record.norms[k], "a history has the norms of the monitor"));
        }
        PetscCall(KSPDestroy(&ksp));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvergenceTest(Mat A, Vec b, Vec x)
{
  const PetscInt           stops[]   = {0, 4, 5, 300};
  const KSPConvergedReason reasons[] = {KSP_CONVERGED_ATOL, KSP_CONVERGED_ITS, KSP_DIVERGED_BREAKDOWN,
                                        KSP_CONVERGED_ITS};

  PetscFunctionBeginUser;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(stops); s++) {
    KSP                ksp;
    KSPConvergedReason reason;
    Record             record;
    Vec                nan;
    PetscInt           its;
    const PetscInt     end = PetscMin(stops[s], 12);

    record.calls  = 0;
    record.stop   = stops[s];
    record.reason = reasons[s];
    PetscCall(Solver(A, NULL, &ksp));
    PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 12));
    PetscCall(KSPSetConvergenceTest(ksp, Test, &record, NULL));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Expect(its == end, "a convergence test's stop is obeyed"));
    PetscCall(
      Expect(reason == (stops[s] > 12 ? KSP_DIVERGED_ITS : reasons[s]), "a convergence test's reason is given"));
    PetscCall(Complete(&record, 1, end, "a convergence test sees all iterations"));

    record.calls = 0; /* it need not know of NaN */
    PetscCall(VecDuplicate(b, &nan));
    PetscCall(VecSet(nan, NAN));
    PetscCall(KSPSolve(ksp, nan, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(
      Expect(reason == KSP_DIVERGED_NANORINF && record.calls == 0, "a convergence test is not asked about NaN"));
    PetscCall(VecDestroy(&nan));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether what KSPView() prints has all of the words, a NULL behind the last */
static PetscErrorCode ViewHasAll(KSP ksp, const char *const words[], PetscBool *has)
{
  char text[10000], *found;

  PetscFunctionBeginUser;
  PetscCall(ViewText((PetscObject)ksp, sizeof(text), text));
  *has = PETSC_TRUE;
  for (PetscInt k = 0; words[k]; k++) {
    PetscCall(PetscStrstr(text, words[k], &found));
    if (!found) *has = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewAndGetters(Mat A, Vec b, Vec x)
{
  const char *const before[] = {"type: bai",
                                "mode sync",
                                "local_iters 3",
                                "omega 0.75",
                                "local_omega 0.875",
                                "not yet set up",
                                "every 2 global iterations",
                                NULL};
  const char *const after[]  = {"type: bai",
                                "mode sync",
                                "local_iters 3",
                                "omega 0.75",
                                "local_omega 0.875",
                                "blocks of 24 rows",
                                "every 2 global iterations",
                                NULL};
  const char *const chosen[] = {"blocks of 128 rows (chosen)", NULL};
  KSP               ksp;
  BAIMode           mode;
  BAIBackend        backend, wanted;
  PetscInt          sweeps, size, interval;
  PetscReal         omega, local_omega;
  PetscBool         has;

  PetscFunctionBeginUser;
  for (int options = 0; options < 2; options++) { /* by setters, and by options with a prefix */
    PetscCall(Solver(A, NULL, &ksp));
    PetscCall(KSPBAIGetBackend(ksp, &wanted));
    if (options) {
      PetscCall(PetscOptionsInsertString(
        NULL,
        "-my_ksp_bai_mode sync -my_ksp_bai_local_iters 3 -my_ksp_bai_omega 0.75 -my_ksp_bai_local_omega 0.875 "
        "-my_ksp_bai_block_size 24 -my_ksp_bai_check_interval 2"));
      PetscCall(KSPSetOptionsPrefix(ksp, "my_"));
      PetscCall(KSPSetFromOptions(ksp));
    } else {
      PetscCall(KSPBAISetMode(ksp, BAI_MODE_SYNC));
      PetscCall(KSPBAISetLocalIters(ksp, 3));
      PetscCall(KSPBAISetOmega(ksp, 0.75));
      PetscCall(KSPBAISetLocalOmega(ksp, 0.875));
      PetscCall(KSPBAISetBlockSize(ksp, 24));
      PetscCall(KSPBAISetCheckInterval(ksp, 2));
      PetscCall(KSPBAISetBackend(ksp, wanted));
    }
    for (int set_up = 0; set_up < 2; set_up++) {
      if (set_up) PetscCall(KSPSetUp(ksp));
      PetscCall(KSPBAIGetMode(ksp, &mode));
      PetscCall(KSPBAIGetLocalIters(ksp, &sweeps));
      PetscCall(KSPBAIGetOmega(ksp, &omega));
      PetscCall(KSPBAIGetLocalOmega(ksp, &local_omega));
      PetscCall(KSPBAIGetBlockSize(ksp, &size));
      PetscCall(KSPBAIGetCheckInterval(ksp, &interval));
      PetscCall(KSPBAIGetBackend(ksp, &backend));
      PetscCall(Expect((PetscBool)(mode == BAI_MODE_SYNC && sweeps == 3 && omega == (PetscReal)0.75 &&
                                   local_omega == (PetscReal)0.875 && size == 24 && interval == 2),
                       "what is set can be got"));
      PetscCall(Expect((PetscBool)(backend == wanted), "the backend stays as it was set"));
      PetscCall(ViewHasAll(ksp, set_up ? after : before, &has));
      PetscCall(Expect(has, "KSPView() shows what is set"));
    }
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(ViewHasAll(ksp, after, &has));
    PetscCall(Expect(has, "KSPView() after a solve shows what is set"));
    PetscCall(KSPBAISetBlockSize(ksp, 0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(ViewHasAll(ksp, chosen, &has));
    PetscCall(Expect(has, "KSPView() shows what is chosen"));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC of the user's stays what it is, also for others that have it and when the KSP gets another type */
static PetscErrorCode GivenPC(Mat A, Vec b, Vec x)
{
  KSP       ksp;
  PC        pc, now;
  PetscBool jacobi;

  PetscFunctionBeginUser;
  PetscCall(NewPC(A, PCJACOBI, &pc));
  for (int how = 0; how < 2; how++) {
    PetscCall(Solver(A, NULL, &ksp));
    PetscCall(KSPSetPC(ksp, pc));
    if (how == 1) PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetPC(ksp, &now));
    PetscCall(PetscObjectTypeCompare((PetscObject)now, PCJACOBI, &jacobi));
    PetscCall(Expect(now == pc && jacobi, "the PC of the user is that of KSPBAI"));
    PetscCall(PCApply(pc, b, x));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPGetPC(ksp, &now));
    PetscCall(PetscObjectTypeCompare((PetscObject)now, PCJACOBI, &jacobi));
    PetscCall(Expect(now == pc && jacobi, "a KSP of another type keeps the PC"));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bai, reset, cg, bai again: the same bits, and no function of bai's left with cg */
static PetscErrorCode ResetAndType(Mat A, Vec b, Vec x)
{
  KSP       ksp;
  Vec       xref;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &xref));
  PetscCall(Solver(A, NULL, &ksp));
  PetscCall(KSPBAISetMode(ksp, BAI_MODE_SYNC));
  PetscCall(KSPSolve(ksp, b, xref));
  for (int step = 0; step < 4; step++) {
    const char *const types[] = {KSPBAI, KSPBAI, KSPCG, KSPBAI};

    if (step == 1) PetscCall(KSPReset(ksp));
    PetscCall(KSPSetType(ksp, types[step]));
    if (step > 0) PetscCall(KSPSetOperators(ksp, A, A));
    if (step == 2) {
      PetscErrorCode error;
      BAIMode        mode;

      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      error = KSPBAIGetMode(ksp, &mode);
      PetscCall(PetscPopErrorHandler());
      PetscCall(Expect(error == PETSC_ERR_ARG_WRONG, "only a KSP of type bai has its options"));
    }
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPBAISetMode(ksp, BAI_MODE_SYNC)); /* nothing happens if it is not of type bai */
    PetscCall(VecSet(x, 0.0));
    PetscCall(KSPSolve(ksp, b, x));
    if (step == 2) {
      KSPConvergedReason reason;

      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(Expect(reason > 0, "cg converges after bai"));
      continue;
    }
    PetscCall(VecEqual(x, xref, &equal));
    PetscCall(Expect(equal,
                     step == 0     ? "twice the same bits"
                       : step == 1 ? "the same bits after KSPReset()"
                                   : "the same bits after another type"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&xref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat A;
  Vec b, x;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 20, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  if (Case("monitor_and_history")) PetscCall(MonitorAndHistory(A, b, x));
  if (Case("convergence_test")) PetscCall(ConvergenceTest(A, b, x));
  if (Case("view_and_getters")) PetscCall(ViewAndGetters(A, b, x));
  if (Case("reset_and_type")) PetscCall(ResetAndType(A, b, x));
  if (Case("given_pc")) PetscCall(GivenPC(A, b, x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    requires: !single
    args: -ksp_bai_mode {{async launch sync}}shared output -ksp_bai_block_size {{0 16}}shared output

    test:
      suffix: host
      nsize: {{1 2}}

    test:
      suffix: cuda
      nsize: {{1 2}}
      requires: baicuda
      args: -ksp_bai_backend cuda

    test:
      suffix: aijcusparse
      nsize: {{1 2}}
      requires: baicuda cuda
      args: -mat_type aijcusparse

TEST*/
