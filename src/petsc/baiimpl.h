/*
   What KSPBAI, PCBAI and PCBAIMG share: their options, and the way from Mat and Vec to the engine
*/
#pragma once

#include "baicompat.h"
#include <petscbai.h>
#include <petscdm.h>
#include "../relaxation/engine.h"

/* What users set, and nothing that was chosen for them */
typedef struct {
#define OPTION(field, Function, type, ...) type field;
#include "options.def"
#include "../research/options.def"
#undef OPTION
} BAIOptions;

typedef struct BAI_ BAI;

/* Where KSPBAI, PCBAI and PCBAIMG differ */
typedef struct {
  int         number;        /* of its default in options.def */
  PetscBool   levels;        /* it has the options of BAILevelsOptions, not those of BAIOptions */
  const char *name, *prefix; /* in names of options: ksp or pc, and of functions: KSP or PC */
  const char *type;
  PetscBool   solves; /* it sees residual norms; otherwise it is an operator, whose iterations are to smooth */
  BAI *(*data)(PetscObject);
  PetscErrorCode (*getdm)(PetscObject, DM *); /* NULL if there is none */
} BAIFace;

PETSC_INTERN const BAIFace BAIFaceKSP, BAIFacePC, BAIFaceMG;

/* What set-up chose: by the options, the matrix, and where this rank runs */
typedef struct {
  BAIBackend       backend; /* none of these is auto */
  BAIPartitionType partition;
  BAIWeight        weight;
  PetscInt         block_size, overlap;
  BAIExchange      exchange;
  BAIRefine        refine;
  BAIParameters    p; /* of the engine */
} BAIChoice;

typedef struct BAIHierarchy_ *BAIHierarchy; /* levels.h */
typedef struct BAIResearch_  *BAIResearch;  /* research/research.h */

/* Refinement round the engine: refine.c */
typedef struct {
  Vec              rhs, base; /* of the correction: its right side, and the x that it is added to; */
  PetscReal        from, now; /* norms of the residual when it began, and at the last look; */
  PetscReal        scale;     /* what multiplies vectors in the engine; 0: 1 */
  PetscInt         its, most; /* iterations that it took, and that corrections are to take */
  PetscBool        learnt;    /* by what one gained; */
  PetscBool        seen;      /* b and x are those of the last look if they are these: */
  PetscObjectId    id[2];
  PetscObjectState state[2];
  PetscReal        diagonal; /* the largest magnitude on it */
} BAIRefinement;

/*
   count global iterations from the x given, or from zero, whatever x holds, if guess_zero; then ||b - A x|| if rnorm is
   not NULL. The direction of the step matters in mode color
*/
typedef PetscErrorCode BAIRunFunction(BAI *, Vec b, Vec x, PetscBool guess_zero, PetscInt count, const BAIStep *,
                                      PetscReal *rnorm);

/* The data of a PCBAI or PCBAIMG, and the first part of that of a KSPBAI */
struct BAI_ {
  PetscObject    obj;     /* the KSP or PC */
  const BAIFace *face;    /* and which it is */
  BAIOptions     options; /* as they are set, of PCBAIMG zeros, as its own are in hierarchy; */
  BAIOptions     set;     /* and as they were at the last set-up */
  uint64_t       asked;   /* which of them users gave, whatever the value: bits in the order of options.def */

  /* Relaxation: setup.c, run.c */
  BAIEngine        engine;
  BAIChoice        use;
  BAIInfo          info;
  BAIRunFunction  *run;             /* the global iterations that the options ask for */
  int              unit;            /* BAIParameters: 0 until this matrix has shown to need it */
  PetscBool        strong;          /* with partition auto: blocks are grown along strong couplings */
  PetscBool        crowded;         /* PCBAI with mode auto: most blocks would wait for their turn in mode color */
  PetscReal        largest;         /* eigenvalue of M^{-1}A, for a polynomial; 0: not yet found */
  PetscReal        radius[2], tau;  /* BAI_WEIGHT_AUTO: bounds of the spectral radius of |I - D^{-1}A|; what multiplies
                                      omega */
  PetscInt         setups, updates; /* times that the engine was created, and that it was given new values */
  BAIRefinement    refinement;
  BAIResearch      research; /* NULL unless options of research ask for it */
  Mat              A;        /* that the engine holds; */
  PetscObjectId    id;       /* and its id and state then, */
  PetscObjectState state;
  PetscObjectId    given; /* and those of the matrix of users, of which it may be a copy; 0: the last set-up failed */
  PetscObjectState given_state;
  Vec              r, c; /* BAINeedWork(): residual, and correction of x */

  /* The matrix: convert.c */
  PetscObjectId    seen;        /* what was found out in solves is of this one; */
  PetscInt         rows, first; /* and how many rows it has, on all ranks; and the first of this one */
  Mat              aij;         /* a copy of the matrix, if that is of another type, or its transpose; NULL: neither; */
  PetscObjectId    aij_of;      /* of which matrix, and its state then, */
  PetscObjectState aij_state;
  PetscObjectState aij_nonzero; /* and, of a transpose, its nonzero state */

  /* The transposed operator: transpose.c */
  BAI     *transposed;                    /* which has it; NULL: nobody has asked for it */
  BAI     *origin;                        /* whose transposed operator this one has; NULL: it is one that users have, */
  PetscInt origin_setups, origin_updates; /* which had been set up, and had got new values, so many times */

  /* Many levels: levels.c */
  BAIHierarchy hierarchy; /* NULL for PCBAI */

  /* Several ranks: ranks/ */
  PetscMPIInt node_rank, node_size; /* 0: not asked for yet */
  MPI_Group   node;                 /* its ranks; */
  double      cores;                /* and how many of its cores are for this one */
  VecScatter  scatter;              /* NULL on one rank */
  Vec         ghost;                /* values of x that other ranks own, */
  Vec         coming;               /* those that come while ghost is read, */
  Vec         sent;                 /* and what they come from, on the other ranks */
  IS          ghosts;               /* their global numbers */
  PetscInt    nshown;               /* with turns of all ranks: own rows that other ranks read, */
  BAIInt     *shown;                /* which are these, */
  BAIInt     *color;                /* and the turn of each own row */
  PetscBool   under_way;            /* values of x are on the way */
  PetscBool   connected;            /* the engine exchanges x by itself */
  BAIStatus   failed;               /* the first thing that failed on this rank while iterating */

  PetscViewer       viewer; /* of -ksp_bai_stats, or NULL */
  PetscViewerFormat format;
};

/* options.c */
PETSC_INTERN PetscErrorCode BAIInitialize(PetscObject, const BAIFace *, BAI *);
PETSC_INTERN PetscErrorCode BAIGet(PetscObject, const BAIFace *, BAI **);
PETSC_INTERN PetscErrorCode BAIOptionsEqual(const BAIFace *, const void *, const void *, PetscBool *);
PETSC_INTERN PetscErrorCode BAIOptionsStandard(const BAIFace *, void *);
PETSC_INTERN PetscErrorCode BAIOptionsCheckTogether(const BAI *);
PETSC_INTERN PetscErrorCode BAIOptionsSetFromOptions(BAI *, BAIOptionItems);
/* The method of KSPBAI that an option belongs to; either: none */
typedef enum {
  BAI_OF_RELAXATION,
  BAI_OF_KRYLOV,
  BAI_OF_BOTH,
  BAI_OF_EITHER
} BAIOptionOf;
PETSC_INTERN const char    *BAIOptionsGiven(const BAI *, BAIOptionOf);
PETSC_INTERN PetscErrorCode BAIOptionIsGiven(const BAI *, const char field[], PetscBool *);
/* Whether PETSc reads a word as that; yes: its value as BAI_WORD_BOOL, else NULL */
typedef enum {
  BAI_WORD_INT,
  BAI_WORD_REAL,
  BAI_WORD_BOOL
} BAIWord;
PETSC_INTERN PetscErrorCode BAIReadsAs(BAIWord, const char word[], PetscBool *is, PetscBool *yes);
PETSC_INTERN PetscErrorCode BAIOptionName(const BAI *, const char[], char[], size_t);

/* Setters and getters call these after they have checked their arguments. value is of the type of the field */
PETSC_INTERN PetscErrorCode BAISetOption(PetscObject, const BAIFace *, const char field[], const void *value);
PETSC_INTERN PetscErrorCode BAIGetOption(PetscObject, const BAIFace *, const char field[], void *value);

/* convert.c */
PETSC_INTERN PetscErrorCode BAIHasEntries(Mat, PetscBool *);
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

/* weight.c */
PETSC_INTERN PetscErrorCode BAIFindRadius(Mat, PetscReal *, PetscReal *);
PETSC_INTERN PetscErrorCode BAIFindTau(BAI *, Mat, PetscReal *);
PETSC_INTERN PetscErrorCode BAIFindLargest(BAI *, Mat, PetscReal *);
PETSC_INTERN PetscBool      BAIUsesPolynomial(const BAI *);
PETSC_INTERN PetscReal      BAISmoothingOmega(const BAI *);

/* setup.c */
PETSC_INTERN PetscErrorCode BAIIsSetUp(const BAI *, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode BAIIsOnStream(const BAI *, PetscBool *);
PETSC_INTERN PetscErrorCode BAISetUp(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIDropEngine(BAI *);
PETSC_INTERN PetscErrorCode BAIReset(BAI *);
PETSC_INTERN PetscErrorCode BAICheckAssembled(PetscObject, Mat);
PETSC_INTERN PetscErrorCode BAICheckMatrix(PetscObject, Mat);
PETSC_INTERN PetscErrorCode BAICheckDiagonal(const BAI *, Mat, BAIStatus, PetscBool *);
PETSC_INTERN PetscErrorCode BAIGetThreads(const BAI *, int *);

/* transpose.c */
PETSC_INTERN PetscErrorCode BAISetUpTransposed(BAI *, BAI **);
PETSC_INTERN PetscErrorCode BAIDestroyTransposed(BAI *);

/* status.c */
PETSC_INTERN PetscErrorCode BAICheckStatus(const BAI *, BAIStatus);
PETSC_INTERN PetscErrorCode BAIAgree(const BAI *, PetscErrorCode, int *);

/* norm.c */
PETSC_INTERN PetscBool      BAIIsExactSquare(PetscReal);
PETSC_INTERN PetscErrorCode BAIVecNorm(Vec, PetscReal *);

/* run.c */
PETSC_INTERN BAIMode        BAIModeOf(const BAI *);
PETSC_INTERN BAIStep        BAIStepOf(const BAI *, BAIDirection);
PETSC_INTERN PetscErrorCode BAINeedWork(BAI *, Mat);
PETSC_INTERN BAIRunFunction BAIIterate;
PETSC_INTERN PetscErrorCode BAISolve(BAI *, Vec, Vec, PetscBool, const BAITolerances *, const BAIStep *, PetscReal *,
                                     PetscReal *, BAISolution *);

/* refine.c */
PETSC_INTERN BAIRefine      BAIRefineOf(const BAIOptions *);
PETSC_INTERN PetscErrorCode BAIRefinementSetUp(BAI *);
PETSC_INTERN PetscErrorCode BAIRefinementReset(BAI *);
PETSC_INTERN BAIRunFunction BAIRunRefined, BAIRunRounded;

/* view.c */
PETSC_INTERN PetscErrorCode BAIView(BAI *, PetscViewer);

/* ranks/node.c */
PETSC_INTERN PetscErrorCode BAIGetNode(BAI *, MPI_Comm);
PETSC_INTERN PetscErrorCode BAIForgetNode(BAI *);
PETSC_INTERN PetscErrorCode BAIAllCan(const BAI *, BAIStatus, const char[], PetscBool *);
PETSC_INTERN PetscErrorCode BAIOnNode(const BAI *, PetscMPIInt, const PetscMPIInt[], PetscBool *);

/* ranks/mailbox.c */
typedef struct BAIMailbox_ *BAIMailbox;
PETSC_INTERN PetscErrorCode BAIMailboxGet(BAI *, BAIBackend, size_t, BAIMailbox *);
PETSC_INTERN void           BAIMailboxRestore(BAIMailbox *);
PETSC_INTERN void          *BAIMailboxOf(const struct BAIMailbox_ *, PetscMPIInt);
PETSC_INTERN PetscErrorCode BAIMailboxDestroyAll(void);

/* ranks/halo.c: rows whose values other ranks read, and what this one reads of them */
typedef struct {
  PetscMPIInt  n, *rank;     /* peers, ascending */
  PetscInt    *first, *last; /* of those that are sent, which each of them reads; */
  PetscInt     sends, *row;  /* these are own rows, NULL: all in their order */
  PetscInt    *begin;        /* n + 1: of each of them the ghosts */
  PetscMPIInt  tag;          /* of BAIHaloExchange(), on its communicator: the caller's */
  MPI_Request *request;
} BAIHalo;
PETSC_INTERN PetscErrorCode BAIHaloCreate(Mat, PetscInt, const PetscInt[], BAIHalo *);
PETSC_INTERN PetscErrorCode BAIHaloOfAll(MPI_Comm, PetscInt, PetscMPIInt, BAIHalo *);
PETSC_INTERN PetscErrorCode BAIHaloDestroy(BAIHalo *);
PETSC_INTERN PetscErrorCode BAIHaloExchange(BAIHalo *, MPI_Comm, size_t, const void *, void *);
PETSC_INTERN PetscErrorCode BAIHaloCoarsen(const BAIHalo *, const PetscInt[], const PetscInt[], BAIHalo *, PetscInt[]);
PETSC_INTERN PetscErrorCode BAIHaloExpand(BAIHalo *, PetscInt);
PETSC_INTERN PetscInt       BAIHaloGhosts(const BAIHalo *);

/* ranks/exchange.c */
PETSC_INTERN PetscErrorCode BAIScatterCreate(BAI *, Mat, Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode BAIScatterFits(const BAI *, PetscInt, const PetscInt[], PetscBool *);
PETSC_INTERN PetscErrorCode BAIScatterDestroy(BAI *);
PETSC_INTERN PetscErrorCode BAIConnect(BAI *, Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode BAIDisconnect(BAI *);
PETSC_INTERN PetscErrorCode BAIToGhosts(BAI *, Vec, Vec, PetscInt, const PetscScalar *, PetscScalar *);

/* ranks/distributed_coloring.c */
PETSC_INTERN PetscErrorCode BAITakeTurns(BAI *, Mat, PetscInt, const PetscInt[]);

/* research/research.c: what happens in a relaxation beside its iterations, if options of research ask for it */
PETSC_INTERN PetscErrorCode BAIResearchSetUp(BAI *);
PETSC_INTERN void           BAIResearchChoose(const BAIOptions *, PetscInt, BAIParameters *);
PETSC_INTERN PetscErrorCode BAIResearchBegin(BAI *, Vec, Vec, PetscBool);
PETSC_INTERN PetscErrorCode BAIResearchLook(BAI *, PetscInt, PetscReal, PetscInt, Vec, Vec, PetscReal, PetscReal *,
                                            BAIStep *, PetscBool *);
PETSC_INTERN PetscErrorCode BAIResearchEnd(BAI *);
PETSC_INTERN PetscErrorCode BAIResearchView(BAI *, PetscViewer);
PETSC_INTERN PetscErrorCode BAIResearchReset(BAI *);
PETSC_INTERN PetscErrorCode BAIStatsGetViewer(BAI *, const char[]);

PETSC_INTERN PetscErrorCode KSPCreate_BAI(KSP);
PETSC_INTERN PetscErrorCode PCCreate_BAI(PC);
PETSC_INTERN PetscErrorCode PCCreate_BAIMG(PC);

PETSC_INTERN PetscLogEvent BAI_SetUp, BAI_Sweep, BAI_Residual, BAI_Cycle;
