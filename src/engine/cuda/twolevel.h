/*
   What the kernels of whole solves with a coarse correction are launched with: see twolevel.cu
*/
#pragma once

#include "sweep.h"

enum {
  BAI_TWO_LEVEL_ROWS    = 512, /* of a tile, at most */
  BAI_TWO_LEVEL_SLICES  = BAI_TWO_LEVEL_ROWS / BAI_LANES,
  BAI_TWO_LEVEL_PACK    = 16 / sizeof(BAISingle), /* of the inverse that a thread reads at a time */
  BAI_TWO_LEVEL_SEEN    = 48,                     /* aggregates that a tile, and what it reads, belongs to, at most */
  BAI_TWO_LEVEL_COLUMNS = 1 << 24                 /* of the matrix, at most: the chip has no room for so many */
};

/* Each slice belongs to one aggregate, if to any, and each aggregate to one tile; those of a tile are numbered one
 * after the other */
typedef struct {
  int            m;         /* unknowns, which are the aggregates */
  const int     *aggregate; /* slices: that of each, or -1 */
  const int     *first;     /* tiles+1: the first aggregate of each tile */
  const int16_t *of_row;    /* n: the aggregate of each row, or -1 */
  const int     *seen_count,
    *seen; /* tiles; and BAI_TWO_LEVEL_SEEN for each: the aggregates that it needs to know of, first its own */
  int              most_seen;
  const BAISingle *inverse; /* m x m, row by row */
  BAIReal         *x;       /* twice n scalars: tagged; */
  long long        reals_x; /* of one of them */
  BAIReal *shares; /* and so are these; twice: of P^H r, a real after the other; then of ||r||^2, those of the tiles */
} BAITwoLevel;

/* Reals in one of the two */
static __host__ __device__ inline int BAIShares(const BAITwoLevel &t, int tiles)
{
  return t.m * (int)(sizeof(BAIScalar) / sizeof(BAIReal)) + tiles;
}

/* Unknowns, and zeros */
static __host__ __device__ inline int BAIPadded(const BAITwoLevel &t)
{
  return (t.m + BAI_TWO_LEVEL_PACK - 1) / BAI_TWO_LEVEL_PACK * BAI_TWO_LEVEL_PACK;
}

/* What a thread block keeps of the coarse space in shared memory: what all tiles have published, and its rows of the
 * inverse */
static __host__ __device__ inline size_t BAISumsBytes(const BAITwoLevel &t, int tiles)
{
  return (size_t)BAIPadded(t) * sizeof(BAISingle) + ((size_t)tiles * sizeof(BAIReal) + 15) / 16 * 16;
}

static __host__ __device__ inline size_t BAITwoLevelBytes(const BAITwoLevel &t, int tiles)
{
  return BAISumsBytes(t, tiles) + (size_t)BAIPadded(t) * (size_t)t.most_seen * sizeof(BAISingle);
}

static inline BAITwoLevel BAITwoLevelOf(BAIState state)
{
  const BAICUDACoarse *c = &state->coarse;
  const long long      x = state->A.n * (long long)(sizeof(BAIScalar) / sizeof(BAIReal));

  return BAITwoLevel{
    c->m, c->slice_aggregate, c->tile_first, c->aggregate, c->seen_count, c->seen, c->most_seen, c->inverse, c->shares,
    x,    c->shares + 2 * x};
}
