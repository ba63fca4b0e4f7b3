/*
   Exchange of x between ranks whose devices reach each other's memory: see ../exchange.h. Mailboxes are shared by the handles of CUDA's inter-process communication. An exchange is
   one kernel, in the order of the stream; the host waits for nothing
*/
#include "sweep.h"
#include <algorithm>
#include <memory>
#include <new>

enum {
  THREADS = 256,
  WHOLE   = 1 << 21 /* memory is taken in multiples of so many bytes, as what else lies there would be shared as well */
};

/* What a handle says */
typedef struct {
  cudaIpcMemHandle_t memory;
  cudaUUID_t         device;
  size_t             nghost;
} Handle;

static_assert(sizeof(Handle) <= sizeof(BAIHandle), "a handle holds it");

/* x to the ghosts of peers; the last thread block sets the flags there, and waits for those here */
static __global__ void Exchange(int n, BAISends sends, const BAIScalar *x, int peers, BAIFlag *const *tell, BAIFlag *told, BAIFlag exchanges, unsigned *arrived, int *stalled, int *stalled_host)
{
  __shared__ bool last;
  const long long cycles = BAI_PEER_SECONDS * 2000000000ll; /* by and large */

  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) BAIStoreFar(sends.to[k], x[sends.row[k]]);
  cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
  __syncthreads();
  if (!threadIdx.x) last = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*arrived).fetch_add(1, cuda::memory_order_acq_rel) + 1 == gridDim.x;
  __syncthreads();
  if (!last) return;
  if (!threadIdx.x) *arrived = 0;
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_system);
  for (int p = threadIdx.x; p < peers; p += blockDim.x) cuda::atomic_ref<BAIFlag, cuda::thread_scope_system>(*tell[p]).store(exchanges, cuda::memory_order_release);
  for (int p = threadIdx.x; p < peers; p += blockDim.x) {
    cuda::atomic_ref<BAIFlag, cuda::thread_scope_system> flag(told[p]);

    BAISpin(
      stalled, stalled_host, [=] { return flag.load(cuda::memory_order_acquire) >= exchanges; }, cycles, BAI_ERR_ABSENT);
  }
}

BAIStatus BAICUDAShare(BAIState state, BAIInt peers, BAIHandle *handle)
{
  const size_t   bytes = (BAIMailboxBytes((size_t)state->nghost, peers) + WHOLE - 1) / WHOLE * WHOLE;
  Handle         h     = {};
  int            device;
  cudaDeviceProp properties;

  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaGetDeviceProperties(&properties, device));
  CUDATry(cudaMalloc(&state->exchange.mailbox, bytes));
  CUDATry(cudaMemset(state->exchange.mailbox, 0, bytes)); /* before anybody else knows of it */
  CUDATry(cudaDeviceSynchronize());
  CUDATry(cudaIpcGetMemHandle(&h.memory, state->exchange.mailbox));
  h.device = properties.uuid;
  h.nghost = (size_t)state->nghost;
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &h, sizeof(h));
  return BAIStatusOf(BAI_OK);
}

static BAIStatus Open(BAIState state, int peers, const Handle *handles)
{
  BAICUDAExchange *e = &state->exchange;
  int              device;
  cudaDeviceProp   properties;

  CUDATry(cudaGetDevice(&device));
  CUDATry(cudaGetDeviceProperties(&properties, device));
  e->theirs = new (std::nothrow) void *[peers + 1]();
  if (!e->theirs) return BAIStatusOf(BAI_ERR_MEMORY);
  for (int p = 0; p < peers; p++) {
    cudaError_t error;

    if (!memcmp(&handles[p].device, &properties.uuid, sizeof(properties.uuid))) return BAIStatusBecause(BAI_ERR_PEERS, "cudaIpcOpenMemHandle()", "ranks share a device, where a kernel must not wait for another's");
    error = cudaIpcOpenMemHandle(&e->theirs[p], handles[p].memory, cudaIpcMemLazyEnablePeerAccess);
    if (error != cudaSuccess) {
      (void)cudaGetLastError();
      e->theirs[p] = NULL;
      return BAIStatusBecause(BAI_ERR_PEERS, "cudaIpcOpenMemHandle()", cudaGetErrorString(error));
    }
    e->peers++;
  }
  return BAIStatusOf(BAI_OK);
}

/* The tile of each row that is sent */
static BAIStatus Tiles(BAIState state, const BAIPeers *peers, int *tile)
{
  const BAISliced             &A = state->A;
  const std::unique_ptr<int[]> place(new (std::nothrow) int[A.row ? A.n + 1 : 1]);

  if (!place) return BAIStatusOf(BAI_ERR_MEMORY);
  if (A.row) {
    CUDATry(cudaMemcpyAsync(place.get(), A.place, (size_t)A.n * sizeof(int), cudaMemcpyDeviceToHost, state->stream));
    CUDATry(cudaStreamSynchronize(state->stream));
  }
  for (BAIInt k = 0; k < peers->first[peers->peers]; k++) tile[k] = (A.row ? place[peers->row[k]] : (int)peers->row[k]) / A.tile_rows;
  return BAIStatusOf(BAI_OK);
}

template <typename T>
static BAIStatus Upload(BAIState state, size_t n, const T *from, T **to)
{
  BAITry(BAICUDAAllocate(state, n * sizeof(T), to));
  CUDATry(cudaMemcpyAsync(*to, from, n * sizeof(T), cudaMemcpyHostToDevice, state->stream));
  CUDATry(cudaStreamSynchronize(state->stream));
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDAConnect(BAIState state, const BAIPeers *peers, const BAIHandle *handles)
{
  BAICUDAExchange                     *e     = &state->exchange;
  const size_t                         sends = (size_t)peers->first[peers->peers], tiles = (size_t)state->A.tiles;
  const std::unique_ptr<Handle[]>      theirs(new (std::nothrow) Handle[peers->peers + 1]);
  const std::unique_ptr<BAIInt[]>      group(new (std::nothrow) BAIInt[sends + 1]), send(new (std::nothrow) BAIInt[sends + 1]), peer(new (std::nothrow) BAIInt[sends + 1]), first(new (std::nothrow) BAIInt[tiles + 1]);
  const std::unique_ptr<BAIScalar *[]> to(new (std::nothrow) BAIScalar *[sends + 1]);
  const std::unique_ptr<BAIFlag *[]>   tell(new (std::nothrow) BAIFlag *[peers->peers + 1]);

  if (!theirs || !group || !send || !peer || !first || !to || !tell) return BAIStatusOf(BAI_ERR_MEMORY);
  for (BAIInt p = 0; p < peers->peers; p++) memcpy(&theirs[p], handles + p, sizeof(Handle));
  BAITry(Open(state, (int)peers->peers, theirs.get()));
  BAITry(Tiles(state, peers, group.get()));
  BAISortSends(peers, (BAIInt)tiles, group.get(), first.get(), send.get(), peer.get());
  for (BAIInt p = 0; p < peers->peers; p++) tell[p] = (BAIFlag *)((char *)e->theirs[p] + BAIMailboxFlags(theirs[p].nghost)) + peers->place[p];
  for (int odd = 0; odd < 2; odd++) {
    for (size_t k = 0; k < sends; k++) to[k] = (BAIScalar *)e->theirs[peer[k]] + odd * theirs[peer[k]].nghost + (peers->slot[peer[k]] + send[k] - peers->first[peer[k]]);
    BAITry(Upload(state, sends, to.get(), &e->to[odd]));
  }
  for (size_t k = 0; k < sends; k++) group[k] = peers->row[send[k]];
  BAITry(Upload(state, sends, group.get(), &e->row));
  BAITry(Upload(state, tiles + 1, first.get(), &e->first));
  BAITry(Upload(state, (size_t)peers->peers, tell.get(), &e->tell));
  BAITry(BAICUDAAllocate(state, sizeof(*e->arrived), &e->arrived));
  CUDATry(cudaMemsetAsync(e->arrived, 0, sizeof(*e->arrived), state->stream));
  BAITry(BAICUDAAllocate(state, (size_t)state->nghost * sizeof(BAIScalar), &e->zero));
  CUDATry(cudaMemsetAsync(e->zero, 0, (size_t)state->nghost * sizeof(BAIScalar), state->stream));
  e->sends = (int)sends;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAICUDAExchangeGhosts(BAIState state, BAIGhosts ghosts)
{
  enum {
    MOST_BLOCKS = 128 /* that are at work at a time, on any device of today */
  };
  BAICUDAExchange *e    = &state->exchange;
  const unsigned   grid = (unsigned)std::max(1, std::min((e->sends + THREADS - 1) / THREADS, (int)MOST_BLOCKS));

  BAITry(BAIStalled(state));
  e->live      = ghosts == BAI_GHOSTS_LIVE;
  state->ghost = e->zero;
  if (ghosts == BAI_GHOSTS_ZERO) return BAIStatusOf(BAI_OK);
  if (!e->peers) return BAIStatusOf(BAI_OK);
  e->exchanges++;
  state->ghost         = (BAIScalar *)e->mailbox + (e->exchanges & 1) * (size_t)state->nghost;
  const BAISends sends = {e->first, e->row, e->to[e->exchanges & 1]};
  BAIFlag *const told  = (BAIFlag *)((char *)e->mailbox + BAIMailboxFlags((size_t)state->nghost));

  Exchange<<<grid, THREADS, 0, state->stream>>>(e->sends, sends, state->x[state->current], e->peers, e->tell, told, e->exchanges, e->arrived, &state->result->stalled, &state->pinned->result.stalled);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* The mailbox stays, as peers may not have closed it yet; it goes with the rest of what connecting took */
BAIStatus BAICUDADisconnect(BAIState state)
{
  BAICUDAExchange *e = &state->exchange;

  CUDATry(cudaStreamSynchronize(state->stream));
  for (; e->peers; e->peers--) CUDATry(cudaIpcCloseMemHandle(e->theirs[e->peers - 1]));
  return BAIStatusOf(BAI_OK);
}

void BAICUDAExchangeDestroy(BAIState state)
{
  BAICUDAExchange *e = &state->exchange;

  (void)BAICUDADisconnect(state);
  delete[] e->theirs;
  if (e->mailbox) (void)cudaFree(e->mailbox);
}
