/* Communication with other ranks in a cycle on the host, see ../levels.h */
#include "levels.h"
#include <string.h>

/* Takes the places of the rows that are sent, and allocates memory for their x */
static BAIStatus TakeSends(BAIHostLevel *L, const BAILevelsShared *shared)
{
  BAIInt *place = malloc(((size_t)L->A.n + 1) * sizeof(*place));

  L->all    = shared->all;
  L->ghosts = shared->ghosts;
  L->sends  = shared->sends;
  L->send   = malloc(((size_t)L->sends + 1) * sizeof(*L->send));
  L->sent   = malloc(((size_t)L->sends + 1) * sizeof(*L->sent));
  for (BAIInt p = 0; p < L->A.n && place; p++) place[L->row[p]] = p;
  for (BAIInt k = 0; k < L->sends && place && L->send; k++) L->send[k] = place[shared->whole ? k : shared->row[k]];
  free(place);
  return BAIStatusOf(place && L->send && L->sent ? BAI_OK : BAI_ERR_MEMORY);
}

BAIStatus BAIHostTakeRanks(BAILevelsState state, const BAILevelsRanks *ranks)
{
  BAIHostLevel *L = BAIHostLast(state);

  state->ranks       = *ranks;
  state->ranks.level = NULL;
  if (ranks->next) {
    BAI_KEEP(L->b, L->A.n + ranks->level[ranks->levels].ghosts);
    BAI_KEEP(L->x, L->A.n);
  }
  for (int l = 0; l < state->levels; l++) BAITry(TakeSends(&state->level[l], &ranks->level[l]));
  return BAIStatusOf(BAI_OK);
}

/* Sends entries of x to the ranks that read them, and receives those of ghosts behind the n of this rank. All peers
   must call it. Sets given_up if it fails */
void BAIHostExchange(BAILevelsState state, BAIHostLevel *L, BAIScalar *x)
{
  if (!L->sends && !L->ghosts) return;
  for (BAIInt k = 0; k < L->sends; k++) L->sent[k] = x[L->send[k]];
  if (state->ranks.exchange(state->ranks.context, (int)(L - state->level), sizeof(*x), L->sent, x + L->A.n))
    state->given_up = 1;
}

/* Gathers b of the last level from all ranks for the caller, who solves for it, and takes the x of this rank's rows.
   Sets given_up if that fails */
void BAIHostRest(BAILevelsState state, BAIHostLevel *L)
{
  const BAIInt n = L->A.n, first = state->ranks.first;

  if (!n) return;
  BAIHostExchange(state, L, L->b);
  for (BAIInt g = 0; g < L->ghosts; g++) state->ranks.b[g < first ? g : g + n] = L->b[n + g];
  for (BAIInt p = 0; p < n; p++) state->ranks.b[first + L->row[p]] = L->b[p];
  if (state->ranks.rest(state->ranks.context)) state->given_up = 1;
  for (BAIInt p = 0; p < n; p++) L->x[p] = state->ranks.x[first + L->row[p]];
}
