/*
   The coarse space of engine.h: A_c = P^H A P, its inverse, and the correction
*/
#include "../inverse.h"
#include "host.h"
#include <stdlib.h>
#include <string.h>

static BAIInt Unknowns(const BAIHostCoarse *c)
{
  return c->aggregates * c->columns;
}

static BAIScalar Conjugate(BAIScalar value)
{
#if defined(PETSC_USE_COMPLEX)
  return conj(value);
#else
  return value;
#endif
}

static BAIScalar Basis(const BAIHostCoarse *c, BAIInt i, BAIInt k)
{
  return c->basis ? c->basis[i * c->columns + k] : 1;
}

/* A_c column by column, as LAPACK takes it; each of its rows is one thread's */
static void Galerkin(const BAIHostCoarse *c, const BAIMatrix *M, int threads, BAIScalar *a)
{
  const BAIInt m = Unknowns(c);

  (void)threads; /* without OpenMP */
  memset(a, 0, (size_t)m * (size_t)m * sizeof(*a));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (BAIInt K = 0; K < c->aggregates; K++) {
    for (BAIInt at = c->first[K]; at < c->first[K + 1]; at++) {
      const BAIInt i = c->row[at];

      for (BAIInt k = M->A.i[i]; k < M->A.i[i + 1]; k++) {
        const BAIInt j = M->A.j[k], J = c->aggregate[j];

        for (BAIInt p = 0; J >= 0 && p < c->columns; p++) {
          for (BAIInt q = 0; q < c->columns; q++) a[(size_t)(J * c->columns + q) * (size_t)m + (size_t)(K * c->columns + p)] += Conjugate(Basis(c, i, p)) * M->A.a[k] * Basis(c, j, q);
        }
      }
    }
  }
}

/* z = P^H 1; returns z^H z */
static BAIReal Ones(const BAIHostCoarse *c, BAIScalar *z)
{
  BAIReal norm2 = 0;

  for (BAIInt K = 0; K < c->aggregates; K++) {
    for (BAIInt k = 0; k < c->columns; k++) {
      BAIScalar sum = c->basis ? 0 : 1;

      for (BAIInt at = c->first[K]; c->basis && at < c->first[K + 1]; at++) sum += Conjugate(Basis(c, c->row[at], k));
      z[K * c->columns + k] = sum;
      norm2 += BAIAbs2(sum);
    }
  }
  return norm2;
}

/* Makes the inverse one that exists: where a function is zero everywhere its unknown stays alone, and the null space, which is z, is lifted by the mean of the diagonal */
static void Regularize(const BAIHostCoarse *c, BAIScalar *a)
{
  const size_t m    = (size_t)Unknowns(c);
  BAIScalar    mean = 0, *z = c->sums;
  BAIReal      norm2;

  for (size_t i = 0; i < m; i++) {
    mean += a[i * m + i] / (BAIReal)m;
    if (a[i * m + i] == 0) a[i * m + i] = 1;
  }
  norm2 = c->singular ? Ones(c, z) : 0;
  for (size_t k = 0; norm2 > 0 && k < m * m; k++) a[k] += mean * z[k % m] * Conjugate(z[k / m]) / norm2;
}

BAIStatus BAIHostCoarseUpdate(BAIState state, const BAIMatrix *M)
{
  BAIHostCoarse *c = &state->coarse;
  const size_t   m = (size_t)Unknowns(c);
  BAIScalar     *a;
  BAIStatus      status;

  if (!BAIHasCoarse(c)) return BAIStatusOf(BAI_OK);
  a = malloc(m * m * sizeof(*a));
  if (!a) return BAIStatusOf(BAI_ERR_MEMORY);
  Galerkin(c, M, state->p.threads, a);
  Regularize(c, a);
  status = BAIInvert((int)m, a);
  for (size_t i = 0; !status.code && i < m; i++) {
    for (size_t j = 0; j < m; j++) c->inverse[i * m + j] = (BAISingle)a[j * m + i];
  }
  free(a);
  return status;
}

/* The rows of each aggregate, in ascending order */
static void ListRows(BAIHostCoarse *c, BAIInt n)
{
  memset(c->first, 0, ((size_t)c->aggregates + 2) * sizeof(*c->first));
  for (BAIInt i = 0; i < n; i++) {
    if (c->aggregate[i] >= 0) c->first[c->aggregate[i] + 2]++;
  }
  for (BAIInt K = 0; K < c->aggregates; K++) c->first[K + 2] += c->first[K + 1];
  for (BAIInt i = 0; i < n; i++) {
    if (c->aggregate[i] >= 0) c->row[c->first[c->aggregate[i] + 1]++] = i;
  }
}

BAIStatus BAIHostCoarsen(BAIState state, const BAIMatrix *M, const BAICoarse *coarse)
{
  BAIHostCoarse *c = &state->coarse;
  const size_t   n = (size_t)state->A.n + 1, blocks = (size_t)state->A.blocks + 1;
  size_t         m;

  BAIHostCoarseDestroy(c);
  if (!coarse->aggregates) return BAIStatusOf(BAI_OK);
  c->aggregates = coarse->aggregates;
  c->columns    = coarse->columns;
  c->singular   = coarse->singular;
  m             = (size_t)Unknowns(c);
  c->aggregate  = malloc(n * sizeof(*c->aggregate));
  c->basis      = coarse->basis ? malloc(n * (size_t)c->columns * sizeof(*c->basis)) : NULL;
  c->first      = malloc(((size_t)c->aggregates + 2) * sizeof(*c->first));
  c->row        = malloc(n * sizeof(*c->row));
  c->inverse    = malloc(m * m * sizeof(*c->inverse));
  c->sums       = calloc(m, sizeof(*c->sums));
  c->e          = malloc(m * sizeof(*c->e));
  c->r          = malloc(n * sizeof(*c->r));
  c->taken      = malloc(blocks * sizeof(*c->taken));
  c->left       = malloc(blocks * sizeof(*c->left));
  c->smoothed   = malloc(blocks * sizeof(*c->smoothed));
  c->since      = malloc(blocks * sizeof(*c->since));
  if (!c->aggregate || (coarse->basis && !c->basis) || !c->first || !c->row || !c->inverse || !c->sums || !c->e || !c->r || !c->taken || !c->left || !c->smoothed || !c->since) return BAIStatusOf(BAI_ERR_MEMORY);
  memcpy(c->aggregate, coarse->aggregate, (n - 1) * sizeof(*c->aggregate));
  if (c->basis) memcpy(c->basis, coarse->basis, (n - 1) * (size_t)c->columns * sizeof(*c->basis));
  ListRows(c, state->A.n);
  return BAIHostCoarseUpdate(state, M);
}

void BAIHostCoarseBind(BAIState state)
{
  BAIHostCoarse *c = &state->coarse;

  if (!BAIHasCoarse(c)) return;
  for (BAIInt block = 0; block < state->A.blocks; block++) {
    atomic_init(c->smoothed + block, 0);
    c->taken[block] = 0;
    c->left[block]  = 0;
    c->since[block] = 0;
  }
  atomic_init(&c->parts, 0);
  atomic_init(&c->ready, 0);
}

void BAIHostCoarseSolve(BAIHostCoarse *c, const BAIScalar *r)
{
  const BAIInt m = Unknowns(c);

  for (BAIInt K = 0; K < c->aggregates; K++) {
    for (BAIInt k = 0; k < c->columns; k++) {
      BAIScalar sum = 0;

      for (BAIInt at = c->first[K]; at < c->first[K + 1]; at++) sum += Conjugate(Basis(c, c->row[at], k)) * r[c->row[at]];
      c->sums[K * c->columns + k] = sum;
    }
  }
  for (BAIInt i = 0; i < m; i++) {
    BAIScalar sum = 0;

    for (BAIInt j = 0; j < m; j++) sum += (BAIScalar)c->inverse[(size_t)i * (size_t)m + (size_t)j] * c->sums[j];
    c->e[i] = sum;
  }
}

BAIStatus BAIHostCorrect(BAIState state, BAIReal omega)
{
  BAIHostCoarse *c = &state->coarse;

  if (!BAIHasCoarse(c)) return BAIStatusOf(BAI_OK);
  BAIHostCoarseSolve(c, state->v.b);
  for (BAIInt i = 0; i < state->A.n; i++) BAISetX(state, i, BAIGetX(state, i) + omega * BAIProlong(c, i));
  return BAIStatusOf(BAI_OK);
}

void BAIHostCoarseDestroy(BAIHostCoarse *c)
{
  free(c->aggregate);
  free(c->basis);
  free(c->first);
  free(c->row);
  free(c->inverse);
  free(c->sums);
  free(c->e);
  free(c->r);
  free(c->taken);
  free(c->left);
  free((void *)c->smoothed);
  free(c->since);
  memset(c, 0, sizeof(*c));
}
