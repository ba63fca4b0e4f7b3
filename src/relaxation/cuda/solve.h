/*
   A whole solve in one launch, for resident.cu: how thread blocks compute ||b - A x||^2 together, and decide how to
   continue
*/
#pragma once

#include "sweep.h"

/* The sum over the thread block in all threads, in a fixed order; sums has room for 33 */
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

/* The sum of the shares that tiles have published; negative if one is missing */
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

/* Not inlined, as it is called rarely, to save registers */
static __device__ __noinline__ void LookNext(BAILook *look, int its, double rnorm2)
{
  BAILookNext(look, its, rnorm2);
}

/* Sets the squares of the norms that end a solve, when ||b||^2 is known */
static __device__ void SetTolerances(const BAIStop &stop, BAIControl &c, BAIReal b2)
{
  c.bnorm2 = b2;
  c.tol2   = max(stop.rtol * stop.rtol * b2, stop.abstol * stop.abstol);
  c.most2  = stop.dtol * stop.dtol * b2;
}

/* The watcher of tiles that do not wait: asks them to stop when their shares show convergence or stagnation */
static __device__ void Watch(const BAISliced &A, const BAISweep &p, const BAIStop &stop, BAIReal *sums)
{
  __shared__ int     decided, over, stalls;
  __shared__ BAILook look;
  BAIControl        &c    = *stop.control;
  BAIReal            easy = 1, b2 = stop.bnorm2, tol2, most2;

  while (b2 < 0) {
    b2 = SumOfTiles(stop.b2, A.tiles, sums);
    if (!threadIdx.x) decided = BAILoad(p.stalled) || BAILoad(&c.decided);
    __syncthreads();
    if (decided) return;
  }
  if (!threadIdx.x) {
    SetTolerances(stop, c, b2);
    BAILookStart(&look, (double)c.tol2, 0, (double)b2, BAI_FIRST_LOOK_WATCHED);
    stalls = 0;
    BAIStoreRelease(&c.ready, 1);
  }
  __syncthreads();
  tol2  = c.tol2;
  most2 = c.most2;
  for (int epoch = 0;; epoch++) {
    BAIReal r2;

    do {
      r2 = SumOfTiles(stop.r2, A.tiles, sums);
      if (!threadIdx.x) {
        const int its = BAILoad(&c.progress);

        decided = BAILoadAcquire(&c.decided) > epoch || BAILoad(p.stalled);
        if (r2 >= 0 && !stalls && its >= look.until) { /* sums of shares from different times */
          LookNext(&look, its, (double)r2);
          stalls = look.stalls;
        }
      }
      __syncthreads();
    } while (!decided && !stalls && (r2 < 0 || (r2 > easy * tol2 && r2 < most2)));
    if (!threadIdx.x) {
      c.stalls = stalls;
      BAIStoreRelease(&c.stop, epoch + 1);
      BAISpin(p.stalled, p.stalled_host, [&] { return BAILoadAcquire(&c.decided) > epoch; });
      over = c.finished || BAILoad(p.stalled);
    }
    __syncthreads();
    if (over) return;
    easy = min(easy, BAIReal(0.5) * easy * tol2 / c.rnorm2);
    __syncthreads();
  }
}

/* Decides whether the solve ends, when all tiles have published their shares of ||b - A x||^2; called by one thread */
static __device__ void Finish(const BAISweep &p, const BAIStop &stop, BAIControl &c, BAIReal rnorm2)
{
  c.rnorm2   = rnorm2;
  c.finished = !(rnorm2 > c.tol2 && rnorm2 < c.most2) || c.its >= p.count || c.stalls;
  if (!c.finished) return;
  stop.result->rnorm2 = rnorm2;
  stop.result->bnorm2 = c.bnorm2;
  stop.result->its    = c.its;
  stop.result->stalls = c.stalls;
}

/* Decides the same for tiles that wait for each other, and takes ||b||^2 if bnorm2 is negative; sets the next
   synchronization */
static __device__ void Decide(const BAISweep &p, const BAIStop &stop, BAIControl &c, int its, BAIReal b2,
                              BAIReal rnorm2)
{
  c.its = its;
  if (!c.ready) {
    c.ready = 1;
    SetTolerances(stop, c, stop.bnorm2 < 0 ? b2 : stop.bnorm2);
    BAILookStart(&c.look, (double)c.tol2, its, (double)rnorm2, BAI_FIRST_LOOK);
  } else LookNext(&c.look, its, (double)rnorm2);
  c.stalls = c.look.stalls;
  Finish(p, stop, c, rnorm2);
}

/* Publishes the tile's share of ||r||^2 in the previous iteration, if tiles do not wait for each other; called by one
   thread, after all have stored the sums of their warps */
static __device__ void PublishShare(const BAIStop &stop, BAIControl &c, int tile, int iteration, const BAIReal *sums)
{
  BAIReal r2 = sums[0];

  for (int w = 1; w < (int)(blockDim.x / BAI_LANES); w++) r2 += sums[w];
  BAIStore(stop.r2 + tile, r2);
  if (!tile) BAIStore(&c.progress, iteration);
}

/* Waits until all tiles have arrived, so that x does not change; called by one thread of each tile when a stop was
   asked for */
static __device__ void ArriveAtStop(const BAISweep &p, BAIControl &c, int iteration, int arrivals)
{
  BAIFence(); /* sees everything that was written before the stop was asked for */
  BAIRaise(&c.its, iteration);
  BAIArrive(&c.arrived);
  BAISpin(p.stalled, p.stalled_host, [&] { return BAILoadAcquire(&c.arrived) >= arrivals; });
}

/* Decides after a stop, by one thread; the solve may continue with a smaller goal of the watcher */
static __device__ void DecideAtStop(const BAISweep &p, const BAIStop &stop, BAIControl &c, BAIReal rnorm2)
{
  BAISpin(p.stalled, p.stalled_host, [&] { return BAILoadAcquire(&c.ready) != 0; });
  Finish(p, stop, c, rnorm2);
}
