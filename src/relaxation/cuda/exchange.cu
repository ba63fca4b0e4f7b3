/*
   Exchange of x between ranks whose devices access each other's memory, see ../exchange.h. An exchange is one kernel,
   in stream order. If x is copied, copies are on a stream of their own: the kernel first packs the values, as if this
   rank were its only peer, and then waits for the peers. The host does not wait
*/
#include "sweep.h"
#include <algorithm>

enum {
  MOST_BLOCKS = 128 /* thread blocks at work at the same time on any present device */
};

/* Sources of the copies of an exchange; two alternate */
typedef struct {
  char       *values; /* sends, by peer */
  void      **to;     /* sends: address of each value */
  BAIFlag    *flag;   /* number of the exchange, which is copied as well */
  BAIFlag   **tell;   /* a pointer to flag */
  cudaEvent_t packed, copied;
} Parcel;

struct BAICUDACopies_ {
  Parcel                 parcel[2] = {};
  cudaStream_t           stream    = nullptr;
  int                   *row;   /* sends, by peer, on the device */
  std::vector<size_t>    first; /* peers+1: sends of each */
  std::vector<char *>    to[2]; /* peers: its ghosts in even and odd exchanges */
  std::vector<BAIFlag *> tell;  /* peers: flag that this rank sets there */

  ~BAICUDACopies_()
  {
    for (const Parcel &p : parcel) {
      if (p.packed) (void)cudaEventDestroy(p.packed);
      if (p.copied) (void)cudaEventDestroy(p.copied);
    }
    if (stream) (void)cudaStreamDestroy(stream);
  }
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

/* Writes x to the ghosts of peers; the last thread block sets the flags there, if it must, and waits for those of the
   peers */
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
  for (int p = threadIdx.x; tell && p < peers; p += blockDim.x) BAIStoreFarRelease(tell[p], exchanges);
  for (int p = threadIdx.x; p < peers; p += blockDim.x) {
    const BAIFlag *flag = told + p;

    BAISpin(
      stalled, stalled_host, [=] { return BAILoadFarAcquire(flag) >= exchanges; }, BAI_PEER_CYCLES, BAI_ERR_ABSENT);
  }
  __syncthreads();
  if (!threadIdx.x && interval.last) EndExchange(interval, start);
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

/* Allocates the parcels, and finds the destinations of copies */
static BAIStatus CreateCopies(BAIState state, const BAIPeers *peers, const std::vector<BAIFlag *> &tell)
{
  BAICUDAExchange       *e = &state->exchange;
  struct BAICUDACopies_ *c = e->copies = new BAICUDACopies_();
  const size_t           sends = (size_t)e->sends, size = BAIValueSize(&state->A);
  std::vector<void *>    to(sends);

  c->tell = tell;
  c->first.assign(peers->first, peers->first + peers->peers + 1);
  CUDATry(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
  BAITry(BAIUpload(state, sends, std::vector<int>(peers->row, peers->row + sends).data(), &c->row));
  for (int odd = 0; odd < 2; odd++) {
    Parcel *parcel = &c->parcel[odd];

    BAITry(BAICUDAAllocate(state, sends * size, &parcel->values));
    for (size_t k = 0; k < sends; k++) to[k] = parcel->values + k * size;
    BAITry(BAIUpload(state, sends, to.data(), &parcel->to));
    BAITry(BAICUDAAllocate(state, sizeof(*parcel->flag), &parcel->flag));
    BAITry(BAIUpload(state, 1, &parcel->flag, &parcel->tell));
    CUDATry(cudaEventCreateWithFlags(&parcel->packed, cudaEventDisableTiming));
    CUDATry(cudaEventCreateWithFlags(&parcel->copied, cudaEventDisableTiming));
    for (BAIInt p = 0; p < peers->peers; p++) c->to[odd].push_back((char *)BAIGhostOf(peers, p, odd, 0, size));
  }
  return BAIStatusOf(BAI_OK);
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
  if (peers->copies) BAITry(CreateCopies(state, peers, tell));
  CUDATry(cudaStreamSynchronize(state->stream)); /* the mailbox is clear before peers write to it */
  return BAIStatusOf(BAI_OK);
}

/* Launches a kernel that sends values, tells peers, or this rank, the number of the exchange, and waits for their
   flags */
static BAIStatus Run(BAIState state, int sends, const BAISends &where, int peers, BAIFlag *const *tell, BAIFlag *told,
                     BAIFlag exchange, const Interval &interval)
{
  const unsigned grid = (unsigned)std::max(1, std::min((sends + BAI_THREADS - 1) / BAI_THREADS, (int)MOST_BLOCKS));

  Exchange<<<grid, BAI_THREADS, 0, state->stream>>>(state->A.single, sends, where, state->x[state->current], peers,
                                                    tell, told, exchange, state->exchange.arrived, interval,
                                                    &state->result->stalled, &state->pinned->result.stalled);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Copies packed values on a stream of their own; the flag of each peer follows its values */
static BAIStatus Copy(BAIState state)
{
  BAICUDAExchange       *e      = &state->exchange;
  struct BAICUDACopies_ *c      = e->copies;
  Parcel                *parcel = &c->parcel[e->exchanges & 1];
  const size_t           size   = BAIValueSize(&state->A);

  CUDATry(cudaStreamWaitEvent(state->stream, parcel->copied,
                              0)); /* in the exchange before the last; nothing, if there was none */
  BAITry(Run(state, e->sends, {NULL, c->row, parcel->to, 0, 0}, 1, parcel->tell, parcel->flag, e->exchanges, {}));
  CUDATry(cudaEventRecord(parcel->packed, state->stream));
  CUDATry(cudaStreamWaitEvent(c->stream, parcel->packed, 0));
  for (int p = 0; p < e->peers; p++) {
    const size_t first = c->first[p] * size, bytes = c->first[p + 1] * size - first;

    if (bytes)
      CUDATry(cudaMemcpyAsync(c->to[e->exchanges & 1][p], parcel->values + first, bytes, cudaMemcpyDefault, c->stream));
    CUDATry(cudaMemcpyAsync(c->tell[p], parcel->flag, sizeof(BAIFlag), cudaMemcpyDefault, c->stream));
  }
  CUDATry(cudaEventRecord(parcel->copied, c->stream));
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
  const int        live = ghosts == BAI_GHOSTS_LIVE, was_live = e->was_live;

  BAITry(BAIStalled(state));
  e->live      = live && !e->copies;
  e->was_live  = live;
  state->ghost = e->zero;
  if (ghosts == BAI_GHOSTS_ZERO || !e->peers) return BAIStatusOf(BAI_OK);
  e->exchanges++;
  const BAIFlag  now  = BAIExchangeToRead(e->exchanges, e->copies != NULL, live, was_live);
  BAIFlag *const told = (BAIFlag *)(e->mailbox + BAIMailboxFlags((size_t)state->nghost, size));

  state->ghost = e->mailbox + (now & 1) * (size_t)state->nghost * size;
  if (!e->copies)
    return Run(state, e->sends, e->where[e->exchanges & 1], e->peers, e->tell, told, e->exchanges,
               {swept, e->last, &state->pinned->worked});
  BAITry(Copy(state));
  return Run(state, 0, {}, e->peers, NULL, told, now, {});
}

BAIStatus BAICUDADisconnect(BAIState state)
{
  BAICUDAExchange *e = &state->exchange;

  CUDATry(cudaStreamSynchronize(state->stream));
  if (e->copies && e->copies->stream) CUDATry(cudaStreamSynchronize(e->copies->stream));
  delete e->copies;
  e->copies = NULL;
  e->peers  = 0;
  return BAIStatusOf(BAI_OK);
}
