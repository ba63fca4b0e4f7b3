/*
   What kernels are launched with
*/
#pragma once

#include "state.h"

/* Rows whose x goes to other ranks, and where: those of tile t are first[t] <= k < first[t + 1] */
typedef struct {
  const int        *first; /* NULL: none goes while a kernel runs */
  const int        *row;
  BAIScalar *const *to;
} BAISends;

typedef struct {
  BAIInt           count, local_iters;
  BAIReal          omega, local_omega, momentum;
  int              fresh; /* no momentum in the first iteration */
  BAIOrder         how;   /* where a kernel does more than one order */
  BAIScalar       *before;
  const BAIScalar *b, *ghost;
  BAIScalar       *x[2];
  int              current;
  BAIScalar       *scratch;
  BAIScalar       *r; /* where own rows leave b - A x, or NULL */
  BAINeighbors     neighbors;
  BAIDirection     direction;
  const int       *order;
  int             *done, done_before;      /* done is NULL where no tile is waited for */
  int              staleness;              /* BAI_LAG: iterations that a tile may be ahead of those it reads from */
  int             *stalled, *stalled_host; /* set if a wait was given up; the second is read by the host */
  long long       *tickets, tickets_before;
  BAISends         sends;
} BAISweep;
