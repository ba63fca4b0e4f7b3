/*
   Running sums and sorted numbers on the device, by CUB: in one unit, so that its kernels are there once. All is in the
   order of the state's stream
*/
#pragma once

#include "state.h"

typedef unsigned long long BAIKey;

/* sums[k] becomes what comes before from[k]; both may be the same array */
BAIStatus BAIScan(BAIState, int n, const int *from, int *sums);

/* By the bits begin <= bit < end. Keys that are equal there stay in their order. Both arrays have n keys, and *sorted is
 * one of them */
BAIStatus BAISortKeys(BAIState, int n, int begin, int end, BAIKey *keys, BAIKey *other, BAIKey **sorted);

/* Of sorted keys, without their lowest bits, so many of shift: distinct[k] becomes the number of different ones among
 * the first k, for k = 0, ..., n. *last is distinct[n], on the host */
BAIStatus BAICountDistinct(BAIState, int n, int shift, const BAIKey *sorted, int *distinct, int *last);
