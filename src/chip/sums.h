/*
   Reproducible sums over all thread blocks of a system. Each thread block adds its share as a 64-bit integer in units
   of 2^-scale by atomic additions, so the bits do not depend on the order. The lowest bits count the shares. Words are
   never reset; the previous value of a word is subtracted. Two sets of words alternate. All thread blocks choose the
   next scale from the sum, and repeat the sum with another scale if a share is too large, or the sum too small
*/
#pragma once

#include "team.h"

namespace {
enum {
  PARTS   = 8,  /* lowest bits of a word, which count shares */
  SHIFT   = 16, /* bits up to here count shares that are too large */
  USUAL   = 37, /* bits of a sum for which scales are chosen */
  SLACK   = 3,  /* tolerated deviation of these bits */
  MOST    = 47, /* largest number of bits of a sum, so a share may have fewer */
  LEAST   = 26, /* least bits of a sum; with fewer it is repeated with a finer scale */
  COARSER = 8,
  FINEST  = 1000, /* finest scale: what is smaller counts as zero, and what is too large for -FINEST as infinite */
  GROUP   = 4     /* lanes of the summing warp for each word */
};

using Word = unsigned long long;

/* 2^e */
__device__ inline double Power(int e)
{
  return __hiloint2double((1023 + e) << 20, 0);
}

/* Loads two consecutive words, each atomically */
__device__ inline void LoadTwo(const Word *at, Word &first, Word &second)
{
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
}

/* Sums over all thread blocks, by the last warp of each. All its lanes know all words */
template <int SUMS, int N>
class Sums {
  enum {
    COUNT = (1 << PARTS) - 1,
    EVEN  = (SUMS + 1) / 2 * 2
  };
  Word     before[2][EVEN], now[EVEN]; /* previous values of the words in the two sets; amounts of the last sums */
  unsigned round;
  int      scale[SUMS];
  double   unit[SUMS], back[SUMS], most; /* 2^scale, its inverse; largest number of units of a share */

  static __device__ int Lane(void) { return (int)threadIdx.x % WARP; }

public:
  __device__ explicit Sums(const Problem &p) : round(p.left[System()].round), most(Power(MOST) / p.A.parts)
  {
    const BAIChipLeft &left = p.left[System()];

#pragma unroll
    for (int k = 0; k < EVEN; k++) {
      before[0][k] = left.before[0][k];
      before[1][k] = left.before[1][k];
    }
#pragma unroll
    for (int k = 0; k < SUMS; k++) Rescale(k, p.resume ? left.scale[k] : USUAL);
  }

  /* Computes the sums that have a bit in wanted. Returns false if waiting timed out */
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

  /* Chooses the next scales from the last sums */
  __device__ void Adjust(void)
  {
#pragma unroll
    for (int k = 0; k < SUMS; k++) {
      const long long size = llabs((long long)now[k] >> SHIFT);

      if (size && (size >> (USUAL - SLACK) == 0 || size >> (USUAL + SLACK) != 0))
        Rescale(k, scale[k] + USUAL - (64 - __clzll(size)));
    }
  }

  /* Lets word k sum another quantity for now, about 2^-finer times that of word like; returns the scale of the word,
     for Return() */
  __device__ int Lend(int k, int like, int finer)
  {
    const int mine = scale[k];

    Rescale(k, scale[like] + finer);
    return mine;
  }
  /* Restores the scale of the word; finer becomes the actual ratio */
  __device__ void Return(int k, int like, int mine, int &finer)
  {
    finer = scale[k] - scale[like];
    Rescale(k, mine);
  }

  /* Stores the state for the next launch */
  __device__ void End(const Team &t) const
  {
    BAIChipLeft &left = t.p.left[System()];

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
  /* Adds this thread block's share to each word, and waits until all have done so */
  __device__ bool Add(const Problem &p, double share)
  {
    const int  word  = Lane() / GROUP;
    const bool odd   = round & 1;
    Word      *at    = p.words + (2 * System() + odd) * BAI_CHIP_LINE;
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
  /* Changes scales if shares were too large or sums too small, and returns whether to repeat the sums */
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
} // namespace
