/*
   The Galerkin product C = P^H A P on the host, where P is 1 on aggregates of rows, or has a column for each mode; for
   a distributed matrix, the rows of one rank
*/
#include "levels.h"
#include <string.h>

void BAIListAggregates(BAIInt n, BAIInt m, const BAIInt *aggregate, BAIInt *first, BAIInt *list)
{
  memset(first, 0, ((size_t)m + 2) * sizeof(*first));
  for (BAIInt i = 0; i < n; i++)
    if (aggregate[i] >= 0) first[aggregate[i] + 2]++;
  for (BAIInt c = 0; c < m; c++) first[c + 2] += first[c + 1];
  for (BAIInt i = 0; i < n; i++)
    if (aggregate[i] >= 0) list[first[aggregate[i] + 1]++] = i;
}

/* An entry of the current row of C: its column, and the data of BAISides */
typedef struct {
  BAIInt    j, touch, back, count;
  BAIScalar a;
} Entry;

/* A, its aggregates, and work space for rows of C */
typedef struct {
  const BAIRows *A;
  const BAIInt  *aggregate, *ghost; /* aggregate of each row, and of each ghost, or NULL if ghosts have none */
  BAIInt        *first, *list;      /* rows of each aggregate */
  /* For each column of C, its place in the current row, or -1; and the last row of A with an entry there */
  BAIInt *at, *last;
  BAIInt *seen;  /* for each ghost, the last row of C with an entry there */
  Entry  *entry; /* entries of the current row of C */
} Work;

/* Allocates and fills the work space for the rows of C. End() frees it after an error too */
static BAIStatus Begin(const BAIRows *A, BAIInt m, BAIInt ghosts, const BAIInt *aggregate, const BAIInt *ghost, Work *w)
{
  const size_t rows = (size_t)m + 2, n = (size_t)A->n + 1, all = (size_t)m + (size_t)ghosts + 1;
  BAIInt      *room = malloc((rows + n + 2 * all + (size_t)A->ghosts) * sizeof(*room));

  *w = (Work){A,
              aggregate,
              ghost,
              room,
              room + rows,
              room + rows + n,
              room + rows + n + all,
              room + rows + n + 2 * all,
              malloc(all * sizeof(*w->entry))};
  if (!room || !w->entry) return BAIStatusOf(BAI_ERR_MEMORY);
  BAIListAggregates(A->n, m, aggregate, w->first, w->list);
  for (BAIInt c = 0; c < m + ghosts; c++) w->at[c] = -1;
  for (BAIInt g = 0; g < A->ghosts; g++) w->seen[g] = -1;
  return BAIStatusOf(BAI_OK);
}

static void End(Work *w)
{
  free(w->first);
  free(w->entry);
}

/* Sorts entries by column, by Shell sort */
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

/* The aggregate of a column of A, or -1 */
static BAIInt Of(const Work *w, BAIInt j)
{
  return j < w->A->n ? w->aggregate[j] : w->ghost ? w->ghost[j - w->A->n] : -1;
}

/* Adds the entries of a row of A in aggregate c to the current row of C, which has count entries; returns the new
   count */
static BAIInt AddRow(Work *w, BAIInt row, BAIInt c, BAIInt count)
{
  const BAIRows *A = w->A;

  for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
    const BAIInt col = Of(w, A->j[k]);

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

/* The data of aggregate c, without whether its row is dominant */
static BAILevelsSide SideOf(const Work *w, BAIInt c)
{
  const BAIRows *A     = w->A;
  BAIReal        sum   = 0;
  BAIInt         count = 0;

  for (BAIInt l = w->first[c]; l < w->first[c + 1]; l++) {
    const BAIInt row = w->list[l];

    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      if (A->j[k] >= A->n || w->aggregate[A->j[k]] != c || A->j[k] == row) continue;
      sum += BAIAggregateMagnitude(A->a[k]);
      count++;
    }
  }
  return (BAILevelsSide){.inner = count ? sum / (BAIReal)count : 0, .rows = (int)(w->first[c + 1] - w->first[c])};
}

/* Computes all rows of C; each sum is in the order of the rows and entries of A */
static void Sum(Work *w, BAIRows *C, BAISides *sides)
{
  C->i[0] = 0;
  for (BAIInt c = 0; c < C->n; c++) {
    BAIInt count = 0;

    for (BAIInt l = w->first[c]; l < w->first[c + 1]; l++) count = AddRow(w, w->list[l], c, count);
    if (sides) sides->side[c] = SideOf(w, c);
    C->i[c + 1] = C->i[c] + count;
    for (BAIInt k = 0; k < count; k++) w->at[w->entry[k].j] = -1;
    SortRow(count, w->entry);
    for (BAIInt k = 0; k < count; k++) {
      const Entry *e  = &w->entry[k];
      const BAIInt to = C->i[c] + k;

      C->j[to] = e->j;
      C->a[to] = e->a;
      if (!sides) continue;
      sides->entries[to] = e->count;
      sides->touch[to]   = e->touch;
      sides->back[to]    = e->back;
    }
    if (sides) sides->side[c].dominant = BAIIsDominant(C, c);
  }
  C->nnz = C->i[C->n];
}

/* Allocates C and, unless sides is NULL, the data for its overcorrection */
static BAIStatus Allocate(BAIRows *C, BAISides *sides)
{
  const size_t n = (size_t)C->n + 1, nnz = (size_t)C->nnz + 1;

  C->i = malloc(n * sizeof(*C->i));
  C->j = malloc(nnz * sizeof(*C->j));
  C->a = calloc(nnz, sizeof(*C->a));
  if (!C->i || !C->j || !C->a) return BAIStatusOf(BAI_ERR_MEMORY);
  if (!sides) return BAIStatusOf(BAI_OK);
  sides->entries = malloc(nnz * sizeof(*sides->entries));
  sides->touch   = malloc(nnz * sizeof(*sides->touch));
  sides->back    = malloc(nnz * sizeof(*sides->back));
  sides->side    = malloc(n * sizeof(*sides->side));
  return BAIStatusOf(sides->entries && sides->touch && sides->back && sides->side ? BAI_OK : BAI_ERR_MEMORY);
}

/* Computes C. aggregate has the aggregate of each row, or -1; ghost a number from m to m + ghosts - 1 for each ghost,
   or -1; NULL if ghosts have no aggregates */
BAIStatus BAIHostGalerkin(const BAIRows *A, BAIInt m, BAIInt ghosts, const BAIInt *aggregate, const BAIInt *ghost,
                          BAIRows *C, BAISides *sides)
{
  Work      w;
  BAIStatus status = Begin(A, m, ghosts, aggregate, ghost, &w);

  *C = (BAIRows){.n = m, .ghosts = ghosts, .nnz = A->i[A->n]};
  if (!status.code) status = Allocate(C, sides);
  if (!status.code) {
    Sum(&w, C, sides);
    BAIInt    *j = realloc(C->j, ((size_t)C->nnz + 1) * sizeof(*j)); /* the arrays shrink */
    BAIScalar *a = realloc(C->a, ((size_t)C->nnz + 1) * sizeof(*a));

    if (j) C->j = j;
    if (a) C->a = a;
    if (!j || !a) status = BAIStatusOf(BAI_ERR_MEMORY);
  }
  End(&w);
  if (status.code) BAIHostFreeRows(C);
  return status;
}

/* Computes the rows of aggregate c in the product with modes; values are zero before. at has the place of each
   aggregate among those that c is coupled to; t is work space for a row of A times P */
static void SumModes(const Work *w, int modes, const BAIScalar *p, BAIInt c, BAIInt neighbors, BAIScalar *t,
                     BAIScalar *values)
{
  const BAIRows *A     = w->A;
  const BAIInt   width = neighbors * modes;

  for (BAIInt l = w->first[c]; l < w->first[c + 1]; l++) {
    const BAIInt row = w->list[l];

    memset(t, 0, (size_t)width * sizeof(*t));
    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      const BAIInt col = Of(w, A->j[k]);

      if (col < 0) continue;
      for (int o = 0; o < modes; o++) t[BAIAt(w->at[col], modes, o)] += A->a[k] * p[BAIAt(A->j[k], modes, o)];
    }
    for (int k = 0; k < modes; k++)
      for (BAIInt o = 0; o < width; o++) values[k * width + o] += BAIConj(p[BAIAt(row, modes, k)]) * t[o];
  }
}

/*
   Computes the product with modes columns of P for each aggregate; p has the row of P of each row and ghost of A. Row
   c*modes + k of C belongs to column k of aggregate c. All entries between coupled aggregates are stored, including
   zeros. pattern is the product without modes
*/
static BAIStatus ModesGalerkin(Work *w, const BAIRows *pattern, int modes, const BAIScalar *p, BAIRows *C)
{
  const size_t nnz = (size_t)pattern->nnz * (size_t)modes * (size_t)modes;
  BAIScalar   *t;

  /* The number of rows is smaller, as each has a diagonal entry */
  if (nnz > BAI_INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  *C = (BAIRows){.n = pattern->n * modes, .ghosts = pattern->ghosts * modes, .nnz = (int64_t)nnz};
  BAITry(Allocate(C, NULL));
  t = malloc(((size_t)(pattern->n + pattern->ghosts) * (size_t)modes + 1) * sizeof(*t));
  if (!t) return BAIStatusOf(BAI_ERR_MEMORY);
  C->i[0] = 0;
  for (BAIInt c = 0; c < pattern->n; c++) {
    const BAIInt *j         = pattern->j + pattern->i[c];
    const BAIInt  neighbors = pattern->i[c + 1] - pattern->i[c], first = pattern->i[c] * modes * modes;

    for (BAIInt k = 0; k < neighbors; k++) w->at[j[k]] = k;
    for (int k = 0; k < modes; k++) {
      C->i[c * modes + k + 1] = first + (k + 1) * neighbors * modes;
      for (BAIInt o = 0; o < neighbors * modes; o++)
        C->j[first + k * neighbors * modes + o] = j[o / modes] * modes + o % modes;
    }
    SumModes(w, modes, p, c, neighbors, t, C->a + first);
  }
  free(t);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostCoarse(BAILevelsState state, BAIHostLevel *L, BAIInt ghosts, const BAIInt *ghost, BAISides *sides)
{
  BAIRows  *C = &L[1].A, pattern;
  Work      w;
  BAIStatus status;

  BAIHostFreeRows(C);
  if (!L->P) return BAIHostGalerkin(&L->A, L->m, ghosts, L->aggregate, ghost, C, sides);
  BAITry(BAIHostGalerkin(&L->A, L->m, ghosts, L->aggregate, ghost, &pattern, NULL));
  status = Begin(&L->A, L->m, ghosts, L->aggregate, ghost, &w);
  if (!status.code) status = ModesGalerkin(&w, &pattern, state->p.modes, L->P, C);
  End(&w);
  BAIHostFreeRows(&pattern);
  return status;
}

/* Overcorrects the couplings of all rows of a coarse matrix, see BAISoftened(). A row of nothing but rounding becomes
   zero */
void BAIHostSoftenRows(BAIRows *C, const BAISides *sides, const BAILevelsSide *ghost, BAIReal over)
{
  for (BAIInt c = 0; c < C->n; c++) {
    BAIReal sum = 0, lost = 0;
    BAIInt  diagonal = -1;

    for (BAIInt k = C->i[c]; k < C->i[c + 1]; k++) {
      const BAIScalar soft = BAISoftenedEntry(C, sides, ghost, over, c, k);

      sum += BAIRealPart(C->a[k]);
      lost += BAIRealPart(C->a[k] - soft);
      if (C->j[k] == c) diagonal = k;
      C->a[k] = soft;
    }
    if (diagonal < 0) continue;
    C->a[diagonal] += BAISoftenedGain(sum, lost, over);
    if (BAIIsRounding(C, sides, c, diagonal)) C->a[diagonal] = 0;
  }
}

void BAIHostFreeSides(BAISides *sides)
{
  free(sides->entries);
  free(sides->touch);
  free(sides->back);
  free(sides->side);
  *sides = (BAISides){0};
}
