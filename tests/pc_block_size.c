static char help[] = "The block size that PCBAI chooses: larger blocks where there are many rows.\n\n";

#include "check.h"

/* The block size chosen for a diagonal matrix */
static PetscErrorCode ChosenFor(PetscInt n, PetscReal *size)
{
  PetscInt    *i, *j;
  PetscScalar *a;
  Mat          A;
  PC           pc;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n + 1, &i, n, &j, n, &a));
  for (PetscInt k = 0; k < n; k++) {
    i[k] = j[k] = k;
    a[k]        = 1;
  }
  i[n] = n;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, i, j, a, &A));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCBAI));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewedNumber((PetscObject)pc, "blocks of ", size));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree3(i, j, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    PetscInt    n, block_size;
  } cases[] = {
    {"few_rows",  (1 << 23) - 1, 256},
    {"many_rows", 1 << 23,       384}
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    PetscReal size;

    if (!Case("%s", cases[c].name)) continue;
    PetscCall(ChosenFor(cases[c].n, &size));
    PetscCall(Expect(size == cases[c].block_size, "blocks of %" PetscInt_FMT " rows, not of %g", cases[c].block_size, (double)size));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  test:
    suffix: host
    output_file: output/empty.out

TEST*/
