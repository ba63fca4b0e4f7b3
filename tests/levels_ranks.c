static char help[] = "Multigrid on several ranks takes as many iterations as on one, however rows are distributed.\n\n";

#include "levels.h"

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

/* A matrix with the same entries, of which this rank has this number of rows */
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

/* Iterations that each rank takes by itself */
static PetscErrorCode IterationsAlone(const char name[], PetscInt n, KSPType type, PetscInt *alone)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(CreateMatOn(PETSC_COMM_SELF, name, n, &A));
  PetscCall(IterationsOf(A, type, 0, alone));
  PetscCall(MatDestroy(&A));
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
  PetscInt    alone, points, bs, mine;
  PetscMPIInt size, rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(IterationsAlone(name, n, KSPCG, &alone));
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
  PetscCall(IterationsOf(A, KSPCG, 0, &fresh));
  PetscCall(Expect(its == fresh && its < first, "%d iterations with new values, %d if they are the first, %d before",
                   (int)its, (int)fresh, (int)first));
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
  PetscCall(Assemble(A));
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
  PetscInt alone, its;

  PetscFunctionBeginUser;
  PetscCall(IterationsAlone("convection2d", 400, KSPFGMRES, &alone));
  PetscCall(CreateMat("convection2d", 400, &A));
  PetscCall(IterationsOf(A, KSPFGMRES, 0, &its));
  PetscCall(Expect(its > 0 && its <= alone + 2, "%d iterations, %d on one rank", (int)its, (int)alone));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flops that all ranks have done since this one had done before */
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

/* Solves with a matrix whose rows all are on the last rank. Then all ranks must get the same tag of its communicator */
static PetscErrorCode SolveOnLast(Mat A, const char what[])
{
  PetscMPIInt        tag, tags[2];
  PetscInt           its;
  KSP                ksp;
  Vec                x, b;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateKSP(A, KSPBAI, PETSC_DECIDE, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, b));
  PetscCall(SolveFor(ksp, b, x, &its, &reason));
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &tag));
  tags[0] = tag;
  tags[1] = -tag;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, tags, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(Expect(reason > 0, "%s: %s after %d iterations", what, KSPConvergedReasons[reason], (int)its));
  PetscCall(Expect(tags[0] == -tags[1], "%s: tags of ranks are %d to %d", what, -tags[1], tags[0]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two fields of this matrix, each coupled to the other one, in units that differ by 1e-3 */
static PetscErrorCode CreateFields(Mat L, Mat *A)
{
  const PetscReal   unit[2]       = {1, (PetscReal)1e-3};
  const PetscScalar coupled[2][2] = {
    {2,              (PetscReal)0.8},
    {(PetscReal)0.8, 1             }
  };
  PetscInt           rows, first, last, n;
  const PetscInt    *column;
  const PetscScalar *entry;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(L, &rows, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, 2 * rows, 2 * rows, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(MatSetBlockSize(*A, 2));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 10, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 10, NULL, 10, NULL));
  PetscCall(MatGetOwnershipRange(L, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    PetscCall(MatGetRow(L, row, &n, &column, &entry));
    for (PetscInt k = 0; k < 4 * n; k++) {
      const PetscInt f = k % 2, g = k / 2 % 2;

      PetscCall(MatSetValue(*A, 2 * row + f, 2 * column[k / 4] + g, entry[k / 4] * coupled[f][g] * unit[f] * unit[g],
                            INSERT_VALUES));
    }
    PetscCall(MatRestoreRow(L, row, &n, &column, &entry));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only the last rank has rows, more of them than are gathered, with a near null space, or with scaled fields */
static PetscErrorCode TestRanksEmpty(void)
{
  PetscMPIInt  rank, size;
  PetscInt     rows, last;
  Mat          A, B, C;
  Vec          v;
  MatNullSpace space;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateMat("laplace2d", 70, &A));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(Redistribute(A, rank == size - 1 ? rows : 0, &B));
  PetscCall(CreateFields(B, &C));
  PetscCall(SolveOnLast(C, "scaled fields"));
  PetscCall(MatCreateVecs(B, &v, NULL));
  PetscCall(VecGetOwnershipRange(v, NULL, &last));
  for (PetscInt row = 0; row < last && rank == size - 1; row++)
    PetscCall(VecSetValue(v, row, 1 + (PetscReal)row / (PetscReal)rows, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(v));
  PetscCall(VecAssemblyEnd(v));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 1, &v, &space));
  PetscCall(MatSetNearNullSpace(B, space));
  PetscCall(SolveOnLast(B, "near null space"));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Attaches a near null space of five vectors to the Laplacian of n^3 points */
static PetscErrorCode AttachFive(Mat A, PetscInt n)
{
  enum {
    MODES = 5
  };
  PetscInt     first, end;
  Vec          mode[MODES];
  MatNullSpace space;

  PetscFunctionBeginUser;
  for (int k = 0; k < MODES; k++) PetscCall(MatCreateVecs(A, &mode[k], NULL));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt row = first; row < end; row++) {
    const PetscReal x = (PetscReal)(row % n), y = (PetscReal)(row / n % n), z = (PetscReal)(row / (n * n)),
                    value[MODES] = {1, x, y, z, x * y};

    for (int k = 0; k < MODES; k++) PetscCall(VecSetValue(mode[k], row, value[k], INSERT_VALUES));
  }
  for (int k = 0; k < MODES; k++) {
    PetscCall(VecAssemblyBegin(mode[k]));
    PetscCall(VecAssemblyEnd(mode[k]));
  }
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, MODES, mode, &space));
  PetscCall(MatSetNearNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (int k = 0; k < MODES; k++) PetscCall(VecDestroy(&mode[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks send more data of rows of the second level than of the finest one, so GPUs pass these through the host */
static PetscErrorCode TestRanksFive(void)
{
  enum {
    N = 28
  };
  Mat      A;
  PetscInt alone;

  PetscFunctionBeginUser;
  PetscCall(CreateMatOn(PETSC_COMM_SELF, "laplace3d", N, &A));
  PetscCall(AttachFive(A, N));
  PetscCall(IterationsOf(A, KSPCG, 0, &alone));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateMat("laplace3d", N, &A));
  PetscCall(AttachFive(A, N));
  PetscCall(ExpectAsAlone(A, KSPCG, alone));
  PetscCall(ExpectAsAlone(A, KSPBAI, alone));
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

  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(distributed); k++)
    if (Case("ranks_%s", distributed[k].name)) PetscCall(TestRanks(distributed[k].name, distributed[k].n));
  if (Case("ranks_values")) PetscCall(TestRanksValues());
  if (Case("ranks_other")) PetscCall(TestRanksOther());
  if (Case("ranks_flops")) PetscCall(TestRanksFlops());
  if (Case("ranks_again")) PetscCall(TestRanksAgain());
  if (Case("ranks_empty")) PetscCall(TestRanksEmpty());
  if (Case("ranks_twice")) PetscCall(TestRanksTwice());
  if (Case("ranks_five")) PetscCall(TestRanksFive());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         timeoutfactor: 2
         nsize: {{2 3}}
         args: -case {{ranks_elasticity ranks_laplace2d,ranks_nine,ranks_laplace3d,ranks_helmholtz,ranks_anisotropic \
               ranks_mesh,ranks_pinned,ranks_neumann,ranks_values,ranks_other,ranks_flops,ranks_again,ranks_twice \
               ranks_empty,ranks_five}}
      test:
         suffix: aijcusparse
         timeoutfactor: 3
         requires: baicuda cuda
         nsize: 2
         args: -mat_type aijcusparse -pc_baimg_gather false -options_left no -case ranks
      # single precision is given, as otherwise a failed solve is done again in native precision
      test:
         suffix: aijcusparse_single
         timeoutfactor: 5
         requires: baicuda cuda
         nsize: {{2 3}}
         args: -mat_type aijcusparse -pc_baimg_gather false -options_left no -pc_baimg_single true
         args: -case ranks_laplace2d,ranks_laplace3d,ranks_mesh
      test:
         suffix: aijcusparse_scatter
         timeoutfactor: 3
         requires: baicuda cuda
         nsize: 2
         args: -mat_type aijcusparse -options_left no -ksp_bai_exchange scatter -pc_baimg_gather false
         args: -case ranks
      test:
         suffix: cuda
         requires: baicuda
         nsize: 2
         args: -ksp_bai_backend cuda -pc_baimg_gather false -options_left no -case ranks_laplace2d,ranks_mesh

TEST*/
