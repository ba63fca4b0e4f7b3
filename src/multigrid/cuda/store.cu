/* Stores rows of a rank as a part of the whole matrix, see ../levels.h */
#include "levels.h"

enum {
  THREADS = 256
};

static __global__ void StoreMatrix(BAIMatrix matrix, BAIPart part, const BAIInt *ghost)
{
  const BAIInt row = (BAIInt)(blockIdx.x * (long long)blockDim.x + threadIdx.x);

  if (row < matrix.n) BAIStoreRow(&matrix, &part, ghost, row);
}

static __global__ void StoreLevel(BAIRows A, BAIPart part, const BAIInt *ghost)
{
  const int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (row < A.n) BAIStoreRowOfLevel(&A, &part, ghost, row);
}

BAIStatus BAIDeviceGhosts(BAIContext *context, BAIInt n, const BAIInt *from, BAITemporary *room, const BAIInt **ghost)
{
  BAITry(room->Allocate(context, ((size_t)n + 1) * sizeof(**ghost)));
  CUDATry(cudaMemcpyAsync(room->p, from, (size_t)n * sizeof(**ghost), cudaMemcpyHostToDevice, context->stream));
  *ghost = static_cast<const BAIInt *>(room->p);
  return BAIStatusOf(BAI_OK);
}

static BAIStatus StoreIn(BAIContext *context, const BAIMatrix *matrix, const BAIPart *part)
{
  BAITemporary  room;
  const BAIInt *ghost;

  if (!matrix->n) return BAIStatusOf(BAI_OK);
  BAITry(BAIDeviceGhosts(context, matrix->nghost, part->ghost, &room, &ghost));
  StoreMatrix<<<BAIGrid((long long)matrix->n, THREADS), THREADS, 0, context->stream>>>(*matrix, *part, ghost);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceStoreMatrix(const BAIMatrix *matrix, const BAIPart *part, int device, void *stream)
{
  BAIContext context;
  BAIStatus  status = BAIContextOpen(&context, device, stream);

  if (!status.code) status = StoreIn(&context, matrix, part);
  BAIContextClose(&context);
  return status;
}

BAIStatus BAIDeviceStore(BAILevelsState state, int level, const BAIPart *part)
{
  const BAIRows &A = state->level[level].A;
  BAITemporary   room;
  const BAIInt  *ghost;

  if (!A.n) return BAIStatusOf(BAI_OK);
  BAITry(BAIDeviceGhosts(&state->s, (BAIInt)A.ghosts, part->ghost, &room, &ghost));
  StoreLevel<<<BAIGrid(A.n, THREADS), THREADS, 0, state->s.stream>>>(A, *part, ghost);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
