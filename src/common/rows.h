/* Compressed rows of a matrix, for host and device */
#pragma once

#include "types.h"

/* Type of numbers of rows and entries: 32 bits on a device */
#if defined(__cplusplus)
typedef int BAIIndex;
#else
typedef BAIInt BAIIndex;
#endif

/* Compressed rows, whose columns from n on are ghosts. The arrays may belong to the caller, and are then not written */
typedef struct {
  BAIIndex   n, ghosts;
  int64_t    nnz;
  BAIIndex  *i, *j;
  BAIScalar *a;
} BAIRows;
