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

/* Types of x and of its copy in mailboxes. Mailboxes of vectors in the caller's ordering have native numbers, also if x
   is single */
enum Numbers {
  NATIVE,
  SINGLE,
  SINGLE_BY_NATIVE
};

/* Writes a number to the memory of another rank */
template <typename M>
static __device__ __forceinline__ void SendNumber(Piece *to, M value, unsigned exchange)
{
  unsigned part[PIECES<M>];

  memcpy(part, &value, sizeof(value));
#pragma unroll
  for (int k = 0; k < PIECES<M>; k++) BAIStoreFar(to + k, (Piece)exchange << 32 | part[k]);
}

/* Whether a number of this exchange has come; returns it in value */
template <typename M>
static __device__ __forceinline__ bool HasCome(const Piece *from, unsigned exchange, M *value)
{
  unsigned part[PIECES<M>];
  bool     come = true;

#pragma unroll
  for (int k = 0; k < PIECES<M>; k++) {
    const Piece piece = BAILoadFar(from + k);

    part[k] = (unsigned)piece;
    come    = (unsigned)(piece >> 32) == exchange && come;
  }
  memcpy(value, part, sizeof(*value));
  return come;
}

/* Sends x of rows, of type T, to the mailboxes of other ranks, as numbers of type M */
template <typename T, typename M>
static __device__ __forceinline__ void Send(const BAIDeviceHalo &h, BAIFlag number, const T *x, int t, int step)
{
  for (int p = 0; p < h.peers; p++) {
    const int    first = h.peer[p].first, last = h.peer[p].last;
    Piece *const to = static_cast<Piece *>(h.peer[p].to[number & 1]);

    for (int k = first + t; k < last; k += BAI_EXCHANGE_AT_ONCE * step) {
      T value[BAI_EXCHANGE_AT_ONCE];

#pragma unroll
      for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
        if (k + u * step < last) value[u] = x[h.place[k + u * step]];
#pragma unroll
      for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
        if (k + u * step < last) SendNumber(to + (k + u * step - first) * PIECES<M>, M(value[u]), (unsigned)number);
    }
  }
}

/* Waits for x of ghosts in the mailbox, where it has type M, and copies it to its place behind x of the rows, of
   type T */
template <typename T, typename M>
static __device__ __forceinline__ void Receive(const BAIDeviceHalo &h, BAIFlag number, T *ghosts, int t, int step,
                                               int *stalled, int *stalled_host)
{
  const Piece *const box = static_cast<const Piece *>(h.box[number & 1]);

  for (int g = t; g < h.ghosts; g += BAI_EXCHANGE_AT_ONCE * step) {
    M value[BAI_EXCHANGE_AT_ONCE];

    BAISpin(
      stalled, stalled_host,
      [&] {
        bool come = true;

#pragma unroll
        for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
          if (g + u * step < h.ghosts)
            come = HasCome(box + (g + u * step) * PIECES<M>, (unsigned)number, &value[u]) && come;
        return come;
      },
      BAI_PEER_CYCLES, BAI_ERR_ABSENT);
#pragma unroll
    for (int u = 0; u < BAI_EXCHANGE_AT_ONCE; u++)
      if (g + u * step < h.ghosts) ghosts[g + u * step] = T(value[u]);
  }
}

/* An exchange of x of type T by numbers of type M. Each rank tells all peers that it has begun, and so
   has read what came with the exchange before, by an earlier kernel. They may overwrite that in the next exchange */
template <typename T, typename M>
static __device__ __forceinline__ void Exchange(const BAIDeviceHalo &h, const void *x, void *ghosts, unsigned *arrived,
                                                int *stalled, int *stalled_host)
{
  const BAIFlag number = BAILoad(h.exchanges) + 1; /* bypasses L1, which may hold an old value */
  const int     step = (int)(gridDim.x * blockDim.x), t = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  for (int p = t; p < h.peers; p += step) BAIStoreFar(h.peer[p].tell, number);
  Send<T, M>(h, number, static_cast<const T *>(x), t, step);
  __syncthreads(); /* all threads of the block have read the number */
  if (!threadIdx.x && BAIArrive(arrived) == gridDim.x) {
    *arrived = 0;
    BAIStore(h.exchanges, number);
  }
  Receive<T, M>(h, number, static_cast<T *>(ghosts), t, step, stalled, stalled_host);
  for (int p = t; p < h.peers; p += step) {
    const BAIFlag *flag = h.peer[p].told;

    BAISpin(
      stalled, stalled_host, [=] { return BAILoadFar(flag) >= number; }, BAI_PEER_CYCLES, BAI_ERR_ABSENT);
  }
}

/* Sends x and receives x of ghosts. All thread blocks must run at the same time: those that wait must not keep others
   from sending */
static __global__ __launch_bounds__(BAI_SOLVE_THREADS,
                                    BAI_EXCHANGE_EACH) void ExchangeFar(Numbers numbers, BAIDeviceHalo h, const void *x,
                                                                        void *ghosts, const int *done,
                                                                        unsigned *arrived, int *stalled,
                                                                        int *stalled_host)
{
  BAIFollow();
  if (done && *done) return;
  if (numbers == NATIVE) Exchange<BAIScalar, BAIScalar>(h, x, ghosts, arrived, stalled, stalled_host);
  else if (numbers == SINGLE) Exchange<BAISingle, BAISingle>(h, x, ghosts, arrived, stalled, stalled_host);
  else Exchange<BAISingle, BAIScalar>(h, x, ghosts, arrived, stalled, stalled_host);
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
  for (int k = child ? child[p] : 0, end = child ? child[p + 1] : 0; k < end; k += BAI_CHILDREN_AT_ONCE) {
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
