/*
   What tests of drawn systems share: what a solve claims, and the loop over seeds, with the options
   -first SEED -count SYSTEMS : the systems of these seeds, a case each (1, 50)
   -seconds T                 : as many from the first on as T seconds allow, then says how many
   -backend (auto|host|cuda)  : where they are solved
   -patience T                : seconds that a system may take (60)
   -tell                      : prints each system before it is solved
*/
#ifndef BAI_TESTS_SEEDS_H
#define BAI_TESTS_SEEDS_H

#include "check.h"
#include "parts/drawn.h"
#include <petsctime.h>
#include <signal.h>
#include <unistd.h>

/* How a solve ended */
typedef struct {
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          rnorm;
} Outcome;

/* What rounding may do to ||b - A x||: so many units of || |A||x| + |b| || */
static inline PetscErrorCode Rounding(const System *s, Vec x, PetscReal *rounding)
{
  Mat       absolute, part[2] = {NULL, NULL};
  Vec       y, z;
  PetscBool mpi;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(s->A, MAT_COPY_VALUES, &absolute));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)absolute, MATMPIAIJ, &mpi));
  part[0] = absolute;
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(absolute, &part[0], &part[1], NULL));
  for (int k = 0; k < 2 && part[k]; k++) {
    MatInfo      info;
    PetscScalar *a;

    PetscCall(MatGetInfo(part[k], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(part[k], &a));
    for (PetscInt at = 0; at < (PetscInt)info.nz_used; at++) a[at] = PetscAbsScalar(a[at]);
    PetscCall(MatSeqAIJRestoreArray(part[k], &a));
  }
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(s->b, &z));
  PetscCall(VecCopy(x, y));
  PetscCall(VecAbs(y));
  PetscCall(MatMult(absolute, y, z));
  PetscCall(VecCopy(s->b, y));
  PetscCall(VecAbs(y));
  PetscCall(VecAXPY(z, 1, y));
  PetscCall(NormOf(z, rounding));
  *rounding *= (PetscReal)(s->longest + 10) * PETSC_MACHINE_EPSILON;
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&absolute));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is claimed of x holds for the residual as PETSc computes it */
static inline PetscErrorCode IsTrue(const System *s, Vec x, const Outcome *o)
{
  Vec       r;
  PetscReal norm, bnorm, tolerance, rounding;

  PetscFunctionBeginUser;
  PetscCall(Expect(o->reason != KSP_CONVERGED_ITERATING, "a solve has a reason to end"));
  PetscCall(Expect(o->its >= 0 && o->its <= s->max_it, "%" PetscInt_FMT " iterations of at most %" PetscInt_FMT, o->its,
                   s->max_it));
  if (s->norm_none)
    PetscCall(Expect((o->reason == KSP_CONVERGED_ITS && o->its == s->max_it) ||
                       (s->levels && o->reason == KSP_DIVERGED_NANORINF), /* that of a Krylov method may overflow */
                     "without a norm all iterations are done, and %s: %" PetscInt_FMT, KSPConvergedReasons[o->reason],
                     o->its));
  if (s->norm_none || o->reason == KSP_DIVERGED_NANORINF) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(s->b, &r));
  PetscCall(MatResidual(s->A, s->b, x, r));
  PetscCall(NormOf(r, &norm));
  PetscCall(NormOf(s->b, &bnorm));
  PetscCall(Rounding(s, x, &rounding));
  tolerance = PetscMax(s->rtol * bnorm, s->atol);
  if (bnorm == 0 && s->guess) { /* then PETSc takes the tolerance to be relative to the first residual */
    PetscReal first;

    PetscCall(MatResidual(s->A, s->b, s->x0, r));
    PetscCall(NormOf(r, &first));
    tolerance = PetscMax(s->rtol * first, s->atol);
  }
  if (o->reason > 0) {
    const PetscBool right      = (PetscBool)(norm <= (1 + 100 * PETSC_MACHINE_EPSILON) * tolerance + rounding);
    PetscReal       by_entries = norm, again = norm, largest = norm;
    PetscMPIInt     ranks;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    if (!right && ranks == 1) PetscCall(ResidualNormByEntries(s->A, s->b, x, &by_entries));
    if (!right) PetscCall(VecNorm(r, NORM_INFINITY, &largest));
    if (!right) PetscCall(TrueResidualNorm(s->A, s->b, x, &again));
    PetscCall(Expect(right,
                     "%s after %" PetscInt_FMT " iterations, with a residual norm of %g, whose largest entry is %g, by "
                     "another product %g, entry by entry %g, for %g",
                     KSPConvergedReasons[o->reason], o->its, (double)norm, (double)largest, (double)again,
                     (double)by_entries, (double)tolerance));
  }
  if (o->reason == KSP_DIVERGED_ITS)
    PetscCall(Expect(o->its == s->max_it, "%s after %" PetscInt_FMT " of %" PetscInt_FMT " iterations",
                     KSPConvergedReasons[o->reason], o->its, s->max_it));
  if (!PetscIsInfOrNanReal(norm))
    PetscCall(Expect(PetscAbsReal(o->rnorm - norm) <= (PetscReal)1e-3 * norm + rounding,
                     "%s: the residual norm is that of x: %g, not %g", KSPConvergedReasons[o->reason], (double)o->rnorm,
                     (double)norm));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes that promise the same bits every time */
static inline PetscBool IsFixed(const System *s)
{
  return (PetscBool)(s->mode == BAI_MODE_SYNC || s->mode == BAI_MODE_COLOR);
}

/* Nobody hears from a rank that waits in vain but by its signal */
static inline void Hangs(PETSC_UNUSED int signal_number)
{
  const char before[] = "Not so: ", after[] = ": it hangs\n";

  if (write(1, before, sizeof(before) - 1) < 0 || write(1, check.name, strlen(check.name)) < 0 ||
      write(1, after, sizeof(after) - 1) < 0)
    _exit(2);
  (void)signal(SIGABRT, SIG_DFL);
  abort();
}

/* Tests the systems of the seeds that the options name. data: what Test() needs besides */
static inline PetscErrorCode TestSeeds(PetscErrorCode (*Test)(System *, void *), void *data)
{
  PetscInt       first = 1, count = 50, patience = 60, done = 0;
  PetscReal      seconds = 0;
  PetscLogDouble start, now;
  PetscBool      timed, tell = PETSC_FALSE;
  int            more = 1;
  PetscMPIInt    size;
  PetscErrorCode code;
  char           backend[16] = "auto";
  System         s;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, &timed));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-patience", &patience, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-tell", &tell, NULL));
  (void)signal(SIGALRM, Hangs);
  PetscCall(PetscTime(&start));
  while (more) {
    if (Case("seed_%d", (int)(first + done))) {
      (void)alarm((unsigned)patience);
      DrawSystem(&s, (int)(first + done), backend);
      PetscCall(CreateSystem(&s));
      if (tell) PetscCall(TellSystem(&s));
      code = (*Test)(&s, data);
      if (code) { /* perhaps not on all ranks */
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "Not so: %s: error %d\n", check.name, (int)code));
        PetscCall(CheckPrintCommand());
      }
      PetscCall(code);
      if (check.failed) PetscCall(TellSystem(&s));
      PetscCall(DestroySystem(&s));
      (void)alarm(0);
    }
    done++;
    PetscCall(PetscTime(&now));
    more = timed ? now - start < seconds : done < count;
    PetscCallMPI(MPI_Bcast(&more, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  }
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (timed)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%" PetscInt_FMT " systems on %d ranks, seeds %" PetscInt_FMT " to %" PetscInt_FMT "\n", done,
                          size, first, first + done - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif
