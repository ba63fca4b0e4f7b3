/* BiCGStab on the chip (H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992), preconditioned by M on the right */
#include "decide.h"
#include "entries.h"
#include "sums.h"

namespace {
enum {
  BCGS_X,     /* r = b - A x is computed */
  BCGS_BEGIN, /* the norm of r is computed */
  BCGS_D,     /* v = A M d is computed */
  BCGS_R      /* t = A M r is computed */
};

/* The work of the last warp in BiCGStab; scalar has rho, the product of r and the shadow residual, and alpha */
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

/* A thread's share of the sums of this step; n = A M and m = M of the exchanged vector */
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
      value[1] += r[k] * r[k]; /* the square of the norm of D^-1 r too, as L is D^-1 here */
    }
  }
}

/* A solve by BiCGStab. The last warp of each thread block makes sums and decides, a thread of the others has EACH
   rows */
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
} // namespace

const void *const BAIChipBiCGStab[] = {
#define SHAPE(Matrix, length, threads) (const void *)BiConjugateGradients<Matrix, threads>,
  CHIP_SHAPES(SHAPE)
#undef SHAPE
};
