/*
   The rules by which hosts and devices find the same levels, see levels.h
*/
#pragma once

#include "levels.h"
#include "../common/damping.h"
#include "../common/hash.h"
#include <float.h>
#include <math.h>
#if defined(PETSC_USE_COMPLEX) && !defined(__cplusplus)
  #include <complex.h>
#endif

enum {
  BAI_MATCH_ROUNDS = 8,  /* of proposals in a pass, */
  BAI_MATCH_ROUGH  = 4,  /* and then some by rough weights; what has found nobody by then stays alone in this pass */
  BAI_MATCH_LONG   = 10, /* entries of a row on average; with more, a third pass makes aggregates of eight rows, as in
                            three dimensions, else they are of four */
  BAI_LEVELS_AGGREGATE = 12, /* rows or points of an aggregate at most: in its last pass a row may join two others */
  BAI_LEVELS_VISITS    = 4,  /* to a last level that is not solved exactly */
  BAI_LEVELS_PARTS     = 3,  /* a level must have fewer rows than the one above by this part at least */
  BAI_LEVELS_SMALL = 4096, /* levels of at most so many rows are visited by one cycle: another one would take as long as
                              on much larger ones */
  BAI_GRID_LOOKS   = 64,   /* rows from the middle on that are looked at for the numbering of a grid */
  BAI_FIT_PART     = 256,  /* aggregates are kept if at most one row in so many is no longer as it should be, or those
                              of an aggregate */
  BAI_GRID_ROW     = 64,   /* entries of such a row at most */
  BAI_LOOK_ROUNDING = 100, /* a_ij and conj(a_ji) may differ by so many roundings of the magnitudes of their row */
  BAI_SET           = 32   /* bits of a set of rows or points of an aggregate */
};

#define BAI_LEVELS_ALONE        ((BAIReal)1.25) /* Notay's bound for a two-level condition of 10: 10/(10 - 2) */
#define BAI_LEVELS_ALONE_BELOW  ((BAIReal)2)    /* coarse couplings are weaker than what they stand for */
#define BAI_LEVELS_SINGLE_RANGE 1e25            /* of the largest diagonal entry over the least one */
/* Of a mode's norm on an aggregate: what is left of it without the modes before it is rounding if it is less */
#define BAI_MODES_DEPENDENT   (sizeof(BAIReal) > sizeof(float) ? (BAIReal)1e-6 : (BAIReal)1e-3)
#define BAI_MODES_OVER        ((BAIReal)1.4)
#define BAI_LEVELS_OTHER_SIGN 0.5 /* with more positive couplings than that of the negative ones, none is softened */
/* Of new values less is asked than when aggregates are made, so that small changes are none: strong couplings may be
 * weaker by this factor, and rows dominate by so much less */
#define BAI_FIT_LESS    ((BAIReal)1.5)
#define BAI_GRID_STRONG 4   /* directions whose couplings are a quarter of the strongest ones are coarsened */
#define BAI_GRID_ALIKE  100 /* couplings in one direction that differ by more make no grid */

#if defined(__cplusplus) && defined(PETSC_USE_COMPLEX)
BAI_INLINE BAIScalar BAIConj(BAIScalar a)
{
  return BAIScalar(a.real(), -a.imag());
}
BAI_INLINE BAIReal BAIRealPart(BAIScalar a)
{
  return a.real();
}
#elif defined(PETSC_USE_COMPLEX)
BAI_INLINE BAIScalar BAIConj(BAIScalar a)
{
  return sizeof(BAIReal) > sizeof(float) ? (BAIScalar)conj(a) : (BAIScalar)conjf(a);
}
BAI_INLINE BAIReal BAIRealPart(BAIScalar a)
{
  return (BAIReal)creal(a);
}
#else
BAI_INLINE BAIScalar BAIConj(BAIScalar a)
{
  return a;
}
BAI_INLINE BAIReal BAIRealPart(BAIScalar a)
{
  return a;
}
#endif

/* Pivots of the last level that are smaller, relative to the diagonal entry, are rounding: the matrix is singular */
#define BAI_LEVELS_PIVOT (sizeof(BAIReal) > sizeof(float) ? (BAIReal)1e-10 : (BAIReal)1e-4)

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
BAI_INLINE int BAIAggregateIsStrong(BAIReal magnitude, BAIReal largest)
{
  return magnitude > 0 && 4 * magnitude >= largest;
}

/* A larger sum of magnitudes in the place of the largest so far. What is no number counts as infinite */
BAI_INLINE double BAILargerNorm(double norm, double size)
{
  return size <= norm ? norm : size > norm ? size : (double)INFINITY;
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

/* By the magnitude d of the diagonal entry of a row one cannot divide, and 1 does not stand for it, as sum, that of the
 * |a_ij|, i != j, says that it is no row of zeros */
BAI_INLINE int BAILevelsIsBad(BAIReal d, BAIReal sum)
{
  return d > 0 ? 1 / d == 2 / d : sum > 0;
}

/* By how many times sum, that of the |a_ij|, i != j, the diagonal entry is to be larger for a row to dominate */
BAI_INLINE BAIReal BAILevelsExcess(int finest)
{
  return (finest ? BAI_LEVELS_ALONE : BAI_LEVELS_ALONE_BELOW) - 1;
}

/* A row goes into no aggregate: d is its diagonal entry */
BAI_INLINE int BAILevelsIsAlone(BAIReal d, BAIReal sum, int finest)
{
  return sum == 0 || d >= (1 + BAILevelsExcess(finest)) * sum;
}

/* A level of so many rows is visited by two cycles for each one of the level above: every second level, also the small
 * ones if there are modes; and all levels of a matrix that is not Hermitian, whose coarse matrices are not softened */
BAI_INLINE int BAIRepeats(int hermitian, int modes, int level, BAIInt rows)
{
  return (level % 2 || !hermitian) && (rows > BAI_LEVELS_SMALL || (modes && hermitian));
}

/*
   With modes, what corrections are multiplied by: the coarse matrix is too stiff, and nothing in it is softened. The
   eigenvalues of C A, C being a cycle on a level, are at most this factor times those of the next level, as smoothing
   does not enlarge errors. Of two cycles on a level they are at most 1, if those of one are at most 2. Every second
   level has two. So the square of the factor is to be less than 2, and cycles are definite
*/
BAI_INLINE BAIReal BAIModesOver(int hermitian, int modes, BAIReal over)
{
  return !modes || !hermitian ? 1 : over < BAI_MODES_OVER ? over : BAI_MODES_OVER;
}

/* Rows of the next level of each aggregate, */
BAI_INLINE int BAIColumnsOfP(int modes)
{
  return modes ? modes : 1;
}

/* and of m aggregates */
BAI_INLINE int64_t BAIRowsOfNext(int64_t m, int modes)
{
  return m * BAIColumnsOfP(modes);
}

/* Levels, the finest one counted */
BAI_INLINE int BAILevelsAtMost(const BAILevelsParameters *p)
{
  return p->levels ? p->levels : BAI_LEVELS_MOST;
}

/* A last level of so many rows is solved exactly, not smoothed */
BAI_INLINE int BAIIsExact(const BAILevelsParameters *p, BAIInt rows)
{
  return !p->all && rows <= BAI_LEVELS_COARSEST;
}

/*
   Whether aggregates fit values that they were not made of. What is compared are couplings of the same row, so nothing
   depends on the scale of rows.

   - On a grid, but with modes, the boxes are to be those that these values would have, see BAIGridBoxes().
   - Other aggregates are to hold together: from each row of them couplings that are strong lead to one and the same
     row. Two pairs of strongly coupled rows that are hardly coupled to each other are no aggregate, but a row that is
     coupled strongly to one which has stronger couplings is in good company. Rows that dominate are content with any.
   - A row in no aggregate is to dominate.

   How many rows are not so is counted when levels are made, as matching leaves some, and compared with what it is for
   new values. With modes this is all of points. Nothing is found of values that are not finite: no aggregates made of
   those are kept
*/
BAI_INLINE int BAIFitIsStrong(BAIReal magnitude, BAIReal largest)
{
  return BAIAggregateIsStrong(BAI_FIT_LESS * magnitude, largest);
}

/* Rows of a point: those of the finest level, or the modes of an aggregate */
BAI_INLINE BAIInt BAIRowsOfPoint(int modes, int level, BAIInt finest)
{
  return !modes ? 1 : level ? modes : finest;
}

/* Whether this is asked of one of so many levels, which has n rows in m aggregates: not of the last one if it is solved
 * exactly, or if there may be no more */
BAI_INLINE int BAIFitIsAsked(const BAILevelsParameters *p, int levels, BAIInt m, BAIInt n)
{
  return m || (!BAIIsExact(p, n) && levels < BAILevelsAtMost(p));
}

BAI_INLINE int BAIFitDominates(BAIReal d, BAIReal sum, int finest)
{
  return sum == 0 || d >= (1 + BAILevelsExcess(finest) / BAI_FIT_LESS) * sum;
}

/* leads[k]: the set of the rows of an aggregate to which strong couplings lead from row number k, and the row itself */
BAI_INLINE int BAIFitHoldsTogether(int count, uint32_t *leads)
{
  uint32_t common = ~UINT32_C(0);

  for (int k = 0; k < count; k++)
    for (int i = 0; i < count; i++)
      if (leads[i] >> k & 1) leads[i] |= leads[k];
  for (int i = 0; i < count; i++) common &= leads[i];
  return common != 0;
}

/* By how many rows are not as they should be, now and when the aggregates of n rows were made */
BAI_INLINE int BAIFits(int64_t now, int64_t then, BAIInt n)
{
  return now - then <= BAI_LEVELS_AGGREGATE || now - then <= n / BAI_FIT_PART;
}

/*
   The real part of v^H B u - (B v)^H u, B being the entries between ranks, is zero if a_ij = conj(a_ji): what one of
   them adds to it. u and v are as if at random, and every rank knows all of them
*/
BAI_INLINE double BAILevelsSkew(BAIScalar a, BAIInt row, BAIInt col)
{
  const BAIScalar v = BAINoise(2 * (uint64_t)row), av = a * BAINoise(2 * (uint64_t)col),
                  au = a * BAINoise(2 * (uint64_t)col + 1), u = BAINoise(2 * (uint64_t)row + 1);

  return (double)BAIRealPart(BAIConj(v) * au - BAIConj(av) * u);
}

/* The number that is added to the diagonal entry of a row in the sweeps */
BAI_INLINE BAIReal BAILevelsExtra(BAIReal d, BAIReal sum)
{
  return sum > d ? (sum - d) / 2 : 0;
}

/* The resistance of an aggregate in a coupling of so much a single entry, relative to that of the coupling. touch: its
   rows that are coupled to the other aggregate */
BAI_INLINE BAIReal BAIResistance(const BAILevelsSide *side, BAIInt touch, BAIReal outer)
{
  const BAIReal l = touch ? side->rows / (BAIReal)touch : 1;

  return ((l < 2 ? l : 2) - 1) / 2 * (2 * outer < side->inner ? 2 * outer / side->inner : 1);
}

/*
   A coupling a of the coarse matrix between two aggregates, the sum of so many entries. Where only some of their rows
   are coupled to the other aggregate, what flows between the two flows through their other rows as well. These cannot
   differ on the coarse level, so the coupling is too stiff. It is softened as by resistances in series with it, which
   are found as if the rows of an aggregate were a few layers between this coupling and the other side, at most two.
   over is by how much a coupling between equal layers is softened, and no coupling is softened by more.

   A positive coupling is divided by over, and so are negative sums of rows, see BAISoftenedSum(). So the coarse matrix
   stays definite: x' A x is the sum of -a_ij (x_i - x_j)^2 over all couplings and of (the sum of row i) x_i^2. Of these
   terms the negative ones are divided by over, and the others by no more: it is at least 1/over of what it was
*/
BAI_INLINE BAIScalar BAISoftened(BAIScalar a, BAIInt entries, const BAILevelsSide *one, BAIInt touch,
                                 const BAILevelsSide *other, BAIInt back, BAIReal over)
{
  const BAIReal outer = BAIAggregateMagnitude(a) / (BAIReal)entries;

  if (!(BAIRealPart(a) < 0)) return a / over;
  return a / (1 + (over - 1) * (BAIResistance(one, touch, outer) + BAIResistance(other, back, outer)));
}

/* The new sum of a row: it stays, or, if it is negative, is divided by over like positive couplings */
BAI_INLINE BAIReal BAISoftenedSum(BAIReal sum, BAIReal over)
{
  return sum < 0 ? sum / over : sum;
}

/*
   How strongly two rows are coupled, for matching: relative to the larger of their diagonal entries. Exact weights may
   ascend row by row, as along a flow or a graded grid, so that each row proposes to the next one, and only the last two
   are matched. So of a matrix that is not Hermitian, and in the last rounds, there are two bits behind the leading one
*/
BAI_INLINE BAIReal BAIMatchWeight(BAIScalar a, BAIReal d, BAIReal other, int exact)
{
  const BAIReal most   = d > other ? d : other;
  const BAIReal weight = most > 0 ? BAIAggregateMagnitude(a) / most : 0;
  union {
    float    number;
    uint32_t bits;
  } w;

  if (exact) return weight;
  w.number = (float)weight;
  w.bits &= 0xffe00000u;
  return (BAIReal)w.number;
}

/*
   A row that is bound to rows which are in no aggregate is matched with no other, as it would bind that too, whose
   coarse correction would be lost. Such couplings count among those that a strong one is compared with. In the matrix
   of pairs they are missing: what is left of them is a diagonal entry d that is many times the sum of the |a_ij|, i !=
   j
*/
BAI_INLINE int BAIMatchIsBound(BAIReal d, BAIReal sum)
{
  return d >= 8 * sum;
}

/* Of a proposal, equal weights: as if at random, but the same from both sides */
BAI_INLINE uint64_t BAIMatchKey(int i, int j)
{
  const uint32_t low = BAIAggregateKey(i < j ? i : j), high = BAIAggregateKey(i < j ? j : i);

  return ((uint64_t)(low ^ (high >> 7) ^ (high << 25)) << 32) | (uint64_t)(low + high);
}

/* Whether a proposal with this weight and key is preferred to the best one so far; its weight is negative if there is
 * none */
BAI_INLINE int BAIMatchIsBetter(BAIReal w, uint64_t key, BAIReal best, uint64_t best_key)
{
  return w > best || (w == best && key > best_key);
}

/* Of rows that want to join a pair the one with the largest claim does: by weight, then by number */
BAI_INLINE uint64_t BAIJoinClaim(BAIReal weight, int row)
{
  union {
    float    number;
    uint32_t bits;
  } w;

  w.number = (float)weight;
  return (uint64_t)w.bits << 32 | (UINT32_MAX - (uint32_t)row);
}

/* Points of a box of a grid in each direction; 0: nobody has asked */
typedef struct {
  BAIInt m[3];
} BAIBox;

/* The point of a row of a grid */
BAI_INLINE void BAIGridAt(const BAINumbering *grid, BAIInt row, BAIInt at[3])
{
  const BAIInt number = row + grid->skip, line = number / grid->m[0];

  at[0] = number % grid->m[0];
  at[1] = line % grid->m[1];
  at[2] = line / grid->m[1];
}

/* The offset of another row of a grid from one at this point; whether it is a neighbour or the row itself. As of a
 * neighbour it is found without a division. It is the only one that leads to a point of the grid */
BAI_INLINE int BAIGridOffset(const BAINumbering *grid, const BAIInt at[3], BAIInt row, BAIInt other, int offset[3])
{
  const BAIInt line = grid->m[0], plane = grid->m[0] * grid->m[1], ahead = other - row;
  const int    z        = ahead > plane / 2 ? 1 : -ahead > plane / 2 ? -1 : 0;
  const BAIInt in_plane = ahead - z * plane;
  const int    y        = in_plane > line / 2 ? 1 : -in_plane > line / 2 ? -1 : 0;
  const BAIInt x        = in_plane - y * line;

  if (x >= -1 && x <= 1 && at[0] + x >= 0 && at[0] + x < grid->m[0] && at[1] + y >= 0 && at[1] + y < grid->m[1] &&
      at[2] + z >= 0 && at[2] + z < grid->m[2]) {
    offset[0] = (int)x;
    offset[1] = y;
    offset[2] = z;
    return 1;
  }
  BAIInt to[3];

  BAIGridAt(grid, other, to);
  for (int d = 0; d < 3; d++) offset[d] = (int)(to[d] - at[d]);
  return offset[0] >= -1 && offset[0] <= 1 && offset[1] >= -1 && offset[1] <= 1 && offset[2] >= -1 && offset[2] <= 1;
}

/* The direction along which a neighbour lies, or -1 if it lies across */
BAI_INLINE int BAIGridAxis(const int offset[3])
{
  const int x = offset[0] != 0, y = offset[1] != 0, z = offset[2] != 0;

  return x + y + z != 1 ? -1 : y + 2 * z;
}

/* Couplings along the directions of a grid: how many, their sum, the least and the largest */
typedef struct {
  double  sum[3], least[3], most[3];
  int64_t count[3];
  int     other; /* some row has an entry elsewhere */
} BAIGridLook;

/* Before a look */
BAI_INLINE BAIGridLook BAIGridLookNone(void)
{
  const BAIGridLook none = {
    {0,       0,       0      },
    {DBL_MAX, DBL_MAX, DBL_MAX},
    {0,       0,       0      },
    {0,       0,       0      },
    0
  };

  return none;
}

/* Whether the couplings of a level say which boxes its aggregates are */
BAI_INLINE int BAIGridIsLookedAt(int fields, const BAINumbering *grid)
{
  return grid->m[0] && fields == 1;
}

/* Boxes of more than one point are aggregates */
BAI_INLINE int BAIGridHasBoxes(const BAIBox *box)
{
  return box->m[0] * box->m[1] * box->m[2] > 1;
}

#if defined(__cplusplus)
extern "C" {
#endif

/* The numbering of a matrix of n rows, or of a part of all of them, as some rows from number begin on show it: rows
   that follow each other from the middle on, whose columns are j[i[r] - i[0]] to j[i[r + 1] - i[0] - 1] */
void BAIGridFind(BAIInt n, const BAILevelsParameters *, BAIInt begin, BAIInt rows, const BAIInt *i, const BAIInt *j,
                 const BAIScalar *a, BAINumbering *);
/* The points of a box in each direction; all are 1 where the couplings say that it is no grid */
void BAIGridBoxes(const BAIGridLook *, const BAINumbering *, BAIInt n, BAIBox *);
/* How many aggregates n rows are in, and the rows of the largest one; those of a block if there is no memory to
   count */
BAIInt BAICountAggregates(BAIInt n, const BAIInt *aggregate, BAIInt *largest);
/* The numbering of the boxes of n rows; returns how many there are */
BAIInt BAIGridCoarsen(const BAINumbering *, const BAIBox *, BAIInt n, BAINumbering *next);

#if defined(__cplusplus)
}
#endif
