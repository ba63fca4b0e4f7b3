/*
   Kernels that follow each other in a stream without a gap: a following kernel begins while its predecessor still runs,
   and waits for its end in BAIFollow(). Before that it may read only data that existed before the first kernel of the
   sequence, which is launched normally
*/
#pragma once

#include "context.h"
#include <nv/target>

/* All threads call it before they read or write data that kernels of the sequence write */
static __device__ inline void BAIFollow(void)
{
  NV_IF_TARGET(NV_PROVIDES_SM_90, ({
                 cudaTriggerProgrammaticLaunchCompletion();
                 cudaGridDependencySynchronize();
               }));
}

/* The launch configuration of a kernel; follows: its predecessor is a kernel of the sequence. attribute must live as
   long */
static inline cudaLaunchConfig_t BAIConfigOf(dim3 grid, int threads, size_t shared, cudaStream_t stream, bool follows,
                                             cudaLaunchAttribute *attribute)
{
  cudaLaunchConfig_t config = {};

  *attribute                                            = {};
  attribute->id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute->val.programmaticStreamSerializationAllowed = 1;
  config.gridDim                                        = grid;
  config.blockDim                                       = dim3((unsigned)threads);
  config.dynamicSmemBytes                               = shared;
  config.stream                                         = stream;
  config.attrs                                          = attribute;
  config.numAttrs                                       = follows ? 1 : 0;
  return config;
}

static inline cudaError_t BAILaunch(const void *kernel, dim3 grid, int threads, size_t shared, cudaStream_t stream,
                                    bool follows, void **arguments)
{
  cudaLaunchAttribute      following;
  const cudaLaunchConfig_t config = BAIConfigOf(grid, threads, shared, stream, follows, &following);

  return cudaLaunchKernelExC(&config, kernel, arguments);
}

/* Launches a kernel to follow its predecessor, if the device can */
template <typename... Parameters, typename... Arguments>
static BAIStatus BAIFollowWith(const BAIContext &context, void (*kernel)(Parameters...), dim3 grid, int threads,
                               Arguments... arguments)
{
  cudaLaunchAttribute      following;
  const cudaLaunchConfig_t config = BAIConfigOf(grid, threads, 0, context.stream, context.follows, &following);

  CUDATry(cudaLaunchKernelEx(&config, kernel, arguments...));
  return BAIStatusOf(BAI_OK);
}
