/* Lists of the rows of each aggregate on a device, and numbers of rows */
#include "levels.h"
#include "../../common/cuda/scan.h"
#include <vector>

enum {
  THREADS = 256
};

/* BAINumber() by a thread for each i */
static __global__ void Number(int n, BAINumbers how)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i >= n) return;
  const int k      = how.index ? how.index[i]
         : how.fields          ? i / how.rows % how.fields
                               : i / how.rows,
            number = k < 0 ? -1 : how.add + (how.from ? how.from[k] : k);

  if (how.to) how.to[i] = number;
  if (how.mark && k >= 0) how.mark[k] = 1;
  if (how.list && k >= 0) how.list[number] = k;
}

BAIStatus BAINumber(const BAIContext &context, int n, const BAINumbers &how)
{
  Number<<<BAIGrid(n, THREADS), THREADS, 0, context.stream>>>(n, how);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAINarrow(const BAIContext &context, size_t n, const BAIInt *from, int *to)
{
  const bool             as_it_is = sizeof(BAIInt) == sizeof(int);
  const std::vector<int> narrow(from, from + (as_it_is ? 0 : n));
  const void *const      numbers = as_it_is ? static_cast<const void *>(from) : narrow.data();

  if (n) CUDATry(cudaMemcpyAsync(to, numbers, n * sizeof(int), cudaMemcpyHostToDevice, context.stream));
  CUDATry(cudaStreamSynchronize(context.stream));
  return BAIStatusOf(BAI_OK);
}

/* Adds the rows of each aggregate to count, and sets single to 1 for a row in no aggregate, and to 0 for others */
static __global__ void CountRows(int n, const int *aggregate, int *count, int *single)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), c = i < n ? aggregate[i] : -1;

  if (c >= 0) atomicAdd(&count[c], 1);
  if (i < n) single[i] = c < 0;
}

/* Lists the rows of each aggregate in any order, counting down in count, and behind them in ascending order those in no
   aggregate, of which single[i] come before row i. There are at most n aggregates, so their rows end at first[n] */
static __global__ void ListRows(int n, const int *aggregate, const int *first, int *count, const int *single, int *list)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), c = i < n ? aggregate[i] : -1;

  if (i < n) list[c < 0 ? first[n] + single[i] : first[c] + atomicSub(&count[c], 1) - 1] = i;
}

/* Sorts the rows of each aggregate, which are few: a thread for each row finds how many come before it. member, unless
   it is NULL, gets this number, less than BAI_SET */
static __global__ void SortRows(int n, const int *aggregate, const int *list, BAIMembers to, int *member)
{
  const int at = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = at < n ? list[at] : 0,
            c = at < n ? aggregate[row] : -1, begin = c < 0 ? at : to.first[c], end = c < 0 ? at : to.first[c + 1];
  int before = begin;

  for (int k = begin; k < end; k++) before += list[k] < row;
  if (at >= n) return;
  to.row[before] = row;
  if (member) member[row] = (before - begin) % BAI_SET;
}

BAIStatus BAIListAggregates(BAILevelsState state, BAIDeviceLevel *L, int *member)
{
  const int    n       = L->A.n;
  const size_t numbers = (size_t)n + 1;
  const dim3   rows    = BAIGrid(n, THREADS);
  BAIRoom      room;
  int         *count;

  BAITry(room.Get(state, 3 * numbers, &count));
  BAITry(BAIKeep(state, numbers, &L->listed.first));
  BAITry(BAIKeep(state, numbers, &L->listed.row));
  int *const single = count + numbers, *const list = single + numbers;
  const BAISums sums[] = {
    {n + 1LL, count,  L->listed.first},
    {n,       single, single         }
  };

  CUDATry(cudaMemsetAsync(count, 0, numbers * sizeof(*count), state->s.stream));
  CountRows<<<rows, THREADS, 0, state->s.stream>>>(n, L->aggregate, count, single);
  BAITry(BAIScans(&state->s, 2, sums));
  ListRows<<<rows, THREADS, 0, state->s.stream>>>(n, L->aggregate, L->listed.first, count, single, list);
  SortRows<<<rows, THREADS, 0, state->s.stream>>>(n, L->aggregate, list, L->listed, member);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

void BAIDropList(BAILevelsState state, BAIDeviceLevel *L)
{
  BAIDrop(state, (size_t)L->A.n + 1, &L->listed.first);
  BAIDrop(state, (size_t)L->A.n + 1, &L->listed.row);
}

BAIMembers BAIMembersOf(BAILevelsState state, const BAIDeviceLevel *L)
{
  if (L->listed.first || L->listed.each) return L->listed;
  return {L->child, L->row, L[1].place, BAIColumnsOfP(state->p.modes), 0};
}
