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

/* follows: what was launched before is a kernel of the row */
static inline cudaError_t BAILaunch(const void *kernel, dim3 grid, int threads, size_t shared, cudaStream_t stream,
                                    bool follows, void **arguments)
{
  cudaLaunchAttribute following = {};
  cudaLaunchConfig_t  config    = {};

  following.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  following.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim                                       = grid;
  config.blockDim                                      = dim3((unsigned)threads);
  config.dynamicSmemBytes                              = shared;
  config.stream                                        = stream;
  config.attrs                                         = &following;
  config.numAttrs                                      = follows ? 1 : 0;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}
