/*
   Rules for the examination of the matrix of the finest level. Host and device loop over its rows in their own ways and
   call these rules, so they find the same
*/
#pragma once

#include "rowrules.h"
#include <float.h>

/* Properties of a set of rows. The struct is copied as a whole, so it has no padding */
typedef struct {
  int64_t  bad;           /* first row whose diagonal entry is zero or missing */
  double   less, more;    /* sums of the magnitudes of negative couplings, and of the others */
  double   norm;          /* largest sum of magnitudes of a row */
  double   skew, coupled; /* see BAILevelsInfo */
  double   least, most;   /* smallest and largest magnitude of a diagonal entry */
  double   units2;        /* sum over rows of the squares whose root mean square is BAILevelsInfo.units */
  uint64_t pattern;       /* hash of the nonzero pattern */
  int      other;         /* number of rows that contradict a Hermitian matrix with a positive diagonal */
  int      opposite;      /* number of rows that contradict a Hermitian matrix with a negative diagonal */
  int      zeros;         /* number of zero rows */
  int      longest;       /* largest number of entries of a row */
} BAIFindings;

/* The findings of no row of a matrix of n rows */
BAI_INLINE BAIFindings BAIFindingsNone(BAIIndex n)
{
  const BAIFindings none = {n, 0, 0, 0, 0, 0, (double)INFINITY, 0, 0, 0, 0, 0, 0, 0};

  return none;
}

/* The findings of two sets of rows together */
BAI_INLINE BAIFindings BAIFindingsTogether(const BAIFindings *a, const BAIFindings *b)
{
  const BAIFindings both = {a->bad < b->bad ? a->bad : b->bad,
                            a->less + b->less,
                            a->more + b->more,
                            BAILargerNorm(a->norm, b->norm),
                            a->skew + b->skew,
                            a->coupled + b->coupled,
                            a->least < b->least ? a->least : b->least,
                            BAILargerNorm(a->most, b->most),
                            a->units2 + b->units2,
                            a->pattern + b->pattern,
                            a->other + b->other,
                            a->opposite + b->opposite,
                            a->zeros + b->zeros,
                            a->longest > b->longest ? a->longest : b->longest};

  return both;
}

/* Examines every step-th entry of a row from entry number first on. size is the sum of magnitudes of the row, begin the
   first global row of this rank, and ghost has the global numbers of ghosts. Returns whether some a_ij differs from
   conj(a_ji) by more than rounding; without search it looks up no a_ji */
BAI_INLINE int BAILookAtEntries(const BAIRows *A, BAIInt begin, const BAIInt *ghost, BAIIndex row, BAIReal size,
                                int first, int step, int search, BAIFindings *found)
{
  const BAIReal epsilon = BAI_LOOK_ROUNDING * (sizeof(BAIReal) > sizeof(float) ? DBL_EPSILON : FLT_EPSILON);
  int           other   = 0;

  for (BAIIndex k = A->i[row] + first; k < A->i[row + 1]; k += step) {
    const BAIIndex j = A->j[k];
    const BAIReal  w = BAIAggregateMagnitude(A->a[k]);

    /* ghosts count by their global numbers, with other bits than own columns */
    found->pattern += BAIHash((uint64_t)row << 32 ^ (j < A->n ? (uint64_t)j : ~(uint64_t)ghost[j - A->n])) ^
      (uint64_t)k;
    if (j == row) continue;
    if (BAIRealPart(A->a[k]) < 0) found->less += (double)w;
    else found->more += (double)w;
    if (j >= A->n) {
      found->coupled += (double)w;
      found->skew += BAILevelsSkew(A->a[k], begin + row, ghost[j - A->n]);
    } else if (search && !other) {
      other = !(BAIAggregateMagnitude(A->a[k] - BAIConj(BAIOpposite(A, row, k))) <= epsilon * (w + size));
    }
  }
  return other;
}

/* Adds the findings of a row, except of its single entries. d, sum and total are the results of
   BAIDiagonalAndTotal(), other of BAILookAtEntries() over all entries */
BAI_INLINE void BAILookAtRow(const BAIRows *A, BAIIndex row, BAIScalar d, BAIReal sum, BAIScalar total, int other,
                             BAIFindings *found)
{
  const BAIReal  magnitude = BAIAggregateMagnitude(d);
  const int      zero      = !(magnitude > 0) && !(sum > 0);
  const BAIIndex length    = A->i[row + 1] - A->i[row];

  if (BAILevelsIsBad(magnitude, sum) && row < found->bad) found->bad = row;
  found->norm = BAILargerNorm(found->norm, (double)(magnitude + sum));
  if ((double)magnitude < found->least) found->least = (double)magnitude;
  found->most = BAILargerNorm(found->most, (double)magnitude);
  if (magnitude > 0) {
    const double units = (double)BAIMixedUnits(sum / magnitude, total / d);

    found->units2 += units * units;
  }
  found->other += other || (!(BAIRealPart(d) > 0) && !zero);
  found->opposite += other || (!(BAIRealPart(d) < 0) && !zero);
  found->zeros += zero;
  if (length > found->longest) found->longest = (int)length;
}

/* Adds the findings of a row that is too long for levels: whether one can divide by its diagonal entry, and its
   length. It counts as a row that is not zero, as if the other entries had the sum 1 */
BAI_INLINE void BAILookAtLongRow(const BAIRows *A, BAIIndex row, BAIFindings *found)
{
  const BAIScalar d = BAIEntry(A, row, row);

  BAILookAtRow(A, row, d, 1, d, 0, found);
}

#if defined(__cplusplus)
extern "C" {
#endif

/* Turns the findings of n rows into info and the overcorrection factor over. With parameter like, what decides on the
   course of a cycle is as there: Hermitian or not, and the sign. BAI_ERR_DIAGONAL if a row is bad */
BAIStatus BAITakeFindings(const BAIFindings *, const BAILevelsParameters *, BAIInt n, BAILevelsInfo *, BAIReal *over);

#if defined(__cplusplus)
}
#endif
