/*
   Memory of a device that other processes open, see ../shared.h. Only memory of cudaMalloc() has handles of CUDA's
   inter-process communication
*/
#include "../shared.h"
#include "../../common/cuda/context.h"
#include <map>
#include <mutex>
#include <string.h>

typedef struct {
  cudaIpcMemHandle_t memory;
  size_t             bytes;
} Handle;

static_assert(sizeof(Handle) <= sizeof(BAISharedHandle), "a handle holds it");
static_assert(sizeof(cudaUUID_t) <= sizeof(BAISharedDevice::bytes), "it holds what identifies a device");

/* Gets the identity of the current device, which takes a millisecond, so it is stored */
static BAIStatus Device(BAISharedDevice *identity)
{
  static std::mutex                     mutex;
  static std::map<int, BAISharedDevice> known;
  const std::lock_guard<std::mutex>     lock(mutex);
  int                                   device;
  cudaDeviceProp                        properties;

  CUDATry(cudaGetDevice(&device));
  if (!known.count(device)) {
    CUDATry(cudaGetDeviceProperties(&properties, device));
    memcpy(known[device].bytes, &properties.uuid, sizeof(properties.uuid));
    known[device].kind = properties.multiProcessorCount << 16 | properties.major << 8 | properties.minor;
  }
  *identity = known[device];
  return BAIStatusOf(BAI_OK);
}

/* The error BAI_ERR_PEERS of a call what; clears the error of the run time */
static BAIStatus Refuse(const char *what, cudaError_t error)
{
  (void)cudaGetLastError();
  return BAIStatusBecause(BAI_ERR_PEERS, what, cudaGetErrorString(error));
}

static BAIStatus Create(size_t bytes, BAIShared *shared, BAISharedHandle *handle)
{
  enum {
    WHOLE = 1 << 21 /* size of the unit of memory that is shared as a whole, so nothing else may be in it */
  };
  Handle      h = {};
  cudaError_t error;

  if (!handle) {
    CUDATry(cudaMalloc(&shared->memory, bytes ? bytes : 1));
    shared->made = 1;
    return BAIStatusOf(BAI_OK);
  }
  h.bytes = (bytes + WHOLE - 1) / WHOLE * WHOLE;
  if (!h.bytes) h.bytes = WHOLE;
  CUDATry(cudaMalloc(&shared->memory, h.bytes));
  shared->bytes = h.bytes;
  shared->made  = 1;
  CUDATry(cudaMemset(shared->memory, 0, h.bytes)); /* before other ranks know of it */
  CUDATry(cudaDeviceSynchronize());
  error = cudaIpcGetMemHandle(&h.memory, shared->memory);
  if (error != cudaSuccess) return Refuse("cudaIpcGetMemHandle()", error);
  memcpy(handle, &h, sizeof(h));
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Open(const BAISharedHandle *handle, BAIShared *shared)
{
  Handle      h;
  cudaError_t error;

  memcpy(&h, handle, sizeof(h));
  error = cudaIpcOpenMemHandle(&shared->memory, h.memory, cudaIpcMemLazyEnablePeerAccess);
  if (error != cudaSuccess) {
    shared->memory = NULL;
    return Refuse("cudaIpcOpenMemHandle()", error);
  }
  shared->bytes = h.bytes;
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Close(BAIShared *shared)
{
  if (shared->made) CUDATry(cudaFree(shared->memory));
  else CUDATry(cudaIpcCloseMemHandle(shared->memory));
  return BAIStatusOf(BAI_OK);
}

/* Kernels of processes that share a GPU take turns of a seventh of a millisecond, and copies to and from the host do
   not. But on an H200 a copy of 19 kB from the host waits for a turn, unless it has two rows */
static BAIStatus Copy(void *to, const void *from, size_t bytes, void *stream)
{
  enum {
    SMALL = 1 << 16 /* bytes below which a copy has two rows */
  };
  const size_t       half = bytes / 2;
  const cudaStream_t s    = static_cast<cudaStream_t>(stream);

  if (bytes >= SMALL || bytes % 2) CUDATry(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s));
  else CUDATry(cudaMemcpy2DAsync(to, half, from, half, half, 2, cudaMemcpyDefault, s));
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Unpin(BAIShared *shared)
{
  shared->unpin = NULL;
  CUDATry(cudaHostUnregister(shared->memory));
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Pin(BAIShared *shared)
{
  const cudaError_t error = cudaHostRegister(shared->memory, shared->bytes, cudaHostRegisterDefault);

  if (error != cudaSuccess) return Refuse("cudaHostRegister()", error);
  shared->unpin = Unpin;
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Wait(void *stream)
{
  CUDATry(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
  return BAIStatusOf(BAI_OK);
}

extern "C" const BAISharedOps BAISharedCUDA = {.device = Device,
                                               .use    = BAICUDASetDevice,
                                               .create = Create,
                                               .open   = Open,
                                               .close  = Close,
                                               .copy   = Copy,
                                               .pin    = Pin,
                                               .wait   = Wait};
