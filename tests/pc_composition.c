static char help[] = "PCBAI inside PCFIELDSPLIT and PCASM: what these compose is what they should, to the bit.\n\n";

#include "check.h"

/* Two interlaced fields on a line of n points: each diffuses, and each is a source of the other, but not equally */
static PetscErrorCode CreateMatrix(PetscInt n, Mat *A)
{
  PetscInt rstart, rend;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, 2 * n, 2 * n));
  PetscCall(MatSetBlockSize(*A, 2));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 4, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 4, NULL, 1, NULL));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++) {
    const PetscInt field = row % 2, cols[] = {row - 2, row, field ? row - 1 : row + 1, row + 2 < 2 * n ? row + 2 : -1};
    const PetscScalar vals[] = {-1, field ? 2.5 : 2.2, field ? 0.3 : -0.6, -1};

    PetscCall(MatSetValues(*A, 1, &row, 4, cols, vals, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += R^T P^{-1} R b with PCBAI of matrix P as P^{-1}, and R taking the rows of is; b and is may be of more processes
 * than P */
static PetscErrorCode AddCorrection(Mat P, IS is, Vec b, Vec y)
{
  PC         pc;
  Vec        sub_b, sub_y;
  VecScatter scatter;

  PetscFunctionBeginUser;
  PetscCall(NewPC(P, PCBAI, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "sub_"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(MatCreateVecs(P, &sub_y, &sub_b));
  PetscCall(VecScatterCreate(b, is, sub_b, NULL, &scatter));
  PetscCall(VecScatterBegin(scatter, b, sub_b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, b, sub_b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(PCApply(pc, sub_b, sub_y));
  PetscCall(VecScatterBegin(scatter, sub_y, y, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(scatter, sub_y, y, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&sub_b));
  PetscCall(VecDestroy(&sub_y));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, PCType type, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(NewPC(A, type, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCBAI for each part */
static PetscErrorCode SubSetType(PetscInt n, KSP subs[])
{
  PC pc;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(KSPSetOptionsPrefix(subs[k], "sub_"));
    PetscCall(KSPSetType(subs[k], KSPPREONLY));
    PetscCall(KSPGetPC(subs[k], &pc));
    PetscCall(PCSetType(pc, PCBAI));
    PetscCall(KSPSetFromOptions(subs[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One field after the other, the second with what the first has changed, or both at once */
static PetscErrorCode FieldSplit(Mat A, PCCompositeType type, Vec b, Vec x, Vec y, Vec r)
{
  PC        pc;
  KSP      *subs;
  Mat       P;
  IS        is;
  PetscInt  n;
  PetscBool equal;

  PetscFunctionBeginUser;
  PetscCall(Create(A, PCFIELDSPLIT, &pc));
  PetscCall(PCFieldSplitSetBlockSize(pc, 2));
  for (PetscInt field = 0; field < 2; field++)
    PetscCall(PCFieldSplitSetFields(pc, field ? "v" : "u", 1, &field, &field));
  PetscCall(PCFieldSplitSetType(pc, type));
  PetscCall(PCSetUp(pc));
  PetscCall(PCFieldSplitGetSubKSP(pc, &n, &subs));
  PetscCall(Expect(n == 2, "there are two fields"));
  PetscCall(SubSetType(n, subs));
  PetscCall(PCApply(pc, b, x));

  PetscCall(VecSet(y, 0));
  PetscCall(VecCopy(b, r));
  for (PetscInt field = 0; field < n; field++) {
    PetscCall(KSPGetOperators(subs[field], NULL, &P));
    PetscCall(PCFieldSplitGetISByIndex(pc, field, &is));
    PetscCall(AddCorrection(P, is, r, y));
    if (type == PC_COMPOSITE_ADDITIVE) continue;
    PetscCall(MatMult(A, y, r));
    PetscCall(VecAYPX(r, -1, b));
  }
  PetscCall(VecEqual(x, y, &equal));
  PetscCall(Expect(equal, "PCFIELDSPLIT with PCBAI is what it says, %s", PCCompositeTypes[type]));
  PetscCall(PetscFree(subs));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Overlapping parts, a rank's at once; what they say is added. Two parts a rank are added in an order that is not ours:
 * up to rounding */
static PetscErrorCode ASM(Mat A, PetscInt parts, Vec b, Vec x, Vec y)
{
  PC          pc;
  KSP        *subs;
  Mat        *P;
  IS         *is;
  PetscInt    n;
  PetscReal   norm, error;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(A, PCASM, &pc));
  PetscCall(PCASMSetTotalSubdomains(pc, parts * size, NULL, NULL));
  PetscCall(PCASMSetOverlap(pc, 2));
  PetscCall(PCASMSetType(pc, PC_ASM_BASIC));
  PetscCall(PCSetUp(pc));
  PetscCall(PCASMGetSubKSP(pc, &n, NULL, &subs));
  PetscCall(Expect(n == parts, "each rank has so many parts"));
  PetscCall(SubSetType(n, subs));
  PetscCall(PCApply(pc, b, x));

  PetscCall(PCASMGetLocalSubmatrices(pc, &n, &P));
  PetscCall(PCASMGetLocalSubdomains(pc, &n, &is, NULL));
  PetscCall(VecSet(y, 0));
  for (PetscInt k = 0; k < n; k++) PetscCall(AddCorrection(P[k], is[k], b, y));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(y, NORM_2, &error));
  PetscCall(Expect(norm > 0 && error <= 10 * PETSC_MACHINE_EPSILON * norm, "PCASM with PCBAI adds what it says"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fields from options; converges to the solution that is known */
static PetscErrorCode Solves(Mat A, Vec x, Vec y, Vec r)
{
  KSP                ksp;
  PC                 pc;
  PetscReal          norm, error;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(VecSetRandom(y, NULL));
  PetscCall(MatMult(A, y, r));
  PetscCall(NewKSP(A, KSPGMRES, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCFIELDSPLIT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, r, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecAXPY(x, -1, y));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCall(Expect(reason > 0 && error <= 1e-7 * norm, "GMRES with fields solves"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat A;
  Vec b, x, y, r;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(CreateMatrix(300, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(b, NULL));
  if (Case("fieldsplit_additive")) PetscCall(FieldSplit(A, PC_COMPOSITE_ADDITIVE, b, x, y, r));
  if (Case("fieldsplit_multiplicative")) PetscCall(FieldSplit(A, PC_COMPOSITE_MULTIPLICATIVE, b, x, y, r));
  if (Case("asm_one_part_a_rank")) PetscCall(ASM(A, 1, b, x, y));
  if (Case("asm_three_parts_a_rank")) PetscCall(ASM(A, 3, b, x, y));
  if (Case("gmres")) PetscCall(Solves(A, x, y, r));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    requires: !single
    nsize: {{1 2}}
    args: -sub_pc_bai_mode {{color sync}} -sub_pc_bai_block_size {{0 16}} -pc_fieldsplit_type {{multiplicative schur}} \
          -fieldsplit_0_ksp_type preonly -fieldsplit_0_pc_type bai -fieldsplit_1_ksp_type preonly \
          -fieldsplit_1_pc_type bai

    test:
      suffix: host

    test:
      suffix: cuda
      requires: baicuda cuda
      args: -mat_type aijcusparse

TEST*/
