/*
   Block-asynchronous iteration, as defined in engine.h
*/
#include "../fault.h"
#include "../fourth_kind.h"
#include "precision.h"
#include <omp.h>
#include <sched.h>

/* How the blocks of one global iteration are updated */
typedef struct {
  Atomic    *x, *next; /* what is read and what is written; the same where the mode allows it */
  BAIInt     local_iters;
  ValueReal  omega, momentum;
  BAIScalar *r; /* where own rows leave b - A x for the coarse correction, or NULL */

  const BAIFault *fault; /* of this iteration, or NULL */
} Update;

static int HasCoarse(BAIState state, const BAIStep *step)
{
  return step->coarse && BAIHasCoarse(&state->coarse);
}

/* That of an iteration, or NULL */
static const BAIFault *FaultOf(BAIState state, const BAIStep *step, BAIInt iteration)
{
  return step->faulty && BAIFaultIsAt(&state->p.fault, step->done + iteration) ? &state->p.fault : NULL;
}

static Update UpdateOf(BAIState state, const BAIStep *step, BAIInt iteration, Atomic *next)
{
  const BAIReal omega    = step->fourth_kind ? step->omega * BAIFourthKindOmega(step->done + iteration) : step->omega;
  const BAIReal momentum = step->fourth_kind ? BAIFourthKindMomentum(step->done + iteration) : step->momentum;
  const Update  update   = {state->x, next, step->local_iters ? step->local_iters : state->p.local_iters, (ValueReal)omega, (ValueReal)(step->fresh && !iteration ? 0 : momentum), HasCoarse(state, step) ? state->coarse.r : NULL, FaultOf(state, step, iteration)};

  return update;
}

static void FlipSums(const BAIFault *fault, const BAIBlockCRS *A, BAIInt first, BAIInt m, Value *s)
{
  for (BAIInt i = 0; i < m; i++) {
    const BAIInt row = BAIRowAt(A, first + i);

    if (fault->type == BAI_FAULT_SUMS && BAIFaultHits(fault, row)) BAIFaultFlip(fault, row, s + i, sizeof(ValueReal));
  }
}

static int Stops(const BAIFault *fault, const BAIBlockCRS *A, BAIInt row)
{
  return fault && BAIFaultStops(fault, row, BAIBlockOfRow(A, row));
}

static void IterateBlock(BAIState state, BAIInt block, Update u)
{
  const BAIBlockCRS *A = &state->A;
  const Value       *b = state->b, *dinv = A->dinv, *loc_a = A->loc_a, *off_a = A->off_a;
  Value             *before = state->before;
  Atomic            *ghost  = state->ghost;
  const BAIInt       first = BAIBlockFirst(A, block), m = BAIBlockLast(A, block) - first, own = BAIBlockOwn(A, block) - first, local_iters = state->iters ? state->iters[block] : u.local_iters;
  Value             *s = (Value *)state->work + 3 * (size_t)A->most_rows * (size_t)omp_get_thread_num(), *y = s + A->most_rows, *ynext = y + A->most_rows;

  for (BAIInt i = 0; i < m; i++) {
    const BAIInt row = BAIRowAt(A, first + i);
    Value        sum = b[row];

    for (BAIInt k = A->off_i[first + i]; k < A->off_i[first + i + 1]; k++) {
      const BAIInt j = A->off_j[k];

      sum -= off_a[k] * (j < A->n ? Load(u.x, j) : Load(ghost, j - A->n));
    }
    s[i] = sum;
    y[i] = Load(u.x, row);
  }
  if (state->stats) BAIHostStatsRead(state->stats, block);
  if (u.fault) FlipSums(u.fault, A, first, m, s);

  for (BAIInt sweep = 0; sweep < local_iters; sweep++) {
    Value *swap = y;

    for (BAIInt i = 0; i < m; i++) {
      const ValueReal local_omega = (ValueReal)(A->share ? state->local_omega * A->share[first + i] : state->local_omega);
      Value           sum         = s[i];

      for (BAIInt k = A->loc_i[first + i]; k < A->loc_i[first + i + 1]; k++) sum -= loc_a[k] * y[A->loc_j[k]];
      if (u.r && !sweep && i < own) u.r[BAIRowAt(A, first + i)] = sum - A->d[first + i] * y[i];
      ynext[i] = y[i] + local_omega * (sum * dinv[first + i] - y[i]);
    }
    for (BAIInt i = 0; u.fault && i < m; i++) {
      if (Stops(u.fault, A, BAIRowAt(A, first + i))) ynext[i] = y[i];
    }
    y     = ynext;
    ynext = swap;
  }

  for (BAIInt i = 0; i < own; i++) {
    const BAIInt row     = BAIRowAt(A, first + i);
    const Value  xi      = Load(u.x, row);
    Value        xi_next = xi + u.omega * (y[i] - xi);

    if (u.momentum != 0) xi_next += u.momentum * (xi - before[row]);
    if (Stops(u.fault, A, row)) xi_next = xi;
    if (before) before[row] = xi;
    Store(u.next, row, xi_next);
  }
}

/* All blocks' new values can be seen; of those that faults stop there are none */
static void Wrote(BAIState state, BAIInt first, BAIInt last, const BAIStep *step, BAIInt iteration)
{
  const BAIFault *fault = FaultOf(state, step, iteration);

  for (BAIInt block = first; state->stats && block < last; block++) {
    if (!fault || fault->type != BAI_FAULT_BLOCKS || !BAIFaultHits(fault, block)) BAIHostStatsWrote(state->stats, block);
  }
}

/* Until all that a block reads from have as many global iterations behind them as staleness demands; tickets are drawn in order, so somebody is at work on them */
static void WaitForOthers(BAIState state, BAIInt block, BAIInt iteration)
{
  const BAIBlockCRS *A = &state->A;

  for (BAIInt k = A->off_i[BAIBlockFirst(A, block)]; k < A->off_i[BAIBlockLast(A, block)]; k++) {
    if (A->off_j[k] >= A->n) continue;
    while (atomic_load_explicit(state->done + BAIBlockOfRow(A, A->off_j[k]) / state->blocks_task, memory_order_acquire) < iteration - state->p.staleness) sched_yield();
  }
}

/* The coarse correction after a global iteration, by all threads or by one */
static void Correct(BAIState state, Atomic *x, const BAIStep *step)
{
  if (!HasCoarse(state, step)) return;
#pragma omp single
  BAIHostCoarseSolve(&state->coarse, state->coarse.r);
#pragma omp for schedule(static)
  for (BAIInt i = 0; i < state->A.n; i++) Store(x, i, (Value)(Load(x, i) + step->omega * BAIProlong(&state->coarse, i)));
}

/* Mode async, before a block is updated: takes the correction that is there, and says whether the block is to leave its part of r for the next one */
static int TakeCorrection(BAIState state, BAIInt block, BAIReal omega)
{
  const BAIBlockCRS *A     = &state->A;
  BAIHostCoarse     *c     = &state->coarse;
  BAIInt            *taken = c->taken + block;

  if (*taken < atomic_load_explicit(&c->ready, memory_order_acquire)) {
    for (BAIInt place = BAIBlockFirst(A, block); place < BAIBlockOwn(A, block); place++) {
      const BAIInt row = BAIRowAt(A, place);

      Store(state->x, row, (Value)(Load(state->x, row) + omega * BAIProlong(c, row)));
    }
    ++*taken;
    c->since[block] = 0;
  } else if (++c->since[block] == BAI_SMOOTHED) atomic_store_explicit(c->smoothed + block, *taken, memory_order_release);
  if (c->left[block] > *taken || c->since[block] < BAI_SMOOTHED) return 0;
  for (BAIInt k = A->off_i[BAIBlockFirst(A, block)]; k < A->off_i[BAIBlockLast(A, block)]; k++) {
    if (A->off_j[k] < A->n && atomic_load_explicit(c->smoothed + BAIBlockOfRow(A, A->off_j[k]), memory_order_acquire) < *taken) return 0;
  }
  return 1;
}

/* The block has left its part; the last one finds the correction */
static void LeavePart(BAIState state, BAIInt block)
{
  BAIHostCoarse *c     = &state->coarse;
  const BAIInt   epoch = ++c->left[block];

  if (atomic_fetch_add_explicit(&c->parts, 1, memory_order_acq_rel) + 1 < state->A.blocks) return;
  BAIHostCoarseSolve(c, c->r);
  atomic_store_explicit(&c->parts, 0, memory_order_relaxed);
  atomic_store_explicit(&c->ready, epoch, memory_order_release);
}

static void IterateFreely(BAIState state, BAIInt block, const BAIStep *step, BAIInt iteration)
{
  const int leave  = HasCoarse(state, step) && TakeCorrection(state, block, step->omega);
  Update    update = UpdateOf(state, step, iteration, state->x);

  if (!leave) update.r = NULL;
  IterateBlock(state, block, update);
  Wrote(state, block, block + 1, step, iteration);
  if (leave) LeavePart(state, block);
}

/*
   A task is a few neighbouring blocks, a ticket one global iteration of a task. Threads draw tickets in order and do not
   wait for other blocks, unless staleness is bounded; only a task whose last ticket a slower thread still holds is waited for.
*/
static void SweepAsync(BAIState state, BAIInt count, const BAIStep *step)
{
  const int64_t    tickets = (int64_t)count * state->tasks;
  _Atomic(int64_t) next    = 0;

  for (BAIInt task = 0; task < state->tasks; task++) atomic_init(state->done + task, 0);
#pragma omp parallel num_threads(state->p.threads)
  for (int64_t ticket; (ticket = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed)) < tickets;) {
    const BAIInt task = (BAIInt)(ticket % state->tasks), iteration = (BAIInt)(ticket / state->tasks), first = task * state->blocks_task;

    while (atomic_load_explicit(state->done + task, memory_order_acquire) != iteration) sched_yield();
    for (BAIInt block = first; block < first + state->blocks_task && block < state->A.blocks; block++) {
      if (state->p.staleness >= 0) WaitForOthers(state, block, iteration);
      IterateFreely(state, block, step, iteration);
      BAIHostSendBlock(state, block);
    }
    atomic_store_explicit(state->done + task, iteration + 1, memory_order_release);
  }
}

static void SweepLaunch(BAIState state, BAIInt count, const BAIStep *step)
{
#pragma omp parallel num_threads(state->p.threads)
  for (BAIInt iteration = 0; iteration < count; iteration++) {
#pragma omp for schedule(dynamic, state->blocks_task)
    for (BAIInt block = 0; block < state->A.blocks; block++) {
      IterateBlock(state, block, UpdateOf(state, step, iteration, state->x));
      Wrote(state, block, block + 1, step, iteration);
    }
    Correct(state, state->x, step);
  }
}

static void SweepSync(BAIState state, BAIInt count, const BAIStep *step)
{
  for (BAIInt iteration = 0; iteration < count; iteration++) {
    void *swap = state->x;

#pragma omp parallel num_threads(state->p.threads)
    {
#pragma omp for schedule(static)
      for (BAIInt block = 0; block < state->A.blocks; block++) IterateBlock(state, block, UpdateOf(state, step, iteration, state->next));
      Correct(state, state->next, step);
    }
    state->x    = state->next;
    state->next = swap;
    Wrote(state, 0, state->A.blocks, step, iteration);
  }
}

/* Groups of one turn read nothing of each other; the blocks of a group read it as it was before any of them has written */
static void SweepColor(BAIState state, BAIInt count, const BAIStep *step)
{
  const BAIInt blocks = state->blocks_group;

#pragma omp parallel num_threads(state->p.threads)
  for (BAIInt iteration = 0; iteration < count; iteration++) {
    const int backward = step->direction == BAI_BACKWARD || (step->direction == BAI_ALTERNATE && iteration % 2);

    for (int t = 0; t < state->turns; t++) {
      const int turn = backward ? state->turns - 1 - t : t;

#pragma omp for schedule(static)
      for (int k = state->turn_first[turn]; k < state->turn_first[turn + 1]; k++) {
        const BAIInt first = state->order[k] * blocks, last = state->A.blocks - first > blocks ? first + blocks : state->A.blocks;

        for (BAIInt block = first; block < last; block++) IterateBlock(state, block, UpdateOf(state, step, iteration, state->next));
        for (BAIInt block = first; block < last; block++) {
          for (BAIInt place = BAIBlockFirst(&state->A, block); place < BAIBlockOwn(&state->A, block); place++) {
            const BAIInt row = BAIRowAt(&state->A, place);

            Store(state->x, row, Load(state->next, row));
          }
        }
        Wrote(state, first, last, step, iteration);
      }
    }
    Correct(state, state->x, step);
  }
}

void InThis(BAIHostSweep)(BAIState state, BAIInt count, const BAIStep *step)
{
  switch (step->mode) {
  case BAI_MODE_ASYNC:
    if (HasCoarse(state, step) && count == 1) SweepLaunch(state, count, step); /* of one global iteration all can take the correction at its end */
    else SweepAsync(state, count, step);
    break;
  case BAI_MODE_LAUNCH:
    SweepLaunch(state, count, step);
    break;
  case BAI_MODE_SYNC:
    SweepSync(state, count, step);
    break;
  case BAI_MODE_COLOR:
    SweepColor(state, count, step);
    break;
  case BAI_MODE_AUTO: /* whoever calls the engine has decided */
    break;
  }
}

/* Summed block by block, in the same order for any number of threads */
void InThis(BAIHostResidual)(BAIState state, BAIReal *norm2)
{
  const BAIBlockCRS *A = &state->A;
  const Value       *b = state->b, *loc_a = A->loc_a, *off_a = A->off_a;
  Atomic            *ghost = state->ghost;

#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt block = 0; block < A->blocks; block++) {
    const BAIInt first = BAIBlockFirst(A, block), last = BAIBlockOwn(A, block);
    BAIReal      sum = 0;

    for (BAIInt place = first; place < last; place++) {
      const BAIInt row = BAIRowAt(A, place);
      BAIScalar    r   = b[row] - A->d[place] * Load(state->x, row);

      for (BAIInt k = A->loc_i[place]; k < A->loc_i[place + 1]; k++) r -= (BAIScalar)loc_a[k] * Load(state->x, BAIRowAt(A, first + A->loc_j[k]));
      for (BAIInt k = A->off_i[place]; k < A->off_i[place + 1]; k++) r -= (BAIScalar)off_a[k] * (A->off_j[k] < A->n ? Load(state->x, A->off_j[k]) : Load(ghost, A->off_j[k] - A->n));
      sum += BAIAbs2(r);
    }
    state->norm2[block] = sum;
  }
  *norm2 = 0;
  for (BAIInt block = 0; block < A->blocks; block++) *norm2 += state->norm2[block];
  *norm2 /= state->scale * state->scale;
}
