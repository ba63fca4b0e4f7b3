/*
   Aggregates of rows along strong couplings, for a coarse problem with an unknown or more for each: PETSc's own are made of rows at distance two at most, these of hundreds

   Row j is a strong neighbour of row i != j if 4 |a_ij| >= |a_ik| for all k != i, and a_ij is not zero. A row sees what its strong neighbours see, a step at a time. Roots are rows of which none
   sees another within reach steps, found as in N. Bell, S. Dalton, L. N. Olson, "Exposing fine-grained parallelism in algebraic multigrid methods", SIAM J. Sci. Comput. 34, 2012: an undecided row
   with the largest key that it sees within reach becomes a root, and one that sees a root never becomes one. Each other row is of the aggregate of the root that it sees first. A row without
   strong neighbours is of none; any other sees some root in the end, as the largest key is a root wherever all see each other.

   What is compared is whole numbers, and magnitudes without rounding; so host and device find the same aggregates, whatever the number of threads
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
   At most so many aggregates as wanted, and, where steps as whole numbers allow that, no less than half as many; none if even the largest reach leaves more, also if all couplings are strong.
   aggregate[n] is the aggregate of each row, or -1; they are numbered in the order of their roots. A is on the host. As many threads as OpenMP has now
*/
BAIStatus BAIAggregate(BAIInt n, const BAICSR *A, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate);
/* The same on a device, in the order of the state's stream: A and aggregate are there */
BAIStatus BAICUDAAggregate(BAIState, const BAICSR *A, int n, int wanted, int *aggregates, int *aggregate);
/* BAIBackendAggregate() for each of the two */
BAIStatus BAIAggregateMatrix(const BAIMatrix *, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate);
BAIStatus BAICUDAAggregateMatrix(const BAIMatrix *, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate);

enum {
  BAI_AGGREGATE_REACH  = 64, /* at most */
  BAI_AGGREGATE_PASSES = 7   /* in which a row looks as far as it sees, and may be decided; few are left undecided then, and they see some root a little further away */
};

/* What finding them takes, on the host or on a device; ctx is its own */
typedef struct {
  BAIStatus (*relate)(void *ctx, int all);                     /* finds the strong neighbours, or takes all */
  BAIStatus (*look)(void *ctx, int from, int to, int alone[]); /* steps from + 1 to to; alone[k]: rows with strong neighbours that have the largest key within k steps */
  BAIStatus (*choose)(void *ctx, int reach, int *roots);       /* counts the roots of this reach */
  BAIStatus (*keep)(void *ctx);                                /* those chosen last are the best so far */
  BAIStatus (*assign)(void *ctx, int aggregates, int reach);   /* gives each row the aggregate of a root kept, or -1 */
} BAIAggregator;

/* The reach is searched for here, for all */
BAIStatus BAIAggregateBy(const BAIAggregator *, void *ctx, int n, BAIInt wanted, int *aggregates);

/* Exact, and with one rounding for complex numbers */
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

/* The word of a row: its key while it is undecided; no key is one of the other two */
#define BAI_AGGREGATE_NONE 0u /* it is no root */
#define BAI_AGGREGATE_ROOT UINT32_MAX

/* Multiplicative hashing (D. E. Knuth, The Art of Computer Programming 3, Section 6.4), twice: no two rows have the same, and it is not NONE or ROOT for 0 <= row < INT_MAX */
BAI_INLINE uint32_t BAIAggregateKey(int row)
{
  uint32_t key = (uint32_t)row + 1;

  key *= 2654435769u;
  key ^= key >> 16;
  key *= 2246822519u;
  return key ^ key >> 15;
}

/* Before the passes that follow the first: alone is the last step at which the row has the largest key that it sees; negative if it has no strong neighbour */
BAI_INLINE uint32_t BAIAggregateBegin(int row, int alone, int reach)
{
  return alone < 0 ? BAI_AGGREGATE_NONE : alone >= reach ? BAI_AGGREGATE_ROOT : BAIAggregateKey(row);
}

/* After a pass in which the largest word seen was that */
BAI_INLINE uint32_t BAIAggregateDecide(uint32_t word, uint32_t seen)
{
  if (word == BAI_AGGREGATE_NONE || word == BAI_AGGREGATE_ROOT) return word;
  return seen == BAI_AGGREGATE_ROOT ? BAI_AGGREGATE_NONE : seen == word ? BAI_AGGREGATE_ROOT : word;
}

#if defined(__cplusplus)
}
#endif
