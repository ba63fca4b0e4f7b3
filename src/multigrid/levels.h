/*
   The multigrid levels of one rank: a multigrid cycle whose smoother is block Jacobi with inner Jacobi sweeps, CG
   preconditioned by the cycle, and a rank's part of the cycle for a distributed matrix. docs/multigrid.md describes
   aggregates, coarse matrices, smoother and cycle, and has the references

   * Near-null-space vectors, such as rigid body motions, are "modes" in names. Aggregates then consist of points, whose
     unknowns are consecutive: fields of them on the finest level, modes of them on the others. A vector that depends
     on the ones before it on an aggregate has a column of zeros there, and the coarse matrix a row of zeros.
   * Blocks consist of whole aggregates, so one kernel smooths a block and transfers its aggregates. All blocks are
     swept at once, from the same x of the others.
   * Aggregates that are no boxes are pairs of pairs of rows, or pairs of those, see BAIMatchPasses(). The rows with the
     strongest coupling become a pair, then those with the strongest one among the rest, and so on; ties are broken by
     pseudorandom keys of rows. In the last pass unmatched rows join a pair. Host and device find the same aggregates,
     to the bit.
   * Rows are renumbered so that the rows of an aggregate, and of aggregates of aggregates, are consecutive on each
     level.
   * Inside a block the diagonal entry is at least a_ii + max(0, sum_{j != i} |a_ij| - a_ii)/2. By Gershgorin's theorem
     2M - A is then positive semidefinite for the block diagonal matrix M of such blocks and every Hermitian matrix A
     with a positive diagonal, so smoothing with exact solves inside blocks never diverges.
   * The levels of a double precision matrix may be in single precision, as they only precondition.
*/
#pragma once

#include "../common/types.h"

#if defined(__cplusplus)
extern "C" {
#endif

enum {
  BAI_LEVELS_MOST     = 32,  /* largest number of levels */
  BAI_LEVELS_BLOCK    = 128, /* largest number of rows of a block */
  BAI_LEVELS_MODES    = 8,   /* largest number of near-null-space vectors, and of unknowns of a point with such
                                vectors */
  BAI_LEVELS_FIELDS   = 32,  /* largest number of unknowns of a point that BAILevelsLookAtFields() compares */
  BAI_LEVELS_COARSEST = 128, /* a level of at most this number of rows is the last, and is solved exactly */

  BAI_SINGLE_IN_RANGE  = -1, /* value of BAILevelsParameters.single */
  BAI_SINGLE_HERMITIAN = -2
};

/* A numbering of rows as the unknowns of points of a grid of m[0] x m[1] x m[2] in natural ordering, where the unknowns
   of a point follow each other, and the first rows are those of point number skip. m[0] is 0 without a grid */
typedef struct {
  BAIInt m[3], skip, unknowns;
} BAINumbering;

/* Stages of a set-up: aggregates, coarse matrices, the data of the cycle, and the inverse of the last level */
typedef enum {
  BAI_STAGE_COARSEN,
  BAI_STAGE_GALERKIN,
  BAI_STAGE_FILL,
  BAI_STAGE_FACTOR
} BAILevelsStage;

typedef struct {
  int    levels;      /* largest number of levels, including the finest; 0: no limit */
  BAIInt local_iters; /* Jacobi sweeps in a block per smoothing step, at least 1 */
  /* Overcorrection factor, positive: largest divisor of coarse couplings, see BAISoftened(); with modes, largest factor
     of corrections, see BAIModesOver() */
  BAIReal over;
  /* Number of distributed levels above the finest level of this hierarchy, see BAIRepeats() */
  int above;
  int scaled; /* these levels have scaled the residual, so that it is in the range of single precision */
  int twice;  /* BAILevelsApply() does two cycles, the second one starting from the result of the first */
  int given;  /* number of levels, from the finest one on, whose aggregates the caller gives */
  /* For each of these levels on the host, the aggregate of each row, or -1. They are ignored if the finest level is a
     grid. Only BAILevelsCreate() reads them */
  const BAIInt *const *aggregate;
  int                  no_grid; /* the rows are not considered points of a grid, so the caller's aggregates are used */
  /* Levels of the transposed matrix, whose aggregates, blocks and damping these levels copy, so that a cycle is the
     transpose of a cycle there, if the modes are conjugates; or NULL. They are read when levels are made or get new
     values, so they must come first */
  struct BAILevels_ *like;
  BAIInt             fields; /* unknowns of a point: only rows with equal numbers modulo this one share an aggregate */
  /* For each row of the first level without given aggregates, the number that replaces its number modulo fields; on the
     host, or NULL. Only BAILevelsCreate() reads it */
  const BAIInt *field;
  /* Number of near-null-space vectors; 0: a constant on each field. Each vector has n entries, on the host, or for cuda
     where kernels can read it; NULL is the constant 1. With constants, vector k is 1 on field k and 0 on the others;
     all are NULL then, and there are as many as fields. Only BAILevelsCreate() reads them */
  int              modes, constants;
  const BAIScalar *mode[BAI_LEVELS_MODES];
  uint64_t         modes_id; /* id chosen by the caller, which changes whenever the vectors change */
  BAIInt           longest;  /* more entries in a row are BAI_ERR_LONG; 0: no limit */
  /* First global row of this rank, and global number of rows; 0 and 0 for a sequential matrix. BAILevelsCreate() then
     reads this rank's part of the finest level only, see BAILevelsAgreed */
  BAIInt        first, all;
  const BAIInt *ghost; /* global numbers of ghosts. Only BAILevelsCreate() reads them */
  /* cuda: if the matrix fits on the chip there are no levels, BAILevelsSolve() is one launch of a Krylov method
     preconditioned by local sweeps, see chip/systems.cu, and BAILevelsApply() must not be called */
  int resident;
  /* 1: levels are in single precision, 0: in the precision of A; BAI_SINGLE_IN_RANGE: single if A is within its range,
     BAI_SINGLE_HERMITIAN: if in addition A is Hermitian with a positive diagonal. Host levels ignore it */
  int single;
  /* Called at the begin and at the end of each stage, also after an error; or NULL */
  void (*stage)(BAILevelsStage, int begins);
  int   threads;   /* host: number of OpenMP threads */
  int   device;    /* cuda: number of the device, modulo their number; -1: the current one */
  void *stream;    /* cuda: the cudaStream_t to work on */
  int   idle_wait; /* cuda: the host sleeps in long waits for a solve on the chip */
} BAILevelsParameters;

/* Numbers that add up over ranks */
typedef struct {
  int64_t rows;
  int64_t nnz;        /* entries, including the diagonal */
  int64_t aggregates; /* 0 on the last level; aggregates of points, if there are modes */
  int64_t alone;      /* rows outside of aggregates, as their diagonal entry dominates */
  int64_t blocks;     /* 0 on a level that is solved exactly */
  int64_t inside;     /* entries inside blocks */
} BAILevelInfo;

typedef struct {
  int          levels;
  int          distributed; /* the first ones, which are divided among several ranks */
  BAILevelInfo level[BAI_LEVELS_MOST];
  const char  *stop;          /* reason for the end of coarsening */
  BAINumbering grid;          /* numbering of the finest level, or of a rank's part of it */
  int          resident;      /* the matrix is on the chip: there is one level, and no cycle */
  int          exact;         /* the last level is solved exactly; otherwise it is smoothed */
  int          hermitian;     /* a_ij = conj(a_ji) up to rounding, and the diagonal is positive, or negative, in all
                              rows */
  int          negative;      /* the diagonal is negative: the levels, less and more belong to -A */
  int          single;        /* levels are in single precision */
  int          solves;        /* on several ranks: BAILevelsSolve() may be called */
  int          modes;         /* columns of P for each aggregate; 0: one, of ones */
  double       less, more;    /* sums of the magnitudes of negative couplings, and of the other couplings */
  double       largest;       /* magnitude of the largest diagonal entry */
  double       units;         /* root mean square over the rows of BAIMixedUnits() */
  double       skew, coupled; /* of a rank's part, sums over ghost entries: BAILevelsSkew(), and magnitudes */
  double       norm;          /* largest sum of |a_ij| of a row; infinite if an entry is not finite */
  int64_t      bytes;         /* memory, for cuda on the device, without the matrix and vectors of the caller */
} BAILevelsInfo;

typedef enum {
  BAI_LEVELS_CONVERGED,  /* the norm of the true residual meets a tolerance */
  BAI_LEVELS_ITS,        /* max_it iterations are done */
  BAI_LEVELS_DTOL,       /* the residual norm exceeds dtol ||b|| */
  BAI_LEVELS_INDEFINITE, /* the matrix or the cycle is not positive definite */
  BAI_LEVELS_STAGNATED,  /* rounding keeps the true residual norm above the tolerances */
  BAI_LEVELS_STALLED,    /* the residual norm hardly falls any more, see BAIStalls() */
  BAI_LEVELS_NAN         /* a norm is infinite or not a number */
} BAILevelsReason;

typedef struct {
  BAIReal         rnorm, bnorm;     /* ||b - A x|| of the final x, and ||b|| */
  BAIReal         rnorm0;           /* ||b - A x|| of the initial guess */
  BAIReal         scaled, scaled_b; /* norms of D^-1 (b - A x) and D^-1 b, if a tolerance needs them */
  BAIInt          its;
  BAILevelsReason reason;
} BAILevelsSolution;

/* Called after each iteration with its number (0 for the guess) and the norm of the updated residual; nonzero stops
   CG */
typedef int (*BAILevelsMonitor)(void *context, BAIInt its, BAIReal rnorm);

/* Several systems with one matrix: column k of b and x begins k times their stride after the first one */
typedef struct {
  BAIInt           count;
  const BAIScalar *b;
  BAIScalar       *x;
  BAIInt           to_b, to_x;
} BAIColumns;

typedef struct BAILevels_ *BAILevels;

/* Where the rows of a rank are stored as a part of the whole matrix: with global columns in ascending order */
typedef struct {
  BAIInt        first, before; /* number of rows and of entries of the ranks before this one */
  const BAIInt *ghost;         /* global numbers of ghosts, on the host */
  BAIInt       *i, *j;         /* for each row the end of its entries in the whole matrix; columns */
  BAIScalar    *a;
} BAIPart;

/* Stores the rows of a matrix as a part, in memory where the backend works. Asynchronous on a device, but ghost may be
   changed at once */
BAIStatus BAILevelsStoreMatrix(BAIBackend, const BAIMatrix *, const BAIPart *, int device, void *stream);

/* The points of a matrix, each with this number of consecutive unknowns, the first of which belongs to field 0. weight
   has the value of a constant on each field */
typedef struct {
  int           fields;
  BAIInt        longest; /* rows with more entries are not looked at */
  const BAIInt *ghost;   /* global numbers of ghosts, on the host */
  BAIReal       weight[BAI_LEVELS_FIELDS];
} BAIPoints;

/* Couplings of a field, as sums over its rows */
typedef struct {
  double square[BAI_LEVELS_FIELDS]; /* of |a_ij|^2, by the field of column j */
  double left[BAI_LEVELS_MODES];    /* of |s| / |a_ii|, where s is the sum of a_ij over the columns of a field; 0 if
                                       there are more fields */
  double diagonal, diagonal2;       /* of |a_ii|, and of its square */
  double bound;                     /* number of rows that are bound to other fields, see BAIFieldLookAt() */
} BAIFieldLook;

/* Returns the couplings of each field. The matrix lies where the backend works. Waits */
BAIStatus BAILevelsLookAtFields(BAIBackend, const BAIMatrix *, const BAIPoints *, int device, void *stream,
                                BAIFieldLook look[]);

/*
   Sets up levels of a matrix in the memory where its arrays lie. The matrix is copied only if it has ghosts, so its
   arrays must stay in place, with the same values, for BAILevelsSolve() until BAILevelsUpdateValues(). A rank's part
   (all > 0) gets its finest level only. On errors *levels is NULL: BAI_ERR_DIAGONAL, if a diagonal entry is zero or
   missing; BAI_ERR_CHIP, if the matrix must be resident and does not fit; BAI_ERR_LONG, BAI_ERR_SIZE, BAI_ERR_MEMORY,
   BAI_ERR_NOT_BUILT, BAI_ERR_DEVICE
*/
BAIStatus BAILevelsCreate(BAIBackend, const BAIMatrix *, const BAILevelsParameters *, BAILevels *);
/*
   Takes new values in the same nonzero pattern and keeps the aggregates. Of a rank's part, only the finest matrix is
   taken, whose ghosts have the global numbers ghost, until BAILevelsCoarsen() and BAILevelsFinish() are called again.
   Errors, after which the levels can only be destroyed: BAI_ERR_PATTERN for another pattern, BAI_ERR_OUTDATED if the
   aggregates do not fit the new values, see BAIFits() in rules.h
*/
BAIStatus BAILevelsUpdateValues(BAILevels, const BAIMatrix *, const BAIInt *ghost);
double    BAILevelsFlops(const BAILevelsInfo *, BAIInt local_iters, int above);
void      BAILevelsDestroy(BAILevels *);

/*
   Levels of a matrix that is distributed over ranks. Aggregates never cross rank boundaries, and coarse matrices are
   distributed like the aggregates. Columns of other ranks are ghosts, numbered from n on. BAILevelsCreate() reads a
   rank's part of the finest level. The ranks then agree on common properties, BAILevelsCoarsen() makes the levels of
   all ranks, and BAILevelsFinish() decides which of them belong to the cycle; the caller may solve the last one. All
   ranks call BAILevelsApply() together
*/

/* The properties of a matrix that all ranks agree on, see BAILevelsInfo; over is the overcorrection factor */
typedef struct {
  int     hermitian, negative, single;
  double  largest;
  BAIReal over;
} BAILevelsAgreed;

/* The data of an aggregate that determine the overcorrection of its couplings: the mean magnitude of the couplings
   between its rows, or 0; the number of these rows; and whether its row of the coarse matrix is BAIIsDominant() */
typedef struct {
  BAIReal inner;
  int     rows, dominant;
} BAILevelsSide;

/* Arrays that BAILevelsGet() and BAILevelsPick() copy. The first index is a row of the last level, unless another level
   is named */
typedef enum {
  BAI_ARRAY_AGGREGATE, /* BAIInt: aggregate of a row of any level, or -1 */
  BAI_ARRAY_FIELD,     /* BAIInt: number of the row as an unknown of its point */
  BAI_ARRAY_MODES,     /* BAIScalar: entries of the row in all modes */
  BAI_ARRAY_P,         /* BAIScalar: entries of the row of P in the columns of its aggregate */
  BAI_ARRAY_SIDE,      /* BAILevelsSide of the row, before overcorrection */
  BAI_ARRAY_SENT,      /* BAIInt: rows of any level that BAILevelsNumber() has listed; only on a device, and by Get */
  BAI_ARRAYS
} BAILevelsArray;

/* The ghost exchange of a level: global number of rows, number of ghosts, number of rows that other ranks read, and
   these rows in the order in which they are sent. If whole, all rows in order are sent to each peer. Without row, on a
   device, the rows sent as number first[p] to first[p + 1] - 1 go to peer p, one of peers, and begin with row start[p];
   without start, the device has listed them in BAILevelsNumber() */
typedef struct {
  BAIInt        all, ghosts, sends;
  int           whole, peers;
  const BAIInt *row, *first, *start;
} BAILevelsShared;

/* The aggregates of other ranks that ghosts of a level belong to: count of them. Ghosts begin[p] to begin[p + 1] - 1
   belong to peer p. Ghost g of these is in aggregate number aggregate[g] + next[p], or in none if aggregate[g] is -1.
   aggregate and P, the rows of P of the ghosts, are in memory of the backend */
typedef struct {
  BAIInt           count;
  int              peers;
  const BAIInt    *begin, *next;
  const void      *aggregate;
  const BAIScalar *P;
} BAILevelsGhosts;

/*
   Communication between ranks during set-up and cycles. All ranks call these functions in the same order. They return 0
   on success, otherwise the levels are given up. Arrays that are exchanged are in memory of the backend
*/
typedef struct {
  void *context;
  /* For each smoothed level and the next one; during set-up, for the levels made so far */
  const BAILevelsShared *level;
  /* Sends size bytes for each row of the level that other ranks read, and receives size bytes for each ghost */
  int (*exchange)(void *context, int level, size_t size, const void *sent, void *ghosts);
  /* During set-up. A status is that of this rank. The result is not 0 if any rank has an error */
  int (*agree)(void *context, BAIStatus);
  int (*share)(void *context, BAIStatus, int level, size_t size, const void *sent, void *ghosts); /* exchange() too */
  /* Sums the numbers of rows of the next level over the ranks, unless the status of any rank is an error */
  int (*count)(void *context, BAIStatus, int level, BAIInt mine, BAIInt *all);
  /* Sets up the exchange of the next level from the aggregates of rows that are sent, of size bytes each, which it
     overwrites. of gets numbers of the aggregates of ghosts, which *ghosts describes */
  int (*coarsen)(void *context, BAIStatus, int level, size_t size, void *sent, void *of, BAILevelsGhosts *ghosts);
  /* In a cycle: */
  int                levels; /* number of smoothed levels, at least 1 */
  int                next;   /* there is a next level, which rest() solves */
  BAIInt             first;  /* first row of this rank in b, which holds the rows of all ranks */
  BAIScalar         *b, *x;  /* right-hand side and solution of rest() */
  struct BAILevels_ *whole;  /* levels of rest(), or NULL. Rows of the next level are numbered by their places there */
  int (*largest)(void *context, BAIReal *); /* maximum over all ranks */
  int (*rest)(void *context);
} BAILevelsRanks;

/* Makes levels until one has at most small rows; or, unless kept is 0, computes the values of this number of levels
   after BAILevelsUpdateValues(). count is 0, or the number of levels made by an earlier call;
   rows is the number of rows of the last one of these, or of the first level, on all ranks. Returns in count the number
   of levels, and the reason for the end */
BAIStatus BAILevelsCoarsen(BAILevels levels, const BAILevelsParameters *, const BAILevelsAgreed *, BAIInt rows,
                           BAIInt small, int kept, const BAILevelsRanks *, int *count, const char **stop);

/* Addresses in a rank's memory, in bytes: of the data of even and of odd exchanges, and of the flag that holds the
   number of the last exchange whose data have arrived */
typedef struct {
  size_t even, odd, flag;
} BAILevelsAddress;

/*
   How ranks access each other's memory. There is an exchange for each level of the cycle, for the next level, for
   vectors in the caller's ordering, and for sums
*/
#define BAI_LEVELS_EXCHANGES(levels, next) ((levels) + (next) + 2)

/* The part of another rank in an exchange: its first ghost here and their number; the range of sent rows for it */
typedef struct {
  BAIInt begin, ghosts, first, last;
} BAILevelsPeer;

typedef struct {
  int                     ranks, rank;
  void *const            *memory;  /* address of each rank's memory in this process */
  const BAILevelsAddress *address; /* ranks x exchanges: destination of the data that this rank sends */
  const BAILevelsPeer    *peer;    /* exchanges x ranks */
} BAILevelsPeers;

/* On a rank without rows levels are NULL, for which these functions do nothing */
#define BAI_LEVELS_OPERATION(name, parameters, arguments) BAIStatus BAILevels##name(BAILevels levels parameters);
#include "ops.def"

#if defined(__cplusplus)
}
#endif
