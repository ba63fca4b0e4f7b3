#include <petscbai.h>
#include <petscdevice.h>
#include <petscdmda.h>
#include <petsctime.h>
#include "gallery.h"
#include "now.h"
#include "../tests/option.h"
#include <string.h>
#include <time.h>

static char help[] =
  "Times block-asynchronous iteration on 1, 2, 4, ... of the processes it runs on, as ratios to one of them,\n\
beside PETSc's solvers.\n\n\
  mpiexec -n 4 ./ranks -mat_type aijcusparse    on four GPUs, all parts in their usual sizes\n\
  -solves fv1,fv3,trefethen,laplace3d -solves_n 0,0,20000,48  whole solves to -rtol <1e-10>\n\
  -iterations 200,318      points in each direction of Laplacians, -its <300> global iterations of mode async\n\
  -weak 200                the same, with this number of points in each direction for each process\n\
  -levels 200,300          KSPBAI with levels on Laplacians to -rtol: the first set-up, another one, a later solve,\n\
                           the last two together, and a set-up for new values\n\
  -levels_weak 200         the same, with this number of points in each direction for each process\n\
  -mg 257                  multigrid on such a grid, V(1,1) with PCBAI, to 1e-8\n\
  -gamg 129                PCGAMG with PCBAI on this number of points in each direction for each process\n\
  -modes 100               solves by relaxation in the modes sync and async: for a run with one GPU slowed down, and\n\
                           one without\n\
  -ways auto,dk,cg         only these, by their names in the table\n\
  -ranks 1,2,4             numbers of processes, those that there are\n\
  -samples <3>             timings of which the median is taken\n\
  -csv <file>, -device <name>, -commit <name>\n\n";

enum {
  MAX_LIST = 16,
  MAX_WAYS = 8
};

typedef struct {
  MPI_Comm    comm; /* of the first processes; the others wait */
  PetscMPIInt ranks;
  PetscInt    samples, its;
  PetscReal   rtol;
  char        type[64]; /* of matrices */
  FILE       *csv;
  char        device[128], commit[64], date[16];
  char       *ways[MAX_LIST];
  PetscInt    nways;         /* 0: all */
  PetscReal   one[MAX_WAYS]; /* seconds of one process, of each way; 0: none */
} Run;

/* A solver that is timed */
typedef struct {
  const char *name;
  const char *ksp, *pc;
  BAIExchange exchange;
  BAIMode     mode;
  PetscBool   alone; /* on one process as well */
} Way;

/* A matrix, and the arrays that it is made of, if these are not its own */
typedef struct {
  Mat          A;
  PetscInt    *i[2], *j[2];
  PetscScalar *a[2];
} System;

/* Ways that differ only in the exchange between ranks are one on a single process, the first */
static PetscBool IsWanted(Run *run, const Way *way, PetscInt w)
{
  PetscBool wanted = (PetscBool)!run->nways;

  if (run->ranks == 1) run->one[w] = way->alone ? 0 : run->one[0];
  for (PetscInt k = 0; k < run->nways; k++) wanted = (PetscBool)(wanted || !strcmp(run->ways[k], way->name));
  return (PetscBool)(wanted && (run->ranks > 1 || way->alone));
}

static PetscErrorCode Say(Run *run, const char part[], const char system[], PetscInt n, const Way *way, PetscInt w,
                          PetscReal seconds, PetscInt its)
{
  PetscMPIInt rank;
  PetscReal   ratio;

  PetscFunctionBeginUser;
  if (run->ranks == 1) run->one[w] = seconds;
  ratio = run->one[w] > 0 ? seconds / run->one[w] : 0;
  PetscCallMPI(MPI_Comm_rank(run->comm, &rank));
  if (rank) PetscFunctionReturn(0);
  printf("%-10s %-10s %6d %d %-10s %10.3f ms %5d its  %.3f\n", part, system, (int)n, (int)run->ranks, way->name,
         1e3 * (double)seconds, (int)its, (double)ratio);
  fflush(stdout);
  if (!run->csv) PetscFunctionReturn(0);
  fprintf(run->csv, "%s,%s,%d,%d,%s,%g,%d,%.4g,\"%s\",%s,%s\n", part, system, (int)n, (int)run->ranks, way->name,
          (double)seconds, (int)its, (double)ratio, run->device, run->commit, run->date);
  fflush(run->csv);
  PetscFunctionReturn(0);
}

/* The seven-point Laplacian, numbered plane by plane, as the gallery has it; its rows are written where they are used,
 * as there are many */
static PetscErrorCode CreateLaplacian(const Run *run, PetscInt nx, PetscInt ny, PetscInt nz, System *s)
{
  const PetscInt N = nx * ny * nz, step[] = {-nx * ny, -nx, -1, 1, nx, nx * ny};
  PetscInt       n, first, last, at[2] = {0, 0};
  PetscLayout    layout;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscCall(PetscLayoutCreateFromSizes(run->comm, PETSC_DECIDE, N, 1, &layout));
  PetscCall(PetscLayoutGetRange(layout, &first, &last));
  PetscCall(PetscLayoutDestroy(&layout));
  n = last - first;
  for (int pass = 0; pass < 2; pass++) {
    at[0] = at[1] = 0;
    for (PetscInt row = first; row < last; row++) {
      const PetscInt  x = row % nx, y = row / nx % ny, z = row / (nx * ny);
      const PetscBool there[] = {(PetscBool)(z > 0),      (PetscBool)(y > 0),      (PetscBool)(x > 0),
                                 (PetscBool)(x < nx - 1), (PetscBool)(y < ny - 1), (PetscBool)(z < nz - 1)};

      for (int k = 0; k < 7; k++) {
        const int       e    = k < 3 ? k : k - 1;
        const PetscInt  col  = k == 3 ? row : row + step[e];
        const PetscBool mine = (PetscBool)(col >= first && col < last);

        if (k != 3 && !there[e]) continue;
        if (pass) {
          s->j[!mine][at[!mine]] = mine ? col - first : col;
          s->a[!mine][at[!mine]] = k == 3 ? 6 : -1;
        }
        at[!mine]++;
      }
      for (int part = 0; part < 2 && pass; part++) s->i[part][row - first + 1] = at[part];
    }
    for (int part = 0; part < 2 && !pass; part++)
      PetscCall(PetscMalloc3(n + 1, &s->i[part], at[part] + 1, &s->j[part], at[part] + 1, &s->a[part]));
    s->i[0][0] = s->i[1][0] = 0;
  }
  if (run->ranks == 1) PetscCall(MatCreateSeqAIJWithArrays(run->comm, N, N, s->i[0], s->j[0], s->a[0], &s->A));
  else
    PetscCall(MatCreateMPIAIJWithSplitArrays(run->comm, n, n, N, N, s->i[0], s->j[0], s->a[0], s->i[1], s->j[1],
                                             s->a[1], &s->A));
  if (run->type[0]) PetscCall(MatConvert(s->A, run->type, MAT_INPLACE_MATRIX, &s->A));
  PetscFunctionReturn(0);
}

static PetscErrorCode DestroySystem(System *s)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&s->A));
  for (int part = 0; part < 2; part++) {
    if (s->i[part]) PetscCall(PetscFree3(s->i[part], s->j[part], s->a[part]));
  }
  PetscFunctionReturn(0);
}

/* Once the processes of this run, and their devices, have come to this point */
static PetscErrorCode Clock(const Run *run, PetscLogDouble *time)
{
  PetscFunctionBeginUser;
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) PetscCall(PetscDeviceContextSynchronize(NULL));
  PetscCallMPI(MPI_Barrier(run->comm));
  PetscCall(PetscTime(time));
  PetscFunctionReturn(0);
}

/* Median seconds of a solve by the slowest process; the first one, with the set-up, does not count */
static PetscErrorCode TimeSolves(const Run *run, KSP ksp, Vec b, Vec x, PetscReal *seconds)
{
  PetscReal sample[MAX_LIST];

  PetscFunctionBeginUser;
  for (PetscInt k = -1; k < run->samples; k++) {
    PetscLogDouble start, end;
    PetscReal      mine;

    PetscCall(VecSet(x, 0));
    PetscCall(Clock(run, &start));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Clock(run, &end));
    mine = (PetscReal)(end - start);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPIU_REAL, MPI_MAX, run->comm));
    if (k >= 0) sample[k] = mine;
  }
  PetscCall(Median(run->samples, sample, seconds));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(const Run *run, Mat A, const Way *way, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(run->comm, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, way->ksp));
  PetscCall(KSPGetPC(*ksp, &pc));
  if (way->pc) PetscCall(PCSetType(pc, way->pc));
  PetscCall(KSPSetOptionsPrefix(*ksp, "bai_"));
  if (!strcmp(way->ksp, KSPBAI)) PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

/* The ways of a part, one after another */
static PetscErrorCode TimeWays(Run *run, const char part[], const char name[], PetscInt n, Mat A, const Way *way,
                               PetscInt ways, PetscErrorCode (*set)(const Run *, KSP, const Way *))
{
  Vec b, x;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  for (PetscInt w = 0; w < ways; w++) {
    KSP                ksp;
    PetscReal          seconds;
    PetscInt           its;
    KSPConvergedReason reason;

    if (!IsWanted(run, &way[w], w)) continue;
    PetscCall(CreateSolver(run, A, &way[w], &ksp));
    PetscCall(set(run, ksp, &way[w]));
    PetscCall(TimeSolves(run, ksp, b, x, &seconds));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    if (reason < 0) PetscCall(PetscPrintf(run->comm, "did not converge: %s\n", KSPConvergedReasons[reason]));
    PetscCall(Say(run, part, name, n, &way[w], w, seconds, its));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

/* KSPBAI for all rows on the first process is the preconditioner */
static PetscErrorCode SetSolverOfAll(const Run *run, KSP ksp)
{
  PC   pc;
  char options[512];

  PetscFunctionBeginUser;
  PetscCall(
    PetscSNPrintf(options, sizeof(options),
                  "-bai_telescope_ksp_type bai -bai_telescope_ksp_rtol %g -bai_pc_telescope_reduction_factor %d",
                  (double)run->rtol, run->ranks));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetSolve(const Run *run, KSP ksp, const Way *way)
{
  PetscFunctionBeginUser;
  PetscCall(KSPSetTolerances(ksp, run->rtol, PETSC_DEFAULT, PETSC_DEFAULT, 20000));
  if (!strcmp(way->ksp, KSPPREONLY)) PetscCall(SetSolverOfAll(run, ksp));
  if (strcmp(way->ksp, KSPBAI)) PetscFunctionReturn(0);
  PetscCall(SetOption((PetscObject)ksp, "exchange", "%s", BAIExchanges[way->exchange]));
  PetscFunctionReturn(0);
}

/* A solve by relaxation */
static PetscErrorCode SetPlain(const Run *run, KSP ksp, const Way *way)
{
  PetscFunctionBeginUser;
  PetscCall(SetSolve(run, ksp, way));
  if (strcmp(way->ksp, KSPBAI)) PetscFunctionReturn(0);
  PetscCall(KSPBAISetMode(ksp, way->mode));
  PetscFunctionReturn(0);
}

/* A fixed number of iterations, without norms */
static PetscErrorCode SetIterations(const Run *run, KSP ksp, const Way *way)
{
  PetscBool chebyshev;

  PetscFunctionBeginUser;
  PetscCall(SetPlain(run, ksp, way));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, run->its));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPCHEBYSHEV, &chebyshev));
  if (chebyshev)
    PetscCall(KSPChebyshevSetEigenvalues(ksp, 2.1,
                                         0.2)); /* of the Laplacian with Jacobi; without them they would be estimated */
  PetscFunctionReturn(0);
}

static PetscErrorCode Solves(Run *run, const char name[], PetscInt n)
{
  static const Way ways[] = {
    {"dk",        KSPBAI,     NULL,        BAI_EXCHANGE_AUTO,    BAI_MODE_ASYNC, PETSC_TRUE },
    {"mpi",       KSPBAI,     NULL,        BAI_EXCHANGE_SCATTER, BAI_MODE_ASYNC, PETSC_FALSE},
    {"telescope", KSPPREONLY, PCTELESCOPE, BAI_EXCHANGE_AUTO,    BAI_MODE_ASYNC, PETSC_FALSE},
    {"cg",        KSPCG,      PCJACOBI,    BAI_EXCHANGE_AUTO,    BAI_MODE_ASYNC, PETSC_TRUE }
  };
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(run->comm, name, n, &A));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(TimeWays(run, "solve", name, n, A, ways, PETSC_STATIC_ARRAY_LENGTH(ways), SetSolve));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode Iterations(Run *run, const char part[], const char name[], PetscInt n, PetscInt nz)
{
  static const Way ways[] = {
    {"dk",        KSPBAI,       NULL,     BAI_EXCHANGE_AUTO,    BAI_MODE_ASYNC, PETSC_TRUE },
    {"amc",       KSPBAI,       NULL,     BAI_EXCHANGE_AMC,     BAI_MODE_ASYNC, PETSC_FALSE},
    {"scatter",   KSPBAI,       NULL,     BAI_EXCHANGE_SCATTER, BAI_MODE_ASYNC, PETSC_FALSE},
    {"cg",        KSPCG,        PCJACOBI, BAI_EXCHANGE_AUTO,    BAI_MODE_ASYNC, PETSC_TRUE },
    {"chebyshev", KSPCHEBYSHEV, PCJACOBI, BAI_EXCHANGE_AUTO,    BAI_MODE_ASYNC, PETSC_TRUE }
  };
  System s;

  PetscFunctionBeginUser;
  PetscCall(CreateLaplacian(run, n, n, nz, &s));
  PetscCall(TimeWays(run, part, name, n, s.A, ways, PETSC_STATIC_ARRAY_LENGTH(ways), SetIterations));
  PetscCall(DestroySystem(&s));
  PetscFunctionReturn(0);
}

static PetscErrorCode Strong(Run *run, const char name[], PetscInt n)
{
  PetscFunctionBeginUser;
  PetscCall(Iterations(run, "strong", name, n, n));
  PetscFunctionReturn(0);
}

static PetscErrorCode Weak(Run *run, const char name[], PetscInt n)
{
  PetscFunctionBeginUser;
  PetscCall(Iterations(run, "weak", name, n, n * run->ranks));
  PetscFunctionReturn(0);
}

static PetscErrorCode Modes(Run *run, const char name[], PetscInt n)
{
  static const Way ways[] = {
    {"sync",  KSPBAI, NULL, BAI_EXCHANGE_AUTO, BAI_MODE_SYNC,  PETSC_TRUE},
    {"async", KSPBAI, NULL, BAI_EXCHANGE_AUTO, BAI_MODE_ASYNC, PETSC_TRUE}
  };
  System s;

  PetscFunctionBeginUser;
  PetscCall(CreateLaplacian(run, n, n, n, &s));
  PetscCall(TimeWays(run, "modes", name, n, s.A, ways, PETSC_STATIC_ARRAY_LENGTH(ways), SetPlain));
  PetscCall(DestroySystem(&s));
  PetscFunctionReturn(0);
}

/* Seconds of KSPSetUp() by the slowest process */
static PetscErrorCode TimeSetUp(const Run *run, KSP ksp, PetscReal *seconds)
{
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(Clock(run, &start));
  PetscCall(KSPSetUp(ksp));
  PetscCall(Clock(run, &end));
  *seconds = (PetscReal)(end - start);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPIU_REAL, MPI_MAX, run->comm));
  PetscFunctionReturn(0);
}

/* Median seconds of a set-up, of a solve behind it and of set-ups for new values; the first of each, which loads
   libraries, does not count */
static PetscErrorCode TimeLevels(Run *run, const char part[], const char name[], PetscInt n, PetscInt nz)
{
  enum {
    FIRST, /* set-up before all others of this system, of which the first one of the process also loads kernels */
    SETUP,
    LATER,
    BOTH,
    VALUES,
    TIMES
  };
  static const Way ways[TIMES] = {
    {.name = "first",  .ksp = KSPBAI, .alone = PETSC_TRUE},
    {.name = "set-up", .ksp = KSPBAI, .alone = PETSC_TRUE},
    {.name = "solve",  .ksp = KSPBAI, .alone = PETSC_TRUE},
    {.name = "both",   .ksp = KSPBAI, .alone = PETSC_TRUE},
    {.name = "values", .ksp = KSPBAI, .alone = PETSC_TRUE}
  };
  PetscReal sample[MAX_LIST], seconds[TIMES];
  PetscInt  its = 0;
  System    s;
  Vec       b, x;

  PetscFunctionBeginUser;
  PetscCall(CreateLaplacian(run, n, n, nz, &s));
  PetscCall(MatCreateVecs(s.A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(MatMult(s.A, b, x)); /* PETSc copies the matrix to the GPU */
  for (PetscInt k = -1; k < run->samples; k++) {
    KSP                ksp;
    KSPConvergedReason reason;

    PetscCall(CreateSolver(run, s.A, &ways[0], &ksp));
    PetscCall(KSPSetTolerances(ksp, run->rtol, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
    PetscCall(TimeSetUp(run, ksp, k < 0 ? &seconds[FIRST] : &sample[k]));
    if (k + 1 == run->samples) {
      PetscCall(Median(run->samples, sample, &seconds[SETUP]));
      PetscCall(TimeSolves(run, ksp, b, x, &seconds[LATER]));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      if (reason < 0) PetscCall(PetscPrintf(run->comm, "did not converge: %s\n", KSPConvergedReasons[reason]));
      for (PetscInt v = -1; v < run->samples; v++) {
        PetscCall(MatScale(s.A, v % 2 ? 2 : 0.5));
        PetscCall(KSPSetOperators(ksp, s.A, s.A));
        PetscCall(TimeSetUp(run, ksp, v < 0 ? &seconds[VALUES] : &sample[v]));
      }
      PetscCall(Median(run->samples, sample, &seconds[VALUES]));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  seconds[BOTH] = seconds[SETUP] + seconds[LATER];
  for (PetscInt w = 0; w < TIMES; w++) {
    if (IsWanted(run, &ways[w], w)) PetscCall(Say(run, part, name, n, &ways[w], w, seconds[w], its));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(DestroySystem(&s));
  PetscFunctionReturn(0);
}

static PetscErrorCode StrongLevels(Run *run, const char name[], PetscInt n)
{
  PetscFunctionBeginUser;
  PetscCall(TimeLevels(run, "levels", name, n, n));
  PetscFunctionReturn(0);
}

static PetscErrorCode WeakLevels(Run *run, const char name[], PetscInt n)
{
  PetscFunctionBeginUser;
  PetscCall(TimeLevels(run, "levels-weak", name, n, n * run->ranks));
  PetscFunctionReturn(0);
}

/* The Laplacian with given values on the boundary, whose points are unknowns too */
static PetscErrorCode FillGrid(KSP ksp, Mat J, Mat A, void *ctx)
{
  DM            da;
  DMDALocalInfo info;

  PetscFunctionBeginUser;
  (void)J;
  (void)ctx;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt z = info.zs; z < info.zs + info.zm; z++) {
    for (PetscInt y = info.ys; y < info.ys + info.ym; y++) {
      for (PetscInt x = info.xs; x < info.xs + info.xm; x++) {
        const PetscReal  h    = 1 / (PetscReal)(info.mx - 1);
        const PetscBool  edge = (PetscBool)(!x || !y || !z || x == info.mx - 1 || y == info.my - 1 || z == info.mz - 1);
        const MatStencil row  = {.i = x, .j = y, .k = z};
        const MatStencil col[] = {
          {.i = x,     .j = y,     .k = z    },
          {.i = x - 1, .j = y,     .k = z    },
          {.i = x + 1, .j = y,     .k = z    },
          {.i = x,     .j = y - 1, .k = z    },
          {.i = x,     .j = y + 1, .k = z    },
          {.i = x,     .j = y,     .k = z - 1},
          {.i = x,     .j = y,     .k = z + 1}
        };
        const PetscScalar v[] = {6 * h, -h, -h, -h, -h, -h, -h};

        PetscCall(MatSetValuesStencil(A, 1, &row, edge ? 1 : 7, col, v, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* The smoother's exchange, by its name in the options, as each level makes its own */
static PetscErrorCode SetSmoother(const char prefix[], const char exchange[])
{
  char text[512];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(text, sizeof(text),
                          "-%smg_levels_ksp_type richardson -%smg_levels_ksp_max_it 1 -%smg_levels_pc_type bai "
                          "-%smg_levels_pc_bai_its 1 -%smg_levels_pc_bai_exchange %s",
                          prefix, prefix, prefix, prefix, prefix, exchange));
  PetscCall(PetscOptionsInsertString(NULL, text));
  PetscFunctionReturn(0);
}

static const Way smoothers[] = {
  {.name = "auto",    .alone = PETSC_TRUE },
  {.name = "scatter", .alone = PETSC_FALSE}
};

static PetscErrorCode Multigrid(Run *run, const char name[], PetscInt n)
{
  DM        da;
  PC        pc;
  PetscInt  levels = 1, its;
  PetscReal seconds;

  PetscFunctionBeginUser;
  for (PetscInt m = n; m % 2 && m > 9; m = m / 2 + 1) levels++;
  for (PetscInt w = 0; w < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(smoothers); w++) {
    KSP ksp;
    Vec b, x;

    if (!IsWanted(run, &smoothers[w], w)) continue;
    PetscCall(SetSmoother("grid_", smoothers[w].name));
    PetscCall(DMDACreate3d(run->comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, n,
                           PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
    if (run->type[0]) PetscCall(DMSetMatType(da, run->type));
    if (strstr(run->type, "cusparse")) PetscCall(DMSetVecType(da, VECCUDA));
    PetscCall(DMSetUp(da));
    PetscCall(KSPCreate(run->comm, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "grid_"));
    PetscCall(KSPSetDM(ksp, da));
    PetscCall(KSPSetComputeOperators(ksp, FillGrid, NULL));
    PetscCall(KSPSetType(ksp, KSPRICHARDSON));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCMG));
    PetscCall(PCMGSetLevels(pc, levels, NULL));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(DMCreateGlobalVector(da, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecSet(b, 1));
    PetscCall(TimeSolves(run, ksp, b, x, &seconds));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(Say(run, "mg", name, n, &smoothers[w], w, seconds, its));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Algebraic(Run *run, const char name[], PetscInt n)
{
  System s;
  Vec    b, x;

  PetscFunctionBeginUser;
  PetscCall(CreateLaplacian(run, n, n, n * run->ranks, &s));
  PetscCall(MatCreateVecs(s.A, &x, &b));
  PetscCall(VecSet(b, 1));
  for (PetscInt w = 0; w < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(smoothers); w++) {
    KSP       ksp;
    PC        pc;
    PetscInt  its;
    PetscReal seconds;

    if (!IsWanted(run, &smoothers[w], w)) continue;
    PetscCall(SetSmoother("gamg_", smoothers[w].name));
    PetscCall(KSPCreate(run->comm, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "gamg_"));
    PetscCall(KSPSetOperators(ksp, s.A, s.A));
    PetscCall(KSPSetType(ksp, KSPFCG));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(TimeSolves(run, ksp, b, x, &seconds));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(Say(run, "gamg", name, n, &smoothers[w], w, seconds, its));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(DestroySystem(&s));
  PetscFunctionReturn(0);
}

/* Processes that have nothing to do sleep until the others are done */
static PetscErrorCode Meet(void)
{
  const struct timespec pause = {.tv_nsec = 1000000};
  MPI_Request           request;
  int                   done = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Ibarrier(PETSC_COMM_WORLD, &request));
  while (!done) {
    PetscCallMPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (!done) (void)nanosleep(&pause, NULL);
  }
  PetscFunctionReturn(0);
}

/* n[1] to n[many] are given; n[0] is the usual one */
typedef struct {
  PetscInt n[MAX_LIST + 1], many;
} List;

static PetscErrorCode GetList(const char name[], PetscBool usual, List *list)
{
  PetscBool set;

  PetscFunctionBeginUser;
  list->many = MAX_LIST;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, name, list->n + 1, &list->many, &set));
  if (!set) list->many = usual ? 1 : 0;
  if (!set) list->n[1] = list->n[0];
  PetscFunctionReturn(0);
}

/* A part, of one size */
typedef PetscErrorCode (*Part)(Run *, const char name[], PetscInt n);

/* On 1, 2, ... processes, in all its sizes */
static PetscErrorCode TimePart(Run *run, const List *ranks, const MPI_Comm comms[], Part part, char *const names[],
                               const List *sizes)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 1; k <= sizes->many; k++) {
    for (PetscInt r = 0; r < ranks->many; r++) {
      run->comm  = comms[r];
      run->ranks = (PetscMPIInt)ranks->n[r + 1];
      if (comms[r] != MPI_COMM_NULL) PetscCall(part(run, names ? names[k - 1] : "laplace3d", sizes->n[k]));
      PetscCall(Meet());
    }
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Run  run   = {.samples = 3, .its = 300, .rtol = 1e-10, .device = "unknown", .commit = "unknown"};
  List ranks = {.n = {0}}, iterations = {.n = {64}}, weak = {.n = {48}}, mg = {.n = {65}}, gamg = {.n = {33}},
       modes = {.n = {24}}, levels = {.n = {64}}, levels_weak = {.n = {64}}, sizes = {.n = {0}};
  char       *names[MAX_LIST], csv[PETSC_MAX_PATH_LEN] = "";
  PetscInt    many = MAX_LIST, nsizes = MAX_LIST;
  PetscBool   set, some               = PETSC_FALSE;
  MPI_Comm    comms[MAX_LIST];
  PetscMPIInt rank, size;
  time_t      now = time(NULL);

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", run.type, sizeof(run.type), NULL));
  if (strstr(run.type, "cusparse")) {
    iterations.n[0] = levels.n[0] = levels_weak.n[0] = 200;
    weak.n[0]                                        = 100;
    modes.n[0]                                       = 64;
  }
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &run.samples, NULL));
  PetscCheck(run.samples > 0 && run.samples < MAX_LIST, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-samples %" PetscInt_FMT " must be between 1 and %d", run.samples, MAX_LIST - 1);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-its", &run.its, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &run.rtol, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-device", run.device, sizeof(run.device), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-commit", run.commit, sizeof(run.commit), NULL));
  PetscCheck(strftime(run.date, sizeof(run.date), "%Y-%m-%d", gmtime(&now)), PETSC_COMM_SELF, PETSC_ERR_SYS,
             "strftime() failed");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", csv, sizeof(csv), NULL));
  if (csv[0] && !rank) {
    run.csv = fopen(csv, "w");
    PetscCheck(run.csv, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "-csv %s cannot be written", csv);
    fprintf(run.csv, "part,system,n,ranks,what,seconds,iterations,ratio,device,commit,date\n");
  }
  for (const char **name =
         (const char *[]){"-solves", "-iterations", "-weak", "-levels", "-levels_weak", "-mg", "-gamg", "-modes", NULL};
       *name && !some; name++)
    PetscCall(PetscOptionsHasName(NULL, NULL, *name, &some));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-solves", names, &many, &set));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-solves_n", sizes.n + 1, &nsizes, NULL));
  if (!set) many = 0;
  sizes.many = many;
  PetscCall(GetList("-iterations", (PetscBool)!some, &iterations));
  PetscCall(GetList("-weak", (PetscBool)!some, &weak));
  PetscCall(GetList("-levels", (PetscBool)!some, &levels));
  PetscCall(GetList("-levels_weak", (PetscBool)!some, &levels_weak));
  PetscCall(GetList("-mg", (PetscBool)!some, &mg));
  PetscCall(GetList("-gamg", (PetscBool)!some, &gamg));
  PetscCall(GetList("-modes", (PetscBool)!some, &modes));
  run.nways = MAX_LIST;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-ways", run.ways, &run.nways, &set));
  if (!set) run.nways = 0;
  PetscCall(GetList("-ranks", PETSC_FALSE, &ranks));
  if (!ranks.many) {
    for (PetscInt r = 1; r <= size; r *= 2) ranks.n[++ranks.many] = r;
  }
  for (PetscInt r = 0; r < ranks.many; r++) {
    PetscCheck(ranks.n[r + 1] > 0 && ranks.n[r + 1] <= size, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-ranks %" PetscInt_FMT ": there are %d", ranks.n[r + 1], size);
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < ranks.n[r + 1] ? 0 : MPI_UNDEFINED, rank, &comms[r]));
  }
  PetscCall(TimePart(&run, &ranks, comms, Solves, names, &sizes));
  PetscCall(TimePart(&run, &ranks, comms, Strong, NULL, &iterations));
  PetscCall(TimePart(&run, &ranks, comms, Weak, NULL, &weak));
  PetscCall(TimePart(&run, &ranks, comms, Modes, NULL, &modes));
  PetscCall(TimePart(&run, &ranks, comms, StrongLevels, NULL, &levels));
  PetscCall(TimePart(&run, &ranks, comms, WeakLevels, NULL, &levels_weak));
  PetscCall(TimePart(&run, &ranks, comms, Multigrid, NULL, &mg));
  PetscCall(TimePart(&run, &ranks, comms, Algebraic, NULL, &gamg));
  for (PetscInt r = 0; r < ranks.many; r++) {
    if (comms[r] != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&comms[r]));
  }
  for (PetscInt k = 0; k < many; k++) PetscCall(PetscFree(names[k]));
  for (PetscInt k = 0; k < run.nways; k++) PetscCall(PetscFree(run.ways[k]));
  if (run.csv) fclose(run.csv);
  PetscCall(PetscFinalize());
  return 0;
}
