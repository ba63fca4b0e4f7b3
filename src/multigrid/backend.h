/*
   The operations that a backend of levels implements, see levels.h
*/
#pragma once

#include "levels.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct BAILevelsState_ *BAILevelsState;

/* A function is NULL if the backend does not have that operation */
typedef struct {
  BAIStatus (*Create)(const BAIMatrix *, const BAILevelsParameters *, BAILevelsState *);
  void (*Destroy)(BAILevelsState);
#define BAI_LEVELS_OPERATION(name, parameters, arguments) BAIStatus (*name)(BAILevelsState parameters);
#include "ops.def"
} BAILevelsOps;

BAILevelsState BAILevelsStateOf(BAILevels); /* NULL of NULL */

/* The build file decides which file defines BAILevelsCUDA */
extern const BAILevelsOps BAILevelsHost, BAILevelsCUDA;

#if defined(__cplusplus)
}
#endif
