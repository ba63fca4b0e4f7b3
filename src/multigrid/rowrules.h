/*
   Rules for rows of a matrix during the set-up of levels. Host and device loop over rows in their own ways and call
   these rules, so they find the same levels
*/
#pragma once

#include "rules.h"
#include "../common/damping.h"
#include "../common/rows.h"

/* Returns the diagonal entry of a row, or 0 if it is missing; in sum the sum of the magnitudes of the others */
BAI_INLINE BAIScalar BAIDiagonal(const BAIRows *A, BAIIndex row, BAIReal *sum)
{
  BAIScalar d = 0;

  *sum = 0;
  for (BAIIndex k = A->i[row]; k < A->i[row + 1]; k++) {
    if (A->j[k] == row) d += A->a[k];
    else *sum += BAIAggregateMagnitude(A->a[k]);
  }
  return d;
}

/* Whether a row has couplings: entries besides the diagonal that are not zero */
BAI_INLINE int BAIIsCoupled(const BAIRows *A, BAIIndex row)
{
  for (BAIIndex k = A->i[row]; k < A->i[row + 1]; k++)
    if (A->j[k] != row && BAIAggregateMagnitude(A->a[k]) != 0) return 1;
  return 0;
}

/* Returns the place of the entry of a row in a column, or -1 if it is missing. The columns of a row may be in any
   order */
BAI_INLINE BAIIndex BAIPlaceOf(const BAIRows *A, BAIIndex row, BAIIndex col)
{
  enum {
    FEW = 8 /* number of entries that are searched one by one */
  };
  BAIIndex low = A->i[row], high = A->i[row + 1];

  while (high - low > FEW) { /* if columns ascend */
    const BAIIndex middle = low + (high - low) / 2;

    if (A->j[middle] > col) high = middle;
    else low = middle;
  }
  for (; low < high; low++)
    if (A->j[low] == col) return low;
  for (BAIIndex k = A->i[row]; k < A->i[row + 1]; k++) /* if they do not */
    if (A->j[k] == col) return k;
  return -1;
}

/* Returns the place of a_ji for entry k of a row i, whose column j is no ghost, or -1 if it is missing. In the middle
   of a grid it is as far from the end of row j as a_ij is from the begin of row i, so that place is looked at first */
BAI_INLINE BAIIndex BAIOppositePlace(const BAIRows *A, BAIIndex i, BAIIndex k)
{
  const BAIIndex j = A->j[k], guess = A->i[j + 1] - 1 - (k - A->i[i]);

  return guess >= A->i[j] && A->j[guess] == i ? guess : BAIPlaceOf(A, j, i);
}

/* Returns a_ji, or 0 if it is missing */
BAI_INLINE BAIScalar BAIOpposite(const BAIRows *A, BAIIndex i, BAIIndex k)
{
  const BAIIndex place = BAIOppositePlace(A, i, k);

  return place < 0 ? 0 : A->a[place];
}

/* Stores an entry of a row that begins at begin and has entries up to at, in ascending order of columns */
BAI_INLINE void BAIStoreEntry(const BAIPart *part, BAIInt begin, BAIInt at, BAIInt col, BAIScalar value)
{
  for (; at > begin && part->j[at - 1] > col; at--) {
    part->j[at] = part->j[at - 1];
    part->a[at] = part->a[at - 1];
  }
  part->j[at] = col;
  part->a[at] = value;
}

/* Stores a row of a rank's part of a matrix, see BAIPart. ghost has the global numbers of ghosts in the memory of the
   matrix. Ghosts of the ranks before come first, so that nothing moves if columns ascend in both parts */
BAI_INLINE void BAIStoreRow(const BAIMatrix *M, const BAIPart *part, const BAIInt *ghost, BAIInt row)
{
  const BAIInt other = M->nghost ? M->B.i[row] : 0, other_end = M->nghost ? M->B.i[row + 1] : 0,
               begin = M->A.i[row] + other;
  BAIInt at          = begin;

  for (BAIInt k = other; k < other_end; k++)
    if (ghost[M->B.j[k]] < part->first) BAIStoreEntry(part, begin, at++, ghost[M->B.j[k]], M->B.a[k]);
  for (BAIInt k = M->A.i[row]; k < M->A.i[row + 1]; k++)
    BAIStoreEntry(part, begin, at++, part->first + M->A.j[k], M->A.a[k]);
  for (BAIInt k = other; k < other_end; k++)
    if (ghost[M->B.j[k]] >= part->first) BAIStoreEntry(part, begin, at++, ghost[M->B.j[k]], M->B.a[k]);
  part->i[row] = part->before + at;
}

/* The same for a row of a level, whose ghosts are columns behind its rows */
BAI_INLINE void BAIStoreRowOfLevel(const BAIRows *A, const BAIPart *part, const BAIInt *ghost, BAIIndex row)
{
  const BAIIndex begin = A->i[row], end = A->i[row + 1];
  BAIIndex       at = begin;

  for (int later = 0; later < 2; later++)
    for (BAIIndex k = begin; k < end; k++) {
      const BAIIndex j   = A->j[k];
      const BAIInt   col = j < A->n ? part->first + j : ghost[j - A->n];

      if ((col >= part->first) == later) BAIStoreEntry(part, begin, at++, col, A->a[k]);
    }
  part->i[row] = part->before + end;
}

/* Adds a coupling of magnitude w along direction d to look. d must be known to the compiler, so that a device keeps the
   sums in registers */
BAI_INLINE void BAIGridAdd(BAIGridLook *look, int d, double w)
{
  look->sum[d] += w;
  look->count[d]++;
  look->least[d] = w < look->least[d] ? w : look->least[d];
  look->most[d]  = w > look->most[d] ? w : look->most[d];
}

/* The factor of the couplings of a row: with several fields, which may have different units, it makes the largest 1 */
BAI_INLINE double BAIGridFactor(const BAIRows *A, const BAINumbering *grid, BAIIndex row)
{
  double most = 0;

  if (grid->unknowns <= 1) return 1;
  for (BAIIndex k = A->i[row]; k < A->i[row + 1]; k++) {
    const double w = (double)BAIAggregateMagnitude(A->a[k]);

    if (A->j[k] != row && A->j[k] < A->n && w > most && BAIGridIsOneField(grid, row, A->j[k])) most = w;
  }
  return most > 0 ? 1 / most : 1;
}

/* Adds the couplings of a row of a grid to its neighbours of the same field to look */
BAI_INLINE void BAIGridLookAt(const BAIRows *A, const BAINumbering *grid, BAIIndex row, BAIGridLook *look)
{
  const double factor = BAIGridFactor(A, grid, row);
  BAIInt       at[3];
  int          coupled = 0;

  BAIGridAt(grid, row, at);
  for (BAIIndex k = A->i[row]; k < A->i[row + 1]; k++) {
    const double w = (double)BAIAggregateMagnitude(A->a[k]) * factor;
    int          offset[3], axis;

    if (A->j[k] == row || w == 0) continue;
    coupled = 1;
    if (A->j[k] >= A->n || !BAIGridIsOneField(grid, row, A->j[k])) continue;
    if (!BAIGridOffset(grid, at, row, A->j[k], offset)) look->other = 1;
    axis = BAIGridAxis(offset);
    if (axis == 0) BAIGridAdd(look, 0, w);
    else if (axis == 1) BAIGridAdd(look, 1, w);
    else if (axis == 2) BAIGridAdd(look, 2, w);
  }
  look->alone += !coupled;
}

/* Sets row to the rows of box c of a grid of n rows, in ascending order, and returns their number */
BAI_INLINE int BAIGridRows(const BAINumbering *grid, const BAIBox *box, const BAINumbering *next, BAIIndex n,
                           BAIIndex c, BAIIndex row[BAI_GRID_BOX])
{
  const BAIInt point = BAIGridPoints(grid, c), number = point + next->skip, x0 = number % next->m[0] * box->m[0],
               y0 = number / next->m[0] % next->m[1] * box->m[1], z0 = number / next->m[0] / next->m[1] * box->m[2],
               unknowns = grid->unknowns, field = c - point * unknowns;
  int count = 0;

  for (BAIInt z = z0; z < z0 + box->m[2] && z < grid->m[2]; z++) {
    for (BAIInt y = y0; y < y0 + box->m[1] && y < grid->m[1]; y++) {
      for (BAIInt x = x0; x < x0 + box->m[0] && x < grid->m[0]; x++) {
        const BAIInt r = ((z * grid->m[1] + y) * grid->m[0] + x - grid->skip) * unknowns + field;

        if (r >= 0 && r < n) row[count++] = (BAIIndex)r;
      }
    }
  }
  return count;
}

/* Makes the count rows of box c of a grid aggregate c. Rows without couplings, of which there are none if alone is 0,
   belong to it only if no row of the box has any */
BAI_INLINE void BAIGridAggregate(const BAIRows *A, int alone, BAIIndex c, int count, const BAIIndex row[],
                                 BAIIndex *aggregate)
{
  int all = 1;

  for (int k = 0; k < count && alone; k++) all = all && !BAIIsCoupled(A, row[k]);
  for (int k = 0; k < count; k++) aggregate[row[k]] = alone && !all && !BAIIsCoupled(A, row[k]) ? -1 : c;
}

/*
   Matching of rows in pairs, by deferred acceptance (D. Gale, L. S. Shapley, "College admissions and the stability of
   marriage", Amer. Math. Monthly 69, 1962): each row makes an offer to the row that it prefers, which keeps the best
   offer that it gets; a row whose offer is not kept makes another one. The result does not depend on the order of
   offers, so threads make them at the same time. If weights are symmetric it is the matching that takes the heaviest
   coupling first, then the heaviest among the rest, and so on: F. Manne, M. Halappanavar, "New effective
   multithreaded matching algorithms", IPDPS 2014.

   mate[i] is the partner of row i, or i if it has none, or -1 if row i stays in no aggregate; at the end also -2 - j,
   if row i joins the pair whose first row is j
*/
typedef struct {
  BAIRows         A;
  int             both;  /* the coupling of two rows is |a_ij + conj(a_ji)| */
  int             join;  /* unmatched rows make offers to rows of pairs */
  int             rough; /* see BAIMatchIsRough() */
  const BAIIndex *field; /* only rows of equal field are matched; NULL: any rows */
  BAIIndex       *mate;
  uint64_t       *offer; /* best offer that each row has, or 0 */
  BAIReal        *d;     /* magnitudes of diagonal entries */
  float          *most;  /* largest weight of a coupling of a row to its field, or -1 if the row is not matched */
  /* The choices of row i, its strong couplings: choice[A.i[i] + l] is BAIMatchOffer() of another row, l < choices[i] */
  uint64_t *choice;
  BAIIndex *choices;
} BAIMatching;

/* Sets d[i], offer[i] and mate[i], and most[i] to 0 or -1. Rows without couplings are not matched, nor are dominant
   rows unless leave is 0; leave > 1 if row i is of the finest level */
BAI_INLINE void BAIMatchBegin(const BAIMatching *m, BAIIndex i, int leave)
{
  BAIReal sum;

  m->d[i]     = BAIAggregateMagnitude(BAIDiagonal(&m->A, i, &sum));
  m->offer[i] = 0;
  m->mate[i]  = sum == 0 || (leave && BAILevelsIsAlone(m->d[i], sum, leave > 1)) ? -1 : i;
  m->most[i]  = m->mate[i] != i || BAIMatchIsBound(m->d[i], sum) ? -1 : 0;
}

/* Entry k of row i as a choice: BAIMatchOffer() of the other row, or 0 if it is no coupling to the field of the row.
   After BAIMatchBegin() for all rows */
BAI_INLINE uint64_t BAIMatchRank(const BAIMatching *m, BAIIndex i, BAIIndex k)
{
  const BAIIndex j = m->A.j[k];

  if (j == i || j >= m->A.n || (m->field && m->field[j] != m->field[i])) return 0;
  return BAIMatchOffer(BAIMatchWeight(m->both ? m->A.a[k] + BAIConj(BAIOpposite(&m->A, i, k)) : m->A.a[k], m->d[i],
                                      m->d[j], m->rough),
                       (int)j);
}

/* Whether a coupling is a choice of a row whose largest weight is most */
BAI_INLINE int BAIMatchIsChoice(uint64_t rank, float most)
{
  return rank && BAIAggregateIsStrong(BAIMatchWeightOf(rank), most);
}

/* Whether row i makes offers */
BAI_INLINE int BAIMatchIsOpen(const BAIMatching *m, BAIIndex i)
{
  return m->mate[i] == i && m->most[i] > 0;
}

/* The best choice of row i among every step-th of its count choices from begin + first on, or 0: a row for which the
   coupling is strong too, and whose best offer, which had is set to, this one exceeds; or if rows join pairs, a row of
   a pair. Other threads may raise offers meanwhile */
BAI_INLINE uint64_t BAIMatchChoose(const BAIMatching *m, BAIIndex i, BAIIndex begin, BAIIndex count, int first,
                                   int step, uint64_t *had)
{
  uint64_t best = 0;

  *had = 0;
  for (BAIIndex l = first; l < count; l += step) {
    const uint64_t rank = m->choice[begin + l];
    const int      j    = BAIMatchRow(rank);

    if (rank <= best) continue;
    if (m->join) {
      if (m->mate[j] >= 0 && m->mate[j] != j) best = rank;
    } else {
      const uint64_t offer  = *(const volatile uint64_t *)&m->offer[j];
      const float    weight = BAIMatchWeightOf(rank), most = m->most[j];

      if (!(most > 0) || !BAIAggregateIsStrong(weight, most) || BAIMatchOffer(weight, (int)i) <= offer) continue;
      best = rank;
      *had = offer;
    }
  }
  return best;
}

/* The offer that row i makes, if this is its choice: the choice has the weight too */
BAI_INLINE uint64_t BAIMatchOfferFor(uint64_t choice, BAIIndex i)
{
  return (choice & ~(uint64_t)UINT32_MAX) | BAIAggregateKey((int)i);
}

/* Matches row i if its best offer was made by the row that keeps its own one */
BAI_INLINE void BAIMatchAccept(const BAIMatching *m, BAIIndex i)
{
  const BAIIndex other = BAIMatchRow(m->offer[i]);

  if (other >= 0 && BAIMatchRow(m->offer[other]) == (int)i) m->mate[i] = other;
}

/* The first row of the pair that row i belongs to, or i */
BAI_INLINE BAIIndex BAIFirstOfPair(const BAIIndex *mate, BAIIndex i)
{
  return mate[i] < -1 ? -2 - mate[i] : mate[i] >= 0 && mate[i] < i ? mate[i] : i;
}

/* Whether the diagonal entry of a row is at least the sum of the magnitudes of the others, up to rounding */
BAI_INLINE int BAIIsDominant(const BAIRows *A, BAIIndex row)
{
  BAIReal       sum;
  const BAIReal d = BAIAggregateMagnitude(BAIDiagonal(A, row, &sum));

  return d >= sum - BAI_LEVELS_ROUNDING * sum;
}

/* The data for the overcorrection of each entry of a coarse matrix, see BAISoftened() */
typedef struct {
  BAIIndex *entries; /* number of entries of the finer matrix that it is the sum of */
  BAIIndex *touch;   /* number of rows of the entry's row aggregate that are coupled to its column aggregate */
  /* number of rows of the column aggregate that are coupled to the row aggregate, if the column is a ghost */
  BAIIndex      *back;
  BAILevelsSide *side; /* data of each aggregate */
} BAISides;

/* Entry k of row c of a coarse matrix, divided by up to over if it is a coupling. ghost has the data of
   ghosts, unless over is 1 */
BAI_INLINE BAIScalar BAISoftenedEntry(const BAIRows *C, const BAISides *s, const BAILevelsSide *ghost, BAIReal over,
                                      BAIIndex c, BAIIndex k)
{
  const BAIIndex       other = C->j[k];
  const BAILevelsSide *two   = other < C->n ? &s->side[other] : &ghost[other - C->n];
  BAIIndex             back  = 0;

  if (other == c || over == 1) return C->a[k];
  if (other >= C->n) back = s->back[k];
  else {
    const BAIIndex place = BAIOppositePlace(C, c, k);

    if (place >= 0) back = s->touch[place];
  }
  return BAISoftened(C->a[k], s->entries[k], &s->side[c], s->touch[k], two, back, over);
}

/* The gain of the diagonal entry of a row whose couplings are softened. sum is the sum of the real parts of its
   entries, and lost the sum of what they lose. The row sum does not change, except that it becomes real, like the
   diagonal of a Hermitian matrix, and see BAISoftenedSum() */
BAI_INLINE BAIReal BAISoftenedGain(BAIReal sum, BAIReal lost, BAIReal over)
{
  return lost + (BAISoftenedSum(sum, over) - sum);
}

/* Whether the diagonal entry of row c of a coarse matrix, at place k, is only rounding: the aggregate is coupled to no
   other row, and its entries add up to zero, as in a part of a graph that has no couplings to the others */
BAI_INLINE int BAIIsRounding(const BAIRows *C, const BAISides *s, BAIIndex c, BAIIndex k)
{
  const BAIReal couplings = (BAIReal)(s->entries[k] - (BAIIndex)s->side[c].rows);

  if (C->i[c + 1] - C->i[c] != 1) return 0;
  return BAIAggregateMagnitude(C->a[k]) <= BAI_LEVELS_ROUNDING * couplings * s->side[c].inner;
}

/* The diagonal entry of a row in cycles: a row of zeros gets 1 on the finest level. On coarse levels it stays 0, and
   the correction of the row is 0. sum is its sum of |a_ij|, j != i */
BAI_INLINE BAIScalar BAICycleDiagonal(BAIScalar diagonal, BAIReal sum, int finest)
{
  return !finest || BAIAggregateMagnitude(diagonal) > 0 || !(sum == 0) ? diagonal : (BAIScalar)1;
}

/*
   Inversion of the last level by Gauss-Jordan elimination. Each diagonal entry is the pivot of its row and column,
   unless it has become small; such rows and columns are postponed. Afterwards they are eliminated by the entry of the
   highest rank among them, until all ranks are 0. What is left then is only rounding, of a singular matrix: these rows
   and columns of the inverse are zero, so it is a generalized inverse
*/

/* The size of row i is the largest of |a_ij|^2 / max(|a_jj|, |a_ij|) for all j. It is |a_ii| in a positive definite
   matrix, where |a_ij|^2 <= a_ii a_jj. Otherwise |a_ii| may be 0, or only rounding beside what elimination subtracts
   from it. Returns the larger of size and this number for an entry a; d is |a_jj| */
BAI_INLINE BAIReal BAIPivotSize(BAIReal size, BAIScalar a, BAIReal d)
{
  const BAIReal magnitude = BAIAggregateMagnitude(a);
  const BAIReal mine      = magnitude > d ? magnitude : magnitude > 0 ? magnitude * (magnitude / d) : 0;

  return mine > size ? mine : size;
}

/* Whether a diagonal entry is the pivot of its row and column; d is the size of the row at first */
BAI_INLINE int BAIPivots(BAIScalar a, BAIReal d)
{
  return BAIAggregateMagnitude(a) > BAI_LEVELS_PIVOT * d;
}

/* The rank of an entry as pivot of a postponed row and column, or 0. It is its magnitude relative to the roots of the
   sizes of its row and of the row with the number of its column. Beside the diagonal it is a quarter of that, so that a
   definite matrix keeps pivots on the diagonal. Row and column are in the last bits */
BAI_INLINE uint64_t BAIPivotRank(BAIScalar a, BAIReal root, BAIReal other, int row, int column)
{
  const BAIReal size = BAIAggregateMagnitude(a) / (row == column ? 1 : 4), all = root * other;
  union {
    float    number;
    uint32_t bits;
  } w;

  if (!(size > BAI_LEVELS_ROUNDING * all)) return 0;
  w.number = (float)(size / all);
  return (uint64_t)w.bits << 32 | (uint32_t)(row * BAI_LEVELS_COARSEST + column);
}

BAI_INLINE int BAIPivotRow(uint64_t rank)
{
  return (int)((uint32_t)rank / BAI_LEVELS_COARSEST);
}

BAI_INLINE int BAIPivotColumn(uint64_t rank)
{
  return (int)((uint32_t)rank % BAI_LEVELS_COARSEST);
}

/*
   Elimination solves equation i for the unknown of its pivot's column. So it leaves row unknown[i] of the inverse in
   row i, and column equation[j] of the inverse in column j. Both numbers are -1 while the pivot is postponed
*/

/* Gives each row without a pivot a column without one, in order; unknown and equation get -2 - k for number k */
BAI_INLINE void BAIPivotsEnd(int m, int *unknown, int *equation)
{
  int column = 0;

  for (int row = 0; row < m; row++) {
    if (unknown[row] != -1) continue;
    while (equation[column] != -1) column++;
    unknown[row]     = -2 - column;
    equation[column] = -2 - row;
  }
}

/* The place of an entry in the inverse, which has m rows; BAIPivotsEnd() may have set unknown and equation */
BAI_INLINE int BAIPivotPlace(int unknown, int equation, int m)
{
  return (unknown < 0 ? -2 - unknown : unknown) * m + (equation < 0 ? -2 - equation : equation);
}

/* Returns the number that sweeps add to the diagonal entry of a row, which only makes its magnitude larger, and in
   inverse the factor by which they multiply a residual of the matrix times scale, 0 for a row of zeros. in and sum are
   the sums of magnitudes of the other entries inside the block and in the row; compact: see BAIBlocksAreCompact() */
BAI_INLINE BAIScalar BAISweepsOfRow(BAIScalar diagonal, BAIReal sum, BAIReal in, int compact, BAIReal scale,
                                    BAIScalar *inverse)
{
  const BAIReal d = BAIAggregateMagnitude(diagonal), extra = BAILevelsExtra(d, sum, compact ? 0 : sum - in),
                all     = d + extra;
  const BAIScalar phase = BAIPhase(diagonal, d);

  *inverse = all > 0 ? BAIInversePhase(phase) * (BAI_LOCAL_DAMPING * BAIShareOfDominance(all, in) / (all * scale))
                     : (BAIScalar)0;
  return phase * extra;
}

/* A level whose aggregates are compared with new values, see BAIFits() */
typedef struct {
  BAIRows         A;
  const BAIIndex *place;  /* place of each row in the numbering by aggregates */
  const BAIIndex *field;  /* field of each row; NULL: there is one field */
  BAIIndex        points; /* number of rows of a point */
  int             finest;
} BAIFit;

/* Returns whether a row is dominant, where entries within its point count as diagonal, and sets largest to its largest
   coupling to its field in another point. Ghosts count for dominance, not for largest */
BAI_INLINE int BAIFitRow(const BAIFit *fit, BAIIndex row, BAIReal *largest)
{
  const BAIRows *A     = &fit->A;
  const BAIIndex first = row / fit->points * fit->points;
  BAIReal        d = 0, sum = 0;

  *largest = 0;
  for (BAIIndex k = A->i[row]; k < A->i[row + 1]; k++) {
    const BAIIndex j = A->j[k];
    const BAIReal  w = BAIAggregateMagnitude(A->a[k]);

    if (j >= first && j < first + fit->points) {
      d += w;
      continue;
    }
    sum += w;
    if (j < A->n && w > *largest && (!fit->field || fit->field[j] == fit->field[row])) *largest = w;
  }
  return BAIFitDominates(d, sum, fit->finest);
}

/* Bit set of the points of an aggregate, whose rows have the places begin to end - 1, to which this row has strong
   couplings, and of its own point; all bits if the row is dominant */
BAI_INLINE uint32_t BAIFitLeads(const BAIFit *fit, BAIIndex row, BAIIndex begin, BAIIndex end)
{
  const BAIRows *A = &fit->A;
  uint32_t       leads;
  BAIReal        largest;

  if (BAIFitRow(fit, row, &largest)) return ~UINT32_C(0);
  leads = UINT32_C(1) << (fit->place[row] - begin) / fit->points;
  for (BAIIndex k = A->i[row]; k < A->i[row + 1]; k++) {
    const BAIIndex q = A->j[k] < A->n ? fit->place[A->j[k]] : -1;

    if (q >= begin && q < end && BAIFitIsStrong(BAIAggregateMagnitude(A->a[k]), largest))
      leads |= UINT32_C(1) << (q - begin) / fit->points;
  }
  return leads;
}
