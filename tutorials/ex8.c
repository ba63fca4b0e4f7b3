#include <petscbai.h>
#include <petscdmda.h>
#include <petscts.h>
#include <petsctime.h>
#include <unistd.h>
#include "now.h"

static char help[] =
  "Patterns in three dimensions: the reaction-diffusion equations of Schnakenberg in the unit cube, without flux\n\
through its boundary,\n\
  u_t = gamma (a - u + u^2 v) + Laplace u\n\
  v_t = gamma (b - u^2 v) + kappa Laplace v\n\
by implicit-explicit steps: diffusion is implicit, the reaction explicit. So all steps have the same matrix, and the\n\
solver is set up once.\n\n\
  ./ex8                                                      a few steps with each of some solvers, and a table\n\
  ./ex8 -da_grid_x 64 -da_grid_y 64 -da_grid_z 64            more points\n\
  ./ex8 -ksp_type cg -pc_type icc                            the table of the solver that options select\n\
  ./ex8 -pictures spots                                      a whole run; writes spots-0.000.vts and so on, for\n\
                                                             ParaView or plot.py\n\
  ./ex8 -ts_arkimex_type 3 -ts_dt 2e-3                       other steps\n\
  ./ex8 -dm_mat_type aijcusparse -dm_vec_type cuda           on a GPU\n\n";

typedef struct {
  PetscScalar u, v;
} Field;

/* All of it is done by operations of Vec and Mat, so where these live */
typedef struct {
  PetscReal kappa, gamma, a, b;
  Mat       diffusion;     /* -Laplace, times kappa for v */
  Mat       swap, first;   /* from (u, v) to (v, u) and (u, u) */
  Vec       supply;        /* gamma (a, b) */
  Vec       gain, decay;   /* gamma (1, -1) and -gamma (1, 0) */
  Vec       work, product; /* (u, u) and (u^2 v, u^2 v) */
} Model;

/* What a solver's steps are counted and timed by */
typedef struct {
  const Model   *model;
  PetscReal      shift; /* of the matrix that there is */
  PetscInt       matrices;
  PetscLogDouble start, setup, solve;
} Clock;

typedef struct {
  const char    *name;
  PetscReal      end;
  PetscLogDouble next;
  const char    *pictures;
  PetscInt       every;
} Display;

/* Without a type, what PETSc takes by itself */
typedef struct {
  const char *name;
  KSPType     ksptype;
  PCType      pctype;
} Solver;

static const Solver solvers[] = {
  {"bai",             KSPBAI, NULL    },
  {"PETSc's default", NULL,   NULL    },
  {"cg + jacobi",     KSPCG,  PCJACOBI},
  {"cg + gamg",       KSPCG,  PCGAMG  }
};

/* gamma (a - u + u^2 v, b - u^2 v) */
static PetscErrorCode Reaction(TS ts, PetscReal t, Vec U, Vec R, void *ctx)
{
  const Model *m = ((const Clock *)ctx)->model;

  PetscFunctionBeginUser;
  (void)ts;
  (void)t;
  PetscCall(MatMult(m->swap, U, m->product));
  PetscCall(VecPointwiseMult(m->product, m->product, U));
  PetscCall(MatMult(m->first, U, m->work));
  PetscCall(VecPointwiseMult(m->product, m->product, m->work));
  PetscCall(VecPointwiseMult(m->product, m->product, m->gain));
  PetscCall(VecPointwiseMult(R, m->decay, U));
  PetscCall(VecAXPBYPCZ(R, 1, 1, 1, m->product, m->supply));
  PetscFunctionReturn(0);
}

/* U_t + diffusion U */
static PetscErrorCode IFunction(TS ts, PetscReal t, Vec U, Vec Udot, Vec F, void *ctx)
{
  PetscFunctionBeginUser;
  (void)ts;
  (void)t;
  PetscCall(MatMultAdd(((const Clock *)ctx)->model->diffusion, U, Udot, F));
  PetscFunctionReturn(0);
}

/* The matrix is shift I + diffusion. If nothing is done to it, PETSc sees that, and no solver is set up again */
static PetscErrorCode IJacobian(TS ts, PetscReal t, Vec U, Vec Udot, PetscReal shift, Mat J, Mat P, void *ctx)
{
  Clock *clock = (Clock *)ctx;

  PetscFunctionBeginUser;
  (void)ts;
  (void)t;
  (void)U;
  (void)Udot;
  (void)J;
  if (PetscAbsReal(shift - clock->shift) <= 1e-10 * shift) PetscFunctionReturn(0);
  PetscCall(MatCopy(clock->model->diffusion, P, SAME_NONZERO_PATTERN));
  PetscCall(MatShift(P, shift));
  clock->shift = shift;
  clock->matrices++;
  PetscFunctionReturn(0);
}

/* Cells, and flows between neighbours, so that the matrix is symmetric */
static PetscErrorCode CreateDiffusion(DM dm, PetscReal kappa, Mat *A)
{
  static const PetscInt fill[] = {1, 0, 0, 1}; /* u and v meet in the reaction only */
  DMDALocalInfo         info;

  PetscFunctionBeginUser;
  PetscCall(DMDASetBlockFills(dm, fill, fill));
  PetscCall(DMCreateMatrix(dm, A));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(DMDAGetLocalInfo(dm, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt at[] = {i, j, k}, cells[] = {info.mx, info.my, info.mz};

        for (PetscInt c = 0; c < 2; c++) {
          MatStencil  row = {.i = i, .j = j, .k = k, .c = c}, cols[7];
          PetscScalar values[7], sum = 0;
          PetscInt    n = 0;

          for (int d = 0; d < 3; d++) {
            const PetscScalar flow = (c ? kappa : 1) * PetscSqr((PetscReal)cells[d]);

            for (PetscInt side = -1; side <= 1; side += 2) {
              if (at[d] + side < 0 || at[d] + side >= cells[d]) continue;
              cols[n] = row;
              if (d == 0) cols[n].i += side;
              if (d == 1) cols[n].j += side;
              if (d == 2) cols[n].k += side;
              values[n++] = -flow;
              sum += flow;
            }
          }
          cols[n]     = row;
          values[n++] = sum;
          PetscCall(MatSetValuesStencil(*A, 1, &row, n, cols, values, INSERT_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* One entry in each row: the column is that of u or v of the same point */
static PetscErrorCode CreateChoice(DM dm, PetscInt of_u, PetscInt of_v, Mat *A)
{
  MatType  type;
  Vec      U;
  PetscInt n, start;

  PetscFunctionBeginUser;
  PetscCall(DMGetMatType(dm, &type));
  PetscCall(DMGetGlobalVector(dm, &U));
  PetscCall(VecGetLocalSize(U, &n));
  PetscCall(VecGetOwnershipRange(U, &start, NULL));
  PetscCall(DMRestoreGlobalVector(dm, &U));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 1, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 1, NULL, 0, NULL));
  for (PetscInt row = start; row < start + n; row++)
    PetscCall(MatSetValue(*A, row, row - row % 2 + (row % 2 ? of_v : of_u), 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreatePair(DM dm, PetscReal of_u, PetscReal of_v, Vec *x)
{
  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, x));
  PetscCall(VecStrideSet(*x, 0, of_u));
  PetscCall(VecStrideSet(*x, 1, of_v));
  PetscFunctionReturn(0);
}

static PetscErrorCode ModelSetUp(DM dm, Model *m)
{
  PetscFunctionBeginUser;
  PetscCall(CreateDiffusion(dm, m->kappa, &m->diffusion));
  PetscCall(CreateChoice(dm, 1, 0, &m->swap));
  PetscCall(CreateChoice(dm, 0, 0, &m->first));
  PetscCall(CreatePair(dm, m->gamma * m->a, m->gamma * m->b, &m->supply));
  PetscCall(CreatePair(dm, m->gamma, -m->gamma, &m->gain));
  PetscCall(CreatePair(dm, -m->gamma, 0, &m->decay));
  PetscCall(VecDuplicate(m->supply, &m->work));
  PetscCall(VecDuplicate(m->supply, &m->product));
  PetscFunctionReturn(0);
}

static PetscErrorCode ModelDestroy(Model *m)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&m->diffusion));
  PetscCall(MatDestroy(&m->swap));
  PetscCall(MatDestroy(&m->first));
  PetscCall(VecDestroy(&m->supply));
  PetscCall(VecDestroy(&m->gain));
  PetscCall(VecDestroy(&m->decay));
  PetscCall(VecDestroy(&m->work));
  PetscCall(VecDestroy(&m->product));
  PetscFunctionReturn(0);
}

/* From -1 to 1, for a cell always the same */
static PetscReal Noise(PetscInt cell)
{
  unsigned int h = (unsigned int)cell * 2654435769u;

  for (int k = 0; k < 3; k++) h = (h ^ (h >> 15)) * 739982445u;
  return (PetscReal)(h >> 8) / (1 << 23) - 1;
}

/* The state in which the reaction stands still, and noise */
static PetscErrorCode SetInitialValues(DM dm, const Model *m, Vec U)
{
  DMDALocalInfo   info;
  Field        ***x;
  const PetscReal u = m->a + m->b;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  PetscCall(DMDAVecGetArrayWrite(dm, U, &x));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        x[k][j][i].u = u + 0.05 * Noise((k * info.my + j) * info.mx + i);
        x[k][j][i].v = m->b / (u * u);
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayWrite(dm, U, &x));
  PetscFunctionReturn(0);
}

/* All that is set up is so before the clock of the solve starts */
static PetscErrorCode StartClock(KSP ksp, Vec b, Vec x, void *ctx)
{
  Clock         *clock = (Clock *)ctx;
  PetscLogDouble now;

  PetscFunctionBeginUser;
  (void)b;
  (void)x;
  PetscCall(Now(&now));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(Now(&clock->start));
  clock->setup += clock->start - now;
  PetscFunctionReturn(0);
}

static PetscErrorCode StopClock(KSP ksp, Vec b, Vec x, void *ctx)
{
  Clock         *clock = (Clock *)ctx;
  PetscLogDouble now;

  PetscFunctionBeginUser;
  (void)ksp;
  (void)b;
  (void)x;
  PetscCall(Now(&now));
  clock->solve += now - clock->start;
  PetscFunctionReturn(0);
}

/* Steps of one implicit stage of length 0.2/gamma, max_steps unless options say otherwise */
static PetscErrorCode CreateTS(DM dm, const Solver *solver, PetscInt max_steps, Clock *clock, TS *ts)
{
  SNES    snes;
  TSAdapt adapt;
  KSP     ksp;
  PC      pc;
  Mat     J;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(dm, &J));
  PetscCall(MatSetOption(J, MAT_SPD, PETSC_TRUE));
  PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
  PetscCall(TSSetDM(*ts, dm));
  PetscCall(TSSetProblemType(*ts, TS_NONLINEAR));
  PetscCall(TSSetType(*ts, TSARKIMEX));
  PetscCall(TSARKIMEXSetType(*ts, TSARKIMEXARS122));
  PetscCall(TSGetAdapt(*ts, &adapt));
  PetscCall(TSAdaptSetType(adapt, TSADAPTNONE));
  PetscCall(TSSetRHSFunction(*ts, NULL, Reaction, clock));
  PetscCall(TSSetIFunction(*ts, NULL, IFunction, clock));
  PetscCall(TSSetIJacobian(*ts, J, J, IJacobian, clock));
  PetscCall(TSSetTimeStep(*ts, 0.2 / clock->model->gamma));
  PetscCall(TSSetMaxTime(*ts, 1000));
  PetscCall(TSSetMaxSteps(*ts, max_steps));
  PetscCall(TSSetExactFinalTime(*ts, TS_EXACTFINALTIME_STEPOVER)); /* another last step would be another matrix */
  PetscCall(TSGetSNES(*ts, &snes));
  PetscCall(SNESSetType(snes, SNESKSPONLY));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED)); /* one stopping test for all solvers */
  PetscCall(KSPSetPreSolve(ksp, StartClock, clock));
  PetscCall(KSPSetPostSolve(ksp, StopClock, clock));
  if (solver->ksptype) PetscCall(KSPSetType(ksp, solver->ksptype));
  PetscCall(KSPGetPC(ksp, &pc));
  if (solver->pctype) PetscCall(PCSetType(pc, solver->pctype));
  PetscCall(TSSetFromOptions(*ts));
  PetscCall(MatDestroy(&J));
  PetscFunctionReturn(0);
}

/* One line, which the next one takes the place of a second later; and pictures */
static PetscErrorCode Monitor(TS ts, PetscInt step, PetscReal time, Vec U, void *ctx)
{
  Display       *display = (Display *)ctx;
  PetscLogDouble now;
  PetscInt       max_steps;
  PetscViewer    viewer;
  char           name[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(TSGetMaxSteps(ts, &max_steps));
  if (display->pictures[0] && (step % display->every == 0 || step == max_steps)) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%.3f.vts", display->pictures, (double)time));
    PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
    PetscCall(PetscObjectSetName((PetscObject)U, "concentration"));
    PetscCall(VecView(U, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscCall(PetscTime(&now));
  if (display->next < 0 || (now < display->next && step < max_steps)) PetscFunctionReturn(0);
  display->next = now + 1;
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, PETSC_STDERR,
                         "\r%-18s step %" PetscInt_FMT " of %" PetscInt_FMT ", t = %-10.4g%s", display->name, step,
                         max_steps, (double)time, step == max_steps ? "\r" : ""));
  PetscFunctionReturn(0);
}

/* A run, and its line of the table. The difference is from the U of another solver, if that is there */
static PetscErrorCode Run(DM dm, const Model *m, const Solver *solver, PetscInt max_steps, Display *display,
                          PetscBool quiet, Vec other, Vec U)
{
  TS             ts;
  Clock          clock = {.model = m};
  PetscInt       steps, iterations;
  PetscReal      norm, difference = 0;
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  display->name = solver->name;
  PetscCall(CreateTS(dm, solver, max_steps, &clock, &ts));
  PetscCall(SetInitialValues(dm, m, U));
  PetscCall(TSMonitorSet(ts, Monitor, display, NULL));
  PetscCall(Now(&start));
  PetscCall(TSSolve(ts, U));
  PetscCall(Now(&end));
  PetscCall(TSGetStepNumber(ts, &steps));
  PetscCall(TSGetKSPIterations(ts, &iterations));
  if (other) {
    PetscCall(VecNorm(U, NORM_2, &norm));
    PetscCall(VecAXPY(U, -1, other));
    PetscCall(VecNorm(U, NORM_2, &difference));
    difference /= norm;
  }
  if (!quiet)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%-18s %6" PetscInt_FMT " %8" PetscInt_FMT " %9.1f %9.1f %9.1f %9.1f %8.1e\n", solver->name,
                          steps, clock.matrices, iterations / (double)PetscMax(steps, 1), 1e3 * clock.setup,
                          1e3 * clock.solve / PetscMax(steps, 1),
                          1e3 * (end - start - clock.setup) / PetscMax(steps, 1), (double)difference));
  else if (!(difference <= 1e-6) || clock.matrices != 1)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " matrices, difference %g\n", solver->name,
                          clock.matrices, (double)difference));
  PetscCall(TSDestroy(&ts));
  PetscFunctionReturn(0);
}

static PetscErrorCode ModelSetFromOptions(Model *m)
{
  PetscFunctionBeginUser;
  m->kappa = 10;
  m->gamma = 200;
  m->a     = 0.126779;
  m->b     = 0.792366;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The equations", NULL);
  PetscCall(PetscOptionsReal("-kappa", "Diffusion of v to that of u", "ex8.c", m->kappa, &m->kappa, NULL));
  PetscCall(PetscOptionsReal("-gamma", "Speed of the reaction: how many spots fit into the cube", "ex8.c", m->gamma,
                             &m->gamma, NULL));
  PetscCall(PetscOptionsReal("-a", "Supply of u", "ex8.c", m->a, &m->a, NULL));
  PetscCall(PetscOptionsReal("-b", "Supply of v", "ex8.c", m->b, &m->b, NULL));
  PetscOptionsEnd();
  PetscCheck(m->kappa > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-kappa %g must be positive", (double)m->kappa);
  PetscCheck(m->gamma > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-gamma %g must be positive", (double)m->gamma);
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateGrid(DM *dm)
{
  PetscInt nx, ny, nz;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 32,
                         32, 32, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 2, 1, NULL, NULL, NULL, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMDAGetInfo(*dm, NULL, &nx, &ny, &nz, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDASetUniformCoordinates(*dm, 0.5 / nx, 1 - 0.5 / nx, 0.5 / ny, 1 - 0.5 / ny, 0.5 / nz, 1 - 0.5 / nz));
  PetscCall(DMDASetFieldName(*dm, 0, "u"));
  PetscCall(DMDASetFieldName(*dm, 1, "v"));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const Solver chosen                            = {"as options say", KSPBAI, NULL};
  Display      display                           = {NULL, 0, 0, NULL, 200};
  char         pictures[PETSC_MAX_PATH_LEN - 16] = "";
  PetscBool    progress = (PetscBool)isatty(2), check = PETSC_FALSE, hasksp, haspc, one;
  PetscReal    range[2];
  DM           dm;
  Model        m;
  Vec          U, other;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(ModelSetFromOptions(&m));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The run", NULL);
  PetscCall(PetscOptionsBool("-progress", "Show how far it is", "ex8.c", progress, &progress, NULL));
  PetscCall(PetscOptionsString("-pictures", "Write files of u and v whose names begin with this", "ex8.c", pictures,
                               pictures, sizeof(pictures), NULL));
  PetscCall(PetscOptionsBoundedInt("-every", "Steps from one picture to the next", "ex8.c", display.every,
                                   &display.every, NULL, 1));
  PetscCall(PetscOptionsBool("-check", "Print only what should not be so", "ex8.c", check, &check, NULL));
  PetscOptionsEnd();
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ksp_type", &hasksp));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_type", &haspc));
  display.next     = progress ? 0 : -1;
  display.pictures = pictures;
  one              = (PetscBool)(hasksp || haspc || pictures[0]);

  PetscCall(CreateGrid(&dm));
  PetscCall(ModelSetUp(dm, &m));
  PetscCall(DMCreateGlobalVector(dm, &U));
  PetscCall(DMCreateGlobalVector(dm, &other));
  if (!check)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %6s %8s %9s %9s %9s %9s %8s\n%-18s %6s %8s %9s %9s %9s %9s %8s\n",
                          "", "", "", "iter. a", "set-up", "solve ms", "whole ms", "differ-", "solver", "steps",
                          "set-ups", "step", "ms", "a step", "a step", "ence"));
  if (one) PetscCall(Run(dm, &m, &chosen, pictures[0] ? 1000 : 50, &display, check, NULL, U));
  else {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(solvers); k++)
      PetscCall(Run(dm, &m, &solvers[k], 50, &display, check, k ? other : NULL, k ? U : other));
    PetscCall(VecCopy(other, U));
  }
  if (!check) {
    PetscCall(VecStrideMin(U, 0, NULL, &range[0]));
    PetscCall(VecStrideMax(U, 0, NULL, &range[1]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "u from %.4f to %.4f\n", (double)range[0], (double)range[1]));
  }
  PetscCall(VecDestroy(&U));
  PetscCall(VecDestroy(&other));
  PetscCall(ModelDestroy(&m));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: !single
    output_file: output/empty.out
    args: -check -da_grid_x 8 -da_grid_y 9 -da_grid_z 10 -ts_max_steps 5

    test:
      suffix: host
      nsize: {{1 2}}
      args: -ts_arkimex_type {{ars122 2e 3}}

    test:
      suffix: aijcusparse
      nsize: {{1 2}}
      requires: baicuda cuda
      args: -dm_mat_type aijcusparse -dm_vec_type cuda

  testset:
    requires: !single
    args: -check -ksp_type bai -da_grid_x 8 -da_grid_y 9 -da_grid_z 10 -ts_max_steps 5 -ksp_view ::ascii_info_detail
    filter: grep -o "set-ups [0-9]*" | sort -u
    output_file: output/ex6_setups.out

    test:
      suffix: setups
      nsize: {{1 2}}

    test:
      suffix: setups_aijcusparse
      requires: baicuda cuda
      args: -dm_mat_type aijcusparse -dm_vec_type cuda

  test:
    suffix: pictures
    nsize: {{1 2}}
    requires: !single !complex
    args: -da_grid_x 6 -da_grid_y 7 -da_grid_z 8 -ts_max_steps 4 -pictures spots -every 2
    filter: cat - spots-0.000.vts spots-0.002.vts spots-0.004.vts | grep -a -o -e "^u from" -e "WholeExtent=[^>]*" -e \
            "concentration.u" | uniq
    diff_args: -j

  test:
    suffix: compare
    requires: !single
    args: -da_grid_x 8 -da_grid_y 9 -da_grid_z 10 -ts_max_steps 5
    filter: grep -o "^[a-zP].*  *5  *1 " | tr -s " "

TEST*/
