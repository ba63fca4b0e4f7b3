/*
   The tiles that each tile waits for in modes sync and color: tiles it reads from, before it reads, and tiles that read
   from it, before it overwrites their input. And the order of tiles in turns or in a queue: by colour, so that tiles at
   work at the same time are not neighbours
*/
#include "../coloring.h"
#include "iterate.h"
#include "../../common/cuda/scan_sort.h"
#include <algorithm>
#include <limits.h>
#include <memory>

enum {
  WORDS = 8192, /* words of the bit set in shared memory, with one bit for each tile searched at a time */
  GRID  = 4096
};

typedef BAIKey Pair; /* a tile, and in the lower bits a tile to wait for */

/* Calls mark for each column outside its block of a tile's rows, and with -1 for padding, but not for long rows */
template <typename Mark>
static __device__ __forceinline__ void MarkSlices(const BAISliced &A, int tile, const Mark &mark)
{
  enum {
    AHEAD = 8 /* entries of a row loaded ahead */
  };

  for (int at = threadIdx.x; at < A.tile_slices * BAI_LANES; at += blockDim.x) {
    const int        slice = tile * A.tile_slices + at / BAI_LANES, row = BAIRowAt(A, tile, at);
    const BAIOutside o     = BAIOutsideOf(A, A.slice[slice], slice, at % BAI_LANES);
    const int        width = row < 0 ? 0 : o.width;

    for (int k = 0; k < width; k += AHEAD) {
      int col[AHEAD];

#pragma unroll
      for (int w = 0; w < AHEAD; w++)
        col[w] = k + w < width && !BAIIsNoEntry(BAIValue(A, A.off_a, o.a + (long long)(k + w) * o.step))
          ? BAIColumn(A, o.by_delta, row, A.off_j[o.j + (long long)(k + w) * o.step_j])
          : -1;
#pragma unroll
      for (int w = 0; w < AHEAD; w++) mark(col[w]);
    }
  }
}

/* Calls mark for the long rows, whose entries are contiguous */
template <typename Mark>
static __device__ __forceinline__ void MarkLongRows(const BAISliced &A, int tile, const Mark &mark)
{
  const int slice0 = tile * A.tile_slices, first = A.long_first ? A.long_first[slice0] : 0,
            last = A.long_first ? A.long_first[slice0 + A.tile_slices] : 0;

  if (first >= last) return;
  const BAIPiece  end    = A.piece[A.long_row[last - 1].last - 1]; /* all entries of the rows are contiguous */
  const long long behind = end.first + end.size;

#pragma unroll 4
  for (long long at = A.piece[A.long_row[first].first].first + threadIdx.x; at < behind; at += blockDim.x)
    mark(A.rest_j[at]);
}

/* Finds the tiles that each tile reads from, by entries and rows of overlaps, without repetition, as pairs in both
   orders. Returns their number in *pairs_found, and writes those that fit in room. Gives up beyond the limit */
static __global__ void Readers(BAISliced A, int bits, unsigned long long room, unsigned long long limit,
                               unsigned long long *pairs_found, Pair *pairs)
{
  extern __shared__ unsigned    map[];
  __shared__ unsigned           found;
  __shared__ unsigned long long begin;
  __shared__ bool               too_many;
  const int                     words = min(WORDS, (A.tiles + 31) / 32);

  for (int w = threadIdx.x; w < words; w += blockDim.x) map[w] = 0;
  for (int tile = blockIdx.x; tile < A.tiles; tile += gridDim.x) {
    if (limit < ULLONG_MAX) {
      __syncthreads();
      if (!threadIdx.x) too_many = *(volatile unsigned long long *)pairs_found > limit;
      __syncthreads();
      if (too_many) return;
    }
    for (int window = 0; window < A.tiles; window += words * 32) {
      const auto mark = [&](int row) { /* a row or a column */
                                       const int other = (unsigned)row < (unsigned)A.n
                                         ? (A.row ? A.place[row] : row) / A.tile_rows - window
                                         : -1;

                                       if (0 <= other && other < words * 32 && other + window != tile &&
                                           !(map[other / 32] >> other % 32 & 1))
                                         atomicOr(map + other / 32, 1u << other % 32);
      };

      if (!threadIdx.x) found = 0;
      __syncthreads();
      MarkSlices(A, tile, mark);
      MarkLongRows(A, tile, mark);
      for (int i = threadIdx.x; A.overlap && i < A.tile_rows; i += blockDim.x) {
        const int own = BAIOwnRowAt(A, tile, i);

        if (own < -1) mark(BAIRowOf(own));
      }
      __syncthreads();
      int mine = 0;

      for (int w = threadIdx.x; w < words; w += blockDim.x) mine += __popc(map[w]);
      unsigned at = mine ? atomicAdd(&found, (unsigned)mine) : 0;

      __syncthreads();
      if (!threadIdx.x && found) begin = atomicAdd(pairs_found, 2ull * found);
      __syncthreads();
      for (int w = threadIdx.x; mine && w < words; w += blockDim.x) {
        for (unsigned bits_left = map[w]; bits_left; bits_left &= bits_left - 1, at++) {
          const Pair               other = (Pair)(window + w * 32 + __ffs(bits_left) - 1);
          const unsigned long long k     = begin + 2 * at;

          if (k + 2 > room) continue;
          pairs[k]     = (Pair)tile << bits | other;
          pairs[k + 1] = other << bits | (Pair)tile;
        }
        map[w] = 0;
      }
    }
  }
}

/* Marks pairs that differ from their predecessor; the scan needs one number more */
static __global__ void MarkDistinct(int n, const Pair *sorted, int *mark)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k <= n) mark[k] = k < n && (!k || sorted[k] != sorted[k - 1]);
}

/* Converts sorted pairs to lists without repetition; distinct[k] is the number of different ones among the first k */
static __global__ void Split(int tiles, int bits, int n, const Pair *pairs, const int *distinct, BAINeighbors neighbors)
{
  const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (k > n) return;
  const int tile = k < n ? (int)(pairs[k] >> bits) : tiles, before = k ? (int)(pairs[k - 1] >> bits) : -1;

  for (int t = before + 1; t <= tile; t++) neighbors.first[t] = distinct[k];
  if (k < n && distinct[k] < distinct[k + 1])
    neighbors.tile[distinct[k]] = (int)(pairs[k] & (((Pair)1 << bits) - 1)) << 1;
}

/* Sets the lowest bit of neighbours whose turn precedes the tile's; a warp for each tile */
static __global__ void MarkBefore(int tiles, BAINeighbors neighbors, const int *rank)
{
  const int tile = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);

  if (tile >= tiles) return;
  for (int k = neighbors.first[tile] + threadIdx.x % BAI_LANES; k < neighbors.first[tile + 1]; k += BAI_LANES) {
    const int neighbor = neighbors.tile[k] >> 1;

    neighbors.tile[k] = neighbor << 1 | (rank[neighbor] < rank[tile]);
  }
}

/* Colours the graph of tiles on the host, as it has about a hundredth of the size of the matrix. Sets order and turns,
   unless they are not needed and tiles have too many neighbours for a queue */
static BAIStatus Color(BAIState state, bool needed)
{
  const int                    tiles = state->A.tiles;
  const std::unique_ptr<int[]> first(new int[tiles + 1]), order(new int[tiles]), rank(new int[tiles]);
  BAITemporary                 rank_device;

  state->turn_first.resize(tiles + 1);
  BAITry(BAIDownload(state, (size_t)tiles + 1, state->neighbors.first, first.get()));
  if (!needed && first[tiles] / 2 / tiles > BAI_QUEUE_NEIGHBORS / 2) return BAIStatusOf(BAI_OK);

  const std::unique_ptr<int[]> lower(new int[first[tiles] + 1]);
  const BAIGraph               graph = {tiles, first.get(), lower.get()};
  int                          n     = 0;

  BAITry(BAIDownload(state, (size_t)first[tiles], state->neighbors.tile, lower.get()));
  for (int tile = 0, k = 0; tile < tiles; tile++) { /* those with a lower number remain */
    const int begin = n;

    for (; k < first[tile + 1]; k++) {
      lower[n] = lower[k] >> 1;
      n += lower[n] < tile;
    }
    first[tile] = begin;
  }
  first[tiles] = n;
  BAITry(BAIColor(&graph, order.get(), rank.get(), state->turn_first.data(), &state->turns, &state->colors));
  BAITry(rank_device.Allocate(state, tiles * sizeof(int)));
  CUDATry(cudaMemcpyAsync(rank_device.p, rank.get(), tiles * sizeof(int), cudaMemcpyHostToDevice, state->stream));
  BAITry(BAILaunchThreads(state->stream, (long long)tiles * BAI_LANES, MarkBefore, tiles, state->neighbors,
                          (const int *)rank_device.p));
  return BAIUpload(state, (size_t)tiles, order.get(), &state->order);
}

/* Finds the *n pairs of Readers(), or gives up beyond the limit; a tile's number has at most bits bits */
static BAIStatus Pairs(BAIState state, int bits, unsigned long long limit, BAITemporary *pairs, unsigned long long *n)
{
  const BAISliced A       = state->A;
  const int       threads = std::min(A.tile_slices * BAI_LANES, (int)BAI_THREADS), grid = std::min(A.tiles, (int)GRID);
  const size_t    shared = std::min((A.tiles + 31) / 32, (int)WORDS) * sizeof(unsigned);
  BAITemporary    counter;
  unsigned long long room = 0;

  BAITry(counter.Allocate(state, sizeof(*n)));
  unsigned long long *found = (unsigned long long *)counter.p;

  for (*n = 32 * (unsigned long long)A.tiles;
       *n > room;) { /* more than most matrices need; otherwise as many as were found */
    room = *n;
    BAITry(pairs->Allocate(state, room * sizeof(Pair)));
    CUDATry(cudaMemsetAsync(found, 0, sizeof(*n), state->stream));
    Readers<<<grid, threads, shared, state->stream>>>(A, bits, room, limit, found, (Pair *)pairs->p);
    CUDATry(cudaGetLastError());
    BAITry(BAIDownload(state, 1, found, n));
    if (*n > limit) break;
  }
  return BAIStatusOf(BAI_OK);
}

/* Finds the neighbours of all tiles. Unless they are needed, a matrix with packed slices and more than
   BAI_QUEUE_NEIGHBORS of them per tile, too many for a queue, gets none: neighbors.first stays NULL */
static BAIStatus FindNeighbors(BAIState state, bool needed)
{
  const auto         limit = needed || !state->A.off_first
            ? ULLONG_MAX
            : 2ull * BAI_QUEUE_NEIGHBORS * (unsigned long long)state->A.tiles; /* each may have been found twice */
  const int          tiles = state->A.tiles;
  int                bits  = 1, all;
  BAITemporary       pairs, distinct;
  unsigned long long found;

  if (!tiles || state->neighbors.first) return BAIStatusOf(BAI_OK);
  while (tiles >> bits) bits++;
  BAITry(Pairs(state, bits, limit, &pairs, &found));
  if (found > limit) return BAIStatusOf(BAI_OK);
  if (found >= INT_MAX) return BAIStatusOf(BAI_ERR_SIZE);
  const int   n      = (int)found;
  Pair *const sorted = (Pair *)pairs.p;

  BAITry(BAISort(state, n, sorted));
  BAITry(distinct.Allocate(state, ((size_t)n + 1) * sizeof(int)));
  int *const before = (int *)distinct.p;

  BAITry(BAILaunchThreads(state->stream, (long long)n + 1, MarkDistinct, n, (const Pair *)sorted, before));
  BAITry(BAIScan(state, (long long)n + 1, before, before));
  BAITry(BAIDownload(state, 1, before + n, &all));
  BAITry(BAICUDAAllocate(state, (size_t)all * sizeof(int), &state->neighbors.tile));
  BAITry(BAICUDAAllocate(state, (tiles + 1) * sizeof(int), &state->neighbors.first));
  return BAILaunchThreads(state->stream, (long long)n + 1, Split, tiles, bits, n, (const Pair *)sorted,
                          (const int *)before, state->neighbors);
}

BAIStatus BAINeighborsCreate(BAIState state)
{
  return FindNeighbors(state, true);
}

BAIStatus BAITurnsCreate(BAIState state, bool needed)
{
  if (!state->A.tiles || state->order) return BAIStatusOf(BAI_OK);
  BAITry(FindNeighbors(state, needed));
  return state->neighbors.first ? Color(state, needed) : BAIStatusOf(BAI_OK);
}
