/*
   The near null space of coarse levels: the one attached to the matrix, or else a constant on each field, if the matrix
   has a block size and its fields are strongly coupled
*/
#include "hierarchy.h"
#include "../common/hash.h"
#include <petsc/private/petscimpl.h>

/* Fields are strongly coupled if the norm of the entries between fields is at least this part of the norm of those
   within fields, without the diagonal */
static const PetscReal strong = 0.1, annihilated = 0.25; /* largest mean of |(A w)_i| / (|a_ii| w_i) */
/*
   Set-up calls fields dependent if the norm of the entries between them is at least twice that of the diagonal, as in
   the two equations of Cahn and Hilliard, which second derivatives couple. A definite Hermitian matrix with ones on
   its diagonal has no dependent fields if its largest eigenvalue is below 5: that eigenvalue is a bound of (A^2)_ii,
   the sum of the squares of row i. Without symmetry, such as between the real and the imaginary part of a shift, the
   constants are taken from half of the diagonal on, whether or not A annihilates them
*/
static const PetscReal dependent = 2, needed = 0.5;

/* Sums over all rows: squares of the entries in the rows of one field and the columns of another, and of the diagonal;
   and |(A w)_i| / (|a_ii| w_i) */
typedef struct {
  PetscReal square[BAI_LEVELS_MODES][BAI_LEVELS_MODES], diagonal, ratio;
} Couplings;

/* Sets v to w on one field, with pseudorandom signs if signs, and to zero on the other fields */
static PetscErrorCode OnField(Vec w, PetscInt fields, PetscInt field, PetscBool signs, Vec v)
{
  const PetscScalar *in;
  PetscScalar       *out;
  PetscInt           n, first;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(w, &n));
  PetscCall(VecGetOwnershipRange(w, &first, NULL));
  PetscCall(VecGetArrayRead(w, &in));
  PetscCall(VecGetArrayWrite(v, &out));
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal sign = signs && BAIHash((uint64_t)(first + i)) & 1 ? -1 : 1;

    out[i] = (first + i) % fields == field ? sign * in[i] : 0;
  }
  PetscCall(VecRestoreArrayWrite(v, &out));
  PetscCall(VecRestoreArrayRead(w, &in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the findings from y = A r, where r is w on one field, with random signs unless constant. With signs, the square
   of w_i y_i estimates the sum of the squares of the entries that couple row i to the field */
static PetscErrorCode Add(Vec w, Vec d, Vec y, PetscInt fields, PetscInt field, PetscBool constant, Couplings *found)
{
  const PetscScalar *scale, *diagonal, *value;
  PetscInt           n, first;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(w, &n));
  PetscCall(VecGetOwnershipRange(w, &first, NULL));
  PetscCall(VecGetArrayRead(w, &scale));
  PetscCall(VecGetArrayRead(d, &diagonal));
  PetscCall(VecGetArrayRead(y, &value));
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal size = PetscAbsScalar(scale[i] * value[i]), dw2 = PetscRealPart(diagonal[i] * scale[i] * scale[i]);
    const PetscInt  of = (first + i) % fields;

    if (constant) found->ratio += dw2 > 0 ? size / dw2 : 0;
    else found->square[of][field] += PetscSqr(size);
    if (!constant && of == field) found->diagonal += PetscSqr(dw2);
  }
  PetscCall(VecRestoreArrayRead(y, &value));
  PetscCall(VecRestoreArrayRead(d, &diagonal));
  PetscCall(VecRestoreArrayRead(w, &scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the coarse levels must represent a constant on each field: the fields depend on each other, or they are
   strongly coupled, and A nearly annihilates these constants. The unknowns of an element of a discontinuous method are
   coupled as strongly, but A annihilates only a constant on all of them. Whether fields depend on each other does not
   change if the equations and the unknowns of a field get other units, as products of both directions are looked at */
static PetscErrorCode AreCoupled(Mat A, PetscInt fields, PetscBool *are, PetscBool *depend)
{
  Vec       d, w, v, y;
  Couplings found = {0};
  PetscReal differ, mean, within = 0, between = 0, mutual = 0;
  PetscBool hermitian;
  PetscInt  n;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &v, &y));
  PetscCall(VecDuplicate(v, &d));
  PetscCall(VecDuplicate(v, &w));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecAbs(d));
  PetscCall(BAIConstantsOfFields(d, fields, w, &differ));
  PetscCall(VecGetSize(d, &n));
  for (PetscInt f = 0; f < fields; f++) {
    for (int k = 0; k < 2; k++) {
      const PetscBool constant = (PetscBool)(k == 1);

      PetscCall(OnField(w, fields, f, (PetscBool)!constant, v));
      PetscCall(MatMult(A, v, y));
      PetscCall(Add(w, d, y, fields, f, constant, &found));
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &found, (PetscMPIInt)(sizeof(found) / sizeof(PetscReal)), MPIU_REAL,
                             MPIU_SUM, PetscObjectComm((PetscObject)A)));
  for (PetscInt f = 0; f < fields; f++) {
    for (PetscInt g = 0; g < fields; g++) {
      if (f == g) within += found.square[f][g];
      else between += found.square[f][g];
      if (f != g) mutual += PetscSqrtReal(found.square[f][g]) * PetscSqrtReal(found.square[g][f]);
    }
  }
  within -= found.diagonal;
  mean    = found.ratio / ((PetscReal)n * (PetscReal)fields);
  *depend = (PetscBool)(mutual > 0 && mutual >= PetscSqr(dependent) * found.diagonal);
  PetscCall(BAILooksHermitian(A, &hermitian));
  *are = (PetscBool)((mutual > 0 && mutual >= PetscSqr(hermitian ? dependent : needed) * found.diagonal) ||
                     (between >= PetscSqr(strong) * within && mean <= annihilated));
  PetscCall(
    PetscInfo(A,
              "Norm of couplings between fields over couplings within: %g, in both directions over the diagonal: "
              "%g; mean of |(A w)_i|/(|a_ii| w_i) for constants w on a field: %g\n",
              (double)PetscSqrtReal(between / within), (double)PetscSqrtReal(mutual / found.diagonal), (double)mean));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIFieldsReset(BAIFields *f)
{
  PetscFunctionBegin;
  for (int k = 0; k < f->count; k++) PetscCall(VecDestroy(&f->constant[k]));
  f->count     = 0;
  f->dependent = f->looked = PETSC_FALSE;
  f->ratio                 = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the fields of the hierarchy to a constant on each field if a matrix without near null space needs them,
   otherwise to none. A transposed operator takes the result of the original one */
PetscErrorCode BAIFieldsFind(BAI *bai, Mat given, Mat A)
{
  BAIFields   *f = &bai->hierarchy->fields;
  MatNullSpace space;
  PetscInt     fields;
  PetscBool    are;
  Vec          one;

  PetscFunctionBegin;
  PetscCall(BAIFieldsReset(f));
  PetscCall(MatGetNearNullSpace(given, &space));
  PetscCall(MatGetBlockSize(A, &fields));
  if (space || fields == 1 || fields > BAI_LEVELS_MODES || bai->hierarchy->chip) PetscFunctionReturn(PETSC_SUCCESS);
  if (bai->origin) {
    are          = (PetscBool)(bai->origin->hierarchy->fields.count > 0);
    f->dependent = bai->origin->hierarchy->fields.dependent;
  } else {
    f->looked = PETSC_TRUE;
    PetscCall(AreCoupled(A, fields, &are, &f->dependent));
  }
  if (!are) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &one, NULL));
  PetscCall(VecSet(one, 1.0));
  for (f->count = 0; f->count < fields; f->count++) {
    PetscCall(VecDuplicate(one, &f->constant[f->count]));
    PetscCall(OnField(one, fields, f->count, PETSC_FALSE, f->constant[f->count]));
  }
  PetscCall(VecDestroy(&one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether BAIFieldsFind() would find other fields with the present values of A */
PetscErrorCode BAIFieldsChange(const BAIFields *f, Mat A, PetscBool *change)
{
  PetscInt  fields;
  PetscBool are, depend;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &fields));
  PetscCall(AreCoupled(A, fields, &are, &depend));
  *change = (PetscBool)(are != (PetscBool)(f->count > 0) || depend != f->dependent);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
   Gets the near null space of the user's matrix as the modes of its coarse levels; mode[k] is NULL for a constant.
   There are none if the near null space is the constant alone, which coarse levels always represent. id changes with
   the vectors
*/
PetscErrorCode BAIGetModes(const BAI *bai, Mat given, Mat A, PetscInt fields, Vec mode[], int *modes, uint64_t *id)
{
  MatNullSpace space;
  PetscInt     n, count, rows;
  const Vec   *vecs;
  PetscBool    constant, same;
  PetscLayout  layout;

  PetscFunctionBegin;
  *modes = 0;
  *id    = 0;
  PetscCall(MatGetNearNullSpace(given, &space));
  if (!space) {
    for (int k = 0; k < bai->hierarchy->fields.count; k++) mode[k] = bai->hierarchy->fields.constant[k];
    *modes = bai->hierarchy->fields.count;
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

/* Replaces vectors of the near null space of A by new ones for L A R; NULL is the constant. The caller destroys them.
   As A^T uses the P of A, its vectors are divided by the same scaling */
PetscErrorCode BAIHierarchyScaleModes(const BAI *bai, int modes, Vec mode[])
{
  const BAIScaling *s     = &bai->hierarchy->scaling;
  const Vec         right = bai->origin ? s->left : s->right;

  PetscFunctionBegin;
  for (int k = 0; k < modes; k++) {
    Vec divided;

    PetscCall(VecDuplicate(right, &divided));
    if (mode[k]) PetscCall(VecPointwiseDivide(divided, mode[k], right));
    else {
      PetscCall(VecCopy(right, divided));
      PetscCall(VecReciprocal(divided));
    }
    mode[k] = divided;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
