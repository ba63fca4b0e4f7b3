static char help[] = "MATBAIJ and MATSBAIJ are solved and applied as the MATAIJ with the same entries, to the bit, and "
                     "followed when values or patterns change; other types are refused by name.\n\n";

#include "check.h"

/* A symmetric matrix of couplings to the next blocks of bs rows, and to those `far` blocks away if far is not 0 */
static PetscErrorCode Fill(Mat A, PetscInt bs, PetscInt far, PetscReal scale)
{
  const PetscInt offset[] = {0, 1, -1, far, -far};
  PetscInt       n, first, last;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatZeroEntries(A));
  for (PetscInt row = first; row < last; row++) {
    for (int d = 0; d < (far ? 5 : 3); d++) {
      const PetscInt block = row / bs + offset[d];

      for (PetscInt col = block * bs; col < (block + 1) * bs; col++) {
        if (col < 0 || col >= n) continue;
        PetscCall(
          MatSetValue(A, row, col,
                      scale * (row == col ? 8 * bs + (PetscReal)(row % 7) : -1 / (PetscReal)(1 + (row + col) % 5)),
                      INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, PetscInt bs, PetscInt blocks, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, bs * blocks, bs * blocks));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  if (!strcmp(type, MATSBAIJ)) PetscCall(MatSetOption(*A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solver and preconditioner for a matrix */
typedef struct {
  KSP ksp;
  PC  pc;
  Vec b, x, z;
} Faces;

static PetscErrorCode FacesCreate(Mat A, Faces *f)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &f->x, &f->b));
  PetscCall(VecDuplicate(f->x, &f->z));
  PetscCall(VecSet(f->b, 1));
  PetscCall(NewKSP(A, KSPBAI, &f->ksp));
  PetscCall(KSPBAISetMode(f->ksp, BAI_MODE_SYNC));
  PetscCall(KSPSetFromOptions(f->ksp));
  PetscCall(NewPC(A, PCBAI, &f->pc));
  PetscCall(PCSetFromOptions(f->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FacesDestroy(Faces *f)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&f->ksp));
  PetscCall(PCDestroy(&f->pc));
  PetscCall(VecDestroy(&f->b));
  PetscCall(VecDestroy(&f->x));
  PetscCall(VecDestroy(&f->z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both come to the same bits; what was set up for the other type was set up, and given new values, so often */
static PetscErrorCode Same(Faces *aij, Faces *other, const char what[], PetscInt setups, PetscInt updates)
{
  Faces    *f[] = {aij, other};
  PetscBool equal, gathered;
  PetscReal rnorm, count[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscBool is;

    PetscCall(KSPSolve(f[k]->ksp, f[k]->b, f[k]->x));
    PetscCall(IsConverged(f[k]->ksp, &rnorm, &is));
    PetscCall(Expect(is, "%s: it converges", what));
    PetscCall(PCSetUp(f[k]->pc));
    PetscCall(PCApply(f[k]->pc, f[k]->b, f[k]->z));
  }
  PetscCall(VecEqual(aij->x, other->x, &equal));
  PetscCall(Expect(equal, "%s: a solve gives the bits of that with type aij", what));
  PetscCall(VecEqual(aij->z, other->z, &equal));
  PetscCall(Expect(equal, "%s: an application gives the bits of that with type aij", what));
  for (int k = 0; k < 2; k++) {
    const PetscObject face = k ? (PetscObject)other->pc : (PetscObject)other->ksp;

    PetscCall(ViewedNumber(face, "set-ups ", &count[0]));
    PetscCall(ViewedNumber(face, "value updates ", &count[1]));
    PetscCall(ViewHas(face, "with all rows", &gathered));
    if (gathered && count[0] > setups) { /* a converted matrix is another one, and is gathered anew */
      PetscCall(
        Expect(count[0] == setups + updates && count[1] == 0, "%s: %g set-ups where gathered", what, (double)count[0]));
      continue;
    }
    PetscCall(Expect(count[0] == setups && count[1] == updates,
                     "%s: %s has done %g set-ups, not %" PetscInt_FMT ", and %g value updates, not %" PetscInt_FMT,
                     what, k ? "PCBAI" : "KSPBAI", (double)count[0], setups, (double)count[1], updates));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of a MATMPIBAIJ with the columns of other ranks, to which others may point; 0 for other types */
static PetscErrorCode GetPart(Mat A, PetscObjectId *id)
{
  Mat       part;
  PetscBool is;

  PetscFunctionBeginUser;
  *id = 0;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIBAIJ, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIBAIJGetSeqBAIJ(A, NULL, &part, NULL));
  PetscCall(PetscObjectGetId((PetscObject)part, id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix as it is, with new values, with new entries, and another matrix */
static PetscErrorCode Follows(MatType type, PetscInt bs)
{
  const PetscInt blocks = 60;
  Mat            A[2], other[2];
  Faces          f[2];
  PetscObjectId  part[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, bs, blocks, &A[k]));
    PetscCall(Fill(A[k], bs, 0, 1));
    PetscCall(FacesCreate(A[k], &f[k]));
  }
  PetscCall(GetPart(A[1], &part[0]));
  PetscCall(Same(&f[0], &f[1], "first", 1, 0));
  PetscCall(GetPart(A[1], &part[1]));
  PetscCall(Expect(part[0] == part[1], "the parts of the matrix are what they were"));
  PetscCall(Same(&f[0], &f[1], "as it was", 1, 0));
  for (int k = 0; k < 2; k++) PetscCall(Fill(A[k], bs, 0, 2));
  PetscCall(Same(&f[0], &f[1], "new values", 1, 1));
  for (int k = 0; k < 2; k++) PetscCall(Fill(A[k], bs, 9, 1));
  PetscCall(Same(&f[0], &f[1], "new entries", 2, 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, bs, blocks + 1, &other[k]));
    PetscCall(Fill(other[k], bs, 3, 1));
    PetscCall(KSPReset(f[k].ksp));
    PetscCall(PCReset(f[k].pc));
    PetscCall(KSPSetOperators(f[k].ksp, other[k], other[k]));
    PetscCall(PCSetOperators(f[k].pc, other[k], other[k]));
    PetscCall(VecDestroy(&f[k].b));
    PetscCall(VecDestroy(&f[k].x));
    PetscCall(VecDestroy(&f[k].z));
    PetscCall(MatCreateVecs(other[k], &f[k].x, &f[k].b));
    PetscCall(VecDuplicate(f[k].x, &f[k].z));
    PetscCall(VecSet(f[k].b, 1));
  }
  PetscCall(Same(&f[0], &f[1], "another matrix", 3, 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(FacesDestroy(&f[k]));
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatDestroy(&other[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refused(Mat A, const char expected[])
{
  Faces f;

  PetscFunctionBeginUser;
  PetscCall(FacesCreate(A, &f));
  ExpectError(expected, "KSPSetUp()", KSPSetUp(f.ksp));
  ExpectError(expected, "PCSetUp()", PCSetUp(f.pc));
  PetscCall(FacesDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that calls itself so, as a PETSc with AMD's libraries, or with Kokkos, would make it */
static PetscErrorCode CreateNamed(const char name[], Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(Create(MATAIJ, 1, 12, A));
  PetscCall(Fill(*A, 1, 0, 1));
  PetscCall(PetscObjectChangeTypeName((PetscObject)*A, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MatType const types[] = {MATBAIJ, MATSBAIJ};
  char          name[64], expected[512];
  const char   *kind;
  PetscMPIInt   size;
  Mat           A;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  kind = size == 1 ? "seq" : "mpi";
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    for (PetscInt bs = 1; bs < 4; bs++) {
      if (Case("follows_%s_%d", types[k], (int)bs)) PetscCall(Follows(types[k], bs));
    }
    if (Case("unassembled_%s", types[k])) {
      PetscCall(Create(types[k], 1, 6, &A));
      PetscCall(Refused(A, "Matrix is not assembled"));
      PetscCall(MatDestroy(&A));
    }
  }
  if (Case("kokkos")) { /* its entries come by the function that all types based on aij have */
    Faces     f;
    PetscReal rnorm;
    PetscBool is;

    PetscCall(PetscSNPrintf(name, sizeof(name), "%saijkokkos", kind));
    PetscCall(CreateNamed(name, &A));
    PetscCall(FacesCreate(A, &f));
    PetscCall(KSPSolve(f.ksp, f.b, f.x));
    PetscCall(IsConverged(f.ksp, &rnorm, &is));
    PetscCall(Expect(is, "type %s is not refused", name));
    PetscCall(FacesDestroy(&f));
    PetscCall(MatDestroy(&A));
  }
  if (Case("hipsparse")) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "%saijhipsparse", kind));
    PetscCall(PetscSNPrintf(expected, sizeof(expected),
                            "Matrix type %s: block-asynchronous iteration runs on the host and on NVIDIA GPUs only; "
                            "see MatConvert() and -mat_type aij",
                            name));
    PetscCall(CreateNamed(name, &A));
    PetscCall(Refused(A, expected));
    PetscCall(MatDestroy(&A));
  }
  if (Case("sell")) {
    PetscCall(Create(MATSELL, 1, 6, &A));
    PetscCall(Fill(A, 1, 0, 1));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%ssell", kind));
    PetscCall(MatTypeMessage(name, expected, sizeof(expected)));
    PetscCall(Refused(A, expected));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      args: -malloc_dump 0
      nsize: {{1 2 3}}
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -ksp_bai_backend cuda -pc_bai_backend cuda

TEST*/
