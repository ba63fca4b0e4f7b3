/*
   Block-CRS: a matrix cut into its diagonal, the rest of its diagonal blocks, and everything outside them
   (H. Anzt, "Asynchronous and Multiprecision Linear Solvers", Section 4.8; here the diagonal stands apart)
*/
#pragma once

#include "../engine.h"

typedef struct {
  BAIInt     n, nghost, block_size, blocks;
  int        threads;
  float      row_sum;      /* largest sum of |a_ij| / |a_ii| over a row of a diagonal block, 1 for a_ii included */
  BAIScalar *d, *dinv; /* n: a_ii, 1/a_ii */
  BAIInt    *loc_i;    /* n+1: rows of the diagonal blocks, without a_ii */
  BAIInt    *loc_j;    /* columns counted from the first of the block */
  BAIScalar *loc_a;
  BAIInt    *off_i; /* n+1: rows of all that is outside the blocks */
  BAIInt    *off_j; /* columns; from n on, ghosts */
  BAIScalar *off_a;
} BAIBlockCRS;

BAIStatus BAIBlockCRSCreate(const BAIMatrix *, BAIInt block_size, int threads, BAIBlockCRS *);
BAIStatus BAIBlockCRSUpdateValues(BAIBlockCRS *, const BAIMatrix *);
void      BAIBlockCRSDestroy(BAIBlockCRS *);

/* Rows [first, last) of a block */
static inline BAIInt BAIBlockFirst(const BAIBlockCRS *A, BAIInt block)
{
  return block * A->block_size;
}

static inline BAIInt BAIBlockLast(const BAIBlockCRS *A, BAIInt block)
{
  const BAIInt first = BAIBlockFirst(A, block);

  return A->n - first > A->block_size ? first + A->block_size : A->n;
}
