static char help[] = "Mode color of parts that take turns together: an engine for each, which reads before each turn "
                     "what the others have reached, iterates like one engine for all rows.\n\n";

#include "check.h"
#include "gallery.h"
#include "../src/relaxation/coloring.h"

enum {
  MOST_PARTS = 5
};

/* Rows from first on, and the rows of the whole matrix that are their ghosts */
typedef struct {
  BAIMatrix    M;
  BAIEngine    engine;
  PetscInt     first, n, *garray;
  BAIInt      *i[2], *j[2], *color, *theirs;
  PetscScalar *a[2], *ghost;
} Part;

typedef struct {
  PetscInt        n;
  const PetscInt *i, *j;
  PetscScalar    *a;
} Rows;

static PetscErrorCode CheckStatus(BAIStatus status)
{
  PetscFunctionBeginUser;
  PetscCheck(!status.code, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s %s %s", BAICodeString(status.code), status.what,
             status.why);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PartCreate(const Rows *A, PetscInt first, PetscInt last, const BAIParameters *p, Part *part)
{
  const PetscInt begin = A->i[first], nnz = A->i[last] - begin;
  PetscInt      *number, nghost           = 0;

  PetscFunctionBeginUser;
  part->first = first;
  part->n     = last - first;
  for (int b = 0; b < 2; b++)
    PetscCall(PetscCalloc3(part->n + 1, &part->i[b], nnz + 1, &part->j[b], nnz + 1, &part->a[b]));
  PetscCall(PetscMalloc1(A->n, &number));
  for (PetscInt c = 0; c < A->n; c++) number[c] = -1;
  for (PetscInt k = begin; k < begin + nnz; k++) {
    if (A->j[k] < first || A->j[k] >= last) number[A->j[k]] = 0;
  }
  PetscCall(PetscMalloc4(A->n, &part->garray, part->n + 1, &part->color, A->n, &part->theirs, A->n, &part->ghost));
  for (PetscInt c = 0; c < A->n; c++) {
    if (!number[c]) {
      number[c]              = nghost;
      part->garray[nghost++] = c;
    }
  }
  for (PetscInt row = first; row < last; row++) {
    for (int b = 0; b < 2; b++) part->i[b][row - first + 1] = part->i[b][row - first];
    for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) {
      const int    b  = number[A->j[k]] >= 0;
      const BAIInt at = part->i[b][row - first + 1]++;

      part->j[b][at] = (BAIInt)(b ? number[A->j[k]] : A->j[k] - first);
      part->a[b][at] = A->a[k];
    }
  }
  PetscCall(PetscFree(number));
  part->M = (BAIMatrix){
    .n      = (BAIInt)part->n,
    .nghost = (BAIInt)nghost,
    .A      = {part->i[0], part->j[0], (const BAIScalar *)part->a[0]},
    .B      = {part->i[1], part->j[1], (const BAIScalar *)part->a[1]},
    .memory = BAI_MEMORY_HOST
  };
  PetscCall(CheckStatus(BAIEngineCreate(BAI_BACKEND_HOST, &part->M, NULL, p, &part->engine)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PartDestroy(Part *part)
{
  PetscFunctionBeginUser;
  BAIEngineDestroy(&part->engine);
  for (int b = 0; b < 2; b++) PetscCall(PetscFree3(part->i[b], part->j[b], part->a[b]));
  PetscCall(PetscFree4(part->garray, part->color, part->theirs, part->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many iterations from x, or of that only a turn */
static PetscErrorCode Sweep(Part *part, const PetscScalar *b, PetscScalar *x, BAIInt count, const BAIStep *step)
{
  BAIVectors v = {.b     = (const BAIScalar *)b + part->first,
                  .ghost = (const BAIScalar *)part->ghost,
                  .x     = (BAIScalar *)x + part->first};

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < (PetscInt)part->M.nghost; k++) part->ghost[k] = x[part->garray[k]];
  PetscCall(CheckStatus(BAIEngineBind(part->engine, &v, 0)));
  PetscCall(CheckStatus(BAIEngineSweep(part->engine, count, step)));
  PetscCall(CheckStatus(BAIEngineUnbind(part->engine)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Part by part in this order, each with the colours of those before it; turns are as many as there are colours */
static PetscErrorCode Color(PetscInt parts, Part *part, PetscBool backward, PetscInt n, BAIInt *turns)
{
  BAIInt *known;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, &known));
  for (PetscInt i = 0; i < n; i++) known[i] = -1;
  *turns = 0;
  for (PetscInt k = 0; k < parts; k++) {
    Part *now = &part[backward ? parts - 1 - k : k];

    for (PetscInt g = 0; g < (PetscInt)now->M.nghost; g++) now->theirs[g] = known[now->garray[g]];
    PetscCall(CheckStatus(BAIEngineColor(now->engine, now->theirs, now->color)));
    for (PetscInt i = 0; i < now->n; i++) {
      known[now->first + i] = now->color[i];
      *turns                = PetscMax(*turns, now->color[i] + 1);
    }
  }
  for (PetscInt k = 0; k < parts; k++) {
    PetscBool differ = PETSC_TRUE;

    PetscCall(CheckStatus(BAIEngineTakeTurns(part[k].engine, *turns, part[k].color)));
    for (PetscInt i = 0; i < part[k].n; i++) {
      for (BAIInt e = part[k].i[1][i]; e < part[k].i[1][i + 1]; e++)
        differ = (PetscBool)(differ && part[k].color[i] != known[part[k].garray[part[k].j[1][e]]]);
    }
    PetscCall(Expect(differ, "part %d: rows and the ghosts that they read from take other turns", (int)k));
  }
  PetscCall(PetscFree(known));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parts of whole groups of rows; the second one is empty */
static PetscErrorCode CutInParts(const Rows *rows, PetscInt group, PetscInt parts, const BAIParameters *p, Part part[])
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < parts; k++) {
    const PetscInt groups = (rows->n + group - 1) / group,
                   from   = k < 2 ? k * (groups / parts) : (k - 1) * (groups / parts),
                   to     = k == 1 ? from
          : k == parts - 1         ? groups
                                   : from + groups / parts;

    PetscCall(PartCreate(rows, PetscMin(from * group, rows->n), PetscMin(to * group, rows->n), p, &part[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix in parts of whole groups of blocks, and of none. In natural order colours are those of the whole, and so are
 * the iterates, but for rounding; in any order they have the same limit */
static PetscErrorCode CheckTurns(const char matrix[], PetscInt size, BAIInt block_size, PetscInt parts,
                                 BAIDirection direction, PetscReal momentum, PetscBool backward)
{
  const PetscInt its = 5, group = (PetscInt)(block_size * BAIGroup(block_size));
  BAIParameters  p   = {.mode        = BAI_MODE_COLOR,
                        .block_size  = block_size,
                        .local_iters = 3,
                        .local_omega = 1,
                        .momentum    = momentum > 0,
                        .threads     = 1};
  const BAIStep  how = {.mode = BAI_MODE_COLOR, .direction = direction, .omega = 0.9, .momentum = momentum, .fresh = 1};
  BAIStep        step;
  BAIInfo        info;
  BAIInt         turns = 0;
  Mat            A;
  Rows           rows;
  Part           whole, part[MOST_PARTS];
  PetscScalar   *b, *x, *expected;
  PetscReal      largest = 0;
  PetscBool      done, same = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(GalleryCreateMat(PETSC_COMM_SELF, matrix, size, &A));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows.n, &rows.i, &rows.j, &done));
  PetscCall(MatSeqAIJGetArray(A, &rows.a));
  PetscCall(PetscMalloc3(rows.n, &b, rows.n, &x, rows.n, &expected));
  for (PetscInt i = 0; i < rows.n; i++) b[i] = 1 + i % 3;
  PetscCall(PartCreate(&rows, 0, rows.n, &p, &whole));
  PetscCall(CutInParts(&rows, group, parts, &p, part));
  PetscCall(Color(parts, part, backward, rows.n, &turns));
  PetscCall(CheckStatus(BAIEngineColor(whole.engine, whole.theirs, whole.color)));
  for (PetscInt k = 0; k < parts; k++) {
    for (PetscInt i = 0; i < part[k].n; i++)
      same = (PetscBool)(same && part[k].color[i] == whole.color[part[k].first + i]);
    BAIEngineInfo(part[k].engine, &info);
    PetscCall(Expect(info.turns == turns && info.colors == turns, "part %d has %d turns of %d colors, not %d", (int)k,
                     info.turns, info.colors, (int)turns));
  }
  PetscCall(Expect(same || backward, "the parts have the colours of the whole"));
  for (int far = 0; far < 2; far++) { /* a few iterations, then to the limit */
    const PetscInt count = far ? 600 : its;

    for (PetscInt i = 0; i < rows.n; i++) x[i] = expected[i] = i % 7;
    step = how;
    PetscCall(Sweep(&whole, b, expected, (BAIInt)count, &step));
    for (PetscInt k = 0; k < count; k++) {
      if (direction == BAI_ALTERNATE) step.direction = k % 2 ? BAI_BACKWARD : BAI_FORWARD;
      for (step.turn = 1; step.turn <= turns; step.turn++) {
        for (PetscInt q = 0; q < parts; q++) PetscCall(Sweep(&part[q], b, x, 1, &step));
      }
      step.fresh = 0;
    }
    largest = 0;
    for (PetscInt i = 0; i < rows.n; i++) largest = PetscMax(largest, PetscAbsScalar(x[i] - expected[i]));
    if (far || !backward)
      PetscCall(Expect(largest <= (far ? 1e6 : 1e3) * PETSC_MACHINE_EPSILON,
                       "after %d iterations in turns together x differs by %g", (int)count, (double)largest));
  }
  for (PetscInt i = 0; i < rows.n; i++) x[i] = i % 7;
  step = how;
  PetscCall(CheckStatus(BAIEngineTakeTurns(whole.engine, turns, whole.color)));
  if (!backward) PetscCall(Sweep(&whole, b, x, 600, &step));
  PetscCall(PetscArraycmp(x, expected, rows.n, &same));
  PetscCall(Expect(same || backward, "all rows have the bits of their own turns in turns together"));
  for (PetscInt k = 0; k < parts; k++) PetscCall(PartDestroy(&part[k]));
  PetscCall(PartDestroy(&whole));
  PetscCall(PetscFree3(b, x, expected));
  PetscCall(MatSeqAIJRestoreArray(A, &rows.a));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows.n, &rows.i, &rows.j, &done));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    PetscInt    n;
  } matrices[] = {
    {"fv1",       20 },
    {"trefethen", 700},
    {"laplace3d", 9  }
  };
  const BAIInt sizes[] = {16, 40, 128};

  PetscFunctionBeginUser;
  PetscCall(CheckInitialize(&argc, &argv, help));
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(matrices); m++) {
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
      for (int parts = 1; parts <= MOST_PARTS; parts += 2) {
        for (int direction = BAI_FORWARD; direction <= BAI_ALTERNATE; direction++) {
          if (Case("turns_%s_block%d_parts%d_%d", matrices[m].name, (int)sizes[s], parts, direction))
            PetscCall(
              CheckTurns(matrices[m].name, matrices[m].n, sizes[s], parts, (BAIDirection)direction, 0, PETSC_FALSE));
        }
        if (Case("momentum_%s_block%d_parts%d", matrices[m].name, (int)sizes[s], parts))
          PetscCall(CheckTurns(matrices[m].name, matrices[m].n, sizes[s], parts, BAI_FORWARD, 0.2, PETSC_FALSE));
        if (Case("backward_%s_block%d_parts%d", matrices[m].name, (int)sizes[s], parts))
          PetscCall(CheckTurns(matrices[m].name, matrices[m].n, sizes[s], parts, BAI_FORWARD, 0, PETSC_TRUE));
      }
    }
  }
  PetscCall(CheckFinalize());
  return 0;
}

/*TEST

   test:
      suffix: host
      requires: double
      output_file: output/empty.out

TEST*/
