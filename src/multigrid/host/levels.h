/*
   Levels of the host backend
*/
#pragma once

#include "../backend.h"
#include "../rowrules.h"
#include <stdlib.h>

typedef struct {
  BAIRows      A;          /* in the numbering that it was made in */
  BAINumbering grid, next; /* how it is numbered, and the next level */
  BAIBox       box;        /* as its couplings say */
  BAIInt       m, most;    /* aggregates; rows of one at most */
  BAIInt      *field;      /* n: the number of each row's field, NULL: there is one */
  BAIInt      *aggregate;  /* n: the number of each row's, or -1. It is a row of the next level, or a point if there are
                              modes */
  BAIScalar   *P;          /* (n + ghosts) x modes, by rows: P, of each row the entries in the columns of its aggregate;
                              NULL: 1 */
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
  int64_t    unfit; /* rows that the aggregates did not fit when they were made, see BAIFits() */
  int64_t    inside;
  BAIInt     all, ghosts, sends, *send; /* of several ranks: rows of all; ghosts; places whose x other ranks read, */
  BAIScalar *sent;                      /* and room for these */
} BAIHostLevel;

struct BAILevelsState_ {
  BAILevelsParameters p;
  BAILevelsInfo       info; /* what was found of the matrix, see BAITakeFindings() */
  int                 levels;
  BAIHostLevel        level[BAI_LEVELS_MOST];
  BAIScalar          *inverse; /* of the last level, dense, by places; NULL: it is smoothed */
  BAIScalar          *negated; /* the values of -A, if the levels are those of -A */
  BAIReal             over;    /* by how much couplings are softened: that of p, or 1 */
  uint64_t            pattern;
  int64_t             bytes;
  BAIInt              points; /* with modes: rows of a point of the finest level */
  /* while levels are made: */
  BAIScalar *mode, *next_mode; /* modes on the rows of the last level, n x modes, and of the one that its aggregates
                                  make */
  BAIInt    *field;            /* of each row of the last level */
  BAISides   sides;            /* of the last level's matrix, until it is softened */
  /* of several ranks: */
  BAILevelsRanks ranks;    /* how a cycle is done */
  int            given_up; /* the caller has said so */
};

/* Where an array by rows has what belongs to a row and a mode */
static inline size_t BAIAt(BAIInt row, int modes, int mode)
{
  return (size_t)row * (size_t)modes + (size_t)mode;
}

/* Threads of a loop over so many rows: to wait for others takes longer than a small level */
static inline int BAITogether(BAIInt rows, int threads)
{
  return rows > BAI_LEVELS_SMALL ? threads : 1;
}

static inline BAIHostLevel *BAIHostLast(BAILevelsState state)
{
  return &state->level[state->levels - 1];
}

/* Room that the levels keep, which is counted; never NULL for none */
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

/* matrix.c: takes the finest level's matrix and looks at it; puts -A in the place of A if its diagonal is negative */
BAIStatus BAIHostTake(BAILevelsState, const BAIMatrix *);
BAIStatus BAIHostTakeSign(BAILevelsState);
void      BAIHostFreeRows(BAIRows *);
/* coarsen.c: the rows of each aggregate in ascending order, list[first[c]] to list[first[c + 1] - 1]; first has m + 2
   places */
void BAIListAggregates(BAIInt n, BAIInt m, const BAIInt *aggregate, BAIInt *first, BAIInt *list);
/* galerkin.c: C = P^H A P, P being 1 on aggregates: see there. sides: what softens it, NULL: it is not softened */
BAIStatus BAIHostGalerkin(const BAIRows *A, BAIInt m, BAIInt ghosts, const BAIInt *aggregate, const BAIInt *ghost,
                          BAIRows *C, BAISides *sides);
void      BAIHostSoftenRows(BAIRows *, const BAISides *, const BAILevelsSide *ghost, BAIReal over);
void      BAIHostFreeSides(BAISides *);
/* The matrix of the next level, with modes or without; ghost: the aggregates of ghosts */
BAIStatus BAIHostCoarse(BAILevelsState, BAIHostLevel *, BAIInt ghosts, const BAIInt *ghost, BAISides *);
/* nearnull.c: takes the modes of the finest level; makes P of the last level, and the modes on the next one; makes
   these those of the last level; frees them */
BAIStatus BAIHostTakeModes(BAILevelsState);
BAIStatus BAIHostOrthonormalize(BAILevelsState, BAIHostLevel *);
void      BAIHostNextModes(BAILevelsState);
void      BAIHostFreeModes(BAILevelsState);
/* fit.c: finds the numbering of a grid; the box of a grid; what the aggregates of all levels are measured by later;
   whether those of a level fit its values */
void      BAIHostFindGrid(const BAIRows *, const BAILevelsParameters *, BAINumbering *);
void      BAIHostBoxes(const BAIRows *, const BAINumbering *, BAIBox *);
BAIStatus BAIHostMeasure(BAILevelsState);
BAIStatus BAIHostFits(BAILevelsState, int level);
/* place.c: numbers rows by aggregates on all levels, and cuts blocks and puts the matrix by places on so many; puts new
   values by places; inverts the last level */
BAIStatus BAIHostPlaceLevels(BAILevelsState, int count);
BAIStatus BAIHostPlace(BAILevelsState, BAIHostLevel *, int values_only);
BAIStatus BAIHostInvert(BAILevelsState);
/* exchange.c: ghosts get the x that other ranks have; the last level is solved by the caller */
BAIStatus BAIHostTakeRanks(BAILevelsState, const BAILevelsRanks *);
void      BAIHostExchange(BAILevelsState, BAIHostLevel *, BAIScalar *x);
void      BAIHostRest(BAILevelsState, BAIHostLevel *);
/* cycle.c: x of the first level is a cycle for its b */
void BAIHostCycle(BAILevelsState);
