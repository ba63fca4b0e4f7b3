/*
   The rules of adapt.h for the host
*/
#define BAI_ADAPT_FUNCTION
#include "adapt_rules.h"

double BAIAdaptFirstBeta(void)
{
  return BAIAdaptBetaOf(BAIAdaptNumbersOf().kappa);
}

double BAIAdaptLessBeta(double beta)
{
  const double less = 2. / 3, least = 4, kappa = less * BAIAdaptKappa(beta);

  return kappa < least ? 0 : BAIAdaptBetaOf(kappa);
}

BAIStatus BAIAdaptReplay(const BAIGoal *goal, int n, const double *rnorm2, BAIDecision *decisions)
{
  BAIAdaptReplayAll(goal, n, rnorm2, decisions);
  return BAIStatusOf(BAI_OK);
}
