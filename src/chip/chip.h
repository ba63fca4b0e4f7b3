/* Krylov methods for a matrix that stays on the chip: a whole solve is one launch, see systems.cu */
#pragma once

#include "../common/cuda/context.h"
#include "../common/rows.h"
#include "../common/krylov_rules.h"

enum {
  BAI_CHIP_VECTORS = 8,   /* largest number of vectors that a launch keeps for the next one */
  BAI_CHIP_WORDS   = 8,   /* largest number of words of a set of sums */
  BAI_CHIP_SHAPES  = 4,   /* number of kernels for each method */
  BAI_CHIP_PARTS   = 255, /* largest number of parts */
  BAI_CHIP_BUFFERS = 4,   /* exchange buffers of a system: two of this launch, two of the next one */
  BAI_CHIP_LINE    = 16   /* words of a cache line, which a set of sums occupies */
};

typedef struct {
  double rnorm2, bnorm2, rnorm2_begin, scaled2, scaled_b2;
  int    its, reason, stalled; /* reason: a BAILevelsReason, or -1 if the solve must continue */
} BAIChipResult;

/*
   The matrix divided into parts, one for each thread block. A part has up to rows_most places for rows. The values that
   it reads of other parts are its halos, up to halo_most places of other parts. The column of an entry is a place in
   the part, or rows_most plus the number of a halo; entries inside the part come first in a row. The diagonal is not
   stored: A stands for L A R, where the diagonal matrices L and R make each diagonal entry 1
*/
typedef struct {
  int parts, rows_most, halo_most;
  /* largest number of entries of a row, if they are stored column by column; 0: they are row by row */
  int             width;
  int             entries_most; /* largest number of entries of a part, if they are stored row by row */
  int            *rows, *halos; /* parts: number of rows, number of halos */
  int            *lanes;        /* parts: lanes of a warp that share a row, if entries are stored row by row */
  int            *row;          /* places: row at the place, or -1 */
  int            *halo;         /* parts*halo_most: places of halos */
  int            *first;        /* parts*(rows_most + 1): first entry of each row, if they are stored row by row */
  unsigned short *inside;       /* places: number of entries of the row inside the part */
  unsigned short *j;
  BAIReal        *a;
  BAIReal        *left, *right; /* places: entries of L and R */
  BAIReal        *heaviest;     /* parts: largest sum of |a_ij|, j != i inside the part, of a row */
} BAIChipMatrix;

/* State that a launch leaves for the next one */
typedef struct {
  unsigned           round; /* number of sums so far */
  int                its, begun;
  int                scale[BAI_CHIP_WORDS];
  unsigned long long before[2][BAI_CHIP_WORDS];
  double             rnorm2, scaled_b2, scalar[2];
  BAITest            test;
  BAIStall           stall;
} BAIChipLeft;

/* Memory that the thread blocks of a launch share, for each of its systems */
typedef struct {
  BAIReal            *exchange; /* four vectors of all places: two of this launch, and two of the next one */
  int                 odd;      /* the pair of buffers of the next launch */
  unsigned long long *words;
  BAIChipLeft        *left;
} BAIChipBuffers;

/* The matrix in parts, and its kernel */
typedef struct {
  BAIChipMatrix  A;
  const void    *kernel;
  size_t         shared;
  int            threads;
  int            at_once;       /* number of systems that one launch can solve */
  long long      inside;        /* entries inside parts */
  int           *place;         /* place of each row */
  int            words_of_bits; /* words of a bit set of all places */
  BAIChipBuffers columns;       /* buffers of at_once systems; NULL until several are solved */
} BAIChipParts;

typedef struct {
  int            on;       /* the matrix is on the chip; otherwise the other fields are not used */
  int            bicgstab; /* the method is BiCGStab; otherwise CG */
  BAIContext    *context;
  BAIRows        A;
  BAINumbering   grid;    /* grid of the rows of A */
  BAIChipParts   one;     /* the largest possible number of parts, for one system */
  BAIChipParts   many;    /* fewer parts, for many systems; not available if it has no kernel */
  int            asked;   /* whether many has been tried */
  int            longest; /* largest number of entries of a row */
  BAIReal       *scaling;
  BAIChipBuffers single; /* buffers of one system */
  BAIReal       *saved;  /* BAI_CHIP_VECTORS of all places; NULL until a solve has a monitor */
  int           *stalled;
  BAIChipResult *told; /* on the host */
} BAIChip;

/* parts.cu: whether a matrix of n rows may fit; if not, it need not be examined */
bool BAIChipHasRoom(const BAIContext *, long long n);
/* systems.cu: puts a matrix with a positive diagonal and at most longest entries in a row on the chip, if it fits; sets
   chip->on. hermitian chooses the method. Vectors are on the device */
BAIStatus BAIChipSetUp(BAIChip *, BAIContext *, const BAIRows *, const BAINumbering *, int hermitian, int longest);
/* Frees what does not belong to the context */
void      BAIChipDestroy(BAIChip *);
BAIStatus BAIChipSolve(BAIChip *, const BAIScalar *b, BAIScalar *x, int guess_zero, const BAITolerances *,
                       BAILevelsMonitor, void *context, BAILevelsSolution *);
BAIStatus BAIChipSolveColumns(BAIChip *, const BAIColumns *, int guess_zero, const BAITolerances *,
                              BAILevelsSolution *);
/* parts.cu: divide the matrix into parts; take new values in the same pattern, BAI_ERR_PATTERN if they need the other
   method; find the division into parts that is faster for a number of systems, chip->one or chip->many, which the
   first call tries to make and allocates */
BAIStatus BAIChipCut(BAIChip *, const BAIRows &, bool *fits);
BAIStatus BAIChipUpdateValues(BAIChip *, const BAIRows *, int hermitian);
BAIStatus BAIChipPartsFor(BAIChip *, int systems, BAIChipParts **);
/* A kernel: for rows of at most length entries besides the diagonal, or any number if length is 0. Each of up to
   threads threads has each rows. The first shape that fits a matrix is used */
typedef struct {
  int length, each, threads;
} BAIChipShape;

/* shape.cu: the kernels, and whether one can be launched with these parts, in which its launch is stored */
extern const BAIChipShape BAIChipShapes[BAI_CHIP_SHAPES];
BAIStatus                 BAIChipPlan(BAIChip *, int shape, BAIChipParts *, bool *fits);
/* pipelined.cu, bicgstab.cu: the kernel of each shape */
extern const void *const BAIChipPipelined[BAI_CHIP_SHAPES];
extern const void *const BAIChipBiCGStab[BAI_CHIP_SHAPES];
