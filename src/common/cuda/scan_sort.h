/*
   Running sums and sorted numbers on the device, by CUB: in one unit, so that its kernels are there once. All is in the
   order of the context's stream
*/
#pragma once

#include "context.h"

typedef unsigned long long BAIKey;

/* sums[k] becomes what comes before from[k]; both may be the same array */
BAIStatus BAIScan(BAIContext *, long long n, const int *from, int *sums);

/* Sizes of a slice, and, summed up, where its parts begin */
typedef struct {
  long long loc, off, off_j, long_rows, pieces, rest, nnz_local, nnz_off;
} BAIExtent;

/* extent[k] becomes what comes before it */
BAIStatus BAIScanExtents(BAIContext *, int n, BAIExtent *extent);

/* Keys and what belongs to each, by the bits below end of the keys; those with the same key stay in their order */
BAIStatus BAISortPairs(BAIContext *, long long n, int end, const BAIKey *keys, BAIKey *sorted, const unsigned *values,
                       unsigned *sorted_values);

/* Of sorted keys: distinct[k] becomes the number of different ones among the first k, for k = 0, ..., n. *last is
 * distinct[n], on the host */
BAIStatus BAICountDistinct(BAIContext *, int n, const BAIKey *sorted, int *distinct, int *last);

/* 100 times the compute capability that the code in use on the current device was written for, whatever the driver has
 * made of it */
BAIStatus BAICodeVersion(int *version);
