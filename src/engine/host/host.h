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
  BAIVectors       v;        /* bound by the caller */
  BAIAtomic       *x, *next; /* the iterate; modes sync and color write the next one beside it */
  BAIScalar       *work;     /* per thread: s, y and the next y of a block */
  _Atomic(BAIInt) *done;     /* mode async: global iterations that each task has behind it */
  BAIReal         *norm2;    /* per block: its share of ||b - A x||^2 */
  BAIInt           tasks, blocks_task;
  int             *order, *turn_first, turns, colors; /* mode color: the tasks in the order of their turns */
};

BAIStatus BAIHostColor(BAIState);
void BAIHostSweep(BAIState, BAIInt count, BAIDirection);
void BAIHostResidual(BAIState, BAIReal *norm2);
