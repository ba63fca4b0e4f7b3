static char help[] = "Aggregates of rows along strong couplings: which rows are in one, that they are connected, and "
                     "how many there are.\n\n";

#include "check.h"
#include "../src/engine/engine.h"
#include <omp.h>

/* Entries in the order in which they come, then compressed rows */
typedef struct {
  BAIInt       n, nnz, room;
  BAIInt      *row, *col;
  PetscReal   *value;
  BAIInt      *i, *j;
  PetscScalar *a;
} Matrix;

static PetscErrorCode Add(Matrix *A, BAIInt row, BAIInt col, PetscReal value)
{
  PetscFunctionBeginUser;
  PetscCheck(A->nnz < A->room, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No room for an entry");
  A->row[A->nnz]     = row;
  A->col[A->nnz]     = col;
  A->value[A->nnz++] = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Couple(Matrix *A, BAIInt row, BAIInt col, PetscReal value)
{
  PetscFunctionBeginUser;
  PetscCall(Add(A, row, col, value));
  PetscCall(Add(A, col, row, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a diagonal, and room for so many entries more */
static PetscErrorCode Create(BAIInt n, BAIInt entries, Matrix *A)
{
  PetscFunctionBeginUser;
  *A = (Matrix){.n = n, .room = n + entries};
  PetscCall(PetscMalloc3(A->room + 1, &A->row, A->room + 1, &A->col, A->room + 1, &A->value));
  for (BAIInt r = 0; r < n; r++) PetscCall(Add(A, r, r, 100));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compress(Matrix *A)
{
  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(A->n + 2, &A->i));
  PetscCall(PetscMalloc2(A->nnz + 1, &A->j, A->nnz + 1, &A->a));
  for (BAIInt k = 0; k < A->nnz; k++) A->i[A->row[k] + 2]++;
  for (BAIInt r = 0; r < A->n; r++) A->i[r + 2] += A->i[r + 1];
  for (BAIInt k = A->nnz - 1; k >= 0; k--) { /* columns come in any order */
    const BAIInt at = A->i[A->row[k] + 1]++;

    A->j[at] = A->col[k];
    A->a[at] = A->value[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Matrix *A)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree3(A->row, A->col, A->value));
  PetscCall(PetscFree(A->i));
  PetscCall(PetscFree2(A->j, A->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A generator of its own: numbers from 0 to below n */
static BAIInt Random(uint64_t *seed, BAIInt n)
{
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (BAIInt)((*seed >> 33) % (uint64_t)n);
}

/* A grid with couplings of this strength in each direction */
static PetscErrorCode Grid(const BAIInt m[3], const PetscReal strength[3], Matrix *A)
{
  const BAIInt n = m[0] * m[1] * m[2];

  PetscFunctionBeginUser;
  PetscCall(Create(n, 6 * n, A));
  for (BAIInt r = 0; r < n; r++) {
    if (r % m[0] + 1 < m[0]) PetscCall(Couple(A, r, r + 1, -strength[0]));
    if (r / m[0] % m[1] + 1 < m[1]) PetscCall(Couple(A, r, r + m[0], -strength[1]));
    if (r / m[0] / m[1] + 1 < m[2]) PetscCall(Couple(A, r, r + m[0] * m[1], -strength[2]));
  }
  PetscCall(Compress(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Uniform(BAIInt x, BAIInt y, BAIInt z, Matrix *A)
{
  const BAIInt    m[3]        = {x, y, z};
  const PetscReal strength[3] = {1, 1, 1};

  PetscFunctionBeginUser;
  PetscCall(Grid(m, strength, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Paths of so many rows each, with couplings that are strong and weak by turns */
static PetscErrorCode Paths(BAIInt paths, BAIInt rows, PetscReal weak, Matrix *A)
{
  PetscFunctionBeginUser;
  PetscCall(Create(paths * rows, 2 * paths * rows, A));
  for (BAIInt r = 0; r + 1 < A->n; r++) {
    if ((r + 1) % rows) PetscCall(Couple(A, r, r + 1, r % rows % 2 ? weak : 4));
  }
  PetscCall(Compress(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each row with three others, of all or, in a power law, of those that are often coupled to already; one way only if it
 * is directed */
static PetscErrorCode Graph(BAIInt n, PetscBool power_law, PetscBool directed, Matrix *A)
{
  uint64_t seed = 2013;

  PetscFunctionBeginUser;
  PetscCall(Create(n, 6 * n, A));
  for (BAIInt r = 1; r < n; r++) {
    for (int k = 0; k < 3; k++) {
      BAIInt          other    = power_law ? Random(&seed, A->nnz) : Random(&seed, n);
      const PetscReal strength = (PetscReal)(Random(&seed, 2000) - 1000) / 100;

      if (power_law) other = A->col[other];
      if (other == r) continue;
      if (directed) PetscCall(Add(A, r, other, strength));
      else PetscCall(Couple(A, r, other, strength));
    }
  }
  PetscCall(Compress(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Hubs in a ring, each with rows of its own that are strong for it and others that are not, though it is for them. The
   rows of the hubs are longer than most
*/
static PetscErrorCode Stars(BAIInt hubs, BAIInt rows, Matrix *A)
{
  const BAIInt n = hubs * (rows + 1);

  PetscFunctionBeginUser;
  PetscCall(Create(n, 4 * n, A));
  for (BAIInt h = 0; h < hubs; h++) {
    if (h + 1 < hubs) PetscCall(Couple(A, h, h + 1, 0.5));
    for (BAIInt k = 0; k < rows; k++) {
      const BAIInt r = hubs + h * rows + k;

      PetscCall(Couple(A, h, r, k % 3 ? 0.1 : 1));
      if (k % 3) PetscCall(Couple(A, r, r - 1, -0.3));
    }
  }
  PetscCall(Compress(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid, some of whose rows have no couplings, or only zeros, while others still couple to them */
static PetscErrorCode WithBoundary(BAIInt m, Matrix *A)
{
  PetscFunctionBeginUser;
  PetscCall(Uniform(m, m, 1, A));
  for (BAIInt r = 0; r < A->n; r++) {
    for (BAIInt k = A->i[r]; k < A->i[r + 1]; k++) {
      if (A->j[k] != r && (r % m == 0 || r % 7 == 3 || r % 11 == 4)) A->a[k] = 0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static BAIInt RootOf(BAIInt *parent, BAIInt row)
{
  while (parent[row] != row) row = parent[row] = parent[parent[row]];
  return row;
}

/* Rows that strong couplings inside aggregates, or all couplings there, connect: as many sets as aggregates */
static PetscErrorCode CheckConnected(const Matrix *A, PetscBool all, BAIInt aggregates, const BAIInt *aggregate)
{
  BAIInt *parent, sets = 0, coupled = 0, in = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(A->n + 1, &parent));
  for (BAIInt r = 0; r < A->n; r++) parent[r] = r;
  for (BAIInt r = 0; r < A->n; r++) {
    PetscReal largest = 0;

    for (BAIInt k = A->i[r]; k < A->i[r + 1]; k++) {
      if (A->j[k] != r) largest = PetscMax(largest, PetscAbsScalar(A->a[k]));
    }
    for (BAIInt k = A->i[r]; k < A->i[r + 1]; k++) {
      const PetscReal magnitude = PetscAbsScalar(A->a[k]);

      if (A->j[k] != r && magnitude > 0 && (all || magnitude >= largest / 4) && aggregate[A->j[k]] == aggregate[r])
        parent[RootOf(parent, r)] = RootOf(parent, A->j[k]);
    }
    coupled += largest > 0;
    in += aggregate[r] >= 0;
    PetscCall(Expect(!aggregates || (aggregate[r] >= 0) == (largest > 0),
                     "row %d is in aggregate %d, its largest coupling is %g", (int)r, (int)aggregate[r],
                     (double)largest));
    PetscCall(Expect(-1 <= aggregate[r] && aggregate[r] < aggregates, "row %d is in aggregate %d of %d", (int)r,
                     (int)aggregate[r], (int)aggregates));
  }
  for (BAIInt r = 0; r < A->n; r++) sets += aggregate[r] >= 0 && parent[r] == r;
  PetscCall(Expect(sets == aggregates, "%d connected sets of rows in %d aggregates", (int)sets, (int)aggregates));
  PetscCall(Expect(!aggregates || in == coupled, "%d rows of %d", (int)in, (int)coupled));
  PetscCall(PetscFree(parent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Find(BAIBackend backend, const Matrix *A, BAIInt wanted, BAIInt *aggregates, BAIInt *aggregate)
{
  const BAIMatrix matrix = {
    .n = A->n, .A = {A->i, A->j, (const BAIScalar *)A->a},
         .memory = BAI_MEMORY_HOST
  };
  BAIStatus status;

  PetscFunctionBeginUser;
  for (BAIInt r = 0; r < A->n; r++) aggregate[r] = -2;
  status = BAIBackendAggregate(backend, &matrix, wanted, aggregates, aggregate);
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s: %s %s", BAICodeString(status.code), status.what,
             status.why);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   At least and at most so many aggregates of those wanted, connected by what is strong or by all couplings; as those of
   one thread on the host, whatever the backend or the number of threads. If there is a line, they are in lines of so
   many rows. If even, the largest has four times the mean at most
*/
static PetscErrorCode Check(Matrix *A, BAIInt wanted, BAIInt least, BAIInt most, PetscBool all, BAIInt line,
                            PetscBool even)
{
  const int  threads = omp_get_max_threads();
  BAIBackend backend = BAI_BACKEND_HOST;
  BAIInt     aggregates, again, *aggregate, *other, *rows;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-backend", BAIBackends, (PetscEnum *)&backend, NULL));
  PetscCall(PetscMalloc3(A->n + 1, &aggregate, A->n + 1, &other, A->n + 1, &rows));
  PetscCall(Find(backend, A, wanted, &aggregates, aggregate));
  PetscCall(Expect(least <= aggregates && aggregates <= most, "%d aggregates of %d wanted, at least %d and at most %d",
                   (int)aggregates, (int)wanted, (int)least, (int)most));
  PetscCall(CheckConnected(A, all, aggregates, aggregate));
  for (int t = 1; t <= 3; t++) {
    BAIInt different = 0;

    omp_set_num_threads(t);
    PetscCall(Find(BAI_BACKEND_HOST, A, wanted, &again, other));
    for (BAIInt r = 0; r < A->n; r++) different += other[r] != aggregate[r];
    PetscCall(Expect(again == aggregates && !different,
                     "%d threads of the host: %d aggregates, not %d, %d rows in others", t, (int)again, (int)aggregates,
                     (int)different));
  }
  omp_set_num_threads(threads);
  PetscCall(PetscArrayzero(rows, A->n + 1));
  for (BAIInt r = 0; r < A->n; r++) {
    if (aggregate[r] < 0) continue;
    rows[aggregate[r]]++;
    other[aggregate[r]] = r; /* the last row */
  }
  for (BAIInt r = 0; line && r < A->n; r++) {
    const BAIInt last = aggregate[r] < 0 ? -1 : other[aggregate[r]];

    PetscCall(Expect(last / line == r / line, "rows %d and %d of different lines in aggregate %d", (int)r, (int)last,
                     (int)aggregate[r]));
  }
  for (BAIInt k = 0; even && k < aggregates; k++)
    PetscCall(Expect(rows[k] * aggregates <= 4 * A->n, "%d rows of %d in one of %d aggregates", (int)rows[k], (int)A->n,
                     (int)aggregates));
  PetscCall(PetscFree3(aggregate, other, rows));
  PetscCall(Destroy(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    BAIInt      m[3], wanted;
  } grids[] = {
    {"line",       {3000, 1, 1}, 100},
    {"plane_few",  {60, 51, 1},  8  },
    {"plane",      {60, 51, 1},  50 },
    {"plane_many", {60, 51, 1},  600},
    {"space_few",  {20, 21, 22}, 8  },
    {"space",      {20, 21, 22}, 50 },
    {"space_many", {20, 21, 22}, 999}
  };
  const struct {
    const char *name;
    PetscBool   power_law, directed;
  } graphs[] = {
    {"random",             PETSC_FALSE, PETSC_FALSE},
    {"random_directed",    PETSC_FALSE, PETSC_TRUE },
    {"power_law",          PETSC_TRUE,  PETSC_FALSE},
    {"power_law_directed", PETSC_TRUE,  PETSC_TRUE }
  };
  const BAIInt    m[3]        = {100, 40, 1};
  const PetscReal strength[3] = {100, 1, 1};
  Matrix          A;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(grids); g++) {
    if (!Case("grid_%s", grids[g].name)) continue;
    PetscCall(Uniform(grids[g].m[0], grids[g].m[1], grids[g].m[2], &A));
    PetscCall(Check(&A, grids[g].wanted, (grids[g].wanted + 3) / 4, grids[g].wanted, PETSC_FALSE, 0, PETSC_TRUE));
  }
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(graphs); g++) {
    for (BAIInt wanted = 100; wanted <= 1000; wanted *= 10) {
      if (!Case("graph_%s_%d", graphs[g].name, (int)wanted)) continue;
      PetscCall(Graph(5000, graphs[g].power_law, graphs[g].directed, &A));
      PetscCall(Check(&A, wanted, 1, wanted, PETSC_TRUE, 0, PETSC_FALSE));
    }
  }
  if (Case("anisotropic")) {
    PetscCall(Grid(m, strength, &A));
    PetscCall(Check(&A, 160, 80, 160, PETSC_FALSE, m[0], PETSC_TRUE));
  }
  if (Case("anisotropic_more_lines_than_wanted")) {
    PetscCall(Grid(m, strength, &A));
    PetscCall(Check(&A, 30, 8, 30, PETSC_TRUE, 0, PETSC_TRUE));
  }
  if (Case("just_strong")) {
    PetscCall(Paths(1, 1000, 1, &A));
    PetscCall(Check(&A, 500, 250, 499, PETSC_FALSE, 0, PETSC_FALSE));
  }
  if (Case("just_not_strong")) {
    PetscCall(Paths(1, 1000, 1 - 10 * PETSC_MACHINE_EPSILON, &A));
    PetscCall(Check(&A, 500, 500, 500, PETSC_FALSE, 2, PETSC_FALSE));
  }
  for (BAIInt wanted = 50; wanted <= 5000; wanted *= 10) {
    if (!Case("stars_%d", (int)wanted)) continue;
    PetscCall(Stars(200, 60, &A));
    PetscCall(Check(&A, wanted, wanted / 10, wanted, PETSC_FALSE, 0, PETSC_FALSE));
  }
  if (Case("one_star")) {
    PetscCall(Stars(1, 1000, &A));
    PetscCall(Check(&A, 1, 1, 1, PETSC_FALSE, 0, PETSC_FALSE));
  }
  if (Case("boundary_rows")) {
    PetscCall(WithBoundary(40, &A));
    PetscCall(Check(&A, 200, 50, 200, PETSC_FALSE, 0, PETSC_FALSE));
  }
  if (Case("components")) {
    PetscCall(Paths(200, 5, 4, &A));
    PetscCall(Check(&A, 200, 200, 200, PETSC_FALSE, 5, PETSC_FALSE));
  }
  if (Case("more_components_than_wanted")) {
    PetscCall(Paths(200, 5, 4, &A));
    PetscCall(Check(&A, 199, 0, 0, PETSC_FALSE, 0, PETSC_FALSE));
  }
  if (Case("none_wanted")) {
    PetscCall(Uniform(5, 5, 1, &A));
    PetscCall(Check(&A, 0, 0, 0, PETSC_FALSE, 0, PETSC_FALSE));
  }
  for (BAIInt n = 0; n < 70; n += 1 + 2 * n) { /* without couplings: 0, 1, 4, 13, 40 */
    if (!Case("diagonal_%d_rows", (int)n)) continue;
    PetscCall(Paths(n, 1, 4, &A));
    PetscCall(Check(&A, 10, 0, 0, PETSC_FALSE, 0, PETSC_FALSE));
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      test:
         suffix: host
      test:
         suffix: cuda
         requires: baicuda
         args: -backend cuda

TEST*/
