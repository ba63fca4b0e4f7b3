/*
   A matrix whose ranks have all unknowns of one field after those of another one is renumbered, so that the unknowns
   of a point follow each other, as levels expect. The levels and their scaling belong to Q^T A Q, where column k of Q
   has a one in the row of the user's matrix that is row k of the levels. Vectors are renumbered for each cycle. Rows
   stay on their ranks
*/
#include "hierarchy.h"

/* Blocks count as coupled if for two of them the product of the norms of A_fg and A_gf is more than this part of that
   of A_ff and A_gg. It does not depend on units */
static const PetscReal coupled = (PetscReal)0.01;

/* Whether fields that are blocks of each rank's rows are coupled to each other: products with noise on one field
   estimate the norms of all A_gf. Collective */
PetscErrorCode BAIBlocksAreCoupled(Mat A, PetscInt fields, PetscBool *are)
{
  Vec       x, y, part;
  IS        block[BAI_LEVELS_MODES];
  PetscInt  first, n;
  PetscReal norm[BAI_LEVELS_MODES][BAI_LEVELS_MODES];

  PetscFunctionBegin;
  *are = PETSC_FALSE;
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, &x, &y));
  for (PetscInt f = 0; f < fields; f++)
    PetscCall(ISCreateStride(PetscObjectComm((PetscObject)A), n / fields, first + f * (n / fields), 1, &block[f]));
  for (PetscInt f = 0; f < fields; f++) {
    PetscCall(VecSet(x, 0.0));
    PetscCall(VecGetSubVector(x, block[f], &part));
    PetscCall(BAIVecSet(part, BAI_SET_NOISE));
    PetscCall(VecRestoreSubVector(x, block[f], &part));
    PetscCall(MatMult(A, x, y));
    for (PetscInt g = 0; g < fields; g++) {
      PetscCall(VecGetSubVector(y, block[g], &part));
      PetscCall(VecNorm(part, NORM_2, &norm[g][f]));
      PetscCall(VecRestoreSubVector(y, block[g], &part));
    }
  }
  for (PetscInt f = 0; f < fields; f++) {
    for (PetscInt g = 0; g < f; g++)
      if (norm[f][g] * norm[g][f] > coupled * norm[f][f] * norm[g][g]) *are = PETSC_TRUE;
    PetscCall(ISDestroy(&block[f]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of the user's matrix that is this row of the interleaved one. Both belong to the same rank, which has n rows
   and counts them from 0 */
PetscInt BAIRowByField(PetscInt fields, PetscInt n, PetscInt row)
{
  return row % fields * (n / fields) + row / fields;
}

/* Creates Q, and vectors of the interleaved matrix */
static PetscErrorCode CreateNumbering(BAIInterleaved *i, Mat A)
{
  PetscInt     first, n, *begin, *column;
  PetscScalar *one;
  MatType      type;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscMalloc3(n + 1, &begin, n, &column, n, &one));
  for (PetscInt k = 0; k <= n; k++) begin[k] = k;
  for (PetscInt k = 0; k < n; k++) column[BAIRowByField(i->fields, n, k)] = first + k;
  for (PetscInt k = 0; k < n; k++) one[k] = 1;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &i->Q));
  PetscCall(MatSetSizes(i->Q, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(i->Q, type));
  PetscCall(MatSeqAIJSetPreallocationCSR(i->Q, begin, column, one));
  PetscCall(MatMPIAIJSetPreallocationCSR(i->Q, begin, column, one));
  PetscCall(PetscFree3(begin, column, one));
  PetscCall(MatCreateVecs(A, &i->r, &i->z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the matrix of the levels for the present A: a matrix that h keeps, or A itself unless its fields are blocks.
   Collective */
PetscErrorCode BAIInterleave(BAIHierarchy h, Mat A, Mat *B)
{
  BAIInterleaved  *i      = &h->interleaved;
  const PetscInt   fields = h->fields.unknowns.count > 1 ? h->fields.unknowns.blocks : 0;
  BAIVersion       now;
  PetscObjectState nonzero;

  PetscFunctionBegin;
  *B = A;
  PetscCall(BAIVersionOf((PetscObject)A, &now));
  PetscCall(MatGetNonzeroState(A, &nonzero));
  if (fields != i->fields || now.id != i->of.id || nonzero != i->nonzero) PetscCall(BAIInterleavedReset(i));
  i->fields  = fields;
  i->nonzero = nonzero;
  if (!fields) PetscFunctionReturn(PETSC_SUCCESS);
  if (!i->Q) PetscCall(CreateNumbering(i, A));
  if (!i->matrix || !BAIVersionsEqual(now, i->of))
    PetscCall(MatPtAP(A, i->Q, i->matrix ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DEFAULT, &i->matrix));
  i->of = now;
  *B    = i->matrix;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIInterleavedReset(BAIInterleaved *i)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&i->Q));
  PetscCall(MatDestroy(&i->matrix));
  PetscCall(VecDestroy(&i->r));
  PetscCall(VecDestroy(&i->z));
  i->fields = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
