/*
   A relaxation on PETSc's side of the engine: what KSPBAI and PCBAI keep of it, and how they set it up and run it.
   baiimpl.h includes this
*/
#pragma once

#include "engine.h"

typedef struct BAIResearch_ *BAIResearch; /* research/research.h */

/* An object as it is at some time; id 0: none */
typedef struct {
  PetscObjectId    id;
  PetscObjectState state;
} BAIVersion;

PETSC_INTERN PetscErrorCode BAIVersionOf(PetscObject, BAIVersion *);
PETSC_INTERN PetscBool      BAIVersionsEqual(BAIVersion, BAIVersion);

/* The choices of set-up: by the options, the matrix, and where this rank runs */
typedef struct {
  BAIBackend       backend; /* not auto, nor are the others */
  BAIPartitionType partition;
  BAIWeight        weight;
  PetscInt         block_size, overlap;
  BAIExchange      exchange;
  BAIRefine        refine;
  BAIParameters    p; /* of the engine */
} BAIChoice;

/* Refinement round the engine: refine.c */
typedef struct {
  Vec        rhs;      /* The right-hand side of the correction. */
  Vec        base;     /* The x that the correction is added to. */
  PetscReal  from;     /* The residual norm at the start of the correction. */
  PetscReal  now;      /* The residual norm when it was computed last. */
  PetscReal  scale;    /* Vectors are multiplied by this in the engine; 0: 1. */
  PetscInt   its;      /* Global iterations of the last correction. */
  PetscInt   most;     /* Global iterations that corrections are to take, */
  PetscBool  learnt;   /* found from the gain of one. */
  BAIVersion b, x;     /* The residual is that of these; id of x 0: of none. */
  PetscReal  diagonal; /* The largest magnitude on the diagonal. */
} BAIRefinement;

/*
   count global iterations from the x given, or from zero, whatever x holds, if guess_zero; then ||b - A x|| if rnorm is
   not NULL. The direction of the step matters in mode color
*/
typedef PetscErrorCode BAIRunFunction(BAI *, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *,
                                      PetscReal *rnorm);

/* The relaxation of a KSPBAI or PCBAI */
typedef struct {
  BAIEngine       engine;
  BAIChoice       use;
  BAIInfo         info;
  BAIRunFunction *run;     /* The global iterations that the options ask for. */
  int             unit;    /* BAIParameters; 0 until this matrix has shown to need it. */
  PetscBool       strong;  /* With partition auto: blocks are grown along strong couplings. */
  PetscBool       crowded; /* PCBAI with mode auto: most blocks would wait for their turn in mode color. */
  PetscReal       largest; /* The largest eigenvalue of M^{-1}A, for a polynomial; 0: not yet found. */
  PetscReal       defect;  /* How nearly A annihilates constants, for omega auto: BAIFindDefect(); 0: not yet found. */
  PetscReal       tau;     /* Multiplies omega. */
  PetscInt        setups;  /* Times that an engine was created, */
  PetscInt        updates; /* and that it got new values. */
  BAIRefinement   refinement;
  Mat             A;      /* The matrix that the engine holds, */
  BAIVersion      held;   /* as it was then; id 0: not all ranks hold it. */
  BAIVersion      given;  /* The users' matrix, of which A may be a copy; id 0: the last set-up failed. */
  PetscObjectId   seen;   /* The findings of solves are about this matrix. */
  PetscInt        rows;   /* Rows of all ranks. */
  PetscInt        first;  /* The first row of this rank. */
  BAIStatus       failed; /* The first failure of this rank while iterating. */
} BAIRelaxation;

/* The exchange of x with other ranks */
typedef struct {
  VecScatter scatter;   /* NULL on one rank. */
  Vec        ghost;     /* Entries of x that other ranks own. */
  Vec        coming;    /* Entries that arrive while those are read. */
  Vec        sent;      /* A copy of x that is on its way. */
  IS         ghosts;    /* The global numbers of ghosts. */
  BAIInt    *color;     /* Ranks take turns together: the turn of each own row. */
  PetscBool  under_way; /* Entries of x are on their way. */
  PetscBool  connected; /* The engine exchanges x by itself. */
} BAIRanks;

/* The work of a set-up: new values in the old pattern, or a new engine. All ranks do the most that one of them needs */
enum {
  BAI_WORK_NONE,
  BAI_WORK_VALUES,
  BAI_WORK_ENGINE
};

/* The parts of a matrix that this rank has */
typedef struct {
  Mat             A;
  Mat             square; /* Its local rows and columns. */
  Mat             other;  /* The coupling to columns of other ranks; NULL on one rank. */
  PetscInt        nghost;
  const PetscInt *garray; /* The numbers of those columns. */
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
PETSC_INTERN PetscReal      BAISmoothingOmega(const BAI *);
PETSC_INTERN PetscErrorCode BAILookIfCrowded(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIChoose(const BAI *, Mat, BAIChoice *);

/* renew.c */
PETSC_INTERN PetscErrorCode BAIFillEngine(BAI *, const BAIParts *, const BAIChoice *, int *);
PETSC_INTERN PetscErrorCode BAIRefillEngine(BAI *);
PETSC_INTERN PetscErrorCode BAIDropEngine(BAI *);

/* blocks.c */
PETSC_INTERN PetscErrorCode BAIChooseBlockSize(const BAI *, Mat, PetscInt *);
PETSC_INTERN PetscErrorCode BAIChoosePartition(const BAI *, Mat, BAIPartitionType *);
PETSC_INTERN PetscErrorCode BAIFindPartition(const BAI *, Mat, BAIPartitionType *, PetscBool *);
PETSC_INTERN PetscErrorCode BAICreatePartition(const BAI *, Mat, BAIPartition *);
PETSC_INTERN PetscErrorCode BAIDestroyPartition(BAIPartition *);

/* weight.c */
PETSC_INTERN PetscErrorCode BAIFindTau(BAI *, Mat, PetscReal *);
PETSC_INTERN PetscErrorCode BAIFindLargest(BAI *, Mat, PetscReal *);

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

/* research/research.c: what happens in a relaxation beside its iterations, if options of research ask for it */
PETSC_INTERN PetscErrorCode BAIResearchSetUp(BAI *);
PETSC_INTERN PetscErrorCode BAIResearchBegin(BAI *, Vec, Vec, PetscBool);
PETSC_INTERN PetscErrorCode BAIResearchLook(BAI *, PetscInt, PetscReal, PetscInt, Vec, Vec, PetscReal, PetscReal *,
                                            BAIStep *, PetscBool *);
PETSC_INTERN PetscErrorCode BAIResearchEnd(BAI *);
PETSC_INTERN PetscErrorCode BAIResearchView(BAI *, PetscViewer);
PETSC_INTERN PetscErrorCode BAIResearchReset(BAI *);
PETSC_INTERN PetscErrorCode BAIStatsGetViewer(BAI *, const char[]);
