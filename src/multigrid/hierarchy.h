/*
   The multigrid hierarchy of a PCBAIMG, and the matrix on the chip of a KSPBAI: from Mat and Vec to levels.h, which has
   levels of one rank. ranks.c combines these to levels across ranks
*/
#pragma once

#include "../petsc/baiimpl.h"
#include "levels.h"

enum {
  BAI_LONGEST_ROW   = 1000, /* there are no levels if a row has more entries, as a single GPU thread would process it */
  BAI_CHIP_NONZEROS = 4194304 /* matrices with more entries are not tried on the chip: GPUs hold up to 3 million */
};

/* How set-up treats the fields of a matrix with several unknowns of a point and no near null space, see fields.c */
typedef enum {
  BAI_FIELDS_APART,     /* an aggregate has unknowns of one field */
  BAI_FIELDS_CONSTANTS, /* an aggregate has points, and a constant on each field is the near null space */
  BAI_FIELDS_TOGETHER   /* an aggregate has any unknowns, as without a block size */
} BAIFieldsUse;

/* The unknowns of a point, see points.c */
typedef struct {
  PetscInt   count;
  PetscBool  shown;   /* the nonzero pattern shows that number */
  PetscInt   blocks;  /* blocks of unknowns of one field on each rank, which are renumbered if count is above 1; or 0 */
  BAIVersion pattern; /* the matrix whose pattern was looked at, and its nonzero state; id 0: none */
} BAIUnknowns;

typedef struct {
  BAIUnknowns  unknowns;
  BAIFieldsUse use;
  PetscBool    dependent; /* the entries between fields outweigh the diagonal */
  PetscBool    looked;    /* the coupling of fields was looked at, as there are several, and no near null space */
  BAIVersion   of;        /* version of the user's matrix at that time */
  PetscBool    scaled;    /* all this is about the scaled matrix, see units.c */
} BAIFields;

/* Q^T A Q for a matrix A whose fields are blocks, see interleave.c */
typedef struct {
  PetscInt         fields;    /* 0: the levels are of the user's matrix */
  Mat              Q, matrix; /* the renumbering, and Q^T A Q; NULL: not made yet */
  BAIVersion       of;        /* version of A that the matrix was made of, */
  PetscObjectState nonzero;   /* and its nonzero state */
  Vec              r, z;      /* vectors of the matrix */
} BAIInterleaved;

typedef struct {
#define OPTION(field, Function, type, ...) type field;
#include "../pc/baimg/options.def"
#undef OPTION
} BAILevelsOptions;

typedef struct BAIAggregates_ *BAIAggregates; /* see ../pc/baimg/aggregates.c */
typedef struct BAIRankLevels_ *BAIRankLevels; /* see ranks.h */
typedef struct BAIGathered_   *BAIGathered;   /* see gathered.c */
typedef struct BAIStage_      *BAIStage;      /* see stage.c */

/* Whether and how a system is gathered, and the number of entries of this rank, and of those in columns of ghosts */
typedef struct {
  PetscBool     wanted, few; /* few: even if ranks cannot access each other's memory */
  BAIMailboxUse use;
  PetscInt      nnz, outside;
} BAIGatheredPlan;

struct BAIHierarchy_ {
  /* State that determines the next set-up */
  BAILevelsOptions options;
  PetscBool        chip;       /* a KSPBAI without levels, whose matrix may stay on the chip of a GPU */
  PetscBool        deferred;   /* the KSP does not apply the PCBAIMG, so levels are made at its first application */
  PetscBool        no_over;    /* overcorrection made the cycle indefinite, so it is off */
  PetscBool        not_single; /* levels in single precision failed */
  PetscBool        solving;    /* a KSPSolve() is running */
  int              single;     /* BAILevelsParameters.single, if the user set no precision */
  BAIAggregates    aggregates; /* aggregates of the user, or NULL */

  /* The options at the last set-up */
  PetscInt64 change; /* BAI.change */
  PetscBool  no_over_set;
  int        single_set;
  BAIBackend backend_set;

  /* The levels */
  PetscBool           ready;        /* levels are set up on all ranks */
  PetscBool           finite;       /* all diagonal entries are finite; otherwise there are no levels */
  BAILevels           levels;       /* NULL if none are set up, this rank has no rows, or another one works */
  BAIRankLevels       ranks;        /* levels across several ranks, or NULL */
  BAIGatheredPlan     plan;         /* of gathered */
  BAIGathered         gathered;     /* the whole system, of which single ranks have the levels, or NULL */
  PetscBool           cannot_share; /* ranks could not access each other's memory for a gathered system */
  PC                  jacobi;       /* replaces the cycle if a row is too long for levels, otherwise NULL */
  BAIBackend          backend;      /* never auto */
  BAILevelsParameters p;
  BAILevelsInfo       info;
  PetscBool           hermitian; /* the matrix of the levels is Hermitian, on all ranks, with a diagonal of one sign */
  PetscBool           negative;  /* the diagonal is negative */
  PetscLogDouble      seconds;   /* time of the last set-up */
  double              flops;     /* flops of a cycle on this rank, without the level that all ranks have */
  double              flops_product;
  PetscInt            setups, updates;

  BAIFields      fields;
  BAIInterleaved interleaved;
  BAIScaling     scaling; /* of the interleaved matrix, if there is one */
  PetscReal      mixed;   /* BAILevelsInfo.units, of all ranks, when the scaling was found, or the levels were made */

  /* The matrix */
  BAIMatrix  M;      /* this rank's part: pointers to arrays that must stay in place */
  PetscBool  device; /* these arrays are on a device */
  BAIVersion of;     /* version of the user's matrix at the last set-up */
  Vec        b, x;   /* copies of vectors that are not where the matrix is */
};

/* hierarchy.c */
PETSC_INTERN PetscErrorCode BAIHierarchyCreate(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchyReset(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchyDestroy(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchyMake(BAI *, Mat, PetscBool, int *);
PETSC_INTERN PetscErrorCode BAIHierarchyDestroyLevels(BAIHierarchy);
PETSC_INTERN PetscErrorCode BAIHierarchySetUp(BAI *, Mat);                         /* units.c */
PETSC_INTERN PetscErrorCode BAIHierarchySetUpIfAsked(BAI *, Mat);                  /* units.c */
PETSC_INTERN PetscErrorCode BAIHierarchyApplyTranspose(BAI *, Mat, Vec, Vec);      /* transpose.c */
PETSC_INTERN PetscErrorCode BAIHierarchyView(const BAI *, PetscViewer, PetscBool); /* ../pc/baimg/pcbaimg.c */

/* Whether the user's matrix is Hermitian, and so is the cycle: rows and columns may be scaled so that the matrix of the
   levels is, although the user's is not */
static inline PetscBool BAIHierarchyIsHermitian(const struct BAIHierarchy_ *h)
{
  return (PetscBool)(h->hermitian && h->scaling.left == h->scaling.right);
}

/* Whether levels are set up for the current options, solve and stream of PETSc */
static inline PetscErrorCode BAIHierarchyIsAsAsked(const BAI *bai, PetscBool *is)
{
  const BAIHierarchy h      = bai->hierarchy;
  void              *stream = h->p.stream;
  int                device;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (h->ready && h->backend == BAI_BACKEND_CUDA) PetscCall(BAIGetDevice(bai->node.rank, &device, &stream));
  *is = (PetscBool)(h->ready && bai->change == h->change && h->single == h->single_set &&
                    h->no_over == h->no_over_set &&
                    !(h->not_single && h->info.single && h->options.single == PETSC_BOOL3_UNKNOWN) &&
                    bai->options.backend == h->backend_set && stream == h->p.stream);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Logs flops of the host or of the device, wherever the levels are */
static inline PetscErrorCode BAIHierarchyLogFlops(const struct BAIHierarchy_ *h, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (h->backend == BAI_BACKEND_HOST) PetscCall(PetscLogFlops(flops));
  else PetscCall(BAILogDeviceFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flops on this rank of a solve by the engine that took its iterations; the guess counts as one */
static inline PetscLogDouble BAISolveFlops(const struct BAIHierarchy_ *h, BAIInt its)
{
  return (PetscLogDouble)(its + 1) * (h->flops + h->flops_product);
}

/* The arrays of b and x during a call of the engine, see vec.c */
typedef struct {
  Vec        b, x;   /* vectors of the caller, or copies of them */
  BAIAccess  access; /* access to x */
  BAIScalar *barray, *xarray;
  BAIScalar *bmine, *xmine; /* if h->gathered, the parts of this rank; the arrays above are of the whole */
} BAILevelsVectors;

/* A cycle of the engine, or a solve, unless tolerances is NULL */
typedef struct {
  BAILevelsVectors     v;
  int                  guess_zero;
  const BAITolerances *tolerances;
  BAILevelsMonitor     monitor; /* or NULL */
  void                *context;
  PetscErrorCode      *code; /* error of the monitor */
  BAILevelsSolution   *solution;
} BAIRun;

static inline BAIStatus BAIRunLevels(BAILevels levels, const BAIRun *run)
{
  return run->tolerances ? BAILevelsSolve(levels, run->v.barray, run->v.xarray, run->guess_zero, run->tolerances,
                                          run->monitor, run->context, run->solution)
                         : BAILevelsApply(levels, run->v.barray, run->v.xarray);
}

/* apply.c */
PETSC_INTERN PetscErrorCode BAIHierarchyRun(BAI *, Vec, Vec, BAIRun *);
PETSC_INTERN PetscErrorCode BAIHierarchyCycle(BAI *, Vec, Vec);
PETSC_INTERN PetscErrorCode BAIHierarchyApply(BAI *, Vec, Vec, PetscBool);

/* vec.c */
PETSC_INTERN PetscErrorCode BAIHierarchyBind(BAI *, Vec, Vec, PetscBool, BAILevelsVectors *);
PETSC_INTERN PetscErrorCode BAIHierarchyUnbind(BAI *, Vec, BAILevelsVectors *);
PETSC_INTERN PetscErrorCode BAIHierarchyShow(BAI *, Vec, BAILevelsVectors *);
PETSC_INTERN PetscErrorCode BAIHierarchyUnshow(BAI *, BAILevelsVectors *);

/* points.c */
PETSC_INTERN PetscErrorCode BAIFindPoints(const BAI *, Mat, Mat, BAIUnknowns *);

/* interleave.c */
PETSC_INTERN PetscErrorCode BAIBlocksAreCoupled(Mat, PetscInt, PetscBool *);
PETSC_INTERN PetscErrorCode BAIInterleave(BAIHierarchy, Mat, Mat *);
PETSC_INTERN PetscErrorCode BAIInterleavedReset(BAIInterleaved *);
PETSC_INTERN PetscInt       BAIRowByField(PetscInt fields, PetscInt n, PetscInt row);

/* fields.c */
PETSC_INTERN PetscErrorCode BAIFieldsFind(BAI *, Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode BAIFieldsFindScaled(BAI *, Mat, PetscBool *);

/* modes.c */
PETSC_INTERN PetscErrorCode BAIGetModes(const BAI *, Mat, Mat, PetscInt, Vec[], int *, int *, uint64_t *);
PETSC_INTERN PetscErrorCode BAIHierarchyScaleModes(const BAI *, int, Vec[]);

/* ranks.c */
PETSC_INTERN PetscErrorCode BAIRankLevelsSetUp(BAI *, Mat);
PetscErrorCode              BAIRankLevelsRenew(BAI *, PetscBool *fits);
PETSC_INTERN PetscErrorCode BAIRankLevelsRun(BAIRankLevels, const BAIRun *, BAIStatus *);
PETSC_INTERN PetscErrorCode BAIRankLevelsDestroy(BAIRankLevels *);

/* A level of several ranks: rows of this rank, first global row, global number of rows */
typedef struct {
  BAIHalo  halo;
  PetscInt m, first, rows;
} BAIRankLevel;

/* transfer.c: zero at first, except bai */
typedef struct {
  BAI       *bai;
  BAIMailbox box;       /* memory from which ranks read each other's data during set-up, or NULL */
  size_t     half;      /* bytes of each of its two halves, the same on all ranks */
  int        odd;       /* half of the last exchange */
  char      *staged[2]; /* buffers on the host for what a device sends and receives */
  size_t     room[2];   /* bytes of each */
} BAITransfer;
PETSC_INTERN PetscErrorCode BAITransferOpen(BAITransfer *, PetscBool, PetscInt, size_t);
PETSC_INTERN PetscErrorCode BAITransferClose(BAITransfer *);
PETSC_INTERN PetscErrorCode BAITransferDestroy(BAITransfer *);
PETSC_INTERN PetscErrorCode BAITransferArray(BAITransfer *, BAIHalo *, size_t, const void *, void *);
PETSC_INTERN PetscErrorCode BAITransferOrFail(BAITransfer *, BAIStatus, BAIHalo *, size_t, const void *, void *);

/* gathered.c: vectors of a whole system are numbered: b and x, both twice, and from this number on modes */
enum {
  BAI_GATHERED_MODES = 4
};
PETSC_INTERN PetscErrorCode BAIGatheredFind(const BAI *, Mat, Mat, BAIBackend, const BAILevelsParameters *,
                                            const BAIMatrix *, BAIGatheredPlan *);
PETSC_INTERN PetscErrorCode BAIGatheredCreate(BAI *, PetscInt, PetscInt, int, BAIMailboxUse, PetscBool, BAIGathered *);
PETSC_INTERN PetscErrorCode BAIGatheredTake(BAIGathered, const BAIMatrix *, int, const PetscInt[], PetscBool,
                                            BAIMatrix *);
PETSC_INTERN PetscErrorCode BAIGatheredMode(BAIGathered, int, const BAIScalar **);
PETSC_INTERN PetscErrorCode BAIGatheredBring(BAIGathered, const BAIScalar *, const BAIScalar *, PetscBool, BAIScalar **,
                                             BAIScalar **);
PETSC_INTERN PetscErrorCode BAIGatheredReturn(const struct BAIGathered_ *, const BAIScalar *, BAIScalar *);
PETSC_INTERN PetscErrorCode BAIGatheredRun(BAIGathered, BAILevels, const BAIRun *, BAIStatus *);
PETSC_INTERN PetscBool      BAIGatheredIsShared(const struct BAIGathered_ *);
PETSC_INTERN BAIScalar     *BAIGatheredVector(const struct BAIGathered_ *, int);
PETSC_INTERN PetscErrorCode BAIGatheredInfo(BAIGathered, BAILevelsInfo *);
PETSC_INTERN PetscErrorCode BAIGatheredDestroy(BAIGathered *);
PETSC_INTERN PetscErrorCode BAIGatherArray(const BAI *, BAILevelsArray, int, const BAIRankLevel *, size_t, void *);

/* stage.c */
PETSC_INTERN PetscErrorCode BAIStageCreate(BAI *, size_t, int, const BAIMatrix *, PetscInt, PetscInt, PetscInt,
                                           BAIStage *);
PETSC_INTERN PetscErrorCode BAIStageOpen(BAIStage *, PetscBool);
PETSC_INTERN PetscErrorCode BAIStageDestroy(BAIStage *);
PETSC_INTERN BAIStatus      BAIStageSend(const struct BAIStage_ *, int, BAIInt, BAIInt, const BAIScalar *);
PETSC_INTERN BAIStatus      BAIStageTake(const struct BAIStage_ *, int, BAIInt, BAIInt, BAIScalar *);
PETSC_INTERN size_t         BAIStageRowsBytes(const struct BAIStage_ *);
PETSC_INTERN BAIStatus      BAIStageSendRows(const struct BAIStage_ *, const BAIMatrix *, const PetscInt[], PetscBool);
PETSC_INTERN BAIStatus      BAIStageTakeRows(const struct BAIStage_ *, void *, PetscBool, const BAIPart *);

/* A source of aggregates besides the engine: sets p->given and the fields that belong to it for the matrix A of type
   aij, or leaves p unchanged. Its arrays must live as long as the levels. It may fail on single ranks */
typedef PetscErrorCode      BAICoarsening(const BAI *, Mat A, BAILevelsParameters *p);
PETSC_INTERN BAICoarsening  BAIAggregatesOfUsers; /* ../pc/baimg/aggregates.c */
PETSC_INTERN PetscErrorCode BAIAggregatesDestroy(BAIAggregates *);
PETSC_INTERN PetscErrorCode BAIAggregatesHavePoints(const BAI *, PetscInt, PetscBool *);
