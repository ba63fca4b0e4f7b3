#include <petscbai.h>
#include <petscdmda.h>
#include "baicompat.h"
#include "gallery.h"
#include "now.h"
#include "../bench/parts/bench.h"
#include "../bench/parts/energy.h"
#include "../src/relaxation/shared.h"
#include <string.h>
#include <sys/resource.h>

static char help[] =
  "Runs solves one after the other, and writes a table of their times and iterations. The experiments of the papers\n\
are lists of them: see run.py.\n\n\
  ./solves -cases file        each line is a name, a tab, and the options of a solve\n\
  -csv <file>                 where the table goes, instead of the terminal\n\n\
Beside those of PETSc and KSPBAI, options of a solve are:\n\
  -matrix fv1 -n 98           a matrix of the gallery, or line: tridiag(-1, 2 + epsilon, -1) on a one-dimensional\n\
                              DMDA, for PCMG\n\
  -f matrix.mtx               or one of a Matrix Market file\n\
  -epsilon <0.01>             of line\n\
  -at 10,20,50                the residual after these iterations, each going on from the one before\n\
  -seconds <0>                whole solves are repeated so long, once at least; times are medians, energy is the mean\n\
  -find <text>                the first number that follows this text in -ksp_view\n\n";

/* Kept from the last solve for the next one, if it has the same */
typedef struct {
  char key[1024];
  Mat  A;
  DM   dm;
  Vec  b, x, r;
} System_;

typedef struct {
  const char *name;
  FILE       *csv;
  KSP         ksp;
  PetscReal   bnorm;
  double      found; /* by -find, or a NaN */
} Run;

static double CPUTime(void)
{
  struct rusage usage;

  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
    1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* tridiag(-1, 2 + epsilon, -1), with a DM from which PCMG makes coarser levels */
static PetscErrorCode CreateLine(PetscInt n, DM *dm, Mat *A)
{
  PetscReal   epsilon = 0.01;
  PetscInt    start, end;
  PetscScalar values[3] = {-1, 0, -1};

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-epsilon", &epsilon, NULL));
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, n > 0 ? n : 1025, 1, 1, NULL, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMCreateMatrix(*dm, A));
  PetscCall(MatGetSize(*A, &n, NULL));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  values[1] = 2 + epsilon;
  for (PetscInt row = start; row < end; row++) {
    const PetscInt cols[3] = {row - 1, row, row < n - 1 ? row + 1 : -1};

    PetscCall(MatSetValues(*A, 1, &row, 3, cols, values, INSERT_VALUES)); /* negative columns are left out */
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SystemDestroy(System_ *s)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&s->b));
  PetscCall(VecDestroy(&s->x));
  PetscCall(VecDestroy(&s->r));
  PetscCall(MatDestroy(&s->A));
  PetscCall(DMDestroy(&s->dm));
  s->key[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That of the present options, with b = 1, as in all of the papers' experiments */
static PetscErrorCode SystemCreate(System_ *s)
{
  char matrix[64] = "fv1", file[PETSC_MAX_PATH_LEN] = "", type[64] = "", dmtype[64] = "", epsilon[64] = "",
       key[sizeof(s->key)];
  PetscInt  n = 0;
  PetscBool line;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", matrix, sizeof(matrix), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof(file), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_mat_type", dmtype, sizeof(dmtype), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-epsilon", epsilon, sizeof(epsilon), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s %s %s %s %s %" PetscInt_FMT, file, file[0] ? "" : matrix, type, dmtype,
                          epsilon, n));
  if (!strcmp(key, s->key)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SystemDestroy(s));
  PetscCall(PetscStrcmp(matrix, "line", &line));
  if (file[0]) PetscCall(MatrixMarketLoad(PETSC_COMM_WORLD, file, &s->A));
  else if (line) PetscCall(CreateLine(n, &s->dm, &s->A));
  else PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, matrix, n, &s->A));
  PetscCall(MatCreateVecs(s->A, &s->x, &s->b));
  PetscCall(VecDuplicate(s->b, &s->r));
  PetscCall(VecSet(s->b, 1));
  memcpy(s->key, key, sizeof(key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(const Run *run, System_ *s, PetscReal *norm)
{
  PetscFunctionBeginUser;
  PetscCall(MatResidual(s->A, s->b, s->x, s->r));
  PetscCall(VecNorm(s->r, NORM_2, norm));
  *norm /= run->bnorm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first number after a text in the view of the solver */
static PetscErrorCode Find(Run *run)
{
  char        text[16384] = "", what[128];
  const char *place;
  PetscBool   set;
  PetscMPIInt rank;
  PetscViewer viewer;
  FILE       *file = NULL;

  PetscFunctionBeginUser;
  run->found = NAN;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-find", what, sizeof(what), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) file = tmpfile();
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
  PetscCall(KSPView(run->ksp, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (rank) PetscFunctionReturn(PETSC_SUCCESS);
  rewind(file);
  text[fread(text, 1, sizeof(text) - 1, file)] = 0;
  fclose(file);
  for (char *c = what; *c; c++) *c = *c == '_' ? ' ' : *c; /* options cannot have spaces */
  place = strstr(text, what);
  if (place) place = strpbrk(place + strlen(what), "0123456789");
  if (place) run->found = strtod(place, NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Row(const Run *run, System_ *s, PetscInt its, PetscReal residual, KSPConvergedReason reason,
                          PetscInt solves, double setup, double seconds, double cpu, double gpu_joules,
                          double cpu_joules)
{
  MatInfo  info;
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(s->A, &n, NULL));
  PetscCall(MatGetInfo(s->A, MAT_GLOBAL_SUM, &info));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, run->csv,
                         "\"%s\",%" PetscInt_FMT ",%.0f,%" PetscInt_FMT ",%.5e,%s,%" PetscInt_FMT
                         ",%.5e,%.5e,%.4g,%.5g,%.5g,%.6g\n",
                         run->name, n, info.nz_used, its, (double)residual, KSPConvergedReasons[reason], solves, setup,
                         seconds, cpu, gpu_joules, cpu_joules, run->found));
  if (run->csv) fflush(run->csv);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual after each number of iterations */
static PetscErrorCode RunAt(Run *run, System_ *s, PetscInt looks, const PetscInt at[])
{
  PetscReal      residual;
  PetscLogDouble begin, end, setup, all = 0;
  PetscInt       done = 0;

  PetscFunctionBeginUser;
  PetscCall(KSPSetNormType(run->ksp, KSP_NORM_NONE));
  PetscCall(Now(&begin));
  PetscCall(KSPSetUp(run->ksp));
  PetscCall(Now(&end));
  setup = end - begin;
  PetscCall(VecZeroEntries(s->x));
  for (PetscInt k = 0; k < looks; k++) {
    if (at[k] > done) {
      PetscCall(KSPSetInitialGuessNonzero(run->ksp, (PetscBool)(done > 0)));
      PetscCall(KSPSetTolerances(run->ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, at[k] - done));
      PetscCall(Now(&begin));
      PetscCall(KSPSolve(run->ksp, s->b, s->x));
      PetscCall(Now(&end));
      all += end - begin;
      done = at[k];
    }
    PetscCall(Residual(run, s, &residual));
    if (!k) PetscCall(Find(run));
    PetscCall(Row(run, s, done, residual, KSP_CONVERGED_ITS, 1, setup, all, NAN, NAN, NAN));
    if (PetscIsInfOrNanReal(residual) || residual > 1e30) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does nothing, but keeps KSPRICHARDSON from handing all iterations to its preconditioner, which would not look at the
 * residual */
static PetscErrorCode Watch(KSP ksp, PetscInt its, PetscReal rnorm, void *ctx)
{
  (void)ksp;
  (void)its;
  (void)rnorm;
  (void)ctx;
  return 0;
}

/* Whole solves from zero: the first one, and then for a number of seconds, as the counters of energy move slowly */
static PetscErrorCode RunWhole(Run *run, System_ *s, PetscReal seconds)
{
  enum {
    MOST = 100000
  };
  PetscReal         *sample, residual;
  PetscLogDouble     begin, end, start, setup;
  PetscInt           its, count = 0, more = 1;
  KSPConvergedReason reason;
  PetscBool          richardson;
  BAISharedDevice    device; /* that this rank works on, if there is one */
  unsigned char     *gpu = BAISharedDeviceGet(BAI_BACKEND_CUDA, &device).code ? NULL : device.bytes;
  BAIEnergyMeter     before, after;
  double             cpu, wall, joules[2];

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompare((PetscObject)run->ksp, KSPRICHARDSON, &richardson));
  if (richardson) PetscCall(KSPMonitorSet(run->ksp, Watch, NULL, NULL));
  PetscCall(KSPSetInitialGuessNonzero(run->ksp, PETSC_FALSE));
  PetscCall(Now(&begin));
  PetscCall(KSPSetUp(run->ksp));
  PetscCall(Now(&end));
  setup = end - begin;
  PetscCall(Now(&begin));
  PetscCall(KSPSolve(run->ksp, s->b, s->x));
  PetscCall(Now(&end));
  PetscCall(PetscMalloc1(MOST, &sample));
  sample[0] = end - begin;
  if (seconds > 0) {
    if (sample[0] < seconds)
      PetscCall(KSPSolve(run->ksp, s->b, s->x)); /* the next solve knows what a slow one has learnt */
    PetscCall(Now(&start));
    BAIEnergyRead(gpu, &before);
    cpu = CPUTime();
    while (more && count < MOST) {
      PetscCall(Now(&begin));
      PetscCall(KSPSolve(run->ksp, s->b, s->x));
      PetscCall(Now(&end));
      sample[count++] = end - begin;
      more            = end - start < seconds;
      PetscCallMPI(MPI_Bcast(&more, 1, MPIU_INT, 0, PETSC_COMM_WORLD));
    }
    cpu = CPUTime() - cpu;
    BAIEnergyRead(gpu, &after);
    wall      = end - start;
    joules[0] = BAIEnergyOfGPU(&before, &after);
    joules[1] = BAIEnergyOfCPU(&before, &after);
    for (int k = 0; k < 2; k++) joules[k] = joules[k] < 0 ? NAN : joules[k] / (double)count;
    cpu /= wall;
    PetscCall(PetscSortReal(count, sample));
  } else {
    count     = 1;
    cpu       = NAN;
    joules[0] = joules[1] = NAN;
  }
  PetscCall(KSPGetIterationNumber(run->ksp, &its));
  PetscCall(KSPGetConvergedReason(run->ksp, &reason));
  PetscCall(Residual(run, s, &residual));
  PetscCall(Find(run));
  PetscCall(Row(run, s, its, residual, reason, count, setup, sample[count / 2], cpu, joules[0], joules[1]));
  PetscCall(PetscFree(sample));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(Run *run, System_ *s)
{
  PetscInt  at[256], looks = 256;
  PetscReal seconds = 0;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(SystemCreate(s));
  PetscCall(VecNorm(s->b, NORM_2, &run->bnorm));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &run->ksp));
  PetscCall(KSPSetOperators(run->ksp, s->A, s->A));
  if (s->dm) {
    PetscCall(KSPSetDM(run->ksp, s->dm));
    PetscCall(KSPSetDMActive(run->ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  }
  PetscCall(KSPSetFromOptions(run->ksp));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-at", at, &looks, &set));
  run->found = NAN;
  if (set) PetscCall(RunAt(run, s, looks, at));
  else PetscCall(RunWhole(run, s, seconds));
  PetscCall(KSPDestroy(&run->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options of a case stand for all others meanwhile, but for those of the command line, which it begins with */
static PetscErrorCode RunLine(char line[], FILE *csv, const char all[], System_ *s)
{
  Run          run = {.csv = csv};
  PetscOptions options;

  PetscFunctionBeginUser;
  run.name = strsep(&line, "\t");
  PetscCheck(line, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "case %s: a tab and options must follow", run.name);
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, all));
  PetscCall(PetscOptionsInsertString(options, line));
  PetscCall(PetscOptionsPush(options));
  PetscCall(RunCase(&run, s));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  System_ s                         = {.A = NULL};
  char    cases[PETSC_MAX_PATH_LEN] = "", file[PETSC_MAX_PATH_LEN] = "", line[4096], *all;
  FILE   *in, *csv;
  size_t  length;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-cases", cases, sizeof(cases), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), NULL));
  PetscCheck(cases[0], PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-cases must name a file");
  PetscCall(PetscOptionsGetAll(NULL, &all));
  csv = PETSC_STDOUT;
  in  = fopen(cases, "r");
  PetscCheck(in, PETSC_COMM_WORLD, PETSC_ERR_FILE_OPEN, "-cases %s cannot be read", cases);
  if (file[0]) PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "a", &csv));
  while (fgets(line, sizeof(line), in)) {
    length = strcspn(line, "\n");
    PetscCheck(line[length], PETSC_COMM_WORLD, PETSC_ERR_FILE_READ,
               "-cases %s: a line has more than %d characters, or no end", cases, (int)sizeof(line) - 2);
    line[length] = 0;
    if (length) PetscCall(RunLine(line, csv, all, &s));
  }
  fclose(in);
  if (file[0]) PetscCall(PetscFClose(PETSC_COMM_WORLD, csv));
  PetscCall(PetscFree(all));
  PetscCall(SystemDestroy(&s));
  PetscCall(PetscFinalize());
  return 0;
}
