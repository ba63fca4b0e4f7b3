/*
   Diagonal scaling of the matrix of a preconditioner: R C L, where C is the preconditioner of B = L A R, replaces the
   preconditioner of A, so that iterations do not depend on the units of unknowns and equations

   Coarse levels represent the constant, and rows are matched, damped and overcorrected by the magnitudes of their
   entries. Other units turn A into S A S, and a vector that it nearly annihilates into w = S^-1 1. L = R = diag(w)
   restores A. So w must change like S^-1:

   * If constants on each field make A w as small as in consistent units, w is the inverse square root of the mean
     diagonal entry of the field. For a scalar matrix this is one number, and nothing is scaled.
   * Otherwise, if A is Hermitian, w starts as a_ii^-1/2, and Jacobi steps on A w = 0 make it smooth. They are dropped
     unless they make A w much smaller, such as where one field has a mass that outweighs its couplings.
   * Otherwise L and R give all rows and columns of |L A R| the same sum: R. Sinkhorn, P. Knopp, "Concerning nonnegative
     matrices and doubly stochastic matrices", Pacific Journal of Mathematics 21, 1967. The error that remains after
     the steps is smooth, and hardly differs on an aggregate.
*/
#include "baiimpl.h"
#include "../common/hash.h"
#include "../relaxation/tuning.h"
#include <petsc/private/petscimpl.h>

enum {
  SMOOTHING_STEPS = 20, /* Jacobi steps for w, before inverse iteration */
  POWER_STEPS     = 10, /* steps of the power method for their length */
  BALANCING_STEPS = 40  /* steps for L and R */
};

static const PetscReal least_of_smooth = 1e-3, /* dominant rows make v of Smooth() fall to zero or below */
  much_smoother     = 0.85, /* steps of Smooth() are dropped unless they lower the defect by this factor */
  less_doubtful     = 0.5,  /* so is a scaling that leaves mixed units, if the defect of constants is not large */
  least_of_solution = 1e-6; /* smallest y_i / w_i, relative to the largest */

/* Sets w on each field to the inverse square root of the mean of d there; differ is the largest mean over the
   smallest */
static PetscErrorCode ConstantsOfFields(Vec d, PetscInt fields, Vec w, PetscReal *differ)
{
  const PetscScalar *in;
  PetscScalar       *out;
  PetscReal         *mean, least = PETSC_MAX_REAL, most = 0;
  PetscInt           n, local;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(fields, &mean));
  PetscCall(VecGetSize(d, &n));
  PetscCall(VecGetLocalSize(d, &local));
  PetscCall(VecGetArrayRead(d, &in));
  for (PetscInt i = 0; i < local; i++) mean[i % fields] += PetscAbsScalar(in[i]) / (PetscReal)(n / fields);
  PetscCall(VecRestoreArrayRead(d, &in));
  PetscCallMPI(
    MPI_Allreduce(MPI_IN_PLACE, mean, (PetscMPIInt)fields, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)d)));
  for (PetscInt f = 0; f < fields; f++) {
    if (!(mean[f] > 0)) mean[f] = 1;
    least = PetscMin(least, mean[f]);
    most  = PetscMax(most, mean[f]);
  }
  PetscCall(VecGetArrayWrite(w, &out));
  for (PetscInt i = 0; i < local; i++) out[i] = 1 / PetscSqrtReal(mean[i % fields]);
  PetscCall(VecRestoreArrayWrite(w, &out));
  *differ = most / least;
  PetscCall(PetscFree(mean));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the defect of w: the root mean square of |(A w)_i| / (|a_ii| w_i) over all rows, where those with a zero
   diagonal entry count as 0. If mixed is not NULL, it becomes the root mean square of BAIMixedUnits() of these rows */
static PetscErrorCode Defect(Mat A, Vec w, PetscReal *defect, PetscReal *mixed)
{
  Vec       Aw, dw;
  PetscInt  n;
  PetscReal root;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(w, &Aw));
  PetscCall(VecDuplicate(w, &dw));
  PetscCall(MatMult(A, w, Aw));
  PetscCall(MatGetDiagonal(A, dw));
  PetscCall(VecPointwiseMult(dw, w, dw));
  PetscCall(VecReciprocal(dw)); /* zeros stay zero */
  PetscCall(VecPointwiseMult(Aw, Aw, dw));
  PetscCall(VecGetSize(w, &n));
  root = PetscSqrtReal((PetscReal)n);
  PetscCall(VecNorm(Aw, NORM_2, defect));
  *defect /= root;
  PetscCall(PetscInfo(A, "Root mean square of |(A w)_i| / (|a_ii| w_i): %g\n", (double)*defect));
  if (mixed) {
    PetscCall(BAIVecSet(Aw, BAI_SET_MIXED_UNITS));
    PetscCall(VecNorm(Aw, NORM_2, mixed));
    *mixed /= root;
    PetscCall(PetscInfo(A, "Measure of mixed units: %g\n", (double)*mixed));
  }
  PetscCall(VecDestroy(&Aw));
  PetscCall(VecDestroy(&dw));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = B x for B = W A W, where W is the diagonal matrix of w; work is work space */
static PetscErrorCode MultScaled(Mat A, Vec w, Vec x, Vec work, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecPointwiseMult(work, w, x));
  PetscCall(MatMult(A, work, y));
  PetscCall(VecPointwiseMult(y, y, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Estimates the largest magnitude of an eigenvalue of B, see MultScaled(), by the power method from noise. y is work
   space, too */
static PetscErrorCode EstimateNorm(Mat A, Vec w, Vec x, Vec work, Vec y, PetscReal *largest)
{
  PetscReal norm;

  PetscFunctionBegin;
  *largest = 0;
  PetscCall(BAIVecSet(x, BAI_SET_NOISE));
  for (int step = 0; step < POWER_STEPS; step++) {
    PetscCall(VecNormalize(x, NULL));
    PetscCall(MultScaled(A, w, x, work, y));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(VecCopy(y, x));
    *largest = PetscMax(*largest, norm);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes w = d^-1/2 v, where v is the result of Jacobi steps from 1 on B v = 0 for B = d^-1/2 A d^-1/2. d has |a_ii|;
   negative: A has a negative diagonal. Steps of length 1 or less keep v positive if B, or -B then, is an M-matrix. If
   the power method misses a larger eigenvalue, v grows in a few rows, which inverse iteration mends */
static PetscErrorCode Smooth(Mat A, Vec d, PetscBool negative, Vec w)
{
  Mat       fixed;
  Vec       v, Bv, work;
  PetscReal largest, length;

  PetscFunctionBegin;
  PetscCall(VecCopy(d, w));
  PetscCall(BAIVecSet(w, BAI_SET_INVERSE_ROOT));
  PetscCall(BAIReferenceFixed((PetscObject)A, A, &fixed));
  PetscCall(VecDuplicate(w, &v));
  PetscCall(VecDuplicate(w, &Bv));
  PetscCall(VecDuplicate(w, &work));
  PetscCall(EstimateNorm(fixed, w, v, work, Bv, &largest));
  length = PetscMin((PetscReal)1.6 / ((PetscReal)BAI_EIGENVALUE_MARGIN * largest), 1);
  PetscCall(VecSet(v, 1.0));
  for (int step = 0; step < SMOOTHING_STEPS && largest > 0; step++) {
    PetscCall(MultScaled(fixed, w, v, work, Bv));
    PetscCall(VecAXPY(v, (PetscScalar)(negative ? length : -length), Bv));
  }
  PetscCall(VecRealPart(v));
  PetscCall(VecSet(Bv, (PetscScalar)least_of_smooth));
  PetscCall(VecPointwiseMax(v, v, Bv));
  PetscCall(VecPointwiseMult(w, w, v));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&Bv));
  PetscCall(VecDestroy(&work));
  PetscCall(MatDestroy(&fixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates B with the magnitudes of the entries of A */
static PetscErrorCode Magnitudes(PetscObject obj, Mat A, Mat *B)
{
  Mat             part[2];
  PetscInt        nghost;
  const PetscInt *garray;

  PetscFunctionBegin;
  PetscCall(BAIDuplicateFixed(obj, A, B));
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

/* Sets right to a power of |a_ii|: 0 fits if the equations have different units, -1 if the unknowns have, and -1/2 if
   each equation has the unit of its unknown. If left gives the rows of L B R the sum 1, the best power makes the sums
   of its columns most equal. B has the magnitudes of A. Balancing would correct a unit of many neighbouring rows only
   slowly */
static PetscErrorCode BeginBalance(Mat A, Mat B, Vec left, Vec right)
{
  Vec       power, column;
  PetscReal norm, best = PETSC_INFINITY;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(right, &power));
  PetscCall(VecDuplicate(right, &column));
  PetscCall(VecSet(right, 1.0));
  for (int k = 0; k < 3; k++) {
    if (k == 0) PetscCall(VecSet(power, 1.0));
    else {
      PetscCall(MatGetDiagonal(A, power));
      PetscCall(VecAbs(power));
      PetscCall(BAIVecSet(power, k == 1 ? BAI_SET_INVERSE_ROOT : BAI_SET_INVERSE));
    }
    PetscCall(MatMult(B, power, left));
    PetscCall(BAIVecSet(left, BAI_SET_INVERSE));
    PetscCall(MatMultTranspose(B, left, column));
    PetscCall(VecPointwiseMult(column, column, power));
    PetscCall(VecNorm(column, NORM_2, &norm)); /* the sum of all entries is the number of rows */
    if (!(norm < best)) continue;
    best = norm;
    PetscCall(VecCopy(power, right));
  }
  PetscCall(VecDestroy(&power));
  PetscCall(VecDestroy(&column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds left and right so that all rows and columns of |L A R| have nearly equal sums */
static PetscErrorCode Balance(PetscObject obj, Mat A, Vec left, Vec right)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(Magnitudes(obj, A, &B));
  PetscCall(BeginBalance(A, B, left, right));
  for (int step = 0; step < BALANCING_STEPS; step++) {
    PetscCall(MatMult(B, right, left));
    PetscCall(BAIVecSet(left, BAI_SET_INVERSE));
    PetscCall(MatMultTranspose(B, left, right));
    PetscCall(BAIVecSet(right, BAI_SET_INVERSE));
  }
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows have entries that are large beside the diagonal, as if fields in different units are coupled: with
   random signs r, |(A r)_i| estimates the 2-norm of row i */
static PetscErrorCode HasLargeEntries(Mat A, PetscBool *has)
{
  Vec          r;
  PetscScalar *sign;
  PetscInt     n, first;
  PetscReal    size;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &r, NULL));
  PetscCall(VecGetLocalSize(r, &n));
  PetscCall(VecGetOwnershipRange(r, &first, NULL));
  PetscCall(VecGetArrayWrite(r, &sign));
  for (PetscInt i = 0; i < n; i++) sign[i] = BAIHash((uint64_t)(first + i)) & 1 ? -1 : 1;
  PetscCall(VecRestoreArrayWrite(r, &sign));
  PetscCall(Defect(A, r, &size, NULL));
  *has = (PetscBool)(size > (PetscReal)BAI_UNITS_RATIO);
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets w to a_ii^-1/2, or to a smooth vector if its defect is much smaller, and improves to whether it is. If only one
   combination of several fields becomes smoother, w fits that one and not the others. d has |a_ii| */
static PetscErrorCode FindSmooth(Mat A, Vec d, PetscBool negative, Vec w, PetscBool *improves)
{
  Vec       root;
  PetscReal before, after;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(w, &root));
  PetscCall(VecCopy(d, root));
  PetscCall(BAIVecSet(root, BAI_SET_INVERSE_ROOT));
  PetscCall(Defect(A, root, &before, NULL));
  PetscCall(Smooth(A, d, negative, w));
  PetscCall(Defect(A, w, &after, NULL));
  *improves = (PetscBool)(after < much_smoother * before);
  if (!*improves) PetscCall(VecCopy(root, w));
  PetscCall(VecDestroy(&root));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds w for a matrix: first constants on fields, then, if smooth is not NULL and they do not suffice, the result of
   FindSmooth(). defect, differ and mixed belong to the constants; mixed may be NULL without smooth */
static PetscErrorCode FindVector(Mat A, PetscInt fields, PetscBool *smooth, Vec w, PetscReal *defect, PetscReal *mixed,
                                 PetscReal *differ)
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
  else PetscCall(ConstantsOfFields(d, fields, w, differ));
  PetscCall(Defect(A, w, defect, mixed));
  if (smooth && *mixed > 1) PetscCall(FindSmooth(A, d, (PetscBool)(PetscRealPart(trace) < 0), w, smooth));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a scaling found for other values still fits: the defect of constants on fields for L A R is not large.
   BAIScalingGetMatrix() must have made L A R for the present values */
PetscErrorCode BAIScalingFits(const BAIScaling *s, PetscInt fields, PetscBool *fits)
{
  Vec       w;
  PetscReal defect, differ;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(s->left, &w));
  PetscCall(FindVector(s->matrix, fields, NULL, w, &defect, NULL, &differ));
  *fits = (PetscBool)(defect <= (PetscReal)BAI_UNITS_RATIO && differ <= (PetscReal)BAI_UNITS);
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds L and R for a matrix that is not Hermitian; they are NULL if sums of its pattern cannot be equal */
static PetscErrorCode FindBalance(PetscObject obj, Mat A, PetscInt fields, Vec w, BAIScaling *s)
{
  PetscReal largest[2], differ;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(w, &s->left));
  PetscCall(VecDuplicate(w, &s->right));
  PetscCall(Balance(obj, A, s->left, s->right));
  PetscCall(VecNorm(s->left, NORM_INFINITY, &largest[0]));
  PetscCall(VecNorm(s->right, NORM_INFINITY, &largest[1]));
  if (PetscIsInfOrNanReal(largest[0]) || PetscIsInfOrNanReal(largest[1])) { /* L and R have run away */
    PetscCall(BAIScalingReset(s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (fields == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetDiagonal(A, s->r)); /* the diagonal of L A R, of one mean on each field */
  PetscCall(VecPointwiseMult(s->r, s->r, s->left));
  PetscCall(VecPointwiseMult(s->r, s->r, s->right));
  PetscCall(VecAbs(s->r));
  PetscCall(ConstantsOfFields(s->r, fields, w, &differ));
  PetscCall(VecPointwiseMult(s->left, s->left, w));
  PetscCall(VecPointwiseMult(s->right, s->right, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Drops L and R unless they help: the units of L A R are not mixed, or the defect of A R 1, which L does not change, is
   much smaller than that of A 1 */
static PetscErrorCode DropUnlessItHelps(Mat A, PetscReal before, BAIScaling *s)
{
  PetscReal after, mixed;

  PetscFunctionBegin;
  if (!s->left) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Defect(A, s->right, &after, &mixed));
  if (!(mixed <= 1) && !(after < less_doubtful * before)) PetscCall(BAIScalingReset(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds L and R for a matrix, or leaves s, which is empty before, as it is if the matrix needs no scaling */
PetscErrorCode BAIScalingFind(PetscObject obj, Mat A, PetscInt fields, PetscBool hermitian, BAIScaling *s)
{
  Vec       w;
  PetscReal defect, mixed, differ;
  PetscBool units, large = PETSC_FALSE, smooth = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &w, NULL));
  PetscCall(FindVector(A, fields, hermitian ? &smooth : NULL, w, &defect, &mixed, &differ));
  units = (PetscBool)(mixed > 1);
  if (!units && differ > (PetscReal)BAI_UNITS_OF_FIELDS) PetscCall(HasLargeEntries(A, &large));
  if (units || large) {
    PetscCall(VecDuplicate(w, &s->r));
    s->smoothed = smooth;
    if (units && !hermitian) PetscCall(FindBalance(obj, A, fields, w, s));
    else {
      PetscCall(PetscObjectReference((PetscObject)w));
      PetscCall(PetscObjectReference((PetscObject)w));
      s->left = s->right = w;
    }
    if (units && defect <= (PetscReal)BAI_UNITS_RATIO) PetscCall(DropUnlessItHelps(A, defect, s));
  }
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces w by the solution y of A y = |D| w, see ../multigrid/units.c, unless y overflowed. It changes with units
   like S^-1, too. Overwrites y */
PetscErrorCode BAIScalingReplace(BAIScaling *s, Vec y)
{
  const Vec w = s->left;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(VecPointwiseDivide(s->r, y, w));
  PetscCall(VecNorm(s->r, NORM_INFINITY, &largest));
  if (PetscIsInfOrNanReal(largest)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecScale(y, (PetscScalar)(1 / PetscMax(largest, PETSC_MACHINE_EPSILON))));
  PetscCall(VecAbs(y)); /* negative only where CG ended early, or A is no M-matrix */
  PetscCall(VecScale(w, (PetscScalar)least_of_solution));
  PetscCall(VecPointwiseMax(w, w, y));
  s->of.state = -1; /* of no matrix */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces w by the vector before unless the defect of w is smaller; is tells whether it did */
PetscErrorCode BAIScalingRestore(BAIScaling *s, Mat A, Vec before, PetscBool *is)
{
  PetscReal defect[2];

  PetscFunctionBegin;
  PetscCall(Defect(A, before, &defect[0], NULL));
  PetscCall(Defect(A, s->left, &defect[1], NULL));
  *is = (PetscBool) !(defect[1] < defect[0]);
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecCopy(before, s->left));
  s->of.state = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets L A R for the present A, a matrix that s keeps, or A itself without scaling */
PetscErrorCode BAIScalingGetMatrix(BAIScaling *s, Mat A, Mat *B)
{
  BAIVersion       now;
  PetscObjectState nonzero;

  PetscFunctionBegin;
  *B = A;
  if (!s->left) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIVersionOf((PetscObject)A, &now));
  PetscCall(MatGetNonzeroState(A, &nonzero));
  if (now.id != s->of.id || nonzero != s->nonzero) PetscCall(MatDestroy(&s->matrix));
  if (!s->matrix || now.state != s->of.state) {
    /* MatDuplicate() and MatCopy() would copy the values from a GPU to the host and back */
    if (!s->matrix) PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &s->matrix)); /* zeros */
    else PetscCall(MatZeroEntries(s->matrix));
    PetscCall(MatAXPY(s->matrix, 1.0, A, SAME_NONZERO_PATTERN));
    PetscCall(MatDiagonalScale(s->matrix, s->left, s->right));
  }
  s->of      = now;
  s->nonzero = nonzero;
  *B         = s->matrix;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes s the scaling of A^T, where of is the one of A: the vectors are shared, left and right change places */
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
