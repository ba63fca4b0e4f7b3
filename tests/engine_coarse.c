static char help[] = "The coarse correction of the engine, on each backend, against its definition.\n\
  -backend <host>   host or cuda\n\n";

/*
   Global iterations with a coarse correction are those of the definition, up to the rounding of an inverse in single
   precision; modes sync and color give the same bits every time, for any number of threads; the correction by itself
   leaves no residual in the coarse space; new values are taken over, another coarse space takes the place of the old
   one; mode async comes to the solution, with the true residual norm; iterations are as many as computed elsewhere. Two
   engines that have half of the rows each, and make up the coarse space together, do what one does
*/

#include "check.h"
#include "gallery.h"
#include "../src/engine/coloring.h"
#include "../src/engine/partition.h"

static BAIBackend backend = BAI_BACKEND_HOST;

/* A matrix of a grid, with vectors */
typedef struct {
  Mat             A;
  PetscInt        n, grid[3];
  const PetscInt *i, *j;
  PetscScalar    *a, *b, *x0;
  BAIMatrix       M;
} System;

/* A coarse space with the inverse of its matrix: row by row, in double precision */
typedef struct {
  BAICoarse    c;
  PetscInt    *aggregate, m;
  PetscScalar *basis, *inverse;
} Space;

/* How it is iterated */
typedef struct {
  BAIParameters q;
  BAIPartition  blocks;
  PetscInt     *first, *row;
  BAIReal       omega, momentum;
} Method;

/* Upwind differences of convection across a grid: an M-matrix, not symmetric */
static PetscErrorCode CreateUpwind(PetscInt n, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n * n, n * n, 5, NULL, A));
  for (PetscInt row = 0; row < n * n; row++) {
    const PetscInt    at[] = {row % n, row / n}, stride[] = {1, n};
    const PetscScalar d = 5.51;

    PetscCall(MatSetValue(*A, row, row, d, INSERT_VALUES));
    for (int k = 0; k < 2; k++) {
      if (at[k] > 0) PetscCall(MatSetValue(*A, row, row - stride[k], k ? -1.5 : -2, INSERT_VALUES));
      if (at[k] < n - 1) PetscCall(MatSetValue(*A, row, row + stride[k], -1, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sums of the rows become zero */
static PetscErrorCode MakeSingular(Mat A)
{
  Vec sums;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, NULL, &sums));
  PetscCall(MatGetRowSum(A, sums));
  PetscCall(VecScale(sums, -1.0));
  PetscCall(MatDiagonalSet(A, sums, ADD_VALUES));
  PetscCall(VecDestroy(&sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* neumann is laplace2d with the sums of its rows zero; b is then A times something */
static PetscErrorCode SystemCreate(const char matrix[], PetscInt n, System *s)
{
  PetscBool   upwind, neumann, solid, done;
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(matrix, "upwind", &upwind));
  PetscCall(PetscStrcmp(matrix, "neumann", &neumann));
  PetscCall(PetscStrcmp(matrix, "laplace3d", &solid));
  if (upwind) PetscCall(CreateUpwind(n, &s->A));
  else PetscCall(GalleryCreateMat(PETSC_COMM_SELF, neumann ? "laplace2d" : matrix, n, &s->A));
  if (neumann) PetscCall(MakeSingular(s->A));
  s->grid[0] = s->grid[1] = n;
  s->grid[2]              = solid ? n : 1;
  PetscCall(MatGetRowIJ(s->A, 0, PETSC_FALSE, PETSC_FALSE, &s->n, &s->i, &s->j, &done));
  PetscCall(MatSeqAIJGetArray(s->A, &s->a));
  PetscCall(PetscCalloc2(s->n, &s->b, s->n, &s->x0));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt i = 0; i < s->n; i++) {
    PetscCall(PetscRandomGetValue(random, &s->b[i]));
    PetscCall(PetscRandomGetValue(random, &s->x0[i]));
  }
  PetscCall(PetscRandomDestroy(&random));
  if (neumann) {
    PetscScalar *y;

    PetscCall(PetscMalloc1(s->n, &y));
    PetscCall(PetscArraycpy(y, s->b, s->n));
    for (PetscInt i = 0; i < s->n; i++) {
      s->b[i] = 0;
      for (PetscInt k = s->i[i]; k < s->i[i + 1]; k++) s->b[i] += s->a[k] * y[s->j[k]];
    }
    PetscCall(PetscFree(y));
  }
  s->M = (BAIMatrix){
    .n      = (BAIInt)s->n,
    .nghost = 0,
    .A      = {(const BAIInt *)s->i, (const BAIInt *)s->j, (const BAIScalar *)s->a},
    .memory = BAI_MEMORY_HOST
  };
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SystemDestroy(System *s)
{
  PetscBool done;

  PetscFunctionBeginUser;
  PetscCall(MatSeqAIJRestoreArray(s->A, &s->a));
  PetscCall(MatRestoreRowIJ(s->A, 0, PETSC_FALSE, PETSC_FALSE, &s->n, &s->i, &s->j, &done));
  PetscCall(MatDestroy(&s->A));
  PetscCall(PetscFree2(s->b, s->x0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar Basis(const Space *space, PetscInt i, PetscInt k)
{
  return space->basis ? space->basis[i * (PetscInt)space->c.columns + k] : 1;
}

/* inverse = (P^H A P)^{-1}, or, if constants are in the null space, that of the matrix to which z z^H/z^H z, P z = 1,
 * is added with the mean of its diagonal */
static PetscErrorCode Invert(const System *s, Space *space)
{
  const PetscInt q = (PetscInt)space->c.columns, m = space->m;
  Mat            C, identity, X;
  PetscScalar   *a, *z, mean = 0;
  PetscReal      norm2 = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(m * m, &a));
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt e = s->i[i]; e < s->i[i + 1]; e++) {
      const PetscInt K = space->aggregate[i], J = space->aggregate[s->j[e]];

      for (PetscInt u = 0; K >= 0 && J >= 0 && u < q; u++) {
        for (PetscInt v = 0; v < q; v++)
          a[K * q + u + (J * q + v) * m] += PetscConj(Basis(space, i, u)) * s->a[e] * Basis(space, s->j[e], v);
      }
    }
  }
  for (PetscInt k = 0; k < m; k++) mean += a[k * m + k] / (PetscReal)m;
  PetscCall(PetscCalloc1(m, &z));
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt k = 0; space->aggregate[i] >= 0 && k < q; k++)
      z[space->aggregate[i] * q + k] = PetscConj(Basis(space, i, k)) +
        (space->basis ? z[space->aggregate[i] * q + k] : 0);
  }
  for (PetscInt k = 0; k < m; k++) norm2 += PetscSqr(PetscAbsScalar(z[k]));
  for (PetscInt k = 0; space->c.singular && k < m * m; k++) a[k] += mean * z[k % m] * PetscConj(z[k / m]) / norm2;
  PetscCall(PetscFree(z));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, m, a, &C));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, m, NULL, &identity));
  PetscCall(MatZeroEntries(identity));
  PetscCall(MatShift(identity, 1.0));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, m, NULL, &X));
  PetscCall(MatLUFactor(C, NULL, NULL, NULL));
  PetscCall(MatMatSolve(C, identity, X));
  {
    const PetscScalar *x;

    PetscCall(MatDenseGetArrayRead(X, &x));
    for (PetscInt k = 0; k < m * m; k++) space->inverse[k] = x[k % m * m + k / m];
    PetscCall(MatDenseRestoreArrayRead(X, &x));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&identity));
  PetscCall(MatDestroy(&X));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gram and Schmidt on each aggregate */
static void Orthonormalize(PetscInt first, PetscInt last, const PetscInt *row, PetscInt columns, PetscScalar *basis)
{
  for (PetscInt k = 0; k < columns; k++) {
    PetscReal norm2 = 0;

    for (PetscInt l = 0; l < k; l++) {
      PetscScalar dot = 0;

      for (PetscInt at = first; at < last; at++)
        dot += PetscConj(basis[row[at] * columns + l]) * basis[row[at] * columns + k];
      for (PetscInt at = first; at < last; at++) basis[row[at] * columns + k] -= dot * basis[row[at] * columns + l];
    }
    for (PetscInt at = first; at < last; at++) norm2 += PetscSqr(PetscAbsScalar(basis[row[at] * columns + k]));
    for (PetscInt at = first; at < last; at++) basis[row[at] * columns + k] /= PetscSqrtReal(norm2);
  }
}

/* Aggregates are boxes of so many points; columns are 1, x and y of the point in the box; in some rows of each there
 * are holes, which belong to none. Of a singular matrix they are orthonormal */
static PetscErrorCode SpaceCreate(const System *s, PetscInt points, PetscInt columns, PetscBool holes,
                                  PetscBool singular, Space *space)
{
  const BAIInt grid[] = {(BAIInt)s->grid[0], (BAIInt)s->grid[1], (BAIInt)s->grid[2]};
  PetscInt    *first, *row;
  BAIInt       boxes;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(s->n + 1, &first, s->n, &row));
  PetscCheck(!BAIPartitionBoxes(grid, 1, (BAIInt)points, &boxes, (BAIInt *)first, (BAIInt *)row).code, PETSC_COMM_SELF,
             PETSC_ERR_LIB, "Boxes");
  PetscCall(PetscMalloc1(s->n, &space->aggregate));
  space->basis = NULL;
  if (columns > 1) PetscCall(PetscCalloc1(s->n * columns, &space->basis));
  for (PetscInt K = 0; K < (PetscInt)boxes; K++) {
    const PetscInt corner = row[first[K]];

    for (PetscInt at = first[K]; at < first[K + 1]; at++) {
      const PetscInt i = row[at], d = i - corner;

      space->aggregate[i] = holes && i % 11 == 3 ? -1 : K;
      for (PetscInt k = 0; space->basis && k < columns; k++)
        space->basis[i * columns + k] = !k ? 1 : (PetscReal)(k == 1 ? d % s->grid[0] : d / s->grid[0]) / 4 - 0.4;
    }
  }
  for (PetscInt K = 0; singular && columns > 1 && K < (PetscInt)boxes; K++)
    Orthonormalize(first[K], first[K + 1], row, columns, space->basis);
  PetscCall(PetscFree2(first, row));
  space->c = (BAICoarse){.aggregates = boxes,
                         .aggregate  = (const BAIInt *)space->aggregate,
                         .columns    = (BAIInt)columns,
                         .basis      = (const BAIScalar *)space->basis,
                         .singular   = singular};
  space->m = (PetscInt)boxes * columns;
  PetscCall(PetscMalloc1(space->m * space->m, &space->inverse));
  PetscCall(Invert(s, space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpaceDestroy(Space *space)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(space->aggregate));
  PetscCall(PetscFree(space->basis));
  PetscCall(PetscFree(space->inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of block_size consecutive rows, or boxes of the grid, or each made up of two aggregates */
static PetscErrorCode MethodCreate(const System *s, const Space *space, const char blocks[], PetscInt block_size,
                                   BAIMode mode, Method *m)
{
  PetscBool natural, nested;
  BAIInt    number = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(blocks, "natural", &natural));
  PetscCall(PetscStrcmp(blocks, "nested", &nested));
  PetscCall(PetscMalloc2(s->n + 1, &m->first, s->n, &m->row));
  if (natural) {
    for (PetscInt i = 0; i < s->n; i++) {
      if (i % block_size == 0) m->first[number++] = i;
      m->row[i] = i;
    }
    m->first[number] = s->n;
  } else if (nested) {
    PetscInt place = 0;

    for (PetscInt K = 0; K < (PetscInt)space->c.aggregates; K++) {
      if (K % 2 == 0) m->first[number++] = place;
      for (PetscInt i = 0; i < s->n; i++) {
        if (space->aggregate[i] == K) m->row[place++] = i;
      }
    }
    m->first[number] = place;
    PetscCheck(place == s->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rows in no aggregate have no block");
  } else {
    const BAIInt grid[] = {(BAIInt)s->grid[0], (BAIInt)s->grid[1], (BAIInt)s->grid[2]};

    PetscCheck(!BAIPartitionBoxes(grid, 1, (BAIInt)block_size, &number, (BAIInt *)m->first, (BAIInt *)m->row).code,
               PETSC_COMM_SELF, PETSC_ERR_LIB, "Boxes");
  }
  block_size = 1;
  for (PetscInt k = 0; k < (PetscInt)number; k++) block_size = PetscMax(block_size, m->first[k + 1] - m->first[k]);
  m->blocks   = (BAIPartition){.blocks = number, .first = (const BAIInt *)m->first, .row = (const BAIInt *)m->row};
  m->q        = (BAIParameters){.mode        = mode,
                                .block_size  = (BAIInt)block_size,
                                .local_iters = 3,
                                .staleness   = -1,
                                .local_omega = 0.9,
                                .momentum    = 1,
                                .threads     = 1,
                                .device      = -1};
  m->omega    = 1;
  m->momentum = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MethodDestroy(Method *m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree2(m->first, m->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar Residual(const System *s, const PetscScalar *x, PetscInt i)
{
  PetscScalar r = s->b[i];

  for (PetscInt k = s->i[i]; k < s->i[i + 1]; k++) r -= s->a[k] * x[s->j[k]];
  return r;
}

static PetscReal Norm(const System *s, const PetscScalar *x)
{
  PetscReal norm2 = 0;

  for (PetscInt i = 0; i < s->n; i++) norm2 += PetscRealPart(Residual(s, x, i) * PetscConj(Residual(s, x, i)));
  return PetscSqrtReal(norm2);
}

static PetscReal Largest(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  PetscReal most = 0;

  for (PetscInt i = 0; i < n; i++) most = PetscMax(most, PetscAbsScalar(x[i] - (y ? y[i] : 0)));
  for (PetscInt i = 0; i < n; i++) {
    if (PetscIsInfOrNanScalar(x[i])) most = PETSC_MAX_REAL;
  }
  return most;
}

/* c = P A_c^{-1} P^H r; slack is by how much c may be wrong if each entry of the inverse is rounded to single precision
 */
static PetscErrorCode Correction(const System *s, const Space *space, const PetscScalar *r, PetscScalar *c,
                                 PetscReal *slack)
{
  const PetscInt q = (PetscInt)space->c.columns, m = space->m;
  PetscScalar   *sums, *e;
  PetscReal     *wrong, most = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc3(m, &sums, m, &e, m, &wrong));
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt k = 0; space->aggregate[i] >= 0 && k < q; k++)
      sums[space->aggregate[i] * q + k] += PetscConj(Basis(space, i, k)) * r[i];
  }
  for (PetscInt k = 0; k < m; k++) {
    for (PetscInt l = 0; l < m; l++) {
      e[k] += space->inverse[k * m + l] * sums[l];
      wrong[k] += PetscAbsScalar(space->inverse[k * m + l] * sums[l]);
    }
  }
  for (PetscInt i = 0; i < s->n; i++) {
    PetscReal sum = 0;

    c[i] = 0;
    for (PetscInt k = 0; space->aggregate[i] >= 0 && k < q; k++) {
      c[i] += Basis(space, i, k) * e[space->aggregate[i] * q + k];
      sum += PetscAbsScalar(Basis(space, i, k)) * wrong[space->aggregate[i] * q + k];
    }
    most = PetscMax(most, sum);
  }
  *slack = most * PetscPowReal(2, PetscDefined(USE_COMPLEX) ? -23 : -24) +
    1e4 * PETSC_MACHINE_EPSILON * Largest(s->n, c, NULL);
  PetscCall(PetscFree3(sums, e, wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The groups of blocks in the order in which mode color updates them; *first[turns] */
static PetscErrorCode Turns(const System *s, const Method *m, int **order, int *groups, PetscInt *group_blocks)
{
  const PetscInt blocks = (PetscInt)m->blocks.blocks, each = (PetscInt)BAIGroup(m->q.block_size),
                 n = (blocks + each - 1) / each;
  int       *first, *lower, *rank, *turn_first, turns, colors;
  PetscInt  *group;
  PetscBool *reads;
  BAIGraph   graph;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(s->n, &group));
  PetscCall(PetscCalloc5(n * n + 1, &reads, n + 1, &first, n * n + 1, &lower, n + 1, &rank, n + 1, &turn_first));
  PetscCall(PetscMalloc1(n + 1, order));
  for (PetscInt b = 0; b < blocks; b++) {
    for (PetscInt place = m->first[b]; place < m->first[b + 1]; place++) group[m->row[place]] = b / each;
  }
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt k = s->i[i]; k < s->i[i + 1]; k++)
      reads[group[i] * n + group[s->j[k]]] = reads[group[s->j[k]] * n + group[i]] = PETSC_TRUE;
  }
  for (PetscInt g = 0; g < n; g++) {
    first[g + 1] = first[g];
    for (PetscInt other = 0; other < g; other++) {
      if (reads[g * n + other]) lower[first[g + 1]++] = (int)other;
    }
  }
  graph = (BAIGraph){(int)n, first, lower};
  PetscCheck(!BAIColor(&graph, *order, rank, turn_first, &turns, &colors).code, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "Out of memory");
  *groups       = (int)n;
  *group_blocks = each;
  PetscCall(PetscFree5(reads, first, lower, rank, turn_first));
  PetscCall(PetscFree(group));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The local sweeps of a block that reads x: y and r = b - A x in its rows */
static void DefineBlock(const System *s, const Method *m, PetscInt b, const PetscScalar *x, PetscInt *block,
                        PetscScalar *y, PetscScalar *ynext, PetscScalar *r)
{
  for (PetscInt place = m->first[b]; place < m->first[b + 1]; place++) {
    block[m->row[place]] = b;
    y[m->row[place]]     = x[m->row[place]];
    r[m->row[place]]     = Residual(s, x, m->row[place]);
  }
  for (PetscInt sweep = 0; sweep < (PetscInt)m->q.local_iters; sweep++) {
    for (PetscInt place = m->first[b]; place < m->first[b + 1]; place++) {
      const PetscInt row = m->row[place];
      PetscScalar    sum = s->b[row], d = 0;

      for (PetscInt k = s->i[row]; k < s->i[row + 1]; k++) {
        if (s->j[k] == row) d = s->a[k];
        else sum -= s->a[k] * (block[s->j[k]] == b ? y[s->j[k]] : x[s->j[k]]);
      }
      ynext[row] = y[row] + m->q.local_omega * (sum / d - y[row]);
    }
    for (PetscInt place = m->first[b]; place < m->first[b + 1]; place++) y[m->row[place]] = ynext[m->row[place]];
  }
}

/*
   The definition, entry by entry: count global iterations of the mode, in mode launch of one thread. Each time the
   blocks of a group read x, and then write it; in mode sync all are one group. largest is that of the corrections
*/
static PetscErrorCode Define(const System *s, const Space *space, const Method *m, PetscInt count, PetscScalar *x,
                             PetscReal *slack, PetscReal *largest)
{
  const PetscInt n = s->n, blocks = (PetscInt)m->blocks.blocks;
  PetscScalar   *y, *ynext, *before, *next, *r, *c;
  PetscInt      *block, each   = m->q.mode == BAI_MODE_SYNC ? blocks : 1;
  int           *order, groups = 0;

  PetscFunctionBeginUser;
  *slack = *largest = 0;
  PetscCall(PetscMalloc7(n, &y, n, &ynext, n, &before, n, &next, n, &block, n, &r, n, &c));
  for (PetscInt i = 0; i < n; i++) block[i] = -1;
  PetscCall(Turns(s, m, &order, &groups, m->q.mode == BAI_MODE_COLOR ? &each : &(PetscInt){0}));
  if (m->q.mode != BAI_MODE_COLOR) {
    PetscCall(PetscFree(order));
    groups = (int)((blocks + each - 1) / each);
    PetscCall(PetscMalloc1(groups, &order));
    for (int k = 0; k < groups; k++) order[k] = k;
  }
  PetscCall(PetscArraycpy(before, x, n));
  for (PetscInt iteration = 0; iteration < count; iteration++) {
    PetscReal wrong;

    for (int k = 0; k < groups; k++) {
      const PetscInt first = order[k] * each, last = PetscMin(blocks, first + each);

      for (PetscInt b = first; b < last; b++) DefineBlock(s, m, b, x, block, y, ynext, r);
      for (PetscInt place = m->first[first]; place < m->first[last]; place++) {
        const PetscInt row = m->row[place];

        next[row]   = x[row] + m->omega * (y[row] - x[row]) + m->momentum * (x[row] - before[row]);
        before[row] = x[row];
        x[row]      = next[row];
      }
    }
    PetscCall(Correction(s, space, r, c, &wrong));
    *largest = PetscMax(*largest, m->omega * Largest(n, c, NULL));
    *slack   = (1 + 2 * PetscAbsReal(m->momentum)) * *slack + 2 * m->omega * wrong;
    for (PetscInt i = 0; i < n; i++) x[i] += m->omega * c[i];
  }
  PetscCall(PetscFree(order));
  PetscCall(PetscFree7(y, ynext, before, next, block, r, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define EngineCall(...) \
  do { \
    const BAIStatus status_ = __VA_ARGS__; \
    PetscCheck(!status_.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status_.code), status_.what, \
               status_.why); \
  } while (0)

static PetscErrorCode Create(const System *s, const Method *m, const Space *space, BAIEngine *engine)
{
  PetscFunctionBeginUser;
  EngineCall(BAIEngineCreate(backend, &s->M, &m->blocks, &m->q, engine));
  if (space) EngineCall(BAIEngineCoarsen(*engine, &s->M, &space->c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bind(BAIEngine engine, const System *s, PetscScalar *x, PetscBool zero)
{
  const BAIVectors v = {.b            = (const BAIScalar *)s->b,
                        .x            = (BAIScalar *)x,
                        .b_memory     = BAI_MEMORY_HOST,
                        .ghost_memory = BAI_MEMORY_HOST,
                        .x_memory     = BAI_MEMORY_HOST};

  PetscFunctionBeginUser;
  EngineCall(BAIEngineBind(engine, &v, zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* count global iterations of an engine from x, the last of them in a second go, and the residual norm */
static PetscErrorCode Run(BAIEngine engine, const System *s, const Method *m, int coarse, PetscInt count,
                          PetscScalar *x, PetscReal *norm)
{
  BAIStep step = {.mode      = m->q.mode,
                  .direction = BAI_FORWARD,
                  .omega     = m->omega,
                  .momentum  = m->momentum,
                  .fresh     = 1,
                  .coarse    = coarse};
  BAIReal norm2;

  PetscFunctionBeginUser;
  PetscCall(Bind(engine, s, x, PETSC_FALSE));
  if (count > 1) EngineCall(BAIEngineSweep(engine, (BAIInt)(count - 1), &step));
  if (count > 1) step.fresh = 0;
  EngineCall(BAIEngineSweep(engine, 1, &step));
  EngineCall(BAIEngineResidual(engine, &norm2));
  EngineCall(BAIEngineUnbind(engine));
  if (norm) *norm = PetscSqrtReal((PetscReal)norm2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A mode that gives the same every time, or launch with one thread: the definition for 1, 2 and 5 iterations, bits, and
 * new values */
static PetscErrorCode CheckDefinition(System *s, const Space *space, Method *m)
{
  const BAIReal relax[3][2] = {
    {1,   0  },
    {0.7, 0  },
    {0.8, 0.3}
  };
  const PetscInt counts[] = {1, 2, 5}, n = s->n;
  PetscScalar   *expected, *x, *again;
  PetscReal      slack = 0, largest = 0, norm;
  BAIEngine      engine;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n, &expected, n, &x, n, &again));
  PetscCall(Create(s, m, space, &engine));
  for (int k = 0; k < 3; k++) {
    m->omega    = relax[k][0];
    m->momentum = relax[k][1];
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(counts); c++) {
      PetscCall(PetscArraycpy(expected, s->x0, n));
      PetscCall(Define(s, space, m, counts[c], expected, &slack, &largest));
      PetscCall(Expect(largest > 1e-3 * Largest(n, s->x0, NULL) && slack < 1e-3 * largest,
                       "the correction counts: %g, wrong by at most %g", (double)largest, (double)slack));
      PetscCall(PetscArraycpy(x, s->x0, n));
      PetscCall(Run(engine, s, m, 1, counts[c], x, &norm));
      PetscCall(Expect(Largest(n, x, expected) <= slack,
                       "mode %s, %d iterations, omega %g, momentum %g: as defined but for %g, at most %g",
                       BAIModes[m->q.mode], (int)counts[c], (double)m->omega, (double)m->momentum,
                       (double)Largest(n, x, expected), (double)slack));
      PetscCall(Expect(PetscAbsReal(norm - Norm(s, x)) <= 1e-12 * (1 + norm),
                       "mode %s: the residual norm %g is the true one", BAIModes[m->q.mode], (double)norm));
      PetscCall(PetscArraycpy(again, s->x0, n));
      PetscCall(Run(engine, s, m, 1, counts[c], again, NULL));
      PetscCall(Expect(!memcmp(x, again, (size_t)n * sizeof(*x)), "mode %s: the same bits again", BAIModes[m->q.mode]));
    }
  }
  BAIEngineDestroy(&engine);
  for (int threads = 2; threads < 5 && m->q.mode != BAI_MODE_LAUNCH; threads++) {
    m->q.threads = threads;
    PetscCall(Create(s, m, space, &engine));
    PetscCall(PetscArraycpy(again, s->x0, n));
    PetscCall(Run(engine, s, m, 1, counts[2], again, NULL));
    PetscCall(Expect(!memcmp(x, again, (size_t)n * sizeof(*x)), "mode %s: the same bits with %d threads",
                     BAIModes[m->q.mode], threads));
    BAIEngineDestroy(&engine);
  }
  m->q.threads = 1;
  PetscCall(PetscFree3(expected, x, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, another coarse space and none are the same as with an engine that never had the old ones; and without
 * .coarse it takes no part */
static PetscErrorCode CheckChanges(System *s, Space *space, const Space *other, const Method *m)
{
  const PetscInt n = s->n;
  PetscScalar   *x, *expected;
  BAIEngine      engine, fresh;
  BAIInfo        info;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(n, &x, n, &expected));
  for (int what = 0; what < 4; what++) { /* new values; another space; none; a step without */
    const BAICoarse none    = {.aggregates = 0, .columns = 1};
    const char     *names[] = {"new values", "another coarse space", "none any more", "a step without"};

    PetscCall(Create(s, m, space, &engine));
    PetscCall(PetscArraycpy(x, s->x0, n));
    PetscCall(Run(engine, s, m, 1, 3, x, NULL));
    for (PetscInt k = 0; !what && k < s->i[n]; k++) s->a[k] *= s->j[k] % 3 ? 1.5 : 2;
    if (what == 0) EngineCall(BAIEngineUpdateValues(engine, &s->M));
    if (what == 1) EngineCall(BAIEngineCoarsen(engine, &s->M, &other->c));
    if (what == 2) EngineCall(BAIEngineCoarsen(engine, &s->M, &none));
    PetscCall(PetscArraycpy(x, s->x0, n));
    PetscCall(Run(engine, s, m, what != 3, 4, x, NULL));
    PetscCall(Create(s, m, what == 0 ? space : what == 1 ? other : NULL, &fresh));
    PetscCall(PetscArraycpy(expected, s->x0, n));
    PetscCall(Run(fresh, s, m, what < 2, 4, expected, NULL));
    PetscCall(Expect(!memcmp(x, expected, (size_t)n * sizeof(*x)), "mode %s, %s: as a new engine has it, but for %g",
                     BAIModes[m->q.mode], names[what], (double)Largest(n, x, expected)));
    BAIEngineInfo(engine, &info);
    PetscCall(Expect((PetscInt)info.coarse ==
                       (what == 0 || what == 3 ? space->m
                          : what == 1          ? other->m
                                               : 0),
                     "%s: %d unknowns", names[what], (int)info.coarse));
    BAIEngineDestroy(&engine);
    BAIEngineDestroy(&fresh);
    for (PetscInt k = 0; !what && k < s->i[n]; k++) s->a[k] /= s->j[k] % 3 ? 1.5 : 2;
  }
  PetscCall(PetscFree2(x, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The correction alone: omega P A_c^{-1} P^H b is added to x; from zero, with omega 1, it leaves no residual in the
 * coarse space */
static PetscErrorCode CheckCorrect(const System *s, const Space *space, const Method *m)
{
  const PetscInt n = s->n, q = (PetscInt)space->c.columns;
  PetscScalar   *x, *c, *sums;
  PetscReal      slack, weight = 0, most = 0;
  BAIEngine      engine;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(n, &x, n, &c));
  PetscCall(PetscCalloc1(space->m, &sums));
  PetscCall(Correction(s, space, s->b, c, &slack));
  PetscCall(Create(s, m, space, &engine));
  PetscCall(PetscArraycpy(x, s->x0, n));
  PetscCall(Bind(engine, s, x, PETSC_FALSE));
  EngineCall(BAIEngineCorrect(engine, 0.7));
  EngineCall(BAIEngineUnbind(engine));
  for (PetscInt i = 0; i < n; i++) x[i] -= s->x0[i] + 0.7 * c[i];
  PetscCall(Expect(Largest(n, x, NULL) <= slack, "the correction is wrong by %g, at most %g",
                   (double)Largest(n, x, NULL), (double)slack));
  PetscCall(Bind(engine, s, x, PETSC_TRUE));
  EngineCall(BAIEngineCorrect(engine, 1));
  EngineCall(BAIEngineUnbind(engine));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal sum = 0;

    for (PetscInt k = s->i[i]; k < s->i[i + 1]; k++) sum += PetscAbsScalar(s->a[k]) * slack;
    weight = PetscMax(weight, sum);
    for (PetscInt k = 0; space->aggregate[i] >= 0 && k < q; k++)
      sums[space->aggregate[i] * q + k] += PetscConj(Basis(space, i, k)) * Residual(s, x, i);
  }
  for (PetscInt k = 0; k < space->m; k++) most = PetscMax(most, PetscAbsScalar(sums[k]));
  PetscCall(Expect(most <= weight * (PetscReal)n / (PetscReal)space->c.aggregates * 4,
                   "the residual in the coarse space is %g, at most %g", (double)most,
                   (double)(weight * (PetscReal)n / (PetscReal)space->c.aggregates * 4)));
  BAIEngineDestroy(&engine);
  PetscCall(PetscFree2(x, c));
  PetscCall(PetscFree(sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It comes to the solution, with the true residual norm, and no iteration of the way makes it large; from the solution
 * it does not leave */
static PetscErrorCode CheckFixedPoint(const System *s, const Space *space, Method *m, int threads)
{
  const PetscInt  n     = s->n;
  const PetscReal start = Norm(s, s->x0);
  PetscScalar    *x, *y;
  PetscReal       norm = start, last = start;
  BAIEngine       engine;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(n, &x, n, &y));
  m->q.threads = threads;
  m->omega     = m->q.mode == BAI_MODE_ASYNC && backend == BAI_BACKEND_HOST
        ? 1
        : 0.5; /* blocks that all add their part of the same residual overshoot with 1 */
  m->momentum  = 0;
  PetscCall(Create(s, m, space, &engine));
  PetscCall(PetscArraycpy(x, s->x0, n));
  for (int k = 0; k < 60 && last > 1e-11 * start; k++) {
    PetscCall(Run(engine, s, m, 1, 20, x, &norm));
    PetscCall(Expect(PetscAbsReal(norm - Norm(s, x)) <= 1e-12 * start,
                     "mode %s, %d threads: the residual norm %g is the true one", BAIModes[m->q.mode], threads,
                     (double)norm));
    PetscCall(Expect(norm <= 10 * start, "mode %s, %d threads: it does not diverge, %g", BAIModes[m->q.mode], threads,
                     (double)(norm / start)));
    last = norm;
  }
  PetscCall(Expect(last <= 1e-11 * start, "mode %s, %d threads: it comes to the solution, %g", BAIModes[m->q.mode],
                   threads, (double)(last / start)));
  PetscCall(PetscArraycpy(y, x, n));
  PetscCall(Run(engine, s, m, 1, 20, x, &norm));
  PetscCall(Expect(Largest(n, x, y) <= 1e-8 * (1 + Largest(n, y, NULL)),
                   "mode %s, %d threads: the solution stays where it is, but for %g", BAIModes[m->q.mode], threads,
                   (double)Largest(n, x, y)));
  BAIEngineDestroy(&engine);
  m->q.threads = 1;
  PetscCall(PetscFree2(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In mode async no block waits, and half of the iterations that it takes without are enough on a matrix for which these
 * are many */
static PetscErrorCode CheckAsync(const char matrix[], PetscInt n, const char blocks[])
{
  PetscInt     its[2] = {0, 0};
  PetscScalar *x;
  PetscReal    tol;
  System       system, *s = &system;
  Space        space;
  Method       m;
  BAIEngine    engine;

  PetscFunctionBeginUser;
  PetscCall(SystemCreate(matrix, n, s));
  PetscCall(SpaceCreate(s, 49, 1, PETSC_FALSE, PETSC_FALSE, &space));
  PetscCall(MethodCreate(s, &space, blocks, 128, BAI_MODE_ASYNC, &m));
  PetscCall(PetscMalloc1(s->n, &x));
  tol         = 1e-8 * Norm(s, s->x0);
  m.q.threads = 2;
  PetscCall(Create(s, &m, &space, &engine));
  for (int coarse = 0; coarse < 2; coarse++) {
    BAIStep step  = {.mode      = BAI_MODE_ASYNC,
                     .direction = BAI_FORWARD,
                     .omega     = coarse && backend == BAI_BACKEND_CUDA ? 0.6 : 1,
                     .fresh     = 1,
                     .coarse    = coarse};
    BAIReal norm2 = 1e300;

    PetscCall(PetscArraycpy(x, s->x0, s->n));
    PetscCall(Bind(engine, s, x, PETSC_FALSE));
    for (; norm2 > tol * tol && its[coarse] < 5000; its[coarse] += 10) {
      EngineCall(BAIEngineSweep(engine, 10, &step));
      EngineCall(BAIEngineResidual(engine, &norm2));
      step.fresh = 0;
    }
    EngineCall(BAIEngineUnbind(engine));
  }
  PetscCall(
    Expect(2 * its[1] <= its[0], "%d iterations with the coarse correction, %d without", (int)its[1], (int)its[0]));
  BAIEngineDestroy(&engine);
  PetscCall(PetscFree(x));
  PetscCall(MethodDestroy(&m));
  PetscCall(SpaceDestroy(&space));
  PetscCall(SystemDestroy(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many iterations as an implementation of its own has, in Python with NumPy and SciPy: fv3, b = 1, five local sweeps
 * damped by 0.9, to 1e-10, with the best omega and momentum */
static PetscErrorCode CheckCount(const char blocks[], PetscInt box, BAIReal omega, BAIReal momentum, PetscInt its)
{
  const BAIStep   first   = {.mode      = BAI_MODE_SYNC,
                             .direction = BAI_FORWARD,
                             .omega     = omega,
                             .momentum  = momentum,
                             .fresh     = 1,
                             .coarse    = box > 0};
  const PetscBool natural = (PetscBool)(blocks[0] == 'n');
  BAIStep         step    = first;
  System          s;
  Space           space;
  Method          m;
  BAIEngine       engine;
  BAIReal         norm2 = 1;
  PetscInt        found = 0;

  PetscFunctionBeginUser;
  PetscCall(SystemCreate("fv3", 99, &s));
  for (PetscInt i = 0; i < s.n; i++) s.b[i] = 1;
  if (box) PetscCall(SpaceCreate(&s, box * box, 1, PETSC_FALSE, PETSC_FALSE, &space));
  PetscCall(MethodCreate(&s, NULL, blocks, natural ? 128 : 121, BAI_MODE_SYNC, &m));
  m.q.local_iters = 5;
  PetscCall(Create(&s, &m, box ? &space : NULL, &engine));
  PetscCall(Bind(engine, &s, s.x0, PETSC_TRUE));
  for (; norm2 > 1e-20 * (PetscReal)s.n && found < 2 * its; found++) {
    EngineCall(BAIEngineSweep(engine, 1, &step));
    EngineCall(BAIEngineResidual(engine, &norm2));
    step.fresh = 0;
  }
  EngineCall(BAIEngineUnbind(engine));
  PetscCall(Expect(10 * PetscAbsInt(found - its) <= its, "%d iterations, not %d", (int)found, (int)its));
  BAIEngineDestroy(&engine);
  if (box) PetscCall(SpaceDestroy(&space));
  PetscCall(MethodDestroy(&m));
  PetscCall(SystemDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest eigenvalue of the corrected iteration in mode sync, by a power iteration from below, and a little more */
static PetscErrorCode Top(BAIEngine engine, const System *s, BAIReal *top)
{
  const BAIStep step = {.mode = BAI_MODE_SYNC, .direction = BAI_FORWARD, .omega = 1, .fresh = 1, .coarse = 1};
  PetscScalar  *x, *zero;
  BAIVectors    v;
  PetscReal     norm = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc2(s->n, &x, s->n, &zero));
  v = (BAIVectors){.b            = (const BAIScalar *)zero,
                   .x            = (BAIScalar *)x,
                   .b_memory     = BAI_MEMORY_HOST,
                   .ghost_memory = BAI_MEMORY_HOST,
                   .x_memory     = BAI_MEMORY_HOST};
  PetscCall(PetscArraycpy(x, s->x0, s->n));
  for (int k = 0; k < 40; k++) {
    PetscScalar *before;

    PetscCall(PetscMalloc1(s->n, &before));
    PetscCall(PetscArraycpy(before, x, s->n));
    EngineCall(BAIEngineBind(engine, &v, 0));
    EngineCall(BAIEngineSweep(engine, 1, &step));
    EngineCall(BAIEngineUnbind(engine));
    norm = 0;
    for (PetscInt i = 0; i < s->n; i++) norm += PetscSqr(PetscAbsScalar(before[i] - x[i]));
    norm = PetscSqrtReal(norm);
    for (PetscInt i = 0; i < s->n; i++) x[i] = (before[i] - x[i]) / norm;
    PetscCall(PetscFree(before));
  }
  *top = (BAIReal)(1.05 * norm);
  PetscCall(PetscFree2(x, zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A whole solve by the engine, where it can: it ends within its tolerance by the true residual norm, and, accelerated,
 * in half of the iterations without */
static PetscErrorCode CheckSolve(const System *s, const Space *space, Method *m)
{
  const PetscReal rtol   = 1e-9;
  PetscInt        its[2] = {0, 0};
  PetscReal       bnorm  = 0;
  PetscScalar    *x;
  BAIEngine       engine;
  BAIInfo         info;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(s->n, &x));
  m->q.momentum = 2;
  PetscCall(Create(s, m, space, &engine));
  EngineCall(BAIEnginePrepare(engine, BAI_MODE_SYNC));
  BAIEngineInfo(engine, &info);
  for (PetscInt i = 0; i < s->n; i++) bnorm += PetscSqr(PetscAbsScalar(s->b[i]));
  bnorm = PetscSqrtReal(bnorm);
  for (int coarse = 0; coarse < 2; coarse++) {
    const BAITolerances tolerances = {.rtol = rtol, .dtol = 1e5, .bnorm2 = -1, .max_it = 5000};
    BAISolution         solution   = {.its = 0};
    BAIStep             step       = {.mode        = m->q.mode,
                                      .asked       = m->q.mode,
                                      .accelerated = BAI_MODE_SYNC,
                                      .direction   = BAI_FORWARD,
                                      .omega       = 1,
                                      .fresh       = 1,
                                      .coarse      = coarse,
                                      .accelerate  = coarse && m->q.mode == BAI_MODE_SYNC};

    if (!((coarse ? info.solves_coarse : info.solves) >> m->q.mode & 1)) break;
    if (step.accelerate) PetscCall(Top(engine, s, &step.top));
    PetscCall(Bind(engine, s, x, PETSC_TRUE));
    EngineCall(BAIEngineSolve(engine, &tolerances, &step, &solution));
    EngineCall(BAIEngineUnbind(engine));
    its[coarse] = (PetscInt)solution.its;
    PetscCall(Expect(PetscAbsReal(PetscSqrtReal(solution.rnorm2) - Norm(s, x)) <= 1e-12 * bnorm,
                     "mode %s: the residual norm %g is the true one", BAIModes[m->q.mode],
                     (double)PetscSqrtReal(solution.rnorm2)));
    PetscCall(Expect(Norm(s, x) <= rtol * bnorm * (1 + 1e-6), "mode %s: within the tolerance, %g", BAIModes[m->q.mode],
                     (double)(Norm(s, x) / bnorm)));
    if (coarse)
      PetscCall(Expect(2 * its[1] <= its[0], "mode %s: %d iterations with the coarse correction, %d without",
                       BAIModes[m->q.mode], (int)its[1], (int)its[0]));
  }
  m->q.momentum = 1;
  BAIEngineDestroy(&engine);
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name;
  PetscInt    columns;
  PetscBool   holes;
} Kind;

/* All that is asserted of one matrix, one coarse space and one way of cutting blocks */
static PetscErrorCode CheckAll(const char matrix[], PetscInt n, const Kind *kind, const char blocks[])
{
  const PetscBool nested = (PetscBool)(blocks[0] == 'n' && blocks[1] == 'e');
  System          s      = {.n = 0};
  Space           space, other;

  PetscFunctionBeginUser;
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    const PetscBool fixed = (PetscBool)(mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR);
    Method          m;

    if (!Case("%s_%s_%s_%s", matrix, kind->name, blocks, BAIModes[mode])) continue;
    if (!s.n) {
      PetscCall(SystemCreate(matrix, n, &s));
      PetscCall(SpaceCreate(&s, 25, kind->columns, kind->holes, PETSC_FALSE, &space));
      PetscCall(SpaceCreate(&s, 60, 1, PETSC_FALSE, PETSC_FALSE, &other));
    }
    PetscCall(MethodCreate(&s, &space, blocks, nested ? 0 : 64, (BAIMode)mode, &m));
    if (fixed || (mode == BAI_MODE_LAUNCH && backend == BAI_BACKEND_HOST)) PetscCall(CheckDefinition(&s, &space, &m));
    if (fixed) PetscCall(CheckChanges(&s, &space, &other, &m));
    if (mode == BAI_MODE_SYNC) PetscCall(CheckCorrect(&s, &space, &m));
    for (int threads = 1; threads < (fixed ? 2 : 5); threads++) PetscCall(CheckFixedPoint(&s, &space, &m, threads));
    PetscCall(CheckSolve(&s, &space, &m));
    PetscCall(MethodDestroy(&m));
  }
  if (s.n) {
    PetscCall(SpaceDestroy(&space));
    PetscCall(SpaceDestroy(&other));
    PetscCall(SystemDestroy(&s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An engine of some of the rows, those of some blocks and their aggregates */
typedef struct {
  BAIEngine engine;
  BAIMatrix M;
  BAICoarse c;
  PetscInt  n, nghost, *row, *ghost,
    *local; /* the rows of both kinds; where each row of the whole is among them, ghosts from n on, or -1 */
  PetscInt    *i[2], *j[2], *first, *place, *aggregate, *of;
  PetscScalar *a[2], *basis, *of_basis, *b, *x, *ghost_x;
  PetscScalar *known; /* sums of all halves, as far as they have been told; */
  PetscInt     mine, unknowns;
} Half;

/* What this half brings becomes known, and it takes what is */
static BAIStatus Tell(void *context, BAIScalar *sums)
{
  Half          *half  = (Half *)context;
  BAIScalar     *known = (BAIScalar *)half->known;
  const PetscInt q = (PetscInt)half->c.columns, all = (PetscInt)half->c.all * q;

  for (PetscInt k = half->mine; k < half->mine + half->unknowns; k++) known[k] = sums[k];
  for (PetscInt k = 0; k < all; k++) sums[k] = known[k];
  return BAIStatusOf(BAI_OK);
}

/* Blocks from first on and before last; of a method with nested blocks, of two aggregates each */
static PetscErrorCode HalfCreate(const System *s, const Space *space, const Method *m, PetscInt first, PetscInt last,
                                 PetscScalar *known, Half *half)
{
  const PetscInt q = (PetscInt)space->c.columns, begin = m->first[first], end = m->first[last];
  PetscInt       nnz[2] = {0, 0};
  BAIPartition   partition;

  PetscFunctionBeginUser;
  half->n      = end - begin;
  half->nghost = 0;
  PetscCall(PetscMalloc5(s->n, &half->local, half->n, &half->row, s->n, &half->ghost, last - first + 1, &half->first,
                         half->n, &half->place));
  for (PetscInt i = 0; i < s->n; i++) half->local[i] = -1;
  for (PetscInt at = begin; at < end; at++) half->local[m->row[at]] = 0;
  for (PetscInt i = 0, count = 0; i < s->n; i++) {
    if (half->local[i] == 0) {
      half->row[count] = i;
      half->local[i]   = count++;
    }
  }
  for (PetscInt k = first; k <= last; k++) half->first[k - first] = m->first[k] - begin;
  for (PetscInt at = begin; at < end; at++) half->place[at - begin] = half->local[m->row[at]];
  for (int b = 0; b < 2; b++)
    PetscCall(PetscMalloc3(half->n + 1, &half->i[b], s->i[s->n], &half->j[b], s->i[s->n], &half->a[b]));
  for (PetscInt i = 0; i < half->n; i++) {
    half->i[0][i] = nnz[0];
    half->i[1][i] = nnz[1];
    for (PetscInt k = s->i[half->row[i]]; k < s->i[half->row[i] + 1]; k++) {
      const PetscInt j = s->j[k];

      if (half->local[j] < 0) {
        half->ghost[half->nghost] = j;
        half->local[j]            = half->n + half->nghost++;
      }
      const int b = half->local[j] >= half->n;

      half->j[b][nnz[b]]   = half->local[j] - (b ? half->n : 0);
      half->a[b][nnz[b]++] = s->a[k];
    }
  }
  half->i[0][half->n] = nnz[0];
  half->i[1][half->n] = nnz[1];
  half->M             = (BAIMatrix){
                .n      = (BAIInt)half->n,
                .nghost = (BAIInt)half->nghost,
                .A      = {(const BAIInt *)half->i[0], (const BAIInt *)half->j[0], (const BAIScalar *)half->a[0]},
                .B      = {(const BAIInt *)half->i[1], (const BAIInt *)half->j[1], (const BAIScalar *)half->a[1]},
                .memory = BAI_MEMORY_HOST
  };
  half->c = (BAICoarse){.aggregates = (BAIInt)(PetscMin(2 * last, (PetscInt)space->c.aggregates) - 2 * first),
                        .columns    = space->c.columns,
                        .singular   = space->c.singular,
                        .gather     = Tell,
                        .context    = half,
                        .all        = space->c.aggregates,
                        .first      = (BAIInt)(2 * first)};
  PetscCall(PetscMalloc4(half->n, &half->aggregate, half->nghost, &half->of, half->n * q, &half->basis,
                         half->nghost * q, &half->of_basis));
  for (PetscInt i = 0; i < half->n; i++) {
    half->aggregate[i] = space->aggregate[half->row[i]] - 2 * first;
    for (PetscInt k = 0; k < q; k++) half->basis[i * q + k] = Basis(space, half->row[i], k);
  }
  for (PetscInt i = 0; i < half->nghost; i++) {
    half->of[i] = space->aggregate[half->ghost[i]];
    for (PetscInt k = 0; k < q; k++) half->of_basis[i * q + k] = Basis(space, half->ghost[i], k);
  }
  half->c.aggregate   = (const BAIInt *)half->aggregate;
  half->c.ghost       = (const BAIInt *)half->of;
  half->c.basis       = space->basis ? (const BAIScalar *)half->basis : NULL;
  half->c.ghost_basis = space->basis ? (const BAIScalar *)half->of_basis : NULL;
  half->known         = known;
  half->mine          = 2 * first * q;
  half->unknowns      = (PetscInt)half->c.aggregates * q;
  PetscCall(PetscMalloc3(half->n, &half->b, half->n, &half->x, half->nghost, &half->ghost_x));
  for (PetscInt i = 0; i < half->n; i++) half->b[i] = s->b[half->row[i]];
  partition = (BAIPartition){.blocks = (BAIInt)(last - first),
                             .first  = (const BAIInt *)half->first,
                             .row    = (const BAIInt *)half->place};
  EngineCall(BAIEngineCreate(backend, &half->M, &partition, &m->q, &half->engine));
  EngineCall(BAIEngineCoarsen(half->engine, &half->M, &half->c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HalfDestroy(Half *half)
{
  PetscFunctionBeginUser;
  BAIEngineDestroy(&half->engine);
  PetscCall(PetscFree5(half->local, half->row, half->ghost, half->first, half->place));
  for (int b = 0; b < 2; b++) PetscCall(PetscFree3(half->i[b], half->j[b], half->a[b]));
  PetscCall(PetscFree4(half->aggregate, half->of, half->basis, half->of_basis));
  PetscCall(PetscFree3(half->b, half->x, half->ghost_x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both halves find their rows of A_c, and then the inverse */
static PetscErrorCode InvertTogether(Half halves[2])
{
  const size_t m = (size_t)halves[0].c.all * (size_t)halves[0].c.columns;
  BAIScalar   *rows, *copy;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(m * (m + 1), &rows, m * (m + 1), &copy));
  for (int k = 0; k < 2; k++)
    EngineCall(BAIEngineCoarseRows(halves[k].engine, &halves[k].M, rows + (size_t)halves[k].mine * (m + 1)));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscArraycpy(copy, rows, m * (m + 1)));
    EngineCall(BAIEngineCoarseInvert(halves[k].engine, copy));
  }
  PetscCall(PetscFree2(rows, copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One global iteration of both from x, or only the correction by omega b. The first time round they get to know each
 * other's sums */
static PetscErrorCode RunTogether(Half halves[2], const Method *m, PetscBool sweep, PetscScalar *x)
{
  const BAIStep step = {.mode = m->q.mode, .direction = BAI_FORWARD, .omega = m->omega, .fresh = 1, .coarse = 1};

  PetscFunctionBeginUser;
  for (int k = 0; k < 4; k++) {
    Half      *half = &halves[k % 2];
    BAIVectors v    = {.b            = (const BAIScalar *)half->b,
                       .ghost        = (const BAIScalar *)half->ghost_x,
                       .x            = (BAIScalar *)half->x,
                       .b_memory     = BAI_MEMORY_HOST,
                       .ghost_memory = BAI_MEMORY_HOST,
                       .x_memory     = BAI_MEMORY_HOST};

    for (PetscInt i = 0; i < half->n; i++) half->x[i] = x[half->row[i]];
    for (PetscInt i = 0; i < half->nghost; i++) half->ghost_x[i] = x[half->ghost[i]];
    EngineCall(BAIEngineBind(half->engine, &v, 0));
    if (sweep) EngineCall(BAIEngineSweep(half->engine, 1, &step));
    else EngineCall(BAIEngineCorrect(half->engine, m->omega));
    EngineCall(BAIEngineUnbind(half->engine));
  }
  for (int k = 0; k < 2; k++) {
    for (PetscInt i = 0; i < halves[k].n; i++) x[halves[k].row[i]] = halves[k].x[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What two engines that make up the space together do is what is defined for one: an iteration, and the correction
 * alone, also after new values */
static PetscErrorCode CheckTogether(const char matrix[], PetscInt n, PetscInt columns, PetscInt parts)
{
  const PetscBool singular = (PetscBool)(matrix[0] == 'n');
  System          s;
  Space           space;
  Method          m;
  Half            halves[2];
  PetscScalar    *x, *expected, *c, *known;
  PetscReal       slack, largest;

  PetscFunctionBeginUser;
  PetscCall(SystemCreate(matrix, n, &s));
  PetscCall(SpaceCreate(&s, 25, columns, PETSC_FALSE, singular, &space));
  PetscCall(MethodCreate(&s, &space, "nested", 0, BAI_MODE_SYNC, &m));
  PetscCall(PetscMalloc3(s.n, &x, s.n, &expected, s.n, &c));
  PetscCall(PetscCalloc1(space.m, &known));
  m.omega = 0.7;
  PetscCall(HalfCreate(&s, &space, &m, 0, (PetscInt)m.blocks.blocks / parts, known, &halves[0]));
  PetscCall(
    HalfCreate(&s, &space, &m, (PetscInt)m.blocks.blocks / parts, (PetscInt)m.blocks.blocks, known, &halves[1]));
  for (int again = 0; again < 2; again++) {
    PetscCall(InvertTogether(halves));
    PetscCall(PetscArraycpy(expected, s.x0, s.n));
    PetscCall(Define(&s, &space, &m, 1, expected, &slack, &largest));
    PetscCall(PetscArraycpy(x, s.x0, s.n));
    PetscCall(RunTogether(halves, &m, PETSC_TRUE, x));
    PetscCall(Expect(Largest(s.n, x, expected) <= slack && slack < 1e-3 * largest,
                     "one iteration together: as defined but for %g, at most %g; the correction is %g",
                     (double)Largest(s.n, x, expected), (double)slack, (double)largest));
    PetscCall(Correction(&s, &space, s.b, c, &slack));
    for (PetscInt i = 0; i < s.n; i++) expected[i] = s.x0[i] + m.omega * c[i];
    PetscCall(PetscArraycpy(x, s.x0, s.n));
    PetscCall(RunTogether(halves, &m, PETSC_FALSE, x));
    PetscCall(Expect(Largest(s.n, x, expected) <= slack, "the correction together is wrong by %g, at most %g",
                     (double)Largest(s.n, x, expected), (double)slack));
    for (PetscInt k = 0; k < s.i[s.n]; k++) s.a[k] *= 1.5;
    for (int k = 0; k < 2; k++) {
      for (int b = 0; b < 2; b++) {
        for (PetscInt e = 0; e < halves[k].i[b][halves[k].n]; e++) halves[k].a[b][e] *= 1.5;
      }
      EngineCall(BAIEngineUpdateValues(halves[k].engine, &halves[k].M));
    }
    PetscCall(Invert(&s, &space));
  }
  for (int k = 0; k < 2; k++) PetscCall(HalfDestroy(&halves[k]));
  PetscCall(PetscFree3(x, expected, c));
  PetscCall(PetscFree(known));
  PetscCall(MethodDestroy(&m));
  PetscCall(SpaceDestroy(&space));
  PetscCall(SystemDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Constants are in the null space of the matrix: the same, and x stays bounded */
static PetscErrorCode CheckSingular(BAIMode mode, PetscInt columns)
{
  System s;
  Space  space;
  Method m;

  PetscFunctionBeginUser;
  PetscCall(SystemCreate("neumann", 24, &s));
  PetscCall(SpaceCreate(&s, 25, columns, PETSC_FALSE, PETSC_TRUE, &space));
  PetscCall(MethodCreate(&s, &space, "boxes", 64, mode, &m));
  if (mode == BAI_MODE_SYNC || mode == BAI_MODE_COLOR) PetscCall(CheckDefinition(&s, &space, &m));
  if (mode == BAI_MODE_SYNC) PetscCall(CheckCorrect(&s, &space, &m));
  PetscCall(CheckFixedPoint(&s, &space, &m, 2));
  PetscCall(MethodDestroy(&m));
  PetscCall(SpaceDestroy(&space));
  PetscCall(SystemDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the coarse space without an inverse, as both columns are the same, is told; without the coarse space the
 * engine goes on */
static PetscErrorCode CheckNoInverse(void)
{
  System       s;
  Space        space;
  Method       m;
  BAIEngine    engine;
  BAIStatus    status;
  PetscScalar *x, *expected;

  PetscFunctionBeginUser;
  PetscCall(SystemCreate("laplace2d", 16, &s));
  PetscCall(SpaceCreate(&s, 32, 2, PETSC_FALSE, PETSC_FALSE, &space));
  for (PetscInt k = 0; k < 2 * s.n; k++) space.basis[k] = 1;
  PetscCall(MethodCreate(&s, &space, "natural", 64, BAI_MODE_SYNC, &m));
  PetscCall(PetscMalloc2(s.n, &x, s.n, &expected));
  PetscCall(PetscArraycpy(x, s.x0, s.n));
  PetscCall(PetscArraycpy(expected, s.x0, s.n));
  PetscCall(Create(&s, &m, NULL, &engine));
  PetscCall(Run(engine, &s, &m, 1, 3, expected, NULL));
  status = BAIEngineCoarsen(engine, &s.M, &space.c);
  PetscCall(Expect(status.code == BAI_ERR_COARSE, "no inverse: %s", BAICodeString(status.code)));
  EngineCall(BAIEngineCoarsen(engine, &s.M, &(BAICoarse){.columns = 1}));
  PetscCall(Run(engine, &s, &m, 1, 3, x, NULL));
  PetscCall(Expect(!memcmp(x, expected, (size_t)s.n * sizeof(*x)), "it goes on without"));
  PetscCall(PetscFree2(x, expected));
  BAIEngineDestroy(&engine);
  PetscCall(MethodDestroy(&m));
  PetscCall(SpaceDestroy(&space));
  PetscCall(SystemDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    PetscInt    n;
  } matrices[] = {
    {"fv3",       24},
    {"laplace2d", 24},
    {"laplace3d", 9 },
    {"mesh",      24},
    {"helmholtz", 24},
    {"upwind",    24}
  };
  const Kind kinds[] = {
    {"constants", 1, PETSC_FALSE},
    {"holes",     1, PETSC_TRUE },
    {"two",       2, PETSC_FALSE},
    {"three",     3, PETSC_TRUE }
  };

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-backend", BAIBackends, (PetscEnum *)&backend, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(matrices); k++) {
    for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(kinds); l++) {
      PetscCall(CheckAll(matrices[k].name, matrices[k].n, &kinds[l], "natural"));
      PetscCall(CheckAll(matrices[k].name, matrices[k].n, &kinds[l], "boxes"));
      if (!kinds[l].holes) PetscCall(CheckAll(matrices[k].name, matrices[k].n, &kinds[l], "nested"));
    }
  }
  for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
    if (Case("singular_%s", BAIModes[mode])) PetscCall(CheckSingular((BAIMode)mode, 1));
    if (Case("singular_%s_two", BAIModes[mode])) PetscCall(CheckSingular((BAIMode)mode, 2));
  }
  for (size_t k = 0; k < 3; k++) {
    if (Case("freely_%s_natural", matrices[k].name))
      PetscCall(CheckAsync(matrices[k].name, k == 2 ? 18 : 60, "natural"));
    if (Case("freely_%s_boxes", matrices[k].name)) PetscCall(CheckAsync(matrices[k].name, k == 2 ? 18 : 60, "boxes"));
  }
  for (PetscInt columns = 1; columns < 4; columns++) {
    if (Case("together_fv3_%d", (int)columns)) PetscCall(CheckTogether("fv3", 24, columns, 2));
    if (Case("together_laplace3d_%d", (int)columns)) PetscCall(CheckTogether("laplace3d", 9, columns, 3));
    if (Case("together_upwind_%d", (int)columns)) PetscCall(CheckTogether("upwind", 24, columns, 4));
    if (Case("together_neumann_%d", (int)columns)) PetscCall(CheckTogether("neumann", 24, columns, 2));
  }
  if (Case("no-inverse")) PetscCall(CheckNoInverse());
  if (Case("count_natural")) PetscCall(CheckCount("natural", 0, 1.979526, 0.905186, 525));
  if (Case("count_natural_11")) PetscCall(CheckCount("natural", 11, 1.335334, 0.635576, 121));
  if (Case("count_boxes")) PetscCall(CheckCount("boxes", 0, 2.418308, 0.856732, 340));
  if (Case("count_boxes_11")) PetscCall(CheckCount("boxes", 11, 1.277738, 0.568315, 97));
  if (Case("count_boxes_6")) PetscCall(CheckCount("boxes", 6, 1.200017, 0.462187, 72));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      requires: double
      test:
         suffix: host
         args: -backend host -case {{fv3 laplace2d laplace3d mesh helmholtz upwind}}
      test:
         suffix: host_others
         args: -backend host -case {{singular freely together no-inverse count}}
      test:
         suffix: cuda
         requires: baicuda
         args: -backend cuda -case {{fv3 laplace2d laplace3d mesh helmholtz upwind}}
      test:
         suffix: cuda_others
         requires: baicuda
         args: -backend cuda -case {{singular freely together no-inverse count}}

TEST*/
