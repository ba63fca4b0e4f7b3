/* Prefix sums on the device, in stream order */
#pragma once

#include "context.h"

/* A prefix sum: sums[k] is the sum of from[0] to from[k - 1], k < n; the arrays may be the same */
typedef struct {
  long long  n;
  const int *from;
  int       *sums;
} BAISums;

enum {
  BAI_SUMS_MOST = 64 /* largest number of prefix sums of a call */
};

/* Makes count prefix sums together */
BAIStatus BAIScans(BAIContext *, int count, const BAISums *);
BAIStatus BAIScan(BAIContext *, long long n, const int *from, int *sums);

/* 100 times the compute capability that the code running on the current device was compiled for, not translated to by
   the driver */
BAIStatus BAICodeVersion(int *version);
