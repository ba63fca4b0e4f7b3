static char help[] = "The engine's functions, one by one, on each backend, against the definition of the method.\n\
  -backend <host>   host or cuda\n\n";

/*
   In every mode and with every feature: synchronous global iterations are those of the definition, entry by entry;
   modes sync and color give the same bits for any number of threads and at every run, and up to rounding those of the
   other backend; iterations tend to the solution;
   the residual norm is the true one; sums, counts and colours are those of the matrix; new values are taken over,
   another pattern and a zero on the diagonal are noticed; a whole solve keeps its tolerance and its number of
   iterations
*/

#include "check.h"
#include "../src/relaxation/coloring.h"
#include "../src/relaxation/partition.h"
#include "../src/relaxation/theta.h"
#include <float.h>

typedef enum {
  NEAR_AND_FAR, /* in no order, some rows having none and two having hundreds */
  DIAGONALS,    /* sorted, some of whose entries are missing */
  WIDE,         /* anywhere, 17 to 40 in a row */
  RAGGED /* a dense row, one half as long and backward, a dense column, and few or up to a hundred in the others */
} Pattern;

/* A matrix, strictly diagonally dominant, with couplings to ghosts; and vectors */
typedef struct {
  BAIMatrix    M;
  Pattern      pattern;
  PetscInt    *i, *j, *gi, *gj;
  PetscScalar *a, *ga, *b, *ghost, *x;
} Problem;

/* How the matrix is cut, and how it is iterated */
typedef struct {
  BAIParameters q;
  BAIReal       omega, momentum;
  BAIPartition  blocks;
  PetscBool     natural; /* of block_size consecutive rows: the engine is told nothing */
} Method;

/* The column of a row's entry c, or none */
static PetscInt Column(const Problem *p, PetscInt n, PetscInt max_entries, PetscInt row, PetscInt c)
{
  const PetscInt diagonals[] = {-97, -40, -39, -2, -1, 1, 2, 39, 41};
  PetscInt       col         = row;

  if (p->pattern == RAGGED) {
    if (row == n / 2) col = c;
    else if (row == n / 3) col = n - 1 - 2 * c;
    else if (!c) col = 3 % n;
    else if (c <= (row % 17 == 5 ? 20 + row % 80 : row % 6))
      col = c % 2 ? (row + c) % n : (row * 7 + c * c * 13 + 3) % n;
  } else if (p->pattern == WIDE) {
    if (c < 17 + row % (max_entries - 16)) col = (row * 7 + c * c * 13 + 3) % n;
  } else if (p->pattern == DIAGONALS) {
    if (c < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(diagonals) && (row + c) % 7) col = row + diagonals[c];
  } else if (row == n / 3 || row == n / 3 + 1) col = (row + 1 + 3 * c) % n;
  else if (c < row % (max_entries + 1)) col = c % 2 ? (row + 1 + c) % n : (row * 7 + c * c * 13 + 3) % n;
  return col >= 0 && col < n && col != row ? col : -1;
}

static PetscErrorCode ProblemCreate(PetscInt n, PetscInt nghost, Pattern pattern, PetscRandom random, Problem *p)
{
  const PetscInt max_entries = pattern == WIDE ? 40 : PetscMin(n, 9),
                 long_row = pattern == RAGGED ? n : PetscMin(n / 3, 300), max_ghosts = PetscMin(nghost, 2);
  const PetscInt room = pattern == RAGGED ? 18 * n + 200 : n * (max_entries + 1) + 2 * long_row;
  PetscInt      *seen; /* of each column, the last row that has it, counted from 1 */
  PetscReal      value;

  PetscFunctionBeginUser;
  p->pattern = pattern;
  PetscCall(PetscCalloc1(n, &seen));
  PetscCall(PetscMalloc6(n + 1, &p->i, room, &p->j, room, &p->a, n + 1, &p->gi, n * max_ghosts, &p->gj, n * max_ghosts,
                         &p->ga));
  PetscCall(PetscMalloc3(n, &p->b, n, &p->x, nghost, &p->ghost));
  p->i[0] = p->gi[0] = 0;
  for (PetscInt row = 0; row < n; row++) {
    PetscInt  k = p->i[row], g = p->gi[row];
    PetscReal sum = 0;

    for (PetscInt c = 0; c < (pattern != RAGGED                ? PetscMax(max_entries, long_row)
                                : row == n / 2 || row == n / 3 ? n
                                                               : 101);
         c++) {
      const PetscInt col = Column(p, n, max_entries, row, c);

      if (col < 0 || seen[col] == row + 1) continue;
      seen[col] = row + 1;
      PetscCall(PetscRandomGetValueReal(random, &value));
      value     = PetscFloorReal(1e6 * value) / 1048576; /* exact in single precision, 1.5 times as well */
      p->j[k]   = col;
      p->a[k++] = value - 0.5;
      sum += PetscAbsReal(value - 0.5);
    }
    for (PetscInt c = 0; c < row % (max_ghosts + 1); c++) {
      PetscCall(PetscRandomGetValueReal(random, &value));
      value      = PetscFloorReal(1e6 * value) / 1048576;
      p->gj[g]   = (row + c) % nghost;
      p->ga[g++] = value - 0.5;
      sum += PetscAbsReal(value - 0.5);
    }
    p->j[k]   = row; /* the diagonal entry last */
    p->a[k++] = (row % 3 ? 1 : -1) * (1.25 * sum + 0.5);
    PetscCall(PetscRandomGetValueReal(random, &value));
    p->b[row] = value;
    PetscCall(PetscRandomGetValueReal(random, &value));
    p->x[row]      = value;
    p->i[row + 1]  = k;
    p->gi[row + 1] = g;
  }
  PetscCall(PetscFree(seen));
  for (PetscInt g = 0; g < nghost; g++) p->ghost[g] = 0.1 * g;
  p->M = (BAIMatrix){
    .n      = n,
    .nghost = nghost,
    .memory = BAI_MEMORY_HOST,
    .A      = {(const BAIInt *)p->i,  (const BAIInt *)p->j,  (const BAIScalar *)p->a },
    .B      = {(const BAIInt *)p->gi, (const BAIInt *)p->gj, (const BAIScalar *)p->ga}
  };
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree3(p->b, p->x, p->ghost));
  PetscCall(PetscFree6(p->i, p->j, p->a, p->gi, p->gj, p->ga));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local sweeps of each block */
static PetscErrorCode FindSweeps(const Problem *p, const Method *m, BAIInt *iters)
{
  const BAIPartition *q = &m->blocks;
  BAIReal            *inside, *outside;
  BAIInt             *mark;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc3(q->blocks + 1, &inside, q->blocks + 1, &outside, p->M.n + 1, &mark));
  for (BAIInt b = 0; b < q->blocks; b++) {
    for (BAIInt place = q->first[b]; place < q->first[b + 1]; place++) mark[q->row[place]] = b + 1;
    for (BAIInt place = q->first[b]; place < q->first[b + 1]; place++) {
      const BAIInt row = q->row[place];

      for (PetscInt k = p->i[row]; k < p->i[row + 1]; k++) {
        if (p->j[k] != row) *(mark[p->j[k]] == b + 1 ? inside + b : outside + b) += PetscAbsScalar(p->a[k]);
      }
      for (PetscInt k = p->gi[row]; p->M.nghost && k < p->gi[row + 1]; k++) outside[b] += PetscAbsScalar(p->ga[k]);
    }
    iters[b] = m->q.local_iters;
  }
  if (m->q.theta) BAITheta(q->blocks, inside, outside, m->q.local_iters, iters);
  PetscCall(PetscFree3(inside, outside, mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One global iteration of a block that finds x: its rows are swept over, in y; x outside it stands still. block says
 * which rows these are */
static void DefineBlock(const Problem *p, const Method *m, BAIInt b, BAIInt iters, const PetscScalar *x, BAIInt *block,
                        PetscScalar *y, PetscScalar *ynext)
{
  const BAIPartition *q = &m->blocks;

  for (BAIInt place = q->first[b]; place < q->first[b + 1]; place++) {
    block[q->row[place]] = b;
    y[q->row[place]]     = x[q->row[place]];
  }
  for (BAIInt sweep = 0; sweep < iters; sweep++) {
    for (BAIInt place = q->first[b]; place < q->first[b + 1]; place++) {
      const BAIInt row = q->row[place];
      PetscScalar  sum = p->b[row], d = 0;
      PetscReal    l1 = 0;

      for (PetscInt k = p->i[row]; k < p->i[row + 1]; k++) {
        const PetscInt col = p->j[k];

        if (col == row) d = p->a[k];
        else sum -= p->a[k] * (block[col] == b ? y[col] : x[col]);
        if (block[col] != b) l1 += PetscAbsScalar(p->a[k]);
      }
      for (PetscInt k = p->gi[row]; p->M.nghost && k < p->gi[row + 1]; k++) {
        sum -= p->ga[k] * p->ghost[p->gj[k]];
        l1 += PetscAbsScalar(p->ga[k]);
      }
      const PetscScalar divisor = d == (PetscScalar)0 ? 1 : d; /* only with BAIParameters.unit */

      ynext[row] = y[row] +
        m->q.local_omega * (sum - d * y[row]) / (divisor + (m->q.l1 ? divisor / PetscAbsScalar(divisor) * l1 : 0));
    }
    for (BAIInt place = q->first[b]; place < q->first[b + 1]; place++) y[q->row[place]] = ynext[q->row[place]];
  }
}

/* The definition: count synchronous global iterations, entry by entry, straight from the CSR matrix */
static PetscErrorCode Define(const Problem *p, const Method *m, PetscInt count, const PetscScalar *x0, PetscScalar *x)
{
  const BAIPartition *q = &m->blocks;
  const PetscInt      n = (PetscInt)p->M.n;
  PetscScalar        *y, *ynext, *before, *next;
  BAIInt             *iters, *block;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc6(n, &y, n, &ynext, n, &before, n, &next, n + 1, &block, q->blocks + 1, &iters));
  PetscCall(FindSweeps(p, m, iters));
  for (PetscInt row = 0; row < n; row++) block[row] = -1;
  PetscCall(PetscArraycpy(x, x0, n));
  PetscCall(PetscArraycpy(before, x0, n));
  for (PetscInt iteration = 0; iteration < count; iteration++) {
    for (BAIInt b = 0; b < q->blocks; b++) {
      DefineBlock(p, m, b, iters[b], x, block, y, ynext);
      for (BAIInt place = q->first[b]; place < q->first[b + 1]; place++) {
        const BAIInt row = q->row[place];

        next[row] = x[row] + m->omega * (y[row] - x[row]) + m->momentum * (x[row] - before[row]);
      }
    }
    PetscCall(PetscArraycpy(before, x, n));
    PetscCall(PetscArraycpy(x, next, n));
  }
  PetscCall(PetscFree6(y, ynext, before, next, block, iters));
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
  PetscReal distance = 0;

  for (PetscInt i = 0; i < n; i++)
    distance = PetscMax(distance, PetscAbsScalar(x[i] - y[i])); /* NaN is told apart below */
  for (PetscInt i = 0; i < n; i++)
    if (PetscIsInfOrNanScalar(x[i]) || PetscIsInfOrNanScalar(y[i])) distance = PETSC_MAX_REAL;
  return distance;
}

static PetscReal Largest(PetscInt n, const PetscScalar *x)
{
  PetscReal largest = 0;

  for (PetscInt i = 0; i < n; i++) largest = PetscMax(largest, PetscAbsScalar(x[i]));
  return largest;
}

static PetscBool SameBits(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  for (PetscInt i = 0; i < n; i++)
    if (memcmp(x + i, y + i, sizeof(*x))) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* What rounding may do, in the precision of the sweeps */
static PetscReal Tiny(const Method *m)
{
  return 1000 * (m->q.single ? (PetscReal)FLT_EPSILON : PETSC_MACHINE_EPSILON);
}

/* With theta, sums of single precision may make another number of sweeps */
static PetscBool HasCertainSweeps(const Method *m)
{
  return (PetscBool) !(PetscDefined(USE_REAL_SINGLE) && m->q.theta);
}

/* The same to x and its residual, which of blocks that refine are of full precision */
static PetscReal TinyOfX(const Method *m)
{
  return m->q.refined ? 1000 * PETSC_MACHINE_EPSILON : Tiny(m);
}

static PetscErrorCode ExpectMethod(PetscBool right, const char what[], const Method *m, const Problem *p,
                                   PetscReal found)
{
  PetscFunctionBeginUser;
  PetscCall(Expect(right,
                   "%s: n %d, ghosts %d, block_size %d%s, mode %d, local_iters %d, l1 %d, theta %d, single %d, "
                   "refined %d, momentum %g: %g",
                   what, (int)p->M.n, (int)p->M.nghost, (int)m->q.block_size, m->natural ? "" : " and less",
                   (int)m->q.mode, (int)m->q.local_iters, m->q.l1, m->q.theta, m->q.single, m->q.refined,
                   (double)m->momentum, (double)found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many global iterations from x, and ||b - A x||^2 */
static PetscErrorCode RunFrom(BAIEngine engine, const Problem *p, const Method *m, PetscInt count, PetscBool guess_zero,
                              BAIDirection direction, PetscScalar *x, PetscReal *norm2)
{
  BAIStep    step = {.mode = m->q.mode, .direction = direction, .omega = m->omega, .momentum = m->momentum, .fresh = 1};
  BAIVectors v    = {.b            = (const BAIScalar *)p->b,
                     .ghost        = (const BAIScalar *)p->ghost,
                     .x            = (BAIScalar *)x,
                     .b_memory     = BAI_MEMORY_HOST,
                     .ghost_memory = BAI_MEMORY_HOST,
                     .x_memory     = BAI_MEMORY_HOST};
  BAIStatus  status;
  BAIReal    norm2_engine = 0;

  PetscFunctionBeginUser;
  status = BAIEngineBind(engine, &v, guess_zero);
  if (!status.code)
    status = BAIEngineSweep(engine, (BAIInt)(count / 2), &step); /* in two goes, which must make no difference */
  if (count / 2) step.fresh = 0;
  if (!status.code) status = BAIEngineSweep(engine, (BAIInt)(count - count / 2), &step);
  if (!status.code) status = BAIEngineResidual(engine, &norm2_engine);
  if (!status.code) status = BAIEngineUnbind(engine);
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what,
             status.why);
  *norm2 = norm2_engine;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same from the x of the problem */
static PetscErrorCode Run(BAIEngine engine, const Problem *p, const Method *m, PetscInt count, PetscBool guess_zero,
                          BAIDirection direction, PetscScalar *x, PetscReal *norm2)
{
  PetscFunctionBeginUser;
  PetscCall(PetscArraycpy(x, p->x, (size_t)p->M.n));
  PetscCall(RunFrom(engine, p, m, count, guess_zero, direction, x, norm2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A whole solve by the engine: to a tolerance, and to a number of iterations */
static PetscErrorCode CheckSolve(BAIEngine engine, const Problem *p, const Method *m, PetscScalar *x)
{
  const PetscReal rtol   = 100 * PetscSqrtReal(PETSC_MACHINE_EPSILON);
  PetscReal       bnorm2 = 0;

  PetscFunctionBeginUser;
  for (PetscInt row = 0; row < (PetscInt)p->M.n; row++) bnorm2 += PetscRealPart(p->b[row] * PetscConj(p->b[row]));
  for (int k = 0; k < 2; k++) {
    const PetscBool its7       = (PetscBool)(k % 2); /* seven iterations, instead of to a tolerance */
    BAITolerances   tolerances = {.rtol = its7 ? 0 : rtol, .dtol = 1e5, .bnorm2 = -1, .max_it = its7 ? 7 : 1000};
    BAISolution     solution   = {.its = 0};
    BAIStep         step       = {.mode      = m->q.mode,
                                  .direction = BAI_FORWARD,
                                  .omega     = m->omega,
                                  .momentum  = m->momentum,
                                  .fresh     = 1};
    BAIVectors      v          = {.b            = (const BAIScalar *)p->b,
                                  .ghost        = (const BAIScalar *)p->ghost,
                                  .x            = (BAIScalar *)x,
                                  .b_memory     = BAI_MEMORY_HOST,
                                  .ghost_memory = BAI_MEMORY_HOST,
                                  .x_memory     = BAI_MEMORY_HOST};
    BAIStatus       status     = BAIEngineBind(engine, &v, 1);
    PetscReal       norm2;

    if (!status.code) status = BAIEngineSolve(engine, &tolerances, &step, &solution);
    if (!status.code) status = BAIEngineUnbind(engine);
    PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what,
               status.why);
    norm2 = ResidualNorm2(p, x);
    PetscCall(ExpectMethod(PetscAbsReal(solution.bnorm2 - bnorm2) <= 1000 * PETSC_MACHINE_EPSILON * bnorm2, "norm of b",
                           m, p, solution.bnorm2));
    PetscCall(ExpectMethod(PetscAbsReal(PetscSqrtReal(solution.rnorm2) - PetscSqrtReal(norm2)) <=
                             1000 * PETSC_MACHINE_EPSILON * PetscSqrtReal(bnorm2),
                           "residual of a solve", m, p, solution.rnorm2));
    if (its7) PetscCall(ExpectMethod(solution.its == 7, "iterations of a solve", m, p, solution.its));
    else
      PetscCall(
        ExpectMethod(solution.rnorm2 <= rtol * rtol * bnorm2 * (1 + 1e-10) && solution.its > 0 && solution.its < 1000,
                     "tolerance of a solve", m, p, solution.rnorm2));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The colours of mode color: blocks that read from each other do not take their turns together */
static PetscErrorCode CheckTurns(const Problem *p, const Method *m, const BAIInfo *info)
{
  const BAIPartition *q        = &m->blocks;
  BAIInt              max_rows = 1, *group;
  int                *first, *lower, *order, *rank, *turn_first, groups, turns, colors;
  PetscBool          *reads;
  BAIGraph            graph;

  PetscFunctionBeginUser;
  for (BAIInt b = 0; b < q->blocks; b++) max_rows = PetscMax(max_rows, q->first[b + 1] - q->first[b]);
  if (m->natural) max_rows = PetscMin(m->q.block_size, PetscMax(p->M.n, 1));
  groups = (int)((q->blocks + BAIGroup(max_rows) - 1) / BAIGroup(max_rows));
  PetscCall(PetscMalloc1(p->M.n + 1, &group));
  PetscCall(PetscCalloc6(groups * groups + 1, &reads, groups + 1, &first, groups * groups + 1, &lower, groups + 1,
                         &order, groups + 1, &rank, groups + 1, &turn_first));
  for (BAIInt b = 0; b < q->blocks; b++) {
    for (BAIInt place = q->first[b]; place < q->first[b + 1]; place++) group[q->row[place]] = b / BAIGroup(max_rows);
  }
  for (BAIInt b = 0; b < q->blocks; b++) {
    for (BAIInt place = q->first[b]; place < q->first[b + 1]; place++) {
      const BAIInt row = q->row[place], g = b / BAIGroup(max_rows);

      for (PetscInt k = p->i[row]; k < p->i[row + 1]; k++)
        reads[g * groups + group[p->j[k]]] = reads[group[p->j[k]] * groups + g] = PETSC_TRUE;
    }
  }
  for (int g = 0; g < groups; g++) {
    first[g + 1] = first[g];
    for (int other = 0; other < g; other++) {
      if (reads[g * groups + other]) lower[first[g + 1]++] = other;
    }
  }
  graph.n     = groups;
  graph.first = first;
  graph.lower = lower;
  PetscCheck(!BAIColor(&graph, order, rank, turn_first, &turns, &colors).code, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "Out of memory");
  PetscCall(ExpectMethod(colors == info->colors, "colors", m, p, info->colors));
  PetscCall(PetscFree6(reads, first, lower, order, rank, turn_first));
  PetscCall(PetscFree(group));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where a row has no diagonal entry: an error, unless 1 may stand for it, in all rows or in rows of zeros only. What is
 * iterated and the residual are still those of A */
static PetscErrorCode CheckUnit(BAIBackend backend, Problem *p, const Method *m)
{
  const PetscInt n = (PetscInt)p->M.n, bad = n / 2, first = p->i[bad], last = p->i[bad + 1] - 1,
                 ghosts = p->M.nghost ? p->gi[bad + 1] - p->gi[bad] : 0;
  PetscScalar *x, *expected, *row;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n, &x, n, &expected, last + 1 - first + ghosts, &row));
  PetscCall(PetscArraycpy(row, p->a + first, last + 1 - first));
  PetscCall(PetscArraycpy(row + last + 1 - first, p->ga + p->gi[bad], ghosts));
  for (int zeros = 0; zeros < 2; zeros++) { /* on the diagonal, then in the whole row */
    p->a[last] = 0;
    for (PetscInt k = first; zeros && k < last; k++) p->a[k] = 0;
    for (PetscInt k = 0; zeros && k < ghosts; k++) p->ga[p->gi[bad] + k] = 0;
    for (int unit = BAI_UNIT_NONE; unit <= BAI_UNIT_ALL; unit++) {
      const PetscBool right = (PetscBool)(unit == BAI_UNIT_ALL ||
                                          (unit == BAI_UNIT_ROWS && (zeros || (last == first && !ghosts))));
      Method          with  = *m;
      BAIEngine       engine;
      BAIStatus       status;
      BAIInfo         info;
      PetscReal       norm2;

      with.q.unit = unit;
      status      = BAIEngineCreate(backend, &p->M, m->natural ? NULL : &m->blocks, &with.q, &engine);
      if (!right) {
        PetscCall(ExpectMethod(status.code == BAI_ERR_DIAGONAL && status.row == bad && !engine, "zero on the diagonal",
                               m, p, (PetscReal)status.row));
        continue;
      }
      PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what,
                 status.why);
      BAIEngineInfo(engine, &info);
      PetscCall(ExpectMethod(info.units == 1, "rows without a diagonal entry", m, p, (PetscReal)info.units));
      for (int values = 0; values < 2; values++) {
        PetscCall(Run(engine, p, m, 2, PETSC_FALSE, BAI_FORWARD, x, &norm2));
        PetscCall(ExpectMethod(PetscAbsReal(norm2 - ResidualNorm2(p, x)) <= TinyOfX(m) * (1 + norm2),
                               "residual without a diagonal entry", m, p, norm2));
        if (m->q.mode == BAI_MODE_SYNC && HasCertainSweeps(m)) PetscCall(Define(p, m, 2, p->x, expected));
        if (m->q.mode == BAI_MODE_SYNC && HasCertainSweeps(m))
          PetscCall(ExpectMethod(Distance(n, x, expected) <= Tiny(m) * PetscMax(1, Largest(n, expected)),
                                 "sweeps without a diagonal entry", m, p, Distance(n, x, expected)));
        status = BAIEngineUpdateValues(engine, &p->M);
        PetscCall(ExpectMethod(!status.code, "the same values", m, p, status.code));
      }
      p->a[last] = row[last - first];
      status     = BAIEngineUpdateValues(engine, &p->M);
      PetscCall(ExpectMethod(status.code == BAI_ERR_PATTERN, "a diagonal entry is noticed", m, p, status.code));
      p->a[last] = 0;
      BAIEngineDestroy(&engine);
    }
  }
  PetscCall(PetscArraycpy(p->a + first, row, last + 1 - first));
  PetscCall(PetscArraycpy(p->ga + p->gi[bad], row + last + 1 - first, ghosts));
  PetscCall(PetscFree3(x, expected, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A few iterations: their residual, what the definition says, and the same bits again */
static PetscErrorCode CheckIterations(BAIEngine engine, Problem *p, const Method *m)
{
  const PetscInt n = (PetscInt)p->M.n;
  PetscScalar   *zero, *expected, *x, *again;
  PetscReal      norm2, norm2_again;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc4(n, &zero, n, &expected, n, &x, n, &again));
  for (PetscInt count = 0; count < 4; count++) {
    const PetscBool guess_zero = (PetscBool)(count == 3);

    PetscCall(Run(engine, p, m, count, guess_zero, BAI_FORWARD, x, &norm2));
    PetscCall(
      ExpectMethod(PetscAbsReal(norm2 - ResidualNorm2(p, x)) <= TinyOfX(m) * (1 + norm2), "residual", m, p, norm2));
    for (PetscInt i = 0; i < n && m->q.single && !m->q.refined && count; i++)
      PetscCall(ExpectMethod(x[i] == (PetscScalar)(float)PetscRealPart(x[i]) || PetscImaginaryPart(x[i]) != 0,
                             "iterate in single precision", m, p, PetscAbsScalar(x[i])));
    if (m->q.mode != BAI_MODE_SYNC && m->q.mode != BAI_MODE_COLOR && count > 0) continue;
    if ((m->q.mode != BAI_MODE_COLOR || m->blocks.blocks <= 1) && HasCertainSweeps(m)) {
      PetscCall(Define(p, m, count, guess_zero ? zero : p->x, expected));
      PetscCall(ExpectMethod(Distance(n, x, expected) <= Tiny(m), "sweeps against the definition", m, p,
                             Distance(n, x, expected)));
    }
    PetscCall(Run(engine, p, m, count, guess_zero, BAI_FORWARD, again, &norm2_again));
    PetscCall(
      ExpectMethod(SameBits(n, x, again) && norm2 == norm2_again, "repeated bitwise", m, p, Distance(n, x, again)));
  }
  PetscCall(PetscFree4(zero, expected, x, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A column elsewhere, and the old one again */
static PetscErrorCode CheckPattern(BAIEngine engine, Problem *p, const Method *m)
{
  const PetscInt n = (PetscInt)p->M.n, k = p->i[n - 1], col = p->j[k];
  PetscInt       other = 0;
  BAIStatus      status;

  PetscFunctionBeginUser;
  while (other != n - 1) {
    PetscInt s;

    for (s = p->i[n - 1]; s < p->i[n] && p->j[s] != other; s++)
      ;
    if (s == p->i[n]) break;
    other++;
  }
  p->j[k] = other;
  status  = BAIEngineUpdateValues(engine, &p->M);
  PetscCall(ExpectMethod(status.code == BAI_ERR_PATTERN, "another pattern is noticed", m, p, status.code));
  p->j[k] = col;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One matrix, one set of parameters: sweeps, residual, new values, fixed point */
static PetscErrorCode Check(BAIBackend backend, Problem *p, const Method *m)
{
  const PetscInt n = (PetscInt)p->M.n;
  /* of blocks that do not wait for each other, some are through first, and others go on alone with what they left; so
   * it may take several goes */
  const PetscBool leaves = (PetscBool)(m->q.mode == BAI_MODE_ASYNC);
  PetscInt        nnz    = 0;
  PetscScalar    *x;
  PetscReal       norm2;
  BAIEngine       engine;
  BAIStatus       status;
  BAIInfo         info;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(n, &x));
  status = BAIEngineCreate(backend, &p->M, m->natural ? NULL : &m->blocks, &m->q, &engine);
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what,
             status.why);
  BAIEngineInfo(engine, &info);
  PetscCall(ExpectMethod(info.blocks == m->blocks.blocks, "blocks", m, p, (PetscReal)info.blocks));
  if (m->q.mode == BAI_MODE_COLOR) PetscCall(CheckTurns(p, m, &info));
  nnz = p->i[n] + (p->M.nghost ? p->gi[n] : 0);
  PetscCall(ExpectMethod(info.nnz_local + info.nnz_off + n == nnz, "entries", m, p,
                         (PetscReal)(info.nnz_local + info.nnz_off)));
  for (PetscInt value = 0; value < 2; value++) {
    if (value) { /* other values in the same pattern */
      for (PetscInt k = 0; k < p->i[n]; k++) p->a[k] *= 1.5;
      status = BAIEngineUpdateValues(engine, &p->M);
      PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what,
                 status.why);
    }
    PetscCall(CheckIterations(engine, p, m));
    PetscCall(Run(engine, p, m, 400, PETSC_FALSE, BAI_FORWARD, x, &norm2));
    for (int again = 0; leaves && again < 4 && ResidualNorm2(p, x) > n * PetscSqr(TinyOfX(m)); again++)
      PetscCall(RunFrom(engine, p, m, 400, PETSC_FALSE, BAI_FORWARD, x, &norm2));
    PetscCall(ExpectMethod(ResidualNorm2(p, x) <= n * PetscSqr(TinyOfX(m)), "fixed point", m, p, ResidualNorm2(p, x)));
  }
  if (info.solves >> m->q.mode & 1) PetscCall(CheckSolve(engine, p, m, x));
  if (n > 4 && p->i[n] > p->i[n - 1] + 1) PetscCall(CheckPattern(engine, p, m));
  BAIEngineDestroy(&engine);
  for (PetscInt k = 0; k < p->i[n]; k++) p->a[k] /= 1.5;

  if (n) PetscCall(CheckUnit(backend, p, m));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes sync and color give the same bits for any number of threads, and, to rounding, the same on both backends */
static PetscErrorCode Agree(BAIBackend backend, Problem *p, const Method *m, BAIDirection direction)
{
  const PetscInt n = (PetscInt)p->M.n;
  PetscScalar   *x[4];
  PetscReal      norm2;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(n, &x[0], n, &x[1], n, &x[2], n, &x[3]));
  for (int k = 0; k < 4; k++) {
    BAIEngine     engine;
    BAIStatus     status;
    BAIParameters q = m->q;

    q.threads = k < 3 ? 1 << k : 2;
    status    = BAIEngineCreate(k < 3 ? BAI_BACKEND_HOST : backend, &p->M, m->natural ? NULL : &m->blocks, &q, &engine);
    PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what,
               status.why);
    PetscCall(Run(engine, p, m, 7, PETSC_FALSE, direction, x[k], &norm2));
    BAIEngineDestroy(&engine);
    if (k < 3) PetscCall(ExpectMethod(SameBits(n, x[0], x[k]), "threads", m, p, Distance(n, x[0], x[k])));
    else PetscCall(ExpectMethod(Distance(n, x[0], x[k]) <= Tiny(m), "backends", m, p, Distance(n, x[0], x[k])));
  }
  PetscCall(PetscFree4(x[0], x[1], x[2], x[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Consecutive rows in blocks of max_rows, or rows in any order, in blocks of up to max_rows */
static PetscErrorCode PartitionCreate(PetscInt n, PetscInt max_rows, PetscBool natural, PetscRandom random,
                                      BAIPartition *partition)
{
  BAIInt   *first, *row;
  PetscReal value = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n + 1, &first));
  PetscCall(PetscMalloc1(n + 1, &row));
  for (PetscInt k = 0; k < n; k++) row[k] = k;
  for (PetscInt k = n - 1; k > 0 && !natural; k--) {
    PetscInt with;

    PetscCall(PetscRandomGetValueReal(random, &value));
    with      = PetscMin(k, (PetscInt)(value * (k + 1)));
    first[0]  = row[k];
    row[k]    = row[with];
    row[with] = first[0];
  }
  partition->blocks = 0;
  for (PetscInt at = 0; at < n;) {
    first[partition->blocks++] = at;
    if (!natural) PetscCall(PetscRandomGetValueReal(random, &value));
    at += PetscMax(1, (PetscInt)(value * PetscMin(max_rows, n)));
  }
  first[partition->blocks] = n;
  partition->first         = first;
  partition->row           = row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PartitionDestroy(BAIPartition *partition)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(partition->first));
  PetscCall(PetscFree(partition->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is used together */
typedef struct {
  const char *name;
  PetscBool   natural, l1, theta, momentum;
} Feature;

/* clang-format off */
static const Feature features[] = {
  {.name = "plain",     .natural = PETSC_TRUE},
  {.name = "partition"},
  {.name = "l1",        .natural = PETSC_TRUE, .l1 = PETSC_TRUE, .momentum = PETSC_TRUE},
  {.name = "theta",     .theta = PETSC_TRUE, .momentum = PETSC_TRUE},
  {.name = "all",       .l1 = PETSC_TRUE, .theta = PETSC_TRUE, .momentum = PETSC_TRUE}
};
/* clang-format on */

/* A case */
typedef struct {
  PetscInt       n, block_size, local_iters;
  PetscReal      omega, local_omega;
  BAIMode        mode;
  PetscBool      single, refined;
  Pattern        pattern;
  const Feature *feature;
} Combination;

static PetscErrorCode CheckCombination(BAIBackend backend, const Combination *c)
{
  Method        m;
  Problem       p;
  PetscRandom   random;
  unsigned long seed = 0;

  PetscFunctionBeginUser;
  for (const char *letter = check.name; *letter; letter++)
    seed = 31 * seed + (unsigned char)*letter; /* the case has its values wherever it runs */
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetFromOptions(random));
  PetscCall(PetscRandomSetSeed(random, seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(PetscMemzero(&m, sizeof(m)));
  m.q.mode        = c->mode;
  m.q.block_size  = (BAIInt)c->block_size;
  m.q.local_iters = (BAIInt)c->local_iters;
  m.q.local_omega = c->local_omega;
  m.q.threads     = 2;
  m.q.device      = -1;
  m.q.l1          = c->feature->l1;
  m.q.theta       = c->feature->theta;
  m.q.momentum    = c->feature->momentum;
  m.q.single      = c->single;
  m.q.refined     = c->refined;
  m.omega         = c->omega;
  m.momentum      = c->feature->momentum ? 0.1 : 0;
  m.natural       = c->feature->natural;
  PetscCall(PartitionCreate(c->n, c->block_size, m.natural, random, &m.blocks));
  PetscCall(ProblemCreate(c->n, c->n % 2 || c->n > 999 ? 5 : 0, c->pattern, random, &p));
  PetscCall(Check(backend, &p, &m));
  if (c->mode == BAI_MODE_SYNC) PetscCall(Agree(backend, &p, &m, BAI_FORWARD));
  for (int direction = BAI_FORWARD; direction <= BAI_ALTERNATE && c->mode == BAI_MODE_COLOR; direction++)
    PetscCall(Agree(backend, &p, &m, (BAIDirection)direction));
  PetscCall(PartitionDestroy(&m.blocks));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Each number of rows with each block size, mode and feature; what else there is goes round, so that each of its
   values meets each of these
*/
static PetscErrorCode CheckProduct(BAIBackend backend, const char group[], PetscBool refined, PetscBool ragged,
                                   size_t sizes, const PetscInt n[], size_t block_sizes, const PetscInt block_size[])
{
  const PetscInt local_iters[] = {1, 2, 5};

  PetscFunctionBeginUser;
  for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(features); f++) {
    for (size_t s = 0; s < sizes; s++) {
      for (size_t b = 0; b < block_sizes; b++) {
        for (size_t mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode++) {
          Combination c;

          c.n           = n[s];
          c.block_size  = block_size[b];
          c.mode        = (BAIMode)mode;
          c.feature     = &features[f];
          c.local_iters = local_iters[(s + b + mode) % 3];
          c.omega       = b % 2 ? 1 : 0.875;
          c.local_omega = s % 2 ? 1 : 0.9;
          c.single      = (PetscBool)((s + b) % 3 == 1);
          c.refined     = refined;
          c.pattern     = ragged ? RAGGED : (Pattern)((f + s + mode) % 3);
          if (Case("%s_%s_n%d_block%d_%s", group, features[f].name, (int)n[s], (int)block_size[b], BAIModes[mode]))
            PetscCall(CheckCombination(backend, &c));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More blocks than a GPU takes at once, which then queue */
static PetscErrorCode CheckManyBlocks(BAIBackend backend)
{
  const struct {
    const char *name;
    int         feature; /* of the table above */
    PetscBool   single;
    PetscBool   refined, ragged;
    BAIMode     mode;
  } cases[] = {
    {"plain",            0, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, BAI_MODE_ASYNC },
    {"partition",        1, PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, BAI_MODE_ASYNC },
    {"l1",               2, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, BAI_MODE_ASYNC },
    {"theta",            3, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, BAI_MODE_ASYNC },
    {"all",              4, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, BAI_MODE_ASYNC },
    {"ragged",           0, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  BAI_MODE_ASYNC },
    {"ragged-partition", 1, PETSC_TRUE,  PETSC_FALSE, PETSC_TRUE,  BAI_MODE_ASYNC },
    {"ragged-launch",    2, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  BAI_MODE_LAUNCH},
    {"ragged-sync",      0, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  BAI_MODE_SYNC  },
    {"refined",          1, PETSC_TRUE,  PETSC_TRUE,  PETSC_FALSE, BAI_MODE_ASYNC }
  };

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    const Feature *feature = &features[cases[k].feature];
    Combination    c       = {.n           = 200000,
                              .block_size  = 64,
                              .local_iters = 1,
                              .omega       = 0.875,
                              .local_omega = 0.9,
                              .mode        = cases[k].mode,
                              .feature     = feature,
                              .single      = cases[k].single,
                              .refined     = cases[k].refined,
                              .pattern     = cases[k].ragged ? RAGGED
                                    : feature->natural       ? DIAGONALS
                                                             : NEAR_AND_FAR};

    if (Case("many-blocks_%s", cases[k].name)) PetscCall(CheckCombination(backend, &c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many blocks that nothing counts their iterations, and mode sync takes a launch for each */
static PetscErrorCode CheckUncountedBlocks(BAIBackend backend)
{
  PetscFunctionBeginUser;
  for (int f = 0; f < 3; f += 2) { /* plain, l1 */
    for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_SYNC; mode++) {
      Combination c = {.n           = 1200000,
                       .block_size  = 128,
                       .local_iters = mode == 0 ? 1
                         : mode == 1            ? 2
                                                : 5,
                       .omega       = 0.875,
                       .local_omega = 0.9,
                       .mode        = (BAIMode)mode,
                       .feature     = &features[f],
                       .pattern     = DIAGONALS};

      if (Case("uncounted-blocks_%s_%s", features[f].name, BAIModes[mode])) PetscCall(CheckCombination(backend, &c));
    }
  }
  if (Case("uncounted-blocks_momentum_sync")) { /* which builds on the x that is overwritten */
    const Feature     momentum = {.name = "momentum", .natural = PETSC_TRUE, .momentum = PETSC_TRUE};
    const Combination c        = {.n           = 1200000,
                                  .block_size  = 128,
                                  .local_iters = 2,
                                  .omega       = 0.875,
                                  .local_omega = 0.9,
                                  .mode        = BAI_MODE_SYNC,
                                  .feature     = &momentum,
                                  .pattern     = DIAGONALS};

    PetscCall(CheckCombination(backend, &c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many that the device hands them out: to the queue in single precision, and in mode color, which is two turns here,
 * to a launch for each */
static PetscErrorCode CheckHandedBlocks(BAIBackend backend)
{
  PetscFunctionBeginUser;
  for (int single = 0; single < 2; single++) {
    for (int mode = BAI_MODE_ASYNC; mode <= BAI_MODE_COLOR; mode += BAI_MODE_COLOR - BAI_MODE_ASYNC) {
      const Combination c = {.n           = single ? 270000 : 530000,
                             .block_size  = 128,
                             .local_iters = 2,
                             .omega       = 0.875,
                             .local_omega = 0.9,
                             .mode        = (BAIMode)mode,
                             .feature     = &features[0],
                             .single      = (PetscBool)single,
                             .pattern     = DIAGONALS};

      if (Case("handed-blocks_%s_%s", BAIModes[mode], single ? "single" : "native"))
        PetscCall(CheckCombination(backend, &c));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const backends[] = {"auto", "host", "cuda", "BAIBackend", "BAI_BACKEND_", NULL};
  const PetscInt    small[] = {0, 1, 31, 32, 33, 1000}, small_blocks[] = {1, 7, 32, 100, 500, 5000};
  const PetscInt    medium[] = {3000}, medium_blocks[] = {130, 2800};
  const PetscInt    large[]     = {70000},
                 large_blocks[] = {3000, 66000}; /* more than 16-bit columns can count, more than shared memory holds */
  const PetscInt refined[] = {1, 33, 1000}, refined_blocks[] = {7, 100, 5000};
  const PetscInt ragged[] = {40, 1000}, ragged_blocks[] = {32, 130, 2000};
  BAIBackend     backend = BAI_BACKEND_HOST;

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-backend", backends, (PetscEnum *)&backend, NULL));
  PetscCall(CheckProduct(backend, "small", PETSC_FALSE, PETSC_FALSE, PETSC_STATIC_ARRAY_LENGTH(small), small,
                         PETSC_STATIC_ARRAY_LENGTH(small_blocks), small_blocks));
  PetscCall(CheckProduct(backend, "medium", PETSC_FALSE, PETSC_FALSE, PETSC_STATIC_ARRAY_LENGTH(medium), medium,
                         PETSC_STATIC_ARRAY_LENGTH(medium_blocks), medium_blocks));
  PetscCall(CheckProduct(backend, "large", PETSC_FALSE, PETSC_FALSE, PETSC_STATIC_ARRAY_LENGTH(large), large,
                         PETSC_STATIC_ARRAY_LENGTH(large_blocks), large_blocks));
  PetscCall(CheckProduct(backend, "refined", PETSC_TRUE, PETSC_FALSE, PETSC_STATIC_ARRAY_LENGTH(refined), refined,
                         PETSC_STATIC_ARRAY_LENGTH(refined_blocks), refined_blocks));
  PetscCall(CheckProduct(backend, "refined-large", PETSC_TRUE, PETSC_FALSE, PETSC_STATIC_ARRAY_LENGTH(large), large,
                         PETSC_STATIC_ARRAY_LENGTH(large_blocks), large_blocks));
  PetscCall(CheckProduct(backend, "ragged", PETSC_FALSE, PETSC_TRUE, PETSC_STATIC_ARRAY_LENGTH(ragged), ragged,
                         PETSC_STATIC_ARRAY_LENGTH(ragged_blocks), ragged_blocks));
  PetscCall(CheckManyBlocks(backend));
  PetscCall(CheckUncountedBlocks(backend));
  PetscCall(CheckHandedBlocks(backend));
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      # what is large for a GPU is of little interest on the host: all of it with fewer rows, and two cases
      test:
         suffix: host
         timeoutfactor: 4
         args: -backend host -case {{small_plain small_partition small_l1 small_theta small_all refined}}
      test:
         suffix: host_medium
         timeoutfactor: 4
         args: -backend host -case {{medium ragged \
               large_plain_n70000_block3000_color,large_all_n70000_block66000_async}}
      test:
         suffix: host_many
         timeoutfactor: 4
         args: -backend host -case {{many-blocks_plain many-blocks_partition}}
      test:
         suffix: cuda
         requires: baicuda
         args: -backend cuda -case {{small_plain small_partition small_l1 small_theta small_all ragged_plain \
               ragged_partition ragged_l1 ragged_theta ragged_all refined}}
      test:
         suffix: cuda_large
         requires: baicuda
         timeoutfactor: 3
         args: -backend cuda -case {{large_plain large_partition large_l1 large_theta large_all refined-large_plain \
               refined-large_all}}
      test:
         suffix: cuda_many
         requires: baicuda
         args: -backend cuda -case {{many-blocks_plain many-blocks_partition many-blocks_l1 \
               many-blocks_theta many-blocks_all many-blocks_ragged many-blocks_ragged-partition \
               many-blocks_ragged-launch many-blocks_ragged-sync many-blocks_refined}}
      test:
         suffix: cuda_uncounted
         requires: baicuda
         timeoutfactor: 3
         args: -backend cuda -case {{uncounted-blocks_plain uncounted-blocks_l1 uncounted-blocks_momentum \
               handed-blocks}}

TEST*/
