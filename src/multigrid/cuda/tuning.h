/*
   Sizes of the kernels of levels. docs/notebook/levels.md has the measurements. Sizes without a source have no record:
   measure before and after a change
*/
#pragma once

#include "levels.h"

enum {
  /* The cycle: pairs of entries inside the block that a thread keeps in registers; further entries are read again in
     each sweep. A row of a grid has at most three pairs */
  BAI_PAIRS_FEW  = 3,
  BAI_PAIRS_MORE = 4,
  /* Loads in flight of a thread: rows of an aggregate whose x is fetched; entries outside blocks of the level; and of
     the finer level */
  BAI_CHILDREN_AT_ONCE = 8,
  BAI_OUTSIDE_AT_ONCE  = 2,
  BAI_FINER_AT_ONCE    = 10,
  /* Threads that add up a long row, and the average number of entries above which rows are long: outside blocks in a
     cycle, where elasticity has 62; and in products with A, where 24 made a stencil of 27 points slower by 11 %. See
     "Long rows" in the notebook */
  BAI_LONG_ROW_TEAM   = 8,
  BAI_LONG_OUTSIDE    = 16,
  BAI_LONG_IN_PRODUCT = 40,
  BAI_LONG_OF_MODES   = 24, /* the same in a cycle with near-null-space vectors, for all entries of a row */
  /* Visits to levels of long rows: teams of threads that share every row; pairs of a team's share in registers; entries
     outside the block that a thread has in flight */
  BAI_LONG_TEAMS   = 4,
  BAI_LONG_PAIRS   = 6,
  BAI_LONG_AT_ONCE = 8,
  /* Average number of entries outside blocks of the rows of an aggregate, above which a warp adds up their products; a
     thread would take as many steps, while the others wait */
  BAI_MANY_OUTSIDE  = 32,
  BAI_MANY_OF_MODES = 128, /* the same with near-null-space vectors, for a thread block instead of a warp */
  /* Threads that add up the products of an aggregate with fewer entries, in a kernel of its own */
  BAI_FEW_TEAM        = 8,
  BAI_PRODUCT_AT_ONCE = 8, /* entries of A that a lane has in flight */
  /* Products whose rows are alike: entries of a row that a thread has in flight, thread blocks on a multiprocessor */
  BAI_LIKE_AT_ONCE = 9,
  BAI_LIKE_BLOCKS  = 5,
  /* The tail: largest number of levels; and of rows of its first one, as a multiprocessor takes as long for 1000 rows
     as two more launches */
  BAI_TAIL_LEVELS = 8,
  BAI_TAIL_ROWS   = 640,
  /* Equal rows and blocks: number of rows from which they are looked for, as the data of smaller levels stay in the L2
     cache anyway; slots for kinds; largest number of kinds of blocks, whose data must stay in cache, and of rows; one
     in so many blocks may read its own data */
  BAI_ALIKE_ROWS      = 1 << 18,
  BAI_ALIKE_SLOTS     = 1024,
  BAI_ALIKE_KINDS     = 512,
  BAI_ALIKE_ROW_KINDS = 128,
  BAI_ALIKE_PART      = 8,
  /* Other kernels: threads that solve the only level exactly; threads of a block, and thread blocks for each
     multiprocessor that share all rows */
  BAI_EXACT_THREADS = 512,
  BAI_SOLVE_THREADS = 256,
  BAI_SOLVE_WAVES   = 8,
  /* Exchange between ranks: x that a thread has in flight; largest number of thread blocks, all of which must run at
     the same time, and largest number for each multiprocessor, of which part of a device may have few */
  BAI_EXCHANGE_AT_ONCE = 4,
  BAI_EXCHANGE_BLOCKS  = 256,
  BAI_EXCHANGE_EACH    = 4
};
