/*
   A matrix whose ranks have all unknowns of one field after those of another one is renumbered, so that the unknowns of
   a point follow each other, as levels expect. The levels and their scaling belong to the renumbered matrix; vectors are
   renumbered for each cycle. Rows stay on their ranks
*/
#include "hierarchy.h"

/* The row of the user's matrix that is this row of the interleaved one. Both belong to the same rank, which has n rows
   and counts them from 0 */
PetscInt BAIRowByField(PetscInt fields, PetscInt n, PetscInt row)
{
  return row % fields * (n / fields) + row / fields;
}

/* Creates the index set of the rows of A in the order of the interleaved matrix */
static PetscErrorCode CreateOrder(Mat A, PetscInt fields, IS *order)
{
  PetscInt first, n, *rows;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(PetscMalloc1(n, &rows));
  for (PetscInt row = 0; row < n; row++) rows[row] = first + BAIRowByField(fields, n, row);
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)A), n, rows, PETSC_OWN_POINTER, order));
  PetscCall(ISSetPermutation(*order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the vectors of the interleaved matrix, and what renumbers those of A */
static PetscErrorCode CreateVectors(BAIInterleaved *i, Mat A, IS order)
{
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &i->r, &i->z));
  PetscCall(VecScatterCreate(i->z, order, i->r, NULL, &i->together));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the matrix of the levels for the present A, a matrix that h keeps, or A itself unless its fields are blocks. The
   values of a matrix on a GPU are renumbered on the host. Collective */
PetscErrorCode BAIInterleave(BAIHierarchy h, Mat A, Mat *B)
{
  BAIInterleaved *i      = &h->interleaved;
  const PetscInt  fields = h->fields.unknowns.by_field ? h->fields.unknowns.count : 0;
  BAIVersion      now;
  MatType         type;
  IS              order;

  PetscFunctionBegin;
  *B = A;
  PetscCall(BAIVersionOf((PetscObject)A, &now));
  if (fields != i->fields || now.id != i->of.id) PetscCall(BAIInterleavedReset(i));
  i->fields = fields;
  if (!fields) PetscFunctionReturn(PETSC_SUCCESS);
  if (!i->matrix || !BAIVersionsEqual(now, i->of)) {
    PetscCall(MatDestroy(&i->matrix));
    PetscCall(CreateOrder(A, fields, &order));
    PetscCall(MatPermute(A, order, order, &i->matrix));
    PetscCall(MatGetType(A, &type));
    PetscCall(MatConvert(i->matrix, type, MAT_INPLACE_MATRIX, &i->matrix));
    if (!i->together) PetscCall(CreateVectors(i, A, order));
    PetscCall(ISDestroy(&order));
    i->of = now;
  }
  *B = i->matrix;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIInterleavedReset(BAIInterleaved *i)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&i->matrix));
  PetscCall(VecScatterDestroy(&i->together));
  PetscCall(VecDestroy(&i->r));
  PetscCall(VecDestroy(&i->z));
  i->fields = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
