/* Stores rows of a rank as a part of the whole matrix, see ../levels.h */
#include "levels.h"

enum {
  THREADS = 256,
  RUNS    = 8 /* most sequences of consecutive numbers that the device makes */
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

/* The end of the consecutive ones among n ascending numbers, from number begin on */
static BAIInt EndOfRun(BAIInt n, const BAIInt *from, BAIInt begin)
{
  BAIInt last = begin, end = n;

  while (end - last > 1) {
    const BAIInt middle = last + (end - last) / 2;

    if (from[middle] - from[begin] == middle - begin) last = middle;
    else end = middle;
  }
  return end;
}

BAIStatus BAIDeviceGhosts(BAIContext *context, BAIInt n, const BAIInt *from, bool ascend, BAITemporary *room,
                          const BAIInt **ghost)
{
  BAIInt end[RUNS + 1] = {0};
  int    runs          = 0;

  BAITry(room->Allocate(context, ((size_t)n + 1) * sizeof(**ghost)));
  *ghost = static_cast<const BAIInt *>(room->p);
  if constexpr (sizeof(BAIInt) == sizeof(int)) /* BAINumber() makes such numbers */
    for (; ascend && runs < RUNS && end[runs] < n; runs++) end[runs + 1] = EndOfRun(n, from, end[runs]);
  if (end[runs] == n) {
    for (int k = 0; k < runs; k++)
      BAITry(BAINumber(*context, (int)(end[k + 1] - end[k]),
                       {.rows = 1, .add = (int)from[end[k]], .to = static_cast<int *>(room->p) + end[k]}));
    return BAIStatusOf(BAI_OK);
  }
  CUDATry(cudaMemcpyAsync(room->p, from, (size_t)n * sizeof(**ghost), cudaMemcpyHostToDevice, context->stream));
  return BAIStatusOf(BAI_OK);
}

static BAIStatus StoreIn(BAIContext *context, const BAIMatrix *matrix, const BAIPart *part)
{
  BAITemporary  room;
  const BAIInt *ghost;

  if (!matrix->n) return BAIStatusOf(BAI_OK);
  BAITry(BAIDeviceGhosts(context, matrix->nghost, part->ghost, false, &room, &ghost));
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
  BAITry(BAIDeviceGhosts(&state->s, (BAIInt)A.ghosts, part->ghost, false, &room, &ghost));
  StoreLevel<<<BAIGrid(A.n, THREADS), THREADS, 0, state->s.stream>>>(A, *part, ghost);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
