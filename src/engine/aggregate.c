/*
   The search for the reach of aggregates; and aggregates on the host
*/
#include "aggregate.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* The least reach that leaves as many roots as wanted, or fewer; 0 roots: there is none */
static BAIStatus Search(const BAIAggregator *by, void *ctx, int n, BAIInt wanted, int *aggregates, int *reach)
{
  int roots[BAI_AGGREGATE_REACH + 1] = {0};

  *aggregates = 0;
  for (int seen = 0, k = 1; k <= BAI_AGGREGATE_REACH; k++) {
    if (k > seen) {
      const double more = seen
        ? 1.5 * seen + 1
        : 1 + cbrt((double)n / (double)wanted); /* what a grid of three dimensions takes, to begin with */
      const int    to   = more < BAI_AGGREGATE_REACH ? (int)more : BAI_AGGREGATE_REACH;

      BAITry(by->look(ctx, seen, to, roots));
      seen = to;
    }
    if (roots[k] > wanted) continue;
    *aggregates = roots[k];
    *reach      = k;
    break;
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIAggregateBy(const BAIAggregator *by, void *ctx, int n, BAIInt wanted, int *aggregates)
{
  int reach = 0;

  *aggregates = 0;
  for (int all = 0; all < 2 && !*aggregates && wanted > 0; all++) {
    BAITry(by->relate(ctx, all));
    BAITry(Search(by, ctx, n, wanted, aggregates, &reach));
  }
  return by->assign(ctx, *aggregates, reach);
}

/* On the host */
typedef struct {
  int           n;
  const BAICSR *A;
  BAIInt       *first;    /* n + 1 */
  int          *neighbor; /* the strong ones of row i, from first[i] to before first[i + 1] */
  uint32_t *seen, *next;  /* the largest key, or the aggregate + 1, as far as one has looked; room for a step further */
  signed char *alone; /* the last step with the row's own key the largest, or the most; -1: without strong neighbours */
  BAIInt      *aggregate;
} Aggregation;

static BAIReal Largest(const BAICSR *A, int i)
{
  BAIReal largest = 0;

  for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++) {
    const BAIReal magnitude = BAIAggregateMagnitude(A->a[k]);

    if (A->j[k] != i && magnitude > largest) largest = magnitude;
  }
  return largest;
}

static BAIStatus Relate(void *ctx, int all)
{
  Aggregation  *g = ctx;
  const BAICSR *A = g->A;

  g->first[0] = 0;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < g->n; i++) {
    const BAIReal largest = Largest(A, i);

    g->first[i + 1] = 0;
    for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++)
      g->first[i + 1] += A->j[k] != i && BAIAggregateIsStrong(BAIAggregateMagnitude(A->a[k]), largest, all);
  }
  for (int i = 0; i < g->n; i++) g->first[i + 1] += g->first[i];
  free(g->neighbor);
  g->neighbor = malloc(((size_t)g->first[g->n] + 1) * sizeof(*g->neighbor));
  if (!g->neighbor) return BAIStatusOf(BAI_ERR_MEMORY);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < g->n; i++) {
    const BAIReal largest = Largest(A, i);
    BAIInt        at      = g->first[i];

    g->alone[i] = largest > 0 ? BAI_AGGREGATE_REACH : -1;
    for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++) {
      if (A->j[k] != i && BAIAggregateIsStrong(BAIAggregateMagnitude(A->a[k]), largest, all))
        g->neighbor[at++] = (int)A->j[k];
    }
  }
  return BAIStatusOf(BAI_OK);
}

/* A step further. first: what a row has seen first it keeps, else the largest */
static void Step(Aggregation *g, int first)
{
  const uint32_t *seen = g->seen;
  uint32_t       *next = g->next;

#pragma omp parallel for schedule(static)
  for (int i = 0; i < g->n; i++) {
    uint32_t most = seen[i];

    if (!first || !most) {
      for (BAIInt k = g->first[i]; k < g->first[i + 1]; k++) {
        if (seen[g->neighbor[k]] > most) most = seen[g->neighbor[k]];
      }
    }
    next[i] = most;
  }
  g->next = g->seen;
  g->seen = next;
}

static BAIStatus Look(void *ctx, int from, int to, int roots[])
{
  Aggregation *g = ctx;

  if (!from) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < g->n; i++) g->seen[i] = g->alone[i] < 0 ? 0 : BAIAggregateKey(i);
  }
  for (int step = from + 1; step <= to; step++) {
    int count = 0;

    Step(g, 0);
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (int i = 0; i < g->n; i++) {
      if (g->alone[i] >= step && g->seen[i] != BAIAggregateKey(i)) g->alone[i] = (signed char)(step - 1);
      count += g->alone[i] >= step;
    }
    roots[step] = count;
  }
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Assign(void *ctx, int aggregates, int reach)
{
  Aggregation *g = ctx;

  for (int i = 0, a = 0; i < g->n; i++) g->seen[i] = aggregates && g->alone[i] >= reach ? (uint32_t)++a : 0;
  for (int left = aggregates ? g->n : 0, before = INT_MAX; left && left < before;) {
    before = left;
    left   = 0;
    for (int step = 0; step < reach; step++) Step(g, 1);
#pragma omp parallel for schedule(static) reduction(+ : left)
    for (int i = 0; i < g->n; i++) left += !g->seen[i] && g->alone[i] >= 0;
  }
#pragma omp parallel for schedule(static)
  for (int i = 0; i < g->n; i++) g->aggregate[i] = (BAIInt)g->seen[i] - 1;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIAggregate(BAIInt n, const BAICSR *A, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate)
{
  const BAIAggregator by     = {Relate, Look, Assign};
  const size_t        room   = (size_t)n + 1;
  Aggregation         g      = {.n = (int)n, .A = A, .aggregate = aggregate};
  int                 found  = 0;
  BAIStatus           status = BAIStatusOf(BAI_ERR_MEMORY);

  *aggregates = 0;
  if (n >= INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  g.first = malloc(room * sizeof(*g.first));
  g.seen  = malloc(room * sizeof(*g.seen));
  g.next  = malloc(room * sizeof(*g.next));
  g.alone = malloc(room * sizeof(*g.alone));
  if (g.first && g.seen && g.next && g.alone) status = BAIAggregateBy(&by, &g, g.n, wanted, &found);
  free(g.first);
  free(g.neighbor);
  free(g.seen);
  free(g.next);
  free(g.alone);
  *aggregates = found;
  return status;
}

BAIStatus BAIAggregateMatrix(const BAIMatrix *matrix, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate)
{
  return BAIAggregate(matrix->n, &matrix->A, wanted, aggregates, aggregate);
}
