/*
   Equal rows and equal blocks on a device. In a grid with constant coefficients most rows have the same entries at the
   same distances from the diagonal, and most blocks of a level store the same numbers. Products and visits read one of
   them, which stays in cache, in the place of all. Only equal data replace each other, so each row's product and each
   block's visit is the same to the bit
*/
#include "visit.h"
#include "../../common/cuda/warp.h"
#include "../../common/hash.h"
#include <string.h>

enum {
  THREADS = 256,
  PROBES  = 16 /* slots in which a hash is looked for */
};

using View = BAILevelView<BAISingle>;

/* Rows or blocks that are alike: their hash, or 0, and the number of one of them */
struct Slot {
  unsigned long long hash;
  int                number;
};

/* The kinds of rows or blocks: their number, and how many rows or blocks are of no kind */
struct Kinds {
  Slot slot[BAI_ALIKE_SLOTS];
  int  count, none;
};

/* The bits of a number, in 32-bit words */
template <typename N>
struct Words {
  enum {
    COUNT = (sizeof(N) + sizeof(unsigned) - 1) / sizeof(unsigned)
  };
  unsigned of[COUNT];

  __device__ __forceinline__ Words(const N &number) : of{} { memcpy(of, &number, sizeof(number)); }
};

/* Adds the bits of numbers to a hash, with fewer operations than BAIHash(), as the numbers are compared afterwards */
struct Hash {
  uint64_t hash;

  template <typename N>
  __device__ __forceinline__ bool operator()(const N &number, const N &)
  {
    const Words<N> words(number);

#pragma unroll
    for (unsigned word : words.of) {
      hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
      hash ^= hash >> 32;
    }
    return true;
  }
};

/* Compares the bits of two numbers */
struct Compare {
  template <typename N>
  __device__ __forceinline__ bool operator()(const N &a, const N &b) const
  {
    const Words<N> one(a), other(b);
    bool           same = true;

#pragma unroll
    for (int k = 0; k < (int)Words<N>::COUNT; k++) same = same && one.of[k] == other.of[k];
    return same;
  }
};

/* Whether too many of all rows or blocks are of no kind */
static __host__ __device__ inline bool AreTooMany(int none, int all)
{
  return none > all / BAI_ALIKE_PART;
}

/* AreTooMany() so far, in the view of this thread */
static __device__ inline bool AreTooManyNow(const Kinds *kinds, int all)
{
  return AreTooMany(*(const volatile int *)&kinds->none, all);
}

/* Returns the slot for a hash, in which the first to bring it stores its number; -1: there is none */
static __device__ inline int SlotFor(Kinds *kinds, uint64_t hash, int number)
{
  const unsigned long long key = hash ? hash : 1;

  for (int k = 0; k < PROBES; k++) {
    const int          at   = (int)((key + (unsigned)k) % BAI_ALIKE_SLOTS);
    Slot              *slot = &kinds->slot[at];
    unsigned long long old  = slot->hash;

    if (!old) {
      if (kinds->count >= BAI_ALIKE_KINDS) return -1;
      old = atomicCAS(&slot->hash, 0ull, key);
      if (!old) {
        slot->number = number;
        atomicAdd(&kinds->count, 1);
        return at;
      }
    }
    if (old == key) return at;
  }
  return -1;
}

/* Calls use(number of row, number of like) for the numbers of both rows that must be equal, until it returns false;
   whether it never did */
template <typename Use>
static __device__ inline bool WithRow(const BAIRows &A, int row, int like, Use &use)
{
  const int begin = A.i[row], count = A.i[row + 1] - begin, other = A.i[like];

  if (!use(count, A.i[like + 1] - other)) return false;
  for (int k = 0; k < count; k++)
    if (!use(A.j[begin + k] - row, A.j[other + k] - like) || !use(A.a[begin + k], A.a[other + k])) return false;
  return true;
}

/* WithRow() for the data of row t of two blocks of a level */
template <typename Use>
static __device__ inline bool WithBlocks(const View &L, int block, int like, int t, Use &use)
{
  const int first = L.first[block], other = L.first[like], size = L.first[block + 1] - first;
  const int slice = block * BAI_TEAMS + t / BAI_TEAM, slike = like * BAI_TEAMS + t / BAI_TEAM,
            pairs    = L.slice[slice + 1] - L.slice[slice];
  const long long at = (long long)L.slice[slice] * BAI_TEAM + t % BAI_TEAM,
                  to = (long long)L.slice[slike] * BAI_TEAM + t % BAI_TEAM;
  const int p = first + t, q = other + t;

  if (!use(size, L.first[like + 1] - other) || !use(pairs, L.slice[slike + 1] - L.slice[slike])) return false;
  for (int k = 0; k < pairs * BAI_TEAM; k += BAI_TEAM) {
    const BAIPair<BAISingle> a = L.in_a[at + k], b = L.in_a[to + k];

    if (!use(L.in_j[at + k], L.in_j[to + k]) || !use(a.first, b.first) || !use(a.second, b.second)) return false;
  }
  if (t >= size) return true;
  const int begin = L.out_first[p], count = L.out_first[p + 1] - begin, obegin = L.out_first[q];

  if (!use(count, L.out_first[q + 1] - obegin)) return false;
  for (int k = 0; k < count; k++)
    if (!use(L.out_a[begin + k], L.out_a[obegin + k])) return false;
  return use(L.d[p], L.d[q]) && use(L.dinv[p], L.dinv[q]) && use(L.extra[p], L.extra[q]);
}

/* Finds the slot of each row, a thread for each, unless too many rows are of no kind */
static __global__ __launch_bounds__(THREADS) void FindRows(BAIRows A, Kinds *kinds, unsigned short *kind)
{
  const long long row  = blockIdx.x * (long long)THREADS + threadIdx.x;
  bool            none = false;

  if (__syncthreads_or(AreTooManyNow(kinds, A.n))) return;
  if (row < A.n) {
    Hash hash = {0};

    WithRow(A, (int)row, (int)row, hash);
    const int slot = SlotFor(kinds, hash.hash, (int)row);

    none      = slot < 0;
    kind[row] = (unsigned short)(none ? BAI_ALIKE_NONE : slot);
  }
  const int nones = __syncthreads_count(none);

  if (!threadIdx.x && nones) atomicAdd(&kinds->none, nones);
}

/* Compares each row with the one in its slot, and stores where the entries of each kind are */
static __global__ __launch_bounds__(THREADS) void CompareRows(BAIRows A, Kinds *kinds, unsigned short *kind,
                                                              BAIAlikeRow *of)
{
  const long long row = blockIdx.x * (long long)THREADS + threadIdx.x;

  if (row >= A.n || AreTooManyNow(kinds, A.n) || kind[row] == BAI_ALIKE_NONE) return;
  const int like = kinds->slot[kind[row]].number;
  Compare   compare;

  if (like == row) of[kind[row]] = {A.i[row], A.i[row + 1], like};
  else if (!WithRow(A, (int)row, like, compare)) {
    kind[row] = BAI_ALIKE_NONE;
    atomicAdd(&kinds->none, 1);
  }
}

/* Finds the slot of each block of a level, by a thread block for each, unless too many are of no kind */
static __global__ __launch_bounds__(BAI_LEVELS_BLOCK) void FindBlocks(View L, Kinds *kinds, int *like)
{
  const int block = (int)blockIdx.x;
  Hash      hash  = {threadIdx.x};

  if (__syncthreads_or(AreTooManyNow(kinds, L.blocks))) return;
  WithBlocks(L, block, block, (int)threadIdx.x, hash);
  const unsigned long long sum = BAISumOfBlock<BAI_LEVELS_BLOCK>((unsigned long long)BAIHash(hash.hash));

  if (threadIdx.x) return;
  like[block] = SlotFor(kinds, sum, block);
  if (like[block] < 0) atomicAdd(&kinds->none, 1);
}

/* Compares each block with the one in its slot, which it is then like, unless they differ. unlike grows by the number
   of blocks whose own data are read */
static __global__ __launch_bounds__(BAI_LEVELS_BLOCK) void CompareBlocks(View L, const Kinds *kinds, int *like,
                                                                         int *unlike)
{
  const int block = (int)blockIdx.x;

  if (AreTooMany(kinds->none, L.blocks)) {
    if (!block && !threadIdx.x) *unlike = L.blocks;
    return;
  }
  const int slot = like[block], other = slot < 0 ? block : kinds->slot[slot].number;
  Compare   compare;
  const int same = __syncthreads_and(other == block || WithBlocks(L, block, other, (int)threadIdx.x, compare));

  if (threadIdx.x) return;
  like[block] = same ? other : block;
  if (!same || other == block) atomicAdd(unlike, 1);
}

/* Looks for equal blocks of a level */
static BAIStatus LikeBlocks(BAILevelsState state, int l, int *unlike)
{
  BAIDeviceLevel *L    = &state->level[l];
  View            view = ViewOf<BAISingle>(state, l);
  BAIRoom         room;
  Kinds          *kinds;

  if (view.has_long) return BAIStatusOf(BAI_OK);
  if (!L->like) BAITry(BAIKeep(state, (size_t)L->blocks, &L->like));
  BAITry(room.Get(state, 1, &kinds));
  CUDATry(cudaMemsetAsync(kinds, 0, sizeof(*kinds), state->s.stream));
  view.extra = static_cast<const BAISingle *>(L->e);
  FindBlocks<<<(unsigned)L->blocks, BAI_LEVELS_BLOCK, 0, state->s.stream>>>(view, kinds, L->like);
  CompareBlocks<<<(unsigned)L->blocks, BAI_LEVELS_BLOCK, 0, state->s.stream>>>(view, kinds, L->like, unlike);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAILikeBlocks(BAILevelsState state, int count, BAIPlaced *found)
{
  for (int l = 0; l < count && state->single; l++) {
    BAIDeviceLevel *L = &state->level[l];

    if (L->A.n < BAI_ALIKE_ROWS) continue;
    const BAIStatus status = LikeBlocks(state, l, &found[l].unlike);

    if (status.code == BAI_ERR_MEMORY) BAIDrop(state, (size_t)L->blocks, &L->like); /* it works without */
    else BAITry(status);
  }
  return BAIStatusOf(BAI_OK);
}

bool BAIBlocksAreAlike(const BAIDeviceLevel *L, int unlike)
{
  return L->like && !AreTooMany(unlike, L->blocks);
}

/* BAILikeRows() that may fail for lack of memory */
static BAIStatus LikeRows(BAILevelsState state, const BAIRows &A)
{
  const unsigned grid = BAIGrid(A.n, THREADS).x;
  BAIRoom        room;
  Kinds         *kinds;
  int            found[2]; /* kinds, and rows of none */

  if (!state->row_kind) BAITry(BAIKeep(state, (size_t)A.n, &state->row_kind));
  if (!state->row_of_kind) BAITry(BAIKeep(state, BAI_ALIKE_SLOTS, &state->row_of_kind));
  BAITry(room.Get(state, 1, &kinds));
  CUDATry(cudaMemsetAsync(kinds, 0, sizeof(*kinds), state->s.stream));
  FindRows<<<grid, THREADS, 0, state->s.stream>>>(A, kinds, state->row_kind);
  CompareRows<<<grid, THREADS, 0, state->s.stream>>>(A, kinds, state->row_kind, state->row_of_kind);
  CUDATry(cudaGetLastError());
  BAITry(BAIDownload(&state->s, 2, &kinds->count, found));
  /* the order of threads must not decide how sums are made: if there are so few kinds, each gets a slot in any order */
  if (found[0] <= BAI_ALIKE_ROW_KINDS && !found[1]) state->alike = {state->row_kind, state->row_of_kind};
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAILikeRows(BAILevelsState state, const BAIRows &A)
{
  state->alike = {};
  if (A.n < BAI_ALIKE_ROWS || A.nnz > (int64_t)BAI_LONG_IN_PRODUCT * A.n) return BAIStatusOf(BAI_OK);
  const BAIStatus status = LikeRows(state, A);

  return status.code == BAI_ERR_MEMORY ? BAIStatusOf(BAI_OK) : status; /* it works without */
}
