/*
   What tests do to a GPU behind the library's back. Functions return NULL, or what failed. gpu.cu has them, gpu_none.c
   stands in where there is no nvcc
*/
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory in use of the pool that the library and PETSc take theirs from, and what is free on the device, whoever uses
 * the rest */
const char *GPUGetMemory(size_t *used, size_t *available);

/* The pool can grow no more, until it can again: what it has is given back first, and anything larger than a few MB is
 * then out of memory */
const char *GPULimitPool(void);
const char *GPUUnlimitPool(void);

/* Takes all memory of the device but a few MB, and gives it back */
const char *GPUTakeAll(void);
const char *GPUGiveBack(void);

/* A cudaStream_t that waits for no other */
const char *GPUStreamCreate(void **stream);
const char *GPUStreamDestroy(void *stream);

/* Captures a stream into a graph that is thrown away; with global, no thread of the process may make unsafe calls
 * meanwhile */
const char *GPUBeginCapture(void *stream, int global);
const char *GPUEndCapture(void *stream);

/* A kernel writes where there is no memory: nothing works on the device from then on, in this process */
void GPULose(void);

#ifdef __cplusplus
}
#endif
