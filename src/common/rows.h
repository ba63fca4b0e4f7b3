/*
   Compressed rows of a matrix, for host and devices
*/
#pragma once

#include "types.h"

/* Numbers of rows and entries: on a device they are of 32 bits */
#if defined(__cplusplus)
typedef int BAIIndex;
#else
typedef BAIInt BAIIndex;
#endif

/* Columns from n on are ghosts. The arrays may be the caller's, and are not written to then */
typedef struct {
  BAIIndex   n, ghosts;
  int64_t    nnz;
  BAIIndex  *i, *j;
  BAIScalar *a;
} BAIRows;
