#include <petscbai.h>
#include <petscdmstag.h>
#include <petscksp.h>

static char help[] =
  "A slow viscous flow, Stokes' equations -Laplace u + grad p = f, div u = 0 in the unit square or cube, u = 0 on its\n\
boundary. Pressures are unknowns of the cells, velocities of their faces. The rows of the pressures have no diagonal\n\
entry, so PCFIELDSPLIT solves the system, with a block-asynchronous method for the velocities. f is that of a known\n\
flow.\n\n\
  ./ex9                                                 a square of 32 x 32 cells\n\
  ./ex9 -dim 3 -n 20 -ksp_monitor                       a cube\n\
  mpiexec -n 4 ./ex9 -n 128                             on several ranks\n\
  ./ex9 -fieldsplit_0_pc_type gamg -fieldsplit_0_mg_levels_pc_type bai\n\
                                                        GAMG with our smoother for the velocities\n\
  ./ex9 -ksp_type fgmres -fieldsplit_0_ksp_type bai -fieldsplit_0_ksp_rtol 0.01\n\
                                                        or our solver, to two digits\n\
  ./ex9 -n 1000 -dm_mat_type aijcusparse -dm_vec_type cuda\n\
                                                        on a GPU\n\n";

/* What is chosen where the user does not. An approximation of the Schur complement is the identity */
static const char *const defaults[][2] = {
  {"-ksp_type",                          "gmres"     },
  {"-ksp_rtol",                          "1e-8"      },
  {"-ksp_gmres_restart",                 "100"       },
  {"-pc_type",                           "fieldsplit"},
  {"-pc_fieldsplit_detect_saddle_point", "true"      },
  {"-pc_fieldsplit_type",                "schur"     },
  {"-pc_fieldsplit_schur_fact_type",     "upper"     },
  {"-pc_fieldsplit_schur_precondition",  "self"      },
  {"-fieldsplit_0_ksp_type",             "preonly"   },
  {"-fieldsplit_0_pc_type",              "baimg"     },
  {"-fieldsplit_1_ksp_type",             "preonly"   },
  {"-fieldsplit_1_pc_type",              "none"      }
};

static PetscErrorCode SetDefaults(void)
{
  PetscBool set;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(defaults); k++) {
    PetscCall(PetscOptionsHasName(NULL, NULL, defaults[k][0], &set));
    if (!set) PetscCall(PetscOptionsSetValue(NULL, defaults[k][0], defaults[k][1]));
  }
  PetscFunctionReturn(0);
}

typedef struct {
  PetscInt dim, n; /* dimensions of space, cells in each */
} Grid;

/* Velocity d where cells meet in that direction; d = dim: the pressure. In a cell, or so many cells further in
   direction e */
static DMStagStencil At(const Grid *g, PetscInt d, const PetscInt cell[3], PetscInt further, PetscInt e)
{
  const DMStagStencilLocation faces[] = {DMSTAG_LEFT, DMSTAG_DOWN, DMSTAG_BACK};
  DMStagStencil               s       = {DMSTAG_ELEMENT, cell[0], cell[1], cell[2], 0};

  if (d < g->dim) s.loc = faces[d];
  *(e == 0 ? &s.i : e == 1 ? &s.j : &s.k) += further;
  return s;
}

/* Velocity d, its negative Laplacian, and p at a point; dp: the derivative of p in direction d */
static void Exact(const Grid *g, PetscInt d, const PetscReal x[3], PetscReal *u, PetscReal *minus, PetscReal *p,
                  PetscReal *dp)
{
  const PetscReal s = PetscSinReal(PETSC_PI * x[d]);
  PetscReal       a = d ? -1 : g->dim - 1;

  for (PetscInt e = 0; e < g->dim; e++)
    if (e != d) a *= PetscSinReal(2 * PETSC_PI * x[e]);
  *u     = a * s * s;
  *minus = a * PETSC_PI * PETSC_PI * (4 * (g->dim - 1) * s * s - 2 * PetscCosReal(2 * PETSC_PI * x[d]));
  *p     = PetscCosReal(PETSC_PI * x[0]);
  *dp    = d ? 0 : -PETSC_PI * PetscSinReal(PETSC_PI * x[0]);
}

/* The row of velocity d on the lower side of a cell. Velocities on the boundary are zero, so they are in no other
   row */
static PetscErrorCode SetVelocity(const Grid *g, DM dm, PetscInt d, const PetscInt cell[3], Mat A, Vec b, Vec exact)
{
  const PetscReal     h   = (PetscReal)1 / g->n;
  const DMStagStencil row = At(g, d, cell, 0, 0);
  DMStagStencil       column[9];
  PetscScalar         value[9], f = 0, solution = 0;
  PetscReal           x[3], u, minus, p, dp;
  PetscInt            count = 1;

  PetscFunctionBeginUser;
  column[0] = row;
  value[0]  = 1 / (h * h);
  if (cell[d] > 0 && cell[d] < g->n) {
    value[0] = 0;
    for (PetscInt e = 0; e < g->dim; e++) {
      for (PetscInt side = -1; side <= 1; side += 2) {
        const PetscInt  other  = cell[e] + side;
        const PetscBool inside = (PetscBool)(e == d ? other > 0 && other < g->n : other >= 0 && other < g->n);

        /* half a cell from a wall the velocity beyond it is minus this one */
        value[0] += (inside || e == d ? 1 : 2) / (h * h);
        if (!inside) continue;
        column[count]  = At(g, d, cell, side, e);
        value[count++] = -1 / (h * h);
      }
    }
    column[count]  = At(g, g->dim, cell, -1, d);
    value[count++] = -1 / h;
    column[count]  = At(g, g->dim, cell, 0, d);
    value[count++] = 1 / h;
    for (PetscInt e = 0; e < g->dim; e++) x[e] = (cell[e] + (e == d ? 0 : 0.5)) * h;
    Exact(g, d, x, &u, &minus, &p, &dp);
    f        = minus + dp;
    solution = u;
  }
  PetscCall(DMStagMatSetValuesStencil(dm, A, 1, &row, count, column, value, INSERT_VALUES));
  PetscCall(DMStagVecSetValuesStencil(dm, b, 1, &row, &f, INSERT_VALUES));
  PetscCall(DMStagVecSetValuesStencil(dm, exact, 1, &row, &solution, INSERT_VALUES));
  PetscFunctionReturn(0);
}

/* As much flows into a cell as out of it. The row has no diagonal entry */
static PetscErrorCode SetPressure(const Grid *g, DM dm, const PetscInt cell[3], Mat A, Vec exact)
{
  const PetscReal     h   = (PetscReal)1 / g->n;
  const DMStagStencil row = At(g, g->dim, cell, 0, 0);
  DMStagStencil       column[6];
  PetscScalar         value[6], solution;
  PetscReal           x[3], u, minus, p, dp;
  PetscInt            count = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < g->dim; d++) {
    x[d] = (cell[d] + 0.5) * h;
    for (PetscInt side = 0; side < 2; side++) {
      if (cell[d] + side == 0 || cell[d] + side == g->n) continue;
      column[count]  = At(g, d, cell, side, d);
      value[count++] = (side ? 1 : -1) / h;
    }
  }
  Exact(g, 0, x, &u, &minus, &p, &dp);
  solution = p;
  PetscCall(DMStagMatSetValuesStencil(dm, A, 1, &row, count, column, value, INSERT_VALUES));
  PetscCall(DMStagVecSetValuesStencil(dm, exact, 1, &row, &solution, INSERT_VALUES));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSystem(const Grid *g, DM *dm, Mat *A, Vec *b, Vec *exact)
{
  PetscInt first[3] = {0, 0, 0}, count[3] = {1, 1, 1}, extra[3] = {0, 0, 0}, c[3];

  PetscFunctionBeginUser;
  if (g->dim == 2)
    PetscCall(DMStagCreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, g->n, g->n, PETSC_DECIDE,
                             PETSC_DECIDE, 0, 1, 1, DMSTAG_STENCIL_STAR, 1, NULL, NULL, dm));
  else
    PetscCall(DMStagCreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, g->n, g->n, g->n,
                             PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 0, 0, 1, 1, DMSTAG_STENCIL_STAR, 1, NULL, NULL,
                             NULL, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMCreateMatrix(*dm, A));
  PetscCall(DMCreateGlobalVector(*dm, b));
  PetscCall(VecDuplicate(*b, exact));
  PetscCall(DMStagGetCorners(*dm, &first[0], &first[1], g->dim == 3 ? &first[2] : NULL, &count[0], &count[1],
                             g->dim == 3 ? &count[2] : NULL, &extra[0], &extra[1], g->dim == 3 ? &extra[2] : NULL));
  for (c[2] = first[2]; c[2] < first[2] + count[2] + extra[2]; c[2]++)
    for (c[1] = first[1]; c[1] < first[1] + count[1] + extra[1]; c[1]++)
      for (c[0] = first[0]; c[0] < first[0] + count[0] + extra[0]; c[0]++) {
        PetscInt beyond = 0; /* in how many directions: the last faces are lower sides of cells that are not there */

        for (PetscInt e = 0; e < g->dim; e++) beyond += c[e] == g->n;
        for (PetscInt d = 0; d < g->dim; d++)
          if (beyond == (c[d] == g->n)) PetscCall(SetVelocity(g, *dm, d, c, *A, *b, *exact));
        if (!beyond) PetscCall(SetPressure(g, *dm, c, *A, *exact));
      }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(*b));
  PetscCall(VecAssemblyEnd(*b));
  PetscCall(VecAssemblyBegin(*exact));
  PetscCall(VecAssemblyEnd(*exact));
  PetscFunctionReturn(0);
}

/* The pressure is known up to a constant */
static PetscErrorCode SetNullSpace(Mat A, IS pressures)
{
  MatNullSpace constant;
  Vec          one;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &one, NULL));
  PetscCall(VecSet(one, 0));
  PetscCall(VecISSet(one, pressures, 1));
  PetscCall(VecNormalize(one, NULL));
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, 1, &one, &constant));
  PetscCall(MatSetNullSpace(A, constant));
  PetscCall(MatNullSpaceDestroy(&constant));
  PetscCall(VecDestroy(&one));
  PetscFunctionReturn(0);
}

/* The root mean square of some entries */
static PetscErrorCode MeanSquare(Vec x, IS is, PetscReal *mean)
{
  Vec      some;
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(VecGetSubVector(x, is, &some));
  PetscCall(VecGetSize(some, &n));
  PetscCall(VecNorm(some, NORM_2, mean));
  *mean /= PetscSqrtReal((PetscReal)n);
  PetscCall(VecRestoreSubVector(x, is, &some));
  PetscFunctionReturn(0);
}

typedef struct {
  PetscReal velocity, pressure; /* errors */
  PetscInt  its;
} Solution;

static PetscErrorCode Solve(const Grid *g, PetscBool print, Solution *s)
{
  const PetscInt     zero[3] = {0, 0, 0};
  DMStagStencil      unknowns[4];
  KSPConvergedReason reason;
  MatNullSpace       constant;
  DM                 dm;
  Mat                A;
  Vec                b, exact, x;
  KSP                ksp;
  IS                 velocities, pressures;
  PetscInt           rows;

  PetscFunctionBeginUser;
  PetscCall(CreateSystem(g, &dm, &A, &b, &exact));
  for (PetscInt d = 0; d <= g->dim; d++) unknowns[d] = At(g, d, zero, 0, 0);
  PetscCall(DMStagCreateISFromStencils(dm, g->dim, unknowns, &velocities));
  PetscCall(DMStagCreateISFromStencils(dm, 1, &unknowns[g->dim], &pressures));
  PetscCall(SetNullSpace(A, pressures));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &s->its));
  PetscCall(VecAXPY(x, -1, exact));
  PetscCall(MatGetNullSpace(A, &constant));
  PetscCall(MatNullSpaceRemove(constant, x));
  PetscCall(MeanSquare(x, velocities, &s->velocity));
  PetscCall(MeanSquare(x, pressures, &s->pressure));
  PetscCall(VecGetSize(x, &rows));
  if (print)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%" PetscInt_FMT " unknowns, %" PetscInt_FMT
                          " iterations, %s: error of the velocity %.2e, of the pressure %.2e\n",
                          rows, s->its, KSPConvergedReasons[reason], (double)s->velocity, (double)s->pressure));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s", KSPConvergedReasons[reason]);
  PetscCall(ISDestroy(&velocities));
  PetscCall(ISDestroy(&pressures));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&exact));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(0);
}

/* The errors are of second order, and iterations hardly depend on the grid */
static PetscErrorCode Check(const Grid *coarse)
{
  const Grid fine = {coarse->dim, 2 * coarse->n};
  Solution   a, b;

  PetscFunctionBeginUser;
  PetscCall(Solve(coarse, PETSC_FALSE, &a));
  PetscCall(Solve(&fine, PETSC_FALSE, &b));
  if (!(b.velocity < a.velocity / 3) || !(b.pressure < a.pressure / 2.5))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "errors of velocities %g and %g, of pressures %g and %g\n",
                          (double)a.velocity, (double)b.velocity, (double)a.pressure, (double)b.pressure));
  if (b.its > 1.5 * a.its)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " iterations, then %" PetscInt_FMT "\n", a.its, b.its));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Grid      g     = {2, 32};
  PetscBool check = PETSC_FALSE;
  Solution  s;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(SetDefaults());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The flow", NULL);
  PetscCall(PetscOptionsRangeInt("-dim", "Dimensions of space", "ex9.c", g.dim, &g.dim, NULL, 2, 3));
  PetscCall(PetscOptionsBoundedInt("-n", "Cells in each direction", "ex9.c", g.n, &g.n, NULL, 2));
  PetscCall(PetscOptionsBool("-check", "Print only what should not be so", "ex9.c", check, &check, NULL));
  PetscOptionsEnd();
  if (check) PetscCall(Check(&g));
  else PetscCall(Solve(&g, PETSC_TRUE, &s));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: !single
    output_file: output/empty.out

    test:
      suffix: host
      nsize: {{1 3}}
      args: -check -dim {{2 3}} -n 8

    test:
      suffix: solver
      nsize: {{1 2}}
      args: -check -n 12 -ksp_type fgmres -fieldsplit_0_ksp_type bai -fieldsplit_0_ksp_rtol 0.01

    test:
      suffix: smoother
      nsize: {{1 2}}
      args: -check -n 12 -fieldsplit_0_pc_type gamg -fieldsplit_0_mg_levels_pc_type bai

    test:
      suffix: aijcusparse
      nsize: {{1 2}}
      requires: baicuda cuda
      args: -check -dim {{2 3}} -n 8 -dm_mat_type aijcusparse -dm_vec_type cuda

TEST*/
