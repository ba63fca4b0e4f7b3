/*
   The multigrid cycle on a device, which computes what host/cycle.c does

   A visit to a level is one kernel, with a thread for each row, or four if rows are long, and a thread block for each
   block of rows. It reads the matrix once, keeps the entries inside the block in registers for the local sweeps, and
   restricts the residual inside the block. The first visit of the next level, or if rows are long a kernel before it,
   subtracts the products with entries outside blocks, for which all blocks must have their new x. The last visit of a
   level prolongs x to the level above. Kernels fetch constant data while the previous kernel still runs. visit.h and
   visit_long.h have the work in a block
*/
#include "visit_long.h"

/* Number of thread blocks that must fit on a multiprocessor */
static constexpr int LeastBlocks(size_t size, int pairs, bool all, int products, bool zero)
{
  if (size > sizeof(float)) return 6;
  if (products) return 8;
  if (!all) return 9;
  return pairs > BAI_PAIRS_FEW ? 10 : zero ? 16 : 10;
}

/* VisitBlock() with a thread block for each block of the level */
template <typename T, int PAIRS, bool ALL, int PRODUCTS, bool ZERO>
static __global__ __launch_bounds__(BAI_LEVELS_BLOCK, LeastBlocks(sizeof(T), PAIRS, ALL, PRODUCTS, ZERO)) void Visit(
  BAILevelView<T> L, VisitHow<T> how, T *below, const int *done)
{
  using Room                = VisitRoom<T, BAI_OUTSIDE_AT_ONCE>;
  constexpr size_t products = PRODUCTS * BAI_LEVELS_BLOCK * sizeof(T);
  __shared__ __align__(16) unsigned char room[products > sizeof(Room) ? products : sizeof(Room)];

  Trigger();
  VisitBlock<T, true, PAIRS, ALL, PRODUCTS, ZERO>(L, how, below, (int)blockIdx.x, (int)threadIdx.x, 0,
                                                  *reinterpret_cast<Room *>(room), true, done);
}

/* The kernel for a visit from zero, with products of the finer level, or neither */
template <typename T, int PAIRS, bool ALL>
static auto VisitOf(bool zero, bool products)
{
  return products ? Visit<T, PAIRS, ALL, BAI_FINER_AT_ONCE, ALL>
    : zero        ? Visit<T, PAIRS, ALL, 0, ALL>
                  : Visit<T, PAIRS, ALL, 0, false>;
}

/* VisitLongBlock() with a thread block for each block of the level */
template <typename T>
static __global__ __launch_bounds__(BAI_LONG_THREADS,
                                    sizeof(T) > sizeof(float) ? 1 : 2) void VisitLong(BAILevelView<T> L,
                                                                                      VisitHow<T> how, T *below,
                                                                                      const int *done)
{
  __shared__ __align__(16) unsigned char room[sizeof(LongRoom<T>)]; /* bytes, as complex numbers have constructors */

  Trigger();
  VisitLongBlock(L, how, below, (int)blockIdx.x, *reinterpret_cast<LongRoom<T> *>(room), done);
}

/* TakeOff() with a near null space: entries of a row outside its block contribute to all rows of its aggregate on the
   coarse level. Each of m aggregates, of which there is at least one, has team threads: a thread block or a warp. Each
   of the lanes that share a row has a mode. A warp without an aggregate touches no memory, so it need not follow */
template <typename T>
static __device__ __forceinline__ void TakeOffModes(const FinerLevel<T> &F, int m, int team, T *b, const int *done)
{
  enum {
    WARPS = BAI_SOLVE_THREADS / BAI_TEAM,
    LANES = BAI_LONG_ROW_TEAM
  };
  static_assert((int)BAI_LEVELS_MODES <= (int)LANES, "each lane has at most one mode");
  __shared__ __align__(16) unsigned char shared[WARPS * LANES * sizeof(T)];
  T *const  parts = reinterpret_cast<T *>(shared); /* bytes, as complex numbers have constructors */
  const int lane = (int)threadIdx.x % LANES, warp = (int)threadIdx.x / BAI_TEAM, rows = team / LANES,
            thread = (int)threadIdx.x % team, c = (int)(blockIdx.x * (BAI_SOLVE_THREADS / team) + threadIdx.x / team);
  const int end    = c < m ? F.child[c + 1] : 0;
  bool      follow = true;
  T         sum    = T(0);

  for (int first = c < m ? F.child[c] : 0, p = first + thread / LANES; first < end; first += rows, p += rows) {
    const int from = p < end ? F.out_first[p] : 0, to = p < end ? F.out_first[p + 1] : 0;
    const T   P = p < end && lane < F.modes ? Conj(F.P[(long long)p * F.modes + lane]) : T(0);

    if (follow) BAIFollow();
    if (follow && done && *done) return;
    follow       = false;
    const T part = SumOfLanes<LANES>(SumOfProducts<BAI_LONG_AT_ONCE>(F.out_j, F.out_a, F.x, from + lane, to, LANES));

    sum += P * cub::ShuffleIndex<LANES>(part, 0, ~0u);
  }
#pragma unroll
  for (int step = BAI_TEAM / 2; step >= LANES; step /= 2)
    sum += cub::ShuffleDown<BAI_TEAM>(sum, step, BAI_TEAM - 1, ~0u);
  if (team == BAI_TEAM) {
    if (thread < F.modes && c < m) b[(long long)c * F.modes + thread] -= sum;
    return;
  }
  if ((int)threadIdx.x % BAI_TEAM < LANES) parts[warp * LANES + lane] = sum;
  __syncthreads();
  if ((int)threadIdx.x >= F.modes) return;
  T all = T(0);

  for (int w = 0; w < WARPS; w++) all += parts[w * LANES + (int)threadIdx.x];
  b[(long long)c * F.modes + (int)threadIdx.x] -= all;
}

/* TakeOff() or TakeOffModes() as a kernel, before a visit to the coarser level */
template <typename T>
static __global__ __launch_bounds__(BAI_SOLVE_THREADS) void OffAggregates(FinerLevel<T> finer, int m, int team, T *b,
                                                                          const int *done)
{
  const int thread = (int)(blockIdx.x * BAI_SOLVE_THREADS + threadIdx.x), threads = (int)gridDim.x * BAI_SOLVE_THREADS;

  Trigger();
  if (finer.modes) TakeOffModes(finer, m, team, b, done);
  else if (team == BAI_TEAM) TakeOff<BAI_TEAM>(finer, m, b, thread, threads, true, done);
  else TakeOff<BAI_FEW_TEAM>(finer, m, b, thread, threads, true, done);
}

/* Adds over times row p of P times the correction e of its aggregate c to x */
template <typename T>
static __device__ __forceinline__ void AddModesTo(int p, int c, int modes, const void *P, BAIReal over, const void *e,
                                                  void *x)
{
  T sum = T(0);

  for (int k = 0; k < modes; k++)
    sum += static_cast<const T *>(P)[(long long)p * modes + k] * static_cast<const T *>(e)[(long long)c * modes + k];
  static_cast<T *>(x)[p] += T(BAIScalar(over)) * sum;
}

/* Prolongs with modes: x of the level above grows by over P e, where e is x of this level. parent has the aggregate of
   each place, or -1 */
static __global__ __launch_bounds__(BAI_SOLVE_THREADS) void AddModes(bool single, int n, int modes, const int *parent,
                                                                     const void *P, BAIReal over, const void *e,
                                                                     void *x, const int *done)
{
  const int p = (int)(blockIdx.x * BAI_SOLVE_THREADS + threadIdx.x), c = p < n ? parent[p] : -1;

  Trigger();
  BAIFollow();
  if (c < 0 || (done && *done)) return;
  if (single) AddModesTo<BAISingle>(p, c, modes, P, over, e, x);
  else AddModesTo<BAIScalar>(p, c, modes, P, over, e, x);
}

/* Solves the only level exactly, by one thread block: z = A^-1 r, where factors scale r and z; or u if z is NULL */
template <typename T>
static __device__ __forceinline__ void SolveAlone(int m, const void *inverse, const BAIScalar *r, BAIScalar *z, void *u,
                                                  const BAIReal *factors)
{
  __shared__ __align__(16) unsigned char room[BAI_LEVELS_COARSEST * sizeof(T)];
  T *const b = reinterpret_cast<T *>(room); /* bytes, as complex numbers have constructors */

  for (int i = (int)threadIdx.x; i < m; i += (int)blockDim.x) b[i] = T(r[i] * factors[0]);
  __syncthreads();
  for (int i = (int)threadIdx.x / BAI_TEAM; i < m; i += (int)blockDim.x / BAI_TEAM) {
    const T x = ExactRow(m, static_cast<const T *>(inverse), b, i);

    if (threadIdx.x % BAI_TEAM) continue;
    if (z) z[i] = BAIScalar(x) * factors[1];
    else static_cast<T *>(u)[i] = x;
  }
}

/* z or u = A^{-1} r if there is only one level */
static __global__ void ExactAlone(bool single, int m, const void *inverse, const BAIScalar *r, BAIScalar *z, void *u,
                                  const BAIReal *factors, const int *done)
{
  BAIFollow();
  if (done && *done) return;
  if (single) SolveAlone<BAISingle>(m, inverse, r, z, u, factors);
  else SolveAlone<BAIScalar>(m, inverse, r, z, u, factors);
}

template <typename T>
struct Cycle {
  BAILevelsState   state;
  const BAIScalar *r;
  BAIScalar       *z;
  void            *u;
  const int       *done;

  /* Subtracts the products with entries outside the blocks of the finer level from b of level l. An aggregate has
     BAI_FEW_TEAM threads, a warp if aggregates have many such entries, or a thread block with modes and very many */
  BAIStatus DoTakeOff(const FinerLevel<T> &finer, int l) const
  {
    const BAILevelView<T> L    = ViewOf<T>(state, l);
    const int             m    = L.n / BAIColumnsOfP(finer.modes);
    const bool            many = finer.modes && state->level[l - 1].outside > BAI_MANY_OF_MODES * (long long)m;
    const int             team = many ? (int)BAI_SOLVE_THREADS : (int)(finer.has_many ? BAI_TEAM : BAI_FEW_TEAM);

    return BAIFollowWith(state->s, OffAggregates<T>, BAIGrid((long long)m * team, BAI_SOLVE_THREADS), BAI_SOLVE_THREADS,
                         finer, m, team, L.b, done);
  }

  /* Exchanges x of the ghosts of a level */
  BAIStatus Exchange(int l) const
  {
    return state->p.all ? BAIDeviceExchange(state, l, state->level[l].x, done) : BAIStatusOf(BAI_OK);
  }

  /* Visits a level and swaps x and y. ends: it is the last visit for now, and prolongs x to the level above, or on the
     finest level stores it in u, or in z if u is NULL */
  BAIStatus DoVisit(int l, int from_zero, bool restricts, bool ends) const
  {
    BAIDeviceLevel *D     = &state->level[l];
    BAILevelView<T> L     = ViewOf<T>(state, l);
    VisitHow<T>     how   = {};
    T              *below = restricts ? static_cast<T *>(D[1].b) : NULL;
    const bool      finer = l && from_zero;

    if (!from_zero) BAITry(Exchange(l));
    if (!L.n) return restricts ? Exchange(l) : BAIStatusOf(BAI_OK);
    how.from_zero = from_zero;
    how.sweeps    = (int)state->p.local_iters;
    how.restricts = restricts;
    how.factors   = state->factors;
    if (finer) {
      how.finer = FinerAfterVisit<T>(state, l - 1);
      if (how.finer.has_many || L.has_long) {
        BAITry(DoTakeOff(how.finer, l));
        how.finer = {};
      }
    }
    if (!l && from_zero) how.r = r;
    if (!l && ends) {
      how.z = z;
      how.u = static_cast<T *>(u);
    }
    if (!l && (from_zero || ends)) how.row = D->row;
    if (ends && l && !state->p.modes) {
      how.above       = static_cast<T *>(D[-1].x);
      how.above_child = D[-1].child;
    }
    auto kernel  = VisitOf<T, BAI_PAIRS_MORE, false>(from_zero, how.finer.child);
    int  threads = BAI_LEVELS_BLOCK;

    if constexpr (sizeof(T) <= sizeof(float)) { /* in native precision this does not pay off */
      /* kernels for narrow rows know no modes */
      const int widest = L.modes ? INT32_MAX : D->widest;

      if (widest <= BAI_PAIRS_MORE) kernel = VisitOf<T, BAI_PAIRS_MORE, true>(from_zero, how.finer.child);
      if (widest <= BAI_PAIRS_FEW) kernel = VisitOf<T, BAI_PAIRS_FEW, true>(from_zero, how.finer.child);
    }
    if (L.has_long) {
      kernel  = VisitLong<T>;
      threads = BAI_LONG_THREADS;
    }
    BAITry(BAIFollowWith(state->s, kernel, dim3((unsigned)D->blocks), threads, L, how, below, done));
    void *x = D->x;

    D->x = D->y;
    D->y = x;
    if (restricts) BAITry(Exchange(l));
    return ends && l && state->p.modes ? DoAddModes(l) : BAIStatusOf(BAI_OK);
  }

  /* Lets the caller solve its level: computes the residual b, and prolongs the solution */
  BAIStatus DoRest(int l) const
  {
    const bool any = state->level[l].A.n > 0;

    if (any) BAITry(DoTakeOff(FinerAfterVisit<T>(state, l - 1), l));
    BAITry(BAIDeviceRest(state, l, done));
    return state->p.modes && any ? DoAddModes(l) : BAIStatusOf(BAI_OK);
  }

  /* Prolongs x of a level with modes */
  BAIStatus DoAddModes(int l) const
  {
    const BAIDeviceLevel &D     = state->level[l - 1];
    const int             modes = state->p.modes;

    return BAIFollowWith(state->s, AddModes, BAIGrid(D.A.n, BAI_SOLVE_THREADS), BAI_SOLVE_THREADS, state->single != 0,
                         D.A.n, modes, D.parent, D.p, BAIModesOver(state->info.hermitian, modes, state->p.over),
                         state->level[l].x, D.x, done);
  }

  /* Does the small levels from l on in one launch. The level above is larger, so its many entries outside blocks are
     left to the whole device */
  BAIStatus DoTail(int l) const
  {
    const FinerLevel<T> finer = FinerAfterVisit<T>(state, l - 1);

    if (finer.has_many) BAITry(DoTakeOff(finer, l));
    BAITry(BAIDeviceTail(state, l, done));
    return state->p.modes ? DoAddModes(l) : BAIStatusOf(BAI_OK);
  }

  /* Smooths the last level instead of solving it */
  BAIStatus SmoothLast(int l, bool ends) const
  {
    for (int visit = 0; visit < BAI_LEVELS_VISITS; visit++)
      BAITry(DoVisit(l, !visit, false, ends && visit + 1 == BAI_LEVELS_VISITS));
    return BAIStatusOf(BAI_OK);
  }

  /* Does a cycle on level l for its b, from zero or from x, with the result in x; ends: see DoVisit() */
  BAIStatus Run(int l, int from_zero, bool ends) const
  {
    const bool last = l == state->levels - 1;

    if (last && state->ranks.next) return DoRest(l);
    if (l >= state->tail) return DoTail(l);
    if (last && state->inverse)
      return BAIFollowWith(state->s, ExactAlone, dim3(1), BAI_EXACT_THREADS, state->single != 0, state->level[0].A.n,
                           state->inverse, r, z, u, state->factors, done);
    if (last) return SmoothLast(l, ends);
    BAITry(DoVisit(l, from_zero, true, false));
    if (l + 1 < state->levels - 1 &&
        BAIRepeats(state->info.hermitian, state->p.modes, state->p.above + l + 1,
                   state->p.all ? state->level[l + 1].halo.all : state->level[l + 1].A.n)) {
      BAITry(Run(l + 1, 1, false));
      BAITry(Run(l + 1, 0, true));
    } else BAITry(Run(l + 1, 1, true));
    return DoVisit(l, 0, false, ends);
  }
};

/* Does one cycle for r, or two with parameter twice */
template <typename T>
static BAIStatus Cycles(const Cycle<T> &cycle)
{
  const bool twice = cycle.state->p.twice && cycle.state->levels > 1;

  BAITry(cycle.Run(0, 1, !twice));
  return twice ? cycle.Run(0, 0, true) : BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceCycle(BAILevelsState state, const BAIScalar *r, BAIScalar *z, void *u, const int *done)
{
  return state->single ? Cycles(Cycle<BAISingle>{state, r, z, u, done})
                       : Cycles(Cycle<BAIScalar>{state, r, z, u, done});
}
