static char help[] =
  "Random systems and options, drawn from a seed: claims of convergence are true; modes sync and color give the\n\
same bits again, with other numbers of threads as well; PCBAI is linear where it is fixed; on a GPU it is what it is\n\
on the host; nothing hangs. The same of KSPBAI and PCBAIMG with levels.\n\
  -levels : with levels: KSPBAI without options of the relaxation, and PCBAIMG\n\
Options on seeds are in seeds.h.\n\n";

#include "seeds.h"
#include <float.h>
#include <omp.h>

/* Sweeps of a face, which are in the order KSP, PC, are in single precision */
static PetscBool IsRough(const System *s, int face)
{
  return (PetscBool)(strstr(s->options[face], "precision single") != NULL);
}

/* How much larger than rounding of the result that of what it is computed from may be, as units differ */
static PetscReal Amplification(const System *s)
{
  return PetscPowReal(10, 2 * s->spread);
}

/* With the options of the system and more, and so many threads */
static PetscErrorCode Solve(const System *s, int threads, const char more[], Vec x, Outcome *outcome)
{
  PetscOptions o;
  KSP          ksp;

  PetscFunctionBeginUser;
  omp_set_num_threads(threads);
  PetscCall(PetscOptionsCreate(&o));
  PetscCall(PetscOptionsInsertString(o, s->options[0]));
  PetscCall(PetscOptionsInsertString(o, more));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(PetscObjectSetOptions((PetscObject)ksp, o));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetOperators(ksp, s->A, s->A));
  PetscCall(KSPSetTolerances(ksp, s->rtol, s->atol, PETSC_DEFAULT, s->max_it));
  PetscCall(KSPSetInitialGuessNonzero(ksp, s->guess));
  if (s->norm_none) PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecCopy(s->x0, x));
  PetscCall(KSPSolve(ksp, s->b, x));
  PetscCall(KSPGetConvergedReason(ksp, &outcome->reason));
  PetscCall(KSPGetIterationNumber(ksp, &outcome->its));
  PetscCall(KSPGetResidualNorm(ksp, &outcome->rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolver(const System *s)
{
  const int threads[] = {2, 1, 3};
  Vec       x, first;
  Outcome   o, o1;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(s->x0, &x));
  PetscCall(VecDuplicate(s->x0, &first));
  PetscCall(Solve(s, threads[0], "", first, &o1));
  PetscCall(IsTrue(s, first, &o1));
  for (int k = 1; k < 3 && IsFixed(s); k++) {
    PetscBool equal;

    PetscCall(Solve(s, threads[k], "", x, &o));
    PetscCall(VecEqual(x, first, &equal));
    PetscCall(Expect(equal && o.its == o1.its && o.reason == o1.reason,
                     "KSPBAI with %d threads gives the bits of that with %d: %s after %" PetscInt_FMT
                     " iterations, and %s after %" PetscInt_FMT,
                     threads[k], threads[0], KSPConvergedReasons[o.reason], o.its, KSPConvergedReasons[o1.reason],
                     o1.its));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(const System *s, int threads, const char more[], PC *pc, PetscOptions *o)
{
  PetscFunctionBeginUser;
  omp_set_num_threads(threads);
  PetscCall(PetscOptionsCreate(o));
  PetscCall(PetscOptionsInsertString(*o, s->options[1]));
  PetscCall(PetscOptionsInsertString(*o, more));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PetscObjectSetOptions((PetscObject)*pc, *o));
  PetscCall(PCSetType(*pc, PCBAI));
  PetscCall(PCSetOperators(*pc, s->A, s->A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPC(PC *pc, PetscOptions *o)
{
  PetscFunctionBeginUser;
  PetscCall(PCDestroy(pc));
  PetscCall(PetscOptionsDestroy(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PCBAI refuses the omega of the options, as it would diverge; more: further options */
static PetscErrorCode Refuses(const System *s, const char more[], PetscBool *refuses)
{
  PetscErrorCode code;
  PetscOptions   o;
  PC             pc;
  Vec            x;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(s->b, &x));
  PetscCall(CreatePC(s, 2, more, &pc, &o));
  CheckCall(code, PCApply(pc, s->b, x));
  PetscCall(Expect(!code || strstr(check_said, "smoothing diverges"), "PCApply() says %s", check_said));
  *refuses = (PetscBool)(code != 0);
  PetscCall(DestroyPC(&pc, &o));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M(x - 3 y) is Mx - 3 My, and Mx has the same bits again */
static PetscErrorCode TestPC(const System *s)
{
  const PetscReal epsilon = IsRough(s, 1) ? (PetscReal)FLT_EPSILON : PETSC_MACHINE_EPSILON;
  PetscOptions    o;
  PC              pc;
  Vec             x, y, Mx, My, sum, again;
  PetscReal       error, size[2];
  PetscBool       refuses = PETSC_FALSE;

  PetscFunctionBeginUser;
  if (!IsFixed(s)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Refuses(s, "", &refuses));
  if (refuses) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(s->b, &x));
  PetscCall(VecDuplicate(s->b, &y));
  PetscCall(VecDuplicate(s->x0, &Mx));
  PetscCall(VecDuplicate(s->x0, &My));
  PetscCall(VecDuplicate(s->x0, &sum));
  PetscCall(VecDuplicate(s->x0, &again));
  PetscCall(SetRandom(s, 8, x));
  PetscCall(SetRandom(s, 9, y));
  PetscCall(VecScale(x, s->scale));
  PetscCall(VecScale(y, s->scale));
  PetscCall(CreatePC(s, 2, "", &pc, &o));
  PetscCall(PCApply(pc, x, Mx));
  PetscCall(PCApply(pc, y, My));
  PetscCall(VecAXPY(x, -3, y));
  PetscCall(PCApply(pc, x, sum));
  PetscCall(VecAXPY(x, 3, y));
  PetscCall(DestroyPC(&pc, &o));
  for (int threads = 1; threads < 4; threads += 2) {
    PetscBool equal;

    PetscCall(SetRandom(s, 8, x));
    PetscCall(VecScale(x, s->scale));
    PetscCall(CreatePC(s, threads, "", &pc, &o));
    PetscCall(PCApply(pc, x, again));
    PetscCall(VecEqual(Mx, again, &equal));
    PetscCall(Expect(equal, "PCBAI with %d threads gives the bits of that with 2", threads));
    PetscCall(DestroyPC(&pc, &o));
  }
  PetscCall(VecAXPY(sum, -1, Mx));
  PetscCall(VecAXPY(sum, 3, My));
  PetscCall(VecNorm(sum, NORM_INFINITY, &error));
  PetscCall(VecNorm(Mx, NORM_INFINITY, &size[0]));
  PetscCall(VecNorm(My, NORM_INFINITY, &size[1]));
  if (!PetscIsInfOrNanReal(size[0]) && !PetscIsInfOrNanReal(size[1]) &&
      !(IsRough(s, 1) && PetscIsInfOrNanReal(error))) /* Mx - 3 My may overflow where Mx and My do not */
    PetscCall(Expect(error <= 1000 * epsilon * Amplification(s) * (size[0] + size[1]), "PCBAI is linear, to %g of %g",
                     (double)error, (double)size[0]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscCall(VecDestroy(&sum));
  PetscCall(VecDestroy(&again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same blocks, with the parameters given, swept over on the host and on the device; what is chosen by the backend,
   or by norms, is left out, as are estimated eigenvalues, and mode color on several ranks, which take their turns
   together on the host
*/
static PetscErrorCode TestBackends(System *s)
{
  const BAIBackend backends[] = {BAI_BACKEND_HOST, BAI_BACKEND_CUDA};
  const PetscInt   max_it     = s->max_it;
  const PetscBool  norm_none  = s->norm_none;
  Vec              x[2];
  PetscReal        error, size, first;
  PetscMPIInt      ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  if (!IsFixed(s) || strcmp(s->backend, BAIBackends[BAI_BACKEND_CUDA])) PetscFunctionReturn(PETSC_SUCCESS);
  if (ranks > 1 && s->mode == BAI_MODE_COLOR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(s->x0, NORM_INFINITY, &first));
  for (int face = 0; face < 2; face++) {
    const char *const name    = face ? "pc" : "ksp";
    PetscBool         refuses = PETSC_FALSE;

    for (int k = 0; k < 2; k++) {
      char         more[256];
      PetscOptions o;
      PC           pc;
      Outcome      outcome;

      (void)snprintf(more, sizeof(more), "-%s_bai_backend %s -%s_bai_block_size %d -%s_bai_weight none", name,
                     BAIBackends[backends[k]], name, 1 + (int)s->which % 300, name);
      if (strstr(s->options[face], "partition auto") || !strstr(s->options[face], "partition"))
        (void)snprintf(more + strlen(more), sizeof(more) - strlen(more), " -%s_bai_partition natural", name);
      PetscCall(VecDuplicate(s->x0, &x[k]));
      if (face) {
        (void)snprintf(more + strlen(more), sizeof(more) - strlen(more), " -pc_bai_polynomial none");
        if (!refuses) PetscCall(Refuses(s, more, &refuses));
        if (refuses) continue;
        PetscCall(CreatePC(s, 2, more, &pc, &o));
        PetscCall(PCApply(pc, s->b, x[k]));
        PetscCall(DestroyPC(&pc, &o));
      } else {
        s->norm_none = PETSC_TRUE;
        s->max_it    = PetscMin(max_it, 6);
        PetscCall(Solve(s, 2, more, x[k], &outcome));
        s->max_it    = max_it;
        s->norm_none = norm_none;
      }
    }
    PetscCall(VecNorm(x[0], NORM_INFINITY, &size));
    if (!face) size = PetscMax(size, first); /* rounding is that of the guess, which may be larger than the result */
    PetscCall(VecAXPY(x[1], -1, x[0]));
    PetscCall(VecNorm(x[1], NORM_INFINITY, &error));
    size *= Amplification(s);
    if (!refuses && !PetscIsInfOrNanReal(size))
      PetscCall(
        Expect(error <= (IsRough(s, face) ? 100 * (PetscReal)FLT_EPSILON : 10000 * PETSC_MACHINE_EPSILON) * size,
               "%s on the device is that on the host, to %g of %g", face ? "PCBAI" : "KSPBAI", (double)error,
               (double)size));
    PetscCall(VecDestroy(&x[0]));
    PetscCall(VecDestroy(&x[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCBAIMG, with options that are drawn, is linear, and symmetric if the matrix is, but for rounding */
static PetscErrorCode TestMultigrid(const System *s, const char levels[], Dice *dice)
{
  const PetscBool single  = (PetscBool)(s->spread == 0 && s->scale == 1 && !s->uneven && OneIn(dice, 4));
  const PetscReal epsilon = single ? (PetscReal)FLT_EPSILON : PETSC_MACHINE_EPSILON;
  char            text[256];
  PetscOptions    o;
  PC              pc;
  Vec             x, y, Mx, My, sum;
  PetscReal       error, size[2];
  PetscScalar     xMy, yMx;
  PetscBool       is;

  PetscFunctionBeginUser;
  (void)snprintf(text, sizeof(text),
                 "-pc_baimg_levels %s -pc_baimg_local_iters %d -pc_baimg_over %g -pc_baimg_single %s", levels,
                 1 + (int)Below(dice, 6), 1 + 0.1 * (double)Below(dice, 10), single ? "true" : "false");
  PetscCall(VecDuplicate(s->b, &x));
  PetscCall(VecDuplicate(s->b, &y));
  PetscCall(VecDuplicate(s->x0, &Mx));
  PetscCall(VecDuplicate(s->x0, &My));
  PetscCall(VecDuplicate(s->x0, &sum));
  PetscCall(SetRandom(s, 8, x));
  PetscCall(SetRandom(s, 9, y));
  PetscCall(VecScale(x, s->scale));
  PetscCall(VecScale(y, s->scale));
  PetscCall(PetscOptionsCreate(&o));
  PetscCall(PetscOptionsInsertString(o, text));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PetscObjectSetOptions((PetscObject)pc, o));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetOperators(pc, s->A, s->A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCApply(pc, x, Mx));
  PetscCall(PCApply(pc, y, My));
  PetscCall(VecAXPY(x, -3, y));
  PetscCall(PCApply(pc, x, sum));
  PetscCall(VecAXPY(x, 3, y));
  PetscCall(VecAXPY(sum, -1, Mx));
  PetscCall(VecAXPY(sum, 3, My));
  PetscCall(VecNorm(sum, NORM_INFINITY, &error));
  PetscCall(VecNorm(Mx, NORM_INFINITY, &size[0]));
  PetscCall(VecNorm(My, NORM_INFINITY, &size[1]));
  is = (PetscBool) !(PetscIsInfOrNanReal(size[0]) || PetscIsInfOrNanReal(size[1]));
  if (s->dominance > 1) PetscCall(Expect(is, "PCBAIMG with %s is finite", text)); /* else the matrix may be singular */
  if (is &&
      s->dominance >= 1) /* else what a cycle computes may be far larger than what comes of it, and so is rounding */
    PetscCall(Expect(error <= 1000 * epsilon * Amplification(s) * (size[0] + size[1]),
                     "PCBAIMG with %s is linear, to %g of %g", text, (double)error, (double)size[0]));
  PetscCall(ViewHas((PetscObject)pc, "not for KSPCG", &is));
  if (!is && s->scale == 1 && s->spread == 0 && s->dominance >= 1 && s->n) {
    PetscCall(VecDot(My, x, &xMy));
    PetscCall(VecDot(y, Mx, &yMx));
    PetscCall(VecNorm(x, NORM_2, &size[0]));
    PetscCall(VecNorm(My, NORM_2, &size[1]));
    PetscCall(Expect(PetscAbsScalar(xMy - yMx) <= 1000 * epsilon * size[0] * size[1],
                     "PCBAIMG with %s is symmetric, to %g of %g", text, (double)PetscAbsScalar(xMy - yMx),
                     (double)PetscAbsScalar(xMy)));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscCall(VecDestroy(&sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of CG with PCBAIMG for A x = b from zero, in the natural norm */
static PetscErrorCode Iterations(const System *s, Mat A, Vec b, PetscInt *its)
{
  char         text[64];
  PetscOptions o;
  KSP          ksp;
  PC           pc;
  Vec          x;

  PetscFunctionBeginUser;
  (void)snprintf(text, sizeof(text), "-pc_baimg_backend %s", s->backend);
  PetscCall(PetscOptionsCreate(&o));
  PetscCall(PetscOptionsInsertString(o, text));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NATURAL));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectSetOptions((PetscObject)pc, o));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscOptionsDestroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A in units that are drawn for each row, S A S; with a zero that is stored in each row; or with its rows renumbered */
static PetscErrorCode Rewrite(const System *s, int how, Mat *A, Vec b)
{
  PetscInt begin, end;
  Dice     dice = RowDice(s->seed, 13, 0);

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(s->A, &begin, &end));
  if (how == 2) {
    PetscInt *index;
    IS        is;

    PetscCall(PetscMalloc1(s->n, &index));
    for (PetscInt i = 0; i < s->n; i++) { /* by R. Durstenfeld's shuffle */
      const PetscInt j = Below(&dice, i + 1);

      index[i] = index[j];
      index[j] = i;
    }
    PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, end - begin, index + begin, PETSC_COPY_VALUES, &is));
    PetscCall(PetscFree(index));
    PetscCall(MatPermute(s->A, is, is, A));
    PetscCall(ISDestroy(&is));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDuplicate(s->A, MAT_COPY_VALUES, A));
  if (how == 0) {
    Vec S;

    PetscCall(VecDuplicate(b, &S));
    for (PetscInt i = begin; i < end; i++) {
      Dice of_row = RowDice(s->seed, 13, i);

      PetscCall(VecSetValue(S, i, PetscPowReal(10, Between(&of_row, -4, 4)), INSERT_VALUES));
    }
    PetscCall(VecAssemblyBegin(S));
    PetscCall(VecAssemblyEnd(S));
    PetscCall(MatDiagonalScale(*A, S, S));
    PetscCall(VecPointwiseMult(b, b, S));
    PetscCall(VecDestroy(&S));
  } else {
    const PetscInt far = s->n / 2;
    Mat            zeros;

    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, end - begin, end - begin, s->n, s->n, 1, NULL, 1, NULL, &zeros));
    for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(zeros, i, (i + far) % s->n, 0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(zeros, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(zeros, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAXPY(*A, 1, zeros, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&zeros));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations for a nonsingular symmetric M-matrix hardly depend on how it is written down, except that dense blocks of
   consecutive rows may happen to be aggregates */
static PetscErrorCode TestWriting(const System *s)
{
  const char *const writings[] = {"S A S", "A with zeros", "A renumbered"};
  const int         how        = s->seed / 2 % 3;
  PetscInt          its[2];
  Mat               A;
  Vec               b;

  PetscFunctionBeginUser;
  if (!s->symmetric || s->signs || s->uneven || s->spread > 0 || s->scale != 1 || s->dominance <= 1 || s->n < 50)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (how == 2 && s->pattern == PATTERN_BLOCKS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(s->b, &b));
  PetscCall(SetRandom(s, 12, b));
  PetscCall(Iterations(s, s->A, b, &its[0]));
  PetscCall(Rewrite(s, how, &A, b));
  PetscCall(Iterations(s, A, b, &its[1]));
  PetscCall(Expect(its[1] <= 1.3 * its[0] + 3, "CG with PCBAIMG takes %d iterations for %s, and %d for A", (int)its[1],
                   writings[how], (int)its[0]));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What KSPBAI claims where it is a Krylov method round a multigrid cycle, which is also a PCBAIMG */
static PetscErrorCode TestLevels(System *s)
{
  Dice    dice = RowDice(s->seed, 10, 0);
  char    levels[16];
  Vec     x;
  Outcome o;

  PetscFunctionBeginUser;
  if (OneIn(&dice, 2)) (void)snprintf(levels, sizeof(levels), "auto");
  else (void)snprintf(levels, sizeof(levels), "%d", 1 + (int)Below(&dice, 8));
  (void)snprintf(s->options[0], sizeof(s->options[0]), " -ksp_bai_backend %s%s%s", s->backend,
                 strcmp(levels, "auto") ? " -ksp_bai_method krylov -pc_baimg_levels " : "",
                 strcmp(levels, "auto") ? levels : "");
  s->options[1][0] = 0;
  PetscCall(VecDuplicate(s->x0, &x));
  PetscCall(Solve(s, 2, "", x, &o));
  PetscCall(IsTrue(s, x, &o));
  PetscCall(VecDestroy(&x));
  PetscCall(TestMultigrid(s, levels, &dice));
  PetscCall(TestWriting(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(System *s, void *data)
{
  const PetscBool levels = *(const PetscBool *)data;

  PetscFunctionBeginUser;
  s->levels = levels;
  if (levels) PetscCall(TestLevels(s));
  else {
    PetscCall(TestSolver(s));
    PetscCall(TestPC(s));
    PetscCall(TestBackends(s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool levels = PETSC_FALSE;

  PetscFunctionBeginUser;
  (void)setenv("OMP_NUM_THREADS", "2", 0); /* so that numbers of threads are those of omp_set_num_threads() */
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-levels", &levels, NULL));
  PetscCall(TestSeeds(Test, &levels));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      timeoutfactor: 5
      nsize: {{1 2 3 4}}
      test:
         suffix: host
      test:
         suffix: host_levels
         args: -levels
      test:
         suffix: cuda
         requires: baicuda
         args: -backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -backend cuda -mat_type aijcusparse

TEST*/
