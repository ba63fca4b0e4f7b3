#include <petscbai.h>
#include <petscdmda.h>
#include "gallery.h"
#include "smoothers.h"

static char help[] =
  "Compares block-asynchronous iteration with other smoothers in multigrid for -div(k grad u) + v.grad u in the unit\n\
cube.\n\n\
  ./ex3 -problem poisson -stencil 27                   trilinear finite elements; 7: differences\n\
  ./ex3 -problem variable -contrast 100                k varies smoothly from 1 to this\n\
  ./ex3 -problem anisotropic -ratio 100                k is smaller by this in z\n\
  ./ex3 -problem convection -peclet 5                  v h / 2k on the finest grid; upwind differences above 1,\n\
                                                       central below\n\
  ./ex3 -da_refine 2                                   129^3 points instead of 33^3, on 5 levels instead of 3\n\
  ./ex3 -da_grid_x 65 -da_grid_y 65 -da_grid_z 17      another finest grid\n\
  ./ex3 -gamg                                          algebraic multigrid\n\
  ./ex3 -matrix mesh -n 500                            the same with a generated matrix\n\
  ./ex3 -f matrix.mtx                                  or with that of a Matrix Market file\n\
  ./ex3 -problem convection -peclet 10 -pc_mg_levels 2 fewer levels, as coarse operators are not upwind\n\
  ./ex3 -outer all                                     with multigrid as preconditioner of richardson, cg, fcg,\n\
                                                       gmres and fgmres\n\
  ./ex3 -mg_levels_pc_bai_mode sync -outer cg          with options of the smoother\n\
  ./ex3 -bai_with 'local_iters 3,its 1 block_size 512' more lines, with other options of bai\n\
  ./ex3 -dm_mat_type aijcusparse -dm_vec_type cuda     on a GPU\n\
  ./ex3 -view_smoothers                                the options that make up each smoother\n\n";

typedef enum {
  POISSON,
  VARIABLE,
  ANISOTROPIC,
  CONVECTION
} ProblemType;
static const char *const ProblemTypes[] = {"poisson", "variable", "anisotropic", "convection", "ProblemType", "", NULL};

typedef struct {
  ProblemType type;
  PetscInt    stencil;
  PetscReal   contrast, ratio, peclet;
} Problem;

/* Those with fourth are left out of the table if this PETSc does not have -ksp_chebyshev_kind */
static const Smoother smoothers[] = {
  {"bai",           KSPRICHARDSON, PCBAI,    1, NULL,                   NULL        },
  {"bai-async",     KSPRICHARDSON, PCBAI,    1, "pc_bai_mode",          "async"     },
  {"chebyshev+bai", KSPCHEBYSHEV,  PCBAI,    2, NULL,                   NULL        },
  {"sor",           KSPRICHARDSON, PCSOR,    2, "pc_sor_local_forward", "true"      },
  {"jacobi",        KSPRICHARDSON, PCJACOBI, 2, "ksp_richardson_scale", "0.8"       },
  {"chebyshev-1",   KSPCHEBYSHEV,  PCJACOBI, 1, NULL,                   NULL        },
  {"chebyshev-2",   KSPCHEBYSHEV,  PCJACOBI, 2, NULL,                   NULL        },
  {"chebyshev-3",   KSPCHEBYSHEV,  PCJACOBI, 3, NULL,                   NULL        },
  {"chebyshev-4",   KSPCHEBYSHEV,  PCJACOBI, 4, NULL,                   NULL        },
  {"fourth-2",      KSPCHEBYSHEV,  PCJACOBI, 2, "ksp_chebyshev_kind",   "opt_fourth"},
  {"fourth-3",      KSPCHEBYSHEV,  PCJACOBI, 3, "ksp_chebyshev_kind",   "opt_fourth"},
  {"fourth-4",      KSPCHEBYSHEV,  PCJACOBI, 4, "ksp_chebyshev_kind",   "opt_fourth"}
};
enum {
  BAI,
  BAI_ASYNC,
  CHEBYSHEV_BAI,
  SOR,
  JACOBI,
  NSMOOTHERS = PETSC_STATIC_ARRAY_LENGTH(smoothers)
};

/* k in direction d at a point of the cube */
static PetscReal Coefficient(const Problem *p, const PetscReal x[], int d)
{
  if (p->type == VARIABLE)
    return PetscPowReal(p->contrast,
                        0.5 +
                          0.5 * PetscSinReal(2 * PETSC_PI * x[0]) * PetscSinReal(2 * PETSC_PI * x[1]) *
                            PetscSinReal(2 * PETSC_PI * x[2]));
  return p->type == ANISOTROPIC && d == 2 ? 1 / p->ratio : 1;
}

/* Differences: what flows through the six faces of the cell around a point; the point itself comes last */
static void FluxRow(const Problem *p, const PetscInt point[], const PetscReal h[], PetscScalar values[])
{
  const PetscReal speed = p->type == CONVECTION ? 2 * p->peclet / h[0] : 0, direction[] = {1, 0.5, 0.25};

  values[6] = 0;
  for (int d = 0; d < 3; d++) {
    const PetscReal area = h[0] * h[1] * h[2] / h[d], v = speed * direction[d];

    for (int side = 0; side < 2; side++) {
      PetscReal x[3], diffusion, outflow = side ? v : -v;

      for (int e = 0; e < 3; e++) x[e] = (point[e] + 1) * h[e];
      x[d] += (side - 0.5) * h[d];
      diffusion            = Coefficient(p, x, d) * area / h[d];
      values[2 * d + side] = -diffusion + area * (p->peclet > 1 ? PetscMin(outflow, 0) : outflow / 2);
      values[6] += diffusion + area * (p->peclet > 1 ? PetscMax(outflow, 0) : outflow / 2);
    }
  }
}

/* Trilinear finite elements: products of the stiffness in one direction and the mass in the other two */
static PetscScalar ElementValue(const PetscInt offset[], const PetscReal h[])
{
  PetscReal sum = 0;

  for (int d = 0; d < 3; d++) {
    PetscReal product = 1;

    for (int e = 0; e < 3; e++) {
      if (e == d) product *= (offset[e] ? -1 : 2) / h[e];
      else product *= (offset[e] ? 1 : 4) * h[e] / 6;
    }
    sum += product;
  }
  return sum;
}

/* The grid has the points inside the cube only, those outside of it are zero */
static PetscErrorCode CreateMatrix(DM dm, const Problem *p, Mat *A)
{
  DMDALocalInfo info;
  PetscReal     h[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  h[0] = 1. / (info.mx + 1);
  h[1] = 1. / (info.my + 1);
  h[2] = 1. / (info.mz + 1);
  PetscCall(DMCreateMatrix(dm, A));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt point[] = {i, j, k};
        MatStencil     row = {0}, cols[27] = {{0}};
        PetscScalar    flux[7] = {0}, values[27];
        PetscInt       n       = 0;

        row.i = i;
        row.j = j;
        row.k = k;
        if (p->stencil == 7) FluxRow(p, point, h, flux);
        for (PetscInt c = PetscMax(k - 1, 0); c <= PetscMin(k + 1, info.mz - 1); c++) {
          for (PetscInt b = PetscMax(j - 1, 0); b <= PetscMin(j + 1, info.my - 1); b++) {
            for (PetscInt a = PetscMax(i - 1, 0); a <= PetscMin(i + 1, info.mx - 1); a++) {
              const PetscInt offset[] = {a - i, b - j, c - k};

              if (p->stencil == 27) values[n] = ElementValue(offset, h);
              else if (PetscAbsInt(offset[0]) + PetscAbsInt(offset[1]) + PetscAbsInt(offset[2]) > 1) continue;
              else
                values[n] = offset[0] ? flux[a > i]
                                      : (offset[1] ? flux[2 + (b > j)] : (offset[2] ? flux[4 + (c > k)] : flux[6]));
              cols[n].i   = a;
              cols[n].j   = b;
              cols[n++].k = c;
            }
          }
        }
        PetscCall(MatSetValuesStencil(*A, 1, &row, n, cols, values, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode ProblemSetFromOptions(Problem *p)
{
  PetscFunctionBeginUser;
  p->type     = POISSON;
  p->stencil  = 7;
  p->contrast = p->ratio = 100;
  p->peclet              = 5;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The problem", NULL);
  PetscCall(
    PetscOptionsEnum("-problem", "Which", "ex3.c", ProblemTypes, (PetscEnum)p->type, (PetscEnum *)&p->type, NULL));
  PetscCall(PetscOptionsInt("-stencil", "7 or, with poisson, 27 points", "ex3.c", p->stencil, &p->stencil, NULL));
  PetscCall(PetscOptionsReal("-contrast", "Greatest coefficient of variable to the least", "ex3.c", p->contrast,
                             &p->contrast, NULL));
  PetscCall(
    PetscOptionsReal("-ratio", "Greatest coefficient of anisotropic to the least", "ex3.c", p->ratio, &p->ratio, NULL));
  PetscCall(
    PetscOptionsReal("-peclet", "Speed of convection on the finest grid", "ex3.c", p->peclet, &p->peclet, NULL));
  PetscOptionsEnd();
  PetscCheck(p->stencil == 7 || (p->stencil == 27 && p->type == POISSON), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-stencil %" PetscInt_FMT " must be 7 or, with -problem poisson, 27", p->stencil);
  PetscCheck(p->contrast > 0 && p->ratio > 0 && p->peclet >= 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-contrast and -ratio must be positive, -peclet must not be negative");
  PetscFunctionReturn(0);
}

/* Says what should not be so */
static PetscErrorCode Check(const Problem *p, const SmootherResult results[])
{
  PetscFunctionBeginUser;
  for (int k = BAI; k <= CHEBYSHEV_BAI; k++) {
    if (results[k].reason < 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s does not converge\n", smoothers[k].name));
  }
  if (p->type == ANISOTROPIC || p->type == CONVECTION) PetscFunctionReturn(0);
  if (!results[BAI].reason || !results[SOR].reason || !results[JACOBI].reason)
    PetscFunctionReturn(0); /* left out by -smoothers */
  if (results[BAI].cycles > results[SOR].cycles + 1)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bai takes %" PetscInt_FMT " cycles, sor %" PetscInt_FMT "\n",
                          results[BAI].cycles, results[SOR].cycles));
  if (results[BAI].cycles > results[JACOBI].cycles)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bai takes %" PetscInt_FMT " cycles, jacobi %" PetscInt_FMT "\n",
                          results[BAI].cycles, results[JACOBI].cycles));
  PetscFunctionReturn(0);
}

/* On a grid in the cube: 9^3 points refined twice */
static PetscErrorCode CreateProblem(Problem *p, DM *dm, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(ProblemSetFromOptions(p));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                         p->stencil == 27 ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, 33, 33, 33, PETSC_DECIDE,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, dm));
  PetscCall(DMSetRefineLevel(*dm, 2));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(CreateMatrix(*dm, p, A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM             dm = NULL;
  Mat            A;
  Problem        p = {.type = POISSON};
  PetscInt       n = 0;
  SmootherResult results[NSMOOTHERS];
  PetscBool      gamg = PETSC_FALSE, check = PETSC_FALSE, generated, sized, read;
  char           name[64] = "mesh", file[PETSC_MAX_PATH_LEN] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "What to solve, and how", NULL);
  PetscCall(PetscOptionsString("-matrix", "Instead of a problem: " GALLERY_NAMES, "ex3.c", name, name, sizeof(name),
                               &generated));
  PetscCall(
    PetscOptionsInt("-n", "Points of that in each direction, or rows where there is no grid", "ex3.c", n, &n, &sized));
  PetscCall(
    PetscOptionsString("-f", "Instead of a problem: Matrix Market file", "ex3.c", file, file, sizeof(file), &read));
  PetscCall(PetscOptionsBool("-gamg", "Algebraic multigrid", "ex3.c", gamg, &gamg, NULL));
  PetscCall(PetscOptionsBool("-check", "Print only what should not be so", "ex3.c", check, &check, NULL));
  PetscOptionsEnd();

  PetscCheck(!generated || !read, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-f %s reads a matrix, -matrix %s generates one: give one or the other", file, name);
  PetscCheck(
    !sized || (generated && n > 0), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
    "-n %" PetscInt_FMT
    " is for -matrix, and must be at least 1; the size of a problem's grid is -da_grid_x, -da_grid_y, -da_grid_z",
    n);
  if (read) PetscCall(MatrixMarketLoad(PETSC_COMM_WORLD, file, &A));
  else if (generated) PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, name, n, &A));
  else PetscCall(CreateProblem(&p, &dm, &A));
  PetscCall(SmoothersCompare(gamg ? NULL : dm, A, smoothers, NSMOOTHERS, check ? results : NULL));
  if (check) PetscCall(Check(&p, results));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: mesh
    output_file: output/empty.out
    requires: !single
    nsize: {{1 2}}
    args: -check -matrix mesh -n 60

  testset:
    output_file: output/empty.out
    requires: !single
    args: -check -da_grid_x 17 -da_grid_y 17 -da_grid_z 9

    test:
      suffix: host
      timeoutfactor: 3
      nsize: {{1 2}}
      args: -problem {{poisson variable anisotropic}}shared output

    test:
      suffix: gamg
      timeoutfactor: 3
      nsize: {{1 2}}
      args: -problem {{poisson variable anisotropic}}shared output -gamg

    test:
      suffix: stencil
      nsize: {{1 2}}
      args: -stencil 27

    test:
      suffix: convection
      nsize: {{1 2}}
      args: -problem convection -peclet {{0.5 10}}shared output -pc_mg_levels 2

    test:
      suffix: outer
      nsize: {{1 2}}
      args: -outer {{gmres fgmres}}shared output

    # with complex scalars PETSc's FCG is not that flexible: with Jacobi it differs from CG already
    test:
      suffix: outer_fcg
      requires: !complex
      nsize: {{1 2}}
      args: -outer fcg

    test:
      suffix: cuda
      requires: baicuda cuda
      args: -problem {{poisson variable}}shared output -dm_mat_type aijcusparse -dm_vec_type cuda

  test:
    suffix: view
    args: -view_smoothers -smoothers bai,bai-async,chebyshev+bai,sor,jacobi,chebyshev-4 -bai_with "local_iters 3,its 1 \
          block_size 512"

TEST*/
