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
  uint64_t mirror;        /* sum of BAIMirror() over the couplings of rows of this rank */
  int      other;         /* number of rows that contradict a Hermitian matrix with a positive diagonal, */
  int      opposite;      /* and of those that contradict one with a negative diagonal */
  int      zeros;         /* number of zero rows */
  int      longest;       /* largest number of entries of a row */
} BAIFindings;

/* The findings of no row of a matrix of n rows */
BAI_INLINE BAIFindings BAIFindingsNone(BAIIndex n)
{
  const BAIFindings none = {n, 0, 0, 0, 0, 0, (double)INFINITY, 0, 0, 0, 0, 0, 0, 0, 0};

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
                            a->mirror + b->mirror,
                            a->other + b->other,
                            a->opposite + b->opposite,
                            a->zeros + b->zeros,
                            a->longest > b->longest ? a->longest : b->longest};

  return both;
}

/* Adds the findings of a row, except of its single entries: d is its diagonal entry, sum the sum of the magnitudes of
   the others, and total the sum of all */
BAI_INLINE void BAILookAtSums(const BAIRows *A, BAIIndex row, BAIScalar d, BAIReal sum, BAIScalar total,
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
  found->other += !(BAIRealPart(d) > 0) && !zero;
  found->opposite += !(BAIRealPart(d) < 0) && !zero;
  found->zeros += zero;
  if (length > found->longest) found->longest = (int)length;
}

/* A hash of a coupling, whose number is not zero. The hashes of a_ij and a_ji cancel each other if these are conjugate
   numbers, and of others only by chance. So if the sum over all couplings is 0, the matrix is Hermitian */
BAI_INLINE uint64_t BAIMirror(BAIIndex row, BAIIndex col, BAIScalar a)
{
  const int       lower = col < row;
  const uint64_t  place = lower ? (uint64_t)col << 32 ^ (uint64_t)row : (uint64_t)row << 32 ^ (uint64_t)col;
  const BAIScalar upper = lower ? BAIConj(a) : a;
  uint64_t        hash  = BAIHash(place * BAI_HASH_STEP ^ BAIDoubleBits(BAIRealPart(upper)));

#if defined(PETSC_USE_COMPLEX)
  hash = BAIHash(hash ^ BAIDoubleBits(BAIImaginaryPart(upper) + 0)); /* 0 turns -0 into 0 */
#endif
  return lower ? -hash : hash;
}

/* Sums over the entries of a row */
typedef struct {
  BAIScalar d, total;  /* of diagonal entries, and of all */
  BAIReal   sum, less; /* of the magnitudes of the others, and of those with a negative real part */
  uint64_t  pattern;   /* a hash of the columns */
} BAIRowSums;

/* Adds an entry of a row to its sums. Ghosts count by their global numbers, with other bits than own columns */
BAI_INLINE void BAIAddEntry(const BAIRows *A, const BAIInt *ghost, BAIIndex row, BAIIndex k, BAIRowSums *s)
{
  const BAIIndex  j = A->j[k];
  const BAIScalar a = A->a[k];
  const BAIReal   w = BAIAggregateMagnitude(a);

  s->pattern = (s->pattern ^ (j < A->n ? (uint64_t)j : ~(uint64_t)ghost[j - A->n])) * BAI_HASH_STEP;
  s->pattern ^= s->pattern >> 32;
  s->total += a;
  if (j == row) s->d += a;
  else s->sum += w;
  if (j != row && BAIRealPart(a) < 0) s->less += w;
}

/* Adds what an entry shows by itself to the findings. The diagonal of a Hermitian matrix is real */
BAI_INLINE void BAILookAtEntry(const BAIRows *A, BAIInt begin, const BAIInt *ghost, BAIIndex row, BAIIndex k,
                               BAIFindings *found)
{
  const BAIIndex  j = A->j[k];
  const BAIScalar a = A->a[k];
  const BAIReal   w = BAIAggregateMagnitude(a);

  if (j == row && BAIImaginaryPart(a) == 0) return;
  if (j >= A->n) {
    found->coupled += (double)w;
    found->skew += BAILevelsSkew(a, begin + row, ghost[j - A->n]);
  } else if (w != 0) found->mirror += BAIMirror(row, j, a);
}

/* Examines a row. ghost has the global numbers of ghosts, and begin is the first global row of this rank. A row is
   examined by step calls with first from 0 on: each looks at its share of the single entries, and the first one at the
   row as a whole */
BAI_INLINE void BAILookAtRow(const BAIRows *A, BAIInt begin, const BAIInt *ghost, BAIIndex row, int first, int step,
                             BAIFindings *found)
{
  const BAIIndex end = A->i[row + 1];
  BAIRowSums     s   = {0, 0, 0, 0, (uint64_t)row};

  for (BAIIndex k = A->i[row]; k < end; k++) {
    BAIAddEntry(A, ghost, row, k, &s);
    if (step == 1) BAILookAtEntry(A, begin, ghost, row, k, found); /* while it is at hand */
  }
  if (step > 1)
    for (BAIIndex k = A->i[row] + first; k < end; k += step) BAILookAtEntry(A, begin, ghost, row, k, found);
  if (first) return;
  found->pattern += BAIHash(s.pattern);
  found->less += (double)s.less;
  found->more += (double)(s.sum - s.less);
  if (!(s.sum - s.sum == 0)) found->mirror++; /* infinite numbers and NaN are compared */
  BAILookAtSums(A, row, s.d, s.sum, s.total, found);
}

/* Whether a_ij and conj(a_ji) must be compared to know if the matrix is Hermitian: hashes differ, and the diagonal does
   not contradict */
BAI_INLINE int BAIMustCompare(const BAIFindings *found)
{
  return found->mirror && !(found->other && found->opposite);
}

/* Whether some a_ij of every step-th entry of a row, from entry number first on, differs from conj(a_ji) by more than
   rounding */
BAI_INLINE int BAIDiffersFromMirror(const BAIRows *A, BAIIndex row, int first, int step)
{
  const BAIReal epsilon = BAI_LOOK_ROUNDING * (sizeof(BAIReal) > sizeof(float) ? DBL_EPSILON : FLT_EPSILON);
  BAIReal       size;
  const BAIReal d = BAIAggregateMagnitude(BAIDiagonal(A, row, &size));

  for (BAIIndex k = A->i[row] + first; k < A->i[row + 1]; k += step) {
    if (A->j[k] >= A->n) continue;
    if (!(BAIAggregateMagnitude(A->a[k] - BAIConj(BAIOpposite(A, row, k))) <=
          epsilon * (BAIAggregateMagnitude(A->a[k]) + size + d)))
      return 1;
  }
  return 0;
}

/* Adds the findings of a row that is too long for levels: whether one can divide by its diagonal entry, and its
   length. It counts as a row that is not zero, as if the other entries had the sum 1 */
BAI_INLINE void BAILookAtLongRow(const BAIRows *A, BAIIndex row, BAIFindings *found)
{
  const BAIIndex  place = BAIPlaceOf(A, row, row);
  const BAIScalar d     = place < 0 ? 0 : A->a[place];

  BAILookAtSums(A, row, d, 1, d, found);
}

#if defined(__cplusplus)
extern "C" {
#endif

/* Turns the findings of n rows into info and the overcorrection factor over. differs: some a_ij differs from conj(a_ji)
   by more than rounding. With parameter like, what decides on the
   course of a cycle is as there: Hermitian or not, and the sign. BAI_ERR_DIAGONAL if a row is bad */
BAIStatus BAITakeFindings(const BAIFindings *, int differs, const BAILevelsParameters *, BAIInt n, BAILevelsInfo *,
                          BAIReal *over);

#if defined(__cplusplus)
}
#endif
