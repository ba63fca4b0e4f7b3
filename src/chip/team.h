/*
   A thread block of a solve on the chip: its last warp makes sums, the other threads have the rows of a part. The
   exchange of vectors between thread blocks, and the arguments of a launch

   Exchange number e has a buffer, e & 1, and a tag, e >> 1 & 1, which replaces the lowest bit of each number. A number
   with the right tag is new, so loads and stores are relaxed, and nothing else depends on their order. A thread block
   publishes e + 2 only after sums to which all contribute after they have read e, so two buffers are enough. Each
   launch counts from zero, so that solves have the same bits. It has its own buffers, which the previous launch made
   look old; and it does so for the next launch.

   A launch may solve several systems with the same matrix and different b: thread blocks with blockIdx.y = k have
   system k, with its own sums and buffers. So systems do not wait for each other, and while one waits another one works
   on the same multiprocessor. More systems than fit take several launches.

   No thread block waits for one that is not running, as the launch is cooperative; and every wait is bounded
*/
#pragma once

#include "../common/cuda/spin.h"
#include "chip.h"

namespace {
enum {
  WARP = BAI_LANES
};

struct Problem {
  BAIChipMatrix       A;
  const BAIReal      *b;
  BAIReal            *x;
  size_t              to_b, to_x;               /* distances between systems */
  BAIReal            *exchange, *other, *saved; /* buffers of this launch, and of the next one */
  unsigned long long *words;
  BAIChipLeft        *left;
  int                 zero; /* the initial x is zero */
  BAITolerances       t;    /* tolerances without max_it; fixed: nothing ends before max_it, and stalls are ignored */
  int                 resume, until, max_it;
  int                 finish; /* a BAILevelsReason for which the solve must end, or -1 */
  int                *stalled, *stalled_host;
  BAIChipResult      *result;
};

/* The value with tag as its lowest bit; and whether the lowest bit of a value is not tag */
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

/* The number of the system, which is read each time, as no register is free for it */
__device__ inline unsigned System(void)
{
  unsigned system;

  asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(system));
  return system;
}

/* Whether a wait must be given up, after some ten seconds, or because another thread has given up */
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

/* Returns value; the compiler cannot move computations with the result before this point */
__device__ inline double Later(double value)
{
  asm volatile("" : "+d"(value));
  return value;
}

/* Barriers of some threads of a thread block */
enum {
  GIVEN = 1, /* shares of sums are ready; all threads take part, as in TAKEN */
  ROWS,      /* the threads that have rows */
  TAKEN      /* sums are ready for all */
};
/* Waits until this number of threads is at the barrier, this one included */
__device__ inline void Meet(int barrier, int threads)
{
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/* Sums N numbers over the lanes of a warp by halving: lane l ends with the sum of number l / (WARP / N) in value[0] */
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

/* Shared memory of a thread block. v: the vector that its rows read, own places and halos; y: for sweeps; base: the x
   at which the recurrences began; weight: factors that turn r^2 into the square of b - A x; red: shares of sums by
   warp */
struct Room {
  BAIReal *v, *y, *base, *weight, *red, *product;
};

/* The thread block: the last warp makes sums, the others have the rows */
struct Team {
  const Problem &p;
  Room           room;
  int            owners, rows, halos;
  unsigned       exchange = 0, meeting = 0; /* number of exchanges of vectors, and of meetings of all threads */
  bool           given = false;             /* the last warp is waiting for shares of sums */

  __device__ Team(const Problem &p, Room room)
      : p(p), room(room), owners((int)blockDim.x - WARP), rows(p.A.rows[blockIdx.x]), halos(p.A.halos[blockIdx.x])
  {
  }
  __device__ bool MakesSums() const { return (int)threadIdx.x >= owners; }
  /* The place of this thread's k-th row, which may be beyond rows */
  __device__ int Row(int k) const { return (int)threadIdx.x + k * owners; }

  /* Gives this thread's share of sums to the last warp, which has it at the next meeting; by threads that have rows */
  template <int N>
  __device__ void Give(BAIReal (&value)[N])
  {
    const int lane = (int)threadIdx.x % WARP;

    SumUpWarp<N>(value);
    if (lane % (WARP / N) == 0)
      room.red[((meeting & 1) * N + lane / (WARP / N)) * WARP + (int)threadIdx.x / WARP] = value[0];
    given = true;
  }
  /* Meeting of the threads that have rows, and after Give() of the last warp too, which then has their shares */
  __device__ void MeetRows()
  {
    Meet(given ? GIVEN : ROWS, given ? (int)blockDim.x : owners);
    given = false;
  }

  /* Meeting after which all threads know the decision of the last warp; exchanged: vectors were exchanged since the
     last meeting */
  __device__ void MeetAll(bool exchanged)
  {
    if (given) MeetRows();
    Meet(TAKEN, (int)blockDim.x);
    meeting++;
    exchange += exchanged;
  }

  /* v = m, which gets the tag, in all places read here, own ones and halos; by threads that have rows */
  template <int IN_FLIGHT, int EACH>
  __device__ void Exchange(BAIReal (&m)[EACH])
  {
    const int      buffer = (int)(exchange & 1), tag = (int)(exchange >> 1 & 1);
    BAIReal *const all  = p.exchange + (BAI_CHIP_BUFFERS * System() + buffer) * (unsigned)(p.A.parts * p.A.rows_most);
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

/* Reads or writes a vector between launches */
template <int EACH>
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

/* r = L b; base = R^{-1} x, or zero. Makes the buffers of the next launch look old */
template <int EACH>
__device__ inline void ReadVectors(const Team &t, BAIReal (&r)[EACH])
{
  const Problem       &p = t.p;
  const BAIReal *const b = p.b + System() * p.to_b, *const x = p.x + System() * p.to_x;
  BAIReal *const other = p.other + BAI_CHIP_BUFFERS * System() * (unsigned)(p.A.parts * p.A.rows_most);

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
template <int EACH>
__device__ inline void Residual(const Team &t, const BAIReal (&n)[EACH], BAIReal (&r)[EACH])
{
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int at = (int)blockIdx.x * t.p.A.rows_most + t.Row(k);

    r[k] = t.Row(k) < t.rows ? t.p.A.left[at] * t.p.b[System() * t.p.to_b + t.p.A.row[at]] - n[k] : 0;
  }
}

/* Stores base + x in the caller's x */
template <int EACH>
__device__ inline void WriteVectors(const Team &t, const BAIReal (&x)[EACH])
{
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int at = (int)blockIdx.x * t.p.A.rows_most + t.Row(k);

    if (t.Row(k) < t.rows)
      t.p.x[System() * t.p.to_x + t.p.A.row[at]] = t.p.A.right[at] * (t.room.base[t.Row(k)] + x[k]);
  }
}

/* Reads the vectors of a launch that continues a solve, the first of which is x; the caller's x is base + x */
template <int EACH, int VECTORS>
__device__ inline void Resume(const Team &t, BAIReal (*const (&vectors)[VECTORS])[EACH])
{
#pragma unroll
  for (int k = 0; k < VECTORS; k++) Keep(t, k, true, *vectors[k]);
#pragma unroll
  for (int k = 0; k < EACH; k++)
    if (t.Row(k) < t.rows) t.room.base[t.Row(k)] -= (*vectors[0])[k];
}

/* Keeps the vectors for the next launch */
template <int EACH, int VECTORS>
__device__ inline void Leave(const Team &t, BAIReal (*const (&vectors)[VECTORS])[EACH])
{
#pragma unroll
  for (int k = 0; k < VECTORS; k++) Keep(t, k, false, *vectors[k]);
}

/* base = base + x, x = 0, m = base */
template <int EACH>
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

/* Divides shared memory for sets of N sums; rest is set to where the matrix may have its entries */
template <int N>
__device__ inline Room RoomOf(const BAIChipMatrix &A, unsigned char *shared, unsigned char **rest)
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
} // namespace
