#include "systems.h"
#include "baicompat.h"
#include "gallery.h"

enum {
  MOST_ENTRIES = 19 /* of a row: that of POSITIVE */
};

/* All are on n x n points, but those of 3-D on n x n x n */
typedef enum {
  NINE,    /* nine points */
  JUMPS,   /* coefficients of 1 and 10^6 on a checkerboard of squares of 8 points */
  JUMPS3D, /* the same on cubes */
  NEUMANN, /* no boundary values, so constants are in the null space */
  NEUMANN3D,
  FLOW,     /* upwind convection, not symmetric */
  SHIFTED,  /* symmetric and indefinite, with a positive diagonal */
  PINNED,   /* every seventh point is coupled to no other */
  TWISTED,  /* complex: D A D^H for a diagonal matrix D of unit entries; else A */
  SCALED,   /* D A D for a diagonal matrix D of 1 and 3 in stripes: some sums of rows are negative */
  POSITIVE, /* some couplings are positive, as of finite elements on tetrahedra, */
  OPPOSED,  /* or half as many, by their sums, as are negative */
  GRADED,   /* cells of a tensor grid, in each direction 3 per cent longer than the one before */
  POOR      /* rows dominate: nothing to aggregate */
} Kind;

static const char *const kinds[] = {"nine",   "jumps",   "jumps3d", "neumann",  "neumann3d", "flow",   "shifted",
                                    "pinned", "twisted", "scaled",  "positive", "opposed",   "graded", "poor"};

static PetscReal CoefficientAt(Kind kind, const PetscInt at[3])
{
  if (kind != JUMPS && kind != JUMPS3D) return 1;
  return (at[0] / 8 + at[1] / 8 + at[2] / 8) % 2 ? (PetscReal)1e6 : 1;
}

/* Of two cells of a graded grid that are neighbours in direction d: the area between them over the distance */
static PetscReal GradedCoupling(PetscInt dim, const PetscInt at[3], PetscInt d, PetscReal step)
{
  PetscReal area = 1;

  for (PetscInt e = 0; e < dim; e++)
    if (e != d) area *= PetscPowReal((PetscReal)1.03, (PetscReal)at[e]);
  return area / PetscPowReal((PetscReal)1.03, (PetscReal)at[d] + step / 2);
}

static PetscBool IsPinned(Kind kind, PetscInt row)
{
  return (PetscBool)(kind == PINNED && row % 7 == 3);
}

static PetscScalar Phase(Kind kind, PetscInt row, PetscInt col)
{
#if defined(PETSC_USE_COMPLEX)
  if (kind == TWISTED) return PetscExpComplex(PETSC_i * (PetscReal)0.3 * (PetscReal)(row - col));
#endif
  (void)kind;
  (void)row;
  (void)col;
  return 1;
}

static PetscErrorCode SetRow(Mat A, Kind kind, PetscInt n, PetscInt dim, PetscInt row)
{
  const PetscInt at[3] = {row % n, row / n % n, row / n / n}, stride[3] = {1, n, n * n};
  PetscInt       cols[MOST_ENTRIES], ncols                              = 1;
  PetscScalar    values[MOST_ENTRIES];
  PetscReal      sum = 0;

  PetscFunctionBeginUser;
  cols[0] = row;
  for (PetscInt d = 0; d < dim; d++) {
    for (PetscInt step = -1; step <= 1; step += 2) {
      const PetscBool inside   = (PetscBool)(at[d] + step >= 0 && at[d] + step < n);
      PetscInt        other[3] = {at[0], at[1], at[2]};
      PetscReal       here     = CoefficientAt(kind, at), w, there;

      other[d] += step;
      there = inside ? CoefficientAt(kind, other) : here;
      w     = 2 * here * there / (here + there);
      if (kind == FLOW && step < 0) w += 3;
      if (kind == GRADED) w = GradedCoupling(dim, at, d, (PetscReal)step);
      if (!inside && (kind == NEUMANN || kind == NEUMANN3D)) continue;
      sum += w;
      if (!inside || IsPinned(kind, row + step * stride[d])) continue;
      cols[ncols]     = row + step * stride[d];
      values[ncols++] = -w * Phase(kind, row, row + step * stride[d]);
    }
  }
  for (PetscInt corner = 0; corner < 4 && kind == NINE; corner++) {
    const PetscInt x = at[0] + (corner % 2 ? 1 : -1), y = at[1] + (corner / 2 ? 1 : -1);

    sum += 1;
    if (x < 0 || x >= n || y < 0 || y >= n) continue;
    cols[ncols]     = y * n + x;
    values[ncols++] = -1;
  }
  for (PetscInt across = 0; across < 12 && (kind == POSITIVE || kind == OPPOSED); across++) {
    const PetscReal w = kind == POSITIVE ? (PetscReal)0.04 : (PetscReal)0.2;
    const PetscInt  d = across / 4, e = (d + 1) % 3, x = across % 2 ? 1 : -1, y = across / 2 % 2 ? 1 : -1;

    sum -= w;
    if (at[d] + x < 0 || at[d] + x >= n || at[e] + y < 0 || at[e] + y >= n) continue;
    cols[ncols]     = row + x * stride[d] + y * stride[e];
    values[ncols++] = w;
  }
  values[0] = kind == SHIFTED ? sum - 1 : sum;
  if (IsPinned(kind, row)) ncols = 1;
  for (PetscInt k = 0; k < ncols && kind == SCALED; k++)
    values[k] *= (row % n / 8 % 2 ? 3 : 1) * (cols[k] % n / 8 % 2 ? 3 : 1);
  PetscCall(MatSetValues(A, 1, &row, ncols, cols, values, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetPoorRow(Mat A, PetscInt n, PetscInt row)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < 8; k++) {
    const PetscInt    half = n / 2, other = row < half ? half + (row + k * 37) % half : PETSC_DECIDE;
    const PetscScalar value = (PetscScalar)-0.01;

    if (other < 0 || other >= n) continue;
    PetscCall(MatSetValues(A, 1, &row, 1, &other, &value, INSERT_VALUES));
    PetscCall(MatSetValues(A, 1, &other, 1, &row, &value, INSERT_VALUES));
  }
  PetscCall(MatSetValue(A, row, row, 100.0, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateEmpty(MPI_Comm comm, PetscInt block_size, PetscInt rows, PetscInt width, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, rows));
  if (block_size > 1) PetscCall(MatSetBlockSize(*A, block_size));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, width, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, width, NULL, width, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Assemble(Mat A)
{
  PetscFunctionBeginUser;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AssembleVec(Vec v)
{
  PetscFunctionBeginUser;
  PetscCall(VecAssemblyBegin(v));
  PetscCall(VecAssemblyEnd(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateMatOn(MPI_Comm comm, const char name[], PetscInt n, Mat *A)
{
  PetscBool same = PETSC_FALSE;
  PetscInt  kind = 0, rows, start, end, dim;

  PetscFunctionBeginUser;
  for (; kind < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(kinds); kind++) {
    PetscCall(PetscStrcmp(name, kinds[kind], &same));
    if (same) break;
  }
  if (!same) {
    PetscCall(GalleryCreateMat(comm, name, n, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  dim  = kind == JUMPS3D || kind == NEUMANN3D || kind == POSITIVE || kind == OPPOSED ? 3 : 2;
  rows = dim == 3 ? n * n * n : n * n;
  PetscCall(CreateEmpty(comm, 1, rows, MOST_ENTRIES, A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt row = start; row < end; row++) {
    if (kind == POOR) PetscCall(SetPoorRow(*A, rows, row));
    else PetscCall(SetRow(*A, (Kind)kind, n, dim, row));
  }
  PetscCall(Assemble(*A));
  if (kind == NEUMANN || kind == NEUMANN3D) {
    MatNullSpace space;

    PetscCall(MatNullSpaceCreate(comm, PETSC_TRUE, 0, NULL, &space));
    PetscCall(MatSetNullSpace(*A, space));
    PetscCall(MatNullSpaceDestroy(&space));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateMat(const char name[], PetscInt n, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(CreateMatOn(PETSC_COMM_WORLD, name, n, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
