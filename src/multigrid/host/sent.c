/* Rows that other ranks read, during set-up on the host: their entries of an array, and numbers of their aggregates */
#include "levels.h"
#include <string.h>

/* The array, and the bytes of its entry for a row */
static const char *ArrayOf(BAILevelsState state, BAILevelsArray array, int level, size_t *size)
{
  const BAIHostLevel *L     = &state->level[level];
  const size_t        modes = (size_t)state->p.modes;
  const struct {
    const void *from;
    size_t      size;
  } of[] = {
    [BAI_ARRAY_AGGREGATE] = {L->aggregate,      sizeof(BAIInt)           },
    [BAI_ARRAY_FIELD]     = {state->field,      sizeof(BAIInt)           },
    [BAI_ARRAY_MODES]     = {state->mode,       modes * sizeof(BAIScalar)},
    [BAI_ARRAY_P]         = {L->P,              modes * sizeof(BAIScalar)},
    [BAI_ARRAY_SIDE]      = {state->sides.side, sizeof(BAILevelsSide)    }
  };

  *size = of[array].size;
  return of[array].from;
}

/* The operations Get, Pick and Number of ../ops.def */
BAIStatus BAIHostGet(BAILevelsState state, BAILevelsArray array, int level, BAIInt count, void *to)
{
  size_t            size;
  const char *const from = ArrayOf(state, array, level, &size);

  if (count) memcpy(to, from, (size_t)count * size);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostPick(BAILevelsState state, BAILevelsArray array, int level, const BAILevelsShared *shared,
                      size_t *size, void **sent, void **ghost)
{
  const char *const from   = ArrayOf(state, array, level, size);
  BAIPicked *const  picked = &state->picked[array];

  BAIHostFreePicked(state, array);
  picked->sent  = malloc((size_t)shared->sends * *size + 1);
  picked->ghost = malloc((size_t)shared->ghosts * *size + 1);
  *sent         = picked->sent;
  *ghost        = picked->ghost;
  if (!*sent || !*ghost) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt k = 0; k < shared->sends; k++)
    memcpy((char *)*sent + (size_t)k * *size, from + (size_t)shared->row[k] * *size, *size);
  return BAIStatusOf(BAI_OK);
}

void BAIHostFreePicked(BAILevelsState state, BAILevelsArray array)
{
  free(state->picked[array].sent);
  free(state->picked[array].ghost);
  state->picked[array] = (BAIPicked){NULL, NULL};
}

BAIStatus BAIHostNumber(BAILevelsState state, int peers, const BAIInt *first, const BAIInt *last, void *sent,
                        BAIInt *count, BAIInt *row)
{
  const BAIInt  m      = BAIHostLast(state)->m;
  BAIInt *const number = sent, *mark = calloc((size_t)m + 1, sizeof(*mark)), all = 0;

  if (!mark) return BAIStatusOf(BAI_ERR_MEMORY);
  for (int p = 0; p < peers; p++, all += count[p - 1]) {
    BAIInt least = m, most = -1;

    for (BAIInt k = first[p]; k < last[p]; k++) {
      if (number[k] < 0) continue;
      mark[number[k]] = 1;
      if (number[k] < least) least = number[k];
      if (number[k] > most) most = number[k];
    }
    count[p] = 0;
    for (BAIInt c = least; c <= most; c++) {
      if (!mark[c]) continue;
      mark[c]      = all + count[p]++;
      row[mark[c]] = c;
    }
    for (BAIInt k = first[p]; k < last[p]; k++)
      if (number[k] >= 0) number[k] = mark[number[k]];
    for (BAIInt u = 0; u < count[p]; u++) mark[row[all + u]] = 0;
  }
  free(mark);
  return BAIStatusOf(BAI_OK);
}
