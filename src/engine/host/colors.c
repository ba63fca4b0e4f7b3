/*
   Mode color: groups of blocks, and the order in which they take turns
*/
#include "host.h"
#include <stdlib.h>

/* A group reads from another: counts that in end[higher + 1], or, if lower is given, writes it from end[higher] on, once */
static void Meet(int group, int other, int *seen, int *end, int *lower)
{
  const int low = other < group ? other : group, high = other < group ? group : other;

  if (other == group || seen[other] == group) return;
  seen[other] = group;
  if (lower) lower[end[high]++] = low;
  else end[high + 1]++;
}

/* Who reads from whom: what couples to the rows of the blocks, and the rows of their overlaps */
static void Neighbors(const BAIState state, int *seen, int *end, int *lower)
{
  const BAIBlockCRS *A      = &state->A;
  const BAIInt       blocks = state->blocks_group;

  for (BAIInt group = 0; group < state->groups; group++) seen[group] = -1;
  for (int group = 0; group < state->groups; group++) {
    const BAIInt first = group * blocks, last = A->blocks - first > blocks ? first + blocks : A->blocks;

    for (BAIInt k = A->off_i[BAIBlockFirst(A, first)]; k < A->off_i[BAIBlockFirst(A, last)]; k++) {
      if (A->off_j[k] < A->n) Meet(group, (int)(BAIBlockOfRow(A, A->off_j[k]) / blocks), seen, end, lower);
    }
    for (BAIInt block = first; block < last; block++) {
      for (BAIInt place = BAIBlockOwn(A, block); place < BAIBlockLast(A, block); place++) Meet(group, (int)(BAIBlockOfRow(A, BAIRowAt(A, place)) / blocks), seen, end, lower);
    }
  }
}

BAIStatus BAIHostColor(BAIState state)
{
  const size_t n    = (size_t)state->groups + 1;
  int         *seen = malloc(n * sizeof(int)), *first = calloc(n, sizeof(int)), *end = malloc(n * sizeof(int)), *rank = malloc(n * sizeof(int)), *lower = NULL;
  BAIStatus    status = BAIStatusOf(BAI_ERR_MEMORY);

  state->order      = malloc(n * sizeof(int));
  state->turn_first = malloc((n + 1) * sizeof(int));
  if (seen && first && end && rank && state->order && state->turn_first) {
    Neighbors(state, seen, first, NULL);
    for (BAIInt group = 0; group < state->groups; group++) first[group + 1] += first[group];
    for (size_t group = 0; group < n; group++) end[group] = first[group];
    lower = malloc(((size_t)first[state->groups] + 1) * sizeof(int));
    if (lower) {
      const BAIGraph graph = {(int)state->groups, first, lower};

      Neighbors(state, seen, end, lower);
      status = BAIColor(&graph, state->order, rank, state->turn_first, &state->turns, &state->colors);
    }
  }
  free(seen);
  free(first);
  free(end);
  free(rank);
  free(lower);
  if (status.code) { /* to be tried again */
    free(state->order);
    free(state->turn_first);
    state->order = state->turn_first = NULL;
  }
  return status;
}
