/*
   What KSPBAI, PCBAI and PCBAIMG share: their options, and the way from Mat and Vec to the engine
*/
#pragma once

#include "baicompat.h"
#include <petscbai.h>
#include <petscdm.h>
#include <petscbaitypes.h>

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

typedef struct BAIHierarchy_ *BAIHierarchy; /* levels.h */
#include "../relaxation/relaxation.h"

/* The ranks of a node: node.c */
typedef struct {
  PetscMPIInt rank; /* Of this process among them. */
  PetscMPIInt size; /* 0: not yet asked for. */
  MPI_Group   group;
  double      cores; /* Cores of the node that are for this rank. */
} BAINode;

/* The data of a PCBAI or PCBAIMG, and the first part of that of a KSPBAI */
struct BAI_ {
  PetscObject    obj;     /* the KSP or PC */
  const BAIFace *face;    /* and which it is */
  BAIOptions     options; /* as they are set, of PCBAIMG zeros, as its own are in hierarchy; */
  BAIOptions     set;     /* and as they were at the last set-up */
  uint64_t       asked;   /* which of them users gave, whatever the value: bits in the order of options.def */

  BAIRelaxation relax;
  BAIRanks      ranks;
  BAINode       node;
  BAIResearch   research; /* NULL unless options of research ask for it */
  Vec           r, c;     /* BAINeedWork(): residual, and correction of x */

  /* The matrix: convert.c */
  Mat              aij;    /* a copy of the matrix, if that is of another type, or its transpose; NULL: neither; */
  PetscObjectId    aij_of; /* of which matrix, and its state then, */
  PetscObjectState aij_state;
  PetscObjectState aij_nonzero; /* and, of a transpose, its nonzero state */

  /* The transposed operator: transpose.c */
  BAI     *transposed;                    /* which has it; NULL: nobody has asked for it */
  BAI     *origin;                        /* whose transposed operator this one has; NULL: it is one that users have, */
  PetscInt origin_setups, origin_updates; /* which had been set up, and had got new values, so many times */

  /* Many levels: levels.c */
  BAIHierarchy hierarchy; /* NULL for PCBAI */

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

/* transpose.c */
PETSC_INTERN PetscErrorCode BAIReset(BAI *);
PETSC_INTERN PetscErrorCode BAISetUpTransposed(BAI *, BAI **);
PETSC_INTERN PetscErrorCode BAIDestroyTransposed(BAI *);

/* status.c */
PETSC_INTERN PetscErrorCode BAICheckAssembled(PetscObject, Mat);
PETSC_INTERN PetscErrorCode BAICheckMatrix(PetscObject, Mat);
PETSC_INTERN PetscErrorCode BAICheckDiagonal(const BAI *, Mat, BAIStatus, PetscBool *);
PETSC_INTERN PetscErrorCode BAICheckStatus(const BAI *, BAIStatus);
PETSC_INTERN PetscErrorCode BAIAgree(const BAI *, PetscErrorCode, int *);

/* vec.c */
typedef enum {
  BAI_READ,
  BAI_WRITE,
  BAI_READ_WRITE
} BAIAccess;
PETSC_INTERN PetscErrorCode BAIVecGetArray(BAIBackend, Vec, BAIAccess, BAIScalar **, BAIMemory *);
PETSC_INTERN PetscErrorCode BAIVecRestoreArray(BAIBackend, Vec, BAIAccess, BAIScalar **);
PETSC_INTERN PetscBool      BAIIsExactSquare(PetscReal);
PETSC_INTERN PetscErrorCode BAIVecNorm(Vec, PetscReal *);

/* view.c */
PETSC_INTERN PetscErrorCode BAIView(BAI *, PetscViewer);

/* ranks/node.c */
PETSC_INTERN PetscErrorCode BAIGetNode(BAI *, MPI_Comm);
PETSC_INTERN PetscErrorCode BAIForgetNode(BAI *);
PETSC_INTERN PetscErrorCode BAIGetThreads(const BAI *, int *);
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

PETSC_INTERN PetscErrorCode KSPCreate_BAI(KSP);
PETSC_INTERN PetscErrorCode PCCreate_BAI(PC);
PETSC_INTERN PetscErrorCode PCCreate_BAIMG(PC);

PETSC_INTERN PetscLogEvent BAI_SetUp, BAI_Sweep, BAI_Residual, BAI_Cycle;
