/*
   Levels with modes on a device: P of a level, and P^H A P. The results are those of host/nearnull.c and
   host/galerkin.c, in the same order, without fused products and sums
*/
#include "galerkin.h"
#include <algorithm>
#include <vector>

enum {
  THREADS      = 256,
  WARP         = 32,
  MODE_THREADS = 192 /* most threads that compute the rows of an aggregate together */
};

/* The sum of conj(x) y over the rows of an aggregate, in their order, by all lanes of a warp. product is work space */
static __device__ inline BAIScalar Dot(int count, const BAIScalar *x, const BAIScalar *y, BAIScalar *product)
{
  BAIScalar sum = 0;

  for (int l = (int)threadIdx.x; l < count; l += WARP) product[l] = BAIConj(x[l]) * y[l];
  __syncwarp();
  for (int l = 0; l < count; l++) sum += product[l];
  __syncwarp();
  return sum;
}

/* The norm of a vector, see Dot() */
static __device__ inline BAIReal Norm(int count, const BAIScalar *x, BAIScalar *product)
{
  return (BAIReal)sqrt((double)BAIRealPart(Dot(count, x, x, product)));
}

/* Orthonormalizes the modes in from on each aggregate, as in host/nearnull.c, by a warp for each, in columns of most
   rows in shared memory. If from has none, they are constants on fields, which are the unknowns of a point. Stores the
   basis in the aggregate's rows of P, and the modes as combinations of it, the modes of the next level, in next */
static __global__ __launch_bounds__(WARP) void Orthonormalize(BAIMembers listed, int most, int modes, int unknowns,
                                                              BAILevelModes from, BAIScalar *P, BAIScalar *next)
{
  extern __shared__ __align__(16) unsigned char shared[];
  BAIScalar *const column = reinterpret_cast<BAIScalar *>(shared), *const product = column + modes * most;
  const int lane = (int)threadIdx.x, begin = listed.first[blockIdx.x], count = listed.first[blockIdx.x + 1] - begin;
  const int *const row = listed.row + begin;
  BAIScalar *const r   = next + (long long)blockIdx.x * modes * modes;

  for (int l = lane; l < count; l += WARP)
    for (int k = 0; k < modes; k++)
      column[k * most + l] = from.mode ? from.mode[row[l] * from.row_step + k * from.mode_step]
                                       : BAIScalar(BAIConstantOfField(row[l], unknowns, k));
  __syncwarp();
  for (int k = 0; k < modes; k++) {
    BAIScalar *const v      = column + k * most;
    const BAIReal    before = Norm(count, v, product);
    BAIScalar        mine   = 0; /* lane i has r_ik */

    for (int twice = 0; twice < 2; twice++) {
      for (int i = 0; i < k; i++) {
        const BAIScalar s = Dot(count, column + i * most, v, product);

        if (lane == i) mine += s;
        for (int l = lane; l < count; l += WARP) v[l] -= s * column[i * most + l];
        __syncwarp();
      }
    }
    BAIReal norm = Norm(count, v, product);

    if (!(norm > BAI_MODES_DEPENDENT * before)) norm = 0;
    if (lane < modes) r[lane * modes + k] = lane == k ? BAIScalar(norm) : mine;
    for (int l = lane; l < count; l += WARP) {
      v[l] = norm > 0 ? v[l] * (1 / norm) : BAIScalar(0);

      P[(long long)row[l] * modes + k] = v[l];
    }
    __syncwarp();
  }
}

/* Takes the near-null-space modes of the finest level from state->p.mode. A mode that is NULL is all ones; constants on
   fields are not stored. From here on points are aggregated instead of rows: points = p.fields, p.fields = 1, and the
   finest level has no grid */
BAIStatus BAITakeModes(BAILevelsState state)
{
  const size_t           n = (size_t)state->level[0].A.n;
  std::vector<BAIScalar> ones;
  BAIScalar             *mode;

  state->points        = (int)state->p.fields;
  state->p.fields      = 1;
  state->level[0].grid = {};
  if (state->p.constants) return BAIStatusOf(BAI_OK);
  BAITry(BAIKeep(state, n * (size_t)state->p.modes, &mode));
  state->mode = {mode, 1, (long long)n, n};
  for (int k = 0; k < state->p.modes; k++) {
    if (!state->p.mode[k]) ones.resize(n, BAIScalar(1));
    CUDATry(cudaMemcpyAsync(mode + (size_t)k * n, state->p.mode[k] ? state->p.mode[k] : ones.data(), n * sizeof(*mode),
                            cudaMemcpyDefault, state->s.stream));
  }
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

static void Free(BAILevelsState state, BAILevelModes *modes)
{
  BAIDrop(state, modes->rows * (size_t)state->p.modes, &modes->mode);
  *modes = {};
}

void BAINextModes(BAILevelsState state)
{
  Free(state, &state->mode);
  state->mode      = state->next_mode;
  state->next_mode = {};
}

void BAIFreeModes(BAILevelsState state)
{
  Free(state, &state->mode);
  Free(state, &state->next_mode);
}

BAIStatus BAIDeviceOrthonormalize(BAILevelsState state, BAIDeviceLevel *L)
{
  const int    modes = state->p.modes;
  const size_t all = (size_t)L->A.n + (size_t)L->A.ghosts, columns = (size_t)modes, next = (size_t)L->m * columns,
               shared = (columns + 1) * (size_t)L->most * sizeof(BAIScalar);
  BAIScalar *mode;

  Free(state, &state->next_mode);
  BAITry(BAIKeep(state, all * columns, &L->P));
  BAITry(BAIKeep(state, next * columns, &mode));
  state->next_mode = {mode, modes, 1, next};
  CUDATry(cudaMemsetAsync(L->P, 0, all * columns * sizeof(*L->P), state->s.stream)); /* for rows in no aggregate */
  BAITry(BAIAllowShared((const void *)Orthonormalize, shared));
  Orthonormalize<<<dim3((unsigned)L->m), WARP, shared, state->s.stream>>>(L->listed, L->most, modes, state->points,
                                                                          state->mode, L->P, mode);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* A product with modes: A, P and C, the rows of each of m aggregates, and the aggregates of rows and ghosts */
struct ModeProduct {
  BAIRows          A, C;
  BAIMembers       members;
  const int       *aggregate, *ghost;
  const BAIScalar *P;
  int              m, modes;
};

/* The number of the aggregate of a column of A among the neighbours of an aggregate, whose first row of C begins at
   begin and has width entries; or -1 */
static __device__ inline int NumberOf(const ModeProduct &p, int begin, int width, int j)
{
  const int g   = j < p.A.n ? p.aggregate[j] : p.ghost ? p.ghost[j - p.A.n] : -1;
  int       low = 0, high = width / p.modes;

  if (g < 0) return -1;
  while (high - low > 1) {
    const int middle = (low + high) / 2;

    if (p.C.j[begin + middle * p.modes] > g * p.modes) high = middle;
    else low = middle;
  }
  return low;
}

/* In shared memory: members of an aggregate, with the places of their entries; the values of some entries of a row of A
   and the rows of P of their columns; and for some neighbours of the aggregate the set of the entries that belong
   to it. PLACES: most threads of a thread block */
template <int PLACES>
struct Staged {
  int       row[PLACES], from[PLACES], to[PLACES];
  BAIScalar a[PLACES], P[BAI_LEVELS_MODES][PLACES];
  unsigned  of[PLACES / WARP][PLACES + 1]; /* by words of the sets */
};

/* The entries of row l of s from number first on, one for each thread: its column, or -1, and value */
struct Entries {
  int       l, first, j;
  BAIScalar a;
};

/* Reads the entries that follow those of row l before number first, where count rows are staged */
template <int PLACES>
static __device__ inline Entries Read(const ModeProduct &p, const Staged<PLACES> &s, int l, int first, int count)
{
  while (l < count && first >= s.to[l]) {
    l++;
    first = l < count ? s.from[l] : 0;
  }
  const int  k  = first + (int)threadIdx.x;
  const bool is = l < count && k < s.to[l];

  return {l, first, is ? p.A.j[k] : -1, is ? p.A.a[k] : BAIScalar(0)};
}

/* Adds the members of an aggregate from number begin to end - 1, at most one for each thread, to sum, which has the
   entries of column o of its rows of C: of neighbour o / modes, and first is the first neighbour of this thread block,
   of count. As in host/galerkin.c it first computes a row of A times P. The next entries are read before some
   are added */
template <int PLACES>
static __device__ inline void AddMembers(const ModeProduct &p, Staged<PLACES> &s, int begin, int end, int row_of_C,
                                         int width, int o, int first, int count, BAIScalar (&sum)[BAI_LEVELS_MODES])
{
  const int l = (int)threadIdx.x, threads = (int)blockDim.x, rows = end - begin;
  const int mode = o % p.modes, neighbor = o / p.modes - first;
  BAIScalar t = 0;

  __syncthreads();
  if (l < rows) {
    const int row = p.members.row[begin + l];

    s.row[l]  = row;
    s.from[l] = p.A.i[row];
    s.to[l]   = p.A.i[row + 1];
  }
  __syncthreads();
  for (Entries e = Read(p, s, 0, s.from[0], rows); e.l < rows;) {
    const int     of   = e.j < 0 ? -1 : NumberOf(p, row_of_C, width, e.j) - first;
    const Entries next = Read(p, s, e.l, e.first + threads, rows);

    const int left = s.to[e.l] - e.first, words = ((left < threads ? left : threads) + WARP - 1) / WARP;

    for (int word = 0; word < words; word++)
      for (int k = l; k < count; k += threads) s.of[word][k] = 0;
    s.a[l] = e.a;
#pragma unroll
    for (int k = 0; k < BAI_LEVELS_MODES; k++)
      if (k < p.modes && of >= 0 && of < count) s.P[k][l] = p.P[(long long)e.j * p.modes + k];
    __syncthreads();
    if (of >= 0 && of < count) atomicOr(&s.of[l / WARP][of], 1u << l % WARP);
    __syncthreads();
    for (int word = 0; word < words && o < width; word++) {
      for (unsigned rest = s.of[word][neighbor]; rest; rest &= rest - 1) {
        const int at = word * WARP + __ffs((int)rest) - 1;

        t += s.a[at] * s.P[mode][at];
      }
    }
    if (next.l != e.l) {
#pragma unroll
      for (int k = 0; k < BAI_LEVELS_MODES; k++)
        if (k < p.modes) sum[k] += BAIConj(p.P[(long long)s.row[e.l] * p.modes + k]) * t;
      t = 0;
    }
    e = next;
    __syncthreads();
  }
}

/* Computes the values of P^H A P, a thread block for each aggregate and a thread for each column of its rows of C */
template <int PLACES>
static __global__ __launch_bounds__(PLACES) void ModeSums(ModeProduct p)
{
  __shared__ __align__(16) unsigned char memory[sizeof(Staged<PLACES>)]; /* complex numbers have constructors */
  const int       c = (int)blockIdx.x, begin = p.C.i[c * p.modes], width = p.C.i[c * p.modes + 1] - begin;
  const int       threads = (int)blockDim.x;
  const BAIRange  of      = BAIMembersAt(p.members, c);
  Staged<PLACES> &s       = *reinterpret_cast<Staged<PLACES> *>(memory);

  for (int base = 0; base < width; base += threads) {
    const int o = base + (int)threadIdx.x, last = base + threads < width ? base + threads : width;
    const int first = base / p.modes, count = (last - 1) / p.modes - first + 1;
    BAIScalar sum[BAI_LEVELS_MODES];

#pragma unroll
    for (int k = 0; k < BAI_LEVELS_MODES; k++) sum[k] = 0;
    for (int l = of.begin; l < of.end; l += threads)
      AddMembers(p, s, l, l + threads < of.end ? l + threads : of.end, begin, width, o, first, count, sum);
#pragma unroll
    for (int k = 0; k < BAI_LEVELS_MODES; k++)
      if (k < p.modes && o < width) p.C.a[begin + k * width + o] = sum[k];
  }
}

BAIStatus BAIModesSums(BAILevelsState state, const BAIDeviceLevel *L, const int *ghost, const BAIDeviceLevel *next)
{
  const int         modes = state->p.modes, widest = (next->longest + WARP - 1) / WARP * WARP;
  const ModeProduct p = {L->A, next->A, BAIMembersOf(state, L), L->aggregate, ghost, L->P, L->m, modes};

  (widest > WARP
     ? ModeSums<MODE_THREADS>
     : ModeSums<WARP>)<<<(unsigned)L->m, (unsigned)std::min(widest, (int)MODE_THREADS), 0, state->s.stream>>>(p);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Sets the pattern of C, the one of the product without modes with each entry replaced by modes x modes ones; a warp
   for each row of that pattern */
static __global__ void ModePattern(BAIRows pattern, int modes, BAIRows C)
{
  const int c = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / WARP);

  if (c > pattern.n) return;
  const int from = pattern.i[c], begin = from * modes * modes;

  if (c == pattern.n) C.i[c * modes] = begin;
  if (c == pattern.n) return;
  const int width = (pattern.i[c + 1] - from) * modes;

  for (int k = 0; k < modes; k++) {
    C.i[c * modes + k] = begin + k * width;
    for (int o = (int)threadIdx.x % WARP; o < width; o += WARP)
      C.j[begin + k * width + o] = pattern.j[from + o / modes] * modes + o % modes;
  }
}

BAIStatus BAIModesGalerkin(BAILevelsState state, const BAIDeviceLevel *L, BAICoarse how, BAIDeviceLevel *next)
{
  const int      modes   = state->p.modes;
  BAIDeviceLevel pattern = {};

  how.pattern = true;
  BAITry(BAIGalerkin(state, L, how, NULL, &pattern));
  const long long nnz = pattern.A.nnz * modes * modes;

  if (nnz > INT32_MAX) return BAIStatusOf(BAI_ERR_SIZE); /* the number of rows is smaller */
  next->A       = {L->m * modes, how.ghosts * modes, nnz, NULL, NULL, NULL};
  next->longest = pattern.longest * modes;
  BAITry(BAIKeep(state, (size_t)next->A.n + 1, &next->A.i));
  BAITry(BAIKeep(state, (size_t)nnz, &next->A.j));
  BAITry(BAIKeep(state, (size_t)nnz, &next->A.a));
  ModePattern<<<BAIGrid(((long long)L->m + 1) * WARP, THREADS), THREADS, 0, state->s.stream>>>(pattern.A, modes,
                                                                                               next->A);
  CUDATry(cudaGetLastError());
  BAIDeviceFreeMatrix(state, &pattern);
  return BAIModesSums(state, L, how.ghost, next);
}
