/*
   Exchange of x between ranks that access each other's memory. Each rank has a mailbox (petsc/mailbox.c), to which its
   peers write:
   ghosts of even exchanges, ghosts of odd exchanges, in the precision of the sweeps; and a flag for each peer, with the
   number of the last exchange to which the peer has contributed its x.

   In an exchange a rank writes its boundary values of x to the mailboxes of its peers, then its flags there, and waits
   until its own flags show that all peers have done so. It contributes to an exchange only after it has read the values
   of the one before the last, so two arrays of ghosts are enough without further synchronization. Between exchanges,
   blocks of mode async may write x to the peers' ghosts of the last exchange repeatedly; late values arrive in ghosts
   that are not read before another exchange.

   Ranks that take turns together send their boundary values when this part of a turn is done, and wait for the values
   of their peers before the next turn. By then they have read the values of the previous exchange, and they never send
   twice without waiting in between, so two arrays are enough here too.

   Writing to the ghosts of another device while its kernel runs is the method DK of H. Anzt's thesis, Section 4.6.
*/
#pragma once

#include "engine.h"
#include <string.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Bytes from the begin of a mailbox to its flags, and of the whole mailbox; size is the size of a value */
static inline size_t BAIMailboxFlags(size_t nghost, size_t size)
{
  return (2 * nghost * size + sizeof(BAIFlag) - 1) / sizeof(BAIFlag) * sizeof(BAIFlag);
}

static inline size_t BAIMailboxBytes(size_t nghost, size_t size, BAIInt peers)
{
  return BAIMailboxFlags(nghost, size) + ((size_t)peers + 1) * sizeof(BAIFlag);
}

/* Where value k of those that peer p gets is stored in its mailbox, in even or odd exchanges; and its flag for this
   rank */
static inline void *BAIGhostOf(const BAIPeers *peers, BAIInt p, int odd, BAIInt k, size_t size)
{
  const BAIPeer *peer = peers->peer + p;

  return (char *)peer->mailbox + size * ((size_t)odd * (size_t)peer->ghosts + (size_t)(peer->slot + k));
}

static inline BAIFlag *BAIFlagOf(const BAIPeers *peers, BAIInt p, size_t size)
{
  const BAIPeer *peer = peers->peer + p;

  return (BAIFlag *)((char *)peer->mailbox + BAIMailboxFlags((size_t)peer->ghosts, size)) + peer->place;
}

/* Sorts the rows to send by groups of rows. group has the group of each send. On return first, groups+1, has the begin
   of each group, send the places in peers->row in the new order, and peer the peers that they go to */
void BAISortSends(const BAIPeers *, BAIInt groups, const BAIInt *group, BAIInt *first, BAIInt *send, BAIInt *peer);

#if defined(__cplusplus)
}
#endif
