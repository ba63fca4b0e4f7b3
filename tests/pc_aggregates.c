static char help[] = "PCBAIMGSetAggregates(): the first coarse level is made of the aggregates that users give.\n\n";

#include "check.h"
#include "gallery.h"

enum {
  LINE = 32 /* points of a line of the grid; each rank has LINE lines */
};

/* The Laplacian on a grid of LINE points in a line, with fields unknowns in each point that are not coupled */
static PetscErrorCode Grid(PetscInt fields, Mat *A)
{
  PetscInt    start, end, all;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  all = (PetscInt)size * LINE * LINE;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, LINE * LINE * fields, LINE * LINE * fields, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*A, fields));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    const PetscInt point = row / fields, near[] = {point - LINE, point - 1, point + 1, point + LINE};

    PetscCall(MatSetValue(*A, row, row, 4, INSERT_VALUES));
    for (int k = 0; k < 4; k++) {
      if (near[k] < 0 || near[k] >= all || (k % 3 && near[k] / LINE != point / LINE)) continue;
      PetscCall(MatSetValue(*A, row, near[k] * fields + row % fields, -1, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Boxes of width x height points of a rank's lines; unknowns of a point are in one aggregate, or in one for each */
static PetscErrorCode Boxes(PetscInt fields, PetscBool together, PetscInt width, PetscInt height, IS *is)
{
  PetscInt *of;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(LINE * LINE * fields, &of));
  for (PetscInt k = 0; k < LINE * LINE * fields; k++) {
    const PetscInt point = k / fields, box = point / LINE / height * (LINE / width) + point % LINE / width;

    of[k] = together ? box : box * fields + k % fields;
  }
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, LINE * LINE * fields, of, PETSC_OWN_POINTER, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preconditioner(Mat A, IS aggregates, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(NewPC(A, PCBAIMG, pc));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCBAIMGSetAggregates(*pc, aggregates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z is an application of the PC to ones, and a number of the view says how many aggregates the finest level has */
static PetscErrorCode Apply(PC pc, Vec *z)
{
  Mat A;
  Vec r;

  PetscFunctionBeginUser;
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(MatCreateVecs(A, z, &r));
  PetscCall(VecSet(r, 1.0));
  PetscCall(PCApply(pc, r, *z));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Boxes that are given make the levels that boxes make which set-up finds; other ones make others, and NULL takes them
   back. The next level is then of pairs, so there are two levels only */
static PetscErrorCode TestBoxes(Mat A)
{
  IS        boxes, lines;
  PC        found, given;
  Vec       z, y;
  PetscBool same, has;

  PetscFunctionBeginUser;
  PetscCall(Boxes(1, PETSC_TRUE, 2, 2, &boxes));
  PetscCall(Boxes(1, PETSC_TRUE, 4, 1, &lines));
  PetscCall(Preconditioner(A, NULL, &found));
  PetscCall(Preconditioner(A, boxes, &given));
  PetscCall(PCBAIMGSetLevels(found, 2));
  PetscCall(PCBAIMGSetLevels(given, 2));
  PetscCall(Apply(found, &z));
  PetscCall(Apply(given, &y));
  PetscCall(VecEqual(z, y, &same));
  PetscCall(Expect(same, "boxes that are given are those that are found"));
  PetscCall(ViewHas((PetscObject)given, "aggregates are those of PCBAIMGSetAggregates()", &has));
  PetscCall(Expect(has, "the view names the function"));
  PetscCall(VecDestroy(&y));
  PetscCall(PCBAIMGSetAggregates(given, lines));
  PetscCall(Apply(given, &y));
  PetscCall(VecEqual(z, y, &same));
  PetscCall(Expect(!same, "other aggregates make another cycle"));
  PetscCall(VecDestroy(&y));
  PetscCall(PCBAIMGSetAggregates(given, NULL));
  PetscCall(Apply(given, &y));
  PetscCall(VecEqual(z, y, &same));
  PetscCall(Expect(same, "NULL takes aggregates back"));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(PCDestroy(&found));
  PetscCall(PCDestroy(&given));
  PetscCall(ISDestroy(&boxes));
  PetscCall(ISDestroy(&lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid is recognized although rows in the middle of a rank's rows have no couplings, as boundary rows have none */
static PetscErrorCode TestBoundary(Mat A)
{
  const PetscInt lines = 2; /* as many rows as set-up looks at */
  PetscInt       start, row[2 * LINE];
  PetscMPIInt    size;
  PetscBool      has;
  Mat            B;
  PC             pc;
  Vec            z;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatGetOwnershipRange(B, &start, NULL));
  for (PetscInt k = 0; k < lines * LINE; k++) row[k] = start + LINE / 2 * LINE + k;
  PetscCall(MatZeroRowsColumns(B, lines * LINE, row, 4, NULL, NULL));
  PetscCall(Preconditioner(B, NULL, &pc));
  PetscCall(Apply(pc, &z));
  PetscCall(ViewHas((PetscObject)pc, "aggregates are boxes of a grid", &has));
  PetscCall(Expect(has || size > 1, "rows without couplings do not hide the grid"));
  PetscCall(VecDestroy(&z));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Levels of aggregates that are given solve, also after new values, and with rows in no aggregate */
static PetscErrorCode TestSolve(Mat A, PetscInt fields, PetscBool modes)
{
  PetscInt        its, *alone;
  const PetscInt *of;
  PetscReal       rnorm;
  PetscBool       is;
  KSP             ksp;
  PC              pc;
  Vec             b, x;
  IS              aggregates;

  PetscFunctionBeginUser;
  PetscCall(Boxes(fields, modes, 2, 2, &aggregates));
  PetscCall(NewKSP(A, KSPBAI, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(NewSystem(A, &x, &b));
  PetscCall(KSPSolve(ksp, b, x)); /* with aggregates of the set-up */
  PetscCall(PCBAIMGSetAggregates(pc, aggregates));
  for (int round = 0; round < 3; round++) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(IsConverged(ksp, &rnorm, &is));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(
      Expect(is && its < 40, "solve %d: %" PetscInt_FMT " iterations, residual norm %g", round, its, (double)rnorm));
    if (round == 0) PetscCall(MatScale(A, 2.0));
    if (round != 1) continue;
    PetscCall(ISDestroy(&aggregates));
    PetscCall(Boxes(fields, modes, 2, 2, &aggregates));
    PetscCall(ISGetIndices(aggregates, &of));
    PetscCall(PetscMalloc1(LINE * LINE * fields, &alone));
    for (PetscInt k = 0; k < LINE * LINE * fields; k++) alone[k] = k < LINE * fields ? -1 : of[k];
    for (PetscInt k = LINE * fields; k < 2 * LINE * fields; k++) alone[k] = of[k]; /* halves of boxes */
    PetscCall(ISRestoreIndices(aggregates, &of));
    PetscCall(ISDestroy(&aggregates));
    PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, LINE * LINE * fields, alone, PETSC_OWN_POINTER, &aggregates));
    PetscCall(PCBAIMGSetAggregates(pc, aggregates));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(ISDestroy(&aggregates));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An index set with this entry in place k of the last rank, or of another length there, is an error; one can go on */
static PetscErrorCode Refuses(Mat A, PetscInt k, PetscInt entry, PetscInt length, const char message[])
{
  PetscMPIInt rank, size;
  PetscInt   *of;
  IS          is;
  PC          pc;
  Vec         z;
  char        text[256];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (rank + 1 < size) length = LINE * LINE;
  PetscCall(PetscMalloc1(length, &of));
  for (PetscInt i = 0; i < length; i++) of[i] = i / 4;
  if (rank + 1 == size && k >= 0) of[k] = entry;
  if (rank + 1 == size && k == -2)
    for (PetscInt i = 0; i < length; i++) of[i] = 0;
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, length, of, PETSC_OWN_POINTER, &is));
  PetscCall(Preconditioner(A, is, &pc));
  PetscCall(PetscSNPrintf(text, sizeof(text), "PCBAIMGSetAggregates(): %s", message));
  if (rank + 1 < size)
    PetscCall(PetscSNPrintf(text, sizeof(text),
                            "Block-asynchronous iteration failed on rank %d of %d, whose error message says why",
                            size - 1, size));
  ExpectError(text, "PCSetUp()", PCSetUp(pc));
  PetscCall(PCBAIMGSetAggregates(pc, NULL));
  PetscCall(Apply(pc, &z));
  PetscCall(VecDestroy(&z));
  PetscCall(PCDestroy(&pc));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(Mat A)
{
  PetscFunctionBeginUser;
  PetscCall(
    Refuses(A, -1, 0, 7, "the index set has 7 entries on this rank: must be 1024, the rows of the matrix there"));
  PetscCall(
    Refuses(A, 5, 1024, LINE * LINE, "local row 5 is in aggregate 1024: must be -1, or less than the 1024 local rows"));
  PetscCall(
    Refuses(A, 5, -2, LINE * LINE, "local row 5 is in aggregate -2: must be -1, or less than the 1024 local rows"));
  PetscCall(Refuses(A, 5, 300, LINE * LINE, "aggregate 256 has 0 rows: must be at least 1 and at most 128"));
  PetscCall(Refuses(A, -2, 0, LINE * LINE, "aggregate 0 has 1024 rows: must be at least 1 and at most 128"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Constants on each of two fields as the near null space: aggregates are of points */
static PetscErrorCode SetConstants(Mat A)
{
  Vec          v[2];
  MatNullSpace space;

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(A, &v[k], NULL));
    PetscCall(VecSetBlockSize(v[k], 2));
    PetscCall(VecStrideSet(v[k], k, 1.0));
    PetscCall(VecNormalize(v[k], NULL));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 2, v, &space));
  PetscCall(MatSetNearNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&v[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat scalar, fields, modes;

  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(Grid(1, &scalar));
  PetscCall(Grid(2, &fields));
  PetscCall(Grid(2, &modes));
  PetscCall(SetConstants(modes));
  if (Case("boxes")) PetscCall(TestBoxes(scalar));
  if (Case("boundary")) PetscCall(TestBoundary(scalar));
  if (Case("errors")) PetscCall(TestErrors(scalar));
  if (Case("solve_scalar")) PetscCall(TestSolve(scalar, 1, PETSC_FALSE));
  if (Case("solve_fields")) PetscCall(TestSolve(fields, 2, PETSC_FALSE));
  if (Case("solve_modes")) PetscCall(TestSolve(modes, 2, PETSC_TRUE));
  PetscCall(MatDestroy(&scalar));
  PetscCall(MatDestroy(&fields));
  PetscCall(MatDestroy(&modes));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      nsize: {{1 2}}
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         nsize: 1
         args: -ksp_bai_backend cuda -case solve
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         args: -mat_type aijcusparse

TEST*/
