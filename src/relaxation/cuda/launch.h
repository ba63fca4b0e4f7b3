/*
   What kernels are launched with
*/
#pragma once

#include "state.h"

/* What is counted of tiles: see BAIStats; updates is NULL if nothing is */
typedef struct {
  int                *updates;
  unsigned long long *reads; /* 2*BAI_MOST_STALE+1 */
  unsigned long long *last;  /* nanoseconds of the device's clock */
} BAICounts;

/* Vectors of type void are of BAISingle, if the matrix is, else of BAIScalar */

/* Rows whose x goes to other ranks, and where: those of tile t are first[t] <= k < first[t + 1] */
typedef struct {
  const int   *first; /* NULL: none goes while a kernel runs */
  const int   *row;
  void *const *to;
  int          quiet, loud; /* tiles quiet <= tile < loud send nothing, so that most need not look */
} BAISends;

typedef struct {
  BAIInt       count, local_iters;
  BAIReal      omega, local_omega, momentum;
  int          fourth_kind; /* weights of fourth_kind.h */
  int          moves;       /* there is momentum, */
  int          fresh;       /* but in the first iteration */
  BAIOrder     how;         /* where a kernel does more than one order */
  void        *before;      /* places: the iterate before the last one; NULL: the last one overwrites it */
  const void  *b, *ghost;
  void        *x[2];
  int          current;
  void        *scratch;
  BAINeighbors neighbors;
  BAIDirection direction;
  const int   *order;
  int         *done, done_before;      /* done is NULL where no tile is waited for */
  int          staleness;              /* BAI_LAG: iterations that a tile may be ahead of those it reads from */
  int         *stalled, *stalled_host; /* set if a wait was given up; the second is read by the host */
  long long   *tickets, tickets_before;
  BAISends     sends;
  BAIFault     fault; /* its fraction is 0 if there are none */
  BAIInt       its;   /* global iterations of the solve before this launch, by which faults and weights go */
  BAICounts    counts;
} BAISweep;
