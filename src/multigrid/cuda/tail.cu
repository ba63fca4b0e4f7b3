/*
   The tail of a cycle on a device: one launch does all small levels, by a cluster of thread blocks that synchronize
   between steps; on devices without clusters by one thread block
*/
#include "visit.h"
#include <cooperative_groups.h>

/* Finds the levels that one launch does: small ones, except the first, whose vectors are the caller's. With modes only
   the last one */
void BAIFindTail(BAILevelsState state)
{
  state->tail = state->levels;
  while (state->inverse && state->tail > 1 && state->level[state->tail - 1].A.n <= BAI_LEVELS_SMALL &&
         state->levels - state->tail < (state->p.modes ? 1 : BAI_TAIL_LEVELS))
    state->tail--;
}

/* Barrier of all threads of the cluster, or of the only thread block */
static __device__ __forceinline__ void Everyone()
{
  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (cooperative_groups::this_cluster().sync();), (__syncthreads();));
}

/* x = A^{-1} b, prolonged to x of the level above unless it is NULL */
template <typename T>
static __device__ inline void Exact(const BAILevelView<T> &L, const T *inverse, T *above, const int *above_child,
                                    int warp, int warps)
{
  for (int i = warp; i < L.n; i += warps) {
    const T x = ExactRow(L.n, inverse, L.b, i);

    if (above)
      for (int k = above_child[i] + (int)(threadIdx.x % BAI_TEAM); k < above_child[i + 1]; k += BAI_TEAM) above[k] += x;
    else if (threadIdx.x % BAI_TEAM == 0) L.x[i] = x;
  }
}

/* Arguments of the tail: its levels, the last of which is solved exactly */
template <typename T>
struct TailHow {
  BAILevelView<T> level[BAI_TAIL_LEVELS];
  FinerLevel<T>   finer; /* the level above; its child is NULL if its residual is complete */
  const T        *inverse;
  int             last, sweeps;
  T              *above; /* as in VisitHow */
  const int      *above_child;
};

/* The level above level l of the tail after its visit: its new x is in y */
template <typename T>
static __device__ __forceinline__ FinerLevel<T> FinerOf(const TailHow<T> &how, int l)
{
  if (!l) return how.finer;
  const BAILevelView<T> &L = how.level[l - 1];

  return {L.child, L.out_first, L.out_j, L.out_a, L.y, L.has_many, L.modes, L.P};
}

/* Does a cycle from zero on a few small levels, by a cluster of thread blocks whose teams do one block at a time; x of
   the first of them is prolonged to how.above, or with modes left in x */
template <typename T>
static __global__ __launch_bounds__(BAI_TAIL_THREADS) void TailCycle(const __grid_constant__ TailHow<T> how,
                                                                     const int                         *done)
{
  enum {
    TEAMS = BAI_TAIL_THREADS / BAI_LEVELS_BLOCK
  };
  __shared__ __align__(16) unsigned char rooms[TEAMS * sizeof(VisitRoom<T>)];
  const int team = (int)threadIdx.x / BAI_LEVELS_BLOCK, t = (int)threadIdx.x % BAI_LEVELS_BLOCK;
  const int begin = (int)blockIdx.x + team * (int)gridDim.x, step = (int)gridDim.x * TEAMS;
  const int warp     = ((int)blockIdx.x * BAI_TAIL_THREADS + (int)threadIdx.x) / BAI_TEAM,
            warps    = (int)gridDim.x * BAI_TAIL_THREADS / BAI_TEAM;
  VisitRoom<T> &room = reinterpret_cast<VisitRoom<T> *>(rooms)[team];

  Trigger();
  BAIFollow();
  if (done && *done) return;
  for (int l = 0; l < how.last; l++) { /* down */
    const BAILevelView<T> &L     = how.level[l];
    const FinerLevel<T>    finer = FinerOf(how, l);
    VisitHow<T>            v     = {};

    if (finer.has_many) {
      TakeOff(finer, L.n, L.b, warp, warps);
      Everyone();
    } else v.finer = finer;
    v.from_zero = v.restricts = 1;
    v.sweeps                  = how.sweeps;
    for (int b = begin; b < L.blocks; b += step) {
      VisitBlock<T, false, BAI_PAIRS_MORE, BAI_TAIL_AT_ONCE>(L, v, how.level[l + 1].b, b, t, team, room, false, NULL);
      Meet<false>(team);
    }
    Everyone();
  }
  const BAILevelView<T> &last  = how.level[how.last];
  const FinerLevel<T>    finer = FinerOf(how, how.last);

  if (finer.has_many) TakeOff(finer, last.n, last.b, warp, warps);
  for (int c = begin * BAI_LEVELS_BLOCK; c < last.n && finer.child && !finer.has_many; c += step * BAI_LEVELS_BLOCK) {
    const int count = last.n - c < BAI_LEVELS_BLOCK ? last.n - c : BAI_LEVELS_BLOCK;
    const T   sum   = OutsideOfAggregates<T, false, BAI_TAIL_AT_ONCE>(finer, c, count, t, team,
                                                                  reinterpret_cast<T *>(&room), false);

    if (t < count) last.b[c + t] -= sum;
  }
  Everyone();
  Exact(last, how.inverse, how.last ? how.level[how.last - 1].y : how.above,
        how.last ? how.level[how.last - 1].child : how.above_child, warp, warps);
  for (int l = how.last - 1; l >= 0; l--) { /* up, with x and y exchanged */
    BAILevelView<T> L = how.level[l];
    VisitHow<T>     v = {};
    T              *x = L.x;

    L.x           = L.y;
    L.y           = x;
    v.sweeps      = how.sweeps;
    v.above       = l ? how.level[l - 1].y : how.above;
    v.above_child = l ? how.level[l - 1].child : how.above_child;
    Everyone();
    for (int b = begin; b < L.blocks; b += step) {
      VisitBlock<T, false, BAI_PAIRS_MORE, 0>(L, v, NULL, b, t, team, room, false, NULL);
      Meet<false>(team);
    }
  }
}

/* Launches the part of a cycle from level l on, with numbers of type T */
template <typename T>
static BAIStatus Tail(BAILevelsState state, int l, const int *done)
{
  TailHow<T>          how          = {};
  cudaLaunchAttribute attribute[2] = {};
  cudaLaunchConfig_t  config;
  const bool          cluster = state->s.follows;

  how.last    = state->levels - 1 - l;
  how.inverse = static_cast<const T *>(state->inverse);
  how.sweeps  = (int)state->p.local_iters;
  if (!state->p.modes) {
    how.finer = FinerAfterVisit<T>(state, l - 1);
    if (how.finer.has_many) how.finer = {};
    how.above = static_cast<T *>(state->level[l - 1].x);
  }
  how.above_child = state->level[l - 1].child;
  for (int k = l; k < state->levels; k++) how.level[k - l] = ViewOf<T>(state, k);
  config = BAIConfigOf(dim3(cluster ? BAI_TAIL_BLOCKS : 1), BAI_TAIL_THREADS, 0, state->s.stream, cluster, attribute);
  attribute[1].id               = cudaLaunchAttributeClusterDimension;
  attribute[1].val.clusterDim.x = BAI_TAIL_BLOCKS;
  attribute[1].val.clusterDim.y = 1;
  attribute[1].val.clusterDim.z = 1;
  config.numAttrs               = cluster ? 2 : 0;
  CUDATry(cudaLaunchKernelEx(&config, TailCycle<T>, how, done));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceTail(BAILevelsState state, int l, const int *done)
{
  return state->single ? Tail<BAISingle>(state, l, done) : Tail<BAIScalar>(state, l, done);
}
