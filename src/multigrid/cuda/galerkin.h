/* The rows of a Galerkin product C = P^H A P, where P is 1 on aggregates of rows: what short and long rows share */
#pragma once

#include "levels.h"
#include "../../common/cuda/atomic.h"

/* The findings of threads that make rows of C: the sum of their columns and the largest number, and the number of long
   rows */
struct BAIFound {
  unsigned long long columns;
  int                longest, longs;
};

/* Adds a row of this number of columns to the findings */
static __device__ inline void BAIFind(BAIFound *found, int columns)
{
  if (!found) return;
  atomicAdd(&found->columns, (unsigned long long)columns);
  BAIRaiseTo(&found->longest, columns);
}

/* A product C = P^H A P, made in two steps. First FindShort() finds the columns of short rows of C, and MakeLong()
   counts those of long rows. Where a row of C begins depends on how many columns all rows before it have, so
   FindShort() stores column number u of row c at staged[u*m + c]. Then SumShort() and MakeLong() compute the values. If
   C has its columns already, only that is done, and staged is NULL */
struct BAIProduct {
  BAIRows    A, C;
  BAIMembers members;
  int        m;                          /* aggregates */
  const int *aggregate, *ghost, *member; /* aggregate of each row, and of each ghost; number of the ghost in it */
  int        ghosts;                     /* columns of ghosts in C */
  bool       magnitudes, counts, sums;   /* count only the columns of long rows; compute values */
  BAISides   sides;                      /* side is NULL if they are not wanted */
  int       *count;                      /* m + 1: columns of each row, and 0 */
  int       *longs;                      /* numbers of long rows */
  BAIFound  *found;                      /* NULL: findings are not wanted */
  int       *staged;
};

/* The column of C that a column of A belongs to, or -1 */
static __device__ inline int BAIColumnOf(const BAIProduct &p, int j)
{
  return j < 0 ? -1 : j < p.A.n ? p.aggregate[j] : p.ghost ? p.ghost[j - p.A.n] : -1;
}

/* The number that an entry of A adds to a sum */
static __device__ inline BAIScalar BAIValueOf(const BAIProduct &p, BAIScalar a)
{
  return p.magnitudes ? BAIScalar(BAIAggregateMagnitude(a)) : a;
}

/* The bit of a ghost column of A in the set of the ghosts of its aggregate; 0 for other columns */
static __device__ inline unsigned BAIBitOf(const BAIProduct &p, int j)
{
  return j >= p.A.n ? 1u << p.member[j - p.A.n] : 0;
}

/* The member of an aggregate at this place of the list */
static __device__ inline int BAIMemberAt(const BAIProduct &p, int at)
{
  return p.members.row ? p.members.row[at] : at;
}

/* The places of the members of an aggregate in the list are begin to end - 1 */
struct BAIRange {
  int begin, end;
};

static __device__ inline BAIRange BAIMembersAt(const BAIMembers &of, int c)
{
  if (of.first) {
    const int g = of.place ? of.place[c * of.columns] / of.columns : c;

    return {of.first[g], of.first[g + 1]};
  }
  BAIRange at = {c * of.each, c * of.each + of.each};

  while (of.row && at.end > at.begin && of.row[at.end - 1] < 0) at.end--;
  return at;
}

/* The data of an aggregate with this number of rows, but for whether its row is dominant. inner is the sum of the
   magnitudes of the entries between different rows of the aggregate, and inside is their number */
static __device__ inline BAILevelsSide BAISideOf(int rows, BAIReal inner, int inside)
{
  return {inside ? inner / (BAIReal)inside : 0, rows, 0};
}

/* The numbers of long rows, those with too many columns for the fast way to make them; NULL: all rows, which are
   count */
typedef struct {
  const int *row;
  int        count;
} BAILongRows;

/* longrows.cu: count the columns of the long rows, or make these rows, which have at most widest columns */
BAIStatus BAIMakeLongRows(BAILevelsState, const BAIProduct &, const BAILongRows &longs, int widest);
