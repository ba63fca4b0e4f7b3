/*
   A visit to a block of a level on a device: local sweeps, restriction to the next level and prolongation to the level
   above. VisitBlock() is inlined into the kernels of the cycle and of its tail
*/
#pragma once

#include "tuning.h"
#include <cub/util_ptx.cuh>

/* The level above, after its visit: its entries outside blocks, and its x */
template <typename T>
struct FinerLevel {
  const int *child, *out_first, *out_j; /* child NULL: the residual is complete */
  const T   *out_a, *x;
  bool       has_many; /* its aggregates have many such entries, or there are modes */
  int        modes;    /* as in BAILevelView */
  const T   *P;
};

template <typename T>
struct VisitHow {
  FinerLevel<T> finer; /* of a first visit: the products still to be subtracted from b */
  int           from_zero, sweeps;
  int           restricts; /* restrict the residual to b of the next level */
  T *above; /* x of the level above, to which this x is prolonged; NULL: it is not. A visit that restricts does not */
  const int       *above_child;
  const BAIScalar *r; /* finest level: b is r times factors[0], in the order of row, and is stored */
  BAIScalar       *z; /* destination of x times factors[1], */
  T               *u; /* or of x */
  const int       *row;
  const BAIReal   *factors;
};

/* Shared memory of a team for a visit; each thread has OUTSIDE entries outside the block in flight */
template <typename T, int OUTSIDE>
struct VisitRoom {
  T x[2][BAI_LEVELS_BLOCK];
  T product[OUTSIDE * (int)BAI_LEVELS_BLOCK];
};

/* Lets the next kernel begin and fetch data that no kernel changes */
static __device__ __forceinline__ void Trigger()
{
  NV_IF_TARGET(NV_PROVIDES_SM_90, (cudaTriggerProgrammaticLaunchCompletion();));
}

/* Barrier of all threads of a thread block, or of the team that does a block of its own */
template <bool WHOLE>
static __device__ __forceinline__ void Meet(int team)
{
  if (WHOLE) __syncthreads();
  else asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "r"((int)BAI_LEVELS_BLOCK) : "memory");
}

/*
   Entries outside the block, which are contiguous for its rows. The first are fetched at once, before x is known to be
   there
*/
template <typename T, int AT_ONCE>
struct OutsideOfBlock {
  int begin, end, mine, mine_end; /* entries of the block, and of this row */

  int col[AT_ONCE];
  int to_col; /* from the place of a value to that of its column */
  T   value[AT_ONCE];

  /* Fetches the first entries of size rows from first on, by thread t; there are none unless wanted. Rows from like on
     have the same values, which are read */
  __device__ __forceinline__ OutsideOfBlock(const BAILevelView<T> &L, int first, int like, int size, int t, bool wanted)
  {
    begin = end = mine = mine_end = to_col = 0;
    if (wanted) {
      begin    = L.out_first[like];
      end      = L.out_first[like + size];
      mine     = t < size ? L.out_first[like + t] : end;
      mine_end = t < size ? L.out_first[like + t + 1] : end;
      to_col   = L.out_first[first] - begin;
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int e = begin + k * BAI_LEVELS_BLOCK + t;

      col[k]   = e < end ? L.out_j[e + to_col] : 0;
      value[k] = e < end ? L.out_a[e] : T(0);
    }
  }

  /* Returns the sum of products of this row's entries with x; all threads of the block call it. product is shared */
  template <bool WHOLE>
  __device__ __forceinline__ T Sum(const BAILevelView<T> &L, const T *x, int t, int team, T *product)
  {
    T sum = T(0);

    for (int at = begin; at < end; at += AT_ONCE * BAI_LEVELS_BLOCK) {
      if (at > begin) Meet<WHOLE>(team);
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) {
        const int e = at + k * BAI_LEVELS_BLOCK + t;

        if (at > begin) {
          col[k]   = e < end ? L.out_j[e + to_col] : 0;
          value[k] = e < end ? L.out_a[e] : T(0);
        }
        product[k * BAI_LEVELS_BLOCK + t] = value[k] * x[col[k]];
      }
      Meet<WHOLE>(team);
      for (int k = mine > at ? mine - at : 0; k < mine_end - at && k < AT_ONCE * BAI_LEVELS_BLOCK; k++)
        sum += product[k];
    }
    return sum;
  }
};

/* Returns, in the first of each LANES lanes, a power of two, the sum over them; all lanes of the warp call it */
template <int LANES, typename T>
static __device__ __forceinline__ T SumOfLanes(T sum)
{
#pragma unroll
  for (int k = LANES / 2; k; k /= 2) sum += cub::ShuffleDown<LANES>(sum, k, LANES - 1, ~0u);
  return sum;
}

/* The sum of products with x of every step-th entry from first to end, of which a thread fetches AT_ONCE at once */
template <int AT_ONCE, typename T>
static __device__ __forceinline__ T SumOfProducts(const int *col, const T *value, const T *x, int first, int end,
                                                  int step)
{
  T sum = T(0);

  for (int at = first; at < end; at += AT_ONCE * step) {
    int c[AT_ONCE];
    T   v[AT_ONCE];

#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int e = at + k * step;

      c[k] = e < end ? col[e] : 0;
      v[k] = e < end ? value[e] : T(0);
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) sum += v[k] * x[c[k]];
  }
  return sum;
}

#if defined(PETSC_USE_COMPLEX)
template <typename T>
static __device__ __forceinline__ T Conj(T a)
{
  return T(a.real(), -a.imag());
}
#else
template <typename T>
static __device__ __forceinline__ T Conj(T a)
{
  return a;
}
#endif

/* Adds x to x of the level above on the rows begin to end of an aggregate; several rows are fetched before the first is
   written. A cube of a grid has eight rows, in single precision two pieces of 16 bytes */
template <typename T>
static __device__ __forceinline__ void AddAbove(T *above, int begin, int end, T x)
{
  T old[BAI_CHILDREN_AT_ONCE];

  if constexpr (sizeof(T) == sizeof(float)) {
    if (end - begin == 8 && begin % 4 == 0) {
      float4 *const piece = reinterpret_cast<float4 *>(above + begin);
      float4        one = piece[0], two = piece[1];

      piece[0] = make_float4(one.x + x, one.y + x, one.z + x, one.w + x);
      piece[1] = make_float4(two.x + x, two.y + x, two.z + x, two.w + x);
      return;
    }
  }
  for (; begin < end; begin += BAI_CHILDREN_AT_ONCE) {
#pragma unroll
    for (int k = 0; k < BAI_CHILDREN_AT_ONCE; k++)
      if (begin + k < end) old[k] = above[begin + k];
#pragma unroll
    for (int k = 0; k < BAI_CHILDREN_AT_ONCE; k++)
      if (begin + k < end) above[begin + k] = old[k] + x;
  }
}

/* Returns number; the compiler keeps it in a register instead of computing it again at each use */
static __device__ __forceinline__ unsigned Kept(unsigned number)
{
  asm volatile("" : "+r"(number));
  return number;
}

/* The number at so many bytes from x */
template <typename T>
static __device__ __forceinline__ T NumberAt(const T *x, unsigned offset)
{
  return *reinterpret_cast<const T *>(reinterpret_cast<const char *>(x) + offset);
}

/* A row's entries inside its block, in pairs, or if TEAMS teams share the row, every TEAMS-th pair; the first PAIRS are
   in registers, and with ALL there are no others */
template <typename T, int PAIRS, bool ALL, int TEAMS = 1>
struct InsideOfRow {
  const BAIPair<T>     *a;
  const unsigned short *j;
  int                   pairs; /* pairs of the slice, or this team's share */
  T                     value[2 * PAIRS];
  unsigned              offsets[PAIRS]; /* bytes from x of the block to x of the columns, 16 bits each */

  /* Fetches the first pairs of the row of thread t, which is in this slice */
  __device__ __forceinline__ InsideOfRow(const BAILevelView<T> &L, int slice, int t, int team = 0)
  {
    const int       column = L.pairs ? slice * L.pairs : L.slice[slice];
    const long long at     = (column + (long long)team) * BAI_TEAM + t % BAI_TEAM;

    pairs = ((L.pairs ? L.pairs : L.slice[slice + 1] - column) - team + TEAMS - 1) / TEAMS;
    a     = L.in_a + at;
    j     = L.in_j + at;
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
      BAIPair<T>     v = {T(0), T(0)};
      unsigned short c = 0;

      if (k < pairs) {
        v = a[k * TEAMS * BAI_TEAM];
        c = j[k * TEAMS * BAI_TEAM];
      }
      value[2 * k]     = v.first;
      value[2 * k + 1] = v.second;
      offsets[k]       = Kept(((c & 255u) | (c & 65280u) << 8) * (unsigned)sizeof(T));
    }
  }

  /* Returns r minus the products of these entries with x of the block */
  __device__ __forceinline__ T Rest(T r, const T *x) const
  {
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
      r -= value[2 * k] * NumberAt(x, offsets[k] & 65535u);
      r -= value[2 * k + 1] * NumberAt(x, offsets[k] >> 16);
    }
    if constexpr (!ALL)
      for (int k = PAIRS; k < pairs; k++) {
        const BAIPair<T>     v = a[k * TEAMS * BAI_TEAM];
        const unsigned short c = j[k * TEAMS * BAI_TEAM];

        r -= v.first * x[c & 255];
        r -= v.second * x[c >> 8];
      }
    return r;
  }
};

/*
   Returns in thread t the sum of the products with entries outside blocks of the finer level over the rows of aggregate
   c + t, for t < count. All threads of the block call it; product is shared. With follow, the first entries are fetched
   before the previous kernel has ended
*/
template <typename T, bool WHOLE, int PRODUCTS>
static __device__ __forceinline__ T OutsideOfAggregates(const FinerLevel<T> &F, int c, int count, int t, int team,
                                                        T *product, bool follow)
{
  const int begin = F.out_first[F.child[c]], end = F.out_first[F.child[c + count]];
  const int mine     = t < count ? F.out_first[F.child[c + t]] : end;
  const int mine_end = t < count ? F.out_first[F.child[c + t + 1]] : end;
  int       col[PRODUCTS];
  T         sum = T(0), value[PRODUCTS];

  for (int at = begin; at < end || at == begin; at += PRODUCTS * BAI_LEVELS_BLOCK) {
    if (at > begin) Meet<WHOLE>(team);
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) {
      const int e = at + k * BAI_LEVELS_BLOCK + t;

      col[k]   = e < end ? F.out_j[e] : 0;
      value[k] = e < end ? F.out_a[e] : T(0);
    }
    if (at == begin && follow) BAIFollow();
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) product[k * BAI_LEVELS_BLOCK + t] = value[k] * F.x[col[k]];
    Meet<WHOLE>(team);
    for (int k = mine > at ? mine - at : 0; k < mine_end - at && k < PRODUCTS * BAI_LEVELS_BLOCK; k++)
      sum += product[k];
  }
  Meet<WHOLE>(team);
  return sum;
}

/* Returns x of this thread's row after the local sweeps from number sweep on, starting from x; g is its right-hand side
   minus the products outside the block. Sweeps are in pairs so that buffer indices are constants */
template <bool WHOLE, typename T, int PAIRS, bool ALL, int OUTSIDE>
static __device__ __forceinline__ T SweepBlock(const InsideOfRow<T, PAIRS, ALL> &inside, T x, T g, T d, T dinv,
                                               int sweep, int sweeps, int t, int team, VisitRoom<T, OUTSIDE> &room)
{
  for (; sweep + 1 < sweeps; sweep += 2) {
    room.x[0][t] = x;
    Meet<WHOLE>(team);
    x += dinv * inside.Rest(g - d * x, room.x[0]);
    room.x[1][t] = x;
    Meet<WHOLE>(team);
    x += dinv * inside.Rest(g - d * x, room.x[1]);
  }
  if (sweep < sweeps) {
    room.x[0][t] = x;
    Meet<WHOLE>(team);
    x += dinv * inside.Rest(g - d * x, room.x[0]);
  }
  return x;
}

/* Rows of a level, from begin to end - 1 */
struct Range {
  int begin, end;
};

/* The residual inside a block. It has gaps between rows, as otherwise all aggregates of APART rows would begin in the
   same banks of memory */
template <typename T>
struct ResidualOfBlock {
  enum {
    APART = 8
  };
  T *of;

  __device__ __forceinline__ T &operator[](int t) const { return of[t + t / APART]; }
};

/* Computes the residual of each row from r, its part without the products with x of other rows of the block */
template <bool WHOLE, typename T, int PAIRS, bool ALL, int OUTSIDE>
static __device__ __forceinline__ ResidualOfBlock<T> ResidualInBlock(const InsideOfRow<T, PAIRS, ALL> &inside, T x, T r,
                                                                     int t, int team, VisitRoom<T, OUTSIDE> &room)
{
  enum {
    APART = ResidualOfBlock<T>::APART
  };
  static_assert(OUTSIDE * APART > APART + 1, "there is room for gaps");
  const ResidualOfBlock<T> residual = {room.product};

  Meet<WHOLE>(team); /* buffer 0 may still be read */
  room.x[0][t] = x;
  Meet<WHOLE>(team);
  residual[t] = inside.Rest(r, room.x[0]);
  Meet<WHOLE>(team);
  return residual;
}

/* Restricts the residual inside the block to below, b of the next level. Each thread adds up the aggregate with these
   rows of the block */
template <typename T>
static __device__ __forceinline__ void RestrictBlock(T *below, const ResidualOfBlock<T> &residual, int aggregate,
                                                     Range rows)
{
  if (rows.begin == rows.end) return;
  T sum = T(0);

  for (int k = rows.begin; k < rows.end; k++) sum += residual[k];
  below[aggregate] = sum;
}

/* The same with a near null space for a block whose rows are those from first on; each thread adds up some of the
   numbers of its aggregates */
template <typename T>
static __device__ __forceinline__ void RestrictModes(const BAILevelView<T> &L, T *below,
                                                     const ResidualOfBlock<T> &residual, int block, int first, int t)
{
  for (int i = L.aggregate[block] * L.modes + t, end = L.aggregate[block + 1] * L.modes; i < end;
       i += BAI_LEVELS_BLOCK) {
    const int c = i / L.modes, k = i - c * L.modes;
    T         sum = T(0);

    for (int p = L.child[c]; p < L.child[c + 1]; p++)
      sum += Conj(L.P[(long long)p * L.modes + k]) * residual[p - first];
    below[i] = sum;
  }
}

/* The rows of the level above of the row at place p; none if the row is not mine, or x is not prolonged */
template <typename T>
static __device__ __forceinline__ Range RowsAbove(const VisitHow<T> &how, int p, bool mine)
{
  return how.above && mine ? Range{how.above_child[p], how.above_child[p + 1]} : Range{0, 0};
}

/* The data of the row at place p that a visit fetches before it needs x: its diagonal entry and the like, which are
   those of the row at place at, and its number if the caller's vectors are read or written. Zeros if the row is not
   mine */
template <typename T>
struct RowOfVisit {
  T   d, dinv, extra;
  int row;

  __device__ __forceinline__ RowOfVisit(const BAILevelView<T> &L, const VisitHow<T> &how, int p, bool mine, int at)
      : d(T(0)), dinv(T(0)), extra(T(0)), row(0)
  {
    if (!mine) return;
    d    = L.d[at];
    dinv = L.dinv[at];
    if (L.extra) extra = L.extra[at];
    if (how.row) row = how.row[p];
  }
};

/* Smooths one block by BAI_LEVELS_BLOCK threads, of which t is one: x = S b, or x = x + S (b - A x). The new x goes to
   L.y, as other blocks read L.x, or to how.u or how.z. First completes L.b, and at the end prolongs, or restricts to
   below, as how asks for. ALL: see InsideOfRow. PRODUCTS 0: no products of the finer level are subtracted; otherwise,
   and with ZERO, x is from zero. Levels with modes are visited only by WHOLE, without ALL and PRODUCTS. follow: the
   block waits for the previous kernel, and does not sweep if *done is not 0. The matrix, but for columns outside the
   block, is read from the block that this one is like */
template <typename T, bool WHOLE, int PAIRS, bool ALL, int PRODUCTS, bool ZERO, int OUTSIDE>
static __device__ __forceinline__ void VisitBlock(const BAILevelView<T> &L, const VisitHow<T> &how, T *below, int block,
                                                  int t, int team, VisitRoom<T, OUTSIDE> &room, bool follow,
                                                  const int *done)
{
  const int                        first = L.full ? block * BAI_LEVELS_BLOCK : L.first[block];
  const int                        size = L.full ? BAI_LEVELS_BLOCK : L.first[block + 1] - first, p = first + t;
  const bool                       mine      = t < size;
  const bool                       from_zero = ZERO || how.from_zero || PRODUCTS;
  constexpr bool                   modes     = WHOLE && !ALL && !PRODUCTS; /* there may be some */
  const int                        like      = L.like ? L.like[block] : block;
  const int                        from      = L.full ? like * BAI_LEVELS_BLOCK : L.first[like];
  const InsideOfRow<T, PAIRS, ALL> inside(L, like * BAI_TEAMS + t / BAI_TEAM, t);
  OutsideOfBlock<T, OUTSIDE>       outside(L, first, from, size, t, !from_zero);
  T                                b = T(0), g, x = T(0);
  int                              aggregate = 0;
  Range rows = RowsAbove(how, p, mine); /* of the level above, or of the aggregate in the block */

  if (how.restricts && !(modes && L.modes) && L.aggregate[block] + t < L.aggregate[block + 1]) {
    aggregate = L.aggregate[block] + t;
    rows      = {L.child[aggregate] - first, L.child[aggregate + 1] - first};
  }
  const RowOfVisit<T> at(L, how, p, mine, from + t);
  T                   finer = T(0);

  if constexpr (PRODUCTS > 0) {
    if (how.finer.child)
      finer = OutsideOfAggregates<T, WHOLE, PRODUCTS>(how.finer, first, size, t, team, reinterpret_cast<T *>(&room),
                                                      follow);
  } else if (follow) BAIFollow();
  const int stop = follow && done ? *done : 0; /* needed only later, so that no load waits for it */

  if (mine && how.r) {
    b      = T(how.r[at.row] * how.factors[0]);
    L.b[p] = b;
  } else if (mine) b = L.b[p];
  if (PRODUCTS && mine) {
    b -= finer;
    L.b[p] = b;
  }
  g = b;
  if (!from_zero) {
    if (mine) x = L.x[p];
    g += at.extra * x;
    g -= outside.template Sum<WHOLE>(L, L.x, t, team, room.product);
  } else x = at.dinv * g;

  if (stop) return;
  x = SweepBlock<WHOLE>(inside, x, g, at.d + at.extra, at.dinv, from_zero ? 1 : 0, how.sweeps, t, team, room);
  if (mine) {
    if (how.u) how.u[at.row] = x;
    else if (how.z) how.z[at.row] = BAIScalar(x) * how.factors[1];
    else L.y[p] = x;
    if (how.above) AddAbove(how.above, rows.begin, rows.end, x);
  }
  if (!how.restricts) return;
  const ResidualOfBlock<T> residual = ResidualInBlock<WHOLE>(inside, x, b - at.d * x, t, team, room);

  if (modes && L.modes) RestrictModes(L, below, residual, block, first, t);
  else RestrictBlock(below, residual, aggregate, rows);
}

/* Subtracts the products with entries outside blocks of the finer level from b of m aggregates: LANES threads of a warp
   for each aggregate, which meanwhile fetch where the entries of their next one are. follow, done: as for VisitBlock().
   thread is the number of this one among threads */
template <int LANES, typename T>
static __device__ __forceinline__ void TakeOff(const FinerLevel<T> &F, int m, T *b, int thread, int threads,
                                               bool follow, const int *done)
{
  enum {
    AT_ONCE = 4
  };
  const int lane = thread % LANES, step = threads / LANES;
  int c = thread / LANES, begin = c < m ? F.out_first[F.child[c]] : 0, end = c < m ? F.out_first[F.child[c + 1]] : 0;

  if (follow) BAIFollow();
  const int stop = follow && done ? *done : 0;

  for (int first = thread / BAI_TEAM * (BAI_TEAM / LANES); first < m; first += step, c += step) { /* all lanes stay */
    const int next = c + step, next_begin = next < m ? F.out_first[F.child[next]] : 0,
              next_end = next < m ? F.out_first[F.child[next + 1]] : 0;
    const T sum        = SumOfLanes<LANES>(SumOfProducts<AT_ONCE>(F.out_j, F.out_a, F.x, begin + lane, end, LANES));

    if (stop) return;
    if (!lane && c < m) b[c] -= sum;
    begin = next_begin;
    end   = next_end;
  }
}

/* Row i of A^{-1} b on the last level, by a warp, in all lanes */
template <typename T>
static __device__ inline T ExactRow(int m, const T *inverse, const T *b, int i)
{
  T sum = T(0);

  for (int j = (int)threadIdx.x % BAI_TEAM; j < m; j += BAI_TEAM) sum += inverse[i * m + j] * b[j];
  return cub::ShuffleIndex<BAI_TEAM>(SumOfLanes<BAI_TEAM>(sum), 0, ~0u);
}

/* The arrays of a level as kernels see them, with numbers of type T */
template <typename T>
static BAILevelView<T> ViewOf(BAILevelsState state, int l)
{
  const BAIDeviceLevel *D = &state->level[l];
  BAILevelView<T>       L = {};

  L.n         = D->A.n;
  L.m         = D->m;
  L.blocks    = D->blocks;
  L.full      = D->blocks * BAI_LEVELS_BLOCK == D->A.n;
  L.pairs     = D->pairs;
  L.first     = D->first;
  L.aggregate = D->block_aggregate;
  L.child     = D->child;
  L.slice     = D->slice;
  L.in_j      = D->in_j;
  L.in_a      = static_cast<const BAIPair<T> *>(D->in_a);
  L.like      = D->alike ? D->like : NULL;
  L.out_first = D->out_first;
  L.out_j     = D->out_j;
  L.out_a     = static_cast<const T *>(D->out_a);
  L.d         = static_cast<const T *>(D->d);
  L.dinv      = static_cast<const T *>(D->dinv);
  L.extra     = D->extra ? static_cast<const T *>(D->e) : NULL;
  L.modes     = D->p ? state->p.modes : 0;
  L.P         = static_cast<const T *>(D->p);
  L.has_long  = D->outside > BAI_LONG_OUTSIDE * (long long)D->A.n ||
    (L.modes && D->A.nnz > BAI_LONG_OF_MODES * (long long)D->A.n);
  L.has_many = D->outside > BAI_MANY_OUTSIDE * (long long)D->m || L.modes;
  L.b        = static_cast<T *>(D->b);
  L.x        = static_cast<T *>(D->x);
  L.y        = static_cast<T *>(D->y);
  return L;
}

/* A level as the finer level of the next one, after its visit, which has computed x */
template <typename T>
static __host__ __device__ __forceinline__ FinerLevel<T> FinerOf(const BAILevelView<T> &L, const T *x)
{
  return {L.child, L.out_first, L.out_j, L.out_a, x, L.has_many, L.modes, L.P};
}

/* FinerOf() for level l, whose new x is in x */
template <typename T>
static FinerLevel<T> FinerAfterVisit(BAILevelsState state, int l)
{
  const BAILevelView<T> L = ViewOf<T>(state, l);

  return FinerOf(L, static_cast<const T *>(L.x));
}
