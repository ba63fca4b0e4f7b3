/*
   Stands in for gpu.cu where there is no nvcc: tests that call this need a GPU, and do not run
*/
#include "gpu.h"

static const char *const none = "not in a build without CUDA";

const char *GPUGetMemory(size_t *used, size_t *available)
{
  *used = *available = 0;
  return none;
}

const char *GPULimitPool(void)
{
  return none;
}

const char *GPUUnlimitPool(void)
{
  return none;
}

const char *GPUTakeAll(void)
{
  return none;
}

const char *GPUGiveBack(void)
{
  return none;
}

const char *GPUStreamCreate(void **stream)
{
  *stream = NULL;
  return none;
}

const char *GPUStreamDestroy(void *stream)
{
  (void)stream;
  return none;
}

const char *GPUBeginCapture(void *stream, int global)
{
  (void)stream;
  (void)global;
  return none;
}

const char *GPUEndCapture(void *stream)
{
  (void)stream;
  return none;
}

void GPULose(void)
{
}
