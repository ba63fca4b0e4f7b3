/* Overcorrection of coarse matrices on a device */
#include "levels.h"

enum {
  THREADS = 256,
  TEAM    = 8 /* lanes of a row */
};

/* Notes which rows of a coarse matrix are dominant, a thread for each row */
static __global__ __launch_bounds__(THREADS) void MarkDominant(BAIRows C, BAILevelsSide *side)
{
  const int c = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (c < C.n) side[c].dominant = BAIIsDominant(&C, c);
}

/* Sets dominant of the sides of the rows of C, if it may be read: the finest matrix has positive couplings */
BAIStatus BAISidesMark(BAILevelsState state, const BAIRows &C, BAISides *sides)
{
  if (!(state->info.more > 0)) return BAIStatusOf(BAI_OK);
  MarkDominant<<<BAIGrid(C.n, THREADS), THREADS, 0, state->s.stream>>>(C, sides->side);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Overcorrects the couplings of the rows of a coarse matrix, see BAISoftened(), by a team of lanes for each row. Sums
   are in the order of the entries. A row of nothing but rounding becomes zero */
static __global__ __launch_bounds__(THREADS, 5) void SoftenRows(BAIRows C, BAISides sides, const BAILevelsSide *ghost,
                                                                BAIReal over)
{
  const int c = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / TEAM), lane = (int)threadIdx.x % TEAM;
  const int begin = c < C.n ? C.i[c] : 0, end = c < C.n ? C.i[c + 1] : 0;
  BAIReal   sum = 0, lost = 0;
  int       diagonal = -1;

  for (int first = begin; __any_sync(~0u, first < end); first += TEAM) {
    const int       k  = first + lane;
    const bool      is = k < end;
    const BAIScalar a = is ? C.a[k] : BAIScalar(0), soft = is ? BAISoftenedEntry(&C, &sides, ghost, over, c, k) : a;
    const BAIReal   real = BAIRealPart(a), less = BAIRealPart(a - soft);

    if (is && C.j[k] == c) diagonal = k;
    if (is) C.a[k] = soft;
#pragma unroll
    for (int l = 0; l < TEAM; l++) {
      sum += __shfl_sync(~0u, real, l, TEAM);
      lost += __shfl_sync(~0u, less, l, TEAM);
    }
  }
  if (diagonal < 0) return;
  C.a[diagonal] += BAISoftenedGain(sum, lost, over);
  if (BAIIsRounding(&C, &sides, c, diagonal)) C.a[diagonal] = 0;
}

BAIStatus BAISidesSoften(BAILevelsState state, const BAILevelsSide *ghost, BAISides *sides, const BAIRows &C)
{
  if (!sides->side) return BAIStatusOf(BAI_OK);
  SoftenRows<<<BAIGrid((long long)C.n * TEAM, THREADS), THREADS, 0, state->s.stream>>>(C, *sides, ghost, state->over);
  CUDATry(cudaGetLastError());
  BAIDrop(state, (size_t)C.nnz, &sides->entries); /* touch and back are behind it */
  BAIDrop(state, (size_t)C.n, &sides->side);
  *sides = {};
  return BAIStatusOf(BAI_OK);
}

/* The operation Soften of ../ops.def */
BAIStatus BAIDeviceSoften(BAILevelsState state, const BAILevelsSide *side)
{
  const BAIDeviceLevel *L = BAIDeviceLast(state);

  if (L->A.n) BAITry(BAISidesSoften(state, side, &state->sides, L->A));
  BAIDeviceFreePicked(state, BAI_ARRAY_SIDE);
  return BAIDeviceAside(state);
}
