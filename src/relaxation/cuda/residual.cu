/* ||b - A x||^2, added up in a fixed order */
#include "pieces.h"
#include <algorithm>

enum {
  SUMS = 1024 /* partial sums of thread blocks */
};

static const BAIOrder AT_REST = BAI_FLAGS; /* x does not change meanwhile, so it is read as if flags ensured that */

/* Sets partial of a slice, by a warp, to the sum of |b - A x|^2 over its rows; called after BAIPiecesRun() */
template <typename Columns, typename V>
static __device__ __forceinline__ void NormOfSlice(const BAISliced &A, const void *at_b, const void *at_x,
                                                   const void *at_ghost, BAIReal *partial)
{
  const V *b = static_cast<const V *>(at_b), *x = static_cast<const V *>(at_x),
          *ghost  = static_cast<const V *>(at_ghost);
  const int lane  = threadIdx.x % BAI_LANES,
            slice = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);

  if (slice >= A.tiles * A.tile_slices) return;
  const int tile = slice / A.tile_slices, first = tile * A.tile_rows, i = slice % A.tile_slices * BAI_LANES + lane,
            row    = BAIRowAt(A, tile, i);
  const BAISlice s = A.slice[slice];
  const Columns  loc_j(A);
  const auto     outside = BAIOutsideOf(A, s, slice, lane);
  const V *loc_a = static_cast<const V *>(A.loc_a) + s.loc + lane, *off_a = static_cast<const V *>(A.off_a) + outside.a;
  BAIScalar r     = row >= 0 ? BAIScalar(b[row]) - A.d[first + i] * BAIScalar(x[row]) : BAIScalar(0);
  BAIReal   norm2 = 0;

  for (int w = 0; row >= 0 && w < s.loc_width; w++)
    r -= BAIScalar(loc_a[(long long)w * BAI_LANES]) *
      BAIScalar(x[BAIRowAt(A, tile, loc_j[s.loc + lane + (long long)w * BAI_LANES])]);
  for (int w = 0; row >= 0 && w < outside.width; w++) {
    const int col = BAIColumn(A, outside.by_delta, row, A.off_j[outside.j + (long long)w * outside.step_j]);

    r -= BAIScalar(off_a[(long long)w * outside.step]) * BAIScalar(BAILoadColumn<AT_REST>(A, x, ghost, col));
  }
  if (A.long_first) r -= BAISumOfPieces<BAIScalar>(A, A.long_first[slice], A.long_first[slice + 1], lane);
  if (row >= 0) norm2 = BAIAbs2(r);
  norm2 = BAISumOfWarp(norm2);
  if (!lane) partial[slice] = norm2;
}

static __global__ void __launch_bounds__(BAI_THREADS, 8)
  SliceNorms(BAISliced A, const void *b, const void *x, const void *ghost, BAIReal *partial)
{
  if (A.single) NormOfSlice<BAINarrowOrWide, BAISingle>(A, b, x, ghost, partial);
  else if (BAIWide(&A)) NormOfSlice<BAINarrowOrWide, BAIScalar>(A, b, x, ghost, partial);
  else NormOfSlice<BAINarrow, BAIScalar>(A, b, x, ghost, partial);
}

BAIStatus BAIResidualSetUp(BAIState state)
{
  const int slices = BAISlices(&state->A);

  BAITry(BAICUDAAllocate(state, sizeof(BAIResult), &state->result));
  CUDATry(cudaMemsetAsync(state->result, 0, sizeof(BAIResult), state->stream));
  static_assert(sizeof(BAIPinned) <= BAI_PINNED_BYTES, "a piece of pinned memory holds it");
  BAITry(BAIPinnedGet(&state->pinned));
  return BAICUDAAllocate(state, ((size_t)slices + SUMS) * sizeof(BAIReal), &state->partial);
}

/* Adds up equal parts of n numbers, one part for each thread block */
static __global__ void AddUp(long long n, const BAIReal *from, BAIReal *sums)
{
  const long long part = (n + gridDim.x - 1) / gridDim.x, first = part * blockIdx.x;
  BAIReal         sum = 0;

  for (long long k = first + threadIdx.x; k < min(n, first + part); k += BAI_THREADS) sum += from[k];
  sum = BAISumOfBlock<BAI_THREADS>(sum);
  if (!threadIdx.x) sums[blockIdx.x] = sum;
}

/* Sums n numbers in a fixed order; parts has room for SUMS partial sums. from, parts and sum are on the device */
static BAIStatus SumOf(BAIState state, int n, const BAIReal *from, BAIReal *parts, BAIReal *sum)
{
  const int blocks = std::min((n + BAI_THREADS - 1) / BAI_THREADS, (int)SUMS);

  AddUp<<<blocks, BAI_THREADS, 0, state->stream>>>(n, from, blocks > 1 ? parts : sum);
  if (blocks > 1) AddUp<<<1, BAI_THREADS, 0, state->stream>>>(blocks, parts, sum);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIResidualRun(BAIState state, BAIReal *norm2)
{
  const BAISliced A      = state->A;
  const int       slices = BAISlices(&A);
  const void     *x      = state->x[state->current];

  *norm2 = 0;
  if (!slices) return BAIStatusOf(BAI_OK);
  BAITry(BAIPiecesRun(state, x, true));
  BAITry(BAILaunchThreads(state->stream, (long long)slices * BAI_LANES, SliceNorms, A, state->b, x, state->ghost,
                          state->partial));
  BAITry(SumOf(state, slices, state->partial, state->partial + slices, &state->result->norm2));
  CUDATry(
    cudaMemcpyAsync(&state->pinned->result, state->result, sizeof(BAIResult), cudaMemcpyDeviceToHost, state->stream));
  BAITry(BAICUDAWait(state));
  *norm2 = state->pinned->result.norm2 / (state->scale * state->scale);
  return BAIStalled(state);
}
