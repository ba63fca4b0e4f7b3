/*
   Aggregates of rows along strong couplings: each is an unknown of a coarse problem, or some of them

   Row j is a strong neighbour of row i != j if 4 |a_ij| >= |a_ik| for all k != i, and a_ij is not zero. A row sees what
   its strong neighbours see, a step at a time. Each row has a key, as if at random. The roots of the aggregates are the
   rows with the largest key that they see within reach steps. Each other row goes with the root that it sees first. A
   row without strong neighbours is in no aggregate. Any other sees a root in the end: where rows see each other and no
   others, that with the largest key.

   Where couplings go both ways, roots are more than reach steps apart, but there may be room for more of them. To find
   these takes several times as long: N. Bell, S. Dalton, L. N. Olson, "Exposing fine-grained parallelism in algebraic
   multigrid methods", SIAM J. Sci. Comput. 34, 2012. As many aggregates without them serve the coarse problem as well.

   Whole numbers are compared, and magnitudes, as far as those have no rounding that could differ. So host and device
   find the same aggregates, whatever the number of threads
*/
#pragma once

#include "engine.h"
#if defined(PETSC_USE_COMPLEX) && !defined(__cplusplus)
  #include <complex.h>
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/*
   At most as many aggregates as wanted, of the least reach that leaves no more; none if the largest reach leaves more,
   and does so too if all couplings are strong. aggregate[n] is the aggregate of each row, or -1; they are numbered in
   the order of their roots. A is on the host. As many threads as OpenMP has now
*/
BAIStatus BAIAggregate(BAIInt n, const BAICSR *A, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate);
/* The same on a device, in the order of the state's stream: A and aggregate are there */
BAIStatus BAICUDAAggregate(BAIState, const BAICSR *A, int n, int wanted, int *aggregates, int *aggregate);
/* BAIBackendAggregate() for each of the two */
BAIStatus BAIAggregateMatrix(const BAIMatrix *, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate);
BAIStatus BAICUDAAggregateMatrix(const BAIMatrix *, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate);

enum {
  BAI_AGGREGATE_REACH = 64 /* at most */
};

/* What finding them takes, on the host or on a device; ctx is its own */
typedef struct {
  BAIStatus (*relate)(void *ctx, int all); /* finds the strong neighbours, or takes all */
  BAIStatus (*look)(void *ctx, int from, int to,
                    int roots[]); /* takes steps from + 1 to to; roots[k]: how many there are for a reach of k */
  BAIStatus (*assign)(void *ctx, int aggregates, int reach); /* gives each row its aggregate, or -1 */
} BAIAggregator;

/* The search for the reach, the same for both */
BAIStatus BAIAggregateBy(const BAIAggregator *, void *ctx, int n, BAIInt wanted, int *aggregates);

/* Exact; of a complex number the sum of its parts, with one rounding */
BAI_INLINE BAIReal BAIAggregateMagnitude(BAIScalar a)
{
#if defined(PETSC_USE_COMPLEX)
  #if defined(__cplusplus)
  const BAIReal re = a.real(), im = a.imag();
  #else
  const BAIReal re = (BAIReal)creal(a), im = (BAIReal)cimag(a);
  #endif

  return (re < 0 ? -re : re) + (im < 0 ? -im : im);
#else
  return a < 0 ? -a : a;
#endif
}

/* magnitude of an entry off the diagonal, largest of those in its row */
BAI_INLINE int BAIAggregateIsStrong(BAIReal magnitude, BAIReal largest, int all)
{
  return magnitude > 0 && (all || 4 * magnitude >= largest);
}

/* Multiplicative hashing (D. E. Knuth, The Art of Computer Programming 3, Section 6.4), twice: no two rows have the
 * same key, and none has 0 */
BAI_INLINE uint32_t BAIAggregateKey(int row)
{
  uint32_t key = (uint32_t)row + 1;

  key *= 2654435769u;
  key ^= key >> 16;
  key *= 2246822519u;
  return key ^ key >> 15;
}

#if defined(__cplusplus)
}
#endif
