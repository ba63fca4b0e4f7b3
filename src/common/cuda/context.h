/* The device context of a solver: a stream, memory in stream order, waits of the host; and checks of run time calls */
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
  BAI_LANES        = 32,  /* threads of a warp */
  BAI_PINNED_BYTES = 4096 /* size of a piece of pinned memory */
};

typedef struct {
  void  *p;
  size_t bytes;
} BAIOwned;

typedef struct {
  cudaStream_t stream;
  int          processors; /* number of multiprocessors */
  int          follows;    /* kernels may be launched to follow each other without a gap, see follow.h */
  int          idle_wait;  /* the host sleeps in long waits */
  int          long_waits; /* number of preceding waits that were long, up to 2 */
  cudaEvent_t  reached;    /* event of BAICUDAWait() if it may sleep */
  void        *pinned;     /* where BAICUDADownload() copies to; NULL before its first call */
  BAIOwned    *owned;      /* all allocations on the device */
  int          nowned;
  long long    bytes; /* size of these allocations */
} BAIContext;

/* The status for an error of the call what; clears the last error of CUDA */
BAIStatus BAICUDAStatus(cudaError_t, const char *what);
/* Makes a device current: by its number modulo the number of devices; a negative number keeps the current one */
BAIStatus BAICUDASetDevice(int device);
/* BAI_ERR_CAPTURE if the stream is being captured. On the legacy default stream it also fails while another stream is
   captured that waits for it */
BAIStatus BAICUDAIsReady(void *stream);
/* Initializes the context, makes the device current, and finds its capabilities; fails like BAICUDAIsReady() */
BAIStatus BAIContextOpen(BAIContext *, int device, void *stream);
/* Frees everything that the context owns */
void BAIContextClose(BAIContext *);
/* Allocates device memory that lives as long as the context, never NULL; pointer is the address of a pointer to it */
BAIStatus BAICUDAAllocate(BAIContext *, size_t bytes, void *pointer);
/* Frees such memory earlier, in stream order; bytes is not used */
void BAICUDAFree(BAIContext *, size_t bytes, void *pointer);
/* Frees the allocations since the context owned this number of them, if nothing was freed since */
void BAICUDAFreeSince(BAIContext *, int owned);
/* Waits until the work in the stream is done */
BAIStatus BAICUDAWait(BAIContext *);
/* Copies to the host, after all work in the stream. Up to BAI_PINNED_BYTES take a few microseconds less than with
   cudaMemcpyAsync(), which waits for the device twice if memory is not pinned */
BAIStatus BAICUDADownload(BAIContext *, size_t bytes, const void *from, void *to);
/* Gets a piece of zeroed host memory that kernels write, of BAI_PINNED_BYTES */
BAIStatus BAIPinnedGet(void *pointer);
void      BAIPinnedRestore(void *piece);
/* Allows a kernel this amount of shared memory, or that of the largest solver of the process: not more, as the cache
   would shrink, and not less, as other solvers still launch the kernel */
BAIStatus BAIAllowShared(const void *kernel, size_t bytes);

/* Device memory that is freed when the function returns */
struct BAITemporary {
  void        *p = nullptr;
  cudaStream_t stream;

  BAIStatus Allocate(BAIContext *, size_t bytes); /* previous memory is freed */
  ~BAITemporary();
};

/* BAICUDADownload() of n numbers */
template <typename T>
static inline BAIStatus BAIDownload(BAIContext *context, size_t n, const T *from, T *to)
{
  return BAICUDADownload(context, n * sizeof(T), from, to);
}

/* Copies numbers to device memory that lives as long as the context */
template <typename T>
static inline BAIStatus BAIUpload(BAIContext *context, size_t n, const T *from, T **to)
{
  BAITry(BAICUDAAllocate(context, n * sizeof(T), to));
  if (n) CUDATry(cudaMemcpyAsync(*to, from, n * sizeof(T), cudaMemcpyHostToDevice, context->stream));
  CUDATry(cudaStreamSynchronize(context->stream));
  return BAIStatusOf(BAI_OK);
}

/* Turns exceptions of the C++ library, which it throws if host memory is short, into a status */
template <typename Call>
static BAIStatus BAICatch(Call call)
{
  try {
    return call();
  } catch (const std::bad_alloc &) {
    return BAIStatusOf(BAI_ERR_MEMORY);
  }
}

/* Grid of thread blocks for a number of threads; at least one block */
static inline dim3 BAIGrid(long long threads, int block)
{
  return dim3((unsigned)((threads + block - 1) / block > 0 ? (threads + block - 1) / block : 1));
}
