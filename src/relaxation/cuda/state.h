/*
   State of the CUDA backend
*/
#pragma once

#include "../../common/cuda/rows.h"
#include "../engine.h"
#include "../exchange.h"
#include "../look.h"
#include <vector>

enum {
  BAI_PIECE       = 256,
  BAI_THREADS     = 256, /* of a thread block, where threads or warps work apart */
  BAI_ROW_THREADS = 512  /* rows of a tile, at most, where a thread keeps a row in registers */
};

/*
   Where a slice has its entries: column by column, each column 32 entries wide. If by_delta is set, all rows of the
   slice have their entries outside the blocks in the same diagonals of the matrix, a column each, and off_j has one
   number a column: column minus row. Else it has the column of each entry.
   In a packed slice (see off_first) those outside the blocks lie row by row instead, one row behind the other: so
   rows of very different lengths take no more room than they need
*/
typedef struct __align__(16)
{
  long long loc, off, off_j; /* first entries in loc_j and loc_a, in off_a, and in off_j */
  int       loc_width;
  unsigned  off_width : 31, by_delta : 1; /* off_width: entries of the longest row */
}
BAISlice;

/* A long row, all that it has outside its block being in pieces */
typedef struct {
  int place;       /* slice*32 + lane */
  int first, last; /* its pieces */
} BAILongRow;

/* Of a long row at most BAI_PIECE entries, a warp's work. What lies inside the block has its place here too, and is
 * none: so each piece can be filled by itself */
typedef struct {
  long long first; /* in rest_j, rest_a */
  int       size;
  int       row;      /* in long_row */
  int       part, at; /* in the row of the matrix: its square part, or that of the ghosts; and where it begins there */
} BAIPiece;

/*
   Sliced Block-CRS. A tile is what a thread block works on: one block, or several small ones side by side, in slices of
   32 rows. Each tile has tile_rows places for rows, the last of which may be empty. Rows are padded with zeros to the
   longest of their slice; so a warp reads them coalesced. Entries inside the blocks take columns counted from the first
   place of the tile, 16 bits each where that is enough.
*/
typedef struct {
  int  n, cols;              /* rows; and columns, ghosts included */
  int  loc_width, off_width; /* widest slice inside and outside the blocks */
  int  most_off; /* entries outside the blocks that a row has in its slice, at most: longer rows are in pieces */
  int  block_size, tile_rows, tiles, tile_slices;
  int *row; /* places, or NULL: place p has row p, if there is one; else the row of each place, -1, or, in the overlap
               of a block, -2 minus the row */
  int *place, *block; /* n, if there is row: the place and the block of each row */
  int *home;          /* if there is row: the block of each place, or -1 */
  int *overlap;       /* if blocks overlap: the first and last place of each block's overlap, whose rows are in the
                          order of their numbers */
  BAIScalar *d;       /* places: a_ii */
  BAIReal   *share;   /* places, or NULL: what multiplies the damping of a row */
  int       *iters, *tile_iters; /* places, tiles, or NULL: local sweeps of the row's block; the most in the tile */
  BAISlice  *slice;              /* slices+1 */
  void      *loc_j;              /* uint16_t, or int if the tiles are long */
  int       *off_j;              /* columns from n on are ghosts */
  int        unit;               /* BAIParameters: where 1 stands for a_ii */
  int        sweep_single;       /* what follows is BAISingle, else BAIScalar: */
  void      *dinv;               /* places: 1/a_ii; */
  void      *sweep_a;            /* loc_a as the local sweeps read it, which is the same array if it is of this type */
  int        single;             /* what follows is BAISingle, else BAIScalar */
  void      *loc_a, *off_a;
  int *off_first;  /* slices*33, or NULL if rows are of much the same length: in a packed slice the first entry of each
                     lane, and the end; in others -1 */
  int *long_first; /* slices+1, or NULL if no row is in pieces: the first long row of each slice */
  BAILongRow *long_row;
  int         long_rows, pieces;
  BAIPiece   *piece;
  void *piece_sum; /* room for what they are in a global iteration; in single precision too as large as BAIScalar */
  int  *rest_j;
  void *rest_a;
} BAISliced;

/*
   What the tiles have to wait for in modes sync and color: those they read from, and those that read from them. The
   lowest bit says whether the neighbour's turn is before that of the tile, the others are its number
*/
typedef struct {
  int *first; /* tiles+1; NULL: not asked for yet */
  int *tile;
} BAINeighbors;

/* How thread blocks go through tiles and global iterations */
typedef enum {
  BAI_OWN,   /* each keeps its own tiles; with no more tiles than thread blocks, that is as fast as can be */
  BAI_QUEUE, /* the device hands out tile after tile, so that none falls behind the others however fast the
                multiprocessors are. Were a tile begun anew before it is done, two updates would race; but for that it
                has to be at work for as long as all others together */
  BAI_FLAGS, /* each keeps its own tiles, and waits for their neighbours: mode sync */
  BAI_LAG,   /* the same in one x, where a tile may be ahead of those it reads from: mode async with staleness */
  BAI_TURNS  /* the same, but tiles whose turn is later wait for the same iteration of those before them: mode color */
} BAIOrder;

/* Where the last kernel left the iterate before the last one */
typedef enum {
  BAI_BEFORE_NOWHERE,
  BAI_BEFORE_PLACES, /* in before, */
  BAI_BEFORE_OTHER   /* or in that of the two x that is not the iterate */
} BAIBefore;

/* The kernel of a mode, and its launch: see plan.cu */
typedef struct {
  const void *kernel; /* NULL: the mode is not ready */
  BAIKernel   family;
  BAIOrder    order;
  int         resident; /* the kernel keeps the matrix on the chip, and can do a whole solve */
  int         grid, threads;
  size_t      shared;
  int         once;     /* a launch is one global iteration, so nothing is to be waited for */
  int         waits;    /* tiles are waited for, so all thread blocks must be there at once */
  int         momentum; /* it can do with momentum, */
  int         handed;   /* a thread block does one tile of one iteration, and the device hands these out */
  int         follows;  /* its kernel may follow another one without a gap, see follow.h */
} BAIPlan;

typedef struct {
  BAIReal norm2;
  int     stalled; /* 0, or the BAICode that says how */
} BAIResult;

/* Memory of the host that kernels write */
typedef struct {
  BAIResult   result;
  BAISolution solution;
  double      worked; /* seconds of sweeps from one exchange to the next, in all */
} BAIPinned;

/* What the thread blocks of a whole solve in one launch share: resident.cu */
typedef struct {
  int     ready, stop, arrived, decided, finished, its;
  int     progress; /* where tiles do not wait for each other: global iterations of the first */
  int     stalls;   /* the norm stands still */
  BAIReal bnorm2, rnorm2, tol2, most2;
  BAILook look; /* where tiles wait for each other: when they look at the residual */
} BAIControl;

typedef struct {
  BAIReal      rtol, abstol, dtol;
  BAIReal      bnorm2;  /* what rtol and dtol are relative to; negative: to be found from b */
  BAIReal     *r2, *b2; /* the tiles' shares of ||r||^2 and ||b||^2 */
  BAIControl  *control; /* NULL if the launch is not to stop by itself */
  BAISolution *result;  /* on the host */
} BAIStop;

/* What is counted of tiles: see BAIStats; updates is NULL if nothing is */
typedef struct {
  int                *updates;
  unsigned long long *reads; /* 2*BAI_MOST_STALE+1 */
  unsigned long long *last;  /* nanoseconds of the device's clock */
} BAICounts;

/* Rows whose x goes to other ranks, and where: those of tile t are first[t] <= k < first[t + 1] */
typedef struct {
  const int   *first; /* NULL: none goes while a kernel runs */
  const int   *row;
  void *const *to;
  int          quiet, loud; /* tiles quiet <= tile < loud send nothing, so that most need not look */
} BAISends;

/* Exchange with other ranks: see exchange.h */
typedef struct {
  int                    peers, sends;
  BAIShared              mailbox;
  std::vector<BAIShared> theirs;   /* the mailboxes of peers */
  BAISends               where[2]; /* in even and odd exchanges */
  BAIFlag              **tell;     /* peers: the flag that is this rank's to set */
  void                  *zero;     /* ghosts of an x that is zero */
  unsigned              *arrived;  /* thread blocks that have sent their part */
  BAIFlag                exchanges;
  int                    live;     /* tiles send x whenever they have a new one */
  int                    was_live; /* x might be old in the last exchange */
  unsigned long long    *last;     /* the time at which that ended, in ns */
  struct BAICUDACopies_ *copies;   /* if x goes in copies: exchange.cu; else NULL */
} BAICUDAExchange;

struct BAIState_ : BAIContext {
  BAIParameters p;
  BAISliced     A;
  int           nghost;
  BAIInt        blocks;
  long long     nnz_local, nnz_off, local_sweeps;
  long long places_loc, places_off, places_off_j, places_rest; /* in loc_a, off_a, off_j and rest_a, padding included */
  BAIReal  *sums; /* if local sweeps depend on them: at each place the sum of |a_ij|, i != j, inside the block; behind
                     them those outside */
  BAIReal   local_omega, least_share; /* in use; for lack of dominance, among the rows */
  int       units;                    /* rows for whose a_ii 1 stands */
  unsigned long long pattern;         /* a hash of the nonzero pattern */
  BAINeighbors       neighbors;
  int               *order; /* of the tiles, colour by colour; NULL: as they come */
  int                colors, turns;
  std::vector<int>   turn_first; /* the places in that order where a turn begins, and its end */
  int               *done,
    done_before; /* where tiles are waited for: global iterations that a tile has behind it; and had before this call */

  BAIVectors v;            /* as bound */
  BAIScalar *on_device[3]; /* b, ghost and x: as bound, or what stands in for them; */
  BAIScalar *staged[3];    /* the latter, where they lie on the host */
  void      *rounded[3];   /* in single precision, times scale: what sweeps work with instead */
  BAIReal    scale;
  void      *b, *ghost; /* what sweeps read */
  void      *x[2];      /* the iterate; mode sync goes back and forth between the two */
  int        current;   /* which of the two it is */

  BAIPlan   plan[4]; /* by mode */
  BAIStop   stop;
  void     *scratch; /* stands in for shared memory if the tiles are too long for it */
  int       scratch_grid;
  void     *before;     /* places, if there is momentum: the iterate before the last one, */
  BAIBefore has_before; /* if it is there */

  BAIReal   *partial; /* of the residual: per slice, and room for sums of these */
  BAIResult *result;  /* on the device */
  BAIPinned *pinned;

  BAICUDAExchange exchange;

  BAICounts            counts;
  std::vector<int64_t> updates; /* tiles: what was counted, for the caller, and the time of each one's last update */
  std::vector<double>  last;
};

/* Of what sweeps work with, in bytes */
static inline size_t BAIValueSize(const BAISliced *A)
{
  return A->single ? sizeof(BAISingle) : sizeof(BAIScalar);
}

static inline size_t BAISweepSize(const BAISliced *A)
{
  return A->sweep_single ? sizeof(BAISingle) : sizeof(BAIScalar);
}

static inline int BAISlices(const BAISliced *A)
{
  return A->tiles * A->tile_slices;
}

/* Columns counted from the first place of a tile take more than 16 bits */
static __host__ __device__ inline bool BAIWide(const BAISliced *A)
{
  return A->tile_rows > UINT16_MAX + 1;
}

static inline size_t BAIColumnSize(const BAISliced *A)
{
  return BAIWide(A) ? sizeof(int) : sizeof(uint16_t);
}

static inline size_t BAIPlaces(const BAISliced *A)
{
  return (size_t)A->tiles * (size_t)A->tile_rows;
}

/* Launches a kernel with this many threads, in thread blocks of BAI_THREADS */
template <typename... Parameters, typename... Arguments>
static inline BAIStatus BAILaunchThreads(cudaStream_t stream, long long threads, void (*kernel)(Parameters...),
                                         Arguments... arguments)
{
  kernel<<<BAIGrid(threads, BAI_THREADS), BAI_THREADS, 0, stream>>>(arguments...);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* From a matrix on the device: where the entries of each slice are to be, and memory for them */
BAIStatus BAISlicesCreate(BAIState, const BAIMatrix *);

/* The entries of a matrix on the device, with columns or into the old pattern: BAI_ERR_PATTERN if it has another one */
BAIStatus BAISlicesFill(BAIState, const BAIMatrix *, bool same_pattern);
BAIStatus BAISlicedCreate(BAIState, const BAIMatrix *, const BAIPartition *);
BAIStatus BAISlicedUpdateValues(BAIState, const BAIMatrix *);
BAIStatus BAISlicedShares(BAIState, BAIReal *share);
/* If they are not there yet: the graph of the tiles, and the order of their turns; the latter, if it is not needed,
 * only where it is worth while */
BAIStatus BAINeighborsCreate(BAIState);
BAIStatus BAITurnsCreate(BAIState, bool needed);
/* Chooses the kernel of a mode, with momentum or without, makes what it takes; and says in one line why it is that one
 */
BAIStatus BAIPlanCreate(BAIState, BAIMode, bool momentum, BAIPlan *);
BAIStatus BAIPlanExplain(BAIState, BAIMode, char *text, size_t size);
BAIStatus BAISweepPrepare(BAIState, BAIMode);
BAIStatus BAISweepRun(BAIState, BAIInt count, const BAIStep *);
BAIStatus BAISweepSolve(BAIState, const BAITolerances *, const BAIStep *, BAISolution *);
/* Whether a launch gave up, as far as the host knows. After BAI_ERR_STALLED the state is fit for the next launch; ranks
 * of which one was absent are out of step, and stay so */
BAIStatus BAIStalled(BAIState);
BAIStatus BAIResidualSetUp(BAIState);
BAIStatus BAIResidualRun(BAIState, BAIReal *norm2);
/* vectors.cu: to single precision, times the state's scale, and back; and what the local sweeps read, if it is a
 * rounded copy */
BAIStatus BAIRoundVector(BAIState, int n, const BAIScalar *, void *);
BAIStatus BAIWidenVector(BAIState, int n, const void *, BAIScalar *);
BAIStatus BAIRoundInside(BAIState);
/* x[0] becomes the iterate, x[1] the one before it */
BAIStatus BAISwapIterates(BAIState);
BAIStatus BAICUDAShare(BAIState, BAIInt peers, BAIHandle *);
BAIStatus BAICUDAConnect(BAIState, const BAIPeers *, const BAIHandle *);
BAIStatus BAICUDAExchangeGhosts(BAIState, BAIGhosts, int swept);
double    BAICUDAWorked(BAIState);
BAIStatus BAICUDADisconnect(BAIState);
void      BAICUDAExchangeDestroy(BAIState);
BAIStatus BAISumsRun(BAIState, BAIReal *inside, BAIReal *outside);
BAIStatus BAICUDANoise(void *stream, int64_t first, BAIInt n, BAIScalar *x);
/* stats.cu */
BAIStatus BAIStatsCreate(BAIState);
BAIStatus BAIStatsGet(BAIState, BAIStats *);
/* fault.cu */
BAIStatus BAICUDAFlip(BAIState, BAIInt *flipped);
