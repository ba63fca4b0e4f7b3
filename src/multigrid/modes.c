/* The near null space of coarse levels: the one attached to the matrix, or else the constants of fields.c */
#include "hierarchy.h"
#include "../common/hash.h"

/* Whether all entries of v are equal up to rounding: then |sum v_i| = ||v|| sqrt(n) */
static PetscErrorCode IsConstant(Vec v, PetscBool *is)
{
  PetscScalar sum;
  PetscReal   norm;
  PetscInt    n;

  PetscFunctionBegin;
  PetscCall(VecSum(v, &sum));
  PetscCall(VecNorm(v, NORM_2, &norm));
  PetscCall(VecGetSize(v, &n));
  *is = (PetscBool)(PetscAbsScalar(sum) >=
                    (1 - (PetscReal)100 * PETSC_SQRT_MACHINE_EPSILON) * norm * PetscSqrtReal((PetscReal)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Gets the near null space of the user's matrix as the modes of its coarse levels; mode[k] is NULL for a constant. Or,
   with constants, the modes are the constants on fields of the matrix of the levels, and all of mode is NULL. There are
   no modes if the near null space is the constant alone, which coarse levels always represent. id changes with the
   vectors
*/
PetscErrorCode BAIGetModes(const BAI *bai, Mat given, Mat A, PetscInt fields, Vec mode[], int *modes, int *constants,
                           uint64_t *id)
{
  MatNullSpace space;
  PetscInt     n, count, rows;
  const Vec   *vecs;
  PetscBool    constant, same;
  PetscLayout  layout;

  PetscFunctionBegin;
  *modes     = 0;
  *constants = 0;
  *id        = 0;
  PetscCall(MatGetNearNullSpace(given, &space));
  if (!space) {
    *constants = bai->hierarchy->fields.use == BAI_FIELDS_CONSTANTS;
    *modes     = *constants ? (int)fields : 0;
    for (int k = 0; k < *modes; k++) mode[k] = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatNullSpaceGetVecs(space, &constant, &n, &vecs));
  count = n + (constant ? 1 : 0);
  for (PetscInt k = 0; k < n; k++) {
    PetscObjectId    number;
    PetscObjectState state;

    PetscCall(PetscObjectGetId((PetscObject)vecs[k], &number));
    PetscCall(PetscObjectStateGet((PetscObject)vecs[k], &state));
    *id = BAIHash(BAIHash(*id + (uint64_t)number) + (uint64_t)state);
  }
  if (!constant && n == 1 && bai->hierarchy->ready && bai->hierarchy->p.modes_id == *id) /* as the last set-up found */
    constant = (PetscBool)!bai->hierarchy->p.modes;
  else if (!constant && n == 1) PetscCall(IsConstant(vecs[0], &constant));
  if (!n || (n == 1 && count == 1 && constant)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetLayouts(A, &layout, NULL));
  for (PetscInt k = 0; k < n; k++) {
    PetscInt    length;
    PetscLayout other;

    PetscCall(VecGetSize(vecs[k], &length));
    PetscCheck(rows == length, PetscObjectComm((PetscObject)given), PETSC_ERR_ARG_SIZ,
               "Vector %" PetscInt_FMT " of the near null space has %" PetscInt_FMT
               " entries, and the matrix %" PetscInt_FMT " rows",
               k, length, rows);
    PetscCall(VecGetLayout(vecs[k], &other));
    PetscCall(PetscLayoutCompare(layout, other, &same));
    PetscCheck(same, PetscObjectComm((PetscObject)given), PETSC_ERR_ARG_INCOMP,
               "Vector %" PetscInt_FMT " of the near null space has other numbers of entries on the ranks than the "
               "matrix has rows",
               k);
  }
  if (count > BAI_LEVELS_MODES || fields > BAI_LEVELS_MODES) {
    PetscCall(PetscInfo(bai->obj,
                        "The near null space is not used: %" PetscInt_FMT " vectors, block size %" PetscInt_FMT
                        "; both must be at most %d\n",
                        count, fields, BAI_LEVELS_MODES));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < n; k++) mode[k] = vecs[k];
  if (count > n) mode[n] = NULL;
  *modes = (int)count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces vectors of the near null space of A by new ones for L A R, which the caller destroys; NULL is the constant.
   As A^T uses the P of A, its vectors are divided by the same scaling */
PetscErrorCode BAIHierarchyScaleModes(const BAI *bai, int modes, Vec mode[])
{
  const BAIScaling *s     = &bai->hierarchy->scaling;
  const Vec         right = bai->origin ? s->left : s->right;

  PetscFunctionBegin;
  for (int k = 0; k < modes; k++) {
    Vec divided;

    PetscCall(VecDuplicate(right, &divided));
    if (!mode[k]) PetscCall(VecSet(divided, 1.0));
    PetscCall(VecPointwiseDivide(divided, mode[k] ? mode[k] : divided, right));
    mode[k] = divided;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
