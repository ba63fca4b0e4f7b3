/*
   Exchange of x between ranks that reach each other's memory. Each rank has a mailbox, to which its peers write:

     ghosts of even exchanges, ghosts of odd ones, and for each peer a flag: the number of exchanges to which it has brought its x

   In an exchange a rank writes x of its boundary to the mailboxes of its peers, then its flags there, and waits until its own flags say that all peers have done so. It brings x to
   an exchange only when it no longer reads what came with the one before the last; so two arrays of ghosts are enough, and nobody is asked for leave. Between exchanges, blocks of
   mode async may write x to the peers' ghosts of the last exchange again and again: what arrives late goes to ghosts that nobody reads before another exchange.

   To write to the ghosts of another device while its kernel runs is the method DK of H. Anzt's thesis, Section 4.6.
*/
#pragma once

#include "engine.h"
#include <string.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef unsigned long long BAIFlag;

enum {
  BAI_PEER_SECONDS = 100 /* that an exchange waits for a peer */
};

/* Bytes from the begin of a mailbox to its flags, and of all of it */
static inline size_t BAIMailboxFlags(size_t nghost)
{
  return (2 * nghost * sizeof(BAIScalar) + sizeof(BAIFlag) - 1) / sizeof(BAIFlag) * sizeof(BAIFlag);
}

static inline size_t BAIMailboxBytes(size_t nghost, BAIInt peers)
{
  return BAIMailboxFlags(nghost) + ((size_t)peers + 1) * sizeof(BAIFlag);
}

/* What is sent, group by group of rows: first is groups+1; send is those of peers->row in the new order, and peer whose they are. group has the group of each send */
void BAISortSends(const BAIPeers *, BAIInt groups, const BAIInt *group, BAIInt *first, BAIInt *send, BAIInt *peer);

#if defined(__cplusplus)
}
#endif
