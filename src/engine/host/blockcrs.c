#include "blockcrs.h"
#include "iterate.h"
#include <stdlib.h>

/* Entries of each row inside and outside its block, summed up to row offsets */
static void CountRows(BAIBlockCRS *A, const BAIMatrix *M)
{
#pragma omp parallel for num_threads(A->threads) schedule(static)
  for (BAIInt row = 0; row < A->n; row++) {
    const BAIInt first = BAIBlockFirst(A, row / A->block_size), last = BAIBlockLast(A, row / A->block_size);
    BAIInt       loc = 0, off = M->nghost ? M->B.i[row + 1] - M->B.i[row] : 0;

    for (BAIInt k = M->A.i[row]; k < M->A.i[row + 1]; k++) {
      if (M->A.j[k] == row) continue;
      if (first <= M->A.j[k] && M->A.j[k] < last) loc++;
      else off++;
    }
    A->loc_i[row + 1] = loc;
    A->off_i[row + 1] = off;
  }
  for (BAIInt row = 0; row < A->n; row++) {
    A->loc_i[row + 1] += A->loc_i[row];
    A->off_i[row + 1] += A->off_i[row];
  }
}

/* Copies the entries to where they belong; with same_pattern their columns must be there already */
static BAIStatus FillRows(BAIBlockCRS *A, const BAIMatrix *M, int same_pattern)
{
  BAIStatus status    = BAIStatusOf(BAI_ERR_DIAGONAL);
  BAIInt    bad       = A->n;
  int       different = 0;
  float     row_sum   = 1;

#pragma omp parallel for num_threads(A->threads) schedule(static) reduction(min : bad) reduction(| : different) reduction(max : row_sum)
  for (BAIInt row = 0; row < A->n; row++) {
    const BAIInt first = BAIBlockFirst(A, row / A->block_size), last = BAIBlockLast(A, row / A->block_size);
    BAIInt       loc = A->loc_i[row], off = A->off_i[row];
    BAIReal      sum = 0;

    A->d[row] = 0;
    for (int part = 0; part < (M->nghost ? 2 : 1); part++) {
      const BAICSR *C = part ? &M->B : &M->A;

      for (BAIInt k = C->i[row]; k < C->i[row + 1]; k++) {
        const BAIInt col    = part ? C->j[k] + A->n : C->j[k];
        const int    inside = first <= col && col < last;
        BAIInt      *j;

        if (col == row) {
          A->d[row] = C->a[k];
          continue;
        }
        if (same_pattern && (inside ? loc == A->loc_i[row + 1] : off == A->off_i[row + 1])) {
          different = 1;
          break;
        }
        j = inside ? A->loc_j + loc : A->off_j + off;
        if (same_pattern) different |= *j != (inside ? col - first : col);
        else *j = inside ? col - first : col;
        if (inside) sum += BAIAbs(C->a[k]);
        if (inside) A->loc_a[loc++] = C->a[k];
        else A->off_a[off++] = C->a[k];
      }
    }
    different |= loc != A->loc_i[row + 1] || off != A->off_i[row + 1];
    if (A->d[row] == 0) {
      if (row < bad) bad = row;
    } else {
      const float total = (float)(1 + sum / BAIAbs(A->d[row]));

      A->dinv[row] = 1 / A->d[row];
      if (total > row_sum) row_sum = total;
    }
  }
  A->row_sum = row_sum;
  if (different) return BAIStatusOf(BAI_ERR_PATTERN);
  status.row = bad;
  return bad < A->n ? status : BAIStatusOf(BAI_OK);
}

BAIStatus BAIBlockCRSCreate(const BAIMatrix *M, BAIInt block_size, int threads, BAIBlockCRS *A)
{
  const size_t n = (size_t)M->n;

  A->n          = M->n;
  A->nghost     = M->nghost;
  A->block_size = block_size;
  A->blocks     = M->n / block_size + (M->n % block_size ? 1 : 0);
  A->threads    = threads;
  A->d          = malloc((n + 1) * sizeof(BAIScalar));
  A->dinv       = malloc((n + 1) * sizeof(BAIScalar));
  A->loc_i      = calloc(n + 1, sizeof(BAIInt));
  A->off_i      = calloc(n + 1, sizeof(BAIInt));
  if (!A->d || !A->dinv || !A->loc_i || !A->off_i) return BAIStatusOf(BAI_ERR_MEMORY);
  CountRows(A, M);
  A->loc_j = malloc(((size_t)A->loc_i[n] + 1) * sizeof(BAIInt));
  A->loc_a = malloc(((size_t)A->loc_i[n] + 1) * sizeof(BAIScalar));
  A->off_j = malloc(((size_t)A->off_i[n] + 1) * sizeof(BAIInt));
  A->off_a = malloc(((size_t)A->off_i[n] + 1) * sizeof(BAIScalar));
  if (!A->loc_j || !A->loc_a || !A->off_j || !A->off_a) return BAIStatusOf(BAI_ERR_MEMORY);
  return FillRows(A, M, 0);
}

BAIStatus BAIBlockCRSUpdateValues(BAIBlockCRS *A, const BAIMatrix *M)
{
  if (M->n != A->n || M->nghost != A->nghost) return BAIStatusOf(BAI_ERR_PATTERN);
  return FillRows(A, M, 1);
}

void BAIBlockCRSDestroy(BAIBlockCRS *A)
{
  free(A->d);
  free(A->dinv);
  free(A->loc_i);
  free(A->loc_j);
  free(A->loc_a);
  free(A->off_i);
  free(A->off_j);
  free(A->off_a);
}
