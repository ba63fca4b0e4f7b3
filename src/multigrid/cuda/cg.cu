/*
   CG preconditioned by a cycle on a device, which computes what host/cg.c does

   An iteration is a cycle and two kernels: the product with the matrix and the sums that need it, then the vectors
   and the residual norm. The thread block that ends last computes the scalars. The host launches an iteration ahead and
   reads the norm from memory that it shares with the device; when the device has finished the solve, kernels launched
   ahead do nothing.
*/
#include "../../common/krylov_rules.h"
#include "../../common/scale.h"
#include "product.h"
#include "reduce.h"
#include <atomic>

enum {
  CAREFUL_ROOM = sizeof(BAIScalar) > 8 ? 1 : 2, /* arrays of RowsTimes() with rounding errors */
  SUMS         = 3                              /* largest number of sums of a kernel */
};

struct BAILevelsScalars_ {
  BAICGDirection direction;
  BAIReal        bnorm2, rnorm2, tol2, most2;
  BAIReal        scaled2, scaled_b2; /* squares of the norms of D^-1 r and D^-1 b, see Scaled() */
  BAIReal        rtol, abstol, dtol;
  int            its, done, reason;
  unsigned       arrived;
  BAIReal        factors[2];
};

/* The contribution of an entry to the real part of x^H y */
static __device__ inline BAIReal Dot(BAIScalar x, BAIScalar y)
{
  return BAIRealPart(BAIConj(x) * y);
}

/* Sets the factors of r and z in a cycle for a residual of this norm. scale: see ScaleOf() */
static __host__ __device__ inline void SetFactors(BAIReal scale, BAIReal norm, BAIReal (&factors)[2])
{
  factors[0] = scale > 0 && norm > 0 ? BAIScaleOf(ilogb((double)norm)) : 1;
  factors[1] = scale > 0 ? scale / factors[0] : 1;
}

/* w = A u; then r^H u, u^H w and u^H s determine the next direction and its step, or end the solve with a reason. u is
   scaled[] times the second factor. ALIKE: one row of each kind is read */
template <typename T, bool ALIKE>
static __global__ __launch_bounds__(BAI_SOLVE_THREADS, ALIKE ? BAI_LIKE_BLOCKS : 4) void Product(
  BAIRows A, BAIAlikeRows alike, BAIFarRows between, const __grid_constant__ BAIFarSums far, const T *scaled,
  const BAIScalar *r, const BAIScalar *s, BAIScalar *w, BAIReal *partial, BAILevelsScalars *scalars)
{
  BAI_ROOM_FOR_PRODUCTS(room, 1);
  BAIReal sum[SUMS] = {0, 0, 0};

  BAIFollow();
  if (scalars->done) return;
  const BAIReal factor = scalars->factors[1];

  for (long long first = (blockIdx.x * (long long)BAI_SOLVE_WARPS + threadIdx.x / BAI_TEAM) * BAI_TEAM; first < A.n;
       first += (long long)gridDim.x * BAI_SOLVE_THREADS) {
    const long long row = first + threadIdx.x % BAI_TEAM;
    const bool      is = row < A.n, ghosts = HasGhosts(between, row, A.n);
    const BAIScalar mine = is ? BAIScalar(scaled[row]) : BAIScalar(0), rest = is ? r[row] : BAIScalar(0),
                    old = is ? s[row] : BAIScalar(0);
    BAIScalar value     = 0;

    if constexpr (!ALIKE) value = RowsTimes<false>(A, first, scaled, room, NULL);
    if (!is) continue;
    if constexpr (ALIKE) value = LikeRowTimes<false>(alike, A, (int)row, scaled, NULL);
    if (ghosts) value = GhostsTimes<false, T>(between, row, value, NULL);
    value *= factor;
    const BAIScalar u = factor * mine;

    w[row] = value;
    sum[0] += Dot(rest, u);
    sum[1] += Dot(u, value);
    sum[2] += Dot(u, old);
  }
  if (!SumUp(sum, partial, &scalars->arrived, far)) return;
  if (BAINextDirection(&scalars->direction, sum[0], sum[1], sum[2])) return;
  scalars->reason = isfinite((double)sum[0]) && isfinite((double)sum[1]) ? BAI_LEVELS_INDEFINITE : BAI_LEVELS_NAN;
  scalars->done   = 1;
}

/* Reports progress to the host, which reads it when the sequence number arrives */
static __device__ inline void Tell(const BAILevelsScalars *s, BAILevelsProgress *progress, int sequence)
{
  progress->rnorm2    = (double)s->rnorm2;
  progress->bnorm2    = (double)s->bnorm2;
  progress->scaled2   = (double)s->scaled2;
  progress->scaled_b2 = (double)s->scaled_b2;
  progress->its       = s->its;
  progress->done      = s->done;
  progress->reason    = s->reason;
  __threadfence_system();
  *(volatile int *)&progress->sequence = sequence;
}

/* Adds d to x, or sets x to -d if minus */
static __global__ void Add(long long n, bool minus, const BAIScalar *d, BAIScalar *x)
{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (i < n) x[i] = minus ? -d[i] : x[i] + d[i];
}

BAIStatus BAINegate(BAILevelsState state, long long n, const BAIScalar *from, BAIScalar *to)
{
  if (!n) return BAIStatusOf(BAI_OK);
  Add<<<BAIGrid(n, BAI_SOLVE_THREADS), BAI_SOLVE_THREADS, 0, state->s.stream>>>(n, true, from, to);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Updates directions, with u as in Product(), x and r, computes the norm of r, decides whether the solve ends, and
   tells the host */
template <typename T>
static __global__ __launch_bounds__(BAI_SOLVE_THREADS) void Update(
  int n, BAIReal scale, const __grid_constant__ BAIFarSums far, BAIScalar *__restrict__ p, BAIScalar *__restrict__ s,
  BAIScalar *__restrict__ x, BAIScalar *__restrict__ r, const T *__restrict__ scaled, const BAIScalar *__restrict__ w,
  BAIReal *partial, BAILevelsScalars *scalars, BAILevelsProgress *progress, int sequence)
{
  BAIReal sum[1] = {0};

  BAIFollow();
  if (scalars->done) {
    if (!blockIdx.x && !threadIdx.x) Tell(scalars, progress, sequence);
    return;
  }
  const BAIReal alpha = scalars->direction.alpha, beta = scalars->direction.beta, factor = scalars->factors[1];

  for (long long i = blockIdx.x * (long long)BAI_SOLVE_THREADS + threadIdx.x; i < n;
       i += (long long)gridDim.x * BAI_SOLVE_THREADS) {
    const BAIScalar direction = factor * BAIScalar(scaled[i]) + beta * p[i], product = w[i] + beta * s[i],
                    rest = r[i] - alpha * product;

    p[i] = direction;
    s[i] = product;
    x[i] += alpha * direction;
    r[i] = rest;
    sum[0] += Dot(rest, rest);
  }
  if (!SumUp(sum, partial, &scalars->arrived, far)) return;
  scalars->rnorm2 = sum[0];
  scalars->its++;
  scalars->reason = BAIReasonToEnd(sum[0], scalars->tol2, scalars->most2);
  scalars->done   = scalars->reason != BAI_LEVELS_ITS;
  SetFactors(scale, sqrt(sum[0]), scalars->factors);
  Tell(scalars, progress, sequence);
}

/*
   r = b - A x, rounded once, or b if x is zero; ||r||, ||b||, and the tolerances; p and s become zero, so CG restarts
*/
static __global__ __launch_bounds__(BAI_SOLVE_THREADS) void Begin(
  BAIRows A, BAIAlikeRows alike, BAIFarRows between, const __grid_constant__ BAIFarSums far, const BAIScalar *b,
  const BAIScalar *x, int zero, BAIReal scale, BAIScalar *r, BAIScalar *p, BAIScalar *s, BAIReal *partial,
  BAILevelsScalars *scalars, BAILevelsProgress *progress, int sequence)
{
  BAI_ROOM_FOR_PRODUCTS(room, CAREFUL_ROOM);
  BAIReal sum[2] = {0, 0};

  for (long long first = (blockIdx.x * (long long)BAI_SOLVE_WARPS + threadIdx.x / BAI_TEAM) * BAI_TEAM; first < A.n;
       first += (long long)gridDim.x * BAI_SOLVE_THREADS) {
    BAIScalar       lost  = 0;
    const bool      whole = !zero && !alike.kind; /* warps do rows together */
    BAIScalar       value = whole ? RowsTimes<CAREFUL_ROOM == 2>(A, first, x, room, &lost) : BAIScalar(0);
    const long long row   = first + threadIdx.x % BAI_TEAM;

    if (row >= A.n) continue;
    if (!zero && !whole) value = LikeRowTimes<CAREFUL_ROOM == 2>(alike, A, (int)row, x, &lost);
    if (!zero && HasGhosts(between, row, A.n))
      value = GhostsTimes<CAREFUL_ROOM == 2, BAIScalar>(between, row, value, &lost);
    const BAIScalar rest = b[row] - value - lost;

    r[row] = rest;
    p[row] = 0;
    s[row] = 0;
    sum[0] += Dot(rest, rest);
    sum[1] += Dot(b[row], b[row]);
  }
  if (!SumUp(sum, partial, &scalars->arrived, far)) return;
  if (scalars->bnorm2 < 0) scalars->bnorm2 = sum[1];
  const BAIReal tolerance = BAIToleranceOf(scalars->rtol, scalars->abstol, sqrt(scalars->bnorm2));

  scalars->rnorm2       = sum[0];
  scalars->direction.ps = 0;
  scalars->tol2         = tolerance * tolerance;
  scalars->most2        = scalars->dtol * scalars->dtol * scalars->bnorm2;
  scalars->reason       = BAIReasonToEnd(sum[0], scalars->tol2, 0);
  scalars->done         = scalars->reason != BAI_LEVELS_ITS;
  SetFactors(scale, sqrt(sum[0]), scalars->factors);
  Tell(scalars, progress, sequence);
}

/* Computes the norms of D^-1 r and D^-1 b, where D is the diagonal of A. Rows without a diagonal entry do not count */
static __global__ __launch_bounds__(BAI_SOLVE_THREADS) void Scaled(BAIRows A, BAIAlikeRows alike,
                                                                   const __grid_constant__ BAIFarSums far,
                                                                   const BAIScalar *b, const BAIScalar *r,
                                                                   BAIReal *partial, BAILevelsScalars *scalars,
                                                                   BAILevelsProgress *progress, int sequence)
{
  BAIReal sum[2] = {0, 0};

  for (long long row = blockIdx.x * (long long)BAI_SOLVE_THREADS + threadIdx.x; row < A.n;
       row += (long long)gridDim.x * BAI_SOLVE_THREADS) {
    const BAIAlikeRow like = alike.kind ? alike.of[alike.kind[row]] : BAIAlikeRow{A.i[row], A.i[row + 1], (int)row};
    BAIReal           w    = 0;

    for (int e = like.begin; e < like.end && !(w > 0); e++)
      if (A.j[e] == like.row && A.a[e] != BAIScalar(0)) w = 1 / BAIAggregateMagnitude(A.a[e]);
    const BAIScalar wr = w * r[row], wb = w * b[row]; /* whose squares are in range even if w^2 is not */

    sum[0] += Dot(wr, wr);
    sum[1] += Dot(wb, wb);
  }
  if (!SumUp(sum, partial, &scalars->arrived, far)) return;
  scalars->scaled2   = sum[0];
  scalars->scaled_b2 = sum[1];
  Tell(scalars, progress, sequence);
}

/* Computes a norm of r, stored in rnorm2, and the factors of r and z for a cycle outside CG */
static __global__ __launch_bounds__(BAI_SOLVE_THREADS) void Norm(int n, BAIReal scale, const BAIScalar *r,
                                                                 BAIReal *partial, BAILevelsScalars *scalars)
{
  BAIReal sum[1] = {0};

  BAIFollow();
  for (long long i = blockIdx.x * (long long)BAI_SOLVE_THREADS + threadIdx.x; i < n;
       i += (long long)gridDim.x * BAI_SOLVE_THREADS) {
    const BAIReal w = BAIAggregateMagnitude(r[i]);

    sum[0] = w > sum[0] ? w : sum[0];
  }
  /* The sum of the maxima of all threads is as good a scale as the largest of them */
  if (!SumUp(sum, partial, &scalars->arrived, BAIFarSums{})) return;
  scalars->rnorm2 = sum[0];
  SetFactors(scale, sum[0], scalars->factors);
}

/* The grid for a number of threads, with at most so many thread blocks for each multiprocessor */
static dim3 Blocks(BAILevelsState state, long long threads, int blocks = BAI_SOLVE_WAVES)
{
  const long long most   = (long long)state->s.processors * blocks,
                  wanted = (threads + BAI_SOLVE_THREADS - 1) / BAI_SOLVE_THREADS;

  return dim3((unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most));
}

/* The scale of the matrix in the levels; 0: they have the precision of r, and nothing is scaled */
static BAIReal ScaleOf(BAILevelsState state)
{
  return state->single ? state->scale : 0;
}

/* Allocates the scalars and partial sums of a solve, at the first one */
static BAIStatus Prepare(BAILevelsState state)
{
  BAILevelsScalars scalars = {};

  if (state->scalars) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(&state->s, sizeof(scalars), &state->scalars));
  BAITry(BAICUDAAllocate(&state->s, (size_t)state->s.processors * BAI_SOLVE_WAVES * SUMS * sizeof(BAIReal),
                         &state->partial));
  BAITry(BAIDeviceListen(state));
  scalars.factors[0] = scalars.factors[1] = 1;
  CUDATry(cudaMemcpyAsync(state->scalars, &scalars, sizeof(scalars), cudaMemcpyHostToDevice, state->s.stream));
  state->factors = (BAIReal *)((char *)state->scalars + offsetof(BAILevelsScalars, factors));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Sets the factors of r and z in a cycle for a residual of this norm */
static BAIStatus TakeNorm(BAILevelsState state, BAIReal norm)
{
  BAIReal factors[2];

  SetFactors(ScaleOf(state), norm, factors);
  CUDATry(cudaMemcpyAsync(state->factors, factors, sizeof(factors), cudaMemcpyHostToDevice, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Replaces the factors of this rank by those for the largest norm of all ranks, which a cycle of all ranks needs. Waits
   for the device */
static BAIStatus AgreeOnFactors(BAILevelsState state)
{
  BAIReal norm;

  CUDATry(cudaMemcpyAsync(&norm, &state->scalars->rnorm2, sizeof(norm), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  if (state->ranks.largest(state->ranks.context, &norm)) return BAIDeviceGivenUp();
  return TakeNorm(state, norm);
}

/* Sets the factors for a residual that levels above have scaled: it needs no norm, but the scale of this matrix, which
   new values may change */
static BAIStatus TakeScale(BAILevelsState state)
{
  if (state->scaled == state->scale) return BAIStatusOf(BAI_OK);
  state->scaled = state->scale;
  return TakeNorm(state, 1);
}

BAIStatus BAIDeviceApplyTo(BAILevelsState state, const BAIScalar *r, BAIScalar *z)
{
  const int n = state->level[0].A.n;

  BAITry(Prepare(state));
  if (state->single && state->p.scaled) BAITry(TakeScale(state));
  else if (state->single) {
    BAITry(BAIFollowWith(state->s, Norm, Blocks(state, n), BAI_SOLVE_THREADS, n, ScaleOf(state), r, state->partial,
                         state->scalars));
    if (state->p.all) BAITry(AgreeOnFactors(state));
  }
  return BAIDeviceCycle(state, r, z, NULL, NULL);
}

struct Vectors {
  const BAIScalar *b;
  BAIScalar       *x, *r, *p, *s, *w;
  void            *u; /* in the precision of the cycle, see Product() */
  BAIScalar       *d; /* the correction to be added to x, or x itself if that was zero */
};

/* The matrix of products, which on one rank is the matrix of the finest level */
static BAIRows MatrixOf(BAILevelsState state)
{
  return state->p.all ? state->own : state->level[0].A;
}

/* Where kernels report what has this sequence number. Of two, as one more iteration may be running */
static BAILevelsProgress *ProgressOf(BAILevelsState state, int sequence)
{
  return &state->told->progress[sequence % 2];
}

/* Starts the kernels of an iteration: the cycle for r, with the result u in numbers of type T, products of A with u,
   and updates of x and r */
template <typename T>
static BAIStatus Iterate(BAILevelsState state, const Vectors &v, int sequence)
{
  const BAIRows A      = MatrixOf(state);
  const bool    alike  = sizeof(T) < sizeof(BAIScalar) && state->alike.kind;
  const int    *done   = (const int *)((const char *)state->scalars + offsetof(BAILevelsScalars, done));
  T *const      u      = static_cast<T *>(v.u);
  auto          kernel = Product<T, false>;

  if constexpr (sizeof(T) < sizeof(BAIScalar)) kernel = alike ? Product<T, true> : kernel;
  BAITry(BAIDeviceCycle(state, v.r, NULL, u, done));
  BAITry(BAIDeviceExchangeVector(state, state->single != 0, u, done));
  BAITry(BAIFollowWith(state->s, kernel, alike ? Blocks(state, A.n, BAI_LIKE_BLOCKS) : Blocks(state, A.n),
                       BAI_SOLVE_THREADS, A, state->alike, state->between, state->sums, u, v.r, v.s, v.w,
                       state->partial, state->scalars));
  return BAIFollowWith(state->s, Update<T>, Blocks(state, A.n), BAI_SOLVE_THREADS, A.n, ScaleOf(state), state->sums,
                       v.p, v.s, v.d, v.r, u, v.w, state->partial, state->scalars, ProgressOf(state, sequence),
                       sequence);
}

/* Waits until the device has reported this sequence number; BAI_ERR_ABSENT if another rank did not take part in a sum,
   which then is wrong */
static BAIStatus WaitFor(BAILevelsState state, int sequence)
{
  volatile int *told = &ProgressOf(state, sequence)->sequence;

  for (long spins = 1; *told < sequence; spins++) {
    if (spins % 4096) continue;
    const cudaError_t error = cudaStreamQuery(state->s.stream);

    if (error == cudaSuccess && *told < sequence)
      return BAIStatusBecause(BAI_ERR_DEVICE, "CG with many levels", "an iteration has left no norm");
    if (error != cudaSuccess && error != cudaErrorNotReady) return BAICUDAStatus(error, "CG with many levels");
    (void)cudaGetLastError();
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return BAIStatusOf((BAICode) * (const volatile int *)&state->told->stalled);
}

/* Computes the norms of D^-1 r and D^-1 b, and waits for them */
static BAIStatus FindScaled(BAILevelsState state, const Vectors &v, int sequence, BAILevelsSolution *s)
{
  const BAIRows            A        = MatrixOf(state);
  const BAILevelsProgress *progress = ProgressOf(state, sequence);

  Scaled<<<Blocks(state, A.n), BAI_SOLVE_THREADS, 0, state->s.stream>>>(A, state->alike, state->sums, v.b, v.r,
                                                                        state->partial, state->scalars,
                                                                        ProgressOf(state, sequence), sequence);
  CUDATry(cudaGetLastError());
  BAITry(WaitFor(state, sequence));
  s->scaled   = (BAIReal)sqrt(progress->scaled2);
  s->scaled_b = (BAIReal)sqrt(progress->scaled_b2);
  return BAIStatusOf(BAI_OK);
}

/* Computes the initial r, p and s and their norms, and waits for the norms */
static BAIStatus Start(BAILevelsState state, const Vectors &v, int zero, int sequence)
{
  const BAIRows A = MatrixOf(state);

  if (!zero) BAITry(BAIDeviceExchangeVector(state, false, v.x, NULL));
  Begin<<<Blocks(state, A.n), BAI_SOLVE_THREADS, 0, state->s.stream>>>(A, state->alike, state->between, state->sums,
                                                                       v.b, v.x, zero, ScaleOf(state), v.r, v.p, v.s,
                                                                       state->partial, state->scalars,
                                                                       ProgressOf(state, sequence), sequence);
  CUDATry(cudaGetLastError());
  return WaitFor(state, sequence);
}

/* Iterates until the device, the monitor or BAIStalls() ends the solve, or enough iterations are done. Sets its, rnorm
   and reason of s, whose start has been reported with number sequence; counts sequence up to the number of the last
   iteration launched */
static BAIStatus Run(BAILevelsState state, const Vectors &v, const BAITolerances *t, BAILevelsMonitor monitor,
                     void *context, int *sequence, BAILevelsSolution *s)
{
  const BAILevelsProgress *progress = ProgressOf(state, *sequence);
  int                      seen     = *sequence;                     /* the last iteration whose norm is known, */
  double                   norm2 = progress->rnorm2, before = norm2; /* its norm, and the one before */
  BAIStall                 stall;
  bool                     stalls = false;

  s->reason = BAI_LEVELS_ITS;
  BAIStallBegin(&stall, (int)s->its, norm2, 1);
  for (BAIInt launched = 0; s->its + launched < t->max_it;) {
    ++*sequence;
    BAITry(state->single ? Iterate<BAISingle>(state, v, *sequence) : Iterate<BAIScalar>(state, v, *sequence));
    launched++;
    /* Launch one iteration ahead, unless the norm is likely to meet the tolerance in this one. All ranks, whose kernels
       wait for each other, know the same norms, and so launch the same iterations */
    const bool soon = monitor || (norm2 > 0 && norm2 * norm2 <= 4 * before * (double)state->tol2);
    const int  wait = soon ? *sequence : *sequence - 1;

    if (wait <= seen) continue;
    BAITry(WaitFor(state, wait));
    progress = ProgressOf(state, wait);
    seen     = wait;
    before   = norm2;
    norm2    = progress->rnorm2;
    if (monitor && monitor(context, (BAIInt)progress->its, (BAIReal)sqrt(norm2))) break;
    if (progress->done) break;
    /* otherwise the monitor checks it */
    stalls = !monitor && !t->fixed && BAIStalls(&stall, progress->its, norm2);
    if (stalls) break;
  }
  BAITry(WaitFor(state, *sequence));
  progress = ProgressOf(state, *sequence);
  s->its   = (BAIInt)progress->its;
  s->rnorm = (BAIReal)sqrt(progress->rnorm2);
  if (progress->done) s->reason = (BAILevelsReason)progress->reason;
  else if (stalls) s->reason = BAI_LEVELS_STALLED;
  return BAIStatusOf(BAI_OK);
}

/* Sets the norm of r at which iterations end. For the first run Begin() has done so, and found that it is not met;
   later BAITestEnds() decides */
static BAIStatus SetGoal(BAILevelsState state, BAIReal goal, bool first)
{
  const BAIReal goal2 = goal * goal;
  const int     no    = 0;

  state->tol2 = goal2;
  if (first) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(&state->scalars->tol2, &goal2, sizeof(goal2), cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaMemcpyAsync(&state->scalars->done, &no, sizeof(no), cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceConjugateGradients(BAILevelsState state, const BAIScalar *b, BAIScalar *x, int guess_zero,
                                      const BAITolerances *t, BAILevelsMonitor monitor, void *context,
                                      BAILevelsSolution *s)
{
  const size_t     n       = (size_t)state->level[0].A.n;
  BAILevelsScalars scalars = {};
  Vectors          v;
  int              sequence = 0;

  *s = BAILevelsSolution{};
  BAITry(Prepare(state));
  BAIScalar *&work = state->work;

  if (!work) BAITry(BAICUDAAllocate(&state->s, n * (4 * sizeof(BAIScalar) + BAISizeOfNumbers(state)), &work));
  v                  = {b, x, work, work + n, work + 2 * n, work + 3 * n, work + 4 * n, x};
  scalars.rtol       = t->rtol;
  scalars.abstol     = t->abstol;
  scalars.dtol       = t->dtol;
  scalars.bnorm2     = t->bnorm2;
  scalars.factors[0] = scalars.factors[1] = 1;
  CUDATry(cudaStreamSynchronize(state->s.stream)); /* no kernel may report any longer */
  for (BAILevelsProgress &progress : state->told->progress) progress.sequence = 0;
  CUDATry(cudaMemcpyAsync(state->scalars, &scalars, sizeof(scalars), cudaMemcpyHostToDevice, state->s.stream));
  if (!state->rows_known && state->single) BAITry(BAILikeRows(state, MatrixOf(state)));
  state->rows_known = true;
  if (guess_zero) CUDATry(cudaMemsetAsync(x, 0, n * sizeof(*x), state->s.stream));
  BAITry(Start(state, v, guess_zero, ++sequence));
  const BAILevelsProgress *progress = ProgressOf(state, sequence);

  s->bnorm  = (BAIReal)sqrt(progress->bnorm2);
  s->rnorm0 = s->rnorm    = (BAIReal)sqrt(progress->rnorm2);
  s->reason               = (BAILevelsReason)progress->reason;
  const BAIReal tolerance = BAIToleranceOf(t->rtol, t->abstol, s->bnorm);

  BAITest test;

  BAITestBegin(&test, tolerance, s->rnorm);
  if (monitor && monitor(context, 0, s->rnorm)) return BAIStatusOf(BAI_OK);
  while (s->reason == BAI_LEVELS_ITS && s->its < t->max_it) {
    BAITry(SetGoal(state, (BAIReal)test.goal, !s->its));
    if (v.d == x && (!guess_zero || s->its) && !monitor) { /* x is rounded once, when the whole correction is added */
      if (!state->correction) BAITry(BAICUDAAllocate(&state->s, n * sizeof(BAIScalar), &state->correction));
      v.d = state->correction;
    }
    if (v.d != x) CUDATry(cudaMemsetAsync(v.d, 0, n * sizeof(BAIScalar), state->s.stream));
    BAITry(Run(state, v, t, monitor, context, &sequence, s));
    if (v.d != x)
      Add<<<BAIGrid((long long)n, BAI_SOLVE_THREADS), BAI_SOLVE_THREADS, 0, state->s.stream>>>((long long)n, false, v.d,
                                                                                               x);
    BAITry(Start(state, v, 0, ++sequence));
    s->rnorm = (BAIReal)sqrt(ProgressOf(state, sequence)->rnorm2);
    if (t->scaled > 0) BAITry(FindScaled(state, v, ++sequence, s));
    if (BAITestRun(&test, s->rnorm, s->scaled, BAIScaledLimit(t, t->abstol, tolerance, s->scaled_b), &s->reason)) break;
    s->reason = BAI_LEVELS_ITS;
  }
  return BAIStatusOf(BAI_OK);
}
