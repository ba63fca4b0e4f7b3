/*
   The search for the reach of aggregates; and aggregates on the host
*/
#include "aggregate.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* How far the largest key is looked for: until there are few rows that have it, as roots are several times as many. As far as there are alone[k] */
static BAIStatus Look(const BAIAggregator *by, void *ctx, int n, BAIInt wanted, int alone[], int *far)
{
  enum {
    FEWER = 8
  };
  int seen = 0;

  for (*far = 1; *far <= BAI_AGGREGATE_REACH; ++*far) {
    if (*far > seen) {
      const double more = seen ? seen + seen / 2 + 1 : 1 + 2 * cbrt((double)n / (double)wanted); /* what a grid of three dimensions takes */
      const int    to   = more < BAI_AGGREGATE_REACH ? (int)more : BAI_AGGREGATE_REACH;

      BAITry(by->look(ctx, seen, to, alone));
      seen = to;
    }
    if (alone[*far] <= wanted / FEWER) break;
  }
  if (*far > BAI_AGGREGATE_REACH) *far = BAI_AGGREGATE_REACH;
  return BAIStatusOf(BAI_OK);
}

/* The least reach of more than low and less than high with at most goal roots, if there are times as many as rows alone; else the largest */
static int Guess(const int alone[], int low, int high, double times, double goal)
{
  int reach = low + 1;

  while (reach < high - 1 && times * alone[reach] > goal) reach++;
  return reach;
}

/* Roots for the relation as it is: at most as many as wanted; 0: there is no such reach */
static BAIStatus Search(const BAIAggregator *by, void *ctx, int n, BAIInt wanted, int *roots, int *reach)
{
  enum {
    TRIES = 4 /* unless none has done yet */
  };
  const double times = 2.5, goal = 0.75 * (double)wanted; /* times: measured on grids */
  int          alone[BAI_AGGREGATE_REACH + 1], far;

  *roots = 0;
  BAITry(Look(by, ctx, n, wanted, alone, &far));
  if (!alone[1] || alone[far] > wanted) return BAIStatusOf(BAI_OK); /* roots are at least as many */
  for (int low = 0, high = far + 1, tries = 1, next = Guess(alone, low, high, times, goal); high - low > 1; tries++) {
    const int tried = next;
    int       count;

    BAITry(by->choose(ctx, tried, &count));
    if (count > wanted) low = tried;
    else high = tried;
    if (count <= wanted && count > *roots) {
      BAITry(by->keep(ctx));
      *roots = count;
      *reach = tried;
    }
    if (*roots >= wanted - wanted / 2 || (*roots && tries >= TRIES)) break;
    next = Guess(alone, low, high, (double)count / alone[tried], goal);
    if (next < low + tries && low + tries < high) next = low + tries; /* what leaves too many is left by larger steps */
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
  BAIInt       *first;              /* n + 1 */
  int          *neighbor;           /* the strong ones of row i from first[i] to before first[i + 1] */
  uint32_t     *word, *seen, *next; /* seen: the largest word as far as one has looked; next: room for a step further */
  signed char  *alone;
  int          *root; /* those kept, by number */
  BAIInt       *aggregate;
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
    for (BAIInt k = A->i[i]; k < A->i[i + 1]; k++) g->first[i + 1] += A->j[k] != i && BAIAggregateIsStrong(BAIAggregateMagnitude(A->a[k]), largest, all);
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
      if (A->j[k] != i && BAIAggregateIsStrong(BAIAggregateMagnitude(A->a[k]), largest, all)) g->neighbor[at++] = (int)A->j[k];
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

static BAIStatus LookAround(void *ctx, int from, int to, int alone[])
{
  Aggregation *g = ctx;

  if (!from) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < g->n; i++) g->seen[i] = BAIAggregateBegin(i, g->alone[i], BAI_AGGREGATE_REACH + 1);
  }
  for (int step = from + 1; step <= to; step++) {
    int count = 0;

    Step(g, 0);
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (int i = 0; i < g->n; i++) {
      if (g->alone[i] >= step && g->seen[i] != BAIAggregateKey(i)) g->alone[i] = (signed char)(step - 1);
      count += g->alone[i] >= step;
    }
    alone[step] = count;
  }
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Choose(void *ctx, int reach, int *roots)
{
  Aggregation *g     = ctx;
  int          count = 0;

#pragma omp parallel for schedule(static)
  for (int i = 0; i < g->n; i++) g->word[i] = g->seen[i] = BAIAggregateBegin(i, g->alone[i], reach);
  for (int pass = 1; pass < BAI_AGGREGATE_PASSES; pass++) {
    for (int step = 0; step < reach; step++) Step(g, 0);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < g->n; i++) g->word[i] = g->seen[i] = BAIAggregateDecide(g->word[i], g->seen[i]);
  }
#pragma omp parallel for schedule(static) reduction(+ : count)
  for (int i = 0; i < g->n; i++) count += g->word[i] == BAI_AGGREGATE_ROOT;
  *roots = count;
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Keep(void *ctx)
{
  Aggregation *g  = ctx;
  int          at = 0;

  for (int i = 0; i < g->n; i++) {
    if (g->word[i] == BAI_AGGREGATE_ROOT) g->root[at++] = i;
  }
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Assign(void *ctx, int aggregates, int reach)
{
  Aggregation *g = ctx;

#pragma omp parallel for schedule(static)
  for (int i = 0; i < g->n; i++) g->seen[i] = 0;
  for (int a = 0; a < aggregates; a++) g->seen[g->root[a]] = (uint32_t)a + 1;
  for (int left = g->n, before = INT_MAX; aggregates && left && left < before;) {
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
  const BAIAggregator by     = {Relate, LookAround, Choose, Keep, Assign};
  const size_t        room   = (size_t)n + 1;
  Aggregation         g      = {.n = (int)n, .A = A, .aggregate = aggregate};
  int                 found  = 0;
  BAIStatus           status = BAIStatusOf(BAI_ERR_MEMORY);

  *aggregates = 0;
  if (n >= INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  g.first = malloc(room * sizeof(*g.first));
  g.word  = malloc(room * sizeof(*g.word));
  g.seen  = malloc(room * sizeof(*g.seen));
  g.next  = malloc(room * sizeof(*g.next));
  g.alone = malloc(room * sizeof(*g.alone));
  g.root  = malloc(room * sizeof(*g.root));
  if (g.first && g.word && g.seen && g.next && g.alone && g.root) status = BAIAggregateBy(&by, &g, g.n, wanted, &found);
  free(g.first);
  free(g.neighbor);
  free(g.word);
  free(g.seen);
  free(g.next);
  free(g.alone);
  free(g.root);
  *aggregates = found;
  return status;
}

BAIStatus BAIAggregateMatrix(const BAIMatrix *matrix, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate)
{
  return BAIAggregate(matrix->n, &matrix->A, wanted, aggregates, aggregate);
}
