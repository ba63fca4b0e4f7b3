/*
   What the PETSc faces of block-asynchronous iteration share: their options, and the way from Mat and Vec to the engine
*/
#pragma once

#include "baicompat.h"
#include <petscbai.h>
#include "../engine/adapt.h"
#include "../engine/energy.h"

/* What users set, and nothing that was chosen for them */
typedef struct {
#define OPTION(field, Function, type, standard, range, text) type field;
#include "options.def"
} BAIOptions;

/* What set-up chose: by the options, the matrix, and where this rank runs */
typedef struct {
  BAIBackend       backend; /* none of these is auto */
  BAIPartitionType partition;
  BAIWeight        weight;
  PetscInt         block_size, overlap;
  PetscInt         coarse; /* unknowns of the coarse space, about; PETSC_DECIDE: to be chosen, 0: there is none; */
  PetscBool        nested; /* and blocks are made up of its aggregates */
  BAIExchange      exchange;
  BAIRefine        refine;
  BAIParameters    p; /* of the engine */
} BAIChoice;

typedef struct BAIGather_    *BAIGather;    /* gather.h */
typedef struct BAIHierarchy_ *BAIHierarchy; /* levels.h */

/* Refinement round the engine: refine.c */
typedef struct {
  Vec              rhs, base; /* of the correction: its right side, and the x that it is added to; */
  PetscReal        from, now; /* norms of the residual when it began, and at the last look; */
  PetscReal        scale;     /* what multiplies vectors in the engine; 0: 1 */
  PetscBool        shifted;   /* the correction goes on from that before, whose momentum it takes along */
  PetscInt         its, most; /* iterations that it has behind it, and that corrections are to take */
  PetscInt         undone;    /* iterations that were not done, as single precision turned out not to do */
  PetscBool        learnt;    /* by what one gained; */
  PetscBool        begun;     /* it may go on; */
  PetscBool        seen;      /* and b and x are those of the last look if they are these: */
  PetscObjectId    id[2];
  PetscObjectState state[2];
  PetscReal        diagonal; /* the largest magnitude on it */
} BAIRefinement;

/* The coarse space that ranks make up together: coarseranks.c */
typedef struct {
  PetscMPIInt *count, *first, rank; /* its unknowns by rank, and where they begin; this rank */
  PetscInt     unknowns;            /* of all; 0: there is none */
  PetscBool    direct;              /* the engines exchange sums by themselves; */
  PetscInt64   gathers;             /* else times that they were gathered */
} BAITogether;

/* What a solve has noticed of faults, and what it compares with: fault.c */
typedef struct {
  PetscInt       faults, resets, reassigned, copies; /* found; blocks set back, rows taken over, copies of the matrix */
  PetscBool      flipped;                            /* bits of the copy of the matrix are, on purpose */
  PetscBool      stagnates;                          /* the residual norm has been the same, */
  PetscReal      norm;                               /* this one, */
  PetscInt       its, left;                          /* since this iteration; rows that it is left in */
  PetscBool      copied;                             /* and the matrix was copied anew because of that */
  PetscInt       last;                               /* the iteration from which on rows are updated again */
  PetscInt       retries;             /* 1: bad blocks were set back, 2: and the matrix was copied, 3: in vain */
  PetscInt       n, blocks;           /* local rows and blocks; */
  BAIInt        *block;               /* the block of each */
  unsigned char *still;               /* looks in which it has not changed */
  PetscReal     *norm2, most2, anorm; /* ||r_J||^2 of each block, and the largest at the last look; at least ||A|| */
  Vec            good, r, diagonal;   /* x at the last look; b - A x; of the matrix */
} BAIWatch;

/* What statistics say of the last solve beside what the engine counts: stats.c */
typedef struct {
  PetscInt  its;
  PetscReal after; /* global iterations after the tolerance was met, about; negative: it was not, or is not known */

  BAIEnergyMeter begin;    /* of the solve; */
  PetscReal      gpu, cpu; /* and joules that it took, negative: not known */
  BAIDevice      device;   /* whose they are, */
  PetscInt       setups;   /* as of so many set-ups; 0: of none */
} BAICount;

/* What an accelerated solve with a coarse correction begins with: see BAIGoal */
typedef struct {
  PetscReal top, beta, bears;
  PetscReal cost; /* iterations in which it divided the residual norm by e; 0: not known */
} BAIStart;

/* The data of a KSPBAI and of a PCBAI */
typedef struct {
  PetscObject face;    /* the KSP or PC */
  BAIOptions  options; /* as they are set, */
  BAIOptions  set;     /* and as they were at the last set-up */

  BAIEngine engine;
  BAIChoice use;
  BAIInfo   info;
  int       unit;       /* BAIParameters: 0 until this matrix has shown to need it */
  PetscBool slow, vain; /* with coarse auto, for this matrix: a coarse correction is worth while; and it did not help */
  PetscBool slowed;  /* and for these values: a solve was slow, and ended before one was worth while, so the next one is
                       to begin with it */
  PetscBool strong;  /* with partition auto: blocks are grown along strong couplings, as those leave much less outside,
                       or for a coarse correction */
  PetscBool crowded; /* PCBAI with mode auto, for this matrix: few blocks could work at the same time */
  PetscReal omega;   /* in use, 1 if it is auto; */
  PetscReal smoothing_omega; /* what auto stands for in smoothing steps, 0: not yet found */
  PetscReal largest;         /* eigenvalue of M^{-1}A, for a polynomial; 0: not yet found */
  PetscBool grew;            /* with weight safe, for this matrix: a solve has grown, */
  PetscReal damped;          /* and has grown with weight tau: omega of one sweep of Jacobi; 0: it has not */
  PetscBool rough;           /* KSPBAI with precision auto, for this matrix: single precision does not do */
  PetscObjectId seen;        /* the matrix of these; */
  PetscInt      rows, first; /* and how many it has, on all ranks; and the first of this one */
  PetscReal     entries;     /* and how many entries a rank has of it, on average */
  PetscInt      aggregates;  /* of all ranks; 0: no coarse space */
  BAIInt corrected_iters; /* local sweeps with a coarse correction, if it is accelerated, but in mode color; 0: as many
                             as the options say */
  PetscLogDouble coarse_time; /* seconds that the last set-up of a coarse space took */
  PetscReal      top_found;   /* the largest eigenvalue of the corrected iteration, for acceleration, as estimated; */
  BAIStart       first_start; /* what the first solve began with, and the next one begins with; */
  BAIStart       start;
  PetscReal      rtol; /* the smallest of a solve, which these are of; 0: none yet */
  BAIStart       best; /* what the fastest so far began with, of so many that tried something, */
  PetscInt       tried;
  PetscReal radius[2], tau; /* BAI_WEIGHT_AUTO: bounds of the spectral radius of |I - D^{-1}A|; what multiplies omega */
  PetscMPIInt   node_rank, node_size; /* 0: not asked for yet */
  MPI_Group     node;                 /* its ranks */
  BAIHierarchy  hierarchy;            /* many levels; NULL for PCBAI */
  BAIGather     gather;               /* NULL on one rank, and if nothing is to be gathered */
  PetscObjectId known_as;             /* of the matrix of users, if this one was gathered from it; else 0; */
  IS            numbers;              /* and the numbers of its rows there, if they are others */
  PetscInt      setups, updates;      /* times that the engine was created, and that it was given new values */

  Mat              A;  /* that the engine holds, not referenced; */
  PetscObjectId    id; /* and its id and state then */
  PetscObjectState state;

  Mat              aij;    /* a copy of the matrix, if that is of another type; NULL if not; */
  PetscObjectId    aij_of; /* of which matrix, and its state then */
  PetscObjectState aij_state;

  VecScatter scatter;   /* NULL on one rank */
  Vec        ghost;     /* values of x that other ranks own, */
  Vec        coming;    /* those that come while ghost is read, */
  Vec        sent;      /* and what they come from, on the other ranks */
  IS         ghosts;    /* their global numbers */
  PetscInt   nshown;    /* with turns of all ranks: own rows that other ranks read, */
  BAIInt    *shown;     /* which are these */
  PetscBool  under_way; /* values of x are on the way */
  PetscBool  connected; /* the engine exchanges x by itself */
  BAIStatus  failed;    /* the first thing that failed on this rank while iterating */
  Vec        r, c;      /* BAINeedWork(): residual, and correction of x */

  BAIRefinement refinement;
  BAITogether   together;

  BAIAdapt    adapt;      /* KSPBAI: when to look, and acceleration; */
  BAIDecision decision;   /* how it goes on; */
  PetscReal   scale;      /* what residual norms are divided by before they are squared; */
  Vec         kept;       /* the best x so far, */
  PetscReal   kept_norm;  /* and its residual norm; */
  PetscBool   kept_zero;  /* or it is zero; */
  PetscBool   stands;     /* the last solve ended where rounding lets it get no further, */
  PetscReal   attainable; /* with about this residual norm */
  BAIStep     used;       /* how the last solve ended; omega is 0 if there was none */
  BAIWatch    watch;
  BAICount    count;

  PetscViewer       viewer; /* of -ksp_bai_stats, or NULL */
  PetscViewerFormat format;

  char needs_fixed[64]; /* PCBAI: the KSP met outside, if it expects a fixed preconditioner and this is none */
} BAI;

PETSC_INTERN PetscErrorCode BAICreate(PetscObject, BAI **);
PETSC_INTERN PetscErrorCode BAIGet(PetscObject, BAI **);
PETSC_INTERN PetscErrorCode BAIOptionsGet(PetscObject, BAIOptions *);
PETSC_INTERN PetscErrorCode BAIOptionsEqual(const BAIOptions *, const BAIOptions *, PetscBool *);
PETSC_INTERN PetscErrorCode BAIOptionsStandard(PetscObject, BAIOptions *);
PETSC_INTERN PetscErrorCode BAIOptionsCheck(PetscObject, const BAIOptions *);
PETSC_INTERN PetscErrorCode BAIOptionsCheckTogether(PetscObject, const BAIOptions *);
PETSC_INTERN PetscErrorCode BAIOptionsSetFromOptions(PetscObject, BAIOptions *, BAIOptionItems);

/* What setters and getters do, all but checking their arguments: options.field = value, and *value = options.field */
#define BAISetOption(face, field, value) \
  do { \
    BAI *bai_; \
\
    PetscCall(BAIGet((PetscObject)(face), &bai_)); \
    if (bai_) { \
      BAIOptions options_ = bai_->options; \
\
      options_.field = (value); \
      PetscCall(BAIOptionsCheck((PetscObject)(face), &options_)); \
      bai_->options = options_; \
    } \
  } while (0)

#define BAIGetOption(face, field, value) \
  do { \
    BAIOptions options_; \
\
    PetscCall(BAIOptionsGet((PetscObject)(face), &options_)); \
    *(value) = options_.field; \
  } while (0)

/* convert.c */
PETSC_INTERN PetscErrorCode BAIConvert(BAI *, Mat, Mat *);

/* csr.c */
PETSC_INTERN PetscErrorCode BAIGetParts(PetscObject, Mat, Mat *, Mat *, PetscInt *, const PetscInt **);
PETSC_INTERN PetscErrorCode BAIGetRows(BAIBackend, Mat, BAICSR *, PetscBool *);
PETSC_INTERN PetscErrorCode BAIRestoreRows(BAIBackend, Mat, BAICSR *);
PETSC_INTERN PetscErrorCode BAIBackendOf(Mat, BAIBackend *);
PETSC_INTERN PetscErrorCode BAIDeviceOf(PetscMPIInt, int *, void **);

/* partition.c */
PETSC_INTERN PetscErrorCode BAIChooseBlockSize(const BAI *, Mat, PetscInt *);
PETSC_INTERN PetscErrorCode BAIChoosePartition(const BAI *, Mat, BAIPartitionType *);
PETSC_INTERN PetscErrorCode BAIWantsStrong(const BAI *, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode BAIWantsGraph(const BAI *, Mat, PetscInt, PetscBool *);
PETSC_INTERN PetscErrorCode BAICreatePartition(const BAI *, Mat, PetscInt, BAIPartition *);
PETSC_INTERN PetscErrorCode BAIDestroyPartition(BAIPartition *);
PETSC_INTERN PetscErrorCode BAIGetGrid(const BAI *, Mat, PetscInt[3], PetscInt *);
PETSC_INTERN PetscErrorCode BAIGetHostRows(Mat, BAICSR *);
PETSC_INTERN PetscErrorCode BAIRestoreHostRows(Mat, BAICSR *);

/* coarse.c */
PETSC_INTERN PetscInt       BAIChooseCoarse(const BAI *);
PETSC_INTERN PetscBool      BAICanCoarsen(const BAI *);
PETSC_INTERN PetscInt       BAICoarsenFrom(const BAI *);
PETSC_INTERN PetscErrorCode BAIChooseNested(const BAI *, BAIChoice *);
PETSC_INTERN PetscErrorCode BAICreateNested(const BAI *, Mat, BAIPartition *, BAICoarse *);
PETSC_INTERN PetscErrorCode BAICreateCoarse(const BAI *, Mat, BAICoarse *);
PETSC_INTERN PetscErrorCode BAICreateBasis(Mat, Mat, PetscInt, BAICoarse *);
PETSC_INTERN PetscErrorCode BAIDestroyCoarse(BAICoarse *);

/* coarseranks.c */
PETSC_INTERN PetscErrorCode BAICoarsen(BAI *, Mat, Mat, Mat, PetscInt, PetscBool, BAICoarse *);
PETSC_INTERN PetscInt64     BAIGathersOf(const BAI *, PetscInt);
PETSC_INTERN PetscErrorCode BAIGatherDue(BAI *, PetscInt64);
PETSC_INTERN PetscErrorCode BAITogetherReset(BAI *);

/* weight.c */
PETSC_INTERN PetscErrorCode BAIFindRadius(Mat, PetscReal *, PetscReal *);
PETSC_INTERN PetscErrorCode BAIFindDamping(Mat, PetscReal *);
PETSC_INTERN PetscErrorCode BAIFindTau(BAI *, Mat, PetscReal *);
PETSC_INTERN PetscErrorCode BAIFindTop(BAI *, Mat, PetscReal *top, PetscBool *spoils);
PETSC_INTERN PetscErrorCode BAIFindLargest(BAI *, Mat, PetscReal *);
PETSC_INTERN PetscBool      BAIUsesPolynomial(const BAI *);
PETSC_INTERN PetscErrorCode BAIFindOmega(BAI *, Mat, PetscReal *);

/* setup.c */
PETSC_INTERN PetscErrorCode BAISetUp(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAISetUpIfAsked(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIPrepare(BAI *, BAIMode);
PETSC_INTERN PetscErrorCode BAIReset(BAI *);

PETSC_INTERN PetscErrorCode BAICheckMatrix(PetscObject, Mat);
PETSC_INTERN PetscErrorCode BAICheckDiagonal(const BAI *, Mat, BAIStatus);
PETSC_INTERN PetscErrorCode BAIGetNode(BAI *, MPI_Comm);
PETSC_INTERN PetscErrorCode BAIGetThreads(PetscMPIInt, int *);
PETSC_INTERN PetscErrorCode BAIOnNode(const BAI *, PetscMPIInt, const PetscMPIInt[], PetscBool *);

/* status.c */
PETSC_INTERN PetscErrorCode BAICheckStatus(const BAI *, BAIStatus);
PETSC_INTERN PetscErrorCode BAIAgree(const BAI *, PetscErrorCode, int *);

/* exchange.c */
PETSC_INTERN PetscErrorCode BAIConnect(BAI *, Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode BAIConnectSums(BAI *);
PETSC_INTERN PetscErrorCode BAIDisconnect(BAI *);
PETSC_INTERN PetscErrorCode BAIToGhosts(BAI *, Vec, Vec, PetscInt, const PetscScalar *, PetscScalar *);

/* turns.c */
PETSC_INTERN PetscErrorCode BAITakeTurns(BAI *, Mat, PetscInt, const PetscInt[]);

/* norm.c */
PETSC_INTERN PetscBool      BAIIsExactSquare(PetscReal);
PETSC_INTERN PetscErrorCode BAIVecNorm(Vec, PetscReal *);

/* run.c */
PETSC_INTERN BAIMode        BAIModeOf(const BAI *);
PETSC_INTERN BAIStep        BAIStepOf(const BAI *, BAIDirection);
PETSC_INTERN PetscErrorCode BAINeedWork(BAI *);
PETSC_INTERN PetscErrorCode BAICorrect(BAI *, Vec, Vec);
PETSC_INTERN PetscErrorCode BAIIterate(BAI *, Vec, Vec, PetscBool, PetscInt, const BAIStep *, PetscReal *);
PETSC_INTERN PetscErrorCode BAIRun(BAI *, Vec, Vec, PetscBool, PetscInt, const BAIStep *, PetscReal *);
PETSC_INTERN PetscErrorCode BAISolve(BAI *, Vec, Vec, PetscBool, PetscReal, PetscReal, PetscReal, PetscInt,
                                     const BAIStep *, PetscReal *, PetscReal *, BAISolution *);

/* refine.c */
PETSC_INTERN PetscErrorCode BAIChoosePrecision(const BAI *, const BAIChoice *, PetscBool *);
PETSC_INTERN PetscErrorCode BAICheckRange(BAI *, Mat);
PETSC_INTERN BAIRefine      BAIRefineOf(const BAIOptions *, PetscBool);
PETSC_INTERN PetscBool      BAIIteratesX(const BAI *);
PETSC_INTERN PetscErrorCode BAIRefinementSetUp(BAI *);
PETSC_INTERN PetscErrorCode BAIRefinementReset(BAI *);
PETSC_INTERN PetscErrorCode BAIRunRefined(BAI *, Vec, Vec, PetscBool, PetscInt, const BAIStep *, PetscReal *);
PETSC_INTERN PetscErrorCode BAIRunRounded(BAI *, Vec, Vec, PetscBool, PetscInt, const BAIStep *, PetscReal *);

/* fault.c */
PETSC_INTERN PetscBool      BAIHasFaults(const BAI *);
PETSC_INTERN void           BAIFaultsChoose(const BAIOptions *, PetscInt, BAIFault *);
PETSC_INTERN PetscErrorCode BAIFaultsStart(BAI *, Vec, Vec, PetscBool);
PETSC_INTERN PetscErrorCode BAIFaultsRestart(BAI *, Vec, Vec);
PETSC_INTERN PetscErrorCode BAIRunFaulty(BAI *, Vec, Vec, PetscBool, PetscInt, PetscInt, const BAIStep *, PetscReal *);
PETSC_INTERN PetscErrorCode BAIFaultsLook(BAI *, PetscInt, Vec, Vec, PetscReal *, BAIStep *);
PETSC_INTERN PetscErrorCode BAIFaultsView(const BAI *, PetscViewer);
PETSC_INTERN PetscErrorCode BAIFaultsReset(BAI *);

/* stats.c */
PETSC_INTERN PetscErrorCode BAIStatsStart(BAI *);
PETSC_INTERN void           BAIStatsLook(BAI *, PetscInt, PetscReal, PetscInt, PetscReal, PetscReal);
PETSC_INTERN PetscErrorCode BAIStatsView(BAI *, PetscViewer);
PETSC_INTERN PetscErrorCode BAIStatsEnd(BAI *);
PETSC_INTERN PetscErrorCode BAIStatsGetViewer(BAI *, const char[]);

/* view.c */
PETSC_INTERN PetscErrorCode BAIView(BAI *, PetscViewer);

PETSC_INTERN PetscErrorCode KSPCreate_BAI(KSP);
PETSC_INTERN PetscErrorCode PCCreate_BAI(PC);
PETSC_INTERN PetscErrorCode PCCreate_BAIMG(PC);

PETSC_INTERN PetscLogEvent BAI_SetUp, BAI_Sweep, BAI_Residual, BAI_Cycle, BAI_Gather;
