/*
   Many levels of a matrix, as PCBAIMG has them, and the matrix on the chip of KSPBAI: from Mat and Vec to levels.h,
   which has levels of one rank. Levels across ranks are made of these, see ranks.c
*/
#pragma once

#include "../petsc/baiimpl.h"
#include "levels.h"

enum {
  BAI_LONGEST_ROW = 1000, /* rows with more entries are not for levels, as a thread of a GPU goes through them alone */
  BAI_CHIP_NONZEROS = 4194304 /* matrices with more entries are not tried on the chip: GPUs hold up to 3 million */
};

/* Two sums over a Hermitian matrix that would be equal but for rounding differ by at most this times the rounding error
   of their terms */
#define BAI_SUM_ROUNDING (1e5 * PETSC_MACHINE_EPSILON)

/* Constants on each field, where these are coupled and no near null space is attached: modes.c */
typedef struct {
  int count; /* 0: none */
  Vec constant[BAI_LEVELS_MODES];
} BAIFields;

/* Options as users set them */
typedef struct {
#define OPTION(field, Function, type, ...) type field;
#include "../pc/baimg/options.def"
#undef OPTION
} BAILevelsOptions;

typedef struct BAIAggregates_ *BAIAggregates; /* ../pc/baimg/aggregates.c */
typedef struct BAIRankLevels_ *BAIRankLevels; /* ranks.c */

struct BAIHierarchy_ {
  /* The request */
  BAILevelsOptions options;
  PetscBool        chip;       /* Of a KSPBAI: there are no levels, but the matrix may stay on the chip of a GPU */
  PetscBool        deferred;   /* The KSP does not apply the PCBAIMG, so levels are made when somebody else does */
  PetscBool        no_over;    /* Overcorrection of coarse levels made the cycle indefinite, so there is none */
  PetscBool        not_single; /* Levels in single precision failed */
  PetscBool        solving;    /* A KSPSolve() is going on */
  int              single;     /* BAILevelsParameters.single if users set none */
  BAIAggregates    aggregates; /* The aggregates of users, or NULL */

  /* The request at the last set-up */
  PetscInt64 change; /* BAI.change */
  PetscBool  no_over_set;
  int        single_set;
  BAIBackend backend_set;

  /* The levels */
  PetscBool           ready;   /* They are set up on all ranks */
  PetscBool           finite;  /* No diagonal entry is NaN or infinite; else there are no levels */
  BAILevels           levels;  /* NULL: none are set up, or this rank has no rows */
  BAIRankLevels       ranks;   /* The levels across several ranks, or NULL */
  PC                  jacobi;  /* Replaces the cycle if a row is too long for levels, else NULL */
  BAIBackend          backend; /* Never auto */
  BAILevelsParameters p;
  BAILevelsInfo       info;
  PetscBool           hermitian; /* The matrix of all ranks is Hermitian, with a diagonal of one sign */
  PetscBool           negative;  /* That sign is negative */
  PetscReal           multiple;  /* The memory of all ranks' levels, as a multiple of that of the matrix */
  PetscLogDouble      seconds;   /* The time of the last set-up */
  double              flops;     /* Flops of a cycle on this rank without the gathered level */
  double              flops_product;
  PetscInt            setups, updates;

  BAIFields  fields;
  BAIScaling scaling;

  /* The matrix */
  BAIMatrix  M;      /* This rank's part: its arrays, which must stay where they are */
  PetscBool  device; /* These arrays are on a device */
  BAIVersion of;     /* The matrix of users at the last set-up */
  Vec        b, x;   /* Copies of vectors that are elsewhere than the matrix */
};

/* hierarchy.c */
PETSC_INTERN PetscErrorCode BAIHierarchyCreate(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchyReset(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchyDestroy(BAI *);
PETSC_INTERN PetscErrorCode BAIHierarchySetUp(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIHierarchySetUpIfAsked(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIHierarchyApply(BAI *, Vec, Vec, PetscBool);
PETSC_INTERN PetscErrorCode BAIHierarchyApplyTranspose(BAI *, Mat, Vec, Vec);      /* transpose.c */
PETSC_INTERN PetscErrorCode BAIHierarchyView(const BAI *, PetscViewer, PetscBool); /* ../pc/baimg/pcbaimg.c */

/* Whether levels are set up as options and solves ask for them, on the stream that PETSc works on now */
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

static inline PetscErrorCode BAIHierarchyLogFlops(const struct BAIHierarchy_ *h, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (h->backend == BAI_BACKEND_HOST) PetscCall(PetscLogFlops(flops));
  else PetscCall(BAILogDeviceFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flops of a solve by the engine on this rank */
static inline PetscLogDouble BAISolveFlops(const struct BAIHierarchy_ *h, BAIInt its)
{
  return (PetscLogDouble)(its + 1) * (h->flops + h->flops_product);
}

/* vec.c: the arrays of b and x during a call of the engine */
typedef struct {
  Vec        b, x;   /* those of the caller, or copies of them */
  BAIAccess  access; /* to x */
  BAIScalar *barray, *xarray;
} BAILevelsVectors;

PETSC_INTERN PetscErrorCode BAIHierarchyBind(BAI *, Vec, Vec, PetscBool, BAILevelsVectors *);
PETSC_INTERN PetscErrorCode BAIHierarchyUnbind(BAI *, Vec, BAILevelsVectors *);
PETSC_INTERN PetscErrorCode BAIHierarchyShow(BAI *, Vec, BAILevelsVectors *);
PETSC_INTERN PetscErrorCode BAIHierarchyUnshow(BAI *, BAILevelsVectors *);

PETSC_INTERN PetscErrorCode BAIHierarchyGetArray(const struct BAIHierarchy_ *, Vec, BAIAccess, BAIScalar **);
PETSC_INTERN PetscErrorCode BAIHierarchyRestoreArray(const struct BAIHierarchy_ *, Vec, BAIAccess, BAIScalar **);

/* modes.c */
PETSC_INTERN PetscErrorCode BAIGetModes(const BAI *, Mat, Mat, PetscInt, Vec[], int *, uint64_t *);
PETSC_INTERN PetscErrorCode BAIFieldsFind(BAI *, Mat, Mat);
PETSC_INTERN PetscErrorCode BAIFieldsReset(BAIFields *);
PETSC_INTERN PetscErrorCode BAIHierarchyScaleModes(const BAI *, int, Vec[]);

/* ranks.c */
PETSC_INTERN PetscErrorCode BAIRankLevelsSetUp(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIRankLevelsApply(BAI *, Vec, Vec);
PETSC_INTERN PetscErrorCode BAIRankLevelsDestroy(BAIRankLevels *);
PETSC_INTERN int            BAIRankLevelsCount(const struct BAIRankLevels_ *);
PETSC_INTERN PetscBool      BAIRankLevelsSolve(const struct BAIRankLevels_ *);
PETSC_INTERN PetscErrorCode BAIRankLevelsError(BAIRankLevels);

/* A source of aggregates beside the engine: for the matrix A, of type aij, it sets p->given and what belongs to that,
   or leaves p as it is. What it sets stays where it is as long as the levels do. Other ranks may fail where this one
   does not */
typedef PetscErrorCode      BAICoarsening(const BAI *, Mat A, BAILevelsParameters *p);
PETSC_INTERN BAICoarsening  BAIAggregatesOfUsers; /* ../pc/baimg/aggregates.c */
PETSC_INTERN PetscErrorCode BAIAggregatesDestroy(BAIAggregates *);
