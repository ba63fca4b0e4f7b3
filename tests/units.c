static char help[] = "Iterations depend on the problem, not on units, stored zeros or numbering.\n\n";

#include "check.h"
#include "parts/systems.h"
#include "dice.h"

/* A problem on a grid of n points in two or three directions, and how it is written down */
typedef struct {
  const char *name;
  PetscInt    n, directions;
  PetscReal   jump;    /* coefficients of every other diagonal stripe of points */
  PetscReal   wind;    /* part of a coupling that is added downwind and taken upwind */
  PetscReal   coupled; /* two fields, each row coupled to the other field by this part; 0: one field */
  PetscReal   sign;    /* of the diagonal */
  PetscReal   rough;   /* standard deviation of the logarithm of the coefficients */
} Problem;

typedef enum {
  AS_IT_IS,
  TWO_UNITS,  /* fields in units that differ by the factor given, or the two halves of the rows */
  EACH_ROW,   /* each row and its unknown in a unit of its own: S A S */
  BOTH_SIDES, /* each row and each unknown in units of their own: D1 A D2 */
  ZEROS,      /* a zero is stored far away from the diagonal in each row */
  SHUFFLED    /* points are numbered at random */
} Writing;

typedef struct {
  const Problem *p;
  Writing        how;
  PetscReal      factor; /* of TWO_UNITS; for EACH_ROW and BOTH_SIDES units are between 10^-factor and 10^factor */
} Task;

static PetscReal Part(PetscInt i)
{
  Dice dice = {.state = (uint64_t)i};

  return (PetscReal)Below(&dice, 1000003) / 1000003;
}

/* The unit of an unknown, and that of a row where it is another one */
static PetscReal UnitOf(const Task *t, PetscInt row, PetscInt rows, PetscBool of_row)
{
  switch (t->how) {
  case TWO_UNITS:
    return (t->p->coupled != 0.0 ? row % 2 : 2 * row >= rows) ? t->factor : (PetscReal)1;
  case EACH_ROW:
    return PetscPowReal(10, t->factor * (2 * Part(row) - 1));
  case BOTH_SIDES:
    return PetscPowReal(10, t->factor * (2 * Part(of_row ? row : -row - 1) - 1));
  default:
    return 1;
  }
}

/* Log-normal: the logarithm is a sum of waves of 4 points or more whose mean square is rough^2 */
static PetscReal Coefficient(const Problem *p, const PetscInt at[3])
{
  enum {
    WAVES = 32
  };

  if (p->rough > 0) {
    PetscReal sum = 0;

    for (PetscInt wave = 0; wave < WAVES; wave++) {
      PetscReal phase = 2 * PETSC_PI * Part(4 * wave + 3);

      for (PetscInt d = 0; d < 3; d++) phase += (Part(4 * wave + d) - (PetscReal)0.5) * PETSC_PI * (PetscReal)at[d];
      sum += PetscCosReal(phase);
    }
    return PetscExpReal(p->rough * PetscSqrtReal((PetscReal)2 / WAVES) * sum);
  }
  return (at[0] + at[1] + at[2]) / 5 % 2 ? p->jump : 1;
}

/* Adds a row of the finite volume method with zero around the grid */
static PetscErrorCode AddRow(const Task *t, Mat A, PetscInt point, PetscInt field, const PetscInt number[],
                             PetscInt points)
{
  const Problem *p      = t->p;
  const PetscInt fields = p->coupled != 0.0 ? 2 : 1, rows = points * fields, row = number[point] * fields + field;
  const PetscInt at[3] = {point % p->n, point / p->n % p->n, point / p->n / p->n};
  PetscReal      all   = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < p->directions; d++) {
    for (PetscInt side = -1; side <= 1; side += 2) {
      PetscInt  to[3] = {at[0], at[1], at[2]};
      PetscReal k     = Coefficient(p, at), w, other;

      to[d] += side;
      if (to[d] < 0 || to[d] >= p->n) {
        all += 2 * k;
        continue;
      }
      other = Coefficient(p, to);
      w     = 2 * k * other / (k + other);
      all += w;
      if (d == 0) w += side * p->wind;
      for (PetscInt g = 0; g < fields; g++) {
        const PetscInt col = number[(to[2] * p->n + to[1]) * p->n + to[0]] * fields + g;

        PetscCall(MatSetValue(A, row, col,
                              -p->sign * w * (g == field ? 1 : p->coupled) * UnitOf(t, row, rows, PETSC_TRUE) *
                                UnitOf(t, col, rows, PETSC_FALSE),
                              ADD_VALUES));
      }
    }
  }
  for (PetscInt g = 0; g < fields; g++) {
    const PetscInt col = row - field + g;

    PetscCall(MatSetValue(A, row, col,
                          p->sign * all * (g == field ? 1 : p->coupled) * UnitOf(t, row, rows, PETSC_TRUE) *
                            UnitOf(t, col, rows, PETSC_FALSE),
                          ADD_VALUES));
  }
  if (t->how == ZEROS) PetscCall(MatSetValue(A, row, (row + rows / 3) % rows, 0, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix, and b = A x where x in units that are the same for all rows is between -1 and 1 */
static PetscErrorCode CreateSystem(const Task *t, Mat *A, Vec *b)
{
  const PetscInt fields = t->p->coupled != 0.0 ? 2 : 1;
  PetscInt       points = 1, first, last, *number;
  Vec            x;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < t->p->directions; d++) points *= t->p->n;
  PetscCall(PetscMalloc1(points, &number));
  for (PetscInt i = 0; i < points; i++) number[i] = i;
  for (PetscInt i = points - 1; i > 0 && t->how == SHUFFLED; i--) {
    const PetscInt j = (PetscInt)(Part(i) * (PetscReal)(i + 1)), n = number[i];

    number[i] = number[j];
    number[j] = n;
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, points * fields, points * fields));
  PetscCall(MatSetBlockSize(*A, fields));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 8 * fields, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 8 * fields, NULL, 8 * fields, NULL));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = 0; i < points; i++) {
    if (number[i] * fields < first || number[i] * fields >= last) continue;
    for (PetscInt f = 0; f < fields; f++) PetscCall(AddRow(t, *A, i, f, number, points));
  }
  PetscCall(PetscFree(number));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(*A, &x, b));
  for (PetscInt row = first; row < last; row++)
    PetscCall(
      VecSetValue(x, row, (2 * Part(3 * row + 1) - 1) / UnitOf(t, row, points * fields, PETSC_FALSE), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscCall(MatMult(*A, x, *b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, const char ksp_type[], const char pc_type[], PetscBool natural, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(NewKSP(A, ksp_type, ksp));
  if (natural) PetscCall(KSPSetNormType(*ksp, KSP_NORM_NATURAL));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pc_type));
  PetscCall(KSPSetTolerances(*ksp, (PetscReal)1e-7, (PetscReal)1e-30, PETSC_DEFAULT, 1000));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Iterations(const Task *t, const char ksp_type[], const char pc_type[], PetscBool natural,
                                 PetscInt *its)
{
  KSPConvergedReason reason;
  Mat                A;
  Vec                b, x;
  KSP                ksp;

  PetscFunctionBeginUser;
  PetscCall(CreateSystem(t, &A, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(CreateSolver(A, ksp_type, pc_type, natural, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(Expect(reason > 0, "%s, writing %d: reason %d after %d iterations", t->p->name, (int)t->how, (int)reason,
                   (int)*its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations for the problem written otherwise are at most so many times those for it as it is, and some more */
static PetscErrorCode TestWriting(const Problem *p, Writing how, PetscReal factor, const char ksp_type[],
                                  const char pc_type[], PetscBool natural, PetscReal times, PetscInt more)
{
  const Task as_it_is = {p, AS_IT_IS, 1}, other = {p, how, factor};
  PetscInt   its, others;

  PetscFunctionBeginUser;
  PetscCall(Iterations(&as_it_is, ksp_type, pc_type, natural, &its));
  PetscCall(Iterations(&other, ksp_type, pc_type, natural, &others));
  PetscCall(Expect((PetscReal)others <= times * (PetscReal)its + (PetscReal)more,
                   "%s, factor %g: %d iterations, and %d for the problem as it is", p->name, (double)factor,
                   (int)others, (int)its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Ignore(PETSC_UNUSED KSP ksp, PETSC_UNUSED PetscInt it, PETSC_UNUSED PetscReal rnorm,
                             PETSC_UNUSED void *ctx)
{
  return PETSC_SUCCESS;
}

/* b is 1 in all rows, whatever their units are. Then ||b - A x|| first grows to many times ||b||, but the solve
   converges, also in a second solve, and in a third one with a monitor, in as many iterations */
static PetscErrorCode TestGrowth(const Problem *p, Writing how)
{
  const Task         t = {p, how, 4};
  KSPConvergedReason reason;
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  PetscReal          rnorm, bnorm;
  PetscInt           its[3];

  PetscFunctionBeginUser;
  PetscCall(CreateSystem(&t, &A, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(CreateSolver(A, KSPBAI, PCBAIMG, PETSC_FALSE, &ksp));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-6, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  for (int k = 0; k < 3; k++) {
    if (k == 2) PetscCall(KSPMonitorSet(ksp, Ignore, NULL, NULL));
    PetscCall(VecSet(x, 0.0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(TrueResidualNorm(A, b, x, &rnorm));
    PetscCall(Expect(reason > 0 && rnorm <= (PetscReal)1.1e-6 * bnorm && its[k] == its[0],
                     "%s, solve %d: reason %d, norm %g of %g, %d iterations, and %d the first time", p->name, k,
                     (int)reason, (double)rnorm, (double)bnorm, (int)its[k], (int)its[0]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two coupled fields: iterations do not grow with the grid */
static PetscErrorCode TestCoupled(const char ksp_type[], const char pc_type[])
{
  PetscFunctionBeginUser;
  for (PetscInt n = 20; n <= 80; n *= 2) {
    const Problem p = {"coupled", n, 2, 1, 0, (PetscReal)0.8, 1, 0};
    const Task    t = {&p, AS_IT_IS, 1};
    PetscInt      its;

    PetscCall(Iterations(&t, ksp_type, pc_type, PETSC_FALSE, &its));
    PetscCall(Expect(its <= 30, "%d^2 points: %d iterations", (int)n, (int)its));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The equation u - t L (e L u - v u) of fourth order as two of second order, with the Laplacian L of n^2 points between
   walls; v varies and changes sign. unit multiplies the second equation */
static PetscErrorCode CreateMixed(PetscInt n, PetscReal unit, Mat *A)
{
  const PetscReal t = (PetscReal)1e-4, e = (PetscReal)1e-2, h2 = (PetscReal)(n * n);
  PetscInt        first, last;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 2, 2 * n * n, 6, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscInt  point = row / 2, other = row % 2 ? row - 1 : row + 1, at[2] = {point % n, point / n};
    const PetscReal factor = row % 2 ? -unit * e * h2 : t * h2;

    PetscCall(MatSetValue(*A, row, row, row % 2 ? unit : 1, ADD_VALUES));
    if (row % 2)
      PetscCall(MatSetValue(*A, row, other, unit * PetscCosReal((PetscReal)(7 * at[0] + 5 * at[1]) / n), ADD_VALUES));
    for (int k = 0; k < 4; k++) {
      const int step = k % 2 ? 1 : -1;

      if (at[k / 2] + step < 0 || at[k / 2] + step >= n) continue;
      PetscCall(MatSetValue(*A, row, other, factor, ADD_VALUES));
      PetscCall(MatSetValue(*A, row, other + 2 * step * (k / 2 ? n : 1), -factor, ADD_VALUES));
    }
  }
  PetscCall(Assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new solver, and how it solves A x = 1 */
static PetscErrorCode SolveOnes(Mat A, const char ksp_type[], const char pc_type[], KSP *ksp, PetscInt *its,
                                KSPConvergedReason *reason)
{
  Vec x, b;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(CreateSolver(A, ksp_type, pc_type, PETSC_FALSE, ksp));
  PetscCall(KSPSolve(*ksp, b, x));
  PetscCall(KSPGetIterationNumber(*ksp, its));
  PetscCall(KSPGetConvergedReason(*ksp, reason));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Constants on fields that depend on each other save iterations: without them KSPGMRES takes 86 of them, and BiCGStab,
   which KSPBAI took then, 115 */
static PetscErrorCode TestMixed(const char ksp_type[], const char pc_type[], PetscReal unit)
{
  Mat                A;
  KSP                ksp;
  PetscInt           its;
  PetscBool          fgmres;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMixed(80, unit, &A));
  PetscCall(SolveOnes(A, strcmp(ksp_type, KSPCG) ? ksp_type : KSPGMRES, pc_type, &ksp, &its, &reason));
  PetscCall(Expect(reason > 0 && its <= (strcmp(ksp_type, KSPBAI) ? 75 : 95), "%s, %d iterations",
                   KSPConvergedReasons[reason], (int)its));
  PetscCall(ViewHas((PetscObject)ksp, "KSP type fgmres, preconditioned by the PC", &fgmres));
  PetscCall(Expect(fgmres || strcmp(ksp_type, KSPBAI), "KSPBAI takes FGMRES"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A time step dt of two coupled equations of diffusion in different units, on n^2 points: the mass of the first field
   outweighs its couplings, and that of the second does not. The matrix has no block size */
static PetscErrorCode CreateStep(PetscInt n, PetscReal dt, PetscReal unit, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, 2 * n * n, 10, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscInt  point = row / 2, to[2] = {row, row % 2 ? row - 1 : row + 1}, at[2] = {point % n, point / n};
    const PetscReal own = row % 2 ? dt * unit * unit : 2 * dt, factor[2] = {own, dt * unit / 2};

    PetscCall(MatSetValue(*A, row, row, 1, ADD_VALUES));
    for (int f = 0; f < 2; f++) {
      PetscCall(MatSetValue(*A, row, to[f], 4 * factor[f], ADD_VALUES));
      for (int k = 0; k < 4; k++) {
        const int step = k % 2 ? 1 : -1;

        if (at[k / 2] + step < 0 || at[k / 2] + step >= n) continue;
        PetscCall(MatSetValue(*A, row, to[f] + 2 * step * (k / 2 ? n : 1), -factor[f], ADD_VALUES));
      }
    }
  }
  PetscCall(Assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector for the scaling that is not better than a_ii^-1/2 is dropped: with it, no solve of dt >= 0.1 ended in 300
   iterations */
static PetscErrorCode TestStep(const char ksp_type[], const char pc_type[])
{
  Mat                A;
  KSP                ksp;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  for (PetscReal dt = (PetscReal)1e-3; dt < 20; dt *= 10) {
    PetscCall(CreateStep(40, dt, 1000, &A));
    PetscCall(SolveOnes(A, ksp_type, pc_type, &ksp, &its, &reason));
    PetscCall(
      Expect(reason > 0 && its <= 90, "dt %g: %s, %d iterations", (double)dt, KSPConvergedReasons[reason], (int)its));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y^T M x = x^T M^T y for a preconditioner of a matrix that is scaled, and M is linear */
static PetscErrorCode TestTransposed(const Problem *p, Writing how, const char pc_type[])
{
  const Task  t = {p, how, 4};
  Mat         A;
  Vec         b, x, Mx, y, My;
  KSP         ksp;
  PC          pc;
  PetscScalar one, two;
  PetscReal   size;
  PetscInt    n;

  PetscFunctionBeginUser;
  PetscCall(CreateSystem(&t, &A, &b));
  PetscCall(CreateSolver(A, KSPGMRES, pc_type, PETSC_FALSE, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &Mx));
  PetscCall(VecDuplicate(b, &My));
  PetscCall(VecGetSize(b, &n));
  /* right-hand sides and test vectors in the units of the rows */
  {
    PetscInt first, last;

    PetscCall(VecGetOwnershipRange(b, &first, &last));
    for (PetscInt row = first; row < last; row++) {
      PetscCall(VecSetValue(x, row, (Part(row + 3) - (PetscReal)0.5) * UnitOf(&t, row, n, PETSC_TRUE), INSERT_VALUES));
      PetscCall(VecSetValue(y, row, (Part(row + 5) - (PetscReal)0.5) * UnitOf(&t, row, n, PETSC_FALSE), INSERT_VALUES));
    }
    PetscCall(VecAssemblyBegin(x));
    PetscCall(VecAssemblyEnd(x));
    PetscCall(VecAssemblyBegin(y));
    PetscCall(VecAssemblyEnd(y));
  }
  PetscCall(PCApply(pc, x, Mx));
  PetscCall(PCApplyTranspose(pc, y, My));
  PetscCall(VecTDot(Mx, y, &one));
  PetscCall(VecTDot(My, x, &two));
  PetscCall(VecPointwiseMult(Mx, Mx, y));
  PetscCall(VecNorm(Mx, NORM_1, &size));
  PetscCall(Expect(PetscAbsScalar(one - two) <= 1000 * PETSC_MACHINE_EPSILON * size,
                   "%s: y^T M x and x^T M^T y differ by %g of %g", p->name, (double)PetscAbsScalar(one - two),
                   (double)size));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pairs of rows whose couplings differ. Scaling makes the matrix of the levels symmetric, but not that of the user */
static PetscErrorCode TestPairs(void)
{
  Mat         A;
  Vec         x, y, Mx, My;
  KSP         ksp;
  PC          pc;
  PetscScalar one, two;
  PetscInt    first, last;
  PetscBool   is;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, 40, 40, PETSC_DETERMINE, PETSC_DETERMINE, 2, NULL, 0, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    PetscCall(MatSetValue(A, row, row, 1, INSERT_VALUES));
    PetscCall(MatSetValue(A, row, row ^ 1, row % 2 ? -1e-4 : -900, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetFromOptions(A));
  PetscCall(CreateSolver(A, KSPBAI, PCBAIMG, PETSC_FALSE, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)ksp, "rows and columns scaled", &is));
  PetscCall(Expect(is, "the rows and columns of pairs are scaled"));
  PetscCall(ViewHas((PetscObject)ksp, "not for KSPCG", &is));
  PetscCall(Expect(is, "the cycle is not for KSPCG"));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &Mx));
  PetscCall(VecDuplicate(x, &My));
  for (PetscInt row = first; row < last; row++) {
    PetscCall(VecSetValue(x, row, Part(row + 3), INSERT_VALUES));
    PetscCall(VecSetValue(y, row, Part(row + 5), INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscCall(VecAssemblyBegin(y));
  PetscCall(VecAssemblyEnd(y));
  PetscCall(PCApply(pc, x, Mx));
  PetscCall(PCApplyTranspose(pc, y, My));
  PetscCall(VecTDot(Mx, y, &one));
  PetscCall(VecTDot(My, x, &two));
  PetscCall(Expect(PetscAbsScalar(one - two) <= (PetscReal)1e-10 * PetscAbsScalar(one),
                   "pairs: y^T M x and x^T M^T y are %g and %g", (double)PetscRealPart(one),
                   (double)PetscRealPart(two)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in a matrix of this type, or if it is NULL of the one that was asked for, that is scaled: a solver that is
   kept takes the iterations of a new one. The units change a little, and if grows diagonal entries grow up to six
   times */
static PetscErrorCode TestNewValues(const Problem *p, const char ksp_type[], const char pc_type[], MatType type,
                                    PetscBool grows)
{
  const Task t = {p, EACH_ROW, 4};
  Mat        A;
  Vec        b, x, d;
  KSP        ksp[2];
  PetscInt   its[2], first, last;

  PetscFunctionBeginUser;
  PetscCall(CreateSystem(&t, &A, &b));
  if (type) PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &d));
  PetscCall(CreateSolver(A, ksp_type, pc_type, PETSC_FALSE, &ksp[0]));
  PetscCall(KSPSolve(ksp[0], b, x));
  PetscCall(VecGetOwnershipRange(d, &first, &last));
  for (PetscInt row = first; row < last; row++)
    PetscCall(VecSetValue(d, row, 1 + (PetscReal)0.01 * Part(row), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(d));
  PetscCall(VecAssemblyEnd(d));
  PetscCall(MatDiagonalScale(A, d, d));
  if (grows) {
    PetscCall(MatGetDiagonal(A, x));
    for (PetscInt row = first; row < last; row++) PetscCall(VecSetValue(d, row, 5 * Part(row), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(d));
    PetscCall(VecAssemblyEnd(d));
    PetscCall(VecPointwiseMult(d, d, x));
    PetscCall(MatDiagonalSet(A, d, ADD_VALUES));
    PetscCall(VecSet(x, 0));
  }
  PetscCall(CreateSolver(A, ksp_type, pc_type, PETSC_FALSE, &ksp[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSolve(ksp[k], b, x));
    PetscCall(KSPGetIterationNumber(ksp[k], &its[k]));
    PetscCall(KSPDestroy(&ksp[k]));
  }
  PetscCall(Expect(its[0] <= its[1] + 2, "%s: %d iterations of the solver that is kept, %d of a new one", p->name,
                   (int)its[0], (int)its[1]));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PCBAI whose matrix had no units, as an entry was NaN, finds the units of later values */
static PetscErrorCode TestNaN(const Problem *p)
{
  const Task t = {p, EACH_ROW, 4};
  Mat        A, B;
  Vec        b, x;
  KSP        ksp;
  PetscInt   its[3];

  PetscFunctionBeginUser;
  PetscCall(CreateSystem(&t, &A, &b));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(CreateSolver(A, KSPCG, PCBAI, PETSC_FALSE, &ksp));
  for (int k = 0; k < 3; k++) {
    if (k == 1) {
      PetscCall(MatSetValue(A, 0, 1, (PetscScalar)NAN, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    if (k == 2) PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
    PetscCall(VecSet(x, 0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
  }
  PetscCall(Expect(its[0] == its[2], "%d iterations at first, %d after NaN", (int)its[0], (int)its[2]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a solver is asked for. On a GPU an option of PCBAIMG keeps matrices off the chip, where iterations are others */
typedef struct {
  const char *name;
  KSPType     ksp;
  PCType      pc;
} Solver;

int main(int argc, char **argv)
{
  const Solver solvers[] = {
    {"bai",   KSPBAI, PCBAIMG},
    {"baimg", KSPCG,  PCBAIMG},
    {"pcbai", KSPCG,  PCBAI  }
  };
  const Problem grid = {"grid", 40, 2, 1, 0, 0, 1, 0}, cube = {"cube", 14, 3, 1, 0, 0, 1, 0},
                jumps = {"jumps", 40, 2, (PetscReal)1e4, 0, 0, 1, 0}, negative = {"negative", 40, 2, 1, 0, 0, -1, 0},
                rough = {"rough", 80, 2, 1, 0, 0, 1, 3}, fields = {"fields", 30, 2, 1, 0, (PetscReal)0.8, 1, 0},
                wind               = {"wind", 40, 2, 1, (PetscReal)0.6, 0, 1, 0};
  const Problem *const symmetric[] = {&grid, &cube, &jumps, &rough, &negative};
  const PetscReal      close[]     = {(PetscReal)0.05, (PetscReal)0.1, (PetscReal)0.5};
  PetscMPIInt          ranks;

  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(solvers); s++) {
    const Solver   *solver = &solvers[s];
    const PetscBool levels = (PetscBool)(s < 2);

    if (Case("fields_%s", solver->name)) {
      for (PetscReal factor = (PetscReal)0.1; factor > (PetscReal)5e-6; factor /= 10) {
        PetscCall(TestWriting(&fields, TWO_UNITS, factor, solver->ksp, solver->pc, PETSC_TRUE, (PetscReal)1.1, 1));
        PetscCall(TestWriting(&fields, TWO_UNITS, factor, solver->ksp, solver->pc, PETSC_FALSE, (PetscReal)1.3, 1));
      }
    }
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(symmetric); k++) {
      const Problem *p = symmetric[k];

      if (p == &negative && s) continue; /* KSPCG is for positive definite matrices */
      if (Case("rows_%s_%s", p->name, solver->name))
        PetscCall(TestWriting(p, EACH_ROW, 4, solver->ksp, solver->pc, PETSC_TRUE, (PetscReal)1.1, 1));
      if (levels && Case("close_%s_%s", p->name, solver->name)) {
        for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(close); c++)
          PetscCall(TestWriting(p, EACH_ROW, close[c], solver->ksp, solver->pc, PETSC_TRUE, (PetscReal)1.1, 1));
      }
      if (Case("halves_%s_%s", p->name, solver->name))
        PetscCall(TestWriting(p, TWO_UNITS, (PetscReal)1e4, solver->ksp, solver->pc, PETSC_TRUE, (PetscReal)1.1,
                              ranks > 1 ? 2 : 1)); /* more iterations: pairs of rows instead of boxes, cut by ranks */
    }
    if (Case("values_%s", solver->name)) PetscCall(TestNewValues(&cube, solver->ksp, solver->pc, NULL, PETSC_FALSE));
    if (Case("values_%s_baij", solver->name))
      PetscCall(TestNewValues(&cube, solver->ksp, solver->pc, MATBAIJ, PETSC_TRUE));
    if (levels && Case("coupled_%s", solver->name)) PetscCall(TestCoupled(solver->ksp, solver->pc));
    if (levels && Case("mixed_%s", solver->name)) PetscCall(TestMixed(solver->ksp, solver->pc, 1));
    if (levels && Case("step_%s", solver->name)) PetscCall(TestStep(solver->ksp, solver->pc));
    if (levels && Case("zeros_%s", solver->name)) {
      PetscCall(TestWriting(&grid, ZEROS, 1, solver->ksp, solver->pc, PETSC_FALSE, 1, 1));
      PetscCall(TestWriting(&cube, ZEROS, 1, solver->ksp, solver->pc, PETSC_FALSE, 1, 1));
    }
    if (levels && Case("shuffled_%s", solver->name))
      PetscCall(TestWriting(&grid, SHUFFLED, 1, solver->ksp, solver->pc, PETSC_FALSE, (PetscReal)1.8, 2));
  }
  if (Case("mixed_units_baimg")) PetscCall(TestMixed(KSPGMRES, PCBAIMG, (PetscReal)1e3));
  if (Case("sides_bai")) PetscCall(TestWriting(&wind, BOTH_SIDES, 4, KSPBAI, PCBAIMG, PETSC_FALSE, (PetscReal)1.5, 1));
  if (Case("close_wind_bai")) {
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(close); c++)
      PetscCall(TestWriting(&wind, BOTH_SIDES, close[c], KSPBAI, PCBAIMG, PETSC_FALSE, (PetscReal)1.5, 1));
  }
  if (Case("halves_wind_bai"))
    PetscCall(TestWriting(&wind, TWO_UNITS, (PetscReal)1e6, KSPBAI, PCBAIMG, PETSC_FALSE, (PetscReal)1.5, 1));
  if (Case("sides_baimg"))
    PetscCall(TestWriting(&wind, BOTH_SIDES, 4, KSPFGMRES, PCBAIMG, PETSC_FALSE, (PetscReal)1.5, 1));
  if (Case("growth")) {
    PetscCall(TestGrowth(&grid, EACH_ROW));
    PetscCall(TestGrowth(&wind, BOTH_SIDES));
  }
  if (Case("transposed_baimg")) {
    PetscCall(TestTransposed(&grid, EACH_ROW, PCBAIMG));
    PetscCall(TestTransposed(&wind, BOTH_SIDES, PCBAIMG));
  }
  if (Case("pairs")) PetscCall(TestPairs());
  if (Case("nan_pcbai")) PetscCall(TestNaN(&grid));
  if (Case("transposed_pcbai")) PetscCall(TestTransposed(&grid, EACH_ROW, PCBAI));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      timeoutfactor: 4
      test:
         suffix: host
         args: -case {{fields rows,halves close values,coupled,mixed,step,zeros,shuffled,sides,transposed,growth,nan}}
      test:
         suffix: ranks
         nsize: {{2 3}}
         args: -case \
               fields_bai,rows_cube,close_cube,halves_grid,values_bai,coupled,mixed,step,zeros,shuffled,sides,growth
      test:
         suffix: cuda
         requires: baicuda cuda
         args: -mat_type aijcusparse -pc_baimg_local_iters 4
      test:
         suffix: cuda_ranks
         nsize: 2
         requires: baicuda cuda
         args: -mat_type aijcusparse -pc_baimg_gather false \
               -case fields_bai,rows_cube,close_cube,coupled,mixed,zeros,shuffled,sides

TEST*/
