/*
   Exchange of x between ranks whose devices reach each other's memory: see ../exchange.h. Mailboxes are shared by the
   handles of CUDA's inter-process communication. An exchange is one kernel, in the order of the stream; or, if x goes
   in copies, these are on streams of their own, between a kernel that gathers what is copied, and one that waits for
   the peers. The host waits for nothing
*/
#include "sweep.h"
#include <algorithm>
#include <memory>
#include <new>

enum {
  THREADS = 256
};

/* What a handle says */
typedef struct {
  BAISharedHandle memory;
  BAISharedDevice device;
  size_t          nghost;
} Handle;

static_assert(sizeof(Handle) <= sizeof(BAIHandle), "a handle holds it");

/* Where copies of an exchange come from, and when they may and have come; two take turns */
typedef struct {
  void        *values; /* sends, peer by peer */
  BAIFlag     *flag;   /* the exchange */
  cudaEvent_t  packed;
  cudaEvent_t *copied; /* peers */
} Parcel;

struct BAICUDACopies_ {
  Parcel        parcel[2];
  int          *row;    /* sends, peer by peer */
  int          *first;  /* peers+1; on the host, as are */
  char        **to[2];  /* the ghosts of each peer in even and odd exchanges, */
  BAIFlag     **tell;   /* and the flag that is this rank's to set there */
  cudaStream_t *stream; /* peers */
};

template <typename V>
static __device__ inline void Send(int n, BAISends sends, const void *x)
{
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x)
    BAIStoreFar(static_cast<V *>(sends.to[k]), static_cast<const V *>(x)[sends.row[k]]);
}

static __device__ inline unsigned long long Nanoseconds(void)
{
  unsigned long long now;

  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

/* The time from one exchange to the next */
typedef struct {
  int                 swept;  /* it was that of sweeps; */
  unsigned long long *last;   /* since the last exchange ended, then; */
  double             *worked; /* the host has the sum */
} Interval;

/* Called by one thread, when the exchange that began then ends */
static __device__ inline void EndExchange(const Interval &interval, unsigned long long start)
{
  volatile double *worked = interval.worked;

  if (interval.swept) *worked = *worked + 1e-9 * (double)(start - *interval.last);
  *interval.last = Nanoseconds();
}

/* x to the ghosts of peers; the last thread block sets the flags there, and waits for those here */
static __global__ void Exchange(bool single, int n, BAISends sends, const void *x, int peers, BAIFlag *const *tell,
                                BAIFlag *told, BAIFlag exchanges, unsigned *arrived, Interval interval, int *stalled,
                                int *stalled_host)
{
  __shared__ bool          last;
  const unsigned long long start = Nanoseconds();

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

template <typename V>
static __device__ inline void Pack(int n, const int *row, const void *x, void *to)
{
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x)
    static_cast<V *>(to)[k] = static_cast<const V *>(x)[row[k]];
}

/* What is to be copied */
static __global__ void PackParcel(bool single, int n, const int *row, const void *x, void *to, BAIFlag *flag,
                                  BAIFlag exchange)
{
  if (single) Pack<BAISingle>(n, row, x, to);
  else Pack<BAIScalar>(n, row, x, to);
  if (!blockIdx.x && !threadIdx.x) *flag = exchange;
}

/* Until all peers have brought their x to an exchange */
static __global__ void WaitForPeers(int peers, BAIFlag *told, BAIFlag exchange, int *stalled, int *stalled_host)
{
  for (int p = threadIdx.x; p < peers; p += blockDim.x) {
    const BAIFlag *flag = told + p;

    BAISpin(
      stalled, stalled_host, [=] { return BAILoadFarAcquire(flag) >= exchange; }, BAI_PEER_CYCLES, BAI_ERR_ABSENT);
  }
}

/* A mailbox for the ghosts, and the handle by which peers open it */
BAIStatus BAICUDAShare(BAIState state, BAIInt peers, BAIHandle *handle)
{
  const size_t values = (size_t)state->nghost;
  Handle       h      = {};

  BAITry(BAISharedDeviceGet(BAI_BACKEND_CUDA, &h.device));
  BAITry(BAISharedCreate(BAI_BACKEND_CUDA, BAIMailboxBytes(values, BAIValueSize(&state->A), peers),
                         &state->exchange.mailbox, &h.memory));
  h.nghost = values;
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &h, sizeof(h));
  return BAIStatusOf(BAI_OK);
}

/* The mailboxes of all peers */
static BAIStatus Open(BAICUDAExchange *e, int peers, const Handle *handles)
{
  BAISharedDevice mine;

  BAITry(BAISharedDeviceGet(BAI_BACKEND_CUDA, &mine));
  e->theirs = new (std::nothrow) BAIShared[peers + 1]();
  if (!e->theirs) return BAIStatusOf(BAI_ERR_MEMORY);
  for (int p = 0; p < peers; p++) {
    if (!memcmp(&handles[p].device, &mine, sizeof(mine)))
      return BAIStatusBecause(BAI_ERR_PEERS, "cudaIpcOpenMemHandle()",
                              "ranks share a device, where a kernel must not wait for another's");
    BAITry(BAISharedOpen(BAI_BACKEND_CUDA, &handles[p].memory, &e->theirs[p]));
    e->peers++;
  }
  return BAIStatusOf(BAI_OK);
}

/* The tile of each row that is sent */
static BAIStatus Tiles(BAIState state, const BAIPeers *peers, BAIInt *tile)
{
  const BAISliced             &A = state->A;
  const std::unique_ptr<int[]> place(new (std::nothrow) int[A.row ? A.n + 1 : 1]);

  if (!place) return BAIStatusOf(BAI_ERR_MEMORY);
  if (A.row) BAITry(BAIDownload(state, (size_t)A.n, A.place, place.get()));
  for (BAIInt k = 0; k < peers->first[peers->peers]; k++)
    tile[k] = (A.row ? place[peers->row[k]] : (int)peers->row[k]) / A.tile_rows;
  return BAIStatusOf(BAI_OK);
}

/* The longest run of tiles that send nothing */
static void FindQuiet(int tiles, const BAIInt *first, int *quiet, int *loud)
{
  int from = 0;

  *quiet = *loud = 0;
  for (int tile = 0; tile < tiles; tile++) {
    if (first[tile + 1] > first[tile]) from = tile + 1;
    else if (tile + 1 - from > *loud - *quiet) {
      *quiet = from;
      *loud  = tile + 1;
    }
  }
}

/* What copies take; theirs are the handles */
static BAIStatus CreateCopies(BAIState state, const BAIPeers *peers, const Handle *theirs, BAIFlag *const *tell)
{
  BAICUDAExchange             *e     = &state->exchange;
  const int                    n     = (int)peers->peers;
  const size_t                 sends = (size_t)peers->first[n], size = BAIValueSize(&state->A);
  const std::unique_ptr<int[]> row(new (std::nothrow) int[sends + 1]);
  struct BAICUDACopies_       *c = e->copies = new (std::nothrow) BAICUDACopies_();

  if (!row || !c) return BAIStatusOf(BAI_ERR_MEMORY);
  c->first  = new (std::nothrow) int[n + 1]();
  c->tell   = new (std::nothrow) BAIFlag *[n + 1]();
  c->stream = new (std::nothrow) cudaStream_t[n + 1]();
  if (!c->first || !c->tell || !c->stream) return BAIStatusOf(BAI_ERR_MEMORY);
  for (int odd = 0; odd < 2; odd++) {
    c->to[odd]            = new (std::nothrow) char *[n + 1]();
    c->parcel[odd].copied = new (std::nothrow) cudaEvent_t[n + 1]();
    if (!c->to[odd] || !c->parcel[odd].copied) return BAIStatusOf(BAI_ERR_MEMORY);
  }
  for (size_t k = 0; k < sends; k++) row[k] = (int)peers->row[k];
  BAITry(BAIUpload(state, sends, row.get(), &c->row));
  for (int p = 0; p < n; p++) {
    c->first[p + 1] = (int)peers->first[p + 1];
    c->tell[p]      = tell[p];
    CUDATry(cudaStreamCreateWithFlags(&c->stream[p], cudaStreamNonBlocking));
  }
  for (int odd = 0; odd < 2; odd++) {
    Parcel *parcel = &c->parcel[odd];

    BAITry(BAICUDAAllocate(state, sends * size, &parcel->values));
    BAITry(BAICUDAAllocate(state, sizeof(*parcel->flag), &parcel->flag));
    CUDATry(cudaEventCreateWithFlags(&parcel->packed, cudaEventDisableTiming));
    for (int p = 0; p < n; p++) {
      c->to[odd][p] = (char *)e->theirs[p].memory + size * (odd * theirs[p].nghost + (size_t)peers->slot[p]);
      CUDATry(cudaEventCreateWithFlags(&parcel->copied[p], cudaEventDisableTiming));
    }
  }
  return BAIStatusOf(BAI_OK);
}

static void DestroyCopies(struct BAICUDACopies_ *c, int peers)
{
  if (!c) return;
  for (int p = 0; p < peers; p++) {
    if (c->stream && c->stream[p]) (void)cudaStreamDestroy(c->stream[p]);
  }
  for (int odd = 0; odd < 2; odd++) {
    for (int p = 0; p < peers; p++) {
      if (c->parcel[odd].copied && c->parcel[odd].copied[p]) (void)cudaEventDestroy(c->parcel[odd].copied[p]);
    }
    if (c->parcel[odd].packed) (void)cudaEventDestroy(c->parcel[odd].packed);
    delete[] c->parcel[odd].copied;
    delete[] c->to[odd];
  }
  delete[] c->first;
  delete[] c->tell;
  delete[] c->stream;
  delete c;
}

/* Opens the mailboxes of peers, and finds where each value goes that is sent, tile by tile. first, of tiles+1, is
 * theirs, and stays on the host */
static BAIStatus Connect(BAIState state, const BAIPeers *peers, const Handle *theirs, const BAIInt *tile, BAIInt *first)
{
  BAICUDAExchange *e = &state->exchange;
  const size_t     n = (size_t)peers->peers, sends = (size_t)peers->first[n], size = BAIValueSize(&state->A);
  const std::unique_ptr<BAIInt[]> send(new (std::nothrow) BAIInt[sends + 1]),
    peer(new (std::nothrow) BAIInt[sends + 1]);
  const std::unique_ptr<int[]>       row(new (std::nothrow) int[sends + 1]); /* as kernels count rows */
  const std::unique_ptr<void *[]>    to(new (std::nothrow) void *[sends + 1]);
  const std::unique_ptr<BAIFlag *[]> tell(new (std::nothrow) BAIFlag *[n + 1]);

  if (!send || !peer || !row || !to || !tell) return BAIStatusOf(BAI_ERR_MEMORY);
  BAITry(Open(e, (int)n, theirs));
  BAISortSends(peers, (BAIInt)state->A.tiles, tile, first, send.get(), peer.get());
  for (size_t p = 0; p < n; p++)
    tell[p] = (BAIFlag *)((char *)e->theirs[p].memory + BAIMailboxFlags(theirs[p].nghost, size)) + peers->place[p];
  for (int odd = 0; odd < 2; odd++) {
    for (size_t k = 0; k < sends; k++)
      to[k] = (char *)e->theirs[peer[k]].memory +
        size * (odd * theirs[peer[k]].nghost + (size_t)(peers->slot[peer[k]] + send[k] - peers->first[peer[k]]));
    BAITry(BAIUpload(state, sends, to.get(), &e->to[odd]));
  }
  for (size_t k = 0; k < sends; k++) row[k] = (int)peers->row[send[k]];
  BAITry(BAIUpload(state, sends, row.get(), &e->row));
  BAITry(BAIUpload(state, n, tell.get(), &e->tell));
  BAITry(BAICUDAAllocate(state, sizeof(*e->arrived), &e->arrived));
  CUDATry(cudaMemsetAsync(e->arrived, 0, sizeof(*e->arrived), state->stream));
  BAITry(BAICUDAAllocate(state, sizeof(*e->last), &e->last));
  e->sends = (int)sends;
  if (peers->copies) BAITry(CreateCopies(state, peers, theirs, tell.get()));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDAConnect(BAIState state, const BAIPeers *peers, const BAIHandle *handles)
{
  BAICUDAExchange *e     = &state->exchange;
  const size_t     sends = (size_t)peers->first[peers->peers], tiles = (size_t)state->A.tiles,
               ghosts = (size_t)state->nghost * BAIValueSize(&state->A);
  const std::unique_ptr<Handle[]> theirs(new (std::nothrow) Handle[peers->peers + 1]);
  const std::unique_ptr<BAIInt[]> tile(new (std::nothrow) BAIInt[sends + 1]),
    first(new (std::nothrow) BAIInt[tiles + 1]);
  const std::unique_ptr<int[]> narrow(new (std::nothrow) int[tiles + 1]);

  if (!theirs || !tile || !first || !narrow) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt p = 0; p < peers->peers; p++) memcpy(&theirs[p], handles + p, sizeof(Handle));
  BAITry(Tiles(state, peers, tile.get()));
  BAITry(Connect(state, peers, theirs.get(), tile.get(), first.get()));
  FindQuiet((int)tiles, first.get(), &e->quiet, &e->loud);
  for (size_t k = 0; k <= tiles; k++) narrow[k] = (int)first[k];
  BAITry(BAIUpload(state, tiles + 1, narrow.get(), &e->first));
  BAITry(BAICUDAAllocate(state, ghosts, &e->zero));
  CUDATry(cudaMemsetAsync(e->zero, 0, ghosts, state->stream));
  return BAIStatusOf(BAI_OK);
}

/* Copies on streams of their own; the flag of each follows its values */
static BAIStatus Copy(BAIState state, unsigned grid)
{
  BAICUDAExchange       *e      = &state->exchange;
  struct BAICUDACopies_ *c      = e->copies;
  Parcel                *parcel = &c->parcel[e->exchanges & 1];
  const size_t           size   = BAIValueSize(&state->A);

  for (int p = 0; p < e->peers; p++)
    CUDATry(cudaStreamWaitEvent(state->stream, parcel->copied[p],
                                0)); /* in the exchange before the last; nothing, if there was none */
  PackParcel<<<grid, THREADS, 0, state->stream>>>(state->A.single, e->sends, c->row, state->x[state->current],
                                                  parcel->values, parcel->flag, e->exchanges);
  CUDATry(cudaGetLastError());
  CUDATry(cudaEventRecord(parcel->packed, state->stream));
  for (int p = 0; p < e->peers; p++) {
    const size_t first = (size_t)c->first[p], n = (size_t)c->first[p + 1] - first;

    CUDATry(cudaStreamWaitEvent(c->stream[p], parcel->packed, 0));
    if (n)
      CUDATry(cudaMemcpyAsync(c->to[e->exchanges & 1][p], (char *)parcel->values + first * size, n * size,
                              cudaMemcpyDefault, c->stream[p]));
    CUDATry(cudaMemcpyAsync(c->tell[p], parcel->flag, sizeof(BAIFlag), cudaMemcpyDefault, c->stream[p]));
    CUDATry(cudaEventRecord(parcel->copied[p], c->stream[p]));
  }
  return BAIStatusOf(BAI_OK);
}

enum {
  MOST_BLOCKS = 128 /* that are at work at a time, on any device of today */
};

/* In one kernel, which waits for the peers */
static BAIStatus Run(BAIState state, unsigned grid, BAIFlag *told, int swept)
{
  BAICUDAExchange *e     = &state->exchange;
  const BAISends   sends = {e->first, e->row, e->to[e->exchanges & 1], e->quiet, e->loud};

  Exchange<<<grid, THREADS, 0, state->stream>>>(state->A.single, e->sends, sends, state->x[state->current], e->peers,
                                                e->tell, told, e->exchanges, e->arrived,
                                                Interval{swept, e->last, &state->pinned->worked},
                                                &state->result->stalled, &state->pinned->result.stalled);
  CUDATry(cudaGetLastError());
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
  const unsigned   grid = (unsigned)std::max(1, std::min((e->sends + THREADS - 1) / THREADS, (int)MOST_BLOCKS));

  BAITry(BAIStalled(state));
  e->live      = live && !e->copies;
  e->was_live  = live;
  state->ghost = e->zero;
  if (ghosts == BAI_GHOSTS_ZERO || !e->peers) return BAIStatusOf(BAI_OK);
  e->exchanges++;
  const BAIFlag  now  = BAIExchangeToRead(e->exchanges, e->copies != NULL, live, was_live);
  BAIFlag *const told = (BAIFlag *)((char *)e->mailbox.memory + BAIMailboxFlags((size_t)state->nghost, size));

  state->ghost = (char *)e->mailbox.memory + (now & 1) * (size_t)state->nghost * size;
  if (!e->copies) return Run(state, grid, told, swept);
  BAITry(Copy(state, grid));
  WaitForPeers<<<1, BAI_LANES, 0, state->stream>>>(e->peers, told, now, &state->result->stalled,
                                                   &state->pinned->result.stalled);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* The mailbox stays, as peers may not have closed it yet; it goes with the rest of what connecting took */
BAIStatus BAICUDADisconnect(BAIState state)
{
  BAICUDAExchange *e = &state->exchange;

  CUDATry(cudaStreamSynchronize(state->stream));
  for (int p = 0; e->copies && p < e->peers; p++) CUDATry(cudaStreamSynchronize(e->copies->stream[p]));
  DestroyCopies(e->copies, e->peers);
  e->copies = NULL;
  for (; e->peers; e->peers--) BAITry(BAISharedClose(BAI_BACKEND_CUDA, &e->theirs[e->peers - 1]));
  return BAIStatusOf(BAI_OK);
}

void BAICUDAExchangeDestroy(BAIState state)
{
  (void)BAICUDADisconnect(state);
  delete[] state->exchange.theirs;
  (void)BAISharedClose(BAI_BACKEND_CUDA, &state->exchange.mailbox);
}
