/*
   The sizes by which kernels of the solve with levels are made. Measurements are in docs/notebook/levels.md. Where no
   source is given there is no record of one: measure before and after a change
*/
#pragma once

#include "levels.h"

enum {
  /* The cycle. Pairs of entries inside the block that a thread keeps in registers; what a row has beyond is read again
     in each sweep. A grid's rows have at most three pairs there */
  BAI_PAIRS_FEW  = 3,
  BAI_PAIRS_MORE = 4,
  /* Loads that a thread has under way at a time: rows of an aggregate whose x is fetched; entries outside blocks of the
     level itself; of the finer level; and of that in the tail, whose teams have less room */
  BAI_CHILDREN_AT_ONCE = 8,
  BAI_OUTSIDE_AT_ONCE  = 2,
  BAI_FINER_AT_ONCE    = 10,
  BAI_TAIL_AT_ONCE     = 4,
  /* Threads that add up a long row. Rows are long with more entries than this on average: in the cycle outside blocks,
     as in elasticity, which has 62 there; and in products with all of A, where 24 made a stencil of 27 points slower by
     11 %. See "Long rows" in the notebook */
  BAI_LONG_ROW_TEAM   = 8,
  BAI_LONG_OUTSIDE    = 16,
  BAI_LONG_IN_PRODUCT = 40,
  BAI_PRODUCT_AT_ONCE = 8, /* entries of A that a lane has under way at a time */
  /* The tail: levels that one launch goes through, at most; its thread blocks, a cluster, of the largest size that
     CUDA promises; and their threads */
  BAI_TAIL_LEVELS  = 8,
  BAI_TAIL_BLOCKS  = 8,
  BAI_TAIL_THREADS = 512,
  /* Other kernels: threads of a block, and thread blocks of a multiprocessor that share out all rows */
  BAI_SOLVE_THREADS = 256,
  BAI_SOLVE_WAVES   = 8,
  /* Exchange between ranks: x that a thread has under way, and thread blocks, few enough to run at the same time */
  BAI_EXCHANGE_AT_ONCE = 4,
  BAI_EXCHANGE_BLOCKS  = 128
};
