/*
   Long rows: their entries outside the block are divided into pieces, each summed by a warp. If blocks wait for each
   other, a thread block sums the pieces of its own tile; otherwise all thread blocks share the pieces
*/
#pragma once

#include "sweep.h"
#include "../../common/cuda/warp.h"

/* The sum of products of a piece, of type Sum, in lane 0 of the calling warp, with several independent loads in
   flight */
template <BAIOrder order, typename Sum, typename V, int LOADS_IN_FLIGHT = 4>
static __device__ inline Sum BAISumPiece(const BAISliced &A, const BAIPiece &piece, const V *x, const V *ghost)
{
  const int *rest_j = A.rest_j + piece.first;
  const V   *rest_a = static_cast<const V *>(A.rest_a) + piece.first;
  Sum        sum    = 0;

  for (int first = threadIdx.x % BAI_LANES; first < piece.size; first += LOADS_IN_FLIGHT * BAI_LANES) {
    V   other[LOADS_IN_FLIGHT], value[LOADS_IN_FLIGHT];
    int col[LOADS_IN_FLIGHT];

#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; k++) {
      const bool there = first + k * BAI_LANES < piece.size;

      col[k]   = there ? __ldcs(rest_j + first + k * BAI_LANES) : 0;
      value[k] = there ? BAIStreamed(rest_a + first + k * BAI_LANES) : BAINoEntry<V>();
    }
#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; k++)
      other[k] = BAIIsNoEntry(value[k]) ? V(0) : BAILoadColumn<order>(A, x, ghost, col[k]);
#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; k++) sum += Sum(value[k]) * Sum(other[k]);
  }
  return BAISumOfWarp(sum);
}

/* Whether all thread blocks share the pieces. Their sums are then computed before the launch for the first iteration,
   and in each iteration for the next */
template <BAIOrder order>
static __device__ inline bool BAISharesPieces(const BAISweep &p)
{
  return order == BAI_OWN || order == BAI_QUEUE || !p.done;
}

/* Computes the sums of pieces first to last - 1, by the warps of the thread block */
template <BAIOrder order, typename V>
static __device__ inline void BAISumPieces(const BAISliced &A, const BAISweep &p, int first, int last, const V *x)
{
  for (int k = first + threadIdx.x / BAI_LANES; k < last; k += blockDim.x / BAI_LANES) {
    const V sum = BAISumPiece<order, V>(A, A.piece[k], x, static_cast<const V *>(p.ghost));

    if (threadIdx.x % BAI_LANES == 0) BAIStore(static_cast<V *>(A.piece_sum) + k, sum);
  }
}

/* Stores the sums of the pieces of the tile's rows in A.piece_sum, unless all thread blocks share the pieces. All
   threads call it, when x of other tiles may be read and before they read sums; if it stores any, it ends with a
   barrier. The matrix must have long rows */
template <BAIOrder order, typename V>
static __device__ inline void BAIOwnPieces(const BAISliced &A, const BAISweep &p, int tile, const V *x)
{
  const int first = A.long_first[tile * A.tile_slices], last = A.long_first[(tile + 1) * A.tile_slices];

  if (BAISharesPieces<order>(p) || first == last) return;
  BAISumPieces<order>(A, p, A.long_row[first].first, A.long_row[last - 1].last, x);
  __syncthreads();
}

/* If all thread blocks share the pieces, computes an equal part of the sums of all pieces, including those of other
   tiles, for the next iteration, and stores them in A.piece_sum. Does nothing in the last iteration of a launch. All
   threads of the thread block call it; it has no barrier */
template <BAIOrder order, typename V>
static __device__ inline void BAISharedPieces(const BAISliced &A, const BAISweep &p, int tile, int iteration,
                                              const V *x)
{
  if (iteration + 1 == p.count || !BAISharesPieces<order>(p)) return;
  BAISumPieces<order>(A, p, (int)((long long)A.pieces * tile / A.tiles),
                      (int)((long long)A.pieces * (tile + 1) / A.tiles), x);
}

/* The sum of the pieces of each lane's row, in a fixed order; called by all lanes for the long rows of their slice */
template <typename V>
static __device__ inline V BAISumOfPieces(const BAISliced &A, int first, int last, int lane)
{
  V mine = 0;

  for (int r = first; r < last; r++) {
    const BAILongRow L   = A.long_row[r];
    V                sum = 0;

#pragma unroll 4
    for (int k = L.first + threadIdx.x % BAI_LANES; k < L.last; k += BAI_LANES)
      sum += BAILoad(static_cast<const V *>(A.piece_sum) + k);
    sum = BAIOfLane(BAISumOfWarp(sum), 0);
    if (L.place % BAI_LANES == lane) mine = sum;
  }
  return mine;
}

/* Computes the sums of all pieces for an x that does not change meanwhile; native: in native precision, for residuals,
   even if the matrix is in single precision */
BAIStatus BAIPiecesRun(BAIState, const void *x, bool native);
