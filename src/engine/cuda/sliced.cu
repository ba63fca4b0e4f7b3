/*
   Cuts a CSR matrix into sliced Block-CRS on the device
*/
#include "../coloring.h"
#include "../theta.h"
#include "sliced.h"
#include <algorithm>
#include <limits.h>
#include <string.h>
#include <vector>

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

/* The matrix where kernels can read it: as it is, or copied to the device */
static BAIStatus OnDevice(BAIState state, const BAIMatrix *M, BAIMatrix *D, BAITemporary copy[6])
{
  int k = 0;

  *D = *M;
  if (M->memory == BAI_MEMORY_DEVICE) return BAIStatusOf(BAI_OK);
  for (BAICSR *C : {&D->A, &D->B}) {
    if (C == &D->B && !M->nghost) break;
    const size_t nnz = (size_t)C->i[M->n];

    for (auto part : {std::pair((const void **)&C->i, (M->n + 1) * sizeof(BAIInt)), std::pair((const void **)&C->j, nnz * sizeof(BAIInt)), std::pair((const void **)&C->a, nnz * sizeof(BAIScalar))}) {
      BAITry(copy[k].Allocate(state, part.second));
      CUDATry(cudaMemcpyAsync(copy[k].p, *part.first, part.second, cudaMemcpyHostToDevice, state->stream));
      *part.first = copy[k++].p;
    }
  }
  D->memory = BAI_MEMORY_DEVICE;
  return BAIStatusOf(BAI_OK);
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
  BAITemporary    t;
  Findings        findings = {INT_MAX, 0, 0};
  BAIStatus       status = BAIStatusOf(BAI_OK);
  float           least  = 1;
  void (*const fill[2][2][2])(BAISliced, BAIMatrix, int, int, BAIReal *, Findings *) = {
    {{Fill<uint16_t, BAIScalar, false>, Fill<uint16_t, BAIScalar, true>}, {Fill<uint16_t, BAISingle, false>, Fill<uint16_t, BAISingle, true>}},
    {{Fill<int, BAIScalar, false>, Fill<int, BAIScalar, true>},           {Fill<int, BAISingle, false>, Fill<int, BAISingle, true>}          }
  };

  if (!A.tiles) return status;
  memcpy(&findings.least_share, &least, sizeof(least));
  BAITry(t.Allocate(state, sizeof(findings)));
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
  BAITemporary copy[6];

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

  BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIScalar), &A->d));
  BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIScalar), &A->dinv));
  if (state->p.l1 || !(state->p.local_omega > 0)) BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIReal), &A->share));
  if (state->p.theta) {
    BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(int), &A->iters));
    BAITry(BAICUDAAllocate(state, A->tiles * sizeof(int), &A->tile_iters));
    BAITry(BAICUDAAllocate(state, 2 * BAIPlaces(A) * sizeof(BAIReal), &state->sums));
  }
  BAITry(BAICUDAAllocate(state, (BAISlices(A) + 1) * sizeof(BAISlice), &A->slice));
  if (!BAISlices(A)) return BAIStatusOf(BAI_OK);

  BAITry(OnDevice(state, M, &D, copy));
  BAITry(BAISlicesCreate(state, &D));
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
  BAITemporary copy[6];

  if (M->n != state->A.n || M->nghost != state->nghost) return BAIStatusOf(BAI_ERR_PATTERN);
  BAITry(OnDevice(state, M, &D, copy));
  return FillSlices(state, D, true);
}
