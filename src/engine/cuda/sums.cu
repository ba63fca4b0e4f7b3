/*
   Sums of |a_ij|, i != j, inside and outside the blocks: what the entries of all slices add up to, as padding is zero
*/
#include "iterate.h"
#include "state.h"
#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>

/* By the number of the entry, so that one kernel does for both precisions */
struct Magnitude {
  const void *a;
  int         single;

  __device__ BAIReal operator()(long long k) const { return BAIAbs(single ? BAIScalar(static_cast<const BAISingle *>(a)[k]) : static_cast<const BAIScalar *>(a)[k]); }
};

static BAIStatus Sum(BAIState state, const void *a, long long n, BAIReal *sum)
{
  const thrust::counting_iterator<long long> first(0);
  const Magnitude                            magnitude = {a, state->A.single};
  size_t                                     bytes     = 0;
  BAITemporary                               work, result;

  *sum = 0;
  if (!n) return BAIStatusOf(BAI_OK);
  BAITry(result.Allocate(state, sizeof(*sum)));
  CUDATry(cub::DeviceReduce::TransformReduce(nullptr, bytes, first, (BAIReal *)result.p, n, cuda::std::plus<BAIReal>(), magnitude, BAIReal(0), state->stream));
  BAITry(work.Allocate(state, bytes));
  CUDATry(cub::DeviceReduce::TransformReduce(work.p, bytes, first, (BAIReal *)result.p, n, cuda::std::plus<BAIReal>(), magnitude, BAIReal(0), state->stream));
  CUDATry(cudaMemcpyAsync(sum, result.p, sizeof(*sum), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISumsRun(BAIState state, BAIReal *inside, BAIReal *outside)
{
  BAIReal rest;

  BAITry(Sum(state, state->A.loc_a, state->places_loc, inside));
  BAITry(Sum(state, state->A.off_a, state->places_off, outside));
  BAITry(Sum(state, state->A.rest_a, state->places_rest, &rest));
  *outside += rest;
  return BAIStatusOf(BAI_OK);
}
