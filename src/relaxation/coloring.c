#include "coloring.h"
#include <stdlib.h>

/* Gives each group the smallest colour that no neighbour has. taken, zero on entry, has room for all colours: taken[c]
   is the last group, counted from 1, with a neighbour of colour c */
static int ColorGreedily(const BAIGraph *graph, int *color, int *taken)
{
  int colors = 0;

  for (int g = 0; g < graph->n; g++) {
    color[g] = 0;
    for (int k = graph->first[g]; k < graph->first[g + 1]; k++)
      if (color[graph->lower[k]] >= 0) taken[color[graph->lower[k]]] = g + 1;
    while (taken[color[g]] == g + 1) color[g]++;
    if (color[g] >= colors) colors = color[g] + 1;
  }
  return colors;
}

BAIStatus BAIColor(const BAIGraph *graph, int *order, int *rank, int *turn_first, int *turns, int *colors)
{
  const int n     = graph->n;
  int      *color = malloc(((size_t)n + 1) * sizeof(*color)), *place = calloc((size_t)n + 1, sizeof(*place));
  BAIStatus status = color && place ? BAIStatusOf(BAI_OK) : BAIStatusOf(BAI_ERR_MEMORY);

  *turns = *colors = 0;
  if (!status.code) {
    *colors = ColorGreedily(graph, color, place);
    for (int first = 0; first < n; first += BAI_COLOR_GROUPS) {
      const int last = n - first > BAI_COLOR_GROUPS ? first + BAI_COLOR_GROUPS : n;
      int       next = first;

      for (int c = 0; c < *colors; c++) place[c] = 0;
      for (int g = first; g < last; g++) place[color[g]]++;
      for (int c = 0; c < *colors; c++) {
        const int many = place[c];

        place[c] = next;
        if (many) turn_first[(*turns)++] = next;
        next += many;
      }
      for (int g = first; g < last; g++) {
        rank[g]        = place[color[g]]++;
        order[rank[g]] = g;
      }
    }
    turn_first[*turns] = n;
  }
  free(color);
  free(place);
  return status;
}

BAIStatus BAIColorBeside(const BAIGraph *graph, int ghosts, int *color)
{
  int most = 0, *taken;

  for (int ghost = graph->n; ghost < graph->n + ghosts; ghost++)
    if (color[ghost] > most) most = color[ghost];
  taken = calloc((size_t)graph->n + (size_t)most + 2, sizeof(*taken));
  if (!taken) return BAIStatusOf(BAI_ERR_MEMORY);
  (void)ColorGreedily(graph, color, taken);
  free(taken);
  return BAIStatusOf(BAI_OK);
}

void BAIOrderByColor(int n, const int *color, int turns, int *order, int *turn_first)
{
  for (int t = 0; t <= turns; t++) turn_first[t] = 0;
  for (int g = 0; g < n; g++) turn_first[color[g] + 1]++;
  for (int t = 0; t < turns; t++) turn_first[t + 1] += turn_first[t];
  for (int g = 0; g < n; g++) order[turn_first[color[g]]++] = g;
  for (int t = turns; t; t--) turn_first[t] = turn_first[t - 1];
  turn_first[0] = 0;
}
