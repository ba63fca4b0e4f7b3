/* Opens a context on a device and finds its capabilities */
#include "scan.h"

/* Kernels can follow each other if the code was compiled for an architecture with this capability, and not translated
   by the driver from older code */
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
