/*
   What a cycle of levels on a device needs of other ranks: x of ghosts, and the level that the caller solves, see
   ../levels.h. Ranks write to each other's memory, or values go through the host
*/
#include "levels.h"
#include "../../common/cuda/spin.h"
#include <vector>

enum {
  THREADS     = 256,
  AT_ONCE     = 4,  /* x that a thread has under way at a time */
  MOST_BLOCKS = 128 /* that wait for other ranks at a time */
};

static BAIStatus GivenUp()
{
  return BAIStatusBecause(BAI_ERR_ABSENT, "a cycle of several ranks", "one of them has given up");
}

/* The halo of an exchange: of a level, or of vectors; NULL: it is that of sums */
static BAIDeviceHalo *HaloOf(BAILevelsState state, int exchange)
{
  return exchange < state->levels ? &state->level[exchange].halo : exchange == state->levels ? &state->vector : NULL;
}

/* Bytes of an x, or of a rank's sums */
static size_t SizeOf(BAILevelsState state, int exchange)
{
  if (exchange < state->levels) return BAISizeOfNumbers(state);
  return exchange == state->levels ? sizeof(BAIScalar) : BAI_FAR_SUMS * sizeof(BAIReal);
}

/* Where other ranks write: of each exchange what comes in even ones, and in odd ones; then flags, exchanges x ranks */
typedef struct {
  size_t box[BAI_LEVELS_MOST + 2][2], flags, bytes;
} Mailbox;

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

BAIStatus BAIDeviceShare(BAILevelsState state, int ranks, const BAIInt *begin, size_t *bytes, BAILevelsAddress *address)
{
  const int     n = state->levels + 2;
  const Mailbox m = MailboxOf(state, ranks);

  *bytes = m.bytes;
  for (int e = 0; e < n; e++)
    for (int k = 0; k < ranks; k++) {
      const size_t at = (size_t)(HaloOf(state, e) ? begin[e * ranks + k] : k) * SizeOf(state, e);

      address[k * n + e] = {m.box[e][0] + at, m.box[e][1] + at, m.flags + (size_t)(e * ranks + k) * sizeof(BAIFlag)};
    }
  return BAIStatusOf(BAI_OK);
}

/* Numbers of the host, to the device */
template <typename T>
static BAIStatus Upload(BAILevelsState state, const std::vector<T> &from, T **to)
{
  BAITry(BAICUDAAllocate(&state->s, (from.size() + 1) * sizeof(T), to));
  if (!from.empty())
    CUDATry(cudaMemcpyAsync(*to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, state->s.stream));
  CUDATry(cudaStreamSynchronize(state->s.stream));
  return BAIStatusOf(BAI_OK);
}

/* The other ranks of an exchange */
static void AddPeers(BAILevelsState state, int e, const BAILevelsPeers *peers, BAIFlag *told,
                     std::vector<BAIFarPeer> *far)
{
  const int n = state->levels + 2;

  for (int k = 0; k < peers->ranks; k++) {
    const int               at    = e * peers->ranks + k;
    const BAILevelsAddress *a     = &peers->address[k * n + e];
    char *const             there = static_cast<char *>(peers->memory[k]);
    const bool              meet  = !HaloOf(state, e) || peers->first[at] < peers->last[at] || peers->ghosts[at];

    if (k == peers->rank || !meet) continue;
    far->push_back({
      (int)peers->first[at],
      (int)peers->last[at],
      {there + a->even, there + a->odd},
      reinterpret_cast<BAIFlag *>(there + a->flag),
      told + at
    });
  }
}

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
  BAIFlag                *zero; /* numbers of exchanges, of each; arrived; stalled */
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
  CUDATry(cudaStreamSynchronize(state->s.stream)); /* all flags are 0 before another rank sets one */
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

/* All ranks may do a solve together */
bool BAIDeviceSolves(BAILevelsState state)
{
  return state->sums.ranks > 1 && state->own.i && !state->negative;
}

/* Calls get(k) and then put(k, value) for k from first + t to last in steps, several gets before the first put */
template <typename T, typename Get, typename Put>
static __device__ __forceinline__ void Copy(int first, int last, int t, int step, Get get, Put put)
{
  for (int k = first + t; k < last; k += AT_ONCE * step) {
    T value[AT_ONCE];

#pragma unroll
    for (int u = 0; u < AT_ONCE; u++)
      if (k + u * step < last) value[u] = get(k + u * step);
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++)
      if (k + u * step < last) put(k + u * step, value[u]);
  }
}

/* x of the rows that are sent goes to the mailboxes of other ranks, then its number to their flags. When all of theirs
   have come, x of ghosts is behind that of the rows. Thread blocks are few enough to run at the same time */
template <typename T>
static __global__ __launch_bounds__(THREADS) void ExchangeFar(BAIDeviceHalo h, const T *x, T *ghosts, const int *done,
                                                              unsigned *arrived, int *stalled, int *stalled_host)
{
  BAIFollow();
  const int      stop   = done ? *done : 0;
  const BAIFlag  number = BAILoad(h.exchanges) + 1; /* not from L1, where an old one may be */
  const int      step = (int)(gridDim.x * blockDim.x), t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const T *const box = static_cast<const T *>(h.box[number & 1]);

  if (stop) return;
  for (int p = 0; p < h.peers; p++) {
    const int first = h.peer[p].first;
    T *const  to    = static_cast<T *>(h.peer[p].to[number & 1]);

    Copy<T>(
      first, h.peer[p].last, t, step, [&](int k) { return x[h.place[k]]; },
      [&](int k, T value) { BAIStoreFar(to + (k - first), value); });
  }
  __syncthreads();
  if (!threadIdx.x) BAIFenceFar();                                         /* for all of the block, which have met */
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
  Copy<T>(
    0, h.ghosts, t, step, [&](int g) { return BAILoadFar(box + g); }, [&](int g, T value) { ghosts[g] = value; });
}

/* As a kernel of the row of those of a cycle, see follow.h */
static BAIStatus Launch(BAILevelsState state, const void *kernel, dim3 grid, void **arguments)
{
  CUDATry(BAILaunch(kernel, grid, THREADS, 0, state->s.stream, state->s.follows, arguments));
  return BAIStatusOf(BAI_OK);
}

template <typename T>
static BAIStatus Directly(BAILevelsState state, const BAIDeviceHalo *h, const T *x, T *ghosts, const int *done)
{
  const int     most         = h->sends > h->ghosts ? h->sends : h->ghosts;
  const int     blocks       = (most + THREADS * AT_ONCE - 1) / (THREADS * AT_ONCE);
  BAIDeviceHalo halo         = *h;
  int          *stalled_host = &state->told->stalled;
  void         *arguments[]  = {&halo, &x, &ghosts, &done, &state->arrived, &state->stalled, &stalled_host};

  BAITry(Launch(state, (const void *)ExchangeFar<T>,
                dim3((unsigned)(blocks < 1               ? 1
                                  : blocks < MOST_BLOCKS ? blocks
                                                         : MOST_BLOCKS)),
                arguments));
  if (state->told->stalled) return BAIStatusOf(BAI_ERR_ABSENT);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIDeviceExchangeVector(BAILevelsState state, const BAIScalar *x, const int *done)
{
  if (!state->vector.peers) return BAIStatusOf(BAI_OK);
  return Directly(state, &state->vector, x, const_cast<BAIScalar *>(state->between.x), done);
}

/* Through the host: x of the rows that are sent goes there, and that of ghosts comes back */
template <typename T>
static BAIStatus ThroughHost(BAILevelsState state, int level, T *x)
{
  const BAIDeviceHalo *h      = &state->level[level].halo;
  cudaStream_t         stream = state->s.stream;

  if (h->sends) {
    BAITry(BAIDevicePick(state, (size_t)h->sends, h->place, sizeof(T), x, h->packed));
    CUDATry(cudaMemcpyAsync(h->sent, h->packed, (size_t)h->sends * sizeof(T), cudaMemcpyDeviceToHost, stream));
    CUDATry(cudaStreamSynchronize(stream));
  }
  if (state->ranks.exchange(state->ranks.context, level, sizeof(T), h->sent, h->got)) return GivenUp();
  if (h->ghosts && x)
    CUDATry(cudaMemcpyAsync(x + state->level[level].A.n, h->got, (size_t)h->ghosts * sizeof(T), cudaMemcpyHostToDevice,
                            stream));
  return BAIStatusOf(BAI_OK);
}

template <typename T>
static BAIStatus Exchange(BAILevelsState state, int level, T *x, const int *done)
{
  const BAIDeviceLevel *L = &state->level[level];

  return L->halo.peers ? Directly(state, &L->halo, x, x + L->A.n, done) : ThroughHost(state, level, x);
}

/* A rank without rows of a level may have ghosts there, and room for them as x */
BAIStatus BAIDeviceExchange(BAILevelsState state, int level, void *x, const int *done)
{
  const BAIDeviceHalo *h = &state->level[level].halo;

  if (!h->sends && !h->ghosts) return BAIStatusOf(BAI_OK);
  return state->single ? Exchange(state, level, static_cast<BAISingle *>(x), done)
                       : Exchange(state, level, static_cast<BAIScalar *>(x), done);
}

/* b of all ranks by rows, in native precision: n of this rank by places, which begin at number first; then the
   others */
template <typename T>
static __global__ void ToRest(int n, int all, int first, const int *row, const T *b, BAIScalar *rest)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  BAIFollow();
  if (p >= all) return;
  rest[p < n ? first + row[p] : p - n < first ? p - n : p] = BAIScalar(b[p]);
}

/* x on the rows of each aggregate of the level above, or, if child is NULL, x alone. Levels are of A times scale, the
   caller's is of A */
template <typename T>
static __global__ void FromRest(int n, const int *row, const BAIScalar *rest, BAIReal scale, const int *child, T *above)
{
  const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  BAIFollow();
  if (p >= n) return;
  const T x = T(rest[row[p]] / scale);

  if (!child) above[p] = x;
  for (int k = child ? child[p] : 0; child && k < child[p + 1]; k++) above[k] += x;
}

template <typename T>
static BAIStatus Rest(BAILevelsState state, int level, const int *done)
{
  const BAIDeviceLevel *L      = &state->level[level];
  const size_t          bytes  = (size_t)L->halo.all * sizeof(BAIScalar);
  cudaStream_t          stream = state->s.stream;
  int                   n = L->A.n, all = L->halo.all, first = (int)state->ranks.first;
  int                  *row = L->row, *child = state->p.modes ? NULL : L[-1].child;
  T                    *b = static_cast<T *>(L->b), *above = static_cast<T *>(state->p.modes ? L->x : L[-1].x);
  /* those of the caller, or what stands in for them on the device */
  BAIScalar *to   = state->staged ? state->rest[0] : state->ranks.b;
  BAIScalar *from = (state->staged ? state->rest[1] : state->ranks.x) + first;
  void      *in[] = {&n, &all, &first, &row, &b, &to}, *out[] = {&n, &row, &from, &state->scale, &child, &above};

  if (!n) return BAIStatusOf(BAI_OK);
  BAITry(BAIDeviceExchange(state, level, b, done));
  BAITry(Launch(state, (const void *)ToRest<T>, BAIGrid(all, THREADS), in));
  if (state->staged) {
    CUDATry(cudaMemcpyAsync(state->ranks.b, to, bytes, cudaMemcpyDeviceToHost, stream));
    CUDATry(cudaStreamSynchronize(stream));
  }
  if (state->ranks.rest(state->ranks.context)) return GivenUp();
  if (state->staged) CUDATry(cudaMemcpyAsync(state->rest[1], state->ranks.x, bytes, cudaMemcpyHostToDevice, stream));
  return Launch(state, (const void *)FromRest<T>, BAIGrid(n, THREADS), out);
}

BAIStatus BAIDeviceRest(BAILevelsState state, int level, const int *done)
{
  return state->single ? Rest<BAISingle>(state, level, done) : Rest<BAIScalar>(state, level, done);
}
