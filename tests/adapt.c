static char help[] = "What the acceleration decides, for residual norms that are known beforehand: when to look, with which relaxation to go on, and when to leave a mode.\n\n";

#include "check.h"
#include "../src/engine/adapt.h"

static BAIGoal GoalFor(BAIMode mode, BAIMode accelerated, double tol)
{
  const BAIGoal goal = {.mode = mode, .accelerated = accelerated, .accelerate = 1, .tol2 = tol * tol, .most2 = 1e300, .max_it = BAI_INT_MAX, .first = 1};

  return goal;
}

/* A norm that falls by q in each iteration: looks are as many as the logarithm of the iterations, and the last one is where the tolerance is met */
static PetscErrorCode Looks(void)
{
  const double  q = 0.5, tol = 1e-10;
  const BAIGoal goal = GoalFor(BAI_MODE_ASYNC, BAI_MODE_SYNC, tol);
  BAIAdapt      a;
  BAIDecision   d     = BAIAdaptStart(&a, &goal, goal.mode, 0, 1);
  int           looks = 0;
  BAIInt        its   = 0;

  PetscFunctionBeginUser;
  while (!d.stop && looks < 100) {
    PetscCall(Expect(d.until > its && d.mode == BAI_MODE_ASYNC && d.omega == 1 && d.momentum == 0 && d.x == BAI_X_ON, "look %d: it goes on as it is", looks));
    its = d.until;
    d   = BAIAdaptLook(&a, its, pow(q, 2.0 * (double)its));
    looks++;
  }
  PetscCall(Expect(looks <= 6, "%d looks are no more than the logarithm of the iterations, and one", looks));
  PetscCall(Expect(its >= 34 && its <= 36, "after %d iterations the tolerance is met, 34 are needed", (int)its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A slow solve gets the relaxation that its rate calls for: omega = 2/(1 + sqrt(1 - rho^2)) */
static PetscErrorCode Relaxation(BAIMode mode)
{
  const double  q    = 0.99;
  const BAIGoal goal = GoalFor(mode, mode, 1e-10);
  BAIAdapt      a;
  BAIDecision   d   = BAIAdaptStart(&a, &goal, goal.mode, 0, 1);
  BAIInt        its = 0;
  double        rho = mode == BAI_MODE_COLOR ? sqrt(q) : q, omega = 2 / (1 + sqrt(1 - rho * rho));

  PetscFunctionBeginUser;
  while (d.omega == 1 && its < 1000) {
    its = d.until;
    d   = BAIAdaptLook(&a, its, pow(q, 2.0 * (double)its));
  }
  PetscCall(Expect(its >= 30 && its <= 63, "it shows to be slow after %d iterations", (int)its));
  PetscCall(Expect(d.begins && d.mode == mode && d.x == BAI_X_KEEP, "the acceleration begins, and x is kept"));
  PetscCall(Expect(fabs(d.omega - omega) <= 1e-9, "omega %g is the best one, %g", d.omega, omega));
  PetscCall(Expect(fabs(d.momentum - (mode == BAI_MODE_SYNC ? omega - 1 : 0)) <= 1e-9, "momentum %g", d.momentum));
  PetscCall(Expect(mode == BAI_MODE_SYNC ? d.plain == d.until : d.plain == d.until - 4, "plain iterations before the next look in mode color"));
  PetscCall(Expect(d.even == (mode == BAI_MODE_COLOR), "an even number of local sweeps in mode color"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Leaving a mode costs something: the iterations left must be 100 where the mode would change, and 20 where it would not */
static PetscErrorCode Threshold(BAIMode mode, double left, PetscBool accelerates)
{
  const double  q    = 0.9;
  const BAIGoal goal = GoalFor(mode, BAI_MODE_SYNC, pow(q, 31 + left));
  BAIAdapt      a;
  PetscBool     begins = PETSC_FALSE;

  PetscFunctionBeginUser;
  (void)BAIAdaptStart(&a, &goal, goal.mode, 0, 1);
  for (BAIInt its = 1; its <= 31; its++) {
    const BAIDecision d = BAIAdaptLook(&a, its, pow(q, 2.0 * (double)its));

    begins = (PetscBool)(begins || d.begins);
  }
  PetscCall(Expect(begins == accelerates, "with %g iterations left it %s accelerated", left, begins ? "is" : "is not"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What over-relaxation is raised to makes the norm grow, every time: mode sync is tried, and then the mode of the options goes on for good */
static PetscErrorCode InVain(BAIMode mode)
{
  const double  q    = 0.995;
  const BAIGoal goal = GoalFor(mode, mode, 1e-30);
  BAIAdapt      a;
  BAIDecision   d       = BAIAdaptStart(&a, &goal, goal.mode, 0, 1);
  double        rnorm   = 1;
  int           in_sync = 0, ended = 0;
  BAIInt        its = 0;

  PetscFunctionBeginUser;
  while (its < 100000 && !ended) {
    const BAIInt before = its;

    its   = d.until;
    rnorm = d.omega > 1 ? 1e5 * rnorm : rnorm * pow(q, (double)(its - before));
    d     = BAIAdaptLook(&a, its, rnorm * rnorm);
    if (d.x == BAI_X_BACK) rnorm = sqrt(a.best2);
    in_sync = in_sync || d.mode == BAI_MODE_SYNC;
    ended   = in_sync && d.mode == mode && !a.accelerate;
  }
  PetscCall(Expect(in_sync, "mode sync is tried"));
  PetscCall(Expect(mode == BAI_MODE_SYNC || ended, "the mode of the options goes on at last"));
  for (int k = 0; k < 10 && mode != BAI_MODE_SYNC; k++) {
    const BAIInt before = its;

    its = d.until;
    rnorm *= pow(q, (double)(its - before));
    d = BAIAdaptLook(&a, its, rnorm * rnorm);
    PetscCall(Expect(d.mode == mode && d.omega == 1 && !d.begins, "and is not accelerated again"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Near the largest count a look is due after it, not before */
static PetscErrorCode LargeCounts(void)
{
  const BAIInt far[] = {BAI_INT_MAX / 2, BAI_INT_MAX / 2 + 1, BAI_INT_MAX - 5};

  PetscFunctionBeginUser;
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(far); k++) {
      BAIGoal     goal = GoalFor((BAIMode)mode, mode == BAI_MODE_COLOR ? BAI_MODE_COLOR : BAI_MODE_SYNC, 1e-10);
      BAIAdapt    a;
      BAIDecision d;

      goal.first = far[k];
      d          = BAIAdaptStart(&a, &goal, goal.mode, 1, 1);
      PetscCall(Expect(d.until > 1, "the first look at %g is after the start", (double)d.until));
      for (int look = 0; look < 3 && d.until < BAI_INT_MAX; look++) {
        const BAIInt its = d.until;

        d = BAIAdaptLook(&a, its, 0.5);
        PetscCall(Expect(d.until > its, "after %g iterations the next look is at %g", (double)its, (double)d.until));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the backend decides it decides the same, for norms that fall at a rate, jump, and stay */
static PetscErrorCode Replay(BAIMode mode, double q, double jump)
{
  enum {
    LOOKS = 60
  };
  BAIGoal     goal    = GoalFor(mode, mode == BAI_MODE_COLOR ? BAI_MODE_COLOR : BAI_MODE_SYNC, 1e-200);
  BAIBackend  backend = BAI_BACKEND_HOST;
  double      rnorm2[LOOKS];
  BAIDecision found[LOOKS];
  BAIAdapt    a;
  BAIDecision d;
  BAIStatus   status;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-backend", BAIBackends, (PetscEnum *)&backend, NULL));
  for (int k = 0; k < LOOKS; k++) rnorm2[k] = pow(q, 20.0 * k) * (k % 7 == 5 ? jump : 1);
  status = BAIBackendReplay(backend, &goal, LOOKS, rnorm2, found);
  PetscCall(Expect(!status.code, "backend %s: %s", BAIBackends[backend], BAICodeString(status.code)));
  if (status.code) PetscFunctionReturn(PETSC_SUCCESS);
  d = BAIAdaptStart(&a, &goal, goal.mode, 0, rnorm2[0]);
  for (int k = 0; k < LOOKS; k++) {
    const BAIDecision *f = &found[k];

    if (k) d = BAIAdaptLook(&a, d.until, rnorm2[k]);
    PetscCall(Expect(f->stop == d.stop && f->mode == d.mode && f->begins == d.begins && f->even == d.even && f->until == d.until && f->plain == d.plain && f->x == d.x, "look %d: the same decision", k));
    PetscCall(Expect(fabs(f->omega - d.omega) <= 1e-12 && fabs(f->momentum - d.momentum) <= 1e-12, "look %d: omega %.15g, not %.15g", k, f->omega, d.omega));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    if (Case("replay_%s_fast", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 0.7, 1));
    if (Case("replay_%s_slow", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 0.99, 1));
    if (Case("replay_%s_grows", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 0.995, 1e7));
    if (Case("replay_%s_stays", BAIModes[mode])) PetscCall(Replay((BAIMode)mode, 1, 1.5));
  }
  if (Case("looks")) PetscCall(Looks());
  if (Case("relaxation_sync")) PetscCall(Relaxation(BAI_MODE_SYNC));
  if (Case("relaxation_color")) PetscCall(Relaxation(BAI_MODE_COLOR));
  if (Case("threshold_same_mode")) {
    PetscCall(Threshold(BAI_MODE_SYNC, 15, PETSC_FALSE));
    PetscCall(Threshold(BAI_MODE_SYNC, 25, PETSC_TRUE));
  }
  if (Case("threshold_other_mode")) {
    PetscCall(Threshold(BAI_MODE_ASYNC, 25, PETSC_FALSE));
    PetscCall(Threshold(BAI_MODE_ASYNC, 95, PETSC_FALSE));
    PetscCall(Threshold(BAI_MODE_ASYNC, 105, PETSC_TRUE));
  }
  if (Case("in_vain_color")) PetscCall(InVain(BAI_MODE_COLOR));
  if (Case("in_vain_sync")) PetscCall(InVain(BAI_MODE_SYNC));
  if (Case("large_counts")) PetscCall(LargeCounts());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -backend cuda -case replay

TEST*/
