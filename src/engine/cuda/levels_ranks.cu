/*
   Levels on a device of a matrix that is distributed over ranks, one after the other, and what a cycle needs of other
   ranks: see ../levels.h
*/
#include "levels.h"
#include "sweep.h"
#include <string.h>
#include <stdlib.h>
#include <vector>

enum {
  THREADS     = 256,
  MERGE_LANES = 4,
  MOST_BLOCKS = 64 /* that wait for other ranks at a time */
};

/* What a handle says: the memory, where flags begin in it, and the device */
typedef struct {
  BAISharedHandle memory;
  size_t          flags;
  cudaUUID_t      device;
} Handle;

static_assert(sizeof(Handle) <= sizeof(BAIHandle), "a handle holds it");

static BAIStatus GivenUp()
{
  return BAIStatusBecause(BAI_ERR_ABSENT, "a cycle of several ranks", "one of them has given up");
}

/* Bytes of a number of the cycle */
static size_t SizeOf(BAILevelsState state)
{
  return state->single ? sizeof(BAISingle) : sizeof(BAIScalar);
}

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
  return BAIDeviceFields(state, n, state->field);
}

BAIStatus BAIDeviceAggregateLast(BAILevelsState state, BAIInt *count)
{
  BAIDeviceLevel *L = Last(state);

  *count = 0;
  if (!L->A.n) return BAIStatusOf(BAI_OK);
  if (!L->of_row) BAITry(BAIOfRow(state, &L->A, &L->of_row));
  BAITry(BAIDeviceAggregate(state, state->levels - 1, L, state->field));
  *count = L->m;
  return BAIStatusOf(BAI_OK);
}

template <typename T, typename U>
static __global__ void Pick(int n, const int *row, const T *from, U *to)
{
  const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (k < n) to[k] = U(from[row[k]]);
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
  Pick<<<BAIGrid(count, THREADS), THREADS, 0, state->s.stream>>>((int)count, static_cast<const int *>(rooms[0].p),
                                                                 L->aggregate, static_cast<int *>(rooms[1].p));
  CUDATry(cudaGetLastError());
  return Download(state, n, static_cast<const int *>(rooms[1].p), aggregate);
}

BAIStatus BAIDeviceGetFields(BAILevelsState state, BAIInt *field)
{
  return Download(state, (size_t)Last(state)->A.n, state->field, field);
}

BAIStatus BAIDeviceProduct(BAILevelsState state, BAIInt ghosts, const BAIInt *aggregate)
{
  BAIDeviceLevel     *L = Last(state), *next = L + 1;
  std::vector<BAIInt> ghost((size_t)L->A.ghosts);
  BAITemporary        room;

  state->levels++;
  next->grid     = L->next;
  next->A.ghosts = (int)ghosts;
  state->sides   = BAISides{};
  if (!L->A.n || !L->m) return BAIStatusOf(BAI_OK);
  for (size_t g = 0; g < ghost.size(); g++) ghost[g] = aggregate[g] < 0 ? -1 : L->m + aggregate[g];
  BAITry(room.Allocate(&state->s, (ghost.size() + 1) * sizeof(int)));
  BAITry(Upload(state, ghost.size(), ghost.data(), static_cast<int *>(room.p)));
  return BAIGalerkinOfRank(state, &L->A, L->of_row, L->m, L->aggregate, (int)ghosts, static_cast<const int *>(room.p),
                           &state->sides, &L->gather, &next->A, &next->values, &next->of_row);
}

BAIStatus BAIDeviceSides(BAILevelsState state, BAIInt count, const BAIInt *row, BAILevelsSide *side)
{
  const size_t           n = (size_t)count;
  std::vector<int>       rows(n);
  std::vector<BAIScalar> inner(n);
  BAITemporary           rooms[3];

  if (!count) return BAIStatusOf(BAI_OK);
  BAITry(rooms[0].Allocate(&state->s, n * sizeof(int)));
  BAITry(rooms[1].Allocate(&state->s, n * sizeof(int)));
  BAITry(rooms[2].Allocate(&state->s, n * sizeof(BAIScalar)));
  const int *const at     = static_cast<const int *>(rooms[0].p);
  const dim3       grid   = BAIGrid(count, THREADS);
  cudaStream_t     stream = state->s.stream;

  BAITry(Upload(state, n, row, static_cast<int *>(rooms[0].p)));
  Pick<<<grid, THREADS, 0, stream>>>((int)count, at, state->sides.rows, static_cast<int *>(rooms[1].p));
  Pick<<<grid, THREADS, 0, stream>>>((int)count, at, state->sides.inner, static_cast<BAIScalar *>(rooms[2].p));
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(rows.data(), rooms[1].p, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaMemcpyAsync(inner.data(), rooms[2].p, n * sizeof(BAIScalar), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaStreamSynchronize(stream));
  for (size_t k = 0; k < n; k++) side[k] = {(BAIReal)rows[k], BAIRealPart(inner[k])};
  return BAIStatusOf(BAI_OK);
}

/* How the values of a level came about is not kept, as ranks take no new ones */
static void FreeGather(BAILevelsState state, BAIDeviceLevel *L, const BAIDeviceRows *C)
{
  BAISides *sides = &state->sides;

  BAICUDAFree(&state->s, (size_t)L->A.nnz * sizeof(*L->gather.entry), L->gather.entry);
  BAICUDAFree(&state->s, (size_t)(C->nnz + 1) * sizeof(int), L->gather.first);
  BAICUDAFree(&state->s, (size_t)L->A.nnz * sizeof(int), L->of_row);
  BAICUDAFree(&state->s, (size_t)C->nnz * sizeof(int), sides->touch);
  BAICUDAFree(&state->s, (size_t)C->nnz * sizeof(int), sides->back);
  BAICUDAFree(&state->s, (size_t)C->n * sizeof(int), sides->rows);
  BAICUDAFree(&state->s, (size_t)C->n * sizeof(BAIReal), sides->inner);
  L->gather = {};
  L->of_row = NULL;
  *sides    = {};
}

BAIStatus BAIDeviceSoften(BAILevelsState state, const BAILevelsSide *side)
{
  BAIDeviceLevel *L     = Last(state);
  const size_t    bytes = (size_t)L->A.ghosts * sizeof(*side);
  BAITemporary    room;

  if (!L->A.n) return BAIStatusOf(BAI_OK);
  if (state->over != 1) {
    BAITry(room.Allocate(&state->s, bytes));
    if (bytes) CUDATry(cudaMemcpyAsync(room.p, side, bytes, cudaMemcpyHostToDevice, state->s.stream));
    BAITry(BAISoftenOfRank(state, &L->A, &state->sides, &L[-1].gather, static_cast<const BAILevelsSide *>(room.p),
                           state->over, L->values));
    CUDATry(cudaStreamSynchronize(state->s.stream));
  }
  FreeGather(state, L - 1, &L->A);
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
  const size_t n = (size_t)shared->sends, size = SizeOf(state);
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
  Pick<<<BAIGrid((long long)n, THREADS), THREADS, 0, state->s.stream>>>((int)n, static_cast<const int *>(room.p),
                                                                        L->place, L->halo.place);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
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
  (void)BAISharedClose(BAI_BACKEND_CUDA, &state->mailbox);
}

/* What was only for set-up: matrices are there by places now */
static void FreeMatrix(BAILevelsState state, BAIDeviceLevel *L, bool owned)
{
  BAIDeviceRows *A = &L->A;

  BAICUDAFree(&state->s, (size_t)A->nnz * sizeof(int), L->of_row);
  BAICUDAFree(&state->s, (size_t)A->n * sizeof(int), L->aggregate);
  BAICUDAFree(&state->s, ((size_t)A->n + (size_t)A->ghosts) * sizeof(int), L->place);
  if (owned) {
    BAICUDAFree(&state->s, ((size_t)A->n + 1) * sizeof(int), (void *)A->i);
    BAICUDAFree(&state->s, (size_t)A->nnz * sizeof(int), (void *)A->j);
    BAICUDAFree(&state->s, (size_t)A->nnz * sizeof(BAIScalar), (void *)A->a);
  }
  L->of_row = L->aggregate = L->place = NULL;
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
      BAITry(BAICUDAAllocate(&state->s, (size_t)state->level[l].halo.ghosts * SizeOf(state), &state->level[l].x));
    if (!state->level[l].A.n || l == ranks->levels) continue;
    BAITry(BAIDeviceCutBlocks(state, &state->level[l]));
    BAITry(BAIPlaceLevel(state, &state->level[l], false));
  }
  BAITry(TakeVector(state, ranks->finest));
  if (ranks->next) {
    BAITry(BAICUDAAllocate(&state->s, ((size_t)L->A.n + (size_t)L->halo.ghosts) * SizeOf(state), &L->b));
    for (int k = 0; k < 2 && state->staged; k++)
      BAITry(BAICUDAAllocate(&state->s, (size_t)L->halo.all * sizeof(BAIScalar), &state->rest[k]));
  }
  for (int l = 0; l < made; l++) FreeMatrix(state, &state->level[l], l || state->merged);
  if (state->negated) BAICUDAFree(&state->s, (size_t)state->level[0].A.nnz * sizeof(BAIScalar), state->negated);
  if (state->field) BAICUDAFree(&state->s, (size_t)state->level[0].A.n * sizeof(int), state->field);
  state->negated = NULL;
  state->field   = NULL;
  BAIFindTail(state);
  return BAIStatusOf(BAI_OK);
}

/* The mailbox: of each level x of ghosts of even exchanges, and of odd ones; then a flag for each level and rank */
static size_t Whole(size_t bytes)
{
  return (bytes + sizeof(BAIFlag) - 1) / sizeof(BAIFlag) * sizeof(BAIFlag);
}

/* The halo of an exchange, NULL: it is that of sums */
static BAIDeviceHalo *HaloOf(BAILevelsState state, int exchange)
{
  return exchange < state->levels ? &state->level[exchange].halo : exchange == state->levels ? &state->vector : NULL;
}

/* Bytes of what goes from one rank to another in an exchange, as a whole number of flags */
static size_t Room(BAILevelsState state, int exchange, int ranks)
{
  const BAIDeviceHalo *h = HaloOf(state, exchange);

  if (!h) return Whole((size_t)ranks * BAI_FAR_SUMS * sizeof(BAIReal));
  return Whole((size_t)h->ghosts * (exchange < state->levels ? SizeOf(state) : sizeof(BAIScalar)));
}

BAIStatus BAIDeviceShare(BAILevelsState state, int ranks, const BAIInt *begin, BAIHandle *handle,
                         BAILevelsAddress *address)
{
  const int       n  = state->levels + 2;
  size_t          at = 0, flags = 0;
  BAISharedHandle shared;
  Handle          h = {};

  for (int e = 0; e < n; e++) flags += 2 * Room(state, e, ranks);
  BAITry(BAISharedCreate(BAI_BACKEND_CUDA, flags + (size_t)(n * ranks) * sizeof(BAIFlag), &state->mailbox, &shared));
  char *const memory = static_cast<char *>(state->mailbox.memory);

  for (int e = 0; e < n; e++) {
    BAIDeviceHalo *const halo = HaloOf(state, e);
    const size_t         room = Room(state, e, ranks), size = e < state->levels ? SizeOf(state) : sizeof(BAIScalar);

    for (int k = 0; k < ranks; k++) {
      const size_t mine = halo ? (size_t)begin[e * ranks + k] * size : (size_t)k * BAI_FAR_SUMS * sizeof(BAIReal);

      address[k * n + e] = {at + mine, at + room + mine, flags + (size_t)(e * ranks + k) * sizeof(BAIFlag)};
    }
    for (int odd = 0; odd < 2; odd++, at += room) {
      if (halo) halo->box[odd] = memory + at;
      else state->sums.from[odd] = reinterpret_cast<BAIReal *>(memory + at);
    }
  }
  state->sums.told = reinterpret_cast<BAIFlag *>(memory + flags) + (n - 1) * ranks;
  BAITry(BAICUDAIdentity(&h.device));
  h.flags  = flags;
  h.memory = shared;
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &h, sizeof(h));
  return BAIStatusOf(BAI_OK);
}

/* Opens the memory of all others, none of which is on this device */
static BAIStatus Open(BAILevelsState state, const BAILevelsPeers *peers)
{
  cudaUUID_t mine;

  BAITry(BAICUDAIdentity(&mine));
  state->theirs = static_cast<BAIShared *>(calloc((size_t)peers->ranks, sizeof(*state->theirs)));
  if (!state->theirs) return BAIStatusOf(BAI_ERR_MEMORY);
  for (; state->opened < peers->ranks; state->opened++) {
    Handle h;

    if (state->opened == peers->rank) continue;
    memcpy(&h, &peers->handle[state->opened], sizeof(h));
    if (!memcmp(&h.device, &mine, sizeof(mine)))
      return BAIStatusBecause(BAI_ERR_PEERS, "cudaIpcOpenMemHandle()",
                              "ranks share a device, where a kernel must not wait for another's");
    BAITry(BAISharedOpen(BAI_BACKEND_CUDA, &h.memory, &state->theirs[state->opened]));
  }
  return BAIStatusOf(BAI_OK);
}

template <typename T>
static BAIStatus UploadAll(BAILevelsState state, const std::vector<T> &from, T **to)
{
  BAITry(BAICUDAAllocate(&state->s, (from.size() + 1) * sizeof(T), to));
  if (!from.empty())
    CUDATry(cudaMemcpyAsync(*to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

template <typename T>
static BAIStatus Zero(BAILevelsState state, T **to)
{
  BAITry(BAICUDAAllocate(&state->s, sizeof(T), to));
  CUDATry(cudaMemsetAsync(*to, 0, sizeof(T), state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* Where each x of an exchange goes, and the flags */
static BAIStatus ConnectHalo(BAILevelsState state, int exchange, const BAILevelsPeers *peers)
{
  BAIDeviceHalo         *h     = HaloOf(state, exchange);
  const size_t           size  = exchange < state->levels ? SizeOf(state) : sizeof(BAIScalar);
  const int              ranks = peers->ranks;
  std::vector<int>       place((size_t)h->sends), far;
  std::vector<void *>    to[2];
  std::vector<BAIFlag *> tell, told;
  Handle                 mine;

  memcpy(&mine, &peers->handle[peers->rank], sizeof(mine));
  if (h->sends)
    CUDATry(
      cudaMemcpyAsync(place.data(), h->place, place.size() * sizeof(int), cudaMemcpyDeviceToHost, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  for (int k = 0; k < ranks; k++) {
    const int               at    = exchange * ranks + k;
    const BAILevelsAddress *a     = &peers->address[k * (state->levels + 2) + exchange];
    char *const             there = static_cast<char *>(state->theirs[k].memory);

    if (k == peers->rank || (peers->first[at] == peers->last[at] && !peers->ghosts[at])) continue;
    for (BAIInt e = peers->first[at]; e < peers->last[at]; e++) {
      far.push_back(place[(size_t)e]);
      to[0].push_back(there + a->even + (size_t)(e - peers->first[at]) * size);
      to[1].push_back(there + a->odd + (size_t)(e - peers->first[at]) * size);
    }
    tell.push_back(reinterpret_cast<BAIFlag *>(there + a->flag));
    told.push_back(reinterpret_cast<BAIFlag *>(static_cast<char *>(state->mailbox.memory) + mine.flags) + at);
  }
  h->far = (int)far.size();
  BAITry(UploadAll(state, far, &h->far_place));
  for (int odd = 0; odd < 2; odd++) BAITry(UploadAll(state, to[odd], &h->to[odd]));
  BAITry(UploadAll(state, tell, &h->tell));
  BAITry(UploadAll(state, told, &h->told));
  BAITry(Zero(state, &h->exchanges));
  h->peers = (int)tell.size();
  return BAIStatusOf(BAI_OK);
}

static BAIStatus ConnectSums(BAILevelsState state, const BAILevelsPeers *peers)
{
  BAIFarSums            *far   = &state->sums;
  const size_t           ranks = (size_t)peers->ranks;
  std::vector<BAIReal *> to[2] = {std::vector<BAIReal *>(ranks), std::vector<BAIReal *>(ranks)};
  std::vector<BAIFlag *> tell(ranks);

  for (size_t k = 0; k < ranks; k++) {
    const BAILevelsAddress *a     = &peers->address[k * (size_t)(state->levels + 2) + (size_t)state->levels + 1];
    char *const             there = static_cast<char *>(state->theirs[k].memory);

    if ((int)k == peers->rank) continue;
    to[0][k] = reinterpret_cast<BAIReal *>(there + a->even);
    to[1][k] = reinterpret_cast<BAIReal *>(there + a->odd);
    tell[k]  = reinterpret_cast<BAIFlag *>(there + a->flag);
  }
  for (int odd = 0; odd < 2; odd++) BAITry(UploadAll(state, to[odd], &far->to[odd]));
  BAITry(UploadAll(state, tell, &far->tell));
  BAITry(Zero(state, &far->sums));
  far->stalled      = state->stalled;
  far->stalled_host = &state->s.pinned->result.stalled;
  far->rank         = peers->rank;
  far->ranks        = peers->ranks;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceConnect(BAILevelsState state, const BAILevelsPeers *peers)
{
  BAIScalar *ghosts;

  BAITry(Open(state, peers));
  BAITry(Zero(state, &state->arrived));
  BAITry(Zero(state, &state->stalled));
  if (!state->s.pinned) BAITry(BAIPinnedGet(&state->s.pinned));
  for (int e = 0; e <= state->levels; e++) BAITry(ConnectHalo(state, e, peers));
  BAITry(BAICUDAAllocate(&state->s, (size_t)state->vector.ghosts * sizeof(BAIScalar), &ghosts));
  state->between.x = ghosts;
  return ConnectSums(state, peers);
}

/* All ranks may do a solve together */
bool BAIDeviceSolves(BAILevelsState state)
{
  return state->sums.ranks > 1 && state->own.i && !state->negative;
}

/* This rank's mailbox stays until its levels are destroyed, as others may not have closed it yet */
BAIStatus BAIDeviceDisconnect(BAILevelsState state)
{
  CUDATry(cudaStreamSynchronize(state->s.stream));
  for (int k = 0; k < state->opened; k++) BAITry(BAISharedClose(BAI_BACKEND_CUDA, &state->theirs[k]));
  free(state->theirs);
  state->theirs = NULL;
  state->opened = 0;
  for (int l = 0; l < BAI_LEVELS_MOST; l++) state->level[l].halo.peers = 0;
  state->vector.peers = 0;
  state->sums.ranks   = 0;
  return BAIStatusOf(BAI_OK);
}

/* x of the rows that are sent goes to the mailboxes of other ranks, then its number to their flags. When all of theirs
   have come, x of ghosts is behind that of the rows. Thread blocks are few enough to run at the same time */
template <typename T>
static __global__ void ExchangeFar(BAIDeviceHalo h, const T *x, T *ghosts, const int *done, unsigned *arrived,
                                   int *stalled, int *stalled_host)
{
  if (done && *done) return;
  const BAIFlag   number = BAILoad(h.exchanges) + 1; /* not from L1, where an old one may be */
  const int       step = (int)(gridDim.x * blockDim.x), t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const long long cycles = BAI_PEER_SECONDS * 2000000000ll;
  const T *const  box    = static_cast<const T *>(h.box[number & 1]);
  __shared__ bool last;

  for (int k = t; k < h.far; k += step) BAIStoreFar(static_cast<T *>(h.to[number & 1][k]), x[h.far_place[k]]);
  BAIFenceFar();
  __syncthreads();
  if (!threadIdx.x) last = BAIArrive(arrived) == gridDim.x;
  __syncthreads();
  if (last) {
    if (!threadIdx.x) *arrived = 0;
    if (!threadIdx.x) BAIStore(h.exchanges, number);
    BAIFenceFar();
    for (int p = (int)threadIdx.x; p < h.peers; p += (int)blockDim.x) BAIStoreFarRelease(h.tell[p], number);
  }
  for (int p = (int)threadIdx.x; p < h.peers; p += (int)blockDim.x) {
    const BAIFlag *flag = h.told[p];

    BAISpin(
      stalled, stalled_host, [=] { return BAILoadFarAcquire(flag) >= number; }, cycles, BAI_ERR_ABSENT);
  }
  __syncthreads();
  for (int g = t; g < h.ghosts; g += step) ghosts[g] = BAILoadFar(box + g);
}

template <typename T>
static BAIStatus Directly(BAILevelsState state, const BAIDeviceHalo *h, const T *x, T *ghosts, const int *done)
{
  const int most = h->far > h->ghosts ? h->far : h->ghosts, blocks = (most + THREADS - 1) / THREADS;

  ExchangeFar<<<(unsigned)(blocks < 1               ? 1
                             : blocks < MOST_BLOCKS ? blocks
                                                    : MOST_BLOCKS),
                THREADS, 0, state->s.stream>>>(*h, x, ghosts, done, state->arrived, state->stalled,
                                               &state->s.pinned->result.stalled);
  CUDATry(cudaGetLastError());
  if (state->s.pinned->result.stalled) return BAIStatusOf(BAI_ERR_ABSENT);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceExchangeVector(BAILevelsState state, const BAIScalar *x, const int *done)
{
  if (!state->vector.peers) return BAIStatusOf(BAI_OK);
  return Directly(state, &state->vector, x, const_cast<BAIScalar *>(state->between.x), done);
}

/* Through the host: x of the rows that are sent goes there, and that of ghosts comes back */
template <typename T>
static BAIStatus ThroughHost(BAILevelsState state, int level, T *x)
{
  const BAIDeviceHalo *h      = &state->level[level].halo;
  cudaStream_t         stream = state->s.stream;

  if (h->sends) {
    Pick<<<BAIGrid(h->sends, THREADS), THREADS, 0, stream>>>(h->sends, h->place, x, static_cast<T *>(h->packed));
    CUDATry(cudaGetLastError());
    CUDATry(cudaMemcpyAsync(h->sent, h->packed, (size_t)h->sends * sizeof(T), cudaMemcpyDeviceToHost, stream));
    CUDATry(cudaStreamSynchronize(stream));
  }
  if (state->ranks.exchange(state->ranks.context, level, sizeof(T), h->sent, h->got)) return GivenUp();
  if (h->ghosts && x)
    CUDATry(cudaMemcpyAsync(x + state->level[level].A.n, h->got, (size_t)h->ghosts * sizeof(T), cudaMemcpyHostToDevice,
                            stream));
  return BAIStatusOf(BAI_OK);
}

template <typename T>
static BAIStatus Exchange(BAILevelsState state, int level, T *x, const int *done)
{
  const BAIDeviceLevel *L = &state->level[level];

  return L->halo.peers ? Directly(state, &L->halo, x, x + L->A.n, done) : ThroughHost(state, level, x);
}

/* A rank without rows of a level may have ghosts there, and room for them as x */
BAIStatus BAIDeviceExchange(BAILevelsState state, int level, void *x, const int *done)
{
  const BAIDeviceHalo *h = &state->level[level].halo;

  if (!h->sends && !h->ghosts) return BAIStatusOf(BAI_OK);
  return state->single ? Exchange(state, level, static_cast<BAISingle *>(x), done)
                       : Exchange(state, level, static_cast<BAIScalar *>(x), done);
}

/* b of all ranks by rows, in native precision: n of this rank by places, which begin at number first; then the others */
template <typename T>
static __global__ void ToRest(int n, int all, int first, const int *row, const T *b, BAIScalar *rest)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (p >= all) return;
  rest[p < n ? first + row[p] : p - n < first ? p - n : p] = BAIScalar(b[p]);
}

/* x on the rows of each aggregate of the level above. Levels are of A times scale, the caller's is of A */
template <typename T>
static __global__ void FromRest(int n, const int *row, const BAIScalar *rest, BAIReal scale, const int *child, T *above)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (p >= n) return;
  const T x = T(rest[row[p]] / scale);

  for (int k = child[p]; k < child[p + 1]; k++) above[k] += x;
}

template <typename T>
static BAIStatus Rest(BAILevelsState state, int level, const int *done)
{
  const BAIDeviceLevel *L = &state->level[level];
  const int             n = L->A.n, all = L->halo.all, first = (int)state->ranks.first;
  const size_t          bytes  = (size_t)all * sizeof(BAIScalar);
  cudaStream_t          stream = state->s.stream;
  T                    *b      = static_cast<T *>(L->b);
  BAIScalar            *to = state->rest[0], *from = state->rest[1];

  if (!n) return BAIStatusOf(BAI_OK);
  BAITry(BAIDeviceExchange(state, level, b, done));
  if (!state->staged) { /* the caller's are on the device as well */
    to   = state->ranks.b;
    from = state->ranks.x;
  }
  ToRest<<<BAIGrid(all, THREADS), THREADS, 0, stream>>>(n, all, first, L->row, b, to);
  CUDATry(cudaGetLastError());
  if (state->staged) {
    CUDATry(cudaMemcpyAsync(state->ranks.b, to, bytes, cudaMemcpyDeviceToHost, stream));
    CUDATry(cudaStreamSynchronize(stream));
  }
  if (state->ranks.rest(state->ranks.context)) return GivenUp();
  if (state->staged) CUDATry(cudaMemcpyAsync(from, state->ranks.x, bytes, cudaMemcpyHostToDevice, stream));
  FromRest<<<BAIGrid(n, THREADS), THREADS, 0, stream>>>(n, L->row, from + first, state->scale, L[-1].child,
                                                        static_cast<T *>(L[-1].x));
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceRest(BAILevelsState state, int level, const int *done)
{
  return state->single ? Rest<BAISingle>(state, level, done) : Rest<BAIScalar>(state, level, done);
}
