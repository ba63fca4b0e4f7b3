/*
   The numbers by which the relaxation decides, and their sources. docs/notebook has the measurements. Sizes of data
   structures, which are no choices, are with the structures
*/
#pragma once

enum {
  /* Rows of a block. On an H200 solves with blocks of 64 to 256 rows differ by a fifth, and 256 rows smooth best for
     their time; on a grid of 257^3 points, with its longer lines, 384 do */
  BAI_SOLVER_BLOCK   = 128,
  BAI_SMOOTHER_BLOCK = 256,
  BAI_LARGE_BLOCK    = 384,
  BAI_LARGE_ROWS     = 1 << 23, /* a matrix with at least this number of rows has large blocks */
  /* if its rows have at most this number of entries; otherwise a GPU has no room for several such blocks */
  BAI_LARGE_ENTRIES = 8,
  /* largest number of unknowns of a point (MatSetBlockSize()) that blocks do not separate */
  BAI_MOST_FIELDS = 6,
  /* this number of blocks keeps a GPU busy; with a polynomial small blocks hardly smooth worse */
  BAI_POLYNOMIAL_BLOCKS = 128,
  BAI_LEAST_BLOCK       = 32, /* rows that fit in registers even if they are long */

  /* Mode auto is sync if rows have more entries on average, as nearly all blocks then read from each other */
  BAI_LONG_ROW = 48,

  /* Partition auto: largest number of rows for which the set-up of better blocks is not too expensive, and numbers of
     rows and of trial blocks that decide whether it is worth its time. These take 0.1 ms */
  BAI_MOST_PARTITION_ROWS = 1000000,
  BAI_PARTITION_LOOKS     = 256,
  BAI_PARTITION_TRIALS    = 8,

  /* Mode color: neighbouring blocks share a turn up to this number of rows, so that a turn is worth waiting for; and
     groups that are coloured at a time, many times the number that a device works on at once */
  BAI_GROUP_ROWS   = 128,
  BAI_COLOR_GROUPS = 32768,

  /* Host, modes async and launch: smallest number of rows of a task, number of rows that stream from memory
     efficiently, and tasks for each thread, so that no thread is idle */
  BAI_LEAST_TASK_ROWS  = 256,
  BAI_MOST_TASK_ROWS   = 4096,
  BAI_TASKS_PER_THREAD = 64,

  /* Mode async on several ranks: global iterations between exchanges, so that waiting costs little and no rank works
     for long on values that are about to change; 1 if ranks have fewer rows on average, as an exchange then takes
     longer than iterations; and largest number of iterations of a rank for each iteration of the slowest */
  BAI_MOST_APART = 32,
  BAI_FEW_ROWS   = 4096,
  BAI_MOST_PACE  = 8,

  /* Steps of GMRES that estimate extreme eigenvalues: both for the weight tau, the largest for a polynomial */
  BAI_TAU_STEPS        = 20,
  BAI_POLYNOMIAL_STEPS = 10,

  /* Refinement: global iterations of the first correction, from which the number for the others is found */
  BAI_FIRST_CORRECTION = 16,

  /* A norm stagnates if its square has not fallen by the factor BAI_STANDS_STILL in this number of iterations */
  BAI_STILL_ITS = 500,

  /* Faults: number of iterations without a fall of the norm by BAI_FAULT_FALL after which it counts as not falling */
  BAI_FAULT_ITS = 20
};

/* Numbers for devices; docs/notebook/kernels.md has the measurements */
enum {
  /* Numbers of tiles from which a launch is faster than flags: of each turn of mode color, twice that in double
     precision; and for each thread block in an iteration of mode sync */
  BAI_TURN_TILES   = 1024,
  BAI_LAUNCH_TILES = 4,

  /* A queue with fewer tiles for each resident thread block is processed one global iteration at a time. A queue whose
     tiles have more neighbours on average gains nothing from an order */
  BAI_UNWATCHED_TILES = 4,
  BAI_QUEUE_NEIGHBORS = 64,

  /* A matrix is ragged, and some slices are packed, if a row has more entries outside its block than this, and than
     BAI_RAGGED_MEANS times the average; rows with more than that and than
     BAI_PIECES_ROW are cut into pieces */
  BAI_RAGGED_ROW   = 32,
  BAI_PIECES_ROW   = 128,
  BAI_RAGGED_MEANS = 4,

  /* A slice stores its entries outside the blocks by diagonals if there are at most this number of diagonals, with four
     entries each on average */
  BAI_MOST_DIAGONALS    = 48,
  BAI_DIAGONAL_ENTRIES  = 4,
  BAI_DIAGONALS_AT_ONCE = 8, /* diagonals examined before each test */

  /* Rows with at most this number of entries outside the block are read five at a time, which takes 56 registers;
     others 16 at a time, or, in packed slices, six, whose products are in shared memory */
  BAI_FEW_OUTSIDE  = 8,
  BAI_PACKED_LOADS = 6,

  /* First look of a solve in one launch, if tiles wait for each other, and otherwise */
  BAI_FIRST_LOOK         = 8,
  BAI_FIRST_LOOK_WATCHED = 1
};

/* Partition auto is graph if less than this fraction of the entries is inside blocks of consecutive rows; or, for
   PCBAI, if grown blocks leave less than a tenth of the sum of |a_ij| outside that consecutive rows leave; on grids it
   is never less than a seventh. It tries that if consecutive rows leave a fifth outside, and at most three quarters of
   the couplings of a row are strong, that is at least a quarter of the largest one */
#define BAI_FEW_INSIDE        0.05
#define BAI_MUCH_LESS_OUTSIDE 0.1
#define BAI_MUCH_OUTSIDE      0.2
#define BAI_MOST_ALIKE        0.75
#define BAI_STRONG_COUPLING   0.25

/* The largest eigenvalue is a little larger than the one that GMRES or the power method finds. An omega is refused only
   if it diverges even for an eigenvalue smaller by this factor than the one found */
#define BAI_EIGENVALUE_MARGIN 1.1
#define BAI_GMRES_TOLERANCE   1e-12 /* so small that all steps are done unless nothing is left to find */
#define BAI_REFUSED_OMEGA     1.21

/* Refinement: gain of a correction, and its distance from the level of rounding */
#define BAI_CORRECTION_GAIN 1e-6
#define BAI_LEAST_GAIN      0.1 /* even if rounding allows less */
#define BAI_ABOVE_ROUNDING  8

#define BAI_STANDS_STILL 0.5

/* Faults: fraction by which the norm must fall; residuals of a row, relative to the largest, that are not small; and
   the largest norm that rounding explains, in multiples of the machine's epsilon times the norm of b */
#define BAI_FAULT_FALL 1e-8
#define BAI_FAULT_LEFT 1e-6
#define BAI_ROUNDING   100

/* Theta: value for blocks without outside couplings; blocks do at most BAI_THETA_SWEEPS times the average number of
   sweeps; blocks below the mean keep at least half of theirs, until the sum is at most nine tenths (H. Anzt's thesis,
   4.10.4) */
#define BAI_THETA_MOST   1e3
#define BAI_THETA_SWEEPS 4
#define BAI_THETA_KEPT   0.5
#define BAI_THETA_TENTHS 9
/* factors by which the sweeps of blocks below the mean, and then of all blocks, are reduced repeatedly */
#define BAI_THETA_BELOW 0.98
#define BAI_THETA_ALL   0.95
