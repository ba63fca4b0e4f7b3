static char help[] = "The block size that PCBAI chooses: larger blocks where there are many rows, and no node cut by "
                     "their boundaries.\n\n";

#include "check.h"

/* The block size chosen for a diagonal matrix */
static PetscErrorCode ChosenFor(PetscInt n, PetscInt bs, PetscReal *size)
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
  PetscCall(MatSetBlockSize(A, bs));
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
    PetscInt    n, bs, block_size;
  } cases[] = {
    {"few_rows",        (1 << 23) - 1, 1, 256},
    {"many_rows",       1 << 23,       1, 384},
    {"nodes_of_3",      9999,          3, 255},
    {"nodes_of_5",      9995,          5, 255},
    {"nodes_of_6",      9996,          6, 252},
    {"many_nodes_of_5", 5 * (1 << 21), 5, 380},
    {"fields_of_7",     9996,          7, 256}
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    PetscReal size;

    if (!Case("%s", cases[c].name)) continue;
    PetscCall(ChosenFor(cases[c].n, cases[c].bs, &size));
    PetscCall(Expect(size == cases[c].block_size, "blocks of %" PetscInt_FMT " rows, not of %g", cases[c].block_size,
                     (double)size));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

  test:
    suffix: host
    output_file: output/empty.out

TEST*/
