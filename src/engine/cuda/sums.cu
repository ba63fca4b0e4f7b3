/*
   Sums of |a_ij|, i != j, inside and outside the blocks: what the entries of all slices add up to, as padding is zero
*/
#include "iterate.h"
#include "state.h"
#include <cub/device/device_reduce.cuh>

struct Magnitude {
  template <typename V>
  __device__ BAIReal operator()(const V &a) const
  {
    return BAIAbs(BAIScalar(a));
  }
};

template <typename V>
static BAIStatus Sum(BAIState state, const void *a, long long n, BAIReal *sum)
{
  const V     *first = static_cast<const V *>(a);
  size_t       bytes = 0;
  BAITemporary work, result;

  *sum = 0;
  if (!n) return BAIStatusOf(BAI_OK);
  BAITry(result.Allocate(state, sizeof(*sum)));
  CUDATry(cub::DeviceReduce::TransformReduce(nullptr, bytes, first, (BAIReal *)result.p, n, cuda::std::plus<BAIReal>(), Magnitude(), BAIReal(0), state->stream));
  BAITry(work.Allocate(state, bytes));
  CUDATry(cub::DeviceReduce::TransformReduce(work.p, bytes, first, (BAIReal *)result.p, n, cuda::std::plus<BAIReal>(), Magnitude(), BAIReal(0), state->stream));
  CUDATry(cudaMemcpyAsync(sum, result.p, sizeof(*sum), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

template <typename V>
static BAIStatus Sums(BAIState state, BAIReal *inside, BAIReal *outside)
{
  BAIReal rest;

  BAITry(Sum<V>(state, state->A.loc_a, state->places_loc, inside));
  BAITry(Sum<V>(state, state->A.off_a, state->places_off, outside));
  BAITry(Sum<V>(state, state->A.rest_a, state->places_rest, &rest));
  *outside += rest;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISumsRun(BAIState state, BAIReal *inside, BAIReal *outside)
{
  return state->A.single ? Sums<BAISingle>(state, inside, outside) : Sums<BAIScalar>(state, inside, outside);
}
