/*
   How couplings lie on a device: along the directions of a grid, and in aggregates that were made of other values. What
   is found here is what host/fit.c finds; numbers of rows are the same to the bit
*/
#include "levels.h"
#include <cub/block/block_reduce.cuh>
#include <float.h>
#include <string.h>

enum {
  THREADS = 256,
  WARP    = 32
};

/* Couplings along the directions of a grid; least and most are bits of doubles */
struct GridSums {
  double             sum[3];
  unsigned long long least[3], most[3], count[3];
  int                other;
};

static __global__ void LookAtGrid(BAIDeviceRows A, BAINumbering grid, GridSums *sums)
{
  using Sum = cub::BlockReduce<double, THREADS>;
  __shared__ typename Sum::TempStorage storage;
  const int                            row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  double sum[3] = {0, 0, 0}, least[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, most[3] = {0, 0, 0}, count[3] = {0, 0, 0};

  BAIInt at[3];

  BAIGridAt(&grid, row, at);
  for (int k = row < A.n ? A.i[row] : 0; row < A.n && k < A.i[row + 1]; k++) {
    const double w = (double)BAIAggregateMagnitude(A.a[k]);
    int          offset[3], axis;

    if (A.j[k] >= A.n) continue;
    if (!BAIGridOffset(&grid, at, row, A.j[k], offset)) sums->other = 1;
    axis = BAIGridAxis(offset);
#pragma unroll
    for (int d = 0; d < 3; d++) {
      if (axis != d || w == 0) continue;
      sum[d] += w;
      count[d]++;
      least[d] = w < least[d] ? w : least[d];
      most[d]  = w > most[d] ? w : most[d];
    }
  }
#pragma unroll
  for (int d = 0; d < 3; d++) {
    sum[d] = Sum(storage).Sum(sum[d]);
    __syncthreads();
    count[d] = Sum(storage).Sum(count[d]);
    __syncthreads();
    least[d] = Sum(storage).Reduce(least[d], [](double a, double b) { return a < b ? a : b; });
    __syncthreads();
    most[d] = Sum(storage).Reduce(most[d], [](double a, double b) { return a > b ? a : b; });
    __syncthreads();
    if (threadIdx.x || count[d] == 0) continue;
    atomicAdd(&sums->sum[d], sum[d]);
    atomicAdd(&sums->count[d], (unsigned long long)count[d]);
    atomicMin(&sums->least[d], (unsigned long long)__double_as_longlong(least[d]));
    atomicMax(&sums->most[d], (unsigned long long)__double_as_longlong(most[d]));
  }
}

/* Before a look */
static GridSums NoSums(void)
{
  return {
    {0,     0,     0    },
    {~0ull, ~0ull, ~0ull},
    {0,     0,     0    },
    {0,     0,     0    },
    0
  };
}

static void FindBoxes(const GridSums &sums, const BAINumbering &grid, BAIInt n, BAIInt box[3])
{
  BAIGridLook look;

  look.other = sums.other;
  for (int d = 0; d < 3; d++) {
    look.sum[d]   = sums.sum[d];
    look.count[d] = (int64_t)sums.count[d];
    memcpy(&look.least[d], &sums.least[d], sizeof(double));
    memcpy(&look.most[d], &sums.most[d], sizeof(double));
  }
  BAIGridBoxes(&look, &grid, n, box);
}

BAIStatus BAIDeviceBoxes(BAILevelsState state, const BAIDeviceRows &A, const BAINumbering &grid, BAIInt box[3])
{
  BAITemporary room;
  GridSums     sums = NoSums();

  BAITry(room.Allocate(&state->s, sizeof(sums)));
  CUDATry(cudaMemcpyAsync(room.p, &sums, sizeof(sums), cudaMemcpyHostToDevice, state->s.stream));
  LookAtGrid<<<BAIGrid(A.n, THREADS), THREADS, 0, state->s.stream>>>(A, grid, static_cast<GridSums *>(room.p));
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(&sums, room.p, sizeof(sums), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  FindBoxes(sums, grid, A.n, box);
  return BAIStatusOf(BAI_OK);
}

/* The parameters of kernels that look at the aggregates of a level */
struct Look {
  BAIDeviceRows A;
  const int    *row, *place, *field, *child, *aggregate, *next_place;
  int           end;     /* the first place of rows in no aggregate */
  int           columns; /* of P of an aggregate */
  int           points;  /* rows of a point */
  bool          finest;
};

/* See host/fit.c */
static __device__ inline bool LookAtRow(const Look &look, int row, BAIReal *largest)
{
  const int first = row / look.points * look.points;
  BAIReal   d = 0, sum = 0;

  *largest = 0;
  for (int k = look.A.i[row]; k < look.A.i[row + 1]; k++) {
    const int     j = look.A.j[k];
    const BAIReal w = BAIAggregateMagnitude(look.A.a[k]);

    if (j >= first && j < first + look.points) {
      d += w;
      continue;
    }
    sum += w;
    if (j < look.A.n && w > *largest && (!look.field || look.field[j] == look.field[row])) *largest = w;
  }
  return BAIFitDominates(d, sum, look.finest);
}

/* To which points of the aggregate at these places strong couplings lead from a row */
static __device__ inline uint32_t LeadsOf(const Look &look, int row, int begin, int end)
{
  BAIReal largest;

  if (LookAtRow(look, row, &largest)) return ~UINT32_C(0);
  uint32_t leads = UINT32_C(1) << (look.place[row] - begin) / look.points;

  for (int k = look.A.i[row]; k < look.A.i[row + 1]; k++) {
    const int q = look.A.j[k] < look.A.n ? look.place[look.A.j[k]] : -1;

    if (q >= begin && q < end && BAIFitIsStrong(BAIAggregateMagnitude(look.A.a[k]), largest))
      leads |= UINT32_C(1) << (q - begin) / look.points;
  }
  return leads;
}

/* The leads of the row at each place from the first one on; rows in no aggregate are counted if they do not dominate */
static __global__ __launch_bounds__(THREADS) void Leads(Look look, int first, uint32_t *leads,
                                                        unsigned long long *unfit)
{
  const int p   = first + (int)(blockIdx.x * blockDim.x + threadIdx.x);
  bool      bad = false;

  if (p < look.end) {
    const int row = look.row[p], c = look.next_place[look.aggregate[row] * look.columns] / look.columns;
    const int begin = look.child[c], end = look.child[c + 1];

    if ((end - begin) / look.points <= BAI_SET) leads[p] = LeadsOf(look, row, begin, end);
  } else if (p < look.A.n) {
    BAIReal largest;

    bad = !LookAtRow(look, look.row[p], &largest);
  }
  const int count = __syncthreads_count(bad);

  if (!threadIdx.x && count) atomicAdd(unfit, (unsigned long long)count);
}

/* The rows of aggregates that do not hold together; a thread an aggregate */
static __global__ __launch_bounds__(THREADS) void HoldTogether(int m, const int *child, int points,
                                                               const uint32_t *leads, unsigned long long *unfit)
{
  const int c = (int)(blockIdx.x * blockDim.x + threadIdx.x), begin = c < m ? child[c] : 0,
            rows = c < m ? child[c + 1] - begin : 0;
  uint32_t set[BAI_SET];
  int      bad = 0;

  if (rows && rows / points <= BAI_SET) {
    for (int k = 0; k < rows / points; k++) set[k] = 0;
    for (int k = 0; k < rows; k++) set[k / points] |= leads[begin + k];
    if (!BAIFitHoldsTogether(rows / points, set)) bad = rows;
  }
  bad = __reduce_add_sync(~0u, bad);
  if (threadIdx.x % WARP == 0 && bad) atomicAdd(unfit, (unsigned long long)bad);
}

/* Findings about a level */
struct BAIFitFindings {
  GridSums           sums;
  unsigned long long unfit;
};

BAIStatus BAIDeviceFit::Begin(BAILevelsState state)
{
  BAIFitFindings none[BAI_LEVELS_MOST];

  for (int l = 0; l < BAI_LEVELS_MOST; l++) none[l] = {NoSums(), 0};
  BAITry(room.Allocate(&state->s, sizeof(none)));
  findings = static_cast<BAIFitFindings *>(room.p);
  CUDATry(cudaMemcpyAsync(findings, none, sizeof(none), cudaMemcpyHostToDevice, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

static bool IsAsked(BAILevelsState state, int level)
{
  return BAIFitIsAsked(&state->p, state->levels, state->level[level].m, state->level[level].A.n);
}

BAIStatus BAIDeviceFit::LookAt(BAILevelsState state, int level, bool values_only)
{
  const BAIDeviceLevel *L      = &state->level[level];
  const int             n      = L->A.n;
  const bool            boxes  = BAIGridHasBoxes(L->box.m);
  cudaStream_t          stream = state->s.stream;
  BAITemporary          leads_room;
  uint32_t             *leads;

  if (!IsAsked(state, level)) return BAIStatusOf(BAI_OK);
  const Look look = {L->A,
                     L->row,
                     L->place,
                     L->field,
                     L->child,
                     L->aggregate,
                     L[1].place,
                     n - L->alone,
                     BAIColumnsOfP(state->p.modes),
                     !state->p.modes ? 1
                       : level       ? state->p.modes
                                     : state->points,
                     !(level + state->p.above)};

  if (values_only && L->box.m[0])
    LookAtGrid<<<BAIGrid(n, THREADS), THREADS, 0, stream>>>(L->A, L->grid, &findings[level].sums);
  const int first = boxes ? look.end : 0; /* boxes do not come apart */

  if (first == n) return BAIStatusOf(BAI_OK);
  BAITry(leads_room.Allocate(&state->s, (size_t)n * sizeof(*leads)));
  leads = static_cast<uint32_t *>(leads_room.p);
  Leads<<<BAIGrid(n - first, THREADS), THREADS, 0, stream>>>(look, first, leads, &findings[level].unfit);
  if (!boxes && L->m)
    HoldTogether<<<BAIGrid(L->m, THREADS), THREADS, 0, stream>>>(L->m, L->child, look.points, leads,
                                                                 &findings[level].unfit);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceFit::End(BAILevelsState state, bool values_only)
{
  BAIFitFindings found[BAI_LEVELS_MOST];

  CUDATry(cudaMemcpyAsync(found, findings, sizeof(found), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  for (int l = 0; l < state->levels; l++) {
    BAIDeviceLevel *L     = &state->level[l];
    const long long unfit = (long long)found[l].unfit;
    BAIBox          box   = L->box;

    if (!values_only) L->unfit = unfit;
    if (!values_only || !IsAsked(state, l) || !isfinite(state->norm)) continue;
    if (box.m[0]) FindBoxes(found[l].sums, L->grid, L->A.n, box.m);
    if (memcmp(&box, &L->box, sizeof(box)) || !BAIFits(unfit, L->unfit, L->A.n)) return BAIStatusOf(BAI_ERR_OUTDATED);
  }
  return BAIStatusOf(BAI_OK);
}
