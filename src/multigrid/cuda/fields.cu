/* The coupling of fields that rows show, on a device. Sums do not depend on the order in which threads run */
#include "../fieldrules.h"
#include "levels.h"
#include <algorithm>

enum {
  THREADS = 128, /* at most */
  BLOCKS  = 4,   /* thread blocks of a multiprocessor */
  COUNT   = sizeof(BAIFieldLook) / sizeof(double)
};

/* A thread looks at rows of one field, as the number of threads of a block is a multiple of the fields. Each block adds
   up what its threads saw, and the last block to arrive, what all blocks have in part; all has a look for each field.
   arrived is 0 before */
static __global__ __launch_bounds__(THREADS) void LookAtFields(BAIMatrix matrix, BAIPoints points, const BAIInt *ghost,
                                                               double *part, unsigned *arrived, double *all)
{
  const int         threads = (int)blockDim.x, thread = (int)threadIdx.x, fields = points.fields;
  const int         numbers = fields * COUNT;
  __shared__ double seen[COUNT][THREADS];
  __shared__ bool   last;
  union {
    BAIFieldLook look;
    double       number[COUNT];
  } mine = {};

  for (long long row = (long long)blockIdx.x * threads + thread; row < matrix.n; row += (long long)gridDim.x * threads)
    BAIFieldLookAt(&matrix, &points, ghost, (BAIInt)row, &mine.look);
  for (int k = 0; k < COUNT; k++) seen[k][thread] = mine.number[k];
  __syncthreads();
  for (int at = thread; at < numbers; at += threads) {
    double sum = 0;

    for (int t = at / COUNT; t < threads; t += fields) sum += seen[at % COUNT][t];
    part[(long long)blockIdx.x * numbers + at] = sum;
  }
  __threadfence();
  __syncthreads();
  if (!thread) last = atomicAdd(arrived, 1u) + 1 == gridDim.x;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int at = thread; at < numbers; at += threads) {
    double sum = 0;

#pragma unroll 8
    for (int block = 0; block < (int)gridDim.x; block++) sum += part[(long long)block * numbers + at];
    all[at] = sum;
  }
}

static BAIStatus LookIn(BAIContext *context, const BAIMatrix *matrix, const BAIPoints *points, BAIFieldLook *look)
{
  const int     threads = THREADS / points->fields * points->fields, numbers = points->fields * COUNT;
  const int     blocks = (int)std::min((long long)context->processors * BLOCKS,
                                       ((long long)matrix->n + threads - 1) / threads);
  BAITemporary  room, sums;
  const BAIInt *ghost;

  std::fill(look, look + points->fields, BAIFieldLook{});
  if (!blocks) return BAIStatusOf(BAI_OK);
  BAITry(BAIDeviceGhosts(context, matrix->nghost, points->ghost, true, &room, &ghost));
  BAITry(sums.Allocate(context, (size_t)(blocks + 1) * numbers * sizeof(double) + sizeof(unsigned)));
  double   *all = static_cast<double *>(sums.p), *part = all + numbers;
  unsigned *arrived = reinterpret_cast<unsigned *>(part + (size_t)blocks * numbers);

  CUDATry(cudaMemsetAsync(arrived, 0, sizeof(*arrived), context->stream));
  LookAtFields<<<(unsigned)blocks, (unsigned)threads, 0, context->stream>>>(*matrix, *points, ghost, part, arrived,
                                                                            all);
  CUDATry(cudaGetLastError());
  return BAIDownload(context, (size_t)points->fields, reinterpret_cast<const BAIFieldLook *>(all), look);
}

BAIStatus BAIDeviceLookAtFields(const BAIMatrix *matrix, const BAIPoints *points, int device, void *stream,
                                BAIFieldLook *look)
{
  BAIContext context;
  BAIStatus  status = BAIContextOpen(&context, device, stream);

  if (!status.code) status = BAICatch([&] { return LookIn(&context, matrix, points, look); });
  BAIContextClose(&context);
  return status;
}
