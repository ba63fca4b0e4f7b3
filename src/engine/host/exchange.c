/*
   Exchange of x between ranks of a node, in shared memory: see exchange.h
*/
#include "host.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef _Atomic(BAIFlag) AtomicFlag;

/* What a handle says */
typedef struct {
  char   name[64];
  size_t nghost, bytes;
} Handle;

_Static_assert(sizeof(Handle) <= sizeof(BAIHandle), "a handle holds it");

static BAIStatus Refuse(const char *what)
{
  return BAIStatusBecause(BAI_ERR_PEERS, what, strerror(errno));
}

/* Maps the object of a name */
static BAIStatus Map(const char *name, int flags, size_t bytes, void **memory)
{
  const int file = shm_open(name, flags | O_RDWR, 0600);
  BAIStatus status;

  if (file < 0) return Refuse("shm_open()");
  if (flags & O_CREAT) errno = posix_fallocate(file, 0, (off_t)bytes); /* without it, memory that is not there would be missed when it is written to */
  if (flags & O_CREAT && errno) {
    status = Refuse("posix_fallocate()");
    (void)close(file);
    (void)shm_unlink(name);
    return status;
  }
  *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  status  = *memory == MAP_FAILED ? Refuse("mmap()") : BAIStatusOf(BAI_OK);
  if (status.code) *memory = NULL;
  (void)close(file);
  return status;
}

BAIStatus BAIHostShare(BAIState state, BAIInt peers, BAIHandle *handle)
{
  static _Atomic(unsigned) number;
  BAIHostExchange         *e = &state->exchange;
  Handle                   h = {.nghost = (size_t)state->A.nghost};

  h.bytes = BAIMailboxBytes(h.nghost, BAIValueSize(&state->A), peers);
  (void)snprintf(h.name, sizeof(h.name), "/petscbai-%ld-%u", (long)getpid(), atomic_fetch_add(&number, 1));
  BAITry(Map(h.name, O_CREAT | O_EXCL, h.bytes, &e->mailbox));
  memcpy(e->name, h.name, sizeof(e->name));
  e->bytes = h.bytes;
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &h, sizeof(h));
  return BAIStatusOf(BAI_OK);
}

/* The name is needed no longer */
static void Unlink(BAIHostExchange *e)
{
  if (e->name[0]) (void)shm_unlink(e->name);
  e->name[0] = 0;
}

static BAIStatus Allocate(BAIState state, const BAIPeers *peers)
{
  BAIHostExchange *e     = &state->exchange;
  const size_t     sends = (size_t)peers->first[peers->peers] + 1, n = (size_t)peers->peers + 1;

  e->theirs = calloc(n, sizeof(*e->theirs));
  e->sizes  = calloc(n, sizeof(*e->sizes));
  e->tell   = calloc(n, sizeof(*e->tell));
  e->first  = malloc(((size_t)state->A.blocks + 1) * sizeof(*e->first));
  e->row    = malloc(sends * sizeof(*e->row));
  e->zero   = calloc((size_t)state->A.nghost + 1, BAIValueSize(&state->A));
  for (int k = 0; k < 2; k++) e->to[k] = malloc(sends * sizeof(*e->to[k]));
  return e->theirs && e->sizes && e->tell && e->first && e->row && e->zero && e->to[0] && e->to[1] ? BAIStatusOf(BAI_OK) : BAIStatusOf(BAI_ERR_MEMORY);
}

BAIStatus BAIHostConnect(BAIState state, const BAIPeers *peers, const BAIHandle *handles)
{
  BAIHostExchange *e     = &state->exchange;
  const BAIInt     sends = peers->first[peers->peers];
  const size_t     size  = BAIValueSize(&state->A);
  BAIInt          *group = malloc(((size_t)sends + 1) * sizeof(*group)), *send = malloc(((size_t)sends + 1) * sizeof(*send)), *peer = malloc(((size_t)sends + 1) * sizeof(*peer));
  BAIStatus        status = group && send && peer ? Allocate(state, peers) : BAIStatusOf(BAI_ERR_MEMORY);

  for (BAIInt p = 0; p < peers->peers && !status.code; p++) {
    Handle h;

    memcpy(&h, handles + p, sizeof(h));
    status = Map(h.name, 0, h.bytes, &e->theirs[p]);
    if (status.code) break;
    e->peers++;
    e->sizes[p] = h.bytes;
    e->tell[p]  = (BAIFlag *)((char *)e->theirs[p] + BAIMailboxFlags(h.nghost, size)) + peers->place[p];
  }
  if (!status.code) {
    e->sends = sends;
    for (BAIInt k = 0; k < sends; k++) group[k] = BAIBlockOfRow(&state->A, peers->row[k]);
    BAISortSends(peers, state->A.blocks, group, e->first, send, peer);
    for (BAIInt k = 0; k < sends; k++) {
      const BAIInt p = peer[k];
      Handle       h;

      memcpy(&h, handles + p, sizeof(h));
      e->row[k] = peers->row[send[k]];
      for (size_t odd = 0; odd < 2; odd++) e->to[odd][k] = (char *)e->theirs[p] + size * (odd * h.nghost + (size_t)(peers->slot[p] + send[k] - peers->first[p]));
    }
  }
  free(group);
  free(send);
  free(peer);
  return status;
}

static void Send(BAIState state, BAIInt first, BAIInt last)
{
  const BAIHostExchange *e  = &state->exchange;
  void *const           *to = e->to[e->exchanges & 1];

  for (BAIInt k = first; k < last; k++) {
    if (state->A.single) BAIStoreSingle(to[k], 0, BAILoadSingle(state->x, e->row[k]));
    else BAIStore(to[k], 0, BAILoad(state->x, e->row[k]));
  }
}

void BAIHostSendBlock(BAIState state, BAIInt block)
{
  if (state->exchange.live) Send(state, state->exchange.first[block], state->exchange.first[block + 1]);
}

static BAIStatus WaitForPeers(const BAIHostExchange *e, const BAIFlag *flags)
{
  const time_t start = time(NULL);

  for (BAIInt p = 0; p < e->peers; p++) {
    for (unsigned spins = 1; atomic_load_explicit((AtomicFlag *)(flags + p), memory_order_acquire) < e->exchanges; spins++) {
      (void)sched_yield();
      if (spins % 1024 == 0 && time(NULL) - start > BAI_PEER_SECONDS) return BAIStatusOf(BAI_ERR_ABSENT);
    }
  }
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostExchangeGhosts(BAIState state, BAIGhosts ghosts)
{
  BAIHostExchange *e      = &state->exchange;
  const size_t     nghost = (size_t)state->A.nghost, size = BAIValueSize(&state->A);

  Unlink(e); /* all have connected */
  e->live      = ghosts == BAI_GHOSTS_LIVE;
  state->ghost = e->zero;
  if (ghosts == BAI_GHOSTS_ZERO) return BAIStatusOf(BAI_OK);
  e->exchanges++;
  Send(state, 0, e->sends);
  for (BAIInt p = 0; p < e->peers; p++) atomic_store_explicit((AtomicFlag *)e->tell[p], e->exchanges, memory_order_release);
  state->ghost = (char *)e->mailbox + size * (size_t)(e->exchanges & 1) * nghost;
  return WaitForPeers(e, (const BAIFlag *)((const char *)e->mailbox + BAIMailboxFlags(nghost, size)));
}

void BAIHostDisconnect(BAIState state)
{
  BAIHostExchange *e = &state->exchange;

  Unlink(e);
  for (BAIInt p = 0; p < e->peers; p++) (void)munmap(e->theirs[p], e->sizes[p]);
  if (e->mailbox) (void)munmap(e->mailbox, e->bytes);
  free(e->theirs);
  free(e->sizes);
  free(e->tell);
  free(e->first);
  free(e->row);
  free(e->zero);
  for (int k = 0; k < 2; k++) free(e->to[k]);
  memset(e, 0, sizeof(*e));
}
