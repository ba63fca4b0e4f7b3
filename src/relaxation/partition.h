/*
   Partitions of n rows into blocks, except blocks of consecutive rows. All arrays are on the host; first has room for n
   + 1 numbers and row for n. In each block, rows with few entries outside it come first, so that neighbouring rows have
   similar lengths
*/
#pragma once

#include "engine.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Blocks of block_size rows, each grown from the first row left along the strongest couplings |a_ij|, or couplings of 1
   without a */
BAIStatus BAIPartitionGraph(BAIInt n, const BAICSR *, BAIInt block_size, BAIInt *blocks, BAIInt *first, BAIInt *row);
/*
   Estimates which fractions of the sum of |a_ij|, j != i, such grown blocks and blocks of consecutive rows leave
   outside, from a few blocks grown from rows spread over the matrix. It returns equal estimates, from some rows, if
   these show that little is outside or that couplings are alike
*/
BAIStatus BAIPartitionTry(BAIInt n, const BAICSR *, BAIInt block_size, double *consecutive, double *grown);

#if defined(__cplusplus)
}
#endif
