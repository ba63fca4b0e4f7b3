/*
   Vectors, a thread for each entry: conversion for sweeps in single precision, with the matrix that they read; the
   iterate before the last one, for momentum, when x is returned to the caller; and pseudorandom numbers
*/
#include "../../common/hash.h"
#include "state.h"

/* Converts numbers of single precision to double precision times a factor, or back */
static __global__ void Scale(long long n, bool widen, const void *from, BAIReal factor, void *to)
{
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

  if (i >= n) return;
  if (widen) static_cast<BAIScalar *>(to)[i] = BAIScalar(static_cast<const BAISingle *>(from)[i]) * factor;
  else static_cast<BAISingle *>(to)[i] = BAISingle(static_cast<const BAIScalar *>(from)[i] * factor);
}

/* Starts Scale() for n numbers, if there are any */
static BAIStatus Run(BAIState state, long long n, bool widen, const void *from, BAIReal factor, void *to)
{
  return n ? BAILaunchThreads(state->stream, n, Scale, n, widen, from, factor, to) : BAIStatusOf(BAI_OK);
}

BAIStatus BAIRoundVector(BAIState state, int n, const BAIScalar *from, void *to)
{
  return Run(state, n, false, from, state->scale, to);
}

BAIStatus BAIWidenVector(BAIState state, int n, const void *from, BAIScalar *to)
{
  return Run(state, n, true, from, 1 / state->scale, to);
}

BAIStatus BAIRoundInside(BAIState state)
{
  BAISliced *A = &state->A;

  if (A->single == A->sweep_single) {
    A->sweep_a = A->loc_a;
    return BAIStatusOf(BAI_OK);
  }
  if (!A->sweep_a) BAITry(BAICUDAAllocate(state, (size_t)state->places_loc * sizeof(BAISingle), &A->sweep_a));
  return Run(state, state->places_loc, false, A->loc_a, 1, A->sweep_a);
}

static __global__ void Swap(int n, BAIScalar *x, BAIScalar *y)
{
  const int       i  = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const BAIScalar xi = i < n ? x[i] : BAIScalar(0);

  if (i >= n) return;
  x[i] = y[i];
  y[i] = xi;
}

BAIStatus BAISwapIterates(BAIState state)
{
  if (!state->A.n) return BAIStatusOf(BAI_OK);
  if (state->A.single) { /* both belong to the engine */
    void *x = state->x[0];

    state->x[0] = state->rounded[2] = state->x[1];
    state->x[1]                     = x;
    return BAIStatusOf(BAI_OK);
  }
  return BAILaunchThreads(state->stream, state->A.n, Swap, state->A.n, static_cast<BAIScalar *>(state->x[0]),
                          static_cast<BAIScalar *>(state->x[1]));
}

static __global__ void Noise(int64_t first, int n, BAIScalar *x)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n) x[i] = BAINoise((uint64_t)(first + i));
}

BAIStatus BAICUDANoise(void *stream, int64_t first, BAIInt n, BAIScalar *x)
{
  return n ? BAILaunchThreads((cudaStream_t)stream, n, Noise, first, (int)n, x) : BAIStatusOf(BAI_OK);
}
