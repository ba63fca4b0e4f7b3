/*
   Couplings along the directions of a grid, and the fit of aggregates to new values, on a device. The results are those
   of host/fit.c; counts are equal to the bit
*/
#include "join.h"
#include "spread.h"
#include <string.h>
#include <vector>

enum {
  THREADS = 256
};

struct LooksTogether {
  __device__ BAIGridLook operator()(const BAIGridLook &a, const BAIGridLook &b) const
  {
    return BAIGridLookTogether(&a, &b);
  }
};

/* Does BAIGridLookAt() for all rows, and sets *all to what they show; looks and arrived are parameters of BAIJoin() */
static __global__ __launch_bounds__(BAI_JOIN_THREADS, 4) void LookAtGrid(BAIRows A, BAINumbering grid,
                                                                         BAIGridLook *looks, unsigned *arrived,
                                                                         BAIGridLook *all)
{
  BAIGridLook look = BAIGridLookNone();

  for (int row = (int)(blockIdx.x * blockDim.x + threadIdx.x); row < A.n; row += (int)(gridDim.x * blockDim.x))
    BAIGridLookAt(&A, &grid, row, &look);
  BAIJoin<BAIGridLook, LooksTogether>(look, looks, arrived, all);
}

/* Sets look, on the device, to what the rows of a grid show */
static BAIStatus LookAtRows(BAILevelsState state, const BAIRows &A, const BAINumbering &grid, BAIGridLook *look)
{
  const int    blocks = BAIJoinBlocks(state, A.n);
  BAIRoom      room;
  BAIGridLook *looks;

  BAITry(room.Get(state, (size_t)blocks, &looks));
  LookAtGrid<<<(unsigned)blocks, BAI_JOIN_THREADS, 0, state->s.stream>>>(A, grid, looks, state->joined, look);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Whether the aggregates of a level are checked */
static bool IsAsked(BAILevelsState state, int level)
{
  return BAIFitIsAsked(&state->p, state->levels, state->level[level].m, state->level[level].A.n);
}

BAIStatus BAIFitGrids(BAILevelsState state, int first, int end)
{
  for (int l = first; l < end; l++) {
    const BAIDeviceLevel *L = &state->level[l];

    if (IsAsked(state, l) && L->box.m[0]) BAITry(LookAtRows(state, L->A, L->grid, &state->placed[l].look));
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceBoxes(BAILevelsState state, const BAIRows &A, const BAINumbering &grid, BAIBox *box, bool *alone)
{
  BAIRoom      room;
  BAIGridLook *on_device, look;

  BAITry(room.Get(state, 1, &on_device));
  BAITry(LookAtRows(state, A, grid, on_device));
  BAITry(BAIDownload(&state->s, 1, on_device, &look));
  BAIGridBoxes(&look, &grid, A.n, box);
  *alone = look.alone > 0;
  return BAIStatusOf(BAI_OK);
}

/* A level for kernels: the rows at the places from first on are looked at, those from end on are in no aggregate, and
   leads has room for all of them. The m aggregates are checked; 0: they are not, as boxes always hold together */
struct Look {
  BAIFit              fit;
  const int          *row, *child, *aggregate, *next_place;
  int                 m, first, end;
  int                 columns; /* columns of P of an aggregate */
  uint32_t           *leads;
  unsigned long long *unfit;
};

/* Finds the leads of rows, a thread for each, and counts rows in no aggregate that are not dominant */
static __global__ __launch_bounds__(THREADS) void Leads(const Look *levels, BAISpread spread)
{
  const BAIShare share = BAIShareOf(spread);
  const Look    &look  = levels[share.level];
  const int      p     = look.first + share.block * THREADS + (int)threadIdx.x;
  bool           bad   = false;

  if (p < look.end) {
    const int row = look.row[p], c = look.next_place[look.aggregate[row] * look.columns] / look.columns;
    const int begin = look.child[c], end = look.child[c + 1];

    if ((end - begin) / look.fit.points <= BAI_SET) look.leads[p] = BAIFitLeads(&look.fit, row, begin, end);
  } else if (p < look.fit.A.n) {
    BAIReal largest;

    bad = !BAIFitRow(&look.fit, look.row[p], &largest);
  }
  const int count = __syncthreads_count(bad);

  if (!threadIdx.x && count) atomicAdd(look.unfit, (unsigned long long)count);
}

/* Counts the rows of aggregates that do not hold together, a thread for each aggregate */
static __global__ __launch_bounds__(THREADS) void HoldTogether(const Look *levels, BAISpread spread)
{
  const BAIShare share = BAIShareOf(spread);
  const Look    &look  = levels[share.level];
  const int      c = share.block * THREADS + (int)threadIdx.x, begin = c < look.m ? look.child[c] : 0,
            rows = c < look.m ? look.child[c + 1] - begin : 0, points = look.fit.points;
  uint32_t set[BAI_SET];
  int      bad = 0;

  if (rows && rows / points <= BAI_SET) {
    for (int k = 0; k < rows / points; k++) set[k] = 0;
    for (int k = 0; k < rows; k++) set[k / points] |= look.leads[begin + k];
    if (!BAIFitHoldsTogether(rows / points, set)) bad = rows;
  }
  bad = __reduce_add_sync(~0u, bad);
  if (threadIdx.x % BAI_LANES == 0 && bad) atomicAdd(look.unfit, (unsigned long long)bad);
}

/* A level for kernels, without leads */
static Look LookOf(BAILevelsState state, int level)
{
  const BAIDeviceLevel *L     = &state->level[level];
  const bool            boxes = BAIGridHasBoxes(&L->box);
  const int n = L->A.n, end = n - L->alone, points = (int)BAIRowsOfPoint(state->p.modes, level, state->points);

  return {
    {L->A, L->place, L->field, points, !(level + state->p.above)},
    L->row,
    L->child,
    L->aggregate,
    L[1].place,
    boxes ? 0 : L->m,
    boxes ? end : 0,
    end,
    BAIColumnsOfP(state->p.modes),
    NULL,
    &state->placed[level].unfit
  };
}

BAIStatus BAIFitLook(BAILevelsState state, int count)
{
  std::vector<Look> looks((size_t)count);
  BAISpread         rows = {}, aggregates = {};
  size_t            room_for = 0;
  BAIRoom           rooms[2];
  uint32_t         *leads;
  Look             *levels;

  for (int l = 0; l < count; l++) {
    const BAIDeviceLevel *L = &state->level[l];

    if (!IsAsked(state, l)) continue;
    const Look look = LookOf(state, l);

    if (look.first < L->A.n) BAISpreadOver(&rows, l, ((long long)L->A.n - look.first + THREADS - 1) / THREADS);
    if (look.m) BAISpreadOver(&aggregates, l, ((long long)look.m + THREADS - 1) / THREADS);
    if (look.m) room_for += (size_t)L->A.n;
    looks[(size_t)l] = look;
  }
  if (!rows.levels) return BAIStatusOf(BAI_OK);
  BAITry(rooms[0].Get(state, room_for, &leads));
  BAITry(rooms[1].Get(state, looks.size(), &levels));
  for (Look &look : looks) {
    look.leads = leads;
    if (look.m) leads += look.fit.A.n;
  }
  CUDATry(cudaMemcpyAsync(levels, looks.data(), looks.size() * sizeof(Look), cudaMemcpyHostToDevice, state->s.stream));
  Leads<<<BAIBlocksOf(rows), THREADS, 0, state->s.stream>>>(levels, rows);
  if (aggregates.levels) HoldTogether<<<BAIBlocksOf(aggregates), THREADS, 0, state->s.stream>>>(levels, aggregates);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIFitCompare(BAILevelsState state, int count, const BAIPlaced *found)
{
  for (int l = 0; l < count; l++) {
    BAIDeviceLevel *L     = &state->level[l];
    const long long unfit = (long long)found[l].unfit;
    BAIBox          box   = L->box;

    if (!state->kept) L->unfit = unfit;
    if (!state->kept || !IsAsked(state, l) || !isfinite(state->info.norm)) continue;
    if (box.m[0]) BAIGridBoxes(&found[l].look, &L->grid, L->A.n, &box);
    if (memcmp(&box, &L->box, sizeof(box)) || !BAIFits(unfit, L->unfit, L->m, L->most, L->A.n))
      return BAIStatusOf(BAI_ERR_OUTDATED);
  }
  return BAIStatusOf(BAI_OK);
}
