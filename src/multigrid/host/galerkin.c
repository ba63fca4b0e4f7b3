/*
   P^H A P, P being 1 on aggregates of rows; of a matrix that is distributed over ranks the rows of one of them
*/
#include "levels.h"
#include <stdlib.h>
#include <string.h>

/* The rows of each aggregate in ascending order: list[first[c]] to list[first[c + 1] - 1] */
void BAIListAggregates(BAIInt n, BAIInt m, const BAIInt *aggregate, BAIInt *first, BAIInt *list)
{
  memset(first, 0, ((size_t)m + 2) * sizeof(*first));
  for (BAIInt i = 0; i < n; i++)
    if (aggregate[i] >= 0) first[aggregate[i] + 2]++;
  for (BAIInt c = 0; c < m; c++) first[c + 2] += first[c + 1];
  for (BAIInt i = 0; i < n; i++)
    if (aggregate[i] >= 0) list[first[aggregate[i] + 1]++] = i;
}

/* An entry of the present row: its column; see BAIProduct */
typedef struct {
  BAIInt    j, touch, back, count;
  BAIScalar a;
} Entry;

/* What is needed while rows are summed */
typedef struct {
  BAIInt *first, *list; /* the rows of each aggregate */
  BAIInt *at, *last;    /* of each column: its place in the present row, or -1; and the last row of A seen there */
  BAIInt *seen;         /* of each ghost: the last row of the product in which it was seen */
  Entry  *entry;        /* of the present row */
} Work;

static void SortRow(BAIInt count, Entry *entry)
{
  for (BAIInt gap = count / 2; gap > 0; gap /= 2) {
    for (BAIInt k = gap; k < count; k++) {
      const Entry e  = entry[k];
      BAIInt      at = k;

      for (; at >= gap && entry[at - gap].j > e.j; at -= gap) entry[at] = entry[at - gap];
      entry[at] = e;
    }
  }
}

/* The aggregate of a column; ghost: those of ghosts, NULL: they are in none */
static BAIInt Of(const BAIHostRows *A, BAIInt j, const BAIInt *aggregate, const BAIInt *ghost)
{
  return j < A->n ? aggregate[j] : ghost ? ghost[j - A->n] : -1;
}

/* The entries of a row of A, which is in aggregate c, go to the present row of the product; returns how many that has
 * then */
static BAIInt AddRow(const BAIHostRows *A, BAIInt row, BAIInt c, const BAIInt *aggregate, const BAIInt *ghost, Work *w,
                     BAIInt count)
{
  for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const BAIInt col = Of(A, A->j[k], aggregate, ghost);

    if (col < 0) continue;
    if (w->at[col] < 0) {
      w->at[col]      = count;
      w->last[col]    = -1;
      w->entry[count] = (Entry){.j = col};
      count++;
    }
    Entry *e = &w->entry[w->at[col]];

    e->a += A->a[k];
    e->count++;
    if (w->last[col] != row) e->touch++;
    w->last[col] = row;
    if (A->j[k] < A->n) continue;
    if (w->seen[A->j[k] - A->n] != c) e->back++;
    w->seen[A->j[k] - A->n] = c;
  }
  return count;
}

/* The mean magnitude of the couplings between rows of aggregate c, 0: there are none */
static BAIReal Inner(const BAIHostRows *A, BAIInt c, const BAIInt *aggregate, const Work *w)
{
  BAIReal sum   = 0;
  BAIInt  count = 0;

  for (BAIInt l = w->first[c]; l < w->first[c + 1]; l++) {
    const BAIInt row = w->list[l];

    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      if (Of(A, A->j[k], aggregate, NULL) != c || A->j[k] == row) continue;
      sum += BAIAggregateMagnitude(A->a[k]);
      count++;
    }
  }
  return count ? sum / (BAIReal)count : 0;
}

/* All rows, each sum in the order of rows and entries */
static void Sum(const BAIHostRows *A, BAIInt m, const BAIInt *aggregate, const BAIInt *ghost, Work *w, BAIProduct *P)
{
  BAIListAggregates(A->n, m, aggregate, w->first, w->list);
  P->i[0] = 0;
  for (BAIInt c = 0; c < m; c++) {
    BAIInt count = 0;

    for (BAIInt l = w->first[c]; l < w->first[c + 1]; l++) count = AddRow(A, w->list[l], c, aggregate, ghost, w, count);
    P->rows[c]  = w->first[c + 1] - w->first[c];
    P->inner[c] = Inner(A, c, aggregate, w);
    P->i[c + 1] = P->i[c] + count;
    for (BAIInt k = 0; k < count; k++) w->at[w->entry[k].j] = -1;
    SortRow(count, w->entry);
    for (BAIInt k = 0; k < count; k++) {
      const BAIInt to = P->i[c] + k;

      P->j[to]     = w->entry[k].j;
      P->a[to]     = w->entry[k].a;
      P->touch[to] = w->entry[k].touch;
      P->back[to]  = w->entry[k].back;
      P->count[to] = w->entry[k].count;
    }
  }
}

BAIStatus BAIProductCreate(const BAIHostRows *A, BAIInt m, BAIInt ghosts, const BAIInt *aggregate, const BAIInt *ghost,
                           BAIProduct *P)
{
  const size_t n = (size_t)A->n, rows = (size_t)m, all = rows + (size_t)ghosts, nnz = (size_t)A->i[n];
  Work         w = {.first = malloc((rows + 2) * sizeof(*w.first)),
                    .list  = malloc((n + 1) * sizeof(*w.list)),
                    .at    = malloc((all + 1) * sizeof(*w.at)),
                    .last  = malloc((all + 1) * sizeof(*w.last)),
                    .seen  = malloc(((size_t)A->ghosts + 1) * sizeof(*w.seen)),
                    .entry = malloc((all + 1) * sizeof(*w.entry))};
  BAIStatus    status;

  *P     = (BAIProduct){.m     = m,
                        .i     = malloc((rows + 1) * sizeof(*P->i)),
                        .j     = malloc((nnz + 1) * sizeof(*P->j)),
                        .a     = malloc((nnz + 1) * sizeof(*P->a)),
                        .touch = malloc((nnz + 1) * sizeof(*P->touch)),
                        .back  = malloc((nnz + 1) * sizeof(*P->back)),
                        .count = malloc((nnz + 1) * sizeof(*P->count)),
                        .rows  = malloc((rows + 1) * sizeof(*P->rows)),
                        .inner = malloc((rows + 1) * sizeof(*P->inner))};
  status = BAIStatusOf(w.first && w.list && w.at && w.last && w.seen && w.entry && P->i && P->j && P->a && P->touch &&
                           P->back && P->count && P->rows && P->inner
                         ? BAI_OK
                         : BAI_ERR_MEMORY);
  if (!status.code) {
    for (BAIInt c = 0; c < m + ghosts; c++) w.at[c] = -1;
    for (BAIInt g = 0; g < A->ghosts; g++) w.seen[g] = -1;
    Sum(A, m, aggregate, ghost, &w, P);
    BAIInt    *j = realloc(P->j, ((size_t)P->i[m] + 1) * sizeof(*j)); /* they become smaller */
    BAIScalar *a = realloc(P->a, ((size_t)P->i[m] + 1) * sizeof(*a));

    if (j) P->j = j;
    if (a) P->a = a;
    if (!j || !a) status = BAIStatusOf(BAI_ERR_MEMORY);
  }
  if (status.code) BAIProductDestroy(P);
  free(w.first);
  free(w.list);
  free(w.at);
  free(w.last);
  free(w.seen);
  free(w.entry);
  return status;
}

/* The rows of aggregate c in the product with modes, whose entries are zero at first. at: the place of each aggregate
 * in the list of those that c is coupled to; t: room for a row of A times P */
static void SumModes(const BAIHostRows *A, const BAIInt *aggregate, const BAIInt *ghost, int modes, const BAIScalar *p,
                     const Work *w, BAIInt c, BAIInt neighbors, BAIScalar *t, BAIScalar *values)
{
  const BAIInt width = neighbors * modes;

  for (BAIInt l = w->first[c]; l < w->first[c + 1]; l++) {
    const BAIInt row = w->list[l];

    memset(t, 0, (size_t)width * sizeof(*t));
    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      const BAIInt col = Of(A, A->j[k], aggregate, ghost);

      if (col < 0) continue;
      for (int o = 0; o < modes; o++) t[BAIAt(w->at[col], modes, o)] += A->a[k] * p[BAIAt(A->j[k], modes, o)];
    }
    for (int k = 0; k < modes; k++)
      for (BAIInt o = 0; o < width; o++) values[k * width + o] += BAIConj(p[BAIAt(row, modes, k)]) * t[o];
  }
}

BAIStatus BAIModesProductCreate(const BAIHostRows *A, BAIInt m, BAIInt ghosts, const BAIInt *aggregate,
                                const BAIInt *ghost, int modes, const BAIScalar *p, BAIHostRows *C)
{
  BAIProduct P; /* of which only the pattern is of use */
  Work       w;
  BAIScalar *t;
  BAIStatus  status;

  BAITry(BAIProductCreate(A, m, ghosts, aggregate, ghost, &P));
  const size_t all = (size_t)m + (size_t)ghosts, rows = (size_t)m * (size_t)modes,
               nnz = (size_t)P.i[m] * (size_t)modes * (size_t)modes;

  if (nnz > BAI_INT_MAX) { /* and so may be its rows, of each of which the diagonal entry is there */
    BAIProductDestroy(&P);
    return BAIStatusOf(BAI_ERR_SIZE);
  }
  w      = (Work){.first = malloc(((size_t)m + 2) * sizeof(*w.first)),
                  .list  = malloc(((size_t)A->n + 1) * sizeof(*w.list)),
                  .at    = malloc((all + 1) * sizeof(*w.at))};
  t      = malloc((all * (size_t)modes + 1) * sizeof(*t));
  *C     = (BAIHostRows){.n      = m * modes,
                         .ghosts = ghosts * modes,
                         .i      = malloc((rows + 1) * sizeof(*C->i)),
                         .j      = malloc((nnz + 1) * sizeof(*C->j)),
                         .a      = calloc(nnz + 1, sizeof(*C->a))};
  status = BAIStatusOf(w.first && w.list && w.at && t && C->i && C->j && C->a ? BAI_OK : BAI_ERR_MEMORY);
  if (!status.code) {
    BAIListAggregates(A->n, m, aggregate, w.first, w.list);
    C->i[0] = 0;
    for (BAIInt c = 0; c < m; c++) {
      const BAIInt neighbors = P.i[c + 1] - P.i[c], first = P.i[c] * modes * modes;

      for (BAIInt k = 0; k < neighbors; k++) w.at[P.j[P.i[c] + k]] = k;
      for (int k = 0; k < modes; k++) {
        C->i[c * modes + k + 1] = first + (k + 1) * neighbors * modes;
        for (BAIInt o = 0; o < neighbors * modes; o++)
          C->j[first + k * neighbors * modes + o] = P.j[P.i[c] + o / modes] * modes + o % modes;
      }
      SumModes(A, aggregate, ghost, modes, p, &w, c, neighbors, t, C->a + first);
    }
  }
  BAIProductDestroy(&P);
  free(w.first);
  free(w.list);
  free(w.at);
  free(t);
  return status;
}

/* How many rows of aggregate c are coupled to the one that has this row of the product, by the row that c has */
static BAIInt Back(const BAIProduct *P, BAIInt c, BAIInt of)
{
  for (BAIInt low = P->i[c], high = P->i[c + 1]; low < high;) {
    const BAIInt middle = low + (high - low) / 2;

    if (P->j[middle] == of) return P->touch[middle];
    if (P->j[middle] < of) low = middle + 1;
    else high = middle;
  }
  return 0;
}

void BAIProductSoften(BAIProduct *P, const BAILevelsSide *ghost, BAIReal over)
{
  for (BAIInt c = 0; c < P->m; c++) {
    BAIInt  diagonal = -1;
    BAIReal gain = 0, sum = 0;

    for (BAIInt k = P->i[c]; k < P->i[c + 1]; k++) {
      const BAIInt           other = P->j[k];
      const BAIAggregateSide one   = {P->rows[c], P->touch[k], P->inner[c]};
      BAIAggregateSide       two;
      BAIScalar              soft;

      sum += BAIRealPart(P->a[k]);
      if (other == c) diagonal = k;
      if (other == c) continue;
      if (other < P->m) two = (BAIAggregateSide){P->rows[other], Back(P, other, c), P->inner[other]};
      else two = (BAIAggregateSide){(BAIInt)ghost[other - P->m].rows, P->back[k], ghost[other - P->m].inner};
      soft = BAISoftened(P->a[k], P->count[k], one, two, over);
      gain += BAIRealPart(P->a[k] - soft);
      P->a[k] = soft;
    }
    if (diagonal >= 0) P->a[diagonal] += gain + BAISoftenedSum(sum, over) - sum;
  }
}

void BAIProductDestroy(BAIProduct *P)
{
  free(P->i);
  free(P->j);
  free(P->a);
  free(P->touch);
  free(P->back);
  free(P->count);
  free(P->rows);
  free(P->inner);
  *P = (BAIProduct){0};
}
