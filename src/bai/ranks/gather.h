/*
   Gathering: some ranks work with the rows of others too, in a KSP or PC of their own, and the others wait for them
*/
#pragma once

#include "../baiimpl.h"
#include "../../engine/shared.h"

/* Why these ranks work */
typedef enum {
  BAI_GATHERED_ASKED,
  BAI_GATHERED_SMALL,
  BAI_GATHERED_SHARED
} BAIGatherReason;

/* What the choice depends on: while it is the same, so is the choice */
typedef struct {
  PetscObjectId    matrix, da, nullspace, nearnullspace;
  PetscObjectState pattern;
  BAIGatherType    gather;
  BAIBackend       backend;
  BAIExchange      exchange;
} BAIGatherKey;

struct BAIGather_ {
  BAIGatherKey    key;
  PetscMPIInt     size;    /* of all ranks; */
  PetscMPIInt     workers; /* and of those that work; the same: nothing is gathered */
  PetscMPIInt    *leader;  /* size: the rank that takes the rows of each */
  BAIGatherReason reason;

  MPI_Comm         comm;     /* of the ranks that work, and MPI_COMM_NULL on the others */
  PetscObject      inner;    /* the KSP or PC of those that work, */
  Mat              A;        /* their matrix, */
  Vec              b, x;     /* and vectors; all of these are NULL on the others */
  IS               rows;     /* that this rank takes, in its order; */
  IS               cols;     /* all columns, in the order of all that work; */
  PetscBool        permuted; /* not the one that users know */
  Mat             *local;    /* these rows */
  Vec              values;   /* this rank's part of b or x; empty on those that do not work */
  VecScatter       scatter;  /* from a vector of all ranks to that */
  PetscObjectState state;    /* of the matrix of all ranks, whose values are in A; */
  PetscBool        ready;    /* and the set-up with it came through */

  PetscBool  shares; /* b and x are in memory that all ranks reach, */
  BAIBackend side;   /* of the host or of CUDA; */
  void      *stream; /* copies go in the order of this one */
  BAIShared
    shared; /* all of b, then all of x, of the rank that takes the rows of this one, in the order of the matrix; */
  PetscInt    rows_shared, first; /* how many rows those are, and this rank's first */
  Vec         shared_b, shared_x; /* these, on the ranks that work; */
  VecScatter  order;              /* and from there to b and x, if those have another order; else NULL */
  PetscMPIInt tag;

  char      text[1024]; /* the first error since BAIGatherBegin() */
  PetscBool spoilt;     /* KSPBAI: a monitor or convergence test has failed */
};

/* What the first rank tells all others while it works */
typedef struct {
  PetscBool          done;   /* otherwise these are of a residual norm that somebody wants to see */
  PetscMPIInt        failed; /* done: the rank with an error, or -1 */
  PetscInt           its;    /* KSPBAI: as in the KSP */
  PetscReal          rnorm, rnorm0, ttol;
  KSPConvergedReason reason;
} BAIGatherNews;

/* gather.c */
PETSC_INTERN PetscErrorCode BAIGatherSetUp(BAI *, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode BAIGatherDestroy(BAI *);
PETSC_INTERN PetscBool      BAIIsGathered(const BAI *);
PETSC_INTERN BAI           *BAIGatherWorker(BAI *);
PETSC_INTERN PetscErrorCode BAIGatherView(BAI *, PetscViewer);

/* gather_matrix.c */
PETSC_INTERN PetscErrorCode BAIGatherGetDA(const BAI *, DM *);
PETSC_INTERN PetscErrorCode BAIGatherCreateMat(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIGatherUpdateMat(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIGatherDestroyMat(BAI *);
PETSC_INTERN PetscErrorCode BAIGatherForward(BAI *, Vec, Vec);
PETSC_INTERN PetscErrorCode BAIGatherSend(BAI *, Vec, Vec);
PETSC_INTERN PetscErrorCode BAIGatherReverse(BAI *, Vec, PetscBool);

/* gather_shared.c */
PETSC_INTERN PetscErrorCode BAIGatherShare(BAI *, Mat);
PETSC_INTERN PetscErrorCode BAIGatherUnshare(BAI *);
PETSC_INTERN PetscErrorCode BAIGatherPut(BAI *, Vec, Vec);
PETSC_INTERN PetscErrorCode BAIGatherOffer(BAI *);
PETSC_INTERN PetscErrorCode BAIGatherTake(BAI *, Vec, PetscBool);

/* gather_sync.c */
PETSC_INTERN PetscErrorCode BAIGatherBegin(BAI *);
PETSC_INTERN PetscErrorCode BAIGatherEnd(BAI *, PetscErrorCode, BAIGatherNews *);
PETSC_INTERN PetscErrorCode BAIGatherTell(BAI *, BAIGatherNews *);
PETSC_INTERN PetscErrorCode BAIGatherSuspend(BAI *);
PETSC_INTERN PetscErrorCode BAIGatherResume(BAI *);

PETSC_INTERN PetscErrorCode KSPSolve_BAIGathered(KSP);
