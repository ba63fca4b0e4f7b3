/*
   Levels of the host backend
*/
#pragma once

#include "../backend.h"
#include "../rules.h"

/* Compressed rows that are owned, but for those of the finest level if it has no ghosts. Columns from n on are
   ghosts */
typedef struct {
  BAIInt     n, ghosts;
  BAIInt    *i, *j;
  BAIScalar *a;
} BAIHostRows;

/* P^H A P, P being 1 on aggregates of rows. For each entry there is what softens it, see BAISoftened() */
typedef struct {
  BAIInt     m;     /* rows */
  BAIInt    *i, *j; /* columns ascend in a row. Numbers of aggregates: first the m of this rank, then those of ghosts */
  BAIScalar *a;
  BAIInt    *touch; /* rows of the row's aggregate that are coupled to the column's, */
  BAIInt    *back;  /* and the reverse, of aggregates of ghosts */
  BAIInt    *count; /* entries of A that it is the sum of */
  BAIInt    *rows;  /* m: rows of each aggregate, */
  BAIReal   *inner; /* and the mean magnitude of the couplings between them */
} BAIProduct;

typedef struct {
  BAIHostRows  A;          /* in the numbering that it was made in */
  BAINumbering grid, next; /* how it is numbered, and the next level */
  BAIInt       box[3];     /* points of a box, as its couplings say; 0: nobody has asked */
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
  int64_t    inside, nnz;
  BAIInt     all, ghosts, sends, *send; /* of several ranks: rows of all; ghosts; places whose x other ranks read, */
  BAIScalar *sent;                      /* and room for these */
} BAIHostLevel;

struct BAILevelsState_ {
  BAILevelsParameters p;
  int                 levels;
  BAIHostLevel        level[BAI_LEVELS_MOST];
  BAIScalar          *inverse; /* of the last level, dense, by places; NULL: it is smoothed */
  const char         *stop;
  int                 hermitian;
  int                 negative; /* the levels are those of -A, as it has a negative diagonal: */
  BAIScalar          *negated;  /* the values of -A */
  double              less, more, largest, norm, skew, coupled; /* see BAILevelsInfo */
  BAIReal             over; /* by how much couplings are softened: that of p, or 1 */
  uint64_t            pattern;
  int64_t             bytes;
  /* while levels are made, with modes: rows of a point of the finest level; modes on the rows of the last level, n x
     modes, and of the one that its aggregates make */
  BAIInt     points; /* that stays, as BAIHostFits() asks for it */
  BAIScalar *mode, *next_mode;
  /* of several ranks: */
  BAIInt        *field;    /* while levels are made: of each row of the last one */
  BAIProduct     product;  /* its matrix, until it is softened */
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

#define BAI_LEVELS_OPERATION(name, parameters, arguments) BAIStatus BAIHost##name(BAILevelsState state parameters);
#define BAI_LEVELS_ON_DEVICE(name, parameters, arguments)
#include "../ops.def"

/* coarsen.c; -A in the place of A; the aggregates of a level, and the numbers of its fields become those of the next
   one; the same with modes, of its points, and P; numbering by aggregates of all levels, blocks and matrices by places
   of so many */
BAIStatus BAIHostLevelsSetUp(BAILevelsState, const BAIMatrix *, int values_only);
BAIStatus BAIHostTakeSign(BAILevelsState);
BAIStatus BAIHostAggregateRows(BAILevelsState, int level, BAIHostLevel *, BAIInt **field);
BAIStatus BAIHostAggregatePoints(BAILevelsState, int level, BAIInt **field);
BAIStatus BAIHostPlaceLevels(BAILevelsState, int count);
/* fit.c: the diagonal entry of a row, 0 if it is missing, and the sum of the magnitudes of the others; the points
   of a box of a grid; what the aggregates of all levels are measured by later; whether those of a level fit its
   values */
BAIScalar BAIHostDiagonal(const BAIHostRows *, BAIInt row, BAIReal *sum);
void      BAIHostBoxes(const BAIHostRows *, const BAINumbering *, BAIInt box[3]);
BAIStatus BAIHostMeasure(BAILevelsState);
BAIStatus BAIHostFits(BAILevelsState, int level);
/* ranks.c: ghosts get the x that other ranks have; the last level is solved by the caller */
void BAIHostExchange(BAILevelsState, BAIHostLevel *, BAIScalar *x);
void BAIHostRest(BAILevelsState, BAIHostLevel *);
/* nearnull.c: those of the finest level; P of the last level, and the modes on the next one; these become those of the
   last level; none are needed any longer */
BAIStatus BAIHostTakeModes(BAILevelsState);
BAIStatus BAIHostProlongationOf(BAILevelsState, BAIHostLevel *);
void      BAIHostNextModes(BAILevelsState);
void      BAIHostFreeModes(BAILevelsState);
/* cycle.c: x of the first level is a cycle for its b */
void BAIHostCycle(BAILevelsState);
/* galerkin.c: the rows of each aggregate in ascending order, list[first[c]] to list[first[c + 1] - 1]; first has m + 2
   places */
void BAIListAggregates(BAIInt n, BAIInt m, const BAIInt *aggregate, BAIInt *first, BAIInt *list);
/* From the aggregates of rows, negative: none, and those of ghosts: m and a number below ghosts; NULL: none */
BAIStatus BAIProductCreate(const BAIHostRows *, BAIInt m, BAIInt ghosts, const BAIInt *aggregate, const BAIInt *ghost,
                           BAIProduct *);
/*
   The same with so many columns of P for each aggregate, of which p has a row for each row and ghost of A: row
   c*modes + k of the product C is that of column k of aggregate c. All entries between coupled aggregates are there,
   also those that are zero
*/
BAIStatus BAIModesProductCreate(const BAIHostRows *, BAIInt m, BAIInt ghosts, const BAIInt *aggregate,
                                const BAIInt *ghost, int modes, const BAIScalar *p, BAIHostRows *C);
/* Softens couplings by up to a factor of over; the sum of each row stays as it is, or its real part, as the diagonal of
 * a Hermitian matrix is real. ghost: the sides of ghosts */
void BAIProductSoften(BAIProduct *, const BAILevelsSide *ghost, BAIReal over);
void BAIProductDestroy(BAIProduct *);
