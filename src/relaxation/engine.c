#include "engine.h"
#include <stdlib.h>
#include <string.h>

struct BAIEngine_ {
  const BAIBackendOps *ops;
  BAIState             state;
  BAIParameters        p;
  BAIInt               n;
  BAIPartition         partition;
  BAIInt              *places;    /* first and row of the partition */
  int                  connected; /* ranks exchange x by themselves */
  int                  zero;      /* all ranks know that x is zero */
  int                  swept;     /* ranks have iterated since the last exchange */
  double               pace;      /* iterations for each one asked for */
  double               worked;    /* seconds of work at the last BAIEngineSeconds() */
  BAIInt               swept_its; /* iterations since then */
  BAIInt               turns;     /* number of turns of mode color that ranks take together; 0: none */
  int under_way, changed;         /* x was sent, but not yet received by this rank; x has changed since it was sent */
};

/* The table of backends; relaxation/cuda/cuda_none.c replaces BAIBackendCUDA in builds without CUDA */
static const BAIBackendOps *const backends[] =
  {[BAI_BACKEND_HOST] = &BAIBackendHost, [BAI_BACKEND_CUDA] = &BAIBackendCUDA};

static BAIStatus CopyPartition(BAIEngine engine, const BAIPartition *partition)
{
  const size_t nfirst = (size_t)partition->blocks + 1, nrow = (size_t)partition->first[partition->blocks];

  engine->places = malloc((nfirst + nrow) * sizeof(BAIInt));
  if (!engine->places) return BAIStatusOf(BAI_ERR_MEMORY);
  memcpy(engine->places, partition->first, nfirst * sizeof(BAIInt));
  memcpy(engine->places + nfirst, partition->row, nrow * sizeof(BAIInt));
  engine->partition.blocks = partition->blocks;
  engine->partition.first  = engine->places;
  engine->partition.row    = engine->places + nfirst;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIEngineCreate(BAIBackend backend, const BAIMatrix *matrix, const BAIPartition *partition,
                          const BAIParameters *parameters, BAIEngine *engine)
{
  BAIStatus status = BAIStatusOf(BAI_OK);

  *engine = calloc(1, sizeof(**engine));
  if (!*engine) return BAIStatusOf(BAI_ERR_MEMORY);
  (*engine)->ops = backends[backend];
  (*engine)->p   = *parameters;
  (*engine)->n   = matrix->n;
  if (partition) status = CopyPartition(*engine, partition);
  if (!status.code)
    status = !(*engine)->ops->create
      ? BAIStatusOf(BAI_ERR_NOT_BUILT)
      : (*engine)->ops->create(matrix, partition ? &(*engine)->partition : NULL, &(*engine)->p, &(*engine)->state);
  if (status.code) BAIEngineDestroy(engine);
  return status;
}

/* Calls that are passed on to the backend; BAI_ERR_NOT_BUILT if it does not have the operation */
#define FORWARD(Name, operation, parameters, arguments) \
  BAIStatus BAIEngine##Name parameters \
  { \
    return engine->ops->operation ? engine->ops->operation arguments : BAIStatusOf(BAI_ERR_NOT_BUILT); \
  }
FORWARD(UpdateValues, update, (BAIEngine engine, const BAIMatrix *matrix), (engine->state, matrix))
FORWARD(Prepare, prepare, (BAIEngine engine, BAIMode mode), (engine->state, mode))
FORWARD(Color, color, (BAIEngine engine, const BAIInt *ghost, BAIInt *color), (engine->state, ghost, color))
FORWARD(Solve, solve, (BAIEngine engine, const BAITolerances *t, const BAIStep *step, BAISolution *solution),
        (engine->state, t, step, solution))
FORWARD(Shares, shares, (BAIEngine engine, BAIReal *share), (engine->state, share))
FORWARD(Stats, stats, (BAIEngine engine, BAIStats *stats), (engine->state, stats))
FORWARD(Unbind, unbind, (BAIEngine engine), (engine->state))

BAIStatus BAIEngineWait(BAIEngine engine)
{
  return engine->ops->wait ? engine->ops->wait(engine->state) : BAIStatusOf(BAI_OK);
}

BAIStatus BAIEngineBind(BAIEngine engine, const BAIVectors *vectors, int guess_zero)
{
  engine->zero    = guess_zero;
  engine->swept   = 0;
  engine->changed = 1;
  return engine->ops->bind(engine->state, vectors, guess_zero);
}

BAIStatus BAIEngineTakeTurns(BAIEngine engine, BAIInt turns, const BAIInt *color)
{
  if (!engine->ops->turns) return BAIStatusOf(BAI_ERR_NOT_BUILT);
  BAITry(engine->ops->turns(engine->state, turns, color));
  engine->turns = turns;
  return BAIStatusOf(BAI_OK);
}

/* Exchanges x in the backend, and restarts the count of sweeps */
static BAIStatus ExchangeNow(BAIEngine engine, BAIGhosts ghosts)
{
  const int swept = engine->swept;

  engine->swept = 0;
  return engine->ops->exchange(engine->state, ghosts, swept);
}

/* Exchanges x of connected ranks, or receives values that are already under way if x has not changed since */
static BAIStatus Exchange(BAIEngine engine, BAIGhosts ghosts)
{
  if (!engine->connected) return BAIStatusOf(BAI_OK);
  if (engine->under_way) {
    engine->under_way = 0;
    BAITry(ExchangeNow(engine, BAI_GHOSTS_TAKEN));
    if (!engine->changed) return BAIStatusOf(BAI_OK);
  }
  return ExchangeNow(engine, ghosts == BAI_GHOSTS_FIXED && engine->zero ? BAI_GHOSTS_ZERO : ghosts);
}

/* Does global iterations, or part of one, from one exchange to the next */
static BAIStatus SweepOwn(BAIEngine engine, BAIInt count, const BAIStep *step)
{
  const int ends = !step->turn || (step->turn == engine->turns && step->part != 1);

  BAITry(engine->ops->sweep(engine->state, count, step));
  engine->swept = 1;
  if (ends) engine->swept_its += count;
  engine->zero = 0;
  return BAIStatusOf(BAI_OK);
}

/* Does a global iteration turn by turn. Boundary values are sent as soon as they are known, so that they arrive while
   the rest of the turn is done */
static BAIStatus SweepTurns(BAIEngine engine, const BAIStep *how)
{
  BAIStep step = *how;

  for (step.turn = 1; step.turn <= engine->turns; step.turn++) {
    BAITry(Exchange(engine, BAI_GHOSTS_FIXED));
    step.part = 1;
    BAITry(SweepOwn(engine, 1, &step));
    engine->changed   = 0;
    engine->under_way = 1;
    BAITry(ExchangeNow(engine, BAI_GHOSTS_SENT));
    step.part = 2;
    BAITry(SweepOwn(engine, 1, &step));
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIEngineSweep(BAIEngine engine, BAIInt count, const BAIStep *how)
{
  /* number of global iterations without an exchange */
  const BAIInt most = !engine->connected ? BAI_INT_MAX : how->mode == BAI_MODE_ASYNC ? engine->p.apart : 1;
  BAIStep      step = *how;

  for (BAIInt done = 0; done < count; done += most < count - done ? most : count - done) {
    const BAIInt now = count - done < most ? count - done : most;
    BAIInt       mine;

    if (now < count && how->direction == BAI_ALTERNATE)
      step.direction = done % 2 ? BAI_BACKWARD : BAI_FORWARD; /* now is 1, or the direction does not matter */
    if (engine->connected && engine->turns && how->mode == BAI_MODE_COLOR) BAITry(SweepTurns(engine, &step));
    else {
      BAITry(Exchange(engine, now > 1 ? BAI_GHOSTS_LIVE : BAI_GHOSTS_FIXED));
      mine = engine->connected && step.ahead && now > 1 ? (BAIInt)((double)now * engine->pace) : now;
      BAITry(SweepOwn(engine, mine, &step));
    }
    step.fresh = 0;
    step.done += now;
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIEngineResidual(BAIEngine engine, BAIReal *norm2)
{
  BAITry(Exchange(engine, BAI_GHOSTS_FIXED));
  return engine->ops->residual(engine->state, norm2);
}

BAIStatus BAIEngineConnect(BAIEngine engine, const BAIPeers *peers)
{
  BAITry(engine->ops->connect(engine->state, peers));
  engine->connected = 1;
  engine->pace      = 1;
  return BAIStatusOf(BAI_OK);
}

double BAIEngineSeconds(BAIEngine engine)
{
  const double worked = engine->ops->worked(engine->state), since = worked - engine->worked;
  const BAIInt its = engine->swept_its;

  engine->worked    = worked;
  engine->swept_its = 0;
  return its ? since / (double)its : 0;
}

void BAIEngineSetPace(BAIEngine engine, double pace)
{
  engine->pace = pace;
}

BAIStatus BAIEngineDisconnect(BAIEngine engine)
{
  engine->connected = 0;
  return engine->ops->disconnect(engine->state);
}

const BAIPartition *BAIEnginePartition(BAIEngine engine)
{
  return engine->partition.first ? &engine->partition : NULL;
}

BAIStatus BAIEngineExplain(BAIEngine engine, BAIMode mode, char *text, size_t size)
{
  if (size) *text = 0;
  return engine->ops->explain ? engine->ops->explain(engine->state, mode, text, size) : BAIStatusOf(BAI_OK);
}

void BAIEngineInfo(BAIEngine engine, BAIInfo *info)
{
  const double n = (double)engine->n;

  engine->ops->info(engine->state, info);
  info->turns           = (int)engine->turns;
  info->flops_iteration = 2.0 * (double)info->nnz_off +
    (double)info->local_sweeps / (double)(info->blocks ? info->blocks : 1) * (2.0 * (double)info->nnz_local + 4 * n) +
    3 * n;
  if (engine->p.refined) info->flops_iteration += 2.0 * (double)info->nnz_local + 2 * n;
  info->flops_residual = 2.0 * (double)(info->nnz_off + info->nnz_local) + 4 * n;
}

BAIStatus BAIBackendIsReady(BAIBackend backend, void *stream)
{
  return backends[backend]->ready ? backends[backend]->ready(stream) : BAIStatusOf(BAI_OK);
}

BAIStatus BAIBackendSet(BAIBackend backend, BAIMemory memory, void *stream, BAISet what, int64_t first, BAIInt n,
                        BAIScalar *x)
{
  return backends[memory == BAI_MEMORY_HOST ? BAI_BACKEND_HOST : backend]->set(stream, what, first, n, x);
}

void BAIEngineDestroy(BAIEngine *engine)
{
  if (!*engine) return;
  if ((*engine)->state) (*engine)->ops->destroy((*engine)->state);
  free((*engine)->places);
  free(*engine);
  *engine = NULL;
}
