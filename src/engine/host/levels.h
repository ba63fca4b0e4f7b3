/*
   Levels of the host backend
*/
#pragma once

#include "../levels_backend.h"
#include "../levels_rules.h"

/* Compressed rows that are owned, but for those of the finest level */
typedef struct {
  BAIInt     n;
  BAIInt    *i, *j;
  BAIScalar *a;
} BAIHostRows;

typedef struct {
  BAIHostRows A;         /* in the numbering that it was made in */
  BAIInt      grid[3];   /* its grid, or 0 */
  BAIInt      m, most;   /* rows of the next level; of an aggregate at most */
  BAIInt     *aggregate; /* n: the row of the next level, in its own numbering, or -1 */
  BAIInt     *row;       /* n: the row at each place */
  BAIInt     *child; /* m + 1: the rows of the aggregate at place c are at the places child[c] to child[c + 1] - 1 */
  BAIInt      blocks, *first; /* blocks + 1: their first places */
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
  BAIReal             over; /* by how much couplings are softened: that of p, or 1 */
  uint64_t            pattern;
  int64_t             bytes;
};

/* levelsetup.c */
BAIStatus BAIHostLevelsSetUp(BAILevelsState, const BAIMatrix *, int values_only);
/* levelcycle.c: x of the first level is a cycle for its b */
void BAIHostCycle(BAILevelsState);
