/*
   State of the host backend
*/
#pragma once

#include "../coloring.h"
#include "blockcrs.h"
#include "iterate.h"

struct BAIState_ {
  BAIParameters    p;
  BAIBlockCRS      A;
  BAIVectors       v;                    /* bound by the caller */
  BAIAtomic       *x, *next;             /* the iterate; modes sync and color write the next one beside it */
  BAIScalar       *before;               /* the iterate before the last one, if there is momentum */
  BAIScalar       *work;                 /* per thread: s, y and the next y of a block */
  _Atomic(BAIInt) *done;                 /* mode async: global iterations that each task has behind it */
  BAIReal         *norm2;                /* per block: its share of ||b - A x||^2 */
  BAIInt           tasks, blocks_task;   /* modes async and launch: what a thread takes at a time */
  BAIInt           groups, blocks_group; /* mode color: what takes its turn together */
  BAIInt          *iters;                /* local sweeps of each block, if they are not the same for all */
  int64_t          local_sweeps;         /* of all blocks */
  BAIReal          local_omega;
  int             *order, *turn_first, turns, colors; /* mode color: the groups in the order of their turns */
};

BAIStatus BAIHostColor(BAIState);
void      BAIHostSweep(BAIState, BAIInt count, const BAIStep *);
void      BAIHostResidual(BAIState, BAIReal *norm2);
