/*
   Levels on a device of a matrix that is distributed over ranks, made one after the other: see ../levels.h
*/
#include "levels.h"
#include <string.h>
#include <stdlib.h>
#include <vector>

enum {
  THREADS     = 256,
  MERGE_LANES = 4
};

static BAIDeviceLevel *Last(BAILevelsState state)
{
  return &state->level[state->levels - 1];
}

/* The entries of ghosts behind the others of a row; a few lanes a row */
static __global__ void Merge(BAIInt n, BAICSR A, BAICSR B, int *i, int *j, BAIScalar *a)
{
  const BAIInt row  = (BAIInt)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / MERGE_LANES);
  const int    lane = (int)(threadIdx.x % MERGE_LANES);

  if (row == 0 && !lane) i[n] = (int)(A.i[n] + B.i[n]);
  if (row >= n) return;
  const BAIInt own = A.i[row + 1] - A.i[row], ghosts = B.i[row + 1] - B.i[row], to = A.i[row] + B.i[row];

  if (!lane) i[row] = (int)to;
  for (BAIInt k = lane; k < own; k += MERGE_LANES) {
    j[to + k] = (int)A.j[A.i[row] + k];
    a[to + k] = A.a[A.i[row] + k];
  }
  for (BAIInt k = lane; k < ghosts; k += MERGE_LANES) {
    j[to + own + k] = (int)(n + B.j[B.i[row] + k]);
    a[to + own + k] = B.a[B.i[row] + k];
  }
}

/* The caller's own columns, for a solve by all ranks, if they are there as kernels read them */
void BAIDeviceKeepOwn(BAILevelsState state, const BAIMatrix *matrix, BAIInt nnz)
{
  if (state->staged || sizeof(BAIInt) != sizeof(int)) return;
  state->own = {(int)matrix->n,
                0,
                (long long)nnz,
                reinterpret_cast<const int *>(matrix->A.i),
                reinterpret_cast<const int *>(matrix->A.j),
                matrix->A.a};
}

/* A copy with the entries of ghosts */
BAIStatus BAIDeviceTakeWithGhosts(BAILevelsState state, const BAIMatrix *matrix, BAIDeviceRows *A)
{
  BAIInt     own, ghosts;
  int       *i, *j;
  BAIScalar *a;

  BAITry(BAIDeviceEntries(state, matrix->A, matrix->n, &own));
  BAITry(BAIDeviceEntries(state, matrix->B, matrix->n, &ghosts));
  if ((long long)own + ghosts > INT32_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  A->n      = (int)matrix->n;
  A->ghosts = (int)matrix->nghost;
  A->nnz    = (long long)own + ghosts;
  BAITry(BAICUDAAllocate(&state->s, ((size_t)A->n + 1) * sizeof(int), &i));
  BAITry(BAICUDAAllocate(&state->s, (size_t)A->nnz * sizeof(int), &j));
  BAITry(BAICUDAAllocate(&state->s, (size_t)A->nnz * sizeof(BAIScalar), &a));
  Merge<<<BAIGrid((long long)A->n * MERGE_LANES, THREADS), THREADS, 0, state->s.stream>>>(matrix->n, matrix->A,
                                                                                          matrix->B, i, j, a);
  CUDATry(cudaGetLastError());
  A->i             = i;
  A->j             = j;
  A->a             = a;
  state->merged    = true;
  state->between.B = matrix->B;
  BAIDeviceKeepOwn(state, matrix, own);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceAgree(BAILevelsState state, const BAILevelsAgreed *agreed)
{
  const int n = state->level[0].A.n;

  state->hermitian = agreed->hermitian;
  state->negative  = agreed->negative;
  state->single    = agreed->single;
  state->largest   = agreed->largest;
  state->over      = agreed->over;
  state->scale     = BAIDeviceScale(state);
  if (state->negative) BAITry(BAINegateFinest(state));
  if (state->p.fields == 1) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(&state->s, (size_t)n * sizeof(int), &state->field));
  return BAIFieldsOfRows(state, n, state->field);
}

BAIStatus BAIDeviceAggregate(BAILevelsState state, BAIInt *count)
{
  BAIDeviceLevel *L = Last(state);

  *count = 0;
  if (!L->A.n) return BAIStatusOf(BAI_OK);
  if (!L->of_row) BAITry(BAIOfRow(state, &L->A, &L->of_row));
  BAITry(state->p.modes ? BAIDeviceAggregatePoints(state, state->levels - 1)
                        : BAIDeviceAggregateRows(state, state->levels - 1, L, state->field));
  *count = L->m;
  return BAIStatusOf(BAIRowsOfNext(L->m, state->p.modes) > INT32_MAX ? BAI_ERR_SIZE : BAI_OK);
}

template <typename T>
static __global__ void Pick(int n, const int *row, const T *from, T *to)
{
  const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (k < n) to[k] = from[row[k]];
}

/* The same of rows of so many numbers */
static __global__ void PickRows(long long n, int width, const int *row, const BAIScalar *from, BAIScalar *to)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k < n) to[k] = from[(long long)row[k / width] * width + k % width];
}

template <typename T>
static void LaunchPick(BAILevelsState state, size_t n, const int *row, const void *from, void *to)
{
  Pick<<<BAIGrid((long long)n, THREADS), THREADS, 0, state->s.stream>>>((int)n, row, static_cast<const T *>(from),
                                                                        static_cast<T *>(to));
}

BAIStatus BAIDevicePick(BAILevelsState state, size_t n, const int *row, size_t size, const void *from, void *to)
{
  if (!n) return BAIStatusOf(BAI_OK);
  if (size == sizeof(float)) LaunchPick<float>(state, n, row, from, to);
  else if (size == sizeof(double)) LaunchPick<double>(state, n, row, from, to);
  else LaunchPick<double2>(state, n, row, from, to);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Numbers of the caller, to the device */
static BAIStatus Upload(BAILevelsState state, size_t n, const BAIInt *from, int *to)
{
  const std::vector<int> narrow(from, from + n);

  if (n) CUDATry(cudaMemcpyAsync(to, narrow.data(), n * sizeof(int), cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* The first so many numbers, to the caller */
static BAIStatus Download(BAILevelsState state, size_t n, const int *from, BAIInt *to)
{
  std::vector<int> narrow(n);

  if (n) CUDATry(cudaMemcpyAsync(narrow.data(), from, n * sizeof(int), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  for (size_t k = 0; k < n; k++) to[k] = (BAIInt)narrow[k];
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceAggregates(BAILevelsState state, int level, BAIInt count, const BAIInt *row, BAIInt *aggregate)
{
  const BAIDeviceLevel *L = &state->level[level];
  const size_t          n = (size_t)count;
  BAITemporary          rooms[2];

  if (!count) return BAIStatusOf(BAI_OK);
  if (!row) return Download(state, n, L->aggregate, aggregate);
  BAITry(rooms[0].Allocate(&state->s, n * sizeof(int)));
  BAITry(rooms[1].Allocate(&state->s, n * sizeof(int)));
  BAITry(Upload(state, n, row, static_cast<int *>(rooms[0].p)));
  BAITry(BAIDevicePick(state, n, static_cast<const int *>(rooms[0].p), sizeof(int), L->aggregate, rooms[1].p));
  return Download(state, n, static_cast<const int *>(rooms[1].p), aggregate);
}

BAIStatus BAIDeviceFields(BAILevelsState state, BAIInt *field)
{
  return Download(state, (size_t)Last(state)->A.n, state->field, field);
}

BAIStatus BAIDeviceProlongation(BAILevelsState state, BAIInt count, const BAIInt *row, BAIScalar *P)
{
  const BAIScalar *from = Last(state)->P;
  const size_t     n    = (size_t)count * (size_t)state->p.modes;
  BAITemporary     rooms[2];

  for (size_t k = 0; k < n && !from; k++) P[k] = 0; /* no row is in an aggregate */
  if (!n || !from) return BAIStatusOf(BAI_OK);
  BAITry(rooms[0].Allocate(&state->s, (size_t)count * sizeof(int)));
  BAITry(rooms[1].Allocate(&state->s, n * sizeof(*P)));
  BAITry(Upload(state, (size_t)count, row, static_cast<int *>(rooms[0].p)));
  PickRows<<<BAIGrid((long long)n, THREADS), THREADS, 0, state->s.stream>>>((long long)n, state->p.modes,
                                                                            static_cast<const int *>(rooms[0].p), from,
                                                                            static_cast<BAIScalar *>(rooms[1].p));
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(P, rooms[1].p, n * sizeof(*P), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceModes(BAILevelsState state, BAIScalar *mode)
{
  const BAILevelModes   &from  = state->mode;
  const size_t           modes = (size_t)state->p.modes, n = from.rows;
  std::vector<BAIScalar> all(n * modes);

  if (!n) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(all.data(), from.mode, all.size() * sizeof(*mode), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < modes; k++)
      mode[i * modes + k] = all[i * (size_t)from.row_step + k * (size_t)from.mode_step];
  return BAIStatusOf(BAI_OK);
}

/* How the values of a level came about is not kept, as ranks take no new ones */
static void FreeGather(BAILevelsState state, BAIDeviceLevel *L, const BAIDeviceRows *C)
{
  BAICUDAFree(&state->s, (size_t)L->A.nnz * sizeof(*L->gather.entry), L->gather.entry);
  BAICUDAFree(&state->s, (size_t)(C->nnz + 1) * sizeof(int), L->gather.first);
  BAICUDAFree(&state->s, (size_t)L->A.nnz * sizeof(int), L->of_row);
  L->gather = {};
  L->of_row = NULL;
}

static void FreeSides(BAILevelsState state, const BAIDeviceRows *C)
{
  BAISides *sides = &state->sides;

  BAICUDAFree(&state->s, (size_t)C->nnz * sizeof(int), sides->touch);
  BAICUDAFree(&state->s, (size_t)C->nnz * sizeof(int), sides->back);
  BAICUDAFree(&state->s, (size_t)C->n * sizeof(int), sides->rows);
  BAICUDAFree(&state->s, (size_t)C->n * sizeof(BAIReal), sides->inner);
  *sides = {};
}

/* With modes */
static BAIStatus ProductOfModes(BAILevelsState state, int ghosts, const int *ghost, const BAIScalar *P)
{
  BAIDeviceLevel *L     = Last(state) - 1;
  const size_t    modes = (size_t)state->p.modes;

  CUDATry(cudaMemcpyAsync(L->P + (size_t)L->A.n * modes, P, (size_t)L->A.ghosts * modes * sizeof(*P),
                          cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  BAITry(BAIModesGalerkin(state, L, ghosts, ghost, L + 1));
  const BAIDeviceRows pattern = L->gather.pattern;

  BAICUDAFree(&state->s, ((size_t)pattern.n + 1) * sizeof(int), (void *)pattern.i);
  BAICUDAFree(&state->s, (size_t)pattern.nnz * sizeof(int), (void *)pattern.j);
  BAICUDAFree(&state->s, (size_t)pattern.nnz * sizeof(int), L->gather.of_row);
  FreeGather(state, L, &pattern);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceProduct(BAILevelsState state, BAIInt ghosts, const BAIInt *aggregate, const BAIScalar *P)
{
  BAIDeviceLevel     *L = Last(state), *next = L + 1;
  std::vector<BAIInt> ghost((size_t)L->A.ghosts), member(ghost.size()), members((size_t)ghosts);
  BAITemporary        rooms[2];

  if (BAIRowsOfNext((int64_t)L->m + ghosts, state->p.modes) > INT32_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  state->levels++;
  next->grid     = L->next;
  next->A.ghosts = (int)BAIRowsOfNext(ghosts, state->p.modes);
  state->sides   = BAISides{};
  BAINextModes(state);
  if (!L->A.n || !L->m) return BAIStatusOf(BAI_OK);
  for (size_t g = 0; g < ghost.size(); g++) {
    ghost[g]  = aggregate[g] < 0 ? -1 : L->m + aggregate[g];
    member[g] = aggregate[g] < 0 ? 0 : members[(size_t)aggregate[g]]++ % BAI_SET; /* which has more bits than an
                                                                                     aggregate rows */
  }
  for (BAITemporary &room : rooms) BAITry(room.Allocate(&state->s, (ghost.size() + 1) * sizeof(int)));
  int *const ghost_at = static_cast<int *>(rooms[0].p), *const member_at = static_cast<int *>(rooms[1].p);

  BAITry(Upload(state, ghost.size(), ghost.data(), ghost_at));
  if (state->p.modes) return ProductOfModes(state, (int)ghosts, ghost_at, P);
  BAITry(Upload(state, ghost.size(), member.data(), member_at));
  return BAIGalerkinOfRank(state, &L->A, L->of_row, L->m, L->aggregate, (int)ghosts, ghost_at, member_at, &state->sides,
                           &L->gather, &next->A, &next->values, &next->of_row);
}

BAIStatus BAIDeviceSides(BAILevelsState state, BAIInt count, const BAIInt *row, BAILevelsSide *side)
{
  const size_t         n = (size_t)count;
  std::vector<int>     rows(n);
  std::vector<BAIReal> inner(n);
  BAITemporary         rooms[3];

  if (!count) return BAIStatusOf(BAI_OK);
  BAITry(rooms[0].Allocate(&state->s, n * sizeof(int)));
  BAITry(rooms[1].Allocate(&state->s, n * sizeof(int)));
  BAITry(rooms[2].Allocate(&state->s, n * sizeof(BAIReal)));
  const int *const at     = static_cast<const int *>(rooms[0].p);
  cudaStream_t     stream = state->s.stream;

  BAITry(Upload(state, n, row, static_cast<int *>(rooms[0].p)));
  BAITry(BAIDevicePick(state, n, at, sizeof(int), state->sides.rows, rooms[1].p));
  BAITry(BAIDevicePick(state, n, at, sizeof(BAIReal), state->sides.inner, rooms[2].p));
  CUDATry(cudaMemcpyAsync(rows.data(), rooms[1].p, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaMemcpyAsync(inner.data(), rooms[2].p, n * sizeof(BAIReal), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaStreamSynchronize(stream));
  for (size_t k = 0; k < n; k++) side[k] = {(BAIReal)rows[k], inner[k]};
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceSoften(BAILevelsState state, const BAILevelsSide *side)
{
  BAIDeviceLevel *L     = Last(state);
  const size_t    bytes = (size_t)L->A.ghosts * sizeof(*side);
  BAITemporary    room;

  if (!L->A.n || state->p.modes) return BAIStatusOf(BAI_OK);
  if (state->over != 1) {
    BAITry(room.Allocate(&state->s, bytes));
    if (bytes) CUDATry(cudaMemcpyAsync(room.p, side, bytes, cudaMemcpyHostToDevice, state->s.stream));
    BAITry(BAISoftenOfRank(state, &L->A, &state->sides, &L[-1].gather, static_cast<const BAILevelsSide *>(room.p),
                           state->over, L->values));
    CUDATry(cudaStreamSynchronize(state->s.stream));
  }
  FreeGather(state, L - 1, &L->A);
  FreeSides(state, &L->A);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceMatrix(BAILevelsState state, int level, BAIInt *n, BAIInt *nnz, BAIInt *i, BAIInt *j, BAIScalar *a)
{
  const BAIDeviceRows *A = &state->level[level].A;

  *n   = A->n;
  *nnz = (BAIInt)A->nnz;
  if (!i) return BAIStatusOf(BAI_OK);
  i[0] = 0;
  if (!A->n) return BAIStatusOf(BAI_OK);
  CUDATry(cudaMemcpyAsync(a, A->a, (size_t)A->nnz * sizeof(*a), cudaMemcpyDeviceToHost, state->s.stream));
  BAITry(Download(state, (size_t)A->n + 1, A->i, i));
  return Download(state, (size_t)A->nnz, A->j, j);
}

/* Places of the rows that are sent, and room for their x and that of ghosts */
static BAIStatus TakeSends(BAILevelsState state, BAIDeviceLevel *L, const BAILevelsShared *shared)
{
  const size_t n = (size_t)shared->sends, size = BAISizeOfNumbers(state);
  BAITemporary room;

  L->halo        = {};
  L->halo.all    = (int)shared->all;
  L->halo.ghosts = (int)shared->ghosts;
  L->halo.sends  = (int)shared->sends;
  L->halo.sent   = malloc((n + 1) * size);
  L->halo.got    = malloc(((size_t)shared->ghosts + 1) * size);
  if (!L->halo.sent || !L->halo.got) return BAIStatusOf(BAI_ERR_MEMORY);
  if (!n) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(&state->s, n * sizeof(int), &L->halo.place));
  BAITry(BAICUDAAllocate(&state->s, n * size, &L->halo.packed));
  if (!shared->row) { /* all rows in their order */
    CUDATry(cudaMemcpyAsync(L->halo.place, L->place, n * sizeof(int), cudaMemcpyDeviceToDevice, state->s.stream));
    return BAIStatusOf(BAI_OK);
  }
  BAITry(room.Allocate(&state->s, n * sizeof(int)));
  BAITry(Upload(state, n, shared->row, static_cast<int *>(room.p)));
  return BAIDevicePick(state, n, static_cast<const int *>(room.p), sizeof(int), L->place, L->halo.place);
}

/* The same of vectors by rows */
static BAIStatus TakeVector(BAILevelsState state, const BAILevelsShared *shared)
{
  const size_t n = (size_t)shared->sends;

  state->vector        = {};
  state->vector.ghosts = (int)shared->ghosts;
  state->vector.sends  = (int)n;
  BAITry(BAICUDAAllocate(&state->s, n * sizeof(int), &state->vector.place));
  return Upload(state, n, shared->row, state->vector.place);
}

void BAIDeviceFreeHalos(BAILevelsState state)
{
  for (int l = 0; l < BAI_LEVELS_MOST; l++) {
    free(state->level[l].halo.sent);
    free(state->level[l].halo.got);
  }
}

/* Frees what only set-up needs: matrices are there by places now. Levels of the transposed matrix may ask for
   aggregates */
static void FreeMatrix(BAILevelsState state, BAIDeviceLevel *L, bool owned)
{
  BAIDeviceRows *A = &L->A;

  BAICUDAFree(&state->s, (size_t)A->nnz * sizeof(int), L->of_row);
  if (state->hermitian) BAICUDAFree(&state->s, (size_t)A->n * sizeof(int), L->aggregate);
  BAICUDAFree(&state->s, ((size_t)A->n + (size_t)A->ghosts) * sizeof(int), L->place);
  if (owned) {
    BAICUDAFree(&state->s, ((size_t)A->n + 1) * sizeof(int), (void *)A->i);
    BAICUDAFree(&state->s, (size_t)A->nnz * sizeof(int), (void *)A->j);
    BAICUDAFree(&state->s, (size_t)A->nnz * sizeof(BAIScalar), (void *)A->a);
  }
  if (L->P) BAICUDAFree(&state->s, ((size_t)A->n + (size_t)A->ghosts) * (size_t)state->p.modes * sizeof(*L->P), L->P);
  if (state->hermitian) L->aggregate = NULL;
  L->P      = NULL;
  L->of_row = L->place = NULL;
  A->i = A->j = NULL;
  A->a        = NULL;
}

BAIStatus BAIDeviceFinish(BAILevelsState state, const BAILevelsRanks *ranks)
{
  const int       made = state->levels;
  BAIDeviceLevel *L;

  Last(state)->m = 0;
  BAITry(BAIDeviceOrder(state));
  state->ranks       = *ranks;
  state->ranks.level = state->ranks.finest = NULL;
  state->levels                            = ranks->levels + ranks->next;
  L                                        = Last(state);
  L->m                                     = 0;
  for (int l = 0; l < state->levels; l++) {
    BAITry(TakeSends(state, &state->level[l], &ranks->level[l]));
    if (!state->level[l].A.n)
      BAITry(
        BAICUDAAllocate(&state->s, (size_t)state->level[l].halo.ghosts * BAISizeOfNumbers(state), &state->level[l].x));
    if (!state->level[l].A.n || l == ranks->levels) continue;
    BAITry(BAIDeviceCutBlocks(state, &state->level[l]));
    BAITry(BAIPlaceLevel(state, &state->level[l], false));
  }
  BAITry(TakeVector(state, ranks->finest));
  if (ranks->next) {
    BAITry(BAICUDAAllocate(&state->s, ((size_t)L->A.n + (size_t)L->halo.ghosts) * BAISizeOfNumbers(state), &L->b));
    if (state->p.modes) BAITry(BAICUDAAllocate(&state->s, (size_t)L->A.n * BAISizeOfNumbers(state), &L->x));
    for (int k = 0; k < 2 && state->staged; k++)
      BAITry(BAICUDAAllocate(&state->s, (size_t)L->halo.all * sizeof(BAIScalar), &state->rest[k]));
  }
  for (int l = 0; l < made; l++) FreeMatrix(state, &state->level[l], l || state->merged);
  if (state->negated) BAICUDAFree(&state->s, (size_t)state->level[0].A.nnz * sizeof(BAIScalar), state->negated);
  if (state->field) BAICUDAFree(&state->s, (size_t)state->level[0].A.n * sizeof(int), state->field);
  state->negated = NULL;
  state->field   = NULL;
  BAIFreeModes(state);
  BAIFindTail(state);
  return BAIStatusOf(BAI_OK);
}
