static char help[] = "Systems that ranks gather are solved as by one rank alone.\n\n";

#include "levels.h"

/* The values of the vector of one rank alone that are this rank's in v */
static PetscErrorCode PartOf(Vec alone, Vec v, Vec *part)
{
  PetscInt           start, end;
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(v, part));
  PetscCall(VecGetOwnershipRange(v, &start, &end));
  PetscCall(VecGetArrayRead(alone, &from));
  PetscCall(VecGetArrayWrite(*part, &to));
  PetscCall(PetscArraycpy(to, from + start, end - start));
  PetscCall(VecRestoreArrayWrite(*part, &to));
  PetscCall(VecRestoreArrayRead(alone, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v has the values of the vector of one rank alone, up to this relative difference */
static PetscErrorCode ExpectEqual(const char what[], Vec v, Vec alone, PetscReal tolerance)
{
  PetscReal norm, difference;
  Vec       part;

  PetscFunctionBeginUser;
  PetscCall(PartOf(alone, v, &part));
  PetscCall(VecNorm(part, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(part, -1.0, v));
  PetscCall(VecNorm(part, NORM_INFINITY, &difference));
  PetscCall(Expect(difference <= tolerance * norm, "%s differs by %g of %g from one rank alone", what,
                   (double)difference, (double)norm));
  PetscCall(VecDestroy(&part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectGathered(PetscObject obj)
{
  PetscBool has;

  PetscFunctionBeginUser;
  PetscCall(ViewHas(obj, "the system is gathered by", &has));
  PetscCall(Expect(has, "the view says that the system is gathered"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle of all ranks has the bits of one rank alone, and so has its transpose, also for new values. Those of the
   third round lead to new levels, of a matrix that is scaled. Scaling sums over ranks, as does PETSc for rigid body
   modes, so results differ there by rounding */
static PetscErrorCode TestCycle(const char name[], PetscInt n)
{
  Mat A[2];
  PC  pc[2];
  Vec r[2], z[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateMatOn(k ? PETSC_COMM_SELF : PETSC_COMM_WORLD, name, n, &A[k]));
    PetscCall(CreatePC(A[k], &pc[k]));
    PetscCall(MatCreateVecs(A[k], &z[k], &r[k]));
  }
  PetscCall(ExpectGathered((PetscObject)pc[0]));
  for (int values = 0; values < 3; values++) {
    PetscReal rounding = 0;
    Vec       part;

    PetscCall(RoundingOf(pc[0], &rounding));
    if (values < 2 && strcmp(name, "elasticity")) rounding = 0;
    PetscCall(SetNoise(r[1], (unsigned long)values));
    PetscCall(PartOf(r[1], r[0], &part));
    PetscCall(VecCopy(part, r[0]));
    PetscCall(VecDestroy(&part));
    for (int k = 0; k < 2 && values; k++) PetscCall(ChangeValues(A[k], values == 1 ? (PetscReal)0.1 : (PetscReal)1e3));
    for (int k = 0; k < 2; k++) PetscCall(PCApply(pc[k], r[k], z[k]));
    PetscCall(ExpectEqual("a cycle", z[0], z[1], rounding));
    for (int k = 0; k < 2; k++) PetscCall(PCApplyTranspose(pc[k], r[k], z[k]));
    PetscCall(ExpectEqual("a transposed cycle", z[0], z[1], rounding));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&r[k]));
    PetscCall(VecDestroy(&z[k]));
    PetscCall(PCDestroy(&pc[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms that a monitor has seen, and one of the vectors x that it was shown */
typedef struct {
  PetscInt  calls;
  PetscReal norm; /* of the last x */
} Seen;

static PetscErrorCode Monitor(KSP ksp, PETSC_UNUSED PetscInt it, PETSC_UNUSED PetscReal rnorm, void *context)
{
  Seen *seen = (Seen *)context;
  Vec   x;

  PetscFunctionBeginUser;
  PetscCall(KSPBuildSolution(ksp, NULL, &x));
  PetscCall(VecNorm(x, NORM_2, &seen->norm));
  seen->calls++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves of all ranks take the iterations of one rank alone, from zero and from a guess, watched and not, and monitors
   see the same x. levels is the limit that KSPBAI sets the PC, or PETSC_DECIDE, with which a GPU may solve on the
   chip */
static PetscErrorCode TestSolve(const char name[], PetscInt n, KSPType type, PetscInt levels)
{
  Seen seen[2] = {{0}};
  Mat  A[2];
  KSP  ksp[2];
  Vec  x[2], b[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateMatOn(k ? PETSC_COMM_SELF : PETSC_COMM_WORLD, name, n, &A[k]));
    PetscCall(CreateKSP(A[k], type, levels, &ksp[k]));
    PetscCall(CreateOnes(A[k], &x[k], &b[k]));
  }
  for (int way = 0; way < 4; way++) {
    const PetscBool    watched = (PetscBool)(way % 2), guess = (PetscBool)(way / 2);
    KSPConvergedReason reason[2];
    PetscInt           its[2];

    for (int k = 0; k < 2; k++) {
      PetscCall(KSPMonitorCancel(ksp[k]));
      if (watched) PetscCall(KSPMonitorSet(ksp[k], Monitor, &seen[k], NULL));
      PetscCall(KSPSetInitialGuessNonzero(ksp[k], guess));
      if (guess) PetscCall(VecSet(x[k], 0.5));
      PetscCall(SolveFor(ksp[k], b[k], x[k], &its[k], &reason[k]));
    }
    PetscCall(Expect(reason[0] == reason[1] && reason[0] > 0, "reason %s, %s alone", KSPConvergedReasons[reason[0]],
                     KSPConvergedReasons[reason[1]]));
    PetscCall(Expect(its[0] == its[1], "%d iterations, %d alone", (int)its[0], (int)its[1]));
    PetscCall(ExpectEqual("x", x[0], x[1], 1000 * rtol));
    PetscCall(Expect(seen[0].calls == seen[1].calls, "%d calls of the monitor, %d alone", (int)seen[0].calls,
                     (int)seen[1].calls));
    PetscCall(Expect(PetscAbsReal(seen[0].norm - seen[1].norm) <= 1000 * rtol * seen[1].norm,
                     "the monitor has seen x of norm %g, %g alone", (double)seen[0].norm, (double)seen[1].norm));
  }
  PetscCall(ExpectGathered((PetscObject)ksp[0]));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two solvers at work in turn do not use each other's memory */
static PetscErrorCode TestTwo(void)
{
  Mat A, B;
  Vec r, z, again, other;
  PC  one, two;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 70, &A));
  PetscCall(CreateMat("anisotropic", 70, &B));
  PetscCall(CreatePC(A, &one));
  PetscCall(MatCreateVecs(A, &z, &r));
  PetscCall(VecDuplicate(z, &again));
  PetscCall(VecDuplicate(z, &other));
  PetscCall(SetNoise(r, 3));
  PetscCall(PCApply(one, r, z));
  PetscCall(CreatePC(B, &two));
  PetscCall(PCApply(two, r, other));
  PetscCall(PCApply(one, r, again));
  PetscCall(VecAXPY(again, -1.0, z));
  for (int k = 0; k < 2; k++) {
    PetscReal norm;

    PetscCall(VecNorm(again, NORM_INFINITY, &norm));
    PetscCall(Expect(norm == 0, "a cycle differs by %g after the set-up of another solver", (double)norm));
    PetscCall(PCDestroy(&two));
    PetscCall(PCApply(one, r, again));
    PetscCall(VecAXPY(again, -1.0, z));
  }
  PetscCall(PCDestroy(&one));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&again));
  PetscCall(VecDestroy(&other));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A zero on the diagonal is reported by its global row, as where levels are distributed */
static PetscErrorCode TestZeroDiagonal(void)
{
  char     message[2048];
  Mat      A;
  PC       pc;
  PetscInt rows, start, end, bad;

  PetscFunctionBeginUser;
  PetscCall(CreateMat("laplace2d", 30, &A));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  bad = rows - 2; /* of the last rank */
  if (bad >= start && bad < end) PetscCall(MatSetValue(A, bad, bad, 0.0, INSERT_VALUES));
  PetscCall(Assemble(A));
  PetscCall(CreateBAIMG(A, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(ZeroDiagonalMessage(bad, 1, rows, message, sizeof(message)));
  ExpectError(message, "a zero on the diagonal", PCSetUp(pc));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A system without rows */
static PetscErrorCode TestNone(void)
{
  KSPConvergedReason reason;
  PetscInt           its;
  Mat                A;
  KSP                ksp;
  Vec                x, b;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, 0, 1, &A));
  PetscCall(Assemble(A));
  PetscCall(CreateOnes(A, &x, &b));
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(SolveFor(ksp, b, x, &its, &reason));
  PetscCall(Expect(reason > 0 && !its, "%d iterations, reason %s", (int)its, KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A last row with an entry in each column, which several ranks own */
static PetscErrorCode TestArrow(void)
{
  const PetscInt n = 900;
  PetscInt       start, end;
  Mat            A;
  KSP            ksp;
  PetscBool      has;

  PetscFunctionBeginUser;
  PetscCall(CreateEmpty(PETSC_COMM_WORLD, 1, n, n, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    PetscCall(MatSetValue(A, row, row, row < n - 1 ? 4.0 : (PetscScalar)(4 * n), INSERT_VALUES));
    for (PetscInt col = row == n - 1 ? 0 : n - 1; col < n && col != row; col++)
      PetscCall(MatSetValue(A, row, col, -1.0, INSERT_VALUES));
  }
  PetscCall(Assemble(A));
  PetscCall(CreateKSP(A, KSPBAI, 32, &ksp));
  PetscCall(Solve(ksp, &(PetscInt){0}));
  PetscCall(ViewHas((PetscObject)ksp, "not symmetric", &has));
  PetscCall(Expect(!has, "the matrix is symmetric also where it is gathered"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const names[] = {"laplace2d", "laplace3d", "mesh", "flow", "elasticity", "helmholtz"};

  PetscCall(CheckInitialize(&argc, &argv, help));
  if (PetscDefined(USE_REAL_SINGLE)) rtol = (PetscReal)1e-4;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
    const PetscInt n = !strcmp(names[k], "laplace3d") ? 17 : !strcmp(names[k], "elasticity") ? 8 : 60;

    if (Case("cycle_%s", names[k])) PetscCall(TestCycle(names[k], n));
    if (Case("solve_%s", names[k])) PetscCall(TestSolve(names[k], n, KSPBAI, 32));
    if (Case("auto_%s", names[k])) PetscCall(TestSolve(names[k], n, KSPBAI, PETSC_DECIDE));
  }
  if (Case("cycle_large")) PetscCall(TestCycle("laplace3d", 52)); /* ranks that share a GPU store its rows in turn */
  if (Case("krylov")) PetscCall(TestSolve("laplace2d", 60, KSPCG, PETSC_DECIDE));
  if (Case("few")) PetscCall(TestSolve("laplace2d", 1, KSPCG, PETSC_DECIDE));
  if (Case("none")) PetscCall(TestNone());
  if (Case("arrow")) PetscCall(TestArrow());
  if (Case("two")) PetscCall(TestTwo());
  if (Case("zero_diagonal")) PetscCall(TestZeroDiagonal());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         nsize: {{2 3 4}}
         args: -pc_baimg_gather true
      # each rank does all of the work
      test:
         suffix: each
         nsize: 3
         args: -case cycle_flow,cycle_helmholtz,solve_flow,solve_helmholtz,krylov,few,none,zero_diagonal
      # chosen by itself
      test:
         suffix: aijcusparse
         timeoutfactor: 3
         requires: baicuda cuda
         nsize: {{2 4}}
         args: -mat_type aijcusparse -options_left no

TEST*/
