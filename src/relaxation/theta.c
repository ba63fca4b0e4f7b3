#include "theta.h"
#include "tuning.h"

/* A block without outside couplings is solved best by many sweeps, so its theta is large but finite */
static double ThetaOf(BAIReal inside, BAIReal outside)
{
  return (double)inside < BAI_THETA_MOST * (double)outside ? (double)inside / (double)outside
                                                           : (inside > 0 ? BAI_THETA_MOST : 0);
}

/* Computes iters and returns their sum. below is the factor for blocks below the mean, scale the factor for all */
static int64_t Sweeps(BAIInt blocks, const BAIReal *inside, const BAIReal *outside, double mean, double below,
                      double scale, BAIInt local_iters, BAIInt *iters)
{
  int64_t sum = 0;

  for (BAIInt k = 0; k < blocks; k++) {
    const double theta  = ThetaOf(inside[k], outside[k]),
                 wanted = (theta < mean ? below : 1) * scale * (double)local_iters * theta / mean;

    iters[k] = wanted < BAI_THETA_SWEEPS * (double)local_iters ? (BAIInt)wanted : BAI_THETA_SWEEPS * local_iters;
    if (iters[k] < 1) iters[k] = 1;
    sum += iters[k];
  }
  return sum;
}

int64_t BAITheta(BAIInt blocks, const BAIReal *inside, const BAIReal *outside, BAIInt local_iters, BAIInt *iters)
{
  const int64_t most = (int64_t)blocks * local_iters;
  double        mean = 0, below = 1, scale = 1;
  int64_t       sum;

  for (BAIInt k = 0; k < blocks; k++) mean += ThetaOf(inside[k], outside[k]) / (double)blocks;
  if (mean <= 0) mean = 1;
  while (10 * (sum = Sweeps(blocks, inside, outside, mean, below, scale, local_iters, iters)) >
           BAI_THETA_TENTHS * most &&
         below > BAI_THETA_KEPT)
    below *= BAI_THETA_BELOW;
  for (; sum > most; sum = Sweeps(blocks, inside, outside, mean, below, scale, local_iters, iters))
    scale *= BAI_THETA_ALL;
  return sum;
}
