/*
   How rows become blocks, where they are not simply taken as they are numbered. All arrays are on the host; first has
   room for n + 1 numbers and row for n, n being the rows. Inside a block, rows with few entries outside it come first:
   rows of like length lie side by side
*/
#pragma once

#include "engine.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
   Boxes of a grid of m[0] x m[1] x m[2] points, x fastest, with dof rows each: of nearly equal size, of at most
   block_size rows, and so shaped that they cut the fewest links between points
*/
BAIStatus BAIPartitionBoxes(const BAIInt m[3], BAIInt dof, BAIInt block_size, BAIInt *blocks, BAIInt *first,
                            BAIInt *row);
/* Blocks of block_size rows, each grown from the first row that is left along the strongest couplings |a_ij|, or,
 * without a, as if all were 1 */
BAIStatus BAIPartitionGraph(BAIInt n, const BAICSR *, BAIInt block_size, BAIInt *blocks, BAIInt *first, BAIInt *row);
/*
   The parts of the sum of |a_ij|, j != i, that such blocks would leave outside, and that blocks of consecutive rows do:
   in the rows of a few blocks, grown from rows spread over all of them, each as if it were the first. Both are the
   same, of some rows, where a look at these shows that it is not worth trying: little is outside, or couplings are
   alike
*/
BAIStatus BAIPartitionTry(BAIInt n, const BAICSR *, BAIInt block_size, double *consecutive, double *grown);
/* Blocks of block_size consecutive rows */
void BAIPartitionNatural(BAIInt n, BAIInt block_size, BAIInt *blocks, BAIInt *first, BAIInt *row);
/* Blocks of block_size consecutive ones of the rows in the order in which row has them already */
BAIStatus BAIPartitionOrder(BAIInt n, const BAICSR *, BAIInt block_size, BAIInt *blocks, BAIInt *first, BAIInt *row);
/*
   Extends each block of a partition without overlap by the rows that it couples to over at most overlap steps: first
   and own of the extended blocks, and, unless it is NULL, in extended their rows. A first call without it says in
   first how much room it needs
*/
BAIStatus BAIPartitionOverlap(BAIInt n, const BAICSR *, BAIInt overlap, const BAIPartition *, BAIInt *first,
                              BAIInt *own, BAIInt *extended);

#if defined(__cplusplus)
}
#endif
