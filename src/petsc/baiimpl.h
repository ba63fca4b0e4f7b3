/* The code that KSPBAI, PCBAI and PCBAIMG share: options, and access to Mat and Vec for the engine */
#pragma once

#include "baicompat.h"
#include <float.h>
#include <petsc/private/petscimpl.h>
#include <petscbai.h>
#include <petscdm.h>
#include <petscbaitypes.h>

/* Options of the user. The choices of a set-up are elsewhere */
typedef struct {
#define OPTION(field, Function, type, ...) type field;
#include "options.def"
#include "../research/options.def"
#undef OPTION
} BAIOptions;

typedef struct BAI_ BAI;

/* The differences between KSPBAI, PCBAI and PCBAIMG */
typedef struct {
  int         number; /* position of its default in options.def */
  PetscBool   levels; /* its options are BAILevelsOptions, otherwise BAIOptions */
  const char *name;   /* ksp or pc, as in keys */
  const char *prefix; /* KSP or PC, as in functions */
  const char *type;
  PetscBool   solves; /* a KSP, which computes residual norms; otherwise a PC, whose iterations smooth */
} BAIFace;

PETSC_INTERN const BAIFace BAIFaceKSP, BAIFacePC, BAIFaceMG;

/* The prefix of the keys of an object, "" for none */
static inline const char *BAIPrefixOf(PetscObject obj)
{
  return obj->prefix ? obj->prefix : "";
}

typedef struct BAIHierarchy_ *BAIHierarchy; /* ../multigrid/hierarchy.h */
typedef struct BAIMailbox_   *BAIMailbox;   /* mailbox.c */
#include "../relaxation/relaxation.h"

/* The ranks of a node, see node.c */
typedef struct {
  PetscMPIInt rank;  /* number of this process among them */
  PetscMPIInt size;  /* 0 until it is known */
  double      cores; /* cores of the node for this rank */
} BAINode;

/* Scaling of the matrix of a preconditioner to L A R, see scaling.c */
typedef struct {
  Vec              left, right; /* diagonals of L and R; NULL: no scaling */
  Mat              matrix;      /* L A R; NULL: not made yet */
  BAIVersion       of;          /* version of A that the matrix was made of, with state -1 for another scaling, */
  PetscObjectState nonzero;     /* and its nonzero state */
  Vec              r;           /* L times a right-hand side */
  PetscBool        smoothed;    /* left = right, made smooth by Jacobi steps */
} BAIScaling;

/* The data of a PCBAI or PCBAIMG, and the first member of the data of a KSPBAI */
struct BAI_ {
  PetscObject    obj; /* the KSP or PC */
  const BAIFace *face;
  BAIOptions     options; /* options of the user; zeros for a PCBAIMG, whose hierarchy has its options */
  BAIOptions     set;     /* options at the last set-up */
  PetscInt64     change;  /* number of their last change, counted over all objects */
  uint64_t       asked;   /* options that the user gave, whatever the value: bits in the order of options.def */

  BAIRelaxation relax;
  BAIRanks      ranks;
  BAINode       node;
  Vec           r, c; /* work vectors of BAINeedWork(): residual, and correction of x */

  /* The matrix, see mat.c */
  Mat        aij;    /* copy of a matrix of another type, or the transpose of the origin's; NULL: none */
  BAIVersion of_aij; /* version of the matrix that aij was made of */

  /* The transposed operator, see transpose.c */
  BAI     *transposed;     /* object with the transposed matrix; NULL until it is needed */
  BAI     *origin;         /* object whose transpose this is; NULL for objects of users */
  PetscInt origin_setups;  /* set-ups of the origin at the last set-up of this one */
  PetscInt origin_updates; /* updates of the origin at that time */
  /* A has other values than the levels of the origin, which were not renewed, so these levels copy nothing of them */
  PetscBool apart;

  BAIHierarchy hierarchy; /* NULL for PCBAI */

  PetscViewer       viewer; /* viewer of -ksp_bai_stats, or NULL */
  PetscViewerFormat format;
};

/* options.c */
PETSC_INTERN PetscErrorCode BAIInitialize(PetscObject, const BAIFace *, BAI *);
PETSC_INTERN void           BAIChanged(BAI *);
PETSC_INTERN PetscErrorCode BAIGet(PetscObject, const BAIFace *, BAI **);
PETSC_INTERN PetscErrorCode BAIOptionsEqual(const BAIFace *, const void *, const void *, PetscBool *);
PETSC_INTERN PetscErrorCode BAIOptionsStandard(const BAIFace *, void *);
PETSC_INTERN PetscErrorCode BAIOptionsSetFromOptions(BAI *, BAIOptionItems);
/* The method of KSPBAI that an option belongs to; either: none */
typedef enum {
  BAI_OF_RELAXATION,
  BAI_OF_KRYLOV,
  BAI_OF_BOTH,
  BAI_OF_EITHER
} BAIOptionOf;
PETSC_INTERN const char    *BAIOptionsGiven(const BAI *, BAIOptionOf);
PETSC_INTERN PetscErrorCode BAIPassOption(BAI *ksp, BAI *pc, const char field[]);
PETSC_INTERN PetscErrorCode BAIReadsAsBool(const char word[], PetscBool *is, PetscBool *yes);
PETSC_INTERN PetscErrorCode BAIOptionName(const BAI *, const char[], char[], size_t);

/* The whole of setters and getters. value has the type of the field */
PETSC_INTERN PetscErrorCode BAISetOption(PetscObject, const BAIFace *, const char field[], const void *value);
PETSC_INTERN PetscErrorCode BAIGetOption(PetscObject, const BAIFace *, const char field[], void *value);

/* mat.c */
PETSC_INTERN PetscErrorCode BAITakeValues(const BAI *, Mat, PetscBool anyway, BAIVersion *known, PetscBool *others);
PETSC_INTERN PetscErrorCode BAICheckAssembled(PetscObject, Mat);
PETSC_INTERN PetscErrorCode BAICheckMatrix(PetscObject, Mat);
PETSC_INTERN PetscErrorCode BAICheckDiagonal(const BAI *, Mat, BAIStatus, PetscBool *);
PETSC_INTERN PetscErrorCode BAIHasEntries(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode BAIConvert(BAI *, Mat, Mat *);
PETSC_INTERN PetscErrorCode BAIGetParts(PetscObject, Mat, Mat *, Mat *, PetscInt *, const PetscInt **);
PETSC_INTERN PetscErrorCode BAIGetHostRows(Mat, PetscBool, BAICSR *);
PETSC_INTERN PetscErrorCode BAIRestoreHostRows(Mat, BAICSR *);
PETSC_INTERN PetscErrorCode BAIGetMatrix(BAIBackend, Mat, Mat, PetscInt, BAIMatrix *, PetscBool *);
PETSC_INTERN PetscErrorCode BAIRestoreRows(BAIBackend, Mat, BAICSR *);
PETSC_INTERN PetscErrorCode BAIBackendOf(Mat, BAIBackend *);
PETSC_INTERN PetscErrorCode BAIDuplicateFixed(PetscObject, Mat, Mat *);
PETSC_INTERN PetscErrorCode BAIReferenceFixed(PetscObject, Mat, Mat *);
PETSC_INTERN PetscErrorCode BAILooksHermitian(Mat, PetscBool *);

/* Bound on the difference of two sums over a Hermitian matrix that are equal but for rounding, relative to their
   terms */
#define BAI_SUM_ROUNDING (1e5 * PETSC_MACHINE_EPSILON)

/* scaling.c */
#define BAI_UNITS_GROWTH    1.5 /* largest growth of BAILevelsInfo.units by new values in the same units */
#define BAI_UNITS           16  /* largest ratio of diagonal entries of a field without mixed units */
#define BAI_UNITS_OF_FIELDS 2   /* largest ratio of their means over several fields */
PETSC_INTERN PetscErrorCode BAIScalingFind(PetscObject, Mat, PetscInt, PetscBool, BAIScaling *);
PETSC_INTERN PetscErrorCode BAIScalingFits(const BAIScaling *, PetscInt, PetscBool *);
PETSC_INTERN PetscErrorCode BAIScalingReplace(BAIScaling *, Vec);
PETSC_INTERN PetscErrorCode BAIScalingRestore(BAIScaling *, Mat, Vec, PetscBool *);
PETSC_INTERN PetscErrorCode BAIScalingGetMatrix(BAIScaling *, Mat, Mat *);
PETSC_INTERN PetscErrorCode BAIScalingTranspose(const BAIScaling *, BAIScaling *);
PETSC_INTERN PetscErrorCode BAIScalingReset(BAIScaling *);

/* transpose.c */
PETSC_INTERN PetscErrorCode BAITranspose(const BAI *, Mat, BAIVersion *, Mat *);
PETSC_INTERN PetscErrorCode BAIReset(BAI *);
PETSC_INTERN PetscErrorCode BAISetUpTransposed(BAI *, BAI **);

/* status.c */
PETSC_INTERN PetscErrorCode BAICheckStatus(const BAI *, BAIStatus);
PETSC_INTERN PetscErrorCode BAICheckReady(BAI *, BAIBackend, int device, void *stream);

/* vec.c */
typedef enum {
  BAI_READ,
  BAI_WRITE,
  BAI_READ_WRITE
} BAIAccess;
PETSC_INTERN PetscErrorCode BAIVecGetArray(BAIBackend, Vec, BAIAccess, BAIScalar **, BAIMemory *);
PETSC_INTERN PetscErrorCode BAIVecRestoreArray(BAIBackend, Vec, BAIAccess, BAIScalar **);

/* Whether a sum of squares is free of overflow, and underflow of terms is below rounding */
static inline PetscBool BAIIsExactSquare(PetscReal square)
{
  const PetscReal least_normal = sizeof(PetscReal) > sizeof(float) ? (PetscReal)DBL_MIN : (PetscReal)FLT_MIN;

  return (PetscBool)(square >= least_normal / PETSC_MACHINE_EPSILON &&
                     square <= PETSC_MAX_REAL * PETSC_MACHINE_EPSILON);
}
PETSC_INTERN PetscErrorCode BAIVecNorm(Vec, PetscReal *);
PETSC_INTERN PetscErrorCode BAIVecSet(Vec, BAISet);

/* view.c */
PETSC_INTERN PetscErrorCode BAIView(BAI *, PetscViewer);
PETSC_INTERN PetscErrorCode BAIViewWaits(const BAI *, PetscViewer);

/* node.c */
PETSC_INTERN PetscErrorCode BAIGetNode(BAI *, MPI_Comm);
PETSC_INTERN PetscErrorCode BAIGetThreads(const BAI *, int *);
PETSC_INTERN PetscErrorCode BAIAgree(const BAI *, PetscErrorCode, int *);
PETSC_INTERN PetscErrorCode BAIAllCan(const BAI *, BAIStatus, const char[], PetscBool *);

/* mailbox.c */
typedef enum {
  BAI_MAILBOX_NONE,
  BAI_MAILBOX_OF_RANKS, /* each rank has one, and if it has a device, one of its own, as kernels wait for each other */
  BAI_MAILBOX_OF_DEVICES, /* the first rank of each device has one, or if these are of several kinds, the first rank */
  BAI_MAILBOX_PINNED      /* on the host: the first rank has one, from and to which GPUs copy by themselves */
} BAIMailboxUse;
PETSC_INTERN PetscErrorCode BAIMailboxGet(BAI *, BAIBackend, size_t, BAIMailboxUse, BAIMailbox *, BAIStatus *);
PETSC_INTERN PetscErrorCode BAIMailboxRestore(BAIMailbox *);
PETSC_INTERN void          *BAIMailboxOf(const struct BAIMailbox_ *, PetscMPIInt);
PETSC_INTERN PetscMPIInt    BAIMailboxOwner(const struct BAIMailbox_ *, PetscMPIInt);
PETSC_INTERN MPI_Comm       BAIMailboxSharers(const struct BAIMailbox_ *);
PETSC_INTERN PetscErrorCode BAIMailboxDestroyAll(void);

/* halo.c: the rows whose values other ranks read, and the ghosts that this rank reads. row lists the sent rows. If it
   is NULL, those for peer k are the rows from start[k] on. If start is NULL, too, the engine has the list, or all rows
   are sent in order */
typedef struct {
  PetscMPIInt  n, *rank;     /* peers in ascending order */
  PetscInt    *first, *last; /* range of the sent rows that each peer reads */
  PetscInt     sends, *row, *start;
  PetscInt    *begin; /* n + 1: first ghost of each peer */
  PetscInt    *from;  /* first of the rows that each peer sends to this rank, among those that it sends */
  PetscMPIInt  tag;   /* tag of BAIHaloExchange() on the caller's communicator */
  MPI_Request *request;
} BAIHalo;
PETSC_INTERN PetscErrorCode BAIHaloCreate(Mat, PetscInt, const PetscInt[], BAIHalo *);
PETSC_INTERN PetscErrorCode BAIHaloRows(BAIHalo *);
PETSC_INTERN PetscErrorCode BAIHaloOfAll(MPI_Comm, PetscInt, PetscMPIInt, BAIHalo *);
PETSC_INTERN PetscErrorCode BAIHaloDestroy(BAIHalo *);
PETSC_INTERN PetscErrorCode BAIHaloExchange(BAIHalo *, MPI_Comm, size_t, const void *, void *);
PETSC_INTERN PetscErrorCode BAIHaloCoarsen(const BAIHalo *, MPI_Comm, const PetscInt[], const PetscInt[], BAIHalo *);
PETSC_INTERN PetscErrorCode BAIHaloExpand(BAIHalo *, PetscInt);
PETSC_INTERN PetscInt       BAIHaloGhosts(const BAIHalo *);
PETSC_INTERN PetscErrorCode BAIFindFirst(MPI_Comm, PetscInt, PetscMPIInt **);
PETSC_INTERN PetscErrorCode BAIGatherInPlace(MPI_Comm, const PetscMPIInt[], size_t, void *);

PETSC_INTERN PetscErrorCode KSPCreate_BAI(KSP);
PETSC_INTERN PetscErrorCode PCCreate_BAI(PC);
PETSC_INTERN PetscErrorCode PCCreate_BAIMG(PC);

PETSC_INTERN PetscLogEvent BAI_SetUp, BAI_Coarsen, BAI_Galerkin, BAI_Fill, BAI_Factor, BAI_Sweep, BAI_Residual,
  BAI_Cycle;
