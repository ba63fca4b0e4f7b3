/* The sums of all pieces of long rows, a warp for each piece */
#include "pieces.h"

enum {
  ALL = BAI_PIECE / BAI_LANES /* entries of a lane, all loaded at once */
};

/* Sums piece k; x is read as if flags ensured that it does not change */
template <typename Sum, typename V>
static __device__ __forceinline__ void SumPiece(const BAISliced &A, int k, const void *x, const void *ghost)
{
  const Sum sum = BAISumPiece<BAI_FLAGS, Sum, V, ALL>(A, A.piece[k], static_cast<const V *>(x),
                                                      static_cast<const V *>(ghost));

  if (threadIdx.x % BAI_LANES == 0) static_cast<Sum *>(A.piece_sum)[k] = sum;
}

static __global__ void Pieces(BAISliced A, bool native, const void *x, const void *ghost)
{
  const int k = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);

  if (k >= A.pieces) return;
  if (!A.single) SumPiece<BAIScalar, BAIScalar>(A, k, x, ghost);
  else if (native) SumPiece<BAIScalar, BAISingle>(A, k, x, ghost);
  else SumPiece<BAISingle, BAISingle>(A, k, x, ghost);
}

BAIStatus BAIPiecesRun(BAIState state, const void *x, bool native)
{
  return state->A.pieces
    ? BAILaunchThreads(state->stream, (long long)state->A.pieces * BAI_LANES, Pieces, state->A, native, x, state->ghost)
    : BAIStatusOf(BAI_OK);
}
