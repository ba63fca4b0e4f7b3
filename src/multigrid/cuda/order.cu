/* Numbering of the rows of levels on a device, so that the rows of an aggregate are consecutive; like host/place.c */
#include "levels.h"
#include "../../common/cuda/scan_sort.h"

enum {
  THREADS = 256
};

/* Sets size to the number of rows of each aggregate in the order of their places, for a prefix sum. of has the row of
   the next level at each place */
static __global__ void Sizes(int m, BAIMembers listed, const int *of, int columns, int *size)
{
  const int q = (int)(blockIdx.x * blockDim.x + threadIdx.x), c = q < m ? of[q * columns] / columns : 0;

  if (q <= m) size[q] = q < m ? listed.first[c + 1] - listed.first[c] : 0;
}

/* The row at a place, and the reverse; and unless parent is NULL, the place of its aggregate, or -1 */
static __device__ inline void SetPlace(int row, int place, int q, int *rows, int *places, int *parent)
{
  rows[place] = row;
  places[row] = place;
  if (parent) parent[place] = q;
}

/* Gives places to the rows of each aggregate, by a thread for each, to the rows in no aggregate, and to ghosts, which
   keep their numbers */
static __global__ void Places(int n, int m, int ghosts, BAIMembers listed, const int *of, int columns, const int *child,
                              int *row, int *place, int *parent)
{
  const int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (t < m) {
    const int c = of[t * columns] / columns, begin = listed.first[c], count = listed.first[c + 1] - begin;

    for (int k = 0; k < count; k++) SetPlace(listed.row[begin + k], child[t] + k, t, row, place, parent);
  }
  if (t < n && t >= listed.first[m]) SetPlace(listed.row[t], t, -1, row, place, parent);
  if (t < ghosts) place[n + t] = n + t;
}

/* Numbers rows from the last level to the first in the order of the places of their aggregates; rows in no aggregate
   come last */
BAIStatus BAIDeviceOrder(BAILevelsState state)
{
  for (int l = state->levels - 1; l >= 0; l--) {
    BAIDeviceLevel *L = &state->level[l];
    const int       n = L->A.n, all = n + L->A.ghosts;

    L->alone = n;
    if (!n) continue;
    BAITry(BAIKeep(state, (size_t)n, &L->row));
    BAITry(BAIKeep(state, (size_t)all, &L->place));
    if (!L->m) {
      BAIDropList(state, L);
      BAITry(BAINumber(state, n, 1, 0, NULL, L->row));
      BAITry(BAINumber(state, all, 1, 0, NULL, L->place));
      continue;
    }
    BAITry(BAIKeep(state, (size_t)L->m + 1, &L->child));
    if (L->P) BAITry(BAIKeep(state, (size_t)n, &L->parent));
    const int  columns = BAIColumnsOfP(state->p.modes);
    const dim3 grid = BAIGrid(L->m + 1, THREADS), all_rows = BAIGrid(all, THREADS);

    Sizes<<<grid, THREADS, 0, state->s.stream>>>(L->m, L->listed, L[1].row, columns, L->child);
    BAITry(BAIScan(&state->s, (long long)L->m + 1, L->child, L->child));
    Places<<<all_rows, THREADS, 0, state->s.stream>>>(n, L->m, L->A.ghosts, L->listed, L[1].row, columns, L->child,
                                                      L->row, L->place, L->parent);
    CUDATry(cudaGetLastError());
    BAIDropList(state, L);
  }
  return BAIStatusOf(BAI_OK);
}
