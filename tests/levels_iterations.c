static char help[] =
  "PCBAIMG and KSPBAI take few iterations, hardly more for larger systems, and every claim is true.\n\n";

#include "levels.h"

/* Iterations of KSPBAI and of CG with PCBAIMG: at most this number at both sizes, and at most growth more on the larger
   one; a second solve has as many as the first */
static PetscErrorCode TestIterations(const char name[], PetscInt small, PetscInt large, PetscInt most, PetscInt growth)
{
  const PetscInt  size[] = {small, large};
  const PetscBool jumps  = (PetscBool)!strncmp(name, "jumps", 5);
  PetscInt        its[2], again, cg;

  PetscFunctionBeginUser;
  if (jumps) rtol = (PetscReal)1e-6; /* b - A x is no more exact with such entries */
  for (int k = 0; k < 2; k++) {
    Mat A;
    KSP ksp;

    PetscCall(CreateMat(name, size[k], &A));
    PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
    PetscCall(Solve(ksp, &its[k]));
    PetscCall(Solve(ksp, &again));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Expect(its[k] >= 0 && its[k] <= most, "size %d: %d iterations", (int)size[k], (int)its[k]));
    PetscCall(
      Expect(again == its[k], "size %d: %d iterations, %d in the second solve", (int)size[k], (int)its[k], (int)again));
    PetscCall(IterationsOf(A, KSPCG, 0, &cg));
    PetscCall(Expect(cg >= 0 && cg <= its[k] + (jumps ? 8 : 2), "size %d: %d iterations, %d with KSPCG", (int)size[k],
                     (int)its[k], (int)cg));
    PetscCall(MatDestroy(&A));
  }
  rtol = (PetscReal)1e-10;
  PetscCall(Expect(its[1] <= its[0] + growth, "%d iterations at size %d, %d at size %d", (int)its[0], (int)size[0],
                   (int)its[1], (int)size[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKrylov(const char name[], PetscInt n, KSPType type, PetscInt most)
{
  Mat      A;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(IterationsOf(A, type, 0, &its));
  PetscCall(Expect(its >= 0 && its <= most, "%d iterations of %s", (int)its, type));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -A takes as many iterations as A, also where it takes the place of A in the same solver */
static PetscErrorCode TestNegative(KSPType type, PetscInt levels)
{
  Mat      A;
  KSP      ksp, other;
  PetscInt positive, its;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 80, &A));
  PetscCall(CreateKSP(A, type, levels, &ksp));
  PetscCall(Solve(ksp, &positive));
  PetscCall(MatScale(A, -1.0));
  PetscCall(CreateKSP(A, type, levels, &other));
  PetscCall(Solve(other, &its));
  PetscCall(Expect(positive > 0 && its == positive, "%d iterations with A, %d with -A", (int)positive, (int)its));
  for (int k = 0; k < 2; k++) {
    PetscCall(Solve(ksp, &its));
    PetscCall(Expect(its == positive, "%d iterations with A, %d when its sign has changed %d times", (int)positive,
                     (int)its, k + 1));
    PetscCall(MatScale(A, -1.0));
  }
  PetscCall(KSPDestroy(&other));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Convection that is weaker and stronger than diffusion */
static PetscErrorCode TestConvection(const char name[], PetscInt n, PetscInt most)
{
  const char *const peclet[] = {"0.1", "1", "10", "100"};

  PetscFunctionBeginUser;
  for (int k = 0; k < 4; k++) {
    Mat      A;
    PetscInt its;

    PetscCall(PetscOptionsSetValue(NULL, "-peclet", peclet[k]));
    PetscCall(CreateMat(name, n, &A));
    PetscCall(PetscOptionsClearValue(NULL, "-peclet"));
    PetscCall(IterationsOf(A, KSPBAI, 32, &its));
    PetscCall(Expect(its > 0 && its <= most, "Peclet number %s: %d iterations", peclet[k], (int)its));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A grid of n x n points, and beside every fourth one in each direction a row that is bound to another one, which
   dominates and so is in no aggregate. The first of the two must not bind the point, to which it is hardly coupled
*/
static PetscErrorCode TestBound(PetscInt n)
{
  const PetscReal strong = 1e6, weak = 0.01;
  const PetscInt  beside = n / 4, all = n * n + 2 * beside * beside;
  Mat             A;
  PetscInt        its, start, end;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, all, 6, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = start; row < PetscMin(end, n * n); row++) {
    const PetscInt  x = row % n, y = row / n, pair = n * n + 2 * (y / 4 * beside + x / 4);
    const PetscBool has = (PetscBool)(x % 4 == 2 && y % 4 == 2 && x / 4 < beside && y / 4 < beside);

    PetscCall(MatSetValue(A, row, row, 4 + (has ? weak : 0), INSERT_VALUES));
    if (x) PetscCall(MatSetValue(A, row, row - 1, -1, INSERT_VALUES));
    if (x + 1 < n) PetscCall(MatSetValue(A, row, row + 1, -1, INSERT_VALUES));
    if (y) PetscCall(MatSetValue(A, row, row - n, -1, INSERT_VALUES));
    if (y + 1 < n) PetscCall(MatSetValue(A, row, row + n, -1, INSERT_VALUES));
    if (has) PetscCall(MatSetValue(A, row, pair, -weak, INSERT_VALUES));
  }
  for (PetscInt row = PetscMax(start, n * n); row < end; row++) {
    const PetscInt k = (row - n * n) / 2, point = (k / beside * 4 + 2) * n + k % beside * 4 + 2;

    if ((row - n * n) % 2) {
      PetscCall(MatSetValue(A, row, row, 4 * strong, INSERT_VALUES));
      PetscCall(MatSetValue(A, row, row - 1, -strong, INSERT_VALUES));
    } else {
      PetscCall(MatSetValue(A, row, row, strong + weak, INSERT_VALUES));
      PetscCall(MatSetValue(A, row, row + 1, -strong, INSERT_VALUES));
      PetscCall(MatSetValue(A, row, point, -weak, INSERT_VALUES));
    }
  }
  PetscCall(Assemble(A));
  PetscCall(IterationsOf(A, KSPCG, PETSC_DECIDE, &its));
  PetscCall(Expect(its > 0 && its <= 26, "%d iterations", (int)its));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of a few rows, and diagonal ones */
static PetscErrorCode TestSmall(void)
{
  const PetscInt sizes[] = {1, 2, 3, 129, 300};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    for (int diagonal = 0; diagonal < 2; diagonal++) {
      Mat      A;
      PetscInt its, start, end;

      PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, sizes[k], 3, &A));
      PetscCall(MatGetOwnershipRange(A, &start, &end));
      for (PetscInt row = start; row < end; row++) {
        PetscCall(MatSetValue(A, row, row, 2.0 + (PetscReal)(row % 2), INSERT_VALUES));
        if (!diagonal && row > 0) PetscCall(MatSetValue(A, row, row - 1, -1.0, INSERT_VALUES));
        if (!diagonal && row < sizes[k] - 1) PetscCall(MatSetValue(A, row, row + 1, -1.0, INSERT_VALUES));
      }
      PetscCall(Assemble(A));
      PetscCall(IterationsOf(A, KSPCG, 0, &its));
      PetscCall(Expect(its >= 0 && its <= 30, "%d rows%s: %d iterations of CG", (int)sizes[k],
                       diagonal ? ", diagonal" : "", (int)its));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a null space attached the solution has nothing of it */
static PetscErrorCode TestNullSpace(KSPType type)
{
  Mat         A;
  KSP         ksp;
  Vec         b, x;
  PetscInt    its;
  PetscScalar sum;
  PetscReal   size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("neumann", 64, &A));
  PetscCall(CreateKSP(A, type, 32, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 25, "%d iterations", (int)its));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SetNoise(x, 4));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecSum(x, &sum));
  PetscCall(VecNorm(x, NORM_1, &size));
  PetscCall(Expect(PetscAbsScalar(sum) <= (PetscReal)1e-8 * size, "the sum of x is %g", (double)PetscAbsScalar(sum)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A singular matrix whose entries single precision rounds, so that the rows would no longer add up to zero. Without a
 * null space attached levels in single precision may fail, and native ones go on */
static PetscErrorCode TestSingularRounded(PetscInt n)
{
  PetscFunctionBeginUser;
  for (int attached = 0; attached < 2; attached++) {
    Mat          A;
    KSP          ksp;
    Vec          b, x;
    MatNullSpace space;
    PetscInt     its;
    PetscReal    rnorm;
    PetscBool    is;

    PetscCall(CreateMat("neumann3d", n, &A));
    PetscCall(MatScale(A, (PetscScalar)0.01));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SetNoise(b, 5));
    PetscCall(MatGetNullSpace(A, &space));
    PetscCall(MatNullSpaceRemove(space, b));
    if (!attached) PetscCall(MatSetNullSpace(A, NULL));
    PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
    PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 500));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(IsConverged(ksp, &rnorm, &is));
    PetscCall(Expect(is && its <= 40, "%s null space: %d iterations, true residual norm %g",
                     attached ? "with a" : "without a", (int)its, (double)rnorm));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A graph of many lines of n rows, which no edge connects. Where a line is a single row of a level, the weights make
 * this row rounding, not zero. b adds up to zero on each line */
static PetscErrorCode TestParts(KSPType type, PetscInt lines, PetscInt n, PetscBool hermitian)
{
  Mat       A;
  KSP       ksp;
  Vec       b, x;
  PetscInt  its, first, end;
  PetscReal rnorm;
  PetscBool is;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, lines * n, lines * n, 3, NULL, 1, NULL, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    const PetscReal left  = i % n ? PetscExpReal(3 * PetscSinReal((PetscReal)i)) : 0;
    const PetscReal right = (i + 1) % n ? PetscExpReal(3 * PetscSinReal((PetscReal)(i + 1))) : 0;
    const PetscReal scale = hermitian ? 1 : 1 + (PetscReal)(i % 3);

    if (left > 0) PetscCall(MatSetValue(A, i, i - 1, -left * scale, INSERT_VALUES));
    if (right > 0) PetscCall(MatSetValue(A, i, i + 1, -right * scale, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, i, (left + right) * scale, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SetNoise(x, 6));
  PetscCall(MatMult(A, x, b));
  PetscCall(CreateKSP(A, type, 32, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(IsConverged(ksp, &rnorm, &is));
  PetscCall(Expect(is && its <= 35, "%d iterations, true residual norm %g", (int)its, (double)rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    PetscInt    small, large, most, growth;
  } sizes[] = {
    {"laplace2d",   48, 256, 18, 3 },
    {"nine",        48, 256, 18, 3 },
    {"laplace3d",   12, 48,  18, 3 },
    {"laplace3d27", 12, 40,  18, 3 },
    {"helmholtz",   48, 200, 18, 3 },
    {"anisotropic", 48, 200, 25, 5 },
    {"jumps",       48, 200, 25, 8 },
    {"jumps3d",     16, 40,  25, 5 },
    {"mesh",        40, 160, 35, 9 },
    {"pinned",      48, 200, 25, 5 },
    {"neumann",     48, 200, 25, 5 },
    {"positive",    12, 48,  18, 3 },
    {"graded",      48, 250, 34, 25},
    {"elasticity",  8,  20,  30, 6 }
  };
  static const struct {
    const char *name, *system;
    PetscInt    n;
    KSPType     type;
    PetscInt    most;
  } methods[] = {
    {"cg",          "laplace2d", 64,   KSPCG,     18 },
    {"gmres",       "laplace2d", 64,   KSPGMRES,  18 },
    {"fgmres",      "laplace2d", 64,   KSPFGMRES, 18 },
    {"flow_gmres",  "flow",      64,   KSPGMRES,  80 },
    {"flow_fgmres", "flow",      64,   KSPFGMRES, 80 },
    {"twisted",     "twisted",   40,   KSPCG,     150},
    {"opposed",     "opposed",   16,   KSPCG,     60 },
    {"scaled",      "scaled",    64,   KSPCG,     40 },
    {"powerlaw",    "powerlaw",  5000, KSPCG,     60 }
  };
  PetscMPIInt size;

  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
    if (size == 1 && Case("iterations_%s", sizes[k].name))
      PetscCall(TestIterations(sizes[k].name, sizes[k].small, sizes[k].large, sizes[k].most, sizes[k].growth));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(methods); k++)
    if (Case("krylov_%s", methods[k].name))
      PetscCall(TestKrylov(methods[k].system, methods[k].n, methods[k].type, methods[k].most));
  if (Case("krylov_negative_cg")) PetscCall(TestNegative(KSPCG, 0));
  if (Case("krylov_negative_richardson")) PetscCall(TestNegative(KSPRICHARDSON, 0));
  if (Case("krylov_negative_chip")) PetscCall(TestNegative(KSPBAI, PETSC_DECIDE));
  if (Case("krylov_negative_bai")) PetscCall(TestNegative(KSPBAI, 32));
  if (Case("convection_2d")) PetscCall(TestConvection("convection2d", 60, 80));
  if (Case("convection_3d")) PetscCall(TestConvection("convection3d", 16, 60));
  if (Case("convection_large")) PetscCall(TestConvection("convection2d", 250, 80));
  if (Case("bound")) PetscCall(TestBound(100));
  if (size == 1 && Case("small")) PetscCall(TestSmall());
  if (size == 1 && Case("nullspace_bai")) PetscCall(TestNullSpace(KSPBAI));
  if (size == 1 && Case("nullspace_cg")) PetscCall(TestNullSpace(KSPCG));
  if (size == 1 && !PetscDefined(USE_REAL_SINGLE) && Case("singular")) PetscCall(TestSingularRounded(100));
  if (Case("parts_bai")) PetscCall(TestParts(KSPBAI, 200, 23, PETSC_TRUE));
  if (Case("parts_cg")) PetscCall(TestParts(KSPCG, 200, 23, PETSC_TRUE));
  if (Case("parts_flow")) PetscCall(TestParts(KSPBAI, 200, 23, PETSC_FALSE));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         args: -case {{krylov,bound,small,nullspace,parts convection singular \
               iterations_laplace2d,iterations_nine iterations_laplace3d,iterations_laplace3d27 \
               iterations_helmholtz,iterations_anisotropic,iterations_jumps,iterations_jumps3d \
               iterations_mesh,iterations_pinned,iterations_neumann,iterations_positive,iterations_graded \
               iterations_elasticity}}
      test:
         suffix: host_ranks
         timeoutfactor: 2
         nsize: {{2 3}}
         args: -case {{krylov,bound,parts convection}}
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -options_left no -case iterations
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -options_left no -case {{krylov,bound,small,nullspace convection \
               singular iterations}}
      test:
         suffix: aijcusparse_ranks
         timeoutfactor: 3
         requires: baicuda cuda
         nsize: 2
         args: -mat_type aijcusparse -pc_baimg_gather false -options_left no -case krylov_cg

TEST*/
