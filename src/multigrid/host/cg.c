/* The cycle for vectors of the caller, and CG preconditioned by it, on the host */
#include "levels.h"
#include "../../common/krylov_rules.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Does a cycle for vectors in the caller's ordering; minus: for -r */
static BAIStatus Do(BAILevelsState state, int minus, const BAIScalar *r, BAIScalar *z)
{
  const BAIHostLevel *L = state->level;
  const BAIInt        n = L->A.n;

#pragma omp parallel for num_threads(BAITogether(n, state->p.threads)) schedule(static)
  for (BAIInt p = 0; p < n; p++) L->b[p] = minus ? -r[L->row[p]] : r[L->row[p]];
  BAIHostCycle(state);
#pragma omp parallel for num_threads(BAITogether(n, state->p.threads)) schedule(static)
  for (BAIInt p = 0; p < n; p++) z[L->row[p]] = L->x[p];
  if (state->given_up) return BAIStatusBecause(BAI_ERR_ABSENT, "a cycle of several ranks", "one of them has given up");
  return BAIStatusOf(BAI_OK);
}

/* The operations Apply and Solve of ../ops.def */
BAIStatus BAIHostApply(BAILevelsState state, const BAIScalar *r, BAIScalar *z)
{
  return Do(state, state->info.negative, r, z);
}

/* Re x^H y, summed in an order that does not depend on the number of threads */
static BAIReal Dot(BAIInt n, const BAIScalar *x, const BAIScalar *y, int threads)
{
  enum {
    PARTS = 256
  };
  BAIReal part[PARTS], sum = 0;

  (void)threads; /* without OpenMP */
#pragma omp parallel for num_threads(BAITogether(n, threads)) schedule(static)
  for (int k = 0; k < PARTS; k++) {
    part[k] = 0;
    for (BAIInt i = (BAIInt)((int64_t)n * k / PARTS); i < (BAIInt)((int64_t)n * (k + 1) / PARTS); i++)
      part[k] += BAIRealPart(BAIConj(x[i]) * y[i]);
  }
  for (int k = 0; k < PARTS; k++) sum += part[k];
  return sum;
}

static void Multiply(const BAIRows *A, const BAIScalar *x, BAIScalar *y, int threads)
{
  (void)threads; /* without OpenMP */
#pragma omp parallel for num_threads(BAITogether(A->n, threads)) schedule(static)
  for (BAIInt i = 0; i < A->n; i++) {
    y[i] = 0;
    for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++) y[i] += A->a[k] * x[A->j[k]];
  }
}

#if defined(PETSC_USE_COMPLEX)
typedef long double _Complex Long;
#else
typedef long double Long;
#endif

/* r = b - A x, summed in extended precision */
static void Residual(const BAIRows *A, const BAIScalar *b, const BAIScalar *x, BAIScalar *r, int threads)
{
  (void)threads; /* without OpenMP */
#pragma omp parallel for num_threads(BAITogether(A->n, threads)) schedule(static)
  for (BAIInt i = 0; i < A->n; i++) {
    Long rest = b[i];

    for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++) rest -= (Long)A->a[k] * (Long)x[A->j[k]];
    r[i] = (BAIScalar)rest;
  }
}

/* Vectors of CG: s = A p, u is the preconditioned residual, w = A u */
typedef struct {
  BAIInt         n;
  int            threads;
  BAICGDirection direction;
  BAIScalar     *d; /* the correction to be added to x, or x itself if that was zero */
  BAIScalar     *r, *p, *s, *u, *w;
} CG;

/* Does one iteration. Returns 0 if the matrix or the cycle is not positive definite */
static int Iterate(BAILevelsState state, CG *cg)
{
  BAIReal gamma, delta, alpha, beta;

  (void)Do(state, 0, cg->r, cg->u);
  Multiply(&state->level[0].A, cg->u, cg->w, cg->threads);
  gamma = Dot(cg->n, cg->r, cg->u, cg->threads);
  delta = Dot(cg->n, cg->u, cg->w, cg->threads);
  if (!BAINextDirection(&cg->direction, gamma, delta, Dot(cg->n, cg->u, cg->s, cg->threads))) return 0;
  alpha = cg->direction.alpha;
  beta  = cg->direction.beta;
#pragma omp parallel for num_threads(BAITogether(cg->n, cg->threads)) schedule(static)
  for (BAIInt i = 0; i < cg->n; i++) {
    cg->p[i] = cg->u[i] + beta * cg->p[i];
    cg->s[i] = cg->w[i] + beta * cg->s[i];
    cg->d[i] += alpha * cg->p[i];
    cg->r[i] -= alpha * cg->s[i];
  }
  return 1;
}

/* Iterates from the residual cg->r, adding to cg->d, until the norm of the updated residual meets the goal or exceeds
   a positive most, max_it is reached, the method fails or the monitor stops it. Updates its, rnorm and reason of s */
static void Run(BAILevelsState state, CG *cg, BAIReal goal, BAIReal most, const BAITolerances *t,
                BAILevelsMonitor monitor, void *context, BAILevelsSolution *s)
{
  BAIStall stall;

  cg->direction.ps = 0;
  BAIStallBegin(&stall, (int)s->its, (double)s->rnorm * (double)s->rnorm, 1);
  memset(cg->p, 0, (size_t)cg->n * sizeof(*cg->p));
  memset(cg->s, 0, (size_t)cg->n * sizeof(*cg->s));
  for (s->reason = BAI_LEVELS_ITS; s->its < t->max_it;) {
    if (!Iterate(state, cg)) {
      s->reason = BAI_LEVELS_INDEFINITE;
      return;
    }
    s->its++;
    s->rnorm  = (BAIReal)sqrt((double)Dot(cg->n, cg->r, cg->r, cg->threads));
    s->reason = BAIReasonToEnd(s->rnorm, goal, most);
    if (s->reason == BAI_LEVELS_ITS && !monitor && !t->fixed &&
        BAIStalls(&stall, (int)s->its, (double)s->rnorm * (double)s->rnorm))
      s->reason = BAI_LEVELS_STALLED; /* otherwise the monitor checks it */
    if (s->reason == BAI_LEVELS_CONVERGED && !monitor) return;
    if (monitor && monitor(context, s->its, s->rnorm)) return;
    if (s->reason != BAI_LEVELS_ITS) return;
  }
}

/* Computes the norms of D^-1 r and D^-1 b in s, where D is the diagonal of A. Overwrites cg->u and cg->w. Rows without
   a diagonal entry do not count */
static void ScaledNorms(const BAIRows *A, CG *cg, const BAIScalar *b, BAILevelsSolution *s)
{
#pragma omp parallel for num_threads(BAITogether(cg->n, cg->threads)) schedule(static)
  for (BAIInt i = 0; i < cg->n; i++) {
    BAIReal w = 0;

    for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++)
      if (A->j[k] == i && A->a[k] != (BAIScalar)0) w = 1 / BAIAggregateMagnitude(A->a[k]);
    cg->u[i] = w * cg->r[i];
    cg->w[i] = w * b[i];
  }
  s->scaled   = (BAIReal)sqrt((double)Dot(cg->n, cg->u, cg->u, cg->threads));
  s->scaled_b = (BAIReal)sqrt((double)Dot(cg->n, cg->w, cg->w, cg->threads));
}

/* If the diagonal is negative, solves -A x = -b */
BAIStatus BAIHostSolve(BAILevelsState state, const BAIScalar *b, BAIScalar *x, int guess_zero, const BAITolerances *t,
                       BAILevelsMonitor monitor, void *context, BAILevelsSolution *s)
{
  const BAIInt n       = state->level[0].A.n;
  const int    threads = state->p.threads;
  BAIScalar *work = malloc(7 * (size_t)(n + 1) * sizeof(*work)), *const minus_b = work + 6 * (size_t)n;
  CG      cg = {.n       = n,
                .threads = threads,
                .d       = x,
                .r       = work,
                .p       = work + n,
                .s       = work + 2 * n,
                .u       = work + 3 * n,
                .w       = work + 4 * n};
  BAIReal tolerance, most;
  BAITest test;
  int     ends;

  if (!work) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt i = 0; i < n && state->info.negative; i++) minus_b[i] = -b[i];
  if (state->info.negative) b = minus_b;
  if (guess_zero) memset(x, 0, (size_t)n * sizeof(*x));
  Residual(&state->level[0].A, b, x, cg.r, threads);
  *s        = (BAILevelsSolution){.its = 0};
  s->bnorm  = (BAIReal)sqrt((double)(t->bnorm2 < 0 ? Dot(n, b, b, threads) : t->bnorm2));
  s->rnorm0 = s->rnorm = (BAIReal)sqrt((double)Dot(n, cg.r, cg.r, threads));
  tolerance            = BAIToleranceOf(t->rtol, t->abstol, s->bnorm);
  most                 = t->dtol * s->bnorm;
  s->reason            = BAIReasonToEnd(s->rnorm, tolerance, 0);
  ends                 = monitor && monitor(context, 0, s->rnorm);
  for (BAITestBegin(&test, tolerance, s->rnorm); s->reason == BAI_LEVELS_ITS && s->its < t->max_it && !ends;) {
    if ((!guess_zero || s->its) && !monitor)
      cg.d = work + 5 * n; /* x is rounded once, when the whole correction is added */
    if (cg.d != x) memset(cg.d, 0, (size_t)n * sizeof(*x));
    Run(state, &cg, (BAIReal)test.goal, most, t, monitor, context, s);
    for (BAIInt k = 0; k < n && cg.d != x; k++) x[k] += cg.d[k];
    Residual(&state->level[0].A, b, x, cg.r, threads);
    s->rnorm = (BAIReal)sqrt((double)Dot(n, cg.r, cg.r, threads));
    if (t->scaled > 0) ScaledNorms(&state->level[0].A, &cg, b, s);
    ends = BAITestRun(&test, s->rnorm, s->scaled, BAIScaledLimit(t, t->abstol, tolerance, s->scaled_b), &s->reason);
    if (!ends) s->reason = BAI_LEVELS_ITS;
  }
  free(work);
  return BAIStatusOf(BAI_OK);
}
