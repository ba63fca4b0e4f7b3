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

static BAIInt AllUnknowns(const BAIHostCoarse *c)
{
  return c->all * c->columns;
}

/* Adds the entries of a row of A, or of the columns that other ranks own, to the rows of A_c that its aggregate has;
 * aggregate and basis are those of the columns */
static void AddRow(const BAIHostCoarse *c, BAIInt i, const BAICSR *A, const BAIInt *aggregate, BAIInt mine,
                   const BAIScalar *basis, BAIScalar *a, size_t width)
{
  for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++) {
    const BAIInt j = A->j[k], J = aggregate[j];

    for (BAIInt p = 0; J >= 0 && p < c->columns; p++) {
      for (BAIInt q = 0; q < c->columns; q++)
        a[(size_t)p * width + (size_t)((mine + J) * c->columns + q)] += Conjugate(Basis(c, i, p)) * A->a[k] *
          (basis ? basis[j * c->columns + q] : 1);
    }
  }
}

/* Own rows of A_c, each so wide; those of an aggregate are one thread's */
static void Galerkin(const BAIHostCoarse *c, const BAIMatrix *M, int threads, BAIScalar *a, size_t width)
{
  (void)threads; /* without OpenMP */
  memset(a, 0, (size_t)Unknowns(c) * width * sizeof(*a));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (BAIInt K = 0; K < c->aggregates; K++) {
    BAIScalar *row = a + (size_t)(K * c->columns) * width;

    for (BAIInt at = c->first[K]; at < c->first[K + 1]; at++) {
      AddRow(c, c->row[at], &M->A, c->aggregate, c->mine, c->basis, row, width);
      if (c->ghost) AddRow(c, c->row[at], &M->B, c->ghost, 0, c->ghost_basis, row, width);
    }
  }
}

/* The entry of P^H 1 behind each own row of A_c */
static void Ones(const BAIHostCoarse *c, BAIScalar *a)
{
  const size_t m = (size_t)AllUnknowns(c);

  for (BAIInt K = 0; K < c->aggregates; K++) {
    for (BAIInt k = 0; k < c->columns; k++) {
      BAIScalar sum = c->basis ? 0 : 1;

      for (BAIInt at = c->first[K]; c->basis && at < c->first[K + 1]; at++) sum += Conjugate(Basis(c, c->row[at], k));
      a[(size_t)(K * c->columns + k) * (m + 1) + m] = sum;
    }
  }
}

/*
   A_c, m rows and columns, from what has P^H 1 behind each row. It is made to have an inverse: where a function is zero
   everywhere its unknown stays alone, and the null space, which is P^H 1, is lifted by the mean of the diagonal
*/
static void Regularize(size_t m, int singular, BAIScalar *a)
{
  BAIScalar mean  = 0;
  BAIReal   norm2 = 0;

  for (size_t i = 0; i < m; i++) {
    BAIScalar *d = a + i * (m + 1) + i;

    mean += *d / (BAIReal)m;
    if (*d == 0) *d = 1;
    norm2 += BAIAbs2(a[i * (m + 1) + m]);
  }
  for (size_t i = 0; singular && norm2 > 0 && i < m; i++) {
    for (size_t j = 0; j < m; j++)
      a[i * (m + 1) + j] += mean * a[i * (m + 1) + m] * Conjugate(a[j * (m + 1) + m]) / norm2;
  }
  for (size_t i = 1; i < m; i++) memmove(a + i * m, a + i * (m + 1), m * sizeof(*a));
}

BAIStatus BAIHostCoarseRows(BAIState state, const BAIMatrix *M, BAIScalar *rows)
{
  const BAIHostCoarse *c = &state->coarse;

  Galerkin(c, M, state->p.threads, rows, (size_t)AllUnknowns(c) + 1);
  Ones(c, rows);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostCoarseInvert(BAIState state, BAIScalar *rows)
{
  BAIHostCoarse *c = &state->coarse;
  const size_t   m = (size_t)AllUnknowns(c), own = (size_t)Unknowns(c) * m, first = (size_t)(c->mine * c->columns) * m;
  BAIStatus      status;

  if (!BAIHasCoarse(c)) return BAIStatusOf(BAI_OK);
  Regularize(m, c->singular, rows);
  status = BAIInvert((int)m, rows); /* by columns it is the transpose, and so is its inverse */
  for (size_t k = 0; !status.code && k < own; k++) c->inverse[k] = (BAISingle)rows[first + k];
  return status;
}

BAIStatus BAIHostCoarseUpdate(BAIState state, const BAIMatrix *M)
{
  BAIHostCoarse *c = &state->coarse;
  const size_t   m = (size_t)Unknowns(c);
  BAIScalar     *rows;
  BAIStatus      status;

  if (!BAIHasCoarse(c) || c->together) return BAIStatusOf(BAI_OK);
  rows = malloc(m * (m + 1) * sizeof(*rows));
  if (!rows) return BAIStatusOf(BAI_ERR_MEMORY);
  status = BAIHostCoarseRows(state, M, rows);
  if (!status.code) status = BAIHostCoarseInvert(state, rows);
  free(rows);
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
  c->together   = coarse->gather != NULL;
  c->all        = c->together ? coarse->all : c->aggregates;
  c->mine       = c->together ? coarse->first : 0;
  m             = (size_t)Unknowns(c);
  c->aggregate  = malloc(n * sizeof(*c->aggregate));
  c->basis      = coarse->basis ? malloc(n * (size_t)c->columns * sizeof(*c->basis)) : NULL;
  c->first      = malloc(((size_t)c->aggregates + 2) * sizeof(*c->first));
  c->row        = malloc(n * sizeof(*c->row));
  c->inverse    = malloc(m * (size_t)AllUnknowns(c) * sizeof(*c->inverse));
  c->sums       = calloc(m, sizeof(*c->sums));
  c->e          = malloc(m * sizeof(*c->e));
  c->r          = malloc(n * sizeof(*c->r));
  c->taken      = malloc(blocks * sizeof(*c->taken));
  c->left       = malloc(blocks * sizeof(*c->left));
  c->smoothed   = malloc(blocks * sizeof(*c->smoothed));
  c->since      = malloc(blocks * sizeof(*c->since));
  if (!c->aggregate || (coarse->basis && !c->basis) || !c->first || !c->row || !c->inverse || !c->sums || !c->e ||
      !c->r || !c->taken || !c->left || !c->smoothed || !c->since)
    return BAIStatusOf(BAI_ERR_MEMORY);
  if (c->together && state->A.nghost) {
    const size_t ghosts = (size_t)state->A.nghost;

    c->ghost       = malloc(ghosts * sizeof(*c->ghost));
    c->ghost_basis = coarse->ghost_basis ? malloc(ghosts * (size_t)c->columns * sizeof(*c->ghost_basis)) : NULL;
    if (!c->ghost || (coarse->ghost_basis && !c->ghost_basis)) return BAIStatusOf(BAI_ERR_MEMORY);
    memcpy(c->ghost, coarse->ghost, ghosts * sizeof(*c->ghost));
    if (c->ghost_basis)
      memcpy(c->ghost_basis, coarse->ghost_basis, ghosts * (size_t)c->columns * sizeof(*c->ghost_basis));
  }
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

/* sums = P^H r */
static void Restrict(const BAIHostCoarse *c, const BAIScalar *r, BAIScalar *sums)
{
  for (BAIInt K = 0; K < c->aggregates; K++) {
    for (BAIInt k = 0; k < c->columns; k++) {
      BAIScalar sum = 0;

      for (BAIInt at = c->first[K]; at < c->first[K + 1]; at++)
        sum += Conjugate(Basis(c, c->row[at], k)) * r[c->row[at]];
      sums[K * c->columns + k] = sum;
    }
  }
}

/* e = A_c^{-1} sums, own rows */
static void Multiply(BAIHostCoarse *c, const BAIScalar *sums)
{
  const BAIInt m = Unknowns(c), all = AllUnknowns(c);

  for (BAIInt i = 0; i < m; i++) {
    const BAISingle *row = c->inverse + (size_t)i * (size_t)all;
    BAIScalar        sum = 0;

    for (BAIInt j = 0; j < all; j++) sum += (BAIScalar)row[j] * sums[j];
    c->e[i] = sum;
  }
}

void BAIHostCoarseSolve(BAIHostCoarse *c, const BAIScalar *r)
{
  Restrict(c, r, c->sums);
  Multiply(c, c->sums);
}

BAIStatus BAIHostRestricted(BAIState state, int of_b, BAIScalar *sums)
{
  const BAIHostCoarse *c = &state->coarse;

  Restrict(c, of_b ? state->v.b : c->r, sums);
  for (BAIInt k = 0; of_b && k < Unknowns(c); k++) sums[k] *= state->scale;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostProlong(BAIState state, const BAIScalar *sums, BAIReal omega)
{
  BAIHostCoarse *c = &state->coarse;

  if (!BAIHasCoarse(c)) return BAIStatusOf(BAI_OK);
  Multiply(c, sums);
#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt i = 0; i < state->A.n; i++) {
    const BAIScalar add = omega * BAIProlong(c, i);

    if (state->A.single) BAIStoreSingle(state->x, i, BAILoadSingle(state->x, i) + (BAISingle)add);
    else BAIStore(state->x, i, BAILoad(state->x, i) + add);
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostCorrect(BAIState state, BAIReal omega)
{
  BAIHostCoarse *c = &state->coarse;

  if (!BAIHasCoarse(c)) return BAIStatusOf(BAI_OK);
  BAITry(BAIHostRestricted(state, 1, c->sums));
  return BAIHostProlong(state, c->sums, omega);
}

void BAIHostCoarseDestroy(BAIHostCoarse *c)
{
  free(c->aggregate);
  free(c->basis);
  free(c->ghost);
  free(c->ghost_basis);
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
