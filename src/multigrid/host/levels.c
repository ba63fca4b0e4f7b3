/* Levels on the host: the operations of ../ops.def except solves */
#include "levels.h"
#include <string.h>

static void Destroy(BAILevelsState state)
{
  for (int l = 0; l < BAI_LEVELS_MOST; l++) {
    BAIHostLevel *L      = &state->level[l];
    void *const   kept[] = {L->field, L->aggregate, L->P, L->ghost, L->row, L->child, L->first,
                            L->i,     L->split,     L->j, L->a,     L->d,   L->extra, L->dinv,
                            L->b,     L->x,         L->y, L->send,  L->sent};

    if (l || L->A.ghosts) BAIHostFreeRows(&L->A);
    for (size_t k = 0; k < sizeof(kept) / sizeof(*kept); k++) free(kept[k]);
  }
  free(state->negated);
  free(state->field);
  BAIHostFreeModes(state);
  BAIHostFreeSides(&state->sides);
  for (int a = 0; a < BAI_ARRAYS; a++) BAIHostFreePicked(state, (BAILevelsArray)a);
  free(state->inverse);
  free(state);
}

/* The function Create of ../backend.h */
static BAIStatus Create(const BAIMatrix *matrix, const BAILevelsParameters *p, BAILevelsState *newstate)
{
  BAILevelsState state = calloc(1, sizeof(*state));
  BAIStatus      status;

  *newstate = NULL;
  if (!state) return BAIStatusOf(BAI_ERR_MEMORY);
  state->p = *p;
  status   = BAIHostTake(state, matrix);
  if (!status.code && p->modes) status = BAIHostTakeModes(state);
  state->p.ghost = NULL;
  memset(state->p.mode, 0, sizeof(state->p.mode));
  if (status.code) Destroy(state);
  else *newstate = state;
  return status;
}

BAIStatus BAIHostBegin(BAILevelsState state, const BAILevelsAgreed *agreed)
{
  const BAILevelsParameters *p = &state->p;
  BAIHostLevel              *L = state->level;

  state->levels = 1;
  if (agreed) {
    state->info.hermitian = agreed->hermitian;
    state->info.negative  = agreed->negative;
    state->over           = agreed->over;
  }
  BAITry(BAIHostTakeSign(state));
  if (state->kept) return BAIStatusOf(BAI_OK);
  if (!p->modes) BAIHostFindGrid(&L->A, p, &L->grid);
  if (p->fields == 1) return BAIStatusOf(BAI_OK);
  BAI_KEEP(state->field, L->A.n);
  for (BAIInt i = 0; i < L->A.n; i++) state->field[i] = p->field && !p->given ? p->field[i] : i % p->fields;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostTakeValues(BAILevelsState state, const BAIMatrix *matrix, const BAIInt *ghost)
{
  const int64_t bytes = state->bytes; /* a copy of the matrix has been counted */
  BAIStatus     status;

  state->kept    = 1;
  state->p.ghost = ghost;
  status         = BAIHostTake(state, matrix);
  state->p.ghost = NULL;
  state->bytes   = bytes;
  return status;
}

/* Sets the aggregates of ghosts, and their rows of P */
static BAIStatus TakeGhosts(BAILevelsState state, BAIHostLevel *L, const BAILevelsGhosts *ghosts)
{
  const size_t        modes = (size_t)state->p.modes;
  const BAIInt *const of    = ghosts->aggregate;

  BAI_KEEP(L->ghost, L->A.ghosts);
  for (int p = 0; p < ghosts->peers; p++)
    for (BAIInt g = ghosts->begin[p]; g < ghosts->begin[p + 1]; g++)
      L->ghost[g] = of[g] < 0 ? -1 : L->m + ghosts->next[p] + of[g];
  if (L->P && ghosts->P) memcpy(L->P + (size_t)L->A.n * modes, ghosts->P, (size_t)L->A.ghosts * modes * sizeof(*L->P));
  L[1].A.ghosts = ghosts->count * BAIColumnsOfP(state->p.modes);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostProduct(BAILevelsState state, const BAILevelsGhosts *ghosts)
{
  BAIHostLevel *L = BAIHostLast(state);

  if (!state->kept) BAITry(TakeGhosts(state, L, ghosts));
  const BAIInt columns = L[1].A.ghosts;

  BAITry(
    BAIHostCoarse(state, L, columns / BAIColumnsOfP(state->p.modes), L->ghost, state->p.modes ? NULL : &state->sides));
  L[1].A.ghosts = columns; /* also if this rank has no rows, and so no P */
  state->levels++;
  if (state->kept) return BAIStatusOf(BAI_OK);
  BAIHostNextModes(state);
  L[1].grid = L->next;
  state->bytes += (int64_t)((size_t)L[1].A.nnz * (sizeof(BAIInt) + sizeof(BAIScalar)));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostSoften(BAILevelsState state, const BAILevelsSide *side)
{
  if (state->sides.side) BAIHostSoftenRows(&BAIHostLast(state)->A, &state->sides, side, state->over);
  BAIHostFreeSides(&state->sides);
  BAIHostFreePicked(state, BAI_ARRAY_SIDE);
  return BAIStatusOf(BAI_OK);
}

/* Frees the data that only set-up needs; on several ranks this includes the matrix of the finest level, which is stored
   by places by then */
static void FreeMade(BAILevelsState state)
{
  BAIRows *A = &state->level[0].A;

  for (int a = 0; a < BAI_ARRAYS; a++) BAIHostFreePicked(state, (BAILevelsArray)a);
  free(state->field);
  state->field       = NULL;
  state->p.field     = NULL;
  state->p.aggregate = NULL;
  BAIHostFreeModes(state);
  if (!state->p.all) return;
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

BAIStatus BAIHostFinish(BAILevelsState state, const BAILevelsRanks *ranks, const char *stop)
{
  const BAILevelsParameters *p     = &state->p;
  const int                  count = ranks ? ranks->levels : p->all ? state->ranks.levels : state->levels;

  if (state->kept) {
    for (int l = 0; l < count; l++) BAITryStage(p, BAI_STAGE_FILL, BAIHostPlace(state, &state->level[l], 1));
    for (int l = 0; l < count; l++) BAITry(BAIHostFits(state, l));
  } else {
    state->info.stop = stop;
    if (ranks) state->levels = count + ranks->next;
    BAITryStage(p, BAI_STAGE_FILL, BAIHostPlaceLevels(state, count, ranks));
    if (ranks) BAITry(BAIHostTakeRanks(state, ranks));
    BAITryStage(p, BAI_STAGE_FILL, BAIHostMeasure(state, count));
  }
  BAITryStage(p, BAI_STAGE_FACTOR, BAIHostInvert(state));
  FreeMade(state);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostInfoGet(BAILevelsState state, BAILevelsInfo *info)
{
  *info        = state->info;
  info->levels = state->levels;
  info->exact  = state->inverse != NULL;
  info->modes  = state->p.modes;
  info->bytes  = state->bytes;
  if (state->p.modes || BAIGridHasBoxes(&state->level[0].box)) info->grid = state->level[0].grid;
  for (int l = 0; l < state->levels; l++) {
    const BAIHostLevel *L     = &state->level[l];
    const int           exact = state->inverse && l == state->levels - 1;

    info->level[l] = (BAILevelInfo){L->A.n, L->A.nnz, L->m, L->alone, exact ? 0 : L->blocks, exact ? 0 : L->inside};
  }
  return BAIStatusOf(BAI_OK);
}

const BAILevelsOps BAILevelsHost = {
  .Create       = Create,
  .Destroy      = Destroy,
  .StoreMatrix  = BAIHostStoreMatrix,
  .LookAtFields = BAIHostLookAtFields,
#define BAI_LEVELS_OPERATION(name, parameters, arguments) .name = BAIHost##name,
#define BAI_LEVELS_ON_DEVICE(name, parameters, arguments)
#include "../ops.def"
};
