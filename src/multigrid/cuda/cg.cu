/*
   CG with a cycle as its preconditioner on a device. What it computes is in host/levels.c

   An iteration is a cycle and two kernels: the product with the matrix and the sums that need it, then the vectors
   and the residual norm. The thread block that is done last finds the scalars. The host launches an iteration ahead,
   and learns the norm from memory that it shares with the device; once the device says that it is done, what was
   launched does nothing.
*/
#include "../../common/krylov_rules.h"
#include "levels.h"
#include "../../common/cuda/spin.h"
#include "../../common/scale.h"
#include <atomic>
#include <cub/block/block_reduce.cuh>
#include <cub/util_ptx.cuh>
#include <float.h>

enum {
  THREADS      = 256,
  WAVES        = 8, /* thread blocks a multiprocessor */
  WARPS        = THREADS / BAI_TEAM,
  CAREFUL_ROOM = sizeof(BAIScalar) > 8 ? 1 : 2, /* see RowsTimes() */
  FETCH        = 8,                             /* entries that a lane fetches at once */
  LONG_ROW     = 40, /* entries of a row on average: with more, several lanes add up a row's */
  LONG_TEAM    = 8,  /* so many */
  SUMS         = 3
};

struct BAILevelsScalars_ {
  BAIReal  ps, alpha, beta; /* p^H s of the last direction, 0: there is none; of this iteration */
  BAIReal  bnorm2, rnorm2, tol2, most2;
  BAIReal  scaled2, scaled_b2; /* squares of the norms of D^-1 r and D^-1 b, see Scaled() */
  BAIReal  rtol, abstol, dtol;
  int      its, done, reason;
  unsigned arrived;
  BAIReal  scale; /* of the matrix in the levels; 0: they are in the precision of r, and nothing is scaled */
  BAIReal  factors[2];
};

/* Of all ranks, each of which has its own in thread 0: it writes them to the others and waits for theirs. The same on
   all ranks, every time. Called by all threads of one thread block */
template <int COUNT>
static __device__ __noinline__ void SumOfRanks(BAIReal (&sum)[COUNT], const BAIFarSums &far)
{
  const BAIFlag      number = BAILoad(far.sums) + 1; /* not from L1, where an old one may be */
  const int          odd    = (int)(number & 1);
  __shared__ BAIReal mine[COUNT];

#pragma unroll
  for (int k = 0; k < COUNT; k++)
    if (!threadIdx.x) mine[k] = sum[k];
  __syncthreads();
  for (int p = (int)threadIdx.x; p < far.others; p += (int)blockDim.x) {
    const BAIFarPeer &peer = far.peer[p];
    const BAIFlag    *flag = peer.told;

    for (int k = 0; k < COUNT; k++) BAIStoreFar(static_cast<BAIReal *>(peer.to[odd]) + k, mine[k]);
    BAIStoreFarRelease(peer.tell, number);
    BAISpin(
      far.stalled, far.stalled_host, [=] { return BAILoadFarAcquire(flag) >= number; }, BAI_PEER_CYCLES,
      BAI_ERR_ABSENT);
  }
  __syncthreads();
  if (threadIdx.x) return;
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    sum[k] = 0;
    for (int p = 0; p < far.ranks; p++)
      sum[k] += p == far.rank ? mine[k] : BAILoadFar(far.from[odd] + p * BAI_FAR_SUMS + k);
  }
  BAIStore(far.sums, number);
}

/* What all threads of all blocks add up to, and of all ranks, found by the block that comes last: true there, in
   thread 0. The same every time */
template <int COUNT>
static __device__ inline bool SumUp(BAIReal (&sum)[COUNT], BAIReal *partial, unsigned *arrived, const BAIFarSums &far)
{
  using Sum = cub::BlockReduce<BAIReal, THREADS>;
  __shared__ typename Sum::TempStorage storage;
  __shared__ bool                      last;

#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    sum[k] = Sum(storage).Sum(sum[k]);
    __syncthreads();
    if (!threadIdx.x) partial[blockIdx.x * COUNT + k] = sum[k];
  }
  if (!threadIdx.x) {
    __threadfence();
    last = atomicAdd(arrived, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
#pragma unroll
  for (int k = 0; k < COUNT; k++) {
    sum[k] = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += THREADS)
      sum[k] += __ldcg(partial + block * COUNT + k);
    sum[k] = Sum(storage).Sum(sum[k]);
    __syncthreads();
  }
  if (!threadIdx.x) *arrived = 0;
  if (far.ranks > 1) SumOfRanks(sum, far);
  return !threadIdx.x;
}

static __device__ inline BAIReal Dot(BAIScalar x, BAIScalar y)
{
  return BAIRealPart(BAIConj(x) * y);
}

/* What rounding took from a product, and from a sum; of complex numbers it is not asked for */
static __device__ inline BAIScalar LostInProduct(BAIScalar a, BAIScalar x, BAIScalar product)
{
#if defined(PETSC_USE_COMPLEX)
  return 0;
#else
  return fma(a, x, -product);
#endif
}

static __device__ inline BAIScalar LostInSum(BAIScalar a, BAIScalar b, BAIScalar sum)
{
  const BAIScalar part = sum - a;

  return (a - (sum - part)) + (b - part);
}

/* As RowsTimes(), for long rows: LONG_TEAM lanes a row */
template <bool CAREFUL>
static __device__ inline BAIScalar LongRowsTimes(const BAIDeviceRows &A, long long first, const BAIScalar *x,
                                                 BAIScalar *lost)
{
  const int lane = (int)threadIdx.x % BAI_TEAM, at_once = BAI_TEAM / LONG_TEAM;
  BAIScalar mine = 0;

  if (CAREFUL) *lost = 0;
  for (int begin = 0; begin < BAI_TEAM; begin += at_once) {
    const long long row = first + begin + lane / LONG_TEAM;
    const int       end = row < A.n ? A.i[row + 1] : 0;
    BAIScalar       sum = 0, rest = 0;

#pragma unroll 4
    for (int e = row < A.n ? A.i[row] + lane % LONG_TEAM : 0; e < end; e += LONG_TEAM) {
      const BAIScalar other = x[__ldcs(A.j + e)], product = A.a[e] * other, before = sum;

      sum += product;
      if (CAREFUL) rest += LostInSum(before, product, sum) + LostInProduct(A.a[e], other, product);
    }
#pragma unroll
    for (int k = LONG_TEAM / 2; k; k /= 2) {
      const BAIScalar other = cub::ShuffleDown<LONG_TEAM>(sum, k, LONG_TEAM - 1, ~0u), before = sum;

      sum += other;
      if (CAREFUL) rest += LostInSum(before, other, sum) + cub::ShuffleDown<LONG_TEAM>(rest, k, LONG_TEAM - 1, ~0u);
    }
    const int       from  = (lane - begin) * LONG_TEAM & (BAI_TEAM - 1);
    const BAIScalar found = cub::ShuffleIndex<BAI_TEAM>(sum, from, ~0u);
    const BAIScalar other = CAREFUL ? cub::ShuffleIndex<BAI_TEAM>(rest, from, ~0u) : BAIScalar(0);

    if (lane < begin || lane >= begin + at_once) continue;
    mine = found;
    if (CAREFUL) *lost = other;
  }
  return mine;
}

/*
   Products of 32 rows with x, one in each lane, by a warp. The entries of the rows follow each other, so the lanes
   fetch them in turn, whatever the rows' lengths; room is for FETCH products of each lane, or twice as many if CAREFUL.
   Then *lost is what rounding took from the result (T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product",
   SIAM J. Sci. Comput. 26, 2005)
*/
template <bool CAREFUL>
static __device__ inline BAIScalar RowsTimes(const BAIDeviceRows &A, long long first, const BAIScalar *x,
                                             BAIScalar *room, BAIScalar *lost)
{
  const int       lane = (int)threadIdx.x % BAI_TEAM, more = FETCH * BAI_TEAM;
  const long long row  = first + lane;
  const int       mine = A.i[row < A.n ? row : A.n], mine_end = A.i[row < A.n ? row + 1 : A.n];
  const int       begin = __shfl_sync(~0u, mine, 0), end = __shfl_sync(~0u, mine_end, BAI_TEAM - 1);
  BAIScalar       sum = 0, rest = 0;

  if (end - begin > LONG_ROW * BAI_TEAM) return LongRowsTimes<CAREFUL>(A, first, x, lost);
  for (int at = begin; at < end; at += more) {
    int       col[FETCH];
    BAIScalar value[FETCH];

#pragma unroll
    for (int k = 0; k < FETCH; k++) {
      const int e = at + k * BAI_TEAM + lane;

      col[k]   = e < end ? __ldcs(A.j + e) : 0;
      value[k] = e < end ? A.a[e] : BAIScalar(0);
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < FETCH; k++) {
      const BAIScalar other = x[col[k]], product = value[k] * other;

      room[k * BAI_TEAM + lane] = product;
      if (CAREFUL) room[more + k * BAI_TEAM + lane] = LostInProduct(value[k], other, product);
    }
    __syncwarp();
    for (int k = mine > at ? mine - at : 0; k < mine_end - at && k < more; k++) {
      const BAIScalar before = sum;

      sum += room[k];
      if (CAREFUL) rest += LostInSum(before, room[k], sum) + room[more + k];
    }
  }
  if (CAREFUL) *lost = rest;
  return sum;
}

/* What the entries of ghosts add to the product of a row */
template <bool CAREFUL>
static __device__ inline BAIScalar GhostsTimes(const BAIFarRows &far, long long row, BAIScalar sum, BAIScalar *lost)
{
  if (!far.B.i) return sum;
  for (BAIInt e = far.B.i[row]; e < far.B.i[row + 1]; e++) {
    const BAIScalar other = far.x[far.B.j[e]], product = far.B.a[e] * other, before = sum;

    sum += product;
    if (CAREFUL) *lost += LostInSum(before, product, sum) + LostInProduct(far.B.a[e], other, product);
  }
  return sum;
}

/* What r is multiplied by on its way into the levels, and z on its way out of them */
static __host__ __device__ inline void SetFactors(BAILevelsScalars *s, BAIReal norm)
{
  s->factors[0] = s->scale > 0 && norm > 0 ? BAIScaleOf(ilogb((double)norm)) : 1;
  s->factors[1] = s->scale > 0 ? s->scale / s->factors[0] : 1;
}

/* Shared memory for RowsTimes(); as bytes, as complex numbers have constructors */
#define ROOM(name, times) \
  __shared__ __align__(16) unsigned char name##_bytes[WARPS * times * FETCH * BAI_TEAM * sizeof(BAIScalar)]; \
  BAIScalar *name = reinterpret_cast<BAIScalar *>(name##_bytes) + threadIdx.x / BAI_TEAM * times * FETCH * BAI_TEAM

/* w = A u; then r^H u, u^H w and u^H s make up the next direction and its length */
static __global__ __launch_bounds__(THREADS) void Product(BAIDeviceRows A, BAIFarRows between,
                                                          const __grid_constant__ BAIFarSums far, const BAIScalar *u,
                                                          const BAIScalar *r, const BAIScalar *s, BAIScalar *w,
                                                          BAIReal *partial, BAILevelsScalars *scalars)
{
  ROOM(room, 1);
  BAIReal sum[SUMS] = {0, 0, 0};

  BAIFollow();
  if (scalars->done) return;
  for (long long first = (blockIdx.x * (long long)WARPS + threadIdx.x / BAI_TEAM) * BAI_TEAM; first < A.n;
       first += (long long)gridDim.x * THREADS) {
    BAIScalar       value = RowsTimes<false>(A, first, u, room, NULL);
    const long long row   = first + threadIdx.x % BAI_TEAM;

    if (row >= A.n) continue;
    value  = GhostsTimes<false>(between, row, value, NULL);
    w[row] = value;
    sum[0] += Dot(r[row], u[row]);
    sum[1] += Dot(u[row], value);
    sum[2] += Dot(u[row], s[row]);
  }
  if (!SumUp(sum, partial, &scalars->arrived, far)) return;
  const bool first = !(scalars->ps > 0);

  scalars->beta  = first ? 0 : -sum[2] / scalars->ps;
  scalars->ps    = sum[1] + (first ? 0 : scalars->beta * sum[2]);
  scalars->alpha = sum[0] / scalars->ps;
  if (sum[0] > 0 && scalars->ps > 0) return;
  scalars->reason = isfinite((double)sum[0]) && isfinite((double)sum[1]) ? BAI_LEVELS_INDEFINITE : BAI_LEVELS_NAN;
  scalars->done   = 1;
}

/* The host reads what is written here when its sequence number says so */
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

/* x = x + d, or -d */
static __global__ void Add(long long n, bool minus, const BAIScalar *d, BAIScalar *x)
{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (i < n) x[i] = minus ? -d[i] : x[i] + d[i];
}

BAIStatus BAINegate(BAILevelsState state, long long n, const BAIScalar *from, BAIScalar *to)
{
  if (!n) return BAIStatusOf(BAI_OK);
  Add<<<BAIGrid(n, THREADS), THREADS, 0, state->s.stream>>>(n, true, from, to);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Directions, x, r and its norm */
static __global__ __launch_bounds__(THREADS) void Update(int n, const __grid_constant__ BAIFarSums far,
                                                         BAIScalar *__restrict__ p, BAIScalar *__restrict__ s,
                                                         BAIScalar *__restrict__ x, BAIScalar *__restrict__ r,
                                                         const BAIScalar *__restrict__ u,
                                                         const BAIScalar *__restrict__ w, BAIReal *partial,
                                                         BAILevelsScalars *scalars, BAILevelsProgress *progress,
                                                         int sequence)
{
  BAIReal sum[1] = {0};

  BAIFollow();
  if (scalars->done) {
    if (!blockIdx.x && !threadIdx.x) Tell(scalars, progress, sequence);
    return;
  }
  const BAIReal alpha = scalars->alpha, beta = scalars->beta;

  for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS) {
    const BAIScalar direction = u[i] + beta * p[i], product = w[i] + beta * s[i], rest = r[i] - alpha * product;

    p[i] = direction;
    s[i] = product;
    x[i] += alpha * direction;
    r[i] = rest;
    sum[0] += Dot(rest, rest);
  }
  if (!SumUp(sum, partial, &scalars->arrived, far)) return;
  scalars->rnorm2 = sum[0];
  scalars->its++;
  scalars->reason = !isfinite((double)sum[0])       ? BAI_LEVELS_NAN
    : sum[0] <= scalars->tol2                       ? BAI_LEVELS_CONVERGED
    : scalars->dtol > 0 && sum[0] >= scalars->most2 ? BAI_LEVELS_DTOL
                                                    : BAI_LEVELS_ITS;
  scalars->done   = scalars->reason != BAI_LEVELS_ITS;
  SetFactors(scalars, sqrt(sum[0]));
  Tell(scalars, progress, sequence);
}

/*
   r = b - A x, rounded once, or b if x is zero; ||r||, ||b||, and the tolerances that follow; p and s are zero, so CG
   begins anew
*/
static __global__ __launch_bounds__(THREADS) void Begin(BAIDeviceRows A, BAIFarRows between,
                                                        const __grid_constant__ BAIFarSums far, const BAIScalar *b,
                                                        const BAIScalar *x, int zero, BAIScalar *r, BAIScalar *p,
                                                        BAIScalar *s, BAIReal *partial, BAILevelsScalars *scalars,
                                                        BAILevelsProgress *progress, int sequence)
{
  ROOM(room, CAREFUL_ROOM);
  BAIReal sum[2] = {0, 0};

  for (long long first = (blockIdx.x * (long long)WARPS + threadIdx.x / BAI_TEAM) * BAI_TEAM; first < A.n;
       first += (long long)gridDim.x * THREADS) {
    BAIScalar       lost  = 0;
    BAIScalar       value = zero ? BAIScalar(0) : RowsTimes<CAREFUL_ROOM == 2>(A, first, x, room, &lost);
    const long long row   = first + threadIdx.x % BAI_TEAM;

    if (row >= A.n) continue;
    if (!zero) value = GhostsTimes<CAREFUL_ROOM == 2>(between, row, value, &lost);
    const BAIScalar rest = b[row] - value - lost;

    r[row] = rest;
    p[row] = 0;
    s[row] = 0;
    sum[0] += Dot(rest, rest);
    sum[1] += Dot(b[row], b[row]);
  }
  if (!SumUp(sum, partial, &scalars->arrived, far)) return;
  if (scalars->bnorm2 < 0) scalars->bnorm2 = sum[1];
  const BAIReal bnorm     = sqrt(scalars->bnorm2),
                tolerance = scalars->rtol * bnorm > scalars->abstol ? scalars->rtol * bnorm : scalars->abstol;

  scalars->rnorm2 = sum[0];
  scalars->ps     = 0;
  scalars->tol2   = tolerance * tolerance;
  scalars->most2  = scalars->dtol * scalars->dtol * scalars->bnorm2;
  scalars->reason = !isfinite((double)sum[0]) ? BAI_LEVELS_NAN
    : sum[0] <= scalars->tol2                 ? BAI_LEVELS_CONVERGED
                                              : BAI_LEVELS_ITS;
  scalars->done   = scalars->reason != BAI_LEVELS_ITS;
  SetFactors(scalars, sqrt(sum[0]));
  Tell(scalars, progress, sequence);
}

/* The norms of D^-1 r and D^-1 b, where D is the diagonal of A. A row without a diagonal entry is left out */
static __global__ __launch_bounds__(THREADS) void Scaled(BAIDeviceRows A, const __grid_constant__ BAIFarSums far,
                                                         const BAIScalar *b, const BAIScalar *r, BAIReal *partial,
                                                         BAILevelsScalars *scalars, BAILevelsProgress *progress,
                                                         int sequence)
{
  BAIReal sum[2] = {0, 0};

  for (long long row = blockIdx.x * (long long)THREADS + threadIdx.x; row < A.n;
       row += (long long)gridDim.x * THREADS) {
    BAIReal w = 0;

    for (int e = A.i[row]; e < A.i[row + 1] && !(w > 0); e++)
      if (A.j[e] == row && A.a[e] != BAIScalar(0)) w = 1 / BAIAggregateMagnitude(A.a[e]);
    const BAIScalar wr = w * r[row], wb = w * b[row]; /* whose squares are in range where w^2 is not */

    sum[0] += Dot(wr, wr);
    sum[1] += Dot(wb, wb);
  }
  if (!SumUp(sum, partial, &scalars->arrived, far)) return;
  scalars->scaled2   = sum[0];
  scalars->scaled_b2 = sum[1];
  Tell(scalars, progress, sequence);
}

/* The factors for a cycle alone */
static __global__ __launch_bounds__(THREADS) void Norm(int n, const BAIScalar *r, BAIReal *partial,
                                                       BAILevelsScalars *scalars)
{
  BAIReal sum[1] = {0};

  BAIFollow();
  for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS) {
    const BAIReal w = BAIAggregateMagnitude(r[i]);

    sum[0] = w > sum[0] ? w : sum[0];
  }
  /* the largest is at most the sum of the largest of all threads, and at least that over their number: as good */
  if (!SumUp(sum, partial, &scalars->arrived, BAIFarSums{})) return;
  scalars->rnorm2 = sum[0];
  SetFactors(scalars, sum[0]);
}

static int Blocks(BAILevelsState state, long long threads)
{
  const long long most = (long long)state->s.processors * WAVES, wanted = (threads + THREADS - 1) / THREADS;

  return (int)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

/* Scalars, and room for the parts of sums */
static BAIStatus Prepare(BAILevelsState state)
{
  BAILevelsScalars scalars = {};

  if (state->scalars) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(&state->s, sizeof(scalars), &state->scalars));
  BAITry(BAICUDAAllocate(&state->s, (size_t)state->s.processors * WAVES * SUMS * sizeof(BAIReal), &state->partial));
  BAITry(BAIDeviceListen(state));
  scalars.scale      = state->single ? state->scale : 0;
  scalars.factors[0] = scalars.factors[1] = 1;
  CUDATry(cudaMemcpyAsync(state->scalars, &scalars, sizeof(scalars), cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  state->factors = (BAIReal *)((char *)state->scalars + offsetof(BAILevelsScalars, factors));
  return BAIStatusOf(BAI_OK);
}

/* All ranks have the same factors */
static BAIStatus AgreeOnFactors(BAILevelsState state)
{
  BAILevelsScalars s = {};
  BAIReal          norm;

  CUDATry(cudaMemcpyAsync(&norm, &state->scalars->rnorm2, sizeof(norm), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  if (state->ranks.largest(state->ranks.context, &norm))
    return BAIStatusBecause(BAI_ERR_ABSENT, "a cycle of several ranks", "one of them has given up");
  s.scale = state->scale;
  SetFactors(&s, norm);
  CUDATry(cudaMemcpyAsync(state->factors, s.factors, sizeof(s.factors), cudaMemcpyHostToDevice, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceApplyTo(BAILevelsState state, const BAIScalar *r, BAIScalar *z)
{
  int   n      = state->level[0].A.n;
  void *norm[] = {&n, &r, &state->partial, &state->scalars};

  BAITry(Prepare(state));
  if (state->single) {
    CUDATry(BAILaunch((const void *)Norm, dim3((unsigned)Blocks(state, n)), THREADS, 0, state->s.stream,
                      state->s.follows, norm));
    if (state->p.all) BAITry(AgreeOnFactors(state));
  }
  return BAIDeviceCycle(state, r, z, NULL);
}

/* Vectors of CG */
struct Vectors {
  const BAIScalar *b;
  BAIScalar       *x, *r, *p, *s, *u, *w;
  BAIScalar       *d; /* what CG finds, to be added to x; or x itself, if that was zero */
};

/* What is multiplied with; the levels of one rank have it as well */
static BAIDeviceRows MatrixOf(BAILevelsState state)
{
  return state->p.all ? state->own : state->level[0].A;
}

static BAIStatus Iterate(BAILevelsState state, const Vectors &v, int sequence)
{
  BAIDeviceRows      A        = MatrixOf(state);
  BAILevelsScalars  *scalars  = state->scalars;
  BAIReal           *partial  = state->partial;
  BAILevelsProgress *progress = &state->told->progress;
  BAIScalar         *p = v.p, *s = v.s, *d = v.d, *r = v.r, *u = v.u, *w = v.w;
  const int         *done      = (const int *)((const char *)scalars + offsetof(BAILevelsScalars, done));
  void              *product[] = {&A, &state->between, &state->sums, &u, &r, &s, &w, &partial, &scalars};
  void              *update[]  = {&A.n, &state->sums, &p, &s, &d, &r, &u, &w, &partial, &scalars, &progress, &sequence};

  BAITry(BAIDeviceCycle(state, v.r, v.u, done));
  BAITry(BAIDeviceExchangeVector(state, v.u, done));
  CUDATry(BAILaunch((const void *)Product, dim3((unsigned)Blocks(state, A.n)), THREADS, 0, state->s.stream,
                    state->s.follows, product));
  CUDATry(BAILaunch((const void *)Update, dim3((unsigned)Blocks(state, A.n)), THREADS, 0, state->s.stream,
                    state->s.follows, update));
  return BAIStatusOf(BAI_OK);
}

/* Until the device has told of this sequence number */
static BAIStatus WaitFor(BAILevelsState state, int sequence)
{
  volatile int *told = &state->told->progress.sequence;

  for (long spins = 1; *told < sequence; spins++) {
    if (spins % 4096) continue;
    const cudaError_t error = cudaStreamQuery(state->s.stream);

    if (error == cudaSuccess && *told < sequence)
      return BAIStatusBecause(BAI_ERR_DEVICE, "CG with many levels", "an iteration has left no norm");
    if (error != cudaSuccess && error != cudaErrorNotReady) return BAICUDAStatus(error, "CG with many levels");
    (void)cudaGetLastError();
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return BAIStatusOf(BAI_OK);
}

/* The norms of r and b over the diagonal, which are waited for */
static BAIStatus FindScaled(BAILevelsState state, const Vectors &v, int sequence, BAILevelsSolution *s)
{
  const BAIDeviceRows      A        = MatrixOf(state);
  const BAILevelsProgress *progress = &state->told->progress;

  Scaled<<<(unsigned)Blocks(state, A.n), THREADS, 0, state->s.stream>>>(A, state->sums, v.b, v.r, state->partial,
                                                                        state->scalars, &state->told->progress,
                                                                        sequence);
  CUDATry(cudaGetLastError());
  BAITry(WaitFor(state, sequence));
  s->scaled   = (BAIReal)sqrt(progress->scaled2);
  s->scaled_b = (BAIReal)sqrt(progress->scaled_b2);
  return BAIStatusOf(BAI_OK);
}

/* r, p and s to begin with, and the norms, which are waited for */
static BAIStatus Start(BAILevelsState state, const Vectors &v, int zero, int sequence)
{
  const BAIDeviceRows A = MatrixOf(state);

  if (!zero) BAITry(BAIDeviceExchangeVector(state, v.x, NULL));
  Begin<<<(unsigned)Blocks(state, A.n), THREADS, 0, state->s.stream>>>(A, state->between, state->sums, v.b, v.x, zero,
                                                                       v.r, v.p, v.s, state->partial, state->scalars,
                                                                       &state->told->progress, sequence);
  CUDATry(cudaGetLastError());
  return WaitFor(state, sequence);
}

/* CG until the device says that it is done, or the monitor, or there have been enough iterations; the next sequence
   number */
static BAIStatus Run(BAILevelsState state, const Vectors &v, const BAITolerances *t, BAILevelsMonitor monitor,
                     void *context, int *sequence, BAILevelsSolution *s)
{
  BAILevelsProgress *progress = &state->told->progress;
  const int          begin    = *sequence;
  double             before   = progress->rnorm2;
  BAIStall           stall;
  bool               stalls = false;

  s->reason = BAI_LEVELS_ITS;
  BAIStallBegin(&stall, (int)s->its, before);
  for (BAIInt launched = 0; s->its + launched < t->max_it;) {
    BAITry(Iterate(state, v, ++*sequence));
    launched++;
    /* one iteration ahead, unless the norm is likely to meet the tolerance in this one; ranks, whose kernels wait for
       each other, all launch the same ones */
    const bool soon = monitor || state->p.all ||
      (progress->rnorm2 > 0 && progress->rnorm2 * progress->rnorm2 <= 4 * before * (double)state->tol2);
    const int wait = soon ? *sequence : *sequence - 1;

    if (wait <= begin) continue;
    before = progress->rnorm2;
    BAITry(WaitFor(state, wait));
    if (monitor && monitor(context, (BAIInt)progress->its, (BAIReal)sqrt(progress->rnorm2))) break;
    if (progress->done) break;
    stalls = !monitor && !t->fixed && BAIStalls(&stall, progress->its, progress->rnorm2); /* else it looks for that */
    if (stalls) break;
  }
  BAITry(WaitFor(state, *sequence));
  s->its   = (BAIInt)progress->its;
  s->rnorm = (BAIReal)sqrt(progress->rnorm2);
  if (progress->done) s->reason = (BAILevelsReason)progress->reason;
  else if (stalls) s->reason = BAI_LEVELS_STALLED;
  return BAIStatusOf(BAI_OK);
}

/* The norm of r at which iterations end. The first one Begin() has found by itself, and that it is not met; later,
   BAITestEnds() decides whether it is */
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
  const size_t       n       = (size_t)state->level[0].A.n;
  BAILevelsScalars   scalars = {};
  BAILevelsProgress *progress;
  Vectors            v;
  int                sequence = 0;

  *s = BAILevelsSolution{};
  BAITry(Prepare(state));
  if (!state->work) BAITry(BAICUDAAllocate(&state->s, 5 * n * sizeof(BAIScalar), &state->work));
  v            = {b, x, state->work, state->work + n, state->work + 2 * n, state->work + 3 * n, state->work + 4 * n, x};
  scalars.rtol = t->rtol;
  scalars.abstol     = t->abstol;
  scalars.dtol       = t->dtol;
  scalars.bnorm2     = t->bnorm2;
  scalars.scale      = state->single ? state->scale : 0;
  scalars.factors[0] = scalars.factors[1] = 1;
  progress                                = &state->told->progress;
  CUDATry(cudaStreamSynchronize(state->s.stream)); /* nothing is to write there any longer */
  progress->sequence = 0;
  CUDATry(cudaMemcpyAsync(state->scalars, &scalars, sizeof(scalars), cudaMemcpyHostToDevice, state->s.stream));
  if (guess_zero) CUDATry(cudaMemsetAsync(x, 0, n * sizeof(*x), state->s.stream));
  BAITry(Start(state, v, guess_zero, ++sequence));
  s->bnorm  = (BAIReal)sqrt(progress->bnorm2);
  s->rnorm0 = s->rnorm    = (BAIReal)sqrt(progress->rnorm2);
  s->reason               = (BAILevelsReason)progress->reason;
  const BAIReal tolerance = t->rtol * s->bnorm > t->abstol ? t->rtol * s->bnorm : t->abstol;

  BAITest test;

  BAITestBegin(&test, tolerance, s->rnorm);
  if (monitor && monitor(context, 0, s->rnorm)) return BAIStatusOf(BAI_OK);
  while (s->reason == BAI_LEVELS_ITS && s->its < t->max_it) {
    BAITry(SetGoal(state, (BAIReal)test.goal, !s->its));
    if (v.d == x && (!guess_zero || s->its) &&
        !monitor) { /* x is rounded when all of the correction is added, not in each step */
      if (!state->correction) BAITry(BAICUDAAllocate(&state->s, n * sizeof(BAIScalar), &state->correction));
      v.d = state->correction;
    }
    if (v.d != x) CUDATry(cudaMemsetAsync(v.d, 0, n * sizeof(BAIScalar), state->s.stream));
    BAITry(Run(state, v, t, monitor, context, &sequence, s));
    if (v.d != x) Add<<<BAIGrid((long long)n, THREADS), THREADS, 0, state->s.stream>>>((long long)n, false, v.d, x);
    BAITry(Start(state, v, 0, ++sequence));
    s->rnorm = (BAIReal)sqrt(progress->rnorm2);
    if (t->scaled > 0) BAITry(FindScaled(state, v, ++sequence, s));
    if (BAITestRun(&test, s->rnorm, s->scaled, BAIScaledLimit(t, t->abstol, tolerance, s->scaled_b), &s->reason)) break;
    s->reason = BAI_LEVELS_ITS;
  }
  return BAIStatusOf(BAI_OK);
}
