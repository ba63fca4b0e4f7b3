#include "crs.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int CRSSplit(const CRS *matrix, CRS *split)
{
  const int n = matrix->n, size = matrix->block_size, nnz = matrix->i[n];
  int       loc = 0, off = 0;

  *split       = (CRS){.n = n, .block_size = size};
  split->loc_i = malloc(((size_t)n + 1) * sizeof(int));
  split->off_i = malloc(((size_t)n + 1) * sizeof(int));
  split->loc_j = malloc((size_t)nnz * sizeof(int));
  split->off_j = malloc((size_t)nnz * sizeof(int));
  split->loc_a = malloc((size_t)nnz * sizeof(double));
  split->off_a = malloc((size_t)nnz * sizeof(double));
  if (!split->loc_i || !split->off_i || !split->loc_j || !split->off_j || !split->loc_a || !split->off_a) {
    CRSDestroy(split);
    return 0;
  }
  for (int row = 0; row < n; row++) {
    const int first = row / size * size, diagonal = loc++;

    split->loc_i[row] = diagonal;
    split->off_i[row] = off;
    for (int k = matrix->i[row]; k < matrix->i[row + 1]; k++) {
      const int col = matrix->j[k];

      if (col == row) {
        split->loc_j[diagonal] = row;
        split->loc_a[diagonal] = matrix->a[k];
      } else if (col >= first && col < first + size) {
        split->loc_j[loc]   = col;
        split->loc_a[loc++] = matrix->a[k];
      } else {
        split->off_j[off]   = col;
        split->off_a[off++] = matrix->a[k];
      }
    }
  }
  split->loc_i[n] = loc;
  split->off_i[n] = off;
  return 1;
}

void CRSDestroy(CRS *m)
{
  free(m->loc_i);
  free(m->off_i);
  free(m->loc_j);
  free(m->off_j);
  free(m->loc_a);
  free(m->off_a);
  *m = (CRS){.n = 0};
}

/* Each update goes through the whole row, and looks for the diagonal entry */
static void UpdateCRS(const CRS *m, const double *b, double *x, double *y, int first, int last)
{
  for (int row = first; row < last; row++) {
    double sum = 0, diagonal = 1;

    for (int k = m->i[row]; k < m->i[row + 1]; k++) {
      if (m->j[k] == row) diagonal = m->a[k];
      sum += m->a[k] * x[m->j[k]];
    }
    y[row - first] = x[row] + (b[row] - sum) / diagonal;
  }
  memcpy(x + first, y, (size_t)(last - first) * sizeof(*x));
}

/* The part outside the block is summed once */
static void UpdateSplit(const CRS *m, const double *b, double *x, double *y, double *s, int first, int last,
                        int local_iters)
{
  for (int row = first; row < last; row++) {
    s[row - first] = b[row];
    for (int k = m->off_i[row]; k < m->off_i[row + 1]; k++) s[row - first] -= m->off_a[k] * x[m->off_j[k]];
  }
  for (int iter = 0; iter < local_iters; iter++) {
    for (int row = first; row < last; row++) {
      double sum = s[row - first];

      for (int k = m->loc_i[row] + 1; k < m->loc_i[row + 1]; k++) sum -= m->loc_a[k] * x[m->loc_j[k]];
      y[row - first] = sum / m->loc_a[m->loc_i[row]];
    }
    memcpy(x + first, y, (size_t)(last - first) * sizeof(*x));
  }
}

static double Seconds(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *CRSIterateHost(const CRS *m, const double *b, double *x, int local_iters, int its, double *seconds)
{
  const int blocks  = (m->n + m->block_size - 1) / m->block_size;
  double   *buffer  = malloc(2 * (size_t)omp_get_max_threads() * (size_t)m->block_size * sizeof(double));
  double    started = Seconds();

  if (!buffer) return "out of memory";
#pragma omp parallel
  {
    double *y = buffer + 2 * (size_t)omp_get_thread_num() * (size_t)m->block_size, *s = y + m->block_size;

    for (int it = 0; it < its; it++) {
#pragma omp for schedule(static) nowait
      for (int block = 0; block < blocks; block++) {
        const int first = block * m->block_size, last = first + m->block_size < m->n ? first + m->block_size : m->n;

        if (m->loc_i) UpdateSplit(m, b, x, y, s, first, last, local_iters);
        else
          for (int iter = 0; iter < local_iters; iter++) UpdateCRS(m, b, x, y, first, last);
      }
    }
  }
  *seconds = Seconds() - started;
  free(buffer);
  return NULL;
}
