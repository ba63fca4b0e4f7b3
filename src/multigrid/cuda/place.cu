/*
   Levels by places on a device: renumbering that makes the rows of an aggregate consecutive, blocks, and the
   matrix in slices. The results are those of host/place.c
*/
#include "levels.h"
#include "../../common/cuda/scan_sort.h"

enum {
  THREADS = 256,
  INVERT  = 1024
};

/* Inverts the numbering by aggregates: place[row[p]] = p. Ghosts keep their numbers */
static __global__ void Places(int n, int ghosts, const int *row, int *place)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (p < n) place[row[p]] = p;
  else if (p < n + ghosts) place[p] = p;
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
      BAITry(BAINumber(state, n, 1, 0, NULL, L->row));
      BAITry(BAINumber(state, all, 1, 0, NULL, L->place));
      continue;
    }
    BAITry(BAIKeep(state, (size_t)L->m + 1, &L->child));
    if (L->P) BAITry(BAIKeep(state, (size_t)n, &L->parent));
    BAITry(BAIListAggregates(state, L, L[1].place, L->child, (unsigned *)L->row, L->parent));
    Places<<<BAIGrid(all, THREADS), THREADS, 0, state->s.stream>>>(n, L->A.ghosts, L->row, L->place);
    CUDATry(cudaGetLastError());
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
  atomicMax(widest, most);
}

/* Stores the rows of a level by places, a thread each: entries inside the block in slices, entries outside row by row,
   and the data of the local sweeps. Sets needs_extra if something is added to a diagonal entry */
template <typename T>
static __global__ __launch_bounds__(BAI_LEVELS_BLOCK) void FillLevel(Fill f, int *needs_extra)
{
  int       first, last;
  const int p = PlaceOf(f, &first, &last), at = (int)blockIdx.x * BAI_TEAMS + (int)(threadIdx.x / BAI_TEAM);
  const int begin = f.slice[at], width = 2 * (f.slice[at + 1] - begin);
  long long to = ((long long)begin * BAI_TEAM + threadIdx.x % BAI_TEAM) * 2; /* the second of a pair is the next one */
  T        *in_a = static_cast<T *>(f.in_a), *out_a = static_cast<T *>(f.out_a);
  unsigned char *in_j = reinterpret_cast<unsigned char *>(f.in_j);
  BAIReal        sum = 0, in = 0;
  BAIScalar      diagonal = 0;
  int            count    = 0;

  if (p >= 0) {
    const int row = f.row[p];
    int       out = f.out_first[p];

    for (int k = f.A.i[row]; k < f.A.i[row + 1]; k++) {
      const int       q = f.place[f.A.j[k]];
      const BAIScalar a = f.A.a[k];

      if (q == p) {
        diagonal += a;
        continue;
      }
      sum += BAIAggregateMagnitude(a);
      if (q >= first && q < last) {
        in_j[to + count / 2 * 2 * BAI_TEAM + count % 2] = (unsigned char)(q - first);
        in_a[to + count / 2 * 2 * BAI_TEAM + count % 2] = T(a * f.scale);
        in += BAIAggregateMagnitude(a);
        count++;
      } else {
        f.out_j[out] = q;
        out_a[out++] = T(a * f.scale);
      }
    }
    BAIReal       inverse;
    const BAIReal extra = BAISweepsOfRow(diagonal, sum, in, f.scale, &inverse);

    static_cast<T *>(f.d)[p]     = T(diagonal * f.scale);
    static_cast<T *>(f.dinv)[p]  = T(BAIScalar(inverse));
    static_cast<T *>(f.extra)[p] = T(BAIScalar(extra * f.scale));
    if (extra != 0) *needs_extra = 1;
    for (int k = 0; k < f.modes; k++)
      static_cast<T *>(f.p)[(long long)p * f.modes + k] = T(f.P[(long long)row * f.modes + k]);
  }
  for (; count < width; count++) {
    in_j[to + count / 2 * 2 * BAI_TEAM + count % 2] = (unsigned char)threadIdx.x;
    in_a[to + count / 2 * 2 * BAI_TEAM + count % 2] = T(0);
  }
}

/* Finds the slices of a level, and allocates it by places */
static BAIStatus MakeSlices(BAILevelsState state, BAIDeviceLevel *L, Fill f)
{
  const size_t n = (size_t)L->A.n, all = n + (size_t)L->A.ghosts, slices = (size_t)L->blocks * BAI_TEAMS,
               size   = BAISizeOfNumbers(state);
  cudaStream_t stream = state->s.stream;
  BAIRoom      rooms[3];
  int         *slice, *out, ends[2];

  unsigned long long *inside, in[2];

  BAITry(rooms[0].Get(state, slices + 1, &slice));
  BAITry(rooms[1].Get(state, n + 1, &out));
  BAITry(rooms[2].Get(state, 2, &inside));
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
  BAIRoom      room;
  int         *needs, found = 0;

  if (!L->m && BAIIsExact(&state->p, L->A.n)) {
    if (values_only) return BAIStatusOf(BAI_OK);
    BAITry(BAICUDAAllocate(&state->s, n * size, &L->b));
    return BAICUDAAllocate(&state->s, n * size, &L->x);
  }
  if (!values_only) BAITry(MakeSlices(state, L, FillOf(state, L)));
  const Fill f = FillOf(state, L);

  BAITry(room.Get(state, 1, &needs));
  CUDATry(cudaMemsetAsync(needs, 0, sizeof(int), stream));
  if (state->single) FillLevel<BAISingle><<<(unsigned)L->blocks, BAI_LEVELS_BLOCK, 0, stream>>>(f, needs);
  else FillLevel<BAIScalar><<<(unsigned)L->blocks, BAI_LEVELS_BLOCK, 0, stream>>>(f, needs);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpyAsync(&found, needs, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaStreamSynchronize(stream));
  L->extra = found;
  if (!state->p.like) return BAIStatusOf(BAI_OK);
  const BAIDeviceLevel *like = BAILevelsStateOf(state->p.like)->level + (L - state->level);

  L->extra = like->extra;
  CUDATry(cudaMemcpyAsync(L->e, like->e, n * size, cudaMemcpyDeviceToDevice, stream));
  CUDATry(cudaMemcpyAsync(L->dinv, like->dinv, n * size, cudaMemcpyDeviceToDevice, stream));
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
