/*
   Krylov methods on the chip: a whole solve in one launch, see krylov.cu
*/
#pragma once

#include "../common/krylov_rules.h"
#include "../multigrid/backend.h"
#include "../common/cuda/context.h"

enum {
  BAI_KRYLOV_VECTORS = 8,  /* that a launch leaves for the next one, at most */
  BAI_KRYLOV_WORDS   = 8,  /* that sums are made in, at most */
  BAI_KRYLOV_PARTS   = 255 /* at most */
};

/* How a solve on the chip ended: krylov.cu */
typedef struct {
  double rnorm2, bnorm2, rnorm2_begin, scaled2, scaled_b2;
  int    its, reason, stalled; /* reason: a BAILevelsReason, or -1: it is to go on */
} BAIKrylovResult;

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
} BAIKrylovMatrix;

/* What a launch leaves for the next one */
typedef struct {
  unsigned           round; /* of sums, so far */
  int                its, begun;
  int                scale[BAI_KRYLOV_WORDS];
  unsigned long long before[2][BAI_KRYLOV_WORDS];
  double             rnorm2, scaled_b2, scalar[2];
  BAITest            test;
  BAIStall           stall;
} BAIKrylovLeft;

/* What the thread blocks of a launch share, for each of its systems */
typedef struct {
  BAIReal            *exchange; /* four of all places: two of a launch, and two of the next one; */
  int                 odd;      /* which of them the next launch has */
  unsigned long long *words;
  BAIKrylovLeft      *left;
} BAIKrylovBuffers;

/* The matrix in parts, and the kernel for it */
typedef struct {
  BAIKrylovMatrix  A;
  const void      *kernel;
  size_t           shared;
  int              threads;
  int              at_once;       /* systems that one launch can solve */
  long long        inside;        /* entries inside parts */
  int             *place;         /* of each row */
  int              words_of_bits; /* for all places, a bit each */
  BAIKrylovBuffers columns;       /* of at_once systems; NULL until there are several to be solved */
} BAIKrylovParts;

struct BAIKrylovState_ {
  int              on;       /* the matrix is on the chip; else nothing else here is of use */
  int              bicgstab; /* else CG */
  BAIKrylovParts   one;      /* with as many parts as can be, for one system */
  BAIKrylovParts   many;     /* with fewer, for many; no kernel: there are none */
  int              asked;    /* whether there should be some */
  int              longest;  /* entries of a row, at most */
  BAIReal         *scaling;
  BAIKrylovBuffers single; /* of one system */
  BAIReal         *saved;  /* BAI_KRYLOV_VECTORS of all places; NULL: no solve has been watched yet */
  int             *stalled;
};
