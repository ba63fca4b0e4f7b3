#include "exchange.h"

void BAISortSends(const BAIPeers *peers, BAIInt groups, const BAIInt *group, BAIInt *first, BAIInt *send, BAIInt *peer)
{
  const BAIInt sends = peers->first[peers->peers];

  for (BAIInt g = 0; g <= groups; g++) first[g] = 0;
  for (BAIInt k = 0; k < sends; k++) first[group[k] + 1]++;
  for (BAIInt g = 0; g < groups; g++) first[g + 1] += first[g];
  for (BAIInt p = 0; p < peers->peers; p++) {
    for (BAIInt k = peers->first[p]; k < peers->first[p + 1]; k++) {
      const BAIInt at = first[group[k]]++;

      send[at] = k;
      peer[at] = p;
    }
  }
  for (BAIInt g = groups; g > 0; g--) first[g] = first[g - 1];
  first[0] = 0;
}
