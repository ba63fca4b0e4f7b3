/*
   ||b - A x||^2, summed in the same order every time
*/
#include "iterate.h"
#include "state.h"
#include <cub/device/device_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>

enum {
  THREADS = 256
};

/* A warp a slice */
template <typename LI>
static __global__ void SliceNorms(BAISliced A, const BAIScalar *b, const BAIScalar *x, const BAIScalar *ghost, BAIReal *partial)
{
  __shared__ typename cub::WarpReduce<BAIReal>::TempStorage storage[THREADS / BAI_LANES];
  const int lane = threadIdx.x % BAI_LANES, slice = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);

  if (slice >= A.tiles * A.tile_slices) return;
  const int tile = slice / A.tile_slices, first = tile * A.tile_rows, i = slice % A.tile_slices * BAI_LANES + lane, row = BAIOwnRowAt(A, tile, i);
  const LI *loc_j = static_cast<const LI *>(A.loc_j);
  BAIReal   norm2 = 0;

  if (row >= 0) {
    BAIScalar r = b[row] - A.d[first + i] * x[row];

    for (long long k = A.loc_first[slice] + lane; k < A.loc_first[slice + 1]; k += BAI_LANES) r -= A.loc_a[k] * x[BAIRowAt(A, tile, loc_j[k])];
    for (long long k = A.off_first[slice] + lane; k < A.off_first[slice + 1]; k += BAI_LANES) r -= A.off_a[k] * (A.off_j[k] < A.n ? x[A.off_j[k]] : ghost[A.off_j[k] - A.n]);
    norm2 = BAIAbs2(r);
  }
  norm2 = cub::WarpReduce<BAIReal>(storage[threadIdx.x / BAI_LANES]).Sum(norm2);
  if (!lane) partial[slice] = norm2;
}

BAIStatus BAIResidualSetUp(BAIState state)
{
  const int slices = BAISlices(&state->A);

  BAITry(BAICUDAAllocate(state, sizeof(BAIResult), &state->result));
  CUDATry(cudaMemsetAsync(state->result, 0, sizeof(BAIResult), state->stream));
  CUDATry(cudaMallocHost((void **)&state->result_host, sizeof(BAIResult)));
  *state->result_host = BAIResult{};
  BAITry(BAICUDAAllocate(state, slices * sizeof(BAIReal), &state->partial));
  CUDATry(cub::DeviceReduce::Sum(nullptr, state->reduce_bytes, state->partial, &state->result->norm2, slices, state->stream));
  return BAICUDAAllocate(state, state->reduce_bytes, &state->reduce);
}

BAIStatus BAIResidualRun(BAIState state, BAIReal *norm2)
{
  const BAISliced  A      = state->A;
  const int        slices = BAISlices(&A);
  const unsigned   grid   = (unsigned)(((long long)slices * BAI_LANES + THREADS - 1) / THREADS);
  const BAIScalar *x      = state->x[state->current];

  *norm2 = 0;
  if (!slices) return BAIStatusOf(BAI_OK);
  if (state->wide) SliceNorms<int><<<grid, THREADS, 0, state->stream>>>(A, state->b, x, state->ghost, state->partial);
  else SliceNorms<uint16_t><<<grid, THREADS, 0, state->stream>>>(A, state->b, x, state->ghost, state->partial);
  CUDATry(cudaGetLastError());
  CUDATry(cub::DeviceReduce::Sum(state->reduce, state->reduce_bytes, state->partial, &state->result->norm2, slices, state->stream));
  CUDATry(cudaMemcpyAsync(state->result_host, state->result, sizeof(BAIResult), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  *norm2 = state->result_host->norm2;
  return BAIStatusOf(state->result_host->stalled ? BAI_ERR_STALLED : BAI_OK);
}
