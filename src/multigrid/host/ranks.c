/*
   Levels on the host of a matrix that is distributed over ranks, one after the other, and what a cycle needs of other
   ranks: see ../levels.h
*/
#include "levels.h"
#include <stdlib.h>
#include <string.h>

static BAIHostLevel *Last(BAILevelsState state)
{
  return &state->level[state->levels - 1];
}

BAIStatus BAIHostAgree(BAILevelsState state, const BAILevelsAgreed *agreed)
{
  const BAIInt n = state->level[0].A.n;

  state->hermitian = agreed->hermitian;
  state->negative  = agreed->negative;
  state->over      = agreed->over;
  state->field     = malloc(((size_t)n + 1) * sizeof(*state->field));
  if (!state->field) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt i = 0; i < n; i++) state->field[i] = i % state->p.fields;
  return BAIHostTakeSign(state);
}

BAIStatus BAIHostAggregate(BAILevelsState state, BAIInt *count)
{
  BAIHostLevel *L = Last(state);

  *count = 0;
  if (!L->A.n) return BAIStatusOf(BAI_OK);
  BAITry(state->p.modes ? BAIHostAggregatePoints(state, state->levels - 1, &state->field)
                        : BAIHostAggregateRows(state, state->levels - 1, L, &state->field));
  *count = L->m;
  return BAIStatusOf(BAIRowsOfNext(L->m, state->p.modes) > BAI_INT_MAX ? BAI_ERR_SIZE : BAI_OK);
}

BAIStatus BAIHostAggregates(BAILevelsState state, int level, BAIInt count, const BAIInt *row, BAIInt *aggregate)
{
  const BAIHostLevel *L = &state->level[level];

  for (BAIInt k = 0; k < count; k++) aggregate[k] = L->aggregate[row ? row[k] : k];
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostFields(BAILevelsState state, BAIInt *field)
{
  memcpy(field, state->field, (size_t)Last(state)->A.n * sizeof(*field));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostProlongation(BAILevelsState state, BAIInt count, const BAIInt *row, BAIScalar *P)
{
  const size_t modes = (size_t)state->p.modes;

  for (BAIInt k = 0; k < count; k++)
    memcpy(P + (size_t)k * modes, Last(state)->P + (size_t)row[k] * modes, modes * sizeof(*P));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostModes(BAILevelsState state, BAIScalar *mode)
{
  const size_t count = (size_t)Last(state)->A.n * (size_t)state->p.modes;

  if (count) memcpy(mode, state->mode, count * sizeof(*mode));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostProduct(BAILevelsState state, BAIInt ghosts, const BAIInt *aggregate, const BAIScalar *P)
{
  BAIHostLevel *L     = Last(state);
  BAIInt       *ghost = malloc(((size_t)L->A.ghosts + 1) * sizeof(*ghost));
  const size_t  modes = (size_t)state->p.modes, n = (size_t)L->A.n;
  BAIStatus     status;

  if (!ghost) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt g = 0; g < L->A.ghosts; g++) ghost[g] = aggregate[g] < 0 ? -1 : L->m + aggregate[g];
  if (modes && n) memcpy(L->P + n * modes, P, (size_t)L->A.ghosts * modes * sizeof(*P));
  status = modes ? BAIModesProductCreate(&L->A, L->m, ghosts, L->aggregate, ghost, state->p.modes, L->P, &L[1].A)
                 : BAIProductCreate(&L->A, L->m, ghosts, L->aggregate, ghost, &state->product);
  free(ghost);
  if (status.code) return status;
  state->levels++;
  BAIHostNextModes(state);
  Last(state)->grid = L->next;
  if (modes) return BAIStatusOf(BAI_OK);
  Last(state)->A.n      = L->m;
  Last(state)->A.ghosts = ghosts;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostSides(BAILevelsState state, BAIInt count, const BAIInt *row, BAILevelsSide *side)
{
  for (BAIInt k = 0; k < count; k++)
    side[k] = (BAILevelsSide){(BAIReal)state->product.rows[row[k]], state->product.inner[row[k]]};
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostSoften(BAILevelsState state, const BAILevelsSide *side)
{
  BAIProduct  *P = &state->product;
  BAIHostRows *A = &Last(state)->A;

  if (state->over != 1) BAIProductSoften(P, side, state->over);
  if (!state->p.modes) {
    A->i = P->i;
    A->j = P->j;
    A->a = P->a;
    P->i = P->j = NULL;
    P->a        = NULL;
    BAIProductDestroy(P);
  }
  Last(state)->nnz = A->i[A->n];
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostMatrix(BAILevelsState state, int level, BAIInt *n, BAIInt *nnz, BAIInt *i, BAIInt *j, BAIScalar *a)
{
  const BAIHostRows *A = &state->level[level].A;

  *n   = A->n;
  *nnz = A->i[A->n];
  if (!i) return BAIStatusOf(BAI_OK);
  memcpy(i, A->i, ((size_t)*n + 1) * sizeof(*i));
  if (!*nnz) return BAIStatusOf(BAI_OK); /* then j and a may be NULL */
  memcpy(j, A->j, (size_t)*nnz * sizeof(*j));
  memcpy(a, A->a, (size_t)*nnz * sizeof(*a));
  return BAIStatusOf(BAI_OK);
}

/* Places of the rows that are sent, and room for their x */
static BAIStatus TakeSends(BAIHostLevel *L, const BAILevelsShared *shared)
{
  BAIInt *place = malloc(((size_t)L->A.n + 1) * sizeof(*place));

  L->all    = shared->all;
  L->ghosts = shared->ghosts;
  L->sends  = shared->sends;
  L->send   = malloc(((size_t)L->sends + 1) * sizeof(*L->send));
  L->sent   = malloc(((size_t)L->sends + 1) * sizeof(*L->sent));
  for (BAIInt p = 0; p < L->A.n && place; p++) place[L->row[p]] = p;
  for (BAIInt k = 0; k < L->sends && place && L->send; k++) L->send[k] = place[shared->row ? shared->row[k] : k];
  free(place);
  return BAIStatusOf(place && L->send && L->sent ? BAI_OK : BAI_ERR_MEMORY);
}

/* The matrix of the finest level is there by places now */
static void FreeFinest(BAILevelsState state)
{
  BAIHostRows *A = &state->level[0].A;

  if (A->ghosts) {
    free(A->i);
    free(A->j);
    free(A->a);
  }
  A->i = A->j = NULL;
  A->a        = NULL;
  free(state->negated);
  state->negated = NULL;
}

BAIStatus BAIHostFinish(BAILevelsState state, const BAILevelsRanks *ranks)
{
  BAIHostLevel *L;

  BAITry(BAIHostPlaceLevels(state, ranks->levels));
  state->ranks       = *ranks;
  state->ranks.level = state->ranks.finest = NULL;
  state->levels                            = ranks->levels + ranks->next;
  L                                        = Last(state);
  L->m                                     = 0;
  if (ranks->next) {
    L->b = malloc(((size_t)L->A.n + (size_t)ranks->level[ranks->levels].ghosts + 1) * sizeof(*L->b));
    L->x = malloc(((size_t)L->A.n + 1) * sizeof(*L->x));
    if (!L->b || !L->x) return BAIStatusOf(BAI_ERR_MEMORY);
  }
  for (int l = 0; l < state->levels; l++) BAITry(TakeSends(&state->level[l], &ranks->level[l]));
  free(state->field);
  state->field = NULL;
  BAIHostFreeModes(state);
  FreeFinest(state);
  return BAIStatusOf(BAI_OK);
}

void BAIHostExchange(BAILevelsState state, BAIHostLevel *L, BAIScalar *x)
{
  if (!L->sends && !L->ghosts) return;
  for (BAIInt k = 0; k < L->sends; k++) L->sent[k] = x[L->send[k]];
  if (state->ranks.exchange(state->ranks.context, (int)(L - state->level), sizeof(*x), L->sent, x + L->A.n))
    state->given_up = 1;
}

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
