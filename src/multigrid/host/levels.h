/*
   The data of levels on the host, and the functions of its files. The place of a row is its number after renumbering by
   aggregates
*/
#pragma once

#include "../backend.h"
#include "../rowrules.h"
#include <stdlib.h>

typedef struct {
  BAIRows      A;          /* in its original numbering */
  BAINumbering grid, next; /* grid of this level, and of the next one */
  BAIBox       box;        /* box of the grid, from the couplings */
  BAIInt       m, most;    /* number of aggregates, and of rows of the largest one */
  BAIInt      *field;      /* n: field of each row; NULL: there is one field */
  /* n: aggregate of each row, or -1. It is a row of the next level, or a point if there are modes */
  BAIInt *aggregate;
  /* (n + ghosts) x modes, by rows: entries of each row of P in the columns of its aggregate; NULL: 1 */
  BAIScalar *P;
  BAIInt    *ghost;          /* number of the aggregate of each ghost as a column of the next level, or -1 */
  BAIInt    *row;            /* n: row at each place */
  BAIInt    *child;          /* m + 1: the aggregate at place c has the rows at places child[c] to child[c + 1] - 1 */
  BAIInt     blocks, *first; /* blocks + 1: first place of each block */
  /* The matrix by places: each row has first its entries inside the block, up to split, then the others */
  BAIInt    *i, *split, *j;
  BAIScalar *a, *d; /* entries without the diagonal; diagonal */
  BAIScalar *extra; /* numbers that sweeps add to the diagonal */
  BAIScalar *dinv;  /* factors by which sweeps multiply a residual */
  BAIScalar *b, *x, *y;
  BAIInt     alone;
  int64_t    unfit; /* rows that did not fit their aggregates when these were made, see BAIFits() */
  int64_t    inside;
  /* of several ranks: global number of rows; ghosts; places whose x other ranks read */
  BAIInt     all, ghosts, sends, *send;
  BAIScalar *sent; /* x of these places */
} BAIHostLevel;

/* Entries of an array that are exchanged, see BAILevelsPick() */
typedef struct {
  void *sent, *ghost;
} BAIPicked;

struct BAILevelsState_ {
  BAILevelsParameters p;
  BAILevelsInfo       info; /* properties of the matrix, see BAITakeFindings() */
  int                 levels;
  BAIHostLevel        level[BAI_LEVELS_MOST];
  BAIScalar          *inverse; /* dense inverse of the last level, by places; NULL: it is smoothed */
  BAIScalar          *negated; /* values of -A, if the levels belong to -A */
  BAIReal             over;    /* overcorrection factor: over of p, or 1 */
  uint64_t            pattern;
  int                 kept; /* levels get new values */
  int64_t             bytes;
  BAIInt              points; /* with modes: unknowns of a point on the finest level */
  /* During set-up: */
  BAIScalar *mode, *next_mode; /* modes on the last level, n x modes, and on the next one */
  BAIInt    *field;            /* field of each row of the last level */
  BAISides   sides;            /* data for the overcorrection of the last level */
  BAIPicked  picked[BAI_ARRAYS];
  /* Of several ranks: */
  BAILevelsRanks ranks;    /* communication in a cycle */
  int            given_up; /* a function of the caller has failed */
};

/* Index of the entry of a row and a mode in an array by rows */
static inline size_t BAIAt(BAIInt row, int modes, int mode)
{
  return (size_t)row * (size_t)modes + (size_t)mode;
}

/* Number of threads of a loop over rows: one on a small level, where synchronization takes longer than the loop */
static inline int BAITogether(BAIInt rows, int threads)
{
  return rows > BAI_LEVELS_SMALL ? threads : 1;
}

static inline BAIHostLevel *BAIHostLast(BAILevelsState state)
{
  return &state->level[state->levels - 1];
}

/* Allocates memory that the levels keep and count; the result is not NULL for 0 bytes */
static inline void *BAIHostKeep(BAILevelsState state, size_t count, size_t size)
{
  state->bytes += (int64_t)(count * size);
  return malloc((count ? count : 1) * size);
}
#define BAI_KEEP(pointer, count) \
  do { \
    (pointer) = BAIHostKeep(state, (size_t)(count), sizeof(*(pointer))); \
    if (!(pointer)) return BAIStatusOf(BAI_ERR_MEMORY); \
  } while (0)

#define BAI_LEVELS_OPERATION(name, parameters, arguments) BAIStatus BAIHost##name(BAILevelsState state parameters);
#define BAI_LEVELS_ON_DEVICE(name, parameters, arguments)
#include "../ops.def"

BAIStatus BAIHostStoreMatrix(const BAIMatrix *, const BAIPart *, int device, void *stream); /* store.c */
BAIStatus BAIHostLookAtFields(const BAIMatrix *, const BAIPoints *, int device, void *stream,
                              BAIFieldLook *); /* fields.c */

/* matrix.c: take and examine the matrix of the finest level; replace A by -A if its diagonal is negative */
BAIStatus BAIHostTake(BAILevelsState, const BAIMatrix *);
BAIStatus BAIHostTakeSign(BAILevelsState);
void      BAIHostFreeRows(BAIRows *);
/* coarsen.c: the rows of each aggregate in ascending order, list[first[c]] to list[first[c + 1] - 1]; first has m + 2
   places */
void BAIListAggregates(BAIInt n, BAIInt m, const BAIInt *aggregate, BAIInt *first, BAIInt *list);
/* galerkin.c: C = P^H A P, where P is 1 on aggregates; sides gets the data for overcorrection, unless it is NULL */
BAIStatus BAIHostGalerkin(const BAIRows *A, BAIInt m, BAIInt ghosts, const BAIInt *aggregate, const BAIInt *ghost,
                          BAIRows *C, BAISides *sides);
void      BAIHostSoftenRows(BAIRows *, const BAISides *, const BAILevelsSide *ghost, BAIReal over);
void      BAIHostFreeSides(BAISides *);
/* The matrix of the next level, with modes or without; ghost has the aggregates of ghosts */
BAIStatus BAIHostCoarse(BAILevelsState, BAIHostLevel *, BAIInt ghosts, const BAIInt *ghost, BAISides *);
/* nearnull.c: take the modes of the finest level; make P of the last level, and the modes on the next one; make these
   the modes of the last level; free them */
BAIStatus BAIHostTakeModes(BAILevelsState);
BAIStatus BAIHostOrthonormalize(BAILevelsState, BAIHostLevel *);
void      BAIHostNextModes(BAILevelsState);
void      BAIHostFreeModes(BAILevelsState);
/* fit.c: find the numbering of a grid; find the box of a grid, and return whether some rows have no couplings; count
   the rows of the first count levels that do not fit their aggregates; check whether the aggregates of a level fit new
   values */
void      BAIHostFindGrid(const BAIRows *, const BAILevelsParameters *, BAINumbering *);
int       BAIHostBoxes(const BAIRows *, const BAINumbering *, BAIBox *);
BAIStatus BAIHostMeasure(BAILevelsState, int count);
BAIStatus BAIHostFits(BAILevelsState, int level);
/* place.c: number rows by aggregates on all levels; cut blocks and store the matrix by places on count levels; store
   new values by places; invert the last level */
BAIStatus BAIHostPlaceLevels(BAILevelsState, int count, const BAILevelsRanks *);
BAIStatus BAIHostPlace(BAILevelsState, BAIHostLevel *, int values_only);
BAIStatus BAIHostInvert(BAILevelsState);
/* sent.c: free what Pick has returned for an array */
void BAIHostFreePicked(BAILevelsState, BAILevelsArray);
/* exchange.c: take the exchanges of ranks for the levels of the cycle, when rows have places: *ranks is copied, except
   the array level, so the rest that it refers to must outlive the levels; allocates b and x of the level that the
   caller solves. Exchange x of ghosts; let the caller solve the last level */
BAIStatus BAIHostTakeRanks(BAILevelsState, const BAILevelsRanks *);
void      BAIHostExchange(BAILevelsState, BAIHostLevel *, BAIScalar *x);
void      BAIHostRest(BAILevelsState, BAIHostLevel *);
/* cycle.c: set x of the first level to a cycle for its b */
void BAIHostCycle(BAILevelsState);
