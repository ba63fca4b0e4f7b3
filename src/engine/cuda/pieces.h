/*
   Long rows: what they have outside the block beyond their slice is cut into pieces
*/
#pragma once

#include "sweep.h"
#include <cub/warp/warp_reduce.cuh>

/* The piece's sum of products, of type Sum, in lane 0 of the warp that calls it; loads that do not depend on each other are on their way at once */
template <BAIOrder order, typename Sum, typename V>
static __device__ inline Sum BAISumPiece(const BAISliced &A, const BAIPiece &piece, const V *x, const V *ghost)
{
  enum {
    LOADS_IN_FLIGHT = 4 /* of a lane */
  };
  typename cub::WarpReduce<Sum>::TempStorage storage;
  Sum                                        sum = 0;

  for (long long first = piece.first + threadIdx.x % BAI_LANES; first < piece.last; first += LOADS_IN_FLIGHT * BAI_LANES) {
    V   other[LOADS_IN_FLIGHT], value[LOADS_IN_FLIGHT];
    int col[LOADS_IN_FLIGHT];

#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; k++) {
      const bool there = first + k * BAI_LANES < piece.last;

      col[k]   = there ? A.rest_j[first + k * BAI_LANES] : -1;
      value[k] = there ? static_cast<const V *>(A.rest_a)[first + k * BAI_LANES] : V(0);
    }
#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; k++) other[k] = col[k] < 0 ? V(0) : BAILoadColumn<order>(A, x, ghost, col[k]);
#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; k++) sum += Sum(value[k]) * Sum(other[k]);
  }
  return cub::WarpReduce<Sum>(storage).Sum(sum);
}

/* What long rows have outside the block beyond their slice: each warp finds the sums of some pieces */
template <BAIOrder order, typename V>
static __device__ inline void BAISumPieces(const BAISliced &A, const BAISweep &p, int tile, const V *x)
{
  const int lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES, last = A.piece_first[(tile + 1) * A.tile_slices];

  for (int k = A.piece_first[tile * A.tile_slices] + warp; k < last; k += blockDim.x / BAI_LANES) {
    const V sum = BAISumPiece<order, V>(A, A.piece[k], x, static_cast<const V *>(p.ghost));

    if (!lane) static_cast<V *>(A.piece_sum)[k] = sum;
  }
  __syncthreads();
}

/* The sum of those of one row */
template <typename V>
static __device__ inline V BAISumOfPieces(const BAISliced &A, int slice, int lane)
{
  V sum = 0;

#pragma unroll 8
  for (int k = A.piece_first[slice]; k < A.piece_first[slice + 1]; k++) {
    const V piece = static_cast<const V *>(A.piece_sum)[k]; /* of any row, so that one load need not wait for another */

    if (A.piece[k].lane == lane) sum += piece;
  }
  return sum;
}
