#include "crs.h"

const char *CRSIterateDevice(const CRS *m, const double *b, double *x, int local_iters, int its, double *seconds)
{
  (void)m;
  (void)b;
  (void)x;
  (void)local_iters;
  (void)its;
  *seconds = 0;
  return "built without nvcc";
}
