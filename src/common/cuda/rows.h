/*
   Compressed rows on a device, and grids of threads
*/
#pragma once

#include "context.h"

/* Compressed rows as they were made; columns from n on are ghosts */
typedef struct {
  int              n, ghosts;
  long long        nnz;
  const int       *i, *j;
  const BAIScalar *a;
} BAIDeviceRows;

/* Thread blocks for this many threads; at least one */
static inline dim3 BAIGrid(long long threads, int block)
{
  return dim3((unsigned)((threads + block - 1) / block > 0 ? (threads + block - 1) / block : 1));
}
