/*
   State of the host backend
*/
#pragma once

#include "../coloring.h"
#include "../exchange.h"
#include "blockcrs.h"
#include "iterate.h"

typedef struct BAIHostStats_ BAIHostStats; /* stats.c */
/* Exchange with other ranks: see exchange.h */
typedef struct {
  BAIShared mailbox, *theirs; /* own and, for each peer, its mailbox */
  BAIInt    peers, sends;
  BAIFlag **tell;        /* peers: the flag that is this rank's to set */
  BAIInt   *first, *row; /* blocks+1; first[k] <= s < first[k + 1]: the rows of block k that go to a peer, */
  void    **to[2];       /* and where, in even and odd exchanges */
  void     *zero;        /* ghosts of an x that is zero */
  BAIFlag   exchanges;
  int       live;     /* blocks send x whenever they have a new one */
  int       copies;   /* none do: x goes in copies; */
  int       was_live; /* and might be old in the last exchange, */
  double    last;     /* which ended then; */
  double    worked;   /* seconds of sweeps from one exchange to the next, in all */
} BAIHostExchange;

struct BAIState_ {
  BAIParameters p;
  BAIBlockCRS   A;
  BAIVectors    v; /* bound by the caller */
  const void   *b; /* that of v, */
  void   *ghost; /* and x of other ranks, BAIAtomic or BAIAtomicSingle; in single precision, times scale, rounded copies
                  of them: */
  void   *rounded_b, *rounded_ghost;
  BAIReal scale;
  void   *x, *next;       /* the iterate, of the type of ghost; modes sync and color write the next one beside it */
  void   *before;         /* the iterate before the last one, if there is momentum */
  void   *work;           /* per thread: r, s, y and the next y of a block */
  _Atomic(BAIInt) *done;  /* mode async: global iterations that each task has behind it */
  BAIReal         *norm2; /* per block: its share of ||b - A x||^2 */
  BAIInt           tasks, blocks_task;   /* modes async and launch: what a thread takes at a time */
  BAIInt           groups, blocks_group; /* mode color: what takes its turn together */
  BAIInt          *iters;                /* local sweeps of each block, if they are not the same for all */
  int64_t          local_sweeps;         /* of all blocks */
  BAIReal          local_omega;
  int             *order, *turn_first, turns, colors; /* mode color: the groups in the order of their turns, */
  int              parts; /* parts of a turn: one; or two, of which the first has to do with other ranks */
  BAIHostStats    *stats; /* NULL: nothing is counted */
  BAIHostExchange  exchange;
};

BAIStatus BAIHostColor(BAIState);
BAIStatus BAIHostColorRows(BAIState, const BAIInt *ghost, BAIInt *color);
BAIStatus BAIHostTakeTurns(BAIState, BAIInt turns, const BAIInt *color);
/* In the precision of BAIScalar, in single, and with corrections in single */
void BAIHostSweep(BAIState, BAIInt count, const BAIStep *);
void BAIHostSweepSingle(BAIState, BAIInt count, const BAIStep *);
void BAIHostSweepMixed(BAIState, BAIInt count, const BAIStep *);
void BAIHostResidual(BAIState, BAIReal *norm2);
void BAIHostResidualSingle(BAIState, BAIReal *norm2);

BAIStatus BAIHostShare(BAIState, BAIInt peers, BAIHandle *);
BAIStatus BAIHostConnect(BAIState, const BAIPeers *, const BAIHandle *);
BAIStatus BAIHostExchangeGhosts(BAIState, BAIGhosts, int swept);
double    BAIHostWorked(BAIState);
void      BAIHostSendBlock(BAIState, BAIInt block); /* new x, where it is live */
BAIStatus BAIHostDisconnect(BAIState);

/* The first block of the next group */
static inline BAIInt BAIGroupEnd(BAIState state, BAIInt group)
{
  return state->A.blocks - group * state->blocks_group > state->blocks_group ? (group + 1) * state->blocks_group
                                                                             : state->A.blocks;
}

/* x_i, as the caller knows it */
static inline BAIScalar BAIGetX(BAIState state, BAIInt i)
{
  return state->A.single ? BAILoad((BAIAtomicSingle *)state->x, i) / state->scale : BAILoad((BAIAtomic *)state->x, i);
}

static inline void BAISetX(BAIState state, BAIInt i, BAIScalar value)
{
  if (state->A.single) BAIStore((BAIAtomicSingle *)state->x, i, (BAISingle)(value * state->scale));
  else BAIStore((BAIAtomic *)state->x, i, value);
}

BAIStatus BAIHostStatsCreate(BAIState);
void      BAIHostStatsDestroy(BAIHostStats *);
void      BAIHostStatsRead(BAIHostStats *, BAIInt block);
void      BAIHostStatsWrote(BAIHostStats *, BAIInt block);
BAIStatus BAIHostStatsGet(BAIState, BAIStats *);
