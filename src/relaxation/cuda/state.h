/* State of the CUDA backend */
#pragma once

#include "../../common/cuda/context.h"
#include "../engine.h"
#include "../exchange.h"
#include "../look.h"
#include <vector>

enum {
  BAI_PIECE       = 256,
  BAI_THREADS     = 256, /* threads of a thread block whose threads or warps are independent */
  BAI_ROW_THREADS = 512  /* largest number of rows of a tile, if a thread keeps a row in registers */
};

/*
   The entries of a slice: column by column, each column 32 entries wide. With by_delta all rows of the slice have their
   entries outside blocks in the same diagonals of the matrix, one in each column, and off_j has one number for each
   column: column minus row. Otherwise off_j has the column of each entry. In a packed slice (see off_first) the entries
   outside blocks are row by row instead, so that rows of very different lengths need no padding
*/
typedef struct __align__(16)
{
  long long loc, off, off_j;              /* first entries in loc_j and loc_a, in off_a, and in off_j */
  int       loc_width;                    /* entries of the longest row inside the blocks */
  unsigned  off_width : 31, by_delta : 1; /* off_width: entries of the longest row outside the blocks */
}
BAISlice;

/* A long row, whose entries outside the block are all in pieces */
typedef struct {
  int place;       /* slice*32 + lane */
  int first, last; /* pieces of the row */
} BAILongRow;

/* A piece of a long row: at most BAI_PIECE entries, summed by a warp. Entries inside the block have an empty place in
   it, so that each piece can be filled independently */
typedef struct {
  long long first; /* in rest_j, rest_a */
  int       size;
  int       row;  /* in long_row */
  int       part; /* part of the matrix: 0 is the square part, 1 the ghosts */
  int       at;   /* number of its first entry in the row of this part */
} BAIPiece;

/*
   Sliced Block-CRS. A tile is the work of a thread block: one block, or several small ones, in slices of 32 rows. Each
   tile has tile_rows places for rows, the last of which may be empty. Rows are padded with zeros to the longest of
   their slice, so that warps read coalesced. Columns inside the blocks are relative to the first place of the tile, in
   16 bits if possible
*/
typedef struct {
  int        n, cols;              /* rows; columns including ghosts */
  int        loc_width, off_width; /* width of the widest slice, inside and outside the blocks */
  int        most_off;             /* rows with more entries outside their block are in pieces */
  int        block_size, tile_rows, tiles, tile_slices;
  int       *row;          /* places: the row, or -1 for none; NULL: place p has row p */
  int       *place;        /* n: place of each row; NULL if row is */
  int       *block;        /* n: block of each row; NULL if row is */
  int       *home;         /* places: block of each place, or -1; NULL if row is */
  int        unit;         /* rows in which 1 replaces a_ii, see BAIParameters */
  int        sweep_single; /* dinv and sweep_a are BAISingle, otherwise BAIScalar */
  int        single;       /* the other values are BAISingle, otherwise BAIScalar */
  BAIScalar *d;            /* places: a_ii */
  void      *dinv;         /* places: 1/a_ii */
  BAIReal   *share;        /* places: factor of a row's damping; NULL: 1 */
  int       *iters;        /* places: local sweeps of the row's block; NULL: equal for all */
  int       *tile_iters;   /* tiles: largest number of local sweeps in a tile; NULL if iters is */
  BAISlice  *slice;        /* slices+1 */
  void      *loc_j;        /* columns inside the blocks, uint16_t, or int if BAIWide() */
  void      *loc_a;        /* values inside the blocks */
  void      *sweep_a;      /* loc_a in the precision of the local sweeps; equal to loc_a if that has it */
  int       *off_j;        /* columns outside the blocks; ghosts from n on */
  void      *off_a;        /* values outside the blocks */
  /* slices*33: in a packed slice, first entry of each lane, and the end; otherwise -1; NULL: no slice is packed */
  int        *off_first;
  int        *long_first; /* slices+1: first long row of each slice; NULL: no row is in pieces */
  BAILongRow *long_row;
  int         long_rows, pieces;
  BAIPiece   *piece;
  void       *piece_sum; /* pieces: sums in a global iteration, with room for a BAIScalar each */
  int        *rest_j;    /* columns of long rows outside their blocks */
  void       *rest_a;    /* values of long rows outside their blocks */
} BAISliced;

/*
   The tiles that a tile waits for in modes sync and color: tiles it reads from, and tiles that read from it. The lowest
   bit says whether the neighbour's turn precedes the tile's, the other bits are the number of the neighbour
*/
typedef struct {
  int *first; /* tiles+1; NULL: not yet found */
  int *tile;
} BAINeighbors;

/* How thread blocks process tiles and global iterations */
typedef enum {
  BAI_OWN, /* each has its own tiles, which is fastest if there are no more tiles than thread blocks */
  /* the device assigns tile after tile, so that none falls behind, whatever the speed of multiprocessors. Two updates
     would race if a tile were started again before it is done, that is if it took as long as all the others together */
  BAI_QUEUE,
  BAI_FLAGS, /* each has its own tiles, and waits for their neighbours: mode sync */
  BAI_TURNS  /* like BAI_FLAGS, but tiles of later turns wait for the same iteration of earlier ones: mode color */
} BAIOrder;

/* Where the last kernel left the iterate before the last one */
typedef enum {
  BAI_BEFORE_NOWHERE,
  BAI_BEFORE_PLACES, /* in before */
  BAI_BEFORE_OTHER   /* in x[1 - current] */
} BAIBefore;

/* The kernel of a mode and its launch, see plan.cu */
typedef struct {
  const void *kernel; /* NULL: the mode is not ready */
  BAIKernel   family;
  BAIOrder    order;
  int         resident; /* the kernel keeps the matrix on the chip, and can do a whole solve */
  int         grid, threads;
  size_t      shared;
  int         once;     /* a launch is one global iteration, so there are no waits */
  int         waits;    /* tiles wait for each other, so all thread blocks must be resident at once */
  int         momentum; /* steps may use momentum */
  int         handed;   /* a thread block does one tile of one iteration, assigned by the device */
  int         follows;  /* the kernel may follow another one without a gap, see follow.h */
} BAIPlan;

typedef struct {
  BAIReal norm2;
  int     stalled; /* 0, or the BAICode of a wait that timed out */
} BAIResult;

typedef struct {
  BAIResult   result;
  BAISolution solution;
  double      worked; /* seconds of sweeps between exchanges, in total */
} BAIPinned;

/* Memory that the thread blocks of a whole solve in one launch share, see resident.cu */
typedef struct {
  int     ready, stop, arrived, decided, finished, its;
  int     progress; /* global iterations of the first tile, if tiles do not wait for each other */
  int     stalls;   /* the norm stagnates */
  BAIReal bnorm2, rnorm2, tol2, most2;
  BAILook look; /* next look at the residual, if tiles wait for each other */
} BAIControl;

typedef struct {
  BAIReal      rtol, abstol, dtol;
  BAIReal      bnorm2;  /* ||b||^2, which rtol and dtol are relative to; negative: computed from b */
  BAIReal     *r2, *b2; /* the tiles' shares of ||r||^2 and ||b||^2 */
  BAIControl  *control; /* NULL if the launch does not stop by itself */
  BAISolution *result;  /* on the host */
} BAIStop;

/* Counts of each tile, see BAIStats; updates is NULL without statistics */
typedef struct {
  int                *updates;
  unsigned long long *reads; /* 2*BAI_MOST_STALE+1 */
} BAICounts;

/* Rows whose x goes to other ranks, and its destinations: those of tile t are first[t] <= k < first[t + 1] */
typedef struct {
  const int   *first; /* NULL: nothing is sent while a kernel runs */
  const int   *row;
  void *const *to;
  int          quiet, loud; /* tiles quiet <= tile < loud send nothing, so that most tiles need not look */
} BAISends;

typedef struct {
  int                 peers, sends;
  char               *mailbox;  /* of this rank */
  BAISends            where[2]; /* in even and odd exchanges */
  BAIFlag           **tell;     /* peers: flag that this rank sets */
  void               *zero;     /* ghosts of a zero x */
  unsigned           *arrived;  /* number of thread blocks that have sent their part */
  BAIFlag             exchanges;
  int                 live; /* tiles send each new x */
  unsigned long long *last; /* time of the last exchange in ns */
} BAICUDAExchange;

struct BAIState_ : BAIContext {
  BAIParameters p;
  BAISliced     A;
  int           nghost;
  BAIInt        blocks;
  long long     nnz_local, nnz_off, local_sweeps;
  /* numbers of loc_a, off_a, off_j and rest_a, including padding */
  long long          places_loc, places_off, places_off_j, places_rest;
  BAIReal           *sums; /* 2*places: sums of |a_ij|, j != i, inside the block, then outside; NULL without theta */
  BAIReal            local_omega; /* damping of the local sweeps */
  BAIReal            least_share; /* smallest share of damping for lack of dominance */
  int                units;       /* rows whose a_ii is replaced by 1 */
  unsigned long long pattern;     /* hash of the nonzero pattern */
  BAINeighbors       neighbors;
  int               *order; /* tiles by colour; NULL: by number */
  int                colors, turns;
  std::vector<int>   turn_first;  /* turns+1: first place in order of each turn */
  int               *done;        /* tiles: global iterations done, if tiles wait for each other */
  int                done_before; /* value of done before a call */

  BAIVectors v;            /* bound by the caller */
  BAIScalar *on_device[3]; /* b, ghost and x of v, or their copies in staged */
  BAIScalar *staged[3];    /* copies of vectors on the host */
  void      *rounded[3];   /* copies in single precision, times scale */
  BAIReal    scale;
  void      *b, *ghost; /* vectors that sweeps read */
  void      *x[2];      /* iterates; mode sync alternates between the two */
  int        current;   /* the iterate is x[current] */

  BAIPlan   plan[4]; /* plan of each mode */
  BAIStop   stop;
  void     *scratch;      /* memory of tiles that are too long for shared memory */
  int       scratch_grid; /* number of thread blocks that scratch is for */
  void     *before;       /* places: the iterate before the last one; NULL without momentum in modes with one x */
  BAIBefore has_before;

  BAIReal   *partial; /* slices: parts of the residual norm, and room for their partial sums */
  BAIResult *result;  /* on the device */
  BAIPinned *pinned;

  BAICUDAExchange exchange;

  BAICounts            counts;
  std::vector<int64_t> updates; /* tiles: updates, for the caller */
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

/* Whether columns relative to the first place of a tile need more than 16 bits */
static __host__ __device__ inline bool BAIWide(const BAISliced *A)
{
  return A->tile_rows > UINT16_MAX + 1;
}

/* Bytes of an element of loc_j; off_j and rest_j always have int */
static inline size_t BAIColumnSize(const BAISliced *A)
{
  return BAIWide(A) ? sizeof(int) : sizeof(uint16_t);
}

static inline size_t BAIPlaces(const BAISliced *A)
{
  return (size_t)A->tiles * (size_t)A->tile_rows;
}

/* Launches a kernel with this number of threads, in thread blocks of BAI_THREADS */
template <typename... Parameters, typename... Arguments>
static inline BAIStatus BAILaunchThreads(cudaStream_t stream, long long threads, void (*kernel)(Parameters...),
                                         Arguments... arguments)
{
  kernel<<<BAIGrid(threads, BAI_THREADS), BAI_THREADS, 0, stream>>>(arguments...);
  CUDATry(cudaGetLastError());
  return BAIStatusOf(BAI_OK);
}

/* Finds the position of the entries of each slice of a matrix on the device, and allocates them */
BAIStatus BAISlicesCreate(BAIState, const BAIMatrix *);

/* Stores the entries of a matrix on the device, with columns or into the same pattern: BAI_ERR_PATTERN if it is another
   one */
BAIStatus BAISlicesFill(BAIState, const BAIMatrix *, bool same_pattern);
/* Allocates the matrix on the device and stores it, from the host or the device; partition is NULL for blocks of
   consecutive rows. BAI_ERR_SIZE if rows, ghosts or places are too many for 32 bits. Shares are not kept if all are 1,
   unless the l1 norm of rows is used */
BAIStatus BAISlicedCreate(BAIState, const BAIMatrix *, const BAIPartition *);
/* Stores new values in the same pattern, from the host or the device */
BAIStatus BAISlicedUpdateValues(BAIState, const BAIMatrix *);
/* Gets the shares as BAIEngineShares() */
BAIStatus BAISlicedShares(BAIState, BAIReal *share);
/* Unless done before, find the graph of the tiles; and the order of their turns, which is left out if it is neither
   needed nor useful */
BAIStatus BAINeighborsCreate(BAIState, bool needed);
BAIStatus BAITurnsCreate(BAIState, bool needed);
/* The kernel of a family for this matrix, or NULL if there is none; watched: with faults or statistics */
const void *BAIResidentKernel(const BAISliced *, BAIOrder, bool in_shared);
const void *BAIStreamKernel(const BAISliced *);
const void *BAIOnceKernel(const BAISliced *, BAIOrder);
const void *BAIGenericKernel(const BAISliced *, bool refined, bool watched);
/* Chooses the kernel of a mode, with momentum or without, and allocates its memory */
BAIStatus BAIPlanCreate(BAIState, BAIMode, bool momentum, BAIPlan *);
/* Operation explain, see BAIEngineExplain(): why each preceding family of kernels was refused, and which one is taken.
   Chooses again for this, but keeps the plan. Leaves text as it is if the mode has not been prepared */
BAIStatus BAIPlanExplain(BAIState, BAIMode, char *text, size_t size);
/* Operations of BAIBackendOps, see BAIEngine...() in engine.h, like others below without a comment */
BAIStatus BAISweepPrepare(BAIState, BAIMode);
BAIStatus BAISweepRun(BAIState, BAIInt count, const BAIStep *);
BAIStatus BAISweepSolve(BAIState, const BAITolerances *, const BAIStep *, BAISolution *);
/* The error of a launch that gave up, as far as the host knows. After BAI_ERR_STALLED the state can be used further;
   after an absent rank, ranks remain out of step */
BAIStatus BAIStalled(BAIState);
/* Allocates the memory of residual norms, and the results that the host reads */
BAIStatus BAIResidualSetUp(BAIState);
BAIStatus BAIResidualRun(BAIState, BAIReal *norm2);
/* vectors.cu: round to single precision, times the state's scale, and back; round the matrix that local sweeps read, if
   it is a copy */
BAIStatus BAIRoundVector(BAIState, int n, const BAIScalar *, void *);
BAIStatus BAIWidenVector(BAIState, int n, const void *, BAIScalar *);
BAIStatus BAIRoundInside(BAIState);
/* Copies the iterate to x[0], if it is in x[1] */
BAIStatus BAIIterateToFirst(BAIState);
/* Makes x[0] the iterate, and x[1] the one before it */
BAIStatus BAISwapIterates(BAIState);
BAIStatus BAICUDAConnect(BAIState, const BAIPeers *);
BAIStatus BAICUDAExchangeGhosts(BAIState, BAIGhosts, int swept);
double    BAICUDAWorked(BAIState);
BAIStatus BAICUDADisconnect(BAIState);
BAIStatus BAICUDASet(void *stream, BAISet, int64_t first, BAIInt n, BAIScalar *x);
/* Allocates the counts of statistics, and sets them to 0 */
BAIStatus BAIStatsCreate(BAIState);
BAIStatus BAIStatsGet(BAIState, BAIStats *);
