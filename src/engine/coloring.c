#include "coloring.h"
#include <stdlib.h>

/* Groups of a stretch: many times those that a device works on at a time, whatever their colour */
enum {
  STRETCH = 32768
};

static int Greedy(const BAIGraph *graph, int *color, int *taken)
{
  int colors = 0;

  for (int g = 0; g < graph->n; g++) taken[g] = -1; /* the last group that found this colour with a neighbour */
  for (int g = 0; g < graph->n; g++) {
    color[g] = 0;
    for (int k = graph->first[g]; k < graph->first[g + 1]; k++) taken[color[graph->lower[k]]] = g;
    while (taken[color[g]] == g) color[g]++;
    if (color[g] == colors) colors++;
  }
  return colors;
}

BAIStatus BAIColor(const BAIGraph *graph, int *order, int *rank, int *turn_first, int *turns, int *colors)
{
  const int n     = graph->n;
  int      *color = malloc(((size_t)n + 1) * sizeof(*color)), *place = malloc(((size_t)n + 1) * sizeof(*place));
  BAIStatus status = color && place ? BAIStatusOf(BAI_OK) : BAIStatusOf(BAI_ERR_MEMORY);

  *turns = *colors = 0;
  if (!status.code) {
    *colors = Greedy(graph, color, place);
    for (int first = 0; first < n; first += STRETCH) {
      const int last = n - first > STRETCH ? first + STRETCH : n;
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
