/* The coupling of fields that a row shows: the rules that host and device share, see BAILevelsLookAtFields() */
#pragma once

#include "rowrules.h"

enum {
  BAI_FIELD_BITS = 5 /* bits of the number of a field, below BAI_LEVELS_FIELDS */
};

/* See BAIFieldLookAt(). With 2 instead of 4, fields that react at other rates than back seem bound */
#define BAI_BOUND_LEFT 0.1
#define BAI_BOUND_MORE 4

/*
   Adds what a row shows of the coupling of fields to look, which belongs to the field of the row; ghost has the global
   numbers of ghosts in the memory of the matrix. Let v have the weight of its field in each entry, and let v' be v with
   another sign on some fields. Row i is bound to other fields if for some v' |(A v')_i| is at least
   BAI_BOUND_LEFT |a_ii v_i| and BAI_BOUND_MORE |(A v)_i|. A bit of the number of a field is its sign in one v', so any
   two fields have different signs in at least one of them
*/
BAI_INLINE void BAIFieldLookAt(const BAIMatrix *M, const BAIPoints *points, const BAIInt *ghost, BAIInt row,
                               BAIFieldLook *look)
{
  const int     fields = points->fields, modes = fields <= BAI_LEVELS_MODES;
  const BAIReal weight                = points->weight[row % fields];
  BAIScalar     sum[BAI_LEVELS_MODES] = {0}, d = 0, all = 0;
  BAIScalar     some[BAI_FIELD_BITS] = {0}; /* sum over the fields whose number has this bit */
  int           bound                = 0;

  if (M->A.i[row + 1] - M->A.i[row] + (M->nghost ? M->B.i[row + 1] - M->B.i[row] : 0) > points->longest) return;
  for (int other = 0; other < (M->nghost ? 2 : 1); other++) {
    const BAICSR *A = other ? &M->B : &M->A;

    for (BAIInt k = A->i[row]; k < A->i[row + 1]; k++) {
      const BAIInt    j        = A->j[k];
      const int       field    = (int)((other ? ghost[j] : j) % fields);
      const double    size     = (double)BAIAggregateMagnitude(A->a[k]);
      const BAIScalar weighted = A->a[k] * points->weight[field];

      if (!other && j == row) d += A->a[k];
      all += weighted;
      for (int bit = 0; bit < BAI_FIELD_BITS; bit++) some[bit] += field >> bit & 1 ? weighted : (BAIScalar)0;
      look->square[field] += size * size;
      if (modes) sum[field] += A->a[k];
    }
  }
  const BAIReal magnitude = BAIAggregateMagnitude(d), left = BAIAggregateMagnitude(all);

  if (!(magnitude > 0)) return;
  look->diagonal += (double)magnitude;
  look->diagonal2 += (double)magnitude * (double)magnitude;
  for (int f = 0; f < fields && modes; f++) look->left[f] += (double)(BAIAggregateMagnitude(sum[f]) / magnitude);
  for (int bit = 0; bit < BAI_FIELD_BITS && 1 << bit < fields; bit++) {
    const BAIReal size = BAIAggregateMagnitude(all - some[bit] - some[bit]);

    if (size >= (BAIReal)BAI_BOUND_LEFT * magnitude * weight && size >= (BAIReal)BAI_BOUND_MORE * left) bound = 1;
  }
  look->bound += bound;
}
