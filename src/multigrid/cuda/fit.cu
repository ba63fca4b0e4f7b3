/*
   Couplings along the directions of a grid, and the fit of aggregates to new values, on a device. The results are those
   of host/fit.c; counts are equal to the bit
*/
#include "join.h"
#include <string.h>

enum {
  THREADS = 256,
  WARP    = 32
};

struct LooksTogether {
  __device__ BAIGridLook operator()(const BAIGridLook &a, const BAIGridLook &b) const
  {
    return BAIGridLookTogether(&a, &b);
  }
};

/* Does BAIGridLookAt() for all rows. Each thread block stores what it finds */
static __global__ __launch_bounds__(BAI_JOIN_THREADS) void LookAtGrid(BAIRows A, BAINumbering grid, BAIGridLook *looks)
{
  BAIGridLook look = BAIGridLookNone();

  for (int row = (int)(blockIdx.x * blockDim.x + threadIdx.x); row < A.n; row += (int)(gridDim.x * blockDim.x))
    BAIGridLookAt(&A, &grid, row, &look);
  BAIJoinBlock<BAIGridLook, LooksTogether>(look, looks);
}

/* Sets look, on the device, to what the rows of a grid show */
static BAIStatus LookAtRows(BAILevelsState state, const BAIRows &A, const BAINumbering &grid, BAIGridLook *look)
{
  const int    blocks = BAIJoinBlocks(state, A.n);
  BAIRoom      room;
  BAIGridLook *looks;

  BAITry(room.Get(state, (size_t)blocks, &looks));
  LookAtGrid<<<(unsigned)blocks, BAI_JOIN_THREADS, 0, state->s.stream>>>(A, grid, looks);
  BAIJoinAll<BAIGridLook, LooksTogether><<<1, BAI_JOIN_THREADS, 0, state->s.stream>>>(blocks, looks, look);
  CUDATry(cudaGetLastError());
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

struct Look {
  BAIFit     fit;
  const int *row, *child, *aggregate, *next_place;
  int        end;     /* first place of rows in no aggregate */
  int        columns; /* columns of P of an aggregate */
};

/* Finds the leads of the row at each place from first on; counts rows in no aggregate that are not dominant */
static __global__ __launch_bounds__(THREADS) void Leads(Look look, int first, uint32_t *leads,
                                                        unsigned long long *unfit)
{
  const int p   = first + (int)(blockIdx.x * blockDim.x + threadIdx.x);
  bool      bad = false;

  if (p < look.end) {
    const int row = look.row[p], c = look.next_place[look.aggregate[row] * look.columns] / look.columns;
    const int begin = look.child[c], end = look.child[c + 1];

    if ((end - begin) / look.fit.points <= BAI_SET) leads[p] = BAIFitLeads(&look.fit, row, begin, end);
  } else if (p < look.fit.A.n) {
    BAIReal largest;

    bad = !BAIFitRow(&look.fit, look.row[p], &largest);
  }
  const int count = __syncthreads_count(bad);

  if (!threadIdx.x && count) atomicAdd(unfit, (unsigned long long)count);
}

/* Counts the rows of aggregates that do not hold together; a thread for each aggregate */
static __global__ __launch_bounds__(THREADS) void HoldTogether(int m, const int *child, int points,
                                                               const uint32_t *leads, unsigned long long *unfit)
{
  const int c = (int)(blockIdx.x * blockDim.x + threadIdx.x), begin = c < m ? child[c] : 0,
            rows = c < m ? child[c + 1] - begin : 0;
  uint32_t set[BAI_SET];
  int      bad = 0;

  if (rows && rows / points <= BAI_SET) {
    for (int k = 0; k < rows / points; k++) set[k] = 0;
    for (int k = 0; k < rows; k++) set[k / points] |= leads[begin + k];
    if (!BAIFitHoldsTogether(rows / points, set)) bad = rows;
  }
  bad = __reduce_add_sync(~0u, bad);
  if (threadIdx.x % WARP == 0 && bad) atomicAdd(unfit, (unsigned long long)bad);
}

struct BAIFitFindings {
  BAIGridLook        look; /* of a grid, with new values */
  unsigned long long unfit;
};

BAIStatus BAIDeviceFit::Begin(BAILevelsState state)
{
  BAIFitFindings none[BAI_LEVELS_MOST];

  for (int l = 0; l < BAI_LEVELS_MOST; l++) none[l] = {BAIGridLookNone(), 0};
  BAITry(room.Allocate(&state->s, sizeof(none)));
  findings = static_cast<BAIFitFindings *>(room.p);
  CUDATry(cudaMemcpyAsync(findings, none, sizeof(none), cudaMemcpyHostToDevice, state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Whether the aggregates of a level are checked */
static bool IsAsked(BAILevelsState state, int level)
{
  return BAIFitIsAsked(&state->p, state->levels, state->level[level].m, state->level[level].A.n);
}

BAIStatus BAIDeviceFit::LookAt(BAILevelsState state, int level, bool values_only)
{
  const BAIDeviceLevel *L      = &state->level[level];
  const int             n      = L->A.n;
  const bool            boxes  = BAIGridHasBoxes(&L->box);
  cudaStream_t          stream = state->s.stream;
  BAIRoom               leads_room;
  uint32_t             *leads;

  if (!IsAsked(state, level)) return BAIStatusOf(BAI_OK);
  const BAIFit fit  = {L->A, L->place, L->field, (int)BAIRowsOfPoint(state->p.modes, level, state->points),
                       !(level + state->p.above)};
  const Look   look = {fit, L->row, L->child, L->aggregate, L[1].place, n - L->alone, BAIColumnsOfP(state->p.modes)};

  if (values_only && L->box.m[0]) BAITry(LookAtRows(state, L->A, L->grid, &findings[level].look));
  const int first = boxes ? look.end : 0; /* boxes always hold together */

  if (first == n) return BAIStatusOf(BAI_OK);
  BAITry(leads_room.Get(state, (size_t)n, &leads));
  Leads<<<BAIGrid(n - first, THREADS), THREADS, 0, stream>>>(look, first, leads, &findings[level].unfit);
  if (!boxes && L->m)
    HoldTogether<<<BAIGrid(L->m, THREADS), THREADS, 0, stream>>>(L->m, L->child, fit.points, leads,
                                                                 &findings[level].unfit);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceFit::End(BAILevelsState state, bool values_only)
{
  BAIFitFindings found[BAI_LEVELS_MOST];

  CUDATry(cudaMemcpyAsync(found, findings, sizeof(found), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  for (int l = 0; l < state->levels; l++) {
    BAIDeviceLevel *L     = &state->level[l];
    const long long unfit = (long long)found[l].unfit;
    BAIBox          box   = L->box;

    if (!values_only) L->unfit = unfit;
    if (!values_only || !IsAsked(state, l) || !isfinite(state->info.norm)) continue;
    if (box.m[0]) BAIGridBoxes(&found[l].look, &L->grid, L->A.n, &box);
    if (memcmp(&box, &L->box, sizeof(box)) || !BAIFits(unfit, L->unfit, L->A.n)) return BAIStatusOf(BAI_ERR_OUTDATED);
  }
  return BAIStatusOf(BAI_OK);
}
