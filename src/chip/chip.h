/*
   Krylov methods for a matrix that stays on the chip: a whole solve is one launch, see systems.cu
*/
#pragma once

#include "../common/cuda/context.h"
#include "../common/rows.h"
#include "../common/krylov_rules.h"

enum {
  BAI_CHIP_VECTORS = 8,   /* that a launch leaves for the next one, at most */
  BAI_CHIP_WORDS   = 8,   /* that sums are made in, at most */
  BAI_CHIP_SHAPES  = 4,   /* kernels for either method */
  BAI_CHIP_PARTS   = 255, /* at most */
  BAI_CHIP_BUFFERS = 4,   /* for exchange, of a system: two of a launch, and two of the next one */
  BAI_CHIP_LINE    = 16   /* words of a cache line: a set of sums has one */
};

/* How a solve on the chip ended */
typedef struct {
  double rnorm2, bnorm2, rnorm2_begin, scaled2, scaled_b2;
  int    its, reason, stalled; /* reason: a BAILevelsReason, or -1: it is to go on */
} BAIChipResult;

/*
   The matrix in parts, one for each thread block. A part has up to rows_most places for rows. What it reads of other
   parts are its halos, up to halo_most places in other parts. Entries have columns that are places in the part, or
   rows_most plus the number of a halo; those inside the part come first in a row. The diagonal is left out: A stands
   for L A R, with diagonal matrices L and R that make each diagonal entry 1
*/
typedef struct {
  int             parts, rows_most, halo_most;
  int             width;        /* entries of a row, at most, that lie column by column; 0: they lie row by row */
  int             entries_most; /* of a part, if they lie row by row */
  int            *rows, *halos; /* parts: how many there are */
  int            *lanes;        /* parts: lanes of a warp that take part in a row, if entries lie row by row */
  int            *row;          /* places: the row there, or -1 */
  int            *halo;         /* parts*halo_most: places */
  int            *first;        /* parts*(rows_most + 1), if they lie row by row */
  unsigned short *inside;       /* places: entries of the row inside the part */
  unsigned short *j;
  BAIReal        *a;
  BAIReal        *left, *right; /* places: of L and R; */
  BAIReal        *heaviest;     /* parts: the largest sum of |a_ij|, j inside the part and not i, in a row */
} BAIChipMatrix;

/* State that a launch leaves for the next one */
typedef struct {
  unsigned           round; /* of sums, so far */
  int                its, begun;
  int                scale[BAI_CHIP_WORDS];
  unsigned long long before[2][BAI_CHIP_WORDS];
  double             rnorm2, scaled_b2, scalar[2];
  BAITest            test;
  BAIStall           stall;
} BAIChipLeft;

/* Memory that the thread blocks of a launch share, for each of its systems */
typedef struct {
  BAIReal            *exchange; /* four of all places: two of a launch, and two of the next one; */
  int                 odd;      /* which of them the next launch has */
  unsigned long long *words;
  BAIChipLeft        *left;
} BAIChipBuffers;

/* The matrix in parts, and the kernel for it */
typedef struct {
  BAIChipMatrix  A;
  const void    *kernel;
  size_t         shared;
  int            threads;
  int            at_once;       /* systems that one launch can solve */
  long long      inside;        /* entries inside parts */
  int           *place;         /* of each row */
  int            words_of_bits; /* for all places, a bit each */
  BAIChipBuffers columns;       /* of at_once systems; NULL until there are several to be solved */
} BAIChipParts;

typedef struct {
  int            on;       /* the matrix is on the chip; else nothing else here is of use */
  int            bicgstab; /* the method is BiCGStab; else CG */
  BAIContext    *context;
  BAIRows        A;
  BAINumbering   grid;    /* of the rows of A */
  BAIChipParts   one;     /* with as many parts as can be, for one system */
  BAIChipParts   many;    /* with fewer, for many; no kernel: there are none */
  int            asked;   /* whether there should be some */
  int            longest; /* entries of a row, at most */
  BAIReal       *scaling;
  BAIChipBuffers single; /* of one system */
  BAIReal       *saved;  /* BAI_CHIP_VECTORS of all places; NULL: no solve has been watched yet */
  int           *stalled;
  BAIChipResult *told; /* on the host */
} BAIChip;

/* systems.cu: keeps a matrix with a positive diagonal, and at most longest entries in a row, on the chip, if it fits
   there: chip->on says so then. hermitian chooses the method. Vectors are on the device */
BAIStatus BAIChipSetUp(BAIChip *, BAIContext *, const BAIRows *, const BAINumbering *, int hermitian, int longest);
void      BAIChipDestroy(BAIChip *);
BAIStatus BAIChipSolve(BAIChip *, const BAIScalar *b, BAIScalar *x, int guess_zero, const BAITolerances *,
                       BAILevelsMonitor, void *context, BAILevelsSolution *);
BAIStatus BAIChipSolveColumns(BAIChip *, const BAIColumns *, int guess_zero, const BAITolerances *,
                              BAILevelsSolution *);
/* parts.cu: divides the matrix into parts; takes new values in the same pattern, BAI_ERR_PATTERN if they need the other
   method; and finds the parts for a number of systems, which are made when they are first asked for */
BAIStatus BAIChipCut(BAIChip *, const BAIRows &, bool *fits);
BAIStatus BAIChipUpdateValues(BAIChip *, const BAIRows *, int hermitian);
BAIStatus BAIChipPartsFor(BAIChip *, int systems, BAIChipParts **);
/* A kernel: for rows of at most length entries beside the diagonal, or, if length is 0, of any number of entries; a
   thread has each rows, and at most threads have rows. The first shape that fits a matrix is taken */
typedef struct {
  int length, each, threads;
} BAIChipShape;

/* shape.cu: the kernels that there are, and whether one can be launched with these parts */
extern const BAIChipShape BAIChipShapes[BAI_CHIP_SHAPES];
BAIStatus                 BAIChipPlan(BAIChip *, int shape, BAIChipParts *, bool *fits);
/* pipelined.cu, bicgstab.cu: the kernel of a shape */
const void *BAIChipPipelined(int shape);
const void *BAIChipBiCGStab(int shape);
