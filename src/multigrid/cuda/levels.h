/*
   The data of levels on a device, and the functions of its files. The place of a row is its number after renumbering by
   aggregates
*/
#pragma once

#include "../backend.h"
#include "../findings.h"
#include "../../common/cuda/follow.h"
#include "../../chip/chip.h"
#include "../../common/cuda/context.h"

enum {
  BAI_TEAM     = 32, /* rows of a slice: the threads of a warp */
  BAI_FAR_SUMS = 3,  /* largest number of sums that ranks make at a time */
  BAI_TEAMS    = BAI_LEVELS_BLOCK / BAI_TEAM
};

/* A pair of entries inside a block, so that a thread fetches more at a time */
template <typename T>
struct __align__(2 * sizeof(T) > 16 ? 16 : 2 * sizeof(T)) BAIPair
{
  T first, second;
};

/*
   The matrix of a level by places, for kernels; T is the precision of the level. Entries inside blocks are in slices of
   32 rows, column by column, padded with zeros; entries outside are row by row
*/
template <typename T>
struct BAILevelView {
  int                   n, m, blocks;
  bool                  full;      /* all blocks have BAI_LEVELS_BLOCK rows */
  int                   pairs;     /* pairs of each row, if all slices have the same number, otherwise 0 */
  const int            *first;     /* blocks + 1: first place of each block */
  const int            *aggregate; /* blocks + 1: first aggregate of each block */
  const int            *child;     /* m + 1: first place of each aggregate */
  const int            *slice;     /* blocks*BAI_TEAMS + 1: begin of each slice, in columns of 32 pairs */
  const unsigned short *in_j;      /* places in the block; the first one of a pair is in the low byte */
  const BAIPair<T>     *in_a;
  /* blocks: one whose matrix is equal but for columns outside the block, and is read in its place; NULL: all differ */
  const int *like;
  const int *out_first; /* n + 1 */
  const int *out_j;
  const T   *out_a;
  const T   *d, *dinv, *extra; /* diagonal entries; factors of residuals; numbers that sweeps add to d, or NULL */
  T         *b, *x, *y;
  bool       has_long; /* rows have many entries outside blocks, or if there are modes, in all */
  bool       has_many; /* aggregates have many entries outside blocks, or there are modes */
  int        modes;    /* columns of P for each aggregate; 0: one, of ones */
  const T   *P;        /* n x modes, by places */
};

/* The rows of each aggregate c, in ascending order: row[first[g]] to row[first[g + 1] - 1], and then those in no
   aggregate. g is c, or place[c*columns]/columns if place is not NULL. Or, if first is NULL, each aggregate has this
   number of rows, row[c*each] and on, of which the last ones may be -1 for none; row may then be NULL, for all rows in
   order */
typedef struct {
  int *first, *row;
  int *place, columns, each;
} BAIMembers;

/* How to make a coarse matrix. Ghosts of the finer matrix belong to ghosts columns: ghost has a number from m to m +
   ghosts - 1 for each, or -1, or is NULL; member has the number of each ghost in its aggregate, less than BAI_SET. Sums
   are of entries or of their magnitudes; pattern: the matrix has no values; unknown: there are few rows, and the host
   knows only bounds of the numbers of aggregates, entries, and entries of a row, with which it does without a wait, in
   arrays that the caller has allocated */
typedef struct {
  int        ghosts;
  const int *ghost, *member;
  bool       magnitudes, pattern, unknown;
} BAICoarse;

/* A rank whose memory this one writes to: the range of sent rows for it; addresses for the first of them in even and
   odd exchanges; the flag to set there, and the flag that it sets here */
typedef struct {
  int            first, last;
  void          *to[2];
  BAIFlag       *tell;
  const BAIFlag *told;
} BAIFarPeer;

/* Rows that are alike: the first entry of one of them, the entry behind its last, and its number */
typedef struct __align__(16)
{
  int begin, end, row;
}
BAIAlikeRow;

/* The kind of each row of a matrix, and a row of each kind. kind is NULL if there are too many kinds */
typedef struct {
  const unsigned short *kind;
  const BAIAlikeRow    *of;
} BAIAlikeRows;

/* Numbers for i = 0 to n - 1. Let k be index[i]; without index, i/rows, and if fields is not 0, that modulo fields. The
   number of i is -1 if k < 0, else add + from[k], or add + k without from. Of the arrays to, mark and list, those that
   are not NULL are set: to[i] = number; if k >= 0, also mark[k] = 1 and list[number] = k */
typedef struct {
  const int *index;
  int        rows, fields;
  const int *from;
  int        add;
  int       *to, *mark, *list;
} BAINumbers;

/* Entries of an array that are exchanged, see BAILevelsPick() */
typedef struct {
  char  *sent, *ghost;
  size_t sent_bytes, ghost_bytes;
} BAIPicked;

typedef struct {
  int   all, ghosts, sends; /* global number of rows; ghosts; own rows whose x others read */
  int  *place;              /* places of these rows */
  void *packed;             /* their x */
  /* If ranks write to each other's memory: */
  int               peers; /* 0 if they do not */
  const BAIFarPeer *peer;
  void             *box[2]; /* x of ghosts, in even and odd exchanges */
  /* number of exchanges, counted by the device, as kernels launched ahead may do nothing */
  BAIFlag *exchanges;
} BAIDeviceHalo;

/* Sums over all ranks, see SumOfRanks() in reduce.h; ranks is 0 or 1 if there are no others */
typedef struct {
  int               ranks, rank, others;
  const BAIFarPeer *peer;    /* other ranks */
  const BAIReal    *from[2]; /* even and odd sums, ranks x BAI_FAR_SUMS */
  BAIFlag          *sums;    /* number of sums */
  int              *stalled, *stalled_host;
} BAIFarSums;

/* Entries of ghosts, and room for their x, native or in the precision of the cycle; i is NULL if there are none */
typedef struct {
  BAICSR B;
  void  *x;
} BAIFarRows;

typedef struct {
  BAIRows      A;
  BAINumbering grid, next; /* grid of this level, and of the next one */
  BAIBox       box;        /* box of the grid, from the couplings */
  long long    unfit;      /* rows that did not fit their aggregates when these were made, see BAIFits() */
  int          m, most, blocks, alone;
  long long    inside, outside, columns; /* entries inside and outside blocks; columns of all slices */
  bool         extra;
  bool         bare;   /* some rows have no diagonal entry */
  int          pairs;  /* pairs of a row in all slices; 0: they differ */
  int          widest; /* pairs of the widest row */
  int         *field;  /* n: field of each row; NULL: there is one field */
  /* n: aggregate of each row, or -1. It is a row of the next level, or a point if there are modes */
  int *aggregate;
  int *parent; /* n: with modes, the place of the aggregate of the row at each place, or -1 */
  /* (n + ghosts) x modes, by rows: entries of each row of P in the columns of its aggregate */
  BAIScalar *P;
  void      *p; /* P by places, for the cycle */
  /* number of the aggregate of each ghost as a column of the next level, or -1; its number among the ghosts of this
     aggregate, less than BAI_SET */
  int *ghost, *member;
  int *sent;        /* rows that other ranks read; NULL: they are not known yet */
  int *row, *place; /* row at each place, and place of each row */
  int *child, *first, *block_aggregate, *slice, *out_first, *out_j;
  /* blocks: hashes of what they store; NULL: equal blocks are not looked for */
  unsigned long long *hash;
  int                *like;  /* see BAILevelView */
  bool                alike; /* like is used, as at most one of BAI_ALIKE_PART blocks reads its own data */
  unsigned short     *in_j;
  void               *in_a, *out_a, *d, *dinv, *e, *b, *x, *y;
  BAIMembers          listed;  /* during set-up: the rows of each aggregate */
  int                 longs;   /* rows with too many columns for the fast way to make them */
  int                 longest; /* largest number of entries of a row */
  BAIDeviceHalo       halo;
} BAIDeviceLevel;

/* The findings of kernels about a level when it is stored by places, and about the fit of its aggregates, see BAIFits()
   */
typedef struct {
  int                inside;        /* entries inside blocks */
  unsigned long long unfit;         /* rows that do not fit their aggregates */
  int                largest;       /* rows of the largest block, if blocks begin at multiples of BAI_LEVELS_BLOCK */
  int                blocks, alone; /* number of blocks, and of rows in no aggregate */
  int                columns, outside, widest; /* columns of all slices; entries outside blocks; most entries inside
                                                  of a row */
  int                needs_extra;              /* something is added to diagonal entries */
  int                bare;                     /* rows without a diagonal entry */
  int                unlike;                   /* blocks that read their own data, among them one of each kind */
  BAIGridLook        look;                     /* of a grid, with new values */
} BAIPlaced;

/* Entry of row i in mode k: mode[i*row_step + k*mode_step]. mode NULL: constants on the fields of the finest level */
typedef struct {
  BAIScalar *mode;
  long long  row_step, mode_step;
  size_t     rows;
} BAILevelModes;

typedef struct {
  double rnorm2, bnorm2, scaled2, scaled_b2;
  int    its, done, reason, sequence;
} BAILevelsProgress;

typedef struct {
  BAILevelsProgress progress[2];
  int               stalled; /* 0, or the BAICode of a wait that timed out */
} BAILevelsTold;

typedef struct BAILevelsScalars_ BAILevelsScalars;

typedef struct {
  BAIInt    *i, *j;
  BAIScalar *a;
  size_t     nnz;
} BAIStagedCSR;

struct BAILevelsState_ {
  BAIContext          s;
  BAILevelsTold      *told; /* NULL until kernels write there */
  BAILevelsParameters p;
  /* the first level that one launch does together with all coarser ones; levels if there is none */
  int               levels, tail;
  size_t            most_shared; /* bytes of shared memory that a thread block of the tail may have */
  BAIDeviceLevel    level[BAI_LEVELS_MOST];
  BAILevelsInfo     info;    /* properties of the matrix, see BAITakeFindings() */
  void             *inverse; /* dense inverse of the last level, by rows; NULL: it is smoothed */
  int               single;
  BAIScalar        *negated, *minus_b; /* if the levels belong to -A: its values, and a right-hand side for it */
  int               points;            /* with modes: unknowns of a point on the finest level */
  BAILevelModes     mode, next_mode;   /* during set-up: modes on the last level, and on the next one */
  BAIReal           over, scale;       /* overcorrection factor; power of two that multiplies A in the levels, */
  BAIReal           scaled;            /* the scale that factors were last set for, if other levels scale r */
  uint64_t          pattern;
  bool              kept;         /* levels get new values */
  cudaStream_t      aside;        /* stream of BAIDeviceAside(), or NULL before it is needed */
  int               beside;       /* levels that are stored by places on this stream, 0 or 1 */
  cudaEvent_t       begun, ended; /* what this stream waits for, and what waits for it */
  unsigned         *joined;       /* parameter arrived of BAIJoin() on each stream; this is the one of s.stream */
  BAIPlaced        *placed;       /* on the device: findings of all levels */
  BAIReal          *factors;      /* on the device: factors of r and of z in a cycle */
  BAILevelsScalars *scalars;
  BAIReal          *partial; /* partial sums of thread blocks */
  BAIReal           tol2;    /* square of the tolerance of the current solve */
  BAIAlikeRows      alike; /* of the matrix of products; with its arrays, which are filled at the first solve with it */
  unsigned short   *row_kind;
  BAIAlikeRow      *row_of_kind;
  bool              rows_known;
  BAIScalar        *work;       /* five vectors of CG, the last one in the precision of the cycle */
  BAIScalar        *correction; /* a sixth one, if needed */
  int              *index;      /* row pointers of a copy of the finest matrix; NULL: they are the caller's */
  bool              staged;     /* the caller's arrays are on the host, and are copied: */
  BAIStagedCSR      csr[2];     /* own columns, and ghosts */
  BAIScalar        *b, *x;
  /* Of several ranks: */
  bool           merged; /* the finest matrix is a copy, which includes the entries of ghosts */
  int           *field;  /* during set-up: field of each row of the last level */
  BAISides       sides;  /* data for the overcorrection of its matrix */
  BAIPicked      picked[BAI_ARRAYS];
  BAILevelsRanks ranks; /* communication in a cycle */
  unsigned      *arrived;
  int           *stalled; /* set if a wait timed out */
  BAIRows        own;     /* finest matrix of the caller for BAILevelsSolve(): own columns */
  BAIFarRows     between; /* finest matrix of the caller: ghosts */
  BAIDeviceHalo  vector;  /* exchange of x */
  BAIFarSums     sums;
  BAIChip        chip; /* if the matrix is on the chip, the only data */
};

#define BAI_LEVELS_OPERATION(name, parameters, arguments) BAIStatus BAIDevice##name(BAILevelsState state parameters);
#include "../ops.def"

/* Sets *pointer to new memory for count numbers, which counts in BAILevelsInfo.bytes and lives as long as the levels if
   BAIDrop() does not free it */
template <typename T>
static inline BAIStatus BAIKeep(BAILevelsState state, size_t count, T **pointer)
{
  return BAICUDAAllocate(&state->s, count * sizeof(T), pointer);
}

/* Frees memory of BAIKeep() for count numbers, in stream order, and sets *pointer to NULL. Memory of the caller is not
   freed */
template <typename T>
static inline void BAIDrop(BAILevelsState state, size_t count, T **pointer)
{
  if (*pointer) BAICUDAFree(&state->s, count * sizeof(T), *pointer);
  *pointer = NULL;
}

/* Temporary memory, freed in stream order */
struct BAIRoom : BAITemporary {
  template <typename T>
  BAIStatus Get(BAILevelsState state, size_t count, T **pointer)
  {
    BAITry(Allocate(&state->s, (count ? count : 1) * sizeof(T)));
    *pointer = static_cast<T *>(p);
    return BAIStatusOf(BAI_OK);
  }
};

static inline BAIDeviceLevel *BAIDeviceLast(BAILevelsState state)
{
  return &state->level[state->levels - 1];
}

/* store.cu: StoreMatrix of ../backend.h; copy the numbers of n ghosts to the device. Numbers that ascend and have few
   gaps, as on a grid, are made there, in less time than a copy takes */
BAIStatus BAIDeviceStoreMatrix(const BAIMatrix *, const BAIPart *, int device, void *stream);
BAIStatus BAIDeviceGhosts(BAIContext *, BAIInt n, const BAIInt *from, bool ascend, BAITemporary *room,
                          const BAIInt **ghost);
BAIStatus BAIDeviceLookAtFields(const BAIMatrix *, const BAIPoints *, int device, void *stream,
                                BAIFieldLook *); /* fields.cu */

/* aside.cu: store levels first to end - 1 by places, or their new values, and look for equal blocks and at grids. After
   the second level has its new values, do this for the finest one on a stream of its own, while coarser levels get
   theirs; earlier, large kernels of both streams would disturb each other */
BAIStatus BAIPlaceAndLook(BAILevelsState, int first, int end);
BAIStatus BAIDeviceAside(BAILevelsState);
/* matrix.cu: take and examine the matrix of the finest level; replace A by -A if its diagonal is negative; choose the
   scale of single precision; find the numbering of a grid */
BAIStatus BAIDeviceTake(BAILevelsState, const BAIMatrix *, BAIFindings *);
BAIStatus BAIDeviceTakeSign(BAILevelsState);
void      BAIDeviceTakeScale(BAILevelsState);
BAIStatus BAIDeviceFindGrid(BAILevelsState, const BAILevelsParameters *, const BAIRows &, BAINumbering *);
/* fit.cu: find the box of a grid, and whether some rows have no couplings; with new values, look at the grids of levels
   first to end - 1; look at the fit of the aggregates of the first count levels; take the findings, which are on the
   host: keep the counts, or with new values compare, giving BAI_ERR_OUTDATED */
BAIStatus BAIDeviceBoxes(BAILevelsState, const BAIRows &, const BAINumbering &, BAIBox *, bool *alone);
BAIStatus BAIFitGrids(BAILevelsState, int first, int end);
BAIStatus BAIFitLook(BAILevelsState, int count);
BAIStatus BAIFitCompare(BAILevelsState, int count, const BAIPlaced *found);
/* aggregates.cu: give numbers to n things; copy n numbers from the host as 32-bit ones */
BAIStatus BAINumber(const BAIContext &, int n, const BAINumbers &);
BAIStatus BAINarrow(const BAIContext &, size_t n, const BAIInt *from, int *to);
/* List the rows of each aggregate of a level by number, whether or not m is known, and unless member is NULL, store the
   number of each row in its aggregate, less than BAI_SET; free this list; return it, or once rows are numbered by
   places the list by places */
BAIStatus  BAIListAggregates(BAILevelsState, BAIDeviceLevel *, int *member);
void       BAIDropList(BAILevelsState, BAIDeviceLevel *);
BAIMembers BAIMembersOf(BAILevelsState, const BAIDeviceLevel *);
/* galerkin.cu: make the matrix of a level's aggregates, or its new values; and in sides, unless it is NULL, the data
   for its overcorrection; whether a matrix has so few rows that all are made as long ones. Free a level's matrix,
   unless it is the caller's. soften.cu: overcorrect it, and free these data */
BAIStatus BAIGalerkin(BAILevelsState, const BAIDeviceLevel *, const BAICoarse &, BAISides *, BAIDeviceLevel *next);
bool      BAIHasFewRows(BAILevelsState, int rows);
BAIStatus BAISidesMark(BAILevelsState, const BAIRows &C, BAISides *);
BAIStatus BAISidesSoften(BAILevelsState, const BAILevelsSide *ghost, BAISides *, const BAIRows &);
void      BAIDeviceFreeMatrix(BAILevelsState, BAIDeviceLevel *);
/* order.cu: number rows by aggregates on all levels */
BAIStatus BAIDeviceOrder(BAILevelsState, const BAILevelsRanks *);
/* place.cu: store the matrix of levels first to end - 1 by places; without new values, first is 0, and their blocks are
   cut before. Allocate vectors of the first count levels */
BAIStatus BAIPlaceLevels(BAILevelsState, int first, int end);
BAIStatus BAIPlaceVectors(BAILevelsState, int count);
/* alike.cu: whether equal blocks of a level are looked for; look for them by their hashes, in levels first to end - 1;
   whether they are so many that one is read in the place of others; look for equal rows of a matrix. Small levels and
   matrices are left as they are */
bool      BAIBlocksAreLookedAt(BAILevelsState, const BAIDeviceLevel *);
BAIStatus BAILikeBlocks(BAILevelsState, int first, int end);
bool      BAIBlocksAreAlike(const BAIDeviceLevel *, int unlike);
BAIStatus BAILikeRows(BAILevelsState, const BAIRows &);
/* invert.cu: invert the last level if it is solved exactly */
BAIStatus BAIInvertLast(BAILevelsState);
/* nearnull.cu: take the modes of the finest level; make P of the last level, and the modes on the next one; make these
   the modes of the last level; free them; make C = P^H A P, whose ghosts and their aggregates are given in how; compute
   its values */
BAIStatus BAITakeModes(BAILevelsState);
BAIStatus BAIDeviceOrthonormalize(BAILevelsState, BAIDeviceLevel *);
void      BAINextModes(BAILevelsState);
void      BAIFreeModes(BAILevelsState);
BAIStatus BAIModesGalerkin(BAILevelsState, const BAIDeviceLevel *, BAICoarse how, BAIDeviceLevel *next);
BAIStatus BAIModesSums(BAILevelsState, const BAIDeviceLevel *, const int *ghost, const BAIDeviceLevel *next);
/* cycle.cu: sets z to a cycle for r times the first factor, times the second; or if z is NULL, u without the second
   factor, in the precision of the cycle. Does nothing if done is not NULL and *done not 0 */
BAIStatus BAIDeviceCycle(BAILevelsState, const BAIScalar *r, BAIScalar *z, void *u, const int *done);
/* tail.cu: find the level from which one launch does the rest of a cycle; do this part, from level l on. If aggregates
   of the level above have many entries outside blocks, the caller computes the residual b before it, and with modes it
   prolongs x after it */
BAIStatus BAIFindTail(BAILevelsState);
BAIStatus BAIDeviceTail(BAILevelsState, int l, const int *done);
/* sent.cu: set L->sent; free what Pick has returned for an array */
BAIStatus BAIDeviceSentRows(BAILevelsState, BAIDeviceLevel *L, const BAILevelsShared *);
void      BAIDeviceFreePicked(BAILevelsState, BAILevelsArray);
/* to[k] = from[row[k]] for n rows of size bytes, a multiple of 4 */
BAIStatus BAIDeviceCopyRows(BAILevelsState, size_t n, const int *row, size_t size, const void *from, void *to);
/* exchange.cu: take the exchanges of ranks in a cycle */
BAIStatus BAIDeviceTakeRanks(BAILevelsState, const BAILevelsRanks *);
/* Allocate memory in which kernels report to the host. Exchange x of ghosts, which is behind x of the rows of a level,
   or for vectors in the caller's ordering, native or if single in single precision, in state->between.x, if ranks write
   to each other's memory. All ranks exchange together, unless done is not NULL and *done not 0 */
BAIStatus BAIDeviceListen(BAILevelsState);
BAIStatus BAIDeviceExchange(BAILevelsState, int level, void *x, const int *done);
BAIStatus BAIDeviceExchangeVector(BAILevelsState, bool single, const void *x, const int *done);
/* Gather b of a level on all its ranks, let the caller solve it, and add the solution to x of the level above, or with
   modes store it in x of this level. Whether BAILevelsSolve() may be called on all ranks together. The error that
   another rank has given up */
BAIStatus BAIDeviceRest(BAILevelsState, int level, const int *done);
bool      BAIDeviceSolves(BAILevelsState);
BAIStatus BAIDeviceGivenUp(void);
/* cg.cu: to = -from; z = a cycle for r outside CG, by all ranks together; BAILevelsSolve() for vectors on the device */
BAIStatus BAINegate(BAILevelsState, long long n, const BAIScalar *from, BAIScalar *to);
BAIStatus BAIDeviceApplyTo(BAILevelsState, const BAIScalar *r, BAIScalar *z);
BAIStatus BAIDeviceConjugateGradients(BAILevelsState, const BAIScalar *b, BAIScalar *x, int guess_zero,
                                      const BAITolerances *, BAILevelsMonitor, void *context, BAILevelsSolution *);

/* Bytes of a number in the precision of the cycle */
static inline size_t BAISizeOfNumbers(BAILevelsState state)
{
  return state->single ? sizeof(BAISingle) : sizeof(BAIScalar);
}
