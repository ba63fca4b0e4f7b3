/* The rules by which host and device make the same levels, see levels.h */
#pragma once

#include "levels.h"
#include "../common/damping.h"
#include "../common/scalar.h"
#include <float.h>
#include <math.h>
#if defined(PETSC_USE_COMPLEX) && !defined(__cplusplus)
  #include <complex.h>
#endif

enum {
  BAI_MATCH_LINE = 4, /* entries of a row on average; below it weights are rough */
  /* entries of a row on average; above it a third pass makes aggregates of eight rows instead of four, as in 3D */
  BAI_MATCH_LONG    = 10,
  BAI_MATCH_MOST    = 4,    /* largest number of passes */
  BAI_LEVELS_VISITS = 4,    /* smoothing steps on a last level that is not solved exactly */
  BAI_LEVELS_PARTS  = 3,    /* a level must have at least a third fewer rows than the level above */
  BAI_LEVELS_SMALL  = 4096, /* largest number of rows of a level that one thread does on a host */
  /* largest number of rows of the second level, and of other levels, whose cycle is done once: on a GPU a small level
     takes as long as a much larger one, and a second cycle is worth most on the second level */
  BAI_LEVELS_ONCE      = 4096,
  BAI_LEVELS_ONCE_DEEP = 8192,
  BAI_GRID_LOOKS       = 64, /* number of consecutive rows from which the numbering of a grid is found */
  /* aggregates are kept if at most n/256 of n rows cease to fit, or 12, or the rows of the largest one */
  BAI_FIT_PART = 256,
  BAI_FIT_FEW  = 12,
  BAI_GRID_ROW = 64, /* largest number of entries of a row of a grid */
  BAI_GRID_BOX = 8,  /* largest number of rows of a box of a grid */
  /* tolerated difference of a_ij and conj(a_ji), in roundings of the sum of magnitudes of their row */
  BAI_LOOK_ROUNDING = 100,
  BAI_SET           = 32 /* bits of a set of rows or points of an aggregate */
};

#define BAI_LEVELS_ALONE ((BAIReal)1.25) /* Notay's bound for a two-level condition number of 10: 10/(10 - 2) */
/* larger than on the finest level, as overcorrection makes coarse couplings smaller */
#define BAI_LEVELS_ALONE_BELOW ((BAIReal)2)
/* largest ratio of two diagonal entries of a level in single precision */
#define BAI_LEVELS_SINGLE_RANGE 1e25
/* If less than this part of a mode's norm on an aggregate is left after orthogonalization, it is rounding */
#define BAI_MODES_DEPENDENT (sizeof(BAIReal) > sizeof(float) ? (BAIReal)1e-6 : (BAIReal)1e-3)
#define BAI_MODES_OVER      ((BAIReal)1.4)
/* The sweeps add at least this part of the sum of |a_ij| outside the block to a diagonal entry, less what it exceeds
   the sum of the row by, unless blocks are compact. All blocks are corrected at once, each as if the others stayed, so
   rows between blocks are corrected too much otherwise */
#define BAI_LEVELS_OUTSIDE ((BAIReal)0.15)
/* nothing is overcorrected if positive couplings exceed this part of the negative ones */
#define BAI_LEVELS_OTHER_SIGN 0.5
/* New values must satisfy less than the values that aggregates were made from, so that small changes keep them: a
   strong coupling may be weaker by this factor, and a dominant row less dominant */
#define BAI_FIT_LESS    ((BAIReal)1.5)
#define BAI_GRID_STRONG 4   /* directions with at least a quarter of the strongest couplings are coarsened */
#define BAI_GRID_ALIKE  100 /* couplings in one direction that differ by a larger factor do not belong to a grid */
/* A strong direction has at least this part of the couplings of a full grid: with one field those against the wind may
   be missing. With several fields, half of those of one field may be */
#define BAI_GRID_MANY 0.4

/* Pivots of the last level that are not larger than this, relative to the diagonal entry, are postponed, as rounding
   errors grow by the inverse */
#define BAI_LEVELS_PIVOT (sizeof(BAIReal) > sizeof(float) ? (BAIReal)1e-5 : (BAIReal)1e-3)
/* Smaller pivots are taken for rounding of a singular matrix; so are sums of entries, relative to the sum of their
   magnitudes */
#define BAI_LEVELS_ROUNDING (sizeof(BAIReal) > sizeof(float) ? (BAIReal)1e-10 : (BAIReal)1e-4)

/* The magnitude of a real number, which is exact; for a complex number |re| + |im|, with one rounding */
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

/* Makes a call that is, or belongs to, a stage of the set-up with parameters p, and returns if it fails */
#define BAITryStage(p, number, call) \
  do { \
    if ((p)->stage) (p)->stage(number, 1); \
    const BAIStatus stage_status_ = (call); \
    if ((p)->stage) (p)->stage(number, 0); \
    BAITry(stage_status_); \
  } while (0)

/* Whether a coupling of this magnitude is strong, if the largest one of its row is largest */
BAI_INLINE int BAIAggregateIsStrong(BAIReal magnitude, BAIReal largest)
{
  return magnitude > 0 && 4 * magnitude >= largest;
}

/* The maximum of two norms, where NaN counts as infinite */
BAI_INLINE double BAILargerNorm(double norm, double size)
{
  return size <= norm ? norm : size > norm ? size : (double)INFINITY;
}

/* Multiplicative hashing (D. E. Knuth, The Art of Computer Programming 3, Section 6.4), twice. All keys are different
   and nonzero */
BAI_INLINE uint32_t BAIAggregateKey(int row)
{
  uint32_t key = (uint32_t)row + 1;

  key *= 2654435769u;
  key ^= key >> 16;
  key *= 2246822519u;
  return key ^ key >> 15;
}

/* The row that has this key: the same steps backwards, with the inverses of the factors modulo 2^32 */
BAI_INLINE int BAIAggregateRow(uint32_t key)
{
  key ^= key >> 15 ^ key >> 30;
  key *= 3066638151u;
  key ^= key >> 16;
  return (int)(key * 340573321u - 1);
}

/* Whether one cannot divide by a diagonal entry of magnitude d, in a row that is not zero: sum is its sum of |a_ij|, j
   != i */
BAI_INLINE int BAILevelsIsBad(BAIReal d, BAIReal sum)
{
  return d > 0 ? 1 / d == 2 / d : sum > 0;
}

/* Most entries of a row of which levels are made */
BAI_INLINE BAIInt BAILevelsLongest(const BAILevelsParameters *p)
{
  return p->longest && !p->resident ? p->longest : INT32_MAX;
}

/* A row is dominant if its diagonal entry exceeds its sum of |a_ij|, j != i, by this factor of the sum */
BAI_INLINE BAIReal BAILevelsExcess(int finest)
{
  return (finest ? BAI_LEVELS_ALONE : BAI_LEVELS_ALONE_BELOW) - 1;
}

/* Whether a row of diagonal magnitude d stays in no aggregate, as it is dominant or has no couplings */
BAI_INLINE int BAILevelsIsAlone(BAIReal d, BAIReal sum, int finest)
{
  return sum == 0 || d >= (1 + BAILevelsExcess(finest)) * sum;
}

/* Whether the cycle visits a level of this number of rows twice: every second level if it is large, or of any size with
   modes; and all large levels of a matrix that is not Hermitian, which has no overcorrection */
BAI_INLINE int BAIRepeats(int hermitian, int modes, int level, BAIInt rows)
{
  const int large = rows > (level > 1 ? BAI_LEVELS_ONCE_DEEP : BAI_LEVELS_ONCE);

  return (level % 2 || !hermitian) && (large || (modes && hermitian));
}

/*
   The factor of corrections if there are modes, whose coarse matrices are not overcorrected. Let C be the cycle of a
   level. As smoothing does not enlarge errors, the eigenvalues of C A are at most this factor times those of the next
   level. Where a level is visited twice they are at most 1, if a single visit gives at most 2. As that is every second
   level, the cycle is definite if the square of the factor is less than 2
*/
BAI_INLINE BAIReal BAIModesOver(int hermitian, int modes, BAIReal over)
{
  return !modes || !hermitian ? 1 : over < BAI_MODES_OVER ? over : BAI_MODES_OVER;
}

/* The entry of a row of points of so many unknowns in the constant on field k */
BAI_INLINE BAIReal BAIConstantOfField(BAIInt row, BAIInt unknowns, int k)
{
  return row % unknowns == k ? 1 : 0;
}

/* Rows of the next level for each aggregate */
BAI_INLINE int BAIColumnsOfP(int modes)
{
  return modes ? modes : 1;
}

BAI_INLINE int64_t BAIRowsOfNext(int64_t m, int modes)
{
  return m * BAIColumnsOfP(modes);
}

/* The largest number of levels that the caller allows */
BAI_INLINE int BAILevelsAtMost(const BAILevelsParameters *p)
{
  return p->levels ? p->levels : BAI_LEVELS_MOST;
}

/* Whether a last level of this number of rows is solved exactly, and not smoothed */
BAI_INLINE int BAIIsExact(const BAILevelsParameters *p, BAIInt rows)
{
  return !p->all && rows <= BAI_LEVELS_COARSEST;
}

/*
   Whether aggregates fit values that they were not made from. Only couplings of the same row are compared, so nothing
   depends on the scale of rows.

   - On a grid without modes, the boxes must be the boxes of the new values, see BAIGridBoxes().
   - Other aggregates must hold together: strong couplings lead from each of their rows, directly or not, to one common
     row. So two pairs of strongly coupled rows that are hardly coupled to each other do not fit. Dominant rows fit any
     aggregate.
   - A row in no aggregate must be dominant.

   Rows that violate this are counted when levels are made, as matching leaves some, and again with new values. If
   matching found no aggregates at all, fewer violations are a change, too: it may now find some. With modes, points
   take the place of rows. Aggregates that were made from infinite values or NaN are never kept
*/

/* Whether a coupling is still strong with new values, by the weaker rule of BAIFits() */
BAI_INLINE int BAIFitIsStrong(BAIReal magnitude, BAIReal largest)
{
  return BAIAggregateIsStrong(BAI_FIT_LESS * magnitude, largest);
}

/* Unknowns of a point: finest on the finest level, and modes on the others */
BAI_INLINE BAIInt BAIRowsOfPoint(int modes, int level, BAIInt finest)
{
  return !modes ? 1 : level ? modes : finest;
}

/* Whether aggregates of a level of n rows in m aggregates are checked: not on the last level if it is solved exactly,
   or if more levels were not allowed */
BAI_INLINE int BAIFitIsAsked(const BAILevelsParameters *p, int levels, BAIInt m, BAIInt n)
{
  return m || (!BAIIsExact(p, n) && levels < BAILevelsAtMost(p));
}

/* Whether a row is still dominant with new values, by the weaker rule of BAIFits() */
BAI_INLINE int BAIFitDominates(BAIReal d, BAIReal sum, int finest)
{
  return sum == 0 || d >= (1 + BAILevelsExcess(finest) / BAI_FIT_LESS) * sum;
}

/* Whether count rows of an aggregate hold together; bit j of leads[k] is set if j is k or if row k has a strong
   coupling to row j. Overwrites leads */
BAI_INLINE int BAIFitHoldsTogether(int count, uint32_t *leads)
{
  uint32_t common = ~UINT32_C(0);

  for (int k = 0; k < count; k++)
    for (int i = 0; i < count; i++)
      if (leads[i] >> k & 1) leads[i] |= leads[k];
  for (int i = 0; i < count; i++) common &= leads[i];
  return common != 0;
}

/* Whether now is not much more than then, the numbers of misfits with new values and when m aggregates of n rows were
   made. most is the number of rows of the largest one */
BAI_INLINE int BAIFits(int64_t now, int64_t then, BAIInt m, BAIInt most, BAIInt n)
{
  const int64_t more = m || now > then ? now - then : then - now;

  return more <= BAI_FIT_FEW || more <= most || more <= n / BAI_FIT_PART;
}

/*
   The contribution of an entry between ranks to the real part of v^H B u - (B v)^H u, where B consists of these
   entries. It is zero if a_ij = conj(a_ji). u and v are pseudorandom vectors that every rank can compute
*/
BAI_INLINE double BAILevelsSkew(BAIScalar a, BAIInt row, BAIInt col)
{
  const BAIScalar v = BAINoise(2 * (uint64_t)row), av = a * BAINoise(2 * (uint64_t)col),
                  au = a * BAINoise(2 * (uint64_t)col + 1), u = BAINoise(2 * (uint64_t)row + 1);

  return (double)BAIRealPart(BAIConj(v) * au - BAIConj(av) * u);
}

/* The number that the sweeps add to the diagonal entry of a row. outside is the part of sum outside the block, or 0 if
   blocks are compact */
BAI_INLINE BAIReal BAILevelsExtra(BAIReal d, BAIReal sum, BAIReal outside)
{
  const BAIReal half = sum > d ? (sum - d) / 2 : 0, least = BAI_LEVELS_OUTSIDE * outside - (sum < d ? d - sum : 0);

  return half < least ? least : half;
}

/* The resistance of an aggregate in series with a coupling, relative to the resistance of the coupling, whose entries
   have the mean magnitude outer. touch is the number of rows of the aggregate that are coupled to the other one */
BAI_INLINE BAIReal BAIResistance(const BAILevelsSide *side, BAIInt touch, BAIReal outer)
{
  const BAIReal l = touch ? (BAIReal)side->rows / (BAIReal)touch : 1;

  return ((l < 2 ? l : 2) - 1) / 2 * (2 * outer < side->inner ? 2 * outer / side->inner : 1);
}

/*
   Overcorrects a coupling a of the coarse matrix between two aggregates, a sum of that many entries. If only some rows
   of an aggregate are coupled to the other one, a current between the two passes the other rows as well. As the rows
   share one value on the coarse level, the coupling is too strong. It is divided as if resistances were in series with
   it: the rows of an aggregate are considered as at most two layers between this coupling and the other side. over is
   the divisor between equal layers, and the largest one.

   A positive coupling is divided by over, and so are negative sums of rows, see BAISoftenedSum(). So the coarse matrix
   stays definite: x' A x is the sum of -a_ij (x_i - x_j)^2 over all couplings and of (sum of row i) x_i^2. The negative
   terms are divided by over, and the others by at most over, so x' A x is at least 1/over times its previous value.

   But a positive coupling of two dominant rows stays as it is. Its term is a_ij (x_i + x_j)^2, and the factor of x_i^2
   is the sum of row i less twice its couplings of this kind, which is not negative in a dominant row; neither changes.
   Divided, such couplings would give too much energy to two fields of opposite signs
*/
BAI_INLINE BAIScalar BAISoftened(BAIScalar a, BAIInt entries, const BAILevelsSide *one, BAIInt touch,
                                 const BAILevelsSide *other, BAIInt back, BAIReal over)
{
  const BAIReal outer = BAIAggregateMagnitude(a) / (BAIReal)entries;

  if (!(BAIRealPart(a) < 0)) return one->dominant && other->dominant ? a : a / over;
  return a / (1 + (over - 1) * (BAIResistance(one, touch, outer) + BAIResistance(other, back, outer)));
}

/* The row sum after overcorrection: it does not change, unless it is negative and is divided by over, like positive
   couplings */
BAI_INLINE BAIReal BAISoftenedSum(BAIReal sum, BAIReal over)
{
  return sum < 0 ? sum / over : sum;
}

/* Whether weights for matching are rounded: if a row of the matrix has few entries, as on a line. Weights that ascend
   along it would make each row wait for the next one, in steps as many as rows */
BAI_INLINE int BAIMatchIsRough(int64_t nnz, BAIInt n)
{
  return nnz < (int64_t)BAI_MATCH_LINE * n;
}

/*
   The number of passes of matching, if a point has this number of rows. Two or three passes are usual; more are made
   until an aggregate has twice as many rows as P has columns there. So DMPlex's matrices of three-dimensional
   elasticity, whose points have one row and six modes, get aggregates of sixteen rows
*/
BAI_INLINE int BAIMatchPasses(int64_t nnz, BAIInt n, BAIInt rows, int modes)
{
  int passes = nnz > (int64_t)BAI_MATCH_LONG * n ? 3 : 2;

  while (passes < BAI_MATCH_MOST && (rows << passes) < 2 * modes) passes++;
  return passes;
}

/* The largest number of points of an aggregate: in the last pass a row may join two others */
BAI_INLINE int BAIMatchLargest(int passes)
{
  return 3 << (passes - 1);
}

/* The bits of a float, which ascend with the number if it is positive */
typedef union {
  float    number;
  uint32_t bits;
} BAIFloat;

/* The weight of a coupling of two rows for matching, relative to the larger of their diagonal entries; if rough, with
   two bits behind the leading one */
BAI_INLINE float BAIMatchWeight(BAIScalar a, BAIReal d, BAIReal other, int rough)
{
  const BAIReal most = d > other ? d : other;
  BAIFloat      w;

  w.number = most > 0 ? (float)(BAIAggregateMagnitude(a) / most) : 0;
  if (rough) w.bits &= 0xffe00000u;
  return w.number;
}

/*
   Whether a row is dominated by couplings to rows in no aggregate, and so must not be matched, as its pair would
   inherit the lost coarse correction. Such couplings are among those that a strong one is compared with. The matrix of
   pairs does not contain them, so there a diagonal entry d that is much larger than the sum of |a_ij|, j != i, shows
   them
*/
BAI_INLINE int BAIMatchIsBound(BAIReal d, BAIReal sum)
{
  return d >= 8 * sum;
}

/* An offer to match a row, or its rank among the choices of others: larger ones are better. Offers of equal weights are
   ordered by a pseudorandom key of the row. No offer is 0, unless the weight is */
BAI_INLINE uint64_t BAIMatchOffer(float weight, int row)
{
  BAIFloat w;

  w.number = weight;
  return weight > 0 ? (uint64_t)w.bits << 32 | BAIAggregateKey(row) : 0;
}

/* The weight of an offer */
BAI_INLINE float BAIMatchWeightOf(uint64_t offer)
{
  BAIFloat w;

  w.bits = (uint32_t)(offer >> 32);
  return w.number;
}

/* The row of an offer, or -1 if it is 0 */
BAI_INLINE int BAIMatchRow(uint64_t offer)
{
  return offer ? BAIAggregateRow((uint32_t)offer) : -1;
}

/* Points of a box of a grid in each direction; 0: not yet known */
typedef struct {
  BAIInt m[3];
} BAIBox;

/* The point of a row, or the number of points of n rows */
BAI_INLINE BAIInt BAIGridPoints(const BAINumbering *grid, BAIInt n)
{
  return grid->unknowns > 1 ? n / grid->unknowns : n;
}

/* Whether two rows of a grid belong to the same field: the same unknown of their points */
BAI_INLINE int BAIGridIsOneField(const BAINumbering *grid, BAIInt row, BAIInt other)
{
  return grid->unknowns <= 1 || (other - row) % grid->unknowns == 0;
}

/* Sets at to the coordinates of the point of a row on a grid */
BAI_INLINE void BAIGridAt(const BAINumbering *grid, BAIInt row, BAIInt at[3])
{
  const BAIInt number = BAIGridPoints(grid, row) + grid->skip, line = number / grid->m[0];

  at[0] = number % grid->m[0];
  at[1] = line % grid->m[1];
  at[2] = line / grid->m[1];
}

/* Returns in offset the offset of the point of another row of the same field from a row at this point of a grid, and
   whether it is a neighbour or the row itself. Assuming a neighbour, it needs no division by the sizes of the grid, and
   is the only one that leads to a point of the grid */
BAI_INLINE int BAIGridOffset(const BAINumbering *grid, const BAIInt at[3], BAIInt row, BAIInt other, int offset[3])
{
  const BAIInt line = grid->m[0], plane = grid->m[0] * grid->m[1],
               ahead    = grid->unknowns > 1 ? (other - row) / grid->unknowns : other - row;
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

/* The direction of an offset to a neighbour, or -1 if it is diagonal */
BAI_INLINE int BAIGridAxis(const int offset[3])
{
  const int x = offset[0] != 0, y = offset[1] != 0, z = offset[2] != 0;

  return x + y + z != 1 ? -1 : y + 2 * z;
}

/* Couplings along each direction of a grid: their number, sum, smallest and largest magnitude */
typedef struct {
  double  sum[3], least[3], most[3];
  int64_t count[3];
  int64_t alone; /* number of rows without couplings */
  int     other; /* some row has an entry that is not at a neighbour */
} BAIGridLook;

BAI_INLINE BAIGridLook BAIGridLookNone(void)
{
  const BAIGridLook none = {
    {0,       0,       0      },
    {DBL_MAX, DBL_MAX, DBL_MAX},
    {0,       0,       0      },
    {0,       0,       0      },
    0, 0
  };

  return none;
}

/* The looks at two sets of rows together */
BAI_INLINE BAIGridLook BAIGridLookTogether(const BAIGridLook *a, const BAIGridLook *b)
{
  BAIGridLook both = *a;

  for (int d = 0; d < 3; d++) {
    both.sum[d] += b->sum[d];
    both.least[d] = b->least[d] < a->least[d] ? b->least[d] : a->least[d];
    both.most[d]  = b->most[d] > a->most[d] ? b->most[d] : a->most[d];
    both.count[d] += b->count[d];
  }
  both.alone += b->alone;
  both.other |= b->other;
  return both;
}

/* Whether boxes are larger than single points, and so serve as aggregates */
BAI_INLINE int BAIGridHasBoxes(const BAIBox *box)
{
  return box->m[0] * box->m[1] * box->m[2] > 1;
}

/* Whether the blocks of a level count as compact, so that few rows are between them: aggregates are boxes of a grid, or
   the caller gave them. Levels with modes count as well, as they do not gain from BAI_LEVELS_OUTSIDE */
BAI_INLINE int BAIBlocksAreCompact(const BAILevelsParameters *p, int level, const BAIBox *box)
{
  return p->modes || level < p->given || BAIGridHasBoxes(box);
}

/* The first row to find the numbering of a grid from: in the middle, or at the golden section if rows in the middle
   have no couplings. With an even number of planes one begins in the middle, maybe with a line of boundary rows */
BAI_INLINE BAIInt BAIGridLooksFrom(BAIInt n, int again)
{
  return again ? (BAIInt)(0.618034 * (double)n) : n / 2;
}

#if defined(__cplusplus)
extern "C" {
#endif

/* Finds the numbering of a matrix of n rows, or of a rank's part, from rows consecutive rows, the first being row
   number begin. Columns and values of row begin + r are at i[r] - i[0] to i[r + 1] - i[0] - 1. Returns 0 if none of
   these rows has couplings to rows of larger number, so others may show a grid */
int BAIGridFind(BAIInt n, const BAILevelsParameters *, BAIInt begin, BAIInt rows, const BAIInt *i, const BAIInt *j,
                const BAIScalar *a, BAINumbering *);
/* Finds the size of a box in each direction; all sizes are 1 if the couplings do not belong to a grid */
void BAIGridBoxes(const BAIGridLook *, const BAINumbering *, BAIInt n, BAIBox *);
/* The number of aggregates of n rows, and in largest the rows of the largest one, or BAI_LEVELS_BLOCK if there is no
   memory to count */
BAIInt BAICountAggregates(BAIInt n, const BAIInt *aggregate, BAIInt *largest);
/* Finds the numbering of the boxes of n rows, and returns the number of boxes */
BAIInt BAIGridCoarsen(const BAINumbering *, const BAIBox *, BAIInt n, BAINumbering *next);

#if defined(__cplusplus)
}
#endif
