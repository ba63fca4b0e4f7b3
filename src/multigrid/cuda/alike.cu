/*
   Equal rows and equal blocks on a device. In a grid with constant coefficients most rows have the same entries at the
   same distances from the diagonal, and most blocks of a level store the same numbers. Products and visits read one of
   them, which stays in cache, in the place of all. Only equal data replace each other, so each row's product and each
   block's visit is the same to the bit
*/
#include "visit.h"
#include "alike.h"

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

/* The kinds of rows or blocks: their number; and how many blocks are of no kind or, for rows, whether one is */
struct Kinds {
  Slot slot[BAI_ALIKE_SLOTS];
  int  count, none;
};

/* Returns the slot for a hash, in which the first to bring it stores its number; -1: there are most kinds already,
   or no free slot near */
static __device__ inline int SlotFor(Kinds *kinds, int most, uint64_t hash, int number)
{
  const unsigned long long key = hash ? hash : 1;

  for (int k = 0; k < PROBES; k++) {
    const int          at   = (int)((key + (unsigned)k) % BAI_ALIKE_SLOTS);
    Slot              *slot = &kinds->slot[at];
    unsigned long long old  = slot->hash;

    if (!old) {
      if (kinds->count >= most) return -1;
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

/* Compares the bits of numbers. It never ends early, so that many numbers are fetched at a time */
struct Compare {
  bool same = true;

  template <typename N>
  __device__ __forceinline__ void operator()(const N &a, const N &b)
  {
    const BAIWords<N> one(a), other(b);

#pragma unroll
    for (int k = 0; k < (int)BAIWords<N>::COUNT; k++) same = same & (one.of[k] == other.of[k]);
  }
};

/* Adds the bits of the first one of two numbers to a hash */
struct Hash {
  uint64_t hash = 0;

  template <typename N>
  __device__ __forceinline__ void operator()(const N &number, const N &)
  {
    hash = BAIHashWith(hash, number);
  }
};

/* Calls use(number of row, number of like) for the numbers of both rows that must be equal */
template <typename Use>
static __device__ inline void WithRow(const BAIRows &A, int row, int like, Use &use)
{
  const int begin = A.i[row], count = A.i[row + 1] - begin, other = A.i[like], others = A.i[like + 1] - other;

  use(count, others);
#pragma unroll 4
  for (int k = 0; k < count && k < others; k++) {
    use(A.j[begin + k] - row, A.j[other + k] - like);
    use(A.a[begin + k], A.a[other + k]);
  }
}

/* Compares the data of row t of two blocks of a level */
static __device__ inline bool BlocksAreEqual(const View &L, int block, int like, int t)
{
  const int first = L.first[block], other = L.first[like], size = L.first[block + 1] - first;
  const int slice = block * BAI_TEAMS + t / BAI_TEAM, slike = like * BAI_TEAMS + t / BAI_TEAM,
            pairs = L.slice[slice + 1] - L.slice[slice], others = L.slice[slike + 1] - L.slice[slike];
  const long long at = (long long)L.slice[slice] * BAI_TEAM + t % BAI_TEAM,
                  to = (long long)L.slice[slike] * BAI_TEAM + t % BAI_TEAM;
  const int p = first + t, q = other + t;
  Compare   compare;

  compare(size, L.first[like + 1] - other);
  compare(pairs, others);
#pragma unroll 4
  for (int k = 0; k < (pairs < others ? pairs : others) * BAI_TEAM; k += BAI_TEAM) {
    const BAIPair<BAISingle> a = L.in_a[at + k], b = L.in_a[to + k];

    compare(L.in_j[at + k], L.in_j[to + k]);
    compare(a.first, b.first);
    compare(a.second, b.second);
  }
  if (t >= size || !compare.same) return compare.same;
  const int begin = L.out_first[p], count = L.out_first[p + 1] - begin, obegin = L.out_first[q],
            ocount = L.out_first[q + 1] - obegin;

  compare(count, ocount);
  compare(L.d[p], L.d[q]);
  compare(L.dinv[p], L.dinv[q]);
  compare(L.extra[p], L.extra[q]);
  for (int k = 0; k < count && k < ocount; k++) compare(L.out_a[begin + k], L.out_a[obegin + k]);
  return compare.same;
}

/* Finds the slot of each row, a thread for each, until some row is of no kind */
static __global__ __launch_bounds__(THREADS) void FindRows(BAIRows A, Kinds *kinds, unsigned short *kind)
{
  const long long row = blockIdx.x * (long long)THREADS + threadIdx.x;
  Hash            hash;

  if (row >= A.n || *(const volatile int *)&kinds->none) return;
  WithRow(A, (int)row, (int)row, hash);
  const int slot = SlotFor(kinds, BAI_ALIKE_ROW_KINDS, hash.hash, (int)row);

  if (slot < 0) kinds->none = 1;
  kind[row] = (unsigned short)slot;
}

/* Compares each row with the one in its slot, and stores where the entries of each kind are */
static __global__ __launch_bounds__(THREADS) void CompareRows(BAIRows A, Kinds *kinds, const unsigned short *kind,
                                                              BAIAlikeRow *of)
{
  const long long row = blockIdx.x * (long long)THREADS + threadIdx.x;
  Compare         compare;

  if (row >= A.n || *(const volatile int *)&kinds->none) return;
  const int like = kinds->slot[kind[row]].number;

  if (like == row) of[kind[row]] = {A.i[row], A.i[row + 1], like};
  else WithRow(A, (int)row, like, compare);
  if (!compare.same) kinds->none = 1;
}

/* Finds the slots of the hashes of blocks, a thread for each */
static __global__ __launch_bounds__(THREADS) void FindBlocks(int blocks, const unsigned long long *hash, Kinds *kinds,
                                                             int *like)
{
  const int                block = (int)(blockIdx.x * blockDim.x + threadIdx.x), lane = (int)threadIdx.x % BAI_LANES;
  const unsigned long long mine   = block < blocks ? hash[block] : 0;
  const unsigned           same   = __match_any_sync(~0u, mine); /* the first lane with a hash looks for all */
  const int                leader = __ffs((int)same) - 1;
  int                      slot   = -1;

  if (lane == leader && block < blocks) slot = SlotFor(kinds, BAI_ALIKE_KINDS, mine, block);
  slot = __shfl_sync(~0u, slot, leader);
  if (block < blocks) like[block] = slot;
  const unsigned none = __ballot_sync(~0u, slot < 0 && block < blocks);

  if (!lane && none) atomicAdd(&kinds->none, __popc(none));
}

/* Whether too many of all blocks read their own data */
static __host__ __device__ inline bool AreTooMany(int unlike, int blocks)
{
  return unlike > blocks / BAI_ALIKE_PART;
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
  const int same = __syncthreads_and(other == block || BlocksAreEqual(L, block, other, (int)threadIdx.x));

  if (threadIdx.x) return;
  like[block] = same ? other : block;
  if (!same || other == block) atomicAdd(unlike, 1);
}

bool BAIBlocksAreLookedAt(BAILevelsState state, const BAIDeviceLevel *L)
{
  return state->single && L->A.n >= BAI_ALIKE_ROWS;
}

BAIStatus BAILikeBlocks(BAILevelsState state, int first, int end)
{
  BAIRoom room;
  Kinds  *kinds;

  for (int l = first; l < end; l++) {
    const BAIDeviceLevel *L = &state->level[l];

    if (!L->hash) continue;
    View view = ViewOf<BAISingle>(state, l);

    if (view.has_long) continue;
    view.extra = static_cast<const BAISingle *>(L->e);
    BAITry(room.Get(state, 1, &kinds));
    CUDATry(cudaMemsetAsync(kinds, 0, sizeof(*kinds), state->s.stream));
    FindBlocks<<<BAIGrid(L->blocks, THREADS), THREADS, 0, state->s.stream>>>(L->blocks, L->hash, kinds, L->like);
    CompareBlocks<<<(unsigned)L->blocks, BAI_LEVELS_BLOCK, 0, state->s.stream>>>(view, kinds, L->like,
                                                                                 &state->placed[l].unlike);
    CUDATry(cudaGetLastError());
  }
  return BAIStatusOf(BAI_OK);
}

bool BAIBlocksAreAlike(const BAIDeviceLevel *L, int unlike)
{
  return unlike > 0 && !AreTooMany(unlike, L->blocks);
}

/* BAILikeRows() that may fail for lack of memory */
static BAIStatus LikeRows(BAILevelsState state, const BAIRows &A)
{
  const unsigned grid = BAIGrid(A.n, THREADS).x;
  BAIRoom        room;
  Kinds         *kinds;
  int            found[2]; /* kinds, and whether a row is of none */

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

  if (!state->alike.kind) {
    BAIDrop(state, (size_t)A.n, &state->row_kind);
    BAIDrop(state, BAI_ALIKE_SLOTS, &state->row_of_kind);
  }
  return status.code == BAI_ERR_MEMORY ? BAIStatusOf(BAI_OK) : status; /* it works without */
}
