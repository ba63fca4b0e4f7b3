/*
   The engine: block-asynchronous iteration on one MPI rank's rows of A x = b

   Rows are cut into blocks J. One global iteration of a block is

     s_i = b_i - sum_{j not in J} a_ij x_j                                    the others' x, read once
     y_i = y_i + local_omega ((s_i - sum_{j in J, j != i} a_ij y_j)/a_ii - y_i)   local_iters times, from y = x_J
     x_J = x_J + omega (y - x_J) + momentum (x_J - x_J before that)           the others may read it at once

   In mode sync omega and momentum may differ by iteration: fourth_kind.h. BAIMode says how far blocks wait for each
   other. With local_omega = 1 and momentum = 0 this is the method of Anzt, Tomov, Dongarra, Heuveline, "A
   block-asynchronous relaxation method for graphics processing units", J. Parallel Distrib. Comput. 73, 2013, and of
   H. Anzt's thesis, whose damping is omega. Momentum is that of G. H. Golub, R. S. Varga, Numer. Math. 3, 1961;
   local_omega is ours, for smoothing. In mode color, blocks of few rows take their turn several at a time: see
   coloring.h. Blocks may overlap: J then holds rows of other blocks as well, which it sweeps over like its own; it
   writes only its own ones back (restricted additive Schwarz; Cai, Sarkis, SIAM J. Sci. Comput. 21, 1999).

   A block may refine: it then finds the difference y - x_J as a correction c, which may be of less precision than x,

     r_i = b_i - sum_j a_ij x_j                                                   the others' x, read once
     c_i = c_i + local_omega ((r_i - sum_{j in J, j != i} a_ij c_j)/a_ii - c_i)   local_iters times, from c = 0
     x_J = x_J + omega c + momentum (x_J - x_J before that)

   In exact arithmetic that is the same. It is the thesis's block-asynchronous iterative refinement (Section 4.13).

   No function allocates after set-up but where it says so, none prints, and all errors come back as a BAIStatus.
   Pointers given to the engine stay the caller's; between BAIEngineBind() and BAIEngineUnbind() it uses those of the
   vectors.

   Threads of a process may each use engines of their own at the same time; one engine is for one thread at a time. On a
   device an engine works on its stream alone, and so beside others; its device must be the current one of the thread
   that calls, and its stream must outlive it. What is captured into a graph would run with the counts of one launch
   every time, so calls that launch refuse to be: BAI_ERR_CAPTURE.
*/
#pragma once

#include "../common/damping.h"
#include "../common/types.h"
#include "tuning.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* In which order the colours of mode color take their turns in one call */
typedef enum {
  BAI_FORWARD,
  BAI_BACKWARD,
  BAI_ALTERNATE /* forward in the first, third, ... global iteration; so an even number of them from zero is a symmetric
                   operator if A is */
} BAIDirection;

/* Faults that are asked for: see fault.h */
typedef struct {
  BAIFaultType type;
  BAIReal      fraction;    /* of the rows, or blocks, about */
  BAIInt       first, last; /* global iterations of the solve from first on and before last */
  BAIInt       seed;
  BAIInt       row; /* the number of this rank's first row in the whole matrix */
} BAIFault;

/* How the global iterations of one call go */
typedef struct {
  BAIMode      mode; /* one that the engine is ready for */
  BAIDirection direction;
  BAIInt       turn; /* BAIEngineSweep() of one global iteration in mode color: only this turn of those that ranks take
                        together, from 1 on; 0: all; */
  int
    part; /* for backends: and of that only 1: what other ranks read or that reads from them; or 2: the rest; 0: both */
  BAIInt  local_iters; /* 0: that of the parameters; not looked at if they depend on the block */
  BAIReal omega, momentum;
  int    fourth_kind; /* mode sync: weights of fourth_kind.h, of which omega is the inverse of the largest eigenvalue */
  int    fresh;       /* x is not what the engine left last: its first update has no momentum */
  int    ahead;       /* BAIEngineSweep(), mode async, connected ranks: at the pace of BAIEngineSetPace() */
  int    faulty;      /* BAIEngineSweep(): faults of the parameters take part, */
  BAIInt done;        /* by the global iterations of the solve before this call, */
  BAIInt recovered;   /* and have stopped rows or blocks be updated again from this iteration on */
} BAIStep;

/*
   Which rows are in which block: first[k] <= p < first[k + 1] are the places of block k, row[p] the row at place p; on
   the host. From own[k] on they are those of the block's overlap, in the order of their numbers; those before it are
   the block's own, and each row is one block's own. own is NULL if there is no overlap
*/
typedef struct {
  BAIInt        blocks;
  const BAIInt *first, *own, *row;
} BAIPartition;

typedef struct {
  const BAIScalar *b;                                /* n */
  const BAIScalar *ghost;                            /* nghost */
  BAIScalar       *x;                                /* n */
  BAIMemory        b_memory, ghost_memory, x_memory; /* the host backend takes host memory only */
  BAIReal
    scale; /* single precision: what all of them are multiplied by there, as its range is small; a power of two, 0: 1 */
} BAIVectors;

/*
   Ranks that write to each other's memory. x of own rows goes to consecutive entries of a peer's ghosts; whom a rank
   sends to or hears from is its peer, and it is theirs
*/
typedef struct {
  BAIInt        peers;
  const BAIInt *first, *row; /* peers+1; first[p] <= k < first[p + 1]: the own rows whose x goes to peer p, */
  const BAIInt *slot;        /* peers: and to which entry of its ghosts the first of them; */
  const BAIInt *place;       /* peers: the number of this rank among the peers of p */
  int copies; /* x goes in copies after each global iteration, in the modes async and launch during the next one; else
                 blocks of mode async write theirs while they iterate */
} BAIPeers;

/* By this a peer writes to this rank's memory; it is valid on one node only */
typedef struct {
  unsigned char bytes[128];
} BAIHandle;

typedef enum {
  BAI_GHOSTS_ZERO,  /* x is zero on all ranks */
  BAI_GHOSTS_FIXED, /* those of the x that is there */
  BAI_GHOSTS_LIVE, /* the same, and while mode async iterates the newest ones come in; or, if x goes in copies, those of
                      the exchange before */
  BAI_GHOSTS_SENT, /* ranks that take turns together: x sets out, but those of before are read, */
  BAI_GHOSTS_TAKEN /* until here: those that set out */
} BAIGhosts;

/*
   Where 1 stands for an a_ii that is zero or missing: nowhere, in rows all of whose entries are zero, or in all rows.
   The rest of A, which is what the sweeps go through, then has -1 in that place. So what is iterated, its fixed points
   and residuals are those of A
*/
enum {
  BAI_UNIT_NONE,
  BAI_UNIT_ROWS,
  BAI_UNIT_ALL
};

typedef struct {
  BAIMode mode;        /* the one to be ready for; BAIEnginePrepare() adds others */
  BAIInt  block_size;  /* >= 1 */
  BAIInt  local_iters; /* >= 1 */
  BAIInt  staleness;   /* mode async: global iterations that a block may be ahead of one that it reads from, at most;
                          negative: unbounded */
  BAIInt  apart;       /* connected ranks, mode async: global iterations from one exchange to the next, at most */
  BAIReal local_omega; /* > 0, or 0: chosen for each row, see BAILocalOmega() */
  int     momentum;    /* sweeps may ask for momentum: 1 in every mode, 2 in mode sync only */
  int     l1;          /* a_ii + sign(a_ii) sum_{j not in J} |a_ij| stands for a_ii in the local sweeps */
  int   single;  /* the matrix is rounded to single precision, and solved with so: iterate, sums and what is kept of the
                 vectors are in single precision too; */
  int   refined; /* of blocks that refine, that is true of the local sweeps only */
  int   theta;   /* the local sweeps of a block depend on how much of its rows lies inside it: theta.h */
  int   threads; /* host: OpenMP threads */
  int   device;  /* cuda: take device number this % devices; -1: the current one */
  void *stream;  /* cuda: the cudaStream_t to work on */
  int   unit;    /* 1 stands for a_ii where it is zero or missing: BAI_UNIT_NONE, BAI_UNIT_ROWS or BAI_UNIT_ALL */
  BAIKernel kernel;    /* cuda: the family for this mode, and for others where it can; host: none but BAI_KERNEL_AUTO */
  BAIFault  fault;     /* fraction is 0 if there are none */
  int       stats;     /* sweeps are counted */
  int       idle_wait; /* cuda: the host sleeps while it waits for the device */
} BAIParameters;

typedef struct {
  BAIInt  block_size, blocks;
  int64_t rows;               /* that the blocks sweep over, those of overlaps included */
  BAIReal local_omega;        /* in use, in the row where it is smallest if it was chosen */
  int64_t local_sweeps;       /* of all blocks in one global iteration */
  int     workers;            /* host: threads; cuda: thread blocks at work at a time */
  int64_t nnz_local, nnz_off; /* entries off the diagonal, in the rows of overlaps too: inside the blocks; outside them,
                                 ghosts included */
  int     turns;              /* mode color: that ranks take together; 0: none */
  int     colors;             /* mode color, and where an asynchronous queue of blocks goes by colours; else 0 */
  int64_t bytes;              /* memory that the engine holds */
  int64_t bytes_iteration;    /* that a global iteration moves at least: the matrix, b, and x both ways; if the matrix
                                 stays on the chip, x only */
  int     solves;             /* the modes in which BAIEngineSolve() can be called, as bits 1 << mode */
  BAIInt  units;              /* rows for whose a_ii 1 stands */
  double  flops_iteration;    /* of one global iteration */
  double  flops_residual;
} BAIInfo;

typedef struct {
  BAIReal bnorm2, rnorm2; /* rnorm2 is ||b - A x||^2 of the x reached */
  BAIInt  its;            /* the most global iterations that any block did */
  int     stalls;         /* the norm stands still, and no tolerance is met: look.h */
} BAISolution;

typedef struct {
  unsigned char uuid[16]; /* which it is, whatever the process or host */
  size_t        memory;   /* bytes of it */
} BAIDevice;

/*
   Statistics of the sweeps of a solve. The staleness of a read is the number of global iterations of the block that
   reads, as it begins one, less that of the block that it reads from: 0 is the previous iterate, below 0 are newer
   values. The arrays are the engine's, until its next call
*/
enum {
  BAI_MOST_STALE = 32 /* at either end all that is further off */
};

typedef struct {
  BAIInt         units; /* blocks; on a device tiles, of one block or several small ones */
  int64_t        reads[2 * BAI_MOST_STALE +
                1]; /* of one unit by another, once in a global iteration, by staleness + BAI_MOST_STALE */
  const int64_t *updates;  /* of each unit */
  const double  *last;     /* seconds from the first to its last one, of any */
} BAIStats;

typedef struct BAIState_ *BAIState; /* a backend's own */

/* The operations of a backend */
typedef struct {
  BAIStatus (*create)(const BAIMatrix *, const BAIPartition *, const BAIParameters *, BAIState *);
  BAIStatus (*update)(BAIState, const BAIMatrix *);
  BAIStatus (*bind)(BAIState, const BAIVectors *, int guess_zero);
  BAIStatus (*prepare)(BAIState, BAIMode);
  BAIStatus (*color)(BAIState, const BAIInt *ghost, BAIInt *color); /* NULL: ranks cannot take turns together */
  BAIStatus (*turns)(BAIState, BAIInt turns, const BAIInt *color);
  BAIStatus (*sweep)(BAIState, BAIInt count, const BAIStep *);
  BAIStatus (*solve)(BAIState, const BAITolerances *, const BAIStep *, BAISolution *); /* only if info says so */
  BAIStatus (*residual)(BAIState, BAIReal *norm2);
  BAIStatus (*sums)(BAIState, BAIReal *inside, BAIReal *outside);
  BAIStatus (*shares)(BAIState, BAIReal *share);
  BAIStatus (*flip)(BAIState, BAIInt *flipped);
  BAIStatus (*stats)(BAIState, BAIStats *); /* NULL: what was counted is forgotten */
  BAIStatus (*share)(BAIState, BAIInt peers, BAIHandle *);
  BAIStatus (*connect)(BAIState, const BAIPeers *, const BAIHandle *);
  BAIStatus (*exchange)(BAIState, BAIGhosts,
                        int swept); /* swept: since the last one, which this one's beginning ends */
  double (*worked)(BAIState); /* seconds from the ends of exchanges to the next ones that were swept before, in all */
  BAIStatus (*disconnect)(BAIState);
  BAIStatus (*unbind)(BAIState);
  BAIStatus (*wait)(BAIState);
  BAIStatus (*explain)(BAIState, BAIMode, char *text, size_t size); /* NULL: there is nothing to choose */
  void (*info)(BAIState, BAIInfo *);
  void (*destroy)(BAIState);
  BAIStatus (*device)(int, BAIDevice *); /* NULL: it works on none */
  BAIStatus (*ready)(void *stream);      /* NULL: it always is */
  BAIStatus (*noise)(void *stream, int64_t first, BAIInt n, BAIScalar *x);
} BAIBackendOps;

extern const BAIBackendOps BAIBackendHost, BAIBackendCUDA;

typedef struct BAIEngine_ *BAIEngine;

/*
   Cuts the matrix into blocks on the side where the backend works, as the partition says, which is copied, or, if it is
   NULL, into blocks of block_size consecutive rows; sizes are fixed from here on
*/
BAIStatus BAIEngineCreate(BAIBackend, const BAIMatrix *, const BAIPartition *, const BAIParameters *, BAIEngine *);
/* New values in the old pattern: no symbolic work. After BAI_ERR_PATTERN the engine can only be destroyed */
BAIStatus BAIEngineUpdateValues(BAIEngine, const BAIMatrix *);
/* The vectors to work with; x is read unless guess_zero. May allocate the first time that vectors come from the host to
 * a device */
BAIStatus BAIEngineBind(BAIEngine, const BAIVectors *, int guess_zero);
/* Makes ready for one more mode; allocates, the first time */
BAIStatus BAIEnginePrepare(BAIEngine, BAIMode);
/*
   So that ranks take turns together, when the engine is ready for mode color: finds colours of the rows, from 0 on.
   Rows that take their turn together have the same one, those that read from each other others, and none has that of
   a ghost that it reads, unless that is negative. When all ranks have theirs, in any order, mode color goes through
   its turns, a colour each. BAI_ERR_NOT_BUILT if the backend cannot. Connected ranks then exchange x before each
   turn, and go on with what has nothing to do with others meanwhile; those that are not connected ask for one turn
   after another
*/
BAIStatus BAIEngineColor(BAIEngine, const BAIInt *ghost, BAIInt *color);
BAIStatus BAIEngineTakeTurns(BAIEngine, BAIInt turns, const BAIInt *color);
/* count global iterations on the bound vectors; of connected ranks, those of mode async read what the others have
 * reached meanwhile, those that take turns together what others did in the turns before, and others the last iterate of
 * all */
BAIStatus BAIEngineSweep(BAIEngine, BAIInt count, const BAIStep *);
/* Iterates on the bound vectors until a tolerance is met, without the host; only if BAIInfo says that it can, and
 * without ghosts */
BAIStatus BAIEngineSolve(BAIEngine, const BAITolerances *, const BAIStep *, BAISolution *);
/* This rank's share of ||b - A x||^2 for the x reached; waits for the sweeps */
BAIStatus BAIEngineResidual(BAIEngine, BAIReal *norm2);
/* Sums of |a_ij|, i != j, inside and outside this rank's blocks, in the rows of overlaps too */
BAIStatus BAIEngineSums(BAIEngine, BAIReal *inside, BAIReal *outside);
/*
   So that another engine does the same sweeps with A^T, which is the transposed operator if turns go the other way
   round: how rows are cut into blocks, NULL if these are consecutive rows; and what multiplies the damping of each row,
   for BAIMatrix
*/
const BAIPartition *BAIEnginePartition(BAIEngine);
BAIStatus           BAIEngineShares(BAIEngine, BAIReal *share);
/* Flips a bit in some rows of the engine's copy of the matrix, those that its faults hit; how many */
BAIStatus BAIEngineFlip(BAIEngine, BAIInt *flipped);
/* The counts since they were forgotten the last time; NULL: forget them. Only if the parameters ask for statistics */
BAIStatus BAIEngineStats(BAIEngine, BAIStats *);
/* Leaves the x reached in the caller's x; on a device, in the order of the stream */
BAIStatus BAIEngineUnbind(BAIEngine);
/* Until what was asked for is done, as idle_wait says; who does not call it waits where results are needed */
BAIStatus BAIEngineWait(BAIEngine);
/*
   So that ranks of one node exchange x by themselves, see exchange.h: each makes room for what its peers will write,
   tells them by a handle, and connects with theirs, in the order of the peers. From then on the bound ghosts are not
   looked at, and all ranks call BAIEngineSweep() and BAIEngineResidual() alike. BAI_ERR_PEERS if it cannot be.
   BAIEngineDisconnect() ends it; none may be destroyed before all have called it
*/
BAIStatus BAIEngineShare(BAIEngine, BAIInt peers, BAIHandle *mine);
BAIStatus BAIEngineConnect(BAIEngine, const BAIPeers *, const BAIHandle *theirs);
BAIStatus BAIEngineDisconnect(BAIEngine);
/*
   Connected ranks of different speed: seconds that a global iteration has taken since this was asked the last time,
   waiting for others not counted, 0 if there was none; known after BAIEngineResidual(). And how many iterations to do
   when one is asked for, at least 1, where the step allows it: so all come to the next exchange at one time
*/
double BAIEngineSeconds(BAIEngine);
void   BAIEngineSetPace(BAIEngine, double pace);
/*
   Which family of kernels does a mode that the engine is ready for, and why each one before it does not, in one line:
   "resident: 20 entries inside a block, 16 at most; stream taken". Empty where there is nothing to choose, as on the
   host
*/
BAIStatus BAIEngineExplain(BAIEngine, BAIMode, char *text, size_t size);
void      BAIEngineInfo(BAIEngine, BAIInfo *);
/* The block whose own each row is */
void BAIEngineBlocks(BAIEngine, BAIInt *block);
void BAIEngineDestroy(BAIEngine *);
/* The device that an engine would work on, by the device of its parameters; BAI_ERR_NOT_BUILT if it would work on none
 */
BAIStatus BAIBackendGetDevice(BAIBackend, int device, BAIDevice *);
/* Whether engines on this stream may be called: BAI_ERR_CAPTURE while it is captured into a graph */
BAIStatus BAIBackendIsReady(BAIBackend, void *stream);
/* x_i = (a number between -1/2 and 1/2, as if at random, by first + i alone), 0 <= i < n; on a device, in the order of
 * a stream */
BAIStatus   BAIBackendNoise(BAIBackend, BAIMemory, void *stream, int64_t first, BAIInt n, BAIScalar *x);
const char *BAICodeString(BAICode);
const char *BAIKernelString(BAIKernel);

/*
   Damping of the local sweeps: that of a row is BAILocalOmega() times its share. If it is to be chosen, the sweeps then
   converge in every block of a Hermitian positive definite matrix, for diag_i(sum_{j in J} |a_ij|) - A_JJ is positive
   semidefinite; and they are damped by BAI_LOCAL_DAMPING alone in rows whose off-diagonal entries inside the block do
   not outweigh the diagonal
*/
static inline BAIReal BAILocalOmega(const BAIParameters *p)
{
  return p->local_omega > 0 ? p->local_omega : BAI_LOCAL_DAMPING;
}

/* Of the l1 weight, outside being the sum outside the block */
BAI_INLINE BAIReal BAIShareOfL1(BAIReal d, BAIReal outside)
{
  return d / (d + outside);
}

#if defined(__cplusplus)
}
#endif
