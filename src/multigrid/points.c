/*
   The number of unknowns of a point: the block size of the matrix or, if the program set none, what the nonzero pattern
   shows. Unknowns of a point follow each other and are coupled to the same points, each to one unknown there or more
*/
#include "hierarchy.h"

/* The nonzero pattern of the square part of a rank's rows */
typedef struct {
  PetscInt        n;
  const PetscInt *i, *j;
} Pattern;

/* Whether two rows, whose columns ascend, are coupled to the same points of unknowns columns each */
static PetscBool HaveSamePoints(const Pattern *p, PetscInt unknowns, PetscInt a, PetscInt b)
{
  PetscInt k = p->i[a], l = p->i[b];

  while (k < p->i[a + 1] && l < p->i[b + 1]) {
    const PetscInt point = p->j[k] / unknowns;

    if (p->j[l] / unknowns != point) return PETSC_FALSE;
    while (k < p->i[a + 1] && p->j[k] / unknowns == point) k++;
    while (l < p->i[b + 1] && p->j[l] / unknowns == point) l++;
  }
  return (PetscBool)(k == p->i[a + 1] && l == p->i[b + 1]);
}

/* Whether the rows of a point, of unknowns rows from first on, are coupled to the same points. A row with one entry,
   such as one of a boundary condition, does not count; shown becomes true if another one does */
static PetscBool IsPoint(const Pattern *p, PetscInt unknowns, PetscInt first, PetscBool *shown)
{
  PetscInt like = -1;

  for (PetscInt row = first; row < first + unknowns; row++) {
    if (p->i[row + 1] - p->i[row] < 2) continue;
    if (like >= 0 && !HaveSamePoints(p, unknowns, like, row)) return PETSC_FALSE;
    like   = row;
    *shown = PETSC_TRUE;
  }
  return PETSC_TRUE;
}

/* Whether nearly all of the points that are looked at, all over the pattern, may have so many unknowns */
static PetscBool MayHave(const Pattern *p, PetscInt unknowns, PetscBool *shown)
{
  enum {
    POINTS = 128, /* points that are looked at */
    OTHERS = 12   /* most of them that are none, as those at the corner of a mesh may be numbered otherwise */
  };
  int others = 0;

  if (p->n % unknowns) return PETSC_FALSE;
  for (PetscInt k = 0; k < POINTS && p->n && others <= OTHERS; k++) {
    const PetscInt first = (PetscInt)((PetscInt64)(p->n / unknowns) * k / POINTS) * unknowns;

    if (!IsPoint(p, unknowns, first, shown)) others++;
  }
  return (PetscBool)(others <= OTHERS);
}

/* Sets f->count and f->shown. A near null space and aggregates of the user go with the block size that is set. given is
   the user's matrix, A its copy of type aij. Collective */
PetscErrorCode BAIFindPoints(const BAI *bai, Mat given, Mat A, BAIFields *f)
{
  const BAIHierarchy h = bai->hierarchy;
  Mat                Ad, Ao;
  Pattern            p;
  MatNullSpace       space;
  PetscBool          done, shown = PETSC_FALSE;
  PetscInt           nghost;
  const PetscInt    *garray;
  PetscInt64         may = 0; /* bit n: points may have n unknowns; bit 0: no rank shows them */

  PetscFunctionBegin;
  f->shown = PETSC_FALSE;
  PetscCall(MatGetBlockSize(A, &f->count));
  PetscCall(MatGetNearNullSpace(given, &space));
  if (f->count > 1 || space || h->chip || h->aggregates) PetscFunctionReturn(PETSC_SUCCESS);
  if (bai->origin) { /* A is a transpose */
    f->count = bai->origin->hierarchy->fields.count;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BAIGetParts(bai->obj, A, &Ad, &Ao, &nghost, &garray));
  PetscCall(MatGetRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &p.n, &p.i, &p.j, &done));
  for (int n = 2; n <= BAI_LEVELS_FIELDS && done; n++)
    if (MayHave(&p, n, &shown)) may |= (PetscInt64)1 << n;
  if (done) PetscCall(MatRestoreRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &p.n, &p.i, &p.j, &done));
  if (!shown) may |= 1;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &may, 1, MPIU_INT64, MPI_BAND, PetscObjectComm((PetscObject)A)));
  for (int n = 2; n <= BAI_LEVELS_FIELDS && !(may & 1); n++) {
    if (!(may >> n & 1)) continue;
    f->count = n;
    f->shown = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
