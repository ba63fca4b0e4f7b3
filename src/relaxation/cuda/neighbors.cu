/*
   The tiles that each tile waits for in modes sync and color: tiles it reads from, before it reads, and tiles that read
   from it, before it overwrites their input. And the order of tiles in turns or in a queue: by colour, so that tiles at
   work at the same time are not neighbours
*/
#include "../coloring.h"
#include "iterate.h"
#include "../../common/cuda/scan.h"
#include "../../common/cuda/warp.h"
#include <algorithm>
#include <limits.h>
#include <memory>

enum {
  WORDS = 8192, /* words of the bit set in shared memory, with one bit for each tile searched at a time */
  GRID  = 4096
};

/* The tiles of a window, WORDS*32 of them, that a tile reads from, in ascending order: n numbers, from begin on */
typedef struct {
  unsigned long long begin;
  int                n;
} Reads;

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

/* Finds the tiles that each tile reads from, without repetition: reads[tile*windows + w] has those of window w. Returns
   their number in *found, and stores those that fit in room. Gives up beyond the limit */
static __global__ void FindReads(BAISliced A, int windows, unsigned long long room, unsigned long long limit,
                                 unsigned long long *found, Reads *reads, int *tiles)
{
  extern __shared__ unsigned    map[];
  __shared__ int                of_warp[BAI_THREADS / BAI_LANES];
  __shared__ unsigned long long begin;
  __shared__ bool               too_many;
  const int                     words = min(WORDS, (A.tiles + 31) / 32), warp = (int)threadIdx.x / BAI_LANES,
            each = (words + (int)blockDim.x - 1) / (int)blockDim.x | 1, /* odd, for different banks */
    first_word = (int)threadIdx.x * each, last_word = min(words, first_word + each);

  for (int w = threadIdx.x; w < words; w += blockDim.x) map[w] = 0;
  for (int tile = blockIdx.x; tile < A.tiles; tile += gridDim.x) {
    if (limit < ULLONG_MAX) {
      __syncthreads();
      if (!threadIdx.x) too_many = *(volatile unsigned long long *)found > limit;
      __syncthreads();
      if (too_many) return;
    }
    for (int window = 0; window < windows; window++) {
      const int  first = window * WORDS * 32;
      const auto mark  = [&](int row) { /* a row or a column */
                                       const int other = (unsigned)row < (unsigned)A.n
                                          ? (A.row ? A.place[row] : row) / A.tile_rows - first
                                          : -1;

                                       if (0 <= other && other < words * 32 && other + first != tile &&
                                           !(map[other / 32] >> other % 32 & 1))
                                         atomicOr(map + other / 32, 1u << other % 32);
      };

      __syncthreads();
      MarkSlices(A, tile, mark);
      MarkLongRows(A, tile, mark);
      __syncthreads();
      int n = 0, all = 0;

#pragma unroll 1 /* here and below, so that it takes no more than 72 registers */
      for (int w = first_word; w < last_word; w++) n += __popc(map[w]);
      int at = BAISumBefore(n);

      if (threadIdx.x % BAI_LANES == BAI_LANES - 1) of_warp[warp] = at + n;
      __syncthreads();
#pragma unroll 1
      for (int w = 0; w < (int)blockDim.x / BAI_LANES; w++) {
        if (w < warp) at += of_warp[w];
        all += of_warp[w];
      }
      if (!threadIdx.x) {
        begin = all ? atomicAdd(found, (unsigned long long)all) : 0;

        reads[(size_t)tile * windows + window] = {begin, all};
      }
      __syncthreads();
      for (int w = first_word; w < last_word; w++) {
        for (unsigned bits = map[w]; bits; bits &= bits - 1, at++)
          if (begin + at < room) tiles[begin + at] = first + w * 32 + __ffs(bits) - 1;
        map[w] = 0;
      }
    }
  }
}

/* Whether a tile is among those that another one reads from */
static __device__ inline bool DoesRead(const Reads &reads, const int *read, int tile)
{
  unsigned long long low = reads.begin, high = reads.begin + reads.n;

  while (low < high) {
    const unsigned long long middle = (low + high) / 2;

    if (read[middle] < tile) low = middle + 1;
    else high = middle;
  }
  return low < reads.begin + reads.n && read[low] == tile;
}

/* Makes neighbours of two tiles if one reads from the other, by a warp for each tile that reads: adds to end[tile] the
   number of its neighbours, and stores these from its first value on, if there is memory for them. If two tiles read
   from each other, each of them does so for itself */
static __global__ void Meet(int tiles, int windows, const Reads *reads, const int *read, int *end, int *neighbor)
{
  const int tile = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES),
            lane = threadIdx.x % BAI_LANES;

  if (tile >= tiles) return;
  for (int window = 0; window < windows; window++) {
    const Reads r  = reads[(size_t)tile * windows + window];
    const int   to = BAIOfLane(lane ? 0 : atomicAdd(end + tile, r.n), 0);

    for (int k = lane; k < r.n; k += BAI_LANES) {
      const int other = read[r.begin + k];

      if (neighbor) neighbor[to + k] = other << 1;
      if (DoesRead(reads[(size_t)other * windows + tile / (WORDS * 32)], read, tile)) continue;
      const int back = atomicAdd(end + other, 1);

      if (neighbor) neighbor[back] = tile << 1;
    }
  }
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

/* Finds what tiles read, and the *n numbers of them, or gives up beyond the limit */
static BAIStatus ReadsOfTiles(BAIState state, int windows, unsigned long long limit, Reads *reads, BAITemporary *tiles,
                              unsigned long long *n)
{
  const BAISliced A       = state->A;
  const int       threads = std::min(A.tile_slices * BAI_LANES, (int)BAI_THREADS), grid = std::min(A.tiles, (int)GRID);
  const size_t    shared = std::min((A.tiles + 31) / 32, (int)WORDS) * sizeof(unsigned);
  BAITemporary    counter;
  unsigned long long room = 0;

  BAITry(counter.Allocate(state, sizeof(*n)));
  unsigned long long *found = (unsigned long long *)counter.p;

  for (*n = 16 * (unsigned long long)A.tiles;
       *n > room;) { /* more than most matrices need; otherwise as many as were found */
    room = *n;
    BAITry(tiles->Allocate(state, room * sizeof(int)));
    CUDATry(cudaMemsetAsync(found, 0, sizeof(*n), state->stream));
    FindReads<<<grid, threads, shared, state->stream>>>(A, windows, room, limit, found, reads, (int *)tiles->p);
    CUDATry(cudaGetLastError());
    BAITry(BAIDownload(state, 1, found, n));
    if (*n > limit) break;
  }
  return BAIStatusOf(BAI_OK);
}

/* Finds the neighbours of all tiles. Unless they are needed, a matrix with packed slices and tiles that read from more
   than BAI_QUEUE_NEIGHBORS others on average, too many for a queue, gets none: neighbors.first stays NULL */
BAIStatus BAINeighborsCreate(BAIState state, bool needed)
{
  const int       tiles = state->A.tiles, windows = (tiles + WORDS * 32 - 1) / (WORDS * 32);
  const auto      limit = needed || !state->A.off_first ? ULLONG_MAX : BAI_QUEUE_NEIGHBORS * (unsigned long long)tiles;
  const size_t    bytes = ((size_t)tiles + 1) * sizeof(int);
  const long long warps = (long long)tiles * BAI_LANES; /* one for each tile */
  BAINeighbors   *to    = &state->neighbors;
  int             all;
  unsigned long long found;
  BAITemporary       reads, read, ends;

  if (!tiles || to->first) return BAIStatusOf(BAI_OK);
  BAITry(reads.Allocate(state, (size_t)tiles * windows * sizeof(Reads)));
  BAITry(ReadsOfTiles(state, windows, limit, (Reads *)reads.p, &read, &found));
  if (found > limit) return BAIStatusOf(BAI_OK);
  if (2 * found >= INT_MAX) return BAIStatusOf(BAI_ERR_SIZE); /* as many if no two tiles read from each other */

  BAITry(ends.Allocate(state, bytes));
  CUDATry(cudaMemsetAsync(ends.p, 0, bytes, state->stream));
  int *const end = (int *)ends.p;

  BAITry(BAILaunchThreads(state->stream, warps, Meet, tiles, windows, (const Reads *)reads.p, (const int *)read.p, end,
                          (int *)NULL));
  BAITry(BAIScan(state, (long long)tiles + 1, end, end));
  BAITry(BAIDownload(state, 1, end + tiles, &all));
  BAITry(BAICUDAAllocate(state, (size_t)all * sizeof(int), &to->tile));
  BAITry(BAICUDAAllocate(state, bytes, &to->first));
  CUDATry(cudaMemcpyAsync(to->first, end, bytes, cudaMemcpyDeviceToDevice, state->stream));
  return BAILaunchThreads(state->stream, warps, Meet, tiles, windows, (const Reads *)reads.p, (const int *)read.p, end,
                          to->tile);
}

BAIStatus BAITurnsCreate(BAIState state, bool needed)
{
  if (!state->A.tiles || state->order) return BAIStatusOf(BAI_OK);
  BAITry(BAINeighborsCreate(state, needed));
  return state->neighbors.first ? Color(state, needed) : BAIStatusOf(BAI_OK);
}
