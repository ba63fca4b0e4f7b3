/*
   Pipelined conjugate gradients with Jacobi (Ghysels and Vanroose 2014), the whole solve in one cooperative launch. A
   thread has one row or a few, with what belongs to them of all vectors in registers, and of the matrix as well where
   the rows are short enough; else the matrix is read in every iteration.

   With D the diagonal of A, B = D^-1 A, u = D^-1 r, m = B u, q = B p and y = B q, an iteration is

     gamma = r.u, delta = m.r, and of those alpha and beta        one sum over all thread blocks, and while that is
   under way v = B m                                                      an exchange with the neighbours y = v + beta
   y, q = m + beta q, p = u + beta p, x += alpha p, u -= alpha q, m -= alpha y

   so that there is one exchange an iteration. These recurrences drift away from b - A x: now and then u, q, m and y are
   computed anew from x and p, which takes four exchanges.

   What is exchanged: exchange number e has a buffer for a vector and one for the thread blocks' shares of the sums, e &
   1, and the tag (e >> 1) & 1, which takes the place of the lowest bit of each number. A number with the right tag is
   new, so that the load that brings it is all that it takes: loads and stores are relaxed, of 64 bits each, and nothing
   else depends on their order.

   Why two buffers are enough: a thread block writes exchange e + 2 over e after it has the shares of all in exchange e
   + 1. A thread block publishes its share of e + 1 after a __syncthreads() to which all its threads come with what they
   wanted to read in exchange e. Why the tag is enough: before e is there, its place holds e - 2, whose tag is the other
   one, and e + 2 is not there before all have read e. Launches go on counting where the last one ended, and so find the
   other tag as well; before the first, all bits are set, which is not the tag of 0 and 1.

   No thread block waits for one that is not running: the launch is cooperative. Waiting is bounded nevertheless.
*/
#include "residentcg.h"
#include <cuda/atomic>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

namespace {
enum {
  LANES            = 32,
  KINDS            = 3,   /* of sums: gamma, delta, ||r||^2 */
  KEPT_THREADS     = 256, /* of a thread block, at most: each can have all the registers that there are */
  STREAMED_THREADS = 512,
  MOST_WARPS       = 16, /* that have rows, in a thread block */
  SHARES           = 5,  /* of each sum, that a lane reads */
  MOST_GRID        = SHARES * LANES,
  LEAST_ROWS       = 128, /* of a thread block, if there are as many */
  COPIES           = 4    /* of the shares, for others to read, as one place would be read by too many; at most 8 */
};

/* What is exchanged. The first three make good for rounding errors, when they are worth it: see Decide() */
enum Phase {
  SEND_X,
  SEND_P,
  SEND_U, /* also the first of all */
  SEND_Q,
  SEND_M
};

enum {
  GO_ON = -1
};

/* On the host, written by the device */
struct Outcome {
  double   rnorm2;
  int      its, reason, stalled;
  unsigned exchanges; /* where to go on counting */
};

/* A in compressed rows, and of it the rows from blockIdx.x * rows on to each thread block */
struct Problem {
  int           n, rows, lanes; /* lanes: that share a row where the matrix is not kept */
  const int    *i, *j;
  const double *a, *b;
  double       *x;
  double        rtol2, abstol2;
  int           max_it;
};

struct Exchange {
  double  *vector; /* two of n */
  double  *shares; /* two of copies * KINDS * gridDim.x */
  int      copies;
  unsigned first; /* number of an exchange */
  int     *stalled;
  Outcome *outcome;
};

struct Step {
  double alpha, beta;
  int    reason; /* or GO_ON */
  int    renew;
};

__device__ inline double Load(const double *x)
{
  return cuda::atomic_ref<double, cuda::thread_scope_device>(*const_cast<double *>(x)).load(cuda::memory_order_relaxed);
}

__device__ inline void Store(double *x, double value)
{
  cuda::atomic_ref<double, cuda::thread_scope_device>(*x).store(value, cuda::memory_order_relaxed);
}

__device__ inline double Tagged(double value, int tag)
{
  return __hiloint2double(__double2hiint(value), (__double2loint(value) & ~1) | tag);
}

/* 0 in its lowest bit if the value has this tag */
__device__ inline int IsOld(double value, int tag)
{
  return __double2loint(value) ^ tag;
}

/* For loops that wait: some ten seconds, or until another thread has given up */
class Patience {
  unsigned  spins = 0;
  long long start = 0;

public:
  __device__ bool Ends(const Exchange &e)
  {
    const long long cycles = 20000000000;

    if (++spins % 64) return false;
    if (!start) start = clock64();
    cuda::atomic_ref<int, cuda::thread_scope_device> stalled(*e.stalled);

    if (clock64() - start > cycles) {
      stalled.store(1, cuda::memory_order_relaxed);
      cuda::atomic_ref<int, cuda::thread_scope_system>(e.outcome->stalled).store(1, cuda::memory_order_relaxed);
    }
    return stalled.load(cuda::memory_order_relaxed);
  }
};

/*
   Of a number in this thread block's rows, or in the exchange's buffer: j is the row counted from the first one, or the
   complement of the row's number. In own all numbers have the tag already
*/
__device__ inline double Entry(const double *own, const double *others, int j)
{
  return j >= 0 ? own[j] : Load(others + ~j);
}

/* The matrix kept: LEN entries a row besides the diagonal, divided by that */
template <int LEN, int ROWS>
class Kept {
  static constexpr int TOGETHER = LEN * ROWS <= 24 ? ROWS
    : LEN * 2 <= 24 && ROWS % 2 == 0               ? 2
                                                   : 1; /* rows whose loads are on their way at the same time */
  double               a[ROWS][LEN];
  int                  j[ROWS][LEN];
  double               product[ROWS];

public:
  double d[ROWS];

  /*
     Columns ascend, and the diagonal is there: see Inspect(). Where there is no row or no entry, there is a zero times
     the first number. No load waits for another one of its kind
  */
  __device__ void Read(const Problem &p, int first, int rows)
  {
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const int local = threadIdx.x + k * (blockDim.x - LANES), row = first + min(local, rows - 1);
      const int begin = p.i[row], last = p.i[row + 1] - 1;
      int       before = 0; /* the diagonal */

#pragma unroll
      for (int w = 0; w < LEN; w++) before += p.j[min(begin + w, last)] < row;
      d[k] = p.a[begin + before];

      const double dinv = 1 / d[k];

#pragma unroll
      for (int w = 0; w < LEN; w++) {
        const int  at    = begin + w + (w >= before);
        const bool there = at <= last && local < rows;
        const int  col   = p.j[min(at, last)] - first;

        a[k][w] = there ? p.a[min(at, last)] * dinv : 0;
        j[k][w] = !there ? 0 : col >= 0 && col < rows ? col : ~(col + first);
      }
    }
  }

  /* False: waiting was given up */
  __device__ bool Multiply(const Problem &, const Exchange &e, int, int, const double *own, const double *others,
                           int tag, double *)
  {
#pragma unroll
    for (int k0 = 0; k0 < ROWS; k0 += TOGETHER) {
      double   value[TOGETHER][LEN];
      int      old = 0;
      Patience patience;

#pragma unroll
      for (int k = 0; k < TOGETHER; k++) {
#pragma unroll
        for (int w = 0; w < LEN; w++) value[k][w] = Entry(own, others, j[k0 + k][w]);
      }
#pragma unroll
      for (int k = 0; k < TOGETHER; k++) {
#pragma unroll
        for (int w = 0; w < LEN; w++) old |= IsOld(value[k][w], tag);
      }
      while (old & 1) {
        if (patience.Ends(e)) return false;
        old = 0;
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
#pragma unroll
          for (int w = 0; w < LEN; w++) {
            if (IsOld(value[k][w], tag) & 1) value[k][w] = Load(others + ~j[k0 + k][w]);
          }
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
#pragma unroll
          for (int w = 0; w < LEN; w++) old |= IsOld(value[k][w], tag);
        }
      }
#pragma unroll
      for (int k = 0; k < TOGETHER; k++) {
        double sum = own[threadIdx.x + (k0 + k) * (blockDim.x - LANES)], half = 0;

#pragma unroll
        for (int w = 0; w < LEN; w += 2) {
          sum += a[k0 + k][w] * value[k][w];
          half += a[k0 + k][w + 1] * value[k][w + 1];
        }
        product[k0 + k] = sum + half;
      }
    }
    return true;
  }

  __device__ double Product(int k, const double *) const
  {
    return product[k];
  }
};

/* The matrix is read again for each product, some lanes of a warp to a row; it is left in shared memory for the threads
 * that have the rows */
template <int ROWS>
class Streamed {
  enum {
    IN_FLIGHT = 4
  };

public:
  double d[ROWS];

  __device__ void Read(const Problem &p, int first, int rows)
  {
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const int local = threadIdx.x + k * (blockDim.x - LANES), row = first + local;

      d[k] = 0;
      for (int at = local < rows ? p.i[row] : 0; local < rows && at < p.i[row + 1]; at++) {
        if (p.j[at] == row) d[k] = p.a[at];
      }
    }
  }

  __device__ bool Multiply(const Problem &p, const Exchange &e, int first, int rows, const double *own,
                           const double *others, int tag, double *products)
  {
    const int per_warp = LANES / p.lanes, lane = threadIdx.x % p.lanes, step = (blockDim.x - LANES) / p.lanes;

    for (int base = threadIdx.x / LANES * per_warp; base < rows; base += step) { /* the same for all lanes */
      const int local = base + threadIdx.x % LANES / p.lanes;
      const int begin = local < rows ? p.i[first + local] : 0, end = local < rows ? p.i[first + local + 1] : 0;
      double    sum  = 0;
      bool      ends = false;

      for (int at = begin + lane; at < end && !ends; at += IN_FLIGHT * p.lanes) {
        double   value[IN_FLIGHT], a[IN_FLIGHT];
        int      j[IN_FLIGHT], old = 0;
        Patience patience;

#pragma unroll
        for (int w = 0; w < IN_FLIGHT; w++) {
          const int  k     = at + w * p.lanes;
          const bool there = k < end;
          const int  col   = there ? p.j[k] - first : local;

          a[w] = there ? p.a[k] : 0;
          j[w] = col >= 0 && col < rows ? col : ~(col + first);
        }
#pragma unroll
        for (int w = 0; w < IN_FLIGHT; w++) value[w] = Entry(own, others, j[w]);
#pragma unroll
        for (int w = 0; w < IN_FLIGHT; w++) old |= IsOld(value[w], tag);
        while (old & 1) {
          ends = patience.Ends(e);
          if (ends) break;
          old = 0;
#pragma unroll
          for (int w = 0; w < IN_FLIGHT; w++) {
            if (IsOld(value[w], tag) & 1) value[w] = Load(others + ~j[w]);
            old |= IsOld(value[w], tag);
          }
        }
#pragma unroll
        for (int w = 0; w < IN_FLIGHT; w++) sum += a[w] * value[w];
      }
      __syncwarp();
      for (int o = p.lanes / 2; o; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
      if (!lane && local < rows) products[local] = sum;
      if (__any_sync(~0u, ends)) return false;
    }
    return true;
  }

  /* Of a row that is there */
  __device__ double Product(int k, const double *products) const
  {
    return products[threadIdx.x + k * (blockDim.x - LANES)] / d[k];
  }
};

/* The sums of three numbers over the lanes of a warp: of the first in lanes 0 to 7, of the second in 8 to 15, of the
 * third in 16 to 23 */
__device__ inline double SumsOfWarp(double first, double second, double third)
{
  const int lane = threadIdx.x % LANES;
  double    sum  = lane & 16 ? third : first;

  sum += __shfl_xor_sync(~0u, lane & 16 ? first : third, 16);
  second += __shfl_xor_sync(~0u, second, 16);
  const double other = lane & 8 ? sum : second;

  sum = (lane & 8 ? second : sum) + __shfl_xor_sync(~0u, other, 8);
  for (int o = 4; o; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  return sum;
}

/* The last warp of a thread block has no rows: it sums the shares, and finds alpha and beta. All thread blocks do so
 * with the same numbers in the same order, and so agree */
class Judge {
  double tol2 = 0, largest = 0, rnorm2 = 0, inv_gamma = 0, inv_alpha = 0, gamma = 0, denominator = 1;
  int    reached = RESIDENTCG_CONVERGED_RTOL, renewed = 0, its = 0;

public:
  /* Publishes this thread block's share of the sums, and gets those of all. False: waiting was given up */
  __device__ bool Gather(const Exchange &e, int buffer, int tag, int copy, const double (*warps)[MOST_WARPS],
                         double sums[KINDS]) const
  {
    const int lane = threadIdx.x % LANES, kind = lane / 8, grid = gridDim.x;
    double    share = kind < KINDS ? warps[kind][lane % 8] + warps[kind][lane % 8 + 8] : 0;
    double    value[KINDS][SHARES];
    int       old  = 0;
    bool      ends = false;
    Patience  patience;

    for (int o = 4; o; o /= 2) share += __shfl_xor_sync(~0u, share, o);
    if (kind < KINDS && lane % 8 < e.copies)
      Store(e.shares + ((buffer * e.copies + lane % 8) * KINDS + kind) * grid + blockIdx.x, Tagged(share, tag));

    const double *from = e.shares + (buffer * e.copies + copy) * KINDS * grid;

#pragma unroll
    for (int s = 0; s < SHARES; s++) {
#pragma unroll
      for (int k = 0; k < KINDS; k++)
        value[k][s] = lane + s * LANES < grid ? Load(from + k * grid + lane + s * LANES) : Tagged(0, tag);
    }
#pragma unroll
    for (int s = 0; s < SHARES; s++) {
#pragma unroll
      for (int k = 0; k < KINDS; k++) old |= IsOld(value[k][s], tag);
    }
    while (__any_sync(~0u, old & 1)) {
      ends = __any_sync(~0u, patience.Ends(e));
      if (ends) break;
      old = 0;
#pragma unroll
      for (int s = 0; s < SHARES; s++) {
#pragma unroll
        for (int k = 0; k < KINDS; k++) {
          if (IsOld(value[k][s], tag) & 1) value[k][s] = Load(from + k * grid + lane + s * LANES);
        }
      }
#pragma unroll
      for (int s = 0; s < SHARES; s++) {
#pragma unroll
        for (int k = 0; k < KINDS; k++) old |= IsOld(value[k][s], tag);
      }
    }
#pragma unroll
    for (int k = 0; k < KINDS; k++) {
      sums[k] = 0;
#pragma unroll
      for (int s = 0; s < SHARES; s++) sums[k] += Tagged(value[k][s], 0);
    }
    const double sum = SumsOfWarp(sums[0], sums[1], sums[2]);

    for (int k = 0; k < KINDS; k++) sums[k] = __shfl_sync(~0u, sum, 8 * k);
    return !ends;
  }

  /*
     Rounding errors grow with the iterations. They are made good when ||r|| is 1e-4 of what it was the last time, if
     there were 100 iterations at least; then it reaches what is asked for where it would not without, and short solves
     do without
  */
  __device__ void Decide(const Problem &p, const double sums[KINDS], Step &step)
  {
    gamma  = sums[0];
    rnorm2 = sums[2];
    if (!its) {
      reached = p.abstol2 > p.rtol2 * rnorm2 ? RESIDENTCG_CONVERGED_ATOL : RESIDENTCG_CONVERGED_RTOL;
      tol2    = fmax(p.rtol2 * rnorm2, p.abstol2);
      largest = rnorm2;
    }
    const double beta = gamma * inv_gamma;

    denominator = sums[1] - beta * gamma * inv_alpha;
    step.alpha  = gamma / denominator;
    step.beta   = beta;
    step.renew  = rnorm2 < 1e-8 * largest && its - renewed >= 100;
    step.reason = GO_ON;
    if (isnan(rnorm2) || isinf(rnorm2)) step.reason = RESIDENTCG_NAN;
    else if (rnorm2 <= tol2) step.reason = reached;
    else if (its >= p.max_it) step.reason = RESIDENTCG_MAX_IT;
    else if (!(gamma > 0)) step.reason = RESIDENTCG_INDEFINITE_PC;
    else if (!(denominator > 0)) step.reason = RESIDENTCG_INDEFINITE_MAT;
    if (step.renew) {
      largest = rnorm2;
      renewed = its;
    }
  }

  /* What can be done when others are at work again */
  __device__ void Remember()
  {
    inv_gamma = 1 / gamma;
    inv_alpha = denominator * inv_gamma;
    its++;
  }

  __device__ void Report(const Exchange &e, unsigned number, int reason) const
  {
    e.outcome->rnorm2    = rnorm2;
    e.outcome->its       = its;
    e.outcome->reason    = reason;
    e.outcome->exchanges = number + 1;
  }
};

template <class Matrix, int ROWS, int THREADS>
__global__ void __launch_bounds__(THREADS, 1) Solve(Problem p, Exchange e)
{
  extern __shared__ double
                    own[]; /* what this thread block sends; behind it the products, if they are not in registers */
  __shared__ double warps[KINDS][MOST_WARPS];
  __shared__ Step   step;
  __shared__ int    gave_up;
  const int         owners = blockDim.x - LANES, first = blockIdx.x * p.rows, rows = min(p.rows, p.n - first),
            copy      = blockIdx.x % e.copies;
  const bool judges   = threadIdx.x >= owners;
  double    *products = own + p.rows;
  double     x[ROWS], u[ROWS], m[ROWS], s[ROWS], q[ROWS], y[ROWS]; /* s: the direction p */
  Matrix     A;
  Judge      judge;
  int        phase = SEND_U;
  bool       begun = false;

  if (threadIdx.x < KINDS * MOST_WARPS) warps[threadIdx.x / MOST_WARPS][threadIdx.x % MOST_WARPS] = 0;
  if (!threadIdx.x) gave_up = 0;
  if (!judges) {
    A.Read(p, first, rows);
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const int local = threadIdx.x + k * owners;

      x[k] = m[k] = s[k] = q[k] = y[k] = 0;
      u[k]                             = local < rows ? p.b[first + local] / A.d[k] : 0;
      if (local >= rows) A.d[k] = 0;
    }
  }
  __syncthreads();

  for (unsigned number = e.first;; number++) {
    const int buffer = number & 1, tag = number >> 1 & 1;
    double   *vector = e.vector + (size_t)buffer * p.n;

    if (!judges) {
      double gamma = 0, delta = 0, rnorm2 = 0;

#pragma unroll
      for (int k = 0; k < ROWS; k++) {
        const int    local = threadIdx.x + k * owners;
        const double value = Tagged(phase == SEND_M     ? m[k]
                                      : phase == SEND_X ? x[k]
                                      : phase == SEND_P ? s[k]
                                      : phase == SEND_U ? u[k]
                                                        : q[k],
                                    tag);

        if (local < rows) {
          Store(vector + first + local, value);
          own[local] = value;
        }
      }
#pragma unroll
      for (int k = 0; k < ROWS; k++) {
        const double r = A.d[k] * u[k];

        gamma += r * u[k];
        delta += r * m[k];
        rnorm2 += r * r;
      }
      const double sum  = SumsOfWarp(gamma, delta, rnorm2);
      const int    lane = threadIdx.x % LANES;

      if (lane % 8 == 0 && lane < 8 * KINDS) warps[lane / 8][threadIdx.x / LANES] = sum;
    }
    __syncthreads(); /* own and warps are there. What follows reads them, and writes products and step, */
    if (judges) {
      double sums[KINDS];

      if (!judge.Gather(e, buffer, tag, copy, warps, sums)) gave_up = 1;
      if (phase == SEND_M) {
        Step next;

        judge.Decide(p, sums, next);
        if (threadIdx.x == owners) step = next;
      }
    } else if (!A.Multiply(p, e, first, rows, own, vector, tag, products)) gave_up = 1;
    __syncthreads(); /* which are read from here to the first __syncthreads() of the next exchange only, as own and
                        warps are written only there */
    if (gave_up) return;

    if (phase == SEND_M) {
      const double alpha = step.alpha, beta = step.beta;

      if (step.reason != GO_ON) {
        if (!blockIdx.x && threadIdx.x == owners) judge.Report(e, number, step.reason);
        break;
      }
      if (!judges) {
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
          const double v = threadIdx.x + k * owners < rows ? A.Product(k, products) : 0;

          y[k] = v + beta * y[k];
          q[k] = m[k] + beta * q[k];
          s[k] = u[k] + beta * s[k];
          m[k] -= alpha * y[k];
          u[k] -= alpha * q[k];
          x[k] += alpha * s[k];
        }
      } else judge.Remember();
      if (step.renew) phase = SEND_X;
    } else {
      if (!judges) {
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
          const int    local = threadIdx.x + k * owners;
          const double v     = local < rows ? A.Product(k, products) : 0;

          if (phase == SEND_X && local < rows) u[k] = p.b[first + local] / A.d[k] - v;
          if (phase == SEND_P) q[k] = v;
          if (phase == SEND_U) m[k] = v;
          if (phase == SEND_Q) y[k] = v;
        }
      }
      phase = !begun ? SEND_M : phase + 1;
      begun = true;
    }
  }

  if (!judges) {
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const int local = threadIdx.x + k * owners;

      if (local < rows) p.x[first + local] = x[k];
    }
  }
}

/* *longest: entries of a row, the diagonal included; *wrong: columns that do not ascend, or a missing diagonal */
__global__ void Inspect(int n, const int *i, const int *j, int *longest, int *wrong)
{
  const int row      = blockIdx.x * blockDim.x + threadIdx.x;
  bool      diagonal = false, ascend = true;

  if (row >= n) return;
  for (int k = i[row]; k < i[row + 1]; k++) {
    diagonal |= j[k] == row;
    ascend &= k == i[row] || j[k] > j[k - 1];
  }
  atomicMax(longest, i[row + 1] - i[row]);
  if (!diagonal || !ascend) *wrong = 1;
}

/* A kernel, for rows of so many entries besides the diagonal */
struct Shape {
  int         length, rows, threads, products; /* rows: of a thread; threads: that have rows, at most */
  const void *kernel;
};

template <int LEN, int ROWS>
Shape KeptShape()
{
  return {LEN, ROWS, KEPT_THREADS - LANES, 0, (const void *)Solve<Kept<LEN, ROWS>, ROWS, KEPT_THREADS>};
}

template <int ROWS>
Shape StreamedShape()
{
  return {0x7fffffff, ROWS, STREAMED_THREADS - LANES, 1, (const void *)Solve<Streamed<ROWS>, ROWS, STREAMED_THREADS>};
}

/* The first that does is taken */
const Shape shapes[] = {KeptShape<4, 1>(),  KeptShape<4, 4>(),  KeptShape<6, 1>(),  KeptShape<6, 4>(),
                        KeptShape<8, 1>(),  KeptShape<8, 4>(),  KeptShape<12, 1>(), KeptShape<12, 2>(),
                        KeptShape<16, 1>(), KeptShape<16, 2>(), KeptShape<24, 1>(), KeptShape<32, 1>(),
                        StreamedShape<4>()};

int RoundUp(int count, int of)
{
  return (count + of - 1) / of;
}

/* Lanes to share a row: few, or rows of a few entries leave some idle; many, or one long row takes long */
int LanesOf(int rows, int threads, int mean, int longest)
{
  int       best  = 1;
  long long least = -1;

  for (int lanes = 1; lanes <= LANES; lanes *= 2) {
    const long long loads = (long long)RoundUp(rows * lanes, threads) * RoundUp(mean, 4 * lanes) +
      RoundUp(longest, 4 * lanes);

    if (least < 0 || loads < least) {
      best  = lanes;
      least = loads;
    }
  }
  return best;
}
} // namespace

struct ResidentCG_ {
  Shape        shape;
  Problem      problem;
  Exchange     exchange;
  int          grid, threads;
  size_t       shared;
  bool         fresh; /* nothing has been exchanged yet */
  cudaStream_t stream;
};

#define CUDATry(...) \
  do { \
    const cudaError_t cuda_try_ = __VA_ARGS__; \
    if (cuda_try_ != cudaSuccess) { \
      (void)cudaGetLastError(); \
      return cudaGetErrorString(cuda_try_); \
    } \
  } while (0)

/* rows: of a thread block, 0: as is best; copies: see COPIES */
static const char *SetUp(ResidentCG cg, int n, const int *i, const int *j, int rows, int copies, const char **unfit)
{
  int  device, grid, cooperative, nnz, inspected[2] = {0, 0};
  int *found;

  *unfit = NULL;
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&grid, cudaDevAttrMultiProcessorCount, device));
  CUDATry(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device));
  if (grid > MOST_GRID) grid = MOST_GRID;
  if (!cooperative) *unfit = "the device has no cooperative launch";
  if (n < 1) *unfit = "there are no rows";
  if (*unfit) return NULL;

  CUDATry(cudaMalloc(&cg->exchange.stalled, 3 * sizeof(int)));
  CUDATry(cudaMemsetAsync(cg->exchange.stalled, 0, 3 * sizeof(int), cg->stream));
  found = cg->exchange.stalled + 1;
  Inspect<<<RoundUp(n, 256), 256, 0, cg->stream>>>(n, i, j, found, found + 1);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(inspected, found, sizeof(inspected), cudaMemcpyDeviceToHost, cg->stream));
  CUDATry(cudaMemcpyAsync(&nnz, i + n, sizeof(nnz), cudaMemcpyDeviceToHost, cg->stream));
  CUDATry(cudaStreamSynchronize(cg->stream));
  if (inspected[1]) {
    *unfit = "a row has no diagonal, or its columns do not ascend";
    return NULL;
  }
  for (const Shape &shape : shapes) {
    if (!cg->shape.kernel && inspected[0] - 1 <= shape.length &&
        (long long)n <= (long long)grid * shape.threads * shape.rows && rows <= shape.threads * shape.rows)
      cg->shape = shape;
  }
  if (!cg->shape.kernel) {
    *unfit = "more rows than fit the GPU at once";
    return NULL;
  }
  if (rows < RoundUp(n, grid)) {
    rows = RoundUp(n, grid);
    if (rows < LEAST_ROWS) rows = n < LEAST_ROWS ? n : LEAST_ROWS;
  }
  cg->grid    = RoundUp(n, rows);
  cg->threads = (cg->shape.products ? cg->shape.threads : RoundUp(RoundUp(rows, cg->shape.rows), LANES) * LANES) +
    LANES;
  cg->shared          = sizeof(double) * (cg->shape.products ? 2 * rows : cg->shape.rows * (cg->threads - LANES));
  cg->problem.n       = n;
  cg->problem.rows    = rows;
  cg->problem.lanes   = LanesOf(rows, cg->shape.threads, nnz / n, inspected[0]);
  cg->exchange.copies = copies;
  CUDATry(cudaMalloc(&cg->exchange.vector, 2 * n * sizeof(double)));
  CUDATry(cudaMalloc(&cg->exchange.shares, 2 * (size_t)copies * KINDS * cg->grid * sizeof(double)));
  CUDATry(cudaMallocHost(&cg->exchange.outcome, sizeof(Outcome)));
  cg->fresh = true;
  return NULL;
}

static const char *Create(int n, const int *i, const int *j, int rows, int copies, void *stream, ResidentCG *cg,
                          const char **unfit)
{
  const char *error;

  *cg = (ResidentCG)calloc(1, sizeof(**cg));
  if (!*cg) return "out of memory";
  (*cg)->stream = (cudaStream_t)stream;
  error         = SetUp(*cg, n, i, j, rows, copies, unfit);
  if (error || *unfit) (void)ResidentCGDestroy(cg);
  return error;
}

extern "C" const char *ResidentCGCreate(int n, const int *i, const int *j, void *stream, ResidentCG *cg,
                                        const char **unfit)
{
  return Create(n, i, j, 0, COPIES, stream, cg, unfit);
}

extern "C" const char *ResidentCGSolve(ResidentCG cg, const int *i, const int *j, const double *a, const double *b,
                                       double *x, double rtol, double abstol, int max_it, ResidentCGResult *result)
{
  volatile Outcome *outcome     = cg->exchange.outcome;
  Problem          &p           = cg->problem;
  void             *arguments[] = {&cg->problem, &cg->exchange};

  p.i       = i;
  p.j       = j;
  p.a       = a;
  p.b       = b;
  p.x       = x;
  p.rtol2   = rtol * rtol;
  p.abstol2 = abstol * abstol;
  p.max_it  = max_it;
  if (cg->fresh) { /* all bits set: not the tag of the exchanges 0 and 1 */
    CUDATry(cudaMemsetAsync(cg->exchange.stalled, 0, sizeof(int), cg->stream));
    CUDATry(cudaMemsetAsync(cg->exchange.vector, 0xff, 2 * (size_t)p.n * sizeof(double), cg->stream));
    CUDATry(cudaMemsetAsync(cg->exchange.shares, 0xff,
                            2 * (size_t)cg->exchange.copies * KINDS * cg->grid * sizeof(double), cg->stream));
    cg->exchange.first = 0;
  }
  cg->fresh        = true; /* unless all goes well */
  outcome->stalled = 0;
  CUDATry(cudaLaunchCooperativeKernel(cg->shape.kernel, dim3(cg->grid), dim3(cg->threads), arguments, cg->shared,
                                      cg->stream));
  CUDATry(cudaStreamSynchronize(cg->stream));
  if (outcome->stalled) return "a thread block waited in vain for another";
  cg->fresh          = false;
  cg->exchange.first = outcome->exchanges;
  result->rnorm      = sqrt(outcome->rnorm2);
  result->its        = outcome->its;
  result->reason     = (ResidentCGReason)outcome->reason;
  return NULL;
}

extern "C" const char *ResidentCGDestroy(ResidentCG *cg)
{
  ResidentCG_ old;

  if (!*cg) return NULL;
  old = **cg;
  free(*cg);
  *cg = NULL;
  CUDATry(cudaFree(old.exchange.stalled));
  CUDATry(cudaFree(old.exchange.vector));
  CUDATry(cudaFree(old.exchange.shares));
  CUDATry(cudaFreeHost(old.exchange.outcome));
  return NULL;
}
