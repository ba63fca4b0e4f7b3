#include <petscbai.h>
#include "baicompat.h"
#include "gallery.h"
#include "../bench/parts/crs.h"
#include <time.h>

static char help[] =
  "Times global iterations on a matrix in compressed rows, and on one in diagonal blocks and the rest, as a table.\n\n\
  ./storage -matrix laplace3d -n 100        a matrix of the gallery\n\
  -block_size <448>                         rows of a block\n\
  -local_iters <1,6>                        updates in a global iteration\n\
  -its <20>                                 global iterations, or several numbers of them\n\
  -device                                   on a GPU\n\n";

static double Seconds(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ||b - A x||/||b|| for b = 1 */
static double Residual(const CRS *m, const double *x)
{
  double norm2 = 0;

  for (int row = 0; row < m->n; row++) {
    double r = 1;

    for (int k = m->i[row]; k < m->i[row + 1]; k++) r -= m->a[k] * x[m->j[k]];
    norm2 += r * r;
  }
  return sqrt(norm2 / m->n);
}

static PetscErrorCode Time(const CRS *matrix, const CRS *storage, const char name[], PetscBool device,
                           PetscInt local_iters, PetscInt its, double conversion)
{
  double     *b, *x, seconds = 0, least = PETSC_MAX_REAL;
  const char *failed = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(matrix->n, &b, matrix->n, &x));
  for (int run = 0; run < (matrix->n > 10000000 ? 2 : 8) && !failed; run++) { /* the first one is for warming up */
    for (int k = 0; k < matrix->n; k++) {
      b[k] = 1;
      x[k] = 0;
    }
    failed = (device ? CRSIterateDevice : CRSIterateHost)(storage, b, x, (int)local_iters, (int)its, &seconds);
    if (run) least = PetscMin(least, seconds);
  }
  PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_LIB, "iterations %s: %s", device ? "on the device" : "on the host",
             failed);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s,%d,%d,%" PetscInt_FMT ",%" PetscInt_FMT ",%.5e,%.5e,%.5e\n", name,
                        matrix->n, matrix->i[matrix->n], local_iters, its, least / (double)its, conversion,
                        Residual(matrix, x)));
  PetscCall(PetscFree2(b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char               name[64] = "laplace3d";
  PetscInt           n = 0, block_size = 448, its[16] = {20}, counts = 16, local_iters[8] = {1, 6}, many = 8, rows;
  PetscBool          device = PETSC_FALSE, set, done;
  const PetscInt    *i, *j;
  const PetscScalar *a;
  double             conversion;
  CRS                matrix, split;
  Mat                A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", name, sizeof(name), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-block_size", &block_size, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-its", its, &counts, &set));
  if (!set) counts = 1;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-local_iters", local_iters, &many, &set));
  if (!set) many = 2;
  PetscCheck(sizeof(PetscInt) == sizeof(int) && sizeof(PetscScalar) == sizeof(double), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "storage is for 32-bit indices and real scalars in double precision");
  PetscCheck(block_size > 0 && block_size <= 1024, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "-block_size must be 1 to 1024");
  for (PetscInt k = 0; k < counts; k++)
    PetscCheck(its[k] > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-its must be at least 1");
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, name, n, &A));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &i, &j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix has no compressed rows");
  PetscCall(MatSeqAIJGetArrayRead(A, &a));
  matrix     = (CRS){.n = (int)rows, .block_size = (int)block_size, .i = (int *)i, .j = (int *)j, .a = (double *)a};
  conversion = Seconds();
  PetscCheck(CRSSplit(&matrix, &split), PETSC_COMM_SELF, PETSC_ERR_MEM, "not enough memory");
  conversion = Seconds() - conversion;
  for (PetscInt k = 0; k < many; k++) {
    PetscCheck(local_iters[k] > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-local_iters must be at least 1");
    for (PetscInt c = 0; c < counts; c++) {
      PetscCall(Time(&matrix, &matrix, "crs", device, local_iters[k], its[c], 0));
      PetscCall(Time(&matrix, &split, "block-crs", device, local_iters[k], its[c], conversion));
    }
  }
  CRSDestroy(&split);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &i, &j, &done));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
