/*
   Mode color: the tasks of a matrix, which are groups of blocks, and the order in which they take turns
*/
#include "host.h"
#include <stdlib.h>

/* Counts in end[task + 1], or, if neighbor is given, writes from end[task] on, who reads from whom, both ways round */
static void Neighbors(const BAIState state, int *seen, int *end, int *neighbor)
{
  const BAIBlockCRS *A    = &state->A;
  const BAIInt       rows = state->blocks_task * A->block_size;

  for (BAIInt task = 0; task < state->tasks; task++) seen[task] = -1;
  for (int task = 0; task < state->tasks; task++) {
    const BAIInt first = task * rows, last = A->n - first > rows ? first + rows : A->n;

    for (BAIInt k = A->off_i[first]; k < A->off_i[last]; k++) {
      const int other = A->off_j[k] < A->n ? (int)(A->off_j[k] / rows) : task;

      if (other == task || seen[other] == task) continue;
      seen[other] = task;
      if (neighbor) {
        neighbor[end[task]++]  = other;
        neighbor[end[other]++] = task;
      } else {
        end[task + 1]++;
        end[other + 1]++;
      }
    }
  }
}

BAIStatus BAIHostColor(BAIState state)
{
  const size_t n      = (size_t)state->tasks + 1;
  int         *seen   = malloc(n * sizeof(int)), *first = calloc(n, sizeof(int)), *end = malloc(n * sizeof(int)), *rank = malloc(n * sizeof(int)), *neighbor = NULL;
  BAIStatus    status = BAIStatusOf(BAI_ERR_MEMORY);

  state->order       = malloc(n * sizeof(int));
  state->turn_first  = malloc((n + 1) * sizeof(int));
  if (seen && first && end && rank && state->order && state->turn_first) {
    Neighbors(state, seen, first, NULL);
    for (BAIInt task = 0; task < state->tasks; task++) first[task + 1] += first[task];
    for (size_t task = 0; task < n; task++) end[task] = first[task];
    neighbor = malloc(((size_t)first[state->tasks] + 1) * sizeof(int));
    if (neighbor) {
      const BAIGraph graph = {(int)state->tasks, first, neighbor};

      Neighbors(state, seen, end, neighbor);
      status = BAIColor(&graph, state->order, rank, state->turn_first, &state->turns, &state->colors);
    }
  }
  free(seen);
  free(first);
  free(end);
  free(rank);
  free(neighbor);
  return status;
}
