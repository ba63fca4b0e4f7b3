#include "coloring.h"
#include <stdlib.h>

BAIStatus BAIColor(const BAIGraph *graph, int *order, int *rank, int *color_first, int *colors)
{
  const int n     = graph->n;
  int      *color = malloc(((size_t)n + 1) * sizeof(*color)), *taken = malloc(((size_t)n + 1) * sizeof(*taken));
  BAIStatus status = color && taken ? BAIStatusOf(BAI_OK) : BAIStatusOf(BAI_ERR_MEMORY);

  *colors = 0;
  if (!status.code) {
    for (int g = 0; g <= n; g++) {
      taken[g]       = -1; /* the last group that found this colour with a neighbour */
      color_first[g] = 0;
    }
    for (int g = 0; g < n; g++) {
      color[g] = 0;
      for (int k = graph->first[g]; k < graph->first[g + 1]; k++) {
        if (graph->neighbor[k] < g) taken[color[graph->neighbor[k]]] = g;
      }
      while (taken[color[g]] == g) color[g]++;
      if (color[g] == *colors) ++*colors;
      color_first[color[g] + 1]++;
    }
    for (int c = 0; c < n; c++) color_first[c + 1] += color_first[c];
    for (int g = 0; g < n; g++) {
      rank[g]        = color_first[color[g]]++;
      order[rank[g]] = g;
    }
    for (int c = n; c > 0; c--) color_first[c] = color_first[c - 1];
    color_first[0] = 0;
  }
  free(color);
  free(taken);
  return status;
}
