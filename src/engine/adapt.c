/*
   The rules of adapt.h for the host
*/
#define BAI_ADAPT_FUNCTION
#include "adapt_rules.h"

BAIStatus BAIAdaptReplay(const BAIGoal *goal, int n, const double *rnorm2, BAIDecision *decisions)
{
  BAIAdaptReplayAll(goal, n, rnorm2, decisions);
  return BAIStatusOf(BAI_OK);
}
