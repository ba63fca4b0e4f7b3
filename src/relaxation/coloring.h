/*
   The order in which groups of blocks take turns: in mode color, and, where the asynchronous ones queue for a place on
   a device, so that those at work at the same time seldom read from each other
*/
#pragma once

#include "engine.h"
#include "tuning.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* A graph of groups: lower[first[g]] ... are those with a number lower than g that read from group g or are read by it,
 * once or more often; and ghosts that it reads, whose numbers, from n on, no group has */
typedef struct {
  int        n;
  const int *first, *lower;
} BAIGraph;

/* The number of neighbouring blocks that take their turn together */
static inline BAIInt BAIGroup(BAIInt block_size)
{
  return block_size < BAI_GROUP_ROWS ? BAI_GROUP_ROWS / block_size : 1;
}

/*
   Colours that no two neighbours share, given greedily in natural order. order[n] are the groups in the order of their
   turns: in stretches of BAI_COLOR_GROUPS groups, whose x stays in the cache of a large device, or nearly, and colour
   by colour in each. rank[n] are their places in it, turn_first[n + 1] where each of the *turns turns begins. Groups of
   one turn are not neighbours
*/
BAIStatus BAIColor(const BAIGraph *, int *order, int *rank, int *turn_first, int *turns, int *colors);

/*
   For ranks that take turns together. Colours, from 0 on, that groups do not share with their neighbours: color[g] of
   groups, which are found, and from n on those of ghosts, which are given, negative where a ghost has none yet. And, by
   such colours, the order of the groups: turn_first, turns+1, says where each turn, a colour each, begins and ends
*/
BAIStatus BAIColorBeside(const BAIGraph *, int ghosts, int *color);
void      BAIOrderByColor(int n, const int *color, int turns, int *order, int *turn_first);

#if defined(__cplusplus)
}
#endif
