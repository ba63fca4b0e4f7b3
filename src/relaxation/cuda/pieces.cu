/*
   The sums of all pieces of long rows, a warp a piece
*/
#include "pieces.h"

enum {
  THREADS = 256,
  ALL     = BAI_PIECE / BAI_LANES /* of a lane's entries are on their way at once */
};

template <typename Sum, typename V>
static __global__ void Pieces(BAISliced A, const V *x, const V *ghost)
{
  const int k = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);

  if (k >= A.pieces) return;
  const Sum sum =
    BAISumPiece<BAI_FLAGS, Sum, V, ALL>(A, A.piece[k], x,
                                        ghost); /* x is read as where flags see to it that nobody writes it */

  if (threadIdx.x % BAI_LANES == 0) static_cast<Sum *>(A.piece_sum)[k] = sum;
}

BAIStatus BAIPiecesRun(BAIState state, const void *x, bool native)
{
  const BAISliced A    = state->A;
  const unsigned  grid = (unsigned)(((long long)A.pieces * BAI_LANES + THREADS - 1) / THREADS);

  if (!A.pieces) return BAIStatusOf(BAI_OK);
  if (!A.single)
    Pieces<BAIScalar><<<grid, THREADS, 0, state->stream>>>(A, (const BAIScalar *)x, (const BAIScalar *)state->ghost);
  else if (native)
    Pieces<BAIScalar><<<grid, THREADS, 0, state->stream>>>(A, (const BAISingle *)x, (const BAISingle *)state->ghost);
  else Pieces<BAISingle><<<grid, THREADS, 0, state->stream>>>(A, (const BAISingle *)x, (const BAISingle *)state->ghost);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
