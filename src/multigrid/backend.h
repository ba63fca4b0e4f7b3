/*
   What a backend of many levels implements, see levels.h
*/
#pragma once

#include "levels.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct BAILevelsState_ *BAILevelsState;

typedef struct {
  BAIStatus (*create)(const BAIMatrix *, const BAILevelsParameters *, BAILevelsState *);
  BAIStatus (*update)(BAILevelsState, const BAIMatrix *);
  BAIStatus (*apply)(BAILevelsState, const BAIScalar *r, BAIScalar *z);
  BAIStatus (*solve)(BAILevelsState, const BAIScalar *b, BAIScalar *x, int guess_zero, const BAITolerances *,
                     BAILevelsMonitor, void *context, BAILevelsSolution *);
  BAIStatus (*columns)(BAILevelsState, const BAIColumns *, int guess_zero, const BAITolerances *,
                       BAILevelsSolution *); /* NULL: nothing stays on a chip */
  BAIStatus (*agree)(BAILevelsState, const BAILevelsAgreed *);
  BAIStatus (*aggregate)(BAILevelsState, BAIInt *count);
  BAIStatus (*aggregates)(BAILevelsState, int level, BAIInt count, const BAIInt *row, BAIInt *aggregate);
  BAIStatus (*fields)(BAILevelsState, BAIInt *field);
  BAIStatus (*prolongation)(BAILevelsState, BAIInt count, const BAIInt *row, BAIScalar *P);
  BAIStatus (*modes)(BAILevelsState, BAIScalar *mode);
  BAIStatus (*product)(BAILevelsState, BAIInt ghosts, const BAIInt *aggregate, const BAIScalar *P);
  BAIStatus (*sides)(BAILevelsState, BAIInt count, const BAIInt *row, BAILevelsSide *side);
  BAIStatus (*soften)(BAILevelsState, const BAILevelsSide *side);
  BAIStatus (*matrix)(BAILevelsState, int level, BAIInt *n, BAIInt *nnz, BAIInt *i, BAIInt *j, BAIScalar *a);
  BAIStatus (*finish)(BAILevelsState, const BAILevelsRanks *);
  /* NULL: ranks do not reach each other's memory */
  BAIStatus (*share)(BAILevelsState, int ranks, const BAIInt *begin, size_t *bytes, BAILevelsAddress *);
  BAIStatus (*connect)(BAILevelsState, const BAILevelsPeers *);
  BAIStatus (*disconnect)(BAILevelsState);
  void (*info)(BAILevelsState, BAILevelsInfo *);
  void (*destroy)(BAILevelsState);
} BAILevelsOps;

BAILevelsState BAILevelsStateOf(BAILevels); /* NULL of NULL */

/* The build file decides which file defines BAILevelsCUDA */
extern const BAILevelsOps BAILevelsHost, BAILevelsCUDA;

#if defined(__cplusplus)
}
#endif
