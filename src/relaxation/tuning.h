/*
   The numbers by which the relaxation decides, and where they come from. Measurements are in docs/notebook. What is
   the size of a data structure, and not a choice, stays with that structure
*/
#pragma once

enum {
  /* Rows of a block. On an H200 solves with blocks of 64 to 256 rows differ by a fifth, and 256 smooth best for their
     time; on a grid of 257^3 points, whose lines are longer, 384 do */
  BAI_SOLVER_BLOCK      = 128,
  BAI_SMOOTHER_BLOCK    = 256,
  BAI_LARGE_BLOCK       = 384,
  BAI_LARGE_ROWS        = 1 << 23, /* a matrix with as many rows as this gets large blocks, */
  BAI_LARGE_ENTRIES     = 8,   /* if its rows have no more entries: a GPU has no room for several such blocks else */
  BAI_MOST_FIELDS       = 6,   /* unknowns of a node that blocks do not cut: MatSetBlockSize() */
  BAI_POLYNOMIAL_BLOCKS = 128, /* keep a GPU at work; with a polynomial small blocks hardly smooth worse */
  BAI_LEAST_BLOCK       = 32,  /* rows that fit registers even if they are long */

  /* Mode auto is sync where rows have more entries than this on average: nearly all blocks read from each other */
  BAI_LONG_ROW = 48,

  /* Partition auto: rows for which the set-up of better blocks is not too expensive, and looks at single rows and
     trials with single blocks that decide whether it is worth its time. These take 0.1 ms */
  BAI_MOST_PARTITION_ROWS = 1000000,
  BAI_PARTITION_LOOKS     = 256,
  BAI_PARTITION_TRIALS    = 8,

  /* Mode color: neighbouring blocks that have fewer rows than this take their turn together, so that a turn is worth
     waiting for; and groups that are coloured at a time: many times those that a device works on at once */
  BAI_GROUP_ROWS   = 128,
  BAI_COLOR_GROUPS = 32768,

  /* Host, modes async and launch: rows that make a ticket worth drawing, rows that are as good as a stream from memory,
     and tickets for each thread, so that none has nothing to do */
  BAI_LEAST_TASK_ROWS  = 256,
  BAI_MOST_TASK_ROWS   = 4096,
  BAI_TASKS_PER_THREAD = 64,

  /* Mode async on several ranks: global iterations from one exchange to the next, so that waits cost little and no rank
     works for long on what another is about to change; one if ranks have fewer rows than this on average, as their
     iterations take no time beside an exchange. A rank does at most as many iterations for one of the slowest */
  BAI_MOST_APART = 32,
  BAI_FEW_ROWS   = 4096,
  BAI_MOST_PACE  = 8,

  /* Steps of GMRES that estimate extreme eigenvalues: both ends for the weight tau, the largest one for a polynomial */
  BAI_TAU_STEPS        = 20,
  BAI_POLYNOMIAL_STEPS = 10,

  /* Refinement: global iterations of the first correction, which shows how many the others take */
  BAI_FIRST_CORRECTION = 16,

  /* A solve stands still if its norm has not fallen to BAI_STANDS_STILL of itself, squared, in as many iterations */
  BAI_STILL_ITS = 500,

  /* Faults: without a fall of the norm by BAI_FAULT_FALL in as many iterations it does not fall any more; a row that
     has not changed in as many looks is lost; and as many times blocks are set back before the iteration diverges */
  BAI_FAULT_ITS   = 20,
  BAI_FAULT_LOOKS = 3,
  BAI_FAULT_TRIES = 3
};

/* On a device; docs/notebook/kernels.md has the measurements */
enum {
  /* Tiles with which a launch is faster than flags: of each turn of mode color, in double precision twice as many; and
     of each thread block, for an iteration of mode sync */
  BAI_TURN_TILES   = 1024,
  BAI_LAUNCH_TILES = 4,

  /* A queue with fewer tiles for each thread block that there is room for is handed out one global iteration at a time.
     A queue with more neighbours of each tile than this on average gains nothing from an order */
  BAI_UNWATCHED_TILES = 4,
  BAI_QUEUE_NEIGHBORS = 64,

  /* A matrix is ragged, and some slices packed, if a row has more entries outside its block than this, and than
     BAI_RAGGED_MEANS rows on average; rows with more than BAI_PIECES_ROW, and again that, are cut into pieces */
  BAI_RAGGED_ROW   = 32,
  BAI_PIECES_ROW   = 128,
  BAI_RAGGED_MEANS = 4,

  /* A slice has its entries outside the blocks by diagonals if these are at most as many, and hold four entries each */
  BAI_MOST_DIAGONALS    = 48,
  BAI_DIAGONAL_ENTRIES  = 4,
  BAI_DIAGONALS_AT_ONCE = 8, /* that are looked at before that is asked */

  /* Rows with at most as many entries outside the block are read five at a time, which takes 56 registers; others 16 at
     a time, or, in packed slices, six, whose products are in shared memory */
  BAI_FEW_OUTSIDE  = 8,
  BAI_PACKED_LOADS = 6,

  /* A solve in one launch looks first after as many iterations, where tiles wait for each other and where not */
  BAI_FIRST_LOOK         = 8,
  BAI_FIRST_LOOK_WATCHED = 1
};

/* Partition auto is graph where less than this part of the entries is inside blocks of consecutive rows; or, for PCBAI,
   where grown blocks leave less than a tenth of |A| outside of what consecutive rows leave; on grids it is never less
   than a seventh. That is tried if consecutive rows leave a fifth outside, and if at most three quarters of a row's
   couplings are strong: a quarter of its largest one */
#define BAI_FEW_INSIDE        0.05
#define BAI_MUCH_LESS_OUTSIDE 0.1
#define BAI_MUCH_OUTSIDE      0.2
#define BAI_MOST_ALIKE        0.75
#define BAI_STRONG_COUPLING   0.25

/* Over-relaxation by omega auto makes up for damped local sweeps. Of 1, 1.15, 1.3 and 1.5 this one takes the fewest
   cycles of algebraic multigrid for hard problems without costing the others more than one */
#define BAI_OVER_RELAXATION 1.3
#define BAI_ELLIPTIC_DEFECT 0.5 /* of constants; boundaries make it 0.3 on small grids, dominant rows make it one */

/* The largest eigenvalue is a little larger than the largest one that GMRES finds. An omega is refused only if it
   diverges by the eigenvalue found, and by one that is smaller by the same factor */
#define BAI_EIGENVALUE_MARGIN 1.1
#define BAI_GMRES_TOLERANCE   1e-12 /* that all of its steps are done, unless there is nothing left to find */
#define BAI_REFUSED_OMEGA     1.21

/* Refinement: what a correction gains, and how many times what rounding leaves it stays above */
#define BAI_CORRECTION_GAIN 1e-6
#define BAI_LEAST_GAIN      0.1 /* also where rounding leaves more */
#define BAI_ABOVE_ROUNDING  8

#define BAI_STANDS_STILL 0.5

/* Faults: the part of a norm by which it must fall; growth of a block's residual that is a fault; residuals of a row,
   as parts of the largest, that count as not small; and times the rounding error of a residual that explain it */
#define BAI_FAULT_FALL    1e-8
#define BAI_FAULT_GROWTH  1e2
#define BAI_FAULT_RESIDUE 1e-3
#define BAI_FAULT_LEFT    1e-6
#define BAI_ROUNDING      100

/* Theta: blocks that nothing couples to count as this much; blocks do at most BAI_THETA_SWEEPS times the sweeps of
   all on average; those below the mean keep at least a half, until the sum is as many tenths (H. Anzt's thesis,
   4.10.4) */
#define BAI_THETA_MOST   1e3
#define BAI_THETA_SWEEPS 4
#define BAI_THETA_KEPT   0.5
#define BAI_THETA_TENTHS 9
#define BAI_THETA_BELOW  0.98 /* steps in which the sweeps of blocks below the mean are reduced, and those of all */
#define BAI_THETA_ALL    0.95
