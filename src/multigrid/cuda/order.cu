/* Numbering of the rows of levels on a device, so that the rows of an aggregate are consecutive; like host/place.c */
#include "levels.h"
#include "../../common/cuda/scan.h"
#include <cub/block/block_scan.cuh>

enum {
  THREADS     = 256,
  FEW_THREADS = 1024,                   /* threads of the block that numbers small levels, */
  FEW_ITEMS   = 8,                      /* numbers of a thread in a prefix sum, */
  FEW         = FEW_THREADS * FEW_ITEMS /* and thus rows that a small level has less than */
};

/* A level for kernels. of has the row of the next level at each place, and an aggregate becomes columns rows there. m
   is 0 for the last level, which has neither listed nor of nor child; parent may be NULL */
struct Order {
  int        n, m, ghosts, columns;
  BAIMembers listed;
  const int *of;
  int       *child, *row, *place, *parent;
};

/* The aggregate at a place */
static __device__ inline int AggregateAt(const Order &o, int place)
{
  return o.of[place * o.columns] / o.columns;
}

/* The number of rows of the aggregate at a place, or 0 behind the last one, for a prefix sum */
static __device__ inline int SizeAt(const Order &o, int place)
{
  const int c = place < o.m ? AggregateAt(o, place) : 0;

  return place < o.m ? o.listed.first[c + 1] - o.listed.first[c] : 0;
}

/* Stores a row at a place, and the place of its aggregate, or -1 */
static __device__ inline void SetPlace(const Order &o, int row, int place, int parent)
{
  o.row[place] = row;
  o.place[row] = place;
  if (o.parent) o.parent[place] = parent;
}

/* Gives places to the rows of the aggregate at place t, to row number t if it is in no aggregate, and to ghost t, which
   keeps its number. o.child has the first place of each aggregate */
static __device__ inline void Place(const Order &o, int t)
{
  if (t < o.m) {
    const int c = AggregateAt(o, t), begin = o.listed.first[c], count = o.listed.first[c + 1] - begin;

    for (int k = 0; k < count; k++) SetPlace(o, o.listed.row[begin + k], o.child[t] + k, t);
  }
  if (t < o.n && (!o.m || t >= o.listed.first[o.m])) SetPlace(o, o.m ? o.listed.row[t] : t, t, -1);
  if (t < o.ghosts) o.place[o.n + t] = o.n + t;
}

static __global__ void Sizes(Order o)
{
  const int q = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (q <= o.m) o.child[q] = SizeAt(o, q);
}

static __global__ void Places(Order o)
{
  Place(o, (int)(blockIdx.x * blockDim.x + threadIdx.x));
}

/* Small levels, from the last one on */
struct Orders {
  int   count;
  Order level[BAI_LEVELS_MOST];
};

/* Numbers the rows of small levels, by a single thread block, as launches would take longer than the work */
static __global__ __launch_bounds__(FEW_THREADS) void OrderFew(Orders few)
{
  using Scan = cub::BlockScan<int, FEW_THREADS>;
  __shared__ typename Scan::TempStorage storage;

  for (int l = 0; l < few.count; l++) {
    const Order &o = few.level[l];
    int          number[FEW_ITEMS];

    for (int k = 0; k < FEW_ITEMS; k++) number[k] = SizeAt(o, (int)threadIdx.x * FEW_ITEMS + k);
    Scan(storage).ExclusiveSum(number, number);
    for (int k = 0; k < FEW_ITEMS; k++)
      if (o.m && (int)threadIdx.x * FEW_ITEMS + k <= o.m) o.child[(int)threadIdx.x * FEW_ITEMS + k] = number[k];
    __syncthreads();
    for (int t = (int)threadIdx.x; t < o.n + o.ghosts; t += FEW_THREADS) Place(o, t);
    __syncthreads();
  }
}

/* Allocates the numbers of a level, and describes it for kernels */
static BAIStatus Prepare(BAILevelsState state, BAIDeviceLevel *L, Order *order)
{
  const size_t n = (size_t)L->A.n;

  BAITry(BAIKeep(state, n, &L->row));
  BAITry(BAIKeep(state, n + (size_t)L->A.ghosts, &L->place));
  if (L->m) BAITry(BAIKeep(state, (size_t)L->m + 1, &L->child));
  if (L->m && L->P) BAITry(BAIKeep(state, n, &L->parent));
  *order = {L->A.n, L->m,     L->A.ghosts, BAIColumnsOfP(state->p.modes), L->listed, L->m ? L[1].row : NULL, L->child,
            L->row, L->place, L->parent};
  return BAIStatusOf(BAI_OK);
}

/* Numbers the rows of a level in the order of their places in whole, where the first of them is row number first.
   Ghosts keep their numbers */
static BAIStatus OrderLike(BAILevelsState state, BAILevelsState whole, int first, BAIDeviceLevel *L)
{
  const int    n     = L->A.n;
  const size_t all   = (size_t)whole->level[0].A.n;
  const int   *place = whole->level[0].place + first; /* of this rank's rows */
  BAIRoom      room;
  Order        order;
  int         *mark;

  L->alone = n;
  BAITry(Prepare(state, L, &order));
  if (!n) return BAIStatusOf(BAI_OK);
  BAITry(room.Get(state, all + 1, &mark));
  CUDATry(cudaMemsetAsync(mark, 0, (all + 1) * sizeof(*mark), state->s.stream));
  BAITry(BAINumber(state->s, n, {.index = place, .mark = mark}));
  BAITry(BAIScan(&state->s, (long long)all + 1, mark, mark));
  BAITry(BAINumber(state->s, n, {.index = place, .from = mark, .to = L->place}));
  BAITry(BAINumber(state->s, n, {.rows = 1, .from = L->place, .list = L->row}));
  return BAINumber(state->s, L->A.ghosts, {.rows = 1, .add = n, .to = L->place + n});
}

/* Numbers rows from the last level to the first in the order of the places of their aggregates; rows in no aggregate
   come last. If the last level is gathered, its rows take the order that they have there; otherwise they keep theirs */
BAIStatus BAIDeviceOrder(BAILevelsState state, const BAILevelsRanks *ranks)
{
  const BAILevelsState whole  = ranks ? BAILevelsStateOf(ranks->whole) : NULL;
  const int            last   = state->levels - 1 - (whole ? 1 : 0);
  cudaStream_t         stream = state->s.stream;
  Orders               few    = {};

  if (whole) BAITry(OrderLike(state, whole, (int)ranks->first, BAIDeviceLast(state)));
  for (int l = last; l >= 0; l--) {
    BAIDeviceLevel *L     = &state->level[l];
    const bool      small = L->A.n + L->A.ghosts < FEW && few.count == last - l;
    Order           order;

    L->alone = L->A.n;
    BAITry(Prepare(state, L, &order));
    if (small) few.level[few.count++] = order;
    if (few.count && (!small || !l)) OrderFew<<<1, FEW_THREADS, 0, stream>>>(few);
    if (!small) {
      few.count = 0;
      if (L->m) {
        Sizes<<<BAIGrid(L->m + 1, THREADS), THREADS, 0, stream>>>(order);
        BAITry(BAIScan(&state->s, (long long)L->m + 1, L->child, L->child));
      }
      Places<<<BAIGrid(L->A.n + L->A.ghosts, THREADS), THREADS, 0, stream>>>(order);
    }
    CUDATry(cudaGetLastError());
  }
  for (int l = 0; l < state->levels; l++) BAIDropList(state, &state->level[l]);
  return BAIStatusOf(BAI_OK);
}
