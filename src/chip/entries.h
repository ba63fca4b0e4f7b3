/*
   The entries of a part's rows, in registers or in shared memory, and local sweeps with the entries inside the part.

   There are 4 sweeps if rows have few entries, in registers. With more entries a sweep takes longer in comparison with
   the exchange and the sums of an iteration, so there are 2 for rows of up to 32 entries, and 1 if entries are in
   shared memory, so that M g is g
*/
#pragma once

#include "team.h"
#include "tuning.h"

namespace {
/* Weights of at most MOST_SWEEPS sweeps, see systems.cu */
template <int MOST_SWEEPS>
struct Weights {
  int     sweeps; /* 1 if the block is diagonal, with weight 1 */
  BAIReal a[MOST_SWEEPS], b[MOST_SWEEPS];

  /* Finds weights for eigenvalues of at most 1 + heaviest */
  __device__ void Find(double heaviest, bool hermitian)
  {
    if (MOST_SWEEPS == 1) heaviest = 0;
    const double most = 1 + heaviest, least = max(most / BAI_CHIP_SPECTRUM, 1 - heaviest), center = (most + least) / 2,
                 radius = max((most - least) / 2, BAI_CHIP_RADIUS * center), sigma = center / radius;
    double rho = 1 / sigma;

    sweeps = heaviest > 0 ? MOST_SWEEPS : 1;
    for (int k = 0; k < MOST_SWEEPS; k++) {
      const double next = 1 / (2 * sigma - rho);

      a[k] = (BAIReal)(hermitian && k ? rho * next : 0);
      b[k] = (BAIReal)(!hermitian ? min(1.0, BAI_CHIP_DAMPING / most) : k ? 2 * next / radius : 1 / center);
      if (k) rho = next;
    }
  }
};

/* The entries of this thread's rows in registers, at most LEN of each */
template <int EACH, int LEN>
class InRegisters {
  BAIReal  a[EACH][LEN];
  unsigned j[EACH][(LEN + 1) / 2];
  int      inside[EACH];

public:
  static constexpr int ROWS_EACH = EACH, SWEEPS = LEN > 8 ? 2 : 4,
                       IN_FLIGHT = LEN > 8 ? 8 : 2; /* halos that a thread loads at once */

  /* Reads this thread's entries; threads that make sums have none */
  __device__ void Read(const Team &t, unsigned char *)
  {
    const BAIChipMatrix &A     = t.p.A;
    const size_t         begin = (size_t)blockIdx.x * A.width * A.rows_most;

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

  /* out = (A - I) v in this thread's rows; INSIDE: only with entries inside the part */
  template <bool INSIDE>
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

/* The entries in shared memory, row by row; several lanes of a warp share a row */
template <int EACH>
class InShared {
  const BAIReal        *a;
  const int            *first;
  const unsigned short *inside, *j;

public:
  static constexpr int ROWS_EACH = EACH, SWEEPS = 1, IN_FLIGHT = 4;

  /* Copies the part's entries to shared memory, at shared; all threads call it, and a barrier must follow */
  __device__ void Read(const Team &t, unsigned char *shared)
  {
    const BAIChipMatrix &A    = t.p.A;
    const int           *from = A.first + (size_t)blockIdx.x * (A.rows_most + 1), count = from[t.rows];
    BAIReal             *to    = reinterpret_cast<BAIReal *>(shared);
    int                 *begin = reinterpret_cast<int *>(to + A.entries_most);
    unsigned short      *in = reinterpret_cast<unsigned short *>(begin + A.rows_most + 1), *col = in + A.rows_most;

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

  /* As in InRegisters, by all threads that have rows, which meet in it */
  template <bool INSIDE>
  __device__ void Multiply(const Team &t, const BAIReal *v, BAIReal (&out)[EACH]) const
  {
    const int lanes = t.p.A.lanes[blockIdx.x], per_warp = WARP / lanes, lane = (int)threadIdx.x % lanes,
              step = t.owners / WARP * per_warp;

    /* the same number of iterations in all lanes */
    for (int base = (int)threadIdx.x / WARP * per_warp; base < t.rows; base += step) {
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

using ShortRows     = InRegisters<1, 8>;
using ManyShortRows = InRegisters<2, 8>;
using LongRows      = InRegisters<1, 32>;
using AnyRows       = InShared<4>;

/* The kernels: where entries are stored, their largest number in a row besides the diagonal (0: any), and the number of
   threads with rows, as many as registers allow. The first that fits a matrix is used */
#define CHIP_SHAPES(SHAPE) \
  SHAPE(ShortRows, 8, 608) \
  SHAPE(ManyShortRows, 8, 480) \
  SHAPE(LongRows, 32, 224) \
  SHAPE(AnyRows, 0, 480)

/* m = M g, by threads that have rows */
template <class Matrix, int EACH>
__device__ inline void Precondition(const Matrix &A, Team &t, const Weights<Matrix::SWEEPS> &weights,
                                    const BAIReal (&g)[EACH], BAIReal (&m)[EACH])
{
  BAIReal step[EACH];

#pragma unroll
  for (int k = 0; k < EACH; k++) m[k] = step[k] = weights.b[0] * g[k];
  for (int sweep = 1; sweep < weights.sweeps; sweep++) {
    /* the last one leaves v free for the exchange */
    BAIReal *y = (weights.sweeps - 1 - sweep) % 2 ? t.room.v : t.room.y;
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
} // namespace
