#include <petscbai.h>
#include <petscdmda.h>
#include <petscts.h>
#include <petsctime.h>
#include "now.h"

static char help[] =
  "Pattern formation: the reaction-diffusion equations of Schnakenberg on the unit square, without flux through its\n\
boundary,\n\
  u_t = gamma (a - u + u^2 v) + Laplace u\n\
  v_t = gamma (b - u^2 v) + kappa Laplace v\n\
by implicit Euler steps of 0.1 h^2, Newton's method, and KSPBAI or any other KSP.\n\n\
  ./ex6 -progress                                            100x100 points, to the time 0.225\n\
  ./ex6 -progress -pictures spots                            writes spots-0.025.vts and so on, for ParaView or\n\
                                                             plot.py\n\
  ./ex6 -da_grid_x 400 -da_grid_y 400 -ts_max_steps 100      another grid, a few steps only\n\
  ./ex6 -ts_type bdf -ts_adapt_type basic -ts_max_time 5 -ts_max_snes_failures -1 -snes_linesearch_type bt\n\
                                                             steps as long as the error, and the solver, allow\n\
  ./ex6 -ksp_bai_mode sync -ksp_bai_local_iters 3            with options of the solver\n\
  ./ex6 -ts_max_steps 10 -ksp_view ::ascii_info_detail | grep set-ups\n\
                                                             the solver is set up once, then it is given new values\n\
                                                             only\n\
  ./ex6 -compare                                             beside other solvers, of which the reference is a\n\
                                                             direct one\n\
  ./ex6 -compare -reference_ksp_type gmres -reference_pc_type sor -reference_ksp_rtol 1e-10\n\
                                                             with another reference, for large grids\n\
  ./ex6 -compare -snes_max_it 2 -snes_convergence_test skip -snes_linesearch_norms 0\n\
                                                             two Newton steps, as all of them take anyway, and no\n\
                                                             norms\n\
  ./ex6 -compare -dm_mat_type aijcusparse -dm_vec_type cuda  on a GPU\n\n";

typedef struct {
  PetscScalar u, v;
} Field;

/*
   F(U) = U_t + linear U + gamma (-u^2 v, u^2 v) - supply, where linear is -Laplace, times kappa for v, and gamma u. All
   of it is done by operations of Vec and Mat, so where these live. (x, y) is a vector with x and y at each point, as U
   = (u, v)
*/
typedef struct {
  PetscReal kappa, gamma, a, b;
  Mat       linear;
  Vec       supply;
  Mat       bilinear; /* its entries are those of U; times U it is (u v, u^2) */
  Vec       products; /* that */
  Vec       reaction; /* (u^2 v, u^2 v), the products times U */
  Mat       gain;     /* of the reaction: -gamma in the rows of u, gamma in those of v */
  Mat       slopes;   /* from the products to what they contribute to the values of the Jacobian */
  Vec       identity, linear_values, fixed_values,
    values; /* in the order of CreateJacobian(); fixed: linear + shift identity */
  PetscReal shift;
} Model;

/* The prefix is that of its options, ksptype and pctype are what they start from */
typedef struct {
  const char *name;
  KSPType     ksptype;
  PCType      pctype;
  const char *prefix;
} Solver;

static const Solver bai      = {"bai", KSPBAI, NULL, NULL};
static const Solver others[] = {
  {"gmres+jacobi",      KSPGMRES,      PCJACOBI, NULL},
  {"bcgs+jacobi",       KSPBCGS,       PCJACOBI, NULL},
  {"richardson+jacobi", KSPRICHARDSON, PCJACOBI, NULL},
  {"richardson+sor",    KSPRICHARDSON, PCSOR,    NULL}
};

typedef struct {
  PetscInt steps, newton, linear;
} Counts;

typedef struct {
  Model         *model;
  PetscLogDouble start, sum;
} Clock;

typedef struct {
  PetscReal      end;
  PetscLogDouble next;
} Display;

/* The values go into the matrix where both live */
static PetscErrorCode SetValues(Mat A, Vec values)
{
  const PetscScalar *v;
  PetscMemType       memtype;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayReadAndMemType(values, &v, &memtype));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(VecRestoreArrayReadAndMemType(values, &v));
  PetscFunctionReturn(0);
}

static PetscErrorCode ComputeProducts(const Model *m, Vec U)
{
  PetscFunctionBeginUser;
  PetscCall(SetValues(m->bilinear, U));
  PetscCall(MatMult(m->bilinear, U, m->products));
  PetscFunctionReturn(0);
}

static PetscErrorCode IFunction(TS ts, PetscReal t, Vec U, Vec Udot, Vec F, void *ctx)
{
  const Model      *m        = (const Model *)ctx;
  const PetscScalar alpha[]  = {1, -1};
  Vec               others[] = {Udot, m->supply};

  PetscFunctionBeginUser;
  (void)ts;
  (void)t;
  PetscCall(ComputeProducts(m, U));
  PetscCall(VecPointwiseMult(m->reaction, m->products, U));
  PetscCall(MatMult(m->linear, U, F));
  PetscCall(MatMultAdd(m->gain, m->reaction, F, F));
  PetscCall(VecMAXPY(F, 2, alpha, others));
  PetscFunctionReturn(0);
}

static PetscErrorCode IJacobian(TS ts, PetscReal t, Vec U, Vec Udot, PetscReal shift, Mat J, Mat P, void *ctx)
{
  Model *m = (Model *)ctx;

  PetscFunctionBeginUser;
  (void)ts;
  (void)t;
  (void)Udot;
  if (m->shift != shift) PetscCall(VecWAXPY(m->fixed_values, shift, m->identity, m->linear_values));
  m->shift = shift;
  PetscCall(ComputeProducts(m, U));
  PetscCall(MatMultAdd(m->slopes, m->products, m->fixed_values, m->values));
  PetscCall(SetValues(P, m->values));
  if (J != P) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(0);
}

/*
   The four neighbours in x and y, then u and v of the point itself. Beyond the boundary the neighbour is the mirror
   image, whose entry is added to that of the point on the other side
*/
static PetscErrorCode CreateJacobian(DM dm, Mat *J)
{
  DMDALocalInfo info;
  PetscInt     *rows, *cols, n = 0, size;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  size = 12 * info.xm * info.ym;
  PetscCall(PetscMalloc2(size, &rows, size, &cols));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscInt point      = (j - info.gys) * info.gxm + i - info.gxs,
                     neighbor[] = {point - 1, point + 1, point - info.gxm, point + info.gxm};

      for (PetscInt c = 0; c < 2; c++) {
        for (PetscInt k = 0; k < 4; k++) {
          rows[n]   = 2 * point + c;
          cols[n++] = 2 * neighbor[k] + c;
        }
        for (PetscInt d = 0; d < 2; d++) {
          rows[n]   = 2 * point + c;
          cols[n++] = 2 * point + d;
        }
      }
    }
  }
  PetscCall(DMSetMatrixPreallocateSkip(dm, PETSC_TRUE));
  PetscCall(DMCreateMatrix(dm, J));
  PetscCall(MatSetPreallocationCOOLocal(*J, n, rows, cols));
  PetscCall(PetscFree2(rows, cols));
  PetscFunctionReturn(0);
}

/* The k-th value is for row rows[k] and column cols[k] of this rank's part */
static PetscErrorCode CreateMatrix(DM dm, PetscInt m, PetscInt n, PetscInt start, PetscInt nvalues, PetscInt rows[],
                                   PetscInt cols[], const PetscScalar values[], Mat *A)
{
  MatType  type;
  PetscInt first = m / n * start;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < nvalues; k++) {
    rows[k] += first;
    cols[k] += start;
  }
  PetscCall(DMGetMatType(dm, &type));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetPreallocationCOO(*A, nvalues, rows, cols));
  if (values) PetscCall(MatSetValuesCOO(*A, values, INSERT_VALUES));
  PetscFunctionReturn(0);
}

/* The values of the Jacobian that do not depend on U */
static PetscErrorCode SetLinear(DM dm, Model *m)
{
  DMDALocalInfo info;
  PetscReal     sx, sy;
  PetscScalar  *linear, *identity;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  sx = PetscSqr((PetscReal)(info.mx - 1));
  sy = PetscSqr((PetscReal)(info.my - 1));
  PetscCall(VecGetArrayWrite(m->linear_values, &linear));
  PetscCall(VecGetArrayWrite(m->identity, &identity));
  for (PetscInt k = 0; k < 2 * info.xm * info.ym; k++) {
    const PetscInt  c         = k % 2;
    const PetscReal diffusion = c ? m->kappa : 1, entries[] = {-sx, -sx, -sy, -sy, 0, 0};

    for (PetscInt e = 0; e < 6; e++) {
      const PetscBool diagonal = (PetscBool)(e == 4 + c);

      linear[6 * k + e]   = diffusion * (diagonal ? 2 * (sx + sy) : entries[e]) + (diagonal && !c ? m->gamma : 0);
      identity[6 * k + e] = diagonal ? 1 : 0;
    }
  }
  PetscCall(VecRestoreArrayWrite(m->linear_values, &linear));
  PetscCall(VecRestoreArrayWrite(m->identity, &identity));
  PetscCall(VecCopy(m->linear_values, m->fixed_values));
  PetscCall(CreateJacobian(dm, &m->linear));
  PetscCall(SetValues(m->linear, m->linear_values));
  PetscFunctionReturn(0);
}

static PetscErrorCode ModelSetUp(DM dm, Model *m)
{
  PetscInt    *rows, *cols, n, start;
  PetscScalar *values;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, &m->supply));
  PetscCall(VecStrideSet(m->supply, 0, m->gamma * m->a));
  PetscCall(VecStrideSet(m->supply, 1, m->gamma * m->b));
  PetscCall(VecDuplicate(m->supply, &m->products));
  PetscCall(VecDuplicate(m->supply, &m->reaction));
  PetscCall(VecGetLocalSize(m->supply, &n));
  PetscCall(VecGetOwnershipRange(m->supply, &start, NULL));
  PetscCall(PetscMalloc3(6 * n, &rows, 6 * n, &cols, 6 * n, &values));

  /* u in the row of v, v in that of u, and both in the column of u */
  for (PetscInt k = 0; k < n; k++) {
    rows[k] = k % 2 ? k - 1 : k + 1;
    cols[k] = k - k % 2;
  }
  PetscCall(CreateMatrix(dm, n, n, start, n, rows, cols, NULL, &m->bilinear));

  for (PetscInt k = 0; k < n; k++) {
    rows[k] = cols[k] = k;
    values[k]         = k % 2 ? m->gamma : -m->gamma;
  }
  PetscCall(CreateMatrix(dm, n, n, start, n, rows, cols, values, &m->gain));

  /* -2 u v and -u^2 in the row of u, 2 u v and u^2 in that of v, and zeros for the neighbours: a GPU likes empty rows
   * less */
  for (PetscInt k = 0; k < 6 * n; k++) {
    const PetscInt e = k % 6, row = k / 6;

    rows[k]   = k;
    cols[k]   = row - row % 2 + (e == 5 ? 1 : 0);
    values[k] = e < 4 ? 0 : (row % 2 ? m->gamma : -m->gamma) * (e == 4 ? 2 : 1);
  }
  PetscCall(CreateMatrix(dm, 6 * n, n, start, 6 * n, rows, cols, values, &m->slopes));
  PetscCall(PetscFree3(rows, cols, values));

  PetscCall(MatCreateVecs(m->slopes, NULL, &m->values));
  PetscCall(VecDuplicate(m->values, &m->identity));
  PetscCall(VecDuplicate(m->values, &m->linear_values));
  PetscCall(VecDuplicate(m->values, &m->fixed_values));
  m->shift = 0;
  PetscCall(SetLinear(dm, m));
  PetscFunctionReturn(0);
}

static PetscErrorCode ModelDestroy(Model *m)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&m->linear));
  PetscCall(VecDestroy(&m->supply));
  PetscCall(MatDestroy(&m->bilinear));
  PetscCall(VecDestroy(&m->products));
  PetscCall(VecDestroy(&m->reaction));
  PetscCall(MatDestroy(&m->gain));
  PetscCall(MatDestroy(&m->slopes));
  PetscCall(VecDestroy(&m->identity));
  PetscCall(VecDestroy(&m->linear_values));
  PetscCall(VecDestroy(&m->fixed_values));
  PetscCall(VecDestroy(&m->values));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetInitialValues(DM dm, Vec U)
{
  DMDALocalInfo info;
  Field       **x;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  PetscCall(DMDAVecGetArrayWrite(dm, U, &x));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscReal px = 2 * PETSC_PI * i / (info.mx - 1), py = 2 * PETSC_PI * j / (info.my - 1);
      PetscReal       perturbation = 0.0016 * PetscCosReal(px + py);

      for (int k = 1; k <= 8; k++) perturbation += 0.001 * PetscCosReal(k * px);
      x[j][i].u = 0.919145 + perturbation;
      x[j][i].v = 0.937903 + perturbation;
    }
  }
  PetscCall(DMDAVecRestoreArrayWrite(dm, U, &x));
  PetscFunctionReturn(0);
}

/* max_steps is what there is without the option */
static PetscErrorCode CreateTS(DM dm, Model *m, const Solver *solver, PetscInt max_steps, TS *ts)
{
  SNES           snes;
  SNESLineSearch linesearch;
  KSP            ksp;
  PC             pc;
  Mat            J;
  DMDALocalInfo  info;
  PetscReal      h;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  h = 1 / (PetscReal)(PetscMax(info.mx, info.my) - 1);
  PetscCall(CreateJacobian(dm, &J));
  PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
  PetscCall(TSSetDM(*ts, dm));
  PetscCall(TSSetType(*ts, TSBEULER));
  PetscCall(TSSetIFunction(*ts, NULL, IFunction, m));
  PetscCall(TSSetIJacobian(*ts, J, J, IJacobian, m));
  PetscCall(TSSetTimeStep(*ts, 0.1 * h * h));
  PetscCall(TSSetMaxTime(*ts, 0.225));
  PetscCall(TSSetMaxSteps(*ts, max_steps));
  PetscCall(TSSetExactFinalTime(*ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSGetSNES(*ts, &snes));
  PetscCall(SNESGetLineSearch(snes, &linesearch));
  PetscCall(SNESLineSearchSetType(linesearch, "basic")); /* whole steps; PETSc 3.26 also calls it none */
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, solver->prefix));
  PetscCall(KSPSetType(ksp, solver->ksptype));
  if (solver->pctype) {
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, solver->pctype));
  }
  PetscCall(TSSetFromOptions(*ts));
  PetscCall(MatDestroy(&J));
  PetscFunctionReturn(0);
}

static PetscErrorCode GetCounts(TS ts, Counts *counts)
{
  PetscFunctionBeginUser;
  PetscCall(TSGetStepNumber(ts, &counts->steps));
  PetscCall(TSGetSNESIterations(ts, &counts->newton));
  PetscCall(TSGetKSPIterations(ts, &counts->linear));
  PetscFunctionReturn(0);
}

/* One line, which the next one takes the place of a second later */
static PetscErrorCode Progress(TS ts, PetscInt step, PetscReal time, Vec U, void *ctx)
{
  Display       *display = (Display *)ctx;
  PetscLogDouble now;
  PetscInt       max_steps;
  PetscReal      part;
  Counts         counts;

  PetscFunctionBeginUser;
  (void)U;
  PetscCall(PetscTime(&now));
  if (now < display->next) PetscFunctionReturn(0);
  display->next = now + 1;
  PetscCall(TSGetMaxSteps(ts, &max_steps));
  PetscCall(GetCounts(ts, &counts));
  part = PetscMax(time / display->end, (PetscReal)step / max_steps);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "\r%5.1f %%  t = %-10.5g %" PetscInt_FMT " steps, %" PetscInt_FMT
                        " Newton steps, %" PetscInt_FMT " linear iterations ",
                        (double)(100 * part), (double)time, step, counts.newton, counts.linear));
  PetscFunctionReturn(0);
}

static PetscErrorCode WritePicture(const char prefix[], PetscReal time, Vec U)
{
  PetscViewer viewer;
  char        name[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s-%.3f.vts", prefix, (double)time));
  PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
  PetscCall(PetscObjectSetName((PetscObject)U, "concentration"));
  PetscCall(VecView(U, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(0);
}

/* On to the end, and exactly to the times of the pictures on the way */
static PetscErrorCode Run(TS ts, Vec U, const char pictures[])
{
  static const PetscReal times[] = {0.025, 0.125, 0.15, 0.2, 0.225, 5};
  PetscReal              end, dt;
  TSConvergedReason      reason = TS_CONVERGED_TIME;

  PetscFunctionBeginUser;
  PetscCall(TSGetMaxTime(ts, &end));
  PetscCall(TSGetTimeStep(ts, &dt));
  for (size_t k = 0;
       pictures[0] && k < PETSC_STATIC_ARRAY_LENGTH(times) && times[k] <= end && reason == TS_CONVERGED_TIME; k++) {
    PetscCall(TSSetMaxTime(ts, times[k]));
    PetscCall(TSSetTimeStep(ts, dt));
    PetscCall(TSSolve(ts, U));
    PetscCall(TSGetConvergedReason(ts, &reason));
    if (reason == TS_CONVERGED_TIME) PetscCall(WritePicture(pictures, times[k], U));
  }
  if (reason == TS_CONVERGED_TIME) {
    PetscCall(TSSetMaxTime(ts, end));
    PetscCall(TSSetTimeStep(ts, dt));
    PetscCall(TSSolve(ts, U));
  }
  PetscFunctionReturn(0);
}

/* A run as the options say, and a line about it */
static PetscErrorCode Simulate(DM dm, Model *m, PetscBool progress, const char pictures[])
{
  TS             ts;
  Vec            U;
  Display        display = {0, 0};
  Counts         counts;
  PetscReal      time, least, most;
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(CreateTS(dm, m, &bai, 1000000000, &ts));
  PetscCall(DMCreateGlobalVector(dm, &U));
  PetscCall(SetInitialValues(dm, U));
  if (progress) {
    PetscCall(TSGetMaxTime(ts, &display.end));
    PetscCall(TSMonitorSet(ts, Progress, &display, NULL));
  }
  PetscCall(Now(&start));
  PetscCall(Run(ts, U, pictures));
  PetscCall(Now(&end));
  PetscCall(GetCounts(ts, &counts));
  PetscCall(TSGetTime(ts, &time));
  PetscCall(VecStrideMin(U, 0, NULL, &least));
  PetscCall(VecStrideMax(U, 0, NULL, &most));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%st = %g, u from %.4f to %.4f\n", progress ? "\n" : "", (double)time,
                        (double)least, (double)most));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%" PetscInt_FMT " steps, %" PetscInt_FMT " Newton steps, %" PetscInt_FMT
                        " linear iterations, %.3g s, %.3g ms a step\n",
                        counts.steps, counts.newton, counts.linear, end - start,
                        1e3 * (end - start) / PetscMax(counts.steps, 1)));
  PetscCall(VecDestroy(&U));
  PetscCall(TSDestroy(&ts));
  PetscFunctionReturn(0);
}

/* A direct solver, unless options say otherwise; PETSc's own is for one rank */
static Solver Reference(PetscMPIInt size)
{
  const Solver reference = {"reference", KSPPREONLY, size == 1 ? PCLU : PCREDUNDANT, "reference_"};

  return reference;
}

/* How far U is from the reference, relative to how far that has come */
static PetscErrorCode GetDifference(DM dm, Vec reference, Vec U, PetscReal *difference)
{
  Vec       work;
  PetscReal change;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, &work));
  PetscCall(SetInitialValues(dm, work));
  PetscCall(VecAXPY(work, -1, reference));
  PetscCall(VecNorm(work, NORM_2, &change));
  PetscCall(VecWAXPY(work, -1, reference, U));
  PetscCall(VecNorm(work, NORM_2, difference));
  *difference /= change;
  PetscCall(VecDestroy(&work));
  PetscFunctionReturn(0);
}

static PetscErrorCode Check(DM dm, Model *m, const Solver *reference)
{
  const Solver *solvers[] = {reference, &bai};
  Vec           U[2];
  TS            ts;
  PetscReal     difference;

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscCall(DMCreateGlobalVector(dm, &U[k]));
    PetscCall(SetInitialValues(dm, U[k]));
    PetscCall(CreateTS(dm, m, solvers[k], 1000000000, &ts));
    PetscCall(TSSolve(ts, U[k]));
    PetscCall(TSDestroy(&ts));
  }
  PetscCall(GetDifference(dm, U[0], U[1], &difference));
  if (!(difference <= 1e-6))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "The difference from the reference is %g\n", (double)difference));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&U[k]));
  PetscFunctionReturn(0);
}

/* What comes after it is the linear solver: its set-up, and the solve */
static PetscErrorCode TimedIJacobian(TS ts, PetscReal t, Vec U, Vec Udot, PetscReal shift, Mat J, Mat P, void *ctx)
{
  Clock *clock = (Clock *)ctx;

  PetscFunctionBeginUser;
  PetscCall(IJacobian(ts, t, U, Udot, shift, J, P, clock->model));
  PetscCall(Now(&clock->start));
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
  clock->sum += now - clock->start;
  PetscFunctionReturn(0);
}

/* That there is a monitor keeps Richardson from leaving the iteration to a preconditioner that does not look at the
 * residual */
static PetscErrorCode Watch(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  PetscFunctionBeginUser;
  (void)ksp;
  (void)it;
  (void)norm;
  (void)ctx;
  PetscFunctionReturn(0);
}

/* Runs, and prints one line of the table; the first step, which sets up, is not timed */
static PetscErrorCode Measure(DM dm, Model *m, const Solver *solver, Vec U, Vec reference)
{
  TS             ts;
  SNES           snes;
  KSP            ksp;
  Counts         first, all;
  Clock          clock = {m, 0, 0};
  PetscInt       max_steps, steps;
  PetscReal      difference;
  PetscBool      same;
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(CreateTS(dm, m, solver, 101, &ts));
  PetscCall(TSGetMaxSteps(ts, &max_steps));
  PetscCheck(max_steps > 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-ts_max_steps %" PetscInt_FMT " must be at least 2 with -compare", max_steps);
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(PetscStrcmp(solver->ksptype, KSPPREONLY, &same));
  if (!same) PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(PetscStrcmp(solver->ksptype, KSPRICHARDSON, &same));
  if (same) PetscCall(KSPMonitorSet(ksp, Watch, NULL, NULL));
  PetscCall(TSSetIJacobian(ts, NULL, NULL, TimedIJacobian, &clock));
  PetscCall(KSPSetPostSolve(ksp, StopClock, &clock));

  PetscCall(SetInitialValues(dm, U));
  PetscCall(TSSetMaxSteps(ts, 1));
  PetscCall(TSSolve(ts, U));
  PetscCall(GetCounts(ts, &first));
  PetscCall(TSSetMaxSteps(ts, max_steps));
  clock.sum = 0;
  PetscCall(Now(&start));
  PetscCall(TSSolve(ts, U));
  PetscCall(Now(&end));
  PetscCall(GetCounts(ts, &all));
  steps = all.steps - first.steps;

  PetscCall(GetDifference(dm, reference, U, &difference));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %6" PetscInt_FMT " %8.1f %8.1f %10.4f %10.4f %11.1e\n", solver->name,
                        steps, (all.newton - first.newton) / (double)steps, (all.linear - first.linear) / (double)steps,
                        1e3 * (end - start) / steps, 1e3 * clock.sum / steps, (double)difference));
  PetscCall(TSDestroy(&ts));
  PetscFunctionReturn(0);
}

static PetscErrorCode Compare(DM dm, Model *m, const Solver *reference)
{
  Vec U, Ureference;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(dm, &U));
  PetscCall(DMCreateGlobalVector(dm, &Ureference));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %6s %8s %8s %10s %10s %11s\n%-18s %6s %8s %8s %10s %10s %11s\n", "",
                        "", "Newton", "linear", "ms", "ms linear", "from the", "solver", "steps", "/step", "/step",
                        "/step", "/step", "reference"));
  PetscCall(Measure(dm, m, reference, Ureference, Ureference));
  PetscCall(Measure(dm, m, &bai, U, Ureference));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(others); k++) PetscCall(Measure(dm, m, &others[k], U, Ureference));
  PetscCall(VecDestroy(&U));
  PetscCall(VecDestroy(&Ureference));
  PetscFunctionReturn(0);
}

static PetscErrorCode ModelSetFromOptions(Model *m)
{
  PetscFunctionBeginUser;
  m->kappa = 10;
  m->gamma = 1000;
  m->a     = 0.126779;
  m->b     = 0.792366;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The equations", NULL);
  PetscCall(PetscOptionsReal("-kappa", "Diffusion of v to that of u", "ex6.c", m->kappa, &m->kappa, NULL));
  PetscCall(PetscOptionsReal("-gamma", "Speed of the reaction: how many spots fit into the square", "ex6.c", m->gamma,
                             &m->gamma, NULL));
  PetscCall(PetscOptionsReal("-a", "Supply of u", "ex6.c", m->a, &m->a, NULL));
  PetscCall(PetscOptionsReal("-b", "Supply of v", "ex6.c", m->b, &m->b, NULL));
  PetscOptionsEnd();
  PetscCheck(m->kappa > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-kappa %g must be positive", (double)m->kappa);
  PetscCheck(m->gamma >= 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-gamma %g must not be negative", (double)m->gamma);
  PetscFunctionReturn(0);
}

/* The mirror image of a point must be on the same rank */
static PetscErrorCode CreateGrid(DM *dm)
{
  PetscInt nx, ny, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_MIRROR, DM_BOUNDARY_MIRROR, DMDA_STENCIL_STAR, 100, 100,
                         PETSC_DECIDE, PETSC_DECIDE, 2, 1, NULL, NULL, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMDAGetInfo(*dm, NULL, &nx, &ny, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCheck(nx > 1 && ny > 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-da_grid_x %" PetscInt_FMT " and -da_grid_y %" PetscInt_FMT " must be at least 2", nx, ny);
  PetscCall(DMSetUp(*dm));
  PetscCall(DMDAGetCorners(*dm, NULL, NULL, NULL, &xm, &ym, NULL));
  PetscCheck(xm > 1 && ym > 1, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "-da_grid_x %" PetscInt_FMT " and -da_grid_y %" PetscInt_FMT
             " must be such that each rank has at least 2 points in each direction",
             nx, ny);
  PetscCall(DMDASetUniformCoordinates(*dm, 0, 1, 0, 1, 0, 0));
  PetscCall(DMDASetFieldName(*dm, 0, "u"));
  PetscCall(DMDASetFieldName(*dm, 1, "v"));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM          dm;
  Model       m;
  Solver      reference;
  PetscMPIInt size;
  char        pictures[PETSC_MAX_PATH_LEN - 16] = "";
  PetscBool   progress = PETSC_FALSE, check = PETSC_FALSE, compare = PETSC_FALSE, hasksp, haspc;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(ModelSetFromOptions(&m));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The run", NULL);
  PetscCall(PetscOptionsBool("-progress", "Show how far it is", "ex6.c", progress, &progress, NULL));
  PetscCall(PetscOptionsString("-pictures", "Write files of u and v whose names begin with this", "ex6.c", pictures,
                               pictures, sizeof(pictures), NULL));
  PetscCall(PetscOptionsBool("-compare", "Time other solvers too", "ex6.c", compare, &compare, NULL));
  PetscCall(PetscOptionsBool("-check", "Print only what should not be so", "ex6.c", check, &check, NULL));
  PetscOptionsEnd();
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ksp_type", &hasksp));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_type", &haspc));
  PetscCheck(!compare || !(hasksp || haspc), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-compare has its own list of solvers, -ksp_type and -pc_type do not go with it");

  PetscCall(CreateGrid(&dm));
  PetscCall(ModelSetUp(dm, &m));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  reference = Reference(size);
  if (check) PetscCall(Check(dm, &m, &reference));
  else if (compare) PetscCall(Compare(dm, &m, &reference));
  else PetscCall(Simulate(dm, &m, progress, pictures));
  PetscCall(ModelDestroy(&m));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: !single
    output_file: output/empty.out
    args: -check -da_grid_x 20 -da_grid_y 18 -ts_max_time 0.006 -snes_max_it 3

    test:
      suffix: host
      nsize: {{1 2}}
      args: -ksp_bai_mode {{async launch sync color}}

    test:
      suffix: adaptive
      nsize: {{1 2}}
      args: -ts_type {{bdf beuler theta}} -ts_adapt_type basic -ts_adapt_dt_max 1e-3

    test:
      suffix: two_steps
      args: -snes_max_it 2 -snes_convergence_test skip -snes_linesearch_norms 0

    test:
      suffix: aijcusparse
      nsize: {{1 2}}
      requires: baicuda cuda
      args: -dm_mat_type aijcusparse -dm_vec_type cuda -ksp_bai_mode {{async sync}}

  testset:
    requires: !single
    args: -da_grid_x 20 -da_grid_y 18 -ts_max_steps 10 -ksp_view ::ascii_info_detail
    filter: grep -o "set-ups [0-9]*" | sort -u
    output_file: output/ex6_setups.out

    test:
      suffix: setups
      nsize: {{1 2}}
      args: -ksp_bai_mode {{async sync}}

    test:
      suffix: setups_aijcusparse
      requires: baicuda cuda
      args: -dm_mat_type aijcusparse -dm_vec_type cuda

  testset:
    nsize: {{1 2}}
    requires: !single !complex
    output_file: output/ex6_pictures.out
    args: -da_grid_x 14 -da_grid_y 15 -ts_max_time 0.125 -pictures spots
    filter: cat - spots-0.025.vts spots-0.125.vts | grep -a -o -e "^t = .*" -e "WholeExtent=[^>]*" -e \
            "concentration.u" | uniq
    diff_args: -j

    test:
      suffix: pictures

    test:
      suffix: pictures_aijcusparse
      requires: baicuda cuda
      args: -dm_mat_type aijcusparse -dm_vec_type cuda

  test:
    suffix: compare
    requires: !single
    args: -compare -da_grid_x 20 -da_grid_y 18 -ts_max_steps 5
    filter: tr -s " " | cut -d " " -f 1-3

TEST*/
