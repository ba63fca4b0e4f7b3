#include "now.h"
#include <petscbai.h>
#include <petscdmda.h>

static char help[] =
  "Geometric multigrid (PCMG) with two grids for 7 points in three dimensions: milliseconds of set-up, of the first\n\
solve and of later ones, for each solver of the coarse grid.\n\n\
  ./coarse -n 8,16,32,64                           points of the coarse grid in each direction\n\
  ./coarse -dm_mat_type aijcusparse -dm_vec_type cuda    on a GPU\n\
  -ways <redundant,cg,bai>    LU on all ranks, CG with Jacobi, KSPBAI; the last two to 1e-4\n\
  -lu_max <32>                points in each direction at most for redundant, which takes minutes for 64\n\
  -rtol <1e-8>                of the norm of b - A x on the fine grid, by FGMRES\n\
  -samples <5>                set-ups and solves after the first of each, of which the median is taken\n\n\
The smoother of the fine grid is Chebyshev with Jacobi; options with the prefix mg_levels_ choose others.\n\n";

enum {
  MAX_SIZES   = 16,
  MAX_SAMPLES = 101
};

static const struct {
  const char *name, *options;
} ways[] = {
  {"redundant", "-mg_coarse_ksp_type preonly -mg_coarse_pc_type redundant"                 },
  {"cg",        "-mg_coarse_ksp_type cg -mg_coarse_pc_type jacobi -mg_coarse_ksp_rtol 1e-4"},
  {"bai",       "-mg_coarse_ksp_type bai -mg_coarse_pc_type baimg -mg_coarse_ksp_rtol 1e-4"}
};
enum {
  NWAYS = PETSC_STATIC_ARRAY_LENGTH(ways)
};

typedef struct {
  PetscInt  nsizes, sizes[MAX_SIZES], lu_max, samples;
  PetscReal rtol;
  PetscBool wanted[NWAYS];
} Run;

typedef struct {
  Mat fine, coarse, interpolation;
  Vec b, x;
} Grids;

/* -div grad u with u = 0 on the boundary, whose points are in the grid and not coupled to others; b, if it is not NULL,
   is of ones, and of zeros there */
static PetscErrorCode CreateMatrix(DM dm, Mat *A, Vec b)
{
  DMDALocalInfo  info;
  PetscReal      h;
  PetscScalar ***values = NULL;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  h = (PetscReal)1 / (PetscReal)(info.mx - 1);
  PetscCall(DMCreateMatrix(dm, A));
  if (b) PetscCall(DMDAVecGetArray(dm, b, &values));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        MatStencil  row = {.i = i, .j = j, .k = k}, cols[7] = {row};
        PetscScalar entries[7] = {6 * h};
        PetscInt    n          = 1;
        PetscBool   inside[7];

        for (int s = 0; s < 7; s++) {
          const PetscInt side = s % 2 ? 1 : -1;
          MatStencil     at   = row;

          if (s < 2) at.i += side;
          else if (s < 4) at.j += side;
          else if (s < 6) at.k += side;
          inside[s] = (PetscBool)(PetscMin(at.i, PetscMin(at.j, at.k)) > 0 &&
                                  PetscMax(at.i, PetscMax(at.j, at.k)) < info.mx - 1);
          if (s == 6 || !inside[s]) continue;
          cols[n]      = at;
          entries[n++] = -h;
        }
        if (!inside[6]) n = 1;
        PetscCall(MatSetValuesStencil(*A, 1, &row, n, cols, entries, INSERT_VALUES));
        if (values) values[k][j][i] = inside[6] ? h * h * h : 0;
      }
    }
  }
  if (b) PetscCall(DMDAVecRestoreArray(dm, b, &values));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateGrids(PetscInt n, Grids *g)
{
  DM coarse, fine;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n,
                         n, n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &coarse));
  PetscCall(DMSetFromOptions(coarse));
  PetscCall(DMSetUp(coarse));
  PetscCall(DMRefine(coarse, PETSC_COMM_WORLD, &fine));
  PetscCall(DMCreateGlobalVector(fine, &g->b));
  PetscCall(VecDuplicate(g->b, &g->x));
  PetscCall(CreateMatrix(coarse, &g->coarse, NULL));
  PetscCall(CreateMatrix(fine, &g->fine, g->b));
  PetscCall(DMCreateInterpolation(coarse, fine, &g->interpolation, NULL));
  PetscCall(DMDestroy(&coarse));
  PetscCall(DMDestroy(&fine));
  PetscFunctionReturn(0);
}

static PetscErrorCode DestroyGrids(Grids *g)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&g->fine));
  PetscCall(MatDestroy(&g->coarse));
  PetscCall(MatDestroy(&g->interpolation));
  PetscCall(VecDestroy(&g->b));
  PetscCall(VecDestroy(&g->x));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(const Run *run, const Grids *g, int way, KSP *ksp)
{
  PC  pc, smoother;
  KSP level;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, ways[way].options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, g->fine, g->fine));
  PetscCall(KSPSetType(*ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(*ksp, run->rtol, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, 2, NULL));
  PetscCall(PCMGSetInterpolation(pc, 1, g->interpolation));
  PetscCall(PCMGGetSmoother(pc, 1, &level));
  PetscCall(KSPGetPC(level, &smoother));
  PetscCall(PCSetType(smoother, PCJACOBI));
  PetscCall(PCMGGetCoarseSolve(pc, &level));
  PetscCall(KSPSetOperators(level, g->coarse, g->coarse));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode Timed(PetscErrorCode (*work)(KSP, const Grids *), KSP ksp, const Grids *g, PetscReal *ms)
{
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(Now(&start));
  PetscCall(work(ksp, g));
  PetscCall(Now(&end));
  *ms = (PetscReal)(1e3 * (end - start));
  PetscFunctionReturn(0);
}

/* With the factorization that PCREDUNDANT would leave to the first solve */
static PetscErrorCode SetUp(KSP ksp, const Grids *g)
{
  PC        pc;
  KSP       inner;
  PetscBool redundant;

  (void)g;
  PetscFunctionBeginUser;
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetCoarseSolve(pc, &inner));
  PetscCall(KSPGetPC(inner, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCREDUNDANT, &redundant));
  if (!redundant) PetscFunctionReturn(0);
  PetscCall(PCRedundantGetKSP(pc, &inner));
  PetscCall(KSPSetUp(inner));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(KSP ksp, const Grids *g)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSolve(ksp, g->b, g->x));
  PetscFunctionReturn(0);
}

/* With a set-up and a solve before, which load libraries */
static PetscErrorCode TimeWay(const Run *run, PetscInt n, const Grids *g, int way)
{
  KSP                ksp = NULL;
  Vec                r;
  PetscInt           its;
  PetscReal          setup[MAX_SAMPLES], later[MAX_SAMPLES], first, again, usual, residual, bnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  for (PetscInt k = -1; k < run->samples; k++) {
    PetscCall(KSPDestroy(&ksp));
    PetscCall(CreateSolver(run, g, way, &ksp));
    PetscCall(Timed(SetUp, ksp, g, &setup[PetscMax(k, 0)]));
    if (k < 0) PetscCall(Solve(ksp, g));
  }
  PetscCall(Timed(Solve, ksp, g, &first));
  for (PetscInt k = 0; k < run->samples; k++) PetscCall(Timed(Solve, ksp, g, &later[k]));
  PetscCall(Median(run->samples, setup, &again));
  PetscCall(Median(run->samples, later, &usual));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecDuplicate(g->b, &r));
  PetscCall(MatResidual(g->fine, g->b, g->x, r));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(g->b, NORM_2, &bnorm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%3" PetscInt_FMT "^3 points  %-10s %3" PetscInt_FMT "%c %9.3f set-up %9.3f first %9.3f later "
                        "%.1e\n",
                        n, ways[way].name, its, reason > 0 ? ' ' : '*', (double)again, (double)first, (double)usual,
                        (double)(residual / bnorm)));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetFromOptions(Run *run)
{
  char     *names[NWAYS];
  PetscInt  count = NWAYS;
  PetscBool set;

  PetscFunctionBeginUser;
  run->nsizes = MAX_SIZES;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", run->sizes, &run->nsizes, &set));
  if (!set) run->nsizes = 4;
  for (PetscInt k = 0; k < run->nsizes; k++)
    PetscCheck(run->sizes[k] > 2, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-n %" PetscInt_FMT ": must be at least 3",
               run->sizes[k]);
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-ways", names, &count, &set));
  for (int w = 0; w < NWAYS; w++) run->wanted[w] = (PetscBool)!set;
  for (PetscInt k = 0; set && k < count; k++) {
    PetscBool known = PETSC_FALSE, same;

    for (int w = 0; w < NWAYS; w++) {
      PetscCall(PetscStrcmp(names[k], ways[w].name, &same));
      if (same) run->wanted[w] = known = PETSC_TRUE;
    }
    PetscCheck(known, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-ways %s: redundant, cg or bai", names[k]);
    PetscCall(PetscFree(names[k]));
  }
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-lu_max", &run->lu_max, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &run->rtol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &run->samples, NULL));
  PetscCheck(run->samples > 0 && run->samples <= MAX_SAMPLES, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-samples %" PetscInt_FMT ": must be between 1 and %d", run->samples, (int)MAX_SAMPLES);
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Run run = {
    .sizes = {8, 16, 32, 64},
      .lu_max = 32, .samples = 5, .rtol = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8
  };

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(SetFromOptions(&run));
  for (PetscInt k = 0; k < run.nsizes; k++) {
    Grids grids;

    PetscCall(CreateGrids(run.sizes[k], &grids));
    for (int w = 0; w < NWAYS; w++)
      if (run.wanted[w] && (w || run.sizes[k] <= run.lu_max)) PetscCall(TimeWay(&run, run.sizes[k], &grids, w));
    PetscCall(DestroyGrids(&grids));
  }
  PetscCall(PetscFinalize());
  return 0;
}
