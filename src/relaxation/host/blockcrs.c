#include "blockcrs.h"
#include "iterate.h"
#include <stdlib.h>

/* Counts the entries of each row inside and outside its block, and sums the counts to row offsets */
static BAIStatus CountRows(BAIBlockCRS *A, const BAIMatrix *M, int unit)
{
#pragma omp parallel for num_threads(A->threads) schedule(static)
  for (BAIInt block = 0; block < A->blocks; block++) {
    for (BAIInt place = BAIBlockFirst(A, block); place < BAIBlockLast(A, block); place++) {
      const BAIInt row = BAIRowAt(A, place);
      BAIInt       loc = 0, off = M->nghost ? M->B.i[row + 1] - M->B.i[row] : 0;
      int          has = unit == BAI_UNIT_NONE;

      for (BAIInt k = M->A.i[row]; k < M->A.i[row + 1]; k++) {
        if (M->A.j[k] == row) {
          has |= M->A.a[k] != 0;
          continue;
        }
        if (BAIPlaceInBlock(A, block, M->A.j[k]) >= 0) loc++;
        else off++;
      }
      A->loc_i[place + 1] = loc + !has;
      A->off_i[place + 1] = off;
    }
  }
  for (BAIInt place = 0; place < A->n; place++) {
    if (A->loc_i[place] > BAI_INT_MAX - A->loc_i[place + 1] || A->off_i[place] > BAI_INT_MAX - A->off_i[place + 1])
      return BAIStatusOf(BAI_ERR_SIZE);
    A->loc_i[place + 1] += A->loc_i[place];
    A->off_i[place + 1] += A->off_i[place];
  }
  return BAIStatusOf(BAI_OK);
}

static void SetValue(int single, void *a, BAIInt k, BAIScalar value)
{
  if (single) ((BAISingle *)a)[k] = (BAISingle)value;
  else ((BAIScalar *)a)[k] = value;
}

typedef struct {
  BAIReal inside, outside;
  int     different, unit; /* the pattern is another one; 1 replaces a_ii */
} RowSums;

/* Stores the entries of a row; with same_pattern, checks that their columns are already there */
static RowSums FillRow(BAIBlockCRS *A, const BAIMatrix *M, BAIInt block, BAIInt place, int unit, int same_pattern)
{
  const BAIInt row = BAIRowAt(A, place);
  BAIInt       loc = A->loc_i[place], off = A->off_i[place];
  RowSums      sums = {0, 0, 0, 0};

  A->d[place] = 0;
  for (int part = 0; part < (M->nghost ? 2 : 1); part++) {
    const BAICSR *C = part ? &M->B : &M->A;

    for (BAIInt k = C->i[row]; k < C->i[row + 1]; k++) {
      const BAIInt at     = part ? -1 : BAIPlaceInBlock(A, block, C->j[k]);
      const int    inside = at >= 0;
      BAIInt       col, *j;

      if (!part && C->j[k] == row) {
        A->d[place] = C->a[k];
        continue;
      }
      if (same_pattern && (inside ? loc == A->loc_i[place + 1] : off == A->off_i[place + 1])) {
        sums.different = 1;
        return sums;
      }
      j   = inside ? A->loc_j + loc : A->off_j + off;
      col = inside ? at : part ? C->j[k] + A->n : C->j[k];
      if (same_pattern) sums.different |= *j != col;
      else *j = col;
      if (inside) {
        sums.inside += BAIAbs(C->a[k]);
        SetValue(A->single, A->loc_a, loc++, C->a[k]);
      } else {
        sums.outside += BAIAbs(C->a[k]);
        SetValue(A->single, A->off_a, off++, C->a[k]);
      }
    }
  }
  if (A->d[place] == 0 && unit != BAI_UNIT_NONE) {
    if (loc == A->loc_i[place + 1]) sums.different = 1;
    else {
      if (same_pattern) sums.different |= A->loc_j[loc] != place - BAIBlockFirst(A, block);
      else A->loc_j[loc] = place - BAIBlockFirst(A, block);
      sums.unit = unit == BAI_UNIT_ALL || sums.inside + sums.outside == 0;
      SetValue(A->single, A->loc_a, loc++, sums.unit ? -1 : 0);
      A->d[place] = sums.unit;
    }
  }
  sums.different |= loc != A->loc_i[place + 1] || off != A->off_i[place + 1];
  return sums;
}

/* Stores the values of M, and its columns unless same_pattern, and all that depends on the values. Without same_pattern
   M must be the matrix that CountRows() has counted: entries of a row beyond its places in A would overwrite others, or
   memory behind the arrays, before BAI_ERR_PATTERN is returned. With it, BAI_ERR_PATTERN if M does not fit the columns
   of A, which is partly overwritten then. Otherwise BAI_ERR_DIAGONAL with the first row whose a_ii is 0 and may not be
   replaced by 1, or so small that 1/a_ii overflows in the type of dinv. A NaN is no error here */
static BAIStatus FillRows(BAIBlockCRS *A, const BAIMatrix *M, const BAIParameters *p, int same_pattern)
{
  BAIStatus status = BAIStatusOf(BAI_ERR_DIAGONAL);
  BAIInt    bad = A->n, units = 0;
  int       different = 0;
  float     least     = 1;

#pragma omp parallel for num_threads(A->threads) schedule(static) reduction(min : bad) \
  reduction(+ : units) reduction(| : different) reduction(min : least)
  for (BAIInt block = 0; block < A->blocks; block++) {
    BAIReal inside = 0, outside = 0;

    for (BAIInt place = BAIBlockFirst(A, block); place < BAIBlockLast(A, block); place++) {
      const RowSums sums = FillRow(A, M, block, place, p->unit, same_pattern);
      const BAIReal d    = BAIAbs(A->d[place]);

      inside += sums.inside;
      outside += sums.outside;
      different |= sums.different;
      units += sums.unit;
      if (d != d || (d > 0 && !isinf(A->sweep_single ? (BAIReal)(float)(1 / d) : 1 / d))) {
        const BAIReal *given     = M->share ? M->share + BAIRowAt(A, place) : NULL;
        const BAIReal  dominance = given ? *given : p->local_omega > 0 ? 1 : BAIShareOfDominance(d, sums.inside);

        SetValue(A->sweep_single, A->dinv, place, 1 / A->d[place]);
        if (A->share) A->share[place] = dominance * (p->l1 && !given ? BAIShareOfL1(d, sums.outside) : 1);
        if ((float)dominance < least) least = (float)dominance;
      } else if (BAIRowAt(A, place) < bad) bad = BAIRowAt(A, place);
    }
    if (A->inside) {
      A->inside[block]  = inside;
      A->outside[block] = outside;
    }
  }
#pragma omp parallel for num_threads(A->threads) schedule(static)
  for (BAIInt k = 0; k < (A->sweep_a == A->loc_a ? 0 : A->loc_i[A->n]); k++)
    ((BAISingle *)A->sweep_a)[k] = (BAISingle)((BAIScalar *)A->loc_a)[k];
  A->least_share = least;
  A->units       = units;
  if (different) return BAIStatusOf(BAI_ERR_PATTERN);
  status.row = bad;
  return bad < A->n ? status : BAIStatusOf(BAI_OK);
}

/* Refers to the arrays of a partition, and sets place and block of each row */
static BAIStatus TakePartition(BAIBlockCRS *A, const BAIPartition *partition)
{
  A->blocks = partition->blocks;
  A->first  = partition->first;
  A->row    = partition->row;
  A->place  = malloc(((size_t)A->n + 1) * sizeof(BAIInt));
  A->block  = malloc(((size_t)A->n + 1) * sizeof(BAIInt));
  if (!A->place || !A->block) return BAIStatusOf(BAI_ERR_MEMORY);
  A->most_rows = 1;
  for (BAIInt block = 0; block < A->blocks; block++) {
    const BAIInt first = BAIBlockFirst(A, block), last = BAIBlockLast(A, block);

    if (last - first > A->most_rows) A->most_rows = last - first;
    for (BAIInt place = first; place < last; place++) {
      A->place[A->row[place]] = place - first;
      A->block[A->row[place]] = block;
    }
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIBlockCRSCreate(const BAIMatrix *M, const BAIPartition *partition, const BAIParameters *p, BAIBlockCRS *A)
{
  size_t places;

  A->n            = M->n;
  A->nghost       = M->nghost;
  A->block_size   = p->block_size < M->n ? p->block_size : (M->n ? M->n : 1);
  A->blocks       = M->n / A->block_size + (M->n % A->block_size ? 1 : 0);
  A->most_rows    = A->block_size;
  A->threads      = p->threads;
  A->single       = p->single && !p->refined;
  A->sweep_single = p->single;
  if (partition) BAITry(TakePartition(A, partition));
  places   = (size_t)A->n;
  A->d     = malloc((places + 1) * sizeof(BAIScalar));
  A->dinv  = malloc((places + 1) * BAISweepSize(A));
  A->loc_i = calloc(places + 1, sizeof(BAIInt));
  A->off_i = calloc(places + 1, sizeof(BAIInt));
  if (!A->d || !A->dinv || !A->loc_i || !A->off_i) return BAIStatusOf(BAI_ERR_MEMORY);
  if (p->l1 || !(p->local_omega > 0)) {
    A->share = malloc((places + 1) * sizeof(BAIReal));
    if (!A->share) return BAIStatusOf(BAI_ERR_MEMORY);
  }
  if (p->theta) {
    A->inside  = malloc(((size_t)A->blocks + 1) * sizeof(BAIReal));
    A->outside = malloc(((size_t)A->blocks + 1) * sizeof(BAIReal));
    if (!A->inside || !A->outside) return BAIStatusOf(BAI_ERR_MEMORY);
  }
  BAITry(CountRows(A, M, p->unit));
  A->loc_j   = malloc(((size_t)A->loc_i[places] + 1) * sizeof(BAIInt));
  A->loc_a   = malloc(((size_t)A->loc_i[places] + 1) * BAIValueSize(A));
  A->off_j   = malloc(((size_t)A->off_i[places] + 1) * sizeof(BAIInt));
  A->off_a   = malloc(((size_t)A->off_i[places] + 1) * BAIValueSize(A));
  A->sweep_a = A->single == A->sweep_single ? A->loc_a : malloc(((size_t)A->loc_i[places] + 1) * BAISweepSize(A));
  if (!A->loc_j || !A->loc_a || !A->sweep_a || !A->off_j || !A->off_a) return BAIStatusOf(BAI_ERR_MEMORY);
  return FillRows(A, M, p, 0);
}

BAIStatus BAIBlockCRSUpdateValues(BAIBlockCRS *A, const BAIMatrix *M, const BAIParameters *p)
{
  if (M->n != A->n || M->nghost != A->nghost) return BAIStatusOf(BAI_ERR_PATTERN);
  return FillRows(A, M, p, 1);
}

void BAIBlockCRSDestroy(BAIBlockCRS *A)
{
  free(A->place);
  free(A->block);
  free(A->d);
  free(A->dinv);
  free(A->share);
  free(A->inside);
  free(A->outside);
  free(A->loc_i);
  free(A->loc_j);
  if (A->sweep_a != A->loc_a) free(A->sweep_a);
  free(A->loc_a);
  free(A->off_i);
  free(A->off_j);
  free(A->off_a);
}
