/*
   Vectors, a thread for each entry: conversion for sweeps in single precision, with the matrix that they read; the
   iterate before the last one, for momentum, when x is returned to the caller; and entries by BAISetEntry()
*/
#include "state.h"

/* to is from in single precision, times a factor, or in double precision; or they are exchanged; or the entries of to
   are set, from row first on */
typedef enum {
  ROUND,
  WIDEN,
  SWAP,
  SET
} How;

static __global__ void Each(How how, long long n, void *from, BAIReal factor, BAISet what, int64_t first, void *to)
{
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  BAIScalar      *x = static_cast<BAIScalar *>(how == WIDEN || how == SET ? to : from);

  if (i >= n) return;
  if (how == ROUND) static_cast<BAISingle *>(to)[i] = BAISingle(x[i] * factor);
  else if (how == WIDEN) x[i] = BAIScalar(static_cast<const BAISingle *>(from)[i]) * factor;
  else if (how == SET) x[i] = BAISetEntry(what, first + i, &x[i]);
  else {
    BAIScalar      *y  = static_cast<BAIScalar *>(to);
    const BAIScalar xi = x[i];

    x[i] = y[i];
    y[i] = xi;
  }
}

/* Starts Each(), if there are any numbers */
static BAIStatus Run(cudaStream_t stream, How how, long long n, const void *from, BAIReal factor, void *to,
                     BAISet what = BAI_SET_NOISE, int64_t first = 0)
{
  return n ? BAILaunchThreads(stream, n, Each, how, n, const_cast<void *>(from), factor, what, first, to)
           : BAIStatusOf(BAI_OK);
}

BAIStatus BAIRoundVector(BAIState state, int n, const BAIScalar *from, void *to)
{
  return Run(state->stream, ROUND, n, from, state->scale, to);
}

BAIStatus BAIWidenVector(BAIState state, int n, const void *from, BAIScalar *to)
{
  return Run(state->stream, WIDEN, n, from, 1 / state->scale, to);
}

BAIStatus BAIRoundInside(BAIState state)
{
  BAISliced *A = &state->A;

  if (A->single == A->sweep_single) {
    A->sweep_a = A->loc_a;
    return BAIStatusOf(BAI_OK);
  }
  if (!A->sweep_a) BAITry(BAICUDAAllocate(state, (size_t)state->places_loc * sizeof(BAISingle), &A->sweep_a));
  return Run(state->stream, ROUND, state->places_loc, A->loc_a, 1, A->sweep_a);
}

BAIStatus BAISwapIterates(BAIState state)
{
  void *x = state->x[0];

  if (!state->A.single) return Run(state->stream, SWAP, state->A.n, x, 1, state->x[1]);
  state->x[0] = state->rounded[2] = state->x[1]; /* both belong to the engine */
  state->x[1]                     = x;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDASet(void *stream, BAISet what, int64_t first, BAIInt n, BAIScalar *x)
{
  return Run((cudaStream_t)stream, SET, n, NULL, 1, x, what, first);
}
