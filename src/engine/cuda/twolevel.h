/*
   What the kernels of whole solves with a coarse correction are launched with: see twolevel.cu
*/
#pragma once

#include "sweep.h"

enum {
  BAI_TWO_LEVEL_ROWS   = 128, /* of a tile, at most */
  BAI_TWO_LEVEL_SLICES = BAI_TWO_LEVEL_ROWS / BAI_LANES
};

/* Each slice belongs to one aggregate, if to any, and each aggregate to one tile; those of a tile are numbered one after the other */
typedef struct {
  int              m;         /* unknowns, which are the aggregates */
  const int       *aggregate; /* slices: that of each, or -1 */
  const int       *first;     /* tiles+1: the first aggregate of each tile */
  const BAISingle *inverse;   /* m x m, row by row */
  BAIReal         *shares;    /* twice: of P^H r, a real after the other; then of ||r||^2, those of the tiles */
} BAITwoLevel;

/* Reals in one of the two */
static __host__ __device__ inline int BAIShares(const BAITwoLevel &t, int tiles)
{
  return t.m * (int)(sizeof(BAIScalar) / sizeof(BAIReal)) + tiles;
}
