/*
   Block-CRS: a matrix divided into its diagonal, the rest of its diagonal blocks, and everything outside them (H. Anzt,
   "Asynchronous and Multiprecision Linear Solvers", Section 4.8; here the diagonal is separate). Rows are in the order
   of the blocks; columns outside the blocks are numbered as in the matrix
*/
#pragma once

#include "../partition.h"
#include "iterate.h"

typedef struct {
  BAIInt        n, nghost, block_size, blocks;
  BAIInt        most_rows; /* largest number of rows of a block */
  int           threads;
  const BAIInt *first, *row;      /* of a partition; NULL: blocks of block_size consecutive rows */
  BAIInt       *place, *block;    /* of a partition: place of row i in its block, and this block */
  BAIInt        units;            /* rows whose a_ii is replaced by 1 */
  float         least_share;      /* smallest share of the damping of a row for lack of dominance */
  BAIScalar    *d;                /* n, by places: a_ii */
  void         *dinv;             /* n: 1/a_ii, of the type of sweep_a */
  BAIReal      *share;            /* n, or NULL: factor of the damping of a row */
  BAIReal      *inside, *outside; /* blocks, or NULL: sums of |a_ij|, i != j, inside and outside the block */
  BAIInt       *loc_i;            /* n+1: rows of the diagonal blocks, without a_ii */
  BAIInt       *loc_j;            /* columns counted from the first of the block */
  void         *loc_a;            /* BAISingle if single, otherwise BAIScalar */
  /* loc_a for the local sweeps: BAISingle if sweep_single; loc_a itself, if that has this type */
  void   *sweep_a;
  BAIInt *off_i; /* n+1: rows of the entries outside blocks */
  BAIInt *off_j; /* columns; ghosts from n on */
  void   *off_a;
  int     single, sweep_single;
} BAIBlockCRS;

/* Stores a matrix; A is zero on entry, and must be destroyed after an error too. The partition must outlive it */
BAIStatus BAIBlockCRSCreate(const BAIMatrix *, const BAIPartition *, const BAIParameters *, BAIBlockCRS *);
BAIStatus BAIBlockCRSUpdateValues(BAIBlockCRS *, const BAIMatrix *, const BAIParameters *);
void      BAIBlockCRSDestroy(BAIBlockCRS *);

/* Bytes of a value of loc_a and off_a, and of sweep_a and dinv */
static inline size_t BAIValueSize(const BAIBlockCRS *A)
{
  return A->single ? sizeof(BAISingle) : sizeof(BAIScalar);
}

static inline size_t BAISweepSize(const BAIBlockCRS *A)
{
  return A->sweep_single ? sizeof(BAISingle) : sizeof(BAIScalar);
}

/* A block has the places [first, last) */
static inline BAIInt BAIBlockFirst(const BAIBlockCRS *A, BAIInt block)
{
  if (A->first) return A->first[block];
  return block < A->blocks ? block * A->block_size : A->n;
}

static inline BAIInt BAIBlockLast(const BAIBlockCRS *A, BAIInt block)
{
  return BAIBlockFirst(A, block + 1);
}

static inline BAIInt BAIBlockOfRow(const BAIBlockCRS *A, BAIInt row)
{
  return A->block ? A->block[row] : row / A->block_size;
}

/* The row of the matrix at a place */
static inline BAIInt BAIRowAt(const BAIBlockCRS *A, BAIInt place)
{
  return A->row ? A->row[place] : place;
}

/* The place of a row in a block, relative to the block, or -1 */
static inline BAIInt BAIPlaceInBlock(const BAIBlockCRS *A, BAIInt block, BAIInt row)
{
  if (BAIBlockOfRow(A, row) != block) return -1;
  return A->place ? A->place[row] : row % A->block_size;
}
