#include "parts/bench.h"
#include <omp.h>
#include <string.h>
#include <time.h>

static char help[] = "Times block-asynchronous iteration beside PETSc's own solvers, in one process, as ratios.\n\n\
  ./bench -matrix fv1,trefethen,laplace3d -n 0,0,100   generated matrices, 0 for their default sizes\n\
  ./bench -f one.mtx,two.mtx                           Matrix Market files\n\
  ./bench -mat_type aijcusparse                        on a GPU\n\
  -rtol <1e-2,1e-6,1e-10>  tolerances of the solves\n\
  -samples <7>       timings of which the median is taken, and half the distance between the quartiles\n\
  -seconds <5>       that a figure may take: fewer timings if need be, and a solve that takes longer is given up\n\
  -max_it <20000>    iterations after which a solve is given up\n\
  -threads <1,...>   OpenMP threads on the host: all are compared, the last is used elsewhere\n\
  -copy_mb <512>     memory of the copy whose bandwidth the others are compared with\n\
  -without <name,name>  solvers to leave out, by their names in the table\n\
  -csv <file>        writes all figures to a file\n\
  -device <name>, -commit <name>  device and state of the sources, for that file; make bench fills\n\
                                      them in\n\
  -over_time <file>  solves also to 1e-1, 1e-2, ..., and writes time and residual of all solves to a file,\n\
                     for plot.py\n\
  -cg_ksp_norm_type preconditioned     an option of a solver, by its name in the table\n\
  -bai_ksp_bai_block_size 256          an option of all of KSPBAI's\n\n";

/* The matrix's lines of the table */
static PetscErrorCode BenchMatrix(void *ctx, const char name[], Mat A)
{
  Bench      *bench = (Bench *)ctx;
  System      s     = {A, NULL, NULL, NULL};
  MatInfo     info;
  VecType     type;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  bench->matrix = name;
  PetscCall(MatGetSize(A, &bench->n, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  bench->nnz = (PetscReal)info.nz_used;
  PetscCall(MatCreateVecs(A, &s.x, &s.b));
  PetscCall(VecSet(s.b, 1));
  PetscCall(VecGetType(s.x, &type));
  if (bench->bandwidth == 0) PetscCall(MeasureCopy(bench, type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SetThreads(bench->threads[bench->nthreads - 1]));
  PetscCall(Print("%s: n %" PetscInt_FMT ", nnz %.0f; %d process%s, and on the host %" PetscInt_FMT
                  " thread%s of KSPBAI each\n",
                  bench->matrix, bench->n, (double)bench->nnz, size, size == 1 ? "" : "es",
                  bench->threads[bench->nthreads - 1], bench->threads[bench->nthreads - 1] == 1 ? "" : "s"));
  PetscCall(BenchIterations(bench, &s));
  PetscCall(SetThreads(bench->threads[bench->nthreads - 1]));
  PetscCall(BenchSolves(bench, &s));
  PetscCall(VecDestroy(&s.x));
  PetscCall(VecDestroy(&s.b));
  PetscFunctionReturn(0);
}

/* In descending order, with powers of ten in between for the history */
static PetscErrorCode SetTolerances(Bench *bench, PetscBool history)
{
  PetscReal all[MAX_RTOL],
    given[8]       = {1e-2, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-6, PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-10};
  PetscInt  ngiven = 8, n;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-rtol", given, &ngiven, &set));
  if (!set) ngiven = 3;
  for (n = 0; n < ngiven; n++) {
    PetscCheck(given[n] > 0 && given[n] < 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-rtol %g must be between 0 and 1",
               (double)given[n]);
    all[n] = -given[n];
  }
  PetscCall(PetscSortReal(ngiven, all));
  for (PetscReal power = 0.1; history && power > -1.5 * all[ngiven - 1] && n < MAX_RTOL; power /= 10) all[n++] = -power;
  PetscCall(PetscSortReal(n, all));
  for (PetscInt k = 0; k < n; k++) {
    PetscBool shown = PETSC_FALSE;

    if (bench->nrtol && -all[k] > 0.99 * bench->rtol[bench->nrtol - 1]) continue;
    for (PetscInt g = 0; g < ngiven; g++)
      shown = (PetscBool)(shown || PetscAbsReal(given[g] + all[k]) < 0.01 * given[g]);
    bench->shown[bench->nrtol]  = shown;
    bench->rtol[bench->nrtol++] = -all[k];
  }
  PetscFunctionReturn(0);
}

/* By default one, and all that this process has, as KSPBAI counts them */
static PetscErrorCode SetThreadCounts(Bench *bench)
{
  MPI_Comm    node;
  PetscMPIInt size;
  PetscInt    all;
  PetscBool   set;
  char        text[16];

  PetscFunctionBeginUser;
  bench->nthreads = MAX_THREADS;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-threads", bench->threads, &bench->nthreads, &set));
  for (PetscInt k = 0; k < bench->nthreads && set; k++)
    PetscCheck(bench->threads[k] > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-threads %" PetscInt_FMT " must be at least 1", bench->threads[k]);
  if (set) PetscFunctionReturn(0);
  PetscCallMPI(MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_size(node, &size));
  PetscCallMPI(MPI_Comm_free(&node));
  PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, "OMP_NUM_THREADS", text, sizeof(text), &set));
  all                               = set ? omp_get_max_threads() : omp_get_num_procs() / size;
  bench->nthreads                   = 0;
  bench->threads[bench->nthreads++] = 1;
  if (all > 1) bench->threads[bench->nthreads++] = all;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetFromOptions(Bench *bench)
{
  const time_t now                     = time(NULL);
  char         csv[PETSC_MAX_PATH_LEN] = "", history[PETSC_MAX_PATH_LEN] = "";
  PetscBool    set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &bench->samples, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &bench->max_it, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-copy_mb", &bench->copy_mb, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &bench->seconds, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-device", bench->device, sizeof(bench->device), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-commit", bench->commit, sizeof(bench->commit), NULL));
  PetscCheck(!strpbrk(bench->device, "\"\n") && !strpbrk(bench->commit, ",\"\n"), PETSC_COMM_WORLD,
             PETSC_ERR_USER_INPUT, "-device %s, -commit %s: no quotes, no new lines, and no comma in the commit",
             bench->device, bench->commit);
  PetscCheck(strftime(bench->date, sizeof(bench->date), "%Y-%m-%d", gmtime(&now)), PETSC_COMM_SELF, PETSC_ERR_SYS,
             "strftime() failed");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", csv, sizeof(csv), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-over_time", history, sizeof(history), NULL));
  PetscCheck(bench->samples > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-samples %" PetscInt_FMT " must be at least 1", bench->samples);
  PetscCheck(bench->max_it > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-max_it %" PetscInt_FMT " must be at least 1",
             bench->max_it);
  PetscCheck(bench->copy_mb > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-copy_mb %" PetscInt_FMT " must be at least 1", bench->copy_mb);
  PetscCheck(bench->seconds > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-seconds %g must be positive",
             (double)bench->seconds);
  bench->nwithout = MAX_WITHOUT;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-without", bench->without, &bench->nwithout, &set));
  if (!set) bench->nwithout = 0;
  PetscCall(CheckSolverNames(bench));
  PetscCall(SetThreadCounts(bench));
  PetscCall(SetTolerances(bench, (PetscBool)(history[0] != 0)));
  PetscCall(ReportOpen(bench, csv, history));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Bench bench = {.samples = 7, .max_it = 20000, .copy_mb = 512, .seconds = 5, .device = "unknown", .commit = "unknown"};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(SetFromOptions(&bench));
  PetscCall(ForMatrices(BenchMatrix, &bench));
  for (PetscInt w = 0; w < bench.nwithout; w++) PetscCall(PetscFree(bench.without[w]));
  PetscCall(ReportClose(&bench));
  PetscCall(PetscFinalize());
  return 0;
}
