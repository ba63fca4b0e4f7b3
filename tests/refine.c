static char help[] = "Iterative refinement: without another precision it changes nothing; with sweeps in single "
                     "precision solutions are of full precision, or as accurate as was asked for.\n\n";

#include "check.h"
#include "gallery.h"

static const PetscReal published = 1e-12; /* the relative residual to which the papers iterate, about */

static PetscErrorCode Create(Mat A, BAIMode mode, BAIPrecision precision, BAIRefine refine, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(NewKSP(A, KSPBAI, ksp));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPBAISetMode(*ksp, mode));
  PetscCall(KSPBAISetMomentum(*ksp, 0));
  PetscCall(KSPBAISetBlockSize(*ksp, 100));
  PetscCall(KSPBAISetPrecision(*ksp, precision));
  PetscCall(SetOption((PetscObject)*ksp, "refine", "%s", BAIRefines[refine]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many iterations from the guess in x */
static PetscErrorCode Iterate(KSP ksp, PetscInt its, Vec b, Vec x)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, its));
  PetscCall(KSPSolve(ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||x - y||/||y||, in the maximum norm; x is lost */
static PetscErrorCode Difference(Vec x, Vec y, PetscReal *difference)
{
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(x, -1, y));
  PetscCall(VecNorm(x, NORM_INFINITY, difference));
  *difference /= norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x is random, and y the same */
static PetscErrorCode CreateVecs(Mat A, Vec *b, Vec *x, Vec *y)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, x, b));
  PetscCall(VecDuplicate(*x, y));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(*x, random));
  PetscCall(VecCopy(*x, *y));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyVecs(Vec *b, Vec *x, Vec *y)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(b));
  PetscCall(VecDestroy(x));
  PetscCall(VecDestroy(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What else an update may have */
static PetscErrorCode SetFeature(KSP ksp, const char feature[])
{
  PetscFunctionBeginUser;
  if (!strcmp(feature, "graph")) PetscCall(KSPBAISetPartition(ksp, BAI_PARTITION_GRAPH));
  if (!strcmp(feature, "theta")) PetscCall(SetOption((PetscObject)ksp, "theta", "true"));
  if (!strcmp(feature, "l1")) PetscCall(KSPBAISetWeight(ksp, BAI_WEIGHT_L1));
  if (!strcmp(feature, "momentum")) PetscCall(KSPBAISetMomentum(ksp, 0.2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In native precision x after some iterations is that of plain ones, up to rounding */
static PetscErrorCode TestSame(Mat A, const char feature[], BAIMode mode, BAIRefine refine)
{
  Vec       b, x, y;
  KSP       ksp;
  PetscReal difference;

  PetscFunctionBeginUser;
  PetscCall(CreateVecs(A, &b, &x, &y));
  PetscCall(VecSet(b, 1));
  for (int refined = 0; refined < 2; refined++) {
    PetscCall(Create(A, mode, BAI_PRECISION_NATIVE, refined ? refine : BAI_REFINE_NONE, &ksp));
    PetscCall(SetFeature(ksp, feature));
    PetscCall(Iterate(ksp, 20, b, refined ? x : y)); /* more than one correction */
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(Difference(x, y, &difference));
  PetscCall(ExpectMode((PetscBool)(difference <= 100 * PETSC_MACHINE_EPSILON), "difference", feature, mode,
                       (double)difference)); /* the inverse of the coarse matrix is in single precision */
  PetscCall(DestroyVecs(&b, &x, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution stays where it is, whatever the precision of corrections */
static PetscErrorCode TestFixedPoint(Mat A, BAIMode mode, BAIPrecision precision)
{
  Vec       b, x, y;
  KSP       ksp;
  PetscReal difference;

  PetscFunctionBeginUser;
  PetscCall(CreateVecs(A, &b, &x, &y));
  PetscCall(MatMult(A, x, b));
  PetscCall(Create(A, mode, precision, BAI_REFINE_ASYNC, &ksp));
  PetscCall(Iterate(ksp, 20, b, x));
  PetscCall(Difference(x, y, &difference));
  PetscCall(ExpectMode((PetscBool)(difference <= 1000 * PETSC_MACHINE_EPSILON), "distance from the solution",
                       BAIPrecisions[precision], mode, (double)difference));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroyVecs(&b, &x, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x = 1 from zero: the iterations, negative if it does not converge; what is claimed is held against a MatMult() */
static PetscErrorCode Solve(KSP ksp, PetscReal rtol, PetscInt max_it, PetscInt *its)
{
  Vec                b, x;
  Mat                A;
  KSPConvergedReason reason;
  PetscReal          rnorm;
  PetscBool          right;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, max_it));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason > 0) {
    PetscCall(IsConverged(ksp, &rnorm, &right));
    PetscCall(Expect(right, "residual norm %g of a converged solve", (double)rnorm));
  } else *its = -1;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With corrections in single precision solutions are as good as without, and hardly later there, as far as their number
 * does not depend on chance; also for other values of the matrix */
static PetscErrorCode TestAccurate(Mat A, BAIMode mode, BAIRefine refine)
{
  const PetscBool repeats = (PetscBool)(mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR);
  PetscInt        its[2];

  PetscFunctionBeginUser;
  for (int values = 0; values < 2; values++) {
    for (int single = 0; single < 2; single++) {
      KSP ksp;

      PetscCall(
        Create(A, mode, single ? BAI_PRECISION_SINGLE : BAI_PRECISION_NATIVE, single ? refine : BAI_REFINE_NONE, &ksp));
      if (values) { /* the engine takes them over */
        PetscCall(Solve(ksp, 1e-2, 1000, &its[single]));
        PetscCall(MatScale(A, single ? 3 : 1. / 3));
        PetscCall(KSPSetOperators(ksp, A, A));
      }
      PetscCall(Solve(ksp, published, 20000, &its[single]));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(Expect(its[0] > 0 && its[1] > 0 && (!repeats || its[1] <= its[0] + its[0] / 4 + 10),
                     "%d iterations, %d in native precision", (int)its[1], (int)its[0]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without refinement x is of single precision. The residual norm is the true one, falls as far as that, and nothing
 * more is claimed */
static PetscErrorCode TestRounded(Mat A, BAIMode mode)
{
  Vec                b, x;
  KSP                ksp;
  PetscInt           its, n;
  PetscReal          rnorm, norm, bnorm;
  const PetscScalar *values;
  PetscBool          rounded = PETSC_TRUE;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(Create(A, mode, BAI_PRECISION_SINGLE, BAI_REFINE_NONE, &ksp));
  PetscCall(Solve(ksp, 1e-5, 1000, &its));
  PetscCall(ExpectMode((PetscBool)(its > 0), "iterations", "to 1e-5", mode, (double)its));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualNorm(ksp, &rnorm));
  PetscCall(TrueResidualNorm(A, b, x, &norm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(ExpectMode((PetscBool)(reason == KSP_DIVERGED_ITS), "reason", "to 1e-10", mode, (double)reason));
  PetscCall(ExpectMode((PetscBool)(norm > 1e-9 * bnorm && norm < 1e-5 * bnorm), "residual", "in single precision", mode,
                       (double)(norm / bnorm)));
  PetscCall(ExpectMode((PetscBool)(PetscAbsReal(rnorm - norm) <= 1e-12 * bnorm), "residual norm",
                       "that is not the true one", mode, (double)(rnorm / bnorm)));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &values));
  for (PetscInt i = 0; i < n; i++)
    rounded = (PetscBool)(rounded && PetscRealPart(values[i]) == (float)PetscRealPart(values[i]));
  PetscCall(VecRestoreArrayRead(x, &values));
  PetscCall(ExpectMode(rounded, "solution", "in single precision", mode, (double)n));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many more iterations than it takes: what corrections learn where rounding is reached spoils no later solve, nor do
   options that are read again */
static PetscErrorCode TestAgain(Mat A, BAIMode mode)
{
  Vec       b, x;
  KSP       ksp;
  PetscReal norm, bnorm;

  PetscFunctionBeginUser;
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(Create(A, mode, BAI_PRECISION_SINGLE, BAI_REFINE_SYNC, &ksp));
  for (int solve = 0; solve < 3; solve++) {
    if (solve == 2) PetscCall(KSPSetFromOptions(ksp));
    PetscCall(VecZeroEntries(x));
    PetscCall(Iterate(ksp, 300, b, x));
    PetscCall(TrueResidualNorm(A, b, x, &norm));
    PetscCall(ExpectMode((PetscBool)(norm <= 1e-13 * bnorm), "residual", "again", mode, (double)(norm / bnorm)));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The view says which refinement there is, also that of auto */
static PetscErrorCode TestView(Mat A)
{
  const struct {
    BAIPrecision precision;
    BAIRefine    refine;
    const char  *words; /* or NULL */
  } cases[] = {
    {BAI_PRECISION_NATIVE, BAI_REFINE_AUTO,  NULL          },
    {BAI_PRECISION_NATIVE, BAI_REFINE_ASYNC, "refine async"},
    {BAI_PRECISION_SINGLE, BAI_REFINE_AUTO,  "refine sync" },
    {BAI_PRECISION_SINGLE, BAI_REFINE_NONE,  "refine none" }
  };

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    KSP       ksp;
    PetscBool has;

    PetscCall(Create(A, BAI_MODE_SYNC, cases[k].precision, cases[k].refine, &ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCall(ViewHas((PetscObject)ksp, cases[k].words ? cases[k].words : "refine", &has));
    PetscCall(
      Expect(has == (cases[k].words != NULL), "the view says %s", cases[k].words ? cases[k].words : "no refinement"));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    PetscInt    n;
  } matrices[] = {
    {"fv1",       0   },
    {"trefethen", 2000},
    {"laplace3d", 12  }
  };
  const char *const features[] = {"plain", "graph", "theta", "l1", "momentum"};
  PetscMPIInt       size;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(matrices); m++) {
    const PetscBool hard = (PetscBool)!strcmp(matrices[m].name, "laplace3d");
    Mat             A;

    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrices[m].name, matrices[m].n, &A));
    for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
      const PetscBool repeats = (PetscBool)(mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR);

      for (size_t f = 0; repeats && f < PETSC_STATIC_ARRAY_LENGTH(features); f++) {
        if (Case("same_%s_%s_%s", matrices[m].name, features[f], BAIModes[mode]))
          PetscCall(TestSame(A, features[f], (BAIMode)mode, BAI_REFINE_ASYNC));
        if (strcmp(features[f], "momentum") && /* with which each correction begins from rest */
            Case("same-sync_%s_%s_%s", matrices[m].name, features[f], BAIModes[mode]))
          PetscCall(TestSame(A, features[f], (BAIMode)mode, BAI_REFINE_SYNC));
      }
      for (int precision = BAI_PRECISION_NATIVE; precision <= BAI_PRECISION_SINGLE; precision++) {
        if (Case("fixed-point_%s_%s_%s", matrices[m].name, BAIPrecisions[precision], BAIModes[mode]))
          PetscCall(TestFixedPoint(A, (BAIMode)mode, (BAIPrecision)precision));
      }
      if (Case("accurate_%s_%s", matrices[m].name, BAIModes[mode]))
        PetscCall(TestAccurate(A, (BAIMode)mode, BAI_REFINE_ASYNC));
      if (!hard && repeats && Case("again_%s_%s", matrices[m].name, BAIModes[mode]))
        PetscCall(TestAgain(A, (BAIMode)mode));
      if (!hard && Case("rounded_%s_%s", matrices[m].name, BAIModes[mode])) PetscCall(TestRounded(A, (BAIMode)mode));
    }
    if (Case("view_%s", matrices[m].name)) PetscCall(TestView(A));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         args: -case {{same,same-sync fixed-point,view,again accurate rounded}}
      test:
         suffix: host_mpi
         nsize: 2
         args: -case {{same_fv1 accurate_fv1,rounded_fv1}}
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
