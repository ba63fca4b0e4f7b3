/*
   A whole solve in one launch, as resident.cu does it: how thread blocks find ||b - A x||^2 together, and who decides
   how they go on
*/
#pragma once

#define BAI_ADAPT_COARSE 0
#include "../adapt_rules.h"
#include "control.h"
#include "sweep.h"

using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;

/* Sum over the thread block, the same for all threads, in the same order every time; sums has room for 33 */
static __device__ BAIReal BlockSum(BAIReal value, BAIReal *sums)
{
  const int lane = threadIdx.x % BAI_LANES, warp = threadIdx.x / BAI_LANES;

  for (int k = BAI_LANES / 2; k; k /= 2) value += __shfl_down_sync(~0u, value, k);
  if (!lane) sums[warp] = value;
  __syncthreads();
  if (!threadIdx.x) {
    for (int w = 1; w < (int)(blockDim.x / BAI_LANES); w++) value += sums[w];
    sums[BAI_LANES] = value;
  }
  __syncthreads();
  value = sums[BAI_LANES];
  __syncthreads();
  return value;
}

/* Sum of what the tiles published; negative if one has not yet */
static __device__ BAIReal SumOfTiles(const BAIReal *share, int tiles, BAIReal *sums)
{
  BAIReal sum   = 0;
  int     ready = 1;

  for (int tile = threadIdx.x; tile < tiles; tile += blockDim.x) {
    const BAIReal value = BAILoad(share + tile);

    if (value < 0) ready = 0;
    sum += value;
  }
  ready = __syncthreads_and(ready);
  sum   = BlockSum(sum, sums);
  return ready ? sum : -1;
}

/* What is asked of adapt.h */
static __device__ BAIGoal GoalOf(const BAISweep &p, const BAIStop &stop, const BAIControl &c, BAIInt first)
{
  BAIGoal goal = {};

  goal.mode        = stop.asked;
  goal.accelerated = stop.accelerated;
  goal.accelerate  = stop.accelerate;
  goal.momentum    = p.momentum;
  goal.tol2        = c.tol2;
  goal.most2       = c.most2;
  goal.max_it      = p.count;
  goal.first       = first;
  goal.coarsen     = stop.coarsen;
  return goal;
}

static __device__ void Watch(const BAISliced &A, const BAISweep &p, const BAIStop &stop, BAIReal *sums)
{
  __shared__ int      decided, over, slow;
  __shared__ BAIAdapt adapt;
  BAIControl         &c    = *stop.control;
  BAIReal             easy = 1, b2 = stop.bnorm2, tol2, most2;

  while (b2 < 0) {
    b2 = SumOfTiles(stop.b2, A.tiles, sums);
    if (!threadIdx.x)
      decided = Flag(*p.stalled).load(cuda::memory_order_relaxed) || Flag(c.decided).load(cuda::memory_order_relaxed);
    __syncthreads();
    if (decided) return;
  }
  tol2  = max(stop.rtol * stop.rtol * b2, stop.abstol * stop.abstol);
  most2 = stop.dtol * stop.dtol * b2;
  if (!threadIdx.x) {
    c.tol2             = tol2;
    c.most2            = most2;
    c.bnorm2           = b2;
    const BAIGoal goal = GoalOf(p, stop, c, 1);

    (void)BAIAdaptStart(&adapt, &goal, stop.mode, 0, (double)b2);
    slow = 0;
    Flag(c.ready).store(1, cuda::memory_order_release);
  }
  for (int epoch = 0;; epoch++) {
    BAIReal r2;

    do {
      r2 = SumOfTiles(stop.r2, A.tiles, sums);
      if (!threadIdx.x) {
        decided = Flag(c.decided).load(cuda::memory_order_acquire) > epoch ||
          Flag(*p.stalled).load(cuda::memory_order_relaxed);
        if ((stop.accelerate || stop.coarsen) && r2 >= 0 && !slow) { /* by sums of shares of different times */
          const int its = Flag(c.progress).load(cuda::memory_order_relaxed);

          if (its >= adapt.until) {
            const BAIDecision d = BAIAdaptLook(&adapt, its, (double)r2);

            slow = d.coarsen ? 2 : d.mode != stop.mode;
          }
        }
      }
      __syncthreads();
    } while (!decided && !slow && (r2 < 0 || (r2 > easy * tol2 && r2 < most2)));
    if (!threadIdx.x) {
      c.slow = slow;
      Flag(c.stop).store(epoch + 1, cuda::memory_order_release);
      BAISpin(p.stalled, p.stalled_host, [&] { return Flag(c.decided).load(cuda::memory_order_acquire) > epoch; });
      over = c.finished || Flag(*p.stalled).load(cuda::memory_order_relaxed);
    }
    __syncthreads();
    if (over) return;
    easy = min(easy, BAIReal(0.5) * easy * tol2 / c.rnorm2);
    __syncthreads();
  }
}

/*
   Called by one thread, when all tiles have published their share of ||b - A x||^2, and of ||b||^2 if bnorm2 is
   negative: done, or how to go on. If that is in another mode the launch ends, but not before the tiles have gone back
   to a better x, if they are to
*/
static __device__ void Decide(const BAISweep &p, const BAIStop &stop, BAIControl &c, int its, BAIReal b2,
                              BAIReal rnorm2)
{
  enum {
    FIRST_LOOK = 8 /* iterations from the start */
  };

  c.rnorm2 = rnorm2;
  c.its    = its;
  if (!c.ready) {
    c.ready  = 1;
    c.bnorm2 = stop.bnorm2 < 0 ? b2 : stop.bnorm2;
    c.tol2   = max(stop.rtol * stop.rtol * c.bnorm2, stop.abstol * stop.abstol);
    c.most2  = stop.dtol * stop.dtol * c.bnorm2;

    const BAIGoal goal = GoalOf(p, stop, c, FIRST_LOOK);

    c.decision = BAIAdaptStart(&c.adapt, &goal, stop.mode, its, (double)rnorm2);
  } else if (c.decision.mode == stop.mode) c.decision = BAIAdaptLook(&c.adapt, its, (double)rnorm2);
  else c.decision.x = BAI_X_ON; /* they have gone back */
  const bool leaves = c.decision.mode != stop.mode || c.decision.coarsen;

  if (leaves) c.decision.until = its;
  c.finished = c.decision.stop || c.decision.stalls || (leaves && c.decision.x != BAI_X_BACK);
  if (c.finished) {
    stop.result->rnorm2     = c.rnorm2;
    stop.result->bnorm2     = c.bnorm2;
    stop.result->its        = its;
    stop.result->omega      = p.omega * (BAIReal)c.decision.omega;
    stop.result->momentum   = (BAIReal)c.decision.momentum;
    stop.result->mode       = c.decision.mode;
    stop.result->accelerate = c.adapt.accelerate;
    stop.result->coarsen    = c.decision.coarsen;
    stop.result->stalls     = c.decision.stalls;
  }
}

/* Where tiles do not wait for each other. Called by one thread, after all have written the sums of their warps: the
 * tile's share of ||r||^2 in the iteration before */
static __device__ void PublishShare(const BAIStop &stop, BAIControl &c, int tile, int iteration, const BAIReal *sums)
{
  BAIReal r2 = sums[0];

  for (int w = 1; w < (int)(blockDim.x / BAI_LANES); w++) r2 += sums[w];
  BAIStore(stop.r2 + tile, r2);
  if (!tile) Flag(c.progress).store(iteration, cuda::memory_order_relaxed);
}

/* A stop was asked for: called by one thread of each tile, until so many have come, after which x stands still */
static __device__ void ArriveAtStop(const BAISweep &p, BAIControl &c, int iteration, int arrivals)
{
  cuda::atomic_thread_fence(cuda::memory_order_acquire,
                            cuda::thread_scope_device); /* of what was written before the stop was asked for */
  Flag(c.its).fetch_max(iteration, cuda::memory_order_relaxed);
  Flag(c.arrived).fetch_add(1, cuda::memory_order_acq_rel);
  BAISpin(p.stalled, p.stalled_host, [&] { return Flag(c.arrived).load(cuda::memory_order_acquire) >= arrivals; });
}

/* Called by one thread, when all have published their share of ||b - A x||^2: done, or go on, with the watcher asking
 * for less */
static __device__ void DecideAtStop(const BAISweep &p, const BAIStop &stop, BAIControl &c, BAIReal rnorm2)
{
  BAISpin(p.stalled, p.stalled_host, [&] { return Flag(c.ready).load(cuda::memory_order_acquire) != 0; });
  c.rnorm2   = rnorm2;
  c.finished = !(rnorm2 > c.tol2 && rnorm2 < c.most2) || c.its >= p.count || c.slow;
  if (!c.finished) return;
  stop.result->rnorm2     = rnorm2;
  stop.result->bnorm2     = c.bnorm2;
  stop.result->its        = c.its;
  stop.result->omega      = p.omega;
  stop.result->momentum   = p.momentum;
  stop.result->mode       = c.slow == 1 ? stop.accelerated : stop.mode;
  stop.result->coarsen    = c.slow == 2;
  stop.result->accelerate = stop.accelerate;
}

/* Called by one thread of each tile, which has gone back to the x that was kept */
static __device__ void MeetOnceMore(const BAISweep &p, BAIControl &c, int arrivals)
{
  Flag(c.met).fetch_add(1, cuda::memory_order_acq_rel);
  BAISpin(p.stalled, p.stalled_host, [&] { return Flag(c.met).load(cuda::memory_order_acquire) >= arrivals; });
}
