/* Places, rows and blocks of the slices of a matrix: slices.cu finds the size of slices, fill.cu fills them */
#pragma once

#include "iterate.h"

/* The row of a lane of a slice, or -1 */
static __device__ inline int RowOfLane(const BAISliced &A, int slice, int lane)
{
  return BAIRowAt(A, slice / A.tile_slices, (slice % A.tile_slices) * BAI_LANES + lane);
}

/* The block of a place, and that of a lane whose row is row, or -1 if that is */
static __device__ inline int BlockAt(const BAISliced &A, int place)
{
  return A.home ? A.home[place] : place / A.block_size;
}

static __device__ inline int BlockOfLane(const BAISliced &A, int slice, int lane, int row)
{
  return row < 0 ? -1 : BlockAt(A, slice / A.tile_slices * A.tile_rows + slice % A.tile_slices * BAI_LANES + lane);
}

/* The place of a column of the square part of the matrix if it is in a block; otherwise -1 */
static __device__ inline int PlaceInBlock(const BAISliced &A, int block, int col)
{
  if (!A.row) return (unsigned)(col - block * A.block_size) < (unsigned)A.block_size ? col : -1;
  return A.block[col] == block ? A.place[col] : -1;
}

/* Number of entries of a row, including those of ghosts */
static __device__ inline int Length(const BAIMatrix &M, int row)
{
  return (int)(M.A.i[row + 1] - M.A.i[row] + (M.nghost ? M.B.i[row + 1] - M.B.i[row] : 0));
}
