/*
   The engine: block-asynchronous iteration on one MPI rank's rows of A x = b

   Rows are divided into blocks J. One global iteration of a block is

     s_i = b_i - sum_{j not in J} a_ij x_j                                    x of other blocks is read once
     y_i = y_i + local_omega ((s_i - sum_{j in J, j != i} a_ij y_j)/a_ii - y_i)   local_iters times, from y = x_J
     x_J = x_J + omega (y - x_J) + momentum (x_J - previous x_J)              other blocks may read it at once

   In mode sync omega and momentum may differ by iteration, see fourth_kind.h. BAIMode says how blocks wait for each
   other. With local_omega = 1 and momentum = 0 this is the method of Anzt, Tomov, Dongarra, Heuveline, "A
   block-asynchronous relaxation method for graphics processing units", J. Parallel Distrib. Comput. 73, 2013, and of
   H. Anzt's thesis, whose damping is omega. Momentum is that of G. H. Golub, R. S. Varga, Numer. Math. 3, 1961;
   local_omega, for smoothing, is this library's own. In mode color several small blocks share a turn, see coloring.h.

   A block may refine: it computes the difference y - x_J as a correction c, which may have less precision than x,

     r_i = b_i - sum_j a_ij x_j                                                   x of other blocks is read once
     c_i = c_i + local_omega ((r_i - sum_{j in J, j != i} a_ij c_j)/a_ii - c_i)   local_iters times, from c = 0
     x_J = x_J + omega c + momentum (x_J - previous x_J)

   which is equivalent in exact arithmetic. This is the block-asynchronous iterative refinement of the thesis (Section
   4.13).

   After set-up functions allocate only where their comments say so. None prints, and all errors are returned as a
   BAIStatus. Memory that callers pass stays theirs; the engine uses vectors between BAIEngineBind() and
   BAIEngineUnbind().

   Threads of a process may use different engines at the same time, but only one thread at a time may use an engine. On
   a device an engine works on its stream only; the device must be the current one of the calling thread, and the stream
   must outlive the engine. A captured graph would repeat the counts of one launch, so calls that launch kernels return
   BAI_ERR_CAPTURE during a capture.
*/
#pragma once

#include "../common/damping.h"
#include "../common/scalar.h"
#include "tuning.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* The order of the colours of mode color in the global iterations of one call */
typedef enum {
  BAI_FORWARD,
  BAI_BACKWARD,
  /* forward in the first, third, ... global iteration, so an even number of iterations from zero is a symmetric
     operator if A is */
  BAI_ALTERNATE
} BAIDirection;

/* Faults to simulate, see fault.h */
typedef struct {
  BAIReal fraction;    /* fraction of the rows */
  BAIInt  first, last; /* first and last + 1 global iteration of the solve with faults */
  BAIInt  seed;
  BAIInt  row; /* global number of this rank's first row */
} BAIFault;

typedef struct {
  BAIMode      mode; /* a mode that the engine was prepared for */
  BAIDirection direction;
  /* BAIEngineSweep() of one global iteration in mode color: the only turn to do, of the turns that ranks take together,
     from 1 on; 0: all turns */
  BAIInt turn;
  /* for backends: of this turn, 1: only blocks that other ranks read or that read from them; 2: only the others; 0:
     both */
  int     part;
  BAIInt  local_iters; /* 0: the value of the parameters; ignored if it depends on the block */
  BAIReal omega, momentum;
  int     fourth_kind; /* mode sync: weights of fourth_kind.h, where omega is the inverse of the largest eigenvalue */
  int     fresh;       /* x is not the result of the last call, so its first update has no momentum */
  int     ahead;       /* BAIEngineSweep() in mode async of connected ranks: at the pace of BAIEngineSetPace() */
  int     faulty;      /* BAIEngineSweep(): the faults of the parameters happen */
  BAIInt  done;        /* number of the first global iteration of this call, for faults and weights */
} BAIStep;

/* A partition of rows into blocks, on the host: block k has the places first[k] to first[k + 1] - 1, and row[p] is the
   row at place p */
typedef struct {
  BAIInt        blocks;
  const BAIInt *first, *row;
} BAIPartition;

typedef struct {
  const BAIScalar *b;                                /* n */
  const BAIScalar *ghost;                            /* nghost */
  BAIScalar       *x;                                /* n */
  BAIMemory        b_memory, ghost_memory, x_memory; /* the host backend accepts host memory only */
  /* single precision: a power of two that multiplies all vectors inside the engine, to keep them in range; 0: 1 */
  BAIReal scale;
} BAIVectors;

/*
   Ranks that write to each other's memory, called peers. x of own rows goes to consecutive ghosts of a peer. The
   relation is mutual
*/
typedef struct {
  BAIInt slot;    /* number of the ghost of the peer for the first of these rows */
  BAIInt place;   /* number of this rank among the peers of the peer */
  BAIInt ghosts;  /* number of ghosts of the peer */
  void  *mailbox; /* mailbox of the peer, see exchange.h */
} BAIPeer;

typedef struct {
  BAIInt         peers;
  const BAIInt  *first, *row; /* peers+1; first[p] <= k < first[p + 1] are the own rows whose x goes to peer p */
  const BAIPeer *peer;        /* peers */
  void          *mine;        /* mailbox of this rank */
} BAIPeers;

typedef enum {
  BAI_GHOSTS_ZERO,  /* x is zero on all ranks */
  BAI_GHOSTS_FIXED, /* values of the bound x */
  BAI_GHOSTS_LIVE,  /* the same, and newer values arrive during iterations of mode async */
  BAI_GHOSTS_SENT,  /* ranks that take turns together: sends x, and still reads the previous values */
  BAI_GHOSTS_TAKEN  /* reads the values that were sent last */
} BAIGhosts;

/*
   Rows in which 1 replaces a zero or missing a_ii: none, rows all of whose entries are zero, or all. The rest of A,
   which sweeps read, then has -1 in that place, so iterates, fixed points and residuals are those of A
*/
enum {
  BAI_UNIT_NONE,
  BAI_UNIT_ROWS,
  BAI_UNIT_ALL
};

typedef struct {
  BAIMode mode;        /* the first mode; BAIEnginePrepare() adds others */
  BAIInt  block_size;  /* >= 1 */
  BAIInt  local_iters; /* >= 1 */
  BAIInt  apart;       /* connected ranks in mode async: largest number of global iterations between exchanges */
  BAIReal local_omega; /* positive, or 0: chosen for each row, see BAILocalOmega() */
  int     momentum;    /* sweeps may use momentum: 1 in every mode, 2 in mode sync only */
  int     l1;          /* local sweeps replace a_ii by a_ii + sign(a_ii) sum_{j not in J} |a_ij| */
  /* matrix, iterate and sums are in single precision, and the engine's copies of vectors too */
  int       single;
  int       refined; /* single applies only to the local sweeps, as blocks refine */
  int       theta;   /* local sweeps of a block depend on its couplings inside and outside, see theta.h */
  int       threads; /* host: number of OpenMP threads */
  int       device;  /* cuda: number of the device, modulo their number; -1: the current one */
  void     *stream;  /* cuda: the cudaStream_t to work on */
  int       unit;    /* rows in which 1 replaces a zero or missing a_ii: BAI_UNIT_NONE, BAI_UNIT_ROWS or BAI_UNIT_ALL */
  BAIKernel kernel;  /* cuda: family for the first mode, and for others if possible; host: BAI_KERNEL_AUTO */
  BAIFault  fault;   /* fraction is 0 without faults */
  int       stats;   /* statistics are taken */
  int       idle_wait; /* cuda: the host sleeps while it waits for the device */
} BAIParameters;

typedef struct {
  BAIInt  block_size, blocks;
  BAIReal local_omega;  /* the damping in use, or the smallest one if it was chosen row by row */
  int64_t local_sweeps; /* number in all blocks in one global iteration */
  int     workers;      /* host: threads; cuda: thread blocks at work at the same time */
  /* entries off the diagonal inside and outside blocks, including ghosts */
  int64_t nnz_local, nnz_off;
  int     turns; /* mode color: number of turns that ranks take together; 0: none */
  /* number of colours in mode color, and of an asynchronous queue ordered by colours; else 0 */
  int     colors;
  int64_t bytes; /* memory of the engine */
  /* least traffic of a global iteration: the matrix, b, and x read and written; only x if the matrix stays on the
     chip */
  int64_t bytes_iteration;
  int     solves;          /* modes in which BAIEngineSolve() can be called, as bits 1 << mode */
  BAIInt  units;           /* rows whose a_ii is replaced by 1 */
  double  flops_iteration; /* flops of one global iteration */
  double  flops_residual;
} BAIInfo;

typedef struct {
  BAIReal bnorm2, rnorm2; /* squares of ||b|| and of ||b - A x|| for the final x */
  BAIInt  its;            /* largest number of global iterations of a block */
  int     stalls;         /* the norm stagnates above the tolerances, see look.h */
} BAISolution;

/*
   Statistics of the sweeps of a solve. The staleness of a read is the number of the global iteration that the reading
   block begins, minus that of the block read from: 0 is the previous iterate, negative numbers are newer values. The
   arrays belong to the engine and are valid until its next call
*/
enum {
  BAI_MOST_STALE = 32 /* either end counts all values beyond */
};

typedef struct {
  BAIInt         units; /* blocks, or tiles of one or several blocks on a device */
  int64_t        reads[2 * BAI_MOST_STALE +
                /* number of reads of one unit by another, one for each pair and iteration, by staleness +
                   BAI_MOST_STALE */
                1];
  const int64_t *updates; /* updates of each unit */
} BAIStats;

typedef struct BAIState_ *BAIState; /* state of the backend */

typedef struct {
  BAIStatus (*create)(const BAIMatrix *, const BAIPartition *, const BAIParameters *, BAIState *);
  BAIStatus (*update)(BAIState, const BAIMatrix *);
  BAIStatus (*bind)(BAIState, const BAIVectors *, int guess_zero);
  BAIStatus (*prepare)(BAIState, BAIMode);
  BAIStatus (*color)(BAIState, const BAIInt *ghost, BAIInt *color); /* NULL: ranks cannot take turns together */
  BAIStatus (*turns)(BAIState, BAIInt turns, const BAIInt *color);
  BAIStatus (*sweep)(BAIState, BAIInt count, const BAIStep *);
  /* only if BAIInfo.solves has the mode */
  BAIStatus (*solve)(BAIState, const BAITolerances *, const BAIStep *, BAISolution *);
  BAIStatus (*residual)(BAIState, BAIReal *norm2);
  BAIStatus (*shares)(BAIState, BAIReal *share);
  BAIStatus (*stats)(BAIState, BAIStats *); /* NULL: resets the statistics */
  BAIStatus (*connect)(BAIState, const BAIPeers *);
  BAIStatus (*exchange)(BAIState, BAIGhosts,
                        int swept); /* swept: whether this rank has iterated since the last exchange */
  double (*worked)(BAIState); /* time in seconds from exchanges to the end of the sweeps that followed, in total */
  BAIStatus (*disconnect)(BAIState);
  BAIStatus (*unbind)(BAIState);
  BAIStatus (*wait)(BAIState);                                      /* NULL: nothing runs in the background */
  BAIStatus (*explain)(BAIState, BAIMode, char *text, size_t size); /* NULL if there is no choice */
  void (*info)(BAIState, BAIInfo *);
  void (*destroy)(BAIState);
  BAIStatus (*ready)(void *stream); /* NULL if it is always ready */
  BAIStatus (*set)(void *stream, BAISet, int64_t first, BAIInt n, BAIScalar *x);
} BAIBackendOps;

extern const BAIBackendOps BAIBackendHost, BAIBackendCUDA;

typedef struct BAIEngine_ *BAIEngine;

/*
   Creates an engine with a copy of the matrix, divided into the blocks of a partition, which is copied, or, if that is
   NULL, into blocks of block_size consecutive rows. Sizes are fixed from here on
*/
BAIStatus BAIEngineCreate(BAIBackend, const BAIMatrix *, const BAIPartition *, const BAIParameters *, BAIEngine *);
/* Takes new values in the same nonzero pattern, without symbolic work. After BAI_ERR_PATTERN the engine can only be
   destroyed */
BAIStatus BAIEngineUpdateValues(BAIEngine, const BAIMatrix *);
/* Sets the vectors to work on; x is read unless guess_zero. May allocate for the first vectors on the host of an engine
   on a device */
BAIStatus BAIEngineBind(BAIEngine, const BAIVectors *, int guess_zero);
/* Prepares one more mode; allocates at the first call */
BAIStatus BAIEnginePrepare(BAIEngine, BAIMode);
/*
   Lets ranks take turns together, if the engine is prepared for mode color. Finds colours of the rows, from 0 on: rows
   of one turn have the same colour, rows that read from each other have different ones, and ghosts whose colours are
   not negative are respected. When all ranks have colours, found in any order, mode color takes one turn for each
   colour. BAI_ERR_NOT_BUILT if the backend cannot do this. Connected ranks then exchange x before each turn, and
   meanwhile do rows without ghosts; other ranks must be asked for one turn after another
*/
BAIStatus BAIEngineColor(BAIEngine, const BAIInt *ghost, BAIInt *color);
BAIStatus BAIEngineTakeTurns(BAIEngine, BAIInt turns, const BAIInt *color);
/* Does count global iterations on the bound vectors. Connected ranks read from each other: in mode async the current
   values, when they take turns together the values of earlier turns, and otherwise the last iterate */
BAIStatus BAIEngineSweep(BAIEngine, BAIInt count, const BAIStep *);
/* Iterates on the bound vectors until a tolerance is met, without the host. Only for modes in BAIInfo.solves, and
   without ghosts */
BAIStatus BAIEngineSolve(BAIEngine, const BAITolerances *, const BAIStep *, BAISolution *);
/* This rank's share of ||b - A x||^2 for the current x; waits for the sweeps */
BAIStatus BAIEngineResidual(BAIEngine, BAIReal *norm2);
/*
   For an engine of A^T that does the transposed sweeps, if its turns go the other way round: the partition of the rows,
   or NULL if blocks are consecutive rows; and the share of the damping of each row, for BAIMatrix
*/
const BAIPartition *BAIEnginePartition(BAIEngine);
BAIStatus           BAIEngineShares(BAIEngine, BAIReal *share);
/* Gets the statistics since they were reset; NULL resets them. Only if the parameters ask for statistics */
BAIStatus BAIEngineStats(BAIEngine, BAIStats *);
/* Stores the current x in the caller's x; on a device, in stream order */
BAIStatus BAIEngineUnbind(BAIEngine);
/* Waits for all work to end, as idle_wait says. Optional: functions with results wait by themselves */
BAIStatus BAIEngineWait(BAIEngine);
/*
   Connects ranks of one node that exchange x by themselves, by mailboxes that peers can write to, see exchange.h. When
   all ranks have connected, bound ghosts are ignored, and all ranks must make the same calls of BAIEngineSweep() and
   BAIEngineResidual(). BAIEngineDisconnect() ends a connection, also one that has failed on any rank; it waits for the
   work of this rank, but not for other ranks. All ranks must have called it before a mailbox is used for something else
*/
BAIStatus BAIEngineConnect(BAIEngine, const BAIPeers *);
BAIStatus BAIEngineDisconnect(BAIEngine);
/*
   For connected ranks of different speed. Seconds: time of a global iteration since the last call, without waiting, or
   0 if there was none; known after BAIEngineResidual(). SetPace: number of iterations, at least 1, to do for each one
   asked for, if the step allows it, so that all ranks arrive at the next exchange at the same time
*/
double BAIEngineSeconds(BAIEngine);
void   BAIEngineSetPace(BAIEngine, double pace);
/*
   Writes to text which family of kernels does a prepared mode, and why the preceding ones do not, in one line:
   "resident: 20 entries inside a block, 16 at most; stream taken". Empty if there is no choice, as on the host
*/
BAIStatus BAIEngineExplain(BAIEngine, BAIMode, char *text, size_t size);
void      BAIEngineInfo(BAIEngine, BAIInfo *);
void      BAIEngineDestroy(BAIEngine *);
/* BAI_ERR_CAPTURE if the stream is being captured into a graph, so that its engines cannot be called */
BAIStatus BAIBackendIsReady(BAIBackend, void *stream);
/* Sets the entries of x, which belong to the rows from first on, by BAISetEntry(); on a device, in stream order */
BAIStatus BAIBackendSet(BAIBackend, BAIMemory, void *stream, BAISet, int64_t first, BAIInt n, BAIScalar *x);

/*
   The damping of a row in local sweeps is BAILocalOmega() times its share. If it is chosen, sweeps converge in every
   block of a Hermitian positive definite matrix, as diag_i(sum_{j in J} |a_ij|) - A_JJ is positive semidefinite. It is
   BAI_LOCAL_DAMPING in rows whose entries inside the block do not outweigh the diagonal
*/
static inline BAIReal BAILocalOmega(const BAIParameters *p)
{
  return p->local_omega > 0 ? p->local_omega : BAI_LOCAL_DAMPING;
}

/* The share of a row with the l1 weight, where d is |a_ii|, and outside the sum of |a_ij| outside the block */
BAI_INLINE BAIReal BAIShareOfL1(BAIReal d, BAIReal outside)
{
  return d / (d + outside);
}

#if defined(__cplusplus)
}
#endif
