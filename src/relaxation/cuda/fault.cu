/* Flips bits of the matrix on the device, see fault.h */
#include "../fault.h"
#include "iterate.h"

/* Flips a bit in each row that is hit: of the diagonal, its inverse, or a place for an entry, which may be empty */
static __global__ void FlipEntries(BAISliced A, BAIFault fault, unsigned long long *flipped)
{
  const int place = (int)(blockIdx.x * blockDim.x + threadIdx.x), tile = place / A.tile_rows, i = place % A.tile_rows;
  const int row = tile < A.tiles ? BAIRowAt(A, tile, i) : -1;

  if (row < 0 || !BAIFaultHits(&fault, row)) return;
  const BAISlice slice   = A.slice[tile * A.tile_slices + i / BAI_LANES];
  const auto     outside = BAIOutsideOf(A, slice, tile * A.tile_slices + i / BAI_LANES, i % BAI_LANES);
  const int which    = (int)(BAIFaultHash(&fault, row + fault.seed) % (uint64_t)(2 + slice.loc_width + outside.width)),
            k        = which - 2;
  const size_t size  = A.single ? sizeof(BAISingle) : sizeof(BAIScalar);
  const int    bytes = A.single ? (int)sizeof(float) : (int)sizeof(BAIReal), lane = i % BAI_LANES;

  if (which == 0) BAIFaultFlip(&fault, row, A.d + place, sizeof(BAIReal));
  else if (which == 1)
    BAIFaultFlip(&fault, row,
                 static_cast<char *>(A.dinv) + (A.sweep_single ? sizeof(BAISingle) : sizeof(BAIScalar)) * (size_t)place,
                 A.sweep_single ? (int)sizeof(float) : (int)sizeof(BAIReal));
  else if (k < slice.loc_width)
    BAIFaultFlip(&fault, row,
                 static_cast<char *>(A.loc_a) + size * (size_t)(slice.loc + (long long)k * BAI_LANES + lane), bytes);
  else
    BAIFaultFlip(&fault, row,
                 static_cast<char *>(A.off_a) +
                   size * (size_t)(outside.a + (long long)(k - slice.loc_width) * outside.step),
                 bytes);
  atomicAdd(flipped, 1ull);
}

BAIStatus BAICUDAFlip(BAIState state, BAIInt *flipped)
{
  const size_t       places = BAIPlaces(&state->A);
  BAITemporary       count;
  unsigned long long found = 0;

  *flipped = 0;
  if (!places) return BAIStatusOf(BAI_OK);
  BAITry(count.Allocate(state, sizeof(found)));
  CUDATry(cudaMemsetAsync(count.p, 0, sizeof(found), state->stream));
  BAITry(BAILaunchThreads(state->stream, (long long)places, FlipEntries, state->A, state->p.fault,
                          static_cast<unsigned long long *>(count.p)));
  BAITry(BAIDownload(state, 1, (unsigned long long *)count.p, &found));
  *flipped = (BAIInt)found;
  return BAIStatusOf(BAI_OK);
}
