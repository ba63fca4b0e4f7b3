/*
   Long rows: what they have outside the block is cut into pieces, each the work of a warp. Where blocks wait for each
   other, those of a tile are its thread block's; else all thread blocks share them
*/
#pragma once

#include "sweep.h"
#include "../../common/cuda/warp.h"

/* The piece's sum of products, of type Sum, in lane 0 of the warp that calls it; loads that do not depend on each other
 * are on their way at once */
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

/* Whether all thread blocks share the pieces; they are then found for the first iteration before the launch, and for
 * each of the others by those who do the one before */
template <BAIOrder order>
static __device__ inline bool BAISharesPieces(const BAISweep &p)
{
  return order == BAI_OWN || order == BAI_QUEUE || !p.done;
}

/* Each warp of the thread block finds the sums of some of these pieces */
template <BAIOrder order, typename V>
static __device__ inline void BAISumPieces(const BAISliced &A, const BAISweep &p, int first, int last, const V *x)
{
  for (int k = first + threadIdx.x / BAI_LANES; k < last; k += blockDim.x / BAI_LANES) {
    const V sum = BAISumPiece<order, V>(A, A.piece[k], x, static_cast<const V *>(p.ghost));

    if (threadIdx.x % BAI_LANES == 0) BAIStore(static_cast<V *>(A.piece_sum) + k, sum);
  }
}

/* Called by all threads before they ask for sums: those of the tile's own rows, if it does not share them */
template <BAIOrder order, typename V>
static __device__ inline void BAIOwnPieces(const BAISliced &A, const BAISweep &p, int tile, const V *x)
{
  const int first = A.long_first[tile * A.tile_slices], last = A.long_first[(tile + 1) * A.tile_slices];

  if (BAISharesPieces<order>(p) || first == last) return;
  BAISumPieces<order>(A, p, A.long_row[first].first, A.long_row[last - 1].last, x);
  __syncthreads();
}

/* Of all pieces, those that whoever does this tile finds for the next iteration */
template <BAIOrder order, typename V>
static __device__ inline void BAISharedPieces(const BAISliced &A, const BAISweep &p, int tile, int iteration,
                                              const V *x)
{
  if (iteration + 1 == p.count || !BAISharesPieces<order>(p)) return;
  BAISumPieces<order>(A, p, (int)((long long)A.pieces * tile / A.tiles),
                      (int)((long long)A.pieces * (tile + 1) / A.tiles), x);
}

/* Called by all lanes, for the long rows of their slice: the sum of the pieces of each one's row, in the same order
 * every time */
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

/* Computes the sums of all pieces, from an x that nobody writes meanwhile; for residuals in native precision even if
   the matrix is in single */
BAIStatus BAIPiecesRun(BAIState, const void *x, bool native);
