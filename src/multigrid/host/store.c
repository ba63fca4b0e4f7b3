/* Stores the rows of a rank in the arrays of the whole matrix, see ../levels.h */
#include "levels.h"

BAIStatus BAIHostStore(const BAIMatrix *matrix, const BAIPart *part, int device, void *stream)
{
  (void)device;
  (void)stream;
  for (BAIInt row = 0; row < matrix->n; row++) BAIStoreRow(matrix, part, part->ghost, row);
  return BAIStatusOf(BAI_OK);
}
