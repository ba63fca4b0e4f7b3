#include "partition.h"
#include "tuning.h"
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

/* A row of a block, and its number of entries outside the block */
typedef struct {
  BAIInt outside, place, row;
} SortedRow;

static int ByOutside(const void *a, const void *b)
{
  const SortedRow *x = a, *y = b;

  if (x->outside != y->outside) return x->outside < y->outside ? -1 : 1;
  return x->place < y->place ? -1 : 1;
}

/* Sorts the rows of each block by their number of entries outside it; stable */
static BAIStatus SortByOutside(BAIInt n, const BAICSR *A, BAIInt blocks, const BAIInt *first, BAIInt *row)
{
  BAIInt    *block  = malloc(((size_t)n + 1) * sizeof(*block));
  SortedRow *sorted = malloc(((size_t)n + 1) * sizeof(*sorted));
  const int  room   = block && sorted;

  for (BAIInt b = 0; b < blocks && room; b++) {
    for (BAIInt p = first[b]; p < first[b + 1]; p++) block[row[p]] = b;
  }
  for (BAIInt b = 0; b < blocks && room; b++) {
    for (BAIInt p = first[b]; p < first[b + 1]; p++) {
      sorted[p] = (SortedRow){0, p, row[p]};
      for (BAIInt k = A->i[row[p]]; k < A->i[row[p] + 1]; k++) sorted[p].outside += block[A->j[k]] != b;
    }
    qsort(sorted + first[b], (size_t)(first[b + 1] - first[b]), sizeof(*sorted), ByOutside);
  }
  for (BAIInt p = 0; p < n && room; p++) row[p] = sorted[p].row;
  free(block);
  free(sorted);
  return BAIStatusOf(room ? BAI_OK : BAI_ERR_MEMORY);
}

/* A candidate for a growing block and its coupling to it. The strongest is on top of a binary heap, in which a row may
   stand several times */
typedef struct {
  double strength;
  size_t found; /* number of candidates found before it */
  BAIInt row;
} Candidate;

typedef struct {
  Candidate *c;
  size_t     n, room;
} Heap;

static int Stronger(Candidate a, Candidate b)
{
  return a.strength > b.strength || (a.strength == b.strength && a.found < b.found);
}

/* Adds a candidate; returns 0 if memory is short */
static int Push(Heap *heap, Candidate c)
{
  size_t at = heap->n;

  if (at == heap->room) {
    const size_t room = 2 * at + 1024;
    Candidate   *more = realloc(heap->c, room * sizeof(*more));

    if (!more) return 0;
    heap->c    = more;
    heap->room = room;
  }
  heap->n++;
  for (; at && Stronger(c, heap->c[(at - 1) / 2]); at = (at - 1) / 2) heap->c[at] = heap->c[(at - 1) / 2];
  heap->c[at] = c;
  return 1;
}

static Candidate Pop(Heap *heap)
{
  const Candidate top = heap->c[0], last = heap->c[--heap->n];
  size_t          at = 0;

  for (size_t child; (child = 2 * at + 1) < heap->n; at = child) {
    if (child + 1 < heap->n && Stronger(heap->c[child + 1], heap->c[child])) child++;
    if (!Stronger(heap->c[child], last)) break;
    heap->c[at] = heap->c[child];
  }
  heap->c[at] = last;
  return top;
}

typedef struct {
  /* for each row, its couplings to the block, or 0; or minus the number, from 1 on, of the block that it belongs to */
  double *strength;
  Heap    heap;
  size_t  found;
} Growth;

static BAIStatus BeginGrowth(Growth *g, BAIInt n)
{
  *g = (Growth){.strength = calloc((size_t)n + 1, sizeof(*g->strength))};
  return BAIStatusOf(g->strength ? BAI_OK : BAI_ERR_MEMORY);
}

static void EndGrowth(Growth *g)
{
  free(g->strength);
  free(g->heap.c);
}

/* Empties the heap, and sets the strengths of its rows to 0, as those of rows that were never found. Rows that have
   joined a block may still be in the heap; they keep the number of their block */
static void ForgetCandidates(Growth *g)
{
  for (size_t k = 0; k < g->heap.n; k++) {
    if (g->strength[g->heap.c[k].row] > 0) g->strength[g->heap.c[k].row] = 0;
  }
  g->heap.n = 0;
}

/* The row with the strongest coupling to the block, or -1 */
static BAIInt StrongestCandidate(Growth *g)
{
  while (g->heap.n) {
    const Candidate c = Pop(&g->heap);

    /* otherwise the row has a block, or was further up with a stronger coupling */
    if (g->strength[c.row] == c.strength) return c.row;
  }
  return -1;
}

/* Adds a row to the block, and its neighbours to the candidates */
static BAIStatus Join(Growth *g, const BAICSR *A, BAIInt block, BAIInt row)
{
  g->strength[row] = -(double)block - 1;
  for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const BAIInt    j = A->j[k];
    const Candidate c = {g->strength[j] + (A->a ? fabs(A->a[k]) : 1), g->found++, j};

    if (g->strength[j] < 0 || c.strength <= g->strength[j]) continue;
    g->strength[j] = c.strength;
    if (!Push(&g->heap, c)) return BAIStatusOf(BAI_ERR_MEMORY);
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIPartitionGraph(BAIInt n, const BAICSR *A, BAIInt block_size, BAIInt *blocks, BAIInt *first, BAIInt *row)
{
  Growth    g;
  BAIStatus status = BeginGrowth(&g, n);
  BAIInt    left   = 0; /* all rows before it have a block */

  *blocks = 0;
  for (BAIInt place = 0; place < n && !status.code; place++) {
    BAIInt next;

    if (place % block_size == 0) {
      ForgetCandidates(&g);
      first[(*blocks)++] = place;
    }
    for (next = StrongestCandidate(&g); next < 0; left++) {
      if (!(g.strength[left] < 0)) next = left; /* even if a coupling is NaN */
    }
    row[place] = next;
    status     = Join(&g, A, *blocks - 1, next);
  }
  first[*blocks] = n;
  EndGrowth(&g);
  return status.code ? status : SortByOutside(n, A, *blocks, first, row);
}

/* Whether some rows show that blocks of consecutive rows cut much, and that couplings differ so much in strength that
   grown blocks may cut less. Sets consecutive to the fraction that the former leave outside in these rows */
static int IsWorthTrying(BAIInt n, const BAICSR *A, BAIInt block_size, double *consecutive)
{
  double all = 0, outside = 0;
  long   couplings = 0, few = 0;

  for (BAIInt look = 0; look < BAI_PARTITION_LOOKS; look++) {
    const BAIInt row  = n / BAI_PARTITION_LOOKS * look + n % BAI_PARTITION_LOOKS * look / BAI_PARTITION_LOOKS;
    double       most = 0;

    if (row >= n) break;
    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      const double size = A->j[k] == row ? 0 : fabs(A->a[k]);

      all += size;
      if (A->j[k] / block_size != row / block_size) outside += size;
      if (size > most) most = size;
    }
    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      couplings += A->j[k] != row;
      few += A->j[k] != row && fabs(A->a[k]) >= BAI_STRONG_COUPLING * most;
    }
  }
  *consecutive = all > 0 ? outside / all : 0;
  return outside > BAI_MUCH_OUTSIDE * all && (double)few <= BAI_MOST_ALIKE * (double)couplings;
}

BAIStatus BAIPartitionTry(BAIInt n, const BAICSR *A, BAIInt block_size, double *consecutive, double *grown)
{
  BAIInt   *row;
  Growth    g;
  BAIStatus status;
  double    all = 0;

  if (!IsWorthTrying(n, A, block_size, consecutive)) {
    *grown = *consecutive;
    return BAIStatusOf(BAI_OK);
  }
  row    = malloc(((size_t)block_size + 1) * sizeof(*row));
  status = BeginGrowth(&g, n);
  if (!row) status = BAIStatusOf(BAI_ERR_MEMORY);
  *consecutive = *grown = 0;
  for (BAIInt block = 0; block < BAI_PARTITION_TRIALS && !status.code; block++) {
    BAIInt next = n / BAI_PARTITION_TRIALS * block + n % BAI_PARTITION_TRIALS * block / BAI_PARTITION_TRIALS, rows = 0;

    if (next >= n || g.strength[next] < 0) continue;
    ForgetCandidates(&g);
    while (next >= 0 && !status.code) {
      row[rows++] = next;
      status      = Join(&g, A, block, next);
      next        = rows < block_size ? StrongestCandidate(&g) : -1;
    }
    for (BAIInt at = 0; at < rows; at++) {
      for (BAIInt k = A->i[row[at]]; k < A->i[row[at] + 1]; k++) {
        const double size = fabs(A->a[k]);

        if (A->j[k] == row[at]) continue;
        all += size;
        if (A->j[k] / block_size != row[at] / block_size) *consecutive += size;
        if (g.strength[A->j[k]] != -(double)block - 1) *grown += size;
      }
    }
  }
  if (all > 0) {
    *consecutive /= all;
    *grown /= all;
  }
  free(row);
  EndGrowth(&g);
  return status;
}
