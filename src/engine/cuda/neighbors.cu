/*
   Which tiles each tile has to wait for in modes sync and color: those it reads from, before it may read, and those that read
   from it, before it may overwrite what they read. And the order in which tiles take turns or queue: colour by colour, so that
   those at work at the same time have no business with each other
*/
#include "../coloring.h"
#include "iterate.h"
#include <new>
#include <vector>
#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

enum {
  THREADS = 256,
  MANY    = 64,  /* neighbours of a tile, on average, with which a queue gains nothing from an order */
  WORDS   = 8192 /* of the bit map in shared memory: one bit a tile, so many tiles are looked for at a time */
};

typedef unsigned long long Pair; /* tile, tile to wait for */

static __host__ __device__ inline Pair MakePair(int a, int b)
{
  return (Pair)a << 32 | (unsigned)b;
}

/* The tiles that a tile reads from, entries and rows of overlaps, each once: counted, or written both ways round from 2*start[tile] on */
static __global__ void Readers(BAISliced A, const int *start, int *count, Pair *pairs)
{
  __shared__ unsigned map[WORDS];
  __shared__ int      found;
  const int           words = min(WORDS, (A.tiles + 31) / 32);

  for (int tile = blockIdx.x; tile < A.tiles; tile += gridDim.x) {
    const int slice0 = tile * A.tile_slices, first = A.piece_first ? A.piece_first[slice0] : 0, last = A.piece_first ? A.piece_first[slice0 + A.tile_slices] : 0;

    if (!threadIdx.x) found = 0;
    for (int window = 0; window < A.tiles; window += words * 32) {
      for (int w = threadIdx.x; w < words; w += blockDim.x) map[w] = 0;
      __syncthreads();
      const auto mark = [&](int col, auto is_entry) {
        const int other = col < A.n ? (A.row ? A.place[col] : col) / A.tile_rows - window : -1;

        if (0 <= other && other < words * 32 && other + window != tile && !(map[other / 32] >> other % 32 & 1) && is_entry()) atomicOr(map + other / 32, 1u << other % 32);
      };

      for (int at = threadIdx.x; at < A.tile_slices * BAI_LANES; at += blockDim.x) {
        const BAISlice s   = A.slice[slice0 + at / BAI_LANES];
        const int      row = BAIRowAt(A, tile, at);

        for (int w = 0; row >= 0 && w < (int)s.off_width; w++) {
          const long long a = s.off + (long long)w * BAI_LANES + at % BAI_LANES;

          mark(BAIColumn(A, s.by_delta, row, *BAIColumnAt(A, s, w, at % BAI_LANES)), [&] { return !(A.single ? BAIIsNoEntry(static_cast<const BAISingle *>(A.off_a)[a]) : BAIIsNoEntry(static_cast<const BAIScalar *>(A.off_a)[a])); });
        }
      }
      for (int k = first; k < last; k++) {
        for (long long at = A.piece[k].first + threadIdx.x; at < A.piece[k].last; at += blockDim.x) mark(A.rest_j[at], [] { return true; });
      }
      for (int i = threadIdx.x; A.overlap && i < A.tile_rows; i += blockDim.x) {
        const int own = BAIOwnRowAt(A, tile, i), other = own < -1 ? A.place[BAIRowOf(own)] / A.tile_rows - window : -1;

        if (0 <= other && other < words * 32 && other + window != tile) atomicOr(map + other / 32, 1u << other % 32);
      }
      __syncthreads();
      for (int w = threadIdx.x; w < words && window + w * 32 < A.tiles; w += blockDim.x) {
        for (unsigned bits = map[w]; bits; bits &= bits - 1) {
          const int at = atomicAdd(&found, 1), other = (int)(window + w * 32 + __ffs(bits) - 1);

          if (pairs) {
            pairs[2 * ((long long)start[tile] + at)]     = MakePair(tile, other);
            pairs[2 * ((long long)start[tile] + at) + 1] = MakePair(other, tile);
          }
        }
      }
      __syncthreads();
    }
    if (!threadIdx.x && count) count[tile] = found;
    __syncthreads();
  }
}

struct Waited {
  __host__ __device__ int operator()(Pair p) const { return (int)(p & 0xffffffffu) << 1; }
};

/* A warp a tile: sets the lowest bit of the neighbours whose turn is before the tile's */
static __global__ void MarkBefore(int tiles, BAINeighbors neighbors, const int *rank)
{
  const int tile = (int)((blockIdx.x * (long long)blockDim.x + threadIdx.x) / BAI_LANES);

  if (tile >= tiles) return;
  for (int k = neighbors.first[tile] + threadIdx.x % BAI_LANES; k < neighbors.first[tile + 1]; k += BAI_LANES) {
    const int neighbor = neighbors.tile[k] >> 1;

    neighbors.tile[k] = neighbor << 1 | (rank[neighbor] < rank[tile]);
  }
}

/* The graph of tiles is a hundredth of the matrix, and is coloured on the host */
static BAIStatus Color(BAIState state, bool needed)
{
  const int        tiles = state->A.tiles;
  std::vector<int> first(tiles + 1), order(tiles), rank(tiles), turn_first(tiles + 1);
  int              turns;

  CUDATry(cudaMemcpyAsync(first.data(), state->neighbors.first, first.size() * sizeof(int), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  if (!needed && first[tiles] / tiles > MANY) return BAIStatusOf(BAI_OK);

  std::vector<int> neighbor(first[tiles]);
  const BAIGraph   graph = {tiles, first.data(), neighbor.data()};

  CUDATry(cudaMemcpyAsync(neighbor.data(), state->neighbors.tile, neighbor.size() * sizeof(int), cudaMemcpyDeviceToHost, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  for (int &n : neighbor) n >>= 1;
  BAITry(BAIColor(&graph, order.data(), rank.data(), turn_first.data(), &turns, &state->colors));
  BAITry(BAICUDAAllocate(state, tiles * sizeof(int), &state->order));
  CUDATry(cudaMemcpyAsync(state->order, order.data(), tiles * sizeof(int), cudaMemcpyHostToDevice, state->stream));

  const thrust::device_vector<int> rank_device(rank);

  MarkBefore<<<(unsigned)(((long long)tiles * BAI_LANES + THREADS - 1) / THREADS), THREADS, 0, state->stream>>>(tiles, state->neighbors, thrust::raw_pointer_cast(rank_device.data()));
  CUDATry(cudaGetLastError());
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

struct FirstPair {
  __host__ __device__ Pair operator()(int tile) const { return MakePair(tile, 0); }
};

static BAIStatus Graph(BAIState state, bool)
{
  const BAISliced            A    = state->A;
  const int                  grid = A.tiles < 65535 ? A.tiles : 65535;
  auto                       on   = thrust::cuda::par.on(state->stream);
  thrust::device_vector<int> start(A.tiles + 1, 0);
  int                       *at = thrust::raw_pointer_cast(start.data());

  Readers<<<grid, THREADS, 0, state->stream>>>(A, nullptr, at, nullptr);
  CUDATry(cudaGetLastError());
  thrust::exclusive_scan(on, start.begin(), start.end(), start.begin());

  thrust::device_vector<Pair> pairs(2 * (size_t)start.back());

  Readers<<<grid, THREADS, 0, state->stream>>>(A, at, nullptr, thrust::raw_pointer_cast(pairs.data()));
  CUDATry(cudaGetLastError());
  thrust::sort(on, pairs.begin(), pairs.end());
  pairs.erase(thrust::unique(on, pairs.begin(), pairs.end()), pairs.end());

  BAITry(BAICUDAAllocate(state, pairs.size() * sizeof(int), &state->neighbors.tile));
  BAITry(BAICUDAAllocate(state, (A.tiles + 1) * sizeof(int), &state->neighbors.first));
  thrust::transform(on, pairs.begin(), pairs.end(), thrust::device_pointer_cast(state->neighbors.tile), Waited());
  auto tile = thrust::make_transform_iterator(thrust::make_counting_iterator(0), FirstPair());
  thrust::lower_bound(on, pairs.begin(), pairs.end(), tile, tile + A.tiles + 1, thrust::device_pointer_cast(state->neighbors.first));
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

/* What thrust throws, as a status */
static BAIStatus Caught(BAIStatus (*work)(BAIState, bool), BAIState state, bool needed)
{
  try {
    return work(state, needed);
  } catch (const std::bad_alloc &) {
    return BAIStatusOf(BAI_ERR_MEMORY);
  } catch (const thrust::system_error &error) {
    return BAICUDAStatus((cudaError_t)error.code().value(), "thrust");
  }
}

BAIStatus BAINeighborsCreate(BAIState state)
{
  return state->A.tiles && !state->neighbors.first ? Caught(Graph, state, true) : BAIStatusOf(BAI_OK);
}

BAIStatus BAITurnsCreate(BAIState state, bool needed)
{
  return state->A.tiles && !state->order ? Caught(Color, state, needed) : BAIStatusOf(BAI_OK);
}
