#include "parts/bench.h"
#include "now.h"

static char help[] =
  "KSPMatSolve() with KSPBAI: milliseconds for several right-hand sides, over those of KSPSolve() for one, and over\n\
those of KSPSolve() for each of them.\n\n\
  ./columns -matrix fv1,laplace3d -n 0,48    generated matrices, 0 for their default sizes\n\
  ./columns -f one.mtx,two.mtx               Matrix Market files\n\
  -mat_type aijcusparse       on a GPU\n\
  -columns <1,2,4,8,16,64>    numbers of right-hand sides, which are random\n\
  -rtol <1e-10>               of the norm of b - A x\n\
  -samples <9>                solves after the first of each, of which the median is taken\n\n";

enum {
  MAX_COLUMNS = 16,
  MAX_SAMPLES = 101,
  MAX_IT      = 100000
};

typedef struct {
  PetscInt  columns[MAX_COLUMNS], ncolumns, samples;
  PetscReal rtol;
} Run;

/* One block of systems */
typedef struct {
  KSP       ksp;
  Mat       B, X;
  PetscBool together; /* KSPMatSolve(), or KSPSolve() for each column */
} Block;

static PetscErrorCode CreateDense(Vec like, PetscInt columns, Mat *dense)
{
  PetscInt  n;
  VecType   type;
  PetscBool device;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(like, &n));
  PetscCall(VecGetType(like, &type));
  PetscCall(PetscStrcmp(type, VECSEQCUDA, &device));
  PetscCall(MatCreate(PETSC_COMM_WORLD, dense));
  PetscCall(MatSetSizes(*dense, n, PETSC_DECIDE, PETSC_DETERMINE, columns));
  PetscCall(MatSetType(*dense, device ? MATDENSECUDA : MATDENSE));
  PetscCall(MatSetUp(*dense));
  PetscCall(MatZeroEntries(*dense));
  PetscCall(MatAssemblyBegin(*dense, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*dense, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode SolveBlock(const Block *block)
{
  PetscInt columns;

  PetscFunctionBeginUser;
  if (block->together) {
    PetscCall(KSPMatSolve(block->ksp, block->B, block->X));
    PetscFunctionReturn(0);
  }
  PetscCall(MatGetSize(block->B, NULL, &columns));
  for (PetscInt c = 0; c < columns; c++) {
    Vec b, x;

    PetscCall(MatDenseGetColumnVecRead(block->B, c, &b));
    PetscCall(MatDenseGetColumnVecWrite(block->X, c, &x));
    PetscCall(KSPSolve(block->ksp, b, x));
    PetscCall(MatDenseRestoreColumnVecWrite(block->X, c, &x));
    PetscCall(MatDenseRestoreColumnVecRead(block->B, c, &b));
  }
  PetscFunctionReturn(0);
}

/* Median seconds, after a first solve that is not counted */
static PetscErrorCode TimeBlock(const Run *run, const Block *block, PetscReal *seconds)
{
  PetscReal      sample[MAX_SAMPLES];
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(SolveBlock(block));
  for (PetscInt k = 0; k < run->samples; k++) {
    PetscCall(Now(&start));
    PetscCall(SolveBlock(block));
    PetscCall(Now(&end));
    sample[k] = (PetscReal)(end - start);
  }
  PetscCall(Median(run->samples, sample, seconds));
  PetscFunctionReturn(0);
}

/* The largest ||b - A x||/||b|| */
static PetscErrorCode WorstResidual(Mat A, Mat B, Mat X, PetscReal *worst)
{
  PetscInt columns;
  Vec      r;

  PetscFunctionBeginUser;
  *worst = 0;
  PetscCall(MatCreateVecs(A, NULL, &r));
  PetscCall(MatGetSize(B, NULL, &columns));
  for (PetscInt c = 0; c < columns; c++) {
    Vec       b, x;
    PetscReal rnorm, bnorm;

    PetscCall(MatDenseGetColumnVecRead(B, c, &b));
    PetscCall(MatDenseGetColumnVecRead(X, c, &x));
    PetscCall(MatResidual(A, b, x, r));
    PetscCall(VecNorm(r, NORM_2, &rnorm));
    PetscCall(VecNorm(b, NORM_2, &bnorm));
    if (!(rnorm / bnorm <= *worst)) *worst = rnorm / bnorm;
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
  }
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(0);
}

/* one: seconds of a column alone, which the first block is timed for */
static PetscErrorCode TimeColumns(const Run *run, const char name[], KSP ksp, Vec like, PetscInt columns,
                                  PetscReal *one)
{
  Block              block = {.ksp = ksp};
  Mat                A;
  PetscReal          apart, together, worst;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(CreateDense(like, columns, &block.B));
  PetscCall(CreateDense(like, columns, &block.X));
  PetscCall(MatSetRandom(block.B, NULL));
  PetscCall(TimeBlock(run, &block, &apart));
  if (*one <= 0) *one = apart / (PetscReal)columns;
  block.together = PETSC_TRUE;
  PetscCall(TimeBlock(run, &block, &together));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(WorstResidual(A, block.B, block.X, &worst));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%-14s %7" PetscInt_FMT " columns %9.4f ms, %6.2f of one, %6.3f of one by one; %5" PetscInt_FMT
                        " iterations%s, %.1e\n",
                        name, columns, 1e3 * (double)together, (double)(together / *one), (double)(together / apart),
                        its, reason > 0 ? "" : "*", (double)worst));
  PetscCall(MatDestroy(&block.B));
  PetscCall(MatDestroy(&block.X));
  PetscFunctionReturn(0);
}

static PetscErrorCode TimeMatrix(void *ctx, const char name[], Mat A)
{
  const Run *run = (Run *)ctx;
  KSP        ksp;
  Vec        like;
  PetscReal  one = 0;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &like, NULL));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPBAI));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, run->rtol, PETSC_DEFAULT, PETSC_DEFAULT, MAX_IT));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt k = 0; k < run->ncolumns; k++) PetscCall(TimeColumns(run, name, ksp, like, run->columns[k], &one));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&like));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Run run = {
    .columns = {1, 2, 4, 8, 16, 64},
      .samples = 9, .rtol = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-10
  };
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  run.ncolumns = MAX_COLUMNS;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-columns", run.columns, &run.ncolumns, &set));
  if (!set) run.ncolumns = 6;
  for (PetscInt k = 0; k < run.ncolumns; k++)
    PetscCheck(run.columns[k] > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-columns %" PetscInt_FMT ": must be positive", run.columns[k]);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &run.samples, NULL));
  PetscCheck(run.samples > 0 && run.samples <= MAX_SAMPLES, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-samples %" PetscInt_FMT ": must be between 1 and %d", run.samples, (int)MAX_SAMPLES);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &run.rtol, NULL));
  PetscCall(ForMatrices(TimeMatrix, &run));
  PetscCall(PetscFinalize());
  return 0;
}
