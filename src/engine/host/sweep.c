/*
   Block-asynchronous iteration, as defined in engine.h
*/
#include "host.h"
#include <omp.h>
#include <sched.h>

/* How the blocks of one global iteration are updated */
typedef struct {
  BAIAtomic *x, *next; /* what is read and what is written; the same where the mode allows it */
  BAIInt     local_iters;
  BAIReal    omega, momentum;
  BAIScalar *r; /* where own rows leave b - A x for the coarse correction, or NULL */
} Update;

static int HasCoarse(BAIState state, const BAIStep *step)
{
  return step->coarse && BAIHasCoarse(&state->coarse);
}

static Update UpdateOf(BAIState state, const BAIStep *step, BAIInt iteration, BAIAtomic *next)
{
  const Update update = {state->x, next, step->local_iters ? step->local_iters : state->p.local_iters, step->omega, step->fresh && !iteration ? 0 : step->momentum, HasCoarse(state, step) ? state->coarse.r : NULL};

  return update;
}

static void IterateBlock(BAIState state, BAIInt block, Update u)
{
  const BAIBlockCRS *A     = &state->A;
  BAIAtomic         *ghost = state->ghost;
  const BAIInt       first = BAIBlockFirst(A, block), m = BAIBlockLast(A, block) - first, own = BAIBlockOwn(A, block) - first, local_iters = state->iters ? state->iters[block] : u.local_iters;
  BAIScalar         *s = state->work + 3 * (size_t)A->most_rows * (size_t)omp_get_thread_num(), *y = s + A->most_rows, *ynext = y + A->most_rows;

  for (BAIInt i = 0; i < m; i++) {
    const BAIInt row = BAIRowAt(A, first + i);
    BAIScalar    sum = state->v.b[row];

    for (BAIInt k = A->off_i[first + i]; k < A->off_i[first + i + 1]; k++) {
      const BAIInt j = A->off_j[k];

      sum -= BAIValue(A, A->off_a, k) * (j < A->n ? BAILoad(u.x, j) : BAILoad(ghost, j - A->n));
    }
    s[i] = sum;
    y[i] = BAILoad(u.x, row);
  }

  for (BAIInt sweep = 0; sweep < local_iters; sweep++) {
    BAIScalar *swap = y;

    for (BAIInt i = 0; i < m; i++) {
      const BAIReal local_omega = A->share ? state->local_omega * A->share[first + i] : state->local_omega;
      BAIScalar     sum         = s[i];

      for (BAIInt k = A->loc_i[first + i]; k < A->loc_i[first + i + 1]; k++) sum -= BAIValue(A, A->loc_a, k) * y[A->loc_j[k]];
      if (u.r && !sweep && i < own) u.r[BAIRowAt(A, first + i)] = sum - A->d[first + i] * y[i];
      ynext[i] = y[i] + local_omega * (sum * A->dinv[first + i] - y[i]);
    }
    y     = ynext;
    ynext = swap;
  }

  for (BAIInt i = 0; i < own; i++) {
    const BAIInt    row     = BAIRowAt(A, first + i);
    const BAIScalar xi      = BAILoad(u.x, row);
    BAIScalar       xi_next = xi + u.omega * (y[i] - xi);

    if (u.momentum != 0) xi_next += u.momentum * (xi - state->before[row]);
    if (state->before) state->before[row] = xi;
    BAIStore(u.next, row, xi_next);
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
static void Correct(BAIState state, BAIAtomic *x, const BAIStep *step)
{
  if (!HasCoarse(state, step)) return;
#pragma omp single
  BAIHostCoarseSolve(&state->coarse, state->coarse.r);
#pragma omp for schedule(static)
  for (BAIInt i = 0; i < state->A.n; i++) BAIStore(x, i, BAILoad(x, i) + step->omega * BAIProlong(&state->coarse, i));
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

      BAIStore(state->x, row, BAILoad(state->x, row) + omega * BAIProlong(c, row));
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
    for (BAIInt block = 0; block < state->A.blocks; block++) IterateBlock(state, block, UpdateOf(state, step, iteration, state->x));
    Correct(state, state->x, step);
  }
}

static void SweepSync(BAIState state, BAIInt count, const BAIStep *step)
{
  for (BAIInt iteration = 0; iteration < count; iteration++) {
    BAIAtomic *swap = state->x;

#pragma omp parallel num_threads(state->p.threads)
    {
#pragma omp for schedule(static)
      for (BAIInt block = 0; block < state->A.blocks; block++) IterateBlock(state, block, UpdateOf(state, step, iteration, state->next));
      Correct(state, state->next, step);
    }
    state->x    = state->next;
    state->next = swap;
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

            BAIStore(state->x, row, BAILoad(state->next, row));
          }
        }
      }
    }
    Correct(state, state->x, step);
  }
}

void BAIHostSweep(BAIState state, BAIInt count, const BAIStep *step)
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
  }
}

/* Summed block by block, in the same order for any number of threads */
void BAIHostResidual(BAIState state, BAIReal *norm2)
{
  const BAIBlockCRS *A     = &state->A;
  BAIAtomic         *ghost = state->ghost;

#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt block = 0; block < A->blocks; block++) {
    const BAIInt first = BAIBlockFirst(A, block), last = BAIBlockOwn(A, block);
    BAIReal      sum = 0;

    for (BAIInt place = first; place < last; place++) {
      const BAIInt row = BAIRowAt(A, place);
      BAIScalar    r   = state->v.b[row] - A->d[place] * BAILoad(state->x, row);

      for (BAIInt k = A->loc_i[place]; k < A->loc_i[place + 1]; k++) r -= BAIValue(A, A->loc_a, k) * BAILoad(state->x, BAIRowAt(A, first + A->loc_j[k]));
      for (BAIInt k = A->off_i[place]; k < A->off_i[place + 1]; k++) r -= BAIValue(A, A->off_a, k) * (A->off_j[k] < A->n ? BAILoad(state->x, A->off_j[k]) : BAILoad(ghost, A->off_j[k] - A->n));
      sum += BAIAbs2(r);
    }
    state->norm2[block] = sum;
  }
  *norm2 = 0;
  for (BAIInt block = 0; block < A->blocks; block++) *norm2 += state->norm2[block];
}
