/*
   The rules of adapt.h as kernels have them, for norms known beforehand: see BAIBackendReplay()
*/
#include "../adapt_rules.h"
#include "state.h"

static __global__ void Replay(BAIGoal goal, int n, const double *rnorm2, BAIDecision *decisions)
{
  BAIAdaptReplayAll(&goal, n, rnorm2, decisions);
}

BAIStatus BAICUDAReplay(const BAIGoal *goal, int n, const double *rnorm2, BAIDecision *decisions)
{
  struct BAIState_ state = {}; /* the default stream */
  BAITemporary     norms, found;

  BAITry(norms.Allocate(&state, (size_t)n * sizeof(*rnorm2)));
  BAITry(found.Allocate(&state, (size_t)n * sizeof(*decisions)));
  CUDATry(cudaMemcpy(norms.p, rnorm2, (size_t)n * sizeof(*rnorm2), cudaMemcpyHostToDevice));
  Replay<<<1, 1>>>(*goal, n, (const double *)norms.p, (BAIDecision *)found.p);
  CUDATry(cudaGetLastError());
  CUDATry(cudaMemcpy(decisions, found.p, (size_t)n * sizeof(*decisions), cudaMemcpyDeviceToHost));
  return BAIStatusOf(BAI_OK);
}
