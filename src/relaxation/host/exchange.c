/* Exchange of x between ranks of a node, in shared memory, see exchange.h */
#include "host.h"
#include <sched.h>
#include <stdlib.h>
#include <time.h>

typedef _Atomic(BAIFlag) AtomicFlag;

/* Allocates the arrays of a connection; BAIHostDisconnect() frees them after an error too */
static BAIStatus AllocateExchange(BAIState state, const BAIPeers *peers)
{
  BAIHostExchange *e     = &state->exchange;
  const size_t     sends = (size_t)peers->first[peers->peers] + 1;

  e->tell  = malloc(((size_t)peers->peers + 1) * sizeof(*e->tell));
  e->first = malloc(((size_t)state->A.blocks + 1) * sizeof(*e->first));
  e->row   = malloc(sends * sizeof(*e->row));
  e->zero  = calloc((size_t)state->A.nghost + 1, BAIValueSize(&state->A));
  for (int k = 0; k < 2; k++) e->to[k] = malloc(sends * sizeof(*e->to[k]));
  return BAIStatusOf(e->tell && e->first && e->row && e->zero && e->to[0] && e->to[1] ? BAI_OK : BAI_ERR_MEMORY);
}

/* BAIEngineConnect(): clears the mailbox, and sorts the sent rows by block, with the place of each in its peer's
   mailbox */
BAIStatus BAIHostConnect(BAIState state, const BAIPeers *peers)
{
  BAIHostExchange *e     = &state->exchange;
  const BAIInt     sends = peers->first[peers->peers];
  const size_t     size  = BAIValueSize(&state->A);
  BAIInt *group = malloc(((size_t)sends + 1) * sizeof(*group)), *send = malloc(((size_t)sends + 1) * sizeof(*send)),
         *peer     = malloc(((size_t)sends + 1) * sizeof(*peer));
  BAIStatus status = group && send && peer ? AllocateExchange(state, peers) : BAIStatusOf(BAI_ERR_MEMORY);

  if (!status.code) {
    e->mailbox = peers->mine;
    e->peers   = peers->peers;
    e->sends   = sends;
    memset(e->mailbox, 0, BAIMailboxBytes((size_t)state->A.nghost, size, peers->peers));
    for (BAIInt p = 0; p < peers->peers; p++) e->tell[p] = BAIFlagOf(peers, p, size);
    for (BAIInt k = 0; k < sends; k++) group[k] = BAIBlockOfRow(&state->A, peers->row[k]);
    BAISortSends(peers, state->A.blocks, group, e->first, send, peer);
    for (BAIInt k = 0; k < sends; k++) {
      e->row[k] = peers->row[send[k]];
      for (int odd = 0; odd < 2; odd++)
        e->to[odd][k] = BAIGhostOf(peers, peer[k], odd, send[k] - peers->first[peer[k]], size);
    }
  }
  free(group);
  free(send);
  free(peer);
  return status;
}

/* Stores x of the sends first to last - 1 in the mailboxes of peers */
static void SendRows(BAIState state, BAIInt first, BAIInt last)
{
  const BAIHostExchange *e  = &state->exchange;
  void *const           *to = e->to[e->exchanges & 1];

  for (BAIInt k = first; k < last; k++) {
    if (state->A.single) BAIStore((BAIAtomicSingle *)to[k], 0, BAILoad((BAIAtomicSingle *)state->x, e->row[k]));
    else BAIStore((BAIAtomic *)to[k], 0, BAILoad((BAIAtomic *)state->x, e->row[k]));
  }
}

void BAIHostSendBlock(BAIState state, BAIInt block)
{
  if (state->exchange.live) SendRows(state, state->exchange.first[block], state->exchange.first[block + 1]);
}

static double Seconds(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Waits until each peer's flag has reached an exchange; BAI_ERR_ABSENT after BAI_PEER_SECONDS */
static BAIStatus WaitForPeers(const BAIHostExchange *e, BAIFlag exchange, const BAIFlag *flags)
{
  const time_t start = time(NULL);

  for (BAIInt p = 0; p < e->peers; p++) {
    for (unsigned spins = 1; atomic_load_explicit((AtomicFlag *)(flags + p), memory_order_acquire) < exchange;
         spins++) {
      (void)sched_yield();
      if (spins % 1024 == 0 && time(NULL) - start > BAI_PEER_SECONDS) return BAIStatusOf(BAI_ERR_ABSENT);
    }
  }
  return BAIStatusOf(BAI_OK);
}

double BAIHostWorked(BAIState state)
{
  return state->exchange.worked;
}

BAIStatus BAIHostExchangeGhosts(BAIState state, BAIGhosts ghosts, int swept)
{
  BAIHostExchange *e      = &state->exchange;
  const size_t     nghost = (size_t)state->A.nghost, size = BAIValueSize(&state->A);
  BAIStatus        status = BAIStatusOf(BAI_OK);

  if (swept) e->worked += Seconds() - e->last;
  e->live = ghosts == BAI_GHOSTS_LIVE;
  e->last = Seconds();
  if (ghosts == BAI_GHOSTS_ZERO) {
    state->ghost = e->zero;
    return status;
  }
  if (ghosts != BAI_GHOSTS_TAKEN) {
    e->exchanges++;
    SendRows(state, 0, e->sends);
    for (BAIInt p = 0; p < e->peers; p++)
      atomic_store_explicit((AtomicFlag *)e->tell[p], e->exchanges, memory_order_release);
  }
  if (ghosts != BAI_GHOSTS_SENT) { /* ghosts of the last exchange are read from now on */
    state->ghost = e->mailbox + size * (size_t)(e->exchanges & 1) * nghost;
    status       = WaitForPeers(e, e->exchanges, (const BAIFlag *)(e->mailbox + BAIMailboxFlags(nghost, size)));
  }
  e->last = Seconds();
  return status;
}

BAIStatus BAIHostDisconnect(BAIState state)
{
  BAIHostExchange *e = &state->exchange;

  free(e->tell);
  free(e->first);
  free(e->row);
  free(e->zero);
  for (int k = 0; k < 2; k++) free(e->to[k]);
  memset(e, 0, sizeof(*e));
  return BAIStatusOf(BAI_OK);
}
