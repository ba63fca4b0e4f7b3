/*
   Exchange of x between ranks that reach each other's memory. Each rank has a mailbox, to which its peers write:

     ghosts of even exchanges, ghosts of odd ones, in the precision of the sweeps; and for each peer a flag: the number
   of exchanges to which it has brought its x

   In an exchange a rank writes x of its boundary to the mailboxes of its peers, then its flags there, and waits until
   its own flags say that all peers have done so. It brings x to an exchange only when it no longer reads what came
   with the one before the last; so two arrays of ghosts are enough, and nobody is asked for leave. Between exchanges,
   blocks of mode async may write x to the peers' ghosts of the last exchange again and again: what arrives late goes
   to ghosts that nobody reads before another exchange.

   Ranks that copy do not write while they iterate. Where x may be old, they wait for and read what was brought to the
   exchange before, while the copies of this one are under way; unless in the one before all had to be there, as who is
   slow may still read it.

   Ranks that take turns together bring x of their boundary when that part of a turn is done, and wait for the peers'
   before the next turn. They have read what came with the exchange before by then, and never bring x again before they
   have waited, so that two arrays are enough here too.

   To write to the ghosts of another device while its kernel runs is the method DK of H. Anzt's thesis, Section 4.6, and
   to copy from device to device its method DC.
*/
#pragma once

#include "shared.h"
#include "tuning.h"
#include <string.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Bytes from the begin of a mailbox to its flags, and of all of it; size is that of a value */
static inline size_t BAIMailboxFlags(size_t nghost, size_t size)
{
  return (2 * nghost * size + sizeof(BAIFlag) - 1) / sizeof(BAIFlag) * sizeof(BAIFlag);
}

static inline size_t BAIMailboxBytes(size_t nghost, size_t size, BAIInt peers)
{
  return BAIMailboxFlags(nghost, size) + ((size_t)peers + 1) * sizeof(BAIFlag);
}

/* The exchange whose ghosts are waited for and read in one; live: x may be old, as it might in the exchange before if
 * was_live */
static inline BAIFlag BAIExchangeToRead(BAIFlag exchange, int copies, int live, int was_live)
{
  return copies && live && was_live ? exchange - 1 : exchange;
}

/* Sorts the rows that are sent by groups of rows. group has the group of each send; first is groups+1, send are
   places in peers->row in the new order, peer are the peers that they go to */
void BAISortSends(const BAIPeers *, BAIInt groups, const BAIInt *group, BAIInt *first, BAIInt *send, BAIInt *peer);

#if defined(__cplusplus)
}
#endif
