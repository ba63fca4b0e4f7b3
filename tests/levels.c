static char help[] =
  "Many levels: the cycle of PCBAIMG is a symmetric positive definite operator, iterations hardly grow "
  "with size, every claim is true, and what users may do with PCBAIMG and KSPBAI.\n\n";

#include "check.h"
#include "gallery.h"

enum {
  MODES_MOST = 8 /* vectors of a near null space */
};

static PetscReal rtol = 1e-10;

/* What CreateMat() makes beside the gallery's: all on n x n points, but those of 3-D on n x n x n */
typedef enum {
  NINE,    /* nine points */
  JUMPS,   /* coefficients of 1 and 10^6 on a checkerboard of squares of 8 points */
  JUMPS3D, /* the same on cubes */
  NEUMANN, /* no boundary values, so constants are in the null space */
  NEUMANN3D,
  FLOW,     /* upwind convection, not symmetric */
  SHIFTED,  /* symmetric and indefinite, with a positive diagonal */
  PINNED,   /* every seventh point is coupled to no other */
  TWISTED,  /* complex: D A D^H for a diagonal matrix D of unit entries; else A */
  SCALED,   /* D A D for a diagonal matrix D of 1 and 3 in stripes: some sums of rows are negative */
  POSITIVE, /* some couplings are positive, as of finite elements on tetrahedra, */
  OPPOSED,  /* or half as many, by their sums, as are negative */
  GRADED,   /* cells of a tensor grid, in each direction 3 per cent longer than the one before */
  POOR      /* rows dominate: nothing to aggregate */
} Kind;

static const char *const kinds[] = {"nine",   "jumps",   "jumps3d", "neumann",  "neumann3d", "flow",   "shifted",
                                    "pinned", "twisted", "scaled",  "positive", "opposed",   "graded", "poor"};

static PetscReal CoefficientAt(Kind kind, const PetscInt at[3])
{
  if (kind != JUMPS && kind != JUMPS3D) return 1;
  return (at[0] / 8 + at[1] / 8 + at[2] / 8) % 2 ? (PetscReal)1e6 : 1;
}

/* Of two cells of a graded grid that are neighbours in direction d: the area between them over the distance */
static PetscReal GradedCoupling(PetscInt dim, const PetscInt at[3], PetscInt d, PetscReal step)
{
  PetscReal area = 1;

  for (PetscInt e = 0; e < dim; e++)
    if (e != d) area *= PetscPowReal((PetscReal)1.03, (PetscReal)at[e]);
  return area / PetscPowReal((PetscReal)1.03, (PetscReal)at[d] + step / 2);
}

static PetscBool IsPinned(Kind kind, PetscInt row)
{
  return (PetscBool)(kind == PINNED && row % 7 == 3);
}

static PetscScalar Phase(Kind kind, PetscInt row, PetscInt col)
{
#if defined(PETSC_USE_COMPLEX)
  if (kind == TWISTED) return PetscExpComplex(PETSC_i * (PetscReal)0.3 * (PetscReal)(row - col));
#endif
  (void)kind;
  (void)row;
  (void)col;
  return 1;
}

static PetscErrorCode SetRow(Mat A, Kind kind, PetscInt n, PetscInt dim, PetscInt row)
{
  const PetscInt at[3] = {row % n, row / n % n, row / n / n}, stride[3] = {1, n, n * n};
  PetscInt       cols[19], ncols                                        = 1;
  PetscScalar    values[19];
  PetscReal      sum = 0;

  PetscFunctionBeginUser;
  cols[0] = row;
  for (PetscInt d = 0; d < dim; d++) {
    for (PetscInt step = -1; step <= 1; step += 2) {
      const PetscBool inside   = (PetscBool)(at[d] + step >= 0 && at[d] + step < n);
      PetscInt        other[3] = {at[0], at[1], at[2]};
      PetscReal       here     = CoefficientAt(kind, at), w, there;

      other[d] += step;
      there = inside ? CoefficientAt(kind, other) : here;
      w     = 2 * here * there / (here + there);
      if (kind == FLOW && step < 0) w += 3;
      if (kind == GRADED) w = GradedCoupling(dim, at, d, (PetscReal)step);
      if (!inside && (kind == NEUMANN || kind == NEUMANN3D)) continue;
      sum += w;
      if (!inside || IsPinned(kind, row + step * stride[d])) continue;
      cols[ncols]     = row + step * stride[d];
      values[ncols++] = -w * Phase(kind, row, row + step * stride[d]);
    }
  }
  for (PetscInt corner = 0; corner < 4 && kind == NINE; corner++) {
    const PetscInt x = at[0] + (corner % 2 ? 1 : -1), y = at[1] + (corner / 2 ? 1 : -1);

    sum += 1;
    if (x < 0 || x >= n || y < 0 || y >= n) continue;
    cols[ncols]     = y * n + x;
    values[ncols++] = -1;
  }
  for (PetscInt across = 0; across < 12 && (kind == POSITIVE || kind == OPPOSED); across++) {
    const PetscReal w = kind == POSITIVE ? (PetscReal)0.04 : (PetscReal)0.2;
    const PetscInt  d = across / 4, e = (d + 1) % 3, x = across % 2 ? 1 : -1, y = across / 2 % 2 ? 1 : -1;

    sum -= w;
    if (at[d] + x < 0 || at[d] + x >= n || at[e] + y < 0 || at[e] + y >= n) continue;
    cols[ncols]     = row + x * stride[d] + y * stride[e];
    values[ncols++] = w;
  }
  values[0] = kind == SHIFTED ? sum - 1 : sum;
  if (IsPinned(kind, row)) ncols = 1;
  for (PetscInt k = 0; k < ncols && kind == SCALED; k++)
    values[k] *= (row % n / 8 % 2 ? 3 : 1) * (cols[k] % n / 8 % 2 ? 3 : 1);
  PetscCall(MatSetValues(A, 1, &row, ncols, cols, values, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetPoorRow(Mat A, PetscInt n, PetscInt row)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < 8; k++) {
    const PetscInt    half = n / 2, other = row < half ? half + (row + k * 37) % half : PETSC_DECIDE;
    const PetscScalar value = (PetscScalar)-0.01;

    if (other < 0 || other >= n) continue;
    PetscCall(MatSetValues(A, 1, &row, 1, &other, &value, INSERT_VALUES));
    PetscCall(MatSetValues(A, 1, &other, 1, &row, &value, INSERT_VALUES));
  }
  PetscCall(MatSetValue(A, row, row, 100.0, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatOn(MPI_Comm comm, const char name[], PetscInt n, Mat *A)
{
  PetscBool same = PETSC_FALSE;
  PetscInt  kind = 0, rows, start, end, dim;

  PetscFunctionBeginUser;
  for (; kind < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(kinds); kind++) {
    PetscCall(PetscStrcmp(name, kinds[kind], &same));
    if (same) break;
  }
  if (!same) {
    PetscCall(GalleryCreateMat(comm, name, n, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  dim  = kind == JUMPS3D || kind == NEUMANN3D || kind == POSITIVE || kind == OPPOSED ? 3 : 2;
  rows = dim == 3 ? n * n * n : n * n;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, rows));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 19, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 19, NULL, 19, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    if (kind == POOR) PetscCall(SetPoorRow(*A, rows, row));
    else PetscCall(SetRow(*A, (Kind)kind, n, dim, row));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (kind == NEUMANN || kind == NEUMANN3D) {
    MatNullSpace space;

    PetscCall(MatNullSpaceCreate(comm, PETSC_TRUE, 0, NULL, &space));
    PetscCall(MatSetNullSpace(*A, space));
    PetscCall(MatNullSpaceDestroy(&space));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMat(const char name[], PetscInt n, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(CreateMatOn(PETSC_COMM_WORLD, name, n, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of numbers between -1 and 1, the same every time for a seed */
static PetscErrorCode SetNoise(Vec v, unsigned long seed)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PetscObjectComm((PetscObject)v), &random));
  PetscCall(PetscRandomSetSeed(random, seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(PetscRandomSetInterval(random, PetscDefined(USE_COMPLEX) ? -1.0 - PETSC_i : -1.0,
                                   PetscDefined(USE_COMPLEX) ? 1.0 + PETSC_i : 1.0));
  PetscCall(VecSetRandom(v, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Mat A, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetType(*pc, PCBAIMG));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rounding may do to a cycle: levels may be in single precision */
static PetscErrorCode RoundingOf(PC pc, PetscReal *rounding)
{
  PetscBool single;

  PetscFunctionBeginUser;
  PetscCall(ViewHas((PetscObject)pc, "levels in single precision", &single));
  *rounding = single || PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-4 : (PetscReal)1e-11;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x^H M y = conj(y^H M x), x^H M x > 0, M (x + y) = M x + M y, and M r is small for the r of rounding */
static PetscErrorCode TestOperator(const char name[], PetscInt n)
{
  Mat         A;
  PC          pc;
  Vec         x, y, Mx, My, r;
  PetscScalar xMy, yMx, xMx;
  PetscReal   rounding = 0, size, norm;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(RoundingOf(pc, &rounding));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &Mx));
  PetscCall(VecDuplicate(x, &My));
  PetscCall(VecDuplicate(x, &r));
  for (unsigned long seed = 1; seed <= 3; seed++) {
    PetscCall(SetNoise(x, seed));
    PetscCall(SetNoise(y, 10 + seed));
    if (seed == 3) PetscCall(VecSet(x, 1.0)); /* smooth, where coarse levels matter */
    PetscCall(PCApply(pc, x, Mx));
    PetscCall(PCApply(pc, y, My));
    PetscCall(VecDot(My, x, &xMy)); /* x^H M y */
    PetscCall(VecDot(Mx, y, &yMx));
    PetscCall(VecDot(Mx, x, &xMx));
    PetscCall(VecNorm(x, NORM_2, &size));
    PetscCall(VecNorm(My, NORM_2, &norm));
    PetscCall(Expect(PetscAbsScalar(xMy - PetscConj(yMx)) <= 10 * rounding * size * norm,
                     "x^H M y = %g and conj(y^H M x) = %g are the same", (double)PetscRealPart(xMy),
                     (double)PetscRealPart(yMx)));
    PetscCall(Expect(PetscRealPart(xMx) > 0 && PetscAbsReal(PetscImaginaryPart(xMx)) <= rounding * PetscRealPart(xMx),
                     "x^H M x = %g + %gi is positive", (double)PetscRealPart(xMx), (double)PetscImaginaryPart(xMx)));
    PetscCall(PCApplyTranspose(pc, x, r)); /* conj(M) x */
    PetscCall(VecConjugate(x));
    PetscCall(PCApply(pc, x, Mx));
    PetscCall(VecConjugate(Mx));
    PetscCall(VecNorm(Mx, NORM_2, &size));
    PetscCall(VecAXPY(r, -1.0, Mx));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(
      Expect(norm <= rounding * size, "the transpose is the conjugate but for %g of %g", (double)norm, (double)size));
    PetscCall(VecConjugate(x));
    PetscCall(PCApply(pc, x, Mx));
    PetscCall(VecAXPY(x, 1.0, y));
    PetscCall(PCApply(pc, x, r));
    PetscCall(VecNorm(r, NORM_2, &size));
    PetscCall(VecAXPY(r, -1.0, Mx));
    PetscCall(VecAXPY(r, -1.0, My));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(Expect(norm <= 10 * rounding * size, "the cycle is linear but for %g of %g", (double)norm, (double)size));
  }
  PetscCall(SetNoise(x, 7)); /* b - A x is zero but for rounding, so x stays */
  PetscCall(MatMult(A, x, y));
  PetscCall(MatResidual(A, y, x, r));
  PetscCall(PCApply(pc, r, Mx));
  PetscCall(VecNorm(x, NORM_2, &size));
  PetscCall(VecNorm(Mx, NORM_2, &norm));
  PetscCall(
    Expect(norm <= (PetscReal)1e-8 * size, "the solution of norm %g is kept, but for %g", (double)size, (double)norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscCall(VecDestroy(&r));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* levels: of KSPBAI, at most */
static PetscErrorCode CreateKSP(Mat A, KSPType type, PetscInt levels, KSP *ksp)
{
  PC        pc;
  PetscBool is_bai;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(type, KSPBAI, &is_bai));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  if (!is_bai || levels != PETSC_DECIDE) {
    PetscCall(KSPGetPC(*ksp, &pc));
    PetscCall(PCSetType(pc, PCBAIMG));
    if (is_bai) PetscCall(PCBAIMGSetLevels(pc, levels));
  }
  if (is_bai && levels != PETSC_DECIDE) PetscCall(KSPBAISetMethod(*ksp, BAI_METHOD_KRYLOV));
  if (!is_bai) {
    PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetPCSide(*ksp, !strcmp(type, KSPCG) || !strcmp(type, KSPRICHARDSON) ? PC_LEFT : PC_RIGHT));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves for b = 1, or, where constants are in the null space, something else; its is -1 if it did not converge, and a
 * claim that it has is true */
static PetscErrorCode Solve(KSP ksp, PetscInt *its)
{
  Mat                A;
  Vec                b, x;
  MatNullSpace       space;
  KSPConvergedReason reason;
  PetscReal          rnorm, bnorm, claimed;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(MatGetNullSpace(A, &space));
  if (space) PetscCall(SetNoise(b, 5));
  if (space) PetscCall(MatNullSpaceRemove(space, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason > 0) {
    PetscCall(TrueResidualNorm(A, b, x, &rnorm));
    PetscCall(VecNorm(b, NORM_2, &bnorm));
    PetscCall(KSPGetResidualNorm(ksp, &claimed));
    PetscCall(Expect(rnorm <= (PetscReal)1.01 * rtol * bnorm + 20 * PETSC_MACHINE_EPSILON * bnorm,
                     "||b - A x|| = %g ||b|| after %d iterations, %g was claimed", (double)(rnorm / bnorm), (int)*its,
                     (double)(claimed / bnorm)));
  } else *its = -1;
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of KSPBAI and of CG with PCBAIMG: at most so many at all sizes, and at most 3 more on the last; a second
 * solve has as many as the first */
static PetscErrorCode TestIterations(const char name[], PetscInt small, PetscInt large, PetscInt most, PetscInt growth)
{
  const PetscInt  size[] = {small, large};
  const PetscBool jumps  = (PetscBool)!strncmp(name, "jumps",
                                               5); /* b - A x is no more exact than 1e-6 with such entries */
  PetscInt        its[2], again, cg;
  PetscBool       table = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-table", &table, NULL));
  if (jumps) rtol = (PetscReal)1e-6;
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
    PetscCall(CreateKSP(A, KSPCG, 0, &ksp));
    PetscCall(Solve(ksp, &cg));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Expect(cg >= 0 && cg <= its[k] + (jumps ? 8 : 2), "size %d: %d iterations, %d with KSPCG", (int)size[k],
                     (int)its[k], (int)cg));
    if (table)
      PetscCall(
        PetscPrintf(PETSC_COMM_WORLD, "%-12s %6d  bai %3d  cg+baimg %3d\n", name, (int)size[k], (int)its[k], (int)cg));
    PetscCall(MatDestroy(&A));
  }
  rtol = (PetscReal)1e-10;
  PetscCall(Expect(its[1] <= its[0] + growth, "%d iterations at size %d, %d at size %d", (int)its[0], (int)size[0],
                   (int)its[1], (int)size[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A_ij times (1 + a part of i and j in turns): other values in the same pattern, still symmetric */
static PetscErrorCode ChangeValues(Mat A, PetscReal part)
{
  Vec      d;
  PetscInt start, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(VecGetOwnershipRange(d, &start, &end));
  for (PetscInt row = start; row < end; row++)
    PetscCall(VecSetValue(d, row, 2 + part * (PetscReal)(row % 3), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(d));
  PetscCall(VecAssemblyEnd(d));
  PetscCall(MatDiagonalScale(A, d, d));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in an old pattern: the cycle is that of a fresh set-up */
static PetscErrorCode TestValues(const char name[], PetscInt n)
{
  Mat       A;
  PC        pc, fresh;
  Vec       r, z, w;
  PetscReal rounding = 0, norm, size, updates, setups;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(RoundingOf(pc, &rounding));
  /* those of elasticity, which are matched, would have other aggregates if they were not all multiplied alike */
  PetscCall(ChangeValues(A, strcmp(name, "elasticity") ? (PetscReal)0.01 : 0));
  PetscCall(PCSetUp(pc));
  PetscCall(CreatePC(A, &fresh));
  PetscCall(MatCreateVecs(A, &r, &z));
  PetscCall(VecDuplicate(r, &w));
  PetscCall(SetNoise(r, 3));
  PetscCall(PCApply(pc, r, z));
  PetscCall(PCApply(fresh, r, w));
  PetscCall(VecNorm(w, NORM_2, &size));
  PetscCall(VecAXPY(w, -1.0, z));
  PetscCall(VecNorm(w, NORM_2, &norm));
  PetscCall(Expect(norm <= rounding * size, "with new values a cycle differs from that of a fresh set-up by %g of %g",
                   (double)norm, (double)size));
  PetscCall(ViewedNumber((PetscObject)pc, "value updates ", &updates));
  PetscCall(Expect(updates == 1, "%g value updates", (double)updates));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewedNumber((PetscObject)pc, "value updates ", &updates));
  PetscCall(Expect(updates == 1, "the same matrix in the same state: %g value updates", (double)updates));
  PetscCall(ViewedNumber((PetscObject)pc, "set-ups ", &setups));
  PetscCall(PCBAIMGSetLevels(pc, 2));
  PetscCall(PCApply(pc, r, z));
  PetscCall(ViewedNumber((PetscObject)pc, "set-ups ", &updates));
  PetscCall(
    Expect(updates == setups + 1, "another number of levels: %g set-ups, %g before", (double)updates, (double)setups));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(PCDestroy(&pc));
  PetscCall(PCDestroy(&fresh));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPBAI takes values that have changed in place, and another matrix */
static PetscErrorCode TestChanges(void)
{
  Mat      A, B;
  KSP      ksp;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(CreateMat("fv1", 31, &B));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0, "converges"));
  PetscCall(ChangeValues(A, (PetscReal)0.02));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 20, "with new values %d iterations", (int)its));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 20, "with another matrix %d iterations", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 5 points on n x n, coupled more strongly in one direction */
static PetscErrorCode SetDirections(Mat A, PetscInt n, PetscReal x, PetscReal y)
{
  PetscFunctionBeginUser;
  for (PetscInt row = 0; row < n * n; row++) {
    const PetscInt i = row % n, j = row / n;

    PetscCall(MatSetValue(A, row, row, 2 * (x + y), INSERT_VALUES));
    if (i) PetscCall(MatSetValue(A, row, row - 1, -x, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(A, row, row + 1, -x, INSERT_VALUES));
    if (j) PetscCall(MatSetValue(A, row, row - n, -y, INSERT_VALUES));
    if (j < n - 1) PetscCall(MatSetValue(A, row, row + n, -y, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values for which the aggregates are the wrong ones: there are others at once */
static PetscErrorCode TestOutdated(void)
{
  const PetscInt n = 60;
  Mat            A;
  KSP            ksp;
  PetscInt       first, second;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(SetDirections(A, n, 1000, 1));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &first));
  PetscCall(SetDirections(A, n, 1, 1000));
  PetscCall(Solve(ksp, &second));
  PetscCall(Expect(first > 0 && second > 0 && second <= first + 3, "%d iterations, %d when the direction has turned",
                   (int)first, (int)second));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Levels of a matrix that is gone do what they did, for vectors on the host too */
static PetscErrorCode TestReused(void)
{
  const PetscInt n = 100; /* levels are distributed, if there are several ranks */
  Mat            A;
  PC             pc;
  Vec            r, z, host, again;
  PetscInt       local;
  PetscReal      error, size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", n, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(MatCreateVecs(A, &z, &r));
  PetscCall(SetNoise(r, 1));
  PetscCall(PCApply(pc, r, z));
  PetscCall(VecNorm(z, NORM_2, &size));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMat("nine", n, &A));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(VecGetLocalSize(r, &local));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &host));
  PetscCall(VecSetSizes(host, local, n * n));
  PetscCall(VecSetType(host, VECSTANDARD));
  PetscCall(VecDuplicate(host, &again));
  PetscCall(VecCopy(r, host));
  PetscCall(PCApply(pc, host, again));
  PetscCall(VecAXPY(again, -1.0, z));
  PetscCall(VecNorm(again, NORM_2, &error));
  PetscCall(Expect(error <= 100 * PETSC_MACHINE_EPSILON * size, "levels of the matrix before, to %g of %g",
                   (double)error, (double)size));
  PetscCall(VecDestroy(&again));
  PetscCall(VecDestroy(&host));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&r));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKrylov(const char name[], PetscInt n, KSPType type, PetscInt most)
{
  Mat      A;
  KSP      ksp;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(CreateKSP(A, type, 0, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its >= 0 && its <= most, "%d iterations of %s", (int)its, type));
  PetscCall(KSPDestroy(&ksp));
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

/* A solver that goes on with another matrix, and another method, lets go of the one before */
static PetscErrorCode TestChangesMatrix(void)
{
  KSP      ksp;
  Mat      A, B;
  Vec      b, x;
  PetscInt references;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "convection2d", 20, &A));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 20, &B));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscObjectGetReference((PetscObject)A, &references));
  PetscCall(Expect(references == 1, "%d references of a matrix that is solved with no longer", (int)references));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestNonsymmetric(void)
{
  Mat       A;
  KSP       ksp;
  PC        pc;
  PetscInt  its;
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("flow", 40, &A));
  PetscCall(CreateKSP(A, KSPBAI, 4, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)ksp, "KSP type fbcgs, preconditioned by the PC", &has));
  PetscCall(Expect(has, "the view names the Krylov method"));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 60, "%d iterations", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreatePC(A, &pc));
  PetscCall(ViewHas((PetscObject)pc, "with diagonal entries of one sign: not for KSPCG", &has));
  PetscCall(Expect(has, "the view says that it is not for KSPCG"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UsesLevels(KSP ksp, const char what[], PetscBool expected)
{
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)ksp, "conjugate gradients, preconditioned by the cycle of the PC", &has));
  PetscCall(Expect(has == expected, "%s: levels are%s used", what, has ? "" : " not"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With auto: levels, or on a GPU the chip, unless something asks for relaxation */
static PetscErrorCode TestAuto(void)
{
  const PetscInt large = 600; /* more rows than a GPU keeps on the chip */
  Mat            A, B;
  KSP            ksp;
  PetscInt       its;
  PetscBool      chip, cuda;
  BAIBackend     backend;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", large, &A));
  PetscCall(CreateMat("laplace2d", 60, &B));
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(UsesLevels(ksp, "a large matrix", PETSC_TRUE));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 20, "%d iterations", (int)its));
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_RELAXATION));
  PetscCall(KSPSetOperators(ksp, A, A)); /* so that KSPSetUp() looks */
  PetscCall(UsesLevels(ksp, "method relaxation", PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(B, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)ksp, "on the chip, in one launch", &chip));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)B, &cuda, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscCall(KSPBAIGetBackend(ksp, &backend));
  cuda = (PetscBool)(cuda || backend == BAI_BACKEND_CUDA);
  PetscCall(Expect(chip == (PetscBool)(cuda && !PetscDefined(USE_COMPLEX)), "a small matrix is%s on the chip",
                   chip ? "" : " not"));
  if (!chip) PetscCall(UsesLevels(ksp, "a small matrix", PETSC_TRUE));
  PetscCall(KSPDestroy(&ksp));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
    PetscCall(KSPBAISetMode(ksp, (BAIMode)mode));
    PetscCall(UsesLevels(ksp, BAIModes[mode], PETSC_FALSE));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(UsesLevels(ksp, "a fixed number of iterations", PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(CreateMat("flow", large, &A));
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 100, "%d iterations if it is not symmetric", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMat("poor", large, &A));
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 100, "%d iterations with nothing to aggregate", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is not positive definite: conjugate gradients find out while they solve, another method goes on, and so
 * it is from then on; no claim is wrong */
static PetscErrorCode TestIndefinite(PetscInt n, PetscInt levels)
{
  Mat      A;
  KSP      ksp;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("shifted", n, &A));
  PetscCall(CreateKSP(A, KSPBAI, levels, &ksp));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 20));
  PetscCall(UsesLevels(ksp, "before the solve", PETSC_TRUE));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its < 0, "does not converge, %d", (int)its));
  PetscCall(UsesLevels(ksp, "after the solve", PETSC_FALSE));
  PetscCall(Solve(ksp, &its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Laplacian of a binary tree without its root: positive definite, but the cycle is not while couplings of coarse
   levels are softened. CG goes on without that */
static PetscErrorCode TestTree(PetscInt n)
{
  Mat      A;
  KSP      ksp;
  PetscInt its, start, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = start; row < end; row++) { /* the children of a node are twice its number and the next one */
    const PetscInt node = row + 2, near[] = {node / 2, 2 * node, 2 * node + 1};
    PetscInt       count = 0;

    for (int k = 0; k < 3; k++) {
      if (near[k] >= n + 2) continue;
      count++;
      if (near[k] >= 2) PetscCall(MatSetValue(A, row, near[k] - 2, -1.0, INSERT_VALUES));
    }
    PetscCall(MatSetValue(A, row, row, (PetscScalar)count, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  for (int again = 0; again < 2; again++) {
    PetscCall(Solve(ksp, &its));
    PetscCall(Expect(its > 0 && its <= 60, "%d iterations", (int)its));
    PetscCall(UsesLevels(ksp, "after a solve", PETSC_TRUE));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is found out of values that are not positive definite is of these values alone */
static PetscErrorCode TestDefiniteAgain(void)
{
  Mat      A;
  KSP      ksp;
  PetscInt its, first;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &first));
  PetscCall(MatShift(A, -0.5));
  PetscCall(Solve(ksp, &its));
  PetscCall(UsesLevels(ksp, "not positive definite", PETSC_FALSE));
  PetscCall(MatShift(A, 0.5));
  PetscCall(Solve(ksp, &its));
  PetscCall(UsesLevels(ksp, "positive definite again", PETSC_TRUE));
  PetscCall(Expect(its == first, "%d iterations, and %d before", (int)its, (int)first));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal entry that is not a number, or infinite, is a reason and no error, and is forgotten when it is gone */
static PetscErrorCode TestNotFinite(KSPType type, KSPConvergedReason expected, PetscReal bad)
{
  const PetscInt     row = 5;
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  PetscInt           its, start, end;
  PetscBool          mine;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  mine = (PetscBool)(start <= row && row < end);
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CreateKSP(A, type, 32, &ksp));
  for (int again = 0; again < 2; again++) {
    if (mine) PetscCall(MatSetValue(A, row, row, (PetscScalar)bad, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Expect(reason == expected && its == 0, "%g: %s after %d iterations", (double)bad,
                     KSPConvergedReasons[reason], (int)its));
    PetscCall(KSPSolveTranspose(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Expect(reason == expected, "%g, transposed: %s", (double)bad, KSPConvergedReasons[reason]));
    if (mine) PetscCall(MatSetValue(A, row, row, 4.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, &its));
    PetscCall(Expect(its > 0, "it converges with a number again"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A least number of iterations is done, where this PETSc knows of it */
static PetscErrorCode TestLeastIterations(void)
{
  const PetscInt least = 12;
  Mat            A;
  KSP            ksp;
  Vec            b, x;
  PetscInt       its;
  PetscBool      knows;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(PetscOptionsSetValue(NULL, "-ksp_min_it", "12"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscOptionsUsed(NULL, "ksp_min_it", &knows));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_min_it"));
  PetscCall(KSPSetTolerances(ksp, 1e-2, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Expect(knows ? its == least : its < least, "%d iterations, %d at least", (int)its, knows ? (int)least : 0));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is scaled between set-up and solve, as PETSc may do, has levels of its own */
static PetscErrorCode TestScaledAfterwards(void)
{
  Mat      A;
  Vec      d;
  KSP      ksp;
  PetscInt its, first;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &first));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(SetNoise(d, 3));
  PetscCall(VecAbs(d));
  PetscCall(VecScale(d, 10.0));
  PetscCall(VecExp(d));
  PetscCall(MatDiagonalScale(A, d, d));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(VecReciprocal(d));
  PetscCall(MatDiagonalScale(A, d, d));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(PetscAbsInt(its - first) <= 1, "%d iterations, and %d of a new KSP", (int)its, (int)first));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a monitor saw: each norm is that of the x there is, and it is the next iteration's */
typedef struct {
  PetscInt  calls;
  PetscBool in_order, right;
  PetscReal bnorm;
} Seen;

static PetscErrorCode See(KSP ksp, PetscInt its, PetscReal rnorm, void *ctx)
{
  Seen     *seen = (Seen *)ctx;
  Mat       A;
  Vec       b, x;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(KSPBuildSolution(ksp, NULL, &x));
  PetscCall(TrueResidualNorm(A, b, x, &norm));
  if (its != seen->calls++) seen->in_order = PETSC_FALSE;
  if (PetscAbsReal(norm - rnorm) > (PetscReal)1e-9 * seen->bnorm) seen->right = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StopAtFour(PETSC_UNUSED KSP ksp, PetscInt its, PETSC_UNUSED PetscReal rnorm,
                                 KSPConvergedReason *reason, PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  *reason = its >= 4 ? KSP_CONVERGED_ITS : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestWatched(void)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  PetscInt           alone, its, length;
  const PetscReal   *history;
  PetscReal          rnorm;
  Seen               seen = {0, PETSC_TRUE, PETSC_TRUE, 0};
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &alone));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecNorm(b, NORM_2, &seen.bnorm));
  PetscCall(KSPMonitorSet(ksp, See, &seen, NULL));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualHistory(ksp, (const PetscReal **)&history, &length));
  PetscCall(KSPGetResidualNorm(ksp, &rnorm));
  PetscCall(Expect(its == alone, "%d iterations when watched, %d alone", (int)its, (int)alone));
  PetscCall(Expect(seen.calls == its + 1 && length == its + 1,
                   "%d calls of the monitor, %d norms in the history, %d iterations", (int)seen.calls, (int)length,
                   (int)its));
  PetscCall(Expect(seen.in_order && seen.right, "the monitor saw %s, and norms that are %s",
                   seen.in_order ? "each iteration" : "iterations out of order", seen.right ? "true" : "not true"));
  PetscCall(Expect(length > 0 && PetscAbsReal(history[0] - seen.bnorm) <= (PetscReal)1e-12 * seen.bnorm &&
                     PetscAbsReal(history[length - 1] - rnorm) <= (PetscReal)1e-3 * rnorm,
                   "the history goes from %g to %g, and ||b|| = %g, ||r|| = %g", (double)history[0],
                   (double)history[length - 1], (double)seen.bnorm, (double)rnorm));
  PetscCall(KSPMonitorCancel(ksp));
  PetscCall(KSPSetConvergenceTest(ksp, StopAtFour, NULL, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(
    Expect(its == 4 && reason == KSP_CONVERGED_ITS, "a test of one's own ends it after %d iterations", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A good guess saves iterations, the solution needs none, and tolerances are relative to ||b|| */
static PetscErrorCode TestGuess(void)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x, noise;
  PetscInt           zero, near, none;
  PetscReal          rnorm, bnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &zero));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &noise));
  PetscCall(SetNoise(noise, 2));
  PetscCall(SetNoise(x, 1));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecAXPY(x, 1e-5, noise));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &near));
  PetscCall(TrueResidualNorm(A, b, x, &rnorm));
  PetscCall(Expect(rnorm <= (PetscReal)1.01 * rtol * bnorm && near > 0 && near < zero,
                   "%d iterations from a good guess, %d from zero", (int)near, (int)zero));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &none));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Expect(none == 0 && reason == KSP_CONVERGED_RTOL, "%d iterations from the solution, %s", (int)none,
                   KSPConvergedReasons[reason]));
  PetscCall(VecSet(b, 0.0));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &none));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecNorm(x, NORM_INFINITY, &rnorm));
  PetscCall(
    Expect(none == 0 && reason > 0 && rnorm == 0, "b = 0: %d iterations, %s", (int)none, KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&noise));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What x was before a solve from zero does not matter, also where new values ask for another method */
static PetscErrorCode TestUnread(PetscInt levels)
{
  Mat       A;
  KSP       ksp;
  Vec       b, x, y;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 24, &A));
  PetscCall(CreateKSP(A, KSPBAI, levels, &ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SetNoise(b, 1));
  for (int values = 0; values < 3; values++) {
    if (values) PetscCall(MatShift(A, values == 1 ? -1.0 : 3.0)); /* indefinite, and positive definite again */
    for (int k = 0; k < 3; k++) { /* the first solve may find out which method it takes */
      PetscCall(VecSet(k % 2 ? y : x, k % 2 ? (PetscReal)1e30 : 0));
      PetscCall(KSPSolve(ksp, b, k % 2 ? y : x));
    }
    PetscCall(VecEqual(x, y, &equal));
    PetscCall(Expect(equal, "values %d: x is another one after solves from zero", values));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecSet(b, 0.0));
      PetscCall(VecSet(x, (PetscReal)1e30));
      PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, k ? 2000 : 0));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(VecSet(y, 0.0));
      PetscCall(VecEqual(x, y, &equal));
      PetscCall(Expect(equal, "values %d: b is zero, and x is not", values));
      PetscCall(SetNoise(b, 1));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many iterations as allowed, and no more, from zero and from a guess; that may be enough */
static PetscErrorCode TestMaxIt(const char name[], PetscInt n, PetscInt levels)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CreateKSP(A, KSPBAI, levels, &ksp));
  for (int how = 0; how < 4; how++) {
    const int                guess = how % 2, enough = how / 2;
    const KSPConvergedReason expected = enough ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;

    PetscCall(KSPConvergedDefaultSetConvergedMaxits(ksp, (PetscBool)enough));
    PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)guess));
    for (PetscInt max_it = 0; max_it < 4; max_it++) {
      PetscCall(VecSet(x, 0.5));
      PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, max_it));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(Expect(its == max_it && reason == expected, "%s, max_it %d, guess %d: %d iterations, %s", name,
                       (int)max_it, guess, (int)its, KSPConvergedReasons[reason]));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reasons for which a solve ends without converging, and a fixed number of iterations */
static PetscErrorCode TestReasons(void)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  PetscInt           its;
  PetscReal          rnorm, bnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 64, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 3));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Expect(its == 3 && reason == KSP_DIVERGED_ITS, "max_it 3: %d iterations, %s", (int)its,
                   KSPConvergedReasons[reason]));
  PetscCall(KSPSetTolerances(ksp, 1e-30, 1e-80, PETSC_DEFAULT, 500));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TrueResidualNorm(A, b, x, &rnorm));
  PetscCall(Expect(reason == KSP_DIVERGED_BREAKDOWN && rnorm <= (PetscReal)1e-11 * bnorm,
                   "a tolerance beyond rounding: %s, ||r|| = %g ||b||", KSPConvergedReasons[reason],
                   (double)(rnorm / bnorm)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 5));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TrueResidualNorm(A, b, x, &rnorm));
  PetscCall(Expect(its == 5 && reason == KSP_CONVERGED_ITS && rnorm < (PetscReal)0.01 * bnorm,
                   "norm none, max_it 5: %d iterations, %s, ||r|| = %g ||b||", (int)its, KSPConvergedReasons[reason],
                   (double)(rnorm / bnorm)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand sides so small or large that squares of norms are zero or infinite */
static PetscErrorCode TestRange(PetscReal scale)
{
  Mat                A;
  KSP                ksp;
  Vec                b, x, r;
  PetscReal          rnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("helmholtz", 40, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-6, 0.0, PETSC_DEFAULT, 10000));
  PetscCall(VecSet(b, scale));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_INFINITY, &rnorm));
  PetscCall(Expect(reason == KSP_CONVERGED_RTOL && rnorm <= (PetscReal)1e-4 * scale, "%s, |r| = %g",
                   KSPConvergedReasons[reason], (double)rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
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

/* Matrices of a few rows, and diagonal ones */
static PetscErrorCode TestSmall(void)
{
  const PetscInt sizes[] = {1, 2, 3, 129, 300};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    for (int diagonal = 0; diagonal < 2; diagonal++) {
      Mat      A;
      KSP      ksp;
      PetscInt its, start, end;

      PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
      PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, sizes[k], sizes[k]));
      PetscCall(MatSetFromOptions(A));
      PetscCall(MatSetUp(A));
      PetscCall(MatGetOwnershipRange(A, &start, &end));
      for (PetscInt row = start; row < end; row++) {
        PetscCall(MatSetValue(A, row, row, 2.0 + (PetscReal)(row % 2), INSERT_VALUES));
        if (!diagonal && row > 0) PetscCall(MatSetValue(A, row, row - 1, -1.0, INSERT_VALUES));
        if (!diagonal && row < sizes[k] - 1) PetscCall(MatSetValue(A, row, row + 1, -1.0, INSERT_VALUES));
      }
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(CreateKSP(A, KSPCG, 0, &ksp));
      PetscCall(Solve(ksp, &its));
      PetscCall(Expect(its >= 0 && its <= 30, "%d rows%s: %d iterations of CG", (int)sizes[k],
                       diagonal ? ", diagonal" : "", (int)its));
      PetscCall(KSPDestroy(&ksp));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row and column of zeros, where b is zero too: the system is solved as without, and x stays what it was there */
static PetscErrorCode TestZeroRow(KSPType type)
{
  const PetscInt row = 37;
  Mat            A;
  KSP            ksp;
  Vec            b, x;
  PetscInt       its, start, end;
  PetscReal      rnorm;
  PetscBool      is;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 10, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(MatZeroRowsColumns(A, row >= start && row < end ? 1 : 0, &row, 0.0, NULL, NULL));
  PetscCall(CreateKSP(A, type, PETSC_DECIDE, &ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  if (row >= start && row < end) PetscCall(VecSetValue(b, row, 0.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(IsConverged(ksp, &rnorm, &is));
  PetscCall(Expect(is && its <= 60, "%s: %d iterations, true residual norm %g", type, (int)its, (double)rnorm));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
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
  KSP             ksp;
  PetscInt        its, start, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, all, all));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
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
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CreateKSP(A, KSPCG, PETSC_DECIDE, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 26, "%d iterations", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setters, getters, options with a prefix, and values that are not allowed */
static PetscErrorCode TestOptions(void)
{
  Mat        A;
  PC         pc, other;
  PetscInt   levels, sweeps;
  PetscReal  over;
  PetscBool3 single;
  PetscBool  has;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetOptionsPrefix(pc, "in_"));
  PetscCall(PetscOptionsInsertString(
    NULL, "-in_pc_baimg_levels 2 -in_pc_baimg_local_iters 3 -in_pc_baimg_over 1.5 -in_pc_baimg_single false"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_levels"));
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_local_iters"));
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_over"));
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_single"));
  PetscCall(PCBAIMGGetLevels(pc, &levels));
  PetscCall(PCBAIMGGetLocalIters(pc, &sweeps));
  PetscCall(PCBAIMGGetOver(pc, &over));
  PetscCall(PCBAIMGGetSingle(pc, &single));
  PetscCall(Expect(levels == 2 && sweeps == 3 && over == (PetscReal)1.5 && single == PETSC_BOOL3_FALSE,
                   "levels %d, local_iters %d, over %g, single %d", (int)levels, (int)sweeps, (double)over,
                   (int)single));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHas((PetscObject)pc, "levels at most 2, local_iters 3, over 1.5, single false\n", &has));
  PetscCall(Expect(has, "the view has what was set"));
  PetscCall(ViewHas((PetscObject)pc, "  2 levels", &has));
  PetscCall(Expect(has, "the view has 2 levels"));
  PetscCall(PCBAIMGSetSingle(pc, PETSC_BOOL3_UNKNOWN));
  PetscCall(PCBAIMGGetSingle(pc, &single));
  PetscCall(Expect(single == PETSC_BOOL3_UNKNOWN, "single %d", (int)single));
  ExpectError("-in_pc_baimg_levels 0: must be auto, or at least 1 and at most 32", "levels 0", PCBAIMGSetLevels(pc, 0));
  ExpectError("-in_pc_baimg_local_iters 0: must be at least 1 and at most 1000", "local_iters 0",
              PCBAIMGSetLocalIters(pc, 0));
  ExpectError("-in_pc_baimg_over 0.5: must be a number, at least 1", "over 0.5", PCBAIMGSetOver(pc, 0.5));
  PetscCall(PetscOptionsInsertString(NULL, "-in_pc_baimg_levels few"));
  ExpectError("-in_pc_baimg_levels few: must be auto, or at least 1 and at most 32", "levels few",
              PCSetFromOptions(pc));
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_levels"));
  PetscCall(PetscOptionsInsertString(NULL, "-in_pc_baimg_local_iters 2.5"));
  ExpectError("-in_pc_baimg_local_iters 2.5: must be at least 1 and at most 1000", "local_iters 2.5",
              PCSetFromOptions(pc));
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_local_iters"));
  PetscCall(PetscOptionsInsertString(NULL, "-in_pc_baimg_over much"));
  ExpectError("-in_pc_baimg_over much: must be a number, at least 1", "over much", PCSetFromOptions(pc));
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_over"));
  PetscCall(PetscOptionsInsertString(NULL, "-in_pc_baimg_single maybe"));
  ExpectError("-in_pc_baimg_single maybe: must be auto, true or false", "single maybe", PCSetFromOptions(pc));
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_single"));
  PetscCall(PCDestroy(&pc));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &other));
  PetscCall(PCSetType(other, PCJACOBI));
  PetscCall(PCBAIMGSetLevels(other, 0));
  ExpectError("The pc is of type jacobi, which has no such option: must be baimg", "a getter of another type",
              PCBAIMGGetLevels(other, &levels));
  PetscCall(PCDestroy(&other));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -pc_baimg_single takes the words of a PetscBool, and auto */
static PetscErrorCode TestWords(void)
{
  const struct {
    const char *word;
    PetscBool3  single;
  } words[] = {
    {"on",   PETSC_BOOL3_TRUE   },
    {"Yes",  PETSC_BOOL3_TRUE   },
    {NULL,   PETSC_BOOL3_TRUE   },
    {"off",  PETSC_BOOL3_FALSE  },
    {"0",    PETSC_BOOL3_FALSE  },
    {"AUTO", PETSC_BOOL3_UNKNOWN}
  };
  PC         pc;
  PetscBool3 single;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetOptionsPrefix(pc, "in_"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(words); k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-in_pc_baimg_single", words[k].word));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCBAIMGGetSingle(pc, &single));
    PetscCall(
      Expect(single == words[k].single, "-pc_baimg_single %s: %d", words[k].word ? words[k].word : "", (int)single));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-in_pc_baimg_single"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The view of levels for a matrix without entries */
static PetscErrorCode TestNoEntries(void)
{
  PC        pc;
  Mat       A;
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 10, 10, 1, NULL, 1, NULL, &A));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHas((PetscObject)pc, "operator complexity 1.000, grid complexity 1.000", &has));
  PetscCall(Expect(has, "complexities of one level"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Under this method, or in PCApply() alone if there is none, levels are single or not */
static PetscErrorCode ExpectPrecision(KSP ksp, KSPType type, PetscBool single)
{
  PC        pc;
  Mat       A;
  Vec       b, x;
  PetscBool found;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  if (type) {
    PetscCall(KSPSetType(ksp, type));
    PetscCall(KSPSolve(ksp, b, x));
  } else PetscCall(PCApply(pc, b, x));
  PetscCall(ViewHas((PetscObject)pc, "levels in single precision", &found));
  PetscCall(Expect(found == single, "levels are%s in single precision under %s", found ? "" : " not",
                   type ? type : "no method"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU PCBAIMG's levels are in single precision only under methods to which their rounding does no harm */
static PetscErrorCode TestPrecision(void)
{
  Mat       A;
  KSP       ksp;
  PC        pc;
  PetscBool cuda;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHas((PetscObject)pc, "backend cuda", &cuda));
  PetscCall(ExpectPrecision(ksp, KSPCG, cuda));
  PetscCall(ExpectPrecision(ksp, KSPGMRES, PETSC_FALSE));
  PetscCall(ExpectPrecision(ksp, KSPFGMRES, cuda));
  PetscCall(ExpectPrecision(ksp, NULL, PETSC_FALSE));
  PetscCall(PCBAIMGSetSingle(pc, PETSC_BOOL3_FALSE));
  PetscCall(ExpectPrecision(ksp, KSPCG, PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMat("neumann", 40, &A)); /* singular: rounding its rows would make another matrix of it */
  PetscCall(CreateKSP(A, KSPCG, 0, &ksp));
  PetscCall(ExpectPrecision(ksp, KSPCG, PETSC_FALSE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the host, where levels are of PETSc's precision in any case, a method to which rounding does no harm has them
   set up once, also if the matrix is not symmetric */
static PetscErrorCode TestPrecisionOfHost(void)
{
  Mat       A;
  KSP       ksp;
  PC        pc;
  Vec       b, x;
  PetscReal setups;
  PetscBool host;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "convection2d", 40, &A));
  PetscCall(CreateKSP(A, KSPFGMRES, 0, &ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHas((PetscObject)pc, "backend host", &host));
  PetscCall(ViewedNumber((PetscObject)pc, "set-ups ", &setups));
  PetscCall(Expect(setups == 1 || !host, "levels are set up %g times", (double)setups));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocked matrices are copied, and the copy follows their values */
static PetscErrorCode TestTypes(MatType type)
{
  Mat      A, B;
  KSP      ksp;
  PetscInt its, blocked;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
  PetscCall(CreateKSP(A, KSPCG, 0, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(B, KSPCG, 0, &ksp));
  PetscCall(Solve(ksp, &blocked));
  PetscCall(Expect(its > 0 && its == blocked, "%d iterations, %d with type %s", (int)its, (int)blocked, type));
  PetscCall(MatScale(B, 3.0));
  PetscCall(Solve(ksp, &blocked));
  PetscCall(Expect(blocked > 0 && PetscAbsInt(its - blocked) <= 1, "%d iterations, %d with new values", (int)its,
                   (int)blocked));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only unknowns of the same field make up aggregates: two Laplacians side by side are as fast as one */
static PetscErrorCode TestFields(void)
{
  Mat      A, B;
  KSP      ksp;
  PetscInt its, start, end;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 40, &A));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, 3200, 3200));
  PetscCall(MatSetBlockSize(B, 2));
  PetscCall(MatSetFromOptions(B));
  PetscCall(MatSetUp(B));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    const PetscInt    *cols;
    const PetscScalar *values;
    PetscInt           n;

    PetscCall(MatGetRow(A, row, &n, &cols, &values));
    for (PetscInt k = 0; k < n; k++) {
      PetscCall(MatSetValue(B, 2 * row, 2 * cols[k], values[k], INSERT_VALUES));
      PetscCall(MatSetValue(B, 2 * row + 1, 2 * cols[k] + 1, (PetscReal)100 * values[k], INSERT_VALUES));
    }
    PetscCall(MatSetValue(B, 2 * row, 2 * row + 1, 0.1, INSERT_VALUES));
    PetscCall(MatSetValue(B, 2 * row + 1, 2 * row, 0.1, INSERT_VALUES));
    PetscCall(MatRestoreRow(A, row, &n, &cols, &values));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(CreateKSP(B, KSPCG, 0, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 40, "%d iterations", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Elasticity: motions without strain meet no resistance but near the clamped face; it is solved */
static PetscErrorCode TestElasticity(PetscInt n, PetscInt most)
{
  Mat          A;
  KSP          ksp;
  Vec          x, y;
  MatNullSpace space;
  const Vec   *mode;
  PetscInt     modes, its, start, end;
  PetscReal    norm, size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("elasticity", n, &A));
  PetscCall(MatNorm(A, NORM_INFINITY, &size));
  PetscCall(MatGetNearNullSpace(A, &space));
  PetscCall(MatNullSpaceGetVecs(space, NULL, &modes, &mode));
  PetscCall(Expect(modes == 6, "%d modes", (int)modes));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetOwnershipRange(y, &start, &end));
  for (PetscInt k = 0; k < modes; k++) {
    PetscCall(VecCopy(mode[k], x));
    PetscCall(MatMult(A, x, y));
    for (PetscInt row = start; row < PetscMin(end, 3 * n * n); row++) PetscCall(VecSetValue(y, row, 0, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(y));
    PetscCall(VecAssemblyEnd(y));
    PetscCall(VecNorm(y, NORM_INFINITY, &norm));
    PetscCall(Expect(norm <= 1e3 * PETSC_MACHINE_EPSILON * size, "mode %d: forces of %g", (int)k, (double)norm));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= most, "%d iterations", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Springs between the points of a lattice and their neighbours, also those across, with the rigid body modes as near
   null space, whose forces are zero; each point is bound to its place by so much, and those at x = 0 by 1 if it is
   clamped */
static PetscErrorCode CreateTruss(PetscInt n, PetscInt dim, PetscReal bound, PetscBool clamped, Mat *A)
{
  const PetscInt points = dim == 3 ? n * n * n : n * n, stride[3] = {1, n, n * n};
  Vec            coordinates;
  MatNullSpace   space;
  PetscMPIInt    rank;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, dim * points, dim * points));
  PetscCall(MatSetBlockSize(*A, dim));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 81, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 81, NULL, 81, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatCreateVecs(*A, &coordinates, NULL));
  PetscCall(VecSetBlockSize(coordinates, dim));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt p = 0; p < points && !rank; p++) {
    const PetscInt at[3] = {p % n, p / n % n, p / n / n};

    for (PetscInt d = 0; d < dim; d++) {
      const PetscReal here = bound + (clamped && !at[0] ? 1 : 0);

      PetscCall(MatSetValue(*A, dim * p + d, dim * p + d, here, ADD_VALUES));
      PetscCall(VecSetValue(coordinates, dim * p + d, (PetscReal)at[d], INSERT_VALUES));
    }
    for (PetscInt s = 14; s < 27; s++) {
      const PetscInt step[3] = {s % 3 - 1, s / 3 % 3 - 1, s / 9 - 1};
      PetscInt       q = p, length = 0;
      PetscBool      inside = PETSC_TRUE;

      for (PetscInt d = 0; d < 3; d++) {
        q += step[d] * stride[d];
        length += step[d] * step[d];
        if (at[d] + step[d] < 0 || at[d] + step[d] >= (d < dim ? n : 1)) inside = PETSC_FALSE;
      }
      if (!inside) continue;
      for (PetscInt d = 0; d < dim; d++) {
        for (PetscInt e = 0; e < dim; e++) {
          const PetscReal w = (PetscReal)(step[d] * step[e]) / (PetscReal)length;

          PetscCall(MatSetValue(*A, dim * p + d, dim * p + e, w, ADD_VALUES));
          PetscCall(MatSetValue(*A, dim * q + d, dim * q + e, w, ADD_VALUES));
          PetscCall(MatSetValue(*A, dim * p + d, dim * q + e, -w, ADD_VALUES));
          PetscCall(MatSetValue(*A, dim * q + d, dim * p + e, -w, ADD_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(coordinates));
  PetscCall(VecAssemblyEnd(coordinates));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &space));
  PetscCall(MatSetNearNullSpace(*A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HasModes(PC pc, PetscBool expected)
{
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(ViewHas((PetscObject)pc, "near null space: aggregates of points", &has));
  PetscCall(Expect(has == expected, "the near null space is%s used", has ? "" : " not"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All coarse spaces have the modes: where these meet hardly any resistance, one cycle finds them */
static PetscErrorCode TestModesExact(PetscInt n, PetscInt dim)
{
  Mat          A;
  PC           pc;
  Vec          x, y, z;
  MatNullSpace space;
  const Vec   *mode;
  PetscInt     modes;
  PetscReal    size, norm;

  PetscFunctionBeginUser;
  PetscCall(CreateTruss(n, dim, (PetscReal)1e-5, PETSC_FALSE, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCBAIMGSetOver(pc, 1.0)); /* else corrections are made larger */
  PetscCall(PCBAIMGSetSingle(pc, PETSC_BOOL3_FALSE));
  PetscCall(MatGetNearNullSpace(A, &space));
  PetscCall(MatNullSpaceGetVecs(space, NULL, &modes, &mode));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &z));
  for (PetscInt k = 0; k < modes; k++) {
    PetscCall(VecCopy(mode[k], x));
    PetscCall(MatMult(A, x, y));
    PetscCall(PCApply(pc, y, z));
    PetscCall(VecNorm(x, NORM_2, &size));
    PetscCall(VecAXPY(z, -1.0, x));
    PetscCall(VecNorm(z, NORM_2, &norm));
    PetscCall(Expect(norm <= (PetscReal)1e-3 * size, "mode %d: %g of it is not found", (int)k, (double)(norm / size)));
  }
  PetscCall(HasModes(pc, PETSC_TRUE));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the modes there are so many iterations at most, and on a larger lattice not many more; without them more than
   half as many again. Where levels are on a GPU, those of the host take as many */
static PetscErrorCode TestModesIterations(PetscInt small, PetscInt large, PetscInt dim, PetscInt most, PetscInt growth)
{
  const PetscInt size[] = {small, large};
  PetscInt       its[2], host, without;

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    Mat A;
    KSP ksp;

    PetscCall(CreateTruss(size[k], dim, 0, PETSC_TRUE, &A));
    PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
    PetscCall(Solve(ksp, &its[k]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Expect(its[k] > 0 && its[k] <= most, "size %d: %d iterations", (int)size[k], (int)its[k]));
    PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
    PetscCall(KSPBAISetBackend(ksp, BAI_BACKEND_HOST));
    PetscCall(Solve(ksp, &host));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Expect(PetscAbsInt(host - its[k]) <= 2, "size %d: %d iterations, %d on the host", (int)size[k],
                     (int)its[k], (int)host));
    PetscCall(MatSetNearNullSpace(A, NULL));
    PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
    PetscCall(Solve(ksp, &without));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Expect(without < 0 || 2 * without > 3 * its[k], "size %d: %d iterations, %d without the modes",
                     (int)size[k], (int)its[k], (int)without));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Expect(its[1] <= its[0] + growth, "%d iterations at size %d, %d at size %d", (int)its[0], (int)size[0],
                   (int)its[1], (int)size[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A near null space of this matrix, of so many vectors of n entries: row i counts in vector i*count/n */
static PetscErrorCode SetParts(Mat A, PetscInt n, PetscInt count, PetscBool constant)
{
  Vec          part[MODES_MOST + 1];
  MatNullSpace space;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) {
    PetscCall(VecCreate(PETSC_COMM_WORLD, &part[k]));
    PetscCall(VecSetSizes(part[k], PETSC_DECIDE, n));
    PetscCall(VecSetFromOptions(part[k]));
    for (PetscInt i = 0; i < n; i++)
      if (i * count / n == k) PetscCall(VecSetValue(part[k], i, 1, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(part[k]));
    PetscCall(VecAssemblyEnd(part[k]));
    PetscCall(VecNormalize(part[k], NULL));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, constant, count, part, &space));
  PetscCall(MatSetNearNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (PetscInt k = 0; k < count; k++) PetscCall(VecDestroy(&part[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes that are zero on most aggregates, the constant alone, more vectors than there may be, and others in their
   place */
static PetscErrorCode TestModesParts(void)
{
  const PetscInt n = 40;
  Mat            A;
  KSP            ksp;
  PC             pc;
  Vec            r, z, w;
  PetscInt       its;
  PetscBool      equal;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", n, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(MatCreateVecs(A, &r, &z));
  PetscCall(VecDuplicate(r, &w));
  PetscCall(SetNoise(r, 3));
  PetscCall(PCApply(pc, r, z));
  for (PetscInt count = 0; count <= 1; count++) {
    PC same;

    PetscCall(SetParts(A, n * n, count, (PetscBool)!count));
    PetscCall(CreatePC(A, &same));
    PetscCall(PCApply(same, r, w));
    PetscCall(VecEqual(z, w, &equal));
    PetscCall(Expect(equal, "the constant alone, as %s, changes nothing", count ? "a vector" : "such"));
    PetscCall(HasModes(same, PETSC_FALSE));
    PetscCall(PCDestroy(&same));
  }
  PetscCall(SetParts(A, n * n, MODES_MOST + 1, PETSC_FALSE));
  PetscCall(MatScale(A, 2.0)); /* so that PCSetUp() looks */
  PetscCall(PCSetUp(pc));
  PetscCall(HasModes(pc, PETSC_FALSE));
  PetscCall(SetParts(A, n * n, 2, PETSC_FALSE));
  PetscCall(MatScale(A, 2.0)); /* so that PCSetUp() looks */
  PetscCall(PCSetUp(pc));
  PetscCall(HasModes(pc, PETSC_TRUE));
  PetscCall(PCDestroy(&pc));
  for (PetscInt count = 2; count <= MODES_MOST; count += 3) {
    PetscCall(SetParts(A, n * n, count, (PetscBool)(count < MODES_MOST)));
    PetscCall(CreateKSP(A, KSPCG, 0, &ksp));
    PetscCall(Solve(ksp, &its));
    PetscCall(Expect(its > 0 && its <= 40, "%d iterations with %d parts", (int)its, (int)count));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of a near null space that the matrix cannot have */
static PetscErrorCode TestModesLength(void)
{
  const PetscInt n = 20;
  Mat            A;
  PC             pc;
  Vec            all_on_one;
  MatNullSpace   space;
  PetscMPIInt    rank, size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", n, &A));
  PetscCall(SetParts(A, n * n + 1, 2, PETSC_FALSE));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetOperators(pc, A, A));
  ExpectError("Vector 0 of the near null space has 401 entries, and the matrix 400 rows", "a wrong length",
              PCSetUp(pc));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, rank ? 0 : n * n, n * n, &all_on_one));
  PetscCall(VecSetValue(all_on_one, 0, 1.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(all_on_one));
  PetscCall(VecAssemblyEnd(all_on_one));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 1, &all_on_one, &space));
  PetscCall(MatSetNearNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&all_on_one));
  if (size > 1)
    ExpectError("Vector 0 of the near null space has other numbers of entries on the ranks than the matrix has rows",
                "vectors that are distributed otherwise", PCSetUp(pc));
  else PetscCall(PCSetUp(pc));
  PetscCall(PCDestroy(&pc));
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
    KSP      ksp;
    PetscInt its;

    PetscCall(PetscOptionsSetValue(NULL, "-peclet", peclet[k]));
    PetscCall(CreateMat(name, n, &A));
    PetscCall(PetscOptionsClearValue(NULL, "-peclet"));
    PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
    PetscCall(Solve(ksp, &its));
    PetscCall(Expect(its > 0 && its <= most, "Peclet number %s: %d iterations", peclet[k], (int)its));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyByContext(Mat S, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Amat is matrix-free: it is Pmat, then another matrix. Levels are of Pmat, and the solution is that of Amat */
static PetscErrorCode TestWithoutEntries(const char name[], PetscInt n)
{
  Mat       A, other, S;
  KSP       ksp, gmres;
  PetscInt  m, M, its, alike;
  VecType   vectors;
  PetscBool has;
  char      text[512];

  PetscFunctionBeginUser;
  PetscCall(CreateMat(name, n, &A));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, &M, NULL));
  PetscCall(MatGetVecType(A, &vectors));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, m, M, M, A, &S));
  PetscCall(MatShellSetOperation(S, MATOP_MULT, (void (*)(void))MultiplyByContext));
  PetscCall(MatShellSetVecType(S, vectors));
  PetscCall(CreateKSP(A, KSPFGMRES, PETSC_DECIDE, &gmres));
  PetscCall(Solve(gmres, &alike));
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(KSPSetOperators(ksp, S, A));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= alike + 1, "%d iterations, %d of FGMRES", (int)its, (int)alike));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &other));
  PetscCall(MatShift(other, (PetscReal)0.02));
  PetscCall(MatShellSetContext(S, other));
  PetscCall(Solve(ksp, &its)); /* which compares with the residual of S */
  PetscCall(Expect(its > 0 && its <= 2 * alike + 5, "%d iterations with another Amat", (int)its));
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_RELAXATION));
  PetscCall(MatTypeMessage(MATSHELL, text, sizeof(text)));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, S, A));
  ExpectError(text, "relaxation of a matrix without entries", KSPSetUp(ksp));
  PetscCall(KSPBAISetMethod(ksp, BAI_METHOD_AUTO));
  PetscCall(KSPSetOperators(ksp, other, other));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0, "a matrix with entries after one without"));
  PetscCall(ViewHas((PetscObject)ksp, "levels are of Pmat", &has));
  PetscCall(Expect(!has, "the view does not speak of Pmat any longer"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&gmres));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&other));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space of A for B, of which this rank has these rows of A */
static PetscErrorCode RedistributeModes(Mat A, IS is, Mat B)
{
  MatNullSpace space;
  const Vec   *mode;
  Vec          part[MODES_MOST];
  PetscInt     modes, bs;

  PetscFunctionBeginUser;
  PetscCall(MatGetNearNullSpace(A, &space));
  if (!space) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatSetBlockSize(B, bs));
  PetscCall(MatNullSpaceGetVecs(space, NULL, &modes, &mode));
  for (PetscInt k = 0; k < modes; k++) {
    Vec sub;

    PetscCall(MatCreateVecs(B, &part[k], NULL));
    PetscCall(VecGetSubVector(mode[k], is, &sub));
    PetscCall(VecCopy(sub, part[k]));
    PetscCall(VecRestoreSubVector(mode[k], is, &sub));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, modes, part, &space));
  PetscCall(MatSetNearNullSpace(B, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (PetscInt k = 0; k < modes; k++) PetscCall(VecDestroy(&part[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with the same entries, of which this rank has so many rows */
static PetscErrorCode Redistribute(Mat A, PetscInt rows, Mat *B)
{
  IS           is;
  PetscInt     end;
  MatNullSpace space;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Scan(&rows, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, rows, end - rows, 1, &is));
  PetscCall(MatCreateSubMatrix(A, is, is, MAT_INITIAL_MATRIX, B));
  PetscCall(MatGetNullSpace(A, &space));
  if (space) PetscCall(MatSetNullSpace(*B, space));
  PetscCall(RedistributeModes(A, is, *B));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves, and as many iterations as one rank needs, but for two */
static PetscErrorCode ExpectAsAlone(Mat A, KSPType type, PetscInt alone)
{
  KSP       ksp;
  PetscInt  its, again;
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(CreateKSP(A, type, PETSC_DECIDE, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Solve(ksp, &again));
  PetscCall(Expect(its > 0 && its <= alone + 2, "%d iterations of %s, %d on one rank", (int)its, type, (int)alone));
  PetscCall(Expect(again == its, "%d iterations the second time, %d the first time", (int)again, (int)its));
  PetscCall(ViewHas((PetscObject)ksp, " of them distributed, the others on each rank", &has));
  PetscCall(Expect(has, "the view says how many levels are distributed"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several ranks need as many iterations as one, however rows are distributed, and whatever values came before */
static PetscErrorCode TestRanks(const char name[], PetscInt n)
{
  Mat         A, B;
  KSP         ksp;
  PetscInt    alone, points, bs, mine;
  PetscMPIInt size, rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(CreateMatOn(PETSC_COMM_SELF, name, n, &A));
  PetscCall(CreateKSP(A, KSPCG, 0, &ksp));
  PetscCall(Solve(ksp, &alone));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMat(name, n, &A));
  PetscCall(ExpectAsAlone(A, KSPCG, alone));
  PetscCall(ExpectAsAlone(A, KSPBAI, alone));
  PetscCall(MatGetSize(A, &points, NULL));
  PetscCall(MatGetBlockSize(A, &bs));
  points /= bs;
  mine = rank == size - 1 ? points - (size - 2) : rank ? 1 : 0; /* none, one, all others */
  PetscCall(Redistribute(A, mine * bs, &B));
  PetscCall(ExpectAsAlone(B, KSPCG, alone));
  PetscCall(MatDestroy(&B));
  mine = rank == size - 1 ? points - (size - 1) * (points / 7) : points / 7;
  PetscCall(Redistribute(A, mine * bs, &B));
  PetscCall(ExpectAsAlone(B, KSPCG, alone));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in an old pattern */
static PetscErrorCode TestRanksValues(void)
{
  Mat      A;
  KSP      ksp;
  PetscInt first, its, fresh;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 100, &A));
  PetscCall(CreateKSP(A, KSPCG, 0, &ksp));
  PetscCall(Solve(ksp, &first));
  PetscCall(MatShift(A, (PetscScalar)0.5));
  PetscCall(Solve(ksp, &its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateKSP(A, KSPCG, 0, &ksp));
  PetscCall(Solve(ksp, &fresh));
  PetscCall(Expect(its == fresh && its < first, "%d iterations with new values, %d if they are the first, %d before",
                   (int)its, (int)fresh, (int)first));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a_ij and a_ji of two ranks that differ: the matrix is not taken to be symmetric */
static PetscErrorCode TestRanksOther(void)
{
  Mat       A;
  KSP       ksp;
  PetscInt  its, start, end, n;
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 100, &A));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = end - 100; row < end && end < n; row++)
    PetscCall(MatSetValue(A, row, row + 100, (PetscScalar)-0.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CreateKSP(A, KSPGMRES, 0, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= 60, "%d iterations", (int)its));
  PetscCall(ViewHas((PetscObject)ksp, "with diagonal entries of one sign: not for KSPCG", &has));
  PetscCall(Expect(has, "the view says that the matrix is not symmetric"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On two ranks the first level that each rank has all of is one that has two cycles for each one of the level above */
static PetscErrorCode TestRanksTwice(void)
{
  Mat      A;
  KSP      ksp;
  PetscInt alone, its;

  PetscFunctionBeginUser;
  PetscCall(CreateMatOn(PETSC_COMM_SELF, "convection2d", 400, &A));
  PetscCall(CreateKSP(A, KSPFGMRES, 0, &ksp));
  PetscCall(Solve(ksp, &alone));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMat("convection2d", 400, &A));
  PetscCall(CreateKSP(A, KSPFGMRES, 0, &ksp));
  PetscCall(Solve(ksp, &its));
  PetscCall(Expect(its > 0 && its <= alone + 2, "%d iterations, %d on one rank", (int)its, (int)alone));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flops of all ranks since they were so many */
static PetscErrorCode FlopsSince(PetscLogDouble before, double *flops)
{
  PetscLogDouble now;

  PetscFunctionBeginUser;
  PetscCall(PetscGetFlops(&now));
  *flops = (double)(now - before);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, flops, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks log the flops of what they do: those of one rank, but that each of them does all of the gathered level, which
 * is a third of it. A solve has hardly more than its cycles */
static PetscErrorCode TestRanksFlops(void)
{
  Mat            A;
  PC             pc;
  KSP            ksp;
  Vec            r, z;
  PetscLogDouble before;
  PetscInt       its;
  PetscMPIInt    size;
  double         alone = 0, cycle = 0, solve = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int all = 0; all < 2; all++) {
    PetscCall(CreateMatOn(all ? PETSC_COMM_WORLD : PETSC_COMM_SELF, "laplace2d", 100, &A));
    PetscCall(CreatePC(A, &pc));
    PetscCall(MatCreateVecs(A, &z, &r));
    PetscCall(VecSet(r, 1));
    PetscCall(PCApply(pc, r, z));
    PetscCall(PetscGetFlops(&before));
    PetscCall(PCApply(pc, r, z));
    PetscCall(FlopsSince(before, all ? &cycle : &alone));
    PetscCall(VecDestroy(&r));
    PetscCall(VecDestroy(&z));
    PetscCall(PCDestroy(&pc));
    if (!all) PetscCall(MatDestroy(&A));
  }
  alone /= size;
  PetscCall(Expect(cycle >= 0.9 * alone && cycle <= (1 + 0.4 * (size - 1)) * alone,
                   "a cycle has %g flops on all ranks, and %g on one", cycle, alone));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscGetFlops(&before));
  PetscCall(Solve(ksp, &its));
  PetscCall(FlopsSince(before, &solve));
  PetscCall(Expect(its > 0 && solve >= its * cycle && solve <= 2 * (its + 1) * cycle,
                   "%d iterations have %g flops, and a cycle %g", (int)its, solve, cycle));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solvers at the same time, of more and more rows and of few again, and then once more: those of the second round get
   the memory in which those of the first exchanged x */
static PetscErrorCode TestRanksAgain(void)
{
  enum {
    SOLVERS = 4
  };
  const PetscInt n[SOLVERS] = {150, 200, 260, 150};
  PetscInt       first[SOLVERS], its;

  PetscFunctionBeginUser;
  for (PetscInt round = 0; round < 2; round++) {
    Mat A[SOLVERS];
    KSP ksp[SOLVERS];

    for (PetscInt k = 0; k < SOLVERS; k++) {
      PetscCall(CreateMat("laplace2d", n[k], &A[k]));
      PetscCall(CreateKSP(A[k], KSPBAI, PETSC_DECIDE, &ksp[k]));
      PetscCall(Solve(ksp[k], &its));
      if (!round) first[k] = its;
      PetscCall(Expect(its > 0 && its == first[k], "round %d, solver %d: %d iterations, %d in the first round",
                       (int)round, (int)k, (int)its, (int)first[k]));
    }
    for (PetscInt k = 0; k < SOLVERS; k++) {
      PetscCall(Solve(ksp[k], &its));
      PetscCall(Expect(its == first[k], "round %d, solver %d beside the others: %d iterations, %d before", (int)round,
                       (int)k, (int)its, (int)first[k]));
    }
    for (PetscInt k = 0; k < SOLVERS; k++) {
      PetscCall(KSPDestroy(&ksp[k]));
      PetscCall(MatDestroy(&A[k]));
    }
  }
  PetscCall(Expect(first[0] == first[3], "%d and %d iterations for the same matrix", (int)first[0], (int)first[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CasesOnOneRank(void)
{
  static const struct {
    const char *name;
    PetscInt    small, large, most, growth;
  } rows[] = {
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
    {"graded",      48, 250, 45, 25}
  };

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++)
    if (Case("iterations_%s", rows[k].name))
      PetscCall(TestIterations(rows[k].name, rows[k].small, rows[k].large, rows[k].most, rows[k].growth));
  if (Case("changes")) PetscCall(TestChanges());
  if (Case("outdated")) PetscCall(TestOutdated());
  if (Case("outdated_by_scaling")) PetscCall(TestScaledAfterwards());
  if (Case("changes_matrix")) PetscCall(TestChangesMatrix());
  if (Case("nonsymmetric")) PetscCall(TestNonsymmetric());
  if (Case("auto")) PetscCall(TestAuto());
  if (Case("indefinite_auto")) PetscCall(TestIndefinite(600, PETSC_DECIDE));
  if (Case("indefinite_number")) PetscCall(TestIndefinite(40, 32));
  if (Case("indefinite_tree")) PetscCall(TestTree(32766));
  if (Case("indefinite_no_more")) PetscCall(TestDefiniteAgain());
  if (Case("watched")) PetscCall(TestWatched());
  if (!PetscDefined(USE_REAL_SINGLE) && Case("singular")) PetscCall(TestSingularRounded(100));
  if (Case("guess")) PetscCall(TestGuess());
  if (Case("unread_auto")) PetscCall(TestUnread(PETSC_DECIDE));
  if (Case("unread_number")) PetscCall(TestUnread(32));
  if (Case("reasons")) PetscCall(TestReasons());
  if (Case("reasons_min_it")) PetscCall(TestLeastIterations());
  for (int k = 0; k < 2 && Case("max_it"); k++) {
    PetscCall(TestMaxIt("laplace2d", 64, k ? 32 : PETSC_DECIDE));
    PetscCall(TestMaxIt("convection2d", 40, k ? 32 : PETSC_DECIDE));
  }
  if (!PetscDefined(USE_REAL_SINGLE)) {
    if (Case("range_small")) PetscCall(TestRange((PetscReal)1e-170));
    if (Case("range_large")) PetscCall(TestRange((PetscReal)1e170));
  }
  if (Case("nullspace_bai")) PetscCall(TestNullSpace(KSPBAI));
  if (Case("nullspace_cg")) PetscCall(TestNullSpace(KSPCG));
  if (Case("small")) PetscCall(TestSmall());
  if (Case("precision")) PetscCall(TestPrecision());
  if (Case("precision_host")) PetscCall(TestPrecisionOfHost());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An arrow: a row that is too long for levels, symmetric */
static PetscErrorCode CreateArrow(PetscInt n, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    if (row) PetscCall(MatSetValue(*A, row, 0, -1, INSERT_VALUES));
    for (PetscInt k = 1; k < n && !row; k++) PetscCall(MatSetValue(*A, 0, k, -1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, row, row, row ? 1.5 : (PetscScalar)n, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zero diagonal entries are an error that names the first, also where a row is too long for levels */
static PetscErrorCode TestZeroDiagonal(PetscBool is_long)
{
  const PetscInt row = 37, n = is_long ? 2500 : 100;
  Mat            A;
  PC             pc;
  PetscInt       start, end;
  char           expected[512];

  PetscFunctionBeginUser;
  if (is_long) PetscCall(CreateArrow(n, &A));
  else PetscCall(CreateMat("laplace2d", 10, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  if (row >= start && row < end) PetscCall(MatSetValue(A, row, row, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(ZeroDiagonalMessage(row, 1, n, expected, sizeof(expected)));
  ExpectError(expected, "a zero on the diagonal", PCSetUp(pc));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No iterations are none, and many are enough; a matrix of no rows needs none */
static PetscErrorCode TestArrow(PetscInt n, KSPType type)
{
  const PetscInt     most[] = {0, 500};
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PC                 pc;
  PetscInt           its;
  PetscReal          norm, bnorm;
  PetscBool          is_bai, has;
  PetscMPIInt        size;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateArrow(n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(PetscStrcmp(type, KSPBAI, &is_bai));
  PetscCall(KSPGetPC(ksp, &pc));
  if (!is_bai) PetscCall(PCSetType(pc, PCBAIMG));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, most[k]));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(TrueResidualNorm(A, b, x, &norm));
    if (!most[k] && n && is_bai)
      PetscCall(Expect(reason == KSP_DIVERGED_ITS && its == 0, "%s after %d of 0 iterations",
                       KSPConvergedReasons[reason], (int)its));
    if (most[k] || !n)
      PetscCall(Expect(reason > 0 && norm <= (PetscReal)1e-7 * bnorm, "%s with %d rows: %s, residual norm %g", type,
                       (int)n, KSPConvergedReasons[reason], (double)norm));
  }
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ViewHas((PetscObject)ksp, "no levels but PCJACOBI, as a row has more than 1000 entries", &has));
  if (!is_bai) PetscCall(Expect(has == (n > 1000 * size), "with %d rows on %d ranks: Jacobi %d", (int)n, size, has));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b is zero, and of the residual of the guess, scale, no square is a number: it is made smaller all the same */
static PetscErrorCode TestTinyGuess(PetscReal scale)
{
  Mat                A;
  Vec                x, b, r;
  KSP                ksp;
  PetscReal          norm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 20, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(x, scale));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetTolerances(ksp, 1e-6, 0, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm));
  PetscCall(Expect(reason == KSP_CONVERGED_RTOL && norm <= (PetscReal)1e-4 * scale,
                   "from a guess of %g for b = 0: %s, largest residual %g", (double)scale, KSPConvergedReasons[reason],
                   (double)norm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    PetscInt    n;
  } distributed[] = {
    {"laplace2d",   100},
    {"nine",        101},
    {"laplace3d",   25 },
    {"laplace3d27", 20 },
    {"helmholtz",   100},
    {"anisotropic", 100},
    {"mesh",        80 },
    {"pinned",      100},
    {"neumann",     100},
    {"elasticity",  16 }
  };
  static const char *const operators[] = {"laplace2d", "nine",   "anisotropic", "jumps",
                                          "mesh",      "pinned", "twisted",     "scaled"};
  PetscMPIInt              size;

  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(operators); k++)
    if (Case("operator_%s", operators[k])) PetscCall(TestOperator(operators[k], 37));
  if (Case("operator_laplace3d")) PetscCall(TestOperator("laplace3d", 13));
  if (Case("operator_positive")) PetscCall(TestOperator("positive", 13));
  if (Case("operator_powerlaw")) PetscCall(TestOperator("powerlaw", 3000));
  if (size == 1 && Case("values_laplace2d")) PetscCall(TestValues("laplace2d", 40));
  if (size == 1 && Case("values_mesh")) PetscCall(TestValues("mesh", 20));
  if (Case("krylov_cg")) PetscCall(TestKrylov("laplace2d", 64, KSPCG, 18));
  if (Case("krylov_gmres")) PetscCall(TestKrylov("laplace2d", 64, KSPGMRES, 18));
  if (Case("krylov_fgmres")) PetscCall(TestKrylov("laplace2d", 64, KSPFGMRES, 18));
  if (Case("krylov_flow_gmres")) PetscCall(TestKrylov("flow", 64, KSPGMRES, 80));
  if (Case("krylov_flow_fgmres")) PetscCall(TestKrylov("flow", 64, KSPFGMRES, 80));
  if (Case("krylov_twisted")) PetscCall(TestKrylov("twisted", 40, KSPCG, 150));
  if (Case("krylov_opposed")) PetscCall(TestKrylov("opposed", 16, KSPCG, 60));
  if (Case("krylov_scaled")) PetscCall(TestKrylov("scaled", 64, KSPCG, 40));
  if (Case("krylov_negative_cg")) PetscCall(TestNegative(KSPCG, 0));
  if (Case("krylov_negative_richardson")) PetscCall(TestNegative(KSPRICHARDSON, 0));
  if (Case("krylov_negative_chip")) PetscCall(TestNegative(KSPBAI, PETSC_DECIDE));
  if (Case("krylov_negative_bai")) PetscCall(TestNegative(KSPBAI, 32));
  if (Case("krylov_powerlaw")) PetscCall(TestKrylov("powerlaw", 5000, KSPCG, 60));
  if (Case("zero_row_cg")) PetscCall(TestZeroRow(KSPCG));
  if (Case("zero_row_bai")) PetscCall(TestZeroRow(KSPBAI));
  if (Case("nan_bai")) PetscCall(TestNotFinite(KSPBAI, KSP_DIVERGED_NANORINF, NAN));
  if (Case("nan_inf_bai")) PetscCall(TestNotFinite(KSPBAI, KSP_DIVERGED_NANORINF, INFINITY));
  if (Case("nan_cg")) PetscCall(TestNotFinite(KSPCG, KSP_DIVERGED_PC_FAILED, NAN));
  if (Case("zero_diagonal_short")) PetscCall(TestZeroDiagonal(PETSC_FALSE));
  if (Case("zero_diagonal_long")) PetscCall(TestZeroDiagonal(PETSC_TRUE));
  if (Case("bound")) PetscCall(TestBound(100));
  if (Case("options")) PetscCall(TestOptions());
  if (Case("options_words")) PetscCall(TestWords());
  if (Case("arrow_empty_bai")) PetscCall(TestArrow(0, KSPBAI));
  if (Case("arrow_empty_cg")) PetscCall(TestArrow(0, KSPCG));
  if (Case("arrow_long_bai")) PetscCall(TestArrow(2500, KSPBAI));
  if (Case("arrow_long_cg")) PetscCall(TestArrow(2500, KSPCG));
  if (Case("arrow_short")) PetscCall(TestArrow(600, KSPBAI));
  if (Case("tiny_guess_1e-170")) PetscCall(TestTinyGuess((PetscReal)1e-170));
  if (Case("tiny_guess_1e170")) PetscCall(TestTinyGuess((PetscReal)1e170));
  if (Case("tiny_no_entries")) PetscCall(TestNoEntries());
  if (Case("reused")) PetscCall(TestReused());
  if (Case("types_baij")) PetscCall(TestTypes(MATBAIJ));
  if (Case("types_sbaij")) PetscCall(TestTypes(MATSBAIJ));
  if (Case("fields")) PetscCall(TestFields());
  if (Case("elasticity")) PetscCall(TestElasticity(12, 120));
  if (Case("modes_exact_2d")) PetscCall(TestModesExact(24, 2));
  if (Case("modes_exact_3d")) PetscCall(TestModesExact(9, 3));
  if (size > 1 && Case("modes_exact_distributed_2d")) PetscCall(TestModesExact(80, 2));
  if (size > 1 && Case("modes_exact_distributed_3d")) PetscCall(TestModesExact(18, 3));
  if (Case("modes_iterations_2d")) PetscCall(TestModesIterations(30, 90, 2, 40, 6));
  if (Case("modes_iterations_3d")) PetscCall(TestModesIterations(12, 20, 3, 40, 6));
  if (size == 1 && Case("modes_elasticity")) PetscCall(TestIterations("elasticity", 8, 20, 30, 6));
  if (size == 1 && Case("modes_operator")) PetscCall(TestOperator("elasticity", 9));
  if (size == 1 && Case("modes_values")) PetscCall(TestValues("elasticity", 9));
  if (size == 1 && Case("modes_parts")) PetscCall(TestModesParts());
  if (Case("modes_length")) PetscCall(TestModesLength());
  if (Case("shell_laplace2d")) PetscCall(TestWithoutEntries("laplace2d", 100));
  if (Case("shell_flow")) PetscCall(TestWithoutEntries("flow", 40));
  if (Case("convection_2d")) PetscCall(TestConvection("convection2d", 60, 80));
  if (Case("convection_3d")) PetscCall(TestConvection("convection3d", 16, 60));
  if (Case("convection_large")) PetscCall(TestConvection("convection2d", 250, 80));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(distributed) && size > 1; k++)
    if (Case("ranks_%s", distributed[k].name)) PetscCall(TestRanks(distributed[k].name, distributed[k].n));
  if (size > 1 && Case("ranks_values")) PetscCall(TestRanksValues());
  if (size > 1 && Case("ranks_other")) PetscCall(TestRanksOther());
  if (size > 1 && Case("ranks_flops")) PetscCall(TestRanksFlops());
  if (size > 1 && Case("ranks_again")) PetscCall(TestRanksAgain());
  if (size > 1 && Case("ranks_twice")) PetscCall(TestRanksTwice());
  if (size == 1) PetscCall(CasesOnOneRank());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         args: -case {{operator values,krylov,types,fields,shell elasticity,convection \
               modes_exact,modes_iterations,modes_elasticity,modes_operator,modes_values,modes_parts \
               iterations_laplace2d,iterations_nine iterations_laplace3d,iterations_laplace3d27 \
               iterations_helmholtz,iterations_anisotropic,iterations_jumps,iterations_jumps3d \
               iterations_mesh,iterations_pinned,iterations_neumann,iterations_positive,iterations_graded \
               changes,outdated,reused,nonsymmetric,auto,indefinite \
               watched,guess,unread,reasons,nan,max_it,range,nullspace,small,precision singular}}
      test:
         suffix: host_errors
         nsize: {{1 2}}
         args: -malloc_dump 0 -case zero,bound,options,arrow,tiny,modes_length
      test:
         suffix: host_ranks
         timeoutfactor: 2
         nsize: {{2 3}}
         args: -case {{operator_laplace2d,operator_mesh,krylov,types,fields,shell elasticity,convection \
               modes_exact,modes_iterations,ranks_elasticity \
               ranks_laplace2d,ranks_nine,ranks_laplace3d,ranks_helmholtz,ranks_anisotropic \
               nan,ranks_mesh,ranks_pinned,ranks_neumann,ranks_values,ranks_other,ranks_flops,ranks_again,ranks_twice \
               reused}}

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -options_left no -case {{iterations \
               changes,outdated,reused,nonsymmetric,auto,indefinite watched,guess,unread,reasons,nan,max_it,range}}
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse -options_left no -case {{operator values,krylov,types,fields,shell \
               elasticity,convection \
               modes_exact,modes_iterations,modes_elasticity,modes_operator,modes_values,modes_parts zero,bound,arrow \
               iterations changes,outdated,reused,nonsymmetric,auto,indefinite \
               watched,guess,unread,reasons,nan,max_it,range,nullspace,small,precision singular}}
      test:
         suffix: aijcusparse_ranks
         timeoutfactor: 3
         requires: baicuda cuda
         nsize: 2
         args: -mat_type aijcusparse -options_left no -case {{operator_laplace2d,krylov_cg ranks \
               types,fields,shell,reused modes_exact,modes_iterations}}
      test:
         suffix: aijcusparse_ranks_scatter
         timeoutfactor: 3
         requires: baicuda cuda
         nsize: 2
         args: -mat_type aijcusparse -options_left no -ksp_bai_exchange scatter -case ranks
      test:
         suffix: cuda_ranks
         requires: baicuda
         nsize: 2
         args: -ksp_bai_backend cuda -options_left no -case ranks_laplace2d,ranks_mesh

TEST*/
