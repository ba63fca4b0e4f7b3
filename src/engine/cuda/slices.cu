/*
   How many entries the slices of a matrix have, and where they are to be
*/
#include "sliced.h"
#include <cub/device/device_scan.cuh>
#include <algorithm>
#include <limits.h>

enum {
  LONG = 32 /* entries outside the blocks that a row has in its slice, or four times the mean of all rows */
};

/* Goes through the columns of a row outside its block, in the order of the matrix, at most so many, and counts those inside meanwhile */
struct Outside {
  const BAISliced *A;
  const BAIMatrix *M;
  int              row, block, part, left, inside;
  bool             has; /* a diagonal entry, or needs none */
  BAIInt           k;

  __device__ Outside(const BAISliced &A, const BAIMatrix &M, int row, int block, int most) : A(&A), M(&M), row(row), block(block), part(row < 0 ? 2 : 0), left(most), inside(0), has(row < 0 || !A.unit), k(row < 0 ? 0 : M.A.i[row]) {}

  /* INT_MAX: no more */
  __device__ int Next()
  {
    for (; part < (M->nghost ? 2 : 1) && left; part++, k = part == 1 && M->nghost ? M->B.i[row] : 0) {
      const BAICSR &C = part ? M->B : M->A;

      while (k < C.i[row + 1]) {
        const BAIInt col = C.j[k++];

        if (!part && col == row) {
          if (!has) has = C.a[k - 1] != BAIScalar(0);
          continue;
        }
        if (!part && PlaceInBlock(*A, block, (int)col) >= 0) {
          inside++;
          continue;
        }
        left--;
        return (int)(part ? col + A->n : col);
      }
    }
    return INT_MAX;
  }
};

/* Entries of each lane's row outside its block, and those inside */
static __device__ int CountOutside(const BAISliced &A, const BAIMatrix &M, int row, int block, int *inside)
{
  const bool is_long = row >= 0 && M.A.i[row + 1] - M.A.i[row] > 4 * BAI_LANES; /* the lanes go along such a row side by side */
  Outside    mine(A, M, is_long ? -1 : row, block, INT_MAX);
  int        outside = 0;

  while (mine.Next() < INT_MAX) outside++;
  *inside = mine.inside + !mine.has;
  for (unsigned left = __ballot_sync(~0u, is_long); left; left &= left - 1) {
    const int of = __ffs(left) - 1, of_row = __shfl_sync(~0u, row, of), of_block = __shfl_sync(~0u, block, of);
    int       in = 0, all = 0;
    bool      has = !A.unit;

#pragma unroll 8
    for (BAIInt k = M.A.i[of_row] + threadIdx.x % BAI_LANES; k < M.A.i[of_row + 1]; k += BAI_LANES) {
      if (M.A.j[k] == of_row) {
        if (!has) has = M.A.a[k] != BAIScalar(0);
        continue;
      }
      in += PlaceInBlock(A, of_block, (int)M.A.j[k]) >= 0;
      all++;
    }
    in  = __reduce_add_sync(~0u, in);
    has = __any_sync(~0u, has);
    all = __reduce_add_sync(~0u, all) + (M.nghost ? (int)(M.B.i[of_row + 1] - M.B.i[of_row]) : 0);
    if (threadIdx.x % BAI_LANES != of) continue;
    *inside = in + !has;
    outside = all - in;
  }
  return outside;
}

/* For the rows of a warp, calls f(k, diagonal) for each diagonal of the matrix, by its column minus row, in which one of them has an entry; false: columns are not sorted, or there are too many */
template <typename F>
static __device__ bool ForDiagonals(Outside &outside, int most, F f)
{
  const auto next = [&] {
    const int col = outside.Next();

    return col == INT_MAX ? INT_MAX : col - outside.row;
  };
  int  mine = next(), k = 0;
  bool sorted = true;

  for (int least; (least = __reduce_min_sync(~0u, mine)) < INT_MAX; k++) {
    if (k == most) return false;
    f(k, least);
    if (mine == least) {
      mine   = next();
      sorted = mine > least;
    }
    if (!__all_sync(~0u, sorted)) return false;
  }
  return true;
}

/* What slices need, and with what begins what each of them has, as it is summed up */
typedef struct {
  long long loc, off, off_j, pieces, rest, nnz_local, nnz_off;
} Extent;

struct SumOfExtents {
  __device__ Extent operator()(const Extent &a, const Extent &b) const { return {a.loc + b.loc, a.off + b.off, a.off_j + b.off_j, a.pieces + b.pieces, a.rest + b.rest, a.nnz_local + b.nnz_local, a.nnz_off + b.nnz_off}; }
};

/* Of all slices */
typedef struct {
  int loc_width, off_width, tile_loc, tile_off, tile_off_j;
} Widest;

/* Most do not get as far as the atomic, which takes one at a time */
static __device__ inline void RaiseTo(int *most, int value)
{
  if (*(volatile int *)most < value) atomicMax(most, value);
}

static __device__ inline int Pieces(int rest)
{
  return (rest + BAI_PIECE - 1) / BAI_PIECE;
}

/* A warp a slice: the longest row inside and outside the blocks, and how many diagonals it takes instead */
static __global__ void Count(const __grid_constant__ BAISliced A, const __grid_constant__ BAIMatrix M, Extent *extent, Widest *widest)
{
  const int lane = threadIdx.x % BAI_LANES, slice = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);
  int       off, loc, row, diagonals = 0;

  if (slice >= A.tiles * A.tile_slices) return;
  row             = RowOfLane(A, slice, lane);
  const int block = BlockOfLane(A, slice, lane, row);

  Outside outside(A, M, row, block, A.most_off + 1);
  bool    by_delta = ForDiagonals(outside, 3 * LONG / 2, [&](int, int) { diagonals++; });

  loc = outside.inside + !outside.has;
  off = A.most_off + 1 - outside.left;
  if (!__all_sync(~0u, by_delta && off <= A.most_off)) {
    by_delta = false;
    off      = CountOutside(A, M, row, block, &loc);
  }
  const int rest = max(off - A.most_off, 0), short_off = off - rest;
  const int loc_max = __reduce_max_sync(~0u, loc), off_max = __reduce_max_sync(~0u, short_off);
  const int loc_sum = __reduce_add_sync(~0u, loc), off_sum = __reduce_add_sync(~0u, off), rest_sum = __reduce_add_sync(~0u, rest), pieces = __reduce_add_sync(~0u, Pieces(rest));

  if (lane) return;
  A.slice[slice]          = {0, 0, 0, loc_max, (unsigned)off_max, 0};                       /* as a whole: bit fields are read to be written */
  extent[slice].off_j     = by_delta && 2 * diagonals <= 3 * off_max ? diagonals : INT_MAX; /* more take as many bytes */
  extent[slice].pieces    = pieces;
  extent[slice].rest      = rest_sum;
  extent[slice].nnz_local = loc_sum;
  extent[slice].nnz_off   = off_sum;
  RaiseTo(&widest->loc_width, loc_max);
  RaiseTo(&widest->off_width, off_max);
}

/* A thread a slice: chooses, but no slice is to become wider than the widest */
static __global__ void Choose(BAISliced A, Extent *extent, const Widest *widest)
{
  enum {
    ALIGN = 8 /* numbers that are fetched from memory at a time */
  };
  const long long slice = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (slice >= A.tiles * A.tile_slices) return;
  BAISlice &s = A.slice[slice];
  Extent   &e = extent[slice];

  s.by_delta = s.off_width > 0 && !e.pieces && e.off_j <= widest->off_width;
  if (s.by_delta) s.off_width = (unsigned)e.off_j;
  e.loc   = (long long)s.loc_width * BAI_LANES;
  e.off   = (long long)s.off_width * BAI_LANES;
  e.off_j = s.by_delta ? (s.off_width + ALIGN - 1) / ALIGN * ALIGN : e.off;
}

/* A thread a tile: the largest */
static __global__ void Largest(BAISliced A, const Extent *extent, Widest *widest)
{
  const long long tile = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (tile >= A.tiles) return;
  const Extent a = extent[tile * A.tile_slices], b = extent[(tile + 1) * A.tile_slices];

  RaiseTo(&widest->tile_loc, (int)min(b.loc - a.loc, (long long)INT_MAX));
  RaiseTo(&widest->tile_off, (int)min(b.off - a.off, (long long)INT_MAX));
  RaiseTo(&widest->tile_off_j, (int)min(b.off_j - a.off_j, (long long)INT_MAX));
}

/* A warp a slice: where its entries begin, by now known, its diagonals, and its pieces of long rows */
static __global__ void Place(const __grid_constant__ BAISliced A, const __grid_constant__ BAIMatrix M, const Extent *extent)
{
  const int lane = threadIdx.x % BAI_LANES, slice = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES), slices = A.tiles * A.tile_slices;

  if (slice >= slices) return;
  const int    row = RowOfLane(A, slice, lane), block = BlockOfLane(A, slice, lane, row);
  const Extent e = extent[slice];

  if (!lane) {
    A.slice[slice].loc   = e.loc;
    A.slice[slice].off   = e.off;
    A.slice[slice].off_j = e.off_j;
    if (slice == slices - 1) A.slice[slices] = {extent[slices].loc, extent[slices].off, extent[slices].off_j, 0, 0, 0};
  }
  __syncwarp();
  if (A.slice[slice].by_delta) {
    Outside outside(A, M, row, block, A.most_off);

    ForDiagonals(outside, INT_MAX, [&](int k, int diagonal) {
      if (!lane) A.off_j[e.off_j + k] = diagonal;
    });
  }
  if (!A.piece_first) return;
  if (!lane) A.piece_first[slice] = (int)e.pieces;
  if (!lane && slice == slices - 1) A.piece_first[slices] = (int)extent[slices].pieces;
  if (extent[slice + 1].pieces == e.pieces) return;
  long long first = e.rest;
  int       piece = (int)e.pieces, inside;
  const int off   = CountOutside(A, M, row, block, &inside);

  for (int other = 0; other < BAI_LANES; other++) {
    const long long last = first + max(__shfl_sync(~0u, off, other) - A.most_off, 0);

    for (; first < last; first = min(first + BAI_PIECE, last), piece++) {
      if (lane == other) A.piece[piece] = {first, min(first + BAI_PIECE, last), lane};
    }
  }
}

BAIStatus BAISlicesCreate(BAIState state, const BAIMatrix *M)
{
  BAISliced      *A      = &state->A;
  const BAIMatrix D      = *M;
  const int       slices = BAISlices(A);
  BAITemporary    widest_device, extents, scan;
  Widest          widest;
  Extent          end;
  BAIInt          nnz[2]     = {0, 0};
  size_t          scan_bytes = 0;

  CUDATry(cudaMemcpyAsync(nnz, D.A.i + D.n, sizeof(BAIInt), cudaMemcpyDeviceToHost, state->stream));
  if (D.nghost) CUDATry(cudaMemcpyAsync(nnz + 1, D.B.i + D.n, sizeof(BAIInt), cudaMemcpyDeviceToHost, state->stream));
  BAITry(widest_device.Allocate(state, sizeof(widest)));
  CUDATry(cudaMemsetAsync(widest_device.p, 0, sizeof(widest), state->stream));
  BAITry(extents.Allocate(state, (slices + 1) * sizeof(Extent)));
  CUDATry(cudaMemsetAsync(extents.p, 0, (slices + 1) * sizeof(Extent), state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  Extent *extent = (Extent *)extents.p;

  A->most_off = std::max((int)LONG, (int)(4 * ((long long)nnz[0] + nnz[1]) / A->n));
  Count<<<SliceGrid(*A), THREADS, 0, state->stream>>>(*A, D, extent, (Widest *)widest_device.p);
  CUDATry(cudaGetLastError());
  Choose<<<(slices + THREADS - 1) / THREADS, THREADS, 0, state->stream>>>(*A, extent, (const Widest *)widest_device.p);
  CUDATry(cudaGetLastError());
  CUDATry(cub::DeviceScan::ExclusiveScan(nullptr, scan_bytes, extent, extent, SumOfExtents(), Extent{}, slices + 1, state->stream));
  BAITry(scan.Allocate(state, scan_bytes));
  CUDATry(cub::DeviceScan::ExclusiveScan(scan.p, scan_bytes, extent, extent, SumOfExtents(), Extent{}, slices + 1, state->stream));
  Largest<<<(A->tiles + THREADS - 1) / THREADS, THREADS, 0, state->stream>>>(*A, extent, (Widest *)widest_device.p);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(&widest, widest_device.p, sizeof(widest), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaMemcpyAsync(&end, extent + slices, sizeof(end), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  state->nnz_local    = end.nnz_local;
  state->nnz_off      = end.nnz_off;
  state->places_loc   = end.loc;
  state->places_off   = end.off;
  state->places_off_j = end.off_j;
  state->places_rest  = end.rest;
  A->loc_width        = widest.loc_width;
  A->off_width        = widest.off_width;
  A->tile_loc         = widest.tile_loc;
  A->tile_off         = widest.tile_off;
  A->tile_off_j       = widest.tile_off_j;
  if (end.pieces > INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);

  const size_t value = A->single ? sizeof(BAISingle) : sizeof(BAIScalar);

  BAITry(BAICUDAAllocate(state, end.loc * (state->wide ? sizeof(int) : sizeof(uint16_t)), &A->loc_j));
  BAITry(BAICUDAAllocate(state, end.loc * value, &A->loc_a));
  BAITry(BAICUDAAllocate(state, end.off_j * sizeof(int), &A->off_j));
  BAITry(BAICUDAAllocate(state, end.off * value, &A->off_a));
  if (end.pieces) {
    BAITry(BAICUDAAllocate(state, (slices + 1) * sizeof(int), &A->piece_first));
    BAITry(BAICUDAAllocate(state, end.pieces * sizeof(BAIPiece), &A->piece));
    BAITry(BAICUDAAllocate(state, end.pieces * sizeof(BAIScalar), &A->piece_sum));
    BAITry(BAICUDAAllocate(state, end.rest * sizeof(int), &A->rest_j));
    BAITry(BAICUDAAllocate(state, end.rest * value, &A->rest_a));
  }
  Place<<<SliceGrid(*A), THREADS, 0, state->stream>>>(*A, D, extent);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
