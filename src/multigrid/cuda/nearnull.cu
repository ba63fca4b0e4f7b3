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
  MODE_THREADS = 192,      /* most threads of a group, which computes rows of an aggregate together, */
  MODE_BLOCK   = 576,      /* and of a block, which has several groups if there are enough multiprocessors, */
  MODE_SHARED  = 96 * 1024 /* in at most these bytes of shared memory */
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
static __global__ __launch_bounds__(WARP) void Orthonormalize(BAIMembers listed, int most, int modes,
                                                              BAILevelModes from, BAIScalar *P, BAIScalar *next)
{
  extern __shared__ __align__(16) unsigned char shared[];
  BAIScalar *const column = reinterpret_cast<BAIScalar *>(shared), *const product = column + modes * most;
  const int lane = (int)threadIdx.x, begin = listed.first[blockIdx.x], count = listed.first[blockIdx.x + 1] - begin;
  const int *const row = listed.row + begin;
  BAIScalar *const r   = next + (long long)blockIdx.x * modes * modes;

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
  const size_t           n = (size_t)state->level[0].A.n;
  std::vector<BAIScalar> ones;
  BAIScalar             *mode;

  state->points        = (int)state->p.fields;
  state->p.fields      = 1;
  state->level[0].grid = {};
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
  Orthonormalize<<<dim3((unsigned)L->m), WARP, shared, state->s.stream>>>(L->listed, L->most, modes, state->mode, L->P,
                                                                          mode);
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

/* Some members of an aggregate in shared memory, with the places of their entries */
struct Members {
  int row[MODE_THREADS], from[MODE_THREADS], to[MODE_THREADS];
};

/* The work of a group in shared memory: the values of some entries of a row of A and the rows of P of their columns;
   for some neighbours of the aggregate the set of the entries that belong to it, by words; and the row of A times P */
struct Staged {
  BAIScalar a[MODE_THREADS], P[BAI_LEVELS_MODES][MODE_THREADS], product[MODE_THREADS];
  unsigned  of[MODE_THREADS / WARP][MODE_THREADS + 1];
};

/* An entry of this thread: its column, or -1, and value */
struct Entry {
  int       j;
  BAIScalar a;
};

/* Reads the entries of a member of the aggregate from number first on, one for each thread of a group. There are none
   behind the last one of count members */
static __device__ inline Entry Read(const ModeProduct &p, const Members &m, int member, int first, int count)
{
  const int  k  = member < count ? m.from[member] + first + (int)threadIdx.x : 0;
  const bool is = member < count && k < m.to[member];

  return {is ? p.A.j[k] : -1, is ? p.A.a[k] : BAIScalar(0)};
}

/* The columns of C of a thread block, whose rows begin at begin and have width entries: the block's count neighbours of
   the aggregate from number first on; and column o of this thread, of one of these neighbours and a mode. rows is the
   set of the rows of C that this thread adds up */
struct Columns {
  int      begin, width, first, count, o, neighbor, mode;
  unsigned rows;
};

/* Adds to sum the products with left entries of a row, of which each thread of the group has one. All threads of a
   block call this together */
static __device__ inline void AddEntries(const ModeProduct &p, const Columns &c, const Entry &e, int left, Staged *s,
                                         BAIScalar *sum)
{
  const int l = (int)threadIdx.x, threads = (int)blockDim.x;
  const int words = ((left < threads ? left : threads) + WARP - 1) / WARP;
  const int of    = e.j < 0 ? -1 : NumberOf(p, c.begin, c.width, e.j) - c.first;

  for (int word = 0; word < words; word++)
    for (int k = l; k < c.count; k += threads) s->of[word][k] = 0;
  s->a[l] = e.a;
#pragma unroll
  for (int k = 0; k < BAI_LEVELS_MODES; k++)
    if (k < p.modes && of >= 0 && of < c.count) s->P[k][l] = p.P[(long long)e.j * p.modes + k];
  __syncthreads();
  if (of >= 0 && of < c.count) atomicOr(&s->of[l / WARP][of], 1u << l % WARP);
  __syncthreads();
  for (int word = 0; word < words && c.o < c.width; word++) {
    for (unsigned rest = s->of[word][c.neighbor]; rest; rest &= rest - 1) {
      const int at = word * WARP + __ffs((int)rest) - 1;

      *sum += s->a[at] * s->P[c.mode][at];
    }
  }
  __syncthreads();
}

/* Adds count members of an aggregate to sum, which has the entries of column o of its rows of C. As in host/galerkin.c
   rows of A times P come first: the groups of a block make some of them at the same time, and then add them in order,
   each for its share of the rows of C. The next entries are read before some are added */
static __device__ inline void AddMembers(const ModeProduct &p, const Columns &c, const Members &m, int count,
                                         unsigned char *memory, BAIScalar (&sum)[BAI_LEVELS_MODES])
{
  const int     l = (int)threadIdx.x, threads = (int)blockDim.x, group = (int)threadIdx.y, groups = (int)blockDim.y;
  Staged *const s = reinterpret_cast<Staged *>(memory) + group;
  Entry         e = Read(p, m, group, 0, count);

  for (int base = 0; base < count; base += groups) {
    const int last = base + groups < count ? base + groups : count, mine = base + group,
              left    = mine < count ? m.to[mine] - m.from[mine] : 0;
    int       most    = 0;
    BAIScalar product = 0;

    for (int k = base; k < last; k++) most = m.to[k] - m.from[k] > most ? m.to[k] - m.from[k] : most;
    for (int first = 0; !first || first < most; first += threads) { /* once for rows without entries, too */
      const bool  ends = first + threads >= most;
      const Entry next = ends ? Read(p, m, mine + groups, 0, count) : Read(p, m, mine, first + threads, count);

      AddEntries(p, c, e, left - first > 0 ? left - first : 0, s, &product);
      e = next;
    }
    if (groups > 1) {
      s->product[l] = product;
      __syncthreads();
    }
    for (int k = base; k < last; k++) {
      const BAIScalar of = groups > 1 ? s[k - base - group].product[l] : product;

#pragma unroll
      for (int mode = 0; mode < BAI_LEVELS_MODES; mode++)
        if (c.rows >> mode & 1) sum[mode] += BAIConj(p.P[(long long)m.row[k] * p.modes + mode]) * of;
    }
    if (groups > 1) __syncthreads();
  }
}

/* Computes the values of P^H A P, a thread block for each aggregate; a group has a thread for each column of its rows
   of C */
static __global__ __launch_bounds__(MODE_BLOCK, 2) void ModeSums(ModeProduct p)
{
  extern __shared__ __align__(16) unsigned char memory[]; /* a Staged for each group */
  __shared__ Members                            m;
  const int      row = (int)blockIdx.x * p.modes, begin = p.C.i[row], width = p.C.i[row + 1] - begin;
  const int      threads = (int)blockDim.x, group = (int)threadIdx.y, groups = (int)blockDim.y, x = (int)threadIdx.x;
  const BAIRange of   = BAIMembersAt(p.members, (int)blockIdx.x);
  unsigned       mine = 0;

  for (int k = group; k < p.modes; k += groups) mine |= 1u << k;
  for (int base = 0; base < width; base += threads) {
    const int     last = base + threads < width ? base + threads : width, first = base / p.modes;
    const Columns c = {begin,
                       width,
                       first,
                       (last - 1) / p.modes - first + 1,
                       base + x,
                       (base + x) / p.modes - first,
                       (base + x) % p.modes,
                       mine};
    BAIScalar     sum[BAI_LEVELS_MODES];

#pragma unroll
    for (int k = 0; k < BAI_LEVELS_MODES; k++) sum[k] = 0;
    for (int l = of.begin; l < of.end; l += threads) {
      const int count = l + threads < of.end ? threads : of.end - l;

      __syncthreads();
      if (!group && x < count) {
        m.row[x]  = p.members.row[l + x];
        m.from[x] = p.A.i[m.row[x]];
        m.to[x]   = p.A.i[m.row[x] + 1];
      }
      __syncthreads();
      AddMembers(p, c, m, count, memory, sum);
    }
#pragma unroll
    for (int k = 0; k < BAI_LEVELS_MODES; k++)
      if (mine >> k & 1 && c.o < width) p.C.a[begin + k * width + c.o] = sum[k];
  }
}

BAIStatus BAIModesSums(BAILevelsState state, const BAIDeviceLevel *L, const int *ghost, const BAIDeviceLevel *next)
{
  const int modes = state->p.modes, widest = (next->longest + WARP - 1) / WARP * WARP,
            threads      = std::min(widest, (int)MODE_THREADS);
  const ModeProduct p    = {L->A, next->A, BAIMembersOf(state, L), L->aggregate, ghost, L->P, L->m, modes};
  const int         most = std::min(MODE_BLOCK / threads, (int)MODE_SHARED / (int)sizeof(Staged)),
            groups       = L->m <= state->s.processors ? most : 1;
  const size_t bytes     = (size_t)groups * sizeof(Staged);

  BAITry(BAIAllowShared((const void *)ModeSums, bytes));
  ModeSums<<<(unsigned)L->m, dim3((unsigned)threads, (unsigned)groups), bytes, state->s.stream>>>(p);
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
