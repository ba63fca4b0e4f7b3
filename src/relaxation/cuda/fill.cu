/* Stores the entries of a CSR matrix in its slices */
#include "../theta.h"
#include "sliced.h"
#include "../../common/cuda/warp.h"
#include "../../common/hash.h"
#include <algorithm>
#include <limits.h>
#include <string.h>
#include <vector>

enum {
  LOADS_IN_FLIGHT = 4 /* of a lane that reads its row alone: memory is read in pieces of at least 32 bytes */
};

/* Findings about the matrix: first row without a diagonal entry, whether an entry has no place, bits of the smallest
   share, number of rows whose a_ii is replaced by 1, and a hash of the pattern */
typedef struct {
  int                bad, different, least_share, units;
  unsigned long long pattern;
} Findings;

/* The hash of entry number k, or -1 for an entry of PutUnit(); sums of hashes depend on every entry of a set */
static __device__ inline unsigned long long HashOfEntry(int row, int col, BAIInt k)
{
  return BAIHash(((uint64_t)row << 32 | (uint32_t)col) + ((uint64_t)k + 1) * BAI_HASH_STEP);
}

static __device__ inline void SetValue(const BAISliced &A, void *a, long long at, BAIScalar value)
{
  if (A.single) static_cast<BAISingle *>(a)[at] = BAISingle(value);
  else static_cast<BAIScalar *>(a)[at] = value;
}

/* Stores an entry outside the block in a[at]. Negative zero, which rounding may produce, marks places without an entry
   (see cuda/iterate.h), so it becomes positive */
static __device__ inline void SetEntry(const BAISliced &A, void *a, long long at, BAIScalar value)
{
  SetValue(A, a, at, (A.single ? BAIScalar(BAISingle(value)) : value) + BAIScalar(0));
}

/* The next places for entries of a row inside and outside its block; the latter may exceed the places in its slice */
struct RowPut {
  const BAISliced &A;
  const BAISlice   s;
  const BAIOutside outside;
  const int        lane;
  const bool       same_pattern; /* columns are stored already */
  bool             different;    /* an entry had no place */

  __device__ RowPut(const BAISliced &A, int slice, int lane, bool same_pattern)
      : A(A), s(A.slice[slice]), outside(BAIOutsideOf(A, s, slice, lane)), lane(lane), same_pattern(same_pattern),
        different(false)
  {
  }

  /* Store entry w of the row inside its block, where at is its place in the tile, or outside */
  __device__ void Inside(int w, int at, BAIScalar value)
  {
    const long long to = s.loc + (long long)w * BAI_LANES + lane;

    if (w >= s.loc_width) {
      different = true;
      return;
    }
    if (!same_pattern && BAIWide(&A)) static_cast<int *>(A.loc_j)[to] = at;
    else if (!same_pattern) static_cast<uint16_t *>(A.loc_j)[to] = (uint16_t)at;
    SetValue(A, A.loc_a, to, value);
  }

  __device__ void Outside(int w, int col, BAIScalar value)
  {
    if (w >= outside.width) {
      different = true;
      return;
    }
    if (!outside.by_delta && !same_pattern) A.off_j[outside.j + (long long)w * outside.step_j] = col;
    SetEntry(A, A.off_a, outside.a + (long long)w * outside.step, value);
  }

  /* Make entry w an empty one, with the column at or own; in the same pattern it is there already */
  __device__ void NoneInside(int w, int at)
  {
    if (!same_pattern) Inside(w, at, 0);
  }

  __device__ void NoneOutside(int w, int own)
  {
    if (same_pattern) return;
    if (!outside.by_delta) A.off_j[outside.j + (long long)w * outside.step_j] = own;
    SetValue(A, A.off_a, outside.a + (long long)w * outside.step, BAINoEntry<BAIScalar>());
  }
};

/* Sums and counts of a row, of one lane, or of all lanes for a long row */
typedef struct {
  BAIScalar          d;
  BAIReal            sum, sum_outside;
  int                inside, outside; /* number of entries */
  unsigned long long pattern;
} RowSums;

/* Stores the entries of a row, another one for each lane, by put, and adds them to r; the tile begins at tile_first */
static __device__ inline void FillRow(const BAISliced &A, const BAIMatrix &M, int row, int block, int tile_first,
                                      RowPut &put, RowSums &r)
{
  for (int part = 0; part < (M.nghost ? 2 : 1); part++) {
    const BAICSR C   = part ? M.B : M.A;
    const BAIInt end = C.i[row + 1];

    for (BAIInt left = end - C.i[row]; left > 0; left -= LOADS_IN_FLIGHT) {
      BAIInt    cols[LOADS_IN_FLIGHT];
      BAIScalar values[LOADS_IN_FLIGHT];

#pragma unroll
      for (int k = 0; k < LOADS_IN_FLIGHT; k++) {
        cols[k]   = k < left ? C.j[end - left + k] : 0;
        values[k] = k < left ? C.a[end - left + k] : BAIScalar(0);
      }
#pragma unroll
      for (int k = 0; k < LOADS_IN_FLIGHT; k++) {
        if (k >= left) break;
        const int col = (int)cols[k] + (part ? A.n : 0), at = part ? -1 : PlaceInBlock(A, block, col);

        r.pattern += HashOfEntry(row, col, end - left + k);
        if (col == row) r.d = values[k];
        else if (at >= 0) {
          r.sum += BAIAbs(values[k]);
          put.Inside(r.inside++, at - tile_first, values[k]);
        } else {
          r.sum_outside += BAIAbs(values[k]);
          for (;
               put.outside.by_delta && r.outside < put.outside.width && row + A.off_j[put.outside.j + r.outside] < col;
               r.outside++)
            put.NoneOutside(r.outside, row);
          put.Outside(r.outside++, col, values[k]);
        }
      }
    }
  }
}

template <typename T>
static __device__ inline void SumUp(T *value)
{
  *value = BAIOfLane(BAISumOfWarp(*value), 0);
}

/* Adds up d and the sums of |a_ij| of all lanes, in each of them; not the counts and the pattern */
static __device__ inline void SumUpLanes(RowSums *r)
{
  SumUp(&r->d);
  SumUp(&r->sum);
  SumUp(&r->sum_outside);
}

/* Completes a row whose a_ii is zero or missing, if A.unit allows 1 there. Entry r.inside of the row inside its block
   becomes its diagonal entry in the rest of A: -1 if 1 replaces a_ii, and 0 if it does not. Sets r.d to 1 or 0, adds
   the entry to r.pattern, and counts replaced rows. One thread calls it for each row; the caller increments r.inside */
static __device__ inline void PutUnit(const BAISliced &A, int place, int row, int tile_first, RowPut &put, RowSums &r,
                                      Findings *findings)
{
  const bool stands = A.unit == BAI_UNIT_ALL || r.sum + r.sum_outside == 0;

  put.Inside(r.inside, place - tile_first, stands ? -1 : 0);
  r.pattern += HashOfEntry(row, row, -1);
  if (stands) atomicAdd(&findings->units, 1);
  r.d = stands ? 1 : 0;
}

/* Stores the data of a row that depend on its sums */
static __device__ inline void FinishRow(const BAISliced &A, const BAIReal *given, int place, int row, const RowSums &r,
                                        int l1, int dominance, BAIReal *sums, Findings *findings)
{
  const BAIReal share = given ? given[row] : dominance ? BAIShareOfDominance(BAIAbs(r.d), r.sum) : 1;

  if (isinf(A.sweep_single ? BAIReal(float(BAIReal(1) / BAIAbs(r.d))) : BAIReal(1) / BAIAbs(r.d)))
    atomicMin(&findings->bad, row); /* zero, or too small */
  if (share < 1)
    atomicMin(&findings->least_share, __float_as_int((float)share)); /* positive numbers are ordered like their bits */
  A.d[place] = r.d;
  if (A.sweep_single) static_cast<BAISingle *>(A.dinv)[place] = BAISingle(BAIScalar(1) / r.d);
  else static_cast<BAIScalar *>(A.dinv)[place] = BAIScalar(1) / r.d;
  if (A.share) A.share[place] = share * (l1 && !given ? BAIShareOfL1(BAIAbs(r.d), r.sum_outside) : 1);
  if (sums) {
    sums[place]                                 = r.sum;
    sums[(size_t)A.tiles * A.tile_rows + place] = r.sum_outside;
  }
}

/* Adds the hashes of all threads of a thread block, which tell whether the pattern is as before; called by all */
static __device__ inline void AddPattern(unsigned long long pattern, Findings *findings)
{
  pattern = BAISumOfBlock<BAI_THREADS>(pattern);
  if (!threadIdx.x) atomicAdd(&findings->pattern, pattern);
}

/* Whether the row of a lane is in pieces */
static __device__ inline bool IsLong(const BAISliced &A, int slice, int lane)
{
  for (int k = A.long_first ? A.long_first[slice] : 0; A.long_first && k < A.long_first[slice + 1]; k++) {
    if (A.long_row[k].place == slice * BAI_LANES + lane) return true;
  }
  return false;
}

/* Fills a slice by a warp, except rows in pieces, and returns the sums of each lane's row. With same_pattern columns
   and empty places do not change */
static __device__ __forceinline__ RowSums FillSlice(const BAISliced &A, const BAIMatrix &M, int slice,
                                                    bool same_pattern, int l1, int dominance, BAIReal *sums,
                                                    Findings *findings)
{
  const int lane = threadIdx.x % BAI_LANES, tile_first = slice / A.tile_slices * A.tile_rows,
            row   = RowOfLane(A, slice, lane),
            place = tile_first + (row >= 0 ? slice % A.tile_slices * BAI_LANES + lane : 0),
            own   = row >= 0 ? row : BAIRowAt(A, slice / A.tile_slices, 0); /* a lane without a row points to a value */
  RowPut  put(A, slice, lane, same_pattern);
  RowSums r = {};

  if (!IsLong(A, slice, lane)) {
    if (row >= 0) {
      FillRow(A, M, row, BlockAt(A, place), tile_first, put, r);
      if (A.unit && r.d == BAIScalar(0)) {
        PutUnit(A, place, row, tile_first, put, r, findings);
        r.inside++;
      }
      FinishRow(A, M.share, place, row, r, l1, dominance, sums, findings);
    }
    for (int w = r.inside; w < put.s.loc_width; w++) put.NoneInside(w, place - tile_first);
    for (int w = r.outside; w < put.outside.width; w++) put.NoneOutside(w, own);
    if (put.different) findings->different = 1;
  }
  if (A.off_first && !same_pattern) { /* padding of a packed slice */
    const int end = A.off_first[(size_t)slice * (BAI_LANES + 1) + BAI_LANES];

    for (long long at = put.s.off + end + lane; end >= 0 && at < A.slice[slice + 1].off; at += BAI_LANES)
      SetValue(A, A.off_a, at, 0);
  }
  return r;
}

/* Finds the entries of a piece in a matrix, whose pattern may be another: their number, and in first the number of the
   first one */
static __device__ inline int PieceOf(const BAICSR &C, const BAIPiece &piece, int row, BAIInt *first)
{
  *first = C.i[row] + piece.at;
  return (int)max((BAIInt)0, min((BAIInt)piece.size, C.i[row + 1] - *first));
}

/* Fills piece k by a warp, except entries inside the block, which are only counted, and returns the sums of each lane;
   those of the warp are added up in pieces[k] */
static __device__ __forceinline__ RowSums FillPiece(const BAISliced &A, const BAIMatrix &M, int k, bool same_pattern,
                                                    RowSums *pieces, Findings *findings)
{
  enum {
    EACH = BAI_PIECE / BAI_LANES /* entries of a lane, all loaded at once */
  };
  const BAIPiece piece = A.piece[k];
  const int      lane = threadIdx.x % BAI_LANES, place = A.long_row[piece.row].place, slice = place / BAI_LANES,
            row = RowOfLane(A, slice, place % BAI_LANES), block = BlockOfLane(A, slice, place % BAI_LANES, row);
  const BAICSR C = piece.part ? M.B : M.A;
  BAIInt       first;
  const int    size = PieceOf(C, piece, row, &first);
  int          cols[EACH];
  BAIScalar    values[EACH];
  RowSums      r = {};

#pragma unroll
  for (int w = 0; w < EACH; w++) {
    const int at = w * BAI_LANES + lane;

    cols[w]   = at < size ? (int)C.j[first + at] + (piece.part ? A.n : 0) : row;
    values[w] = at < size ? C.a[first + at] : BAIScalar(0);
  }
#pragma unroll
  for (int w = 0; w < EACH; w++) {
    const int  at      = w * BAI_LANES + lane;
    const bool is_in   = at < size && !piece.part && cols[w] != row && PlaceInBlock(A, block, cols[w]) >= 0;
    const bool outside = at < size && cols[w] != row && !is_in;

    if (at >= size) continue;
    r.pattern += HashOfEntry(row, cols[w], first + at);
    if (cols[w] == row) r.d += values[w];
    if (is_in) r.sum += BAIAbs(values[w]);
    if (outside) r.sum_outside += BAIAbs(values[w]);
    r.inside += is_in;
    if (!same_pattern) A.rest_j[piece.first + at] = outside ? cols[w] : row;
    if (outside) SetEntry(A, A.rest_a, piece.first + at, values[w]);
    else SetValue(A, A.rest_a, piece.first + at, BAINoEntry<BAIScalar>());
  }
  SumUpLanes(&r);
  r.inside = __reduce_add_sync(~0u, r.inside);
  if (!lane) pieces[k] = r;
  if (!lane && size < piece.size) findings->different = 1;
  return r;
}

/* Fills slices, and then pieces, a warp for each */
static __global__ void Fill(BAISliced A, BAIMatrix M, bool same_pattern, int l1, int dominance, BAIReal *sums,
                            RowSums *pieces, Findings *findings)
{
  const int          slices  = A.tiles * A.tile_slices;
  const long long    warp    = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES;
  unsigned long long pattern = 0;

  if (warp < slices) pattern = FillSlice(A, M, (int)warp, same_pattern, l1, dominance, sums, findings).pattern;
  else if (warp < slices + (long long)A.pieces)
    pattern = FillPiece(A, M, (int)(warp - slices), same_pattern, pieces, findings).pattern;
  AddPattern(pattern, findings);
}

/* Finishes long rows, a warp for each: sums its pieces, and stores its entries inside the block in order */
static __global__ void FinishLong(BAISliced A, BAIMatrix M, int l1, int dominance, const RowSums *pieces, BAIReal *sums,
                                  Findings *findings)
{
  const int lane = threadIdx.x % BAI_LANES, k = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);
  const unsigned     before  = (1u << lane) - 1;
  unsigned long long pattern = 0;

  if (k < A.long_rows) {
    const BAILongRow L     = A.long_row[k];
    const int        slice = L.place / BAI_LANES, row_lane = L.place % BAI_LANES, row = RowOfLane(A, slice, row_lane),
              tile_first = slice / A.tile_slices * A.tile_rows,
              place = tile_first + slice % A.tile_slices * BAI_LANES + row_lane, block = BlockAt(A, place);
    RowPut  put(A, slice, row_lane, false);
    RowSums r      = {};
    int     length = 0;

    for (int first = L.first; first < L.last; first += BAI_LANES) {
      const bool there = first + lane < L.last;

      if (there) {
        const RowSums &p = pieces[first + lane];

        r.d += p.d;
        r.sum += p.sum;
        r.sum_outside += p.sum_outside;
        length += A.piece[first + lane].size;
      }
      for (unsigned left = __ballot_sync(~0u, there && pieces[there ? first + lane : first].inside > 0); left;
           left &= left - 1) {
        const BAIPiece piece = A.piece[first + __ffs(left) - 1];
        BAIInt         from;
        const int      size = PieceOf(M.A, piece, row, &from);

        for (int at = lane; at - lane < size; at += BAI_LANES) {
          const int col = at < size ? (int)M.A.j[from + at] : row, to = col == row ? -1 : PlaceInBlock(A, block, col);
          const unsigned in = __ballot_sync(~0u, to >= 0);

          if (to >= 0) put.Inside(r.inside + __popc(in & before), to - tile_first, M.A.a[from + at]);
          r.inside += __popc(in);
        }
      }
    }
    SumUpLanes(&r);
    length = __reduce_add_sync(~0u, length);
    if (A.unit && r.d == BAIScalar(0)) {
      if (!lane) PutUnit(A, place, row, tile_first, put, r, findings);
      r.inside++;
    }
    for (int w = r.inside + lane; w < put.s.loc_width; w += BAI_LANES) put.NoneInside(w, place - tile_first);
    for (int w = lane; w < put.outside.width; w += BAI_LANES) put.NoneOutside(w, row);
    if (!lane) FinishRow(A, M.share, place, row, r, l1, dominance, sums, findings);
    if (put.different || length != Length(M, row)) findings->different = 1;
    pattern = r.pattern;
  }
  AddPattern(pattern, findings);
}

/* Finds the local sweeps of each place, if they depend on the block; on the host, whose sums are reproducible */
static BAIStatus CountLocalSweeps(BAIState state)
{
  state->local_sweeps = (long long)state->blocks * state->p.local_iters;
  if (!state->sums) return BAIStatusOf(BAI_OK);

  const BAISliced      A      = state->A;
  const size_t         places = BAIPlaces(&A), blocks = (size_t)state->blocks;
  std::vector<BAIReal> sums(2 * places), inside(blocks, 0), outside(blocks, 0);
  std::vector<BAIInt>  iters(blocks);
  std::vector<int>     of_place(places, 1), of_tile(A.tiles, 1), home(A.home ? places : 0);
  const auto block_of = [&](size_t p) { return A.home ? home[p] : p < (size_t)A.n ? (int)p / A.block_size : -1; };

  BAITry(BAIDownload(state, 2 * places, state->sums, sums.data()));
  if (A.home) BAITry(BAIDownload(state, places, A.home, home.data()));
  for (size_t p = 0; p < places; p++) {
    if (block_of(p) < 0) continue;
    inside[block_of(p)] += sums[p];
    outside[block_of(p)] += sums[places + p];
  }
  state->local_sweeps = BAITheta(state->blocks, inside.data(), outside.data(), state->p.local_iters, iters.data());
  for (size_t p = 0; p < places; p++) {
    if (block_of(p) < 0) continue;
    of_place[p]              = (int)iters[block_of(p)];
    of_tile[p / A.tile_rows] = std::max(of_place[p], of_tile[p / A.tile_rows]);
  }
  CUDATry(cudaMemcpyAsync(A.iters, of_place.data(), places * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  CUDATry(
    cudaMemcpyAsync(A.tile_iters, of_tile.data(), of_tile.size() * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

/* Launches the kernels that fill slices and pieces, then long rows, and does not wait for them. pieces is work space
   for the sums of all pieces. findings must be initialized, and collects what the kernels find. Both are on the
   device */
static BAIStatus Run(BAIState state, const BAIMatrix *M, bool same_pattern, RowSums *pieces, Findings *findings)
{
  const BAISliced A  = state->A;
  const int       l1 = state->p.l1, dominance = !(state->p.local_omega > 0);

  BAITry(BAILaunchThreads(state->stream, ((long long)BAISlices(&A) + A.pieces) * BAI_LANES, Fill, A, *M, same_pattern,
                          l1, dominance, state->sums, pieces, findings));
  if (!A.pieces) return BAIStatusOf(BAI_OK);
  return BAILaunchThreads(state->stream, (long long)A.long_rows * BAI_LANES, FinishLong, A, *M, l1, dominance, pieces,
                          state->sums, findings);
}

BAIStatus BAISlicesFill(BAIState state, const BAIMatrix *M, bool same_pattern)
{
  const BAISliced A = state->A;
  BAITemporary    t, pieces;
  Findings        findings = {INT_MAX, 0, 0, 0, 0};
  BAIStatus       status   = BAIStatusOf(BAI_OK);
  float           least    = 1;
  if (!A.tiles) return status;
  memcpy(&findings.least_share, &least, sizeof(least));
  BAITry(t.Allocate(state, sizeof(findings)));
  CUDATry(cudaMemcpyAsync(t.p, &findings, sizeof(findings), cudaMemcpyHostToDevice, state->stream));
  if (A.pieces) BAITry(pieces.Allocate(state, A.pieces * sizeof(RowSums)));
  BAITry(Run(state, M, same_pattern, (RowSums *)pieces.p, (Findings *)t.p));
  CUDATry(cudaMemcpyAsync(&findings, t.p, sizeof(findings), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  memcpy(&least, &findings.least_share, sizeof(least));
  state->local_omega = BAILocalOmega(&state->p);
  state->least_share = (BAIReal)least;
  state->units       = findings.units;
  if (!same_pattern) state->pattern = findings.pattern;
  if (findings.different || findings.pattern != state->pattern) return BAIStatusOf(BAI_ERR_PATTERN);
  if (findings.bad < A.n) {
    status     = BAIStatusOf(BAI_ERR_DIAGONAL);
    status.row = findings.bad;
  }
  if (!status.code && !A.share && least < 1)
    status = BAIStatusOf(same_pattern ? BAI_ERR_PATTERN
                                      : BAI_OK); /* the kernel in use has no shares, so it must be chosen again */
  return status.code ? status : CountLocalSweeps(state);
}
