static char help[] =
  "PCBAI as an operator: linear, symmetric and repeatable where it says so, with the solution as fixed point.\n\n";

#include "check.h"
#include "gallery.h"

static PetscErrorCode Create(Mat A, BAIMode mode, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(NewPC(A, PCBAI, pc));
  PetscCall(PCBAISetMode(*pc, mode));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its iterations of KSPRICHARDSON as the PC does them at once */
static PetscErrorCode Smooth(PC pc, Vec b, Vec x, PetscInt its, PetscBool guess_zero)
{
  PCRichardsonConvergedReason reason;
  PetscInt                    done;

  PetscFunctionBeginUser;
  PetscCall(PCApplyRichardson(pc, b, x, NULL, 0, 0, 0, its, guess_zero, &done, &reason));
  PetscCall(Expect(done == its && reason == PCRICHARDSON_CONVERGED_ITS, "all iterations are done"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |<Mx, y> - <x, My>| over |Mx| |y|; M is an application, or a smoothing step from zero and another one */
static PetscErrorCode Asymmetry(PC pc, PetscBool twice, Vec x, Vec y, PetscReal *asymmetry)
{
  Vec         Mx, My;
  PetscScalar a, b;
  PetscReal   nMx, ny;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &Mx));
  PetscCall(VecDuplicate(x, &My));
  if (twice) {
    PetscCall(Smooth(pc, x, Mx, 1, PETSC_TRUE));
    PetscCall(Smooth(pc, x, Mx, 1, PETSC_FALSE));
    PetscCall(Smooth(pc, y, My, 1, PETSC_TRUE));
    PetscCall(Smooth(pc, y, My, 1, PETSC_FALSE));
  } else {
    PetscCall(PCApply(pc, x, Mx));
    PetscCall(PCApply(pc, y, My));
  }
  PetscCall(VecDot(Mx, y, &a));
  PetscCall(VecDot(x, My, &b));
  PetscCall(VecNorm(Mx, NORM_2, &nMx));
  PetscCall(VecNorm(y, NORM_2, &ny));
  *asymmetry = PetscAbsScalar(a - b) / (nMx * ny);
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A fixed operator: linear, symmetric as A is, and the same bits every time */
static PetscErrorCode TestFixed(Mat A, Vec x, Vec y, PetscBool symmetric, BAIMode mode)
{
  PC          pc;
  Vec         Mx, My, again, sum;
  PetscReal   asymmetry, norm, size, block;
  PetscInt    n;
  PetscMPIInt ranks;
  PetscBool   equal;

  PetscFunctionBeginUser;
  PetscCall(Create(A, mode, &pc));
  PetscCall(VecDuplicate(x, &Mx));
  PetscCall(VecDuplicate(x, &My));
  PetscCall(VecDuplicate(x, &again));
  PetscCall(VecDuplicate(x, &sum));
  PetscCall(PCApply(pc, x, Mx));
  PetscCall(PCApply(pc, y, My));
  PetscCall(PCApply(pc, x, again));
  PetscCall(VecEqual(Mx, again, &equal));
  PetscCall(Expect(equal, "the same bits every time"));
  PetscCall(VecWAXPY(again, -3.0, y, x));
  PetscCall(PCApply(pc, again, sum));
  PetscCall(VecAXPY(sum, -1.0, Mx));
  PetscCall(VecAXPY(sum, 3.0, My));
  PetscCall(VecNorm(sum, NORM_INFINITY, &norm));
  PetscCall(VecNorm(Mx, NORM_INFINITY, &size));
  PetscCall(Expect(norm <= 1000 * PETSC_MACHINE_EPSILON * size, "linear"));
  if (symmetric) {
    PetscCall(Asymmetry(pc, PETSC_FALSE, x, y, &asymmetry));
    PetscCall(Expect(asymmetry <= 100 * PETSC_MACHINE_EPSILON, "an application is symmetric"));
    PetscCall(Asymmetry(pc, PETSC_TRUE, x, y, &asymmetry));
    if (mode == BAI_MODE_SYNC)
      PetscCall(Expect(asymmetry <= 100 * PETSC_MACHINE_EPSILON, "smoothing twice is symmetric"));
    PetscCall(ViewedNumber((PetscObject)pc, "blocks of ", &block));
    PetscCall(VecGetSize(x, &n));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    if (mode == BAI_MODE_COLOR && !PetscDefined(USE_REAL_SINGLE) &&
        n >= 4 * ranks * PetscMax(block, 128)) { /* with one turn a rank, forward is backward */
      PetscCall(Expect(asymmetry > 1e6 * PETSC_MACHINE_EPSILON, "smoothing twice forward is not symmetric"));
    }
  }
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscCall(VecDestroy(&again));
  PetscCall(VecDestroy(&sum));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* e^H A e */
static PetscErrorCode Energy(Mat A, Vec e, PetscReal *energy)
{
  Vec         Ae;
  PetscScalar dot;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(e, &Ae));
  PetscCall(MatMult(A, e, Ae));
  PetscCall(VecDot(Ae, e, &dot));
  *energy = PetscRealPart(dot);
  PetscCall(VecDestroy(&Ae));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution stays where it is; from elsewhere each smoothing step comes closer in mode color, and in sync in the
 * energy of the error, which is what its polynomial promises; else five of them; from zero it is one application */
static PetscErrorCode TestSmoothing(Mat A, Vec x, PetscBool symmetric, BAIMode mode)
{
  PC        pc;
  Vec       b, z, w;
  PetscReal before, now, size, energy, left;

  PetscFunctionBeginUser;
  PetscCall(Create(A, mode, &pc));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(Energy(A, x, &energy));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecCopy(x, z));
  PetscCall(Smooth(pc, b, z, 1, PETSC_FALSE));
  PetscCall(VecAXPY(z, -1.0, x));
  PetscCall(VecNorm(z, NORM_INFINITY, &now));
  PetscCall(VecNorm(x, NORM_INFINITY, &size));
  PetscCall(Expect(now <= 1000 * PETSC_MACHINE_EPSILON * size, "the solution is a fixed point"));
  PetscCall(VecSet(z, 1e30)); /* a zero guess is not read */
  PetscCall(Smooth(pc, b, z, 1, PETSC_TRUE));
  PetscCall(VecNorm(x, NORM_INFINITY, &before));
  for (int step = 0; step < 5; step++) {
    PetscCall(VecWAXPY(w, -1.0, x, z));
    PetscCall(VecNorm(w, NORM_INFINITY, &now));
    if (step == 4 || mode == BAI_MODE_COLOR) {
      PetscCall(Expect(now < before, "smoothing comes closer to the solution"));
      before = now;
    }
    if (symmetric && mode == BAI_MODE_SYNC) {
      PetscCall(Energy(A, w, &left));
      PetscCall(
        Expect(left < energy, "smoothing leaves %g of the energy %g of the error", (double)left, (double)energy));
      energy = left;
    }
    PetscCall(Smooth(pc, b, z, 1, PETSC_FALSE));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The damping chosen: 0.9 where rows of the blocks are dominated by their diagonal, else so that damped Jacobi
 * converges in every block */
static PetscErrorCode TestDamping(void)
{
  const PetscInt n = 60;

  PetscFunctionBeginUser;
  for (int strong = 0; strong < 2; strong++) {
    Mat       A;
    Vec       b, x;
    PC        pc;
    PetscInt  rstart, rend;
    PetscReal omega, before = 1, now = 1;

    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, n, NULL, n, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
    for (PetscInt row = rstart; row < rend; row++) { /* the matrix of ones and a multiple of the identity: positive
                                                        definite, and far from diagonally dominant */
      for (PetscInt col = 0; col < n; col++)
        PetscCall(MatSetValue(A, row, col, (row == col ? 10 : 0) + (strong ? 1 : 1e-3), INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 0.0));
    PetscCall(VecSet(x, 1.0));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCBAI));
    PetscCall(PCBAISetBlockSize(pc, n)); /* smaller blocks would not converge together */
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(ViewedNumber((PetscObject)pc, "local_omega ", &omega));
    PetscCall(
      Expect((PetscBool)(strong ? omega < 0.9 && omega > 0.2 : PetscAbsReal(omega - (PetscReal)0.9) < (PetscReal)1e-6),
             "local_omega is chosen by the blocks"));
    for (int step = 0; step < 5; step++) {
      PetscCall(Smooth(pc, b, x, 5, PETSC_FALSE));
      before = now;
      PetscCall(VecNorm(x, NORM_INFINITY, &now));
    }
    PetscCall(Expect(now < 0.5 && now <= before, "it converges with the damping chosen"));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An omega with which all blocks at once diverge is refused, a smaller one is not, and blocks in turn may have it */
static PetscErrorCode TestOmegaTooLarge(Mat A, Vec b)
{
  const char *const refused = "-pc_bai_omega 3.: smoothing diverges on this matrix of ";
  const char       *most;
  PetscErrorCode    code;
  PC                pc;
  Vec               x;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(NewPC(A, PCBAI, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCBAISetMode(pc, BAI_MODE_SYNC));
  PetscCall(PCBAISetOmega(pc, (PetscReal)1.05));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCBAISetOmega(pc, 3));
  CheckCall(code, PCApply(pc, b, x));
  most = strrchr(check_said, ' ');
  PetscCall(Expect(code && !strncmp(check_said, refused, strlen(refused)), "omega 3: \"%s\"", check_said));
  PetscCall(PCBAISetOmega(pc, (PetscReal)0.99 * (PetscReal)strtod(most ? most : "1", NULL))); /* less than is said */
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCBAISetMode(pc, BAI_MODE_COLOR));
  PetscCall(PCBAISetOmega(pc, 1.5));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecDestroy(&x));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Over-relaxation leaves hardly more of the energy of an error than omega 1, if blocks do not share turns */
static PetscErrorCode TestOverRelaxation(Mat A, Vec x)
{
  PC          pc;
  Vec         b, z, w;
  PetscScalar energy[2];

  PetscFunctionBeginUser;
  PetscCall(Create(A, BAI_MODE_COLOR, &pc));
  PetscCall(PCBAISetBlockSize(pc, 256));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(VecSet(b, 0.0));
  for (int one = 0; one < 2; one++) {
    PetscCall(PCBAISetOmega(pc, one ? (PetscReal)1 : (PetscReal)1.3));
    PetscCall(VecCopy(x, z));
    PetscCall(VecShift(z, -0.5));
    PetscCall(Smooth(pc, b, z, 6, PETSC_FALSE));
    PetscCall(MatMult(A, z, w));
    PetscCall(VecDot(w, z, &energy[one]));
  }
  PetscCall(Expect(PetscRealPart(energy[0]) <= (PetscReal)1.3 * PetscRealPart(energy[1]),
                   "energy left with omega 1.3: %g, with 1: %g", (double)PetscRealPart(energy[0]),
                   (double)PetscRealPart(energy[1])));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values are taken over at the next set-up, and only then */
static PetscErrorCode TestUpdate(Mat A, Vec x)
{
  Mat       B;
  PC        pc;
  Vec       y, z;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(Create(B, BAI_MODE_COLOR, &pc));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(PCApply(pc, x, y));
  PetscCall(MatScale(B, 2.0));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(PCApply(pc, x, z));
  PetscCall(VecEqual(y, z, &equal));
  PetscCall(Expect(equal, "a preconditioner to be reused keeps the old values"));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PCApply(pc, x, z));
  PetscCall(VecScale(z, 2.0));
  PetscCall(VecEqual(y, z, &equal));
  PetscCall(Expect(equal, "new values are taken over"));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCApply(pc, x, z));
  PetscCall(VecEqual(y, z, &equal));
  PetscCall(Expect(equal, "the same after PCReset()"));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is set is what is got, by functions and by options with a prefix */
static PetscErrorCode TestOptions(Mat A)
{
  PC         pc;
  PetscInt   i;
  PetscReal  r;
  BAIMode    mode;
  BAIBackend backend;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "some_"));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(PCBAISetIterations(pc, 7)); /* nothing happens */
  PetscCall(PCSetType(pc, PCBAI));
  PetscCall(PCBAIGetIterations(pc, &i));
  PetscCall(Expect(i == 2, "its is 2"));
  PetscCall(PCBAIGetLocalIters(pc, &i));
  PetscCall(Expect(i == 5, "local_iters is 5"));
  PetscCall(PCBAIGetLocalOmega(pc, &r));
  PetscCall(Expect(r == 0, "local_omega is 0"));
  PetscCall(PCBAIGetMode(pc, &mode));
  PetscCall(Expect(mode == BAI_MODE_AUTO, "mode is auto"));
  PetscCall(PCBAISetIterations(pc, 3));
  PetscCall(PCBAISetLocalIters(pc, 4));
  PetscCall(PCBAISetOmega(pc, 0.5));
  PetscCall(PCBAISetLocalOmega(pc, 0.25));
  PetscCall(PCBAISetMode(pc, BAI_MODE_SYNC));
  PetscCall(PCBAISetBackend(pc, BAI_BACKEND_HOST));
  for (int by_option = 0; by_option < 2; by_option++) {
    PetscCall(PCBAIGetIterations(pc, &i));
    PetscCall(Expect(i == 3, "its is 3"));
    PetscCall(PCBAIGetLocalIters(pc, &i));
    PetscCall(Expect(i == 4, "local_iters is 4"));
    PetscCall(PCBAIGetOmega(pc, &r));
    PetscCall(Expect(r == (PetscReal)0.5, "omega is 0.5"));
    PetscCall(PCBAIGetLocalOmega(pc, &r));
    PetscCall(Expect(r == (PetscReal)0.25, "local_omega is 0.25"));
    PetscCall(PCBAIGetMode(pc, &mode));
    PetscCall(Expect(mode == BAI_MODE_SYNC, "mode is sync"));
    PetscCall(PCBAIGetBackend(pc, &backend));
    PetscCall(Expect(backend == BAI_BACKEND_HOST, "backend is host"));
    if (by_option) break;
    PetscCall(PCSetType(pc, PCNONE));
    PetscCall(PCSetType(pc, PCBAI));
    PetscCall(PetscOptionsInsertString(
      NULL,
      "-some_pc_bai_its 3 -some_pc_bai_local_iters 4 -some_pc_bai_omega 0.5 -some_pc_bai_local_omega 0.25 "
      "-some_pc_bai_mode sync -some_pc_bai_backend host -some_pc_bai_block_size 9"));
    PetscCall(PCSetFromOptions(pc));
  }
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(PCBAIGetBlockSize(pc, &i));
  PetscCall(Expect(i == 9, "block_size is 9"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCSetReusePreconditioner(), and the matrix of the set-up is no longer the user's: it is refined with that */
static PetscErrorCode TestReuse(void)
{
  KSP       ksp;
  PC        pc;
  Mat       A, B;
  Vec       b, x, y;
  PetscInt  references;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, "laplace2d", 20, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 3));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBAI));
  PetscCall(PCBAISetMode(pc, BAI_MODE_COLOR));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(VecSet(x, 2.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(PetscObjectReference((PetscObject)B));
  PetscCall(MatDestroy(&A));
  PetscCall(VecSet(y, 2.0));
  PetscCall(KSPSolve(ksp, b, y));
  PetscCall(VecEqual(x, y, &equal));
  PetscCall(Expect(equal, "smoothing steps as with the matrix of the set-up"));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
  PetscCall(KSPSolve(ksp, b, y));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscObjectGetReference((PetscObject)B, &references));
  PetscCall(Expect(references == 2, "%d references of the matrix are left, not those of this test", (int)references));
  PetscCall(PetscObjectDereference((PetscObject)B));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat         A;
  Vec         x, y;
  PetscRandom random;
  char        name[64] = "laplace3d";
  PetscInt    n        = 12;
  PetscBool   symmetric;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", name, sizeof(name), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(GalleryCreateMat(PETSC_COMM_WORLD, name, n, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(x, random));
  PetscCall(VecSetRandom(y, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatIsSymmetric(A, 0, &symmetric));
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    if ((mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR) && Case("fixed_%s", BAIModes[mode]))
      PetscCall(TestFixed(A, x, y, symmetric, (BAIMode)mode));
    if (mode == BAI_MODE_SYNC && Case("omega_too_large")) PetscCall(TestOmegaTooLarge(A, x));
    if (mode == BAI_MODE_COLOR && size == 1 && !strcmp(name, "laplace3d") && Case("over_relaxation"))
      PetscCall(TestOverRelaxation(A, x));
    if (Case("smoothing_%s", BAIModes[mode])) PetscCall(TestSmoothing(A, x, symmetric, (BAIMode)mode));
  }
  if (Case("update")) PetscCall(TestUpdate(A, x));
  if (Case("options")) PetscCall(TestOptions(A));
  if (Case("damping") && size == 1) PetscCall(TestDamping()); /* between ranks it would diverge */
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  if (Case("reuse")) PetscCall(TestReuse());
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3}}
    output_file: output/empty.out
    args: -pc_bai_block_size {{0 32 600}}

    test:
      suffix: laplace3d
      args: -matrix laplace3d -n 12

    test:
      suffix: fv1
      args: -matrix fv1 -n 40

    test:
      suffix: trefethen
      args: -matrix trefethen -n 700

  testset:
    nsize: {{1 2}}
    requires: baicuda
    output_file: output/empty.out
    args: -mat_type aijcusparse -pc_bai_block_size {{0 32 600}}

    test:
      suffix: cuda_laplace3d
      args: -matrix laplace3d -n 12

    test:
      suffix: cuda_large
      args: -matrix laplace3d -n 64

    test:
      suffix: cuda_fv1
      args: -matrix fv1 -n 40

    test:
      suffix: cuda_trefethen
      args: -matrix trefethen -n 700

TEST*/
