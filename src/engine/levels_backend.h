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
  BAIStatus (*visit)(BAILevelsState, const BAIScalar *r, BAIScalar *z);
  BAIStatus (*aggregates)(BAILevelsState, BAIInt *aggregate);
  BAIStatus (*solve)(BAILevelsState, const BAIScalar *b, BAIScalar *x, int guess_zero, const BAITolerances *,
                     BAILevelsMonitor, void *context, BAILevelsSolution *);
  BAIStatus (*columns)(BAILevelsState, const BAIColumns *, int guess_zero, const BAITolerances *,
                       BAILevelsSolution *); /* NULL: nothing stays on a chip */
  void (*info)(BAILevelsState, BAILevelsInfo *);
  void (*destroy)(BAILevelsState);
} BAILevelsOps;

/* The build file decides which file defines BAILevelsCUDA */
extern const BAILevelsOps BAILevelsHost, BAILevelsCUDA;

#if defined(__cplusplus)
}
#endif
