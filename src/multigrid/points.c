/*
   The number of unknowns of a point, and how they are numbered: the block size of the matrix or, if the program set
   none, what the nonzero pattern shows. Unknowns of a point are coupled to the same points. They follow each other, or
   each rank has all unknowns of one field after those of another one, in the same order of points
*/
#include "hierarchy.h"

/* The nonzero pattern of the square part of a rank's rows, and a supposed numbering: fields unknowns of each point,
   which follow each other or, if by_field, belong to blocks of n/fields rows */
typedef struct {
  PetscInt        n, fields;
  PetscBool       by_field;
  const PetscInt *i, *j;
} Pattern;

static PetscInt PointOf(const Pattern *p, PetscInt row)
{
  return p->by_field ? row % (p->n / p->fields) : row / p->fields;
}

static PetscInt FieldOf(const Pattern *p, PetscInt row)
{
  return p->by_field ? row / (p->n / p->fields) : row % p->fields;
}

/* Sets points to the points that a row is coupled to, in ascending order, and returns their number. They ascend without
   sorting if columns do, as is usual, and unknowns of a point follow each other */
static PetscErrorCode PointsOfRow(const Pattern *p, PetscInt row, PetscInt *count, PetscInt points[])
{
  PetscBool ascend = PETSC_TRUE;

  PetscFunctionBegin;
  *count = 0;
  for (PetscInt k = p->i[row]; k < p->i[row + 1]; k++) {
    const PetscInt point = PointOf(p, p->j[k]);

    if (*count && point < points[*count - 1]) ascend = PETSC_FALSE;
    if (!*count || points[*count - 1] != point) points[(*count)++] = point;
  }
  if (!ascend) PetscCall(PetscSortRemoveDupsInt(count, points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether for each other field there is another point in which a row is coupled to this field and to its own one.
   Otherwise the layers of a thin grid, or parts of a graph, would count as fields */
static PetscBool ReachesFields(const Pattern *p, PetscInt row)
{
  const PetscInt *j = p->j + p->i[row], count = p->i[row + 1] - p->i[row], field = FieldOf(p, row);
  PetscInt        reached = 1 << field;

  for (PetscInt k = 0; k < count; k++) {
    const PetscInt other = FieldOf(p, j[k]), same = j[k] + (field - other) * (p->n / p->fields);

    if (reached >> other & 1 || PointOf(p, j[k]) == PointOf(p, row)) continue;
    for (PetscInt l = 0; l < count; l++)
      if (j[l] == same) reached |= 1 << other;
  }
  return (PetscBool)(reached == (1 << p->fields) - 1);
}

/* Whether the rows of a point are coupled to the same points, and blocks also as ReachesFields() says. A row with one
   entry, such as one of a boundary condition, does not count; shown becomes true if another one does */
static PetscErrorCode IsPoint(const Pattern *p, PetscInt point, PetscBool *is, PetscBool *shown)
{
  const PetscInt begin = p->by_field ? point : point * p->fields, step = p->by_field ? p->n / p->fields : 1;
  PetscInt       points[2][BAI_LONGEST_ROW], count[2];
  int            rows = 0;

  PetscFunctionBegin;
  *is = PETSC_TRUE;
  for (PetscInt f = 0, row = begin; f < p->fields && *is; f++, row += step) {
    const PetscInt length = p->i[row + 1] - p->i[row];
    const int      mine   = rows > 0;

    if (length < 2) continue;
    *is    = (PetscBool)(length <= BAI_LONGEST_ROW && (!p->by_field || ReachesFields(p, row)));
    *shown = PETSC_TRUE;
    if (!*is) continue;
    PetscCall(PointsOfRow(p, row, &count[mine], points[mine]));
    if (rows++ > 0) *is = (PetscBool)(count[0] == count[1]);
    if (rows > 1 && *is) PetscCall(PetscArraycmp(points[0], points[1], count[0], is));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether nearly all of the points that are looked at, all over the pattern, may be numbered like that */
static PetscErrorCode MayBe(const Pattern *p, PetscBool *may, PetscBool *shown)
{
  enum {
    POINTS = 64, /* points that are looked at */
    OTHERS = 6   /* most of them that are none, as those at the corner of a mesh may be numbered otherwise */
  };
  int       others = 0;
  PetscBool is;

  PetscFunctionBegin;
  *may = (PetscBool)(p->n % p->fields == 0);
  for (PetscInt k = 0; k < POINTS && p->n && *may; k++) {
    PetscCall(IsPoint(p, (PetscInt)((PetscInt64)(p->n / p->fields) * k / POINTS), &is, shown));
    if (!is) others++;
    *may = (PetscBool)(others <= OTHERS);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest number of fields that is looked for */
static PetscInt MostFields(PetscBool by_field)
{
  return by_field ? BAI_LEVELS_MODES : BAI_LEVELS_FIELDS;
}

/* The bit for a numbering in the set of those that may be; bit 0 stands for a pattern that shows nothing */
static PetscInt64 BitOf(PetscInt fields, PetscBool by_field)
{
  return (PetscInt64)1 << (fields + (by_field ? BAI_LEVELS_FIELDS : 0));
}

/* Finds the numberings that the pattern allows */
static PetscErrorCode LookAt(Pattern *p, PetscInt64 *may)
{
  PetscBool is, shown = PETSC_FALSE;

  PetscFunctionBegin;
  *may = 0;
  for (int blocks = 0; blocks < 2; blocks++) {
    p->by_field = (PetscBool)blocks;
    for (p->fields = 2; p->fields <= MostFields(p->by_field); p->fields++) {
      PetscCall(MayBe(p, &is, &shown));
      if (is) *may |= BitOf(p->fields, p->by_field);
    }
  }
  if (!shown) *may |= 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the largest number of fields that may be, of unknowns that follow each other if there is one. may is the set of
   numberings that all ranks allow */
static void Choose(PetscInt64 may, BAIUnknowns *u)
{
  for (PetscInt n = 2; n <= BAI_LEVELS_FIELDS && !(may & 1); n++) {
    if (may & BitOf(n, PETSC_FALSE)) u->count = n;
    if (n <= MostFields(PETSC_TRUE) && may & BitOf(n, PETSC_TRUE)) u->blocks = n;
  }
  u->shown = (PetscBool)(u->count > 1);
  if (u->shown) u->blocks = 0;
}

/* Finds the unknowns of a point, unless u has those of the present pattern. Blocks that are not coupled are looked at
   for all values; once they are, the numbering by points stays as long as the pattern does. A near null space and
   aggregates of the user go with the block size that is set. given is the user's matrix, A its copy of type aij.
   Collective */
PetscErrorCode BAIFindPoints(const BAI *bai, Mat given, Mat A, BAIUnknowns *u)
{
  const BAIHierarchy h   = bai->hierarchy;
  BAIUnknowns        now = {.shown = PETSC_FALSE};
  Mat                Ad, Ao;
  Pattern            p;
  MatNullSpace       space;
  PetscBool          done;
  PetscInt           nghost;
  const PetscInt    *garray;
  PetscInt64         may = 0;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &now.count));
  PetscCall(MatGetNearNullSpace(given, &space));
  if (now.count == 1 && !space && !h->chip && !h->aggregates) {
    if (bai->origin) { /* A is a transpose */
      *u = bai->origin->hierarchy->fields.unknowns;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PetscObjectGetId((PetscObject)A, &now.pattern.id));
    PetscCall(MatGetNonzeroState(A, &now.pattern.state)); /* the same on all ranks */
    if (!BAIVersionsEqual(now.pattern, u->pattern)) {
      PetscCall(BAIGetParts(bai->obj, A, &Ad, &Ao, &nghost, &garray));
      PetscCall(MatGetRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &p.n, &p.i, &p.j, &done));
      if (done) PetscCall(LookAt(&p, &may));
      if (done) PetscCall(MatRestoreRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &p.n, &p.i, &p.j, &done));
      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &may, 1, MPIU_INT64, MPI_BAND, PetscObjectComm((PetscObject)A)));
      Choose(may, &now);
    } else now = *u;
    if (now.blocks && !now.shown) {
      PetscCall(BAIBlocksAreCoupled(A, now.blocks, &now.shown));
      if (now.shown) now.count = now.blocks;
    }
  }
  *u = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}
