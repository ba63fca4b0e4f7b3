/* The inverse of the last level on a device, by Gauss-Jordan elimination like host/place.c */
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

/* Reads the rows of this warp, in which each lane keeps its columns */
static __device__ inline void Read(const BAIRows &A, int warp, int lane, Part *part)
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
  }
}

/* Stores (scale A)^-1 by rows; an unknown with a negligible pivot gets zeros. One thread block, which keeps the matrix
   in registers. In each step the threads that have the column and the line of the pivot show them to the others, after
   the line is divided by the pivot; every other time in other memory, so that one barrier suffices */
static __global__ __launch_bounds__(THREADS) void Invert(BAIRows A, BAIReal scale, bool single, void *inverse)
{
  /* complex numbers have constructors */
  __shared__ __align__(16) unsigned char memory[4 * BAI_LEVELS_COARSEST * sizeof(BAIScalar)];
  BAIScalar *const columns = reinterpret_cast<BAIScalar *>(memory), *const lines = columns + 2 * BAI_LEVELS_COARSEST;
  const int lane = (int)threadIdx.x % BAI_LANES, warp = (int)threadIdx.x / BAI_LANES, m = A.n;
  Part      part;
  BAIReal   d[EACH]; /* of lane number warp: the magnitudes of its diagonal entries */

  Read(A, warp, lane, &part);
#pragma unroll
  for (int u = 0; u < EACH; u++) d[u] = BAIAggregateMagnitude(part.a[u][u]);
#pragma unroll
  for (int of = 0; of < EACH; of++) {
    for (int l = 0; l < WARPS && of * WARPS + l < m; l++) {
      BAIScalar *const        column = columns + l % 2 * BAI_LEVELS_COARSEST,
                       *const line   = lines + l % 2 * BAI_LEVELS_COARSEST;

      if (lane == l) {
#pragma unroll
        for (int u = 0; u < EACH; u++) column[warp + u * WARPS] = warp == l && u == of ? BAIScalar(0) : part.a[u][of];
      }
      if (warp == l) {
        const BAIScalar pivot   = BAIOfLane(part.a[of][of], l);
        const bool      none    = !(BAIAggregateMagnitude(pivot) > BAI_LEVELS_PIVOT * BAIOfLane(d[of], l));
        const BAIScalar inverse = none ? BAIScalar(0) : BAIScalar(1) / pivot;

#pragma unroll
        for (int v = 0; v < EACH; v++) {
          part.a[of][v]              = lane == l && v == of ? inverse : part.a[of][v] * inverse;
          line[lane + v * BAI_LANES] = part.a[of][v];
        }
      }
      __syncthreads();
#pragma unroll
      for (int u = 0; u < EACH; u++) {
        const BAIScalar factor = column[warp + u * WARPS]; /* 0 in the line of the pivot, which is done */

        if (lane == l && !(warp == l && u == of)) part.a[u][of] = 0;
#pragma unroll
        for (int v = 0; v < EACH; v++) part.a[u][v] -= factor * line[lane + v * BAI_LANES];
      }
    }
  }
#pragma unroll
  for (int u = 0; u < EACH; u++) {
#pragma unroll
    for (int v = 0; v < EACH; v++) {
      const int i = warp + u * WARPS, j = lane + v * BAI_LANES;

      if (i >= m || j >= m) continue;
      if (single) static_cast<BAISingle *>(inverse)[i * m + j] = BAISingle(part.a[u][v] / scale);
      else static_cast<BAIScalar *>(inverse)[i * m + j] = part.a[u][v] / scale;
    }
  }
}

BAIStatus BAIInvertLast(BAILevelsState state)
{
  const BAIDeviceLevel *L = BAIDeviceLast(state);
  const size_t          m = (size_t)L->A.n;

  if (!BAIIsExact(&state->p, L->A.n)) return BAIStatusOf(BAI_OK);
  if (!state->inverse) BAITry(BAICUDAAllocate(&state->s, m * m * BAISizeOfNumbers(state), &state->inverse));
  Invert<<<1, THREADS, 0, state->s.stream>>>(L->A, state->scale, state->single != 0, state->inverse);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
