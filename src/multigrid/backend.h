/* The operations that a backend of levels implements, see levels.h */
#pragma once

#include "levels.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct BAILevelsState_ *BAILevelsState;

/* The functions of a backend; NULL for operations that it does not have. Create makes the state with the finest level
   only; the steps of ops.def make the others. With p->resident it puts the matrix on the chip, or returns BAI_ERR_CHIP.
   The new state is NULL after an error. Of the caller's arrays in p, ghost and mode are not read later, and aggregate
   and field not after Finish */
typedef struct {
  BAIStatus (*Create)(const BAIMatrix *, const BAILevelsParameters *, BAILevelsState *);
  void (*Destroy)(BAILevelsState);
  /* see BAILevelsStoreMatrix() */
  BAIStatus (*StoreMatrix)(const BAIMatrix *, const BAIPart *, int device, void *stream);
  /* see BAILevelsLookAtFields() */
  BAIStatus (*LookAtFields)(const BAIMatrix *, const BAIPoints *, int device, void *stream, BAIFieldLook *);
#define BAI_LEVELS_OPERATION(name, parameters, arguments) BAIStatus (*name)(BAILevelsState parameters);
#include "ops.def"
} BAILevelsOps;

struct BAILevels_ {
  const BAILevelsOps *ops;
  BAILevelsState      state;
  BAILevelsParameters p;
};

/* NULL for NULL */
static inline BAILevelsState BAILevelsStateOf(BAILevels levels)
{
  return levels ? levels->state : NULL;
}

/* cuda/levels.cu or relaxation/cuda/cuda_none.c defines BAILevelsCUDA */
extern const BAILevelsOps BAILevelsHost, BAILevelsCUDA;

#if defined(__cplusplus)
}
#endif
