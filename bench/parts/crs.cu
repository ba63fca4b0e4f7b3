#include "crs.h"
#include <cuda_runtime.h>

#define CUDATry(...) \
  do { \
    const cudaError_t error_ = __VA_ARGS__; \
    if (error_ != cudaSuccess) return cudaGetErrorString(error_); \
  } while (0)

/* A thread a row, a thread block a block. Each update goes through the whole row, and looks for the diagonal entry */
static __global__ void IterateCRS(CRS m, const double *b, double *x, int local_iters)
{
  const int row = blockIdx.x * m.block_size + threadIdx.x;

  for (int iter = 0; iter < local_iters; iter++) {
    double sum = 0, diagonal = 1, y = 0;

    if (row < m.n) {
      for (int k = m.i[row]; k < m.i[row + 1]; k++) {
        if (m.j[k] == row) diagonal = m.a[k];
        sum += m.a[k] * __ldcg(x + m.j[k]);
      }
      y = __ldcg(x + row) + (b[row] - sum) / diagonal;
    }
    __syncthreads();
    if (row < m.n) __stcg(x + row, y);
    __syncthreads();
  }
}

/* The part outside the block is summed once, and the block's x stays in shared memory */
static __global__ void IterateSplit(CRS m, const double *b, double *x, int local_iters)
{
  extern __shared__ double xs[];
  const int                first = blockIdx.x * m.block_size, row = first + threadIdx.x;
  double                   s = 0, y = 0;

  if (row < m.n) {
    s = b[row];
    for (int k = m.off_i[row]; k < m.off_i[row + 1]; k++) s -= m.off_a[k] * __ldcg(x + m.off_j[k]);
    xs[threadIdx.x] = __ldcg(x + row);
  }
  __syncthreads();
  for (int iter = 0; iter < local_iters; iter++) {
    if (row < m.n) {
      const int diagonal = m.loc_i[row];

      y = s;
      for (int k = diagonal + 1; k < m.loc_i[row + 1]; k++) y -= m.loc_a[k] * xs[m.loc_j[k] - first];
      y /= m.loc_a[diagonal];
    }
    __syncthreads();
    if (row < m.n) xs[threadIdx.x] = y;
    __syncthreads();
  }
  if (row < m.n) __stcg(x + row, y);
}

/* Device memory that goes with it */
struct Memory {
  void *p[9] = {nullptr};
  int   n    = 0;

  template <typename T>
  cudaError_t Copy(T *&to, const T *from, size_t count)
  {
    cudaError_t error;

    to    = nullptr;
    error = cudaMalloc(&p[n], (count + !count) * sizeof(T));
    if (error != cudaSuccess) return error;
    to = static_cast<T *>(p[n++]);
    return cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~Memory()
  {
    for (int k = 0; k < n; k++) cudaFree(p[k]);
  }
};

static const char *Iterate(const CRS *m, const double *b, double *x, int local_iters, int its, double *seconds,
                           cudaEvent_t begin, cudaEvent_t end)
{
  const unsigned blocks = (unsigned)((m->n + m->block_size - 1) / m->block_size);
  const size_t   n      = (size_t)m->n;
  CRS            d      = *m;
  Memory         memory;
  double        *on_device[2];
  float          ms;

  if (m->i) {
    CUDATry(memory.Copy(d.i, m->i, n + 1));
    CUDATry(memory.Copy(d.j, m->j, (size_t)m->i[n]));
    CUDATry(memory.Copy(d.a, m->a, (size_t)m->i[n]));
  } else {
    CUDATry(memory.Copy(d.loc_i, m->loc_i, n + 1));
    CUDATry(memory.Copy(d.off_i, m->off_i, n + 1));
    CUDATry(memory.Copy(d.loc_j, m->loc_j, (size_t)m->loc_i[n]));
    CUDATry(memory.Copy(d.off_j, m->off_j, (size_t)m->off_i[n]));
    CUDATry(memory.Copy(d.loc_a, m->loc_a, (size_t)m->loc_i[n]));
    CUDATry(memory.Copy(d.off_a, m->off_a, (size_t)m->off_i[n]));
  }
  CUDATry(memory.Copy(on_device[0], b, n));
  CUDATry(memory.Copy(on_device[1], x, n));
  CUDATry(cudaEventRecord(begin));
  for (int it = 0; it < its; it++) {
    if (m->i) IterateCRS<<<blocks, (unsigned)m->block_size>>>(d, on_device[0], on_device[1], local_iters);
    else
      IterateSplit<<<blocks, (unsigned)m->block_size, (size_t)m->block_size * sizeof(double)>>>(d, on_device[0],
                                                                                                on_device[1],
                                                                                                local_iters);
    CUDATry(cudaGetLastError());
  }
  CUDATry(cudaEventRecord(end));
  CUDATry(cudaMemcpy(x, on_device[1], n * sizeof(double), cudaMemcpyDeviceToHost));
  CUDATry(cudaEventElapsedTime(&ms, begin, end));
  *seconds = 1e-3 * (double)ms;
  return nullptr;
}

const char *CRSIterateDevice(const CRS *m, const double *b, double *x, int local_iters, int its, double *seconds)
{
  cudaEvent_t begin, end;
  const char *failed;

  CUDATry(cudaEventCreate(&begin));
  CUDATry(cudaEventCreate(&end));
  failed = Iterate(m, b, x, local_iters, its, seconds, begin, end);
  CUDATry(cudaEventDestroy(begin));
  CUDATry(cudaEventDestroy(end));
  return failed;
}
