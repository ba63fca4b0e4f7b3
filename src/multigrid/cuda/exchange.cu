/*
   Communication with other ranks in a cycle on a device: x of ghosts, and the level that the caller solves, see
   ../levels.h. Ranks write to each other's memory, or values pass through the host
*/
#include "tuning.h"
#include "../../common/cuda/spin.h"
#include <vector>

BAIStatus BAIDeviceGivenUp(void)
{
  return BAIStatusBecause(BAI_ERR_ABSENT, "a cycle of several ranks", "one of them has given up");
}

BAIStatus BAIDeviceListen(BAILevelsState state)
{
  static_assert(sizeof(*state->told) <= BAI_PINNED_BYTES, "a piece of pinned memory holds it");
  return state->told ? BAIStatusOf(BAI_OK) : BAIPinnedGet(&state->told);
}

/* Takes the places of the rows that are sent, and allocates memory for their x and x of ghosts */
static BAIStatus TakeSends(BAILevelsState state, BAIDeviceLevel *L, const BAILevelsShared *shared)
{
  const size_t n = (size_t)shared->sends, size = BAISizeOfNumbers(state);

  L->halo        = {};
  L->halo.all    = (int)shared->all;
  L->halo.ghosts = (int)shared->ghosts;
  L->halo.sends  = (int)shared->sends;
  if (!n) return BAIStatusOf(BAI_OK);
  BAITry(BAIKeep(state, n, &L->halo.place));
  BAITry(BAICUDAAllocate(&state->s, n * size, &L->halo.packed));
  if (!shared->row) { /* all rows in order */
    CUDATry(cudaMemcpyAsync(L->halo.place, L->place, n * sizeof(int), cudaMemcpyDeviceToDevice, state->s.stream));
    return BAIStatusOf(BAI_OK);
  }
  BAITry(BAIDeviceSentRows(state, L, shared));
  return BAIDeviceCopyRows(state, n, L->sent, sizeof(int), L->place, L->halo.place);
}

BAIStatus BAIDeviceTakeRanks(BAILevelsState state, const BAILevelsRanks *ranks)
{
  const size_t    size = BAISizeOfNumbers(state);
  BAIDeviceLevel *last = BAIDeviceLast(state);

  state->ranks       = *ranks;
  state->ranks.level = NULL;
  for (int l = 0; l < state->levels; l++) {
    BAIDeviceLevel *L = &state->level[l];

    BAITry(TakeSends(state, L, &ranks->level[l]));
    if (!L->A.n) BAITry(BAICUDAAllocate(&state->s, (size_t)L->halo.ghosts * size, &L->x));
  }
  state->vector        = {}; /* the rows in the caller's ordering */
  state->vector.ghosts = (int)ranks->level[0].ghosts;
  state->vector.sends  = (int)ranks->level[0].sends;
  state->vector.place  = state->level[0].sent;
  if (!ranks->next) return BAIStatusOf(BAI_OK);
  BAITry(BAICUDAAllocate(&state->s, ((size_t)last->A.n + (size_t)last->halo.ghosts) * size, &last->b));
  if (state->p.modes) BAITry(BAICUDAAllocate(&state->s, (size_t)last->A.n * size, &last->x));
  return BAIStatusOf(BAI_OK);
}

/* The halo of an exchange, of a level or of vectors; NULL for sums */
static BAIDeviceHalo *HaloOf(BAILevelsState state, int exchange)
{
  return exchange < state->levels ? &state->level[exchange].halo : exchange == state->levels ? &state->vector : NULL;
}

/* Bytes of each ghost of an exchange, or of the sums of each rank */
static size_t SizeOf(BAILevelsState state, int exchange)
{
  if (exchange < state->levels) return BAISizeOfNumbers(state);
  return exchange == state->levels ? sizeof(BAIScalar) : BAI_FAR_SUMS * sizeof(BAIReal);
}

/* Addresses that other ranks write to: for each exchange, the data of even and of odd ones; then flags, exchanges x
   ranks */
typedef struct {
  size_t box[BAI_LEVELS_MOST + 2][2], flags, bytes;
} Mailbox;

/* Finds the offsets of all exchanges in a mailbox */
static Mailbox MailboxOf(BAILevelsState state, int ranks)
{
  const int n = state->levels + 2;
  Mailbox   m = {};

  for (int e = 0; e < n; e++) {
    const BAIDeviceHalo *h    = HaloOf(state, e);
    const size_t         room = (size_t)(h ? h->ghosts : ranks) * SizeOf(state, e);

    for (int odd = 0; odd < 2; odd++) {
      m.box[e][odd] = m.flags;
      m.flags += (room + sizeof(BAIFlag) - 1) / sizeof(BAIFlag) * sizeof(BAIFlag);
    }
  }
  m.bytes = m.flags + (size_t)(n * ranks) * sizeof(BAIFlag);
  return m;
}

/* The operations Share and Connect of ../ops.def */
BAIStatus BAIDeviceShare(BAILevelsState state, int ranks, const BAILevelsPeer *peer, size_t *bytes,
                         BAILevelsAddress *address)
{
  const int     n = state->levels + 2;
  const Mailbox m = MailboxOf(state, ranks);

  *bytes = m.bytes;
  for (int e = 0; e < n; e++)
    for (int k = 0; k < ranks; k++) {
      const size_t at = (size_t)(HaloOf(state, e) ? peer[e * ranks + k].begin : k) * SizeOf(state, e);

      address[k * n + e] = {m.box[e][0] + at, m.box[e][1] + at, m.flags + (size_t)(e * ranks + k) * sizeof(BAIFlag)};
    }
  return BAIStatusOf(BAI_OK);
}

/* Appends to far the ranks that take part in exchange e: its peers, or for sums all others. told has the flags that
   they set on this rank, exchanges x ranks */
static void AddPeers(BAILevelsState state, int e, const BAILevelsPeers *peers, BAIFlag *told,
                     std::vector<BAIFarPeer> *far)
{
  const int n = state->levels + 2;

  for (int k = 0; k < peers->ranks; k++) {
    const int               at    = e * peers->ranks + k;
    const BAILevelsPeer    &peer  = peers->peer[at];
    const BAILevelsAddress *a     = &peers->address[k * n + e];
    char *const             there = static_cast<char *>(peers->memory[k]);
    const bool              meet  = !HaloOf(state, e) || peer.first < peer.last || peer.ghosts;

    if (k == peers->rank || !meet) continue;
    far->push_back({
      (int)peer.first,
      (int)peer.last,
      {there + a->even, there + a->odd},
      reinterpret_cast<BAIFlag *>(there + a->flag),
      told + at
    });
  }
}

/* Waits for the device, and forgets the other ranks' memory, so that exchanges pass through the host again */
static BAIStatus Disconnect(BAILevelsState state)
{
  CUDATry(cudaStreamSynchronize(state->s.stream));
  for (int l = 0; l < BAI_LEVELS_MOST; l++) state->level[l].halo.peers = 0;
  state->vector.peers = 0;
  state->sums.ranks   = 0;
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceConnect(BAILevelsState state, const BAILevelsPeers *peers)
{
  if (!peers) return Disconnect(state);
  const int               n = state->levels + 2, counters = n + 2;
  const Mailbox           m    = MailboxOf(state, peers->ranks);
  char *const             mine = static_cast<char *>(peers->memory[peers->rank]);
  std::vector<BAIFarPeer> far;
  BAIFarPeer             *peer;
  BAIScalar              *ghosts;
  BAIFlag                *zero; /* counters of each exchange; arrived; stalled */
  int                     first[BAI_LEVELS_MOST + 3];

  for (int e = 0; e < n; e++) {
    first[e] = (int)far.size();
    AddPeers(state, e, peers, reinterpret_cast<BAIFlag *>(mine + m.flags), &far);
  }
  first[n] = (int)far.size();
  BAITry(BAICUDAAllocate(&state->s, (far.size() + 1) * sizeof(BAIFarPeer), &peer));
  BAITry(BAICUDAAllocate(&state->s, (size_t)counters * sizeof(BAIFlag), &zero));
  BAITry(BAICUDAAllocate(&state->s, (size_t)state->vector.ghosts * sizeof(BAIScalar), &ghosts));
  BAITry(BAIDeviceListen(state));
  CUDATry(cudaMemcpyAsync(peer, far.data(), far.size() * sizeof(BAIFarPeer), cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaMemsetAsync(zero, 0, (size_t)counters * sizeof(BAIFlag), state->s.stream));
  CUDATry(cudaMemsetAsync(mine + m.flags, 0, m.bytes - m.flags, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream)); /* all flags must be 0 before another rank sets one */
  state->between.x = ghosts;
  state->arrived   = reinterpret_cast<unsigned *>(zero + n);
  state->stalled   = reinterpret_cast<int *>(zero + n + 1);
  for (int e = 0; e < n - 1; e++) {
    BAIDeviceHalo *const h = HaloOf(state, e);

    h->peers     = first[e + 1] - first[e];
    h->peer      = peer + first[e];
    h->exchanges = zero + e;
    for (int odd = 0; odd < 2; odd++) h->box[odd] = mine + m.box[e][odd];
  }
  state->sums = {
    .ranks        = peers->ranks,
    .rank         = peers->rank,
    .others       = first[n] - first[n - 1],
    .peer         = peer + first[n - 1],
    .from         = {reinterpret_cast<const BAIReal *>(mine + m.box[n - 1][0]),
                     reinterpret_cast<const BAIReal *>(mine + m.box[n - 1][1])},
    .sums         = zero + n - 1,
    .stalled      = state->stalled,
    .stalled_host = &state->told->stalled
  };
  return BAIStatusOf(BAI_OK);
}

bool BAIDeviceSolves(BAILevelsState state)
{
  return state->sums.ranks > 1 && state->own.i && !state->info.negative;
}

/* Types of x and of its copy in mailboxes. Mailboxes of vectors in the caller's ordering have native numbers, also if x
   is single */
enum Numbers {
  NATIVE,
  SINGLE,
  SINGLE_BY_NATIVE
};

/* Calls get(k) and then put(k, value) for k from first + t to last in steps of step, several gets before the first
   put */
template <typename T, typename Get, typename Put>
static __device__ __forceinline__ void Copy(int first, int last, int t, int step, Get get, Put put)
{
  for (int k = first + t; k < last; k += BAI_EXCHANGE_AT_ONCE * step) {
    T value[BAI_EXCHANGE_AT_ONCE];

#pragma unroll
    for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
      if (k + u * step < last) value[u] = get(k + u * step);
#pragma unroll
    for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
      if (k + u * step < last) put(k + u * step, value[u]);
  }
}

/* Sends x of rows, of type T, to the mailboxes of other ranks, as numbers of type M */
template <typename T, typename M>
static __device__ __forceinline__ void Send(const BAIDeviceHalo &h, int odd, const void *from, int t, int step)
{
  const T *const x = static_cast<const T *>(from);

  for (int p = 0; p < h.peers; p++) {
    const int first = h.peer[p].first;
    M *const  to    = static_cast<M *>(h.peer[p].to[odd]);

    Copy<T>(
      first, h.peer[p].last, t, step, [&](int k) { return x[h.place[k]]; },
      [&](int k, T value) { BAIStoreFar(to + (k - first), M(value)); });
  }
}

/* Copies x of ghosts, of type T, from the mailbox, where it has type M, to its place behind x of the rows */
template <typename T, typename M>
static __device__ __forceinline__ void Receive(const BAIDeviceHalo &h, int odd, void *ghosts, int t, int step)
{
  const M *const box = static_cast<const M *>(h.box[odd]);

  Copy<M>(
    0, h.ghosts, t, step, [&](int g) { return BAILoadFar(box + g); },
    [&](int g, M value) { static_cast<T *>(ghosts)[g] = T(value); });
}

/* Sends x, then the number of the exchange to the flags of the other ranks; receives x of ghosts when all of them have
   arrived. All thread blocks must run at the same time */
static __global__ __launch_bounds__(BAI_SOLVE_THREADS,
                                    BAI_EXCHANGE_EACH) void ExchangeFar(Numbers numbers, BAIDeviceHalo h, const void *x,
                                                                        void *ghosts, const int *done,
                                                                        unsigned *arrived, int *stalled,
                                                                        int *stalled_host)
{
  BAIFollow();
  const int     stop   = done ? *done : 0;
  const BAIFlag number = BAILoad(h.exchanges) + 1; /* bypasses L1, which may hold an old value */
  const int     step = (int)(gridDim.x * blockDim.x), t = (int)(blockIdx.x * blockDim.x + threadIdx.x),
            odd = (int)(number & 1);

  if (stop) return;
  if (numbers == NATIVE) Send<BAIScalar, BAIScalar>(h, odd, x, t, step);
  else if (numbers == SINGLE) Send<BAISingle, BAISingle>(h, odd, x, t, step);
  else Send<BAISingle, BAIScalar>(h, odd, x, t, step);
  __syncthreads();
  /* for all threads of the block, after the barrier */
  if (!threadIdx.x) BAIFenceFar();
  if (__syncthreads_or(!threadIdx.x && BAIArrive(arrived) == gridDim.x)) { /* the last block */
    if (!threadIdx.x) *arrived = 0;
    if (!threadIdx.x) BAIStore(h.exchanges, number);
    for (int p = (int)threadIdx.x; p < h.peers; p += (int)blockDim.x) BAIStoreFarRelease(h.peer[p].tell, number);
  }
  for (int p = (int)threadIdx.x; p < h.peers; p += (int)blockDim.x) {
    const BAIFlag *flag = h.peer[p].told;

    BAISpin(
      stalled, stalled_host, [=] { return BAILoadFarAcquire(flag) >= number; }, BAI_PEER_CYCLES, BAI_ERR_ABSENT);
  }
  __syncthreads();
  if (numbers == NATIVE) Receive<BAIScalar, BAIScalar>(h, odd, ghosts, t, step);
  else if (numbers == SINGLE) Receive<BAISingle, BAISingle>(h, odd, ghosts, t, step);
  else Receive<BAISingle, BAIScalar>(h, odd, ghosts, t, step);
}

/* Exchanges x of ghosts by one kernel, in stream order. The host does not wait, so an error may belong to an earlier
   exchange */
static BAIStatus Directly(BAILevelsState state, Numbers numbers, const BAIDeviceHalo &h, const void *x, void *ghosts,
                          const int *done)
{
  const int each = BAI_SOLVE_THREADS * BAI_EXCHANGE_AT_ONCE, longest = h.sends > h.ghosts ? h.sends : h.ghosts;
  const int wanted = (int)BAIGrid(longest, each).x, room = state->s.processors * BAI_EXCHANGE_EACH,
            most = room < BAI_EXCHANGE_BLOCKS ? room : BAI_EXCHANGE_BLOCKS;

  BAITry(BAIFollowWith(state->s, ExchangeFar, dim3((unsigned)(wanted < most ? wanted : most)), BAI_SOLVE_THREADS,
                       numbers, h, x, ghosts, done, state->arrived, state->stalled, &state->told->stalled));
  return BAIStatusOf(state->told->stalled ? BAI_ERR_ABSENT : BAI_OK);
}

BAIStatus BAIDeviceExchangeVector(BAILevelsState state, bool single, const void *x, const int *done)
{
  if (!state->vector.peers) return BAIStatusOf(BAI_OK);
  return Directly(state, single ? SINGLE_BY_NATIVE : NATIVE, state->vector, x, state->between.x, done);
}

/* Sends x of the rows that others read by the caller's exchange() */
static BAIStatus ByCaller(BAILevelsState state, int level, const void *x, void *ghosts)
{
  const BAIDeviceHalo &h    = state->level[level].halo;
  const size_t         size = BAISizeOfNumbers(state);

  if (h.sends) BAITry(BAIDeviceCopyRows(state, (size_t)h.sends, h.place, size, x, h.packed));
  return state->ranks.exchange(state->ranks.context, level, size, h.packed, ghosts) ? BAIDeviceGivenUp()
                                                                                    : BAIStatusOf(BAI_OK);
}

/* A rank without rows of a level may have ghosts there, with room for them in x */
BAIStatus BAIDeviceExchange(BAILevelsState state, int level, void *x, const int *done)
{
  const BAIDeviceLevel &L      = state->level[level];
  void *const           ghosts = static_cast<char *>(x) + (size_t)L.A.n * BAISizeOfNumbers(state);

  if (!L.halo.sends && !L.halo.ghosts) return BAIStatusOf(BAI_OK);
  return L.halo.peers ? Directly(state, state->single ? SINGLE : NATIVE, L.halo, x, ghosts, done)
                      : ByCaller(state, level, x, ghosts);
}

/* Copies b of this rank, n rows by places, to rest from number first on, in native precision, and then of other
   ranks */
static __global__ void ToRest(bool single, int n, int all, int first, const int *row, const void *b, BAIScalar *rest)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  BAIFollow();
  if (p >= all) return;
  rest[p < n             ? first + row[p]
         : p - n < first ? p - n
                         : p] = single ? BAIScalar(static_cast<const BAISingle *>(b)[p])
                                       : static_cast<const BAIScalar *>(b)[p];
}

/* Adds x at place p to the rows of aggregate p of the level above, or stores it if child is NULL */
template <typename T>
static __device__ __forceinline__ void AddRest(int p, BAIScalar rest, const int *child, void *to)
{
  const T  x     = T(rest);
  T *const above = static_cast<T *>(to);

  if (!child) above[p] = x;
  for (int k = child ? child[p] : 0; child && k < child[p + 1]; k++) above[k] += x;
}

/* Prolongs x to the rows of each aggregate of the level above, or copies it if child is NULL. Levels belong to A times
   scale, the caller's level to A */
static __global__ void FromRest(bool single, int n, const int *row, const BAIScalar *rest, BAIReal scale,
                                const int *child, void *above)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  BAIFollow();
  if (p >= n) return;
  if (single) AddRest<BAISingle>(p, rest[row[p]] / scale, child, above);
  else AddRest<BAIScalar>(p, rest[row[p]] / scale, child, above);
}

BAIStatus BAIDeviceRest(BAILevelsState state, int level, const int *done)
{
  const BAIDeviceLevel *L      = &state->level[level];
  const bool            single = state->single != 0, modes = state->p.modes != 0;
  const int             n = L->A.n, all = L->halo.all, first = (int)state->ranks.first;

  if (!n) return BAIStatusOf(BAI_OK);
  BAITry(BAIDeviceExchange(state, level, L->b, done));
  BAITry(BAIFollowWith(state->s, ToRest, BAIGrid(all, BAI_SOLVE_THREADS), BAI_SOLVE_THREADS, single, n, all, first,
                       L->row, L->b, state->ranks.b));
  if (state->ranks.rest(state->ranks.context)) return BAIDeviceGivenUp();
  return BAIFollowWith(state->s, FromRest, BAIGrid(n, BAI_SOLVE_THREADS), BAI_SOLVE_THREADS, single, n, L->row,
                       state->ranks.x + first, state->scale, modes ? NULL : L[-1].child, modes ? L->x : L[-1].x);
}
