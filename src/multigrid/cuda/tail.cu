/*
   The tail of a cycle on a device: one thread block does all small levels, in its shared memory. Data that no kernel
   changes are on their way there while the kernels before it still run
*/
#include "visit.h"
#include <cuda_pipeline.h>

enum {
  ARRAYS       = 12,                           /* arrays that a tail copies for each level */
  PIECES       = ARRAYS * BAI_TAIL_LEVELS + 1, /* arrays that it copies at most, with the inverse */
  TAIL_AT_ONCE = 4                             /* entries outside blocks that a thread has in flight */
};

/* An array that is copied to an offset in shared memory */
struct TailPiece {
  const void *from;
  int         to, bytes;
};

/* Arguments of the tail. Pointers in level are offsets in shared memory, see LevelIn(); the last level is solved
   exactly */
template <typename T>
struct TailHow {
  BAILevelView<T> level[BAI_TAIL_LEVELS];
  FinerLevel<T>   finer; /* the level above; its child is NULL if its residual is complete */
  TailPiece       piece[PIECES];
  int             pieces;
  int             inverse;     /* offset of the inverse in shared memory, unless that has no room for it: */
  const T        *far_inverse; /* NULL, or the inverse in global memory */
  int             last, sweeps;
  T              *b, *x; /* of the first of these levels, in global memory */
  T              *above; /* as in VisitHow; NULL with modes, where the solution is left in x */
  const int      *above_child;
};

template <typename T>
struct Tail {
  enum {
    THREADS = sizeof(T) > sizeof(float) ? 512 : 768, /* so that a thread has enough registers */
    TEAMS   = THREADS / BAI_LEVELS_BLOCK
  };
  using Room = VisitRoom<T, TAIL_AT_ONCE>;
};

/* Plans the shared memory of a tail */
template <typename T>
struct TailPlan {
  TailHow<T> how  = {};
  size_t     used = Tail<T>::TEAMS * sizeof(typename Tail<T>::Room);

  /* Returns the offset of room for this number of bytes */
  size_t Take(size_t bytes)
  {
    const size_t at = used;

    used += (bytes + 15) / 16 * 16;
    return at;
  }

  /* Replaces a pointer by its offset in shared memory, and has count numbers copied there, unless it is NULL */
  template <typename U>
  void Bring(const U *&from, long long count)
  {
    if (!from) return;
    const size_t bytes = (size_t)count * sizeof(U), to = Take(bytes);

    how.piece[how.pieces++] = {from, (int)to, (int)bytes};
    from                    = reinterpret_cast<const U *>(to);
  }

  /* Takes levels from l on. most: bytes of shared memory that a thread block may have */
  TailPlan(BAILevelsState state, int l, size_t most)
  {
    const BAIDeviceLevel *D = &state->level[l];

    how.last   = state->levels - 1 - l;
    how.sweeps = (int)state->p.local_iters;
    how.b      = static_cast<T *>(D->b);
    how.x      = static_cast<T *>(D->x);
    if (!state->p.modes) {
      how.finer = FinerAfterVisit<T>(state, l - 1);
      if (how.finer.has_many) how.finer = {};
      how.above = static_cast<T *>(D[-1].x);
    }
    how.above_child = D[-1].child;
    for (int k = 0; k <= how.last; k++, D++) {
      BAILevelView<T> &L    = how.level[k];
      const size_t     size = (size_t)D->A.n * sizeof(T);

      L   = ViewOf<T>(state, l + k);
      L.b = reinterpret_cast<T *>(Take(size));
      if (k == how.last) break;
      L.x = reinterpret_cast<T *>(Take(size));
      L.y = reinterpret_cast<T *>(Take(size));
      Bring(L.first, L.blocks + 1);
      Bring(L.aggregate, L.blocks + 1);
      Bring(L.child, L.m + 1);
      Bring(L.slice, L.blocks * BAI_TEAMS + 1);
      Bring(L.in_j, D->columns * BAI_TEAM);
      Bring(L.in_a, D->columns * BAI_TEAM);
      Bring(L.out_first, L.n + 1);
      Bring(L.out_j, D->outside);
      Bring(L.out_a, D->outside);
      Bring(L.d, L.n);
      Bring(L.dinv, L.n);
      Bring(L.extra, L.n);
    }
    const size_t m       = (size_t)state->level[state->levels - 1].A.n;
    const T     *inverse = static_cast<const T *>(state->inverse);

    if (used + m * m * sizeof(T) > most) how.far_inverse = inverse;
    else {
      Bring(inverse, (long long)(m * m));
      how.inverse = (int)reinterpret_cast<size_t>(inverse);
    }
  }
};

/* A pointer for an offset in shared memory */
template <typename U>
static __device__ __forceinline__ U *At(unsigned char *shared, U *offset)
{
  return reinterpret_cast<U *>(shared + reinterpret_cast<size_t>(offset));
}

/* A level of the tail with pointers to shared memory */
template <typename T>
static __device__ __forceinline__ BAILevelView<T> LevelIn(unsigned char *shared, const BAILevelView<T> &offsets)
{
  BAILevelView<T> L = offsets;

  L.first     = At(shared, L.first);
  L.aggregate = At(shared, L.aggregate);
  L.child     = At(shared, L.child);
  L.slice     = At(shared, L.slice);
  L.in_j      = At(shared, L.in_j);
  L.in_a      = At(shared, L.in_a);
  L.out_first = At(shared, L.out_first);
  L.out_j     = At(shared, L.out_j);
  L.out_a     = At(shared, L.out_a);
  L.d         = At(shared, L.d);
  L.dinv      = At(shared, L.dinv);
  if (L.extra) L.extra = At(shared, L.extra);
  L.b = At(shared, L.b);
  L.x = At(shared, L.x);
  L.y = At(shared, L.y);
  return L;
}

/* Copies arrays to shared memory, a warp for each array, and waits for them */
static __device__ __forceinline__ void BringAll(const TailPiece *piece, int pieces, unsigned char *shared)
{
  enum {
    WIDE   = 16,
    NARROW = 4
  };
  const int lane = (int)threadIdx.x % BAI_TEAM;

  for (int k = (int)threadIdx.x / BAI_TEAM; k < pieces; k += (int)blockDim.x / BAI_TEAM) {
    const char *from  = static_cast<const char *>(piece[k].from);
    char       *to    = reinterpret_cast<char *>(shared) + piece[k].to;
    const int   bytes = piece[k].bytes;

    if ((reinterpret_cast<size_t>(from) | (size_t)bytes) % WIDE)
      for (int at = lane * NARROW; at < bytes; at += BAI_TEAM * NARROW)
        __pipeline_memcpy_async(to + at, from + at, NARROW);
    else
      for (int at = lane * WIDE; at < bytes; at += BAI_TEAM * WIDE) __pipeline_memcpy_async(to + at, from + at, WIDE);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

/* Visits all blocks of a level, a team for each. PRODUCTS and follow as for VisitBlock() */
template <typename T, int PRODUCTS>
static __device__ __forceinline__ void VisitAll(const BAILevelView<T> &L, const VisitHow<T> &v, T *below,
                                                unsigned char *shared, bool follow)
{
  const int t = (int)threadIdx.x % BAI_LEVELS_BLOCK, team = (int)threadIdx.x / BAI_LEVELS_BLOCK;
  auto     &room = reinterpret_cast<typename Tail<T>::Room *>(shared)[team];

  for (int b = team; b < L.blocks; b += Tail<T>::TEAMS) {
    VisitBlock<T, false, BAI_PAIRS_MORE, false, PRODUCTS, false>(L, v, below, b, t, team, room, follow, NULL);
    Meet<false>(team);
  }
}

/* Subtracts the products with entries outside blocks of the finer level from b of n rows, a warp for each row */
template <typename T>
static __device__ __forceinline__ void TakeOffAll(const FinerLevel<T> &finer, int n, T *b)
{
  TakeOff<BAI_TEAM>(finer, n, b, (int)threadIdx.x, (int)blockDim.x, false, NULL);
  __syncthreads();
}

/* x = A^{-1} b, prolonged to x of the level above unless it is NULL */
template <typename T>
static __device__ inline void Exact(int n, const T *b, const T *inverse, T *x, T *above, const int *above_child)
{
  const int lane = (int)threadIdx.x % BAI_TEAM;

  for (int i = (int)threadIdx.x / BAI_TEAM; i < n; i += (int)blockDim.x / BAI_TEAM) {
    const T of_row = ExactRow(n, inverse, b, i);

    if (above)
      for (int k = above_child[i] + lane; k < above_child[i + 1]; k += BAI_TEAM) above[k] += of_row;
    else if (!lane) x[i] = of_row;
  }
}

/* Does a cycle from zero on a few small levels, by one thread block whose teams do one block of rows at a time; x of
   the first of them is prolonged to how.above, or with modes left in how.x */
template <typename T>
static __global__ __launch_bounds__(Tail<T>::THREADS) void TailCycle(const __grid_constant__ TailHow<T> how,
                                                                     const int                         *done)
{
  extern __shared__ __align__(16) unsigned char shared[];
  FinerLevel<T>                                 finer = how.finer;
  T                                            *b     = how.b;

  Trigger();
  BringAll(how.piece, how.pieces, shared);
  if (!how.last || !finer.child) BAIFollow(); /* otherwise VisitBlock() does so */
  for (int l = 0; l < how.last; l++) {        /* down */
    BAILevelView<T> L     = LevelIn(shared, how.level[l]);
    T *const        below = At(shared, how.level[l + 1].b);
    VisitHow<T>     v     = {};

    L.b = b;
    if (l) TakeOffAll(finer, L.n, L.b);
    else v.finer = finer;
    v.from_zero = v.restricts = 1;
    v.sweeps                  = how.sweeps;
    VisitAll<T, TAIL_AT_ONCE>(L, v, below, shared, !l);
    if (!l) BAIFollow(); /* teams without a block have not done so yet */
    __syncthreads();
    finer = FinerOf(L, static_cast<const T *>(L.y));
    b     = below;
  }
  if (done && *done) return;
  const BAILevelView<T> &last = how.level[how.last];
  T *const               rest = At(shared, last.b);

  for (int i = (int)threadIdx.x; i < last.n && !how.last; i += (int)blockDim.x) rest[i] = b[i];
  __syncthreads();
  if (finer.child) TakeOffAll(finer, last.n, rest);
  Exact(last.n, rest, how.far_inverse ? how.far_inverse : reinterpret_cast<const T *>(shared + how.inverse), how.x,
        how.last ? At(shared, how.level[how.last - 1].y) : how.above,
        how.last ? At(shared, how.level[how.last - 1].child) : how.above_child);
  for (int l = how.last - 1; l >= 0; l--) { /* up, with x and y exchanged */
    BAILevelView<T> L = LevelIn(shared, how.level[l]);
    VisitHow<T>     v = {};
    T              *x = L.x;

    L.x = L.y;
    L.y = x;
    if (!l) L.b = how.b;
    v.sweeps      = how.sweeps;
    v.above       = l ? At(shared, how.level[l - 1].y) : how.above;
    v.above_child = l ? At(shared, how.level[l - 1].child) : how.above_child;
    __syncthreads();
    VisitAll<T, 0>(L, v, NULL, shared, false);
  }
}

/* Finds the first level of the tail, with numbers of type T: the last level, and others above it, but not the finest
   one, whose vectors are the caller's. With modes only the last, as the tail restricts without them */
template <typename T>
static BAIStatus FindTail(BAILevelsState state)
{
  const int last = state->levels - 1, first = state->p.modes && last ? last : 1;
  int       device, most;
  size_t    used = 0;

  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  state->most_shared = (size_t)most;
  for (int l = last; l >= first && last - l < BAI_TAIL_LEVELS; l--) {
    const size_t wanted = TailPlan<T>(state, l, state->most_shared).used;

    if (state->level[l].A.n > BAI_TAIL_ROWS || wanted > state->most_shared) break;
    if (l < last && ViewOf<T>(state, l).has_long) break;
    used        = wanted;
    state->tail = l;
  }
  return used ? BAIAllowShared((const void *)TailCycle<T>, used) : BAIStatusOf(BAI_OK);
}

BAIStatus BAIFindTail(BAILevelsState state)
{
  state->tail = state->levels;
  if (!state->inverse) return BAIStatusOf(BAI_OK);
  return state->single ? FindTail<BAISingle>(state) : FindTail<BAIScalar>(state);
}

/* Launches the part of a cycle from level l on, with numbers of type T */
template <typename T>
static BAIStatus Launch(BAILevelsState state, int l, const int *done)
{
  const TailPlan<T>        plan(state, l, state->most_shared);
  cudaLaunchAttribute      following;
  const cudaLaunchConfig_t config = BAIConfigOf(dim3(1), Tail<T>::THREADS, plan.used, state->s.stream, state->s.follows,
                                                &following);

  CUDATry(cudaLaunchKernelEx(&config, TailCycle<T>, plan.how, done));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceTail(BAILevelsState state, int l, const int *done)
{
  return state->single ? Launch<BAISingle>(state, l, done) : Launch<BAIScalar>(state, l, done);
}
