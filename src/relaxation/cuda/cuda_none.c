/* Replaces the CUDA backend in builds without nvcc: it has no operations, so nothing can be created */
#include "../../multigrid/backend.h"
#include "../shared.h"

const BAIBackendOps BAIBackendCUDA = {0};
const BAISharedOps  BAISharedCUDA  = {0};
const BAILevelsOps  BAILevelsCUDA  = {0};
