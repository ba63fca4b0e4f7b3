/* The coupling of fields that rows show, on a device. Sums do not depend on the order in which threads run */
#include "../fieldrules.h"
#include "levels.h"
#include <algorithm>
#include <vector>

enum {
  THREADS = 128, /* at most */
  BLOCKS  = 8,   /* thread blocks of a multiprocessor */
  COUNT   = sizeof(BAIFieldLook) / sizeof(double)
};

/* A thread looks at rows of one field, as the number of threads of a block is a multiple of the fields; each block adds
   up what its threads saw: part has a look for each field and block */
static __global__ __launch_bounds__(THREADS) void LookAtFields(BAIMatrix matrix, BAIPoints points, const BAIInt *ghost,
                                                               BAIFieldLook *part)
{
  const int         threads = (int)blockDim.x, thread = (int)threadIdx.x, fields = points.fields;
  __shared__ double seen[COUNT][THREADS];
  union {
    BAIFieldLook look;
    double       number[COUNT];
  } mine = {};

  for (long long row = (long long)blockIdx.x * threads + thread; row < matrix.n; row += (long long)gridDim.x * threads)
    BAIFieldLookAt(&matrix, &points, ghost, (BAIInt)row, &mine.look);
  for (int k = 0; k < COUNT; k++) seen[k][thread] = mine.number[k];
  __syncthreads();
  for (int at = thread; at < fields * COUNT; at += threads) {
    double sum = 0;

    for (int t = at / COUNT; t < threads; t += fields) sum += seen[at % COUNT][t];
    reinterpret_cast<double *>(part + (long long)blockIdx.x * fields)[at] = sum;
  }
}

static BAIStatus LookIn(BAIContext *context, const BAIMatrix *matrix, const BAIPoints *points, BAIFieldLook *look)
{
  const int     fields  = points->fields;
  const int     threads = THREADS / fields * fields;
  const size_t  blocks  = std::min((size_t)context->processors * BLOCKS, ((size_t)matrix->n + threads - 1) / threads);
  BAITemporary  room, parts;
  const BAIInt *ghost;
  std::vector<BAIFieldLook> part(blocks * fields);

  std::fill(look, look + fields, BAIFieldLook{});
  if (!blocks) return BAIStatusOf(BAI_OK);
  BAITry(BAIDeviceGhosts(context, matrix->nghost, points->ghost, &room, &ghost));
  BAITry(parts.Allocate(context, part.size() * sizeof(BAIFieldLook)));
  LookAtFields<<<(unsigned)blocks, (unsigned)threads, 0, context->stream>>>(*matrix, *points, ghost,
                                                                            static_cast<BAIFieldLook *>(parts.p));
  CUDATry(cudaGetLastError());
  BAITry(BAIDownload(context, part.size(), static_cast<const BAIFieldLook *>(parts.p), part.data()));
  for (size_t k = 0; k < part.size(); k++) BAIFieldLookAdd(&look[k % fields], &part[k]);
  return BAIStatusOf(BAI_OK);
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
