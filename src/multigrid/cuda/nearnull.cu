/*
   Levels with modes on a device: P of a level, and P^H A P. The results are those of host/nearnull.c and
   host/galerkin.c, in the same order, without fused products and sums
*/
#include "levels.h"
#include <vector>

enum {
  THREADS = 256,
  WARP    = 32,
  AT_ONCE = 8
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
   rows in shared memory. Stores the basis in the aggregate's rows of P, and the modes as combinations of it, the modes
   of the next level, in next */
static __global__ __launch_bounds__(WARP) void Orthonormalize(const int *first, const unsigned *list, int most,
                                                              int modes, BAILevelModes from, BAIScalar *P,
                                                              BAIScalar *next)
{
  extern __shared__ __align__(16) unsigned char shared[];
  BAIScalar *const column = reinterpret_cast<BAIScalar *>(shared), *const product = column + modes * most;
  const int             lane = (int)threadIdx.x, begin = first[blockIdx.x], count = first[blockIdx.x + 1] - begin;
  const unsigned *const row = list + begin;
  BAIScalar *const      r   = next + (long long)blockIdx.x * modes * modes;

  for (int l = lane; l < count; l += WARP)
    for (int k = 0; k < modes; k++) column[k * most + l] = from.mode[row[l] * from.row_step + k * from.mode_step];
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

/* Takes the near-null-space modes of the finest level from state->p.mode; a mode that is NULL is all ones. From here on
   points are aggregated instead of rows: points = p.fields, p.fields = 1, and the finest level has no grid */
BAIStatus BAITakeModes(BAILevelsState state)
{
  const size_t                 n = (size_t)state->level[0].A.n;
  const std::vector<BAIScalar> ones(n, BAIScalar(1));
  BAIScalar                   *mode;

  state->points        = (int)state->p.fields;
  state->p.fields      = 1;
  state->level[0].grid = {};
  BAITry(BAIKeep(state, n * (size_t)state->p.modes, &mode));
  state->mode = {mode, 1, (long long)n, n};
  for (int k = 0; k < state->p.modes; k++)
    CUDATry(cudaMemcpyAsync(mode + (size_t)k * n, state->p.mode[k] ? state->p.mode[k] : ones.data(), n * sizeof(*mode),
                            cudaMemcpyDefault, state->s.stream));
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
  BAIRoom    rooms[2];
  int       *first;
  unsigned  *list;

  BAITry(rooms[0].Get(state, (size_t)L->m + 1, &first));
  BAITry(rooms[1].Get(state, (size_t)L->A.n, &list));
  BAITry(BAIListAggregates(state, L, NULL, first, list, NULL));
  Free(state, &state->next_mode);
  BAITry(BAIKeep(state, all * columns, &L->P));
  BAITry(BAIKeep(state, next * columns, &mode));
  state->next_mode = {mode, modes, 1, next};
  CUDATry(cudaMemsetAsync(L->P, 0, all * columns * sizeof(*L->P), state->s.stream)); /* for rows in no aggregate */
  BAITry(BAIAllowShared((const void *)Orthonormalize, shared));
  Orthonormalize<<<dim3((unsigned)L->m), WARP, shared, state->s.stream>>>(first, list, L->most, modes, state->mode,
                                                                          L->P, mode);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Parameters of ModeSums(): A and P, the entries of A for each pair of aggregates, and the destination of the result */
struct ModeSum {
  BAIRows          A, pattern;
  const int       *a_of_row, *pattern_of_row, *first;
  const unsigned  *entry;
  const BAIScalar *P;
  BAIScalar       *values;
  int             *i, *j, *of_row; /* NULL: only values are new */
};

/* Adds the entry t of a row of A times P to the sums; nothing for row -1 */
static __device__ inline void AddRow(const BAIScalar *P, int row, int modes, BAIScalar t,
                                     BAIScalar (&sum)[BAI_LEVELS_MODES])
{
#pragma unroll
  for (int k = 0; k < BAI_LEVELS_MODES; k++)
    if (row >= 0 && k < modes) sum[k] += BAIConj(P[(long long)row * modes + k]) * t;
}

/* Computes P^H A P. A thread for each column of each pair of aggregates, which sums over all rows. As in
   host/galerkin.c it first computes a row of A times P. Several entries are read at once */
static __global__ __launch_bounds__(THREADS) void ModeSums(ModeSum s, int modes)
{
  const long long thread = blockIdx.x * (long long)THREADS + threadIdx.x;
  const int       g = (int)(thread / modes), o = (int)(thread % modes), end = g < s.pattern.nnz ? s.first[g + 1] : 0;
  BAIScalar       sum[BAI_LEVELS_MODES], t = 0;
  int             last = -1;

  if (g >= s.pattern.nnz) return;
#pragma unroll
  for (int k = 0; k < BAI_LEVELS_MODES; k++) sum[k] = 0;
  for (int begin = s.first[g]; begin < end; begin += AT_ONCE) {
    int       row[AT_ONCE];
    BAIScalar a[AT_ONCE], p[AT_ONCE];

#pragma unroll
    for (int l = 0; l < AT_ONCE; l++) {
      const unsigned at = s.entry[begin + l < end ? begin + l : end - 1];

      row[l] = s.a_of_row[at];
      a[l]   = s.A.a[at];
      p[l]   = s.P[(long long)s.A.j[at] * modes + o];
    }
#pragma unroll
    for (int l = 0; l < AT_ONCE; l++) {
      if (begin + l >= end) break;
      if (row[l] != last) {
        AddRow(s.P, last, modes, t, sum);
        t    = 0;
        last = row[l];
      }
      t += a[l] * p[l];
    }
  }
  AddRow(s.P, last, modes, t, sum);
  const int       c = s.pattern_of_row[g], begin = s.pattern.i[c], width = (s.pattern.i[c + 1] - begin) * modes;
  const long long base = (long long)begin * modes * modes + (long long)(g - begin) * modes + o;

#pragma unroll
  for (int k = 0; k < BAI_LEVELS_MODES; k++) {
    if (k >= modes) break;
    const long long to = base + (long long)k * width;

    s.values[to] = sum[k];
    if (!s.j) continue;
    s.j[to]      = s.pattern.j[g] * modes + o;
    s.of_row[to] = c * modes + k;
    if (g == begin && !o) s.i[c * modes + k] = (int)to;
  }
  if (s.j && !thread) s.i[s.pattern.n * modes] = (int)(s.pattern.nnz * modes * modes);
}

BAIStatus BAIModesSums(BAILevelsState state, const BAIDeviceLevel *L, const BAIDeviceLevel *next, bool pattern)
{
  const int     modes = state->p.modes;
  const ModeSum s     = {L->A,
                         L->gather.pattern,
                         L->of_row,
                         L->gather.of_row,
                         L->gather.first,
                         L->gather.entry,
                         L->P,
                         next->A.a,
                     pattern ? next->A.i : NULL,
                     pattern ? next->A.j : NULL,
                     pattern ? next->of_row : NULL};

  ModeSums<<<BAIGrid(s.pattern.nnz * modes, THREADS), THREADS, 0, state->s.stream>>>(s, modes);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIModesGalerkin(BAILevelsState state, BAIDeviceLevel *L, int ghosts, const int *ghost, BAIDeviceLevel *next)
{
  const int      modes   = state->p.modes;
  BAIDeviceLevel pattern = {};

  BAITry(BAIGalerkinPattern(state, L, ghosts, ghost, &pattern));
  L->gather.pattern   = pattern.A;
  L->gather.of_row    = pattern.of_row;
  const long long nnz = pattern.A.nnz * modes * modes;

  if (nnz > INT32_MAX) return BAIStatusOf(BAI_ERR_SIZE); /* the number of rows is smaller */
  next->A = {L->m * modes, ghosts * modes, nnz, NULL, NULL, NULL};
  BAITry(BAIKeep(state, (size_t)next->A.n + 1, &next->A.i));
  BAITry(BAIKeep(state, (size_t)nnz, &next->A.j));
  BAITry(BAIKeep(state, (size_t)nnz, &next->of_row));
  BAITry(BAIKeep(state, (size_t)nnz, &next->A.a));
  return BAIModesSums(state, L, next, true);
}
