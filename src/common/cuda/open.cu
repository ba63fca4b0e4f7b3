/*
   A context is opened: on its device, with what that can do
*/
#include "scan_sort.h"

/* Kernels follow each other if the device says that it has code that was written for one which knows how to, not what
   the driver may have made of older code */
BAIStatus BAIContextOpen(BAIContext *context, int device, void *stream)
{
  int version;

  *context            = BAIContext{};
  context->stream     = (cudaStream_t)stream;
  context->processors = 1;
  BAITry(BAICUDASetDevice(device));
  BAITry(BAICUDAIsReady(stream));
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&context->processors, cudaDevAttrMultiProcessorCount, device));
  BAITry(BAICodeVersion(&version));
  context->follows = version >= 900;
  return BAIStatusOf(BAI_OK);
}
