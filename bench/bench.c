#include <petscbai.h>
#include <string.h>
#include <petsc/private/petscimpl.h> /* PetscObjectStateIncrease() */
#include "gallery.h"
#include "now.h"

static char help[] = "Times block-asynchronous iteration beside PETSc's own solvers, in one process, as ratios.\n\n\
  ./bench -matrix fv1,trefethen,laplace3d -n 0,0,100   generated matrices, 0 for their default sizes\n\
  ./bench -f matrix.mtx                                a Matrix Market file\n\
  ./bench -mat_type aijcusparse                        on a GPU\n\
  -samples <7>   timings of which the median is shown, with half the distance between the quartiles\n\
  -seconds <60>  solves only once what would take longer\n\
  -rtol <1e-2,1e-6,1e-10>  tolerances of the solves\n\
  -without <name,name>  solvers to leave out, by their names in the table\n\
  -max_it <20000> iterations after which a solve is given up\n\
  -csv <file>    writes all figures to a file\n\n";

typedef struct {
  PetscInt    samples, max_it;
  PetscReal   seconds;
  FILE       *csv;
  const char *matrix;
  PetscInt    n;
} Bench;

/* What is timed, once or count times over */
typedef PetscErrorCode (*Work)(void *, PetscInt count);

/* Median seconds of one of count, after a warm-up, and the spread */
static PetscErrorCode Measure(const Bench *bench, Work work, void *ctx, PetscInt count, PetscReal *median, PetscReal *spread)
{
  PetscReal     *sample;
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(bench->samples, &sample));
  PetscCall(work(ctx, count));
  for (PetscInt s = 0; s < bench->samples; s++) {
    PetscCall(Now(&start));
    PetscCall(work(ctx, count));
    PetscCall(Now(&end));
    sample[s] = (PetscReal)(end - start) / count;
  }
  PetscCall(PetscSortReal(bench->samples, sample));
  *median = sample[bench->samples / 2];
  *spread = (sample[3 * bench->samples / 4] - sample[bench->samples / 4]) / 2;
  PetscCall(PetscFree(sample));
  PetscFunctionReturn(0);
}

/* A line of the table: ratio is that of the time to another one of the same table, named in the heading */
static PetscErrorCode Report(const Bench *bench, const char what[], PetscReal median, PetscReal spread, PetscReal ratio, const char note[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %-34s %10.3f +- %8.3f us  %8.3f  %s\n", what, 1e6 * (double)median, 1e6 * (double)spread, (double)ratio, note));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench->csv, "%s,%" PetscInt_FMT ",%s,%.9g,%.9g,%.6g,%s\n", bench->matrix, bench->n, what, (double)median, (double)spread, (double)ratio, note));
  PetscFunctionReturn(0);
}

typedef struct {
  Mat A;
  Vec b, x;
  KSP ksp;
} System;

static PetscErrorCode Copy(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) PetscCall(VecCopy(s->b, s->x));
  PetscFunctionReturn(0);
}

static PetscErrorCode Multiply(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) PetscCall(MatMult(s->A, s->b, s->x));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) PetscCall(KSPSolve(s->ksp, s->b, s->x));
  PetscFunctionReturn(0);
}

/* count global iterations, in one go */
static PetscErrorCode Iterate(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  PetscCall(KSPSetTolerances(s->ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, count));
  PetscCall(KSPSolve(s->ksp, s->b, s->x));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetUpAnew(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) {
    PetscCall(KSPReset(s->ksp));
    PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
    PetscCall(KSPSetUp(s->ksp));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode UpdateValues(void *ctx, PetscInt count)
{
  System *s = (System *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < count; k++) {
    PetscCall(PetscObjectStateIncrease((PetscObject)s->A));
    PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
    PetscCall(KSPSetUp(s->ksp));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(System *s, KSPType type, PCType pctype, const char more[])
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, more));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &s->ksp));
  PetscCall(KSPSetOptionsPrefix(s->ksp, "bench_"));
  PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
  PetscCall(KSPSetType(s->ksp, type));
  PetscCall(KSPGetPC(s->ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetFromOptions(s->ksp));
  PetscFunctionReturn(0);
}

/* Set-up and global iterations, next to the product with the matrix */
static PetscErrorCode BenchIterations(const Bench *bench, System *s, PetscReal product)
{
  const PetscInt local_iters[] = {1, 2, 5, 9};
  PetscReal      median = 0, spread = 0;
  char           what[64];

  PetscFunctionBeginUser;
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    PetscCall(CreateSolver(s, KSPBAI, PCNONE, ""));
    PetscCall(KSPBAISetMode(s->ksp, (BAIMode)mode));
    PetscCall(Measure(bench, SetUpAnew, s, 1, &median, &spread));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, set-up", BAIModes[mode]));
    PetscCall(Report(bench, what, median, spread, median / product, ""));
    PetscCall(Measure(bench, UpdateValues, s, 1, &median, &spread));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, new values", BAIModes[mode]));
    PetscCall(Report(bench, what, median, spread, median / product, ""));
    PetscCall(KSPDestroy(&s->ksp));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(local_iters); k++) {
      PetscInt count = (PetscInt)(0.02 / product); /* so that the launch is lost in it, as in a long solve */

      PetscCall(CreateSolver(s, KSPBAI, PCNONE, ""));
      PetscCall(KSPSetNormType(s->ksp, KSP_NORM_NONE));
      PetscCall(KSPBAISetMode(s->ksp, (BAIMode)mode));
      PetscCall(KSPBAISetLocalIters(s->ksp, local_iters[k]));
      PetscCall(Measure(bench, Iterate, s, PetscMax(10, PetscMin(count, 1000)), &median, &spread));
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s-(%" PetscInt_FMT ")", BAIModes[mode], local_iters[k]));
      PetscCall(Report(bench, what, median, spread, median / product, ""));
      PetscCall(KSPDestroy(&s->ksp));
    }
  }
  PetscFunctionReturn(0);
}

/* Keeps KSPRICHARDSON from handing all iterations to its preconditioner, which would not look at the residual */
static PetscErrorCode Watch(KSP ksp, PetscInt its, PetscReal rnorm, void *ctx)
{
  (void)ksp;
  (void)its;
  (void)rnorm;
  (void)ctx;
  return 0;
}

/* Whole solves from a zero guess, set-up done, next to CG with Jacobi */
static PetscErrorCode BenchSolves(const Bench *bench, System *s)
{
  static const struct {
    const char *name, *ksp, *pc, *options;
  } solvers[] = {
    {"cg+jacobi",                    KSPCG,         PCJACOBI, ""                                               },
    {"pipecg+jacobi",                KSPPIPECG,     PCJACOBI, ""                                               },
    {"chebyshev+jacobi",             KSPCHEBYSHEV,  PCJACOBI, ""                                               },
    {"richardson+jacobi",            KSPRICHARDSON, PCJACOBI, ""                                               },
    {"richardson+sor",               KSPRICHARDSON, PCSOR,    ""                                               },
    {"bai async-(5)",                KSPBAI,        PCNONE,   "-bench_ksp_bai_local_iters 5"                   },
    {"bai async-(2)",                KSPBAI,        PCNONE,   "-bench_ksp_bai_local_iters 2"                   },
    {"bai sync-(5)",                 KSPBAI,        PCNONE,   "-bench_ksp_bai_local_iters 5 -bench_ksp_bai_mode sync"},
    {"bai color-(5)",                KSPBAI,        PCNONE,   "-bench_ksp_bai_local_iters 5 -bench_ksp_bai_mode color"},
    {"bai sync-(1), a fused Jacobi", KSPBAI,        PCNONE,   "-bench_ksp_bai_local_iters 1 -bench_ksp_bai_mode sync"}
  };
  PetscReal rtol[8] = {1e-2, 1e-6, 1e-10};
  PetscInt  tolerances = 8, many = 16;
  char     *without[16];
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-rtol", rtol, &tolerances, &set));
  if (!set) tolerances = 3;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-without", without, &many, &set));
  if (!set) many = 0;
  for (PetscInt t = 0; t < tolerances; t++) {
    PetscReal cg = 0;

    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  KSPSolve to rtol %g, over the first:\n", (double)rtol[t]));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(solvers); k++) {
      PetscReal          median = 0, spread = 0;
      PetscLogDouble     start, end;
      PetscInt           its;
      KSPConvergedReason reason;
      char               note[64], what[64];
      PetscBool          skip = PETSC_FALSE;

      for (PetscInt w = 0; w < many && !skip; w++) PetscCall(PetscStrcmp(without[w], solvers[k].name, &skip));
      if (skip) continue;
      PetscCall(CreateSolver(s, solvers[k].ksp, solvers[k].pc, solvers[k].options));
      PetscCall(PetscOptionsClearValue(NULL, "-bench_ksp_bai_mode"));
      PetscCall(KSPSetTolerances(s->ksp, rtol[t], PETSC_DEFAULT, PETSC_DEFAULT, bench->max_it));
      if (!strcmp(solvers[k].ksp, KSPRICHARDSON)) PetscCall(KSPMonitorSet(s->ksp, Watch, NULL, NULL));
      PetscCall(KSPSetUp(s->ksp));
      PetscCall(Now(&start));
      PetscCall(Solve(s, 1));
      PetscCall(Now(&end));
      PetscCall(KSPGetIterationNumber(s->ksp, &its));
      PetscCall(KSPGetConvergedReason(s->ksp, &reason));
      PetscCall(PetscSNPrintf(note, sizeof(note), "%" PetscInt_FMT " iterations %s", its, KSPConvergedReasons[reason]));
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s", solvers[k].name));
      if ((end - start) * (bench->samples + 1) > (PetscLogDouble)bench->seconds || reason < 0) {
        median = (PetscReal)(end - start);
        spread = 0;
      } else PetscCall(Measure(bench, Solve, s, 1, &median, &spread));
      if (!cg) cg = median;
      PetscCall(Report(bench, what, median, spread, median / cg, note));
      /* KSPCHEBYSHEV, ended by a NaN, holds a work vector for its solution, and would destroy it twice */
      if (reason != KSP_DIVERGED_NANORINF) PetscCall(KSPDestroy(&s->ksp));
    }
  }
  for (PetscInt w = 0; w < many; w++) PetscCall(PetscFree(without[w]));
  PetscFunctionReturn(0);
}

static PetscErrorCode BenchMatrix(Bench *bench, Mat A)
{
  System    s;
  MatInfo   info;
  Vec       large[2];
  PetscReal copy = 0, product = 0, spread = 0, bytes;
  VecType   type;
  char      note[64];
  PetscInt  count;

  PetscFunctionBeginUser;
  s.A = A;
  PetscCall(MatGetSize(A, &bench->n, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatCreateVecs(A, &s.x, &s.b));
  PetscCall(VecSet(s.b, 1));
  PetscCall(VecGetType(s.x, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: n %" PetscInt_FMT ", nnz %.0f\n", bench->matrix, bench->n, info.nz_used));
  for (int k = 0; k < 2; k++) { /* much longer than any cache */
    PetscCall(VecCreate(PETSC_COMM_WORLD, &large[k]));
    PetscCall(VecSetSizes(large[k], PETSC_DECIDE, 1 << 26));
    PetscCall(VecSetType(large[k], type));
    PetscCall(VecSet(large[k], 1));
  }
  {
    System c = {A, large[0], large[1], NULL};

    PetscCall(Measure(bench, Copy, &c, 5, &copy, &spread));
    bytes = (PetscReal)(2 * sizeof(PetscScalar)) * (1 << 26);
  }
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&large[k]));
  PetscCall(PetscSNPrintf(note, sizeof(note), "%.0f GB/s", 1e-9 * (double)(bytes / copy)));
  PetscCall(Report(bench, "copy of 2^26 numbers", copy, spread, 1, note));
  PetscCall(Measure(bench, Multiply, &s, 10, &product, &spread));
  count = (PetscInt)(0.02 / product);
  PetscCall(Measure(bench, Multiply, &s, PetscMax(10, PetscMin(count, 1000)), &product, &spread));
  bytes = (PetscReal)(info.nz_used * (sizeof(PetscScalar) + sizeof(int)) + (double)bench->n * (2 * sizeof(PetscScalar) + sizeof(int)));
  PetscCall(PetscSNPrintf(note, sizeof(note), "%.0f GB/s", 1e-9 * (double)(bytes / product)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  over MatMult:\n"));
  PetscCall(Report(bench, "MatMult", product, spread, 1, note));
  PetscCall(BenchIterations(bench, &s, product));
  PetscCall(BenchSolves(bench, &s));
  PetscCall(VecDestroy(&s.x));
  PetscCall(VecDestroy(&s.b));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  enum {
    MAX = 32
  };
  Bench     bench = {7, 20000, 60, NULL, NULL, 0};
  Mat       A;
  char     *names[MAX], file[PETSC_MAX_PATH_LEN], csv[PETSC_MAX_PATH_LEN] = "";
  PetscInt  n[MAX] = {0}, many = MAX, sizes = MAX;
  PetscBool hasfile, hasnames;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &bench.samples, NULL));
  PetscCheck(bench.samples > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-samples %" PetscInt_FMT " must be at least 1", bench.samples);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &bench.max_it, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &bench.seconds, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", csv, sizeof(csv), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof(file), &hasfile));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-matrix", names, &many, &hasnames));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", n, &sizes, NULL));
  PetscCheck(hasfile || hasnames, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "needs -matrix with names of " GALLERY_NAMES ", or -f with a Matrix Market file");
  if (csv[0]) {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, csv, "w", &bench.csv));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, bench.csv, "matrix,n,what,seconds,spread,ratio,note\n"));
  } else PetscCall(PetscFOpen(PETSC_COMM_WORLD, "/dev/null", "w", &bench.csv));
  if (hasfile) {
    bench.matrix = file;
    PetscCall(MatrixMarketLoad(PETSC_COMM_WORLD, file, &A));
    PetscCall(BenchMatrix(&bench, A));
    PetscCall(MatDestroy(&A));
  }
  for (PetscInt k = 0; hasnames && k < many; k++) {
    bench.matrix = names[k];
    PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, names[k], n[k], &A));
    PetscCall(BenchMatrix(&bench, A));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(names[k]));
  }
  PetscCall(PetscFClose(PETSC_COMM_WORLD, bench.csv));
  PetscCall(PetscFinalize());
  return 0;
}
