/*
   Whether kernels can follow each other without a gap, which they can from compute capability 9.0 on
*/
#include "follow.h"

static __global__ void Nothing()
{
}

/* It is the code that was written for a device that says so, not what the driver may have made of older code */
BAIStatus BAICanFollow(int *can)
{
  cudaFuncAttributes attributes;

  CUDATry(cudaFuncGetAttributes(&attributes, Nothing));
  *can = attributes.ptxVersion >= 90;
  return BAIStatusOf(BAI_OK);
}
