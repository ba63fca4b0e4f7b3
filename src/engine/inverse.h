/*
   The inverse of the matrix of a coarse problem, on the host
*/
#pragma once

#include "engine.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* a, of m rows and columns, in place; by rows or by columns. BAI_ERR_COARSE: there is none, or single precision, to
 * which it is to be rounded, does not hold it */
BAIStatus BAIInvert(int m, BAIScalar *a);

#if defined(__cplusplus)
}
#endif
