/* State of the host backend */
#pragma once

#include "../coloring.h"
#include "../exchange.h"
#include "blockcrs.h"
#include "iterate.h"

typedef struct BAIHostStats_ BAIHostStats; /* stats.c */
typedef struct {
  char     *mailbox; /* of this rank */
  BAIInt    peers, sends;
  BAIFlag **tell;        /* peers: flag that this rank sets */
  BAIInt   *first, *row; /* blocks+1; first[k] <= s < first[k + 1] are the rows of block k that go to a peer */
  void    **to[2];       /* their addresses in even and odd exchanges */
  void     *zero;        /* ghosts of a zero x */
  BAIFlag   exchanges;
  int       live;   /* blocks send each new x */
  double    last;   /* time of the last exchange */
  double    worked; /* seconds of sweeps between exchanges, in total */
} BAIHostExchange;

struct BAIState_ {
  BAIParameters p;
  BAIBlockCRS   A;
  BAIVectors    v; /* bound by the caller */
  const void   *b; /* right-hand side of v */
  /* x of other ranks, BAIAtomic or BAIAtomicSingle. In single precision b and ghost are rounded copies, times scale */
  void            *ghost;
  void            *rounded_b, *rounded_ghost;
  BAIReal          scale;
  void            *x, *next; /* the iterate, of the type of ghost; modes sync and color write the next one to next */
  void            *before;   /* the iterate before the last one, with momentum */
  void            *work;     /* for each thread: r, s, y and the next y of a block */
  _Atomic(BAIInt) *done;     /* mode async: global iterations of each task that are done */
  BAIReal         *norm2;    /* for each block: its share of ||b - A x||^2 */
  BAIInt           tasks, blocks_task;   /* modes async and launch: number of tasks, and blocks of a task */
  BAIInt           groups, blocks_group; /* mode color: number of groups, and blocks of a group */
  BAIInt          *iters;                /* local sweeps of each block, if they differ */
  int64_t          local_sweeps;         /* number of local sweeps of all blocks */
  BAIReal          local_omega;
  int             *order, *turn_first, turns, colors; /* mode color: groups in the order of their turns */
  int              parts; /* parts of a turn: one; or two, of which the first has the blocks at the boundary */
  BAIHostStats    *stats; /* NULL without statistics */
  BAIHostExchange  exchange;
};

/* Finds the turns of this rank's groups; then BAIEngineColor() and BAIEngineTakeTurns() */
BAIStatus BAIHostColor(BAIState);
BAIStatus BAIHostColorRows(BAIState, const BAIInt *ghost, BAIInt *color);
BAIStatus BAIHostTakeTurns(BAIState, BAIInt turns, const BAIInt *color);
/* For the precision of BAIScalar, for single precision, and for corrections in single precision */
void BAIHostSweep(BAIState, BAIInt count, const BAIStep *);
void BAIHostSweepSingle(BAIState, BAIInt count, const BAIStep *);
void BAIHostSweepMixed(BAIState, BAIInt count, const BAIStep *);
void BAIHostResidual(BAIState, BAIReal *norm2);
void BAIHostResidualSingle(BAIState, BAIReal *norm2);

/* The functions BAIEngine...() of engine.h, and exchange() and worked() of BAIBackendOps */
BAIStatus BAIHostConnect(BAIState, const BAIPeers *);
BAIStatus BAIHostExchangeGhosts(BAIState, BAIGhosts, int swept);
double    BAIHostWorked(BAIState);
BAIStatus BAIHostDisconnect(BAIState);
/* Writes the new x of a block to the mailboxes of peers, if they read x while this rank iterates (exchange.live);
   otherwise does nothing. Called in mode async by the thread that has updated the block */
void BAIHostSendBlock(BAIState, BAIInt block);

/* The end of a group: the first block of the next one */
static inline BAIInt BAIGroupEnd(BAIState state, BAIInt group)
{
  return state->A.blocks - group * state->blocks_group > state->blocks_group ? (group + 1) * state->blocks_group
                                                                             : state->A.blocks;
}

/* x_i of the caller, which the engine holds times scale */
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
