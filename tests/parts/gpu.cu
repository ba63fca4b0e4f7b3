/*
   What tests do to a GPU: see gpu.h
*/
#include "gpu.h"
#include <cuda_runtime.h>
#include <vector>

#define Try(...) \
  do { \
    const cudaError_t try_ = __VA_ARGS__; \
    if (try_ != cudaSuccess) { \
      (void)cudaGetLastError(); \
      return cudaGetErrorString(try_); \
    } \
  } while (0)

static cudaMemPool_t       usual, limited;
static std::vector<void *> taken;

static const char *CurrentPool(cudaMemPool_t *pool)
{
  int device;

  Try(cudaGetDevice(&device));
  Try(cudaDeviceGetMemPool(pool, device));
  return NULL;
}

static const char *SetPool(cudaMemPool_t pool)
{
  int device;

  Try(cudaGetDevice(&device));
  Try(cudaDeviceSetMemPool(device, pool));
  return NULL;
}

const char *GPUGetMemory(size_t *used, size_t *available)
{
  cudaMemPool_t      pool;
  unsigned long long bytes;
  size_t             total;
  const char        *error;

  Try(cudaDeviceSynchronize());
  error = CurrentPool(&pool);
  if (error) return error;
  Try(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &bytes));
  *used = (size_t)bytes;
  Try(cudaMemGetInfo(available, &total));
  return NULL;
}

const char *GPULimitPool(void)
{
  const size_t     bytes      = (size_t)1 << 25; /* as much as a pool takes at a time */
  cudaMemPoolProps properties = {};
  const char      *error;
  int              device;

  Try(cudaGetDevice(&device));
  Try(cudaDeviceSynchronize());
  error = CurrentPool(&usual);
  if (error) return error;
  properties.allocType     = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id   = device;
  properties.maxSize       = bytes;
  if (!limited) Try(cudaMemPoolCreate(&limited, &properties)); /* which stays, as what came from it may live on */
  return SetPool(limited);
}

const char *GPUUnlimitPool(void)
{
  return SetPool(usual);
}

const char *GPUTakeAll(void)
{
  cudaMemPool_t pool;
  const char   *error = CurrentPool(&pool);

  if (error) return error;
  Try(cudaDeviceSynchronize());
  Try(cudaMemPoolTrimTo(pool, 0));
  for (size_t bytes = (size_t)1 << 40; bytes >= (size_t)1 << 20; bytes /= 2) {
    void *p;

    while (cudaMalloc(&p, bytes) == cudaSuccess) taken.push_back(p);
    (void)cudaGetLastError();
  }
  return NULL;
}

const char *GPUGiveBack(void)
{
  for (void *p : taken) Try(cudaFree(p));
  taken.clear();
  return NULL;
}

const char *GPUStreamCreate(void **stream)
{
  cudaStream_t s;

  Try(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  *stream = s;
  return NULL;
}

const char *GPUStreamDestroy(void *stream)
{
  Try(cudaStreamSynchronize((cudaStream_t)stream));
  Try(cudaStreamDestroy((cudaStream_t)stream));
  return NULL;
}

const char *GPUBeginCapture(void *stream, int global)
{
  Try(cudaStreamBeginCapture((cudaStream_t)stream,
                             global ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal));
  return NULL;
}

const char *GPUEndCapture(void *stream)
{
  cudaGraph_t graph;

  Try(cudaStreamEndCapture((cudaStream_t)stream, &graph));
  if (graph) Try(cudaGraphDestroy(graph));
  return NULL;
}

static __global__ void WriteNowhere(int *p)
{
  *p = 1;
}

void GPULose(void)
{
  WriteNowhere<<<1, 1>>>((int *)16);
  (void)cudaDeviceSynchronize();
}
