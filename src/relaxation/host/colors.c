/* Mode color: groups of blocks, and the order of their turns */
#include "host.h"
#include <stdlib.h>

/* Counts once in end[higher + 1] that a group reads from another; or, if lower is given, writes the lower number from
   end[higher] on */
static void Meet(int group, int other, int *seen, int *end, int *lower)
{
  const int low = other < group ? other : group, high = other < group ? group : other;

  if (other == group || seen[other] == group) return;
  seen[other] = group;
  if (lower) lower[end[high]++] = low;
  else end[high + 1]++;
}

/* Finds which groups read from each other; ghosts have numbers after the groups */
static void Neighbors(const BAIState state, int ghosts, int *seen, int *end, int *lower)
{
  const BAIBlockCRS *A      = &state->A;
  const BAIInt       blocks = state->blocks_group;

  for (BAIInt group = 0; group < state->groups; group++) seen[group] = -1;
  for (int group = 0; group < state->groups; group++) {
    const BAIInt first = group * blocks, last = BAIGroupEnd(state, group);

    for (BAIInt k = A->off_i[BAIBlockFirst(A, first)]; k < A->off_i[BAIBlockFirst(A, last)]; k++) {
      if (A->off_j[k] < A->n) Meet(group, (int)(BAIBlockOfRow(A, A->off_j[k]) / blocks), seen, end, lower);
      else if (ghosts && lower) lower[end[group]++] = (int)(state->groups + A->off_j[k] - A->n);
      else if (ghosts) end[group + 1]++;
    }
  }
}

/* Finds the graph of the groups, with ghosts or without; the caller frees first and lower, after an error too */
static BAIStatus FindGraph(BAIState state, int ghosts, int **first, int **lower)
{
  const size_t n    = (size_t)state->groups + 1;
  int         *seen = malloc(n * sizeof(int)), *end = malloc(n * sizeof(int));

  *lower = NULL;
  *first = calloc(n, sizeof(int));
  if (seen && end && *first) {
    Neighbors(state, ghosts, seen, *first, NULL);
    for (BAIInt group = 0; group < state->groups; group++) (*first)[group + 1] += (*first)[group];
    for (size_t group = 0; group < n; group++) end[group] = (*first)[group];
    *lower = malloc(((size_t)(*first)[state->groups] + 1) * sizeof(int));
    if (*lower) Neighbors(state, ghosts, seen, end, *lower);
  }
  free(seen);
  free(end);
  return BAIStatusOf(*lower ? BAI_OK : BAI_ERR_MEMORY);
}

/* Reallocates the order of groups for a number of turns */
static BAIStatus NeedOrder(BAIState state, size_t turns)
{
  free(state->order);
  free(state->turn_first);
  state->parts      = 1;
  state->order      = malloc(((size_t)state->groups + 1) * sizeof(int));
  state->turn_first = malloc((turns + 1) * sizeof(int));
  return BAIStatusOf(state->order && state->turn_first ? BAI_OK : BAI_ERR_MEMORY);
}

BAIStatus BAIHostColor(BAIState state)
{
  int      *rank = malloc(((size_t)state->groups + 1) * sizeof(int)), *first = NULL, *lower = NULL;
  BAIStatus status = rank ? NeedOrder(state, (size_t)state->groups) : BAIStatusOf(BAI_ERR_MEMORY);

  if (!status.code) status = FindGraph(state, 0, &first, &lower);
  if (!status.code) {
    const BAIGraph graph = {(int)state->groups, first, lower};

    status = BAIColor(&graph, state->order, rank, state->turn_first, &state->turns, &state->colors);
  }
  free(rank);
  free(first);
  free(lower);
  if (status.code) { /* so that it can be tried again */
    free(state->order);
    free(state->turn_first);
    state->order = state->turn_first = NULL;
  }
  return status;
}

BAIStatus BAIHostColorRows(BAIState state, const BAIInt *ghost, BAIInt *color)
{
  const BAIBlockCRS *A = &state->A;
  int      *first = NULL, *lower = NULL, *of = malloc(((size_t)state->groups + (size_t)A->nghost + 1) * sizeof(int));
  BAIStatus status = of ? FindGraph(state, 1, &first, &lower) : BAIStatusOf(BAI_ERR_MEMORY);

  if (!status.code) {
    const BAIGraph graph = {(int)state->groups, first, lower};

    for (BAIInt k = 0; k < A->nghost; k++) of[state->groups + k] = (int)ghost[k];
    status = BAIColorBeside(&graph, (int)A->nghost, of);
  }
  for (BAIInt block = 0; block < A->blocks && !status.code; block++) {
    for (BAIInt place = BAIBlockFirst(A, block); place < BAIBlockLast(A, block); place++)
      color[BAIRowAt(A, place)] = (BAIInt)of[block / state->blocks_group];
  }
  free(first);
  free(lower);
  free(of);
  return status;
}

/* Whether a group reads from other ranks or is read by them */
static int IsBoundary(const BAIState state, BAIInt group)
{
  const BAIBlockCRS *A     = &state->A;
  const BAIInt       first = group * state->blocks_group, end = BAIGroupEnd(state, group);

  if (state->exchange.first && state->exchange.first[end] > state->exchange.first[first]) return 1;
  for (BAIInt k = A->off_i[BAIBlockFirst(A, first)]; k < A->off_i[BAIBlockFirst(A, end)]; k++) {
    if (A->off_j[k] >= A->n) return 1;
  }
  return 0;
}

BAIStatus BAIHostTakeTurns(BAIState state, BAIInt turns, const BAIInt *color)
{
  const BAIBlockCRS *A      = &state->A;
  int               *part   = malloc(((size_t)state->groups + 1) * sizeof(int));
  BAIStatus          status = part ? NeedOrder(state, 2 * (size_t)turns) : BAIStatusOf(BAI_ERR_MEMORY);

  if (!status.code) {
    for (BAIInt group = 0; group < state->groups; group++)
      part[group] = 2 * (int)color[BAIRowAt(A, BAIBlockFirst(A, group * state->blocks_group))] +
        !IsBoundary(state, group);
    BAIOrderByColor((int)state->groups, part, 2 * (int)turns, state->order, state->turn_first);
    state->parts = 2;
    state->turns = state->colors = (int)turns;
  }
  free(part);
  return status;
}
