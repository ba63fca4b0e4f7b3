#include "gallery.h"

/* What a matrix looks like, and what the rows of this process need */
typedef struct _Pattern Pattern;
struct _Pattern {
  const char *name;
  PetscErrorCode (*row)(const Pattern *, PetscInt, PetscInt *, PetscInt[], PetscScalar[]);
  PetscInt   dim, n;    /* n^dim rows */
  PetscReal  weight[3]; /* of a stencil: the point itself, edge neighbours, corner neighbours */
  PetscInt   rstart;    /* first row of this process */
  PetscReal *primes;    /* one for each of its rows */
};

#define MAX_ROW_LENGTH 127 /* of trefethen with 2^63 rows */

/* A point of the grid and the neighbours that differ from it in one or two coordinates, in ascending order */
static PetscErrorCode StencilRow(const Pattern *p, PetscInt row, PetscInt *ncols, PetscInt cols[], PetscScalar vals[])
{
  const PetscInt n = p->n, depth = p->dim == 3 ? n : 1;
  const PetscInt x = row % n, y = row / n % n, z = row / n / n;

  PetscFunctionBeginUser;
  *ncols = 0;
  for (PetscInt k = PetscMax(z - 1, 0); k <= PetscMin(z + 1, depth - 1); k++) {
    for (PetscInt j = PetscMax(y - 1, 0); j <= PetscMin(y + 1, n - 1); j++) {
      for (PetscInt i = PetscMax(x - 1, 0); i <= PetscMin(x + 1, n - 1); i++) {
        const PetscInt distance = (i != x) + (j != y) + (k != z);

        if (distance > 2 || p->weight[distance] == 0) continue;
        cols[*ncols]     = (k * n + j) * n + i;
        vals[(*ncols)++] = p->weight[distance];
      }
    }
  }
  PetscFunctionReturn(0);
}

/* A prime number on the diagonal, ones at distances 1, 2, 4, 8, ... from it */
static PetscErrorCode TrefethenRow(const Pattern *p, PetscInt row, PetscInt *ncols, PetscInt cols[], PetscScalar vals[])
{
  PetscFunctionBeginUser;
  cols[0] = row;
  vals[0] = p->primes[row - p->rstart];
  *ncols  = 1;
  for (PetscInt64 distance = 1; distance < p->n; distance *= 2) {
    if (distance <= row) cols[(*ncols)++] = (PetscInt)(row - distance);
    if (distance < p->n - row) cols[(*ncols)++] = (PetscInt)(row + distance);
  }
  for (PetscInt k = 1; k < *ncols; k++) vals[k] = 1;
  PetscFunctionReturn(0);
}

static const Pattern patterns[] = {
  {"fv1",       StencilRow,   2, 98,   {3.510152, -0.5, -0.25}, 0, NULL},
  {"fv2",       StencilRow,   2, 99,   {3.51005, -0.5, -0.25},  0, NULL},
  {"fv3",       StencilRow,   2, 99,   {3, -0.5, -0.25},        0, NULL},
  {"trefethen", TrefethenRow, 1, 2000, {0, 0, 0},               0, NULL},
  {"laplace2d", StencilRow,   2, 100,  {4, -1, 0},              0, NULL},
  {"laplace3d", StencilRow,   3, 32,   {6, -1, 0},              0, NULL},
  {"helmholtz", StencilRow,   2, 100,  {4.01, -1, 0},           0, NULL},
};

/* Sieves for the prime numbers from number start (counted from 0) to before number end */
static PetscErrorCode PrimesCreate(PetscInt start, PetscInt end, PetscReal **primes)
{
  const double     k     = PetscMax(end, 6);
  const PetscInt64 bound = (PetscInt64)(k * (log(k) + log(log(k)))) + 1; /* above the k-th prime for k >= 6 */
  PetscInt         count = 0;
  char            *composite;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(end - start, primes));
  PetscCall(PetscCalloc1(bound + 1, &composite));
  for (PetscInt64 p = 2; count < end; p++) {
    if (composite[p]) continue;
    if (count >= start) (*primes)[count - start] = (PetscReal)p;
    count++;
    for (PetscInt64 q = p * p; q <= bound; q += p) composite[q] = 1;
  }
  PetscCall(PetscFree(composite));
  PetscFunctionReturn(0);
}

static PetscErrorCode Preallocate(Mat A, const Pattern *p, PetscInt rend)
{
  PetscInt   *dnnz, *onnz, ncols, cols[MAX_ROW_LENGTH];
  PetscScalar vals[MAX_ROW_LENGTH];

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc2(rend - p->rstart, &dnnz, rend - p->rstart, &onnz));
  for (PetscInt row = p->rstart; row < rend; row++) {
    PetscCall(p->row(p, row, &ncols, cols, vals));
    for (PetscInt k = 0; k < ncols; k++) {
      if (cols[k] >= p->rstart && cols[k] < rend) dnnz[row - p->rstart]++;
      else onnz[row - p->rstart]++;
    }
  }
  PetscCall(MatXAIJSetPreallocation(A, 1, dnnz, onnz, NULL, NULL));
  PetscCall(PetscFree2(dnnz, onnz));
  PetscFunctionReturn(0);
}

static PetscErrorCode Fill(Mat A, const Pattern *p, PetscInt rend)
{
  PetscInt    ncols, cols[MAX_ROW_LENGTH];
  PetscScalar vals[MAX_ROW_LENGTH];

  PetscFunctionBeginUser;
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  for (PetscInt row = p->rstart; row < rend; row++) {
    PetscCall(p->row(p, row, &ncols, cols, vals));
    PetscCall(MatSetValues(A, 1, &row, ncols, cols, vals, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/*
  GalleryCreateMat - Creates one of the matrices that the tutorials solve with

  Collective

  Input Parameters:
+ comm - the processes to spread the rows over
. name - one of `GALLERY_NAMES`
- n    - points in each direction of the grid (trefethen: rows), 0 for the usual size

  Output Parameter:
. A - the matrix, of type `MATAIJ` unless `-mat_type` says otherwise

  Note:
  The grids have Dirichlet boundaries, which are left out, and are numbered line by line.
*/
PetscErrorCode GalleryCreateMat(MPI_Comm comm, const char name[], PetscInt n, Mat *A)
{
  Pattern     p     = {0};
  PetscBool   found = PETSC_FALSE;
  PetscInt    rows  = 1, rend;
  PetscLayout layout;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(patterns) && !found; k++) {
    p = patterns[k];
    PetscCall(PetscStrcasecmp(name, p.name, &found));
  }
  PetscCheck(found, comm, PETSC_ERR_USER_INPUT, "-matrix %s is unknown, it must be one of %s", name, GALLERY_NAMES);
  if (n > 0) p.n = n;
  PetscCheck(PetscPowRealInt((PetscReal)p.n, p.dim) < PetscPowRealInt(2, 8 * (int)sizeof(PetscInt) - 1), comm, PETSC_ERR_USER_INPUT, "-n %" PetscInt_FMT " is too large for -matrix %s, the number of rows n^%" PetscInt_FMT " must fit in a PetscInt", p.n, name, p.dim);
  for (PetscInt d = 0; d < p.dim; d++) rows *= p.n;

  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, rows));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatGetLayouts(*A, &layout, NULL));
  PetscCall(PetscLayoutSetUp(layout));
  PetscCall(PetscLayoutGetRange(layout, &p.rstart, &rend));
  if (p.row == TrefethenRow) PetscCall(PrimesCreate(p.rstart, rend, &p.primes));
  PetscCall(Preallocate(*A, &p, rend));
  PetscCall(Fill(*A, &p, rend));
  PetscCall(PetscFree(p.primes));
  PetscFunctionReturn(0);
}
