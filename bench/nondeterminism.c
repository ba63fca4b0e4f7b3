#include <petscbai.h>
#include "gallery.h"
#include <omp.h>
#include <string.h>

static char help[] = "How much the results of block-asynchronous iteration vary from run to run, as CSV.\n\n\
  ./nondeterminism                          fv1, fv3 and Trefethen_2000 in all modes, at the iterations of the\n\
                                            published tables\n\
  -matrix fv1,fv3,trefethen                 of these\n\
  -mode async,launch,sync,color             modes\n\
  -runs <1000,10,1000>                      runs of each matrix\n\
  -looks <false>                            one solve a run, interrupted to look, not a solve for each number of\n\
                                            iterations\n\
  -csv <file>                               where the table goes, instead of the terminal\n\
  -device <name>                            device, for the table\n\
  -mat_type aijcusparse, -ksp_bai_backend cuda  on a GPU\n\n";

/*
   The settings of H. Anzt, "Asynchronous and Multiprecision Linear Solvers", Section 4.3, Tables 4.1 to 4.4, and of its
   preprint for fv3: b = ones, x = 0, six updates per global iteration; tests/ksp_published.c says why six, and why fv1
   has blocks of 112 rows. ||b - A x||/||b|| after a number of global iterations varies
*/
typedef struct {
  const char *matrix, *name;
  PetscInt    block_size, every, looks, runs;
} Published;

static const Published published[] = {
  {"fv1",       "fv1",            112, 10,   15, 1000},
  {"fv3",       "fv3",            512, 1000, 9,  10  },
  {"trefethen", "Trefethen_2000", 128, 5,    10, 1000}
};

enum {
  MAX_LOOKS = 15,
  MATRICES  = 3,
  MODES     = 4
};

/* Mean, and sum of squared differences from it, of what came so far (B. P. Welford, Technometrics 4, 1962) */
typedef struct {
  PetscInt  n;
  PetscReal mean, squares, min, max;
} Sample;

static void Take(Sample *s, PetscReal value)
{
  const PetscReal difference = value - s->mean;

  s->n++;
  s->mean += difference / (PetscReal)s->n;
  s->squares += difference * (value - s->mean);
  s->min = s->n == 1 ? value : PetscMin(s->min, value);
  s->max = s->n == 1 ? value : PetscMax(s->max, value);
}

/* ||b - A x||/||b|| after each number of iterations */
static PetscErrorCode Run(KSP ksp, const Published *p, PetscBool looks, Vec b, Vec x, Vec r, PetscReal residual[])
{
  Mat       A;
  PetscReal bnorm;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  for (PetscInt k = 0; k < p->looks; k++) {
    PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)(looks && k)));
    PetscCall(
      KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, looks ? p->every : (k + 1) * p->every));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(MatResidual(A, b, x, r));
    PetscCall(VecNorm(r, NORM_2, &residual[k]));
    residual[k] /= bnorm;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(Mat A, const Published *p, BAIMode mode, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPBAI));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_NONE));
  PetscCall(KSPBAISetLocalIters(*ksp, 6));
  PetscCall(KSPBAISetBlockSize(*ksp, p->block_size));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPBAISetMode(*ksp, mode));
  PetscFunctionReturn(0);
}

static PetscErrorCode Vary(const Published *p, BAIMode mode, PetscInt runs, PetscBool looks, const char device[],
                           FILE *csv)
{
  Mat        A;
  Vec        b, x, r;
  KSP        ksp;
  Sample     sample[MAX_LOOKS] = {{0}};
  BAIBackend backend;
  PetscBool  cuda;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, p->matrix, PETSC_DEFAULT, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1));
  PetscCall(CreateSolver(A, p, mode, &ksp));
  PetscCall(KSPBAIGetBackend(ksp, &backend));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &cuda, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  cuda = (PetscBool)(backend == BAI_BACKEND_CUDA || (backend == BAI_BACKEND_AUTO && cuda));
  for (PetscInt run = 0; run < runs; run++) {
    PetscReal residual[MAX_LOOKS];

    PetscCall(Run(ksp, p, looks, b, x, r, residual));
    for (PetscInt k = 0; k < p->looks; k++) Take(&sample[k], residual[k]);
  }
  for (PetscInt k = 0; k < p->looks; k++) {
    const Sample   *s        = &sample[k];
    const PetscReal variance = runs > 1 ? s->squares / (PetscReal)(runs - 1) : 0, deviation = PetscSqrtReal(variance);

    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, csv,
                           "%s,%s,%d,%s,%s,%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
                           ",%.4e,%.4e,%.4e,%.4e,%.4e,%.4e,%.4e\n",
                           device, cuda ? "cuda" : "host", cuda ? 0 : omp_get_max_threads(), looks ? "looks" : "whole",
                           p->name, BAIModes[mode], p->block_size, (k + 1) * p->every, runs, (double)s->mean,
                           (double)s->min, (double)s->max, (double)variance, (double)deviation,
                           (double)(deviation / PetscSqrtReal((PetscReal)runs)),
                           (double)((s->max - s->min) / s->mean)));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Which of the known names an option lists; all, if it is not given */
static PetscErrorCode GetNames(const char option[], PetscInt n, const char *const known[], PetscBool taken[])
{
  char     *names[16];
  PetscInt  count = 16;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, option, names, &count, &set));
  for (PetscInt k = 0; k < n; k++) taken[k] = (PetscBool)!set;
  for (PetscInt c = 0; set && c < count; c++) {
    PetscBool is = PETSC_FALSE;

    for (PetscInt k = 0; k < n; k++) {
      if (!strcmp(names[c], known[k])) taken[k] = is = PETSC_TRUE;
    }
    PetscCheck(is, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "%s %s: must be one of %s, %s, ...", option, names[c],
               known[0], known[1]);
    PetscCall(PetscFree(names[c]));
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const char *const matrices[MATRICES]       = {published[0].matrix, published[1].matrix, published[2].matrix};
  char              file[PETSC_MAX_PATH_LEN] = "", device[128] = "unknown";
  PetscBool         matrix[MATRICES], mode[MODES], looks = PETSC_FALSE, set;
  PetscInt          runs[MATRICES] = {published[0].runs, published[1].runs, published[2].runs}, nruns = MATRICES;
  FILE             *csv;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(GetNames("-matrix", MATRICES, matrices, matrix));
  PetscCall(GetNames("-mode", MODES, BAIModes, mode));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-runs", runs, &nruns, &set));
  if (set) {
    for (PetscInt k = nruns; k < MATRICES; k++) runs[k] = runs[nruns - 1];
  }
  for (PetscInt k = 0; k < MATRICES; k++)
    PetscCheck(runs[k] > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-runs %" PetscInt_FMT " must be at least 1",
               runs[k]);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-looks", &looks, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-device", device, sizeof(device), NULL));
  PetscCheck(!strpbrk(device, ",\"\n"), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-device %s: no quotes, commas or new lines", device);
  csv = PETSC_STDOUT;
  if (file[0]) PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &csv));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, csv,
                         "device,backend,threads,solves,matrix,mode,block_size,iterations,runs,mean,min,max,variance,"
                         "standard_deviation,standard_error,relative_variation\n"));
  for (int k = 0; k < MATRICES; k++) {
    for (int m = 0; m < MODES; m++) {
      if (matrix[k] && mode[m]) PetscCall(Vary(&published[k], (BAIMode)m, runs[k], looks, device, csv));
    }
  }
  if (file[0]) PetscCall(PetscFClose(PETSC_COMM_WORLD, csv));
  PetscCall(PetscFinalize());
  return 0;
}
