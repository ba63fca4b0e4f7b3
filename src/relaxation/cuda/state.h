/*
   State of the CUDA backend
*/
#pragma once

#include "../../common/cuda/context.h"
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
  long long loc, off, off_j;              /* first entries in loc_j and loc_a, in off_a, and in off_j */
  int       loc_width;                    /* entries of the longest row inside the blocks */
  unsigned  off_width : 31, by_delta : 1; /* off_width: entries of the longest row outside them */
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
  int       row;  /* in long_row */
  int       part; /* of the matrix: 0 is the square part, 1 the part of the ghosts */
  int       at;   /* its first entry, counted from the first one of the row in that part */
} BAIPiece;

/*
   Sliced Block-CRS. A tile is what a thread block works on: one block, or several small ones side by side, in slices of
   32 rows. Each tile has tile_rows places for rows, the last of which may be empty. Rows are padded with zeros to the
   longest of their slice; so a warp reads them coalesced. Entries inside the blocks take columns counted from the first
   place of the tile, 16 bits each where that is enough.
*/
typedef struct {
  int         n, cols;              /* rows; columns, ghosts included */
  int         loc_width, off_width; /* the widest slice, inside and outside the blocks */
  int         most_off;             /* a row with more entries outside its block than this is in pieces */
  int         block_size, tile_rows, tiles, tile_slices;
  int        *row;          /* places: the row, -1 for none, or -2 minus a row of an overlap; NULL: place p has row p */
  int        *place;        /* n: the place of each row; NULL if row is */
  int        *block;        /* n: the block of each row; NULL if row is */
  int        *home;         /* places: the block of each place, or -1; NULL if row is */
  int        *overlap;      /* 2*blocks: the first and last place of a block's overlap, sorted by row; NULL: none */
  int         unit;         /* rows in which 1 stands for a_ii: see BAIParameters */
  int         sweep_single; /* dinv and sweep_a are of BAISingle, else of BAIScalar */
  int         single;       /* the other values are of BAISingle, else of BAIScalar */
  BAIScalar  *d;            /* places: a_ii */
  void       *dinv;         /* places: 1/a_ii */
  BAIReal    *share;        /* places: the factor of a row's damping; NULL: 1 */
  int        *iters;        /* places: local sweeps of the row's block; NULL: the same for all */
  int        *tile_iters;   /* tiles: the most local sweeps in a tile; NULL if iters is */
  BAISlice   *slice;        /* slices+1 */
  void       *loc_j;        /* columns inside the blocks, of uint16_t, or of int if BAIWide() */
  void       *loc_a;        /* values inside the blocks */
  void       *sweep_a;      /* loc_a in the precision of the local sweeps; the same array if that is loc_a's */
  int        *off_j;        /* columns outside the blocks; from n on they are ghosts */
  void       *off_a;        /* values outside the blocks */
  int        *off_first; /* slices*33: of a packed slice each lane's first entry, and the end, else -1; NULL: none is */
  int        *long_first; /* slices+1: the first long row of each slice; NULL: no row is in pieces */
  BAILongRow *long_row;
  int         long_rows, pieces;
  BAIPiece   *piece;
  void       *piece_sum; /* pieces: their sums in a global iteration, with room for a BAIScalar each */
  int        *rest_j;    /* columns of long rows outside their blocks */
  void       *rest_a;    /* values of long rows outside their blocks */
} BAISliced;

/*
   The tiles that a tile waits for in modes sync and color: those it reads from, and those that read from it. The lowest
   bit says whether the neighbour's turn is before the tile's turn, the other bits are the neighbour's number
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
  BAI_BEFORE_PLACES, /* in before */
  BAI_BEFORE_OTHER   /* in x[1 - current] */
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
  int         momentum; /* steps may ask for momentum */
  int         handed;   /* a thread block does one tile of one iteration, and the device hands these out */
  int         follows;  /* the kernel may follow another one without a gap, see follow.h */
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

/* Memory that the thread blocks of a whole solve in one launch share: resident.cu */
typedef struct {
  int     ready, stop, arrived, decided, finished, its;
  int     progress; /* global iterations of the first tile, where tiles do not wait for each other */
  int     stalls;   /* the norm stands still */
  BAIReal bnorm2, rnorm2, tol2, most2;
  BAILook look; /* the next look at the residual, where tiles wait for each other */
} BAIControl;

typedef struct {
  BAIReal      rtol, abstol, dtol;
  BAIReal      bnorm2;  /* rtol and dtol are relative to it; negative: it is found from b */
  BAIReal     *r2, *b2; /* the tiles' shares of ||r||^2 and ||b||^2 */
  BAIControl  *control; /* NULL if the launch is not to stop by itself */
  BAISolution *result;  /* on the host */
} BAIStop;

/* Counts of each tile, see BAIStats; updates is NULL if nothing is counted */
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
  BAIReal  *sums;             /* 2*places: sums of |a_ij|, j != i, inside the block, then outside; NULL without theta */
  BAIReal   local_omega;      /* damping of the local sweeps */
  BAIReal   least_share;      /* the least share of damping for lack of dominance */
  int       units;            /* rows for whose a_ii 1 stands */
  unsigned long long pattern; /* a hash of the nonzero pattern */
  BAINeighbors       neighbors;
  int               *order; /* tiles, colour by colour; NULL: as they come */
  int                colors, turns;
  std::vector<int>   turn_first;  /* turns+1: the places in order where turns begin */
  int               *done;        /* tiles: global iterations that are done, where tiles wait for each other */
  int                done_before; /* the value of done before a call */

  BAIVectors v;            /* as bound */
  BAIScalar *on_device[3]; /* b, ghost and x as bound, or their copies in staged */
  BAIScalar *staged[3];    /* copies of vectors that lie on the host */
  void      *rounded[3];   /* copies in single precision, times scale */
  BAIReal    scale;
  void      *b, *ghost; /* the vectors that sweeps read */
  void      *x[2];      /* iterates; mode sync goes back and forth between the two */
  int        current;   /* the iterate is x[current] */

  BAIPlan   plan[4]; /* by mode */
  BAIStop   stop;
  void     *scratch;      /* memory of tiles that are too long for shared memory */
  int       scratch_grid; /* thread blocks that it is for */
  void     *before;       /* places: the iterate before the last one; NULL without momentum in modes of one x */
  BAIBefore has_before;

  BAIReal   *partial; /* slices: parts of the residual norm, and room for sums of these */
  BAIResult *result;  /* on the device */
  BAIPinned *pinned;

  BAICUDAExchange exchange;

  BAICounts            counts;
  std::vector<int64_t> updates; /* tiles: the counts that the caller gets */
  std::vector<double>  last;    /* tiles: the time of the last update that the caller gets */
};

/* Bytes of a value of the iterate and the matrix, and of a value of the local sweeps */
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
/* The kernel of a family for a matrix; NULL: none does it */
const void *BAIResidentKernel(const BAISliced *, BAIOrder, bool in_shared);
const void *BAIStreamKernel(const BAISliced *);
const void *BAIOnceKernel(const BAISliced *, BAIOrder);
const void *BAIGenericKernel(const BAISliced *, bool refined, bool watched);
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
/* Copies the iterate to x[0], if it is in x[1] */
BAIStatus BAIIterateToFirst(BAIState);
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
