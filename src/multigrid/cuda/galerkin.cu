/*
   Matrices of many levels on a device: P^H A P by sorting, the matrix of a level by places, the inverse of the last one
*/
#include "levels.h"
#include "../../common/cuda/scan_sort.h"
#include <float.h>

enum {
  THREADS = 256,
  INVERT  = 1024,
  LANES   = 8
};

/* The row of each entry: a few lanes a row */
static __global__ void OfRow(BAIDeviceRows A, int *of_row)
{
  const int row = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / LANES);

  if (row >= A.n) return;
  for (int k = A.i[row] + (int)(threadIdx.x % LANES); k < A.i[row + 1]; k += LANES) of_row[k] = row;
}

BAIStatus BAIOfRow(BAILevelsState state, const BAIDeviceRows *A, int **of_row)
{
  BAITry(BAICUDAAllocate(&state->s, (size_t)A->nnz * sizeof(int), of_row));
  OfRow<<<BAIGrid((long long)A->n * LANES, THREADS), THREADS, 0, state->s.stream>>>(*A, *of_row);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* To which entry of the coarse matrix an entry belongs: row*columns + column, or m*columns. ghost: the aggregates of
 * ghosts, NULL: they are in none */
static __global__ void Keys(BAIDeviceRows A, const int *of_row, int m, int columns, const int *aggregate,
                            const int *ghost, unsigned long long *key, unsigned *entry)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k >= A.nnz) return;
  const int row = aggregate[of_row[k]], j = A.j[k], col = j < A.n ? aggregate[j] : ghost ? ghost[j - A.n] : -1;

  key[k]   = row < 0 || col < 0 ? (unsigned long long)m * (unsigned long long)columns
                                : (unsigned long long)row * (unsigned long long)columns + (unsigned long long)col;
  entry[k] = (unsigned)k;
}

static __global__ void Heads(long long nnz, unsigned long long none, const unsigned long long *key, int *head)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k <= nnz) head[k] = k < nnz && key[k] != none && (!k || key[k] != key[k - 1]);
}

/* number[k] entries of the coarse matrix begin before sorted entry k; those that belong to none come last */
static __global__ void CoarsePattern(long long nnz, int m, int columns, unsigned long long none,
                                     const unsigned long long *key, const int *number, int *first, int *i, int *j,
                                     int *of_row)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k >= nnz) return;
  const int total = number[nnz];

  if (k == 0) i[m] = total;
  if (key[k] == none) {
    if (k == 0) first[0] = 0;
    return;
  }
  if (k + 1 == nnz || key[k + 1] == none) first[total] = (int)k + 1;
  if (k && key[k] == key[k - 1]) return;
  const int at = number[k], row = (int)(key[k] / (unsigned long long)columns);

  first[at]  = (int)k;
  j[at]      = (int)(key[k] % (unsigned long long)columns);
  of_row[at] = row;
  if (!k || (int)(key[k - 1] / (unsigned long long)columns) != row) i[row] = at;
}

/* Sums, in the order of the rows and entries of A; and what softens them, if that is asked for. member: the number of
 * each ghost in its aggregate */
static __global__ void Sums(BAIDeviceRows A, const int *a_of_row, BAIDeviceRows C, const int *c_of_row,
                            const unsigned *entry, const int *first, bool magnitudes, const int *member,
                            BAIScalar *values, BAISides sides)
{
  const long long c = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (c >= C.nnz) return;
  const bool diagonal = c_of_row[c] == C.j[c], of_ghost = C.j[c] >= C.n;
  BAIScalar  sum       = 0;
  BAIReal    magnitude = 0;
  uint32_t   seen      = 0; /* the ghosts that rows are coupled to */
  int        rows = 0, inside = 0, last = -1;

  for (int k = first[c]; k < first[c + 1]; k++) {
    const unsigned  e   = entry[k];
    const int       row = a_of_row[e];
    const BAIScalar a   = A.a[e];

    sum += magnitudes ? BAIScalar(BAIAggregateMagnitude(a)) : a;
    rows += row != last;
    last = row;
    if (of_ghost && sides.touch) seen |= UINT32_C(1) << member[A.j[e] - A.n];
    if (!diagonal || A.j[e] == row) continue;
    magnitude += BAIAggregateMagnitude(a);
    inside++;
  }
  values[c] = sum;
  if (!sides.touch) return;
  sides.touch[c] = rows;
  if (of_ghost) sides.back[c] = __popc(seen);
  if (diagonal) sides.inner[C.j[c]] = inside ? magnitude / (BAIReal)inside : 0;
}

static __global__ void CountRows(int n, const int *aggregate, int *rows)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < n && aggregate[i] >= 0) atomicAdd(&rows[aggregate[i]], 1);
}

/* Softens the couplings of a row of C, see BAISoftened(); the real part of the sum of a row is BAISoftenedSum(), as the
 * diagonal of a Hermitian matrix is real. A thread a row */
static __global__ void Soften(BAIDeviceRows C, const int *first, BAISides sides, const BAILevelsSide *ghost,
                              BAIReal over, BAIScalar *values)
{
  const int c        = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  int       diagonal = -1;
  BAIReal   gain = 0, sum = 0;

  if (c >= C.n) return;
  for (int k = C.i[c]; k < C.i[c + 1]; k++) {
    const int        other = C.j[k];
    const BAIScalar  value = values[k];
    BAIAggregateSide two;

    sum += BAIRealPart(value);
    if (other == c) diagonal = k;
    if (other == c) continue;
    if (other >= C.n) two = {(BAIInt)ghost[other - C.n].rows, sides.back[k], ghost[other - C.n].inner};
    else {
      int back = 0;

      for (int low = C.i[other], high = C.i[other + 1]; low < high;) {
        const int middle = low + (high - low) / 2;

        if (C.j[middle] == c) back = sides.touch[middle];
        if (C.j[middle] < c) low = middle + 1;
        else high = middle;
      }
      two = {sides.rows[other], back, sides.inner[other]};
    }
    const BAIAggregateSide one  = {sides.rows[c], sides.touch[k], sides.inner[c]};
    const BAIScalar        soft = BAISoftened(value, first[k + 1] - first[k], one, two, over);

    gain += BAIRealPart(value - soft);
    values[k] = soft;
  }
  if (diagonal >= 0) values[diagonal] += gain + BAISoftenedSum(sum, over) - sum;
}

/* Sums, and what softens them: see BAISides */
static BAIStatus SumUpWithSides(BAILevelsState state, const BAIDeviceRows *A, const int *of_row, const int *aggregate,
                                const int *member, const BAIGather *gather, const BAIDeviceRows *C, const int *c_of_row,
                                BAISides sides, BAIScalar *values)
{
  const size_t m      = (size_t)C->n;
  cudaStream_t stream = state->s.stream;

  CUDATry(cudaMemsetAsync(sides.rows, 0, m * sizeof(int), stream));
  CUDATry(cudaMemsetAsync(sides.inner, 0, m * sizeof(BAIReal), stream));
  CountRows<<<BAIGrid(A->n, THREADS), THREADS, 0, stream>>>(A->n, aggregate, sides.rows);
  Sums<<<BAIGrid(C->nnz, THREADS), THREADS, 0, stream>>>(*A, of_row, *C, c_of_row, gather->entry, gather->first, false,
                                                         member, values, sides);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAISoftenOfRank(BAILevelsState state, const BAIDeviceRows *C, const BAISides *sides, const BAIGather *gather,
                          const BAILevelsSide *side, BAIReal over, BAIScalar *values)
{
  Soften<<<BAIGrid(C->n, THREADS), THREADS, 0, state->s.stream>>>(*C, gather->first, *sides, side, over, values);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

static BAIStatus SumUp(BAILevelsState state, const BAIDeviceRows *A, const int *of_row, int m, const int *aggregate,
                       BAIReal over, const BAIGather *gather, const BAIDeviceRows *C, const int *c_of_row,
                       BAIScalar *values)
{
  BAITemporary rooms[3];
  BAISides     sides = {};

  if (over == 1 || over == 0) {
    Sums<<<BAIGrid(C->nnz, THREADS), THREADS, 0, state->s.stream>>>(*A, of_row, *C, c_of_row, gather->entry,
                                                                    gather->first, over == 0, NULL, values, sides);
    CUDATry(cudaGetLastError());
    return BAIStatusOf(BAI_OK);
  }
  BAITry(rooms[0].Allocate(&state->s, (size_t)C->nnz * sizeof(int)));
  BAITry(rooms[1].Allocate(&state->s, (size_t)m * sizeof(int)));
  BAITry(rooms[2].Allocate(&state->s, (size_t)m * sizeof(BAIReal)));
  sides.touch = static_cast<int *>(rooms[0].p);
  sides.rows  = static_cast<int *>(rooms[1].p);
  sides.inner = static_cast<BAIReal *>(rooms[2].p);
  BAITry(SumUpWithSides(state, A, of_row, aggregate, NULL, gather, C, c_of_row, sides, values));
  return BAISoftenOfRank(state, C, &sides, gather, NULL, over, values);
}

BAIStatus BAIGalerkinPattern(BAILevelsState state, const BAIDeviceRows *A, const int *of_row, int m,
                             const int *aggregate, int ghosts, const int *ghost, BAIGather *gather, BAIDeviceRows *C,
                             int **c_of_row)
{
  const int                columns = m + ghosts;
  const unsigned long long none    = (unsigned long long)m * (unsigned long long)columns;
  const dim3               grid    = BAIGrid(A->nnz, THREADS);
  const size_t             nnz     = (size_t)A->nnz;
  cudaStream_t             stream  = state->s.stream;
  int                      bits    = 1, total, *i, *j;
  unsigned long long      *key, *sorted;
  BAITemporary             sorted_room;

  while (bits < 64 && none >> bits) bits++;
  BAITry(sorted_room.Allocate(&state->s, nnz * sizeof(*sorted)));
  sorted = static_cast<unsigned long long *>(sorted_room.p);
  BAITry(BAICUDAAllocate(&state->s, nnz * sizeof(unsigned), &gather->entry));
  {
    BAITemporary rooms[2];

    BAITry(rooms[0].Allocate(&state->s, nnz * sizeof(*key)));
    BAITry(rooms[1].Allocate(&state->s, nnz * sizeof(unsigned)));
    key             = static_cast<unsigned long long *>(rooms[0].p);
    unsigned *entry = static_cast<unsigned *>(rooms[1].p);

    Keys<<<grid, THREADS, 0, stream>>>(*A, of_row, m, columns, aggregate, ghost, key, entry);
    BAITry(BAISortPairs(&state->s, A->nnz, bits, key, sorted, entry, gather->entry));
  }
  BAITemporary numbers;
  int         *number;

  BAITry(numbers.Allocate(&state->s, (nnz + 1) * sizeof(int)));
  number = static_cast<int *>(numbers.p);
  Heads<<<BAIGrid(A->nnz + 1, THREADS), THREADS, 0, stream>>>(A->nnz, none, sorted, number);
  BAITry(BAIScan(&state->s, A->nnz + 1, number, number));
  CUDATry(cudaMemcpyAsync(&total, number + nnz, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDATry(cudaStreamSynchronize(stream));
  BAITry(BAICUDAAllocate(&state->s, ((size_t)total + 1) * sizeof(int), &gather->first));
  BAITry(BAICUDAAllocate(&state->s, ((size_t)m + 1) * sizeof(int), &i));
  BAITry(BAICUDAAllocate(&state->s, (size_t)total * sizeof(int), &j));
  BAITry(BAICUDAAllocate(&state->s, (size_t)total * sizeof(int), c_of_row));
  CoarsePattern<<<grid, THREADS, 0, stream>>>(A->nnz, m, columns, none, sorted, number, gather->first, i, j, *c_of_row);
  CUDATry(cudaGetLastError());
  *C = {m, ghosts, total, i, j, NULL};
  return BAIStatusOf(BAI_OK);
}

/* The same with room for values */
static BAIStatus FindPattern(BAILevelsState state, const BAIDeviceRows *A, const int *of_row, int m,
                             const int *aggregate, int ghosts, const int *ghost, BAIGather *gather, BAIDeviceRows *C,
                             BAIScalar **values, int **c_of_row)
{
  BAITry(BAIGalerkinPattern(state, A, of_row, m, aggregate, ghosts, ghost, gather, C, c_of_row));
  BAITry(BAICUDAAllocate(&state->s, (size_t)C->nnz * sizeof(BAIScalar), values));
  C->a = *values;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIGalerkin(BAILevelsState state, const BAIDeviceRows *A, const int *of_row, int m, const int *aggregate,
                      BAIReal over, BAIGather *gather, BAIDeviceRows *C, BAIScalar **values, int **c_of_row)
{
  BAITry(FindPattern(state, A, of_row, m, aggregate, 0, NULL, gather, C, values, c_of_row));
  return SumUp(state, A, of_row, m, aggregate, over, gather, C, *c_of_row, *values);
}

BAIStatus BAIGalerkinOfRank(BAILevelsState state, const BAIDeviceRows *A, const int *of_row, int m,
                            const int *aggregate, int ghosts, const int *ghost, const int *member, BAISides *sides,
                            BAIGather *gather, BAIDeviceRows *C, BAIScalar **values, int **c_of_row)
{
  BAITry(FindPattern(state, A, of_row, m, aggregate, ghosts, ghost, gather, C, values, c_of_row));
  BAITry(BAICUDAAllocate(&state->s, (size_t)C->nnz * sizeof(int), &sides->touch));
  BAITry(BAICUDAAllocate(&state->s, (size_t)C->nnz * sizeof(int), &sides->back));
  BAITry(BAICUDAAllocate(&state->s, (size_t)m * sizeof(int), &sides->rows));
  BAITry(BAICUDAAllocate(&state->s, (size_t)m * sizeof(BAIReal), &sides->inner));
  return SumUpWithSides(state, A, of_row, aggregate, member, gather, C, *c_of_row, *sides, *values);
}

BAIStatus BAIGalerkinValues(BAILevelsState state, const BAIDeviceRows *A, const int *of_row, int m,
                            const int *aggregate, BAIReal over, const BAIGather *gather, const BAIDeviceRows *C,
                            const int *c_of_row, BAIScalar *values)
{
  return SumUp(state, A, of_row, m, aggregate, over, gather, C, c_of_row, values);
}

/* The parameters of kernels that fill a level */
struct Fill {
  BAIDeviceRows    A;
  const int       *row, *place, *first, *slice, *out_first;
  unsigned short  *in_j;
  int             *out_j;
  void            *in_a, *out_a, *d, *dinv, *extra;
  BAIReal          scale;
  int              modes; /* 0: P is not kept */
  const BAIScalar *P;
  void            *p;
};

/* Places of the block in which this thread's row is; -1: there is none. A thread block does a block */
static __device__ inline int PlaceOf(const Fill &f, int *first, int *last)
{
  *first = f.first[blockIdx.x];
  *last  = f.first[blockIdx.x + 1];
  return *first + (int)threadIdx.x < *last ? *first + (int)threadIdx.x : -1;
}

/* The widest row of each slice inside blocks, and entries outside of each row */
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
    const BAIReal d = BAIAggregateMagnitude(diagonal), extra = BAILevelsExtra(d, sum), all = d + extra;
    const BAIReal sign = BAIRealPart(diagonal) < 0 ? -1 : 1;

    static_cast<T *>(f.d)[p]    = T(diagonal * f.scale);
    static_cast<T *>(f.dinv)[p] = T(
      BAIScalar(all > 0 ? BAI_LOCAL_DAMPING * BAIShareOfDominance(all, in) / (sign * all * f.scale) : 1));
    static_cast<T *>(f.extra)[p] = T(BAIScalar(sign * extra * f.scale));
    if (extra > 0) *needs_extra = 1;
    for (int k = 0; k < f.modes; k++)
      static_cast<T *>(f.p)[(long long)p * f.modes + k] = T(f.P[(long long)row * f.modes + k]);
  }
  for (; count < width; count++) {
    in_j[to + count / 2 * 2 * BAI_TEAM + count % 2] = (unsigned char)threadIdx.x;
    in_a[to + count / 2 * 2 * BAI_TEAM + count % 2] = T(0);
  }
}

BAIStatus BAIPlaceLevel(BAILevelsState state, BAIDeviceLevel *L, bool values_only)
{
  const size_t n = (size_t)L->A.n, slices = (size_t)L->blocks * BAI_TEAMS,
               size   = state->single ? sizeof(BAISingle) : sizeof(BAIScalar);
  cudaStream_t stream = state->s.stream;
  BAITemporary flags;
  int         *needs, found = 0;
  Fill         f = {L->A,         L->row,  L->place, L->first,     L->slice,
                    L->out_first, L->in_j, L->out_j, L->in_a,      L->out_a,
                    L->d,         L->dinv, L->e,     state->scale, L->P ? state->p.modes : 0,
                    L->P,         L->p};

  if (!L->m && BAIIsExact(&state->p, L->A.n)) {
    if (values_only) return BAIStatusOf(BAI_OK);
    BAITry(BAICUDAAllocate(&state->s, n * size, &L->b));
    return BAICUDAAllocate(&state->s, n * size, &L->x);
  }
  if (!values_only) {
    BAITemporary        rooms[3];
    int                *slice, *out, ends[2];
    unsigned long long *inside, in[2];

    BAITry(rooms[0].Allocate(&state->s, (slices + 1) * sizeof(int)));
    BAITry(rooms[1].Allocate(&state->s, (n + 1) * sizeof(int)));
    BAITry(rooms[2].Allocate(&state->s, 2 * sizeof(*inside)));
    slice  = static_cast<int *>(rooms[0].p);
    out    = static_cast<int *>(rooms[1].p);
    inside = static_cast<unsigned long long *>(rooms[2].p);
    BAITry(BAICUDAAllocate(&state->s, (slices + 1) * sizeof(int), &L->slice));
    BAITry(BAICUDAAllocate(&state->s, (n + 1) * sizeof(int), &L->out_first));
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
    BAITry(BAICUDAAllocate(&state->s, (size_t)L->columns * BAI_TEAM * sizeof(unsigned short), &L->in_j));
    BAITry(BAICUDAAllocate(&state->s, (size_t)L->columns * BAI_TEAM * 2 * size, &L->in_a));
    BAITry(BAICUDAAllocate(&state->s, (size_t)L->outside * sizeof(int), &L->out_j));
    BAITry(BAICUDAAllocate(&state->s, (size_t)L->outside * size, &L->out_a));
    BAITry(BAICUDAAllocate(&state->s, n * size, &L->d));
    BAITry(BAICUDAAllocate(&state->s, n * size, &L->dinv));
    BAITry(BAICUDAAllocate(&state->s, n * size, &L->e));
    BAITry(BAICUDAAllocate(&state->s, n * size, &L->b));
    BAITry(BAICUDAAllocate(&state->s, (n + (size_t)L->A.ghosts) * size, &L->x));
    BAITry(BAICUDAAllocate(&state->s, (n + (size_t)L->A.ghosts) * size, &L->y));
    if (L->P) BAITry(BAICUDAAllocate(&state->s, n * (size_t)state->p.modes * size, &L->p));
    f.p         = L->p;
    f.slice     = L->slice;
    f.out_first = L->out_first;
    f.in_j      = L->in_j;
    f.out_j     = L->out_j;
    f.in_a      = L->in_a;
    f.out_a     = L->out_a;
    f.d         = L->d;
    f.dinv      = L->dinv;
    f.extra     = L->e;
  }
  BAITry(flags.Allocate(&state->s, sizeof(int)));
  needs = static_cast<int *>(flags.p);
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

static __global__ void Dense(BAIDeviceRows A, BAIScalar *a)
{
  for (int k = (int)threadIdx.x; k < A.n * A.n; k += (int)blockDim.x) a[k] = 0;
  __syncthreads();
  for (int row = (int)threadIdx.x; row < A.n; row += (int)blockDim.x)
    for (int k = A.i[row]; k < A.i[row + 1]; k++) a[row * A.n + A.j[k]] += A.a[k];
}

/* By Gauss and Jordan, as host/coarsen.c; one thread block. The result goes by rows to what the cycle reads */
static __global__ __launch_bounds__(INVERT) void Invert(int m, BAIScalar *a, BAIReal scale, bool single, void *inverse)
{
  __shared__ BAIReal   d[BAI_LEVELS_COARSEST];
  __shared__ BAIScalar column[BAI_LEVELS_COARSEST], line[BAI_LEVELS_COARSEST];
  const int            t = (int)threadIdx.x;

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
    for (int at = t; at < m * m; at += INVERT) {
      const int i = at / m, j = at % m;

      a[at] = i == k ? (j == k ? pivot : line[j]) : j == k ? -column[i] * pivot : a[at] - column[i] * line[j];
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
  BAIDeviceLevel *L = &state->level[state->levels - 1];
  const size_t    m = (size_t)L->A.n;
  BAITemporary    room;

  if (!BAIIsExact(&state->p, L->A.n)) return BAIStatusOf(BAI_OK);
  if (!state->inverse)
    BAITry(
      BAICUDAAllocate(&state->s, m * m * (state->single ? sizeof(BAISingle) : sizeof(BAIScalar)), &state->inverse));
  BAITry(room.Allocate(&state->s, m * m * sizeof(BAIScalar)));
  Dense<<<1, INVERT, 0, state->s.stream>>>(L->A, static_cast<BAIScalar *>(room.p));
  Invert<<<1, INVERT, 0, state->s.stream>>>((int)m, static_cast<BAIScalar *>(room.p), state->scale, state->single != 0,
                                            state->inverse);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}
