/*
   Cuts a CSR matrix into sliced Block-CRS on the device
*/
#include "../coloring.h"
#include "state.h"
#include <algorithm>
#include <limits.h>
#include <vector>

/* The matrix where kernels can read it: as it is, or copied to the device */
static BAIStatus OnDevice(BAIState state, const BAIMatrix *M, BAIMatrix *D, BAITemporary copy[7])
{
  const size_t shares = (size_t)M->n * sizeof(BAIReal);
  int          k      = 0;

  *D = *M;
  if (M->share) {
    BAITry(copy[k].Allocate(state, shares));
    CUDATry(cudaMemcpyAsync(copy[k].p, M->share, shares, cudaMemcpyHostToDevice, state->stream));
    D->share = (const BAIReal *)copy[k++].p;
  }
  if (M->memory == BAI_MEMORY_DEVICE) return BAIStatusOf(BAI_OK);
  for (BAICSR *C : {&D->A, &D->B}) {
    if (C == &D->B && !M->nghost) break;
    const size_t nnz = (size_t)C->i[M->n];

    for (auto part : {std::pair((const void **)&C->i, (M->n + 1) * sizeof(BAIInt)),
                      std::pair((const void **)&C->j, nnz * sizeof(BAIInt)),
                      std::pair((const void **)&C->a, nnz * sizeof(BAIScalar))}) {
      BAITry(copy[k].Allocate(state, part.second));
      CUDATry(cudaMemcpyAsync(copy[k].p, *part.first, part.second, cudaMemcpyHostToDevice, state->stream));
      *part.first = copy[k++].p;
    }
  }
  D->memory = BAI_MEMORY_DEVICE;
  return BAIStatusOf(BAI_OK);
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

  std::vector<int> row(BAIPlaces(A), -1), place(A->n), block(A->n), home(partition->own ? row.size() : 0, -1),
    overlap(partition->own ? 2 * (size_t)partition->blocks : 0);

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
      row[at]                  = (int)partition->row[p];
      place[partition->row[p]] = (int)at;
      block[partition->row[p]] = (int)b;
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
    CUDATry(
      cudaMemcpyAsync(A->overlap, overlap.data(), overlap.size() * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  }
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISlicedCreate(BAIState state, const BAIMatrix *M, const BAIPartition *partition)
{
  BAISliced   *A = &state->A;
  BAIMatrix    D;
  BAITemporary copy[7];

  if ((long long)M->n + M->nghost > INT_MAX / 2) return BAIStatusOf(BAI_ERR_SIZE);
  A->n          = (int)M->n;
  A->block_size = (int)(state->p.block_size < M->n ? state->p.block_size : (M->n ? M->n : 1));
  A->tile_rows  = (int)BAIGroup(A->block_size) * A->block_size;
  A->tiles      = (int)(((long long)A->n + A->tile_rows - 1) / A->tile_rows);
  state->blocks = M->n / A->block_size + (M->n % A->block_size ? 1 : 0);
  if (partition) BAITry(TakePartition(state, partition));
  A->tile_slices  = (A->tile_rows + BAI_LANES - 1) / BAI_LANES;
  state->nghost   = (int)M->nghost;
  A->cols         = A->n + (int)M->nghost;
  A->unit         = state->p.unit;
  A->single       = state->p.single && !state->p.refined;
  A->sweep_single = state->p.single;
  state->wide     = BAIWide(A);

  BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIScalar), &A->d));
  BAITry(BAICUDAAllocate(state, BAIPlaces(A) * BAISweepSize(A), &A->dinv));
  if (state->p.l1 || !(state->p.local_omega > 0))
    BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIReal), &A->share));
  if (state->p.theta) {
    BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(int), &A->iters));
    BAITry(BAICUDAAllocate(state, A->tiles * sizeof(int), &A->tile_iters));
    BAITry(BAICUDAAllocate(state, 2 * BAIPlaces(A) * sizeof(BAIReal), &state->sums));
    CUDATry(cudaMemsetAsync(state->sums, 0, 2 * BAIPlaces(A) * sizeof(BAIReal),
                            state->stream)); /* places without a row stay so */
  }
  BAITry(BAICUDAAllocate(state, (BAISlices(A) + 1) * sizeof(BAISlice), &A->slice));
  if (!BAISlices(A)) return BAIStatusOf(BAI_OK);

  BAITry(OnDevice(state, M, &D, copy));
  BAITry(BAISlicesCreate(state, &D));
  BAITry(BAISlicesFill(state, &D, false));
  if (!state->p.l1 && state->least_share == 1) { /* all are */
    BAICUDAFree(state, BAIPlaces(A) * sizeof(BAIReal), A->share);
    A->share = NULL;
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISlicedUpdateValues(BAIState state, const BAIMatrix *M)
{
  BAIMatrix    D;
  BAITemporary copy[7];

  if (M->n != state->A.n || M->nghost != state->nghost) return BAIStatusOf(BAI_ERR_PATTERN);
  BAITry(OnDevice(state, M, &D, copy));
  return BAISlicesFill(state, &D, true);
}

BAIStatus BAISlicedShares(BAIState state, BAIReal *share)
{
  const BAISliced     *A      = &state->A;
  const size_t         places = BAIPlaces(A);
  std::vector<BAIReal> of_place(places, 1);
  std::vector<int>     row(A->row ? places : 0);

  if (A->share)
    CUDATry(
      cudaMemcpyAsync(of_place.data(), A->share, places * sizeof(BAIReal), cudaMemcpyDeviceToHost, state->stream));
  if (A->row) CUDATry(cudaMemcpyAsync(row.data(), A->row, places * sizeof(int), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  for (size_t p = 0; p < places; p++) {
    const long long own = A->row ? row[p] : (long long)p;

    if (own >= 0 && own < A->n) share[own] = of_place[p];
  }
  return BAIStatusOf(BAI_OK);
}
