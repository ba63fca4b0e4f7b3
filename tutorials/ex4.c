#include <petscbai.h>
#include <petscdmda.h>
#include <petscsnes.h>
#include "now.h"

static char help[] =
  "Newton's method for -Laplace(u) = -(alpha + beta u^2) in the unit square, u = 0 on its boundary, with KSPBAI\n\
inside.\n\
A grid of 102 x 102 points, of which the 100 x 100 that are not on the boundary are unknowns.\n\n\
  ./ex4 -snes_monitor -ksp_rtol 1e-3                   any option of SNES and KSP\n\
  ./ex4 -snes_ksp_ew                                   linear solves as accurate as Newton's method needs them\n\
  ./ex4 -ksp_norm_type none -ksp_max_it 500            as many iterations in each Newton step\n\
  ./ex4 -ksp_type cg -pc_type jacobi                   another linear solver\n\
  ./ex4 -compare                                       linear solvers beside each other\n\
  ./ex4 -solvers bai-500,bai-ew,cg                     some of them\n\
  ./ex4 -solvers cg -steps steps.csv                   and a file with function norm and time of each Newton step\n\
  ./ex4 -compare -snes_stol 0 -snes_rtol 1e-12 -snes_ksp_ew_version 3\n\
                                                       until the function norm is small, instead of the last step\n\
  ./ex4 -da_grid_x 200 -da_grid_y 200 -beta 10         another grid, another reaction\n\
  ./ex4 -dm_mat_type aijcusparse                       all of it on a GPU\n\n";

typedef struct {
  PetscReal alpha, beta;
  PetscReal area;      /* of a cell of the grid, by which all equations are multiplied */
  PetscInt  n;         /* unknowns of this rank */
  Mat       laplacian; /* -Laplace */
  Vec       values;    /* entries of the Jacobian in the order of MatSetPreallocationCOO() */
  FILE     *history;   /* where each Newton step is written to, or NULL */
} Problem;

/* What solves the linear systems */
typedef struct {
  const char *name;
  KSPType     ksptype;
  PCType      pctype;
  PetscInt    its;       /* iterations in each Newton step, 0 for as many as the tolerance takes */
  PetscBool   eisenstat; /* the tolerance is Eisenstat and Walker's, not 1e-10 */
  PetscBool   single;    /* iterates in single precision, for corrections: refinement of mixed precision */
} Solver;

/* jacobi-2500 and sor-2500 do as many sweeps as bai-500 */
static const Solver solvers[] = {
  {"bai-200",     KSPBAI,        NULL,     200,  PETSC_FALSE, PETSC_FALSE},
  {"bai-250",     KSPBAI,        NULL,     250,  PETSC_FALSE, PETSC_FALSE},
  {"bai-300",     KSPBAI,        NULL,     300,  PETSC_FALSE, PETSC_FALSE},
  {"bai-350",     KSPBAI,        NULL,     350,  PETSC_FALSE, PETSC_FALSE},
  {"bai-500",     KSPBAI,        NULL,     500,  PETSC_FALSE, PETSC_FALSE},
  {"bai-1000",    KSPBAI,        NULL,     1000, PETSC_FALSE, PETSC_FALSE},
  {"bai",         KSPBAI,        NULL,     0,    PETSC_FALSE, PETSC_FALSE},
  {"bai-single",  KSPBAI,        NULL,     0,    PETSC_FALSE, PETSC_TRUE },
  {"bai-ew",      KSPBAI,        NULL,     0,    PETSC_TRUE,  PETSC_FALSE},
  {"jacobi-2500", KSPRICHARDSON, PCJACOBI, 2500, PETSC_FALSE, PETSC_FALSE},
  {"sor-2500",    KSPRICHARDSON, PCSOR,    2500, PETSC_FALSE, PETSC_FALSE},
  {"cg",          KSPCG,         PCJACOBI, 0,    PETSC_FALSE, PETSC_FALSE},
  {"gmres",       KSPGMRES,      PCJACOBI, 0,    PETSC_FALSE, PETSC_FALSE},
  {"jacobi-500",  KSPRICHARDSON, PCJACOBI, 500,  PETSC_FALSE, PETSC_FALSE},
  {"sor-500",     KSPRICHARDSON, PCSOR,    500,  PETSC_FALSE, PETSC_FALSE}
};
enum {
  BAI_200,
  BAI_250,
  BAI_300,
  BAI_350,
  BAI_500,
  BAI_1000,
  BAI,
  BAI_SINGLE,
  BAI_EW,
  JACOBI,
  SOR,
  CG,
  NSOLVERS = PETSC_STATIC_ARRAY_LENGTH(solvers)
};

typedef struct {
  PetscInt            steps, its;
  PetscReal           norm;
  SNESConvergedReason reason;
  PetscLogDouble      time;
} Result;

/*
   -Laplace, with what Newton's method adds to the diagonal as entries of their own: five values a row, zero where the
   neighbour is on the boundary and so no column, and at the end the diagonal again
*/
static PetscErrorCode CreateMatrix(DM dm, Mat *A, Vec *values)
{
  static const PetscInt neighbours[5][2] = {
    {0,  0 },
    {-1, 0 },
    {1,  0 },
    {0,  -1},
    {0,  1 }
  };
  DMDALocalInfo info;
  VecType       vectype;
  PetscScalar  *v;
  PetscInt     *rows, *cols, n, row, k = 0;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  n = info.xm * info.ym;
  PetscCall(DMSetMatrixPreallocateSkip(dm, PETSC_TRUE));
  PetscCall(DMCreateMatrix(dm, A));
  PetscCall(MatGetVecType(*A, &vectype));
  PetscCall(VecCreate(PETSC_COMM_WORLD, values));
  PetscCall(VecSetSizes(*values, 6 * n, PETSC_DETERMINE));
  PetscCall(VecSetType(*values, vectype));

  PetscCall(PetscMalloc2(6 * n, &rows, 6 * n, &cols));
  PetscCall(VecGetArrayWrite(*values, &v));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscReal x = (PetscReal)(info.mx + 1) / (info.my + 1), y = 1 / x, value[] = {2 * (x + y), -x, -x, -y, -y};

      row = (j - info.gys) * info.gxm + i - info.gxs;
      for (int d = 0; d < 5; d++, k++) {
        const PetscInt  a = i + neighbours[d][0], b = j + neighbours[d][1];
        const PetscBool inside = (PetscBool)(a >= 0 && a < info.mx && b >= 0 && b < info.my);

        rows[k] = row;
        cols[k] = inside ? (b - info.gys) * info.gxm + a - info.gxs : -1;
        v[k]    = inside ? value[d] : 0;
      }
    }
  }
  for (; k < 6 * n; k++) {
    rows[k] = cols[k] = rows[5 * (k - 5 * n)];
    v[k]              = 0;
  }
  PetscCall(VecRestoreArrayWrite(*values, &v));
  PetscCall(MatSetPreallocationCOOLocal(*A, 6 * n, rows, cols));
  PetscCall(PetscFree2(rows, cols));
  PetscFunctionReturn(0);
}

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

/* -Laplace(u) + alpha + beta u^2 */
static PetscErrorCode Function(SNES snes, Vec u, Vec f, void *ctx)
{
  const Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(VecPointwiseMult(f, u, u));
  PetscCall(VecScale(f, p->area * p->beta));
  PetscCall(VecShift(f, p->area * p->alpha));
  PetscCall(MatMultAdd(p->laplacian, u, f, f));
  PetscFunctionReturn(0);
}

/* -Laplace + 2 beta u */
static PetscErrorCode Jacobian(SNES snes, Vec u, Mat A, Mat J, void *ctx)
{
  const Problem *p = (Problem *)ctx;
  PetscInt       start;
  IS             is;
  Vec            diagonal;

  PetscFunctionBeginUser;
  (void)snes;
  (void)A;
  PetscCall(VecGetOwnershipRange(p->values, &start, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, p->n, start + 5 * p->n, 1, &is));
  PetscCall(VecGetSubVector(p->values, is, &diagonal));
  PetscCall(VecAXPBY(diagonal, 2 * p->area * p->beta, 0, u));
  PetscCall(VecRestoreSubVector(p->values, is, &diagonal));
  PetscCall(ISDestroy(&is));
  PetscCall(SetValues(J, p->values));
  PetscFunctionReturn(0);
}

/* Newton's method until ||u_{k+1} - u_k|| < stol ||u_{k+1}||; prefix is that of its options */
static PetscErrorCode CreateNewton(Problem *p, Mat J, const Solver *s, const char prefix[], SNES *snes)
{
  KSP ksp;
  PC  pc;
  Vec f;

  PetscFunctionBeginUser;
  PetscCall(SNESCreate(PETSC_COMM_WORLD, snes));
  PetscCall(SNESSetOptionsPrefix(*snes, prefix));
  PetscCall(MatCreateVecs(J, NULL, &f));
  PetscCall(SNESSetFunction(*snes, f, Function, p));
  PetscCall(VecDestroy(&f));
  PetscCall(SNESSetJacobian(*snes, J, J, Jacobian, p));
  PetscCall(SNESSetTolerances(*snes, 0, 0, PETSC_DEFAULT, 100, PETSC_DEFAULT));
  PetscCall(SNESGetKSP(*snes, &ksp));
  PetscCall(KSPSetType(ksp, s->ksptype));
  if (s->single) PetscCall(KSPBAISetPrecision(ksp, BAI_PRECISION_SINGLE));
  if (s->pctype) {
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, s->pctype));
    PetscCall(PCSORSetSymmetric(pc, SOR_LOCAL_FORWARD_SWEEP));
  }
  if (s->its) PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-10, PETSC_DEFAULT, PETSC_DEFAULT,
                             s->its ? s->its : 100000));
  PetscCall(SNESKSPSetUseEW(*snes, s->eisenstat));
  PetscCall(SNESSetFromOptions(*snes));
  PetscFunctionReturn(0);
}

/* A Newton step of a solver, for the history */
typedef struct {
  FILE          *file;
  const char    *name;
  PetscLogDouble start;
} Record;

static PetscErrorCode WriteStep(SNES snes, PetscInt step, PetscReal norm, void *ctx)
{
  const Record  *record = (Record *)ctx;
  PetscLogDouble now;

  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(Now(&now));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, record->file, "%s,%" PetscInt_FMT ",%.5e,%.5e\n", record->name, step,
                         (double)norm, now - record->start));
  PetscFunctionReturn(0);
}

/* From u = 0 */
static PetscErrorCode Solve(Problem *p, Mat J, const Solver *s, const char prefix[], Vec u, Result *r)
{
  SNES           snes;
  Record         record = {.file = p->history, .name = s->name};
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCall(CreateNewton(p, J, s, prefix, &snes));
  if (p->history) PetscCall(SNESMonitorSet(snes, WriteStep, &record, NULL));
  PetscCall(VecSet(u, 0));
  PetscCall(Now(&start));
  record.start = start;
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(Now(&end));
  r->time = end - start;
  PetscCall(SNESGetIterationNumber(snes, &r->steps));
  PetscCall(SNESGetLinearSolveIterations(snes, &r->its));
  PetscCall(SNESGetFunctionNorm(snes, &r->norm));
  PetscCall(SNESGetConvergedReason(snes, &r->reason));
  PetscCall(SNESDestroy(&snes));
  PetscFunctionReturn(0);
}

/* Says if u is not what CG leads to */
static PetscErrorCode CheckSolution(Problem *p, Mat J, const char name[], Vec u, const Result *r)
{
  Vec       reference;
  Result    cg;
  PetscReal error, norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(u, &reference));
  PetscCall(Solve(p, J, &solvers[CG], "reference_", reference, &cg));
  PetscCall(VecNorm(reference, NORM_2, &norm));
  PetscCall(VecAXPY(reference, -1, u));
  PetscCall(VecNorm(reference, NORM_2, &error));
  if (r->reason <= 0 || cg.reason <= 0)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, with cg %s\n", name, SNESConvergedReasons[r->reason],
                          SNESConvergedReasons[cg.reason]));
  if (!(error <= 1e-6 * norm))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the solution is %g off\n", name, (double)(error / norm)));
  PetscCall(VecDestroy(&reference));
  PetscFunctionReturn(0);
}

/* Says what should not be so: more iterations do not take more steps, and Eisenstat and Walker's tolerances take fewer
 * iterations than any fixed number */
static PetscErrorCode CheckCosts(const Result r[])
{
  PetscFunctionBeginUser;
  for (int k = BAI_200; k < BAI_1000; k++) {
    if (r[k].steps < r[k + 1].steps)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s takes %" PetscInt_FMT " steps, %s %" PetscInt_FMT "\n",
                            solvers[k].name, r[k].steps, solvers[k + 1].name, r[k + 1].steps));
  }
  for (int k = BAI_200; k <= BAI_1000; k++) {
    if (r[BAI_EW].its >= r[k].its)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bai-ew takes %" PetscInt_FMT " iterations, %s %" PetscInt_FMT "\n",
                            r[BAI_EW].its, solvers[k].name, r[k].its));
  }
  PetscFunctionReturn(0);
}

/* A line of the table for each solver in the list, or for all without one */
static PetscErrorCode Compare(Problem *p, Mat J, Vec u, char *names[], PetscInt nnames, PetscBool check)
{
  PetscBool chosen[NSOLVERS], known, match, warm = PETSC_FALSE;
  FILE     *history = p->history;
  Result    r[NSOLVERS];

  PetscFunctionBeginUser;
  for (int k = 0; k < NSOLVERS; k++) chosen[k] = (PetscBool)!nnames;
  for (PetscInt j = 0; j < nnames; j++) {
    known = PETSC_FALSE;
    for (int k = 0; k < NSOLVERS; k++) {
      PetscCall(PetscStrcasecmp(names[j], solvers[k].name, &match));
      if (match) chosen[k] = known = PETSC_TRUE;
    }
    PetscCheck(known, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-solvers: there is no %s, the table of -compare has what there is", names[j]);
  }

  if (!check)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-12s %12s %17s %13s %8s  %s\n", "solver", "Newton steps",
                          "linear iterations", "function norm", "time/ms", "reason"));
  for (int k = 0; k < NSOLVERS; k++) {
    if (!chosen[k]) continue;
    /* What is done once in a process is not counted as the first solver's */
    p->history = NULL;
    if (!warm && !check) PetscCall(Solve(p, J, &solvers[k], NULL, u, &r[k]));
    p->history = history;
    warm       = PETSC_TRUE;
    PetscCall(Solve(p, J, &solvers[k], NULL, u, &r[k]));
    if (check) PetscCall(CheckSolution(p, J, solvers[k].name, u, &r[k]));
    else
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-12s %12" PetscInt_FMT " %17" PetscInt_FMT " %13.2e %8.2f  %s\n",
                            solvers[k].name, r[k].steps, r[k].its, (double)r[k].norm, 1e3 * r[k].time,
                            SNESConvergedReasons[r[k].reason]));
  }
  if (check && !nnames) PetscCall(CheckCosts(r));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM            dm;
  DMDALocalInfo info;
  Mat           J;
  Vec           u, values;
  Problem       p;
  Result        r;
  char         *names[NSOLVERS];
  PetscInt      nnames  = NSOLVERS;
  PetscBool     compare = PETSC_FALSE, check = PETSC_FALSE, hasnames, hasksp, haspc, hashistory;
  char          history[PETSC_MAX_PATH_LEN] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  p.alpha   = 1;
  p.beta    = 2;
  p.history = NULL;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The problem", NULL);
  PetscCall(PetscOptionsReal("-alpha", "Constant part of the reaction", "ex4.c", p.alpha, &p.alpha, NULL));
  PetscCall(PetscOptionsReal("-beta", "Quadratic part of the reaction", "ex4.c", p.beta, &p.beta, NULL));
  PetscCall(PetscOptionsBool("-compare", "Compare linear solvers", "ex4.c", compare, &compare, NULL));
  PetscCall(
    PetscOptionsStringArray("-solvers", "Which to compare, all if not given", "ex4.c", names, &nnames, &hasnames));
  PetscCall(PetscOptionsString("-steps", "File for function norm and time of each Newton step", "ex4.c", history,
                               history, sizeof(history), &hashistory));
  PetscCall(PetscOptionsBool("-check", "Print only what should not be so", "ex4.c", check, &check, NULL));
  PetscOptionsEnd();
  if (!hasnames) nnames = 0;
  if (hasnames) compare = PETSC_TRUE;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ksp_type", &hasksp));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_type", &haspc));
  PetscCheck(!compare || !(hasksp || haspc), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-compare has its own list of solvers, -ksp_type and -pc_type do not go with it");

  /* The points inside the square only, those on the boundary are zero */
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 100, 100,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMDAGetLocalInfo(dm, &info));
  p.n    = info.xm * info.ym;
  p.area = 1. / (info.mx + 1) / (info.my + 1);
  PetscCall(CreateMatrix(dm, &p.laplacian, &values));
  PetscCall(SetValues(p.laplacian, values));
  PetscCall(VecDestroy(&values));
  PetscCall(CreateMatrix(dm, &J, &p.values));
  PetscCall(MatCreateVecs(J, &u, NULL));

  if (hashistory) PetscCall(PetscFOpen(PETSC_COMM_WORLD, history, "w", &p.history));
  if (compare) PetscCall(Compare(&p, J, u, names, nnames, check));
  else {
    PetscCall(Solve(&p, J, &solvers[BAI], NULL, u, &r));
    if (check) PetscCall(CheckSolution(&p, J, "Newton's method", u, &r));
    else
      PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                            "%" PetscInt_FMT " Newton steps, %" PetscInt_FMT
                            " linear iterations, function norm %.2e, %s\n",
                            r.steps, r.its, (double)r.norm, SNESConvergedReasons[r.reason]));
  }

  if (hashistory) PetscCall(PetscFClose(PETSC_COMM_WORLD, p.history));
  for (PetscInt k = 0; k < nnames; k++) PetscCall(PetscFree(names[k]));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&p.values));
  PetscCall(MatDestroy(&p.laplacian));
  PetscCall(MatDestroy(&J));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2}}
    requires: !single
    output_file: output/empty.out
    args: -check -da_grid_x 30 -da_grid_y 20

    test:
      suffix: solution
      args: -ksp_bai_mode {{async launch sync color}} -snes_ksp_ew {{0 1}}

    test:
      suffix: solution_aijcusparse
      requires: baicuda cuda
      args: -ksp_bai_mode {{async launch sync color}} -snes_ksp_ew {{0 1}} -dm_mat_type aijcusparse

    test:
      suffix: reaction
      args: -alpha -3 -beta 20 -ksp_rtol 1e-4

  testset:
    nsize: {{1 2}}
    requires: !single
    output_file: output/empty.out
    args: -check -compare -da_grid_x 40 -da_grid_y 40 -snes_stol 1e-6

    test:
      suffix: compare

    test:
      suffix: compare_aijcusparse
      requires: baicuda cuda
      timeoutfactor: 3
      args: -dm_mat_type aijcusparse

  testset:
    nsize: {{1 2}}
    requires: !single
    output_file: output/ex4_steps.out
    filter: cut -d , -f 1
    args: -da_grid_x 30 -da_grid_y 20 -snes_stol 1e-6

    test:
      suffix: steps
      args: -ksp_bai_mode {{async sync color}}

    test:
      suffix: steps_aijcusparse
      requires: baicuda cuda
      args: -ksp_bai_mode {{async sync color}} -dm_mat_type aijcusparse

  testset:
    filter: Error:grep -o -e "-compare has .*" -e "-solvers: .*" | head -n 1

    test:
      suffix: unknown
      args: -solvers bai,nonsense

    test:
      suffix: both
      args: -compare -ksp_type cg

TEST*/
