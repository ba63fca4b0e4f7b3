/*
   Diagonal scaling of the matrix that a preconditioner is made of. That of B = L A R takes the place of that of A, and
   is applied as R (that of B) L: so iterations do not depend on the units of unknowns and equations

   Coarse levels have the constant, and rows are matched, damped and softened by the magnitudes of their entries. Units
   change both: A becomes S A S, and what it nearly annihilates w = S^-1 1. L = R = diag(w) brings the first A back. So
   w has to change as S^-1 does:

   * If constants on each field leave A w as small as they do in one system of units, w is the inverse square root of
     the mean diagonal entry of the field. For a scalar matrix that is one number, and there is nothing to do.
   * Else, if A is Hermitian, w begins as a_ii^-1/2, and Jacobi steps on A w = 0 make it smooth.
   * Else L and R are such that all rows and columns of |L A R| have the same sum: R. Sinkhorn,
     P. Knopp, "Concerning nonnegative matrices and doubly stochastic matrices", Pacific Journal of Mathematics 21,
     1967. That is done if it makes A nearly annihilate constants on each field.
*/
#include "baiimpl.h"
#include "../common/hash.h"
#include <petsc/private/petscimpl.h>

enum {
  SMOOTHING_STEPS = 20, /* of w by Jacobi, before inverse iteration */
  BALANCING_STEPS = 40  /* of L and R; what they leave is smooth, so that it hardly differs on an aggregate */
};

static const PetscReal units_defect =
                         3, /* of a constant; rows that dominate and boundary conditions make it up to 1.7 */
  balanced_defect   = 0.5,  /* of a constant, where it has been a matter of units */
  least_of_smooth   = 1e-3, /* where rows dominate, v of Smooth() falls to zero, or below */
  least_of_solution = 1e-6; /* of y_i / w_i, beside the largest */

/* w on each field is the inverse square root of the mean of d there; differ: the largest mean over the least */
PetscErrorCode BAIConstantsOfFields(Vec d, PetscInt fields, Vec w, PetscReal *differ)
{
  PetscReal         *sum, least = PETSC_MAX_REAL, most = 0;
  const PetscScalar *diagonal;
  PetscScalar       *value;
  PetscInt           n, first;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(d, &n));
  PetscCall(VecGetOwnershipRange(d, &first, NULL));
  PetscCall(PetscCalloc1(2 * fields, &sum)); /* of each field the sum, and how many rows it has */
  PetscCall(VecGetArrayRead(d, &diagonal));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt field = (first + i) % fields;

    sum[2 * field] += PetscRealPart(diagonal[i]);
    sum[2 * field + 1]++;
  }
  PetscCall(VecRestoreArrayRead(d, &diagonal));
  PetscCallMPI(
    MPI_Allreduce(MPI_IN_PLACE, sum, (PetscMPIInt)(2 * fields), MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)d)));
  for (PetscInt f = 0; f < fields; f++) {
    const PetscReal mean = sum[2 * f] > 0 ? sum[2 * f] / sum[2 * f + 1] : 1;

    least      = PetscMin(least, mean);
    most       = PetscMax(most, mean);
    sum[2 * f] = 1 / PetscSqrtReal(mean);
  }
  *differ = most / least;
  PetscCall(VecGetArrayWrite(w, &value));
  for (PetscInt i = 0; i < n; i++) value[i] = sum[2 * ((first + i) % fields)];
  PetscCall(VecRestoreArrayWrite(w, &value));
  PetscCall(PetscFree(sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The root mean square of |(A w)_i| / (|a_ii| w_i) over the rows, without those whose diagonal entry is zero */
static PetscErrorCode Defect(Mat A, Vec d, Vec w, PetscReal *defect)
{
  Vec      Aw, dw;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(w, &Aw));
  PetscCall(VecDuplicate(w, &dw));
  PetscCall(MatMult(A, w, Aw));
  PetscCall(VecPointwiseMult(dw, w, d));
  PetscCall(VecReciprocal(dw)); /* zeros stay */
  PetscCall(VecPointwiseMult(Aw, Aw, dw));
  PetscCall(VecNorm(Aw, NORM_2, defect));
  PetscCall(VecGetSize(w, &n));
  *defect /= PetscSqrtReal((PetscReal)n);
  PetscCall(PetscInfo(A, "Of |(A w)_i| / (|a_ii| w_i) the root mean square is %g\n", (double)*defect));
  PetscCall(VecDestroy(&Aw));
  PetscCall(VecDestroy(&dw));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for the constant, and never zero: near zero for elliptic equations, near one where rows dominate */
PetscErrorCode BAIFindDefect(PETSC_UNUSED BAI *bai, Mat A, PetscReal *defect)
{
  Vec d, one;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &one, &d));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecAbs(d));
  PetscCall(VecSet(one, 1.0));
  PetscCall(Defect(A, d, one, defect));
  *defect = PetscMax(*defect, PETSC_MACHINE_EPSILON);
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w_i = d_i^power, or 1 if d_i is zero */
static PetscErrorCode Power(Vec d, PetscReal power, Vec w)
{
  const PetscScalar *in;
  PetscScalar       *out;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(d, &n));
  PetscCall(VecGetArrayRead(d, &in));
  PetscCall(VecGetArrayWrite(w, &out));
  for (PetscInt i = 0; i < n; i++)
    out[i] = PetscRealPart(in[i]) > 0 ? PetscPowReal(PetscRealPart(in[i]), power) : (PetscReal)1;
  PetscCall(VecRestoreArrayWrite(w, &out));
  PetscCall(VecRestoreArrayRead(d, &in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w = d^-1/2 v, where Jacobi steps on A w = 0 begin with v = 1: steps on B v = 0 for B = d^-1/2 A d^-1/2. Where that is
   an M-matrix v stays positive */
static PetscErrorCode Smooth(Mat A, Vec d, PetscBool negative, Vec w)
{
  const PetscReal relaxation = (PetscReal)(negative ? -1.6 : 1.6);
  Mat             B;
  Vec             v, Bv;
  PetscReal       norm;

  PetscFunctionBegin;
  PetscCall(Power(d, (PetscReal)-0.5, w));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatDiagonalScale(B, w, w));
  PetscCall(MatNorm(B, NORM_INFINITY, &norm));
  PetscCall(VecDuplicate(w, &v));
  PetscCall(VecDuplicate(w, &Bv));
  PetscCall(VecSet(v, 1.0));
  for (int step = 0; step < SMOOTHING_STEPS; step++) {
    PetscCall(MatMult(B, v, Bv));
    PetscCall(VecAXPY(v, (PetscScalar)(-relaxation / norm), Bv));
  }
  PetscCall(VecRealPart(v));
  PetscCall(VecSet(Bv, (PetscScalar)least_of_smooth));
  PetscCall(VecPointwiseMax(v, v, Bv));
  PetscCall(VecPointwiseMult(w, w, v));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&Bv));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The magnitudes of the entries of A */
static PetscErrorCode Magnitudes(PetscObject obj, Mat A, Mat *B)
{
  Mat             part[2];
  PetscInt        nghost;
  const PetscInt *garray;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  PetscCall(BAIGetParts(obj, *B, &part[0], &part[1], &nghost, &garray));
  for (int k = 0; k < 2; k++) {
    PetscScalar *a;
    MatInfo      info;

    if (!part[k]) continue;
    PetscCall(MatGetInfo(part[k], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(part[k], &a));
    for (PetscInt i = 0; i < (PetscInt)info.nz_used; i++) a[i] = PetscAbsScalar(a[i]);
    PetscCall(MatSeqAIJRestoreArray(part[k], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns of |L A R| get the same sum, nearly */
static PetscErrorCode Balance(PetscObject obj, Mat A, Vec left, Vec right)
{
  Mat B;
  Vec sums;

  PetscFunctionBegin;
  PetscCall(Magnitudes(obj, A, &B));
  PetscCall(VecDuplicate(left, &sums));
  PetscCall(VecSet(right, 1.0));
  for (int step = 0; step < BALANCING_STEPS; step++) {
    PetscCall(MatMult(B, right, sums));
    PetscCall(Power(sums, -1, left));
    PetscCall(MatMultTranspose(B, left, sums));
    PetscCall(Power(sums, -1, right));
  }
  PetscCall(VecDestroy(&sums));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows have entries that are large beside the diagonal, as where fields in different units are coupled: with
   random signs r, (A r)_i is as large as the root of the sum of the squares of the entries of the row */
static PetscErrorCode HasLargeEntries(Mat A, PetscBool *has)
{
  Vec          d, r;
  PetscScalar *sign;
  PetscInt     n, first;
  PetscReal    size;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &r, &d));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecAbs(d));
  PetscCall(VecGetLocalSize(r, &n));
  PetscCall(VecGetOwnershipRange(r, &first, NULL));
  PetscCall(VecGetArrayWrite(r, &sign));
  for (PetscInt i = 0; i < n; i++) sign[i] = BAIHash((uint64_t)(first + i)) & 1 ? -1 : 1;
  PetscCall(VecRestoreArrayWrite(r, &sign));
  PetscCall(Defect(A, d, r, &size));
  *has = (PetscBool)(size > units_defect);
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds w for a matrix, first of constants on fields, and then, if that is asked for and they do not do, of a smooth
   vector. defect and differ: of the constants */
static PetscErrorCode FindVector(Mat A, PetscInt fields, PetscBool smooth, Vec w, PetscReal *defect, PetscReal *differ)
{
  Vec         d;
  PetscScalar trace;

  PetscFunctionBegin;
  *differ = 1;
  PetscCall(VecDuplicate(w, &d));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecSum(d, &trace));
  PetscCall(VecAbs(d));
  if (fields == 1) PetscCall(VecSet(w, 1.0));
  else PetscCall(BAIConstantsOfFields(d, fields, w, differ));
  PetscCall(Defect(A, d, w, defect));
  if (*defect > units_defect && smooth) PetscCall(Smooth(A, d, (PetscBool)(PetscRealPart(trace) < 0), w));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a scaling that was found for other values still does: constants on fields leave L A R w as small as then */
PetscErrorCode BAIScalingFits(const BAIScaling *s, PetscInt fields, PetscBool *fits)
{
  Vec       w;
  PetscReal defect, differ;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(s->left, &w));
  PetscCall(FindVector(s->matrix, fields, PETSC_FALSE, w, &defect, &differ));
  *fits = (PetscBool)(defect <= units_defect && differ <= (PetscReal)BAI_UNITS);
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds L and R for a matrix, or none if it stays as it is */
PetscErrorCode BAIScalingFind(PetscObject obj, Mat A, PetscInt fields, PetscBool hermitian, BAIScaling *s)
{
  Vec       w;
  Mat       B;
  PetscReal defect, differ;
  PetscBool units, large = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &w, NULL));
  PetscCall(FindVector(A, fields, hermitian, w, &defect, &differ));
  units = (PetscBool)(defect > units_defect);
  if (!units && differ > (PetscReal)BAI_UNITS_OF_FIELDS) PetscCall(HasLargeEntries(A, &large));
  if (!units && !large) {
    PetscCall(VecDestroy(&w));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecDuplicate(w, &s->r));
  s->smoothed = (PetscBool)(units && hermitian);
  if (!units || hermitian) {
    PetscCall(PetscObjectReference((PetscObject)w));
    s->left = s->right = w;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecDuplicate(w, &s->left));
  PetscCall(VecDuplicate(w, &s->right));
  PetscCall(Balance(obj, A, s->left, s->right));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatDiagonalScale(B, s->left, s->right));
  PetscCall(FindVector(B, fields, PETSC_FALSE, w, &defect, &differ));
  PetscCall(VecPointwiseMult(s->left, s->left, w));
  PetscCall(VecPointwiseMult(s->right, s->right, w));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&w));
  if (defect > balanced_defect) PetscCall(BAIScalingReset(s)); /* it was no matter of units */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether magnitudes of diagonal entries, the largest and the least on each rank, differ by more than they do in one
   system of units */
PetscErrorCode BAIUnitsVary(MPI_Comm comm, PetscReal largest, PetscReal least, PetscInt fields, PetscBool *do_vary)
{
  PetscReal most[2] = {largest, -least};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPIU_REAL, MPIU_MAX, comm));
  /* a diagonal entry of zero tells nothing */
  *do_vary = (PetscBool)(most[1] < 0 &&
                         most[0] > -(fields > 1 ? (PetscReal)BAI_UNITS_OF_FIELDS : (PetscReal)BAI_UNITS) * most[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution y of A y = |D| w takes the place of w: ../multigrid/hierarchy.c. It changes as S^-1 does, too */
PetscErrorCode BAIScalingReplace(BAIScaling *s, Vec y)
{
  const Vec w = s->left;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(VecPointwiseDivide(s->r, y, w));
  PetscCall(VecNorm(s->r, NORM_INFINITY, &largest));
  PetscCall(VecScale(y, (PetscScalar)(1 / PetscMax(largest, PETSC_MACHINE_EPSILON))));
  PetscCall(VecAbs(y)); /* negative only where CG ended early, or A is no M-matrix */
  PetscCall(VecScale(w, (PetscScalar)least_of_solution));
  PetscCall(VecPointwiseMax(w, w, y));
  PetscCall(MatDestroy(&s->matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* L A R for A as it is now, or A itself */
PetscErrorCode BAIScalingGetMatrix(BAIScaling *s, Mat A, Mat *B)
{
  PetscObjectState state, nonzero;

  PetscFunctionBegin;
  *B = A;
  if (!s->left) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(MatGetNonzeroState(A, &nonzero));
  if (s->matrix && nonzero != s->nonzero) PetscCall(MatDestroy(&s->matrix));
  if (!s->matrix || state != s->state) {
    if (!s->matrix) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &s->matrix));
    else PetscCall(MatCopy(A, s->matrix, SAME_NONZERO_PATTERN));
    PetscCall(MatDiagonalScale(s->matrix, s->left, s->right));
  }
  s->state   = state;
  s->nonzero = nonzero;
  *B         = s->matrix;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That of A^T: R A^T L */
PetscErrorCode BAIScalingTranspose(const BAIScaling *of, BAIScaling *s)
{
  PetscFunctionBegin;
  if (s->left == of->right && s->right == of->left) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIScalingReset(s));
  if (!of->left) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectReference((PetscObject)of->left));
  PetscCall(PetscObjectReference((PetscObject)of->right));
  s->left  = of->right;
  s->right = of->left;
  PetscCall(VecDuplicate(s->left, &s->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BAIScalingReset(BAIScaling *s)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&s->left));
  PetscCall(VecDestroy(&s->right));
  PetscCall(VecDestroy(&s->r));
  PetscCall(MatDestroy(&s->matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}
