/* Prefix sums and sorting on the device by CUB, in one unit so that its kernels exist only once, in stream order */
#pragma once

#include "context.h"

typedef unsigned long long BAIKey;

/* A prefix sum: sums[k] is the sum of from[0] to from[k - 1], k < n; the arrays may be the same */
typedef struct {
  long long  n;
  const int *from;
  int       *sums;
} BAISums;

enum {
  BAI_SUMS_MOST = 64 /* largest number of prefix sums of a call */
};

/* Makes count prefix sums, of which the short ones share one launch */
BAIStatus BAIScans(BAIContext *, int count, const BAISums *);
BAIStatus BAIScan(BAIContext *, long long n, const int *from, int *sums);

/* Sizes of a slice, or after summation the begins of its parts */
typedef struct {
  long long loc, off, off_j, long_rows, pieces, rest, nnz_local, nnz_off;
} BAIExtent;

/* extent[k] becomes the sum of the previous extents */
BAIStatus BAIScanExtents(BAIContext *, int n, BAIExtent *extent);

/* Sorts keys in ascending order, in place */
BAIStatus BAISort(BAIContext *, int n, BAIKey *keys);

/* 100 times the compute capability that the code running on the current device was compiled for, not translated to by
   the driver */
BAIStatus BAICodeVersion(int *version);
