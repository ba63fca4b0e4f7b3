/* Levels: choice of the backend, calls of its operations, and coarsening */
#include "backend.h"
#include "rules.h"
#include <stdio.h>
#include <stdlib.h>

static const BAILevelsOps *const backends[] =
  {[BAI_BACKEND_HOST] = &BAILevelsHost, [BAI_BACKEND_CUDA] = &BAILevelsCUDA};

/* The status, which names the level if memory was short */
static BAIStatus AtLevel(int level, BAIStatus status)
{
  char why[80];

  if (status.code != BAI_ERR_MEMORY) return status;
  snprintf(why, sizeof(why), "level %d%s%s", level, status.why[0] ? ": " : "", status.why);
  return BAIStatusBecause(status.code, status.what, why);
}

/* The status of this rank, or if it is none, the error that failed tells of */
static BAIStatus OfAll(BAIStatus status, int failed)
{
  return failed && !status.code ? BAIStatusBecause(BAI_ERR_ABSENT, "set-up of levels", "another rank has given up")
                                : status;
}

/* The status of this rank, or the error of another one; collective, unless ranks is NULL */
static BAIStatus Agree(const BAILevelsRanks *ranks, int level, BAIStatus status)
{
  status = AtLevel(level, status);
  return ranks ? OfAll(status, ranks->agree(ranks->context, status)) : status;
}

/* Exchanges an array of a level between owners and ghosts, unless the status of any rank is an error; returns the
   entries of ghosts. Collective */
static BAIStatus Exchange(BAILevels levels, const BAILevelsRanks *ranks, BAIStatus status, BAILevelsArray array,
                          int level, void **ghost)
{
  size_t size = 0;
  void  *sent = NULL;

  *ghost = NULL;
  if (!status.code) status = BAILevelsPick(levels, array, level, &ranks->level[level], &size, &sent, ghost);
  status = AtLevel(level, status);
  return OfAll(status, ranks->share(ranks->context, status, level, size, sent, *ghost));
}

/* Finds the aggregates of the ghosts of a level, and with modes their rows of P. Collective */
static BAIStatus FindGhosts(BAILevels levels, const BAILevelsRanks *ranks, int level, int modes,
                            BAILevelsGhosts *ghosts)
{
  size_t    size = 0;
  void     *sent = NULL, *of = NULL, *P = NULL;
  BAIStatus status = AtLevel(level,
                             BAILevelsPick(levels, BAI_ARRAY_AGGREGATE, level, &ranks->level[level], &size, &sent,
                                           &of));

  BAITry(OfAll(status, ranks->coarsen(ranks->context, status, level, size, sent, of, ghosts)));
  if (modes) BAITry(Exchange(levels, ranks, status, BAI_ARRAY_P, level, &P));
  ghosts->aggregate = of;
  ghosts->P         = P;
  return BAIStatusOf(BAI_OK);
}

/* Computes this rank's part of the matrix of the next level, or if aggregates are kept, its new values, and
   overcorrects its couplings. If soften, which is set if any coupling changes, ranks exchange the data of ghosts for
   that */
static BAIStatus MakeNext(BAILevels levels, const BAILevelsRanks *ranks, int level, int modes, int kept, int soften)
{
  BAILevelsGhosts ghosts = {.count = 0};
  void           *side   = NULL;
  BAIStatus       status;

  if (ranks && !kept) BAITry(FindGhosts(levels, ranks, level, modes, &ghosts));
  status = BAILevelsProduct(levels, &ghosts);
  if (ranks && soften) BAITry(Exchange(levels, ranks, status, BAI_ARRAY_SIDE, level + 1, &side));
  if (!status.code) status = BAILevelsSoften(levels, side);
  return Agree(ranks, level + 1, status);
}

/* Finds the aggregates of a level, and the number of rows of the next one on all ranks. Collective, unless ranks is
   NULL */
static BAIStatus FindAggregates(BAILevels levels, const BAILevelsRanks *ranks, int level, int columns, BAIInt *next)
{
  BAIInt          m      = 0;
  const BAIStatus status = AtLevel(level, BAILevelsAggregate(levels, &m));

  *next = m * columns;
  return ranks ? OfAll(status, ranks->count(ranks->context, status, level, *next, next)) : status;
}

/* Finds the aggregates of a level of rows rows on all ranks, and sets next to the number of rows of the next level, or
   to 0 if this level is the last, because of stop */
static BAIStatus Aggregate(BAILevels levels, const BAILevelsParameters *p, const BAILevelsRanks *ranks, int level,
                           BAIInt rows, BAIInt small, BAIInt *next, const char **stop)
{
  *next = 0;
  *stop = "the last one is small enough to be solved exactly";
  if (rows <= small) return BAIStatusOf(BAI_OK);
  *stop = "there are as many as allowed";
  if (level + 1 == BAILevelsAtMost(p)) return BAIStatusOf(BAI_OK);
  BAITryStage(p, BAI_STAGE_COARSEN, FindAggregates(levels, ranks, level, BAIColumnsOfP(p->modes), next));
  *stop = *next ? "rows are not coupled strongly enough to be aggregated" : "all rows dominate";
  if (*next > rows - rows / BAI_LEVELS_PARTS) *next = 0;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAILevelsCoarsen(BAILevels levels, const BAILevelsParameters *p, const BAILevelsAgreed *agreed, BAIInt rows,
                           BAIInt small, int kept, const BAILevelsRanks *ranks, int *count, const char **stop)
{
  if (!*count) BAITry(Agree(ranks, 0, BAILevelsBegin(levels, agreed)));
  for (*count += !*count; *count != kept; ++*count) {
    const int level = *count - 1;

    if (!kept) BAITry(Aggregate(levels, p, ranks, level, rows, small, &rows, stop));
    if (!kept && !rows) break;
    BAITryStage(p, BAI_STAGE_GALERKIN, MakeNext(levels, ranks, level, p->modes, kept, agreed && agreed->over != 1));
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAILevelsStoreMatrix(BAIBackend backend, const BAIMatrix *matrix, const BAIPart *part, int device,
                               void *stream)
{
  return backends[backend]->StoreMatrix ? backends[backend]->StoreMatrix(matrix, part, device, stream)
                                        : BAIStatusOf(BAI_ERR_NOT_BUILT);
}

BAIStatus BAILevelsLookAtFields(BAIBackend backend, const BAIMatrix *matrix, const BAIPoints *points, int device,
                                void *stream, BAIFieldLook look[])
{
  return backends[backend]->LookAtFields ? backends[backend]->LookAtFields(matrix, points, device, stream, look)
                                         : BAIStatusOf(BAI_ERR_NOT_BUILT);
}

BAIStatus BAILevelsCreate(BAIBackend backend, const BAIMatrix *matrix, const BAILevelsParameters *p, BAILevels *levels)
{
  BAILevels new = calloc(1, sizeof(*new));
  BAILevelsInfo info;
  BAIStatus     status;
  const char   *stop;
  int           count = 0;

  *levels = NULL;
  if (!new) return BAIStatusOf(BAI_ERR_MEMORY);
  new->ops = backends[backend];
  new->p   = *p;
  status   = BAIStatusOf(BAI_ERR_NOT_BUILT);
  if (matrix->n > INT32_MAX - BAI_LEVELS_BLOCK) status = BAIStatusOf(BAI_ERR_SIZE);
  else if (new->ops->Create) status = new->ops->Create(matrix, p, &new->state);
  if (status.code) {
    free(new);
    return status;
  }
  (void)new->ops->InfoGet(new->state, &info);
  if (!p->all && !info.resident) {
    status = BAILevelsCoarsen(new, p, NULL, matrix->n, BAI_LEVELS_COARSEST, 0, NULL, &count, &stop);
    if (!status.code) status = new->ops->Finish(new->state, NULL, stop);
  }
  if (status.code) BAILevelsDestroy(&new);
  *levels = new;
  return status;
}

BAIStatus BAILevelsUpdateValues(BAILevels levels, const BAIMatrix *matrix, const BAIInt *ghost)
{
  BAILevelsInfo info;
  const char   *stop;
  int           count = 0;

  (void)levels->ops->InfoGet(levels->state, &info);
  if (matrix->n != info.level[0].rows) return BAIStatusOf(BAI_ERR_PATTERN);
  BAITry(levels->ops->TakeValues(levels->state, matrix, ghost));
  if (levels->p.all || info.resident) return BAIStatusOf(BAI_OK);
  BAITry(BAILevelsCoarsen(levels, &levels->p, NULL, matrix->n, 0, info.levels, NULL, &count, &stop));
  return levels->ops->Finish(levels->state, NULL, info.stop);
}

#define BAI_LEVELS_OPERATION(name, parameters, arguments) \
  BAIStatus BAILevels##name(BAILevels levels parameters) \
  { \
    if (!levels) return BAIStatusOf(BAI_OK); \
    return levels->ops->name ? levels->ops->name(levels->state arguments) : BAIStatusOf(BAI_ERR_NOT_BUILT); \
  }
#include "ops.def"

void BAILevelsDestroy(BAILevels *levels)
{
  if (!*levels) return;
  (*levels)->ops->Destroy((*levels)->state);
  free(*levels);
  *levels = NULL;
}

/* Flops of a level in a cycle: two smoothing steps and a residual, or a product with the inverse */
static double FlopsOfVisits(const BAILevelInfo *level, BAIInt local_iters, int exact)
{
  return exact ? 2.0 * (double)level->rows * (double)level->rows
               : 4.0 * (double)local_iters * (double)level->inside + 2.0 * (double)level->nnz;
}

/* Flops of a cycle on this rank, where above is the number of distributed levels above the finest one of info. Its
   numbers of rows are global, as they determine the levels that are visited twice */
double BAILevelsFlops(const BAILevelsInfo *info, BAIInt local_iters, int above)
{
  double visits = 1, flops = 0;

  for (int l = 0; l < info->levels; l++) {
    if (l && l < info->levels - 1 && BAIRepeats(info->hermitian, info->modes, above + l, info->level[l].rows))
      visits *= 2;
    flops += visits * FlopsOfVisits(&info->level[l], local_iters, info->exact && l == info->levels - 1);
  }
  return flops;
}
