/*
   Block-asynchronous iteration, as defined in engine.h, and ||b - A x||^2 of the current x.

   Value is the type of the iterate and its residual, Inner the type of the local sweeps. This file is compiled by
   itself, and by its two twins, which define BAI_IN_SINGLE or BAI_IN_MIXED and include it
*/
#include "../fault.h"
#include "../../common/fourth_kind.h"
#include "../../common/scale.h"
#include "host.h"
#include <omp.h>
#include <sched.h>

#if defined(BAI_IN_SINGLE)
typedef BAISingle       Value;
typedef float           ValueReal;
typedef BAIAtomicSingle Atomic;
  #define InThis(name) name##Single
#else
typedef BAIScalar Value;
typedef BAIReal   ValueReal;
typedef BAIAtomic Atomic;
#endif
#if defined(BAI_IN_MIXED)
  #define InThis(name) name##Mixed
#elif !defined(BAI_IN_SINGLE)
  #define InThis(name) name
#endif
#if defined(BAI_IN_SINGLE) || defined(BAI_IN_MIXED)
typedef BAISingle Inner;
typedef float     InnerReal;
#else
typedef BAIScalar Inner;
typedef BAIReal   InnerReal;
#endif

/* How blocks are updated in one global iteration */
typedef struct {
  Atomic   *x, *next; /* iterates to read and to write, which may be the same */
  BAIInt    local_iters;
  ValueReal omega, momentum;

  const BAIFault *fault; /* faults of this iteration, or NULL */
} Update;

/* The parameters of the updates of an iteration, counted from 0 in this call, which write to next */
static Update UpdateOf(BAIState state, const BAIStep *step, BAIInt iteration, Atomic *next)
{
  const BAIReal omega    = step->fourth_kind ? step->omega * BAIFourthKindOmega(step->done + iteration) : step->omega;
  const BAIReal momentum = step->fourth_kind ? BAIFourthKindMomentum(step->done + iteration) : step->momentum;
  const int     faulty   = step->faulty && BAIFaultIsAt(&state->p.fault, step->done + iteration);
  const Update  update   = {state->x,
                            next,
                         step->local_iters ? step->local_iters : state->p.local_iters,
                            (ValueReal)omega,
                            (ValueReal)(step->fresh && !iteration ? 0 : momentum),
                         faulty ? &state->p.fault : NULL};

  return update;
}

/* b minus the products outside the block */
static Value SumOutside(BAIState state, BAIInt place, Atomic *x)
{
  const BAIBlockCRS *A = &state->A;
  const Value       *b = state->b, *off_a = A->off_a;
  Atomic            *ghost = state->ghost;
  Value              sum   = b[BAIRowAt(A, place)];

  for (BAIInt k = A->off_i[place]; k < A->off_i[place + 1]; k++) {
    const BAIInt j = A->off_j[k];

    sum -= off_a[k] * (j < A->n ? BAILoad(x, j) : BAILoad(ghost, j - A->n));
  }
  return sum;
}

/*
   With refinement, computes r = b - A x for the rows of a block with the current x of other blocks. s gets r times a
   power of two, which is returned, so that it is in the range of the local sweeps
*/
static ValueReal ReadResidual(BAIState state, BAIInt block, const Update *u, Value *r, Inner *s)
{
  const BAIBlockCRS *A     = &state->A;
  const Value       *loc_a = A->loc_a;
  const BAIInt       first = BAIBlockFirst(A, block), m = BAIBlockLast(A, block) - first;
  BAIReal            largest = 0;
  ValueReal          scale   = 1;

  for (BAIInt i = 0; i < m; i++) {
    const BAIInt row = BAIRowAt(A, first + i);

    r[i] = SumOutside(state, first + i, u->x) - (Value)A->d[first + i] * BAILoad(u->x, row);
    for (BAIInt k = A->loc_i[first + i]; k < A->loc_i[first + i + 1]; k++)
      r[i] -= loc_a[k] * BAILoad(u->x, BAIRowAt(A, first + A->loc_j[k]));
    if (BAIAbs(r[i]) > largest) largest = BAIAbs(r[i]);
  }
  if (sizeof(Inner) < sizeof(Value)) scale = (ValueReal)BAIScaleOf(ilogb((double)largest));
  for (BAIInt i = 0; i < m; i++) s[i] = (Inner)(scale * r[i]);
  return scale;
}

/* Does a global iteration of a block. Local sweeps find y, or with refinement the correction y - x from zero; then rows
   get x in u.next, and their previous x in state->before. Each thread has a part of state->work */
static void IterateBlock(BAIState state, BAIInt block, Update u)
{
  const BAIBlockCRS *A       = &state->A;
  const int          refined = state->p.refined;
  const Inner       *dinv = A->dinv, *loc_a = A->sweep_a;
  Value             *before = state->before;
  const BAIInt       first = BAIBlockFirst(A, block), m = BAIBlockLast(A, block) - first,
               local_iters = state->iters ? state->iters[block] : u.local_iters;
  Value          *r        = (Value *)state->work + 4 * (size_t)A->most_rows * (size_t)omp_get_thread_num();
  Inner          *s = (void *)(r + A->most_rows), *y = s + A->most_rows, *ynext = y + A->most_rows;
  const ValueReal scale = refined ? ReadResidual(state, block, &u, r, s) : 1;

  for (BAIInt i = 0; i < m; i++) {
    if (!refined) s[i] = (Inner)SumOutside(state, first + i, u.x);
    y[i] = refined ? 0 : (Inner)BAILoad(u.x, BAIRowAt(A, first + i));
  }
  if (state->stats) BAIHostStatsRead(state->stats, block);

  for (BAIInt sweep = 0; sweep < local_iters; sweep++) {
    Inner *swap = y;

    for (BAIInt i = 0; i < m; i++) {
      const InnerReal local_omega = (InnerReal)(A->share ? state->local_omega * A->share[first + i]
                                                         : state->local_omega);
      Inner           sum         = s[i];

      for (BAIInt k = A->loc_i[first + i]; k < A->loc_i[first + i + 1]; k++) sum -= loc_a[k] * y[A->loc_j[k]];
      ynext[i] = y[i] + local_omega * (sum * dinv[first + i] - y[i]);
    }
    for (BAIInt i = 0; u.fault && i < m; i++) {
      if (BAIFaultStops(u.fault, BAIRowAt(A, first + i))) ynext[i] = y[i];
    }
    y     = ynext;
    ynext = swap;
  }

  for (BAIInt i = 0; i < m; i++) {
    const BAIInt row     = BAIRowAt(A, first + i);
    const Value  xi      = BAILoad(u.x, row);
    Value        xi_next = xi + u.omega * (refined ? y[i] / scale : y[i] - xi);

    if (before && u.momentum != 0) xi_next += u.momentum * (xi - before[row]);
    if (u.fault && BAIFaultStops(u.fault, row)) xi_next = xi;
    if (before) before[row] = xi;
    BAIStore(u.next, row, xi_next);
  }
}

/* Counts updates of blocks when others can see them */
static void Wrote(BAIState state, BAIInt first, BAIInt last)
{
  for (BAIInt block = first; state->stats && block < last; block++) BAIHostStatsWrote(state->stats, block);
}

/*
   A task is a few neighbouring blocks, a ticket one global iteration of a task. Threads draw tickets in order and do
   not wait for other blocks; they only wait for a task whose last ticket a slower thread still has
*/
static void SweepAsync(BAIState state, BAIInt count, const BAIStep *step)
{
  const int64_t    tickets = (int64_t)count * state->tasks;
  _Atomic(int64_t) next    = 0;

  for (BAIInt task = 0; task < state->tasks; task++) atomic_init(state->done + task, 0);
#pragma omp parallel num_threads(state->p.threads)
  for (int64_t ticket; (ticket = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed)) < tickets;) {
    const BAIInt task = (BAIInt)(ticket % state->tasks), iteration = (BAIInt)(ticket / state->tasks),
                 first = task * state->blocks_task;

    while (atomic_load_explicit(state->done + task, memory_order_acquire) != iteration) sched_yield();
    for (BAIInt block = first; block < first + state->blocks_task && block < state->A.blocks; block++) {
      IterateBlock(state, block, UpdateOf(state, step, iteration, state->x));
      Wrote(state, block, block + 1);
      BAIHostSendBlock(state, block);
    }
    atomic_store_explicit(state->done + task, iteration + 1, memory_order_release);
  }
}

/* Blocks of an iteration write x at once, in any order; all are done before the next iteration */
static void SweepLaunch(BAIState state, BAIInt count, const BAIStep *step)
{
#pragma omp parallel num_threads(state->p.threads)
  for (BAIInt iteration = 0; iteration < count; iteration++) {
#pragma omp for schedule(dynamic, state->blocks_task)
    for (BAIInt block = 0; block < state->A.blocks; block++) {
      IterateBlock(state, block, UpdateOf(state, step, iteration, state->x));
      Wrote(state, block, block + 1);
    }
  }
}

static void SweepSync(BAIState state, BAIInt count, const BAIStep *step)
{
  for (BAIInt iteration = 0; iteration < count; iteration++) {
    void *swap = state->x;

#pragma omp parallel for num_threads(state->p.threads) schedule(static)
    for (BAIInt block = 0; block < state->A.blocks; block++)
      IterateBlock(state, block, UpdateOf(state, step, iteration, state->next));
    state->x    = state->next;
    state->next = swap;
    Wrote(state, 0, state->A.blocks);
  }
}

/*
   Groups of one turn do not read from each other; blocks of a group read values from before any of them has written.
   For ranks that take turns together it may do a single turn, and first its part at the boundary
*/
static void SweepColor(BAIState state, BAIInt count, const BAIStep *step)
{
  const int begin = step->turn ? (int)step->turn - 1 : 0, end = step->turn ? (int)step->turn : state->turns,
            parts = state->parts;
  const int from = step->part ? step->part - 1 : 0, to = step->part ? step->part : parts;

#pragma omp parallel num_threads(state->p.threads)
  for (BAIInt iteration = 0; iteration < count; iteration++) {
    const int backward = step->direction == BAI_BACKWARD || (step->direction == BAI_ALTERNATE && iteration % 2);

    for (int t = begin; t < end; t++) {
      const int turn = backward ? state->turns - 1 - t : t;

      for (int part = turn * parts + from; part < turn * parts + to; part++) {
#pragma omp for schedule(static)
        for (int k = state->turn_first[part]; k < state->turn_first[part + 1]; k++) {
          const BAIInt first = state->order[k] * state->blocks_group, last = BAIGroupEnd(state, state->order[k]);

          for (BAIInt block = first; block < last; block++)
            IterateBlock(state, block, UpdateOf(state, step, iteration, state->next));
          for (BAIInt block = first; block < last; block++) {
            for (BAIInt place = BAIBlockFirst(&state->A, block); place < BAIBlockLast(&state->A, block); place++) {
              const BAIInt row = BAIRowAt(&state->A, place);

              BAIStore((Atomic *)state->x, row, BAILoad((Atomic *)state->next, row));
            }
          }
          Wrote(state, first, last);
        }
      }
    }
  }
}

void InThis(BAIHostSweep)(BAIState state, BAIInt count, const BAIStep *step)
{
  static void (*const sweeps[])(BAIState, BAIInt, const BAIStep *) = {[BAI_MODE_ASYNC]  = SweepAsync,
                                                                      [BAI_MODE_LAUNCH] = SweepLaunch,
                                                                      [BAI_MODE_SYNC]   = SweepSync,
                                                                      [BAI_MODE_COLOR]  = SweepColor};

  sweeps[step->mode](state, count, step);
}

#if !defined(BAI_IN_MIXED)
/* This rank's share of ||b - A x||^2, summed block by block, in the same order for any number of threads */
void InThis(BAIHostResidual)(BAIState state, BAIReal *norm2)
{
  const BAIBlockCRS *A = &state->A;
  const Value       *b = state->b, *loc_a = A->loc_a, *off_a = A->off_a;
  Atomic            *x = state->x, *ghost = state->ghost;

  #pragma omp parallel for num_threads(state->p.threads) schedule(static)
  for (BAIInt block = 0; block < A->blocks; block++) {
    const BAIInt first = BAIBlockFirst(A, block), last = BAIBlockLast(A, block);
    BAIReal      sum = 0;

    for (BAIInt place = first; place < last; place++) {
      const BAIInt row = BAIRowAt(A, place);
      BAIScalar    r   = b[row] - A->d[place] * BAILoad(x, row);

      for (BAIInt k = A->loc_i[place]; k < A->loc_i[place + 1]; k++)
        r -= (BAIScalar)loc_a[k] * BAILoad(x, BAIRowAt(A, first + A->loc_j[k]));
      for (BAIInt k = A->off_i[place]; k < A->off_i[place + 1]; k++)
        r -= (BAIScalar)off_a[k] * (A->off_j[k] < A->n ? BAILoad(x, A->off_j[k]) : BAILoad(ghost, A->off_j[k] - A->n));
      sum += BAIAbs2(r);
    }
    state->norm2[block] = sum;
  }
  *norm2 = 0;
  for (BAIInt block = 0; block < A->blocks; block++) *norm2 += state->norm2[block];
  *norm2 /= state->scale * state->scale;
}
#endif
