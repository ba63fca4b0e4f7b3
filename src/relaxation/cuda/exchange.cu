/*
   Exchange of x between ranks whose devices access each other's memory, see ../exchange.h. An exchange is one kernel,
   in stream order. The host does not wait
*/
#include "sweep.h"
#include <algorithm>

enum {
  MOST_BLOCKS = 128 /* thread blocks at work at the same time on any present device */
};

/* Writes x of the first n rows of sends to their destinations, by all threads of the grid */
template <typename V>
static __device__ inline void Send(int n, BAISends sends, const void *x)
{
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x)
    BAIStoreFar(static_cast<V *>(sends.to[k]), static_cast<const V *>(x)[sends.row[k]]);
}

/* Measures the time between exchanges */
typedef struct {
  int                 swept;  /* sweeps took this time */
  unsigned long long *last;   /* time of the end of the last exchange */
  double             *worked; /* sum on the host */
} Interval;

/* Ends an exchange that began at start; called by one thread */
static __device__ inline void EndExchange(const Interval &interval, unsigned long long start)
{
  volatile double *worked = interval.worked;

  if (interval.swept) *worked = *worked + 1e-9 * (double)(start - *interval.last);
  *interval.last = BAINanoseconds();
}

/* Writes x to the ghosts of peers; the last thread block sets the flags there, and waits for those of the peers */
static __global__ void Exchange(bool single, int n, BAISends sends, const void *x, int peers, BAIFlag *const *tell,
                                BAIFlag *told, BAIFlag exchanges, unsigned *arrived, Interval interval, int *stalled,
                                int *stalled_host)
{
  __shared__ bool          last;
  const unsigned long long start = BAINanoseconds();

  if (single) Send<BAISingle>(n, sends, x);
  else Send<BAIScalar>(n, sends, x);
  BAIFenceFar();
  __syncthreads();
  if (!threadIdx.x) last = BAIArrive(arrived) == gridDim.x;
  __syncthreads();
  if (!last) return;
  if (!threadIdx.x) *arrived = 0;
  BAIFenceFar();
  for (int p = threadIdx.x; p < peers; p += blockDim.x) BAIStoreFarRelease(tell[p], exchanges);
  for (int p = threadIdx.x; p < peers; p += blockDim.x) {
    const BAIFlag *flag = told + p;

    BAISpin(
      stalled, stalled_host, [=] { return BAILoadFarAcquire(flag) >= exchanges; }, BAI_PEER_CYCLES, BAI_ERR_ABSENT);
  }
  __syncthreads();
  if (!threadIdx.x) EndExchange(interval, start);
}

/* Sets tile to the tile of each row that peers read */
static BAIStatus Tiles(BAIState state, const BAIPeers *peers, std::vector<BAIInt> &tile)
{
  const BAISliced &A = state->A;
  std::vector<int> place(A.row ? A.n : 0);

  if (A.row) BAITry(BAIDownload(state, (size_t)A.n, A.place, place.data()));
  for (size_t k = 0; k < tile.size(); k++) tile[k] = (A.row ? place[peers->row[k]] : (int)peers->row[k]) / A.tile_rows;
  return BAIStatusOf(BAI_OK);
}

/* Finds the longest sequence of tiles that send nothing */
static void FindQuiet(const std::vector<int> &first, BAISends *sends)
{
  int from = 0;

  for (int tile = 0; tile + 1 < (int)first.size(); tile++) {
    if (first[tile + 1] > first[tile]) from = tile + 1;
    else if (tile + 1 - from > sends->loud - sends->quiet) {
      sends->quiet = from;
      sends->loud  = tile + 1;
    }
  }
}

/* Clears the mailbox, and finds the destination of each sent value, ordered by tile */
BAIStatus BAICUDAConnect(BAIState state, const BAIPeers *peers)
{
  BAICUDAExchange *e = &state->exchange;
  const size_t     n = (size_t)peers->peers, sends = (size_t)peers->first[n], size = BAIValueSize(&state->A),
               tiles = (size_t)state->A.tiles, ghosts = (size_t)state->nghost * size;
  std::vector<BAIInt>    tile(sends), first(tiles + 1), send(sends), peer(sends);
  std::vector<void *>    to(sends);
  std::vector<int>       row(sends); /* as kernels count rows */
  std::vector<BAIFlag *> tell(n);
  BAISends               where = {};

  e->peers   = (int)n;
  e->mailbox = (char *)peers->mine;
  CUDATry(cudaMemsetAsync(e->mailbox, 0, BAIMailboxBytes((size_t)state->nghost, size, peers->peers), state->stream));
  BAITry(Tiles(state, peers, tile));
  BAISortSends(peers, (BAIInt)tiles, tile.data(), first.data(), send.data(), peer.data());
  for (size_t p = 0; p < n; p++) tell[p] = BAIFlagOf(peers, (BAIInt)p, size);
  for (size_t k = 0; k < sends; k++) row[k] = (int)peers->row[send[k]];
  BAITry(BAIUpload(state, sends, row.data(), (int **)&where.row));
  row.assign(first.begin(), first.end());
  BAITry(BAIUpload(state, tiles + 1, row.data(), (int **)&where.first));
  FindQuiet(row, &where);
  for (int odd = 0; odd < 2; odd++) {
    e->where[odd] = where;
    for (size_t k = 0; k < sends; k++) to[k] = BAIGhostOf(peers, peer[k], odd, send[k] - peers->first[peer[k]], size);
    BAITry(BAIUpload(state, sends, to.data(), (void ***)&e->where[odd].to));
  }
  BAITry(BAIUpload(state, n, tell.data(), &e->tell));
  BAITry(BAICUDAAllocate(state, sizeof(*e->arrived), &e->arrived));
  CUDATry(cudaMemsetAsync(e->arrived, 0, sizeof(*e->arrived), state->stream));
  BAITry(BAICUDAAllocate(state, sizeof(*e->last), &e->last));
  BAITry(BAICUDAAllocate(state, ghosts, &e->zero));
  CUDATry(cudaMemsetAsync(e->zero, 0, ghosts, state->stream));
  e->sends = (int)sends;
  CUDATry(cudaStreamSynchronize(state->stream)); /* the mailbox is clear before peers write to it */
  return BAIStatusOf(BAI_OK);
}

double BAICUDAWorked(BAIState state)
{
  return *(const volatile double *)&state->pinned->worked;
}

BAIStatus BAICUDAExchangeGhosts(BAIState state, BAIGhosts ghosts, int swept)
{
  BAICUDAExchange *e    = &state->exchange;
  const size_t     size = BAIValueSize(&state->A);
  const unsigned   grid = (unsigned)std::max(1, std::min((e->sends + BAI_THREADS - 1) / BAI_THREADS, (int)MOST_BLOCKS));

  BAITry(BAIStalled(state));
  e->live      = ghosts == BAI_GHOSTS_LIVE;
  state->ghost = e->zero;
  if (ghosts == BAI_GHOSTS_ZERO || !e->peers) return BAIStatusOf(BAI_OK);
  e->exchanges++;
  state->ghost = e->mailbox + (e->exchanges & 1) * (size_t)state->nghost * size;
  Exchange<<<grid, BAI_THREADS, 0, state->stream>>>(state->A.single, e->sends, e->where[e->exchanges & 1],
                                                    state->x[state->current], e->peers, e->tell,
                                                    (BAIFlag *)(e->mailbox +
                                                                BAIMailboxFlags((size_t)state->nghost, size)),
                                                    e->exchanges, e->arrived, {swept, e->last, &state->pinned->worked},
                                                    &state->result->stalled, &state->pinned->result.stalled);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDADisconnect(BAIState state)
{
  CUDATry(cudaStreamSynchronize(state->stream));
  state->exchange.peers = 0;
  return BAIStatusOf(BAI_OK);
}
