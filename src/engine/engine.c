#include "engine.h"
#include <stdlib.h>

struct BAIEngine_ {
  const BAIBackendOps *ops;
  BAIState             state;
  BAIParameters        p;
  BAIInt               n;
};

/* The one table of backends; the build file decides which file defines BAIBackendCUDA */
static const BAIBackendOps *const backends[] = {[BAI_BACKEND_HOST] = &BAIBackendHost, [BAI_BACKEND_CUDA] = &BAIBackendCUDA};

const char *BAICodeString(BAICode code)
{
  static const char *const text[] = {
    [BAI_OK]            = "no error",
    [BAI_ERR_MEMORY]    = "out of memory",
    [BAI_ERR_DIAGONAL]  = "missing or zero diagonal entry",
    [BAI_ERR_PATTERN]   = "the matrix has another pattern than at set-up",
    [BAI_ERR_SIZE]      = "more rows on one rank than this backend can index",
    [BAI_ERR_DEVICE]    = "device error",
    [BAI_ERR_STALLED]   = "a block waited too long for another",
    [BAI_ERR_NOT_BUILT] = "not in this build of the library",
  };
  return text[code];
}

BAIStatus BAIEngineCreate(BAIBackend backend, const BAIMatrix *matrix, const BAIParameters *parameters, BAIEngine *engine)
{
  BAIStatus status;

  *engine = calloc(1, sizeof(**engine));
  if (!*engine) return BAIStatusOf(BAI_ERR_MEMORY);
  (*engine)->ops = backends[backend];
  (*engine)->p   = *parameters;
  (*engine)->n   = matrix->n;
  /* Measured on an H200: more rows mean fewer iterations but longer ones; from 64 to 256 rows solves differ by a fifth */
  if (!parameters->block_size) (*engine)->p.block_size = 128;
  status = (*engine)->ops->create(matrix, &(*engine)->p, &(*engine)->state);
  if (status.code) BAIEngineDestroy(engine);
  return status;
}

BAIStatus BAIEngineUpdateValues(BAIEngine engine, const BAIMatrix *matrix)
{
  return engine->ops->update(engine->state, matrix);
}

BAIStatus BAIEngineBind(BAIEngine engine, const BAIVectors *vectors, int guess_zero)
{
  return engine->ops->bind(engine->state, vectors, guess_zero);
}

BAIStatus BAIEngineSweep(BAIEngine engine, BAIInt count, BAIDirection direction)
{
  return engine->ops->sweep(engine->state, count, direction);
}

BAIStatus BAIEngineSolve(BAIEngine engine, const BAITolerances *tolerances, BAISolution *solution)
{
  return engine->ops->solve(engine->state, tolerances, solution);
}

BAIStatus BAIEngineResidual(BAIEngine engine, BAIReal *norm2)
{
  return engine->ops->residual(engine->state, norm2);
}

BAIStatus BAIEngineUnbind(BAIEngine engine)
{
  return engine->ops->unbind(engine->state);
}

void BAIEngineInfo(BAIEngine engine, BAIInfo *info)
{
  const double n = (double)engine->n;

  engine->ops->info(engine->state, info);
  info->flops_iteration = 2.0 * (double)info->nnz_off + (double)engine->p.local_iters * (2.0 * (double)info->nnz_local + 4 * n) + 3 * n;
  info->flops_residual  = 2.0 * (double)(info->nnz_off + info->nnz_local) + 4 * n;
}

BAIReal BAILocalOmega(const BAIParameters *p, float row_sum)
{
  if (p->local_omega > 0) return p->local_omega;
  return (BAIReal)(row_sum > 2 ? 1.8 / (double)row_sum : 0.9);
}

const char *BAIEngineName(BAIEngine engine)
{
  return engine->ops->name;
}

void BAIEngineDestroy(BAIEngine *engine)
{
  if (!*engine) return;
  if ((*engine)->state) (*engine)->ops->destroy((*engine)->state);
  free(*engine);
  *engine = NULL;
}
