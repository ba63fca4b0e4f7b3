static char help[] = "KSPBAI and PCBAI with a coarse correction: iterations that it saves, where it is set up and of "
                     "what, and that every claim is true.\n\n";

#include "check.h"
#include "gallery.h"
#include "../src/engine/partition.h"
#include <petscdmda.h>

static const PetscReal rtol = 1e-10;

/* Of the iterations without a coarse correction, at most so many with one: a part of them, but on several ranks, which
 * cut blocks where their rows end, a little more */
static PetscReal Most(PetscReal part, PetscInt none)
{
  PetscMPIInt size;

  if (MPI_Comm_size(PETSC_COMM_WORLD, &size)) return 0;
  return (size > 1 ? (PetscReal)1.15 * part : part) * (PetscReal)none;
}

static PetscErrorCode CreateKSP(Mat A, BAIMode mode, PetscInt coarse, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetType(*ksp, KSPBAI));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 8000));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPBAISetMode(*ksp, mode));
  PetscCall(KSPBAISetCoarse(*ksp, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves from zero, for b = 1, or for A times something; its is that of a solve that converged, else -1, and a claim
 * that it has is true in any case */
static PetscErrorCode Solve(KSP ksp, PetscBool in_range, PetscInt *its)
{
  Mat                A;
  Vec                b, x;
  KSPConvergedReason reason;
  PetscReal          rnorm;
  PetscBool          right;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  if (in_range) {
    PetscRandom random;

    PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
    PetscCall(VecSetRandom(x, random));
    PetscCall(PetscRandomDestroy(&random));
    PetscCall(MatMult(A, x, b));
    PetscCall(VecSet(x, 0.0));
  }
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason > 0) {
    PetscCall(IsConverged(ksp, &rnorm, &right));
    PetscCall(Expect(right, "the residual norm of a converged solve, %g after %d iterations, is the true one",
                     (double)rnorm, (int)*its));
  } else *its = -1;
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectView(PetscObject obj, const char words[], PetscBool expected)
{
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(ViewHas(obj, words, &has));
  PetscCall(Expect(has == expected, "the view %s \"%s\"", expected ? "says" : "does not say", words));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Aggregates(PetscObject obj, PetscInt *aggregates)
{
  PetscReal number;

  PetscFunctionBeginUser;
  PetscCall(ViewedNumber(obj, "coarse correction by ", &number));
  *aggregates = (PetscInt)number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A slow solve goes on with a coarse correction at once; false: where a set-up takes as long as many iterations, as on
 * a GPU, only the next one begins with it, if it is not very slow */
static PetscErrorCode AtOnce(KSP ksp, PetscBool *at_once)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)ksp, "backend host", at_once));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With auto a solve that shows that it is slow, so that later ones begin with a coarse correction */
static PetscErrorCode ShowSlow(KSP ksp, PetscInt coarse)
{
  PetscInt its;

  PetscFunctionBeginUser;
  if (coarse == PETSC_DECIDE) PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is set up before a solve is slow; that one goes on with a coarse correction, or else the next one begins with
 * it and takes at most part of the iterations */
static PetscErrorCode TestAuto(const char matrix[], PetscInt n, PetscReal part, BAIMode mode)
{
  Mat       A;
  KSP       ksp;
  PetscInt  none, first, second, third;
  PetscBool at_once;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(CreateKSP(A, mode, 0, &ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &none));
  PetscCall(ExpectView((PetscObject)ksp, "coarse", PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, mode, PETSC_DECIDE, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ExpectView((PetscObject)ksp, "coarse correction auto: not set up, no solve was slow", PETSC_TRUE));
  PetscCall(AtOnce(ksp, &at_once));
  PetscCall(Solve(ksp, PETSC_FALSE, &first));
  PetscCall(ExpectView((PetscObject)ksp,
                       at_once ? "coarse correction by "
                               : "coarse correction auto: the next solve with these values begins with one",
                       PETSC_TRUE));
  PetscCall(Solve(ksp, PETSC_FALSE, &second));
  PetscCall(ExpectView((PetscObject)ksp, "coarse correction by ", PETSC_TRUE));
  PetscCall(Solve(ksp, PETSC_FALSE, &third));
  PetscCall(Expect(none > 0 && first > 0 && (at_once ? first < none : first <= 1.1 * none),
                   "%d iterations in the first solve, %d without", (int)first, (int)none));
  PetscCall(Expect(second > 0 && second <= Most(part, none), "%d iterations in the second solve, %d without",
                   (int)second, (int)none));
  PetscCall(Expect(third > 0 && third <= Most(part, none), "%d iterations in the third solve, %d without", (int)third,
                   (int)none));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that is not slow sets nothing up, and has the bits that it has without */
static PetscErrorCode TestFast(const char matrix[], PetscInt n)
{
  Mat       A;
  Vec       b, x[2];
  KSP       ksp;
  PetscInt  its[2];
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(MatCreateVecs(A, &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(VecSet(b, 1.0));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateKSP(A, BAI_MODE_SYNC, k ? PETSC_DECIDE : 0, &ksp));
    PetscCall(KSPSolve(ksp, b, x[k]));
    PetscCall(KSPSolve(ksp, b, x[k]));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(ExpectView((PetscObject)ksp, "coarse correction by", PETSC_FALSE));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecEqual(x[0], x[1], &same));
  PetscCall(Expect(same && its[0] == its[1], "%d iterations, %d without", (int)its[1], (int)its[0]));
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many unknowns, about, are there from the first solve on, which takes at most part of the iterations; momentum is
 * auto, or 0, where modes stay what they are */
static PetscErrorCode TestNumber(const char matrix[], PetscInt n, PetscReal part, PetscInt unknowns, BAIMode mode,
                                 PetscReal momentum)
{
  Mat         A;
  KSP         ksp;
  PetscInt    none, its, aggregates = 0;
  BAIMode     after;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(CreateKSP(A, mode, 0, &ksp));
  PetscCall(KSPBAISetMomentum(ksp, momentum));
  PetscCall(Solve(ksp, PETSC_FALSE, &none));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, mode, unknowns, &ksp));
  PetscCall(KSPBAISetMomentum(ksp, momentum));
  PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscCall(Expect(its > 0 && its <= Most(part, none), "%d iterations, %d without", (int)its, (int)none));
  PetscCall(Aggregates((PetscObject)ksp, &aggregates));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Expect(aggregates <= 2 * unknowns && 6 * size * aggregates >= unknowns, "%d aggregates of %d",
                   (int)aggregates, (int)unknowns));
  PetscCall(KSPBAIGetMode(ksp, &after));
  PetscCall(Expect(after == mode, "the mode of the options stays"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks make up one coarse problem: about as many iterations as on one rank */
static PetscErrorCode TestRanks(const char matrix[], PetscInt n, BAIMode mode)
{
  PetscInt its[2], aggregates[2];

  PetscFunctionBeginUser;
  for (int alone = 0; alone < 2; alone++) {
    Mat A;
    KSP ksp;

    PetscCall(GalleryCreateMat(alone ? PETSC_COMM_SELF : PETSC_COMM_WORLD, matrix, n, &A));
    PetscCall(CreateKSP(A, mode, PETSC_DECIDE, &ksp));
    PetscCall(KSPBAISetGather(ksp, BAI_GATHER_NONE));
    for (int solve = 0; solve < 5; solve++)
      PetscCall(Solve(ksp, PETSC_FALSE, &its[alone])); /* by the last of which momentum is known */
    PetscCall(Aggregates((PetscObject)ksp, &aggregates[alone]));
    PetscCall(ExpectView((PetscObject)ksp, "unknowns on rank 0", PETSC_FALSE));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  if (getenv("TT")) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %d %d\n", matrix, its[0], its[1]));
  PetscCall(
    Expect(its[0] > 0 && its[0] <= 1.3 * its[1] + 5, "%d iterations, %d on one rank", (int)its[0], (int)its[1]));
  PetscCall(Expect(aggregates[0] >= 0.7 * aggregates[1] && aggregates[0] <= BAI_MOST_COARSE,
                   "%d aggregates, %d on one rank", (int)aggregates[0], (int)aggregates[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a coarse correction no x is read that is older than with another exchange: the same iterations */
static PetscErrorCode TestExchange(BAIMode mode)
{
  const BAIExchange ways[] = {BAI_EXCHANGE_SCATTER, BAI_EXCHANGE_AMC};
  PetscInt          its[2];
  Mat               A;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace3d", 12, &A));
  for (int k = 0; k < 2; k++) {
    KSP ksp;

    PetscCall(CreateKSP(A, mode, 20, &ksp));
    PetscCall(KSPBAISetGather(ksp, BAI_GATHER_NONE));
    PetscCall(KSPBAISetMomentum(ksp, 0));
    PetscCall(KSPBAISetExchange(ksp, ways[k]));
    PetscCall(Solve(ksp, PETSC_FALSE, &its[k]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(Expect(its[0] > 0 && its[1] > 0 && its[1] <= 1.25 * its[0] + 5,
                   "%d iterations with exchange amc, %d with scatter", (int)its[1], (int)its[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A momentum that is fixed is not meant for an iteration that auto has changed since: it does what it does without */
static PetscErrorCode TestFixedMomentum(BAIMode mode)
{
  Mat      A;
  KSP      ksp;
  PetscInt none, its, slow;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv3", 40, &A));
  PetscCall(CreateKSP(A, mode, 0, &ksp));
  PetscCall(KSPBAISetMomentum(ksp, 0.6));
  PetscCall(Solve(ksp, PETSC_FALSE, &none));
  PetscCall(KSPBAISetMomentum(ksp, PETSC_DECIDE));
  PetscCall(KSPBAISetCoarse(ksp, PETSC_DECIDE));
  PetscCall(ShowSlow(ksp, PETSC_DECIDE));
  PetscCall(Solve(ksp, PETSC_FALSE, &slow));
  PetscCall(ExpectView((PetscObject)ksp, "coarse correction by ", PETSC_TRUE));
  PetscCall(KSPBAISetMomentum(ksp, 0.6));
  PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscCall(Expect(slow > 0 && its == none, "%d iterations, %d without", (int)its, (int)none));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A fixed number of iterations brings the solution closer, and more of them closer still */
static PetscErrorCode TestNormNone(BAIMode mode)
{
  const PetscInt its[] = {50, 200};
  Mat            A;
  Vec            b, x;
  KSP            ksp;
  PetscReal      norm, before;
  PetscScalar    xAx, xb;
  Vec            Ax;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 60, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecNorm(b, NORM_2, &before));
  PetscCall(CreateKSP(A, mode, 100, &ksp));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, its[k]));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(TrueResidualNorm(A, b, x, &norm));
    if (k || mode != BAI_MODE_ASYNC)
      PetscCall(Expect(norm < (k ? 0.1 : 1) * before, "after %d iterations the residual norm is %g, before %g",
                       (int)its[k], (double)norm, (double)before));
    /* corrections that blocks take at different times may raise it for a while; but the energy of the error, which is
     * x'Ax - 2x'b more than that of zero, has fallen */
    PetscCall(VecDuplicate(b, &Ax));
    PetscCall(MatMult(A, x, Ax));
    PetscCall(VecDot(x, Ax, &xAx));
    PetscCall(VecDot(x, b, &xb));
    PetscCall(Expect(PetscRealPart(xAx) - 2 * PetscRealPart(xb) < 0,
                     "after %d iterations the energy of the error is %g more than at the begin", (int)its[k],
                     (double)(PetscRealPart(xAx) - 2 * PetscRealPart(xb))));
    PetscCall(VecDestroy(&Ax));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who watches sees a norm for each iteration, which falls in the long run, and waits about as long; with an interval
 * there is a norm every so many */
static PetscErrorCode TestWatched(BAIMode mode, PetscInt coarse, PetscInt interval)
{
  Mat              A;
  KSP              ksp;
  PetscInt         plain, its, norms;
  const PetscReal *history;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv3", 40, &A));
  PetscCall(CreateKSP(A, mode, coarse, &ksp));
  PetscCall(ShowSlow(ksp, coarse));
  PetscCall(Solve(ksp, PETSC_FALSE, &plain));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, mode, coarse, &ksp));
  PetscCall(ShowSlow(ksp, coarse));
  if (interval) PetscCall(KSPBAISetCheckInterval(ksp, interval));
  PetscCall(KSPSetResidualHistory(ksp, NULL, 20001, PETSC_TRUE));
  PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscCall(KSPGetResidualHistory(ksp, &history, &norms));
  PetscCall(Expect(its > 0 && its <= 1.25 * plain + 10, "%d iterations, %d if nobody watches", (int)its, (int)plain));
  PetscCall(Expect(norms == (interval ? its / interval : its) + 1 && (!interval || its % interval == 0),
                   "%d norms of %d iterations", (int)norms, (int)its));
  for (PetscInt k = 0; k + 40 / PetscMax(1, interval) < norms; k++) {
    const PetscInt later = k + 40 / PetscMax(1, interval);

    PetscCall(Expect(history[later] < history[k], "norm %d is %g, norm %d is %g", (int)k, (double)history[k],
                     (int)later, (double)history[later]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An interval leaves the method as it is, so auto sets nothing up */
static PetscErrorCode TestInterval(void)
{
  Mat      A;
  KSP      ksp;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv3", 40, &A));
  PetscCall(CreateKSP(A, BAI_MODE_SYNC, PETSC_DECIDE, &ksp));
  PetscCall(KSPBAISetCheckInterval(ksp, 10));
  PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscCall(Expect(its > 0, "it converges"));
  PetscCall(ExpectView((PetscObject)ksp, "coarse correction by ", PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With sweeps in single precision the residual falls as far, and as fast: one correction takes the momentum of that
 * before along */
static PetscErrorCode TestPrecision(BAIMode mode, PetscInt coarse)
{
  Mat      A;
  KSP      ksp;
  PetscInt without, native, single;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv3", 40, &A));
  PetscCall(MatScale(A, 1. / 3));
  PetscCall(CreateKSP(A, mode, 0, &ksp));
  PetscCall(KSPBAISetMomentum(ksp, 0));
  PetscCall(KSPBAISetPrecision(ksp, BAI_PRECISION_SINGLE));
  PetscCall(Solve(ksp, PETSC_FALSE, &without));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, mode, coarse, &ksp));
  PetscCall(KSPBAISetPrecision(ksp, BAI_PRECISION_NATIVE));
  PetscCall(ShowSlow(ksp, coarse));
  PetscCall(Solve(ksp, PETSC_FALSE, &native));
  PetscCall(KSPBAISetPrecision(ksp, BAI_PRECISION_SINGLE));
  PetscCall(Solve(ksp, PETSC_FALSE, &single));
  PetscCall(Expect(single > 0 && (without < 0 || single < without), "%d iterations, %d without and without momentum",
                   (int)single, (int)without));
  PetscCall(Expect(single <= 1.25 * native + 10, "%d iterations, %d in native precision", (int)single, (int)native));
  PetscCall(ExpectView((PetscObject)ksp, "coarse correction by ", PETSC_TRUE));
  PetscCall(ExpectView((PetscObject)ksp, "precision single", PETSC_TRUE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU auto takes single precision for many rows once there is a coarse correction, unless the matrix is beyond its
 * range, or so near to singular that rounding would leave too much */
static PetscErrorCode TestPrecisionAuto(PetscReal scale, PetscReal row_sum, PetscBool single)
{
  Mat      A;
  KSP      ksp;
  PetscInt native, its;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace3d", 95, &A));
  PetscCall(MatScale(A, scale));
  if (row_sum > 0) { /* instead of what it is at the boundary: the smallest eigenvalue */
    Vec d;

    PetscCall(MatCreateVecs(A, NULL, &d));
    PetscCall(MatGetRowSum(A, d));
    PetscCall(VecScale(d, -1.0));
    PetscCall(VecShift(d, row_sum));
    PetscCall(MatDiagonalSet(A, d, ADD_VALUES));
    PetscCall(VecDestroy(&d));
  }
  PetscCall(CreateKSP(A, BAI_MODE_ASYNC, PETSC_DECIDE, &ksp));
  PetscCall(KSPBAISetLevels(ksp, 0));
  if (row_sum > 0)
    PetscCall(
      KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 8000)); /* native precision comes to about 1e-9 */
  PetscCall(ShowSlow(ksp, PETSC_DECIDE));
  for (int solve = 0; solve < 2; solve++) {
    PetscCall(Solve(ksp, PETSC_FALSE, &its));
    PetscCall(ExpectView((PetscObject)ksp, "precision single (auto)", single));
    PetscCall(ExpectView((PetscObject)ksp, "precision auto: native", (PetscBool)!single));
  }
  PetscCall(KSPBAISetPrecision(ksp, BAI_PRECISION_NATIVE));
  PetscCall(Solve(ksp, PETSC_FALSE, &native));
  PetscCall(ExpectView((PetscObject)ksp, "precision", PETSC_FALSE));
  PetscCall(
    Expect(its > 0 && its <= 1.25 * native + 10, "%d iterations, %d in native precision", (int)its, (int)native));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values are taken over without cutting anything anew, and the iterations are those of a new solver */
static PetscErrorCode TestValues(PetscInt coarse)
{
  Mat       A;
  Vec       d;
  KSP       ksp;
  PetscInt  its, again;
  PetscReal setups, setups_after;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 60, &A));
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(CreateKSP(A, BAI_MODE_SYNC, coarse, &ksp));
  PetscCall(ShowSlow(ksp, coarse));
  PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscCall(ViewedNumber((PetscObject)ksp, "set-ups ", &setups));
  for (int k = 0; k < 3; k++) {
    PetscCall(VecSet(d, 0.01));
    if (k == 2) PetscCall(MatScale(A, 1e8));
    else PetscCall(MatDiagonalSet(A, d, ADD_VALUES));
    if (k != 1) PetscCall(KSPSetOperators(ksp, A, A)); /* without, the solve sees that the values are others */
    PetscCall(Solve(ksp, PETSC_FALSE, &again));
    PetscCall(Expect(again > 0 && again <= its + 10, "%d iterations with new values, %d before", (int)again, (int)its));
    PetscCall(ViewedNumber((PetscObject)ksp, "set-ups ", &setups_after));
    PetscCall(Expect(setups_after == setups, "%g set-ups, %g before", (double)setups_after, (double)setups));
    its = again;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Momentum is carried from one solve to the next, and found in some: then no solve before was faster. What solves to
 * loose tolerances leave does not make one to a tight tolerance slower */
static PetscErrorCode TestCarried(const char matrix[], PetscInt n, PetscReal part, BAIMode mode)
{
  const PetscReal loose[] = {0.1,  0.1,  0.1,  0.01, 0.01,
                             rtol, rtol, rtol, rtol}; /* one of these may try less momentum */
  Mat             A;
  KSP             ksp;
  const size_t    last = PETSC_STATIC_ARRAY_LENGTH(loose) - 1;
  PetscInt        its, second = 0, least = PETSC_MAX_INT;
  PetscMPIInt     size;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(CreateKSP(A, mode, PETSC_DECIDE, &ksp));
  for (int solve = 0; solve < 10; solve++) {
    PetscCall(Solve(ksp, PETSC_FALSE, &its));
    PetscCall(Expect(its > 0, "solve %d converges", solve));
    if (solve == 1) second = its;
    least = PetscMin(least, its);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Expect(its <= (PetscInt)(1.08 * (PetscReal)least) && (size > 1 || its <= Most(part, second)),
                   "%d iterations in the end, %d in the second solve, %d in another", (int)its, (int)second,
                   (int)least));
  PetscCall(CreateKSP(A, mode, PETSC_DECIDE, &ksp));
  for (size_t k = 0; k <= last; k++) {
    PetscCall(KSPSetTolerances(ksp, loose[k], PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(Solve(ksp, PETSC_FALSE, &its));
    PetscCall(Expect(its > 0 && (k < last || its <= (PetscInt)(1.15 * (PetscReal)second)),
                     "solve %d, to %g: %d iterations, %d without those before", (int)k, (double)loose[k], (int)its,
                     (int)second));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids of about the same size take about as many iterations, in the first solve and later: also those where the
 * estimate of the largest eigenvalue comes out smallest */
static PetscErrorCode TestSizes(PetscReal momentum, PetscReal part)
{
  const PetscInt sizes[] = {79, 82, 90, 97, 98, 99};
  PetscInt       most[2] = {0, 0}, least[2] = {PETSC_MAX_INT, PETSC_MAX_INT};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    Mat A;
    KSP ksp;

    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv3", sizes[k], &A));
    PetscCall(CreateKSP(A, BAI_MODE_SYNC, PETSC_DECIDE, &ksp));
    PetscCall(KSPBAISetMomentum(ksp, momentum));
    for (int later = 0; later < 2; later++) {
      PetscInt its;

      PetscCall(Solve(ksp, PETSC_FALSE, &its));
      PetscCall(Expect(its > 0, "solve %d of %d x %d cells converges", later, (int)sizes[k], (int)sizes[k]));
      most[later]  = PetscMax(most[later], its);
      least[later] = PetscMin(least[later], its);
    }
    PetscCall(ExpectView((PetscObject)ksp, "largest eigenvalue with it taken to be ", PETSC_TRUE));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  for (int later = 0; later < 2; later++)
    PetscCall(Expect((PetscReal)most[later] <= part * (PetscReal)least[later],
                     "solve %d: %d iterations for one size, %d for another", later, (int)most[later],
                     (int)least[later]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Laplacian of n by n cells that are longer than wide: couplings in one direction are ratio times as strong; and a
 * flow in circles that is so strong, upwind */
static PetscErrorCode CreateStretched(PetscInt n, PetscReal ratio, PetscReal flow, Mat *A)
{
  PetscInt rstart, rend;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5, NULL, 4, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++) {
    const PetscInt  to[] = {row - 1, row + 1, row - n, row + n};
    const PetscBool is[] = {(PetscBool)(row % n > 0), (PetscBool)(row % n < n - 1), (PetscBool)(row >= n),
                            (PetscBool)(row < n * n - n)};
    const PetscInt  line = row / n;
    const PetscReal u = 2 * (PetscReal)(row % n) / (PetscReal)n - 1, v = 2 * (PetscReal)line / (PetscReal)n - 1,
                    east = flow * v * (1 - u * u), north = -flow * u * (1 - v * v);
    const PetscReal size[] = {ratio + PetscMax(east, 0), ratio + PetscMax(-east, 0), 1 + PetscMax(north, 0),
                              1 + PetscMax(-north, 0)};

    PetscCall(MatSetValue(*A, row, row, size[0] + size[1] + size[2] + size[3], INSERT_VALUES));
    for (int k = 0; k < 4; k++) {
      if (is[k]) PetscCall(MatSetValue(*A, row, to[k], -size[k], INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings that are a little stronger in one direction do not make aggregates long, which takes several times the
 * iterations */
static PetscErrorCode TestStretched(void)
{
  const PetscReal ratios[] = {1, 1.2, 2, 3};
  PetscInt        square   = 0;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ratios); k++) {
    Mat      A;
    KSP      ksp;
    PetscInt first, its;

    PetscCall(CreateStretched(90, ratios[k], 0, &A));
    PetscCall(CreateKSP(A, BAI_MODE_SYNC, PETSC_DECIDE, &ksp));
    PetscCall(Solve(ksp, PETSC_FALSE, &first));
    PetscCall(Solve(ksp, PETSC_FALSE, &its));
    if (!k) square = its;
    PetscCall(Expect(first > 0 && its > 0 && (PetscReal)its <= 1.7 * (PetscReal)square,
                     "cells %g times as long as wide: %d iterations, %d for squares", (double)PetscSqrtReal(ratios[k]),
                     (int)its, (int)square));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A matrix that is not symmetric, whose eigenvalues are complex with the correction: momentum is less then, and all
   solves are faster than without. Where it is the correction that makes them complex it is given up in the first one
   that has it
*/
static PetscErrorCode TestComplex(Mat A, BAIMode mode, PetscReal first, PetscReal later)
{
  KSP       ksp;
  PetscInt  none, its;
  PetscBool at_once;

  PetscFunctionBeginUser;
  PetscCall(CreateKSP(A, mode, 0, &ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &none));
  if (none < 0) PetscCall(KSPGetIterationNumber(ksp, &none)); /* they may not get there at all */
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, mode, PETSC_DECIDE, &ksp));
  PetscCall(AtOnce(ksp, &at_once));
  if (!at_once) PetscCall(ShowSlow(ksp, PETSC_DECIDE));
  for (int solve = 0; solve < 4; solve++) {
    PetscCall(Solve(ksp, PETSC_FALSE, &its));
    PetscCall(Expect(its > 0 && (PetscReal)its <= (solve ? later : first) * (PetscReal)none,
                     "solve %d: %d iterations, %d without", solve, (int)its, (int)none));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFlow(BAIMode mode)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(CreateStretched(60, 1, 1, &A));
  PetscCall(TestComplex(A, mode, 0.6, 0.6));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that are multiplied by something: to sweeps that is nothing, to P^T A P it is */
static PetscErrorCode TestScaledRows(BAIMode mode)
{
  Mat         A;
  Vec         rows;
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(CreateStretched(60, 1, 0, &A));
  PetscCall(MatCreateVecs(A, NULL, &rows));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetInterval(random, -3.0, 3.0));
  PetscCall(VecSetRandom(rows, random));
  PetscCall(VecExp(rows));
  PetscCall(MatDiagonalScale(A, rows, NULL));
  PetscCall(
    TestComplex(A, mode, 3, mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR ? 1.1 : 1.5)); /* those are repeatable */
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(VecDestroy(&rows));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Laplacian of a grid without a boundary: constants are its null space */
static PetscErrorCode CreateNeumann(PetscInt n, PetscBool attach, Mat *A)
{
  Vec sums;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", n, A));
  PetscCall(MatCreateVecs(*A, NULL, &sums));
  PetscCall(MatGetRowSum(*A, sums));
  PetscCall(VecScale(sums, -1.0));
  PetscCall(MatDiagonalSet(*A, sums, ADD_VALUES));
  PetscCall(VecDestroy(&sums));
  if (attach) {
    MatNullSpace null;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
    PetscCall(MatSetNullSpace(*A, null));
    PetscCall(MatNullSpaceDestroy(&null));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of the coordinates of an n by n grid, orthogonal to constants */
static PetscErrorCode AttachLinear(PetscInt n, Mat A)
{
  MatNullSpace near;
  Vec          v[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscInt start, end;

    PetscCall(MatCreateVecs(A, &v[k], NULL));
    PetscCall(VecGetOwnershipRange(v[k], &start, &end));
    for (PetscInt i = start; i < end; i++)
      PetscCall(VecSetValue(v[k], i, (PetscReal)(k ? i / n : i % n) - 0.5 * (PetscReal)(n - 1), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(v[k]));
    PetscCall(VecAssemblyEnd(v[k]));
    PetscCall(VecNormalize(v[k], NULL));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 2, v, &near));
  PetscCall(MatSetNearNullSpace(A, near));
  PetscCall(MatNullSpaceDestroy(&near));
  PetscCall(VecDestroy(&v[0]));
  PetscCall(VecDestroy(&v[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A singular matrix with its null space attached, with constants as coarse functions, or linear ones as well; without
 * it attached, claims are true */
static PetscErrorCode TestSingular(BAIMode mode, PetscInt coarse, PetscBool attach, PetscBool linear)
{
  const PetscInt n = 48;
  Mat            A;
  KSP            ksp;
  PetscInt       none, its, second;

  PetscFunctionBeginUser;
  PetscCall(CreateNeumann(n, attach, &A));
  if (linear) PetscCall(AttachLinear(n, A));
  PetscCall(CreateKSP(A, mode, 0, &ksp));
  PetscCall(Solve(ksp, PETSC_TRUE, &none));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, mode, coarse, &ksp));
  PetscCall(Solve(ksp, PETSC_TRUE, &its));
  PetscCall(Solve(ksp, PETSC_TRUE, &second));
  if (attach)
    PetscCall(Expect(its > 0 && second > 0 && second <= Most(0.7, none), "%d iterations, then %d, and %d without",
                     (int)its, (int)second, (int)none));
  else PetscCall(Expect(its > 0 && second > 0, "it converges"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A near null space: its vectors are the functions on the aggregates, which help more than constants on as many */
static PetscErrorCode TestNear(void)
{
  const PetscInt n = 60;
  Mat            A;
  KSP            ksp;
  PetscInt       its[2], aggregates[2];
  PetscReal      unknowns;
  PetscMPIInt    size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", n, &A));
  for (int near = 0; near < 2; near++) {
    if (near) PetscCall(AttachLinear(n, A));
    PetscCall(CreateKSP(A, BAI_MODE_SYNC, 60, &ksp));
    PetscCall(Solve(ksp, PETSC_FALSE, &its[near]));
    PetscCall(Aggregates((PetscObject)ksp, &aggregates[near]));
    PetscCall(ViewedNumber((PetscObject)ksp, "aggregates, ", &unknowns));
    PetscCall(Expect(unknowns > 0, "unknowns %g", (double)unknowns));
    if (size == 1)
      PetscCall(Expect((PetscInt)unknowns == (near ? 3 : 1) * aggregates[near], "%d unknowns of %d aggregates",
                       (int)unknowns, (int)aggregates[near]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(Expect(aggregates[0] == aggregates[1], "%d and %d aggregates", (int)aggregates[0], (int)aggregates[1]));
  PetscCall(Expect(its[1] > 0 && its[1] < its[0] && its[1] <= Most(0.8, its[0]) + (size > 1 ? 0.1 * its[0] : 0),
                   "%d iterations, %d with constants", (int)its[1], (int)its[0]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Plane stress, bilinear squares, held at the left: two unknowns at a point */
static PetscErrorCode CreateElastic(PetscInt n, Mat *A, Vec *coordinates)
{
  const PetscReal nu = 0.3, gauss = PetscSqrtReal(1. / 3),
                  C[3][3] = {
                    {1,  nu, 0           },
                    {nu, 1,  0           },
                    {0,  0,  (1 - nu) / 2}
  };
  PetscScalar K[64] = {0};
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  for (int point = 0; point < 4; point++) {
    const PetscReal x = point % 2 ? gauss : -gauss, y = point / 2 ? gauss : -gauss;
    PetscReal       B[3][8] = {{0}};

    for (int k = 0; k < 4; k++) { /* corner (k % 2, k / 2) of a square of side 1 */
      const PetscReal sx = k % 2 ? 1 : -1, sy = k / 2 ? 1 : -1, dx = sx * (1 + sy * y) / 2, dy = sy * (1 + sx * x) / 2;

      B[0][2 * k] = B[2][2 * k + 1] = dx;
      B[1][2 * k + 1] = B[2][2 * k] = dy;
    }
    for (int p = 0; p < 8; p++) {
      for (int q = 0; q < 8; q++) {
        for (int u = 0; u < 3; u++) {
          for (int v = 0; v < 3; v++) K[8 * p + q] += B[u][p] * C[u][v] * B[v][q] / 4;
        }
      }
    }
  }
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, 2 * n * n, 2 * n * n));
  PetscCall(MatSetBlockSize(*A, 2));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 18, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 18, NULL, 18, NULL));
  for (PetscInt j = 0; rank == 0 && j < n - 1; j++) {
    for (PetscInt i = -1; i < n - 1; i++) { /* what is left of the first column of points is held */
      PetscInt rows[8];

      for (int k = 0; k < 8; k++) {
        const PetscInt at = i + k / 2 % 2;

        rows[k] = at < 0 ? -1 : 2 * (at + n * (j + k / 4)) + k % 2;
      }
      PetscCall(MatSetValues(*A, 8, rows, 8, rows, K, ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(*A, coordinates, NULL));
  PetscCall(VecSetBlockSize(*coordinates, 2));
  for (PetscInt i = 0; rank == 0 && i < 2 * n * n; i++)
    PetscCall(VecSetValue(*coordinates, i, (PetscReal)(i % 2 ? i / 2 / n : i / 2 % n), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(*coordinates));
  PetscCall(VecAssemblyEnd(*coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Elasticity: without a near null space a constant for each of the two fields, with it the three rigid body modes */
static PetscErrorCode TestElastic(void)
{
  Mat          A;
  Vec          coordinates;
  MatNullSpace rigid;
  KSP          ksp;
  PetscInt     none, its[2], aggregates = 0;
  PetscReal    unknowns;
  PetscMPIInt  size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateElastic(32, &A, &coordinates));
  PetscCall(CreateKSP(A, BAI_MODE_SYNC, 0, &ksp));
  PetscCall(KSPBAISetWeight(ksp, BAI_WEIGHT_AUTO));
  PetscCall(Solve(ksp, PETSC_FALSE, &none));
  PetscCall(KSPDestroy(&ksp));
  for (int near = 0; near < 2; near++) {
    if (near) {
      PetscCall(MatNullSpaceCreateRigidBody(coordinates, &rigid));
      PetscCall(MatSetNearNullSpace(A, rigid));
      PetscCall(MatNullSpaceDestroy(&rigid));
    }
    PetscCall(CreateKSP(A, BAI_MODE_SYNC, 64, &ksp));
    PetscCall(KSPBAISetWeight(ksp, BAI_WEIGHT_AUTO));
    PetscCall(Solve(ksp, PETSC_FALSE, &its[near]));
    PetscCall(Aggregates((PetscObject)ksp, &aggregates));
    PetscCall(ViewedNumber((PetscObject)ksp, "aggregates, ", &unknowns));
    if (size == 1)
      PetscCall(Expect((PetscInt)unknowns == (near ? 3 : 2) * aggregates, "%d unknowns of %d aggregates", (int)unknowns,
                       (int)aggregates));
    PetscCall(Expect(its[near] > 0 && its[near] <= Most(0.75, none), "%s: %d iterations, %d without",
                     near ? "rigid body modes" : "two fields", (int)its[near], (int)none));
    PetscCall(KSPDestroy(&ksp));
  }
  if (size == 1) PetscCall(Expect(its[1] < its[0], "%d iterations, %d with constants", (int)its[1], (int)its[0]));
  PetscCall(VecDestroy(&coordinates));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -Laplace on a DMDA, with so many fields that hardly couple */
static PetscErrorCode CreateGrid(PetscInt n, PetscInt dof, DM *dm, Mat *A)
{
  DMDALocalInfo info;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE,
                         PETSC_DECIDE, dof, 1, NULL, NULL, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMCreateMatrix(*dm, A));
  PetscCall(DMDAGetLocalInfo(*dm, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscInt shift[5][2] = {
        {0,  0 },
        {-1, 0 },
        {1,  0 },
        {0,  -1},
        {0,  1 }
      };

      for (PetscInt c = 0; c < dof; c++) {
        const MatStencil row = {.i = i, .j = j, .c = c};

        for (int k = 0; k < 5; k++) {
          const MatStencil  col   = {.i = i + shift[k][0], .j = j + shift[k][1], .c = c};
          const PetscScalar value = k ? -1.0 : 4.0 + 0.01 * (PetscReal)c;

          if (col.i >= 0 && col.i < n && col.j >= 0 && col.j < n)
            PetscCall(MatSetValuesStencil(*A, 1, &row, 1, &col, &value, INSERT_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a DMDA a grid in natural ordering is found in the matrix: aggregates of strips are boxes, of nearly equal
   size. Where couplings are strong in one direction only, blocks are made up of smaller aggregates */
static PetscErrorCode TestFound(const char matrix[], PetscInt n, PetscInt wanted, PetscInt expected)
{
  Mat      A;
  KSP      ksp;
  PetscInt none, its, aggregates = 0;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(CreateKSP(A, BAI_MODE_SYNC, 0, &ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &none));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, BAI_MODE_SYNC, wanted, &ksp));
  if (wanted != PETSC_DECIDE) PetscCall(KSPBAISetPartition(ksp, BAI_PARTITION_NATURAL));
  PetscCall(ShowSlow(ksp, wanted));
  PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscCall(Aggregates((PetscObject)ksp, &aggregates));
  PetscCall(Expect(aggregates == expected, "%d aggregates, must be %d", (int)aggregates, (int)expected));
  PetscCall(Expect(its > 0 && its < none, "%d iterations, %d without", (int)its, (int)none));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With partition dm aggregates are boxes of the grid, and on each there is a constant for each field */
static PetscErrorCode TestGrid(PetscInt dof)
{
  const PetscInt n = 45, wanted = 81;
  DM             dm;
  Mat            A;
  KSP            ksp;
  PetscInt       none, its, aggregates = 0, xm, ym;
  PetscInt      *first, *row;
  BAIInt         boxes;
  long           mine, all;

  PetscFunctionBeginUser;
  PetscCall(CreateGrid(n, dof, &dm, &A));
  PetscCall(CreateKSP(A, BAI_MODE_SYNC, 0, &ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &none));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, BAI_MODE_SYNC, wanted, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  PetscCall(KSPBAISetPartition(ksp, BAI_PARTITION_DM));
  PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscCall(DMDAGetCorners(dm, NULL, NULL, NULL, &xm, &ym, NULL));
  PetscCall(PetscMalloc2(xm * ym * dof + 1, &first, xm * ym * dof, &row));
  PetscCheck(!BAIPartitionBoxes((BAIInt[]){(BAIInt)xm, (BAIInt)ym, 1}, (BAIInt)dof, (BAIInt)(xm * ym * dof / wanted),
                                &boxes, (BAIInt *)first, (BAIInt *)row)
                .code,
             PETSC_COMM_SELF, PETSC_ERR_LIB, "Boxes");
  PetscCall(PetscFree2(first, row));
  mine = (long)boxes;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(Aggregates((PetscObject)ksp, &aggregates));
  PetscCall(Expect(aggregates == (PetscInt)boxes || aggregates <= (PetscInt)all, "%d aggregates are the %d boxes",
                   (int)aggregates, (int)boxes));
  PetscCall(Expect(its > 0 && its <= Most(0.5, none), "%d iterations, %d without", (int)its, (int)none));
  if (dof > 1) {
    char words[64];

    PetscCall(
      PetscSNPrintf(words, sizeof(words), "%d aggregates, %d unknowns", (int)aggregates, (int)(dof * aggregates)));
    PetscCall(ExpectView((PetscObject)ksp, words, PETSC_TRUE));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where constants on aggregates say nothing of the slow part of the error: convection, or eigenvalues of both signs.
 * Nothing is claimed that is not so */
static PetscErrorCode TestVain(PetscBool indefinite, BAIMode mode, PetscInt coarse)
{
  const PetscInt     n = 600;
  Mat                A;
  KSP                ksp;
  PetscInt           start, end, its;
  KSPConvergedReason reason;
  PetscBool          given_up, is;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 2, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    PetscCall(MatSetValue(A, row, row, indefinite && row % 2 ? -1 : 1, INSERT_VALUES));
    if (row > 0) PetscCall(MatSetValue(A, row, row - 1, indefinite ? -0.499 : 0.499, INSERT_VALUES));
    if (row < n - 1) PetscCall(MatSetValue(A, row, row + 1, indefinite ? -0.499 : -0.499, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CreateKSP(A, mode, coarse, &ksp));
  for (int k = 0; k < 3; k++) {
    PetscCall(Solve(ksp, PETSC_FALSE, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(ViewHas((PetscObject)ksp, "coarse correction given up: it did not help", &given_up));
    PetscCall(ViewHas((PetscObject)ksp, "coarse correction", &is));
    PetscCall(Expect(is, "the view says what became of it"));
    PetscCall(Expect(reason > 0, "solve %d: it converges, %s the correction: %s", k, given_up ? "without" : "with",
                     KSPConvergedReasons[reason]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Wrong values are errors that name option, value and what is allowed, and change nothing */
static PetscErrorCode TestErrors(void)
{
  const char *const values[] = {"-3", "0", "5000", "abc", "1.5", "-1"};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(values); k++) {
    for (int pc = 0; pc < 2; pc++) {
      char           begin[64], key[32], *found, *allowed;
      KSP            ksp;
      PC             precondition;
      PetscErrorCode code;
      PetscInt       coarse = -7;

      PetscCall(PetscSNPrintf(key, sizeof(key), "-wrong_%s_bai_coarse", pc ? "pc" : "ksp"));
      PetscCall(PetscSNPrintf(begin, sizeof(begin), "%s %s: must be ", key, values[k]));
      PetscCall(PetscOptionsSetValue(NULL, key, values[k]));
      PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
      PetscCall(KSPSetOptionsPrefix(ksp, "wrong_"));
      PetscCall(KSPGetPC(ksp, &precondition));
      if (pc) PetscCall(PCSetType(precondition, PCBAI));
      else PetscCall(KSPSetType(ksp, KSPBAI));
      if (pc) CheckCall(code, PCSetFromOptions(precondition));
      else CheckCall(code, KSPSetFromOptions(ksp));
      PetscCall(PetscStrstr(check_said, begin, &found));
      PetscCall(PetscStrstr(check_said, "4096", &allowed));
      PetscCall(Expect(code && found == check_said && allowed, "%s %s: \"%s\"", key, values[k], check_said));
      if (pc) PetscCall(PCBAIGetCoarse(precondition, &coarse));
      else PetscCall(KSPBAIGetCoarse(ksp, &coarse));
      PetscCall(Expect(coarse == (pc ? 0 : PETSC_DECIDE), "%s stays as it was", key));
      PetscCall(PetscOptionsClearValue(NULL, key));
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is set is what is got, by functions and by options; a change takes effect at the next solve */
static PetscErrorCode TestSetters(void)
{
  const PetscInt set[]  = {0, PETSC_DECIDE, 1, 77, 4096};
  const char    *text[] = {"none", "auto", "1", "77", "4096"};
  PetscErrorCode code;
  Mat            A;
  KSP            ksp;
  PC             pc;
  PetscInt       got, its, without;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv3", 40, &A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "set_"));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "set_"));
  PetscCall(PCSetType(pc, PCBAI));
  PetscCall(KSPBAIGetCoarse(ksp, &got));
  PetscCall(Expect(got == PETSC_DECIDE, "KSPBAI has auto, not %d", (int)got));
  PetscCall(PCBAIGetCoarse(pc, &got));
  PetscCall(Expect(got == 0, "PCBAI has none, not %d", (int)got));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(set); k++) {
    for (int option = 0; option < 2; option++) {
      if (option) {
        PetscCall(PetscOptionsSetValue(NULL, "-set_ksp_bai_coarse", text[k]));
        PetscCall(PetscOptionsSetValue(NULL, "-set_pc_bai_coarse", text[k]));
        PetscCall(KSPSetFromOptions(ksp));
        PetscCall(PCSetFromOptions(pc));
      } else {
        PetscCall(KSPBAISetCoarse(ksp, set[k]));
        PetscCall(PCBAISetCoarse(pc, set[k]));
      }
      PetscCall(KSPBAIGetCoarse(ksp, &got));
      PetscCall(Expect(got == set[k], "KSPBAI: %d is set, %d got", (int)set[k], (int)got));
      PetscCall(PCBAIGetCoarse(pc, &got));
      PetscCall(Expect(got == set[k], "PCBAI: %d is set, %d got", (int)set[k], (int)got));
      PetscCall(KSPBAISetCoarse(ksp, 5));
      PetscCall(PCBAISetCoarse(pc, 5));
    }
  }
  PetscCall(PetscOptionsClearValue(NULL, "-set_ksp_bai_coarse"));
  PetscCall(PetscOptionsClearValue(NULL, "-set_pc_bai_coarse"));
  CheckCall(code, KSPBAISetCoarse(ksp, -3));
  PetscCall(Expect(code, "-3 is an error"));
  CheckCall(code, KSPBAISetCoarse(ksp, 4097));
  PetscCall(Expect(code, "4097 is an error"));
  PetscCall(KSPBAIGetCoarse(ksp, &got));
  PetscCall(Expect(got == 5, "and nothing changes, %d", (int)got));
  PetscCall(PCDestroy(&pc));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, BAI_MODE_SYNC, 0, &ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &without));
  PetscCall(KSPBAISetCoarse(ksp, 80));
  PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscCall(Expect(its <= Most(0.5, without), "%d iterations, %d without", (int)its, (int)without));
  PetscCall(KSPBAISetCoarse(ksp, 0));
  PetscCall(Solve(ksp, PETSC_FALSE, &its));
  PetscCall(Expect(its == without, "%d iterations again, %d without", (int)its, (int)without));
  PetscCall(ExpectView((PetscObject)ksp, "coarse", PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Mat A, BAIMode mode, PetscInt coarse, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCBAI));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCBAISetMode(*pc, mode));
  PetscCall(PCBAISetCoarse(*pc, coarse));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M b where A and b are multiplied by a power of two, which rounding does not see */
static PetscErrorCode ApplyScaled(PetscInt exponent, PetscInt coarse, Vec *Mb)
{
  const PetscReal scale = (PetscReal)ldexp(1.0, (int)exponent);
  Mat             A;
  PC              pc;
  Vec             b;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 24, &A));
  PetscCall(MatScale(A, scale));
  PetscCall(MatCreateVecs(A, Mb, &b));
  PetscCall(VecSet(b, scale));
  PetscCall(CreatePC(A, BAI_MODE_SYNC, coarse, &pc));
  PetscCall(PCBAISetPartition(pc, BAI_PARTITION_NATURAL));
  PetscCall(PCApply(pc, b, *Mb));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The correction is the same for A and b of any size, unless single precision cannot hold the inverse of A_c: then
 * there is none */
static PetscErrorCode TestRange(void)
{
  const struct {
    PetscInt  exponent;
    PetscBool held;
  } cases[] = {
    {-60,  PETSC_TRUE },
    {60,   PETSC_TRUE },
    {-110, PETSC_FALSE},
    {110,  PETSC_FALSE},
    {-500, PETSC_FALSE},
    {500,  PETSC_FALSE}
  };
  Vec       with, without, x;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(ApplyScaled(0, 20, &with));
  PetscCall(ApplyScaled(0, 0, &without));
  PetscCall(VecEqual(with, without, &equal));
  PetscCall(Expect(!equal, "there is a correction"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    PetscCall(ApplyScaled(cases[k].exponent, 20, &x));
    PetscCall(VecEqual(x, cases[k].held ? with : without, &equal));
    PetscCall(Expect(equal, "times 2^%d it is what it is %s", (int)cases[k].exponent,
                     cases[k].held ? "for A" : "without a correction"));
    PetscCall(VecDestroy(&x));
  }
  PetscCall(VecDestroy(&with));
  PetscCall(VecDestroy(&without));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The preconditioner is a fixed operator, linear, symmetric and positive definite; a smoothing step with it is x + M (b
 * - A x) */
static PetscErrorCode TestOperator(const char matrix[], PetscInt n, BAIMode mode)
{
  Mat         A;
  PC          pc;
  Vec         x, y, Mx, My, z, r;
  PetscRandom random;
  PetscScalar a, b;
  PetscReal   norm, size, ynorm;
  PetscInt    done;
  PetscBool   equal;

  PCRichardsonConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  PetscCall(CreatePC(A, mode, 60, &pc));
  PetscCall(ExpectView((PetscObject)pc, "coarse correction by ", PETSC_TRUE));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &Mx));
  PetscCall(VecDuplicate(x, &My));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecDuplicate(x, &r));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  for (int k = 0; k < 4; k++) {
    PetscCall(VecSetRandom(x, random));
    PetscCall(VecSetRandom(y, random));
    PetscCall(VecShift(x, -0.5 * k)); /* smooth and rough ones */
    PetscCall(VecShift(y, -0.5));
    PetscCall(PCApply(pc, x, Mx));
    PetscCall(PCApply(pc, y, My));
    PetscCall(PCApply(pc, x, z));
    PetscCall(VecEqual(Mx, z, &equal));
    PetscCall(Expect(equal, "the same bits every time"));
    PetscCall(VecWAXPY(r, -3.0, y, x));
    PetscCall(PCApply(pc, r, z));
    PetscCall(VecAXPY(z, -1.0, Mx));
    PetscCall(VecAXPY(z, 3.0, My));
    PetscCall(VecNorm(z, NORM_INFINITY, &norm));
    PetscCall(VecNorm(Mx, NORM_INFINITY, &size));
    PetscCall(Expect(norm <= 1e4 * PETSC_MACHINE_EPSILON * size, "linear, but for %g", (double)(norm / size)));
    PetscCall(VecDot(Mx, y, &a));
    PetscCall(VecDot(x, My, &b));
    PetscCall(VecNorm(Mx, NORM_2, &size));
    PetscCall(VecNorm(y, NORM_2, &ynorm));
    PetscCall(Expect(PetscAbsScalar(a - b) <= 1e-6 * size * ynorm,
                     "symmetric up to the rounding of the inverse, but for %g",
                     (double)(PetscAbsScalar(a - b) / (size * ynorm))));
    PetscCall(VecDot(Mx, x, &a));
    PetscCall(Expect(PetscRealPart(a) > 0, "positive definite: %g", (double)PetscRealPart(a)));
    PetscCall(VecCopy(y, z)); /* a smoothing step from y, for the right-hand side x */
    PetscCall(PCApplyRichardson(pc, x, z, NULL, 0, 0, 0, 2, PETSC_FALSE, &done, &reason));
    for (int step = 0; step < 2; step++) {
      PetscCall(MatResidual(A, x, y, r));
      PetscCall(PCApply(pc, r, Mx));
      PetscCall(VecAXPY(y, 1.0, Mx));
    }
    PetscCall(VecNorm(y, NORM_INFINITY, &size));
    PetscCall(VecAXPY(z, -1.0, y));
    PetscCall(VecNorm(z, NORM_INFINITY, &norm));
    PetscCall(Expect(done == 2 && norm <= 1e4 * PETSC_MACHINE_EPSILON * size,
                     "two smoothing steps are two times x + M (b - A x), but for %g", (double)(norm / size)));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A Krylov method takes at most so much of the iterations that it takes without */
static PetscErrorCode TestKrylov(const char matrix[], PetscInt n, KSPType type, BAIMode mode, PetscInt coarse,
                                 PetscReal part)
{
  Mat      A;
  PetscInt its[2];

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &A));
  for (int with = 0; with < 2; with++) {
    KSP ksp;
    PC  pc;
    Vec b, x;

    PetscCall(CreatePC(A, mode, with ? coarse : 0, &pc));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, type));
    PetscCall(KSPSetPC(ksp, pc));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetPCSide(ksp, PC_LEFT));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1.0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[with]));
    {
      PetscReal norm, bnorm;

      PetscCall(TrueResidualNorm(A, b, x, &norm));
      PetscCall(VecNorm(b, NORM_2, &bnorm));
      PetscCall(Expect(norm <= 1.1e-8 * bnorm, "it converges, to %g", (double)(norm / bnorm)));
    }
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(Expect(its[1] <= (Most(part, its[0]) > part * its[0] ? 1.1 * its[0] : part * its[0]),
                   "%d iterations, %d without", (int)its[1], (int)its[0]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multigrid of two levels whose coarse problem is solved by KSPBAI takes as many iterations as with a direct solver */
static PetscErrorCode TestMultigrid(void)
{
  PetscInt its[2];
  DM       dm;
  Mat      A;
  Vec      b, x;

  PetscFunctionBeginUser;
  PetscCall(CreateGrid(65, 1, &dm, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  for (int with = 0; with < 2; with++) {
    KSP                ksp, coarse;
    PC                 pc;
    KSPConvergedReason reason;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, with ? "with_" : "without_"));
    PetscCall(PetscOptionsInsertString(
      NULL,
      with ? "-with_mg_coarse_ksp_type bai -with_mg_coarse_ksp_bai_coarse 60 -with_mg_coarse_pc_type none "
             "-with_mg_coarse_ksp_rtol 1e-6 -with_mg_coarse_ksp_max_it 2000"
           : "-without_mg_coarse_ksp_type cg -without_mg_coarse_pc_type jacobi -without_mg_coarse_ksp_rtol 1e-6 "
             "-without_mg_coarse_ksp_max_it 2000"));
    PetscCall(PetscOptionsInsertString(
      NULL,
      with ? "-with_pc_mg_galerkin both -with_pc_mg_levels 2 -with_mg_levels_ksp_type richardson "
             "-with_mg_levels_ksp_max_it 1 -with_mg_levels_pc_type bai -with_mg_levels_pc_bai_mode sync"
           : "-without_pc_mg_galerkin both -without_pc_mg_levels 2 -without_mg_levels_ksp_type richardson "
             "-without_mg_levels_ksp_max_it 1 -without_mg_levels_pc_type bai -without_mg_levels_pc_bai_mode sync"));
    PetscCall(KSPSetType(ksp, KSPFGMRES));
    PetscCall(KSPSetDM(ksp, dm));
    PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCMG));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its[with]));
    PetscCall(Expect(reason > 0, "it converges: %s", KSPConvergedReasons[reason]));
    PetscCall(PCMGGetCoarseSolve(pc, &coarse));
    if (with) PetscCall(ExpectView((PetscObject)coarse, "coarse correction by ", PETSC_TRUE));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(Expect(its[1] <= its[0] + 1, "%d iterations, %d with CG on the coarse grid", (int)its[1], (int)its[0]));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  char        backend[16] = "";
  const struct {
    const char *name;
    PetscInt    n;
    PetscReal   part;
  } slow[] = {
    {"fv3",       48, 0.5},
    {"laplace2d", 60, 0.5},
    {"laplace3d", 20, 0.6},
    {"helmholtz", 60, 0.5},
    {"mesh",      50, 0.5}
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(slow); k++) {
    for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
      if (Case("auto_%s_%s", slow[k].name, BAIModes[mode]))
        PetscCall(TestAuto(slow[k].name, slow[k].n, slow[k].part, (BAIMode)mode));
      if (Case("number_%s_%s", slow[k].name, BAIModes[mode]))
        PetscCall(TestNumber(slow[k].name, slow[k].n, slow[k].part, 100, (BAIMode)mode, PETSC_DECIDE));
      if (Case("plain_%s_%s", slow[k].name, BAIModes[mode]))
        PetscCall(TestNumber(slow[k].name, slow[k].n, 1.25 * slow[k].part, 100, (BAIMode)mode, 0));
    }
  }
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR && size > 1; mode++) {
    if (Case("ranks_%s_amc", BAIModes[mode])) PetscCall(TestExchange((BAIMode)mode));
    if (Case("ranks_%s_laplace2d", BAIModes[mode])) PetscCall(TestRanks("laplace2d", 100, (BAIMode)mode));
    if (Case("ranks_%s_laplace3d", BAIModes[mode])) PetscCall(TestRanks("laplace3d", 24, (BAIMode)mode));
    if (Case("ranks_%s_fv3", BAIModes[mode])) PetscCall(TestRanks("fv3", 60, (BAIMode)mode));
    if (Case("ranks_%s_anisotropic", BAIModes[mode])) PetscCall(TestRanks("anisotropic", 80, (BAIMode)mode));
  }
  if (Case("fast_fv1")) PetscCall(TestFast("fv1", 40));
  if (Case("fast_trefethen")) PetscCall(TestFast("trefethen", 1000));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    if (Case("norm-none_%s", BAIModes[mode])) PetscCall(TestNormNone((BAIMode)mode));
    if (Case("watched_%s_auto", BAIModes[mode])) PetscCall(TestWatched((BAIMode)mode, PETSC_DECIDE, 0));
    if (Case("watched_%s_number", BAIModes[mode])) PetscCall(TestWatched((BAIMode)mode, 60, 0));
    if (Case("interval_%s", BAIModes[mode])) PetscCall(TestWatched((BAIMode)mode, 60, 10));
    if (Case("carried_%s_powerlaw", BAIModes[mode])) PetscCall(TestCarried("powerlaw", 5000, 0.85, (BAIMode)mode));
    if (Case("carried_%s_fv3", BAIModes[mode])) PetscCall(TestCarried("fv3", 60, 1, (BAIMode)mode));
    if (Case("carried_%s_laplace3d", BAIModes[mode])) PetscCall(TestCarried("laplace3d", 20, 1, (BAIMode)mode));
    if (Case("single_%s", BAIModes[mode])) PetscCall(TestPrecision((BAIMode)mode, 60));
    if (Case("single_%s_auto", BAIModes[mode])) PetscCall(TestPrecision((BAIMode)mode, PETSC_DECIDE));
    if (Case("singular_%s_auto", BAIModes[mode]))
      PetscCall(TestSingular((BAIMode)mode, PETSC_DECIDE, PETSC_TRUE, PETSC_FALSE));
    if (Case("singular_%s_number", BAIModes[mode])) PetscCall(TestSingular((BAIMode)mode, 60, PETSC_TRUE, PETSC_FALSE));
    if (Case("singular_%s_linear", BAIModes[mode])) PetscCall(TestSingular((BAIMode)mode, 60, PETSC_TRUE, PETSC_TRUE));
    if (Case("singular_%s_unsaid", BAIModes[mode]))
      PetscCall(TestSingular((BAIMode)mode, PETSC_DECIDE, PETSC_FALSE, PETSC_FALSE));
    if (Case("vain_%s_convection", BAIModes[mode])) PetscCall(TestVain(PETSC_FALSE, (BAIMode)mode, PETSC_DECIDE));
    if (Case("vain_%s_convection_number", BAIModes[mode])) PetscCall(TestVain(PETSC_FALSE, (BAIMode)mode, 60));
    if (Case("vain_%s_indefinite", BAIModes[mode])) PetscCall(TestVain(PETSC_TRUE, (BAIMode)mode, PETSC_DECIDE));
    if (Case("vain_%s_indefinite_number", BAIModes[mode])) PetscCall(TestVain(PETSC_TRUE, (BAIMode)mode, 60));
  }
  if (Case("fixed-momentum_sync")) PetscCall(TestFixedMomentum(BAI_MODE_SYNC));
  if (Case("interval_auto")) PetscCall(TestInterval());
  if (Case("values_auto")) PetscCall(TestValues(PETSC_DECIDE));
  if (Case("values_number")) PetscCall(TestValues(100));
  if (Case("sizes")) PetscCall(TestSizes(PETSC_DECIDE, 1.5));
  if (Case("sizes_plain")) PetscCall(TestSizes(0, 2));
  if (Case("stretched")) PetscCall(TestStretched());
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    if (Case("flow_%s", BAIModes[mode])) PetscCall(TestFlow((BAIMode)mode));
    if (Case("scaled-rows_%s", BAIModes[mode])) PetscCall(TestScaledRows((BAIMode)mode));
  }
  if (Case("range")) PetscCall(TestRange());
  if (Case("near")) PetscCall(TestNear());
  if (Case("elastic")) PetscCall(TestElastic());
  if (Case("grid_1")) PetscCall(TestGrid(1));
  if (Case("grid_2")) PetscCall(TestGrid(2));
  if (Case("errors")) PetscCall(TestErrors());
  if (Case("setters")) PetscCall(TestSetters());
  for (int mode = BAI_MODE_SYNC; mode <= BAI_MODE_COLOR; mode++) {
    if (Case("operator_%s_laplace2d", BAIModes[mode])) PetscCall(TestOperator("laplace2d", 40, (BAIMode)mode));
    if (Case("operator_%s_laplace3d", BAIModes[mode])) PetscCall(TestOperator("laplace3d", 12, (BAIMode)mode));
    if (Case("operator_%s_fv3", BAIModes[mode])) PetscCall(TestOperator("fv3", 40, (BAIMode)mode));
    if (Case("cg_%s_number", BAIModes[mode])) PetscCall(TestKrylov("laplace2d", 200, KSPCG, (BAIMode)mode, 400, 0.5));
    if (Case("cg_%s_auto", BAIModes[mode]))
      PetscCall(TestKrylov("laplace2d", 200, KSPCG, (BAIMode)mode, PETSC_DECIDE, 0.5));
  }
  if (Case("fcg_async")) PetscCall(TestKrylov("laplace2d", 100, KSPFCG, BAI_MODE_ASYNC, 200, 0.6));
  if (size == 1) {
    if (Case("grid_found_2d")) PetscCall(TestFound("laplace2d", 45, 81, 81));
    if (Case("grid_found_3d")) PetscCall(TestFound("laplace3d", 24, 64, 64));
    if (Case("grid_found_anisotropic")) PetscCall(TestFound("anisotropic", 80, PETSC_DECIDE, 200));
  }
  if (Case("multigrid")) PetscCall(TestMultigrid());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ksp_bai_backend", backend, sizeof(backend), NULL));
  if (!strcmp(backend, "cuda")) {
    if (Case("precision_auto")) PetscCall(TestPrecisionAuto(1.0, 0.0, PETSC_TRUE));
    if (Case("precision_range")) PetscCall(TestPrecisionAuto(1e30, 0.0, PETSC_FALSE));
    if (Case("precision_rounding")) PetscCall(TestPrecisionAuto(1.0, 1e-6, PETSC_FALSE));
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
         args: -case {{auto number plain fast,fixed-momentum,norm-none,watched,interval,carried,sizes,stretched,flow,scaled-rows single,values,range,near,elastic,grid singular vain setters operator cg,fcg,multigrid}}
      test:
         suffix: host_errors
         nsize: {{1 2}}
         args: -malloc_dump 0 -case errors
      test:
         suffix: host_ranks
         timeoutfactor: 4
         nsize: {{2 3}}
         args: -case {{auto_fv3,number_laplace2d,plain_fv3,ranks values,range,near,elastic,grid singular vain operator,cg,carried,sizes,stretched,flow,scaled-rows}}
      test:
         suffix: host_more_ranks
         timeoutfactor: 4
         nsize: {{4 7}}
         args: -case {{ranks singular_sync,near,elastic,grid}}

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -pc_bai_backend cuda -options_left no -case {{auto number plain fast,fixed-momentum,norm-none,watched,interval,carried,sizes,stretched,flow,scaled-rows_sync single,values,range,near,elastic,grid singular vain operator cg,fcg,multigrid precision}}
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -dm_mat_type aijcusparse -options_left no -case {{auto_fv3,auto_laplace3d,number_laplace2d,plain_fv3 values,range,near,elastic,grid,singular_async operator,cg}}
      # ranks that share a GPU exchange slowly: a part of it only
      test:
         suffix: aijcusparse_ranks
         nsize: 2
         requires: baicuda cuda
         args: -mat_type aijcusparse -dm_mat_type aijcusparse -options_left no -case {{auto_fv3_sync,ranks_sync_fv3 values_number,grid_1 operator_sync_laplace2d}}

TEST*/
