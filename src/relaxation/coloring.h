/*
   The order of groups of blocks: their turns in mode color; and the queue of asynchronous blocks for a place on a
   device, so that blocks at work at the same time seldom read from each other
*/
#pragma once

#include "engine.h"
#include "tuning.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* A graph of groups: lower[first[g]] ... are the groups of lower number that read from group g or are read by it,
   possibly repeated; and the ghosts that it reads, whose numbers begin at n */
typedef struct {
  int        n;
  const int *first, *lower;
} BAIGraph;

/* The number of neighbouring blocks that share a turn */
static inline BAIInt BAIGroup(BAIInt block_size)
{
  return block_size < BAI_GROUP_ROWS ? BAI_GROUP_ROWS / block_size : 1;
}

/*
   Colours groups greedily in natural order, so that neighbours have different colours. order[n] has the groups in the
   order of their turns: in stretches of BAI_COLOR_GROUPS groups, whose x nearly stays in the cache of a large device,
   and by colour in each stretch. rank[n] is the place of each group in order, turn_first[n + 1] the begin of each of
   the *turns turns. Groups of one turn are not neighbours
*/
BAIStatus BAIColor(const BAIGraph *, int *order, int *rank, int *turn_first, int *turns, int *colors);

/*
   For ranks that take turns together. BAIColorBeside() finds colours color[g] >= 0 of groups that differ from those of
   their neighbours, including ghosts, whose colours are given from color[n] on, or negative if not yet known.
   BAIOrderByColor() orders groups by these colours; turn_first, turns + 1, has the begin of each turn, one for each
   colour
*/
BAIStatus BAIColorBeside(const BAIGraph *, int ghosts, int *color);
void      BAIOrderByColor(int n, const int *color, int turns, int *order, int *turn_first);

#if defined(__cplusplus)
}
#endif
