/* The inverse of the last level on a device, like host/invert.c. The rules of its pivots are in ../rowrules.h */
#include "levels.h"
#include "../../common/cuda/warp.h"

enum {
  WARPS   = 32,                          /* of the only thread block */
  EACH    = BAI_LEVELS_COARSEST / WARPS, /* rows and columns of a thread */
  THREADS = WARPS * BAI_LANES
};

static_assert((int)EACH * (int)BAI_LANES == (int)BAI_LEVELS_COARSEST, "columns are shared by the lanes of a warp");

/* The entries of a thread: its rows are those with numbers warp + WARPS u, its columns lane + BAI_LANES v */
struct Part {
  BAIScalar a[EACH][EACH];
};

/* Reads the rows of this warp, in which each lane keeps its columns. On the finest level a
   row of zeros gets 1 on its diagonal, see BAICycleDiagonal() */
static __device__ inline void Read(const BAIRows &A, bool finest, int warp, int lane, Part *part)
{
#pragma unroll
  for (int u = 0; u < EACH; u++) {
    const int i = warp + u * WARPS, begin = i < A.n ? A.i[i] : 0, end = i < A.n ? A.i[i + 1] : 0;

#pragma unroll
    for (int v = 0; v < EACH; v++) part->a[u][v] = 0;
    for (int base = begin; base < end; base += BAI_LANES) {
      const int k = base + lane, j = k < end ? A.j[k] : 0, count = end - base < BAI_LANES ? end - base : BAI_LANES;
      const BAIScalar a = k < end ? A.a[k] : BAIScalar(0);

      for (int l = 0; l < count; l++) {
        const int       column = BAIOfLane(j, l);
        const BAIScalar value  = BAIOfLane(a, l);

#pragma unroll
        for (int v = 0; v < EACH; v++)
          if (column == lane + v * BAI_LANES) part->a[u][v] += value;
      }
    }
    bool any = false;

#pragma unroll
    for (int v = 0; v < EACH; v++) any |= !(BAIAggregateMagnitude(part->a[u][v]) == 0);
    if (!__any_sync(~0u, any) && finest && lane == warp) part->a[u][u] = 1;
  }
}

/* A pivot: its row is number u of a warp, its column number v of a lane */
struct Pivot {
  int u, warp, v, lane;
};

/* Shared memory of the threads: the column and the line of a pivot, every other time in other memory, so that one
   barrier for each pivot suffices; whether it is postponed; and the rows and columns of the inverse, see
   BAIPivotPlace() */
struct Shown {
  BAIScalar *column, *line; /* 2 BAI_LEVELS_COARSEST each */
  int       *postponed;     /* 2 */
  int       *unknown, *equation;
};

/* Sets size[u] to the size of row u of this warp, see BAIPivotSize(), with shared memory for the diagonal entries */
static __device__ inline void FindSizes(int warp, int lane, const Part &part, BAIReal *diagonal, BAIReal *size)
{
#pragma unroll
  for (int u = 0; u < EACH; u++)
    if (lane == warp) diagonal[warp + u * WARPS] = BAIAggregateMagnitude(part.a[u][u]);
  __syncthreads();
#pragma unroll
  for (int u = 0; u < EACH; u++) {
    BAIReal largest = 0;

#pragma unroll
    for (int v = 0; v < EACH; v++) largest = BAIPivotSize(largest, part.a[u][v], diagonal[lane + v * BAI_LANES]);
    for (int o = BAI_LANES / 2; o; o /= 2) {
      const BAIReal other = __shfl_xor_sync(~0u, largest, o);

      largest = other > largest ? other : largest;
    }
    size[u] = largest;
  }
}

/* Eliminates the column of a pivot by its row. turn counts the calls, and selects the memory. size is NULL, or the
   pivot may be postponed; then it has the sizes of the rows of this warp. If the pivot is postponed, returns true and
   changes nothing. Registers cannot be indexed at run time, so the
   loops visit all and pass over the others */
static __device__ __forceinline__ bool Eliminate(const Pivot &p, int turn, const BAIReal *size, const Shown *shown,
                                                 Part *part)
{
  const int               lane = (int)threadIdx.x % BAI_LANES, warp = (int)threadIdx.x / BAI_LANES;
  BAIScalar *const        column = shown->column + turn % 2 * BAI_LEVELS_COARSEST,
                   *const line   = shown->line + turn % 2 * BAI_LEVELS_COARSEST;

#pragma unroll
  for (int u = 0; u < EACH; u++) {
#pragma unroll
    for (int v = 0; v < EACH; v++) {
      if (v != p.v) continue;
      const bool of_line = warp == p.warp && u == p.u;

      if (lane == p.lane) column[warp + u * WARPS] = of_line ? BAIScalar(0) : part->a[u][v];
      if (!of_line) continue;
      const BAIScalar pivot     = BAIOfLane(part->a[u][v], p.lane);
      const bool      postpones = size && !BAIPivots(pivot, size[u]);
      const BAIScalar inverse   = postpones ? BAIScalar(0) : BAIScalar(1) / pivot;

      if (lane == 0) {
        const int row = warp + u * WARPS, of = p.lane + v * BAI_LANES;

        shown->postponed[turn % 2] = postpones;
        shown->unknown[row]        = postpones ? -1 : of;
        shown->equation[of]        = postpones ? -1 : row;
      }
      if (postpones) continue;
#pragma unroll
      for (int w = 0; w < EACH; w++) {
        part->a[u][w]              = lane == p.lane && w == v ? inverse : part->a[u][w] * inverse;
        line[lane + w * BAI_LANES] = part->a[u][w];
      }
    }
  }
  __syncthreads();
  if (shown->postponed[turn % 2]) return true;
#pragma unroll
  for (int u = 0; u < EACH; u++) {
    const BAIScalar factor = column[warp + u * WARPS]; /* 0 in the line of the pivot, which is done */

#pragma unroll
    for (int v = 0; v < EACH; v++) {
      if (v == p.v && lane == p.lane && !(warp == p.warp && u == p.u)) part->a[u][v] = 0;
      part->a[u][v] -= factor * line[lane + v * BAI_LANES];
    }
  }
  return false;
}

/* Eliminates the rows and columns that are postponed by the pivots of the highest ranks. root has the roots of the
   sizes of all rows */
static __device__ __forceinline__ void EliminatePostponed(int m, const BAIReal *root, const Shown *shown,
                                                          unsigned long long *best, Part *part)
{
  const int lane = (int)threadIdx.x % BAI_LANES, warp = (int)threadIdx.x / BAI_LANES;

  for (int turn = 0;; turn++) {
    unsigned long long mine = 0;

    __syncthreads();
    if (threadIdx.x == 0) *best = 0;
    __syncthreads();
#pragma unroll
    for (int u = 0; u < EACH; u++) {
      const int i = warp + u * WARPS;

#pragma unroll
      for (int v = 0; v < EACH; v++) {
        const int                j    = lane + v * BAI_LANES;
        const bool               is   = i < m && j < m && shown->unknown[i] < 0 && shown->equation[j] < 0;
        const unsigned long long rank = is ? BAIPivotRank(part->a[u][v], root[i], root[j], i, j) : 0;

        mine = rank > mine ? rank : mine;
      }
    }
    if (mine) atomicMax(best, mine);
    __syncthreads();
    if (!*best) break;
    const int row = BAIPivotRow(*best), column = BAIPivotColumn(*best);

    (void)Eliminate({row / WARPS, row % WARPS, column / BAI_LANES, column % BAI_LANES}, turn, NULL, shown, part);
  }
  if (threadIdx.x == 0) BAIPivotsEnd(m, shown->unknown, shown->equation);
  __syncthreads();
}

/* Stores (scale A)^-1 by rows. One thread block, which keeps the matrix in registers */
static __global__ __launch_bounds__(THREADS) void Invert(BAIRows A, bool finest, BAIReal scale, bool single,
                                                         void *inverse)
{
  /* complex numbers have constructors */
  __shared__ __align__(16) unsigned char memory[4 * BAI_LEVELS_COARSEST * sizeof(BAIScalar)];
  __shared__ int                         postponed[2], unknown[BAI_LEVELS_COARSEST], equation[BAI_LEVELS_COARSEST];
  __shared__ unsigned long long          best;
  __shared__ BAIReal                     root[BAI_LEVELS_COARSEST]; /* at first the diagonal entries */
  BAIScalar *const                       columns = reinterpret_cast<BAIScalar *>(memory);
  const Shown shown = {columns, columns + 2 * BAI_LEVELS_COARSEST, postponed, unknown, equation};
  const int   lane = (int)threadIdx.x % BAI_LANES, warp = (int)threadIdx.x / BAI_LANES, m = A.n;
  bool        any = false;
  Part        part;
  BAIReal     size[EACH];

  Read(A, finest, warp, lane, &part);
  FindSizes(warp, lane, part, root, size);
#pragma unroll
  for (int of = 0; of < EACH; of++)
    for (int l = 0; l < WARPS && of * WARPS + l < m; l++) any |= Eliminate({of, l, of, l}, l, size, &shown, &part);
#pragma unroll
  for (int u = 0; u < EACH; u++)
    if (!lane) root[warp + u * WARPS] = sqrt(size[u]);
  __syncthreads();
  if (any) EliminatePostponed(m, root, &shown, &best, &part);
#pragma unroll
  for (int u = 0; u < EACH; u++) {
#pragma unroll
    for (int v = 0; v < EACH; v++) {
      const int i = warp + u * WARPS, j = lane + v * BAI_LANES;

      if (i >= m || j >= m) continue;
      const int       to = BAIPivotPlace(unknown[i], equation[j], m);
      const BAIScalar a  = unknown[i] < 0 || equation[j] < 0 ? BAIScalar(0) : part.a[u][v] / scale;

      if (single) static_cast<BAISingle *>(inverse)[to] = BAISingle(a);
      else static_cast<BAIScalar *>(inverse)[to] = a;
    }
  }
}

BAIStatus BAIInvertLast(BAILevelsState state)
{
  const BAIDeviceLevel *L = BAIDeviceLast(state);
  const size_t          m = (size_t)L->A.n;

  if (!BAIIsExact(&state->p, L->A.n)) return BAIStatusOf(BAI_OK);
  if (!state->inverse) BAITry(BAICUDAAllocate(&state->s, m * m * BAISizeOfNumbers(state), &state->inverse));
  Invert<<<1, THREADS, 0, state->s.stream>>>(L->A, state->levels == 1, state->scale, state->single != 0,
                                             state->inverse);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
