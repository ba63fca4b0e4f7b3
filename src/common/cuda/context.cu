/*
   Device memory is allocated in stream order from CUDA's pool, which PETSc uses for vectors too; the next set-up reuses
   freed memory at once.

   A host thread that spins notices the end of a wait at once, and keeps a core busy until then. One that sleeps on a
   blocking event wakes late, by up to 0.3 ms on a machine with an H200. So with idle_wait it sleeps only in long waits:
   after some time, or at once if the last two were long
*/
#include "follow.h"
#include <chrono>
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LONG_WAIT = 8e-3; /* seconds; waking takes at most a twentieth of that */

BAIStatus BAICUDAStatus(cudaError_t error, const char *what)
{
  const bool capture = error >= cudaErrorStreamCaptureUnsupported &&
    error <= cudaErrorStreamCaptureWrongThread; /* calls that CUDA does not allow while a graph is captured */
  const BAIStatus status = {capture                                ? BAI_ERR_CAPTURE
                              : error == cudaErrorMemoryAllocation ? BAI_ERR_MEMORY
                                                                   : BAI_ERR_DEVICE,
                            -1, what, cudaGetErrorString(error)};

  (void)cudaGetLastError();
  return status;
}

BAIStatus BAICUDASetDevice(int device)
{
  int devices = 0;

  CUDATry(cudaGetDeviceCount(&devices));
  if (device >= 0 && devices) CUDATry(cudaSetDevice(device % devices));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDAIsReady(void *stream)
{
  cudaStreamCaptureStatus capture;

  CUDATry(cudaStreamIsCapturing((cudaStream_t)stream, &capture));
  if (capture == cudaStreamCaptureStatusNone) return BAIStatusOf(BAI_OK);
  return BAIStatusBecause(BAI_ERR_CAPTURE, "cudaStreamIsCapturing()", "this stream is being captured");
}

void BAIContextClose(BAIContext *context)
{
  if (context->reached) (void)cudaEventDestroy(context->reached);
  BAIPinnedRestore(context->pinned);
  BAICUDAFreeSince(context, 0);
  free(context->owned);
  *context = BAIContext{};
}

/* Allocates memory in stream order; BAI_ERR_MEMORY names its size */
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

BAIStatus BAICUDAAllocate(BAIContext *context, size_t bytes, void *pointer)
{
  BAIOwned *owned = (BAIOwned *)realloc(context->owned, (size_t)(context->nowned + 1) * sizeof(*owned));
  void     *p;

  if (!owned) return BAIStatusOf(BAI_ERR_MEMORY);
  context->owned = owned;
  BAITry(Take(bytes, context->stream, &p));
  owned[context->nowned++] = {p, bytes};
  context->bytes += (long long)bytes;
  *(void **)pointer = p;
  return BAIStatusOf(BAI_OK);
}

void BAICUDAFree(BAIContext *context, size_t, void *pointer)
{
  for (int i = 0; i < context->nowned; i++) {
    if (context->owned[i].p != pointer) continue;
    (void)cudaFreeAsync(pointer, context->stream);
    context->bytes -= (long long)context->owned[i].bytes;
    context->owned[i] = context->owned[--context->nowned];
  }
}

void BAICUDAFreeSince(BAIContext *context, int owned)
{
  while (context->nowned > owned) BAICUDAFree(context, 0, context->owned[context->nowned - 1].p);
}

BAIStatus BAITemporary::Allocate(BAIContext *context, size_t bytes)
{
  stream = context->stream;
  if (p) CUDATry(cudaFreeAsync(p, stream));
  p = nullptr;
  return Take(bytes, stream, &p);
}

BAITemporary::~BAITemporary()
{
  if (p) (void)cudaFreeAsync(p, stream);
}

static double Now()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

BAIStatus BAICUDAWait(BAIContext *context)
{
  const double begin = Now();
  cudaError_t  ready = cudaErrorNotReady;

  if (!context->idle_wait) {
    CUDATry(cudaStreamSynchronize(context->stream));
    return BAIStatusOf(BAI_OK);
  }
  if (!context->reached)
    CUDATry(cudaEventCreateWithFlags(&context->reached, cudaEventBlockingSync | cudaEventDisableTiming));
  CUDATry(cudaEventRecord(context->reached, context->stream));
  while (context->long_waits < 2 && ready == cudaErrorNotReady && Now() - begin < LONG_WAIT)
    ready = cudaEventQuery(context->reached);
  (void)cudaGetLastError(); /* not ready is no error */
  if (ready == cudaErrorNotReady) ready = cudaEventSynchronize(context->reached);
  CUDATry(ready);
  context->long_waits = Now() - begin < LONG_WAIT ? 0 : context->long_waits + (context->long_waits < 2);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDADownload(BAIContext *context, size_t bytes, const void *from, void *to)
{
  const bool few = bytes <= BAI_PINNED_BYTES;

  if (!bytes) return BAIStatusOf(BAI_OK);
  if (!context->pinned) BAITry(BAIPinnedGet(&context->pinned));
  CUDATry(cudaMemcpyAsync(few ? context->pinned : to, from, bytes, cudaMemcpyDeviceToHost, context->stream));
  CUDATry(cudaStreamSynchronize(context->stream));
  if (few) memcpy(to, context->pinned, bytes);
  return BAIStatusOf(BAI_OK);
}

/* Pinning memory takes as long as all the rest of a small set-up, so pinned memory is kept for the next one. Each free
   piece begins with the address of the next */
static std::mutex idle_mutex;
static void      *idle;

BAIStatus BAIPinnedGet(void *pointer)
{
  enum {
    PAGE = 8 * BAI_PINNED_BYTES
  };
  const std::lock_guard<std::mutex> lock(idle_mutex);

  if (!idle) {
    char *page;

    CUDATry(cudaHostAlloc((void **)&page, PAGE, cudaHostAllocPortable));
    for (size_t at = 0; at < PAGE; at += BAI_PINNED_BYTES) {
      *(void **)(page + at) = idle;
      idle                  = page + at;
    }
  }
  *(void **)pointer = idle;
  idle              = *(void **)idle;
  memset(*(void **)pointer, 0, BAI_PINNED_BYTES);
  return BAIStatusOf(BAI_OK);
}

void BAIPinnedRestore(void *piece)
{
  const std::lock_guard<std::mutex> lock(idle_mutex);

  if (!piece) return;
  *(void **)piece = idle;
  idle            = piece;
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
