/*
   Pipelined conjugate gradients on the chip (P. Ghysels, W. Vanroose, "Hiding global synchronization latency in the
   preconditioned conjugate gradient algorithm", Parallel Computing 40, 2014). With u = M r, w = A u an iteration is

     gamma = r.u, delta = w.u        summed over all thread blocks while
     m = M w, n = A m                are computed, with one exchange of m between neighbours
     beta, alpha                     from these and the previous sums
     z = n + beta z, q = m + beta q, s = w + beta s, p = u + beta p
     x += alpha p, r -= alpha s, u -= alpha q, w -= alpha z
*/
#include "decide.h"
#include "entries.h"
#include "sums.h"

namespace {
enum {
  CG_X,    /* r = b - A x is computed */
  CG_NORM, /* the norm of r is computed */
  CG_U,    /* u = M r and w = A u are computed, and the norm of r if it is not known */
  CG_ITERATE
};

/* The work of the last warp in CG: sums, and the next step; scalar has 1/gamma and 1/alpha of the last iteration */
__device__ inline void ControlCG(Team &t, Step &step, int next)
{
  Cold       cold;
  Control    c(t.p, &cold);
  Sums<3, 4> sums(t.p);
  /* word 0 sums D^-1 r with a scale of its own, so that iterations have the same bits */
  int finer = 0, lent = 0;

  while (next != LEAVE) {
    const int now = next;
    double    total[3];

    Meet(GIVEN, (int)blockDim.x);
    if (now != CG_ITERATE) lent = sums.Lend(0, 2, finer);
    const bool   made  = sums.Make(t,
                                now == CG_ITERATE                                   ? 7
                                     : t.p.t.scaled > 0 && (c.first || now == CG_NORM) ? 5
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

/* A thread's share of the sums of this step. In iterations they are gamma, delta and the square of ||b - A x||;
   otherwise word 0 is the square of the norm of D^-1 r, as L is R */
template <int EACH>
__device__ inline void AddProducts(const Team &t, int next, const BAIReal (&r)[EACH], const BAIReal (&u)[EACH],
                                   const BAIReal (&w)[EACH], BAIReal (&value)[4])
{
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    value[0] += r[k] * u[k];
    value[1] += w[k] * u[k];
    if (t.Row(k) < t.rows) value[2] += r[k] * r[k] * t.room.weight[t.Row(k)];
  }
  if (next == CG_ITERATE) return;
  value[0] = 0;
#pragma unroll
  for (int k = 0; k < EACH; k++)
    if (t.Row(k) < t.rows) value[0] += r[k] * r[k] / t.room.weight[t.Row(k)];
}

/* A solve by pipelined CG. The last warp of each thread block makes sums and decides, a thread of the others has EACH
   rows */
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

    AddProducts(t, next, r, u, w, value);
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
} // namespace

const void *const BAIChipPipelined[] = {
#define SHAPE(Matrix, length, threads) (const void *)ConjugateGradients<Matrix, threads>,
  CHIP_SHAPES(SHAPE)
#undef SHAPE
};
