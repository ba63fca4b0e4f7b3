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
  if (shared->whole) {
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

/* Four bytes of a number in the lower half, and in the upper half the number of the exchange that sends them. A piece
   is read and written at once, so the reader sees whether its data have come, and need not wait for a flag first */
typedef unsigned long long Piece;

template <typename M>
static constexpr int PIECES = (int)(sizeof(M) / sizeof(unsigned));

/* Bytes in a mailbox of each ghost of an exchange, or of the sums of each rank */
static size_t SizeOf(BAILevelsState state, int exchange)
{
  const size_t pieces = sizeof(Piece) / sizeof(unsigned);

  if (exchange < state->levels) return BAISizeOfNumbers(state) * pieces;
  return exchange == state->levels ? sizeof(BAIScalar) * pieces : BAI_FAR_SUMS * sizeof(BAIReal);
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
  CUDATry(cudaMemsetAsync(mine, 0, m.bytes, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream)); /* all numbers must be 0 before another rank writes one */
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

/* Writes a number to the memory of another rank */
template <typename T>
static __device__ __forceinline__ void SendNumber(Piece *to, T value, unsigned exchange)
{
  unsigned part[PIECES<T>];

  memcpy(part, &value, sizeof(value));
#pragma unroll
  for (int k = 0; k < PIECES<T>; k++) BAIStoreFar(to + k, (Piece)exchange << 32 | part[k]);
}

/* Whether a number of this exchange has come; returns it in value */
template <typename T>
static __device__ __forceinline__ bool HasCome(const Piece *from, unsigned exchange, T *value)
{
  unsigned part[PIECES<T>];
  bool     come = true;

#pragma unroll
  for (int k = 0; k < PIECES<T>; k++) {
    const Piece piece = BAILoadFar(from + k);

    part[k] = (unsigned)piece;
    come    = (unsigned)(piece >> 32) == exchange && come;
  }
  memcpy(value, part, sizeof(*value));
  return come;
}

/* Rows whose x a thread sends to a peer together: where they are, and x. step is the number of threads */
template <typename T>
struct Sent {
  int place[BAI_EXCHANGE_AT_ONCE];
  T   x[BAI_EXCHANGE_AT_ONCE];

  /* Finds the places of the rows from number k of the list on */
  __device__ __forceinline__ void Find(const BAIDeviceHalo &h, const BAIFarPeer &peer, int k, int step)
  {
#pragma unroll
    for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++) place[u] = k + u * step < peer.last ? h.place[k + u * step] : -1;
  }

  __device__ __forceinline__ void Fetch(const T *from)
  {
#pragma unroll
    for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
      if (place[u] >= 0) x[u] = from[place[u]];
  }
};

/* Waits for x of ghosts in the mailbox, which has room pieces for each, and copies it to its place behind x of the
   rows */
template <typename T>
static __device__ __forceinline__ void Receive(const BAIDeviceHalo &h, int room, BAIFlag number, T *ghosts, int t,
                                               int step, int *stalled, int *stalled_host)
{
  const Piece *const box = static_cast<const Piece *>(h.box[number & 1]);

  for (int g = t; g < h.ghosts; g += BAI_EXCHANGE_AT_ONCE * step) {
    T value[BAI_EXCHANGE_AT_ONCE];

    BAISpin(
      stalled, stalled_host,
      [&] {
        bool come = true;

#pragma unroll
        for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
          if (g + u * step < h.ghosts) come = HasCome(box + (g + u * step) * room, (unsigned)number, &value[u]) && come;
        return come;
      },
      BAI_PEER_CYCLES, BAI_ERR_ABSENT);
#pragma unroll
    for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
      if (g + u * step < h.ghosts) ghosts[g + u * step] = value[u];
  }
}

/* An exchange of x of type T, with room for room pieces of each number in mailboxes. Each rank tells all peers that it
   has begun, and so has read what came with the exchange before, by an earlier kernel. They may overwrite that in the
   next exchange. Before the previous kernel has ended, a thread reads the places of its first rows. It reads their x
   before it knows whether the solve has ended, so that these loads overlap */
template <typename T>
static __device__ __forceinline__ void Exchange(const BAIDeviceHalo &h, int room, const T *x, T *ghosts,
                                                const int *done, unsigned *arrived, int *stalled, int *stalled_host)
{
  const int  step = (int)(gridDim.x * blockDim.x), t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  BAIFarPeer peer = h.peers ? h.peer[0] : BAIFarPeer{};
  Sent<T>    sent;

  sent.Find(h, peer, peer.first + t, step);
  BAIFollow();
  const int     stop   = done ? *done : 0;
  const BAIFlag number = BAILoad(h.exchanges) + 1; /* bypasses L1, which may hold an old value */

  sent.Fetch(x);
  if (stop) return;
  for (int p = t; p < h.peers; p += step) BAIStoreFar(h.peer[p].tell, number);
  for (int p = 0; p < h.peers; p++) {
    if (p) peer = h.peer[p];
    for (int first = peer.first + t, k = first; k < peer.last; k += BAI_EXCHANGE_AT_ONCE * step) {
      if (p || k > first) sent.Find(h, peer, k, step);
      if (p || k > first) sent.Fetch(x);
      Piece *const to = static_cast<Piece *>(peer.to[number & 1]) + (k - peer.first) * room;

#pragma unroll
      for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
        if (sent.place[u] >= 0) SendNumber(to + u * step * room, sent.x[u], (unsigned)number);
    }
  }
  __syncthreads(); /* all threads of the block have read the number */
  if (!threadIdx.x && BAIArrive(arrived) == gridDim.x) {
    *arrived = 0;
    BAIStore(h.exchanges, number);
  }
  Receive(h, room, number, ghosts, t, step, stalled, stalled_host);
  for (int p = step - 1 - t; p < h.peers; p += step) { /* the last threads, which have the fewest ghosts */
    const BAIFlag *flag = h.peer[p].told;

    BAISpin(
      stalled, stalled_host, [=] { return BAILoadFar(flag) >= number; }, BAI_PEER_CYCLES, BAI_ERR_ABSENT);
  }
}

/* Sends x and receives x of ghosts. All thread blocks must run at the same time: those that wait must not keep others
   from sending */
static __global__ __launch_bounds__(BAI_SOLVE_THREADS,
                                    BAI_EXCHANGE_EACH) void ExchangeFar(bool single, int room, BAIDeviceHalo h,
                                                                        const void *x, void *ghosts, const int *done,
                                                                        unsigned *arrived, int *stalled,
                                                                        int *stalled_host)
{
  if (single)
    Exchange(h, room, static_cast<const BAISingle *>(x), static_cast<BAISingle *>(ghosts), done, arrived, stalled,
             stalled_host);
  else
    Exchange(h, room, static_cast<const BAIScalar *>(x), static_cast<BAIScalar *>(ghosts), done, arrived, stalled,
             stalled_host);
}

/* Exchanges x of ghosts by one kernel, in stream order, where mailboxes have room for room pieces of each number. The
   host does not wait, so an error may belong to an earlier exchange */
static BAIStatus Directly(BAILevelsState state, bool single, int room, const BAIDeviceHalo &h, const void *x,
                          void *ghosts, const int *done)
{
  const int each = BAI_SOLVE_THREADS * BAI_EXCHANGE_AT_ONCE, longest = h.sends > h.ghosts ? h.sends : h.ghosts;
  const int wanted = (int)BAIGrid(longest, each).x, together = state->s.processors * BAI_EXCHANGE_EACH,
            most = together < BAI_EXCHANGE_BLOCKS ? together : BAI_EXCHANGE_BLOCKS;

  BAITry(BAIFollowWith(state->s, ExchangeFar, dim3((unsigned)(wanted < most ? wanted : most)), BAI_SOLVE_THREADS,
                       single, room, h, x, ghosts, done, state->arrived, state->stalled, &state->told->stalled));
  return BAIStatusOf(state->told->stalled ? BAI_ERR_ABSENT : BAI_OK);
}

BAIStatus BAIDeviceExchangeVector(BAILevelsState state, bool single, const void *x, const int *done)
{
  if (!state->vector.peers) return BAIStatusOf(BAI_OK);
  return Directly(state, single, PIECES<BAIScalar>, state->vector, x, state->between.x, done);
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
  if (!L.halo.peers) return ByCaller(state, level, x, ghosts);
  return Directly(state, state->single, state->single ? PIECES<BAISingle> : PIECES<BAIScalar>, L.halo, x, ghosts, done);
}

/* Copies b of this rank, n rows by places, to rest from number first on, in native precision, and then of other
   ranks */
static __global__ void ToRest(bool single, int n, int all, int first, const int *row, const void *b, BAIScalar *rest)
{
  const int p  = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const int to = p < n ? first + row[p] : p - n < first ? p - n : p;

  BAIFollow();
  if (p >= all) return;
  rest[to] = single ? BAIScalar(static_cast<const BAISingle *>(b)[p]) : static_cast<const BAIScalar *>(b)[p];
}

/* Adds x to the places begin to end - 1 of the level above, or if add is false stores it there */
template <typename T>
static __device__ __forceinline__ void AddRest(BAIScalar rest, int begin, int end, bool add, T *above)
{
  const T x = T(rest);

  if (!add) above[begin] = x;
  for (int k = begin; k < end && add; k += BAI_CHILDREN_AT_ONCE) {
    T sum[BAI_CHILDREN_AT_ONCE];

#pragma unroll
    for (int u = 0; u < BAI_CHILDREN_AT_ONCE; u++)
      if (k + u < end) sum[u] = above[k + u] + x;
#pragma unroll
    for (int u = 0; u < BAI_CHILDREN_AT_ONCE; u++)
      if (k + u < end) above[k + u] = sum[u];
  }
}

/* Prolongs x to the rows of each aggregate of the level above, or copies it if child is NULL. Levels belong to A times
   scale, the caller's level to A */
static __global__ void FromRest(bool single, int n, const int *row, const BAIScalar *rest, BAIReal scale,
                                const int *child, void *above)
{
  const int  p   = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const bool add = child != NULL, is = p < n;
  const int  from = is ? row[p] : 0, begin = add && is ? child[p] : p, end = add && is ? child[p + 1] : p;

  BAIFollow();
  if (!is) return;
  const BAIScalar x = rest[from] / scale;

  if (single) AddRest(x, begin, end, add, static_cast<BAISingle *>(above));
  else AddRest(x, begin, end, add, static_cast<BAIScalar *>(above));
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
