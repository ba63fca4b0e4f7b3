#include "gallery.h"
#include <stdint.h>

/* What a matrix looks like, and what the rows of this process need */
typedef struct _Pattern Pattern;
struct _Pattern {
  const char *name;
  PetscErrorCode (*row)(const Pattern *, PetscInt, PetscInt *, PetscInt[], PetscScalar[]);
  PetscInt dim, n, fields; /* n^dim points, each of so many rows */
  PetscReal
    weight[4];       /* of a stencil: the point itself, neighbours that differ from it in one, two, three coordinates */
  PetscReal  peclet; /* of a cell */
  PetscInt   seed;   /* of what is random */
  PetscInt   longest;      /* entries that a row can have */
  PetscInt   rstart, rend; /* rows of this process */
  PetscReal *primes;       /* one for each of them */
  PetscInt  *first,
    *neighbors; /* those of its row k in the graph: neighbors[first[k]] to before neighbors[first[k + 1]] */
};

/* A point of the grid and its neighbours, in ascending order */
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

        if (p->weight[distance] == 0) continue;
        cols[*ncols]     = (k * n + j) * n + i;
        vals[(*ncols)++] = p->weight[distance];
      }
    }
  }
  PetscFunctionReturn(0);
}

/* The Laplacian on a grid with another coupling in x, the fast direction (weight[1]), than in y (weight[2]) */
static PetscErrorCode AnisotropicRow(const Pattern *p, PetscInt row, PetscInt *ncols, PetscInt cols[],
                                     PetscScalar vals[])
{
  const PetscInt  x = row % p->n, y = row / p->n;
  const PetscInt  distance[] = {-p->n, -1, 0, 1, p->n};
  const int       weight[]   = {2, 1, 0, 1, 2};
  const PetscBool there[]    = {(PetscBool)(y > 0), (PetscBool)(x > 0), PETSC_TRUE, (PetscBool)(x < p->n - 1),
                                (PetscBool)(y < p->n - 1)};

  PetscFunctionBeginUser;
  *ncols = 0;
  for (int k = 0; k < 5; k++) {
    if (!there[k]) continue;
    cols[*ncols]     = row + distance[k];
    vals[(*ncols)++] = p->weight[weight[k]];
  }
  PetscFunctionReturn(0);
}

/* Of a cell: 1 and 10^6 by turns in cubes of JUMPS_CUBE cells a side, as a chessboard has its colours */
enum {
  JUMPS_CUBE = 16
};

static PetscReal Coefficient(const PetscInt cell[])
{
  return (cell[0] / JUMPS_CUBE + cell[1] / JUMPS_CUBE + cell[2] / JUMPS_CUBE) % 2 ? 1e6 : 1;
}

/* Diffusion by finite volumes: cells are coupled by the harmonic mean of their coefficients, and at the boundary with
 * it by their own */
static PetscErrorCode JumpsRow(const Pattern *p, PetscInt row, PetscInt *ncols, PetscInt cols[], PetscScalar vals[])
{
  const PetscInt  n = p->n, stride[3] = {1, n, n * n};
  PetscInt        cell[3] = {row % n, row / n % n, row / n / n}, diagonal = 0;
  const PetscReal own = Coefficient(cell);
  PetscReal       sum = 0;

  PetscFunctionBeginUser;
  *ncols = 0;
  for (int face = -3; face <= 3; face++) { /* below in z, y and x, none, above in x, y and z */
    const int d = PetscAbsInt(face) - 1, step = face < 0 ? -1 : 1;
    PetscReal coupling = own;

    if (face == 0) {
      diagonal = (*ncols)++;
      continue;
    }
    cell[d] += step;
    if (cell[d] >= 0 && cell[d] < n) {
      const PetscReal other = Coefficient(cell);

      coupling         = 2 * own * other / (own + other);
      cols[*ncols]     = row + step * stride[d];
      vals[(*ncols)++] = -coupling;
    }
    cell[d] -= step;
    sum += coupling;
  }
  cols[diagonal] = row;
  vals[diagonal] = sum;
  PetscFunctionReturn(0);
}

/* Upwind differences of diffusion and of convection by a flow without divergence, that does not leave the domain */
static PetscErrorCode ConvectionRow(const Pattern *p, PetscInt row, PetscInt *ncols, PetscInt cols[],
                                    PetscScalar vals[])
{
  const PetscInt n = p->n, stride[3] = {1, n, n * n}, cell[3] = {row % n, row / n % n, row / n / n};
  PetscReal      at[3], v[3], sum                             = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < 3; d++) at[d] = PETSC_PI * ((PetscReal)cell[d] + (PetscReal)0.5) / (PetscReal)n;
  for (PetscInt d = 0; d < p->dim; d++) { /* without divergence */
    const PetscInt to = (d + 1) % p->dim, other = (d + p->dim - 1) % p->dim;

    v[d] = PetscSinReal(at[d]) * PetscCosReal(at[to]);
    if (p->dim == 2) v[d] *= d ? -1 : 1;
    else v[d] = (v[d] - PetscSinReal(at[d]) * PetscCosReal(at[other])) / 2;
  }
  cols[0] = row;
  *ncols  = 1;
  for (PetscInt d = 0; d < p->dim; d++) {
    for (int step = -1; step <= 1; step += 2) {
      const PetscReal coupling = 1 + p->peclet * PetscMax(0, -(PetscReal)step * v[d]);

      sum += coupling;
      if (cell[d] + step < 0 || cell[d] + step >= n) continue;
      cols[*ncols]     = row + step * stride[d];
      vals[(*ncols)++] = -coupling;
    }
  }
  vals[0] = sum;
  PetscFunctionReturn(0);
}

/* The integral over an edge of length one of the product of two linear functions, 1 at the end a or b, and of their
 * derivatives where that is asked for */
static PetscReal EdgeIntegral(int a, int b, PetscBool derive_a, PetscBool derive_b)
{
  if (derive_a && derive_b) return a == b ? 1 : -1;
  if (derive_a) return a ? (PetscReal)0.5 : (PetscReal)-0.5;
  if (derive_b) return b ? (PetscReal)0.5 : (PetscReal)-0.5;
  return (PetscReal)1 / (a == b ? 3 : 6);
}

/* The integral over a cube of the derivatives of the functions of two of its corners in the directions i and j */
static PetscReal CubeIntegral(const int a[3], const int b[3], int i, int j)
{
  PetscReal product = 1;

  for (int d = 0; d < 3; d++) product *= EdgeIntegral(a[d], b[d], (PetscBool)(d == i), (PetscBool)(d == j));
  return product;
}

/* Of a material of Young's modulus 1 and Poisson's ratio 1/4: what component i of corner a and j of b are coupled by */
static PetscReal CubeStiffness(const int a[3], const int b[3], int i, int j)
{
  const PetscReal lambda = (PetscReal)0.4, mu = (PetscReal)0.4;
  PetscReal       k = lambda * CubeIntegral(a, b, i, j) + mu * CubeIntegral(a, b, j, i);

  for (int d = 0; d < 3 && i == j; d++) k += mu * CubeIntegral(a, b, d, d);
  return k;
}

/* Of a cube of the mesh: softer inside a ball */
static PetscReal Modulus(PetscInt n, const PetscInt cube[3])
{
  const PetscReal radius = (PetscReal)0.3, soft = (PetscReal)1e-3;
  PetscReal       square = 0;

  for (int d = 0; d < 3; d++) square += PetscSqr(((PetscReal)cube[d] + (PetscReal)0.5) / (PetscReal)n - (PetscReal)0.5);
  return square < radius * radius ? soft : 1;
}

/* Three-dimensional elasticity in trilinear finite elements; the face below z = 0, one cube away, is clamped */
static PetscErrorCode ElasticityRow(const Pattern *p, PetscInt row, PetscInt *ncols, PetscInt cols[],
                                    PetscScalar vals[])
{
  const PetscInt n = p->n, point[3] = {row / 3 % n, row / 3 / n % n, row / 3 / n / n};

  PetscFunctionBeginUser;
  *ncols = 0;
  for (int k = 0; k < 81; k++) {
    const int to[3]  = {k / 3 % 3 - 1, k / 9 % 3 - 1, k / 27 - 1};
    PetscReal sum    = 0;
    PetscInt  other  = 0;
    PetscBool inside = PETSC_TRUE;

    for (int d = 2; d >= 0; d--) {
      inside = (PetscBool)(inside && point[d] + to[d] >= 0 && point[d] + to[d] < n);
      other  = other * n + point[d] + to[d];
    }
    for (int c = 0; c < 8 && inside; c++) { /* the cubes of which both are corners */
      PetscInt  cube[3];
      int       a[3], b[3];
      PetscBool has = PETSC_TRUE;

      for (int d = 0; d < 3; d++) {
        a[d]    = c >> d & 1;
        b[d]    = a[d] + to[d];
        cube[d] = point[d] - a[d];
        has     = (PetscBool)(has && b[d] >= 0 && b[d] <= 1 && cube[d] < n - 1 && cube[d] >= (d == 2 ? -1 : 0));
      }
      if (has) sum += Modulus(n, cube) * CubeStiffness(a, b, (int)(row % 3), k % 3);
    }
    if (!inside) continue;
    cols[*ncols]     = 3 * other + k % 3;
    vals[(*ncols)++] = sum;
  }
  PetscFunctionReturn(0);
}

/* The motions of the points without strain */
static PetscErrorCode SetRigidBodyModes(Mat A, const Pattern *p)
{
  Vec          coordinates;
  MatNullSpace space;

  PetscFunctionBeginUser;
  PetscCall(VecCreate(PetscObjectComm((PetscObject)A), &coordinates)); /* on the host, where they are needed */
  PetscCall(VecSetSizes(coordinates, p->rend - p->rstart, PETSC_DETERMINE));
  PetscCall(VecSetBlockSize(coordinates, 3));
  PetscCall(VecSetType(coordinates, VECSTANDARD));
  for (PetscInt row = p->rstart; row < p->rend; row++) {
    const PetscInt at[3] = {row / 3 % p->n, row / 3 / p->n % p->n, row / 3 / p->n / p->n};

    PetscCall(VecSetValue(coordinates, row, at[row % 3], INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(coordinates));
  PetscCall(VecAssemblyEnd(coordinates));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &space));
  PetscCall(MatSetNearNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&coordinates));
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

/* In [0, 1), and the same for the same seed and k on any number of processes */
static double Random(PetscInt seed, PetscInt64 k)
{
  uint64_t h = ((uint64_t)seed << 40) + (uint64_t)k;

  for (int round = 0; round < 3; round++) h = ((h ^ (h >> 32)) + 1) * 0xd6e8feb86659fd93u;
  return (double)(h >> 11) / 9007199254740992.; /* 2^53 */
}

/*
  Schools and the authorities that they belong to, as in the normal equations of a mixed model: each authority has a
  few or many schools, which come first and in their order, and a school has 1 to 25 pupils. No two schools, and no
  two authorities, are coupled.
*/
static PetscInt Authorities(const Pattern *p)
{
  return PetscMax(1, (PetscInt)((PetscReal)p->n * 131 / 2541));
}

static PetscInt FirstSchool(const Pattern *p, PetscInt authority)
{
  const PetscInt authorities = Authorities(p);

  return (PetscInt)((PetscReal)(p->n - authorities) * PetscPowReal((PetscReal)authority / authorities, 1.5));
}

static PetscInt Pupils(const Pattern *p, PetscInt school)
{
  return 1 + (PetscInt)(25 * Random(p->seed, school));
}

static PetscErrorCode Chem97Row(const Pattern *p, PetscInt row, PetscInt *ncols, PetscInt cols[], PetscScalar vals[])
{
  const PetscInt authorities = Authorities(p), schools = p->n - authorities;

  PetscFunctionBeginUser;
  *ncols = 0;
  if (row < schools) {
    PetscInt authority = 0;

    for (PetscInt end = authorities; end - authority > 1;) {
      const PetscInt middle = authority + (end - authority) / 2;

      if (FirstSchool(p, middle) <= row) authority = middle;
      else end = middle;
    }
    cols[0] = row;
    vals[0] = Pupils(p, row) + 4.42;
    cols[1] = schools + authority;
    vals[1] = Pupils(p, row);
    *ncols  = 2;
  } else {
    PetscInt sum = 0;

    for (PetscInt school = FirstSchool(p, row - schools); school < FirstSchool(p, row - schools + 1); school++) {
      cols[*ncols]     = school;
      vals[(*ncols)++] = Pupils(p, school);
      sum += Pupils(p, school);
    }
    cols[*ncols]     = row;
    vals[(*ncols)++] = sum + 105;
  }
  PetscFunctionReturn(0);
}

/* The Laplacian of a graph, plus a little on the diagonal */
static PetscErrorCode GraphRow(const Pattern *p, PetscInt row, PetscInt *ncols, PetscInt cols[], PetscScalar vals[])
{
  const PetscInt first = p->first[row - p->rstart], degree = p->first[row - p->rstart + 1] - first;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < degree; k++) {
    cols[k] = p->neighbors[first + k];
    vals[k] = -1;
  }
  cols[degree] = row;
  vals[degree] = degree + 0.1;
  *ncols       = degree + 1;
  PetscFunctionReturn(0);
}

/* A point of a distorted grid: inside, up to a quarter off in both directions, so that cells stay convex */
static void MeshPoint(const Pattern *p, PetscInt i, PetscInt j, PetscReal x[])
{
  const PetscBool  inside = (PetscBool)(i >= 0 && i < p->n && j >= 0 && j < p->n);
  const PetscInt64 k      = 2 * ((PetscInt64)j * p->n + i);

  x[0] = i + (inside ? 0.5 * Random(p->seed, k) - 0.25 : 0);
  x[1] = j + (inside ? 0.5 * Random(p->seed, k + 1) - 0.25 : 0);
}

/* Of the angle at c in the triangle a, b, c */
static PetscReal Cotangent(const PetscReal a[], const PetscReal b[], const PetscReal c[])
{
  const PetscReal u[] = {a[0] - c[0], a[1] - c[1]}, v[] = {b[0] - c[0], b[1] - c[1]};

  return (u[0] * v[0] + u[1] * v[1]) / PetscAbsReal(u[0] * v[1] - u[1] * v[0]);
}

/* Linear finite elements: each cell of the distorted grid is cut in two triangles, along the diagonal that Delaunay
 * would take */
static PetscErrorCode MeshRow(const Pattern *p, PetscInt row, PetscInt *ncols, PetscInt cols[], PetscScalar vals[])
{
  const PetscInt x = row % p->n, y = row / p->n;
  PetscReal      value[9] = {0}; /* of the point and those around it, line by line */
  PetscBool      edge[9]  = {PETSC_FALSE};

  PetscFunctionBeginUser;
  for (int cell = 0; cell < 4; cell++) {
    /* The point, a neighbour, the one across, the other neighbour */
    const int dx = cell % 2 ? 1 : -1, dy = cell / 2 ? 1 : -1, place[4] = {4, 4 + dx, 4 + dx + 3 * dy, 4 + 3 * dy};
    PetscReal corner[4][2];
    PetscBool across;

    for (int c = 0; c < 4; c++) MeshPoint(p, x + place[c] % 3 - 1, y + place[c] / 3 - 1, corner[c]);
    across = (PetscBool)(Cotangent(corner[0], corner[2], corner[1]) + Cotangent(corner[0], corner[2], corner[3]) >=
                         Cotangent(corner[1], corner[3], corner[0]) + Cotangent(corner[1], corner[3], corner[2]));
    for (int side = 1; side < 4; side += 2) {
      edge[place[side]] = PETSC_TRUE;
      value[place[side]] -= Cotangent(corner[0], corner[side], across ? corner[2] : corner[4 - side]) / 2;
      if (across) value[place[2]] -= Cotangent(corner[0], corner[2], corner[side]) / 2;
    }
    if (across) edge[place[2]] = PETSC_TRUE;
  }
  edge[4] = PETSC_TRUE;
  for (int k = 0; k < 9; k++) value[4] -= k == 4 ? 0 : value[k];
  *ncols = 0;
  for (int k = 0; k < 9; k++) {
    const PetscInt i = x + k % 3 - 1, j = y + k / 3 - 1;

    if (!edge[k] || i < 0 || j < 0 || i >= p->n || j >= p->n) continue;
    cols[*ncols]     = j * p->n + i;
    vals[(*ncols)++] = value[k];
  }
  PetscFunctionReturn(0);
}

/* clang-format off */
static const Pattern patterns[] = {
  {.name = "fv1", .row = StencilRow, .dim = 2, .n = 98, .weight = {3.510152, -0.5, -0.25}},
  {.name = "fv2", .row = StencilRow, .dim = 2, .n = 99, .weight = {3.51005, -0.5, -0.25}},
  {.name = "fv3", .row = StencilRow, .dim = 2, .n = 99, .weight = {3, -0.5, -0.25}},
  {.name = "trefethen", .row = TrefethenRow, .dim = 1, .n = 2000},
  {.name = "laplace2d", .row = StencilRow, .dim = 2, .n = 100, .weight = {4, -1}},
  {.name = "laplace3d", .row = StencilRow, .dim = 3, .n = 32, .weight = {6, -1}},
  {.name = "laplace3d27", .row = StencilRow, .dim = 3, .n = 32, .weight = {26, -1, -1, -1}},
  {.name = "helmholtz", .row = StencilRow, .dim = 2, .n = 100, .weight = {4.01, -1}},
  {.name = "anisotropic", .row = AnisotropicRow, .dim = 2, .n = 100, .weight = {202, -100, -1}},
  {.name = "jumps", .row = JumpsRow, .dim = 3, .n = 32},
  {.name = "convection2d", .row = ConvectionRow, .dim = 2, .n = 100, .peclet = 10},
  {.name = "convection3d", .row = ConvectionRow, .dim = 3, .n = 32, .peclet = 10},
  {.name = "elasticity", .row = ElasticityRow, .dim = 3, .n = 16, .fields = 3},
  {.name = "mesh", .row = MeshRow, .dim = 2, .n = 100},
  {.name = "chem97ztz-like", .row = Chem97Row, .dim = 1, .n = 2541},
  {.name = "powerlaw", .row = GraphRow, .dim = 1, .n = 20000}
};
/* clang-format on */

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

/* The other end of one of the three edges that each vertex starts: the i-th of n, in a scattered order, with a
 * probability that falls as i^-0.85 */
static PetscInt Partner(const Pattern *p, PetscInt stride, PetscInt64 edge)
{
  const double     most = pow((double)p->n + 1, 0.15);
  const PetscInt64 i    = (PetscInt64)pow(1 + Random(p->seed, edge) * (most - 1), 1 / 0.15) - 1;

  return (PetscInt)(PetscMin(i, p->n - 1) * stride % p->n);
}

/* All processes run through all edges, and keep those of their rows */
static PetscErrorCode GraphCreate(Pattern *p)
{
  const PetscInt rows   = p->rend - p->rstart;
  PetscInt       stride = (PetscInt)(0.618 * (PetscReal)p->n), a, b, kept = 0, start = 0, *next;

  PetscFunctionBeginUser;
  do { /* until stride and n have no common divisor */
    a = p->n;
    for (b = ++stride; b;) {
      const PetscInt rest = a % b;

      a = b;
      b = rest;
    }
  } while (a > 1);
  PetscCall(PetscCalloc1(rows + 1, &p->first));
  PetscCall(PetscMalloc1(rows, &next));
  for (int pass = 0; pass < 2; pass++) { /* count, then fill */
    for (PetscInt64 edge = 0; edge < 3 * (PetscInt64)p->n; edge++) {
      const PetscInt end[2] = {(PetscInt)(edge / 3), Partner(p, stride, edge)};

      for (int k = 0; k < 2; k++) {
        const PetscInt row = end[k] - p->rstart;

        if (row < 0 || row >= rows || end[0] == end[1]) continue;
        if (pass == 0) p->first[row + 1]++;
        else p->neighbors[next[row]++] = end[1 - k];
      }
    }
    if (pass == 1) break;
    for (PetscInt row = 0; row < rows; row++) {
      p->first[row + 1] += p->first[row];
      next[row] = p->first[row];
    }
    PetscCall(PetscMalloc1(p->first[rows] + 1, &p->neighbors));
  }
  for (PetscInt row = 0; row < rows; row++) { /* edges that are there more than once */
    PetscInt degree = p->first[row + 1] - start;

    PetscCall(PetscSortRemoveDupsInt(&degree, p->neighbors + start));
    PetscCall(PetscArraymove(p->neighbors + kept, p->neighbors + start, degree));
    start             = p->first[row + 1];
    p->first[row + 1] = kept += degree;
    p->longest        = PetscMax(p->longest, degree + 1);
  }
  PetscCall(PetscFree(next));
  PetscFunctionReturn(0);
}

/* By points, whose rows have entries in the same places */
static PetscErrorCode Preallocate(Mat A, const Pattern *p, PetscInt cols[], PetscScalar vals[])
{
  const PetscInt points = (p->rend - p->rstart) / p->fields;
  PetscInt      *dnnz, *onnz, ncols;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc2(points, &dnnz, points, &onnz));
  for (PetscInt point = 0; point < points; point++) {
    PetscCall(p->row(p, p->rstart + point * p->fields, &ncols, cols, vals));
    for (PetscInt k = 0; k < ncols; k += p->fields) {
      if (cols[k] >= p->rstart && cols[k] < p->rend) dnnz[point]++;
      else onnz[point]++;
    }
  }
  PetscCall(MatXAIJSetPreallocation(A, p->fields, dnnz, onnz, NULL, NULL));
  PetscCall(PetscFree2(dnnz, onnz));
  PetscFunctionReturn(0);
}

static PetscErrorCode Fill(Mat A, const Pattern *p, PetscInt cols[], PetscScalar vals[])
{
  PetscInt ncols;

  PetscFunctionBeginUser;
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  for (PetscInt row = p->rstart; row < p->rend; row++) {
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
- n    - points in each direction of the grid (where there is none: rows), 0 for the usual size

  Output Parameter:
. A - the matrix, of type `MATAIJ` unless `-mat_type` says otherwise

  Options Database Key:
+ -seed <0>    - of powerlaw, of the points of mesh, and of the values of chem97ztz-like
- -peclet <10> - of convection2d and convection3d: the largest of a cell

  Notes:
  The grids have Dirichlet boundaries, which are left out, and are numbered line by line.

  anisotropic is the Laplacian on a square, with couplings of 100 along the lines and 1 across.

  jumps is diffusion in a cube, whose coefficient jumps by 10^6 between cubes of 16 cells a side.

  convection2d and convection3d are upwind differences of diffusion and of convection by a vortex; they are not
symmetric.

  elasticity is a cube of trilinear finite elements with a soft ball in it, clamped at the bottom; it has three rows a
point, numbered point by point, and the rigid body modes as its near null space.

  mesh is the Laplacian in linear finite elements on triangles of all shapes, whose points have four to eight
neighbours.

  powerlaw is the Laplacian of a random graph plus 0.1 on the diagonal: most rows have a few entries, few have
thousands.

  chem97ztz-like is no matrix of any collection: its structure, number of entries and spectral radius of I - D^{-1}A are
those of Chem97ZtZ, its values are generated. Blocks of rows are diagonal, so that local sweeps in them cannot help.
*/
PetscErrorCode GalleryCreateMat(MPI_Comm comm, const char name[], PetscInt n, Mat *A)
{
  Pattern      p     = {0};
  PetscBool    found = PETSC_FALSE;
  PetscInt     rows  = 1, *cols;
  PetscScalar *vals;
  PetscLayout  layout;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(patterns) && !found; k++) {
    p = patterns[k];
    PetscCall(PetscStrcasecmp(name, p.name, &found));
  }
  PetscCheck(found, comm, PETSC_ERR_USER_INPUT, "-matrix %s is unknown, it must be one of %s", name, GALLERY_NAMES);
  if (n > 0) p.n = n;
  PetscOptionsBegin(comm, NULL, "The generated matrix", NULL);
  PetscCall(PetscOptionsInt("-seed", "Of what is random in mesh, powerlaw and chem97ztz-like", "gallery.c", p.seed,
                            &p.seed, NULL));
  PetscCall(PetscOptionsReal("-peclet", "Of a cell, where the flow of convection2d and convection3d is fastest",
                             "gallery.c", p.peclet, &p.peclet, NULL));
  PetscOptionsEnd();
  if (!p.fields) p.fields = 1;
  PetscCheck((PetscReal)p.fields * PetscPowRealInt((PetscReal)p.n, p.dim) <
               PetscPowRealInt(2, 8 * (int)sizeof(PetscInt) - 1),
             comm, PETSC_ERR_USER_INPUT,
             "-n %" PetscInt_FMT " is too large for -matrix %s, the number of rows n^%" PetscInt_FMT
             " must fit in a PetscInt",
             p.n, name, p.dim);
  for (PetscInt d = 0; d < p.dim; d++) rows *= p.n;
  rows *= p.fields;

  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, rows));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetBlockSize(*A, p.fields));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatGetLayouts(*A, &layout, NULL));
  PetscCall(PetscLayoutSetUp(layout));
  PetscCall(PetscLayoutGetRange(layout, &p.rstart, &p.rend));
  p.longest = 127; /* of trefethen with 2^63 rows */
  if (p.row == TrefethenRow) PetscCall(PrimesCreate(p.rstart, p.rend, &p.primes));
  if (p.row == GraphRow) PetscCall(GraphCreate(&p));
  if (p.row == Chem97Row) p.longest = p.n - FirstSchool(&p, Authorities(&p) - 1);
  PetscCall(PetscMalloc2(p.longest, &cols, p.longest, &vals));
  PetscCall(Preallocate(*A, &p, cols, vals));
  PetscCall(Fill(*A, &p, cols, vals));
  if (p.row == ElasticityRow) PetscCall(SetRigidBodyModes(*A, &p));
  PetscCall(PetscFree2(cols, vals));
  PetscCall(PetscFree(p.first));
  PetscCall(PetscFree(p.neighbors));
  PetscCall(PetscFree(p.primes));
  PetscFunctionReturn(0);
}
