/* Stores rows of a rank as a part of the whole matrix, see ../levels.h */
#include "levels.h"

BAIStatus BAIHostStoreMatrix(const BAIMatrix *matrix, const BAIPart *part, int device, void *stream)
{
  (void)device;
  (void)stream;
  for (BAIInt row = 0; row < matrix->n; row++) BAIStoreRow(matrix, part, part->ghost, row);
  return BAIStatusOf(BAI_OK);
}

BAIStatus BAIHostStore(BAILevelsState state, int level, const BAIPart *part)
{
  const BAIRows *A = &state->level[level].A;

  for (BAIInt row = 0; row < A->n; row++) BAIStoreRowOfLevel(A, part, part->ghost, row);
  return BAIStatusOf(BAI_OK);
}
