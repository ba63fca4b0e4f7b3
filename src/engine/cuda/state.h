/*
   State of the CUDA backend, and how its files call the run time
*/
#pragma once

#include "../engine.h"
#include <cuda_runtime.h>

#define CUDATry(...) \
  do { \
    const cudaError_t cuda_try_ = __VA_ARGS__; \
    if (cuda_try_ != cudaSuccess) return BAICUDAStatus(cuda_try_, #__VA_ARGS__); \
  } while (0)

static inline BAIStatus BAICUDAStatus(cudaError_t error, const char *what)
{
  const BAIStatus status = {error == cudaErrorMemoryAllocation ? BAI_ERR_MEMORY : BAI_ERR_DEVICE, -1, what, cudaGetErrorString(error)};

  (void)cudaGetLastError();
  return status;
}

enum {
  BAI_LANES       = 32, /* rows of a slice, threads of a warp */
  BAI_ROW_THREADS = 512 /* rows of a tile, at most, where a thread keeps a row in registers */
};

/*
   Sliced Block-CRS. A tile is what a thread block works on: one block, or several small ones side by side, in slices of
   32 rows. The entries of a slice lie column by column, each column 32 entries wide, rows padded with zeros to the longest
   of their slice; so a warp reads them coalesced. Entries inside the blocks take columns counted from the first row of the
   tile, 16 bits each where that is enough.
*/
typedef struct {
  int            n;         /* rows */
  int            loc_width, off_width; /* longest row inside and outside the blocks */
  int            block_size, tile_rows, tiles, tile_slices;
  BAIScalar     *d, *dinv;  /* n: a_ii, 1/a_ii */
  long long     *loc_first; /* slices+1: where the entries of a slice begin */
  void          *loc_j;     /* uint16_t, or int if the tiles are long */
  BAIScalar     *loc_a;
  long long     *off_first; /* the same for the entries outside the blocks; columns from n on are ghosts */
  int           *off_j;
  BAIScalar     *off_a;
} BAISliced;

/*
   What the tiles have to wait for in modes sync and color: those they read from, and those that read from them. The lowest bit says
   whether the neighbour's turn is before that of the tile, the others are its number
*/
typedef struct {
  int *first; /* tiles+1 */
  int *tile;
} BAINeighbors;

typedef struct {
  BAIReal norm2;
  int     stalled;
} BAIResult;

/* Shared by the thread blocks of a whole solve in one launch: see resident.cu */
typedef struct {
  int     ready, stop, arrived, decided, finished, its;
  BAIReal bnorm2, rnorm2, tol2, most2;
} BAIControl;

typedef struct {
  BAIReal      rtol, abstol, dtol;
  BAIReal      bnorm2;  /* what rtol and dtol are relative to; negative: to be found from b */
  BAIReal     *r2, *b2; /* the tiles' shares of ||r||^2 and ||b||^2 */
  BAIControl  *control; /* NULL if the launch is not to stop by itself */
  BAISolution *result;  /* on the host */
} BAIStop;

struct BAIState_ {
  BAIParameters p;
  cudaStream_t  stream;
  BAISliced     A;
  int           nghost, wide; /* wide: loc_j is int */
  long long     nnz_local, nnz_off;
  BAIReal       local_omega; /* in use */
  BAINeighbors  neighbors;
  int          *order; /* of the tiles, colour by colour; NULL: as they come */
  int           colors;
  int          *done, done_before;       /* where tiles are waited for: global iterations that a tile has behind it; and had before this call */
  long long    *tickets, tickets_before; /* drawn from the queue of tiles; and before this call */

  BAIVectors v;         /* as bound */
  BAIScalar *b, *ghost; /* on the device, only read */
  BAIScalar *x[2];      /* the bound x; mode sync goes back and forth between the two */
  int        current;   /* which of the two is the iterate */
  BAIScalar *staged[3]; /* stand in for those of b, ghost and x that lie on the host */

  int         resident; /* the kernel keeps the matrix in registers, and can do a whole solve */
  BAIStop     stop;
  const void *kernel; /* of the sweep, and its launch */
  int         grid, threads, queue; /* queue: thread blocks draw tiles from a queue */
  size_t      shared;
  BAIScalar  *scratch; /* stands in for shared memory if the tiles are too long for it */

  BAIReal   *partial; /* of the residual: per slice */
  void      *reduce;  /* CUB's working space */
  size_t     reduce_bytes;
  BAIResult *result, *result_host; /* on the device; where the host reads it */

  void     *owned[32]; /* every allocation on the device */
  int       nowned;
  long long bytes;
};

static inline int BAISlices(const BAISliced *A)
{
  return A->tiles * A->tile_slices;
}

/* Device memory that lives as long as the state; at least one byte, so that nothing is NULL */
BAIStatus BAICUDAAllocate(BAIState, size_t bytes, void *pointer);

BAIStatus BAISlicedCreate(BAIState, const BAIMatrix *);
BAIStatus BAISlicedUpdateValues(BAIState, const BAIMatrix *);
BAIStatus BAINeighborsCreate(BAIState);
BAIStatus BAISweepSetUp(BAIState);
BAIStatus BAISweepRun(BAIState, BAIInt count, BAIDirection);
BAIStatus BAISweepSolve(BAIState, const BAITolerances *, BAISolution *);
BAIStatus BAIResidualSetUp(BAIState);
BAIStatus BAIResidualRun(BAIState, BAIReal *norm2);
