#include <petscbai.h>
#include <petscdmda.h>
#include "gallery.h"
#include "now.h"
#include "smoothers.h"

static char help[] = "Solves a linear system by KSPBAI, or by any other KSP.\n\n\
  ./ex1 -matrix trefethen -n 20000                     a generated matrix\n\
  ./ex1 -f matrix.mtx -ksp_bai_local_iters 3           a Matrix Market file\n\
  ./ex1 -mat_type aijcusparse -ksp_monitor -ksp_view   on a GPU, with the options of any KSP\n\
  ./ex1 -ksp_type cg -pc_type jacobi                   another solver\n\
  ./ex1 -compare                                       beside CG with Jacobi, ICC and GAMG\n\
  ./ex1 -multigrid -da_refine 2                        as a smoother beside others, in multigrid on 129^3 points\n\
                                                       instead of 33^3\n\n";

/* A smoothing step of each; Jacobi is damped as smooths best in three dimensions */
static const Smoother smoothers[] = {
  {"bai",       KSPRICHARDSON, PCBAI,    1, NULL,                   NULL  },
  {"jacobi",    KSPRICHARDSON, PCJACOBI, 2, "ksp_richardson_scale", "0.8" },
  {"sor",       KSPRICHARDSON, PCSOR,    2, "pc_sor_local_forward", "true"},
  {"chebyshev", KSPCHEBYSHEV,  PCJACOBI, 2, NULL,                   NULL  }
};
enum {
  BAI,
  JACOBI,
  SOR,
  CHEBYSHEV,
  NSMOOTHERS
};

/* bai, or another solver with its preconditioner, and where it computes */
static PetscErrorCode DescribeSolver(KSP ksp, char solver[], size_t len, const char **backend)
{
  Mat        A;
  PC         pc;
  KSPType    ksptype;
  PCType     pctype;
  MatType    mattype;
  PetscBool  isbai;
  char      *cusparse;
  BAIBackend baibackend;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetType(ksp, &ksptype));
  PetscCall(PCGetType(pc, &pctype));
  PetscCall(MatGetType(A, &mattype));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPBAI, &isbai));
  PetscCall(PetscStrstr(mattype, "cusparse", &cusparse));
  *backend = cusparse ? "cuda" : "host";
  if (isbai) {
    PetscCall(KSPBAIGetBackend(ksp, &baibackend));
    PetscCall(PetscStrncpy(solver, ksptype, len));
    if (baibackend != BAI_BACKEND_AUTO) *backend = BAIBackends[baibackend]; /* auto is where the matrix lives */
  } else PetscCall(PetscSNPrintf(solver, len, "%s+%s", ksptype, pctype));
  PetscFunctionReturn(0);
}

static PetscErrorCode TrueResidual(Mat A, Vec b, Vec x, PetscReal *residual)
{
  Vec       r;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  *residual /= norm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(0);
}

/* The matrix of -matrix and -n or of -f, the right-hand side of -rhs, and the name of the matrix */
static PetscErrorCode CreateSystem(Mat *A, Vec *b, char name[], size_t len)
{
  static const char *const sides[]                      = {"ones", "arow"};
  char                     filename[PETSC_MAX_PATH_LEN] = "", *base;
  PetscInt                 n = 0, rhs = 0, rows, cols;
  PetscBool                hasname, hasn, hasfile;
  Vec                      ones;

  PetscFunctionBeginUser;
  PetscCall(PetscStrncpy(name, "fv1", len));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The linear system", NULL);
  PetscCall(PetscOptionsString("-matrix", GALLERY_NAMES, "ex1.c", name, name, len, &hasname));
  PetscCall(PetscOptionsInt("-n", "Points in each direction, or rows where there is no grid", "ex1.c", n, &n, &hasn));
  PetscCall(
    PetscOptionsString("-f", "Matrix Market file instead", "ex1.c", filename, filename, sizeof(filename), &hasfile));
  PetscCall(PetscOptionsEList("-rhs", "Right-hand side: ones, or the row sums of the matrix", "ex1.c", sides, 2,
                              sides[rhs], &rhs, NULL));
  PetscOptionsEnd();
  PetscCheck(!hasfile || !(hasname || hasn), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-f %s reads a matrix, -matrix and -n generate one: give one or the other", filename);
  PetscCheck(!hasn || n > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-n %" PetscInt_FMT " must be at least 1", n);

  if (hasfile) {
    PetscCall(MatrixMarketLoad(PETSC_COMM_WORLD, filename, A));
    PetscCall(MatGetSize(*A, &rows, &cols));
    PetscCheck(rows == cols, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ,
               "-f %s has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns, it must be square", filename, rows,
               cols);
    PetscCall(PetscStrrchr(filename, '/', &base));
    PetscCall(PetscStrncpy(name, base, len));
  } else PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, name, n, A));

  /* The product also brings the matrix to where it is used, so that no solver is timed doing it */
  PetscCall(MatCreateVecs(*A, &ones, b));
  PetscCall(VecSet(ones, 1));
  PetscCall(MatMult(*A, ones, *b));
  if (rhs == 0) PetscCall(VecSet(*b, 1));
  PetscCall(VecDestroy(&ones));
  PetscFunctionReturn(0);
}

/* Solves, and prints one line of the table. first: seconds of set-up and solve in the first line of several, which sets
   them; or NULL */
static PetscErrorCode Solve(const char matrix[], Mat A, Vec b, KSPType ksptype, PCType pctype, PetscInt repeat,
                            PetscLogDouble *first)
{
  KSP                ksp;
  PC                 pc;
  Vec                x;
  char               solver[64], ratio[16] = "";
  const char        *backend = NULL;
  PetscInt           n, its;
  MatInfo            info;
  KSPConvergedReason reason;
  PetscReal          residual;
  PetscLogDouble     start, end, setup, solve = 0;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, ksptype));
  if (pctype) {
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, pctype));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED)); /* as KSPBAI, so that all stop at equal residuals */
  }
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 10000));
  PetscCall(KSPSetFromOptions(ksp));

  PetscCall(Now(&start));
  PetscCall(KSPSetUp(ksp));
  PetscCall(Now(&end));
  setup = end - start;

  PetscCall(VecDuplicate(b, &x));
  for (PetscInt k = 0; k < repeat; k++) {
    PetscCall(Now(&start));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Now(&end));
    solve = k ? PetscMin(solve, end - start) : end - start;
  }

  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(DescribeSolver(ksp, solver, sizeof(solver), &backend));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TrueResidual(A, b, x, &residual));
  if (first) {
    if (*first <= 0) *first = setup + solve;
    PetscCall(PetscSNPrintf(ratio, sizeof(ratio), " %9.2f", (setup + solve) / *first));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%-14s %9" PetscInt_FMT " %10.0f  %-18s %-7s %6" PetscInt_FMT "  %-22s %9.2e %9.2e %9.2e%s\n",
                        matrix, n, info.nz_used, solver, backend, its, KSPConvergedReasons[reason], (double)residual,
                        setup, solve, ratio));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

/* -Laplace(u) in the cube by differences, on the grid points inside of it */
static PetscErrorCode CreateLaplacian(PetscBool cuda, DM *dm, Mat *A)
{
  DMDALocalInfo info;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 33,
                         33, 33, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, dm));
  PetscCall(DMSetMatType(*dm, cuda ? MATAIJCUSPARSE : MATAIJ));
  PetscCall(DMSetVecType(*dm, cuda ? VECCUDA : VECSTANDARD));
  PetscCall(DMSetRefineLevel(*dm, 2)); /* of 9^3 points */
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMDAGetLocalInfo(*dm, &info));
  PetscCall(DMCreateMatrix(*dm, A));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const MatStencil around[] = {
          {.k = k - 1, .j = j,     .i = i    },
          {.k = k,     .j = j - 1, .i = i    },
          {.k = k,     .j = j,     .i = i - 1},
          {.k = k,     .j = j,     .i = i + 1},
          {.k = k,     .j = j + 1, .i = i    },
          {.k = k + 1, .j = j,     .i = i    }
        };
        MatStencil cols[7] = {
          {.k = k, .j = j, .i = i}
        };
        PetscScalar vals[7] = {6, -1, -1, -1, -1, -1, -1};
        PetscInt    n       = 1;

        for (int c = 0; c < 6; c++) {
          if (around[c].i >= 0 && around[c].i < info.mx && around[c].j >= 0 && around[c].j < info.my &&
              around[c].k >= 0 && around[c].k < info.mz)
            cols[n++] = around[c];
        }
        PetscCall(MatSetValuesStencil(*A, 1, cols, n, cols, vals, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Prints a line for each smoother, with its time as a multiple of bai's; or, to check, what should not be so */
static PetscErrorCode PrintSmoothers(const SmootherResult results[], PetscBool check)
{
  PetscFunctionBeginUser;
  for (int k = 0; k < NSMOOTHERS; k++) {
    const SmootherResult *r         = &results[k];
    char                  ratio[16] = "";

    if (r->reason > 0 && results[BAI].reason > 0)
      PetscCall(PetscSNPrintf(ratio, sizeof(ratio), "%.2f", r->solve / results[BAI].solve));
    if (check && r->reason <= 0)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", smoothers[k].name, KSPConvergedReasons[r->reason]));
    else if (check && results[BAI].cycles > r->cycles)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bai takes %" PetscInt_FMT " cycles, %s %" PetscInt_FMT "\n",
                            results[BAI].cycles, smoothers[k].name, r->cycles));
    else if (!check && r->reason)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %6" PetscInt_FMT "  %-22s %9.2e %9.2e %9s\n", smoothers[k].name,
                            r->cycles, KSPConvergedReasons[r->reason], r->setup, r->solve, ratio));
  }
  PetscFunctionReturn(0);
}

/* The other face: as a smoother, beside those of PETSc, on the GPU if the first matrix is there */
static PetscErrorCode SolveByMultigrid(Mat first, PetscBool check)
{
  DM             dm;
  Mat            A;
  SmootherResult results[NSMOOTHERS];
  MatType        mattype;
  char          *cusparse;
  PetscInt       points[3], levels;

  PetscFunctionBeginUser;
  PetscCall(MatGetType(first, &mattype));
  PetscCall(PetscStrstr(mattype, "cusparse", &cusparse));
  PetscCall(CreateLaplacian((PetscBool)(cusparse != NULL), &dm, &A));
  PetscCall(
    DMDAGetInfo(dm, NULL, &points[0], &points[1], &points[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMGetRefineLevel(dm, &levels));
  if (!check) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "\nMultigrid (%" PetscInt_FMT " levels, %s) for the Laplacian on %" PetscInt_FMT
                          " x %" PetscInt_FMT " x %" PetscInt_FMT " points, smoothed by\n",
                          levels + 1, cusparse ? "cuda" : "host", points[0], points[1], points[2]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %6s  %-22s %9s %9s %9s\n", "smoother", "cycles", "reason",
                          "set-up/s", "solve/s", "time/bai"));
  }
  PetscCall(SmoothersCompare(dm, A, smoothers, NSMOOTHERS, results));
  PetscCall(PrintSmoothers(results, check));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const char *const pctypes[] = {PCJACOBI, PCICC, PCGAMG};
  Mat               A;
  Vec               b;
  char              name[PETSC_MAX_PATH_LEN];
  PetscInt          repeat = 1;
  PetscMPIInt       size;
  PetscLogDouble    first   = 0;
  PetscBool         compare = PETSC_FALSE, multigrid = PETSC_FALSE, check = PETSC_FALSE, hasksp, haspc;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BAIInitializePackage());
  PetscCall(CreateSystem(&A, &b, name, sizeof(name)));

  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Its solution", NULL);
  PetscCall(PetscOptionsInt("-repeat", "Solves, of which the fastest is shown", "ex1.c", repeat, &repeat, NULL));
  PetscCall(PetscOptionsBool("-compare", "Solve by bai, and by cg with several preconditioners", "ex1.c", compare,
                             &compare, NULL));
  PetscCall(
    PetscOptionsBool("-multigrid", "Then compare bai with other smoothers", "ex1.c", multigrid, &multigrid, NULL));
  PetscCall(
    PetscOptionsBool("-check", "Print only what should not be so of the smoothers", "ex1.c", check, &check, NULL));
  PetscOptionsEnd();
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ksp_type", &hasksp));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_type", &haspc));
  PetscCheck(repeat > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-repeat %" PetscInt_FMT " must be at least 1",
             repeat);
  PetscCheck(!compare || !(hasksp || haspc), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-compare has its own list of solvers, -ksp_type and -pc_type do not go with it");

  PetscCheck(!check || multigrid, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-check is for the smoothers of -multigrid");

  if (!check)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-14s %9s %10s  %-18s %-7s %6s  %-22s %9s %9s %9s%s\n", "matrix", "n",
                          "nnz", "solver", "backend", "its", "reason", "residual", "set-up/s", "solve/s",
                          compare ? "  both/bai" : ""));
  if (!check) PetscCall(Solve(name, A, b, KSPBAI, NULL, repeat, compare ? &first : NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int k = 0; compare && !check && k < 3; k++) {
    /* PETSc's ICC is for one rank; on several, each has an ILU of its own rows */
    const char *pctype = k == 1 && size > 1 ? PCBJACOBI : pctypes[k];

    PetscCall(Solve(name, A, b, KSPCG, pctype, repeat, &first));
  }
  if (multigrid) PetscCall(SolveByMultigrid(A, check));

  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 3}}
    filter: tr -s " " | cut -d " " -f 1-4,7

    test:
      suffix: gallery
      args: -matrix {{fv1 fv2 fv3 trefethen laplace2d laplace3d laplace3d27 helmholtz anisotropic jumps elasticity \
            mesh powerlaw}separate output} -ksp_type cg -pc_type jacobi -repeat 2

    test:
      suffix: gallery_convection
      requires: !single
      args: -matrix {{convection2d convection3d}separate output} -peclet 5 -ksp_type bcgs -pc_type jacobi

    test:
      suffix: gallery_chem97
      args: -matrix chem97ztz-like -ksp_type cg -pc_type jacobi

    test:
      suffix: notconverged
      args: -ksp_type richardson -pc_type jacobi -ksp_max_it 5 -rhs arow

    test:
      suffix: compare
      filter: tr -s " " | cut -d " " -f 1-4,7 | sed "s/+icc/+bjacobi/"
      args: -compare

  test:
    suffix: multigrid
    nsize: {{1 3}}
    filter: tail -n 5 | tr -s " " | cut -d " " -f 1,3
    args: -compare -multigrid

  testset:
    output_file: output/empty.out
    requires: !single
    args: -multigrid -check

    test:
      suffix: smoothers
      nsize: {{1 3}}

    test:
      suffix: smoothers_cuda
      requires: baicuda cuda
      args: -mat_type aijcusparse

  testset:
    nsize: {{1 3}}
    requires: !complex
    filter: grep row
    diff_args: -j
    args: -ksp_type cg -pc_type jacobi -ksp_view_mat

    test:
      suffix: rows
      args: -matrix {{fv1 laplace3d laplace3d27}separate output} -n 3

    test:
      suffix: rows_mesh
      requires: double
      args: -matrix mesh -n 3

    test:
      suffix: rows_trefethen
      args: -matrix trefethen -n 10

    test:
      suffix: rows_chem97
      args: -matrix chem97ztz-like -n 40

    test:
      suffix: rows_powerlaw
      args: -matrix powerlaw -n 12 -seed {{0 1}separate output}

  test:
    suffix: jumps
    requires: double !complex
    filter: grep -E "^row (0|15|16|4912):"
    diff_args: -j
    args: -matrix jumps -n 17 -ksp_type cg -pc_type jacobi -ksp_view_mat

  test:
    suffix: chem97
    nsize: {{1 3}}
    requires: !single
    filter: grep singular
    diff_args: -j
    args: -matrix chem97ztz-like -ksp_type cg -pc_type jacobi -ksp_view_singularvalues

  testset:
    nsize: {{1 3}}
    requires: !complex
    localrunfiles: data
    filter: grep row
    diff_args: -j
    args: -ksp_type gmres -pc_type none -ksp_view_mat

    test:
      suffix: general
      args: -f data/general.mtx

    test:
      suffix: symmetric
      args: -f data/symmetric.mtx

    test:
      suffix: skew
      args: -f data/skew.mtx

    test:
      suffix: pattern
      args: -f data/pattern.mtx

  test:
    suffix: hermitian
    nsize: {{1 3}}
    requires: complex
    localrunfiles: data
    filter: grep row
    diff_args: -j
    args: -f data/hermitian.mtx -ksp_type gmres -pc_type none -ksp_view_mat

  testset:
    nsize: {{1 3}}
    localrunfiles: data
    filter: Error:grep -o "data/bad.*line [0-9]*: .*"
    diff_args: -j

    test:
      suffix: bad_format
      args: -f data/bad_format.mtx

    test:
      suffix: bad_size
      args: -f data/bad_size.mtx

    test:
      suffix: bad_index
      args: -f data/bad_index.mtx

    test:
      suffix: bad_missing
      args: -f data/bad_missing.mtx

    test:
      suffix: bad_number
      args: -f data/bad_number.mtx

    test:
      suffix: bad_trailing
      args: -f data/bad_trailing.mtx

    test:
      suffix: bad_triangle
      args: -f data/bad_triangle.mtx

    test:
      suffix: bad_few
      args: -f data/bad_few.mtx

    test:
      suffix: bad_many
      args: -f data/bad_many.mtx

  testset:
    nsize: {{1 3}}
    localrunfiles: data
    filter: Error:grep -E "ERROR: (-[a-z]|data)" | cut -d " " -f 3- | head -n 1
    diff_args: -j

    test:
      suffix: nofile
      args: -f data/nofile.mtx

    test:
      suffix: unknown
      args: -matrix unknown

    test:
      suffix: toosmall
      args: -n 0

    test:
      suffix: toolarge
      args: -matrix laplace3d -n 3000000

    test:
      suffix: both
      args: -f data/general.mtx -n 3

  test:
    suffix: reason
    nsize: {{1 2}}
    requires: !single
    args: -matrix laplace2d -n 100 -ksp_type bai -ksp_converged_reason
    filter: grep -o "Linear solve.*due to [A-Z_]*"

TEST*/
