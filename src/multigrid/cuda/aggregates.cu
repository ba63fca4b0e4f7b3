/* Lists of the rows of each aggregate on a device, and numbers of rows */
#include "levels.h"
#include "../../common/cuda/scan_sort.h"
#include <vector>

enum {
  THREADS = 256
};

/* BAINumber() by a thread for each i */
static __global__ void Number(int n, int rows, int fields, const int *from, int *to)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), k = fields ? i / rows % fields : i / rows;

  if (i < n) to[i] = from ? from[k] : k;
}

BAIStatus BAINumber(BAILevelsState state, int n, int rows, int fields, const int *from, int *to)
{
  Number<<<BAIGrid(n, THREADS), THREADS, 0, state->s.stream>>>(n, rows, fields, from, to);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAINarrow(BAILevelsState state, size_t n, const BAIInt *from, int *to)
{
  const std::vector<int> narrow(from, from + n);

  if (n) CUDATry(cudaMemcpyAsync(to, narrow.data(), n * sizeof(int), cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Makes keys that sort rows by aggregate, and rows in no aggregate to the end */
static __global__ void ListKeys(int n, int m, const int *aggregate, BAIKey *key, unsigned *row)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i >= n) return;
  key[i] = (BAIKey)(aggregate[i] < 0 ? m : aggregate[i]);
  row[i] = (unsigned)i;
}

/* Sets first[c] to the first key of aggregate c, and first[m] to the first key of rows in no aggregate, or the end */
static __global__ void ListFirsts(int n, int m, const BAIKey *key, int *first)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (p < n && (!p || key[p] != key[p - 1])) first[key[p]] = p;
  if (p == n - 1 && key[p] != (BAIKey)m) first[m] = n;
}

BAIStatus BAIListAggregates(BAILevelsState state, BAIDeviceLevel *L)
{
  const int  n    = L->A.n;
  const dim3 grid = BAIGrid(n, THREADS);
  BAIRoom    rooms[3];
  BAIKey    *key, *sorted;
  unsigned  *rows;
  int        bits = 1;

  while (bits < 31 && L->m >> bits) bits++;
  BAITry(rooms[0].Get(state, (size_t)n, &key));
  BAITry(rooms[1].Get(state, (size_t)n, &sorted));
  BAITry(rooms[2].Get(state, (size_t)n, &rows));
  BAITry(BAIKeep(state, (size_t)L->m + 1, &L->listed.first));
  BAITry(BAIKeep(state, (size_t)n, &L->listed.row));
  ListKeys<<<grid, THREADS, 0, state->s.stream>>>(n, L->m, L->aggregate, key, rows);
  BAITry(BAISortPairs(&state->s, n, bits, key, sorted, rows, (unsigned *)L->listed.row));
  ListFirsts<<<grid, THREADS, 0, state->s.stream>>>(n, L->m, sorted, L->listed.first);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

void BAIDropList(BAILevelsState state, BAIDeviceLevel *L)
{
  BAIDrop(state, (size_t)L->m + 1, &L->listed.first);
  BAIDrop(state, (size_t)L->A.n, &L->listed.row);
}

BAIMembers BAIMembersOf(BAILevelsState state, const BAIDeviceLevel *L)
{
  if (L->listed.first || L->listed.each) return L->listed;
  return {L->child, L->row, L[1].row, BAIColumnsOfP(state->p.modes), 0};
}
