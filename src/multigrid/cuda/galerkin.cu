/*
   The Galerkin product C = P^H A P on a device by sorting, where P is 1 on aggregates of rows. The result is that of
   host/galerkin.c, in the same order
*/
#include "levels.h"
#include "../../common/cuda/scan_sort.h"
#include <vector>

enum {
  THREADS = 256,
  LANES   = 8
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

/* Finds the row of each entry; a few lanes for each row */
static __global__ void OfRow(BAIRows A, int *of_row)
{
  const int row = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / LANES);

  if (row >= A.n) return;
  for (int k = A.i[row] + (int)(threadIdx.x % LANES); k < A.i[row + 1]; k += LANES) of_row[k] = row;
}

BAIStatus BAIOfRow(BAILevelsState state, BAIDeviceLevel *L)
{
  BAITry(BAIKeep(state, (size_t)L->A.nnz, &L->of_row));
  OfRow<<<BAIGrid((long long)L->A.n * LANES, THREADS), THREADS, 0, state->s.stream>>>(L->A, L->of_row);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Makes keys that sort rows by aggregate: by number, or by the places of the next level's rows in place, unless it is
   NULL */
static __global__ void ListKeys(int n, int m, int columns, const int *aggregate, const int *place, BAIKey *key,
                                unsigned *row)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i >= n) return;
  const int of = aggregate[i];

  key[i] = (BAIKey)(of < 0 ? m : place ? place[of * columns] / columns : of);
  row[i] = (unsigned)i;
}

/* Sets first[c] to the first key of aggregate c, and first[m] to the first key of rows in no aggregate, or the end.
   parent, unless it is NULL, gets the aggregate of each key, or -1 */
static __global__ void ListFirsts(int n, int m, const BAIKey *key, int *first, int *parent)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (p < n && (!p || key[p] != key[p - 1])) first[key[p]] = p;
  if (p < n && parent) parent[p] = key[p] == (BAIKey)m ? -1 : (int)key[p];
  if (p == n - 1 && key[p] != (BAIKey)m) first[m] = n;
}

BAIStatus BAIListAggregates(BAILevelsState state, const BAIDeviceLevel *L, const int *place, int *first, unsigned *list,
                            int *parent)
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
  ListKeys<<<grid, THREADS, 0, state->s.stream>>>(n, L->m, BAIColumnsOfP(state->p.modes), L->aggregate, place, key,
                                                  rows);
  BAITry(BAISortPairs(&state->s, n, bits, key, sorted, rows, list));
  ListFirsts<<<grid, THREADS, 0, state->s.stream>>>(n, L->m, sorted, first, parent);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Finds the entry of the coarse matrix that each entry belongs to: row*columns + column, or m*columns for none. ghost
   has the aggregates of ghosts, NULL: they have none */
static __global__ void Keys(BAIRows A, const int *of_row, int m, int columns, const int *aggregate, const int *ghost,
                            BAIKey *key, unsigned *entry)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k >= A.nnz) return;
  const int row = aggregate[of_row[k]], j = A.j[k], col = j < A.n ? aggregate[j] : ghost ? ghost[j - A.n] : -1;

  key[k]   = row < 0 || col < 0 ? (BAIKey)m * (BAIKey)columns : (BAIKey)row * (BAIKey)columns + (BAIKey)col;
  entry[k] = (unsigned)k;
}

/* Marks the first of equal sorted keys, for a prefix sum */
static __global__ void Heads(long long nnz, BAIKey none, const BAIKey *key, int *head)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k <= nnz) head[k] = k < nnz && key[k] != none && (!k || key[k] != key[k - 1]);
}

/* Finds the pattern of the coarse matrix. number[k] of its entries begin before sorted entry k; entries without one are
   last */
static __global__ void CoarsePattern(long long nnz, int m, int columns, BAIKey none, const BAIKey *key,
                                     const int *number, int *first, int *i, int *j, int *of_row)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k >= nnz) return;
  const int total = number[nnz];

  if (k == 0) i[m] = total;
  if (key[k] == none) {
    if (k == 0) first[0] = 0;
    return;
  }
  if (k + 1 == nnz || key[k + 1] == none) first[total] = (int)k + 1;
  if (k && key[k] == key[k - 1]) return;
  const int at = number[k], row = (int)(key[k] / (BAIKey)columns);

  first[at]  = (int)k;
  j[at]      = (int)(key[k] % (BAIKey)columns);
  of_row[at] = row;
  if (!k || (int)(key[k - 1] / (BAIKey)columns) != row) i[row] = at;
}

BAIStatus BAIGalerkinPattern(BAILevelsState state, BAIDeviceLevel *L, int ghosts, const int *ghost, BAIDeviceLevel *C)
{
  const int    columns = L->m + ghosts;
  const BAIKey none    = (BAIKey)L->m * (BAIKey)columns;
  const dim3   grid    = BAIGrid(L->A.nnz, THREADS);
  const size_t nnz     = (size_t)L->A.nnz;
  cudaStream_t stream  = state->s.stream;
  int          bits    = 1, total, *number;
  BAIKey      *key, *sorted;
  BAIRoom      sorted_room, numbers;

  while (bits < 64 && none >> bits) bits++;
  BAITry(sorted_room.Get(state, nnz, &sorted));
  BAITry(BAIKeep(state, nnz, &L->gather.entry));
  {
    BAIRoom   rooms[2];
    unsigned *entry;

    BAITry(rooms[0].Get(state, nnz, &key));
    BAITry(rooms[1].Get(state, nnz, &entry));
    Keys<<<grid, THREADS, 0, stream>>>(L->A, L->of_row, L->m, columns, L->aggregate, ghost, key, entry);
    BAITry(BAISortPairs(&state->s, L->A.nnz, bits, key, sorted, entry, L->gather.entry));
  }
  BAITry(numbers.Get(state, nnz + 1, &number));
  Heads<<<BAIGrid(L->A.nnz + 1, THREADS), THREADS, 0, stream>>>(L->A.nnz, none, sorted, number);
  BAITry(BAIScan(&state->s, L->A.nnz + 1, number, number));
  CUDATry(cudaMemcpyAsync(&total, number + nnz, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaStreamSynchronize(stream));
  C->A = {L->m, ghosts, total, NULL, NULL, NULL};
  BAITry(BAIKeep(state, (size_t)total + 1, &L->gather.first));
  BAITry(BAIKeep(state, (size_t)L->m + 1, &C->A.i));
  BAITry(BAIKeep(state, (size_t)total, &C->A.j));
  BAITry(BAIKeep(state, (size_t)total, &C->of_row));
  CoarsePattern<<<grid, THREADS, 0, stream>>>(L->A.nnz, L->m, columns, none, sorted, number, L->gather.first, C->A.i,
                                              C->A.j, C->of_row);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Sets the values of C, a thread for each entry: its sum in the order of the rows and entries of A. If sides.touch is
   not NULL, sets the data for overcorrection too, except the rows of aggregates. member has the number of each ghost in
   its aggregate */
static __global__ void Sums(BAIRows A, const int *a_of_row, BAIRows C, const int *c_of_row, const unsigned *entry,
                            const int *first, bool magnitudes, const int *member, BAISides sides)
{
  const long long c = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (c >= C.nnz) return;
  const bool diagonal = c_of_row[c] == C.j[c], of_ghost = C.j[c] >= C.n;
  BAIScalar  sum       = 0;
  BAIReal    magnitude = 0;
  uint32_t   seen      = 0; /* ghosts that rows are coupled to */
  int        rows = 0, inside = 0, last = -1;

  for (int k = first[c]; k < first[c + 1]; k++) {
    const unsigned  e   = entry[k];
    const int       row = a_of_row[e];
    const BAIScalar a   = A.a[e];

    sum += magnitudes ? BAIScalar(BAIAggregateMagnitude(a)) : a;
    rows += row != last;
    last = row;
    if (of_ghost && sides.touch) seen |= UINT32_C(1) << member[A.j[e] - A.n];
    if (!diagonal || A.j[e] == row) continue;
    magnitude += BAIAggregateMagnitude(a);
    inside++;
  }
  C.a[c] = sum;
  if (!sides.touch) return;
  sides.touch[c] = rows;
  if (of_ghost) sides.back[c] = __popc(seen);
  if (diagonal) sides.side[C.j[c]].inner = inside ? magnitude / (BAIReal)inside : 0;
}

/* Adds the number of rows of each aggregate to side[].rows, for its overcorrection */
static __global__ void CountRows(int n, const int *aggregate, BAILevelsSide *side)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n && aggregate[i] >= 0) atomicAdd(&side[aggregate[i]].rows, (BAIReal)1);
}

/* Overcorrection: divides the couplings of each row of the coarse matrix C by up to over, see BAISoftenRow(); a thread
   for each row */
static __global__ void SoftenRows(BAIRows C, BAISides sides, const BAILevelsSide *ghost, BAIReal over)
{
  const int c = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (c < C.n) BAISoftenRow(&C, &sides, ghost, over, c);
}

BAIStatus BAIGalerkinSums(BAILevelsState state, const BAIDeviceLevel *L, bool magnitudes, const int *member,
                          const BAISides &sides, BAIDeviceLevel *C)
{
  cudaStream_t stream = state->s.stream;

  if (!C->A.a) BAITry(BAIKeep(state, (size_t)C->A.nnz, &C->A.a));
  if (sides.side) {
    CUDATry(cudaMemsetAsync(sides.side, 0, (size_t)C->A.n * sizeof(*sides.side), stream));
    CountRows<<<BAIGrid(L->A.n, THREADS), THREADS, 0, stream>>>(L->A.n, L->aggregate, sides.side);
  }
  Sums<<<BAIGrid(C->A.nnz, THREADS), THREADS, 0, stream>>>(L->A, L->of_row, C->A, C->of_row, L->gather.entry,
                                                           L->gather.first, magnitudes, member, sides);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISidesCreate(BAILevelsState state, const BAIDeviceLevel *L, const BAIRows &C, BAISides *sides)
{
  *sides       = {};
  sides->first = L->gather.first;
  BAITry(BAIKeep(state, (size_t)C.nnz, &sides->touch));
  if (C.ghosts) BAITry(BAIKeep(state, (size_t)C.nnz, &sides->back));
  return BAIKeep(state, (size_t)C.n, &sides->side);
}

BAIStatus BAISidesSoften(BAILevelsState state, const BAILevelsSide *ghost, BAISides *sides, const BAIRows &C)
{
  if (!sides->side) return BAIStatusOf(BAI_OK);
  SoftenRows<<<BAIGrid(C.n, THREADS), THREADS, 0, state->s.stream>>>(C, *sides, ghost, state->over);
  CUDATry(cudaGetLastError());
  BAIDrop(state, (size_t)C.nnz, &sides->touch);
  BAIDrop(state, (size_t)C.nnz, &sides->back);
  BAIDrop(state, (size_t)C.n, &sides->side);
  return BAIStatusOf(BAI_OK);
}

void BAIDeviceFreeMatrix(BAILevelsState state, BAIDeviceLevel *L)
{
  BAIDrop(state, (size_t)L->A.n + 1, &L->A.i);
  BAIDrop(state, (size_t)L->A.nnz, &L->A.j);
  BAIDrop(state, (size_t)L->A.nnz, &L->A.a);
  BAIDrop(state, (size_t)L->A.nnz, &L->of_row);
}

void BAIDeviceFreeGather(BAILevelsState state, BAIDeviceLevel *L, int64_t coarse)
{
  BAIDrop(state, (size_t)L->A.nnz, &L->gather.entry);
  BAIDrop(state, (size_t)coarse + 1, &L->gather.first);
  BAIDrop(state, (size_t)L->gather.pattern.n + 1, &L->gather.pattern.i);
  BAIDrop(state, (size_t)coarse, &L->gather.pattern.j);
  BAIDrop(state, (size_t)coarse, &L->gather.of_row);
}

/* The operation Soften of ../ops.def */
BAIStatus BAIDeviceSoften(BAILevelsState state, const BAILevelsSide *side)
{
  BAIDeviceLevel *L = BAIDeviceLast(state);
  const size_t    n = (size_t)L->A.ghosts;
  BAIRoom         room;
  BAILevelsSide  *ghost = NULL;

  if (!L->A.n) return BAIStatusOf(BAI_OK);
  if (n && state->sides.side) {
    BAITry(room.Get(state, n, &ghost));
    CUDATry(cudaMemcpyAsync(ghost, side, n * sizeof(*side), cudaMemcpyHostToDevice, state->s.stream));
    CUDATry(cudaStreamSynchronize(state->s.stream));
  }
  BAITry(BAISidesSoften(state, ghost, &state->sides, L->A));
  if (!state->p.all) return BAIStatusOf(BAI_OK); /* otherwise there are no new values */
  BAIDeviceFreeGather(state, L - 1, state->p.modes ? L[-1].gather.pattern.nnz : L->A.nnz);
  BAIDrop(state, (size_t)L[-1].A.nnz, &L[-1].of_row);
  return BAIStatusOf(BAI_OK);
}
