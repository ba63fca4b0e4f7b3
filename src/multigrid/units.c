/* The set-up of a hierarchy, whose matrix is scaled if its unknowns or equations have different units, see
   ../petsc/scaling.c: when to scale it, and improvement of the scaling */
#include "hierarchy.h"
#include <petsc/private/petscimpl.h>

/* Solves A y = |D| w by conjugate gradients, a step of inverse iteration for w, and makes new levels of the matrix that
   y scales. Improving w and the levels in turn is adaptive multigrid: M. Brezina, R. Falgout, S. MacLachlan,
   T. Manteuffel, S. McCormick, J. Ruge, "Adaptive smoothed aggregation", SIAM Journal on Scientific Computing 25, 2004.
   A, by BAIReferenceFixed(), may be negative definite, which KSPCG refuses. solved: CG met its tolerance, so another
   step gains nothing */
static PetscErrorCode Improve(BAI *bai, Mat given, Mat A, PetscBool *solved)
{
  enum {
    STEPS = 10
  };
  const PetscReal    tolerance = 1e-4; /* of r^T z, the square of the natural norm */
  const BAIHierarchy h         = bai->hierarchy;
  Vec               *work, y, r, z, p, Ap;
  PetscScalar        first = 0, before = 0, rz, pAp;
  int                done;

  PetscFunctionBegin;
  PetscCall(VecDuplicateVecs(h->scaling.left, 5, &work));
  y = work[0], r = work[1], z = work[2], p = work[3], Ap = work[4];
  PetscCall(MatGetDiagonal(A, r));
  PetscCall(VecPointwiseMult(r, r, h->scaling.left));
  PetscCall(VecSet(y, 0.0));
  for (int step = 0;; step++) {
    PetscCall(BAIHierarchyCycle(bai, r, z));
    PetscCall(VecDot(r, z, &rz));
    if (step == 0) first = rz;
    *solved = (PetscBool) !(PetscAbsScalar(rz) > tolerance * PetscAbsScalar(first));
    if (*solved || step == STEPS) break;
    if (step == 0) PetscCall(VecCopy(z, p));
    else PetscCall(VecAYPX(p, rz / before, z));
    PetscCall(MatMult(A, p, Ap));
    PetscCall(VecDot(Ap, p, &pAp));
    if (!(PetscAbsScalar(pAp) > 0)) break;
    PetscCall(VecAXPY(y, rz / pAp, p));
    PetscCall(VecAXPY(r, -rz / pAp, Ap));
    before = rz;
  }
  PetscCall(
    PetscInfo(bai->obj, "r^T z of A y = |D| w fell to %g\n", (double)(PetscAbsScalar(rz) / PetscAbsScalar(first))));
  PetscCall(BAIScalingReplace(&h->scaling, y));
  PetscCall(VecDestroyVecs(5, &work));
  h->ready = PETSC_FALSE;
  PetscCall(BAIHierarchyMake(bai, given, PETSC_TRUE, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets BAILevelsInfo.units, the largest one of all ranks, or 0 if there are no levels. Collective */
static PetscErrorCode GetMixed(const BAI *bai, PetscReal *mixed)
{
  const BAIHierarchy h = bai->hierarchy;

  PetscFunctionBegin;
  *mixed = h->levels ? (PetscReal)h->info.units : 0;
  if (PetscIsNanReal(*mixed)) *mixed = (PetscReal)INFINITY;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, mixed, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm(bai->obj)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes new levels, and forgets the scaling, if the units of new values differ from those that the levels or the
   scaling were made for; done becomes BAI_WORK_NEW then. Collective */
static PetscErrorCode RenewUnits(BAI *bai, Mat given, int *done)
{
  const BAIHierarchy h = bai->hierarchy;
  PetscReal          mixed;

  PetscFunctionBegin;
  if (h->jacobi || bai->origin) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetMixed(bai, &mixed));
  if (PetscIsInfReal(mixed) || !(mixed > PetscMax(1, (PetscReal)BAI_UNITS_GROWTH * h->mixed)))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(bai->obj, "New levels: the units of the new values are others\n"));
  h->ready = PETSC_FALSE;
  PetscCall(BAIHierarchyMake(bai, given, PETSC_FALSE, done)); /* without the scaling */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes new levels of the scaled matrix if the units of the matrix require it, see ../petsc/scaling.c */
static PetscErrorCode Scale(BAI *bai, Mat given)
{
  enum {
    STEPS = 4 /* log-normal coefficients in 2D need three, the other problems tried need one */
  };
  const BAIHierarchy h = bai->hierarchy;
  PetscInt           fields;
  Mat                A, fixed = NULL;
  Vec                before;
  PetscBool          good = PETSC_FALSE, restored, others;
  PetscReal          mixed;
  int                done;

  PetscFunctionBegin;
  if (h->jacobi || bai->origin) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetMixed(bai, &mixed));
  if (!(mixed > 1) || PetscIsInfReal(mixed)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIConvert(bai, given, &A));
  PetscCall(BAIInterleave(h, A, &A));
  fields = h->fields.unknowns.count;
  if (h->fields.use == BAI_FIELDS_TOGETHER) fields = 1; /* a unit of each field would not make them alike */
  PetscCall(BAIScalingFind(bai->obj, A, fields, h->hermitian, &h->scaling));
  if (!h->scaling.left) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(bai->obj, "The levels belong to the matrix with its %s scaled\n",
                      h->scaling.left == h->scaling.right ? "unknowns" : "rows and columns"));
  if (h->chip) { /* its residuals would be those of the scaled matrix, so the chip is not used */
    PetscCall(BAIScalingReset(&h->scaling));
    PetscCall(BAIHierarchyDestroyLevels(h));
    PetscCall(PetscMemzero(&h->info, sizeof(h->info)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BAIFieldsFindScaled(bai, A, NULL));
  h->ready = PETSC_FALSE;
  PetscCall(BAIHierarchyMake(bai, given, PETSC_TRUE, &done));
  if (!h->scaling.smoothed || (h->p.modes && !h->fields.scaled) || h->jacobi) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BAIReferenceFixed(bai->obj, A, &fixed));
  PetscCall(VecDuplicate(h->scaling.left, &before));
  PetscCall(VecCopy(h->scaling.left, before));
  for (int step = 0; step < STEPS && !good && !h->jacobi; step++) PetscCall(Improve(bai, given, fixed, &good));
  PetscCall(BAIScalingRestore(&h->scaling, fixed, before, &restored));
  PetscCall(VecDestroy(&before));
  PetscCall(MatDestroy(&fixed));
  PetscCall(BAIFieldsFindScaled(bai, A, &others));
  if (!restored && !others) PetscFunctionReturn(PETSC_SUCCESS);
  h->ready = PETSC_FALSE;
  PetscCall(BAIHierarchyMake(bai, given, PETSC_TRUE, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes new levels, of the scaled matrix, if the units require it; done is what BAIHierarchyMake() has done.
   Collective */
static PetscErrorCode SetUpUnits(BAI *bai, Mat given, int done)
{
  const BAIScaling *scaling = &bai->hierarchy->scaling;

  PetscFunctionBegin;
  if (done == BAI_WORK_VALUES || (done == BAI_WORK_NEW && scaling->left)) PetscCall(RenewUnits(bai, given, &done));
  if (done != BAI_WORK_NEW || scaling->left) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Scale(bai, given));
  PetscCall(GetMixed(bai, &bai->hierarchy->mixed));
  if (PetscIsInfReal(bai->hierarchy->mixed)) bai->hierarchy->mixed = 0; /* any finite one leads to new levels */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sets up levels for the present state of the matrix and options, unless that has been done. After an error there are
   none
*/
PetscErrorCode BAIHierarchySetUp(BAI *bai, Mat A)
{
  PetscErrorCode code;
  int            done;

  PetscFunctionBegin;
  code = BAIHierarchyMake(bai, A, PETSC_FALSE, &done);
  if (!code) code = SetUpUnits(bai, A, done);
  if (code) bai->hierarchy->ready = PETSC_FALSE;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up levels unless they are set up for the present options and stream, whether or not A has changed */
PetscErrorCode BAIHierarchySetUpIfAsked(BAI *bai, Mat A)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(BAIHierarchyIsAsAsked(bai, &is));
  if (!is) PetscCall(BAIHierarchySetUp(bai, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
