/* The number of entries of each slice of a matrix, and their position */
#include "../../common/cuda/atomic.h"
#include "../../common/cuda/scan.h"
#include "sliced.h"
#include "../../common/cuda/warp.h"
#include <algorithm>
#include <limits.h>

/* Iterates over at most most columns of a row outside its block, in the order of the matrix; counts those inside */
struct Outside {
  const BAISliced *A;
  const BAIMatrix *M;
  int              row, block, part, left, inside;
  bool             has; /* it has a diagonal entry, or needs none */
  BAIInt           k;

  __device__ Outside(const BAISliced &A, const BAIMatrix &M, int row, int block, int most)
      : A(&A), M(&M), row(row), block(block), part(row < 0 ? 2 : 0), left(most), inside(0), has(row < 0 || !A.unit),
        k(row < 0 ? 0 : M.A.i[row])
  {
  }

  /* The next column, ghosts from n on; INT_MAX at the end */
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

/* Counts of a row: entries inside its block, entries on the diagonal, and whether one of these is nonzero or not
   needed */
typedef struct {
  int row, block, inside, diagonal, has;
} OfRow;

/* Returns the counts of a thread's row if it asks for them, with all threads on each such row; called by all */
static __device__ inline OfRow CountTogether(const BAISliced &A, const BAIMatrix &M, int row, int block, bool asks)
{
  __shared__ OfRow rows[BAI_THREADS];
  __shared__ int   n;
  int              mine = 0;

  if (!threadIdx.x) n = 0;
  __syncthreads();
  if (asks) mine = atomicAdd(&n, 1);
  if (asks) rows[mine] = {row, block, 0, 0, !A.unit};
  __syncthreads();
  for (int r = 0; r < n; r++) {
    const int    of = rows[r].row, in_block = rows[r].block;
    const BAIInt end    = M.A.i[of + 1];
    int          inside = 0, diagonal = 0, has = 0;

#pragma unroll 8
    for (BAIInt k = M.A.i[of] + threadIdx.x; k < end; k += BAI_THREADS) {
      const int col = (int)M.A.j[k];

      if (col == of) {
        diagonal++;
        has |= M.A.a[k] != BAIScalar(0);
      } else inside += PlaceInBlock(A, in_block, col) >= 0;
    }
    if (inside) atomicAdd(&rows[r].inside, inside);
    if (diagonal) atomicAdd(&rows[r].diagonal, diagonal);
    if (has) atomicOr(&rows[r].has, 1);
  }
  __syncthreads();
  return rows[mine];
}

/* The number of entries of each lane's row outside its block, and in inside of those inside */
static __device__ int CountOutside(const BAISliced &A, const BAIMatrix &M, int row, int block, int *inside)
{
  Outside mine(A, M, row, block, INT_MAX);
  int     outside = 0;

  while (mine.Next() < INT_MAX) outside++;
  *inside = mine.inside + !mine.has;
  return outside;
}

/* Calls f(k, diagonal) for each diagonal (column minus row) in which a row of the warp has an entry. Returns false if
   columns are not sorted, there are too many diagonals, or few rows have entries in each */
template <typename F>
static __device__ bool ForDiagonals(Outside &outside, int most, F f)
{
  const auto next = [&] {
    const int col = outside.Next();

    return col == INT_MAX ? INT_MAX : col - outside.row;
  };
  int  mine = next(), k = 0, entries = 0;
  bool sorted = true;

  for (int least; (least = __reduce_min_sync(~0u, mine)) < INT_MAX; k++) {
    if (k == most) return false;
    f(k, least);
    entries += __popc(__ballot_sync(~0u, mine == least));
    if (mine == least) {
      mine   = next();
      sorted = mine > least;
    }
    if (!__all_sync(~0u, sorted)) return false;
    if (most < INT_MAX && k >= BAI_DIAGONALS_AT_ONCE && entries < BAI_DIAGONAL_ENTRIES * k) return false;
  }
  return true;
}

enum {
  ALIGN = 8 /* numbers loaded from memory at a time, and the unit of the sizes of a slice outside the blocks */
};

/* Sizes of a slice, and after summation where its parts begin: columns inside the blocks; ALIGN numbers in off_a and in
   off_j; long rows, and their pieces and entries; and entries inside and outside the blocks, which are not summed */
enum {
  LOC,
  OFF,
  OFF_J,
  LONG_ROWS,
  PIECES,
  REST,
  SUMMED,
  NNZ_LOCAL = SUMMED,
  NNZ_OFF,
  EXTENTS
};

struct Extents {
  int      *all;
  long long stride; /* slices and one more */

  __device__ int &operator()(int what, int slice) const { return all[what * stride + slice]; }
};

/* Findings about all slices. longest: largest number of entries of a row outside its block. sum: of each extent */
typedef struct {
  int                loc_width, off_width, longest;
  unsigned long long sum[EXTENTS];
} Widest;

static __host__ __device__ inline int RoundUp(int n, int to)
{
  return (n + to - 1) / to * to;
}

/* Number of pieces of a long row of the square part of the matrix, or of the ghosts */
static __device__ inline int Pieces(const BAICSR &C, int row)
{
  return RoundUp((int)(C.i[row + 1] - C.i[row]), BAI_PIECE) / BAI_PIECE;
}

static __device__ inline int PiecesOf(const BAIMatrix &M, int row)
{
  return Pieces(M.A, row) + (M.nghost ? Pieces(M.B, row) : 0);
}

/* Finds for each slice, by a warp, the longest row inside and outside the blocks, the number of diagonals that could
   replace its columns, and the entries of each lane outside */
static __global__ void Count(const __grid_constant__ BAISliced A, const __grid_constant__ BAIMatrix M, int *outside_of,
                             const __grid_constant__ Extents extent, Widest *widest)
{
  const int lane   = threadIdx.x % BAI_LANES,
            slice  = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);
  const bool there = slice < A.tiles * A.tile_slices;
  const int  row = there ? RowOfLane(A, slice, lane) : -1, block = there ? BlockOfLane(A, slice, lane, row) : -1,
            length     = row < 0 ? 0 : Length(M, row);
  const bool  many     = length > A.most_off;
  const OfRow together = CountTogether(A, M, row, block, many);
  int off = many ? length - together.inside - together.diagonal : 0, loc = many ? together.inside + !together.has : 0,
      diagonals = 0;

  if (!there) return;
  const bool is_long = off > A.most_off;
  Outside    outside(A, M, is_long ? -1 : row, block, INT_MAX);
  const bool by_delta = ForDiagonals(outside, BAI_MOST_DIAGONALS, [&](int, int) { diagonals++; });

  if (!many && by_delta) {
    loc = outside.inside + !outside.has;
    off = INT_MAX - outside.left;
  } else if (!many) off = CountOutside(A, M, row, block, &loc);
  const int short_off = is_long ? 0 : off, loc_max = __reduce_max_sync(~0u, loc),
            off_max = __reduce_max_sync(~0u, short_off), longest = __reduce_max_sync(~0u, off);
  const int loc_sum = __reduce_add_sync(~0u, loc), off_sum = __reduce_add_sync(~0u, off),
            short_sum = __reduce_add_sync(~0u, short_off);
  const int rest      = __reduce_add_sync(~0u, is_long ? length : 0),
            pieces    = __reduce_add_sync(~0u, is_long ? PiecesOf(M, row) : 0),
            long_rows = __reduce_add_sync(~0u, (int)is_long);

  outside_of[(size_t)slice * BAI_LANES + lane] = off;
  if (lane) return;
  /* written as a whole, as writing a bit field would read it */
  A.slice[slice]     = {0, 0, 0, loc_max, (unsigned)off_max, 0};
  extent(OFF, slice) = short_sum;
  /* more diagonals would take as many bytes */
  extent(OFF_J, slice)     = by_delta && 2 * diagonals <= 3 * off_max ? diagonals : INT_MAX;
  extent(LONG_ROWS, slice) = long_rows;
  extent(PIECES, slice)    = pieces;
  extent(REST, slice)      = rest;
  extent(NNZ_LOCAL, slice) = loc_sum;
  extent(NNZ_OFF, slice)   = off_sum;
  BAIRaiseTo(&widest->loc_width, loc_max);
  BAIRaiseTo(&widest->off_width, off_max);
  BAIRaiseTo(&widest->longest, longest);
}

/* Chooses the format of a slice, and sets loc, off and off_j. No slice becomes wider than the widest, and slices are
   packed, which takes more time, only if rows are ragged and it saves much memory */
static __device__ inline void ChooseFormat(const BAISliced &A, int slice, int ragged, const Extents &extent,
                                           const Widest *widest)
{
  BAISlice &s       = A.slice[slice];
  const int entries = extent(OFF, slice), packed = RoundUp(entries, ALIGN), diagonals = extent(OFF_J, slice);
  const int value = A.single ? (int)sizeof(BAISingle) : (int)sizeof(BAIScalar);
  long long off, off_j;

  s.by_delta = s.off_width > 0 && diagonals <= widest->off_width;
  if (s.by_delta) s.off_width = (unsigned)diagonals;
  off   = (long long)s.off_width * BAI_LANES;
  off_j = s.by_delta ? RoundUp((int)s.off_width, ALIGN) : off;
  if (widest->longest > ragged && packed < off &&
      5ll * entries * (value + (int)sizeof(int)) < 4 * (off * value + off_j * (int)sizeof(int))) {
    s.by_delta = 0;
    off = off_j = packed;
  }
  extent(LOC, slice)   = s.loc_width;
  extent(OFF, slice)   = (int)(off / ALIGN);
  extent(OFF_J, slice) = (int)(off_j / ALIGN);
}

/* Chooses the format of each slice, by a thread, and adds up the extents */
static __global__ void Choose(BAISliced A, int ragged, Extents extent, Widest *widest)
{
  const long long slice = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const bool      there = slice < A.tiles * A.tile_slices;

  if (there) ChooseFormat(A, (int)slice, ragged, extent, widest);
#pragma unroll
  for (int k = 0; k < EXTENTS; k++) {
    const auto sum = BAISumOfBlock<BAI_THREADS>(there ? (unsigned long long)extent(k, (int)slice) : 0ull);

    if (!threadIdx.x && sum) atomicAdd(&widest->sum[k], sum);
    __syncthreads();
  }
}

/* Stores where the entries of a slice begin; the number of slices stands for their end */
static __device__ inline void SetBegin(const BAISliced &A, const Extents &extent, int slice)
{
  A.slice[slice].loc   = (long long)extent(LOC, slice) * BAI_LANES;
  A.slice[slice].off   = (long long)extent(OFF, slice) * ALIGN;
  A.slice[slice].off_j = (long long)extent(OFF_J, slice) * ALIGN;
}

/* Stores for each slice, by a warp, the begin of its entries, its diagonals, its long rows and their pieces */
static __global__ void Place(const __grid_constant__ BAISliced A, const __grid_constant__ BAIMatrix M,
                             const int *outside_of, const __grid_constant__ Extents extent)
{
  const int lane   = threadIdx.x % BAI_LANES,
            slice  = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES),
            slices = A.tiles * A.tile_slices;

  if (slice >= slices) return;
  const int row = RowOfLane(A, slice, lane), block = BlockOfLane(A, slice, lane, row), place = slice * BAI_LANES + lane,
            off      = outside_of[place];
  const bool is_long = off > A.most_off;

  if (!lane) {
    SetBegin(A, extent, slice);
    if (slice == slices - 1) {
      A.slice[slices] = {};
      SetBegin(A, extent, slices);
    }
  }
  __syncwarp();
  if (A.slice[slice].by_delta) {
    Outside outside(A, M, is_long ? -1 : row, block, INT_MAX);

    ForDiagonals(outside, INT_MAX, [&](int k, int diagonal) {
      if (!lane) A.off_j[A.slice[slice].off_j + k] = diagonal;
    });
  }
  if (A.off_first) {
    const bool packed = extent(OFF, slice + 1) - extent(OFF, slice) <
      (int)A.slice[slice].off_width * (BAI_LANES / ALIGN);
    const int mine = packed && !is_long ? off : 0, first = packed ? BAISumBefore(mine) : -1;
    int      *to = A.off_first + (size_t)slice * (BAI_LANES + 1) + lane;

    to[0] = first;
    if (lane == BAI_LANES - 1) to[1] = first + mine;
  }
  if (!A.long_first) return;
  if (!lane) A.long_first[slice] = extent(LONG_ROWS, slice);
  if (!lane && slice == slices - 1) A.long_first[slices] = extent(LONG_ROWS, slices);
  if (extent(LONG_ROWS, slice + 1) == extent(LONG_ROWS, slice)) return;
  const int which = extent(LONG_ROWS, slice) + BAISumBefore(is_long),
            first = extent(PIECES, slice) + BAISumBefore(is_long ? PiecesOf(M, row) : 0);
  long long rest  = extent(REST, slice) + BAISumBefore(is_long ? Length(M, row) : 0);
  int       piece = first;

  if (!is_long) return;
  for (int part = 0; part < (M.nghost ? 2 : 1); part++) {
    const BAICSR &C      = part ? M.B : M.A;
    const int     length = (int)(C.i[row + 1] - C.i[row]);

    for (int at = 0; at < length; at += BAI_PIECE, piece++) {
      const int size = min(length - at, (int)BAI_PIECE);

      A.piece[piece] = {rest, size, which, part, at};
      rest += size;
    }
  }
  A.long_row[which] = {place, first, piece};
}

/* Allocates the entries; packed: slices may be */
static BAIStatus Allocate(BAIState state, const unsigned long long sum[EXTENTS], bool packed)
{
  BAISliced   *A      = &state->A;
  const size_t slices = (size_t)BAISlices(A), value = BAIValueSize(A);

  state->nnz_local    = (long long)sum[NNZ_LOCAL];
  state->nnz_off      = (long long)sum[NNZ_OFF];
  state->places_loc   = (long long)sum[LOC] * BAI_LANES;
  state->places_off   = (long long)sum[OFF] * ALIGN;
  state->places_off_j = (long long)sum[OFF_J] * ALIGN;
  state->places_rest  = (long long)sum[REST];
  A->long_rows        = (int)sum[LONG_ROWS];
  A->pieces           = (int)sum[PIECES];
  BAITry(BAICUDAAllocate(state, (size_t)state->places_loc * BAIColumnSize(A), &A->loc_j));
  BAITry(BAICUDAAllocate(state, (size_t)state->places_loc * value, &A->loc_a));
  BAITry(BAICUDAAllocate(state, (size_t)state->places_off_j * sizeof(int), &A->off_j));
  BAITry(BAICUDAAllocate(state, (size_t)state->places_off * value, &A->off_a));
  if (packed) BAITry(BAICUDAAllocate(state, slices * (BAI_LANES + 1) * sizeof(int), &A->off_first));
  if (!A->pieces) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(state, (slices + 1) * sizeof(int), &A->long_first));
  BAITry(BAICUDAAllocate(state, sum[LONG_ROWS] * sizeof(BAILongRow), &A->long_row));
  BAITry(BAICUDAAllocate(state, sum[PIECES] * sizeof(BAIPiece), &A->piece));
  BAITry(BAICUDAAllocate(state, sum[PIECES] * sizeof(BAIScalar), &A->piece_sum));
  BAITry(BAICUDAAllocate(state, sum[REST] * sizeof(int), &A->rest_j));
  return BAICUDAAllocate(state, sum[REST] * value, &A->rest_a);
}

BAIStatus BAISlicesCreate(BAIState state, const BAIMatrix *M)
{
  BAISliced      *A      = &state->A;
  const BAIMatrix D      = *M;
  const int       slices = BAISlices(A);
  const long long warps  = (long long)slices * BAI_LANES; /* a warp for each slice */
  BAITemporary    widest_device, extents, outside;
  Widest          widest;
  BAISums         sums[SUMMED];
  BAIInt          nnz[2] = {0, 0};

  BAITry(BAIDownload(state, 1, D.A.i + D.n, nnz));
  if (D.nghost) BAITry(BAIDownload(state, 1, D.B.i + D.n, nnz + 1));
  BAITry(widest_device.Allocate(state, sizeof(widest)));
  CUDATry(cudaMemsetAsync(widest_device.p, 0, sizeof(widest), state->stream));
  BAITry(extents.Allocate(state, EXTENTS * ((size_t)slices + 1) * sizeof(int)));
  CUDATry(cudaMemsetAsync(extents.p, 0, EXTENTS * ((size_t)slices + 1) * sizeof(int), state->stream));
  const Extents extent = {(int *)extents.p, slices + 1};

  for (int k = 0; k < SUMMED; k++)
    sums[k] = {extent.stride, extent.all + k * extent.stride, extent.all + k * extent.stride};
  BAITry(outside.Allocate(state, (size_t)slices * BAI_LANES * sizeof(int)));
  const int ragged_mean = (int)(BAI_RAGGED_MEANS * ((long long)nnz[0] + nnz[1]) / A->n),
            ragged      = std::max((int)BAI_RAGGED_ROW, ragged_mean);

  A->most_off = std::max((int)BAI_PIECES_ROW, ragged_mean);
  BAITry(BAILaunchThreads(state->stream, warps, Count, *A, D, (int *)outside.p, extent, (Widest *)widest_device.p));
  BAITry(BAILaunchThreads(state->stream, slices, Choose, *A, ragged, extent, (Widest *)widest_device.p));
  BAITry(BAIDownload(state, 1, (const Widest *)widest_device.p, &widest));
  if (widest.sum[REST] > INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  BAITry(BAIScans(state, SUMMED, sums));
  A->loc_width = widest.loc_width;
  A->off_width = widest.off_width;
  BAITry(Allocate(state, widest.sum, widest.longest > ragged));
  return BAILaunchThreads(state->stream, warps, Place, *A, D, (const int *)outside.p, extent);
}
