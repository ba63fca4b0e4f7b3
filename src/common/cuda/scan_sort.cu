/* Prefix sums and sorting by CUB */
#include "scan_sort.h"
#include <cub/block/block_scan.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_scan.cuh>

enum {
  FEW_BLOCK = 1024,                 /* threads of a block that makes a short prefix sum, */
  FEW_ITEMS = 8,                    /* and numbers of a thread at a time */
  FEW       = FEW_BLOCK * FEW_ITEMS /* numbers of such a sum at most: it takes as long as the launches for a long one */
};

BAIStatus BAICodeVersion(int *version)
{
  CUDATry(cub::PtxVersion(*version));
  return BAIStatusOf(BAI_OK);
}

/* Short prefix sums */
struct FewSums {
  BAISums of[BAI_SUMS_MOST];
};

/* Makes short prefix sums, a thread block each */
static __global__ __launch_bounds__(FEW_BLOCK) void ScanFew(FewSums few)
{
  using Scan = cub::BlockScan<int, FEW_BLOCK>;
  __shared__ typename Scan::TempStorage storage;
  const BAISums                         s      = few.of[blockIdx.x];
  int                                   before = 0;

  for (int first = 0; first < (int)s.n; first += FEW) {
    const int at = first + (int)threadIdx.x * FEW_ITEMS;
    int       number[FEW_ITEMS], all;

#pragma unroll
    for (int l = 0; l < FEW_ITEMS; l++) number[l] = at + l < (int)s.n ? s.from[at + l] : 0;
    Scan(storage).ExclusiveSum(number, number, all);
#pragma unroll
    for (int l = 0; l < FEW_ITEMS; l++)
      if (at + l < (int)s.n) s.sums[at + l] = before + number[l];
    before += all;
    __syncthreads();
  }
}

/* Calls a function of CUB for the size of its work space, and then with it */
template <typename Call>
static BAIStatus WithWork(BAIContext *context, Call call)
{
  BAITemporary work;
  size_t       bytes = 0;

  CUDATry(call(nullptr, bytes));
  BAITry(work.Allocate(context, bytes));
  CUDATry(call(work.p, bytes));
  return BAIStatusOf(BAI_OK);
}

/* Makes a long prefix sum */
static BAIStatus ScanMany(BAIContext *context, const BAISums *s)
{
  return WithWork(context, [=](void *work, size_t &bytes) {
    return cub::DeviceScan::ExclusiveSum(work, bytes, s->from, s->sums, s->n, context->stream);
  });
}

BAIStatus BAIScans(BAIContext *context, int count, const BAISums *sums)
{
  FewSums  few;
  unsigned fews = 0;

  for (int k = 0; k < count; k++) {
    if (sums[k].n <= FEW) few.of[fews++] = sums[k];
    else BAITry(ScanMany(context, &sums[k]));
  }
  if (fews) ScanFew<<<fews, FEW_BLOCK, 0, context->stream>>>(few);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIScan(BAIContext *context, long long n, const int *from, int *sums)
{
  const BAISums one = {n, from, sums};

  return BAIScans(context, 1, &one);
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
  return WithWork(context, [=](void *work, size_t &bytes) {
    return cub::DeviceScan::ExclusiveScan(work, bytes, extent, extent, SumOfExtents(), BAIExtent{}, n, context->stream);
  });
}

struct IsLess {
  __host__ __device__ bool operator()(const BAIKey &a, const BAIKey &b) const { return a < b; }
};

BAIStatus BAISort(BAIContext *context, int n, BAIKey *keys)
{
  return WithWork(context, [=](void *work, size_t &bytes) {
    return cub::DeviceMergeSort::SortKeys(work, bytes, keys, n, IsLess(), context->stream);
  });
}
