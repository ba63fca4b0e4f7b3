/*
   Kernels that follow each other in a stream without a gap: one that is launched to follow begins while that before it
   still runs, and waits for its end where it calls BAIFollow(). Before that it may read what was there before the first
   of a row of such kernels, which is launched to follow nothing
*/
#pragma once

#include "context.h"
#include <nv/target>

/* Called by all threads, before they read or write what kernels of the row write */
static __device__ inline void BAIFollow(void)
{
  NV_IF_TARGET(NV_PROVIDES_SM_90, ({
                 cudaTriggerProgrammaticLaunchCompletion();
                 cudaGridDependencySynchronize();
               }));
}

/* How a kernel is launched; follows: what was launched before is a kernel of the row. The attribute is to live as
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

/* Launches a kernel with its arguments, to follow the one before where kernels can */
template <typename... Parameters, typename... Arguments>
static BAIStatus BAIFollowWith(const BAIContext &context, void (*kernel)(Parameters...), dim3 grid, int threads,
                               Arguments... arguments)
{
  cudaLaunchAttribute      following;
  const cudaLaunchConfig_t config = BAIConfigOf(grid, threads, 0, context.stream, context.follows, &following);

  CUDATry(cudaLaunchKernelEx(&config, kernel, arguments...));
  return BAIStatusOf(BAI_OK);
}
