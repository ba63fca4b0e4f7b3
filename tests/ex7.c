static char help[] = "The engine's functions, one by one, on each backend, against the definition of the method.\n\n";

#include "baicompat.h"
#include "../src/engine/coloring.h"

/* A matrix with irregular rows, strictly diagonally dominant, with couplings to ghosts; and vectors */
typedef struct {
  BAIMatrix    M;
  PetscInt    *i, *j, *gi, *gj;
  PetscScalar *a, *ga, *b, *ghost, *x;
} Problem;

static PetscErrorCode ProblemCreate(PetscInt n, PetscInt nghost, PetscRandom random, Problem *p)
{
  const PetscInt most = PetscMin(n, 9), gmost = PetscMin(nghost, 2);
  PetscReal      value;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc6(n + 1, &p->i, n * (most + 1), &p->j, n * (most + 1), &p->a, n + 1, &p->gi, n * gmost, &p->gj, n * gmost, &p->ga));
  PetscCall(PetscMalloc3(n, &p->b, n, &p->x, nghost, &p->ghost));
  p->i[0] = p->gi[0] = 0;
  for (PetscInt row = 0; row < n; row++) {
    PetscInt  k = p->i[row], g = p->gi[row];
    PetscReal sum = 0;

    for (PetscInt c = 0; c < row % (most + 1); c++) { /* neighbours near and far; some rows have none */
      PetscInt col = c % 2 ? (row + 1 + c) % n : (row * 7 + c * c * 13 + 3) % n;

      for (PetscInt before = p->i[row]; before < k; before++)
        if (p->j[before] == col) col = row;
      if (col == row) continue;
      PetscCall(PetscRandomGetValueReal(random, &value));
      p->j[k]   = col;
      p->a[k++] = value - 0.5;
      sum += PetscAbsReal(value - 0.5);
    }
    for (PetscInt c = 0; c < row % (gmost + 1); c++) {
      PetscCall(PetscRandomGetValueReal(random, &value));
      p->gj[g]   = (row + c) % nghost;
      p->ga[g++] = value - 0.5;
      sum += PetscAbsReal(value - 0.5);
    }
    p->j[k]   = row; /* the diagonal entry last, after columns in no order */
    p->a[k++] = (row % 3 ? 1 : -1) * (1.25 * sum + 0.5);
    PetscCall(PetscRandomGetValueReal(random, &value));
    p->b[row] = value;
    PetscCall(PetscRandomGetValueReal(random, &value));
    p->x[row]      = value;
    p->i[row + 1]  = k;
    p->gi[row + 1] = g;
  }
  for (PetscInt g = 0; g < nghost; g++) p->ghost[g] = 0.1 * g;
  p->M.n      = n;
  p->M.nghost = nghost;
  p->M.memory = BAI_MEMORY_HOST;
  p->M.A.i    = (const BAIInt *)p->i;
  p->M.A.j    = (const BAIInt *)p->j;
  p->M.A.a    = (const BAIScalar *)p->a;
  p->M.B.i    = (const BAIInt *)p->gi;
  p->M.B.j    = (const BAIInt *)p->gj;
  p->M.B.a    = (const BAIScalar *)p->ga;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree3(p->b, p->x, p->ghost));
  PetscCall(PetscFree6(p->i, p->j, p->a, p->gi, p->gj, p->ga));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The definition: count synchronous global iterations, entry by entry, straight from the CSR matrix */
static PetscErrorCode Define(const Problem *p, const BAIParameters *q, PetscInt count, const PetscScalar *x0, PetscScalar *x)
{
  const PetscInt n = (PetscInt)p->M.n, size = (PetscInt)q->block_size;
  PetscScalar   *y, *ynext, *xnext;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n, &y, n, &ynext, n, &xnext));
  PetscCall(PetscArraycpy(x, x0, n));
  for (PetscInt iteration = 0; iteration < count; iteration++) {
    PetscCall(PetscArraycpy(y, x, n));
    for (BAIInt sweep = 0; sweep < q->local_iters; sweep++) {
      for (PetscInt row = 0; row < n; row++) {
        PetscScalar sum = p->b[row], d = 0;

        for (PetscInt k = p->i[row]; k < p->i[row + 1]; k++) {
          const PetscInt col = p->j[k];

          if (col == row) d = p->a[k];
          else sum -= p->a[k] * (col / size == row / size ? y[col] : x[col]);
        }
        if (p->M.nghost)
          for (PetscInt k = p->gi[row]; k < p->gi[row + 1]; k++) sum -= p->ga[k] * p->ghost[p->gj[k]];
        ynext[row] = y[row] + q->local_omega * (sum / d - y[row]);
      }
      PetscCall(PetscArraycpy(y, ynext, n));
    }
    for (PetscInt row = 0; row < n; row++) xnext[row] = x[row] + q->omega * (y[row] - x[row]);
    PetscCall(PetscArraycpy(x, xnext, n));
  }
  PetscCall(PetscFree3(y, ynext, xnext));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal ResidualNorm2(const Problem *p, const PetscScalar *x)
{
  PetscReal norm2 = 0;

  for (PetscInt row = 0; row < (PetscInt)p->M.n; row++) {
    PetscScalar r = p->b[row];

    for (PetscInt k = p->i[row]; k < p->i[row + 1]; k++) r -= p->a[k] * x[p->j[k]];
    if (p->M.nghost)
      for (PetscInt k = p->gi[row]; k < p->gi[row + 1]; k++) r -= p->ga[k] * p->ghost[p->gj[k]];
    norm2 += PetscRealPart(r * PetscConj(r));
  }
  return norm2;
}

static PetscReal Distance(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  PetscReal most = 0;

  for (PetscInt i = 0; i < n; i++) most = PetscMax(most, PetscAbsScalar(x[i] - y[i])); /* NaN is told apart below */
  for (PetscInt i = 0; i < n; i++)
    if (PetscIsInfOrNanScalar(x[i]) || PetscIsInfOrNanScalar(y[i])) most = PETSC_MAX_REAL;
  return most;
}

static PetscBool SameBits(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  for (PetscInt i = 0; i < n; i++)
    if (memcmp(x + i, y + i, sizeof(*x))) return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscErrorCode Expect(PetscBool right, const char what[], const BAIParameters *q, const Problem *p, PetscReal found)
{
  PetscFunctionBeginUser;
  if (!right) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: n %d, ghosts %d, block_size %d, mode %d, local_iters %d: %g\n", what, (int)p->M.n, (int)p->M.nghost, (int)q->block_size, (int)q->mode, (int)q->local_iters, (double)found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(BAIEngine engine, const Problem *p, PetscInt count, PetscBool guess_zero, BAIDirection direction, PetscScalar *x, PetscReal *norm2)
{
  BAIVectors v;
  BAIStatus  status;
  BAIReal    norm2_engine;

  PetscFunctionBeginUser;
  v.b = (const BAIScalar *)p->b;
  v.ghost = (const BAIScalar *)p->ghost;
  v.x = (BAIScalar *)x;
  v.b_memory = v.ghost_memory = v.x_memory = BAI_MEMORY_HOST;
  PetscCall(PetscArraycpy(x, p->x, (size_t)p->M.n));
  status = BAIEngineBind(engine, &v, guess_zero);
  if (!status.code) status = BAIEngineSweep(engine, (BAIInt)(count / 2), direction); /* in two goes, which must make no difference */
  if (!status.code) status = BAIEngineSweep(engine, (BAIInt)(count - count / 2), direction);
  if (!status.code) status = BAIEngineResidual(engine, &norm2_engine);
  if (!status.code) status = BAIEngineUnbind(engine);
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what, status.why);
  *norm2 = norm2_engine;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A whole solve by the engine: to a tolerance, and to a number of iterations */
static PetscErrorCode CheckSolve(BAIEngine engine, const Problem *p, const BAIParameters *q, PetscScalar *x)
{
  const PetscReal rtol = 100 * PetscSqrtReal(PETSC_MACHINE_EPSILON);
  PetscReal       bnorm2 = 0;

  PetscFunctionBeginUser;
  for (PetscInt row = 0; row < (PetscInt)p->M.n; row++) bnorm2 += PetscRealPart(p->b[row] * PetscConj(p->b[row]));
  for (int most = 0; most < 2; most++) {
    BAITolerances tolerances = {most ? 0 : rtol, 0, 1e5, -1, most ? 7 : 1000};
    BAISolution   solution   = {0, 0, 0};
    BAIVectors    v          = {(const BAIScalar *)p->b, (const BAIScalar *)p->ghost, (BAIScalar *)x, BAI_MEMORY_HOST, BAI_MEMORY_HOST, BAI_MEMORY_HOST};
    BAIStatus     status     = BAIEngineBind(engine, &v, 1);
    PetscReal     norm2;

    if (!status.code) status = BAIEngineSolve(engine, &tolerances, &solution);
    if (!status.code) status = BAIEngineUnbind(engine);
    PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what, status.why);
    norm2 = ResidualNorm2(p, x);
    PetscCall(Expect((PetscBool)(PetscAbsReal(solution.bnorm2 - bnorm2) <= 1000 * PETSC_MACHINE_EPSILON * bnorm2), "norm of b", q, p, solution.bnorm2));
    PetscCall(Expect((PetscBool)(PetscAbsReal(PetscSqrtReal(solution.rnorm2) - PetscSqrtReal(norm2)) <= 1000 * PETSC_MACHINE_EPSILON * PetscSqrtReal(bnorm2)), "residual of a solve", q, p, solution.rnorm2));
    if (most) PetscCall(Expect((PetscBool)(solution.its == 7), "iterations of a solve", q, p, solution.its));
    else PetscCall(Expect((PetscBool)(solution.rnorm2 <= rtol * rtol * bnorm2 * (1 + 1e-10) && solution.its > 0 && solution.its < 1000), "tolerance of a solve", q, p, solution.rnorm2));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One matrix, one set of parameters: sweeps, residual, new values, fixed point */
static PetscErrorCode Check(BAIBackend backend, Problem *p, BAIParameters q)
{
  const PetscInt  n    = (PetscInt)p->M.n;
  const PetscReal tiny = 1000 * PETSC_MACHINE_EPSILON;
  PetscScalar    *zero, *expected, *x, *again;
  PetscReal       norm2, norm2_again;
  BAIEngine       engine;
  BAIStatus       status;
  BAIInfo         info;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc4(n, &zero, n, &expected, n, &x, n, &again));
  status = BAIEngineCreate(backend, &p->M, &q, &engine);
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what, status.why);
  BAIEngineInfo(engine, &info);
  PetscCall(Expect((PetscBool)(info.blocks == (n + q.block_size - 1) / q.block_size), "blocks", &q, p, (PetscReal)info.blocks));
  PetscCall(Expect((PetscBool)(info.nnz_local + info.nnz_off + n == p->i[n] + (p->M.nghost ? p->gi[n] : 0)), "entries", &q, p, (PetscReal)(info.nnz_local + info.nnz_off)));
  for (PetscInt value = 0; value < 2; value++) {
    if (value) { /* other values in the same pattern */
      for (PetscInt k = 0; k < p->i[n]; k++) p->a[k] *= 1.5;
      status = BAIEngineUpdateValues(engine, &p->M);
      PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what, status.why);
    }
    for (PetscInt count = 0; count < 4; count++) {
      const PetscBool guess_zero = (PetscBool)(count == 3);

      PetscCall(Run(engine, p, count, guess_zero, BAI_FORWARD, x, &norm2));
      PetscCall(Expect((PetscBool)(PetscAbsReal(norm2 - ResidualNorm2(p, x)) <= tiny * (1 + norm2)), "residual", &q, p, norm2));
      if (q.mode != BAI_MODE_SYNC && q.mode != BAI_MODE_COLOR && count > 0) continue;
      if (q.mode != BAI_MODE_COLOR || q.block_size >= n) {
        PetscCall(Define(p, &q, count, guess_zero ? zero : p->x, expected));
        PetscCall(Expect((PetscBool)(Distance(n, x, expected) <= tiny), "sweeps against the definition", &q, p, Distance(n, x, expected)));
      }
      PetscCall(Run(engine, p, count, guess_zero, BAI_FORWARD, again, &norm2_again));
      PetscCall(Expect((PetscBool)(SameBits(n, x, again) && norm2 == norm2_again), "repeated bitwise", &q, p, Distance(n, x, again)));
    }
    PetscCall(Run(engine, p, 400, PETSC_FALSE, BAI_FORWARD, x, &norm2));
    PetscCall(Expect((PetscBool)(ResidualNorm2(p, x) <= n * PetscSqr(tiny)), "fixed point", &q, p, ResidualNorm2(p, x)));
  }
  if (info.solves) PetscCall(CheckSolve(engine, p, &q, x));
  if (n > 4 && p->i[n] > p->i[n - 1] + 1) { /* a column elsewhere, and the old one again */
    const PetscInt k = p->i[n - 1], col = p->j[k];
    PetscInt       other = 0;

    while (other != n - 1) {
      PetscInt s;

      for (s = p->i[n - 1]; s < p->i[n] && p->j[s] != other; s++);
      if (s == p->i[n]) break;
      other++;
    }
    p->j[k] = other;
    status  = BAIEngineUpdateValues(engine, &p->M);
    PetscCall(Expect((PetscBool)(status.code == BAI_ERR_PATTERN), "another pattern is noticed", &q, p, status.code));
    p->j[k] = col;
  }
  BAIEngineDestroy(&engine);
  for (PetscInt k = 0; k < p->i[n]; k++) p->a[k] /= 1.5;

  for (PetscInt bad = n / 2; bad < n; bad += n) { /* a zero on the diagonal */
    const PetscInt    k = p->i[bad + 1] - 1;
    const PetscScalar d = p->a[k];

    p->a[k] = 0;
    status  = BAIEngineCreate(backend, &p->M, &q, &engine);
    PetscCall(Expect((PetscBool)(status.code == BAI_ERR_DIAGONAL && status.row == bad && !engine), "zero on the diagonal", &q, p, (PetscReal)status.row));
    p->a[k] = d;
  }
  PetscCall(PetscFree4(zero, expected, x, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes sync and color give the same bits for any number of threads, and, to rounding, the same on both backends */
static PetscErrorCode Agree(BAIBackend backend, Problem *p, BAIParameters q, BAIDirection direction)
{
  const PetscInt n = (PetscInt)p->M.n;
  PetscScalar   *x[4];
  PetscReal      norm2;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(n, &x[0], n, &x[1], n, &x[2], n, &x[3]));
  for (int k = 0; k < 4; k++) {
    BAIEngine engine;
    BAIStatus status;

    q.threads = k < 3 ? 1 << k : 2;
    status    = BAIEngineCreate(k < 3 ? BAI_BACKEND_HOST : backend, &p->M, &q, &engine);
    PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what, status.why);
    PetscCall(Run(engine, p, 7, PETSC_FALSE, direction, x[k], &norm2));
    BAIEngineDestroy(&engine);
    if (k < 3) PetscCall(Expect(SameBits(n, x[0], x[k]), "threads", &q, p, Distance(n, x[0], x[k])));
    else PetscCall(Expect((PetscBool)(Distance(n, x[0], x[k]) <= 1000 * PETSC_MACHINE_EPSILON), "backends", &q, p, Distance(n, x[0], x[k])));
  }
  PetscCall(PetscFree4(x[0], x[1], x[2], x[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No two neighbours in one turn, every group in one turn, and no more colours than a graph needs: here 1 or 2, or all, or the 2 of a path */
static PetscErrorCode CheckColors(int n, int reach, int wanted)
{
  int     *first, *neighbor, *order, *rank, *turn_first, turns, colors, many = 0;
  BAIGraph graph;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc5(n + 1, &first, 2 * (size_t)n * (size_t)reach + 1, &neighbor, n + 1, &order, n + 1, &rank, n + 1, &turn_first));
  for (int g = 0; g < n; g++) {
    for (int other = PetscMax(0, g - reach); other <= PetscMin(n - 1, g + reach); other++) {
      if (other != g) neighbor[many++] = other;
    }
    first[g + 1] = many;
  }
  graph.n        = n;
  graph.first    = first;
  graph.neighbor = neighbor;
  PetscCheck(!BAIColor(&graph, order, rank, turn_first, &turns, &colors).code, PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory");
  if (colors != wanted) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d groups that reach %d: %d colors, not %d\n", n, reach, colors, wanted));
  if (turns < colors || (turns ? turn_first[0] : 0) || turn_first[turns] != n) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d groups that reach %d: turns are not all of them\n", n, reach));
  for (int t = 0; t < turns; t++) {
    for (int k = turn_first[t]; k < turn_first[t + 1]; k++) {
      if (rank[order[k]] != k) PetscCall(PetscPrintf(PETSC_COMM_SELF, "rank is not the inverse of order\n"));
      for (int e = first[order[k]]; e < first[order[k] + 1]; e++) {
        if (turn_first[t] <= rank[neighbor[e]] && rank[neighbor[e]] < turn_first[t + 1]) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d groups that reach %d: neighbours in one turn\n", n, reach));
      }
    }
  }
  PetscCall(PetscFree5(first, neighbor, order, rank, turn_first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const backends[] = {"auto", "host", "cuda", "BAIBackend", "BAI_BACKEND_", NULL};
  const PetscInt    sizes[] = {0, 1, 31, 32, 33, 1000}, block_sizes[] = {1, 7, 32, 100, 500, 5000}, local_iters[] = {1, 2, 5};
  BAIBackend        backend = BAI_BACKEND_HOST;
  PetscRandom       random;
  PetscBool         large = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-backend", backends, (PetscEnum *)&backend, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-large", &large, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetFromOptions(random));
  PetscCall(CheckColors(0, 1, 0));
  PetscCall(CheckColors(1, 1, 1));
  PetscCall(CheckColors(50, 0, 1));
  PetscCall(CheckColors(20000, 1, 2));
  PetscCall(CheckColors(20, 19, 20));
  PetscCall(CheckColors(10000, 3, 4));
  for (size_t s = 0; s < (large ? 1 : PETSC_STATIC_ARRAY_LENGTH(sizes)); s++) {
    for (size_t c = 0; c < (large ? 2 : PETSC_STATIC_ARRAY_LENGTH(block_sizes)); c++) {
      for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
        const PetscInt n = large ? 70000 : sizes[s]; /* more than 16-bit columns can count, more than shared memory holds */
        BAIParameters  q;
        Problem        p;

        PetscCall(PetscMemzero(&q, sizeof(q)));
        q.mode        = (BAIMode)mode;
        q.block_size  = (BAIInt)(large ? (c ? 66000 : 3000) : block_sizes[c]);
        q.local_iters = (BAIInt)local_iters[(s + c + mode) % PETSC_STATIC_ARRAY_LENGTH(local_iters)];
        q.omega       = c % 2 ? 1 : 0.875;
        q.local_omega = s % 2 ? 1 : 0.9;
        q.threads     = 2;
        q.device      = -1;
        PetscCall(ProblemCreate(n, n % 2 || n > 999 ? 5 : 0, random, &p));
        PetscCall(Check(backend, &p, q));
        if (mode == BAI_MODE_SYNC) PetscCall(Agree(backend, &p, q, BAI_FORWARD));
        for (int direction = BAI_FORWARD; direction <= BAI_ALTERNATE && mode == BAI_MODE_COLOR; direction++) PetscCall(Agree(backend, &p, q, (BAIDirection)direction));
        PetscCall(ProblemDestroy(&p));
      }
    }
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      test:
         suffix: host
         args: -backend host -large {{0 1}}
      test:
         suffix: cuda
         requires: baicuda
         args: -backend cuda -large {{0 1}}

TEST*/
