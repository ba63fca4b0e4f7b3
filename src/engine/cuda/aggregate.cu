/*
   Aggregates on a device: what aggregate.h says, a thread a row
*/
#include "../aggregate.h"
#include "scan_sort.h"
#include <cub/block/block_reduce.cuh>
#include <algorithm>
#include <limits.h>
#include <memory>
#include <new>

enum {
  THREADS = 256,
  LONG    = 32 /* entries of a row that is not long, or four times the mean of all rows */
};

/*
   Strong neighbours. Those of a row that is not long are in a slice of 32 rows: column by column, each 32 wide, and
   rows are padded with their own number. Long rows are gone through as they are in A, a thread block each
*/
typedef struct {
  BAICSR   A;
  int      n, most, all; /* most: entries of a row that is not long */
  int     *first;        /* slices + 1: columns of the slices before */
  int     *neighbor;
  int      longs;
  int     *long_row; /* in no order */
  BAIReal *largest;  /* magnitude of an entry off the diagonal in each long row */
} Strong;

struct Larger {
  template <typename T>
  __device__ T operator()(const T &a, const T &b) const
  {
    return a < b ? b : a;
  }
};

static __device__ __forceinline__ int Row(void)
{
  const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  return (int)min(row, (long long)INT_MAX);
}

static __device__ __forceinline__ BAIReal LargestOf(const BAICSR &A, int row, int begin, int stride)
{
  BAIReal largest = 0;

  for (BAIInt k = A.i[row] + begin; k < A.i[row + 1]; k += stride) {
    if (A.j[k] != row) largest = Larger()(largest, BAIAggregateMagnitude(A.a[k]));
  }
  return largest;
}

/* Calls f(column) for the strong neighbours of a row, from an entry on and at this stride */
template <typename F>
static __device__ __forceinline__ void ForStrong(const Strong &G, int row, BAIReal largest, int begin, int stride, F f)
{
  for (BAIInt k = G.A.i[row] + begin; k < G.A.i[row + 1]; k += stride) {
    const int col = (int)G.A.j[k];

    if (col != row && BAIAggregateIsStrong(BAIAggregateMagnitude(G.A.a[k]), largest, G.all)) f(col);
  }
}

/* The width of each slice, the list of long rows, and which of the others have strong neighbours */
static __global__ void Count(const __grid_constant__ Strong G, int *longs, signed char *alone)
{
  const int row    = Row();
  int       strong = 0;

  if (row < G.n && G.A.i[row + 1] - G.A.i[row] > G.most) G.long_row[atomicAdd(longs, 1)] = row;
  else if (row < G.n) {
    const BAIReal largest = LargestOf(G.A, row, 0, 1);

    ForStrong(G, row, largest, 0, 1, [&](int) { strong++; });
    alone[row] = largest > 0 ? BAI_AGGREGATE_REACH : -1;
  }
  strong = __reduce_max_sync(~0u, strong);
  if (row < G.n && row % BAI_LANES == 0) G.first[row / BAI_LANES] = strong;
}

/* By now first is summed up */
static __global__ void Fill(const __grid_constant__ Strong G)
{
  const int row = Row();

  if (row >= G.n) return;
  long long       at  = (long long)G.first[row / BAI_LANES] * BAI_LANES + row % BAI_LANES;
  const long long end = (long long)G.first[row / BAI_LANES + 1] * BAI_LANES;

  if (G.A.i[row + 1] - G.A.i[row] <= G.most) {
    ForStrong(G, row, LargestOf(G.A, row, 0, 1), 0, 1, [&](int col) {
      G.neighbor[at] = col;
      at += BAI_LANES;
    });
  }
  for (; at < end; at += BAI_LANES) G.neighbor[at] = row;
}

/* A thread block a long row */
static __global__ void WeighLong(const __grid_constant__ Strong G, signed char *alone)
{
  typedef cub::BlockReduce<BAIReal, THREADS> Reduce;
  __shared__ typename Reduce::TempStorage    storage;
  const int                                  row = G.long_row[blockIdx.x];
  const BAIReal largest = Reduce(storage).Reduce(LargestOf(G.A, row, threadIdx.x, THREADS), Larger());

  if (threadIdx.x) return;
  G.largest[blockIdx.x] = largest;
  alone[row]            = largest > 0 ? BAI_AGGREGATE_REACH : -1;
}

/* A step further. first: what a row has seen first it keeps, else the largest */
static __global__ void Step(const __grid_constant__ Strong G, int first, const uint32_t *__restrict__ seen,
                            uint32_t *__restrict__ next)
{
  enum {
    AHEAD = 8 /* neighbours on their way */
  };
  const int row = Row();

  if (row >= G.n) return;
  uint32_t most = seen[row];

  if (!first || !most) {
    const int  begin = G.first[row / BAI_LANES], width = G.first[row / BAI_LANES + 1] - begin;
    const int *neighbor = G.neighbor + (long long)begin * BAI_LANES + row % BAI_LANES;

    for (int k = 0; k < width; k += AHEAD) {
      int col[AHEAD];

#pragma unroll
      for (int w = 0; w < AHEAD; w++) col[w] = k + w < width ? neighbor[(long long)(k + w) * BAI_LANES] : row;
#pragma unroll
      for (int w = 0; w < AHEAD; w++) most = Larger()(most, seen[col[w]]);
    }
  }
  next[row] = most;
}

/* The same for long rows, which Step() has copied: a thread block each */
static __global__ void StepLong(const __grid_constant__ Strong G, int first, const uint32_t *__restrict__ seen,
                                uint32_t *__restrict__ next)
{
  typedef cub::BlockReduce<uint32_t, THREADS> Reduce;
  __shared__ typename Reduce::TempStorage     storage;
  const int                                   row  = G.long_row[blockIdx.x];
  uint32_t                                    most = seen[row];

  if (first && most) return;
  ForStrong(G, row, G.largest[blockIdx.x], threadIdx.x, THREADS, [&](int col) { most = Larger()(most, seen[col]); });
  most = Reduce(storage).Reduce(most, Larger());
  if (!threadIdx.x) next[row] = most;
}

static __global__ void Begin(int n, const signed char *alone, uint32_t *seen)
{
  const int row = Row();

  if (row < n) seen[row] = alone[row] < 0 ? 0 : BAIAggregateKey(row);
}

/* After a step: which rows are alone with the largest key no longer, and how many still are */
static __global__ void CountAlone(int n, int step, const uint32_t *seen, signed char *alone, int *count)
{
  const int row = Row();
  bool      is  = false;

  if (row < n) {
    is = alone[row] >= step;
    if (is && seen[row] != BAIAggregateKey(row)) {
      is         = false;
      alone[row] = (signed char)(step - 1);
    }
  }
  const int many = __syncthreads_count(is);

  if (!threadIdx.x && many) atomicAdd(count, many);
}

static __device__ inline bool IsRoot(const signed char *alone, int reach, int row)
{
  return alone[row] >= reach;
}

static __global__ void MarkRoots(int n, const signed char *alone, int reach, int *is)
{
  const int row = Row();

  if (row < n) is[row] = IsRoot(alone, reach, row);
}

/* Roots have seen their own aggregate, whose number is that of the roots before */
static __global__ void NumberRoots(int n, const signed char *alone, int reach, const int *before, uint32_t *seen)
{
  const int row = Row();

  if (row < n) seen[row] = IsRoot(alone, reach, row) ? (uint32_t)before[row] + 1 : 0;
}

/* What rows have seen first as their aggregates, and how many have seen none yet that will */
static __global__ void Aggregates(int n, const uint32_t *seen, const signed char *alone, int *aggregate, int *left)
{
  const int row = Row();
  bool      is  = false;

  if (row < n) {
    aggregate[row] = (int)seen[row] - 1;
    is             = !seen[row] && alone[row] >= 0;
  }
  const int many = __syncthreads_count(is);

  if (!threadIdx.x && many) atomicAdd(left, many);
}

typedef struct {
  BAIState     state;
  Strong       G;
  int         *aggregate;
  signed char *alone; /* the last step with the row's own key the largest, or the most; -1: without strong neighbours */
  uint32_t *seen, *next; /* the largest key, or the aggregate + 1, as far as one has looked; room for a step further */
  int      *count;       /* BAI_AGGREGATE_REACH + 1 */
  BAITemporary first, neighbor, long_row, largest, words, alones, counts;
} Aggregation;

static unsigned Grid(long long threads)
{
  return (unsigned)((threads + THREADS - 1) / THREADS);
}

static BAIStatus GoOn(Aggregation *g, int first)
{
  const cudaStream_t stream = g->state->stream;

  Step<<<Grid(g->G.n), THREADS, 0, stream>>>(g->G, first, g->seen, g->next);
  CUDATry(cudaGetLastError());
  if (g->G.longs) StepLong<<<(unsigned)g->G.longs, THREADS, 0, stream>>>(g->G, first, g->seen, g->next);
  CUDATry(cudaGetLastError());
  std::swap(g->seen, g->next);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Relate(void *ctx, int all)
{
  Aggregation       *g      = (Aggregation *)ctx;
  Strong            *G      = &g->G;
  const cudaStream_t stream = g->state->stream;
  const int          slices = (G->n - 1) / BAI_LANES + 1;
  int                columns;

  G->all = all;
  CUDATry(cudaMemsetAsync(g->count, 0, sizeof(int), stream));
  CUDATry(cudaMemsetAsync(G->first + slices, 0, sizeof(int), stream));
  Count<<<Grid(G->n), THREADS, 0, stream>>>(*G, g->count, g->alone);
  CUDATry(cudaGetLastError());
  BAITry(BAIScan(g->state, slices + 1, G->first, G->first));
  CUDATry(cudaMemcpyAsync(&G->longs, g->count, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaMemcpyAsync(&columns, G->first + slices, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaStreamSynchronize(stream));
  BAITry(g->neighbor.Allocate(g->state, (size_t)columns * BAI_LANES * sizeof(int)));
  G->neighbor = (int *)g->neighbor.p;
  Fill<<<Grid(G->n), THREADS, 0, stream>>>(*G);
  CUDATry(cudaGetLastError());
  if (G->longs) WeighLong<<<(unsigned)G->longs, THREADS, 0, stream>>>(*G, g->alone);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Look(void *ctx, int from, int to, int roots[])
{
  Aggregation       *g      = (Aggregation *)ctx;
  const int          n      = g->G.n;
  const cudaStream_t stream = g->state->stream;

  if (!from) {
    Begin<<<Grid(n), THREADS, 0, stream>>>(n, g->alone, g->seen);
    CUDATry(cudaGetLastError());
    CUDATry(cudaMemsetAsync(g->count, 0, (BAI_AGGREGATE_REACH + 1) * sizeof(int), stream));
  }
  for (int step = from + 1; step <= to; step++) {
    BAITry(GoOn(g, 0));
    CountAlone<<<Grid(n), THREADS, 0, stream>>>(n, step, g->seen, g->alone, g->count + step);
    CUDATry(cudaGetLastError());
  }
  CUDATry(cudaMemcpyAsync(roots + from + 1, g->count + from + 1, (size_t)(to - from) * sizeof(int),
                          cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaStreamSynchronize(stream));
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Assign(void *ctx, int aggregates, int reach)
{
  Aggregation       *g      = (Aggregation *)ctx;
  const int          n      = g->G.n;
  const cudaStream_t stream = g->state->stream;
  BAITemporary       roots;
  int                left = n, before;

  if (!aggregates) {
    CUDATry(cudaMemsetAsync(g->aggregate, 0xff, (size_t)n * sizeof(int), stream)); /* -1 */
    return BAIStatusOf(BAI_OK);
  }
  BAITry(roots.Allocate(g->state, (size_t)n * sizeof(int)));
  MarkRoots<<<Grid(n), THREADS, 0, stream>>>(n, g->alone, reach, (int *)roots.p);
  CUDATry(cudaGetLastError());
  BAITry(BAIScan(g->state, n, (const int *)roots.p, (int *)roots.p));
  NumberRoots<<<Grid(n), THREADS, 0, stream>>>(n, g->alone, reach, (const int *)roots.p, g->seen);
  CUDATry(cudaGetLastError());
  do {
    before = left;
    for (int step = 0; step < reach; step++) BAITry(GoOn(g, 1));
    CUDATry(cudaMemsetAsync(g->count, 0, sizeof(int), stream));
    Aggregates<<<Grid(n), THREADS, 0, stream>>>(n, g->seen, g->alone, g->aggregate, g->count);
    CUDATry(cudaGetLastError());
    CUDATry(cudaMemcpyAsync(&left, g->count, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CUDATry(cudaStreamSynchronize(stream));
  } while (left && left < before);
  return BAIStatusOf(BAI_OK);
}

/* Memory, but for the neighbours */
static BAIStatus SetUp(Aggregation *g)
{
  Strong      *G      = &g->G;
  const size_t n      = (size_t)G->n;
  const int    slices = (G->n - 1) / BAI_LANES + 1;
  BAIInt       nnz;

  CUDATry(cudaMemcpyAsync(&nnz, G->A.i + n, sizeof(nnz), cudaMemcpyDeviceToHost, g->state->stream));
  BAITry(g->first.Allocate(g->state, ((size_t)slices + 1) * sizeof(int)));
  BAITry(g->long_row.Allocate(g->state,
                              (n / 4 + 1) *
                                sizeof(int))); /* of more than four times the mean there are fewer than a quarter */
  BAITry(g->largest.Allocate(g->state, (n / 4 + 1) * sizeof(BAIReal)));
  BAITry(g->words.Allocate(g->state, 2 * n * sizeof(uint32_t)));
  BAITry(g->alones.Allocate(g->state, n));
  BAITry(g->counts.Allocate(g->state, (BAI_AGGREGATE_REACH + 1) * sizeof(int)));
  G->first    = (int *)g->first.p;
  G->long_row = (int *)g->long_row.p;
  G->largest  = (BAIReal *)g->largest.p;
  g->seen     = (uint32_t *)g->words.p;
  g->next     = g->seen + n;
  g->alone    = (signed char *)g->alones.p;
  g->count    = (int *)g->counts.p;
  CUDATry(cudaStreamSynchronize(g->state->stream));
  G->most = (int)std::min(std::max((long long)LONG, 4 * (long long)nnz / G->n), (long long)INT_MAX);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDAAggregate(BAIState state, const BAICSR *A, int n, int wanted, int *aggregates, int *aggregate)
{
  const BAIAggregator by = {Relate, Look, Assign};
  Aggregation         g  = {};

  *aggregates = 0;
  if (!n) return BAIStatusOf(BAI_OK);
  if (n == INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  g.state     = state;
  g.G.A       = *A;
  g.G.n       = n;
  g.aggregate = aggregate;
  BAITry(SetUp(&g));
  return BAIAggregateBy(&by, &g, n, wanted, aggregates);
}

static BAIStatus ToDevice(BAIState state, const void *p, size_t bytes, BAITemporary *copy)
{
  BAITry(copy->Allocate(state, bytes));
  if (bytes) CUDATry(cudaMemcpyAsync(copy->p, p, bytes, cudaMemcpyHostToDevice, state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDAAggregateMatrix(const BAIMatrix *matrix, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate)
{
  const size_t                 n     = (size_t)matrix->n;
  struct BAIState_             state = {}; /* the default stream */
  BAITemporary                 i, j, a, found;
  BAICSR                       A = matrix->A;
  const std::unique_ptr<int[]> copy(new (std::nothrow) int[n + 1]);
  int                          count;

  *aggregates = 0;
  if (matrix->n >= INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  if (!copy) return BAIStatusOf(BAI_ERR_MEMORY);
  if (matrix->memory == BAI_MEMORY_HOST) {
    const size_t nnz = (size_t)A.i[n];

    BAITry(ToDevice(&state, A.i, (n + 1) * sizeof(*A.i), &i));
    BAITry(ToDevice(&state, A.j, nnz * sizeof(*A.j), &j));
    BAITry(ToDevice(&state, A.a, nnz * sizeof(*A.a), &a));
    A = {(const BAIInt *)i.p, (const BAIInt *)j.p, (const BAIScalar *)a.p};
  }
  BAITry(found.Allocate(&state, n * sizeof(int)));
  BAITry(BAICUDAAggregate(&state, &A, (int)n, (int)std::min(wanted, (BAIInt)INT_MAX), &count, (int *)found.p));
  CUDATry(cudaMemcpyAsync(copy.get(), found.p, n * sizeof(int), cudaMemcpyDeviceToHost, state.stream));
  CUDATry(cudaStreamSynchronize(state.stream));
  for (size_t k = 0; k < n; k++) aggregate[k] = copy[k];
  *aggregates = count;
  return BAIStatusOf(BAI_OK);
}
