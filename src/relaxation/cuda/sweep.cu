/* Launches the kernels that plan.cu chose */
#include "../../common/cuda/follow.h"
#include "pieces.h"
#include <limits.h>

enum {
  MAX_ITS_PER_LAUNCH = 1 << 24, /* even */
  MAX_ITS_HANDED     = 65535    /* each is a row of the grid */
};

/* Allocates the iterates that a plan needs, unless they exist */
static BAIStatus NeedVectors(BAIState state, BAIMode mode, const BAIPlan *plan)
{
  if (plan->momentum && mode != BAI_MODE_SYNC && !state->before)
    BAITry(BAICUDAAllocate(state, BAIPlaces(&state->A) * BAIValueSize(&state->A), &state->before));
  if (mode == BAI_MODE_SYNC && !state->x[1])
    BAITry(BAICUDAAllocate(state, state->A.n * BAIValueSize(&state->A), &state->x[1]));
  return BAIStatusOf(BAI_OK);
}

/* Allocates the memory that the thread blocks of a whole solve in one launch share, unless it exists. Its contents are
   not set: BAISweepSolve() does that before each launch */
static BAIStatus NeedControl(BAIState state)
{
  const int tiles = state->A.tiles;

  if (state->stop.control) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(state, 2 * tiles * sizeof(BAIReal), &state->stop.r2));
  BAITry(BAICUDAAllocate(state, sizeof(BAIControl), &state->stop.control));
  state->stop.b2     = state->stop.r2 + tiles;
  state->stop.result = &state->pinned->solution;
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Prepare(BAIState state, BAIMode mode)
{
  const bool momentum = state->p.momentum == 1 || (state->p.momentum && mode == BAI_MODE_SYNC);
  BAIPlan   *plan     = &state->plan[mode];

  BAITry(BAIPlanCreate(state, mode, momentum, plan));
  BAITry(NeedVectors(state, mode, plan));
  return plan->resident ? NeedControl(state) : BAIStatusOf(BAI_OK);
}

/* After a failure the mode has no kernel, so it can be tried again */
BAIStatus BAISweepPrepare(BAIState state, BAIMode mode)
{
  BAIStatus status = BAIStatusOf(BAI_OK);

  if (!state->A.tiles) return status;
  if (state->p.stats && !state->counts.updates) BAITry(BAIStatsCreate(state));
  if (!state->plan[mode].kernel) status = Prepare(state, mode);
  if (status.code) state->plan[mode].kernel = NULL;
  return status;
}

static BAISweep Arguments(BAIState state, const BAIPlan *plan, BAIInt count, const BAIStep *step)
{
  BAISweep p = {};

  p.count        = count;
  p.local_iters  = step->local_iters ? step->local_iters : state->p.local_iters;
  p.omega        = step->omega;
  p.momentum     = step->momentum;
  p.fourth_kind  = step->fourth_kind;
  p.local_omega  = state->local_omega;
  p.fresh        = step->fresh;
  p.how          = plan->order;
  p.direction    = step->direction;
  p.moves        = step->mode == BAI_MODE_SYNC ? step->momentum != 0 || step->fourth_kind : plan->momentum;
  p.before       = step->mode == BAI_MODE_SYNC ? NULL : state->before;
  p.b            = state->b;
  p.ghost        = state->ghost;
  p.x[0]         = state->x[0];
  p.x[1]         = state->x[1];
  p.current      = state->current;
  p.scratch      = plan->shared ? NULL : state->scratch;
  p.neighbors    = state->neighbors;
  p.order        = plan->order == BAI_OWN ? NULL : state->order;
  p.done         = plan->waits ? state->done : NULL;
  p.done_before  = state->done_before;
  p.stalled      = &state->result->stalled;
  p.stalled_host = &state->pinned->result.stalled;
  p.fault        = step->faulty ? state->p.fault : BAIFault{};
  p.its          = step->done;
  p.counts       = state->counts;
  if (state->exchange.live) p.sends = state->exchange.where[state->exchange.exchanges & 1];
  return p;
}

/* Adds count launched global iterations to the expected value of done */
static BAIStatus CountDone(BAIState state, const BAIPlan *plan, BAIInt count)
{
  if (!plan->waits) return BAIStatusOf(BAI_OK);
  state->done_before += (int)count;
  if (state->done_before > INT_MAX - 2 * MAX_ITS_PER_LAUNCH) {
    CUDATry(cudaMemsetAsync(state->done, 0, state->A.tiles * sizeof(int), state->stream));
    state->done_before = 0;
  }
  return BAIStatusOf(BAI_OK);
}

/* Omits momentum in the first iteration, if the previous iterate is not where the kernel expects it; sets has_before */
static void Continue(BAIState state, const BAIPlan *plan, BAISweep *p)
{
  const BAIBefore left = !plan->momentum ? BAI_BEFORE_NOWHERE
    : plan->order == BAI_FLAGS           ? BAI_BEFORE_OTHER
                                         : BAI_BEFORE_PLACES;

  p->fresh |= state->has_before != left;
  state->has_before = left;
}

/* Sets the weights of a launch of one iteration, so that its threads need not compute them */
static void Weigh(BAISweep *p)
{
  if (p->fourth_kind) p->omega *= BAIFourthKindOmega(p->its);
  if (p->fourth_kind) p->momentum = BAIFourthKindMomentum(p->its);
  if (p->fresh) p->momentum = 0;
  p->fourth_kind = 0;
}

/* Launches global iterations of mode color, a launch for each turn */
static BAIStatus LaunchTurns(BAIState state, const BAIPlan *plan, BAIInt count, const BAISweep *sweep, bool follows)
{
  BAISweep p           = *sweep;
  void    *arguments[] = {&state->A, &p};

  p.sends = BAISends{}; /* ranks exchange between iterations */
  for (BAIInt k = 0; k < count; k++) {
    const bool backward = p.direction == BAI_BACKWARD || (p.direction == BAI_ALTERNATE && k % 2);

    for (int t = 0; t < state->turns; t++) {
      const int turn = backward ? state->turns - 1 - t : t, first = state->turn_first[turn];

      p.order = sweep->order + first;
      CUDATry(BAILaunch(plan->kernel, dim3((unsigned)(state->turn_first[turn + 1] - first)), plan->threads,
                        plan->shared, state->stream, follows || (state->follows && (k || t)), arguments));
    }
  }
  return BAIStatusOf(BAI_OK);
}

/* Launches count global iterations; follows: after another launch of this kernel */
static BAIStatus Launch(BAIState state, const BAIPlan *plan, BAIInt count, const BAIStep *step, bool follows)
{
  const bool can = state->follows && plan->follows;
  const dim3 grid((unsigned)(plan->handed || (plan->once && plan->shared) ? state->A.tiles : plan->grid),
                  plan->handed && !plan->once ? (unsigned)count : 1); /* the device assigns tiles as fast as possible */
  BAISweep   p           = Arguments(state, plan, count, step);
  BAIStop    stop        = {};
  void      *arguments[] = {&state->A, &p, &stop};

  Continue(state, plan, &p);
  if (plan->follows) Weigh(&p);
  if (!plan->waits) BAITry(BAIPiecesRun(state, state->x[state->current], false)); /* for the first iteration */
  if (plan->handed && plan->order == BAI_TURNS) BAITry(LaunchTurns(state, plan, count, &p, can && follows));
  else if (plan->waits)
    CUDATry(cudaLaunchCooperativeKernel(plan->kernel, grid, dim3((unsigned)plan->threads), arguments, plan->shared,
                                        state->stream));
  else CUDATry(BAILaunch(plan->kernel, grid, plan->threads, plan->shared, state->stream, can && follows, arguments));
  if (step->mode == BAI_MODE_SYNC) state->current = (int)((state->current + count) & 1);
  return CountDone(state, plan, count);
}

BAIStatus BAIIterateToFirst(BAIState state)
{
  if (!state->current) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(state->x[0], state->x[1], (size_t)state->A.n * BAIValueSize(&state->A),
                          cudaMemcpyDeviceToDevice, state->stream));
  state->current = 0;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIStalled(BAIState state)
{
  const BAICode code = (BAICode) * (const volatile int *)&state->pinned->result.stalled;

  if (code != BAI_ERR_STALLED) return BAIStatusOf(code);
  CUDATry(cudaStreamSynchronize(state->stream)); /* the rest of the launch, which no longer waits */
  state->pinned->result.stalled = 0;
  CUDATry(cudaMemsetAsync(&state->result->stalled, 0, sizeof(int), state->stream));
  if (state->done) CUDATry(cudaMemsetAsync(state->done, 0, (size_t)state->A.tiles * sizeof(int), state->stream));
  state->done_before = 0;
  return BAIStatusOf(code);
}

/* Largest number of global iterations of a launch. With few tiles the device might start a tile again before it is
   done, so a launch is one iteration */
static BAIInt MostIts(BAIState state, const BAIPlan *plan)
{
  const bool queue = plan->handed && plan->order == BAI_QUEUE;

  if (plan->once || (queue && state->A.tiles / BAI_UNWATCHED_TILES < plan->grid)) return 1;
  return queue ? MAX_ITS_HANDED : MAX_ITS_PER_LAUNCH;
}

BAIStatus BAISweepRun(BAIState state, BAIInt count, const BAIStep *how)
{
  const BAIPlan *plan = &state->plan[how->mode];
  const BAIInt   most = MostIts(state, plan);
  BAIStep        step = *how;

  if (!state->A.tiles) return BAIStatusOf(BAI_OK);
  /* the status of an earlier launch, which has not been waited for */
  BAITry(BAIStalled(state));
  if (step.mode != BAI_MODE_SYNC) BAITry(BAIIterateToFirst(state)); /* kernels of other modes have only one x */
  for (BAIInt left = count; left > 0; left -= most < left ? most : left) {
    BAITry(Launch(state, plan, left < most ? left : most, &step, left < count));
    step.fresh = 0;
    step.done += left < most ? left : most;
  }
  return BAIStatusOf(BAI_OK);
}

/* The tolerances of a whole solve, and the destination of its result */
static BAIStop StopOf(BAIState state, const BAITolerances *t)
{
  BAIStop stop = state->stop;

  stop.rtol        = t->rtol;
  stop.abstol      = t->abstol;
  stop.dtol        = t->dtol;
  stop.bnorm2      = t->bnorm2;
  *stop.result     = BAISolution{};
  stop.result->its = -1;
  return stop;
}

BAIStatus BAISweepSolve(BAIState state, const BAITolerances *t, const BAIStep *step, BAISolution *solution)
{
  const BAIPlan *plan  = &state->plan[step->mode];
  const int      tiles = state->A.tiles;
  BAISweep       p     = Arguments(state, plan, t->max_it < MAX_ITS_PER_LAUNCH ? t->max_it : MAX_ITS_PER_LAUNCH, step);
  BAIStop        stop  = StopOf(state, t);
  void          *arguments[] = {&state->A, &p, &stop};

  if (step->mode != BAI_MODE_SYNC) BAITry(BAIIterateToFirst(state));
  Continue(state, plan, &p);
  p.current = state->current;
  CUDATry(cudaMemsetAsync(stop.control, 0, sizeof(BAIControl), state->stream));
  CUDATry(cudaMemsetAsync(stop.r2, 0xbf, 2 * tiles * sizeof(BAIReal), state->stream)); /* negative: not there yet */
  CUDATry(cudaLaunchCooperativeKernel(plan->kernel, dim3(tiles + (plan->order == BAI_OWN)), dim3(plan->threads),
                                      arguments, plan->shared, state->stream));
  BAITry(BAICUDAWait(state));
  *solution = *stop.result;
  BAITry(BAIStalled(state));
  if (solution->its < 0) return BAIStatusOf(BAI_ERR_STALLED);
  if (step->mode == BAI_MODE_SYNC) state->current = (int)((state->current + solution->its) & 1);
  return CountDone(state, plan, solution->its);
}
