/*
   Stands in for the CUDA backend where the library is built without nvcc: it can do nothing, and so nothing is created
*/
#include "../../multigrid/backend.h"
#include "../shared.h"

const BAIBackendOps BAIBackendCUDA = {0};
const BAISharedOps  BAISharedCUDA  = {0};
const BAILevelsOps  BAILevelsCUDA  = {0};
