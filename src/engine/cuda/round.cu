/*
   Vectors on their way to and from sweeps in single precision, and the matrix as sweeps read it in single precision
*/
#include "state.h"

enum {
  THREADS = 256
};

template <typename To, typename From>
static __global__ void Scale(long long n, const From *from, BAIReal factor, To *to)
{
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

  if (i < n) to[i] = To(BAIScalar(from[i]) * factor);
}

static unsigned Grid(long long n)
{
  return (unsigned)((n + THREADS - 1) / THREADS);
}

BAIStatus BAIRoundVector(BAIState state, int n, const BAIScalar *from, void *to)
{
  if (!n) return BAIStatusOf(BAI_OK);
  Scale<<<Grid(n), THREADS, 0, state->stream>>>(n, from, state->scale, static_cast<BAISingle *>(to));
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIWidenVector(BAIState state, int n, const void *from, BAIScalar *to)
{
  if (!n) return BAIStatusOf(BAI_OK);
  Scale<<<Grid(n), THREADS, 0, state->stream>>>(n, static_cast<const BAISingle *>(from), 1 / state->scale, to);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIRoundInside(BAIState state)
{
  BAISliced *A = &state->A;

  if (A->single == A->sweep_single) {
    A->sweep_a = A->loc_a;
    return BAIStatusOf(BAI_OK);
  }
  if (!A->sweep_a) BAITry(BAICUDAAllocate(state, (size_t)state->places_loc * sizeof(BAISingle), &A->sweep_a));
  if (!state->places_loc) return BAIStatusOf(BAI_OK);
  Scale<<<Grid(state->places_loc), THREADS, 0, state->stream>>>(state->places_loc,
                                                                static_cast<const BAIScalar *>(A->loc_a), BAIReal(1),
                                                                static_cast<BAISingle *>(A->sweep_a));
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
