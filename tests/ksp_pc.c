static char help[] = "KSPBAI runs the method that the options say, with the PC that the user has chosen.\n\n";

#include "check.h"
#include "gallery.h"
#include <petsc/private/pcimpl.h>

/* A Poisson matrix, or with wind one that is not symmetric */
static PetscErrorCode CreateMat(PetscInt n, PetscReal wind, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 5, NULL, 5, NULL));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    const PetscInt i = row / n, j = row % n;

    PetscCall(MatSetValue(*A, row, row, 4.01, INSERT_VALUES));
    if (i) PetscCall(MatSetValue(*A, row, row - n, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, row, row + n, -1, INSERT_VALUES));
    if (j) PetscCall(MatSetValue(*A, row, row - 1, -1 - wind, INSERT_VALUES));
    if (j < n - 1) PetscCall(MatSetValue(*A, row, row + 1, -1 + wind, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A KSPBAI of its own options, in addition to those of the program */
static PetscErrorCode Create(Mat A, const char options[], PetscOptions *o, KSP *ksp)
{
  char *all;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetAll(NULL, &all));
  PetscCall(PetscOptionsCreate(o));
  PetscCall(PetscOptionsInsertString(*o, all));
  PetscCall(PetscOptionsInsertString(*o, options));
  PetscCall(PetscFree(all));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(PetscObjectSetOptions((PetscObject)*ksp, *o));
  PetscCall(KSPSetType(*ksp, KSPBAI));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetTolerances(*ksp, (PetscReal)1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 3000));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves A x = 1 from zero. rnorm is ||b - A x|| over ||b||, by MatMult(), of A^T if transposed */
static PetscErrorCode Solve(KSP ksp, PetscBool transposed, PetscInt *its, PetscReal *rnorm)
{
  Mat       A;
  Vec       b, x, r;
  PetscReal bnorm;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1));
  if (transposed) PetscCall(KSPSolveTranspose(ksp, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (transposed) PetscCall(MatMultTranspose(A, x, r));
  else PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *rnorm /= bnorm;
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The method that options select, and some of the words that say why */
static PetscErrorCode TestMethod(const char options[], BAIMethod expected, const char word[])
{
  Mat          A;
  KSP          ksp;
  PetscOptions o;
  BAIMethod    method;
  const char  *why;
  char        *found;
  PetscInt     its;
  PetscReal    rnorm;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(12, 0, &A));
  PetscCall(Create(A, options, &o, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
  PetscCall(KSPBAIGetMethod(ksp, &method, &why));
  PetscCall(Expect(method == expected, "\"%s\" selects %s, %s", options, BAIMethods[method], why));
  PetscCall(PetscStrstr(why, word, &found));
  PetscCall(Expect(found != NULL, "\"%s\" selects %s \"%s\", which has no word \"%s\"", options, BAIMethods[method],
                   why, word));
  if (strstr(options, "ksp_norm_type none")) rnorm = 0;
  PetscCall(Expect(rnorm <= (PetscReal)1e-7, "\"%s\": residual %g", options, (double)rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options that do not go together are an error that names both */
static PetscErrorCode TestConflict(const char options[])
{
  Mat            A;
  KSP            ksp;
  PetscOptions   o;
  PetscErrorCode code;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(6, 0, &A));
  PetscCall(Create(A, options, &o, &ksp));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  code = KSPSetFromOptions(ksp);
  if (!code) code = KSPSetUp(ksp);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Expect(code == PETSC_ERR_ARG_INCOMP || code == PETSC_ERR_SUP, "\"%s\" is error %d", options, (int)code));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The PC is of the type that was chosen, and the solution is right; method: the type of the KSP inside, if any */
static PetscErrorCode TestPC(const char type[], PetscBool code, PetscReal wind, PetscBool transposed)
{
  Mat                A;
  KSP                ksp;
  PC                 pc;
  PetscOptions       o;
  PetscInt           its;
  PetscReal          rnorm;
  PCType             found;
  PetscBool          same;
  char               options[128];
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(20, wind, &A));
  PetscCall(PetscSNPrintf(options, sizeof(options), code ? "%s" : "-pc_type %s", code ? "" : type));
  PetscCall(Create(A, options, &o, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPSetFromOptions(ksp));
  if (code) PetscCall(PCSetType(pc, type));
  PetscCall(Solve(ksp, transposed, &its, &rnorm));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetType(pc, &found));
  PetscCall(PetscStrcmp(found, type, &same));
  PetscCall(Expect(same, "PC %s is %s after a solve", type, found));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Expect(reason > 0 && rnorm <= (PetscReal)1.01e-8, "PC %s, %s: %s after %d iterations, residual %g", type,
                   code ? "in code" : "by option", KSPConvergedReasons[reason], (int)its, (double)rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Amat is symmetric, and Pmat, or if kept Amat when the PC was made, so in general the PC too, is not */
static PetscErrorCode TestUnlike(const char type[], PetscBool kept)
{
  Mat                A, P;
  KSP                ksp;
  PetscOptions       o;
  PetscInt           its;
  PetscReal          rnorm;
  char               options[128];
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(20, 0, &A));
  PetscCall(CreateMat(20, (PetscReal)0.4, &P));
  PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_type %s", type));
  PetscCall(Create(A, options, &o, &ksp));
  PetscCall(KSPSetOperators(ksp, kept ? P : A, P));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
  if (kept) {
    PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
    PetscCall(MatCopy(A, P, SAME_NONZERO_PATTERN));
    PetscCall(KSPSetOperators(ksp, P, P));
    PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
  }
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Expect(reason > 0 && rnorm <= (PetscReal)1.01e-8,
                   "PC %s of another matrix: %s after %d iterations, "
                   "residual %g",
                   type, KSPConvergedReasons[reason], (int)its, (double)rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPBAI with baimg takes the iterations of PETSc's CG with baimg and the norm of the true residual, or one less or
   more; other PCs take those of PETSc's method */
static PetscErrorCode TestIterations(const char type[])
{
  Mat          A;
  KSP          ksp;
  PetscOptions o;
  PetscInt     its[2];
  PetscReal    rnorm;
  char         options[128];

  PetscFunctionBeginUser;
  PetscCall(CreateMat(24, 0, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_type %s -pc_baimg_levels 32 -ksp_norm_type unpreconditioned",
                          type)); /* not on the chip */
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(A, options, &o, &ksp));
    if (k) PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(Solve(ksp, PETSC_FALSE, &its[k], &rnorm));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsDestroy(&o));
  }
  PetscCall(Expect(PetscAbsInt(its[0] - its[1]) <= 1, "PC %s: %d iterations, PETSc's CG takes %d", type, (int)its[0],
                   (int)its[1]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC that the KSP does not apply makes no levels until somebody applies it */
static PetscErrorCode TestDeferred(void)
{
  Mat          A;
  KSP          ksp;
  PC           pc;
  PetscOptions o;
  Vec          r, z;
  PetscInt     its;
  PetscReal    rnorm;
  PetscBool    is;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(12, 0, &A));
  PetscCall(Create(A, "-ksp_bai_local_iters 5", &o, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBAIMG, &is));
  PetscCall(Expect(is, "the PC beside relaxation is a PCBAIMG"));
  PetscCall(NewSystem(A, &z, &r));
  PetscCall(PCApply(pc, r, z));
  PetscCall(VecNorm(z, NORM_2, &rnorm));
  PetscCall(
    Expect(rnorm > 0 && !PetscIsInfOrNanReal(rnorm), "PCApply() of a deferred PCBAIMG: norm %g", (double)rnorm));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The type of the PC in its different orders of calls: what nobody chose is baimg */
static PetscErrorCode TestOrder(void)
{
  Mat         A;
  KSP         ksp;
  PC          pc;
  PetscInt    its;
  PetscReal   rnorm;
  PCType      type;
  PetscBool   same;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(10, 0, &A));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int order = 0; order < 8; order++) {
    const char *const other    = size == 1 ? PCBJACOBI : PCNONE; /* which PETSc does not choose for this matrix */
    const char *const expected = order == 3 ? PCSOR
      : order == 6                          ? other
      : order == 4 || order == 5            ? PCBJACOBI
                                            : PCBAIMG;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "order_"));
    PetscCall(KSPSetOperators(ksp, A, A));
    if (order == 6) PetscCall(KSPGetPC(ksp, &pc));
    if (order == 6) PetscCall(PCSetType(pc, other));
    if (order == 7) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE)); /* for which PETSc chooses ICC */
    if (order == 1 || order >= 6) PetscCall(KSPSetFromOptions(ksp)); /* which gives the PC a type, that nobody chose */
    PetscCall(KSPSetType(ksp, KSPBAI));
    if (order == 2) PetscCall(KSPSetFromOptions(ksp));
    if (order == 3) PetscCall(KSPGetPC(ksp, &pc));
    if (order == 3) PetscCall(PCSetType(pc, PCSOR));
    if (order == 4 || order == 5) { /* types that PETSc chooses as well, set in code after KSPSetType() */
      PetscCall(KSPGetPC(ksp, &pc));
      if (order == 5) PetscCall(KSPSetFromOptions(ksp));
      PetscCall(PCSetType(pc, PCBJACOBI));
      if (order == 4) PetscCall(KSPSetFromOptions(ksp));
    }
    PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCGetType(pc, &type));
    PetscCall(PetscStrcmp(type, expected, &same));
    PetscCall(Expect(same, "order %d: the PC is %s, not %s", order, type, expected));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCGetType(pc, &type));
    PetscCall(PetscStrcmp(type, expected, &same));
    PetscCall(Expect(same, "order %d: KSPSetType() to another type leaves the PC, which is %s", order, type));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC that was given by -pc_type stays chosen if the option leaves the database before the solve, also by a solve
   whose number of iterations is fixed */
static PetscErrorCode TestRemoved(const char type[])
{
  const char *const options[] = {"-ksp_norm_type", "-ksp_max_it", "-pc_type"};
  Mat               A;
  KSP               ksp;
  PC                pc;
  PetscOptions      o;
  PetscInt          its;
  PetscReal         rnorm[2];
  PCType            found;
  PetscBool         same;
  char              all[128];

  PetscFunctionBeginUser;
  PetscCall(CreateMat(20, 0, &A));
  PetscCall(PetscSNPrintf(all, sizeof(all), "-ksp_norm_type none -ksp_max_it 12 -pc_type %s", type));
  for (int removed = 0; removed < 2; removed++) {
    PetscCall(Create(A, all, &o, &ksp));
    PetscCall(KSPSetFromOptions(ksp));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options) && removed; k++)
      PetscCall(PetscOptionsClearValue(o, options[k]));
    PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm[removed]));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCGetType(pc, &found));
    PetscCall(PetscStrcmp(found, type, &same));
    PetscCall(Expect(same && its == 12, "PC %s is %s, %d iterations", type, found, (int)its));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsDestroy(&o));
  }
  PetscCall(Expect(PetscAbsReal(rnorm[1] - rnorm[0]) <= (PetscReal)1e-6 * rnorm[0],
                   "PC %s: residual %g, and %g with the options", type, (double)rnorm[1], (double)rnorm[0]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With KSPSetReusePreconditioner() the PC stays as it is for new values, and without it is made anew */
static PetscErrorCode TestReuse(const char options[])
{
  Mat          A;
  KSP          ksp;
  PC           pc;
  PetscOptions o;
  PetscInt     its;
  PetscReal    rnorm;
  Vec          r, z[3];
  PetscReal    distance, size;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(16, 0, &A));
  PetscCall(Create(A, options, &o, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatCreateVecs(A, &z[0], &r));
  for (int k = 1; k < 3; k++) PetscCall(VecDuplicate(z[0], &z[k]));
  PetscCall(VecSet(r, 1));
  PetscCall(KSPGetPC(ksp, &pc));
  for (int k = 0; k < 3; k++) {
    PetscCall(KSPSetReusePreconditioner(ksp, (PetscBool)(k == 1)));
    if (k) PetscCall(MatShift(A, 2));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
    PetscCall(Expect(rnorm <= (PetscReal)1.01e-8, "solve %d: residual %g", k, (double)rnorm));
    PetscCall(PCApply(pc, r, z[k]));
  }
  PetscCall(VecNorm(z[0], NORM_2, &size));
  PetscCall(VecAXPY(z[1], -1, z[0]));
  PetscCall(VecNorm(z[1], NORM_2, &distance));
  PetscCall(Expect(distance <= 1000 * PETSC_MACHINE_EPSILON * size, "a PC that is kept has changed by %g",
                   (double)(distance / size)));
  PetscCall(VecAXPY(z[2], -1, z[0]));
  PetscCall(VecNorm(z[2], NORM_2, &distance));
  PetscCall(Expect(distance > (PetscReal)0.01 * size, "a PC that is not kept has changed by %g only",
                   (double)(distance / size)));
  for (int k = 0; k < 3; k++) PetscCall(VecDestroy(&z[k]));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A norm that is named is the one that is tested: the preconditioned or natural residual of PETSc's CG */
static PetscErrorCode TestNorm(const char norm[])
{
  Mat          A;
  KSP          ksp;
  PetscOptions o;
  PetscInt     its[2];
  PetscReal    rnorm, found[2];
  char         options[128];

  PetscFunctionBeginUser;
  PetscCall(CreateMat(24, 0, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_type jacobi -ksp_norm_type %s", norm));
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(A, options, &o, &ksp));
    if (k) PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(Solve(ksp, PETSC_FALSE, &its[k], &rnorm));
    PetscCall(KSPGetResidualNorm(ksp, &found[k]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsDestroy(&o));
  }
  PetscCall(Expect(its[0] == its[1] && PetscAbsReal(found[0] - found[1]) <= (PetscReal)1e-4 * found[1],
                   "norm %s: %d iterations to %g, PETSc's CG %d to %g", norm, (int)its[0], (double)found[0],
                   (int)its[1], (double)found[1]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPBAI cannot know that this PC is symmetric, so it takes a flexible method, which needs at most one iteration more
   than CG: KSPFCG on a host with real scalars, or for a norm that others do not know, else KSPFGMRES */
static PetscErrorCode TestFlexible(void)
{
  const char *const options[] = {"-ksp_bai_krylov cg -pc_type jacobi", "-pc_type bjacobi -sub_pc_type jacobi",
                                 "-pc_type bjacobi -sub_pc_type jacobi -ksp_norm_type natural"};
  PetscInt          its[3]    = {0, 0, 0};
  PetscBool         fcg[3], on_device;
  Mat               A;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(12, 0, &A));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &on_device, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  for (int k = 0; k < 3; k++) {
    KSP          ksp;
    PetscOptions o;
    PetscReal    rnorm;

    PetscCall(Create(A, options[k], &o, &ksp));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(Solve(ksp, PETSC_FALSE, &its[k], &rnorm));
    PetscCall(ViewHas((PetscObject)ksp, "KSP type fcg, preconditioned by the PC", &fcg[k]));
    PetscCall(
      Expect(rnorm <= (PetscReal)(k < 2 ? 1.1e-8 : 1e-6), "\"%s\": residual norm %g", options[k], (double)rnorm));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsDestroy(&o));
  }
  PetscCall(Expect(its[1] <= its[0] + 1, "%d iterations, CG %d", (int)its[1], (int)its[0]));
  PetscCall(Expect(fcg[1] == (PetscBool)(!on_device && !PetscDefined(USE_COMPLEX)) && fcg[2], "FCG: %d, %d",
                   (int)fcg[1], (int)fcg[2]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each iteration has one norm, also where KSPFGMRES restarts */
static PetscErrorCode TestHistory(void)
{
  Mat          A;
  KSP          ksp;
  PetscOptions o;
  PetscInt     its, count;
  PetscReal    rnorm;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(40, (PetscReal)0.4, &A));
  PetscCall(Create(A, "-ksp_bai_krylov gmres -pc_type jacobi -pc_baimg_levels 32", &o, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetResidualHistory(ksp, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
  PetscCall(KSPGetResidualHistory(ksp, NULL, &count));
  PetscCall(Expect(its > 30 && count == its + 1, "%d iterations have %d norms", (int)its, (int)count));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal entry that is not a number fails a solve, and no later one with other values, by either method */
static PetscErrorCode TestFailed(void)
{
  Mat                A;
  KSP                ksp;
  PetscOptions       o;
  PetscInt           its, last;
  PetscReal          rnorm;
  PetscScalar        value = 4;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(12, 0, &A));
  PetscCall(MatGetOwnershipRange(A, NULL, &last));
  PetscCall(Create(A, "-pc_baimg_levels 32", &o, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 4; k++) {
    value = k % 2 ? 4 : NAN;
    PetscCall(MatSetValue(A, last - 1, last - 1, value, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPBAISetMethod(ksp, k == 3 ? BAI_METHOD_RELAXATION : BAI_METHOD_KRYLOV));
    PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Expect(k % 2 ? reason > 0 : reason < 0, "solve %d: %s", k, KSPConvergedReasons[reason]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = 2 x */
static PetscErrorCode Twice(PETSC_UNUSED Mat A, Vec x, Vec y)
{
  PetscFunctionBeginUser;
  PetscCall(VecCopy(x, y));
  PetscCall(VecScale(y, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC that nobody chose is none for a matrix without entries, and baimg again for one with them; a baimg that the user
   chose stays, and needs entries */
static PetscErrorCode TestShell(void)
{
  Mat          A, shell;
  KSP          ksp;
  PC           pc;
  PetscOptions o;
  PetscInt     its, n, N;
  PetscReal    rnorm;
  PetscBool    is;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(12, 0, &A));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, N, N, NULL, &shell));
  PetscCall(MatShellSetOperation(shell, MATOP_MULT, (void (*)(void))Twice));
  PetscCall(Create(shell, "", &o, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 3; k++) {
    PetscCall(KSPSetOperators(ksp, k == 1 ? A : shell, k == 1 ? A : shell));
    PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, k == 1 ? PCBAIMG : PCNONE, &is));
    PetscCall(Expect(is && rnorm <= (PetscReal)1.01e-8, "solve %d: PC %s, residual %g", k, ((PetscObject)pc)->type_name,
                     (double)rnorm));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(Create(shell, "-pc_type baimg", &o, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  ExpectError("Matrix type shell: block-asynchronous iteration needs the entries of a matrix of type aij, aijcusparse, "
              "baij or sbaij; see MatConvert() and -mat_type. Krylov methods of KSPBAI take any Amat",
              "KSPSetUp()", KSPSetUp(ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&shell));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x, with another relative error each time, of this size */
static PetscReal      of_inexact;
static PetscErrorCode Inexact(Mat shell, Vec x, Vec y)
{
  static int products;
  Mat        A;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(shell, &A));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecScale(y, products++ % 2 ? 1 + of_inexact : 1 - of_inexact));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With inexact products, as of MATMFFD, the solve ends soon after FGMRES would end, although they leave b - A x above
   its tolerance */
static PetscErrorCode TestInexact(PetscReal error, const char rtol[])
{
  Mat          A, shell;
  KSP          ksp;
  PetscOptions o;
  PetscInt     its[2], n, N;
  PetscReal    rnorm;
  VecType      type;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(24, (PetscReal)0.4, &A));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, N, N, A, &shell));
  PetscCall(MatShellSetVecType(shell, type));
  PetscCall(MatShellSetOperation(shell, MATOP_MULT, (void (*)(void))Inexact));
  of_inexact = error;
  for (int k = 0; k < 2; k++) {
    KSPConvergedReason reason;

    PetscCall(Create(shell, "-pc_type baimg", &o, &ksp));
    PetscCall(PetscOptionsSetValue(o, "-ksp_rtol", rtol));
    if (k) PetscCall(KSPSetType(ksp, KSPFGMRES));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetOperators(ksp, shell, A));
    PetscCall(Solve(ksp, PETSC_FALSE, &its[k], &rnorm));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Expect(reason == KSP_CONVERGED_RTOL && rnorm < 100 * error, "KSP %d: %s, residual %g", k,
                     KSPConvergedReasons[reason], (double)rnorm));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsDestroy(&o));
  }
  PetscCall(Expect(its[0] < 2 * its[1], "%d iterations, FGMRES takes %d", (int)its[0], (int)its[1]));
  PetscCall(MatDestroy(&shell));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = 0 */
static PetscErrorCode Nothing(PETSC_UNUSED PC pc, PETSC_UNUSED Vec x, Vec y)
{
  PetscFunctionBeginUser;
  PetscCall(VecSet(y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC that is singular ends FGMRES with an updated residual of 0, which is not convergence */
static PetscErrorCode TestSingular(void)
{
  Mat                shell;
  KSP                ksp;
  PC                 pc;
  PetscOptions       o;
  PetscInt           its;
  PetscReal          rnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, 5, 5, PETSC_DECIDE, PETSC_DECIDE, NULL, &shell));
  PetscCall(MatShellSetOperation(shell, MATOP_MULT, (void (*)(void))Twice));
  PetscCall(Create(shell, "", &o, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetApply(pc, Nothing));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Expect(reason < 0, "%s, residual %g", KSPConvergedReasons[reason], (double)rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&shell));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An indefinite matrix, for which CG breaks down and norms of BiCGStab grow: FGMRES follows */
static PetscErrorCode TestGrows(void)
{
  Mat                A;
  KSP                ksp;
  PetscOptions       o;
  PetscInt           its;
  PetscReal          rnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(CreateMat(12, 0, &A));
  PetscCall(MatShift(A, (PetscScalar)-2.5));
  PetscCall(Create(A, "-pc_type jacobi -ksp_divtol 10", &o, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, PETSC_FALSE, &its, &rnorm));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Expect(reason > 0 && rnorm <= (PetscReal)1.01e-8, "%s after %d iterations, residual %g",
                   KSPConvergedReasons[reason], (int)its, (double)rnorm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&o));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const types[] = {PCNONE, PCJACOBI, PCSOR, PCBJACOBI, PCGAMG, PCBAI, PCBAIMG};
  PetscMPIInt       size;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  if (Case("method")) {
    PetscCall(TestMethod("", BAI_METHOD_KRYLOV, "no option of relaxation"));
    PetscCall(TestMethod("-ksp_bai_local_iters 5", BAI_METHOD_RELAXATION, "-ksp_bai_local_iters"));
    PetscCall(TestMethod("-ksp_bai_local_iters 4", BAI_METHOD_RELAXATION, "-ksp_bai_local_iters"));
    PetscCall(TestMethod("-ksp_bai_mode auto", BAI_METHOD_RELAXATION, "-ksp_bai_mode"));
    PetscCall(TestMethod("-ksp_bai_backend auto", BAI_METHOD_KRYLOV, "no option"));
    PetscCall(TestMethod("-ksp_bai_krylov cg", BAI_METHOD_KRYLOV, "no option"));
    PetscCall(TestMethod("-ksp_bai_method krylov -ksp_bai_local_iters 2", BAI_METHOD_KRYLOV, "as asked"));
    PetscCall(TestMethod("-ksp_bai_method relaxation", BAI_METHOD_RELAXATION, "as asked"));
    PetscCall(TestMethod("-ksp_norm_type none -ksp_max_it 3", BAI_METHOD_RELAXATION, "fixed"));
    PetscCall(TestMethod("-ksp_norm_type none -ksp_max_it 3 -pc_type jacobi", BAI_METHOD_KRYLOV, "no option"));
  }
  if (Case("conflict")) {
    PetscCall(TestConflict("-ksp_bai_method krylov -ksp_bai_mode async"));
    PetscCall(TestConflict("-ksp_bai_method relaxation -ksp_bai_krylov cg"));
    PetscCall(TestConflict("-ksp_bai_krylov cg -ksp_bai_mode async"));
    PetscCall(TestConflict("-ksp_bai_method relaxation -pc_type jacobi"));
    PetscCall(TestConflict("-ksp_bai_krylov bcgs -ksp_norm_type natural"));
    PetscCall(TestConflict("-ksp_bai_mode sync -ksp_norm_type natural"));
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    if (Case("option_%s", types[k])) PetscCall(TestPC(types[k], PETSC_FALSE, 0, PETSC_FALSE));
    if (Case("code_%s", types[k])) PetscCall(TestPC(types[k], PETSC_TRUE, 0, PETSC_FALSE));
    if (Case("wind_%s", types[k])) PetscCall(TestPC(types[k], PETSC_FALSE, (PetscReal)0.4, PETSC_FALSE));
    if (Case("unlike_%s", types[k])) PetscCall(TestUnlike(types[k], PETSC_FALSE));
    if (Case("kept_%s", types[k])) PetscCall(TestUnlike(types[k], PETSC_TRUE));
  }
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1 && Case("unlike_lu")) PetscCall(TestUnlike(PCLU, PETSC_FALSE));
  if (size == 1 && Case("kept_lu")) PetscCall(TestUnlike(PCLU, PETSC_TRUE));
  if (Case("transposed")) {
    PetscCall(TestPC(PCJACOBI, PETSC_FALSE, (PetscReal)0.4, PETSC_TRUE));
    PetscCall(TestPC(PCNONE, PETSC_FALSE, (PetscReal)0.4, PETSC_TRUE));
    PetscCall(TestPC(PCBAI, PETSC_FALSE, (PetscReal)0.4, PETSC_TRUE));
    PetscCall(TestPC(PCBAIMG, PETSC_FALSE, 0, PETSC_TRUE));
    PetscCall(TestPC(PCBAIMG, PETSC_FALSE, (PetscReal)0.4, PETSC_TRUE));
  }
  if (Case("iterations")) {
    PetscCall(TestIterations(PCNONE));
    PetscCall(TestIterations(PCJACOBI));
    PetscCall(TestIterations(PCGAMG));
    PetscCall(TestIterations(PCBAIMG));
    if (size == 1) PetscCall(TestIterations(PCEISENSTAT)); /* which changes the system before it is solved */
  }
  if (Case("flexible")) PetscCall(TestFlexible());
  if (Case("history")) PetscCall(TestHistory());
  if (Case("failed")) PetscCall(TestFailed());
  if (Case("shell")) PetscCall(TestShell());
  if (Case("inexact_little")) PetscCall(TestInexact((PetscReal)1e-8, "1e-11"));
  if (Case("inexact_much")) PetscCall(TestInexact((PetscReal)1e-3, "1e-5"));
  if (Case("singular")) PetscCall(TestSingular());
  if (Case("grows")) PetscCall(TestGrows());
  if (Case("deferred")) PetscCall(TestDeferred());
  if (Case("order")) PetscCall(TestOrder());
  if (Case("removed")) {
    PetscCall(TestRemoved(PCJACOBI));
    PetscCall(TestRemoved(PCBJACOBI));
    PetscCall(TestRemoved(PCBAIMG));
  }
  if (Case("reuse")) {
    PetscCall(TestReuse(""));
    PetscCall(TestReuse("-pc_type jacobi"));
  }
  if (Case("norm")) {
    PetscCall(TestNorm("preconditioned"));
    PetscCall(TestNorm("natural"));
    PetscCall(TestNorm("unpreconditioned"));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -options_left no
      test:
         suffix: aijcusparse
         requires: baicuda cuda
         nsize: {{1 2}}
         args: -mat_type aijcusparse

TEST*/
