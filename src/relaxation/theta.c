#include "theta.h"

/* A block that nothing couples to is solved best by many sweeps */
static double ThetaOf(BAIReal inside, BAIReal outside)
{
  const double most = 1e3;

  return (double)inside < most * (double)outside ? (double)inside / (double)outside : (inside > 0 ? most : 0);
}

/* below: part of their sweeps that blocks below the mean keep; scale: that all keep */
static int64_t Sweeps(BAIInt blocks, const BAIReal *inside, const BAIReal *outside, double mean, double below,
                      double scale, BAIInt local_iters, BAIInt *iters)
{
  int64_t sum = 0;

  for (BAIInt k = 0; k < blocks; k++) {
    const double theta  = ThetaOf(inside[k], outside[k]),
                 wanted = (theta < mean ? below : 1) * scale * (double)local_iters * theta / mean;

    iters[k] = wanted < 4 * (double)local_iters ? (BAIInt)wanted : 4 * local_iters;
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
  while (10 * (sum = Sweeps(blocks, inside, outside, mean, below, scale, local_iters, iters)) > 9 * most && below > 0.5)
    below *= 0.98;
  for (; sum > most; sum = Sweeps(blocks, inside, outside, mean, below, scale, local_iters, iters)) scale *= 0.95;
  return sum;
}
