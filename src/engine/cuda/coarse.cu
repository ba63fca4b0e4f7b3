/*
   The coarse space on a device: A_c = P^H A P, its inverse by cuSOLVER or LAPACK, and the correction in three small
   kernels. All sums are in the same order every time
*/
#include "../inverse.h"
#include "../scale.h"
#include "follow.h"
#include "iterate.h"
#include "plan.h"
#include "scan_sort.h"
#include "twolevel.h"
#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cuda/std/tuple>
#include <cusolverDn.h>
#include <limits.h>
#include <mutex>
#include <stdlib.h>
#include <string.h>
#include <vector>

enum {
  THREADS         = 256,
  PRODUCT_THREADS = 128,
  ROWS_OF_THREAD  = 4,
  AHEAD           = 16, /* entries of the inverse that a thread asks for before it knows what to multiply them with */
  FEW_UNKNOWNS =
    320 /* so many are LAPACK's on the host, which is done long before cuSOLVER is loaded, and takes no longer then */
};

static_assert(BAI_MOST_COARSE <= INT16_MAX, "16 bits hold the number of an aggregate");

static inline unsigned Grid(long long n)
{
  return (unsigned)((n + THREADS - 1) / THREADS);
}

static __device__ inline BAIScalar Conjugate(BAIScalar value)
{
#if defined(PETSC_USE_COMPLEX)
  return cuda::std::conj(value);
#else
  return value;
#endif
}

/* What kernels need of it */
typedef struct {
  int              aggregates, columns, width; /* width: of a row of A_c, in unknowns */
  const int16_t   *aggregate;
  const int       *first, *row;
  const BAIScalar *basis;
  const BAISingle *inverse;
} Space;

static Space SpaceOf(const BAICUDACoarse *c)
{
  return Space{c->aggregates, c->columns, c->all * c->columns, c->aggregate, c->first, c->row, c->basis, c->inverse};
}

/* Entries of A, and then those of B, in the columns that other ranks own; of each the aggregates of its columns,
 * counted over all ranks from mine on, and the functions there */
typedef struct {
  BAICSR           A;
  unsigned         nnz;
  const int16_t   *aggregate;
  int              mine;
  const BAIScalar *basis;
} Part;

typedef struct {
  Part part[2];
} Entries;

static __device__ inline BAIScalar Basis(const Space &c, int i, int k)
{
  return c.basis ? c.basis[(long long)i * c.columns + k] : BAIScalar(1);
}

/* Two numbers in one that is sorted by the first of them */
static __device__ inline BAIKey KeyOf(int first, unsigned second)
{
  return (BAIKey)first << 32 | second;
}

/* The pair of aggregates of each entry of a part, the first of which has that number; what belongs to none comes last
 */
static __global__ void Pairs(int n, Part part, unsigned first, Space c, int all, BAIKey *key)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), none = c.aggregates * all;

  if (i >= n) return;
  for (BAIInt k = part.A.i[i]; k < part.A.i[i + 1]; k++) {
    const int I = c.aggregate[i], J = part.aggregate[part.A.j[k]];

    key[first + k] = KeyOf(I < 0 || J < 0 ? none : I * all + part.mine + J, first + (unsigned)k);
  }
}

/* Of sorted keys: the entries, and each pair once, with where its entries begin */
static __global__ void SplitPairs(int n, const BAIKey *key, const int *distinct, unsigned *entry, unsigned *pair,
                                  int *pair_first)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k > n) return;
  if (k < n) entry[k] = (unsigned)key[k];
  if (k < n && distinct[k] == distinct[k + 1]) return;
  if (k < n) pair[distinct[k]] = (unsigned)(key[k] >> 32);
  pair_first[distinct[k]] = (int)k;
}

static __device__ inline int RowOfEntry(int n, const BAIInt *ai, BAIInt k)
{
  int low = 0, high = n;

  while (high - low > 1) {
    const int middle = low + (high - low) / 2;

    if (ai[middle] <= k) low = middle;
    else high = middle;
  }
  return low;
}

/* A warp a pair; a is row by row */
static __global__ void Galerkin(int n, Entries entries, Space c, int all, int pairs, const unsigned *pair,
                                const int *pair_first, const unsigned *entry, BAIScalar *a)
{
  __shared__ typename cub::WarpReduce<BAIScalar>::TempStorage storage[THREADS / BAI_LANES];
  const int lane = threadIdx.x % BAI_LANES, p = (int)((blockIdx.x * blockDim.x + threadIdx.x) / BAI_LANES);

  if (p >= pairs || pair[p] >= (unsigned)(c.aggregates * all)) return;
  const int I = (int)(pair[p] / (unsigned)all), J = (int)(pair[p] % (unsigned)all);

  for (int u = 0; u < c.columns; u++) {
    for (int v = 0; v < c.columns; v++) {
      BAIScalar sum = 0;

      for (int k = pair_first[p] + lane; k < pair_first[p + 1]; k += BAI_LANES) {
        const bool   other = entry[k] >= entries.part[0].nnz;
        const Part  &part  = entries.part[other];
        const BAIInt e     = (BAIInt)(entry[k] - (other ? entries.part[0].nnz : 0));

        sum += c.basis ? Conjugate(Basis(c, RowOfEntry(n, part.A.i, e), u)) * part.A.a[e] *
            part.basis[(long long)part.A.j[e] * c.columns + v]
                       : part.A.a[e];
      }
      sum = cub::WarpReduce<BAIScalar>(storage[threadIdx.x / BAI_LANES]).Sum(sum);
      __syncwarp();
      if (!lane) a[(long long)(I * c.columns + u) * c.width + J * c.columns + v] = sum;
    }
  }
}

/* One thread block. Where a function is zero everywhere its unknown stays alone, and the null space is lifted by the
 * mean of the diagonal, which is left in mean */
static __global__ void Regularize(int m, BAIScalar *a, BAIScalar *mean)
{
  __shared__ typename cub::BlockReduce<BAIScalar, THREADS>::TempStorage storage;
  BAIScalar                                                             sum = 0;

  for (int i = threadIdx.x; i < m; i += THREADS) {
    BAIScalar *d = a + (long long)i * m + i;

    sum += *d;
    if (*d == BAIScalar(0)) *d = BAIScalar(1);
  }
  sum = cub::BlockReduce<BAIScalar, THREADS>(storage).Sum(sum);
  if (!threadIdx.x) *mean = sum / BAIScalar((BAIReal)m);
}

/* What P makes the vector of all ones of, and the square of its norm: a thread block an unknown; and one thread block
 */
static __global__ void Ones(Space c, BAIScalar *z)
{
  __shared__ typename cub::BlockReduce<BAIScalar, THREADS>::TempStorage storage;
  const int I = (int)blockIdx.x / c.columns, k = (int)blockIdx.x % c.columns;
  BAIScalar sum = 0;

  for (int at = c.first[I] + (int)threadIdx.x; c.basis && at < c.first[I + 1]; at += THREADS)
    sum += Conjugate(Basis(c, c.row[at], k));
  sum = cub::BlockReduce<BAIScalar, THREADS>(storage).Sum(sum);
  if (!threadIdx.x) z[blockIdx.x] = c.basis ? sum : BAIScalar(1);
}

static __global__ void Norm2(int m, const BAIScalar *z, BAIReal *norm2)
{
  __shared__ typename cub::BlockReduce<BAIReal, THREADS>::TempStorage storage;
  BAIReal                                                             sum = 0;

  for (int i = threadIdx.x; i < m; i += THREADS) sum += BAIAbs2(z[i]);
  sum = cub::BlockReduce<BAIReal, THREADS>(storage).Sum(sum);
  if (!threadIdx.x) *norm2 = sum;
}

static __global__ void Lift(int m, BAIScalar *a, const BAIScalar *mean, const BAIScalar *z, const BAIReal *norm2)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k<(long long)m * m && * norm2> 0) a[k] += *mean * z[k / m] * Conjugate(z[k % m]) / BAIScalar(*norm2);
}

/* A thread block a row: the sum of its magnitudes */
static __global__ void RowSums(int m, const BAIScalar *a, BAIReal *sums)
{
  __shared__ typename cub::BlockReduce<BAIReal, THREADS>::TempStorage storage;
  BAIReal                                                             sum = 0;

  for (int j = threadIdx.x; j < m; j += THREADS) sum += BAIAbs(a[(long long)blockIdx.x * m + j]);
  sum = cub::BlockReduce<BAIReal, THREADS>(storage).Sum(sum);
  if (!threadIdx.x) sums[blockIdx.x] = sum;
}

static __global__ void Identity(int m, BAIScalar *a)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k < (long long)m * m) a[k] = BAIScalar(k / m == k % m ? 1 : 0);
}

static __global__ void Round(long long n, const BAIScalar *a, BAISingle *single)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k < n) single[k] = BAISingle(a[k]);
}

/* A thread block an unknown */
template <typename V>
static __global__ void Restrict(Space c, const V *r, BAIScalar *sums)
{
  __shared__ typename cub::BlockReduce<BAIScalar, THREADS>::TempStorage storage;
  const int I = (int)blockIdx.x / c.columns, k = (int)blockIdx.x % c.columns;
  BAIScalar sum = 0;

  BAIFollow();
#pragma unroll 4
  for (int at = c.first[I] + (int)threadIdx.x; at < c.first[I + 1]; at += THREADS) {
    const int i = c.row[at];

    sum += c.basis ? Conjugate(Basis(c, i, k)) * BAIScalar(r[i]) : BAIScalar(r[i]);
  }
  sum = cub::BlockReduce<BAIScalar, THREADS>(storage).Sum(sum);
  if (!threadIdx.x) sums[blockIdx.x] = sum;
}

/* The same of what r adds up to on runs of rows, where there is one function on an aggregate */
template <typename V>
static __global__ void __launch_bounds__(PRODUCT_THREADS)
  RestrictRuns(const int *first, const int *run, const V *run_sum, BAIScalar *sums)
{
  __shared__ typename cub::BlockReduce<BAIScalar, PRODUCT_THREADS>::TempStorage storage;
  const int                                                                     end = first[blockIdx.x + 1];
  int       at  = first[blockIdx.x] + (int)threadIdx.x;
  BAIScalar sum = 0;

  BAIFollow();
#pragma unroll 4
  for (; at < end; at += PRODUCT_THREADS) sum += BAIScalar(run_sum[run[at]]);
  sum = cub::BlockReduce<BAIScalar, PRODUCT_THREADS>(storage).Sum(sum);
  if (!threadIdx.x) sums[blockIdx.x] = sum;
}

/* A thread block an unknown; all that a thread reads is on its way at once, or nearly, and the inverse is so before
 * there is anything to multiply it with */
static __global__ void __launch_bounds__(PRODUCT_THREADS) Product(Space c, const BAIScalar *sums, BAIScalar *e)
{
  __shared__ typename cub::BlockReduce<BAIScalar, PRODUCT_THREADS>::TempStorage storage;
  const BAISingle *row = c.inverse + (long long)blockIdx.x * c.width;
  BAISingle        ahead[AHEAD];
  BAIScalar        sum = 0;
  int              j   = (int)threadIdx.x;

#pragma unroll
  for (int k = 0; k < AHEAD; k++)
    ahead[k] = j + k * PRODUCT_THREADS < c.width ? row[j + k * PRODUCT_THREADS] : BAISingle(0);
  BAIFollow();
#pragma unroll
  for (int k = 0; k < AHEAD; k++) {
    if (j < c.width) sum += BAIScalar(ahead[k]) * sums[j];
    j += PRODUCT_THREADS;
  }
#pragma unroll 8
  for (; j < c.width; j += PRODUCT_THREADS) sum += BAIScalar(row[j]) * sums[j];
  sum = cub::BlockReduce<BAIScalar, PRODUCT_THREADS>(storage).Sum(sum);
  if (!threadIdx.x) e[blockIdx.x] = sum;
}

template <typename V>
static __global__ void Prolong(int n, Space c, const BAIScalar *e, BAIReal omega, V *x)
{
  const int first = (int)(blockIdx.x * blockDim.x * ROWS_OF_THREAD + threadIdx.x);
  int       I[ROWS_OF_THREAD];
  V         xi[ROWS_OF_THREAD];

#pragma unroll
  for (int k = 0; k < ROWS_OF_THREAD; k++) {
    const int i = first + k * THREADS;

    I[k] = i < n ? (int)c.aggregate[i] : -1;
  }
  BAIFollow();
#pragma unroll
  for (int k = 0; k < ROWS_OF_THREAD; k++) {
    const int i = first + k * THREADS;

    xi[k] = i < n ? x[i] : V(0);
  }
#pragma unroll
  for (int k = 0; k < ROWS_OF_THREAD; k++) {
    const int i   = first + k * THREADS;
    BAIScalar sum = I[k] >= 0 && !c.basis ? e[I[k]] : BAIScalar(0);

    for (int u = 0; c.basis && I[k] >= 0 && u < c.columns; u++)
      sum += Basis(c, i, u) * e[(long long)I[k] * c.columns + u];
    if (I[k] >= 0) x[i] = V(BAIScalar(xi[k]) + omega * sum);
  }
}

/* A kernel that follows that before it */
template <typename... Parameters, typename... Arguments>
static cudaError_t Follow(BAIState state, void (*kernel)(Parameters...), unsigned grid, int threads,
                          Arguments... values)
{
  cuda::std::tuple<Parameters...> parameters(values...);

  return cuda::std::apply(
    [&](auto &...parameter) {
      void *arguments[] = {(void *)&parameter...};

      return BAILaunch((const void *)kernel, dim3(grid), threads, 0, state->stream, state->follows, arguments);
    },
    parameters);
}

/* What r sums up to is there already */
template <typename V>
static BAIStatus Add(BAIState state, const BAIScalar *sums, BAIReal omega, V *x)
{
  const BAICUDACoarse *c     = &state->coarse;
  const Space          space = SpaceOf(c);

  CUDATry(Follow(state, Product, (unsigned)c->m, PRODUCT_THREADS, space, sums, c->e));
  CUDATry(Follow(state, Prolong<V>, Grid((state->A.n + ROWS_OF_THREAD - 1) / ROWS_OF_THREAD), THREADS, state->A.n,
                 space, c->e, omega, x));
  return BAIStatusOf(BAI_OK);
}

/* Where the sums of own aggregates are among those of all */
static BAIScalar *OwnSums(const BAICUDACoarse *c)
{
  return c->sums + (size_t)c->mine * c->columns;
}

template <typename V>
static BAIStatus SumSwept(BAIState state, bool runs)
{
  const BAICUDACoarse *c = &state->coarse;

  if (runs && c->runs)
    CUDATry(Follow(state, RestrictRuns<V>, (unsigned)c->m, PRODUCT_THREADS, c->run_first, c->run,
                   static_cast<const V *>(c->run_sum), OwnSums(c)));
  else
    CUDATry(Follow(state, Restrict<V>, (unsigned)c->m, THREADS, SpaceOf(c), static_cast<const V *>(c->r), OwnSums(c)));
  return BAIStatusOf(BAI_OK);
}

/* Of the residuals that sweeps left, or of what they add up to on runs */
static BAIStatus Sum(BAIState state, bool runs)
{
  return state->A.single ? SumSwept<BAISingle>(state, runs) : SumSwept<BAIScalar>(state, runs);
}

static BAIStatus SumB(BAIState state)
{
  const BAICUDACoarse *c = &state->coarse;

  Restrict<<<c->m, THREADS, 0, state->stream>>>(SpaceOf(c), state->on_device[0], OwnSums(c));
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

static BAIStatus AddToX(BAIState state, const BAIScalar *sums, BAIReal omega)
{
  void *x = state->x[state->current];

  return state->A.single ? Add(state, sums, omega, static_cast<BAISingle *>(x))
                         : Add(state, sums, omega, static_cast<BAIScalar *>(x));
}

/* Own sums are there; those of other ranks may have to come */
static BAIStatus Correct(BAIState state, BAIReal omega)
{
  const BAIScalar *sums = state->coarse.sums;

  if (state->telling.peers) BAITry(BAICUDAExchangeSums(state, OwnSums(&state->coarse), &sums));
  return AddToX(state, sums, omega);
}

BAIStatus BAICUDACorrectSwept(BAIState state, bool runs, BAIReal omega)
{
  BAICUDACoarse *c = &state->coarse;

  c->swept_runs = runs;
  if (c->together && !state->telling.peers) return BAIStatusOf(BAI_OK); /* it is the caller's business */
  BAITry(Sum(state, runs));
  return Correct(state, omega);
}

/* Of b */
BAIStatus BAICUDACorrect(BAIState state, BAIReal omega)
{
  const BAICUDACoarse *c = &state->coarse;

  if (!c->m || !state->A.n) return BAIStatusOf(BAI_OK);
  BAITry(SumB(state));
  return Correct(state, omega * state->scale);
}

BAIStatus BAICUDARestricted(BAIState state, int of_b, BAIScalar *sums)
{
  const BAICUDACoarse *c = &state->coarse;

  if (!c->m) return BAIStatusOf(BAI_OK);
  BAITry(of_b ? SumB(state) : Sum(state, c->swept_runs));
  CUDATry(cudaMemcpyAsync(sums, OwnSums(c), (size_t)c->m * sizeof(BAIScalar), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  for (int k = 0; of_b && k < c->m; k++) sums[k] *= state->scale;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDAProlong(BAIState state, const BAIScalar *sums, BAIReal omega)
{
  const BAICUDACoarse *c = &state->coarse;

  if (!c->m) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(c->sums, sums, (size_t)c->all * c->columns * sizeof(BAIScalar), cudaMemcpyHostToDevice,
                          state->stream));
  return AddToX(state, c->sums, omega);
}

static cudaDataType TypeOf(void)
{
#if defined(PETSC_USE_COMPLEX)
  return sizeof(BAIReal) == 8 ? CUDA_C_64F : CUDA_C_32F;
#else
  return sizeof(BAIReal) == 8 ? CUDA_R_64F : CUDA_R_32F;
#endif
}

static BAIStatus SolverStatus(cusolverStatus_t status, const char *what)
{
  static const char why[] = "cuSOLVER failed";
  BAIStatus         s     = BAIStatusOf(status == CUSOLVER_STATUS_ALLOC_FAILED ? BAI_ERR_MEMORY : BAI_ERR_DEVICE);

  s.what = what;
  s.why  = why;
  return s;
}

#define SolverTry(...) \
  do { \
    const cusolverStatus_t solver_try_ = __VA_ARGS__; \
    if (solver_try_ != CUSOLVER_STATUS_SUCCESS) return SolverStatus(solver_try_, #__VA_ARGS__); \
  } while (0)

/* It takes long to create, so there is one for each device, for as long as the process lives */
static std::mutex         solver_mutex;
static cusolverDnHandle_t solvers[64];

static BAIStatus GetSolver(BAIState state, cusolverDnHandle_t *solver)
{
  int device;

  CUDATry(cudaGetDevice(&device));
  if (device >= 64) return SolverStatus(CUSOLVER_STATUS_NOT_SUPPORTED, "more than 64 devices");
  if (!solvers[device]) SolverTry(cusolverDnCreate(&solvers[device]));
  *solver = solvers[device];
  SolverTry(cusolverDnSetStream(*solver, state->stream));
  return BAIStatusOf(BAI_OK);
}

/* The largest sum of magnitudes in a row; not a number if one is none */
static BAIStatus NormOf(BAIState state, int m, const BAIScalar *a, double *norm)
{
  BAITemporary         sums;
  std::vector<BAIReal> copy((size_t)m);

  BAITry(sums.Allocate(state, (size_t)m * sizeof(BAIReal)));
  RowSums<<<m, THREADS, 0, state->stream>>>(m, a, (BAIReal *)sums.p);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(copy.data(), sums.p, (size_t)m * sizeof(BAIReal), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  *norm = 0;
  for (const BAIReal sum : copy) {
    if (!((double)sum <= *norm)) *norm = (double)sum;
  }
  return BAIStatusOf(BAI_OK);
}

/* inverse = a^{-1}, on the host */
static BAIStatus InvertOnHost(BAIState state, int m, BAIScalar *a, BAIScalar *inverse)
{
  std::vector<BAIScalar> copy((size_t)m * (size_t)m);

  CUDATry(cudaMemcpyAsync(copy.data(), a, copy.size() * sizeof(BAIScalar), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  BAITry(BAIInvert(m, copy.data()));
  CUDATry(
    cudaMemcpyAsync(inverse, copy.data(), copy.size() * sizeof(BAIScalar), cudaMemcpyHostToDevice, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

/* inverse = a^{-1}, both row by row: by columns they are the transposes. BAI_ERR_COARSE as for BAIInvert() */
static BAIStatus InvertOnDevice(BAIState state, int m, BAIScalar *a, BAIScalar *inverse)
{
  const std::lock_guard<std::mutex> lock(solver_mutex);
  cusolverDnHandle_t                solver;
  cusolverDnParams_t                parameters;
  size_t                            device_bytes, host_bytes;
  BAITemporary                      work, pivot, info;
  void                             *host;
  int                               result[2] = {0, 0};
  double                            norm, inverse_norm;
  cusolverStatus_t                  status;

  BAITry(NormOf(state, m, a, &norm));
  BAITry(GetSolver(state, &solver));
  SolverTry(cusolverDnCreateParams(&parameters));
  status = cusolverDnXgetrf_bufferSize(solver, parameters, m, m, TypeOf(), a, m, TypeOf(), &device_bytes, &host_bytes);
  host   = status == CUSOLVER_STATUS_SUCCESS ? malloc(host_bytes + 1) : NULL;
  if (status == CUSOLVER_STATUS_SUCCESS &&
      (!host || work.Allocate(state, device_bytes).code || pivot.Allocate(state, m * sizeof(int64_t)).code ||
       info.Allocate(state, sizeof(result)).code))
    status = CUSOLVER_STATUS_ALLOC_FAILED;
  if (status == CUSOLVER_STATUS_SUCCESS)
    status = cusolverDnXgetrf(solver, parameters, m, m, TypeOf(), a, m, (int64_t *)pivot.p, TypeOf(), work.p,
                              device_bytes, host, host_bytes, (int *)info.p);
  if (status == CUSOLVER_STATUS_SUCCESS) {
    Identity<<<Grid((long long)m * m), THREADS, 0, state->stream>>>(m, inverse);
    status = cusolverDnXgetrs(solver, parameters, CUBLAS_OP_N, m, m, TypeOf(), a, m, (const int64_t *)pivot.p, TypeOf(),
                              inverse, m, (int *)info.p + 1);
  }
  (void)cusolverDnDestroyParams(parameters);
  free(host);
  if (status != CUSOLVER_STATUS_SUCCESS) return SolverStatus(status, "cusolverDnXgetrf() or cusolverDnXgetrs()");
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(result, info.p, sizeof(result), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  if (result[0] || result[1]) return BAIStatusOf(BAI_ERR_COARSE);
  BAITry(NormOf(state, m, inverse, &inverse_norm));
  return BAIStatusOf(BAIHoldsInverse(norm, inverse_norm) ? BAI_OK : BAI_ERR_COARSE);
}

/* What kernels read of a part, and where it is kept meanwhile if it comes from the host */
class OnDevice {
public:
  Part part = {};

  BAIStatus Get(BAIState state, const BAIMatrix *M, const BAICSR *A)
  {
    const size_t rows = (size_t)M->n + 1;
    BAIInt       nnz;

    part.A = *A;
    if (M->memory == BAI_MEMORY_DEVICE) {
      CUDATry(cudaMemcpyAsync(&nnz, A->i + M->n, sizeof(nnz), cudaMemcpyDeviceToHost, state->stream));
      CUDATry(cudaStreamSynchronize(state->stream));
    } else nnz = A->i[M->n];
    if (nnz > INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);
    part.nnz = (unsigned)nnz;
    if (M->memory == BAI_MEMORY_DEVICE) return BAIStatusOf(BAI_OK);
    BAITry(i_.Allocate(state, rows * sizeof(BAIInt)));
    BAITry(j_.Allocate(state, (size_t)nnz * sizeof(BAIInt)));
    BAITry(a_.Allocate(state, (size_t)nnz * sizeof(BAIScalar)));
    CUDATry(cudaMemcpyAsync(i_.p, A->i, rows * sizeof(BAIInt), cudaMemcpyHostToDevice, state->stream));
    CUDATry(cudaMemcpyAsync(j_.p, A->j, (size_t)nnz * sizeof(BAIInt), cudaMemcpyHostToDevice, state->stream));
    CUDATry(cudaMemcpyAsync(a_.p, A->a, (size_t)nnz * sizeof(BAIScalar), cudaMemcpyHostToDevice, state->stream));
    part.A.i = (const BAIInt *)i_.p;
    part.A.j = (const BAIInt *)j_.p;
    part.A.a = (const BAIScalar *)a_.p;
    return BAIStatusOf(BAI_OK);
  }

private:
  BAITemporary i_, j_, a_;
};

/* All entries that A_c is made of */
static BAIStatus GetEntries(BAIState state, const BAIMatrix *M, OnDevice *A, OnDevice *B, Entries *entries)
{
  const BAICUDACoarse *c = &state->coarse;

  BAITry(A->Get(state, M, &M->A));
  A->part.aggregate = c->aggregate;
  A->part.mine      = c->mine;
  A->part.basis     = c->basis;
  if (c->ghost) BAITry(B->Get(state, M, &M->B));
  B->part.aggregate = c->ghost;
  B->part.basis     = c->ghost_basis;
  if ((long long)A->part.nnz + B->part.nnz > INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  *entries = Entries{
    {A->part, B->part}
  };
  return BAIStatusOf(BAI_OK);
}

/* Own rows of A_c, and P^H 1 */
static BAIStatus FindRows(BAIState state, const BAIMatrix *M, BAIScalar *a, BAIScalar *ones)
{
  const BAICUDACoarse *c = &state->coarse;
  OnDevice             A, B;
  Entries              entries;

  BAITry(GetEntries(state, M, &A, &B, &entries));
  CUDATry(cudaMemsetAsync(a, 0, (size_t)c->m * c->all * c->columns * sizeof(BAIScalar), state->stream));
  Galerkin<<<Grid((long long)c->pairs * BAI_LANES), THREADS, 0, state->stream>>>(state->A.n, entries, SpaceOf(c),
                                                                                 c->all, c->pairs, c->pair,
                                                                                 c->pair_first, c->entry, a);
  CUDATry(cudaGetLastError());
  Ones<<<c->m, THREADS, 0, state->stream>>>(SpaceOf(c), ones);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* From A_c and P^H 1 of all ranks that make up the space; a is overwritten */
static BAIStatus Invert(BAIState state, BAIScalar *a, const BAIScalar *ones)
{
  const BAICUDACoarse *c    = &state->coarse;
  const int            m    = c->all * c->columns;
  const long long      most = (long long)m * m, own = (long long)c->m * m;
  BAITemporary         inverse, mean, norm2;

  BAITry(inverse.Allocate(state, (size_t)most * sizeof(BAIScalar)));
  BAITry(mean.Allocate(state, sizeof(BAIScalar)));
  BAITry(norm2.Allocate(state, sizeof(BAIReal)));
  Regularize<<<1, THREADS, 0, state->stream>>>(m, a, (BAIScalar *)mean.p);
  CUDATry(cudaGetLastError());
  if (c->singular) {
    Norm2<<<1, THREADS, 0, state->stream>>>(m, ones, (BAIReal *)norm2.p);
    CUDATry(cudaGetLastError());
    Lift<<<Grid(most), THREADS, 0, state->stream>>>(m, a, (const BAIScalar *)mean.p, ones, (const BAIReal *)norm2.p);
    CUDATry(cudaGetLastError());
  }
  BAITry((m <= FEW_UNKNOWNS ? InvertOnHost : InvertOnDevice)(state, m, a, (BAIScalar *)inverse.p));
  Round<<<Grid(own), THREADS, 0, state->stream>>>(own,
                                                  (const BAIScalar *)inverse.p + (long long)c->mine * c->columns * m,
                                                  c->inverse);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDACoarseUpdate(BAIState state, const BAIMatrix *M)
{
  const BAICUDACoarse *c = &state->coarse;
  BAITemporary         a;

  if (!c->m || c->together) return BAIStatusOf(BAI_OK);
  BAITry(a.Allocate(state, (size_t)c->m * c->m * sizeof(BAIScalar)));
  BAITry(FindRows(state, M, (BAIScalar *)a.p, c->sums));
  return Invert(state, (BAIScalar *)a.p, c->sums);
}

BAIStatus BAICUDACoarseRows(BAIState state, const BAIMatrix *M, BAIScalar *rows)
{
  const BAICUDACoarse *c    = &state->coarse;
  const size_t         size = sizeof(BAIScalar), m = (size_t)c->m, all = (size_t)c->all * c->columns;
  BAITemporary         a;

  if (!c->m) return BAIStatusOf(BAI_OK);
  BAITry(a.Allocate(state, m * all * size));
  BAITry(FindRows(state, M, (BAIScalar *)a.p, c->sums));
  CUDATry(
    cudaMemcpy2DAsync(rows, (all + 1) * size, a.p, all * size, all * size, m, cudaMemcpyDeviceToHost, state->stream));
  CUDATry(
    cudaMemcpy2DAsync(rows + all, (all + 1) * size, c->sums, size, size, m, cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDACoarseInvert(BAIState state, BAIScalar *rows)
{
  const BAICUDACoarse *c    = &state->coarse;
  const size_t         size = sizeof(BAIScalar), m = (size_t)c->all * c->columns;
  BAITemporary         a;

  if (!c->m) return BAIStatusOf(BAI_OK);
  BAITry(a.Allocate(state, m * m * size));
  CUDATry(cudaMemcpy2DAsync(a.p, m * size, rows, (m + 1) * size, m * size, m, cudaMemcpyHostToDevice, state->stream));
  CUDATry(cudaMemcpy2DAsync(c->sums, size, rows + m, (m + 1) * size, size, m, cudaMemcpyHostToDevice, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream)); /* the rows are the caller's */
  return Invert(state, (BAIScalar *)a.p, c->sums);
}

/* Which entries add up to which entry of A_c */
static BAIStatus FindPairs(BAIState state, const BAIMatrix *M)
{
  BAICUDACoarse *c    = &state->coarse;
  const int      bits = 32 - __builtin_clz((unsigned)(c->aggregates * c->all) | 1);
  BAITemporary   keys, other, distinct;
  BAIKey        *sorted;
  OnDevice       A, B;
  Entries        entries;
  unsigned       first = 0;

  BAITry(GetEntries(state, M, &A, &B, &entries));
  const int n = (int)(A.part.nnz + B.part.nnz);
  BAITry(keys.Allocate(state, (size_t)n * sizeof(BAIKey)));
  BAITry(other.Allocate(state, (size_t)n * sizeof(BAIKey)));
  BAITry(distinct.Allocate(state, ((size_t)n + 1) * sizeof(int)));
  BAITry(BAICUDAAllocate(state, (size_t)n * sizeof(unsigned), &c->entry));
  for (const Part &part : entries.part) {
    if (part.nnz)
      Pairs<<<Grid(state->A.n), THREADS, 0, state->stream>>>(state->A.n, part, first, SpaceOf(c), c->all,
                                                             (BAIKey *)keys.p);
    CUDATry(cudaGetLastError());
    first += part.nnz;
  }
  BAITry(BAISortKeys(state, n, 32, 32 + bits, (BAIKey *)keys.p, (BAIKey *)other.p, &sorted));
  BAITry(BAICountDistinct(state, n, 32, sorted, (int *)distinct.p, &c->pairs));
  BAITry(BAICUDAAllocate(state, (size_t)c->pairs * sizeof(unsigned), &c->pair));
  BAITry(BAICUDAAllocate(state, ((size_t)c->pairs + 1) * sizeof(int), &c->pair_first));
  SplitPairs<<<Grid((long long)n + 1), THREADS, 0, state->stream>>>(n, sorted, (const int *)distinct.p, c->entry,
                                                                    c->pair, c->pair_first);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* The aggregate that all rows of a slice belong to, -1 if they belong to none, -2 if to several */
static __global__ void AggregatesOfSlices(BAISliced A, const int16_t *aggregate, int *of)
{
  const int slice = (int)((blockIdx.x * blockDim.x + threadIdx.x) / BAI_LANES), lane = threadIdx.x % BAI_LANES;

  if (slice >= A.tiles * A.tile_slices) return;
  const int row  = BAIOwnRowAt(A, slice / A.tile_slices, slice % A.tile_slices * BAI_LANES + lane),
            mine = row >= 0 ? aggregate[row] : -3; /* -3: no row */
  const int most = __reduce_max_sync(~0u, mine), least = __reduce_min_sync(~0u, mine == -3 ? INT_MAX : mine);

  if (!lane) of[slice] = most == -3 ? -1 : most == least ? most : -2;
}

/* A thread block a tile: the aggregates that its rows belong to and those that they read, which begin with its own; a
 * count of more than there is room for says that there is none */
static __global__ void FindSeen(BAISliced A, const int16_t *aggregate, const int *tile_first, int *count, int *seen)
{
  __shared__ int table[BAI_TWO_LEVEL_SEEN], used;
  const int      tile = (int)blockIdx.x, first = tile_first[tile], many = tile_first[tile + 1] - first;

  for (int k = threadIdx.x; k < BAI_TWO_LEVEL_SEEN; k += blockDim.x) table[k] = k < many ? first + k : -1;
  if (!threadIdx.x) used = many;
  __syncthreads();
  for (int i = threadIdx.x; i < A.tile_rows; i += blockDim.x) {
    const int      lane = i % BAI_LANES, row = BAIRowAt(A, tile, i);
    const BAISlice S       = A.slice[tile * A.tile_slices + i / BAI_LANES];
    const auto     outside = BAIOutsideOf(A, S, tile * A.tile_slices + i / BAI_LANES, lane);

    for (int w = 0; row >= 0 && w < outside.width; w++) {
      if (BAIValue(A, A.off_a, outside.a + (long long)w * outside.step) == BAIScalar(0)) continue;
      const int I = aggregate[BAIColumn(A, outside.by_delta, row, A.off_j[outside.j + (long long)w * outside.step_j])];

      for (int k = many; I >= 0 && (I < first || I >= first + many); k++) {
        if (k == BAI_TWO_LEVEL_SEEN) {
          used = BAI_TWO_LEVEL_SEEN + 1; /* the same from all */
          break;
        }
        const int there = atomicCAS(table + k, -1, I);

        if (there == -1) atomicAdd(&used, 1);
        if (there == -1 || there == I) break;
      }
    }
  }
  __syncthreads();
  for (int k = threadIdx.x; k < BAI_TWO_LEVEL_SEEN; k += blockDim.x) seen[tile * BAI_TWO_LEVEL_SEEN + k] = table[k];
  if (!threadIdx.x) count[tile] = used;
}

/* Whether slices, aggregates and tiles fit each other, and if so, what whole solves need */
static BAIStatus Nest(BAIState state)
{
  BAICUDACoarse   *c      = &state->coarse;
  const int        tiles  = state->A.tiles;
  const size_t     slices = (size_t)BAISlices(&state->A);
  const size_t     n      = (size_t)state->A.n;
  std::vector<int> of(slices), first((size_t)tiles + 1), count((size_t)tiles);
  int              next = 0;

  if (c->columns > 1 || !tiles || state->A.tile_rows > BAI_TWO_LEVEL_ROWS || state->nghost || c->together)
    return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(state, slices * sizeof(int), &c->slice_aggregate));
  AggregatesOfSlices<<<Grid((long long)slices * BAI_LANES), THREADS, 0, state->stream>>>(state->A, c->aggregate,
                                                                                         c->slice_aggregate);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(of.data(), c->slice_aggregate, slices * sizeof(int), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  for (size_t slice = 0; slice < slices; slice++) {
    if (slice % (size_t)state->A.tile_slices == 0) first[slice / (size_t)state->A.tile_slices] = next;
    if (of[slice] == -1) continue;
    if (of[slice] == next) next++;
    else if (of[slice] != next - 1 || (slice % (size_t)state->A.tile_slices == 0)) return BAIStatusOf(BAI_OK);
  }
  first[tiles] = next;
  if (next != c->aggregates) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(state, first.size() * sizeof(int), &c->tile_first));
  CUDATry(
    cudaMemcpyAsync(c->tile_first, first.data(), first.size() * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  BAITry(BAICUDAAllocate(state, first.size() * sizeof(int), &c->seen_count));
  BAITry(BAICUDAAllocate(state, (size_t)tiles * BAI_TWO_LEVEL_SEEN * sizeof(int), &c->seen));
  FindSeen<<<tiles, THREADS, 0, state->stream>>>(state->A, c->aggregate, c->tile_first, c->seen_count, c->seen);
  CUDATry(cudaGetLastError());
  CUDATry(
    cudaMemcpyAsync(count.data(), c->seen_count, (size_t)tiles * sizeof(int), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream)); /* of what is here, too */
  for (int seen : count) c->most_seen = seen > c->most_seen ? seen : c->most_seen;
  if (c->most_seen > BAI_TWO_LEVEL_SEEN) return BAIStatusOf(BAI_OK);
  BAITry(
    BAICUDAAllocate(state,
                    2 * (n * sizeof(BAIScalar) + (size_t)c->m * sizeof(BAIScalar) + (size_t)tiles * sizeof(BAIReal)),
                    &c->shares));
  return BAIStatusOf(BAI_OK);
}

/* Of n sorted keys: the lower numbers, and where each aggregate begins, and where the last one ends */
static __global__ void SplitByAggregate(int aggregates, int n, const BAIKey *key, int *of, int *first)
{
  const long long I   = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  int             low = 0, high = n;

  if (I < n) of[I] = (int)key[I];
  if (I > aggregates) return;
  while (low < high) {
    const int middle = low + (high - low) / 2;

    if (key[middle] >> 32 < (BAIKey)I) low = middle + 1;
    else high = middle;
  }
  first[I] = low;
}

/* Numbers in the order of their aggregates, those of each in the order in which they are, and where each aggregate
 * begins; keys are of both */
static BAIStatus SortByAggregate(BAIState state, int n, BAIKey *key, int *of, int *first)
{
  const int    aggregates = state->coarse.aggregates;
  BAITemporary other;
  BAIKey      *sorted;

  BAITry(other.Allocate(state, (size_t)n * sizeof(BAIKey)));
  BAITry(BAISortKeys(state, n, 32, 32 + 16, key, (BAIKey *)other.p, &sorted));
  SplitByAggregate<<<Grid(n > aggregates ? n : aggregates + 1), THREADS, 0, state->stream>>>(aggregates, n, sorted, of,
                                                                                             first);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* The lanes of each slice that begin a run, and how many these are */
static __global__ void BeginRuns(BAISliced A, const int16_t *aggregate, uint2 *runs, int *count)
{
  const int slice = (int)((blockIdx.x * blockDim.x + threadIdx.x) / BAI_LANES), lane = threadIdx.x % BAI_LANES;

  if (slice >= A.tiles * A.tile_slices) return;
  const int row  = BAIOwnRowAt(A, slice / A.tile_slices, slice % A.tile_slices * BAI_LANES + lane),
            mine = row >= 0 ? aggregate[row] : -1, before = __shfl_up_sync(~0u, mine, 1);
  const unsigned begins = __ballot_sync(~0u, !lane || mine != before);

  if (lane) return;
  runs[slice].x = begins;
  count[slice]  = __popc(begins);
}

/* The number of the first run of each slice, and the aggregate of each run; none is m */
static __global__ void NumberRuns(BAISliced A, const int16_t *aggregate, int m, const int *first, uint2 *runs,
                                  BAIKey *key)
{
  const int slice = (int)((blockIdx.x * blockDim.x + threadIdx.x) / BAI_LANES), lane = threadIdx.x % BAI_LANES;

  if (slice >= A.tiles * A.tile_slices) return;
  const int row         = BAIOwnRowAt(A, slice / A.tile_slices, slice % A.tile_slices * BAI_LANES + lane),
            mine        = row >= 0 ? aggregate[row] : -1;
  const unsigned begins = runs[slice].x;
  const int      run    = first[slice] + __popc(begins & ((1u << lane) - 1));

  if (!lane) runs[slice].y = (unsigned)run;
  if (!(begins >> lane & 1)) return;
  key[run] = KeyOf(mine < 0 ? m : mine, (unsigned)run);
}

/* Where neighbouring rows are of one aggregate, as in boxes of a grid, sweeps leave what r adds up to on runs of these
 */
static BAIStatus FindRuns(BAIState state)
{
  enum {
    LEAST_ROWS = 4 /* of a run, on average, with which it is worth while */
  };
  BAICUDACoarse *c      = &state->coarse;
  const int      slices = BAISlices(&state->A);
  BAITemporary   count, first, key;
  int            n;

  if (c->columns > 1 || !slices || !BAIOnceKernel(&state->A, BAI_FLAGS)) return BAIStatusOf(BAI_OK);
  BAITry(count.Allocate(state, ((size_t)slices + 1) * sizeof(int)));
  BAITry(first.Allocate(state, ((size_t)slices + 1) * sizeof(int)));
  BAITry(BAICUDAAllocate(state, (size_t)slices * sizeof(uint2), &c->runs));
  CUDATry(cudaMemsetAsync((int *)count.p + slices, 0, sizeof(int), state->stream));
  BeginRuns<<<Grid((long long)slices * BAI_LANES), THREADS, 0, state->stream>>>(state->A, c->aggregate, c->runs,
                                                                                (int *)count.p);
  CUDATry(cudaGetLastError());
  BAITry(BAIScan(state, slices + 1, (const int *)count.p, (int *)first.p));
  CUDATry(cudaMemcpyAsync(&n, (const int *)first.p + slices, sizeof(n), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  if (n > state->A.n / LEAST_ROWS) {
    BAICUDAFree(state, 0, c->runs);
    c->runs = NULL;
    return BAIStatusOf(BAI_OK);
  }
  BAITry(key.Allocate(state, (size_t)n * sizeof(BAIKey)));
  BAITry(BAICUDAAllocate(state, (size_t)n * BAIValueSize(&state->A), &c->run_sum));
  BAITry(BAICUDAAllocate(state, (size_t)n * sizeof(int), &c->run));
  BAITry(BAICUDAAllocate(state, ((size_t)c->aggregates + 1) * sizeof(int), &c->run_first));
  NumberRuns<<<Grid((long long)slices * BAI_LANES), THREADS, 0, state->stream>>>(state->A, c->aggregate, c->aggregates,
                                                                                 (const int *)first.p, c->runs,
                                                                                 (BAIKey *)key.p);
  CUDATry(cudaGetLastError());
  return SortByAggregate(state, n, (BAIKey *)key.p, c->run, c->run_first);
}

static __global__ void Narrow(int n, int m, const BAIInt *wide, int16_t *aggregate, BAIKey *key)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i >= n) return;
  aggregate[i] = (int16_t)wide[i];
  key[i]       = KeyOf(wide[i] < 0 ? m : (int)wide[i], (unsigned)i);
}

/* The aggregate of each row, and the rows of each aggregate; those of none come last */
static BAIStatus ListRows(BAIState state, const BAICoarse *coarse)
{
  BAICUDACoarse *c = &state->coarse;
  const int      n = state->A.n;
  BAITemporary   wide, key;

  BAITry(BAICUDAAllocate(state, (size_t)n * sizeof(*c->aggregate), &c->aggregate));
  BAITry(BAICUDAAllocate(state, (size_t)n * sizeof(int), &c->row));
  BAITry(BAICUDAAllocate(state, ((size_t)c->aggregates + 1) * sizeof(int), &c->first));
  BAITry(wide.Allocate(state, (size_t)n * sizeof(BAIInt)));
  BAITry(key.Allocate(state, (size_t)n * sizeof(BAIKey)));
  CUDATry(
    cudaMemcpyAsync(wide.p, coarse->aggregate, (size_t)n * sizeof(BAIInt), cudaMemcpyHostToDevice, state->stream));
  Narrow<<<Grid(n), THREADS, 0, state->stream>>>(n, c->aggregates, (const BAIInt *)wide.p, c->aggregate,
                                                 (BAIKey *)key.p);
  CUDATry(cudaGetLastError());
  return SortByAggregate(state, n, (BAIKey *)key.p, c->row, c->first);
}

static void Forget(BAIState state)
{
  BAICUDACoarse *c       = &state->coarse;
  void          *owned[] = {c->aggregate,  c->basis,      c->ghost, c->ghost_basis, c->first, c->row,
                            c->inverse,    c->sums,       c->e,     c->r,           c->runs,  c->run_sum,
                            c->run_first,  c->run,        c->pair,  c->pair_first,  c->entry, c->slice_aggregate,
                            c->tile_first, c->seen_count, c->seen,  c->shares};

  for (void *p : owned) {
    if (p) BAICUDAFree(state, 0, p);
  }
  memset(c, 0, sizeof(*c));
  memset(state->corrected, 0, sizeof(state->corrected));
  memset(state->two_level, 0, sizeof(state->two_level));
}

/* The aggregates of columns that other ranks own, and the functions there */
static BAIStatus TakeGhosts(BAIState state, const BAICoarse *coarse)
{
  BAICUDACoarse       *c = &state->coarse;
  const size_t         n = (size_t)state->nghost;
  std::vector<int16_t> narrow(n);

  if (!c->together || !n) return BAIStatusOf(BAI_OK);
  for (size_t i = 0; i < n; i++) narrow[i] = (int16_t)coarse->ghost[i];
  BAITry(BAICUDAAllocate(state, n * sizeof(*c->ghost), &c->ghost));
  CUDATry(cudaMemcpyAsync(c->ghost, narrow.data(), n * sizeof(*c->ghost), cudaMemcpyHostToDevice, state->stream));
  if (coarse->ghost_basis) {
    BAITry(BAICUDAAllocate(state, n * (size_t)c->columns * sizeof(BAIScalar), &c->ghost_basis));
    CUDATry(cudaMemcpyAsync(c->ghost_basis, coarse->ghost_basis, n * (size_t)c->columns * sizeof(BAIScalar),
                            cudaMemcpyHostToDevice, state->stream));
  }
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDACoarsen(BAIState state, const BAIMatrix *M, const BAICoarse *coarse)
{
  BAICUDACoarse *c = &state->coarse;
  const size_t   n = (size_t)state->A.n;

  Forget(state);
  if (!coarse->aggregates || !n) return BAIStatusOf(BAI_OK);
  c->aggregates  = (int)coarse->aggregates;
  c->columns     = (int)coarse->columns;
  c->singular    = coarse->singular;
  c->together    = coarse->gather != NULL;
  c->all         = c->together ? (int)coarse->all : c->aggregates;
  c->mine        = c->together ? (int)coarse->first : 0;
  const size_t m = (size_t)(c->aggregates * c->columns), all = (size_t)(c->all * c->columns);

  BAITry(BAICUDAAllocate(state, m * all * sizeof(BAISingle), &c->inverse));
  BAITry(BAICUDAAllocate(state, all * sizeof(BAIScalar), &c->sums));
  BAITry(BAICUDAAllocate(state, m * sizeof(BAIScalar), &c->e));
  BAITry(BAICUDAAllocate(state, n * BAIValueSize(&state->A), &c->r));
  BAITry(ListRows(state, coarse));
  if (coarse->basis) {
    BAITry(BAICUDAAllocate(state, n * (size_t)c->columns * sizeof(BAIScalar), &c->basis));
    CUDATry(cudaMemcpyAsync(c->basis, coarse->basis, n * (size_t)c->columns * sizeof(BAIScalar), cudaMemcpyHostToDevice,
                            state->stream));
  }
  BAITry(TakeGhosts(state, coarse));
  c->m = (int)m;
  BAITry(FindPairs(state, M)); /* waits for the copies */
  BAITry(Nest(state));
  BAITry(FindRuns(state));
  BAITry(BAICUDACoarseUpdate(state, M));
  for (int mode = 0; mode < 4; mode++) {
    if (state->plan[mode].kernel) BAITry(BAISweepPrepare(state, (BAIMode)mode));
  }
  return BAIStatusOf(BAI_OK);
}
