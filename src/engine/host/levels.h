/*
   Levels of the host backend
*/
#pragma once

#include "../levels_backend.h"
#include "../levels_rules.h"

/* Compressed rows that are owned, but for those of the finest level. ghosts: entries in columns of other ranks; i is
 * NULL if there are none */
typedef struct {
  BAIInt     n;
  BAIInt    *i, *j;
  BAIScalar *a;
  BAICSR     ghosts;
} BAIHostRows;

typedef struct {
  BAIHostRows  A;          /* in the numbering that it was made in */
  BAINumbering grid, next; /* how it is numbered, and the next level */
  BAIInt       m, most;    /* aggregates; rows of one at most */
  BAIInt      *aggregate;  /* n: the number of each row's, or -1. It is a row of the next level, or a point if there are
                              modes */
  BAIScalar   *P;          /* n x modes, by rows: P, of each row the entries in the columns of its aggregate; NULL: 1 */
  BAIInt      *row;        /* n: the row at each place */
  BAIInt      *child; /* m + 1: the rows of the aggregate at place c are at the places child[c] to child[c + 1] - 1 */
  BAIInt       blocks, *first; /* blocks + 1: their first places */
  /* the matrix by places: of a row first what is inside its block, up to split, then what is outside */
  BAIInt    *i, *split, *j;
  BAIScalar *a, *d; /* entries but those of the diagonal; these */
  BAIReal   *extra; /* what the sweeps add to them; */
  BAIScalar *dinv;  /* and by what they multiply a residual */
  BAIScalar *b, *x, *y;
  BAIInt     alone;
  int64_t    inside;
} BAIHostLevel;

struct BAILevelsState_ {
  BAILevelsParameters p;
  int                 levels;
  BAIHostLevel        level[BAI_LEVELS_MOST];
  BAIScalar          *inverse; /* of the last level, dense, by places; NULL: it is smoothed */
  const char         *stop;
  int                 hermitian;
  int                 negative;   /* the levels are those of -A, as it has a negative diagonal: */
  BAIScalar          *negated;    /* the values of -A */
  double              less, more; /* see BAILevelsInfo */
  double              norm;       /* see BAILevelsInfo */
  BAIReal             over;       /* by how much couplings are softened: that of p, or 1 */
  uint64_t            pattern;
  int64_t             bytes;
};

/* Threads of a loop over so many rows: to wait for others takes longer than a small level */
static inline int BAITogether(BAIInt rows, int threads)
{
  return rows > BAI_LEVELS_SMALL ? threads : 1;
}

/* levelsetup.c */
BAIStatus BAIHostLevelsSetUp(BAILevelsState, const BAIMatrix *, int values_only);
/* modes.c: P of a level from the modes on its rows, n x modes; next: those on the next level */
BAIStatus BAIHostModes(BAILevelsState, BAIHostLevel *, const BAIScalar *mode, BAIScalar *next);
/* levelcycle.c: x of the first level is a cycle for its b, or one visit from zero */
void BAIHostCycle(BAILevelsState);
void BAIHostVisit(BAILevelsState);
/* product.c: the rows of each aggregate in ascending order, list[first[c]] to list[first[c + 1] - 1]; first has m + 2
   places */
void BAIListAggregates(BAIInt n, BAIInt m, const BAIInt *aggregate, BAIInt *first, BAIInt *list);
