/*
   Memory of the CUDA backend. On the device it comes in the order of the stream, from the pool of CUDA that PETSc
   takes vectors from; what is given back there, the next set-up has at once
*/
#include "../../relaxation/cuda/state.h"
#include <mutex>
#include <stdio.h>
#include <stdlib.h>

static BAIStatus Take(size_t bytes, cudaStream_t stream, void **p)
{
  const cudaError_t error = cudaMallocAsync(p, bytes ? bytes : 1, stream);
  char              text[64];

  if (error != cudaErrorMemoryAllocation)
    return error == cudaSuccess ? BAIStatusOf(BAI_OK) : BAICUDAStatus(error, "cudaMallocAsync()");
  (void)cudaGetLastError();
  *p = NULL;
  snprintf(text, sizeof(text), "%zu bytes on the device", bytes);
  return BAIStatusBecause(BAI_ERR_MEMORY, "cudaMallocAsync()", text);
}

BAIStatus BAICUDAAllocate(BAIState state, size_t bytes, void *pointer)
{
  void **owned = (void **)realloc(state->owned, (size_t)(state->nowned + 1) * sizeof(*owned)), *p;

  if (!owned) return BAIStatusOf(BAI_ERR_MEMORY);
  state->owned = owned;
  BAITry(Take(bytes, state->stream, &p));
  owned[state->nowned++] = p;
  state->bytes += (long long)bytes;
  *(void **)pointer = p;
  return BAIStatusOf(BAI_OK);
}

void BAICUDAFree(BAIState state, size_t bytes, void *pointer)
{
  for (int i = 0; i < state->nowned; i++) {
    if (state->owned[i] != pointer) continue;
    (void)cudaFreeAsync(pointer, state->stream);
    state->owned[i] = state->owned[--state->nowned];
    state->bytes -= (long long)bytes;
  }
}

void BAICUDAFreeAll(BAIState state)
{
  for (int i = 0; i < state->nowned; i++) (void)cudaFreeAsync(state->owned[i], state->stream);
  free(state->owned);
  state->owned  = NULL;
  state->nowned = 0;
}

BAIStatus BAITemporary::Allocate(BAIState state, size_t bytes)
{
  stream = state->stream;
  if (p) CUDATry(cudaFreeAsync(p, stream));
  p = nullptr;
  return Take(bytes, stream, &p);
}

BAITemporary::~BAITemporary()
{
  if (p) (void)cudaFreeAsync(p, stream);
}

/* To pin memory takes as long as all the rest of a small set-up; so it is never given back, but kept for the next one
 */
static std::mutex idle_mutex;
static BAIPinned *idle;

BAIStatus BAIPinnedGet(BAIPinned **pinned)
{
  enum {
    BYTES = 4096 /* a page */
  };
  const std::lock_guard<std::mutex> lock(idle_mutex);

  if (!idle) {
    BAIPinned *page;

    CUDATry(cudaHostAlloc((void **)&page, BYTES, cudaHostAllocPortable));
    for (size_t k = 0; k < BYTES / sizeof(*page); k++) {
      page[k].next = idle;
      idle         = page + k;
    }
  }
  *pinned  = idle;
  idle     = idle->next;
  **pinned = BAIPinned{};
  return BAIStatusOf(BAI_OK);
}

void BAIPinnedRestore(BAIPinned *pinned)
{
  const std::lock_guard<std::mutex> lock(idle_mutex);

  if (!pinned) return;
  pinned->next = idle;
  idle         = pinned;
}

BAIStatus BAIAllowShared(const void *kernel, size_t bytes)
{
  static std::mutex                 mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  cudaFuncAttributes                attributes;

  CUDATry(cudaFuncGetAttributes(&attributes, kernel));
  if ((int)bytes > attributes.maxDynamicSharedSizeBytes)
    CUDATry(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  return BAIStatusOf(BAI_OK);
}
