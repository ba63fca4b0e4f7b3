#include "parts/bench.h"
#include "now.h"
#include <string.h>

static char help[] =
  "Gains by the choice of local sweeps and block size: relaxation by KSPBAI with each pair of them, beside its\n\
defaults.\n\n\
  ./choices -matrix fv1,fv3,laplace3d -n 0,0,48      generated matrices, 0 for their default sizes\n\
  ./choices -f one.mtx,two.mtx                       Matrix Market files\n\
  -mat_type aijcusparse          on a GPU\n\
  -local_iters <1,2,3,4,5,6,7,9>\n\
  -block_size <32,64,128,256,512>\n\
  -lines                         block sizes also of whole lines of a grid, which the first row shows: those next to\n\
                                 128 and 256\n\
  -rtol <1e-10>                  of the solves\n\
  -samples <5>                   timings of which the median is taken\n\
  -seconds <0.1>                 that the timings of a pair may take: fewer if need be, at least one\n\
  -max_it <20000>                iterations after which a solve is given up; also after four times those of the\n\
                                 defaults\n\
  -csv <file>, -device <name>, -commit <name>\n\n";

enum {
  MAX_LIST    = 16,
  MAX_SAMPLES = 101
};

typedef struct {
  PetscInt    local_iters[MAX_LIST], block_size[MAX_LIST], nlocal, nblock, samples, max_it;
  PetscBool   lines;
  PetscReal   rtol, seconds;
  char        device[128], commit[64];
  FILE       *csv;
  const char *matrix; /* the present one */
} Run;

/* A solver, set up by a solve that is not timed, with its time and iterations */
typedef struct {
  KSP       ksp;
  PetscInt  local_iters, block_size, its;
  PetscReal seconds; /* 0: did not converge */
} Pair;

static PetscErrorCode CreatePair(const Run *run, Mat A, PetscInt local_iters, PetscInt block_size, PetscInt max_it,
                                 Pair *pair)
{
  PetscFunctionBeginUser;
  *pair = (Pair){.local_iters = local_iters, .block_size = block_size};
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &pair->ksp));
  PetscCall(KSPSetType(pair->ksp, KSPBAI));
  PetscCall(KSPSetOperators(pair->ksp, A, A));
  PetscCall(KSPSetTolerances(pair->ksp, run->rtol, PETSC_DEFAULT, PETSC_DEFAULT, max_it));
  PetscCall(KSPSetFromOptions(pair->ksp));
  if (local_iters) PetscCall(KSPBAISetLocalIters(pair->ksp, local_iters));
  PetscCall(KSPBAISetBlockSize(pair->ksp, block_size));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(const Pair *pair, Vec b, Vec x, PetscReal *seconds)
{
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(Now(&start));
  PetscCall(KSPSolve(pair->ksp, b, x));
  PetscCall(Now(&end));
  *seconds = (PetscReal)(end - start);
  PetscFunctionReturn(0);
}

/* Two solves set up everything; then as many are timed as there is time for */
static PetscErrorCode Time(const Run *run, Pair *pair, Vec b, Vec x)
{
  KSPConvergedReason reason;
  PetscReal          sample[MAX_SAMPLES], spent = 0, seconds;
  PetscInt           n;

  PetscFunctionBeginUser;
  for (n = 0; n < 2; n++) {
    PetscCall(Solve(pair, b, x, &seconds));
    PetscCall(KSPGetConvergedReason(pair->ksp, &reason));
    PetscCall(KSPGetIterationNumber(pair->ksp, &pair->its));
    if (reason < 0) PetscFunctionReturn(0);
  }
  for (n = 0; n < run->samples && (n == 0 || spent < run->seconds); n++) {
    PetscCall(Solve(pair, b, x, &sample[n]));
    spent += sample[n];
  }
  PetscCall(PetscSortReal(n, sample));
  pair->seconds = sample[n / 2];
  PetscCall(KSPGetIterationNumber(pair->ksp, &pair->its));
  PetscFunctionReturn(0);
}

/* local_iters and block_size are 0 where the solver chose */
static PetscErrorCode Write(const Run *run, const Pair *pair, const char what[])
{
  PetscFunctionBeginUser;
  if (run->csv)
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, run->csv,
                           "%s,%s,%s,%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%.6g\n", run->device,
                           run->commit, run->matrix, what, pair->local_iters, pair->block_size, pair->its,
                           1e6 * (double)pair->seconds));
  PetscFunctionReturn(0);
}

/* The fastest of many was also lucky: so it and the defaults are timed again, in turns */
static PetscErrorCode TimeAgain(const Run *run, Pair *first, Pair *second, Vec b, Vec x)
{
  PetscReal sample[2][MAX_SAMPLES];
  Pair     *pair[2] = {first, second};

  PetscFunctionBeginUser;
  for (PetscInt n = 0; n < run->samples; n++) {
    for (int k = 0; k < 2; k++) PetscCall(Solve(pair[k], b, x, &sample[k][n]));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSortReal(run->samples, sample[k]));
    pair[k]->seconds = sample[k][run->samples / 2];
    PetscCall(KSPGetIterationNumber(pair[k]->ksp, &pair[k]->its));
    PetscCall(Write(run, pair[k], k ? "again-best" : "again-defaults"));
  }
  PetscFunctionReturn(0);
}

/* The block sizes of the run, and with -lines the multiples of a grid's line that are next to 128 and 256; the line is
 * where the first row couples to beyond its neighbour */
static PetscErrorCode ListBlockSizes(const Run *run, Mat A, PetscInt size[], PetscInt *count)
{
  const PetscInt  near[2] = {128, 256};
  const PetscInt *col;
  PetscInt        ncols, n, line = PETSC_MAX_INT;

  PetscFunctionBeginUser;
  PetscCall(PetscArraycpy(size, run->block_size, run->nblock));
  *count = run->nblock;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetRow(A, 0, &ncols, &col, NULL));
  for (PetscInt k = 0; k < ncols; k++) {
    if (col[k] > 1) line = PetscMin(line, col[k]);
  }
  PetscCall(MatRestoreRow(A, 0, &ncols, &col, NULL));
  for (int k = 0; k < 2 && run->lines && line < n && n % line == 0; k++) {
    const PetscInt rows = line * PetscMax(1, (near[k] + line / 2) / line);

    if (rows != size[*count - 1]) size[(*count)++] = rows;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode TimePairs(Run *run, Mat A)
{
  Vec      b, x;
  Pair     defaults, best = {NULL, 0, 0, 0, 0};
  PetscInt size[MAX_LIST + 2] = {0}, sizes, most;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(ListBlockSizes(run, A, size, &sizes));
  PetscCall(CreatePair(run, A, 0, 0, run->max_it, &defaults));
  PetscCall(Time(run, &defaults, b, x));
  PetscCall(Write(run, &defaults, "defaults"));
  most = defaults.seconds > 0 ? PetscMin(run->max_it, 4 * defaults.its + 100) : run->max_it;
  for (PetscInt s = 0; s < sizes; s++) {
    for (PetscInt l = 0; l < run->nlocal; l++) {
      Pair pair;

      PetscCall(CreatePair(run, A, run->local_iters[l], size[s], most, &pair));
      PetscCall(Time(run, &pair, b, x));
      PetscCall(Write(run, &pair, "pair"));
      if (pair.seconds > 0 && (!best.ksp || pair.seconds < best.seconds)) {
        PetscCall(KSPDestroy(&best.ksp));
        best = pair;
      } else PetscCall(KSPDestroy(&pair.ksp));
    }
  }
  if (best.ksp && defaults.seconds > 0) {
    PetscCall(TimeAgain(run, &defaults, &best, b, x));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%-20s defaults %9.1f us (%" PetscInt_FMT "), best %" PetscInt_FMT " sweeps, %" PetscInt_FMT
                          " rows %9.1f us (%" PetscInt_FMT "): %.2f\n",
                          run->matrix, 1e6 * (double)defaults.seconds, defaults.its, best.local_iters, best.block_size,
                          1e6 * (double)best.seconds, best.its, (double)(best.seconds / defaults.seconds)));
  } else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-20s the defaults do not converge in %" PetscInt_FMT " iterations, %s\n",
                          run->matrix, run->max_it, best.ksp ? "others do" : "nor do others"));
  PetscCall(KSPDestroy(&best.ksp));
  PetscCall(KSPDestroy(&defaults.ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(0);
}

static PetscErrorCode TimeMatrix(void *ctx, const char name[], Mat A)
{
  Run *run = (Run *)ctx;

  PetscFunctionBeginUser;
  run->matrix = name;
  PetscCall(TimePairs(run, A));
  PetscFunctionReturn(0);
}

static PetscErrorCode GetList(const char option[], PetscInt list[], PetscInt *count)
{
  PetscInt  given[MAX_LIST], n = MAX_LIST;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, option, given, &n, &set));
  if (!set) PetscFunctionReturn(0);
  PetscCheck(n > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "%s needs numbers", option);
  for (PetscInt k = 0; k < n; k++)
    PetscCheck(given[k] > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "%s %" PetscInt_FMT ": must be at least 1", option,
               given[k]);
  PetscCall(PetscArraycpy(list, given, n));
  *count = n;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetFromOptions(Run *run)
{
  char file[PETSC_MAX_PATH_LEN] = "";

  PetscFunctionBeginUser;
  PetscCall(GetList("-local_iters", run->local_iters, &run->nlocal));
  PetscCall(GetList("-block_size", run->block_size, &run->nblock));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lines", &run->lines, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &run->rtol, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &run->seconds, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &run->samples, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &run->max_it, NULL));
  PetscCheck(run->samples > 0 && run->samples <= MAX_SAMPLES, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-samples %" PetscInt_FMT ": must be between 1 and %d", run->samples, (int)MAX_SAMPLES);
  PetscCheck(run->max_it > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-max_it %" PetscInt_FMT ": must be at least 1",
             run->max_it);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-device", run->device, sizeof(run->device), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-commit", run->commit, sizeof(run->commit), NULL));
  PetscCheck(!strpbrk(run->device, ",\"\n") && !strpbrk(run->commit, ",\"\n"), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-device %s, -commit %s: no quotes, commas or new lines", run->device, run->commit);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), NULL));
  if (file[0]) {
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &run->csv));
    PetscCheck(!run->csv || !setvbuf(run->csv, NULL, _IOLBF, 0), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
               "setvbuf() failed"); /* a run that is cut short leaves its rows */
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, run->csv,
                           "device,commit,matrix,what,local_iters,block_size,iterations,microseconds\n"));
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Run run = {
    .local_iters = {1,  2, 3, 4, 5, 6, 7, 9},
    .nlocal      = 8,
    .block_size  = {32, 64, 128,  256,  512},
    .nblock      = 5,
    .samples     = 5,
    .max_it      = 20000,
    .rtol        = PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-10,
    .seconds     = 0.1,
    .device      = "unknown",
    .commit      = "unknown"
  };

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(SetFromOptions(&run));
  PetscCall(ForMatrices(TimeMatrix, &run));
  if (run.csv) PetscCall(PetscFClose(PETSC_COMM_WORLD, run.csv));
  PetscCall(PetscFinalize());
  return 0;
}
