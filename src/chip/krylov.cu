/*
   Krylov methods for matrices that stay on the chip: a whole solve is one launch. The preconditioner is a visit to all
   blocks, a block being what a thread block has: local_iters damped Jacobi sweeps inside it, from zero.

   With L and R the scalings of krylov.h, A below is L A R, whose diagonal is 1. M g is what some local sweeps make of
   g, from y = 0:

     step = a_k step + b_k (g - A_JJ y),  y = y + step

   There are 4 of them where a row has few entries, in registers. With more entries a sweep takes longer beside the
   exchange and the sums of an iteration: 2 for rows of up to 32 entries, and where entries are in shared memory there
   is 1, so that M g is g.

   Gershgorin's theorem gives the largest eigenvalue of A_JJ, at most. If A is Hermitian the weights a_k and b_k are
   Chebyshev's for the upper part of the spectrum; so M is positive definite whatever the positive definite A. Else a_k
   is 0, and b_k damps.

   A Hermitian A is solved by pipelined conjugate gradients (P. Ghysels, W. Vanroose, "Hiding global synchronization
   latency in the preconditioned conjugate gradient algorithm", Parallel Computing 40, 2014). With u = M r, w = A u an
   iteration is

     gamma = r.u, delta = w.u        summed over all thread blocks while
     m = M w, n = A m                are computed, with one exchange of m between neighbours
     beta, alpha                     from these and the sums before
     z = n + beta z, q = m + beta q, s = w + beta s, p = u + beta p
     x += alpha p, r -= alpha s, u -= alpha q, w -= alpha z

   and other matrices by BiCGStab (H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992), with M on the right. Where
   the recurrence says that ||r|| is small enough, b - A x is computed; the solve is over if its norm is small enough as
   well, and else goes on from there.

   Exchange of vectors. Exchange number e has a buffer, e & 1, and a tag, e >> 1 & 1, which takes the place of the
   lowest bit of each number. A number with the right tag is new, so loads and stores are relaxed, and nothing else
   depends on their order. A thread block publishes e + 2 only after sums to which all give their part when they have
   read e: so two buffers do. Each launch counts from zero, so that solves have the same bits. It has buffers of its
   own, which the launch before made look old; and it does the same for the next one.

   Sums. A part is given as a number of 64 bits that counts units of 2^-scale, and atomic additions make up the sum:
   so its bits do not depend on the order. The lowest bits count the parts. Words are never set back; what a word was
   before is taken off. Two sets take turns. All thread blocks choose the next scale from the sum, and repeat it with
   another one where a part is too large, or the sum too small.

   Several systems. A launch may solve some with the same matrix, but different b: thread blocks of number y in the
   second direction of the grid have the system of that number, with sums and buffers of its own. So systems do not wait
   for each other, and while one waits another one works on the same multiprocessor. For many systems there is a second
   set of parts, with more rows in each; see chip/setup.cu. More systems than there is room for take several launches.

   No thread block waits for one that is not running, as the launch is cooperative; and no wait is without end.
*/
#include "../common/cuda/spin.h"
#include "krylov.h"
#include "../multigrid/cuda/levels.h"
#include <limits.h>
#include <vector>

namespace {
enum {
  WARP    = 32,
  PARTS   = 8,  /* lowest bits of a word: they count parts, */
  SHIFT   = 16, /* and those up to here parts that are too large */
  USUAL   = 37, /* bits of a sum, as scales are chosen, */
  SLACK   = 3,  /* about; */
  MOST    = 47, /* it may have so many, so that a part may have fewer; */
  LEAST   = 26, /* and with fewer it is repeated with a finer scale */
  COARSER = 8,
  FINEST  = 1000, /* scale; what is smaller counts as zero, and what is too large for -FINEST as infinite */
  GROUP   = 4,    /* lanes of the warp that makes sums, for each word */
  LINE    = 16,   /* words of a cache line, one for each set */
  BUFFERS = 4     /* for exchange, of a system: two of a launch, and two of the next one */
};

using Word = unsigned long long;

/* What a launch is told. Pointers are those of the first system */
struct Problem {
  BAIKrylovMatrix  A;
  const BAIReal   *b;
  BAIReal         *x;
  size_t           to_b, to_x;               /* from a system to the next one */
  BAIReal         *exchange, *other, *saved; /* buffers of this launch, and of the next one */
  Word            *words;
  BAIKrylovLeft   *left;
  int              zero; /* x is zero to begin with */
  BAIReal          rtol, abstol, dtol, scaled, bnorm2;
  int              resume, until, max_it;
  int              fixed;  /* stalls are not looked for, as nothing ends before max_it */
  int              finish; /* a BAILevelsReason: the solve is to end for that; -1: not so */
  int             *stalled, *stalled_host;
  BAIKrylovResult *result;
};

__device__ inline double Tagged(double value, int tag)
{
  return __hiloint2double(__double2hiint(value), (__double2loint(value) & ~1) | tag);
}
[[maybe_unused]] __device__ inline float Tagged(float value, int tag)
{
  return __int_as_float((__float_as_int(value) & ~1) | tag);
}
__device__ inline bool IsOld(double value, int tag)
{
  return (__double2loint(value) ^ tag) & 1;
}
[[maybe_unused]] __device__ inline bool IsOld(float value, int tag)
{
  return (__float_as_int(value) ^ tag) & 1;
}

/* The number of the system. It is read anew each time, as no register is free for it */
__device__ inline unsigned System(void)
{
  unsigned system;

  asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(system));
  return system;
}

/* 2^e */
__device__ inline double Power(int e)
{
  return __hiloint2double((1023 + e) << 20, 0);
}

/* Whether a wait is to be given up, as it has taken some ten seconds, or another thread has given up */
class Patience {
  unsigned  spins = 0;
  long long start = 0;

public:
  __device__ bool Ends(const Problem &p)
  {
    if (++spins % 64) return false;
    if (!start) start = clock64();
    if (clock64() - start > BAI_SPIN_CYCLES) {
      BAIStore(p.stalled, (int)BAI_ERR_STALLED);
      BAIStoreFar(p.stalled_host, (int)BAI_ERR_STALLED);
    }
    return BAILoad(p.stalled) != 0;
  }
};

/* The same number; what is computed from it is not computed before this point */
__device__ inline double Later(double value)
{
  asm volatile("" : "+d"(value));
  return value;
}

/* Barriers of some of the threads of a thread block */
enum {
  GIVEN = 1, /* parts of sums are there; of all threads, as is TAKEN */
  ROWS,      /* of the threads that have rows */
  TAKEN      /* sums are there, for all */
};
__device__ inline void Meet(int barrier, int threads)
{
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/*
   The sums of N numbers over the lanes of a warp, by halves: in the end lane l has the sum of number
   NumberOf<N>(l) in value[0]
*/
template <int N, typename T>
__device__ inline void SumUpWarp(T (&value)[N])
{
  int o = WARP / 2;

#pragma unroll
  for (int half = N / 2; half; half /= 2, o /= 2) {
#pragma unroll
    for (int k = 0; k < half; k++) {
      const bool upper = threadIdx.x & o;
      const T    keep = upper ? value[k + half] : value[k], give = upper ? value[k] : value[k + half];

      value[k] = keep + __shfl_xor_sync(~0u, give, o);
    }
  }
  for (; o; o /= 2) value[0] += __shfl_xor_sync(~0u, value[0], o);
}
template <int N>
__device__ inline int NumberOf(int lane)
{
  return lane / (WARP / N);
}

/* Shared memory of a thread block: v is what its rows read, its own places and the halos; y is for sweeps; base is x
 * where the recurrences began; weight is what makes r^2 that of b - A x; red has the parts of sums of the warps */
struct Room {
  BAIReal *v, *y, *base, *weight, *red, *product;
};

/* Weights of at most so many sweeps: see above */
template <int MOST_SWEEPS>
struct Weights {
  int     sweeps; /* 1 if the block is diagonal; a single one has the weight 1 */
  BAIReal a[MOST_SWEEPS], b[MOST_SWEEPS];

  /* For eigenvalues that are at most 1 more than heaviest */
  __device__ void Find(double heaviest, bool hermitian)
  {
    if (MOST_SWEEPS == 1) heaviest = 0;
    const double part = 20, most = 1 + heaviest, least = max(most / part, 1 - heaviest), center = (most + least) / 2,
                 radius = max((most - least) / 2, 1e-3 * center), sigma = center / radius;
    double rho = 1 / sigma;

    sweeps = heaviest > 0 ? MOST_SWEEPS : 1;
    for (int k = 0; k < MOST_SWEEPS; k++) {
      const double next = 1 / (2 * sigma - rho);

      a[k] = (BAIReal)(hermitian && k ? rho * next : 0);
      b[k] = (BAIReal)(!hermitian ? min(1.0, 1.8 / most) : k ? 2 * next / radius : 1 / center);
      if (k) rho = next;
    }
  }
};

/* How the threads that have rows go on */
struct Step {
  int     next;  /* what is done next, or LEAVE, and */
  int     stays; /* then the vectors are for the next launch */
  BAIReal alpha, beta, step;
};

enum {
  LEAVE = -1,
  GO_ON = -1 /* no BAILevelsReason yet */
};

/* The last warp of a thread block looks at this once in many iterations. Each of its threads has it in local memory, so
   that it takes no registers, and the functions that work with it are no part of the loop */
struct Cold {
  BAITest  test;
  BAIStall stall;
  double   scaled2, scaled_b2;
};

/* The first r = b - A x, whose norm's square this is */
__device__ __noinline__ void BeginTests(Cold *cold, double rtol, double abstol, double bnorm2, double norm2)
{
  const double tolerance = rtol * sqrt(bnorm2);

  BAITestBegin(&cold->test, tolerance > abstol ? tolerance : abstol, sqrt(norm2));
  BAIStallBegin(&cold->stall, 0, norm2);
}

/* r is b - A x, and these are the sums of squares of r and of D^-1 r: the reason to end, or the one that there is */
__device__ __noinline__ int Judge(Cold *cold, double norm2, double scaled2, double scaled, double abstol, bool looks,
                                  int reason)
{
  const bool      passes = norm2 <= cold->test.tolerance * cold->test.tolerance;
  const double    limit  = abstol < cold->test.tolerance ? scaled * sqrt(cold->scaled_b2) : 0;
  BAILevelsReason end;

  cold->scaled2 = scaled2;
  if (!isfinite(norm2)) return BAI_LEVELS_NAN;
  if (!looks) return passes ? BAI_LEVELS_CONVERGED : reason;
  if (reason != GO_ON)
    return BAITestPasses(&cold->test, sqrt(norm2), sqrt(scaled2), limit) ? BAI_LEVELS_CONVERGED : reason;
  return BAITestEnds(&cold->test, sqrt(norm2), sqrt(scaled2), limit, &end) ? end : reason;
}

/* Whether the method stalls; least2 is the least square of a norm so far */
__device__ __noinline__ bool Stalls(Cold *cold, int its, double least2, double norm2)
{
  cold->stall.least2 = least2;
  return BAIStalls(&cold->stall, its, norm2) != 0;
}

/* How the solve goes on, as the last warp of each thread block decides: all threads of all of them alike */
struct Control {
  Cold  *cold;
  double bnorm2, goal2, most2, rnorm2, least2, scalar[2];
  int    its, begun, most, reason; /* begun: where r was b - A x last; most: iterations before there is more to look at
                                      than norms; reason: why the solve is to end, or GO_ON */
  bool   first;

  __device__ Control(const Problem &p, Cold *local)
      : cold(local), bnorm2((double)p.bnorm2), its(0), begun(0), reason(p.finish), first(!p.resume)
  {
    const BAIKrylovLeft &left = p.left[System()];

    cold->test      = left.test;
    cold->stall     = left.stall;
    cold->scaled2   = 0;
    cold->scaled_b2 = p.resume ? left.scaled_b2 : -1;
    rnorm2          = left.rnorm2;
    scalar[0] = scalar[1] = 0;
    if (p.resume) {
      its       = left.its;
      begun     = left.begun;
      scalar[0] = left.scalar[0];
      scalar[1] = left.scalar[1];
    }
    Limits(p);
  }
  __device__ void Limits(const Problem &p)
  {
    goal2  = cold->test.goal * cold->test.goal;
    most2  = (double)p.dtol * (double)p.dtol * bnorm2;
    least2 = cold->stall.least2;
    most   = p.until == INT_MAX && !p.fixed ? min(p.max_it, cold->stall.begun + BAI_STALL_ITS) : p.max_it;
  }
  /* r is b, and b - A x follows, unless that has been so before; these are the sums of squares of r and of D^-1 r */
  __device__ void Guess(double norm2, double scaled2)
  {
    if (!first) return;
    if (bnorm2 < 0) bnorm2 = norm2;
    if (cold->scaled_b2 < 0) cold->scaled_b2 = scaled2;
  }
  /* r is b - A x, and these are the sums of squares of r and of D^-1 r; true: that is the end */
  __device__ bool Ends(const Problem &p, double norm2, double scaled2)
  {
    const bool looks = !first && its > 0;

    Guess(norm2, scaled2);
    if (first) {
      BeginTests(cold, (double)p.rtol, (double)p.abstol, bnorm2, norm2);
      if (!blockIdx.x && (int)threadIdx.x % WARP == 0) p.result[System()].rnorm2_begin = norm2;
    }
    first  = false;
    rnorm2 = norm2;
    reason = Judge(cold, norm2, scaled2, (double)p.scaled, (double)p.abstol, looks, reason);
    if (reason == GO_ON && its >= p.max_it) reason = BAI_LEVELS_ITS;
    begun = its;
    Limits(p);
    return reason != GO_ON;
  }
  /* By the recurrence; true: b - A x is to be computed. broken: the method cannot do another iteration from here */
  __device__ bool Looks(const Problem &p, double norm2, bool broken)
  {
    rnorm2 = norm2;
    least2 = norm2 < least2 ? norm2 : least2;
    if (norm2 > goal2 && norm2 < most2 && its < most && !broken) return false;
    if (!isfinite(norm2)) reason = BAI_LEVELS_NAN;
    else if (norm2 <= goal2) return true;
    else if (most2 > 0 && norm2 >= most2) reason = BAI_LEVELS_DTOL;
    else if (its >= p.max_it) reason = BAI_LEVELS_ITS;
    else if (broken) {
      if (its == begun) reason = BAI_LEVELS_INDEFINITE;
      return true;
    } else if (its >= most) {
      if (Stalls(cold, its, least2, norm2)) reason = BAI_LEVELS_STALLED;
      Limits(p);
    }
    return reason != GO_ON;
  }
  /* For the host, and the next launch */
  __device__ void End(const Problem &p) const
  {
    BAIKrylovLeft   &left   = p.left[System()];
    BAIKrylovResult &result = p.result[System()];

    if (blockIdx.x || (int)threadIdx.x % WARP) return;
    left.its         = its;
    left.begun       = begun;
    left.rnorm2      = rnorm2;
    left.scaled_b2   = cold->scaled_b2;
    left.test        = cold->test;
    left.stall       = cold->stall;
    left.scalar[0]   = scalar[0];
    left.scalar[1]   = scalar[1];
    result.rnorm2    = rnorm2;
    result.bnorm2    = bnorm2;
    result.scaled2   = cold->scaled2;
    result.scaled_b2 = cold->scaled_b2;
    result.its       = its;
    result.reason    = reason;
  }
};

/* The thread block: the last warp makes sums, the others have the rows */
struct Team {
  const Problem &p;
  Room           room;
  int            owners, rows, halos;
  unsigned       exchange = 0, meeting = 0; /* of vectors; of all threads */
  bool           given = false;             /* parts of sums, for which the last warp waits */

  __device__ Team(const Problem &p, Room room)
      : p(p), room(room), owners((int)blockDim.x - WARP), rows(p.A.rows[blockIdx.x]), halos(p.A.halos[blockIdx.x])
  {
  }
  __device__ bool MakesSums() const { return (int)threadIdx.x >= owners; }
  __device__ int  Row(int k) const { return (int)threadIdx.x + k * owners; }

  /* This thread's part of sums. Threads that have rows; the last warp has it when they meet next */
  template <int N>
  __device__ void Give(BAIReal (&value)[N])
  {
    const int lane = (int)threadIdx.x % WARP;

    SumUpWarp<N>(value);
    if (lane % (WARP / N) == 0)
      room.red[((meeting & 1) * N + lane / (WARP / N)) * WARP + (int)threadIdx.x / WARP] = value[0];
    given = true;
  }
  __device__ void MeetRows()
  {
    if (given) Meet(GIVEN, (int)blockDim.x);
    else Meet(ROWS, owners);
    given = false;
  }

  /* All know what the last warp has decided; exchanged: there was an exchange of vectors since they met last */
  __device__ void MeetAll(bool exchanged)
  {
    if (given) MeetRows();
    Meet(TAKEN, (int)blockDim.x);
    meeting++;
    exchange += exchanged;
  }

  /* v = m in all places that this thread block reads: its own ones, and the halos. Threads that have rows */
  template <int IN_FLIGHT, int EACH>
  __device__ void Exchange(BAIReal (&m)[EACH])
  {
    const int      buffer = (int)(exchange & 1), tag = (int)(exchange >> 1 & 1);
    BAIReal *const all  = p.exchange + (BUFFERS * System() + buffer) * (unsigned)(p.A.parts * p.A.rows_most);
    BAIReal *const mine = all + (size_t)blockIdx.x * p.A.rows_most;
    const int     *halo = p.A.halo + (size_t)blockIdx.x * p.A.halo_most;

#pragma unroll
    for (int k = 0; k < EACH; k++) {
      m[k] = Tagged(m[k], tag);
      if (Row(k) >= rows) continue;
      BAIStore(mine + Row(k), m[k]);
      room.v[Row(k)] = m[k];
    }
    if (given) MeetRows(); /* the last warp need not wait for the others' halos */
    for (int base = (int)threadIdx.x; base < halos; base += IN_FLIGHT * owners) {
      BAIReal  value[IN_FLIGHT];
      int      place[IN_FLIGHT];
      bool     old;
      Patience patience;

#pragma unroll
      for (int k = 0; k < IN_FLIGHT; k++) {
        const int h = base + k * owners;

        place[k] = h < halos ? halo[h] : -1;
        value[k] = h < halos ? BAILoad(all + place[k]) : Tagged(BAIReal(0), tag);
      }
      do {
        old = false;
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; k++) {
          if (IsOld(value[k], tag)) value[k] = BAILoad(all + place[k]);
          old |= IsOld(value[k], tag);
        }
      } while (old && !patience.Ends(p));
#pragma unroll
      for (int k = 0; k < IN_FLIGHT; k++)
        if (place[k] >= 0) room.v[p.A.rows_most + base + k * owners] = value[k];
    }
    MeetRows();
  }
};

/* Two words that follow each other; each of them is as it was at some time */
__device__ inline void LoadTwo(const Word *at, Word &first, Word &second)
{
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
}

/* Sums of all thread blocks, by the last warp of each. All its lanes know all words */
template <int SUMS, int N>
class Sums {
  enum {
    COUNT = (1 << PARTS) - 1,
    EVEN  = (SUMS + 1) / 2 * 2
  };
  Word     before[2][EVEN], now[EVEN]; /* what the words were in the two sets; what the last sums added to them */
  unsigned round;
  int      scale[SUMS];
  double   unit[SUMS], back[SUMS], most; /* 2^scale, its inverse; units of a part, at most */

  static __device__ int Lane(void) { return (int)threadIdx.x % WARP; }

public:
  __device__ explicit Sums(const Problem &p) : round(p.left[System()].round), most(Power(MOST) / p.A.parts)
  {
    const BAIKrylovLeft &left = p.left[System()];

#pragma unroll
    for (int k = 0; k < EVEN; k++) {
      before[0][k] = left.before[0][k];
      before[1][k] = left.before[1][k];
    }
#pragma unroll
    for (int k = 0; k < SUMS; k++) Rescale(k, p.resume ? left.scale[k] : USUAL);
  }

  /* wanted has a bit for each sum that matters. False: waiting was given up */
  __device__ bool Make(const Team &t, unsigned wanted, double (&total)[SUMS])
  {
    const int word = Lane() / GROUP, warps = t.owners / WARP;
    double    share   = 0;
    bool      coarser = false, again;

    if (word < SUMS)
      for (int w = Lane() % GROUP; w < warps; w += GROUP)
        share += (double)t.room.red[((t.meeting & 1) * N + word) * WARP + w];
    for (int o = GROUP / 2; o; o /= 2) share += __shfl_xor_sync(~0u, share, o);
    do {
      if (!Add(t.p, share)) return false;
      again = false;
#pragma unroll
      for (int k = 0; k < SUMS; k++) {
        const long long number = (long long)now[k] >> SHIFT;

        total[k] = (double)number * back[k];
        again |= (now[k] >> PARTS & ((1u << (SHIFT - PARTS)) - 1)) != 0;
        again |= wanted >> k & 1 && llabs(number) < (1ll << LEAST) && !coarser;
      }
    } while (again && TryAgain(wanted, coarser, total));
    return true;
  }

  /* The next scales, where the last sums ask for others */
  __device__ void Adjust(void)
  {
#pragma unroll
    for (int k = 0; k < SUMS; k++) {
      const long long size = llabs((long long)now[k] >> SHIFT);

      if (size && (size >> (USUAL - SLACK) == 0 || size >> (USUAL + SLACK) != 0))
        Rescale(k, scale[k] + USUAL - (64 - __clzll(size)));
    }
  }

  /* Word k adds up something else for now, about 2^-finer times what word like does: its scale until then comes back */
  __device__ int Lend(int k, int like, int finer)
  {
    const int mine = scale[k];

    Rescale(k, scale[like] + finer);
    return mine;
  }
  /* Then finer is what it turned out to be */
  __device__ void Return(int k, int like, int mine, int &finer)
  {
    finer = scale[k] - scale[like];
    Rescale(k, mine);
  }

  /* For the next launch */
  __device__ void End(const Team &t) const
  {
    BAIKrylovLeft &left = t.p.left[System()];

    if (blockIdx.x || Lane()) return;
#pragma unroll
    for (int k = 0; k < EVEN; k++) {
      left.before[0][k] = before[0][k];
      left.before[1][k] = before[1][k];
      if (k < SUMS) left.scale[k] = scale[k];
    }
    left.round = round;
  }

private:
  /* This thread block's share of each word is added to it, and the words come back when all have done so */
  __device__ bool Add(const Problem &p, double share)
  {
    const int  word  = Lane() / GROUP;
    const bool odd   = round & 1;
    Word      *at    = p.words + (2 * System() + odd) * LINE;
    double     units = 0;
    bool       all;
    Patience   patience;

#pragma unroll
    for (int k = 0; k < SUMS; k++)
      if (k == word) units = share * unit[k];
    if (word < SUMS && Lane() % GROUP == 0)
      atomicAdd(at + word, fabs(units) < most ? ((Word)__double2ll_rn(units) << SHIFT) + 1 : ((Word)1 << PARTS) + 1);
    do {
      all = true;
#pragma unroll
      for (int k = 0; k < SUMS; k += 2) LoadTwo(at + k, now[k], now[k + 1]);
#pragma unroll
      for (int k = 0; k < SUMS; k++) all &= (int)((now[k] - (odd ? before[1][k] : before[0][k])) & COUNT) == p.A.parts;
      if (!all && patience.Ends(p)) return false;
    } while (!all);
#pragma unroll
    for (int k = 0; k < SUMS; k++) {
      const Word seen = now[k];

      now[k] -= odd ? before[1][k] : before[0][k];
      if (odd) before[1][k] = seen;
      else before[0][k] = seen;
    }
    round++;
    return true;
  }
  /* With other scales, where there are any */
  __device__ bool TryAgain(unsigned wanted, bool &coarser, double (&total)[SUMS])
  {
    bool again = false, large = false;

#pragma unroll
    for (int k = 0; k < SUMS; k++) {
      const long long number  = (long long)now[k] >> SHIFT;
      const bool      strange = (now[k] >> PARTS & ((1u << (SHIFT - PARTS)) - 1)) != 0;
      const bool      small   = !strange && !coarser && wanted >> k & 1 && llabs(number) < (1ll << LEAST);

      large |= strange;
      if (strange && scale[k] <= -FINEST) total[k] = nan("");
      again |= strange ? scale[k] > -FINEST : small && scale[k] < FINEST;
      if (strange || small) Rescale(k, scale[k] + (strange ? -COARSER : LEAST));
    }
    coarser |= large;
    return again;
  }
  __device__ void Rescale(int k, int to)
  {
    scale[k] = max(-FINEST, min(FINEST, to));
    unit[k]  = Power(scale[k]);
    back[k]  = Power(-scale[k]);
  }
};

/* The entries of this thread's rows in registers, at most LEN each */
template <int EACH, int LEN>
class InRegisters {
  BAIReal  a[EACH][LEN];
  unsigned j[EACH][(LEN + 1) / 2];
  int      inside[EACH];

public:
  static constexpr int ROWS_EACH = EACH, SWEEPS = LEN > 8 ? 2 : 4,
                       IN_FLIGHT = LEN > 8 ? 8 : 2; /* halos that a thread asks for at once */

  template <class Team>
  __device__ void Read(const Team &t, unsigned char *)
  {
    const BAIKrylovMatrix &A     = t.p.A;
    const size_t           begin = (size_t)blockIdx.x * A.width * A.rows_most;

#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const int  l     = t.Row(k);
      const bool there = !t.MakesSums() && l < t.rows;

      inside[k] = there ? A.inside[(size_t)blockIdx.x * A.rows_most + l] : 0;
#pragma unroll
      for (int c = 0; c < LEN; c++) {
        const bool     is  = there && c < A.width;
        const unsigned col = is ? A.j[begin + (size_t)c * A.rows_most + l] : 0;

        a[k][c]     = is ? A.a[begin + (size_t)c * A.rows_most + l] : 0;
        j[k][c / 2] = c % 2 ? j[k][c / 2] | col << 16 : col;
      }
    }
  }

  /* out = (A - I) v of the places of v; INSIDE: of those inside the part only */
  template <bool INSIDE, class Team>
  __device__ void Multiply(const Team &, const BAIReal *v, BAIReal (&out)[EACH]) const
  {
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      BAIReal sum[4] = {0, 0, 0, 0};

#pragma unroll
      for (int c = 0; c < LEN; c++)
        if (!INSIDE || c < inside[k]) sum[c % 4] += a[k][c] * v[c % 2 ? j[k][c / 2] >> 16 : j[k][c / 2] & 0xffff];
      out[k] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
};

/* The entries in shared memory, row by row; some lanes of a warp take part in a row */
template <int EACH>
class InShared {
  const BAIReal        *a;
  const int            *first;
  const unsigned short *inside, *j;

public:
  static constexpr int ROWS_EACH = EACH, SWEEPS = 1, IN_FLIGHT = 4;

  template <class Team>
  __device__ void Read(const Team &t, unsigned char *shared)
  {
    const BAIKrylovMatrix &A    = t.p.A;
    const int             *from = A.first + (size_t)blockIdx.x * (A.rows_most + 1), count = from[t.rows];
    BAIReal               *to    = reinterpret_cast<BAIReal *>(shared);
    int                   *begin = reinterpret_cast<int *>(to + A.entries_most);
    unsigned short        *in = reinterpret_cast<unsigned short *>(begin + A.rows_most + 1), *col = in + A.rows_most;

    for (int k = (int)threadIdx.x; k < count; k += (int)blockDim.x) {
      to[k]  = A.a[(size_t)blockIdx.x * A.entries_most + k];
      col[k] = A.j[(size_t)blockIdx.x * A.entries_most + k];
    }
    for (int l = (int)threadIdx.x; l <= t.rows; l += (int)blockDim.x) {
      begin[l] = from[l];
      if (l < t.rows) in[l] = A.inside[(size_t)blockIdx.x * A.rows_most + l];
    }
    a      = to;
    j      = col;
    first  = begin;
    inside = in;
  }

  template <bool INSIDE, class Team>
  __device__ void Multiply(const Team &t, const BAIReal *v, BAIReal (&out)[EACH]) const
  {
    const int lanes = t.p.A.lanes[blockIdx.x], per_warp = WARP / lanes, lane = (int)threadIdx.x % lanes,
              step = t.owners / WARP * per_warp;

    for (int base = (int)threadIdx.x / WARP * per_warp; base < t.rows; base += step) { /* the same for all lanes */
      const int l     = base + (int)threadIdx.x % WARP / lanes;
      const int begin = l < t.rows ? first[l] : 0, end = l >= t.rows ? 0 : INSIDE ? begin + inside[l] : first[l + 1];
      BAIReal   sum[4] = {0, 0, 0, 0};

      for (int k = begin + lane; k < end; k += 4 * lanes) {
#pragma unroll
        for (int w = 0; w < 4; w++) {
          const int at = k + w * lanes;

          if (at < end) sum[w] += a[at] * v[j[at]];
        }
      }
      sum[0] += sum[1] + (sum[2] + sum[3]);
      __syncwarp();
      for (int o = lanes / 2; o; o /= 2) sum[0] += __shfl_xor_sync(~0u, sum[0], o);
      if (!lane && l < t.rows) t.room.product[l] = sum[0];
    }
    Meet(ROWS, t.owners);
#pragma unroll
    for (int k = 0; k < EACH; k++) out[k] = t.Row(k) < t.rows ? t.room.product[t.Row(k)] : 0;
  }
};

/* m = M g. Threads that have rows */
template <class Matrix, class Team, int EACH>
__device__ inline void Precondition(const Matrix &A, Team &t, const Weights<Matrix::SWEEPS> &weights,
                                    const BAIReal (&g)[EACH], BAIReal (&m)[EACH])
{
  BAIReal step[EACH];

#pragma unroll
  for (int k = 0; k < EACH; k++) m[k] = step[k] = weights.b[0] * g[k];
  for (int sweep = 1; sweep < weights.sweeps; sweep++) {
    BAIReal *y = (weights.sweeps - 1 - sweep) % 2 ? t.room.v : t.room.y; /* at last v is free for the exchange */
    BAIReal  product[EACH];

#pragma unroll
    for (int k = 0; k < EACH; k++)
      if (t.Row(k) < t.rows) y[t.Row(k)] = m[k];
    t.MeetRows();
    A.template Multiply<true>(t, y, product);
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      step[k] = weights.a[sweep] * step[k] + weights.b[sweep] * (g[k] - m[k] - product[k]);
      m[k] += step[k];
    }
  }
}

/* Where vectors are between launches */
template <class Team, int EACH>
__device__ inline void Keep(const Team &t, int number, bool read, BAIReal (&v)[EACH])
{
  BAIReal *at = t.p.saved + ((size_t)number * t.p.A.parts + blockIdx.x) * t.p.A.rows_most;

#pragma unroll
  for (int k = 0; k < EACH; k++) {
    if (t.Row(k) >= t.rows) continue;
    if (read) v[k] = at[t.Row(k)];
    else at[t.Row(k)] = v[k];
  }
}

/* r = L b; base = R^{-1} x, or zero. What the next launch exchanges by is made to look old */
template <class Team, int EACH>
__device__ inline void ReadVectors(const Team &t, BAIReal (&r)[EACH])
{
  const Problem       &p = t.p;
  const BAIReal *const b = p.b + System() * p.to_b, *const x = p.x + System() * p.to_x;
  BAIReal *const other = p.other + BUFFERS * System() * (unsigned)(p.A.parts * p.A.rows_most);

#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int at = (int)blockIdx.x * p.A.rows_most + t.Row(k), row = t.Row(k) < t.rows ? p.A.row[at] : -1;

    r[k] = 0;
    if (row < 0) continue;
    other[at] = other[(size_t)p.A.parts * p.A.rows_most + at] = Tagged(BAIReal(0), 1);
    const BAIReal left                                        = p.A.left[at];

    r[k]                    = left * b[row];
    t.room.base[t.Row(k)]   = p.zero ? 0 : x[row] / p.A.right[at];
    t.room.weight[t.Row(k)] = 1 / (left * left);
  }
}

/* r = L b - n */
template <class Team, int EACH>
__device__ inline void Residual(const Team &t, const BAIReal (&n)[EACH], BAIReal (&r)[EACH])
{
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int at = (int)blockIdx.x * t.p.A.rows_most + t.Row(k);

    r[k] = t.Row(k) < t.rows ? t.p.A.left[at] * t.p.b[System() * t.p.to_b + t.p.A.row[at]] - n[k] : 0;
  }
}

/* base + x goes to the caller */
template <class Team, int EACH>
__device__ inline void WriteVectors(const Team &t, const BAIReal (&x)[EACH])
{
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int at = (int)blockIdx.x * t.p.A.rows_most + t.Row(k);

    if (t.Row(k) < t.rows)
      t.p.x[System() * t.p.to_x + t.p.A.row[at]] = t.p.A.right[at] * (t.room.base[t.Row(k)] + x[k]);
  }
}

/* The vectors of a launch that goes on, the first of which is x; what the caller has is base + x */
template <class Team, int EACH, int VECTORS>
__device__ inline void Resume(const Team &t, BAIReal (*const (&vectors)[VECTORS])[EACH])
{
#pragma unroll
  for (int k = 0; k < VECTORS; k++) Keep(t, k, true, *vectors[k]);
#pragma unroll
  for (int k = 0; k < EACH; k++)
    if (t.Row(k) < t.rows) t.room.base[t.Row(k)] -= (*vectors[0])[k];
}

/* The same for the next launch */
template <class Team, int EACH, int VECTORS>
__device__ inline void Leave(const Team &t, BAIReal (*const (&vectors)[VECTORS])[EACH])
{
#pragma unroll
  for (int k = 0; k < VECTORS; k++) Keep(t, k, false, *vectors[k]);
}

/* base = base + x, x = 0, m = base */
template <class Team, int EACH>
__device__ inline void TakeCorrection(const Team &t, BAIReal (&x)[EACH], BAIReal (&m)[EACH])
{
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    if (t.Row(k) < t.rows) t.room.base[t.Row(k)] += x[k];
    x[k] = 0;
  }
#pragma unroll
  for (int k = 0; k < EACH; k++) m[k] = t.Row(k) < t.rows ? t.room.base[t.Row(k)] : 0;
}

template <int N>
__device__ inline Room RoomOf(const BAIKrylovMatrix &A, unsigned char *shared, unsigned char **rest)
{
  Room room;

  room.v       = reinterpret_cast<BAIReal *>(shared);
  room.y       = room.v + A.rows_most + A.halo_most;
  room.base    = room.y + A.rows_most;
  room.weight  = room.base + A.rows_most;
  room.red     = room.weight + A.rows_most;
  room.product = room.red + 2 * N * WARP;
  *rest        = reinterpret_cast<unsigned char *>(room.product + (A.width ? 0 : A.rows_most));
  return room;
}

/* What comes next in CG */
enum {
  CG_X,    /* r = b - A x, */
  CG_NORM, /* its norm, */
  CG_U,    /* u = M r and w = A u, and the norm if it is not known */
  CG_ITERATE
};

/* The last warp of CG: sums, and what follows from them; scalar has 1/gamma and 1/alpha of the last iteration */
__device__ inline void ControlCG(Team &t, Step &step, int next)
{
  Cold       cold;
  Control    c(t.p, &cold);
  Sums<3, 4> sums(t.p);
  int        finer = 0, lent = 0; /* word 0 adds up D^-1 r where that is not to be seen in the bits of iterations */

  while (next != LEAVE) {
    const int now = next;
    double    total[3];

    Meet(GIVEN, (int)blockDim.x);
    if (now != CG_ITERATE) lent = sums.Lend(0, 2, finer);
    const bool   made  = sums.Make(t,
                                now == CG_ITERATE                                 ? 7
                                     : t.p.scaled > 0 && (c.first || now == CG_NORM) ? 5
                                                                                     : 4,
                                   total);
    const double gamma = total[0], beta = gamma * c.scalar[0], length = total[1] - beta * gamma * c.scalar[1];
    const bool   stays = now == CG_ITERATE && c.its >= t.p.until;

    if (!made) next = LEAVE;
    else if (now == CG_X) {
      c.Guess(total[2], total[0]);
      next = CG_NORM;
    } else if (now == CG_NORM) next = c.Ends(t.p, total[2], total[0]) ? LEAVE : CG_U;
    else if (now == CG_U) next = c.first && c.Ends(t.p, total[2], total[0]) ? LEAVE : CG_ITERATE;
    else if (stays) {
      c.rnorm2 = total[2];
      next     = LEAVE;
    } else if (c.Looks(t.p, total[2], !(gamma > 0) || !(length > 0))) next = CG_X;
    if ((int)threadIdx.x == t.owners)
      step = Step{next, made && stays, (BAIReal)(gamma * __drcp_rn(length)), (BAIReal)beta, 0};
    t.MeetAll(now != CG_NORM);
    sums.Adjust();
    if (now != CG_ITERATE) sums.Return(0, 2, lent, finer);
    if (now == CG_U) c.scalar[0] = c.scalar[1] = 0;
    if (now == CG_ITERATE && next == CG_ITERATE) {
      c.its++;
      c.scalar[0] = __drcp_rn(Later(gamma));
      c.scalar[1] = length * c.scalar[0];
    }
  }
  c.End(t.p);
  sums.End(t);
}

template <class Matrix, int THREADS>
__global__ void __launch_bounds__(THREADS + WARP, 1) ConjugateGradients(const __grid_constant__ Problem p)
{
  constexpr int     EACH = Matrix::ROWS_EACH;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Step                               step;
  unsigned char                                *rest;
  const Room                                    room = RoomOf<4>(p.A, shared, &rest);
  __shared__ Weights<Matrix::SWEEPS> weights;
  Team                               t(p, room);
  Matrix                             A;
  int                                next = p.resume ? (p.finish < 0 ? CG_ITERATE : CG_X) : p.zero ? CG_U : CG_X;

  A.Read(t, rest);
  for (int k = (int)threadIdx.x; k < 2 * 4 * WARP; k += (int)blockDim.x) room.red[k] = 0;
  if (!threadIdx.x) weights.Find((double)p.A.heaviest[blockIdx.x], true);
  __syncthreads();
  if (t.MakesSums()) {
    ControlCG(t, step, next);
    return;
  }
  BAIReal x[EACH] = {}, r[EACH], u[EACH] = {}, w[EACH] = {}, z[EACH] = {}, q[EACH] = {}, s[EACH] = {}, d[EACH] = {};

  ReadVectors(t, r);
  if (p.resume) Resume(t, {&x, &r, &u, &w, &z, &q, &s, &d});
  while (true) {
    BAIReal value[4] = {0, 0, 0, 0}, m[EACH], n[EACH];

#pragma unroll
    for (int k = 0; k < EACH; k++) {
      value[0] += r[k] * u[k];
      value[1] += w[k] * u[k];
      if (t.Row(k) < t.rows) value[2] += r[k] * r[k] * room.weight[t.Row(k)];
    }
    if (next != CG_ITERATE) { /* word 0 is the norm of D^-1 r, as L is R */
      value[0] = 0;
#pragma unroll
      for (int k = 0; k < EACH; k++)
        if (t.Row(k) < t.rows) value[0] += r[k] * r[k] / room.weight[t.Row(k)];
    }
    t.Give(value);
    if (next == CG_X) {
      TakeCorrection(t, x, m);
    } else if (next != CG_NORM) Precondition(A, t, weights, next == CG_U ? r : w, m);
    if (next != CG_NORM) {
      t.template Exchange<Matrix::IN_FLIGHT>(m);
      A.template Multiply<false>(t, room.v, n);
#pragma unroll
      for (int k = 0; k < EACH; k++) n[k] += m[k];
    }
    const int now = next;

    t.MeetAll(now != CG_NORM);
    const Step go = step;

    next = go.next;
    if (next == LEAVE) break;
    if (now == CG_X) {
      Residual(t, n, r);
#pragma unroll
      for (int k = 0; k < EACH; k++) z[k] = q[k] = s[k] = d[k] = 0;
    }
    if (now == CG_U) {
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        u[k] = m[k];
        w[k] = n[k];
      }
    }
    if (now != CG_ITERATE || next != CG_ITERATE) continue;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      z[k] = n[k] + go.beta * z[k];
      q[k] = m[k] + go.beta * q[k];
      s[k] = w[k] + go.beta * s[k];
      d[k] = u[k] + go.beta * d[k];
      x[k] += go.alpha * d[k];
      r[k] -= go.alpha * s[k];
      u[k] -= go.alpha * q[k];
      w[k] -= go.alpha * z[k];
    }
  }
  if (step.stays) Leave(t, {&x, &r, &u, &w, &z, &q, &s, &d});
  WriteVectors(t, x);
}

/* What comes next in BiCGStab */
enum {
  BCGS_X,     /* r = b - A x, */
  BCGS_BEGIN, /* its norm, */
  BCGS_D,     /* v = A M d, */
  BCGS_R      /* t = A M r */
};

/* The last warp of BiCGStab; scalar has rho, the product of r and the shadow, and alpha */
__device__ inline void ControlBCGS(Team &t, Step &step, int next)
{
  Cold       cold;
  Control    c(t.p, &cold);
  Sums<5, 8> sums(t.p);

  while (next != LEAVE) {
    const int now = next;
    double    sum[5], along = 0, beta = 0;

    Meet(GIVEN, (int)blockDim.x);
    if (!sums.Make(t, now == BCGS_R ? 7 : now == BCGS_BEGIN || c.first ? 3 : 1, sum)) next = LEAVE;
    else if (now == BCGS_X) {
      c.Guess(sum[0], sum[1]);
      next = BCGS_BEGIN;
    } else if (now == BCGS_BEGIN) {
      next        = c.Ends(t.p, sum[0], sum[1]) ? LEAVE : BCGS_D;
      c.scalar[0] = sum[1];
    } else if (now == BCGS_D) {
      c.scalar[1] = c.scalar[0] / sum[0];
      next        = isfinite(c.scalar[1]) ? BCGS_R : BCGS_X;
      if (next == BCGS_X && c.its == c.begun) c.reason = BAI_LEVELS_INDEFINITE;
    } else {
      along            = sum[1] > 0 ? sum[0] / sum[1] : 0;
      const double rho = sum[3] - along * sum[4], norm2 = sum[2] - along * (2 * sum[0] - along * sum[1]);

      beta        = rho / c.scalar[0] * (c.scalar[1] / along);
      c.scalar[0] = rho;
      c.its++;
      next = c.Looks(t.p, norm2 > 0 ? norm2 : 0, !isfinite(beta) || rho == 0) ? BCGS_X : BCGS_D;
      if (!isfinite(beta)) beta = 0;
    }
    const bool stays = next == BCGS_D && c.its >= t.p.until;

    if (stays) next = LEAVE;
    if ((int)threadIdx.x == t.owners) step = Step{next, stays, (BAIReal)c.scalar[1], (BAIReal)beta, (BAIReal)along};
    t.MeetAll(now != BCGS_BEGIN);
    sums.Adjust();
  }
  c.End(t.p);
  sums.End(t);
}

/* n = A M of what is exchanged, of which m = M; and a thread's share of the sums that are asked for */
template <int EACH>
__device__ inline void AddProducts(const Team &t, int next, const BAIReal (&r)[EACH], const BAIReal (&shadow)[EACH],
                                   const BAIReal (&m)[EACH], BAIReal (&n)[EACH], BAIReal (&value)[8])
{
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const BAIReal weight = t.Row(k) < t.rows ? t.room.weight[t.Row(k)] : 0;

    if (next != BCGS_BEGIN) n[k] += m[k];
    if (next == BCGS_D) value[0] += shadow[k] * n[k];
    else if (next == BCGS_R) {
      value[0] += n[k] * r[k] * weight;
      value[1] += n[k] * n[k] * weight;
      value[2] += r[k] * r[k] * weight;
      value[3] += shadow[k] * r[k];
      value[4] += shadow[k] * n[k];
    } else {
      value[0] += r[k] * r[k] * weight;
      value[1] += r[k] * r[k]; /* of D^-1 r as well, as L is D^-1 here */
    }
  }
}

template <class Matrix, int THREADS>
__global__ void __launch_bounds__(THREADS + WARP, 1) BiConjugateGradients(const __grid_constant__ Problem p)
{
  constexpr int     EACH = Matrix::ROWS_EACH;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Step                               step;
  unsigned char                                *rest;
  const Room                                    room = RoomOf<8>(p.A, shared, &rest);
  __shared__ Weights<Matrix::SWEEPS> weights;
  Team                               t(p, room);
  Matrix                             A;
  int                                next = p.resume ? (p.finish < 0 ? BCGS_D : BCGS_X) : p.zero ? BCGS_BEGIN : BCGS_X;

  A.Read(t, rest);
  for (int k = (int)threadIdx.x; k < 2 * 8 * WARP; k += (int)blockDim.x) room.red[k] = 0;
  if (!threadIdx.x) weights.Find((double)p.A.heaviest[blockIdx.x], false);
  __syncthreads();
  if (t.MakesSums()) {
    ControlBCGS(t, step, next);
    return;
  }
  BAIReal x[EACH] = {}, r[EACH], shadow[EACH] = {}, d[EACH] = {}, v[EACH] = {};

  ReadVectors(t, r);
  if (p.resume) Resume(t, {&x, &r, &shadow, &d});
  while (true) {
    BAIReal value[8] = {0, 0, 0, 0, 0, 0, 0, 0}, m[EACH], n[EACH];

    if (next == BCGS_X) {
      TakeCorrection(t, x, m);
    } else if (next != BCGS_BEGIN) Precondition(A, t, weights, next == BCGS_D ? d : r, m);
    if (next != BCGS_BEGIN) {
      t.template Exchange<Matrix::IN_FLIGHT>(m);
      A.template Multiply<false>(t, room.v, n);
    }
    AddProducts(t, next, r, shadow, m, n, value);
    t.Give(value);
    const int now = next;

    t.MeetAll(now != BCGS_BEGIN);
    const Step go = step;

    next = go.next;
    if (now == BCGS_X) Residual(t, n, r);
    if (now == BCGS_BEGIN) {
#pragma unroll
      for (int k = 0; k < EACH; k++) shadow[k] = d[k] = r[k];
    }
    if (now == BCGS_D && next == BCGS_R) {
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        v[k] = n[k];
        x[k] += go.alpha * m[k];
        r[k] -= go.alpha * v[k];
      }
    }
    if (now == BCGS_R) {
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        x[k] += go.step * m[k];
        r[k] -= go.step * n[k];
        d[k] = r[k] + go.beta * (d[k] - go.step * v[k]);
      }
    }
    if (next == LEAVE) break;
  }
  if (step.stays) Leave(t, {&x, &r, &shadow, &d});
  WriteVectors(t, x);
}

/* A kernel: for rows of so many entries beside the diagonal, of which a thread has so many; at most so many threads
 * have rows */
struct Shape {
  int         length, each, threads;
  const void *kernel[2]; /* CG, BiCGStab */
};

template <class Matrix, int THREADS>
Shape ShapeOf(int length)
{
  return {
    length,
    Matrix::ROWS_EACH,
    THREADS,
    {(const void *)ConjugateGradients<Matrix, THREADS>, (const void *)BiConjugateGradients<Matrix, THREADS>}
  };
}

/* The first that does is taken; length 0: rows of any length */
const Shape shapes[] = {ShapeOf<InRegisters<1, 8>, 608>(8), ShapeOf<InRegisters<2, 8>, 480>(8),
                        ShapeOf<InRegisters<1, 32>, 224>(32), ShapeOf<InShared<4>, 480>(0)};
} // namespace

/* Shared memory of a thread block */
static size_t SharedOf(const BAIKrylovMatrix &A, bool bicgstab)
{
  const size_t sums  = bicgstab ? 8 : 4;
  size_t       bytes = ((size_t)A.rows_most * 4 + (size_t)A.halo_most + 2 * sums * WARP) * sizeof(BAIReal);

  if (!A.width)
    bytes += ((size_t)A.rows_most + (size_t)A.entries_most) * sizeof(BAIReal) +
      ((size_t)A.rows_most + 1) * sizeof(int) + ((size_t)A.rows_most + (size_t)A.entries_most) * sizeof(unsigned short);
  return bytes;
}

int BAIKrylovShapes(void)
{
  return (int)(sizeof(shapes) / sizeof(shapes[0]));
}

void BAIKrylovLimits(int shape, int *length, int *rows)
{
  *length = shapes[shape].length;
  *rows   = shapes[shape].each * shapes[shape].threads;
}

BAIStatus BAIKrylovPlan(BAILevelsState state, int shape, BAIKrylovParts *parts, bool *fits)
{
  int device, most, blocks;

  *fits = false;
  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  parts->kernel  = shapes[shape].kernel[state->krylov.bicgstab];
  parts->shared  = SharedOf(parts->A, state->krylov.bicgstab);
  parts->threads = (parts->A.rows_most + shapes[shape].each - 1) / shapes[shape].each;
  parts->threads = (parts->threads + WARP - 1) / WARP * WARP + WARP;
  if (!parts->A.width) parts->threads = shapes[shape].threads + WARP;
  if (parts->shared + 1024 > (size_t)most) return BAIStatusOf(BAI_OK);
  BAITry(BAIAllowShared(parts->kernel, parts->shared));
  CUDATry(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, parts->kernel, parts->threads, parts->shared));
  parts->at_once = blocks * state->processors / parts->A.parts;
  *fits          = parts->at_once > 0;
  return BAIStatusOf(BAI_OK);
}

static size_t PlacesOf(const BAIKrylovParts &parts)
{
  return (size_t)parts.A.parts * (size_t)parts.A.rows_most;
}

/* What is exchanged begins anew: at first, and after a launch that gave up */
static BAIStatus Reset(BAILevelsState state, const BAIKrylovParts &parts, BAIKrylovBuffers *buffers, int systems)
{
  const size_t n = (size_t)systems;

  CUDATry(cudaMemsetAsync(buffers->exchange, 0xff, n * BUFFERS * PlacesOf(parts) * sizeof(BAIReal), state->s.stream));
  CUDATry(cudaMemsetAsync(buffers->words, 0, n * 2 * LINE * sizeof(Word), state->s.stream));
  CUDATry(cudaMemsetAsync(buffers->left, 0, n * sizeof(*buffers->left), state->s.stream));
  buffers->odd = 0;
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Allocate(BAILevelsState state, const BAIKrylovParts &parts, BAIKrylovBuffers *buffers, int systems)
{
  const size_t n = (size_t)systems;

  BAITry(BAICUDAAllocate(&state->s, n * BUFFERS * PlacesOf(parts) * sizeof(BAIReal), &buffers->exchange));
  BAITry(BAICUDAAllocate(&state->s, n * 2 * LINE * sizeof(Word), &buffers->words));
  BAITry(BAICUDAAllocate(&state->s, n * sizeof(*buffers->left), &buffers->left));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIKrylovPrepare(BAILevelsState state)
{
  BAIKrylovState_ &k = state->krylov;

  BAITry(Allocate(state, k.one, &k.single, 1));
  BAITry(BAICUDAAllocate(&state->s, sizeof(*k.stalled), &k.stalled));
  CUDATry(cudaMemsetAsync(k.stalled, 0, sizeof(*k.stalled), state->s.stream));
  BAITry(BAIDeviceListen(state));
  return Reset(state, k.one, &k.single, 1);
}

/* So many systems at once */
static BAIStatus Launch(BAILevelsState state, const BAIKrylovParts &parts, BAIKrylovBuffers *buffers, int systems,
                        Problem *p)
{
  const size_t half        = BUFFERS / 2 * PlacesOf(parts);
  void        *arguments[] = {p};

  p->A         = parts.A;
  p->words     = buffers->words;
  p->left      = buffers->left;
  p->exchange  = buffers->exchange + (buffers->odd ? half : 0);
  p->other     = buffers->exchange + (buffers->odd ? 0 : half);
  buffers->odd = !buffers->odd;
  CUDATry(cudaLaunchCooperativeKernel(parts.kernel, dim3((unsigned)parts.A.parts, (unsigned)systems),
                                      dim3((unsigned)parts.threads), arguments, parts.shared, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* For the launches so far */
static BAIStatus Wait(BAILevelsState state)
{
  BAIKrylovState_ &k = state->krylov;

  BAITry(BAICUDAWait(&state->s));
  if (!state->told->krylov.stalled) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemsetAsync(k.stalled, 0, sizeof(*k.stalled), state->s.stream));
  BAITry(Reset(state, k.one, &k.single, 1));
  return BAIStatusBecause(BAI_ERR_STALLED, "a solve on the chip", "a thread block waited too long for another");
}

static BAIStatus LaunchOne(BAILevelsState state, Problem *p)
{
  state->told->krylov.stalled = 0;
  BAITry(Launch(state, state->krylov.one, &state->krylov.single, 1, p));
  return Wait(state);
}

/* A launch an iteration, as somebody looks at each: the x of that is where the caller has it */
static BAIStatus Watched(BAILevelsState state, Problem *p, BAILevelsMonitor monitor, void *context)
{
  BAIKrylovState_ &k      = state->krylov;
  const size_t     bytes  = BAI_KRYLOV_VECTORS * PlacesOf(k.one) * sizeof(BAIReal);
  const int        max_it = p->max_it;

  if (!k.saved) BAITry(BAICUDAAllocate(&state->s, bytes, &k.saved));
  p->saved  = k.saved;
  p->until  = 0;
  p->max_it = INT_MAX; /* launches end before that */
  BAITry(LaunchOne(state, p));
  p->zero = 0; /* launches that go on read the x that the one before has left */
  while (true) {
    const int its = p->result->its;

    if (p->result->reason != -1) break;
    if (monitor(context, (BAIInt)its, (BAIReal)sqrt(p->result->rnorm2))) {
      p->finish = BAI_LEVELS_ITS;
      break;
    }
    p->resume = 1;
    p->bnorm2 = (BAIReal)p->result->bnorm2;
    p->until  = its + 1;
    if (p->until > max_it) p->finish = BAI_LEVELS_ITS;
    if (p->finish >= 0) break;
    BAITry(LaunchOne(state, p));
  }
  if (p->finish < 0) return BAIStatusOf(BAI_OK);
  p->resume = 1;
  p->bnorm2 = (BAIReal)p->result->bnorm2;
  return LaunchOne(state, p);
}

/* A whole solve of the first system */
static Problem ProblemOf(BAILevelsState state, const BAIColumns &c, int guess_zero, const BAITolerances *tolerances)
{
  Problem p = {};

  p.b            = reinterpret_cast<const BAIReal *>(c.b);
  p.x            = reinterpret_cast<BAIReal *>(c.x);
  p.to_b         = (size_t)c.to_b;
  p.to_x         = (size_t)c.to_x;
  p.zero         = guess_zero;
  p.rtol         = tolerances->rtol;
  p.abstol       = tolerances->abstol;
  p.dtol         = tolerances->dtol;
  p.scaled       = tolerances->scaled;
  p.bnorm2       = tolerances->bnorm2;
  p.max_it       = tolerances->max_it < INT_MAX ? (int)tolerances->max_it : INT_MAX - 1;
  p.until        = INT_MAX;
  p.fixed        = tolerances->fixed;
  p.finish       = -1;
  p.stalled      = state->krylov.stalled;
  p.stalled_host = &state->told->krylov.stalled;
  p.result       = &state->told->krylov;
  return p;
}

static BAILevelsSolution SolutionOf(const BAIKrylovResult &told)
{
  BAILevelsSolution s = {};

  s.rnorm    = (BAIReal)sqrt(told.rnorm2);
  s.bnorm    = (BAIReal)sqrt(told.bnorm2);
  s.rnorm0   = (BAIReal)sqrt(told.rnorm2_begin);
  s.scaled   = (BAIReal)sqrt(told.scaled2);
  s.scaled_b = (BAIReal)sqrt(told.scaled_b2);
  s.its      = (BAIInt)told.its;
  s.reason   = told.reason < 0 ? BAI_LEVELS_ITS : (BAILevelsReason)told.reason;
  return s;
}

BAIStatus BAIKrylovSolve(BAILevelsState state, const BAIScalar *b, BAIScalar *x, int guess_zero,
                         const BAITolerances *tolerances, BAILevelsMonitor monitor, void *context, BAILevelsSolution *s)
{
  const BAIColumns c = {1, b, x, 0, 0};
  Problem          p = ProblemOf(state, c, guess_zero, tolerances);

  if (monitor) BAITry(Watched(state, &p, monitor, context));
  else BAITry(LaunchOne(state, &p));
  *s = SolutionOf(state->told->krylov);
  return BAIStatusOf(BAI_OK);
}

/* As many at once as there is room for, in launches that follow each other */
BAIStatus BAIKrylovSolveColumns(BAILevelsState state, const BAIColumns *c, int guess_zero,
                                const BAITolerances *tolerances, BAILevelsSolution *solution)
{
  const int       n     = (int)c->count;
  const size_t    bytes = (size_t)n * sizeof(BAIKrylovResult);
  BAIKrylovParts *parts;
  BAITemporary    room;
  Problem         p = ProblemOf(state, *c, guess_zero, tolerances);

  if (n < 2)
    return n ? BAIKrylovSolve(state, c->b, c->x, guess_zero, tolerances, NULL, NULL, solution) : BAIStatusOf(BAI_OK);
  std::vector<BAIKrylovResult> told((size_t)n);

  BAITry(BAIKrylovPartsFor(state, n, &parts));
  if (!parts->columns.left) BAITry(Allocate(state, *parts, &parts->columns, parts->at_once));
  BAITry(Reset(state, *parts, &parts->columns, n < parts->at_once ? n : parts->at_once));
  BAITry(room.Allocate(&state->s, bytes));
  CUDATry(cudaMemsetAsync(room.p, 0, bytes, state->s.stream));
  state->told->krylov.stalled = 0;
  p.result                    = static_cast<BAIKrylovResult *>(room.p);
  for (int first = 0, count; first < n; first += count) {
    count = n - first < parts->at_once ? n - first : parts->at_once;
    BAITry(Launch(state, *parts, &parts->columns, count, &p));
    p.b += (size_t)count * p.to_b;
    p.x += (size_t)count * p.to_x;
    p.result += count;
  }
  CUDATry(cudaMemcpyAsync(told.data(), room.p, bytes, cudaMemcpyDeviceToHost, state->s.stream));
  BAITry(Wait(state));
  for (int k = 0; k < n; k++) solution[k] = SolutionOf(told[(size_t)k]);
  return BAIStatusOf(BAI_OK);
}
