/*
   Cuts a CSR matrix into sliced Block-CRS on the device
*/
#include "../coloring.h"
#include "../theta.h"
#include "iterate.h"
#include "state.h"
#include <cub/device/device_scan.cuh>
#include <algorithm>
#include <limits.h>
#include <string.h>
#include <vector>

enum {
  THREADS = 256,
  LONG    = 32 /* entries outside the blocks that a row has in its slice, or four times the mean of all rows */
};

/* The row that a lane of a slice stands for, or -1 */
static __device__ inline int RowOfLane(const BAISliced &A, int slice, int lane)
{
  return BAIRowAt(A, slice / A.tile_slices, (slice % A.tile_slices) * BAI_LANES + lane);
}

static __device__ inline int BlockOf(const BAISliced &A, int row)
{
  return A.row ? A.block[row] : row / A.block_size;
}

/* The block of a place that has a row */
static __device__ inline int BlockAt(const BAISliced &A, int place, int row)
{
  return A.home ? A.home[place] : BlockOf(A, row);
}

static __device__ inline int BlockOfLane(const BAISliced &A, int slice, int lane, int row)
{
  return row < 0 ? -1 : BlockAt(A, slice / A.tile_slices * A.tile_rows + slice % A.tile_slices * BAI_LANES + lane, row);
}

/* The place of a column of the square part of the matrix in a block, or -1 */
static __device__ inline int PlaceInBlock(const BAISliced &A, int block, int col)
{
  if (BlockOf(A, col) == block) return A.row ? A.place[col] : col;
  if (!A.overlap) return -1;
  const int last = A.overlap[2 * block + 1];
  int       low = A.overlap[2 * block], high = last;

  while (low < high) {
    const int middle = low + (high - low) / 2;

    if (BAIRowOf(A.row[middle]) < col) low = middle + 1;
    else high = middle;
  }
  return low < last && BAIRowOf(A.row[low]) == col ? low : -1;
}

/* Goes through the columns of a row outside its block, in the order of the matrix, at most so many, and counts those inside meanwhile */
struct Outside {
  const BAISliced *A;
  const BAIMatrix *M;
  int              row, block, part, left, inside;
  BAIInt           k;

  __device__ Outside(const BAISliced &A, const BAIMatrix &M, int row, int block, int most) : A(&A), M(&M), row(row), block(block), part(row < 0 ? 2 : 0), left(most), inside(0), k(row < 0 ? 0 : M.A.i[row]) { }

  /* INT_MAX: no more */
  __device__ int Next()
  {
    for (; part < (M->nghost ? 2 : 1) && left; part++, k = part == 1 && M->nghost ? M->B.i[row] : 0) {
      const BAICSR &C = part ? M->B : M->A;

      while (k < C.i[row + 1]) {
        const BAIInt col = C.j[k++];

        if (!part && col == row) continue;
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

/* For the rows of a warp, calls f(k, diagonal) for each diagonal of the matrix, by its column minus row, in which one of them has an entry; false: columns are not sorted, or there are too many */
template <typename F>
static __device__ bool ForDiagonals(Outside &outside, int most, F f)
{
  const auto next   = [&] {
    const int col = outside.Next();

    return col == INT_MAX ? INT_MAX : col - outside.row;
  };
  int        mine   = next(), k = 0;
  bool       sorted = true;

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
  long long loc, off, off_j, pieces, rest;
} Extent;

struct SumOfExtents {
  __device__ Extent operator()(const Extent &a, const Extent &b) const { return {a.loc + b.loc, a.off + b.off, a.off_j + b.off_j, a.pieces + b.pieces, a.rest + b.rest}; }
};

/* Of all slices */
typedef struct {
  unsigned long long nnz_local, nnz_off;
  int                loc_width, off_width, tile_loc, tile_off, tile_off_j;
} Totals;

static __device__ inline int Pieces(int rest)
{
  return (rest + BAI_PIECE - 1) / BAI_PIECE;
}

/* A warp a slice: the longest row inside and outside the blocks, and how many diagonals it takes instead */
static __global__ void Count(const __grid_constant__ BAISliced A, const __grid_constant__ BAIMatrix M, Extent *extent, Totals *totals)
{
  const int lane = threadIdx.x % BAI_LANES, slice = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);
  int       off = 0, row, diagonals = 0;

  if (slice >= A.tiles * A.tile_slices) return;
  row = RowOfLane(A, slice, lane);
  const int block = BlockOfLane(A, slice, lane, row);

  Outside outside(A, M, row, block, A.most_off + 1);
  bool    by_delta = ForDiagonals(outside, 3 * LONG / 2, [&](int, int) { diagonals++; });

  off = A.most_off + 1 - outside.left;
  if (!__all_sync(~0u, by_delta && off <= A.most_off)) {
    by_delta = false;
    outside  = Outside(A, M, row, block, INT_MAX);
    for (off = 0; outside.Next() < INT_MAX;) off++;
  }
  const int rest = max(off - A.most_off, 0), short_off = off - rest;
  const int loc = outside.inside, loc_max = __reduce_max_sync(~0u, loc), off_max = __reduce_max_sync(~0u, short_off);
  const int loc_sum = __reduce_add_sync(~0u, loc), off_sum = __reduce_add_sync(~0u, off), rest_sum = __reduce_add_sync(~0u, rest), pieces = __reduce_add_sync(~0u, Pieces(rest));

  if (lane) return;
  A.slice[slice].loc_width = loc_max;
  A.slice[slice].off_width = (unsigned)off_max;
  extent[slice].off_j      = by_delta && 2 * diagonals <= 3 * off_max ? diagonals : INT_MAX; /* more take as many bytes */
  extent[slice].pieces     = pieces;
  extent[slice].rest       = rest_sum;
  atomicAdd(&totals->nnz_local, (unsigned long long)loc_sum);
  atomicAdd(&totals->nnz_off, (unsigned long long)off_sum);
  atomicMax(&totals->loc_width, loc_max);
  atomicMax(&totals->off_width, off_max);
}

/* A thread a slice: chooses, but no slice is to become wider than the widest */
static __global__ void Choose(BAISliced A, Extent *extent, const Totals *totals)
{
  enum {
    ALIGN = 8 /* numbers that are fetched from memory at a time */
  };
  const long long slice = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (slice >= A.tiles * A.tile_slices) return;
  BAISlice &s = A.slice[slice];
  Extent   &e = extent[slice];

  s.by_delta = s.off_width > 0 && !e.pieces && e.off_j <= totals->off_width;
  if (s.by_delta) s.off_width = (unsigned)e.off_j;
  e.loc   = (long long)s.loc_width * BAI_LANES;
  e.off   = (long long)s.off_width * BAI_LANES;
  e.off_j = s.by_delta ? (s.off_width + ALIGN - 1) / ALIGN * ALIGN : e.off;
}

/* A thread a tile: the largest */
static __global__ void Largest(BAISliced A, const Extent *extent, Totals *totals)
{
  const long long tile = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (tile >= A.tiles) return;
  const Extent a = extent[tile * A.tile_slices], b = extent[(tile + 1) * A.tile_slices];

  atomicMax(&totals->tile_loc, (int)min(b.loc - a.loc, (long long)INT_MAX));
  atomicMax(&totals->tile_off, (int)min(b.off - a.off, (long long)INT_MAX));
  atomicMax(&totals->tile_off_j, (int)min(b.off_j - a.off_j, (long long)INT_MAX));
}

/* A warp a slice: where its entries begin, by now known, its diagonals, and its pieces of long rows */
static __global__ void Place(const __grid_constant__ BAISliced A, const __grid_constant__ BAIMatrix M, const Extent *extent)
{
  const int lane = threadIdx.x % BAI_LANES, slice = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES), slices = A.tiles * A.tile_slices;

  if (slice >= slices) return;
  const int    row = RowOfLane(A, slice, lane), block = BlockOfLane(A, slice, lane, row);
  const Extent e   = extent[slice];

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
  int       piece = (int)e.pieces, off = 0;

  for (Outside outside(A, M, row, block, INT_MAX); outside.Next() < INT_MAX;) off++;
  for (int other = 0; other < BAI_LANES; other++) {
    const long long last = first + max(__shfl_sync(~0u, off, other) - A.most_off, 0);

    for (; first < last; first = min(first + BAI_PIECE, last), piece++) {
      if (lane == other) A.piece[piece] = {first, min(first + BAI_PIECE, last), lane};
    }
  }
}

/* Found on the way through the matrix: the first row without a diagonal entry, whether a column is not the old one, and the bits of the least share */
typedef struct {
  int bad, different, least_share;
} Findings;

template <typename LI, typename V, bool same_pattern>
static __device__ inline void PutEntry(LI *j, V *a, long long at, int col, BAIScalar value, Findings *findings)
{
  if (!same_pattern) j[at] = (LI)col;
  else if ((int)j[at] != col) findings->different = 1;
  a[at] = V(value);
}

/* Where the entries of a row outside its block go, one after the other; padded by what is no entry, in the row's own column if it is not a diagonal's */
template <typename V, bool same_pattern>
struct OutsidePut {
  const BAISliced &A;
  const BAISlice   s;
  const int        lane, row;
  Findings        *findings;
  unsigned         w;
  long long        rest, rest_end;

  __device__ OutsidePut(const BAISliced &A, int slice, int lane, int row, Findings *findings) : A(A), s(A.slice[slice]), lane(lane), row(row), findings(findings), w(0), rest(0), rest_end(0)
  {
    for (int k = A.piece_first ? A.piece_first[slice + 1] : 0; A.piece_first && k-- > A.piece_first[slice];) {
      if (A.piece[k].lane != lane) continue;
      if (!rest_end) rest_end = A.piece[k].last;
      rest = A.piece[k].first;
    }
  }

  __device__ void Put(int col, V value)
  {
    const long long at = (long long)w++ * BAI_LANES + lane;
    V              *a  = static_cast<V *>(A.off_a) + s.off + at;

    if (!s.by_delta && !same_pattern) A.off_j[s.off_j + at] = col;
    if (same_pattern && (s.by_delta ? BAIIsNoEntry(*a) != BAIIsNoEntry(value) : A.off_j[s.off_j + at] != col)) findings->different = 1;
    *a = value;
  }

  __device__ void Entry(int col, BAIScalar value)
  {
    while (s.by_delta && w < s.off_width && row + A.off_j[s.off_j + w] < col) Put(row, BAINoEntry<V>());
    if (s.by_delta && w < s.off_width && row + A.off_j[s.off_j + w] != col) findings->different = 1;
    if (w < s.off_width) Put(col, V(value) + V(0)); /* never a negative zero */
    else if (rest < rest_end) PutEntry<int, V, same_pattern>(A.rest_j, static_cast<V *>(A.rest_a), rest++, col, value, findings);
    else findings->different = 1;
  }

  __device__ void End(int own)
  {
    while (w < s.off_width) Put(own, BAINoEntry<V>());
    if (rest < rest_end) findings->different = 1;
  }
};

/* A warp a slice, a lane a row */
template <typename LI, typename V, bool same_pattern>
static __global__ void Fill(BAISliced A, BAIMatrix M, int l1, int dominance, BAIReal *sums, Findings *findings)
{
  const int lane = threadIdx.x % BAI_LANES, slice = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);

  if (slice >= A.tiles * A.tile_slices) return;
  const int       tile = slice / A.tile_slices, tile_first = tile * A.tile_rows, row = RowOfLane(A, slice, lane);
  const int       place = tile_first + (row >= 0 ? slice % A.tile_slices * BAI_LANES + lane : 0), own = row >= 0 ? row : BAIRowAt(A, tile, 0); /* a lane without a row points to a value that is there */
  const long long loc_end = A.slice[slice].loc + (long long)A.slice[slice].loc_width * BAI_LANES;
  long long       loc     = A.slice[slice].loc + lane;
  LI             *loc_j   = static_cast<LI *>(A.loc_j);
  V              *loc_a   = static_cast<V *>(A.loc_a);
  OutsidePut<V, same_pattern> off(A, slice, lane, row, findings);

  if (row >= 0) {
    const int block = BlockAt(A, place, row);
    BAIScalar d     = 0;
    BAIReal   sum = 0, outside = 0;

    for (int part = 0; part < (M.nghost ? 2 : 1); part++) {
      const BAICSR C = part ? M.B : M.A;

      for (BAIInt k = C.i[row]; k < C.i[row + 1]; k++) {
        const BAIInt    col   = part ? C.j[k] + A.n : C.j[k];
        const BAIScalar value = C.a[k];
        const int       at    = part ? -1 : PlaceInBlock(A, block, (int)col);

        if (col == row) d = value;
        else if (at >= 0) {
          sum += BAIAbs(value);
          if (same_pattern && loc >= loc_end) findings->different = 1;
          else PutEntry<LI, V, same_pattern>(loc_j, loc_a, loc, at - tile_first, value, findings);
          loc += BAI_LANES;
        } else {
          outside += BAIAbs(value);
          off.Entry((int)col, value);
        }
      }
    }
    if (d == BAIScalar(0)) atomicMin(&findings->bad, row);
    const BAIReal share = dominance ? BAIShareOfDominance(BAIAbs(d), sum) : 1;

    if (share < 1) atomicMin(&findings->least_share, __float_as_int((float)share)); /* positive numbers are ordered as their bits are */
    A.d[place]    = d;
    A.dinv[place] = BAIScalar(1) / d;
    if (A.share) A.share[place] = share * (l1 ? BAIShareOfL1(BAIAbs(d), outside) : 1);
    if (sums) {
      sums[place]                                    = sum;
      sums[(size_t)A.tiles * A.tile_rows + place] = outside;
    }
  }
  for (; loc < loc_end; loc += BAI_LANES) PutEntry<LI, V, same_pattern>(loc_j, loc_a, loc, place - tile_first, 0, findings);
  off.End(own);
}

/* Device memory that goes when the function returns */
struct Temporary {
  void *p = nullptr;
  ~Temporary() { (void)cudaFree(p); }
};

/* The matrix where kernels can read it: as it is, or copied to the device */
static BAIStatus OnDevice(BAIState state, const BAIMatrix *M, BAIMatrix *D, Temporary copy[6])
{
  int k = 0;

  *D = *M;
  if (M->memory == BAI_MEMORY_DEVICE) return BAIStatusOf(BAI_OK);
  for (BAICSR *C : {&D->A, &D->B}) {
    if (C == &D->B && !M->nghost) break;
    const size_t nnz = (size_t)C->i[M->n];

    for (auto part : {std::pair((const void **)&C->i, (M->n + 1) * sizeof(BAIInt)), std::pair((const void **)&C->j, nnz * sizeof(BAIInt)), std::pair((const void **)&C->a, nnz * sizeof(BAIScalar))}) {
      CUDATry(cudaMalloc(&copy[k].p, part.second + 1));
      CUDATry(cudaMemcpyAsync(copy[k].p, *part.first, part.second, cudaMemcpyHostToDevice, state->stream));
      *part.first = copy[k++].p;
    }
  }
  D->memory = BAI_MEMORY_DEVICE;
  return BAIStatusOf(BAI_OK);
}

static unsigned SliceGrid(const BAISliced &A)
{
  return (unsigned)(((long long)A.tiles * A.tile_slices * BAI_LANES + THREADS - 1) / THREADS);
}

/* Local sweeps of each place, if they depend on the block; found on the host, whose sums do not differ from time to time */
static BAIStatus CountLocalSweeps(BAIState state)
{
  state->local_sweeps = (long long)state->blocks * state->p.local_iters;
  if (!state->sums) return BAIStatusOf(BAI_OK);

  const BAISliced        A      = state->A;
  const size_t           places = BAIPlaces(&A), blocks = (size_t)state->blocks;
  std::vector<BAIReal>   sums(2 * places), inside(blocks, 0), outside(blocks, 0);
  std::vector<BAIInt>    iters(blocks);
  std::vector<int>       of_place(places, 1), of_tile(A.tiles, 1), block(A.row ? (size_t)A.n : 0), row(A.row ? places : 0), home(A.home ? places : 0);
  const auto             block_of = [&](size_t p) { return A.home ? home[p] : A.row ? (row[p] < 0 ? -1 : block[row[p]]) : p < (size_t)A.n ? (int)p / A.block_size : -1; };

  CUDATry(cudaMemcpyAsync(sums.data(), state->sums, 2 * places * sizeof(BAIReal), cudaMemcpyDeviceToHost, state->stream));
  if (A.row) CUDATry(cudaMemcpyAsync(block.data(), A.block, block.size() * sizeof(int), cudaMemcpyDeviceToHost, state->stream));
  if (A.home) CUDATry(cudaMemcpyAsync(home.data(), A.home, places * sizeof(int), cudaMemcpyDeviceToHost, state->stream));
  if (A.row) CUDATry(cudaMemcpyAsync(row.data(), A.row, places * sizeof(int), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
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
  CUDATry(cudaMemcpyAsync(A.tile_iters, of_tile.data(), of_tile.size() * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

static BAIStatus FillSlices(BAIState state, const BAIMatrix &D, bool same_pattern)
{
  const BAISliced A = state->A;
  Temporary       t;
  Findings        findings = {INT_MAX, 0, 0};
  BAIStatus       status = BAIStatusOf(BAI_OK);
  float           least  = 1;
  void (*const fill[2][2][2])(BAISliced, BAIMatrix, int, int, BAIReal *, Findings *) = {
    {{Fill<uint16_t, BAIScalar, false>, Fill<uint16_t, BAIScalar, true>}, {Fill<uint16_t, BAISingle, false>, Fill<uint16_t, BAISingle, true>}},
    {{Fill<int, BAIScalar, false>, Fill<int, BAIScalar, true>},           {Fill<int, BAISingle, false>, Fill<int, BAISingle, true>}          }
  };

  if (!A.tiles) return status;
  memcpy(&findings.least_share, &least, sizeof(least));
  CUDATry(cudaMalloc(&t.p, sizeof(findings)));
  CUDATry(cudaMemcpyAsync(t.p, &findings, sizeof(findings), cudaMemcpyHostToDevice, state->stream));
  fill[state->wide][A.single][same_pattern]<<<SliceGrid(A), THREADS, 0, state->stream>>>(A, D, state->p.l1, !(state->p.local_omega > 0), state->sums, (Findings *)t.p);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(&findings, t.p, sizeof(findings), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  memcpy(&least, &findings.least_share, sizeof(least));
  state->local_omega = BAILocalOmega(&state->p);
  state->least_share = (BAIReal)least;
  if (findings.different) return BAIStatusOf(BAI_ERR_PATTERN);
  if (findings.bad < A.n) {
    status     = BAIStatusOf(BAI_ERR_DIAGONAL);
    status.row = findings.bad;
  }
  if (!status.code && !A.share && least < 1) status = BAIStatusOf(same_pattern ? BAI_ERR_PATTERN : BAI_OK); /* the kernel in use knows of no shares: to be created anew */
  return status.code ? status : CountLocalSweeps(state);
}

/* Puts the rows of each block, or of several small ones side by side, into a tile */
static BAIStatus TakePartition(BAIState state, const BAIPartition *partition)
{
  BAISliced *A    = &state->A;
  BAIInt     most = 1, together;

  state->blocks = partition->blocks;
  for (BAIInt b = 0; b < partition->blocks; b++) most = std::max(most, partition->first[b + 1] - partition->first[b]);
  together     = BAIGroup(most);
  A->tile_rows = (int)(together * most);
  A->tiles     = (int)((partition->blocks + together - 1) / together);
  if (BAIPlaces(A) > INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);

  std::vector<int> row(BAIPlaces(A), -1), place(A->n), block(A->n), home(partition->own ? row.size() : 0, -1), overlap(partition->own ? 2 * (size_t)partition->blocks : 0);

  for (BAIInt b = 0; b < partition->blocks; b++) {
    const size_t tile_first = (size_t)(b / together) * (size_t)A->tile_rows;
    const BAIInt first      = partition->first[b / together * together]; /* of the tile */

    for (BAIInt p = partition->first[b]; p < partition->first[b + 1]; p++) {
      const size_t at = tile_first + (size_t)(p - first);

      if (partition->own) home[at] = (int)b;
      if (partition->own && p >= partition->own[b]) {
        row[at] = -2 - (int)partition->row[p];
        continue;
      }
      row[at]                     = (int)partition->row[p];
      place[partition->row[p]]    = (int)at;
      block[partition->row[p]]    = (int)b;
    }
    if (partition->own) overlap[2 * b] = (int)(tile_first + (size_t)(partition->own[b] - first));
    if (partition->own) overlap[2 * b + 1] = (int)(tile_first + (size_t)(partition->first[b + 1] - first));
  }
  BAITry(BAICUDAAllocate(state, row.size() * sizeof(int), &A->row));
  BAITry(BAICUDAAllocate(state, place.size() * sizeof(int), &A->place));
  BAITry(BAICUDAAllocate(state, block.size() * sizeof(int), &A->block));
  CUDATry(cudaMemcpyAsync(A->row, row.data(), row.size() * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  CUDATry(cudaMemcpyAsync(A->place, place.data(), place.size() * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  CUDATry(cudaMemcpyAsync(A->block, block.data(), block.size() * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  if (partition->own) {
    BAITry(BAICUDAAllocate(state, home.size() * sizeof(int), &A->home));
    BAITry(BAICUDAAllocate(state, overlap.size() * sizeof(int), &A->overlap));
    CUDATry(cudaMemcpyAsync(A->home, home.data(), home.size() * sizeof(int), cudaMemcpyHostToDevice, state->stream));
    CUDATry(cudaMemcpyAsync(A->overlap, overlap.data(), overlap.size() * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  }
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISlicedCreate(BAIState state, const BAIMatrix *M, const BAIPartition *partition)
{
  BAISliced *A = &state->A;
  BAIMatrix  D;
  Temporary  copy[6], totals_device, extents, scan;
  Totals     totals;
  Extent     end;
  BAIInt     nnz[2] = {0, 0};
  size_t     scan_bytes = 0;

  if ((long long)M->n + M->nghost > INT_MAX / 2) return BAIStatusOf(BAI_ERR_SIZE);
  A->n           = (int)M->n;
  A->block_size  = (int)(state->p.block_size < M->n ? state->p.block_size : (M->n ? M->n : 1));
  A->tile_rows   = (int)BAIGroup(A->block_size) * A->block_size;
  A->tiles       = (int)(((long long)A->n + A->tile_rows - 1) / A->tile_rows);
  state->blocks  = M->n / A->block_size + (M->n % A->block_size ? 1 : 0);
  if (partition) BAITry(TakePartition(state, partition));
  A->tile_slices = (A->tile_rows + BAI_LANES - 1) / BAI_LANES;
  state->nghost  = (int)M->nghost;
  A->cols        = A->n + (int)M->nghost;
  A->single      = state->p.single;
  state->wide    = A->tile_rows > UINT16_MAX + 1;

  const int slices = BAISlices(A);

  BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIScalar), &A->d));
  BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIScalar), &A->dinv));
  if (state->p.l1 || !(state->p.local_omega > 0)) BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIReal), &A->share));
  if (state->p.theta) {
    BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(int), &A->iters));
    BAITry(BAICUDAAllocate(state, A->tiles * sizeof(int), &A->tile_iters));
    BAITry(BAICUDAAllocate(state, 2 * BAIPlaces(A) * sizeof(BAIReal), &state->sums));
  }
  BAITry(BAICUDAAllocate(state, (slices + 1) * sizeof(BAISlice), &A->slice));
  if (!slices) return BAIStatusOf(BAI_OK);

  BAITry(OnDevice(state, M, &D, copy));
  CUDATry(cudaMemcpyAsync(nnz, D.A.i + D.n, sizeof(BAIInt), cudaMemcpyDeviceToHost, state->stream));
  if (D.nghost) CUDATry(cudaMemcpyAsync(nnz + 1, D.B.i + D.n, sizeof(BAIInt), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaMalloc(&totals_device.p, sizeof(totals)));
  CUDATry(cudaMemsetAsync(totals_device.p, 0, sizeof(totals), state->stream));
  CUDATry(cudaMalloc(&extents.p, (slices + 1) * sizeof(Extent)));
  CUDATry(cudaMemsetAsync(extents.p, 0, (slices + 1) * sizeof(Extent), state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  Extent *extent = (Extent *)extents.p;

  A->most_off = std::max((int)LONG, (int)(4 * ((long long)nnz[0] + nnz[1]) / A->n));
  Count<<<SliceGrid(*A), THREADS, 0, state->stream>>>(*A, D, extent, (Totals *)totals_device.p);
  CUDATry(cudaGetLastError());
  Choose<<<(slices + THREADS - 1) / THREADS, THREADS, 0, state->stream>>>(*A, extent, (const Totals *)totals_device.p);
  CUDATry(cudaGetLastError());
  CUDATry(cub::DeviceScan::ExclusiveScan(nullptr, scan_bytes, extent, extent, SumOfExtents(), Extent{}, slices + 1, state->stream));
  CUDATry(cudaMalloc(&scan.p, scan_bytes));
  CUDATry(cub::DeviceScan::ExclusiveScan(scan.p, scan_bytes, extent, extent, SumOfExtents(), Extent{}, slices + 1, state->stream));
  Largest<<<(A->tiles + THREADS - 1) / THREADS, THREADS, 0, state->stream>>>(*A, extent, (Totals *)totals_device.p);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(&totals, totals_device.p, sizeof(totals), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaMemcpyAsync(&end, extent + slices, sizeof(end), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  state->nnz_local = (long long)totals.nnz_local;
  state->nnz_off   = (long long)totals.nnz_off;
  A->loc_width     = totals.loc_width;
  A->off_width     = totals.off_width;
  A->tile_loc      = totals.tile_loc;
  A->tile_off      = totals.tile_off;
  A->tile_off_j    = totals.tile_off_j;
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
  BAITry(FillSlices(state, D, false));
  if (!state->p.l1 && state->least_share == 1) { /* all are */
    BAICUDAFree(state, BAIPlaces(A) * sizeof(BAIReal), A->share);
    A->share = NULL;
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISlicedUpdateValues(BAIState state, const BAIMatrix *M)
{
  BAIMatrix D;
  Temporary copy[6];

  if (M->n != state->A.n || M->nghost != state->nghost) return BAIStatusOf(BAI_ERR_PATTERN);
  BAITry(OnDevice(state, M, &D, copy));
  return FillSlices(state, D, true);
}
