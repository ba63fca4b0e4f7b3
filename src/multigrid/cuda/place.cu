/*
   Levels by places on a device: renumbering that makes the rows of an aggregate consecutive, blocks, and the
   matrix in slices. The results are those of host/place.c
*/
#include "levels.h"
#include "../../common/cuda/scan_sort.h"
#include "../../common/cuda/warp.h"

enum {
  THREADS  = 256,
  INVERT   = 1024,
  LANES    = 16,  /* lanes that store a row together, by teams of */
  TEAMS    = 512, /* this number of threads of a block, if rows have on average more than */
  LONG_ROW = 24   /* this number of entries; otherwise a thread stores a row */
};

/* Sets size to the number of rows of each aggregate in the order of their places, for a prefix sum. of has the row of
   the next level at each place */
static __global__ void Sizes(int m, BAIMembers listed, const int *of, int columns, int *size)
{
  const int q = (int)(blockIdx.x * blockDim.x + threadIdx.x), c = q < m ? of[q * columns] / columns : 0;

  if (q <= m) size[q] = q < m ? listed.first[c + 1] - listed.first[c] : 0;
}

/* The row at a place, and the reverse; and unless parent is NULL, the place of its aggregate, or -1 */
static __device__ inline void SetPlace(int row, int place, int q, int *rows, int *places, int *parent)
{
  rows[place] = row;
  places[row] = place;
  if (parent) parent[place] = q;
}

/* Gives places to the rows of each aggregate, by a thread for each, to the rows in no aggregate, and to ghosts, which
   keep their numbers */
static __global__ void Places(int n, int m, int ghosts, BAIMembers listed, const int *of, int columns, const int *child,
                              int *row, int *place, int *parent)
{
  const int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (t < m) {
    const int c = of[t * columns] / columns, begin = listed.first[c], count = listed.first[c + 1] - begin;

    for (int k = 0; k < count; k++) SetPlace(listed.row[begin + k], child[t] + k, t, row, place, parent);
  }
  if (t < n && t >= listed.first[m]) SetPlace(listed.row[t], t, -1, row, place, parent);
  if (t < ghosts) place[n + t] = n + t;
}

/* Numbers rows from the last level to the first in the order of the places of their aggregates; rows in no aggregate
   come last */
BAIStatus BAIDeviceOrder(BAILevelsState state)
{
  for (int l = state->levels - 1; l >= 0; l--) {
    BAIDeviceLevel *L = &state->level[l];
    const int       n = L->A.n, all = n + L->A.ghosts;

    L->alone = n;
    if (!n) continue;
    BAITry(BAIKeep(state, (size_t)n, &L->row));
    BAITry(BAIKeep(state, (size_t)all, &L->place));
    if (!L->m) {
      BAIDropList(state, L);
      BAITry(BAINumber(state, n, 1, 0, NULL, L->row));
      BAITry(BAINumber(state, all, 1, 0, NULL, L->place));
      continue;
    }
    BAITry(BAIKeep(state, (size_t)L->m + 1, &L->child));
    if (L->P) BAITry(BAIKeep(state, (size_t)n, &L->parent));
    const int  columns = BAIColumnsOfP(state->p.modes);
    const dim3 grid = BAIGrid(L->m + 1, THREADS), all_rows = BAIGrid(all, THREADS);

    Sizes<<<grid, THREADS, 0, state->s.stream>>>(L->m, L->listed, L[1].row, columns, L->child);
    BAITry(BAIScan(&state->s, (long long)L->m + 1, L->child, L->child));
    Places<<<all_rows, THREADS, 0, state->s.stream>>>(n, L->m, L->A.ghosts, L->listed, L[1].row, columns, L->child,
                                                      L->row, L->place, L->parent);
    CUDATry(cudaGetLastError());
    BAIDropList(state, L);
  }
  return BAIStatusOf(BAI_OK);
}

/* Finds the begin of block k: the first aggregate that begins at place k*step or behind; behind the last aggregate,
   blocks of rows in no aggregate. Sets found to the number of blocks of aggregates, 0, and the number of rows in
   aggregates */
static __global__ void Cut(int n, int m, const int *child, int step, int most_blocks, int *first, int *aggregate,
                           int *found)
{
  const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x), end = m ? child[m] : 0;
  int       low = 0, high = m;

  if (k > most_blocks) return;
  int main = (end + step - 1) / step; /* blocks of aggregates, of which the last may be empty */

  if (main && child[m - 1] < (long long)(main - 1) * step) main--;

  if (k < main) {
    while (low < high) {
      const int middle = (low + high) / 2;

      if (child[middle] < (long long)k * step) low = middle + 1;
      else high = middle;
    }
    first[k]     = child[low];
    aggregate[k] = low;
  } else {
    const long long at = (long long)end + (long long)(k - main) * BAI_LEVELS_BLOCK;

    first[k]     = at < n ? (int)at : n;
    aggregate[k] = m;
  }
  if (k == 0) {
    found[0] = main;
    found[1] = 0;
    found[2] = end;
  }
}

/* Raises found[1] to the largest number of rows of a block, by a thread for each block */
static __global__ void Largest(int blocks, const int *first, int *found)
{
  const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (k < blocks) atomicMax(&found[1], first[k + 1] - first[k]);
}

BAIStatus BAIDeviceCutBlocks(BAILevelsState state, BAIDeviceLevel *L)
{
  BAIRoom room;
  int    *device, found[3];

  BAITry(room.Get(state, 3, &device));
  for (int step = BAI_LEVELS_BLOCK;; step = BAI_LEVELS_BLOCK - L->most + 1) {
    const int    most     = L->A.n / step + 4; /* blocks of aggregates, and of rows in no aggregate */
    const size_t room_for = (size_t)most + 1;

    BAITry(BAIKeep(state, room_for, &L->first));
    BAITry(BAIKeep(state, room_for, &L->block_aggregate));
    Cut<<<BAIGrid(most + 1, THREADS), THREADS, 0, state->s.stream>>>(L->A.n, L->m, L->child, step, most, L->first,
                                                                     L->block_aggregate, device);
    Largest<<<BAIGrid(most, THREADS), THREADS, 0, state->s.stream>>>(most, L->first, device);
    CUDATry(cudaGetLastError());
    CUDATry(cudaMemcpyAsync(found, device, sizeof(found), cudaMemcpyDeviceToHost, state->s.stream));
    CUDATry(cudaStreamSynchronize(state->s.stream));
    if (found[1] <= BAI_LEVELS_BLOCK || step < BAI_LEVELS_BLOCK) break;
    BAIDrop(state, room_for, &L->first);
    BAIDrop(state, room_for, &L->block_aggregate);
  }
  L->alone  = L->A.n - found[2];
  L->blocks = found[0] + (L->alone + BAI_LEVELS_BLOCK - 1) / BAI_LEVELS_BLOCK;
  return BAIStatusOf(BAI_OK);
}

struct Fill {
  BAIRows          A;
  const int       *row, *place, *first, *slice, *out_first;
  unsigned short  *in_j;
  int             *out_j;
  void            *in_a, *out_a, *d, *dinv, *extra;
  BAIReal          scale;
  int              modes; /* 0: P is not kept */
  const BAIScalar *P;
  void            *p;
};

/* The place of this thread's row, or -1, and the places of its block; a thread block for each block */
static __device__ inline int PlaceOf(const Fill &f, int *first, int *last)
{
  *first = f.first[blockIdx.x];
  *last  = f.first[blockIdx.x + 1];
  return *first + (int)threadIdx.x < *last ? *first + (int)threadIdx.x : -1;
}

/* Sets slice to the pairs of the widest row of each slice inside blocks, and out to the entries outside of the row at
   each place; adds all entries inside to inside, and raises widest to those of the widest row */
static __global__ __launch_bounds__(BAI_LEVELS_BLOCK) void Count(Fill f, int *slice, int *out,
                                                                 unsigned long long *inside, int *widest)
{
  int       first, last;
  const int p  = PlaceOf(f, &first, &last);
  int       in = 0, outside = 0;

  if (p >= 0) {
    const int row = f.row[p];

    for (int k = f.A.i[row]; k < f.A.i[row + 1]; k++) {
      const int q = f.place[f.A.j[k]];

      if (q == p) continue;
      if (q >= first && q < last) in++;
      else outside++;
    }
    out[p] = outside;
  }
  const int all  = __reduce_add_sync(~0u, in);
  const int most = __reduce_max_sync(~0u, in);

  if (threadIdx.x % BAI_TEAM) return;
  slice[blockIdx.x * BAI_TEAMS + threadIdx.x / BAI_TEAM] = (most + 1) / 2;
  atomicAdd(inside, (unsigned long long)all);
  if (most > *(volatile int *)widest) atomicMax(widest, most);
}

/* The entries of a row that are stored so far: inside the block, and outside; the sums of the magnitudes of entries
   besides the diagonal and of those inside; and the diagonal entry */
struct Stored {
  int       in, out;
  BAIReal   sum, inside;
  BAIScalar diagonal;
};

/* Where a row's entries inside its block are stored: the place of the first one, of which the second of a pair is the
   next one; and the number of entries that the slice has room for */
struct Slot {
  long long to;
  int       width;
};

static __device__ inline Slot SlotOf(const Fill &f, int row)
{
  const int at = (int)blockIdx.x * BAI_TEAMS + row / BAI_TEAM, begin = f.slice[at];

  return {((long long)begin * BAI_TEAM + row % BAI_TEAM) * 2, 2 * (f.slice[at + 1] - begin)};
}

/* Stores entry number count of a row inside its block */
template <typename T>
static __device__ inline void StoreInside(const Fill &f, const Slot &slot, int count, int place, T a)
{
  const long long to = slot.to + count / 2 * 2 * BAI_TEAM + count % 2;

  reinterpret_cast<unsigned char *>(f.in_j)[to] = (unsigned char)place;
  static_cast<T *>(f.in_a)[to]                  = a;
}

/* Stores entries of the row at place p, one in each lane of a team, which the lanes of a warp do together unless a team
   is a single lane, behind those that are stored: inside the block from place first to last - 1, or outside. Sums are
   in the order of the entries */
template <typename T, int LANES>
static __device__ inline void StoreEntries(const Fill &f, const Slot &slot, int p, int first, int last, bool is, int q,
                                           BAIScalar a, Stored *s)
{
  const bool diagonal = is && q == p, near = is && !diagonal && q >= first && q < last, far = is && !diagonal && !near;
  const int  base       = (int)threadIdx.x % BAI_LANES / LANES * LANES;
  const unsigned team   = LANES == BAI_LANES ? ~0u : ((1u << LANES % BAI_LANES) - 1) << base,
                 before = ((1u << threadIdx.x % BAI_LANES) - 1) & team;
  const unsigned nears  = LANES == 1 ? (unsigned)near << base : __ballot_sync(~0u, near),
                 fars   = LANES == 1 ? (unsigned)far << base : __ballot_sync(~0u, far);
  const BAIReal   size  = near || far ? BAIAggregateMagnitude(a) : 0;
  const BAIScalar d     = diagonal ? a : BAIScalar(0);

  if (near) StoreInside<T>(f, slot, s->in + __popc(nears & before), q - first, T(a * f.scale));
  if (far) {
    const int at = s->out + __popc(fars & before);

    f.out_j[at]                   = q;
    static_cast<T *>(f.out_a)[at] = T(a * f.scale);
  }
  s->in += __popc(nears & team);
  s->out += __popc(fars & team);
#pragma unroll
  for (int l = 0; l < LANES; l++) {
    const BAIReal one = LANES == 1 ? size : __shfl_sync(~0u, size, l, LANES);

    s->sum += one;
    s->inside += nears >> (base + l) & 1 ? one : 0;
    s->diagonal += LANES == 1 ? d : BAIOfLane(d, base + l);
  }
}

/* Stores the rows of a level by places: entries inside the block in slices, entries outside row by row, and the data of
   the local sweeps; a team of lanes for each row, one after the other. Sets needs_extra if something is added to a
   diagonal entry */
template <typename T, int LANES>
static __global__ __launch_bounds__(LANES == 1 ? (int)BAI_LEVELS_BLOCK : (int)TEAMS) void FillLevel(Fill f,
                                                                                                    int *needs_extra)
{
  const int first = f.first[blockIdx.x], last = f.first[blockIdx.x + 1], lane = (int)threadIdx.x % LANES;

  for (int l = (int)threadIdx.x / LANES; l < BAI_LEVELS_BLOCK; l += (int)blockDim.x / LANES) {
    const bool is = first + l < last;
    const int  p = is ? first + l : -1, row = is ? f.row[p] : 0, end = is ? f.A.i[row + 1] : 0;
    const Slot slot = SlotOf(f, l);
    Stored     s    = {0, is ? f.out_first[p] : 0, 0, 0, 0};

    for (int k = is ? f.A.i[row] : 0; LANES == 1 ? k < end : __any_sync(~0u, k < end); k += LANES) {
      const bool has = k + lane < end;

      StoreEntries<T, LANES>(f, slot, p, first, last, has, has ? f.place[f.A.j[k + lane]] : 0,
                             has ? f.A.a[k + lane] : BAIScalar(0), &s);
    }
    for (int k = s.in + lane; k < slot.width; k += LANES) StoreInside<T>(f, slot, k, l, T(0));
    if (!is || lane) continue;
    BAIReal       inverse;
    const BAIReal extra = BAISweepsOfRow(s.diagonal, s.sum, s.inside, f.scale, &inverse);

    static_cast<T *>(f.d)[p]     = T(s.diagonal * f.scale);
    static_cast<T *>(f.dinv)[p]  = T(BAIScalar(inverse));
    static_cast<T *>(f.extra)[p] = T(BAIScalar(extra * f.scale));
    if (extra != 0) *needs_extra = 1;
    for (int k = 0; k < f.modes; k++)
      static_cast<T *>(f.p)[(long long)p * f.modes + k] = T(f.P[(long long)row * f.modes + k]);
  }
}

/* Finds the slices of a level, and allocates it by places */
static BAIStatus MakeSlices(BAILevelsState state, BAIDeviceLevel *L, Fill f)
{
  const size_t n = (size_t)L->A.n, all = n + (size_t)L->A.ghosts, slices = (size_t)L->blocks * BAI_TEAMS,
               size   = BAISizeOfNumbers(state);
  cudaStream_t stream = state->s.stream;
  BAIRoom      rooms[2];
  int         *slice, ends[2];

  unsigned long long *inside, in[2];

  BAITry(rooms[0].Get(state, slices + 1 + n + 1, &slice));
  BAITry(rooms[1].Get(state, 2, &inside));
  int *const out = slice + slices + 1;

  BAITry(BAIKeep(state, slices + 1, &L->slice));
  BAITry(BAIKeep(state, n + 1, &L->out_first));
  CUDATry(cudaMemsetAsync(slice + slices, 0, sizeof(int), stream));
  CUDATry(cudaMemsetAsync(out + n, 0, sizeof(int), stream));
  CUDATry(cudaMemsetAsync(inside, 0, 2 * sizeof(*inside), stream));
  Count<<<(unsigned)L->blocks, BAI_LEVELS_BLOCK, 0, stream>>>(f, slice, out, inside, (int *)(inside + 1));
  BAITry(BAIScan(&state->s, (long long)slices + 1, slice, L->slice));
  BAITry(BAIScan(&state->s, (long long)n + 1, out, L->out_first));
  CUDATry(cudaMemcpyAsync(&ends[0], L->slice + slices, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaMemcpyAsync(&ends[1], L->out_first + n, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaMemcpyAsync(in, inside, sizeof(in), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaStreamSynchronize(stream));
  L->columns = ends[0];
  L->outside = ends[1];
  L->inside  = (long long)in[0];
  L->few     = in[1] <= 6; /* as cycle.cu keeps them */
  L->pairs   = (long long)slices * (long long)((in[1] + 1) / 2) == L->columns ? (int)((in[1] + 1) / 2) : 0;
  BAITry(BAIKeep(state, (size_t)L->columns * BAI_TEAM, &L->in_j));
  BAITry(BAIKeep(state, (size_t)L->outside, &L->out_j));
  const struct {
    void **array;
    size_t count; /* in numbers of the cycle */
  } arrays[] = {
    {&L->in_a,  (size_t)L->columns * BAI_TEAM * 2},
    {&L->out_a, (size_t)L->outside               },
    {&L->d,     n                                },
    {&L->dinv,  n                                },
    {&L->e,     n                                },
    {&L->b,     n                                },
    {&L->x,     all                              },
    {&L->y,     all                              }
  };

  for (const auto &array : arrays) BAITry(BAICUDAAllocate(&state->s, array.count * size, array.array));
  if (L->P) BAITry(BAICUDAAllocate(&state->s, n * (size_t)state->p.modes * size, &L->p));
  return BAIStatusOf(BAI_OK);
}

/* The arguments of FillLevel() for a level */
static Fill FillOf(BAILevelsState state, const BAIDeviceLevel *L)
{
  return {L->A,         L->row,  L->place, L->first,     L->slice,
          L->out_first, L->in_j, L->out_j, L->in_a,      L->out_a,
          L->d,         L->dinv, L->e,     state->scale, L->P ? state->p.modes : 0,
          L->P,         L->p};
}

BAIStatus BAIPlaceLevel(BAILevelsState state, BAIDeviceLevel *L, bool values_only)
{
  const size_t n = (size_t)L->A.n, size = BAISizeOfNumbers(state);
  cudaStream_t stream = state->s.stream;

  if (!L->m && BAIIsExact(&state->p, L->A.n)) {
    if (values_only) return BAIStatusOf(BAI_OK);
    BAITry(BAICUDAAllocate(&state->s, n * size, &L->b));
    return BAICUDAAllocate(&state->s, n * size, &L->x);
  }
  if (!values_only) BAITry(MakeSlices(state, L, FillOf(state, L)));
  const Fill f     = FillOf(state, L);
  int *const needs = state->needs + (L - state->level);

  const bool is_long = L->A.nnz > (int64_t)LONG_ROW * L->A.n;
  const auto fill    = state->single ? is_long ? FillLevel<BAISingle, LANES> : FillLevel<BAISingle, 1>
       : is_long ? FillLevel<BAIScalar, LANES>
                                     : FillLevel<BAIScalar, 1>;

  fill<<<(unsigned)L->blocks, is_long ? (int)TEAMS : (int)BAI_LEVELS_BLOCK, 0, stream>>>(f, needs);
  CUDATry(cudaGetLastError());
  if (!state->p.like) return BAIStatusOf(BAI_OK);
  const BAIDeviceLevel *like = BAILevelsStateOf(state->p.like)->level + (L - state->level);

  CUDATry(cudaMemcpyAsync(L->e, like->e, n * size, cudaMemcpyDeviceToDevice, stream));
  CUDATry(cudaMemcpyAsync(L->dinv, like->dinv, n * size, cudaMemcpyDeviceToDevice, stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAINeedsBegin(BAILevelsState state)
{
  if (!state->needs) BAITry(BAIKeep(state, (size_t)BAI_LEVELS_MOST, &state->needs));
  CUDATry(cudaMemsetAsync(state->needs, 0, BAI_LEVELS_MOST * sizeof(*state->needs), state->s.stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAINeedsEnd(BAILevelsState state)
{
  const BAIDeviceLevel *like = state->p.like ? BAILevelsStateOf(state->p.like)->level : NULL;
  int                   needs[BAI_LEVELS_MOST];

  BAITry(BAIDownload(&state->s, BAI_LEVELS_MOST, state->needs, needs));
  for (int l = 0; l < state->levels; l++) state->level[l].extra = like ? like[l].extra : needs[l] != 0;
  return BAIStatusOf(BAI_OK);
}

/* Stores (scale A)^-1 by rows, by Gauss-Jordan elimination like host/place.c; an unknown with a negligible pivot gets
   zeros. One thread block, whose warps share rows. room: memory for m*m numbers, or NULL if shared memory suffices */
static __global__ __launch_bounds__(INVERT) void Invert(BAIRows A, BAIScalar *room, BAIReal scale, bool single,
                                                        void *inverse)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ BAIReal                            d[BAI_LEVELS_COARSEST];
  __shared__ BAIScalar                          column[BAI_LEVELS_COARSEST], line[BAI_LEVELS_COARSEST];
  const int  t = (int)threadIdx.x, m = A.n, lane = t % BAI_LANES, warp = t / BAI_LANES;
  BAIScalar *a = room ? room : reinterpret_cast<BAIScalar *>(shared);

  for (int at = t; at < m * m; at += INVERT) a[at] = 0;
  __syncthreads();
  for (int k = t < m ? A.i[t] : 0; t < m && k < A.i[t + 1]; k++) a[t * m + A.j[k]] += A.a[k];
  if (t < m) d[t] = BAIAggregateMagnitude(a[t * m + t]);
  __syncthreads();
  for (int k = 0; k < m; k++) {
    const bool      none  = !(BAIAggregateMagnitude(a[k * m + k]) > BAI_LEVELS_PIVOT * d[k]);
    const BAIScalar pivot = none ? BAIScalar(0) : BAIScalar(1) / a[k * m + k];

    if (t < m) {
      column[t] = a[t * m + k];
      line[t]   = a[k * m + t] * pivot;
    }
    __syncthreads();
    for (int i = warp; i < m; i += INVERT / BAI_LANES) {
      for (int j = lane; j < m; j += BAI_LANES) {
        BAIScalar *e = a + i * m + j;

        *e = i == k ? (j == k ? pivot : line[j]) : j == k ? -column[i] * pivot : *e - column[i] * line[j];
      }
    }
    __syncthreads();
  }
  for (int at = t; at < m * m; at += INVERT) {
    if (single) static_cast<BAISingle *>(inverse)[at] = BAISingle(a[at] / scale);
    else static_cast<BAIScalar *>(inverse)[at] = a[at] / scale;
  }
}

BAIStatus BAIInvertLast(BAILevelsState state)
{
  const BAIDeviceLevel *L = BAIDeviceLast(state);
  const size_t          m = (size_t)L->A.n, bytes = m * m * sizeof(BAIScalar);
  BAIRoom               room;
  BAIScalar            *a = NULL;

  if (!BAIIsExact(&state->p, L->A.n)) return BAIStatusOf(BAI_OK);
  if (!state->inverse) BAITry(BAICUDAAllocate(&state->s, m * m * BAISizeOfNumbers(state), &state->inverse));
  if (cudaFuncSetAttribute(Invert, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes) != cudaSuccess) {
    (void)cudaGetLastError();
    BAITry(room.Get(state, m * m, &a));
  }
  Invert<<<1, INVERT, a ? 0 : bytes, state->s.stream>>>(L->A, a, state->scale, state->single != 0, state->inverse);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
