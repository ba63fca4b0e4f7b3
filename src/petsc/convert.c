/*
   Matrices of other types than aij, as the engine reads them: a copy of type aij, which follows the values
*/
#include "baiimpl.h"
#include <petsc/private/petscimpl.h>

/* The type begins with one of these words, as those of one rank and of several do */
static PetscErrorCode IsAnyOf(Mat A, const char *const types[], PetscBool *is)
{
  PetscFunctionBegin;
  *is = PETSC_FALSE;
  for (int k = 0; types[k] && !*is; k++) PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, types[k], is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Null spaces that are attached to the matrix */
static PetscErrorCode CopySpaces(Mat A, Mat aij)
{
  MatNullSpace space;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(A, &space));
  PetscCall(MatSetNullSpace(aij, space));
  PetscCall(MatGetNearNullSpace(A, &space));
  PetscCall(MatSetNearNullSpace(aij, space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of type aij. Of a MATMPIBAIJ a duplicate is converted, as PETSc 3.18 takes the part with the columns of other
   ranks apart, to which others may point, as MatFDColoring */
static PetscErrorCode Copy(Mat A, Mat *aij)
{
  PetscBool is;
  Mat       duplicate;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIBAIJ, &is));
  if (!is) {
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, aij));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &duplicate));
  PetscCall(MatConvert(duplicate, MATAIJ, MAT_INITIAL_MATRIX, aij));
  PetscCall(MatDestroy(&duplicate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The type is one of those of which entries are read */
PetscErrorCode BAIHasEntries(Mat A, PetscBool *has)
{
  const char *const types[] = {MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ, MATMPIBAIJ, MATSEQSBAIJ, MATMPISBAIJ, NULL};

  PetscFunctionBegin;
  PetscCall(IsAnyOf(A, types, has));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix to read: A itself, or a copy of it as it is now */
PetscErrorCode BAIConvert(BAI *bai, Mat A, Mat *aij)
{
  const char *const blocks[] = {MATSEQBAIJ, MATMPIBAIJ, MATSEQSBAIJ, MATMPISBAIJ, NULL};
  const char *const hip[]    = {"seqaijhipsparse", "mpiaijhipsparse", NULL}; /* not all releases name them */
  MatType           type;
  PetscObjectId     id;
  PetscObjectState  state;
  PetscBool         is;

  PetscFunctionBegin;
  *aij = A;
  PetscCall(IsAnyOf(A, hip, &is));
  PetscCall(MatGetType(A, &type));
  PetscCheck(!is, PetscObjectComm(bai->obj), PETSC_ERR_SUP,
             "Matrix type %s: block-asynchronous iteration runs on the host and on NVIDIA GPUs only; see MatConvert() "
             "and -mat_type aij",
             type);
  PetscCall(IsAnyOf(A, blocks, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAICheckAssembled(bai->obj, A));
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (!bai->aij || id != bai->aij_of || state != bai->aij_state) {
    PetscCall(PetscInfo(bai->obj, "Matrix type %s: copied to type aij\n", type));
    if (bai->relax.A == bai->aij) PetscCall(MatDestroy(&bai->relax.A));
    PetscCall(MatDestroy(
      &bai->aij)); /* not reused, as the nonzero state of all of these types does not always tell of a new pattern */
    PetscCall(Copy(A, &bai->aij));
    PetscCall(PetscObjectStateSet((PetscObject)A,
                                  state)); /* which converting it may have raised: its values are as they were */
    bai->aij_of    = id;
    bai->aij_state = state;
  }
  PetscCall(CopySpaces(A, bai->aij));
  *aij = bai->aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}
