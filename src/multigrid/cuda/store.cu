/* Stores the rows of a rank in the arrays of the whole matrix, see ../levels.h */
#include "levels.h"

static __global__ void Store(BAIMatrix matrix, BAIPart part, const BAIInt *ghost)
{
  const BAIInt row = (BAIInt)(blockIdx.x * (long long)blockDim.x + threadIdx.x);

  if (row < matrix.n) BAIStoreRow(&matrix, &part, ghost, row);
}

static BAIStatus StoreIn(BAIContext *context, const BAIMatrix *matrix, const BAIPart *part)
{
  enum {
    THREADS = 256
  };
  const size_t bytes = (size_t)matrix->nghost * sizeof(*part->ghost);
  BAITemporary room;

  if (!matrix->n) return BAIStatusOf(BAI_OK);
  BAITry(room.Allocate(context, bytes + 1));
  CUDATry(cudaMemcpyAsync(room.p, part->ghost, bytes, cudaMemcpyHostToDevice, context->stream));
  Store<<<BAIGrid((long long)matrix->n, THREADS), THREADS, 0, context->stream>>>(*matrix, *part,
                                                                                 static_cast<const BAIInt *>(room.p));
  CUDATry(cudaGetLastError());
  CUDATry(cudaStreamSynchronize(context->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceStore(const BAIMatrix *matrix, const BAIPart *part, int device, void *stream)
{
  BAIContext context;
  BAIStatus  status = BAIContextOpen(&context, device, stream);

  if (!status.code) status = StoreIn(&context, matrix, part);
  BAIContextClose(&context);
  return status;
}
