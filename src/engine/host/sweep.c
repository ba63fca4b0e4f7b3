/*
   Block-asynchronous iteration, as defined in engine.h
*/
#include "host.h"
#include <omp.h>
#include <sched.h>

/* One global iteration of one block: reads x, writes next, which is x itself where the mode allows it */
static void IterateBlock(BAIState state, BAIInt block, BAIAtomic *x, BAIAtomic *next)
{
  const BAIBlockCRS *A     = &state->A;
  const BAIScalar   *ghost = state->v.ghost;
  const BAIReal      omega = state->p.omega, local_omega = BAILocalOmega(&state->p, A->row_sum);
  const BAIInt       first = BAIBlockFirst(A, block), m = BAIBlockLast(A, block) - first;
  BAIScalar         *s = state->work + 3 * (size_t)A->block_size * (size_t)omp_get_thread_num(), *y = s + A->block_size, *ynext = y + A->block_size;

  for (BAIInt i = 0; i < m; i++) {
    BAIScalar sum = state->v.b[first + i];

    for (BAIInt k = A->off_i[first + i]; k < A->off_i[first + i + 1]; k++) {
      const BAIInt j = A->off_j[k];

      sum -= A->off_a[k] * (j < A->n ? BAILoad(x, j) : ghost[j - A->n]);
    }
    s[i] = sum;
    y[i] = BAILoad(x, first + i);
  }

  for (BAIInt sweep = 0; sweep < state->p.local_iters; sweep++) {
    BAIScalar *swap = y;

    for (BAIInt i = 0; i < m; i++) {
      BAIScalar sum = s[i];

      for (BAIInt k = A->loc_i[first + i]; k < A->loc_i[first + i + 1]; k++) sum -= A->loc_a[k] * y[A->loc_j[k]];
      ynext[i] = y[i] + local_omega * (sum * A->dinv[first + i] - y[i]);
    }
    y     = ynext;
    ynext = swap;
  }

  for (BAIInt i = 0; i < m; i++) {
    const BAIScalar xi = BAILoad(x, first + i);

    BAIStore(next, first + i, xi + omega * (y[i] - xi));
  }
}

/*
   A task is a few neighbouring blocks, a ticket one global iteration of a task. Threads draw tickets in order and never
   wait for other blocks; only a task whose last ticket a slower thread still holds is waited for.
*/
static void SweepAsync(BAIState state, BAIInt count)
{
  const int64_t    tickets = (int64_t)count * state->tasks;
  _Atomic(int64_t) next    = 0;

  for (BAIInt task = 0; task < state->tasks; task++) atomic_init(state->done + task, 0);
#pragma omp parallel num_threads(state->p.threads)
  for (int64_t ticket; (ticket = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed)) < tickets;) {
    const BAIInt task = (BAIInt)(ticket % state->tasks), iteration = (BAIInt)(ticket / state->tasks), first = task * state->blocks_task;

    while (atomic_load_explicit(state->done + task, memory_order_acquire) != iteration) sched_yield();
    for (BAIInt block = first; block < first + state->blocks_task && block < state->A.blocks; block++) IterateBlock(state, block, state->x, state->x);
    atomic_store_explicit(state->done + task, iteration + 1, memory_order_release);
  }
}

static void SweepLaunch(BAIState state, BAIInt count)
{
#pragma omp parallel num_threads(state->p.threads)
  for (BAIInt iteration = 0; iteration < count; iteration++) {
#pragma omp for schedule(dynamic, state->blocks_task)
    for (BAIInt block = 0; block < state->A.blocks; block++) IterateBlock(state, block, state->x, state->x);
  }
}

static void SweepSync(BAIState state, BAIInt count)
{
  for (BAIInt iteration = 0; iteration < count; iteration++) {
    BAIAtomic *swap = state->x;

#pragma omp parallel for num_threads(state->p.threads) schedule(static)
    for (BAIInt block = 0; block < state->A.blocks; block++) IterateBlock(state, block, state->x, state->next);
    state->x    = state->next;
    state->next = swap;
  }
}

/* Tasks of one turn read nothing of each other; the blocks of a task read it as it was before any of them has written */
static void SweepColor(BAIState state, BAIInt count, BAIDirection direction)
{
  const BAIInt rows = state->blocks_task * state->A.block_size;

#pragma omp parallel num_threads(state->p.threads)
  for (BAIInt iteration = 0; iteration < count; iteration++) {
    const int backward = direction == BAI_BACKWARD || (direction == BAI_ALTERNATE && iteration % 2);

    for (int t = 0; t < state->turns; t++) {
      const int turn = backward ? state->turns - 1 - t : t;

#pragma omp for schedule(static)
      for (int k = state->turn_first[turn]; k < state->turn_first[turn + 1]; k++) {
        const BAIInt task = state->order[k], first = task * state->blocks_task;

        for (BAIInt block = first; block < first + state->blocks_task && block < state->A.blocks; block++) IterateBlock(state, block, state->x, state->next);
        for (BAIInt row = task * rows; row < (task + 1) * rows && row < state->A.n; row++) BAIStore(state->x, row, BAILoad(state->next, row));
      }
    }
  }
}

void BAIHostSweep(BAIState state, BAIInt count, BAIDirection direction)
{
  switch (state->p.mode) {
  case BAI_MODE_ASYNC:
    SweepAsync(state, count);
    break;
  case BAI_MODE_LAUNCH:
    SweepLaunch(state, count);
    break;
  case BAI_MODE_SYNC:
    SweepSync(state, count);
    break;
  case BAI_MODE_COLOR:
    SweepColor(state, count, direction);
    break;
  }
}

/* Summed block by block, in the same order for any number of threads */
void BAIHostResidual(BAIState state, BAIReal *norm2)
{
  const BAIBlockCRS *A     = &state->A;
  const BAIScalar   *ghost = state->v.ghost;

#pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt block = 0; block < A->blocks; block++) {
    const BAIInt first = BAIBlockFirst(A, block), last = BAIBlockLast(A, block);
    BAIReal      sum   = 0;

    for (BAIInt row = first; row < last; row++) {
      BAIScalar r = state->v.b[row] - A->d[row] * BAILoad(state->x, row);

      for (BAIInt k = A->loc_i[row]; k < A->loc_i[row + 1]; k++) r -= A->loc_a[k] * BAILoad(state->x, first + A->loc_j[k]);
      for (BAIInt k = A->off_i[row]; k < A->off_i[row + 1]; k++) r -= A->off_a[k] * (A->off_j[k] < A->n ? BAILoad(state->x, A->off_j[k]) : ghost[A->off_j[k] - A->n]);
      sum += BAIAbs2(r);
    }
    state->norm2[block] = sum;
  }
  *norm2 = 0;
  for (BAIInt block = 0; block < A->blocks; block++) *norm2 += state->norm2[block];
}
