static char help[] =
  "A KSPBAI that solves one system after another, between which values, matrices, right-hand sides, PCs and options\n\
change in ways that are drawn from a seed: what it claims of each solution is true, and what a new solver solves it\n\
solves too, in at most twice as many iterations and some more. Options on seeds are in seeds.h.\n\n";

#include "seeds.h"

/* What may happen before a solve */
typedef enum {
  EVENT_NOTHING,
  EVENT_RHS,       /* another right-hand side */
  EVENT_SCALE,     /* the matrix times a number, perhaps a negative one */
  EVENT_UNITS,     /* other units of unknowns and equations */
  EVENT_SHIFT,     /* other diagonal entries */
  EVENT_MATRIX,    /* another matrix of the same size */
  EVENT_TRANSPOSE, /* this solve is one with the transpose */
  EVENT_GUESS,     /* with a guess, or no longer */
  EVENT_PC,
  EVENT_MONITOR, /* with a monitor, or no longer */
  EVENT_TOLERANCE,
  EVENT_RESET,
  EVENTS
} Event;
static const char *const events[] = {"nothing",   "rhs",   "scale", "units",   "shift",     "matrix",
                                     "transpose", "guess", "pc",    "monitor", "tolerance", "reset"};

/* How the KSP is set; a new solver gets the same */
typedef struct {
  PCType    pc; /* NULL: that of KSPBAI */
  PetscBool monitor, transpose;
} Setting;

static PetscErrorCode NoMonitor(PETSC_UNUSED KSP ksp, PETSC_UNUSED PetscInt its, PETSC_UNUSED PetscReal rnorm,
                                PETSC_UNUSED void *context)
{
  return PETSC_SUCCESS;
}

/* Creates a KSPBAI without options, except the backend */
static PetscErrorCode Create(const System *s, const Setting *setting, PetscOptions o, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(PetscObjectSetOptions((PetscObject)*ksp, o));
  PetscCall(KSPSetType(*ksp, KSPBAI));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PetscObjectSetOptions((PetscObject)pc, o));
  if (setting->pc) PetscCall(PCSetType(pc, setting->pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(KSPSetOperators(*ksp, s->A, s->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves from the guess, if there is one, and checks what is claimed; rounding: see Rounding() */
static PetscErrorCode Solve(System *s, KSP ksp, const Setting *setting, Vec x, Outcome *o, PetscReal *rounding)
{
  const Mat      A       = s->A;
  const PetscInt longest = s->longest;
  Mat            T       = NULL;

  PetscFunctionBeginUser;
  PetscCall(KSPMonitorCancel(ksp));
  if (setting->monitor) PetscCall(KSPMonitorSet(ksp, NoMonitor, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, s->rtol, s->atol, PETSC_DEFAULT, s->max_it));
  PetscCall(KSPSetInitialGuessNonzero(ksp, s->guess));
  PetscCall(VecCopy(s->x0, x));
  if (setting->transpose) PetscCall(KSPSolveTranspose(ksp, s->b, x));
  else PetscCall(KSPSolve(ksp, s->b, x));
  PetscCall(KSPGetConvergedReason(ksp, &o->reason));
  PetscCall(KSPGetIterationNumber(ksp, &o->its));
  PetscCall(KSPGetResidualNorm(ksp, &o->rnorm));
  if (setting->transpose) PetscCall(MatTranspose(s->A, MAT_INITIAL_MATRIX, &T));
  if (T) s->A = T;
  if (T) s->longest = s->n;
  PetscCall(IsTrue(s, x, o));
  PetscCall(Rounding(s, x, rounding));
  s->A       = A;
  s->longest = longest;
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does what happens before solve number step. The KSP has seen the system before */
static PetscErrorCode Happen(System *s, Event event, int step, Dice *dice, Setting *setting, KSP ksp)
{
  const PCType pcs[] = {PCBAIMG, PCJACOBI, PCNONE, PCBAI};
  Vec          d;
  PC           pc;

  PetscFunctionBeginUser;
  setting->transpose = PETSC_FALSE;
  switch (event) {
  case EVENT_RHS:
    PetscCall(SetRandom(s, 20 + step, s->b));
    PetscCall(VecScale(s->b, s->rhs_scale));
    break;
  case EVENT_SCALE:
    PetscCall(MatScale(s->A, OneIn(dice, 3) ? -1 : OneIn(dice, 2) ? 2 : (PetscReal)0.37));
    break;
  case EVENT_UNITS:
    PetscCall(VecDuplicate(s->b, &d));
    PetscCall(SetRandom(s, 20 + step, d));
    PetscCall(VecScale(d, OneIn(dice, 2) ? (PetscReal)0.05 : (PetscReal)0.9));
    PetscCall(VecShift(d, 1));
    PetscCall(MatDiagonalScale(s->A, d, d));
    PetscCall(VecDestroy(&d));
    break;
  case EVENT_SHIFT:
    PetscCall(VecDuplicate(s->b, &d));
    PetscCall(MatGetDiagonal(s->A, d));
    PetscCall(VecScale(d, OneIn(dice, 2) ? (PetscReal)1.1 : 2));
    PetscCall(MatDiagonalSet(s->A, d, INSERT_VALUES));
    PetscCall(VecDestroy(&d));
    break;
  case EVENT_MATRIX:
    if (s->split == SPLIT_ANY) break; /* which depends on the seed */
    s->seed = (s->seed + 500000000) % 1000000000;
    if (OneIn(dice, 2)) s->pattern = (Pattern)Below(dice, PATTERNS);
    PetscCall(MatDestroy(&s->A)); /* the KSP keeps it */
    PetscCall(CreateSystemMat(s));
    PetscCall(KSPSetOperators(ksp, s->A, s->A));
    break;
  case EVENT_TRANSPOSE:
    setting->transpose = PETSC_TRUE;
    break;
  case EVENT_GUESS:
    s->guess = (PetscBool)!s->guess;
    break;
  case EVENT_PC:
    setting->pc = pcs[Below(dice, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(pcs))];
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, setting->pc));
    PetscCall(PCSetFromOptions(pc));
    break;
  case EVENT_MONITOR:
    setting->monitor = (PetscBool)!setting->monitor;
    break;
  case EVENT_TOLERANCE:
    s->rtol = PetscPowReal(10, -Between(dice, (PetscReal)0.3, PetscDefined(USE_REAL_SINGLE) ? 4 : 11));
    break;
  case EVENT_RESET:
    PetscCall(KSPReset(ksp));
    PetscCall(KSPSetOperators(ksp, s->A, s->A));
    break;
  default:
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solves of a history, each beside one by a new solver */
static PetscErrorCode Test(System *s, PETSC_UNUSED void *data)
{
  Dice         dice      = RowDice(s->seed, 15, 0);
  const int    steps     = 3 + (int)Below(&dice, 5);
  Setting      setting   = {NULL, PETSC_FALSE, PETSC_FALSE};
  char         told[256] = "", text[128];
  PetscOptions o;
  KSP          ksp, new;
  Vec          x;

  PetscFunctionBeginUser;
  s->levels    = PETSC_TRUE;
  s->norm_none = PETSC_FALSE;
  (void)snprintf(text, sizeof(text), "-ksp_bai_backend %s -pc_bai_backend %s -pc_baimg_backend %s", s->backend,
                 s->backend, s->backend);
  PetscCall(PetscOptionsCreate(&o));
  PetscCall(PetscOptionsInsertString(o, text));
  PetscCall(VecDuplicate(s->x0, &x));
  PetscCall(Create(s, &setting, o, &ksp));
  for (int step = 0; step < steps; step++) {
    const Event event = step ? (Event)Below(&dice, EVENTS) : EVENT_NOTHING;
    Outcome     was, is;
    PetscReal   rounding, unused;

    PetscCall(Happen(s, event, step, &dice, &setting, ksp));
    (void)snprintf(told + strlen(told), sizeof(told) - strlen(told), " %s%s", events[event],
                   event == EVENT_PC ? setting.pc : "");
    PetscCall(Solve(s, ksp, &setting, x, &was, &rounding));
    PetscCall(Create(s, &setting, o, &new));
    PetscCall(Solve(s, new, &setting, x, &is, &unused));
    PetscCall(KSPDestroy(&new));
    /* Otherwise rounding may decide, or the number of iterations that are allowed */
    if (was.reason == KSP_DIVERGED_BREAKDOWN && was.rnorm <= 1000 * rounding) continue;
    if (is.reason > 0 && s->dominance > 1 && !s->signs && s->rtol > (PetscReal)1e-9 && 2 * is.its < s->max_it)
      PetscCall(Expect(was.reason > 0 && was.its <= 2 * is.its + 8,
                       "solve %d takes %d iterations, %s, and %d, %s, by a new solver:%s", step, (int)was.its,
                       KSPConvergedReasons[was.reason], (int)is.its, KSPConvergedReasons[is.reason], told));
    if (check.failed) break;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(TestSeeds(Test, NULL));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      timeoutfactor: 5
      nsize: {{1 2 3}}
      test:
         suffix: host
      test:
         suffix: host_found
         args: -first 443002741 -count 1
      test:
         suffix: cuda
         requires: baicuda
         args: -backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -backend cuda -mat_type aijcusparse

TEST*/
