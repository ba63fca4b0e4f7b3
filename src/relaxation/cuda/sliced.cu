/* Stores a CSR matrix as sliced Block-CRS on the device */
#include "../coloring.h"
#include "state.h"
#include <algorithm>
#include <limits.h>
#include <vector>

/* Gets the matrix where kernels can read it: itself, or a copy on the device */
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

/* Puts the rows of each block, or of several small ones, into a tile; sets tile_rows, tiles and the arrays of places */
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

  std::vector<int> row(BAIPlaces(A), -1), home(row), place(A->n), block(A->n);

  for (BAIInt b = 0; b < partition->blocks; b++) {
    const BAIInt first = partition->first[b / together * together]; /* first place of the tile in the partition */

    for (BAIInt p = partition->first[b]; p < partition->first[b + 1]; p++) {
      const int i = (int)partition->row[p], at = (int)(b / together * A->tile_rows + p - first);

      home[at] = block[i] = (int)b;
      row[at]             = i;
      place[i]            = at;
    }
  }
  BAITry(BAIUpload(state, row.size(), row.data(), &A->row));
  BAITry(BAIUpload(state, home.size(), home.data(), &A->home));
  BAITry(BAIUpload(state, place.size(), place.data(), &A->place));
  return BAIUpload(state, block.size(), block.data(), &A->block);
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

  BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIScalar), &A->d));
  BAITry(BAICUDAAllocate(state, BAIPlaces(A) * BAISweepSize(A), &A->dinv));
  if (state->p.l1 || !(state->p.local_omega > 0))
    BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(BAIReal), &A->share));
  if (state->p.theta) {
    BAITry(BAICUDAAllocate(state, BAIPlaces(A) * sizeof(int), &A->iters));
    BAITry(BAICUDAAllocate(state, A->tiles * sizeof(int), &A->tile_iters));
    BAITry(BAICUDAAllocate(state, 2 * BAIPlaces(A) * sizeof(BAIReal), &state->sums));
    CUDATry(cudaMemsetAsync(state->sums, 0, 2 * BAIPlaces(A) * sizeof(BAIReal),
                            state->stream)); /* places without a row do not change */
  }
  BAITry(BAICUDAAllocate(state, (BAISlices(A) + 1) * sizeof(BAISlice), &A->slice));
  if (!BAISlices(A)) return BAIStatusOf(BAI_OK);

  BAITry(OnDevice(state, M, &D, copy));
  BAITry(BAISlicesCreate(state, &D));
  BAITry(BAISlicesFill(state, &D, false));
  if (!state->p.l1 && state->least_share == 1) { /* all shares are 1 */
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

  if (A->share) BAITry(BAIDownload(state, places, A->share, of_place.data()));
  if (A->row) BAITry(BAIDownload(state, places, A->row, row.data()));
  for (size_t p = 0; p < places; p++) {
    const long long i = A->row ? row[p] : (long long)p;

    if (i >= 0 && i < A->n) share[i] = of_place[p];
  }
  return BAIStatusOf(BAI_OK);
}
