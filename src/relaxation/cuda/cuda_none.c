/*
   Stands in for the CUDA backend where the library is built without nvcc
*/
#include "../../multigrid/backend.h"
#include "../shared.h"
#include <stddef.h>

static BAIStatus Create(const BAIMatrix *matrix, const BAIPartition *partition, const BAIParameters *parameters,
                        BAIState *state)
{
  (void)matrix;
  (void)partition;
  (void)parameters;
  *state = NULL;
  return BAIStatusOf(BAI_ERR_NOT_BUILT);
}

/* Nothing else can be called, as nothing can be created */
const BAIBackendOps BAIBackendCUDA = {.create = Create};

static BAIStatus CreateShared(size_t bytes, BAIShared *shared, BAISharedHandle *handle)
{
  (void)bytes;
  (void)shared;
  (void)handle;
  return BAIStatusOf(BAI_ERR_NOT_BUILT);
}

const BAISharedOps BAISharedCUDA = {.create = CreateShared};

static BAIStatus CreateLevels(const BAIMatrix *matrix, const BAILevelsParameters *parameters, BAILevelsState *state)
{
  (void)matrix;
  (void)parameters;
  *state = NULL;
  return BAIStatusOf(BAI_ERR_NOT_BUILT);
}

const BAILevelsOps BAILevelsCUDA = {.Create = CreateLevels};
