static char help[] = "When the matrix or the options change between solves: the solution is that of the new system, "
                     "found with no more work than needed.\n\n";

#include "check.h"
#include "gallery.h"

/* What KSPView() says of the work done so far */
static PetscErrorCode Counts(KSP ksp, PetscInt counts[2])
{
  char text[10000], *at;
  int  found[2] = {-1, -1};

  PetscFunctionBeginUser;
  PetscCall(ViewText((PetscObject)ksp, sizeof(text), text));
  PetscCall(PetscStrstr(text, "set-ups", &at));
  if (at) (void)sscanf(at, "set-ups %d, value updates %d", &found[0], &found[1]);
  for (int k = 0; k < 2; k++) counts[k] = found[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  NOTHING,
  UPDATE,
  SETUP
} Work;

static PetscInt before[2]; /* set-ups and value updates of this case's solver so far */

/* Solves, and again by a new solver with the same options */
static PetscErrorCode Check(KSP ksp, Mat A, Work work, const char when[])
{
  KSP       fresh;
  Vec       b, x, y;
  BAIMode   mode;
  PetscInt  sweeps, size, counts[2];
  PetscReal rnorm;
  PetscBool right, equal;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(b, 1.0));

  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(IsConverged(ksp, &rnorm, &right));
  PetscCall(Expect(right, "it solves %s", when));
  PetscCall(Counts(ksp, counts));
  PetscCall(Expect(counts[0] == before[0] + (work == SETUP) && counts[1] == before[1] + (work == UPDATE),
                   "it does what is needed and no more %s", when));
  PetscCall(PetscArraycpy(before, counts, 2));

  PetscCall(KSPBAIGetMode(ksp, &mode));
  PetscCall(KSPBAIGetLocalIters(ksp, &sweeps));
  PetscCall(KSPBAIGetBlockSize(ksp, &size));
  PetscCall(NewKSP(A, KSPBAI, &fresh));
  PetscCall(KSPSetTolerances(fresh, 1e-8, 1e-50, PETSC_DEFAULT, 10000));
  PetscCall(KSPSetFromOptions(fresh));
  PetscCall(KSPBAISetMode(fresh, mode));
  PetscCall(KSPBAISetLocalIters(fresh, sweeps));
  PetscCall(KSPBAISetBlockSize(fresh, size));
  PetscCall(KSPSolve(fresh, b, y));
  PetscCall(VecEqual(x, y, &equal));
  PetscCall(Expect(equal || mode != BAI_MODE_SYNC, "in mode sync it gives the bits of a new solver %s", when));
  PetscCall(KSPDestroy(&fresh));

  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   4 on the diagonal, and -1 in the first row of each rank, in a column that on several ranks is the shift-th of the
   next one: then only the numbers of the other ranks' columns tell one shift from another
*/
static PetscErrorCode OneEntry(PetscInt n, PetscInt shift, Mat *A)
{
  PetscInt rstart, rend;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 2, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 2, NULL, 1, NULL));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++) PetscCall(MatSetValue(*A, row, row, 4.0 + row % 3, INSERT_VALUES));
  PetscCall(MatSetValue(*A, rstart, (rend + shift) % n, -1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver that has solved with A once */
static PetscErrorCode Create(Mat A, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(before, 2));
  PetscCall(NewKSP(A, KSPBAI, ksp));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, 1e-50, PETSC_DEFAULT, 10000));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(Check(*ksp, A, SETUP, "the first time"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Nothing(KSP ksp, Mat A)
{
  PetscFunctionBeginUser;
  PetscCall(Check(ksp, A, NOTHING, "when nothing is new"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Check(ksp, A, NOTHING, "when it is given the same matrix again"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What another matrix of the same pattern takes: new values, but gathered rows are gathered anew */
static PetscErrorCode Another(KSP ksp, Work *work)
{
  PetscBool gathered = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(ViewHas((PetscObject)ksp, "with all rows", &gathered));
  *work = gathered ? SETUP : UPDATE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the old pattern */
static PetscErrorCode Values(KSP ksp, Mat A)
{
  Mat         A2;
  Work        another = UPDATE;
  PetscInt    n, row;
  PetscMPIInt rank, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatScale(A, 2.0));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Check(ksp, A, UPDATE, "when all values are scaled"));
  PetscCall(MatShift(A, 1.0));
  PetscCall(Check(ksp, A, UPDATE, "when it is not told that the diagonal is shifted"));
  PetscCall(MatGetSize(A, &n, NULL));
  if (rank == size - 1) PetscCall(MatSetValue(A, n - 1, n - 1, 20.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Check(ksp, A, UPDATE, "when it is not told that one value is new"));
  PetscCall(MatGetOwnershipRange(A, &row, NULL));
  row = PetscMax(row, 15); /* on several ranks this value couples two of them */
  if (rank == size - 1) PetscCall(MatSetValue(A, row, row - 15, -0.125, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Check(ksp, A, UPDATE, "when one value off the diagonal is new"));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &A2));
  PetscCall(MatScale(A2, 3.0));
  PetscCall(KSPSetOperators(ksp, A2, A2));
  PetscCall(Another(ksp, &another));
  PetscCall(Check(ksp, A2, another, "for another matrix of the same pattern"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Check(ksp, A, another, "for the one before"));
  PetscCall(MatDestroy(&A2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another pattern, and the first one again */
static PetscErrorCode Pattern(KSP ksp, Mat A)
{
  Mat      B, C;
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 15, &B));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(Check(ksp, B, SETUP, "for another pattern"));
  PetscCall(OneEntry(n, 1, &C));
  PetscCall(KSPSetOperators(ksp, C, C));
  PetscCall(Check(ksp, C, SETUP, "for a pattern of one entry"));
  PetscCall(MatDestroy(&C));
  PetscCall(OneEntry(n, 2, &C));
  PetscCall(KSPSetOperators(ksp, C, C));
  PetscCall(Check(ksp, C, SETUP, "for a pattern with the entry in the next column"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Check(ksp, A, SETUP, "for the first matrix again"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Options(KSP ksp, Mat A)
{
  BAIMode mode;

  PetscFunctionBeginUser;
  PetscCall(KSPBAISetBlockSize(ksp, 9));
  PetscCall(Check(ksp, A, SETUP, "for another block size"));
  PetscCall(KSPBAISetLocalIters(ksp, 2));
  PetscCall(Check(ksp, A, SETUP, "for more or fewer local sweeps"));
  PetscCall(KSPBAIGetMode(ksp, &mode));
  PetscCall(KSPBAISetMode(ksp, BAI_MODE_SYNC));
  PetscCall(Check(ksp, A, mode == BAI_MODE_SYNC ? NOTHING : SETUP, "for mode sync"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Size(KSP ksp, Mat A)
{
  Mat C;

  PetscFunctionBeginUser;
  (void)A;
  PetscCall(KSPReset(ksp));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 9, &C));
  PetscCall(KSPSetOperators(ksp, C, C));
  PetscCall(Check(ksp, C, SETUP, "for another size"));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, C, C));
  PetscCall(Check(ksp, C, SETUP, "after KSPReset()"));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    PetscErrorCode (*run)(KSP, Mat);
  } cases[] = {
    {"nothing_new", Nothing},
    {"new_values",  Values },
    {"new_pattern", Pattern},
    {"new_options", Options},
    {"new_size",    Size   },
    {"in_a_row",    NULL   }  /* all of these with one solver */
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    KSP ksp;
    Mat A;

    if (!Case("%s", cases[c].name)) continue;
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "fv1", 15, &A));
    PetscCall(Create(A, &ksp));
    for (size_t k = 0; k < c; k++) {
      if (!cases[c].run) PetscCall(cases[k].run(ksp, A));
    }
    if (cases[c].run) PetscCall(cases[c].run(ksp, A));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    requires: !single
    args: -ksp_bai_block_size {{0 16}}shared output

    test:
      suffix: host
      nsize: {{1 3}}
      args: -ksp_bai_mode {{async launch sync}}shared output

    test:
      suffix: cuda
      nsize: {{1 2}}
      requires: baicuda
      args: -ksp_bai_mode {{async launch sync}}shared output -ksp_bai_backend cuda

    test:
      suffix: aijcusparse
      nsize: {{1 2}}
      requires: baicuda cuda
      args: -ksp_bai_mode {{async launch sync}}shared output -mat_type aijcusparse

TEST*/
