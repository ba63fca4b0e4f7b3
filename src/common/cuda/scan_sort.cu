/* Prefix sums and sorting by CUB */
#include "scan_sort.h"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

enum {
  THREADS = 256
};

BAIStatus BAICodeVersion(int *version)
{
  CUDATry(cub::PtxVersion(*version));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIScan(BAIContext *context, long long n, const int *from, int *sums)
{
  BAITemporary work;
  size_t       bytes = 0;

  CUDATry(cub::DeviceScan::ExclusiveSum(nullptr, bytes, from, sums, n, context->stream));
  BAITry(work.Allocate(context, bytes));
  CUDATry(cub::DeviceScan::ExclusiveSum(work.p, bytes, from, sums, n, context->stream));
  return BAIStatusOf(BAI_OK);
}

struct SumOfExtents {
  __device__ BAIExtent operator()(const BAIExtent &a, const BAIExtent &b) const
  {
    return {a.loc + b.loc,       a.off + b.off,   a.off_j + b.off_j,         a.long_rows + b.long_rows,
            a.pieces + b.pieces, a.rest + b.rest, a.nnz_local + b.nnz_local, a.nnz_off + b.nnz_off};
  }
};

BAIStatus BAIScanExtents(BAIContext *context, int n, BAIExtent *extent)
{
  BAITemporary work;
  size_t       bytes = 0;

  CUDATry(
    cub::DeviceScan::ExclusiveScan(nullptr, bytes, extent, extent, SumOfExtents(), BAIExtent{}, n, context->stream));
  BAITry(work.Allocate(context, bytes));
  CUDATry(
    cub::DeviceScan::ExclusiveScan(work.p, bytes, extent, extent, SumOfExtents(), BAIExtent{}, n, context->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISortPairs(BAIContext *context, long long n, int end, const BAIKey *keys, BAIKey *sorted,
                       const unsigned *values, unsigned *sorted_values)
{
  BAITemporary work;
  size_t       bytes = 0;

  CUDATry(
    cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, sorted, values, sorted_values, n, 0, end, context->stream));
  BAITry(work.Allocate(context, bytes));
  CUDATry(
    cub::DeviceRadixSort::SortPairs(work.p, bytes, keys, sorted, values, sorted_values, n, 0, end, context->stream));
  return BAIStatusOf(BAI_OK);
}

/* Marks keys that differ from their predecessor; the scan needs one number more */
static __global__ void MarkDistinct(int n, const BAIKey *sorted, int *mark)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k <= n) mark[k] = k < n && (!k || sorted[k] != sorted[k - 1]);
}

BAIStatus BAICountDistinct(BAIContext *context, int n, const BAIKey *sorted, int *distinct, int *last)
{
  MarkDistinct<<<(unsigned)(n / THREADS + 1), THREADS, 0, context->stream>>>(n, sorted, distinct);
  CUDATry(cudaGetLastError());
  BAITry(BAIScan(context, n + 1, distinct, distinct));
  CUDATry(cudaMemcpyAsync(last, distinct + n, sizeof(*last), cudaMemcpyDeviceToHost, context->stream));
  CUDATry(cudaStreamSynchronize(context->stream));
  return BAIStatusOf(BAI_OK);
}
