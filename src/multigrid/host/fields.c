/* The coupling of fields that rows show, on the host */
#include "../fieldrules.h"
#include "levels.h"

BAIStatus BAIHostLookAtFields(const BAIMatrix *matrix, const BAIPoints *points, int device, void *stream,
                              BAIFieldLook *look)
{
  (void)device;
  (void)stream;
  for (int f = 0; f < points->fields; f++) look[f] = (BAIFieldLook){.bound = 0};
  for (BAIInt row = 0; row < matrix->n; row++)
    BAIFieldLookAt(matrix, points, points->ghost, row, &look[row % points->fields]);
  return BAIStatusOf(BAI_OK);
}
