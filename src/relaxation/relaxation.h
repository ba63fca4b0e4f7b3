/* The relaxation of a KSPBAI or PCBAI above the engine: its data, set-up and iterations. baiimpl.h includes this */
#pragma once

#include "engine.h"

/* An object in a certain state; id 0: none */
typedef struct {
  PetscObjectId    id;
  PetscObjectState state;
} BAIVersion;

PETSC_INTERN PetscErrorCode BAIVersionOf(PetscObject, BAIVersion *);
PETSC_INTERN PetscBool      BAIVersionsEqual(BAIVersion, BAIVersion);

/* The choices of a set-up, from the options, the matrix, and the processor of this rank. The backend is never auto;
   partition auto is replaced when an engine is made; weight and exchange may be auto */
typedef struct {
  BAIBackend       backend;
  BAIPartitionType partition;
  BAIWeight        weight;
  PetscInt         block_size;
  BAIExchange      exchange;
  BAIRefine        refine;
  BAIParameters    p; /* parameters of the engine */
} BAIChoice;

/* Refinement around the engine, see refine.c */
typedef struct {
  Vec        rhs;      /* right-hand side of the correction */
  Vec        base;     /* the x that the correction is added to */
  PetscReal  from;     /* residual norm at the start of the correction */
  PetscReal  now;      /* last computed residual norm */
  PetscReal  scale;    /* factor of vectors in the engine; 0: 1 */
  PetscInt   its;      /* global iterations of the last correction */
  PetscInt   most;     /* global iterations for each correction */
  PetscBool  learnt;   /* most was found from the gain of a correction */
  BAIVersion b, x;     /* b and x of the current residual; id of x 0: none */
  PetscReal  diagonal; /* largest magnitude of a diagonal entry */
  Mat        fixed;    /* the matrix of residuals: relax.A, or a copy whose products have the same bits each time */
} BAIRefinement;

/*
   Does count global iterations from x, or if guess_zero from zero; then computes ||b - A x|| if rnorm is not NULL. The
   direction of the step matters in mode color
*/
typedef PetscErrorCode BAIRunFunction(BAI *, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *,
                                      PetscReal *rnorm);

/* How a solve with simulated faults gets on, see ../research/faults.c */
typedef struct {
  PetscBool stagnates; /* the residual norm no longer falls */
  PetscReal norm;      /* norm when it last changed */
  PetscInt  its, left; /* iteration of that norm; rows that have nearly all of the residual */
} BAIWatch;

typedef struct {
  BAIEngine       engine;
  BAIChoice       use;
  BAIInfo         info;
  BAIRunFunction *run;     /* does the global iterations that the options ask for */
  int             unit;    /* BAIParameters.unit; 0 until the matrix needs it */
  PetscBool       strong;  /* with partition auto: blocks are grown along strong couplings */
  PetscBool       crowded; /* PCBAI with mode auto: mode color would leave most blocks waiting */
  PetscReal       largest; /* estimate of BAIFindLargest(); 0: not yet found */
  PetscReal       tau;     /* factor of omega */
  PetscInt        setups;  /* number of engines created */
  PetscInt        updates; /* number of times that engines got new values */
  BAIRefinement   refinement;
  BAIWatch        watch;
  Mat             A;      /* the matrix that the engine holds */
  BAIVersion      held;   /* its version; id 0: not all ranks hold it */
  BAIVersion      given;  /* the user's matrix, of which A may be a copy; id 0: the last set-up failed */
  PetscObjectId   seen;   /* the matrix that findings of solves belong to */
  PetscInt        rows;   /* global number of rows */
  PetscInt        first;  /* first global row of this rank */
  BAIStatus       failed; /* first failure of this rank while iterating */
} BAIRelaxation;

/* The exchange of x with other ranks */
typedef struct {
  VecScatter scatter;   /* NULL on one rank */
  Vec        ghost;     /* entries of x of other ranks */
  Vec        coming;    /* entries that arrive while ghost is read */
  Vec        sent;      /* copy of x that is being sent */
  IS         ghosts;    /* global numbers of ghosts */
  BAIInt    *color;     /* if ranks take turns together: turn of each own row */
  PetscBool  under_way; /* x is being sent */
  PetscBool  connected; /* the engine exchanges x by itself, */
  BAIMailbox mailbox;   /* through this memory */
} BAIRanks;

/* The work of a set-up: new values in the same pattern, or a new engine or new levels. All ranks do the largest work
   that any needs */
enum {
  BAI_WORK_NONE,
  BAI_WORK_VALUES,
  BAI_WORK_NEW
};

typedef struct {
  Mat             A;
  Mat             square; /* local rows and columns */
  Mat             other;  /* couplings to columns of other ranks; NULL on one rank */
  PetscInt        nghost;
  const PetscInt *garray; /* global numbers of these columns */
} BAIParts;

/* setup.c */
PETSC_INTERN PetscErrorCode BAIIsSetUp(const BAI *, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode BAIIsOnStream(const BAI *, PetscBool *);
PETSC_INTERN PetscErrorCode BAISetUp(BAI *, Mat);

/* choose.c */
PETSC_INTERN BAIMode        BAIModeOf(const BAI *);
PETSC_INTERN BAIRefine      BAIRefineOf(const BAIOptions *);
PETSC_INTERN PetscBool      BAIUsesPolynomial(const BAI *);
PETSC_INTERN PetscBool      BAIUsesTau(const BAI *);
PETSC_INTERN PetscReal      BAIEpsilonOf(const BAI *);
PETSC_INTERN PetscErrorCode BAILookIfCrowded(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIChoose(const BAI *, Mat, BAIChoice *);

/* renew.c */
PETSC_INTERN PetscErrorCode BAIFillEngine(BAI *, const BAIParts *, const BAIChoice *, int *);
PETSC_INTERN PetscErrorCode BAIDropEngine(BAI *);

/* blocks.c */
PETSC_INTERN PetscErrorCode   BAIChooseBlockSize(const BAI *, Mat, PetscInt *);
PETSC_INTERN BAIPartitionType BAIPartitionOf(const BAI *);
PETSC_INTERN PetscErrorCode   BAIFindPartition(const BAI *, Mat, BAIPartitionType *, PetscBool *);
PETSC_INTERN PetscErrorCode   BAICreatePartition(const BAI *, Mat, BAIPartition *);
PETSC_INTERN PetscErrorCode   BAIDestroyPartition(BAIPartition *);

/* weight.c */
PETSC_INTERN PetscErrorCode BAIFindTau(BAI *, Mat, PetscReal *);
PETSC_INTERN PetscErrorCode BAIFindLargest(BAI *);

/* run.c */
PETSC_INTERN BAIStep        BAIStepOf(const BAI *, BAIDirection);
PETSC_INTERN PetscErrorCode BAINeedWork(BAI *, Mat);
PETSC_INTERN BAIRunFunction BAIIterate;
PETSC_INTERN PetscErrorCode BAISolve(BAI *, Vec, Vec, PetscBool, const BAITolerances *, const BAIStep *, PetscReal *,
                                     PetscReal *, BAISolution *);

/* refine.c */
PETSC_INTERN PetscErrorCode BAIRefinementSetUp(BAI *);
PETSC_INTERN PetscErrorCode BAIRefinementReset(BAI *);
PETSC_INTERN BAIRunFunction BAIRunRefined, BAIRunRounded;

/* ghosts.c */
PETSC_INTERN PetscErrorCode BAIScatterCreate(BAI *, Mat, Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode BAIScatterFits(const BAI *, PetscInt, const PetscInt[], PetscBool *);
PETSC_INTERN PetscErrorCode BAIScatterDestroy(BAI *);
PETSC_INTERN PetscErrorCode BAIConnect(BAI *, Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode BAIDisconnect(BAI *);

/* turns.c */
PETSC_INTERN PetscErrorCode BAITakeTurns(BAI *, Mat, PetscInt, const PetscInt[]);

/* ../research/faults.c, stats.c */
PETSC_INTERN PetscErrorCode BAIFaultsLook(BAI *, PetscInt, Vec, Vec, PetscReal);
PETSC_INTERN PetscErrorCode BAIFaultsView(const BAI *, PetscViewer);
PETSC_INTERN PetscErrorCode BAIStatsView(BAI *, PetscViewer);
PETSC_INTERN PetscErrorCode BAIStatsEnd(BAI *);
PETSC_INTERN PetscErrorCode BAIStatsGetViewer(BAI *, const char[]);
