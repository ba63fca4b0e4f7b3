/*
   Many levels: which backend does them, and what both have in common
*/
#include "levels_rules.h"
#include "levels_backend.h"
#include <stdlib.h>

struct BAILevels_ {
  const BAILevelsOps *ops;
  BAILevelsState      state;
};

static const BAILevelsOps *const backends[] =
  {[BAI_BACKEND_HOST] = &BAILevelsHost, [BAI_BACKEND_CUDA] = &BAILevelsCUDA};

BAIStatus BAILevelsCreate(BAIBackend backend, const BAIMatrix *matrix, const BAILevelsParameters *p, BAILevels *levels)
{
  BAILevels new = calloc(1, sizeof(*new));

  *levels = NULL;
  if (!new) return BAIStatusOf(BAI_ERR_MEMORY);
  new->ops               = backends[backend];
  const BAIStatus status = matrix->n > INT32_MAX - BAI_LEVELS_BLOCK ? BAIStatusOf(BAI_ERR_SIZE)
                                                                    : new->ops->create(matrix, p, &new->state);

  if (status.code) free(new);
  else *levels = new;
  return status;
}

BAIStatus BAILevelsUpdateValues(BAILevels levels, const BAIMatrix *matrix)
{
  return levels->ops->update(levels->state, matrix);
}

BAIStatus BAILevelsApply(BAILevels levels, const BAIScalar *r, BAIScalar *z)
{
  return levels->ops->apply(levels->state, r, z);
}

BAIStatus BAILevelsSolve(BAILevels levels, const BAIScalar *b, BAIScalar *x, int guess_zero,
                         const BAITolerances *tolerances, BAILevelsMonitor monitor, void *context,
                         BAILevelsSolution *solution)
{
  return levels->ops->solve(levels->state, b, x, guess_zero, tolerances, monitor, context, solution);
}

void BAILevelsInfoGet(BAILevels levels, BAILevelsInfo *info)
{
  levels->ops->info(levels->state, info);
}

void BAILevelsDestroy(BAILevels *levels)
{
  if (!*levels) return;
  (*levels)->ops->destroy((*levels)->state);
  free(*levels);
  *levels = NULL;
}

static int Has(int count, const BAIInt *offset, BAIInt wanted)
{
  for (int k = 0; k < count; k++)
    if (offset[k] == wanted) return 1;
  return 0;
}

void BAIGridOfRow(BAIInt n, int count, const BAIInt *offset, BAIInt m[3])
{
  BAIInt line = 0, plane = 0;

  m[0] = m[1] = m[2] = 0;
  if (!Has(count, offset, 1)) return;
  for (int k = 0; k < count && !line; k++)
    if (offset[k] > 1) line = Has(count, offset, offset[k] + 2) ? offset[k] + 1 : offset[k];
  if (!line) line = n;
  if (n % line) return;
  for (int k = 0; k < count && !plane; k++)
    if (offset[k] > line + 1 && offset[k] % line == 0 && n % offset[k] == 0) plane = offset[k];
  m[0] = line;
  m[1] = plane ? plane / line : n / line;
  m[2] = plane ? n / plane : 1;
}

void BAIGridBoxes(const BAIGridLook *look, const BAIInt m[3], BAIInt box[3])
{
  double mean[3] = {0, 0, 0}, most = 0;
  int    fits = !look->other;

  for (int d = 0; d < 3; d++) {
    box[d] = 1;
    if (!look->count[d]) continue;
    mean[d] = look->sum[d] / (double)look->count[d];
    if (mean[d] > most) most = mean[d];
    if (look->most[d] > BAI_GRID_ALIKE * look->least[d]) fits = 0;
  }
  for (int d = 0; d < 3 && fits; d++) {
    if (m[d] > 1 && BAI_GRID_STRONG * mean[d] >= most) box[d] = 2;
  }
}
