/*
   Levels on a device
*/
#pragma once

#include "../backend.h"
#include "../rowrules.h"
#include "../../common/cuda/follow.h"
#include "../../chip/chip.h"
#include "../../common/cuda/context.h"

enum {
  BAI_TEAM     = 32, /* rows of a slice: a warp */
  BAI_FAR_SUMS = 3,  /* that ranks make at a time, at most */
  BAI_TEAMS    = BAI_LEVELS_BLOCK / BAI_TEAM
};

/* Entries inside a block come in twos, so that a thread fetches more at a time */
template <typename T>
struct __align__(2 * sizeof(T) > 16 ? 16 : 2 * sizeof(T)) BAIPair
{
  T first, second;
};

/*
   The matrix of a level by places, as kernels see it; T is what the level is of. What is inside blocks lies in slices
   of 32 rows, column by column, padded with zeros; what is outside row by row
*/
template <typename T>
struct BAILevelView {
  int                   n, m, blocks;
  bool                  full;      /* all blocks have BAI_LEVELS_BLOCK rows, */
  int                   pairs;     /* and all slices so many pairs a row; 0: not so */
  const int            *first;     /* blocks + 1: the first place of each block */
  const int            *aggregate; /* blocks + 1: the first aggregate of each block */
  const int            *child;     /* m + 1: the first place of each aggregate */
  const int            *slice;     /* blocks*BAI_TEAMS + 1: where each slice begins, in columns of 32 pairs */
  const unsigned short *in_j;      /* places in the block, of the first of a pair in the low byte */
  const BAIPair<T>     *in_a;
  const int            *out_first; /* n + 1 */
  const int            *out_j;
  const T              *out_a;
  const T *d, *dinv, *extra; /* diagonal entries; what multiplies residuals; what sweeps add to d, NULL: nothing */
  T       *b, *x, *y;
  bool     has_long; /* rows have many entries outside blocks, or there are modes */
  int      modes;    /* columns of P of each aggregate, 0: one, of ones */
  const T *P;        /* n x modes, by places */
};

/* How P^H A P was summed, for new values. With modes, of the matrix that P of ones would give: of that the pattern */
typedef struct {
  unsigned *entry; /* of A, in the order of those of the coarse matrix */
  int      *first; /* nnz of that + 1: the entries of each */
  BAIRows   pattern;
  int      *of_row;
} BAIGather;

/* A rank that this one exchanges x or sums with by writing to each other's memory: which of the rows that are sent go
   there, where the first of them goes in even and odd exchanges; the flag to set there, and the one that it sets
   here */
typedef struct {
  int            first, last;
  void          *to[2];
  BAIFlag       *tell;
  const BAIFlag *told;
} BAIFarPeer;

/* The exchange of a level with other ranks */
typedef struct {
  int   all, ghosts, sends; /* rows of all ranks; ghosts; own rows whose x others read, */
  int  *place;              /* and of these, on the device, the places; */
  void *packed;             /* their x, */
  void *sent, *got;         /* and on the host, and that of ghosts */
  /* where ranks write to each other's memory: */
  int               peers; /* 0: they do not */
  const BAIFarPeer *peer;
  void             *box[2];    /* x of ghosts, of even and odd exchanges */
  BAIFlag          *exchanges; /* so many there were; as the device counts, as what was launched ahead may do nothing */
} BAIDeviceHalo;

/* Sums of all ranks, see SumOfRanks() in cg.cu; ranks is 0 or 1: there are no others */
typedef struct {
  int               ranks, rank, others;
  const BAIFarPeer *peer;    /* others */
  const BAIReal    *from[2]; /* of even and odd sums, ranks x BAI_FAR_SUMS */
  BAIFlag          *sums;    /* so many there were */
  int              *stalled, *stalled_host;
} BAIFarSums;

/* Entries of ghosts, and their x; i is NULL: there are none */
typedef struct {
  BAICSR           B;
  const BAIScalar *x;
} BAIFarRows;

typedef struct {
  BAIRows         A;
  int            *of_row;     /* nnz: the row of each entry */
  BAINumbering    grid, next; /* how it is numbered, and the next level */
  BAIBox          box;        /* as its couplings say */
  long long       unfit;      /* rows that the aggregates did not fit when they were made, see BAIFits() */
  int             m, most, blocks, alone;
  long long       inside, outside, columns; /* entries, places in slices */
  bool            extra;
  int             pairs;       /* of all slices, 0: they differ */
  bool            few;         /* no row has more than six entries inside its block */
  int            *field;       /* n: the number of each row's field, NULL: there is one */
  int            *aggregate;   /* n: number of each row's aggregate, or -1: a row of the next level, or a point */
  int            *parent;      /* n: with modes, the place of each place's aggregate, or -1 */
  BAIScalar      *P;           /* (n + ghosts) x modes, by rows: P, of each row the entries in the columns of its
                                  aggregate; */
  void           *p;           /* the same by places, as the cycle reads it */
  int            *row, *place; /* the row at each place, and the other way round */
  int            *child, *first, *block_aggregate, *slice, *out_first, *out_j;
  unsigned short *in_j;
  void           *in_a, *out_a, *d, *dinv, *e, *b, *x, *y;
  BAIGather       gather;
  BAIDeviceHalo   halo;
} BAIDeviceLevel;

/* Mode k on row i is mode[i*row_step + k*mode_step], of so many rows */
typedef struct {
  BAIScalar *mode;
  long long  row_step, mode_step;
  size_t     rows;
} BAILevelModes;

/* How far CG with many levels has come: cg.cu */
typedef struct {
  double rnorm2, bnorm2, scaled2, scaled_b2;
  int    its, done, reason, sequence;
} BAILevelsProgress;

/* Host memory that kernels write */
typedef struct {
  BAILevelsProgress progress;
  int               stalled; /* 0, or the BAICode of a wait that was given up */
} BAILevelsTold;

/* The state of CG on the device, see cg.cu */
typedef struct BAILevelsScalars_ BAILevelsScalars;

/* A copy of arrays of the caller that are on the host */
typedef struct {
  BAIInt    *i, *j;
  BAIScalar *a;
  size_t     nnz;
} BAIStagedCSR;

struct BAILevelsState_ {
  BAIContext          s;
  BAILevelsTold      *told; /* NULL: nothing is written there yet */
  BAILevelsParameters p;
  int                 levels, tail; /* from level tail on all is done in one launch; levels: there is no such level */
  BAIDeviceLevel      level[BAI_LEVELS_MOST];
  BAILevelsInfo       info;    /* what was found of the matrix, see BAITakeFindings() */
  void               *inverse; /* of the last level, dense, by rows; NULL: it is smoothed */
  int                 single;
  BAIScalar          *negated, *minus_b; /* if the levels are those of -A: its values, and a right-hand side for it */
  int                 points;            /* with modes: rows of a point of the finest level; while levels are made, */
  BAILevelModes       mode, next_mode;   /* modes of the last level, and of the one that its aggregates make */
  BAIReal             over, scale;       /* scale: a power of two that multiplies A in the levels */
  uint64_t            pattern;
  BAIReal            *factors; /* on the device: what multiplies r on the way in, and z on the way out */
  BAILevelsScalars   *scalars;
  BAIReal            *partial;    /* parts of sums */
  BAIReal             tol2;       /* of the present solve */
  BAIScalar          *work;       /* five vectors of CG, */
  BAIScalar          *correction; /* and a sixth, where one is needed */
  int                *index;      /* i of a copy of the finest level's matrix, NULL: it is the caller's */
  bool                staged;     /* the caller's arrays are on the host, and copied: */
  BAIStagedCSR        csr[2];     /* own columns, and those of ghosts */
  BAIScalar          *b, *x;
  /* of several ranks: */
  bool           merged;  /* the finest level's matrix is a copy, with the entries of ghosts */
  int           *field;   /* while levels are made: of each row of the last one */
  BAISides       sides;   /* of its matrix, until it is softened */
  BAILevelsRanks ranks;   /* how a cycle is done */
  BAIScalar     *rest[2]; /* if staged: right-hand side and solution of the level that the caller solves */
  unsigned      *arrived;
  int           *stalled; /* set if a wait was given up */
  BAIRows        own;     /* of the caller, for BAILevelsSolve(): in own columns, */
  BAIFarRows     between; /* and of ghosts */
  BAIDeviceHalo  vector;  /* their x */
  BAIFarSums     sums;
  BAIChip        chip; /* if the matrix is on the chip, there is nothing but this */
};

#define BAI_LEVELS_OPERATION(name, parameters, arguments) BAIStatus BAIDevice##name(BAILevelsState state parameters);
#include "../ops.def"

/* Room that the levels keep for so many numbers, and that is given back before them, in the order of the stream */
template <typename T>
static inline BAIStatus BAIKeep(BAILevelsState state, size_t count, T **pointer)
{
  return BAICUDAAllocate(&state->s, count * sizeof(T), pointer);
}

template <typename T>
static inline void BAIDrop(BAILevelsState state, size_t count, T **pointer)
{
  if (*pointer) BAICUDAFree(&state->s, count * sizeof(T), *pointer);
  *pointer = NULL;
}

/* Room for a while: in the order of the stream, as all that uses it */
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

/* matrix.cu: takes the finest level's matrix, and looks at it; puts -A in the place of A if its diagonal is negative;
   chooses the scale of single precision; finds the numbering of a grid */
BAIStatus BAIDeviceTake(BAILevelsState, const BAIMatrix *, bool values_only, BAIFindings *);
BAIStatus BAIDeviceTakeSign(BAILevelsState);
void      BAIDeviceTakeScale(BAILevelsState);
BAIStatus BAIDeviceFindGrid(BAILevelsState, const BAILevelsParameters *, const BAIRows &, BAINumbering *);
/* fit.cu: the box of a grid; what is found of all levels whether aggregates fit their values, which is read at the end,
   as what they are measured by later or, of new values, as BAI_ERR_OUTDATED */
struct BAIFitFindings;
struct BAIDeviceFit {
  BAITemporary    room;
  BAIFitFindings *findings = NULL;

  BAIStatus Begin(BAILevelsState);
  BAIStatus LookAt(BAILevelsState, int level, bool values_only);
  BAIStatus End(BAILevelsState, bool values_only);
};
BAIStatus BAIDeviceBoxes(BAILevelsState, const BAIRows &, const BAINumbering &, BAIBox *);
/* coarsen.cu: new values of the next level's matrix */
BAIStatus BAIDeviceNewValues(BAILevelsState, BAIDeviceLevel *);
/* galerkin.cu: to[i] = k, or from[k], with k = i/rows, or that modulo fields */
BAIStatus BAINumber(BAILevelsState, int n, int rows, int fields, const int *from, int *to);
/* Numbers of the host, to the device */
BAIStatus BAINarrow(BAILevelsState, size_t n, const BAIInt *from, int *to);
/* The row of each entry of a level's matrix */
BAIStatus BAIOfRow(BAILevelsState, BAIDeviceLevel *);
/* The rows of each aggregate in ascending order: list[first[c]] to list[first[c + 1] - 1]; those in none come last.
   place: aggregates are in the order of these places of the next level's rows, NULL: of their numbers. parent: of each
   row in the list the number in this order, or -1; may be NULL */
BAIStatus BAIListAggregates(BAILevelsState, const BAIDeviceLevel *, const int *place, int *first, unsigned *list,
                            int *parent);
/* The matrix of the aggregates of a level, without its values, and how they are summed. ghost: of each ghost, m and a
   number below ghosts, or -1 */
BAIStatus BAIGalerkinPattern(BAILevelsState, BAIDeviceLevel *, int ghosts, const int *ghost, BAIDeviceLevel *next);
/* Its values: sums of entries, or of their magnitudes; and what softens them, if sides has room for it. member: the
   number of each ghost in its aggregate */
BAIStatus BAIGalerkinSums(BAILevelsState, const BAIDeviceLevel *, bool magnitudes, const int *member, const BAISides &,
                          BAIDeviceLevel *next);
/* Room for the data that soften the couplings of the next level's matrix, and the softening itself, which frees them */
BAIStatus BAISidesCreate(BAILevelsState, const BAIDeviceLevel *, const BAIRows &, BAISides *);
BAIStatus BAISidesSoften(BAILevelsState, const BAILevelsSide *ghost, BAISides *, const BAIRows &);
/* Frees a level's matrix, unless it is the caller's; and how that of the next level, with so many entries, was
   summed */
void BAIDeviceFreeMatrix(BAILevelsState, BAIDeviceLevel *);
void BAIDeviceFreeGather(BAILevelsState, BAIDeviceLevel *, int64_t coarse);
/* place.cu: numbers rows by aggregates on all levels; cuts blocks; puts the matrix of a level by places; inverts the
   last one */
BAIStatus BAIDeviceOrder(BAILevelsState);
BAIStatus BAIDeviceCutBlocks(BAILevelsState, BAIDeviceLevel *);
BAIStatus BAIPlaceLevel(BAILevelsState, BAIDeviceLevel *, bool values_only);
BAIStatus BAIInvertLast(BAILevelsState);
/* nearnull.cu: takes the modes of the finest level; makes P of the last level, and the modes on the next one; makes
   these those of the last level; frees them; C = P^H A P, or its values alone */
BAIStatus BAITakeModes(BAILevelsState);
BAIStatus BAIDeviceOrthonormalize(BAILevelsState, BAIDeviceLevel *);
void      BAINextModes(BAILevelsState);
void      BAIFreeModes(BAILevelsState);
BAIStatus BAIModesGalerkin(BAILevelsState, BAIDeviceLevel *, int ghosts, const int *ghost, BAIDeviceLevel *next);
BAIStatus BAIModesSums(BAILevelsState, const BAIDeviceLevel *, const BAIDeviceLevel *next, bool pattern);
/* cycle.cu: z = one cycle for r, times the factors; does nothing once *done is not 0, if done is not NULL */
BAIStatus BAIDeviceCycle(BAILevelsState, const BAIScalar *r, BAIScalar *z, const int *done);
/* tail.cu: from which level on one launch does the rest of a cycle; and this, from there, which is level l: with modes
   what is left of b there is known before, and what x adds to the level above is up to the caller */
void      BAIFindTail(BAILevelsState);
BAIStatus BAIDeviceTail(BAILevelsState, int l, const int *done);
/* exchange.cu: takes what levels of several ranks exchange in a cycle, and frees it */
BAIStatus BAIDeviceTakeRanks(BAILevelsState, const BAILevelsRanks *);
void      BAIDeviceFreeHalos(BAILevelsState);
/* to[k] = from[row[k]] for n rows of so many bytes, a multiple of 4 */
BAIStatus BAIDevicePick(BAILevelsState, size_t n, const int *row, size_t size, const void *from, void *to);
/* Room for what kernels tell the host; exchanges do nothing once *done is not 0, if done is not NULL */
BAIStatus BAIDeviceListen(BAILevelsState);
BAIStatus BAIDeviceExchange(BAILevelsState, int level, void *x, const int *done);
BAIStatus BAIDeviceExchangeVector(BAILevelsState, const BAIScalar *x, const int *done);
BAIStatus BAIDeviceRest(BAILevelsState, int level, const int *done);
bool      BAIDeviceSolves(BAILevelsState);
BAIStatus BAIDeviceGivenUp(void);
/* cg.cu; to = -from */
BAIStatus BAINegate(BAILevelsState, long long n, const BAIScalar *from, BAIScalar *to);
BAIStatus BAIDeviceApplyTo(BAILevelsState, const BAIScalar *r, BAIScalar *z);
BAIStatus BAIDeviceConjugateGradients(BAILevelsState, const BAIScalar *b, BAIScalar *x, int guess_zero,
                                      const BAITolerances *, BAILevelsMonitor, void *context, BAILevelsSolution *);

/* Bytes of a number of the cycle */
static inline size_t BAISizeOfNumbers(BAILevelsState state)
{
  return state->single ? sizeof(BAISingle) : sizeof(BAIScalar);
}
