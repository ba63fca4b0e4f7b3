/*
   Many levels: a multigrid cycle whose smoother is block-synchronous iteration, and CG round it; or a rank's part of
   the cycle for a matrix that is distributed

   On the way down each coarse matrix A_c is P^H A P, where P is 1 on aggregates of a few strongly coupled rows: an
   entry of A_c is a sum of entries of A. Rows of an aggregate cannot differ on the coarse level, so couplings between
   aggregates are too stiff there, by a factor of two on a grid whose points are taken two by two. They are softened:
   BAISoftened() in rules.h. The sum of each row stays what it is. A cycle on a level, for A x = b, is

     x = S b                           local_iters damped Jacobi sweeps inside each block, from zero
     e = cycle on the next level, for A_c e = P^H (b - A x); on some levels a second one follows, from e
     x = x + P e
     x = x + S (b - A x)               the same sweeps, from x

   With modes given, as the motions of a body without strain, P has a column for each mode on each aggregate: what an
   orthonormal basis makes of the modes there. So e is any sum of modes on each aggregate, and the coarse space has them
   exactly. Aggregates are then of points, whose unknowns follow each other: fields on the finest level, modes on the
   others. A mode that depends on those before it on some aggregate has a column of zeros there, and the coarse level a
   row of zeros. Nothing is softened; corrections are enlarged instead, and every second level is visited twice.

   Blocks are made up of aggregates, so one visit to a block serves smoothing and transfer. All blocks are swept at
   once, from the same x of the others. So with Hermitian A the cycle is a Hermitian operator, and CG may use it.

   Aggregation without smoothed interpolation, and the factor by which it is too stiff: D. Braess, "Towards algebraic
   multigrid for elliptic problems of second order", Computing 55, 1995. Aggregates by matching pairs: Y. Notay, "An
   aggregation-based algebraic multigrid method", Electron. Trans. Numer. Anal. 37, 2010; rows that dominate stay out of
   the coarse levels, as there. To soften each coupling by what flows through it is ours.

   Aggregates are found

   * on a grid in natural ordering, as boxes of two points in each direction of strong coupling;
   * else by matching rows in pairs, two or three times. Each row proposes to the unmatched row that it is coupled to
     most strongly, and two that propose to each other are a pair; ties are broken by the numbers of both. In the last
     pass rows that found nobody join a pair.

   Both are the same on host and device, to the bit. Rows are renumbered so that the rows of an aggregate, and of
   aggregates of aggregates, follow each other on each level.

   Inside a block the diagonal entry is a_ii + max(0, sum_{j != i} |a_ij| - a_ii)/2. By Gershgorin's theorem 2M - A is
   then positive semidefinite for the block diagonal matrix M of such blocks, whatever the Hermitian matrix A with a
   positive diagonal: with exact solves inside blocks smoothing would never diverge. Where rows are diagonally
   dominant nothing is added. The sweeps themselves are damped by 0.9, and more in rows whose entries inside the block
   outweigh the diagonal.

   Levels below a double precision iterate may be in single precision: they only precondition it.
*/
#pragma once

#include "../common/types.h"

#if defined(__cplusplus)
extern "C" {
#endif

enum {
  BAI_LEVELS_MOST     = 32,  /* levels at most */
  BAI_LEVELS_BLOCK    = 128, /* rows of a block at most */
  BAI_LEVELS_MODES    = 8,   /* modes at most, and unknowns of a point that has any */
  BAI_LEVELS_COARSEST = 128, /* a level of at most so many rows is the last, and is solved exactly */

  BAI_SINGLE_IN_RANGE  = -1, /* of BAILevelsParameters.single */
  BAI_SINGLE_HERMITIAN = -2
};

/* Rows are points of a grid of m[0] x m[1] x m[2] in natural ordering, from point number skip on. m[0] is 0: of none */
typedef struct {
  BAIInt m[3], skip;
} BAINumbering;

typedef struct {
  int                  levels;      /* at most, the finest one counted; 0: as many as it takes */
  BAIInt               local_iters; /* Jacobi sweeps in a block at each visit, at least 1 */
  BAIReal              over; /* positive: by what coarse couplings are divided at most, see BAISoftened(); with modes by
                                what corrections are multiplied at most, see BAIModesOver() */
  int                  above;     /* levels above the finest one that are not of these, see BAIRepeats() */
  int                  twice;     /* BAILevelsApply() is two cycles, the second one from what the first has found */
  int                  given;     /* levels, from the finest one on, whose aggregates are given */
  const BAIInt *const *aggregate; /* on the host, of each row of those levels the row of the next one, or -1. They are
                                     taken unless the finest level is a grid. Looked at by BAILevelsCreate() only */
  int no_grid; /* the rows are not taken for points of a grid, so given aggregates are taken in any case */
  /* Levels of the transposed matrix, which is not Hermitian. Aggregates, blocks and damping are theirs, so a cycle is
     the transpose of theirs if the modes are conjugates. Looked at whenever levels are made or get new values, after
     those were. NULL: there are none */
  struct BAILevels_ *like;
  BAIInt        fields; /* unknowns of a point: only rows of the same number modulo this one go into an aggregate */
  const BAIInt *field; /* on the host, the number of each row of the first level whose aggregates are not given, instead
                           of that modulo fields; NULL: there are none. Looked at by BAILevelsCreate() only */
  /* Modes whose combinations the coarse levels are to have, 0: the constant on each field. Each is an array of n, on
   * the host, or for cuda where its kernels can read it; NULL: the constant 1. Looked at by BAILevelsCreate() only */
  int              modes;
  const BAIScalar *mode[BAI_LEVELS_MODES];
  uint64_t         modes_id;   /* for the caller: of other modes it is another one */
  BAIInt           longest;    /* BAI_ERR_LONG if a row has more entries; 0: any number is taken */
  BAIInt           first, all; /* this is a rank's part, from row number first on, of so many rows; all is 0: it is not.
                                Of a part only the finest level is looked at, see BAILevelsAgree() */
  const BAIInt    *ghost;      /* the numbers of ghosts among all rows. Looked at by BAILevelsCreate() only */
  int              resident;   /* cuda: if the matrix stays on the chip there are no levels, and BAILevelsSolve() is one
                           launch, of a Krylov method round visits: see chip/systems.cu. BAILevelsApply() is then not to
                           be called */
  int   single; /* 1: levels are in single precision, 0: in that of A; BAI_SINGLE_IN_RANGE: single where A has the range
                    for it, BAI_SINGLE_HERMITIAN: and is Hermitian with a positive diagonal. The host's are in that of
                    A */
  int   threads; /* host: OpenMP threads */
  int   device;  /* cuda: device number this % devices; -1: the current one */
  void *stream;  /* cuda: the cudaStream_t to work on */
} BAILevelsParameters;

typedef struct {
  BAIInt  rows;
  int64_t nnz;        /* entries, those of the diagonal counted */
  BAIInt  aggregates; /* 0 on the last level; of points, if there are modes */
  BAIInt  alone;      /* rows in no aggregate, as their diagonal entry dominates */
  BAIInt  blocks;     /* 0: solved exactly */
  int64_t inside;     /* entries inside blocks */
} BAILevelInfo;

typedef struct {
  int          levels;
  BAILevelInfo level[BAI_LEVELS_MOST];
  const char  *stop;       /* why there are no more levels, in a few words */
  BAINumbering grid;       /* the numbering of the finest level */
  int          resident;   /* there is one level, on the chip, and no cycle */
  int          exact;      /* the last level is solved exactly; else it is smoothed */
  int          hermitian;  /* a_ij = conj(a_ji) to rounding, and the diagonal is positive, or all of it negative */
  int          negative;   /* it is negative: the levels, and less and more, are those of -A */
  int          single;     /* levels are in single precision */
  int          solves;     /* a rank's part: BAILevelsSolve() may be called */
  int          modes;      /* columns of P of each aggregate, 0: one, of ones */
  double       less, more; /* sums of the magnitudes of couplings that are negative, and of the others */
  double       largest;    /* diagonal entry, its magnitude */
  double       ratio; /* of the magnitudes of a row's other entries to that of its diagonal entry, root mean square */
  double  skew, coupled; /* of a rank's part, sums over the entries of ghosts: see BAILevelsSkew(), and magnitudes */
  double  norm;          /* of the magnitudes of a row's entries the largest sum, infinite if an entry is not finite */
  int64_t bytes;         /* of memory, on the device for cuda; the matrix and vectors of the caller not counted */
} BAILevelsInfo;

/* How BAILevelsSolve() ended */
typedef enum {
  BAI_LEVELS_CONVERGED,  /* the norm of the true residual meets a tolerance */
  BAI_LEVELS_ITS,        /* as many iterations as allowed */
  BAI_LEVELS_DTOL,       /* the residual norm has grown as much as dtol says */
  BAI_LEVELS_INDEFINITE, /* the matrix or the cycle is not positive definite */
  BAI_LEVELS_STAGNATED,  /* the true residual is as small as rounding lets it be, and no tolerance is met */
  BAI_LEVELS_STALLED,    /* the least norm of many iterations hardly fell: see BAIStalls() */
  BAI_LEVELS_NAN         /* a norm is not a number, or not finite */
} BAILevelsReason;

typedef struct {
  BAIReal         rnorm, bnorm;     /* ||b - A x|| of the x reached, ||b|| */
  BAIReal         rnorm0;           /* of the guess */
  BAIReal         scaled, scaled_b; /* the norms of D^-1 (b - A x) and D^-1 b, if tolerances ask for them */
  BAIInt          its;
  BAILevelsReason reason;
} BAILevelsSolution;

/* Called after each iteration with ||r|| as CG updates it, its = 0 for the guess; nonzero: stop */
typedef int (*BAILevelsMonitor)(void *context, BAIInt its, BAIReal rnorm);

/* Systems with the same matrix, for each a column of b and of x, which begins so many numbers after the one before */
typedef struct {
  BAIInt           count;
  const BAIScalar *b;
  BAIScalar       *x;
  BAIInt           to_b, to_x;
} BAIColumns;

typedef struct BAILevels_ *BAILevels;

/*
   Sets the levels up for a matrix, where its arrays lie. It is not copied, but with the entries of ghosts: the arrays
   must stay where they are for BAILevelsSolve(). BAI_ERR_DIAGONAL: a diagonal entry is zero or missing.
   BAI_ERR_MEMORY: there is no room for a level, or for what it takes to make it
*/
BAIStatus BAILevelsCreate(BAIBackend, const BAIMatrix *, const BAILevelsParameters *, BAILevels *);
/* Flops of a cycle on this rank; above: see BAILevelsParameters */
double BAILevelsFlops(const BAILevelsInfo *, BAIInt local_iters, int above);
void   BAILevelsDestroy(BAILevels *);

/*
   Levels of a matrix that is distributed over ranks. Aggregates are of rows of one rank, and coarse matrices are
   distributed as they are. Columns of other ranks are ghosts, with the numbers from n on. BAILevelsCreate() looks at a
   rank's part of the finest level. When all ranks have agreed on what must be the same, BAILevelsCoarsen() makes the
   levels of all ranks, and BAILevelsFinish() says which of them the cycle has. Its last one may be solved by the
   caller. BAILevelsApply() is then a part of a cycle that all ranks do together. New values are not for such levels
*/

/* The values that all ranks agree on, see BAILevelsInfo; over divides coarse couplings, 1: they stay */
typedef struct {
  int     hermitian, negative, single;
  double  largest;
  BAIReal over;
} BAILevelsAgreed;

/* The data of an aggregate by which its couplings are softened: the number of its rows, and the mean magnitude of the
   couplings between them, 0: there are none */
typedef struct {
  BAIReal rows, inner;
} BAILevelsSide;

/* Arrays that BAILevelsGet() copies */
typedef enum {
  BAI_ARRAY_AGGREGATE, /* BAIInt: of each row of a level, -1: none */
  BAI_ARRAY_FIELD,     /* BAIInt: of each row of the last level, its number as an unknown of a point */
  BAI_ARRAY_MODES,     /* BAIScalar: of each row of the last level, a number for each mode */
  BAI_ARRAY_P,         /* BAIScalar: of each row of the last level, its row of P, with a number for each mode */
  BAI_ARRAY_SIDE,      /* BAILevelsSide: of each row of the last level, before it is softened */
  BAI_ARRAY_I,         /* BAIInt: of a level's matrix */
  BAI_ARRAY_J,         /* BAIInt */
  BAI_ARRAY_A          /* BAIScalar */
} BAILevelsArray;

/* The exchange of a level: rows of all ranks; ghosts; and own rows that other ranks read, in the order in which they
   are sent, NULL: all rows in theirs */
typedef struct {
  BAIInt        all, ghosts, sends;
  const BAIInt *row;
} BAILevelsShared;

/*
   How ranks make levels, and do a cycle, together. All ranks call these functions in the same order. The functions
   return 0, or the levels are given up. Arrays are on the host but for b and x, which are where the matrix is
*/
typedef struct {
  void                  *context;
  const BAILevelsShared *level; /* of each level that is smoothed, and of the next one; while levels are made, of those
                                   that there are */
  /* what belongs to rows that are sent goes to ghosts, so many bytes each */
  int (*exchange)(void *context, int level, size_t size, const void *sent, void *ghosts);
  /* while levels are made: */
  /* whether this rank's status is an error, or that of another rank */
  int (*agree)(void *context, BAIStatus);
  /* the rows of the level behind this one, from those that this rank has to those of all ranks */
  int (*count)(void *context, int level, BAIInt mine, BAIInt *all);
  /* the level behind this one, from the aggregates of rows that are sent and of ghosts: how many aggregates are ghosts
     there, and of each ghost which of these it is in, or -1 */
  int (*coarsen)(void *context, int level, const BAIInt *sent, const BAIInt *ghost, BAIInt *ghosts, BAIInt *of);
  /* in a cycle: */
  int                    levels; /* that are smoothed */
  const BAILevelsShared *finest; /* of vectors by rows */
  int        next;  /* there is a next level. Each rank that has rows of it gets the right-hand side of all, */
  BAIInt     first; /* of which its own begin here, in the order of ranks. rest() solves it */
  BAIScalar *b, *x; /* for this right-hand side, and leaves the solution here */
  int (*largest)(void *context, BAIReal *); /* of all ranks */
  int (*rest)(void *context);
} BAILevelsRanks;

/* Makes levels, of which the first has so many rows on all ranks, until one has at most so many as small says: how many
   there are, and why there are no more. levels NULL: this rank has no rows */
BAIStatus BAILevelsCoarsen(BAILevels levels, const BAILevelsParameters *, const BAILevelsAgreed *, BAIInt rows,
                           BAIInt small, const BAILevelsRanks *, int *count, const char **stop);

/* Where in a rank's memory x of another one is to go, in bytes: of even exchanges, of odd ones; and the number of the
 * exchange when it is there */
typedef struct {
  size_t even, odd, flag;
} BAILevelsAddress;

/*
   How ranks reach each other's memory. There are so many exchanges: of each level of the cycle, of the next one, of
   vectors by rows, which is as that of the finest level, and of sums
*/
#define BAI_LEVELS_EXCHANGES(levels, next) ((levels) + (next) + 2)

typedef struct {
  int                     ranks, rank;
  void *const            *memory;       /* of each rank, as this one reaches it */
  const BAILevelsAddress *address;      /* ranks x exchanges: where what this rank sends goes */
  const BAIInt           *first, *last; /* exchanges x ranks: which of the rows that are sent go to each */
  const BAIInt           *ghosts;       /* exchanges x ranks: how many of each rank's x come */
} BAILevelsPeers;

/* Everything else that levels do: see there */
#define BAI_LEVELS_OPERATION(name, parameters, arguments) BAIStatus BAILevels##name(BAILevels levels parameters);
#include "ops.def"

#if defined(__cplusplus)
}
#endif
