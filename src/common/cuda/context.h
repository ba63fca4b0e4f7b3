/*
   The device context of a solver: a stream, memory in the order of that stream, and how the host waits for it; and how
   calls of the run time are checked
*/
#pragma once

#include "../types.h"
#include <cuda_runtime.h>
#include <new>

#define CUDATry(...) \
  do { \
    const cudaError_t cuda_try_ = __VA_ARGS__; \
    if (cuda_try_ != cudaSuccess) return BAICUDAStatus(cuda_try_, #__VA_ARGS__); \
  } while (0)

/* The single precision of a BAIScalar */
#if defined(PETSC_USE_COMPLEX)
typedef cuda::std::complex<float> BAISingle;
#else
typedef float BAISingle;
#endif

enum {
  BAI_LANES        = 32, /* threads of a warp */
  BAI_PINNED_BYTES = 256 /* of a piece of pinned memory */
};

typedef struct {
  void  *p;
  size_t bytes;
} BAIOwned;

typedef struct {
  cudaStream_t stream;
  int          processors; /* multiprocessors of the device */
  int          follows;    /* kernels may be launched to follow each other without a gap, see follow.h */
  int          idle_wait;  /* the host sleeps in long waits */
  int          long_waits; /* the last waits that were long, one after the other: 0 to 2 */
  cudaEvent_t  reached;    /* what BAICUDAWait() waits for, if it may sleep */
  BAIOwned    *owned;      /* every allocation on the device */
  int          nowned;
  long long    bytes; /* of these allocations */
} BAIContext;

BAIStatus BAICUDAStatus(cudaError_t, const char *what);
/* Makes a device current: by its number, of which parameters may name more than there are, or, if that is negative, the
   one that is current */
BAIStatus BAICUDASetDevice(int device);
/* BAI_ERR_CAPTURE if the stream is being captured. On the legacy default stream this also fails while another one is
   captured that waits for it */
BAIStatus BAICUDAIsReady(void *stream);
BAIStatus BAIContextOpen(BAIContext *, int device, void *stream);
/* Gives back all that the context owns */
void BAIContextClose(BAIContext *);
/* Device memory that lives as long as the context; at least one byte, so that nothing is NULL */
BAIStatus BAICUDAAllocate(BAIContext *, size_t bytes, void *pointer);
void      BAICUDAFree(BAIContext *, size_t bytes, void *pointer);
/* Gives back all that was allocated since the context owned this many allocations, if nothing was freed since */
void BAICUDAFreeSince(BAIContext *, int owned);
/* Waits until all that is in the stream is done */
BAIStatus BAICUDAWait(BAIContext *);
/* A piece of host memory that kernels write, all zero; its type has at most BAI_PINNED_BYTES */
BAIStatus BAIPinnedGet(void *pointer);
void      BAIPinnedRestore(void *piece);
/* Allows a kernel this much shared memory, or as much as the largest solver of the process needs: no more, as it is
   taken from the cache, and no less, as other solvers still launch the kernel */
BAIStatus BAIAllowShared(const void *kernel, size_t bytes);

/* Device memory that goes when the function returns */
struct BAITemporary {
  void        *p = nullptr;
  cudaStream_t stream;

  BAIStatus Allocate(BAIContext *, size_t bytes); /* what there was goes */
  ~BAITemporary();
};

/* Copies numbers to the host, when all that is in the stream is done */
template <typename T>
static inline BAIStatus BAIDownload(BAIContext *context, size_t n, const T *from, T *to)
{
  CUDATry(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToHost, context->stream));
  CUDATry(cudaStreamSynchronize(context->stream));
  return BAIStatusOf(BAI_OK);
}

/* Copies numbers to memory of the device that lives as long as the context */
template <typename T>
static inline BAIStatus BAIUpload(BAIContext *context, size_t n, const T *from, T **to)
{
  BAITry(BAICUDAAllocate(context, n * sizeof(T), to));
  if (n) CUDATry(cudaMemcpyAsync(*to, from, n * sizeof(T), cudaMemcpyHostToDevice, context->stream));
  CUDATry(cudaStreamSynchronize(context->stream));
  return BAIStatusOf(BAI_OK);
}

/* The C++ library throws where memory of the host is short */
template <typename Call>
static BAIStatus BAICatch(Call call)
{
  try {
    return call();
  } catch (const std::bad_alloc &) {
    return BAIStatusOf(BAI_ERR_MEMORY);
  }
}

/* Thread blocks for this many threads; at least one */
static inline dim3 BAIGrid(long long threads, int block)
{
  return dim3((unsigned)((threads + block - 1) / block > 0 ? (threads + block - 1) / block : 1));
}
